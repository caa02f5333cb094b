//! Hosts that are ahead of the clock: they handle a packet when its arrival is computed, not when its time comes.
//!
//! Everything that reaches a host on one line comes over this line, in order. So what a packet does there is known as
//! soon as its arrival is, if nothing else happens at the host in between: no timer of its connections expires, no
//! application acts, and no sample is taken. The host then handles the packet with the clock set to its arrival, and the
//! clock is set back. What the host sends starts at that time, and its next arrival at a place where packets of several
//! lines meet is an event. On a dumbbell two of four events are left for a packet and its ACK, the two directions of the
//! bottleneck; on a chain of one flow one is left of two.
//!
//! A packet that comes too late for this waits on the wire, and so does every packet behind it. When it arrives, the
//! host handles the rest of the wire as far as possible ([`World::run_ahead`]).
//!
//! The generic loop is the specification: it handles each arrival at its time (`World::arrival`). Tests hold the
//! samples and totals of both equal.

use crate::edge::Link;
use crate::flow::End;
use crate::line::Line;
use crate::lines::takes_time;
use crate::parcels::Parcel;
use crate::slots::Slots;
use crate::world::World;
use narrows_samples::{NoProbe, Probe};
use narrows_scenario::{DelayedAck, Sampling, Scenario};
use narrows_units::Instant;

/// What a host must watch before it goes ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    /// It may not: several interfaces, datagrams, slow readers, requests and responses, or several senders.
    Various,
    /// The timer of its one end, and that flow's application if the end is the client.
    One,
    /// The timers of its ends, all of which only receive and acknowledge at once. They have some for opening and
    /// closing only.
    Receivers,
}

/// A host that may go ahead.
#[derive(Clone, Debug)]
struct Host {
    ends: Ends,
    /// Of [`Ends::Receivers`]: no timer slot of an end is armed for an earlier time.
    timer: Instant,
    /// When the first application of its flows stops, which closes both ends of the flow.
    until: Instant,
    /// The flows of [`Ends::Receivers`].
    flows: Vec<u32>,
}

/// Which hosts may go ahead, and how far.
#[derive(Debug)]
pub(crate) struct Ahead {
    /// By node.
    hosts: Vec<Host>,
    /// By edge: the node at its far end.
    nodes: Vec<u32>,
    /// The time of the next sample.
    sample: Instant,
    /// Whether a host is ahead now: what it sends to another host is an event there, or two hosts could take turns
    /// while a packet on the way is overtaken.
    busy: bool,
    /// Arrivals that hosts handled ahead of the clock. They count as events of the run, because their number depends on
    /// how the run is divided among threads.
    handled: u64,
}

impl Ahead {
    /// No host may go ahead.
    pub(crate) const fn none() -> Self {
        Self { hosts: Vec::new(), nodes: Vec::new(), sample: Instant::ZERO, busy: false, handled: 0 }
    }

    /// Notes that all samples before `next` have been taken.
    #[inline]
    pub(crate) fn sampled(&mut self, next: Instant) {
        self.sample = next;
    }

    /// Notes that a timer at `node` was armed for `due`.
    #[inline]
    pub(crate) fn watch_timer(&mut self, node: u32, due: Instant) {
        if let Some(host) = self.hosts.get_mut(node as usize) {
            host.timer = host.timer.min(due);
        }
    }
}

/// What the ends of flows at each node must watch, and when the first of these flows stops.
fn hosts_of(scenario: &Scenario) -> Vec<Host> {
    let idle = Host { ends: Ends::Various, timer: Instant::NEVER, until: Instant::NEVER, flows: Vec::new() };
    let mut hosts = vec![idle; scenario.nodes.len()];
    let (mut counts, mut various) = (vec![0_usize; hosts.len()], vec![false; hosts.len()]);
    for flow in &scenario.flows {
        let simple = flow.tcp().is_some_and(|tcp| tcp.read_rate.is_none()) && !flow.traffic.server_sends();
        for node in [flow.from, flow.to] {
            counts[node] += 1;
            various[node] |= !simple;
            hosts[node].until = hosts[node].until.min(flow.stop);
        }
    }
    for (index, flow) in scenario.flows.iter().enumerate() {
        if counts[flow.to] > 1 && flow.tcp().is_some_and(|tcp| tcp.delayed_ack == DelayedAck::Off) {
            hosts[flow.to].flows.push(index as u32);
        }
    }
    for ((host, count), various) in hosts.iter_mut().zip(counts).zip(various) {
        host.ends = match count {
            1 if !various => Ends::One,
            2.. if !various && host.flows.len() == count => Ends::Receivers,
            _ => Ends::Various,
        };
        if host.ends != Ends::Receivers {
            host.flows = Vec::new();
        }
    }
    hosts
}

impl World<'_> {
    /// Lets hosts go ahead, where the run allows it. Agents of routers, controls and scheme parts from outside, and
    /// samples of the state of algorithms want everything in the order of time.
    pub(crate) fn allow_ahead(&mut self, foreign: bool) {
        let ordered = foreign || self.states.is_some() || self.nodes.iter().any(|node| node.agent.is_some());
        if !self.plain_hosts || ordered {
            return;
        }
        let mut hosts = hosts_of(self.scenario);
        let (mut into, mut out) = (vec![0_u32; hosts.len()], vec![0_u32; hosts.len()]);
        for edge in &self.topology.edges {
            into[edge.to] += 1;
            out[edge.from] += 1;
        }
        for (index, edge) in self.topology.edges.iter().enumerate() {
            let sends = matches!(self.links.get(index), Some(Link::Line(_))) && takes_time(self.scenario, index);
            if !sends || into[edge.from] != 1 || out[edge.from] != 1 {
                hosts[edge.from].ends = Ends::Various;
            }
        }
        for (link, edge) in self.links.iter_mut().zip(&self.topology.edges) {
            if let Link::Line(line) = link
                && hosts[edge.to].ends != Ends::Various
            {
                line.set_leads_to_host();
            }
        }
        self.ahead.nodes = self.topology.edges.iter().map(|edge| edge.to as u32).collect();
        self.ahead.hosts = hosts;
        self.ahead.sample = if self.sampling == Sampling::Off { Instant::NEVER } else { Instant::ZERO };
    }

    /// Whether the host at the far end of `edge` may handle a packet now that arrives at `at`.
    #[inline]
    fn may_go_ahead(&self, edge: usize, parcel: Parcel, at: Instant) -> bool {
        let Some(&node) = self.ahead.nodes.get(edge) else { return false };
        let Some(host) = self.ahead.hosts.get(node as usize) else { return false };
        if at >= self.ahead.sample || at >= host.until {
            return false;
        }
        let flow = parcel.flow();
        match host.ends {
            Ends::Various => false,
            Ends::Receivers => host.timer > at,
            Ends::One if parcel.along() => self.flows[flow].alarms[End::Server.index()] > at,
            Ends::One => {
                self.flows[flow].alarms[End::Client.index()] > at && self.agenda.armed(self.slots.app(flow)) > at
            }
        }
    }

    /// Lets the host at the far end of `edge` handle a packet that arrives at `at`, and that no other is in front of;
    /// returns `false`, with nothing changed, if it has to wait for its time.
    #[inline]
    pub(crate) fn go_ahead(&mut self, edge: usize, parcel: Parcel, at: Instant) -> bool {
        if self.ahead.busy || !self.may_go_ahead(edge, parcel, at) {
            return false;
        }
        self.ahead.busy = true;
        let now = core::mem::replace(&mut self.now, at);
        self.handle_ahead(parcel, &mut NoProbe);
        self.now = now;
        self.ahead.busy = false;
        true
    }

    #[inline]
    fn handle_ahead<P: Probe>(&mut self, parcel: Parcel, probe: &mut P) {
        self.packets += 1;
        self.events += 1;
        self.ahead.handled += 1;
        self.deliver(parcel, probe);
    }

    /// Lets the host at the far end of `edge`, which has just handled a packet at its time, handle those that follow it
    /// on the wire.
    #[inline(never)]
    pub(crate) fn run_ahead<P: Probe>(&mut self, edge: usize, probe: &mut P) {
        let now = self.now;
        self.look_for_timers(edge);
        // What comes on the wire meanwhile waits for the next event, so that the loop looks at the progress handle.
        let mut left = self.line(edge).map_or(0, Line::on_wire);
        while left > 0
            && let Some((parcel, at)) = self.line(edge).and_then(Line::first_on_wire)
            && self.may_go_ahead(edge, parcel, at)
            && let Link::Line(line) = &mut self.links[edge]
        {
            line.take_off_wire();
            left -= 1;
            self.now = at;
            self.handle_ahead(parcel, probe);
        }
        self.now = now;
        let next = self.line(edge).and_then(Line::first_on_wire).map_or(Instant::NEVER, |(_, at)| at);
        self.agenda.arm(Slots::link(edge), next);
    }

    /// Whether the next event of a packet on a wire, its arrival, is at its host, or lets its host go ahead.
    pub(crate) fn ends_soon(&self, parcel: Parcel) -> bool {
        for hop in self.routes.hops_from(parcel.way()) {
            let Some(edge) = hop.edge() else { return true };
            if !hop.goes_on() && !self.line(edge).is_some_and(Line::leads_to_host) {
                return false;
            }
        }
        false
    }

    fn line(&self, edge: usize) -> Option<&Line> {
        match self.links.get(edge) {
            Some(Link::Line(line)) => Some(line),
            _ => None,
        }
    }

    /// Finds the next timer of receivers again, once the time of the last one that was found has come.
    #[inline]
    fn look_for_timers(&mut self, edge: usize) {
        let Some(&node) = self.ahead.nodes.get(edge) else { return };
        let Some(host) = self.ahead.hosts.get_mut(node as usize) else { return };
        if host.ends == Ends::Receivers && host.timer <= self.now {
            let alarms = host.flows.iter().map(|&flow| self.flows[flow as usize].alarms[End::Server.index()]);
            host.timer = alarms.min().unwrap_or(Instant::NEVER);
        }
    }

    /// Stops the timer slot of a receiver that has no timer any more: it may still be armed for the handshake's, and
    /// would keep the whole host from going ahead.
    #[inline]
    pub(crate) fn rest_timer(&mut self, flow: usize, end: End) {
        let node = self.ends[flow][end.index()];
        if self.flows[flow].alarms[end.index()] < Instant::NEVER
            && self.ahead.hosts.get(node as usize).is_some_and(|host| host.ends == Ends::Receivers)
            && self.connections.get(flow, end).is_some_and(|end| end.poll_timeout() == Instant::NEVER)
        {
            self.flows[flow].alarms[end.index()] = Instant::NEVER;
            self.agenda.arm(self.slots.timer(flow, end), Instant::NEVER);
        }
    }
}

#[cfg(test)]
mod tests;
