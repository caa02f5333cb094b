//! Helpers that the engine's tests share.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, dead_code, missing_docs)]

use narrows_scenario::Scenario;
use narrows_sim::{Options, Outcome, catalogue, run};

/// The scenario in `text`, which must be valid.
pub fn scenario(text: &str) -> Scenario {
    match narrows_scenario::parse(text, "test.toml", &[], &catalogue()) {
        Ok(scenario) => scenario,
        Err(problems) => panic!("{problems}"),
    }
}

/// Runs the scenario in `text` with this seed.
pub fn run_seeded(text: &str, seed: u64) -> Outcome {
    run(&scenario(text), &Options { seed, ..Options::default() }).unwrap()
}

/// Runs the scenario in `text` with seed 1.
pub fn run_text(text: &str) -> Outcome {
    run_seeded(text, 1)
}

/// Payload bytes delivered per flow.
pub fn delivered(outcome: &Outcome) -> Vec<u64> {
    outcome.samples.flow_totals.delivered_bytes.clone()
}

/// A scenario of two hosts and two routers with this bottleneck, and these flows from `A` to `B`.
pub fn path(bottleneck: &str, flows: &str) -> String {
    format!(
        r#"
format = 1
name = "test"
duration = "20 s"

[[nodes]]
name = "A"
[[nodes]]
name = "R1"
kind = "router"
[[nodes]]
name = "R2"
kind = "router"
[[nodes]]
name = "B"

[[links]]
between = ["A", "R1"]
rate = "100 Mb/s"
delay = "1 ms"
queue = {{ kind = "droptail", limit = "1000 packets" }}

[[links]]
between = ["R1", "R2"]
{bottleneck}

[[links]]
between = ["R2", "B"]
rate = "100 Mb/s"
delay = "1 ms"
queue = {{ kind = "droptail", limit = "1000 packets" }}

{flows}
"#
    )
}

/// A bottleneck of 10 Mb/s, 10 ms and 50 packets.
pub const PLAIN: &str = r#"rate = "10 Mb/s"
delay = "10 ms"
queue = { kind = "droptail", limit = "50 packets" }"#;

/// A bulk flow.
pub const BULK: &str = r#"[[flows]]
name = "bulk"
from = "A"
to = "B"
kind = "bulk"
"#;

/// Asserts that every queue has forwarded, dropped or kept all packets that came to it.
pub fn assert_conserved(outcome: &Outcome) {
    let q = &outcome.samples.queue_totals;
    for i in 0..q.arrived_packets.len() {
        let row = q.row(i).unwrap();
        let dropped = row.dropped_overflow + row.dropped_early + row.dropped_forced;
        assert_eq!(
            row.arrived_packets,
            row.forwarded_packets + dropped + row.waiting_packets,
            "queue {}",
            outcome.samples.queue_names[i]
        );
    }
}
