//! Packets that arrive: which socket takes them, and the answer if none does.

use super::output::opens;
use super::{Event, Host};
use crate::icmp;
use crate::linux::Side;
use crate::socket::{Socket, Stage};
use core::net::{IpAddr, SocketAddr};
use narrows_tcp::{Connection, State};
use narrows_units::{Bytes, SeqNum};
use narrows_wire::{Ip, Packet, ParseError, TcpFlags, TcpRepr, Transport};

impl Host {
    /// Takes a packet as bytes, from the IP header on.
    ///
    /// # Errors
    /// [`ParseError`] if it is neither a TCP segment nor an ICMP message, or malformed.
    pub fn receive_bytes(&mut self, bytes: &[u8]) -> Result<(), ParseError> {
        if let Some(message) = icmp::parse(bytes) {
            self.on_icmp(&message);
            return Ok(());
        }
        let packet = Packet::parse(bytes)?;
        self.receive(&packet);
        Ok(())
    }

    /// Takes a packet that arrives now.
    pub fn receive(&mut self, packet: &Packet) {
        let Some(tcp) = packet.tcp() else { return };
        let local = SocketAddr::new(packet.ip.dst(), tcp.dst_port);
        let remote = SocketAddr::new(packet.ip.src(), tcp.src_port);
        match self.connected(local, remote) {
            Some(id) if self.reopens(id, tcp) => {
                self.forget(id);
                self.give_listener(local, remote, packet, tcp);
            }
            Some(id) => self.give_connection(id, packet, tcp),
            None => self.give_listener(local, remote, packet, tcp),
        }
        self.wake_waiting();
    }

    /// The socket of a connection between these addresses.
    fn connected(&self, local: SocketAddr, remote: SocketAddr) -> Option<usize> {
        self.sockets.iter().position(|socket| {
            socket.as_ref().is_some_and(|socket| {
                socket.local == Some(local)
                    && socket.remote == Some(remote)
                    && matches!(&socket.stage, Stage::Connected(connection) if connection.state() != State::Closed)
            })
        })
    }

    /// The listener for connections to this address.
    fn listener(&self, local: SocketAddr) -> Option<usize> {
        self.sockets.iter().position(|socket| {
            let Some(socket) = socket.as_ref().filter(|socket| matches!(socket.stage, Stage::Listening(_))) else {
                return false;
            };
            let family = local.is_ipv6() == socket.is_v6 || (socket.is_v6 && !socket.options.v6_only);
            family
                && socket.local.is_some_and(|bound| {
                    bound.port() == local.port() && (bound.ip().is_unspecified() || bound.ip() == local.ip())
                })
        })
    }

    /// Whether a SYN replaces a connection in TIME-WAIT (RFC 9293, section 3.10.7.4; `tcp_timewait_state_process`).
    fn reopens(&self, id: usize, tcp: &TcpRepr) -> bool {
        let Some(socket) = self.socket(id) else { return false };
        let fresh = tcp.flags.has(TcpFlags::SYN) && !tcp.flags.any(TcpFlags::ACK.with(TcpFlags::RST));
        let Some(local) = socket.local else { return false };
        fresh && socket.state() == State::TimeWait && self.listener(local).is_some()
    }

    fn give_connection(&mut self, id: usize, packet: &Packet, tcp: &TcpRepr) {
        let now = self.now;
        let full = self.socket(id).is_some_and(|socket| {
            socket.state() == State::SynReceived
                && tcp.flags.has(TcpFlags::ACK)
                && socket.parent.is_some_and(|parent| self.is_full(parent))
        });
        if full && !tcp.flags.has(TcpFlags::RST) {
            // The queue of the listener is full: the handshake's last ACK is dropped.
            return;
        }
        let Some(socket) = self.socket_mut(id) else { return };
        let orphan = !socket.held && matches!(socket.state(), State::FinWait1 | State::FinWait2);
        let Some(connection) = socket.connection_mut() else { return };
        let before = connection.delivered_to_app();
        connection.handle_segment(packet, now);
        socket.chrono.ack_received = now;
        if packet.payload_len > 0 {
            socket.chrono.data_received = now;
        }
        let Some(connection) = socket.connection() else { return };
        let news = connection.delivered_to_app() > before;
        if orphan && news {
            // Nobody will read this (RFC 1122, section 4.2.2.13): the peer gets a reset.
            self.forget(id);
            self.refuse(packet, tcp);
            return;
        }
        self.pump(id);
    }

    /// Whether a listener's queue takes no further connection (`sk_acceptq_is_full`).
    fn is_full(&self, listener: usize) -> bool {
        match self.socket(listener).map(|socket| &socket.stage) {
            Some(Stage::Listening(listener)) => listener.ready.len() > listener.backlog,
            _ => true,
        }
    }

    /// Gives a segment to the listener at its address; without one it is answered with a RST.
    fn give_listener(&mut self, local: SocketAddr, remote: SocketAddr, packet: &Packet, tcp: &TcpRepr) {
        let Some(listener) = self.listener(local) else {
            self.refuse(packet, tcp);
            return;
        };
        if tcp.flags.has(TcpFlags::RST) {
            return;
        }
        if tcp.flags.has(TcpFlags::ACK) {
            self.refuse(packet, tcp);
            return;
        }
        if !tcp.flags.has(TcpFlags::SYN) || tcp.flags.has(TcpFlags::FIN) || self.is_full(listener) {
            return;
        }
        let Some(child) = self.child(listener, local, remote) else { return };
        let now = self.now;
        if let Some(connection) = self.socket_mut(child).and_then(Socket::connection_mut) {
            connection.handle_segment(packet, now);
        }
        if let Some(socket) = self.socket_mut(child) {
            socket.seen.state = State::SynReceived;
        }
        self.pump(child);
    }

    /// A socket for a connection from `remote` to a listener, with the listener's options.
    fn child(&mut self, listener: usize, local: SocketAddr, remote: SocketAddr) -> Option<usize> {
        let iss = self.next_iss();
        let parent = self.socket(listener)?;
        let mut socket = Socket::new(parent.is_v6, self.setup.sysctls.triple("tcp_wmem"), self.now);
        socket.options = parent.options.clone();
        socket.memory.inherit(&parent.memory);
        socket.parent = Some(listener);
        socket.held = false;
        (socket.local, socket.remote) = (Some(local), Some(remote));
        let (config, cc) = self.terms(&socket, remote.ip(), Side::Passive)?;
        let mut connection = Connection::listen(config, cc, None, local, remote, iss);
        Self::prepare(&mut connection, &socket.options, &self.setup);
        socket.stage = Stage::Connected(Box::new(connection));
        Some(self.add(socket))
    }

    /// Answers a segment that belongs to no connection with a RST (RFC 9293, section 3.10.7.1).
    pub(super) fn refuse(&mut self, packet: &Packet, tcp: &TcpRepr) {
        if tcp.flags.has(TcpFlags::RST) {
            return;
        }
        let mut answer = TcpRepr { src_port: tcp.dst_port, dst_port: tcp.src_port, ..TcpRepr::default() };
        if tcp.flags.has(TcpFlags::ACK) {
            (answer.seq, answer.flags) = (tcp.ack, TcpFlags::RST);
        } else {
            answer.seq = SeqNum::new(0);
            answer.ack = tcp.seq + packet.seq_len();
            answer.flags = TcpFlags::RST.with(TcpFlags::ACK);
        }
        let ip = Ip::between(packet.ip.dst(), packet.ip.src());
        let packet = Packet { ip, transport: Transport::Tcp(answer), payload_len: 0 };
        self.events.push_back(Event::Sent { at: self.now, packet });
    }

    /// Takes an ICMP error about one of this host's packets.
    fn on_icmp(&mut self, message: &icmp::Message) {
        let Some(id) = self.connected(message.local, message.remote) else { return };
        let now = self.now;
        let Some(socket) = self.socket_mut(id) else { return };
        let opening = opens(socket.state());
        let _ = (opening, message.seq, now, Bytes::ZERO);
        self.pump(id);
        self.wake_waiting();
    }

    /// Whether an address is this host's.
    pub(super) fn owns(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(v4) => self.setup.v4 == Some(v4),
            IpAddr::V6(v6) => self.setup.v6 == Some(v6),
        }
    }
}
