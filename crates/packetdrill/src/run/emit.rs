//! Packets to bytes: what a script's inbound packet is on the wire.

use super::icmp;
use crate::syntax::{Echoed, Icmp, IpInfo, TcpOption, Tos};
use narrows_wire::{Ecn, Ip, Ipv4Repr, Ipv6Repr, TcpFlags, TcpView, UdpView, message_checksum, transport_checksum};
use std::net::{IpAddr, SocketAddr};

/// TTL of packets whose TTL the script does not give.
const TTL: u8 = 255;

const ICMP: u8 = 1;
pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;
const ICMPV6: u8 = 58;

/// Bytes of the quoted packet's transport header in an ICMP message (RFC 792).
const QUOTED: usize = 8;

/// Where a packet comes from and goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Path {
    pub(super) source: SocketAddr,
    pub(super) destination: SocketAddr,
}

impl Path {
    /// The way back.
    pub(super) fn reversed(self) -> Self {
        Self { source: self.destination, destination: self.source }
    }
}

/// A TCP header with numbers as they are on the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TcpHeader {
    pub(super) seq: u32,
    pub(super) ack: u32,
    pub(super) flags: TcpFlags,
    pub(super) window: u16,
    pub(super) urgent: u16,
    pub(super) options: Vec<TcpOption>,
    /// Payload in bytes, all zero.
    pub(super) length: usize,
}

/// Returns the bytes of a TCP packet.
pub(super) fn tcp(path: Path, ip: &IpInfo, header: &TcpHeader) -> Vec<u8> {
    let options = option_bytes(&header.options);
    let header_length = 20 + options.len();
    let mut segment = Vec::with_capacity(header_length + header.length);
    segment.extend(path.source.port().to_be_bytes());
    segment.extend(path.destination.port().to_be_bytes());
    segment.extend(header.seq.to_be_bytes());
    segment.extend(header.ack.to_be_bytes());
    // The parser bounds options to 40 bytes, so the length fits its four bits.
    let offset = u16::try_from(header_length / 4).unwrap_or(15) << 12;
    segment.extend((offset | header.flags.as_bits()).to_be_bytes());
    segment.extend(header.window.to_be_bytes());
    segment.extend([0, 0]);
    segment.extend(header.urgent.to_be_bytes());
    segment.extend(options);
    segment.resize(header_length + header.length, 0);
    if let Ok(mut view) = TcpView::new_checked(&mut segment[..]) {
        view.fill_checksum(path.source.ip(), path.destination.ip());
    }
    with_ip(path, ip, TCP, &segment)
}

/// Returns the bytes of a UDP packet with a payload of zeros.
pub(super) fn udp(path: Path, ip: &IpInfo, length: u16) -> Vec<u8> {
    let total = usize::from(length) + QUOTED;
    let mut datagram = Vec::with_capacity(total);
    datagram.extend(path.source.port().to_be_bytes());
    datagram.extend(path.destination.port().to_be_bytes());
    datagram.extend(u16::try_from(total).unwrap_or(u16::MAX).to_be_bytes());
    datagram.resize(total, 0);
    if let Ok(mut view) = UdpView::new_checked(&mut datagram[..]) {
        view.fill_checksum(path.source.ip(), path.destination.ip());
    }
    with_ip(path, ip, UDP, &datagram)
}

/// Returns the bytes of an ICMP message about a packet that the host sent.
///
/// `quoted` is the way of that packet, and `isn` the host's initial sequence number, to which the quoted one is
/// relative.
pub(super) fn icmp(path: Path, ip: &IpInfo, message: &Icmp, quoted: Path, isn: u32) -> Result<Vec<u8>, String> {
    let is_v6 = path.source.is_ipv6();
    let (kind, code) = icmp::numbers(is_v6, &message.kind, message.code.as_deref())?;
    let mut bytes = vec![kind, code, 0, 0, 0, 0, 0, 0];
    if let Some(mtu) = message.mtu {
        let (has_mtu, needed) = if is_v6 {
            ((kind, code) == icmp::TOO_BIG, "packet_too_big")
        } else {
            ((kind, code) == icmp::FRAG_NEEDED, "unreachable frag_needed")
        };
        if !has_mtu {
            return Err(format!("only `{needed}` has an MTU"));
        }
        if is_v6 {
            bytes[4..8].copy_from_slice(&mtu.to_be_bytes());
        } else {
            let mtu = u16::try_from(mtu).map_err(|_| "the MTU of ICMP has 16 bits".to_owned())?;
            bytes[6..8].copy_from_slice(&mtu.to_be_bytes());
        }
    }
    if let Some(id) = message.id {
        bytes[4..6].copy_from_slice(&id.to_be_bytes());
    }
    match message.echoed {
        Echoed::Raw(length) => {
            if usize::from(length) < bytes.len() {
                return Err(format!("an ICMP message has at least {} bytes", bytes.len()));
            }
            bytes.resize(usize::from(length), 0);
        }
        Echoed::Default => quote(&mut bytes, quoted, TCP, isn, 20),
        Echoed::Tcp { start, length } => {
            quote(&mut bytes, quoted, TCP, isn.wrapping_add(start), 20 + length as usize);
        }
        Echoed::Udp(length) => {
            let total = u16::try_from(QUOTED + usize::from(length)).unwrap_or(u16::MAX);
            quote(&mut bytes, quoted, UDP, u32::from(total) << 16, usize::from(total));
        }
    }
    let checksum = if is_v6 {
        transport_checksum(path.source.ip(), path.destination.ip(), ICMPV6, &bytes)
    } else {
        message_checksum(&bytes)
    };
    bytes[2..4].copy_from_slice(&checksum.to_be_bytes());
    Ok(with_ip(path, ip, if is_v6 { ICMPV6 } else { ICMP }, &bytes))
}

/// Appends the IP header of the packet quoted and its ports with the four bytes behind them.
fn quote(bytes: &mut Vec<u8>, path: Path, protocol: u8, behind_ports: u32, length: usize) {
    header(path, &IpInfo::default(), protocol, length, bytes);
    bytes.extend(path.source.port().to_be_bytes());
    bytes.extend(path.destination.port().to_be_bytes());
    bytes.extend(behind_ports.to_be_bytes());
}

fn with_ip(path: Path, ip: &IpInfo, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::with_capacity(40 + payload.len());
    header(path, ip, protocol, payload.len(), &mut packet);
    packet.extend_from_slice(payload);
    packet
}

fn header(path: Path, ip: &IpInfo, protocol: u8, length: usize, out: &mut Vec<u8>) {
    let tos = match ip.tos {
        Some(Tos::Ecn(ecn)) => ecn,
        Some(Tos::Byte(tos)) => tos,
        Some(Tos::AnyEct) | None => 0,
    };
    let (dscp, ecn) = (tos >> 2, Ecn::from_bits(tos));
    let ttl = ip.ttl.unwrap_or(TTL);
    match (path.source.ip(), path.destination.ip()) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let repr = match Ip::between(src.into(), dst.into()) {
                Ip::V4(repr) => Ipv4Repr { dscp, ecn, ttl, dont_fragment: false, ..repr },
                Ip::V6(_) => return,
            };
            repr.emit_into(protocol, length, out);
        }
        (src, dst) => {
            let repr = match Ip::between(src, dst) {
                Ip::V6(repr) => {
                    let flow_label = ip.flow_label.unwrap_or(0);
                    Ipv6Repr { dscp, ecn, hop_limit: ttl, flow_label, ..repr }
                }
                Ip::V4(_) => return,
            };
            repr.emit_into(protocol, length, out);
        }
    }
}

/// Returns the options' bytes. The parser has checked that they fill whole words.
fn option_bytes(options: &[TcpOption]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for option in options {
        // Lengths fit: the parser bounds all options together to 40 bytes.
        let length = option.wire_length() as u8;
        match option {
            TcpOption::Eol => bytes.push(0),
            TcpOption::Nop => bytes.push(1),
            TcpOption::Mss(mss) => {
                bytes.extend([2, length]);
                bytes.extend(mss.to_be_bytes());
            }
            TcpOption::WindowScale(shift) => bytes.extend([3, length, *shift]),
            TcpOption::SackPermitted => bytes.extend([4, length]),
            TcpOption::Sack(blocks) => {
                bytes.extend([5, length]);
                for (left, right) in blocks {
                    bytes.extend(left.to_be_bytes());
                    bytes.extend(right.to_be_bytes());
                }
            }
            TcpOption::Timestamps { value, echo } => {
                bytes.extend([8, length]);
                bytes.extend(value.to_be_bytes());
                bytes.extend(echo.to_be_bytes());
            }
            TcpOption::Md5(digest) => {
                bytes.extend([19, length]);
                bytes.extend(digest);
            }
            TcpOption::FastOpen(cookie) => {
                bytes.extend([34, length]);
                bytes.extend(cookie);
            }
            TcpOption::AccEcn { ect1_first, counters } => {
                bytes.extend([if *ect1_first { 174 } else { 172 }, length]);
                for counter in counters {
                    bytes.extend(&counter.to_be_bytes()[1..]);
                }
            }
            TcpOption::FastOpenExperimental(cookie) => {
                bytes.extend([254, length]);
                bytes.extend(FAST_OPEN_MAGIC.to_be_bytes());
                bytes.extend(cookie);
            }
            TcpOption::Unknown { kind, data } => {
                bytes.extend([*kind, length]);
                bytes.extend(data);
            }
        }
    }
    bytes
}

/// The number that marks Fast Open among the uses of experimental option 254 (RFC 6994, IANA's registry).
pub(super) const FAST_OPEN_MAGIC: u16 = 0xf989;
