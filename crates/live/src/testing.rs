//! Helpers that tests of this crate share.

#![allow(clippy::unwrap_used)]

#[path = "../tests/trusted/mod.rs"]
mod trusted;

use crate::traffic::FlowRecord;
use crate::{Conditions, Lateness};
use narrows_scenario::Scenario;
use nix::unistd::Uid;

/// Returns whether a test that needs root must be skipped, and notes the reason.
pub(crate) fn lacks_root() -> bool {
    let lacks = !Uid::effective().is_root();
    if lacks {
        skip("needs root");
    }
    lacks || lacks_tun()
}

fn lacks_tun() -> bool {
    let lacks = !std::path::Path::new("/dev/net/tun").exists();
    if lacks {
        skip("needs /dev/net/tun");
    }
    lacks
}

pub(crate) use trusted::skips::skip;
pub(crate) use trusted::trusted;

/// Returns why a run of this scenario cannot be trusted; empty if it can.
pub(crate) fn doubts(scenario: &Scenario, lateness: &Lateness, records: &[FlowRecord]) -> Vec<String> {
    /// The tests' runs are short: a flow's thread that stands still for a tenth of a second moves their figures.
    const STOOD_STILL: u64 = 100_000_000;
    let mut conditions = Conditions::of_machine();
    conditions.note_lateness(lateness, scenario.duration);
    for (flow, record) in scenario.flows.iter().zip(records) {
        conditions.note_traffic(&flow.name, &record.lateness, scenario.duration);
    }
    if conditions.traffic.max_ns > STOOD_STILL {
        conditions.doubts.push(format!("a flow's thread stood still for {} ms", conditions.traffic.max_ns / 1_000_000));
    }
    conditions.doubts
}

/// A dumbbell of one pair, 10 Mb/s and 10 ms one way, with the given rest of its file.
pub(crate) fn scenario(rest: &str) -> Scenario {
    scenario_under("", rest)
}

/// The same scenario with a first line.
pub(crate) fn scenario_under(first: &str, rest: &str) -> Scenario {
    let text = format!(
        "{first}\nduration = \"1 s\"\nsampling = \"10 ms\"\n[topology]\nkind = \"dumbbell\"\n\
         bottleneck = {{ rate = \"10 Mb/s\", delay = \"8 ms\" }}\n\
         access = {{ rate = \"100 Mb/s\", delay = \"1 ms\" }}\n{rest}\n"
    );
    narrows_scenario::parse(&text, "test.toml", &[], &narrows_fabric::catalogue()).unwrap()
}
