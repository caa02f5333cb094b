//! Conversion between values and bytes: emitted packets are read back, and no bytes make the reader panic.
#![allow(clippy::unwrap_used)]

mod strategies;

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use narrows_wire::*;
use proptest::prelude::*;
use strategies::{ecn, ipv4, packet, transport};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn what_is_written_is_read_back(p in packet(0u32..3_000).prop_filter("fits", Packet::fits)) {
        let bytes = p.emit();
        prop_assert_eq!(bytes.len() as u64, p.len().as_u64());
        prop_assert_eq!(Packet::parse(&bytes), Ok(p));
    }

    #[test]
    fn headers_alone_are_the_start_of_the_whole(p in packet(0u32..3_000)) {
        let mut headers = vec![0xaa];
        p.emit_headers_into(&mut headers);
        let whole = p.emit();
        prop_assert_eq!(&headers[1..], &whole[..headers.len() - 1]);
        prop_assert!(whole[headers.len() - 1..].iter().all(|&b| b == 0));
    }

    #[test]
    fn link_padding_is_ignored(p in packet(0u32..60).prop_filter("fits", Packet::fits), padding in 0usize..40) {
        let mut bytes = p.emit();
        bytes.resize(bytes.len() + padding, 0x5a);
        prop_assert_eq!(Packet::parse(&bytes), Ok(p));
    }

    #[test]
    fn every_cut_is_an_error(p in packet(0u32..60), at: prop::sample::Index) {
        let bytes = p.emit();
        prop_assert!(Packet::parse(&bytes[..at.index(bytes.len())]).is_err());
    }

    #[test]
    fn every_flipped_bit_that_changes_the_packet_is_an_error_in_ipv4(
        (ip, transport) in (ipv4(), transport()), payload_len in 0u32..60, at: prop::sample::Index, bit in 0u8..8,
    ) {
        let p = Packet { ip, transport, payload_len };
        prop_assume!(p.fits());
        let mut bytes = p.emit();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        // One case passes by design: a UDP checksum that becomes zero by the flipped bit means "none".
        let none = matches!(transport, Transport::Udp(_)) && bytes[26..28] == [0, 0];
        prop_assert!(Packet::parse(&bytes).is_err() || none);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Packet::parse(&bytes);
        if let Ok(p) = Packet::parse_unchecked(&bytes) {
            prop_assert!(Packet::parse(&p.emit()).is_ok());
        }
    }

    #[test]
    fn no_damage_to_a_good_packet_makes_the_reader_panic(
        p in packet(0u32..60), damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let mut bytes = p.emit();
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(read) = Packet::parse_unchecked(&bytes) {
            // Parsing is a projection: a parsed packet is read the same again after it is emitted, as far as it fits.
            let again = Packet::parse(&read.emit()).unwrap();
            prop_assert!(again == read || !read.fits());
        }
    }

    #[test]
    fn lengths_beyond_16_bits_are_cut_to_what_fits(p in packet(65_400u32..70_000)) {
        let read = Packet::parse(&p.emit()).unwrap();
        prop_assert!(read.payload_len <= p.payload_len && read.payload_len > 65_300);
        prop_assert_eq!(read.payload_len == p.payload_len, p.payload_len as usize == p.emit().len() - headers(&p));
    }

    #[test]
    fn ip_setters_change_their_field_alone(
        p in packet(0u32..60).prop_filter("fits", Packet::fits), ecn in ecn(), dscp in 0u8..64, ttl: u8, flag: bool,
    ) {
        let mut bytes = p.emit();
        let mut expected = p;
        expected.ip.set_ecn(ecn);
        expected.ip.set_dscp(dscp);
        match &mut expected.ip {
            Ip::V4(h) => {
                (h.ttl, h.reserved_flag) = (ttl, flag);
                let mut view = Ipv4View::new_checked(&mut bytes[..]).unwrap();
                view.set_ecn(ecn);
                view.set_dscp(dscp);
                view.set_ttl(ttl);
                view.set_reserved_flag(flag);
            }
            Ip::V6(h) => {
                (h.hop_limit, h.flow_label) = (ttl, 0x8_1234);
                let mut view = Ipv6View::new_checked(&mut bytes[..]).unwrap();
                view.set_ecn(ecn);
                view.set_dscp(dscp);
                view.set_hop_limit(ttl);
                view.set_flow_label(0xfff8_1234);
                prop_assert_eq!(view.set_hop_by_hop_data(0xdead_beef), h.hop_by_hop.is_some());
                if let Some(option) = &mut h.hop_by_hop {
                    option.data = 0xdead_beef;
                }
            }
        }
        prop_assert_eq!(Packet::parse(&bytes), Ok(expected), "checksums are right after each change");
    }

    #[test]
    fn tcp_setters_keep_the_checksum_right(
        p in packet(0u32..60).prop_filter("TCP that fits", |p| p.fits() && p.tcp().is_some()), flags: u16, window: u16,
    ) {
        let mut bytes = p.emit();
        let mut expected = p;
        let header = expected.tcp_mut().unwrap();
        (header.flags, header.window) = (TcpFlags::from_bits(flags), window);
        let change = |segment: &mut [u8]| {
            let mut view = TcpView::new_checked(segment).unwrap();
            view.set_flags(TcpFlags::from_bits(flags));
            view.set_window(window);
        };
        match p.ip {
            Ip::V4(_) => change(Ipv4View::new_checked(&mut bytes[..]).unwrap().payload_mut()),
            Ip::V6(_) => change(Ipv6View::new_checked(&mut bytes[..]).unwrap().payload_mut()),
        }
        prop_assert_eq!(Packet::parse(&bytes), Ok(expected));
    }

    #[test]
    fn a_checksum_filled_after_writing_a_payload_is_right(
        p in packet(1u32..60).prop_filter("fits", Packet::fits), fill: u8,
    ) {
        let mut bytes = p.emit();
        let (src, dst) = (p.ip.src(), p.ip.dst());
        let change = |above: &mut [u8]| match p.transport {
            Transport::Tcp(_) => {
                let mut view = TcpView::new_checked(above).unwrap();
                view.payload_mut().fill(fill);
                view.fill_checksum(src, dst);
            }
            Transport::Udp(_) => {
                let mut view = UdpView::new_checked(above).unwrap();
                view.payload_mut().fill(fill);
                view.fill_checksum(src, dst);
            }
        };
        match p.ip {
            Ip::V4(_) => change(Ipv4View::new_checked(&mut bytes[..]).unwrap().payload_mut()),
            Ip::V6(_) => change(Ipv6View::new_checked(&mut bytes[..]).unwrap().payload_mut()),
        }
        prop_assert_eq!(Packet::parse(&bytes), Ok(p));
    }
}

fn mac() -> impl Strategy<Value = MacAddr> {
    any::<[u8; 6]>().prop_map(MacAddr::new)
}

fn dot11() -> impl Strategy<Value = Dot11Repr> {
    let control = (0u8..3, any::<u16>(), mac(), mac()).prop_map(|(kind, duration, receiver, transmitter)| match kind {
        0 => Dot11Repr::Rts { duration, receiver, transmitter },
        1 => Dot11Repr::Cts { duration, receiver },
        _ => Dot11Repr::Ack { duration, receiver },
    });
    let block_ack = (any::<(u16, u64)>(), 0u8..16, 0u16..4096, mac(), mac()).prop_map(
        |((duration, bitmap), tid, start, receiver, transmitter)| {
            Dot11Repr::BlockAck(BlockAckRepr { duration, receiver, transmitter, tid, start, bitmap })
        },
    );
    let packet = packet(0u32..200).prop_filter("fits", Packet::fits);
    let tid = prop::option::of(0u8..16);
    let data = (any::<(bool, bool, u16)>(), (mac(), mac(), mac()), 0u16..4096, tid, packet).prop_map(
        |((down, retry, duration), (receiver, transmitter, beyond), seq, tid, packet)| {
            let direction = if down { Direction::FromDs } else { Direction::ToDs };
            Dot11Repr::Data(DataRepr { duration, direction, retry, receiver, transmitter, beyond, seq, tid, packet })
        },
    );
    prop_oneof![1 => control, 1 => block_ack, 4 => data]
}

fn radiotap() -> impl Strategy<Value = RadiotapRepr> {
    let flags = prop::option::of(any::<u8>().prop_map(RadiotapFlags));
    let channel = any::<(u16, u16)>().prop_map(|(frequency, flags)| RadiotapChannel { frequency, flags });
    let mcs = any::<(u8, u8, u8)>().prop_map(|(known, flags, index)| RadiotapMcs { known, flags, index });
    let ampdu = any::<(u32, u16, u8)>().prop_map(|(reference, flags, delimiter_crc)| RadiotapAmpdu {
        reference,
        flags,
        delimiter_crc,
    });
    let vht = any::<(u16, u8, u8, [u8; 4], u8, u8, u16)>().prop_map(
        |(known, flags, bandwidth, mcs_nss, coding, group_id, partial_aid)| RadiotapVht {
            known,
            flags,
            bandwidth,
            mcs_nss,
            coding,
            group_id,
            partial_aid,
        },
    );
    let (channel, mcs) = (prop::option::of(channel), prop::option::of(mcs));
    let (ampdu, vht) = (prop::option::of(ampdu), prop::option::of(vht));
    (any::<(Option<u64>, Option<u8>, Option<i8>)>(), flags, channel, mcs, ampdu, vht).prop_map(
        |((tsft, rate, signal_dbm), flags, channel, mcs, ampdu, vht)| RadiotapRepr {
            tsft,
            flags,
            rate,
            channel,
            signal_dbm,
            mcs,
            ampdu,
            vht,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_frame_that_is_written_is_read_back(frame in dot11()) {
        prop_assert!(frame.fits());
        prop_assert_eq!(Dot11Repr::parse(&frame.emit()), Ok(frame));
    }

    #[test]
    fn every_flipped_bit_of_a_frame_is_an_error(frame in dot11(), at: prop::sample::Index, bit in 0u8..8) {
        let mut bytes = frame.emit();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        prop_assert!(Dot11Repr::parse(&bytes).is_err());
    }

    #[test]
    fn every_cut_of_a_frame_is_an_error(frame in dot11(), at: prop::sample::Index) {
        let bytes = frame.emit();
        prop_assert!(Dot11Repr::parse(&bytes[..at.index(bytes.len())]).is_err());
    }

    #[test]
    fn no_damage_to_a_frame_makes_the_reader_panic(
        frame in dot11(), damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let mut bytes = frame.emit();
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(read) = Dot11Repr::parse_unchecked(&bytes) {
            let again = Dot11Repr::parse(&read.emit()).unwrap();
            prop_assert!(again == read || !read.fits());
        }
    }

    #[test]
    fn no_bytes_make_the_readers_of_frames_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = Dot11Repr::parse_unchecked(&bytes);
        if let Ok((read, len)) = RadiotapRepr::parse(&bytes) {
            prop_assert!(len <= bytes.len());
            let written = read.emit();
            prop_assert_eq!(RadiotapRepr::parse(&written), Ok((read, written.len())));
        }
    }

    #[test]
    fn a_radiotap_header_is_read_back_with_its_length(
        header in radiotap(), behind in prop::collection::vec(any::<u8>(), 0..8), before in 0usize..9,
    ) {
        let mut bytes = vec![0x5a; before];
        header.emit_into(&mut bytes);
        let len = bytes.len() - before;
        prop_assert!(len <= 48, "alignment counts from the header's start");
        bytes.extend_from_slice(&behind);
        prop_assert_eq!(RadiotapRepr::parse(&bytes[before..]), Ok((header, len)));
        prop_assert!(RadiotapRepr::parse(&bytes[before..before + len - 1]).is_err());
    }
}

fn headers(p: &Packet) -> usize {
    (p.len().as_u64() - u64::from(p.payload_len)) as usize
}

#[test]
fn a_udp_checksum_that_comes_out_as_zero_is_sent_as_ones() {
    // The ports are chosen so that the words sum to 0xffff: 17 + 2 * 8 from pseudo-header and length, and the ports.
    let zero = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    let mut bytes = Vec::new();
    UdpRepr { src_port: 0xffff - 33, dst_port: 0, rtp: None }.emit_into(zero, zero, 0, &mut bytes);
    assert_eq!(bytes[6..], [0xff, 0xff]);
    let view = UdpView::new_checked(&bytes).unwrap();
    assert_eq!(view.check_checksum(zero, zero), Ok(()));
}

#[test]
fn a_missing_udp_checksum_is_right_over_ipv4_and_wrong_over_ipv6() {
    let udp = [0x12, 0x34, 0x00, 0x35, 0x00, 0x08, 0x00, 0x00];
    let view = UdpView::new_checked(&udp).unwrap();
    let v4 = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let v6 = IpAddr::V6(Ipv6Addr::LOCALHOST);
    assert_eq!(view.check_checksum(v4, v4), Ok(()));
    let error = view.check_checksum(v6, v6).unwrap_err();
    assert!(matches!(error, ParseError::BadChecksum { protocol: Protocol::Udp, found: 0, .. }));
}
