//! HyStart and HyStart++ (the reference's section 12; RFC 9406).

use crate::common::{Model, close};
use narrows_units::{Bytes, Duration};

/// A flow of CUBIC with this slow start at 20 segments, after one full round at `rtt_ms`.
fn started(slow_start: &str, profile: &str, rtt_ms: u64) -> Model {
    let mut m = Model::new("cubic", &[("profile", profile), ("slow_start", slow_start)], rtt_ms);
    m.round();
    assert_eq!(m.cwnd(), 20.0);
    m
}

/// Rounds at `rtt`, until `rounds` have passed or slow start has ended.
fn rounds_at(m: &mut Model, rtt: Duration, rounds: usize) -> Vec<f64> {
    m.rtt = rtt;
    m.rounds(rounds)
}

#[test]
fn hystart_ack_train_vector() {
    // From Linux 6.1's file compiled against a shim. Two properties of that shim matter: it checks from the second
    // round on, and a segment released by an ACK counts as sent when that ACK is handled.
    let rounds = |rtt_ms, n: usize| {
        let mut m = Model::new("cubic", &[("profile", "linux")], rtt_ms);
        m.sampling = false;
        m.round();
        m.sampling = true;
        m.sends_before_ack = true;
        m.rounds(n)
    };
    assert_eq!(rounds(100, 7), [40.0, 80.0, 125.0, 132.0, 138.0, 145.0, 152.0]);
    assert_eq!(rounds(20, 5), [31.0, 33.0, 34.0, 36.0, 38.0]);
}

#[test]
fn hystart_ack_train_ends_slow_start() {
    // The kernel tracks rounds from the first one on, and checks the train from a window of 16 on. So a round begins
    // with its train, and slow start ends half a round-trip time later. On a path of 100 Mb/s and 12 ms Linux 6.18
    // leaves slow start at 136 segments, and a simulation at 132 (validation/live/100m-12ms-1bdp.toml).
    let mut m = Model::new("cubic", &[("profile", "linux")], 100);
    let windows = m.rounds(8);
    assert_eq!(windows[..4], [20.0, 40.0, 80.0, 122.0]);
    assert!(m.ssthresh() > 110.0 && m.ssthresh() < 130.0, "{}", m.ssthresh());
    for pair in windows[4..].windows(2) {
        close(&[pair[1] / pair[0]], &[1.05], 0.01);
    }
}

#[test]
fn hystart_allows_a_paced_sender_a_whole_round() {
    let ends_at = |pacing_rate| {
        let mut m = Model::new("cubic", &[("profile", "linux")], 100);
        m.path.pacing_rate = pacing_rate;
        m.rounds(8);
        m.win.ssthresh.map(|s| s.segments(m.path.smss))
    };
    // ACKs of a round are spread over exactly the round-trip time, so a paced sender's train is never too long.
    assert!(ends_at(None).is_some());
    assert_eq!(ends_at(Some(narrows_units::Rate::gbps(1))), None);
}

#[test]
fn hystart_delay_threshold() {
    // ACKs more than 2 ms apart are no train, so only the delay can end slow start: strictly above 100 + 12.5 ms.
    for (rtt_us, ends) in [(112_500, false), (112_600, true)] {
        let mut m = started("hystart", "linux", 100);
        rounds_at(&mut m, Duration::from_micros(rtt_us), 2);
        assert_eq!(!m.win.in_slow_start(&m.path), ends, "at {rtt_us} us");
    }
}

#[test]
fn hystart_starts_afresh_only_after_a_timeout() {
    let mut m = Model::new("cubic", &[("profile", "linux")], 100);
    m.rounds(5);
    assert!(!m.win.in_slow_start(&m.path));
    // HyStart has found its end once, so it does not end a later slow start without a timeout.
    let mut again = Model::new("cubic", &[("profile", "linux")], 100);
    again.rounds(5);
    again.win.ssthresh = Some(again.path.smss * 4000);
    // Samples in the first second of an epoch are ignored anyway.
    again.path.now += Duration::from_secs(2);
    let cwnd = again.cwnd();
    assert_eq!(again.rounds(2), [2.0 * cwnd, 4.0 * cwnd]);
    again.timeout(false);
    again.win.ssthresh = Some(Bytes::MAX);
    again.rounds(10);
    assert!(!again.win.in_slow_start(&again.path));
}

#[test]
fn hystartpp_threshold() {
    for (last_ms, enters_at_us) in [(20, 24_000), (50, 56_250), (100, 112_500), (200, 216_000)] {
        for (rtt_us, quarter) in [(enters_at_us, true), (enters_at_us - 1, false)] {
            let mut m = started("hystart++", "rfc9438", last_ms);
            rounds_at(&mut m, Duration::from_micros(rtt_us), 1);
            // The first segments of the round double the window; after eight samples it grows at a quarter of that.
            assert_eq!(m.cwnd() < 39.0, quarter, "from {last_ms} ms at {rtt_us} us: {}", m.cwnd());
        }
    }
}

#[test]
fn hystartpp_conservative_slow_start_lasts_five_rounds() {
    let mut m = started("hystart++", "rfc9438", 100);
    m.rounds(2);
    m = m.at(80, None);
    let entered = rounds_at(&mut m, Duration::from_millis(120), 1)[0];
    let mut windows = vec![entered];
    while m.win.in_slow_start(&m.path) {
        windows.push(m.round());
        assert!(windows.len() < 20, "never ended: {windows:?}");
    }
    // Five rounds, including the one in which CSS was entered; the model's rounds overlap them by one.
    assert!((5..=6).contains(&windows.len()), "{windows:?}");
    let quarters: Vec<f64> = windows.windows(2).take(4).map(|w| w[1] / w[0]).collect();
    close(&quarters, &[1.25; 4], 0.02);
    assert!(m.ssthresh() <= m.cwnd());
}

#[test]
fn hystartpp_five_conservative_rounds_from_100() {
    let mut m = started("hystart++", "rfc9438", 100);
    m.rounds(2);
    // Eight samples of a risen delay, then exactly 100 segments and rounds of the same delay.
    rounds_at(&mut m, Duration::from_millis(120), 1);
    m = m.at(100, None);
    let windows = m.rounds(5);
    assert!((windows[4] - 305.0).abs() <= 1.0, "100 * 1.25^5 is 305.2: {windows:?}");
}

#[test]
fn hystartpp_resumes_when_the_delay_falls() {
    let mut m = started("hystart++", "rfc9438", 100);
    rounds_at(&mut m, Duration::from_millis(120), 2);
    let slow = m.cwnd();
    rounds_at(&mut m, Duration::from_millis(100), 1);
    let before = m.cwnd();
    assert!(before < 2.0 * slow);
    assert!(m.win.in_slow_start(&m.path));
    assert!((m.round() / before - 2.0).abs() < 0.05, "doubles again");
}

#[test]
fn hystartpp_is_for_the_first_slow_start_only() {
    let mut m = started("hystart++", "rfc9438", 100).at(64, None);
    m.timeout(false);
    rounds_at(&mut m, Duration::from_millis(100), 4);
    let got = rounds_at(&mut m, Duration::from_millis(180), 1)[0];
    assert_eq!(got, 32.0, "doubles from 16 although the delay has risen");
}

#[test]
fn hystartpp_limits_one_ack_to_eight_segments() {
    let mut m = Model::new("cubic", &[], 100);
    m.ack(20 * 1448);
    assert_eq!(m.cwnd(), 18.0);
}

#[test]
fn hystart_waits_after_a_timeout_for_what_was_outstanding() {
    // Linux's round ends at the SND.NXT of the timeout; ACKs before that say nothing about the present window.
    let mut m = Model::new("cubic", &[("profile", "linux")], 20).at(300, None);
    m.timeout(false);
    assert_eq!(m.rounds(7), [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]);
}

#[test]
fn slow_start_after_a_timeout_adds_one_segment_per_ack() {
    // RFC 3465, section 2.3: L = 1 after a timeout, where one ACK may cover what was received long ago.
    let mut m = Model::new("cubic", &[], 100).at(64, None);
    m.timeout(false);
    m.ack(5 * 1448);
    assert_eq!(m.cwnd(), 2.0);
}

#[test]
fn hystart_checks_from_sixteen_segments_on() {
    for (cwnd, ends) in [(15, false), (16, true)] {
        let mut m = Model::new("cubic", &[("profile", "linux")], 100).at(cwnd, None);
        // The window stays, and HyStart checks the delay all the same.
        m.path.cwnd_limited = false;
        m.rounds(2);
        rounds_at(&mut m, Duration::from_millis(130), 3);
        assert_eq!(!m.win.in_slow_start(&m.path), ends, "at {cwnd} segments");
    }
}
