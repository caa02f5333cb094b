//! H-TCP (Leith and Shorten 2004, Linux 6.1; the reference's section 23).

use crate::common::{Model, close};
use narrows_cc::algorithms::htcp::f;
use narrows_units::Duration;

const DRAFT: (&str, &str) = ("profile", "draft");
const NO_SWITCH: (&str, &str) = ("bandwidth_switch", "false");

/// A flow in congestion avoidance that has measured its path, ten seconds after it began.
fn after_ten_seconds(given: &[(&str, &str)], rtt_ms: u64) -> Model {
    let mut m = Model::new("htcp", given, rtt_ms).at(100, Some(2));
    m.ack(1448);
    m.path.now += Duration::from_secs(10);
    m
}

/// Runs some rounds at a window, then a loss; returns beta of that loss in 1/128.
fn cycle(m: Model, cwnd: u64) -> (Model, f64) {
    let mut m = m.at(cwnd, Some(2));
    m.rounds(3);
    m.loss();
    let beta = m.state("beta") * 128.0;
    (m, beta)
}

/// Raises the sampled round-trip time from `from` to `to` in steps that H-TCP accepts.
fn raise_rtt(m: &mut Model, from: u64, to: u64) {
    for rtt in (from..=to).step_by(10) {
        m.rtt = Duration::from_millis(rtt);
        m.ack(1448);
    }
}

#[test]
fn htcp_f() {
    close(&[f(2.0), f(3.0), f(5.0), f(10.0), f(20.0)], &[11.25, 22.0, 45.0, 111.25, 281.25], 1e-12);
    assert_eq!([f(0.0), f(1.0)], [1.0, 1.0]);
}

#[test]
fn htcp_linux_alpha() {
    for (secs, alpha) in [(0, 1.0), (1, 1.0), (2, 11.0), (3, 22.0), (5, 45.0), (10, 111.0)] {
        let mut m = Model::new("htcp", &[], 100).at(100, Some(100));
        m.path.now += Duration::from_secs(secs);
        // alpha is updated with a step; the first step comes after about 100 segments.
        let before = m.cwnd();
        while m.cwnd() == before {
            m.ack(1448);
        }
        assert_eq!(m.state("alpha"), alpha, "{secs} s");
    }
}

#[test]
fn htcp_linux_trajectory() {
    let mut m = Model::new("htcp", &[], 100).at(100, Some(2));
    let windows = m.rounds(50);
    for (round, want) in [(10, 109.0), (20, 159.0), (30, 300.0), (40, 539.0), (50, 887.0)] {
        let got: f64 = windows[round - 1];
        assert!((got - want).abs() <= 2.0, "{got} after {round} rounds, not {want}");
    }
}

#[test]
fn htcp_linux_beta() {
    for (min, max, beta, left) in [(100, 150, 85.0, 66.0), (100, 110, 102.0, 79.0), (100, 300, 64.0, 50.0)] {
        let mut m = Model::new("htcp", &[NO_SWITCH], min).at(100, Some(2));
        m.loss();
        m = m.at(100, Some(2));
        raise_rtt(&mut m, min, max);
        m = m.at(100, Some(2));
        m.loss();
        assert_eq!((m.state("beta") * 128.0, m.cwnd()), (beta, left), "{min} to {max} ms");
    }
}

#[test]
fn htcp_first_event_takes_half() {
    let mut m = Model::new("htcp", &[NO_SWITCH], 100).at(101, Some(2));
    raise_rtt(&mut m, 100, 120);
    m.loss();
    assert_eq!((m.cwnd(), m.ssthresh()), (50.0, 50.0));
    for (cwnd, left) in [(3, 2.0), (2, 2.0)] {
        let mut m = Model::new("htcp", &[], 100).at(cwnd, None);
        m.loss();
        assert_eq!(m.cwnd(), left);
    }
}

#[test]
fn htcp_bandwidth_switch_takes_half() {
    // Cycles at 100, then at 150 segments per round-trip time.
    let mut m = Model::new("htcp", &[], 100);
    let mut betas = Vec::new();
    for cwnd in [100, 100, 100, 100, 150, 150, 150] {
        let (next, beta) = cycle(m, cwnd);
        m = next;
        betas.push(beta);
    }
    assert_eq!(betas[..4], [64.0, 64.0, 102.0, 102.0], "unknown, then the switch, then RTTmin / RTTmax = 1");
    assert_eq!(betas[4..], [64.0, 64.0, 102.0], "half as much again, then the switch");
}

#[test]
fn htcp_linux_rtt_scaling() {
    // 10 s after a loss f = 111 at 100 ms. It is multiplied by RTT / 100 ms within 0.1 and 2, in integers.
    for (rtt, alpha) in [(50, 55.0), (200, 222.0), (400, 222.0), (5, 11.0)] {
        let mut m = after_ten_seconds(&[], rtt);
        m.loss();
        assert_eq!(m.state("alpha"), alpha, "{rtt} ms");
    }
    let mut off = after_ten_seconds(&[("rtt_scaling", "false")], 50);
    off.loss();
    assert_eq!(off.state("alpha"), 111.0);
}

#[test]
fn htcp_max_rtt_ignores_jumps_and_fades() {
    let mut m = Model::new("htcp", &[], 100).at(100, Some(2));
    raise_rtt(&mut m, 100, 200);
    m.rtt = Duration::from_millis(221);
    m.ack(1448);
    assert_eq!(m.state("max_rtt"), 0.2, "21 ms above is no queue");
    m.loss();
    assert_eq!(m.state("max_rtt"), 0.195, "100 + 0.95 * 100");
}

#[test]
fn htcp_delta_starts_at_the_end_of_recovery() {
    for (profile, starts) in [("linux", 3.0), ("draft", 1.0)] {
        let mut m = Model::new("htcp", &[("profile", profile)], 100).at(100, Some(2));
        m.cc.on_congestion(&narrows_cc::Congestion::Loss { lost: m.path.smss }, &m.path, &mut m.win);
        m.path.now += Duration::from_secs(2);
        m.cc.on_recovered(&m.path, &mut m.win);
        assert_eq!(m.state("last_cong"), starts, "{profile}");
    }
}

#[test]
fn htcp_undo_restores_delta_and_max_rtt() {
    for given in [&[][..], &[DRAFT]] {
        let mut m = Model::new("htcp", given, 100).at(100, Some(2));
        raise_rtt(&mut m, 100, 200);
        m.rtt = Duration::from_millis(100);
        m.rounds(20);
        let before = ["last_cong", "max_rtt", "old_max_b"].map(|name| m.state(name));
        m.loss();
        assert_ne!(["last_cong", "max_rtt", "old_max_b"].map(|name| m.state(name)), before);
        m.undo();
        assert_eq!(["last_cong", "max_rtt", "old_max_b"].map(|name| m.state(name)), before);
        // The end of recovery does not override an undo during it.
        m.cc.on_congestion(&narrows_cc::Congestion::Loss { lost: m.path.smss }, &m.path, &mut m.win);
        m.cc.on_undo(&m.path, &mut m.win);
        m.cc.on_recovered(&m.path, &mut m.win);
        assert_eq!(m.state("last_cong"), before[0]);
    }
}

#[test]
fn htcp_foreign_cut_starts_a_new_epoch() {
    for given in [&[][..], &[DRAFT]] {
        let mut m = Model::new("htcp", given, 100).at(100, Some(2));
        m.rounds(40);
        m = m.at(100, Some(2));
        m.cc.on_window_set(&m.path, &m.win);
        let grown = m.rounds(9)[8];
        assert!((107.0..=110.0).contains(&grown), "{given:?}: as Reno for a second, not {grown}");
    }
}

#[test]
fn htcp_draft_growth() {
    // 10 s after a loss a round adds f(10) = 111.25 segments.
    let mut m = Model::new("htcp", &[DRAFT], 100).at(10_000, Some(2));
    m.path.now += Duration::from_secs(10);
    close(&[m.round() - 10_000.0], &[111.25], 0.02);
    let mut reno = Model::new("htcp", &[DRAFT], 100).at(10, Some(2));
    close(&reno.rounds(3), &[10.9586, 11.8393, 12.7375], 1e-3);
}

#[test]
fn htcp_draft_beta() {
    for (max, beta) in [(150, 1.0 / 1.5), (110, 0.8), (300, 0.5)] {
        let mut m = Model::new("htcp", &[DRAFT, NO_SWITCH], 100).at(100, Some(2));
        m.loss();
        raise_rtt(&mut m, 100, max);
        m = m.at(300, Some(2));
        m.loss();
        close(&[m.state("beta"), m.cwnd()], &[beta, 300.0 * beta], 1e-3);
    }
}

#[test]
fn htcp_takes_rtts_from_srtt_if_asked() {
    let given = [("rtt_from_srtt", "true")];
    let mut m = Model::new("htcp", &given, 150);
    m.ack(1448);
    assert_eq!(m.state("min_rtt"), 0.0, "not in slow start");
    // ACKs without a sample of their own: only srtt is available.
    m = m.at(100, Some(2));
    m.sampling = false;
    m.ack(1448);
    assert_eq!((m.state("min_rtt"), m.state("max_rtt")), (0.15, 0.0), "no largest within three RTTs of a loss");
    m.path.now += Duration::from_secs(1);
    m.rtt = Duration::from_millis(160);
    m.ack(1448);
    assert_eq!((m.state("min_rtt"), m.state("max_rtt")), (0.15, 0.16));
    let mut samples = Model::new("htcp", &[], 150).at(100, Some(2));
    samples.sampling = false;
    samples.ack(1448);
    assert_eq!(samples.state("min_rtt"), 0.0, "by default only samples count");
}
