//! The thread that starts a program's first process, as the parent that the first process must not outlive.
//!
//! `PR_SET_PDEATHSIG` refers to the death of the *thread* that made a process. So each program has a thread that stays
//! until the program is over. It also reads the program's messages and output.

use super::copy::clone_arguments;
use super::init::{self, Ends, Message, Step};
use super::plan::{self, Names, Plan};
use super::{Captured, Exit};
use crate::LiveError;
use narrows_units::Duration;
use nix::poll::{PollFd, PollFlags, PollTimeout};
use nix::sys::signal::{SigSet, SigmaskHow};
use nix::sys::wait::{Id, WaitPidFlag};
use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Largest number of bytes kept of a captured stream.
const CAPTURED_MAX: usize = 16 << 20;

/// The state of a program: its keeper sets it, and others wait for it.
#[derive(Debug, Default)]
pub(super) struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The program's first process: its descriptor, which never refers to another process, and its identifier.
    first: Option<(Arc<OwnedFd>, u32)>,
    prepared: bool,
    failed: Option<LiveError>,
    exit: Option<Exit>,
    /// No process of the program is left.
    over: bool,
    captured: Captured,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, what: impl FnOnce(&mut State)) {
        what(&mut self.state());
        self.changed.notify_all();
    }

    /// Waits while `waiting` holds, at most for `limit`.
    fn wait_while(&self, limit: Option<Duration>, waiting: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let state = self.state();
        match limit {
            None => self.changed.wait_while(state, |state| waiting(state)).unwrap_or_else(PoisonError::into_inner),
            Some(limit) => {
                let limit = std::time::Duration::from_nanos(limit.as_nanos());
                let waited = self.changed.wait_timeout_while(state, limit, |state| waiting(state));
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        }
    }

    /// Waits until the program can begin.
    pub(super) fn prepared(&self) -> Result<(), LiveError> {
        let state = self.wait_while(None, |state| !state.prepared && state.failed.is_none() && !state.over);
        match &state.failed {
            Some(error) => Err(error.clone()),
            None if state.prepared => Ok(()),
            None => Err(LiveError::failed("prepare a program", "its first process was killed")),
        }
    }

    /// Returns how the program ended; `None` if it still runs after `limit`, or was killed before it could end.
    pub(super) fn exit(&self, limit: Option<Duration>) -> Result<Option<Exit>, LiveError> {
        let state = self.wait_while(limit, |state| state.exit.is_none() && state.failed.is_none() && !state.over);
        match &state.failed {
            Some(error) => Err(error.clone()),
            None => Ok(state.exit),
        }
    }

    /// Waits, at most for `limit`, until no process of the program is left; returns whether none is.
    pub(super) fn all_over(&self, limit: Duration) -> bool {
        self.wait_while(Some(limit), |state| !state.over).over
    }

    /// Sends a signal to the first process: it forwards SIGTERM to all, and SIGKILL ends all.
    pub(super) fn signal(&self, signal: i32) {
        let Some((first, _)) = self.state().first.clone() else { return };
        // SAFETY: the descriptor is open and names our child for as long as it exists; no further data is passed.
        unsafe {
            libc::syscall(
                libc::SYS_pidfd_send_signal,
                first.as_raw_fd(),
                signal,
                std::ptr::null::<libc::siginfo_t>(),
                0,
            );
        }
    }

    pub(super) fn pid(&self) -> Option<u32> {
        self.state().first.as_ref().map(|(_, pid)| *pid)
    }

    pub(super) fn take_captured(&self) -> Captured {
        std::mem::take(&mut self.state().captured)
    }
}

/// Starts the keeper of a program.
pub(super) fn start(plan: Plan) -> Result<(Arc<Shared>, JoinHandle<()>), LiveError> {
    let shared = Arc::new(Shared::default());
    let of_keeper = Arc::clone(&shared);
    let keeper = std::thread::Builder::new()
        .name("program".to_owned())
        .spawn(move || {
            let terminal = Terminal::of(&plan);
            if let Err(error) = keep(plan, &of_keeper) {
                of_keeper.change(|state| {
                    state.failed.get_or_insert(error);
                });
            }
            drop(terminal);
            of_keeper.change(|state| state.over = true);
        })
        .map_err(|e| LiveError::failed("start a thread", e))?;
    Ok((shared, keeper))
}

/// Copies the process, reports on the copy, and returns when it and all its descendants are gone.
fn keep(plan: Plan, shared: &Shared) -> Result<(), LiveError> {
    // The copy starts with all signals blocked, so that none of this process' handlers runs in it.
    nix::sys::signal::pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), None)
        .map_err(|e| LiveError::failed("block signals", e))?;
    let (status, status_end) = plan::pipe()?;
    let (go_end, go) = plan::pipe()?;
    let (first, pid) = copy(&plan, Ends { status: status_end.as_raw_fd(), go: go_end.as_raw_fd() })?;
    drop((status_end, go_end));
    let first = Arc::new(first);
    shared.change(|state| state.first = Some((Arc::clone(&first), pid)));
    let Plan { names, captures, streams, .. } = plan;
    drop(streams);
    let captures = captures.map(|captures| captures.map(std::fs::File::from));
    let mut listener = Listener { names, status: status.into(), go: Some(go), captures, shared };
    let heard = listener.listen(&first);
    if heard.is_err() {
        shared.signal(libc::SIGKILL);
    }
    nix::sys::wait::waitid(Id::PIDFd(first.as_fd()), WaitPidFlag::WEXITED)
        .map_err(|e| LiveError::failed("wait for a program", e))?;
    heard
}

/// Copies this process into new namespaces, where it runs [`init::run`].
fn copy(plan: &Plan, ends: Ends) -> Result<(OwnedFd, u32), LiveError> {
    let mut pidfd: libc::c_int = -1;
    let namespaces = libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWUTS | libc::CLONE_PIDFD;
    let arguments = clone_arguments(namespaces as u64, &raw mut pidfd as u64);
    // SAFETY: the arguments are valid, and `pidfd` has room for a descriptor. Memory is copied, not shared, and the
    // copy makes system calls only.
    let result = unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<libc::clone_args>()) };
    if result == 0 {
        // SAFETY: this is the copy, and this call is its first.
        unsafe { init::run(plan, ends) }
    }
    if result < 0 {
        let error = std::io::Error::last_os_error();
        return Err(if error.kind() == ErrorKind::PermissionDenied {
            LiveError::Unavailable {
                what: "a program on an emulated host".to_owned(),
                why: format!("namespaces cannot be made ({error})"),
                remedy: "run as root".to_owned(),
            }
        } else {
            LiveError::failed(format!("start `{}` on {}", plan.names.command, plan.names.host), error)
        });
    }
    // SAFETY: the kernel has just made this descriptor for us.
    Ok((unsafe { OwnedFd::from_raw_fd(pidfd) }, result as u32))
}

/// The pipes from which the keeper reads.
struct Listener<'a> {
    names: Names,
    status: std::fs::File,
    /// Closed once the child was told to continue.
    go: Option<OwnedFd>,
    captures: Option<[std::fs::File; 2]>,
    shared: &'a Shared,
}

impl Listener<'_> {
    /// Listens until the first process is gone. By then, all messages and all output have been read.
    fn listen(&mut self, first: &OwnedFd) -> Result<(), LiveError> {
        for pipe in std::iter::once(&self.status).chain(self.captures.iter().flatten()) {
            nix::fcntl::fcntl(pipe, nix::fcntl::FcntlArg::F_SETFL(nix::fcntl::OFlag::O_NONBLOCK))
                .map_err(|e| LiveError::failed("set up a pipe", e))?;
        }
        let mut open = true;
        loop {
            let mut fds = vec![PollFd::new(first.as_fd(), PollFlags::POLLIN)];
            if open {
                fds.push(PollFd::new(self.status.as_fd(), PollFlags::POLLIN));
                let captures = self.captures.iter().flatten();
                fds.extend(captures.map(|capture| PollFd::new(capture.as_fd(), PollFlags::POLLIN)));
            }
            nix::poll::poll(&mut fds, PollTimeout::NONE).map_err(|e| LiveError::failed("wait for a program", e))?;
            let gone = fds[0].any().unwrap_or(true);
            open = self.hear_status()?;
            self.hear_captures();
            if gone {
                return Ok(());
            }
        }
    }

    /// Reads the waiting messages; returns whether more may follow.
    fn hear_status(&mut self) -> Result<bool, LiveError> {
        let mut bytes = [0; Message::LEN];
        loop {
            match self.status.read(&mut bytes) {
                Ok(Message::LEN) => self.heed(Message::from_bytes(bytes))?,
                Ok(_) => return Ok(false),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
                Err(error) => return Err(LiveError::failed("learn how a program ended", error)),
            }
        }
    }

    fn heed(&mut self, message: Option<Message>) -> Result<(), LiveError> {
        match message {
            Some(Message::Armed) => {
                if let Some(go) = self.go.take() {
                    nix::unistd::write(&go, &[1]).map_err(|e| LiveError::failed("start a program", e))?;
                }
            }
            Some(Message::Prepared) => self.shared.change(|state| state.prepared = true),
            Some(Message::Failed(step, errno)) => self.shared.change(|state| {
                state.failed.get_or_insert(failure(&self.names, step, errno));
            }),
            Some(Message::Exited(status)) => {
                self.shared.change(|state| state.exit = Some(Exit::from_wait_status(status)));
            }
            None => {
                return Err(LiveError::failed(
                    "learn how a program ended",
                    "its first process sent an unknown message",
                ));
            }
        }
        Ok(())
    }

    /// Reads what the program has written.
    fn hear_captures(&mut self) {
        let Some(captures) = &mut self.captures else { return };
        let mut buffer = [0; 16384];
        for (index, capture) in captures.iter_mut().enumerate() {
            while let Ok(read @ 1..) = capture.read(&mut buffer) {
                self.shared.change(|state| {
                    let kept = &mut state.captured;
                    let stream = if index == 0 { &mut kept.stdout } else { &mut kept.stderr };
                    let taken = read.min(CAPTURED_MAX - stream.len());
                    stream.extend_from_slice(&buffer[..taken]);
                    kept.dropped_bytes += (read - taken) as u64;
                });
            }
        }
    }
}

fn failure(names: &Names, step: Step, errno: i32) -> LiveError {
    let what = format!("{} for `{}` on {}", step.verb(), names.command, names.host);
    LiveError::failed(what, std::io::Error::from_raw_os_error(errno))
}

/// The terminal's state before a shell got it; restored on drop.
struct Terminal {
    foreground: nix::unistd::Pid,
    modes: Option<nix::sys::termios::Termios>,
}

impl Terminal {
    fn of(plan: &Plan) -> Option<Self> {
        if !plan.terminal {
            return None;
        }
        let stdin = std::io::stdin();
        let foreground = nix::unistd::tcgetpgrp(stdin.as_fd()).ok()?;
        Some(Self { foreground, modes: nix::sys::termios::tcgetattr(stdin.as_fd()).ok() })
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // All signals are blocked in this thread, so a background process may do this. If the terminal is gone by now,
        // nothing needs to be restored.
        let stdin = std::io::stdin();
        let _ = nix::unistd::tcsetpgrp(stdin.as_fd(), self.foreground);
        if let Some(modes) = &self.modes {
            let _ = nix::sys::termios::tcsetattr(stdin.as_fd(), nix::sys::termios::SetArg::TCSADRAIN, modes);
        }
    }
}
