//! What a script expects of the result of a system call.

use crate::call::EpollEvent;
use crate::symbols;
use narrows_units::Duration;

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
pub(super) const CONTROL_HEADER: usize = 16;
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
