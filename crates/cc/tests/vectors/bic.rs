//! BIC (Linux 6.1 and ns-2's module; the reference's section 26).

use crate::common::Model;

/// A flow in congestion avoidance that has just lost at `cwnd` segments.
fn lost_at(profile: &str, cwnd: u64) -> Model {
    let mut m = Model::new("bic", &[("profile", profile)], 100).at(cwnd, None);
    m.loss();
    m
}

/// The windows after these numbers of rounds.
fn after(m: &mut Model, rounds: &[usize]) -> Vec<f64> {
    let windows = m.rounds(*rounds.last().unwrap());
    rounds.iter().map(|n| windows[n - 1]).collect()
}

#[test]
fn bic_linux_loss_at_100() {
    let mut m = lost_at("linux", 100);
    assert_eq!((m.cwnd(), m.ssthresh()), (79.0, 79.0));
    let got = after(&mut m, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30, 40, 50, 60]);
    let first = [86.0, 91.0, 93.0, 93.0, 94.0, 94.0, 94.0, 95.0, 95.0, 95.0];
    assert_eq!(got, [&first[..], &[99.0, 103.0, 316.0, 631.0, 945.0]].concat());
}

#[test]
fn bic_linux_loss_at_1000() {
    let mut m = lost_at("linux", 1000);
    assert_eq!(m.cwnd(), 799.0);
    let got = after(&mut m, &[1, 2, 5, 10, 15, 20, 30, 40, 50]);
    assert_eq!(got, [830.0, 861.0, 952.0, 993.0, 995.0, 997.0, 1001.0, 1017.0, 1310.0]);
}

#[test]
fn bic_nominal_loss_at_100() {
    let mut m = lost_at("nominal", 100);
    assert_eq!(m.cwnd(), 79.0);
    let got = after(&mut m, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30, 40, 50, 60]);
    let first = [83.0, 86.0, 89.0, 91.0, 93.0, 93.0, 93.0, 93.0, 93.0, 94.0];
    assert_eq!(got, [&first[..], &[96.0, 98.0, 100.0, 102.0, 104.0]].concat());
}

#[test]
fn bic_nominal_loss_at_1000() {
    let mut m = lost_at("nominal", 1000);
    assert_eq!(m.cwnd(), 799.0);
    let got = after(&mut m, &[1, 2, 5, 10, 15, 20, 30, 40, 50]);
    assert_eq!(got, [815.0, 831.0, 879.0, 954.0, 986.0, 993.0, 995.0, 997.0, 999.0]);
}

#[test]
fn bic_linux_is_about_twice_the_nominal_rule() {
    // The first round after a loss at 1000 takes the largest step in both.
    let steps = ["linux", "nominal"].map(|profile| {
        let mut m = lost_at(profile, 1000);
        m.round() - 799.0
    });
    assert_eq!(steps, [31.0, 16.0]);
}

#[test]
fn bic_ssthresh() {
    for profile in ["linux", "nominal", "ns2"] {
        for (cwnd, ssthresh) in [(1000, 799.0), (100, 79.0), (15, 11.0), (14, 7.0), (3, 2.0), (2, 2.0)] {
            let m = lost_at(profile, cwnd);
            assert_eq!((m.cwnd(), m.ssthresh()), (ssthresh, ssthresh), "{profile} from {cwnd}");
        }
    }
}

#[test]
fn bic_fast_convergence() {
    let lost_twice = |given: &[(&str, &str)]| {
        let mut m = Model::new("bic", given, 100).at(100, None);
        m.loss();
        m = m.at(80, Some(79));
        m.loss();
        m.state("last_max")
    };
    assert_eq!(lost_twice(&[]), 71.0, "80 * 1843 / 2048");
    assert_eq!(lost_twice(&[("fast_convergence", "false")]), 80.0);
}

#[test]
fn bic_low_window_is_reno() {
    let mut m = Model::new("bic", &[], 100).at(14, Some(14));
    m.loss();
    assert_eq!(m.cwnd(), 7.0);
    assert_eq!(m.rounds(8), [8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0]);
    let mut high = Model::new("bic", &[("low_window", "0")], 100).at(14, Some(14));
    high.loss();
    assert_eq!(high.cwnd(), 11.0, "beta applies at once");
}

#[test]
fn bic_timeout_forgets() {
    for profile in ["linux", "nominal", "ns2"] {
        let mut m = lost_at(profile, 100);
        m.rounds(3);
        let cwnd = m.cwnd() as u64;
        m.timeout(false);
        assert_eq!((m.cwnd(), m.ssthresh()), (1.0, (cwnd * 819 / 1024) as f64), "{profile}");
        assert_eq!((m.state("last_max"), m.state("delayed_ack"), m.state("cnt")), (0.0, 32.0, 0.0), "{profile}");
    }
}

#[test]
fn bic_filter_never_leaves_31_with_one_segment_per_ack() {
    let mut m = lost_at("linux", 100);
    assert_eq!(m.state("delayed_ack"), 32.0);
    m.rounds(50);
    assert_eq!(m.state("delayed_ack"), 31.0, "31 >> 4 is 1, so 1 is added and 1 taken");
    m.ack(2 * 1448);
    m.ack(2 * 1448);
    assert_eq!(m.state("delayed_ack"), 32.0, "two segments per ACK");
}

#[test]
fn bic_filter_looks_in_open_only() {
    let mut m = Model::new("bic", &[], 100).at(100, None);
    m.path.phase = narrows_cc::Phase::Disorder;
    m.rounds(1);
    assert_eq!(m.state("delayed_ack"), 32.0);
}

#[test]
fn bic_linux_takes_a_duplicate_in_open_for_no_segment() {
    // `pkts_acked` is called for a duplicate too, with no packet; the module of 2006 handles only ACKs of data.
    for (profile, sixteenths) in [("linux", 30.0), ("nominal", 30.0), ("ns2", 32.0)] {
        let mut m = lost_at(profile, 100);
        m.cc.observe(&narrows_cc::Ack { duplicate: true, ..Default::default() }, &m.path);
        assert_eq!(m.state("delayed_ack"), sixteenths, "{profile}");
    }
}

#[test]
fn bic_before_the_first_loss_grows_by_five_percent() {
    let mut nominal = Model::new("bic", &[("profile", "nominal")], 100).at(400, Some(400));
    assert_eq!(nominal.round(), 420.0, "cnt 400 / 16 = 25 is capped to 20");
    let mut linux = Model::new("bic", &[], 100).at(100, Some(100));
    assert_eq!(linux.round(), 132.0, "cnt 6 * 16 / 31 = 3 up to 128 segments, then 8 * 16 / 31 = 4");
}

#[test]
fn bic_ns2_counts_acks() {
    // Each step takes cnt + 1 ACKs, whatever they cover; the first ACK sets the filter to 31.
    let mut m = lost_at("ns2", 1000);
    let first = m.round();
    assert_eq!(m.state("delayed_ack"), 31.0);
    // cnt is 799 / 16 = 49, corrected 25: a step per 26 ACKs at first.
    assert_eq!(first, 799.0 + 30.0);
    let mut delayed = lost_at("ns2", 1000);
    let half = delayed.round_of(2) - 799.0;
    assert!((14.0..=16.0).contains(&half), "{half}: half as many ACKs");
    let mut slow = Model::new("bic", &[("profile", "ns2")], 100).at(10, None);
    assert_eq!(slow.round_of(2), 15.0, "slow start adds one per ACK");
}
