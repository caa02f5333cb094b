//! Limits of queues in time: bytes at the link's rate.

#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{SMALL, catalogue, good, good_with};
use narrows_scenario::{Limit, Queue, Scenario, schema};
use narrows_units::{Bytes, Packets};

const fn bytes(n: u64) -> Limit {
    Limit::Bytes(Bytes::new(n))
}

/// The limits of all links, forward and reverse, of a scenario that reads back from its own text.
fn limits(scenario: &Scenario) -> Vec<[Limit; 2]> {
    let toml = scenario.to_toml();
    assert_eq!(&good(&toml), scenario, "{toml}");
    scenario.links.iter().map(|link| [link.forward.queue.limit, link.reverse.queue.limit]).collect()
}

#[test]
fn a_time_is_what_the_link_sends_in_it() {
    let with = |limit: &str| limits(&good_with(SMALL, &[("topology.bottleneck.queue.limit", limit)]))[0];
    // 10 Mb/s: 1.25 bytes a microsecond.
    assert_eq!(with("40 ms"), [bytes(50_000); 2]);
    assert_eq!(with("\"0.04 s\""), [bytes(50_000); 2]);
    assert_eq!(with("1.2 ms"), [bytes(1500); 2], "one packet fits");
    assert_eq!(with("1.200799 ms"), [bytes(1500); 2], "rounded down: 1500.99875 bytes");
    assert_eq!(with("1.2008 ms"), [bytes(1501); 2]);
    assert_eq!(with("1 h"), [bytes(4_500_000_000); 2]);
}

#[test]
fn each_direction_has_its_own_rate() {
    let shared = good(&format!("[queue]\nlimit = \"20 ms\"\n{SMALL}"));
    assert_eq!(limits(&shared), [[bytes(25_000); 2], [bytes(250_000); 2], [bytes(250_000); 2]]);
    let reverse = good_with(
        SMALL,
        &[("topology.bottleneck.queue.limit", "20 ms"), ("topology.bottleneck.reverse.rate", "2 Mb/s")],
    );
    assert_eq!(limits(&reverse)[0], [bytes(25_000), bytes(5_000)]);
    // A direction's own limit goes before the link's, whatever their units.
    let own = good_with(
        SMALL,
        &[("topology.bottleneck.queue.limit", "20 ms"), ("topology.bottleneck.reverse.queue.limit", "7 packets")],
    );
    assert_eq!(limits(&own)[0], [bytes(25_000), Limit::Packets(Packets::new(7))]);
}

#[test]
fn a_change_of_the_rate_does_not_change_the_limit() {
    let changes = "[{ at = \"1 s\", rate = \"1 Mb/s\" }]";
    let limit = ("topology.bottleneck.queue.limit", "40 ms");
    let scenario = good_with(SMALL, &[limit, ("topology.bottleneck.changes", changes)]);
    assert_eq!(limits(&scenario)[0], [bytes(50_000); 2]);
    // An override of the rate does.
    let faster = good_with(SMALL, &[limit, ("topology.bottleneck.rate", "20 Mb/s")]);
    assert_eq!(limits(&faster)[0], [bytes(100_000); 2]);
}

#[test]
fn texts_show_the_bytes() {
    let scenario = good_with(SMALL, &[("topology.bottleneck.queue", "{ limit = \"40 ms\" }")]);
    assert_eq!(scenario.links[0].forward.queue, Queue::new("droptail", bytes(50_000)));
    let json = &scenario.to_json()["links"][0]["forward"]["queue"];
    assert_eq!((&json["limit"], &json["limit_bytes"]), (&"50 kB".into(), &50_000.into()));
    assert!(json["limit_packets"].is_null());
    assert!(scenario.to_toml().contains("limit = \"50 kB\""));
}

#[test]
fn a_discipline_checks_its_rules_against_the_bytes() {
    let red = "{ kind = \"red\", bytes_mode = true, max_threshold = 30000, min_threshold = 9000, limit = \"40 ms\" }";
    let scenario = good_with(SMALL, &[("topology.bottleneck.queue", red)]);
    assert_eq!(limits(&scenario)[0], [bytes(50_000); 2]);
    let low = common::bad_with(SMALL, &[("topology.bottleneck.queue", &red.replace("40 ms", "20 ms"))]);
    assert!(low.contains("max_threshold: 30000 is above the queue's limit; allowed: at most 25000 B"), "{low}");
}

#[test]
fn a_scheme_that_needs_bytes_takes_a_time() {
    let text = format!("[queue]\nlimit = \"100 ms\"\n[ngwa]\n{SMALL}");
    assert_eq!(limits(&good(&text))[0], [bytes(125_000); 2]);
}

#[test]
fn the_schema_takes_times() {
    let schema = schema(&catalogue());
    let limit = &schema["$defs"]["queue"]["properties"]["limit"];
    let pattern = limit["pattern"].as_str().unwrap();
    for unit in ["packets", "KiB", "ms", "min", "µs"] {
        assert!(pattern.contains(&format!("|{unit}|")) || pattern.contains(&format!("({unit}|")), "{unit}: {pattern}");
    }
    assert!(!pattern.contains("b/s"), "{pattern}");
}
