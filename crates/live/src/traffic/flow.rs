//! A flow at run time: both ends, driven by one thread.
//!
//! The sockets of the two ends are in different namespaces, but a socket stays where it was made, so one thread can
//! serve both. The application is the same state machine as in the simulator ([`Source`]). The thread blocks only in
//! one wait, for whatever comes first: data, the application's next act, the next sample, the end.

use super::door::{Bell, Mailbox};
use super::end::{ENDLESS, End, receive_datagrams, send_datagram};
use super::handle::Handle;
use super::record::{FlowRecord, FlowRecorder, Life, first_sample, next_sample};
use super::socket::{self, Wishes, start_connecting};
use crate::cc_info::CcInfo;
use crate::{Clock, LiveError, TcpInfo, monotonic_ns};
use narrows_fabric::{Act, DatagramMeter, SlowReader, Source, datagram_header};
use narrows_scenario::{Pacing, Tcp};
use narrows_units::{Bytes, Duration, Instant};
use nix::errno::Errno;
use nix::poll::{PollFd, ppoll};
use nix::sys::time::TimeSpec;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;

/// The settings of a flow.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) index: usize,
    pub(super) start: Instant,
    pub(super) stop: Instant,
    /// The end of the run.
    pub(super) end: Instant,
    /// Bytes of a bounded transfer.
    pub(super) size: Option<u64>,
    /// Time between reads of the sender's `TCP_INFO`; `Duration::MAX` for one at the end alone.
    pub(super) look: Duration,
    /// Time between rows; `None` keeps none.
    pub(super) every: Option<Duration>,
    /// Whether the sender's state is sampled with each row.
    pub(super) state: bool,
    /// The server's address.
    pub(super) to: SocketAddr,
    /// `None` for datagrams.
    pub(super) tcp: Option<Arc<Tcp>>,
    pub(super) control: String,
    pub(super) dscp: u8,
    pub(super) unsent: Option<u32>,
    /// Bytes that the flow's scheme adds to headers.
    pub(super) overhead: u16,
    /// Whether its datagrams have room for a number, and whether they are parts of frames.
    pub(super) numbered: bool,
    pub(super) framed: bool,
}

impl Plan {
    pub(super) fn wishes<'a>(&'a self, tcp: &'a Tcp) -> Wishes<'a> {
        Wishes { tcp, control: &self.control, dscp: self.dscp, unsent: self.unsent, overhead: self.overhead }
    }
}

/// A flow: made of its plan, the application, and sockets.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) plan: Plan,
    pub(super) source: Source,
    reader: Option<SlowReader>,
    pub(super) client: End,
    server: End,
    /// Where the server's connection comes from; `None` for datagrams.
    mailbox: Option<Arc<Mailbox>>,
    recorder: FlowRecorder,
    /// What a test case watches and steers it by.
    pub(super) handle: Option<Arc<Handle>>,
    /// What its datagrams measure, if they have room for a number.
    datagrams: Option<Box<DatagramMeter>>,
    pub(super) opened: bool,
    pub(super) stopped: bool,
    pub(super) wake_at: Instant,
    sample_at: Instant,
    read_at: Instant,
}

impl Flow {
    pub(super) fn new(plan: Plan, source: Source, client: End, server: End, mailbox: Option<Arc<Mailbox>>) -> Self {
        let start = plan.start.min(plan.stop);
        Self {
            reader: plan.tcp.as_ref().and_then(|tcp| tcp.read_rate).map(SlowReader::at),
            datagrams: plan.numbered.then(Box::default),
            recorder: FlowRecorder::new(plan.index, plan.every, plan.start),
            wake_at: start,
            sample_at: if plan.look == Duration::MAX { Instant::NEVER } else { first_sample(plan.start, plan.look) },
            read_at: Instant::NEVER,
            handle: None,
            opened: false,
            stopped: false,
            plan,
            source,
            client,
            server,
            mailbox,
        }
    }

    /// Shows the connection to those who watch it, if it is the client that sends.
    pub(super) fn tell_sender(&self) -> Result<(), LiveError> {
        match (&self.handle, &self.client.socket) {
            (Some(handle), Some(socket)) if self.mailbox.is_some() && !self.source.server_sends() => {
                handle.set_sender(socket)
            }
            _ => Ok(()),
        }
    }

    /// Runs the flow from time zero until the end of the run, or until the bell rings. The network does not run before
    /// time zero, so the flow does nothing before it: a handshake would measure the wait for the network as round-trip
    /// time.
    pub(super) fn run(mut self, clock: Clock, stop: &Bell) -> Result<FlowRecord, LiveError> {
        // Makes waits end on time, and not up to 50 us later.
        let _ = nix::sys::prctl::set_timerslack(1);
        favour();
        loop {
            let now = clock.now();
            if now >= self.plan.end {
                self.overdue();
                return self.close(now);
            }
            if clock.has_begun() {
                self.obey(now);
                self.act(now)?;
                self.transfer(now)?;
                self.sample(now);
            }
            if self.wait(clock, stop)? {
                return self.close(clock.now());
            }
        }
    }

    /// Runs the application's actions that are due. They use the times when they were due, so lateness does not slow
    /// the application down.
    fn act(&mut self, now: Instant) -> Result<(), LiveError> {
        while self.wake_at <= now && !self.stopped {
            let due = self.wake_at;
            self.recorder.late(due, now);
            if due >= self.plan.stop {
                self.stopped = true;
                self.client.stop();
                self.server.stop();
                return Ok(());
            }
            if !self.source.ready() {
                // Another connection of the page is about to get its first object.
                self.wake_at = due + UNTIL_READY;
                continue;
            }
            self.open(due)?;
            let (act, next) = self.source.wake(due);
            self.wake_at = next.min(self.plan.stop);
            match act {
                Act::Nothing => {}
                Act::Write(bytes) => self.client.write(count(bytes)),
                Act::WriteAndClose(bytes) => {
                    self.client.write(count(bytes));
                    self.client.closing = true;
                }
                Act::Withdraw => self.client.pending = 0,
                Act::Datagram { payload, last } => self.send_datagram(payload.as_u64(), last, now),
            }
        }
        Ok(())
    }

    /// Records the lateness of actions that were due in the run and are not done at its end: a thread that got no
    /// processor time never did them.
    fn overdue(&mut self) {
        let end = self.plan.end;
        let wake = if self.stopped { Instant::NEVER } else { self.wake_at };
        for due in [wake, self.sample_at] {
            if due < end {
                self.recorder.late(due, end);
            }
        }
    }

    /// Opens the connection, on the first call.
    fn open(&mut self, due: Instant) -> Result<(), LiveError> {
        if self.opened {
            return Ok(());
        }
        self.opened = true;
        if let Some(reader) = &self.reader {
            self.read_at = due + reader.every;
        }
        match &self.client.socket {
            Some(socket) if self.mailbox.is_some() => start_connecting(socket, self.plan.to)
                .map_err(|error| LiveError::failed(format!("connect to {}", self.plan.to), error)),
            _ => Ok(()),
        }
    }

    /// Sends a datagram; its delay counts from `now`, also if it was due earlier.
    fn send_datagram(&mut self, payload: u64, last: bool, now: Instant) {
        let framed = self.plan.framed;
        let meter = self.datagrams.as_mut();
        let header = meter.map(|meter| datagram_header(meter.send(now, last), now, self.plan.index, (framed, last)));
        if let Some(socket) = &self.client.socket
            && send_datagram(socket, payload, header)
        {
            self.recorder.datagrams += 1;
            self.recorder.datagram_bytes += payload;
        }
    }

    /// Reads and writes what can be read and written now.
    fn transfer(&mut self, now: Instant) -> Result<(), LiveError> {
        if !self.opened {
            return Ok(());
        }
        let Some(mailbox) = &self.mailbox else {
            if let Some(socket) = &self.server.socket {
                let datagrams = &mut self.datagrams;
                self.server.received += receive_datagrams(socket, |header| {
                    if let Some(meter) = datagrams {
                        meter.receive(header.sequence, now);
                    }
                });
            }
            return Ok(());
        };
        if self.server.socket.is_none()
            && let (Some(tcp), Some(socket)) = (&self.plan.tcp, mailbox.take())
        {
            socket::accepted(&socket, self.plan.to.ip(), &self.plan.wishes(tcp))?;
            if let Some(handle) = self.handle.as_ref().filter(|_| self.source.server_sends()) {
                handle.set_sender(&socket)?;
            }
            self.server.socket = Some(socket);
        }
        let [client_reads, server_reads] = self.read_limits(now);
        let mut failed = self.client.pull(client_reads).is_err() | self.server.pull(server_reads).is_err();
        self.progress(now);
        self.close_when_written();
        failed |= self.client.push().is_err() | self.server.push().is_err();
        if failed && self.recorder.aborted.is_none() && self.recorder.finished.is_none() && !self.stopped {
            self.recorder.aborted = Some(now);
        }
        Ok(())
    }

    /// Returns how much the client and the server may read now: a slow reader one chunk per interval, every other
    /// reader without limit.
    fn read_limits(&mut self, now: Instant) -> [u64; 2] {
        let Some(reader) = &self.reader else { return [u64::MAX; 2] };
        let mut most = 0;
        while self.read_at <= now {
            most += reader.chunk.as_u64();
            self.read_at += reader.every;
        }
        if self.source.server_sends() { [most, u64::MAX] } else { [u64::MAX, most] }
    }

    /// Passes what has arrived to the applications.
    fn progress(&mut self, now: Instant) {
        if self.source.server_sends() {
            if let Some(answer) = self.source.serve(Bytes::new(self.server.received)) {
                self.server.write(answer.as_u64());
            }
            match self.source.receive(Bytes::new(self.client.received), now) {
                Some(Instant::NEVER) => {
                    self.client.closing = true;
                    self.recorder.finished = Some(now);
                }
                Some(next) if !self.stopped => self.wake_at = next.min(self.plan.stop),
                _ => {}
            }
        } else if self.plan.size.is_some_and(|size| self.server.received >= size) {
            self.recorder.finished.get_or_insert(now);
        }
        if let Some(handle) = &self.handle {
            handle.set_goodput(self.delivered());
        }
        // An end whose peer has closed closes too, after sending its remaining data.
        self.client.closing |= self.client.ended;
        self.server.closing |= self.server.ended;
    }

    fn sample(&mut self, now: Instant) {
        if now < self.sample_at {
            return;
        }
        self.recorder.late(self.sample_at, now);
        if self.mailbox.is_none() {
            self.recorder.sample(now, None, self.server.received);
        } else if let Some(info) = self.info().filter(|_| self.opened) {
            // Before the connection is opened there is nothing to sample.
            let rowed = self.recorder.sample(now, Some((info, !self.source.server_sends())), self.delivered());
            if rowed && self.plan.state {
                self.sample_state(now, &info);
            }
        }
        let row_at = if self.recorder.row_at > now { self.recorder.row_at } else { Instant::NEVER };
        self.sample_at = next_sample(now, self.plan.look).min(row_at);
    }

    /// Samples the internal state of the sender.
    fn sample_state(&mut self, now: Instant, info: &TcpInfo) {
        let cc = self.sender().socket.as_ref().and_then(|socket| CcInfo::read(socket.as_fd()));
        let control = self.plan.control.as_str();
        // BBR asks the kernel for pacing by itself.
        let paced = control == "bbr" || self.plan.tcp.as_ref().is_some_and(|tcp| tcp.pacing != Pacing::Off);
        self.recorder.state(now, info, cc, control, paced);
    }

    /// Reads the kernel's state of the sender's connection.
    pub(super) fn info(&self) -> Option<TcpInfo> {
        self.sender().socket.as_ref().and_then(|socket| TcpInfo::read(socket.as_fd()).ok())
    }

    /// Returns the end that sends the flow's data.
    fn sender(&self) -> &End {
        if self.source.server_sends() { &self.server } else { &self.client }
    }

    fn delivered(&self) -> u64 {
        if self.source.server_sends() { self.client.received } else { self.server.received }
    }

    /// Waits for whatever comes first; returns whether that is the bell.
    fn wait(&self, clock: Clock, stop: &Bell) -> Result<bool, LiveError> {
        let wake = if self.stopped { Instant::NEVER } else { self.wake_at };
        let next = wake.min(self.sample_at).min(self.read_at).min(self.plan.end);
        let left = clock.monotonic_of(next).saturating_sub(monotonic_ns());
        let mut fds = vec![stop.poll()];
        fds.extend(self.handle.as_ref().map(|handle| handle.bell().poll()));
        if self.opened {
            match &self.mailbox {
                None => fds.extend(
                    self.server.socket.as_ref().map(|socket| PollFd::new(socket.as_fd(), nix::poll::PollFlags::POLLIN)),
                ),
                Some(mailbox) => {
                    if self.server.socket.is_none() {
                        fds.push(mailbox.bell.poll());
                    }
                    let slow = self.reader.is_some();
                    let serves = self.source.server_sends();
                    fds.extend(interest(&self.client, !slow || !serves));
                    fds.extend(interest(&self.server, !slow || serves));
                }
            }
        }
        match ppoll(&mut fds, Some(TimeSpec::from_duration(std::time::Duration::from_nanos(left))), None) {
            Ok(_) => Ok(fds[0].any().unwrap_or(true)),
            Err(Errno::EINTR) => Ok(false),
            Err(error) => Err(LiveError::failed("wait for a flow's sockets", error)),
        }
    }

    fn close(self, now: Instant) -> Result<FlowRecord, LiveError> {
        let tcp = self.mailbox.is_some() && self.opened;
        let last = if tcp { self.info() } else { None };
        let control = match &self.sender().socket {
            Some(socket) if tcp => Some(socket::control(socket)?),
            _ => None,
        };
        let life = Life {
            start: self.plan.start,
            stop: self.plan.stop,
            end: self.plan.end.min(now),
            delivered: self.delivered(),
            transactions: self.source.transactions(),
        };
        let mut record = self.recorder.close(&life, last, control, self.source);
        record.datagrams = self.datagrams.map(|meter| meter.total(self.plan.index, self.plan.framed));
        Ok(record)
    }
}

/// Time between two looks of a page's further connections, until they are needed.
const UNTIL_READY: Duration = Duration::from_millis(1);

/// Raises the priority of the current thread above most others, if that is allowed: an application that acts late is a
/// different load from the scenario's.
fn favour() {
    const NICE: libc::c_int = -10;
    // SAFETY: a system call on integers; 0 is the calling thread.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) };
}

fn interest(end: &End, reads: bool) -> Option<PollFd<'_>> {
    let flags = end.interest(reads)?;
    end.socket.as_ref().map(|socket| PollFd::new(socket.as_fd(), flags))
}

fn count(bytes: Bytes) -> u64 {
    if bytes == Bytes::MAX { ENDLESS } else { bytes.as_u64() }
}
