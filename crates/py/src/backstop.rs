//! Ends the process on a signal when Python cannot. Python's handlers run between two steps of the interpreter, and
//! never while C code that does not return (a regular expression, a library's loop) holds the interpreter's lock.

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long before its signal is read from the pipe a handler may have run.
const EARLY: Duration = Duration::from_millis(200);

/// Number of backstops.
static ARMED: AtomicUsize = AtomicUsize::new(0);

/// Ends the process with `code` and a message, if it has a backstop. A command has one; a program that only uses
/// Narrows has none.
pub(crate) fn end(code: i32, message: &str) {
    if ARMED.load(Ordering::SeqCst) > 0 {
        let _ = writeln!(std::io::stderr(), "error: {message}");
        // SAFETY: ends the process at once, whatever its other threads do.
        unsafe { libc::_exit(code) };
    }
}

impl Drop for PyBackstop {
    fn drop(&mut self) {
        ARMED.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Waits for signals beside the interpreter, and ends the process if no handler in Python runs in time.
#[pyclass(name = "Backstop", frozen)]
pub(crate) struct PyBackstop {
    pipe: UnixStream,
    epoch: Instant,
    /// When a handler ran last, in nanoseconds since the epoch; zero before the first.
    heard: Arc<AtomicU64>,
}

#[pymethods]
impl PyBackstop {
    #[new]
    fn new(grace_s: f64, message: String, signals: Vec<i32>) -> PyResult<Self> {
        let fail = |error: std::io::Error| PyOSError::new_err(error.to_string());
        let (pipe, mut told) = UnixStream::pair().map_err(fail)?;
        pipe.set_nonblocking(true).map_err(fail)?;
        let grace = Duration::try_from_secs_f64(grace_s).unwrap_or(Duration::from_secs(1));
        let epoch = Instant::now();
        let heard = Arc::new(AtomicU64::new(0));
        let hears = Arc::clone(&heard);
        let wait = move || {
            let mut number = [0];
            // The loop ends when the value is dropped, which closes its end of the pipe.
            while let Ok(1) = told.read(&mut number) {
                let number = i32::from(number[0]);
                if !signals.contains(&number) {
                    continue;
                }
                let came = epoch.elapsed();
                thread::sleep(grace);
                let last = hears.load(Ordering::SeqCst);
                if last == 0 || Duration::from_nanos(last) + EARLY < came {
                    end(128 + number, &message);
                }
            }
        };
        thread::Builder::new().name("narrows-backstop".into()).spawn(wait).map_err(fail)?;
        ARMED.fetch_add(1, Ordering::SeqCst);
        Ok(Self { pipe, epoch, heard })
    }

    /// Return the descriptor that `signal.set_wakeup_fd` takes.
    fn fileno(&self) -> i32 {
        self.pipe.as_raw_fd()
    }

    /// Record that a handler in Python has run.
    fn heard(&self) {
        let now = u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.heard.store(now.max(1), Ordering::SeqCst);
    }
}
