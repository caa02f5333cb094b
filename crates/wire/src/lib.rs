//! Protocol headers: a `Repr` per protocol, parsed from and emitted to bytes, with no other meaning.
//!
//! In the engine a [`Packet`] is the headers as values and a payload length; no bytes exist. Bytes exist only at
//! the border (pcap files, the live bottleneck), and `Packet::parse(&packet.emit()) == packet` guards it.

mod bytes;
mod ip;
mod packet;
mod tcp;
mod udp;

pub use bytes::ParseError;
pub use ip::{Ecn, HopByHop, Ip, Ipv4Repr, Ipv6Repr};
pub use packet::{FlowKey, Packet, Transport};
pub use tcp::{SackBlocks, TcpFlags, TcpOptions, TcpRepr, Timestamps};
pub use udp::UdpRepr;
