//! BBR version 3 (the reference's section 34).

use crate::pipe::{Pipe, SMSS, segments};
use narrows_cc::{Congestion, EcnFeedback};
use narrows_units::{Bytes, Duration, Rate};

pub(crate) const STARTUP: f64 = 0.0;
pub(crate) const DRAIN: f64 = 1.0;
pub(crate) const DOWN: f64 = 2.0;
pub(crate) const CRUISE: f64 = 3.0;
pub(crate) const REFILL: f64 = 4.0;
pub(crate) const UP: f64 = 5.0;
pub(crate) const PROBE_RTT: f64 = 6.0;
pub(crate) const BW: Rate = Rate::mbps(10);
pub(crate) const LOSS: Congestion = Congestion::Loss { lost: segments(1) };
pub(crate) const TIMEOUT: Congestion = Congestion::Timeout { repeated: false };

pub(crate) fn is(phase: f64) -> impl Fn(&Pipe) -> bool {
    move |p| p.state("phase") == phase
}

/// A flow that found 10 Mb/s and 40 ms, in the state `phase`, whose ACKs do not come in bunches.
pub(crate) fn in_state(phase: f64) -> Pipe {
    seeded(phase, "draft", 1)
}

pub(crate) fn seeded(phase: f64, profile: &str, seed: u64) -> Pipe {
    let mut p = Pipe::seeded("bbr3", &[("profile", profile)], 40, seed);
    p.until(BW, is(DRAIN));
    // With the product in flight, DOWN ends at once.
    p.inflight = Some(segments(if phase == DOWN { 60 } else { 30 }));
    p.until(BW, is(phase));
    p
}

/// The same with a long-term bound of `long` segments, found by a probe that lost more than 2 %.
pub(crate) fn bounded(phase: f64, long: u64) -> Pipe {
    let mut p = in_state(UP);
    p.lose(segments(1), segments(long), segments(long / 40 + 1));
    assert_eq!(p.state("phase"), DOWN);
    p.until(BW, is(phase));
    p
}

pub(crate) fn bytes(p: &Pipe, name: &str) -> f64 {
    p.state(name) / SMSS as f64
}

#[test]
fn bbr3_bdp_probe_rtt_cwnd_and_headroom() {
    // The product is 34.53 segments; half of it in ProbeRTT.
    let mut p = in_state(CRUISE);
    p.until(BW, is(PROBE_RTT));
    assert!((p.cwnd() - 17.27).abs() < 0.01, "{}", p.cwnd());
    // 15 % of the bound are left to other flows: more than a segment.
    let mut p = bounded(DOWN, 40);
    let long = bytes(&p, "inflight_longterm_bytes");
    p.inflight = Some(segments(10));
    p.until(BW, is(CRUISE));
    p.round(BW);
    assert!((p.cwnd() - 0.85 * long).abs() < 0.01, "{} of {long}", p.cwnd());
    // The headroom is at least a segment, and the window at least four.
    let mut p = bounded(CRUISE, 2);
    p.round(BW);
    assert!(p.cwnd() >= 4.0, "{}", p.cwnd());
}

#[test]
fn bbr3_pacing_of_the_gains() {
    for (phase, mbps) in [(DOWN, 8.91), (CRUISE, 9.9), (REFILL, 9.9), (UP, 12.375)] {
        let p = in_state(phase);
        assert!((p.pacing_mbps() - mbps).abs() < 1e-4, "{phase}: {}", p.pacing_mbps());
    }
    let mut p = Pipe::new("bbr3", &[], 40);
    p.until(BW, is(DRAIN));
    assert!((p.pacing_mbps() - 0.5 * 9.9).abs() < 1e-4, "{}", p.pacing_mbps());
}

#[test]
fn bbr3_initial_pacing() {
    for (rtt_ms, divisor) in [(0, 0.001), (40, 0.04)] {
        let p = Pipe::new("bbr3", &[], rtt_ms);
        let want = 2.77 * 14_480.0 * 8.0 / divisor / 1e6;
        assert!((p.pacing_mbps() / want - 1.0).abs() < 1e-6, "{} of {want}", p.pacing_mbps());
    }
}

#[test]
fn bbr3_startup_ends_after_three_flat_rounds() {
    let mut p = Pipe::new("bbr3", &[], 40);
    for mbps in [2, 4, 8, 16, 32] {
        p.round(Rate::mbps(mbps));
        assert_eq!((p.state("phase"), p.state("pacing_gain")), (STARTUP, 2.77));
    }
    for _ in 0..2 {
        p.round(Rate::kbps(39_600));
        assert_eq!(p.state("phase"), STARTUP);
    }
    p.round(Rate::kbps(39_600));
    assert_eq!(p.state("phase"), DRAIN);
}

#[test]
fn bbr3_startup_ends_by_many_losses() {
    let after = |ranges: u64, recovery: bool, share: u64| {
        let mut p = Pipe::new("bbr3", &[], 40);
        p.round(Rate::mbps(2));
        p.round(Rate::mbps(4));
        if recovery {
            p.event(LOSS);
        }
        p.round(Rate::mbps(8));
        for _ in 0..ranges {
            p.lose(segments(1), segments(100), segments(1));
        }
        p.tx_inflight = Some(segments(100));
        p.lost = segments(share);
        p.round(Rate::mbps(16));
        p
    };
    let p = after(6, true, 3);
    assert_eq!(p.state("phase"), DRAIN);
    // The bound is the larger of the product and what the round delivered.
    assert!(p.state("inflight_longterm_bytes") >= 16e6 / 8.0 * 0.04, "{}", p.state("inflight_longterm_bytes"));
    assert_eq!(after(5, true, 3).state("phase"), STARTUP, "in too few places");
    assert_eq!(after(6, true, 2).state("phase"), STARTUP, "not more than 2 %");
    assert_eq!(after(6, false, 3).state("phase"), STARTUP, "not in recovery");
}

#[test]
fn bbr3_drain_ends_by_inflight_or_rounds() {
    let drained = |inflight, profile| {
        let mut p = Pipe::new("bbr3", &[("profile", profile)], 40);
        p.until(BW, is(DRAIN));
        p.inflight = Some(segments(inflight));
        p.until(BW, |p| p.state("phase") >= DOWN)
    };
    assert_eq!(drained(34, "draft"), 1);
    assert_eq!(drained(90, "draft"), 4);
    assert_eq!(drained(34, "linux"), 1);
}

#[test]
#[should_panic(expected = "never")]
fn bbr3_drain_of_linux_waits_for_the_pipe() {
    let mut p = Pipe::new("bbr3", &[("profile", "linux")], 40);
    p.until(BW, is(DRAIN));
    p.inflight = Some(segments(90));
    p.until(BW, is(DOWN));
}

#[test]
fn bbr3_a_lossy_round_of_cruise_cuts_by_beta() {
    let mut p = in_state(CRUISE);
    let before = p.cwnd();
    p.round(Rate::mbps(6));
    p.lose(segments(1), segments(30), segments(1));
    p.round(Rate::mbps(6));
    // max(0.6, 0.7) of the bandwidth and of the window.
    assert!((p.state("bw_shortterm_bps") / 7e6 - 1.0).abs() < 0.01, "{}", p.state("bw_shortterm_bps"));
    assert!((bytes(&p, "inflight_shortterm_bytes") / before - 0.7).abs() < 0.01);
    assert!((p.cwnd() / before - 0.7).abs() < 0.01, "{} of {before}", p.cwnd());
    assert!((p.state("bw_bps") / 7e6 - 1.0).abs() < 0.01);
    // A round that delivers more than 0.7 of the bound becomes the bound.
    p.round(Rate::mbps(6));
    p.lose(segments(1), segments(30), segments(1));
    p.round(Rate::mbps(6));
    assert!((p.state("bw_shortterm_bps") / 6e6 - 1.0).abs() < 0.01, "{}", p.state("bw_shortterm_bps"));
}

#[test]
fn bbr3_a_mark_is_a_loss_of_its_round() {
    let mut p = in_state(CRUISE);
    p.event(Congestion::Ecn { marked: segments(1) });
    assert_eq!(p.state("bw_shortterm_bps"), 0.0);
    p.round(BW);
    p.round(BW);
    assert!((p.state("bw_shortterm_bps") / 1e7 - 1.0).abs() < 0.01, "all of it was delivered nevertheless");
    assert_eq!(p.state("inflight_longterm_bytes"), 0.0);
}

/// A flow in CRUISE on a path of 40 ms with its switch `ecn`, which found 10 Mb/s without a mark.
fn marked(max_rtt: &str) -> Pipe {
    let mut p = Pipe::seeded("bbr3", &[("ecn", "true"), ("ecn_max_rtt", max_rtt)], 40, 1);
    p.path.ecn = EcnFeedback::Accurate;
    p.until(BW, is(DRAIN));
    p.inflight = Some(segments(30));
    p.until(BW, is(CRUISE));
    p
}

#[test]
fn bbr3_ecn_bounds_the_data_in_flight_and_not_the_bandwidth() {
    let mut p = marked("0");
    p.round_of(BW, 1);
    let (before, cwnd) = (p.state("ecn_alpha"), p.win.cwnd.as_f64());
    assert!(before < 1.0, "rounds without marks: {before}");
    p.marking = true;
    p.event(Congestion::Ecn { marked: segments(1) });
    // Rounds of one ACK each: alpha = 15/16 alpha + 1/16, and two marked rounds cut twice.
    p.round_of(BW, 1);
    let alpha = before + (1.0 - before) / 16.0;
    assert!((p.state("ecn_alpha") - alpha).abs() < 1e-12);
    let once = cwnd * (1.0 - alpha / 3.0);
    assert!((p.state("inflight_shortterm_bytes") - once).abs() <= 1.0);
    p.round_of(BW, 1);
    let alpha = alpha + (1.0 - alpha) / 16.0;
    assert!((p.state("inflight_shortterm_bytes") - once * (1.0 - alpha / 3.0)).abs() <= 2.0);
    p.marking = false;
    let short = p.state("inflight_shortterm_bytes");
    p.round_of(BW, 1);
    assert_eq!(p.state("inflight_shortterm_bytes"), short, "no mark");
    assert_eq!((p.state("bw_shortterm_bps"), p.state("inflight_longterm_bytes")), (0.0, 0.0));
    // A path that is too long has the response to a loss.
    let mut p = marked("5");
    p.marking = true;
    p.event(Congestion::Ecn { marked: segments(1) });
    p.round(BW);
    p.round(BW);
    assert_eq!(p.state("ecn_alpha"), 1.0);
    assert!(p.state("bw_shortterm_bps") > 0.0);
}

#[test]
fn bbr3_ecn_ends_startup_and_probes_that_go_too_far() {
    let mut p = Pipe::seeded("bbr3", &[("ecn", "true"), ("ecn_max_rtt", "0")], 40, 1);
    p.path.ecn = EcnFeedback::Accurate;
    // Growing rounds, so that the bandwidth does not end Startup; marks of two rounds do.
    p.round(Rate::mbps(1));
    p.marking = true;
    p.round(Rate::mbps(2));
    assert_eq!(p.state("full_bw_reached"), 0.0);
    p.round(Rate::mbps(4));
    p.round(Rate::mbps(8));
    assert_eq!(p.state("full_bw_reached"), 1.0);
    assert!(p.state("inflight_longterm_bytes") > 0.0);
    let mut p = marked("0");
    p.until(BW, is(UP));
    p.marking = true;
    p.until(BW, is(DOWN));
    assert!(p.state("inflight_longterm_bytes") > 0.0, "what was in flight is the bound");
}

#[test]
fn bbr3_refill_forgets_the_short_term() {
    let mut p = in_state(CRUISE);
    p.round(Rate::mbps(6));
    p.lose(segments(1), segments(30), segments(1));
    p.round(Rate::mbps(6));
    p.until(BW, is(REFILL));
    assert_eq!((p.state("bw_shortterm_bps"), p.state("inflight_shortterm_bytes")), (0.0, 0.0));
    assert!((p.pacing_mbps() - 9.9).abs() < 1e-4, "{}", p.pacing_mbps());
}

#[test]
fn bbr3_up_grows_the_long_term_bound_exponentially() {
    // A path of 400 segments, so that a bound of 100 limits; every round one window is delivered.
    let mut p = in_state(UP);
    p.rtt = Duration::from_millis(40);
    p.lose(segments(1), segments(101), segments(3));
    (p.inflight, p.tx_inflight) = (Some(segments(20)), Some(segments(20)));
    let fast = Rate::mbps(100);
    p.until(fast, is(REFILL));
    let start = bytes(&p, "inflight_longterm_bytes");
    let mut grown = Vec::new();
    for _ in 0..4 {
        // The flow fills the bound: a round acknowledges cwnd segments. The first ACK begins to probe.
        let (prior, cwnd, begin) = (p.path.delivered, p.win.cwnd, p.path.now);
        for i in 1..=100 {
            p.path.now = begin + p.rtt * i / 100;
            p.ack(cwnd / 100, fast, prior);
        }
        assert_eq!(p.state("phase"), UP);
        grown.push(bytes(&p, "inflight_longterm_bytes") - start);
    }
    assert!((start - 100.0).abs() < 0.1, "{start}");
    for (got, want) in grown.iter().zip([1.0, 3.0, 7.0, 15.0]) {
        assert!((got - want).abs() <= 1.0, "{grown:?} from {start}");
    }
}

#[test]
fn bbr3_inflight_at_loss() {
    // Segments of one unit: with 100 in flight and 5 lost, 2 % were reached at 96.94.
    let mut p = in_state(UP);
    p.lose(segments(1), segments(100), segments(5));
    let long = bytes(&p, "inflight_longterm_bytes");
    assert!((long - 96.94).abs() < 0.01, "{long}");
}

#[test]
fn bbr3_a_probe_that_loses_goes_down() {
    // 2 % are tolerated.
    let mut p = in_state(UP);
    p.lose(segments(1), segments(50), segments(1));
    assert_eq!((p.state("phase"), p.state("inflight_longterm_bytes")), (UP, 0.0));
    p.lose(segments(1), segments(49), segments(1));
    assert_eq!(p.state("phase"), DOWN);
    // The bound is at least 0.7 of the flow's target.
    let mut p = in_state(UP);
    p.lose(segments(5), segments(5), segments(5));
    assert!((bytes(&p, "inflight_longterm_bytes") - 0.7 * 34.53).abs() < 0.1);
    // Losses outside of probes do not set it.
    let mut p = in_state(CRUISE);
    p.lose(segments(5), segments(20), segments(5));
    assert_eq!((p.state("phase"), p.state("inflight_longterm_bytes")), (CRUISE, 0.0));
}

#[test]
fn bbr3_probes_every_two_to_three_seconds() {
    // A path of 100 Mb/s: Reno would need more rounds than the wait allows.
    let fast = Rate::mbps(100);
    let waits: Vec<f64> = (0..20)
        .map(|seed| {
            let mut p = Pipe::seeded("bbr3", &[], 60, seed);
            p.until(fast, is(DRAIN));
            p.inflight = Some(segments(30));
            p.until(fast, is(CRUISE));
            let start = p.path.now;
            p.until(fast, is(REFILL));
            p.path.now.since(start).as_secs_f64()
        })
        .collect();
    assert!(waits.iter().all(|w| (1.8..3.3).contains(w)), "{waits:?}");
    let (least, most) = (waits.iter().fold(9.0, |a: f64, b| a.min(*b)), waits.iter().fold(0.0, |a: f64, b| a.max(*b)));
    assert!(most - least > 0.4, "they are random: {waits:?}");
}

#[test]
fn bbr3_coexists_with_reno() {
    // At 34 segments the next probe comes after 34 rounds, 1.4 s.
    let mut p = in_state(CRUISE);
    let start = p.path.now;
    p.until(BW, is(REFILL));
    let wait = p.path.now.since(start).as_secs_f64();
    assert!((1.2..1.5).contains(&wait), "{wait}");
}

#[test]
fn bbr3_probe_rtt_every_five_seconds() {
    let mut p = in_state(CRUISE);
    let before = p.cwnd();
    p.rtt = Duration::from_millis(45);
    p.until(BW, is(PROBE_RTT));
    let since = p.path.now.since(narrows_units::Instant::from_nanos(1_000_000_000)).as_secs_f64();
    assert!((5.0..5.4).contains(&since), "{since}");
    assert!(p.cc.holds_back());
    let start = p.path.now;
    p.inflight = Some(segments(10));
    p.app_limited = true;
    p.until(Rate::mbps(5), |p| p.state("phase") != PROBE_RTT);
    let held = p.path.now.since(start).as_millis();
    assert!((200..=340).contains(&held), "{held} ms");
    assert_eq!(p.state("phase"), CRUISE);
    assert!(p.cwnd() > before - 1.0, "{} of {before}", p.cwnd());
    // The minimum is kept twice as long as the interval between probes of it.
    assert_eq!(p.state("min_rtt_s"), 0.04);
    p.app_limited = false;
    p.until(BW, |p| p.state("min_rtt_s") == 0.045);
    let since = p.path.now.since(narrows_units::Instant::from_nanos(1_000_000_000)).as_secs_f64();
    assert!((10.0..11.5).contains(&since), "{since}");
}

#[test]
fn bbr3_bandwidth_is_forgotten_after_two_cycles() {
    let mut p = in_state(CRUISE);
    let slow = Rate::mbps(4);
    let mut probes = 0;
    while p.state("max_bw_bps") > 9e6 {
        p.until(slow, is(UP));
        p.until(slow, |p| p.state("phase") != UP);
        p.round(slow);
        p.round(slow);
        probes += 1;
        assert!(probes < 4);
    }
    assert_eq!(probes, 2);
    assert!((p.state("max_bw_bps") / 4e6 - 1.0).abs() < 0.01);
}

#[test]
fn bbr3_timeout_and_undo() {
    let mut p = in_state(CRUISE);
    let before = p.cwnd();
    p.lose(segments(1), segments(30), segments(1));
    p.event(TIMEOUT);
    assert_eq!(p.cwnd(), 1.0);
    p.event(Congestion::Timeout { repeated: true });
    p.ack(segments(1), BW, Bytes::ZERO);
    assert_eq!(p.cwnd(), 4.0);
    p.cc.on_undo(&p.path, &mut p.win);
    assert_eq!(p.cwnd(), before);
    p.round(BW);
    p.round(BW);
    assert_eq!(p.state("bw_shortterm_bps"), 0.0, "the loss is forgotten");
    // The end of recovery restores the window too.
    p.event(LOSS);
    p.win.cwnd = segments(5);
    p.recovered();
    assert!(p.cwnd() >= before - 1.0, "{} of {before}", p.cwnd());
    // The loss that ended the probe was spurious: the probe resumes, without the bound.
    let mut p = in_state(UP);
    p.lose(segments(1), segments(20), segments(1));
    assert_eq!(p.state("phase"), DOWN);
    p.cc.on_undo(&p.path, &mut p.win);
    assert_eq!((p.state("phase"), p.state("inflight_longterm_bytes")), (REFILL, 0.0));
}

#[test]
fn bbr3_restart_after_idle_paces_at_the_bandwidth() {
    let mut p = in_state(UP);
    assert!((p.pacing_mbps() - 12.375).abs() < 1e-4);
    p.restart(Duration::from_secs(60));
    assert!((p.pacing_mbps() - 9.9).abs() < 1e-4);
    p.ack(segments(1), BW, p.path.delivered);
    assert!(p.state("phase") != PROBE_RTT, "the idle time has drained the queue");
}

#[test]
fn bbr3_profiles_differ_as_the_page_says() {
    let mut p = seeded(UP, "linux", 1);
    p.inflight = Some(segments(60));
    p.until(BW, is(DOWN));
    assert_eq!(p.state("pacing_gain"), 232.0 / 256.0);
    let p = Pipe::new("bbr3", &[("profile", "linux")], 40);
    assert_eq!(p.state("pacing_gain"), 710.0 / 256.0);
    let mut p = Pipe::new("bbr3", &[("profile", "linux")], 40);
    p.until(BW, is(DRAIN));
    assert_eq!(p.state("pacing_gain"), 88.0 / 256.0);
    // One ACK per round: the excess is the data of a round. Linux bounds it by 100 ms, the draft by cwnd.
    for profile in ["draft", "linux"] {
        let mut p = seeded(CRUISE, profile, 1);
        for _ in 0..8 {
            p.round_of(BW, 1);
        }
        let extra = p.state("extra_acked_bytes");
        assert!((extra - 50_000.0).abs() < 1500.0, "{profile}: {extra}");
    }
}
