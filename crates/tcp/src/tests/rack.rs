//! RACK (RFC 8985, section 6): losses by time, reordering without loss, and what a timeout marks.

use super::harness::*;
use super::loss::{UNIT, config, congestions, number};
use crate::{Config, RecoveryKind, RecoveryStyle, Reduction, RtoStyle};
use narrows_cc::Phase;
use narrows_units::{Bytes, Instant};
use proptest::prelude::*;

pub(super) const STYLES: [RecoveryStyle; 2] = [RecoveryStyle::Rfc, RecoveryStyle::Linux];

/// RACK-TLP with a first window of `window` segments.
pub(super) fn rack(style: RecoveryStyle, window: u32) -> Config {
    Config { recovery_style: style, undo: true, ..config(RecoveryKind::Rack, window) }
}

/// A connection whose client writes `data`; `fate` decides what becomes of the transmission of a data segment, by its
/// number, how often it was sent before, and the time.
pub(super) fn start(
    config: Config,
    data: Bytes,
    mut fate: impl FnMut(u64, usize, Instant) -> Fate + 'static,
) -> (Net, Diary) {
    let cc = reno();
    let diary = cc.diary.clone();
    let mut net = Net::new([config; 2], [cc, reno()], [super::loss::ISS, 5]);
    net.establish();
    let mut sent = std::collections::BTreeMap::new();
    net.rule = Box::new(move |from, packet, now| {
        if from == S || packet.payload_len == 0 {
            return Fate::Pass;
        }
        let before = sent.entry(number(packet)).or_insert(0);
        *before += 1;
        fate(number(packet), *before - 1, now)
    });
    net.ends[C].write(data);
    (net, diary)
}

/// When segment `n` was sent, in ms.
pub(super) fn times(net: &Net, n: u64) -> Vec<u64> {
    net.data(C).iter().filter(|d| number(d.1) == n).map(|d| d.0).collect()
}

pub(super) fn drop_first(lost: &'static [u64]) -> impl FnMut(u64, usize, Instant) -> Fate {
    move |n, before, _| if before == 0 && lost.contains(&n) { Fate::Drop } else { Fate::Pass }
}

/// Segments `late` arrive `by` ms later than they would, at their first transmission.
fn overtaken(late: &'static [u64], by: u64) -> impl FnMut(u64, usize, Instant) -> Fate {
    move |n, before, _| if before == 0 && late.contains(&n) { Fate::Late(ms(by)) } else { Fate::Pass }
}

#[test]
fn without_reordering_three_segments_above_a_hole_show_its_loss() {
    // Section 6.2, step 4: the window is zero once DupThresh segments are SACKed.
    for style in STYLES {
        let (mut net, diary) = start(rack(style, 10), Bytes::MAX, drop_first(&[3]));
        net.run(at(1_000));
        assert_eq!(times(&net, 3), [200, 300], "{style:?}");
        let stats = net.ends[C].stats();
        assert_eq!((stats.timeouts, stats.fast_retransmits, congestions(&diary).len()), (0, 1, 1));
        assert_eq!(stats.retransmitted_packets.as_u64(), 1);
    }
}

#[test]
fn with_fewer_segments_above_a_hole_the_timer_waits_a_quarter_of_the_round_trip_time() {
    for (style, repaired) in STYLES.into_iter().zip([325, 327]) {
        let (mut net, diary) = start(rack(style, 10), Bytes::new(10 * UNIT), drop_first(&[8]));
        net.run(at(1_000));
        assert_eq!(times(&net, 8), [200, repaired], "Linux adds 2 ms");
        let stats = net.ends[C].stats();
        assert_eq!((stats.timeouts, stats.fast_retransmits, congestions(&diary).len()), (0, 1, 1));
        assert_eq!(net.ends[C].acked(), Bytes::new(10 * UNIT));
    }
}

#[test]
fn reordering_that_was_seen_gives_late_segments_time() {
    for style in STYLES {
        // Segment 9 is late by 20 ms and is delivered below what is SACKed: reordering. From then on late segments are
        // awaited for 25 ms.
        let (mut net, diary) = start(rack(style, 10), Bytes::MAX, overtaken(&[9, 30, 60], 20));
        net.run(at(3_000));
        for n in [9, 30, 60] {
            assert_eq!(times(&net, n).len(), 1, "{style:?}: {n}");
        }
        assert_eq!(congestions(&diary).len(), 0);
        assert_eq!(net.ends[C].stats().fast_retransmits, 0);
    }
}

#[test]
fn an_original_that_ends_recovery_is_reordering_in_linux() {
    // Segments 1, 100 and 200 are late by 20 ms. The first is sent again, because nothing is known of reordering yet;
    // timestamps then show that its original came.
    let config = Config { timestamps: true, mss: 1012, ..rack(RecoveryStyle::Linux, 10) };
    let (mut net, diary) = start(config, Bytes::MAX, overtaken(&[1, 100, 200], 20));
    net.run(at(3_000));
    assert_eq!([1, 100, 200].map(|n| times(&net, n).len()), [2, 1, 1]);
    let stats = net.ends[C].stats();
    assert_eq!((stats.fast_retransmits, stats.spurious, congestions(&diary).len()), (1, 1, 1));
}

#[test]
fn duplicates_widen_the_window_and_sixteen_recoveries_reset_it() {
    for style in STYLES {
        // 9 shows that there is reordering. 40 is later than a quarter of the round trip: it is sent again, the D-SACK
        // undoes the reduction and widens the window to half of it, so that 300 is awaited.
        let fate = move |n: u64, before, _| match (n, before) {
            (9, 0) => Fate::Late(ms(20)),
            (40 | 300, 0) => Fate::Late(ms(40)),
            _ => Fate::Pass,
        };
        let (mut net, _) = start(rack(style, 10), Bytes::MAX, fate);
        net.run(at(6_000));
        assert_eq!((times(&net, 40).len(), times(&net, 300).len()), (2, 1), "{style:?}");
        let stats = net.ends[C].stats();
        assert_eq!((stats.spurious, stats.spurious_timeouts, stats.timeouts), (1, 0, 0), "{style:?}");
    }
    // Real losses of one segment each, 16 recoveries, and then one as late as before.
    for (recoveries, again) in [(14, 1), (16, 2)] {
        let fate = move |n: u64, before, _| match (n, before) {
            (9, 0) => Fate::Late(ms(20)),
            (40, 0) => Fate::Late(ms(40)),
            (n, 0) if n >= 500 && n % 400 == 0 && n / 400 - 1 <= recoveries => Fate::Drop,
            (9_000, 0) => Fate::Late(ms(40)),
            _ => Fate::Pass,
        };
        let (mut net, _) = start(rack(RecoveryStyle::Rfc, 10), Bytes::MAX, fate);
        net.run(at(120_000));
        let stats = net.ends[C].stats();
        assert_eq!(stats.timeouts, 0);
        assert_eq!(times(&net, 9_000).len(), again, "after {recoveries} recoveries: {stats:?}");
    }
}

#[test]
fn a_lost_retransmission_is_found_by_time() {
    let twice = |n, before, _| if n == 1 && before < 2 { Fate::Drop } else { Fate::Pass };
    for style in STYLES {
        let (mut net, _) = start(rack(style, 20), Bytes::MAX, twice);
        net.run(at(3_000));
        // What left at 300 ms, after the retransmission, is SACKed at 400 ms.
        assert_eq!(times(&net, 1), [200, 300, 400], "{style:?}");
        assert_eq!(net.ends[C].stats().timeouts, 0);
    }
}

#[test]
fn a_lost_retransmission_reduces_again_unless_an_episode_reduces_once() {
    for (reduce_once, reductions) in [(false, 2), (true, 1)] {
        let twice = |n, before, _| if n == 1 && before < 2 { Fate::Drop } else { Fate::Pass };
        let config = Config { reduce_once, ..rack(RecoveryStyle::Rfc, 20) };
        let (mut net, diary) = start(config, Bytes::MAX, twice);
        net.run(at(1_500));
        assert_eq!(congestions(&diary).len(), reductions);
    }
}

#[test]
fn the_end_of_a_burst_is_lost_once_the_repair_of_its_beginning_is_delivered() {
    // Nothing lies above 8 to 10, but the retransmissions of 1 to 3 left later.
    for style in STYLES {
        let (mut net, diary) = start(rack(style, 10), Bytes::new(10 * UNIT), drop_first(&[1, 2, 3, 8, 9, 10]));
        net.run(at(4_000));
        assert_eq!(net.ends[C].acked(), Bytes::new(10 * UNIT), "{style:?}");
        assert_eq!((net.ends[C].stats().timeouts, congestions(&diary).len()), (0, 1), "{style:?}");
    }
}

#[test]
fn sacks_of_data_sent_before_the_head_was_sent_again_restart_the_timer_in_linux() {
    // The retransmission of 1 comes 1.2 s late. The last segment of its flight is 600 ms late: at 900 ms it shows that
    // the network takes its time.
    for (style, sent) in STYLES.into_iter().zip([&[200, 300, 1_200][..], &[200, 300]]) {
        let fate = |n, before, _| match (n, before) {
            (1, 0) => Fate::Drop,
            (1, 1) => Fate::Late(ms(1_200)),
            (20, 0) => Fate::Late(ms(600)),
            _ => Fate::Pass,
        };
        let (mut net, _) = start(rack(style, 20), Bytes::new(20 * UNIT), fate);
        net.run(at(1_600));
        assert_eq!(times(&net, 1), sent, "{style:?}");
        assert_eq!(net.ends[C].stats().timeouts, sent.len() as u64 - 2, "{style:?}");
        net.run(at(8_000));
        assert_eq!(net.ends[C].acked(), Bytes::new(20 * UNIT), "{style:?}");
    }
}

#[test]
fn a_recent_segment_is_not_marked_by_a_timeout() {
    for style in STYLES {
        // ACKs are lost for 3 s; the application writes one segment at 1.37 s, just before the RTO.
        let cut = |_, _, now: Instant| if now < at(1_390) { Fate::Drop } else { Fate::Pass };
        let (mut net, _) = start(rack(style, 10), Bytes::new(2 * UNIT), cut);
        net.run(at(1_000));
        let expiry = net.ends[C].poll_timeout();
        net.run(expiry - ms(20));
        net.ends[C].write(Bytes::new(UNIT));
        net.poll();
        let sent = times(&net, 3).len();
        net.run(expiry);
        assert_eq!(sent, 1);
        let lost = net.ends[C].stats().lost_bytes;
        assert_eq!(lost, Bytes::new(2 * UNIT), "{style:?}: 3 left 20 ms ago");
        net.run(at(6_000));
        assert_eq!(net.ends[C].acked(), Bytes::new(3 * UNIT));
    }
}

#[test]
fn a_retransmission_that_is_lost_after_a_timeout_begins_fast_recovery_in_linux() {
    for (style, phase) in STYLES.into_iter().zip([Phase::Loss, Phase::Recovery]) {
        // The first flight and its probe are lost, and then a retransmission that others overtake.
        let fate = move |n: u64, before, now: Instant| match (n, before) {
            _ if now < at(1_390) => Fate::Drop,
            (3, 1) => Fate::Drop,
            _ => Fate::Pass,
        };
        let (mut net, _) = start(rack(style, 10), Bytes::MAX, fate);
        while times(&net, 3).len() < 3 {
            assert!(net.step(at(10_000)), "{style:?}");
            net.poll();
        }
        assert_eq!((net.ends[C].info().phase, net.ends[C].stats().timeouts), (phase, 1), "{style:?}");
        net.run(at(20_000));
        assert!(net.ends[C].acked() > Bytes::new(20 * UNIT));
        assert_eq!(net.ends[C].stats().timeouts, 1, "{style:?}");
    }
}

#[test]
fn prr_spreads_the_reduction_of_rack() {
    let config = Config { reduction: Reduction::PrrLinux, reduce_once: true, ..rack(RecoveryStyle::Linux, 20) };
    let (mut net, _) = start(config, Bytes::MAX, drop_first(&[1]));
    net.run(at(399));
    let sent = net.data(C).iter().filter(|d| d.0 == 300).count();
    // Ten ACKs of 19 release a segment, as RFC 9937's example does.
    assert!((8..=11).contains(&sent), "{sent}");
    assert_eq!(net.ends[C].info().phase, Phase::Recovery);
}

#[test]
fn an_idle_or_closed_connection_has_no_timer_left() {
    let (mut net, _) = start(rack(RecoveryStyle::Linux, 10), Bytes::new(10 * UNIT), drop_first(&[10]));
    net.run(at(400));
    assert_ne!(net.ends[C].poll_timeout(), Instant::NEVER);
    net.ends[C].abort();
    net.poll();
    assert_eq!(net.ends[C].poll_timeout(), Instant::NEVER);
    let (mut net, _) = start(rack(RecoveryStyle::Rfc, 10), Bytes::new(10 * UNIT), |_, _, _| Fate::Pass);
    net.run(at(2_000));
    assert_eq!(net.ends[C].recovery_timer(), Instant::NEVER);
}

#[test]
fn other_recoveries_run_no_timer() {
    let (mut net, _) = super::loss::start(config(RecoveryKind::Sack, 10), &[3]);
    net.run(at(310));
    assert_eq!(net.ends[C].recovery_timer(), Instant::NEVER);
}

#[test]
fn without_sack_the_recovery_is_newreno() {
    let config = Config { sack: false, ..rack(RecoveryStyle::Linux, 10) };
    let (mut net, _) = start(config, Bytes::MAX, drop_first(&[3]));
    net.run(at(2_000));
    assert_eq!(net.ends[C].recovery_timer(), Instant::NEVER);
    assert_eq!((times(&net, 3), net.ends[C].stats().timeouts), (vec![200, 300], 0));
}

#[test]
fn header_prediction_covers_a_flow_without_losses() {
    let (mut net, _) = start(rack(RecoveryStyle::Linux, 10), Bytes::new(5_000 * UNIT), |_, _, _| Fate::Pass);
    net.run(at(20_000));
    assert_eq!(net.ends[C].acked(), Bytes::new(5_000 * UNIT));
    assert!(net.ends[C].predicted > 4_900, "{}", net.ends[C].predicted);
}

/// What the network does with the `n`-th transmission.
#[derive(Clone, Copy, Debug)]
enum Act {
    Pass,
    Drop,
    Late(u64),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![20 => Just(Act::Pass), 2 => Just(Act::Drop), 2 => (1u64..120).prop_map(Act::Late)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Whatever the network does, all data arrives, and without a timeout nothing is sent again that RFC 8985 does not
    /// allow: a retransmission that is no probe leaves a round-trip time after the transmission before it at the
    /// earliest, and after something sent later than that was delivered, as far as the sender can tell.
    #[test]
    fn nothing_is_marked_lost_that_rfc_8985_does_not_allow(
        acts in prop::collection::vec(act(), 1..400),
        linux in any::<bool>(),
        timestamps in any::<bool>(),
        prr in any::<bool>(),
    ) {
        let style = if linux { RecoveryStyle::Linux } else { RecoveryStyle::Rfc };
        let reduction = if prr { Reduction::PrrLinux } else { Reduction::Immediate };
        let mut config = Config { timestamps, reduction, reduce_once: linux, frto: true, ..rack(style, 10) };
        if linux {
            (config.rto.style, config.rto.min) = (RtoStyle::Linux, ms(200));
        }
        let mss = if timestamps { 988 } else { 1000 };
        let data = Bytes::new(150 * mss);
        let mut net = Net::new([config; 2], [reno(), reno()], [super::loss::ISS, 5]);
        net.establish();
        let mut n = 0;
        net.rule = Box::new(move |from, packet, _| {
            if from == S || packet.payload_len == 0 {
                return Fate::Pass;
            }
            n += 1;
            match acts.get(n - 1) {
                None | Some(Act::Pass) => Fate::Pass,
                Some(Act::Drop) => Fate::Drop,
                Some(&Act::Late(by)) => Fate::Late(ms(by)),
            }
        });
        net.ends[C].write(data);
        let mut last: std::collections::BTreeMap<u32, Instant> = Default::default();
        let (mut checked, mut probes, mut timeouts) = (0, 0, 0);
        let mut timeout_at = Instant::ZERO;
        while net.step(at(600_000)) {
            net.poll();
            let stats = net.ends[C].stats();
            let probed = stats.tail_probes > probes;
            if stats.timeouts > timeouts {
                timeout_at = net.now;
            }
            (probes, timeouts) = (stats.tail_probes, stats.timeouts);
            for entry in net.log.iter().skip(checked).filter(|e| e.1 == C && e.2.payload_len > 0) {
                let seq = entry.2.tcp().unwrap().seq.as_u32();
                if let Some(before) = last.insert(seq, entry.0)
                    && !probed
                    && before >= timeout_at
                    && timeout_at == Instant::ZERO
                {
                    prop_assert!(entry.0 >= before + ms(100), "{seq} left at {before} and again at {}", entry.0);
                    let seq_of = |e: &(Instant, usize, narrows_wire::Packet, Fate)| e.2.tcp().unwrap().seq.as_u32();
                    let later = |e: &&(Instant, usize, narrows_wire::Packet, Fate)| {
                        // Without timestamps the delivery of an earlier copy looks like that of the last one, if a
                        // round-trip time has passed since (RFC 8985, section 6.2, step 2).
                        let copied = !timestamps
                            && net.log.iter().any(|copy| copy.1 == C && copy.3 != Fate::Drop && seq_of(copy) == seq_of(e));
                        e.1 == C && e.2.payload_len > 0 && e.0 >= before && e.0 + ms(100) <= entry.0
                            && (e.3 != Fate::Drop || copied) && seq_of(e) != seq
                    };
                    prop_assert!(net.log.iter().any(|e| later(&e)), "nothing sent after {seq} was delivered");
                }
            }
            checked = net.log.len();
        }
        prop_assert_eq!(net.ends[C].acked(), data);
    }
}
