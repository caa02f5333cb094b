//! A flow's applications in a run: when they start, what they offer, how fast they read.

use crate::app::{Datagram, Source};
use crate::page::PageLoad;
use crate::seeds::Seeds;
use narrows_scenario::{Flow, OfWorkload, Scenario, Traffic};
use narrows_units::{Bytes, Duration, Instant, Rate};
use narrows_wire::Ip;
use std::sync::Arc;

/// Bytes of a UDP header.
const UDP_HEADER: u64 = 8;

/// When a flow starts in a run, its jitter included.
#[must_use]
pub fn flow_start(scenario: &Scenario, flow: &Flow, seeds: Seeds) -> Instant {
    let jitter = if flow.jitter { scenario.start_jitter } else { Duration::ZERO };
    flow.start + jitter.mul_f64(seeds.stream(&component(flow), "start").uniform())
}

/// The sending applications of all flows in a run. Connections of one page share it.
pub fn flow_sources(scenario: &Scenario, seeds: Seeds) -> impl Iterator<Item = Source> + '_ {
    let mut latest: Option<(u32, u32, PageLoad)> = None;
    scenario.flows.iter().map(move |flow| {
        let page = match (&flow.traffic, flow.part) {
            (Traffic::Page(of), Some(OfWorkload { workload, number, connection, .. })) => {
                let (.., page) = match latest.take() {
                    Some(same) if (same.0, same.1) == (workload, number) => latest.insert(same),
                    _ => latest.insert((workload, number, PageLoad::new(Arc::clone(of)))),
                };
                Some((page.clone(), connection))
            }
            _ => None,
        };
        let datagram = flow.udp().map_or_else(Datagram::default, |udp| {
            let ip = Ip::between(scenario.nodes[flow.from].address, scenario.nodes[flow.to].address).header_len();
            Datagram { payload: udp.payload, overhead: Bytes::new(ip as u64 + UDP_HEADER) }
        });
        Source::new(flow.traffic.clone(), seeds.stream(&component(flow), "app"), datagram, page)
    })
}

fn component(flow: &Flow) -> String {
    format!("flow/{}", flow.name)
}

/// A receiving application that reads at a limited rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowReader {
    /// Bytes per reading.
    pub chunk: Bytes,
    /// Time between readings.
    pub every: Duration,
}

impl SlowReader {
    /// A reader that reads at a time what `rate` gives in ten milliseconds, but at least one byte.
    #[must_use]
    pub fn at(rate: Rate) -> Self {
        let every = Duration::from_millis(10);
        let chunk = rate.bytes_in(every).max(Bytes::new(1));
        Self { chunk, every: rate.time_for(chunk) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_reader_reads_at_least_a_byte_and_keeps_its_rate() {
        let fast = SlowReader::at(Rate::mbps(8));
        assert_eq!((fast.chunk, fast.every), (Bytes::new(10_000), Duration::from_millis(10)));
        let slow = SlowReader::at(Rate::bps(8));
        assert_eq!((slow.chunk, slow.every), (Bytes::new(1), Duration::from_secs(1)));
    }
}
