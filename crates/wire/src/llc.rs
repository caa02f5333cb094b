//! LLC and SNAP: the header between the MAC header and an IP packet (IEEE 802.2, clause 3; RFC 1042).

use crate::field::{array_at, put};
use crate::{Ip, ParseError, Protocol};

/// Length of the header in bytes.
pub(crate) const LEN: usize = 8;

/// DSAP and SSAP of SNAP, an unnumbered information frame, and the organisation code of encapsulated Ethernet.
const SNAP: [u8; 6] = [0xaa, 0xaa, 0x03, 0, 0, 0];
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

/// The EtherType in the header, which gives the IP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EtherType {
    /// IPv4, 0x0800.
    Ipv4,
    /// IPv6, 0x86dd.
    Ipv6,
}

impl EtherType {
    /// The EtherType of this IP header.
    pub(crate) const fn of(ip: &Ip) -> Self {
        match ip {
            Ip::V4(_) => Self::Ipv4,
            Ip::V6(_) => Self::Ipv6,
        }
    }

    /// Reads the header.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let protocol = Protocol::Llc;
        if bytes.len() < LEN {
            return Err(ParseError::Truncated { protocol, needed: LEN, have: bytes.len() });
        }
        if array_at::<6>(bytes, 0) != SNAP {
            let value = u32::from_be_bytes(array_at(bytes, 0));
            return Err(ParseError::Unsupported { protocol, field: "header", value, allowed: "0xaaaa0300 (SNAP)" });
        }
        match u16::from_be_bytes(array_at(bytes, 6)) {
            IPV4 => Ok(Self::Ipv4),
            IPV6 => Ok(Self::Ipv6),
            other => Err(ParseError::Unsupported {
                protocol,
                field: "EtherType",
                value: u32::from(other),
                allowed: "0x0800 (IPv4) and 0x86dd (IPv6)",
            }),
        }
    }

    /// Appends the header.
    pub(crate) fn emit_into(self, out: &mut Vec<u8>) {
        let ether_type = match self {
            Self::Ipv4 => IPV4,
            Self::Ipv6 => IPV6,
        };
        let mut header = [0; LEN];
        put(&mut header, 0, SNAP);
        put(&mut header, 6, ether_type.to_be_bytes());
        out.extend_from_slice(&header);
    }
}
