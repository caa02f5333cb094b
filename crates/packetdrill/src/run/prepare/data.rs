//! Calls that send and receive, and `struct msghdr`.

use super::Prepared;
use crate::call::{Address, Control, Data, Form, Room, SystemCall};
use crate::run::arguments::{Arguments, kind};
use crate::run::expected::{CONTROL_HEADER, ExpectedControl, ExpectedData, ExpectedOutput};
use crate::syntax::{Expression, ScriptError};
use narrows_units::Duration;

pub(super) fn receive(a: &Arguments<'_>, prepared: &mut Prepared) -> Result<SystemCall, ScriptError> {
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

pub(super) fn send(a: &Arguments<'_>) -> Result<SystemCall, ScriptError> {
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
