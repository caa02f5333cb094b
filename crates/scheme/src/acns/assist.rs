//! The end-point part: negotiation, marking, echoing, and reading echoes.

use super::ask::Asker;
use super::codec::{self, IpMessage};
use super::receiver::Receiver;
use super::{AcnsConfig, CommandScope, Ipv6Encoding};
use narrows_cc::Advice;
use narrows_tcp::{Agreement, Assist, COUNTERS, HeaderBits, Outgoing, SegmentKind};
use narrows_units::{Bytes, Instant, SeqNum};
use narrows_wire::{Packet, TcpFlags};

/// ACNS at one end of one connection, as sender and as receiver (thesis, section 4; DCNET 2013, section 3.2).
///
/// # What is written
/// New data carries I2 or I3, and I4 or I5 on the segment that asks. Everything else carries I1: SYN, SYN-ACK, pure
/// ACKs, FIN, RST, probes and retransmissions. Every segment with ACK carries T1 to T6. The module `ask` defines which
/// segment asks and what counts as its answer; `receiver` defines how commands are echoed.
///
/// # Choices
/// - The nonce of a segment is a bit of a hash of its sequence number: it needs no random stream and looks random.
/// - T3 and T4 (congestion window reduced) go on the first new data after the window became smaller than at the segment
///   before, for whatever reason (as CWR in RFC 3168, section 6.1.2). They only inform. Receivers do not act on them,
///   because an echo is not repeated until then as it is in classic ECN.
/// - From the first FIN or RST on, in either direction, ACNS is off. If the peer's FIN or RST turns it off while the
///   sender here is held (by freeze or fallback), a last "normal" lifts the hold. Otherwise a half-closed connection
///   would stay frozen.
/// - Advice is given per ask ([`CommandScope::Window`]) or per ACK ([`CommandScope::Ack`]). In both scopes one segment
///   per window asks. ACKs that arrive while no data is outstanding bring no advice.
#[derive(Debug)]
pub struct AcnsAssist {
    scope: CommandScope,
    ipv6: Ipv6Encoding,
    /// Whether ACNS was agreed on and no FIN or RST has been seen.
    on: bool,
    asker: Asker,
    receiver: Receiver,
    /// Congestion window at the last segment, to detect a reduction.
    cwnd: Bytes,
    /// Whether T3 or T4 is still to be sent.
    reduced: bool,
    /// The last advice given.
    advised: Advice,
    received: [u64; 3],
}

impl AcnsAssist {
    /// Creates the agent of one end. `config` has been [checked](AcnsConfig::check).
    #[must_use]
    pub fn new(config: &AcnsConfig) -> Self {
        Self {
            scope: config.command_scope,
            ipv6: config.ipv6,
            on: false,
            asker: Asker::new(),
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

/// Returns the nonce of the segment with this sequence number.
const fn nonce(seq: SeqNum) -> bool {
    // The top bit of a product with an odd constant depends on all bits of the factor.
    seq.as_u32().wrapping_mul(0x9e37_79b1) >> 31 == 1
}

impl Assist for AcnsAssist {
    fn bits(&self) -> HeaderBits {
        codec::BITS
    }

    fn offer(&self) -> TcpFlags {
        codec::SETUP_SYN
    }

    fn accept(&mut self, syn: TcpFlags, ecn: bool) -> (Agreement, TcpFlags) {
        let (agreement, answer) = codec::answer_syn(syn, ecn);
        (self.turn(agreement), answer)
    }

    fn agreed(&mut self, syn_ack: TcpFlags) -> Agreement {
        self.turn(codec::read_syn_ack(syn_ack))
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

    fn counters(&self) -> [u64; COUNTERS] {
        self.received
    }

    fn header_overhead(&self, ipv6: bool) -> u16 {
        if ipv6 && self.ipv6 == Ipv6Encoding::Extension { 8 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use core::net::IpAddr;
    use narrows_wire::{Ip, TcpRepr, Transport};

    const NOW: Instant = Instant::ZERO;
    const E: Ipv6Encoding = Ipv6Encoding::Extension;

    fn segment(seq: u32, ack: u32, flags: TcpFlags, payload_len: u32) -> Packet {
        let tcp = TcpRepr { seq: SeqNum::new(seq), ack: SeqNum::new(ack), flags, ..TcpRepr::default() };
        let ip = Ip::between(IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        Packet { ip, transport: Transport::Tcp(tcp), payload_len }
    }

    fn out(kind: SegmentKind, cwnd: u64, more: bool) -> Outgoing {
        Outgoing { now: NOW, kind, cwnd: Bytes::new(cwnd), flightsize: Bytes::ZERO, more }
    }

    fn agreed(config: &AcnsConfig) -> AcnsAssist {
        let mut a = AcnsAssist::new(config);
        assert_eq!(a.agreed(TcpFlags::SYN.with(TcpFlags::ACK).with(codec::SETUP_SYN_ACK)), Agreement::Assisted);
        a
    }

    fn on() -> AcnsAssist {
        agreed(&AcnsConfig::default())
    }

    /// Sends 100 bytes from `seq`; returns the message in the IP header and the flags.
    fn send(a: &mut AcnsAssist, seq: u32, kind: SegmentKind, cwnd: u64, more: bool) -> (IpMessage, TcpFlags) {
        let mut p = segment(seq, 1, TcpFlags::ACK, 100);
        a.on_transmit(&mut p, &out(kind, cwnd, more));
        (IpMessage::decode(&p.ip, E), p.tcp().unwrap().flags)
    }

    fn ack(a: &mut AcnsAssist, ack: u32, message: codec::TcpMessage) -> Option<Advice> {
        a.on_receive(&segment(1, ack, message.encode(TcpFlags::ACK), 0), NOW)
    }

    const NORMAL: codec::TcpMessage = codec::TcpMessage::Normal { ns: false };
    const FREEZE: codec::TcpMessage = codec::TcpMessage::Freeze;
    const FALLBACK: codec::TcpMessage = codec::TcpMessage::Fallback;

    #[test]
    fn new_data_is_in_ecn_mode_and_the_last_of_a_window_asks() {
        let mut a = on();
        for n in 0..4 {
            let (message, _) = send(&mut a, n * 100, SegmentKind::Data, 1000, n < 3);
            let ns = nonce(SeqNum::new(n * 100));
            let expected = if n < 3 { IpMessage::EcnMode { ns } } else { IpMessage::Ask { ns } };
            assert_eq!(message, expected);
        }
    }

    #[test]
    fn control_packets_and_retransmissions_carry_i1() {
        let mut a = on();
        send(&mut a, 0, SegmentKind::Data, 1000, false);
        for kind in [SegmentKind::Retransmission, SegmentKind::PureAck, SegmentKind::Probe, SegmentKind::Control] {
            assert_eq!(send(&mut a, 0, kind, 1000, false).0, IpMessage::NotSupported, "{kind:?}");
        }
        let mut syn_ack = segment(0, 1, TcpFlags::SYN.with(TcpFlags::ACK).with(codec::SETUP_SYN_ACK), 0);
        let before = syn_ack;
        a.on_transmit(&mut syn_ack, &out(SegmentKind::Control, 1000, false));
        assert_eq!(syn_ack, before, "the handshake's flags stay");
    }

    #[test]
    fn both_nonces_are_used() {
        let ones = (0..1000u32).filter(|n| nonce(SeqNum::new(n * 1448))).count();
        assert!((400..600).contains(&ones), "{ones}");
    }

    #[test]
    fn in_window_scope_advice_comes_with_the_answer_only() {
        let mut a = on();
        for n in 0..4 {
            send(&mut a, n * 100, SegmentKind::Data, 1000, n < 3);
        }
        assert_eq!(ack(&mut a, 100, NORMAL), None);
        assert_eq!(ack(&mut a, 400, FREEZE), Some(Advice::Freeze));
        send(&mut a, 400, SegmentKind::Data, 1000, true);
        assert_eq!(ack(&mut a, 500, NORMAL), None, "an ACK of another segment does not lift a freeze");
        send(&mut a, 500, SegmentKind::Data, 1000, false);
        assert_eq!(ack(&mut a, 600, FALLBACK), Some(Advice::Fallback));
        assert_eq!(a.counters(), [0, 1, 1]);
    }

    #[test]
    fn in_ack_scope_every_ack_advises() {
        let mut a = agreed(&AcnsConfig { command_scope: CommandScope::Ack, ..AcnsConfig::default() });
        for n in 0..4 {
            send(&mut a, n * 100, SegmentKind::Data, 1000, n < 3);
        }
        assert_eq!(ack(&mut a, 100, NORMAL), Some(Advice::Normal));
        assert_eq!(ack(&mut a, 300, FREEZE), Some(Advice::Freeze));
        assert_eq!(ack(&mut a, 400, NORMAL), Some(Advice::Normal));
        assert_eq!(ack(&mut a, 400, NORMAL), None, "nothing is outstanding");
        assert_eq!(a.counters(), [2, 1, 0]);
    }

    #[test]
    fn a_command_is_echoed_on_the_next_segment_with_ack_and_once() {
        let mut a = on();
        let mut data = segment(1, 0, TcpFlags::ACK, 100);
        IpMessage::Freeze.encode(&mut data.ip, E);
        assert_eq!(a.on_receive(&data, NOW), None);
        let echo = |a: &mut AcnsAssist| {
            let mut p = segment(0, 101, TcpFlags::ACK, 0);
            a.on_transmit(&mut p, &out(SegmentKind::PureAck, 1000, false));
            codec::TcpMessage::decode(p.tcp().unwrap().flags)
        };
        assert_eq!(echo(&mut a), FREEZE);
        assert_eq!(echo(&mut a), NORMAL);
        // Commands on segments without data are ignored: routers cannot have put them there.
        data.payload_len = 0;
        a.on_receive(&data, NOW);
        assert_eq!(echo(&mut a), NORMAL);
    }

    #[test]
    fn the_first_new_data_after_a_reduction_says_so_once() {
        let mut a = on();
        let cwr = |(_, flags): (IpMessage, TcpFlags)| flags.has(TcpFlags::CWR);
        assert!(!cwr(send(&mut a, 0, SegmentKind::Data, 1000, true)));
        assert!(!cwr(send(&mut a, 0, SegmentKind::Retransmission, 500, true)), "not on a retransmission");
        assert!(cwr(send(&mut a, 100, SegmentKind::Data, 500, true)));
        assert!(!cwr(send(&mut a, 200, SegmentKind::Data, 500, true)));
        assert!(!cwr(send(&mut a, 300, SegmentKind::Data, 600, true)), "growth is none");
    }

    #[test]
    fn acns_is_off_before_the_handshake_and_from_the_first_fin_on() {
        let mut a = AcnsAssist::new(&AcnsConfig::default());
        assert_eq!(send(&mut a, 0, SegmentKind::Data, 1000, false).0, IpMessage::NotSupported);
        let mut a = on();
        send(&mut a, 0, SegmentKind::Data, 1000, false);
        let mut fin = segment(100, 1, TcpFlags::FIN.with(TcpFlags::ACK), 0);
        a.on_transmit(&mut fin, &out(SegmentKind::Control, 1000, false));
        assert!(!a.is_on());
        assert_eq!(
            (IpMessage::decode(&fin.ip, E), fin.tcp().unwrap().flags.as_bits()),
            (IpMessage::NotSupported, 0x11)
        );
        assert_eq!(ack(&mut a, 100, FREEZE), None);
        assert_eq!(send(&mut a, 101, SegmentKind::Data, 1000, false).0, IpMessage::NotSupported);
    }

    #[test]
    fn a_fin_of_the_peer_lifts_a_freeze() {
        for (message, lifted) in [(FREEZE, Some(Advice::Normal)), (NORMAL, None)] {
            let mut a = on();
            send(&mut a, 0, SegmentKind::Data, 1000, false);
            ack(&mut a, 100, message);
            assert_eq!(a.on_receive(&segment(1, 100, TcpFlags::FIN.with(TcpFlags::ACK), 0), NOW), lifted);
            assert!(!a.is_on());
        }
    }

    #[test]
    fn only_the_ipv6_extension_takes_room() {
        let with = |ipv6| AcnsAssist::new(&AcnsConfig { ipv6, ..AcnsConfig::default() });
        assert_eq!(with(Ipv6Encoding::Extension).header_overhead(true), 8);
        assert_eq!(with(Ipv6Encoding::Extension).header_overhead(false), 0);
        assert_eq!(with(Ipv6Encoding::FlowLabel).header_overhead(true), 0);
    }

    #[test]
    fn nothing_but_the_bits_of_acns_changes() {
        let mut a = on();
        let mut p = segment(7, 9, TcpFlags::ACK.with(TcpFlags::PSH), 100);
        let before = p;
        a.on_transmit(&mut p, &out(SegmentKind::Data, 1000, false));
        p.ip = before.ip;
        p.tcp_mut().unwrap().flags = before.tcp().unwrap().flags;
        assert_eq!(p, before);
    }
}
