//! On every channel, each packet that was offered is delivered once, in order, or given up, or still held.

#![allow(clippy::unwrap_used)]

mod common;

use common::*;
use narrows_units::{Bytes, Duration, Rate};
use narrows_wifi::{Aggregation, Config, Mode, StationConfig};
use proptest::prelude::*;
use std::collections::BTreeSet;

#[derive(Clone, Debug)]
struct Case {
    stations: usize,
    hidden: Vec<(usize, usize)>,
    fer: Vec<f64>,
    signals: Vec<i32>,
    rts: Option<u64>,
    capture: Option<u8>,
    mpdus: Option<u32>,
    /// Microseconds.
    propagation: u64,
    cw_bits: u32,
    /// 802.11a at 6 Mb/s instead of DSSS at 1 Mb/s: its frames are shorter than the longest propagation delays.
    fast: bool,
    retry: u32,
    /// Sender, receiver, length, time (us). The receiver is used only for packets from the base station (0); other
    /// stations send to the base station.
    packets: Vec<(usize, usize, u64, u64)>,
}

fn cases() -> impl Strategy<Value = Case> {
    (2_usize..6)
        .prop_flat_map(|n| {
            let packet = (0..n, 1..n, 60_u64..1500, 0_u64..200_000);
            let link = (
                prop::option::of(prop_oneof![Just(0_u64), Just(800)]),
                prop::option::of(0_u8..20),
                prop::option::of(1_u32..65),
                prop_oneof![3 => 0_u64..5, 1 => 100_u64..500],
                0_u32..6,
                prop::bool::ANY,
                prop_oneof![Just(1_u32), Just(7)],
            );
            (
                Just(n),
                prop::collection::vec((1..n, 1..n), 0..6),
                prop::collection::vec(prop_oneof![Just(0.0), 0.0..0.6], n),
                prop::collection::vec(-20..20, n),
                link,
                prop::collection::vec(packet, 1..120),
            )
        })
        .prop_map(
            |(stations, hidden, fer, signals, (rts, capture, mpdus, propagation, cw_bits, fast, retry), packets)| {
                Case {
                    stations,
                    hidden: hidden.into_iter().filter(|(a, b)| a != b).collect(),
                    fer,
                    signals,
                    rts,
                    capture,
                    mpdus,
                    propagation,
                    cw_bits,
                    fast,
                    retry,
                    packets,
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn packets_are_conserved(case in cases(), cut in 0_u64..3_000_000) {
        let aggregation = case.mpdus.map(|max_mpdus| Aggregation {
            max_mpdus,
            max_bytes: Bytes::new(65_535),
            max_time: Duration::from_millis(50),
        });
        let mbps = Rate::mbps(6);
        let base = if case.fast { preset("802.11a", Mode::Rate(mbps), mbps, false) } else { config() };
        // The propagation delay there and back is less than a slot.
        let slot = if case.propagation < 10 { base.slot } else { Duration::from_millis(1) };
        let config = Config {
            rts_threshold: case.rts.map(Bytes::new),
            capture_db: case.capture.map(f64::from),
            propagation: Duration::from_micros(case.propagation),
            slot,
            eifs: Config::standard_eifs(base.sifs, slot, &base.control),
            answer_timeout: Config::standard_timeout(base.sifs, slot, &base.control),
            short_retry: case.retry,
            cw_min: (1 << case.cw_bits) - 1,
            aggregation,
            ..base
        };
        let stations: Vec<StationConfig> = case
            .signals
            .iter()
            .map(|&s| StationConfig { signal_db: f64::from(s), overhead: Bytes::new(8) })
            .collect();
        let errors: Vec<_> = (1..case.stations).map(|s| fer(s, case.fer[s])).collect();
        let (mut m, mut log) = (medium(config, &stations, &case.hidden, &errors), Log::new(case.stations));
        let mut packets = case.packets.clone();
        packets.sort_by_key(|p| p.3);
        for (mark, &(from, peer, len, at)) in packets.iter().enumerate() {
            run(&mut m, &mut log, us(at));
            let to = if from == 0 { peer } else { 0 };
            offer(&mut m, &mut log, from, to, len, mark as u16, us(at));
        }
        run(&mut m, &mut log, us(200_000 + cut));
        let received: BTreeSet<u16> = log.received.iter().map(|r| r.1).collect();
        prop_assert_eq!(received.len(), log.received.len(), "nothing is delivered twice");
        let given_up: BTreeSet<u16> = log.given_up.iter().map(|g| g.1).collect();
        let waiting: usize = log.queues.iter().map(std::collections::VecDeque::len).sum();
        let held: usize = (0..case.stations).map(|s| m.holds(s)).sum();
        // Waiting packets are nowhere else; held packets may have been delivered (their acknowledgments are in flight
        // or lost).
        let known = received.union(&given_up).count();
        prop_assert!(known + waiting <= packets.len());
        prop_assert!(known + waiting + held >= packets.len(), "{known} known, {waiting} waiting, {held} held of {}", packets.len());
        // Packets arrive in order per direction.
        for from in 0..case.stations {
            for to in 0..case.stations {
                let of = |mark: u16| {
                    let (f, peer, ..) = packets[usize::from(mark)];
                    f == from && (if f == 0 { peer } else { 0 }) == to
                };
                let marks: Vec<u16> = log.received.iter().map(|r| r.1).filter(|&k| of(k)).collect();
                prop_assert!(marks.windows(2).all(|w| w[0] < w[1]), "{from}->{to}: {marks:?}");
            }
        }
        // No station sends two frames at once.
        for station in 0..case.stations {
            let own: Vec<_> = log.frames.iter().filter(|f| f.from == station).collect();
            prop_assert!(own.windows(2).all(|w| w[0].start + w[0].airtime <= w[1].start));
        }
        // In the end no packets are held.
        run(&mut m, &mut log, us(3_600_000_000));
        let held: usize = (0..case.stations).map(|s| m.holds(s)).sum();
        prop_assert_eq!(held, 0);
        // Then every packet has either arrived or is known to be lost.
        let received: BTreeSet<u16> = log.received.iter().map(|r| r.1).collect();
        prop_assert!(log.lost.iter().all(|mark| !received.contains(mark)));
        prop_assert_eq!(received.len() + log.lost.len(), packets.len());
    }
}
