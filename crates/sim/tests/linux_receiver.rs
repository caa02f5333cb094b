//! How Linux's quick ACKs and growing receive window affect senders, compared with Linux 6.1 itself: Debian's 6.1.192
//! in a virtual machine, `netem` as the bottleneck (tc counts 14 bytes of Ethernet and the packet in transmission), one
//! flow.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod common;

use common::*;

/// A receiver without them: a delayed ACK for every second segment, and the whole window at once.
const PLAIN_RECEIVER: &str = "quick_ack = false\nautotuning = false\nrecv_buffer = \"16 MiB\"";

/// cwnd, ssthresh and the peer's window in segments, at each event.
fn windows(cc: &str, (rate, delay, queue): (u64, u64, u64), tcp: &str) -> Vec<(u64, Option<u64>, u64)> {
    // A segment with 1448 bytes of payload takes 1514 bytes on netem's link.
    let rate = rate * 1_000_000 * 1500 / 1514;
    let link =
        format!("rate = \"{rate} b/s\"\ndelay = \"{} ms\"\nqueue = {{ limit = \"{} packets\" }}", delay - 2, queue - 1);
    let text = path(&link, &format!("{BULK}\n[tcp]\nstack = \"linux\"\nkernel = \"linux-6.1\"\ncc = \"{cc}\"\n{tcp}"));
    let text =
        text.replace("duration = \"20 s\"", "duration = \"3 s\"\nsampling = \"events\"").replace("100 Mb/s", "10 Gb/s");
    let flows = run_text(&text).samples.flows.unpack().unwrap();
    let segments = |bytes: u64| bytes / 1448;
    let known = |bytes: u64| (bytes < u64::from(u32::MAX)).then(|| segments(bytes));
    let rows = flows.cwnd_bytes.iter().zip(&flows.ssthresh_bytes).zip(&flows.rwnd_bytes);
    rows.map(|((&cwnd, &ssthresh), &rwnd)| (segments(cwnd), known(ssthresh), segments(rwnd))).collect()
}

/// The window at which slow start ended.
fn exit(cc: &str, net: (u64, u64, u64), tcp: &str) -> u64 {
    windows(cc, net, tcp).iter().find_map(|row| row.1).expect("slow start ends")
}

#[test]
fn hystart_leaves_slow_start_where_linux_does() {
    let nets = [(10, 20, 100), (10, 10, 100), (50, 10, 300), (30, 35, 200), (5, 30, 60), (20, 20, 200)];
    for (net, linux) in nets.into_iter().zip([60, 49, 126, 249, 88, 77]) {
        let ours = exit("cubic", net, "");
        assert!(ours.abs_diff(linux) * 25 <= linux, "{net:?}: {ours} beside {linux}");
    }
    // Without both settings: the gap between two ACKs of two segments each is longer than HyStart's 2 ms at 10 Mb/s.
    assert_eq!(exit("cubic", nets[0], PLAIN_RECEIVER), 96);
    // Both settings matter: window growth keeps the ACKs quick.
    assert_eq!(exit("cubic", nets[0], "autotuning = false"), 96);
}

#[test]
fn vegas_settles_where_linux_does() {
    // Linux: a flight of 80, 78, 77, .. 69 segments in rounds of 80 to 90 ms; BaseRTT is the RTT of a single segment.
    let vegas = |tcp| exit("vegas", (10, 20, 100), tcp);
    assert_eq!((vegas(""), vegas(PLAIN_RECEIVER)), (78, 76));
}

#[test]
fn the_advertised_window_bounds_hybla_s_fast_start() {
    // Linux: 30 Mb/s and 200 ms; the flight per round is 8, 44, 44, 113, 340, 1016 segments, and so is the window.
    let largest = |tcp| windows("hybla", (30, 100, 1000), tcp).iter().map(|row| row.2).max().unwrap();
    assert_eq!(
        largest(""),
        ((3 << 20) - 2304 / 2) / 1448,
        "half of tcp_rmem[2], less the segment that is on its way to the reader"
    );
    assert!(largest(PLAIN_RECEIVER) > 11_000);
    let mut steps: Vec<u64> = windows("hybla", (30, 100, 1000), "").iter().map(|row| row.2).collect();
    steps.dedup();
    assert_eq!(steps[..4], [45, 44, 46, 48]);
    // Later the queue overflows, and data waiting behind gaps takes memory.
    let growth: Vec<u64> =
        steps[1..].windows(2).take_while(|pair| pair[0] < pair[1]).map(|pair| pair[1] - pair[0]).collect();
    assert!(growth.iter().all(|step| *step <= 3) && growth.iter().sum::<u64>() > 2_000, "{growth:?}");
}
