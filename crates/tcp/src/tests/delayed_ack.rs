//! When the receiver acknowledges (RFC 1122, section 4.2.3.2; RFC 5681, section 4.2).

use super::harness::*;
use crate::{Config, DelayedAck};
use narrows_units::{Bytes, SeqNum};
use narrows_wire::{Packet, TcpFlags};

fn plain() -> Config {
    Config { mss: 1000, timestamps: false, ..Config::default() }
}

/// Established; the receiver is the server, fed by hand from sequence number 1001.
fn receiver(config: Config) -> Net {
    let mut net = Net::simple(config);
    net.establish();
    net
}

fn feed(net: &mut Net, segment: u32, len: u32) -> Vec<Packet> {
    let packet = forge(C, 1_001 + segment * 1_000, Some(5_001), TcpFlags::NONE, len);
    net.ends[S].handle_segment(&packet, net.now);
    drain(net)
}

fn drain(net: &mut Net) -> Vec<Packet> {
    core::iter::from_fn(|| net.ends[S].poll_transmit(net.now)).collect()
}

fn ack(packets: &[Packet]) -> Vec<u32> {
    packets.iter().map(|p| (p.tcp().unwrap().ack.as_u32() - 1_001) / 1_000).collect()
}

fn blocks(packet: &Packet) -> Vec<(u32, u32)> {
    let unit = |s: SeqNum| (s.as_u32() - 1_001) / 1_000;
    packet.tcp().unwrap().options.sack.iter().map(|(l, r)| (unit(l), unit(r))).collect()
}

#[test]
fn every_second_full_segment_is_acknowledged_at_once() {
    let mut net = receiver(plain());
    assert_eq!(ack(&feed(&mut net, 0, 1000)), []);
    assert_eq!(ack(&feed(&mut net, 1, 1000)), [2]);
    assert_eq!(ack(&feed(&mut net, 2, 1000)), []);
    assert_eq!(ack(&feed(&mut net, 3, 1000)), [4]);
}

#[test]
fn a_lone_segment_is_acknowledged_after_the_timeout() {
    let mut net = receiver(plain());
    feed(&mut net, 0, 1000);
    let due = net.now + ms(200);
    assert_eq!(net.ends[S].poll_timeout(), due);
    net.ends[S].handle_timeout(net.now + ms(199));
    assert_eq!(drain(&mut net), []);
    net.ends[S].handle_timeout(due);
    assert_eq!(ack(&drain(&mut net)), [1]);
    assert_eq!(net.ends[S].poll_timeout(), narrows_units::Instant::NEVER);
}

#[test]
fn small_segments_wait_for_two_full_ones_worth() {
    let mut net = receiver(plain());
    feed(&mut net, 0, 1000);
    feed(&mut net, 1, 1000);
    for i in 0..19u32 {
        let packet = forge(C, 3_001 + i * 100, Some(5_001), TcpFlags::NONE, 100);
        net.ends[S].handle_segment(&packet, net.now);
        assert_eq!(drain(&mut net), [], "{i}");
    }
    let packet = forge(C, 3_001 + 1_900, Some(5_001), TcpFlags::NONE, 100);
    net.ends[S].handle_segment(&packet, net.now);
    assert_eq!(ack(&drain(&mut net)), [4]);
}

#[test]
fn without_delay_every_segment_is_acknowledged() {
    let mut net = receiver(Config { delayed_ack: DelayedAck::Off, ..plain() });
    assert_eq!(ack(&feed(&mut net, 0, 1000)), [1]);
    assert_eq!(ack(&feed(&mut net, 1, 1)), [1], "however small");
}

#[test]
fn out_of_order_data_and_the_filling_of_a_gap_are_acknowledged_at_once() {
    let mut net = receiver(plain());
    for (segment, expected) in [(1, vec![(1, 2)]), (3, vec![(3, 4), (1, 2)]), (5, vec![(5, 6), (3, 4), (1, 2)])] {
        let answer = feed(&mut net, segment, 1000);
        assert_eq!(ack(&answer), [0]);
        assert_eq!(blocks(&answer[0]), expected);
    }
    let answer = feed(&mut net, 4, 1000);
    assert_eq!(blocks(&answer[0]), [(3, 6), (1, 2)], "the block of the segment that came comes first");
    let answer = feed(&mut net, 0, 1000);
    assert_eq!(ack(&answer), [2]);
    assert_eq!(blocks(&answer[0]), [(3, 6)]);
    assert_eq!(ack(&feed(&mut net, 2, 1000)), [6]);
    assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(6_000));
    assert_eq!(net.ends[S].stats().out_of_order_segments.as_u64(), 4);
}

#[test]
fn duplicates_are_reported_by_d_sack() {
    let mut net = receiver(plain());
    feed(&mut net, 0, 1000);
    feed(&mut net, 1, 1000);
    let answer = feed(&mut net, 0, 1000);
    assert_eq!((ack(&answer), blocks(&answer[0])), (vec![2], vec![(0, 1)]), "below the cumulative ACK");
    feed(&mut net, 4, 1000);
    feed(&mut net, 3, 1000);
    let answer = feed(&mut net, 4, 1000);
    assert_eq!(blocks(&answer[0]), [(4, 5), (3, 5)], "inside the second block");
    assert_eq!(net.ends[S].stats().duplicate_segments.as_u64(), 2);
    let answer = feed(&mut net, 6, 1000);
    assert_eq!(blocks(&answer[0]), [(6, 7), (3, 5)], "and reported once");
}

#[test]
fn three_blocks_beside_timestamps_and_four_without() {
    for (timestamps, expected) in [(true, 3), (false, 4)] {
        let mut net = Net::simple(Config { mss: 1000, timestamps, ..Config::default() });
        net.establish();
        net.ends[C].write(Bytes::MAX);
        let mut n = 0;
        net.rule = Box::new(move |from, packet, _| {
            n += u32::from(from == C && packet.payload_len > 0);
            if from == C && n % 2 == 1 && n < 10 { Fate::Drop } else { Fate::Pass }
        });
        net.run(at(299));
        let most = net.log.iter().filter(|e| e.1 == S).map(|e| e.2.tcp().unwrap().options.sack.len()).max();
        assert_eq!(most, Some(expected));
        assert!(net.log.iter().all(|e| e.2.tcp().unwrap().header_len() <= 60));
    }
}

#[test]
fn an_ack_rides_on_data() {
    let mut net = receiver(plain());
    feed(&mut net, 0, 1000);
    net.ends[S].write(Bytes::new(10));
    let answer = drain(&mut net);
    assert_eq!((answer.len(), answer[0].payload_len, ack(&answer)), (1, 10, vec![1]));
    assert_eq!(net.ends[S].stats().acks_sent.as_u64(), 0);
}
