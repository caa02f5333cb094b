//! Hybla (Caini and Firrincieli 2004, Linux 6.1; the reference's section 24).

use crate::common::{Model, close};
use narrows_cc::Phase;
use narrows_units::Duration;

const PAPER: (&str, &str) = ("profile", "paper");

#[test]
fn hybla_rho() {
    for (rtt, rho, squared) in [(25, 1.0, 128.0), (50, 2.0, 512.0), (100, 4.0, 2048.0), (200, 8.0, 8192.0)] {
        let m = Model::new("hybla", &[], rtt);
        assert_eq!((m.state("rho"), m.state("rho2_7ls")), (rho, squared), "{rtt} ms");
        assert_eq!(Model::new("hybla", &[PAPER], rtt).state("rho"), rho);
    }
    assert_eq!(Model::new("hybla", &[], 10).state("rho"), 1.0, "never below one");
    assert_eq!(Model::new("hybla", &[("rtt0", "50")], 100).state("rho"), 2.0, "ns-3's RTT0");
}

#[test]
fn hybla_linux_slow_start() {
    assert_eq!(Model::new("hybla", &[], 50).rounds(4), [8.0, 32.0, 128.0, 512.0], "from rho = 2");
    let mut short = Model::new("hybla", &[], 25);
    assert_eq!(short.rounds(4), [2.0, 4.0, 8.0, 16.0], "rho = 1 doubles");
}

#[test]
fn hybla_linux_avoidance() {
    let mut m = Model::new("hybla", &[], 100).at(100, Some(2));
    assert_eq!(m.rounds(5), [114.0, 129.0, 143.0, 158.0, 173.0]);
}

#[test]
fn hybla_linux_avoidance_at_rho_1() {
    let mut m = Model::new("hybla", &[], 25).at(100, Some(2));
    assert_eq!(m.rounds(5), [100.0, 101.0, 102.0, 103.0, 103.0], "1/128 is coarse");
    // Above 128 segments the step rounds to zero, and one segment per cwnd ACKs is left.
    let mut large = Model::new("hybla", &[], 25).at(200, Some(2));
    assert_eq!(large.rounds(3), [201.0, 202.0, 203.0]);
}

#[test]
fn hybla_linux_starts_with_rho_segments() {
    for (rtt, cwnd) in [(10, 1.0), (25, 1.0), (50, 2.0), (110, 4.0), (500, 20.0)] {
        assert_eq!(Model::new("hybla", &[], rtt).cwnd(), cwnd, "{rtt} ms");
    }
}

#[test]
fn hybla_linux_fractions_of_rho() {
    // rho = 1.5: 2^rho = 2 * 181 / 128 = 2.83, and the step of an ACK is 2^rho - 1 segments.
    let row = narrows_cc::find("hybla").unwrap();
    let mut m = Model::of((row.build)(&narrows_cc::Params::default()), 1448, Duration::from_micros(37_500));
    assert_eq!((m.state("rho"), m.cwnd()), (1.5, 1.0));
    m = m.at(100, None);
    let before = m.cwnd();
    m.ack(1448);
    assert_eq!((m.cwnd() - before, m.state("snd_cwnd_cents")), (1.0, 2.0 * 181.0 - 256.0));
}

#[test]
fn hybla_linux_is_reno_outside_open() {
    let mut m = Model::new("hybla", &[], 200).at(10, Some(2));
    m.path.phase = Phase::Disorder;
    assert_eq!(m.rounds(3), [11.0, 12.0, 13.0]);
    let mut slow = Model::new("hybla", &[], 200).at(10, None);
    slow.path.phase = Phase::Loss;
    assert_eq!(slow.rounds(2), [20.0, 40.0]);
}

#[test]
fn hybla_loss_halves() {
    for given in [&[][..], &[PAPER]] {
        for (cwnd, left) in [(100, 50.0), (3, 2.0), (2, 2.0)] {
            let mut m = Model::new("hybla", given, 200).at(cwnd, None);
            m.loss();
            assert_eq!((m.cwnd(), m.ssthresh()), (left, left), "{given:?} from {cwnd}");
        }
    }
    let mut odd = Model::new("hybla", &[], 200).at(21, None);
    odd.loss();
    assert_eq!(odd.cwnd(), 10.0, "whole segments");
}

#[test]
fn hybla_rho_follows_the_smallest_srtt() {
    let mut m = Model::new("hybla", &[], 100).at(100, Some(2));
    m.rtt = Duration::from_millis(200);
    m.ack(1448);
    assert_eq!(m.state("rho"), 4.0, "a queue does not speed it up");
    m.rtt = Duration::from_millis(50);
    m.ack(1448);
    assert_eq!(m.state("rho"), 2.0);
}

#[test]
fn hybla_slow_start_stops_at_ssthresh() {
    for given in [&[][..], &[PAPER]] {
        let mut m = Model::new("hybla", given, 200).at(10, Some(30));
        m.ack(1448);
        assert_eq!(m.cwnd(), 30.0, "{given:?}: the step is 255 segments");
    }
    let mut bounded = Model::new("hybla", &[], 500).at(1000, None);
    bounded.ack(1448);
    assert_eq!(bounded.cwnd(), 65_535.0, "2^16 - 1 segments, and the clamp");
}

#[test]
fn hybla_paper_scales_the_start() {
    assert_eq!(Model::new("hybla", &[PAPER], 100).cwnd(), 40.0);
    assert_eq!(Model::new("hybla", &[PAPER], 10).cwnd(), 10.0);
}

#[test]
fn hybla_paper_growth() {
    // One ACK: 2^rho - 1 segments, or rho^2 / cwnd.
    let mut slow = Model::new("hybla", &[PAPER], 50).at(2, None);
    assert_eq!(slow.rounds(4), [8.0, 32.0, 128.0, 512.0]);
    let mut avoid = Model::new("hybla", &[PAPER], 100).at(100, Some(2));
    avoid.ack(1448);
    close(&[avoid.cwnd()], &[100.16], 1e-5);
}

#[test]
fn hybla_paper_grows_alike_in_time() {
    // In 4 s, windows in proportion to the round-trip time: the same segments per second.
    let rate = |rtt: u64| {
        let mut m = Model::new("hybla", &[PAPER], rtt).at(4 * rtt, Some(2));
        let start = m.cwnd();
        let end = m.rounds(usize::try_from(4000 / rtt).unwrap()).pop().unwrap();
        (end - start) / rtt as f64
    };
    close(&[rate(50), rate(100), rate(200)], &[rate(25); 3], 0.05);
}
