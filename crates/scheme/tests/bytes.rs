//! The same agents on real packets: what they write into values they also write into bytes, and nothing else changes.

#![allow(clippy::unwrap_used, missing_docs)]

#[path = "../../wire/tests/strategies/mod.rs"]
mod strategies;

use core::net::IpAddr;
use narrows_queue::{DropReason, Limit, QueueView, Verdict};
use narrows_scheme::acns::codec::IpMessage;
use narrows_scheme::acns::{AcnsConfig, AcnsRouter, Ipv6Encoding};
use narrows_scheme::ngwa::{NgwaConfig, NgwaMode, NgwaRouter, Stamp};
use narrows_scheme::{AgentCounters, BytesError, FlowCounts, Port, RouterAgent, on_bytes, on_departing_bytes};
use narrows_units::{Bytes, Duration, Instant, Packets, Rate};
use narrows_wire::{Ip, Packet, ParseError, RewriteError, TcpRepr, Transport};
use proptest::prelude::*;
use strategies::packet;

const PORT: Port = Port::new(1);

fn queue(bytes: u64, limit: Limit) -> QueueView {
    QueueView { bytes: Bytes::new(bytes), packets: Packets::new(bytes / 1000), limit, rate: Rate::mbps(10) }
}

fn in_bytes(bytes: u64) -> QueueView {
    queue(bytes, Limit::Bytes(Bytes::new(97_000)))
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// Creates one agent of every kind.
fn agents() -> Vec<Box<dyn RouterAgent>> {
    let mut agents: Vec<Box<dyn RouterAgent>> = Vec::new();
    for mode in 1..=8 {
        for stamp in [Stamp::Arrival, Stamp::Departure] {
            let config = NgwaConfig { mode: NgwaMode::new(mode).unwrap(), stamp, ..NgwaConfig::default() };
            agents.push(Box::new(NgwaRouter::new(&config)));
        }
    }
    for ipv6 in [Ipv6Encoding::Extension, Ipv6Encoding::FlowLabel] {
        agents.push(Box::new(AcnsRouter::new(&AcnsConfig { ipv6, ..AcnsConfig::default() })));
    }
    agents
}

/// Returns the bytes above the network header.
fn above(p: &Packet, bytes: &[u8]) -> Vec<u8> {
    bytes[p.ip.header_len()..].to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn an_agent_does_to_bytes_what_it_does_to_values(
        packets in prop::collection::vec(packet(0u32..200).prop_filter("fits", Packet::fits), 1..12),
        waiting in 0u64..120_000, limit in prop_oneof![Just(Limit::Packets(Packets::new(60))), Just(Limit::Bytes(Bytes::new(97_000)))],
    ) {
        let queue = queue(waiting, limit);
        for (mut on_values, mut on_wire) in agents().into_iter().zip(agents()) {
            // Twice, because ACNS sends no command to a flow without an age.
            for (n, &p) in packets.iter().chain(&packets).enumerate() {
                let (mut value, mut bytes) = (p, p.emit());
                let now = at(n as u64);
                let verdict = on_values.on_packet(&mut value, PORT, &queue, now);
                prop_assert_eq!(on_bytes(&mut *on_wire, &mut bytes, PORT, &queue, now), Ok(verdict));
                if on_values.sees_departures() {
                    on_values.on_departure(&mut value, PORT, &queue, now);
                }
                prop_assert_eq!(on_departing_bytes(&mut *on_wire, &mut bytes, PORT, &queue, now), Ok(()));
                prop_assert_eq!(Packet::parse(&bytes), Ok(value));
                prop_assert_eq!(above(&value, &bytes), above(&p, &p.emit()), "routers write into network headers alone");
            }
            prop_assert_eq!(on_values.counters(), on_wire.counters());
            let now = at(1_000);
            prop_assert_eq!(on_values.flow_counts(PORT, &queue, now), on_wire.flow_counts(PORT, &queue, now));
        }
    }

    #[test]
    fn bytes_that_are_no_packet_are_left(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        for mut agent in agents() {
            let mut left = bytes.clone();
            let arrived = on_bytes(&mut *agent, &mut left, PORT, &in_bytes(0), at(0));
            if arrived.is_err() {
                prop_assert_eq!(&left, &bytes);
                prop_assert_eq!(agent.counters(), AgentCounters::default());
            }
        }
    }
}

fn segment(payload_len: u32) -> Packet {
    let ip = Ip::between(IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
    Packet { ip, transport: Transport::Tcp(TcpRepr { src_port: 1, dst_port: 2, ..TcpRepr::default() }), payload_len }
}

fn mode_1() -> NgwaRouter {
    NgwaRouter::new(&NgwaConfig { mode: NgwaMode::new(1).unwrap(), ..NgwaConfig::default() })
}

/// Passes one packet through a router of mode 1 with 47,530 bytes free.
fn pass(bytes: &mut Vec<u8>) -> (Result<(), BytesError>, AgentCounters) {
    let mut router = mode_1();
    let queue = in_bytes(97_000 - 47_530);
    let passed = on_bytes(&mut router, bytes, PORT, &queue, at(0))
        .and_then(|_| on_departing_bytes(&mut router, bytes, PORT, &queue, at(1)));
    (passed, router.counters())
}

#[test]
fn the_option_of_the_vector_stands_in_the_bytes() {
    let mut bytes = segment(5).emit();
    assert_eq!(pass(&mut bytes).0, Ok(()));
    assert_eq!(bytes[20..28], [0x21, 0x06, 0x00, 0x00, 0xb9, 0xaa, 0x00, 0x00]);
    assert_eq!((bytes[0], bytes[3], bytes.len()), (0x47, 53, 53));
    assert!(Packet::parse(&bytes).is_ok());
}

#[test]
fn commands_of_acns_stand_in_the_bytes_of_both_ip_versions() {
    let six = |n| IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, n]);
    for ipv6 in [Ipv6Encoding::Extension, Ipv6Encoding::FlowLabel] {
        for ip in [segment(0).ip, Ip::between(six(1), six(2))] {
            let mut p = Packet { ip, ..segment(5) };
            IpMessage::Ask { ns: false }.encode(&mut p.ip, ipv6);
            let mut router = AcnsRouter::new(&AcnsConfig { ipv6, ..AcnsConfig::default() });
            for (ms, waiting, expected) in [
                (0, 97_000, IpMessage::Ask { ns: false }),
                (1, 18_500, IpMessage::Freeze),
                (2, 90_000, IpMessage::Fallback),
            ] {
                let mut bytes = p.emit();
                on_bytes(&mut router, &mut bytes, PORT, &in_bytes(waiting), at(ms)).unwrap();
                let left = Packet::parse(&bytes).unwrap();
                assert_eq!(IpMessage::decode(&left.ip, ipv6), expected, "{ipv6:?}");
                assert_eq!(bytes.len(), p.emit().len(), "a router of ACNS changes no length");
            }
            assert_eq!(router.counters(), [3, 1, 1, 0, 0, 0]);
        }
    }
}

#[test]
fn fragments_icmp_and_garbage_pass_untouched() {
    let mut fragment = segment(32).emit();
    fragment[6] = 0x20;
    let mut icmp = segment(32).emit();
    icmp[9] = 1;
    let mut longer = segment(32).emit();
    longer[2] = 9;
    let cases = [
        (fragment, ParseError::Fragment { offset: 0, more: true }),
        (icmp, ParseError::UnsupportedProtocol { number: 1 }),
        (vec![0x75; 60], ParseError::BadVersion { version: 7 }),
    ];
    for (bytes, error) in cases {
        let mut passed = bytes.clone();
        assert_eq!(pass(&mut passed), (Err(BytesError::Parse(error)), AgentCounters::default()));
        assert_eq!(passed, bytes);
    }
    let mut passed = longer.clone();
    assert!(pass(&mut passed).0.is_err() && passed == longer, "a packet that is longer than its bytes");
    let empty = on_bytes(&mut mode_1(), &mut Vec::new(), PORT, &in_bytes(0), at(0)).unwrap_err();
    assert_eq!(empty.to_string(), "the IP header is truncated: it needs 20 bytes and there are 0");
}

#[test]
fn a_damaged_header_is_not_made_to_look_sound() {
    let mut bytes = segment(5).emit();
    bytes[19] ^= 4;
    let expected = Packet::parse_unchecked(&bytes).unwrap();
    assert_eq!(pass(&mut bytes).0, Ok(()));
    assert!(matches!(Packet::parse(&bytes), Err(ParseError::BadChecksum { .. })));
    assert_eq!(Packet::parse_unchecked(&bytes).unwrap().ip.dst(), expected.ip.dst());
}

#[test]
fn a_segment_with_options_unknown_here_that_would_get_too_long_passes_as_it_is() {
    // The longest packet; 24 of its bytes are TCP options that a `Packet` does not hold.
    let mut bytes = segment(65_535 - 40).emit();
    bytes[32] = 11 << 4;
    bytes[40..64].copy_from_slice(&[254; 24]);
    bytes[41] = 24;
    let before = bytes.clone();
    let (result, _) = pass(&mut bytes);
    assert_eq!(result, Err(BytesError::Rewrite(RewriteError::TooLong { len: 65_543 })));
    assert_eq!(bytes, before);
}

/// An agent that drops what it has changed, or changes what is not its own.
#[derive(Debug)]
struct Bad {
    drops: bool,
}

impl RouterAgent for Bad {
    fn on_packet(&mut self, packet: &mut Packet, _port: Port, _queue: &QueueView, _now: Instant) -> Verdict {
        packet.ip.set_dscp(9);
        if self.drops {
            return Verdict::Drop(DropReason::Early);
        }
        packet.payload_len += 1;
        Verdict::Pass
    }

    fn flow_counts(&self, _port: Port, _queue: &QueueView, _now: Instant) -> FlowCounts {
        FlowCounts::default()
    }

    fn counters(&self) -> AgentCounters {
        AgentCounters::default()
    }
}

#[test]
fn a_dropped_packet_and_a_forbidden_change_leave_the_bytes() {
    let bytes = segment(5).emit();
    let mut passed = bytes.clone();
    let dropped = on_bytes(&mut Bad { drops: true }, &mut passed, PORT, &in_bytes(0), at(0));
    assert_eq!(dropped, Ok(Verdict::Drop(DropReason::Early)));
    let refused = on_bytes(&mut Bad { drops: false }, &mut passed, PORT, &in_bytes(0), at(0));
    assert_eq!(refused, Err(BytesError::Rewrite(RewriteError::Fixed { field: "payload length" })));
    assert_eq!(on_departing_bytes(&mut Bad { drops: false }, &mut passed, PORT, &in_bytes(0), at(0)), Ok(()));
    assert_eq!(passed, bytes);
}
