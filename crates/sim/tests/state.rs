//! Samples of algorithms' state: which variables there are, that they are the same in both loops, and that asking for
//! them changes nothing else.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use narrows_samples::{NONE, Samples, Table};
use narrows_sim::{Options, run};
use std::collections::BTreeSet;

const TWO: &str = r#"
duration = "6 s"
sampling = { interval = "20 ms", state = STATE }

[topology]
kind = "dumbbell"
pairs = 2
bottleneck = { rate = "10 Mb/s", delay = "20 ms", queue = { kind = "red", limit = "60 packets", min_threshold = 10, max_threshold = 30 } }
access = { rate = "100 Mb/s", delay = "1 ms" }

[[flows]]
name = "cubic"
from = "s1"
to = "d1"
cc = "cubic"

[[flows]]
name = "bbr"
from = "s2"
to = "d2"
cc = "bbr"
start = "1 s"
"#;

fn samples(state: &str, plain_loop: bool) -> (Samples, String) {
    let text = TWO.replace("STATE", state);
    let scenario = narrows_scenario::parse(&text, "state.toml", &[], &narrows_sim::catalogue());
    let scenario = scenario.unwrap_or_else(|problems| panic!("{problems}"));
    let outcome = run(&scenario, &Options { seed: 1, plain_loop, ..Options::default() }).unwrap();
    let digest = outcome.digest().unwrap();
    (outcome.samples, digest)
}

/// The values of a variable, with their times in nanoseconds.
fn values(samples: &Samples, kind: &str, index: u64, variable: &str) -> Vec<(u64, f64)> {
    let series = samples
        .series
        .iter()
        .position(|series| series.owner.word() == kind && series.index == index && series.variable.name == variable);
    let series = series.unwrap_or_else(|| panic!("no {variable} of {kind} {index}")) as u64;
    let rows = samples.state.unpack().unwrap();
    (0..rows.len())
        .filter_map(|row| rows.row(row))
        .filter(|row| row.series == series && row.value_bits != NONE)
        .map(|row| (row.time_ns, f64::from_bits(row.value_bits)))
        .collect()
}

#[test]
fn both_loops_report_the_same_state() {
    let ((lazy, lazy_digest), (_, plain_digest)) = (samples("true", false), samples("true", true));
    assert_eq!(lazy_digest, plain_digest);
    assert_eq!(
        lazy.series.len(),
        lazy.series
            .iter()
            .map(|s| (s.owner.word(), s.index, &s.algorithm, s.variable.name))
            .collect::<BTreeSet<_>>()
            .len()
    );
}

#[test]
fn every_object_is_sampled_with_the_others() {
    let (made, _) = samples("true", false);
    let times: BTreeSet<u64> = made.queues.unpack().unwrap().time_ns.iter().copied().collect();
    let phase = values(&made, "flow", 0, "phase");
    // The connection exists from the first event of its flow on: at time zero it is about to begin.
    let sampled: BTreeSet<u64> = phase.iter().map(|(time, _)| *time).collect();
    assert!(times.difference(&sampled).count() <= 1, "{} of {}", sampled.len(), times.len());
    assert!(phase.iter().any(|(_, phase)| *phase > 0.5), "6 s over RED have losses");
    // The bottleneck is the only queue that fills.
    let bottleneck = made.queue_names.iter().position(|name| name == "r1->r2").unwrap() as u64;
    let average = values(&made, "queue", bottleneck, "avg");
    assert_eq!(average.len(), times.len());
    let most = average.iter().fold(0.0_f64, |most, (_, value)| most.max(*value));
    assert!(most > 5.0 && most < 60.0, "RED's average is at most {most} packets");
    // The second flow starts at 1 s.
    assert!(values(&made, "flow", 1, "phase").iter().all(|(time, _)| *time >= 1_000_000_000));
}

#[test]
fn asking_for_state_changes_nothing_else() {
    let ((with, with_digest), (without, without_digest)) = (samples("true", false), samples("false", false));
    assert!(without.state.is_empty() && without.series.is_empty());
    assert!(with.state.len() > 1000);
    assert_ne!(with_digest, without_digest);
    assert_eq!(with.flows, without.flows);
    assert_eq!(with.queues, without.queues);
    assert_eq!(with.flow_totals, without.flow_totals);
    let bare = TWO.replace("{ interval = \"20 ms\", state = STATE }", "\"20 ms\"");
    let scenario = narrows_scenario::parse(&bare, "state.toml", &[], &narrows_sim::catalogue()).unwrap();
    let outcome = run(&scenario, &Options { seed: 1, ..Options::default() }).unwrap();
    assert_eq!(outcome.digest().unwrap(), without_digest);
}

#[test]
fn sampling_at_every_event_has_the_state_at_every_event() {
    let text = TWO.replace("{ interval = \"20 ms\", state = STATE }", "{ interval = \"events\", state = true }");
    let text = text.replace("6 s", "2 s");
    let scenario = narrows_scenario::parse(&text, "state.toml", &[], &narrows_sim::catalogue()).unwrap();
    let made = run(&scenario, &Options { seed: 1, ..Options::default() }).unwrap().samples;
    let flows = made.flows.unpack().unwrap();
    let acks = flows.flow.iter().filter(|flow| **flow == 0).count();
    assert!(values(&made, "flow", 0, "phase").len().abs_diff(acks) <= 2);
}
