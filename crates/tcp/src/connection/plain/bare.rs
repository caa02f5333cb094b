//! Plain ACKs that are not stored: what their sender writes into them, and their receiver cannot tell by itself.
//!
//! While nothing is lost on the way, the ACK after the one that set SND.UNA acknowledges the next segment. Its sequence
//! number is what its receiver expects, and its flags and options are those of every plain ACK. So timestamps, window
//! and the octets that it acknowledges are left ([`BareAck`]): few enough for the handle of a packet in flight.
//!
//! The caller makes sure that no ACK between the two ends is lost or overtaken: `BareAck` counts from the ACK before.
//! What such an ACK does is `plain.rs`, or, by the segment that it stands for ([`Connection::segment_of`]), any other
//! path.

use crate::connection::Connection;
use narrows_units::{Bytes, Duration, Instant};
use narrows_wire::{Compact, TcpFlags, Timestamps};

/// A plain ACK without its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BareAck {
    /// Its timestamps; zeros without timestamps.
    pub stamps: Timestamps,
    /// Octets that it acknowledges and the ACK before did not; at most [`MOST`](Self::MOST).
    pub octets: u32,
    /// The window field in its header, unscaled.
    pub window: u16,
}

impl BareAck {
    /// The most octets that one acknowledges.
    pub const MOST: u32 = (1 << 13) - 1;
}

impl Connection {
    /// Length of the IP packet of the ACK that [`take_plain_data`](Self::take_plain_data) made due; `None` if none is
    /// due yet, or not one that may be a [`BareAck`] of these octets.
    #[inline(always)]
    #[must_use]
    pub fn bare_ack_len(&self, octets: u32) -> Option<Bytes> {
        let alone = octets <= BareAck::MOST && self.rx.nxt() == self.rx.last_ack() + u64::from(octets);
        (alone && self.rx.ack_due()).then_some(Bytes::new(u64::from(self.tx.frame.len)))
    }

    /// Like [`write_plain_ack`](Self::write_plain_ack) where [`bare_ack_len`](Self::bare_ack_len) has a length for
    /// these octets.
    #[inline(always)]
    pub fn make_bare_ack(&mut self, octets: u32, now: Instant) -> BareAck {
        debug_assert!(self.bare_ack_len(octets).is_some());
        self.stats.acks_sent.increment();
        let window = self.rx.on_plain_ack_sent();
        let stamps = if self.ts.on { self.ts.stamps(now) } else { Timestamps { val: 0, ecr: 0 } };
        BareAck { stamps, octets, window }
    }

    /// [`take_plain_ack`](Self::take_plain_ack) of an ACK that is not stored.
    #[inline(always)]
    pub fn take_bare_ack(&mut self, ack: BareAck, now: Instant) -> Option<Duration> {
        if !self.finds_calm() || self.tx.rich || self.rx.ack_due() || !self.ts.is_newer(ack.stamps.val) {
            return None;
        }
        let upto = self.tx.una + u64::from(ack.octets);
        let (sent_at, octets) = self.tx.board.sole_head(upto)?;
        debug_assert!(upto <= self.tx.nxt, "what is on the scoreboard was sent");
        Some(self.on_plain_ack(ack.window, ack.stamps, (upto, sent_at, octets), now))
    }

    /// The segment that an ACK stands for, if no ACK is between this one and SND.UNA.
    #[must_use]
    pub fn segment_of(&self, ack: BareAck) -> Compact {
        let mut segment = Compact::EMPTY;
        if self.ts.on {
            segment.stamp(ack.stamps);
        }
        (segment.seq, segment.flags, segment.window) = (self.rx.ack(), TcpFlags::ACK, ack.window);
        segment.ack = self.tx.seq(self.tx.una + u64::from(ack.octets));
        segment
    }

    /// Length of the IP packet of a segment that this end receives.
    #[must_use]
    pub fn len_of(&self, segment: &Compact) -> Bytes {
        segment.len(self.ip.header_len())
    }
}

#[cfg(test)]
impl Connection {
    /// Takes an ACK by [`take_plain_ack`](Self::take_plain_ack) or, if it may be one that is not stored and bit 3
    /// of its number is set, by [`take_bare_ack`](Self::take_bare_ack); returns whether it is plain.
    pub(crate) fn take_stored_or_bare(&mut self, segment: &Compact, now: Instant) -> bool {
        let octets = segment.ack.as_u32().wrapping_sub(self.tx.seq(self.tx.una).as_u32());
        let stamps = segment.sole_timestamps(self.ts.on);
        if let Some(stamps) = stamps.filter(|_| (1..=BareAck::MOST).contains(&octets) && segment.ack.as_u32() & 8 != 0)
        {
            let ack = BareAck { stamps, octets, window: segment.window };
            if self.segment_of(ack) == *segment {
                return self.take_bare_ack(ack, now).is_some();
            }
        }
        self.take_plain_ack(segment, now).is_some()
    }

    /// Writes the ACK of plain data by [`write_plain_ack`](Self::write_plain_ack) or, if it may be one that is not
    /// stored and bit 3 of its number is set, by [`make_bare_ack`](Self::make_bare_ack).
    pub(crate) fn write_stored_or_bare(&mut self, now: Instant, out: &mut Compact) -> Option<Bytes> {
        let octets = u32::try_from(self.rx.nxt() - self.rx.last_ack()).unwrap_or(u32::MAX);
        let Some(len) = self.bare_ack_len(octets).filter(|_| self.rx.ack().as_u32() & 8 != 0) else {
            return self.write_plain_ack(now, out);
        };
        let BareAck { stamps, window, .. } = self.make_bare_ack(octets, now);
        if self.ts.on {
            out.stamp(stamps);
        }
        (out.seq, out.ack, out.flags, out.window) = (self.tx.seq(self.tx.nxt), self.rx.ack(), TcpFlags::ACK, window);
        Some(len)
    }
}
