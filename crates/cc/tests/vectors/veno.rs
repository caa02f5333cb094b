//! Veno (the reference's section 19, and ns-3's fault in its list of faults).

use crate::common::{Model, params};
use narrows_cc::{Phase, find};
use narrows_units::Duration;

const PAPER: (&str, &str) = ("profile", "paper");
const NS2: (&str, &str) = ("profile", "ns2");

/// A flow in congestion avoidance that knows the path without a queue, 100 ms.
fn with_base(name: &str, given: &[(&str, &str)], cwnd: u64) -> Model {
    let mut m = Model::new(name, given, 100).at(cwnd, Some(2));
    m.path.cwnd_limited = false;
    m.rounds(2);
    m.path.cwnd_limited = true;
    m
}

/// A flow that has just measured `rtt_ms` at `cwnd` segments.
fn measured(given: &[(&str, &str)], cwnd: u64, rtt_ms: u64) -> Model {
    let mut m = with_base("veno", given, cwnd);
    m.rtt = Duration::from_millis(rtt_ms);
    // The smallest of the samples since the last ACK that could grow the window.
    m.ack(1448);
    m.ack(1448);
    m.at(cwnd, Some(2))
}

#[test]
fn veno_backlog_decides_the_answer_to_a_loss() {
    for given in [&[][..], &[PAPER], &[NS2]] {
        for (rtt, backlog, ssthresh) in [(104, 2.0, 32.0), (110, 4.0, 20.0)] {
            let mut m = measured(given, 40, rtt);
            let exact = 40.0 * (1.0 - 100.0 / rtt as f64);
            let want = if given == [PAPER] { exact } else { backlog };
            assert!((m.state("backlog") - want).abs() < 1e-3 * want, "{given:?}, {rtt} ms: {}", m.state("backlog"));
            m.loss();
            assert_eq!(m.ssthresh(), ssthresh, "{given:?}, {rtt} ms");
        }
    }
}

#[test]
fn veno_beta_moves_the_border() {
    let mut m = measured(&[("beta", "4.5")], 40, 110);
    m.loss();
    assert_eq!(m.ssthresh(), 32.0);
}

#[test]
fn veno_linux_from_40() {
    let row = find("veno").unwrap();
    let cc = (row.build)(&params(row, &[]));
    let mut m = Model::with_window(cc, 1448, Duration::from_millis(100), 40).through(50);
    m.win.ssthresh = Some(m.path.smss * 10);
    let got = m.rounds(20);
    let mut want: Vec<f64> = (41..=53).map(f64::from).collect();
    want.extend([53.0, 54.0, 54.0, 55.0, 55.0, 56.0, 56.0]);
    assert_eq!(got, want);
}

#[test]
fn veno_congestive_increase_is_not_newreno() {
    // The rule that ns-3 misses: one segment in two rounds.
    for given in [&[][..], &[PAPER], &[NS2]] {
        let mut m = measured(given, 40, 110);
        let before = m.cwnd();
        m.rounds(20);
        let grown = m.cwnd() - before;
        assert!((8.5..=10.5).contains(&grown), "{given:?}: {grown} segments in 20 rounds");
    }
}

#[test]
fn veno_ns3_increase_would_be_newreno() {
    // ns-3 forgets its samples on every ACK and then has too few, so it grows as NewReno. On the same path, with the
    // same backlog, Reno gains twice as much as our Veno.
    let mut veno = measured(&[], 40, 110);
    let mut reno = with_base("reno", &[("profile", "linux")], 40);
    reno.rtt = Duration::from_millis(110);
    let (v, r) = (veno.rounds(20)[19] - 40.0, reno.rounds(20)[19] - 40.0);
    assert!(r >= 19.0 && v <= r / 2.0 + 0.5, "Veno {v}, Reno {r}");
}

#[test]
fn veno_grows_as_reno_without_backlog() {
    for given in [&[][..], &[PAPER]] {
        let mut m = with_base("veno", given, 40);
        let grown = m.rounds(10)[9] - 40.0;
        assert!((9.5..=10.5).contains(&grown), "{given:?}: {grown}");
    }
}

#[test]
fn veno_paper_halves_after_a_timeout() {
    for (given, ssthresh) in [(&[][..], 32.0), (&[PAPER], 20.0), (&[NS2], 32.0)] {
        let mut m = measured(given, 40, 104);
        m.timeout(false);
        assert_eq!((m.cwnd(), m.ssthresh()), (1.0, ssthresh), "{given:?}");
    }
}

#[test]
fn veno_linux_without_sample_sees_a_full_window() {
    let mut m = measured(&[], 40, 104);
    m.sampling = false;
    m.ack(1448);
    assert_eq!(m.state("backlog"), 40.0);
    m.loss();
    assert_eq!(m.ssthresh(), 20.0);
}

#[test]
fn veno_linux_idleness_forgets_the_base() {
    for (given, after) in [(&[][..], 0.0), (&[PAPER], 0.1)] {
        let mut m = with_base("veno", given, 40);
        m.idle(Duration::from_secs(1));
        assert_eq!(m.state("base_rtt"), after, "{given:?}");
    }
}

#[test]
fn veno_is_reno_outside_open() {
    let mut m = measured(&[], 40, 110);
    m.path.phase = Phase::Disorder;
    let grown = m.rounds(10)[9] - 40.0;
    assert!(grown >= 9.0, "{grown}");
}

#[test]
fn veno_ns2_counts_acks() {
    let mut m = with_base("veno", &[NS2], 20);
    // 20 ACKs are counted, and the next one grows the window.
    for _ in 0..20 {
        m.ack(2 * 1448);
    }
    assert_eq!(m.cwnd(), 20.0);
    m.ack(2 * 1448);
    assert_eq!(m.cwnd(), 21.0);
}
