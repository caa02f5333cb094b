//! Packets that are taken off the wire as soon as they have left, and not as they arrive.

use super::LinkDirection;
use narrows_units::Instant;
use narrows_wire::Packet;

impl LinkDirection {
    /// From now on, the owner takes packets by [`take_early`](Self::take_early) after each call that may send any, and
    /// not as they arrive. The link must then only be looked at before the next packet could arrive, not at each
    /// arrival. Has no effect on a link that changes, follows a trace or has impairments or a watching agent: when its
    /// packets arrive is not known so early, or they may be changed.
    pub fn send_ahead(&mut self) {
        self.ahead = self.changes.is_empty() && self.delivery.is_none() && self.impair.is_none() && !self.watched;
    }

    /// Whether the owner takes packets by [`take_early`](Self::take_early).
    #[inline]
    pub const fn sends_ahead(&self) -> bool {
        self.ahead
    }

    /// The next packet on the wire and when it arrives at the far end, if that is not after `end`.
    #[inline]
    pub fn take_early(&mut self, end: Instant) -> Option<(Packet, Instant)> {
        if self.wire.front()?.arrival > end {
            return None;
        }
        self.wire.pop_front().map(|w| (w.packet, w.arrival))
    }
}
