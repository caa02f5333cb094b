//! System calls of a script, ready to be made: arguments as values, and what is expected of the result.
//!
//! This happens before the run, so that an unknown symbol or a wrong argument is an error of the script with its line.
//!
//! | file | its calls |
//! |---|---|
//! | `mod.rs` | sockets as such, and their options |
//! | `data.rs` | calls that send and receive |
//! | `ready.rs` | `poll` and `epoll` |
//! | `file.rs` | calls on files of any kind |

mod data;
mod file;
mod ready;

use super::arguments::Arguments;
use super::expected::{Expected, ExpectedOutput};
use crate::call::SystemCall;
use crate::host::Fd;
use crate::options::Options;
use crate::symbols;
use crate::syntax::{Call, Expression, ScriptError};
use std::net::IpAddr;

/// A system call ready to be made.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Prepared {
    /// The call, with files by the script's numbers; nothing for calls that no host has.
    pub(super) call: Option<SystemCall>,
    /// The value of `epoll_event.data` is a file by the script's number.
    pub(super) event_is_file: bool,
    /// What is expected.
    pub(super) expected: Expected,
}

/// Prepares a call.
pub(super) fn prepare(file: &str, line: u32, call: &Call, options: &Options) -> Result<Prepared, ScriptError> {
    let arguments = Arguments { file, line, call, options };
    let value = match &call.result {
        Expression::Ellipsis => None,
        other => Some(arguments.integer(other)?),
    };
    let errno = match &call.errno {
        None => None,
        Some(name) => {
            let errno = symbols::errno(name).ok_or_else(|| arguments.error(format!("unknown error `{name}`")))?;
            Some((name.clone(), errno.0))
        }
    };
    let mut prepared = Prepared {
        call: None,
        event_is_file: false,
        expected: Expected { value, is_file: false, errno, output: ExpectedOutput::Any },
    };
    prepared.call = match call.name.as_str() {
        "cap_set" | "psp_rx_assoc" | "psp_tx_assoc" => None,
        _ => Some(system_call(&arguments, &mut prepared)?),
    };
    let makes_file = matches!(call.name.as_str(), "socket" | "accept" | "open" | "epoll_create");
    prepared.expected.is_file = makes_file && value.is_none_or(|value| value >= 0);
    Ok(prepared)
}

fn system_call(a: &Arguments<'_>, prepared: &mut Prepared) -> Result<SystemCall, ScriptError> {
    match a.call.name.as_str() {
        "read" | "readv" | "recv" | "recvfrom" | "recvmsg" => data::receive(a, prepared),
        "write" | "writev" | "send" | "sendto" | "sendmsg" => data::send(a),
        "getsockopt" | "setsockopt" => socket_option(a, prepared),
        "poll" | "epoll_create" | "epoll_ctl" | "epoll_wait" => ready::readiness(a, prepared),
        "pipe" | "open" | "splice" | "sendfile" | "fcntl" | "ioctl" | "close" => file::file(a, prepared),
        _ => socket(a),
    }
}

/// Calls on sockets as such.
fn socket(a: &Arguments<'_>) -> Result<SystemCall, ScriptError> {
    let name = a.call.name.as_str();
    match name {
        "socket" => {
            a.count(3, 3)?;
            let domain = if matches!(a.at(0)?, Expression::Ellipsis) { a.domain() } else { a.i32(0)? };
            Ok(SystemCall::Socket { domain, kind: a.i32(1)?, protocol: a.i32(2)? })
        }
        "bind" => {
            a.count(3, 3)?;
            Ok(SystemCall::Bind { fd: a.fd(0)?, address: a.address(1, a.local())? })
        }
        "listen" => {
            a.count(2, 2)?;
            Ok(SystemCall::Listen { fd: a.fd(0)?, backlog: a.i32(1)? })
        }
        "accept" => {
            a.count(3, 3)?;
            a.ellipsis(1)?;
            a.ellipsis(2)?;
            Ok(SystemCall::Accept { fd: a.fd(0)? })
        }
        "connect" => {
            a.count(3, 3)?;
            Ok(SystemCall::Connect { fd: a.fd(0)?, address: a.address(1, a.remote())? })
        }
        "shutdown" => {
            a.count(2, 2)?;
            Ok(SystemCall::Shutdown { fd: a.fd(0)?, how: a.i32(1)? })
        }
        _ => Err(a.error("this call is not supported")),
    }
}

fn socket_option(a: &Arguments<'_>, prepared: &mut Prepared) -> Result<SystemCall, ScriptError> {
    a.count(5, 5)?;
    let (fd, level, option) = (a.fd(0)?, a.i32(1)?, a.i32(2)?);
    let written = a.at(3)?;
    let value = match written {
        Expression::Ellipsis => None,
        Expression::String(bytes) => Some(bytes.clone()),
        Expression::Address(IpAddr::V6(address)) => Some(address.octets().to_vec()),
        Expression::Struct(members) => {
            a.only(members, &["onoff", "linger"])?;
            let field = |name: &str| match members.iter().find(|member| member.name == name) {
                Some(member) => a.i32_of(&member.value),
                None => Err(a.error(format!("struct linger has no `{name}`"))),
            };
            Some([field("onoff")?.to_ne_bytes(), field("linger")?.to_ne_bytes()].concat())
        }
        Expression::List(list) => {
            let mut bytes = Vec::new();
            for element in list {
                bytes.extend(a.i32_of(element)?.to_ne_bytes());
            }
            Some(bytes)
        }
        other => Some(a.i32_of(other)?.to_ne_bytes().to_vec()),
    };
    if a.call.name == "getsockopt" {
        let length = usize::try_from(a.bracketed(4)?).map_err(|_| a.error("the length is negative"))?;
        prepared.expected.output = ExpectedOutput::Option { value, length };
        return Ok(SystemCall::GetOption { fd, level, option, length });
    }
    let value = value.ok_or_else(|| a.error("the value is `...`; setsockopt needs one"))?;
    Ok(SystemCall::SetOption { fd, level, option, value, length: a.size(4)? })
}

impl SystemCall {
    /// Returns every file that the call names, for mapping to another numbering.
    pub(in crate::run) fn files_mut(&mut self) -> Vec<&mut Fd> {
        match self {
            Self::Socket { .. } | Self::EpollCreate { .. } | Self::Pipe | Self::Open { .. } => Vec::new(),
            Self::Bind { fd, .. }
            | Self::Listen { fd, .. }
            | Self::Accept { fd }
            | Self::Connect { fd, .. }
            | Self::Receive { fd, .. }
            | Self::Send { fd, .. }
            | Self::Close { fd }
            | Self::Shutdown { fd, .. }
            | Self::GetOption { fd, .. }
            | Self::SetOption { fd, .. }
            | Self::Ioctl { fd, .. }
            | Self::Fcntl { fd, .. } => vec![fd],
            Self::Poll { entries, .. } => entries.iter_mut().map(|(fd, _)| fd).collect(),
            Self::EpollControl { epoll, fd, .. } => vec![epoll, fd],
            Self::EpollWait { epoll, .. } => vec![epoll],
            Self::Splice { from, to, .. } | Self::SendFile { from, to, .. } => vec![from, to],
        }
    }
}
