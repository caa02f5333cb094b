//! System calls as values, with symbols resolved to Linux's numbers, and their results.
//!
//! Every number is the one of Linux's generic ABI (`AF_INET6` = 10, `SO_REUSEADDR` = 2, `EAGAIN` = 11): the live host
//! passes it on, and the simulated host compares it with the constants in [`crate::symbols`].
//!
//! `...` in a script is resolved here: an address becomes the script's local or remote address, a buffer becomes zeros
//! of the length given, and an output argument is not compared.

use crate::host::Fd;
use std::net::SocketAddr;

/// Control messages and events of epoll are those of the socket host. The data of a control message is in the machine's
/// byte order: an `int`, `struct scm_timestamping` (three `timespec` of two 8-byte integers), or `struct
/// sock_extended_err` (16 bytes, followed by an address of 16 bytes in IPv4 and 28 in IPv6). Timestamps are by the
/// host's own clock ([`crate::host::Host::now`]).
pub use narrows_socket::{Control, EpollEvent};

/// A system call with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SystemCall {
    /// `socket(domain, kind, protocol)`. `kind` may include `SOCK_NONBLOCK` and `SOCK_CLOEXEC`.
    Socket {
        /// `AF_INET` or `AF_INET6`.
        domain: i32,
        /// `SOCK_STREAM` or `SOCK_DGRAM`, with flags.
        kind: i32,
        /// `IPPROTO_TCP`, `IPPROTO_UDP` or 0.
        protocol: i32,
    },
    /// `bind(fd, address)`.
    Bind {
        /// The socket.
        fd: Fd,
        /// The local address.
        address: Address,
    },
    /// `listen(fd, backlog)`.
    Listen {
        /// The socket.
        fd: Fd,
        /// Longest queue of established connections.
        backlog: i32,
    },
    /// `accept(fd, ...)`. The result has the peer's address.
    Accept {
        /// The listener.
        fd: Fd,
    },
    /// `connect(fd, address)`.
    Connect {
        /// The socket.
        fd: Fd,
        /// The peer.
        address: Address,
    },
    /// `read`, `readv`, `recv`, `recvfrom` and `recvmsg`. The result has the bytes.
    Receive {
        /// Which of the calls.
        form: Form,
        /// The file.
        fd: Fd,
        /// Where the bytes go: one buffer, or those of the iovec.
        buffers: Vec<Room>,
        /// Space for control messages in bytes, `msg_controllen` (`recvmsg` only): exactly what the messages that the
        /// script expects need, so that further ones set `MSG_CTRUNC`.
        control: usize,
        /// `MSG_` flags; 0 for `read` and `readv`.
        flags: i32,
    },
    /// `write`, `writev`, `send`, `sendto` and `sendmsg`.
    Send {
        /// Which of the calls.
        form: Form,
        /// The file.
        fd: Fd,
        /// The bytes: one buffer, or those of the iovec.
        buffers: Vec<Data>,
        /// The destination (`sendto` and `sendmsg` only).
        address: Option<Address>,
        /// Control messages (`sendmsg` only).
        control: Vec<Control>,
        /// `MSG_` flags; 0 for `write` and `writev`.
        flags: i32,
    },
    /// `close(fd)`.
    Close {
        /// The file.
        fd: Fd,
    },
    /// `shutdown(fd, how)`.
    Shutdown {
        /// The socket.
        fd: Fd,
        /// `SHUT_RD`, `SHUT_WR` or `SHUT_RDWR`.
        how: i32,
    },
    /// `getsockopt(fd, level, option, value, length)`. The result has the value's bytes.
    GetOption {
        /// The socket.
        fd: Fd,
        /// `SOL_SOCKET`, `SOL_TCP` ..
        level: i32,
        /// `SO_ERROR`, `TCP_MAXSEG` ..
        option: i32,
        /// Room for the value in bytes.
        length: usize,
    },
    /// `setsockopt(fd, level, option, value, length)`.
    SetOption {
        /// The socket.
        fd: Fd,
        /// `SOL_SOCKET`, `SOL_TCP` ..
        level: i32,
        /// `SO_REUSEADDR`, `TCP_NODELAY` ..
        option: i32,
        /// The value in the machine's byte order: integers as 4 bytes, structures as Linux lays them out.
        value: Vec<u8>,
        /// The length that the script gives; it may differ from the value's, and the value is then cut or followed by
        /// zeros.
        length: usize,
    },
    /// `ioctl(fd, request, argument)`. The result has the integer that the request writes.
    Ioctl {
        /// The file.
        fd: Fd,
        /// `SIOCINQ`, `SIOCOUTQ`, `FIONREAD` ..
        request: i64,
    },
    /// `fcntl(fd, command, argument)`.
    Fcntl {
        /// The file.
        fd: Fd,
        /// `F_GETFL`, `F_SETFL` ..
        command: i32,
        /// The command's argument, where it has one.
        argument: Option<i64>,
    },
    /// `poll(entries, timeout)`. The result has `revents` in the order of the entries.
    Poll {
        /// Each file with the events that the caller waits for.
        entries: Vec<(Fd, i16)>,
        /// Longest wait in milliseconds; negative waits for ever.
        timeout: i32,
    },
    /// `epoll_create(size)`.
    EpollCreate {
        /// Ignored by Linux, but must be positive.
        size: i32,
    },
    /// `epoll_ctl(epoll, operation, fd, event)`.
    EpollControl {
        /// The epoll file.
        epoll: Fd,
        /// `EPOLL_CTL_ADD`, `EPOLL_CTL_MOD` or `EPOLL_CTL_DEL`.
        operation: i32,
        /// The file watched.
        fd: Fd,
        /// Events and the caller's data.
        event: Option<EpollEvent>,
    },
    /// `epoll_wait(epoll, events, maximum, timeout)`. The result has the events.
    EpollWait {
        /// The epoll file.
        epoll: Fd,
        /// Most events to return.
        maximum: i32,
        /// Longest wait in milliseconds; negative waits for ever.
        timeout: i32,
    },
    /// `pipe(fds)`. The result has the two files.
    Pipe,
    /// `open(path, flags)`.
    Open {
        /// The path.
        path: String,
        /// `O_RDONLY` ..
        flags: i32,
    },
    /// `splice(from, NULL, to, NULL, length, flags)`.
    Splice {
        /// The file read.
        from: Fd,
        /// The file written.
        to: Fd,
        /// Most bytes to move.
        length: usize,
        /// `SPLICE_F_` flags.
        flags: i32,
    },
    /// `sendfile(to, from, offset, count)`. The result has the new offset.
    SendFile {
        /// The socket written.
        to: Fd,
        /// The file read.
        from: Fd,
        /// Where in the file to begin; `None` for its own position.
        offset: Option<i64>,
        /// Most bytes to move.
        count: usize,
    },
}

/// Which of several system calls that do the same is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `read` or `write`.
    Plain,
    /// `readv` or `writev`.
    Vector,
    /// `recv` or `send`.
    Flags,
    /// `recvfrom` or `sendto`.
    Address,
    /// `recvmsg` or `sendmsg`.
    Message,
}

/// A `struct sockaddr` argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// An address of family `AF_INET` or `AF_INET6`.
    Inet(SocketAddr),
    /// A `struct sockaddr` of family `AF_UNSPEC`; `connect` with it dissolves the association.
    Unspecified,
    /// A null pointer.
    Null,
}

/// Bytes that the caller sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// Bytes of a string in the script, cut or followed by zeros to the length that it gives.
    Bytes(Vec<u8>),
    /// So many zeros.
    Zeros(usize),
    /// A null pointer with a length: the call returns `EFAULT` once it reads from there.
    Null(usize),
}

impl Data {
    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Zeros(length) | Self::Null(length) => *length,
        }
    }

    /// Reports whether the length is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Room for bytes that the caller receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// A buffer of so many bytes.
    Buffer(usize),
    /// A null pointer with a length: the call returns `EFAULT` once it writes there.
    Null(usize),
}

impl Room {
    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Buffer(length) | Self::Null(length) => *length,
        }
    }

    /// Reports whether the length is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What a system call returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallResult {
    /// The return value, or Linux's number of the error.
    pub value: Result<i64, Errno>,
    /// What the call wrote to its output arguments.
    pub output: Output,
}

impl CallResult {
    /// A return value without output arguments.
    pub const fn value(value: i64) -> Self {
        Self { value: Ok(value), output: Output::None }
    }

    /// A return value with output arguments.
    pub const fn with(value: i64, output: Output) -> Self {
        Self { value: Ok(value), output }
    }

    /// An error.
    pub const fn error(errno: Errno) -> Self {
        Self { value: Err(errno), output: Output::None }
    }
}

/// An error number of Linux (`EAGAIN` = 11). [`crate::symbols`] has the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);

/// What a system call wrote to its output arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// Nothing.
    #[default]
    None,
    /// The peer's address (`accept`).
    Address(SocketAddr),
    /// Bytes received (`read` ..), at most the room given.
    Bytes(Vec<u8>),
    /// What `recvmsg` received.
    Message {
        /// The bytes.
        bytes: Vec<u8>,
        /// The control messages.
        control: Vec<Control>,
        /// `msg_flags`: `MSG_TRUNC`, `MSG_ERRQUEUE` ..
        flags: i32,
    },
    /// A socket option's value in the machine's byte order (`getsockopt`); its length is the one returned.
    Option(Vec<u8>),
    /// The integer that an `ioctl` wrote, or the new offset of `sendfile`.
    Integer(i64),
    /// `revents` of each entry (`poll`).
    Ready(Vec<i16>),
    /// Events (`epoll_wait`).
    Events(Vec<EpollEvent>),
    /// Two files (`pipe`): the read end, the write end.
    Files(Fd, Fd),
}
