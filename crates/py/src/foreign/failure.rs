//! Why a user's algorithm ended the run: the first fault stops it.

use narrows_sim::Progress;
use std::sync::{Arc, Mutex};

/// Why a user's algorithm ended the run.
#[derive(Debug, Default)]
pub(crate) struct Failure {
    fault: Mutex<Option<String>>,
    progress: Arc<Progress>,
}

impl Failure {
    /// Makes a failure that stops the run which `progress` watches.
    pub(crate) fn new(progress: Arc<Progress>) -> Arc<Self> {
        Arc::new(Self { fault: Mutex::default(), progress })
    }

    /// The first fault.
    pub(crate) fn fault(&self) -> Option<String> {
        self.fault.lock().ok().and_then(|fault| fault.clone())
    }

    /// Whether the run is to end; no more hooks are called then.
    pub(super) fn stopped(&self) -> bool {
        self.progress.stopped()
    }

    /// Keeps the first reason, and stops the run.
    pub(crate) fn note(&self, why: String) {
        if let Ok(mut fault) = self.fault.lock() {
            fault.get_or_insert(why);
        }
        self.progress.stop();
    }
}
