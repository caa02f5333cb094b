//! Calls that open: `socket`, `bind`, `listen`, `accept`, `connect`.

use super::waiting::Call;
use super::{Answer, Detail, FIRST_PORT, File, Host, Progress};
use crate::errno::Errno;
use crate::linux::{Side, configure, linux};
use crate::number::{family, file};
use crate::socket::{Listener, Options, Socket, Stage};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use narrows_cc::{CongestionControl, ParamValue, Params};
use narrows_settings::{Config, InitialWindow, Pacing};
use narrows_tcp::{Connection, State};
use narrows_units::{Bytes, Instant};
use std::sync::Arc;

/// An IPv4 address in place of one mapped into IPv6.
fn unmapped(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => SocketAddr::new(v4.into(), address.port()),
            None => address,
        },
        IpAddr::V4(_) => address,
    }
}

impl Host {
    /// `socket(domain, kind, protocol)`; returns the descriptor. `kind` may include `SOCK_NONBLOCK` and `SOCK_CLOEXEC`.
    ///
    /// # Errors
    /// `EAFNOSUPPORT` and `EPROTONOSUPPORT` for anything but TCP.
    pub fn open_socket(&mut self, domain: i32, kind: i32, protocol: i32) -> Result<i32, Errno> {
        let is_v6 = match domain {
            family::INET => false,
            family::INET6 => true,
            _ => return Err(Errno::EAFNOSUPPORT),
        };
        if kind & 0xf != family::STREAM || !matches!(protocol, 0 | family::TCP) {
            return Err(Errno::EPROTONOSUPPORT);
        }
        let mut socket = Socket::new(is_v6, self.setup.sysctls.triple("tcp_wmem"), self.now);
        socket.nonblocking = kind & file::NONBLOCK != 0;
        let id = self.add(socket);
        Ok(self.install(File::Socket(id)))
    }

    /// `bind(fd, address)`.
    ///
    /// # Errors
    /// `EINVAL` if the socket is bound, `EADDRNOTAVAIL` if the address is not the host's, `EADDRINUSE` if the port is
    /// taken.
    pub fn bind(&mut self, fd: i32, address: SocketAddr) -> Result<i64, Errno> {
        let (id, socket) = self.at(fd)?;
        if socket.local.is_some() || !matches!(socket.stage, Stage::Idle) {
            return Err(Errno::EINVAL);
        }
        if address.is_ipv6() != socket.is_v6 {
            return Err(if socket.is_v6 { Errno::EINVAL } else { Errno::EAFNOSUPPORT });
        }
        let free = socket.options.free_bind;
        let address = unmapped(address);
        if !address.ip().is_unspecified() && !self.owns(address.ip()) && !free {
            return Err(Errno::EADDRNOTAVAIL);
        }
        let port = if address.port() == 0 { self.free_port() } else { address.port() };
        let address = SocketAddr::new(address.ip(), port);
        if self.clashes(id, address) {
            return Err(Errno::EADDRINUSE);
        }
        if let Some(socket) = self.socket_mut(id) {
            (socket.local, socket.bound) = (Some(address), Some(address));
        }
        Ok(0)
    }

    /// Whether another socket has an address that a socket may not share with it (`inet_csk_bind_conflict`).
    fn clashes(&self, id: usize, address: SocketAddr) -> bool {
        let Some(own) = self.socket(id) else { return false };
        let clash = |other: &Socket| {
            let Some(local) = other.local.filter(|local| local.port() == address.port()) else { return false };
            // A socket for IPv6 alone leaves the port to IPv4.
            let apart = |six: &Socket, four: &Socket| six.is_v6 && six.options.v6_only && !four.is_v6;
            let same = local.ip() == address.ip() || local.ip().is_unspecified() || address.ip().is_unspecified();
            let (mine, theirs) = (&own.options, &other.options);
            let listens = matches!(other.stage, Stage::Listening(_));
            let shares =
                (mine.reuse_address && theirs.reuse_address && !listens) || (mine.reuse_port && theirs.reuse_port);
            same && !shares && !apart(own, other) && !apart(other, own)
        };
        self.sockets.iter().any(|(n, other)| *n != id && clash(other))
    }

    /// A port that no socket has.
    fn free_port(&self) -> u16 {
        let taken = |port: u16| self.sockets.values().any(|s| s.local.is_some_and(|l| l.port() == port));
        let first = FIRST_PORT + (self.opened % 16_384) as u16;
        (first..=u16::MAX).find(|port| !taken(*port)).unwrap_or(first)
    }

    /// `listen(fd, backlog)`.
    ///
    /// # Errors
    /// `EINVAL` if the socket is connected, `EADDRINUSE` if another socket listens at its address.
    pub fn listen(&mut self, fd: i32, backlog: i32) -> Result<i64, Errno> {
        let port = self.free_port();
        let id = self.number(fd)?;
        let idle = self.socket(id).filter(|socket| matches!(socket.stage, Stage::Idle));
        if let Some(local) = idle.and_then(|socket| socket.local)
            && self.clashes(id, local)
        {
            return Err(Errno::EADDRINUSE);
        }
        let (id, socket) = self.at(fd)?;
        let backlog = usize::try_from(backlog).unwrap_or(4_096).min(4_096);
        match &mut socket.stage {
            Stage::Idle => {
                let any = if socket.is_v6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
                socket.local.get_or_insert(SocketAddr::new(any, port));
                socket.stage = Stage::Listening(Listener { backlog, ..Listener::default() });
            }
            Stage::Listening(listener) => listener.backlog = backlog,
            Stage::Connected(_) => return Err(Errno::EINVAL),
        }
        self.listen_with_fast_open(id, backlog);
        Ok(0)
    }

    /// `accept4(fd, flags)`; `accept` is that without flags.
    pub fn accept(&mut self, fd: i32, flags: i32) -> Progress {
        let nonblocking = match self.at(fd) {
            Err(errno) => return Progress::Done(Answer::error(errno)),
            Ok((_, socket)) if !matches!(socket.stage, Stage::Listening(_)) => {
                return Progress::Done(Answer::error(Errno::EINVAL));
            }
            Ok((_, socket)) => socket.nonblocking,
        };
        if nonblocking {
            return Progress::Done(self.try_accept(fd, flags).unwrap_or(Answer::error(Errno::EAGAIN)));
        }
        self.enter(Call::Accept { fd, flags }, Instant::NEVER)
    }

    pub(super) fn try_accept(&mut self, fd: i32, flags: i32) -> Option<Answer> {
        let (_, socket) = match self.at(fd) {
            Ok(found) => found,
            Err(errno) => return Some(Answer::error(errno)),
        };
        let Stage::Listening(listener) = &mut socket.stage else { return Some(Answer::error(Errno::EINVAL)) };
        let id = listener.ready.pop_front()?;
        let fd = self.install(File::Socket(id));
        let socket = self.socket_mut(id)?;
        (socket.parent, socket.held) = (None, true);
        socket.nonblocking = flags & file::NONBLOCK != 0;
        let detail = socket.remote.map_or(Detail::Nothing, Detail::Peer);
        Some(Answer { value: Ok(i64::from(fd)), detail })
    }

    /// `connect(fd, address)`.
    pub fn connect(&mut self, fd: i32, address: SocketAddr) -> Progress {
        match self.start_connect(fd, address) {
            Err(errno) => Progress::Done(Answer::error(errno)),
            Ok(true) => Progress::Done(Answer::value(0)),
            Ok(false) => self.enter(Call::Connect { fd }, Instant::NEVER),
        }
    }

    /// Begins to connect; returns whether the call has returned already.
    fn start_connect(&mut self, fd: i32, address: SocketAddr) -> Result<bool, Errno> {
        let (id, socket) = self.at(fd)?;
        if socket.deferred {
            return Err(Errno::EISCONN);
        }
        match &socket.stage {
            Stage::Idle => {}
            Stage::Connected(_) if socket.connecting && socket.is_opening() && socket.nonblocking => {
                return Err(Errno::EALREADY);
            }
            // The call waits for the end of what an earlier one began, or learns it.
            Stage::Connected(_) if socket.connecting => return Ok(false),
            Stage::Connected(_) | Stage::Listening(_) => return Err(Errno::EISCONN),
        }
        let (nonblocking, asks) = (socket.nonblocking, socket.options.fast_open_connect);
        let remote = unmapped(address);
        if self.socket(id).is_some_and(|socket| self.defers(socket, remote.ip())) {
            if let Some(socket) = self.socket_mut(id) {
                (socket.deferred, socket.remote) = (true, Some(remote));
            }
            return Ok(true);
        }
        self.open(id, address)?;
        if asks {
            self.prepare_fast_open(id, remote.ip());
        }
        self.pump(id);
        if nonblocking { Err(Errno::EINPROGRESS) } else { Ok(false) }
    }

    /// Gives a socket a connection to an address; its SYN waits to be sent.
    pub(super) fn open(&mut self, id: usize, address: SocketAddr) -> Result<(), Errno> {
        let remote = unmapped(address);
        let own: Option<IpAddr> = match remote.ip() {
            IpAddr::V4(_) => self.setup.v4.map(IpAddr::V4),
            IpAddr::V6(_) => self.setup.v6.map(IpAddr::V6),
        };
        let port = self.free_port();
        let socket = self.socket(id).ok_or(Errno::EBADF)?;
        if remote.is_ipv6() && !socket.is_v6 {
            return Err(Errno::EAFNOSUPPORT);
        }
        let own = own.ok_or(Errno::ENETUNREACH)?;
        let local = match socket.local {
            Some(bound) if bound.ip().is_unspecified() => SocketAddr::new(own, bound.port()),
            Some(bound) => bound,
            None => SocketAddr::new(own, port),
        };
        if self.connected(local, remote).is_some() {
            return Err(Errno::EADDRNOTAVAIL);
        }
        let iss = self.next_iss();
        let socket = self.socket_mut(id).ok_or(Errno::EBADF)?;
        (socket.local, socket.remote) = (Some(local), Some(remote));
        (socket.connecting, socket.error) = (true, None);
        let socket = self.socket(id).ok_or(Errno::EBADF)?;
        let (config, cc) = self.terms(socket, remote.ip(), Side::Active).ok_or(Errno::ENOENT)?;
        let mut connection = Connection::connect(config, cc, None, local, remote, iss);
        self.prepare(&mut connection, &socket.options, remote.ip());
        let socket = self.socket_mut(id).ok_or(Errno::EBADF)?;
        socket.seen.state = State::SynSent;
        socket.stage = Stage::Connected(Box::new(connection));
        Ok(())
    }

    pub(super) fn try_connected(&mut self, fd: i32) -> Option<Answer> {
        let (id, socket) = match self.at(fd) {
            Ok(found) => found,
            Err(errno) => return Some(Answer::error(errno)),
        };
        if socket.is_opening() {
            return None;
        }
        if socket.state() != State::Closed {
            socket.connecting = false;
            return Some(Answer::value(0));
        }
        // The socket may connect again.
        let errno = socket.take_error().unwrap_or(Errno::ECONNABORTED);
        self.dissolve(id);
        Some(Answer::error(errno))
    }

    /// The settings and the congestion control of a socket's connection to an address.
    pub(super) fn terms(
        &self,
        socket: &Socket,
        to: IpAddr,
        side: Side,
    ) -> Option<(Arc<Config>, Box<dyn CongestionControl>)> {
        let mut config = linux();
        configure(&mut config, &self.setup.sysctls, side);
        let route = self.route(to);
        config.mss = self.advertised_mss(to);
        if socket.options.max_segment > 0 {
            config.mss = config.mss.min(socket.options.max_segment);
        }
        if let Some(segments) = route.initial_window {
            config.initial_window = InitialWindow::Segments(segments);
        }
        if let Some(least) = route.rto_min {
            config.rto.min = least;
        }
        if let Some(memory) = socket.options.receive_buffer {
            config.recv_buffer = Bytes::new(memory / 2);
        }
        config.nagle = false;
        if self.paced {
            let percent = |name: &str| u32::try_from(self.setup.sysctls.number(name)).unwrap_or(u32::MAX);
            config.pacing =
                Pacing::Ratio { slow_start: percent("tcp_pacing_ss_ratio"), avoidance: percent("tcp_pacing_ca_ratio") };
        }
        let name = socket.options.congestion.as_deref();
        let name = name.unwrap_or_else(|| self.setup.sysctls.word("tcp_congestion_control"));
        let row = narrows_cc::find(name)?;
        let profile = row.profile("linux").map(|word| ("profile".to_owned(), ParamValue::Choice(word.to_owned())));
        Some((Arc::new(config), (row.build)(&Params::new(profile.into_iter().collect()))))
    }

    /// Gives a new connection to an address its socket's options.
    pub(super) fn prepare(&self, connection: &mut Connection, options: &Options, to: IpAddr) {
        connection.set_socket(self.socket_options(options, to));
        connection.set_auto_read(false);
        connection.set_timestamp_offset(0x0100_0000);
        connection.set_dscp(options.tos >> 2);
    }
}
