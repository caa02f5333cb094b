//! Reno (RFC 5681; the reference's sections 1, 4, 11, 14 and 17).

use crate::common::{Model, close};
use narrows_cc::Congestion;
use narrows_units::{Bytes, Duration};

const PROFILES: [&str; 2] = ["rfc5681", "linux"];

#[test]
fn reno_integer_growth() {
    for profile in PROFILES {
        let mut m = Model::new("reno", &[("profile", profile)], 100).at(10, Some(100));
        assert_eq!(m.rounds(6), [20.0, 40.0, 80.0, 100.0, 101.0, 102.0], "{profile}");
        let mut m = Model::new("reno", &[("profile", profile)], 100).at(1, Some(16));
        assert_eq!(m.rounds(6), [2.0, 4.0, 8.0, 16.0, 17.0, 18.0], "{profile}");
    }
}

#[test]
fn reno_per_ack_growth() {
    // The vectors are in real numbers; with segments of a megabyte the rounding to bytes is negligible.
    let row = narrows_cc::find("reno").unwrap();
    let per_ack = crate::common::params(row, &[("increase", "per_ack")]);
    let model = || Model::of((row.build)(&per_ack), 1_000_000, Duration::from_millis(100));
    let from_16 = [16.9723, 17.8917, 18.8192, 19.7538, 20.6944, 21.6403];
    close(&model().at(16, Some(2)).rounds(6), &from_16, 1e-5);
    let from_10 = [10.9586, 11.8393, 12.7375, 13.6496, 14.5732, 15.5061, 16.4469, 17.3941, 18.3469, 19.3044];
    close(&model().at(10, Some(2)).rounds(10), &from_10, 1e-5);
}

#[test]
fn per_ack_growth_is_at_least_a_byte() {
    let mut m = Model::new("reno", &[("increase", "per_ack")], 100).at(10_000, Some(2));
    let before = m.win.cwnd;
    m.ack(1448);
    assert_eq!(m.win.cwnd, before + Bytes::new(1), "1448^2 / 14 480 000 is less than a byte");
}

#[test]
fn per_ack_growth_halves_with_delayed_acks_and_counting_does_not() {
    let mut per_ack = Model::new("reno", &[("increase", "per_ack")], 100).at(100, Some(2));
    assert!((per_ack.round_of(2) - 100.5).abs() < 0.02);
    let mut counting = Model::new("reno", &[], 100).at(100, Some(2));
    assert_eq!(counting.round_of(2), 101.0);
}

#[test]
fn reno_loss_halves_flightsize() {
    let mut m = Model::new("reno", &[], 100).at(20, None);
    m.path.flightsize = m.path.smss * 12;
    m.loss();
    assert_eq!((m.cwnd(), m.ssthresh()), (6.0, 6.0), "FlightSize, not cwnd (RFC 5681, section 3.1)");
}

#[test]
fn reno_linux_halves_cwnd() {
    for (cwnd, ssthresh) in [(20, 10.0), (21, 10.0), (3, 2.0), (2, 2.0)] {
        let mut m = Model::new("reno", &[("profile", "linux")], 100).at(cwnd, None);
        m.path.flightsize = m.path.smss;
        m.loss();
        assert_eq!((m.cwnd(), m.ssthresh()), (ssthresh, ssthresh), "from {cwnd}");
    }
    for (cwnd, ssthresh) in [(20, 10.0), (3, 2.0), (2, 2.0)] {
        let mut m = Model::new("reno", &[], 100).at(cwnd, None);
        m.loss();
        assert_eq!((m.cwnd(), m.ssthresh()), (ssthresh, ssthresh), "RFC 5681 with all in flight, from {cwnd}");
    }
}

#[test]
fn d5_timeout_restarts_from_one_segment() {
    for profile in PROFILES {
        let mut m = Model::new("reno", &[("profile", profile)], 100).at(32, None);
        m.timeout(false);
        assert_eq!((m.cwnd(), m.ssthresh()), (1.0, 16.0), "{profile}");
        assert_eq!(m.rounds(5), [2.0, 4.0, 8.0, 16.0, 17.0], "{profile}");
    }
}

#[test]
fn d5_repeated_timeout_keeps_ssthresh() {
    for profile in PROFILES {
        let mut m = Model::new("reno", &[("profile", profile)], 100).at(32, None);
        m.timeout(false);
        m.timeout(true);
        m.timeout(true);
        assert_eq!((m.cwnd(), m.ssthresh()), (1.0, 16.0), "{profile}");
    }
}

#[test]
fn d7_undo_restores_window_and_threshold() {
    for profile in PROFILES {
        let mut m = Model::new("reno", &[("profile", profile)], 100).at(20, None);
        m.loss();
        assert_eq!(m.cwnd(), 10.0);
        m.undo();
        assert_eq!((m.cwnd(), m.win.ssthresh), (20.0, None), "{profile}");
        m.timeout(false);
        assert_eq!((m.cwnd(), m.ssthresh()), (1.0, 10.0), "{profile}");
        m.undo();
        assert_eq!((m.cwnd(), m.win.ssthresh), (20.0, None), "{profile}");
    }
}

#[test]
fn d4_loss_forgets_the_counter() {
    let mut m = Model::new("reno", &[], 100).at(20, Some(2));
    m.ack(19 * 1448);
    assert_eq!(m.state("bytes_acked"), 19.0 * 1448.0);
    m.loss();
    assert_eq!(m.state("bytes_acked"), 0.0);
}

#[test]
fn abe_reno() {
    let ecn = |given: &[(&str, &str)], ssthresh| {
        let mut m = Model::new("reno", given, 100).at(100, ssthresh);
        m.ecn();
        m.cwnd()
    };
    assert_eq!(ecn(&[], Some(50)), 50.0, "off: as a loss");
    assert_eq!(ecn(&[("abe", "true")], Some(50)), 80.0, "RFC 8511 in congestion avoidance");
    assert_eq!(ecn(&[("abe", "true")], None), 50.0, "in slow start as a loss");
    assert_eq!(ecn(&[("abe", "true"), ("beta_ecn", "0.7")], Some(50)), 70.0, "ns-3's factor");
    assert_eq!(ecn(&[("profile", "linux")], Some(50)), 50.0);
    let mut m = Model::new("reno", &[("abe", "true")], 100).at(100, Some(50));
    m.event(Congestion::Loss { lost: Bytes::new(1448) });
    assert_eq!(m.cwnd(), 50.0, "a loss is not softened");
}

#[test]
fn duplicate_acks_do_not_grow_the_window() {
    for profile in PROFILES {
        let mut m = Model::new("reno", &[("profile", profile)], 100).at(10, None);
        let sacked = narrows_cc::Ack { delivered: m.path.smss, ..Default::default() };
        m.cc.on_ack(&sacked, &m.path, &mut m.win);
        assert_eq!(m.cwnd(), 10.0, "{profile}");
    }
}
