//! Arguments of one system call in a script, evaluated with errors that name the call and the line.

use crate::call::{Address, Data, Room};
use crate::host::Fd;
use crate::options::{IpVersion, Options};
use crate::symbols;
use crate::syntax::{Call, Expression, Member, ScriptError};
use std::net::{IpAddr, SocketAddr};

/// Largest buffer of a call in bytes.
const MAX_BUFFER: i64 = 64 << 20;

/// The arguments of a call.
pub(super) struct Arguments<'a> {
    pub(super) file: &'a str,
    pub(super) line: u32,
    pub(super) call: &'a Call,
    pub(super) options: &'a Options,
}

impl<'a> Arguments<'a> {
    /// An error at this call.
    pub(super) fn error(&self, message: impl AsRef<str>) -> ScriptError {
        let message = format!("{}(): {}", self.call.name, message.as_ref());
        ScriptError { file: self.file.to_owned(), line: self.line, column: None, message }
    }

    /// Checks the number of arguments.
    pub(super) fn count(&self, least: usize, most: usize) -> Result<(), ScriptError> {
        let count = self.call.arguments.len();
        if (least..=most).contains(&count) {
            return Ok(());
        }
        let expected = if least == most { least.to_string() } else { format!("{least} to {most}") };
        Err(self.error(format!("{count} arguments; expected {expected}")))
    }

    /// Returns an argument; the first is 0.
    pub(super) fn at(&self, index: usize) -> Result<&'a Expression, ScriptError> {
        self.call.arguments.get(index).ok_or_else(|| self.error(format!("argument {} is missing", index + 1)))
    }

    /// Evaluates an expression that must be an integer.
    pub(super) fn integer(&self, expression: &Expression) -> Result<i64, ScriptError> {
        match expression {
            Expression::Integer(value) => Ok(*value),
            Expression::Word(word) => {
                symbols::value(word).ok_or_else(|| self.error(format!("unknown symbol `{word}`")))
            }
            Expression::Or(a, b) => Ok(self.integer(a)? | self.integer(b)?),
            Expression::Address(IpAddr::V4(address)) => Ok(i64::from(u32::from_ne_bytes(address.octets()))),
            Expression::Function(name, argument) if name == "htons" => {
                let value = u16::try_from(self.integer(argument)?);
                value.map(|value| i64::from(value.to_be())).map_err(|_| self.error("htons() takes 0 to 65535"))
            }
            other => Err(self.error(format!("expected an integer, found {}", kind(other)))),
        }
    }

    /// Evaluates a 32-bit integer; values of 32 bits without a sign are taken too (`0xffffffff`).
    pub(super) fn i32_of(&self, expression: &Expression) -> Result<i32, ScriptError> {
        let value = self.integer(expression)?;
        i32::try_from(value)
            .or_else(|_| u32::try_from(value).map(u32::cast_signed))
            .map_err(|_| self.error(format!("{value} does not fit 32 bits")))
    }

    pub(super) fn i32(&self, index: usize) -> Result<i32, ScriptError> {
        self.i32_of(self.at(index)?)
    }

    /// A file by the script's number.
    pub(super) fn fd(&self, index: usize) -> Result<Fd, ScriptError> {
        Ok(Fd(self.i32(index)?))
    }

    /// A length or count that must not be negative.
    pub(super) fn size_of(&self, expression: &Expression) -> Result<usize, ScriptError> {
        let value = self.integer(expression)?;
        if !(0..=MAX_BUFFER).contains(&value) {
            return Err(self.error(format!("a length of {value} bytes; allowed are 0 to {MAX_BUFFER}")));
        }
        usize::try_from(value).map_err(|_| self.error("the length does not fit this machine"))
    }

    pub(super) fn size(&self, index: usize) -> Result<usize, ScriptError> {
        self.size_of(self.at(index)?)
    }

    /// The one integer of a list `[n]`.
    pub(super) fn bracketed(&self, index: usize) -> Result<i64, ScriptError> {
        match self.at(index)? {
            Expression::List(list) if list.len() == 1 => self.integer(&list[0]),
            other => Err(self.error(format!("argument {} is {}; expected [integer]", index + 1, kind(other)))),
        }
    }

    /// A list's elements.
    pub(super) fn list(&self, expression: &'a Expression) -> Result<&'a [Expression], ScriptError> {
        match expression {
            Expression::List(list) => Ok(list),
            other => Err(self.error(format!("expected a list in brackets, found {}", kind(other)))),
        }
    }

    /// A structure's members.
    pub(super) fn members(&self, expression: &'a Expression) -> Result<&'a [Member], ScriptError> {
        match expression {
            Expression::Struct(members) => Ok(members),
            other => Err(self.error(format!("expected a structure {{name=..}}, found {}", kind(other)))),
        }
    }

    /// A structure's member that must be there.
    pub(super) fn member(&self, members: &'a [Member], name: &str) -> Result<&'a Expression, ScriptError> {
        let found = members.iter().find(|member| member.name == name);
        found.map(|member| &member.value).ok_or_else(|| self.error(format!("the structure has no `{name}`")))
    }

    /// Checks that a structure has no other members than these.
    pub(super) fn only(&self, members: &[Member], names: &[&str]) -> Result<(), ScriptError> {
        match members.iter().find(|member| !names.contains(&member.name.as_str())) {
            Some(member) => {
                Err(self.error(format!("unknown member `{}`; known are {}", member.name, names.join(", "))))
            }
            None => Ok(()),
        }
    }

    /// Checks that an argument is `...`.
    pub(super) fn ellipsis(&self, index: usize) -> Result<(), ScriptError> {
        match self.at(index)? {
            Expression::Ellipsis => Ok(()),
            other => Err(self.error(format!("argument {} is {}; expected `...`", index + 1, kind(other)))),
        }
    }

    /// Bytes to send: `...` (zeros), a string, or NULL.
    pub(super) fn data(&self, buffer: &Expression, length: usize) -> Result<Data, ScriptError> {
        match buffer {
            Expression::Ellipsis => Ok(Data::Zeros(length)),
            Expression::String(bytes) => {
                let mut bytes = bytes.clone();
                bytes.resize(length, 0);
                Ok(Data::Bytes(bytes))
            }
            _ if matches!(self.integer(buffer), Ok(0)) => Ok(Data::Null(length)),
            other => Err(self.error(format!("the buffer is {}; expected `...`, a string or NULL", kind(other)))),
        }
    }

    /// Room for bytes: `...` or NULL. A string stands for what the script expects and is not compared.
    pub(super) fn room(&self, buffer: &Expression, length: usize) -> Result<Room, ScriptError> {
        match buffer {
            Expression::Ellipsis | Expression::String(_) => Ok(Room::Buffer(length)),
            _ if matches!(self.integer(buffer), Ok(0)) => Ok(Room::Null(length)),
            other => Err(self.error(format!("the buffer is {}; expected `...` or NULL", kind(other)))),
        }
    }

    /// An iovec: base and length of each element. `count` is the number that the script gives beside it.
    pub(super) fn vector(
        &self,
        list: &'a Expression,
        count: Option<&Expression>,
    ) -> Result<Vec<(&'a Expression, usize)>, ScriptError> {
        let mut vector = Vec::new();
        for element in self.list(list)? {
            let Expression::Group(parts) = element else {
                return Err(self.error(format!("an iovec is {{..., length}}, found {}", kind(element))));
            };
            let [base, length] = &parts[..] else {
                return Err(self.error("an iovec has two members: {..., length}"));
            };
            vector.push((base, self.size_of(length)?));
        }
        match count.map(|count| self.size_of(count)).transpose()? {
            Some(count) if count != vector.len() => {
                Err(self.error(format!("the count is {count}, but the iovec has {} elements", vector.len())))
            }
            _ => Ok(vector),
        }
    }

    /// The address of the host under test, as `bind(fd, ..., ...)` has it.
    pub(super) fn local(&self) -> SocketAddr {
        self.options.as_socket_address(self.options.local, self.options.bind_port)
    }

    /// The address of the other end, as `connect(fd, ..., ...)` has it.
    pub(super) fn remote(&self) -> SocketAddr {
        self.options.as_socket_address(self.options.remote, self.options.connect_port)
    }

    /// An address: `...` for `default`, a `sockaddr` structure, NULL, or the family `AF_UNSPEC`.
    pub(super) fn address(&self, index: usize, default: SocketAddr) -> Result<Address, ScriptError> {
        match self.at(index)? {
            Expression::Ellipsis => Ok(Address::Inet(default)),
            Expression::Word(word) if word == "AF_UNSPEC" => Ok(Address::Unspecified),
            Expression::Word(word) if word == "NULL" => Ok(Address::Null),
            Expression::Struct(members) => {
                self.only(members, &["sa_family", "sin_port", "sin_addr", "sin6_port", "sin6_addr"])?;
                let member = |a: &str, b: &str| self.member(members, a).or_else(|_| self.member(members, b));
                let port = match member("sin_port", "sin6_port")? {
                    Expression::Function(_, port) => self.integer(port)?,
                    _ => return Err(self.error("the port is htons(number)")),
                };
                let port = u16::try_from(port).map_err(|_| self.error("the port is 0 to 65535"))?;
                let Expression::Address(address) = member("sin_addr", "sin6_addr")? else {
                    return Err(self.error("the address is inet_addr(\"address\")"));
                };
                Ok(Address::Inet(SocketAddr::new(*address, port)))
            }
            other => Err(self.error(format!(
                "argument {} is {}; expected `...`, an address, AF_UNSPEC or NULL",
                index + 1,
                kind(other)
            ))),
        }
    }

    /// The domain of sockets of this run.
    pub(super) fn domain(&self) -> i32 {
        match self.options.ip_version {
            IpVersion::V4 => symbols::AF_INET,
            IpVersion::V6 | IpVersion::Mapped => symbols::AF_INET6,
        }
    }
}

/// Names an expression's kind in errors.
pub(super) fn kind(expression: &Expression) -> &'static str {
    match expression {
        Expression::Ellipsis => "`...`",
        Expression::Integer(_) => "an integer",
        Expression::Word(_) => "a symbol",
        Expression::String(_) => "a string",
        Expression::Or(..) => "an expression with `|`",
        Expression::Assign(..) => "an assignment",
        Expression::List(_) => "a list",
        Expression::Group(_) | Expression::Struct(_) => "a structure",
        Expression::Function(..) => "a function",
        Expression::Address(_) => "an address",
    }
}
