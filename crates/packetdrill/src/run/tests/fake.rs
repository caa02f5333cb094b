//! A host that does what a test tells it: answers to packets and calls, by their order.

use crate::call::{CallResult, SystemCall};
use crate::host::{Fd, Happening, Host, HostError, Progress, ShellResult, TcpInfo, Ticket};
use crate::run::emit::{self, Path, TcpHeader};
use crate::run::observe::{Observed, ObservedBody};
use crate::syntax::IpInfo;
use narrows_units::{Duration, Instant};
use narrows_wire::TcpFlags;
use std::collections::{BTreeMap, VecDeque};

/// The host's initial sequence number.
pub(super) const ISN: u32 = 0xffff_f000;

/// What the host answers to a call.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    Now(CallResult),
    /// Sleeps so long.
    After(Duration, CallResult),
    /// Sleeps for ever.
    Never,
    Unsupported,
}

/// A segment that the host sends: how long after its cause, and its header in relative numbers (`seq` from the host's
/// initial sequence number, `ack` from the other end's).
#[derive(Clone, Debug)]
pub(super) struct Reply(pub(super) Duration, pub(super) TcpHeader);

/// The fake host.
#[derive(Debug)]
pub(super) struct Fake {
    pub(super) clock: Instant,
    coming: BTreeMap<(Instant, u64), Happening>,
    number: u64,
    /// Answers to calls, in their order; a call without one returns 0.
    pub(super) answers: VecDeque<Answer>,
    /// Segments sent after each call, in their order.
    pub(super) after_call: VecDeque<Vec<Reply>>,
    /// Segments sent after each packet injected, in their order.
    pub(super) after_packet: VecDeque<Vec<Reply>>,
    /// Calls made.
    pub(super) calls: Vec<SystemCall>,
    /// Packets injected.
    pub(super) injected: Vec<(Instant, Vec<u8>)>,
    /// Commands run.
    pub(super) commands: Vec<String>,
    /// The path of the connection from the host, and the other end's initial sequence number.
    pub(super) path: Path,
    pub(super) remote_isn: u32,
    /// The host sends a packet whenever time passes, without time passing.
    pub(super) is_endless: bool,
    /// When somebody asks the run to stop.
    pub(super) stop: Option<Instant>,
}

impl Fake {
    /// A host at these addresses; `port` is its own.
    pub(super) fn new(local: &str, remote: &str) -> Self {
        Self {
            clock: Instant::from_nanos(5_000_000_000),
            coming: BTreeMap::new(),
            number: 0,
            answers: VecDeque::new(),
            after_call: VecDeque::new(),
            after_packet: VecDeque::new(),
            calls: Vec::new(),
            injected: Vec::new(),
            commands: Vec::new(),
            path: Path { source: local.parse().unwrap(), destination: remote.parse().unwrap() },
            remote_isn: 0,
            is_endless: false,
            stop: None,
        }
    }

    fn send(&mut self, replies: Vec<Reply>) {
        for Reply(after, relative) in replies {
            let is_syn = relative.flags.has(TcpFlags::SYN);
            let header = TcpHeader {
                seq: relative.seq.wrapping_add(ISN),
                ack: if relative.flags.has(TcpFlags::ACK) { relative.ack.wrapping_add(self.remote_isn) } else { 0 },
                ..relative
            };
            assert!(!is_syn || relative.seq == 0, "a SYN has the initial sequence number");
            let bytes = emit::tcp(self.path, &IpInfo::default(), &header);
            let at = self.clock + after;
            self.come(at, Happening::Sent { at, bytes });
        }
    }

    /// Waits while nothing happens, as a host in real time does: the wait ends early when the run is stopped.
    fn idle(&mut self, until: Instant) -> Result<Option<Happening>, HostError> {
        if let Some(stop) = self.stop.filter(|stop| *stop < until) {
            self.clock = self.clock.max(stop);
            return Err(HostError::Stopped);
        }
        self.clock = self.clock.max(until);
        Ok(None)
    }

    fn come(&mut self, at: Instant, happening: Happening) {
        self.number += 1;
        self.coming.insert((at, self.number), happening);
    }
}

impl Host for Fake {
    fn now(&self) -> Instant {
        self.clock
    }

    fn advance(&mut self, until: Instant) -> Result<Option<Happening>, HostError> {
        if self.is_endless {
            self.send(vec![Reply(Duration::ZERO, TcpHeader { flags: TcpFlags::ACK, ..TcpHeader::default() })]);
        }
        let Some((key, _)) = self.coming.first_key_value() else {
            return self.idle(until);
        };
        let key = *key;
        if key.0 > until {
            return self.idle(until);
        }
        self.clock = self.clock.max(key.0);
        Ok(self.coming.remove(&key))
    }

    fn inject(&mut self, packet: &[u8]) -> Result<(), HostError> {
        self.injected.push((self.clock, packet.to_vec()));
        let observed = Observed::read(packet).unwrap();
        if let ObservedBody::Tcp(header, _) = &observed.body {
            if header.flags.has(TcpFlags::SYN) {
                self.remote_isn = header.seq;
            }
            self.path = observed.path.reversed();
        }
        let replies = self.after_packet.pop_front().unwrap_or_default();
        self.send(replies);
        Ok(())
    }

    fn call(&mut self, call: &SystemCall) -> Result<Progress, HostError> {
        self.calls.push(call.clone());
        let replies = self.after_call.pop_front().unwrap_or_default();
        self.send(replies);
        let ticket = Ticket(self.calls.len() as u64);
        match self.answers.pop_front() {
            None => Ok(Progress::Done(CallResult::value(0))),
            Some(Answer::Now(result)) => Ok(Progress::Done(result)),
            Some(Answer::After(sleep, result)) => {
                let at = self.clock + sleep;
                self.come(at, Happening::Returned { ticket, result, at });
                Ok(Progress::Blocked(ticket))
            }
            Some(Answer::Never) => Ok(Progress::Blocked(ticket)),
            Some(Answer::Unsupported) => Err(HostError::unsupported("SO_MARK", "the simulated host has no marks")),
        }
    }

    fn shell(&mut self, command: &str) -> Result<ShellResult, HostError> {
        self.commands.push(command.to_owned());
        let status = i32::from(command.contains("false"));
        Ok(ShellResult { status, output: String::new() })
    }

    fn tcp_info(&mut self, _: Fd) -> Result<TcpInfo, HostError> {
        Ok(TcpInfo(vec![("tcpi_snd_cwnd", 10)]))
    }

    fn stopped(&self) -> bool {
        self.stop.is_some_and(|stop| self.clock >= stop)
    }
}
