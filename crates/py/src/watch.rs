//! Watches runs whose congestion control is written in Python: no call of a hook holds the run for longer than its
//! limit, and a run that is stopped ends whatever the hook does.
//!
//! Such a run has a thread of its own, and the thread that asked for it watches the clock. A hook that exceeds its
//! limit, or delays a stop, gets an exception, repeatedly if needed. A hook that still does not return (it sleeps, or
//! it is in C code) is left behind with its thread. The run has failed in any case, and [`threads`] reports such
//! threads to the code that ends the process.

use crate::backstop;
use crate::foreign::Failure;
use narrows_sim::{Outcome, Progress, RunError};
use pyo3::exceptions::PyBaseException;
use pyo3::{create_exception, ffi, prelude::*};
use std::ffi::c_long;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

create_exception!(
    _core,
    HookInterrupted,
    PyBaseException,
    "Raised in a hook that is over its time limit, or of a run that is stopped."
);

/// Time between two checks of the clock.
const LOOK: Duration = Duration::from_millis(20);

/// Time that a hook has to return after it was interrupted.
const GRACE: Duration = Duration::from_millis(500);

/// Number of threads of such runs, running or left behind.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of threads of such runs. A thread that is left after all waiting for runs is over is still in a
/// hook.
pub(crate) fn threads() -> usize {
    THREADS.load(Ordering::SeqCst)
}

/// The call that a run's thread is in.
#[derive(Clone, Debug)]
struct Call {
    what: String,
    began: Instant,
    limit: Duration,
}

/// The call into Python that a run's thread is in, if any.
#[derive(Debug, Default)]
pub(crate) struct Calls(Mutex<Option<Call>>);

impl Calls {
    /// Makes a call to `hook` of `name`, which may take `limit`.
    pub(crate) fn during<T>(&self, name: &str, hook: &str, limit: Duration, call: impl FnOnce() -> T) -> T {
        self.set(Some(Call { what: format!("{name}: {hook}"), began: Instant::now(), limit }));
        let made = call();
        self.set(None);
        made
    }

    fn set(&self, call: Option<Call>) {
        if let Ok(mut now) = self.0.lock() {
            *now = call;
        }
    }

    fn get(&self) -> Option<Call> {
        self.0.lock().ok().and_then(|call| call.clone())
    }
}

/// Runs `run` on a thread of its own and waits for it, until `progress` is stopped or a call in `calls` exceeds its
/// limit, which is recorded in `failure`.
///
/// # Errors
/// Those of the run; also [`RunError::Stopped`] if it did not return after a stop.
pub(crate) fn watched(
    run: impl FnOnce() -> Result<Outcome, RunError> + Send + 'static,
    (calls, failure, progress): (&Arc<Calls>, &Failure, &Progress),
) -> Result<Outcome, RunError> {
    let (tell, told) = mpsc::channel();
    let (tell_who, who) = mpsc::channel();
    THREADS.fetch_add(1, Ordering::SeqCst);
    let begun = thread::Builder::new().name("narrows-own".into()).stack_size(8 << 20).spawn(move || {
        // Attached once for all calls, so that the thread has one interpreter state as long as it runs.
        Python::attach(|py| {
            let ident =
                py.import("threading").and_then(|m| m.call_method0("get_ident")).and_then(|i| i.extract::<c_long>());
            let _ = tell_who.send(ident.ok());
            let outcome = py.detach(run);
            let _ = tell.send(outcome);
        });
        THREADS.fetch_sub(1, Ordering::SeqCst);
    });
    let Ok(worker) = begun else {
        THREADS.fetch_sub(1, Ordering::SeqCst);
        failure.note("no thread can be started for the run".to_owned());
        return Err(RunError::Stopped);
    };
    let thread = who.recv().ok().flatten();
    let heard = Arc::new(AtomicBool::new(false));
    let mut told_to_end: Option<Instant> = None;
    loop {
        match told.recv_timeout(LOOK) {
            Ok(outcome) => {
                // The thread only has to detach from the interpreter now.
                let _ = worker.join();
                return outcome;
            }
            Err(RecvTimeoutError::Disconnected) => {
                failure.note("the run's thread ended without a result".to_owned());
                return Err(RunError::Stopped);
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        let call = calls.get();
        if let Some(call) = call.as_ref().filter(|call| call.began.elapsed() > call.limit) {
            failure.note(format!(
                "{} took longer than its time limit of {} s; allowed: a call that returns sooner, or a larger time_limit_s",
                call.what,
                call.limit.as_secs_f64()
            ));
        }
        let Some(call) = call.filter(|_| progress.stopped()) else { continue };
        let since = *told_to_end.get_or_insert_with(Instant::now);
        // Within the grace period a hook may end and another begin; after that, the failure prevents new ones.
        if since.elapsed() < GRACE || call.began > since {
            if let Some(thread) = thread {
                interrupt(thread, calls, &call, &heard);
            }
            continue;
        }
        if !heard.load(Ordering::Relaxed) {
            // The hook holds the interpreter's lock; without the lock, nothing in Python can be notified.
            if since.elapsed() > 2 * GRACE {
                let why = format!("{} did not return and keeps the Python interpreter busy", call.what);
                backstop::end(1, &failure.fault().unwrap_or(why));
            }
            continue;
        }
        return Err(RunError::Stopped);
    }
}

/// Raises [`HookInterrupted`] in the thread, if it is still in `call`. Does so on a new thread, since a hook that holds
/// the interpreter's lock would block the caller.
fn interrupt(thread: c_long, calls: &Arc<Calls>, call: &Call, heard: &Arc<AtomicBool>) {
    let (calls, began, heard) = (Arc::clone(calls), call.began, Arc::clone(heard));
    let raise = move || {
        Python::attach(|py| {
            heard.store(true, Ordering::Relaxed);
            if calls.get().is_some_and(|call| call.began == began) {
                let kind = py.get_type::<HookInterrupted>();
                // SAFETY: the interpreter's lock is held, and the exception is a class.
                unsafe { ffi::PyThreadState_SetAsyncExc(thread, kind.as_ptr()) };
            }
        });
    };
    // If no thread can be started, the next check tries again.
    drop(thread::Builder::new().spawn(raise));
}
