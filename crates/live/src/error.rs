//! Why something live could not be done.

/// Why a live run, or attaching to this host, failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LiveError {
    /// This machine cannot do it as it is; the command line leaves with exit code 3.
    #[error("{what}: not available here: {why}; {remedy}")]
    Unavailable {
        /// What is missing: "live runs", "eBPF congestion control".
        what: String,
        /// Why it is.
        why: String,
        /// What would change it.
        remedy: String,
    },
    /// What was asked for has no live form; the command line leaves with exit code 2.
    #[error("{field}: {value}: {reason}; allowed: {allowed}")]
    Unsupported {
        /// The field of the scenario, or the option of the command line.
        field: String,
        /// Its value.
        value: String,
        /// Why not.
        reason: String,
        /// What is allowed.
        allowed: String,
    },
    /// A step failed that should not have.
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

impl LiveError {
    /// A step that failed for a reason of the system's.
    pub fn failed(what: impl Into<String>, reason: impl ToString) -> Self {
        Self::Failed { what: what.into(), reason: reason.to_string() }
    }
}
