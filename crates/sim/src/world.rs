//! The one event loop, and what each event does.

use crate::books::Books;
use crate::capture::Capture;
use crate::event::{Agenda, Slot};
use crate::flow::{End, FlowState};
use crate::flow_id::flow_of;
use crate::link::LinkDirection;
use crate::node::Nodes;
use crate::radio::Radio;
use crate::run::{Progress, RunError};
use crate::topology::Topology;
use narrows_queue::{DropReason, QueueView, Verdict};
use narrows_samples::Probe;
use narrows_scenario::Sampling;
use narrows_scheme::Port;
use narrows_units::Instant;
use narrows_wire::{Ecn, Packet};

/// Events between two looks at the progress handle.
const LOOK_EVERY: u64 = 1 << 14;

/// Where each kind of event source has its slots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots {
    edges: usize,
    flows: usize,
    channels: usize,
    plain: bool,
}

impl Slots {
    /// Slots for so many link directions, flows and 802.11 channels; the plain loop has further ones for ends of
    /// transmissions on links.
    pub(crate) const fn new(edges: usize, flows: usize, channels: usize, plain: bool) -> Self {
        Self { edges, flows, channels, plain }
    }

    /// How many slots there are.
    pub(crate) const fn count(self) -> usize {
        2 + self.edges + 4 * self.flows + self.channels + if self.plain { self.edges } else { 0 }
    }

    const SAMPLER: Slot = Slot::new(0);
    const CHANGES: Slot = Slot::new(1);

    const fn link(edge: usize) -> Slot {
        Slot::new(2 + edge)
    }

    pub(crate) const fn timer(self, flow: usize, end: End) -> Slot {
        Slot::new(2 + self.edges + 4 * flow + end.index())
    }

    pub(crate) const fn app(self, flow: usize) -> Slot {
        Slot::new(2 + self.edges + 4 * flow + 2)
    }

    pub(crate) const fn reader(self, flow: usize) -> Slot {
        Slot::new(2 + self.edges + 4 * flow + 3)
    }

    pub(crate) const fn channel(self, channel: usize) -> Slot {
        Slot::new(2 + self.edges + 4 * self.flows + channel)
    }

    const fn departure(self, edge: usize) -> Slot {
        Slot::new(2 + self.edges + 4 * self.flows + self.channels + edge)
    }
}

/// The simulated world: everything that changes during a run.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) end: Instant,
    pub(crate) agenda: Agenda,
    pub(crate) slots: Slots,
    pub(crate) topology: Topology,
    pub(crate) nodes: Nodes,
    pub(crate) links: Vec<LinkDirection>,
    pub(crate) radio: Radio,
    pub(crate) flows: Vec<FlowState>,
    /// Per flow: its `from` and its `to`, apart from the rest because every hop asks for them.
    pub(crate) ends: Vec<[u32; 2]>,
    pub(crate) factory: crate::build::Factory,
    pub(crate) capture: Option<Capture>,
    pub(crate) sampling: Sampling,
    pub(crate) plain_loop: bool,
    pub(crate) events: u64,
    pub(crate) packets: u64,
}

/// A link with the books of what happens on it, borrowed apart from the rest of the world.
macro_rules! on_link {
    ($world:ident, $edge:expr, $link:ident, $books:ident => $body:expr) => {{
        let edge = $edge;
        let $link = &mut $world.links[edge];
        let mut $books =
            Books { flows: &mut $world.flows, capture: $world.capture.as_mut(), nodes: &mut $world.nodes, edge };
        $body
    }};
}

impl World {
    /// Arms every source for its first event.
    ///
    /// Changes of links come first, so that one at time zero rules every packet.
    pub(crate) fn prepare(&mut self) {
        self.arm_changes();
        for flow in 0..self.flows.len() {
            let start = self.flows[flow].start;
            self.agenda.arm(self.slots.app(flow), start);
        }
        if let Sampling::Interval(_) = self.sampling {
            self.agenda.arm(Slots::SAMPLER, Instant::ZERO);
        }
    }

    /// Runs to the end, reporting to `probe`.
    ///
    /// # Errors
    /// [`RunError::Stopped`] where `progress` asks for it.
    pub(crate) fn run<P: Probe>(&mut self, probe: &mut P, progress: Option<&Progress>) -> Result<(), RunError> {
        while let Some((time, slot)) = self.agenda.next() {
            if time > self.end {
                break;
            }
            self.now = time;
            self.events += 1;
            if self.events.is_multiple_of(LOOK_EVERY)
                && let Some(progress) = progress
            {
                progress.set(time.as_nanos(), self.end.as_nanos());
                if progress.stopped() {
                    return Err(RunError::Stopped);
                }
            }
            self.handle(slot, probe);
        }
        self.now = self.end;
        for edge in 0..self.links.len() {
            on_link!(self, edge, link, books => link.drain(self.end, &mut books));
        }
        if let Some(progress) = progress {
            if progress.stopped() {
                return Err(RunError::Stopped);
            }
            progress.set(1, 1);
        }
        Ok(())
    }

    #[inline]
    fn handle<P: Probe>(&mut self, slot: Slot, probe: &mut P) {
        let index = slot.index();
        let edges = self.slots.edges;
        if let Some(edge) = index.checked_sub(2).filter(|&e| e < edges) {
            return self.arrival(edge, probe);
        }
        match index.checked_sub(2 + edges) {
            None if slot == Slots::SAMPLER => self.sample(probe),
            None => self.change_links(),
            Some(i) if i < 4 * self.slots.flows => match i % 4 {
                0 => self.timer(i / 4, End::Client, probe),
                1 => self.timer(i / 4, End::Server, probe),
                2 => self.wake(i / 4, probe),
                _ => self.read(i / 4, probe),
            },
            Some(i) => match i - 4 * self.slots.flows {
                channel if channel < self.slots.channels => self.air(channel, probe),
                i => self.departure(i - self.slots.channels, probe),
            },
        }
    }

    /// A packet arrives at the far end of a link.
    #[inline]
    fn arrival<P: Probe>(&mut self, edge: usize, probe: &mut P) {
        let now = self.now;
        let packet = on_link!(self, edge, link, books => link.arrive(now, &mut books));
        self.agenda.arm(Slots::link(edge), self.links[edge].next_event());
        self.watch_departure(edge);
        self.observe_queue(edge, probe);
        if let Some(packet) = packet {
            self.packets += 1;
            let node = self.topology.edges[edge].to;
            self.receive(node, packet, probe);
        }
    }

    /// The plain loop's look at a link when a transmission ends.
    fn departure<P: Probe>(&mut self, edge: usize, probe: &mut P) {
        let now = self.now;
        on_link!(self, edge, link, books => link.drain(now, &mut books));
        self.agenda.arm_no_later(Slots::link(edge), self.links[edge].next_event());
        self.agenda.arm(self.slots.departure(edge), self.links[edge].next_departure());
        self.observe_queue(edge, probe);
    }

    #[inline]
    fn watch_departure(&mut self, edge: usize) {
        if self.plain_loop {
            self.agenda.arm(self.slots.departure(edge), self.links[edge].next_departure());
        }
    }

    /// A node gets a packet from a link or a channel. Every hop passes here, and both callers are better off with a copy.
    #[inline(always)]
    pub(crate) fn receive<P: Probe>(&mut self, node: usize, packet: Packet, probe: &mut P) {
        let (flow, along) = flow_of(&packet);
        let Some(&[from, to]) = self.ends.get(flow) else { return };
        let target = if along { to } else { from } as usize;
        if target == node {
            self.deliver(flow, if along { End::Server } else { End::Client }, &packet, probe);
        } else {
            self.forward(node, target, packet, probe);
        }
    }

    /// A router sends a packet on.
    #[inline]
    fn forward<P: Probe>(&mut self, node: usize, target: usize, mut packet: Packet, probe: &mut P) {
        let Some(edge) = self.topology.next(node, target) else { return };
        let now = self.now;
        if self.nodes.has_agent(node) {
            // The agent must see the queue as it is now, with all departures up to now carried out.
            let view = if edge < self.links.len() {
                on_link!(self, edge, link, books => { link.drain(now, &mut books); link.view() })
            } else {
                self.radio.view(edge - self.links.len())
            };
            match self.nodes.on_packet(edge, &mut packet, &view, now) {
                Verdict::Pass => {}
                Verdict::Mark => packet.ip.set_ecn(Ecn::Ce),
                Verdict::Drop(reason) => return self.refuse(edge, packet, reason),
            }
            if P::ENABLED && self.sampling == Sampling::Events {
                probe.router(&self.router_row(node, self.nodes.port(edge), &view));
            }
        }
        self.send(edge, &packet, probe);
    }

    /// A router agent drops a packet: it is booked as a drop of the queue that it did not enter.
    fn refuse(&mut self, edge: usize, packet: Packet, reason: DropReason) {
        if edge >= self.links.len() {
            return self.refuse_by_radio(edge, packet, reason);
        }
        on_link!(self, edge, link, books => link.refuse(packet, reason, self.now, &mut books));
    }

    /// Hands a packet to a link, or to the interface queue of an 802.11 station.
    #[inline]
    pub(crate) fn send<P: Probe>(&mut self, edge: usize, packet: &Packet, probe: &mut P) {
        if edge >= self.links.len() {
            return self.send_by_radio(edge, packet, probe);
        }
        let now = self.now;
        on_link!(self, edge, link, books => link.offer(packet, now, &mut books));
        self.agenda.arm_no_later(Slots::link(edge), self.links[edge].next_event());
        self.watch_departure(edge);
        self.observe_queue(edge, probe);
    }

    /// Carries out changes of rate and delay that are due.
    fn change_links(&mut self) {
        let now = self.now;
        for edge in 0..self.links.len() {
            if self.links[edge].next_change() <= now {
                on_link!(self, edge, link, books => link.change(now, &mut books));
                self.agenda.arm_no_later(Slots::link(edge), self.links[edge].next_event());
                self.watch_departure(edge);
            }
        }
        self.arm_changes();
    }

    fn arm_changes(&mut self) {
        let next = self.links.iter().map(LinkDirection::next_change).min().unwrap_or(Instant::NEVER);
        self.agenda.arm(Slots::CHANGES, next);
    }

    /// Samples everything and arms the next sample.
    fn sample<P: Probe>(&mut self, probe: &mut P) {
        let now = self.now;
        if P::ENABLED {
            for edge in 0..self.links.len() {
                on_link!(self, edge, link, books => link.drain(now, &mut books));
                self.agenda.arm_no_later(Slots::link(edge), self.links[edge].next_event());
                probe.queue(&self.queue_row(edge));
            }
            for queue in self.links.len()..self.links.len() + self.radio.queue_count() {
                probe.queue(&self.queue_row(queue));
            }
            for flow in 0..self.flows.len() {
                if self.flows[flow].start <= now {
                    probe.flow(&self.flow_row(flow));
                }
            }
            self.sample_routers(probe);
        }
        if let Sampling::Interval(every) = self.sampling {
            self.agenda.arm(Slots::SAMPLER, now + every);
        }
    }

    fn sample_routers<P: Probe>(&mut self, probe: &mut P) {
        for node in 0..self.nodes.len() {
            if let (true, Some((port, view))) = (self.nodes.has_agent(node), self.fullest_queue(node)) {
                probe.router(&self.router_row(node, port, &view));
            }
        }
    }

    /// The fullest of the queues that a router drains into, which is the one that its commands would come from.
    fn fullest_queue(&self, node: usize) -> Option<(Port, QueueView)> {
        let mut fullest: Option<(Port, QueueView)> = None;
        for edge in self.topology.leaving(node) {
            let view = self.links.get(edge).map_or_else(|| self.radio_view(edge), LinkDirection::view);
            if fullest.as_ref().is_none_or(|(_, f)| view.occupancy() > f.occupancy()) {
                fullest = Some((self.nodes.port(edge), view));
            }
        }
        fullest
    }

    /// Samples a flow where every event is sampled.
    #[inline]
    pub(crate) fn observe_flow<P: Probe>(&self, flow: usize, probe: &mut P) {
        if P::ENABLED && self.sampling == Sampling::Events {
            probe.flow(&self.flow_row(flow));
        }
    }

    #[inline]
    fn observe_queue<P: Probe>(&self, edge: usize, probe: &mut P) {
        if P::ENABLED && self.sampling == Sampling::Events {
            probe.queue(&self.queue_row(edge));
        }
    }
}
