//! Tests of ACKs that are not stored.
#![allow(clippy::unwrap_used)]
use crate::build::build;
use crate::digest::digest;
use crate::run::{Options, no_samples};
use narrows_samples::NoProbe;
use proptest::prelude::*;
use proptest::sample::select;

/// A chain of two routers with `flows`, whose way back is `back`. Until 1 s, no timer of the handshake holds a host
/// back.
fn text(duration: &str, queue: &str, back: &str, flows: &str) -> String {
    format!(
        "format = 1\nname = \"t\"\nduration = \"{duration}\"\nsampling = \"off\"\n\
         [topology]\nkind = \"chain\"\nrouters = 2\n\
         link = {{ rate = \"20 Mb/s\", delay = \"10 ms\", queue = {{ limit = \"{queue} packets\" }}, reverse = {{ {back} }} }}\n\
         [tcp]\ndelayed_ack = false\n{flows}"
    )
}

fn flow(name: &str, more: &str) -> String {
    format!("[[flows]]\nname = \"{name}\"\nfrom = \"h1\"\nto = \"h2\"\n{more}\n")
}

/// Places of packets in flight that a run needed, acknowledged segments, and the digest of its totals.
fn outcome(text: &str, plain_loop: bool) -> (usize, u64, String) {
    let scenario = narrows_scenario::parse(text, "t.toml", &[], &crate::catalogue()).unwrap();
    let options = Options { plain_loop, ..Options::default() };
    let mut world = build(&scenario, &options).unwrap();
    let mut samples = no_samples(&options);
    world.run(&mut NoProbe, None).unwrap();
    let places = world.parcels.places();
    world.totals(&mut samples, &options).unwrap();
    let arrived = samples.flow_totals.arrived_packets.iter().sum();
    (places, arrived, digest(&samples, || false).unwrap())
}

#[test]
fn acks_of_a_chain_are_not_stored() {
    let text = text("700 ms", "10000", "", &flow("f", ""));
    let (places, arrived, digest) = outcome(&text, false);
    assert_eq!(digest, outcome(&text, true).2);
    // From about 200 ms on, 100 packets and more are in flight at once.
    assert!(places <= 4 && arrived > 500, "{places} places for {arrived} packets");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Some ACKs are lost in a way back that is too slow for bursts, between others that are not stored.
    #[test]
    fn acks_that_are_not_stored_change_nothing(
        flows in prop::collection::vec((select(vec![
            "", "size = \"300 kB\"", "start = \"5 ms\"", "start = \"300 ms\"\nsize = \"100 kB\"", "stop = \"900 ms\"",
            "tcp = { cc = \"bbr\" }", "tcp = { mss = \"9000 B\" }", "tcp = { timestamps = false }", "tcp = { sack = false }",
            "tcp = { stack = \"linux\" }", "tcp = { delayed_ack = { every = 2 } }",
            "kind = \"on_off\"\nrate = \"4 Mb/s\"\non = \"20 ms\"\noff = \"30 ms\"",
        ]), ), 1..5),
        queue in select(vec!["5", "20", "1000"]),
        back in select(vec![
            "", "rate = \"700 kb/s\", queue = { limit = \"1 packet\" }", "rate = \"900 kb/s\", queue = { limit = \"3 packets\" }",
            "rate = \"500 kb/s\", queue = { limit = \"200 packets\" }", "rate = \"200 kb/s\", queue = { limit = \"2 packets\" }",
        ]),
    ) {
        let flows: String = flows.iter().enumerate().map(|(n, &(more,))| flow(&format!("f{n}"), more)).collect();
        let text = text("2 s", queue, back, &flows);
        prop_assert_eq!(outcome(&text, false).2, outcome(&text, true).2);
    }
}
