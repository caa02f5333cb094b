//! Reno as ns-2's own agents implement it (the reference's sections 1 and 4).

use crate::common::{Model, close, params};
use narrows_units::Duration;

const NS2: (&str, &str) = ("profile", "ns2");

/// A flow whose segments are so large that rounding to bytes is negligible.
fn exact(given: &[(&str, &str)]) -> Model {
    let row = narrows_cc::find("reno").unwrap();
    Model::of((row.build)(&params(row, &[&[NS2], given].concat())), 1_000_000, Duration::from_millis(100))
}

#[test]
fn reno_ns2_growth_in_real_numbers() {
    let from_16 = [16.9723, 17.8917, 18.8192, 19.7538, 20.6944, 21.6403];
    close(&exact(&[]).at(16, Some(2)).rounds(6), &from_16, 1e-5);
    let from_10 = [10.9586, 11.8393, 12.7375, 13.6496, 14.5732, 15.5061, 16.4469, 17.3941, 18.3469, 19.3044];
    close(&exact(&[]).at(10, Some(2)).rounds(10), &from_10, 1e-5);
    // Steps below a byte are kept; RFC 5681's are at least one byte.
    let mut m = Model::new("reno", &[NS2], 100).at(10_000, Some(2));
    close(&[m.round() - 10_000.0], &[1.0], 1e-3);
}

#[test]
fn reno_ns2_halves_cwnd_exactly() {
    for (cwnd, ssthresh, left) in [(20, 10.0, 10.0), (21, 10.0, 10.5), (3, 2.0, 1.5), (2, 2.0, 1.0), (1, 2.0, 1.0)] {
        let mut m = exact(&[]).at(cwnd, None);
        m.path.flightsize = m.path.smss;
        m.loss();
        assert_eq!((m.ssthresh(), m.cwnd()), (ssthresh, left), "from {cwnd}");
    }
    let mut m = exact(&[]).at(21, None);
    m.timeout(false);
    m.timeout(true);
    assert_eq!((m.ssthresh(), m.cwnd()), (10.0, 1.0));
}

#[test]
fn reno_ns2_counts_acks() {
    let mut avoiding = exact(&[]).at(100, Some(2));
    close(&[avoiding.round_of(2)], &[100.5], 1e-4);
    let mut slow = exact(&[]).at(10, None);
    assert_eq!(slow.round_of(2), 15.0);
}

#[test]
fn reno_ns2_slow_start_may_pass_the_threshold() {
    let mut m = exact(&[]).at(9, Some(10));
    m.win.cwnd += m.path.smss / 2;
    m.ack(1_000_000);
    assert_eq!(m.cwnd(), 10.5, "9.5 is below 10");
    assert!(!m.win.in_slow_start(&m.path));
}

#[test]
fn reno_ns2_limited_slow_start() {
    let mut m = exact(&[("max_ssthresh", "100")]).at(100, None);
    let got = m.rounds(3);
    // The first ACK is still a whole step, as the window is not yet above the limit.
    close(&got, &[150.0, 200.0, 250.0], 0.01);
}

#[test]
fn abe_reno_ns2() {
    let ecn = |given: &[(&str, &str)], ssthresh| {
        let mut m = exact(given).at(100, ssthresh);
        m.ecn();
        m.cwnd()
    };
    assert_eq!(ecn(&[], Some(50)), 50.0);
    assert_eq!(ecn(&[("abe", "true")], Some(50)), 80.0);
    assert_eq!(ecn(&[("abe", "true")], None), 50.0);
}
