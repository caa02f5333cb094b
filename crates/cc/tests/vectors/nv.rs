//! NV by Linux 6.1 (the reference's section 36). Numbers are those of the kernel's integer arithmetic.

use crate::common::{Model, params};
use narrows_cc::{Congestion, find};
use narrows_units::{Bytes, Duration};

const MS: fn(u64) -> Duration = Duration::from_millis;

fn with_window(given: &[(&str, &str)], rtt_ms: u64, cwnd: u64) -> Model {
    let row = find("nv").unwrap();
    Model::with_window((row.build)(&params(row, given)), 1448, MS(rtt_ms), cwnd)
}

/// A flow in congestion avoidance at `cwnd` segments that the application limits, after rounds of 10 ms.
fn flat(given: &[(&str, &str)], cwnd: u64) -> Model {
    let mut m = with_window(given, 10, cwnd);
    m.win.ssthresh = Some(m.path.smss * 2);
    m.path.cwnd_limited = false;
    m.rounds(6);
    m
}

/// The same after rounds at `rtt_ms`, back at `cwnd` segments.
fn queued(cwnd: u64, rtt_ms: u64) -> Model {
    let mut m = flat(&[], cwnd);
    m.rtt = MS(rtt_ms);
    // The first decision still has samples from between both times.
    for _ in 0..40 {
        m.round();
        if m.cwnd() < cwnd as f64 {
            return m.at(cwnd, Some(2));
        }
    }
    m
}

#[test]
fn nv_window_for_a_rate() {
    // 100 segments in 12 ms, where 10 ms are the smallest: 83 segments, and 10 more.
    let mut m = queued(100, 12);
    m.rounds(2);
    assert_eq!(m.state("max_win"), 93.0);
    assert_eq!((m.state("min_rtt"), m.state("last_rtt")), (0.01, 0.011_999));
}

#[test]
fn nv_excess_falls_by_38_of_128() {
    // 400 segments in 20 ms need 200: 190 above 210 lose 56.
    let mut m = queued(400, 20);
    assert_eq!(m.rounds(2), [400.0, 344.0]);
    assert_eq!((m.state("max_win"), m.ssthresh()), (210.0, 210.0));
    // An excess of 7 loses two, not 7 * 38/128.
    let mut m = queued(100, 12);
    assert_eq!(m.rounds(2), [100.0, 98.0]);
    assert_eq!((m.state("max_win"), m.ssthresh()), (93.0, 93.0));
}

#[test]
fn nv_a_small_excess_goes_at_once() {
    // 62 segments in 12 ms need 51, and 61 are allowed.
    let mut m = queued(62, 20);
    m.rtt = MS(12);
    assert_eq!(m.rounds(2), [62.0, 61.0]);
    assert_eq!((m.state("max_win"), m.ssthresh()), (61.0, 61.0));
}

#[test]
fn nv_decides_after_two_rounds_and_60_samples() {
    // Two rounds of 100 samples, three of 25, five of 12.
    for (cwnd, want) in [(100, 2), (25, 3), (12, 5)] {
        let mut m = flat(&[("nv_pad", "2")], cwnd);
        m.rtt = MS(20);
        let rounds = (1..20).find(|_| m.round() < cwnd as f64);
        // The first of these rounds also ends the one before, which had no queue.
        assert_eq!(rounds, Some(want + 1), "{cwnd} segments");
    }
}

#[test]
fn nv_slow_start_ends_after_30_samples() {
    // 20 segments a round: two rounds have 40 samples, more than 30 and fewer than 60.
    let mut m = with_window(&[("nv_pad", "2")], 10, 20);
    m.path.cwnd_limited = false;
    m.rounds(4);
    m.rtt = MS(20);
    assert_eq!(m.win.ssthresh, None);
    let rounds = (1..20).find(|_| m.round() < 20.0);
    assert_eq!((rounds, m.ssthresh()), (Some(3), 13.0), "20 * 10/17.5 ms, the average of the first samples, and 2");
}

#[test]
fn nv_grows_after_20_samples_without_congestion() {
    let mut m = with_window(&[], 10, 16);
    m.path.snd_una = m.path.snd_nxt;
    m.loss();
    assert_eq!((m.cwnd(), m.state("may_grow")), (12.0, 0.0));
    // 13 samples are too few; the third round begins with the 25th, and growth is Reno's.
    assert_eq!(m.rounds(6), [12.0, 12.0, 13.0, 14.0, 15.0, 16.0]);
}

#[test]
fn nv_between_pad_and_buffer_nothing_changes() {
    // At 12 ms 54 segments need 45: 55 are allowed, 53 would let the window grow.
    let mut m = queued(54, 20);
    m.rtt = MS(12);
    m.path.cwnd_limited = true;
    assert_eq!(m.rounds(20), [54.0; 20]);
    assert_eq!((m.state("max_win"), m.state("rtt_cnt") > 15.0), (55.0, true));
}

#[test]
fn nv_loss_leaves_819_of_1024() {
    for (cwnd, want) in [(100, 79.0), (10, 7.0), (3, 2.0), (2, 2.0)] {
        let mut m = flat(&[], cwnd);
        m.loss();
        assert_eq!((m.cwnd(), m.ssthresh()), (want, want));
    }
}

#[test]
fn nv_timeouts_halve_the_growth() {
    let mut m = flat(&[], 40);
    for expiry in 1..=10 {
        m.event(Congestion::Timeout { repeated: expiry > 1 });
        assert_eq!(m.state("growth_factor"), -f64::from(expiry.min(8)));
    }
    assert_eq!((m.cwnd(), m.ssthresh()), (1.0, 31.0));
}

#[test]
fn nv_growth_recovers_after_eight_decisions() {
    let mut m = flat(&[], 30);
    m.timeout(false);
    m.path.phase = narrows_cc::Phase::Open;
    m.cc.on_recovered(&m.path, &mut m.win);
    m = m.at(30, Some(2));
    m.path.cwnd_limited = true;
    // Each round is a decision; the ninth without congestion gives Reno's growth back, from a segment in two rounds.
    let factors: Vec<f64> = (0..11).map(|_| (m.round(), m.state("growth_factor")).1).collect();
    assert_eq!(factors.iter().position(|&f| f == 0.0), Some(9), "{factors:?}");
    assert_eq!(m.cwnd(), 36.0, "{factors:?}");
}

#[test]
fn nv_min_rtt_is_renewed() {
    let mut m = with_window(&[("nv_reset_period", "5")], 10, 20);
    m.win.ssthresh = Some(m.path.smss * 2);
    m.path.cwnd_limited = false;
    m.rounds(10);
    m.rtt = MS(20);
    // The renewal two seconds after the start still has a sample of the first 100 ms.
    m.rounds(110);
    assert_eq!(m.state("min_rtt"), 0.01);
    // The next comes 3.75 to 6.25 s later.
    let rounds = (1..400).find(|_| (m.round(), m.state("min_rtt")).1 > 0.01).unwrap();
    let after = 0.1 + 0.02 * (110 + rounds) as f64 - 2.0;
    assert!((3.75..6.25).contains(&after), "renewed after {after} s");
    assert_eq!(m.state("min_rtt"), 0.019_999);
}

#[test]
fn nv_base_rtt_bounds_the_minimum() {
    // 80 % of 10 ms by the kernel's 205/256 is 8007 us.
    for (rtt, want) in [(5, 0.008_007), (9, 0.009), (15, 0.01)] {
        let mut m = with_window(&[("base_rtt", "10000")], rtt, 20);
        m.rounds(2);
        assert_eq!(m.state("min_rtt"), want, "{rtt} ms");
    }
}

#[test]
fn nv_recovery_forgets_the_round() {
    let mut m = flat(&[], 100);
    m.rtt = MS(30);
    m.rounds(1);
    m.loss();
    assert_eq!(
        (m.state("last_rtt"), m.state("samples"), m.state("max_rate"), m.state("rtt_cnt")),
        (0.0, 0.0, 0.0, 0.0)
    );
    m.ack(1448);
    assert_eq!(m.state("min_rtt"), 0.03, "the queue at the end of recovery counts as part of the path");
}

#[test]
fn nv_one_sample_a_round_makes_rounds_longer() {
    // One ACK a round: six of them make a round of 6, 8, 10 .. segments.
    let mut m = with_window(&[], 10, 20);
    m.path.cwnd_limited = false;
    m.rounds(1);
    let una = m.path.snd_una;
    let mut rounds = Vec::new();
    for _ in 0..30 {
        m.path.now += MS(10);
        m.ack(20 * 1448);
        rounds.push(m.state("samples"));
    }
    assert!(m.path.snd_una > una + 20 * 1448);
    assert_eq!(rounds[..6], [0.0; 6], "{rounds:?}");
    assert!(m.win.cwnd >= Bytes::new(20 * 1448));
}
