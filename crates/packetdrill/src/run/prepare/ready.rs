//! `poll` and `epoll`.

use super::Prepared;
use crate::call::{EpollEvent, SystemCall};
use crate::host::Fd;
use crate::run::arguments::{Arguments, kind};
use crate::run::expected::ExpectedOutput;
use crate::syntax::{Expression, ScriptError};

pub(super) fn readiness(a: &Arguments<'_>, prepared: &mut Prepared) -> Result<SystemCall, ScriptError> {
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
