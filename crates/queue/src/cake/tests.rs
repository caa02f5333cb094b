use super::*;
use crate::cake::{Atm, FlowMode};
use narrows_wire::{Ecn, Ip, Transport, UdpRepr};

const LIMIT: Limit = Limit::Packets(Packets::new(10_000));

fn queue(limit: Limit, config: CakeConfig) -> Cake {
    Cake::new(limit, config, Stream::new(1, 0, "test", "cake"))
}

/// A packet of flow `flow` from one host to another.
fn between(source: u8, destination: u8, flow: u16, size: u32) -> Packet {
    let mut ip = Ip::between([10, 0, 0, source].into(), [10, 0, 1, destination].into());
    ip.set_ecn(Ecn::NotEct);
    Packet { ip, transport: Transport::Udp(UdpRepr { src_port: flow, dst_port: 9, rtp: None }), payload_len: size - 28 }
}

fn us(us: u64) -> Instant {
    Instant::from_nanos(1_000 * us)
}

fn put(queue: &mut Cake, packet: Packet, count: usize) -> Vec<Dropped> {
    let mut dropped = Vec::new();
    (0..count).for_each(|_| _ = queue.enqueue(packet, Instant::ZERO, &mut dropped));
    dropped
}

fn state(queue: &Cake, name: &str) -> f64 {
    let mut found = f64::NAN;
    queue.state(&mut |variable, value| {
        if variable == name {
            found = value;
        }
    });
    found
}

/// Packets of each source among the next `count`, all at one time.
fn by_source(queue: &mut Cake, count: usize) -> [usize; 2] {
    let mut sent = [0; 2];
    for _ in 0..count {
        let next = queue.dequeue(Instant::ZERO, &mut Vec::new()).unwrap();
        sent[usize::from(next.packet.ip.src() == std::net::IpAddr::from([10, 0, 0, 2]))] += 1;
    }
    sent
}

#[test]
fn hosts_share_the_link_before_flows_do() {
    // Source 1 has eight flows and source 2 one, to destinations of their own.
    for (flowmode, least) in [
        (FlowMode::TripleIsolate, 880..=920),
        (FlowMode::DualSrchost, 880..=920),
        (FlowMode::Flows, 190..=210),
        (FlowMode::DualDsthost, 190..=210),
        (FlowMode::Srchost, 895..=905),
    ] {
        let mut queue = queue(LIMIT, CakeConfig { flowmode, ..CakeConfig::default() });
        for flow in 0..8 {
            put(&mut queue, between(1, 10 + flow as u8, flow, 1_500), 300);
        }
        put(&mut queue, between(2, 30, 8, 1_500), 1_000);
        let sent = by_source(&mut queue, 1_800);
        assert!(least.contains(&sent[1]), "{flowmode:?}: {sent:?}");
    }
}

#[test]
fn packets_leave_at_the_times_of_the_shaper() {
    // A byte per microsecond. 960 bytes with an overhead of 40 take 1000 us, and in 21 cells of 53 bytes 1113 us.
    for (atm, gap) in [(Atm::Noatm, 1_000), (Atm::Atm, 1_113)] {
        let config = CakeConfig { bandwidth: Rate::mbps(8), overhead: 40, atm, ..CakeConfig::default() };
        let mut queue = queue(LIMIT, config);
        assert_eq!(queue.next_timer(), Some(Instant::NEVER));
        put(&mut queue, between(1, 2, 3, 960), 3);
        let mut dropped = Vec::new();
        for n in 0..3 {
            let due = us(n * gap);
            if n > 0 {
                assert!(queue.dequeue(us(n * gap - 1), &mut dropped).is_none());
                assert_eq!(queue.next_timer(), Some(due));
                assert_eq!(state(&queue, "throttled").to_bits(), 1_f64.to_bits());
                queue.on_timer(due, &mut dropped);
            }
            assert!(queue.dequeue(due, &mut dropped).is_some());
        }
        assert!(queue.dequeue(us(3 * gap), &mut dropped).is_none());
        assert_eq!(queue.next_timer(), Some(Instant::NEVER), "nothing waits");
    }
    assert_eq!(queue(LIMIT, CakeConfig::default()).next_timer(), None, "without a shaper there is no timer");
}

#[test]
fn the_longest_sub_queue_pays() {
    let mut queue = queue(Limit::Packets(Packets::new(10)), CakeConfig::default());
    assert!(put(&mut queue, between(1, 2, 1, 1_000), 6).is_empty());
    assert!(put(&mut queue, between(1, 2, 2, 500), 4).is_empty());
    let dropped = put(&mut queue, between(1, 2, 2, 500), 2);
    let flows: Vec<_> = dropped.iter().map(|drop| drop.packet.flow().src_port).collect();
    assert_eq!(flows, [1, 1], "the one with more bytes, not the one that grows");
    assert!(dropped.iter().all(|drop| drop.reason == DropReason::Overflow));
    assert_eq!(state(&queue, "unresponsive_flows").to_bits(), 1_f64.to_bits(), "its BLUE drops now");
    assert_eq!(queue.view().packets, Packets::new(10));
}

#[test]
fn memory_counts_as_the_limit_does() {
    let mut queue = queue(LIMIT, CakeConfig { memlimit: Bytes::new(5_000), ..CakeConfig::default() });
    assert!(put(&mut queue, between(1, 2, 1, 1_000), 5).is_empty());
    assert_eq!(put(&mut queue, between(1, 2, 2, 1_000), 1).len(), 1);
    assert_eq!(queue.view().bytes, Bytes::new(5_000));
}

#[test]
fn a_flow_that_sends_little_does_not_wait_for_one_that_fills_the_link() {
    let mut queue = queue(LIMIT, CakeConfig::default());
    put(&mut queue, between(1, 2, 1, 1_500), 50);
    by_source(&mut queue, 5);
    put(&mut queue, between(2, 2, 2, 200), 1);
    assert_eq!(by_source(&mut queue, 1), [0, 1]);
}

#[test]
fn each_sub_queue_has_a_controller_of_its_own() {
    let mut queue = queue(LIMIT, CakeConfig::default());
    let mut capable = between(1, 2, 1, 1_000);
    capable.ip.set_ecn(Ecn::Ect0);
    // Flow 1 has a standing queue; flow 2 sends a packet at a time and never waits.
    put(&mut queue, capable, 1_000);
    let (mut marked, mut dropped) = ([0, 0], Vec::new());
    for n in 0..400_u64 {
        let now = us(1_000 * n);
        queue.enqueue(between(1, 2, 2, 100), now, &mut dropped);
        for _ in 0..2 {
            let next = queue.dequeue(now, &mut dropped).unwrap();
            marked[usize::from(next.packet.flow().src_port == 2)] += u32::from(next.marked);
        }
    }
    assert!(marked[0] > 5 && marked[1] == 0 && dropped.is_empty(), "{marked:?}");
    assert_eq!(queue.view().bytes, Bytes::new(600 * 1_000));
}

#[test]
fn sub_queues_come_to_rest() {
    let mut queue = queue(LIMIT, CakeConfig { rtt: Duration::from_millis(20), ..CakeConfig::default() });
    let mut dropped = Vec::new();
    put(&mut queue, between(1, 2, 1, 1_000), 100);
    let sent = (0..200_u64).filter(|n| queue.dequeue(us(1_000 * n), &mut dropped).is_some()).count();
    assert!(sent + dropped.len() == 100 && !dropped.is_empty());
    // Packets of another flow let it decay, one step for each.
    let mut most: f64 = 0.0;
    for n in 300..400_u64 {
        queue.enqueue(between(3, 4, 3, 1_000), us(1_000 * n), &mut dropped);
        queue.dequeue(us(1_000 * n), &mut dropped).unwrap();
        most = most.max(state(&queue, "decaying_flows"));
    }
    assert!(most >= 1.0);
    let left = ["sparse_flows", "bulk_flows", "decaying_flows"].map(|name| state(&queue, name));
    assert_eq!(left.map(|count| count as u32), [0, 1, 0], "the flow that sends has used up its first turn");
}

#[test]
fn waiting_alone_never_makes_blue_active() {
    // At 512 b/s a packet can wait for hours. Only an overflow raises BLUE's probability in Linux.
    let mut queue = queue(LIMIT, CakeConfig::default());
    let mut dropped = Vec::new();
    put(&mut queue, between(1, 2, 1, 1_000), 5);
    let hours = |n: u64| Instant::from_nanos(n * 3_600_000_000_000);
    while queue.dequeue(hours(2), &mut dropped).is_some() {}
    // The other flow's packets let the first sub-queue come to rest.
    for n in 3..30 {
        queue.enqueue(between(3, 4, 3, 1_000), hours(n), &mut dropped);
        assert!(queue.dequeue(hours(n), &mut dropped).is_some());
        assert_eq!(state(&queue, "unresponsive_flows").to_bits(), 0);
    }
}
