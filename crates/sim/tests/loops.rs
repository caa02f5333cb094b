//! Both loops give the same samples: the one that computes links by arithmetic and folds them, and the plain one.
//!
//! Networks, flows and sampling intervals are random. There are few rates, delays and sizes, so that packets meet at
//! one nanosecond, at sampling times and at the end of the run. Some links take no time at all.

#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{assert_conserved, scenario};
use narrows_sim::{Options, run};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::FileFailurePersistence;
use std::ops::RangeInclusive;

const RATES: &[&str] = &["1 Mb/s", "8 Mb/s", "10 Mb/s", "100 Mb/s", "1 Gb/s", "400 Gb/s", "10 Tb/s"];
const DELAYS: &[&str] = &["0 s", "1 us", "1 ms", "3 ms", "20 ms"];
/// Queues; a limit in bytes must hold the largest packet.
const QUEUES: &[&str] = &[
    "{ limit = \"1 packet\" }",
    "{ limit = \"5 packets\" }",
    "{ limit = \"1000 packets\" }",
    "{ limit = \"2 kB\" }",
    "{ limit = \"20 kB\" }",
];
/// Queues that need packets one by one: by chance, by delay, with a timer, and such that hold packets back.
const MANAGED: &[&str] = &[
    "{ kind = \"red\", limit = \"50 packets\", min_threshold = 5, max_threshold = 15, ecn = true }",
    "{ kind = \"codel\", limit = \"50 packets\", target = \"1 ms\", interval = \"10 ms\" }",
    "{ kind = \"pie\", limit = \"50 packets\", target = \"1 ms\" }",
    "{ kind = \"fq_codel\", limit = \"50 packets\" }",
    "{ kind = \"tbf\", limit = \"50 packets\", rate = \"2 Mb/s\", burst = \"3 kB\" }",
    "{ kind = \"fq\", limit = \"50 packets\", maxrate = \"1 Mb/s\" }",
];
const LOSSES: &[&str] = &[
    ", per = 0.01",
    ", per = 0.2",
    ", loss = { kind = \"gilbert_elliott\", to_bad = 0.05, to_good = 0.3, per_bad = 0.5 }",
];
const CHANGES: &str = ", changes = [{ at = \"50 ms\", rate = \"2 Mb/s\", delay = \"2 ms\" }]";
/// Impairments of a direction; packets that overtake others and packets that wait meet at one nanosecond.
const IMPAIRMENTS: &[&str] = &[
    ", jitter = \"1 ms\"",
    ", jitter = { time = \"5 ms\", distribution = \"pareto\", correlation = 0.5, order = \"kept\" }",
    ", jitter = { time = \"2 ms\", distribution = \"normal\" }, duplicate = 0.1",
    ", reorder = { delay = \"3 ms\", gap = 3 }",
    ", reorder = { delay = \"1 ms\", probability = 0.2, correlation = 0.3, selected = \"behind\" }, ack_loss = 0.2",
    ", duplicate = 1",
    ", outages = [{ start = \"0 s\", duration = \"7 ms\" }, { start = \"50 ms\", duration = \"100 ms\", queue = \"drop\" }]",
    ", outages = [{ start = \"50 ms\", duration = \"1000 s\" }]",
    ", aggregation = { packets = 8, time = \"3 ms\" }",
    ", aggregation = { packets = 3, time = \"1 ms\", of = \"acks\" }, ack_decimation = 2",
    ", ack_decimation = { every = 3, of = \"all\" }, jitter = \"20 ms\"",
];
const SAMPLING: &[&str] = &["off", "900 us", "7 ms", "100 ms", "10 s"];
const DURATIONS: &[&str] = &["200 ms", "300.000001 ms", "1 s", "2 s"];
/// Transfers are bounded: if no link takes time, a flow could send without end at one instant.
const KINDS: &[&str] = &[
    "kind = \"bulk\"\nsize = \"200 kB\"",
    "kind = \"bulk\"\nsize = \"30 kB\"\ntcp = { delayed_ack = false, timestamps = false }",
    "kind = \"bulk\"\nsize = \"300 kB\"\nstop = \"150 ms\"\ntcp = { delayed_ack = false }",
    "kind = \"bulk\"\nsize = \"3 kB\"\nstop = \"95 ms\"",
    "kind = \"bulk\"\nsize = \"60 kB\"\nstart = \"1 ms\"\nstop = \"6 ms\"\ntcp = { delayed_ack = false }",
    "kind = \"bulk\"\nsize = \"100 kB\"\ntcp = { recovery = \"newreno\", sack = false }",
    "kind = \"bulk\"\nsize = \"150 kB\"\ntcp = { stack = \"ns2\", cc = \"compound\", recovery = \"newreno\", sack = false }",
    "kind = \"bulk\"\nsize = \"400 kB\"\ntcp = { cc = \"bbr3\", delayed_ack = false }",
    "kind = \"bulk\"\nsize = \"200 kB\"\ntcp = { cc = \"prague\", assist = \"none\" }",
    "kind = \"bulk\"\nsize = \"200 kB\"\ntcp = { stack = \"linux\", gro = \"50 us\" }",
    "kind = \"request_response\"\nresponse = \"6 kB\"\nthink = \"5 ms\"\ncount = 20",
    "kind = \"udp\"\nrate = \"1 Mb/s\"\npayload = \"97 B\"",
    "kind = \"udp\"\nrate = \"1 Mb/s\"\npayload = \"97 B\"\nstart = \"10 ms\"\nstop = \"150 ms\"",
    "kind = \"udp\"\nrate = \"4 Mb/s\"\npayload = \"972 B\"",
    "kind = \"udp\"\nrate = \"2 Mb/s\"\npayload = \"200 B\"\non = \"9 ms\"\noff = \"21 ms\"\ndistribution = \"exponential\"",
    "kind = \"frames\"\nrate = \"3 Mb/s\"\npayload = \"300 B\"\nframe_rate = 100",
    "kind = \"call\"\nptime = \"7 ms\"\nframe_rate = 60",
];

/// The settings of a direction of a link. Most directions are lines.
fn direction() -> impl Strategy<Value = String> {
    let queue = prop_oneof![12 => select(QUEUES), 2 => select(MANAGED)];
    let loss = prop_oneof![3 => Just(""), 1 => select(LOSSES)];
    let changes = prop_oneof![12 => Just(""), 1 => Just(CHANGES)];
    let impairments = prop_oneof![5 => Just(""), 1 => select(IMPAIRMENTS)];
    (select(RATES), select(DELAYS), queue, (loss, changes, impairments)).prop_map(|(rate, delay, queue, more)| {
        let (loss, changes, impairments) = more;
        format!("rate = \"{rate}\", delay = \"{delay}\", queue = {queue}{loss}{changes}{impairments}")
    })
}

fn link() -> impl Strategy<Value = String> {
    (direction(), proptest::option::of(direction())).prop_map(|(there, back)| {
        let back = back.as_ref().unwrap_or(&there);
        format!("{{ forward = {{ {there} }}, reverse = {{ {back} }} }}")
    })
}

/// A `[topology]`, its hosts and its routers.
#[derive(Clone, Debug)]
struct Network {
    text: String,
    hosts: Vec<String>,
    routers: Vec<String>,
}

fn names(letter: &str, numbers: RangeInclusive<usize>) -> Vec<String> {
    numbers.map(|n| format!("{letter}{n}")).collect()
}

fn list(links: &[String]) -> String {
    format!("[{}]", links.join(", "))
}

fn networks() -> impl Strategy<Value = Network> {
    let chain = vec(link(), 1..=5).prop_map(|links| {
        let routers = links.len() - 1;
        Network {
            text: format!("kind = \"chain\"\nrouters = {routers}\nlink = {}", list(&links)),
            hosts: names("h", 1..=2),
            routers: names("r", 1..=routers),
        }
    });
    let dumbbell = (link(), vec(link(), 1..=4)).prop_map(|(bottleneck, access)| {
        let pairs = access.len();
        Network {
            text: format!(
                "kind = \"dumbbell\"\npairs = {pairs}\nbottleneck = {bottleneck}\naccess = {}",
                list(&access)
            ),
            hosts: [names("s", 1..=pairs), names("d", 1..=pairs)].concat(),
            routers: names("r", 1..=2),
        }
    });
    let lot = (1_usize..=3).prop_flat_map(|hops| (vec(link(), hops), vec(link(), hops + 1)));
    let lot = lot.prop_map(|(row, access)| {
        let hops = row.len();
        let (row, access) = (list(&row), list(&access));
        Network {
            text: format!("kind = \"parking_lot\"\nhops = {hops}\nbottleneck = {row}\naccess = {access}"),
            hosts: [names("s", 0..=hops), names("d", 0..=hops)].concat(),
            routers: names("r", 1..=hops + 1),
        }
    });
    let star = vec(link(), 2..=4).prop_map(|access| {
        let leaves = access.len();
        Network {
            text: format!("kind = \"star\"\nleaves = {leaves}\naccess = {}", list(&access)),
            hosts: names("h", 1..=leaves),
            routers: vec!["hub".to_owned()],
        }
    });
    prop_oneof![chain, dumbbell, lot, star]
}

/// Flows between hosts of the network; a pick is the source, the destination and further lines.
fn flows(network: &Network, picks: &[(Index, Index, &str)]) -> String {
    let hosts = &network.hosts;
    let flow = |(number, (from, to, says)): (usize, &(Index, Index, &str))| {
        let from = from.index(hosts.len());
        let to = (from + 1 + to.index(hosts.len() - 1)) % hosts.len();
        format!("[[flows]]\nname = \"f{number}\"\nfrom = \"{}\"\nto = \"{}\"\n{says}\n", hosts[from], hosts[to])
    };
    picks.iter().enumerate().map(flow).collect()
}

fn assert_alike(text: &str, seed: u64) {
    let scenario = scenario(text);
    let with = |(plain_loop, many_flows)| {
        run(&scenario, &Options { seed, plain_loop, many_flows, ..Options::default() }).unwrap()
    };
    let [plain, lazy, many] = [(true, false), (false, false), (false, true)].map(with);
    for (many_flows, other) in [(false, lazy), (true, many)] {
        assert_eq!(other.samples, plain.samples, "{text} seed {seed}, many_flows {many_flows}");
        assert_eq!(other.packets, plain.packets, "{text}");
        assert_conserved(&other);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 128,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_network_gives_the_same_samples_by_either_loop(
        network in networks(),
        picks in vec((any::<Index>(), any::<Index>(), select(KINDS)), 1..=6),
        sampling in select(SAMPLING),
        duration in select(DURATIONS),
        cc in select(&["cubic", "reno", "bbr"][..]),
        agents in 0_usize..4,
        seed in any::<u64>(),
    ) {
        let mut text = format!(
            "format = 1\nname = \"loops\"\nduration = \"{duration}\"\nsampling = \"{sampling}\"\n[tcp]\ncc = \"{cc}\"\n[topology]\n{}\n",
            network.text
        );
        // No router in half of the cases, otherwise the first or the first two.
        let agents = agents.saturating_sub(1).min(network.routers.len());
        if agents > 0 {
            text += &format!("[acns]\nrouters = {:?}\n", &network.routers[..agents]);
        }
        text += &flows(&network, &picks);
        assert_alike(&text, seed);
    }
}

/// Three packets arrive at a hub at one nanosecond, over links that take time and then links that take none. One is
/// sent, one waits and one is dropped. The result must not depend on when the loop learns of the arrivals.
#[test]
fn a_link_that_takes_no_time_does_not_change_who_is_first() {
    let mut nodes = "{ name = \"hub\", kind = \"router\" }, { name = \"sink\" }".to_owned();
    let mut rest = "[[links]]\nbetween = [\"hub\", \"sink\"]\nrate = \"1 Mb/s\"\ndelay = \"1 ms\"\nqueue = { limit = \"1 packet\" }\n".to_owned();
    for n in 1..=3 {
        nodes += &format!(", {{ name = \"h{n}\" }}, {{ name = \"r{n}\", kind = \"router\" }}");
        rest += &format!(
            "[[links]]\nbetween = [\"h{n}\", \"r{n}\"]\nrate = \"100 Mb/s\"\ndelay = \"1 ms\"\n\
             [[links]]\nbetween = [\"r{n}\", \"hub\"]\nrate = \"10 Tb/s\"\ndelay = \"0 s\"\n\
             [[flows]]\nname = \"f{n}\"\nfrom = \"h{n}\"\nto = \"sink\"\nkind = \"udp\"\nrate = \"400 kb/s\"\npayload = \"97 B\"\n"
        );
    }
    assert_alike(&format!("format = 1\nname = \"ties\"\nduration = \"4 s\"\nnodes = [{nodes}]\n{rest}"), 1);
}
