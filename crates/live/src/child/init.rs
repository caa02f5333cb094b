//! The first process of a program's namespaces, from its copy to its end: a small init.
//!
//! All of this code runs in a copy of a process with threads, so it makes system calls and nothing else: no allocation,
//! no lock, no panic. It reports through the status pipe, in [`Message`]s.

use super::plan::Plan;
use std::os::fd::{AsRawFd, RawFd};

/// A step that can fail in the child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Step {
    /// Enter the host's network namespace.
    Network = 1,
    /// Set the machine's name.
    Hostname,
    /// Keep mounts from propagating to the machine.
    Mounts,
    /// Mount the nodes' names over `/etc/hosts`.
    Hosts,
    /// Mount `/proc`.
    Proc,
    /// Mount `/sys`.
    Sys,
    /// Copy the process for the program.
    Fork,
    /// Make the program the terminal's foreground.
    Terminal,
    /// Execute the program.
    Execute,
}

impl Step {
    const ALL: [Self; 9] = [
        Self::Network,
        Self::Hostname,
        Self::Mounts,
        Self::Hosts,
        Self::Proc,
        Self::Sys,
        Self::Fork,
        Self::Terminal,
        Self::Execute,
    ];

    /// The step as a verb, for errors.
    pub(super) fn verb(self) -> &'static str {
        match self {
            Self::Network => "enter the network namespace",
            Self::Hostname => "name the machine after the host",
            Self::Mounts => "make the mount namespace private",
            Self::Hosts => "lay the nodes' names over /etc/hosts",
            Self::Proc => "mount /proc",
            Self::Sys => "mount /sys",
            Self::Fork => "start a process",
            Self::Terminal => "hand over the terminal",
            Self::Execute => "execute the program",
        }
    }
}

/// What the child reports through the status pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// The kernel will kill the child when its parent dies.
    Armed,
    /// Namespaces and mounts are ready.
    Prepared,
    /// A step failed with this error number.
    Failed(Step, i32),
    /// The program ended with this wait status.
    Exited(i32),
}

impl Message {
    /// Bytes of a message: short enough that a pipe takes it in one piece.
    pub(super) const LEN: usize = 8;

    fn to_bytes(self) -> [u8; Self::LEN] {
        let (kind, step, value) = match self {
            Self::Armed => (1, 0, 0),
            Self::Prepared => (2, 0, 0),
            Self::Failed(step, errno) => (3, step as u8, errno),
            Self::Exited(status) => (4, 0, status),
        };
        let [a, b, c, d] = value.to_ne_bytes();
        [kind, step, 0, 0, a, b, c, d]
    }

    pub(super) fn from_bytes(bytes: [u8; Self::LEN]) -> Option<Self> {
        let [kind, step, _, _, a, b, c, d] = bytes;
        let value = i32::from_ne_bytes([a, b, c, d]);
        match kind {
            1 => Some(Self::Armed),
            2 => Some(Self::Prepared),
            3 => Step::ALL.into_iter().find(|known| *known as u8 == step).map(|step| Self::Failed(step, value)),
            4 => Some(Self::Exited(value)),
            _ => None,
        }
    }
}

/// The child's ends of the pipes that connect it to its keeper.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    /// The child writes messages here.
    pub(super) status: RawFd,
    /// One byte arrives here once the keeper knows that the child is armed.
    pub(super) go: RawFd,
}

fn errno() -> i32 {
    // SAFETY: errno is the calling thread's own.
    unsafe { *libc::__errno_location() }
}

fn tell(status: RawFd, message: Message) {
    let bytes = message.to_bytes();
    // SAFETY: the buffer is valid for its length. If the keeper is gone, this process will be killed in a moment.
    unsafe { libc::write(status, bytes.as_ptr().cast(), bytes.len()) };
}

fn exit(code: i32) -> ! {
    // SAFETY: ends the process without running any of its parent's code.
    unsafe { libc::_exit(code) }
}

fn check(result: i32, step: Step) -> Result<(), (Step, i32)> {
    if result < 0 { Err((step, errno())) } else { Ok(()) }
}

/// Runs as the first process of new namespaces, until all processes in them have ended.
///
/// # Safety
/// Must be called once, by the copy, right after the process was copied.
pub(super) unsafe fn run(plan: &Plan, ends: Ends) -> ! {
    close_all_but(plan, ends);
    // SAFETY: plain system call. If the parent thread is gone already, the read from `go` below ends this process.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    tell(ends.status, Message::Armed);
    let mut byte = 0_u8;
    // SAFETY: `byte` has room for one byte. No byte means that the keeper is gone.
    if unsafe { libc::read(ends.go, (&raw mut byte).cast(), 1) } != 1 {
        exit(1);
    }
    if let Err((step, errno)) = prepare(plan) {
        tell(ends.status, Message::Failed(step, errno));
        exit(1);
    }
    tell(ends.status, Message::Prepared);
    wait_for_start(plan.start_ns);
    match copy() {
        Err(errno) => {
            tell(ends.status, Message::Failed(Step::Fork, errno));
            exit(1)
        }
        Ok(0) => execute(plan, ends),
        Ok(program) => reap(plan, ends, program),
    }
}

/// Closes the parent's descriptors except those that are needed: the network's devices must not stay open here.
fn close_all_but(plan: &Plan, ends: Ends) {
    let [a, b, c] = &plan.streams;
    let mut keep =
        [plan.netns.as_raw_fd(), a.as_raw_fd(), b.as_raw_fd(), c.as_raw_fd(), ends.status, ends.go].map(|fd| fd as u32);
    keep.sort_unstable();
    let mut first = 3;
    for fd in keep {
        close_range(first, fd.wrapping_sub(1), 0);
        first = fd + 1;
    }
    close_range(first, u32::MAX, 0);
}

fn close_range(first: u32, last: u32, flags: u32) {
    if first <= last {
        // SAFETY: closes descriptors of this process alone, which owns no value that would use them later.
        unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) };
    }
}

/// Enters the host's network namespace, and sets up the host name, `/proc`, `/sys` and `/etc/hosts`.
fn prepare(plan: &Plan) -> Result<(), (Step, i32)> {
    default_signals();
    ordinary_scheduling();
    // SAFETY: the descriptor is a network namespace's; this process has one thread.
    check(unsafe { libc::setns(plan.netns.as_raw_fd(), libc::CLONE_NEWNET) }, Step::Network)?;
    let name = plan.hostname.as_bytes();
    // SAFETY: the name is valid for its length. The kernel takes at most 64 bytes.
    check(unsafe { libc::sethostname(name.as_ptr().cast(), name.len().min(64)) }, Step::Hostname)?;
    mount(None, c"/", None, libc::MS_REC | libc::MS_SLAVE, Step::Mounts)?;
    lay_over_etc(&plan.hosts_file)?;
    let quiet = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    mount(Some(c"proc"), c"/proc", Some(c"proc"), quiet, Step::Proc)?;
    mount(Some(c"sysfs"), c"/sys", Some(c"sysfs"), quiet, Step::Sys)
}

fn mount(
    source: Option<&std::ffi::CStr>,
    target: &std::ffi::CStr,
    kind: Option<&std::ffi::CStr>,
    flags: libc::c_ulong,
    step: Step,
) -> Result<(), (Step, i32)> {
    let pointer = |text: Option<&std::ffi::CStr>| text.map_or(std::ptr::null(), std::ffi::CStr::as_ptr);
    // SAFETY: the strings end with zero; the file system gets no data.
    let result = unsafe { libc::mount(pointer(source), target.as_ptr(), pointer(kind), flags, std::ptr::null()) };
    check(result, step)
}

/// Binds a file of the nodes' names over `/etc/hosts`, and an empty one over `/etc/resolv.conf`: no name server can be
/// reached, and if none is listed, a look-up fails at once. If the machine lacks one of these files, so does the
/// program.
///
/// The files are in a tmpfs, mounted for a moment over `/proc`, a directory that always exists.
fn lay_over_etc(hosts: &[u8]) -> Result<(), (Step, i32)> {
    mount(Some(c"tmpfs"), c"/proc", Some(c"tmpfs"), libc::MS_NOSUID | libc::MS_NODEV, Step::Hosts)?;
    for (source, target, text) in
        [(c"/proc/hosts", c"/etc/hosts", hosts), (c"/proc/resolv.conf", c"/etc/resolv.conf", &[][..])]
    {
        // SAFETY: the path ends with zero.
        let file = unsafe { libc::open(source.as_ptr(), libc::O_WRONLY | libc::O_CREAT | libc::O_CLOEXEC, 0o644) };
        check(file, Step::Hosts)?;
        // SAFETY: the text is valid for its length, and the descriptor is ours.
        let written = unsafe {
            let written = libc::write(file, text.as_ptr().cast(), text.len());
            libc::close(file);
            written
        };
        if written != text.len() as isize {
            return Err((Step::Hosts, libc::ENOSPC));
        }
        match mount(Some(source), target, None, libc::MS_BIND, Step::Hosts) {
            Err((_, libc::ENOENT)) | Ok(()) => {}
            failed => return failed,
        }
    }
    // SAFETY: the path ends with zero; the bound files keep the file system alive.
    check(unsafe { libc::umount2(c"/proc".as_ptr(), libc::MNT_DETACH) }, Step::Hosts)
}

/// Resets all signals to their defaults: the parent's handlers must not run here, and the program expects the defaults.
fn default_signals() {
    for signal in 1..=64 {
        // SAFETY: SIG_DFL runs no code of ours. Signals that cannot be set are refused, which is harmless.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Sets normal scheduling: the program must not inherit a real-time class from the thread that started it.
fn ordinary_scheduling() {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameters are valid; 0 is this process.
    unsafe {
        if libc::sched_getscheduler(0) != libc::SCHED_OTHER {
            libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const parameters);
        }
    }
}

/// Sleeps until `start_ns`; exits if SIGTERM arrives earlier.
fn wait_for_start(start_ns: Option<u64>) {
    let Some(start_ns) = start_ns else { return };
    let set = signals(&[libc::SIGTERM]);
    loop {
        let left = start_ns.saturating_sub(crate::clock::monotonic_ns());
        if left == 0 {
            return;
        }
        let time = libc::timespec { tv_sec: (left / 1_000_000_000) as _, tv_nsec: (left % 1_000_000_000) as _ };
        // SAFETY: the set and the time are valid; only the signal's number is requested.
        if unsafe { libc::sigtimedwait(&raw const set, std::ptr::null_mut(), &raw const time) } == libc::SIGTERM {
            exit(0);
        }
    }
}

fn signals(which: &[i32]) -> libc::sigset_t {
    // SAFETY: sigemptyset makes any memory a valid set, and the numbers are signals.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in which {
            libc::sigaddset(&raw mut set, *signal);
        }
        set
    }
}

/// Copies the process. Returns 0 in the copy, and its process identifier in the original; an error number on failure.
fn copy() -> Result<libc::pid_t, i32> {
    // SAFETY: the copy shares no memory. This skips what fork does to libc's state for other threads, of which this
    // process has none.
    let result = unsafe { libc::syscall(libc::SYS_clone3, &raw const ORDINARY_COPY, size_of::<libc::clone_args>()) };
    if result < 0 { Err(errno()) } else { Ok(result as libc::pid_t) }
}

static ORDINARY_COPY: libc::clone_args = super::copy::clone_arguments(0, 0);

/// Becomes the program.
fn execute(plan: &Plan, ends: Ends) -> ! {
    if let Err((step, errno)) = own_session(plan) {
        tell(ends.status, Message::Failed(step, errno));
        exit(127);
    }
    let none = signals(&[]);
    // SAFETY: the descriptors are open and none is a standard one; paths, arguments and environment are terminated as
    // execve requires.
    unsafe {
        for (standard, stream) in (0..).zip(&plan.streams) {
            libc::dup2(stream.as_raw_fd(), standard);
        }
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        libc::execve(plan.file.as_ptr(), plan.arguments.as_ptr(), plan.environment.as_ptr());
    }
    tell(ends.status, Message::Failed(Step::Execute, errno()));
    exit(127)
}

/// Starts a session without a terminal, or a process group in the foreground of our terminal.
fn own_session(plan: &Plan) -> Result<(), (Step, i32)> {
    // SAFETY: plain system calls about this process. All signals are blocked, so a background process may do this.
    unsafe {
        if !plan.terminal {
            return check(libc::setsid(), Step::Fork);
        }
        check(libc::setpgid(0, 0), Step::Terminal)?;
        check(libc::tcsetpgrp(plan.streams[0].as_raw_fd(), libc::getpid()), Step::Terminal)
    }
}

/// Waits for every process of the namespace, reports how the program ended, and forwards SIGTERM to all.
fn reap(plan: &Plan, ends: Ends, program: libc::pid_t) -> ! {
    let set = signals(&[libc::SIGCHLD, libc::SIGTERM]);
    loop {
        let mut status = 0;
        // SAFETY: `status` has room for the status.
        match unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG | libc::WUNTRACED) } {
            // SAFETY: the set is valid, all its signals are blocked, and so none is lost between the two waits.
            0 => {
                if unsafe { libc::sigwaitinfo(&raw const set, std::ptr::null_mut()) } == libc::SIGTERM {
                    end_all();
                }
            }
            pid if pid > 0 && libc::WIFSTOPPED(status) => resume(plan, program, pid),
            pid if pid > 0 => {
                if pid == program {
                    tell(ends.status, Message::Exited(status));
                    if plan.end_together {
                        exit(0);
                    }
                }
            }
            _ => exit(0),
        }
    }
}

/// Asks every other process of the namespace to end, including stopped ones.
fn end_all() {
    // SAFETY: in a namespace of its own, -1 means every process in it but the first.
    unsafe {
        libc::kill(-1, libc::SIGTERM);
        libc::kill(-1, libc::SIGCONT);
    }
}

/// Continues a shell on the terminal that stopped itself: no other process would.
fn resume(plan: &Plan, program: libc::pid_t, stopped: libc::pid_t) {
    if plan.terminal && stopped == program {
        // SAFETY: the program is a child of this process, not yet waited for.
        unsafe { libc::kill(program, libc::SIGCONT) };
    }
}
