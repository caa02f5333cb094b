//! A change of a packet's headers is applied to its bytes, and nothing else changes.
#![allow(clippy::unwrap_used)]

mod strategies;

use core::net::IpAddr;
use narrows_wire::*;
use proptest::prelude::*;
use strategies::{ecn, ipv4, ipv4_options, packet, transport};

/// Everything that a router may change.
#[derive(Clone, Copy, Debug)]
struct Change {
    dscp: u8,
    ecn: Ecn,
    hops: u8,
    reserved_flag: bool,
    options: Ipv4Options,
    flow_label: u32,
    data: u32,
    flags: u16,
    window: u16,
}

fn change() -> impl Strategy<Value = Change> {
    let v4 = (any::<bool>(), ipv4_options());
    let rest = (0u32..1 << 20, any::<u32>(), any::<u16>(), any::<u16>());
    (0u8..64, ecn(), any::<u8>(), v4, rest).prop_map(
        |(dscp, ecn, hops, (reserved_flag, options), (flow_label, data, flags, window))| Change {
            dscp,
            ecn,
            hops,
            reserved_flag,
            options,
            flow_label,
            data,
            flags,
            window,
        },
    )
}

impl Change {
    /// The packet after the changes whose bits are set in `mask`.
    fn of(self, mut p: Packet, mask: u16) -> Packet {
        let on = |bit: u16| mask & 1 << bit != 0;
        if on(0) {
            p.ip.set_dscp(self.dscp);
        }
        if on(1) {
            p.ip.set_ecn(self.ecn);
        }
        match &mut p.ip {
            Ip::V4(h) => {
                h.ttl = if on(2) { self.hops } else { h.ttl };
                h.reserved_flag = if on(3) { self.reserved_flag } else { h.reserved_flag };
                h.options = if on(4) { self.options } else { h.options };
            }
            Ip::V6(h) => {
                h.hop_limit = if on(2) { self.hops } else { h.hop_limit };
                h.flow_label = if on(3) { self.flow_label } else { h.flow_label };
                if let Some(option) = h.hop_by_hop.as_mut().filter(|_| on(4)) {
                    option.data = self.data;
                }
            }
        }
        if let Some(tcp) = p.tcp_mut() {
            tcp.flags = if on(5) { TcpFlags::from_bits(self.flags) } else { tcp.flags };
            tcp.window = if on(6) { self.window } else { tcp.window };
        }
        p
    }
}

/// The bytes above IP, whatever the version.
fn above(bytes: &mut [u8]) -> &mut [u8] {
    let from = match bytes[0] >> 4 {
        4 => Ipv4View::new_checked(&*bytes).unwrap().header_len(),
        _ => Ipv6View::new_checked(&*bytes).unwrap().header_len(),
    };
    &mut bytes[from..]
}

/// The packet with this payload and correct checksums.
fn with_payload(p: &Packet, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Packet { payload_len: payload.len() as u32, ..*p }.emit();
    let (src, dst) = (p.ip.src(), p.ip.dst());
    match p.transport {
        Transport::Tcp(_) => {
            let mut view = TcpView::new_checked(above(&mut bytes)).unwrap();
            view.payload_mut().copy_from_slice(payload);
            view.fill_checksum(src, dst);
        }
        Transport::Udp(_) => {
            let mut view = UdpView::new_checked(above(&mut bytes)).unwrap();
            view.payload_mut().copy_from_slice(payload);
            view.fill_checksum(src, dst);
        }
    }
    bytes
}

fn fitting() -> impl Strategy<Value = Packet> {
    packet(Just(0)).prop_filter("fits", Packet::fits)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_change_is_read_back_and_all_else_stays(
        p in fitting(), change in change(), mask: u16, payload in prop::collection::vec(any::<u8>(), 0..80),
        padding in prop::collection::vec(any::<u8>(), 0..8),
    ) {
        let before = Packet { payload_len: payload.len() as u32, ..p };
        let after = change.of(before, mask);
        let mut bytes = with_payload(&p, &payload);
        bytes.extend_from_slice(&padding);
        prop_assert_eq!(rewrite(&mut bytes, &before, &after), Ok(()));
        prop_assert_eq!(Packet::parse(&bytes), Ok(after), "all checksums are right");
        // Emitting `after` with the same payload gives the same bytes.
        let mut expected = with_payload(&after, &payload);
        expected.extend_from_slice(&padding);
        prop_assert_eq!(&bytes, &expected);
        // And back again.
        prop_assert_eq!(rewrite(&mut bytes, &after, &before), Ok(()));
        let mut expected = with_payload(&p, &payload);
        expected.extend_from_slice(&padding);
        prop_assert_eq!(bytes, expected);
    }

    #[test]
    fn a_wrong_header_checksum_stays_wrong_by_as_much(
        (ip, transport) in (ipv4(), transport()), change in change(), mask: u16, wrong in 1u16..0xffff,
    ) {
        let p = Packet { ip, transport, payload_len: 0 };
        prop_assume!(p.fits());
        let mut bytes = p.emit();
        let right = u16::from_be_bytes([bytes[10], bytes[11]]);
        bytes[10..12].copy_from_slice(&plus(right, wrong).to_be_bytes());
        let after = change.of(p, mask);
        prop_assert_eq!(rewrite(&mut bytes, &p, &after), Ok(()));
        prop_assert_eq!(Packet::parse_unchecked(&bytes), Ok(after));
        let Err(ParseError::BadChecksum { protocol: Protocol::Ipv4, found, expected }) = Packet::parse(&bytes) else {
            panic!("damage is hidden: {bytes:02x?}");
        };
        prop_assert_eq!(found % 0xffff, plus(expected, wrong) % 0xffff);
    }

    #[test]
    fn a_wrong_tcp_checksum_stays_wrong(p in fitting(), change in change(), mask: u16, at: prop::sample::Index, bit in 0u8..8) {
        prop_assume!(p.tcp().is_some());
        let before = Packet { payload_len: 40, ..p };
        let mut bytes = before.emit();
        let at = bytes.len() - 1 - at.index(40);
        bytes[at] ^= 1 << bit;
        let after = change.of(before, mask);
        prop_assert_eq!(rewrite(&mut bytes, &before, &after), Ok(()));
        let wrong = matches!(Packet::parse(&bytes), Err(ParseError::BadChecksum { protocol: Protocol::Tcp, .. }));
        prop_assert!(wrong);
    }

    #[test]
    fn what_only_the_ends_may_write_is_refused_and_left(p in fitting(), q in fitting()) {
        let mut bytes = p.emit();
        let before = bytes.clone();
        let result = rewrite(&mut bytes, &p, &q);
        prop_assert!(matches!(result, Err(RewriteError::Fixed { .. })), "{result:?}");
        prop_assert_eq!(bytes, before);
    }

    #[test]
    fn no_bytes_make_it_panic_and_an_error_changes_none(
        mut bytes in prop::collection::vec(any::<u8>(), 0..120), p in fitting(), change in change(), mask: u16,
    ) {
        let whole = bytes.clone();
        let after = change.of(p, mask);
        if after != p {
            prop_assert_eq!(rewrite(&mut bytes, &p, &after), Err(RewriteError::OtherPacket));
        }
        prop_assert_eq!(bytes, whole);
    }
}

/// The sum in ones' complement.
fn plus(a: u16, b: u16) -> u16 {
    let (sum, over) = a.overflowing_add(b);
    sum + u16::from(over)
}

fn segment(payload_len: u32) -> Packet {
    let ip = Ip::between(IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
    Packet { ip, transport: Transport::Tcp(TcpRepr { src_port: 5000, ..TcpRepr::default() }), payload_len }
}

fn with_options(mut p: Packet, area: &[u8]) -> Packet {
    if let Ip::V4(h) = &mut p.ip {
        h.options = Ipv4Options::new(area).unwrap();
    }
    p
}

#[test]
fn an_inserted_option_stands_between_header_and_segment() {
    let before = segment(0);
    let after = with_options(before, &[0x21, 6, 0, 0, 0xb9, 0xaa, 0, 0]);
    let mut bytes = before.emit();
    let segment = bytes[20..].to_vec();
    rewrite(&mut bytes, &before, &after).unwrap();
    assert_eq!((bytes[0], &bytes[2..4]), (0x47, &[0, 48][..]), "seven words of header, 48 bytes in all");
    assert_eq!(bytes[20..28], [0x21, 6, 0, 0, 0xb9, 0xaa, 0, 0]);
    assert_eq!(bytes[28..], segment);
}

#[test]
fn what_is_not_read_is_kept() {
    // Options 254 and 28, which Narrows does not know, an urgent pointer and some data.
    let mut tcp = vec![0, 80, 0, 90, 0, 0, 0, 1, 0, 0, 0, 2, 0x80, 0x30, 1, 0, 0, 0, 0, 5];
    tcp.extend_from_slice(&[254, 6, 1, 2, 3, 4, 28, 4, 0x80, 5, 1, 0]);
    tcp.extend_from_slice(b"payload");
    let (src, dst) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
    TcpView::new_checked(&mut tcp[..]).unwrap().fill_checksum(src, dst);
    let mut bytes = Vec::new();
    let Ip::V4(ip) = Ip::between(src, dst) else { unreachable!() };
    ip.emit_into(6, tcp.len(), &mut bytes);
    bytes.extend_from_slice(&tcp);
    let before = Packet::parse(&bytes).unwrap();
    let mut after = with_options(before, &[1; 12]);
    after.tcp_mut().unwrap().flags = TcpFlags::ACK.with(TcpFlags::URG).with(TcpFlags::RESERVED_0X200);
    rewrite(&mut bytes, &before, &after).unwrap();
    assert_eq!(Packet::parse(&bytes), Ok(after));
    assert_eq!(bytes[32 + 18..], tcp[18..], "urgent pointer, options and payload");
}

#[test]
fn other_hop_by_hop_options_are_kept() {
    // PadN, an option of one byte of data, and the option that is read, one after the other.
    let extension = [6, 1, 1, 0, 0x1e, 1, 9, 0, 0x3e, 4, 1, 2, 3, 4, 1, 0];
    let p = segment(3);
    let plain =
        Packet { ip: Ip::between(IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, 1]), IpAddr::from([1; 16])), ..p }.emit();
    let mut bytes = [&plain[..40], &extension, &plain[40..]].concat();
    (bytes[5], bytes[6]) = (bytes[5] + 16, 0);
    let before = Packet::parse(&bytes).unwrap();
    let mut after = before;
    let Ip::V6(h) = &mut after.ip else { unreachable!() };
    h.hop_by_hop = Some(HopByHop { kind: 0x3e, data: 0x8000_0000 });
    let mut expected = bytes.clone();
    expected[50..54].copy_from_slice(&[0x80, 0, 0, 0]);
    rewrite(&mut bytes, &before, &after).unwrap();
    assert_eq!(bytes, expected);
    // A router may not insert or remove an extension header.
    let Ip::V6(h) = &mut after.ip else { unreachable!() };
    h.hop_by_hop = None;
    let error = rewrite(&mut bytes, &before, &after).unwrap_err();
    assert_eq!(error, RewriteError::OtherPacket, "the bytes have changed meanwhile");
    let error = rewrite(&mut bytes, &Packet::parse(&expected).unwrap(), &after).unwrap_err();
    assert_eq!(error, RewriteError::Fixed { field: "kind of the IPv6 hop-by-hop option" });
}

#[test]
fn a_packet_cannot_grow_beyond_its_length_field() {
    let before = segment(65_535 - 40 - 8);
    let mut bytes = before.emit();
    let mut whole = bytes.clone();
    assert_eq!(rewrite(&mut bytes, &before, &with_options(before, &[1; 8])), Ok(()));
    assert_eq!((bytes.len(), &bytes[2..4]), (65_535, &[0xff, 0xff][..]));
    let mut after = with_options(before, &[1; 12]);
    after.ip.set_dscp(3);
    let error = rewrite(&mut whole, &before, &after).unwrap_err();
    assert_eq!((error, whole), (RewriteError::TooLong { len: 65_539 }, before.emit()));
    assert_eq!(error.to_string(), "the IPv4 packet would be 65539 bytes long: allowed are up to 65535");
}

#[test]
fn errors_name_the_field() {
    let before = segment(1);
    let mut after = before;
    after.tcp_mut().unwrap().window = 7;
    after.tcp_mut().unwrap().seq = narrows_units::SeqNum::new(1);
    let text = rewrite(&mut before.emit(), &before, &after).unwrap_err().to_string();
    assert!(text.starts_with("the TCP sequence number differs: allowed are changes of DSCP"), "{text}");
    let text = rewrite(&mut before.emit(), &before, &Packet { payload_len: 2, ..before }).unwrap_err().to_string();
    assert!(text.starts_with("the payload length differs"), "{text}");
}
