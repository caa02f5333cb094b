//! Middleboxes between NGWA's routers and its receivers: what a flow gets where its option is dropped, stripped or
//! copied.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod common;

use common::{assert_conserved, run_text};
use narrows_sim::Outcome;

/// A host, an NGWA router, a middlebox with this rule, and the receiver.
fn path(rule: &str, ngwa: &str, flows: &str) -> Outcome {
    let outcome = run_text(&format!(
        r#"format = 1
name = "middlebox"
duration = "20 s"
sampling = "100 ms"
nodes = [
  {{ name = "h1" }}, {{ name = "r", kind = "router" }},
  {{ name = "m", kind = "router", ip_options = "{rule}" }}, {{ name = "h2" }},
]
[queue]
limit = "97 kB"
[[links]]
between = ["h1", "r"]
rate = "100 Mb/s"
delay = "1 ms"
[[links]]
between = ["r", "m"]
rate = "2 Mb/s"
delay = "20 ms"
[[links]]
between = ["m", "h2"]
rate = "100 Mb/s"
delay = "1 ms"
[tcp]
mss = "1008 B"
timestamps = false
delayed_ack = false
[ngwa]
mode = 5
{ngwa}
[[flows]]
name = "f"
from = "h1"
to = "h2"
{flows}"#
    ));
    assert_conserved(&outcome);
    outcome
}

/// Options that the receiver took, bytes that it delivered, and the last window that the sender was offered.
fn seen(outcome: &Outcome) -> (u64, u64, u64) {
    let samples = outcome.samples.flows.unpack().unwrap();
    let window = *samples.rwnd_bytes.last().unwrap();
    let totals = &outcome.samples.flow_totals;
    (totals.counters[0][0], totals.delivered_bytes[0], window)
}

#[test]
fn a_kept_option_bounds_the_window() {
    let (options, delivered, window) = seen(&path("keep", "", ""));
    assert!(options > 1000 && delivered > 4_000_000);
    assert!((95_060 - 1000..=95_060).contains(&window), "{window}");
}

#[test]
fn without_its_option_a_flow_is_the_base_variant() {
    let (options, delivered, window) = seen(&path("strip", "", ""));
    assert_eq!(options, 0);
    assert!(delivered > 4_000_000 && window > 1_000_000, "{delivered} {window}");
}

#[test]
fn a_box_that_drops_options_ends_a_flow_at_its_syn_or_at_its_first_data() {
    let outcome = path("drop", "", "");
    assert_eq!(seen(&outcome).1, 0);
    assert!(outcome.samples.queue_totals.dropped_forced.iter().sum::<u64>() > 3, "SYNs are repeated");
    let outcome = path("drop", "marks = \"data\"", "");
    assert_eq!(seen(&outcome).1, 0, "the connection is there, and no data arrive");
    let samples = outcome.samples.flows.unpack().unwrap();
    assert!(samples.rwnd_bytes.last().unwrap() > &0, "the SYN-ACK brought a window");
}

#[test]
fn a_box_that_copies_options_keeps_the_first_window_for_good() {
    let second = "[[flows]]\nname = \"g\"\nfrom = \"h1\"\nto = \"h2\"\nstart = \"5 s\"\n";
    let (_, _, fresh) = seen_first(&path("keep", "", second));
    let (_, _, stale) = seen_first(&path("copy", "", second));
    assert!(fresh <= 47_530, "half of the queue: {fresh}");
    assert!(stale > 90_000, "what the SYN said, when the flow was alone: {stale}");
}

/// The same of the first of several flows.
fn seen_first(outcome: &Outcome) -> (u64, u64, u64) {
    let samples = outcome.samples.flows.unpack().unwrap();
    let last = (0..samples.flow.len()).rfind(|&i| samples.flow[i] == 0).unwrap();
    let (options, delivered, _) = seen(outcome);
    (options, delivered, samples.rwnd_bytes[last])
}

#[test]
fn a_middlebox_has_no_row_among_the_routers() {
    let outcome = path("strip", "", "");
    assert_eq!(outcome.samples.router_names, ["r"]);
    let routers = outcome.samples.routers.unpack().unwrap();
    assert!(!routers.router.is_empty() && routers.router.iter().all(|&router| router == 0));
}
