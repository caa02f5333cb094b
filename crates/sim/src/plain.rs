//! The plain path of a host: from the arrival of a plain segment to what it makes the host send.
//!
//! The generic path is `deliver` and `pump` (`hosts.rs`), which this file follows step by step. Here nothing but TCP is
//! asked for: no test case looks at the flow, no sample is taken at each event, no small queue bounds the sender, and
//! the client sends ([`World::has_plain_hosts`]). The connection decides whether a segment is plain, and what answers
//! it (`tcp/src/connection/plain.rs`). An answer is written in the place of the packet that it answers. On a way whose
//! trains lead to one host that goes ahead, neither is stored: data goes straight to its receiver, and an ACK is in its
//! handle. The plain loop never takes this path, and tests hold its samples equal.

use crate::edge::Link;
use crate::flow::{End, FlowState};
use crate::parcels::Parcel;
use crate::routes::{Routes, Way};
use crate::world::World;
use narrows_samples::{NoProbe, Probe};
use narrows_scenario::Sampling;
use narrows_tcp::{BareAck, Connection};
use narrows_units::{Bytes, Instant};
use narrows_wire::Compact;

/// [`Receiving`] of a flow, without what else the world has.
macro_rules! receiving {
    ($world:ident, $flow:expr) => {
        Receiving {
            now: $world.now,
            state: &mut $world.flows[$flow],
            receiver: $world.connections.get_mut($flow, End::Server),
            links: &mut $world.links,
            routes: &$world.routes,
            way: $world.routes.start($flow, false),
            shared: $world.share.is_some(),
        }
    };
}

impl World<'_> {
    /// Whether hosts may take the plain path in this run.
    pub(crate) fn has_plain_hosts(&self) -> bool {
        !self.plain_loop && self.case.is_none() && self.small_queues.is_empty() && self.sampling != Sampling::Events
    }

    /// Handles a packet that arrives at a host, if it is plain; returns `false`, with nothing changed, for any other.
    #[inline(always)]
    pub(crate) fn deliver_plain<P: Probe>(&mut self, parcel: Parcel, probe: &mut P) -> bool {
        debug_assert!(self.has_plain_hosts());
        if parcel.is_bare() {
            self.acknowledge_bare(parcel, probe)
        } else if parcel.is_whole() {
            false
        } else if parcel.along() {
            self.receive_plain(parcel, probe)
        } else {
            self.acknowledge_plain(parcel, probe)
        }
    }

    /// Data at the receiver, and its ACK.
    #[inline(never)]
    fn receive_plain<P: Probe>(&mut self, parcel: Parcel, probe: &mut P) -> bool {
        let flow = parcel.flow();
        let segment = self.parcels.segment_mut(parcel);
        let receiving = receiving!(self, flow);
        let Some((answer, due)) = receiving.take(parcel.size(), segment) else { return false };
        self.finish_receiving(flow, due);
        match answer {
            Answer::Bare(home, ack) => {
                self.parcels.release(parcel);
                self.send_home(flow, home, ack);
            }
            Answer::Segment(len) => {
                self.flows[flow].ack_lost = false;
                let way = self.routes.start(flow, false);
                self.forward(self.parcels.reuse(parcel, len, false, way), probe);
            }
            Answer::None => self.parcels.release(parcel),
        }
        true
    }

    /// The same for data that its sender has just written, and that is not stored. Where it turns out not to be plain,
    /// it is, and then handled as any other.
    #[inline(never)]
    fn receive_written(&mut self, flow: usize, len: Bytes, segment: &mut Compact) {
        self.count_ahead();
        let receiving = receiving!(self, flow);
        let Some((answer, due)) = receiving.take(len, segment) else {
            let parcel = self.store(flow, true, len, segment);
            return self.deliver_any(parcel, &mut NoProbe);
        };
        self.finish_receiving(flow, due);
        match answer {
            Answer::Bare(home, ack) => self.send_home(flow, home, ack),
            Answer::Segment(len) => {
                self.flows[flow].ack_lost = false;
                let parcel = self.store(flow, false, len, segment);
                self.forward(parcel, &mut NoProbe);
            }
            Answer::None => {}
        }
    }

    /// Arms the timer slot of a receiver, if one of its timers is due before, and notes a transfer that is complete.
    #[inline(always)]
    fn finish_receiving(&mut self, flow: usize, Due { earlier, bounded }: Due) {
        if let Some(due) = earlier {
            self.arm_timer(flow, End::Server, due);
        }
        if bounded {
            self.note_finish(flow);
        }
    }

    /// Stores a segment of a flow at the start of its way.
    #[inline]
    fn store(&mut self, flow: usize, along: bool, len: Bytes, segment: &Compact) -> Parcel {
        let way = self.routes.start(flow, along);
        self.parcels.keep_segment((flow, along), way, (segment, len))
    }

    /// Sends data of `len` bytes that a flow's sender has just written: over a train to a receiver that goes ahead, or
    /// as any other packet.
    #[inline(always)]
    fn send_written<P: Probe>(&mut self, flow: usize, len: Bytes, segment: &mut Compact, probe: &mut P) {
        let way = self.routes.start(flow, true);
        let home = match self.share {
            // With many flows, the receiver is visited later, and its data stored till then.
            None if !self.has_many_flows() => ride_home(&mut self.links, &self.routes, way, len, self.now),
            _ => None,
        };
        let Some(Home { hops, edge, arrival }) = home else {
            let parcel = self.store(flow, true, len, segment);
            return self.forward(parcel, probe);
        };
        self.packets += u64::from(hops) - 1;
        let (free, far_end) = match self.links.get(edge) {
            Some(Link::Line(line)) => (!line.is_occupied(), line.far_end()),
            _ => return,
        };
        let handle = |world: &mut Self| world.receive_written(flow, len, segment);
        if !(free && self.go_ahead_with((edge, far_end), Parcel::along_flow(flow), arrival, handle)) {
            let parcel = self.store(flow, true, len, segment).advanced_by(hops);
            self.put_on_last_wire(edge, parcel, arrival);
        }
    }

    /// Puts an ACK that is not stored on its last wire. Its host does not go ahead now: data that it sent while another
    /// host is ahead would have to wait, stored, on the other wire.
    #[inline(always)]
    fn send_home(&mut self, flow: usize, Home { hops, edge, arrival }: Home, ack: BareAck) {
        self.packets += u64::from(hops) - 1;
        self.put_on_last_wire(edge, Parcel::bare(flow, ack), arrival);
    }

    /// Puts a packet on the wire to its host, which has to wait for it.
    #[inline(always)]
    fn put_on_last_wire(&mut self, edge: usize, parcel: Parcel, arrival: Instant) {
        if self.has_many_flows() {
            self.visit_later(edge, parcel, arrival, true);
        } else {
            self.arrive(edge, parcel, arrival, true);
        }
    }

    /// An ACK at the sender, and the data that it lets leave.
    #[inline(never)]
    fn acknowledge_plain<P: Probe>(&mut self, parcel: Parcel, probe: &mut P) -> bool {
        let (now, flow) = (self.now, parcel.flow());
        let state = &mut self.flows[flow];
        let Some(sender) = self.connections.get_mut(flow, End::Client) else { return false };
        let packet = self.parcels.segment_mut(parcel);
        if state.server_sends() {
            return false;
        }
        let Some(rtt) = sender.take_plain_ack(packet, now) else {
            return sender.is_rich() && self.acknowledge_rich(parcel, probe);
        };
        state.meter.round_trip(rtt);
        let sent = sender.write_plain_data(now, packet);
        // Seldom more than one leaves: those do by the generic path.
        let rests = sender.rests_plainly(now);
        self.answer_plain((parcel, sent), rests, probe);
        true
    }

    /// The same for an ACK that is not stored.
    #[inline(never)]
    fn acknowledge_bare<P: Probe>(&mut self, parcel: Parcel, probe: &mut P) -> bool {
        let (now, flow) = (self.now, parcel.flow());
        let state = &mut self.flows[flow];
        let Some(sender) = self.connections.get_mut(flow, End::Client) else { return true };
        let Some(rtt) = sender.take_bare_ack(parcel.ack(), now) else {
            self.acknowledge_expanded(parcel, probe);
            return true;
        };
        state.meter.round_trip(rtt);
        let mut segment = Compact::EMPTY;
        let sent = sender.write_plain_data(now, &mut segment);
        let rests = sender.rests_plainly(now);
        let alarm = state.alarms[End::Client.index()];
        let due = if rests { sender.plain_timeout_before(alarm) } else { Instant::NEVER };
        if due < alarm {
            self.arm_timer(flow, End::Client, due);
        }
        if let Some(len) = sent {
            self.send_written(flow, len, &mut segment, probe);
        }
        if !rests {
            self.pump(flow, End::Client, probe);
        }
        true
    }

    /// The same by the segment that the ACK stands for, at a sender that needs more than a window. Where the ACK turns
    /// out not to be plain, it is stored, and then handled as any other.
    #[inline(never)]
    fn acknowledge_expanded<P: Probe>(&mut self, parcel: Parcel, probe: &mut P) {
        let (now, flow) = (self.now, parcel.flow());
        let state = &mut self.flows[flow];
        let Some(sender) = self.connections.get_mut(flow, End::Client) else { return };
        let mut segment = sender.segment_of(parcel.ack());
        let rtt = if sender.is_rich() { sender.take_rich_ack(&segment, now) } else { None };
        let Some(rtt) = rtt else {
            let len = sender.len_of(&segment);
            let stored = self.store(flow, false, len, &segment);
            return self.deliver_any(stored, probe);
        };
        state.meter.round_trip(rtt);
        let sent = sender.write_rich_data(now, &mut segment);
        let rests = sender.rests_richly(now);
        if rests {
            self.watch_plain(flow);
        }
        if let Some(len) = sent {
            self.send_written(flow, len, &mut segment, probe);
        }
        if !rests {
            self.pump(flow, End::Client, probe);
        }
    }

    /// The same at a sender that needs more than a window.
    #[inline(never)]
    fn acknowledge_rich<P: Probe>(&mut self, parcel: Parcel, probe: &mut P) -> bool {
        let (now, flow) = (self.now, parcel.flow());
        let state = &mut self.flows[flow];
        let Some(sender) = self.connections.get_mut(flow, End::Client) else { return false };
        let packet = self.parcels.segment_mut(parcel);
        if state.server_sends() {
            return false;
        }
        let Some(rtt) = sender.take_rich_ack(packet, now) else { return false };
        state.meter.round_trip(rtt);
        let sent = sender.write_rich_data(now, packet);
        let rests = sender.rests_richly(now);
        self.answer_plain((parcel, sent), rests, probe);
        true
    }

    /// Sends the data of `sent` bytes that was written in the place of an ACK, and what else may leave unless the
    /// sender `rests`.
    #[inline(always)]
    fn answer_plain<P: Probe>(&mut self, (parcel, sent): (Parcel, Option<Bytes>), rests: bool, probe: &mut P) {
        let flow = parcel.flow();
        if rests {
            self.watch_plain(flow);
        }
        match sent {
            Some(len) => {
                let way = self.routes.start(flow, true);
                self.forward(self.parcels.reuse(parcel, len, true, way), probe);
            }
            None => self.parcels.release(parcel),
        }
        if !rests {
            self.pump(flow, End::Client, probe);
        }
    }

    /// Arms the timer slot of a sender that rests, if a timer of its has become due before.
    #[inline(always)]
    fn watch_plain(&mut self, flow: usize) {
        let alarm = self.flows[flow].alarms[End::Client.index()];
        let Some(sender) = self.connections.get_mut(flow, End::Client) else { return };
        let due = sender.plain_timeout_before(alarm);
        if due < alarm {
            self.alarm(flow, End::Client, due);
        }
    }

    /// Handles the expiry of a sender's timer, whose alarm is not set now, if it is the pacer's, and the segment that
    /// waited is plain; returns `false`, with nothing changed, for any other.
    #[inline]
    pub(crate) fn release_plain<P: Probe>(&mut self, flow: usize, probe: &mut P) -> bool {
        let now = self.now;
        if !self.plain_hosts || self.flows[flow].server_sends() {
            return false;
        }
        let Some(sender) = self.connections.get_mut(flow, End::Client) else { return false };
        if !sender.take_pacer_timeout(now) {
            return false;
        }
        let way = self.routes.start(flow, true);
        let sent = self.parcels.write_along(flow, way, |out| sender.write_rich_data(now, out));
        let rests = sender.rests_richly(now);
        if rests {
            self.watch_plain(flow);
        }
        if let Some(parcel) = sent {
            self.forward(parcel, probe);
        }
        if !rests {
            self.pump(flow, End::Client, probe);
        }
        true
    }
}

/// The arrival of a packet at its host.
struct Home {
    hops: u32,
    /// The last line of its way.
    edge: usize,
    arrival: Instant,
}

/// Carries a packet of `len` bytes to its host, if it goes with a train whose packets are all for that host.
#[inline(always)]
fn ride_home(links: &mut [Link], routes: &Routes, way: Way, len: Bytes, now: Instant) -> Option<Home> {
    let Some(Link::Line(line)) = routes.hop(way).edge().and_then(|edge| links.get_mut(edge)) else { return None };
    let arrival = line.ride_home(len, now)?;
    let (hops, edge) = line.fold();
    Some(Home { hops, edge, arrival })
}

/// What plain data makes its receiver send.
enum Answer {
    /// An ACK that is not stored, and its arrival.
    Bare(Home, BareAck),
    /// An ACK of this length, in the place of the data.
    Segment(Bytes),
    None,
}

/// What else plain data makes its host do.
struct Due {
    /// When the receiver's timer expires, if that is before its slot.
    earlier: Option<Instant>,
    /// Whether the transfer may be complete.
    bounded: bool,
}

/// What plain data needs of the simulation beside its segment.
struct Receiving<'a> {
    now: Instant,
    state: &'a mut FlowState,
    receiver: Option<&'a mut Connection>,
    links: &'a mut [Link],
    routes: &'a Routes,
    way: Way,
    /// Whether the run has several threads.
    shared: bool,
}

impl Receiving<'_> {
    /// Takes data of `size` bytes if it is plain, and writes the ACK in its place, if that is to be stored.
    #[inline(always)]
    fn take(self, size: Bytes, segment: &mut Compact) -> Option<(Answer, Due)> {
        let Self { now, state, receiver, links, routes, way, shared } = self;
        let receiver = receiver?;
        if state.server_sends() || !receiver.take_plain_data(segment, now) {
            return None;
        }
        let octets = segment.payload_len;
        state.meter.arrived(size, octets, now);
        let bare = state.rides_home && !state.ack_lost && !shared;
        let len = if bare { receiver.bare_ack_len(octets) } else { None };
        let home = len.and_then(|len| ride_home(links, routes, way, len, now));
        let answer = match home {
            Some(home) => Answer::Bare(home, receiver.make_bare_ack(octets, now)),
            None => receiver.write_plain_ack(now, segment).map_or(Answer::None, Answer::Segment),
        };
        let alarm = state.alarms[End::Server.index()];
        let due = receiver.plain_timeout_before(alarm);
        let earlier = (due < alarm).then_some(due);
        Some((answer, Due { earlier, bounded: state.size < Bytes::MAX }))
    }
}

#[cfg(test)]
mod tests;
