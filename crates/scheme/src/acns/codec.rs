//! The bits: messages I1 to I7 in the IP header, T1 to T6 in the TCP header, and the handshake.
//!
//! # Sources
//! Thesis, tables 2 and 3; DCNET 2013, tables 1 and 2 and section 3.2. The printed tables of IP messages do not
//! distinguish I2 from I4 and I6 from I7. [`IpMessage`] is the one reading that keeps all seven distinct and in which a
//! plain ECN host takes fallback for CE.
//!
//! # How classic ECN reads it
//! Fallback is CE without CMI and ECE without CMT, so a classic ECN host reacts to it. A classic ECN *queue* on the
//! path marks CE and leaves CMI: I2 and I3 become I7 (fallback); I4 and I5, which carry CMI, become I6 (freeze).

use super::Ipv6Encoding;
use narrows_cc::Advice;
use narrows_tcp::{Agreement, HeaderBits};
use narrows_wire::{Ecn, HopByHop, Ip, Ipv6Repr, TcpFlags};

/// CMT, the TCP header bit that ACNS adds.
pub const CMT: TcpFlags = TcpFlags::RESERVED_0X200;

/// The nonce sum's bit in the TCP header (RFC 3540).
pub const NS: TcpFlags = TcpFlags::AE;

/// The bits that ACNS shares with ECN: ECE, CWR, AE (the nonce sum), 0x200 (CMT) and the ECN field. It excludes ECN in
/// each of its forms, and the handshake decides which it is. IPv4's reserved flag, or in IPv6 an option or a bit of the
/// flow label, is ACNS's alone.
pub const BITS: HeaderBits = HeaderBits { flags: TcpMessage::BITS, ecn_field: true };

/// Flags of an ACNS-setup SYN besides SYN.
pub const SETUP_SYN: TcpFlags = TcpFlags::ECE.with(TcpFlags::CWR).with(CMT);

/// Flags of an ACNS-setup SYN-ACK besides SYN and ACK. (The papers print ACK = 0, which no SYN-ACK can have.)
pub const SETUP_SYN_ACK: TcpFlags = TcpFlags::ECE.with(CMT);

/// Type of the hop-by-hop option that carries CMI: "skip if unknown" and "may change on the way" (RFC 8200, section
/// 4.2), and a codepoint reserved for experiments (RFC 4727, section 3.3).
pub const IPV6_OPTION: u8 = 0x3e;

/// CMI in the data of the hop-by-hop option: its top bit.
pub const IPV6_OPTION_CMI: u32 = 0x8000_0000;

/// CMI in the flow label: the top one of the three bits (20 - 17) that the shortened label leaves free.
pub const FLOW_LABEL_CMI: u32 = 0x8_0000;

/// Mask of the flow label that remains: 17 bits.
pub const FLOW_LABEL: u32 = 0x1_ffff;

/// A message in the IP header: the ECN field and CMI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IpMessage {
    /// I1 (ECN 00, CMI 0): no ACNS; also control packets and retransmissions.
    NotSupported,
    /// I2, I3 (ECN 10 or 01, CMI 0): ACNS in ECN mode. Routers do not change it; it means normal.
    EcnMode {
        /// The nonce: ECT(1) is 1.
        ns: bool,
    },
    /// I4, I5 (ECN 10 or 01, CMI 1): asks routers to set the command. Unchanged it means normal.
    Ask {
        /// The nonce: ECT(1) is 1.
        ns: bool,
    },
    /// I6 (ECN 11, CMI 1): freeze, set by a router.
    Freeze,
    /// I7 (ECN 11, CMI 0): fallback, set by a router, or CE set by a classic ECN queue.
    Fallback,
}

impl IpMessage {
    /// Reads the message. ECN 00 with CMI 1 has no meaning in the papers and counts as I1.
    #[inline]
    #[must_use]
    pub fn decode(ip: &Ip, ipv6: Ipv6Encoding) -> Self {
        match (ip.ecn(), cmi(ip, ipv6)) {
            (Ecn::NotEct, _) => Self::NotSupported,
            (Ecn::Ect0, false) => Self::EcnMode { ns: false },
            (Ecn::Ect1, false) => Self::EcnMode { ns: true },
            (Ecn::Ect0, true) => Self::Ask { ns: false },
            (Ecn::Ect1, true) => Self::Ask { ns: true },
            (Ecn::Ce, true) => Self::Freeze,
            (Ecn::Ce, false) => Self::Fallback,
        }
    }

    /// Writes the message; only the ECN field and CMI change.
    ///
    /// In IPv6 with [`Ipv6Encoding::Extension`] the options header is added only if CMI is 1 and the header is missing,
    /// so only asking segments are 8 bytes longer. It is never removed, because a router may not change a packet's
    /// length. If another scheme's option is in the header, CMI cannot be written and stays 0.
    #[inline]
    pub fn encode(self, ip: &mut Ip, ipv6: Ipv6Encoding) {
        let (ecn, cmi) = match self {
            Self::NotSupported => (Ecn::NotEct, false),
            Self::EcnMode { ns } => (ect(ns), false),
            Self::Ask { ns } => (ect(ns), true),
            Self::Freeze => (Ecn::Ce, true),
            Self::Fallback => (Ecn::Ce, false),
        };
        ip.set_ecn(ecn);
        match ip {
            Ip::V4(h) => h.reserved_flag = cmi,
            Ip::V6(h) => set_cmi_v6(h, cmi, ipv6),
        }
    }

    /// Returns the command that the message brings to a receiver; `None` for a segment outside ACNS.
    #[inline]
    #[must_use]
    pub const fn command(self) -> Option<Advice> {
        match self {
            Self::NotSupported => None,
            Self::EcnMode { .. } | Self::Ask { .. } => Some(Advice::Normal),
            Self::Freeze => Some(Advice::Freeze),
            Self::Fallback => Some(Advice::Fallback),
        }
    }

    /// Returns the message after a router that has this command for the flow. Only segments that ask, or that carry an
    /// earlier router's command, are changed, and only to a harsher command (thesis, section 4.1.1).
    #[inline]
    #[must_use]
    pub const fn overwritten(self, command: Advice) -> Self {
        match (self, command) {
            (Self::Ask { .. }, Advice::Freeze) => Self::Freeze,
            (Self::Ask { .. } | Self::Freeze, Advice::Fallback) => Self::Fallback,
            _ => self,
        }
    }
}

const fn ect(ns: bool) -> Ecn {
    if ns { Ecn::Ect1 } else { Ecn::Ect0 }
}

fn cmi(ip: &Ip, ipv6: Ipv6Encoding) -> bool {
    match (ip, ipv6) {
        (Ip::V4(h), _) => h.reserved_flag,
        (Ip::V6(h), Ipv6Encoding::Extension) => {
            h.hop_by_hop.is_some_and(|o| o.kind == IPV6_OPTION && o.data & IPV6_OPTION_CMI != 0)
        }
        (Ip::V6(h), Ipv6Encoding::FlowLabel) => h.flow_label & FLOW_LABEL_CMI != 0,
    }
}

fn set_cmi_v6(h: &mut Ipv6Repr, cmi: bool, ipv6: Ipv6Encoding) {
    match (ipv6, &mut h.hop_by_hop) {
        (Ipv6Encoding::FlowLabel, _) => {
            h.flow_label = (h.flow_label & FLOW_LABEL) | if cmi { FLOW_LABEL_CMI } else { 0 };
        }
        (Ipv6Encoding::Extension, Some(o)) if o.kind == IPV6_OPTION => {
            o.data = if cmi { o.data | IPV6_OPTION_CMI } else { o.data & !IPV6_OPTION_CMI };
        }
        (Ipv6Encoding::Extension, None) if cmi => {
            h.hop_by_hop = Some(HopByHop { kind: IPV6_OPTION, data: IPV6_OPTION_CMI });
        }
        (Ipv6Encoding::Extension, _) => {}
    }
}

/// A message in the TCP header: CWR, ECE and CMT, and the nonce sum in RFC 3540's bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TcpMessage {
    /// T1, T2 (CWR 0, ECE 0, CMT 0): normal, from the receiver.
    Normal {
        /// The nonce sum.
        ns: bool,
    },
    /// T3, T4 (CWR 1, ECE 0, CMT 0): the sender has reduced its congestion window.
    Reduced {
        /// The nonce sum.
        ns: bool,
    },
    /// T5 (CWR 0, ECE 1, CMT 1): freeze, from the receiver.
    Freeze,
    /// T6 (CWR 0, ECE 1, CMT 0): fallback, from the receiver; ECE to classic ECN.
    Fallback,
}

impl TcpMessage {
    const BITS: TcpFlags = TcpFlags::CWR.with(TcpFlags::ECE).with(CMT).with(NS);

    /// Reads the message. Combinations that the papers do not list: with ECE the command counts and CWR is ignored; CMT
    /// without ECE is ignored.
    #[inline]
    #[must_use]
    pub const fn decode(flags: TcpFlags) -> Self {
        if flags.has(TcpFlags::ECE) {
            return if flags.has(CMT) { Self::Freeze } else { Self::Fallback };
        }
        let ns = flags.has(NS);
        if flags.has(TcpFlags::CWR) { Self::Reduced { ns } } else { Self::Normal { ns } }
    }

    /// Returns these flags with the message in its four bits; the others stay.
    #[inline]
    #[must_use]
    pub const fn encode(self, flags: TcpFlags) -> TcpFlags {
        let bits = match self {
            Self::Normal { ns: false } => TcpFlags::NONE,
            Self::Normal { ns: true } => NS,
            Self::Reduced { ns: false } => TcpFlags::CWR,
            Self::Reduced { ns: true } => TcpFlags::CWR.with(NS),
            Self::Freeze => TcpFlags::ECE.with(CMT),
            Self::Fallback => TcpFlags::ECE,
        };
        flags.without(Self::BITS).with(bits)
    }

    /// Returns the command that the message brings to a sender. T3 and T4 come from a sender and bring none, which is
    /// normal.
    #[inline]
    #[must_use]
    pub const fn command(self) -> Advice {
        match self {
            Self::Normal { .. } | Self::Reduced { .. } => Advice::Normal,
            Self::Freeze => Advice::Freeze,
            Self::Fallback => Advice::Fallback,
        }
    }
}

/// Returns what an end point that supports ACNS agrees to on a SYN with these flags, and the flags of its SYN-ACK
/// besides SYN and ACK. `ecn` is whether it would use classic ECN (RFC 3168, section 6.1.1).
#[must_use]
pub const fn answer_syn(syn: TcpFlags, ecn: bool) -> (Agreement, TcpFlags) {
    if syn.has(SETUP_SYN) {
        (Agreement::Assisted, SETUP_SYN_ACK)
    } else if ecn && syn.has(TcpFlags::ECE.with(TcpFlags::CWR)) {
        (Agreement::Ecn, TcpFlags::ECE)
    } else {
        (Agreement::Nothing, TcpFlags::NONE)
    }
}

/// Returns what was agreed when a SYN-ACK with these flags answers an ACNS-setup SYN.
///
/// ECE without CMT is plain ECN, even if this end would not have chosen it by itself: an ACNS-setup SYN is an ECN-setup
/// SYN too, so the peer now sends ECT and waits for echoes. CWR makes it neither: an old peer that reflects the SYN's
/// reserved bits supports nothing (RFC 3168, section 6.1.1.1).
#[must_use]
pub const fn read_syn_ack(syn_ack: TcpFlags) -> Agreement {
    if !syn_ack.has(TcpFlags::ECE) || syn_ack.has(TcpFlags::CWR) {
        Agreement::Nothing
    } else if syn_ack.has(CMT) {
        Agreement::Assisted
    } else {
        Agreement::Ecn
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use core::net::IpAddr;
    use proptest::prelude::*;

    const IP_MESSAGES: [(IpMessage, u8, bool); 7] = [
        (IpMessage::NotSupported, 0b00, false),
        (IpMessage::EcnMode { ns: false }, 0b10, false),
        (IpMessage::EcnMode { ns: true }, 0b01, false),
        (IpMessage::Ask { ns: false }, 0b10, true),
        (IpMessage::Ask { ns: true }, 0b01, true),
        (IpMessage::Freeze, 0b11, true),
        (IpMessage::Fallback, 0b11, false),
    ];

    const TCP_MESSAGES: [(TcpMessage, u16); 6] = [
        (TcpMessage::Normal { ns: false }, 0x000),
        (TcpMessage::Normal { ns: true }, 0x100),
        (TcpMessage::Reduced { ns: false }, 0x080),
        (TcpMessage::Reduced { ns: true }, 0x180),
        (TcpMessage::Freeze, 0x240),
        (TcpMessage::Fallback, 0x040),
    ];

    fn v4() -> Ip {
        Ip::between(IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]))
    }

    fn v6() -> Ip {
        Ip::between(IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, 1]), IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, 2]))
    }

    fn all_headers() -> [(Ip, Ipv6Encoding); 4] {
        [
            (v4(), Ipv6Encoding::Extension),
            (v4(), Ipv6Encoding::FlowLabel),
            (v6(), Ipv6Encoding::Extension),
            (v6(), Ipv6Encoding::FlowLabel),
        ]
    }

    #[test]
    fn table_of_ip_messages_stands_in_the_ipv4_bits() {
        for (message, ecn, cmi) in IP_MESSAGES {
            let mut ip = v4();
            message.encode(&mut ip, Ipv6Encoding::Extension);
            let Ip::V4(h) = ip else { unreachable!() };
            assert_eq!((h.ecn, h.reserved_flag), (Ecn::from_bits(ecn), cmi), "{message:?}");
        }
    }

    #[test]
    fn every_ip_message_follows_every_other_and_comes_back() {
        for (base, encoding) in all_headers() {
            for (before, ..) in IP_MESSAGES {
                for (message, ..) in IP_MESSAGES {
                    let mut ip = base;
                    before.encode(&mut ip, encoding);
                    message.encode(&mut ip, encoding);
                    assert_eq!(IpMessage::decode(&ip, encoding), message, "{encoding:?} after {before:?}");
                }
            }
        }
    }

    #[test]
    fn ecn_zero_with_cmi_counts_as_not_supported() {
        for (mut ip, encoding) in all_headers() {
            IpMessage::Ask { ns: false }.encode(&mut ip, encoding);
            ip.set_ecn(Ecn::NotEct);
            assert_eq!(IpMessage::decode(&ip, encoding), IpMessage::NotSupported);
        }
    }

    #[test]
    fn extension_header_is_eight_bytes_and_only_where_cmi_is_set() {
        for (message, _, cmi) in IP_MESSAGES {
            let mut ip = v6();
            message.encode(&mut ip, Ipv6Encoding::Extension);
            assert_eq!(ip.header_len(), if cmi { 48 } else { 40 }, "{message:?}");
        }
        // A router that turns freeze into fallback clears CMI and keeps the length.
        let mut ip = v6();
        IpMessage::Freeze.encode(&mut ip, Ipv6Encoding::Extension);
        IpMessage::Fallback.encode(&mut ip, Ipv6Encoding::Extension);
        assert_eq!(ip.header_len(), 48);
        // "Skip if unknown" and "may change on the way".
        assert_eq!(IPV6_OPTION >> 5, 0b001);
    }

    #[test]
    fn another_schemes_option_is_left_alone() {
        let mut ip = v6();
        let other = Some(HopByHop { kind: 0x1e, data: u32::MAX });
        if let Ip::V6(h) = &mut ip {
            h.hop_by_hop = other;
        }
        IpMessage::Ask { ns: true }.encode(&mut ip, Ipv6Encoding::Extension);
        assert_eq!(IpMessage::decode(&ip, Ipv6Encoding::Extension), IpMessage::EcnMode { ns: true });
        assert!(matches!(ip, Ip::V6(h) if h.hop_by_hop == other));
    }

    #[test]
    fn flow_label_keeps_its_seventeen_bits_and_its_length() {
        for (message, _, cmi) in IP_MESSAGES {
            let mut ip = v6();
            if let Ip::V6(h) = &mut ip {
                h.flow_label = 0x1_5555;
            }
            message.encode(&mut ip, Ipv6Encoding::FlowLabel);
            let Ip::V6(h) = ip else { unreachable!() };
            assert_eq!(h.flow_label, 0x1_5555 | if cmi { 0x8_0000 } else { 0 });
            assert_eq!(ip.header_len(), 40);
        }
    }

    #[test]
    fn only_asking_segments_take_a_command_and_only_a_harsher_one() {
        use Advice::{Fallback, Freeze, Normal};
        for (message, ..) in IP_MESSAGES {
            assert_eq!(message.overwritten(Normal), message);
        }
        for ns in [false, true] {
            assert_eq!(IpMessage::Ask { ns }.overwritten(Freeze), IpMessage::Freeze);
            assert_eq!(IpMessage::Ask { ns }.overwritten(Fallback), IpMessage::Fallback);
            for command in [Freeze, Fallback] {
                assert_eq!(IpMessage::EcnMode { ns }.overwritten(command), IpMessage::EcnMode { ns });
            }
        }
        assert_eq!(IpMessage::Freeze.overwritten(Freeze), IpMessage::Freeze);
        assert_eq!(IpMessage::Freeze.overwritten(Fallback), IpMessage::Fallback);
        assert_eq!(IpMessage::Fallback.overwritten(Freeze), IpMessage::Fallback);
        assert_eq!(IpMessage::NotSupported.overwritten(Fallback), IpMessage::NotSupported);
    }

    #[test]
    fn classic_ecn_hosts_take_fallback_for_ce_and_ece() {
        let mut ip = v4();
        IpMessage::Fallback.encode(&mut ip, Ipv6Encoding::Extension);
        assert_eq!(ip.ecn(), Ecn::Ce);
        assert!(matches!(ip, Ip::V4(h) if !h.reserved_flag));
        assert_eq!(TcpMessage::Fallback.encode(TcpFlags::ACK), TcpFlags::ACK.with(TcpFlags::ECE));
    }

    #[test]
    fn classic_ecn_queues_turn_ecn_mode_into_fallback_and_asks_into_freeze() {
        for ns in [false, true] {
            for (sent, arrives) in
                [(IpMessage::EcnMode { ns }, IpMessage::Fallback), (IpMessage::Ask { ns }, IpMessage::Freeze)]
            {
                let mut ip = v4();
                sent.encode(&mut ip, Ipv6Encoding::Extension);
                ip.set_ecn(Ecn::Ce);
                assert_eq!(IpMessage::decode(&ip, Ipv6Encoding::Extension), arrives);
            }
        }
    }

    #[test]
    fn table_of_tcp_messages_stands_in_the_flag_bits() {
        for (message, bits) in TCP_MESSAGES {
            assert_eq!(message.encode(TcpFlags::ACK).as_bits(), 0x010 | bits, "{message:?}");
        }
    }

    #[test]
    fn every_tcp_message_follows_every_other_and_comes_back() {
        for (before, _) in TCP_MESSAGES {
            for (message, _) in TCP_MESSAGES {
                let flags = message.encode(before.encode(TcpFlags::ACK.with(TcpFlags::PSH)));
                assert_eq!(TcpMessage::decode(flags), message);
                assert!(flags.has(TcpFlags::ACK.with(TcpFlags::PSH)));
            }
        }
    }

    #[test]
    fn all_flag_combinations_decode_by_the_rule_for_unlisted_ones() {
        for bits in 0u16..0x1000 {
            let flags = TcpFlags::from_bits(bits);
            let expected = match (bits & 0x040 != 0, bits & 0x200 != 0) {
                (true, true) => Advice::Freeze,
                (true, false) => Advice::Fallback,
                (false, _) => Advice::Normal,
            };
            assert_eq!(TcpMessage::decode(flags).command(), expected);
            let reduced = matches!(TcpMessage::decode(flags), TcpMessage::Reduced { .. });
            assert_eq!(reduced, bits & 0x0c0 == 0x080);
        }
    }

    #[test]
    fn acns_excludes_ecn_in_each_of_its_forms() {
        for ecn in [HeaderBits::CLASSIC_ECN, HeaderBits::ACCURATE_ECN] {
            assert!(BITS.excludes(ecn));
        }
        for (message, _) in TCP_MESSAGES {
            assert_eq!(message.encode(TcpFlags::NONE).without(BITS.flags), TcpFlags::NONE, "{message:?}");
        }
    }

    #[test]
    fn setup_syn_and_syn_ack_carry_the_bits_of_the_papers() {
        assert_eq!(SETUP_SYN.as_bits(), 0x2c0);
        assert_eq!(SETUP_SYN_ACK.as_bits(), 0x240);
    }

    #[test]
    fn a_syn_is_answered_by_what_both_ends_can() {
        let syn = TcpFlags::SYN;
        let ecn_syn = syn.with(TcpFlags::ECE).with(TcpFlags::CWR);
        for ecn in [false, true] {
            assert_eq!(answer_syn(syn.with(SETUP_SYN), ecn), (Agreement::Assisted, SETUP_SYN_ACK));
            assert_eq!(answer_syn(syn, ecn), (Agreement::Nothing, TcpFlags::NONE));
            assert_eq!(answer_syn(syn.with(CMT), ecn), (Agreement::Nothing, TcpFlags::NONE));
        }
        assert_eq!(answer_syn(ecn_syn, true), (Agreement::Ecn, TcpFlags::ECE));
        assert_eq!(answer_syn(ecn_syn, false), (Agreement::Nothing, TcpFlags::NONE));
        // AccECN's SYN (RFC 9768) is an ECN-setup SYN to those who do not know it.
        assert_eq!(answer_syn(ecn_syn.with(TcpFlags::AE), true).0, Agreement::Ecn);
    }

    #[test]
    fn a_syn_ack_falls_back_to_ecn_and_then_to_nothing() {
        let syn_ack = TcpFlags::SYN.with(TcpFlags::ACK);
        assert_eq!(read_syn_ack(syn_ack.with(SETUP_SYN_ACK)), Agreement::Assisted);
        assert_eq!(read_syn_ack(syn_ack), Agreement::Nothing);
        assert_eq!(read_syn_ack(syn_ack.with(CMT)), Agreement::Nothing);
        // A peer that reflects all reserved bits.
        assert_eq!(read_syn_ack(syn_ack.with(SETUP_SYN)), Agreement::Nothing);
        assert_eq!(read_syn_ack(syn_ack.with(TcpFlags::ECE)), Agreement::Ecn);
    }

    proptest! {
        #[test]
        fn writing_a_message_changes_nothing_else(n in 0usize..7, dscp in 0u8..64, ident: u16, label in 0u32..0x2_0000) {
            let (message, ..) = IP_MESSAGES[n];
            for (base, encoding) in all_headers() {
                let mut before = base;
                before.set_dscp(dscp);
                match &mut before {
                    Ip::V4(h) => h.ident = ident,
                    Ip::V6(h) => h.flow_label = label,
                }
                let mut after = before;
                message.encode(&mut after, encoding);
                // Undo the two fields that may change; the rest must be as it was.
                after.set_ecn(before.ecn());
                match &mut after {
                    Ip::V4(h) => h.reserved_flag = false,
                    Ip::V6(h) => {
                        h.hop_by_hop = None;
                        h.flow_label &= FLOW_LABEL;
                    }
                }
                prop_assert_eq!(after, before);
            }
        }
    }
}
