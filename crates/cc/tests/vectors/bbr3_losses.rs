//! BBR version 3: losses, their undo, and the rules that draft-ietf-ccwg-bbr-06 added or made clear.

use crate::bbr3::{
    BW, CRUISE, DOWN, DRAIN, LOSS, PROBE_RTT, REFILL, STARTUP, TIMEOUT, UP, bounded, bytes, in_state, is, seeded,
};
use crate::pipe::{Pipe, segments};
use narrows_units::{Bytes, Duration, Rate};

fn undo(p: &mut Pipe) {
    p.cc.on_undo(&p.path, &mut p.win);
}

/// A flow whose Startup six lost ranges ended, still in fast recovery.
fn startup_ended_by_losses(profile: &str) -> Pipe {
    let mut p = Pipe::new("bbr3", &[("profile", profile)], 40);
    p.round(Rate::mbps(2));
    p.round(Rate::mbps(4));
    p.lose(segments(1), segments(100), segments(1));
    p.event(LOSS);
    p.round(Rate::mbps(8));
    for _ in 0..6 {
        p.lose(segments(1), segments(100), segments(1));
        p.tx_inflight = Some(segments(100));
        p.lost = segments(3);
        p.ack(segments(1), Rate::mbps(8), Bytes::ZERO);
    }
    p.round(Rate::mbps(16));
    assert_eq!((p.state("phase"), p.state("full_bw_reached")), (DRAIN, 1.0));
    p
}

#[test]
fn bbr3_losses_that_end_startup_set_full_bw_now_too() {
    let p = startup_ended_by_losses("draft");
    assert_eq!((p.state("full_bw_now"), p.state("full_bw_count"), p.state("undo_state")), (1.0, 0.0, 1.0));
    let p = startup_ended_by_losses("linux");
    assert_eq!(p.state("full_bw_now"), 0.0, "google/bbr leaves it");
}

#[test]
fn bbr3_an_undo_returns_to_startup_that_losses_ended() {
    let mut p = startup_ended_by_losses("draft");
    assert!(p.state("inflight_longterm_bytes") > 0.0);
    undo(&mut p);
    assert_eq!((p.state("phase"), p.state("full_bw_reached"), p.state("full_bw_now")), (STARTUP, 0.0, 0.0));
    assert_eq!((p.state("inflight_longterm_bytes"), p.state("undo_state")), (0.0, 0.0));
    assert_eq!(p.win.ssthresh, None);
    // google/bbr restores the bounds and stays in Drain.
    let mut p = startup_ended_by_losses("linux");
    undo(&mut p);
    assert_eq!((p.state("phase"), p.state("inflight_longterm_bytes")), (DRAIN, 0.0));
}

#[test]
fn bbr3_an_undo_in_probe_rtt_returns_to_startup_afterwards() {
    let mut p = startup_ended_by_losses("draft");
    (p.lost, p.tx_inflight, p.rtt) = (Bytes::ZERO, None, Duration::from_millis(45));
    p.inflight = Some(segments(400));
    p.until(BW, is(PROBE_RTT));
    undo(&mut p);
    assert_eq!((p.state("phase"), p.state("full_bw_reached")), (PROBE_RTT, 0.0));
    // The connection marks samples of ProbeRTT as limited by the application, so they do not show a plateau.
    (p.inflight, p.app_limited) = (Some(segments(4)), true);
    p.until(BW, |p| p.state("phase") != PROBE_RTT);
    assert_eq!(p.state("phase"), STARTUP);
}

#[test]
fn bbr3_an_undo_does_not_return_to_startup_that_a_plateau_ended() {
    let mut p = Pipe::new("bbr3", &[], 40);
    p.round(BW);
    p.lose(segments(1), segments(100), segments(1));
    p.event(LOSS);
    p.inflight = Some(segments(400));
    p.until(BW, is(DRAIN));
    undo(&mut p);
    assert_eq!((p.state("phase"), p.state("full_bw_reached")), (DRAIN, 1.0));
}

#[test]
fn bbr3_an_episode_saves_once_however_many_losses_it_has() {
    let mut p = bounded(UP, 50);
    let (long, cwnd) = (p.state("inflight_longterm_bytes"), p.cwnd());
    assert!(long > 0.0);
    // The first segment is within 2 %, the second ends the probe, and the others come after that.
    for lost in 1..=4 {
        p.lose(segments(1), segments(60), segments(lost));
    }
    p.event(LOSS);
    assert_eq!((p.state("phase"), p.state("undo_state")), (DOWN, 2.0));
    assert!(p.state("inflight_longterm_bytes") != long);
    assert_eq!(p.state("undo_inflight_longterm_bytes"), long);
    // Two lossy rounds of the same recovery set the short-term bounds, which were not set before.
    for _ in 0..2 {
        p.round(Rate::mbps(6));
        p.lose(segments(1), segments(60), segments(1));
    }
    p.round(Rate::mbps(6));
    assert!(p.state("bw_shortterm_bps") > 0.0 && p.state("inflight_shortterm_bytes") > 0.0);
    assert_eq!((p.state("undo_bw_shortterm_bps"), p.state("undo_inflight_shortterm_bytes")), (0.0, 0.0));
    undo(&mut p);
    assert_eq!(p.state("phase"), REFILL);
    assert_eq!((p.state("bw_shortterm_bps"), p.state("inflight_shortterm_bytes")), (0.0, 0.0));
    assert!(p.state("inflight_longterm_bytes") >= long);
    assert!(p.cwnd() >= cwnd - 0.01, "{} of {cwnd}", p.cwnd());
    p.until(BW, is(UP));
}

#[test]
fn bbr3_a_timeout_saves_again() {
    let mut p = in_state(UP);
    for lost in 1..=3 {
        p.lose(segments(1), segments(40), segments(lost));
    }
    p.event(LOSS);
    assert_eq!((p.state("phase"), p.state("undo_state")), (DOWN, 2.0));
    let long = p.state("inflight_longterm_bytes");
    p.event(TIMEOUT);
    assert_eq!((p.state("undo_state"), p.state("undo_inflight_longterm_bytes")), (0.0, long));
    // That the timeout was spurious does not show that the losses before it were.
    undo(&mut p);
    assert_eq!((p.state("phase"), p.state("inflight_longterm_bytes")), (DOWN, long));
    // A timeout that ends a probe is an episode of its own, with a state to return to.
    let mut p = in_state(UP);
    p.path.phase = narrows_cc::Phase::Loss;
    for lost in 1..=30 {
        p.lose(segments(1), segments(40), segments(lost));
    }
    p.event(TIMEOUT);
    assert_eq!((p.state("phase"), p.state("undo_state"), p.cwnd()), (DOWN, 2.0, 1.0));
    undo(&mut p);
    assert_eq!((p.state("phase"), p.state("inflight_longterm_bytes")), (REFILL, 0.0));
}

#[test]
fn bbr3_a_late_proof_still_undoes() {
    // D-SACKs may come when recovery has ended already.
    let mut p = in_state(UP);
    for lost in 1..=3 {
        p.lose(segments(1), segments(40), segments(lost));
    }
    p.event(LOSS);
    p.round(BW);
    p.recovered();
    p.round(BW);
    assert_eq!(p.state("undo_state"), 2.0);
    undo(&mut p);
    assert_eq!((p.state("phase"), p.state("inflight_longterm_bytes")), (REFILL, 0.0));
    // The next episode saves again.
    p.lose(segments(1), segments(200), segments(1));
    assert_eq!((p.state("undo_state"), p.state("undo_inflight_longterm_bytes")), (0.0, 0.0));
}

#[test]
fn bbr3_recovery_restores_the_window_before_it_and_no_older_one() {
    let mut p = in_state(CRUISE);
    let high = p.cwnd();
    p.lose(segments(1), segments(40), segments(1));
    p.event(LOSS);
    p.recovered();
    p.win.cwnd = segments(20);
    p.lose(segments(1), segments(40), segments(1));
    p.event(LOSS);
    p.win.cwnd = segments(10);
    p.recovered();
    assert_eq!(p.cwnd(), 20.0, "not {high}");
}

#[test]
fn bbr3_a_loss_that_a_tail_probe_repaired_is_a_loss_of_its_round() {
    let mut p = in_state(CRUISE);
    p.cc.on_congestion(&LOSS, &p.path, &mut p.win);
    assert_eq!(p.state("loss_in_round"), 1.0);
    p.round(Rate::mbps(6));
    p.round(Rate::mbps(6));
    assert!(p.state("bw_shortterm_bps") > 0.0);
    // No recovery followed, so the next one saves the window of its own time.
    p.win.cwnd = segments(20);
    p.lose(segments(1), segments(40), segments(1));
    p.event(LOSS);
    p.win.cwnd = segments(10);
    p.recovered();
    assert_eq!(p.cwnd(), 20.0);
}

#[test]
fn bbr3_probe_rtt_in_startup_returns_to_startup() {
    let mut p = Pipe::new("bbr3", &[], 40);
    p.app_limited = true;
    p.rtt = Duration::from_millis(45);
    p.until(Rate::mbps(2), is(PROBE_RTT));
    assert_eq!((p.state("full_bw_reached"), p.state("cwnd_gain")), (0.0, 0.5));
    p.inflight = Some(segments(4));
    p.until(Rate::mbps(2), |p| p.state("phase") != PROBE_RTT);
    assert_eq!((p.state("phase"), p.state("pacing_gain")), (STARTUP, 2.77));
}

#[test]
fn bbr3_idle_time_stands_in_for_probe_rtt() {
    let mut p = in_state(CRUISE);
    p.rtt = Duration::from_millis(45);
    p.restart(Duration::from_secs(6));
    assert_eq!(p.state("idle_restart"), 1.0);
    p.ack(segments(1), BW, p.path.delivered);
    assert_eq!((p.state("probe_rtt_expired"), p.state("idle_restart")), (1.0, 0.0));
    assert!(p.state("phase") != PROBE_RTT);
    assert_eq!(p.state("probe_rtt_min_delay_s"), 0.045, "the sample after the idle time is the new minimum");
    assert!((p.state("probe_rtt_min_stamp_s") - p.path.now.as_secs_f64()).abs() < 1e-9);
}

#[test]
fn bbr3_aggregation_is_the_maximum_of_ten_rounds() {
    let mut p = in_state(CRUISE);
    // Rounds of many ACKs show little excess; one ACK for a whole round shows a round of it.
    for _ in 0..12 {
        p.round_of(BW, 50);
    }
    let little = p.state("extra_acked_bytes");
    p.round_of(BW, 1);
    let high = p.state("extra_acked_bytes");
    assert!(high > 2.0 * little, "{high} over {little}");
    let mut held = 0;
    while p.state("extra_acked_bytes") == high {
        // A little less than the bandwidth, so that the excess does not stay ahead of it.
        p.round_of(Rate::mbps(9), 50);
        held += 1;
        assert!(held < 20);
    }
    // The tenth round after that of the excess has lost it.
    assert_eq!(held, 10);
}

#[test]
fn bbr3_precautionary_probing_stops_at_the_bound_and_goes_on_after_a_round() {
    let mut p = bounded(REFILL, 50);
    assert_eq!((p.state("prev_probe_too_high"), p.state("prev_probe_precautionary")), (1.0, 0.0));
    p.inflight = Some(segments(20));
    p.until(BW, is(UP));
    assert_eq!(p.state("bw_probe_sample"), 1.0);
    // A flow that the bound limits has less than it in flight after an ACK: what counts is what was before.
    let long = Bytes::new(p.state("inflight_longterm_bytes") as u64);
    p.inflight = Some(long.saturating_sub(segments(1)).saturating_sub(Bytes::new(10)));
    p.ack(segments(1), BW, Bytes::ZERO);
    assert_eq!((p.state("phase"), p.state("prev_probe_precautionary")), (UP, 0.0));
    p.inflight = Some(long.saturating_sub(segments(1)) + Bytes::new(10));
    p.ack(segments(1), BW, Bytes::ZERO);
    assert_eq!((p.state("phase"), p.state("prev_probe_precautionary")), (DOWN, 1.0));
    assert_eq!(p.state("prev_probe_too_high"), 0.0);
    p.inflight = Some(segments(60));
    let rounds = p.until(BW, is(REFILL));
    assert_eq!((rounds, p.state("prev_probe_precautionary")), (1, 0.0));
    // This time a flow at the bound stays.
    p.until(BW, is(UP));
    p.ack(segments(1), BW, Bytes::ZERO);
    assert_eq!(p.state("phase"), UP);
}

#[test]
fn bbr3_reported_targets_are_those_of_the_text() {
    // 10 Mb/s and 40 ms are 50000 bytes; a millisecond at the pacing rate is less than two segments.
    let p = in_state(CRUISE);
    assert!((p.state("bdp_bytes") - 50_000.0).abs() < 2.0, "{}", p.state("bdp_bytes"));
    assert_eq!(p.state("inflight_1_bytes"), p.state("bdp_bytes"));
    assert_eq!(p.state("send_quantum_bytes"), segments(2).as_f64());
    let max = 2.0 * p.state("bdp_bytes") + p.state("extra_acked_bytes");
    assert!((p.state("max_inflight_bytes") - max).abs() <= 2.0);
    assert_eq!(p.state("inflight_with_headroom_bytes"), 0.0, "no bound");
    let p = bounded(CRUISE, 50);
    assert!((bytes(&p, "inflight_with_headroom_bytes") / bytes(&p, "inflight_longterm_bytes") - 0.85).abs() < 1e-4);
    // At 1 Gb/s the quantum is 64 KiB, and Inflight(1.0) at least three of them: over 2 ms the product is 250 kB.
    let mut p = Pipe::new("bbr3", &[], 1);
    p.until(Rate::mbps(1000), |p| p.state("phase") > DRAIN);
    assert_eq!(p.state("send_quantum_bytes"), 65_536.0);
    assert_eq!(p.state("inflight_1_bytes"), 3.0 * 65_536.0);
}

#[test]
fn bbr3_the_draft_is_draft_06() {
    let run = |profile| {
        let mut p = seeded(UP, profile, 7);
        p.lose(segments(2), segments(40), segments(2));
        p.event(LOSS);
        p.round(BW);
        undo(&mut p);
        let mut state = Vec::new();
        p.cc.state(&mut |name, value| state.push((name, value.to_bits())));
        (state, p.win)
    };
    assert_eq!(run("draft"), run("draft-06"));
    assert_ne!(run("draft"), run("linux"));
}

#[test]
fn bbr3_any_ack_raises_linuxs_level_of_a_full_pipe() {
    // Within a round the rate rises from 10 to 20 Mb/s: the draft looks at the first ACK of each round only.
    let level = |profile| {
        let mut p = Pipe::new("bbr3", &[("profile", profile)], 40);
        p.round(BW);
        p.ack(segments(1), Rate::mbps(20), Bytes::ZERO);
        p.state("full_bw_bps") / 1e6
    };
    assert!((level("draft") - 10.0).abs() < 0.01 && (level("linux") - 20.0).abs() < 0.01);
}
