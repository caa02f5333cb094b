//! NGWA end to end: the windows that result from each mode at routers, receivers and senders.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod common;

use common::{assert_conserved, delivered, run_text, scenario};
use narrows_samples::value;
use narrows_sim::{Options, Outcome, run};

/// Segments of 1000 bytes besides the option, and the receive buffer of the paper.
const TCP: &str = r#"[tcp]
cc = "reno"
mss = "1008 B"
sack = false
timestamps = false
window_scaling = false
recovery = "newreno"
recv_buffer = "64 kB"
"#;

/// The paper's dumbbell with four pairs, these parameters of NGWA, and these flows.
fn dumbbell(ngwa: &str, flows: &str) -> String {
    format!(
        r#"format = 1
name = "ngwa"
duration = "60 s"
sampling = "100 ms"
[topology]
kind = "dumbbell"
pairs = 4
bottleneck = {{ rate = "1.5 Mb/s", delay = "20 ms", queue = {{ limit = "97 kB" }} }}
access = {{ rate = "10 Mb/s", delay = "2 ms", queue = {{ limit = "400 kB" }} }}
{TCP}
[ngwa]
{ngwa}
{flows}"#
    )
}

/// Flows from `s1` to `d1` and so on, each with these further lines.
fn flows(count: usize, more: &str) -> String {
    (1..=count).map(|i| flow(&format!("f{i}"), &format!("s{i}"), &format!("d{i}"), more)).collect()
}

fn flow(name: &str, from: &str, to: &str, more: &str) -> String {
    format!("[[flows]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nkind = \"bulk\"\n{more}\n")
}

/// The windows that a flow's sender was offered in the samples from one second to another.
fn windows(outcome: &Outcome, flow: u64, from: u64, to: u64) -> Vec<u64> {
    let s = outcome.samples.flows.unpack().unwrap();
    let between = |i: &usize| (from..to).contains(&(s.time_ns[*i] / 1_000_000_000)) && s.flow[*i] == flow;
    (0..s.time_ns.len()).filter(between).map(|i| s.rwnd_bytes[i]).collect()
}

/// Asserts that the window is this many bytes, within one segment.
fn assert_window(outcome: &Outcome, flow: u64, [from, to]: [u64; 2], bytes: u64, what: &str) {
    let seen = windows(outcome, flow, from, to);
    assert!(!seen.is_empty(), "{what}: no samples");
    let near = seen.iter().all(|w| w.abs_diff(bytes) <= 1_000);
    let (least, most) = (seen.iter().min().unwrap(), seen.iter().max().unwrap());
    assert!(near, "{what}: window of flow {flow} is {least} to {most} instead of {bytes}");
}

/// Options that a router inserted, lowered and kept.
fn written(outcome: &Outcome, router: &str) -> [u64; 3] {
    let index = outcome.samples.router_names.iter().position(|name| name == router).unwrap();
    let row = outcome.samples.router_totals.row(index).unwrap();
    let value = |counter: &str| value(&row.counters, &outcome.samples.counters.router_totals, counter).unwrap();
    ["inserted", "lowered", "kept"].map(value)
}

#[test]
fn transfers_end_in_all_eight_modes() {
    for mode in 1..=8 {
        for more in ["", "marks = \"data\"", "shrink = true", "stamp = \"arrival\"", "fast_retransmit = true"] {
            if more.starts_with("fast") && [1, 2, 5, 6].contains(&mode) {
                continue;
            }
            let what = format!("mode = {mode}\n{more}");
            // Without a congestion window a lost burst is lost again and again, while the timer backs off.
            let text = dumbbell(&what, &flows(4, "size = \"400 kB\"")).replace("60 s", "600 s");
            let outcome = run_text(&text.replace("100 ms", "10 s"));
            assert_eq!(delivered(&outcome), [400_000; 4], "{what}");
            assert_conserved(&outcome);
            for i in 0..4 {
                let flow = outcome.samples.flow_totals.row(i).unwrap();
                assert!(flow.counters[0] >= 400, "{what}");
                assert_eq!(flow.counters[1], 0, "ignored");
            }
            // Either router is the first that segments of one direction meet, and the second of the other.
            let [first, second] = ["r1", "r2"].map(|router| written(&outcome, router));
            assert!(first[0] >= 1_600 && second[1] + second[2] >= 1_600, "{what}: {first:?} {second:?}");
            let acks = more != "marks = \"data\"";
            assert_eq!(first[1] + first[2] > 0, acks, "{what}: {first:?}");
            assert_eq!(second[0] > 0, acks, "{what}: {second:?}");
        }
    }
}

#[test]
fn flow_division_gives_each_flow_its_part_of_the_queue() {
    for mode in 5..=8 {
        for n in [1, 2, 4] {
            let outcome = run_text(&dumbbell(&format!("mode = {mode}"), &flows(n, "")));
            let part = (0.98 * 97_000.0 / n as f64) as u64;
            for flow in 0..n {
                let what = format!("mode {mode}, {n} flows");
                assert_window(&outcome, flow as u64, [30, 60], part.min(64_000), &what);
            }
        }
    }
}

/// A smaller version of the paper's first experiment: four flows join one after the other, and two of them leave.
#[test]
fn the_window_falls_with_each_flow_that_joins_and_rises_with_each_that_leaves() {
    let joins = |i: u8, start: u8, stop: u8| {
        let more = format!("rate = \"500 kb/s\"\nstart = \"{start} s\"\nstop = \"{stop} s\"");
        flow(&format!("f{i}"), &format!("s{i}"), &format!("d{i}"), &more).replace("\"bulk\"", "\"rate\"")
    };
    let four = joins(1, 0, 60) + &joins(2, 8, 60) + &joins(3, 16, 40) + &joins(4, 24, 32);
    for (mode, shrink) in (5..=8).flat_map(|mode| [(mode, false), (mode, true)]) {
        let outcome = run_text(&dumbbell(&format!("mode = {mode}\nshrink = {shrink}"), &four));
        // Data that the fourth flow still has to send when it stops takes a while to leave.
        for (span, window) in [
            ([2, 8], 64_000),
            ([11, 16], 47_530),
            ([19, 24], 31_686),
            ([27, 32], 23_765),
            ([37, 40], 31_686),
            ([45, 60], 47_530),
        ] {
            assert_window(&outcome, 0, span, window, &format!("mode {mode}, {span:?}"));
        }
        // Without a congestion window the queue overflows while older flows still have their larger windows.
        if mode < 7 {
            assert_eq!(outcome.samples.flow_totals.lost_packets, [0; 4], "mode {mode}");
        }
    }
}

/// A path of three routers with queues of 60, 30 and 50 kB; `ngwa` lists the routers that write options.
fn chain(ngwa: &str, flows: &str) -> String {
    let mut text =
        format!("format = 1\nname = \"chain\"\nduration = \"20 s\"\nsampling = \"100 ms\"\n{TCP}\n[ngwa]\n{ngwa}\n");
    for (name, kind) in [("A", "host"), ("R1", "router"), ("R2", "router"), ("R3", "router"), ("B", "host")] {
        text += &format!("[[nodes]]\nname = \"{name}\"\nkind = \"{kind}\"\n");
    }
    for (a, b, rate, limit) in [("A", "R1", 100, 900), ("R1", "R2", 4, 60), ("R2", "R3", 2, 30), ("R3", "B", 8, 50)] {
        text += &format!(
            "[[links]]\nbetween = [\"{a}\", \"{b}\"]\nrate = \"{rate} Mb/s\"\ndelay = \"5 ms\"\n\
             queue = {{ limit = \"{limit} kB\" }}\n"
        );
    }
    text + flows
}

#[test]
fn the_tightest_queue_of_the_routers_that_know_ngwa_rules() {
    let bulk = flow("bulk", "A", "B", "");
    for mode in 5..=8 {
        for (routers, window) in [
            ("[\"R1\", \"R2\", \"R3\"]", 29_400),
            ("[\"R1\", \"R3\"]", 49_000),
            ("[\"R2\"]", 29_400),
            ("[\"R1\"]", 58_800),
            ("[]", 64_000),
        ] {
            // Values in data alone, so that each router's counters are of one direction.
            let data = format!("mode = {mode}\nmarks = \"data\"\nrouters = {routers}");
            let all = run_text(&chain(&data.replace("\"data\"", "\"all\""), &bulk));
            assert_window(&all, 0, [10, 20], window, &format!("mode {mode}, routers {routers}, all marked"));
            let outcome = run_text(&chain(&data, &bulk));
            assert_window(&outcome, 0, [10, 20], window, &format!("mode {mode}, routers {routers}"));
            assert_eq!(outcome.samples.router_names.len(), routers.matches('R').count());
            if routers.contains("R2\", ") {
                let data = outcome.samples.flow_totals.counters[0][0];
                let [first, second, third] = ["R1", "R2", "R3"].map(|r| written(&outcome, r));
                assert!(first[0] >= data && first[1..] == [0, 0], "{first:?}");
                assert!(second[1] >= data && second[0] == 0 && second[2] == 0, "{second:?}");
                assert!(third[2] >= data && third[..2] == [0, 0], "{third:?}");
            }
        }
    }
}

/// If no router supports NGWA, its only effect is that segments are eight bytes smaller.
#[test]
fn without_routers_nothing_but_the_smss_is_another() {
    let more = "size = \"700 kB\"";
    for (mode, plain) in [
        (5, ""),
        (2, ""),
        (3, "tcp = { cc = \"none\", recovery = \"rto_only\" }"),
        (8, "tcp = { cc = \"none\", recovery = \"rto_only\" }"),
    ] {
        let with = run_text(&dumbbell(&format!("mode = {mode}\nrouters = []"), &flows(4, more)));
        let text = dumbbell("enabled = false", &flows(4, &format!("{more}\n{plain}"))).replace("1008 B", "1000 B");
        let without = run_text(&text);
        // The segment size is not settled before the end of the handshake.
        let rows = |outcome: &Outcome| {
            let flows = outcome.samples.flows.unpack().unwrap();
            (4..).map_while(|i| flows.row(i)).collect::<Vec<_>>()
        };
        assert_eq!(rows(&with), rows(&without), "mode {mode}");
        assert_eq!(rows(&with)[0].time_ns, 100_000_000);
        assert_eq!(with.samples.flow_totals, without.samples.flow_totals, "mode {mode}");
        assert_eq!(with.samples.queues, without.samples.queues, "mode {mode}");
        assert_eq!(with.samples.queue_totals, without.samples.queue_totals, "mode {mode}");
        assert!(with.samples.router_names.is_empty());
        assert!(
            with.samples.flow_totals.lost_packets.iter().sum::<u64>() > 0,
            "mode {mode}: the queue was put to the test"
        );
    }
}

#[test]
fn ends_that_do_not_know_it_ignore_the_option() {
    for mode in [1, 3, 6, 8] {
        let text = flows(2, "size = \"500 kB\"\ntcp = { assist = \"none\" }");
        let outcome = run_text(&dumbbell(&format!("mode = {mode}"), &text));
        assert_eq!(delivered(&outcome), [500_000; 2], "mode {mode}");
        assert!(written(&outcome, "r1")[0] >= 990, "the router writes all the same");
        assert_eq!(outcome.samples.flow_totals.counters[0], [0, 0]);
        assert!((0..2).all(|f| windows(&outcome, f, 1, 60).iter().all(|w| *w >= 63_000)), "mode {mode}");
    }
}

#[test]
fn a_flow_without_ngwa_takes_its_share_of_the_count_and_keeps_its_window() {
    for mode in [5, 6] {
        let text = flow("ngwa", "s1", "d1", "") + &flow("plain", "s2", "d2", "tcp = { assist = \"none\" }");
        let outcome = run_text(&dumbbell(&format!("mode = {mode}"), &text));
        assert_window(&outcome, 0, [20, 60], 47_530, "the router counts both");
        assert!(windows(&outcome, 1, 20, 60).iter().all(|w| *w >= 63_000));
        assert!(delivered(&outcome).iter().all(|bytes| *bytes > 500_000), "{:?}", delivered(&outcome));
    }
}

#[test]
fn a_window_above_64_kb_is_scaled() {
    for mode in 5..=8 {
        for (buffer, limit, window) in [("1 MB", 500u64, 490_000u64), ("1 GB", 2_000, 1_960_000)] {
            let text = dumbbell(&format!("mode = {mode}"), &flow("bulk", "s1", "d1", ""))
                .replace("window_scaling = false", "window_scaling = true")
                .replace("64 kB", buffer)
                .replace("1.5 Mb/s", "8 Mb/s")
                .replace("97 kB", &format!("{limit} kB"))
                .replace("400 kB", "9 MB");
            let outcome = run_text(&text);
            let unit = if buffer == "1 GB" { 1 << 14 } else { 1 << 4 };
            let seen = windows(&outcome, 0, 30, 60);
            let near = seen.iter().all(|w| *w + 1_000 + unit > window && *w <= window + unit);
            assert!(near, "mode {mode}, {buffer}: {:?}", &seen[..10]);
            assert_eq!(outcome.samples.flow_totals.lost_packets, [0], "mode {mode}, {buffer}");
        }
    }
}

#[test]
fn the_bound_of_the_scenario_rules_from_the_syn_on() {
    for mode in 1..=8 {
        let text = dumbbell(&format!("mode = {mode}\nmax_window = \"12 kB\""), &flows(4, "size = \"300 kB\""));
        let outcome = run_text(&text);
        assert_eq!(delivered(&outcome), [300_000; 4]);
        assert_eq!(outcome.samples.flow_totals.lost_packets, [0; 4], "mode {mode}: 48 kB fit at any time");
        for f in 0..4 {
            assert!(windows(&outcome, f, 0, 60).iter().all(|w| *w <= 12_000), "mode {mode}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_samples_on_any_loop_and_thread() {
    for mode in [1, 4, 6] {
        for stamp in ["departure", "arrival"] {
            let mut text = flows(3, "") + &flow("bounded", "s4", "d4", "start = \"3 s\"\nsize = \"90 kB\"");
            text += "[[flows]]\nname = \"udp\"\nfrom = \"s1\"\nto = \"d2\"\nkind = \"udp\"\nrate = \"600 kb/s\"\npayload = \"400 B\"\n";
            let text = dumbbell(&format!("mode = {mode}\nstamp = \"{stamp}\""), &text)
                .replace("60 s", "12 s")
                .replace("delay = \"20 ms\"", "delay = \"20 ms\", per = 0.01")
                .replace("sampling", "start_jitter = \"500 ms\"\nsampling");
            let scenario = scenario(&text);
            let with = |seed, plain_loop| run(&scenario, &Options { seed, plain_loop, ..Options::default() }).unwrap();
            let digests: Vec<String> = (0..3).map(|seed| with(seed, false).digest().unwrap()).collect();
            let plain: Vec<String> = (0..3).map(|seed| with(seed, true).digest().unwrap()).collect();
            let threads: Vec<String> = std::thread::scope(|scope| {
                let all: Vec<_> = (0..3).map(|seed| scope.spawn(move || with(seed, false).digest().unwrap())).collect();
                all.into_iter().map(|t| t.join().unwrap()).collect()
            });
            assert_eq!(digests, plain, "mode {mode}, {stamp}: the plain loop");
            assert_eq!(digests, threads, "mode {mode}, {stamp}");
            assert!(digests[0] != digests[1]);
        }
    }
}
