//! F-RTO (RFC 5682): spurious timeouts are found and undone, with SACK and without; real ones are not.

use super::harness::*;
use super::loss::{UNIT, config, congestions};
use super::rack::{STYLES, start, times};
use crate::{Config, RecoveryKind, RecoveryStyle};
use narrows_cc::{Congestion, Phase};
use narrows_units::{Bytes, Instant};

const KINDS: [RecoveryKind; 5] =
    [RecoveryKind::Rack, RecoveryKind::Sack, RecoveryKind::Fack, RecoveryKind::NewReno, RecoveryKind::Reno];

fn with_frto(kind: RecoveryKind, style: RecoveryStyle, window: u32) -> Config {
    Config {
        frto: true,
        undo: true,
        recovery_style: style,
        sack: kind == RecoveryKind::Fack || config(kind, window).sack,
        ..config(kind, window)
    }
}

/// All that leaves before `until` arrives `together`, in its order.
fn stall(until: u64, together: u64) -> impl FnMut(u64, usize, Instant) -> Fate {
    move |_, _, now: Instant| if now < at(until) { Fate::Late(at(together - 50).since(now)) } else { Fate::Pass }
}

#[test]
fn a_timeout_that_a_delay_caused_is_undone() {
    for style in STYLES {
        for kind in KINDS {
            // All that leaves in the first second arrives together at 1430 ms, after the timeout at 1200 ms, or with a
            // probe at about 1400 ms.
            let (mut net, diary) = start(with_frto(kind, style, 4), Bytes::MAX, stall(1_300, 1_430));
            net.run(at(1_479));
            assert_eq!((net.ends[C].stats().timeouts, net.ends[C].info().phase), (1, Phase::Loss), "{kind:?}");
            net.run(at(1_700));
            let stats = net.ends[C].stats();
            assert_eq!((stats.spurious, stats.spurious_timeouts), (1, 1), "{kind:?} {style:?}");
            assert_ne!(net.ends[C].info().phase, Phase::Loss);
            assert!(net.ends[C].info().cwnd >= Bytes::new(4 * UNIT));
            assert_eq!(times(&net, 2).len(), 1, "new data left in place of 2: {kind:?}");
            assert!(diary.lock().unwrap().contains(&Told::Undo));
            assert_eq!(congestions(&diary)[0].0, Congestion::Timeout { repeated: false });
            net.run(at(4_000));
            assert_eq!(net.ends[C].stats().timeouts, 1, "{kind:?}");
        }
    }
}

#[test]
fn without_it_a_spurious_timeout_sends_the_flight_again() {
    for kind in KINDS {
        let config = Config { frto: false, ..with_frto(kind, RecoveryStyle::Rfc, 4) };
        let (mut net, _) = start(config, Bytes::MAX, stall(1_300, 1_430));
        net.run(at(1_700));
        assert!(times(&net, 2).len() > 1, "{kind:?}");
    }
}

#[test]
fn a_real_timeout_is_repaired_as_before() {
    for style in STYLES {
        for kind in KINDS {
            let cut = |_, _, now: Instant| if now < at(1_300) { Fate::Drop } else { Fate::Pass };
            let (mut net, _) = start(with_frto(kind, style, 4), Bytes::new(50 * UNIT), cut);
            net.run(at(20_000));
            let stats = net.ends[C].stats();
            assert_eq!(net.ends[C].acked(), Bytes::new(50 * UNIT), "{kind:?} {style:?}");
            assert_eq!((stats.spurious, stats.spurious_timeouts), (0, 0), "{kind:?} {style:?}");
            assert_eq!(net.ends[C].info().ssthresh, Some(Bytes::new(2 * UNIT)), "{kind:?} {style:?}");
            assert!(stats.timeouts <= 2, "{kind:?} {style:?}: {stats:?}");
        }
    }
}

#[test]
fn without_new_data_the_conventional_recovery_goes_on() {
    for style in STYLES {
        for kind in KINDS {
            let cut = |_, _, now: Instant| if now < at(1_300) { Fate::Drop } else { Fate::Pass };
            let (mut net, _) = start(with_frto(kind, style, 4), Bytes::new(4 * UNIT), cut);
            net.run(at(20_000));
            assert_eq!(net.ends[C].acked(), Bytes::new(4 * UNIT), "{kind:?} {style:?}");
            assert_eq!(net.ends[C].stats().spurious, 0);
        }
    }
}

#[test]
fn a_flight_of_which_the_rest_arrives_is_not_sent_again() {
    // Segments 2 to 4 of the flight arrive late, 1 is lost: the originals show that the timeout was spurious.
    for style in STYLES {
        let fate = |n: u64, _, now: Instant| match n {
            1 if now < at(1_100) => Fate::Drop,
            _ if now < at(1_300) => Fate::Late(at(1_450).since(now)),
            _ => Fate::Pass,
        };
        let (mut net, _) = start(with_frto(RecoveryKind::Sack, style, 4), Bytes::MAX, fate);
        net.run(at(6_000));
        assert_eq!(times(&net, 3).len(), 1, "{style:?}");
        assert!(net.ends[C].acked() > Bytes::new(50 * UNIT));
    }
}

#[test]
fn recovery_before_the_timeout_forbids_it() {
    // Step 1 of RFC 5682: the timeout comes in fast recovery, where the retransmissions are lost too.
    let fate = |n: u64, before, now: Instant| match (n, before) {
        (1, 0) => Fate::Drop,
        _ if now >= at(300) && now < at(1_800) => Fate::Drop,
        _ => Fate::Pass,
    };
    let (mut net, _) = start(with_frto(RecoveryKind::NewReno, RecoveryStyle::Rfc, 10), Bytes::MAX, fate);
    net.run(at(8_000));
    let stats = net.ends[C].stats();
    assert_eq!((stats.fast_retransmits >= 1, stats.spurious), (true, 0));
    assert!(stats.timeouts >= 1);
}
