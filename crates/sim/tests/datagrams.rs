//! Datagrams: their one-way delays, order, frames and pauses, and the two flows of a call.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod common;

use common::{assert_conserved, scenario};
use narrows_samples::{DatagramTotal, FlowTotal, NONE};
use narrows_sim::{Options, Outcome, run};
use proptest::prelude::*;

/// A line of 1 Gb/s and 1 ms, then one of 10 Mb/s and 10 ms with these settings.
fn text(link: &str, flows: &str) -> String {
    format!(
        "name = \"datagrams\"\nduration = \"10 s\"\nsampling = \"100 ms\"\n\
         nodes = [{{ name = \"a\" }}, {{ name = \"r\", kind = \"router\" }}, {{ name = \"b\" }}]\n\
         [[links]]\nbetween = [\"a\", \"r\"]\nrate = \"1 Gb/s\"\ndelay = \"1 ms\"\n\
         [[links]]\nbetween = [\"r\", \"b\"]\nrate = \"10 Mb/s\"\ndelay = \"10 ms\"\n{link}\n{flows}"
    )
}

/// The outcome, which both loops have.
fn both(link: &str, flows: &str) -> Outcome {
    let scenario = scenario(&text(link, flows));
    let with = |plain_loop| run(&scenario, &Options { seed: 1, plain_loop, ..Options::default() }).unwrap();
    let (lazy, plain) = (with(false), with(true));
    assert_eq!(lazy.samples, plain.samples, "{link}");
    assert_eq!(lazy.digest(), plain.digest(), "{link}");
    assert_conserved(&lazy);
    lazy
}

fn datagrams(outcome: &Outcome, row: usize) -> DatagramTotal {
    outcome.samples.datagram_totals.row(row).unwrap()
}

fn flow(outcome: &Outcome, row: usize) -> FlowTotal {
    outcome.samples.flow_totals.row(row).unwrap()
}

/// 200 datagrams of 172 B a second until `stop`.
const AUDIO: &str = "[[flows]]\nname = \"audio\"\nfrom = \"a\"\nto = \"b\"\nkind = \"udp\"\nrate = \"320 kb/s\"\n\
                     payload = \"172 B\"\nstop = \"9 s\"\n";

#[test]
fn an_empty_path_gives_every_datagram_the_same_delay() {
    let total = datagrams(&both("", AUDIO), 0);
    // 200 B at 1 Gb/s and at 10 Mb/s, 1 ms and 10 ms.
    let delay = 1_600 + 160_000 + 11_000_000;
    assert_eq!((total.delay_samples, total.delay_min_ns, total.delay_max_ns), (1_800, delay, delay));
    assert_eq!((total.delay_sum_ns, total.jitter_ns), (1_800 * delay, 0));
    assert_eq!((total.late_packets, total.duplicate_packets, total.frames), (0, 0, NONE));
}

#[test]
fn an_offset_delays_and_reordering_makes_datagrams_late() {
    let total = datagrams(&both("forward.reorder = { delay = \"12 ms\", gap = 10, selected = \"behind\" }", AUDIO), 0);
    // Each tenth waits 12 ms, two intervals of 5 ms and more. Nothing follows the last one.
    assert_eq!((total.late_packets, total.duplicate_packets), (179, 0));
    assert_eq!(total.delay_max_ns - total.delay_min_ns, 12_000_000);
    assert!(total.jitter_ns > 1_000_000, "{}", total.jitter_ns);
}

#[test]
fn copies_are_counted_and_have_no_delay_of_their_own() {
    let outcome = both("forward.duplicate = 1", AUDIO);
    let total = datagrams(&outcome, 0);
    assert_eq!((total.delay_samples, total.duplicate_packets, total.late_packets), (1_800, 1_800, 0));
}

#[test]
fn frames_are_cut_and_are_complete_with_all_their_datagrams() {
    let frames = "[[flows]]\nname = \"camera\"\nfrom = \"a\"\nto = \"b\"\nkind = \"frames\"\nrate = \"2 Mb/s\"\n\
                  frame_rate = 25\nstop = \"8 s\"\n";
    let still = both("", frames);
    let total = datagrams(&still, 0);
    // 10,000 B of media in 9 datagrams with at most 1188 B of it each.
    assert_eq!((total.frames, total.complete_frames, total.delay_samples), (200, 200, 1_800));
    // The last one waits for the eight before it; all leave the first line at once.
    assert!(total.frame_delay_p50_ns > total.delay_min_ns + 7_000_000, "{total:?}");
    assert!(total.frame_delay_p50_ns.abs_diff(total.delay_max_ns) < total.delay_max_ns / 100, "{total:?}");
    let lossy = both("forward.per = 0.05", frames);
    let (lost, total) = (flow(&lossy, 0).lost_packets, datagrams(&lossy, 0));
    assert!(lost > 50 && total.delay_samples + lost == 1_800, "{lost} {total:?}");
    let incomplete = total.frames - total.complete_frames;
    // 1 - 0.95^9 = 37 % of frames.
    assert!(incomplete <= lost && (50..100).contains(&incomplete), "{incomplete}");
    let small = frames.replace("2 Mb/s", "100 kb/s");
    assert_eq!(datagrams(&both("", &small), 0).delay_samples, 200, "500 B of media in one datagram");
}

#[test]
fn a_call_is_audio_up_and_frames_down() {
    let outcome = both("", "[[flows]]\nname = \"call\"\nfrom = \"a\"\nto = \"b\"\nkind = \"call\"\nstop = \"9 s\"\n");
    assert_eq!(outcome.samples.flow_names, ["call-up", "call-down"]);
    let (up, down) = (datagrams(&outcome, 0), datagrams(&outcome, 1));
    // 64 kb/s in 20 ms are 160 B: with RTP, UDP and IP 200 B, 50 times a second.
    assert_eq!((up.delay_samples, up.delay_max_ns, up.frames), (450, 11_161_600, NONE));
    assert_eq!(flow(&outcome, 0).arrived_bytes, 450 * 200);
    // 1.5 Mb/s at 30 frames a second: 6250 B in six datagrams.
    assert_eq!((down.frames, down.complete_frames, down.delay_samples), (270, 270, 270 * 6));
    assert_eq!(flow(&outcome, 1).arrived_bytes, 270 * (6_250 + 6 * 40));
}

#[test]
fn pauses_leave_the_share_of_the_on_times() {
    let pauses = |more: &str| {
        let flows = AUDIO.to_owned() + "on = \"100 ms\"\noff = \"200 ms\"\n" + more;
        datagrams(&both("", &flows), 0).delay_samples
    };
    // 30 periods of 300 ms, each with 20 datagrams.
    assert_eq!(pauses("distribution = \"constant\"\n"), 600);
    let drawn = pauses("distribution = \"exponential\"\n");
    assert!((350..900).contains(&drawn) && drawn != 600, "{drawn}");
}

#[test]
fn short_payloads_have_no_number_and_so_no_delays() {
    let outcome = both("", &AUDIO.replace("172 B", "11 B").replace("320 kb/s", "62400 b/s"));
    assert_eq!(outcome.samples.datagram_totals.row(0), None);
    assert_eq!(flow(&outcome, 0).arrived_packets, 1_800);
}

#[test]
fn the_digest_tells_delays_of_frames() {
    let frames = "[[flows]]\nfrom = \"a\"\nto = \"b\"\nkind = \"frames\"\nrate = \"2 Mb/s\"\n";
    let digest = |link: &str| both(link, frames).digest().unwrap();
    assert_ne!(digest(""), digest("forward.delay = \"10.001 ms\""));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// What was sent arrived once, was lost, or was under way; every frame that is complete arrived whole.
    #[test]
    fn datagrams_are_conserved(
        per in 0.0..0.3, duplicate in 0.0..0.3, jitter in 0_u32..40, frame_rate in 1_u32..200, rate in 100_u32..12_000,
    ) {
        let link = format!("forward.per = {per}\nforward.duplicate = {duplicate}\nforward.jitter = \"{jitter} ms\"");
        let flows = format!(
            "[[flows]]\nfrom = \"a\"\nto = \"b\"\nkind = \"frames\"\nrate = \"{rate} kb/s\"\nframe_rate = {frame_rate}\n\
             stop = \"2 s\"\n"
        );
        let outcome = both(&link, &flows);
        let (total, flow) = (datagrams(&outcome, 0), flow(&outcome, 0));
        prop_assert_eq!(total.delay_samples + total.duplicate_packets, flow.arrived_packets);
        prop_assert!(total.delay_samples <= flow.sent_packets);
        prop_assert!(total.complete_frames <= total.frames && total.frames <= 2 * u64::from(frame_rate) + 1);
        prop_assert!(total.delay_min_ns <= total.delay_p50_ns && total.delay_p99_ns <= total.delay_max_ns);
    }
}
