//! Copa (the reference's section 37; section 2 of the paper).

use crate::common::{Model, params};
use narrows_cc::algorithms::copa::extreme::Smallest;
use narrows_cc::find;
use narrows_units::{Bytes, Duration, Instant};
use std::cmp::Reverse;

const MS: fn(u64) -> Duration = Duration::from_millis;
const DEFAULT_MODE: (&str, &str) = ("competitive", "false");

fn with_window(given: &[(&str, &str)], rtt_ms: u64, cwnd: u64) -> Model {
    let row = find("copa").unwrap();
    Model::with_window((row.build)(&params(row, given)), 1448, MS(rtt_ms), cwnd)
}

/// `n` ACKs of a segment, a millisecond apart.
fn acks(m: &mut Model, n: u64) {
    for _ in 0..n {
        m.path.now += MS(1);
        m.ack(1448);
    }
}

/// A flow after slow start with RTTmin 100 ms and RTTstanding `rtt_ms`, at `cwnd` segments, limited by cwnd.
fn queued(given: &[(&str, &str)], rtt_ms: u64, cwnd: u64) -> Model {
    let mut m = with_window(given, 100, 5000);
    m.path.cwnd_limited = false;
    acks(&mut m, 1);
    m.rtt = MS(150);
    acks(&mut m, 200);
    m.rtt = MS(rtt_ms);
    acks(&mut m, 200);
    assert_eq!((m.state("slow_start"), m.state("velocity")), (0.0, 1.0));
    m.path.cwnd_limited = true;
    // All has been acknowledged, so the next ACK ends a round.
    m.path.snd_una = m.path.snd_nxt;
    m.at(cwnd, Some(2))
}

#[test]
fn copa_target_rates() {
    // delta 0.5: a queueing delay of 1, 10 and 100 ms gives 2000, 200 and 20 packets/s, so cwnd turns at 202, 22 and 4.
    for (rtt, cwnd) in [(101, 202), (110, 22), (200, 4)] {
        for (cwnd, up) in [(cwnd - 1, true), (cwnd, true), (cwnd + 1, false)] {
            let mut m = queued(&[], rtt, cwnd);
            acks(&mut m, 1);
            assert_eq!(m.win.cwnd > Bytes::new(1448 * cwnd), up, "{rtt} ms, {cwnd} segments");
        }
    }
    // A tenth of delta gives ten times the rate.
    let mut m = queued(&[("delta", "0.05")], 110, 219);
    acks(&mut m, 1);
    assert!(m.cwnd() > 219.0);
    let mut m = queued(&[("delta", "0.05")], 110, 221);
    acks(&mut m, 1);
    assert!(m.cwnd() < 221.0);
}

#[test]
fn copa_moves_one_packet_of_delta_per_round() {
    // 1/(0.5 * 100) packets: 28.96 octets, up and down.
    let mut m = queued(&[], 100, 100);
    acks(&mut m, 1);
    assert_eq!(m.win.cwnd, Bytes::new(144_828));
    let mut m = queued(&[], 150, 100);
    acks(&mut m, 1);
    assert_eq!(m.win.cwnd, Bytes::new(144_771));
    let mut m = queued(&[], 100, 100);
    acks(&mut m, 100);
    assert!((m.cwnd() - 102.0).abs() < 0.05, "{}", m.cwnd());
    // An ACK of two segments counts as two.
    let mut m = queued(&[], 100, 100);
    m.ack(2 * 1448);
    assert_eq!(m.win.cwnd, Bytes::new(144_857));
}

#[test]
fn copa_velocity_doubles_after_three_rounds() {
    // The first round has no round before it, the second tells the direction, and three more keep it.
    let mut m = queued(&[], 100, 100);
    let seen: Vec<_> = (0..7).map(|_| (m.round(), (m.state("direction"), m.state("velocity"))).1).collect();
    assert_eq!(seen, [(0.0, 1.0), (1.0, 1.0), (1.0, 1.0), (1.0, 1.0), (1.0, 2.0), (1.0, 4.0), (1.0, 8.0)]);
}

#[test]
fn copa_turns_reset_the_velocity() {
    let mut m = queued(&[], 100, 100);
    m.rounds(6);
    assert_eq!((m.state("velocity"), m.state("direction")), (4.0, 1.0));
    m.rtt = MS(150);
    acks(&mut m, 100);
    assert_eq!((m.state("velocity"), m.state("direction")), (1.0, 2.0));
}

#[test]
fn copa_slow_start_ends_above_the_target() {
    let mut m = with_window(&[], 100, 10).through(50);
    assert_eq!(m.rounds(3), [20.0, 40.0, 80.0]);
    assert_eq!((m.state("slow_start"), m.win.ssthresh), (1.0, None));
    // At 80 segments the round-trip time is 160 ms, of which 60 ms are queue: the target is 5.3 segments.
    m.round();
    assert_eq!(m.state("slow_start"), 0.0);
    assert!(m.cwnd() < 160.0 && !m.win.in_slow_start(&m.path), "{}", m.cwnd());
}

#[test]
fn copa_paces_at_twice_its_rate() {
    let mut m = queued(&[], 110, 22);
    acks(&mut m, 1);
    let want = 2.0 * m.win.cwnd.as_f64() * 8.0 / 0.11;
    let rate = m.win.pacing_rate.unwrap().as_bps() as f64;
    assert!((rate / want - 1.0).abs() < 1e-6, "{rate} and {want}");
    // The handshake's round-trip time is used until there is a sample.
    let m = with_window(&[], 100, 10);
    assert_eq!(m.win.pacing_rate.unwrap().as_bps(), 2 * 10 * 1448 * 8 * 10);
}

#[test]
fn copa_standing_rtt_ignores_jitter() {
    for (given, want) in [("standing", 0.0), ("latest", 0.03)] {
        let mut m = queued(&[("queue_delay", given)], 100, 100);
        for _ in 0..10 {
            m.rtt = MS(100);
            acks(&mut m, 20);
            m.rtt = MS(130);
            acks(&mut m, 20);
        }
        assert_eq!((m.state("standing_rtt"), m.state("queue_delay")), (0.1, want), "{given}");
    }
}

#[test]
fn copa_min_rtt_is_forgotten_after_ten_seconds() {
    let mut m = queued(&[], 120, 100);
    m.path.cwnd_limited = false;
    acks(&mut m, 9000);
    assert_eq!((m.state("min_rtt"), m.state("queue_delay")), (0.1, 0.02));
    acks(&mut m, 2000);
    assert_eq!((m.state("min_rtt"), m.state("queue_delay")), (0.12, 0.0));
}

#[test]
fn copa_competes_if_the_queue_is_never_empty() {
    // 150 ms swing by 50 ms: 5 ms and more are not nearly empty.
    for (rtt, given, want) in [(105, &[][..], 1.0), (104, &[], 0.0), (150, &[DEFAULT_MODE], 0.0)] {
        let mut m = queued(given, 150, 200);
        for _ in 0..30 {
            m.rtt = MS(150);
            acks(&mut m, 20);
            m.rtt = MS(rtt);
            acks(&mut m, 60);
        }
        assert_eq!(m.state("mode"), want, "{rtt} ms {given:?}");
    }
    // Not yet after five round-trip times, and over at once.
    let mut m = queued(&[], 100, 200);
    m.rtt = MS(150);
    acks(&mut m, 700);
    assert_eq!(m.state("mode"), 0.0);
    acks(&mut m, 200);
    assert_eq!(m.state("mode"), 1.0);
    m.rtt = MS(100);
    acks(&mut m, 1);
    assert_eq!((m.state("mode"), m.state("delta")), (0.0, 0.5));
}

/// A flow that competes, with its 1/delta.
fn competing() -> (Model, f64) {
    let mut m = queued(&[], 150, 100);
    acks(&mut m, 1000);
    assert_eq!(m.state("mode"), 1.0);
    let inverse = 1.0 / m.state("delta");
    (m, inverse)
}

#[test]
fn copa_competitive_delta_is_aimd() {
    let (m, before) = competing();
    let mut m = m.at(100, Some(2));
    m.rounds(3);
    let inverse = 1.0 / m.state("delta");
    assert!((inverse - before - 3.0).abs() < 1e-9, "one more a round: {before} to {inverse}");
    m.loss();
    assert!((m.state("delta") - 2.0 / inverse).abs() < 1e-9, "half after a loss");
    m.ecn();
    m.loss();
    m.loss();
    assert_eq!(m.state("delta"), 0.5, "never fewer packets than in the default mode");
}

#[test]
fn copa_default_mode_ignores_losses() {
    let mut m = queued(&[], 100, 100);
    let before = (m.win.cwnd, m.state("delta"));
    m.loss();
    m.ecn();
    assert_eq!((m.win.cwnd, m.state("delta")), before);
}

#[test]
fn copa_a_timeout_starts_again() {
    let mut m = queued(&[], 100, 5000);
    m.rounds(7);
    m.timeout(false);
    assert_eq!((m.cwnd(), m.state("slow_start"), m.state("velocity")), (2.0, 1.0, 1.0));
    assert_eq!(m.rounds(3), [4.0, 8.0, 16.0]);
}

#[test]
fn copa_grows_only_if_limited() {
    let mut m = with_window(&[], 100, 10);
    m.path.cwnd_limited = false;
    assert_eq!(m.rounds(3), [10.0; 3], "slow start");
    let mut m = queued(&[], 100, 100);
    m.path.cwnd_limited = false;
    acks(&mut m, 200);
    assert_eq!(m.cwnd(), 100.0);
    m.rtt = MS(150);
    acks(&mut m, 200);
    assert!(m.cwnd() < 100.0);
}

#[test]
fn copa_an_ack_adds_at_most_what_it_acknowledges() {
    let mut m = queued(&[("delta", "0.001")], 100, 100);
    acks(&mut m, 1);
    assert_eq!(m.cwnd(), 101.0, "1000/100 packets are more than one");
}

#[test]
fn copa_extremes_slide() {
    let (mut least, mut most) = (Smallest::default(), Smallest::default());
    let at = |s: u64| Instant::from_nanos(s * 1_000_000_000);
    let window = Duration::from_secs(10);
    let values = [5u64, 3, 8, 4, 9, 7, 6, 9, 9, 9, 9, 9, 9, 9, 9, 2];
    let mut got = Vec::new();
    for (s, &value) in values.iter().enumerate() {
        let Reverse(largest) = most.update(at(s as u64), Reverse(value), window);
        got.push((least.update(at(s as u64), value, window), largest));
    }
    let smallest: Vec<u64> = got.iter().map(|(least, _)| *least).collect();
    // 3 is kept to second 11. The 4 came within a quarter of the window of it and is not kept; 6 is.
    assert_eq!(smallest, [5, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 6, 6, 6, 2]);
    let largest: Vec<u64> = got.iter().map(|(_, largest)| *largest).collect();
    assert_eq!(largest, [5, 5, 8, 8, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9]);
    // A gap longer than the window forgets all.
    assert_eq!(least.update(at(60), 50, window), 50);
}
