//! Congestion controls that are in no registry: a user's own, handed in for one run.

use narrows_cc::{CongestionControl, Params};
use std::fmt;

/// Where a run finds congestion controls that the registry lacks.
///
/// Scenarios are validated against a catalogue; whoever hands in an algorithm adds its row there too.
pub trait Algorithms: fmt::Debug + Send + Sync {
    /// Whether there is an algorithm of this name.
    fn has(&self, name: &str) -> bool;

    /// Builds it from validated parameters, for one end of a flow. Called only for names that it has.
    fn build(&self, name: &str, params: &Params) -> Box<dyn CongestionControl>;
}
