//! Vegas by Linux 6.1 and by ns-2.35 (the reference's section 18).

use crate::common::{Model, close, params};
use narrows_cc::{Phase, find};
use narrows_units::{Bytes, Duration};

const NS2: (&str, &str) = ("profile", "ns2");
const US: fn(u64) -> Duration = Duration::from_micros;

/// A flow whose first round begins with `cwnd` segments in flight, through a bottleneck of 50 segments and 100 ms. As
/// in the reference's shim, segments released by an ACK count as sent when that ACK is handled.
fn through_50(given: &[(&str, &str)], cwnd: u64) -> Model {
    let row = find("vegas").unwrap();
    let cc = (row.build)(&params(row, given));
    let mut m = Model::with_window(cc, 1448, Duration::from_millis(100), cwnd).through(50);
    m.sends_before_ack = true;
    m
}

fn avoiding(mut m: Model, ssthresh: u64) -> Model {
    m.win.ssthresh = Some(m.path.smss * ssthresh);
    m
}

/// A flow at `cwnd` segments that has seen the path without a queue.
fn with_base(given: &[(&str, &str)], cwnd: u64) -> Model {
    let mut m = avoiding(through_50(given, 30), 2);
    m.sends_before_ack = false;
    m.rounds(2);
    m.at(cwnd, Some(2))
}

/// The window after a round at `rtt`, with `base` known. The kernel's samples are one microsecond longer than those
/// given.
fn decided(cwnd: u64, base: u64, rtt: u64) -> (f64, f64) {
    let mut m = Model::new("vegas", &[], 100);
    m.rtt = US(base);
    m = m.at(cwnd, Some(2));
    m.path.cwnd_limited = false;
    m.rounds(2);
    m = m.at(cwnd, Some(2));
    m.path.cwnd_limited = true;
    m.rtt = US(rtt);
    m.rounds(1);
    // The first of these rounds is decided by the rounds before it, the second by the first.
    m = m.at(cwnd, Some(2));
    (m.round(), m.state("diff"))
}

#[test]
fn vegas_linux_decides_by_the_queue() {
    for (cwnd, base, rtt, diff, after) in
        [(40, 100, 105, 2.0, 40.0), (40, 100, 110, 4.0, 40.0), (40, 100, 115, 6.0, 39.0), (10, 50, 62, 2.0, 10.0)]
    {
        assert_eq!(
            decided(cwnd, base * 1000 - 1, rtt * 1000 - 1),
            (after, diff),
            "{cwnd} segments, {base} and {rtt} ms"
        );
    }
}

#[test]
fn vegas_linux_adds_a_microsecond() {
    assert_eq!(decided(40, 100_000, 105_000), (41.0, 1.0), "40 * 5000 / 100001 is below 2");
}

#[test]
fn vegas_linux_from_40_settles_at_53() {
    let mut m = avoiding(through_50(&[], 40), 10);
    let got = m.rounds(20);
    let mut want: Vec<f64> = (40..=53).map(f64::from).collect();
    want.resize(20, 53.0);
    assert_eq!(got, want);
    // A sender that sends after it has handled the ACK decides the same.
    let mut plain = avoiding(through_50(&[], 40), 10);
    plain.sends_before_ack = false;
    assert_eq!(plain.rounds(20), want);
}

#[test]
fn vegas_linux_slow_start_ends_at_the_target() {
    assert_eq!(through_50(&[], 10).rounds(9), [20.0, 40.0, 80.0, 160.0, 105.0, 104.0, 103.0, 102.0, 101.0]);
    let mut plain = through_50(&[], 10);
    plain.sends_before_ack = false;
    assert_eq!(plain.rounds(6), [20.0, 40.0, 80.0, 160.0, 101.0, 100.0], "target + 1 of 160 at 160 ms, then one less");
    assert!(!plain.win.in_slow_start(&plain.path));
    // Far below: the equilibrium is between alpha and beta.
    let settled = plain.rounds(60).pop().unwrap();
    assert!((52.0..=54.0).contains(&settled), "{settled}");
}

#[test]
fn vegas_linux_idleness_forgets_the_base() {
    let mut m = through_50(&[], 10);
    m.rounds(3);
    assert_eq!(m.state("base_rtt"), 0.100_001);
    m.idle(Duration::from_secs(1));
    assert_eq!(m.state("base_rtt"), 0.0);
}

#[test]
fn vegas_linux_is_reno_outside_open() {
    let mut m = with_base(&[], 80);
    m.rounds(3);
    let (vegas, before) = (m.round(), m.cwnd());
    assert!(vegas < 80.0);
    m.path.phase = Phase::Disorder;
    m.rounds(3);
    assert!(m.cwnd() > before + 1.5, "{before} to {}", m.cwnd());
    m.path.phase = Phase::Open;
    let again = m.cwnd();
    m.rounds(5);
    assert!(m.cwnd() < again, "Open again, Vegas again");
}

#[test]
fn vegas_linux_needs_three_samples() {
    for (per, shrinks) in [(80, false), (20, true)] {
        let mut m = with_base(&[], 80);
        m.round_of(per);
        let before = m.cwnd();
        for _ in 0..8 {
            m.round_of(per);
        }
        assert_eq!(m.cwnd() < before, shrinks, "{per} segments per ACK: {before} to {}", m.cwnd());
    }
}

#[test]
fn vegas_linux_halves() {
    let mut m = avoiding(through_50(&[], 41), 10);
    m.loss();
    assert_eq!((m.cwnd(), m.ssthresh()), (20.0, 20.0));
}

#[test]
fn vegas_ns2_doubles_every_other_round() {
    let mut m = through_50(&[NS2], 2);
    m.sends_before_ack = false;
    assert_eq!(m.rounds(7), [2.0, 4.0, 4.0, 8.0, 8.0, 16.0, 16.0]);
}

#[test]
fn vegas_ns2_leaves_an_eighth_at_the_end_of_slow_start() {
    let mut m = through_50(&[NS2], 2);
    m.sends_before_ack = false;
    m.rounds(11);
    assert_eq!(m.cwnd(), 64.0);
    assert_eq!(m.round(), 56.0, "14 segments in the queue are more than gamma");
    assert_eq!(m.ssthresh(), 2.0);
}

#[test]
fn vegas_ns2_spreads_its_increase() {
    let mut m = avoiding(through_50(&[NS2], 20), 2);
    m.sends_before_ack = false;
    m.round();
    let before = m.cwnd();
    m.ack(1448);
    m.ack(1448);
    let part = (m.cwnd() - before) * before;
    close(&[part], &[2.0], 0.2);
}

#[test]
fn vegas_ns2_settles_between_one_and_three() {
    for start in [30, 70] {
        let mut m = with_base(&[NS2], start);
        let settled = m.rounds(80).pop().unwrap();
        assert!((50.5..=54.0).contains(&settled), "{start}: {settled}");
        assert_eq!(m.round(), settled, "and stays");
    }
}

#[test]
fn vegas_ns2_gives_a_quarter_back() {
    for (before, after) in [(41, 31.0), (40, 30.0), (4, 3.0), (3, 2.0)] {
        let mut m = through_50(&[NS2], before);
        m.loss();
        assert_eq!((m.cwnd(), m.ssthresh()), (after, 2.0));
    }
    let mut m = through_50(&[NS2], 41);
    m.timeout(false);
    assert_eq!((m.win.cwnd, m.ssthresh()), (Bytes::new(1448), 20.0));
}

#[test]
fn vegas_alpha_and_beta_are_the_profiles_unless_given() {
    let mut wide = avoiding(through_50(&[("alpha", "10"), ("beta", "12")], 40), 10);
    let settled = wide.rounds(60).pop().unwrap();
    assert!((60.0..=62.0).contains(&settled), "{settled}");
}

#[test]
fn vegas_last_round_steps_from_the_window_of_the_round_before() {
    let windows = |given: &[(&str, &str)]| {
        let mut m = Model::new("vegas", given, 100).at(20, Some(2));
        [(); 6].map(|()| m.round())
    };
    // Without a queue the window grows each round from the present window, and every other round from the previous one.
    let (present, before) = (windows(&[]), windows(&[("last_round", "true")]));
    assert_eq!(present[5] - present[1], 4.0, "{present:?}");
    assert_eq!(before[5] - before[1], 2.0, "{before:?}");
}

/// A flow by the rules of Linux 2.6.22 whose window has stayed at 40 segments at 100 ms.
fn last_round_at_40(ssthresh: Option<u64>) -> Model {
    let mut m = Model::new("vegas", &[("last_round", "true")], 100);
    m.rtt = US(99_999);
    m = m.at(40, ssthresh);
    m.path.cwnd_limited = false;
    m.rounds(3);
    // The first of these rounds was compared with the initial window.
    m = m.at(40, ssthresh);
    m.rounds(2);
    assert_eq!(m.cwnd(), 40.0);
    m
}

#[test]
fn vegas_last_round_knows_half_segments_of_the_queue() {
    // 80 halves at 105 ms are 76 without a queue, so two segments wait; at 102.5 ms one does, at 113 ms five do.
    for (rtt, after) in [(102_499, 41.0), (104_999, 40.0), (112_999, 39.0)] {
        let mut m = last_round_at_40(Some(2));
        m.rtt = US(rtt);
        m.round();
        m = m.at(40, Some(2));
        m.path.cwnd_limited = true;
        assert_eq!(m.round(), after, "{rtt} us");
    }
}

#[test]
fn vegas_last_round_ends_slow_start_at_the_target() {
    let mut m = last_round_at_40(None);
    m.rtt = US(109_999);
    while m.win.ssthresh.is_none() {
        m.ack(1448);
    }
    // 80 halves at 110 ms are 72 without a queue.
    assert_eq!((m.cwnd(), m.ssthresh()), (40.0 - 4.0 + 1.0, 2.0));
}
