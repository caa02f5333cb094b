//! L4S and Classic flows over DualPI2: delays of both queues, rates side by side, and no starvation at overload.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod common;

use common::run_text;
use narrows_sim::Outcome;

/// DCTCP on ECT(1), with its own exact echo.
const DCTCP: &str = "cc = \"dctcp\", ecn = true, ect1 = true";

/// `l4s` scalable flows with these settings beside `classic` ones of CUBIC, for 30 s.
fn outcome(scalable: &str, rate: &str, queue: &str, (l4s, classic): (usize, usize), more: &str) -> Outcome {
    run_text(&text(scalable, rate, queue, (l4s, classic), more))
}

fn text(scalable: &str, rate: &str, queue: &str, (l4s, classic): (usize, usize), more: &str) -> String {
    let flow = |name: &str, pair: usize, tcp: &str| {
        format!("[[flows]]\nname = \"{name}{pair}\"\nfrom = \"s{pair}\"\nto = \"d{pair}\"\ntcp = {{ {tcp} }}\n")
    };
    let scalable: String = (1..=l4s).map(|pair| flow("l4s", pair, scalable)).collect();
    let others: String = (l4s + 1..=l4s + classic).map(|pair| flow("classic", pair, "cc = \"cubic\"")).collect();
    format!(
        "name = \"l4s\"\nduration = \"30 s\"\nsampling = \"1 s\"\n[topology]\nkind = \"dumbbell\"\npairs = {}\n\
         bottleneck = {{ rate = \"{rate}\", delay = \"4 ms\", queue = {{ kind = \"dualpi2\", limit = \"2000 packets\"{queue} }} }}\n\
         access = {{ rate = \"1 Gb/s\", delay = \"500 us\" }}\n[tcp]\nstack = \"linux\"\n{scalable}{others}{more}",
        l4s + classic + 1
    )
}

/// Delivered bytes of a flow from 10 s on.
fn late(outcome: &Outcome, flow: u64) -> u64 {
    let samples = outcome.samples.flows.unpack().unwrap();
    let of = |at: u64| {
        (0..samples.time_ns.len())
            .find(|&i| samples.flow[i] == flow && samples.time_ns[i] == at * 1_000_000_000)
            .map(|i| samples.delivered_bytes[i])
            .unwrap()
    };
    of(30) - of(10)
}

#[test]
fn l4s_packets_wait_less_than_two_milliseconds_beside_a_classic_flow_of_like_rate() {
    for rate in ["40 Mb/s", "120 Mb/s"] {
        for profile in ["rfc9332", "linux"] {
            let outcome = outcome(DCTCP, rate, &format!(", profile = \"{profile}\""), (1, 1), "");
            let queues = &outcome.samples.subqueue_totals;
            let (l4s, classic) = (queues.row(0).unwrap(), queues.row(1).unwrap());
            assert!(l4s.delay_p99_ns < 2_000_000, "{rate} {profile}: {l4s:?}");
            assert!((5_000_000..40_000_000).contains(&classic.delay_p50_ns), "{rate} {profile}: {classic:?}");
            assert!(l4s.marked > 100 && l4s.dropped_early + l4s.dropped_overflow == 0, "{rate} {profile}: {l4s:?}");
            let (scalable, other) = (late(&outcome, 0) as f64, late(&outcome, 1) as f64);
            let ratio = scalable / other;
            // The coupling makes windows alike. DCTCP's round-trip time is 10 ms, CUBIC's with its queue 25 ms.
            assert!((0.8..4.5).contains(&ratio), "{rate} {profile}: {ratio}");
            let total = (scalable + other) * 8.0 / 20.0 / rate[..rate.len() - 5].parse::<f64>().unwrap() / 1e6;
            assert!(total > 0.9, "{rate} {profile}: {total}");
        }
    }
}

#[test]
#[ignore]
fn explore2() {
    for scalable in ["cc = \"prague\"", "cc = \"prague\", cc_params = { rtt_target = 30 }"] {
        for rate in ["40 Mb/s", "120 Mb/s"] {
            for queue in ["", ", profile = \"linux\""] {
                for cl in ["cubic", "reno"] {
                    let text = text(scalable, rate, queue, (1, 1), "")
                        .replace("\"30 s\"", "\"120 s\"")
                        .replace("\"cubic\"", &format!("\"{cl}\""));
                    let o = run_text(&text);
                    let samples = o.samples.flows.unpack().unwrap();
                    let of = |flow: u64, at: u64| {
                        (0..samples.time_ns.len())
                            .find(|&i| samples.flow[i] == flow && samples.time_ns[i] == at * 1_000_000_000)
                            .map(|i| samples.delivered_bytes[i])
                            .unwrap()
                    };
                    let r = |a: u64, b: u64| (of(0, b) - of(0, a)) as f64 / (of(1, b) - of(1, a)) as f64;
                    println!(
                        "{scalable} {rate} {queue} {cl}: 10-30 {:.2} 30-60 {:.2} 60-90 {:.2} 90-120 {:.2} all {:.2}",
                        r(10, 30),
                        r(30, 60),
                        r(60, 90),
                        r(90, 120),
                        r(20, 120)
                    );
                }
            }
        }
    }
}

#[test]
#[ignore]
fn explore() {
    for scalable in [
        DCTCP,
        "cc = \"dctcp\", ecn = \"accurate\", ect1 = true",
        "cc = \"prague\"",
        "cc = \"prague\", tso = false",
        "cc = \"prague\", cc_params = { first_mark = \"alpha_one\" }",
    ] {
        for rate in ["40 Mb/s", "120 Mb/s"] {
            for profile in ["rfc9332", "linux"] {
                let o = outcome(scalable, rate, &format!(", profile = \"{profile}\""), (1, 1), "");
                let q = &o.samples.subqueue_totals;
                let (l, c) = (q.row(0).unwrap(), q.row(1).unwrap());
                let t = o.samples.flow_totals.row(0).unwrap();
                println!(
                    "{scalable:60} {rate:8} {profile:8} L p50 {:.2} p99 {:.2} ms C p50 {:.1} ms, ratio {:.2}, total {:.1} Mb/s, marked {} dropped {} red {} resent {}",
                    l.delay_p50_ns as f64 / 1e6,
                    l.delay_p99_ns as f64 / 1e6,
                    c.delay_p50_ns as f64 / 1e6,
                    late(&o, 0) as f64 / late(&o, 1) as f64,
                    (late(&o, 0) + late(&o, 1)) as f64 * 8.0 / 20e6,
                    l.marked,
                    l.dropped_early + l.dropped_overflow,
                    t.ecn_reductions,
                    t.retransmitted_packets
                );
            }
        }
    }
}
