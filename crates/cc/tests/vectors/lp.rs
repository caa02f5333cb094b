//! TCP-LP (the reference's section 20).

use crate::common::Model;
use narrows_cc::{Ack, Clocks, Congestion, Phase};
use narrows_units::Duration;

const PAPER: (&str, &str) = ("profile", "paper");
const LINUX: (&str, &str) = ("profile", "linux");

/// A flow in congestion avoidance whose clocks agree.
fn model(given: &[(&str, &str)], cwnd: u64) -> Model {
    let mut m = Model::new("lp", given, 100).at(cwnd, Some(2));
    m.clock_offset = Duration::ZERO;
    m
}

/// An ACK whose segment took `delay_us` to the receiver; the ACK takes as long back.
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
        // The queue is gone, so the other flows did not need the path.
        m.rtt = Duration::from_millis(100);
        for _ in 0..rounds {
            assert_eq!(m.round(), 20.0);
        }
        assert!(m.rounds(3)[2] >= 21.0);
    }
}

/// An ACK after `gap` ms whose TSval is `difference` ms ahead of the echoed timestamp, which is 100 ms (a round trip)
/// old.
fn stamped(m: &mut Model, gap: u64, difference: u32) {
    m.path.now += Duration::from_millis(gap);
    let local = m.path.now.since(narrows_units::Instant::ZERO).as_millis() as u32 - 100;
    let ack = Ack {
        acked: m.path.smss,
        delivered: m.path.smss,
        rtt: Some(Duration::from_millis(100)),
        clocks: Some(Clocks { remote: local.wrapping_add(difference), local }),
        ..Ack::default()
    };
    m.cc.observe(&ack, &m.path);
    m.cc.on_ack(&ack, &m.path, &mut m.win);
}

/// A flow of 40 segments that has seen two pairs of timestamps with clocks `offset` ms apart. By the first pair the
/// peer's clock runs at 900 Hz, so that rising delays do not soon lift the estimate above 1000.
fn linux(given: &[(&str, &str)], offset: u32) -> Model {
    let mut m = model(&[&[LINUX], given].concat(), 40).at(40, Some(1000));
    stamped(&mut m, 1000, offset.wrapping_add(150));
    assert_eq!(m.cwnd(), 41.0, "the first sample starts the estimate of the peer's clock");
    m = m.at(40, Some(20));
    stamped(&mut m, 1000, offset.wrapping_add(50));
    assert_eq!(m.state("remote_hz"), 900.0);
    m
}

#[test]
fn lp_linux_first_range_is_a_sign() {
    let m = linux(&[], 0);
    assert_eq!((m.cwnd(), m.ssthresh()), (20.0, 20.0), "a range of one delay: its threshold is the delay");
    let mut paper = model(&[PAPER], 40);
    delayed(&mut paper, 50_000);
    delayed(&mut paper, 50_000);
    assert_eq!(paper.cwnd(), 40.0);
}

#[test]
fn lp_linux_makes_a_new_range_after_a_sign() {
    let mut m = linux(&[], 0).at(40, Some(30));
    m.path.cwnd_limited = false;
    assert_eq!((ms(&m, "min_delay"), ms(&m, "max_delay"), ms(&m, "threshold")), (50.0, 100.0, 57.0));
    stamped(&mut m, 1000, 105);
    assert_eq!((ms(&m, "smoothed_delay"), m.cwnd()), (56.0, 40.0), "below");
    stamped(&mut m, 1000, 66);
    assert_eq!((ms(&m, "min_delay"), ms(&m, "max_delay")), (58.0, 116.0), "at the threshold or above");
    assert_eq!((m.cwnd(), m.ssthresh()), (20.0, 30.0), "slow start goes on");
    // Still rising within three round-trip times.
    stamped(&mut m, 250, 200);
    assert_eq!((m.cwnd(), m.state("inference")), (1.0, 1.0));
}

#[test]
fn lp_linux_sign_that_comes_with_a_loss_cuts_first() {
    let mut m = linux(&[], 0).at(40, Some(2));
    // The indication comes with the ACK that shows a loss, so it belongs to Open.
    let local = 100_000;
    m.path.now = narrows_units::Instant::ZERO + Duration::from_millis(u64::from(local) + 100);
    let ack = Ack {
        delivered: m.path.smss,
        rtt: Some(Duration::from_millis(100)),
        clocks: Some(Clocks { remote: local + 120, local }),
        ..Ack::default()
    };
    m.cc.observe(&ack, &m.path);
    m.cc.on_congestion(&Congestion::Loss { lost: m.path.smss }, &m.path, &mut m.win);
    assert_eq!((m.cwnd(), m.ssthresh()), (10.0, 10.0), "half of the half");
}

#[test]
fn lp_linux_guesses_the_rate_of_the_peers_clock() {
    // (remote_hz, largest delay in s) after pairs in which the peer's clock advanced by `remote` ms in 1000.
    let after = |remote: &[u32]| {
        let mut m = model(&[LINUX], 40).at(40, Some(2));
        let mut difference = 10_000;
        stamped(&mut m, 1000, difference);
        for step in remote {
            difference = difference + step - 1000;
            stamped(&mut m, 1000, difference);
        }
        (m.state("remote_hz"), m.state("max_delay"))
    };
    assert_eq!(after(&[1000]), (1000.0, 20.0), "the sign of the first range doubles it");
    // A new largest delay counts only once a larger one has arrived.
    let (hz, longest) = after(&[1000, 1100, 1100]);
    assert_eq!(hz, 1002.0, "twice 1/64 of the way to 1100");
    assert!(longest > 4e6, "the peer's stamp does not count above 1000 Hz: {longest}");
    let (hz, longest) = after(&[500, 500]);
    assert_eq!(hz, 500.0);
    assert!(longest > 30.0, "and twice up to 500: {longest}");
}

#[test]
fn lp_range_moves_one_record_late() {
    // With delta 1 there is no indication below the whole range, so the range is not reset.
    let mut m = linux(&[("delta", "1")], 0);
    assert_eq!(ms(&m, "max_delay"), 100.0);
    for (delay, max) in [(105, 100), (107, 105), (60, 105), (106, 106), (90, 106)] {
        stamped(&mut m, 1000, delay);
        assert_eq!(ms(&m, "max_delay"), f64::from(max), "after {delay} ms");
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

/// Whether a queue that grows to 150 ms reduces the window, with clocks `offset` ms apart.
fn heeds_a_queue(offset: u32) -> bool {
    let mut m = linux(&[], offset);
    m.path.now += Duration::from_secs(1);
    (0..30).any(|step| {
        let before = m.cwnd();
        stamped(&mut m, 1000, offset.wrapping_add(50 + 5 * step));
        m.cwnd() < before
    })
}

#[test]
fn lp_linux_with_clocks_apart_is_reno() {
    assert!(heeds_a_queue(0), "clocks that agree");
    assert!(!heeds_a_queue(3_600_000), "no queue is 15 % of an hour");
    // The paper's range detects a queue at any offset.
    for offset in [0, 3600] {
        let mut m = model(&[PAPER], 40);
        m.clock_offset = Duration::from_secs(offset);
        m.rounds(20);
        let before = m.cwnd();
        m.rtt = Duration::from_millis(200);
        let after = m.rounds(20)[19];
        assert!(after < before, "paper, {offset} s: {before} to {after}");
    }
}

#[test]
fn lp_linux_beyond_2_to_29_ms_sees_no_sign() {
    for offset in [1 << 29, 1 << 30, 3 << 30, u32::MAX - 1_000_000] {
        let m = linux(&[], offset);
        assert_eq!(m.cwnd(), 40.0, "not even that of the first range: {offset}");
        assert!(!heeds_a_queue(offset), "{offset}");
    }
    assert_eq!(linux(&[], (1 << 29) - 1000).cwnd(), 20.0);
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
fn lp_linux_sign_in_recovery_cuts_nothing() {
    let mut m = linux(&[], 0).at(40, Some(2));
    m.path.phase = Phase::Recovery;
    stamped(&mut m, 1000, 150);
    assert_eq!((m.cwnd(), ms(&m, "max_delay")), (40.0, 125.0), "but the range is new");
    m.path.phase = Phase::Disorder;
    stamped(&mut m, 1000, 250);
    assert_eq!(m.cwnd(), 20.0);
}

#[test]
fn lp_wrap_of_the_timestamps() {
    // Delays of 50 to 90 ms by clocks whose difference is reported modulo 2^32 µs.
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

/// Raises delays until the window is reduced; returns whether it was.
fn rises(m: &mut Model) -> bool {
    let before = m.cwnd();
    (0..100).any(|step| {
        delayed(m, 150_000 + 20_000 * step);
        m.cwnd() < before
    })
}

#[test]
fn lp_paper_ends_slow_start_at_a_sign() {
    let mut m = model(&[PAPER], 40);
    delayed(&mut m, 50_000);
    delayed(&mut m, 150_000);
    m.path.now += Duration::from_secs(10);
    m = m.at(40, Some(1000));
    assert!(rises(&mut m), "no sign");
    assert!(m.ssthresh() <= 40.0 && m.ssthresh() >= 20.0, "{}", m.ssthresh());
}

#[test]
fn lp_paper_finds_its_range_in_the_first_slow_start() {
    let mut m = model(&[PAPER], 40).at(40, None);
    assert!(!rises(&mut m), "before the first loss");
    m.loss();
    assert!(rises(&mut m), "after it");
}
