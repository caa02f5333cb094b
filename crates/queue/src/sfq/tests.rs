#![allow(clippy::unwrap_used)]
use super::*;
use core::net::{IpAddr, Ipv4Addr};
use narrows_wire::{Ip, Transport, UdpRepr};

fn queue(limit: u64, config: SfqConfig) -> Sfq {
    Sfq::new(Limit::Packets(Packets::new(limit)), config, Stream::new(1, 0, "test", "sfq"))
}

/// A packet of a flow; its size identifies it.
fn packet(flow: u16, size: u32) -> Packet {
    let host = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let ports = UdpRepr { src_port: flow, dst_port: 9, rtp: None };
    Packet { ip: Ip::between(host, host), transport: Transport::Udp(ports), payload_len: size - 28 }
}

fn name(packet: &Packet) -> (u16, u64) {
    (packet.flow().src_port, packet.len().as_u64())
}

/// Offers packets; flow and size of those that were dropped.
fn put(queue: &mut Sfq, packets: &[(u16, u32)]) -> Vec<(u16, u64)> {
    let mut dropped = Vec::new();
    for &(flow, size) in packets {
        queue.enqueue(packet(flow, size), Instant::ZERO, &mut dropped);
    }
    dropped.iter().map(|d| name(&d.packet)).collect()
}

fn next(queue: &mut Sfq) -> Option<(u16, u64)> {
    queue.dequeue(Instant::ZERO, &mut Vec::new()).map(|out| name(&out.packet))
}

#[test]
fn defaults_of_the_row_are_those_of_the_type() {
    assert_eq!(SfqConfig::of(&Params::defaults(PARAMS)), SfqConfig::default());
}

#[test]
fn the_longest_sub_queue_loses_its_last_packet() {
    let packets = [(1, 101), (1, 102), (1, 103), (2, 201), (2, 202), (3, 301)];
    for (headdrop, lost) in [(false, (1, 103)), (true, (1, 101))] {
        let mut queue = queue(5, SfqConfig { headdrop, ..SfqConfig::default() });
        assert_eq!(put(&mut queue, &packets), [lost]);
        assert_eq!((queue.longest, queue.view().packets), (2, Packets::new(5)));
    }
}

#[test]
fn of_equal_lengths_the_latest_to_reach_it_loses() {
    // Lengths 2, 2 and 1. `sfq_drop` takes the first of the list of the longest, and `sfq_link` adds at its front:
    // flow 2 loses (length 1), then flow 1, which is alone with two packets.
    let mut queue = queue(4, SfqConfig::default());
    assert_eq!(put(&mut queue, &[(1, 101), (1, 102), (2, 201), (2, 202), (3, 301), (4, 401)]), [(2, 202), (1, 102)]);
    assert_eq!(queue.longest, 1);
}

#[test]
fn among_single_packets_the_next_turn_loses() {
    let mut queue = queue(2, SfqConfig::default());
    assert_eq!(put(&mut queue, &[(1, 101), (2, 201), (3, 301)]), [(1, 101)]);
    assert_eq!([next(&mut queue), next(&mut queue), next(&mut queue)], [Some((2, 201)), Some((3, 301)), None]);
    assert_eq!((queue.longest, queue.turns.len()), (0, 0));
}

#[test]
fn turns_share_the_link_by_bytes() {
    // Allotments of 1000 bytes. Flow 1: 1000 - 600 - 600 = -200, and 800 for its next turn, which 600 and 600 use up
    // (-400). Flow 2: four packets of 300 leave -200, in the next turn three leave 800 - 900 = -100.
    let mut queue = queue(100, SfqConfig { quantum: Bytes::new(1000), ..SfqConfig::default() });
    put(&mut queue, &[(1, 600); 10]);
    put(&mut queue, &[(2, 300); 20]);
    let flows: Vec<_> = (0..11).map(|_| next(&mut queue).unwrap().0).collect();
    assert_eq!(flows, [1, 1, 2, 2, 2, 2, 1, 1, 2, 2, 2]);
}

#[test]
fn a_full_sub_queue_drops_by_headdrop() {
    for depth in [1, 2] {
        let config = SfqConfig { depth, ..SfqConfig::default() };
        let packets = [(1, 101), (1, 102), (1, 103)];
        let mut tail = queue(100, config);
        assert_eq!(put(&mut tail, &packets), [(1, 102), (1, 103)][depth - 1..]);
        let mut head = queue(100, SfqConfig { headdrop: true, ..config });
        assert_eq!(put(&mut head, &packets), [(1, 101), (1, 102)][..3 - depth]);
        assert_eq!((head.turns.len(), head.longest), (1, depth));
    }
}

#[test]
fn further_sub_queues_than_flows_get_no_turn() {
    let mut queue = queue(100, SfqConfig { flows: 2, ..SfqConfig::default() });
    assert_eq!(put(&mut queue, &[(1, 101), (2, 201), (3, 301), (1, 102)]), [(3, 301)]);
}

#[test]
fn a_perturbation_keeps_packets_and_their_order() {
    let perturb = Duration::from_secs(10);
    let mut queue = queue(1000, SfqConfig { perturb, ..SfqConfig::default() });
    assert_eq!(queue.next_timer(), Some(Instant::NEVER));
    let packets: Vec<_> = (0..60).map(|n| (n % 6, 100 + u32::from(n))).collect();
    put(&mut queue, &packets);
    let before = queue.number(&packet(1, 100));
    let (due, mut dropped) = (Instant::ZERO + perturb, Vec::new());
    assert_eq!(queue.next_timer(), Some(due));
    queue.on_timer(due, &mut dropped);
    assert!(dropped.is_empty() && queue.number(&packet(1, 100)) != before);
    assert_eq!((queue.view().packets, queue.next_timer()), (Packets::new(60), Some(due + perturb)));
    let first = queue.dequeue(due, &mut dropped).unwrap();
    assert_eq!(first.enqueued, Instant::ZERO);
    let mut seen: Vec<_> =
        core::iter::once(name(&first.packet)).chain(core::iter::from_fn(|| next(&mut queue))).collect();
    assert_eq!(seen.len(), 60);
    seen.sort_by_key(|&(flow, _)| flow);
    assert!(
        seen.windows(2).all(|pair| pair[0].0 != pair[1].0 || pair[0].1 < pair[1].1),
        "a stable sort shows the order"
    );
    queue.on_timer(due + perturb, &mut dropped);
    assert_eq!(queue.next_timer(), Some(Instant::NEVER), "nothing waits");
}

#[test]
fn the_owner_counts_a_packet_where_it_came_in() {
    let mut queue = queue(1000, SfqConfig { perturb: Duration::from_secs(1), ..SfqConfig::default() });
    let label = queue.enqueue(packet(1, 100), Instant::ZERO, &mut Vec::new()).subqueue;
    queue.on_timer(Instant::ZERO + Duration::from_secs(1), &mut Vec::new());
    assert_eq!(queue.dequeue(Instant::ZERO, &mut Vec::new()).unwrap().subqueue, label);
}

#[test]
fn a_short_perturbation_is_refused() {
    let refused = |perturb| {
        let mut params = Params::defaults(PARAMS);
        params.set("perturb", crate::registry::Value::Time(perturb));
        fit(&mut params, Limit::Packets(Packets::new(9))).is_err()
    };
    assert!(refused(Duration::from_micros(999)));
    assert!(!refused(Duration::ZERO) && !refused(Duration::from_millis(1)));
}
