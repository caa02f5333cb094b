//! Invariants of every run and scenario: packets are conserved, limits are kept, time is monotone.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod common;

use common::{BULK, PLAIN, assert_conserved, path, run_seeded, run_text};
use narrows_cc::{ParamKind, registry};
use narrows_sim::Outcome;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::FileFailurePersistence;

const UDP: &str = r#"
[[flows]]
name = "udp"
from = "A"
to = "B"
kind = "udp"
rate = "3 Mb/s"
payload = "1000 B"
start = "1 s"
stop = "15 s"
"#;

#[test]
fn queues_conserve_packets() {
    for bottleneck in [
        PLAIN.to_owned(),
        format!("{PLAIN}\nper = 0.02"),
        PLAIN.replace("limit = \"50 packets\"", "limit = \"20 kB\""),
        PLAIN.replace("{ kind = \"droptail\",", "{ kind = \"red\", min_threshold = 5, max_threshold = 15,"),
    ] {
        assert_conserved(&run_text(&path(&bottleneck, &format!("{BULK}{UDP}"))));
    }
}

#[test]
fn every_datagram_is_accounted_for() {
    let outcome = run_text(&path(&format!("{PLAIN}\nper = 0.05"), &format!("{BULK}{UDP}")));
    let udp = outcome.samples.flow_totals.row(1).unwrap();
    assert_eq!(udp.sent_packets, udp.arrived_packets + udp.lost_packets, "the flow ended 5 s before the run");
    assert!(udp.lost_packets > 0);
    // 14 s at 3 Mb/s in packets of 1028 bytes: one at the start, then one every 2.7413 ms.
    assert_eq!(udp.sent_packets, 1 + (14_000_000_000_u64 - 1) / (1028 * 8 * 1000 / 3));
}

#[test]
fn a_bulk_flow_fills_the_bottleneck() {
    let outcome = run_text(&path(PLAIN, BULK));
    let bulk = outcome.samples.flow_totals.row(0).unwrap();
    let mbps = bulk.arrived_bytes as f64 * 8.0 / 20.0 / 1e6;
    assert!(mbps > 9.5 && mbps <= 10.0, "{mbps} Mb/s");
    // The handshake finds empty queues: 24 ms of propagation, and 60 bytes six times at 100, 10 and 100 Mb/s.
    assert_eq!(bulk.rtt_min_ns, 24_000_000 + 2 * (4_800 + 48_000 + 4_800));
}

#[test]
fn samples_are_monotone_in_time_and_in_their_counters() {
    for sampling in ["\"10 ms\"", "\"events\""] {
        let text =
            path(PLAIN, &format!("{BULK}{UDP}")).replace("duration", &format!("sampling = {sampling}\nduration"));
        let s = run_text(&text).samples;
        let (flows, queues) = (s.flows.unpack().unwrap(), s.queues.unpack().unwrap());
        assert!(flows.time_ns.is_sorted() && !flows.time_ns.is_empty());
        for flow in 0..2 {
            let of = |column: &[u64]| -> Vec<u64> {
                column.iter().zip(&flows.flow).filter(|(_, f)| **f == flow).map(|(v, _)| *v).collect()
            };
            for column in [&flows.sent_bytes, &flows.delivered_bytes, &flows.lost_packets] {
                assert!(of(column).is_sorted());
            }
        }
        for queue in 0..6 {
            let packets: Vec<u64> =
                queues.packets.iter().zip(&queues.queue).filter(|(_, q)| **q == queue).map(|(v, _)| *v).collect();
            let limit = if queue == 2 || queue == 3 { 50 } else { 1000 };
            assert!(packets.iter().all(|&p| p <= limit));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_bottleneck_conserves_packets(
        rate in 64u64..50_000,
        delay in 0u64..100,
        limit in 6u64..60,
        per in 0.0f64..0.3,
        red: bool,
        seed: u64,
    ) {
        let kind = if red { r#""red", min_threshold = 2, max_threshold = 6"# } else { r#""droptail""# };
        let bottleneck = format!(
            r#"rate = "{rate} kb/s"
delay = "{delay} ms"
per = {per}
queue = {{ kind = {kind}, limit = "{limit} packets" }}"#
        );
        let text = path(&bottleneck, &format!("{BULK}{UDP}")).replace("20 s", "16 s");
        let outcome = run_seeded(&text, seed);
        assert_conserved(&outcome);
        let bulk = outcome.samples.flow_totals.row(0).unwrap();
        prop_assert!(bulk.delivered_bytes <= bulk.sent_bytes - bulk.retransmitted_bytes);
    }
}

/// Lines of `[tcp]` for every congestion control with its default profile and with each of its profiles, and the value
/// of `ecn` that it needs.
fn algorithms() -> Vec<(String, Option<&'static str>)> {
    let mut said = Vec::new();
    for row in registry() {
        let needs_ecn = match (row.traits.l4s, row.traits.needs_ecn) {
            (true, _) => Some("\"accurate\""),
            (false, needs) => needs.then_some("true"),
        };
        let name = format!("cc = \"{}\"", row.name);
        let profile = row.params.iter().find(|param| param.name == "profile");
        if let Some(ParamKind::Choice { allowed, .. }) = profile.map(|param| param.kind) {
            let with = |word| (format!("{name}\ncc_params = {{ profile = \"{word}\" }}"), needs_ecn);
            said.extend(allowed.iter().map(with));
        }
        said.push((name, needs_ecn));
    }
    said
}

/// Asserts of a flow's totals: bytes delivered once are no more than bytes sent once, and something arrived.
fn assert_delivers(outcome: &Outcome, said: &str) {
    let bulk = outcome.samples.flow_totals.row(0).unwrap();
    assert!(bulk.delivered_bytes <= bulk.sent_bytes - bulk.retransmitted_bytes, "{said}");
    assert!(bulk.delivered_bytes <= bulk.arrived_bytes, "{said}");
    assert!(bulk.delivered_bytes > 0, "{said}: nothing arrived");
}

/// Other settings of `[tcp]` besides the algorithm.
fn settings() -> impl Strategy<Value = String> {
    let recovery = select(vec!["rto_only", "tahoe", "reno", "newreno", "sack", "fack"]);
    let reduction = select(vec!["immediate", "prr", "prr_linux"]);
    let stack = select(vec!["rfc", "linux", "ns2"]);
    let switches = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (stack, recovery, reduction, switches).prop_map(
        |(stack, recovery, reduction, (timestamps, undo, paced, delayed))| {
            // PRR and the recoveries that read a scoreboard need SACK.
            let sack = matches!(recovery, "sack" | "fack");
            let reduction = if sack { reduction } else { "immediate" };
            format!(
                "stack = \"{stack}\"\nrecovery = \"{recovery}\"\nreduction = \"{reduction}\"\nsack = {sack}\n\
                 timestamps = {timestamps}\nundo = {undo}\npacing = {paced_by}\ndelayed_ack = {delayed_by}",
                paced_by = if paced { "{ slow_start = 200, avoidance = 120 }" } else { "false" },
                delayed_by = if delayed { "{ every = 2, timeout = \"40 ms\" }" } else { "false" },
            )
        },
    )
}

#[test]
fn every_algorithm_survives_a_lossy_path() {
    let network = path(&format!("{PLAIN}\nper = 0.01"), BULK).replace("20 s", "8 s");
    for (cc, ecn) in algorithms() {
        let outcome = run_text(&format!("{network}\n[tcp]\n{cc}\necn = {}\n", ecn.unwrap_or("false")));
        assert_conserved(&outcome);
        assert_delivers(&outcome, &cc);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 96,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_algorithm_with_any_settings_conserves_packets_and_repeats(
        (cc, needs_ecn) in select(algorithms()),
        settings in settings(),
        ecn in select(vec!["false", "true", "\"accurate\""]),
        rate in 64u64..20_000,
        delay in 0u64..200,
        limit in 6u64..100,
        per in prop_oneof![Just(0.0), 0.0f64..0.2],
        red: bool,
        seed: u64,
    ) {
        let kind = if red { r#""red", min_threshold = 2, max_threshold = 6, ecn = true"# } else { r#""droptail""# };
        let bottleneck = format!(
            r#"rate = "{rate} kb/s"
delay = "{delay} ms"
per = {per}
queue = {{ kind = {kind}, limit = "{limit} packets" }}"#
        );
        let network = path(&bottleneck, &format!("{BULK}{UDP}")).replace("20 s", "8 s").replace("15 s", "4 s");
        let said = format!("{settings}\n{cc}\necn = {}", needs_ecn.unwrap_or(ecn));
        let text = format!("{network}\n[tcp]\n{said}\n");
        let outcome = run_seeded(&text, seed);
        assert_conserved(&outcome);
        let bulk = outcome.samples.flow_totals.row(0).unwrap();
        prop_assert!(bulk.delivered_bytes <= bulk.sent_bytes - bulk.retransmitted_bytes, "{}", said);
        let again = run_seeded(&text, seed);
        prop_assert_eq!(bulk, again.samples.flow_totals.row(0).unwrap(), "{}", said);
    }
}
