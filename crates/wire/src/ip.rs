//! The parts that IPv4 and IPv6 have in common.

use crate::{Ipv4Options, Ipv4Repr, Ipv6Repr};
use core::net::IpAddr;

/// The codepoint in the two ECN bits of the IP header (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Ecn {
    /// `00`: not ECN-capable.
    #[default]
    NotEct = 0b00,
    /// `01`: ECN-capable transport, ECT(1).
    Ect1 = 0b01,
    /// `10`: ECN-capable transport, ECT(0).
    Ect0 = 0b10,
    /// `11`: congestion experienced.
    Ce = 0b11,
}

impl Ecn {
    /// The codepoint in the two lowest bits of `bits`.
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// Whether a queue may mark a packet with this codepoint instead of dropping it (ECT(0), ECT(1) or CE).
    #[inline]
    #[must_use]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

/// The network header of a packet: IPv4 or IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ip {
    /// IPv4.
    V4(Ipv4Repr),
    /// IPv6.
    V6(Ipv6Repr),
}

impl Ip {
    /// A new header of the addresses' family, with DSCP 0, Not-ECT, TTL 64, and Don't Fragment set in IPv4.
    ///
    /// Addresses of different families are a caller's error; they give an IPv6 header with the IPv4 address mapped into
    /// IPv6 (RFC 4291, section 2.5.5.2).
    #[must_use]
    pub fn between(src: IpAddr, dst: IpAddr) -> Self {
        let mapped = |a: IpAddr| match a {
            IpAddr::V4(a) => a.to_ipv6_mapped(),
            IpAddr::V6(a) => a,
        };
        match (src, dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => Self::V4(Ipv4Repr {
                src,
                dst,
                dscp: 0,
                ecn: Ecn::NotEct,
                reserved_flag: false,
                dont_fragment: true,
                ident: 0,
                ttl: 64,
                options: Ipv4Options::EMPTY,
            }),
            (src, dst) => Self::V6(Ipv6Repr {
                src: mapped(src),
                dst: mapped(dst),
                dscp: 0,
                ecn: Ecn::NotEct,
                flow_label: 0,
                hop_limit: 64,
                hop_by_hop: None,
            }),
        }
    }

    /// Source address.
    #[inline]
    #[must_use]
    pub fn src(&self) -> IpAddr {
        match self {
            Self::V4(h) => h.src.into(),
            Self::V6(h) => h.src.into(),
        }
    }

    /// Destination address.
    #[inline]
    #[must_use]
    pub fn dst(&self) -> IpAddr {
        match self {
            Self::V4(h) => h.dst.into(),
            Self::V6(h) => h.dst.into(),
        }
    }

    /// The header with source and destination exchanged.
    #[inline]
    #[must_use]
    pub fn reversed(self) -> Self {
        match self {
            Self::V4(h) => Self::V4(Ipv4Repr { src: h.dst, dst: h.src, ..h }),
            Self::V6(h) => Self::V6(Ipv6Repr { src: h.dst, dst: h.src, ..h }),
        }
    }

    /// Whether it has nothing but addresses, DSCP and ECN besides what [`between`](Self::between) sets.
    #[inline]
    #[must_use]
    pub fn is_ordinary(&self) -> bool {
        match self {
            Self::V4(h) => h.dont_fragment && !h.reserved_flag && h.ident == 0 && h.ttl == 64 && h.options.is_empty(),
            Self::V6(h) => h.flow_label == 0 && h.hop_limit == 64 && h.hop_by_hop.is_none(),
        }
    }

    /// ECN field.
    #[inline]
    #[must_use]
    pub fn ecn(&self) -> Ecn {
        match self {
            Self::V4(h) => h.ecn,
            Self::V6(h) => h.ecn,
        }
    }

    /// Sets the ECN field.
    #[inline]
    pub fn set_ecn(&mut self, ecn: Ecn) {
        match self {
            Self::V4(h) => h.ecn = ecn,
            Self::V6(h) => h.ecn = ecn,
        }
    }

    /// Differentiated services codepoint, 0 to 63.
    #[inline]
    #[must_use]
    pub fn dscp(&self) -> u8 {
        match self {
            Self::V4(h) => h.dscp,
            Self::V6(h) => h.dscp,
        }
    }

    /// Sets the codepoint from the lower six bits.
    #[inline]
    pub fn set_dscp(&mut self, dscp: u8) {
        match self {
            Self::V4(h) => h.dscp = dscp & 0x3f,
            Self::V6(h) => h.dscp = dscp & 0x3f,
        }
    }

    /// The octet of DSCP, in the upper six bits, and ECN (RFC 2474, section 3; RFC 3168, section 5).
    #[inline]
    #[must_use]
    pub fn traffic_class(&self) -> u8 {
        match self {
            Self::V4(h) => h.dscp << 2 | h.ecn as u8,
            Self::V6(h) => h.dscp << 2 | h.ecn as u8,
        }
    }

    /// Length of the emitted header in bytes: 20 to 60 for IPv4, 40 or 48 for IPv6.
    #[inline]
    #[must_use]
    pub fn header_len(&self) -> usize {
        match self {
            Self::V4(h) => 20 + h.options.len(),
            Self::V6(h) => 40 + if h.hop_by_hop.is_some() { 8 } else { 0 },
        }
    }
}
