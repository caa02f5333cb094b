//! Careful resume (RFC 9959), by hand in the round model: initial window 10, saved window 200 segments at 100 ms.

use crate::common::Model;
use narrows_cc::resume::{self, Saved};
use narrows_cc::{Ack, Congestion, Params, Phase, Sent};
use narrows_units::{Bytes, Duration, Rate};

const SMSS: u64 = 1448;
const NORMAL: f64 = 0.0;
const RECONNAISSANCE: f64 = 1.0;
const UNVALIDATED: f64 = 2.0;
const VALIDATING: f64 = 3.0;
const SAFE_RETREAT: f64 = 4.0;

/// Reno, begun again, with a round-trip time of `rtt_ms`.
fn flow(rtt_ms: u64) -> Model {
    let reno = (narrows_cc::find("reno").unwrap().build)(&Params::default());
    let saved = Saved { cwnd: Bytes::new(200 * SMSS), rtt: Duration::from_millis(100) };
    Model::of(resume::with(reno, saved), SMSS, Duration::from_millis(rtt_ms))
}

/// The flow after the ACK that confirms the path.
fn jumped() -> Model {
    let mut m = flow(100);
    m.round();
    m
}

/// Tells the algorithm of a transmission, with what the model has in flight.
fn tell_sent(m: &mut Model) {
    let sent = Sent { bytes: m.path.smss, retransmission: false, idle: Duration::ZERO, app_limited: false };
    m.cc.on_sent(&sent, &m.path, &mut m.win);
}

#[test]
fn resume_jumps_to_half_of_the_saved_window() {
    let mut m = flow(100);
    for _ in 0..9 {
        m.ack(SMSS);
    }
    assert_eq!((m.cwnd(), m.state("resume_phase")), (19.0, RECONNAISSANCE), "slow start as always");
    m.ack(SMSS);
    // After the ACK 18 segments are in flight: 28 were sent, 10 are acknowledged.
    assert_eq!((m.cwnd(), m.state("resume_phase")), (100.0, UNVALIDATED));
    assert_eq!(m.state("resume_pipe"), (18 * SMSS) as f64);
    // ITT = RTT * MPS / jump_cwnd: 100 segments in 100 ms.
    assert_eq!(m.win.pacing_rate, Some(Rate::bps(100 * SMSS * 8 * 10)));
    m.ack(SMSS);
    assert_eq!(m.cwnd(), 100.0, "an ACK of the initial flight adds to PipeSize alone");
    assert_eq!(m.state("resume_pipe"), (19 * SMSS) as f64);
}

#[test]
fn resume_needs_a_confirmed_round_trip_time() {
    for (rtt_ms, jumps) in [(50, false), (51, true), (1_000, true), (1_001, false)] {
        let mut m = flow(rtt_ms);
        m.round();
        let phase = if jumps { UNVALIDATED } else { NORMAL };
        assert_eq!(m.state("resume_phase"), phase, "at {rtt_ms} ms: more than half, at most ten times");
        assert_eq!(m.cwnd(), if jumps { 100.0 } else { 20.0 });
    }
}

#[test]
fn resume_with_a_small_saved_window_gains_nothing() {
    let reno = (narrows_cc::find("reno").unwrap().build)(&Params::default());
    let saved = Saved { cwnd: Bytes::new(40 * SMSS), rtt: Duration::from_millis(100) };
    let mut m = Model::of(resume::with(reno, saved), SMSS, Duration::from_millis(100));
    assert_eq!((m.round(), m.state("resume_phase")), (20.0, NORMAL), "20 segments are no jump from 20");
}

#[test]
fn resume_ends_with_congestion_in_reconnaissance() {
    let mut m = flow(100);
    m.ack(SMSS);
    m.loss();
    assert_eq!(m.state("resume_phase"), NORMAL);
    m.rounds(5);
    assert!(m.cwnd() < 20.0, "half of the window, then one segment per round: {}", m.cwnd());
}

#[test]
fn resume_validates_what_was_sent() {
    let mut m = jumped();
    tell_sent(&mut m);
    // The model has sent the whole jump: 100 segments up to offset 110.
    assert_eq!((m.cwnd(), m.state("resume_phase")), (100.0, VALIDATING));
    assert_eq!(m.win.pacing_rate, None);
    for _ in 0..99 {
        m.ack(SMSS);
    }
    assert_eq!((m.cwnd(), m.state("resume_phase")), (199.0, VALIDATING), "normal growth");
    m.ack(SMSS);
    assert_eq!((m.cwnd(), m.state("resume_phase"), m.win.ssthresh), (200.0, NORMAL, None));
    assert_eq!(m.state("resume_pipe"), (118 * SMSS) as f64);
}

#[test]
fn resume_retreats_to_half_of_the_pipe() {
    let mut m = jumped();
    tell_sent(&mut m);
    for _ in 0..30 {
        m.ack(SMSS);
    }
    assert_eq!(m.state("resume_pipe"), (48 * SMSS) as f64);
    m.path.phase = Phase::Recovery;
    m.cc.on_congestion(&Congestion::Loss { lost: m.path.smss }, &m.path, &mut m.win);
    assert_eq!((m.cwnd(), m.state("resume_phase")), (24.0, SAFE_RETREAT), "PipeSize / 2");
    assert!(m.cc.reduces_at_once(), "not by PRR");
    assert_eq!(m.ssthresh(), 65.0, "Reno's half of 130 in flight");
    for _ in 0..69 {
        m.ack(SMSS);
    }
    assert_eq!((m.cwnd(), m.state("resume_phase")), (24.0, SAFE_RETREAT), "no growth until all is acknowledged");
    m.ack(SMSS);
    // 118 segments are known to have arrived: ssthresh is at most 59.
    assert_eq!((m.ssthresh(), m.state("resume_phase")), (59.0, NORMAL));
    assert!(!m.cc.reduces_at_once());
}

#[test]
fn resume_retreats_from_congestion_before_the_jump_is_sent() {
    let mut m = jumped();
    m.cc.on_congestion(&Congestion::Ecn { marked: m.path.smss }, &m.path, &mut m.win);
    assert_eq!((m.cwnd(), m.state("resume_phase"), m.win.pacing_rate), (9.0, SAFE_RETREAT, None));
}

#[test]
fn resume_retreats_from_a_changed_path() {
    let mut m = jumped();
    let ack = Ack { rtt: Some(Duration::from_millis(50)), ..Ack::default() };
    m.cc.on_ack(&ack, &m.path, &mut m.win);
    assert_eq!((m.cwnd(), m.state("resume_phase")), (9.0, SAFE_RETREAT));
}

#[test]
fn resume_ends_with_a_timeout() {
    let mut m = jumped();
    tell_sent(&mut m);
    m.cc.on_congestion(&Congestion::Timeout { repeated: false }, &m.path, &mut m.win);
    assert_eq!((m.cwnd(), m.state("resume_phase")), (1.0, NORMAL), "persistent congestion");
}

#[test]
fn resume_without_data_keeps_the_pipe() {
    // A round-trip time after the jump the application has sent less than PipeSize: 6 segments are in flight.
    for (flight, window, phase) in [(6, 18.0, NORMAL), (18, 18.0, NORMAL), (19, 19.0, VALIDATING)] {
        let mut m = jumped();
        m.path.flightsize = Bytes::new(flight * SMSS);
        m.path.now += Duration::from_millis(100);
        tell_sent(&mut m);
        assert_eq!(m.state("resume_phase"), UNVALIDATED, "not more than a round-trip time");
        m.path.now += Duration::from_millis(1);
        tell_sent(&mut m);
        assert_eq!((m.cwnd(), m.state("resume_phase")), (window, phase), "with {flight} segments in flight");
    }
}

#[test]
fn resume_observes_what_a_round_delivers() {
    let mut m = jumped();
    tell_sent(&mut m);
    m.rounds(6);
    assert_eq!(m.state("resume_phase"), NORMAL);
    let observed = m.state("resume_observed") / SMSS as f64;
    assert!(observed > 200.0 && observed <= m.cwnd(), "{observed} of {}", m.cwnd());
}
