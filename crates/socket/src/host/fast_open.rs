//! TCP Fast Open (RFC 7413) beyond a connection: the cache of cookies, and what a listener decides about a SYN.
//!
//! Sources: `tcp_fastopen_cookie_check`, `tcp_sendmsg_fastopen`, `tcp_try_fastopen` and `tcp_fastopen_cache_set` of
//! Linux 7.2.

use super::Host;
use crate::errno::Errno;
use crate::socket::{Socket, Stage};
use core::net::{IpAddr, SocketAddr};
use narrows_tcp::fastopen::{FastOpenClient, FastOpenServer, cookie};
use narrows_wire::{FastOpenCookie, Packet, TcpRepr};

/// Bits of `tcp_fastopen`.
mod bit {
    pub(super) const CLIENT: i64 = 1;
    pub(super) const SERVER: i64 = 2;
    pub(super) const CLIENT_NO_COOKIE: i64 = 4;
    pub(super) const COOKIE_NOT_REQUIRED: i64 = 0x200;
    pub(super) const WITHOUT_OPTION: i64 = 0x400;
}

/// What is known of a server.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    cookie: Option<FastOpenCookie>,
    mss: Option<u16>,
    /// Requests in vain, with kind 34 and then with the option of experiments (`try_exp`).
    refusals: u8,
}

/// Whether a client may send data with its SYN, and with which option.
enum Check {
    /// With this option, or without one where the server needs no cookie.
    Ready(Option<FastOpenCookie>),
    /// Not yet: a cookie has to be requested.
    Request(FastOpenCookie),
}

impl Host {
    /// Forgets all cookies (`ip tcp_metrics flush`).
    pub fn forget_cookies(&mut self) {
        self.cookies.clear();
    }

    /// Whether clients may use Fast Open.
    pub(super) fn offers_fast_open(&self) -> bool {
        self.setup.sysctls.number("tcp_fastopen") & bit::CLIENT != 0
    }

    fn check(&self, no_cookie: bool, to: IpAddr) -> Check {
        if no_cookie || self.setup.sysctls.number("tcp_fastopen") & bit::CLIENT_NO_COOKIE != 0 {
            return Check::Ready(None);
        }
        let known = self.cookies.get(&to).copied().unwrap_or_default();
        match known.cookie {
            Some(cookie) => Check::Ready(Some(cookie)),
            None => Check::Request(FastOpenCookie::new(&[], known.refusals == 1).unwrap_or(FastOpenCookie::REQUEST)),
        }
    }

    /// Whether `connect` to an address waits for the first write (`tcp_fastopen_defer_connect`).
    pub(super) fn defers(&self, socket: &Socket, to: IpAddr) -> bool {
        socket.options.fast_open_connect
            && matches!(self.check(socket.options.fast_open_no_cookie, to), Check::Ready(_))
    }

    /// Lets a new connection's SYN carry data or ask for a cookie.
    pub(super) fn prepare_fast_open(&mut self, id: usize, to: IpAddr) {
        let Some(socket) = self.socket(id) else { return };
        let (option, data) = match self.check(socket.options.fast_open_no_cookie, to) {
            Check::Ready(option) => (option, true),
            Check::Request(option) => (Some(option), false),
        };
        let mss = self.cookies.get(&to).and_then(|known| known.mss);
        let mss = mss.or_else(|| Some(self.advertised_mss(to)));
        if let Some(connection) = self.socket_mut(id).and_then(Socket::connection_mut) {
            connection.fast_open(FastOpenClient { option, data, mss });
        }
    }

    /// Begins to connect with the first `wanted` bytes of a send in the SYN, as far as they fit and the cookie is
    /// known;
    /// returns how many do.
    pub(super) fn open_with_data(&mut self, id: usize, to: SocketAddr, wanted: u64) -> Result<u64, Errno> {
        self.open(id, to)?;
        let remote = self.socket(id).and_then(|socket| socket.remote).ok_or(Errno::EBADF)?;
        self.prepare_fast_open(id, remote.ip());
        if let Some(connection) = self.socket_mut(id).and_then(Socket::connection_mut) {
            connection.write(narrows_units::Bytes::new(wanted));
        }
        let now = self.now;
        let mut taken = 0;
        if let Some(socket) = self.socket_mut(id)
            && let Some(connection) = socket.connection_mut()
        {
            let packet = connection.poll_transmit(now);
            connection.withdraw();
            taken = connection.syn_data().as_u64();
            if taken > 0 {
                socket.memory.append(taken, taken, u64::MAX, false);
            }
            self.events.extend(packet.map(|packet| super::Event::Sent { at: now, packet }));
        }
        self.pump(id);
        Ok(taken)
    }

    /// Learns what a SYN-ACK showed.
    pub(super) fn learn_cookie(&mut self, id: usize) {
        let Some(socket) = self.socket_mut(id) else { return };
        let Some(remote) = socket.remote else { return };
        let Some(report) = socket.connection_mut().and_then(narrows_tcp::Connection::take_fast_open_report) else {
            return;
        };
        socket.syn_data_acked = report.data_acked;
        let known = self.cookies.entry(remote.ip()).or_default();
        known.mss = report.mss.or(known.mss);
        match report.cookie {
            Some(cookie) => known.cookie = Some(cookie),
            None if report.refused && known.cookie.is_none() => known.refusals = (known.refusals + 1).min(2),
            None => {}
        }
    }

    /// What a listener decides about a SYN's option and data (`tcp_try_fastopen`).
    pub(super) fn judge_fast_open(&self, listener: usize, packet: &Packet, tcp: &TcpRepr) -> FastOpenServer {
        let nothing = FastOpenServer::default();
        let Some(socket) = self.socket(listener) else { return nothing };
        let sysctl = self.setup.sysctls.number("tcp_fastopen");
        let option = tcp.options.fast_open();
        let data = packet.payload_len > 0;
        let length = u64::from(socket.options.fast_open);
        if sysctl & bit::SERVER == 0 || !(data || option.is_some()) || self.pending(listener) >= length {
            return nothing;
        }
        if sysctl & bit::COOKIE_NOT_REQUIRED != 0 || socket.options.fast_open_no_cookie {
            return FastOpenServer { accept: true, grant: None };
        }
        let Some(option) = option else { return nothing };
        let keys = self.keys(socket);
        let (client, server) = (packet.ip.src(), packet.ip.dst());
        let valid = keys.first().map(|key| cookie(key, client, server));
        let valid = valid.and_then(|valid| FastOpenCookie::new(valid.cookie(), option.is_experimental()));
        if option.is_request() {
            return FastOpenServer { accept: false, grant: valid };
        }
        let matching = keys.iter().position(|key| cookie(key, client, server).cookie() == option.cookie());
        match matching {
            Some(0) => FastOpenServer { accept: true, grant: None },
            Some(_) => FastOpenServer { accept: true, grant: valid },
            None => FastOpenServer { accept: false, grant: valid },
        }
    }

    /// Connections of a listener whose SYN's data was taken and whose handshake is not complete.
    fn pending(&self, listener: usize) -> u64 {
        let waits = |socket: &&Socket| {
            socket.listener == Some(listener)
                && socket.connection().is_some_and(narrows_tcp::Connection::is_fast_open_pending)
        };
        self.sockets.values().filter(waits).count() as u64
    }

    /// The keys of a listener: its own, or those of the sysctl; the first makes new cookies.
    fn keys(&self, socket: &Socket) -> Vec<[u8; 16]> {
        if !socket.options.fast_open_keys.is_empty() {
            let key = |bytes: &[u8]| bytes.try_into().unwrap_or([0; 16]);
            return socket.options.fast_open_keys.chunks_exact(16).map(key).collect();
        }
        self.setup.sysctls.word("tcp_fastopen_key").split(',').filter_map(key_of).collect()
    }

    /// Lets a new listener use Fast Open without the socket option, where the sysctl says so.
    pub(super) fn listen_with_fast_open(&mut self, id: usize, backlog: usize) {
        let sysctl = self.setup.sysctls.number("tcp_fastopen");
        let wanted = bit::SERVER | bit::WITHOUT_OPTION;
        if let Some(socket) = self.socket_mut(id)
            && sysctl & wanted == wanted
            && socket.options.fast_open == 0
            && matches!(socket.stage, Stage::Listening(_))
        {
            socket.options.fast_open = u32::try_from(backlog).unwrap_or(u32::MAX);
        }
    }
}

/// A key as the sysctl writes it: four words in hexadecimal (`00112233-44556677-8899aabb-ccddeeff`).
fn key_of(text: &str) -> Option<[u8; 16]> {
    let mut key = [0; 16];
    let mut words = text.trim().split('-');
    for slot in key.chunks_exact_mut(4) {
        let word = u32::from_str_radix(words.next()?, 16).ok()?;
        slot.copy_from_slice(&word.to_le_bytes());
    }
    words.next().is_none().then_some(key)
}

#[cfg(test)]
mod tests {
    use super::key_of;

    #[test]
    fn a_key_is_four_words() {
        let key = key_of("a1a1a1a1-b2b2b2b2-c3c3c3c3-00000001").unwrap();
        assert_eq!((key[0], key[4], key[12], key[15]), (0xa1, 0xb2, 1, 0));
        assert!(key_of("a1-b2-c3").is_none() && key_of("1-2-3-4-5").is_none() && key_of("x-2-3-4").is_none());
    }
}
