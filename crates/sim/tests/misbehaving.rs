//! What receivers gain that break the rules: by bytes counted or ACKs counted, with SACK and without, and by ACKs that
//! run ahead.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

mod common;

use common::run_text;

/// Share of a flow with these settings of 20 Mb/s, beside one with the same settings and an honest receiver, in the
/// last 30 s of 40.
fn share(settings: &str, misbehavior: &str) -> f64 {
    let outcome = run_text(&format!(
        "name = \"misbehaving\"\nduration = \"40 s\"\nsampling = \"100 ms\"\nseed = 3\nstart_jitter = \"200 ms\"\n\
         [topology]\nkind = \"dumbbell\"\npairs = 2\n\
         bottleneck = {{ rate = \"20 Mb/s\", delay = \"18 ms\", queue = {{ limit = \"100 kB\" }} }}\n\
         access = {{ rate = \"1 Gb/s\", delay = \"1 ms\" }}\n[tcp]\n{settings}\n\
         [[flows]]\nname = \"taker\"\nfrom = \"s1\"\nto = \"d1\"\ntcp = {{ misbehavior = {misbehavior} }}\n\
         [[flows]]\nname = \"honest\"\nfrom = \"s2\"\nto = \"d2\"\n"
    ));
    let samples = outcome.samples.flows.unpack().unwrap();
    let delivered = |flow: u64| {
        let at = |second: u64| {
            (0..samples.time_ns.len())
                .find(|&i| samples.flow[i] == flow && samples.time_ns[i] >= second * 1_000_000_000)
                .map_or(0, |i| samples.delivered_bytes[i])
        };
        (at(39) - at(10)) as f64
    };
    let share = delivered(0) / (delivered(0) + delivered(1));
    println!("{settings:?} {misbehavior}: {share:.3}");
    share
}

#[test]
fn ack_division_pays_where_acks_are_counted_and_not_where_bytes_are() {
    let divided = "{ ack_division = 10 }";
    let by_acks = "cc = \"reno\"\ncc_params = { increase = \"per_ack\" }";
    assert!(share(by_acks, divided) > 0.65, "RFC 5681, equation 3, for each of ten ACKs");
    for settings in ["cc = \"reno\"", "cc = \"cubic\""] {
        let (taken, fair) = (share(settings, divided), share(settings, "false"));
        assert!(taken < fair + 0.15, "{settings}: {taken} and {fair}");
    }
}

/// cwnd and delivered bytes of a flow alone after 5 s at 20 Mb/s and 40 ms, from a threshold of 30 kB on.
fn alone(settings: &str, misbehavior: &str) -> [f64; 2] {
    let outcome = run_text(&format!(
        "name = \"alone\"\nduration = \"5 s\"\nsampling = \"100 ms\"\n[topology]\nkind = \"dumbbell\"\n\
         bottleneck = {{ rate = \"20 Mb/s\", delay = \"18 ms\", queue = {{ limit = \"5000 packets\" }} }}\n\
         access = {{ rate = \"1 Gb/s\", delay = \"1 ms\" }}\n[tcp]\n{settings}\n\
         [[flows]]\nname = \"taker\"\nfrom = \"s1\"\nto = \"d1\"\ntcp = {{ misbehavior = {misbehavior} }}\n"
    ));
    let samples = outcome.samples.flows.unpack().unwrap();
    let last = |column: &[u64]| *column.last().unwrap() as f64;
    [last(&samples.cwnd_bytes), last(&samples.delivered_bytes)]
}

/// Ten parts of a segment grow the window by as much as the segment.
#[test]
fn windows_grow_as_without_division_in_every_stack() {
    for cc in ["reno", "cubic"] {
        for stack in ["rfc", "linux"] {
            let settings = format!("cc = \"{cc}\"\nstack = \"{stack}\"\ninitial_ssthresh = \"30 kB\"");
            let (divided, fair) = (alone(&settings, "{ ack_division = 10 }"), alone(&settings, "false"));
            println!("{settings:?}: {divided:?} {fair:?}");
            for (divided, fair) in divided.into_iter().zip(fair) {
                assert!((divided / fair - 1.0).abs() < 0.06, "{settings}: {divided} and {fair}");
            }
        }
    }
}

#[test]
fn optimistic_acks_take_the_link_from_senders_that_answer_losses() {
    for settings in ["cc = \"reno\"", "cc = \"cubic\"\nstack = \"linux\""] {
        let taken = share(settings, "{ optimistic_acks = \"50 kB\" }");
        assert!(taken > 0.75, "a sender that learns of no loss never reduces: {settings}: {taken}");
    }
}
