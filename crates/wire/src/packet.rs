//! A packet: network header, transport header and payload length.

use crate::{Ip, TcpFlags, TcpRepr, UdpRepr, udp};
use core::net::IpAddr;
use narrows_units::Bytes;

/// The transport header of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// TCP.
    Tcp(TcpRepr),
    /// UDP.
    Udp(UdpRepr),
}

impl Transport {
    /// IP protocol number: 6 TCP, 17 UDP.
    #[inline]
    #[must_use]
    pub const fn protocol(&self) -> u8 {
        match self {
            Self::Tcp(_) => 6,
            Self::Udp(_) => 17,
        }
    }
}

/// A packet as the engine carries it: headers as values, payload as a length. Payload bytes are zeros when emitted, but
/// for an RTP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Network header.
    pub ip: Ip,
    /// Transport header.
    pub transport: Transport,
    /// Payload length in bytes.
    pub payload_len: u32,
}

/// Identifies a flow at a router: addresses, ports and protocol number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlowKey {
    /// Source address.
    pub src: IpAddr,
    /// Destination address.
    pub dst: IpAddr,
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// IP protocol number: 6 TCP, 17 UDP.
    pub protocol: u8,
}

impl Packet {
    /// Length of the whole IP packet in bytes: headers and payload.
    #[inline]
    #[must_use]
    pub fn len(&self) -> Bytes {
        Bytes::new((self.ip.header_len() + self.transport_len()) as u64 + u64::from(self.payload_len))
    }

    /// Length of the emitted transport header in bytes: 20 to 60 for TCP, 8 for UDP.
    #[inline]
    pub(crate) fn transport_len(&self) -> usize {
        match &self.transport {
            Transport::Tcp(h) => h.header_len(),
            Transport::Udp(_) => udp::LEN,
        }
    }

    /// Always `false`: a packet has at least its headers.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// The TCP header, if this is TCP.
    #[inline]
    #[must_use]
    pub fn tcp(&self) -> Option<&TcpRepr> {
        match &self.transport {
            Transport::Tcp(h) => Some(h),
            Transport::Udp(_) => None,
        }
    }

    /// The TCP header for writing, if this is TCP.
    #[inline]
    pub fn tcp_mut(&mut self) -> Option<&mut TcpRepr> {
        match &mut self.transport {
            Transport::Tcp(h) => Some(h),
            Transport::Udp(_) => None,
        }
    }

    /// The flow that the packet belongs to, in the packet's direction.
    #[inline]
    #[must_use]
    pub fn flow(&self) -> FlowKey {
        let (src_port, dst_port) = match &self.transport {
            Transport::Tcp(h) => (h.src_port, h.dst_port),
            Transport::Udp(h) => (h.src_port, h.dst_port),
        };
        let protocol = self.transport.protocol();
        FlowKey { src: self.ip.src(), dst: self.ip.dst(), src_port, dst_port, protocol }
    }

    /// Sequence space that a TCP segment takes: payload, and one each for SYN and FIN (RFC 9293, section 3.4).
    #[inline]
    #[must_use]
    pub fn seq_len(&self) -> Bytes {
        let control =
            self.tcp().map_or(0, |h| u64::from(h.flags.has(TcpFlags::SYN)) + u64::from(h.flags.has(TcpFlags::FIN)));
        Bytes::new(u64::from(self.payload_len) + control)
    }
}
