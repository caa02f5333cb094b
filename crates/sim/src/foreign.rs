//! Congestion controls outside the registry: a user's own, passed in for one run.

use narrows_cc::{CongestionControl, Params};
use std::fmt;

/// Congestion controls that the registry lacks.
///
/// Scenarios are validated against a catalogue, so the caller that passes in an algorithm also adds its row there.
pub trait Algorithms: fmt::Debug + Send + Sync {
    /// Whether there is an algorithm of this name.
    fn has(&self, name: &str) -> bool;

    /// Builds it from validated parameters, for one end of a flow. Called only for names that it has.
    fn build(&self, name: &str, params: &Params) -> Box<dyn CongestionControl>;
}
