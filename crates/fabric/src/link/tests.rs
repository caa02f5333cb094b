#![allow(clippy::unwrap_used)]
use super::*;
use narrows_queue::{Limit, QueueView};
use narrows_rng::Stream;
use narrows_scenario::Loss;
use narrows_units::Packets;
use narrows_wire::{Ip, Transport, UdpRepr};

#[derive(Default)]
struct Log {
    departures: Vec<u64>,
    drops: usize,
}

impl LinkWatch for Log {
    fn dropped(&mut self, _dropped: &Dropped, _at: Instant) {
        self.drops += 1;
    }
    fn corrupted(&mut self, _packet: &Packet, _at: Instant) {}
    fn departing(&mut self, _packet: &mut Packet, _queue: &QueueView, _at: Instant) {}
    fn departed(&mut self, _packet: &Packet, at: Instant) {
        self.departures.push(at.as_nanos());
    }
}

fn packet() -> Packet {
    Packet {
        ip: Ip::between([10, 0, 0, 1].into(), [10, 0, 0, 2].into()),
        transport: Transport::Udp(UdpRepr { src_port: 1, dst_port: 2, rtp: None }),
        payload_len: 97,
    }
}

/// 8 Mb/s and packets of 125 bytes: 125 us each.
fn link(limit: u64, changes: Vec<Change>) -> LinkDirection {
    LinkDirection::new(
        narrows_queue::droptail(Limit::Packets(Packets::new(limit))),
        Rate::mbps(8),
        Duration::from_millis(1),
        LossModel::new(Loss::None, Stream::new(1, 0, "l", "loss")),
        false,
        changes,
    )
}

fn us(n: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(n)
}

#[test]
fn packets_leave_back_to_back_and_arrive_after_the_delay() {
    let (mut link, mut log) = (link(10, Vec::new()), Log::default());
    (0..3).for_each(|_| link.offer(&packet(), us(0), &mut log));
    let mut arrivals = Vec::new();
    while link.next_event() != Instant::NEVER {
        let now = link.next_event();
        if link.arrive(now, &mut log).is_some() {
            arrivals.push(now);
        }
    }
    assert_eq!(log.departures, [0, 125_000, 250_000]);
    assert_eq!(arrivals, [us(1125), us(1250), us(1375)]);
}

#[test]
fn packets_that_are_taken_early_are_due_when_the_next_one_could_arrive() {
    let (mut link, mut log) = (link(10, Vec::new()), Log::default());
    link.send_ahead();
    (0..3).for_each(|_| link.offer(&packet(), us(0), &mut log));
    let mut seen = Vec::new();
    let end = us(1374);
    for _ in 0..3 {
        seen.extend(link.take_early(end).map(|(_, arrival)| (arrival, link.next_event())));
        link.drain(link.next_event(), &mut log);
    }
    // The second packet leaves at 125 us, so it cannot arrive before 1125. By then all have left.
    assert_eq!(seen, [(us(1125), us(1125)), (us(1250), us(1375))]);
    assert_eq!(link.next_event(), us(1375), "the packet that arrives after the end stays");
    let changing = vec![Change { at: us(1), rate: None, delay: Some(Duration::ZERO) }];
    let mut link = self::link(10, changing);
    link.send_ahead();
    assert!(!link.sends_ahead());
}

#[test]
fn the_limit_counts_waiting_packets_only() {
    let (mut link, mut log) = (link(2, Vec::new()), Log::default());
    (0..5).for_each(|_| link.offer(&packet(), us(0), &mut log));
    assert_eq!((log.drops, link.view().packets), (2, Packets::new(2)), "one is in transmission, two wait");
}

#[test]
fn a_departure_comes_before_an_arrival_at_the_same_instant() {
    let (mut link, mut log) = (link(1, Vec::new()), Log::default());
    (0..2).for_each(|_| link.offer(&packet(), us(0), &mut log));
    link.offer(&packet(), us(125), &mut log);
    assert_eq!(log.drops, 0);
    link.offer(&packet(), us(249), &mut log);
    assert_eq!(log.drops, 1);
}

#[test]
fn a_change_of_rate_spares_the_packet_in_transmission() {
    let change = Change { at: us(60), rate: Some(Rate::mbps(4)), delay: None };
    let (mut link, mut log) = (link(10, vec![change]), Log::default());
    (0..3).for_each(|_| link.offer(&packet(), us(0), &mut log));
    link.change(us(60), &mut log);
    link.drain(us(1000), &mut log);
    assert_eq!(log.departures, [0, 125_000, 375_000]);
    assert_eq!(link.capacity_bits(us(160)), 480 + 400);
}

#[test]
fn a_change_rules_the_packet_that_starts_at_its_instant() {
    let change = Change { at: us(125), rate: Some(Rate::mbps(4)), delay: None };
    let (mut link, mut log) = (link(10, vec![change]), Log::default());
    (0..3).for_each(|_| link.offer(&packet(), us(0), &mut log));
    link.change(us(125), &mut log);
    link.drain(us(1000), &mut log);
    assert_eq!(log.departures, [0, 125_000, 375_000]);
}

#[test]
fn packets_shorter_than_a_nanosecond_still_keep_the_rate() {
    let (mut link, mut log) = (link(1000, Vec::new()), Log::default());
    link.rate = Rate::gbps(10_000);
    // 125 bytes take 0.1 ns, so ten packets take one nanosecond.
    (0..1000).for_each(|_| link.offer(&packet(), us(0), &mut log));
    link.drain(us(1), &mut log);
    assert_eq!(link.meter.busy, Duration::from_nanos(100));
}

#[test]
fn what_lies_after_the_end_is_not_sent() {
    let (mut link, mut log) = (link(10, Vec::new()), Log::default());
    link.offer(&packet(), us(0), &mut log);
    assert_eq!(link.unsent(us(25)), (Duration::from_micros(100), Bytes::new(100)));
    assert_eq!(link.unsent(us(200)), (Duration::ZERO, Bytes::ZERO));
}

#[test]
fn a_shorter_delay_lets_nobody_overtake() {
    let change = Change { at: us(10), rate: None, delay: Some(Duration::ZERO) };
    let (mut link, mut log) = (link(10, vec![change]), Log::default());
    link.offer(&packet(), us(0), &mut log);
    link.change(us(10), &mut log);
    link.offer(&packet(), us(10), &mut log);
    assert!(link.arrive(us(1124), &mut log).is_none());
    assert!(link.arrive(us(1125), &mut log).is_some());
    assert!(link.arrive(us(1125), &mut log).is_some(), "it waits for the one ahead, not for its own 250 us");
}
