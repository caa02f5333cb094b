//! Arbitrary packets.
#![allow(clippy::unwrap_used, missing_docs, unreachable_pub, dead_code)]

use core::net::{Ipv4Addr, Ipv6Addr};
use narrows_units::SeqNum;
use narrows_wire::*;
use proptest::prelude::*;

pub fn ecn() -> impl Strategy<Value = Ecn> {
    (0u8..4).prop_map(Ecn::from_bits)
}

pub fn ipv4_options() -> impl Strategy<Value = Ipv4Options> {
    let words = |words: Vec<u32>| words.into_iter().flat_map(u32::to_be_bytes).collect::<Vec<u8>>();
    prop::collection::vec(any::<u32>(), 0..=10).prop_map(move |w| Ipv4Options::new(&words(w)).unwrap())
}

pub fn ipv4() -> impl Strategy<Value = Ip> {
    (any::<(u32, u32)>(), 0u8..64, ecn(), any::<(bool, bool, u16, u8)>(), ipv4_options()).prop_map(
        |((src, dst), dscp, ecn, (reserved_flag, dont_fragment, ident, ttl), options)| {
            let (src, dst) = (Ipv4Addr::from(src), Ipv4Addr::from(dst));
            Ip::V4(Ipv4Repr { src, dst, dscp, ecn, reserved_flag, dont_fragment, ident, ttl, options })
        },
    )
}

pub fn ipv6() -> impl Strategy<Value = Ip> {
    let hop_by_hop = prop::option::of((2u8.., any::<u32>()).prop_map(|(kind, data)| HopByHop { kind, data }));
    (any::<(u128, u128)>(), 0u8..64, ecn(), 0u32..1 << 20, any::<u8>(), hop_by_hop).prop_map(
        |((src, dst), dscp, ecn, flow_label, hop_limit, hop_by_hop)| {
            let (src, dst) = (Ipv6Addr::from(src), Ipv6Addr::from(dst));
            Ip::V6(Ipv6Repr { src, dst, dscp, ecn, flow_label, hop_limit, hop_by_hop })
        },
    )
}

pub fn options() -> impl Strategy<Value = TcpOptions> {
    let timestamps = prop::option::of(any::<(u32, u32)>().prop_map(|(val, ecr)| Timestamps { val, ecr }));
    let blocks = prop::collection::vec(any::<(u32, u32)>(), 0..=4);
    (any::<(Option<u16>, Option<u8>, bool)>(), timestamps, blocks, prop::option::weighted(0.3, accecn())).prop_map(
        |((mss, window_scale, sack_permitted), timestamps, blocks, accecn)| {
            let mut sack = SackBlocks::EMPTY;
            for (left, right) in blocks {
                sack.push(SeqNum::new(left), SeqNum::new(right));
            }
            let mut options = TcpOptions { mss, window_scale, sack_permitted, timestamps, sack };
            if let Some(option) = accecn {
                options.set_accecn(option);
            }
            options
        },
    )
}

pub fn accecn() -> impl Strategy<Value = AccEcn> {
    (any::<bool>(), prop::collection::vec(any::<u32>(), 0..=3)).prop_map(|(ect1_first, counters)| {
        AccEcn::new(if ect1_first { AccEcnOrder::Ect1First } else { AccEcnOrder::Ect0First }, &counters)
    })
}

pub fn transport() -> impl Strategy<Value = Transport> {
    let tcp = (any::<(u16, u16, u32, u32, u16, u16)>(), options()).prop_map(
        |((src_port, dst_port, seq, ack, flags, window), options)| {
            let (seq, ack, flags) = (SeqNum::new(seq), SeqNum::new(ack), TcpFlags::from_bits(flags));
            Transport::Tcp(TcpRepr { src_port, dst_port, seq, ack, flags, window, options })
        },
    );
    let udp =
        any::<(u16, u16)>().prop_map(|(src_port, dst_port)| Transport::Udp(UdpRepr { src_port, dst_port, rtp: None }));
    prop_oneof![3 => tcp, 1 => udp]
}

pub fn packet(payload: impl Strategy<Value = u32>) -> impl Strategy<Value = Packet> {
    (prop_oneof![ipv4(), ipv6()], transport(), payload).prop_map(|(ip, transport, payload_len)| Packet {
        ip,
        transport,
        payload_len,
    })
}
