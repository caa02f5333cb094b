//! Proportional rate reduction in a connection (RFC 9937).

use super::harness::*;
use super::loss::{UNIT, congestions, cwnd, first_at, sent, start, start_under};
use crate::{Config, RecoveryKind, Reduction};
use narrows_cc::{Congestion, Phase};
use narrows_units::Bytes;
use narrows_wire::Ecn;

const BOTH: [Reduction; 2] = [Reduction::Prr, Reduction::PrrLinux];

fn config(recovery: RecoveryKind, reduction: Reduction) -> Config {
    let sack = matches!(recovery, RecoveryKind::Sack | RecoveryKind::Fack);
    Config { reduction, sack, ..super::loss::config(recovery, 20) }
}

/// Segments that leave with each ACK that arrives at `time` ms.
fn per_ack(net: &mut Net, time: u64) -> Vec<usize> {
    let mut counts = vec![];
    while net.step(at(time)) {
        let before = net.data(C).len();
        net.poll();
        counts.push(net.data(C).len() - before);
    }
    counts
}

#[test]
fn prr_spreads_the_reduction_over_the_acks() {
    let expected = [
        vec![0, 0, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 1],
        vec![0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1, 1, 1],
    ];
    for (reduction, expected) in BOTH.into_iter().zip(expected) {
        for recovery in [RecoveryKind::Sack, RecoveryKind::Fack] {
            // Twenty segments leave, the first is lost; 19 duplicate ACKs arrive at 300 ms. FACK needs the third too.
            let (mut net, diary) = start(config(recovery, reduction), &[1]);
            net.run(at(299));
            assert_eq!(per_ack(&mut net, 300), expected, "{reduction:?} {recovery:?}");
            assert_eq!(sent(&net, 300), [1, 21, 22, 23, 24, 25, 26, 27, 28, 29]);
            assert_eq!(net.ends[C].info().inflight, Bytes::new(10 * UNIT));
            assert_eq!(net.ends[C].info().phase, Phase::Recovery);
            first_at(&mut net, 400);
            assert_eq!((net.ends[C].info().phase, cwnd(&net)), (Phase::Open, 10.0), "what Reno decided");
            assert_eq!(congestions(&diary).len(), 1);
        }
    }
}

#[test]
fn prr_reports_the_window_that_may_be_used() {
    let (mut net, _) = start(config(RecoveryKind::Sack, Reduction::Prr), &[1]);
    net.run(at(299));
    let mut seen = vec![];
    while net.step(at(300)) {
        seen.push(cwnd(&net));
        net.poll();
    }
    // In flight after the third: 16, and one to send; then the window goes down by one for two ACKs.
    assert_eq!(seen[..2], [20.0, 20.0]);
    assert_eq!(seen[2..6], [17.0, 17.0, 16.0, 16.0]);
    assert_eq!(seen.last(), Some(&10.0));
    assert!(seen.windows(2).all(|w| w[1] <= w[0]), "{seen:?}");
}

#[test]
fn a_window_that_was_left_alone_is_not_reduced_in_proportion() {
    for reduction in BOTH {
        let alone = Box::new(Double { first: Some(20), ..Double::default() });
        let (mut net, _) = start_under(alone, config(RecoveryKind::Sack, reduction), &[1], Bytes::MAX);
        net.run(at(399));
        assert_eq!((cwnd(&net), net.ends[C].info().phase), (20.0, Phase::Recovery));
        assert_eq!(sent(&net, 300).len(), 20, "one for each that left, and the hole");
        net.run(at(450));
        assert_eq!(net.ends[C].info().cwnd, Bytes::new(20 * UNIT));
    }
}

#[test]
fn an_algorithm_that_rules_recovery_has_no_reduction_step() {
    for reduction in BOTH {
        let rules = Box::new(Double { reno: true, rules: true, ..Double::default() });
        let (mut net, _) = start_under(rules, config(RecoveryKind::Sack, reduction), &[1], Bytes::MAX);
        net.run(at(299));
        // The window is 10 at once, and nothing leaves before the pipe is down to it.
        assert_eq!(per_ack(&mut net, 300)[2..9], [1, 0, 0, 0, 0, 0, 0]);
    }
}

#[test]
fn without_sack_a_recovery_reduces_at_once() {
    for recovery in [RecoveryKind::Tahoe, RecoveryKind::Reno, RecoveryKind::NewReno] {
        let run = |reduction| {
            let (mut net, _) = start(config(recovery, reduction), &[1, 4]);
            net.run(at(3_000));
            (net.data(C).iter().map(|d| (d.0, super::loss::number(d.1))).collect::<Vec<_>>(), net.ends[C].info().cwnd)
        };
        assert_eq!(run(Reduction::Prr), run(Reduction::Immediate), "{recovery:?}");
    }
}

#[test]
fn a_timeout_ends_the_reduction() {
    for reduction in BOTH {
        // Only RFC 6675 to the letter waits for the timer.
        let config = Config { lost_retransmission: false, ..config(RecoveryKind::Sack, reduction) };
        let (mut net, diary) = start(config, &[1, 1]);
        net.run(at(1_200));
        assert_eq!(net.ends[C].stats().timeouts, 1);
        assert_eq!((cwnd(&net), net.ends[C].info().phase), (1.0, Phase::Loss));
        assert_eq!(sent(&net, 1_200), [1]);
        net.run(at(1_300));
        net.poll();
        assert_eq!(net.ends[C].info().cwnd, Bytes::new(2 * UNIT), "slow start");
        assert_eq!(congestions(&diary).len(), 2);
    }
}

#[test]
fn a_second_reduction_starts_anew_from_what_is_in_flight() {
    for reduction in BOTH {
        let (mut net, diary) = start(config(RecoveryKind::Sack, reduction), &[1, 1]);
        net.run(at(399));
        let info = net.ends[C].info();
        assert_eq!((info.inflight, cwnd(&net)), (Bytes::new(10 * UNIT), 10.0));
        let counts = per_ack(&mut net, 400);
        let all = congestions(&diary);
        assert_eq!((all.len(), all[1].1), (2, 10 * UNIT), "{reduction:?}");
        assert_eq!(counts.iter().sum::<usize>(), sent(&net, 400).len());
        let info = net.ends[C].info();
        assert_eq!(info.inflight, Bytes::new(5 * UNIT), "{reduction:?}: {counts:?}");
        // Spread: not all at the end, as when nothing leaves until the pipe is down to the window.
        assert!(counts.windows(4).all(|w| w.iter().sum::<usize>() > 0), "{counts:?}");
        while net.ends[C].info().phase != Phase::Open {
            assert!(net.step(at(600)));
        }
        assert_eq!((net.now, cwnd(&net)), (at(500), 5.0));
    }
}

#[test]
fn a_spurious_recovery_gives_the_window_back() {
    for reduction in BOTH {
        let config = Config { timestamps: true, mss: 1012, ..config(RecoveryKind::Sack, reduction) };
        let (mut net, diary) = start(config, &[]);
        let mut first = true;
        net.rule = Box::new(move |from, packet, _| {
            let hit = from == C && packet.payload_len > 0 && core::mem::take(&mut first);
            if hit { Fate::Late(ms(70)) } else { Fate::Pass }
        });
        net.run(at(369));
        assert!(net.ends[C].info().cwnd <= Bytes::new(10 * UNIT), "reduced meanwhile");
        net.run(at(371));
        assert!(diary.lock().unwrap().contains(&Told::Undo), "{reduction:?}");
        let info = net.ends[C].info();
        assert!(info.cwnd >= Bytes::new(20 * UNIT) && info.phase == Phase::Open, "{reduction:?}: {info:?}");
    }
}

#[test]
fn an_echo_reduces_in_proportion_too() {
    for recovery in [RecoveryKind::Sack, RecoveryKind::NewReno] {
        for reduction in BOTH {
            let config = Config { ecn: true, ..config(recovery, reduction) };
            let (mut net, diary) = start(config, &[]);
            net.rule = Box::new(|from, packet, _| {
                if from == C && super::loss::number(packet) == 1 && packet.ip.ecn().is_capable() {
                    packet.ip.set_ecn(Ecn::Ce);
                }
                Fate::Pass
            });
            net.run(at(299));
            let counts = per_ack(&mut net, 300);
            // Twenty ACKs, ten segments: one for two, from the first on.
            assert_eq!(counts.len(), 20);
            assert!(counts.chunks(2).all(|c| c.iter().sum::<usize>() == 1), "{recovery:?} {reduction:?}: {counts:?}");
            let echo = [(Congestion::Ecn { marked: Bytes::new(UNIT) }, 19 * UNIT)];
            assert_eq!(congestions(&diary), echo);
            assert_eq!((net.ends[C].info().phase, net.ends[C].info().inflight), (Phase::Cwr, Bytes::new(10 * UNIT)));
            net.run(at(450));
            assert_eq!(net.ends[C].info().phase, Phase::Open);
        }
    }
}
