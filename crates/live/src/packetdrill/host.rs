//! The host that the executor drives.

use super::calls::{self, Kept};
use super::congestion;
use super::device::Device;
use super::shell::Shell;
use super::workers::{Begun, Workers, schedule};
use super::{clock, info, place};
use crate::LiveError;
use narrows_fabric::Progress;
use narrows_packetdrill::call::{CallResult, Data, Errno, Output, SystemCall};
use narrows_packetdrill::host::{self, Fd, Happening, Host, HostError, ShellResult, TcpInfo, Ticket};
use narrows_packetdrill::options::Options;
use narrows_units::{Duration, Instant};
use std::collections::{BTreeSet, VecDeque};
use std::os::fd::RawFd;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;

/// Time before an instant at which the wait for it stops sleeping: the scheduler may wake a thread this much later than
/// asked.
const SPIN: Duration = Duration::from_micros(100);

/// Longest script. A script that waits longer holds its thread for as long, whatever else is to be done.
const LONGEST: Duration = Duration::from_secs(300);

/// Runs `work` with a host on this machine's kernel, on a thread of its own. The host's device has the addresses of the
/// options, and its commands run in `directory`. After [`stop`](narrows_fabric::Progress::stop) of `progress`, the
/// host's methods return [`HostError::Stopped`].
///
/// # Errors
/// [`LiveError::Unavailable`] without root, network namespaces or TUN devices; [`LiveError::Unsupported`] for
/// `--speed`; [`LiveError::Failed`] if another step fails.
pub fn on_kernel<T: Send>(
    options: &Options,
    directory: &Path,
    progress: &Arc<Progress>,
    work: impl FnOnce(&mut KernelHost) -> T + Send,
) -> Result<T, LiveError> {
    std::thread::scope(|threads| {
        let thread = std::thread::Builder::new().name("packetdrill".to_owned()).spawn_scoped(threads, || {
            place::enter(directory)?;
            let mut host = KernelHost::new(options, Arc::clone(progress))?;
            Ok(work(&mut host))
        });
        let thread = thread.map_err(|error| LiveError::failed("start a thread", error))?;
        thread.join().map_err(|panic| resume_unwind(panic))?
    })
}

/// Linux's TCP in a network namespace of its own.
#[derive(Debug)]
pub struct KernelHost {
    device: Device,
    shell: Shell,
    workers: Workers,
    kept: Arc<Kept>,
    congestion: congestion::Default,
    waiting: VecDeque<Happening>,
    /// Files that the script has open.
    open: BTreeSet<RawFd>,
    /// When the script began, or the host, if it has not.
    begun: Instant,
    latest: Duration,
    progress: Arc<Progress>,
}

impl KernelHost {
    /// Makes the host in the namespaces of the current thread.
    fn new(options: &Options, progress: Arc<Progress>) -> Result<Self, LiveError> {
        if let Some(speed) = options.speed {
            return Err(LiveError::Unsupported {
                field: "--speed".to_owned(),
                value: speed.to_string(),
                reason: "the device of a live script has the speed of TUN devices".to_owned(),
                allowed: "no --speed, or the simulated host".to_owned(),
            });
        }
        let kept = Arc::new(Kept::default());
        let congestion = congestion::Default::new()?;
        let device = Device::open(options)?;
        let workers = Workers::new(Arc::clone(&kept))?;
        let shell = Shell::start()?;
        schedule();
        Ok(Self {
            device,
            shell,
            workers,
            kept,
            congestion,
            waiting: VecDeque::new(),
            open: BTreeSet::new(),
            begun: clock::now(),
            latest: Duration::ZERO,
            progress,
        })
    }

    /// Returns how late the host was at most at the end of a wait, which is how late the executor did what followed. A
    /// difference proves nothing about the kernel if this is more than the script's tolerance.
    #[must_use]
    pub const fn latest(&self) -> Duration {
        self.latest
    }

    /// Takes what has happened so far, in the order of the times.
    fn gather(&mut self) -> Result<(), HostError> {
        let before = self.waiting.len();
        loop {
            let sent = self.device.sent().map_err(|error| HostError::Failed(format!("cannot see packets: {error}")))?;
            let Some(sent) = sent else { break };
            self.waiting.push_back(Happening::Sent { at: sent.at, bytes: sent.bytes });
        }
        while let Some(returned) = self.workers.collect(None) {
            self.note_files(&returned.result);
            self.waiting.push_back(Happening::Returned {
                ticket: Ticket(returned.number),
                result: returned.result,
                at: returned.at,
            });
        }
        if self.waiting.len() > before {
            self.device.drain();
            // A stable sort: packets with the same time stay in order.
            self.waiting.make_contiguous().sort_by_key(time);
        }
        Ok(())
    }

    /// Waits for something to happen, at most until `until` and no longer than [`SLICE`](clock::SLICE).
    fn wait(&mut self, until: Instant) {
        let left = until.since(clock::now());
        if left <= SPIN {
            std::hint::spin_loop();
            return;
        }
        let left = (left.as_nanos() - SPIN.as_nanos()).min(clock::SLICE.as_nanos() as u64);
        let time = libc::timespec { tv_sec: (left / 1_000_000_000) as _, tv_nsec: (left % 1_000_000_000) as _ };
        let [tap, tun] = self.device.files();
        let mut files = [tap, tun, self.workers.news()].map(|file| libc::pollfd {
            fd: std::os::fd::AsRawFd::as_raw_fd(&file),
            events: libc::POLLIN,
            revents: 0,
        });
        // SAFETY: the entries are valid for their number, and so is the time; no signals are masked.
        unsafe { libc::ppoll(files.as_mut_ptr(), files.len() as libc::nfds_t, &raw const time, std::ptr::null()) };
        if files[1].revents != 0 {
            self.device.drain();
        }
    }

    /// Notes files that a call has made, and sets the default congestion control on sockets.
    fn note_files(&mut self, result: &CallResult) {
        if let Output::Files(one, other) = result.output {
            self.open.extend([one.0, other.0]);
        }
        if let (Ok(made), Output::Address(_)) = (result.value, &result.output) {
            self.open.insert(made as RawFd);
        }
    }

    fn note(&mut self, call: &SystemCall, result: &CallResult) {
        self.note_files(result);
        let Ok(value) = result.value else { return };
        match call {
            SystemCall::Socket { .. } => {
                self.congestion.apply(value as RawFd);
                self.open.insert(value as RawFd);
            }
            SystemCall::EpollCreate { .. } | SystemCall::Open { .. } => {
                self.open.insert(value as RawFd);
            }
            SystemCall::Close { fd } => {
                self.open.remove(&fd.0);
            }
            _ => {}
        }
    }

    /// Returns the error of a call on a file that is not the script's, which must not touch this process' own files.
    fn strange_file(&self, call: &SystemCall) -> Option<CallResult> {
        let strange = |fd: &Fd| !self.open.contains(&fd.0);
        files_of(call).iter().any(strange).then(|| CallResult::error(Errno(libc::EBADF)))
    }
}

impl Host for KernelHost {
    fn now(&self) -> Instant {
        clock::now()
    }

    fn begin(&mut self) -> Instant {
        self.begun = clock::wait_for_tick();
        self.begun
    }

    fn advance(&mut self, until: Instant) -> Result<Option<Happening>, HostError> {
        if until.since(self.begun) > LONGEST {
            let what = format!("a wait until {} s", until.since(self.begun).as_secs_f64());
            return Err(HostError::unsupported(
                what,
                format!("a live script lasts {} s at most", LONGEST.as_secs_f64()),
            ));
        }
        loop {
            // The time is read first: what has happened by then is found below.
            let now = clock::now();
            self.gather()?;
            if let Some(happening) = self.waiting.pop_front() {
                return Ok(Some(happening));
            }
            if now >= until {
                self.latest = self.latest.max(clock::now().since(until));
                return Ok(None);
            }
            if self.stopped() {
                return Err(HostError::Stopped);
            }
            self.wait(until);
        }
    }

    fn inject(&mut self, packet: &[u8]) -> Result<(), HostError> {
        self.device.inject(packet).map_err(|error| HostError::Failed(format!("cannot inject a packet: {error}")))
    }

    fn call(&mut self, call: &SystemCall) -> Result<host::Progress, HostError> {
        if let Some(error) = self.strange_file(call) {
            return Ok(host::Progress::Done(error));
        }
        let result = if may_sleep(call) {
            match self.workers.begin(call.clone(), &self.progress)? {
                Begun::Returned(result) => result,
                Begun::Sleeps(number) => return Ok(host::Progress::Blocked(Ticket(number))),
            }
        } else {
            calls::make(call, &self.kept)
        };
        self.note(call, &result);
        Ok(host::Progress::Done(result))
    }

    fn shell(&mut self, command: &str) -> Result<ShellResult, HostError> {
        let result = self.shell.run(command, &self.progress)?;
        self.congestion.refresh()?;
        Ok(result)
    }

    fn tcp_info(&mut self, fd: Fd) -> Result<TcpInfo, HostError> {
        if !self.open.contains(&fd.0) {
            return Err(HostError::Failed(format!("TCP_INFO: file {} is not open", fd.0)));
        }
        info::read(fd.0).map_err(|error| HostError::Failed(format!("TCP_INFO: {error}")))
    }

    fn stopped(&self) -> bool {
        self.progress.stopped()
    }
}

impl Drop for KernelHost {
    fn drop(&mut self) {
        // Connections that the script has closed, but that wait for the other end, go soon after the device is gone.
        for (name, value) in [("tcp_orphan_retries", "1"), ("tcp_fin_timeout", "1")] {
            // Without it they go later.
            let _ = crate::set_sysctl(&format!("ipv4/{name}"), value);
        }
        for &fd in &self.open {
            let reset = libc::linger { l_onoff: 1, l_linger: 0 };
            // SAFETY: the file is the script's; the value is valid for its length.
            unsafe {
                // Ends the calls that sleep on it.
                libc::shutdown(fd, libc::SHUT_RDWR);
                let length = size_of::<libc::linger>() as libc::socklen_t;
                libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_LINGER, (&raw const reset).cast(), length);
            }
        }
        // Files are closed after the calls that use them.
        self.workers.end();
        for &fd in &self.open {
            // SAFETY: the file is the script's, and nothing else uses it.
            unsafe { libc::close(fd) };
        }
    }
}

fn time(happening: &Happening) -> Instant {
    match happening {
        Happening::Sent { at, .. } | Happening::Returned { at, .. } => *at,
    }
}

/// Returns the files that a call names.
fn files_of(call: &SystemCall) -> Vec<Fd> {
    match call {
        SystemCall::Socket { .. } | SystemCall::EpollCreate { .. } | SystemCall::Pipe | SystemCall::Open { .. } => {
            Vec::new()
        }
        SystemCall::Bind { fd, .. }
        | SystemCall::Listen { fd, .. }
        | SystemCall::Accept { fd }
        | SystemCall::Connect { fd, .. }
        | SystemCall::Receive { fd, .. }
        | SystemCall::Send { fd, .. }
        | SystemCall::Close { fd }
        | SystemCall::Shutdown { fd, .. }
        | SystemCall::GetOption { fd, .. }
        | SystemCall::SetOption { fd, .. }
        | SystemCall::Ioctl { fd, .. }
        | SystemCall::Fcntl { fd, .. } => vec![*fd],
        SystemCall::Poll { entries, .. } => entries.iter().map(|(fd, _)| *fd).collect(),
        SystemCall::EpollControl { epoll, fd, .. } => vec![*epoll, *fd],
        SystemCall::EpollWait { epoll, .. } => vec![*epoll],
        SystemCall::Splice { from, to, .. } | SystemCall::SendFile { from, to, .. } => vec![*from, *to],
    }
}

/// Returns whether a call may sleep. A call for which the answer is wrong is made correctly either way: a call in the
/// caller's thread delays it, and one in a thread of its own is a little later.
fn may_sleep(call: &SystemCall) -> bool {
    match call {
        SystemCall::Accept { fd } => blocking(*fd) && !readable(*fd),
        SystemCall::Connect { fd, .. } => blocking(*fd),
        SystemCall::Receive { fd, flags, .. } => {
            flags & (libc::MSG_DONTWAIT | libc::MSG_ERRQUEUE) == 0
                && blocking(*fd)
                && (flags & libc::MSG_WAITALL != 0 || !readable(*fd))
        }
        SystemCall::Send { fd, flags, buffers, .. } => {
            let length = buffers.iter().map(Data::len).sum();
            flags & libc::MSG_DONTWAIT == 0 && blocking(*fd) && !has_room(*fd, length)
        }
        SystemCall::Close { fd } => blocking(*fd) && lingers(*fd),
        SystemCall::Poll { timeout, .. } | SystemCall::EpollWait { timeout, .. } => *timeout != 0,
        SystemCall::Splice { flags, from, to, .. } => {
            flags.cast_unsigned() & libc::SPLICE_F_NONBLOCK == 0 && (blocking(*from) || blocking(*to))
        }
        SystemCall::SendFile { to, .. } => blocking(*to),
        _ => false,
    }
}

fn blocking(fd: Fd) -> bool {
    // SAFETY: a plain system call. For a file that is not open it fails, and no call on it sleeps.
    let flags = unsafe { libc::fcntl(fd.0, libc::F_GETFL) };
    flags >= 0 && flags & libc::O_NONBLOCK == 0
}

fn readable(fd: Fd) -> bool {
    let mut entry = libc::pollfd { fd: fd.0, events: libc::POLLIN, revents: 0 };
    // SAFETY: there is one entry.
    unsafe { libc::poll(&raw mut entry, 1, 0) > 0 }
}

/// Returns whether a connection surely takes so many bytes at once: it is established, and its send buffer has room for
/// them with the kernel's overhead.
fn has_room(fd: Fd, length: usize) -> bool {
    let Ok(info) = info::read(fd.0) else { return false };
    let of = |name| info.get(name).unwrap_or(0);
    const ESTABLISHED: u64 = 1;
    const CLOSE_WAIT: u64 = 8;
    let overhead = length / 2 + 8192;
    matches!(of("tcpi_state"), ESTABLISHED | CLOSE_WAIT)
        && of("SK_MEMINFO_WMEM_QUEUED") + (length + overhead) as u64 <= of("SK_MEMINFO_SNDBUF")
}

fn lingers(fd: Fd) -> bool {
    let mut linger = libc::linger { l_onoff: 0, l_linger: 0 };
    let mut length = size_of::<libc::linger>() as libc::socklen_t;
    // SAFETY: the pointers are to a value of this length, and to the length.
    unsafe {
        libc::getsockopt(fd.0, libc::SOL_SOCKET, libc::SO_LINGER, (&raw mut linger).cast(), &raw mut length);
    }
    linger.l_onoff != 0 && linger.l_linger != 0
}
