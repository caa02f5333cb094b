//! DCTCP over a queue that marks above a threshold: the queue stays around it, nothing is lost, the link is full.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod common;

use common::{path, run_text};
use narrows_sim::Outcome;

/// Marking threshold K, in packets.
const K: u64 = 40;

/// RED that marks every packet which finds `K` or more waiting (up to 2 K, where it would drop): the average is the
/// current queue length, and both thresholds lie between the same two lengths.
fn step() -> String {
    let below = K as f64 - 0.5;
    format!(
        r#"rate = "50 Mb/s"
delay = "1 ms"
queue = {{ kind = "red", limit = "500 packets", min_threshold = {below}, max_threshold = {K}, weight = 1, max_p = 1, gentle = true, wait = false, ecn = true }}"#
    )
}

/// Two bulk flows with these TCP settings for five seconds, sampled every millisecond.
fn run(tcp: &str) -> Outcome {
    let flow = |name, start| {
        format!(
            "[[flows]]\nname = \"{name}\"\nfrom = \"A\"\nto = \"B\"\nkind = \"bulk\"\nstart = \"{start} ms\"\ntcp = {{ {tcp} }}\n"
        )
    };
    let text = path(&step(), &(flow("one", 0) + &flow("two", 1)));
    run_text(&text.replace("duration", "sampling = \"1 ms\"\nduration").replace("20 s", "5 s"))
}

/// The relative size of each reduction of the first flow's window, after the flow has settled.
fn cuts(outcome: &Outcome) -> Vec<f64> {
    let flows = outcome.samples.flows.unpack().unwrap();
    let of_first = |i: &usize| flows.flow[*i] == 0 && flows.time_ns[*i] > 1_000_000_000;
    let windows: Vec<f64> = (0..flows.flow.len()).filter(of_first).map(|i| flows.cwnd_bytes[i] as f64).collect();
    windows.windows(2).filter(|w| w[1] < w[0]).map(|w| 1.0 - w[1] / w[0]).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Index of the bottleneck's queue, from left to right.
const BOTTLENECK: usize = 2;

#[test]
fn dctcp_keeps_the_queue_around_the_threshold_and_loses_nothing() {
    let cases = ["rfc8257", "linux"].into_iter().flat_map(|profile| [(profile, "true"), (profile, "\"accurate\"")]);
    for (profile, ecn) in cases {
        // With Linux's unlimited slow start the first overshoot ends beyond 2 K, where RED drops.
        let outcome =
            run(&format!("cc = \"dctcp\", ecn = {ecn}, cc_params = {{ profile = \"{profile}\", abc_limit = 1 }}"));
        let queue = outcome.samples.queue_totals.row(BOTTLENECK).unwrap();
        assert_eq!(queue.dropped_overflow + queue.dropped_early + queue.dropped_forced, 0, "{profile}");
        for i in 0..2 {
            let flow = outcome.samples.flow_totals.row(i).unwrap();
            let repairs = flow.lost_packets + flow.retransmitted_packets + flow.timeouts + flow.fast_retransmits;
            assert_eq!((repairs, flow.ecn_reductions > 20), (0, true), "{profile}: {}", flow.ecn_reductions);
        }
        // 1500 bytes take 0.24 ms at 50 Mb/s.
        let median = queue.delay_p50_ns as f64 / 240_000.0;
        assert!((0.75 * K as f64..1.1 * K as f64).contains(&median), "{profile}: {median} packets");
        assert!(queue.delay_p95_ns as f64 / 240_000.0 < 1.25 * K as f64, "{profile}");
        let used = queue.busy_ns as f64 / 5e9;
        assert!(used > 0.985, "{profile}: {used} of the link");
        // A cut is half of alpha.
        let alpha = 2.0 * mean(&cuts(&outcome));
        assert!(alpha > 0.02 && alpha < 0.5, "{profile}: alpha is about {alpha}");
    }
}

#[test]
fn reno_on_the_same_queue_halves() {
    let outcome = run("cc = \"reno\", ecn = true");
    let cut = mean(&cuts(&outcome));
    assert!(cut > 0.3, "{cut}");
    let queue = outcome.samples.queue_totals.row(BOTTLENECK).unwrap();
    assert!(queue.delay_p50_ns as f64 / 240_000.0 < 0.75 * K as f64, "and so the queue is far below the threshold");
}

#[test]
fn bbr_version_3_with_ecn_takes_fewer_marks() {
    // The round-trip time is 6 ms, above the default of `ecn_max_rtt`. Marks bound the data in flight and not the
    // bandwidth.
    let of = |params: &str| {
        let outcome = run(&format!("cc = \"bbr3\", ecn = \"accurate\", cc_params = {{ {params} }}"));
        let queue = outcome.samples.queue_totals.row(BOTTLENECK).unwrap();
        (queue.marked, queue.busy_ns as f64 / 5e9)
    };
    let ((on, used), (off, _)) = (of("ecn = true, ecn_max_rtt = 10"), of("ecn = false"));
    assert!(used > 0.98 && on > 0 && 4 * on < 3 * off, "{on} and {off} marks, {used}");
}
