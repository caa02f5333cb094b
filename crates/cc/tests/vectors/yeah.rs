//! YeAH (the reference's section 30).

use crate::common::{Model, params};
use narrows_cc::find;
use narrows_units::Duration;

/// A flow in congestion avoidance that knows the path without a queue, 100 ms.
fn with_base(given: &[(&str, &str)], cwnd: u64) -> Model {
    let mut m = Model::new("yeah", given, 100).at(cwnd, Some(2));
    m.rounds(2);
    m.at(cwnd, Some(2))
}

/// Runs whole rounds at `rtt_us` with `cwnd` segments until one of them has been evaluated.
fn decide(m: Model, cwnd: u64, rtt_us: u64) -> Model {
    let mut m = m.at(cwnd, Some(2));
    m.rtt = Duration::from_micros(rtt_us);
    // The first evaluation may still be of the round before.
    for _ in 0..2 {
        let judged = |m: &Model| (m.state("slow_rounds"), m.state("fast_count"));
        let before = judged(&m);
        while judged(&m) == before {
            m.win.cwnd = m.path.smss * cwnd;
            m.ack(1448);
        }
    }
    m
}

#[test]
fn yeah_queue_decides_the_mode() {
    for (cwnd, rtt, queue, slow, after) in
        [(500, 120, 83.0, true, 417.0), (500, 110, 45.0, false, 500.0), (200, 113, 23.0, true, 200.0)]
    {
        let m = decide(with_base(&[], cwnd), cwnd, rtt * 1000);
        assert_eq!(m.state("queue"), queue, "{cwnd} at {rtt} ms");
        assert_eq!(m.state("slow_rounds") > 0.0, slow, "{cwnd} at {rtt} ms");
        // The ACK itself may have added a segment.
        assert!((after..=after + 1.0).contains(&m.cwnd()), "{cwnd} at {rtt} ms: {}", m.cwnd());
    }
}

#[test]
fn yeah_reduction_on_loss() {
    for (rtt_us, queue, after) in [(108_200, 30.0, 350.0), (133_500, 100.0, 300.0)] {
        let mut m = decide(with_base(&[], 400), 400, rtt_us);
        assert_eq!(m.state("queue"), queue);
        m = m.at(400, Some(2));
        m.loss();
        assert_eq!((m.cwnd(), m.ssthresh()), (after, after));
    }
}

#[test]
fn yeah_competes_with_reno_after_rho_rounds() {
    for (rounds, after) in [(10, 350.0), (20, 200.0)] {
        let mut m = with_base(&[], 400);
        m.rtt = Duration::from_millis(113);
        for _ in 0..rounds {
            m = m.at(400, Some(2));
            m.round();
        }
        assert!((m.state("slow_rounds") - rounds as f64).abs() <= 1.0, "{}", m.state("slow_rounds"));
        m = m.at(400, Some(2));
        m.loss();
        assert_eq!(m.cwnd(), after, "after {rounds} slow rounds, Q {}", m.state("queue"));
    }
}

/// The reference's compiled kernel file through a bottleneck of 300 segments and 100 ms.
#[test]
fn yeah_linux_from_300() {
    let row = find("yeah").unwrap();
    let cc = (row.build)(&params(row, &[]));
    let mut m = Model::with_window(cc, 1448, Duration::from_millis(100), 300).through(300);
    m.sends_before_ack = true;
    m.win.ssthresh = Some(m.path.smss * 10);
    let got = m.rounds(80);
    assert_eq!(got[..2], [303.0, 306.0]);
    let turn = got.iter().position(|&w| w == 341.0).unwrap();
    assert_eq!(got[turn - 1], 338.0, "{got:?}");
    let cut = got.iter().position(|&w| w == 302.0).unwrap();
    assert_eq!(got[cut - 1], 382.0, "{got:?}");
    let slow: Vec<f64> = (341..=382).map(f64::from).collect();
    assert_eq!(got[turn..cut], slow, "one segment per round");
    assert!(got[cut + 1] > 302.0, "and the cycle begins again");
}

#[test]
fn yeah_zeta_fast_rounds_forget_reno() {
    let mut m = decide(with_base(&[("zeta", "10")], 200), 200, 113_000);
    assert!(m.state("reno_count") >= 100.0);
    m.rtt = Duration::from_millis(100);
    m.rounds(3);
    assert!(m.state("reno_count") >= 100.0, "{}", m.state("fast_count"));
    m.rounds(12);
    assert_eq!(m.state("reno_count"), 2.0);
}

#[test]
fn yeah_window_stays_above_the_estimate_of_reno() {
    let mut m = decide(with_base(&[], 200), 200, 113_000);
    let reno = m.state("reno_count");
    assert!(reno >= 100.0);
    // A queue of 80 segments and more at a window of 110 would leave less than the estimate.
    m = decide(m, 110, 500_000);
    assert!(m.cwnd() >= reno, "{} of {reno}", m.cwnd());
}

#[test]
fn yeah_loss_takes_a_segment_at_least() {
    let mut m = with_base(&[], 6);
    m.loss();
    assert_eq!(m.cwnd(), 5.0);
}

#[test]
fn yeah_idleness_forgets_the_base() {
    let mut m = with_base(&[], 20);
    assert!(m.state("base_rtt") > 0.0);
    m.idle(Duration::from_secs(1));
    assert_eq!(m.state("base_rtt"), 0.0);
}
