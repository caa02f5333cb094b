//! One 802.11 channel at run time: the medium, the interface queues of its stations, and arrived packets.

use crate::capture::Capture;
use crate::flow::FlowState;
use crate::radio::interface::InterfaceQueue;
use narrows_fabric::Nodes;
use narrows_fabric::flow_of;
use narrows_samples::StationTotal;
use narrows_units::{Instant, Rate};
use narrows_wifi::{Frame, FrameKind, Host, Medium, Mpdu, Outgoing};
use narrows_wire::Packet;
use std::collections::VecDeque;

/// A packet that a station received and that its node has not seen yet.
#[derive(Debug)]
pub(crate) struct Arrival {
    /// The station's node.
    pub(crate) node: usize,
    /// The packet.
    pub(crate) packet: Packet,
}

/// A station and its node.
#[derive(Debug)]
pub(crate) struct StationEnd {
    /// Index of the node.
    pub(crate) node: usize,
    /// When its latest frame ends.
    pub(crate) sending_until: Instant,
}

/// The stations' interface queues and the arrived packets: everything of a channel except its medium.
#[derive(Debug)]
pub(crate) struct Interfaces {
    /// The queues of the base station (one, or one for each station), then one queue of each station.
    queues: Vec<InterfaceQueue>,
    /// How many of them are the base station's.
    base: usize,
    /// The queue whose turn it is at a base station with a queue for each station.
    turn: usize,
    /// The base station, then the stations.
    stations: Vec<StationEnd>,
    /// Per node: its station in this channel; 0 if it has none.
    station_of: Vec<u32>,
    /// Packets received that their nodes have not seen yet.
    arrivals: VecDeque<Arrival>,
}

impl Interfaces {
    /// Interfaces of the stations at `nodes`, the base station first. The network has `all_nodes` nodes. The first
    /// `base` of `queues` belong to the base station.
    pub(crate) fn new(queues: Vec<InterfaceQueue>, base: usize, nodes: &[usize], all_nodes: usize) -> Self {
        let mut station_of = vec![0; all_nodes];
        for (station, &node) in nodes.iter().enumerate() {
            station_of[node] = station as u32;
        }
        let stations = nodes.iter().map(|&node| StationEnd { node, sending_until: Instant::ZERO }).collect();
        Self { queues, base, turn: 0, stations, station_of, arrivals: VecDeque::new() }
    }

    /// The queue for packets from one station to another.
    fn queue_of(&self, from: usize, to: usize) -> usize {
        match from {
            0 if self.base == 1 => 0,
            0 => to.saturating_sub(1),
            station => self.base + station - 1,
        }
    }

    /// The station that takes packets from a queue.
    fn station_at(&self, queue: usize) -> usize {
        (queue + 1).saturating_sub(self.base)
    }

    /// The station that a packet of the base station is for. Routes lead into the channel only to its own stations.
    fn target(&self, packet: &Packet, ends: &[[u32; 2]]) -> usize {
        let (flow, along) = flow_of(packet);
        let node = ends.get(flow).map_or(0, |end| end[usize::from(along)]);
        self.station_of.get(node as usize).map_or(0, |&station| station as usize)
    }
}

/// An 802.11 channel.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) medium: Medium,
    pub(crate) interfaces: Interfaces,
    /// Rate of data frames.
    pub(crate) rate: Rate,
    /// Name, and names of its queues.
    pub(crate) name: String,
    pub(crate) queue_names: Vec<String>,
}

impl Channel {
    /// How many interface queues there are.
    pub(crate) fn queue_count(&self) -> usize {
        self.interfaces.queues.len()
    }

    /// The channel's interface queue number `index`.
    pub(crate) fn queue(&self, index: usize) -> &InterfaceQueue {
        &self.interfaces.queues[index]
    }

    /// The same, mutable.
    pub(crate) fn queue_mut(&mut self, index: usize) -> &mut InterfaceQueue {
        &mut self.interfaces.queues[index]
    }

    /// The index of the queue for packets from one station to another.
    pub(crate) fn queue_between(&self, from: usize, to: usize) -> usize {
        self.interfaces.queue_of(from, to)
    }

    /// The stations' nodes, the base station's first.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = usize> + '_ {
        self.interfaces.stations.iter().map(|s| s.node)
    }

    /// The next packet that a station received and its node has not seen.
    pub(crate) fn next_arrival(&mut self) -> Option<Arrival> {
        self.interfaces.arrivals.pop_front()
    }

    /// When the channel must be handled next.
    pub(crate) fn next_event(&self, now: Instant) -> Instant {
        if !self.interfaces.arrivals.is_empty() {
            return now;
        }
        let held_back = self.interfaces.queues.iter().map(InterfaceQueue::wake_at).min();
        self.medium.next_event().min(held_back.unwrap_or(Instant::NEVER))
    }

    /// A station whose queue may let go of packets that it held back.
    pub(crate) fn station_to_wake(&mut self, now: Instant) -> Option<usize> {
        let queue = self.interfaces.queues.iter_mut().position(|queue| queue.wakes(now))?;
        Some(self.interfaces.station_at(queue))
    }

    /// A station's counters over the run; a frame that is still on the air at `end` counts up to then.
    pub(crate) fn station_total(&self, channel: usize, station: usize, end: Instant) -> StationTotal {
        let meter = self.medium.meter(station);
        let after = self.interfaces.stations[station].sending_until.since(end);
        StationTotal {
            channel: channel as u64,
            data_frames: meter.data_frames,
            mpdus: meter.mpdus,
            rts_frames: meter.rts_frames,
            cts_frames: meter.cts_frames,
            ack_frames: meter.ack_frames,
            rts_failures: meter.rts_failures,
            data_failures: meter.data_failures,
            retried_mpdus: meter.retried_mpdus,
            given_up_packets: meter.given_up,
            received_packets: meter.received,
            duplicates: meter.duplicates,
            collisions: meter.collisions,
            corrupted: meter.corrupted,
            airtime_ns: (meter.airtime - after).as_nanos(),
        }
    }
}

/// The part of the `World` that a medium uses: the queues of its channel, and the counters.
pub(crate) struct Air<'a> {
    pub(crate) interfaces: &'a mut Interfaces,
    pub(crate) flows: &'a mut [FlowState],
    pub(crate) nodes: &'a mut Nodes,
    pub(crate) ends: &'a [[u32; 2]],
    pub(crate) capture: Option<&'a mut Capture>,
    pub(crate) channel: usize,
}

impl Air<'_> {
    /// The next packet of a base station that has a queue for each station; the queues are served in turn.
    fn next_in_turn(&mut self, now: Instant) -> Option<Outgoing> {
        let Interfaces { queues, base, turn, .. } = &mut *self.interfaces;
        for step in 0..*base {
            let index = (*turn + step) % *base;
            if let Some(packet) = queues[index].take(now, self.flows, self.nodes) {
                *turn = index + 1;
                return Some(Outgoing { to: index + 1, packet });
            }
        }
        None
    }
}

impl Host for Air<'_> {
    fn next(&mut self, station: usize, now: Instant) -> Option<Outgoing> {
        if station == 0 && self.interfaces.base > 1 {
            return self.next_in_turn(now);
        }
        let queue = self.interfaces.queue_of(station, 0);
        let packet = self.interfaces.queues[queue].take(now, self.flows, self.nodes)?;
        let to = if station == 0 { self.interfaces.target(&packet, self.ends) } else { 0 };
        Some(Outgoing { to, packet })
    }

    fn next_for(&mut self, station: usize, to: usize, now: Instant) -> Option<Packet> {
        if station > 0 && to > 0 {
            return None; // A station sends only to its base station.
        }
        let queue = self.interfaces.queue_of(station, to);
        if station > 0 || self.interfaces.base > 1 {
            return self.interfaces.queues[queue].take(now, self.flows, self.nodes);
        }
        let Interfaces { queues, station_of, .. } = &mut *self.interfaces;
        let ends = self.ends;
        queues[queue].take_if(now, self.flows, self.nodes, |packet| {
            let (flow, along) = flow_of(packet);
            let node = ends.get(flow).map_or(0, |end| end[usize::from(along)]);
            station_of.get(node as usize).is_some_and(|&station| station as usize == to)
        })
    }

    fn received(&mut self, station: usize, packet: &Packet, _now: Instant) {
        let node = self.interfaces.stations[station].node;
        self.interfaces.arrivals.push_back(Arrival { node, packet: *packet });
    }

    fn given_up(&mut self, station: usize, packet: &Packet, arrived: bool, _now: Instant) {
        if arrived {
            return; // The station counts it; the packet is not lost.
        }
        let to = if station == 0 { self.interfaces.target(packet, self.ends) } else { 0 };
        let queue = self.interfaces.queue_of(station, to);
        self.interfaces.queues[queue].give_up(packet, self.flows);
    }

    fn sent(&mut self, frame: &Frame, mpdus: &[Mpdu]) {
        self.interfaces.stations[frame.from].sending_until = frame.start + frame.airtime;
        if matches!(frame.kind, FrameKind::Rts | FrameKind::Data | FrameKind::Aggregate { .. }) {
            let queue = self.interfaces.queue_of(frame.from, frame.to);
            let bytes = mpdus.iter().map(|mpdu| mpdu.packet.len().as_u64()).sum();
            self.interfaces.queues[queue].sent(frame.start, frame.airtime, bytes);
        }
        if let Some(capture) = &mut self.capture {
            capture.record_frame(self.channel, frame, mpdus);
        }
    }
}
