//! Devices of hosts: TCP Small Queues (`tcp.tsq`) bound what waits in them, and `tcp.gro` merges what arrives.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod common;

use common::{assert_conserved, delivered, run_seeded, scenario};
use narrows_sim::{Options, Outcome, run};
use pcap_file::pcapng::{Block, PcapNgReader};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use std::fs::File;

/// Hosts A and B and routers R1 and R2, with links of these rates; the flows go from A to B.
fn network(access: &str, bottleneck: &str, tcp: &str, flows: &str) -> String {
    let link = |a: &str, b: &str, rate: &str, delay: &str, limit: &str| {
        format!(
            "[[links]]\nbetween = [\"{a}\", \"{b}\"]\nrate = \"{rate}\"\ndelay = \"{delay}\"\n\
             queue = {{ kind = \"droptail\", limit = \"{limit}\" }}\n"
        )
    };
    let links = [
        link("A", "R1", access, "1 ms", "3000 packets"),
        link("R1", "R2", bottleneck, "8 ms", "200 packets"),
        link("R2", "B", "1 Gb/s", "1 ms", "3000 packets"),
    ];
    format!(
        "format = 1\nname = \"devices\"\nduration = \"5 s\"\n\
         nodes = [{{ name = \"A\" }}, {{ name = \"R1\", kind = \"router\" }}, {{ name = \"R2\", kind = \"router\" }}, {{ name = \"B\" }}]\n\
         [tcp]\nstack = \"linux\"\n{tcp}\n{}{flows}",
        links.concat()
    )
}

fn bulk(count: usize) -> String {
    format!("[[flows]]\nname = \"f\"\nfrom = \"A\"\nto = \"B\"\ncopies = {count}\nstagger = \"3 ms\"\n")
}

/// Queues in the order of links.
const LOCAL: usize = 0;
const ACKS: usize = 5;

fn both_loops(text: &str, seed: u64) -> Outcome {
    let scenario = scenario(text);
    let with = |plain_loop| run(&scenario, &Options { seed, plain_loop, ..Options::default() }).unwrap();
    let (lazy, plain) = (with(false), with(true));
    assert_eq!(lazy.samples, plain.samples, "{text}");
    assert_eq!(lazy.packets, plain.packets, "{text}");
    assert_conserved(&lazy);
    lazy
}

/// The host's own link is the bottleneck: what waits there is what small queues allow, at any rate.
#[test]
fn a_local_queue_holds_a_few_milliseconds_and_nothing_is_lost_by_it() {
    for (rate, mbps) in [("2 Mb/s", 2), ("10 Mb/s", 10), ("100 Mb/s", 100), ("900 Mb/s", 900)] {
        for cc in ["cubic", "reno", "bbr"] {
            let of = |tsq| both_loops(&network(rate, "10 Gb/s", &format!("cc = \"{cc}\"\ntsq = {tsq}"), &bulk(1)), 1);
            let (without, with) = (of(false), of(true));
            let queue = |outcome: &Outcome| outcome.samples.queue_totals.row(LOCAL).unwrap();
            // Twice the rate of the window, which is at most twice what is in flight, and three super-packets.
            let ms = mbps * 125_000 / 1000;
            let bound = 4 * ms + 3 * (4 * ms).clamp(3_100, 66_000);
            assert!(queue(&with).max_bytes <= bound, "{cc} at {rate}: {} of {bound}", queue(&with).max_bytes);
            let [without, with] = [&without, &with].map(|outcome| delivered(outcome)[0] as f64);
            assert!(with > 0.97 * without, "{cc} at {rate}: {with} of {without}");
            assert!(with * 8.0 / 5.0 > 0.9 * 1e6 * mbps as f64 || mbps == 900, "{cc} at {rate}: {with}");
        }
    }
}

#[test]
fn without_small_queues_a_window_waits_in_the_host() {
    let of = |tsq| {
        let outcome = run_seeded(&network("10 Mb/s", "1 Gb/s", &format!("tsq = {tsq}"), &bulk(1)), 1);
        outcome.samples.queue_totals.row(LOCAL).unwrap().max_bytes
    };
    assert!(of(false) > 20 * of(true), "{} {}", of(false), of(true));
}

#[test]
fn flows_of_one_host_share_its_link() {
    // In a queue that is first in, first out shares go by what waits, and super-packets may differ by a segment.
    for (count, least) in [(2, 0.98), (8, 0.9)] {
        let outcome = both_loops(&network("100 Mb/s", "1 Gb/s", "tsq = true", &bulk(count)), 2);
        let bytes = delivered(&outcome);
        let sum: f64 = bytes.iter().map(|b| *b as f64).sum();
        let squares: f64 = bytes.iter().map(|b| (*b as f64) * (*b as f64)).sum();
        let jain = sum * sum / (count as f64 * squares);
        assert!(jain > least, "{count} flows: {jain:.3} {bytes:?}");
        assert!(sum * 8.0 / 5.0 > 0.92e8, "{sum}");
    }
}

#[test]
fn behind_a_fast_host_link_small_queues_change_little() {
    for cc in ["cubic", "bbr"] {
        let of = |tsq| {
            let text = network("1 Gb/s", "50 Mb/s", &format!("cc = \"{cc}\"\ntsq = {tsq}"), &bulk(1));
            delivered(&both_loops(&text, 1))[0] as f64
        };
        let ratio = of(true) / of(false);
        assert!((0.97..1.03).contains(&ratio), "{cc}: {ratio:.3}");
    }
}

/// Number of ACKs per data segment, and the outcome.
fn acks(tcp: &str) -> (f64, Outcome) {
    let outcome = both_loops(&network("1 Gb/s", "1 Gb/s", tcp, &bulk(1)), 1);
    let segments = outcome.samples.flow_totals.row(0).unwrap().arrived_packets as f64;
    let acks = outcome.samples.queue_totals.row(ACKS).unwrap().forwarded_packets as f64;
    (acks / segments, outcome)
}

#[test]
fn merging_makes_acks_rarer_and_loses_nothing() {
    for cc in ["cubic", "reno"] {
        let settings = |gro: &str| format!("cc = \"{cc}\"\ngro = \"{gro}\"");
        let (single, without) = acks(&settings("0 us"));
        let (merged, with) = acks(&settings("50 us"));
        assert!((0.5..0.56).contains(&single), "{cc}: every second segment has an ACK: {single:.3}");
        assert!(merged < 0.3, "{cc}: {merged:.3}");
        let ratio = delivered(&with)[0] as f64 / delivered(&without)[0] as f64;
        assert!((0.95..1.05).contains(&ratio), "{cc}: {ratio:.3}");
    }
}

#[test]
fn a_longer_window_makes_fewer_acks() {
    let per_segment: Vec<f64> =
        ["0 us", "15 us", "100 us"].iter().map(|gro| acks(&format!("gro = \"{gro}\"")).0).collect();
    assert!(per_segment.is_sorted_by(|a, b| a > b), "{per_segment:?}");
}

/// Stretch ACKs: in slow start Linux's controls grow by all that an ACK acknowledges, so the window doubles as fast.
#[test]
fn a_window_grows_as_fast_with_fewer_acks() {
    for cc in ["cubic", "reno"] {
        let cwnd = |gro: &str| {
            let tcp = format!("cc = \"{cc}\"\nslow_start = \"standard\"\ngro = \"{gro}\"");
            let text = network("10 Gb/s", "10 Gb/s", &tcp, &bulk(1)).replace("\"5 s\"", "\"130 ms\"");
            let text = text.replace("[tcp]\n", "sampling = \"10 ms\"\n[tcp]\n");
            run_seeded(&text, 1).samples.flows.unpack().unwrap().cwnd_bytes.last().copied().unwrap() as f64
        };
        let ratio = cwnd("50 us") / cwnd("0 us");
        assert!((0.9..1.1).contains(&ratio), "{cc}: {ratio:.3}");
    }
}

#[test]
fn captures_have_the_packets_before_they_are_merged() {
    let directory = std::env::temp_dir().join(format!("narrows-merged-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let text = network("100 Mb/s", "100 Mb/s", "gro = \"1 ms\"", &bulk(1)).replace("\"5 s\"", "\"200 ms\"");
    let outcome = run(&scenario(&text), &Options { pcap_dir: Some(&directory), ..Options::default() }).unwrap();
    let mut reader = PcapNgReader::new(File::open(directory.join("R2-B.pcapng")).unwrap()).unwrap();
    let mut captured = 0;
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(block) = block.unwrap() {
            assert!(block.data.len() <= 1500, "{}", block.data.len());
            captured += 1;
        }
    }
    std::fs::remove_dir_all(&directory).unwrap();
    let forwarded = &outcome.samples.queue_totals.forwarded_packets;
    assert_eq!(captured, forwarded[4] + forwarded[ACKS]);
    assert!(forwarded[ACKS] < forwarded[4] / 4, "{forwarded:?}");
}

/// Settings of flows: what waits and what merges meet at one nanosecond, in both directions and with other traffic.
const KINDS: &[&str] = &[
    "kind = \"bulk\"",
    "kind = \"bulk\"\nsize = \"200 kB\"",
    "kind = \"bulk\"\nsize = \"90 kB\"\ntcp = { cc = \"bbr\" }",
    "kind = \"bulk\"\nsize = \"90 kB\"\ntcp = { cc = \"reno\", pacing = {} }",
    "kind = \"bulk\"\ntcp = { tsq = false, gro = \"0 s\" }",
    "kind = \"request_response\"\nresponse = \"60 kB\"\nthink = \"5 ms\"\ncount = 20",
    "kind = \"udp\"\nrate = \"1 Mb/s\"\npayload = \"972 B\"",
];
const RATES: &[&str] = &["1 Mb/s", "8 Mb/s", "100 Mb/s", "1 Gb/s"];
const DELAYS: &[&str] = &["0 s", "1 us", "1 ms", "7 ms"];
const LIMITS: &[&str] = &["3 packets", "20 packets", "1000 packets", "20 kB"];

fn link() -> impl Strategy<Value = String> {
    let loss = prop_oneof![4 => Just(""), 1 => Just(", per = 0.02")];
    (select(RATES), select(DELAYS), select(LIMITS), loss).prop_map(|(rate, delay, limit, loss)| {
        format!("{{ rate = \"{rate}\", delay = \"{delay}\", queue = {{ limit = \"{limit}\" }}{loss} }}")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_devices_give_the_same_samples_by_either_loop(
        bottleneck in link(),
        access in vec(link(), 1..=3),
        picks in vec((1_usize..=3, 1_usize..=3, select(KINDS)), 1..=5),
        gro in select(&["0 s", "1 us", "50 us", "3 ms"][..]),
        sampling in select(&["off", "900 us", "100 ms"][..]),
        ecn in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let pairs = access.len();
        let mut text = format!(
            "format = 1\nname = \"devices\"\nduration = \"1 s\"\nsampling = \"{sampling}\"\n\
             [tcp]\nstack = \"linux\"\ntsq = true\ngro = \"{gro}\"\necn = {ecn}\n\
             [topology]\nkind = \"dumbbell\"\npairs = {pairs}\nbottleneck = {bottleneck}\naccess = [{}]\n",
            access.join(", ")
        );
        for (number, (from, to, kind)) in picks.iter().enumerate() {
            let (from, to) = ((from - 1) % pairs + 1, (to - 1) % pairs + 1);
            text += &format!("[[flows]]\nname = \"f{number}\"\nfrom = \"s{from}\"\nto = \"d{to}\"\n{kind}\n");
        }
        both_loops(&text, seed);
    }
}
