//! A segment on the scoreboard.

use narrows_units::Instant;

/// Flags of a segment.
pub(crate) mod flag {
    /// Reported by SACK.
    pub(crate) const SACKED: u16 = 1;
    /// Deemed lost; set while the segment is not SACKed.
    pub(crate) const LOST: u16 = 2;
    /// A retransmission of it counts as being in the network.
    pub(crate) const RETRANS: u16 = 4;
    /// Was retransmitted at least once (Karn's rule).
    pub(crate) const EVER: u16 = 8;
    /// Its last octet is the FIN.
    pub(crate) const FIN: u16 = 16;
    /// Sent while the application limited the flow (section 3 of the delivery-rate draft).
    pub(crate) const APP_LIMITED: u16 = 32;
    /// Left in the same super-packet as the segment before it, so that it may do so again.
    pub(crate) const JOINED: u16 = 64;
    /// Has PSH, in a retransmission too.
    pub(crate) const PUSH: u16 = 128;
}

/// A sent segment. The board has one for each segment in the window, written and read once, so it is small. Data that
/// only delivery-rate samples need is in [`Stamp`](crate::rate::Stamp).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    /// Offset of the first octet.
    pub(crate) start: u64,
    /// Octets of sequence space, the FIN included.
    pub(crate) len: u32,
    /// See [`flag`].
    pub(crate) flags: u16,
    /// Last transmission.
    pub(crate) sent_at: Instant,
}

impl Segment {
    /// Offset after the last octet.
    #[inline]
    pub(crate) fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }

    /// Whether a flag of `mask` is set.
    #[inline]
    pub(crate) fn has(&self, mask: u16) -> bool {
        self.flags & mask != 0
    }

    /// Payload bytes, that is without the FIN.
    #[inline]
    pub(crate) fn payload(&self) -> u32 {
        self.len - u32::from(self.has(flag::FIN))
    }
}
