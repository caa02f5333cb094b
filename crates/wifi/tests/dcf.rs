//! The rules of DCF, one by one, as seen from outside: frames, their times, and arriving packets.

#![allow(clippy::unwrap_used)]

mod common;

use common::*;
use narrows_units::{Bytes, Duration, Instant, Rate};
use narrows_wifi::{Aggregation, Config, FrameKind, Mode};

const LONG: Instant = Instant::from_nanos(60_000_000_000);

#[test]
fn a_lone_packet_goes_at_once_and_is_acknowledged_after_sifs() {
    let (mut m, mut log) = (medium(config(), &plain(2), &[], &[]), Log::new(2));
    offer(&mut m, &mut log, 1, 0, 1000, 7, us(500));
    run(&mut m, &mut log, LONG);
    assert_eq!(log.story(), ["data 1->0", "ack 0->1"]);
    // 192 + 8 (1000 + 28) = 8416 us, then SIFS.
    assert_eq!((log.frames[0].start, log.frames[1].start), (us(500), us(500 + 8416 + 10)));
    assert_eq!(log.frames[0].duration, Duration::from_micros(10 + 304));
    assert_eq!(log.received, [(0, 7)]);
}

#[test]
fn rts_and_cts_come_before_long_frames_only() {
    let rts = Config { rts_threshold: Some(Bytes::new(1027)), ..config() };
    let (mut m, mut log) = (medium(rts, &plain(2), &[], &[]), Log::new(2));
    offer(&mut m, &mut log, 1, 0, 1000, 1, us(500));
    offer(&mut m, &mut log, 1, 0, 999, 2, us(500));
    run(&mut m, &mut log, LONG);
    assert_eq!(log.story(), ["rts 1->0", "cts 0->1", "data 1->0", "ack 0->1", "data 1->0", "ack 0->1"]);
    let starts: Vec<_> = log.frames.iter().take(4).map(|f| f.start).collect();
    assert_eq!(starts, [us(500), us(862), us(1176), us(9602)]);
    // The NAV ends with the ACK.
    let end = log.frames[3].start + log.frames[3].airtime;
    for frame in &log.frames[..3] {
        assert_eq!(frame.start + frame.airtime + frame.duration, end);
    }
}

#[test]
fn a_station_that_has_just_sent_backs_off_before_the_next_frame() {
    let (mut m, mut log) = (medium(config(), &plain(2), &[], &[]), Log::new(2));
    log.saturated = Some(100);
    m.wake(1, us(0), &mut log);
    run(&mut m, &mut log, us(5_000_000));
    let exchanges = log.frames.len() / 2;
    let gaps: Vec<u64> = (1..exchanges)
        .map(|i| {
            let ack = log.frames[2 * i - 1];
            log.frames[2 * i].start.since(ack.start + ack.airtime).as_micros()
        })
        .collect();
    assert!(gaps.iter().all(|g| (50..=50 + 31 * 20).contains(g) && (g - 50) % 20 == 0), "{gaps:?}");
    let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
    assert!((mean - 360.0).abs() < 20.0, "DIFS and 15.5 slots are 360 us: {mean}");
}

#[test]
fn stations_of_equal_backoff_collide_and_try_again_with_wider_windows() {
    // With a window of one slot both choose the same slot: they collide until the windows are wide enough.
    let narrow = Config { cw_min: 0, ..config() };
    let (mut m, mut log) = (medium(narrow, &plain(3), &[], &[]), Log::new(3));
    offer(&mut m, &mut log, 1, 0, 500, 1, us(0));
    offer(&mut m, &mut log, 2, 0, 500, 2, us(0));
    run(&mut m, &mut log, LONG);
    assert_eq!(log.frames[0].start, log.frames[1].start, "both start at once");
    let mut received = log.received.clone();
    received.sort_unstable();
    assert_eq!(received, [(0, 1), (0, 2)]);
    assert!(m.meter(1).data_failures >= 1 && m.meter(2).data_failures >= 1);
    assert!(m.meter(0).collisions >= 1);
}

#[test]
fn who_finds_the_medium_busy_backs_off() {
    let (mut m, mut log) = (medium(config(), &plain(3), &[], &[]), Log::new(3));
    offer(&mut m, &mut log, 1, 0, 500, 1, us(0));
    run(&mut m, &mut log, us(100));
    offer(&mut m, &mut log, 2, 0, 500, 2, us(100));
    run(&mut m, &mut log, LONG);
    assert_eq!(log.story(), ["data 1->0", "ack 0->1", "data 2->0", "ack 0->2"]);
    let gap = log.frames[2].start.since(log.frames[1].start + log.frames[1].airtime).as_micros();
    assert!((50..=670).contains(&gap) && (gap - 50) % 20 == 0, "{gap}");
}

#[test]
fn hidden_stations_collide_and_rts_keeps_the_loss_short() {
    let lost = |rts_threshold| {
        let config = Config { rts_threshold, ..config() };
        let (mut m, mut log) = (medium(config, &plain(3), &[(1, 2), (2, 1)], &[]), Log::new(3));
        log.quiet = true;
        log.saturated = Some(1000);
        (1..3).for_each(|s| m.wake(s, us(0), &mut log));
        run(&mut m, &mut log, us(20_000_000));
        log.received_packets
    };
    let (basic, rts) = (lost(None), lost(Some(Bytes::ZERO)));
    assert!(rts > 2 * basic, "with RTS {rts} packets, without {basic}");
}

#[test]
fn a_stronger_frame_captures_the_receiver() {
    let config = Config { cw_min: 0, capture_db: Some(10.0), ..config() };
    let mut stations = plain(3);
    stations[1].signal_db = 20.0;
    let (mut m, mut log) = (medium(config, &stations, &[], &[]), Log::new(3));
    offer(&mut m, &mut log, 2, 0, 500, 2, us(0));
    offer(&mut m, &mut log, 1, 0, 500, 1, us(0));
    run(&mut m, &mut log, LONG);
    assert_eq!(log.received, [(0, 1), (0, 2)]);
    assert_eq!((m.meter(1).data_failures, m.meter(2).data_failures), (0, 1));
}

#[test]
fn a_frame_is_given_up_at_its_retry_limit() {
    for (rts_threshold, kind, attempts) in [(None, FrameKind::Data, 7), (Some(Bytes::ZERO), FrameKind::Rts, 7)] {
        let config = Config { rts_threshold, ..config() };
        let (mut m, mut log) = (medium(config, &plain(2), &[], &[fer(1, 1.0)]), Log::new(2));
        offer(&mut m, &mut log, 1, 0, 500, 9, us(0));
        run(&mut m, &mut log, LONG);
        assert_eq!(log.frames.iter().filter(|f| f.kind == kind).count(), attempts);
        assert_eq!((log.given_up.as_slice(), log.received.as_slice()), ([(1, 9)].as_slice(), [].as_slice()));
        assert_eq!(m.holds(1), 0);
    }
}

#[test]
fn a_packet_whose_ack_is_lost_is_sent_again_and_delivered_once() {
    let (mut m, mut log) = (medium(config(), &plain(2), &[], &[fer(1, 0.5)]), Log::new(2));
    for mark in 0..500 {
        offer(&mut m, &mut log, 1, 0, 100, mark, us(0));
    }
    run(&mut m, &mut log, LONG);
    assert!(m.meter(0).duplicates > 50, "{}", m.meter(0).duplicates);
    let marks: Vec<u16> = log.received.iter().map(|r| r.1).collect();
    assert!(marks.windows(2).all(|w| w[0] < w[1]), "once, and in order");
}

#[test]
fn aggregates_are_filled_and_their_holes_filled_in() {
    let aggregation = Aggregation { max_mpdus: 16, max_bytes: Bytes::new(65_535), max_time: Duration::from_secs(1) };
    let config = Config { aggregation: Some(aggregation), ..config() };
    let (mut m, mut log) = (medium(config, &plain(3), &[], &[fer(2, 0.2)]), Log::new(3));
    for mark in 0..400 {
        log.queues[0].push_back(narrows_wifi::Outgoing { to: 1 + usize::from(mark % 2), packet: packet(200, mark) });
    }
    m.wake(0, us(0), &mut log);
    run(&mut m, &mut log, LONG);
    assert_eq!(log.story()[0], "data x16 0->1");
    for station in 1..3 {
        let marks: Vec<u16> = log.received.iter().filter(|r| r.0 == station).map(|r| r.1).collect();
        assert!(marks.windows(2).all(|w| w[0] < w[1]), "station {station}: {marks:?}");
        assert_eq!(marks.len() + log.given_up.iter().filter(|g| 1 + usize::from(g.1 % 2) == station).count(), 200);
    }
    assert!(m.meter(0).retried_mpdus > 20);
    assert_eq!(m.holds(0), 0);
    // The peers are served in turn; an aggregate without an answer is repeated first.
    let mut turns: Vec<usize> = log.frames.iter().filter(|f| f.from == 0).map(|f| f.to).take(20).collect();
    turns.dedup();
    assert!(turns.len() >= 10 && turns.windows(2).all(|w| w[0] != w[1]), "{turns:?}");
}

#[test]
fn an_aggregate_keeps_its_limits() {
    let aggregation =
        Aggregation { max_mpdus: 64, max_bytes: Bytes::new(2_000), max_time: Duration::from_micros(12_000) };
    let config = Config { aggregation: Some(aggregation), ..config() };
    let (mut m, mut log) = (medium(config, &plain(2), &[], &[]), Log::new(2));
    for (mark, len) in [(1, 100), (2, 900), (3, 900), (4, 1500), (5, 100)] {
        log.queues[1].push_back(narrows_wifi::Outgoing { to: 0, packet: packet(len, mark) });
    }
    m.wake(1, us(0), &mut log);
    run(&mut m, &mut log, LONG);
    let data: Vec<_> = log.frames.iter().filter(|f| f.from == 1).collect();
    assert!(data.iter().all(|f| f.len <= Bytes::new(2_000)), "{:?}", log.story());
    assert!(
        data.iter()
            .all(|f| f.airtime <= Duration::from_micros(12_000) || matches!(f.kind, FrameKind::Aggregate { mpdus: 1 }))
    );
    assert_eq!(log.received.iter().map(|r| r.1).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
}

#[test]
fn a_saturated_cell_is_fair_and_loses_nothing_but_time() {
    let (mut m, mut log) = (medium(config(), &plain(11), &[], &[]), Log::new(11));
    log.quiet = true;
    log.saturated = Some(1000);
    (1..11).for_each(|s| m.wake(s, us(0), &mut log));
    run(&mut m, &mut log, us(100_000_000));
    let share = log.received_packets as f64 * 8000.0 / 100e6;
    assert!((0.7..0.9).contains(&share), "{share}");
}

#[test]
fn a_station_that_hears_only_the_cts_keeps_silent_for_the_exchange() {
    let config = Config { rts_threshold: Some(Bytes::ZERO), ..config() };
    let (mut m, mut log) = (medium(config, &plain(3), &[(1, 2), (2, 1)], &[]), Log::new(3));
    offer(&mut m, &mut log, 1, 0, 1000, 1, us(1000));
    // The data frame is on the air by then, and station 2 does not hear it.
    run(&mut m, &mut log, us(3000));
    assert_eq!(log.frames.len(), 3);
    offer(&mut m, &mut log, 2, 0, 1000, 2, us(3000));
    run(&mut m, &mut log, LONG);
    let ack = log.frames[3];
    assert_eq!((ack.kind, log.frames[4].from), (FrameKind::Ack, 2));
    let gap = log.frames[4].start.since(ack.start + ack.airtime).as_micros();
    assert!((50..=670).contains(&gap) && (gap - 50) % 20 == 0, "DIFS and a backoff after the ACK: {gap}");
    assert_eq!(m.meter(2).rts_failures, 0);
}

#[test]
fn no_cts_is_given_while_the_medium_is_reserved() {
    // Station 2 hears the exchange of station 1 and the base station; station 3 hears neither, and gets no CTS from 2.
    let config = Config { rts_threshold: Some(Bytes::ZERO), ..config() };
    let hidden = [(1, 3), (0, 3)];
    let (mut m, mut log) = (medium(config, &plain(4), &hidden, &[]), Log::new(4));
    offer(&mut m, &mut log, 1, 0, 1500, 1, us(1000));
    run(&mut m, &mut log, us(3000));
    offer(&mut m, &mut log, 3, 2, 100, 2, us(3000));
    run(&mut m, &mut log, us(4500));
    assert_eq!(log.frames.last().map(|f| (f.kind, f.from)), Some((FrameKind::Rts, 3)));
    run(&mut m, &mut log, us(5500));
    assert_eq!(m.meter(2).cts_frames, 0);
    assert!(m.meter(3).rts_failures >= 1);
}

#[test]
fn after_a_collision_others_wait_eifs() {
    // Stations 1 and 2 collide and give up at once; station 3 gets its packet during the collision. Its backoff is
    // zero: it would send after DIFS if it had understood a frame.
    let narrow = Config { cw_min: 0, short_retry: 1, ..config() };
    let (mut m, mut log) = (medium(narrow, &plain(4), &[], &[]), Log::new(4));
    offer(&mut m, &mut log, 1, 0, 500, 1, us(0));
    offer(&mut m, &mut log, 2, 0, 500, 2, us(0));
    run(&mut m, &mut log, us(1000));
    offer(&mut m, &mut log, 3, 0, 100, 3, us(1000));
    run(&mut m, &mut log, LONG);
    assert_eq!(log.story(), ["data 1->0", "data 2->0", "data 3->0", "ack 0->3"]);
    let end = log.frames[1].start + log.frames[1].airtime;
    assert_eq!(log.frames[2].start, end + Duration::from_micros(10 + 304 + 50));
    assert_eq!(log.given_up, [(1, 1), (2, 2)]);
}

#[test]
fn a_number_that_comes_round_again_is_no_duplicate() {
    // Every 4096th packet is for station 1, so all of them have one sequence number; half of its frames are lost.
    let (mut m, mut log) = (medium(config(), &plain(3), &[], &[fer(1, 0.5)]), Log::new(3));
    for round in 0..12 {
        for n in 0..4096 {
            let (to, mark) = if n == 0 { (1, round) } else { (2, 999) };
            log.queues[0].push_back(narrows_wifi::Outgoing { to, packet: packet(100, mark) });
        }
    }
    m.wake(0, us(0), &mut log);
    run(&mut m, &mut log, us(600_000_000));
    let mut known: Vec<u16> = log.received.iter().filter(|r| r.0 == 1).map(|r| r.1).chain(log.lost).collect();
    known.sort_unstable();
    assert_eq!(known, (0..12).collect::<Vec<_>>(), "each arrived once or is known to be lost");
    let seqs: Vec<_> = log.frames.iter().zip(&log.seqs).filter(|(f, s)| f.to == 1 && !s.is_empty()).collect();
    assert!(seqs.len() > 18 && seqs.iter().all(|(_, s)| s[..] == [0]), "{}", seqs.len());
}

#[test]
fn a_frame_that_was_given_up_while_it_travelled_is_lost() {
    // The distance is 120 km. Station 1 receives a frame of station 2 instead of the ACK, before its own frame has
    // reached the base station. So it gives up its packet, and has already taken the next one when the frame arrives.
    let mode = Mode::Rate(Rate::mbps(6));
    let far = Config {
        slot: Duration::from_millis(1),
        propagation: Duration::from_micros(400),
        answer_timeout: Duration::from_micros(1036),
        short_retry: 1,
        capture_db: Some(10.0),
        ..preset("802.11a", mode, Rate::mbps(6), false)
    };
    let mut stations = plain(3);
    stations[2].signal_db = -20.0;
    let (mut m, mut log) = (medium(far, &stations, &[], &[]), Log::new(3));
    offer(&mut m, &mut log, 1, 0, 200, 1, us(5000));
    offer(&mut m, &mut log, 1, 0, 200, 2, us(5000));
    offer(&mut m, &mut log, 2, 0, 30, 3, us(5050));
    run(&mut m, &mut log, LONG);
    assert_eq!(log.story()[..2], ["data 1->0", "data 2->0"]);
    assert_eq!(log.given_up[0], (1, 1));
    assert_eq!((log.received, log.lost), (vec![(0, 2)], vec![1, 3]));
}

#[test]
fn a_station_cannot_hear_while_it_sends() {
    let config = Config { cw_min: 0, ..config() };
    let (mut m, mut log) = (medium(config, &plain(2), &[], &[]), Log::new(2));
    offer(&mut m, &mut log, 0, 1, 500, 1, us(0));
    offer(&mut m, &mut log, 1, 0, 500, 2, us(0));
    run(&mut m, &mut log, us(4600));
    assert_eq!(log.story(), ["data 0->1", "data 1->0"]);
    assert_eq!(log.received, []);
    run(&mut m, &mut log, LONG);
    assert_eq!(log.received.len(), 2);
}

#[test]
fn a_block_ack_also_has_what_came_before() {
    // Half of all frames and MPDUs are lost, block ACKs too. An MPDU that was received is never reported missing later,
    // so an MPDU that its sender gives up never arrived.
    let aggregation = Aggregation { max_mpdus: 32, max_bytes: Bytes::new(65_535), max_time: Duration::from_secs(1) };
    let config = Config { aggregation: Some(aggregation), short_retry: 4, ..config() };
    let (mut m, mut log) = (medium(config, &plain(2), &[], &[fer(1, 0.5)]), Log::new(2));
    for mark in 0..600 {
        log.queues[1].push_back(narrows_wifi::Outgoing { to: 0, packet: packet(100, mark) });
    }
    m.wake(1, us(0), &mut log);
    run(&mut m, &mut log, LONG);
    let mut acked = std::collections::BTreeSet::new();
    let mut again = 0;
    for (index, frame) in log.frames.iter().enumerate() {
        let FrameKind::BlockAck { start, bitmap } = frame.kind else { continue };
        for &seq in &log.seqs[index - 1] {
            let bit = bitmap >> (seq - start) & 1 == 1;
            again += u32::from(acked.contains(&seq));
            assert!(bit || !acked.contains(&seq), "{seq} was acknowledged before");
            if bit {
                acked.insert(seq);
            }
        }
    }
    assert!(again > 50 && acked.len() > 400, "{again} {}", acked.len());
}
