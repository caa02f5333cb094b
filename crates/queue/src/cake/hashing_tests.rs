use super::*;
use narrows_rng::Stream;
use narrows_units::Bytes;
use narrows_wire::{Ip, Transport, UdpRepr};

/// The n-th hash whose own place is 5, in the set of places 0 to 7.
fn hash(n: u64) -> u64 {
    5 << 54 | n
}

#[test]
fn eight_flows_of_a_set_have_eight_sub_queues_and_the_ninth_collides() {
    let mut table = Table::new();
    let mut used = Vec::new();
    for n in 1..=8 {
        let (place, found) = table.take(hash(n), |place| used.contains(&place));
        assert_eq!(found, Found::Miss);
        used.push(place);
    }
    assert_eq!(used, [5, 6, 7, 0, 1, 2, 3, 4], "from their own place on");
    let mut take = |n, used: &[usize]| table.take(hash(n), |place| used.contains(&place));
    assert_eq!(take(1, &used), (5, Found::Direct));
    assert_eq!(take(4, &used), (0, Found::Hit));
    assert_eq!(take(9, &used), (5, Found::Collision), "at its own place");
    assert_eq!(take(9, &used), (5, Found::Direct), "which is now its own");
    used.retain(|&place| place != 7);
    assert_eq!(take(10, &used), (7, Found::Miss));
    assert_eq!(take(2, &[]), (6, Found::Hit), "an idle place is still known by its tag");
}

/// Sub-queues of packets between two sources and two destinations, with two ports each.
fn sub_queues(mode: FlowMode) -> Vec<u32> {
    let mut classifier = Classifier::new(mode, FlowHash::new(&mut Stream::new(1, 0, "test", "hashing")));
    let mut scheduler = Scheduler::new(mode, Bytes::new(1_514));
    let mut found = Vec::new();
    for [source, destination, port] in (0..8_u8).map(|bits| [bits >> 2 & 1, bits >> 1 & 1, bits & 1]) {
        let packet = Packet {
            ip: Ip::between([10, 0, 0, source].into(), [10, 0, 1, destination].into()),
            transport: Transport::Udp(UdpRepr { src_port: u16::from(port), dst_port: 9, rtp: None }),
            payload_len: 1_000,
        };
        let number = classifier.find(&packet, &mut scheduler);
        assert_eq!(classifier.find(&packet, &mut scheduler), number);
        scheduler.arrived(number, &mut Stream::new(1, 0, "test", "cake"));
        found.push(number);
    }
    found
}

#[test]
fn modes_tell_packets_apart_by_hosts_or_by_flows() {
    for (mode, count, groups) in [
        (FlowMode::Flowblind, 1, [0, 0, 0, 0, 0, 0, 0, 0]),
        (FlowMode::Srchost, 2, [0, 0, 0, 0, 4, 4, 4, 4]),
        (FlowMode::Dsthost, 2, [0, 0, 2, 2, 0, 0, 2, 2]),
        (FlowMode::Hosts, 4, [0, 0, 2, 2, 4, 4, 6, 6]),
        (FlowMode::Flows, 8, [0, 1, 2, 3, 4, 5, 6, 7]),
        (FlowMode::DualSrchost, 8, [0, 1, 2, 3, 4, 5, 6, 7]),
        (FlowMode::DualDsthost, 8, [0, 1, 2, 3, 4, 5, 6, 7]),
        (FlowMode::TripleIsolate, 8, [0, 1, 2, 3, 4, 5, 6, 7]),
    ] {
        let found = sub_queues(mode);
        let first = |number| found.iter().position(|&other| other == number).unwrap();
        assert_eq!(found.iter().map(|&number| first(number)).collect::<Vec<_>>(), groups, "{mode:?}");
        let mut distinct = found.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), count);
    }
}
