//! ICMP errors about a connection's packets (RFC 792, RFC 4443).

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use narrows_units::SeqNum;

/// An error about a TCP segment that this host sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// Whether it is an `ICMPv6` message.
    pub(crate) is_v6: bool,
    pub(crate) kind: u8,
    pub(crate) code: u8,
    /// The field after the checksum: in its lower half `ICMPv4`'s MTU, as a whole `ICMPv6`'s.
    pub(crate) value: u32,
    /// Source and destination of the segment.
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    /// Its sequence number.
    pub(crate) seq: SeqNum,
}

/// Numbers of the protocols above IP.
const ICMP: u8 = 1;
const TCP: u8 = 6;
const ICMPV6: u8 = 58;

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The addresses and protocol of an IP header, and the bytes after it.
fn header(bytes: &[u8]) -> Option<(IpAddr, IpAddr, u8, &[u8])> {
    match bytes.first()? >> 4 {
        4 => {
            let len = usize::from(bytes.first()? & 0xf) * 4;
            let address = |at: usize| Some(Ipv4Addr::from(u32_at(bytes, at)?).into());
            Some((address(12)?, address(16)?, *bytes.get(9)?, bytes.get(len.max(20)..)?))
        }
        6 => {
            let address = |at: usize| {
                let octets: [u8; 16] = bytes.get(at..at + 16)?.try_into().ok()?;
                Some(Ipv6Addr::from(octets).into())
            };
            Some((address(8)?, address(24)?, *bytes.get(6)?, bytes.get(40..)?))
        }
        _ => None,
    }
}

/// Reads an ICMP error about a TCP segment from an IP packet; `None` if the packet is something else.
pub(crate) fn parse(packet: &[u8]) -> Option<Message> {
    let (_, _, protocol, icmp) = header(packet)?;
    let is_v6 = match protocol {
        ICMP => false,
        ICMPV6 => true,
        _ => return None,
    };
    let (src, dst, inner, tcp) = header(icmp.get(8..)?)?;
    if inner != TCP {
        return None;
    }
    Some(Message {
        is_v6,
        kind: *icmp.first()?,
        code: *icmp.get(1)?,
        value: u32_at(icmp, 4)?,
        local: SocketAddr::new(src, u16_at(tcp, 0)?),
        remote: SocketAddr::new(dst, u16_at(tcp, 2)?),
        seq: SeqNum::new(u32_at(tcp, 4)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_wire::{Ip, Packet, TcpRepr, Transport};

    #[test]
    fn an_error_names_the_segment_that_it_is_about() {
        let (local, remote) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let tcp = TcpRepr { src_port: 8080, dst_port: 9000, seq: SeqNum::new(77), ..TcpRepr::default() };
        let inner = Packet { ip: Ip::between(local, remote), transport: Transport::Tcp(tcp), payload_len: 0 }.emit();
        let mut outer = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 1, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1];
        outer.extend_from_slice(&[3, 4, 0, 0, 0, 0, 0x05, 0x78]);
        outer.extend_from_slice(&inner[..28]);
        let message = parse(&outer).expect("an ICMP error");
        assert_eq!((message.is_v6, message.kind, message.code, message.value), (false, 3, 4, 1400));
        assert_eq!(message.local, SocketAddr::new(local, 8080));
        assert_eq!((message.remote, message.seq), (SocketAddr::new(remote, 9000), SeqNum::new(77)));
        assert_eq!(parse(&inner), None, "a TCP segment");
        for len in 0..outer.len() - 8 {
            parse(&outer[..len]);
        }
    }
}
