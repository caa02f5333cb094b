//! A run on several threads gives what one thread gives, bit by bit.
#![allow(clippy::unwrap_used)]

use narrows_sim::{Options, Threads, run};
use proptest::prelude::*;

/// A dumbbell with TCP and UDP flows, several between the same hosts, and random losses on its bottleneck.
fn dumbbell(pairs: usize, copies: usize, access_us: u64, limit: u64, seed: u64, sampling: &str) -> String {
    format!(
        "format = 1\nname = \"t\"\nduration = \"700 ms\"\nsampling = \"{sampling}\"\nseed = {seed}\nstart_jitter = \"5 ms\"\n\
         [topology]\nkind = \"dumbbell\"\npairs = {pairs}\n\
         bottleneck = {{ rate = \"20 Mb/s\", delay = \"2 ms\", \
         loss = {{ kind = \"gilbert_elliott\", to_bad = 0.01, to_good = 0.3, per_good = 0, per_bad = 0.3 }}, \
         queue = {{ limit = \"{limit} packets\" }} }}\n\
         access = {{ rate = \"100 Mb/s\", delay = \"{access_us} us\" }}\n\
         [[flows]]\nname = \"f\"\nfrom = \"s*\"\nto = \"d*\"\ncopies = {pairs}\n\
         [[flows]]\nname = \"g\"\nfrom = \"s1\"\nto = \"d1\"\ncopies = {copies}\nsize = \"300 kB\"\n\
         [[flows]]\nname = \"u\"\nfrom = \"d2\"\nto = \"s2\"\nkind = \"udp\"\nrate = \"3 Mb/s\"\n"
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn several_threads_give_the_digest_of_one(
        pairs in 2usize..6,
        copies in 1usize..4,
        access_us in prop::sample::select(vec![0, 100, 4_000]),
        limit in 3u64..60,
        seed in 0u64..1_000,
        sampling in prop::sample::select(vec!["off", "10 ms", "700 us", "33 us"]),
        many_flows in any::<bool>(),
    ) {
        let text = dumbbell(pairs, copies, access_us, limit, seed, sampling);
        let scenario = narrows_scenario::parse(&text, "t.toml", &[], &narrows_sim::catalogue()).unwrap();
        let outcomes = [1, 2, 3].map(|threads| {
            let threads = Threads::Exactly(threads);
            let outcome = run(&scenario, &Options { seed, threads, many_flows, ..Options::default() }).unwrap();
            (outcome.digest().unwrap(), outcome.events, outcome.packets)
        });
        prop_assert!(outcomes[0].2 > 100, "{} packets", outcomes[0].2);
        prop_assert_eq!(&outcomes[1], &outcomes[0]);
        prop_assert_eq!(&outcomes[2], &outcomes[0]);
    }
}

/// A fat tree of 16 hosts (four pods of two edge and two aggregation switches, four core switches), whose hosts send to
/// the host that `stride` after them, or to a host of the same place in another pod.
fn fat_tree(stride: usize, sampling: &str) -> String {
    let mut nodes = String::new();
    let mut links = Vec::new();
    for pod in 0..4 {
        for edge in 0..2 {
            links.extend((0..2).map(|host| (format!("h{}", (pod * 2 + edge) * 2 + host), format!("e{pod}{edge}"))));
            links.extend((0..2).map(|agg| (format!("e{pod}{edge}"), format!("a{pod}{agg}"))));
            links.extend((0..2).map(|core| (format!("a{pod}{edge}"), format!("c{}", edge * 2 + core))));
            nodes += &format!("{{ name = \"e{pod}{edge}\", kind = \"router\" }}, ");
            nodes += &format!("{{ name = \"a{pod}{edge}\", kind = \"router\" }}, ");
        }
        nodes += &format!("{{ name = \"c{pod}\", kind = \"router\" }}, ");
    }
    (0..16).for_each(|host| nodes += &format!("{{ name = \"h{host}\" }}, "));
    let link = "rate = \"200 Mb/s\", delay = \"20 us\", queue = { limit = \"20 packets\" }";
    let links: String = links.iter().map(|(a, b)| format!("{{ between = [\"{a}\", \"{b}\"], {link} }}, ")).collect();
    let flows: String = (0..16)
        .map(|host| format!("[[flows]]\nname = \"f{host}\"\nfrom = \"h{host}\"\nto = \"h{}\"\n", (host + stride) % 16))
        .collect();
    format!(
        "format = 1\nname = \"t\"\nduration = \"60 ms\"\nsampling = \"{sampling}\"\nnodes = [{nodes}]\nlinks = [{links}]\n{flows}"
    )
}

#[test]
fn a_fat_tree_gives_the_same_on_any_number_of_threads() {
    // Half the tree away: pairs of hosts send to each other. Five away, all hosts are in one group, so nothing is cut.
    for (stride, sampling) in [(8, "off"), (8, "1 ms"), (5, "1 ms")] {
        let text = fat_tree(stride, sampling);
        let scenario = narrows_scenario::parse(&text, "t.toml", &[], &narrows_sim::catalogue()).unwrap();
        let outcomes = [1, 2, 3, 4].map(|threads| {
            let threads = Threads::Exactly(threads);
            let outcome = run(&scenario, &Options { threads, ..Options::default() }).unwrap();
            (outcome.digest().unwrap(), outcome.events, outcome.packets)
        });
        assert!(outcomes[0].2 > 1_000, "{} packets", outcomes[0].2);
        assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]), "{stride}: {outcomes:?}");
    }
}
