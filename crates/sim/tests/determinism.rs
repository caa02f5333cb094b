//! The same scenario, seed and version give the same samples, on any number of threads and with either loop.

#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{BULK, PLAIN, path, run_seeded, scenario};
use narrows_sim::{Options, run};

/// A scenario with every source of randomness (jitter, losses, RED, on/off times), and links that change.
fn lossy() -> String {
    include_str!("reference.toml").to_owned()
}

#[test]
fn the_same_seed_gives_the_same_samples() {
    let (a, b) = (run_seeded(&lossy(), 5), run_seeded(&lossy(), 5));
    assert_eq!(a.samples, b.samples);
    assert_eq!(a.digest(), b.digest());
    assert_ne!(a.digest(), run_seeded(&lossy(), 6).digest());
}

#[test]
fn threads_change_nothing() {
    let scenario = scenario(&lossy());
    let digest = |seed| run(&scenario, &Options { seed, ..Options::default() }).unwrap().digest();
    let alone: Vec<_> = (0..6).map(digest).collect();
    let together: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6).map(|seed| scope.spawn(move || digest(seed))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(alone, together);
}

#[test]
fn the_plain_loop_gives_the_same_samples() {
    let mut scenario = scenario(&lossy());
    for seed in 0..4 {
        if seed == 3 {
            scenario.sampling = narrows_scenario::Sampling::Events;
        }
        let with = |plain_loop| run(&scenario, &Options { seed, plain_loop, ..Options::default() }).unwrap();
        let (lazy, plain) = (with(false), with(true));
        assert_eq!(lazy.samples, plain.samples, "seed {seed}");
        // Sampling every event uses the plain loop anyway.
        let same_loop = scenario.sampling == narrows_scenario::Sampling::Events;
        assert_eq!(plain.events > lazy.events, !same_loop, "the plain loop has an event per transmission");
    }
}

#[test]
fn a_further_flow_does_not_shift_the_random_numbers_of_others() {
    let base = path(PLAIN, BULK).replace("duration", "start_jitter = \"1 s\"\nduration");
    let more =
        format!("{base}\n[[flows]]\nname = \"more\"\nfrom = \"A\"\nto = \"B\"\nkind = \"bulk\"\nstart = \"18 s\"\n");
    let start = |text: &str| run_seeded(text, 3).samples.flow_totals.start_ns[0];
    assert_eq!(start(&base), start(&more));
}

/// A digest pinned in the source: every build and machine must reproduce it. This test checks the debug build,
/// `tests/python/test_digest.py` the release build. The digest changes only with a change of behaviour, which the
/// changelog then names.
#[test]
fn the_digest_is_the_published_one() {
    assert_eq!(run_seeded(&lossy(), 1).digest().unwrap(), include_str!("digest.txt").trim());
}
