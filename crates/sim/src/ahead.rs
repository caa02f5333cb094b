//! Hosts that are ahead of the clock: they handle a packet when its arrival is computed, not when its time comes.
//!
//! Everything that reaches a host on one line comes over this line, in order. So what a packet does there is known as
//! soon as its arrival is, if nothing else happens at the host in between: no application acts, and no sample is taken.
//! A timer of a host with one connection that is due before expires ahead of the clock too, so that a paced sender need
//! not wait for its pacer; with several connections it holds the host back. The host then handles the packet with the
//! clock set to its arrival, and the clock is set back. What the host sends starts at that time, and its next arrival
//! at a place where packets of several lines meet is an event. On a dumbbell two of four events are left for a packet
//! and its ACK, the two directions of the bottleneck. On a chain of one flow one is left for all packets on the wire.
//!
//! A packet that comes too late for this waits on the wire, and so does every packet behind it. When it arrives, the
//! host handles the rest of the wire as far as possible ([`World::run_ahead`]).
//!
//! The slot of a timer that expired ahead stays armed for the past. Its event finds nothing to do, and arms the slot
//! for the alarm of that time: once in the time that the host is ahead, not once per packet.
//!
//! The generic loop is the specification: it handles each arrival at its time (`World::arrival`). Tests hold the
//! samples and totals of both equal.

use crate::edge::Link;
use crate::flow::End;
use crate::line::{FarEnd, Line};
use crate::lines::takes_time;
use crate::parcels::Parcel;
use crate::slots::Slots;
use crate::world::World;
use narrows_samples::{NoProbe, Probe};
use narrows_scenario::{DelayedAck, Sampling, Scenario};
use narrows_units::Instant;

mod alarms;

use alarms::Alarms;

/// What a host must watch before it goes ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    /// It may not: several interfaces, datagrams, slow readers, requests and responses, or too many senders.
    Various,
    /// The timer of its one end, and that flow's application if the end is the client.
    One,
    /// The timers of its ends and the applications of its clients ([`Alarms`]).
    Several,
}

/// The far end of a direction of a link.
#[derive(Clone, Copy, Debug)]
struct Host {
    ends: Ends,
    /// Of [`Ends::Several`]: the earliest of its alarms.
    alarm: Instant,
    /// When the first application of its flows stops, which closes both ends of the flow.
    until: Instant,
}

impl Host {
    /// None that may go ahead.
    const VARIOUS: Self = Self { ends: Ends::Various, alarm: Instant::NEVER, until: Instant::NEVER };
}

/// Which hosts may go ahead, and how far.
#[derive(Debug)]
pub(crate) struct Ahead {
    /// By edge: the host at its far end. Hosts that go ahead have one such edge.
    hosts: Vec<Host>,
    /// By node: the edge that leads to it, of [`Ends::Several`]; [`NO_EDGE`] of any other.
    edges: Vec<u32>,
    alarms: Alarms,
    /// The time of the next sample.
    sample: Instant,
    /// Whether a host is ahead now: what it sends to another host is an event there, or two hosts could take turns
    /// while a packet on the way is overtaken.
    busy: bool,
    /// Arrivals that hosts handled ahead of the clock. They count as events of the run, because their number depends on
    /// how the run is divided among threads.
    handled: u64,
}

/// Most ends of a host that goes ahead although some send or delay their ACKs. With 100 senders on each host, W5 with
/// 10,000 flows takes about 8 % more time if they go ahead; 32 itself is not tuned.
const MOST_ENDS: usize = 32;

/// No edge leads to a host with several ends that may go ahead.
const NO_EDGE: u32 = u32::MAX;

impl Ahead {
    /// No host may go ahead.
    pub(crate) fn none() -> Self {
        let (hosts, edges, alarms) = (Vec::new(), Vec::new(), Alarms::default());
        Self { hosts, edges, alarms, sample: Instant::ZERO, busy: false, handled: 0 }
    }

    /// Notes that all samples before `next` have been taken.
    #[inline]
    pub(crate) fn sampled(&mut self, next: Instant) {
        self.sample = next;
    }

    /// Notes that the earliest alarm at `node` is at `alarm`, if it is watched.
    fn set_alarm(&mut self, node: u32, alarm: Option<Instant>) {
        if let Some(alarm) = alarm
            && let Some(&edge) = self.edges.get(node as usize)
            && let Some(host) = self.hosts.get_mut(edge as usize)
        {
            host.alarm = alarm;
        }
    }
}

/// By node: what the ends of flows there must watch, and when the first of these flows stops.
fn hosts_of(scenario: &Scenario) -> Vec<Host> {
    let mut hosts = vec![Host::VARIOUS; scenario.nodes.len()];
    let (mut counts, mut various) = (vec![0_usize; hosts.len()], vec![false; hosts.len()]);
    let mut at_once = vec![0_usize; hosts.len()];
    for flow in &scenario.flows {
        let simple = flow.tcp().is_some_and(|tcp| tcp.read_rate.is_none()) && !flow.traffic.server_sends();
        at_once[flow.to] += usize::from(flow.tcp().is_some_and(|tcp| tcp.delayed_ack == DelayedAck::Off));
        for node in [flow.from, flow.to] {
            counts[node] += 1;
            various[node] |= !simple;
            hosts[node].until = hosts[node].until.min(flow.stop);
        }
    }
    for (node, host) in hosts.iter_mut().enumerate().filter(|&(node, _)| !various[node]) {
        host.ends = match counts[node] {
            0 => Ends::Various,
            1 => Ends::One,
            count if count <= MOST_ENDS || at_once[node] == count => Ends::Several,
            _ => Ends::Various,
        };
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
                self.ahead.hosts[edge] = hosts[node];
                let several = hosts[node].ends == Ends::Several;
                line.set_far_end(if several { FarEnd::SeveralEnds } else { FarEnd::OneEnd });
                if several {
                    self.ahead.edges[node] = edge as u32;
                }
            }
        }
        self.note_ways_home();
        self.ahead.sample = if self.sampling == Sampling::Off { Instant::NEVER } else { Instant::ZERO };
        let watched: Vec<bool> = self.ahead.edges.iter().map(|&edge| edge != NO_EDGE).collect();
        self.ahead.alarms = Alarms::new(&self.ends, &watched);
        for flow in 0..self.flows.len() {
            self.watch_app(flow, self.agenda.armed(self.slots.app(flow)));
        }
    }

    /// Notes which trains lead to a host that may go ahead, and to no other, and which flows have such a way back.
    fn note_ways_home(&mut self) {
        for edge in 0..self.links.len() {
            if let Some(Link::Line(line)) = self.links.get(edge)
                && let (1.., last) = line.fold()
                && self.line(last).is_some_and(Line::leads_to_host)
                && let Some(Link::Line(line)) = self.links.get_mut(edge)
            {
                line.set_home();
            }
        }
        for flow in 0..self.flows.len() {
            let first = self.routes.hop(self.routes.start(flow, false)).edge();
            self.flows[flow].rides_home = first.and_then(|edge| self.line(edge)).is_some_and(Line::is_home);
        }
    }

    /// Whether the host at the far end of `edge` may handle a packet now that arrives at `at`.
    #[inline]
    fn may_go_ahead(&self, (edge, far_end): (usize, FarEnd), parcel: Parcel, at: Instant) -> bool {
        if at >= self.ahead.sample {
            return false;
        }
        match far_end {
            FarEnd::InTime => false,
            FarEnd::SeveralEnds => self.ahead.hosts.get(edge).is_some_and(|host| host.alarm > at && host.until > at),
            // The application acts when its flow stops, at the latest, which concerns both ends.
            FarEnd::OneEnd => {
                let flow = &self.flows[parcel.flow()];
                let end = if parcel.along() { End::Server } else { End::Client };
                flow.alarms[end.index()] > at && flow.app_at > at
            }
        }
    }

    /// Lets the timer of the one end at a host expire ahead of the clock as often as it does before `at`, when a packet
    /// arrives there that may not be handled yet. Returns whether it may be then; the clock is set forward.
    #[inline]
    fn expire_before<P: Probe>(&mut self, far_end: FarEnd, (parcel, at): (Parcel, Instant), probe: &mut P) -> bool {
        let (flow, end) = (parcel.flow(), if parcel.along() { End::Server } else { End::Client });
        if far_end != FarEnd::OneEnd || at >= self.ahead.sample || at >= self.flows[flow].app_at {
            return false;
        }
        loop {
            let alarm = self.flows[flow].alarms[end.index()];
            if alarm >= at {
                return alarm > at;
            }
            self.now = alarm;
            self.events += 1;
            self.ahead.handled += 1;
            self.expire(flow, end, probe);
        }
    }

    /// Lets a host, at the far end of an edge, handle a packet that arrives at `at`, and that no other is in front of;
    /// returns `false`, with the packet not handled, if it has to wait for its time.
    #[inline]
    pub(crate) fn go_ahead(&mut self, host: (usize, FarEnd), parcel: Parcel, at: Instant) -> bool {
        self.go_ahead_with(host, parcel, at, |world| world.handle_ahead(parcel, &mut NoProbe))
    }

    /// The same, where `handle` handles the packet; of `parcel` only flow and direction count.
    #[inline(always)]
    pub(crate) fn go_ahead_with(
        &mut self,
        host: (usize, FarEnd),
        parcel: Parcel,
        at: Instant,
        handle: impl FnOnce(&mut Self),
    ) -> bool {
        if self.ahead.busy {
            return false;
        }
        if !self.may_go_ahead(host, parcel, at) && !self.expire_ahead(host.1, (parcel, at)) {
            return false;
        }
        self.ahead.busy = true;
        let now = core::mem::replace(&mut self.now, at);
        handle(self);
        self.now = now;
        self.ahead.busy = false;
        true
    }

    /// [`expire_before`](Self::expire_before) at a host that is ahead alone; the clock stays.
    #[inline(never)]
    fn expire_ahead(&mut self, far_end: FarEnd, (parcel, at): (Parcel, Instant)) -> bool {
        self.ahead.busy = true;
        let now = self.now;
        let free = self.expire_before(far_end, (parcel, at), &mut NoProbe);
        self.now = now;
        self.ahead.busy = false;
        free
    }

    /// Whether a host is ahead now.
    #[inline]
    pub(crate) fn is_ahead(&self) -> bool {
        self.ahead.busy
    }

    #[inline(always)]
    fn handle_ahead<P: Probe>(&mut self, parcel: Parcel, probe: &mut P) {
        self.count_ahead();
        self.deliver(parcel, probe);
    }

    /// Counts a packet that a host handles ahead of the clock.
    #[inline(always)]
    pub(crate) fn count_ahead(&mut self) {
        self.packets += 1;
        self.events += 1;
        self.ahead.handled += 1;
    }

    /// Lets the host at the far end of `edge`, which has just handled a packet at its time, handle those that follow it
    /// on the wire.
    #[inline(never)]
    pub(crate) fn run_ahead<P: Probe>(&mut self, edge: usize, probe: &mut P) {
        let now = self.now;
        let Some(line) = self.line(edge) else { return };
        if !line.is_occupied() {
            return;
        }
        let host = (edge, line.far_end());
        // What comes on the wire meanwhile waits for the next event, so that the loop looks at the progress handle.
        let mut left = line.on_wire();
        loop {
            left = self.handle_wire(host, left, probe);
            if left == 0 || !self.expire_before_first(host, probe) {
                break;
            }
        }
        self.now = now;
        if let Some(Link::Line(line)) = self.links.get_mut(edge) {
            line.rest();
        }
        let (parcel, next) = self.line(edge).and_then(Line::first_on_wire).unwrap_or((Parcel::NONE, Instant::NEVER));
        self.agenda.arm_with(Slots::link(edge), next, parcel.hint());
    }

    /// Lets a host, at the far end of an edge, handle at most `left` packets on the wire, up to one that a timer holds
    /// back; returns how many are left.
    #[inline(never)]
    fn handle_wire<P: Probe>(&mut self, host: (usize, FarEnd), mut left: usize, probe: &mut P) -> usize {
        let (edge, _) = host;
        while left > 0
            && let Some((parcel, at)) = self.line(edge).and_then(Line::first_on_wire)
            && self.may_go_ahead(host, parcel, at)
            && let Link::Line(line) = &mut self.links[edge]
        {
            line.take_off_wire();
            left -= 1;
            if self.has_many_flows() {
                self.prefetch(edge);
            }
            self.now = at;
            self.handle_ahead(parcel, probe);
        }
        left
    }

    /// [`expire_before`](Self::expire_before) the arrival of the first packet on the wire.
    #[inline(never)]
    fn expire_before_first<P: Probe>(&mut self, (edge, far_end): (usize, FarEnd), probe: &mut P) -> bool {
        let first = self.line(edge).and_then(Line::first_on_wire);
        first.is_some_and(|first| self.expire_before(far_end, first, probe))
    }

    fn line(&self, edge: usize) -> Option<&Line> {
        match self.links.get(edge) {
            Some(Link::Line(line)) => Some(line),
            _ => None,
        }
    }

    /// Sets the alarm of an end's timer to `due`. Its slot is armed for then or earlier.
    #[inline(never)]
    pub(crate) fn arm_timer(&mut self, flow: usize, end: End, due: Instant) {
        let before = core::mem::replace(&mut self.flows[flow].alarms[end.index()], due);
        if self.ahead.alarms.are_watched() {
            let alarm = self.ahead.alarms.timer(flow, end, due);
            self.ahead.set_alarm(self.ends[flow][end.index()], alarm);
        }
        if due < before {
            self.agenda.arm_no_later(self.slots.timer(flow, end), due);
        }
    }

    /// Arms the slot of a flow's application for `at`.
    pub(crate) fn arm_app(&mut self, flow: usize, at: Instant) {
        self.watch_app(flow, at);
        self.agenda.arm(self.slots.app(flow), at);
    }

    /// Arms the slot of a flow's application for `at`, unless it is armed for then or earlier.
    pub(crate) fn arm_app_no_later(&mut self, flow: usize, at: Instant) {
        if at < self.agenda.armed(self.slots.app(flow)) {
            self.arm_app(flow, at);
        }
    }

    fn watch_app(&mut self, flow: usize, at: Instant) {
        self.flows[flow].app_at = at;
        let alarm = self.ahead.alarms.app(flow, at);
        self.ahead.set_alarm(self.ends[flow][End::Client.index()], alarm);
    }
}

#[cfg(test)]
mod tests;
