//! CUBIC (RFC 9438 and Linux 6.1; the reference's sections 14 and 27).

use crate::common::{Model, close};
use narrows_units::{Bytes, Duration, Instant};

const STANDARD: (&str, &str) = ("slow_start", "standard");
const LINUX: (&str, &str) = ("profile", "linux");

/// A flow in congestion avoidance that has just lost at `cwnd` segments.
fn lost_at(given: &[(&str, &str)], cwnd: u64, rtt_ms: u64) -> Model {
    let mut m = Model::new("cubic", given, rtt_ms).at(cwnd, None);
    // The connection has seen round-trip times before it loses.
    m.path.cwnd_limited = false;
    m.ack(m.path.smss.as_u64());
    m.path.cwnd_limited = true;
    m.loss();
    m
}

/// The window after each of these numbers of rounds.
fn after(m: &mut Model, rounds: &[usize]) -> Vec<f64> {
    let mut done = 0;
    rounds
        .iter()
        .map(|&n| {
            let window = m.rounds(n - done).last().copied().unwrap_or_else(|| m.cwnd());
            done = n;
            window
        })
        .collect()
}

#[test]
fn cubic_k() {
    for (w_max, k) in [(10, 1.957), (100, 4.217), (1000, 9.086)] {
        let mut m = lost_at(&[STANDARD], w_max, 100);
        m.ack(1448);
        close(&[m.state("k")], &[k], 1e-3);
    }
}

#[test]
fn cubic_function() {
    // W_cubic at 1, 2 and 5 s. With friendliness off and many ACKs per round the window follows the curve one RTT
    // ahead, so with an RTT of 1 ms it is the curve.
    for (w_max, want) in [(100, [86.68, 95.64, 100.19]), (1000, [788.6, 857.7, 972.7])] {
        let mut m = lost_at(&[STANDARD, ("tcp_friendliness", "false")], w_max, 1);
        close(&after(&mut m, &[1000, 2000, 5000]), &want, 2e-3);
    }
}

#[test]
fn cubic_rfc_loss_at_100() {
    let mut m = lost_at(&[STANDARD], 100, 100);
    assert_eq!((m.cwnd(), m.ssthresh()), (70.0, 70.0));
    let got = after(&mut m, &[5, 10, 20, 30, 40, 50, 60, 70, 80, 100]);
    close(&got, &[79.4, 86.6, 95.6, 99.3, 100.0, 100.2, 102.8, 112.7, 122.6, 177.4], 5e-3);
}

#[test]
fn cubic_rfc_friendly_region() {
    let mut m = lost_at(&[STANDARD], 100, 10);
    close(&after(&mut m, &[10, 20, 40, 57, 80, 100]), &[75.3, 80.5, 91.0, 99.9, 122.6, 142.4], 5e-3);
}

#[test]
fn cubic_alpha_switch_off_stays_at_the_slope_of_reno_with_beta() {
    let mut on = lost_at(&[STANDARD], 100, 10);
    let mut off = lost_at(&[STANDARD, ("alpha_switch", "false")], 100, 10);
    let (on, off) = (after(&mut on, &[60, 80]), after(&mut off, &[60, 80]));
    close(&[on[1] - on[0], off[1] - off[0]], &[20.0, 20.0 * 9.0 / 17.0], 0.03);
}

#[test]
fn cubic_rfc_loss_at_1000() {
    let mut m = lost_at(&[STANDARD], 1000, 100);
    let got = after(&mut m, &[10, 20, 40, 60, 80, 100, 120, 130]);
    close(&got, &[788.4, 857.6, 947.3, 988.2, 999.5, 1000.3, 1009.9, 1024.0], 1e-3);
}

#[test]
fn cubic_linux_loss_at_100() {
    let mut m = lost_at(&[LINUX], 100, 100);
    assert_eq!(m.cwnd(), 70.0);
    let got = after(&mut m, &[10, 20, 30, 50, 60, 70, 80, 100]);
    assert_eq!(m.state("k") * 1024.0, 4316.0);
    assert_eq!(got, [87.0, 97.0, 100.0, 100.0, 102.0, 109.0, 122.0, 177.0]);
}

#[test]
fn cubic_linux_loss_at_1000() {
    let mut m = lost_at(&[LINUX], 1000, 100);
    assert_eq!(m.cwnd(), 700.0);
    let got = after(&mut m, &[10, 20, 40, 60, 80, 100, 120, 130]);
    close(&[m.state("k") * 1024.0], &[9294.0], 2e-3);
    for (got, want) in got.iter().zip([789.0, 858.0, 947.0, 989.0, 1000.0, 1000.0, 1010.0, 1024.0]) {
        assert!((got - want).abs() <= 2.0, "{got} for {want}");
    }
}

#[test]
fn cubic_linux_friendly_region() {
    let mut m = lost_at(&[LINUX], 100, 10);
    let got = after(&mut m, &[10, 20, 30, 40, 57, 80, 100, 200]);
    assert_eq!(got, [74.0, 78.0, 84.0, 90.0, 98.0, 111.0, 121.0, 175.0]);
}

#[test]
fn cubic_ssthresh() {
    for given in [STANDARD, LINUX] {
        for (cwnd, ssthresh) in [(100, 70.0), (10, 7.0), (2, 2.0)] {
            let m = lost_at(&[given], cwnd, 100);
            assert_eq!((m.cwnd(), m.ssthresh()), (ssthresh, ssthresh), "{given:?} from {cwnd}");
        }
    }
}

#[test]
fn cubic_rfc_reduces_flightsize_and_linux_cwnd() {
    for (given, want) in [(STANDARD, 35.0), (LINUX, 70.0)] {
        let mut m = Model::new("cubic", &[given], 100).at(100, Some(50));
        m.path.flightsize = m.path.smss * 50;
        m.loss();
        assert_eq!(m.cwnd(), want, "{given:?}");
    }
}

/// A flow that lost at 100 segments and then at 80.
fn lost_at_100_and_80(given: &[(&str, &str)]) -> Model {
    let mut m = lost_at(given, 100, 100).at(80, Some(70));
    m.loss();
    m
}

#[test]
fn cubic_fast_convergence() {
    let m = lost_at_100_and_80(&[STANDARD]);
    close(&[m.state("w_max") / 1448.0, m.ssthresh()], &[68.0, 56.0], 1e-9);
    let m = lost_at_100_and_80(&[STANDARD, ("fast_convergence", "false")]);
    close(&[m.state("w_max") / 1448.0], &[80.0], 1e-9);
}

#[test]
fn cubic_linux_fast_convergence() {
    let m = lost_at_100_and_80(&[LINUX]);
    assert_eq!((m.state("last_max"), m.ssthresh()), (68.0, 56.0));
    assert_eq!(lost_at_100_and_80(&[LINUX, ("fast_convergence", "false")]).state("last_max"), 80.0);
}

#[test]
fn cubic_timeout() {
    let mut m = lost_at(&[STANDARD], 200, 100).at(100, Some(70));
    let w_max = m.state("w_max");
    m.timeout(false);
    assert_eq!((m.cwnd(), m.ssthresh()), (1.0, 70.0), "ssthresh by beta");
    assert_eq!(m.state("w_max"), w_max, "kept until the next stage begins");
    let before = m.state("epoch");
    m.rounds(7);
    assert_eq!((before, m.state("k")), (0.0, 0.0));
    // The stage began in the seventh round at the threshold, with K = 0 and W_max there.
    close(&[m.state("w_max") / 1448.0], &[70.0], 1e-9);
    assert!(m.cwnd() > 70.0 && m.cwnd() < 71.0);
}

#[test]
fn cubic_stage_without_loss_starts_at_the_window() {
    let mut m = Model::new("cubic", &[STANDARD], 100).at(50, Some(50));
    m.round();
    close(&[m.state("w_max") / 1448.0, m.state("cwnd_prior") / 1448.0], &[50.0, 50.0], 1e-9);
    assert_eq!(m.state("k"), 0.0);
}

#[test]
fn cubic_linux_timeout_forgets_everything() {
    let mut m = lost_at(&[LINUX], 100, 100);
    m.round();
    let ssthresh = (m.cwnd() as u64 * 717 / 1024) as f64;
    m.timeout(false);
    for name in ["last_max", "origin", "k", "tcp_cwnd"] {
        assert_eq!(m.state(name), 0.0, "{name}");
    }
    m.timeout(true);
    assert_eq!(m.ssthresh(), ssthresh, "reduced once");
}

#[test]
fn cubic_app_limited_time_is_excluded() {
    let rounds = |pause: Option<u64>| {
        let mut m = lost_at(&[STANDARD], 100, 100);
        m.rounds(10);
        if let Some(n) = pause {
            m.path.cwnd_limited = false;
            for _ in 0..n {
                m.round();
            }
            m.path.cwnd_limited = true;
        }
        m.rounds(10)
    };
    close(&rounds(Some(600)), &rounds(None), 1e-3);
}

#[test]
fn cubic_idle_time_is_excluded() {
    let ten_days = Duration::from_secs(864_000);
    for given in [STANDARD, LINUX] {
        let rounds = |idle: Duration| {
            let mut m = lost_at(&[given], 100, 100);
            m.rounds(10);
            m.idle(idle);
            m.rounds(10)
        };
        close(&rounds(ten_days), &rounds(Duration::from_millis(1)), 0.02);
    }
}

#[test]
fn cubic_linux_idle_shifts_the_epoch() {
    let mut m = lost_at(&[LINUX], 1000, 100);
    let steady = after(&mut m, &[40])[0];
    m.idle(Duration::from_secs(60));
    let next = m.round();
    assert!(next - steady < 5.0, "{steady} to {next}: the curve went on where it stood");
}

#[test]
fn cubic_grows_by_half_a_round_at_most_after_years() {
    // Time that was neither idle nor application-limited, as after a jump of the clock: the cap of 1.5 holds.
    for given in [STANDARD, LINUX] {
        let mut m = lost_at(&[given], 100, 100);
        m.rounds(3);
        m.path.now += Duration::from_secs(400 * 365 * 86_400);
        let before = m.cwnd();
        let next = m.round();
        assert!(next > before && next <= 1.5 * before + 1.0, "{given:?}: {before} to {next}");
        m.path.now = Instant::NEVER;
        m.ack(1448);
        assert!(m.cwnd() <= 1.5 * next + 1.0, "{given:?}");
    }
}

#[test]
fn cubic_undo_restores_the_epoch() {
    let names = ["w_max", "w_est", "cwnd_prior", "k", "epoch"];
    for timeout in [false, true] {
        let mut m = lost_at(&[STANDARD], 100, 100);
        m.rounds(20);
        let before: Vec<f64> = names.iter().map(|n| m.state(n)).collect();
        if timeout {
            m.timeout(false)
        } else {
            m.loss()
        };
        m.rounds(1);
        m.undo();
        let now: Vec<f64> = names.iter().map(|n| m.state(n)).collect();
        assert_eq!(now, before);
        assert_eq!(m.win, m.before());
        // Undone once; a second verdict about the same event changes nothing.
        m.rounds(1);
        let state = m.state("w_est");
        m.undo();
        assert_eq!(m.state("w_est"), state);
    }
}

#[test]
fn cubic_follows_the_curve_with_delayed_acks() {
    let mut single = lost_at(&[STANDARD], 1000, 100);
    let mut delayed = lost_at(&[STANDARD], 1000, 100);
    for _ in 0..60 {
        single.round();
        delayed.round_of(2);
    }
    close(&[delayed.cwnd()], &[single.cwnd()], 2e-3);
}

#[test]
fn cubic_does_not_leap_back_after_a_foreign_cut() {
    // A scheme reduces the window without informing the algorithm: growth stays within 1.5 times per round.
    for given in [STANDARD, LINUX] {
        // At 10 ms and 100 segments the estimate of Reno is far above the reduced window.
        let mut m = lost_at(&[given], 100, 10);
        m.rounds(50);
        m = m.at(20, Some(10));
        let next = m.round();
        assert!(next <= 31.0, "{given:?}: 20 to {next}");
    }
}

#[test]
fn cubic_grows_on_from_a_window_that_a_scheme_set() {
    for given in [STANDARD, LINUX] {
        let mut m = lost_at(&[given], 100, 10);
        m.rounds(50);
        m = m.at(20, Some(10));
        m.cc.on_window_set(&m.path, &m.win);
        let windows = m.rounds(10);
        assert!(windows[0] <= 21.5 && windows[9] < 32.0, "{given:?}: {windows:?}");
    }
}

#[test]
fn abe_cubic() {
    let ecn = |given: &[(&str, &str)], ssthresh| {
        let mut m = Model::new("cubic", given, 100).at(100, ssthresh);
        m.ecn();
        m.cwnd()
    };
    assert_eq!(ecn(&[], Some(50)), 70.0, "off: as a loss");
    assert_eq!(ecn(&[("abe", "true")], Some(50)), 85.0, "RFC 8511");
    assert_eq!(ecn(&[("abe", "true")], None), 70.0, "in slow start as a loss");
    assert_eq!(ecn(&[LINUX], Some(50)), 70.0);
}

#[test]
fn ecn_echo_at_one_segment_leaves_one() {
    let mut m = Model::new("cubic", &[STANDARD], 100).at(1, Some(2));
    m.ecn();
    assert_eq!((m.win.cwnd, m.win.ssthresh), (Bytes::new(1448), Some(Bytes::new(2 * 1448))));
}

#[test]
fn cubic_repeated_timeout_ends_the_stage() {
    let mut m = Model::new("cubic", &[STANDARD], 100).at(4, Some(2));
    m.timeout(false);
    m.rounds(4);
    assert!(m.state("epoch") > 0.0);
    m.timeout(true);
    assert_eq!(m.state("epoch"), 0.0);
}

#[test]
fn cubic_linux_takes_no_delay_sample_in_the_first_second_of_an_epoch() {
    let mut m = lost_at(&[LINUX], 100, 100);
    m.round();
    m.rtt = Duration::from_millis(80);
    m.rounds(10);
    assert_eq!(m.state("delay_min"), 0.1);
    m.rounds(5);
    assert_eq!(m.state("delay_min"), 0.08);
}

#[test]
fn cubic_linux_loss_forgets_the_counter() {
    let mut m = lost_at(&[LINUX], 1000, 100);
    m.ack(1448);
    assert_eq!(m.state("snd_cwnd_cnt"), 1448.0);
    m.loss();
    assert_eq!(m.state("snd_cwnd_cnt"), 0.0);
}
