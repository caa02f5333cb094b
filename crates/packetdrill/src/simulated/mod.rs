//! The simulated host: Narrows' own TCP behind sockets ([`narrows_socket`]), in virtual time.
//!
//! | module | its part |
//! |---|---|
//! | `mod.rs` | [`Simulated`], and packets as bytes |
//! | `calls` | system calls of scripts as the socket host's calls |
//! | `lines` | command lines as words, pipelines and lists |
//! | `shell` | what each command does |
//!
//! Nothing here reads a file: the caller gives the text of helper scripts (`defaults.sh`) through a closure.

mod calls;
mod lines;
mod shell;

use crate::call::SystemCall;
use crate::host::{Fd, Happening, Host, HostError, Progress, ShellResult, TcpInfo, Ticket};
use crate::options::Options;
use core::fmt;
use narrows_socket::{Event, Setup, Sysctls};
use narrows_units::{Duration, Instant};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The time at which a host begins. Not zero, so that what is said to be long ago is in the past.
const START: Instant = Instant::from_nanos(1_000_000_000_000);

/// Reads a helper script that a command line names, as the script writes it: `../common/defaults.sh`. `None` if there
/// is no such file.
pub type Helpers<'a> = Box<dyn Fn(&str) -> Option<String> + 'a>;

/// Returns whether somebody has asked the run to stop.
pub type Stopped<'a> = Box<dyn Fn() -> bool + 'a>;

/// A simulated host.
pub struct Simulated<'a> {
    host: narrows_socket::Host,
    helpers: Helpers<'a>,
    /// Sysctls as they were before `set_sysctls.py`, to be restored.
    saved: Vec<(String, String)>,
    /// Files that command lines made: path and size in bytes.
    files: BTreeMap<String, u64>,
    /// Open files by descriptor: path and position.
    open: BTreeMap<i32, (String, u64)>,
    /// Counters when `nstat` ran last.
    counted: BTreeMap<&'static str, u64>,
    stopped: Stopped<'a>,
}

impl fmt::Debug for Simulated<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulated").field("host", &self.host).finish_non_exhaustive()
    }
}

impl<'a> Simulated<'a> {
    /// A host with the addresses and the MTU of a script's options.
    #[must_use]
    pub fn new(options: &Options, helpers: Helpers<'a>) -> Self {
        let (v4, v6) = match options.local {
            IpAddr::V4(v4) => (Some(v4), None),
            IpAddr::V6(v6) => (None, Some(v6)),
        };
        let setup = Setup { start: START, v4, v6, mtu: options.mtu, sysctls: Sysctls::default() };
        Self {
            host: narrows_socket::Host::new(setup),
            helpers,
            saved: Vec::new(),
            files: BTreeMap::new(),
            open: BTreeMap::new(),
            counted: BTreeMap::new(),
            stopped: Box::new(|| false),
        }
    }

    /// The same host, which the caller can stop: a run ends soon after `stopped` returns true.
    #[must_use]
    pub fn until(self, stopped: Stopped<'a>) -> Self {
        Self { stopped, ..self }
    }
}

impl Host for Simulated<'_> {
    fn now(&self) -> Instant {
        self.host.now()
    }

    fn advance(&mut self, until: Instant) -> Result<Option<Happening>, HostError> {
        // A host's clock shows when a call returns; nothing takes time in between.
        let until = until.max(self.host.now() + Duration::ZERO);
        Ok(self.host.advance(until).map(|event| match event {
            Event::Sent { at, packet } => Happening::Sent { at, bytes: packet.emit() },
            Event::Returned { ticket, answer, at } => {
                Happening::Returned { ticket: Ticket(ticket.0), result: calls::result(answer), at }
            }
        }))
    }

    fn inject(&mut self, packet: &[u8]) -> Result<(), HostError> {
        self.host
            .receive_bytes(packet)
            .map_err(|error| HostError::unsupported("a packet", format!("this host cannot read it: {error}")))
    }

    fn call(&mut self, call: &SystemCall) -> Result<Progress, HostError> {
        self.make(call)
    }

    fn shell(&mut self, command: &str) -> Result<ShellResult, HostError> {
        self.run(command)
    }

    fn tcp_info(&mut self, fd: Fd) -> Result<TcpInfo, HostError> {
        self.host
            .tcp_info(fd.0)
            .map(|info| TcpInfo(info.0))
            .map_err(|errno| HostError::Failed(format!("getsockopt(TCP_INFO) of file {}: {errno}", fd.0)))
    }

    fn stopped(&self) -> bool {
        (self.stopped)()
    }
}
