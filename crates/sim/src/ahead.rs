//! Hosts that are ahead of the clock: they handle a packet when its arrival is computed, not when its time comes.
//!
//! Everything that reaches a host on one line comes over this line, in order. So what a packet does there is known as
//! soon as its arrival is, if nothing else happens at the host in between: no timer of its connections expires, no
//! application acts, and no sample is taken. The host then handles the packet with the clock set to its arrival, and
//! the clock is set back. What the host sends starts at that time, and its next arrival at a place where packets of
//! several lines meet is an event. On a dumbbell two of four events are left for a packet and its ACK, the two
//! directions of the bottleneck. On a chain of one flow one is left for all packets on the wire.
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
use std::collections::BTreeMap;

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

/// The far end of a direction of a link.
#[derive(Clone, Copy, Debug)]
struct Host {
    ends: Ends,
    /// Of [`Ends::Receivers`]: no timer slot of an end is armed for an earlier time.
    timer: Instant,
    /// When the first application of its flows stops, which closes both ends of the flow.
    until: Instant,
}

impl Host {
    /// None that may go ahead.
    const VARIOUS: Self = Self { ends: Ends::Various, timer: Instant::NEVER, until: Instant::NEVER };
}

/// Which hosts may go ahead, and how far.
#[derive(Debug)]
pub(crate) struct Ahead {
    /// By edge: the host at its far end. Hosts that go ahead have one such edge.
    hosts: Vec<Host>,
    /// By node: the edge that leads to it, of [`Ends::Receivers`]; [`NO_EDGE`] of any other.
    edges: Vec<u32>,
    /// The flows at [`Ends::Receivers`], by edge.
    flows: BTreeMap<usize, Vec<u32>>,
    /// The time of the next sample.
    sample: Instant,
    /// Whether a host is ahead now: what it sends to another host is an event there, or two hosts could take turns
    /// while a packet on the way is overtaken.
    busy: bool,
    /// Arrivals that hosts handled ahead of the clock. They count as events of the run, because their number depends on
    /// how the run is divided among threads.
    handled: u64,
}

/// No edge leads to receivers.
const NO_EDGE: u32 = u32::MAX;

impl Ahead {
    /// No host may go ahead.
    pub(crate) fn none() -> Self {
        let (hosts, edges, flows) = (Vec::new(), Vec::new(), BTreeMap::new());
        Self { hosts, edges, flows, sample: Instant::ZERO, busy: false, handled: 0 }
    }

    /// Notes that all samples before `next` have been taken.
    #[inline]
    pub(crate) fn sampled(&mut self, next: Instant) {
        self.sample = next;
    }

    /// Notes that a timer at `node` was armed for `due`.
    #[inline]
    pub(crate) fn watch_timer(&mut self, node: u32, due: Instant) {
        if let Some(&edge) = self.edges.get(node as usize)
            && let Some(host) = self.hosts.get_mut(edge as usize)
        {
            host.timer = host.timer.min(due);
        }
    }
}

/// By node: what the ends of flows there must watch, and when the first of these flows stops; and the flows that only
/// receive there.
fn hosts_of(scenario: &Scenario) -> (Vec<Host>, BTreeMap<usize, Vec<u32>>) {
    let mut hosts = vec![Host::VARIOUS; scenario.nodes.len()];
    let (mut counts, mut various) = (vec![0_usize; hosts.len()], vec![false; hosts.len()]);
    for flow in &scenario.flows {
        let simple = flow.tcp().is_some_and(|tcp| tcp.read_rate.is_none()) && !flow.traffic.server_sends();
        for node in [flow.from, flow.to] {
            counts[node] += 1;
            various[node] |= !simple;
            hosts[node].until = hosts[node].until.min(flow.stop);
        }
    }
    let mut flows: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        if counts[flow.to] > 1 && flow.tcp().is_some_and(|tcp| tcp.delayed_ack == DelayedAck::Off) {
            flows.entry(flow.to).or_default().push(index as u32);
        }
    }
    for (node, host) in hosts.iter_mut().enumerate().filter(|&(node, _)| !various[node]) {
        let receive = flows.get(&node).map_or(0, Vec::len);
        host.ends = match counts[node] {
            1 => Ends::One,
            count if count > 1 && receive == count => Ends::Receivers,
            _ => Ends::Various,
        };
    }
    (hosts, flows)
}

impl World<'_> {
    /// Lets hosts go ahead, where the run allows it. Agents of routers, controls and scheme parts from outside, and
    /// samples of the state of algorithms want everything in the order of time.
    pub(crate) fn allow_ahead(&mut self, foreign: bool) {
        let ordered = foreign || self.states.is_some() || self.nodes.iter().any(|node| node.agent.is_some());
        if !self.plain_hosts || ordered {
            return;
        }
        let (mut hosts, mut flows) = hosts_of(self.scenario);
        let edges = &self.topology.edges;
        let (mut into, mut out) = (vec![0_u32; hosts.len()], vec![0_u32; hosts.len()]);
        for edge in edges {
            into[edge.to] += 1;
            out[edge.from] += 1;
        }
        for (index, edge) in edges.iter().enumerate() {
            let sends = matches!(self.links.get(index), Some(Link::Line(_))) && takes_time(self.scenario, index);
            if !sends || into[edge.from] != 1 || out[edge.from] != 1 {
                hosts[edge.from] = Host::VARIOUS;
            }
        }
        self.ahead.hosts = vec![Host::VARIOUS; self.links.len()];
        self.ahead.edges = vec![NO_EDGE; hosts.len()];
        for (edge, link) in self.links.iter_mut().enumerate() {
            let node = edges[edge].to;
            if let Link::Line(line) = link
                && hosts[node].ends != Ends::Various
            {
                line.set_leads_to_host();
                self.ahead.hosts[edge] = hosts[node];
                if hosts[node].ends == Ends::Receivers {
                    self.ahead.edges[node] = edge as u32;
                    self.ahead.flows.extend(flows.remove(&node).map(|flows| (edge, flows)));
                }
            }
        }
        self.ahead.sample = if self.sampling == Sampling::Off { Instant::NEVER } else { Instant::ZERO };
    }

    /// Whether the host at the far end of `edge` may handle a packet now that arrives at `at`; the application of its
    /// one client acts at `app`.
    #[inline]
    fn may_go_ahead(&self, edge: usize, parcel: Parcel, at: Instant, app: impl Fn(&Self) -> Instant) -> bool {
        let Some(host) = self.ahead.hosts.get(edge) else { return false };
        if at >= self.ahead.sample || at >= host.until {
            return false;
        }
        match host.ends {
            Ends::Various => false,
            Ends::Receivers => host.timer > at,
            Ends::One => {
                let alarms = &self.flows[parcel.flow()].alarms;
                if parcel.along() {
                    alarms[End::Server.index()] > at
                } else {
                    alarms[End::Client.index()] > at && app(self) > at
                }
            }
        }
    }

    /// Lets the host at the far end of `edge` handle a packet that arrives at `at`, and that no other is in front of;
    /// returns `false`, with nothing changed, if it has to wait for its time.
    #[inline]
    pub(crate) fn go_ahead(&mut self, edge: usize, parcel: Parcel, at: Instant) -> bool {
        let app = |world: &Self| world.agenda.armed(world.slots.app(parcel.flow()));
        if self.ahead.busy || !self.may_go_ahead(edge, parcel, at, app) {
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
        let Some(line) = self.line(edge) else { return };
        let Some((parcel, _)) = line.first_on_wire() else { return };
        // What comes on the wire meanwhile waits for the next event, so that the loop looks at the progress handle.
        let mut left = line.on_wire();
        // Segments do not move the application's time, and a client that goes ahead is alone at its host.
        let app = self.agenda.armed(self.slots.app(parcel.flow()));
        while left > 0
            && let Some((parcel, at)) = self.line(edge).and_then(Line::first_on_wire)
            && self.may_go_ahead(edge, parcel, at, |_| app)
            && let Link::Line(line) = &mut self.links[edge]
        {
            line.take_off_wire();
            left -= 1;
            self.now = at;
            self.handle_ahead(parcel, probe);
        }
        self.now = now;
        if let Some(Link::Line(line)) = self.links.get_mut(edge) {
            line.rest();
        }
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
        let Some(host) = self.ahead.hosts.get_mut(edge) else { return };
        if host.ends == Ends::Receivers
            && host.timer <= self.now
            && let Some(flows) = self.ahead.flows.get(&edge)
        {
            let alarms = flows.iter().map(|&flow| self.flows[flow as usize].alarms[End::Server.index()]);
            host.timer = alarms.min().unwrap_or(Instant::NEVER);
        }
    }

    /// Stops the timer slot of a receiver that has no timer any more: it may still be armed for the handshake's, and
    /// would keep the whole host from going ahead.
    #[inline]
    pub(crate) fn rest_timer(&mut self, flow: usize, end: End) {
        if self.flows[flow].alarms[end.index()] < Instant::NEVER
            && self.ahead.edges.get(self.ends[flow][end.index()] as usize).is_some_and(|&edge| edge != NO_EDGE)
            && self.connections.get(flow, end).is_some_and(|end| end.poll_timeout() == Instant::NEVER)
        {
            self.flows[flow].alarms[end.index()] = Instant::NEVER;
            self.agenda.arm(self.slots.timer(flow, end), Instant::NEVER);
        }
    }
}

#[cfg(test)]
mod tests;
