//! The progress of a run, and a way to stop it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A handle to a current run, shared with its observers.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    of: AtomicU64,
    stop: AtomicBool,
    observer: Option<fn(f64)>,
}

impl Progress {
    /// A progress that calls `observer` with [`fraction`](Self::fraction) each time the run reports. A run without
    /// threads (WebAssembly) has no other observers.
    #[must_use]
    pub fn observed(observer: fn(f64)) -> Self {
        Self { observer: Some(observer), ..Self::default() }
    }

    /// Share of the scenario's time that has passed, in [0, 1].
    #[must_use]
    pub fn fraction(&self) -> f64 {
        let of = self.of.load(Ordering::Relaxed);
        if of == 0 { 0.0 } else { (self.done.load(Ordering::Relaxed) as f64 / of as f64).min(1.0) }
    }

    /// Asks the run to end soon with an error that says so.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether [`stop`](Self::stop) was called.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Sets the progress of the run: `done` parts of `of`.
    pub fn set(&self, done: u64, of: u64) {
        self.of.store(of, Ordering::Relaxed);
        self.done.store(done, Ordering::Relaxed);
        if let Some(observer) = self.observer {
            observer(self.fraction());
        }
    }
}
