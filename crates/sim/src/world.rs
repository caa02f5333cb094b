//! The one event loop, and what each event does.

use crate::capture::Capture;
use crate::connections::Connections;
use crate::edge::Link;
use crate::event::{Agenda, Slot};
use crate::flow::{End, FlowState};
use crate::line::Loss;
use crate::losses::Losses;
use crate::parcels::{Parcel, Parcels};
use crate::radio::Radio;
use crate::routes::Routes;
use crate::run::RunError;
use crate::slots::{Slots, Source};
use narrows_fabric::Nodes;
use narrows_fabric::Progress;
use narrows_fabric::Topology;
use narrows_fabric::flow_of;
use narrows_queue::{DropReason, Verdict};
use narrows_samples::Probe;
use narrows_scenario::{Sampling, Scenario};
use narrows_units::Instant;
use narrows_wire::{Ecn, Packet};
use std::sync::Arc;

/// Events between two checks of the progress handle. It is also checked after each sample, which writes a row for
/// every flow and queue.
const LOOK_EVERY: u64 = 1 << 14;

/// The state of the simulation: everything that changes during a run.
#[derive(Debug)]
pub(crate) struct World<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) now: Instant,
    pub(crate) end: Instant,
    pub(crate) agenda: Agenda,
    pub(crate) slots: Slots,
    pub(crate) topology: Arc<Topology>,
    pub(crate) nodes: Nodes,
    pub(crate) links: Vec<Link>,
    /// Per direction of a link, whether its host's senders are bounded by what waits in it; empty if none is.
    pub(crate) small_queues: Vec<bool>,
    pub(crate) routes: Routes,
    /// Per flow: its `from` and its `to`.
    pub(crate) ends: Vec<[u32; 2]>,
    pub(crate) parcels: Parcels,
    pub(crate) losses: Losses,
    pub(crate) radio: Radio,
    pub(crate) flows: Vec<FlowState>,
    /// Number of flows that the scenario lists; transfers of workloads follow them, and have no samples.
    pub(crate) listed: usize,
    pub(crate) connections: Connections,
    pub(crate) factory: crate::factory::Factory,
    pub(crate) capture: Option<Capture>,
    pub(crate) sampling: Sampling,
    /// The state of algorithms as samples, if the scenario asks for it.
    pub(crate) states: Option<Box<crate::states::StateSampler>>,
    pub(crate) plain_loop: bool,
    /// See [`has_plain_hosts`](Self::has_plain_hosts).
    pub(crate) plain_hosts: bool,
    /// Whether each hop is a line: there is no other direction of a link, and no 802.11 channel.
    pub(crate) all_lines: bool,
    /// The scenario's test case, if it has one.
    pub(crate) case: Option<Box<crate::case::CaseRun>>,
    pub(crate) events: u64,
    /// Number of events at which the progress handle is checked next.
    pub(crate) look_at: u64,
    pub(crate) packets: u64,
    /// What this world has of a run on several threads.
    pub(crate) share: Option<Box<crate::parts::Share>>,
    /// Which hosts may go ahead of the clock.
    pub(crate) ahead: crate::ahead::Ahead,
    /// See [`has_many_flows`](Self::has_many_flows).
    pub(crate) many_flows: bool,
    /// With many flows, for each the edges to its `from` and to its `to`.
    pub(crate) lasts: Vec<u32>,
    /// Packets whose hosts are visited soon.
    pub(crate) visits: crate::visits::Visits,
}

/// Matches a direction of a link by its kind: a line, or a link together with the `Recorder` of what happens
/// on it, borrowed separately from the rest of the `World`.
macro_rules! on_link {
    ($world:ident, $edge:expr, $line:ident => $simple:expr, ($link:ident, $recorder:ident) => $body:expr) => {{
        let edge = $edge;
        match &mut $world.links[edge] {
            $crate::edge::Link::Line($line) => $simple,
            $crate::edge::Link::Queue($link) => {
                let mut $recorder = $crate::recorder::Recorder {
                    flows: &mut $world.flows,
                    capture: $world.capture.as_mut(),
                    nodes: &mut $world.nodes,
                    edge,
                };
                $body
            }
        }
    }};
}

pub(crate) use on_link;

impl World<'_> {
    /// Arms every source for its first event.
    pub(crate) fn prepare(&mut self) {
        self.plain_hosts = self.has_plain_hosts();
        self.all_lines = self.topology.edges.len() == self.links.len()
            && self.links.iter().all(|link| matches!(link, Link::Line(_)));
        self.arm_changes();
        for flow in 0..self.flows.len() {
            let start = self.flows[flow].start;
            self.agenda.arm(self.slots.app(flow), start);
        }
        self.watch_departures();
        if let Sampling::Interval(_) = self.sampling {
            self.agenda.arm(self.slots.sampler(), Instant::ZERO);
        }
        if self.case.is_some() {
            self.agenda.arm(self.slots.case(), Instant::ZERO);
        }
    }

    /// Runs to the end, reporting to `probe`.
    ///
    /// # Errors
    /// [`RunError::Stopped`] if `progress` asks for it, [`RunError::Samples`] if `probe` lost samples.
    pub(crate) fn run<P: Probe>(&mut self, probe: &mut P, progress: Option<&Progress>) -> Result<(), RunError> {
        loop {
            let next = self.agenda.next();
            if self.visits.come_before(next.map_or(Instant::NEVER, |(time, _)| time)) {
                self.visit_all();
                continue;
            }
            let Some((time, slot)) = next.filter(|&(time, _)| time <= self.end) else { break };
            self.now = time;
            self.events += 1;
            if self.events >= self.look_at
                && let Some(fault) = probe.fault()
            {
                return Err(fault.clone().into());
            }
            if self.events >= self.look_at
                && let Some(progress) = progress
            {
                self.look_at = self.events + LOOK_EVERY;
                progress.set(time.as_nanos(), self.end.as_nanos());
                if progress.stopped() {
                    return Err(RunError::Stopped);
                }
            }
            self.handle(slot, probe);
            self.visit_first();
        }
        self.now = self.end;
        self.end_trains();
        for edge in 0..self.links.len() {
            if (edge as u64).is_multiple_of(LOOK_EVERY) && progress.is_some_and(Progress::stopped) {
                return Err(RunError::Stopped);
            }
            on_link!(self, edge,
                line => line.close_books(self.end),
                (link, recorder) => link.drain(self.end, &mut recorder));
        }
        self.radio.catch_up(self.end, &mut self.flows);
        self.losses.count(self.end, &mut self.flows);
        self.finish_case();
        if let Some(progress) = progress {
            if progress.stopped() {
                return Err(RunError::Stopped);
            }
            progress.set(1, 1);
        }
        Ok(())
    }

    /// Frees state that the totals do not need, because computing them takes memory.
    pub(crate) fn put_away(&mut self) {
        self.agenda = Agenda::idle();
        self.parcels = Parcels::default();
        self.connections.put_away();
    }

    #[inline(always)]
    pub(crate) fn handle<P: Probe>(&mut self, slot: Slot, probe: &mut P) {
        match self.slots.edge(slot) {
            Some(edge) => self.arrival(edge, probe),
            None => self.handle_source(slot, probe),
        }
    }

    /// Handles an event of any source.
    #[inline(never)]
    fn handle_source<P: Probe>(&mut self, slot: Slot, probe: &mut P) {
        match self.slots.source(slot) {
            Source::Link(edge) => self.arrival_of_any(edge, probe),
            Source::Timer(flow, end) => {
                self.timer(flow, end, probe);
                if self.has_many_flows() {
                    self.prefetch_next();
                }
                self.look_after(flow, end, probe);
            }
            Source::App(flow) => {
                self.wake(flow, probe);
                self.look_after(flow, End::Client, probe);
            }
            Source::Reader(flow) => self.read(flow, probe),
            Source::Channel(channel) => self.air(channel, probe),
            Source::Departure(edge) => self.departure(edge, probe),
            Source::Changes => self.change_links(),
            Source::Case => self.look(probe),
            Source::Sampler => self.sample(probe),
        }
    }

    /// A packet arrives at the far end of a link.
    #[inline(always)]
    fn arrival<P: Probe>(&mut self, edge: usize, probe: &mut P) {
        let Link::Line(line) = &mut self.links[edge] else { return self.arrival_of_any(edge, probe) };
        let host = line.leads_to_host();
        let (parcel, next) = line.take_off_wire();
        self.agenda.arm_next(Slots::link(edge), next, line.hint());
        if self.has_many_flows() {
            self.prefetch(edge);
            self.prefetch_next();
        }
        self.packets += 1;
        if host {
            // All packets of such a line end there.
            self.deliver(parcel, probe);
            self.run_ahead(edge, probe);
        } else {
            self.receive(parcel, probe);
        }
    }

    /// A packet arrives at the far end of a link that is not a line.
    #[inline(never)]
    fn arrival_of_any<P: Probe>(&mut self, edge: usize, probe: &mut P) {
        if let Some(parcel) = self.arrival_packet_by_packet(edge, probe) {
            self.packets += 1;
            self.receive(parcel, probe);
        }
    }

    /// Stores a packet that has arrived at a node. Its ports identify its flow.
    pub(crate) fn keep_at(&mut self, node: usize, packet: &Packet) -> Option<Parcel> {
        let (flow, along) = flow_of(packet);
        let way = self.routes.way_from(flow, along, node, &self.topology)?;
        Some(self.parcels.keep(packet, flow, along, way))
    }

    /// Handles a packet that a node gets from a link or a channel: a host hands it to its flow, a router forwards it.
    #[inline(always)]
    pub(crate) fn receive<P: Probe>(&mut self, mut parcel: Parcel, probe: &mut P) {
        let Some(edge) = self.routes.hop(parcel.way()).edge() else { return self.deliver(parcel, probe) };
        if self.nodes.has_agent_at(edge) && !self.ask_agent(edge, &mut parcel, probe) {
            return;
        }
        if self.all_lines { self.send_over(edge, parcel, self.now) } else { self.send_any(parcel, probe) }
    }

    /// Shows a packet to the agent of a router; returns whether it is forwarded.
    #[inline(never)]
    fn ask_agent<P: Probe>(&mut self, edge: usize, parcel: &mut Parcel, probe: &mut P) -> bool {
        let now = self.now;
        // The agent must see the queue as it is now, with all departures up to now carried out.
        let view = if edge < self.links.len() {
            on_link!(self, edge,
                line => { line.settle(now); line.view() },
                (link, recorder) => { link.drain(now, &mut recorder); link.view() })
        } else {
            self.radio.view(edge - self.links.len())
        };
        let nodes = &mut self.nodes;
        let verdict = self.parcels.change(parcel, |packet| {
            let verdict = nodes.on_packet(edge, packet, &view, now);
            if verdict == Verdict::Mark {
                packet.ip.set_ecn(Ecn::Ce);
            }
            verdict
        });
        if let Verdict::Drop(reason) = verdict {
            self.refuse(edge, *parcel, reason);
            return false;
        }
        let node = self.topology.edges[edge].from;
        if P::ENABLED && self.sampling == Sampling::Events && self.nodes.reports(node) {
            probe.router(&self.router_row(node, self.nodes.port(edge), &view));
        }
        true
    }

    /// Counts a packet that a router agent drops as a drop of the queue that it did not enter.
    fn refuse(&mut self, edge: usize, parcel: Parcel, reason: DropReason) {
        let packet = self.parcels.take(parcel);
        if edge >= self.links.len() {
            return self.refuse_by_radio(edge, packet, reason);
        }
        let now = self.now;
        on_link!(self, edge,
            line => {
                line.refuse(reason);
                self.losses.note(parcel, now, now, &mut self.flows);
            },
            (link, recorder) => link.refuse(packet, reason, now, &mut recorder));
    }

    /// Hands a packet to its next hop: a link, or the interface queue of an 802.11 station.
    #[inline]
    pub(crate) fn send<P: Probe>(&mut self, parcel: Parcel, probe: &mut P) {
        if self.all_lines {
            return self.send_by_lines(parcel, self.now);
        }
        self.send_any(parcel, probe);
    }

    /// [`send`](Self::send), for callers that send most packets.
    #[inline(always)]
    pub(crate) fn forward<P: Probe>(&mut self, parcel: Parcel, probe: &mut P) {
        if self.all_lines { self.send_at_once(parcel, self.now) } else { self.send_any(parcel, probe) }
    }

    /// Hands a packet to its next hop of any kind.
    #[inline(never)]
    fn send_any<P: Probe>(&mut self, parcel: Parcel, probe: &mut P) {
        let Some(edge) = self.routes.hop(parcel.way()).edge() else { return self.parcels.release(parcel) };
        match self.links.get(edge) {
            Some(Link::Line(_)) => self.send_by_lines(parcel, self.now),
            Some(Link::Queue(_)) => self.send_packet_by_packet(edge, parcel, probe),
            None => {
                let packet = self.parcels.take(parcel);
                self.send_by_radio(edge, &packet, probe);
            }
        }
    }

    /// Sends a packet at `at`, now or later, over a line and the lines folded into it, up to the first arrival that is
    /// an event.
    #[inline(never)]
    pub(crate) fn send_by_lines(&mut self, parcel: Parcel, at: Instant) {
        self.send_at_once(parcel, at);
    }

    /// [`send_by_lines`](Self::send_by_lines), for callers that send most packets.
    #[inline(always)]
    pub(crate) fn send_at_once(&mut self, parcel: Parcel, at: Instant) {
        let Some(edge) = self.routes.hop(parcel.way()).edge() else { return self.parcels.release(parcel) };
        self.send_over(edge, parcel, at);
    }

    /// The same for a packet whose next line is `edge`.
    #[inline(always)]
    fn send_over(&mut self, edge: usize, parcel: Parcel, at: Instant) {
        if self.ride(edge, parcel, at) {
            return;
        }
        if self.has_trains(edge) { self.send_beside_train(edge, parcel, at) } else { self.send_hop_by_hop(parcel, at) }
    }

    /// Like [`send_by_lines`](Self::send_by_lines), line by line, without a train.
    #[inline(never)]
    pub(crate) fn send_hop_by_hop(&mut self, mut parcel: Parcel, mut at: Instant) {
        for hop in self.routes.hops_from(parcel.way()) {
            let Some(edge) = hop.edge() else { return self.parcels.release(parcel) };
            let Some(Link::Line(line)) = self.links.get_mut(edge) else { return };
            match line.offer(parcel.size(), at) {
                Ok(arrival) => at = arrival,
                Err(loss) => return self.lose(parcel, loss, at),
            }
            parcel = parcel.advanced();
            // What arrives after the end of the run is neither forwarded nor kept: many flows close at that time.
            if at > self.end {
                return self.parcels.release(parcel);
            }
            if !hop.goes_on() {
                return self.put_on_wire(edge, parcel, at);
            }
            self.packets += 1;
        }
    }

    /// Records a packet that is dropped or corrupted on a line; it reaches the line at `at`.
    #[cold]
    fn lose(&mut self, parcel: Parcel, loss: Loss, at: Instant) {
        let at = if let Loss::Corrupted(start) = loss { start } else { at };
        self.losses.note(parcel, at, self.now, &mut self.flows);
        if !parcel.along() {
            self.flows[parcel.flow()].ack_lost = true;
        }
        self.parcels.release(parcel);
    }
}
