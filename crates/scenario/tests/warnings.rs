//! What is legal but odd: warnings with place, field and reason.

#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{catalogue, pairs};
use narrows_scenario::{NoFiles, parse_told};

fn text(queue: &str, tcp: &str) -> String {
    format!(
        "duration = \"10 s\"\n[tcp]\nstack = \"linux\"\n{tcp}\n[topology]\nkind = \"dumbbell\"\n\
         bottleneck = {{ rate = \"10 Mb/s\", delay = \"20 ms\", queue = {queue} }}\n\
         access = {{ rate = \"1 Gb/s\", delay = \"1 ms\" }}\n[[flows]]\nname = \"bulk\"\nfrom = \"s1\"\nto = \"d1\"\n"
    )
}

fn told_with(text: &str, overrides: &[(&str, &str)]) -> Vec<String> {
    let (scenario, warnings) = parse_told(text, "test.toml", &pairs(overrides), &catalogue(), &NoFiles).unwrap();
    // Written out with every default, it is odd still, link by link.
    let (_, again) = parse_told(&scenario.to_toml(), "again.toml", &[], &catalogue(), &NoFiles).unwrap();
    assert_eq!(again.is_empty(), warnings.is_empty(), "{again:?}");
    warnings.iter().map(ToString::to_string).collect()
}

fn told(queue: &str, tcp: &str) -> Vec<String> {
    told_with(&text(queue, tcp), &[])
}

#[test]
fn a_quantum_below_a_packet_is_warned_of() {
    let odd =
        "test.toml:7: topology.bottleneck.queue.quantum: \"300 B\" is less than one packet of flow \"bulk\" (1500 B)";
    for kind in ["fq_codel", "drr", "fq_pie", "sfq", "fq"] {
        let found = told(&format!("{{ kind = \"{kind}\", quantum = \"300 B\" }}"), "");
        assert_eq!(found.len(), 1, "{kind}: {found:?}");
        assert!(found[0].starts_with(odd), "{kind}: {found:?}");
        assert_eq!(told(&format!("{{ kind = \"{kind}\", quantum = \"3 kB\" }}"), ""), [""; 0]);
        assert_eq!(told(&format!("{{ kind = \"{kind}\" }}"), ""), [""; 0]);
    }
}

#[test]
fn a_target_below_the_time_of_a_packet_is_warned_of() {
    let queue = |kind| format!("{{ kind = \"{kind}\", target = \"1 ms\" }}");
    for kind in ["codel", "fq_codel", "pie"] {
        let found = told(&queue(kind), "");
        assert_eq!(found.len(), 1, "{kind}: {found:?}");
        assert!(found[0].contains("\"1 ms\" is less than the 1.2 ms that one packet"), "{found:?}");
        let fast = told_with(&text(&queue(kind), ""), &[("topology.bottleneck.rate", "100 Mb/s")]);
        assert_eq!(fast, [""; 0]);
    }
}

#[test]
fn marks_without_a_flow_that_uses_ecn_are_warned_of() {
    for queue in [
        "{ kind = \"codel\", ecn = true }",
        "{ kind = \"red\", min_threshold = 5, max_threshold = 15, ecn = true }",
        "{ kind = \"fq_codel\", ce_threshold = \"1 ms\" }",
    ] {
        let found = told(queue, "");
        assert_eq!(found.len(), 1, "{queue}: {found:?}");
        assert!(found[0].ends_with("has no effect: no flow uses ECN (tcp.ecn), so nothing is marked"), "{found:?}");
        assert_eq!(told(queue, "ecn = true"), [""; 0]);
        assert_eq!(told(queue, "cc = \"prague\""), [""; 0]);
    }
}

#[test]
fn overrides_and_shared_tables_are_warned_of_once() {
    let shared = text("{ limit = \"100 packets\" }", "") + "[queue]\nkind = \"fq_codel\"\nquantum = \"300 B\"\n";
    let found = told_with(&shared, &[]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("test.toml:15: queue.quantum"), "{found:?}");
    let set = told_with(&text("{ kind = \"fq_codel\" }", ""), &[("topology.bottleneck.queue.quantum", "300 B")]);
    assert!(set.len() == 1 && set[0].starts_with("--set: topology.bottleneck.queue.quantum"), "{set:?}");
}

#[test]
fn a_link_that_carries_nothing_is_warned_of() {
    let link = |settings: &str| text("{}", "").replace("rate = \"10 Mb/s\", delay = \"20 ms\"", settings);
    let cases = [
        (
            "rate = \"1 kb/s\", delay = \"20 ms\"",
            "test.toml:7: topology.bottleneck.rate: \"1 kb/s\" carries nothing: one packet of flow \"bulk\" (1500 B) takes 12 s, \
             and the run lasts 10 s",
        ),
        (
            "rate = \"10 Mb/s\", delay = \"10 s\"",
            "test.toml:7: topology.bottleneck.delay: \"10 s\" carries nothing: the run lasts 10 s",
        ),
        (
            "rate = \"10 Mb/s\", delay = \"20 ms\", per = \"100 %\"",
            "test.toml:7: topology.bottleneck.per: \"100 %\" carries nothing: every packet is lost",
        ),
        (
            "rate = \"10 Mb/s\", delay = \"20 ms\", loss = { kind = \"gilbert_elliott\", to_bad = 0.1, to_good = 0.1, per_good = 1 }",
            "test.toml:7: topology.bottleneck.loss: { .. } carries nothing: every packet is lost",
        ),
        (
            "rate = \"10 Mb/s\", delay = \"20 ms\", reverse = { rate = \"1 kb/s\" }",
            "test.toml:7: topology.bottleneck.reverse.rate: \"1 kb/s\" carries nothing: one packet of flow \"bulk\" (1500 B) takes \
             12 s, and the run lasts 10 s",
        ),
    ];
    for (settings, expected) in cases {
        assert_eq!(told_with(&link(settings), &[]), [expected]);
    }
    // A change makes it carry something, so do a longer run and a smaller packet.
    let slow = "rate = \"1 kb/s\", delay = \"20 ms\"";
    assert_eq!(told_with(&link(&format!("{slow}, changes = [{{ at = \"1 s\", rate = \"1 Mb/s\" }}]")), &[]), [""; 0]);
    assert_eq!(told_with(&link(slow), &[("duration", "60 s")]), [""; 0]);
    assert_eq!(told_with(&link(slow), &[("tcp.mss", "500 B")]), [""; 0]);
}
