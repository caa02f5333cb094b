//! Invariants for any option area and any packet given to the router parts of schemes. Each function panics if one is
//! violated.

use narrows_queue::{Limit, QueueView, Verdict};
use narrows_scheme::acns::{AcnsConfig, AcnsRouter, Ipv6Encoding};
use narrows_scheme::ngwa::codec::{KIND, Message, Written, read, write};
use narrows_scheme::ngwa::{NgwaConfig, NgwaMode, NgwaRouter, Stamp};
use narrows_scheme::{BytesError, Port, RouterAgent, on_bytes as arrive, on_departing_bytes as depart};
use narrows_units::{Bytes, Duration, Instant, Packets, Rate};
use narrows_wire::{Ip, Ipv4Options, Ipv4View, Ipv6View, Packet, TcpView, UdpView};

/// Splits an input: the first four bytes are a node's value, the rest is an option area; `None` if it is not a valid
/// one.
pub fn value_and_area(bytes: &[u8]) -> Option<(u32, Ipv4Options)> {
    let (value, area) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_be_bytes(*value), Ipv4Options::new(area)?))
}

/// The options of an area up to the end of the list, in order, without NOPs; `None` if one overruns the area.
/// Implemented independently here, so that it can differ from the code under test.
fn walk(area: &[u8]) -> Option<Vec<&[u8]>> {
    let mut options = Vec::new();
    let mut rest = area;
    loop {
        match *rest {
            [] | [0, ..] => return Some(options),
            [1, ..] => rest = &rest[1..],
            [_, len, ..] if len >= 2 && usize::from(len) <= rest.len() => {
                let (option, after) = rest.split_at(usize::from(len));
                options.push(option);
                rest = after;
            }
            _ => return None,
        }
    }
}

/// A written value is the smaller of itself and the value present; other options stay byte for byte and in order; an
/// area that is malformed, or has no room, is left unchanged.
pub fn ngwa(bytes: &[u8]) {
    let Some((value, before)) = value_and_area(bytes) else { return };
    let said = read(&before);
    let mut after = before;
    let written = write(&mut after, value);
    assert!(after.len() >= before.len() && after.len() <= 40 && after.len() % 4 == 0);
    let (told, changed) = (read(&after), after != before);
    match (said, written) {
        (Message::Absent, Written::Inserted) => assert!(changed && told == Message::Window(value)),
        (Message::Window(old), Written::Lowered) => assert!(changed && value < old && told == Message::Window(value)),
        (Message::Window(old), Written::Kept) => assert!(!changed && old <= value),
        (Message::Absent, Written::Full) | (Message::Malformed, Written::Malformed) => assert!(!changed),
        other => panic!("{other:?} of {before:?}"),
    }
    assert!(after.len() == before.len() || written == Written::Inserted);
    if let Some(options) = walk(before.as_bytes()) {
        let walked = walk(after.as_bytes()).expect("what could be walked through still can");
        let others =
            |options: &[&[u8]]| options.iter().filter(|o| o[0] != KIND).map(|o| o.to_vec()).collect::<Vec<_>>();
        assert_eq!(others(&walked), others(&options));
        match options.iter().find(|o| o[0] == KIND) {
            None => assert_eq!(said, Message::Absent),
            Some(&&[_, 6, a, b, c, d]) => assert_eq!(said, Message::Window(u32::from_be_bytes([a, b, c, d]))),
            Some(_) => assert_eq!(said, Message::Malformed),
        }
        if written == Written::Full {
            let used: usize = before.len() - trailing(before.as_bytes());
            assert!(used + 6 > 40, "there was room behind {used} bytes: {before:?}");
        }
    }
    // Writing again changes nothing; a node further on with more room does not raise the value.
    if let Message::Window(told) = told {
        for more in [told, u32::MAX] {
            let mut again = after;
            assert_eq!((write(&mut again, more), again), (Written::Kept, after));
        }
    }
}

/// Number of bytes from the end of the list on, in a well-formed area.
fn trailing(area: &[u8]) -> usize {
    let mut rest = area;
    loop {
        match *rest {
            [] | [0, ..] => return rest.len(),
            [1, ..] => rest = &rest[1..],
            [_, len, ..] => rest = &rest[usize::from(len)..],
            _ => return 0,
        }
    }
}

/// An NGWA router that writes its free bytes at arrival, one that writes shares at departure, and ACNS with each of its
/// IPv6 message encodings.
fn agents() -> [Box<dyn RouterAgent>; 4] {
    let ngwa = |number, stamp| {
        let mode = NgwaMode::new(number).expect("1 to 8");
        Box::new(NgwaRouter::new(&NgwaConfig { mode, stamp, ..NgwaConfig::default() }))
    };
    let acns = |ipv6| Box::new(AcnsRouter::new(&AcnsConfig { ipv6, ..AcnsConfig::default() }));
    [ngwa(1, Stamp::Arrival), ngwa(6, Stamp::Departure), acns(Ipv6Encoding::Extension), acns(Ipv6Encoding::FlowLabel)]
}

/// The first byte is the occupancy of the queue, in per cent of 97,000 bytes; the rest is a packet.
pub fn queue_and_packet(bytes: &[u8]) -> Option<(QueueView, &[u8])> {
    let (&percent, packet) = bytes.split_first()?;
    let waiting = u64::from(percent) * 970;
    let limit = Limit::Bytes(Bytes::new(97_000));
    Some((
        QueueView { bytes: Bytes::new(waiting), packets: Packets::new(waiting / 970), limit, rate: Rate::mbps(2) },
        packet,
    ))
}

/// Whether the checksums of the network header and of the transport are right, and the ends of the network header and
/// of the packet.
fn state(bytes: &[u8], packet: &Packet) -> ([bool; 2], [usize; 2]) {
    let (src, dst) = (packet.ip.src(), packet.ip.dst());
    let (network, above, ends) = match &packet.ip {
        Ip::V4(_) => {
            let view = Ipv4View::new_checked(bytes).expect("a packet");
            (view.check_checksum().is_ok(), view.payload().to_vec(), [view.header_len(), view.total_len()])
        }
        Ip::V6(_) => {
            let view = Ipv6View::new_checked(bytes).expect("a packet");
            (true, view.payload().to_vec(), [view.header_len(), 40 + view.payload_len()])
        }
    };
    let transport = if packet.tcp().is_some() {
        TcpView::new_checked(&above[..]).expect("a segment").check_checksum(src, dst)
    } else {
        UdpView::new_checked(&above[..]).expect("a datagram").check_checksum(src, dst)
    };
    ([network, transport.is_ok()], ends)
}

/// A router may change only the ECN field of a packet, the fields that hold a scheme's message, and lengths and
/// checksum with them. Right checksums stay right and wrong ones wrong; bytes above the network header and after the
/// packet stay.
pub fn on_bytes(bytes: &[u8]) {
    let Some((queue, bytes)) = queue_and_packet(bytes) else { return };
    for mut agent in agents() {
        let (agent, port) = (&mut *agent, Port::default());
        // ACNS sends a flow no message before the flow has an age.
        for seconds in 0..2 {
            let now = Instant::ZERO + Duration::from_secs(seconds);
            let mut left = bytes.to_vec();
            let passed = arrive(agent, &mut left, port, &queue, now)
                .and_then(|verdict| depart(agent, &mut left, port, &queue, now).map(|()| verdict));
            match passed {
                Ok(verdict) => {
                    assert_eq!(verdict, Verdict::Pass);
                    check(bytes, &left);
                }
                Err(error) => {
                    assert!(error.to_string().starts_with("the "), "{error:?}");
                    assert_eq!(left, bytes);
                    assert!(matches!(error, BytesError::Rewrite(_)) || Packet::parse_unchecked(bytes).is_err());
                }
            }
        }
    }
}

fn check(before: &[u8], after: &[u8]) {
    let old = Packet::parse_unchecked(before).expect("an agent was shown it");
    let new = Packet::parse_unchecked(after).expect("a router leaves a packet");
    let ((sums, ends), (new_sums, new_ends)) = (state(before, &old), state(after, &new));
    assert_eq!(new_sums, sums, "wrong checksums stay wrong, and right ones right");
    assert_eq!(after[new_ends[0]..], before[ends[0]..], "what is above IP, and behind it");
    assert_eq!(new_ends[1] - new_ends[0], ends[1] - ends[0]);
    assert_eq!((new.transport, new.payload_len), (old.transport, old.payload_len));
    let mut expected = old.ip;
    expected.set_ecn(new.ip.ecn());
    match (&mut expected, &new.ip) {
        (Ip::V4(e), Ip::V4(n)) => {
            if let (Message::Window(old), told) = (read(&e.options), read(&n.options)) {
                assert!(matches!(told, Message::Window(new) if new <= old), "{told:?} after {old}");
            }
            (e.options, e.reserved_flag) = (n.options, n.reserved_flag);
        }
        (Ip::V6(e), Ip::V6(n)) => {
            assert_eq!(e.hop_by_hop.map(|o| o.kind), n.hop_by_hop.map(|o| o.kind));
            (e.flow_label, e.hop_by_hop) = (n.flow_label, n.hop_by_hop);
        }
        _ => panic!("another IP version"),
    }
    assert_eq!(expected, new.ip);
}
