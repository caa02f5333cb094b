//! Packets given byte for byte: packets of other stacks, and each kind of error.
#![allow(clippy::unwrap_used)]

use core::net::{Ipv4Addr, Ipv6Addr};
use narrows_units::SeqNum;
use narrows_wire::*;

/// A header often used to teach the IPv4 checksum: its words but the checksum sum to 0x2479c, folded 0x479e, so the
/// checksum is 0xb861.
const HEADER: [u8; 20] = [
    0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00,
    0xc7,
];

fn ipv4_udp(payload_len: u32) -> Packet {
    let ip = Ip::between(Ipv4Addr::new(10, 0, 0, 1).into(), Ipv4Addr::new(10, 0, 0, 2).into());
    Packet { ip, transport: Transport::Udp(UdpRepr { src_port: 1000, dst_port: 2000, rtp: None }), payload_len }
}

fn ipv6_tcp() -> Packet {
    let a = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
    let b = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2);
    let tcp = TcpRepr { src_port: 5000, dst_port: 80, flags: TcpFlags::ACK, ..TcpRepr::default() };
    Packet { ip: Ip::between(a.into(), b.into()), transport: Transport::Tcp(tcp), payload_len: 4 }
}

#[test]
fn ipv4_header_checksum_of_a_known_header() {
    let mut packet = HEADER.to_vec();
    packet.resize(0x73, 0);
    let view = Ipv4View::new_checked(&packet).unwrap();
    assert_eq!(view.check_checksum(), Ok(()));
    let mut emitted = Vec::new();
    Ipv4Repr::from_view(&view).unwrap().emit_into(17, 0x73 - 20, &mut emitted);
    assert_eq!(emitted, HEADER);
    packet[10] = 0;
    let error = Ipv4View::new_checked(&packet).unwrap().check_checksum();
    assert_eq!(error, Err(ParseError::BadChecksum { protocol: Protocol::Ipv4, found: 0x61, expected: 0xb861 }));
}

#[test]
fn tcp_syn_checksum_by_hand() {
    // Pseudo-header 10.0.0.1 to 10.0.0.2, protocol 6, length 24: 0a00+0001+0a00+0002+0006+0018 = 1421.
    // Header: 1388+0050+0000+0001+0000+0000+6002+ffff+0000+0000, options 0204+05b4 = 17b92.
    // 1421 + 17b92 = 18fb3, folded 8fb4, complement 704b.
    let ip = Ip::between(Ipv4Addr::new(10, 0, 0, 1).into(), Ipv4Addr::new(10, 0, 0, 2).into());
    let tcp = TcpRepr {
        src_port: 5000,
        dst_port: 80,
        seq: SeqNum::new(1),
        flags: TcpFlags::SYN,
        window: 0xffff,
        options: TcpOptions { mss: Some(1460), ..TcpOptions::default() },
        ..TcpRepr::default()
    };
    let bytes = Packet { ip, transport: Transport::Tcp(tcp), payload_len: 0 }.emit();
    let expected = [
        0x13, 0x88, 0x00, 0x50, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x60, 0x02, 0xff, 0xff, 0x70, 0x4b, 0,
        0, 0x02, 0x04, 0x05, 0xb4,
    ];
    assert_eq!(bytes[20..], expected);
}

#[test]
fn udp_over_ipv6_checksum_by_hand() {
    // Pseudo-header fd00::1 to fd00::2: fd00+0001+fd00+0002 = 1fa03, length 000a, next header 0011; UDP
    // 03e8+07d0+000a; payload of zeros. 1fa03+a+11+3e8+7d0+a = 205e0, folded 05e2, complement fa1d.
    let a = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
    let b = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2);
    let udp = UdpRepr { src_port: 1000, dst_port: 2000, rtp: None };
    let p = Packet { ip: Ip::between(a.into(), b.into()), transport: Transport::Udp(udp), payload_len: 2 };
    assert_eq!(p.emit()[40..], [0x03, 0xe8, 0x07, 0xd0, 0x00, 0x0a, 0xfa, 0x1d, 0, 0]);
}

#[test]
fn acns_bits_stand_where_the_scheme_puts_them() {
    let mut p = ipv4_udp(0);
    if let Ip::V4(h) = &mut p.ip {
        h.reserved_flag = true;
        h.ecn = Ecn::Ect1;
    }
    let tcp = TcpRepr { flags: TcpFlags::SYN.with(TcpFlags::RESERVED_0X200), ..TcpRepr::default() };
    p.transport = Transport::Tcp(tcp);
    let bytes = p.emit();
    assert_eq!((bytes[1], bytes[6]), (0b01, 0xc0), "ECT(1); reserved flag and Don't Fragment");
    assert_eq!(bytes[32..34], [0x52, 0x02], "offset 5, 0x200, SYN");
    assert_eq!(Packet::parse(&bytes), Ok(p));
}

#[test]
fn ipv6_hop_by_hop_header_by_hand() {
    let mut p = ipv6_tcp();
    if let Ip::V6(h) = &mut p.ip {
        h.hop_by_hop = Some(HopByHop { kind: 0x3e, data: 0x8000_0001 });
        (h.dscp, h.ecn, h.flow_label) = (46, Ecn::Ce, 0x2_3456);
    }
    let bytes = p.emit();
    assert_eq!(bytes[..8], [0x6b, 0xb2, 0x34, 0x56, 0, 32, 0, 64]);
    assert_eq!(bytes[40..48], [6, 0, 0x3e, 4, 0x80, 0, 0, 1]);
    assert_eq!(Packet::parse(&bytes), Ok(p));
}

#[test]
fn ipv4_options_are_kept_as_they_stand() {
    let mut bytes = ipv4_udp(3).emit();
    // Router alert (RFC 2113) behind the fixed header, and the length and checksum to match.
    let alert = [0x94, 0x04, 0x00, 0x00];
    bytes.splice(20..20, alert);
    bytes[0] = 0x46;
    bytes[3] += 4;
    let mut expected = ipv4_udp(3);
    if let Ip::V4(h) = &mut expected.ip {
        h.options = Ipv4Options::new(&alert).unwrap();
    }
    assert_eq!(Packet::parse_unchecked(&bytes), Ok(expected));
    let error = Packet::parse(&bytes).unwrap_err();
    let ParseError::BadChecksum { protocol: Protocol::Ipv4, expected: checksum, .. } = error else {
        panic!("{error:?}");
    };
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    assert_eq!(Packet::parse(&bytes), Ok(expected));
    assert_eq!(expected.emit(), bytes);
}

#[test]
fn hop_by_hop_options_that_are_not_ours_are_skipped() {
    let mut p = ipv6_tcp();
    let mut bytes = p.emit();
    // Router alert (kind 5, two bytes) and an empty PadN: no option to keep.
    bytes.splice(40..40, [6, 0, 5, 2, 0, 0, 1, 0]);
    (bytes[5], bytes[6]) = (bytes[5] + 8, 0);
    assert_eq!(Packet::parse(&bytes), Ok(p));
    // Sixteen bytes: Pad1, an option of one byte, the option of four that is kept, and PadN of two.
    bytes.splice(40..48, [6, 1, 0, 0x1e, 1, 9, 0x1e, 4, 1, 2, 3, 4, 1, 2, 0, 0]);
    bytes[5] += 8;
    if let Ip::V6(h) = &mut p.ip {
        h.hop_by_hop = Some(HopByHop { kind: 0x1e, data: 0x0102_0304 });
    }
    assert_eq!(Packet::parse(&bytes), Ok(p));
}

#[test]
fn each_way_of_being_wrong_has_its_error() {
    let v4 = ipv4_udp(4).emit();
    let v6 = ipv6_tcp().emit();
    let with = |bytes: &[u8], changes: &[(usize, u8)]| {
        let mut bytes = bytes.to_vec();
        for &(at, value) in changes {
            bytes[at] = value;
        }
        Packet::parse_unchecked(&bytes).unwrap_err()
    };
    use ParseError as E;
    assert_eq!(Packet::parse(&[]), Err(E::Truncated { protocol: Protocol::Ip, needed: 20, have: 0 }));
    assert_eq!(Packet::parse(&v4[..19]), Err(E::Truncated { protocol: Protocol::Ipv4, needed: 20, have: 19 }));
    assert_eq!(Packet::parse(&v6[..39]), Err(E::Truncated { protocol: Protocol::Ipv6, needed: 40, have: 39 }));
    assert_eq!(with(&v4, &[(0, 0x75)]), E::BadVersion { version: 7 });
    assert_eq!(with(&v4, &[(0, 0x44)]), E::BadHeaderLen { protocol: Protocol::Ipv4, len: 16, min: 20, max: 32 });
    assert_eq!(with(&v4, &[(0, 0x4f)]), E::BadHeaderLen { protocol: Protocol::Ipv4, len: 60, min: 20, max: 32 });
    assert_eq!(with(&v4, &[(3, 33)]), E::BadLength { protocol: Protocol::Ipv4, len: 33, min: 20, max: 32 });
    assert_eq!(with(&v4, &[(3, 19)]), E::BadLength { protocol: Protocol::Ipv4, len: 19, min: 20, max: 32 });
    assert_eq!(with(&v4, &[(3, 24)]), E::Truncated { protocol: Protocol::Udp, needed: 8, have: 4 });
    assert_eq!(with(&v4, &[(6, 0x20)]), E::Fragment { offset: 0, more: true });
    assert_eq!(with(&v4, &[(6, 0x00), (7, 0x02)]), E::Fragment { offset: 16, more: false });
    assert_eq!(with(&v4, &[(9, 1)]), E::UnsupportedProtocol { number: 1 });
    assert_eq!(with(&v4, &[(25, 7)]), E::BadLength { protocol: Protocol::Udp, len: 7, min: 8, max: 12 });
    assert_eq!(with(&v4, &[(25, 13)]), E::BadLength { protocol: Protocol::Udp, len: 13, min: 8, max: 12 });
    assert_eq!(with(&v6, &[(5, 25)]), E::BadLength { protocol: Protocol::Ipv6, len: 25, min: 0, max: 24 });
    assert_eq!(with(&v6, &[(52, 0x40)]), E::BadHeaderLen { protocol: Protocol::Tcp, len: 16, min: 20, max: 24 });
    assert_eq!(with(&v6, &[(52, 0x70)]), E::BadHeaderLen { protocol: Protocol::Tcp, len: 28, min: 20, max: 24 });
    assert_eq!(with(&v6, &[(5, 19)]), E::Truncated { protocol: Protocol::Tcp, needed: 20, have: 19 });
    // The source port 5000 is 0x1388: as a hop-by-hop header it is 1,096 bytes long.
    assert_eq!(with(&v6, &[(6, 0)]), E::BadHeaderLen { protocol: Protocol::HopByHop, len: 1096, min: 8, max: 24 });
    assert_eq!(with(&v6, &[(6, 0), (5, 7)]), E::Truncated { protocol: Protocol::HopByHop, needed: 8, have: 7 });
    let overrun = with(&v6, &[(6, 0), (41, 0), (42, 9), (43, 5)]);
    assert_eq!(overrun, E::OptionOverrun { protocol: Protocol::HopByHop, kind: 9, have: 6 });
    let last = with(&v6, &[(6, 0), (41, 0), (42, 1), (43, 3), (47, 9)]);
    assert_eq!(last, E::OptionOverrun { protocol: Protocol::HopByHop, kind: 9, have: 1 });
    assert_eq!(with(&v6, &[(6, 44), (42, 0), (43, 0x19)]), E::Fragment { offset: 24, more: true });
    assert_eq!(with(&v6, &[(6, 44), (5, 7)]), E::Truncated { protocol: Protocol::Fragment, needed: 8, have: 7 });
    assert_eq!(with(&v6, &[(6, 58)]), E::UnsupportedProtocol { number: 58 });
}

#[test]
fn a_wrong_transport_checksum_is_an_error_unless_it_is_not_looked_at() {
    for (p, protocol, at) in [(ipv4_udp(4), Protocol::Udp, 26), (ipv6_tcp(), Protocol::Tcp, 56)] {
        let mut bytes = p.emit();
        let right = u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        bytes[at] ^= 0x80;
        let error = ParseError::BadChecksum { protocol, found: right ^ 0x8000, expected: right };
        assert_eq!(Packet::parse(&bytes), Err(error));
        assert_eq!(Packet::parse_unchecked(&bytes), Ok(p));
    }
}

#[test]
fn values_too_large_for_their_fields_do_not_fit_and_are_masked() {
    let mut p = ipv6_tcp();
    assert!(p.fits());
    if let Ip::V6(h) = &mut p.ip {
        (h.dscp, h.flow_label) = (64 + 3, 0x10_0005);
    }
    assert!(!p.fits());
    let Ip::V6(h) = Packet::parse(&p.emit()).unwrap().ip else { unreachable!() };
    assert_eq!((h.dscp, h.flow_label), (3, 5));
}

#[test]
fn fcs_of_an_rts_that_a_monitor_captured() {
    // A published capture, as Wireshark shows it, has this RTS with the FCS bytes bd 0e de 44.
    let rts = Dot11Repr::Rts {
        duration: 478,
        receiver: MacAddr::new([0x10, 0x0e, 0x0e, 0x20, 0x6a, 0xf4]),
        transmitter: MacAddr::new([0x18, 0x4f, 0x32, 0x0f, 0xa4, 0xed]),
    };
    let mut expected = [
        0xb4, 0x00, 0xde, 0x01, 0x10, 0x0e, 0x0e, 0x20, 0x6a, 0xf4, 0x18, 0x4f, 0x32, 0x0f, 0xa4, 0xed, 0xbd, 0x0e,
        0xde, 0x44,
    ];
    assert_eq!(rts.emit(), expected);
    assert_eq!(Dot11Repr::parse(&expected), Ok(rts));
    expected[19] = 0;
    assert_eq!(Dot11Repr::parse(&expected), Err(ParseError::BadFcs { found: 0x00de_0ebd, expected: 0x44de_0ebd }));
    assert_eq!(Dot11Repr::parse_unchecked(&expected), Ok(rts));
}

#[test]
fn data_and_block_ack_frames_by_hand() {
    let [far, base, station] = [0, 1, 2].map(MacAddr::of_node);
    let data = DataRepr {
        duration: 44,
        direction: Direction::FromDs,
        retry: true,
        receiver: station,
        transmitter: base,
        beyond: far,
        seq: 0xabc,
        tid: Some(5),
        packet: ipv6_tcp(),
    };
    let bytes = Dot11Repr::Data(data).emit();
    // QoS data, From DS and retry; addresses 1 to 3; 0xabc << 4 lowest byte first; TID; SNAP with IPv6's type.
    assert_eq!(bytes[..4], [0x88, 0x0a, 44, 0]);
    assert_eq!(bytes[4..22], [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0]);
    assert_eq!(bytes[22..34], [0xc0, 0xab, 5, 0, 0xaa, 0xaa, 3, 0, 0, 0, 0x86, 0xdd]);
    assert_eq!(bytes[34..bytes.len() - 4], ipv6_tcp().emit());
    assert_eq!((data.source(), data.bssid(), data.destination()), (far, base, station));

    let without = DataRepr { direction: Direction::ToDs, retry: false, tid: None, packet: ipv4_udp(3), ..data };
    let bytes = Dot11Repr::Data(without).emit();
    assert_eq!(bytes[..4], [0x08, 0x01, 44, 0]);
    assert_eq!(bytes[22..32], [0xc0, 0xab, 0xaa, 0xaa, 3, 0, 0, 0, 0x08, 0x00]);
    assert_eq!((without.source(), without.bssid(), without.destination()), (base, station, far));

    let block_ack = BlockAckRepr {
        duration: 0,
        receiver: base,
        transmitter: station,
        tid: 5,
        start: 0xabc,
        bitmap: 0x8000_0000_0000_0005,
    };
    let bytes = Dot11Repr::BlockAck(block_ack).emit();
    // BA Control: compressed (bits 1 to 4 are 2), TID in the upper four bits; then 0xabc << 4 and the bitmap.
    assert_eq!(bytes[..4], [0x94, 0, 0, 0]);
    assert_eq!(bytes[16..28], [0x04, 0x50, 0xc0, 0xab, 5, 0, 0, 0, 0, 0, 0, 0x80]);
    assert_eq!(bytes.len(), 32);
}

#[test]
fn radiotap_headers_by_hand() {
    // Bits 0, 1, 2, 3, 5: TSFT at 8, flags at 16, rate at 17, channel at 18 (even), signal at 22.
    let legacy = RadiotapRepr {
        tsft: Some(0x0102_0304_0506_0708),
        flags: Some(RadiotapFlags::FCS_AT_END.with(RadiotapFlags::SHORT_PREAMBLE)),
        rate: Some(22),
        channel: Some(RadiotapChannel { frequency: 2412, flags: RadiotapChannel::CCK | RadiotapChannel::GHZ2 }),
        signal_dbm: Some(-60),
        ..RadiotapRepr::default()
    };
    let expected =
        [0, 0, 23, 0, 0x2f, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1, 0x12, 22, 0x6c, 0x09, 0xa0, 0x00, 0xc4].as_slice();
    assert_eq!(legacy.emit(), expected);
    assert_eq!(RadiotapRepr::parse(expected), Ok((legacy, 23)));

    // Bits 1, 3, 19, 20: flags at 8, a gap, channel at 10, MCS at 14 to 16, a gap of 3, A-MPDU status at 20.
    let ht = RadiotapRepr {
        flags: Some(RadiotapFlags::FCS_AT_END),
        channel: Some(RadiotapChannel { frequency: 5180, flags: RadiotapChannel::DYNAMIC | RadiotapChannel::GHZ5 }),
        mcs: Some(RadiotapMcs::new(15, 40, true)),
        ampdu: Some(RadiotapAmpdu::new(0x0a0b_0c0d, true)),
        ..RadiotapRepr::default()
    };
    let expected = [
        0, 0, 28, 0, 0x0a, 0, 0x18, 0, 0x10, 0, 0x3c, 0x14, 0x00, 0x05, 0x7f, 0x05, 15, 0, 0, 0, 0x0d, 0x0c, 0x0b,
        0x0a, 0x0c, 0x00, 0, 0,
    ];
    assert_eq!(ht.emit(), expected);
    assert_eq!(RadiotapRepr::parse(&expected), Ok((ht, 28)));

    // Bits 2, 21: rate at 8, a gap, VHT at 10: known, flags, width of 80 MHz, MCS 9 with two streams.
    let vht = RadiotapRepr { rate: Some(2), vht: Some(RadiotapVht::new(9, 2, 80, true)), ..RadiotapRepr::default() };
    let expected = [0, 0, 22, 0, 0x04, 0, 0x20, 0, 2, 0, 0x45, 0, 0x04, 4, 0x92, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(vht.emit(), expected);
    let widths = [20, 40, 80, 160].map(|width| RadiotapVht::new(0, 1, width, false).bandwidth);
    assert_eq!(widths, [0, 1, 4, 11]);
}

#[test]
fn each_way_of_being_no_frame_has_its_error() {
    use ParseError as E;
    let (dot11, radiotap) = (Protocol::Dot11, Protocol::Radiotap);
    let cts = Dot11Repr::Cts { duration: 0, receiver: MacAddr::new([0xff; 6]) }.emit();
    assert_eq!(Dot11Repr::parse(&cts[..13]), Err(E::Truncated { protocol: dot11, needed: 14, have: 13 }));
    let long = [&cts[..], &[0]].concat();
    assert_eq!(Dot11Repr::parse(&long), Err(E::BadLength { protocol: dot11, len: 15, min: 14, max: 14 }));
    let mut beacon = cts.clone();
    beacon[0] = 0x80;
    let error = Dot11Repr::parse(&beacon).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the 802.11 frame control is 0x80: allowed is version 0: RTS, CTS, ACK, block ACK, data, QoS data"
    );
    assert_eq!(RadiotapRepr::parse(&[0; 7]), Err(E::Truncated { protocol: radiotap, needed: 8, have: 7 }));
    let short = [0, 0, 9, 0, 1, 0, 0, 0, 0];
    assert_eq!(RadiotapRepr::parse(&short), Err(E::BadHeaderLen { protocol: radiotap, len: 9, min: 16, max: 9 }));
}
