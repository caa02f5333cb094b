//! CUBIC as in ns-2.35's TCP/Linux (the reference's section 27). The trajectories were computed independently of this
//! code, from the formulas.

use crate::common::Model;
use narrows_cc::Ack;
use narrows_units::Duration;

const NS2: (&str, &str) = ("profile", "ns2");

/// A flow in congestion avoidance that has just lost at `cwnd` segments, having seen one ACK.
fn lost_at(given: &[(&str, &str)], cwnd: u64, rtt_ms: u64) -> Model {
    let mut m = Model::new("cubic", &[&[NS2], given].concat(), rtt_ms).at(cwnd, None);
    m.path.cwnd_limited = false;
    m.ack(m.path.smss.as_u64());
    m.path.cwnd_limited = true;
    m.loss();
    m
}

/// The windows after these numbers of rounds.
fn after(m: &mut Model, rounds: &[usize]) -> Vec<f64> {
    let windows = m.rounds(*rounds.last().unwrap());
    rounds.iter().map(|n| windows[n - 1]).collect()
}

#[test]
fn cubic_ns2_backs_off_to_four_fifths() {
    for (cwnd, ssthresh) in [(1000, 799.0), (100, 79.0), (10, 7.0), (2, 2.0)] {
        let m = lost_at(&[], cwnd, 100);
        assert_eq!((m.cwnd(), m.ssthresh()), (ssthresh, ssthresh), "from {cwnd}");
    }
    assert_eq!(lost_at(&[("beta", "0.7")], 1000, 100).cwnd(), 700.0);
    let mut m = lost_at(&[], 100, 100).at(80, Some(79));
    m.loss();
    assert_eq!(m.state("last_max"), 71.0, "fast convergence: 80 * 1843 / 2048");
}

#[test]
fn cubic_ns2_loss_at_100() {
    let mut m = lost_at(&[], 100, 100);
    let got = after(&mut m, &[1, 2, 5, 10, 20, 30, 50, 60, 70, 80, 100, 120, 150]);
    assert_eq!(m.state("k") * 1024.0, 3833.0);
    assert_eq!(got, [81.0, 83.0, 88.0, 93.0, 99.0, 100.0, 100.0, 105.0, 114.0, 131.0, 199.0, 328.0, 677.0]);
    let mut short = lost_at(&[], 100, 10);
    assert_eq!(after(&mut short, &[10, 20, 40, 80, 100, 200]), [81.0, 85.0, 92.0, 106.0, 112.0, 147.0]);
}

#[test]
fn cubic_ns2_loss_at_1000() {
    let mut m = lost_at(&[], 1000, 100);
    let got = after(&mut m, &[1, 5, 10, 20, 40, 60, 80, 100, 120, 130, 150, 200]);
    let want = [809.0, 838.0, 868.0, 917.0, 977.0, 998.0, 1000.0, 1003.0, 1028.0, 1053.0, 1143.0, 1708.0];
    assert_eq!(got, want);
}

#[test]
fn cubic_ns2_makes_up_for_delayed_acks_in_part() {
    let mut m = lost_at(&[], 100, 100);
    let windows: Vec<f64> = (0..10).map(|_| m.round_of(2)).collect();
    assert_eq!(windows, [81.0, 83.0, 84.0, 86.0, 87.0, 88.0, 89.0, 90.0, 91.0, 92.0]);
}

#[test]
fn cubic_ns2_grows_by_two_percent_before_the_first_loss() {
    // cnt is 50, and the filter makes it 50 * 16 / 31 = 25: a step per 26 ACKs.
    let mut m = Model::new("cubic", &[NS2], 100).at(100, Some(100));
    let windows = m.rounds(10);
    assert_eq!(m.state("cnt"), 25.0);
    assert_eq!(windows, [103.0, 107.0, 111.0, 116.0, 120.0, 125.0, 130.0, 135.0, 140.0, 145.0]);
}

#[test]
fn cubic_ns2_bounds_the_growth_past_the_plateau() {
    // Long after K the bound applies: cwnd / 16 per 100 ms, reduced to 16/31 by the filter.
    let mut m = lost_at(&[], 1000, 100);
    m.path.now += Duration::from_secs(60);
    m.round();
    m.path.now += Duration::from_secs(60);
    m.rounds(5);
    let cwnd = m.cwnd();
    let step = m.round() - cwnd;
    assert!((29.0..=31.0).contains(&step), "{step}");
    assert!((m.state("cnt") - cwnd / 16.0 * 16.0 / 31.0).abs() <= 2.0, "{}", m.state("cnt"));
    // Without a delay there is no bound; the window then grows by half at most.
    let mut blind = Model::new("cubic", &[NS2], 100).at(1000, None);
    blind.sampling = false;
    blind.loss();
    blind.round();
    blind.path.now += Duration::from_secs(60);
    let before = blind.cwnd();
    assert!(blind.round() > 1.4 * before);
}

#[test]
fn cubic_ns2_takes_delays_from_timestamps_only() {
    let mut m = Model::new("cubic", &[NS2], 100).at(100, Some(100));
    let acked = m.path.smss;
    let rtt = Some(Duration::from_micros(50_900));
    m.cc.on_ack(&Ack { acked, delivered: acked, rtt, ..Ack::default() }, &m.path, &mut m.win);
    assert_eq!(m.state("delay_min"), 0.0);
    let one_way_delay = Some(Duration::ZERO);
    m.path.now += Duration::from_secs(1);
    m.cc.on_ack(&Ack { acked, delivered: acked, rtt, one_way_delay, ..Ack::default() }, &m.path, &mut m.win);
    assert_eq!(m.state("delay_min"), 0.050, "whole milliseconds");
    m.loss();
    m.round();
    m.rtt = Duration::from_millis(20);
    m.rounds(10);
    assert_eq!(m.state("delay_min"), 0.050, "none in the first second of an epoch");
    m.rounds(50);
    assert_eq!(m.state("delay_min"), 0.020);
}

#[test]
fn cubic_ns2_timeout_forgets_everything() {
    let mut m = lost_at(&[], 100, 100);
    m.rounds(5);
    let ssthresh = (m.cwnd() as u64 * 819 / 1024) as f64;
    m.timeout(false);
    m.timeout(true);
    assert_eq!((m.cwnd(), m.ssthresh()), (1.0, ssthresh));
    for name in ["last_max", "origin", "k", "tcp_cwnd", "delay_min", "cnt"] {
        assert_eq!(m.state(name), 0.0, "{name}");
    }
    assert_eq!(m.state("delayed_ack"), 32.0);
    m.rounds(10);
    assert_eq!(m.state("cnt"), 25.0, "as before the first loss");
}

#[test]
fn cubic_ns2_slow_start() {
    // One segment per ACK, without HyStart, though the delay rises; and ns-2's agent goes one segment past ssthresh.
    let mut m = Model::new("cubic", &[NS2], 20).at(16, Some(64));
    m.rtt = Duration::from_millis(80);
    assert_eq!((m.round(), m.round()), (32.0, 64.0));
    let mut delayed = Model::new("cubic", &[NS2], 20).at(16, Some(64));
    assert_eq!(delayed.round_of(2), 24.0);
    let mut agent = Model::new("cubic", &[NS2], 20).at(16, Some(20));
    agent.path.slow_start_at_equality = true;
    agent.round();
    assert_eq!(agent.cwnd(), 21.0);
}

#[test]
fn cubic_ns2_undo() {
    let mut m = lost_at(&[], 100, 100);
    assert_eq!(m.state("last_max"), 100.0);
    m.undo();
    assert_eq!(m.cwnd(), 100.0, "max(cwnd, last_max)");
}

#[test]
fn cubic_ns2_grows_on_from_a_window_that_a_scheme_set() {
    let mut m = lost_at(&[], 100, 10);
    m.rounds(50);
    m = m.at(20, Some(10));
    m.cc.on_window_set(&m.path, &m.win);
    let windows = m.rounds(10);
    assert!(windows[0] <= 22.0 && windows[9] < 40.0, "{windows:?}");
}
