//! Invariants for any bytes given to the packet readers. Each function panics if one is violated.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use narrows_wire::{
    Dot11Repr, Ecn, Ipv4Repr, Ipv4View, Ipv6Repr, Ipv6View, Packet, ParseError, RadiotapRepr, TcpFlags, TcpRepr,
    TcpView, UdpRepr, UdpView,
};

/// Addresses assumed for a segment or datagram without an IP header.
const PATHS: [(IpAddr, IpAddr); 2] = [
    (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2))),
    (IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1)), IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2))),
];

/// An error is displayed as a sentence.
fn is_a_sentence(error: ParseError) {
    assert!(error.to_string().starts_with("the "), "{error:?}");
}

/// A parsed packet is emitted and read again as the same, as far as its values fit their fields.
pub fn packet(bytes: &[u8]) {
    let unchecked = Packet::parse_unchecked(bytes);
    match Packet::parse(bytes) {
        Ok(p) => assert_eq!(unchecked, Ok(p), "checksums decide about yes and no alone"),
        Err(error) => is_a_sentence(error),
    }
    let Ok(read) = unchecked else { return };
    let written = read.emit();
    let again = Packet::parse(&written).expect("what is written can be read");
    assert_eq!(again == read, read.fits());
    assert_eq!(written.len() as u64, again.len().as_u64());
    assert_eq!(again.emit(), written);
}

/// A view never leaves its bytes; setters change only their own field, and keep right checksums right and wrong ones
/// wrong.
pub fn ipv4(bytes: &[u8]) {
    let view = match Ipv4View::new_checked(bytes) {
        Ok(view) => view,
        Err(error) => return is_a_sentence(error),
    };
    assert_eq!(view.header_len() + view.payload().len(), view.total_len());
    let right = view.check_checksum().is_ok();
    let mut copy = bytes.to_vec();
    let mut changed = Ipv4View::new_checked(&mut copy[..]).expect("the same bytes");
    changed.set_ecn(Ecn::Ce);
    changed.set_dscp(!view.dscp());
    changed.set_reserved_flag(!view.reserved_flag());
    changed.set_ttl(view.ttl().wrapping_sub(1));
    assert_eq!(changed.check_checksum().is_ok(), right);
    assert_eq!(changed.payload(), view.payload());
    changed.set_ecn(view.ecn());
    changed.set_dscp(view.dscp());
    changed.set_reserved_flag(view.reserved_flag());
    changed.set_ttl(view.ttl());
    let Ok(repr) = Ipv4Repr::from_view(&view) else { return };
    assert_eq!(Ipv4Repr::from_view(&changed), Ok(repr), "set back, the values are what they were");
    let mut written = Vec::new();
    repr.emit_into(view.protocol(), view.payload().len(), &mut written);
    written.extend_from_slice(view.payload());
    let again = Ipv4View::new_checked(&written[..]).expect("what is written can be read");
    assert_eq!(again.check_checksum(), Ok(()));
    assert_eq!((Ipv4Repr::from_view(&again), again.payload()), (Ok(repr), view.payload()));
}

/// A view never leaves its bytes, and setters change only their own field.
pub fn ipv6(bytes: &[u8]) {
    let view = match Ipv6View::new_checked(bytes) {
        Ok(view) => view,
        Err(error) => return is_a_sentence(error),
    };
    assert_eq!(view.header_len() + view.payload().len(), 40 + view.payload_len());
    let mut copy = bytes.to_vec();
    let mut changed = Ipv6View::new_checked(&mut copy[..]).expect("the same bytes");
    changed.set_ecn(Ecn::Ect1);
    changed.set_dscp(!view.dscp());
    changed.set_flow_label(!view.flow_label());
    changed.set_hop_limit(view.hop_limit().wrapping_sub(1));
    assert_eq!(changed.set_hop_by_hop_data(0x0102_0304), view.hop_by_hop().is_some());
    assert_eq!(changed.hop_by_hop().map(|o| (o.kind, o.data)), view.hop_by_hop().map(|o| (o.kind, 0x0102_0304)));
    assert_eq!((changed.protocol(), changed.payload()), (view.protocol(), view.payload()));
    changed.set_ecn(view.ecn());
    changed.set_dscp(view.dscp());
    changed.set_flow_label(view.flow_label());
    changed.set_hop_limit(view.hop_limit());
    changed.set_hop_by_hop_data(view.hop_by_hop().map_or(0, |o| o.data));
    assert_eq!(copy, bytes, "set back, the bytes are what they were");
    // A second hop-by-hop header (protocol 0) makes no valid packet; emitted after a plain header it would be read as
    // the first.
    if let Ok(repr) = Ipv6Repr::from_view(&view)
        && view.protocol() != 0
    {
        let mut written = Vec::new();
        repr.emit_into(view.protocol(), view.payload().len(), &mut written);
        written.extend_from_slice(view.payload());
        let again = Ipv6View::new_checked(&written[..]).expect("what is written can be read");
        assert_eq!((Ipv6Repr::from_view(&again), again.payload()), (Ok(repr), view.payload()));
    }
}

/// A filled checksum is right, and stays right when flags and window change.
pub fn tcp(bytes: &[u8]) {
    let view = match TcpView::new_checked(bytes) {
        Ok(view) => view,
        Err(error) => return is_a_sentence(error),
    };
    assert_eq!(20 + view.options().len() + view.payload().len(), bytes.len());
    for (src, dst) in PATHS {
        let mut copy = bytes.to_vec();
        let mut changed = TcpView::new_checked(&mut copy[..]).expect("the same bytes");
        changed.fill_checksum(src, dst);
        assert_eq!(changed.check_checksum(src, dst), Ok(()));
        if view.check_checksum(src, dst).is_ok() {
            // Zero has two forms in ones' complement.
            let forms = [changed.checksum(), !changed.checksum()];
            assert!(changed.checksum() == view.checksum() || forms == [0, 0xffff] || forms == [0xffff, 0]);
        }
        changed.set_flags(view.flags().with(TcpFlags::RESERVED_0X200).without(TcpFlags::ACK));
        changed.set_window(!view.window());
        assert_eq!(changed.check_checksum(src, dst), Ok(()));
        assert_eq!((changed.window(), changed.header_len()), (!view.window(), view.header_len()));
        match TcpRepr::from_view(&view) {
            Ok(repr) => {
                let mut written = Vec::new();
                repr.emit_into(src, dst, view.payload().len(), &mut written);
                assert_eq!(written.len(), repr.header_len());
                written.resize(written.len() + view.payload().len(), 0);
                let again = TcpView::new_checked(&written[..]).expect("what is written can be read");
                assert_eq!(again.check_checksum(src, dst), Ok(()));
                assert_eq!(TcpRepr::from_view(&again) == Ok(repr), repr.options.fits());
            }
            Err(error) => is_a_sentence(error),
        }
    }
}

/// A filled checksum is right, and the datagram ends at its own length.
pub fn udp(bytes: &[u8]) {
    let view = match UdpView::new_checked(bytes) {
        Ok(view) => view,
        Err(error) => return is_a_sentence(error),
    };
    assert_eq!(8 + view.payload().len(), view.total_len());
    for (src, dst) in PATHS {
        let mut copy = bytes.to_vec();
        let mut changed = UdpView::new_checked(&mut copy[..]).expect("the same bytes");
        changed.fill_checksum(src, dst);
        assert_eq!(changed.check_checksum(src, dst), Ok(()));
        assert_ne!(changed.checksum(), 0);
        if view.checksum() != 0 {
            assert_eq!(view.check_checksum(src, dst).is_ok(), view.checksum() == changed.checksum());
        }
        let repr = UdpRepr::from_view(&view);
        let mut written = Vec::new();
        repr.emit_into(src, dst, view.payload().len(), &mut written);
        written.resize(view.total_len(), 0);
        let again = UdpView::new_checked(&written[..]).expect("what is written can be read");
        assert_eq!((UdpRepr::from_view(&again), again.check_checksum(src, dst)), (repr, Ok(())));
    }
}

/// A parsed frame is emitted and read again as the same; FCS and checksums decide only whether it is accepted.
pub fn dot11(bytes: &[u8]) {
    let unchecked = Dot11Repr::parse_unchecked(bytes);
    match Dot11Repr::parse(bytes) {
        Ok(frame) => assert_eq!(unchecked, Ok(frame), "checks decide about yes and no alone"),
        Err(error) => is_a_sentence(error),
    }
    let Ok(read) = unchecked else { return };
    let written = read.emit();
    let again = Dot11Repr::parse(&written).expect("what is written can be read");
    assert_eq!(again == read, read.fits());
    assert_eq!(again.emit(), written);
    let mut damaged = written;
    if let Some(byte) = damaged.get_mut(4) {
        *byte ^= 0x10;
    }
    assert!(matches!(Dot11Repr::parse(&damaged), Err(ParseError::BadFcs { .. })), "a flipped bit of an address");
}

/// A parsed header is emitted and read again as the same, whatever follows it.
pub fn radiotap(bytes: &[u8]) {
    let (read, len) = match RadiotapRepr::parse(bytes) {
        Ok(read) => read,
        Err(error) => return is_a_sentence(error),
    };
    assert!((8..=bytes.len()).contains(&len));
    let mut written = read.emit();
    let emitted = written.len();
    written.extend_from_slice(&bytes[len..]);
    assert_eq!(RadiotapRepr::parse(&written), Ok((read, emitted)));
}
