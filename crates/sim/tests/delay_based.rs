//! Controls by delay end to end: what their papers promise of queues, of shares and of losses.
//!
//! The bottleneck's queue is measured at samples 2 ms apart, after the start-up.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, missing_docs)]

mod common;

use common::run_text;
use narrows_sim::Outcome;

/// Segments of 1448 octets on a path of `rate` and `rtt_us`, whose bottleneck has a queue of `limit` and the further
/// keys `extra`, for `flows`.
fn network(rate: &str, rtt_us: u64, limit: &str, seconds: u64, extra: &str, flows: &str) -> String {
    let edge = "rate = \"100 Gb/s\"\ndelay = \"0 ms\"\nqueue = { kind = \"droptail\", limit = \"100000 packets\" }\n";
    let delay = rtt_us / 2;
    format!(
        "format = 1\nname = \"delay\"\nduration = \"{seconds} s\"\nsampling = \"2 ms\"\n[tcp]\nmss = \"1448 B\"\n[[nodes]]\nname = \
         \"A\"\n[[nodes]]\nname = \"R1\"\nkind = \"router\"\n[[nodes]]\nname = \"R2\"\nkind = \"router\"\n[[nodes]]\nname = \"B\"\n[[links]]\nbetween = [\"A\", \
         \"R1\"]\n{edge}[[links]]\nbetween = [\"R1\", \"R2\"]\nrate = \"{rate}\"\ndelay = \"{delay} us\"\nqueue = {{ kind = \"droptail\", limit = \
         \"{limit}\" }}\n{extra}\n[[links]]\nbetween = [\"R2\", \"B\"]\n{edge}{flows}"
    )
}

fn flow(name: &str, cc: &str, more: &str) -> String {
    format!("[[flows]]\nname = \"{name}\"\nfrom = \"A\"\nto = \"B\"\ncc = \"{cc}\"\nkind = \"bulk\"\n{more}\n")
}

/// The bottleneck's queue in packets at the samples after `from` seconds, sorted.
fn queue(outcome: &Outcome, from: f64) -> Vec<u64> {
    let q = outcome.samples.queues.unpack().unwrap();
    let mut packets: Vec<u64> = (0..q.time_ns.len())
        .filter(|&i| q.queue[i] == 2 && q.time_ns[i] as f64 > from * 1e9)
        .map(|i| q.packets[i])
        .collect();
    packets.sort_unstable();
    packets
}

fn mean(values: &[u64]) -> f64 {
    values.iter().sum::<u64>() as f64 / values.len().max(1) as f64
}

/// Share of the bottleneck's capacity that was used.
fn utilisation(outcome: &Outcome) -> f64 {
    let q = outcome.samples.queue_totals.row(2).unwrap();
    q.forwarded_bytes as f64 * 8.0 / q.capacity_bits as f64
}

/// Payload rate of flow `i` between two times, in Mb/s.
fn mbps(outcome: &Outcome, i: u64, from: f64, to: f64) -> f64 {
    let f = outcome.samples.flows.unpack().unwrap();
    let rows: Vec<usize> = (0..f.time_ns.len()).filter(|&r| f.flow[r] == i).collect();
    let at = |t: f64| rows.iter().rev().find(|&&r| f.time_ns[r] as f64 <= t * 1e9).map_or(0, |&r| f.delivered_bytes[r]);
    (at(to) - at(from)) as f64 * 8.0 / (to - from) / 1e6
}

/// A flow with these parameters of its control.
fn tuned(name: &str, cc: &str, params: &str, start: &str) -> String {
    flow(name, cc, &format!("start = \"{start}\"\ntcp = {{ cc_params = {{ {params} }} }}"))
}

/// `n` flows of one control.
fn several(n: u64, cc: &str, params: &str) -> String {
    (0..n).map(|i| tuned(&format!("f{i}"), cc, params, "0 s")).collect()
}

/// Jain's index of the first `n` flows' rates between two times.
fn jain(outcome: &Outcome, n: u64, from: f64, to: f64) -> f64 {
    let rates: Vec<f64> = (0..n).map(|i| mbps(outcome, i, from, to)).collect();
    let (sum, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|rate| rate * rate).sum::<f64>());
    sum * sum / (n as f64 * squares)
}

#[test]
fn copa_s_queue_swings_between_zero_and_two_and_a_half_packets_of_delta() {
    // Section 3 of the paper: in equilibrium the queue of one flow swings from 0 to 2.5/delta packets.
    for (delta, packets) in [("0.5", 2.0), ("0.1", 10.0)] {
        let params = format!("competitive = false, delta = {delta}");
        let o = run_text(&network("12 Mb/s", 40_000, "200 packets", 40, "", &several(1, "copa", &params)));
        let q = queue(&o, 10.0);
        let (mean, most, used) = (mean(&q), *q.last().unwrap(), utilisation(&o));
        println!("copa, delta {delta}: {mean:.2} packets, at most {most}, {used:.3} used");
        assert!(q[0] as f64 <= 0.25 * packets, "the queue is nearly empty: {}", q[0]);
        assert!((0.75 * packets..1.75 * packets).contains(&mean), "{mean} packets, want 1.25 of {packets}");
        assert!(most as f64 <= 2.5 * packets + 2.0, "{most} packets");
        assert!(used > 0.97, "{used}");
    }
}

#[test]
fn copa_flows_share_equally_and_add_their_queues() {
    let o = run_text(&network("12 Mb/s", 40_000, "200 packets", 60, "", &several(2, "copa", "competitive = false")));
    let q = queue(&o, 10.0);
    println!("two of copa: {:.2} packets, at most {}", mean(&q), q.last().unwrap());
    assert!(jain(&o, 2, 20.0, 60.0) > 0.98, "{}", jain(&o, 2, 20.0, 60.0));
    assert!((2.0..8.0).contains(&mean(&q)), "{}", mean(&q));
    assert!(*q.last().unwrap() <= 14, "{:?}", q.last());
}

#[test]
fn copa_s_competitive_mode_gets_its_share_beside_cubic() {
    let share = |params: &str| {
        let flows = tuned("f", "copa", params, "0 s") + &flow("g", "cubic", "start = \"1 s\"");
        let o = run_text(&network("12 Mb/s", 40_000, "80 packets", 60, "", &flows));
        mbps(&o, 0, 20.0, 60.0) / (mbps(&o, 0, 20.0, 60.0) + mbps(&o, 1, 20.0, 60.0))
    };
    let (with, without) = (share("competitive = true"), share("competitive = false"));
    println!("copa beside cubic: {with:.2} of the capacity, {without:.2} without the competitive mode");
    assert!((0.35..0.7).contains(&with), "{with}");
    assert!(without < 0.15, "{without}");
}

#[test]
fn copa_s_default_mode_does_not_mind_random_losses() {
    let run = |cc: &str| {
        let o = run_text(&network("12 Mb/s", 40_000, "200 packets", 40, "per = 0.01", &flow("f", cc, "")));
        mbps(&o, 0, 10.0, 40.0)
    };
    let (copa, reno) = (run("copa"), run("reno"));
    println!("1 % of loss: copa {copa:.2}, reno {reno:.2} Mb/s");
    assert!(copa > 11.0 && reno < 4.0, "{copa} and {reno}");
}

#[test]
fn cdg_keeps_the_queue_short_without_a_threshold() {
    let run = |cc: &str| {
        let o = run_text(&network("12 Mb/s", 40_000, "200 packets", 60, "", &flow("f", cc, "")));
        (mean(&queue(&o, 5.0)), utilisation(&o))
    };
    let ((cdg, used), (reno, _)) = (run("cdg"), run("reno"));
    println!("cdg: {cdg:.2} packets, {used:.3} used; reno {reno:.2} packets");
    assert!(cdg < 0.05 * reno && used > 0.85, "{cdg} and {reno} packets, {used}");
}

#[test]
fn cdg_with_tolerance_is_faster_under_random_losses() {
    let run = |params: &str| {
        let flows = several(1, "cdg", params);
        let o = run_text(&network("12 Mb/s", 40_000, "200 packets", 60, "per = 0.005", &flows));
        mbps(&o, 0, 5.0, 60.0)
    };
    let (with, without) = (run("use_tolerance = true"), run("use_tolerance = false"));
    println!("0.5 % of loss: {with:.2} Mb/s with the tolerance, {without:.2} without");
    assert!(with > 1.3 * without, "{with} and {without}");
}

#[test]
fn cdg_s_heuristics_for_coexistence_give_it_more_beside_reno() {
    let run = |params: &str| {
        let flows = tuned("f", "cdg", params, "0 s") + &flow("g", "reno", "start = \"1 s\"");
        let o = run_text(&network("12 Mb/s", 40_000, "80 packets", 60, "", &flows));
        mbps(&o, 0, 20.0, 60.0)
    };
    let (with, without) = (run("use_shadow = true"), run("use_shadow = false, use_ineff = 0"));
    println!("cdg beside reno: {with:.2} Mb/s, {without:.2} as a scavenger");
    assert!(with > 1.5 * without, "{with} and {without}");
}

#[test]
fn nv_keeps_ten_segments_of_each_flow_in_the_queue() {
    // A path of 1 Gb/s and 100 us holds 8 packets; nv_pad allows 10 more of each flow.
    for (n, params, range) in
        [(1, "nv_pad = 10", 9.0..11.0), (1, "nv_pad = 20", 18.0..21.0), (4, "base_rtt = 120", 32.0..41.0)]
    {
        let o = run_text(&network("1 Gb/s", 100, "1000 packets", 3, "", &several(n, "nv", params)));
        let q = queue(&o, 1.0);
        println!("{n} of nv, {params}: {:.2} packets, at most {}", mean(&q), q.last().unwrap());
        assert!(range.contains(&mean(&q)), "{params}: {}", mean(&q));
        assert!(utilisation(&o) > 0.99 && jain(&o, n, 1.0, 3.0) > 0.95, "{params}");
    }
}

#[test]
fn swift_holds_its_target_with_windows_below_a_segment() {
    // 100 us without a queue; the target is 150 us and up to 100 us more for small windows.
    for n in [1, 4, 32] {
        let text = network("1 Gb/s", 100, "1000 packets", 3, "", &several(n, "swift", "base_target = 150"));
        let o = run_text(&text.replace("[tcp]\n", "[tcp]\ndelayed_ack = false\n"));
        let q = queue(&o, 1.0);
        let (most, used, fair) = (*q.last().unwrap(), utilisation(&o), jain(&o, n, 1.0, 3.0));
        println!("{n} of swift: {:.2} packets, at most {most}, {used:.3} used, Jain {fair:.3}", mean(&q));
        // 150 us of 1 Gb/s are 12.5 packets.
        assert!(mean(&q) < 12.5 && used > 0.85 && fair > 0.9, "{n}: {} packets, {used} used, Jain {fair}", mean(&q));
    }
}
