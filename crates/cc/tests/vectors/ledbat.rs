//! LEDBAT (RFC 6817) and LEDBAT++ (the reference's section 32).

use crate::common::Model;
use narrows_cc::Ack;
use narrows_units::Duration;

/// A flow on a path of 50 ms each way that has seen the empty path, with `cwnd` segments in flight.
fn ledbat(given: &[(&str, &str)], cwnd: u64) -> Model {
    let mut m = Model::new("ledbat", given, 100).at(cwnd, Some(2));
    m.ack(1448);
    m.at(cwnd, Some(2))
}

/// Puts `queue` ms into the forward path, which the filter of four samples shows from now on.
fn queue(m: &mut Model, queue: u64, base: u64) {
    // The model gives half of the round-trip time to the forward path.
    m.rtt = Duration::from_millis(base + 2 * queue);
    for _ in 0..4 {
        let ack =
            Ack { rtt: Some(m.rtt), one_way_delay: m.sampling.then(|| m.rtt / 2 + m.clock_offset), ..Ack::default() };
        m.cc.observe(&ack, &m.path);
    }
}

fn near(value: f64, wanted: f64) {
    assert!((value - wanted).abs() < 0.002, "{value} instead of {wanted}");
}

#[test]
fn ledbat_one_ack_adds_a_tenth_of_a_segment() {
    for (delay, wanted) in [(0, 10.1), (50, 10.05), (100, 10.0), (200, 9.9)] {
        let mut m = ledbat(&[], 10);
        queue(&mut m, delay, 100);
        near(m.state("queuing_delay"), delay as f64 / 1e3);
        near(m.state("off_target"), (100.0 - delay as f64) / 100.0);
        m.ack(1448);
        near(m.cwnd(), wanted);
    }
}

#[test]
fn ledbat_moves_by_the_distance_to_the_target() {
    // 20 segments per round, each 1/20 of a segment times off_target.
    for (delay, wanted) in [(0, 21.0), (50, 20.5), (100, 20.0), (200, 19.0)] {
        let mut m = ledbat(&[], 20);
        queue(&mut m, delay, 100);
        let window = m.round();
        assert!((window - wanted).abs() < 0.03, "{delay} ms: {window}");
    }
    let mut half = ledbat(&[("gain", "0.5"), ("target", "0.05")], 20);
    queue(&mut half, 25, 100);
    assert!((half.round() - 20.25).abs() < 0.01, "GAIN 0.5, halfway to a target of 50 ms");
}

#[test]
fn ledbat_grows_no_faster_than_reno() {
    let mut m = ledbat(&[], 10);
    let after = m.rounds(10)[9];
    assert!(after <= 20.0 && after > 19.0, "{after}");
}

#[test]
fn ledbat_window_is_bounded_by_flight_and_allowed_increase() {
    for (allowed, wanted) in [("1", 6.0), ("3", 8.0)] {
        let mut m = ledbat(&[("allowed_increase", allowed)], 20);
        // Only five segments were in flight before the ACK of one.
        m.path.flightsize = m.path.smss * 4;
        let ack = Ack { acked: m.path.smss, delivered: m.path.smss, ..Ack::default() };
        m.cc.on_ack(&ack, &m.path, &mut m.win);
        assert_eq!(m.cwnd(), wanted);
    }
}

#[test]
fn ledbat_keeps_two_segments() {
    let mut m = ledbat(&[], 3);
    queue(&mut m, 1000, 100);
    m.rounds(20);
    assert_eq!(m.cwnd(), 2.0);
}

#[test]
fn ledbat_starts_with_two_segments() {
    let m = Model::new("ledbat", &[], 100);
    assert_eq!((m.cwnd(), m.ssthresh()), (2.0, 2.0));
}

#[test]
fn ledbat_slow_start_is_optional() {
    let mut m = Model::new("ledbat", &[("slow_start", "true")], 100);
    assert_eq!(m.cwnd(), 10.0);
    assert_eq!(m.round(), 20.0);
    m.loss();
    assert_eq!(m.cwnd(), 10.0);
    assert!(m.round() < 11.1, "no slow start after a loss");
}

#[test]
fn ledbat_loss_halves() {
    let mut m = ledbat(&[], 40);
    m.loss();
    assert_eq!((m.cwnd(), m.ssthresh()), (20.0, 20.0));
    let mut small = ledbat(&[], 3);
    small.loss();
    assert_eq!(small.cwnd(), 2.0, "MIN_CWND");
}

#[test]
fn ledbat_timeout_leaves_one_segment() {
    let mut m = ledbat(&[], 40);
    m.timeout(false);
    assert_eq!((m.cwnd(), m.ssthresh()), (1.0, 20.0));
    m.ack(1448);
    assert_eq!(m.cwnd(), 2.0, "MIN_CWND from the next ACK on, without slow start");
}

#[test]
fn ledbat_offset_of_the_clocks_cancels() {
    // The receiver's clock is 4294.9 s ahead, so that timestamps wrap between two samples.
    let mut m = Model::new("ledbat", &[], 100).at(10, Some(2));
    m.clock_offset = Duration::from_micros((1 << 32) - 60_000);
    m.ack(1448);
    queue(&mut m, 70, 100);
    near(m.state("queuing_delay"), 0.07);
}

#[test]
fn ledbat_without_timestamps_uses_the_rtt() {
    let mut m = Model::new("ledbat", &[], 100).at(10, Some(2));
    m.sampling = false;
    for rtt in [100, 180, 180, 180, 180] {
        let ack = Ack { rtt: Some(Duration::from_millis(rtt)), ..Ack::default() };
        m.cc.observe(&ack, &m.path);
    }
    near(m.state("queuing_delay"), 0.08);
    assert_eq!(m.state("one_way"), 0.0);
    m.sampling = true;
    m.ack(1448);
    assert_eq!((m.state("one_way"), m.state("queuing_delay")), (1.0, 0.0), "a new history");
}

/// A LEDBAT++ flow that has left its initial slow start, on a path of `base` ms, and whose slowdowns are off.
fn steady(base: u64, cwnd: u64) -> Model {
    let mut m = Model::new("ledbat_pp", &[("slowdowns", "false")], base).at(cwnd, Some(2));
    m.ack(1448);
    m.at(cwnd, Some(2))
}

#[test]
fn ledbat_pp_gain_by_base() {
    for (base, divisor) in [(5, 16.0), (10, 12.0), (20, 6.0), (60, 2.0), (120, 1.0), (200, 1.0)] {
        let m = Model::new("ledbat_pp", &[], base);
        near(m.state("gain"), 1.0 / divisor);
        near(m.state("base_rtt"), base as f64 / 1e3);
    }
}

#[test]
fn ledbat_pp_starts_with_two_segments() {
    let m = Model::new("ledbat_pp", &[], 100);
    assert_eq!((m.cwnd(), m.win.ssthresh, m.state("stage")), (2.0, None, 0.0));
}

#[test]
fn ledbat_pp_grows_by_gain_per_round() {
    for (base, wanted) in [(20, 50.0 + 1.0 / 6.0), (200, 51.0)] {
        let mut m = steady(base, 50);
        assert!((m.round() - wanted).abs() < 0.02, "{base}: {}", m.cwnd());
    }
    // A queue of exactly the target still grows.
    let mut m = steady(20, 50);
    queue(&mut m, 30, 20);
    near(m.state("queuing_delay"), 0.06);
    assert!((m.round() - 50.1667).abs() < 0.01);
}

#[test]
fn ledbat_pp_decreases_by_half_at_most() {
    // GAIN 1/6. 90 ms: 50 * 1/2 = 25 less the gain. 120 ms: 50 * 1 is more than half.
    for (delay, wanted) in [(66, 45.1667), (90, 25.1667), (120, 25.0), (600, 25.0)] {
        let mut m = steady(20, 50);
        queue(&mut m, delay / 2, 20);
        m.path.now += Duration::from_secs(1);
        m.ack(1448);
        near(m.cwnd(), wanted);
    }
}

#[test]
fn ledbat_pp_decrease_is_once_per_round() {
    let mut m = steady(20, 50);
    queue(&mut m, 45, 20);
    m.path.now += Duration::from_secs(1);
    m.ack(1448);
    m.ack(1448);
    near(m.cwnd(), 25.1667);
    // One round of 110 ms later.
    m.path.now += Duration::from_millis(111);
    m.ack(1448);
    near(m.cwnd(), 25.1667 / 2.0 + 1.0 / 6.0);
    assert!(m.ssthresh() <= m.cwnd(), "no slow start follows");
}

#[test]
fn ledbat_pp_slow_start_has_gain() {
    // GAIN 1/2 at 60 ms: each segment acknowledged adds half a segment.
    let mut m = Model::new("ledbat_pp", &[], 60).at(20, None);
    assert_eq!(m.round(), 30.0);
    let mut long = Model::new("ledbat_pp", &[], 150).at(20, None);
    assert_eq!(long.round(), 40.0);
}

#[test]
fn ledbat_pp_initial_slow_start_ends_at_three_quarters() {
    let mut m = Model::new("ledbat_pp", &[], 60).at(20, None);
    queue(&mut m, 22, 60);
    m.ack(1448);
    assert_eq!((m.cwnd(), m.win.ssthresh, m.state("stage")), (20.5, None, 0.0), "44 ms");
    queue(&mut m, 23, 60);
    m.ack(1448);
    near(m.ssthresh(), 20.5);
    assert_eq!(m.state("stage"), 1.0, "46 ms");
    assert!(m.cwnd() < 20.55, "avoidance: {}", m.cwnd());
}

/// A flow with GAIN 1/2 that has just left its initial slow start with 20 segments.
fn left() -> Model {
    let mut m = Model::new("ledbat_pp", &[], 60).at(20, None);
    queue(&mut m, 23, 60);
    m.ack(1448);
    m.rtt = Duration::from_millis(60);
    assert_eq!(m.state("stage"), 1.0);
    m
}

/// The same at the beginning of its first slowdown.
fn slowed() -> Model {
    let mut m = left();
    m.path.now += Duration::from_millis(300);
    m.ack(1448);
    assert_eq!((m.state("stage"), m.cwnd(), m.state("slowdowns")), (2.0, 2.0, 1.0));
    m
}

#[test]
fn ledbat_pp_first_slowdown_is_two_rounds_later() {
    let mut m = left();
    // The smoothed RTT was 106 ms when slow start ended.
    m.path.now += Duration::from_millis(211);
    m.ack(1448);
    assert_eq!(m.state("stage"), 1.0);
    m.path.now += Duration::from_millis(2);
    m.ack(1448);
    assert_eq!((m.state("stage"), m.cwnd()), (2.0, 2.0));
    assert!((m.ssthresh() - 20.0).abs() < 0.2, "{}", m.ssthresh());
}

#[test]
fn ledbat_pp_is_frozen_at_two_segments_for_two_rounds() {
    let mut m = slowed();
    m.path.now += Duration::from_millis(119);
    m.ack(1448);
    assert_eq!((m.state("stage"), m.cwnd()), (2.0, 2.0));
    m.path.now += Duration::from_millis(1);
    m.ack(1448);
    assert_eq!((m.state("stage"), m.cwnd()), (3.0, 2.5));
}

#[test]
fn ledbat_pp_regrows_to_ssthresh_whatever_the_delay() {
    let mut m = slowed();
    m.path.now += Duration::from_millis(120);
    queue(&mut m, 200, 60);
    for acks in 1..=35 {
        m.ack(1448);
        assert_eq!(m.cwnd(), 2.0 + 0.5 * f64::from(acks));
    }
    m.ack(1448);
    m.ack(1448);
    assert_eq!(m.state("stage"), 1.0);
}

#[test]
fn ledbat_pp_next_slowdown_after_nine_durations() {
    let mut m = slowed();
    m.path.now += Duration::from_millis(200);
    for _ in 0..38 {
        m.ack(1448);
    }
    assert_eq!(m.state("stage"), 1.0);
    near(m.state("slowdown_time"), 0.2);
    m.path.now += Duration::from_millis(1799);
    m.ack(1448);
    assert_eq!(m.state("slowdowns"), 1.0);
    m.path.now += Duration::from_millis(1);
    m.ack(1448);
    assert_eq!((m.state("slowdowns"), m.cwnd()), (2.0, 2.0));
}

#[test]
fn ledbat_pp_loss_halves() {
    let mut m = steady(100, 40);
    m.loss();
    assert_eq!((m.cwnd(), m.ssthresh()), (20.0, 20.0));
    m.timeout(false);
    assert_eq!((m.cwnd(), m.ssthresh()), (1.0, 10.0));
    m.ack(1448);
    assert_eq!(m.cwnd(), 1.5, "slow start with GAIN 1/2 after a timeout");
}

#[test]
fn ledbat_pp_loss_while_frozen_halves_what_is_kept() {
    let mut m = slowed();
    let before = m.ssthresh();
    m.loss();
    near(m.ssthresh(), before / 2.0);
    assert_eq!(m.cwnd(), 2.0);
}

#[test]
fn ledbat_pp_loss_ends_the_initial_slow_start() {
    let mut m = Model::new("ledbat_pp", &[], 100).at(40, None);
    m.loss();
    assert_eq!((m.cwnd(), m.state("stage")), (20.0, 1.0));
    m.path.now += Duration::from_millis(201);
    m.ack(1448);
    assert_eq!(m.state("stage"), 2.0, "the first slowdown is two rounds later");
}
