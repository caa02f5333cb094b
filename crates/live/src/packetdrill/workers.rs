//! Threads for system calls that may sleep.
//!
//! The kernel cannot be asked whether a call will sleep. So such a call is made by a thread of its own, and the caller
//! watches the thread until the call has returned or the thread sleeps.

use super::calls::{self, Kept};
use super::clock;
use narrows_fabric::Progress;
use narrows_packetdrill::call::{CallResult, SystemCall};
use narrows_packetdrill::host::HostError;
use narrows_units::Instant;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the caller looks for the result before it asks whether the thread sleeps: that costs ten times as much.
const LOOKS: usize = 64;

/// Longest wait at the end for a thread whose call does not return.
const PATIENCE: Duration = Duration::from_millis(500);

/// Threads for calls that may sleep. They stay for the next call.
#[derive(Debug)]
pub(super) struct Workers {
    workers: Vec<Worker>,
    shared: Arc<Shared>,
    next: u64,
}

#[derive(Debug)]
struct Worker {
    calls: mpsc::Sender<(u64, SystemCall)>,
    state: Arc<State>,
    thread: JoinHandle<()>,
    /// Whether its last call has not been collected.
    busy: bool,
}

/// What a worker is doing, as others may read it.
#[derive(Debug, Default)]
struct State {
    /// Its number in the kernel.
    thread: AtomicI32,
    /// The call that it is about to make, or makes.
    making: AtomicU64,
}

#[derive(Debug)]
struct Shared {
    returned: Mutex<Vec<Returned>>,
    /// Readable when a call has returned.
    news: nix::sys::eventfd::EventFd,
    kept: Arc<Kept>,
}

/// A call that has returned.
#[derive(Debug)]
pub(super) struct Returned {
    pub(super) number: u64,
    pub(super) result: CallResult,
    pub(super) at: Instant,
    worker: usize,
}

/// What became of a call.
#[derive(Debug)]
pub(super) enum Begun {
    /// It has returned.
    Returned(CallResult),
    /// It sleeps.
    Sleeps(u64),
}

impl Workers {
    pub(super) fn new(kept: Arc<Kept>) -> Result<Self, crate::LiveError> {
        let flags = nix::sys::eventfd::EfdFlags::EFD_CLOEXEC | nix::sys::eventfd::EfdFlags::EFD_NONBLOCK;
        let news = nix::sys::eventfd::EventFd::from_value_and_flags(0, flags)
            .map_err(|error| crate::LiveError::failed("make an event descriptor", error))?;
        let shared = Arc::new(Shared { returned: Mutex::default(), news, kept });
        let mut workers = Self { workers: Vec::new(), shared, next: 1 };
        // Two calls at a time are rare. A thread that is started during a script would be late: it has to wait for a
        // processor before it can ask for a real-time class.
        for _ in 0..2 {
            workers.start().map_err(|error| crate::LiveError::failed("start a thread", error))?;
        }
        while workers.workers.iter().any(|worker| worker.state.thread.load(Ordering::Acquire) == 0) {
            std::thread::sleep(Duration::from_micros(100));
        }
        Ok(workers)
    }

    /// Begins a call, and waits until it has returned or sleeps, or the run is stopped.
    pub(super) fn begin(&mut self, call: SystemCall, progress: &Progress) -> Result<Begun, HostError> {
        let index = self.idle()?;
        let number = self.next;
        self.next += 1;
        let worker = &mut self.workers[index];
        worker.busy = true;
        worker
            .calls
            .send((number, call))
            .map_err(|_| HostError::Failed("a thread for system calls ended".to_owned()))?;
        let state = Arc::clone(&worker.state);
        while !progress.stopped() {
            for _ in 0..LOOKS {
                if let Some(returned) = self.collect(Some(number)) {
                    return Ok(Begun::Returned(returned.result));
                }
                // Lets the worker run where both share a processor.
                std::thread::yield_now();
            }
            if state.making.load(Ordering::Acquire) == number && sleeps(state.thread.load(Ordering::Acquire)) {
                // It may have returned, and then waited for its next call.
                return Ok(match self.collect(Some(number)) {
                    Some(returned) => Begun::Returned(returned.result),
                    None if state.making.load(Ordering::Acquire) == number => Begun::Sleeps(number),
                    None => continue,
                });
            }
        }
        Err(HostError::Stopped)
    }

    /// Returns a call that has returned, if there is one: the first, or the one with a number.
    pub(super) fn collect(&mut self, number: Option<u64>) -> Option<Returned> {
        let mut returned = self.shared.returned.lock().unwrap_or_else(PoisonError::into_inner);
        let place = returned.iter().position(|one| number.is_none_or(|number| one.number == number))?;
        let one = returned.remove(place);
        if returned.is_empty() {
            // Nothing is left to be told.
            let _ = self.shared.news.read();
        }
        drop(returned);
        self.workers[one.worker].busy = false;
        Some(one)
    }

    /// The file that is readable when a call has returned.
    pub(super) fn news(&self) -> BorrowedFd<'_> {
        self.shared.news.as_fd()
    }

    /// Returns the place of a worker that has nothing to do; starts one if there is none.
    fn idle(&mut self) -> Result<usize, HostError> {
        if let Some(place) = self.workers.iter().position(|worker| !worker.busy) {
            return Ok(place);
        }
        self.start().map_err(|error| HostError::Failed(format!("cannot start a thread: {error}")))
    }

    /// Starts a worker, and returns its place.
    fn start(&mut self) -> std::io::Result<usize> {
        let place = self.workers.len();
        let (calls, to_make) = mpsc::channel();
        let state = Arc::new(State::default());
        let (shared, own) = (Arc::clone(&self.shared), Arc::clone(&state));
        let thread = std::thread::Builder::new()
            .name("packetdrill call".to_owned())
            .spawn(move || work(place, &to_make, &own, &shared))?;
        self.workers.push(Worker { calls, state, thread, busy: false });
        Ok(place)
    }

    /// Ends the threads. What their calls wait for must have been ended before. A thread whose call does not return is
    /// left behind; it ends with its call.
    pub(super) fn end(&mut self) {
        let until = std::time::Instant::now() + PATIENCE;
        for worker in self.workers.drain(..) {
            drop(worker.calls);
            while !worker.thread.is_finished() && std::time::Instant::now() < until {
                std::thread::sleep(Duration::from_millis(1));
            }
            if worker.thread.is_finished() {
                // Workers do not panic; if one did, its call is lost with it.
                let _ = worker.thread.join();
            }
        }
    }
}

/// The code of a worker.
fn work(place: usize, calls: &mpsc::Receiver<(u64, SystemCall)>, state: &State, shared: &Shared) {
    schedule();
    // SAFETY: a plain system call.
    state.thread.store(unsafe { libc::gettid() }, Ordering::Release);
    while let Ok((number, call)) = calls.recv() {
        state.making.store(number, Ordering::Release);
        let result = calls::make(&call, &shared.kept);
        let at = clock::now();
        state.making.store(0, Ordering::Release);
        let returned = Returned { number, result, at, worker: place };
        shared.returned.lock().unwrap_or_else(PoisonError::into_inner).push(returned);
        // A counter that is full is readable, which is all that is wanted.
        let _ = shared.news.write(1);
    }
}

/// Returns whether a thread of this process sleeps, as far as a signal would wake it (state S of proc_pid_stat(5)).
fn sleeps(thread: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap_or_default();
    // The name of the thread, in parentheses, may contain anything.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'))
}

/// Gives the current thread a real-time class, so that other processes do not delay it. Without the right to do so, it
/// runs as others do, and its lateness shows it.
pub(super) fn schedule() {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: the parameters are valid; 0 is this thread. Its children are scheduled as others are.
    unsafe {
        libc::sched_setscheduler(0, libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, &raw const parameters);
        libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong);
    }
}
