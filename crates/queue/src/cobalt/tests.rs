#![allow(clippy::unwrap_used, clippy::float_cmp)]
use super::*;
use crate::Dropped;
use crate::registry::Value;
use narrows_units::Packets;
use narrows_wire::{Ecn, Ip, Transport, UdpRepr};

fn queue(limit: u64) -> Fifo<Cobalt> {
    let chance = Stream::new(1, 0, "test", "cobalt");
    Fifo::new(Limit::Packets(Packets::new(limit)), Cobalt::new(CobaltConfig::default(), chance))
}

fn packet(ecn: Ecn) -> Packet {
    let mut ip = Ip::between([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
    ip.set_ecn(ecn);
    Packet { ip, transport: Transport::Udp(UdpRepr { src_port: 1, dst_port: 2, rtp: None }), payload_len: 972 }
}

fn at(ms: u64) -> Instant {
    Instant::from_nanos(1_000_000 * ms)
}

fn put(queue: &mut Fifo<Cobalt>, ms: u64, ecn: Ecn, count: usize) -> Vec<Dropped> {
    let mut dropped = Vec::new();
    (0..count).for_each(|_| _ = queue.enqueue(packet(ecn), at(ms), &mut dropped));
    dropped
}

fn state(queue: &Fifo<Cobalt>, wanted: &str) -> f64 {
    let mut found = None;
    queue.state(&mut |name, value| {
        if name == wanted {
            found = Some(value);
        }
    });
    found.unwrap()
}

#[test]
fn defaults_of_the_row_are_those_of_the_type() {
    assert_eq!(CobaltConfig::of(&Params::defaults(PARAMS)), CobaltConfig::default());
}

#[test]
fn parameters_reach_the_controller() {
    let mut params = Params::defaults(PARAMS);
    params.set("profile", Value::Choice("exact"));
    params.set("blue_threshold", Value::Time(Duration::from_millis(400)));
    params.set("ecn", Value::Switch(false));
    let config = CobaltConfig::of(&params);
    assert_eq!((config.profile, config.ecn), (CobaltProfile::Exact, false));
    assert_eq!(config.blue_threshold, Duration::from_millis(400));
    assert_eq!(fit(&mut params, Limit::Packets(Packets::new(9))), Ok(()));
    params.set("interval", Value::Time(Duration::from_millis(5)));
    let broken = fit(&mut params, Limit::Packets(Packets::new(9))).unwrap_err();
    assert_eq!(broken.to_string(), "target is not below interval; allowed: less than 5 ms");
}

#[test]
fn a_full_queue_drops_the_arrival_and_raises_blue() {
    let mut queue = queue(3);
    let dropped = put(&mut queue, 10, Ecn::Ect0, 5);
    assert_eq!(dropped.iter().map(|d| d.reason).collect::<Vec<_>>(), [crate::DropReason::Overflow; 2]);
    assert_eq!((state(&queue, "p_drop"), state(&queue, "count")), (1.0 / 256.0, 1.0), "once in 5 ms");
    assert_eq!((state(&queue, "dropping"), state(&queue, "drop_next")), (1.0, 0.01));
}

#[test]
fn a_request_to_the_empty_queue_lowers_blue() {
    let mut queue = queue(1);
    put(&mut queue, 10, Ecn::Ect0, 2);
    let mut dropped = Vec::new();
    assert!(queue.dequeue(at(11), &mut dropped).is_some());
    assert_eq!(state(&queue, "p_drop"), 1.0 / 256.0, "the last packet left, but the queue had its turn with it");
    assert!(queue.dequeue(at(15), &mut dropped).is_none());
    assert_eq!(state(&queue, "p_drop"), 1.0 / 256.0, "5 ms are not above the target");
    assert!(queue.dequeue(at(16), &mut dropped).is_none());
    assert_eq!(state(&queue, "p_drop"), 15.0 / 4096.0);
}

#[test]
fn a_standing_queue_is_marked_or_dropped_but_for_its_last_packet() {
    // The first packet above the target schedules a drop at once in a new queue, so the others are hit.
    for (ecn, marks, drops) in [(Ecn::Ect0, [false, true], 0), (Ecn::NotEct, [false, false], 1)] {
        let mut queue = queue(9);
        put(&mut queue, 0, ecn, 3);
        let mut dropped = Vec::new();
        let out = [300, 301].map(|ms| queue.dequeue(at(ms), &mut dropped).unwrap().marked);
        assert_eq!((out, dropped.len()), (marks, drops));
        assert_eq!(state(&queue, "sojourn"), 0.301);
    }
    let mut queue = queue(9);
    put(&mut queue, 0, Ecn::NotEct, 2);
    let mut dropped = Vec::new();
    assert!(queue.dequeue(at(300), &mut dropped).is_some());
    assert!(queue.dequeue(at(301), &mut dropped).is_some() && dropped.is_empty(), "due, but the last one");
    assert_eq!(state(&queue, "count"), 2.0);
}

#[test]
fn no_packet_bypasses_it() {
    assert!(!queue(9).lets_pass(narrows_units::Bytes::new(40)), "a packet that does not wait is noted, too");
}
