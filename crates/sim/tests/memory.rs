//! Memory grows with flows and packets in flight, not with simulated time. Packets need no allocation.

#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{BULK, PLAIN, path, scenario};
use narrows_sim::{Options, run};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// Blocks allocated, peak bytes held and packets of a run of the scenario in `text` for this many simulated seconds.
fn cost(text: &str, seconds: u32) -> (u64, usize, u64) {
    let text = text.replace("\"20 s\"", &format!("\"{seconds} s\"\nsampling = \"off\""));
    let scenario = scenario(&text);
    let profiler = dhat::Profiler::builder().testing().build();
    let outcome = run(&scenario, &Options { seed: 1, ..Options::default() }).unwrap();
    let stats = dhat::HeapStats::get();
    drop(profiler);
    (stats.total_blocks, stats.max_bytes, outcome.packets)
}

/// A scenario with an 802.11 channel instead of the last link, with traffic both ways, errors and collisions.
fn wireless(phy: &str) -> String {
    let up = BULK.replace("bulk", "up").replace("kind = \"up\"", "kind = \"bulk\"");
    let up = up.replace("\"A\"", "\"C\"").replace("\"B\"", "\"A\"");
    let wired = path(PLAIN, &format!("{BULK}\n{up}"));
    let last = wired.find("[[links]]\nbetween = [\"R2\", \"B\"]").unwrap();
    let flows = wired.find("[[flows]]").unwrap();
    format!(
        "{}[[nodes]]\nname = \"C\"\n\n[wifi]\nbase = \"R2\"\nstations = [\"B\", \"C\"]\nphy = \"{phy}\"\n\
         errors = [{{ station = \"B\", fer = 0.02 }}, {{ station = \"C\", fer = 0.05 }}]\n\n{}",
        &wired[..last],
        &wired[flows..],
    )
}

/// A dumbbell with one pair of hosts, shared by `flows` flows of this kind.
fn dumbbell(flows: usize, kind: &str) -> String {
    format!(
        "format = 1\nname = \"many\"\nduration = \"20 s\"\n[tcp]\ncc = \"cubic\"\n[topology]\nkind = \"dumbbell\"\npairs = 1\n\
         bottleneck = {{ rate = \"100 Mb/s\", delay = \"10 ms\", queue = {{ limit = \"500 packets\" }} }}\n\
         access = {{ rate = \"1 Gb/s\", delay = \"1 ms\", queue = {{ limit = \"1000 packets\" }} }}\n\
         [[flows]]\nname = \"f\"\nfrom = \"s1\"\nto = \"d1\"\ncopies = {flows}\nstagger = \"1 ms\"\n{kind}"
    )
}

/// Peak bytes that a flow of this kind adds.
fn bytes_per_flow(kind: &str, seconds: u32) -> usize {
    let [few, many] = [100, 600].map(|flows| cost(&dumbbell(flows, kind), seconds).1);
    (many - few) / 500
}

/// Many flows are as small as is stated here; whoever makes them smaller lowers the bounds.
fn flows_are_small() {
    let idle = "kind = \"request_response\"\nresponse = \"1000 B\"\nthink = \"1000 s\"\n";
    let idle = bytes_per_flow(idle, 3);
    assert!(idle < 3_900, "{idle} bytes for an idle flow");
    let busy = bytes_per_flow("", 5);
    assert!(busy < 4_000, "{busy} bytes for a flow that always has data");
}

// One test, because only one profiler can exist at a time.
#[test]
fn packets_are_not_allocated_and_time_and_flows_take_little_memory() {
    flows_are_small();
    let wired = path(&format!("{PLAIN}\nper = 0.001"), BULK);
    for (text, least) in [(wired, 500_000), (wireless("802.11b"), 200_000), (wireless("802.11n"), 500_000)] {
        let (short_blocks, short_bytes, short_packets) = cost(&text, 100);
        let (long_blocks, long_bytes, long_packets) = cost(&text, 400);
        let packets = long_packets - short_packets;
        assert!(packets > least, "{packets}");
        let blocks = long_blocks.saturating_sub(short_blocks);
        assert!(blocks < packets / 1000, "{blocks} allocations for {packets} packets");
        assert!(long_bytes < short_bytes * 3 / 2, "{short_bytes} bytes grew to {long_bytes}");
    }
}
