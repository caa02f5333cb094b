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

// One test, because only one profiler can exist at a time.
#[test]
fn packets_are_not_allocated_and_time_takes_no_memory() {
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
