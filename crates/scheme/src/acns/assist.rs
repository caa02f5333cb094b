//! The end-point part: negotiation, marking, echoing, and reading echoes.

use super::ask::Asker;
use super::codec::{self, IpMessage};
use super::receiver::Receiver;
use super::{AcnsConfig, CommandScope, Ipv6Encoding};
use narrows_cc::Advice;
use narrows_tcp::{Agreement, Assist, Outgoing, SegmentKind};
use narrows_units::{Bytes, Instant, SeqNum};
use narrows_wire::{Packet, TcpFlags};

/// ACNS at one end of one connection, as sender and as receiver (thesis, section 4; DCNET 2013, section 3.2).
///
/// # What is written
/// New data carries I2 or I3, and I4 or I5 on the segment that asks; everything else carries I1: SYN, SYN-ACK, pure
/// ACKs, FIN, RST, probes and retransmissions. Every segment with ACK carries T1 to T6. Which segment asks, and what
/// counts as its answer, is said in the module `ask`; how commands are echoed, in `receiver`.
///
/// # Choices
/// - The nonce of a segment is a bit of a hash of its sequence number: it needs no random stream and looks random.
/// - T3 and T4 (congestion window reduced) go on the first new data after the window was seen smaller than at the
///   segment before, whatever made it smaller (as CWR in RFC 3168, section 6.1.2). They inform; receivers do not act on
///   them, because an echo is not repeated until then as in classic ECN.
/// - From the first FIN on, in either direction, ACNS is off. If the peer's FIN turns it off while the sender here is
///   told to freeze, a last "normal" lifts the freeze; otherwise a half-closed connection would stay frozen.
/// - Advice is given per ask ([`CommandScope::Window`]) or per ACK ([`CommandScope::Ack`]); in both scopes one segment per
///   window asks. ACKs that arrive while no data is outstanding bring none.
#[derive(Debug)]
pub struct AcnsAssist {
    scope: CommandScope,
    ipv6: Ipv6Encoding,
    /// Whether ACNS was agreed on and no FIN has been seen.
    on: bool,
    asker: Asker,
    receiver: Receiver,
    /// Congestion window at the last segment, to see it fall.
    cwnd: Bytes,
    /// Whether T3 or T4 is still to be sent.
    reduced: bool,
    /// The last advice given.
    advised: Advice,
    received: [u64; 3],
}

impl AcnsAssist {
    /// The agent of one end. `config` has been [checked](AcnsConfig::check).
    #[must_use]
    pub fn new(config: &AcnsConfig) -> Self {
        Self {
            scope: config.command_scope,
            ipv6: config.ipv6,
            on: false,
            asker: Asker::default(),
            receiver: Receiver::new(),
            cwnd: Bytes::ZERO,
            reduced: false,
            advised: Advice::Normal,
            received: [0; 3],
        }
    }

    /// Whether ACNS is in use: agreed on, and no FIN or RST seen.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.on
    }

    fn turn(&mut self, agreement: Agreement) -> Agreement {
        self.on = agreement == Agreement::Assisted;
        agreement
    }

    fn ip_message(&mut self, seq: SeqNum, len: Bytes, out: &Outgoing) -> IpMessage {
        let fresh = match out.kind {
            SegmentKind::Data => self.asker.on_data(seq, len, out),
            SegmentKind::Retransmission => {
                self.asker.on_retransmission(seq, len);
                None
            }
            SegmentKind::PureAck | SegmentKind::Control | SegmentKind::Probe => None,
        };
        self.reduced |= out.cwnd < self.cwnd;
        self.cwnd = out.cwnd;
        match fresh {
            None => IpMessage::NotSupported,
            Some(true) => IpMessage::Ask { ns: nonce(seq) },
            Some(false) => IpMessage::EcnMode { ns: nonce(seq) },
        }
    }
}

/// The nonce of the segment with this sequence number.
const fn nonce(seq: SeqNum) -> bool {
    // The top bit of a product with an odd constant depends on all bits of the factor.
    seq.as_u32().wrapping_mul(0x9e37_79b1) >> 31 == 1
}

impl Assist for AcnsAssist {
    fn offer(&self) -> TcpFlags {
        codec::SETUP_SYN
    }

    fn accept(&mut self, syn: TcpFlags, ecn: bool) -> (Agreement, TcpFlags) {
        let (agreement, answer) = codec::answer_syn(syn, ecn);
        (self.turn(agreement), answer)
    }

    fn agreed(&mut self, syn_ack: TcpFlags, ecn: bool) -> Agreement {
        self.turn(codec::read_syn_ack(syn_ack, ecn))
    }

    fn on_transmit(&mut self, packet: &mut Packet, out: &Outgoing) {
        let len = Bytes::new(u64::from(packet.payload_len));
        let Some(&tcp) = packet.tcp() else { return };
        if tcp.flags.has(TcpFlags::FIN) || tcp.flags.has(TcpFlags::RST) {
            self.on = false;
        }
        // A SYN or SYN-ACK carries the handshake's flags, not a message.
        if !self.on || tcp.flags.has(TcpFlags::SYN) {
            IpMessage::NotSupported.encode(&mut packet.ip, self.ipv6);
            return;
        }
        let message = self.ip_message(tcp.seq, len, out);
        message.encode(&mut packet.ip, self.ipv6);
        if tcp.flags.has(TcpFlags::ACK) {
            let new_data = message != IpMessage::NotSupported;
            let (echo, told) = self.receiver.on_transmit(self.reduced && new_data);
            self.reduced &= !told;
            if let Some(header) = packet.tcp_mut() {
                header.flags = echo.encode(header.flags);
            }
        }
    }

    fn on_receive(&mut self, packet: &Packet, _now: Instant) -> Option<Advice> {
        let tcp = packet.tcp()?;
        if !self.on || tcp.flags.has(TcpFlags::SYN) {
            return None;
        }
        if tcp.flags.has(TcpFlags::FIN) || tcp.flags.has(TcpFlags::RST) {
            self.on = false;
            return (self.advised != Advice::Normal).then_some(Advice::Normal);
        }
        if packet.payload_len > 0 {
            self.receiver.on_data(IpMessage::decode(&packet.ip, self.ipv6));
        }
        if !tcp.flags.has(TcpFlags::ACK) {
            return None;
        }
        let heard = self.asker.on_ack(tcp.ack, codec::TcpMessage::decode(tcp.flags).command())?;
        let advice = match self.scope {
            CommandScope::Window => heard.answer?,
            CommandScope::Ack => heard.on_ack,
        };
        self.advised = advice;
        self.received[advice as usize - 1] += 1;
        Some(advice)
    }

    fn received(&self) -> [u64; 3] {
        self.received
    }

    fn header_overhead(&self, ipv6: bool) -> u16 {
        if ipv6 && self.ipv6 == Ipv6Encoding::Extension { 8 } else { 0 }
    }
}
