//! Packets in flight, each written once at its sender and read once at its destination.
//!
//! A [`Parcel`] moves from hop to hop: the packet's place, and what hops need to know (size, flow, the remaining hops).
//! So a hop touches no packet. Freed places are reused, the latest first, because its cache lines are still in the
//! cache.

mod bare;
mod parcel;

use crate::routes::Way;
use core::net::{IpAddr, Ipv4Addr};
use narrows_fabric::ports;
use narrows_scenario::Scenario;
use narrows_units::{Bytes, SeqNum};
use narrows_wire::{Compact, FlowKey, Ip, Packet, Transport, UdpRepr};
pub(crate) use parcel::Parcel;
use parcel::{ALONG, LOADED, WHOLE};
use prefetch_index::prefetch_index;

/// The addresses of flows, of which packets in flight store none.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    /// Per node.
    addresses: Vec<IpAddr>,
    /// Per flow: the nodes `from` and `to`.
    nodes: Vec<[u32; 2]>,
}

impl Ends {
    /// Those of a scenario's flows.
    pub(crate) fn of(scenario: &Scenario) -> Self {
        Self {
            addresses: scenario.nodes.iter().map(|node| node.address).collect(),
            nodes: scenario.flows.iter().map(|flow| [flow.from as u32, flow.to as u32]).collect(),
        }
    }

    /// Source and destination of a flow's packets in a direction: addresses and ports.
    #[inline]
    fn of_flow(&self, flow: usize, along: bool) -> Option<((IpAddr, IpAddr), (u16, u16))> {
        let [from, to] = *self.nodes.get(flow)?;
        let (from, to) = (*self.addresses.get(from as usize)?, *self.addresses.get(to as usize)?);
        let (client, server) = ports(flow);
        Some(if along { ((from, to), (client, server)) } else { ((to, from), (server, client)) })
    }
}

/// All packets in flight.
///
/// A TCP segment takes a cache line, a [`Compact`] in `segments`. Any other packet is in `wholes`, at the place that
/// its segment has as `seq`; [`Parcel::is_whole`] says so.
#[derive(Debug)]
pub(crate) struct Parcels {
    segments: Vec<Compact>,
    free: Vec<u32>,
    wholes: Vec<Packet>,
    free_wholes: Vec<u32>,
    ends: Ends,
    /// Where a packet is written before it is stored.
    scratch: Packet,
}

impl Default for Parcels {
    fn default() -> Self {
        Self::new(Ends::default())
    }
}

impl Parcels {
    /// No packets, for flows with these addresses.
    pub(crate) fn new(ends: Ends) -> Self {
        let (segments, free) = (Vec::new(), Vec::new());
        Self { segments, free, wholes: Vec::new(), free_wholes: Vec::new(), ends, scratch: blank() }
    }

    /// Stores the segment of a flow that travels from its `from` to its `to`, and that `write` writes, until
    /// [`release`](Self::release); `None` if `write` writes none. `write` returns its length as an IP packet.
    #[inline]
    pub(crate) fn write_along(
        &mut self,
        flow: usize,
        way: Way,
        write: impl FnOnce(&mut Compact) -> Option<Bytes>,
    ) -> Option<Parcel> {
        let place = self.free.pop().unwrap_or_else(|| self.another_place());
        let Some(len) = write(&mut self.segments[place as usize]) else {
            self.free.push(place);
            return None;
        };
        Some(self.written(place as usize, len, (flow, true), way))
    }

    /// Stores a segment of `len` bytes of a flow, until [`release`](Self::release).
    #[inline]
    pub(crate) fn keep_segment(&mut self, flow: (usize, bool), way: Way, (segment, len): (&Compact, Bytes)) -> Parcel {
        let place = self.free.pop().unwrap_or_else(|| self.another_place());
        self.segments[place as usize] = *segment;
        self.written(place as usize, len, flow, way)
    }

    /// Stores the packet of a flow's connection that `write` writes, until [`release`](Self::release); `None` if
    /// `write` writes none. Its addresses and ports are those of the flow.
    #[inline]
    pub(crate) fn write(
        &mut self,
        flow: usize,
        along: bool,
        way: Way,
        write: impl FnOnce(&mut Packet) -> bool,
    ) -> Option<Parcel> {
        if !write(&mut self.scratch) {
            return None;
        }
        debug_assert!(self.is_between(&self.scratch, flow, along), "a packet of another flow");
        let place = self.free.pop().unwrap_or_else(|| self.another_place());
        let whole = if self.segments[place as usize].set(&self.scratch) { 0 } else { self.hold_scratch(place) };
        Some(Parcel::new(&self.scratch, place, whole, flow, along, way))
    }

    /// Stores the packet that was written last whole, at `place`; returns [`WHOLE`].
    #[cold]
    fn hold_scratch(&mut self, place: u32) -> u64 {
        let packet = self.scratch;
        self.segments[place as usize] = self.store_whole(&packet);
        WHOLE
    }

    /// Stores a packet of a flow.
    pub(crate) fn keep(&mut self, packet: &Packet, flow: usize, along: bool, way: Way) -> Parcel {
        let place = self.free.pop().unwrap_or_else(|| self.another_place());
        let whole = if self.is_between(packet, flow, along) && self.segments[place as usize].set(packet) {
            0
        } else {
            self.segments[place as usize] = self.store_whole(packet);
            WHOLE
        };
        Parcel::new(packet, place, whole, flow, along, way)
    }

    /// Stores a packet that does not fit a cache line, and returns what stands for it.
    #[cold]
    fn store_whole(&mut self, packet: &Packet) -> Compact {
        let place = self.free_wholes.pop().unwrap_or(self.wholes.len() as u32);
        match self.wholes.get_mut(place as usize) {
            Some(whole) => *whole = *packet,
            None => self.wholes.push(*packet),
        }
        let mut standing = Compact::EMPTY;
        (standing.seq, standing.payload_len) = (SeqNum::new(place), packet.payload_len);
        standing
    }

    #[cold]
    fn another_place(&mut self) -> u32 {
        let place = self.segments.len() as u32;
        self.segments.push(Compact::EMPTY);
        place
    }

    /// Whether the packet has the addresses and ports of the flow in this direction.
    fn is_between(&self, packet: &Packet, flow: usize, along: bool) -> bool {
        let FlowKey { src, dst, src_port, dst_port, .. } = packet.flow();
        self.ends.of_flow(flow, along) == Some(((src, dst), (src_port, dst_port)))
    }

    /// The segment of a parcel that is not [whole](Parcel::is_whole).
    #[inline]
    pub(crate) fn segment(&self, parcel: Parcel) -> &Compact {
        debug_assert!(!parcel.is_whole());
        &self.segments[parcel.place()]
    }

    /// The same, for writing the answer to it in its place.
    #[inline]
    pub(crate) fn segment_mut(&mut self, parcel: Parcel) -> &mut Compact {
        debug_assert!(!parcel.is_whole());
        &mut self.segments[parcel.place()]
    }

    /// The most packets that were stored at once.
    #[cfg(test)]
    pub(crate) fn places(&self) -> usize {
        self.segments.len()
    }

    /// Payload length of the packet, in bytes.
    #[inline]
    pub(crate) fn payload_len(&self, parcel: Parcel) -> u32 {
        self.segments[parcel.place()].payload_len
    }

    /// The packet.
    pub(crate) fn packet(&self, parcel: Parcel) -> Packet {
        let segment = &self.segments[parcel.place()];
        if parcel.is_whole() {
            return self.wholes[segment.seq.as_u32() as usize];
        }
        // Only packets of flows with known addresses are stored as segments.
        self.ends
            .of_flow(parcel.flow(), parcel.along())
            .map_or_else(blank, |(addresses, ports)| segment.packet(addresses, ports))
    }

    /// The parcel of the segment of `len` bytes that was written in the place of another of the same flow. `along`: it
    /// travels from the flow's `from` to its `to`, and then carries payload.
    #[inline]
    pub(crate) fn reuse(&self, parcel: Parcel, len: Bytes, along: bool, way: Way) -> Parcel {
        self.written(parcel.place(), len, (parcel.flow(), along), way)
    }

    /// The parcel of the segment of `len` bytes at `place`.
    #[inline]
    fn written(&self, place: usize, len: Bytes, (flow, along): (usize, bool), way: Way) -> Parcel {
        let (loaded, direction) = if along { (LOADED, ALONG) } else { (0, 0) };
        let new = Parcel {
            what: (place as u64) << 32 | len.as_u64() | loaded,
            whose: u64::from(way.number()) << 32 | flow as u64 | direction,
        };
        debug_assert_eq!(new.what & 0xffff_ffff, Parcel::measure(&self.packet(new)));
        new
    }

    /// Prefetches a segment that will soon be read.
    #[inline]
    pub(crate) fn prefetch(&self, parcel: Parcel) {
        prefetch_index(&self.segments, parcel.place());
    }

    /// Changes a packet and updates its parcel.
    pub(crate) fn change<T>(&mut self, parcel: &mut Parcel, change: impl FnOnce(&mut Packet) -> T) -> T {
        let mut packet = self.take(*parcel);
        let result = change(&mut packet);
        *parcel = self.keep(&packet, parcel.flow(), parcel.along(), parcel.way());
        result
    }

    /// Frees the place of a packet.
    #[inline]
    pub(crate) fn release(&mut self, parcel: Parcel) {
        if parcel.is_whole() {
            self.free_wholes.push(self.segments[parcel.place()].seq.as_u32());
        }
        self.free.push(parcel.place() as u32);
    }

    /// Takes a packet out for the table of another part, as it is stored: a segment, or a whole packet.
    pub(crate) fn move_out(&mut self, parcel: Parcel) -> (Compact, Option<Box<Packet>>) {
        let whole = parcel.is_whole().then(|| Box::new(self.packet(parcel)));
        let segment = self.segments[parcel.place()];
        self.release(parcel);
        (segment, whole)
    }

    /// Stores what another part's table had for `parcel`.
    pub(crate) fn move_in(&mut self, parcel: Parcel, (segment, whole): (Compact, Option<Box<Packet>>)) -> Parcel {
        let place = self.free.pop().unwrap_or_else(|| self.another_place());
        self.segments[place as usize] = whole.map_or(segment, |packet| self.store_whole(&packet));
        Parcel { what: u64::from(place) << 32 | parcel.what & 0xffff_ffff, ..parcel }
    }

    /// Takes a packet out.
    pub(crate) fn take(&mut self, parcel: Parcel) -> Packet {
        self.release(parcel);
        self.packet(parcel)
    }
}

/// A packet that is about to be written.
fn blank() -> Packet {
    let ip = Ip::between(Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into());
    Packet { ip, transport: Transport::Udp(UdpRepr { src_port: 0, dst_port: 0, rtp: None }), payload_len: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_wire::TcpRepr;

    fn packet(flow: usize, payload_len: u32) -> Packet {
        let (src_port, dst_port) = ports(flow);
        Packet {
            ip: Ip::between([10, 0, 0, 1].into(), [10, 0, 0, 2].into()),
            transport: Transport::Udp(UdpRepr { src_port, dst_port, rtp: None }),
            payload_len,
        }
    }

    #[test]
    fn a_parcel_says_what_its_packet_says() {
        let mut parcels = Parcels::default();
        let mut parcel = parcels.keep(&packet(1, 100), 1, true, Way::new(6));
        assert_eq!((parcel.flow(), parcel.way(), parcel.along(), parcel.loaded()), (1, Way::new(6), true, true));
        assert_eq!(parcel.size(), Bytes::new(128));
        assert_eq!((parcel.advanced().way(), parcel.advanced().flow()), (Way::new(7), 1));
        parcels.change(&mut parcel, |p| p.payload_len = 0);
        assert_eq!((parcel.size(), parcel.loaded()), (Bytes::new(28), false));
    }

    #[test]
    fn places_are_used_again() {
        let mut parcels = Parcels::default();
        let first = parcels.keep(&packet(0, 1), 0, true, Way::new(0));
        let second = parcels.keep(&packet(0, 2), 0, true, Way::new(0));
        assert_eq!(parcels.take(first).payload_len, 1);
        assert_eq!(parcels.write(0, true, Way::new(0), |_| false), None);
        let third = parcels.keep(&packet(0, 3), 0, true, Way::new(0));
        assert_eq!((third.place(), parcels.packet(third).payload_len), (first.place(), 3));
        assert_eq!(parcels.packet(second).payload_len, 2);
    }

    #[test]
    fn segments_of_a_flow_are_stored_without_their_addresses() {
        let addresses = vec![[10, 0, 0, 1].into(), [10, 0, 0, 2].into()];
        let mut parcels = Parcels::new(Ends { addresses, nodes: vec![[0, 1]] });
        let (src_port, dst_port) = ports(0);
        let tcp = TcpRepr { src_port, dst_port, seq: SeqNum::new(9), ..TcpRepr::default() };
        let data = Packet { transport: Transport::Tcp(tcp), ..packet(0, 1000) };
        let other = Packet { ip: Ip::between([10, 0, 0, 3].into(), [10, 0, 0, 2].into()), ..data };
        let kept = [&data, &other, &packet(0, 7)].map(|it| parcels.keep(it, 0, true, Way::new(0)));
        assert_eq!(kept.map(Parcel::is_whole), [false, true, true], "one has another address, one is no TCP");
        assert_eq!(kept.map(|it| parcels.packet(it)), [data, other, packet(0, 7)]);
        assert_eq!(kept.map(|it| parcels.payload_len(it)), [1000, 1000, 7]);
        for it in kept {
            parcels.release(it);
        }
        let again = [&other, &data].map(|it| parcels.keep(it, 0, true, Way::new(0)));
        assert_eq!(again.map(|it| parcels.packet(it)), [other, data]);
        assert_eq!((parcels.segments.len(), parcels.wholes.len()), (3, 2), "places are used again");
    }
}
