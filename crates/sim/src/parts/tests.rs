//! Tests of cuts, and of runs on parts of networks that the tests of the public interface do not have.

#![allow(clippy::unwrap_used)]
use super::*;
use crate::build::build;
use crate::run::run;
use narrows_fabric::{Seeds, with_transfers};
use narrows_units::Duration;
use proptest::prelude::*;

/// How a dumbbell of two pairs is cut into two: the parts of its nodes, and the lookahead.
fn cut(access: &str, more: &str) -> Option<(Vec<u8>, Duration)> {
    let text = format!(
        "format = 1\nname = \"t\"\nduration = \"1 s\"\n{more}\n[topology]\nkind = \"dumbbell\"\npairs = 2\n\
         bottleneck = {{ rate = \"1 Mb/s\", delay = \"5 ms\" }}\n\
         access = {{ rate = \"1 Gb/s\", delay = \"{access}\" }}\n\
         [[flows]]\nname = \"f\"\nfrom = \"s*\"\nto = \"d*\"\ncopies = 2\n"
    );
    let scenario = narrows_scenario::parse(&text, "t.toml", &[], &crate::catalogue()).unwrap();
    let options = Options::default();
    let world = build(&scenario, &options).unwrap();
    let cut = Cut::new(&world, &options, 2)?;
    Some((cut.flows().to_vec(), cut.window))
}

#[test]
fn two_threads_pay_for_much_traffic_and_long_delays_only() {
    let pays = |rate: &str, access: &str, duration: &str| {
        let text = format!(
            "format = 1\nname = \"t\"\nduration = \"{duration}\"\n[topology]\nkind = \"dumbbell\"\npairs = 2\n\
             bottleneck = {{ rate = \"{rate}\", delay = \"5 ms\" }}\naccess = {{ rate = \"10 Gb/s\", delay = \"{access}\" }}\n\
             [[flows]]\nname = \"f\"\nfrom = \"s*\"\nto = \"d*\"\ncopies = 2\n"
        );
        let scenario = narrows_scenario::parse(&text, "t.toml", &[], &crate::catalogue()).unwrap();
        let options = Options::default();
        let world = build(&scenario, &options).unwrap();
        Cut::new(&world, &options, 2).unwrap().pays(&world)
    };
    assert!(pays("1 Gb/s", "2 ms", "10 s"), "167 packets per window, 833,000 in all");
    assert!(!pays("1 Gb/s", "1 ms", "10 s"), "83 packets per window");
    assert!(!pays("1 Gb/s", "2 ms", "500 ms"), "41,700 packets in all");
}

#[test]
fn pairs_of_hosts_are_divided_and_the_lookahead_is_the_delay_of_what_crosses() {
    let off = "sampling = \"off\"";
    assert_eq!(cut("2 ms", off), Some((vec![0, 1], Duration::from_millis(2))));
    assert_eq!(cut("0 s", off), None, "no lookahead");
    assert_eq!(cut("2 ms", "sampling = \"10 ms\""), cut("2 ms", off));
    assert_eq!(cut("2 ms", "sampling = \"events\""), None, "samples see both parts");
}

/// Three to five sites behind one router. Each has a TCP flow within the site and one to the next site, and some have
/// datagrams, a slow reader, a late and a short flow. Transfers of a workload go from the first site to the last.
fn sites(sites: usize, delays_us: [u64; 2], limit: u64, sampling: &str, seed: u64) -> String {
    let [inside, outside] = delays_us;
    let (mut nodes, mut links, mut flows) =
        ("{ name = \"core\", kind = \"router\" }".to_owned(), Vec::new(), String::new());
    for site in 0..sites {
        nodes += &format!(", {{ name = \"r{site}\", kind = \"router\" }}");
        let queue = format!("queue = {{ limit = \"{limit} packets\" }}");
        links.push(format!(
            "{{ between = [\"r{site}\", \"core\"], rate = \"30 Mb/s\", delay = \"{outside} us\", per = 0.002, {queue} }}"
        ));
        for host in ["a", "b", "c", "d", "w"] {
            nodes += &format!(", {{ name = \"{host}{site}\" }}");
            links.push(format!(
                "{{ between = [\"{host}{site}\", \"r{site}\"], rate = \"50 Mb/s\", delay = \"{inside} us\", {queue} }}"
            ));
        }
        let (more, next) =
            (["", "size = \"40 kB\"", "start = \"60 ms\"", "stop = \"70 ms\""][site % 4], (site + 1) % sites);
        let reader = if site % 3 == 0 { "tcp = { recv_buffer = \"64 kB\", read_rate = \"2 Mb/s\" }" } else { "" };
        flows += &format!("[[flows]]\nname = \"l{site}\"\nfrom = \"a{site}\"\nto = \"b{site}\"\n{more}\n");
        flows += &format!("[[flows]]\nname = \"o{site}\"\nfrom = \"c{site}\"\nto = \"d{next}\"\n{reader}\n");
        flows += &format!(
            "[[flows]]\nname = \"u{site}\"\nfrom = \"b{site}\"\nto = \"a{site}\"\nkind = \"udp\"\nrate = \"1 Mb/s\"\n"
        );
    }
    format!(
        "format = 1\nname = \"t\"\nduration = \"150 ms\"\nsampling = \"{sampling}\"\nseed = {seed}\nnodes = [{nodes}]\n\
         links = [{}]\n{flows}[[workloads]]\nname = \"web\"\nfrom = \"w0\"\nto = \"w{}\"\ninterval = \"10 ms\"\n\
         size = {{ distribution = \"pareto\", mean = \"20 kB\", max = \"200 kB\" }}\n",
        links.join(", "),
        sites - 1
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sites_with_local_flows_give_the_digest_of_one_thread(
        number in 3usize..6,
        inside_us in prop::sample::select(vec![0, 50]),
        outside_us in prop::sample::select(vec![100, 2_000]),
        limit in 4u64..40,
        seed in 0u64..1_000,
        sampling in prop::sample::select(vec!["off", "5 ms", "300 us"]),
    ) {
        let text = sites(number, [inside_us, outside_us], limit, sampling, seed);
        let scenario = narrows_scenario::parse(&text, "t.toml", &[], &crate::catalogue()).unwrap();
        let result = |threads| {
            let outcome = run(&scenario, &Options { seed, threads, ..Options::default() }).unwrap();
            (outcome.digest().unwrap(), outcome.events, outcome.packets)
        };
        let drawn = with_transfers(&scenario, Seeds::new(seed, 0)).unwrap();
        let options = Options { seed, ..Options::default() };
        let world = build(&drawn, &options).unwrap();
        // A router may be in another part than its hosts, so links without delay leave no lookahead.
        prop_assert!(inside_us == 0 || Cut::new(&world, &options, 2).is_some());
        let one = result(Threads::One);
        prop_assert!(one.2 > 1_000, "{} packets", one.2);
        for threads in 2..=4 {
            prop_assert_eq!(&result(Threads::Exactly(threads)), &one, "{} threads", threads);
        }
    }
}

#[test]
fn a_run_on_several_threads_stops_when_asked() {
    let text = sites(4, [0, 2_000], 20, "1 ms", 1).replace("150 ms", "1000 s");
    let scenario = narrows_scenario::parse(&text, "t.toml", &[], &crate::catalogue()).unwrap();
    let progress = Progress::default();
    let options = Options { progress: Some(&progress), threads: Threads::Exactly(2), ..Options::default() };
    let outcome = std::thread::scope(|scope| {
        let run = scope.spawn(|| run(&scenario, &options));
        while progress.fraction() == 0.0 {
            std::thread::yield_now();
        }
        progress.stop();
        run.join().unwrap()
    });
    assert_eq!(outcome.map(|outcome| outcome.events), Err(RunError::Stopped));
    let stopped = run(&scenario, &options).map(|outcome| outcome.events);
    assert_eq!(stopped, Err(RunError::Stopped), "before it began");
}
