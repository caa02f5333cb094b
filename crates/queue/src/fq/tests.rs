#![allow(clippy::unwrap_used, clippy::float_cmp)]
use super::*;
use crate::registry::{Params, Value};
use core::net::{IpAddr, Ipv4Addr};
use narrows_wire::{Ecn, Ip, Transport, UdpRepr};

const LIMIT: Limit = Limit::Packets(Packets::new(10_000));

fn queue(limit: Limit, config: FqConfig) -> Fq {
    Fq::new(limit, config, Stream::new(1, 0, "test", "fq"))
}

/// A quantum of two packets of 1500 bytes, as a new flow also has it.
fn two() -> FqConfig {
    FqConfig { quantum: Bytes::new(3000), initial_quantum: Bytes::new(3000), ..FqConfig::default() }
}

/// 8 Mb/s for each flow: a byte per microsecond.
fn limited() -> FqConfig {
    FqConfig { maxrate: Some(Rate::mbps(8)), ..two() }
}

fn packet(flow: u16, size: u32, ecn: Ecn) -> Packet {
    let host = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let mut ip = Ip::between(host, host);
    ip.set_ecn(ecn);
    let ports = UdpRepr { src_port: flow, dst_port: 9, rtp: None };
    Packet { ip, transport: Transport::Udp(ports), payload_len: size - 28 }
}

fn us(us: u64) -> Instant {
    Instant::from_nanos(1000 * us)
}

/// Offers `count` packets of a flow; returns how many are dropped.
fn put(queue: &mut Fq, flow: u16, (size, count): (u32, usize), now: Instant) -> usize {
    let mut dropped = Vec::new();
    for _ in 0..count {
        queue.enqueue(packet(flow, size, Ecn::NotEct), now, &mut dropped);
    }
    assert!(dropped.iter().all(|d| d.reason == DropReason::Overflow && d.packet.flow().src_port == flow));
    dropped.len()
}

fn next(queue: &mut Fq, now: Instant) -> Option<u16> {
    let mut dropped = Vec::new();
    let next = queue.dequeue(now, &mut dropped).map(|next| next.packet.flow().src_port);
    assert!(dropped.is_empty());
    next
}

/// Flows of the next packets.
fn order(queue: &mut Fq, count: usize, now: Instant) -> Vec<u16> {
    (0..count).filter_map(|_| next(queue, now)).collect()
}

/// Flows and times, in microseconds, of all packets on an infinitely fast link, which asks again as the timer fires.
fn departures(queue: &mut Fq, mut now: Instant) -> Vec<(u16, u64)> {
    let mut times = Vec::new();
    loop {
        while let Some(flow) = next(queue, now) {
            times.push((flow, now.as_nanos() / 1000));
        }
        let at = queue.next_timer().unwrap();
        if at == Instant::NEVER {
            assert!(queue.view().packets.is_zero());
            return times;
        }
        assert!(at > now);
        now = at;
        queue.on_timer(now, &mut Vec::new());
        assert_eq!(queue.next_timer(), Some(Instant::NEVER));
    }
}

fn state(queue: &Fq) -> [f64; 3] {
    let mut values = Vec::new();
    queue.state(&mut |_, value| values.push(value));
    values.try_into().unwrap()
}

#[test]
fn defaults_of_the_row_are_those_of_the_type() {
    assert_eq!(FqConfig::of(&Params::defaults(PARAMS)), FqConfig::default());
}

#[test]
fn a_new_flow_sends_its_initial_quantum_first() {
    // Credits: 15140 - 11 * 1500 = -1360, and then 3028 a round: 1668 (two packets, -1332), 1696 (two, -1304).
    let mut queue = queue(LIMIT, FqConfig::default());
    put(&mut queue, 1, (1500, 40), us(0));
    put(&mut queue, 2, (1500, 40), us(0));
    let mut expected = vec![1; 11];
    expected.extend([2; 11]);
    expected.extend([1, 1, 2, 2, 1, 1, 2, 2]);
    assert_eq!(order(&mut queue, 30, us(0)), expected);
    put(&mut queue, 3, (1500, 40), us(0));
    assert_eq!(state(&queue), [1.0, 2.0, 0.0]);
    assert_eq!(order(&mut queue, 13, us(0)), [3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 1, 1]);
}

#[test]
fn backlogged_flows_share_the_link_by_bytes() {
    let mut queue = queue(LIMIT, FqConfig::default());
    for (flow, size) in [(1, 1500), (2, 500), (3, 999)] {
        put(&mut queue, flow, (size, 100), us(0));
    }
    let mut sent = [0_u64; 3];
    for _ in 0..120 {
        let next = queue.dequeue(us(0), &mut Vec::new()).unwrap();
        sent[usize::from(next.packet.flow().src_port) - 1] += next.packet.len().as_u64();
    }
    let largest = sent.iter().max().unwrap() - sent.iter().min().unwrap();
    assert!(largest <= 3028 + 1500 + 1500, "{sent:?}");
}

#[test]
fn an_emptied_new_flow_waits_a_round_as_an_old_one() {
    let mut queue = queue(LIMIT, FqConfig { quantum: Bytes::new(1500), ..two() });
    put(&mut queue, 1, (1000, 10), us(0));
    assert_eq!(order(&mut queue, 4, us(0)), [1, 1, 1, 1]);
    put(&mut queue, 2, (100, 1), us(0));
    assert_eq!(order(&mut queue, 2, us(0)), [2, 1], "first, and then it is empty");
    assert_eq!(state(&queue), [0.0, 2.0, 0.0]);
    put(&mut queue, 2, (100, 1), us(0));
    assert_eq!(state(&queue), [0.0, 2.0, 0.0], "it is not new again");
    assert_eq!(order(&mut queue, 2, us(0)), [2, 1], "flow 1 has used its turn");
    assert_eq!(state(&queue), [0.0, 1.0, 0.0], "flow 2 was found empty");
    put(&mut queue, 2, (100, 1), us(0));
    assert_eq!(state(&queue), [1.0, 1.0, 0.0], "after a round it is new");
}

#[test]
fn an_empty_queue_leaves_its_lists_alone() {
    let mut queue = queue(LIMIT, two());
    put(&mut queue, 1, (1500, 1), us(0));
    assert_eq!(order(&mut queue, 2, us(0)), [1]);
    assert_eq!(state(&queue), [1.0, 0.0, 0.0]);
}

/// Flow 2 sends 1400 of its 1500 bytes and is found empty, with a credit of 100, at 4 us.
fn emptied() -> Fq {
    let size = Bytes::new(1500);
    let mut queue = queue(LIMIT, FqConfig { quantum: size, initial_quantum: size, ..FqConfig::default() });
    put(&mut queue, 1, (1500, 10), us(0));
    put(&mut queue, 2, (1400, 1), us(0));
    let order: Vec<_> = (1..=4).filter_map(|t| next(&mut queue, us(t))).collect();
    assert_eq!(order, [1, 2, 1, 1]);
    assert_eq!(state(&queue), [0.0, 1.0, 0.0]);
    queue
}

#[test]
fn credit_is_refilled_only_after_more_than_the_delay() {
    // Credit 100: 1000 bytes leave (-900), flow 2 becomes old (600), flow 1 has used its turn, 1000 more leave (-400),
    // and flow 1 is next. Credit 1500: 2000 bytes leave (-500), and 1000 more as above.
    for (idle, expected) in [(40_000, [2, 2, 1]), (40_001, [2, 2, 2])] {
        let mut queue = emptied();
        let now = us(4 + idle);
        put(&mut queue, 2, (1000, 3), now);
        assert_eq!(order(&mut queue, 3, now), expected, "{idle}");
    }
}

#[test]
fn a_refill_takes_no_credit_away() {
    // New flows have 3000 bytes, a refill is up to 1500.
    let mut queue = queue(LIMIT, FqConfig { quantum: Bytes::new(1500), ..two() });
    put(&mut queue, 1, (1500, 10), us(0));
    put(&mut queue, 2, (100, 1), us(0));
    assert_eq!(order(&mut queue, 5, us(0)), [1, 1, 2, 1, 1]);
    assert_eq!(queue.flows.iter().filter(|flow| flow.credit == 2900).count(), 1);
    put(&mut queue, 2, (100, 1), us(1_000_000));
    assert_eq!(queue.flows.iter().filter(|flow| flow.credit == 2900).count(), 1);
}

#[test]
fn a_flow_that_never_sent_is_not_refilled() {
    let mut queue = queue(LIMIT, FqConfig { initial_quantum: Bytes::new(100), ..two() });
    put(&mut queue, 1, (1500, 1), us(1_000_000));
    assert_eq!(queue.flows.iter().filter(|flow| flow.credit == 100).count(), 1024);
}

#[test]
fn a_flow_holds_its_limit_and_no_more() {
    let mut queue = queue(LIMIT, FqConfig::default());
    assert_eq!(put(&mut queue, 1, (100, 101), us(0)), 1);
    assert_eq!(put(&mut queue, 2, (100, 100), us(0)), 0);
    assert_eq!(next(&mut queue, us(0)), Some(1));
    assert_eq!(put(&mut queue, 1, (100, 2), us(0)), 1, "one has left");
    assert_eq!((queue.view().packets, queue.view().bytes), (Packets::new(200), Bytes::new(20_000)));
}

#[test]
fn the_arrival_pays_for_an_overflow() {
    let mut packets = queue(Limit::Packets(Packets::new(10)), FqConfig::default());
    assert_eq!(put(&mut packets, 1, (1500, 10), us(0)), 0);
    assert_eq!(put(&mut packets, 2, (100, 1), us(0)), 1);
    let mut bytes = queue(Limit::Bytes(Bytes::new(3100)), FqConfig::default());
    assert_eq!(put(&mut bytes, 1, (1500, 3), us(0)), 1);
    assert_eq!((put(&mut bytes, 2, (100, 1), us(0)), put(&mut bytes, 2, (28, 1), us(0))), (0, 1));
}

#[test]
fn packets_are_marked_above_the_threshold() {
    let config = FqConfig { ce_threshold: Duration::from_millis(1), ..FqConfig::default() };
    let mut queue = queue(LIMIT, config);
    for ecn in [Ecn::Ect0, Ecn::NotEct, Ecn::Ect1, Ecn::Ce] {
        queue.enqueue(packet(1, 1500, ecn), us(0), &mut Vec::new());
    }
    let marks = [1000, 1001, 1001, 1001].map(|t| queue.dequeue(us(t), &mut Vec::new()).unwrap().marked);
    assert_eq!(marks, [false, false, true, false], "strictly above, and only what can be marked");
}

#[test]
fn time_held_back_by_maxrate_does_not_count_for_marks() {
    let config = FqConfig { ce_threshold: Duration::from_millis(1), ..limited() };
    let mut queue = queue(LIMIT, config);
    for _ in 0..4 {
        queue.enqueue(packet(1, 1500, Ecn::Ect0), us(0), &mut Vec::new());
    }
    // The third packet may leave at 3 ms.
    assert_eq!(order(&mut queue, 3, us(0)), [1, 1]);
    let marks = [4000, 4001].map(|t| queue.dequeue(us(t), &mut Vec::new()).unwrap().marked);
    assert_eq!(marks, [false, true]);
}

#[test]
fn maxrate_lets_a_quantum_leave_at_a_time() {
    // Two packets use the credit of 3000, which takes 3 ms at a byte per microsecond.
    let mut queue = queue(LIMIT, limited());
    put(&mut queue, 1, (1500, 5), us(0));
    assert_eq!(departures(&mut queue, us(0)), [(1, 0), (1, 0), (1, 3000), (1, 3000), (1, 6000)]);
    // Credit 1500 is left, and a packet of 4000 bytes leaves a debt of 2500: the pause is for 4000 bytes. The next
    // round adds 3000.
    put(&mut queue, 1, (4000, 1), us(9000));
    put(&mut queue, 1, (1500, 1), us(9000));
    // The flow was 3 ms late, of which 2 ms shorten the pause.
    assert_eq!(departures(&mut queue, us(9000)), [(1, 9000), (1, 11_000)]);
}

#[test]
fn lateness_shortens_a_pause_by_half_at_most() {
    // After two packets at 0 the next may leave at 3 ms. A link that asks 1 ms late takes it off the pause of 3 ms
    // (4 + 3 - 1 = 6), one that asks 2.5 ms late takes off 1.5 ms (5.5 + 1.5 = 7).
    for (asked, expected) in [(3000, 6000), (4000, 6000), (4500, 6000), (5500, 7000)] {
        let mut queue = queue(LIMIT, limited());
        put(&mut queue, 1, (1500, 5), us(0));
        assert_eq!(order(&mut queue, 3, us(0)), [1, 1]);
        assert_eq!(queue.next_timer(), Some(us(3000)));
        assert_eq!(order(&mut queue, 3, us(asked)), [1, 1]);
        assert_eq!(queue.next_timer(), Some(us(expected)), "asked at {asked}");
    }
}

#[test]
fn the_first_pause_is_not_shortened() {
    let mut queue = queue(LIMIT, limited());
    put(&mut queue, 1, (1500, 3), us(100_000));
    assert_eq!(departures(&mut queue, us(100_000)), [(1, 100_000), (1, 100_000), (1, 103_000)]);
}

#[test]
fn low_rates_pause_after_each_packet() {
    // 400 kb/s: 20 us a byte. Above the threshold the pause would come after two packets.
    for (kbps, expected) in [(400, [0, 30_000, 40_000]), (550, [0, 21_818, 29_090]), (551, [0, 0, 43_557])] {
        let config = FqConfig { maxrate: Some(Rate::kbps(kbps)), initial_quantum: Bytes::new(2000), ..two() };
        let mut queue = queue(LIMIT, config);
        for size in [1500, 500, 1500] {
            put(&mut queue, 1, (size, 1), us(0));
        }
        let times: Vec<_> = departures(&mut queue, us(0)).into_iter().map(|(_, us)| us).collect();
        assert_eq!(times, expected, "{kbps} kb/s");
    }
}

#[test]
fn no_pause_is_longer_than_a_second() {
    let mut queue = queue(LIMIT, FqConfig { maxrate: Some(Rate::kbps(8)), ..two() });
    put(&mut queue, 1, (1500, 2), us(0));
    assert_eq!(departures(&mut queue, us(0)), [(1, 0), (1, 1_000_000)]);
}

#[test]
fn a_flow_that_may_send_does_not_wait_for_throttled_ones() {
    let mut queue = queue(LIMIT, limited());
    put(&mut queue, 1, (1500, 5), us(0));
    assert_eq!(order(&mut queue, 5, us(0)), [1, 1]);
    assert_eq!((queue.next_timer(), state(&queue)), (Some(us(3000)), [0.0, 0.0, 1.0]));
    put(&mut queue, 2, (1500, 3), us(1000));
    assert_eq!(order(&mut queue, 5, us(1000)), [2, 2]);
    assert_eq!((queue.next_timer(), state(&queue)), (Some(us(3000)), [0.0, 0.0, 2.0]), "the earliest");
    put(&mut queue, 3, (1500, 1), us(2000));
    assert_eq!(order(&mut queue, 1, us(2000)), [3]);
    assert_eq!(queue.next_timer(), Some(Instant::NEVER), "the link has a packet to send");
    assert_eq!(departures(&mut queue, us(2500)), [(1, 3000), (1, 3000), (2, 4000), (1, 6000)]);
}

#[test]
fn flows_of_one_time_leave_in_the_order_in_which_they_were_throttled() {
    let mut queue = queue(LIMIT, limited());
    for flow in [5, 3, 4, 1, 2] {
        put(&mut queue, flow, (1500, 3), us(0));
    }
    let flows: Vec<_> = departures(&mut queue, us(0)).into_iter().filter(|&(_, at)| at > 0).collect();
    assert_eq!(flows, [5, 3, 4, 1, 2].map(|flow| (flow, 3000)));
}

#[test]
fn the_owner_learns_of_timer_labels_limit_and_rate() {
    let mut queue = queue(LIMIT, FqConfig::default());
    assert_eq!(queue.next_timer(), None, "without maxrate nothing waits");
    queue.set_rate(Rate::mbps(10));
    assert_eq!((queue.view().rate, queue.view().limit), (Rate::mbps(10), LIMIT));
    let labels = queue.subqueues();
    assert_eq!((labels.len(), labels[0].as_str(), labels[1023].as_str()), (1024, "0", "1023"));
}

#[test]
fn rules_of_maxrate() {
    let fitted = |given: &[(&'static str, Value)]| {
        let mut params = Params::defaults(PARAMS);
        given.iter().for_each(|(name, value)| params.set(name, *value));
        fit(&mut params, LIMIT).map_err(|broken| broken.to_string())
    };
    let rate = |name, bps| (name, Value::Rate(Rate::bps(bps)));
    let quantum = |bytes| ("quantum", Value::Size(Bytes::new(bytes)));
    assert_eq!(fitted(&[]), Ok(()));
    assert_eq!(fitted(&[rate("maxrate", 12_000)]), Ok(()));
    let packet = "maxrate needs more than 1 s for a packet of 1500 B; allowed: at least 12 kb/s, or \"0 b/s\" for none";
    assert_eq!(fitted(&[rate("maxrate", 11_999)]), Err(packet.to_owned()));
    let large = quantum(100_000);
    assert_eq!(fitted(&[large, rate("maxrate", 550_000)]), Ok(()), "packets leave one by one");
    assert_eq!(fitted(&[large, rate("maxrate", 800_000)]), Ok(()));
    let whole =
        "maxrate needs more than 1 s for quantum of 100000 B; allowed: at least 800 kb/s, or \"0 b/s\" for none";
    assert_eq!(fitted(&[large, rate("maxrate", 799_999)]), Err(whole.to_owned()));
    let small = [quantum(256), rate("maxrate", 11_999), rate("low_rate_threshold", 0)];
    assert_eq!(fitted(&small), Err(packet.to_owned()));
}
