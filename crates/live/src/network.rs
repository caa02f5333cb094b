//! The network between the hosts, without clock or devices: packets in, packets out, at exact times.
//!
//! Links, queues, losses and router agents are those of the simulator ([`narrows_fabric`]). Their events take place at
//! exact times, however late they are processed. A busy machine delays only the handover of a packet, and the caller
//! measures by how much. So a rate is exact, and lateness does not add up along a path.

mod follow;

pub(crate) use follow::{Change, Follow};

use crate::agenda::Agenda;
use crate::counters::{NetworkCounters, Watch, as_ect1};
use crate::store::{self, Store};
use narrows_fabric::{
    Exit, LinkDirection, Node, Nodes, PcapFailure, Seeds, Topology, Touched, agents, link_direction, link_direction_of,
    scheme,
};
use narrows_queue::{Disciplines, DropReason, Queue, QueueView, Verdict};
use narrows_samples::Samples;
use narrows_scenario::{Sampling, Scenario};
use narrows_scheme::{Port, on_bytes};
use narrows_units::Instant;
use narrows_wire::Ecn;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;

/// The destination of packets that have crossed the network.
pub trait Deliver {
    /// Delivers a packet that reached its host at `at`, which may have passed.
    fn deliver(&mut self, node: usize, bytes: &[u8], at: Instant);
}

/// The network of a scenario.
#[derive(Debug)]
pub struct Network {
    topology: Topology,
    nodes: Nodes,
    links: Vec<LinkDirection>,
    /// Of each link, the next event.
    agenda: Agenda,
    /// When the next link changes.
    next_change: Instant,
    store: Store,
    counters: NetworkCounters,
    targets: BTreeMap<IpAddr, usize>,
    /// By flow: whether its packets enter the network as ECT(1), which Linux cannot send.
    ect1: Vec<bool>,
    sampling: Sampling,
    next_sample: Instant,
    /// A test case that follows the run.
    follower: Option<Box<dyn Follow>>,
    /// When it looks next.
    next_follow: Instant,
    end: Instant,
    now: Instant,
}

impl Network {
    /// Makes the network of a scenario under a seed, at time zero.
    ///
    /// # Errors
    /// A sentence that says what is wrong with a scheme's settings, or with a queue's.
    pub fn new(scenario: &Scenario, seeds: Seeds) -> Result<Self, String> {
        Self::with_queues(scenario, seeds, BTreeMap::new())
    }

    /// Makes the network with other queues than the scenario's in some directions, given by their numbers.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_queues(
        scenario: &Scenario,
        seeds: Seeds,
        mut queues: BTreeMap<usize, Box<dyn Queue>>,
    ) -> Result<Self, String> {
        let disciplines = Disciplines::default();
        let mut topology = Topology::new(scenario);
        (0..scenario.nodes.len()).for_each(|node| topology.prepare(node));
        let agents = agents(scenario, scheme(scenario)?.as_ref());
        let agents = agents.into_iter().map(|agent| Node { agent }).collect();
        let nodes = Nodes::new(agents, exits(&topology, scenario.nodes.len()));
        let touched = Touched::by(scenario);
        let mut links = Vec::with_capacity(2 * scenario.links.len());
        for link in &scenario.links {
            let (a, b) = (&scenario.nodes[link.a].name, &scenario.nodes[link.b].name);
            for (direction, from, to) in [(&link.forward, a, b), (&link.reverse, b, a)] {
                // A mark or an agent's change is written to the bytes when the packet departs, so departures are always
                // reported.
                let path = format!("link/{from}->{to}");
                let made = match queues.remove(&links.len()) {
                    Some(queue) => Ok(link_direction_of(queue, direction, &path, true, seeds)),
                    None => link_direction(direction, &path, true, seeds, disciplines),
                };
                let mut made = made.map_err(|error| error.to_string())?;
                if touched.edges.contains(&links.len()) {
                    made.allow_interventions(&path, seeds);
                }
                links.push(made);
            }
        }
        let mut agenda = Agenda::new(links.len());
        links.iter().enumerate().for_each(|(edge, link)| agenda.set(edge, link.next_event()));
        Ok(Self {
            topology,
            nodes,
            agenda,
            next_change: earliest_change(&links),
            links,
            store: Store::default(),
            counters: NetworkCounters::new(scenario, disciplines),
            targets: scenario.nodes.iter().enumerate().map(|(index, node)| (node.address, index)).collect(),
            ect1: scenario.flows.iter().map(|flow| flow.tcp().is_some_and(|tcp| tcp.ect1)).collect(),
            sampling: scenario.sampling,
            next_sample: Instant::ZERO,
            follower: None,
            next_follow: Instant::NEVER,
            end: Instant::ZERO + scenario.duration,
            now: Instant::ZERO,
        })
    }

    /// Captures packets from now on in `dir`, in a pcapng file per link, when their transmission starts.
    ///
    /// # Errors
    /// [`PcapFailure`] where a file cannot be written.
    pub fn capture(&mut self, scenario: &Scenario, dir: &Path) -> Result<(), PcapFailure> {
        self.counters.capture(scenario, dir)
    }

    /// Returns the time of the network's next event.
    #[must_use]
    pub fn next_event(&self) -> Instant {
        self.agenda.next().min(self.next_change).min(self.next_look()).min(self.next_follow)
    }

    /// Takes a packet that host number `node` sent at `now`. Bytes that are no IP packet, or have no destination, are
    /// counted and dropped.
    ///
    /// The caller must have advanced the network to `now` before ([`advance`](Self::advance)).
    pub fn receive(&mut self, node: usize, bytes: &[u8], now: Instant) {
        self.now = self.now.max(now);
        let target = store::addresses(bytes).and_then(|(_, dst)| self.targets.get(&dst).copied());
        let Some(target) = target.filter(|&target| target != node) else {
            self.counters.astray += 1;
            return;
        };
        let member = self.counters.member(bytes);
        let Some(slot) = self.store.keep(bytes, target, member) else {
            self.counters.astray += 1;
            return;
        };
        if member.is_some_and(|member| self.ect1.get(member.flow) == Some(&true))
            && let Some(held) = self.store.get_mut(slot)
        {
            as_ect1(&mut held.bytes);
        }
        self.forward(node, slot, self.now);
        self.look_after(node);
    }

    /// Asks the queue of a direction for packets, because something outside of the network has released some.
    ///
    /// The caller must have advanced the network to `now` before ([`advance`](Self::advance)).
    pub fn wake(&mut self, edge: usize, now: Instant) {
        self.now = self.now.max(now);
        let Self { links, store, nodes, counters, .. } = self;
        links[edge].wake(self.now, &mut Watch { edge, store, nodes, counters });
        self.observe(edge);
        self.plan(edge);
    }

    /// Processes all events until `now`.
    pub fn advance(&mut self, now: Instant, hosts: &mut impl Deliver) {
        loop {
            let at = self.next_event();
            if at > now {
                break;
            }
            self.now = self.now.max(at);
            if self.next_change <= at {
                self.change_links(at);
            }
            while self.agenda.next() <= at {
                self.look_at(self.agenda.first(), at, hosts);
            }
            if self.next_look() <= at {
                self.sample(at);
            }
            if self.next_follow <= at {
                self.look();
            }
        }
        self.now = self.now.max(now);
    }

    /// Processes a link: a packet may arrive at its end, or the transmission of a lost packet may end.
    fn look_at(&mut self, edge: usize, at: Instant, hosts: &mut impl Deliver) {
        let Self { links, store, nodes, counters, .. } = self;
        let arrived = links[edge].arrive(at, &mut Watch { edge, store, nodes, counters });
        self.observe(edge);
        self.plan(edge);
        let Some(slot) = arrived.as_ref().map(store::slot_of) else { return };
        let node = self.topology.edges[edge].to;
        match self.store.get(slot) {
            Some(held) if held.target == node => {
                self.counters.arrived(held, at);
                hosts.deliver(node, &held.bytes, at);
                self.store.release(slot);
                self.look_after(node);
            }
            _ => self.forward(node, slot, at),
        }
    }

    /// Forwards a packet from a node.
    fn forward(&mut self, node: usize, slot: u16, at: Instant) {
        let Some(edge) = self.store.get(slot).and_then(|held| self.topology.next(node, held.target)) else {
            self.counters.astray += 1;
            return self.store.release(slot);
        };
        let Self { links, store, nodes, counters, .. } = self;
        links[edge].drain(at, &mut Watch { edge, store, nodes, counters });
        let view = links[edge].view();
        let refused = ask_agent(nodes, edge, store, slot, &view, at);
        let shown = store.get(slot).and_then(|held| store::shown(&held.bytes, slot));
        let Some(packet) = shown else {
            counters.astray += 1;
            return store.release(slot);
        };
        let mut watch = Watch { edge, store, nodes, counters };
        match refused {
            Some(reason) => links[edge].refuse(packet, reason, at, &mut watch),
            None => links[edge].offer(&packet, at, &mut watch),
        }
        self.observe(edge);
        self.plan(edge);
    }

    fn change_links(&mut self, at: Instant) {
        for edge in 0..self.links.len() {
            if self.links[edge].next_change() <= at {
                let Self { links, store, nodes, counters, .. } = self;
                links[edge].change(at, &mut Watch { edge, store, nodes, counters });
                self.plan(edge);
            }
        }
        self.next_change = earliest_change(&self.links);
    }

    /// Notes when a link that was touched acts next.
    fn plan(&mut self, edge: usize) {
        self.agenda.set(edge, self.links[edge].next_event());
    }

    fn next_look(&self) -> Instant {
        self.next_sample.min(self.counters.next_track)
    }

    /// Takes the samples that are due.
    fn sample(&mut self, at: Instant) {
        if self.counters.next_track <= at {
            self.counters.track(at);
        }
        let Sampling::Interval(every) = self.sampling else {
            self.next_sample = Instant::NEVER;
            return;
        };
        if self.next_sample > at {
            return;
        }
        self.next_sample = if at + every > self.end { Instant::NEVER } else { at + every };
        for edge in 0..self.links.len() {
            let Self { links, store, nodes, counters, .. } = self;
            links[edge].drain(at, &mut Watch { edge, store, nodes, counters });
            let (view, meter) = (links[edge].view(), links[edge].meter());
            counters.queues.push(&narrows_fabric::queue_row(at, edge, &view, meter));
            meter.subqueues.rows(at, edge).for_each(|row| counters.subqueues.push(&row));
            if let Some(states) = &mut counters.states {
                states.sample(edge, &links[edge], at);
            }
            self.plan(edge);
        }
        self.sample_routers(at);
    }

    fn sample_routers(&mut self, at: Instant) {
        let mut index = 0;
        for node in 0..self.nodes.count() {
            if !self.nodes.reports(node) {
                continue;
            }
            let queues = self.topology.leaving(node).map(|edge| (self.nodes.port(edge), self.links[edge].view()));
            let fullest = queues.reduce(|a, b| if b.1.occupancy() > a.1.occupancy() { b } else { a });
            if let (Some((port, view)), Some(agent)) = (fullest, &self.nodes[node].agent) {
                let flow_counts = agent.flow_counts(port, &view, at);
                self.counters.routers.push(&narrows_fabric::router_row(at, index, &flow_counts));
            }
            index += 1;
        }
    }

    /// Samples a queue if every change is to be sampled.
    fn observe(&mut self, edge: usize) {
        if self.sampling == Sampling::Events {
            let (view, meter) = (self.links[edge].view(), self.links[edge].meter());
            self.counters.queues.push(&narrows_fabric::queue_row(self.now, edge, &view, meter));
            let subqueues = &mut self.links[edge].meter_mut().subqueues;
            if !subqueues.is_empty() {
                subqueues.changed_rows(self.now, edge).for_each(|row| self.counters.subqueues.push(&row));
            }
            if let Some(states) = &mut self.counters.states {
                states.sample(edge, &self.links[edge], self.now);
            }
        }
    }

    /// Writes the samples and totals of queues and routers to `samples`, and returns what the network knows of the
    /// flows.
    ///
    /// # Errors
    /// [`PcapFailure`] where a capture could not be written; the first one.
    pub fn finish(mut self, scenario: &Scenario, samples: &mut Samples) -> Result<NetworkCounters, PcapFailure> {
        let end = self.end;
        for (edge, link) in self.links.iter().enumerate() {
            let row =
                narrows_fabric::queue_total(&link.view(), link.meter(), link.unsent(end), link.capacity_bits(end));
            samples.queue_totals.push(&row);
            if let Some(meter) = link.impaired() {
                samples.impairment_totals.push(&narrows_fabric::impairment_total(edge, meter));
            }
            for (label, total) in link.meter().subqueues.totals(edge) {
                samples.subqueue_totals.push(&total);
                samples.subqueue_names.push(label.to_owned());
            }
            let ends = self.topology.edges[edge];
            let name = |node: usize| scenario.nodes[node].name.as_str();
            samples.queue_names.push(format!("{}->{}", name(ends.from), name(ends.to)));
        }
        for (node, told) in self.nodes.iter().zip(&scenario.nodes) {
            if let Some(agent) = node.agent.as_ref().filter(|agent| agent.reports()) {
                samples.router_totals.push(&narrows_fabric::router_total(&agent.counters()));
                samples.router_names.push(told.name.clone());
            }
        }
        samples.counters = narrows_fabric::counters(scenario.scheme.as_ref().map(|scheme| scheme.row.name));
        samples.queues = std::mem::take(&mut self.counters.queues);
        samples.routers = std::mem::take(&mut self.counters.routers);
        samples.subqueues = std::mem::take(&mut self.counters.subqueues);
        self.counters.finish_capture()?;
        Ok(self.counters)
    }
}

/// When the first of these links changes.
fn earliest_change(links: &[LinkDirection]) -> Instant {
    links.iter().map(LinkDirection::next_change).min().unwrap_or(Instant::NEVER)
}

/// Returns where each direction of a link starts. Ports of a node are numbered in the order of its links, as in the
/// simulator.
fn exits(topology: &Topology, nodes: usize) -> Vec<Exit> {
    let mut ports = vec![0; nodes];
    let exit = |edge: &narrows_fabric::Edge| {
        let port = Port::new(ports[edge.from]);
        ports[edge.from] += 1;
        Exit { node: edge.from, port }
    };
    topology.edges.iter().map(exit).collect()
}

/// Shows a packet that is about to enter a queue to the router's agent; returns the reason if the agent wants it
/// dropped.
fn ask_agent(
    nodes: &mut Nodes,
    edge: usize,
    store: &mut Store,
    slot: u16,
    view: &QueueView,
    at: Instant,
) -> Option<DropReason> {
    let (agent, port) = nodes.agent_at(edge)?;
    let held = store.get_mut(slot)?;
    // A packet that cannot be shown to an agent passes unchanged.
    match on_bytes(agent, &mut held.bytes, port, view, at) {
        Ok(Verdict::Drop(reason)) => Some(reason),
        Ok(Verdict::Mark) => (!crate::counters::mark(&mut held.bytes, Ecn::Ce)).then_some(DropReason::Early),
        Ok(Verdict::Pass) | Err(_) => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
