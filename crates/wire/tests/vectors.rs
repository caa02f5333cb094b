//! Packets given byte for byte: what other stacks send, and each way of being wrong.
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
    Packet { ip, transport: Transport::Udp(UdpRepr { src_port: 1000, dst_port: 2000 }), payload_len }
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
    let udp = UdpRepr { src_port: 1000, dst_port: 2000 };
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
fn ipv4_options_are_skipped() {
    let mut bytes = ipv4_udp(3).emit();
    // Router alert (RFC 2113) behind the fixed header, and the length and checksum to match.
    bytes.splice(20..20, [0x94, 0x04, 0x00, 0x00]);
    bytes[0] = 0x46;
    bytes[3] += 4;
    assert!(matches!(Packet::parse(&bytes), Err(ParseError::BadChecksum { protocol: Protocol::Ipv4, .. })));
    assert_eq!(Packet::parse_unchecked(&bytes), Ok(ipv4_udp(3)));
    let Err(ParseError::BadChecksum { expected, .. }) = Packet::parse(&bytes) else { unreachable!() };
    bytes[10..12].copy_from_slice(&expected.to_be_bytes());
    assert_eq!(Packet::parse(&bytes), Ok(ipv4_udp(3)));
}

#[test]
fn hop_by_hop_options_that_are_not_ours_are_skipped() {
    let mut p = ipv6_tcp();
    let mut bytes = p.emit();
    // Router alert (kind 5, two bytes) and PadN of none: nothing to keep.
    bytes.splice(40..40, [6, 0, 5, 2, 0, 0, 1, 0]);
    (bytes[5], bytes[6]) = (bytes[5] + 8, 0);
    assert_eq!(Packet::parse(&bytes), Ok(p));
    // Sixteen bytes: Pad1, an option of one byte, the one of four that is kept, and PadN of two.
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
