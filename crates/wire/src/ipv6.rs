//! IPv6 (RFC 8200) with at most a hop-by-hop options header: as values, and a view over its bytes.

use crate::field::{array_at, put, range, range_mut, u8_at, u16_at, u32_at};
use crate::{Ecn, ParseError, Protocol};
use core::net::Ipv6Addr;

const FIXED_LEN: usize = 40;
const FLOW_LABEL: u32 = 0x000f_ffff;
/// Next-header numbers (RFC 8200, section 4).
const HOP_BY_HOP: u8 = 0;
const FRAGMENT: u8 = 44;
/// Option kinds that only pad (RFC 8200, section 4.2).
const PAD1: u8 = 0;
const PADN: u8 = 1;
/// Length of the data of the option that is parsed and emitted, in bytes.
const DATA_LEN: u8 = 4;

/// An 8-byte hop-by-hop options header (RFC 8200, section 4.3) that holds one option with 4 bytes of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopByHop {
    /// Option type, with the "skip" and "may change en route" bits of RFC 8200, section 4.2. Kinds 0 and 1 are padding
    /// and not read back.
    pub kind: u8,
    /// Option data in network order.
    pub data: u32,
}

/// An IPv6 header (RFC 8200) with at most one hop-by-hop options header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv6Repr {
    /// Source address.
    pub src: Ipv6Addr,
    /// Destination address.
    pub dst: Ipv6Addr,
    /// Differentiated services codepoint (upper six bits of the traffic class), 0 to 63.
    pub dscp: u8,
    /// ECN field (lower two bits of the traffic class).
    pub ecn: Ecn,
    /// Flow label, 20 bits.
    pub flow_label: u32,
    /// Hop limit.
    pub hop_limit: u8,
    /// The hop-by-hop options header, if there is one.
    pub hop_by_hop: Option<HopByHop>,
}

impl Ipv6Repr {
    /// Reads the header's values. Of the hop-by-hop options, keeps only the first with 4 bytes of data that is not
    /// padding.
    ///
    /// # Errors
    /// [`ParseError::Fragment`] if the packet is a fragment.
    pub fn from_view<B: AsRef<[u8]>>(view: &Ipv6View<B>) -> Result<Self, ParseError> {
        if view.protocol() == FRAGMENT {
            let rest = view.payload();
            if rest.len() < 8 {
                return Err(ParseError::Truncated { protocol: Protocol::Fragment, needed: 8, have: rest.len() });
            }
            let word = u16_at(rest, 2);
            return Err(ParseError::Fragment { offset: word & 0xfff8, more: word & 1 != 0 });
        }
        Ok(Self {
            src: view.src(),
            dst: view.dst(),
            dscp: view.dscp(),
            ecn: view.ecn(),
            flow_label: view.flow_label(),
            hop_limit: view.hop_limit(),
            hop_by_hop: view.hop_by_hop(),
        })
    }

    /// Appends the header, and the hop-by-hop options header if there is one, of a packet with `payload_len` bytes of
    /// `protocol` above them.
    ///
    /// Only the lower six bits of `dscp` and the lower 20 of `flow_label` are used. A payload of more than 65,535
    /// bytes, the hop-by-hop header included, gets the length 65,535.
    pub fn emit_into(&self, protocol: u8, payload_len: usize, out: &mut Vec<u8>) {
        let extension = if self.hop_by_hop.is_some() { 8 } else { 0 };
        let len = u16::try_from(payload_len.saturating_add(extension)).unwrap_or(u16::MAX);
        let class = u32::from(self.dscp << 2 | self.ecn as u8);
        let mut header = [0; FIXED_LEN];
        put(&mut header, 0, (6 << 28 | class << 20 | self.flow_label & FLOW_LABEL).to_be_bytes());
        put(&mut header, 4, len.to_be_bytes());
        put(&mut header, 6, [if self.hop_by_hop.is_some() { HOP_BY_HOP } else { protocol }, self.hop_limit]);
        put(&mut header, 8, self.src.octets());
        put(&mut header, 24, self.dst.octets());
        out.extend_from_slice(&header);
        if let Some(HopByHop { kind, data }) = self.hop_by_hop {
            out.extend_from_slice(&[protocol, 0, kind, DATA_LEN]);
            out.extend_from_slice(&data.to_be_bytes());
        }
    }
}

/// The bytes of an IPv6 packet. IPv6 has no checksum of its own, and no setter changes bytes that TCP's and UDP's
/// cover.
#[derive(Clone, Copy, Debug)]
pub struct Ipv6View<B> {
    bytes: B,
}

impl<B: AsRef<[u8]>> Ipv6View<B> {
    /// A view over a packet, after a check of its lengths and hop-by-hop options; ignores bytes past the packet's own
    /// length.
    ///
    /// # Errors
    /// [`ParseError`] if the version, the payload length or the hop-by-hop options are wrong.
    pub fn new_checked(bytes: B) -> Result<Self, ParseError> {
        let (protocol, b) = (Protocol::Ipv6, bytes.as_ref());
        if b.len() < FIXED_LEN {
            return Err(ParseError::Truncated { protocol, needed: FIXED_LEN, have: b.len() });
        }
        let version = u8_at(b, 0) >> 4;
        if version != 6 {
            return Err(ParseError::BadVersion { version });
        }
        let (len, max) = (usize::from(u16_at(b, 4)), b.len() - FIXED_LEN);
        if len > max {
            return Err(ParseError::BadLength { protocol, len, min: 0, max });
        }
        if u8_at(b, 6) == HOP_BY_HOP {
            check_hop_by_hop(range(b, FIXED_LEN, FIXED_LEN + len))?;
        }
        Ok(Self { bytes })
    }

    #[inline]
    fn b(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// Differentiated services codepoint.
    #[inline]
    #[must_use]
    pub fn dscp(&self) -> u8 {
        (u16_at(self.b(), 0) >> 6 & 0x3f) as u8
    }

    /// ECN field.
    #[inline]
    #[must_use]
    pub fn ecn(&self) -> Ecn {
        Ecn::from_bits(u8_at(self.b(), 1) >> 4)
    }

    /// Flow label, 20 bits.
    #[must_use]
    pub fn flow_label(&self) -> u32 {
        u32_at(self.b(), 0) & FLOW_LABEL
    }

    /// Length in bytes of everything after the fixed header.
    #[inline]
    #[must_use]
    pub fn payload_len(&self) -> usize {
        usize::from(u16_at(self.b(), 4))
    }

    fn has_hop_by_hop(&self) -> bool {
        u8_at(self.b(), 6) == HOP_BY_HOP
    }

    /// Length of the fixed header and the hop-by-hop options header, in bytes.
    #[inline]
    #[must_use]
    pub fn header_len(&self) -> usize {
        FIXED_LEN + if self.has_hop_by_hop() { hop_by_hop_len(u8_at(self.b(), FIXED_LEN + 1)) } else { 0 }
    }

    /// Number of the protocol above, after the hop-by-hop options header.
    #[inline]
    #[must_use]
    pub fn protocol(&self) -> u8 {
        u8_at(self.b(), if self.has_hop_by_hop() { FIXED_LEN } else { 6 })
    }

    /// Hop limit.
    #[must_use]
    pub fn hop_limit(&self) -> u8 {
        u8_at(self.b(), 7)
    }

    /// Source address.
    #[must_use]
    pub fn src(&self) -> Ipv6Addr {
        array_at::<16>(self.b(), 8).into()
    }

    /// Destination address.
    #[must_use]
    pub fn dst(&self) -> Ipv6Addr {
        array_at::<16>(self.b(), 24).into()
    }

    /// Offset of the first hop-by-hop option with 4 bytes of data that is not padding, if there is one.
    fn option_at(&self) -> Option<usize> {
        if !self.has_hop_by_hop() {
            return None;
        }
        let b = self.b();
        let (mut at, end) = (FIXED_LEN + 2, self.header_len());
        while at < end {
            let (kind, len) = (u8_at(b, at), u8_at(b, at + 1));
            match kind {
                PAD1 => at += 1,
                _ if kind != PADN && len == DATA_LEN => return Some(at),
                _ => at += 2 + usize::from(len),
            }
        }
        None
    }

    /// The first hop-by-hop option with 4 bytes of data that is not padding, if there is one.
    #[must_use]
    pub fn hop_by_hop(&self) -> Option<HopByHop> {
        self.option_at().map(|at| HopByHop { kind: u8_at(self.b(), at), data: u32_at(self.b(), at + 2) })
    }

    /// The bytes above the fixed header and the hop-by-hop options header.
    #[inline]
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        range(self.b(), self.header_len(), FIXED_LEN + self.payload_len())
    }
}

/// Length in bytes of a hop-by-hop options header, from its length field in units of 8 bytes past the first 8.
#[inline]
fn hop_by_hop_len(field: u8) -> usize {
    (usize::from(field) + 1) * 8
}

fn check_hop_by_hop(bytes: &[u8]) -> Result<(), ParseError> {
    let protocol = Protocol::HopByHop;
    if bytes.len() < 8 {
        return Err(ParseError::Truncated { protocol, needed: 8, have: bytes.len() });
    }
    let len = hop_by_hop_len(u8_at(bytes, 1));
    if len > bytes.len() {
        return Err(ParseError::BadHeaderLen { protocol, len, min: 8, max: bytes.len() });
    }
    let mut at = 2;
    while at < len {
        let kind = u8_at(bytes, at);
        let next = match kind {
            PAD1 => at + 1,
            _ if at + 2 > len => len + 1,
            _ => at + 2 + usize::from(u8_at(bytes, at + 1)),
        };
        if next > len {
            return Err(ParseError::OptionOverrun { protocol, kind, have: len - at });
        }
        at = next;
    }
    Ok(())
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Ipv6View<B> {
    /// Sets the differentiated services codepoint from the lower six bits.
    pub fn set_dscp(&mut self, dscp: u8) {
        let word = u16_at(self.b(), 0) & 0xf03f | u16::from(dscp & 0x3f) << 6;
        put(self.bytes.as_mut(), 0, word.to_be_bytes());
    }

    /// Sets the ECN field.
    pub fn set_ecn(&mut self, ecn: Ecn) {
        let byte = u8_at(self.b(), 1) & 0xcf | (ecn as u8) << 4;
        put(self.bytes.as_mut(), 1, [byte]);
    }

    /// Sets the flow label from the lower 20 bits.
    pub fn set_flow_label(&mut self, label: u32) {
        let word = u32_at(self.b(), 0) & !FLOW_LABEL | label & FLOW_LABEL;
        put(self.bytes.as_mut(), 0, word.to_be_bytes());
    }

    /// Sets the hop limit.
    pub fn set_hop_limit(&mut self, hop_limit: u8) {
        put(self.bytes.as_mut(), 7, [hop_limit]);
    }

    /// Sets the data of the option that [`hop_by_hop`](Self::hop_by_hop) returns; returns whether there is one.
    pub fn set_hop_by_hop_data(&mut self, data: u32) -> bool {
        let Some(at) = self.option_at() else { return false };
        put(self.bytes.as_mut(), at + 2, data.to_be_bytes());
        true
    }

    /// The bytes above the fixed header and the hop-by-hop options header, for writing.
    pub fn payload_mut(&mut self) -> &mut [u8] {
        let (from, to) = (self.header_len(), FIXED_LEN + self.payload_len());
        range_mut(self.bytes.as_mut(), from, to)
    }
}
