//! The transfers of workloads in one run: as flows, drawn anew for each run.

use crate::ideal::Paths;
use crate::seeds::Seeds;
use crate::sizes::draw;
use crate::topology::Topology;
use narrows_rng::Stream;
use narrows_scenario::{Arrivals, Flow, OfWorkload, Pace, Page, Scenario, Sizes, Traffic, Workload, WorkloadKind};
use narrows_units::{Bytes, Duration, Instant};
use std::borrow::Cow;
use std::sync::Arc;

/// Largest number of flows of a run, transfers included.
pub const MOST_FLOWS: usize = 1_000_000;

/// A run has more flows than [`MOST_FLOWS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

/// Returns the scenario with the flows of its workloads' transfers after its own; the scenario itself if it has none.
///
/// Each transfer is a flow with the traffic of its kind and its [`OfWorkload`]. Times, sizes and pairs have random
/// streams of their own, so the sizes do not change with the load.
///
/// # Errors
/// [`TooMany`] flows.
pub fn with_transfers(scenario: &Scenario, seeds: Seeds) -> Result<Cow<'_, Scenario>, TooMany> {
    if scenario.workloads.is_empty() || scenario.flows.iter().any(|flow| flow.part.is_some()) {
        return Ok(Cow::Borrowed(scenario));
    }
    let mut paths = Paths::new(Topology::new(scenario));
    let mut whole = scenario.clone();
    for (index, workload) in scenario.workloads.iter().enumerate() {
        let interval = interval(scenario, workload, &mut paths);
        let end = Instant::ZERO + scenario.duration;
        let mut draws = Draws::new(workload, (index as u32, interval, end), seeds);
        while let Some(transfer) = draws.next() {
            draws.flows(transfer, &mut whole.flows);
            if whole.flows.len() > MOST_FLOWS {
                return Err(TooMany);
            }
        }
    }
    Ok(Cow::Owned(whole))
}

/// Mean time between two transfers; zero for those of a file.
fn interval(scenario: &Scenario, workload: &Workload, paths: &mut Paths) -> Duration {
    match workload.arrivals {
        Arrivals::Trace(_) => Duration::ZERO,
        Arrivals::Poisson(Pace::Every(every)) | Arrivals::Constant(Pace::Every(every)) => every,
        Arrivals::Poisson(Pace::Load(load)) | Arrivals::Constant(Pace::Load(load)) => {
            let objects = if let WorkloadKind::Pages { objects, .. } = workload.kind { objects } else { 1 };
            let (from, to) = data_ends(workload.kind, (workload.flow.from, workload.flow.to));
            let bps = paths.narrowest(scenario, from, to).map_or(0.0, |rate| rate.as_bps() as f64);
            let secs = 8.0 * workload.size.mean() * f64::from(objects) / (load * bps);
            Duration::from_secs_f64(secs).max(Duration::from_nanos(1))
        }
    }
}

/// The ends of a pair in the direction of its data.
fn data_ends(kind: WorkloadKind, (from, to): (usize, usize)) -> (usize, usize) {
    if matches!(kind, WorkloadKind::Transfers) { (from, to) } else { (to, from) }
}

/// A transfer: when it begins and how large it is.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    at: Instant,
    size: Bytes,
}

/// Draws the transfers of a workload one after another.
struct Draws<'a> {
    workload: &'a Workload,
    index: u32,
    interval: Duration,
    end: Instant,
    at: Instant,
    number: u64,
    times: Stream,
    sizes: Stream,
    pairs: Stream,
}

impl<'a> Draws<'a> {
    fn new(workload: &'a Workload, (index, interval, end): (u32, Duration, Instant), seeds: Seeds) -> Self {
        let component = format!("workload/{}", workload.flow.name);
        let stream = |purpose| seeds.stream(&component, purpose);
        let [times, sizes, pairs] = ["arrivals", "sizes", "pairs"].map(stream);
        Self { workload, index, interval, end, at: workload.flow.start, number: 0, times, sizes, pairs }
    }

    fn next(&mut self) -> Option<Transfer> {
        let workload = self.workload;
        if workload.count.is_some_and(|count| self.number >= count) {
            return None;
        }
        let wait = match &workload.arrivals {
            Arrivals::Trace(trace) => {
                let &(after, size) = trace.rows.get(usize::try_from(self.number).ok()?)?;
                let at = workload.flow.start + after.since(Instant::ZERO);
                self.number += 1;
                return (at < workload.flow.stop).then_some(Transfer { at, size });
            }
            Arrivals::Poisson(_) => Duration::from_secs_f64(self.times.exponential(self.interval.as_secs_f64())),
            Arrivals::Constant(_) => self.interval,
        };
        self.at += wait;
        if self.at >= workload.flow.stop {
            return None;
        }
        self.number += 1;
        let page = matches!(workload.kind, WorkloadKind::Pages { .. });
        let size = if page { Bytes::ZERO } else { draw(&workload.size, &mut self.sizes) };
        Some(Transfer { at: self.at, size })
    }

    fn flows(&mut self, transfer: Transfer, flows: &mut Vec<Flow>) {
        let Workload { flow, pairs, kind, size, .. } = self.workload;
        let pair = self.pairs.below(pairs.len() as u64);
        let Some(&(from, to)) = pairs.get(pair as usize) else { return };
        let (traffic, connections) = match *kind {
            WorkloadKind::Transfers => (Traffic::Bulk { size: Some(transfer.size) }, 1),
            WorkloadKind::Requests { request } => {
                let response = Sizes::constant(transfer.size);
                (Traffic::RequestResponse { request, response, think: Duration::ZERO, count: Some(1) }, 1)
            }
            WorkloadKind::Pages { request, objects, connections } => {
                let objects: Vec<_> = (0..objects).map(|_| draw(size, &mut self.sizes)).collect();
                let connections = connections.min(objects.len() as u32);
                (Traffic::Page(Arc::new(Page { request, objects })), connections)
            }
        };
        // A slash is in no name of a file, so no other flow has this one.
        let name = format!("{}/{}", flow.name, self.number);
        for connection in 0..connections {
            let name = if connection == 0 { name.clone() } else { format!("{name}.{connection}") };
            let part =
                OfWorkload { workload: self.index, number: self.number as u32 - 1, pair: pair as u32, connection };
            flows.push(Flow {
                name,
                from,
                to,
                start: transfer.at,
                // A transfer under way goes on when its workload has stopped.
                stop: self.end,
                traffic: traffic.clone(),
                part: Some(part),
                ..flow.clone()
            });
        }
    }
}
