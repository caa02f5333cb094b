//! `setsockopt`, `getsockopt`, `ioctl` and `fcntl`.

use super::Host;
use crate::errno::Errno;
use crate::number::{file, ip, level, report, so, tcp};
use crate::socket::{Linger, Options, Socket, Stage};
use core::net::IpAddr;
use narrows_tcp::{EcnOptions, KeepAlive, SocketOptions, State};
use narrows_units::{Bytes, Duration};

/// Smallest `sk_rcvbuf` (`SOCK_MIN_RCVBUF`), bytes.
const LEAST_RECEIVE: u64 = 2_304;
/// `net.core.rmem_max` and `wmem_max`: what `SO_RCVBUF` and `SO_SNDBUF` are bounded by, bytes.
const CORE_MOST: u64 = 4_194_304;
/// Largest `TCP_SYNCNT`, `TCP_KEEPIDLE` and `TCP_KEEPINTVL`, and `TCP_KEEPCNT`.
const MOST_SYNS: i64 = 127;
const MOST_KEEP: i64 = 32_767;
/// Largest `TCP_MAXSEG` (`MAX_TCP_WINDOW`) and smallest (`TCP_MIN_MSS`).
const SEGMENT: core::ops::RangeInclusive<i64> = 88..=32_767;

/// A value as an `int`.
fn int(value: &[u8]) -> Result<i64, Errno> {
    let bytes = value.get(..4).and_then(|bytes| bytes.try_into().ok()).ok_or(Errno::EINVAL)?;
    Ok(i64::from(i32::from_le_bytes(bytes)))
}

/// The size that `SO_SNDBUF` and `SO_RCVBUF` set, before it is doubled: an unsigned number up to the bound, or, by
/// `force`, a positive one.
fn buffer(number: i64, force: bool) -> u64 {
    if force {
        number.max(0).unsigned_abs().min(u64::from(i32::MAX as u32) / 2)
    } else {
        u64::from(number as u32).min(CORE_MOST)
    }
}

/// An `int` that must lie in a range.
fn within(value: i64, range: core::ops::RangeInclusive<i64>) -> Result<u32, Errno> {
    if range.contains(&value) { u32::try_from(value).map_err(|_| Errno::EINVAL) } else { Err(Errno::EINVAL) }
}

impl Host {
    /// `setsockopt(fd, level, name, value)`, with the value as Linux lays it out, little-endian.
    ///
    /// # Errors
    /// `ENOPROTOOPT` for an option that this host does not know, `EINVAL` for a value that the option does not take.
    pub fn set_option(&mut self, fd: i32, level: i32, name: i32, value: &[u8]) -> Result<i64, Errno> {
        let (id, _) = self.at(fd)?;
        match level {
            level::SOCKET => self.set_socket_option(id, name, value)?,
            level::TCP => self.set_tcp_option(id, name, value)?,
            level::IP | level::IPV6 => self.set_ip_option(id, level, name, value)?,
            _ => return Err(Errno::ENOPROTOOPT),
        }
        self.apply(id);
        self.pump(id);
        self.wake_waiting();
        Ok(0)
    }

    fn set_socket_option(&mut self, id: usize, name: i32, value: &[u8]) -> Result<(), Errno> {
        let number = int(value)?;
        let largest = self.setup.sysctls.triple("tcp_rmem")[2];
        let Some(socket) = self.socket_mut(id) else { return Err(Errno::EBADF) };
        let on = number != 0;
        let options = &mut socket.options;
        match name {
            so::REUSEADDR => options.reuse_address = on,
            so::REUSEPORT => options.reuse_port = on,
            so::KEEPALIVE => options.keep_alive = on,
            so::BROADCAST => options.broadcast = on,
            so::PRIORITY => options.priority = number as u32,
            so::MARK => options.mark = number as u32,
            so::RCVLOWAT => {
                let most = options.receive_buffer.unwrap_or(largest) / 2;
                let wanted = u64::try_from(number).unwrap_or(u64::MAX).clamp(1, most.max(1));
                options.receive_lowat = u32::try_from(wanted).unwrap_or(u32::MAX);
            }
            so::LINGER => {
                let seconds = int(value.get(4..).ok_or(Errno::EINVAL)?)?;
                options.linger = Linger { on, seconds: u32::try_from(seconds).unwrap_or(u32::MAX) };
            }
            so::SNDBUF | so::SNDBUFFORCE => {
                socket.memory.fix(buffer(number, name == so::SNDBUFFORCE));
            }
            so::RCVBUF | so::RCVBUFFORCE => {
                let size = buffer(number, name == so::RCVBUFFORCE);
                options.receive_buffer = Some((2 * size).max(LEAST_RECEIVE));
            }
            so::ZEROCOPY => {
                if !(0..=1).contains(&number) {
                    return Err(Errno::EINVAL);
                }
                options.zero_copy = on;
            }
            so::TIMESTAMPING => {
                let flags = number as u32;
                if flags & report::OPT_ID != 0 && options.timestamping & report::OPT_ID == 0 {
                    if matches!(socket.state(), State::Closed | State::Listen) {
                        return Err(Errno::EINVAL);
                    }
                    socket.key_base = socket.memory.progress().1;
                }
                socket.options.timestamping = flags;
            }
            so::MAX_PACING_RATE => options.max_pacing_rate = number.unsigned_abs(),
            so::INCOMING_CPU => {}
            _ => return Err(Errno::ENOPROTOOPT),
        }
        Ok(())
    }

    fn set_tcp_option(&mut self, id: usize, name: i32, value: &[u8]) -> Result<(), Errno> {
        let offers = self.offers_fast_open();
        let Some(socket) = self.socket_mut(id) else { return Err(Errno::EBADF) };
        if name == tcp::CONGESTION {
            let text = String::from_utf8_lossy(value);
            let text = text.trim_end_matches('\0').to_owned();
            narrows_cc::find(&text).ok_or(Errno::ENOENT)?;
            socket.options.congestion = Some(text);
            return Ok(());
        }
        if name == tcp::FASTOPEN_KEY {
            if !matches!(value.len(), 16 | 32) {
                return Err(Errno::EINVAL);
            }
            socket.options.fast_open_keys = value.to_vec();
            return Ok(());
        }
        let number = int(value)?;
        let on = number != 0;
        let (state, is_idle) = (socket.state(), matches!(socket.stage, Stage::Idle));
        let options = &mut socket.options;
        match name {
            tcp::NODELAY => {
                options.nodelay = on;
                if let (true, Some(connection)) = (on, socket.connection_mut()) {
                    connection.urge();
                }
            }
            tcp::CORK => options.cork = on,
            tcp::MAXSEG => options.max_segment = if on { within(number, SEGMENT)? as u16 } else { 0 },
            tcp::KEEPIDLE => options.keep_idle = within(number, 1..=MOST_KEEP)?,
            tcp::KEEPINTVL => options.keep_interval = within(number, 1..=MOST_KEEP)?,
            tcp::KEEPCNT => options.keep_count = within(number, 1..=MOST_SYNS)?,
            tcp::SYNCNT => options.syn_count = Some(within(number, 1..=MOST_SYNS)?),
            tcp::LINGER2 => options.linger2 = i32::try_from(number).ok(),
            tcp::DEFER_ACCEPT => options.defer_accept = number as u32,
            tcp::WINDOW_CLAMP if number == 0 => {
                if state != State::Closed {
                    return Err(Errno::EINVAL);
                }
                options.window_clamp = 0;
            }
            tcp::WINDOW_CLAMP => options.window_clamp = (number as i32).max(LEAST_RECEIVE as i32 / 2) as u32,
            tcp::QUICKACK => options.quick_ack = on,
            tcp::USER_TIMEOUT => options.user_timeout = within(number, 0..=i64::from(i32::MAX))?,
            tcp::NOTSENT_LOWAT => options.not_sent_lowat = number as u32,
            tcp::INQ => {
                if !(0..=1).contains(&number) {
                    return Err(Errno::EINVAL);
                }
                options.inq = on;
            }
            tcp::FASTOPEN => {
                if number < 0 || !(is_idle || state == State::Listen) {
                    return Err(Errno::EINVAL);
                }
                options.fast_open = number as u32;
            }
            tcp::FASTOPEN_CONNECT => {
                if !(0..=1).contains(&number) {
                    return Err(Errno::EINVAL);
                }
                if !offers {
                    return Err(Errno::EOPNOTSUPP);
                }
                if !is_idle {
                    return Err(Errno::EINVAL);
                }
                options.fast_open_connect = on;
            }
            tcp::FASTOPEN_NO_COOKIE => {
                if !(0..=1).contains(&number) || !(is_idle || state == State::Listen) {
                    return Err(Errno::EINVAL);
                }
                options.fast_open_no_cookie = on;
            }
            tcp::TIMESTAMP | tcp::TX_DELAY => {}
            _ => return Err(Errno::ENOPROTOOPT),
        }
        Ok(())
    }

    fn set_ip_option(&mut self, id: usize, level: i32, name: i32, value: &[u8]) -> Result<(), Errno> {
        // A single byte will do at this level.
        let number = match value {
            [byte, ..] if value.len() < 4 => i64::from(*byte),
            _ => int(value)?,
        };
        let Some(socket) = self.socket_mut(id) else { return Err(Errno::EBADF) };
        let options = &mut socket.options;
        match (level, name) {
            (level::IP, ip::TOS) | (level::IPV6, ip::V6_TCLASS) => {
                // The ECN bits are TCP's own.
                options.tos = number as u8 & !0b11;
                let dscp = options.tos >> 2;
                if let Some(connection) = socket.connection_mut() {
                    connection.set_dscp(dscp);
                }
            }
            (level::IP, ip::TTL) => options.ttl = number as u8,
            (level::IP, ip::MTU_DISCOVER) | (level::IPV6, ip::V6_MTU_DISCOVER) => options.mtu_discover = number as i32,
            (level::IP, ip::RECVERR) | (level::IPV6, ip::V6_RECVERR) => options.receive_errors = number != 0,
            (level::IP, ip::FREEBIND) => options.free_bind = number != 0,
            (level::IPV6, ip::V6_ONLY) => options.v6_only = number != 0,
            _ => return Err(Errno::ENOPROTOOPT),
        }
        Ok(())
    }

    /// Hands changed sysctls to the connections, as far as Linux looks at them while a connection lasts.
    pub fn obey_sysctls(&mut self) {
        for id in self.ids() {
            self.apply(id);
        }
    }

    /// Hands a socket's options to its connection.
    fn apply(&mut self, id: usize) {
        let now = self.now;
        let Some(socket) = self.socket(id) else { return };
        let (Some(remote), Some(_)) = (socket.remote, socket.connection()) else { return };
        let mut options = self.socket_options(&socket.options, remote.ip());
        if let Some(connection) = self.socket_mut(id).and_then(Socket::connection_mut) {
            if let Some(before) = connection.socket_options() {
                // What the connection learned itself stays.
                options.path_mtu = before.path_mtu;
            }
            connection.change_socket(options, now);
        }
    }

    /// The options of a connection to an address: a socket's, and the sysctls where it sets none.
    pub(super) fn socket_options(&self, options: &Options, to: IpAddr) -> SocketOptions {
        let sysctls = &self.setup.sysctls;
        let number = |name: &str| u32::try_from(sysctls.number(name)).unwrap_or(u32::MAX);
        let small = |name: &str| u8::try_from(sysctls.number(name)).unwrap_or(u8::MAX);
        let or = |own: u32, name: &str| if own > 0 { own } else { number(name) };
        let seconds = |n: u32| Duration::from_secs(u64::from(n));
        let fin_wait = match options.linger2 {
            Some(0) | None => Some(seconds(number("tcp_fin_timeout"))),
            Some(own) => u32::try_from(own).ok().map(seconds),
        };
        let name = options.congestion.as_deref().unwrap_or_else(|| sysctls.word("tcp_congestion_control"));
        SocketOptions {
            nodelay: options.nodelay,
            cork: options.cork,
            user_timeout: (options.user_timeout > 0).then(|| Duration::from_millis(options.user_timeout.into())),
            keep_alive: options.keep_alive.then(|| KeepAlive {
                idle: seconds(or(options.keep_idle, "tcp_keepalive_time")),
                interval: seconds(or(options.keep_interval, "tcp_keepalive_intvl")),
                probes: or(options.keep_count, "tcp_keepalive_probes"),
            }),
            fin_wait,
            receive_memory: Some(Bytes::new(options.receive_buffer.unwrap_or_else(|| sysctls.triple("tcp_rmem")[1]))),
            fixed_memory: options.receive_buffer.is_some(),
            window_clamp: (options.window_clamp > 0).then(|| Bytes::new(options.window_clamp.into())),
            syn_retries: options.syn_count.unwrap_or_else(|| number("tcp_syn_retries")),
            syn_linear_timeouts: number("tcp_syn_linear_timeouts"),
            synack_retries: options.syn_count.unwrap_or_else(|| number("tcp_synack_retries")),
            retries2: number("tcp_retries2"),
            invalid_ratelimit: Duration::from_millis(sysctls.number("tcp_invalid_ratelimit").unsigned_abs()),
            path_mtu: self.path_mtu(to),
            path_mtu_discovery: i64::from(options.mtu_discover) != ip::PMTUDISC_DONT,
            receive_errors: options.receive_errors,
            ecn: EcnOptions {
                mode: small("tcp_ecn"),
                option: small("tcp_ecn_option"),
                beacon: small("tcp_ecn_option_beacon"),
                fallback: sysctls.is_on("tcp_ecn_fallback"),
                needed: name == "dctcp",
                ect1: name == "prague",
            },
            dsack: sysctls.is_on("tcp_dsack"),
            ..SocketOptions::default()
        }
    }

    /// `getsockopt(fd, level, name)`: the value as Linux lays it out, little-endian.
    ///
    /// # Errors
    /// `ENOPROTOOPT` for an option that this host does not know.
    pub fn option(&mut self, fd: i32, level: i32, name: i32) -> Result<Vec<u8>, Errno> {
        let sysctls = self.setup.sysctls.clone();
        let remote = self.at(fd)?.1.remote;
        let advertised = remote.map_or(536, |remote| self.advertised_mss(remote.ip()));
        let (_, socket) = self.at(fd)?;
        let options = &socket.options;
        let or = |own: u32, name: &str| if own > 0 { i64::from(own) } else { sysctls.number(name) };
        let number = match (level, name) {
            (level::SOCKET, so::ERROR) => i64::from(socket.take_any_error().map_or(0, Errno::number)),
            (level::SOCKET, so::REUSEADDR) => options.reuse_address.into(),
            (level::SOCKET, so::REUSEPORT) => options.reuse_port.into(),
            (level::SOCKET, so::KEEPALIVE) => options.keep_alive.into(),
            (level::SOCKET, so::BROADCAST) => options.broadcast.into(),
            (level::SOCKET, so::PRIORITY) => options.priority.into(),
            (level::SOCKET, so::MARK) => options.mark.into(),
            (level::SOCKET, so::RCVLOWAT) => options.receive_lowat.into(),
            (level::SOCKET, so::SNDBUF) => socket.memory.limit() as i64,
            (level::SOCKET, so::RCVBUF) => {
                options.receive_buffer.unwrap_or_else(|| sysctls.triple("tcp_rmem")[1]) as i64
            }
            (level::SOCKET, so::ZEROCOPY) => options.zero_copy.into(),
            (level::SOCKET, so::TIMESTAMPING) => options.timestamping.into(),
            (level::SOCKET, so::MAX_PACING_RATE) => options.max_pacing_rate as i64,
            (level::SOCKET, so::LINGER) => {
                let mut out = i32::from(options.linger.on).to_le_bytes().to_vec();
                out.extend_from_slice(&options.linger.seconds.to_le_bytes());
                return Ok(out);
            }
            (level::TCP, tcp::CONGESTION) => {
                let name = options.congestion.as_deref().unwrap_or_else(|| sysctls.word("tcp_congestion_control"));
                let mut out = name.as_bytes().to_vec();
                out.resize(16, 0);
                return Ok(out);
            }
            (level::TCP, tcp::FASTOPEN_KEY) => return Ok(options.fast_open_keys.clone()),
            (level::TCP, tcp::NODELAY) => options.nodelay.into(),
            (level::TCP, tcp::CORK) => options.cork.into(),
            (level::TCP, tcp::MAXSEG) => maximum_segment(socket, advertised),
            (level::TCP, tcp::KEEPIDLE) => or(options.keep_idle, "tcp_keepalive_time"),
            (level::TCP, tcp::KEEPINTVL) => or(options.keep_interval, "tcp_keepalive_intvl"),
            (level::TCP, tcp::KEEPCNT) => or(options.keep_count, "tcp_keepalive_probes"),
            (level::TCP, tcp::SYNCNT) => or(options.syn_count.unwrap_or(0), "tcp_syn_retries"),
            (level::TCP, tcp::LINGER2) => options.linger2.map_or_else(|| sysctls.number("tcp_fin_timeout"), i64::from),
            (level::TCP, tcp::DEFER_ACCEPT) => options.defer_accept.into(),
            (level::TCP, tcp::WINDOW_CLAMP) => options.window_clamp.into(),
            (level::TCP, tcp::QUICKACK) => options.quick_ack.into(),
            (level::TCP, tcp::USER_TIMEOUT) => options.user_timeout.into(),
            (level::TCP, tcp::NOTSENT_LOWAT) => options.not_sent_lowat.into(),
            (level::TCP, tcp::INQ) => options.inq.into(),
            (level::TCP, tcp::FASTOPEN) => options.fast_open.into(),
            (level::TCP, tcp::FASTOPEN_CONNECT) => options.fast_open_connect.into(),
            (level::TCP, tcp::FASTOPEN_NO_COOKIE) => options.fast_open_no_cookie.into(),
            (level::IP, ip::TOS) | (level::IPV6, ip::V6_TCLASS) => options.tos.into(),
            (level::IP, ip::TTL) => options.ttl.into(),
            (level::IP, ip::MTU_DISCOVER) | (level::IPV6, ip::V6_MTU_DISCOVER) => options.mtu_discover.into(),
            (level::IP, ip::RECVERR) | (level::IPV6, ip::V6_RECVERR) => options.receive_errors.into(),
            (level::IP, ip::FREEBIND) => options.free_bind.into(),
            (level::IPV6, ip::V6_ONLY) => options.v6_only.into(),
            _ => return Err(Errno::ENOPROTOOPT),
        };
        // An `int` of Linux: large unsigned values are their lower 32 bits.
        Ok((number as u32).to_le_bytes().to_vec())
    }

    /// `ioctl(fd, request)`: the integer that it writes.
    ///
    /// # Errors
    /// `EINVAL` for a listener, `ENOTTY` for a request that this host does not know.
    pub fn ioctl(&mut self, fd: i32, request: u64) -> Result<i64, Errno> {
        let (_, socket) = self.at(fd)?;
        if matches!(socket.stage, Stage::Listening(_)) {
            return Err(Errno::EINVAL);
        }
        let opening = socket.is_opening();
        match request {
            file::SIOCINQ => Ok(if opening { 0 } else { socket.readable() as i64 }),
            file::SIOCOUTQ => Ok(if opening { 0 } else { socket.memory.unacked() as i64 }),
            file::SIOCOUTQNSD => Ok(if opening { 0 } else { socket.memory.not_sent() as i64 }),
            _ => Err(Errno::ENOTTY),
        }
    }

    /// `fcntl(fd, command, argument)` for `F_GETFL` and `F_SETFL`.
    ///
    /// # Errors
    /// `EINVAL` for another command.
    pub fn fcntl(&mut self, fd: i32, command: i32, argument: i64) -> Result<i64, Errno> {
        let (_, socket) = self.at(fd)?;
        match command {
            file::GETFL => Ok(i64::from(file::RDWR | if socket.nonblocking { file::NONBLOCK } else { 0 })),
            file::SETFL => {
                socket.nonblocking = argument & i64::from(file::NONBLOCK) != 0;
                Ok(0)
            }
            _ => Err(Errno::EINVAL),
        }
    }
}

/// `TCP_MAXSEG`: what was set before there is a connection, then the size of a full segment.
fn maximum_segment(socket: &Socket, advertised: u16) -> i64 {
    match (socket.connection(), socket.options.max_segment) {
        (Some(connection), _) if connection.state() != State::Closed => connection.info().smss.as_u64() as i64,
        (_, 0) => i64::from(advertised),
        (_, own) => i64::from(own),
    }
}
