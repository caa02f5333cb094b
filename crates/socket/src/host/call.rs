//! What a call takes and returns, and what happens at the host.

use crate::errno::Errno;
use core::net::SocketAddr;
use narrows_units::Instant;
use narrows_wire::Packet;

/// A call that sleeps, by a number of the host's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// What a call returned: its value, and what it wrote to its output arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The return value, or the error.
    pub value: Result<i64, Errno>,
    /// What was written to output arguments.
    pub detail: Detail,
}

impl Answer {
    /// A return value without output arguments.
    #[must_use]
    pub const fn value(value: i64) -> Self {
        Self { value: Ok(value), detail: Detail::Nothing }
    }

    /// An error.
    #[must_use]
    pub const fn error(errno: Errno) -> Self {
        Self { value: Err(errno), detail: Detail::Nothing }
    }
}

impl From<Result<i64, Errno>> for Answer {
    fn from(value: Result<i64, Errno>) -> Self {
        Self { value, detail: Detail::Nothing }
    }
}

/// What a call wrote to its output arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Nothing.
    Nothing,
    /// The peer's address (`accept`).
    Peer(SocketAddr),
    /// What `recvmsg` received beside the bytes, which are zeros.
    Message {
        /// `msg_flags`.
        flags: i32,
        /// Control messages.
        control: Vec<Control>,
    },
    /// An option's value (`getsockopt`).
    Value(Vec<u8>),
    /// The integer that `ioctl` wrote.
    Integer(i64),
    /// `revents` of each entry (`poll`).
    Ready(Vec<u32>),
    /// Events (`epoll_wait`).
    Events(Vec<EpollEvent>),
}

/// A control message of `recvmsg`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Control {
    /// `SOL_SOCKET`, `SOL_IP` ..
    pub level: i32,
    /// `SCM_TIMESTAMPING`, `IP_RECVERR`, `TCP_CM_INQ` ..
    pub kind: i32,
    /// The data as Linux lays it out, little-endian.
    pub data: Vec<u8>,
}

/// A `struct epoll_event`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpollEvent {
    /// `EPOLLIN`, `EPOLLET` ..
    pub events: u32,
    /// The caller's data.
    pub data: u64,
}

/// How far a call has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It has returned.
    Done(Answer),
    /// It sleeps; an [`Event::Returned`] has its answer.
    Blocked(Ticket),
}

/// Something that happened at the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A packet left.
    Sent {
        /// When.
        at: Instant,
        /// The packet.
        packet: Packet,
    },
    /// A sleeping call returned.
    Returned {
        /// The call.
        ticket: Ticket,
        /// What it returned.
        answer: Answer,
        /// When.
        at: Instant,
    },
}

/// A part of a buffer that a call sends from or receives into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// So many bytes.
    Bytes(u64),
    /// A null pointer and a length.
    Null(u64),
}

impl Payload {
    /// The length in bytes.
    #[must_use]
    pub const fn len(self) -> u64 {
        match self {
            Self::Bytes(len) | Self::Null(len) => len,
        }
    }

    /// Whether the length is zero.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }
}

/// The arguments of a call that sends (`write`, `send`, `sendto`, `sendmsg` ..).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Send {
    /// The descriptor.
    pub fd: i32,
    /// The buffers.
    pub parts: Vec<Payload>,
    /// `MSG_` flags.
    pub flags: i32,
    /// The destination, which only `MSG_FASTOPEN` uses; `None` also for an address of family `AF_UNSPEC`.
    pub to: Option<SocketAddr>,
}

/// The arguments of a call that receives (`read`, `recv`, `recvmsg` ..).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receive {
    /// The descriptor.
    pub fd: i32,
    /// The buffers.
    pub parts: Vec<Payload>,
    /// `MSG_` flags.
    pub flags: i32,
    /// Whether there is room for control messages.
    pub control: bool,
}
