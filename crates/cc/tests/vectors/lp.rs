//! TCP-LP (the reference's section 20).

use crate::common::Model;
use narrows_cc::{Ack, Phase};
use narrows_units::Duration;

const PAPER: (&str, &str) = ("profile", "paper");
const LINUX: (&str, &str) = ("profile", "linux");

/// A flow in congestion avoidance whose clocks agree.
fn model(given: &[(&str, &str)], cwnd: u64) -> Model {
    let mut m = Model::new("lp", given, 100).at(cwnd, Some(2));
    m.clock_offset = Duration::ZERO;
    m
}

/// An ACK whose segment took `delay_us` to the receiver, and as long back.
fn delayed(m: &mut Model, delay_us: u64) {
    m.rtt = Duration::from_micros(2 * delay_us);
    m.ack(1448);
}

fn ms(m: &Model, state: &str) -> f64 {
    (m.state(state) * 1e6).round() / 1e3
}

/// A flow of the paper's profile with a range from 50 to 150 ms and a smoothed delay of 62.5 ms.
fn ranged(given: &[(&str, &str)]) -> Model {
    let mut m = model(given, 40);
    delayed(&mut m, 50_000);
    delayed(&mut m, 150_000);
    assert_eq!((ms(&m, "min_delay"), ms(&m, "max_delay")), (50.0, 150.0));
    assert_eq!(ms(&m, "smoothed_delay"), 62.5);
    m.at(40, Some(2))
}

#[test]
fn lp_threshold_halves_then_leaves_one() {
    let mut m = ranged(&[PAPER]);
    assert_eq!(ms(&m, "threshold"), 65.0);
    delayed(&mut m, 62_500);
    assert_eq!(m.cwnd(), 40.0, "62.5 ms are below the threshold");
    delayed(&mut m, 90_500);
    assert_eq!((ms(&m, "smoothed_delay"), m.cwnd()), (66.0, 20.0));
    delayed(&mut m, 66_000);
    assert_eq!(m.cwnd(), 20.0, "of the same round");
    m.path.now += Duration::from_millis(150);
    delayed(&mut m, 66_000);
    assert_eq!(m.cwnd(), 1.0);
    assert_eq!(m.ssthresh(), 2.0, "untouched");
}

#[test]
fn lp_delta_moves_the_threshold() {
    let m = ranged(&[PAPER, ("delta", "0.5")]);
    assert_eq!(ms(&m, "threshold"), 100.0);
}

#[test]
fn lp_is_frozen_for_three_rounds() {
    for (given, rounds) in [(vec![PAPER], 3), (vec![PAPER, ("inference", "5")], 5)] {
        let mut m = ranged(&given);
        delayed(&mut m, 90_500);
        assert_eq!(m.cwnd(), 20.0);
        // The queue has gone, so the others did not need the path.
        m.rtt = Duration::from_millis(100);
        for _ in 0..rounds {
            assert_eq!(m.round(), 20.0);
        }
        assert!(m.rounds(3)[2] >= 21.0);
    }
}

/// Two samples of 50 ms, of which the second makes the first range, and the window back at 40 segments.
fn linux() -> Model {
    let mut m = model(&[LINUX], 40);
    delayed(&mut m, 50_000);
    delayed(&mut m, 50_000);
    m.path.now += Duration::from_secs(1);
    m.at(40, Some(2))
}

#[test]
fn lp_linux_first_range_is_a_sign() {
    let mut m = model(&[LINUX], 40);
    delayed(&mut m, 50_000);
    assert_eq!(m.cwnd(), 40.0, "the first sample starts the estimate of the receiver's clock");
    delayed(&mut m, 50_000);
    assert_eq!(m.cwnd(), 20.0, "a range of one delay: its threshold is the delay");
    let mut paper = model(&[PAPER], 40);
    delayed(&mut paper, 50_000);
    delayed(&mut paper, 50_000);
    assert_eq!(paper.cwnd(), 40.0);
}

#[test]
fn lp_linux_makes_a_new_range_after_a_sign() {
    let mut m = linux();
    assert_eq!((ms(&m, "min_delay"), ms(&m, "max_delay"), ms(&m, "threshold")), (50.0, 100.0, 57.5));
    delayed(&mut m, 109_000);
    assert_eq!((ms(&m, "smoothed_delay"), m.cwnd()), (57.375, 40.0), "below");
    delayed(&mut m, 58_375);
    assert_eq!((ms(&m, "min_delay"), ms(&m, "max_delay")), (57.5, 115.0), "at the threshold");
    assert_eq!(m.cwnd(), 20.0);
    // Still rising within three round-trip times.
    delayed(&mut m, 200_000);
    assert_eq!(m.cwnd(), 1.0);
}

#[test]
fn lp_range_moves_one_record_late() {
    // No sign before all of the range, so that it stays.
    let mut m = model(&[LINUX, ("delta", "1")], 40);
    for (delay, max) in [(50, 0), (50, 100), (105, 100), (107, 105), (60, 105), (106, 106), (90, 106)] {
        delayed(&mut m, delay * 1000);
        assert_eq!(ms(&m, "max_delay"), max as f64, "after {delay} ms");
    }
    let mut paper = model(&[PAPER], 40);
    delayed(&mut paper, 50_000);
    delayed(&mut paper, 105_000);
    assert_eq!(ms(&paper, "max_delay"), 105.0, "the paper's largest is the largest");
}

#[test]
fn lp_paper_keeps_its_range() {
    let mut m = ranged(&[PAPER]);
    delayed(&mut m, 90_500);
    assert_eq!((ms(&m, "min_delay"), ms(&m, "max_delay")), (50.0, 150.0));
}

#[test]
fn lp_linux_with_clocks_apart_is_reno() {
    // A queue that doubles the delay, with clocks that agree and with clocks an hour apart.
    let windows = |given: &[(&str, &str)], offset: u64| {
        let mut m = model(given, 40);
        m.clock_offset = Duration::from_secs(offset);
        m.rounds(20);
        let before = m.cwnd();
        m.rtt = Duration::from_millis(200);
        (before, m.rounds(20)[19])
    };
    let (before, after) = windows(&[LINUX], 0);
    assert!(after < before, "{before} to {after}");
    let (before, after) = windows(&[LINUX], 3600);
    assert!(after > before + 18.0, "{before} to {after}: no queue is 15 % of an hour");
    for offset in [0, 3600] {
        let (before, after) = windows(&[PAPER], offset);
        assert!(after < before, "paper, {offset} s: {before} to {after}");
    }
}

#[test]
fn lp_without_timestamps_is_reno() {
    let mut lp = model(&[LINUX], 40);
    lp.sampling = false;
    let mut reno = Model::new("reno", &[("profile", "linux")], 100).at(40, Some(2));
    reno.sampling = false;
    assert_eq!(lp.rounds(20), reno.rounds(20));
}

#[test]
fn lp_loss_is_reno() {
    for given in [&[LINUX][..], &[PAPER]] {
        let mut m = model(given, 41);
        m.loss();
        assert_eq!((m.cwnd(), m.ssthresh()), (20.0, 20.0));
    }
}

#[test]
fn lp_sign_in_recovery_cuts_nothing() {
    let mut m = ranged(&[PAPER]);
    m.path.phase = Phase::Recovery;
    delayed(&mut m, 90_500);
    assert!(m.cwnd() >= 40.0);
    m.path.phase = Phase::Open;
    delayed(&mut m, 66_000);
    assert!(m.cwnd() >= 40.0);
    assert_eq!(m.state("inference"), 1.0, "but the phase has begun");
}

#[test]
fn lp_wrap_of_the_timestamps() {
    // Delays of 50 to 90 ms by clocks whose difference is told modulo 2^32 µs.
    let windows = |offset_us: u64| {
        let mut m = model(&[PAPER], 40);
        let mut step = |i: u64| {
            let delay = 50_000 + i * 7000 % 40_000;
            m.path.now += Duration::from_millis(5);
            let ack = Ack {
                acked: m.path.smss,
                delivered: m.path.smss,
                rtt: Some(Duration::from_micros(delay + 50_000)),
                one_way_delay: Some(Duration::from_micros((delay + offset_us) % (1 << 32))),
                ..Ack::default()
            };
            m.cc.observe(&ack, &m.path);
            m.cc.on_ack(&ack, &m.path, &mut m.win);
            m.cwnd()
        };
        (0..400).map(&mut step).collect::<Vec<f64>>()
    };
    let plain = windows(1_000_000);
    assert!(plain.contains(&1.0) && plain.contains(&20.0), "there are signs: {plain:?}");
    assert_eq!(plain, windows((1 << 32) - 60_000), "with a wrap at 60 ms");
}

#[test]
fn lp_a_delayed_ack_is_no_congestion() {
    let mut m = model(&[PAPER], 40);
    for _ in 0..20 {
        delayed(&mut m, 50_000);
    }
    // Down to one segment, whose ACK waits for the receiver's timer of 200 ms each time.
    m = m.at(1, Some(2));
    for _ in 0..20 {
        m.path.now += Duration::from_millis(300);
        delayed(&mut m, 250_000);
        if m.cwnd() > 1.0 {
            break;
        }
    }
    assert!(m.cwnd() > 1.0, "the timer was taken for congestion");
    assert!(ms(&m, "smoothed_delay") < 51.0, "{}", ms(&m, "smoothed_delay"));
}

/// Delays that rise until the window is cut; whether it ever was.
fn rises(m: &mut Model) -> bool {
    let before = m.cwnd();
    (0..100).any(|step| {
        delayed(m, 150_000 + 20_000 * step);
        m.cwnd() < before
    })
}

#[test]
fn lp_paper_ends_slow_start_at_a_sign() {
    for (given, ssthresh) in [(PAPER, 40.0), (LINUX, 1000.0)] {
        let mut m = model(&[given], 40);
        delayed(&mut m, 50_000);
        delayed(&mut m, 150_000);
        m.path.now += Duration::from_secs(10);
        m = m.at(40, Some(1000));
        assert!(rises(&mut m), "{given:?}: no sign");
        assert!(m.ssthresh() <= ssthresh && m.ssthresh() >= ssthresh / 2.0, "{given:?}: {}", m.ssthresh());
    }
}

#[test]
fn lp_paper_finds_its_range_in_the_first_slow_start() {
    let mut m = model(&[PAPER], 40).at(40, None);
    assert!(!rises(&mut m), "before the first loss");
    m.loss();
    assert!(rises(&mut m), "after it");
}
