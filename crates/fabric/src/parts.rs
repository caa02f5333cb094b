//! Builds queues, losses and directions of links from a scenario.

use crate::impair::Impair;
use crate::link::LinkDirection;
use crate::loss::LossModel;
use crate::seeds::Seeds;
use narrows_queue::{BuildError, Disciplines, Queue};
use narrows_rng::Stream;
use narrows_scenario as scenario;
use narrows_scenario::{Direction, Loss};
use std::sync::Arc;

/// Builds a queue from a scenario; it draws random numbers from `stream`.
///
/// # Errors
/// [`BuildError`]: the scenario was not validated against these disciplines.
pub fn queue(queue: &scenario::Queue, stream: Stream, disciplines: Disciplines) -> Result<Box<dyn Queue>, BuildError> {
    disciplines.find(queue.kind)?.queue(queue.limit, &queue.params, stream)
}

/// The random losses of a direction, and whether it has any. `path` names the component: `link/A->B`.
#[must_use]
pub fn link_losses(direction: &Direction, path: &str, seeds: Seeds) -> (LossModel, bool) {
    let lossy = match direction.loss {
        Loss::None => false,
        Loss::Uniform(p) => !p.is_never(),
        Loss::GilbertElliott { .. } => true,
    };
    (LossModel::new(direction.loss, seeds.stream(path, "loss")), lossy)
}

/// Builds a direction of a link from a scenario. `path` names the component, `link/A->B`; `watched` says whether
/// departures are reported to the [`LinkWatch`](crate::LinkWatch).
///
/// # Errors
/// As for [`queue`].
pub fn link_direction(
    direction: &Direction,
    path: &str,
    watched: bool,
    seeds: Seeds,
    disciplines: Disciplines,
) -> Result<LinkDirection, BuildError> {
    let queue = queue(&direction.queue, seeds.stream(path, "queue"), disciplines)?;
    Ok(link_direction_of(queue, direction, path, watched, seeds))
}

/// Builds a direction of a link with this queue in place of the scenario's; otherwise as [`link_direction`].
#[must_use]
pub fn link_direction_of(
    queue: Box<dyn Queue>,
    direction: &Direction,
    path: &str,
    watched: bool,
    seeds: Seeds,
) -> LinkDirection {
    let (loss, lossy) = link_losses(direction, path, seeds);
    let changes = direction.changes.clone();
    let mut link = LinkDirection::new(queue, direction.rate, direction.delay, loss, lossy, changes);
    if let Some(impairments) = &direction.impairments {
        link.impair(Impair::new(impairments, path, seeds));
    }
    if let Some(trace) = &direction.trace {
        link.follow(Arc::clone(trace));
    }
    if watched {
        link.tell_departures();
    }
    link
}
