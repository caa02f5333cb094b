//! The host: its files, its time, and the packets between it and the network.
//!
//! | file | its part |
//! |---|---|
//! | `mod.rs` | the state and the time |
//! | `call.rs` | what a call takes and returns, and what happens at the host |
//! | `input.rs` | packets that arrive: which socket takes them |
//! | `output.rs` | packets that leave, and whom a change wakes |
//! | `open.rs` | `socket`, `bind`, `listen`, `accept`, `connect`, `close`, `shutdown` |
//! | `data.rs` | calls that send |
//! | `receive.rs` | calls that receive |
//! | `fast_open.rs` | the cache of cookies, and what a listener decides about a SYN |
//! | `options.rs` | `setsockopt`, `getsockopt`, `ioctl`, `fcntl` |
//! | `ready.rs` | `poll` and `epoll` |
//! | `waiting.rs` | calls that sleep |

mod call;
mod close;
mod data;
mod fast_open;
mod input;
mod open;
mod options;
mod output;
mod ready;
mod receive;
mod waiting;

use crate::epoll::Epoll;
use crate::errno::Errno;
use crate::info::TcpInfo;
use crate::socket::{Socket, Stage};
use crate::sysctl::Sysctls;
pub use call::{Answer, Control, Detail, EpollEvent, Event, Payload, Progress, Receive, Send, Ticket};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use narrows_units::{Bytes, Duration, Instant, SeqNum};
use std::collections::{BTreeMap, VecDeque};
use waiting::Waiting;

/// What a host is at the beginning.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The time.
    pub start: Instant,
    /// The IPv4 address, if it has one.
    pub v4: Option<Ipv4Addr>,
    /// The IPv6 address, if it has one.
    pub v6: Option<Ipv6Addr>,
    /// MTU of its device in bytes.
    pub mtu: u32,
    /// The sysctls.
    pub sysctls: Sysctls,
}

/// A route's metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// `mtu`, bytes.
    pub mtu: Option<u32>,
    /// `advmss`, bytes.
    pub advmss: Option<u32>,
    /// `initcwnd`, segments.
    pub initial_window: Option<u32>,
    /// `initrwnd`, segments.
    pub initial_receive_window: Option<u32>,
    /// `rto_min`.
    pub rto_min: Option<Duration>,
}

/// What a descriptor stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum File {
    Socket(usize),
    Epoll(usize),
}

/// A host with TCP sockets.
#[derive(Debug)]
pub struct Host {
    now: Instant,
    setup: Setup,
    routes: BTreeMap<IpAddr, Route>,
    files: BTreeMap<i32, File>,
    /// By number; a number is never used twice, and what has ended takes no room.
    sockets: BTreeMap<usize, Socket>,
    epolls: BTreeMap<usize, Epoll>,
    /// Number of the next socket or epoll instance.
    next_number: usize,
    events: VecDeque<Event>,
    waiting: Vec<Waiting>,
    next_ticket: u64,
    /// Connections so far, from which initial sequence numbers and ephemeral ports follow.
    opened: u32,
    /// Where initial sequence numbers begin.
    first_sequence: SeqNum,
    /// Counters by the names of `nstat`.
    counters: BTreeMap<&'static str, u64>,
    /// Whether the device paces each flow, as the queue discipline `fq` does.
    paced: bool,
    /// Whether packets leave in bursts (GSO).
    gso: bool,
    /// Fast Open: what is known of servers.
    cookies: BTreeMap<IpAddr, fast_open::Known>,
}

/// First ephemeral port (`ip_local_port_range`).
const FIRST_PORT: u16 = 32_768;
/// Initial sequence number of the first connection, unless it is set.
const FIRST_SEQUENCE: SeqNum = SeqNum::new(0x1100_0193);
/// First descriptor: 0 to 2 are a program's standard streams.
const FIRST_FD: i32 = 3;

impl Host {
    /// A host without sockets.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        Self {
            now: setup.start,
            setup,
            routes: BTreeMap::new(),
            files: BTreeMap::new(),
            sockets: BTreeMap::new(),
            epolls: BTreeMap::new(),
            next_number: 0,
            events: VecDeque::new(),
            waiting: Vec::new(),
            next_ticket: 1,
            opened: 0,
            first_sequence: FIRST_SEQUENCE,
            counters: BTreeMap::new(),
            paced: false,
            gso: true,
            cookies: BTreeMap::new(),
        }
    }

    /// The time.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// The sysctls.
    #[must_use]
    pub const fn sysctls(&self) -> &Sysctls {
        &self.setup.sysctls
    }

    /// The sysctls, to be changed. Connections that exist keep what they began with, as most of Linux's do.
    pub const fn sysctls_mut(&mut self) -> &mut Sysctls {
        &mut self.setup.sysctls
    }

    /// Sets the metrics of the route to an address.
    pub fn set_route(&mut self, to: IpAddr, route: Route) {
        self.routes.insert(to, route);
    }

    /// Sets the MTU of the device.
    pub const fn set_mtu(&mut self, mtu: u32) {
        self.setup.mtu = mtu;
    }

    /// Sets whether the device paces the flows of later connections, as the queue discipline `fq` does.
    pub const fn set_paced(&mut self, on: bool) {
        self.paced = on;
    }

    /// Sets whether the device refuses packets and says so, as a queue without room does.
    pub fn set_device_full(&mut self, full: bool) {
        for connection in self.sockets.values_mut().filter_map(Socket::connection_mut) {
            connection.set_device_full(full);
        }
    }

    /// Sets the initial sequence number of the next connection; those of later ones follow from it.
    pub const fn set_first_sequence(&mut self, first: SeqNum) {
        (self.first_sequence, self.opened) = (first, 0);
    }

    /// Sockets that exist: those of descriptors, and connections that go on without one, TIME-WAIT included.
    #[must_use]
    pub fn sockets(&self) -> usize {
        self.sockets.len()
    }

    /// Sets whether the device takes bursts as one packet (GSO).
    pub const fn set_gso(&mut self, on: bool) {
        self.gso = on;
    }

    /// Lets time pass until `until`, or until something happens, whichever is first. Something that has happened
    /// already is returned at once. Returns `None` once it is `until`, or if nothing will happen ([`Instant::NEVER`]).
    pub fn advance(&mut self, until: Instant) -> Option<Event> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            let next = self.next_timer();
            if next > until || next == Instant::NEVER {
                if until != Instant::NEVER {
                    self.now = self.now.max(until);
                }
                return None;
            }
            self.now = self.now.max(next);
            self.on_timers();
        }
    }

    /// The next time at which something happens by itself; [`Instant::NEVER`] if nothing will.
    #[must_use]
    pub fn next_timer(&self) -> Instant {
        let timer = |socket: &Socket| socket.connection().map_or(Instant::NEVER, narrows_tcp::Connection::poll_timeout);
        let sockets = self.sockets.values().map(timer).min().unwrap_or(Instant::NEVER);
        self.waiting.iter().map(|waiting| waiting.deadline).min().unwrap_or(Instant::NEVER).min(sockets)
    }

    fn on_timers(&mut self) {
        for id in self.ids() {
            let now = self.now;
            let Some(socket) = self.socket_mut(id) else { continue };
            if let Some(connection) = socket.connection_mut().filter(|connection| connection.poll_timeout() <= now) {
                connection.handle_timeout(now);
                self.pump(id);
            }
        }
        self.wake_waiting();
    }

    /// The numbers of all sockets.
    fn ids(&self) -> Vec<usize> {
        self.sockets.keys().copied().collect()
    }

    /// A number that no socket or epoll instance has had.
    fn number_of_next(&mut self) -> usize {
        let number = self.next_number;
        self.next_number += 1;
        number
    }

    /// A socket by number.
    fn socket(&self, id: usize) -> Option<&Socket> {
        self.sockets.get(&id)
    }

    /// A socket by number, for changes.
    fn socket_mut(&mut self, id: usize) -> Option<&mut Socket> {
        self.sockets.get_mut(&id)
    }

    /// The number of the socket behind a descriptor.
    fn number(&self, fd: i32) -> Result<usize, Errno> {
        match self.files.get(&fd) {
            Some(File::Socket(id)) => Ok(*id),
            Some(File::Epoll(_)) => Err(Errno::ENOTSOCK),
            None => Err(Errno::EBADF),
        }
    }

    /// The socket behind a descriptor.
    fn at(&mut self, fd: i32) -> Result<(usize, &mut Socket), Errno> {
        let id = self.number(fd)?;
        self.socket_mut(id).map(|socket| (id, socket)).ok_or(Errno::EBADF)
    }

    /// Puts a file behind the lowest free descriptor.
    fn install(&mut self, file: File) -> i32 {
        let fd = (FIRST_FD..).find(|fd| !self.files.contains_key(fd)).unwrap_or(FIRST_FD);
        self.files.insert(fd, file);
        fd
    }

    /// Adds a socket; returns its number.
    fn add(&mut self, socket: Socket) -> usize {
        let id = self.number_of_next();
        self.sockets.insert(id, socket);
        id
    }

    /// Drops a socket with its connection.
    fn forget(&mut self, id: usize) {
        self.sockets.remove(&id);
    }

    /// The metrics of the route to an address.
    fn route(&self, to: IpAddr) -> Route {
        self.routes.get(&to).copied().unwrap_or_default()
    }

    /// MTU of the path to an address.
    fn path_mtu(&self, to: IpAddr) -> u32 {
        self.route(to).mtu.map_or(self.setup.mtu, |mtu| mtu.min(self.setup.mtu))
    }

    /// The MSS to announce to an address (`dst_metric_advmss`).
    fn advertised_mss(&self, to: IpAddr) -> u16 {
        let headers = if to.is_ipv4() { 40 } else { 60 };
        let by_mtu = self.path_mtu(to).saturating_sub(headers);
        let mss = self.route(to).advmss.map_or(by_mtu, |advmss| advmss);
        u16::try_from(mss.clamp(88, 65_495)).unwrap_or(u16::MAX)
    }

    /// An initial sequence number; each connection has another.
    fn next_iss(&mut self) -> SeqNum {
        let opened = u64::from(self.opened);
        self.opened = self.opened.wrapping_add(1);
        self.first_sequence + Bytes::new(opened * 0x0100_0193)
    }

    /// A descriptor's socket as `getsockopt(TCP_INFO)` shows it.
    ///
    /// # Errors
    /// `EBADF` or `ENOTSOCK` if the descriptor is no socket.
    pub fn tcp_info(&mut self, fd: i32) -> Result<TcpInfo, Errno> {
        let remote = self.at(fd)?.1.remote;
        let advertised = remote.map_or(0, |remote| self.advertised_mss(remote.ip()));
        let now = self.now;
        let (_, socket) = self.at(fd)?;
        let own = socket.options.max_segment;
        let advertised = if own > 0 { advertised.min(own) } else { advertised };
        Ok(crate::info::of(socket, advertised.into(), now))
    }

    /// The listeners as `/proc/net/tcp` shows them: local address and port in hexadecimal, state `0A`.
    #[must_use]
    pub fn listeners(&self) -> String {
        let mut text = String::new();
        for socket in self.sockets.values().filter(|s| matches!(s.stage, Stage::Listening(_))) {
            if let Some(local) = socket.local {
                text.push_str(&format!("   0: 00000000:{:04X} 00000000:0000 0A 00000000:00000000\n", local.port()));
            }
        }
        text
    }

    /// Counts an event by the name that `nstat` shows.
    fn count(&mut self, name: &'static str) {
        *self.counters.entry(name).or_default() += 1;
    }

    /// Counters by the names that `nstat` shows, over all connections so far.
    #[must_use]
    pub fn counters(&self) -> BTreeMap<&'static str, u64> {
        self.counters.clone()
    }
}
