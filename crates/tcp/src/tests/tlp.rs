//! Tail loss probes (RFC 8985, section 7).

use super::harness::*;
use super::loss::{UNIT, congestions};
use super::rack::{STYLES, drop_first, rack, start, times};
use crate::{Config, RecoveryStyle, RtoStyle};
use narrows_units::{Bytes, Instant};

#[test]
fn the_last_segment_of_a_flight_is_probed_after_two_round_trips() {
    // Two segments are outstanding from 300 ms on, and the probe is the last. Its SACK shows that 9 is late.
    for (style, probe) in STYLES.into_iter().zip([500, 502]) {
        let (mut net, diary) = start(rack(style, 10), Bytes::new(10 * UNIT), drop_first(&[9, 10]));
        net.run(at(3_000));
        assert_eq!((times(&net, 10), times(&net, 9)), (vec![200, probe], vec![200, probe + 100]), "{style:?}");
        assert_eq!(net.ends[C].acked(), Bytes::new(10 * UNIT));
        let stats = net.ends[C].stats();
        assert_eq!((stats.timeouts, stats.tail_probes, congestions(&diary).len()), (0, 1, 1));
    }
}

#[test]
fn a_single_segment_waits_for_a_delayed_ack_too() {
    for style in STYLES {
        let config = Config {
            rto: crate::RtoConfig { style: RtoStyle::Linux, min: ms(200), ..Config::default().rto },
            ..rack(style, 10)
        };
        let (mut net, _) = start(config, Bytes::new(UNIT), drop_first(&[1]));
        net.run(at(3_000));
        // Two round trips of 100 ms and 200 ms are later than the RTO of 100 ms + 200 ms; the RTO's time is the
        // probe's.
        assert_eq!(times(&net, 1).len(), 2, "{style:?}");
        assert!(times(&net, 1)[1] <= 200 + 400, "{:?}", times(&net, 1));
        let stats = net.ends[C].stats();
        assert_eq!((stats.timeouts, stats.tail_probes), (0, 1), "{style:?}");
    }
    // With the RFC's RTO of a second the probe comes first.
    let (mut net, _) = start(rack(RecoveryStyle::Rfc, 10), Bytes::new(UNIT), drop_first(&[1]));
    net.run(at(3_000));
    assert_eq!(times(&net, 1), [200, 600]);
}

#[test]
fn a_loss_that_the_probe_repaired_reduces_the_window() {
    for (style, probe) in STYLES.into_iter().zip([700, 1_300]) {
        let (mut net, diary) = start(rack(style, 10), Bytes::new(10 * UNIT), drop_first(&[10]));
        net.run(at(1_500));
        assert_eq!(times(&net, 10), [200, probe], "{style:?}: 200 ms, or the RTO's floor of a second");
        assert_eq!(congestions(&diary).len(), 0, "nothing shows yet whether 10 was lost");
        net.ends[C].write(Bytes::new(10 * UNIT));
        net.run(at(3_000));
        assert_eq!(congestions(&diary).len(), 1);
        let stats = net.ends[C].stats();
        assert_eq!((stats.timeouts, stats.fast_retransmits, stats.tail_repairs), (0, 0, 1));
    }
}

#[test]
fn a_needless_probe_is_recognised_by_its_d_sack() {
    // The last segment is late, not lost: the probe arrives as a duplicate.
    for style in STYLES {
        let late = |n, before, _| if n == 10 && before == 0 { Fate::Late(ms(1_200)) } else { Fate::Pass };
        let (mut net, diary) = start(rack(style, 10), Bytes::new(10 * UNIT), late);
        net.run(at(2_000));
        assert_eq!(times(&net, 10).len(), 2);
        net.ends[C].write(Bytes::new(10 * UNIT));
        net.run(at(4_000));
        assert_eq!(congestions(&diary).len(), 0, "{style:?}");
        let stats = net.ends[C].stats();
        assert_eq!((stats.tail_probes, stats.tail_repairs, stats.timeouts), (1, 0, 0));
    }
}

#[test]
fn a_probe_is_new_data_if_there_is_any_and_restarts_the_retransmission_timer() {
    for (style, probe) in STYLES.into_iter().zip([400, 402]) {
        // All of the first flight and the probe are lost.
        let lost = |n, before, _| if n <= 5 && before == 0 { Fate::Drop } else { Fate::Pass };
        let (mut net, _) = start(rack(style, 4), Bytes::MAX, lost);
        net.run(at(1_450));
        assert_eq!((times(&net, 5), times(&net, 1)), (vec![probe], vec![200, probe + 1_000]), "{style:?}");
        assert_eq!(net.ends[C].stats().timeouts, 1);
        net.run(at(3_000));
        assert!(net.ends[C].acked() > Bytes::new(5 * UNIT));
    }
}

#[test]
fn without_probes_the_tail_waits_for_the_retransmission_timer() {
    for style in STYLES {
        let config = Config { tail_probes: false, ..rack(style, 10) };
        let (mut net, _) = start(config, Bytes::new(10 * UNIT), drop_first(&[10]));
        net.run(at(3_000));
        let stats = net.ends[C].stats();
        assert_eq!((stats.tail_probes, stats.timeouts, times(&net, 10)), (0, 1, vec![200, 1_300]), "{style:?}");
    }
}

#[test]
fn there_is_one_probe_at_a_time() {
    for style in STYLES {
        let cut = |_, _, now: Instant| if now < at(10_000) { Fate::Drop } else { Fate::Pass };
        let (mut net, _) = start(rack(style, 4), Bytes::new(4 * UNIT), cut);
        net.run(at(9_000));
        let stats = net.ends[C].stats();
        assert_eq!((stats.tail_probes, stats.timeouts > 1), (1, true), "{style:?}: none in the Loss phase either");
    }
}

#[test]
fn nothing_is_probed_while_something_is_sacked() {
    for style in STYLES {
        let (mut net, _) = start(rack(style, 10), Bytes::new(10 * UNIT), drop_first(&[8]));
        net.run(at(2_000));
        assert_eq!(net.ends[C].stats().tail_probes, 0, "{style:?}");
    }
}

#[test]
fn a_probe_timeout_starts_again_with_each_transmission_and_ack() {
    for style in STYLES {
        // Segments trickle every 150 ms, and their ACKs are late by 150 ms: never two round trips of silence.
        let (mut net, _) = start(rack(style, 10), Bytes::new(UNIT), |_, _, _| Fate::Late(ms(60)));
        for n in 1..30 {
            net.run(at(200 + 150 * n));
            net.ends[C].write(Bytes::new(UNIT));
        }
        net.run(at(9_000));
        assert_eq!(net.ends[C].stats().tail_probes, 0, "{style:?}");
    }
}
