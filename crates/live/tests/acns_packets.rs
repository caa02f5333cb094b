//! The packet programs of ACNS against the Rust end point, packet by packet and byte by byte: the same segments leave
//! and arrive at both, and headers, checksums and advice are equal.

#![cfg(target_os = "linux")]
#![allow(unsafe_code, clippy::unwrap_used, clippy::print_stderr, missing_docs, reason = "tests")]

mod compiled;

use compiled::{Dice, Native};
use narrows_cc::Advice;
use narrows_scheme::acns::codec::{self, IpMessage, TcpMessage};
use narrows_scheme::acns::{AcnsAssist, AcnsConfig, CommandScope, Ipv6Encoding};
use narrows_tcp::{Agreement, Assist, Outgoing, SegmentKind};
use narrows_units::{Bytes, Instant, SeqNum};
use narrows_wire::{Ecn, Ip, Ipv4Options, Packet, TcpFlags, TcpRepr, Transport};
use std::net::IpAddr;

const MSS: u32 = 1000;

/// Over which protocol a connection is: IPv4, or IPv6 with CMI in one of two places.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Over {
    V4,
    V6(Ipv6Encoding),
}

const ALL: [Over; 3] = [Over::V4, Over::V6(Ipv6Encoding::Extension), Over::V6(Ipv6Encoding::FlowLabel)];

impl Over {
    fn here(self) -> (IpAddr, u16) {
        (if self == Self::V4 { IpAddr::from([10, 0, 0, 1]) } else { IpAddr::from([0xfd00, 0, 0, 1, 0, 0, 0, 1]) }, 1000)
    }

    fn there(self) -> (IpAddr, u16) {
        (if self == Self::V4 { IpAddr::from([10, 0, 1, 1]) } else { IpAddr::from([0xfd00, 0, 0, 2, 0, 0, 0, 1]) }, 80)
    }

    fn encoding(self) -> Ipv6Encoding {
        match self {
            Self::V4 => Ipv6Encoding::Extension,
            Self::V6(encoding) => encoding,
        }
    }
}

/// Counters: see `narrows_counters` in bpf/native/acns.c.
const ADVICES: usize = 5;
const ADVISED: usize = 6;

impl Over {
    /// A segment of `len` bytes from here or, with `arrives`, from there.
    fn segment(self, arrives: bool, seq: u32, ack: u32, flags: TcpFlags, len: u32) -> Packet {
        let (here, there) = (self.here(), self.there());
        let (from, to) = if arrives { (there, here) } else { (here, there) };
        let mut ip = Ip::between(from.0, to.0);
        ip.set_dscp(26);
        if let (Ip::V6(ip), Self::V6(Ipv6Encoding::Extension)) = (&mut ip, self) {
            // Where the label is not ours, Linux's 20 bits stay.
            ip.flow_label = 0xa_bcde;
        }
        let tcp = TcpRepr {
            src_port: from.1,
            dst_port: to.1,
            seq: SeqNum::new(seq),
            ack: SeqNum::new(ack),
            flags,
            window: 500,
            ..TcpRepr::default()
        };
        Packet { ip, transport: Transport::Tcp(tcp), payload_len: len }
    }

    /// The same packet as the kernel must see it: without any of the bits.
    fn cleared(self, packet: &Packet) -> Packet {
        let mut packet = *packet;
        IpMessage::NotSupported.encode(&mut packet.ip, self.encoding());
        if let Some(tcp) = packet.tcp_mut() {
            tcp.flags = TcpMessage::Normal { ns: false }.encode(tcp.flags);
        }
        packet
    }
}

/// An end point in Rust and in C.
struct Both {
    rust: AcnsAssist,
    c: Native,
    over: Over,
    /// Advice that C has given.
    advices: u64,
}

impl Both {
    fn new(test: &str, config: &AcnsConfig) -> Option<Self> {
        let c = Native::build("acns", test)?;
        Some(Self::with(c, config, Over::V4))
    }

    fn with(c: Native, config: &AcnsConfig, over: Over) -> Self {
        c.reset();
        let config = &AcnsConfig { ipv6: over.encoding(), ..*config };
        c.set("ipv6", u64::from(over.encoding() == Ipv6Encoding::FlowLabel));
        c.set("command_scope", u64::from(config.command_scope == CommandScope::Ack));
        Self { rust: AcnsAssist::new(config), c, over, advices: 0 }
    }

    fn sender(&self, name: &str, cwnd: u32, end: u32, left: u32) {
        let sender: extern "C" fn(*const libc::c_char, u32, u32, u32, u32) = self.c.function("narrows_sender");
        let name = std::ffi::CString::new(name).unwrap();
        sender(name.as_ptr(), cwnd, MSS, end, left);
    }

    /// Connects or accepts with both, and checks that ACNS is agreed on.
    fn agree(&mut self, connects: bool) {
        if connects {
            self.sender("acns_cubic", 10, 1, 0);
            let syn = self.c.leave(&self.over.segment(false, 0, 0, TcpFlags::SYN, 0).emit());
            let flags = Packet::parse(&syn).unwrap().tcp().unwrap().flags;
            assert_eq!(flags, TcpFlags::SYN.with(self.rust.offer()));
            let answer = TcpFlags::SYN.with(TcpFlags::ACK).with(codec::SETUP_SYN_ACK);
            let syn_ack = self.over.segment(true, 0, 1, answer, 0);
            assert_eq!(self.rust.agreed(answer), Agreement::Assisted);
            assert_eq!(self.c.arrive(&syn_ack.emit()), self.over.cleared(&syn_ack).emit());
        } else {
            let syn = self.over.segment(true, 0, 0, TcpFlags::SYN.with(codec::SETUP_SYN), 0);
            let (agreement, answer) = self.rust.accept(syn.tcp().unwrap().flags, false);
            assert_eq!(agreement, Agreement::Assisted);
            let mut plain = self.over.cleared(&syn);
            plain.tcp_mut().unwrap().flags = TcpFlags::SYN;
            assert_eq!(self.c.arrive(&syn.emit()), plain.emit());
            let bare = TcpFlags::SYN.with(TcpFlags::ACK);
            let left = self.c.leave(&self.over.segment(false, 0, 1, bare, 0).emit());
            assert_eq!(Packet::parse(&left).unwrap().tcp().unwrap().flags, bare.with(answer));
            self.sender("acns_cubic", 10, 1, 0);
        }
    }

    /// Sends a segment from both; returns the packet that leaves.
    fn leave(&mut self, packet: Packet, kind: SegmentKind, cwnd: u32, more: bool) -> Packet {
        let mut expected = packet;
        let out = Outgoing {
            now: Instant::ZERO,
            kind,
            cwnd: Bytes::new(u64::from(cwnd * MSS)),
            flightsize: Bytes::ZERO,
            more,
        };
        self.rust.on_transmit(&mut expected, &out);
        let end = packet.tcp().unwrap().seq.as_u32().wrapping_add(packet.payload_len);
        self.sender("acns_cubic", cwnd, end, if more { 5000 } else { 0 });
        let left = self.c.leave(&packet.emit());
        assert_eq!(left, expected.emit(), "{expected:?}\n{:?}", Packet::parse(&left));
        expected
    }

    /// Delivers a segment to both; returns the advice that it gives.
    fn arrive(&mut self, packet: Packet) -> Option<Advice> {
        let expected = self.rust.on_receive(&packet, Instant::ZERO);
        assert_eq!(self.c.arrive(&packet.emit()), self.over.cleared(&packet).emit());
        let counters: [u64; 15] = self.c.counters(self.over.here(), self.over.there()).unwrap();
        let advice = match counters[ADVICES] - self.advices {
            0 => None,
            more => {
                assert_eq!(more, 1);
                Some(counters[ADVISED])
            }
        };
        self.advices = counters[ADVICES];
        assert_eq!(advice, expected.map(|advice| advice as u64));
        expected
    }
}

fn ip_message(dice: &mut Dice) -> IpMessage {
    match dice.below(8) {
        0 => IpMessage::NotSupported,
        1 => IpMessage::Freeze,
        2 => IpMessage::Fallback,
        3..=5 => IpMessage::EcnMode { ns: dice.once_in(2) },
        _ => IpMessage::Ask { ns: dice.once_in(2) },
    }
}

/// Returns no bits, or any combination of the four, including those that the papers do not list.
fn tcp_bits(dice: &mut Dice) -> TcpFlags {
    if !dice.once_in(4) {
        return TcpFlags::NONE;
    }
    TcpFlags::from_bits((dice.next() as u16) & 0x3c0)
}

/// Runs a long connection: both ends' data, losses, duplicates, commands and invalid input; then an end.
fn converse(both: &mut Both, seed: u64) -> [u32; 3] {
    let mut dice = Dice(seed);
    let over = both.over;
    // Sequence numbers wrap early.
    let first = 0u32.wrapping_sub(40_000);
    let (mut una, mut nxt, mut peer) = (first, first, 7000u32);
    let mut seen = [0; 3];
    for _ in 0..3000 {
        let (cwnd, more) = (2 + dice.below(20) as u32, !dice.once_in(4));
        let ack = TcpFlags::ACK.with(if dice.once_in(5) { TcpFlags::PSH } else { TcpFlags::NONE });
        match dice.below(10) {
            0..=3 => {
                let len = 1 + dice.below(u64::from(MSS)) as u32;
                both.leave(over.segment(false, nxt, peer, ack, len), SegmentKind::Data, cwnd, more);
                nxt = nxt.wrapping_add(len);
            }
            4 if nxt != una => {
                let from = una.wrapping_add(dice.below(u64::from(nxt.wrapping_sub(una))) as u32);
                let len = nxt.wrapping_sub(from).min(MSS);
                both.leave(over.segment(false, from, peer, ack, len), SegmentKind::Retransmission, cwnd, false);
            }
            5 => {
                both.leave(over.segment(false, nxt, peer, ack, 0), SegmentKind::PureAck, cwnd, false);
            }
            6 | 7 => {
                let len = 1 + dice.below(1400) as u32;
                let mut packet = over.segment(true, peer, una, ack.with(tcp_bits(&mut dice)), len);
                ip_message(&mut dice).encode(&mut packet.ip, over.encoding());
                both.arrive(packet);
                peer = peer.wrapping_add(len);
            }
            _ => {
                // Usually an ACK of sent data; sometimes an old one, or one of data that was never sent.
                let acked = match dice.below(12) {
                    0 => una.wrapping_sub(1000),
                    1 => nxt.wrapping_add(1000),
                    2..=4 => una,
                    _ => una.wrapping_add(dice.below(u64::from(nxt.wrapping_sub(una)) + 1) as u32),
                };
                let mut packet = over.segment(true, peer, acked, ack.with(tcp_bits(&mut dice)), 0);
                if dice.once_in(20) {
                    ip_message(&mut dice).encode(&mut packet.ip, over.encoding());
                }
                if let Some(advice) = both.arrive(packet) {
                    seen[advice as usize - 1] += 1;
                }
                if acked.wrapping_sub(una) <= nxt.wrapping_sub(una) {
                    una = acked;
                }
            }
        }
    }
    let received: [u64; 15] = both.c.counters(over.here(), over.there()).unwrap();
    assert_eq!(received[2..5], both.rust.counters());
    // The first FIN, of either end, ends ACNS: later segments are plain, and a freeze is lifted.
    let fin = TcpFlags::ACK.with(TcpFlags::FIN);
    if dice.once_in(2) {
        both.arrive(over.segment(true, peer, una, fin, 0));
    } else {
        both.leave(over.segment(false, nxt, peer, fin, 0), SegmentKind::Control, 10, false);
    }
    assert!(!both.rust.is_on());
    both.leave(over.segment(false, nxt, peer, TcpFlags::ACK, 10), SegmentKind::Data, 10, false);
    both.arrive(over.segment(true, peer, nxt, TcpFlags::ACK.with(TcpFlags::ECE), 0));
    seen
}

fn conversations(test: &str, scope: CommandScope) {
    let config = AcnsConfig { command_scope: scope, ..AcnsConfig::default() };
    let mut seen = [0; 3];
    let Some(mut c) = Native::build("acns", test) else { return };
    for over in ALL {
        for seed in 0..20 {
            let mut both = Both::with(c, &config, over);
            both.agree(seed % 2 == 0);
            for (sum, n) in seen.iter_mut().zip(converse(&mut both, seed)) {
                *sum += n;
            }
            c = both.c;
        }
    }
    assert!(seen.iter().all(|&n| n > 900), "advice of every kind: {seen:?}");
}

#[test]
fn conversations_are_those_of_the_rust_end_point_where_answers_count() {
    conversations("acns-window", CommandScope::Window);
}

#[test]
fn conversations_are_those_of_the_rust_end_point_where_every_ack_counts() {
    conversations("acns-ack", CommandScope::Ack);
}

/// Returns how an end in C handled a handshake: the flags of the SYN that the kernel saw, and whether ACNS was agreed
/// on.
fn accepted(c: &Native, syn: TcpFlags) -> (TcpFlags, bool) {
    c.reset();
    let seen = Packet::parse(&c.arrive(&Over::V4.segment(true, 0, 0, TcpFlags::SYN.with(syn), 0).emit())).unwrap();
    let answer = c.leave(&Over::V4.segment(false, 0, 1, TcpFlags::SYN.with(TcpFlags::ACK), 0).emit());
    let answer = Packet::parse(&answer).unwrap().tcp().unwrap().flags;
    let agreed = answer == TcpFlags::SYN.with(TcpFlags::ACK).with(codec::SETUP_SYN_ACK);
    assert!(agreed || answer == TcpFlags::SYN.with(TcpFlags::ACK));
    (seen.tcp().unwrap().flags, agreed)
}

#[test]
fn only_a_setup_syn_is_accepted_and_any_other_reaches_the_kernel() {
    let Some(c) = Native::build("acns", "acns-syn") else { return };
    for bits in 0..16u16 {
        let flags = TcpFlags::from_bits(bits << 6);
        let (agreement, _) = codec::answer_syn(TcpFlags::SYN.with(flags), false);
        let (seen, agreed) = accepted(&c, flags);
        assert_eq!(agreed, agreement == Agreement::Assisted, "{bits:#x}");
        let rest = if agreed { flags.without(codec::SETUP_SYN) } else { flags };
        assert_eq!(seen, TcpFlags::SYN.with(rest), "{bits:#x}");
    }
}

#[test]
fn only_a_setup_syn_ack_agrees_and_any_other_reaches_the_kernel() {
    let config = AcnsConfig::default();
    let Some(both) = Both::new("acns-syn-ack", &config) else { return };
    for bits in 0..16u16 {
        both.c.reset();
        both.sender("acns_reno", 10, 1, 0);
        both.c.leave(&Over::V4.segment(false, 0, 0, TcpFlags::SYN, 0).emit());
        let flags = TcpFlags::SYN.with(TcpFlags::ACK).with(TcpFlags::from_bits(bits << 6));
        let seen = Packet::parse(&both.c.arrive(&Over::V4.segment(true, 0, 1, flags, 0).emit())).unwrap();
        let assisted = codec::read_syn_ack(flags) == Agreement::Assisted;
        let expected = if assisted { flags.without(codec::SETUP_SYN_ACK) } else { flags };
        assert_eq!(seen.tcp().unwrap().flags, expected, "{bits:#x}");
        let data = Packet::parse(&both.c.leave(&Over::V4.segment(false, 1, 1, TcpFlags::ACK, 100).emit())).unwrap();
        assert_eq!(data.ip.ecn() != Ecn::NotEct, assisted, "{bits:#x}");
    }
}

#[test]
fn a_socket_with_another_congestion_control_offers_nothing() {
    let Some(both) = Both::new("acns-other", &AcnsConfig::default()) else { return };
    let syn = Over::V4.segment(false, 0, 0, TcpFlags::SYN, 0).emit();
    for other in ["cubic", "acns_cub", "acns_cubicx", "", "acns_reno_012345"] {
        both.sender(other, 10, 1, 0);
        assert_eq!(both.c.leave(&syn), syn, "{other}");
    }
    both.sender("acns_reno", 10, 1, 0);
    assert_ne!(both.c.leave(&syn), syn);
}

#[test]
fn a_checksum_that_the_device_fills_in_is_left_to_it() {
    let Some(mut both) = Both::new("acns-partial", &AcnsConfig::default()) else { return };
    both.agree(true);
    let partial: extern "C" fn(libc::c_int) = both.c.function("narrows_set_partial");
    partial(1);
    both.sender("acns_cubic", 10, 101, 0);
    let packet = Over::V4.segment(false, 1, 1, TcpFlags::ACK, 100);
    let before = packet.emit();
    let left = both.c.leave(&before);
    assert_eq!(left[36..38], before[36..38], "the TCP checksum is the device's");
    let after = Packet::parse_unchecked(&left).unwrap();
    assert_eq!(
        IpMessage::decode(&after.ip, Ipv6Encoding::Extension),
        IpMessage::Ask { ns: after.ip.ecn() == Ecn::Ect1 }
    );
}

/// Where a packet cannot grow, an asking segment goes without CMI, which is the mode of ECN.
#[test]
fn a_packet_without_room_for_the_option_goes_without_it() {
    let Some(c) = Native::build("acns", "acns-full") else { return };
    let over = Over::V6(Ipv6Encoding::Extension);
    let mut both = Both::with(c, &AcnsConfig::default(), over);
    both.agree(true);
    let full: extern "C" fn(libc::c_int) = both.c.function("narrows_set_full");
    let packet = over.segment(false, 1, 1, TcpFlags::ACK, 100).emit();
    for (is_full, grown) in [(1, 0), (0, 8)] {
        both.c.reset();
        both.agree(true);
        both.sender("acns_cubic", 1, 101, 0);
        full(is_full);
        let left = both.c.leave(&packet);
        let message = IpMessage::decode(&Packet::parse(&left).unwrap().ip, over.encoding());
        assert_eq!(left.len(), packet.len() + grown);
        assert_eq!(matches!(message, IpMessage::Ask { .. }), grown == 8, "{message:?}");
        assert!(grown == 8 || matches!(message, IpMessage::EcnMode { .. }), "{message:?}");
    }
}

/// Bytes that are no complete TCP segment pass unchanged; in a complete segment, everything but our bits
/// stays.
#[test]
fn mangled_packets_pass_and_nothing_but_our_bits_changes() {
    let Some(mut c) = Native::build("acns", "acns-mangled") else { return };
    for over in ALL {
        let mut both = Both::with(c, &AcnsConfig::default(), over);
        both.agree(false);
        mangle(&both);
        c = both.c;
    }
}

fn mangle(both: &Both) {
    let over = both.over;
    let mut dice = Dice(5);
    let mut changed = 0;
    for _ in 0..50_000 {
        let mut packet = over.segment(true, 1, 1, TcpFlags::ACK.with(tcp_bits(&mut dice)), 40);
        ip_message(&mut dice).encode(&mut packet.ip, over.encoding());
        if let Ip::V4(ip) = &mut packet.ip {
            let words: Vec<u8> = (0..4 * dice.below(11)).map(|_| dice.next() as u8).collect();
            ip.options = Ipv4Options::new(&words).unwrap();
        }
        let mut bytes = packet.emit();
        for _ in 0..dice.below(4) {
            let at = dice.below(bytes.len().min(64) as u64) as usize;
            bytes[at] = dice.next() as u8;
        }
        bytes.truncate(bytes.len() - if dice.once_in(4) { dice.below(bytes.len() as u64) as usize } else { 0 });
        let after = if dice.once_in(2) { both.c.arrive(&bytes) } else { both.c.leave(&bytes) };
        if after == bytes {
            continue;
        }
        changed += 1;
        // It was TCP, and only our bits have changed; a right checksum stays right, a wrong one wrong.
        let (read, now) = (Packet::parse_unchecked(&bytes), Packet::parse_unchecked(&after));
        if let (Ok(read), Ok(now)) = (read, now) {
            assert_eq!(over.cleared(&read), over.cleared(&now));
        }
        assert_eq!(Packet::parse(&bytes).is_ok(), Packet::parse(&after).is_ok());
        let grown = after.len() - bytes.len();
        assert!(grown == 0 || (grown == 8 && over == Over::V6(Ipv6Encoding::Extension)), "{over:?}: {grown}");
    }
    assert!(changed > 5_000, "{over:?}: {changed}");
}
