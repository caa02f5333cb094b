//! Loss recovery: the vectors of RFC 5681, 6582, 6675 and 3042 recovery, and timeouts.

use super::harness::*;
use crate::{Config, DelayedAck, InitialWindow, RecoveryKind};
use narrows_cc::{Congestion, Phase};
use narrows_units::{Bytes, Duration};

pub(super) const UNIT: u64 = 1000;
pub(super) const ISS: u32 = u32::MAX - 7_000;

pub(super) fn config(recovery: RecoveryKind, window: u32) -> Config {
    Config {
        mss: 1000,
        recovery,
        initial_window: InitialWindow::Segments(window),
        delayed_ack: DelayedAck::Off,
        sack: matches!(recovery, RecoveryKind::Sack | RecoveryKind::Rack),
        timestamps: false,
        limited_transmit: false,
        // Small enough to be offered whole in the SYN: an ACK that changes the window is no duplicate (RFC 5681,
        // section 2).
        recv_buffer: Bytes::new(60_000),
        ..Config::default()
    }
}

/// The number of the segment of `UNIT` bytes, from 1.
pub(super) fn number(packet: &narrows_wire::Packet) -> u64 {
    u64::from(packet.tcp().unwrap().seq.as_u32().wrapping_sub(ISS + 1)) / UNIT + 1
}

/// An established connection with endless data, whose segments `lost` are dropped at their first transmission (one
/// named twice also at its second).
pub(super) fn start(config: Config, lost: &'static [u64]) -> (Net, Diary) {
    start_with(config, lost, Bytes::MAX)
}

fn start_with(config: Config, lost: &'static [u64], data: Bytes) -> (Net, Diary) {
    start_under(reno(), config, lost, data)
}

/// The same under a congestion control.
pub(super) fn start_under(cc: Box<Double>, config: Config, lost: &'static [u64], data: Bytes) -> (Net, Diary) {
    let diary = cc.diary.clone();
    let mut net = Net::new([config; 2], [cc, reno()], [ISS, 5]);
    net.establish();
    let mut waiting: Vec<u64> = lost.to_vec();
    net.rule = Box::new(move |from, packet, _| {
        let hit = waiting.iter().position(|&n| from == C && packet.payload_len > 0 && n == number(packet));
        hit.map_or(Fate::Pass, |i| {
            waiting.swap_remove(i);
            Fate::Drop
        })
    });
    net.ends[C].write(data);
    (net, diary)
}

/// Numbers of the data segments that the client sent at `time` ms.
pub(super) fn sent(net: &Net, time: u64) -> Vec<u64> {
    net.data(C).iter().filter(|d| d.0 == time).map(|d| number(d.1)).collect()
}

/// Runs up to the first packet that arrives at `time` ms, that one included.
pub(super) fn first_at(net: &mut Net, time: u64) {
    while net.now < at(time) {
        assert!(net.step(at(time)));
    }
}

pub(super) fn cwnd(net: &Net) -> f64 {
    net.ends[C].info().cwnd.segments(Bytes::new(UNIT))
}

pub(super) fn congestions(diary: &Diary) -> Vec<(Congestion, u64)> {
    let of = |t: &Told| if let Told::Congestion(c, flight) = t { Some((*c, *flight)) } else { None };
    diary.lock().unwrap().iter().filter_map(of).collect()
}

#[test]
fn reno_recovers_one_loss_of_twenty() {
    let (mut net, diary) = start(config(RecoveryKind::Reno, 20), &[1]);
    net.run(at(399));
    assert_eq!(sent(&net, 200), (1..=20).collect::<Vec<_>>());
    // Third dup: window 13; 29 after all 19; so dups 11 to 19 release a segment each.
    assert_eq!(sent(&net, 300), [1, 21, 22, 23, 24, 25, 26, 27, 28, 29]);
    assert_eq!(congestions(&diary), [(Congestion::Loss { lost: Bytes::new(UNIT) }, 20 * UNIT)]);
    assert_eq!(net.ends[C].info().phase, Phase::Recovery);
    first_at(&mut net, 400);
    assert_eq!(net.ends[C].info().phase, Phase::Open);
    assert!((cwnd(&net) - 10.0).abs() < 1e-9, "exit window {}", cwnd(&net));
    assert_eq!(net.ends[C].stats().timeouts, 0);
}

#[test]
fn reno_reduces_once_per_hole() {
    let (mut net, diary) = start(config(RecoveryKind::Reno, 20), &[1, 4]);
    net.run(at(600));
    assert_eq!(congestions(&diary).len(), 2, "the partial ACK ends the first episode");
}

#[test]
fn newreno_repairs_two_holes_in_one_episode() {
    let (mut net, diary) = start(config(RecoveryKind::NewReno, 10), &[1, 4]);
    net.run(at(399));
    // Window 8 at the third dup, then 9 .. 13: dups 6, 7 and 8 release 11, 12 and 13.
    assert_eq!(sent(&net, 300), [1, 11, 12, 13]);
    // The partial ACK of 1 to 3 deflates to 11 with 10 in flight: 4 again, and 14; then 12, 13, 14 with each dup.
    net.run(at(499));
    assert_eq!(sent(&net, 400), [4, 14, 15, 16, 17]);
    first_at(&mut net, 500);
    assert!((cwnd(&net) - 5.0).abs() < 1e-9, "full ACK: {}", cwnd(&net));
    assert_eq!(congestions(&diary).len(), 1);
    assert_eq!(net.ends[C].info().phase, Phase::Open);
}

/// RFC 6582, section 4: both variants repair one hole per round trip; "Impatient" only until the timer of the first
/// partial ACK expires.
#[test]
fn a_newreno_that_is_not_impatient_repairs_many_holes_without_a_timeout() {
    const HOLES: [u64; 13] = [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25];
    for (impatient, timeouts) in [(true, 1), (false, 0)] {
        let (mut net, diary) = start(Config { impatient, ..config(RecoveryKind::NewReno, 40) }, &HOLES);
        net.run(at(1_650));
        for (round, hole) in (0..).zip(&HOLES[..11]) {
            assert_eq!(sent(&net, 300 + 100 * round).first(), Some(hole), "round {round}");
        }
        assert_eq!(net.ends[C].stats().timeouts, timeouts, "impatient: {impatient}");
        assert_eq!(congestions(&diary).len(), 1 + timeouts as usize, "one reduction for all holes");
    }
}

#[test]
fn a_full_ack_of_newreno_is_capped_by_what_is_in_flight() {
    let (mut net, _) = start(config(RecoveryKind::NewReno, 20), &[1]);
    net.rule = {
        let mut first = true;
        // Only the first transmission of segment 1 is lost.
        Box::new(move |from, packet, _| {
            let drop = from == C && packet.payload_len > 0 && number(packet) == 1 && core::mem::take(&mut first);
            if drop { Fate::Drop } else { Fate::Pass }
        })
    };
    net.poll();
    net.ends[C].close();
    first_at(&mut net, 400);
    // All 20 were acknowledged at once; only the FIN, one octet, is in flight.
    assert!(cwnd(&net) <= 2.0, "min(ssthresh, max(FlightSize, SMSS) + SMSS): {}", cwnd(&net));
}

#[test]
fn sack_recovers_two_losses_of_twenty() {
    let (mut net, diary) = start(config(RecoveryKind::Sack, 20), &[1, 2]);
    // The third duplicate arrives at 300 ms.
    let mut pipes = Vec::new();
    while net.step(at(300)) {
        if net.now == at(300) {
            net.poll();
            pipes.push(net.ends[C].info().inflight.as_u64() / UNIT);
        }
    }
    // 3 SACKed, 2 lost, 1 again: 16. Then down to 10 without sending, R2, and one new segment for each.
    assert_eq!(pipes, [19, 18, 16, 15, 14, 13, 12, 11, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10]);
    assert_eq!(sent(&net, 300), [1, 2, 21, 22, 23, 24, 25, 26, 27, 28]);
    assert_eq!(congestions(&diary), [(Congestion::Loss { lost: Bytes::new(2 * UNIT) }, 20 * UNIT)]);
    first_at(&mut net, 400);
    net.poll();
    assert_eq!(sent(&net, 400), [29], "the ACK of 1");
    assert_eq!(net.ends[C].info().phase, Phase::Recovery);
    net.step(at(400));
    assert_eq!(net.ends[C].info().phase, Phase::Open);
    assert!((cwnd(&net) - 10.0).abs() < 1e-9);
}

#[test]
fn sack_sends_one_rescue_retransmission() {
    // The last segments of the stream are lost, so that no SACK comes from above them.
    let (mut net, _) = start_with(config(RecoveryKind::Sack, 10), &[1, 9, 10], Bytes::new(10 * UNIT));
    net.run(at(399));
    let again: Vec<u64> = sent(&net, 300);
    assert_eq!(again, [1, 10], "the hole, and the segment with the highest octet not SACKed as a rescue");
    net.run(at(499));
    assert_eq!(net.ends[C].stats().timeouts, 0);
    assert_eq!(sent(&net, 400), [9], "now below a SACKed octet (NextSeg, rule 3)");
    net.run(at(2_000));
    assert_eq!(net.ends[C].stats().retransmitted_packets.as_u64(), 3);
    assert_eq!(net.ends[C].acked(), Bytes::new(10 * UNIT));
}

#[test]
fn limited_transmit_sends_one_new_segment_for_each_of_two_duplicates() {
    for recovery in [RecoveryKind::NewReno, RecoveryKind::Sack, RecoveryKind::Tahoe] {
        let config = Config { limited_transmit: true, ..config(recovery, 5) };
        let (mut net, diary) = start(config, &[1]);
        let mut flights = Vec::new();
        while net.step(at(300)) {
            if net.now == at(300) {
                net.poll();
                flights.push(net.ends[C].info().flightsize.as_u64() / UNIT);
            }
        }
        assert_eq!(flights[..2], [6, 7], "{recovery:?}");
        // FlightSize for ssthresh is without the two (RFC 5681, section 3.2).
        assert_eq!(congestions(&diary)[0].1, 5 * UNIT, "{recovery:?}");
        assert_eq!(net.ends[C].info().ssthresh, Some(Bytes::new(2500)));
    }
}

#[test]
fn without_limited_transmit_duplicates_send_nothing() {
    for recovery in [RecoveryKind::NewReno, RecoveryKind::Sack] {
        let (mut net, _) = start(config(recovery, 3), &[1]);
        net.run(at(399));
        assert_eq!(sent(&net, 300), [] as [u64; 0], "{recovery:?}");
    }
}

#[test]
fn a_timeout_marks_all_lost_and_sends_again_in_order() {
    let (mut net, diary) = start(config(RecoveryKind::NewReno, 4), &[1, 2, 3, 4]);
    net.run(at(1199));
    assert_eq!(net.log.len(), 4);
    net.run(at(1200));
    assert_eq!(sent(&net, 1200), [1]);
    assert_eq!(congestions(&diary), [(Congestion::Timeout { repeated: false }, 4 * UNIT)]);
    assert_eq!(net.ends[C].info().phase, Phase::Loss);
    net.run(at(1300));
    assert_eq!(sent(&net, 1300), [2, 3], "slow start");
    net.run(at(1400));
    assert_eq!(sent(&net, 1400)[0], 4);
    assert_eq!(net.ends[C].stats().timeouts, 1);
}

#[test]
fn a_repeated_timeout_backs_off_and_says_so() {
    let (mut net, diary) = start(config(RecoveryKind::Sack, 4), &[1, 1, 1, 2, 3, 4]);
    net.run(at(7_199));
    let events: Vec<_> = congestions(&diary).iter().map(|c| c.0).collect();
    assert_eq!(events, [Congestion::Timeout { repeated: false }, Congestion::Timeout { repeated: true }]);
    let times: Vec<u64> = net.data(C).iter().map(|d| d.0).collect();
    assert_eq!(times[4..6], [1_200, 3_200], "RTO 1 s, then 2 s");
    net.run(at(7_200));
    assert_eq!(sent(&net, 7_200), [1], "then 4 s");
}

#[test]
fn sacked_data_is_kept_over_a_timeout() {
    // 2 and 3 arrive; two duplicates start no fast retransmit, so only the timer repairs 1.
    let (mut net, _) = start(config(RecoveryKind::Sack, 3), &[1]);
    net.run(at(1_600));
    let again: Vec<u64> = net.data(C).iter().filter(|d| d.0 >= 1_200).map(|d| number(d.1)).collect();
    assert_eq!(again.iter().filter(|&&n| n <= 3).copied().collect::<Vec<_>>(), [1], "2 and 3 are not sent again");
}

#[test]
fn newreno_does_not_fast_retransmit_below_recover_after_a_timeout() {
    let (mut net, diary) = start(config(RecoveryKind::NewReno, 10), &[1, 1]);
    net.run(at(1_190));
    let losses = |d: &Diary| congestions(d).iter().filter(|c| matches!(c.0, Congestion::Loss { .. })).count();
    assert_eq!(losses(&diary), 1);
    net.run(at(2_000));
    assert_eq!(losses(&diary), 1, "duplicates after the timeout answer its retransmissions");
    assert_eq!(net.ends[C].stats().timeouts, 1);
}

#[test]
fn duplicates_of_exactly_recover_start_no_fast_retransmit() {
    // After a timeout slow start sends some segments again needlessly; their duplicate ACKs come when all that was
    // outstanding is acknowledged, and nothing more (RFC 6582, section 3.2, step 2: "covers more than recover").
    for recovery in [RecoveryKind::Reno, RecoveryKind::NewReno] {
        let (mut net, diary) = start(config(recovery, 40), &[1, 1, 2, 3, 4, 6, 8, 12]);
        net.run(at(4_000));
        assert!(net.ends[C].stats().retransmitted_packets.as_u64() > 11, "{recovery:?}: some for nothing");
        assert_eq!(net.ends[C].stats().timeouts, 1, "{recovery:?}");
        let losses = congestions(&diary).iter().filter(|c| matches!(c.0, Congestion::Loss { .. })).count();
        assert_eq!(losses, 1, "{recovery:?}: {:?}", congestions(&diary));
    }
}

#[test]
fn rto_only_ignores_duplicates() {
    let (mut net, diary) = start(config(RecoveryKind::RtoOnly, 10), &[1]);
    net.run(at(1_300));
    assert_eq!(congestions(&diary), [(Congestion::Timeout { repeated: false }, 10 * UNIT)]);
}

#[test]
fn sack_information_is_used_once_only() {
    // Every third segment of a large window is lost: one episode repairs all.
    const LOST: [u64; 10] = [1, 4, 7, 10, 13, 16, 19, 22, 25, 28];
    let (mut net, diary) = start(config(RecoveryKind::Sack, 40), &LOST);
    net.run(at(1_000));
    assert_eq!(congestions(&diary).len(), 1);
    assert_eq!(net.ends[C].stats().retransmitted_packets.as_u64(), 10);
    assert_eq!(net.ends[C].stats().timeouts, 0);
}

#[test]
fn a_connection_is_given_up_after_too_many_timeouts() {
    let (mut net, _) = start(Config { max_retries: Some(3), ..config(RecoveryKind::Sack, 2) }, &[]);
    net.rule = Box::new(|_, _, _| Fate::Drop);
    net.run(at(200) + Duration::from_secs(100));
    assert_eq!(net.ends[C].state(), crate::State::Closed);
    assert_eq!(net.ends[C].stats().timeouts, 3);
    // Segments leave at 200 ms; the timer goes off after 1 s, then after 2, 4 and 8 s more.
    assert_eq!(net.ends[C].aborted_at(), Some(at(15_200)));
    assert_eq!(net.ends[S].aborted_at(), None, "the receiver waits for nothing");
}
