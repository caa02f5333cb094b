//! The packets in the network: their bytes and metadata, under a number that fits into a packet header.

use narrows_wire::{Ip, Packet, Transport, UdpRepr};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The flow that a packet belongs to, its direction, and its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// The flow.
    pub(crate) flow: usize,
    /// Whether it goes from the flow's client to its server.
    pub(crate) along: bool,
    /// Payload in bytes.
    pub(crate) payload: u32,
}

/// A packet in the network.
#[derive(Debug, Default)]
pub(crate) struct Held {
    /// From the IP header on.
    pub(crate) bytes: Vec<u8>,
    /// Its destination node.
    pub(crate) target: usize,
    /// The flow that it belongs to, if any.
    pub(crate) member: Option<Member>,
}

/// All packets in the network.
///
/// At most 65,536 of them: a queue holds a copy of a packet's headers, with the packet's number in the IPv4
/// identification or the IPv6 flow label. No queue discipline reads these fields.
#[derive(Debug, Default)]
pub(crate) struct Store {
    slots: Vec<Held>,
    free: Vec<u16>,
}

impl Store {
    /// Stores a packet; returns `None` if the network is full. Buffers are reused, so a steady flow allocates nothing.
    pub(crate) fn keep(&mut self, bytes: &[u8], target: usize, member: Option<Member>) -> Option<u16> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                let slot = u16::try_from(self.slots.len()).ok()?;
                self.slots.push(Held::default());
                slot
            }
        };
        let held = self.slots.get_mut(usize::from(slot))?;
        held.bytes.clear();
        held.bytes.extend_from_slice(bytes);
        (held.target, held.member) = (target, member);
        Some(slot)
    }

    /// Stores a copy of a packet under a number of its own; returns `None` if the network is full.
    pub(crate) fn copy(&mut self, slot: u16) -> Option<u16> {
        let held = self.slots.get_mut(usize::from(slot))?;
        // The buffer is taken out while it is copied, because `keep` borrows all packets.
        let (bytes, target, member) = (std::mem::take(&mut held.bytes), held.target, held.member);
        let copy = self.keep(&bytes, target, member);
        if let Some(held) = self.slots.get_mut(usize::from(slot)) {
            held.bytes = bytes;
        }
        copy
    }

    /// Returns the packet of this number.
    pub(crate) fn get(&self, slot: u16) -> Option<&Held> {
        self.slots.get(usize::from(slot))
    }

    /// Returns the packet of this number, for changing it.
    pub(crate) fn get_mut(&mut self, slot: u16) -> Option<&mut Held> {
        self.slots.get_mut(usize::from(slot))
    }

    /// Removes a packet.
    pub(crate) fn release(&mut self, slot: u16) {
        self.free.push(slot);
    }

    /// Packets in the network.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

/// Returns the addresses of an IP packet; `None` if the bytes are no IP packet, or end before the addresses do.
pub(crate) fn addresses(bytes: &[u8]) -> Option<(IpAddr, IpAddr)> {
    match bytes.first()? >> 4 {
        4 => {
            let (src, dst) = (bytes.get(12..16)?, bytes.get(16..20)?);
            let address = |b: &[u8]| <[u8; 4]>::try_from(b).ok().map(|b| IpAddr::V4(Ipv4Addr::from(b)));
            Some((address(src)?, address(dst)?))
        }
        6 => {
            let (src, dst) = (bytes.get(8..24)?, bytes.get(24..40)?);
            let address = |b: &[u8]| <[u8; 16]>::try_from(b).ok().map(|b| IpAddr::V6(Ipv6Addr::from(b)));
            Some((address(src)?, address(dst)?))
        }
        _ => None,
    }
}

/// Returns the copy of packet number `slot` that a queue sees: headers, the length on the wire, and the number.
///
/// Fragments, and packets that are neither TCP nor UDP, become a UDP datagram without ports, with the same addresses
/// and length.
pub(crate) fn shown(bytes: &[u8], slot: u16) -> Option<Packet> {
    let mut packet = match Packet::parse_unchecked(bytes) {
        Ok(packet) => packet,
        Err(_) => {
            let (src, dst) = addresses(bytes)?;
            let transport = Transport::Udp(UdpRepr { src_port: 0, dst_port: 0, rtp: None });
            Packet { ip: Ip::between(src, dst), transport, payload_len: 0 }
        }
    };
    set_length(&mut packet, bytes.len());
    Some(with_slot(packet, slot))
}

/// Returns a queue's copy of a packet with another packet number.
pub(crate) fn with_slot(mut packet: Packet, slot: u16) -> Packet {
    match &mut packet.ip {
        Ip::V4(header) => header.ident = slot,
        Ip::V6(header) => header.flow_label = slot.into(),
    }
    packet
}

/// Sets the packet's length to that of its bytes: a [`Packet`] does not hold options that Narrows does not know.
pub(crate) fn set_length(packet: &mut Packet, len: usize) {
    packet.payload_len = 0;
    let headers = packet.len().as_u64();
    packet.payload_len = u32::try_from((len as u64).saturating_sub(headers)).unwrap_or(u32::MAX);
}

/// Returns the packet number in a queue's copy.
pub(crate) fn slot_of(packet: &Packet) -> u16 {
    match &packet.ip {
        Ip::V4(header) => header.ident,
        Ip::V6(header) => header.flow_label as u16,
    }
}
