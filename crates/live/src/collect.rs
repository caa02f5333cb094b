//! Combines what the kernel, the applications and the network each know of a flow.

use crate::clock::Clock;
use crate::counters::{NetworkCounters, Track};
use crate::netstat::Netstat;
use crate::scheme_counters::SchemeCounters;
use crate::trace::{Event, FlowTrace, Record, Traced};
use crate::traffic::FlowRecord;
use narrows_fabric::{End, Transfers, playback_row};
use narrows_samples::{FLOW_COUNTERS, FlowRow, FlowTotal, Histogram, NONE, Samples};
use narrows_scenario::{Sampling, Scenario};
use narrows_units::{Bytes, Instant};

/// What is known of the flows of a run.
pub(crate) struct Known<'a> {
    pub(crate) scenario: &'a Scenario,
    /// What applications and sockets report, by flow.
    pub(crate) records: Vec<FlowRecord>,
    /// The records of the kernel's tracepoints, if there are any.
    pub(crate) traced: Option<Traced>,
    /// What the kernels of the senders' hosts have counted, by flow.
    pub(crate) netstat: Vec<Option<Netstat>>,
    /// The scheme's counters over time.
    pub(crate) scheme_counters: SchemeCounters,
    /// The scheme's counters over the whole run, by flow, if they are not those of the last time.
    pub(crate) scheme_totals: Vec<Option<[u64; FLOW_COUNTERS]>>,
    pub(crate) clock: Clock,
    pub(crate) counters: NetworkCounters,
}

/// Writes the flows' rows and totals to `samples`.
///
/// The network knows exactly what arrived and what was lost in a flow's data direction. A row of samples has both as
/// they were at its time, to the millisecond. Round-trip times are the kernel's samples, one per ACK, if there are
/// tracepoints. Otherwise, and after the sender has closed, they are the kernel's smoothed values at each read of
/// `TCP_INFO` at which more was delivered than before.
pub(crate) fn flows(known: Known<'_>, samples: &mut Samples) {
    let Known { scenario, records, traced, netstat, scheme_counters, scheme_totals, clock, mut counters } = known;
    samples.flow_names = scenario.listed().map(|flow| flow.name.clone()).collect();
    let mut rows = Vec::new();
    let mut states = Vec::new();
    let mut records = records;
    transfers(scenario, &mut records, samples);
    records.truncate(samples.flow_names.len());
    for (index, mut record) in records.into_iter().enumerate() {
        states.push(std::mem::take(&mut record.states));
        record.rows.extend(closing_row(scenario, &record, index));
        let trace = traced.as_ref().and_then(|traced| traced.flows.get(index)).filter(|t| !t.records.is_empty());
        let traced = trace.map_or(&[][..], |trace| trace.records.as_slice());
        let mut of_flow = match trace {
            Some(trace) if scenario.sampling == Sampling::Events => by_ack(trace, &record.rows, index, clock),
            _ => with_round_trips(record.rows, traced, clock),
        };
        with_network(&mut of_flow, counters.tracks.get(index).map_or(&[][..], Vec::as_slice));
        scheme_counters.fill(&mut of_flow, index);
        rows.append(&mut of_flow);
        let mut total =
            total(record.total, &round_trips(&record.srtt, &record.closing, trace), trace, &counters, index);
        if let Some(counted) = netstat.get(index).copied().flatten() {
            total.spurious = counted.spurious;
            total.timeouts = if total.timeouts == NONE { counted.timeouts } else { total.timeouts };
        }
        let whole = scheme_totals.get(index).copied().flatten();
        total.counters = whole.unwrap_or_else(|| scheme_counters.last(index));
        samples.flow_totals.push(&total);
    }
    // Samples are in order of time, as in a simulation.
    rows.sort_by_key(|row| (row.time_ns, row.flow));
    rows.iter().for_each(|row| samples.flows.push(row));
    if let Some(sampler) = counters.states.take() {
        sampler.finish(scenario, &states, samples);
    }
}

/// Adds the transfers of workloads, the requests of flows, and what video players did. Of a connection the kernel's
/// counters are known while it exists.
fn transfers(scenario: &Scenario, records: &mut [FlowRecord], samples: &mut Samples) {
    let mut made = Transfers::new(scenario);
    let (end, listed) = (Instant::ZERO + scenario.duration, samples.flow_names.len());
    for index in (listed..records.len()).chain(0..listed) {
        let Some(record) = records.get_mut(index) else { continue };
        let known = |value: u64| (value != NONE).then_some(value);
        let total = &record.total;
        let ended = End {
            finished: known(total.finished_ns).map(Instant::from_nanos),
            delivered: Bytes::new(total.delivered_bytes),
            retransmitted_packets: known(total.retransmitted_packets),
            timeouts: known(total.timeouts),
        };
        made.rows((index, record.start), &record.source, ended, |row| samples.transfers.push(row));
        if let Some(total) = record.datagrams.filter(|_| index < listed) {
            samples.datagram_totals.push(&total);
        }
        if let Some(told) = record.source.playback(end) {
            samples.playback_totals.push(&playback_row(index, &told));
        }
    }
    samples.workload_names = scenario.workloads.iter().map(|of| of.flow.name.clone()).collect();
}

/// Returns a row from the last `TCP_INFO` of a flow, read as the run ended, if the run ends at a sampling time. A
/// simulation has a sample then, and a series without it seems to end before the run does.
fn closing_row(scenario: &Scenario, record: &FlowRecord, index: usize) -> Option<FlowRow> {
    let Sampling::Interval(every) = scenario.sampling else { return None };
    let end = scenario.duration.as_nanos();
    let ends_sampled = end.is_multiple_of(every.as_nanos().max(1));
    if !ends_sampled || record.total.stop_ns < end || record.rows.last()?.time_ns >= end {
        return None;
    }
    let opened = !scenario.flows[index].traffic.server_sends();
    let row = record.last.as_ref()?.row(opened);
    Some(FlowRow { time_ns: end, flow: index as u64, delivered_bytes: record.total.delivered_bytes, ..row })
}

/// Adds to each row the latest round-trip time sample before it.
fn with_round_trips(mut rows: Vec<FlowRow>, traced: &[Record], clock: Clock) -> Vec<FlowRow> {
    let mut at = traced.iter().peekable();
    let mut latest = NONE;
    for row in &mut rows {
        while let Some(record) = at.next_if(|record| clock.at(record.at_ns).as_nanos() <= row.time_ns) {
            latest = record.rtt_ns.unwrap_or(latest);
        }
        row.rtt_ns = latest;
    }
    rows
}

/// Returns a row for each segment that arrived at the sender. What the receiving application had read is as of the
/// latest of `looks`.
fn by_ack(trace: &FlowTrace, looks: &[FlowRow], flow: usize, clock: Clock) -> Vec<FlowRow> {
    let mut looks = looks.iter().peekable();
    let mut delivered = 0;
    let acks = trace.records.iter().filter(|record| record.event == Event::Segment);
    let row = |record: &Record| {
        let at = clock.at(record.at_ns);
        while let Some(look) = looks.next_if(|look| look.time_ns <= at.as_nanos()) {
            delivered = look.delivered_bytes;
        }
        FlowRow { delivered_bytes: delivered, ..record.row(flow as u64, at) }
    };
    acks.map(row).collect()
}

/// Adds to each row what had arrived, and what had been lost, at its time.
fn with_network(rows: &mut [FlowRow], track: &[Track]) {
    let mut at = 0;
    for row in rows {
        while track.get(at + 1).is_some_and(|next| next.at.as_nanos() <= row.time_ns) {
            at += 1;
        }
        if let Some(&Track { arrived_bytes, lost_packets, .. }) = track.get(at) {
            (row.arrived_bytes, row.lost_packets) = (arrived_bytes, lost_packets);
        }
    }
}

/// Returns a flow's round-trip times: the kernel's per-ACK samples and, after the sender closed, those in `closing`;
/// only those in `looks` if there is no trace.
fn round_trips(looks: &Histogram, closing: &[(u64, u64)], trace: Option<&FlowTrace>) -> Histogram {
    let Some(trace) = trace else { return looks.clone() };
    let mut all = trace.round_trips.clone();
    closing.iter().for_each(|&(rtt, times)| all.record_many(rtt, times));
    all
}

fn total(
    mut total: FlowTotal,
    rtt: &Histogram,
    trace: Option<&FlowTrace>,
    counters: &NetworkCounters,
    index: usize,
) -> FlowTotal {
    if let Some(meter) = counters.meters.get(index) {
        total.arrived_bytes = meter.arrived_bytes;
        total.arrived_packets = meter.arrived_packets;
        total.lost_packets = meter.lost_packets;
        total.max_bin_bytes = meter.max_bin_bytes();
    }
    if let Some(trace) = trace {
        total.fast_retransmits = trace.fast_retransmits;
    }
    if rtt.count() > 0 {
        total.rtt_samples = rtt.count();
        total.rtt_sum_ns = rtt.sum();
        // The kernel's own minimum includes every sample, also those before the first record.
        total.rtt_min_ns = if total.rtt_min_ns == NONE { rtt.min() } else { total.rtt_min_ns.min(rtt.min()) };
        total.rtt_max_ns = rtt.max();
        total.rtt_p50_ns = rtt.percentile(0.50);
        total.rtt_p95_ns = rtt.percentile(0.95);
        total.rtt_p99_ns = rtt.percentile(0.99);
    }
    total
}
