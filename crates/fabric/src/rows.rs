//! The counters of links and router agents as rows of samples and totals.

use crate::link::LinkMeter;
use narrows_queue::QueueView;
use narrows_samples::{NONE, QueueRow, QueueTotal, RouterRow, RouterTotal};
use narrows_scheme::{AgentCounters, FlowCounts};
use narrows_units::{Bytes, Duration, Instant};

/// A queue at one time; `index` is its number in `queue_totals`.
#[must_use]
pub fn queue_row(now: Instant, index: usize, view: &QueueView, meter: &LinkMeter) -> QueueRow {
    QueueRow {
        time_ns: now.as_nanos(),
        queue: index as u64,
        bytes: view.bytes.as_u64(),
        packets: view.packets.as_u64(),
        forwarded_bytes: meter.forwarded_bytes,
        forwarded_packets: meter.forwarded_packets,
        dropped_overflow: meter.dropped_overflow,
        dropped_early: meter.dropped_early,
        dropped_forced: meter.dropped_forced,
        corrupted: meter.corrupted,
        marked: meter.marked,
    }
}

/// A queue over the whole run: `unsent` is the part of the current transmission that falls after the end.
#[must_use]
pub fn queue_total(view: &QueueView, meter: &LinkMeter, unsent: (Duration, Bytes), capacity_bits: u64) -> QueueTotal {
    let (unsent_time, unsent_bytes) = unsent;
    QueueTotal {
        arrived_packets: meter.arrived_packets,
        forwarded_bytes: meter.forwarded_bytes,
        forwarded_packets: meter.forwarded_packets,
        dropped_overflow: meter.dropped_overflow,
        dropped_early: meter.dropped_early,
        dropped_forced: meter.dropped_forced,
        corrupted: meter.corrupted,
        marked: meter.marked,
        waiting_packets: view.packets.as_u64(),
        busy_ns: (meter.busy - unsent_time).as_nanos(),
        unsent_bytes: unsent_bytes.as_u64(),
        delay_samples: meter.delay.count(),
        delay_sum_ns: meter.delay.sum(),
        delay_max_ns: meter.delay.max(),
        delay_p50_ns: meter.delay.percentile(0.50),
        delay_p95_ns: meter.delay.percentile(0.95),
        max_packets: meter.max_packets,
        max_bytes: meter.max_bytes,
        capacity_bits,
    }
}

/// A router agent at one time; `index` is its number in `router_totals`.
#[must_use]
pub fn router_row(now: Instant, index: usize, flow_counts: &FlowCounts) -> RouterRow {
    RouterRow {
        time_ns: now.as_nanos(),
        router: index as u64,
        flows: flow_counts.flows,
        flows_normal: flow_counts.normal,
        flows_freeze: flow_counts.freeze,
        flows_fallback: flow_counts.fallback,
        window_bytes: flow_counts.window.map_or(NONE, Bytes::as_u64),
    }
}

/// A router agent over the whole run.
#[must_use]
pub const fn router_total(counters: &AgentCounters) -> RouterTotal {
    let &AgentCounters { asked, wrote_freeze, wrote_fallback, inserted, lowered, kept, full, malformed, unsupported } =
        counters;
    RouterTotal { asked, wrote_freeze, wrote_fallback, inserted, lowered, kept, full, malformed, unsupported }
}
