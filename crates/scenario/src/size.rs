//! The size of a scenario: the counts that determine a run's memory and time.

use crate::types::{Arrivals, Pace, Sampling, Scenario, Wifi, WifiQueues, Workload, WorkloadKind};

/// Counts of a scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Nodes.
    pub nodes: u64,
    /// Links; both directions count as one.
    pub links: u64,
    /// Flows, the expected number of connections of workloads included.
    pub flows: u64,
    /// Largest number of rows from sampling flows (jitter starts flows later); 0 without a sampling interval.
    pub flow_rows: u64,
    /// Rows from sampling queues; 0 without a sampling interval.
    pub queue_rows: u64,
    /// Rows from sampling routers with an agent; 0 without a sampling interval.
    pub router_rows: u64,
    /// Estimate of the most rows from sampling the state of algorithms: `VARIABLES` for each flow and queue; 0 unless
    /// state is sampled at an interval.
    pub state_rows: u64,
}

/// Estimate of the most variables that an algorithm and its connection report.
const VARIABLES: u64 = 24;

impl Scenario {
    /// Counts nodes, links, flows and the rows that sampling will yield.
    #[must_use]
    pub fn size(&self) -> Size {
        let size = Size {
            nodes: self.nodes.len() as u64,
            links: self.links.len() as u64,
            flows: (self.flows.len() as u64).saturating_add(self.expected_connections()),
            ..Size::default()
        };
        let Sampling::Interval(every) = self.sampling else { return size };
        let every = every.as_nanos().max(1);
        // Samples are taken from time zero to the end, both included.
        let from = |start: u64| self.duration.as_nanos().checked_sub(start).map_or(0, |rest| rest / every + 1);
        let not_before = |start: u64| from(start.div_ceil(every).saturating_mul(every));
        let radio = |wifi: &Wifi| match wifi.queues {
            WifiQueues::Shared => wifi.stations.len() + 1,
            WifiQueues::PerStation => 2 * wifi.stations.len(),
        };
        let queues = 2 * size.links + self.wifi.iter().map(|wifi| radio(wifi) as u64).sum::<u64>();
        let agents = self.scheme.as_ref().map_or(0, |scheme| scheme.routers.len());
        let starts = self.listed().map(|flow| not_before(flow.start.as_nanos()));
        let flow_rows = starts.fold(0, u64::saturating_add);
        let queue_rows = queues.saturating_mul(from(0));
        let state_rows = flow_rows.saturating_add(queue_rows).saturating_mul(VARIABLES);
        Size {
            flow_rows,
            queue_rows,
            state_rows: if self.sample_state { state_rows } else { 0 },
            router_rows: (agents as u64).saturating_mul(from(0)),
            ..size
        }
    }

    /// Estimates the connections that the transfers of workloads make; for a load, by the slowest link.
    fn expected_connections(&self) -> u64 {
        let slowest =
            self.links.iter().flat_map(|link| [&link.forward, &link.reverse]).map(|of| of.rate.as_bps()).min();
        let of = |workload: &Workload| {
            let time = workload.flow.stop.since(workload.flow.start).as_secs_f64();
            let (objects, connections) = match workload.kind {
                WorkloadKind::Pages { objects, connections, .. } => (objects, connections.min(objects)),
                _ => (1, 1),
            };
            let transfers = match &workload.arrivals {
                Arrivals::Trace(trace) => trace.rows.len() as f64,
                Arrivals::Poisson(Pace::Every(every)) | Arrivals::Constant(Pace::Every(every)) => {
                    time / every.as_secs_f64()
                }
                Arrivals::Poisson(Pace::Load(load)) | Arrivals::Constant(Pace::Load(load)) => {
                    let bits = 8.0 * workload.size.mean() * f64::from(objects);
                    time * load * slowest.unwrap_or(0) as f64 / bits
                }
            };
            let most = workload.count.unwrap_or(u64::MAX);
            (transfers as u64).min(most).saturating_mul(connections.into())
        };
        self.workloads.iter().map(of).fold(0, u64::saturating_add)
    }
}
