//! RTP (RFC 3550, section 5.1): the fixed header, at the start of a datagram's payload.

use crate::field::{put, u16_at, u32_at};

/// Length of the header without CSRC list and extension, in bytes.
pub const RTP_LEN: usize = 12;

/// The first byte: version 2, no padding, no extension, no CSRC.
const FIRST: u8 = 0x80;

/// Bit of the second byte: the marker.
const MARKER: u8 = 0x80;

/// An RTP header without CSRC list and extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RtpRepr {
    /// The last packet of a video frame, or the first of a talkspurt.
    pub marker: bool,
    /// Payload type, 0 to 127 (RFC 3551, section 6).
    pub payload_type: u8,
    /// Number of the packet, modulo 2^16.
    pub sequence: u16,
    /// When the payload was sampled, in the clock of its payload type.
    pub timestamp: u32,
    /// Synchronisation source.
    pub ssrc: u32,
}

impl RtpRepr {
    /// The header's bytes.
    #[must_use]
    pub fn bytes(&self) -> [u8; RTP_LEN] {
        let mut bytes = [0; RTP_LEN];
        bytes[0] = FIRST;
        bytes[1] = self.payload_type & !MARKER | if self.marker { MARKER } else { 0 };
        put(&mut bytes, 2, self.sequence.to_be_bytes());
        put(&mut bytes, 4, self.timestamp.to_be_bytes());
        put(&mut bytes, 8, self.ssrc.to_be_bytes());
        bytes
    }

    /// The header at the start of a payload; `None` if the bytes are too few or have another version, padding,
    /// extension or CSRC list.
    #[must_use]
    pub fn parse(payload: &[u8]) -> Option<Self> {
        if payload.len() < RTP_LEN || payload[0] != FIRST {
            return None;
        }
        Some(Self {
            marker: payload[1] & MARKER != 0,
            payload_type: payload[1] & !MARKER,
            sequence: u16_at(payload, 2),
            timestamp: u32_at(payload, 4),
            ssrc: u32_at(payload, 8),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_header_is_laid_out_as_in_the_rfc() {
        let header = RtpRepr { marker: true, payload_type: 96, sequence: 0x0102, timestamp: 0x0304_0506, ssrc: 7 };
        assert_eq!(header.bytes(), [0x80, 0xe0, 1, 2, 3, 4, 5, 6, 0, 0, 0, 7]);
        assert_eq!(RtpRepr::parse(&header.bytes()), Some(header));
        assert_eq!(RtpRepr::parse(&header.bytes()[..11]), None);
        let mut other = header.bytes();
        other[0] = 0x40;
        assert_eq!(RtpRepr::parse(&other), None, "version 1");
    }
}
