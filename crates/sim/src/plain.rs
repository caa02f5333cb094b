//! The plain path of a host: from the arrival of a plain segment to what it makes the host send.
//!
//! The generic path is `deliver` and `pump` (`hosts.rs`), which this file follows step by step. Here nothing but TCP is
//! asked for: no test case looks at the flow, no sample is taken at each event, no small queue bounds the sender, and
//! the client sends ([`World::has_plain_hosts`]). The connection decides whether a segment is plain, and what answers
//! it (`tcp/src/connection/plain.rs`). An answer is written in the place of the packet that it answers. The plain loop
//! never takes this path, and tests hold its samples equal.

use crate::flow::End;
use crate::parcels::Parcel;
use crate::world::World;
use narrows_samples::Probe;
use narrows_scenario::Sampling;
use narrows_units::Bytes;

impl World<'_> {
    /// Whether hosts may take the plain path in this run.
    pub(crate) fn has_plain_hosts(&self) -> bool {
        !self.plain_loop && self.case.is_none() && self.small_queues.is_empty() && self.sampling != Sampling::Events
    }

    /// Handles a packet that arrives at a host, if it is plain; returns `false`, with nothing changed, for any other.
    #[inline(always)]
    pub(crate) fn deliver_plain<P: Probe>(&mut self, parcel: Parcel, probe: &mut P) -> bool {
        debug_assert!(self.has_plain_hosts());
        if parcel.is_whole() {
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
        let (now, flow) = (self.now, parcel.flow());
        let state = &mut self.flows[flow];
        let Some(receiver) = self.connections.get_mut(flow, End::Server) else { return false };
        let packet = self.parcels.segment_mut(parcel);
        if state.server_sends() || !receiver.take_plain_data(packet, now) {
            return false;
        }
        state.meter.arrived(parcel.size(), packet.payload_len, now);
        let answer = receiver.write_plain_ack(now, packet);
        let due = receiver.plain_timeout_before(state.alarms[End::Server.index()]);
        if due < state.alarms[End::Server.index()] {
            self.alarm(flow, End::Server, due);
        }
        if self.flows[flow].size < Bytes::MAX {
            self.note_finish(flow);
        }
        match answer {
            Some(len) => {
                let way = self.routes.start(flow, false);
                self.forward(self.parcels.reuse(parcel, len, false, way), probe);
            }
            None => self.parcels.release(parcel),
        }
        true
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

    /// Handles the expiry of a sender's timer, whose slot is not armed now, if it is the pacer's, and the segment that
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
