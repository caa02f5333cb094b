//! Links that follow traces: both loops agree, totals count opportunities, and the fast path is left to constant rates.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use narrows_samples::Table;
use narrows_scenario::{Scenario, Traffic, parse};
use narrows_sim::{Options, Outcome, catalogue, run};
use narrows_units::Rate;
use proptest::prelude::*;
use std::fmt::Write as _;
use std::sync::Arc;

/// Two flows over a bottleneck that follows this trace in the forward direction; UDP beside them.
fn scenario(content: &str, queue: &str, delay: &str, more: &str) -> Scenario {
    let text = format!(
        "name = \"t\"\nduration = \"3 s\"\n{more}\n[topology]\nkind = \"dumbbell\"\npairs = 2\n\
         access = {{ rate = \"100 Mb/s\", delay = \"1 ms\" }}\n[topology.bottleneck]\nrate = \"20 Mb/s\"\n\
         delay = \"{delay}\"\nforward.rate = {{ trace = \"t\", content = \"{content}\" }}\nforward.queue = {queue}\n\
         [[flows]]\nname = \"bulk\"\nfrom = \"s1\"\nto = \"d1\"\n\
         [[flows]]\nname = \"back\"\nfrom = \"d2\"\nto = \"s2\"\nstart = \"300 ms\"\n\
         [[flows]]\nname = \"udp\"\nfrom = \"s2\"\nto = \"d2\"\nkind = \"udp\"\nrate = \"2 Mb/s\"\npayload = \"333 B\"\n"
    );
    parse(&text, "t.toml", &[], &catalogue()).unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

/// The outcome, which both loops have.
fn both(scenario: &Scenario, seed: u64) -> Outcome {
    let [lazy, plain] =
        [false, true].map(|plain_loop| run(scenario, &Options { seed, plain_loop, ..Options::default() }).unwrap());
    assert_eq!(lazy.samples, plain.samples);
    assert_eq!(lazy.digest(), plain.digest());
    lazy
}

const QUEUES: [&str; 4] = [
    "{ kind = \"droptail\", limit = \"20 packets\" }",
    "{ kind = \"codel\" }",
    "{ kind = \"fq_codel\", limit = \"100 packets\" }",
    "{ kind = \"red\", limit = \"40 packets\" }",
];

#[test]
fn a_saturated_trace_is_used_up() {
    // An opportunity per millisecond: 12 Mb/s, counted with mahimahi's four bytes per packet.
    let mut scenario = scenario("opportunities 1", QUEUES[0], "10 ms", "");
    let bottleneck = scenario.links.iter().find(|link| link.forward.trace.is_some()).unwrap();
    assert_eq!(bottleneck.forward.rate.as_bps(), 12_032_000);
    scenario.flows[2].traffic = Traffic::Datagrams { rate: Rate::mbps(30), pauses: None };
    let outcome = both(&scenario, 1);
    let total = &outcome.samples.queue_totals;
    let index = (0..total.len()).find(|row| total.capacity_bits[*row] == 3000 * 1504 * 8).unwrap();
    let used = total.forwarded_bytes[index] as f64 * 8.0 / total.capacity_bits[index] as f64;
    // Datagrams of 333 bytes have 28 bytes of headers: of 365 bytes counted, 361 are theirs. They begin at once.
    assert!((0.985..=361.5 / 365.0).contains(&used), "{used}");
}

#[test]
fn a_saved_scenario_carries_its_trace() {
    for content in ["opportunities 0 3 0 5", "rates 0 5000000 700000000 0 900000000 8000000"] {
        let made = scenario(content, QUEUES[0], "10 ms", "");
        let again = parse(&made.to_toml(), "again.toml", &[], &catalogue()).unwrap();
        assert_eq!(again, made);
        assert_eq!(both(&again, 3).digest(), both(&made, 3).digest());
    }
}

#[test]
fn a_trace_that_ends_stops_the_link() {
    let made = scenario("rates 0 5000000 700000000 0", QUEUES[0], "10 ms", "");
    let outcome = both(&made, 3);
    let total = &outcome.samples.queue_totals;
    let index = (0..total.len()).find(|row| total.capacity_bits[*row] == 3_500_000).unwrap();
    assert!((total.forwarded_bytes[index] - total.unsent_bytes[index]) * 8 <= 3_500_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn both_loops_have_the_same_samples(
        gaps in proptest::collection::vec(0_u32..8, 1..40),
        gap in 0_u32..400,
        rates in proptest::collection::vec((1_u64..400, 0_u64..15_000_000), 1..6),
        of_rates in any::<bool>(),
        queue in 0..QUEUES.len(),
        delay in prop_oneof![Just("0 s"), Just("7 ms")],
        more in prop_oneof![Just("sampling = \"events\""), Just("sampling = \"100 ms\"")],
        seed in 0_u64..1000,
    ) {
        let mut text = String::new();
        if of_rates {
            text.push_str("rates 0 4000000");
            let mut at = 0;
            for (ms, rate) in rates {
                at += ms * 1_000_000;
                write!(text, " {at} {rate}").unwrap();
            }
        } else {
            text.push_str("opportunities");
            gaps.iter().chain([&gap, &1]).for_each(|gap| write!(text, " {gap}").unwrap());
        }
        let mut made = scenario(&text, QUEUES[queue], delay, more);
        let trace = made.links.iter_mut().find_map(|link| link.forward.trace.as_mut()).unwrap();
        Arc::make_mut(trace).repeat |= seed.is_multiple_of(2);
        both(&made, seed);
    }
}
