//! A host whose peer is made by hand.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]
#![allow(dead_code, reason = "each test uses a part")]

use core::net::{Ipv4Addr, SocketAddr};
use narrows_socket::number::{family, file, level, so};
use narrows_socket::{Answer, Errno, Event, Host, Payload, Progress, Receive, Send, Setup, Sysctls, Ticket};
use narrows_units::{Duration, Instant, SeqNum};
use narrows_wire::{Ip, Packet, TcpFlags, TcpOptions, TcpRepr, Transport};

pub const HERE: Ipv4Addr = Ipv4Addr::new(192, 168, 0, 1);
pub const PEER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub const SYN: TcpFlags = TcpFlags::SYN;
pub const ACK: TcpFlags = TcpFlags::ACK;

/// A host, its peer's view of one connection, and what the host sent.
pub struct Bench {
    pub host: Host,
    /// Port of the host, and the sequence number of its first octet.
    pub port: u16,
    pub first: SeqNum,
    pub sent: Vec<Packet>,
    pub returned: Vec<(Ticket, Answer)>,
}

impl Bench {
    pub fn new() -> Self {
        let start = Instant::ZERO + Duration::from_secs(1);
        let mut sysctls = Sysctls::default();
        sysctls.set("tcp_timestamps", "0").unwrap();
        let setup = Setup { start, v4: Some(HERE), v6: None, mtu: 1500, sysctls };
        let (sent, returned) = (Vec::new(), Vec::new());
        Self { host: Host::new(setup), port: 8080, first: SeqNum::new(0), sent, returned }
    }

    pub fn pass(&mut self, millis: u64) {
        let until = self.host.now() + Duration::from_millis(millis);
        while let Some(event) = self.host.advance(until) {
            match event {
                Event::Sent { packet, .. } => self.sent.push(packet),
                Event::Returned { ticket, answer, .. } => self.returned.push((ticket, answer)),
            }
        }
    }

    /// A segment of the peer, whose stream begins at 1 after its SYN; `ack` is an offset in the host's stream.
    pub fn peer_sends(&mut self, flags: TcpFlags, seq: u32, ack: Option<u32>, payload: u32) {
        let mut tcp = TcpRepr { src_port: 9000, dst_port: self.port, seq: SeqNum::new(seq), ..TcpRepr::default() };
        tcp.flags = if ack.is_some() { flags.with(ACK) } else { flags };
        tcp.window = 32_792;
        if let Some(ack) = ack {
            tcp.ack = SeqNum::new(self.first.as_u32().wrapping_add(ack));
        }
        if flags.has(SYN) {
            tcp.options = TcpOptions { mss: Some(1000), sack_permitted: true, ..TcpOptions::default() };
        }
        let ip = Ip::between(PEER.into(), HERE.into());
        self.host.receive(&Packet { ip, transport: Transport::Tcp(tcp), payload_len: payload });
        self.pass(0);
    }

    /// What the host sent since the last look: flags, offset in its stream, offset acknowledged, payload.
    pub fn taken(&mut self) -> Vec<(TcpFlags, u32, u32, u32)> {
        let first = self.first;
        self.sent
            .drain(..)
            .map(|packet| {
                let tcp = packet.tcp().unwrap();
                let seq = tcp.seq.as_u32().wrapping_sub(first.as_u32());
                (tcp.flags, seq, tcp.ack.as_u32(), packet.payload_len)
            })
            .collect()
    }

    pub fn socket(&mut self) -> i32 {
        self.host.open_socket(family::INET, family::STREAM, 0).unwrap()
    }

    pub fn listener(&mut self) -> i32 {
        let fd = self.socket();
        self.host.bind(fd, SocketAddr::new(HERE.into(), 8080)).unwrap();
        self.host.listen(fd, 1).unwrap();
        fd
    }

    /// The peer's handshake with a listener.
    pub fn handshake(&mut self) {
        self.peer_sends(SYN, 0, None, 0);
        let answer = self.sent.pop().expect("a SYN-ACK");
        let tcp = answer.tcp().unwrap();
        assert_eq!(tcp.flags, SYN.with(ACK));
        self.first = tcp.seq;
        self.peer_sends(ACK, 1, Some(1), 0);
    }

    /// A connection that the host accepted.
    pub fn accepted(&mut self) -> i32 {
        let listener = self.listener();
        self.handshake();
        let Progress::Done(answer) = self.host.accept(listener, 0) else { panic!("nobody came") };
        i32::try_from(answer.value.unwrap()).unwrap()
    }

    pub fn connecting(&mut self, nonblocking: bool) -> (i32, Progress) {
        let fd = self.socket();
        if nonblocking {
            self.host.fcntl(fd, file::SETFL, i64::from(file::NONBLOCK)).unwrap();
        }
        let progress = self.host.connect(fd, SocketAddr::new(PEER.into(), 9000));
        self.pass(0);
        let syn = self.sent.pop().expect("a SYN");
        let tcp = syn.tcp().unwrap();
        (self.first, self.port) = (tcp.seq, tcp.src_port);
        (fd, progress)
    }

    pub fn write(&mut self, fd: i32, bytes: u64) -> Progress {
        let progress = self.host.send(&Send { fd, parts: vec![Payload::Bytes(bytes)], flags: 0, to: None });
        self.pass(0);
        progress
    }

    pub fn read(&mut self, fd: i32, bytes: u64, flags: i32) -> Progress {
        let receive = Receive { fd, parts: vec![Payload::Bytes(bytes)], flags, control: true };
        let progress = self.host.receive_call(&receive);
        self.pass(0);
        progress
    }

    pub fn error(&mut self, fd: i32) -> i32 {
        let value = self.host.option(fd, level::SOCKET, so::ERROR).unwrap();
        i32::from_le_bytes(value[..4].try_into().unwrap())
    }
}

pub fn done(progress: Progress) -> Result<i64, Errno> {
    match progress {
        Progress::Done(answer) => answer.value,
        Progress::Blocked(_) => panic!("it sleeps"),
    }
}
