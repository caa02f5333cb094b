//! Memory of idle connections.
#![allow(clippy::unwrap_used, missing_docs)]

use narrows_cc::Params;
use narrows_tcp::{Config, Connection, State};
use narrows_units::{Bytes, Duration, Instant, SeqNum};
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// Limits, in bytes, of the heap that two idle ends hold, congestion controls included, before anything was lost and
/// after.
const FRESH: usize = 2_560;
const AFTER_LOSSES: usize = 3_328;

/// Two ends that have exchanged `segments` segments in windows of up to as many, with a loss if `lossy`, and are idle
/// now.
fn idle_pair(config: &Arc<Config>, segments: u64, lossy: bool) -> [Box<Connection>; 2] {
    let (a, b) = ("10.0.0.1:1".parse().unwrap(), "10.0.0.2:2".parse().unwrap());
    let cc = || narrows_cc::build("cubic", &Params::default()).unwrap();
    let mut ends = [
        Box::new(Connection::connect(Arc::clone(config), cc(), None, a, b, SeqNum::new(1))),
        Box::new(Connection::listen(Arc::clone(config), cc(), None, b, a, SeqNum::new(1))),
    ];
    ends[0].write(Bytes::new(segments * 1448));
    let (mut now, mut sent) = (Instant::ZERO, 0);
    loop {
        now += Duration::from_millis(10);
        let mut wire = Vec::new();
        for (from, end) in ends.iter_mut().enumerate() {
            if end.poll_timeout() <= now {
                end.handle_timeout(now);
            }
            while let Some(packet) = end.poll_transmit(now) {
                sent += 1;
                if !(lossy && sent % 30 == 7) {
                    wire.push((1 - from, packet));
                }
            }
        }
        for (to, packet) in &wire {
            ends[*to].handle_segment(packet, now);
        }
        if wire.is_empty() && ends[0].acked() == Bytes::new(segments * 1448) {
            assert!(ends.iter().all(|end| end.state() == State::Established));
            return ends;
        }
    }
}

#[test]
fn an_idle_pair_of_connections_takes_little_memory() {
    let _profiler = dhat::Profiler::builder().testing().build();
    let held = || dhat::HeapStats::get().curr_bytes;
    let config = Arc::new(Config::default());
    for (segments, lossy, bound) in [(0, false, FRESH), (500, false, FRESH), (500, true, AFTER_LOSSES)] {
        let before = held();
        let pair = idle_pair(&config, segments, lossy);
        let bytes = held() - before;
        assert!(bytes <= bound, "{bytes} bytes after {segments} segments");
        drop(pair);
    }
}
