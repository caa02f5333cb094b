//! Work that does not use Python, on another thread, so that Ctrl-C is handled meanwhile.

use crate::PyResultOf;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::cell::Cell;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};

/// How often the calling thread looks for signals.
const POLL: std::time::Duration = std::time::Duration::from_millis(50);

type Work = Box<dyn FnOnce() + Send>;

thread_local! {
    /// The helper of this thread, idle since its last work ended. It ends with this thread. Starting one takes longer
    /// than to parse a small scenario.
    static HELPER: Cell<Option<(u32, Sender<Work>)>> = const { Cell::new(None) };
}

/// Runs work on a helper of the calling thread, and handles signals meanwhile. After Ctrl-C the work is left to end
/// alone, with its helper.
pub(crate) fn aside<T: Send + 'static>(py: Python<'_>, work: impl FnOnce() -> T + Send + 'static) -> PyResultOf<T> {
    let (tell, mut told) = channel();
    let work: Work = Box::new(move || {
        // Nobody waits any more after Ctrl-C.
        let _ = tell.send(work());
    });
    let process = std::process::id();
    let helper = match HELPER.take() {
        // A process that was forked has the thread's channel and not the thread.
        Some((of, helper)) if of != process => {
            core::mem::forget(helper);
            started(work)?
        }
        Some((_, helper)) => match helper.send(work) {
            Ok(()) => helper,
            // The helper panicked in its last work.
            Err(back) => started(back.0)?,
        },
        None => started(work)?,
    };
    loop {
        let told = &mut told;
        match py.detach(move || told.recv_timeout(POLL)) {
            Ok(made) => {
                HELPER.set(Some((process, helper)));
                return Ok(made);
            }
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("the thread ended without a result"));
            }
        }
    }
}

/// Starts a helper with its first work.
fn started(work: Work) -> PyResultOf<Sender<Work>> {
    let (give, given) = channel::<Work>();
    let helper = std::thread::Builder::new().name("narrows-aside".into()).stack_size(8 << 20);
    helper.spawn(move || {
        work();
        while let Ok(work) = given.recv() {
            work();
        }
    })?;
    Ok(give)
}
