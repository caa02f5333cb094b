//! The network's counters of each flow, and its packet captures.

use crate::states::StateSampler;
use crate::store::{self, Held, Member, Store};
use narrows_fabric::{DropFile, FlowMeter, LinkWatch, Marks, Nodes, PcapFailure, PcapFile, PcapNames, ports};
use narrows_queue::{Disciplines, Dropped, QueueView};
use narrows_samples::{Packed, QueueSamples, RouterSamples, SubqueueSamples};
use narrows_scenario::{Sampling, Scenario};
use narrows_scheme::on_departing_bytes;
use narrows_units::{Bytes, Duration, Instant};
use narrows_wire::{Ecn, FlowKey, Ipv4View, Ipv6View, Packet};
use std::collections::BTreeMap;
use std::path::Path;

/// Interval at which flows' counters are recorded, so that they can be compared with the kernel's values at that time.
const TRACK: Duration = Duration::from_millis(1);

/// A flow's counters in the network at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track {
    /// The time.
    pub at: Instant,
    /// IP bytes of the data direction that had reached the receiving host.
    pub arrived_bytes: u64,
    /// Packets with payload of the data direction that had been dropped or corrupted.
    pub lost_packets: u64,
}

/// The network's counters of a run.
#[derive(Debug)]
pub struct NetworkCounters {
    /// Per flow: what reached the receiving host, and what was lost.
    pub meters: Vec<FlowMeter>,
    /// Per flow: the counters at each millisecond at which they had changed; empty if the scenario does not sample.
    pub tracks: Vec<Vec<Track>>,
    /// Queues over time.
    pub(crate) queues: Packed<QueueSamples>,
    /// Router agents over time.
    pub(crate) routers: Packed<RouterSamples>,
    /// Sub-queues over time.
    pub(crate) subqueues: Packed<SubqueueSamples>,
    /// State of queue disciplines over time, if the scenario asks for it.
    pub(crate) states: Option<StateSampler>,
    /// Packets that were no IP packets, had no destination, or arrived when the network was full.
    pub astray: u64,
    /// Packets that reached a host.
    pub delivered: u64,
    /// When tracks are recorded next.
    pub(crate) next_track: Instant,
    end: Instant,
    /// Per flow, whether its server sends the data.
    server_sends: Vec<bool>,
    /// Flows by the addresses, ports and protocol of their client's packets.
    flows: BTreeMap<FlowKey, usize>,
    files: Vec<PcapFile>,
    drops: Vec<DropFile>,
    /// Marked packets in queues, by direction and slot.
    marks: Marks<(usize, u16)>,
    failed: Option<PcapFailure>,
}

impl NetworkCounters {
    /// Starts with all counters at zero.
    pub(crate) fn new(scenario: &Scenario, disciplines: Disciplines) -> Self {
        let flows = scenario.flows.len();
        let key = |(index, flow): (usize, &narrows_scenario::Flow)| {
            let (src_port, dst_port) = ports(index);
            let protocol = match flow.transport {
                narrows_scenario::Transport::Tcp(_) => 6,
                narrows_scenario::Transport::Udp(_) => 17,
            };
            let (src, dst) = (scenario.nodes[flow.from].address, scenario.nodes[flow.to].address);
            (FlowKey { src, dst, src_port, dst_port, protocol }, index)
        };
        let answers = |flow: &narrows_scenario::Flow| flow.traffic.server_sends();
        Self {
            meters: vec![FlowMeter::default(); flows],
            tracks: vec![Vec::new(); flows],
            queues: Packed::default(),
            routers: Packed::default(),
            subqueues: Packed::default(),
            states: StateSampler::new(scenario, disciplines),
            astray: 0,
            delivered: 0,
            next_track: if scenario.sampling == Sampling::Off { Instant::NEVER } else { Instant::ZERO },
            end: Instant::ZERO + scenario.duration,
            server_sends: scenario.flows.iter().map(answers).collect(),
            flows: scenario.flows.iter().enumerate().map(key).collect(),
            files: Vec::new(),
            drops: Vec::new(),
            marks: Marks::default(),
            failed: None,
        }
    }

    /// Opens a capture file per link, and prepares one for the packets that its queues drop.
    pub(crate) fn capture(&mut self, scenario: &Scenario, dir: &Path) -> Result<(), PcapFailure> {
        let mut names = PcapNames::new(dir);
        let name = |node: usize| scenario.nodes[node].name.as_str();
        self.drops = scenario.links.iter().map(|l| names.drops(name(l.a), name(l.b))).collect();
        self.files = scenario.links.iter().map(|l| names.link(name(l.a), name(l.b))).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Returns the flow that a packet belongs to, if it belongs to one.
    pub(crate) fn member(&self, bytes: &[u8]) -> Option<Member> {
        let packet = Packet::parse_unchecked(bytes).ok()?;
        let there = packet.flow();
        let payload = packet.payload_len;
        if let Some(&flow) = self.flows.get(&there) {
            return Some(Member { flow, along: true, payload });
        }
        let (src, dst, src_port, dst_port) = (there.dst, there.src, there.dst_port, there.src_port);
        let flow = *self.flows.get(&FlowKey { src, dst, src_port, dst_port, ..there })?;
        Some(Member { flow, along: false, payload })
    }

    /// Counts a packet that reaches its host.
    pub(crate) fn arrived(&mut self, held: &Held, at: Instant) {
        self.delivered += 1;
        if let Some(member) = held.member
            && self.is_data(&member)
            && at <= self.end
        {
            self.meters[member.flow].arrived(Bytes::new(held.bytes.len() as u64), member.payload, at);
        }
    }

    fn is_data(&self, member: &Member) -> bool {
        member.along != self.server_sends[member.flow]
    }

    fn lost(&mut self, held: &Held, at: Instant) {
        if let Some(member) = held.member
            && self.is_data(&member)
            && member.payload > 0
            && at <= self.end
        {
            self.meters[member.flow].lost_packets += 1;
        }
    }

    /// Records the counters of all flows.
    pub(crate) fn track(&mut self, at: Instant) {
        for (track, meter) in self.tracks.iter_mut().zip(&self.meters) {
            let (arrived_bytes, lost_packets) = (meter.arrived_bytes, meter.lost_packets);
            // A flow whose counters have not changed needs no entry.
            if track.last().is_none_or(|t| (t.arrived_bytes, t.lost_packets) != (arrived_bytes, lost_packets)) {
                track.push(Track { at, arrived_bytes, lost_packets });
            }
        }
        self.next_track = if at + TRACK > self.end { Instant::NEVER } else { at + TRACK };
    }

    /// Flushes the capture files; returns the first error since they were opened.
    pub(crate) fn finish_capture(&mut self) -> Result<(), PcapFailure> {
        match self.failed.take() {
            Some(failure) => Err(failure),
            None => {
                std::mem::take(&mut self.drops).into_iter().try_for_each(DropFile::finish)?;
                std::mem::take(&mut self.files).into_iter().try_for_each(PcapFile::finish)
            }
        }
    }
}

/// Observes a link, and applies its events to the packets' bytes.
#[derive(Debug)]
pub(crate) struct Watch<'a> {
    pub(crate) edge: usize,
    pub(crate) store: &'a mut Store,
    pub(crate) nodes: &'a mut Nodes,
    pub(crate) counters: &'a mut NetworkCounters,
}

impl Watch<'_> {
    fn gone(&mut self, packet: &Packet, at: Instant) {
        let slot = store::slot_of(packet);
        if let Some(held) = self.store.get(slot) {
            self.counters.lost(held, at);
        }
        self.store.release(slot);
    }
}

impl LinkWatch for Watch<'_> {
    fn dropped(&mut self, dropped: &Dropped, at: Instant) {
        let NetworkCounters { drops, failed, marks, .. } = &mut *self.counters;
        // The slot of a packet that was marked first and dropped later is free for another packet.
        marks.take(&(self.edge, store::slot_of(&dropped.packet)));
        if let Some(file) = drops.get_mut(self.edge / 2)
            && failed.is_none()
            && let Some(held) = self.store.get(store::slot_of(&dropped.packet))
        {
            *failed = file.write((self.edge % 2) as u32, at, &held.bytes, dropped).err();
        }
        self.gone(&dropped.packet, at);
    }

    fn corrupted(&mut self, packet: &Packet, at: Instant) {
        self.gone(packet, at);
    }

    fn marked(&mut self, packet: &Packet, subqueue: u32) {
        if !self.counters.files.is_empty() {
            self.counters.marks.note((self.edge, store::slot_of(packet)), subqueue);
        }
    }

    fn duplicated(&mut self, packet: &Packet) -> Option<Packet> {
        let copy = self.store.copy(store::slot_of(packet))?;
        Some(store::with_slot(*packet, copy))
    }

    fn departing(&mut self, packet: &mut Packet, queue: &QueueView, at: Instant) {
        let Some(held) = self.store.get_mut(store::slot_of(packet)) else { return };
        if packet.ip.ecn() == Ecn::Ce {
            mark(&mut held.bytes, Ecn::Ce);
        }
        if let Some((agent, port)) = self.nodes.agent_at(self.edge) {
            // A packet that cannot be shown to an agent, or changed by it, passes unchanged.
            if on_departing_bytes(agent, &mut held.bytes, port, queue, at).is_ok() {
                store::set_length(packet, held.bytes.len());
            }
        }
    }

    fn departed(&mut self, packet: &Packet, at: Instant) {
        let NetworkCounters { files, failed, marks, .. } = &mut *self.counters;
        if let Some(file) = files.get_mut(self.edge / 2)
            && failed.is_none()
            && let Some(held) = self.store.get(store::slot_of(packet))
        {
            let marked = marks.take(&(self.edge, store::slot_of(packet)));
            *failed = file.write_leaving((self.edge % 2) as u32, at, &held.bytes, marked).err();
        }
    }
}

/// Turns ECT(0) of an IP packet into ECT(1), as a host with L4S senders would have sent it; leaves other packets alone.
pub(crate) fn as_ect1(bytes: &mut [u8]) {
    let v4 = Ipv4View::new_checked(&*bytes).map(|view| view.ecn());
    let v6 = Ipv6View::new_checked(&*bytes).map(|view| view.ecn());
    if v4.or(v6) == Ok(Ecn::Ect0) {
        mark(bytes, Ecn::Ect1);
    }
}

/// Writes an ECN codepoint into an IP packet that is ECN-capable; returns whether it is.
pub(crate) fn mark(bytes: &mut [u8], ecn: Ecn) -> bool {
    if let Ok(mut view) = Ipv4View::new_checked(&mut *bytes) {
        let capable = view.ecn().is_capable();
        if capable {
            view.set_ecn(ecn);
        }
        return capable;
    }
    if let Ok(mut view) = Ipv6View::new_checked(&mut *bytes) {
        let capable = view.ecn().is_capable();
        if capable {
            view.set_ecn(ecn);
        }
        return capable;
    }
    false
}
