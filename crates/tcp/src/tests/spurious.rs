//! Needless retransmissions are detected and the window is restored (RFC 3522, RFC 3708).

use super::harness::*;
use crate::{Config, DelayedAck, InitialWindow, RecoveryKind};
use narrows_cc::Phase;
use narrows_units::{Bytes, Duration};
use narrows_wire::Ecn;

fn config(undo: bool, timestamps: bool, recovery: RecoveryKind) -> Config {
    Config {
        mss: 1012,
        undo,
        timestamps,
        recovery,
        delayed_ack: DelayedAck::Off,
        initial_window: InitialWindow::Segments(20),
        ..Config::default()
    }
}

fn start(undo: bool, timestamps: bool, recovery: RecoveryKind) -> (Net, Diary) {
    start_with(config(undo, timestamps, recovery))
}

fn start_with(config: Config) -> (Net, Diary) {
    let cc = reno();
    let diary = cc.diary.clone();
    let mut net = Net::new([config; 2], [cc, reno()], [1, 1]);
    net.establish();
    net.ends[C].write(Bytes::MAX);
    (net, diary)
}

/// Delays the first data segment by `late`.
fn delay_first(net: &mut Net, late: Duration) {
    let mut first = true;
    net.rule = Box::new(move |from, packet, _| {
        let hit = from == C && packet.payload_len > 0 && core::mem::take(&mut first);
        if hit { Fate::Late(late) } else { Fate::Pass }
    });
}

#[test]
fn reordering_taken_for_loss_is_undone_by_timestamps() {
    for recovery in [RecoveryKind::Sack, RecoveryKind::NewReno] {
        let (mut net, diary) = start(true, true, recovery);
        let before = net.ends[C].info();
        delay_first(&mut net, ms(70));
        net.run(at(300));
        assert!(net.ends[C].info().cwnd < before.cwnd, "{recovery:?}");
        assert_eq!(net.ends[C].info().phase, Phase::Recovery);
        net.run(at(380));
        let info = net.ends[C].info();
        assert_eq!(net.ends[C].stats().spurious, 1, "{recovery:?}");
        assert!(info.cwnd >= before.cwnd && info.ssthresh == before.ssthresh, "{recovery:?}: {info:?}");
        assert!(diary.lock().unwrap().contains(&Told::Undo));
    }
}

#[test]
fn reordering_taken_for_loss_is_undone_by_d_sack() {
    let (mut net, _) = start(true, false, RecoveryKind::Sack);
    let before = net.ends[C].info().cwnd;
    delay_first(&mut net, ms(70));
    net.run(at(1_000));
    assert_eq!(net.ends[C].stats().spurious, 1);
    assert!(net.ends[C].info().cwnd >= before);
}

#[test]
fn without_undo_the_reduction_stays() {
    let (mut net, _) = start(false, true, RecoveryKind::Sack);
    delay_first(&mut net, ms(70));
    net.run(at(380));
    assert_eq!(net.ends[C].stats().spurious, 0);
    assert!(net.ends[C].info().ssthresh.is_some());
}

#[test]
fn a_real_loss_is_not_undone() {
    for timestamps in [true, false] {
        let (mut net, _) = start(true, timestamps, RecoveryKind::Sack);
        let mut n = 0;
        net.rule = Box::new(move |from, packet, _| {
            n += u32::from(from == C && packet.payload_len > 0);
            if from == C && n == 1 { Fate::Drop } else { Fate::Pass }
        });
        net.run(at(2_000));
        assert_eq!(net.ends[C].stats().spurious, 0);
        assert_eq!(net.ends[C].stats().fast_retransmits, 1);
    }
}

#[test]
fn an_echo_in_the_episode_forbids_the_undo() {
    // The loss was spurious, but the mark was not: the reduction of the fast retransmit answers the echo too (Linux's
    // prior_ssthresh = 0). The 4th segment's echo begins recovery, the 8th's comes during recovery, and the late one's
    // comes with the proof itself.
    for (marked, half) in [(None, false), (Some(4), true), (Some(8), true), (Some(1), true)] {
        let (mut net, _) = start_with(Config { ecn: true, ..config(true, true, RecoveryKind::Sack) });
        let mut n = 0;
        net.rule = Box::new(move |from, packet, _| {
            if from == S || packet.payload_len == 0 {
                return Fate::Pass;
            }
            n += 1;
            if marked == Some(n) {
                packet.ip.set_ecn(Ecn::Ce);
            }
            if n == 1 { Fate::Late(ms(70)) } else { Fate::Pass }
        });
        net.run(at(380));
        let stats = net.ends[C].stats();
        let info = net.ends[C].info();
        assert_eq!((stats.fast_retransmits, stats.spurious), (1, u64::from(!half)), "marked {marked:?}");
        assert_eq!(info.ssthresh.is_some_and(|s| s == Bytes::new(10_000)), half, "marked {marked:?}: {info:?}");
        assert_eq!(info.cwnd < Bytes::new(20_000), half, "marked {marked:?}: {info:?}");
    }
}

#[test]
fn a_delay_spike_taken_for_a_timeout_is_undone_and_little_is_sent_again() {
    let (mut net, _) = start(true, true, RecoveryKind::Sack);
    let before = net.ends[C].info().cwnd;
    // The path stalls until 1.7 s and keeps the order: the retransmission at 1.2 s comes after the originals.
    net.rule = Box::new(|from, _, now| if from == C { Fate::Late(at(1_700).since(now)) } else { Fate::Pass });
    net.run(at(2_000));
    let stats = net.ends[C].stats();
    assert_eq!((stats.timeouts, stats.spurious), (1, 1));
    assert!(stats.retransmitted_packets.as_u64() <= 2, "{stats:?}");
    assert!(net.ends[C].info().cwnd >= before);
}

#[test]
fn no_round_trip_sample_comes_from_retransmitted_data_without_timestamps() {
    // Karn: the answer to the delayed original would look like a very short round trip.
    for timestamps in [true, false] {
        let (mut net, _) = start(false, timestamps, RecoveryKind::NewReno);
        delay_first(&mut net, ms(70));
        net.run(at(390));
        let info = net.ends[C].info();
        let expected = if timestamps { Some(ms(170)) } else { Some(ms(100)) };
        assert_eq!(info.rtt, expected, "timestamps {timestamps}");
    }
}

/// A control that rules recovery itself, as BBR does, beside its diary.
fn ruling() -> (Box<Double>, Diary) {
    let cc = Box::new(Double { rules: true, ..Double::default() });
    let diary = cc.diary.clone();
    (cc, diary)
}

#[test]
fn a_control_that_rules_recovery_hears_of_every_kind_of_spurious_loss() {
    // Reordering that starts fast recovery, and a delay that makes the timer expire; found by D-SACK, by timestamps
    // and, for the timeout, by F-RTO. The connection leaves the window to the control, but tells it.
    for recovery in [RecoveryKind::Sack, RecoveryKind::Rack] {
        for (timeout, timestamps, frto) in [
            (false, false, false),
            (false, true, false),
            (true, false, false),
            (true, true, false),
            (true, false, true),
        ] {
            let (cc, diary) = ruling();
            let config = Config { frto, ..config(true, timestamps, recovery) };
            let mut net = Net::new([config; 2], [cc, reno()], [1, 1]);
            net.establish();
            net.ends[C].write(Bytes::MAX);
            if timeout {
                net.rule = Box::new(|from, packet, now| {
                    let late = from == C && packet.payload_len > 0 && now < at(1_700);
                    if late { Fate::Late(at(1_700).since(now)) } else { Fate::Pass }
                });
            } else {
                delay_first(&mut net, ms(70));
            }
            net.run(at(4_000));
            let stats = net.ends[C].stats();
            let label = format!("{recovery:?} timeout {timeout} timestamps {timestamps} F-RTO {frto}: {stats:?}");
            assert_eq!((stats.spurious, stats.spurious_timeouts), (1, u64::from(timeout)), "{label}");
            let told = diary.lock().unwrap();
            assert_eq!(told.iter().filter(|told| **told == Told::Undo).count(), 1, "{label}");
            let congested = told.iter().position(|told| matches!(told, Told::Congestion(..)));
            let undone = told.iter().position(|told| *told == Told::Undo);
            assert!(congested < undone, "{label}");
        }
    }
}
