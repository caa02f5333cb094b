//! A scheme that bounds the advertised window: its handshake, its peers, and the duplicate ACKs beside it.

use super::capped::*;
use super::harness::*;
use crate::{Agreement, Assist, Config, Connection, RecoveryKind};
use narrows_units::{Bytes, SeqNum};
use narrows_wire::{Packet, TcpFlags};

#[test]
fn the_bound_before_the_handshake_rules_the_syn() {
    for (shrink, scaling) in [(false, true), (true, true), (false, false)] {
        let config = Config { window_scaling: scaling, recv_buffer: Bytes::new(1_000_000), ..config() };
        let (mut net, _) = net_with(config, Some(6_000), shrink);
        net.ends[C].write(Bytes::new(30_000));
        go_on(&mut net, 199);
        let syns: Vec<u16> = net
            .log
            .iter()
            .filter(|e| e.2.tcp().unwrap().flags.has(TcpFlags::SYN))
            .map(|e| e.2.tcp().unwrap().window)
            .collect();
        assert_eq!(syns, [6_000, 6_000]);
        assert_eq!(net.ends[C].info().flightsize, Bytes::new(6_000), "nothing goes out beyond it");
        go_on(&mut net, 2_000);
        assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(30_000));
    }
}

#[test]
fn nothing_in_the_handshake_tells_of_a_scheme_without_negotiation() {
    for ecn in [false, true] {
        let config = Config { ecn, ..config() };
        let (mut net, _) = net_with(config, None, false);
        net.run(at(120));
        let mut without = plain(config);
        without.run(at(120));
        let packets = |net: &Net| net.log.iter().map(|e| e.2).collect::<Vec<Packet>>();
        assert_eq!(packets(&net), packets(&without), "SYN, SYN-ACK and ACK are the same");
        let agreement = if ecn { Agreement::Ecn } else { Agreement::Nothing };
        assert!(net.ends.iter().all(|e| e.info().agreement == agreement), "ECN is agreed on beside it");
    }
}

#[test]
fn its_bytes_are_taken_off_the_smss_over_ipv4_alone() {
    let smss = |[a, b]: [&str; 2]| {
        let (a, b) = (a.parse().unwrap(), b.parse().unwrap());
        let cap = || Some(Box::new(Cap { dial: Dial::default(), now: None, shrink: false }) as Box<dyn Assist>);
        let mut net = Net::with([
            Connection::connect(config(), wide(), cap(), a, b, SeqNum::new(1)),
            Connection::listen(config(), wide(), None, b, a, SeqNum::new(1)),
        ]);
        net.establish();
        net.ends.each_ref().map(|e| e.info().smss.as_u64())
    };
    assert_eq!(smss(["10.0.0.1:1", "10.0.0.2:2"]), [1_000, 1_008], "each end for itself");
    assert_eq!(smss(["[fd00::1]:1", "[fd00::2]:2"]), [1_008, 1_008]);
}

#[test]
fn a_peer_without_the_scheme_is_held_by_our_window_and_we_are_not_by_its() {
    let ([a, b], dial) = (addresses(), Dial::default());
    let cap = Some(Box::new(Cap { dial: dial.clone(), now: None, shrink: false }) as Box<dyn Assist>);
    let mut net = Net::with([
        Connection::connect(config(), wide(), None, a, b, SeqNum::new(1_000)),
        Connection::listen(config(), wide(), cap, b, a, SeqNum::new(5_000)),
    ]);
    net.establish();
    turn(&dial, 3_000);
    net.ends.iter_mut().for_each(|end| end.write(Bytes::new(200_000)));
    go_on(&mut net, 2_000);
    assert_eq!((net.ends[C].info().rwnd, net.ends[S].info().rwnd), (Bytes::new(3_000), Bytes::new(64_000)));
    go_on(&mut net, 60_000);
    assert!(net.ends.iter().all(|end| end.delivered_to_app() == Bytes::new(200_000)));
}

#[test]
fn both_ends_hold_each_other() {
    for shrink in [false, true] {
        let (mut net, dial) = net_with(config(), None, shrink);
        net.establish();
        turn(&dial, 7_000);
        net.ends.iter_mut().for_each(|end| end.write(Bytes::new(300_000)));
        go_on(&mut net, 1_500);
        for end in [C, S] {
            let info = net.ends[end].info();
            assert!(info.flightsize <= Bytes::new(7_000) && info.rwnd <= Bytes::new(7_000), "{info:?}");
        }
        go_on(&mut net, 60_000);
        assert!(net.ends.iter().all(|end| end.delivered_to_app() == Bytes::new(300_000)));
        assert!(net.ends.iter().all(|end| end.stats().retransmitted_packets.as_u64() == 0));
    }
}

/// The third duplicate ACK of each series is counted, whatever recovery does.
#[test]
fn a_triple_duplicate_ack_counts_once_a_series() {
    for recovery in [RecoveryKind::RtoOnly, RecoveryKind::NewReno, RecoveryKind::Sack] {
        let config = Config { recovery, sack: recovery == RecoveryKind::Sack, ..config() };
        // Segments after the loss, and triples expected: a long series, one of two ACKs, and one of exactly three.
        for (after, expected) in [(30u64, 1), (2, 0), (3, 1)] {
            let mut net = plain(config);
            net.establish();
            net.rule = Box::new(|from, packet, now| {
                if from == C && packet.tcp().unwrap().seq == SeqNum::new(1_001) && now < at(300) {
                    Fate::Drop
                } else {
                    Fate::Pass
                }
            });
            net.ends[C].write(Bytes::new(1_008 * (1 + after)));
            go_on(&mut net, 20_000);
            assert_eq!(net.ends[C].stats().triple_duplicate_acks, expected, "{recovery:?}, {after} segments behind");
            // New ACKs have ended the series: the next loss starts at zero.
            let una = 1_001 + 1_008 * (1 + after as u32);
            let start = net.now;
            net.rule = Box::new(move |from, packet, now| {
                let first = packet.tcp().unwrap().seq == SeqNum::new(una) && now < start + ms(10);
                if from == C && first && packet.payload_len > 0 { Fate::Drop } else { Fate::Pass }
            });
            net.ends[C].write(Bytes::new(1_008 * (1 + after)));
            go_on(&mut net, 20_000);
            assert_eq!(net.ends[C].stats().triple_duplicate_acks, 2 * expected, "{recovery:?}, {after} behind, again");
            assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(2 * 1_008 * (1 + after)));
        }
    }
}

#[test]
fn duplicate_acks_that_move_the_window_count_as_triple_and_do_not_retransmit() {
    let (mut net, dial) = settled(config(), false, 30_000, 64_000);
    let (lost, cap) = (SeqNum::new(1_001 + 64_000), dial.clone());
    net.rule = Box::new(move |from, packet, now| {
        if from == S {
            // The next segment brings a cap that is one segment higher.
            *dial.lock().unwrap().as_mut().unwrap() += 1_000;
        }
        if from == C && packet.tcp().unwrap().seq == lost && now < at(110_000) { Fate::Drop } else { Fate::Pass }
    });
    turn(&cap, 31_000);
    net.ends[C].write(Bytes::new(6_000));
    go_on(&mut net, 200);
    let stats = net.ends[C].stats();
    // Each duplicate ACK changed the window, so that RFC 5681 counts none.
    assert_eq!((stats.triple_duplicate_acks, stats.duplicate_acks.as_u64()), (1, 0));
    go_on(&mut net, 30_000);
    assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(70_000));
}
