//! L4S and Classic flows over DualPI2: delays of both queues, rates side by side, and no starvation at overload.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod common;

use common::run_text;
use narrows_sim::Outcome;

/// `l4s` flows of DCTCP on ECT(1), which is scalable, beside `classic` ones of CUBIC, for 30 s.
fn outcome(rate: &str, queue: &str, l4s: usize, classic: usize, more: &str) -> Outcome {
    let flow = |name: &str, pair: usize, tcp: &str| {
        format!("[[flows]]\nname = \"{name}{pair}\"\nfrom = \"s{pair}\"\nto = \"d{pair}\"\ntcp = {{ {tcp} }}\n")
    };
    let scalable: String = (1..=l4s).map(|pair| flow("l4s", pair, "cc = \"dctcp\", ecn = true, ect1 = true")).collect();
    let others: String = (l4s + 1..=l4s + classic).map(|pair| flow("classic", pair, "cc = \"cubic\"")).collect();
    run_text(&format!(
        "name = \"l4s\"\nduration = \"30 s\"\nsampling = \"1 s\"\n[topology]\nkind = \"dumbbell\"\npairs = {}\n\
         bottleneck = {{ rate = \"{rate}\", delay = \"4 ms\", queue = {{ kind = \"dualpi2\", limit = \"2000 packets\"{queue} }} }}\n\
         access = {{ rate = \"1 Gb/s\", delay = \"500 us\" }}\n[tcp]\nstack = \"linux\"\n{scalable}{others}{more}",
        l4s + classic + 1
    ))
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
            let outcome = outcome(rate, &format!(", profile = \"{profile}\""), 1, 1, "");
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
