//! Ends a command with a message and exit code 1, instead of an abort, when the system gives no memory.
//!
//! Rust aborts when an allocation fails whose caller does not handle failure. The allocator here records the failure,
//! and the handler of the abort's signal, in commands only, ends the process. If the caller handles failure (samples),
//! it is an error like any other.

use pyo3::prelude::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, Ordering};

/// Exit code of a failed run.
const FAILED_RUN: i32 = 1;

const MESSAGE: &str = "error: out of memory, and the run was given up; allowed: fewer flows, samples, runs or --jobs at a time; \
                       a later run with the same -o cleans up\n";

/// Whether an allocation has failed.
static FAILED: AtomicBool = AtomicBool::new(false);

/// The system's allocator, which also records failures.
struct Watched;

#[global_allocator]
static ALLOCATOR: Watched = Watched;

fn noted(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        FAILED.store(true, Ordering::Relaxed);
    }
    memory
}

// SAFETY: all calls go to the system's allocator.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        noted(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        noted(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        noted(unsafe { System.realloc(memory, layout, size) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Ends the process if an allocation failed; otherwise the abort continues.
extern "C" fn on_abort(_signal: libc::c_int) {
    if FAILED.load(Ordering::Relaxed) {
        // SAFETY: both may be called in a signal handler; the message is static.
        unsafe {
            libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len());
            libc::_exit(FAILED_RUN);
        }
    }
}

/// End this process with exit code 1 and a message if an allocation of the engine fails; for commands, not for use as a
/// library.
#[pyfunction]
pub(crate) fn end_on_failed_allocation() {
    // SAFETY: the handler does only what signal handlers may, and lives as long as the process.
    unsafe { libc::signal(libc::SIGABRT, on_abort as extern "C" fn(libc::c_int) as libc::sighandler_t) };
}
