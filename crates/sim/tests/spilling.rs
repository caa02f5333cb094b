//! Samples that exceed the memory budget go to a file, and nothing else changes.

#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::scenario;
use narrows_samples::{Samples, Table};
use narrows_sim::{Budget, Options, Outcome, RunError, Spill, run};
use std::path::Path;
use std::sync::Arc;

/// A scenario that is sampled so often that there are several parts.
fn dense() -> narrows_scenario::Scenario {
    let mut made = scenario(include_str!("reference.toml"));
    made.sampling = narrows_scenario::Sampling::Interval(narrows_units::Duration::from_micros(200));
    made
}

fn spilled(scenario: &narrows_scenario::Scenario, most: usize, directory: &Path) -> (Result<Outcome, RunError>, usize) {
    let budget = Arc::new(Budget::new(most));
    let spill = Arc::new(Spill::new(directory, Arc::clone(&budget)));
    let made = run(scenario, &Options { seed: 3, spill: Some(&spill), ..Options::default() });
    (made, budget.kept())
}

fn rows(samples: &Samples) -> usize {
    samples.flows.len() + samples.queues.len() + samples.routers.len()
}

#[test]
fn the_digest_is_the_same_whatever_stays_in_memory() {
    let scenario = dense();
    let whole = run(&scenario, &Options { seed: 3, ..Options::default() }).unwrap();
    assert!(rows(&whole.samples) > 1_000_000, "{}", rows(&whole.samples));
    let digest = whole.digest().unwrap();
    let mut last = usize::MAX;
    for most in [1 << 30, 4_000_000, 0] {
        let (made, kept) = spilled(&scenario, most, &std::env::temp_dir());
        let made = made.unwrap();
        assert_eq!(made.digest().unwrap(), digest, "{most} bytes in memory");
        assert_eq!(made.samples, whole.samples, "{most} bytes in memory");
        assert!(kept <= most && kept < last, "{kept} of {most}");
        last = kept;
    }
}

#[test]
fn a_directory_that_cannot_be_written_fails_the_run_by_name() {
    let (made, _) = spilled(&dense(), 0, Path::new("/nowhere/at/all"));
    let failure = made.unwrap_err();
    assert!(matches!(failure, RunError::Samples(_)), "{failure}");
    assert!(failure.to_string().contains("/nowhere/at/all"), "{failure}");
}

#[test]
fn nothing_is_left_of_the_file() {
    let directory = std::env::temp_dir().join(format!("narrows-spilling-{}", std::process::id()));
    std::fs::create_dir(&directory).unwrap();
    let (made, _) = spilled(&dense(), 0, &directory);
    drop(made.unwrap());
    std::fs::remove_dir(&directory).unwrap();
}
