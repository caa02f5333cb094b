//! A segment on the scoreboard.

use core::cmp::Ordering;
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
    /// Ends a write, and so has PSH, in a retransmission too.
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
    /// Number of its last transmission, modulo 2^16. The board sets it: on a simulated host several segments may leave
    /// at once, and yet in an order.
    pub(crate) turn: u16,
    /// Last transmission.
    pub(crate) sent_at: Instant,
}

/// A segment's last transmission in the order of sending. RFC 8985's order, by time and then by offset
/// (RACK_sent_after), holds where no two segments leave at the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sending {
    /// Its time.
    pub(crate) at: Instant,
    turn: u16,
    end: u64,
}

impl Sending {
    /// Before every transmission.
    pub(crate) const NONE: Self = Self { at: Instant::ZERO, turn: 0, end: 0 };
}

impl Ord for Sending {
    fn cmp(&self, other: &Self) -> Ordering {
        // Turns wrap; fewer than half of the circle belong to an instant.
        let turns = || 0.cmp(&(other.turn.wrapping_sub(self.turn) as i16));
        self.at.cmp(&other.at).then_with(turns).then(self.end.cmp(&other.end))
    }
}

impl PartialOrd for Sending {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Segment {
    /// Its last transmission.
    #[inline]
    pub(crate) fn sending(&self) -> Sending {
        Sending { at: self.sent_at, turn: self.turn, end: self.end() }
    }

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
