//! Packets in flight, each written once at its sender and read once at its destination.
//!
//! A [`Parcel`] moves from hop to hop: the packet's place, and what hops need to know (size, flow, the remaining hops).
//! So a hop touches no packet. Freed places are reused, the latest first, because its cache lines are still in the
//! cache.

use crate::routes::Way;
use core::net::Ipv4Addr;
use narrows_units::Bytes;
use narrows_wire::{Ip, Packet, Transport, UdpRepr};
use prefetch_index::prefetch_index;

/// Bit in the flow's half: the packet travels from the flow's `from` to its `to`.
const ALONG: u64 = 1 << 31;
/// Bit in the size's half: the packet carries payload.
const LOADED: u64 = 1 << 31;

/// A packet in flight: its place, and what hops need to know of it.
///
/// It is two words, so that it is passed in two registers; four half-words would go through memory at every call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parcel {
    /// Size in the lower half, place in the upper.
    what: u64,
    /// Flow in the lower half, remaining way in the upper.
    whose: u64,
}

impl Parcel {
    /// No packet.
    pub(crate) const NONE: Self = Self { what: 0, whose: 0 };

    #[inline]
    fn place(self) -> usize {
        (self.what >> 32) as usize
    }

    /// Length of the IP packet.
    #[inline]
    pub(crate) fn size(self) -> Bytes {
        Bytes::new(self.what & (LOADED - 1))
    }

    /// Index of the flow that it belongs to.
    #[inline]
    pub(crate) fn flow(self) -> usize {
        (self.whose & (ALONG - 1)) as usize
    }

    /// Whether it travels from the flow's `from` to its `to`.
    #[inline]
    pub(crate) fn along(self) -> bool {
        self.whose & ALONG != 0
    }

    /// Whether it carries payload.
    #[inline]
    pub(crate) fn loaded(self) -> bool {
        self.what & LOADED != 0
    }

    /// The way that remains.
    #[inline]
    pub(crate) fn way(self) -> Way {
        Way::new((self.whose >> 32) as u32)
    }

    /// The parcel one hop further.
    #[inline]
    #[must_use]
    pub(crate) fn advanced(self) -> Self {
        Self { whose: self.whose + (1 << 32), ..self }
    }

    /// The parcel some hops further.
    #[inline]
    #[must_use]
    pub(crate) fn advanced_by(self, hops: u32) -> Self {
        Self { whose: self.whose + (u64::from(hops) << 32), ..self }
    }

    /// The lower half of `what` for a packet. The size fits: an IP packet has at most 65,535 bytes.
    #[inline]
    fn measure(packet: &Packet) -> u64 {
        packet.len().as_u64() & (LOADED - 1) | if packet.payload_len > 0 { LOADED } else { 0 }
    }
}

/// A packet aligned to cache lines: it occupies two, unaligned it could occupy three.
#[derive(Debug)]
#[repr(align(128))]
struct Aligned(Packet);

/// All packets in flight.
#[derive(Debug, Default)]
pub(crate) struct Parcels {
    packets: Vec<Aligned>,
    free: Vec<u32>,
}

impl Parcels {
    /// Stores the packet of a flow that `write` writes, until [`release`](Self::release); `None` if `write` writes
    /// none.
    #[inline]
    pub(crate) fn write(
        &mut self,
        flow: usize,
        along: bool,
        way: Way,
        write: impl FnOnce(&mut Packet) -> bool,
    ) -> Option<Parcel> {
        let place = self.free.last().copied().unwrap_or_else(|| self.another_place());
        let packet = &mut self.packets[place as usize].0;
        if !write(packet) {
            return None;
        }
        self.free.pop();
        Some(Parcel {
            what: u64::from(place) << 32 | Parcel::measure(packet),
            whose: u64::from(way.number()) << 32 | flow as u64 | if along { ALONG } else { 0 },
        })
    }

    /// Stores a packet of a flow.
    pub(crate) fn keep(&mut self, packet: &Packet, flow: usize, along: bool, way: Way) -> Option<Parcel> {
        self.write(flow, along, way, |place| {
            *place = *packet;
            true
        })
    }

    #[cold]
    fn another_place(&mut self) -> u32 {
        let ip = Ip::between(Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into());
        let transport = Transport::Udp(UdpRepr { src_port: 0, dst_port: 0, rtp: None });
        let place = self.packets.len() as u32;
        self.packets.push(Aligned(Packet { ip, transport, payload_len: 0 }));
        self.free.push(place);
        place
    }

    /// The packet.
    #[inline]
    pub(crate) fn packet(&self, parcel: Parcel) -> &Packet {
        &self.packets[parcel.place()].0
    }

    /// The packet, for writing the answer to it in its place.
    #[inline]
    pub(crate) fn packet_mut(&mut self, parcel: Parcel) -> &mut Packet {
        &mut self.packets[parcel.place()].0
    }

    /// The parcel of the packet of `len` bytes that was written in the place of another of the same flow. `along`: it
    /// travels from the flow's `from` to its `to`, and then carries payload.
    #[inline]
    pub(crate) fn reuse(&self, parcel: Parcel, len: Bytes, along: bool, way: Way) -> Parcel {
        let (loaded, direction) = if along { (LOADED, ALONG) } else { (0, 0) };
        let new = Parcel {
            what: (parcel.place() as u64) << 32 | len.as_u64() | loaded,
            whose: u64::from(way.number()) << 32 | parcel.flow() as u64 | direction,
        };
        debug_assert_eq!(new.what & 0xffff_ffff, Parcel::measure(self.packet(new)));
        new
    }

    /// Prefetches both cache lines of a packet that will soon be read.
    #[inline]
    pub(crate) fn prefetch(&self, parcel: Parcel) {
        let Some(Aligned(packet)) = self.packets.get(parcel.place()) else { return };
        prefetch_index(core::slice::from_ref(packet), 0);
        prefetch_index(core::slice::from_ref(&packet.payload_len), 0);
    }

    /// Changes a packet and updates its parcel.
    pub(crate) fn change<T>(&mut self, parcel: &mut Parcel, change: impl FnOnce(&mut Packet) -> T) -> T {
        let packet = &mut self.packets[parcel.place()].0;
        let result = change(packet);
        parcel.what = (parcel.place() as u64) << 32 | Parcel::measure(packet);
        result
    }

    /// Frees the place of a packet.
    #[inline]
    pub(crate) fn release(&mut self, parcel: Parcel) {
        self.free.push(parcel.place() as u32);
    }

    /// Takes a packet out.
    #[inline]
    pub(crate) fn take(&mut self, parcel: Parcel) -> Packet {
        self.release(parcel);
        self.packets[parcel.place()].0
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use narrows_fabric::ports;

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
        let mut parcel = parcels.keep(&packet(1, 100), 1, true, Way::new(6)).unwrap();
        assert_eq!((parcel.flow(), parcel.way(), parcel.along(), parcel.loaded()), (1, Way::new(6), true, true));
        assert_eq!(parcel.size(), Bytes::new(128));
        assert_eq!((parcel.advanced().way(), parcel.advanced().flow()), (Way::new(7), 1));
        parcels.change(&mut parcel, |p| p.payload_len = 0);
        assert_eq!((parcel.size(), parcel.loaded()), (Bytes::new(28), false));
    }

    #[test]
    fn places_are_used_again() {
        let mut parcels = Parcels::default();
        let first = parcels.keep(&packet(0, 1), 0, true, Way::new(0)).unwrap();
        let second = parcels.keep(&packet(0, 2), 0, true, Way::new(0)).unwrap();
        assert_eq!(parcels.take(first).payload_len, 1);
        assert_eq!(parcels.write(0, true, Way::new(0), |_| false), None);
        let third = parcels.keep(&packet(0, 3), 0, true, Way::new(0)).unwrap();
        assert_eq!((third.place(), parcels.packet(third).payload_len), (first.place(), 3));
        assert_eq!(parcels.packet(second).payload_len, 2);
    }
}
