//! BBR version 1 (the reference's section 33).

use crate::pipe::{Pipe, segments};
use narrows_cc::Congestion;
use narrows_units::{Bytes, Duration, Rate};

const STARTUP: f64 = 0.0;
const DRAIN: f64 = 1.0;
const PROBE_BW: f64 = 2.0;
const PROBE_RTT: f64 = 3.0;
const BW: Rate = Rate::mbps(10);
const LOSS: Congestion = Congestion::Loss { lost: segments(1) };
const TIMEOUT: Congestion = Congestion::Timeout { repeated: false };

/// A flow that found 10 Mb/s and 40 ms, in the phase `cycle` of PROBE_BW.
fn cruising(cycle: f64) -> Pipe {
    let mut p = Pipe::new("bbr", &[], 40);
    p.until(BW, |p| p.state("phase") == DRAIN);
    p.inflight = Some(segments(30));
    p.until(BW, |p| p.state("phase") == PROBE_BW);
    // Enough in flight to end probing up.
    p.inflight = Some(segments(60));
    p.until(BW, |p| p.state("cycle") == cycle);
    p
}

#[test]
fn bbr_pacing_of_the_gains() {
    let mut p = cruising(2.0);
    for (cycle, mbps) in [(0.0, 12.375), (1.0, 7.425), (2.0, 9.9), (7.0, 9.9)] {
        p.until(BW, |p| p.state("cycle") == cycle);
        assert!((p.pacing_mbps() - mbps).abs() < 1e-4, "{cycle}: {}", p.pacing_mbps());
    }
}

#[test]
fn bbr_cwnd_targets() {
    // The product is 34.53 segments: twice that is 70, plus three bursts of two, plus two while probing up.
    let mut p = Pipe::new("bbr", &[("ack_aggregation", "false")], 40);
    p.until(BW, |p| p.state("phase") == DRAIN);
    // ssthresh is the product at gain 1 with the bursts of STARTUP's rate: 35 plus three of two, rounded up to even.
    assert_eq!(p.win.ssthresh.unwrap(), segments(42));
    p.inflight = Some(segments(30));
    p.until(BW, |p| p.state("phase") == PROBE_BW);
    p.inflight = Some(segments(60));
    p.until(BW, |p| p.state("cycle") == 3.0);
    assert_eq!(p.cwnd(), 76.0);
    p.until(BW, |p| p.state("cycle") == 0.0);
    p.inflight = Some(segments(30));
    p.round(BW);
    assert_eq!((p.state("cycle"), p.cwnd()), (0.0, 78.0));
}

#[test]
fn bbr_initial_pacing_without_rtt() {
    let p = Pipe::new("bbr", &[], 0);
    let bytes_per_second = p.win.pacing_rate.unwrap().as_bps() as f64 / 8.0;
    assert!((bytes_per_second / 41.4e6 - 1.0).abs() < 1e-3, "{bytes_per_second}");
    let p = Pipe::new("bbr", &[], 40);
    assert!((p.pacing_mbps() - 0.99 * 739.0 / 256.0 * 2.896).abs() < 1e-4, "{}", p.pacing_mbps());
}

#[test]
fn bbr_startup_doubles_and_ends_after_three_flat_rounds() {
    let mut p = Pipe::new("bbr", &[], 40);
    let mut before = 0.0;
    for mbps in [2, 4, 8, 16, 32] {
        p.round(Rate::mbps(mbps));
        assert_eq!(p.state("phase"), STARTUP);
        assert!(p.pacing_mbps() >= before, "the rate only rises");
        assert!((p.state("bw_bps") / (mbps as f64 * 1e6) - 1.0).abs() < 1e-3);
        before = p.pacing_mbps();
    }
    // 24 % more is no growth; the third such round ends it.
    for _ in 0..2 {
        p.round(Rate::kbps(39_600));
        assert_eq!(p.state("phase"), STARTUP);
    }
    p.round(Rate::kbps(39_600));
    assert_eq!((p.state("phase"), p.state("pacing_gain")), (DRAIN, 88.0 / 256.0));
    assert_eq!(p.state("cwnd_gain"), 739.0 / 256.0);
    // 25 % more each round is growth, however long it lasts.
    let mut p = Pipe::new("bbr", &[], 40);
    let mut bw = 1e6;
    for _ in 0..20 {
        p.round(Rate::bps(bw as u64));
        assert_eq!(p.state("phase"), STARTUP);
        bw *= 1.26;
    }
}

#[test]
fn bbr_enters_the_cycle_anywhere_but_in_its_drain() {
    let mut seen = [false; 8];
    for seed in 0..100 {
        let mut p = Pipe::seeded("bbr", &[], 40, seed);
        p.until(BW, |p| p.state("phase") == DRAIN);
        p.inflight = Some(segments(30));
        p.until(BW, |p| p.state("phase") == PROBE_BW);
        seen[p.state("cycle") as usize] = true;
    }
    assert_eq!(seen, [true, false, true, true, true, true, true, true]);
}

#[test]
fn bbr_cycle_phases_end_as_they_should() {
    // Cruising ends by time alone.
    let mut p = cruising(7.0);
    p.until(BW, |p| p.state("cycle") == 0.0);
    // Probing lasts until 5/4 of the product is in flight: 44 segments plus six plus two, minus the coming burst.
    p.inflight = Some(segments(25));
    p.round(BW);
    p.round(BW);
    assert_eq!(p.state("cycle"), 0.0, "not enough in flight");
    p.inflight = Some(segments(50));
    p.round(BW);
    assert_eq!(p.state("cycle"), 1.0);
    // Draining ends by time or as soon as the product is in flight.
    p.inflight = Some(segments(20));
    p.ack(segments(1), BW, p.path.delivered);
    assert_eq!(p.state("cycle"), 2.0);
    // Loss ends probing, once it has lasted for a round-trip time.
    let mut p = cruising(0.0);
    p.inflight = Some(segments(10));
    p.until(BW, |p| p.state("cycle") == 0.0);
    p.round(BW);
    p.round(BW);
    assert_eq!(p.state("cycle"), 0.0);
    p.lost = segments(1);
    p.ack(segments(1), BW, p.path.delivered);
    assert_eq!(p.state("cycle"), 1.0);
}

#[test]
fn bbr_counts_what_arrives_before_the_next_departure() {
    // DRAIN ends at the product with STARTUP's bursts: 42 segments at 10 Mb/s and 40 ms. A segment takes 1.1584 ms.
    let draining = |segments_in_flight, departure_us| {
        let mut p = Pipe::new("bbr", &[], 40);
        p.until(BW, |p| p.state("phase") == DRAIN);
        p.inflight = Some(segments(segments_in_flight));
        p.path.departure = p.path.now + Duration::from_micros(departure_us);
        p.ack(segments(1), BW, p.path.delivered);
        p.state("phase") == DRAIN
    };
    // One ACK has lowered the rate to DRAIN's: the target is 35 + 3 * 2 segments, in even numbers.
    assert!(!draining(42, 0) && draining(43, 0), "without a wait, what is in flight decides");
    assert!(draining(43, 1_100), "part of a segment has not arrived");
    assert!(!draining(43, 1_200), "one segment arrives before the next leaves");
    assert!(draining(52, 11_500) && !draining(52, 11_700), "nine, and ten");
    assert!(!draining(42, 1_000_000), "all of it may arrive");
    // Probing up counts the burst that leaves next, and waits until 5/4 of the product would still be in flight then.
    let probing = |departure_us| {
        let mut p = cruising(0.0);
        p.inflight = Some(segments(10));
        p.round(BW);
        p.round(BW);
        p.inflight = Some(segments(49));
        p.path.departure = p.path.now + Duration::from_micros(departure_us);
        p.ack(segments(1), BW, p.path.delivered);
        p.state("cycle") == 0.0
    };
    assert!(!probing(0), "50 before the ACK and two that leave: the 52 of the target");
    assert!(probing(1_200), "51 will be left");
}

#[test]
fn bbr_an_equal_rtt_does_not_renew_the_minimum() {
    // The round-trip time stays at its minimum, and yet PROBE_RTT begins ten seconds after the first sample of it.
    let mut p = Pipe::new("bbr", &[], 40);
    let start = p.path.now;
    p.inflight = Some(segments(30));
    p.until(BW, |p| p.state("phase") == PROBE_RTT);
    let waited = p.path.now.since(start).as_secs_f64();
    assert!(waited > 10.0 && waited < 10.1, "{waited}");
}

#[test]
fn bbr_an_ack_that_delivers_nothing_leaves_the_window() {
    let mut p = cruising(3.0);
    p.event(LOSS);
    let before = p.cwnd();
    p.inflight = Some(segments(20));
    p.lost = segments(1);
    p.ack(Bytes::ZERO, BW, p.path.delivered);
    assert_eq!(p.cwnd(), before, "recovery begins with the first ACK that delivers something");
    p.lost = Bytes::ZERO;
    p.ack(segments(1), BW, p.path.delivered);
    assert_eq!(p.cwnd(), 21.0);
}

#[test]
fn bbr_probe_rtt_holds_four_segments() {
    let mut p = cruising(2.0);
    let before = p.cwnd();
    let start = p.path.now;
    // The standing queue hides the minimum.
    p.rtt = Duration::from_millis(45);
    p.until(BW, |p| p.state("phase") == PROBE_RTT);
    let waited = p.path.now.since(start).as_secs_f64();
    assert!(waited > 9.5 && waited < 10.5, "{waited}");
    assert_eq!(p.cwnd(), 4.0);
    assert!(p.cc.holds_back(), "samples of four segments are no samples of the path");
    // The time counts from the moment when four segments are in flight.
    let (mut entered, bw) = (p.path.now, p.state("bw_bps"));
    p.inflight = Some(segments(5));
    p.round(BW);
    p.inflight = None;
    p.app_limited = true;
    while p.state("phase") == PROBE_RTT {
        p.round(Rate::mbps(1));
        assert!(p.state("phase") != PROBE_RTT || p.cwnd() == 4.0);
        assert!(p.path.now.since(entered) < Duration::from_secs(1));
    }
    entered += Duration::from_millis(45);
    let held = p.path.now.since(entered).as_millis();
    assert!((200..=300).contains(&held), "{held} ms");
    assert_eq!(p.state("phase"), PROBE_BW);
    assert!(p.cwnd() >= before - 2.0, "{} of {before}", p.cwnd());
    assert_eq!((p.state("bw_bps"), p.state("min_rtt_s")), (bw, 0.045));
}

#[test]
fn bbr_bandwidth_is_forgotten_after_ten_rounds() {
    let mut p = cruising(2.0);
    let bw = p.state("bw_bps");
    for _ in 0..10 {
        p.round(Rate::mbps(4));
        assert_eq!(p.state("bw_bps"), bw);
    }
    p.round(Rate::mbps(4));
    assert!((p.state("bw_bps") / 4e6 - 1.0).abs() < 1e-3);
}

#[test]
fn bbr_app_limited_samples_count_only_upwards() {
    let mut p = cruising(2.0);
    p.app_limited = true;
    let bw = p.state("bw_bps");
    for _ in 0..50 {
        p.round(Rate::mbps(1));
    }
    assert_eq!(p.state("bw_bps"), bw);
    p.round(Rate::mbps(12));
    assert!((p.state("bw_bps") / 12e6 - 1.0).abs() < 1e-3);
    // STARTUP does not end because the application is slow.
    let mut p = Pipe::new("bbr", &[], 40);
    p.app_limited = true;
    for _ in 0..50 {
        p.round(Rate::mbps(1));
    }
    assert_eq!(p.state("phase"), STARTUP);
}

#[test]
fn bbr_recovery_conserves_packets_for_a_round() {
    let mut p = cruising(3.0);
    let (before, bw) = (p.cwnd(), p.state("bw_bps"));
    p.event(LOSS);
    assert_eq!(p.cwnd(), before, "the window is cut by the ACK, not by the verdict");
    p.inflight = Some(segments(20));
    let prior = p.path.delivered.saturating_sub(segments(1));
    p.lost = segments(1);
    p.ack(segments(1), BW, prior);
    assert_eq!(p.cwnd(), 21.0, "what is in flight and what was delivered");
    p.lost = Bytes::ZERO;
    p.inflight = Some(segments(19));
    p.ack(segments(2), BW, prior);
    assert_eq!(p.cwnd(), 21.0);
    // The next round grows by what is delivered, to the target.
    p.ack(segments(2), BW, p.path.delivered);
    assert_eq!(p.cwnd(), 23.0);
    p.recovered();
    p.ack(segments(1), BW, prior);
    assert!(p.cwnd() >= before - 2.0, "{} of {before}", p.cwnd());
    assert_eq!(p.state("bw_bps"), bw, "losses do not move the model");
}

#[test]
fn bbr_timeout_grows_back_to_the_window_before() {
    let mut p = cruising(3.0);
    let before = p.cwnd();
    p.event(TIMEOUT);
    assert_eq!(p.cwnd(), 1.0);
    p.event(Congestion::Timeout { repeated: true });
    assert_eq!((p.cwnd(), p.win.ssthresh.is_some()), (1.0, true));
    let prior = p.path.delivered;
    p.ack(segments(1), BW, prior);
    assert_eq!(p.cwnd(), 4.0);
    p.ack(segments(3), BW, prior);
    assert_eq!(p.cwnd(), 7.0);
    p.recovered();
    p.ack(segments(1), BW, prior);
    assert!(p.cwnd() >= before - 2.0, "{} of {before}", p.cwnd());
}

#[test]
fn bbr_undo_resets_the_search_for_full_bandwidth() {
    let mut p = Pipe::new("bbr", &[], 40);
    p.round(BW);
    p.round(BW);
    p.round(BW);
    p.event(LOSS);
    let cwnd = p.win.cwnd;
    p.cc.on_undo(&p.path, &mut p.win);
    assert_eq!(p.win.cwnd, cwnd);
    p.recovered();
    // Three flat rounds are needed from here: the first of the four sets the level again.
    for _ in 0..3 {
        p.round(BW);
        assert_eq!(p.state("phase"), STARTUP);
    }
    p.round(BW);
    assert_eq!(p.state("phase"), DRAIN);
}

#[test]
fn bbr_restart_after_idle_paces_at_the_bandwidth() {
    let mut p = cruising(2.0);
    p.inflight = Some(segments(25));
    p.until(BW, |p| p.state("cycle") == 0.0);
    assert!((p.pacing_mbps() - 12.375).abs() < 1e-4);
    p.restart(Duration::from_secs(60));
    assert!((p.pacing_mbps() - 9.9).abs() < 1e-4, "no probing with an empty pipe");
    p.ack(segments(1), BW, p.path.delivered);
    assert!(p.state("phase") != PROBE_RTT, "the idle time has drained the queue");
}

#[test]
fn bbr_finds_a_policer() {
    let policed = Rate::mbps(4);
    let run = |given: &[(&str, &str)]| {
        let mut p = Pipe::new("bbr", given, 40);
        p.until(BW, |p| p.state("phase") == DRAIN);
        p.inflight = Some(segments(30));
        p.until(BW, |p| p.state("phase") == PROBE_BW);
        // A quarter of what is sent is lost.
        p.lost = policed.bytes_in(p.rtt) / 12;
        for _ in 0..12 {
            p.round(policed);
        }
        p
    };
    let mut p = run(&[]);
    assert_eq!((p.state("policed"), p.state("pacing_gain")), (1.0, 1.0));
    assert!((p.state("bw_bps") / 4e6 - 1.0).abs() < 0.05, "{}", p.state("bw_bps"));
    p.lost = Bytes::ZERO;
    let rounds = p.until(policed, |p| p.state("policed") == 0.0);
    assert!((36..=48).contains(&rounds), "{rounds}");
    assert_eq!(run(&[("policer", "false")]).state("policed"), 0.0);
}

#[test]
fn bbr_aggregation_is_added_to_the_window() {
    let targets = |given: &[(&str, &str)]| {
        let mut p = Pipe::new("bbr", given, 40);
        p.until(BW, |p| p.state("phase") == DRAIN);
        p.inflight = Some(segments(30));
        p.until(BW, |p| p.state("phase") == PROBE_BW);
        // One ACK per round: each epoch begins with the data of a whole round.
        for _ in 0..20 {
            p.round_of(BW, 1);
        }
        (p.cwnd(), p.state("extra_acked_bytes"))
    };
    let ((with, extra), (without, _)) = (targets(&[]), targets(&[("ack_aggregation", "false")]));
    assert!((extra - 50_000.0).abs() < 1500.0, "{extra}");
    assert!(with - without >= 34.0 && with - without <= 36.0, "{with} and {without}");
}
