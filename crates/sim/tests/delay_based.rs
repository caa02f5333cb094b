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
        .map(|i| u64::from(q.packets[i]))
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
    let rows: Vec<usize> = (0..f.time_ns.len()).filter(|&r| u64::from(f.flow[r]) == i).collect();
    let at = |t: f64| rows.iter().rev().find(|&&r| f.time_ns[r] as f64 <= t * 1e9).map_or(0, |&r| f.delivered_bytes[r]);
    (at(to) - at(from)) as f64 * 8.0 / (to - from) / 1e6
}

#[test]
fn explore() {
    let with = |params: &str| {
        if params.is_empty() { String::new() } else { format!("tcp = {{ cc_params = {{ {params} }} }}") }
    };
    for (cc, p) in [
        ("copa", ""),
        ("copa", "delta = 0.1"),
        ("copa", "queue_delay = \"latest\""),
        ("copa", "competitive = false"),
        ("cdg", ""),
        ("cdg", "use_tolerance = true"),
        ("nv", ""),
        ("cubic", ""),
        ("reno", ""),
    ] {
        for extra in ["", "per = 0.005"] {
            let o = run_text(&network("12 Mb/s", 40_000, "200 packets", 60, extra, &flow("f", cc, &with(p))));
            let q = queue(&o, 5.0);
            println!(
                "{cc} {p} {extra}: queue mean {:.2} median {} p99 {} max {} use {:.3} rate {:.2}",
                mean(&q),
                q[q.len() / 2],
                q[q.len() * 99 / 100],
                q.last().unwrap(),
                utilisation(&o),
                mbps(&o, 0, 5.0, 60.0)
            );
        }
    }
    for (cc, p) in [
        ("copa", ""),
        ("copa", "competitive = false"),
        ("cdg", ""),
        ("cdg", "use_shadow = false, use_ineff = 0"),
        ("nv", ""),
    ] {
        for other in [cc, "cubic", "reno"] {
            let second = if other == cc { with(p) } else { String::new() };
            let o = run_text(&network(
                "12 Mb/s",
                40_000,
                "80 packets",
                60,
                "",
                &(flow("f", cc, &with(p)) + &flow("g", other, &(second + "\nstart = \"1 s\""))),
            ));
            let q = queue(&o, 5.0);
            println!(
                "{cc} {p} with {other}: queue mean {:.2} max {} rates {:.2} {:.2}",
                mean(&q),
                q.last().unwrap(),
                mbps(&o, 0, 20.0, 60.0),
                mbps(&o, 1, 20.0, 60.0)
            );
        }
    }
    for (cc, p) in [
        ("nv", ""),
        ("nv", "base_rtt = 120"),
        ("swift", "base_target = 150"),
        ("cubic", ""),
        ("swift", "base_target = 120, fs_range = 0"),
    ] {
        for n in [1, 4, 16] {
            let flows: String = (0..n).map(|i| flow(&format!("f{i}"), cc, &with(p))).collect();
            let o = run_text(&network("1 Gb/s", 100, "1000 packets", 3, "", &flows));
            let q = queue(&o, 1.0);
            let rates: Vec<f64> = (0..n).map(|i| mbps(&o, i, 1.0, 3.0)).collect();
            let (s, ss) = (rates.iter().sum::<f64>(), rates.iter().map(|r| r * r).sum::<f64>());
            println!(
                "{cc} {p} x {n}: queue mean {:.2} median {} max {} use {:.3} jain {:.3}",
                mean(&q),
                q[q.len() / 2],
                q.last().unwrap(),
                utilisation(&o),
                s * s / (n as f64 * ss)
            );
        }
    }
}
