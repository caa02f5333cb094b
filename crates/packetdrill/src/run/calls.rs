//! System calls: makes them, waits for those that sleep, and takes note of what they did to files and connections.

use super::compare::tolerance;
use super::connection::{Connection, Phase};
use super::executor::{Executor, Stop};
use super::expected::{Expected, ExpectedOutput};
use super::outcome::Difference;
use super::plan::Calling;
use super::results;
use crate::call::{Address, CallResult, Form, Output, SystemCall};
use crate::host::{Fd, HostError, Progress, Ticket};
use crate::notation;
use crate::symbols;
use narrows_units::{Duration, Instant};
use std::net::{IpAddr, SocketAddr};

/// Longest wait for a system call that the script expects to return at once, and for one in progress when the next one
/// is due, as in the original tool.
const PATIENCE: Duration = Duration::from_secs(1);

/// A system call that sleeps.
pub(super) struct Pending {
    pub(super) ticket: Ticket,
    line: u32,
    calling: Calling,
    /// When the script expects its return, in script time.
    until: Option<Duration>,
    /// The time of its event.
    began: Duration,
}

impl Executor<'_> {
    pub(super) fn call(&mut self, calling: &Calling) -> Result<(), Stop> {
        self.await_idle()?;
        self.wait("system call")?;
        let began = self.elapsed();
        let Some(call) = &calling.prepared.call else {
            return Err(HostError::unsupported(&calling.name, "no host has this call").into());
        };
        let mut call = call.clone();
        for fd in call.files_mut() {
            *fd = self.files.host(fd.0).map_err(Stop::Script)?;
        }
        if let SystemCall::EpollControl { event: Some(event), .. } = &mut call
            && calling.prepared.event_is_file
        {
            let script =
                i32::try_from(event.data).map_err(|_| Stop::Script("the event's file is no file".to_owned()))?;
            event.data = u64::from(self.files.host(script).map_err(Stop::Script)?.0.cast_unsigned());
        }
        self.before(calling);
        let until = calling.until.map(|until| self.now.offset + until);
        match self.host.call(&call)? {
            Progress::Done(result) => {
                let at = self.host.now();
                let pending = Pending { ticket: Ticket(0), line: self.line, calling: calling.clone(), until, began };
                self.returned(pending, &result, at)
            }
            Progress::Blocked(ticket) => {
                self.step(began, self.line, format!("{}() sleeps", calling.name));
                self.pending = Some(Pending { ticket, line: self.line, calling: calling.clone(), until, began });
                // A call that the script expects to return at once is waited for.
                if until.is_none() { self.await_idle() } else { Ok(()) }
            }
        }
    }

    /// Waits until no call sleeps.
    pub(super) fn await_idle(&mut self) -> Result<(), Stop> {
        let until = self.host.now() + PATIENCE;
        while self.pending.is_some() {
            let Some(happening) = self.advance(until)? else {
                break;
            };
            self.note(happening)?;
        }
        let Some(pending) = self.pending.take() else {
            return Ok(());
        };
        self.line = pending.line;
        let now = self.elapsed();
        let name = format!("{}()", pending.calling.name);
        let expected = match pending.until {
            Some(until) => format!("returns at {} s", notation::time(until)),
            None => "returns at once".to_owned(),
        };
        let difference = Difference::new("return", expected.clone(), "still sleeping");
        Err(self.differed(name.clone(), format!("{name} {expected}"), format!("{name} sleeps"), now, vec![difference]))
    }

    /// Changes what the executor knows of a socket before a call that connects or listens.
    fn before(&mut self, calling: &Calling) {
        // `sendmsg` and `sendto` have the address of the other end and begin a connection with MSG_FASTOPEN.
        let (fd, address) = match &calling.prepared.call {
            Some(SystemCall::Connect { fd, address }) => (fd.0, *address),
            Some(SystemCall::Send { fd, address: Some(address), form: Form::Address | Form::Message, .. }) => {
                (fd.0, *address)
            }
            _ => return,
        };
        let Some(connection) = self.connections.iter_mut().rev().find(|connection| connection.file == Some(fd)) else {
            return;
        };
        match address {
            Address::Unspecified => connection.phase = Phase::New,
            Address::Inet(address) if connection.phase == Phase::New => {
                connection.phase = Phase::Connecting;
                connection.remote = Some(unmapped(address));
                connection.local = None;
            }
            Address::Inet(_) | Address::Null => {}
        }
    }

    /// Compares a call's result with what the script expects, and takes note of what the call did.
    pub(super) fn returned(&mut self, pending: Pending, result: &CallResult, at: Instant) -> Result<(), Stop> {
        let at = self.script_time(at);
        let Pending { line, calling, until, began, .. } = pending;
        let current = core::mem::replace(&mut self.line, line);
        self.step(at, line, format!("{}() = {}", calling.name, results::shown(result)));
        let expected = &calling.prepared.expected;
        let context = results::Context {
            files: &self.files,
            start: self.start,
            tolerance: self.plan.options.tolerance,
            event_is_file: calling.prepared.event_is_file,
        };
        let mut differences = results::differences(&context, expected, result);
        if let Some(until) = until {
            let tolerance = tolerance(&self.plan.options, until - began);
            if at + tolerance < until || at > until + tolerance {
                let allowed =
                    format!("{} s, with a tolerance of {} s", notation::time(until), notation::time(tolerance));
                differences.push(Difference::new("time of return", allowed, format!("{} s", notation::time(at))));
            }
        }
        if !differences.is_empty() {
            let what = format!("result of {}()", calling.name);
            let (wanted, found) = (shown_expected(&calling.name, expected), results::shown(result));
            let found = format!("{}() = {found}", calling.name);
            let mut mismatch = self.mismatch(what, wanted, found, Some(at), differences);
            mismatch.expected_time = Some(until.unwrap_or(began));
            if !self.plan.options.calls_not_fatal {
                return Err(Stop::Differed(Box::new(mismatch)));
            }
            self.warnings.push(mismatch);
        }
        self.after(&calling, result).map_err(Stop::Script)?;
        self.line = current;
        Ok(())
    }

    /// Takes note of what a call that returned did to files and connections.
    fn after(&mut self, calling: &Calling, result: &CallResult) -> Result<(), String> {
        let Ok(value) = result.value else {
            return Ok(());
        };
        let expected = &calling.prepared.expected;
        let number = |value: Option<i64>| value.and_then(|value| i32::try_from(value).ok());
        let new_file = number(expected.value).zip(number(Some(value)).map(Fd));
        match (&calling.prepared.call, new_file) {
            (Some(SystemCall::Socket { protocol, .. }), Some((script, host))) => {
                self.files.open(script, host)?;
                self.connections.push(Connection {
                    file: Some(script),
                    protocol: if *protocol == 0 { symbols::IPPROTO_TCP } else { *protocol },
                    ..Connection::default()
                });
                self.under_test = Some(self.connections.len() - 1);
            }
            (Some(SystemCall::Accept { .. }), Some((script, host))) => {
                self.files.accept(script, host);
                let peer = match result.output {
                    Output::Address(address) => Some(unmapped(address)),
                    _ => None,
                };
                let is_child = |connection: &Connection| {
                    matches!(connection.phase, Phase::SynAckSent | Phase::Accepted)
                        && connection.file.is_none()
                        && (peer.is_none() || connection.remote == peer)
                };
                if let Some(child) = self.connections.iter_mut().rev().find(|connection| is_child(connection)) {
                    child.file = Some(script);
                }
            }
            (Some(SystemCall::Open { .. } | SystemCall::EpollCreate { .. }), Some((script, host))) => {
                self.files.open(script, host)?;
            }
            (Some(SystemCall::Listen { fd, .. }), _) => {
                for connection in self.connections.iter_mut().filter(|connection| connection.file == Some(fd.0)) {
                    connection.phase = Phase::Listening;
                }
            }
            (Some(SystemCall::Close { fd }), _) => {
                self.files.close(fd.0);
                let newest = self.connections.iter_mut().rev().find(|connection| connection.file == Some(fd.0));
                if let Some(connection) = newest {
                    connection.file = None;
                }
            }
            (Some(SystemCall::Pipe), _) => {
                if let (ExpectedOutput::Files(read, write), Output::Files(host_read, host_write)) =
                    (&expected.output, &result.output)
                {
                    self.files.open(*read, *host_read)?;
                    self.files.open(*write, *host_write)?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Returns an address with its IPv4-mapped form taken off: packets have IPv4 addresses.
fn unmapped(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => SocketAddr::new(IpAddr::V4(v4), address.port()),
            None => address,
        },
        IpAddr::V4(_) => address,
    }
}

/// Returns a call with the result that the script expects.
fn shown_expected(name: &str, expected: &Expected) -> String {
    let value = expected.value.map_or_else(|| "...".to_owned(), |value| value.to_string());
    let errno = expected.errno.as_ref().map(|(name, _)| format!(" {name}")).unwrap_or_default();
    format!("{name}() = {value}{errno}")
}
