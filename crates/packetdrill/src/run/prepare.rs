//! System calls of a script, ready to be made: arguments as values, and what is expected of the result.
//!
//! This happens before the run, so that an unknown symbol or a wrong argument is an error of the script with its line.

use super::arguments::{Arguments, kind};
use crate::call::{Address, Control, Data, EpollEvent, Form, Room, SystemCall};
use crate::host::Fd;
use crate::options::Options;
use crate::symbols;
use crate::syntax::{Call, Expression, ScriptError};
use narrows_units::Duration;
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

/// What is expected of a result.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Expected {
    /// The return value; nothing if the script leaves it open (`...`).
    pub(super) value: Option<i64>,
    /// The return value is a new file's number in the script: any file of the host will do.
    pub(super) is_file: bool,
    /// The error's name and number.
    pub(super) errno: Option<(String, i32)>,
    /// Output arguments.
    pub(super) output: ExpectedOutput,
}

/// What is expected of output arguments.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum ExpectedOutput {
    /// Nothing is compared.
    #[default]
    Any,
    /// The integer that `ioctl` writes.
    Integer(i64),
    /// A socket option's value; only its length where the script leaves it open.
    Option { value: Option<Vec<u8>>, length: usize },
    /// `revents` of each entry.
    Ready(Vec<i16>),
    /// The first event of `epoll_wait`.
    Event(EpollEvent),
    /// The two files of a pipe, by the script's numbers.
    Files(i32, i32),
    /// `msg_flags` and control messages.
    Message { flags: i32, control: Vec<ExpectedControl> },
}

/// A control message expected.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ExpectedControl {
    pub(super) level: i32,
    pub(super) kind: i32,
    pub(super) data: ExpectedData,
}

/// A control message's data expected.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ExpectedData {
    Integer(i32),
    /// The first timestamp of `struct scm_timestamping`, as script time; zero is not compared.
    Timestamp(Duration),
    /// `struct sock_extended_err` without the address behind it: errno, origin, type, code, info, data.
    ExtendedError([u32; 6]),
}

/// Sizes of Linux's structures on 64-bit machines in bytes.
const CONTROL_HEADER: usize = 16;
const TIMESTAMPING: usize = 48;
const EXTENDED_ERROR: usize = 16;
const SOCKADDR_IN: usize = 16;
const SOCKADDR_IN6: usize = 28;

impl ExpectedControl {
    /// Returns the length of the data in bytes.
    pub(super) fn length(&self) -> usize {
        match self.data {
            ExpectedData::Integer(_) => 4,
            ExpectedData::Timestamp(_) => TIMESTAMPING,
            ExpectedData::ExtendedError(_) if self.level == symbols::SOL_IP => EXTENDED_ERROR + SOCKADDR_IN,
            ExpectedData::ExtendedError(_) => EXTENDED_ERROR + SOCKADDR_IN6,
        }
    }
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
        "read" | "readv" | "recv" | "recvfrom" | "recvmsg" => receive(a, prepared),
        "write" | "writev" | "send" | "sendto" | "sendmsg" => send(a),
        "getsockopt" | "setsockopt" => socket_option(a, prepared),
        "poll" | "epoll_create" | "epoll_ctl" | "epoll_wait" => readiness(a, prepared),
        "pipe" | "open" | "splice" | "sendfile" | "fcntl" | "ioctl" | "close" => file(a, prepared),
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

fn receive(a: &Arguments<'_>, prepared: &mut Prepared) -> Result<SystemCall, ScriptError> {
    let one = |a: &Arguments<'_>| Ok::<Vec<Room>, ScriptError>(vec![a.room(a.at(1)?, a.size(2)?)?]);
    let (form, buffers, control, flags) = match a.call.name.as_str() {
        "read" => {
            a.count(3, 3)?;
            (Form::Plain, one(a)?, 0, 0)
        }
        "recv" => {
            a.count(4, 4)?;
            (Form::Flags, one(a)?, 0, a.i32(3)?)
        }
        "recvfrom" => {
            a.count(6, 6)?;
            (Form::Address, one(a)?, 0, a.i32(3)?)
        }
        "readv" => {
            a.count(3, 3)?;
            (Form::Vector, rooms(a, a.vector(a.at(1)?, Some(a.at(2)?))?)?, 0, 0)
        }
        _ => {
            a.count(3, 3)?;
            let message = Message::read(a)?;
            let space = |control: &ExpectedControl| CONTROL_HEADER + control.length().next_multiple_of(8);
            let room = message.control.iter().map(space).sum();
            let buffers = rooms(a, message.vector)?;
            let (flags, control) = (message.flags, message.control);
            prepared.expected.output = ExpectedOutput::Message { flags, control };
            (Form::Message, buffers, room, a.i32(2)?)
        }
    };
    Ok(SystemCall::Receive { form, fd: a.fd(0)?, buffers, control, flags })
}

fn rooms(a: &Arguments<'_>, vector: Vec<(&Expression, usize)>) -> Result<Vec<Room>, ScriptError> {
    vector.into_iter().map(|(base, length)| a.room(base, length)).collect()
}

fn send(a: &Arguments<'_>) -> Result<SystemCall, ScriptError> {
    let one = |a: &Arguments<'_>| Ok::<Vec<Data>, ScriptError>(vec![a.data(a.at(1)?, a.size(2)?)?]);
    let all = |vector: Vec<(&Expression, usize)>| {
        vector.into_iter().map(|(base, length)| a.data(base, length)).collect::<Result<Vec<Data>, ScriptError>>()
    };
    let mut controls = Vec::new();
    let (form, buffers, address, flags) = match a.call.name.as_str() {
        "write" => {
            a.count(3, 3)?;
            (Form::Plain, one(a)?, None, 0)
        }
        "send" => {
            a.count(4, 4)?;
            (Form::Flags, one(a)?, None, a.i32(3)?)
        }
        "sendto" => {
            a.count(6, 6)?;
            (Form::Address, one(a)?, Some(a.address(4, a.remote())?), a.i32(3)?)
        }
        "writev" => {
            a.count(3, 3)?;
            (Form::Vector, all(a.vector(a.at(1)?, Some(a.at(2)?))?)?, None, 0)
        }
        _ => {
            a.count(3, 3)?;
            let message = Message::read(a)?;
            if message.flags != 0 {
                return Err(a.error("sendmsg ignores msg_flags; it must be 0"));
            }
            for control in &message.control {
                let ExpectedData::Integer(value) = control.data else {
                    return Err(a.error("a control message to send has an integer as its data"));
                };
                let data = value.to_ne_bytes().to_vec();
                controls.push(Control { level: control.level, kind: control.kind, data });
            }
            (Form::Message, all(message.vector)?, Some(Address::Inet(a.remote())), a.i32(2)?)
        }
    };
    Ok(SystemCall::Send { form, fd: a.fd(0)?, buffers, address, control: controls, flags })
}

/// A `struct msghdr`.
struct Message<'a> {
    vector: Vec<(&'a Expression, usize)>,
    flags: i32,
    control: Vec<ExpectedControl>,
}

impl<'a> Message<'a> {
    fn read(a: &Arguments<'a>) -> Result<Self, ScriptError> {
        let members = a.members(a.at(1)?)?;
        a.only(members, &["msg_name", "msg_iov", "msg_flags", "msg_control"])?;
        let list = a.member(members, "msg_iov")?;
        let count = members.iter().find(|member| member.name == "msg_iov").and_then(|member| member.count.as_ref());
        let mut control = Vec::new();
        if let Some(messages) = members.iter().find(|member| member.name == "msg_control") {
            for message in a.list(&messages.value)? {
                control.push(control_message(a, message)?);
            }
        }
        Ok(Self { vector: a.vector(list, count)?, flags: a.i32_of(a.member(members, "msg_flags")?)?, control })
    }
}

fn control_message(a: &Arguments<'_>, message: &Expression) -> Result<ExpectedControl, ScriptError> {
    let members = match message {
        Expression::Struct(members) => members,
        other => return Err(a.error(format!("a control message is a structure, found {}", kind(other)))),
    };
    let member = |name: &str| {
        let found = members.iter().find(|member| member.name == name).map(|member| &member.value);
        found.ok_or_else(|| a.error(format!("the control message has no `{name}`")))
    };
    let data = match member("cmsg_data")? {
        Expression::Struct(fields) => {
            let field = |name: &str| match fields.iter().find(|member| member.name == name) {
                Some(member) => a.integer(&member.value),
                None => Err(a.error(format!("cmsg_data has no `{name}`"))),
            };
            if fields.iter().any(|field| field.name.starts_with("scm_")) {
                let (seconds, nanos) = (field("scm_sec")?, field("scm_nsec")?);
                let nanos = seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
                let nanos = u64::try_from(nanos).map_err(|_| a.error("the timestamp is negative"))?;
                ExpectedData::Timestamp(Duration::from_nanos(nanos))
            } else if fields.iter().any(|field| field.name.starts_with("ee_")) {
                let mut values = [0; 6];
                let names = ["ee_errno", "ee_origin", "ee_type", "ee_code", "ee_info", "ee_data"];
                for (value, name) in values.iter_mut().zip(names) {
                    *value =
                        u32::try_from(field(name)?).map_err(|_| a.error(format!("{name} does not fit 32 bits")))?;
                }
                ExpectedData::ExtendedError(values)
            } else {
                return Err(a.error("cmsg_data with attributes (TCP_NLA_..) is not supported"));
            }
        }
        Expression::List(list) if list.len() == 1 => ExpectedData::Integer(a.i32_of(&list[0])?),
        other => ExpectedData::Integer(a.i32_of(other)?),
    };
    Ok(ExpectedControl { level: a.i32_of(member("cmsg_level")?)?, kind: a.i32_of(member("cmsg_type")?)?, data })
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

fn readiness(a: &Arguments<'_>, prepared: &mut Prepared) -> Result<SystemCall, ScriptError> {
    match a.call.name.as_str() {
        "poll" => {
            a.count(3, 3)?;
            let (mut entries, mut ready) = (Vec::new(), Vec::new());
            for entry in a.list(a.at(0)?)? {
                let members = a.members(entry)?;
                a.only(members, &["fd", "events", "revents"])?;
                let bits = |name: &str| Ok::<i16, ScriptError>(a.i32_of(a.member(members, name)?)? as i16);
                entries.push((Fd(a.i32_of(a.member(members, "fd")?)?), bits("events")?));
                let has_revents = members.iter().any(|member| member.name == "revents");
                ready.push(if has_revents { bits("revents")? } else { 0 });
            }
            if a.size(1)? != entries.len() {
                return Err(a.error(format!("the count is {}, but there are {} entries", a.size(1)?, entries.len())));
            }
            prepared.expected.output = ExpectedOutput::Ready(ready);
            Ok(SystemCall::Poll { entries, timeout: a.i32(2)? })
        }
        "epoll_create" => {
            a.count(1, 1)?;
            Ok(SystemCall::EpollCreate { size: a.i32(0)? })
        }
        "epoll_ctl" => {
            a.count(4, 4)?;
            let event = match a.at(3)? {
                Expression::Word(word) if word == "NULL" => None,
                event => Some(epoll_event(a, event, prepared)?),
            };
            Ok(SystemCall::EpollControl { epoll: a.fd(0)?, operation: a.i32(1)?, fd: a.fd(2)?, event })
        }
        _ => {
            a.count(4, 4)?;
            if !matches!(a.at(1)?, Expression::Ellipsis) {
                let event = epoll_event(a, a.at(1)?, prepared)?;
                prepared.expected.output = ExpectedOutput::Event(event);
            }
            Ok(SystemCall::EpollWait { epoll: a.fd(0)?, maximum: a.i32(2)?, timeout: a.i32(3)? })
        }
    }
}

fn epoll_event(a: &Arguments<'_>, event: &Expression, prepared: &mut Prepared) -> Result<EpollEvent, ScriptError> {
    let Expression::Struct(members) = event else {
        return Err(a.error(format!("an event is {{events=.., fd=..}}, found {}", kind(event))));
    };
    a.only(members, &["events", "fd", "ptr", "u32", "u64"])?;
    let (mut events, mut data) = (0, None);
    for member in members {
        if member.name == "events" {
            events = a.i32_of(&member.value)?.cast_unsigned();
        } else {
            prepared.event_is_file = member.name == "fd";
            data = Some(a.integer(&member.value)?.cast_unsigned());
        }
    }
    let data = data.ok_or_else(|| a.error("the event has no data: fd, ptr, u32 or u64"))?;
    Ok(EpollEvent { events, data })
}

fn file(a: &Arguments<'_>, prepared: &mut Prepared) -> Result<SystemCall, ScriptError> {
    match a.call.name.as_str() {
        "close" => {
            a.count(1, 1)?;
            Ok(SystemCall::Close { fd: a.fd(0)? })
        }
        "fcntl" => {
            a.count(2, 3)?;
            let argument = if a.call.arguments.len() == 3 { Some(i64::from(a.i32(2)?)) } else { None };
            Ok(SystemCall::Fcntl { fd: a.fd(0)?, command: a.i32(1)?, argument })
        }
        "ioctl" => {
            a.count(2, 3)?;
            if a.call.arguments.len() == 3 && !matches!(a.at(2)?, Expression::Ellipsis) {
                prepared.expected.output = ExpectedOutput::Integer(a.bracketed(2)?);
            }
            Ok(SystemCall::Ioctl { fd: a.fd(0)?, request: a.integer(a.at(1)?)? })
        }
        "pipe" => {
            a.count(1, 1)?;
            let [read, write] = a.list(a.at(0)?)? else {
                return Err(a.error("a pipe has two files: [read, write]"));
            };
            prepared.expected.output = ExpectedOutput::Files(a.i32_of(read)?, a.i32_of(write)?);
            Ok(SystemCall::Pipe)
        }
        "open" => {
            a.count(2, 2)?;
            let Expression::String(path) = a.at(0)? else {
                return Err(a.error("the path is a string"));
            };
            let path = String::from_utf8(path.clone()).map_err(|_| a.error("the path is no UTF-8"))?;
            Ok(SystemCall::Open { path, flags: a.i32(1)? })
        }
        "splice" => {
            a.count(6, 6)?;
            if a.integer(a.at(1)?)? != 0 || a.integer(a.at(3)?)? != 0 {
                return Err(a.error("offsets of splice must be NULL"));
            }
            Ok(SystemCall::Splice { from: a.fd(0)?, to: a.fd(2)?, length: a.size(4)?, flags: a.i32(5)? })
        }
        _ => {
            a.count(4, 4)?;
            let offset = match a.at(2)? {
                Expression::Word(word) if word == "NULL" => None,
                _ => Some(a.bracketed(2)?),
            };
            Ok(SystemCall::SendFile { to: a.fd(0)?, from: a.fd(1)?, offset, count: a.size(3)? })
        }
    }
}

impl SystemCall {
    /// Returns every file that the call names, for mapping to another numbering.
    pub(super) fn files_mut(&mut self) -> Vec<&mut Fd> {
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
