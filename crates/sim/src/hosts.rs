//! What happens at hosts: segments reach connections, connections send, applications wake up.

use crate::connections::delivered;
use crate::flow::End;
use crate::parcels::Parcel;
use crate::world::World;
use narrows_fabric::{Act, datagram_header, framed, ports};
use narrows_samples::Probe;
use narrows_scenario::Flow;
use narrows_units::{Bytes, Instant};
use narrows_wire::{Packet, Transport, UdpRepr};

impl World<'_> {
    /// Handles a packet that arrives at a host for one of its flows.
    #[inline(always)]
    pub(crate) fn deliver<P: Probe>(&mut self, parcel: Parcel, probe: &mut P) {
        if !(self.plain_hosts && self.deliver_plain(parcel, probe)) {
            self.deliver_any(parcel, probe);
        }
    }

    /// Handles any packet that arrives at a host for one of its flows.
    #[inline(never)]
    pub(crate) fn deliver_any<P: Probe>(&mut self, parcel: Parcel, probe: &mut P) {
        let now = self.now;
        let flow = parcel.flow();
        let end = if parcel.along() { End::Server } else { End::Client };
        let state = &mut self.flows[flow];
        let sender = state.sender();
        if end != sender {
            state.meter.arrived(parcel.size(), self.parcels.payload_len(parcel), now);
        }
        let Some(connection) = self.connections.get_mut(flow, end) else {
            let packet = self.parcels.packet(parcel);
            state.meter.udp_mut().received_bytes += u64::from(packet.payload_len);
            if let (Some(meter), Transport::Udp(UdpRepr { rtp: Some(rtp), .. })) =
                (&mut state.datagrams, &packet.transport)
            {
                meter.receive(rtp.sequence, now);
            }
            self.parcels.release(parcel);
            return self.observe_flow(flow, probe);
        };
        let packet = if parcel.is_whole() {
            self.parcels.packet(parcel)
        } else {
            connection.expand(self.parcels.segment(parcel))
        };
        connection.handle_segment(&packet, now);
        self.parcels.release(parcel);
        if end == sender {
            if let Some(rtt) = connection.take_rtt_sample() {
                state.meter.round_trip(rtt);
            }
            self.observe_flow(flow, probe);
        }
        self.progress(flow, end);
        self.pump(flow, end, probe);
        self.look_after(flow, end, probe);
    }

    /// Informs the applications of data that has arrived.
    #[inline]
    fn progress(&mut self, flow: usize, end: End) {
        let now = self.now;
        let state = &mut self.flows[flow];
        if state.server_sends() {
            let Some(connection) = self.connections.get_mut(flow, end) else { return };
            let delivered = connection.delivered_to_app();
            match end {
                End::Server => {
                    if let Some(answer) = state.app.serve(delivered) {
                        connection.write(answer);
                    }
                }
                End::Client => match state.app.receive(delivered, now) {
                    Some(Instant::NEVER) => {
                        connection.close();
                        state.meter.finish(now);
                    }
                    Some(next) if !state.stopped => {
                        let next = next.min(state.stop);
                        self.arm_app(flow, next);
                        self.begin_others(flow);
                    }
                    _ => {}
                },
            }
        } else if end == End::Server {
            self.note_finish(flow);
        }
        self.answer_close(flow, end);
    }

    /// Lets the other connections of a page begin once its first object is there.
    #[inline]
    fn begin_others(&mut self, flow: usize) {
        if !self.flows[flow].app.take_begins() {
            return;
        }
        let flows = &self.scenario.flows;
        let page = |flow: &Flow| flow.part.map(|part| (part.workload, part.number));
        let others = (flow + 1..flows.len()).take_while(|other| page(&flows[*other]) == page(&flows[flow]));
        for other in others {
            self.arm_app(other, self.now);
        }
    }

    /// Notes when a bounded transfer has reached the receiving application in full.
    #[inline]
    pub(crate) fn note_finish(&mut self, flow: usize) {
        let now = self.now;
        let state = &mut self.flows[flow];
        if state.size < Bytes::MAX
            && state.meter.finished().is_none()
            && delivered(&self.connections, flow, state) >= state.size
        {
            state.meter.finish(now);
        }
    }

    /// Closes an end whose peer has closed, after its remaining data: no application here sends more after that.
    #[inline]
    fn answer_close(&mut self, flow: usize, end: End) {
        if let Some(connection) = self.connections.get_mut(flow, end)
            && connection.state() == narrows_tcp::State::CloseWait
        {
            connection.close();
        }
    }

    /// Sends what a connection has to send, and re-arms its timer.
    #[inline]
    pub(crate) fn pump<P: Probe>(&mut self, flow: usize, end: End, probe: &mut P) {
        let now = self.now;
        let along = end == End::Client;
        let way = self.routes.start(flow, along);
        loop {
            let Some(connection) = self.connections.get_mut(flow, end) else { return };
            let sent = self.parcels.write(flow, along, way, |out| connection.poll_transmit_into(now, out));
            if let Some(parcel) = sent {
                if self.small_queues.is_empty() {
                    self.send(parcel, probe);
                } else {
                    self.send_from_device(parcel, end, probe);
                }
                continue;
            }
            let due = connection.poll_timeout_before(self.flows[flow].alarms[end.index()]);
            return self.alarm(flow, end, due);
        }
    }

    /// Arms the timer of an end for `due`, if its slot is armed for later.
    #[inline]
    pub(crate) fn alarm(&mut self, flow: usize, end: End, due: Instant) {
        // A timer event that comes too early does no harm: it arms the slot again.
        if due < self.flows[flow].alarms[end.index()] {
            self.arm_timer(flow, end, due);
        }
    }

    /// Sends a packet of an end, and tells its connection when the host's device will have sent it, if the device is
    /// one of those that bound their senders.
    #[inline(never)]
    fn send_from_device<P: Probe>(&mut self, parcel: Parcel, end: End, probe: &mut P) {
        let edge = self.routes.hop(parcel.way()).edge().filter(|&edge| self.small_queues.get(edge) == Some(&true));
        let Some(edge) = edge.filter(|_| parcel.loaded()) else { return self.send(parcel, probe) };
        let (_, refused) = self.links[edge].backlog();
        self.send(parcel, probe);
        let (left, refused_now) = self.links[edge].backlog();
        if refused_now == refused
            && let Some(connection) = self.connections.get_mut(parcel.flow(), end)
        {
            connection.on_queued(parcel.size(), left);
        }
    }

    /// Handles the event of a connection's timer slot. Nothing happens, and it does not count, if the alarm for which
    /// the slot was armed has expired ahead of the clock.
    pub(crate) fn timer<P: Probe>(&mut self, flow: usize, end: End, probe: &mut P) {
        if self.flows[flow].alarms[end.index()] > self.now {
            self.events -= 1;
        } else {
            self.expire(flow, end, probe);
        }
        self.agenda.arm(self.slots.timer(flow, end), self.flows[flow].alarms[end.index()]);
    }

    /// Handles the expiry of an end's alarm. The timer may have moved to a later time since the alarm was set.
    pub(crate) fn expire<P: Probe>(&mut self, flow: usize, end: End, probe: &mut P) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(flow, end) else { return };
        let due = connection.poll_timeout();
        self.arm_timer(flow, end, if due > now { due } else { Instant::NEVER });
        if due > now || (end == End::Client && self.release_plain(flow, probe)) {
            return;
        }
        let Some(connection) = self.connections.get_mut(flow, end) else { return };
        connection.handle_timeout(now);
        // What the host's device held may have reached the connection.
        let merges = connection.merges_arrivals();
        let rtt = if merges { connection.take_rtt_sample() } else { None };
        let state = &mut self.flows[flow];
        if end == state.sender() {
            if let Some(rtt) = rtt {
                state.meter.round_trip(rtt);
            }
            self.observe_flow(flow, probe);
        }
        if merges {
            self.progress(flow, end);
        }
        self.pump(flow, end, probe);
    }

    /// Wakes a flow's application: it starts, acts or stops.
    pub(crate) fn wake<P: Probe>(&mut self, flow: usize, probe: &mut P) {
        self.arm_app(flow, Instant::NEVER);
        // What it does next is not known yet, so its flow's hosts go ahead up to the stop only, and not beyond one that
        // is now. A client has no packet to handle meanwhile.
        self.flows[flow].app_at = self.flows[flow].stop;
        self.act(flow, probe);
        self.flows[flow].app_at = self.agenda.armed(self.slots.app(flow));
    }

    /// Lets a flow's application act, whose slot is not armed now.
    fn act<P: Probe>(&mut self, flow: usize, probe: &mut P) {
        let now = self.now;
        let state = &mut self.flows[flow];
        if state.stopped {
            return;
        }
        if now >= state.stop {
            state.stopped = true;
            for end in [End::Client, End::Server] {
                if let Some(connection) = self.connections.get_mut(flow, end) {
                    connection.withdraw();
                    connection.close();
                }
            }
            self.pump(flow, End::Client, probe);
            return self.pump(flow, End::Server, probe);
        }
        if !state.app.ready() {
            let stop = state.stop;
            return self.arm_app(flow, stop);
        }
        if state.is_tcp() && self.connections.get(flow, End::Client).is_none() {
            self.open(flow, probe);
        }
        let state = &mut self.flows[flow];
        let (act, next) = state.app.wake(now);
        let next = next.min(state.stop);
        self.arm_app_no_later(flow, next);
        match act {
            Act::Nothing => {}
            Act::Datagram { payload, last } => self.send_datagram(flow, payload, last, probe),
            Act::Write(bytes) => self.write(flow, bytes, false, probe),
            Act::WriteAndClose(bytes) => self.write(flow, bytes, true, probe),
            Act::Withdraw => {
                if let Some(client) = self.connections.get_mut(flow, End::Client) {
                    client.withdraw();
                }
            }
        }
    }

    fn write<P: Probe>(&mut self, flow: usize, bytes: Bytes, close: bool, probe: &mut P) {
        if let Some(client) = self.connections.get_mut(flow, End::Client) {
            client.write(bytes);
            if close {
                client.close();
            }
        }
        self.pump(flow, End::Client, probe);
    }

    /// Makes the two ends of a TCP flow; the client's SYN leaves at once.
    fn open<P: Probe>(&mut self, flow: usize, probe: &mut P) {
        let both_send = self.flows[flow].server_sends();
        let Some(ends) = self.factory.connections(&self.scenario.flows[flow], flow, both_send) else { return };
        self.connections.open(flow, ends);
        let state = &self.flows[flow];
        if self.case.as_ref().is_some_and(|run| run.watches(flow))
            && let Some(sender) = self.connections.get_mut(flow, state.sender())
        {
            sender.begin_measuring();
        }
        let receiver = self.connections.get_mut(flow, state.sender().other());
        if let (Some(reader), Some(receiver)) = (&state.reader, receiver) {
            receiver.set_auto_read(false);
            self.agenda.arm(self.slots.reader(flow), self.now + reader.every);
        }
        self.pump(flow, End::Client, probe);
    }

    /// Lets a slow reader read.
    pub(crate) fn read<P: Probe>(&mut self, flow: usize, probe: &mut P) {
        let state = &mut self.flows[flow];
        let end = state.sender().other();
        let Some(reader) = &state.reader else { return };
        self.agenda.arm(self.slots.reader(flow), self.now + reader.every);
        if let Some(receiver) = self.connections.get_mut(flow, end) {
            receiver.read(reader.chunk);
        }
        self.note_finish(flow);
        self.pump(flow, end, probe);
    }

    fn send_datagram<P: Probe>(&mut self, flow: usize, payload: Bytes, last: bool, probe: &mut P) {
        let (src_port, dst_port) = ports(flow);
        let (now, framed) = (self.now, framed(&self.scenario.flows[flow]));
        let meter = self.flows[flow].datagrams.as_mut();
        let rtp = meter.map(|meter| datagram_header(meter.send(now, last), now, flow, (framed, last)));
        let packet = Packet {
            ip: self.factory.datagram(&self.scenario.flows[flow]),
            transport: Transport::Udp(UdpRepr { src_port, dst_port, rtp }),
            payload_len: u32::try_from(payload.as_u64()).unwrap_or(u32::MAX),
        };
        let state = &mut self.flows[flow];
        let counts = state.meter.udp_mut();
        counts.sent_packets += 1;
        counts.sent_bytes += payload.as_u64();
        let way = self.routes.start(flow, true);
        let parcel = self.parcels.keep(&packet, flow, true, way);
        self.send(parcel, probe);
        self.observe_flow(flow, probe);
    }
}
