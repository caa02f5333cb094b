//! When each slow start leaves, and what that costs: the tables of `docs/slow-start.md`, and what must hold of them.
//!
//! `UPDATE_GOLDEN=1 cargo test -p narrows-sim --test slow_start` writes the tables of the page again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use common::run_text;
use narrows_samples::NONE;
use std::fmt::Write;

/// A network: its name on the page, rate in Mb/s, delay of the bottleneck (a millisecond less each way than half of the
/// round-trip time), queue in packets, and the length of a run in seconds.
const NETWORKS: [(&str, u64, &str, u64, u64); 3] = [
    ("100 Mb/s, 20 ms, 1 BDP", 100, "8 ms", 167, 10),
    ("20 Mb/s, 40 ms, 8 BDP", 20, "18 ms", 533, 10),
    ("10 Mb/s, 600 ms, 1/2 BDP", 10, "298 ms", 250, 20),
];

const STARTS: [&str; 5] = ["standard", "hystart", "hystart++", "search", "limited"];

/// The run of one flow.
#[derive(Clone, Copy, Debug)]
struct Start {
    /// When slow start ended first, seconds; the end of the run if it did not.
    left: f64,
    /// cwnd then, packets.
    cwnd: u64,
    lost: u64,
    /// Delivered in the whole run, megabytes.
    delivered: f64,
}

fn measure((_, rate, delay, queue, seconds): (&str, u64, &str, u64, u64), tcp: &str) -> Start {
    let outcome = run_text(&format!(
        r#"
        duration = "{seconds} s"
        sampling = {{ interval = "1 ms" }}
        [topology]
        kind = "dumbbell"
        bottleneck = {{ rate = "{rate} Mb/s", delay = "{delay}", queue = {{ limit = "{queue} packets" }} }}
        access = {{ rate = "10 Gb/s", delay = "1 ms" }}
        [tcp]
        stack = "linux"
        cc = "reno"
        recv_buffer = "64 MiB"
        {tcp}
        [[flows]]
        from = "s1"
        to = "d1"
        "#
    ));
    let totals = &outcome.samples.flow_totals;
    let flows = outcome.samples.flows.unpack().unwrap();
    let ended = (0..flows.flow.len()).find(|&row| flows.ssthresh_bytes[row] != NONE);
    Start {
        left: ended.map_or(seconds as f64, |row| flows.time_ns[row] as f64 / 1e9),
        cwnd: ended.map_or(0, |row| flows.cwnd_bytes[row] / 1448),
        lost: totals.lost_packets[0],
        delivered: totals.delivered_bytes[0] as f64 / 1e6,
    }
}

fn of(network: usize, start: &str) -> Start {
    measure(NETWORKS[network], &format!("slow_start = \"{start}\""))
}

/// A table of the page, and its runs.
fn starts() -> (String, Vec<[Start; 5]>) {
    let mut table = String::from(
        "| network (queue) | `slow_start` | leaves after | at cwnd | packets lost | delivered |\n|---|---|--:|--:|--:|--:|\n",
    );
    let mut all = Vec::new();
    for (index, network) in NETWORKS.iter().enumerate() {
        let runs = STARTS.map(|start| of(index, start));
        for (start, run) in STARTS.iter().zip(runs) {
            writeln!(
                table,
                "| {} | `{start}` | {:.3} s | {} | {} | {:.1} MB in {} s |",
                network.0, run.left, run.cwnd, run.lost, run.delivered, network.4
            )
            .unwrap();
        }
        all.push(runs);
    }
    (table, all)
}

/// The saved windows of the second table: none, the network's, and four times that.
const SAVED: [(&str, &str); 3] = [
    ("none", ""),
    ("750 kB, 600 ms: what the path holds", "careful_resume = { saved_cwnd = \"750 kB\", saved_rtt = \"600 ms\" }"),
    ("6 MB, 600 ms: eight times that", "careful_resume = { saved_cwnd = \"6 MB\", saved_rtt = \"600 ms\" }"),
];

fn resumed() -> (String, [Start; 3]) {
    let mut table = String::from("| saved | packets lost | delivered |\n|---|--:|--:|\n");
    let network = (NETWORKS[2].0, NETWORKS[2].1, NETWORKS[2].2, NETWORKS[2].3, 5);
    let runs = SAVED.map(|(_, tcp)| measure(network, tcp));
    for ((saved, _), run) in SAVED.iter().zip(runs) {
        writeln!(table, "| {saved} | {} | {:.2} MB in 5 s |", run.lost, run.delivered).unwrap();
    }
    (table, runs)
}

/// The text of the page with `table` between the marks of this name.
fn with(page: &str, name: &str, table: &str) -> String {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->\n"));
    let (before, rest) = page.split_once(&begin).unwrap();
    let (_, after) = rest.split_once(&end).unwrap();
    format!("{before}{begin}\n{table}\n{end}{after}")
}

#[test]
fn the_page_has_what_runs_give() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/slow-start.md");
    let page = std::fs::read_to_string(path).unwrap();
    let ((starts, runs), (saved, resumed)) = (starts(), resumed());
    let written = with(&with(&page, "starts", &starts), "resumed", &saved);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &written).unwrap();
    } else {
        assert_eq!(page, written, "UPDATE_GOLDEN=1 writes docs/slow-start.md again");
    }
    for [standard, hystart, plus_plus, search, limited] in &runs {
        assert!(standard.lost > 0, "standard slow start overflows the queue");
        for run in [hystart, plus_plus, search, limited] {
            assert!(run.lost <= standard.lost, "{run:?} {standard:?}");
        }
        assert!(limited.left > standard.left && limited.lost < standard.lost / 10, "{limited:?} {standard:?}");
    }
    let [[near, early, ..], [deep, _, css, search, _], _] = runs[..] else { panic!("three networks") };
    assert!(early.left < near.left && early.lost < near.lost / 10, "ACK trains: {early:?} {near:?}");
    assert!(css.cwnd < deep.cwnd / 2 && css.lost == 0, "a queue that grows: {css:?} {deep:?}");
    assert!(search.left < deep.left && search.lost == 0, "a queue deep enough: {search:?} {deep:?}");
    let [without, with, wrong] = resumed;
    assert!(with.delivered > 1.2 * without.delivered, "{with:?} {without:?}");
    assert!(wrong.lost > 0, "{wrong:?}: the jump is more than the path holds");
}
