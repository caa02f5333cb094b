//! Retransmissions that are lost themselves (RFC 8985, section 5; RFC 5681, section 4.3; RFC 3168, section 6.1.2).

use super::harness::*;
use crate::{Config, DelayedAck, InitialWindow, RecoveryKind, Reduction};
use narrows_cc::{Congestion, Phase};
use narrows_units::{Bytes, Duration};
use narrows_wire::{Ecn, Packet};

const UNIT: u64 = 1000;
const ISS: u32 = u32::MAX - 7_000;

fn config() -> Config {
    Config {
        mss: 1000,
        initial_window: InitialWindow::Segments(20),
        delayed_ack: DelayedAck::Off,
        timestamps: false,
        limited_transmit: false,
        recv_buffer: Bytes::new(1_000_000),
        ..Config::default()
    }
}

/// The number of the segment of `UNIT` bytes, from 1.
fn number(packet: &Packet) -> u64 {
    u64::from(packet.tcp().unwrap().seq.as_u32().wrapping_sub(ISS + 1)) / UNIT + 1
}

/// Endless data, whose segments `lost` are dropped, one named twice also at its second transmission; those of `marked`
/// get CE at their first.
fn start(config: Config, lost: &[u64], marked: &'static [u64]) -> (Net, Diary) {
    start_with(reno(), config, lost, marked)
}

/// A window of 20 segments that only a timeout changes.
fn constant() -> Box<Double> {
    Box::new(Double { first: Some(20), ..Double::default() })
}

fn start_with(cc: Box<Double>, config: Config, lost: &[u64], marked: &'static [u64]) -> (Net, Diary) {
    let diary = cc.diary.clone();
    let mut net = Net::new([config; 2], [cc, reno()], [ISS, 5]);
    net.establish();
    let mut waiting = lost.to_vec();
    net.rule = Box::new(move |from, packet, _| {
        if from == S || packet.payload_len == 0 {
            return Fate::Pass;
        }
        if marked.contains(&number(packet)) && packet.ip.ecn().is_capable() {
            packet.ip.set_ecn(Ecn::Ce);
        }
        match waiting.iter().position(|&n| n == number(packet)) {
            Some(i) => {
                waiting.swap_remove(i);
                Fate::Drop
            }
            None => Fate::Pass,
        }
    });
    net.ends[C].write(Bytes::MAX);
    (net, diary)
}

/// When segment `n` was sent, in ms.
fn times(net: &Net, n: u64) -> Vec<u64> {
    net.data(C).iter().filter(|d| number(d.1) == n).map(|d| d.0).collect()
}

fn congestions(diary: &Diary) -> Vec<(Congestion, u64)> {
    let of = |t: &Told| if let Told::Congestion(c, flight) = t { Some((*c, *flight)) } else { None };
    diary.lock().unwrap().iter().filter_map(of).collect()
}

fn losses(diary: &Diary) -> usize {
    congestions(diary).iter().filter(|c| matches!(c.0, Congestion::Loss { .. })).count()
}

#[test]
fn a_lost_retransmission_is_sent_again_without_a_timeout() {
    // However often it is lost: ACKs of what was sent after it come back a round trip later each time.
    for times_lost in 2..8usize {
        let (mut net, _) = start_with(constant(), config(), &vec![1; times_lost], &[]);
        net.run(at(3_000));
        let expected: Vec<u64> = (0..=times_lost as u64).map(|n| 200 + 100 * n).collect();
        assert_eq!(times(&net, 1), expected);
        let stats = net.ends[C].stats();
        assert_eq!((stats.timeouts, stats.fast_retransmits), (0, 1));
        assert_eq!(stats.retransmitted_packets.as_u64(), times_lost as u64, "and nothing else is");
        assert_eq!(stats.lost_bytes, Bytes::new(UNIT * times_lost as u64), "each time it was");
    }
}

#[test]
fn without_the_switch_a_lost_retransmission_waits_for_the_timer() {
    let (mut net, _) = start(Config { lost_retransmission: false, ..config() }, &[1, 1], &[]);
    net.run(at(3_000));
    assert_eq!(times(&net, 1), [200, 300, 1_200], "RFC 6675, and the RTO of a second since the data was sent");
    assert_eq!(net.ends[C].stats().timeouts, 1);
}

#[test]
fn three_segments_sent_later_are_needed() {
    let (mut net, _) = start_with(constant(), config(), &[1, 1], &[]);
    // Sent with and after the retransmission at 300 ms: new data, one segment for each that arrived.
    net.run(at(399));
    let mut sacked = 0;
    while times(&net, 1).len() == 2 {
        net.step(at(400));
        net.poll();
        sacked += 1;
    }
    assert_eq!((sacked, net.now), (3, at(400)));
}

#[test]
fn a_lost_retransmission_is_a_second_indication_of_congestion() {
    let (mut net, diary) = start(config(), &[1, 1], &[]);
    net.run(at(499));
    let all = congestions(&diary);
    assert_eq!(all.len(), 2, "RFC 5681, section 4.3");
    // SND.UNA has not moved: FlightSize is 20 and what was sent since. The window was 10.
    assert_eq!((all[0].1, all[1].1), (20 * UNIT, 10 * UNIT));
    assert_eq!((net.ends[C].info().cwnd, net.ends[C].info().phase), (Bytes::new(5 * UNIT), Phase::Recovery));
    net.run(at(510));
    assert_eq!(net.ends[C].info().phase, Phase::Open);
}

#[test]
fn d5_an_episode_reduces_once_where_asked() {
    let once = |lost_retransmission| Config { reduce_once: true, lost_retransmission, ..config() };
    // Sent again without the timer: no further reduction.
    let (mut net, diary) = start(once(true), &[1, 1], &[]);
    net.run(at(499));
    assert_eq!(congestions(&diary).len(), 1);
    assert_eq!(net.ends[C].info().cwnd, Bytes::new(10 * UNIT));
    // Left to the timer: the window restarts, and with `reduce_once` ssthresh is that of the episode's beginning.
    for (reduce_once, ssthresh) in [(true, 10), (false, 5)] {
        let (mut net, diary) = start(Config { reduce_once, ..once(false) }, &[1, 1], &[]);
        net.run(at(1_250));
        assert_eq!(congestions(&diary)[1].0, Congestion::Timeout { repeated: reduce_once });
        assert_eq!(net.ends[C].info().ssthresh, Some(Bytes::new(ssthresh * UNIT)), "reduce_once = {reduce_once}");
    }
}

#[test]
fn lost_retransmissions_of_one_round_trip_reduce_once() {
    let (mut net, diary) = start(config(), &[1, 2, 3, 1, 2, 3], &[]);
    net.run(at(3_000));
    for n in 1..=3 {
        assert_eq!(times(&net, n).len(), 3, "segment {n}");
    }
    assert_eq!((losses(&diary), congestions(&diary).len()), (2, 2));
    assert_eq!(net.ends[C].stats().timeouts, 0);
}

#[test]
fn a_retransmission_after_a_timeout_is_watched_too() {
    // All of the first flight is lost, and 2 once more.
    let lost: Vec<u64> = (1..=20).chain([2]).collect();
    let (mut net, _) = start(config(), &lost, &[]);
    net.run(at(10_000));
    assert_eq!(net.ends[C].stats().timeouts, 1);
    assert_eq!(times(&net, 2).len(), 3);
}

#[test]
fn the_timer_starts_anew_with_the_head_alone() {
    // Each of five retransmissions takes a round trip of 100 ms: 700 ms without an ACK that advances SND.UNA, and an
    // RTO of 300 ms.
    let mut config = config();
    config.rto.min = ms(250);
    let (mut net, _) = start_with(constant(), config, &[1; 6], &[]);
    net.run(at(2_000));
    assert_eq!(net.ends[C].stats().timeouts, 0);
    assert_eq!(times(&net, 1).len(), 7);
}

#[test]
fn reordering_by_two_segments_is_no_loss_of_a_retransmission() {
    // What is sent after the retransmission follows it a millisecond apart, and the retransmission comes late.
    for (late, again) in [(2, 2), (3, 3)] {
        let (mut net, _) = start_with(constant(), config(), &[], &[]);
        let mut count = 0;
        let mut after = 0;
        net.rule = Box::new(move |from, packet, _| {
            if from == S || packet.payload_len == 0 {
                return Fate::Pass;
            }
            count += u64::from(number(packet) == 1);
            match (number(packet), count) {
                (1, 1) => Fate::Drop,
                (1, 2) => Fate::Late(ms(late) + Duration::from_micros(500)),
                (21.., _) => {
                    after += 1;
                    Fate::Late(ms(after))
                }
                _ => Fate::Pass,
            }
        });
        net.run(at(1_000));
        assert_eq!(times(&net, 1).len(), again, "{late} segments overtook it");
    }
}

#[test]
fn an_echo_of_what_was_sent_since_the_reduction_reduces_in_recovery_too() {
    let config = Config { ecn: true, ..config() };
    // 21 is the first segment after the reduction; 1 is lost twice, so that 21 is SACKed in recovery.
    let (mut net, diary) = start(config, &[1, 1], &[21]);
    net.run(at(499));
    let all: Vec<_> = congestions(&diary).iter().map(|c| c.0).collect();
    assert_eq!(all, [Congestion::Loss { lost: Bytes::new(UNIT) }, Congestion::Ecn { marked: Bytes::new(UNIT) }]);
    assert_eq!(net.ends[C].info().cwnd, Bytes::new(5 * UNIT), "and with it the lost retransmission is answered");
    assert_eq!(times(&net, 1), [200, 300, 400]);
}

#[test]
fn an_echo_of_the_window_before_is_one_event_with_the_loss() {
    let config = Config { ecn: true, ..config() };
    let (mut net, diary) = start(config, &[1], &[5, 12, 20]);
    net.run(at(1_000));
    assert_eq!(congestions(&diary).len(), 1);
}

#[test]
fn other_recoveries_leave_it_to_the_timer() {
    for recovery in [RecoveryKind::NewReno, RecoveryKind::Reno] {
        let (mut net, _) = start(Config { recovery, sack: false, ..config() }, &[1, 1], &[]);
        net.run(at(3_000));
        assert_eq!(net.ends[C].stats().timeouts, 1, "{recovery:?}");
    }
}

#[test]
fn retransmissions_tell_the_loss_of_what_they_overtook() {
    // More than the halved window is lost at the end of a burst, with no SACK block above it. While it counts as in the
    // network, little else may leave.
    let lost: Vec<u64> = (6..=60).chain(121..=400).collect();
    let cc = Box::new(Double { reno: true, first: Some(400), ..Double::default() });
    let config = Config { reduction: Reduction::PrrLinux, reduce_once: true, ..config() };
    let (mut net, _) = start_with(cc, config, &lost, &[]);
    net.ends[C].withdraw();
    net.ends[C].write(Bytes::new(400 * UNIT));
    net.run(at(2_000));
    assert_eq!(net.ends[C].acked(), Bytes::new(400 * UNIT), "in 18 round trips, by a window of 200 segments");
    assert_eq!(net.ends[C].stats().timeouts, 0);
}
