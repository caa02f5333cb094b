//! Tests of a line.

use super::*;
use narrows_rng::Stream;
use narrows_scenario as sc;
use narrows_units::Packets;

/// 8 Mb/s and packets of 125 bytes: 125 us each.
fn line(limit: Limit) -> Line {
    let loss = LossModel::new(sc::Loss::None, Stream::new(1, 0, "l", "loss"));
    Line::new(Rate::mbps(8), Duration::from_millis(1), limit, loss, false, us(1_000_000))
}

fn us(n: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(n)
}

const SIZE: Bytes = Bytes::new(125);

#[test]
fn packets_leave_back_to_back_and_arrive_after_the_delay() {
    let mut line = line(Limit::Packets(Packets::new(10)));
    let fates: Vec<_> = (0..3).map(|_| line.offer(SIZE, us(0))).collect();
    assert_eq!(fates, [1125, 1250, 1375].map(|t| Ok(us(t))));
    line.close_books(us(250));
    assert_eq!((line.meter().forwarded_packets, line.meter().busy), (3, Duration::from_micros(375)));
    assert_eq!(line.unsent(us(300)), (Duration::from_micros(75), Bytes::new(75)));
}

#[test]
fn the_limit_counts_waiting_packets_only() {
    for limit in [Limit::Packets(Packets::new(2)), Limit::Bytes(Bytes::new(250))] {
        let mut line = line(limit);
        let dropped = (0..5).filter(|_| line.offer(SIZE, us(0)) == Err(Loss::Dropped)).count();
        assert_eq!((dropped, line.view().packets), (2, Packets::new(2)), "one is in transmission, two wait");
    }
}

#[test]
fn a_departure_comes_before_an_arrival_at_the_same_instant() {
    let mut line = line(Limit::Packets(Packets::new(1)));
    (0..2).for_each(|_| assert!(line.offer(SIZE, us(0)).is_ok()));
    assert!(line.offer(SIZE, us(125)).is_ok());
    assert_eq!(line.offer(SIZE, us(249)), Err(Loss::Dropped));
}

#[test]
fn what_starts_after_the_end_is_neither_forwarded_nor_measured() {
    let mut line = line(Limit::Packets(Packets::new(10)));
    line.end = us(125);
    (0..4).for_each(|_| assert!(line.offer(SIZE, us(0)).is_ok()));
    line.close_books(line.end);
    let meter = line.meter();
    assert_eq!((meter.forwarded_packets, meter.delay.count(), line.view().packets), (2, 2, Packets::new(2)));
}

#[test]
fn samples_are_taken_as_the_time_of_the_line_passes_theirs() {
    let mut line = line(Limit::Packets(Packets::new(10)));
    line.look_from(us(100), Duration::from_micros(100));
    (0..2).for_each(|_| assert!(line.offer(SIZE, us(0)).is_ok()));
    // The line is ahead of the clock by two samples.
    assert!(line.offer(SIZE, us(300)).is_ok());
    let forwarded: Vec<_> = [100, 200, 300, 400].map(|t| line.look(us(t)).forwarded_packets).into();
    assert_eq!(forwarded, [1, 2, 3, 3], "the packet that comes at 300 us comes before the sample");
}

#[test]
fn an_empty_wire_gives_back_a_ring_that_was_long() {
    let mut line = line(Limit::Packets(Packets::new(1)));
    let fill = |line: &mut Line| {
        for n in 0..1000 {
            line.put_on_wire(Parcel::NONE, us(n));
        }
    };
    fill(&mut line);
    assert!(line.wire.capacity() >= 999);
    line.rest();
    assert!(line.wire.capacity() >= 999, "packets are on the wire");
    for _ in 0..1000 {
        line.take_off_wire();
    }
    line.rest();
    assert_eq!((line.wire.capacity(), line.on_wire()), (0, 0));
    fill(&mut line);
    assert_eq!(line.on_wire(), 1000, "it can be used again");
}
