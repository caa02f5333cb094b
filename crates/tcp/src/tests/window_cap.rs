//! The advertised window where a scheme bounds it.

use super::capped::*;
use super::harness::*;
use crate::{Config, DelayedAck, RecoveryKind};
use narrows_units::{Bytes, Duration, Instant, SeqNum};
use proptest::prelude::*;

#[test]
fn the_window_follows_the_cap_down_without_moving_its_edge_and_up_at_once() {
    let (mut net, dial) = net_with(config(), None, false);
    net.establish();
    turn(&dial, 10_500);
    net.ends[C].write(Bytes::new(64_000));
    go_on(&mut net, 101);
    // It can follow only by whole segments: from 11,000 to 10,500 it would be half of one.
    let down: Vec<u16> = (0..64u16).map(|i| if i < 54 { 63_000 - 1_000 * i } else { 10_500 }).collect();
    assert_eq!(offered(&net), down, "the window of the SYN stands until it is used up");
    net.log.clear();
    turn(&dial, 20_000);
    net.ends[C].write(Bytes::new(3_000));
    go_on(&mut net, 100);
    assert_eq!(offered(&net), [20_000; 3]);
    assert_eq!(net.ends[C].info().rwnd, Bytes::new(20_000));
}

#[test]
fn with_shrink_the_edge_moves_left_and_what_was_offered_is_still_accepted() {
    let (mut net, dial) = net_with(config(), None, true);
    net.establish();
    turn(&dial, 5_000);
    net.ends[C].write(Bytes::new(200_000));
    go_on(&mut net, 50);
    assert_eq!(net.ends[C].info().flightsize, Bytes::new(64_000), "the sender used the window of the handshake");
    go_on(&mut net, 50);
    let windows = offered(&net);
    assert_eq!((windows.len(), windows.iter().all(|w| *w == 5_000)), (64, true), "at once: {windows:?}");
    assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(64_000), "all that was offered came in");
    go_on(&mut net, 10_000);
    assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(200_000));
    let stats = net.ends[C].stats();
    assert_eq!((stats.retransmitted_packets.as_u64(), stats.timeouts), (0, 0), "a window below the flight is no loss");
}

#[test]
fn a_loss_in_a_flight_beyond_the_shrunk_window_is_repaired() {
    for recovery in [RecoveryKind::RtoOnly, RecoveryKind::NewReno, RecoveryKind::Sack] {
        // The first segment, one in the middle, and the last, which only the timer finds.
        for lost in [0u32, 30, 63] {
            let (mut net, dial) = net_with(Config { recovery, ..config() }, None, true);
            net.establish();
            turn(&dial, 2_000);
            net.rule = Box::new(move |from, packet, now| {
                let first = packet.tcp().unwrap().seq == SeqNum::new(1_001 + 1_000 * lost) && now < at(300);
                if from == C && packet.payload_len > 0 && first { Fate::Drop } else { Fate::Pass }
            });
            net.ends[C].write(Bytes::new(100_000));
            go_on(&mut net, 60_000);
            assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(100_000), "{recovery:?} without {lost}");
            let stats = net.ends[C].stats();
            assert!(stats.retransmitted_packets.as_u64() >= 1);
            // The timer marks all as lost; NewReno sends nothing twice, and SACK's rescue at most one segment.
            let most = match recovery {
                RecoveryKind::RtoOnly => 64,
                RecoveryKind::Sack => 2,
                _ => 1,
            };
            assert!(stats.retransmitted_packets.as_u64() <= most, "{recovery:?} without {lost}: {stats:?}");
        }
    }
}

#[test]
fn a_zero_window_with_data_outstanding_leaves_the_retransmission_timer_running() {
    let (mut net, dial) = net_with(config(), None, true);
    net.establish();
    turn(&dial, 0);
    net.rule = Box::new(|from, packet, now| {
        // The last segment of the flight is lost.
        if from == C && packet.tcp().unwrap().seq == SeqNum::new(64_001) && now < at(300) {
            Fate::Drop
        } else {
            Fate::Pass
        }
    });
    net.ends[C].write(Bytes::new(80_000));
    go_on(&mut net, 600);
    let info = net.ends[C].info();
    assert_eq!((info.rwnd, info.flightsize), (Bytes::ZERO, Bytes::new(1_000)));
    assert_eq!(net.ends[C].stats().probes_sent.as_u64(), 0, "outstanding data asks for the window by itself");
    go_on(&mut net, 1_000);
    assert_eq!(net.ends[C].stats().timeouts, 1);
    assert_eq!(
        net.ends[S].delivered_to_app(),
        Bytes::new(64_000),
        "the retransmission lies in a window offered before"
    );
    turn(&dial, 8_000);
    go_on(&mut net, 60_000);
    assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(80_000));
    assert!(net.ends[C].stats().probes_sent.as_u64() > 0);
}

#[test]
fn a_cap_below_a_segment_closes_the_window_and_a_probe_opens_it() {
    for recovery in [RecoveryKind::RtoOnly, RecoveryKind::NewReno, RecoveryKind::Sack] {
        let (mut net, dial) = settled(Config { recovery, ..config() }, false, 4_000, 70_000);
        turn(&dial, 999);
        net.ends[C].write(Bytes::new(50_000));
        go_on(&mut net, 900);
        assert_eq!(net.ends[C].info().rwnd, Bytes::ZERO, "999 bytes are less than a segment");
        assert_eq!(offered(&net), [3_000, 2_000, 1_000, 0]);
        go_on(&mut net, 10_000);
        let probes = net.ends[C].stats().probes_sent.as_u64();
        assert!((3..=4).contains(&probes), "{probes} probes: after 1, 3 and 7 s");
        assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(74_000), "their octets are refused");
        assert!(offered(&net)[4..].iter().all(|w| *w == 0), "each is answered");
        turn(&dial, 1_000);
        go_on(&mut net, 120_000);
        assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(120_000));
        let stats = net.ends[C].stats();
        assert_eq!((stats.retransmitted_packets.as_u64(), stats.timeouts), (0, 0), "a probe is no loss");
    }
}

#[test]
fn a_window_that_may_shrink_is_no_silly_one() {
    let (mut net, dial) = settled(config(), true, 4_000, 70_000);
    for (cap, window) in [(1_000, 1_000), (999, 0), (0, 0), (1_999, 1_999), (1_000, 1_000), (999, 0)] {
        turn(&dial, cap);
        net.log.clear();
        // The answer to a probe where the window was closed.
        net.ends[C].write(Bytes::new(1));
        go_on(&mut net, 300_000);
        assert_eq!(offered(&net).last(), Some(&window), "cap {cap}");
    }
}

#[test]
fn a_cap_that_units_round_to_less_than_a_segment_closes_the_window() {
    // Units of 16 bytes: 1007 is sent as 992, which is less than a segment of 1000.
    for shrink in [false, true] {
        let config = Config { recv_buffer: Bytes::new(1_000_000), ..config() };
        for (cap, field) in [(1_000, 0), (1_007, 0), (1_008, 63), (2_000, 125)] {
            let (mut net, dial) = settled(config, shrink, 10_000, 70_000);
            turn(&dial, cap);
            net.ends[C].write(Bytes::new(12_000));
            go_on(&mut net, 900);
            assert_eq!(offered(&net).last(), Some(&field), "cap {cap}, shrink {shrink}");
        }
    }
}

#[test]
fn a_cap_that_rises_by_less_than_a_segment_is_not_advertised() {
    let (mut net, dial) = settled(config(), false, 10_000, 64_000);
    net.ends[C].write(Bytes::new(500));
    go_on(&mut net, 200);
    // 500 bytes came: the edge could move by as much, and by 499 of the cap.
    assert_eq!(offered(&net), [9_500]);
    turn(&dial, 10_498);
    net.ends[C].write(Bytes::new(1));
    go_on(&mut net, 200);
    assert_eq!(offered(&net)[1..], [9_499], "by 1000 bytes less one");
    net.ends[C].write(Bytes::new(1));
    go_on(&mut net, 200);
    assert_eq!(offered(&net)[2..], [10_498], "a whole one");
}

#[test]
fn a_slow_reader_and_a_cap_both_bound_the_window() {
    let (mut net, dial) = settled(config(), false, 20_000, 64_000);
    net.ends[S].set_auto_read(false);
    net.ends[C].write(Bytes::new(200_000));
    go_on(&mut net, 3_000);
    assert_eq!(net.ends[S].readable(), Bytes::new(64_000), "the buffer fills");
    assert_eq!(net.ends[C].info().rwnd, Bytes::ZERO);
    // The buffer is free again, but the network takes no more than 5 kB.
    turn(&dial, 5_000);
    net.log.clear();
    net.ends[S].read(Bytes::new(2_000));
    go_on(&mut net, 60);
    assert_eq!(offered(&net)[0], 2_000, "the buffer rules");
    go_on(&mut net, 1_000);
    net.ends[S].set_auto_read(true);
    go_on(&mut net, 200_000);
    assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(264_000));
    assert_eq!(offered(&net).last(), Some(&5_000), "then the cap");
}

#[test]
fn delayed_acks_see_the_latest_cap() {
    let delayed = DelayedAck::On { every: 2, timeout: ms(200) };
    let (mut net, dial) = settled(Config { delayed_ack: delayed, ..config() }, false, 10_000, 64_000);
    turn(&dial, 12_000);
    net.ends[C].write(Bytes::new(1_000));
    go_on(&mut net, 60);
    assert!(offered(&net).is_empty(), "the ACK waits");
    turn(&dial, 15_000);
    net.ends[C].write(Bytes::new(1_000));
    go_on(&mut net, 200);
    assert_eq!(offered(&net), [15_000]);
    // A window of one segment: each ACK waits for the timer, but nothing stalls.
    turn(&dial, 1_000);
    net.ends[C].write(Bytes::new(30_000));
    go_on(&mut net, 30_000);
    assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(96_000));
    assert_eq!(net.ends[C].stats().probes_sent.as_u64(), 0);
}

#[test]
fn the_cap_closes_the_window_in_units_of_any_scale() {
    for shift in 0..=14u32 {
        for mss in [108, 1_008, 1_460] {
            let buffer = Bytes::new(65_535 << shift);
            let config = Config { recv_buffer: buffer, mss, ..config() };
            let (mut net, dial) = net_with(config, None, false);
            net.establish();
            let cap = 30_000;
            turn(&dial, cap);
            net.ends[C].write(Bytes::new(1_000_000));
            go_on(&mut net, 4_000);
            let (rwnd, unit) = (net.ends[C].info().rwnd.as_u64(), 1 << shift);
            let tolerance = unit + u64::from(mss);
            assert!(rwnd <= cap + unit, "scale {shift}, mss {mss}: {rwnd}");
            assert!(rwnd + tolerance > cap, "scale {shift}, mss {mss}: {rwnd}");
            assert!(rwnd > 0, "scale {shift}, mss {mss}");
            go_on(&mut net, 200_000);
            assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(1_000_000), "scale {shift}, mss {mss}");
        }
    }
}

#[test]
fn a_slow_reader_does_not_push_a_coarse_edge_beyond_its_buffer() {
    // Units of 16 kB and segments of 1000 bytes.
    let config = Config { recv_buffer: Bytes::new(65_535 << 14), ..config() };
    let mut net = plain(config);
    net.establish();
    net.ends[S].set_auto_read(false);
    net.ends[C].write(Bytes::new(100_000));
    go_on(&mut net, 2_000);
    let rwnd = net.ends[C].info().rwnd.as_u64();
    assert!(rwnd + 100_000 < (65_535 << 14) + (1 << 14), "{rwnd}");
}

proptest! {
    /// RFC 9293's rules for windows hold whatever the caps are: `Net` checks both ends at each segment.
    #[test]
    fn the_edge_never_moves_left_without_shrink_and_everything_arrives(
        shrink in any::<bool>(),
        shift in 0u32..=14,
        mss in 100u16..1_460,
        sizes in [0u64..120_000, 0u64..30_000],
        caps in prop::collection::vec(prop_oneof![0u64..3_000, 0u64..100_000, Just(u64::from(u32::MAX))], 1..60),
        fates in prop::collection::vec(0u8..25, 1..200),
        recovery in prop_oneof![Just(RecoveryKind::RtoOnly), Just(RecoveryKind::NewReno), Just(RecoveryKind::Sack)],
        delayed in any::<bool>(),
        slow in any::<bool>(),
    ) {
        let delayed_ack = if delayed { Config::default().delayed_ack } else { DelayedAck::Off };
        let recv_buffer = Bytes::new(40_000 << shift);
        let (mut net, dial) =
            net_with(Config { mss, recovery, delayed_ack, recv_buffer, max_retries: Some(10_000), ..config() }, None, shrink);
        let mut n = 0usize;
        net.rule = Box::new(move |_, packet, _| {
            n += 1;
            // The pattern applies to the beginning only, so that every transfer ends.
            let early = n <= 400;
            if packet.payload_len > 0 {
                turn(&dial, if early { caps[n % caps.len()] } else { 50_000 });
            }
            match fates[n % fates.len()] {
                0 | 1 if early => Fate::Drop,
                2 if early => Fate::Late(ms(3)),
                3 if early => Fate::Late(ms(400)),
                4 if early => Fate::Twice,
                _ => Fate::Pass,
            }
        });
        for (end, size) in sizes.into_iter().enumerate() {
            net.ends[end].write(Bytes::new(size));
        }
        net.ends[S].set_auto_read(!slow);
        let limit = Instant::ZERO + Duration::from_secs(1_000_000);
        for step in 0u64.. {
            prop_assert!(step < 1_000_000, "never ends");
            if slow && step.is_multiple_of(7) {
                net.ends[S].read(Bytes::new(1 + step % 5_000));
            }
            if !net.step(limit) {
                if net.ends[S].readable().is_zero() {
                    break;
                }
                net.ends[S].read(Bytes::MAX);
            }
        }
        prop_assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(sizes[0]));
        prop_assert_eq!(net.ends[C].delivered_to_app(), Bytes::new(sizes[1]));
        for end in &net.ends {
            let s = end.stats();
            prop_assert!(s.sent_bytes >= s.retransmitted_bytes);
            prop_assert!(3 * s.triple_duplicate_acks <= s.segments_received.as_u64());
        }
    }
}
