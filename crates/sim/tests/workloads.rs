//! Transfers of workloads, requests of drawn sizes, pages and videos: times, sizes, and least completion times.

#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::scenario;
use narrows_samples::{NONE, PlaybackTotal, TransferRow};
use narrows_sim::{Options, Outcome, run};
use proptest::prelude::*;

fn network(rate: &str, delay: &str, queue: &str) -> String {
    format!(
        "name = \"t\"\nduration = \"20 s\"\n[topology]\nkind = \"dumbbell\"\npairs = 3\n\
         bottleneck = {{ rate = \"{rate}\", delay = \"{delay}\", queue = {queue} }}\n\
         access = {{ rate = \"1 Gb/s\", delay = \"1 ms\" }}\n"
    )
}

const PLAIN: &str = "{ limit = \"200 packets\" }";

fn with(text: &str) -> String {
    network("50 Mb/s", "5 ms", PLAIN) + text
}

fn outcome(text: &str, seed: u64, plain_loop: bool) -> Outcome {
    run(&scenario(text), &Options { seed, plain_loop, ..Options::default() }).unwrap()
}

fn rows(outcome: &Outcome) -> Vec<TransferRow> {
    let table = &outcome.samples.transfers;
    (0..table.number.len()).map(|row| table.row(row).unwrap()).collect()
}

fn transfers(text: &str) -> Vec<TransferRow> {
    rows(&outcome(text, 1, false))
}

fn took(row: &TransferRow) -> u64 {
    assert_ne!(row.finished_ns, NONE, "{row:?}");
    row.finished_ns - row.start_ns
}

const WEB: &str = "[[workloads]]\nname = \"web\"\nfrom = \"s*\"\nto = \"d*\"\npairs = 3\nload = 0.6\n\
                   size = { distribution = \"web_search\", max = \"3 MB\" }\n";

#[test]
fn a_run_repeats_its_transfers_and_another_seed_draws_others() {
    let text = with(WEB);
    let one = outcome(&text, 1, false);
    assert_eq!(one.digest().unwrap(), outcome(&text, 1, false).digest().unwrap());
    assert_ne!(rows(&one)[0].start_ns, rows(&outcome(&text, 2, false))[0].start_ns);
    assert!(one.samples.flow_names.is_empty() && one.samples.flow_totals.start_ns.is_empty());
    assert_eq!(one.samples.workload_names, ["web"]);
}

#[test]
fn both_loops_give_the_same_transfers() {
    let all = [
        WEB,
        "[[workloads]]\nkind = \"requests\"\nfrom = \"d1\"\nto = \"s1\"\ninterval = \"30 ms\"\n\
         size = { distribution = \"pareto\", mean = \"20 kB\" }\n",
        "[[workloads]]\nkind = \"pages\"\nfrom = \"d2\"\nto = \"s2\"\ninterval = \"1 s\"\nsize = \"15 kB\"\n",
        "[[flows]]\nkind = \"video\"\nfrom = \"d3\"\nto = \"s3\"\nladder = [\"1 Mb/s\", \"4 Mb/s\"]\nsegment = \"1 s\"\n",
    ]
    .concat();
    for queue in [PLAIN, "{ kind = \"fq_codel\", limit = \"1000 packets\" }"] {
        let text = network("20 Mb/s", "10 ms", queue) + &all;
        let digest = |plain| outcome(&text, 3, plain).digest().unwrap();
        assert_eq!(digest(false), digest(true), "{queue}");
    }
}

#[test]
fn poisson_arrivals_make_the_load_and_the_sizes_do_not_depend_on_it() {
    let text = |load: f64| {
        with(&format!(
            "[[workloads]]\nfrom = \"s1\"\nto = \"d1\"\nload = {load}\nsize = {{ distribution = \"exponential\", mean = \"10 kB\" }}\n"
        ))
    };
    let half = transfers(&text(0.5));
    // 25 Mb/s for 20 s in transfers of 10 kB: 6,250, with a standard deviation of 79.
    assert!((half.len() as f64 - 6250.0).abs() < 320.0, "{}", half.len());
    let bytes: u64 = half.iter().map(|row| row.size_bytes).sum();
    assert!((bytes as f64 / 62.5e6 - 1.0).abs() < 0.06, "{bytes}");
    let gaps: Vec<f64> = half.windows(2).map(|pair| (pair[1].start_ns - pair[0].start_ns) as f64).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let deviation = (gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / gaps.len() as f64).sqrt();
    assert!((deviation / mean - 1.0).abs() < 0.05, "exponential gaps: {}", deviation / mean);
    let sizes = |rows: &[TransferRow]| rows.iter().take(100).map(|row| row.size_bytes).collect::<Vec<_>>();
    assert_eq!(sizes(&half), sizes(&transfers(&text(0.1))));
}

#[test]
fn a_file_gives_times_and_sizes() {
    let text = with(
        "[[workloads]]\nfrom = \"s1\"\nto = \"d1\"\nstart = \"2 s\"\nstop = \"4 s\"\n\
         arrivals = { trace = \"x.csv\", content = \"transfers 0 1000 500000000 2000 500000000 3000 2000000000 4000\" }\n",
    );
    let seen: Vec<_> = transfers(&text).iter().map(|row| (row.start_ns / 1_000_000, row.size_bytes)).collect();
    assert_eq!(seen, [(2000, 1000), (2500, 2000), (2500, 3000)], "the last one would begin when the workload stops");
}

#[test]
fn count_stop_and_pairs_are_kept() {
    let text = with(
        "[[workloads]]\nfrom = \"s*\"\nto = \"d*\"\npairs = 3\narrivals = \"constant\"\ninterval = \"10 ms\"\n\
         size = \"1 kB\"\ncount = 300\nstop = \"2 s\"\n",
    );
    let rows = transfers(&text);
    assert_eq!(rows.len(), 199, "one each 10 ms, the first after 10 ms");
    assert!(rows.iter().zip(1..).all(|(row, n)| row.start_ns == n * 10_000_000));
    for pair in 0..3 {
        let share = rows.iter().filter(|row| row.pair == pair).count();
        assert!((45..90).contains(&share), "{pair}: {share}");
    }
    let counted = text.replace("300", "7");
    assert_eq!(transfers(&counted).len(), 7);
}

/// With an initial window that holds the whole transfer, nothing but the path limits it, up to the 64 KiB that a SYN
/// can advertise.
const WIDE: &str = "[tcp]\ninitial_window = 1000\nmax_cwnd = \"unlimited\"\nrecv_buffer = \"64 MB\"\n";

#[test]
fn a_transfer_on_an_empty_path_takes_its_least_time() {
    let text = network("50 Mb/s", "5 ms", "{ limit = \"5000 packets\" }")
        .replace("1 ms\" }", "1 ms\", queue = { limit = \"5000 packets\" } }")
        + WIDE
        + "[[workloads]]\nfrom = \"s1\"\nto = \"d1\"\ninterval = \"2 s\"\nsize = { distribution = \"exponential\", mean = \"30 kB\", max = \"60 kB\" }\n\
           [[workloads]]\nkind = \"requests\"\nfrom = \"d1\"\nto = \"s1\"\ninterval = \"2 s\"\nstart = \"500 ms\"\nsize = \"50 kB\"\ncount = 1\n";
    let rows = transfers(&text);
    let alone = |row: &&TransferRow| {
        rows.iter().all(|other| {
            std::ptr::eq(*row, other) || other.finished_ns < row.start_ns || other.start_ns > row.finished_ns
        })
    };
    let quiet: Vec<&TransferRow> = rows.iter().filter(alone).collect();
    assert!(quiet.len() >= 5, "{}", quiet.len());
    for row in quiet {
        let ratio = took(row) as f64 / row.ideal_ns as f64;
        assert!((1.0..1.01).contains(&ratio), "{ratio}: {row:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn no_transfer_is_faster_than_its_least_time(
        rate in prop::sample::select(vec!["1 Mb/s", "10 Mb/s", "300 Mb/s", "2 Gb/s"]),
        delay in prop::sample::select(vec!["0 s", "1 ms", "30 ms"]),
        size in prop::sample::select(vec!["1 B", "1460 B", "1461 B", "40 kB", "700 kB"]),
        kind in prop::sample::select(vec!["transfers", "requests", "pages"]),
        window in prop::sample::select(vec!["", WIDE]),
        timestamps in any::<bool>(),
        recovery in prop::sample::select(vec!["sack", "newreno"]),
        window_scaling in any::<bool>(),
    ) {
        let tcp = if window.is_empty() { "[tcp]\n" } else { window };
        let text = network(rate, delay, PLAIN)
            + &format!("{tcp}timestamps = {timestamps}\nrecovery = \"{recovery}\"\nwindow_scaling = {window_scaling}\n[[workloads]]\nkind = \"{kind}\"\nfrom = \"s1\"\nto = \"d1\"\ninterval = \"1500 ms\"\nsize = \"{size}\"\n");
        for row in transfers(&text).iter().filter(|row| row.finished_ns != NONE) {
            prop_assert!(took(row) >= row.ideal_ns, "{row:?}");
        }
    }
}

#[test]
fn a_page_loads_its_first_object_alone_and_shares_the_others() {
    let page = |connections: u32| {
        let text = with(&format!(
            "[[workloads]]\nkind = \"pages\"\nfrom = \"d1\"\nto = \"s1\"\narrivals = \"constant\"\ninterval = \"5 s\"\n\
             size = \"14 kB\"\nobjects = 13\nconnections = {connections}\ncount = 1\n"
        ));
        let rows = transfers(&text);
        assert_eq!((rows.len(), rows[0].size_bytes), (1, 13 * 14_000));
        took(&rows[0]) as f64 / 14e6
    };
    // Round trips of 14 ms: one connection needs a handshake and a round trip per object.
    assert!((14.0..16.5).contains(&page(1)), "{}", page(1));
    // Six connections: a handshake and an object, then a handshake, and two objects over each.
    assert!((4.0..6.5).contains(&page(6)), "{}", page(6));
    assert!(page(64) < page(6), "a connection per object");
}

fn playback(text: &str) -> PlaybackTotal {
    let outcome = outcome(text, 1, false);
    assert_eq!(outcome.samples.playback_totals.flow.len(), 1);
    outcome.samples.playback_totals.row(0).unwrap()
}

#[test]
fn a_video_takes_a_rate_that_the_link_carries_and_stalls_where_none_is_low_enough() {
    let video = |rate: &str| {
        network(rate, "10 ms", PLAIN).replace("20 s", "300 s")
            + "[[flows]]\nkind = \"video\"\nfrom = \"d1\"\nto = \"s1\"\nladder = [\"1 Mb/s\", \"2 Mb/s\", \"4 Mb/s\", \"8 Mb/s\"]\n"
    };
    let fits = playback(&video("5 Mb/s"));
    assert_eq!((fits.stalls, fits.stalled_ns), (0, 0), "{fits:?}");
    let mean = fits.media_bits as f64 / (fits.media_ns as f64 / 1e9) / 1e6;
    assert!((2.5..5.0).contains(&mean), "{mean} Mb/s on a link of 5");
    assert!(fits.played_ns > 295_000_000_000, "{fits:?}");
    let starved = playback(&video("800 kb/s"));
    assert_eq!(starved.media_bits, starved.media_ns / 1000, "1 Mb/s, the lowest rate, alone");
    // 1 Mb/s over 800 kb/s, of which headers take a part: about a quarter of the time.
    let share = starved.stalled_ns as f64 / (starved.stalled_ns + starved.played_ns) as f64;
    assert!(starved.stalls > 10 && (0.18..0.3).contains(&share), "{share} {starved:?}");
    let rich = playback(&video("100 Mb/s"));
    // The buffer of 60 s fills at once; from then on a segment each 4 s.
    assert!(rich.media_ns / 1_000_000_000 <= 360 && rich.segments >= 85, "{rich:?}");
}

#[test]
fn requests_over_one_connection_have_rows_and_drawn_sizes() {
    let text = with(
        "[[flows]]\nname = \"api\"\nkind = \"request_response\"\nfrom = \"d1\"\nto = \"s1\"\nthink = \"20 ms\"\ncount = 50\n\
         response = { distribution = \"pareto\", mean = \"20 kB\", shape = 1.5 }\n",
    );
    let rows = transfers(&text);
    assert_eq!(rows.len(), 50);
    assert!(rows.iter().all(|row| row.flow == 0 && row.workload == NONE && row.delivered_bytes == row.size_bytes));
    let mut sizes: Vec<u64> = rows.iter().map(|row| row.size_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    assert!(sizes.len() > 40, "{sizes:?}");
    for pair in rows.windows(2) {
        assert_eq!(pair[1].start_ns - pair[0].finished_ns, 20_000_000, "the think time");
    }
}
