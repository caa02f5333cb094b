//! Memory grows with flows and packets in flight, not with simulated time; packets cost no allocation.

#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{BULK, PLAIN, path, scenario};
use narrows_sim::{Options, run};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// Blocks allocated and the most bytes held during a run of so many simulated seconds.
fn cost(seconds: u32) -> (u64, usize, u64) {
    let text = path(&format!("{PLAIN}\nper = 0.001"), BULK)
        .replace("\"20 s\"", &format!("\"{seconds} s\"\nsampling = \"off\""));
    let scenario = scenario(&text);
    let profiler = dhat::Profiler::builder().testing().build();
    let outcome = run(&scenario, &Options { seed: 1, ..Options::default() }).unwrap();
    let stats = dhat::HeapStats::get();
    drop(profiler);
    (stats.total_blocks, stats.max_bytes, outcome.packets)
}

#[test]
fn packets_are_not_allocated_and_time_takes_no_memory() {
    let (short_blocks, short_bytes, short_packets) = cost(100);
    let (long_blocks, long_bytes, long_packets) = cost(400);
    let packets = long_packets - short_packets;
    assert!(packets > 500_000);
    let blocks = long_blocks.saturating_sub(short_blocks);
    assert!(blocks < packets / 1000, "{blocks} allocations for {packets} packets");
    assert!(long_bytes < short_bytes * 3 / 2, "{short_bytes} bytes grew to {long_bytes}");
}
