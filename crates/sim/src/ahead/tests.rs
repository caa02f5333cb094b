#![allow(clippy::unwrap_used)]
use super::*;
use crate::build::build;
use crate::digest::digest;
use crate::run::{Options, no_samples};
use proptest::prelude::*;
use proptest::sample::select;

/// A dumbbell of two pairs of hosts with 1 Gb/s, a bottleneck of 10 Mb/s and a few flows.
fn text(flows: &str, sampling: &str) -> String {
    format!(
        "format = 1\nname = \"t\"\nduration = \"1 s\"\nsampling = \"{sampling}\"\n[topology]\nkind = \"dumbbell\"\npairs = 2\n\
         bottleneck = {{ rate = \"10 Mb/s\", delay = \"5 ms\", queue = {{ limit = \"20 packets\" }} }}\n\
         access = {{ rate = \"1 Gb/s\", delay = \"2 ms\" }}\n{flows}"
    )
}

fn flow(name: &str, pair: usize, more: &str) -> String {
    format!("[[flows]]\nname = \"{name}\"\nfrom = \"s{pair}\"\nto = \"d{pair}\"\n{more}\n")
}

/// Arrivals ahead of the clock, events, packets, and the digest of samples and totals, of a run in which hosts may go
/// ahead, or may not.
fn outcome(text: &str, ahead: bool) -> (u64, u64, u64, String) {
    let scenario = narrows_scenario::parse(text, "t.toml", &[], &crate::catalogue()).unwrap();
    let options = Options::default();
    let mut world = build(&scenario, &options).unwrap();
    if !ahead {
        world.ahead = Ahead::none();
        for link in &mut world.links {
            if let Link::Line(line) = link {
                line.set_far_end(FarEnd::InTime);
            }
        }
    }
    let mut samples = no_samples(&options);
    if scenario.sampling == Sampling::Off {
        world.run(&mut NoProbe, None).unwrap();
    } else {
        world.run(&mut samples, None).unwrap();
    }
    world.totals(&mut samples, &options).unwrap();
    (world.ahead.handled, world.events, world.packets, digest(&samples, || false).unwrap())
}

/// How many of 100 events the agenda has if hosts go ahead; nothing else changes.
fn share_of_events(text: &str) -> u64 {
    let (handled, events, packets, digest) = outcome(text, true);
    assert_eq!((0, events, packets, digest), outcome(text, false));
    100 * (events - handled) / events
}

const AT_ONCE: &str = "tcp = { delayed_ack = false }";

#[test]
fn hosts_of_one_flow_leave_the_events_of_the_bottleneck() {
    let two = [flow("a", 1, ""), flow("b", 2, AT_ONCE)].concat();
    assert!(share_of_events(&text(&two, "off")) < 60);
    assert!(share_of_events(&text(&two, "100 ms")) < 60, "samples hold hosts back for a moment only");
}

#[test]
fn hosts_of_several_flows_go_ahead() {
    let four = |more: &str| [flow("a", 1, more), flow("b", 1, more), flow("c", 2, more), flow("d", 2, more)].concat();
    let shares = [(AT_ONCE, "off"), ("", "off"), (AT_ONCE, "100 ms")]
        .map(|(more, sampling)| share_of_events(&text(&four(more), sampling)));
    // The bottleneck's events are left, and those of timers and of packets that they hold back.
    assert!(shares.iter().all(|&share| share < 70), "{shares:?}");
}

#[test]
fn a_paced_sender_goes_ahead_to_the_times_of_its_pacer() {
    for cc in ["bbr", "bbr3"] {
        let paced = format!("tcp = {{ cc = \"{cc}\", delayed_ack = false }}");
        let two = [flow("a", 1, &paced), flow("b", 2, &paced)].concat();
        for sampling in ["off", "100 ms"] {
            assert!(share_of_events(&text(&two, sampling)) < 50, "{cc}, samples: {sampling}");
        }
    }
}

#[test]
fn hosts_with_readers_datagrams_or_answers_do_not_go_ahead() {
    for more in [
        "tcp = { read_rate = \"1 Mb/s\" }",
        "kind = \"udp\"\nrate = \"1 Mb/s\"",
        "kind = \"request_response\"\nresponse = \"6 kB\"",
    ] {
        assert_eq!(share_of_events(&text(&flow("a", 1, more), "off")), 100, "{more}");
    }
}

#[test]
fn a_chain_of_one_flow_has_few_events() {
    let chain = "format = 1\nname = \"t\"\nduration = \"1 s\"\nsampling = \"off\"\n[topology]\nkind = \"chain\"\nrouters = 2\n\
                 link = { rate = \"10 Mb/s\", delay = \"2 ms\" }\n[[flows]]\nname = \"f\"\nfrom = \"h1\"\nto = \"h2\"\n";
    assert!(share_of_events(chain) < 20);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn hosts_that_go_ahead_change_nothing(
        flows in prop::collection::vec((1_usize..=2, select(vec![
            "", AT_ONCE, "size = \"40 kB\"", "size = \"40 kB\"\ntcp = { delayed_ack = false }\nstart = \"100 ms\"",
            "stop = \"300 ms\"", "stop = \"500 ms\"\ntcp = { delayed_ack = false }",
            "tcp = { delayed_ack = false, sack = false }", "tcp = { stack = \"linux\" }", "tcp = { cc = \"bbr\" }",
            "tcp = { cc = \"bbr3\", delayed_ack = false }", "tcp = { stack = \"ns2\", cc = \"cubic\", timestamps = false }",
            "kind = \"udp\"\nrate = \"1 Mb/s\"", "kind = \"on_off\"\nrate = \"2 Mb/s\"\non = \"20 ms\"\noff = \"30 ms\"", "start = \"200 ms\"\ntcp = { delayed_ack = false }",
        ])), 1..5),
        sampling in select(vec!["off", "1 ms", "70 ms"]),
    ) {
        let flows: String = flows.iter().enumerate().map(|(n, &(pair, more))| flow(&format!("f{n}"), pair, more)).collect();
        share_of_events(&text(&flows, sampling));
    }
}
