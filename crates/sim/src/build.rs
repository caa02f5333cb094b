//! Builds a simulation from a scenario: links, queues, agents, flows, and the factory of connections.

use crate::ahead::Ahead;
use crate::case::CaseRun;
use crate::connections::Connections;
use crate::event::{Agenda, MAX_SLOTS};
use crate::factory::Factory;
use crate::flow::FlowState;
use crate::lines::{fold, links, small_queues};
use crate::losses::Losses;
use crate::parcels::{Ends, Parcels};
use crate::radio::{Radio, radio};
use crate::routes::Routes;
use crate::run::{Options, RunError};
use crate::slots::Slots;
use crate::visits::{MANY_FLOWS, Visits};
use crate::world::World;
use narrows_fabric::{Edge, Exit, MAX_FLOWS, Node, Nodes, Seeds, Topology, Touched, agents, flow_sources, flow_start};
use narrows_scenario as scenario;
use narrows_scenario::Scenario;
use narrows_scheme::Port;
use narrows_units::Instant;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the parts of a run on several threads share: nodes, links, and the ways of flows.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    topology: Arc<Topology>,
    routes: Routes,
}

impl Shared {
    /// What a `World` shares with others of the same scenario.
    pub(crate) fn of(world: &World<'_>) -> Self {
        Self { topology: Arc::clone(&world.topology), routes: world.routes.clone() }
    }
}

/// Builds the `World` of one run.
///
/// # Errors
/// [`RunError::TooLarge`], [`RunError::Unknown`], [`RunError::Scheme`], [`RunError::Queue`], [`RunError::Radio`] and
/// [`RunError::Stopped`].
pub(crate) fn build<'a>(scenario: &'a Scenario, options: &Options<'_>) -> Result<World<'a>, RunError> {
    build_with(scenario, options, None)
}

/// Like [`build`], with what another `World` of the same scenario shares.
pub(crate) fn build_with<'a>(
    scenario: &'a Scenario,
    options: &Options<'_>,
    shared: Option<Shared>,
) -> Result<World<'a>, RunError> {
    let seeds = Seeds::new(options.seed, options.run);
    let flows = scenario.flows.len();
    if flows > MAX_FLOWS {
        return Err(RunError::TooLarge { what: "flows", count: flows, allowed: MAX_FLOWS });
    }
    // Captures need packets in order of time, which only the plain loop gives.
    // Samples of every change of a queue need it too.
    let plain_loop = options.plain_loop || options.captures() || scenario.sampling == scenario::Sampling::Events;
    let slots = Slots::new(2 * scenario.links.len(), flows, scenario.wifi.len(), plain_loop);
    let agenda = Agenda::new(Slots::FIXED, slots.near(), slots.count()).ok_or(RunError::TooLarge {
        what: "event sources",
        count: slots.count(),
        allowed: MAX_SLOTS,
    })?;
    let go_on = || if options.stopped() { Err(RunError::Stopped) } else { Ok(()) };
    let Shared { topology, mut routes } = match shared {
        Some(shared) => shared,
        None => shared_by_parts(scenario, options)?,
    };
    go_on()?;
    let factory = Factory::new(scenario, seeds, options.algorithms)?;
    go_on()?;
    let mut radio = radio(scenario, seeds, options.disciplines)?;
    let nodes = Nodes::new(nodes(scenario, &factory), exits(&topology, 2 * scenario.links.len(), &radio));
    go_on()?;
    let mut links = links(scenario, seeds, &nodes, plain_loop, options.disciplines)?;
    go_on()?;
    for edge in (links.len()..topology.edges.len()).filter(|&edge| nodes.sees_departures(edge)) {
        radio.tell_departures(edge - links.len(), edge);
    }
    fold(scenario, &topology, &nodes, &mut links, &mut routes);
    go_on()?;
    let touched = Touched::by(scenario);
    let mut states = Vec::with_capacity(flows);
    for (index, (flow, mut source)) in scenario.flows.iter().zip(flow_sources(scenario, seeds)).enumerate() {
        if index.is_multiple_of(1 << 14) {
            go_on()?;
        }
        if touched.flows.contains(&index) {
            source.allow_control();
        }
        states.push(FlowState::new(flow, flow_start(scenario, flow, seeds), source));
    }
    let mut world = World {
        scenario,
        now: Instant::ZERO,
        end: Instant::ZERO + scenario.duration,
        agenda,
        slots,
        topology,
        nodes,
        small_queues: small_queues(scenario, options.disciplines)?,
        links,
        routes,
        parcels: Parcels::new(Ends::of(scenario)),
        ends: scenario.flows.iter().map(|f| [f.from as u32, f.to as u32]).collect(),
        losses: Losses::new(),
        radio,
        listed: scenario.listed().count(),
        connections: Connections::new(flows, states.iter().filter(|flow| flow.is_tcp()).count()),
        flows: states,
        factory,
        capture: None,
        sampling: scenario.sampling,
        states: crate::states::StateSampler::new(scenario, options.disciplines),
        plain_loop,
        plain_hosts: false,
        all_lines: false,
        case: scenario.case.as_ref().map(|case| Box::new(CaseRun::new(case, options))),
        events: 0,
        look_at: 0,
        packets: 0,
        share: None,
        ahead: Ahead::none(),
        many_flows: options.many_flows || flows >= MANY_FLOWS,
        lasts: Vec::new(),
        visits: Visits::none(),
    };
    world.prepare();
    world.allow_ahead(options.algorithms.is_some());
    world.note_last_edges();
    Ok(world)
}

fn shared_by_parts(scenario: &Scenario, options: &Options<'_>) -> Result<Shared, RunError> {
    let topology = Arc::new(Topology::new(scenario));
    let routes = Routes::new(scenario, &topology, || options.stopped()).ok_or(RunError::Stopped)?;
    Ok(Shared { topology, routes })
}

fn nodes(scenario: &Scenario, factory: &Factory) -> Vec<Node> {
    let agents = agents(scenario, factory.scheme.as_ref());
    agents.into_iter().map(|agent| Node { agent }).collect()
}

/// Where each edge starts. A node's ports are numbered in the order of its edges; edges of one 802.11 queue share a
/// port.
fn exits(topology: &Topology, links: usize, radio: &Radio) -> Vec<Exit> {
    let nodes = topology.edges.iter().map(|edge| edge.from + 1).max().unwrap_or(0);
    let mut ports = vec![0; nodes];
    let mut of_queue = BTreeMap::new();
    let mut exit = |(edge, ends): (usize, &Edge)| {
        let node = ends.from;
        let mut fresh = || {
            ports[node] += 1;
            Port::new(ports[node] - 1)
        };
        let port = match edge.checked_sub(links) {
            None => fresh(),
            Some(hop) => *of_queue.entry((node, radio.queue_of(hop))).or_insert_with(fresh),
        };
        Exit { node, port }
    };
    topology.edges.iter().enumerate().map(&mut exit).collect()
}

#[cfg(test)]
pub(crate) mod testing {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// The flows of a scenario with two hosts, a link of 1 Mb/s and one UDP flow.
    pub(crate) fn flows() -> Vec<FlowState> {
        let text = r#"
format = 1
name = "t"
duration = "1 s"
nodes = [{ name = "a" }, { name = "b" }]
links = [{ between = ["a", "b"], rate = "1 Mb/s", delay = "0 s", queue = { kind = "droptail", limit = "10 packets" } }]
flows = [{ name = "f", from = "a", to = "b", kind = "udp", rate = "1 Mb/s" }]
"#;
        let scenario = scenario::parse(text, "t.toml", &[], &crate::catalogue()).unwrap();
        build(&scenario, &Options::default()).unwrap().flows
    }
}
