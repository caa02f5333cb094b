//! Westwood and Westwood+ (Casetti et al. 2001, Mascolo et al. 2004, Linux 6.1; the reference's section 21).

use crate::common::{Model, close};
use narrows_cc::algorithms::westwood::estimate::{AckedCount, Estimate, Filter, LinuxFilter, Plus, Tustin};
use narrows_cc::{Ack, Congestion};
use narrows_units::{Bytes, Duration};

#[test]
fn westwood_linux_filter() {
    let mut filter = LinuxFilter::default();
    let seen = [1000, 2000, 2000, 2000, 2000].map(|sample| {
        filter.step(sample);
        (filter.ns, filter.est)
    });
    assert_eq!(seen, [(1000, 1000), (1125, 1015), (1234, 1042), (1329, 1077), (1412, 1118)]);
    for _ in 4..20 {
        filter.step(2000);
    }
    assert_eq!((filter.ns, filter.est), (1928, 1753), "after 20 samples of 2000");
}

#[test]
fn westwood_bandwidth_times_rtt() {
    let estimate = Estimate::new(Filter::Linux(LinuxFilter { ns: 1000, est: 1000 }));
    assert_eq!(estimate.pipe(Duration::from_millis(100)).as_u64() / 1448, 69);
    assert_eq!(estimate.bytes_per_second(), 1e6);
}

#[test]
fn westwood_plus_filter() {
    let mut filter = Plus::default();
    let seen = [(); 5].map(|()| {
        filter.step(1.0);
        filter.b
    });
    close(&seen, &[0.05, 0.145, 0.2305, 0.30745, 0.376705], 1e-9);
}

#[test]
fn westwood_tustin_filter() {
    let mut filter = Tustin::default();
    let seen = [(); 5].map(|()| {
        filter.step(1.0, 0.1);
        filter.b
    });
    close(&seen, &[0.09091, 0.2562, 0.39144, 0.50208, 0.59261], 1e-4);
}

#[test]
fn westwood_idle_time_fades_the_tustin_filter() {
    let mut filter = Tustin::default();
    filter.step(1.0, 1e9);
    filter.step_after_silence(0.0, 0.75);
    // (3 B + b + b_before) / 5 for each quarter of a second.
    close(&[filter.b], &[0.8 * 0.6 * 0.6], 1e-6);
    filter.step_after_silence(0.0, 864_000.0);
    assert!(filter.b >= 0.0 && filter.b < 1e-20, "{filter:?} after ten days");
}

#[test]
fn westwood_linux_sets_the_window_at_the_end_of_recovery() {
    let mut m = Model::new("westwood", &[], 100).at(100, Some(2));
    m.rounds(60);
    // Half of the window at the loss, then what 1448 bytes per ms carry, less the rounding of the integers.
    let before = m.cwnd();
    m.cc.on_congestion(&Congestion::Loss { lost: m.path.smss }, &m.path, &mut m.win);
    assert_eq!(m.cwnd(), (before / 2.0).floor(), "during recovery");
    m.cc.on_recovered(&m.path, &mut m.win);
    let pipe = (m.state("bw_est") * 0.1 / 1448.0).floor();
    assert_eq!((m.cwnd(), m.ssthresh()), (pipe, pipe));
    assert!(pipe > 0.85 * before && pipe < before, "{pipe} of {before}");
    // The end of a further phase, such as the one after a timeout, sets nothing.
    m.win.cwnd = m.path.smss * 7;
    m.cc.on_recovered(&m.path, &mut m.win);
    assert_eq!(m.cwnd(), 7.0);
    m.timeout(false);
    m.cc.on_recovered(&m.path, &mut m.win);
    assert_eq!(m.cwnd(), 1.0);
}

#[test]
fn westwood_timeout_sets_ssthresh() {
    for profile in ["linux", "plus", "paper"] {
        let mut m = Model::new("westwood", &[("profile", profile)], 100).at(100, Some(2));
        m.rounds(60);
        let pipe = m.state("bw_est") * m.state("rtt_min") / 1448.0;
        m.timeout(false);
        assert_eq!(m.cwnd(), 1.0);
        assert!((m.ssthresh() - pipe).abs() <= 1.0 && pipe > 100.0, "{profile}: {} and {pipe}", m.ssthresh());
    }
    let mut fresh = Model::new("westwood", &[], 100);
    fresh.timeout(false);
    assert_eq!(fresh.ssthresh(), 2.0, "nothing measured yet");
}

#[test]
fn westwood_timeout_restarts_rtt_min() {
    for (profile, rtt_min) in [("linux", 0.2), ("plus", 0.1), ("paper", 0.1)] {
        let mut m = Model::new("westwood", &[("profile", profile)], 100).at(10, Some(2));
        m.rounds(3);
        m.rtt = Duration::from_millis(200);
        m.rounds(3);
        assert_eq!(m.state("rtt_min"), 0.1, "{profile}");
        m.timeout(false);
        m.rounds(2);
        assert_eq!(m.state("rtt_min"), rtt_min, "{profile}");
    }
}

#[test]
fn westwood_duplicate_acks_count_once() {
    let smss = Bytes::new(1448);
    let mut count = AckedCount::default();
    assert_eq!(count.count(smss, smss), smss);
    for _ in 0..3 {
        assert_eq!(count.count(Bytes::ZERO, smss), smss, "a duplicate is one segment");
    }
    assert_eq!(count.accounted(), smss * 3);
    assert_eq!(count.count(smss * 4, smss), smss, "three of the four are counted already");
    assert_eq!(count.accounted(), Bytes::ZERO);
    for _ in 0..5 {
        count.count(Bytes::ZERO, smss);
    }
    assert_eq!(count.count(smss * 2, smss), smss, "a partial ACK");
    assert_eq!(count.accounted(), smss * 3);
    assert_eq!(count.count(smss * 2, smss), smss);
    assert_eq!(AckedCount::default().count(smss * 2, smss), smss * 2, "a delayed ACK counts whole");
}

#[test]
fn westwood_window_is_at_least_50_ms() {
    // 10 segments per 10 ms are 1448 bytes/ms, whatever the round-trip time; a sample takes more than 50 ms.
    let mut m = Model::new("westwood", &[], 10).at(10, Some(2));
    m.path.cwnd_limited = false;
    m.rounds(5);
    assert_eq!(m.state("bw_est"), 0.0, "in 50 ms no sample");
    m.rounds(1);
    close(&[m.state("bw_est")], &[1_448_000.0], 0.05);
}

#[test]
fn westwood_originals_reduce_at_once_and_never_raise() {
    for profile in ["plus", "paper"] {
        let mut m = Model::new("westwood", &[("profile", profile)], 100).at(100, Some(2));
        m.path.cwnd_limited = false;
        m.rounds(100);
        close(&[m.state("bw_est")], &[1_448_000.0], 0.02);
        m = m.at(300, Some(2));
        m.cc.on_congestion(&Congestion::Loss { lost: m.path.smss }, &m.path, &mut m.win);
        close(&[m.cwnd(), m.ssthresh()], &[100.0; 2], 0.02);
        m = m.at(50, Some(2));
        m.loss();
        assert_eq!(m.cwnd(), 50.0, "{profile}: the bandwidth is no reason to grow");
        close(&[m.ssthresh()], &[100.0], 0.02);
    }
}

#[test]
fn westwood_growth_is_reno() {
    for profile in ["linux", "plus", "paper"] {
        let mut m = Model::new("westwood", &[("profile", profile)], 100).at(4, Some(16));
        assert_eq!(m.rounds(5), [8.0, 16.0, 17.0, 18.0, 19.0], "{profile}");
    }
}

#[test]
fn westwood_undo_stands() {
    let mut m = Model::new("westwood", &[], 100).at(100, Some(2));
    m.rounds(10);
    m.cc.on_congestion(&Congestion::Loss { lost: m.path.smss }, &m.path, &mut m.win);
    m.win.cwnd = m.path.smss * 110;
    m.cc.on_undo(&m.path, &mut m.win);
    m.cc.on_recovered(&m.path, &mut m.win);
    assert_eq!(m.cwnd(), 110.0);
    let duplicate = Ack { duplicate: true, ..Ack::default() };
    m.cc.observe(&duplicate, &m.path);
    assert_eq!(m.state("accounted"), 1448.0);
}

#[test]
fn westwood_linux_takes_the_round_trip_time_of_the_ack_first() {
    // `pkts_acked`, then `in_ack_event`: the first ACK's own RTT bounds RTTmin, not the initial 20 s.
    for profile in ["linux", "plus", "paper"] {
        let mut m = Model::new("westwood", &[("profile", profile)], 100);
        m.ack(1448);
        assert_eq!(m.state("rtt_min"), 0.1, "{profile}");
    }
}

#[test]
fn westwood_keeps_at_least_half_if_asked() {
    let mut m = Model::new("westwood", &[("keeps_half", "true")], 100).at(100, Some(2));
    m.rounds(60);
    let (before, pipe) = (m.cwnd(), (m.state("bw_est") * 0.1 / 1448.0).floor());
    m.loss();
    m.cc.on_recovered(&m.path, &mut m.win);
    assert_eq!(
        (m.cwnd(), m.ssthresh()),
        (pipe, (before / 2.0).floor()),
        "the estimate at the loss; ssthresh stays half"
    );
    let mut fresh = Model::new("westwood", &[("keeps_half", "true")], 100).at(100, Some(2));
    fresh.loss();
    fresh.cc.on_recovered(&fresh.path, &mut fresh.win);
    assert_eq!((fresh.cwnd(), fresh.ssthresh()), (50.0, 50.0), "an estimate of next to nothing leaves half");
    fresh.timeout(false);
    assert_eq!((fresh.cwnd(), fresh.ssthresh()), (1.0, 25.0), "and so does a timeout");
}
