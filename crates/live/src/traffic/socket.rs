//! Sockets of flows, with everything set before the first packet.
//!
//! The congestion control is set before a socket connects. If it were set later, effects of the namespace's default at
//! the start of the connection would persist (BBR leaves pacing switched on).

use crate::LiveError;
use narrows_scenario::{Pacing, Tcp};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrStorage, bind, connect, listen, socket, sockopt,
};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// The settings of a flow's socket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wishes<'a> {
    pub(super) tcp: &'a Tcp,
    /// Congestion control, by the kernel's name for it.
    pub(super) control: &'a str,
    /// Differentiated services codepoint.
    pub(super) dscp: u8,
    /// Largest number of unsent bytes in the socket; `None` leaves it to the kernel.
    pub(super) unsent: Option<u32>,
    /// Bytes that segments leave free for a scheme's headers.
    pub(super) overhead: u16,
}

/// Makes a socket that will connect from `at`.
pub(super) fn client(at: SocketAddr, wishes: &Wishes<'_>) -> Result<OwnedFd, LiveError> {
    let socket = open(at, SockType::Stream)?;
    whole(&socket, at.ip(), wishes)?;
    Ok(socket)
}

/// Makes a socket that listens at `at` for flows with about these `wishes`; [`accepted`] sets the rest.
pub(super) fn listener(at: SocketAddr, wishes: &Wishes<'_>, flows: usize) -> Result<OwnedFd, LiveError> {
    let socket = open(at, SockType::Stream)?;
    whole(&socket, at.ip(), wishes)?;
    let backlog = i32::try_from(flows).unwrap_or(i32::MAX).min(4096);
    let backlog = Backlog::new(backlog).unwrap_or(Backlog::MAXCONN);
    listen(&socket, backlog).map_err(|error| LiveError::failed(format!("listen at {at}"), error))?;
    Ok(socket)
}

/// Applies the settings of its own flow to an accepted socket.
pub(super) fn accepted(socket: &OwnedFd, at: IpAddr, wishes: &Wishes<'_>) -> Result<(), LiveError> {
    if control(socket)? != wishes.control {
        set_control(socket, wishes.control)?;
    }
    codepoint(socket, at, wishes.dscp)?;
    transfer(socket, wishes)
}

/// Makes a socket for datagrams between two addresses only: sockets of other flows have the same port.
pub(super) fn datagrams(at: SocketAddr, to: SocketAddr, dscp: u8) -> Result<OwnedFd, LiveError> {
    /// Room, in bytes, for what arrives while the reader is busy. It is no queue of the scenario.
    const ROOM: i32 = 8 << 20;
    let socket = open(at, SockType::Datagram)?;
    codepoint(&socket, at.ip(), dscp)?;
    set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &ROOM, "SO_RCVBUFFORCE")?;
    start_connecting(&socket, to).map_err(|error| LiveError::failed(format!("connect to {to}"), error))?;
    Ok(socket)
}

/// Connects a socket, or starts to.
pub(super) fn start_connecting(socket: &OwnedFd, to: SocketAddr) -> io::Result<()> {
    match connect(socket.as_raw_fd(), &SockaddrStorage::from(to)) {
        Ok(()) | Err(nix::Error::EINPROGRESS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Bounds the advertised window of a socket by the scenario's receive buffer, unless the kernel tunes the window.
///
/// The kernel computes the window again whenever it has learnt how much memory packets take (`tcp_measure_rcv_mss`), so
/// this is repeated once data has arrived.
pub(super) fn bound_window(socket: &OwnedFd, tcp: &Tcp) -> Result<(), LiveError> {
    if tcp.autotuning {
        return Ok(());
    }
    let window = i32::try_from(tcp.recv_buffer.as_u64()).unwrap_or(i32::MAX);
    set(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, &window, "TCP_WINDOW_CLAMP")
}

/// Returns the congestion control of a socket.
pub(super) fn control(socket: &OwnedFd) -> Result<String, LiveError> {
    let name = nix::sys::socket::getsockopt(socket, sockopt::TcpCongestion);
    let name = name.map_err(|error| LiveError::failed("read TCP_CONGESTION", error))?;
    let name = name.to_string_lossy().into_owned();
    Ok(name.trim_end_matches('\0').to_owned())
}

fn open(at: SocketAddr, kind: SockType) -> Result<OwnedFd, LiveError> {
    let family = if at.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let socket = socket(family, kind, SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC, None);
    let socket = socket.map_err(|error| LiveError::failed("make a socket", error))?;
    set(&socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, &1_i32, "SO_REUSEADDR")?;
    bind(socket.as_raw_fd(), &SockaddrStorage::from(at))
        .map_err(|error| LiveError::failed(format!("bind a socket to {at}"), error))?;
    Ok(socket)
}

/// Applies all settings of a TCP socket before it connects or listens.
fn whole(socket: &OwnedFd, at: IpAddr, wishes: &Wishes<'_>) -> Result<(), LiveError> {
    // A socket that is closed, by us or by the end of our process, must not linger and keep its namespace: it ends at
    // once, with RST.
    let at_once = libc::linger { l_onoff: 1, l_linger: 0 };
    set(socket, libc::SOL_SOCKET, libc::SO_LINGER, &at_once, "SO_LINGER")?;
    set_control(socket, wishes.control)?;
    codepoint(socket, at, wishes.dscp)?;
    let mss = i32::from(wishes.tcp.mss.saturating_sub(wishes.overhead));
    set(socket, libc::IPPROTO_TCP, libc::TCP_MAXSEG, &mss, "TCP_MAXSEG")?;
    transfer(socket, wishes)
}

fn set_control(socket: &OwnedFd, name: &str) -> Result<(), LiveError> {
    set_bytes(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_bytes())
        .map_err(|error| LiveError::failed(format!("set TCP_CONGESTION = {name}"), error))
}

fn codepoint(socket: &OwnedFd, at: IpAddr, dscp: u8) -> Result<(), LiveError> {
    let class = i32::from(dscp) << 2;
    match at {
        IpAddr::V4(_) => set(socket, libc::IPPROTO_IP, libc::IP_TOS, &class, "IP_TOS"),
        IpAddr::V6(_) => set(socket, libc::IPPROTO_IPV6, libc::IPV6_TCLASS, &class, "IPV6_TCLASS"),
    }
}

/// Applies the settings that a socket accepts at any time.
fn transfer(socket: &OwnedFd, wishes: &Wishes<'_>) -> Result<(), LiveError> {
    /// A rate in bytes per second that bounds nothing, but switches pacing on.
    const UNBOUNDED: u64 = 1 << 40;
    let tcp = wishes.tcp;
    set(socket, libc::IPPROTO_TCP, libc::TCP_NODELAY, &i32::from(!tcp.nagle), "TCP_NODELAY")?;
    if !tcp.autotuning {
        // The kernel does not tune a buffer that is set on the socket.
        set(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &memory(tcp), "SO_RCVBUFFORCE")?;
    }
    bound_window(socket, tcp)?;
    if tcp.pacing != Pacing::Off {
        set(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &UNBOUNDED, "SO_MAX_PACING_RATE")?;
    }
    match wishes.unsent {
        Some(most) => set(socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, &most, "TCP_NOTSENT_LOWAT"),
        None => Ok(()),
    }
}

/// Returns the receive memory in bytes of `SO_RCVBUF`. The kernel doubles this value, and counts each packet's overhead
/// against it.
///
/// A reader that reads at once needs room for one window out of order, whatever the overhead of its packets, so that
/// only the window is the bound. With a slow reader, the window must close when the scenario's buffer is full, so the
/// memory equals the buffer.
fn memory(tcp: &Tcp) -> i32 {
    let buffer = tcp.recv_buffer.as_u64();
    let wanted = if tcp.read_rate.is_some() { buffer } else { 2 * buffer };
    i32::try_from(wanted).unwrap_or(i32::MAX).min(i32::MAX / 2)
}

fn set<T: Copy>(socket: &OwnedFd, level: i32, option: i32, value: &T, name: &str) -> Result<(), LiveError> {
    // SAFETY: the slice covers exactly the value, which is of integers without padding (int, u32, u64, linger).
    let bytes = unsafe { std::slice::from_raw_parts((&raw const *value).cast::<u8>(), size_of::<T>()) };
    set_bytes(socket, level, option, bytes).map_err(|error| LiveError::failed(format!("set {name}"), error))
}

fn set_bytes(socket: &OwnedFd, level: i32, option: i32, bytes: &[u8]) -> io::Result<()> {
    let length = bytes.len() as libc::socklen_t;
    // SAFETY: the pointer and the length are those of a slice, which the kernel reads.
    let result = unsafe { libc::setsockopt(socket.as_fd().as_raw_fd(), level, option, bytes.as_ptr().cast(), length) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
