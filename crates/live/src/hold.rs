//! Whether this machine can carry the rate of a network.

use crate::LiveError;
use crate::bottleneck::Pace;
use crate::lateness::Lateness;
use narrows_scenario::{Direction, Scenario};
use narrows_units::{Duration, Instant, Rate};

/// Time that the bottleneck's thread may work without a pause before a run is given up: longer than a slow start.
const PATIENCE: Duration = Duration::from_secs(2);

/// Returns the rate and the patience of the thread that is the network of a run.
pub(crate) fn pace(scenario: &Scenario) -> Pace {
    Pace { rate: narrowest(scenario), patience: Some(PATIENCE) }
}

/// Returns the rate of the narrowest link direction, with each direction at its largest rate over the run. The thread
/// has to carry about this rate.
pub(crate) fn narrowest(scenario: &Scenario) -> Rate {
    let directions = scenario.links.iter().flat_map(|link| [&link.forward, &link.reverse]);
    // Access links are often wide so that they do not limit traffic: in most networks the narrowest link does.
    directions.map(Direction::largest_rate).min().unwrap_or(Rate::ZERO)
}

/// Returns the error of a run in which the bottleneck's thread gave up.
pub(crate) fn not_held(scenario: &Scenario, at: Instant, lateness: &Lateness) -> LiveError {
    LiveError::Unavailable {
        what: format!("a live network of {}", narrowest(scenario)),
        why: format!(
            "this machine is too slow for this rate: {:.1} s into the run the bottleneck's thread had worked for {} without a \
             pause, and packets were up to {:.0} ms late",
            at.since(Instant::ZERO).as_secs_f64(),
            PATIENCE,
            lateness.handed_over.max() as f64 / 1e6,
        ),
        remedy: "lower the bottleneck's rate, use larger packets, or stop other programs".to_owned(),
    }
}
