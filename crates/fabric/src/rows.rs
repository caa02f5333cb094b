//! The counters of links and router agents as rows of samples and totals.

use crate::impair::ImpairMeter;
use crate::link::LinkMeter;
use narrows_queue::QueueView;
use narrows_samples::{
    Column, Counter, Counters, FLOW_COUNTERS, ImpairmentTotal, NONE, QueueRow, QueueTotal, ROUTER_COUNTERS,
    ROUTER_VALUES, RouterRow, RouterTotal,
};
use narrows_scheme::{AgentCounters, FlowCounts, SchemeRow};
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
        delay_p99_ns: meter.delay.percentile(0.99),
        max_packets: meter.max_packets,
        max_bytes: meter.max_bytes,
        capacity_bits,
    }
}

/// What impairments did over the whole run, on the direction whose queue is `index` in `queue_totals`.
#[must_use]
pub fn impairment_total(index: usize, meter: &ImpairMeter) -> ImpairmentTotal {
    let ImpairMeter { duplicated, reordered, held, decimated, acks_lost, outage_drops } = *meter;
    ImpairmentTotal { queue: index as u64, duplicated, reordered, held, decimated, acks_lost, outage_drops }
}

/// A router agent at one time; `index` is its number in `router_totals`.
#[must_use]
pub fn router_row(now: Instant, index: usize, flow_counts: &FlowCounts) -> RouterRow {
    let values = flow_counts.values.map(|value| value.unwrap_or(NONE));
    RouterRow { time_ns: now.as_nanos(), router: index as u64, flows: flow_counts.flows, values }
}

/// A router agent over the whole run.
#[must_use]
pub const fn router_total(counters: &AgentCounters) -> RouterTotal {
    RouterTotal { counters: *counters }
}

// The tables have room for what schemes count.
const _: () = assert!(narrows_scheme::FLOW_COUNTERS == FLOW_COUNTERS);
const _: () = assert!(narrows_scheme::ROUTER_VALUES == ROUTER_VALUES);
const _: () = assert!(narrows_scheme::ROUTER_COUNTERS == ROUTER_COUNTERS);

/// Returns the names of the columns that schemes fill, in a run with the scheme of this name.
#[must_use]
pub fn counters(scheme: Option<&str>) -> Counters {
    let of = |list: fn(&SchemeRow) -> &'static [narrows_scheme::Counter]| {
        let all = narrows_scheme::registry().iter().flat_map(|row| {
            let runs = scheme == Some(row.about.name);
            list(row).iter().enumerate().map(move |(index, counter)| Counter {
                column: Column { name: counter.name, unit: counter.unit, doc: counter.doc },
                slot: runs.then_some(index),
                absent: if counter.blank { NONE } else { 0 },
            })
        });
        all.collect()
    };
    Counters {
        flows: of(|row| if row.flow_counters.over_time { row.flow_counters.list } else { &[] }),
        routers: of(|row| row.router_values),
        flow_totals: of(|row| row.flow_counters.list),
        router_totals: of(|row| row.router_counters),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_have_room_for_every_scheme_and_their_columns_have_names_of_their_own() {
        for row in narrows_scheme::registry() {
            assert!(row.flow_counters.list.len() <= FLOW_COUNTERS, "{}", row.about.name);
            assert!(row.router_values.len() <= ROUTER_VALUES, "{}", row.about.name);
            assert!(row.router_counters.len() <= ROUTER_COUNTERS, "{}", row.about.name);
            let names = counters(Some(row.about.name));
            for list in [&names.flows, &names.routers, &names.flow_totals, &names.router_totals] {
                let mut all: Vec<_> = list.iter().map(|counter| counter.column.name).collect();
                all.sort_unstable();
                all.dedup();
                assert_eq!(all.len(), list.len(), "{}", row.about.name);
            }
            let own = names.router_totals.iter().filter_map(|counter| counter.slot);
            assert!(own.eq(0..row.router_counters.len()), "{}", row.about.name);
        }
        assert!(counters(None).flow_totals.iter().all(|counter| counter.slot.is_none()));
    }
}
