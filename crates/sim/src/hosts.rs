//! What happens at hosts: segments reach connections, connections send, applications wake up.

use crate::app::Act;
use crate::flow::End;
use crate::flow_id::ports;
use crate::world::World;
use narrows_samples::Probe;
use narrows_scenario::Traffic;
use narrows_units::{Bytes, Instant};
use narrows_wire::{Packet, Transport, UdpRepr};

impl World {
    /// A host gets a packet for one of its flows.
    #[inline]
    pub(crate) fn deliver<P: Probe>(&mut self, flow: usize, end: End, packet: &Packet, probe: &mut P) {
        let now = self.now;
        let state = &mut self.flows[flow];
        let sender = state.sender();
        if end != sender {
            state.meter.arrived(packet.len(), packet.payload_len, now);
        }
        let Some(connection) = &mut state.ends[end.index()] else {
            state.meter.datagram_bytes += u64::from(packet.payload_len);
            return self.observe_flow(flow, probe);
        };
        connection.handle_segment(packet, now);
        if end == sender {
            if let Some(rtt) = connection.take_rtt_sample() {
                state.meter.round_trip(rtt);
            }
            self.observe_flow(flow, probe);
        }
        self.progress(flow, end);
        self.pump(flow, end, probe);
    }

    /// The applications look at what has arrived.
    #[inline]
    fn progress(&mut self, flow: usize, end: End) {
        let now = self.now;
        let state = &mut self.flows[flow];
        if state.app.server_sends() {
            let Some(connection) = &mut state.ends[end.index()] else { return };
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
                        state.meter.finished = Some(now);
                    }
                    Some(next) if !state.stopped => {
                        self.agenda.arm(self.slots.app(flow), next.min(state.spec.stop));
                    }
                    _ => {}
                },
            }
        } else if end == End::Server {
            self.note_finish(flow);
        }
        self.answer_close(flow, end);
    }

    /// Notes when a bounded transfer has reached the receiving application in full.
    #[inline]
    fn note_finish(&mut self, flow: usize) {
        let now = self.now;
        let state = &mut self.flows[flow];
        if let Traffic::Bulk { size: Some(size) } = state.spec.traffic
            && state.meter.finished.is_none()
            && state.delivered() >= size
        {
            state.meter.finished = Some(now);
        }
    }

    /// An end whose peer has closed closes too, after what it still has to send: no application here talks on after that.
    #[inline]
    fn answer_close(&mut self, flow: usize, end: End) {
        if let Some(connection) = &mut self.flows[flow].ends[end.index()]
            && connection.state() == narrows_tcp::State::CloseWait
        {
            connection.close();
        }
    }

    /// Sends what a connection has to send, and re-arms its timer.
    #[inline]
    fn pump<P: Probe>(&mut self, flow: usize, end: End, probe: &mut P) {
        let now = self.now;
        let [from, to] = self.ends[flow].map(|node| node as usize);
        let (at, target) = match end {
            End::Client => (from, to),
            End::Server => (to, from),
        };
        let Some(edge) = self.topology.next(at, target) else { return };
        while let Some(packet) = self.flows[flow].ends[end.index()].as_mut().and_then(|c| c.poll_transmit(now)) {
            self.send(edge, &packet, probe);
        }
        if let Some(connection) = &self.flows[flow].ends[end.index()] {
            self.agenda.arm_no_later(self.slots.timer(flow, end), connection.poll_timeout());
        }
    }

    /// A connection's timer slot comes up: the timer may have moved on since it was armed.
    pub(crate) fn timer<P: Probe>(&mut self, flow: usize, end: End, probe: &mut P) {
        let slot = self.slots.timer(flow, end);
        self.agenda.arm(slot, Instant::NEVER);
        let now = self.now;
        let Some(connection) = &mut self.flows[flow].ends[end.index()] else { return };
        let due = connection.poll_timeout();
        if due > now {
            self.agenda.arm(slot, due);
            return;
        }
        connection.handle_timeout(now);
        if end == self.flows[flow].sender() {
            self.observe_flow(flow, probe);
        }
        self.pump(flow, end, probe);
    }

    /// A flow's application wakes up: it starts, acts or stops.
    pub(crate) fn wake<P: Probe>(&mut self, flow: usize, probe: &mut P) {
        let now = self.now;
        let state = &mut self.flows[flow];
        self.agenda.arm(self.slots.app(flow), Instant::NEVER);
        if state.stopped {
            return;
        }
        if now >= state.spec.stop {
            state.stopped = true;
            for connection in state.ends.iter_mut().flatten() {
                connection.withdraw();
                connection.close();
            }
            self.pump(flow, End::Client, probe);
            return self.pump(flow, End::Server, probe);
        }
        if state.is_tcp() && state.ends[0].is_none() {
            self.open(flow, probe);
        }
        let state = &mut self.flows[flow];
        let (act, next) = state.app.wake(now);
        self.agenda.arm_no_later(self.slots.app(flow), next.min(state.spec.stop));
        match act {
            Act::Nothing => {}
            Act::Datagram(payload) => self.send_datagram(flow, payload, probe),
            Act::Write(bytes) => self.write(flow, bytes, false, probe),
            Act::WriteAndClose(bytes) => self.write(flow, bytes, true, probe),
            Act::Withdraw => {
                if let Some(client) = &mut self.flows[flow].ends[0] {
                    client.withdraw();
                }
            }
        }
    }

    fn write<P: Probe>(&mut self, flow: usize, bytes: Bytes, close: bool, probe: &mut P) {
        if let Some(client) = &mut self.flows[flow].ends[0] {
            client.write(bytes);
            if close {
                client.close();
            }
        }
        self.pump(flow, End::Client, probe);
    }

    /// Makes the two ends of a TCP flow; the client's SYN leaves at once.
    fn open<P: Probe>(&mut self, flow: usize, probe: &mut P) {
        let [client, server] = self.factory.connections(&self.flows[flow].spec, flow);
        let state = &mut self.flows[flow];
        state.ends = [Some(Box::new(client)), Some(Box::new(server))];
        if let (Some(reader), Some(receiver)) = (&state.reader, &mut state.ends[state.sender().other().index()]) {
            receiver.set_auto_read(false);
            self.agenda.arm(self.slots.reader(flow), self.now + reader.every);
        }
        self.pump(flow, End::Client, probe);
    }

    /// A slow reader reads.
    pub(crate) fn read<P: Probe>(&mut self, flow: usize, probe: &mut P) {
        let state = &mut self.flows[flow];
        let end = state.sender().other();
        let Some(reader) = &state.reader else { return };
        self.agenda.arm(self.slots.reader(flow), self.now + reader.every);
        if let Some(receiver) = &mut state.ends[end.index()] {
            receiver.read(reader.chunk);
        }
        self.note_finish(flow);
        self.pump(flow, end, probe);
    }

    fn send_datagram<P: Probe>(&mut self, flow: usize, payload: Bytes, probe: &mut P) {
        let (src_port, dst_port) = ports(flow);
        let state = &mut self.flows[flow];
        let packet = Packet {
            ip: state.datagram,
            transport: Transport::Udp(UdpRepr { src_port, dst_port }),
            payload_len: u32::try_from(payload.as_u64()).unwrap_or(u32::MAX),
        };
        state.meter.sent_packets += 1;
        state.meter.sent_bytes += payload.as_u64();
        if let Some(edge) = self.topology.next(state.spec.from, state.spec.to) {
            self.send(edge, &packet, probe);
        }
        self.observe_flow(flow, probe);
    }
}
