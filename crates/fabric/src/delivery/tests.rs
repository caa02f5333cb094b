//! Vectors by hand from mahimahi's `LinkQueue::rationalize`, and a model of it that random traces are compared with.

#![allow(clippy::unwrap_used)]
use super::*;
use crate::link::{LinkDirection, LinkWatch};
use crate::loss::LossModel;
use narrows_queue::{Dropped, Limit, QueueView};
use narrows_rng::Stream;
use narrows_scenario::Loss;
use narrows_units::{Packets, Rate};
use narrows_wire::{Ip, Packet, Transport, UdpRepr};
use proptest::prelude::*;
use std::collections::VecDeque;

/// Starts of transmissions, in nanoseconds.
#[derive(Default)]
struct Starts(Vec<u64>);

impl LinkWatch for Starts {
    fn dropped(&mut self, _dropped: &Dropped, _at: Instant) {}
    fn corrupted(&mut self, _packet: &Packet, _at: Instant) {}
    fn departing(&mut self, _packet: &mut Packet, _queue: &QueueView, _at: Instant) {}
    fn departed(&mut self, _packet: &Packet, at: Instant) {
        self.0.push(at.as_nanos());
    }
}

/// A packet of this many bytes with its IPv4 and UDP headers.
fn packet(size: u32) -> Packet {
    Packet {
        ip: Ip::between([10, 0, 0, 1].into(), [10, 0, 0, 2].into()),
        transport: Transport::Udp(UdpRepr { src_port: 1, dst_port: 2, rtp: None }),
        payload_len: size - 28,
    }
}

fn opportunities(ms: &[u32], repeat: bool) -> Trace {
    Trace { name: "t".to_owned(), repeat, deliveries: Deliveries::Opportunities(ms.to_vec()) }
}

/// Rates in bits per second, from times in nanoseconds on.
fn rates(steps: &[(u64, u64)], repeat: bool) -> Trace {
    let step = |&(at, bps): &(u64, u64)| Step { at: Instant::from_nanos(at), rate: Rate::bps(bps) };
    Trace { name: "t".to_owned(), repeat, deliveries: Deliveries::Rates(steps.iter().map(step).collect()) }
}

fn link(trace: Trace, delay: Duration) -> LinkDirection {
    let mut link = LinkDirection::new(
        narrows_queue::droptail(Limit::Packets(Packets::new(1_000_000))),
        trace.mean_rate(),
        delay,
        LossModel::new(Loss::None, Stream::new(1, 0, "l", "loss")),
        false,
        Vec::new(),
    );
    link.follow(Arc::new(trace));
    link
}

/// Offers packets at their times (nanoseconds, bytes) and returns the times at which they arrive, up to `end`.
fn arrivals(link: &mut LinkDirection, packets: &[(u64, u32)], end: u64) -> Vec<u64> {
    let (mut log, mut times) = (Starts::default(), Vec::new());
    let mut take = |link: &mut LinkDirection, log: &mut Starts, until: u64| {
        while link.next_event().as_nanos() <= until {
            let now = link.next_event();
            if link.arrive(now, log).is_some() {
                times.push(now.as_nanos());
            }
        }
    };
    for &(at, size) in packets {
        take(link, &mut log, at);
        link.offer(&packet(size), Instant::from_nanos(at), &mut log);
    }
    take(link, &mut log, end);
    link.drain(Instant::from_nanos(end), &mut log);
    times
}

const MS: u64 = MILLISECOND;

#[test]
fn a_packet_of_1500_bytes_fills_an_opportunity() {
    let mut link = link(opportunities(&[2, 5, 5, 9], true), Duration::ZERO);
    let packets = [(0, 1500); 5];
    // Two opportunities at 5 ms, and after 9 ms the trace starts again: 9 + 2.
    assert_eq!(arrivals(&mut link, &packets, 20 * MS), [2 * MS, 5 * MS, 5 * MS, 9 * MS, 11 * MS]);
}

#[test]
fn small_packets_share_an_opportunity_and_large_ones_take_several() {
    let mut link = link(opportunities(&[1, 2, 3, 4], true), Duration::ZERO);
    // 1: 1004 of 1504, 500 left. The second packet has these and 504 of the next: 1000 left, then 104 (100 + 4).
    // 896 are left at 2 ms. The last packet of 3000 has 3004 bytes: 896, 1504, 604 at 4 ms.
    let packets = [(0, 1000), (0, 1000), (0, 100), (0, 3000)];
    assert_eq!(arrivals(&mut link, &packets, 20 * MS), [MS, 2 * MS, 2 * MS, 4 * MS]);
}

#[test]
fn what_is_left_of_an_opportunity_is_lost_when_the_queue_is_empty() {
    let mut link = link(opportunities(&[1, 2, 3], true), Duration::ZERO);
    // The second packet comes after 1 ms, when 1400 bytes were left. It takes all of the opportunity at 2 ms.
    assert_eq!(arrivals(&mut link, &[(0, 100), (MS + 1, 1500)], 9 * MS), [MS, 2 * MS]);
}

#[test]
fn a_packet_at_the_instant_of_an_opportunity_misses_it() {
    let mut link = link(opportunities(&[1, 4], true), Duration::from_millis(1));
    assert_eq!(arrivals(&mut link, &[(MS, 100), (4 * MS, 100)], 20 * MS), [5 * MS, 6 * MS]);
}

#[test]
fn the_last_opportunity_and_the_first_of_the_next_period_are_two() {
    // 0 of the second period is at 3 ms, as is the last of the first.
    let mut link = link(opportunities(&[0, 3], true), Duration::ZERO);
    assert_eq!(arrivals(&mut link, &[(1, 1500); 4], 20 * MS), [3 * MS, 3 * MS, 6 * MS, 6 * MS]);
    assert_eq!(link.capacity_bits(Instant::from_nanos(6 * MS)), 5 * 1504 * 8);
}

#[test]
fn without_repetition_nothing_is_sent_after_the_last_opportunity() {
    let mut link = link(opportunities(&[1, 2], false), Duration::ZERO);
    assert_eq!(arrivals(&mut link, &[(0, 1500), (0, 2000), (0, 100)], 20 * MS), [MS]);
    assert_eq!(link.next_event(), Instant::NEVER);
    assert_eq!(link.capacity_bits(Instant::from_nanos(20 * MS)), 2 * 1504 * 8);
    assert_eq!(link.unsent(Instant::from_nanos(20 * MS)).1, Bytes::new(500), "2004 bytes less 1504");
    assert_eq!(link.unsent(Instant::from_nanos(MS)).1, Bytes::new(2000));
}

#[test]
fn a_packet_is_sent_when_the_integral_of_the_rate_reaches_its_bits() {
    // 8 Mb/s for 1 ms, nothing for 1 ms, then 4 Mb/s: 1000 bytes per ms, then 500.
    let steps = [(0, 8_000_000), (MS, 0), (2 * MS, 4_000_000)];
    let mut direction = link(rates(&steps, false), Duration::ZERO);
    let (mut log, mut at) = (Starts::default(), Vec::new());
    for size in [600, 600, 100] {
        direction.offer(&packet(size), Instant::ZERO, &mut log);
    }
    while direction.next_event() < Instant::NEVER {
        let now = direction.next_event();
        at.extend(direction.arrive(now, &mut log).map(|_| now.as_nanos()));
    }
    assert_eq!(log.0, [0, 600_000, 2_400_000]);
    assert_eq!(at, [600_000, 2_400_000, 2_600_000]);
    assert_eq!(direction.capacity_bits(Instant::from_nanos(3 * MS)), 12_000);
    // A packet that comes while the rate is zero waits in the queue, and its transmission starts at 2 ms.
    let mut direction = link(rates(&steps, false), Duration::ZERO);
    direction.offer(&packet(500), Instant::from_nanos(MS + 5), &mut log);
    assert_eq!(direction.view().packets, Packets::new(1));
    assert_eq!(direction.next_event().as_nanos(), 2 * MS);
    assert_eq!(direction.arrive(Instant::from_nanos(2 * MS), &mut log), None);
    assert_eq!(direction.next_event().as_nanos(), 3 * MS);
    assert_eq!(direction.unsent(Instant::from_nanos(2 * MS + MS / 2)).1, Bytes::new(250));
}

#[test]
fn a_trace_of_rates_that_repeats_starts_again_at_its_last_row() {
    // Each period of 2 ms sends 1000 bytes; the last row's rate is not used.
    let mut link = link(rates(&[(0, 8_000_000), (MS, 0), (2 * MS, 99)], true), Duration::ZERO);
    assert_eq!(arrivals(&mut link, &[(0, 500), (0, 5000), (0, 500)], 20 * MS), [MS / 2, 10 * MS + MS / 2, 11 * MS]);
    assert_eq!(link.capacity_bits(Instant::from_nanos(5 * MS)), 3 * 8000);
}

#[test]
fn a_packet_that_takes_many_periods_is_computed_at_once() {
    // One bit per 10^9 periods of 1 s.
    let mut delivery = Delivery::new(Arc::new(rates(&[(0, 1), (1, 0), (1_000_000_000, 0)], true)));
    assert_eq!(delivery.send(Bytes::new(100), Instant::ZERO).end, Instant::NEVER);
}

#[test]
fn packets_back_to_back_keep_the_exact_rate() {
    let mut delivery = Delivery::new(Arc::new(rates(&[(0, 3_000_000)], false)));
    let mut at = Instant::ZERO;
    for _ in 0..3000 {
        at = delivery.send(Bytes::new(1), at).free_at;
    }
    assert_eq!(at.as_nanos(), 8 * MS, "3000 bytes at 3 Mb/s");
}

/// `LinkQueue::rationalize` for packets (ns, bytes) that come in order: the times at which they are sent.
fn mahimahi(schedule: &[u32], packets: &[(u64, u32)], until: u64) -> Vec<u64> {
    let (mut next, mut base, mut waiting, mut sent) = (0, 0, VecDeque::new(), Vec::new());
    let mut in_transit = 0;
    let mut packets = packets.iter().peekable();
    loop {
        let time = base + u64::from(schedule[next]) * MS;
        while let Some((_, size)) = packets.next_if(|(at, _)| *at < time) {
            waiting.push_back(u64::from(*size) + 4);
        }
        if time > until {
            return sent;
        }
        next += 1;
        if next == schedule.len() {
            next = 0;
            base += u64::from(*schedule.last().unwrap()) * MS;
        }
        let mut left = 1504;
        while left > 0 {
            if in_transit == 0 {
                let Some(size) = waiting.pop_front() else { break };
                in_transit = size;
            }
            let amount = left.min(in_transit);
            in_transit -= amount;
            left -= amount;
            if in_transit == 0 {
                sent.push(time);
            }
        }
    }
}

/// Starts and ends of packets over rates, by adding up nanosecond by nanosecond.
fn slowly(steps: &[(u64, u64)], packets: &[(u64, u32)], until: u64) -> Vec<u64> {
    let period = steps.last().unwrap().0;
    let (mut sent, mut had) = (Vec::new(), 0);
    let mut packets = packets.iter().peekable();
    for at in 0..until {
        let rate = steps.iter().rev().find(|step| step.0 <= at % period).unwrap().1;
        let Some((_, size)) = packets.peek().filter(|(came, _)| *came <= at) else {
            had = 0;
            continue;
        };
        had += rate;
        if had >= u64::from(*size) * 8_000_000_000 {
            had -= u64::from(*size) * 8_000_000_000;
            sent.push(at + 1);
            packets.next();
        }
    }
    sent
}

proptest! {
    #[test]
    fn opportunities_are_those_of_mahimahi(
        gaps in proptest::collection::vec(0_u32..4, 1..12),
        packets in proptest::collection::vec((0_u64..3_000_000, 28_u32..1501), 0..60),
    ) {
        let mut at = 0;
        let mut times: Vec<u32> = gaps.iter().map(|gap| { at += gap; at }).collect();
        *times.last_mut().unwrap() += u32::from(at == 0);
        let mut at = 0;
        // Half of the packets come at whole milliseconds, where opportunities are.
        let round = |at: u64, n: usize| if n.is_multiple_of(2) { at / MS * MS } else { at };
        let packets: Vec<(u64, u32)> =
            packets.iter().enumerate().map(|(n, (gap, size))| { at = round(at + gap, n).max(at); (at, *size) }).collect();
        let end = at + 300 * MS;
        let mut link = link(opportunities(&times, true), Duration::ZERO);
        prop_assert_eq!(arrivals(&mut link, &packets, end), mahimahi(&times, &packets, end));
    }

    #[test]
    fn rates_are_integrated(
        steps in proptest::collection::vec((1_u64..300, 0_u64..4), 1..6),
        packets in proptest::collection::vec((0_u64..1500, 28_u32..100), 1..12),
    ) {
        // Up to 4 Gb/s, so that a packet takes 60 ns or more, and steps in which nothing is sent.
        let mut at = 0;
        let mut table = vec![(0, 1_000_000_000)];
        for (gap, rate) in steps {
            at += gap;
            table.push((at, rate * 1_300_000_001));
        }
        let mut at = 0;
        let packets: Vec<(u64, u32)> = packets.iter().map(|(gap, size)| { at += gap; (at, *size) }).collect();
        let until = at + 40_000;
        let mut link = link(rates(&table, true), Duration::ZERO);
        let ours = arrivals(&mut link, &packets, until);
        let exact = slowly(&table, &packets, until);
        prop_assert!(ours.len().abs_diff(exact.len()) <= 1, "{} {}", ours.len(), exact.len());
        // Ours end in the nanosecond in which the last bit is sent, rounded down; the model's at its end.
        for (ours, exact) in ours.iter().zip(&exact) {
            prop_assert!(exact - ours <= 1, "{ours} {exact}");
        }
    }
}
