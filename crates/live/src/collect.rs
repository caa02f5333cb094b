//! What the kernel, the applications and the network each know of a flow, put together as one row.

use crate::books::{Books, Track};
use crate::traffic::FlowRecord;
use narrows_samples::{FlowTotal, Histogram, NONE, Samples};
use narrows_scenario::Scenario;

/// Puts the flows' rows and totals into `samples`. `rtts` has each flow's round-trip times, in nanoseconds.
///
/// Of a flow's data direction the network knows what arrived and what was lost, exactly; a row of samples gets both as they were at its
/// time, to the millisecond.
pub(crate) fn flows(
    scenario: &Scenario,
    records: Vec<FlowRecord>,
    rtts: &[Histogram],
    books: &Books,
    samples: &mut Samples,
) {
    samples.flow_names = scenario.flows.iter().map(|flow| flow.name.clone()).collect();
    let mut rows = Vec::new();
    for (index, record) in records.into_iter().enumerate() {
        let track = books.tracks.get(index).map_or(&[][..], Vec::as_slice);
        let mut at = 0;
        for mut row in record.rows {
            while track.get(at + 1).is_some_and(|next| next.at.as_nanos() <= row.time_ns) {
                at += 1;
            }
            if let Some(Track { arrived_bytes, lost_packets, .. }) = track.get(at).copied() {
                (row.arrived_bytes, row.lost_packets) = (arrived_bytes, lost_packets);
            }
            rows.push(row);
        }
        samples.flow_totals.push(&total(record.total, rtts.get(index), books, index));
    }
    // Samples come in order of time, as a simulation has them.
    rows.sort_by_key(|row| (row.time_ns, row.flow));
    rows.iter().for_each(|row| samples.flows.push(row));
}

fn total(mut total: FlowTotal, rtt: Option<&Histogram>, books: &Books, index: usize) -> FlowTotal {
    if let Some(meter) = books.meters.get(index) {
        total.arrived_bytes = meter.arrived_bytes;
        total.arrived_packets = meter.arrived_packets;
        total.lost_packets = meter.lost_packets;
        total.max_bin_bytes = meter.max_bin_bytes();
    }
    if let Some(rtt) = rtt.filter(|rtt| rtt.count() > 0) {
        // The kernel's own minimum has seen every sample, also those before the first record.
        let least = if total.rtt_min_ns == NONE { rtt.min() } else { total.rtt_min_ns.min(rtt.min()) };
        total.rtt_samples = rtt.count();
        total.rtt_sum_ns = rtt.sum();
        total.rtt_min_ns = least;
        total.rtt_max_ns = rtt.max();
        total.rtt_p50_ns = rtt.percentile(0.50);
        total.rtt_p95_ns = rtt.percentile(0.95);
        total.rtt_p99_ns = rtt.percentile(0.99);
    }
    total
}
