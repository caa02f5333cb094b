//! Counts what happens to packets in the network, for the flows that they belong to.

use crate::capture::Capture;
use crate::flow::{End, FlowState};
use narrows_fabric::LinkWatch;
use narrows_fabric::Nodes;
use narrows_fabric::flow_of;
use narrows_queue::{Dropped, QueueView};
use narrows_units::Instant;
use narrows_wire::Packet;

/// Counts a lost packet for its flow if it carries payload in the flow's data direction.
pub(crate) fn count_loss(flows: &mut [FlowState], packet: &Packet) {
    if packet.payload_len > 0 {
        let (flow, along) = flow_of(packet);
        if let Some(flow) = flows.get_mut(flow)
            && along == (flow.sender() == End::Client)
        {
            flow.meter.lost_packets += 1;
        }
    }
}

/// Records what happens on a link.
pub(crate) struct Recorder<'a> {
    pub(crate) flows: &'a mut [FlowState],
    pub(crate) capture: Option<&'a mut Capture>,
    pub(crate) nodes: &'a mut Nodes,
    pub(crate) edge: usize,
}

impl LinkWatch for Recorder<'_> {
    fn dropped(&mut self, dropped: &Dropped, at: Instant) {
        count_loss(self.flows, &dropped.packet);
        if let Some(capture) = &mut self.capture {
            capture.record_drop(self.edge, dropped, at);
        }
    }

    fn corrupted(&mut self, packet: &Packet, at: Instant) {
        count_loss(self.flows, packet);
        if let Some(capture) = &self.capture {
            capture.note_corrupted(self.edge, packet, at);
        }
    }

    fn marked(&mut self, packet: &Packet, subqueue: u32) {
        if let Some(capture) = &mut self.capture {
            capture.note_mark(self.edge, packet, subqueue);
        }
    }

    fn departing(&mut self, packet: &mut Packet, queue: &QueueView, at: Instant) {
        if let Some(capture) = &mut self.capture {
            capture.recognise(self.edge, packet);
        }
        self.nodes.on_departure(self.edge, packet, queue, at);
    }

    #[inline]
    fn departed(&mut self, packet: &Packet, at: Instant) {
        if let Some(capture) = &mut self.capture {
            capture.record(self.edge, packet, at);
        }
    }
}
