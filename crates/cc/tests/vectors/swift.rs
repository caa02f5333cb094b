//! Swift (algorithm 1 and section 3.5 of the paper), with htsim's constants.

use crate::common::{Model, params};
use narrows_cc::find;
use narrows_units::{Bytes, Duration};

const US: fn(u64) -> Duration = Duration::from_micros;

/// A flow at `cwnd` segments after an ACK 20 us ago that showed `rtt_us`.
fn at(given: &[(&str, &str)], cwnd: u64, rtt_us: u64) -> Model {
    let row = find("swift").unwrap();
    let mut m = Model::with_window((row.build)(&params(row, given)), 1000, US(rtt_us), cwnd);
    m.path.now += Duration::from_millis(1);
    m
}

#[test]
fn swift_target_of_a_window() {
    // alpha = 100/(1/sqrt 0.1 - 1/sqrt 100) = 32.655 us, beta = -3.266 us.
    for (cwnd, hops, want) in
        [(100, "0", 20.0), (400, "0", 20.0), (4, "0", 33.062), (1, "0", 49.39), (100, "4", 32.2), (4, "4", 45.262)]
    {
        let m = at(&[("hops", hops)], cwnd, 10);
        assert!((m.state("target") * 1e6 - want).abs() < 0.002, "{cwnd} and {hops}: {}", m.state("target"));
    }
}

#[test]
fn swift_adds_ai_per_round() {
    let mut m = at(&[], 100, 15);
    assert!((m.round() - 101.0).abs() < 0.01, "{}", m.cwnd());
    let mut m = at(&[("ai", "0.5")], 100, 15);
    assert!((m.round() - 100.5).abs() < 0.01, "{}", m.cwnd());
    let mut m = at(&[], 10, 15);
    m.ack(2000);
    assert_eq!(m.win.cwnd, Bytes::new(10_200), "an ACK of two segments counts as two");
}

#[test]
fn swift_shrinks_by_the_excess() {
    // 25 us are a fifth above the target of 20: 0.8 of the fifth go.
    let mut m = at(&[], 100, 25);
    m.ack(1000);
    assert_eq!(m.cwnd(), 84.0);
    let mut m = at(&[("beta", "0.5")], 100, 25);
    m.ack(1000);
    assert_eq!(m.cwnd(), 90.0);
    // At the target nothing goes, and nothing comes.
    let mut m = at(&[], 100, 20);
    m.ack(1000);
    assert_eq!(m.cwnd(), 100.0);
}

#[test]
fn swift_shrinks_once_per_round() {
    let mut m = at(&[], 200, 25);
    m.ack(1000);
    assert_eq!(m.cwnd(), 168.0);
    m.path.now += US(24);
    m.ack(1000);
    assert_eq!(m.cwnd(), 168.0, "24 us later");
    m.path.now += US(1);
    m.ack(1000);
    assert_eq!(m.win.cwnd, Bytes::new(141_120), "25 us later");
}

#[test]
fn swift_shrinks_by_half_at_most() {
    let mut m = at(&[], 300, 10_000);
    m.ack(1000);
    assert_eq!(m.cwnd(), 150.0);
}

#[test]
fn swift_below_a_segment_it_paces() {
    let mut m = at(&[], 1, 1000);
    m.ack(1000);
    assert_eq!((m.state("fcwnd"), m.cwnd()), (0.5, 1.0));
    // A segment every two round-trip times.
    assert_eq!(m.win.pacing_rate.unwrap().as_bps(), 4_000_000);
    for _ in 0..10 {
        m.path.now += US(1000);
        m.ack(1000);
    }
    assert_eq!(m.state("fcwnd"), 0.01, "the smallest window");
    assert_eq!(m.win.pacing_rate.unwrap().as_bps(), 80_000);
}

#[test]
fn swift_grows_from_below_a_segment() {
    let mut m = at(&[], 1, 1000);
    m.ack(1000);
    m.rtt = US(40);
    m.ack(1000);
    assert_eq!(m.state("fcwnd"), 1.5, "ai for the segment, not ai/cwnd");
    assert_eq!(m.win.pacing_rate, None);
}

#[test]
fn swift_a_loss_takes_max_mdf() {
    for (mdf, want) in [("0.5", 50.0), ("0.3", 70.0)] {
        let mut m = at(&[("max_mdf", mdf)], 100, 15);
        m.loss();
        assert_eq!(m.cwnd(), want);
        m.loss();
        assert_eq!(m.cwnd(), want, "once in a round-trip time");
        m.path.now += US(15);
        m.loss();
        assert!(m.cwnd() < want);
        let before = m.win.cwnd;
        m.path.now += US(15);
        m.ecn();
        assert_eq!(m.win.cwnd, before, "marks are ignored");
    }
}

#[test]
fn swift_five_timeouts_leave_the_smallest_window() {
    let mut m = at(&[], 160, 15);
    let mut seen = Vec::new();
    for expiry in 0..5 {
        m.path.now += Duration::from_millis(1 << expiry);
        m.timeout(expiry > 0);
        seen.push(m.state("fcwnd"));
    }
    assert_eq!(seen, [80.0, 40.0, 20.0, 10.0, 0.01]);
    assert_eq!(m.state("timeouts"), 5.0);
    m.ack(1000);
    assert_eq!(m.state("timeouts"), 0.0);
}

#[test]
fn swift_grows_only_if_limited() {
    let mut m = at(&[], 100, 15);
    m.path.cwnd_limited = false;
    assert_eq!(m.rounds(3), [100.0; 3]);
}
