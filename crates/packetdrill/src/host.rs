//! The seam between the executor and a host: time, packets as bytes, system calls as values.
//!
//! The executor drives. It calls [`Host::advance`] to let time pass, [`Host::inject`] to let a packet arrive, and
//! [`Host::call`] to make a system call. A host answers in its own clock, virtual or the kernel's.

use crate::call::{CallResult, SystemCall};
use narrows_units::Instant;

/// A host with TCP sockets that a script tests.
pub trait Host {
    /// Returns the current time by the host's own clock: virtual time, or the kernel's monotonic clock.
    fn now(&self) -> Instant;

    /// Returns the time at which a script begins: now, or after a wait for a moment that suits the host's clock.
    fn begin(&mut self) -> Instant {
        self.now()
    }

    /// Lets time pass until `until`, or until something happens, whichever is first.
    ///
    /// Returns `None` once `until` has been reached; then [`Host::now`] is at or after `until`. Happenings come in the
    /// order of their times. One that is already waiting is returned at once, even if `until` has passed, so
    /// `advance(now)` asks for what has happened so far without waiting.
    fn advance(&mut self, until: Instant) -> Result<Option<Happening>, HostError>;

    /// Lets an IP packet arrive at the host now. `packet` begins with the IP header and has correct checksums.
    ///
    /// What the host sends in answer is reported by later calls of [`Host::advance`].
    fn inject(&mut self, packet: &[u8]) -> Result<(), HostError>;

    /// Makes a system call now. File descriptors are the host's own numbers.
    ///
    /// Returns [`Progress::Blocked`] if the call sleeps. The executor has at most one sleeping call at a time.
    fn call(&mut self, call: &SystemCall) -> Result<Progress, HostError>;

    /// Runs a command line of the script (`sh -c` syntax: sysctls, `tc`, `ip`, helper scripts by name).
    ///
    /// A host that cannot obey the command returns [`HostError::Unsupported`] with the reason. A command that runs and
    /// fails is not an error at the seam: the executor judges [`ShellResult::status`].
    fn shell(&mut self, command: &str) -> Result<ShellResult, HostError>;

    /// Returns the state of a TCP socket, as `getsockopt(TCP_INFO)` has it.
    fn tcp_info(&mut self, fd: Fd) -> Result<TcpInfo, HostError>;

    /// Returns whether somebody has asked the run to stop.
    ///
    /// The executor asks before each wait and each command. A host whose methods sleep in real time asks at least every
    /// 100 ms while it sleeps, and returns [`HostError::Stopped`].
    fn stopped(&self) -> bool {
        false
    }
}

/// A file descriptor by the host's own numbering. The executor maps the script's numbers to these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fd(pub i32);

/// A sleeping system call, by a number that the host chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// Something that happened at the host while time passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// The host sent a packet.
    Sent {
        /// When it left the host's stack.
        at: Instant,
        /// The packet from its IP header on. A GSO super-packet is one packet, longer than the MTU.
        bytes: Vec<u8>,
    },
    /// A sleeping system call returned.
    Returned {
        /// The call.
        ticket: Ticket,
        /// What it returned.
        result: CallResult,
        /// When it returned.
        at: Instant,
    },
}

/// How far a system call has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The call has returned.
    Done(CallResult),
    /// The call sleeps; a later [`Happening::Returned`] has its result.
    Blocked(Ticket),
}

/// The outcome of a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellResult {
    /// The exit status; 0 is success.
    pub status: i32,
    /// What the command wrote to its standard output and error.
    pub output: String,
}

/// The fields of Linux's `struct tcp_info` by their names there, such as `tcpi_snd_cwnd`, in the order of the struct.
///
/// Bit fields (`tcpi_snd_wscale` ..) are fields of their own. A host gives the fields that it knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo(pub Vec<(&'static str, u64)>);

impl TcpInfo {
    /// Returns a field by its name.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.iter().find(|(field, _)| *field == name).map(|(_, value)| *value)
    }
}

/// Why a host could not do what was asked. The script has no answer then; it neither matches nor fails to match.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// The host has no such feature.
    #[error("{what}: {reason}")]
    Unsupported {
        /// The call, option or command, as the script names it.
        what: String,
        /// Why it is not available, and what would be.
        reason: String,
    },
    /// The run was asked to stop ([`Host::stopped`]).
    #[error("the run was stopped before its end")]
    Stopped,
    /// The host itself failed: a device, a namespace, a thread.
    #[error("{0}")]
    Failed(String),
}

impl HostError {
    /// Returns an [`HostError::Unsupported`].
    pub fn unsupported(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Unsupported { what: what.into(), reason: reason.into() }
    }
}
