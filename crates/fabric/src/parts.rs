//! Builds queues, losses and directions of links from a scenario.

use crate::link::LinkDirection;
use crate::loss::LossModel;
use crate::seeds::Seeds;
use narrows_queue::{Limit, Queue, RedConfig};
use narrows_rng::Stream;
use narrows_scenario as scenario;
use narrows_scenario::{Direction, Loss};

/// Converts a queue's limit from a scenario.
#[must_use]
pub const fn limit(limit: scenario::Limit) -> Limit {
    match limit {
        scenario::Limit::Packets(n) => Limit::Packets(n),
        scenario::Limit::Bytes(n) => Limit::Bytes(n),
    }
}

/// Builds a queue from a scenario; it draws random numbers from `stream`.
#[must_use]
pub fn queue(queue: &scenario::Queue, stream: Stream) -> Box<dyn Queue> {
    match *queue {
        scenario::Queue::DropTail { limit: l } => narrows_queue::droptail(limit(l)),
        scenario::Queue::Red {
            limit: l,
            min_threshold,
            max_threshold,
            weight,
            max_p,
            gentle,
            ecn,
            bytes_mode,
            wait,
            mean_packet,
        } => {
            let config = RedConfig {
                limit: limit(l),
                min_threshold,
                max_threshold,
                weight,
                max_p,
                gentle,
                ecn,
                bytes_mode,
                wait,
                mean_packet,
            };
            narrows_queue::red(config, stream)
        }
    }
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
#[must_use]
pub fn link_direction(direction: &Direction, path: &str, watched: bool, seeds: Seeds) -> LinkDirection {
    let (loss, lossy) = link_losses(direction, path, seeds);
    let queue = queue(&direction.queue, seeds.stream(path, "queue"));
    let changes = direction.changes.clone();
    let mut link = LinkDirection::new(queue, direction.rate, direction.delay, loss, lossy, changes);
    if watched {
        link.tell_departures();
    }
    link
}
