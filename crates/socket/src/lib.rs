//! A host with sockets over [`narrows_tcp::Connection`], in virtual time.
//!
//! [`Host`] has file descriptors, listeners, buffers, blocking calls, `poll` and `epoll`, and the errors of Linux by
//! number. It performs no I/O and reads no clock: [`Host::advance`] lets time pass, packets go in by
//! [`Host::receive`] and come out as [`Event::Sent`]. The same calls give the same events, to the bit.
//!
//! | module | its part |
//! |---|---|
//! | `host` | the calls, and what packets and time do to sockets |
//! | `socket` | a socket: its state and its options |
//! | `memory` | what a send buffer holds, as Linux accounts for it |
//! | `epoll` | which files of an epoll instance are ready |
//! | `icmp` | ICMP errors about a connection's packets |
//! | `chrono` | how long a connection is busy, and what limits it |
//! | `info` | a connection as `getsockopt(TCP_INFO)` shows it |
//! | `linux` | the settings of a connection of Linux |
//! | `sysctl` | the host's sysctls |
//! | `errno`, `number` | numbers of the socket interface |
//!
//! Payload is counted, not carried, as in [`narrows_tcp::Connection`]: what is received is zeros.

mod chrono;
mod epoll;
mod errno;
mod host;
mod icmp;
mod info;
mod linux;
mod memory;
pub mod number;
mod socket;
mod sysctl;

pub use errno::Errno;
pub use host::{
    Answer, Control, Detail, EpollEvent, Event, Host, Payload, Progress, Receive, Route, Send, Setup, Ticket,
};
pub use info::TcpInfo;
pub use linux::linux;
pub use sysctl::{SysctlError, Sysctls};
