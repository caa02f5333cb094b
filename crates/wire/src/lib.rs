//! Protocol headers: a `Repr` per protocol, parsed from and emitted to bytes, with no other meaning.
//!
//! In the engine a [`Packet`] is the headers as values and a payload length, without bytes. Bytes exist only in pcap
//! files and in the live bottleneck, and tests check that `Packet::parse(&packet.emit()) == packet`. To change headers
//! of real packets through values, use [`rewrite`], which leaves all other bytes unchanged.
//!
//! A view (`Ipv4View` ..) is a protocol's header over borrowed bytes, for reading or changing a few fields of a passing
//! packet: lengths are checked once, accessors never panic, and setters keep checksums right.

mod accecn;
mod bytes;
mod checksum;
mod compact;
mod crc32;
mod dot11;
mod error;
mod fast_open;
mod field;
mod ip;
mod ipv4;
mod ipv4_options;
mod ipv6;
mod llc;
mod mac;
mod packet;
mod radiotap;
mod rewrite;
mod rtp;
mod tcp;
mod tcp_options;
mod tcp_view;
mod udp;

pub use accecn::{AccEcn, AccEcnOrder};
pub use checksum::{message_checksum, transport_checksum};
pub use compact::Compact;
pub use dot11::{BlockAckRepr, DataRepr, Direction, Dot11Repr};
pub use error::{ParseError, Protocol};
pub use fast_open::FastOpenCookie;
pub use ip::{Ecn, Ip};
pub use ipv4::{Ipv4Repr, Ipv4View};
pub use ipv4_options::Ipv4Options;
pub use ipv6::{HopByHop, Ipv6Repr, Ipv6View};
pub use mac::MacAddr;
pub use packet::{FlowKey, Packet, Transport};
pub use radiotap::{RadiotapAmpdu, RadiotapChannel, RadiotapFlags, RadiotapMcs, RadiotapRepr, RadiotapVht};
pub use rewrite::{RewriteError, rewrite};
pub use rtp::{RTP_LEN, RtpRepr};
pub use tcp::{TcpFlags, TcpRepr};
pub use tcp_options::{SackBlocks, TcpOptions, Timestamps};
pub use tcp_view::TcpView;
pub use udp::{UdpRepr, UdpView};
