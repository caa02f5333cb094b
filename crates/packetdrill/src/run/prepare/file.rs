//! Calls on files of any kind, and those that make files that are no sockets.

use super::Prepared;
use crate::call::SystemCall;
use crate::run::arguments::Arguments;
use crate::run::expected::ExpectedOutput;
use crate::syntax::{Expression, ScriptError};

pub(super) fn file(a: &Arguments<'_>, prepared: &mut Prepared) -> Result<SystemCall, ScriptError> {
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
