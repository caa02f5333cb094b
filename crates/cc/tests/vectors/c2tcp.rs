//! C2TCP over Linux's CUBIC.

use crate::common::Model;
use narrows_cc::Phase;
use narrows_units::Duration;

const GOOD: f64 = 0.0;
const DETECTING: f64 = 1.0;
const BAD: f64 = 2.0;

/// A flow in congestion avoidance at `cwnd` segments whose smallest round-trip time is 50 ms, with alpha 2: the
/// setpoint is 100 ms.
fn flow(cwnd: u64) -> Model {
    let mut m = Model::new("c2tcp", &[("adapt", "false")], 50).at(cwnd, Some(cwnd));
    m.ack(1448);
    m
}

/// An ACK of a segment with a round-trip time of `rtt_ms`, `after_ms` after the one before.
fn ack(m: &mut Model, after_ms: u64, rtt_ms: u64) {
    m.path.now += Duration::from_millis(after_ms);
    m.rtt = Duration::from_millis(rtt_ms);
    m.ack(1448);
}

#[test]
fn c2tcp_good_adds_to_cubic() {
    // floor(100 / 50) = 2 per ACK: two segments a round beside CUBIC's growth.
    let mut cubic = Model::new("cubic", &[("profile", "linux"), ("slow_start", "standard")], 50).at(100, Some(100));
    let mut m = Model::new("c2tcp", &[("adapt", "false")], 50).at(100, Some(100));
    let (plain, more) = (cubic.round(), m.round());
    assert!((more - plain - 2.0).abs() <= 1.0, "{more} and {plain}");
    // 40 segments, each ACK with 80 ms: floor(100 / 80) = 1.
    let mut m = flow(40);
    m.path.cwnd_limited = false;
    let before = m.cwnd();
    ack(&mut m, 1, 80);
    assert_eq!((m.state("condition"), m.cwnd()), (GOOD, before));
}

#[test]
fn c2tcp_detects_for_an_interval() {
    let mut m = flow(40);
    assert!((m.state("setpoint") - 0.1).abs() < 1e-9);
    ack(&mut m, 10, 101);
    assert_eq!((m.state("condition"), m.state("n")), (DETECTING, 1.0));
    // 100 ms later is not yet more than the interval.
    ack(&mut m, 100, 101);
    assert_eq!(m.state("condition"), DETECTING);
    let cwnd = m.cwnd();
    ack(&mut m, 1, 101);
    // A cut: CUBIC's threshold of 0.7 windows (717 / 1024, whole segments), and slow start from one segment.
    assert_eq!((m.state("condition"), m.state("n")), (BAD, 2.0));
    assert_eq!(m.ssthresh(), (cwnd.floor() * 717.0 / 1024.0).floor());
    assert_eq!(m.cwnd(), 2.0);
    assert_eq!(m.state("last_max"), cwnd.floor());
}

#[test]
fn c2tcp_cuts_come_sooner() {
    let mut m = flow(40);
    ack(&mut m, 10, 150);
    ack(&mut m, 101, 150);
    assert_eq!(m.state("n"), 2.0);
    // The next cut is an interval later (N = 1), then interval / sqrt(2) = 70.7 ms, then interval / sqrt(3) = 57.7 ms.
    for (early, late, n) in [(99, 2, 3.0), (70, 1, 4.0), (57, 1, 5.0)] {
        ack(&mut m, early, 150);
        assert_eq!(m.state("n"), n - 1.0);
        ack(&mut m, late, 150);
        assert_eq!((m.state("n"), m.cwnd()), (n, 2.0));
    }
}

#[test]
fn c2tcp_good_ends_the_cuts() {
    let mut m = flow(40);
    ack(&mut m, 10, 150);
    ack(&mut m, 101, 150);
    ack(&mut m, 10, 100);
    assert_eq!((m.state("condition"), m.state("n")), (GOOD, 1.0));
    ack(&mut m, 500, 150);
    assert_eq!((m.state("condition"), m.state("n")), (DETECTING, 1.0));
}

#[test]
fn c2tcp_recovery_is_not_cut() {
    let mut m = flow(40);
    ack(&mut m, 10, 150);
    m.path.phase = Phase::Recovery;
    ack(&mut m, 500, 150);
    assert_eq!((m.state("condition"), m.state("n")), (DETECTING, 1.0));
    m.path.phase = Phase::Open;
    ack(&mut m, 1, 150);
    assert_eq!(m.state("condition"), BAD);
}

#[test]
fn c2tcp_alpha_follows_the_target() {
    // The target is 100 ms. A mean of 125 ms gives 2 (1 - 2 x 25 / 125) = 1.2, one of 80 ms 1.2 (1 + 20 / 160) = 1.35.
    let mut m = Model::new("c2tcp", &[("target", "100")], 50).at(40, Some(40));
    ack(&mut m, 0, 125);
    assert_eq!(m.state("alpha"), 2.0);
    ack(&mut m, 1000, 125);
    assert!((m.state("alpha") - 1.2).abs() < 1e-9, "{}", m.state("alpha"));
    ack(&mut m, 1000, 80);
    assert!((m.state("alpha") - 1.35).abs() < 1e-9, "{}", m.state("alpha"));
    // Without a target, it is twice the smallest round-trip time, and alpha stays from 1 to 10.
    let mut m = Model::new("c2tcp", &[], 50).at(40, Some(40));
    for _ in 0..20 {
        ack(&mut m, 1000, 50);
    }
    assert_eq!(m.state("alpha"), 10.0);
    for _ in 0..20 {
        ack(&mut m, 1000, 400);
    }
    assert_eq!(m.state("alpha"), 1.0);
}
