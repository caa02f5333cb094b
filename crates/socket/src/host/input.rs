//! Packets that arrive: which socket takes them, and the answer if none does.

use super::{Event, Host};
use crate::icmp;
use crate::linux::Side;
use crate::socket::{Socket, Stage};
use core::net::{IpAddr, SocketAddr};
use narrows_tcp::{Connection, Icmp, State};
use narrows_units::SeqNum;
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
            Some(id) => match self.reopens(id, packet) {
                Some(iss) => {
                    self.end_time_wait(id);
                    self.give_listener((local, remote), packet, tcp, Some(iss));
                }
                None => self.give_connection(id, packet, tcp),
            },
            None => self.give_listener((local, remote), packet, tcp, None),
        }
        self.wake_waiting();
    }

    /// The socket of a connection between these addresses.
    pub(super) fn connected(&self, local: SocketAddr, remote: SocketAddr) -> Option<usize> {
        let found = self.sockets.iter().find(|(_, socket)| {
            socket.local == Some(local)
                && socket.remote == Some(remote)
                && matches!(&socket.stage, Stage::Connected(connection) if connection.state() != State::Closed)
        });
        found.map(|(id, _)| *id)
    }

    /// The listener for connections to this address.
    fn listener(&self, local: SocketAddr) -> Option<usize> {
        let found = self.sockets.iter().find(|(_, socket)| {
            let family = local.is_ipv6() == socket.is_v6 || (socket.is_v6 && !socket.options.v6_only);
            matches!(socket.stage, Stage::Listening(_))
                && family
                && socket.local.is_some_and(|bound| {
                    bound.port() == local.port() && (bound.ip().is_unspecified() || bound.ip() == local.ip())
                })
        });
        found.map(|(id, _)| *id)
    }

    /// The initial sequence number with which a SYN replaces a connection in TIME-WAIT, if it may.
    fn reopens(&self, id: usize, packet: &Packet) -> Option<SeqNum> {
        let socket = self.socket(id)?;
        self.listener(socket.local?)?;
        socket.connection()?.yields_to(packet, self.now)
    }

    /// Ends TIME-WAIT; the socket stays where a descriptor or a listener's queue refers to it.
    fn end_time_wait(&mut self, id: usize) {
        match self.socket_mut(id) {
            Some(socket) if socket.held || socket.parent.is_some() => {
                if let Some(connection) = socket.connection_mut() {
                    connection.abort();
                }
                self.pump(id);
            }
            _ => self.forget(id),
        }
    }

    fn give_connection(&mut self, id: usize, packet: &Packet, tcp: &TcpRepr) {
        let now = self.now;
        let full = self.socket(id).is_some_and(|socket| {
            socket.state() == State::SynReceived
                && !socket.queued
                && tcp.flags.has(TcpFlags::ACK)
                && socket.parent.is_some_and(|parent| self.is_full(parent))
        });
        if full && !tcp.flags.has(TcpFlags::RST) {
            // The queue of the listener is full: the handshake's last ACK is dropped.
            return;
        }
        let Some(socket) = self.socket_mut(id) else { return };
        let Some(connection) = socket.connection_mut() else { return };
        connection.handle_segment(packet, now);
        socket.chrono.ack_received = now;
        if packet.payload_len > 0 {
            socket.chrono.data_received = now;
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

    /// Handshakes under way at a listener.
    fn handshakes(&self, listener: usize) -> u64 {
        let opens = |socket: &&Socket| socket.parent == Some(listener) && !socket.queued;
        self.sockets.values().filter(opens).count() as u64
    }

    /// Gives a segment to the listener at its address; without one it is answered with a RST.
    fn give_listener(
        &mut self,
        (local, remote): (SocketAddr, SocketAddr),
        packet: &Packet,
        tcp: &TcpRepr,
        iss: Option<SeqNum>,
    ) {
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
        let most = self.setup.sysctls.number("tcp_max_syn_backlog").unsigned_abs();
        if self.handshakes(listener) >= most {
            return;
        }
        let iss = iss.unwrap_or_else(|| self.next_iss());
        let server = self.judge_fast_open(listener, packet, tcp);
        let Some(child) = self.child(listener, local, remote, iss) else { return };
        let now = self.now;
        let Some(socket) = self.socket_mut(child) else { return };
        if let Some(connection) = socket.connection_mut() {
            connection.decide_fast_open(server);
            connection.handle_segment(packet, now);
        }
        socket.seen.state = State::SynReceived;
        socket.syn_data_acked = server.accept && packet.payload_len > 0;
        self.pump(child);
    }

    /// A socket for a connection from `remote` to a listener, with the listener's options.
    fn child(&mut self, listener: usize, local: SocketAddr, remote: SocketAddr, iss: SeqNum) -> Option<usize> {
        let parent = self.socket(listener)?;
        let mut socket = Socket::new(parent.is_v6, self.setup.sysctls.triple("tcp_wmem"), self.now);
        socket.options = parent.options.clone();
        socket.memory.inherit(&parent.memory);
        (socket.parent, socket.listener) = (Some(listener), Some(listener));
        socket.held = false;
        (socket.local, socket.remote) = (Some(local), Some(remote));
        let (config, cc) = self.terms(&socket, remote.ip(), Side::Passive)?;
        let mut connection = Connection::listen(config, cc, None, local, remote, iss);
        self.prepare(&mut connection, &socket.options, remote.ip());
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
        let meaning = if message.is_v6 {
            Icmp::from_v6(message.kind, message.code, message.value)
        } else {
            Icmp::from_v4(message.kind, message.code, message.value as u16)
        };
        let (Some(meaning), Some(socket)) = (meaning, self.socket_mut(id)) else { return };
        if let Some(connection) = socket.connection_mut() {
            let current = connection.on_icmp(meaning, message.seq, now);
            if !current {
                self.count("TcpExtOutOfWindowIcmps");
            }
        }
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
