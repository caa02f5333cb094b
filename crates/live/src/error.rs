//! Errors of live runs and of attaching to this host: what failed, why, what is allowed, what to do.

/// Why a live run, or attaching to this host, failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LiveError {
    /// The machine lacks what is needed; the command line exits with code 3.
    #[error("{what}: not available here: {why}; {remedy}")]
    Unavailable {
        /// What is missing: "live runs", "eBPF congestion control".
        what: String,
        /// Why it is missing.
        why: String,
        /// What the user can do, as a command: "run as root".
        remedy: String,
    },
    /// Linux cannot provide what was requested; the command line exits with code 2.
    #[error("{field}: {value}: {reason}; allowed: {allowed}")]
    Unsupported {
        /// The field of the scenario, or the option of the command line.
        field: String,
        /// Its value.
        value: String,
        /// Why Linux cannot provide it.
        reason: String,
        /// What is allowed.
        allowed: String,
    },
    /// Several things keep a scenario from running live, each [`Unsupported`](Self::Unsupported) or
    /// [`Unavailable`](Self::Unavailable).
    #[error("the scenario cannot run live: {} refusals{}", refusals.len(), lines(refusals))]
    Refused {
        /// All refusals that were found.
        refusals: Vec<LiveError>,
    },
    /// A step failed unexpectedly; the command line exits with code 1.
    #[error("cannot {what}: {reason}")]
    Failed {
        /// The step, as a verb: "open /dev/net/tun".
        what: String,
        /// The system's reason.
        reason: String,
    },
    /// The run was stopped from outside.
    #[error("the run was stopped before its end")]
    Stopped,
}

/// Formats a line for each refusal, preceded by a line break.
fn lines(refusals: &[LiveError]) -> String {
    refusals.iter().map(|one| format!("\n  {one}")).collect()
}

impl LiveError {
    /// Makes the error of a step that failed for a reason of the system.
    pub fn failed(what: impl Into<String>, reason: impl ToString) -> Self {
        Self::Failed { what: what.into(), reason: reason.to_string() }
    }
}
