//! Prague (draft-briscoe-iccrg-prague-congestion-control-04; Linux's tcp_prague 0.7).

use crate::common::{Model, close};
use narrows_cc::EcnFeedback;
use narrows_units::{Duration, Rate};

/// A flow in congestion avoidance with a window of 100 segments, on a path of `rtt_ms`.
fn at_100(given: &[(&str, &str)], rtt_ms: u64) -> Model {
    Model::new("prague", given, rtt_ms).at(100, Some(50))
}

/// One round in which the first `marked` of 100 segments' ACKs report marks.
fn round(m: &mut Model, marked: usize) {
    for n in 0..100 {
        m.path.now += m.rtt / 100;
        m.marking = n < marked;
        m.ack(1448);
    }
    m.marking = false;
}

#[test]
fn prague_alpha_moves_once_per_virtual_rtt() {
    // g = 1/16, F = 1/2: alpha = (1 - g)^n (1 - 1/2) + 1/2 from 1 on.
    let mut m = at_100(&[("first_mark", "alpha_one"), ("rtt_transition", "1000"), ("rtt_target", "0")], 10);
    m.ecn();
    m.win.cwnd = m.path.smss * 100;
    m.path.cwnd_limited = false;
    // The handshake's round is over with the first ACK, which is marked: F = 1 there, and alpha stays.
    let mut seen = Vec::new();
    for _ in 0..4 {
        round(&mut m, 50);
        seen.push(m.state("alpha"));
    }
    // The rounds of the flow are those of the test, less one ACK: 49 of 100 until the next round's first mark.
    close(&seen, &[1.0, 0.968_75, 0.939_453_125, 0.911_987_3], 0.002);
    // With a virtual RTT of 25 ms and 10 ms a round, alpha moves at 30, 60 and 90 ms.
    let mut m = at_100(&[("first_mark", "alpha_one"), ("rtt_transition", "0")], 10);
    m.ecn();
    m.win.cwnd = m.path.smss * 100;
    m.path.cwnd_limited = false;
    let mut moves = Vec::new();
    let (start, mut alpha) = (m.path.now, m.state("alpha"));
    for _ in 0..1000 {
        m.path.now += m.rtt / 100;
        m.ack(1448);
        let now = m.state("alpha");
        if now != alpha {
            moves.push(m.path.now.since(start).as_nanos() as f64 / 1e6);
            alpha = now;
        }
    }
    assert!((3..=4).contains(&moves.len()), "{moves:?}");
    assert!(moves.windows(2).all(|pair| (25.0..31.0).contains(&(pair[1] - pair[0]))), "{moves:?}");
}

#[test]
fn prague_reduces_by_half_of_alpha_once_per_round() {
    let mut m = at_100(&[("first_mark", "alpha_one"), ("rtt_transition", "0")], 10);
    m.path.cwnd_limited = false;
    // Rounds of alpha end 25 ms after the last one; the one that the first ACK is in has begun with the connection.
    let step = |m: &mut Model, ms: u64, marking| {
        m.path.now += Duration::from_millis(ms);
        m.marking = marking;
        m.ack(100 * 1448);
        m.cwnd()
    };
    close(&[step(&mut m, 1, true)], &[50.0], 1e-4);
    assert_eq!(step(&mut m, 1, true), 50.0, "the same round");
    m.ecn();
    assert_eq!(m.cwnd(), 50.0, "the connection's report of the same marks");
    // At 25 ms the round ends with this ACK: 3 of 3 ACKs are marked, so alpha stays 1.
    assert_eq!(step(&mut m, 23, true), 50.0);
    assert_eq!(m.state("alpha"), 1.0);
    close(&[step(&mut m, 1, true)], &[25.0], 1e-3);
    // The next round ends at 50 ms with one mark of four: alpha = 1 - 1/16 (1 - 1/4) = 0.953125.
    for ms in [1, 1] {
        step(&mut m, ms, false);
    }
    assert_eq!(step(&mut m, 22, false), m.cwnd());
    close(&[m.state("alpha")], &[0.953_125], 1e-9);
    let before = m.cwnd();
    close(&[step(&mut m, 1, true)], &[before * (1.0 - 0.953_125 / 2.0)], 1e-3);
}

#[test]
fn prague_reduces_once_per_virtual_rtt_as_linux() {
    let given = [("first_mark", "alpha_one"), ("rtt_transition", "0"), ("reduction", "episode")];
    let mut m = at_100(&given, 10);
    m.ecn();
    close(&[m.cwnd(), m.ssthresh()], &[50.0, 50.0], 1e-4);
    m.path.now += Duration::from_millis(24);
    m.ecn();
    assert_eq!(m.cwnd(), 50.0, "24 ms after the last reduction");
    m.path.now += Duration::from_millis(1);
    m.ecn();
    close(&[m.cwnd()], &[25.0], 1e-3);
    // Without RTT independence each echo counts; the connection reports one per round-trip time.
    let mut m = at_100(&[("first_mark", "alpha_one"), ("rtt_target", "0")], 10);
    m.ecn();
    m.ecn();
    close(&[m.cwnd()], &[25.0], 1e-3);
}

#[test]
fn prague_grows_by_the_square_of_the_share_of_the_virtual_rtt() {
    // (RTT / 25 ms)^2 segments per round: 0.16 at 10 ms, 1 from 25 ms on.
    for (rtt, per_round) in [(5, 0.04), (10, 0.16), (20, 0.64), (25, 1.0), (40, 1.0)] {
        let mut m = at_100(&[("rtt_transition", "0")], rtt);
        let windows = m.rounds(10);
        close(&[windows[9] - 100.0], &[10.0 * per_round], 0.06);
    }
    // Before the transition: one segment per round.
    let mut m = at_100(&[("rtt_transition", "4")], 10);
    let windows = m.rounds(12);
    assert!(windows[2] - 100.0 > 2.9 && windows[11] - windows[5] < 1.2, "{windows:?}");
}

#[test]
fn prague_marked_bytes_add_nothing() {
    let mut m = at_100(&[("rtt_target", "0")], 10);
    round(&mut m, 100);
    assert_eq!(m.cwnd(), 100.0);
    // A quarter of the segments is not marked.
    round(&mut m, 75);
    close(&[m.cwnd() - 100.0], &[0.25], 0.02);
}

#[test]
fn prague_first_mark() {
    // Linux's prague_alpha_mode 0: the window is halved, and alpha begins with 0.
    let mut m = at_100(&[("rtt_target", "0")], 10);
    assert_eq!(m.state("alpha"), 0.0);
    m.ecn();
    assert_eq!((m.cwnd(), m.ssthresh()), (50.0, 50.0));
    m.ecn();
    assert_eq!(m.cwnd(), 50.0, "alpha / 2 is 0");
    // Mode 1: alpha begins with 1, and nothing was measured before the first mark.
    let mut m = at_100(&[("first_mark", "alpha_one"), ("rtt_target", "0")], 10);
    m.rounds(3);
    assert_eq!(m.state("alpha"), 1.0, "no proof yet of a queue that marks");
}

#[test]
fn prague_loss_halves_and_growth_waits() {
    let mut m = at_100(&[], 10);
    m.loss();
    assert_eq!((m.cwnd(), m.ssthresh()), (50.0, 50.0));
    // A second loss of the same recovery reduces nothing; the model ends a recovery with each event.
    let mut m = at_100(&[], 10);
    let event = narrows_cc::Congestion::Loss { lost: m.path.smss };
    m.cc.on_congestion(&event, &m.path, &mut m.win);
    m.cc.on_congestion(&event, &m.path, &mut m.win);
    assert_eq!(m.cwnd(), 50.0);
    m.rounds(3);
    assert_eq!(m.cwnd(), 50.0, "no growth in recovery");
    m.cc.on_recovered(&m.path, &mut m.win);
    assert!(m.round() > 50.9);
    let mut m = at_100(&[], 10);
    m.timeout(false);
    assert_eq!((m.cwnd(), m.ssthresh()), (1.0, 50.0));
    assert_eq!(m.round(), 2.0, "slow start");
}

#[test]
fn prague_without_accurate_feedback_is_reno() {
    for feedback in [EcnFeedback::Nothing, EcnFeedback::Classic, EcnFeedback::EachMark] {
        let mut prague = at_100(&[], 10);
        let mut reno = Model::new("reno", &[("profile", "linux")], 10).at(100, Some(50));
        for m in [&mut prague, &mut reno] {
            m.path.ecn = feedback;
            m.win.pacing_rate = None;
        }
        for step in 0..6 {
            match step {
                1 => [&mut prague, &mut reno].map(Model::ecn),
                3 => [&mut prague, &mut reno].map(Model::loss),
                5 => [&mut prague, &mut reno].map(|m| m.timeout(false)),
                _ => [(), ()],
            };
            assert_eq!(prague.rounds(7), reno.rounds(7), "{feedback:?} in step {step}");
            assert_eq!(prague.win, reno.win);
        }
    }
}

#[test]
fn prague_paces_at_the_window_per_rtt() {
    // 100 segments of 1448 bytes per 10 ms, and twice that below half of ssthresh.
    let mut m = at_100(&[], 10);
    m.path.cwnd_limited = false;
    m.ack(1448);
    assert_eq!(m.win.pacing_rate, Some(Rate::bps(115_840_000)));
    let mut m = Model::new("prague", &[], 10).at(100, Some(202));
    m.path.cwnd_limited = false;
    m.ack(1448);
    assert_eq!(m.win.pacing_rate, Some(Rate::bps(231_680_000)));
}

#[test]
fn prague_keeps_the_fraction_of_the_window() {
    // At 5 ms an ACK adds 0.04 / 100 of a segment: half a byte.
    let mut m = at_100(&[("rtt_transition", "0")], 5);
    m.ack(1448);
    assert_eq!(m.win.cwnd.as_u64(), 144_800);
    m.ack(1448);
    assert_eq!(m.win.cwnd.as_u64(), 144_801);
}
