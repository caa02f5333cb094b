//! The values of a case's variables in a live run.

use super::Parts;
use super::sender::SenderReadings;
use super::untold::{Untold, untold};
use narrows_fabric::{LinkDirection, Topology, edge_of, link_value};
use narrows_scenario::{Flow, Pacing, Scenario};
use narrows_timeline::{LinkField, PathField, Source};
use narrows_units::{Duration, Instant, Rate};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is read for a case, by where it is: the last number of each entry is the variable's place.
#[derive(Debug)]
pub(super) struct Readings {
    time: Vec<usize>,
    flows: BTreeMap<usize, SenderReadings>,
    links: Vec<(usize, LinkField, usize)>,
    path: Vec<(PathField, usize)>,
    /// Directions from the sender of the flow under test to its receiver, and back.
    way: [Vec<usize>; 2],
    untold: BTreeMap<usize, Untold>,
}

impl Readings {
    pub(super) fn new(parts: &Parts<'_>, topology: &Topology) -> Self {
        let Parts { scenario, case, .. } = *parts;
        let way = scenario.flows.get(case.flow).map_or([const { Vec::new() }; 2], |flow| {
            let there = hops(scenario, topology, flow.from, flow.to);
            let back = hops(scenario, topology, flow.to, flow.from);
            if flow.traffic.server_sends() { [back, there] } else { [there, back] }
        });
        let mut made = Self {
            time: Vec::new(),
            flows: BTreeMap::new(),
            links: Vec::new(),
            path: Vec::new(),
            way,
            untold: untold(case, |flow| parts.controls.get(flow).map_or("", String::as_str)),
        };
        for (place, variable) in case.variables.iter().enumerate() {
            match &variable.source {
                Source::Time => made.time.push(place),
                Source::Flow { flow, field } => {
                    if let Some(of) = made.sender(parts, *flow) {
                        of.fields.push((*field, place));
                    }
                }
                Source::Control { flow, name } => {
                    if let Some(of) = made.sender(parts, *flow) {
                        of.variables.push((Arc::clone(name), place));
                    }
                }
                Source::Receiver { .. } => {}
                Source::Link { link, side, field } => made.links.push((edge_of(*link, *side), *field, place)),
                Source::Path(field) => made.path.push((*field, place)),
            }
        }
        made
    }

    fn sender(&mut self, parts: &Parts<'_>, flow: usize) -> Option<&mut SenderReadings> {
        let (handle, spec) = (parts.handles.get(&flow)?, parts.scenario.flows.get(flow)?);
        let control = parts.controls.get(flow).map_or("", String::as_str);
        Some(self.flows.entry(flow).or_insert_with(|| {
            SenderReadings::new(handle, !spec.traffic.server_sends(), paced(spec, control), control)
        }))
    }

    /// Returns the directions whose values are read.
    pub(super) fn edges(&self) -> Vec<usize> {
        let links: BTreeSet<usize> = self.links.iter().map(|(edge, ..)| *edge).collect();
        links.into_iter().collect()
    }

    /// Returns the variables that the kernel does not tell, by their place.
    pub(super) const fn untold(&self) -> &BTreeMap<usize, Untold> {
        &self.untold
    }

    /// Reads all variables as they are now.
    pub(super) fn read(&mut self, at: Instant, links: &[LinkDirection], values: &mut [f64]) {
        let mut set = |place: usize, value: f64| {
            if let Some(of) = values.get_mut(place) {
                *of = value;
            }
        };
        self.time.iter().for_each(|&place| set(place, at.as_secs_f64()));
        self.flows.values_mut().for_each(|of| of.read(&mut set));
        for &(edge, field, place) in &self.links {
            set(place, links.get(edge).map_or(f64::NAN, |link| link_value(link, field)));
        }
        if !self.path.is_empty() {
            let (rtt, rate) = self.path_now(links);
            self.path.iter().for_each(|&(field, place)| set(place, path_value(field, rtt, rate)));
        }
    }

    /// Two-way propagation delay of the path of the flow under test, and the smallest rate from its sender to its
    /// receiver, as the links are now.
    fn path_now(&self, links: &[LinkDirection]) -> (Duration, Rate) {
        let of = |edges: &[usize]| -> Vec<(Rate, Duration)> {
            edges.iter().filter_map(|&edge| links.get(edge)).map(LinkDirection::rate_and_delay).collect()
        };
        let [there, back] = [of(&self.way[0]), of(&self.way[1])];
        let rtt = there.iter().chain(&back).fold(Duration::ZERO, |sum, (_, delay)| sum + *delay);
        (rtt, there.iter().map(|(rate, _)| *rate).min().unwrap_or(Rate::MAX))
    }
}

/// Whether the kernel paces a flow: BBR asks for that by itself.
fn paced(flow: &Flow, control: &str) -> bool {
    control == "bbr" || flow.tcp().is_some_and(|tcp| tcp.pacing != Pacing::Off)
}

/// Returns the directions of links from a node to another.
fn hops(scenario: &Scenario, topology: &Topology, from: usize, to: usize) -> Vec<usize> {
    let mut at = from;
    let mut found = Vec::new();
    while at != to && found.len() < scenario.nodes.len() {
        let Some(edge) = topology.next(at, to) else { break };
        found.push(edge);
        at = topology.edges[edge].to;
    }
    found
}

fn path_value(field: PathField, rtt: Duration, rate: Rate) -> f64 {
    let bps = if rate == Rate::MAX { f64::NAN } else { rate.as_bps() as f64 };
    match field {
        PathField::Rtt => rtt.as_secs_f64(),
        PathField::Rate => bps,
        PathField::Bdp => bps * rtt.as_secs_f64() / 8.0,
    }
}
