//! When an ACK is due, and what it says.

use super::Receiver;
use narrows_units::{Bytes, Duration, Instant};
use narrows_wire::SackBlocks;

impl Receiver {
    /// Asks for an ACK at once.
    #[inline]
    pub(crate) fn request_ack(&mut self) {
        self.ack_now = true;
    }

    /// Gives up the ACKs that are due now or later, because the connection has ended.
    pub(crate) fn forget_acks(&mut self) {
        (self.ack_now, self.ack_at) = (false, Instant::NEVER);
    }

    /// Whether an ACK is due.
    #[inline]
    pub(crate) fn ack_due(&self) -> bool {
        self.ack_now
    }

    /// Whether an ACK is due now or later.
    #[inline]
    pub(crate) fn ack_pending(&self) -> bool {
        self.ack_now || self.ack_at != Instant::NEVER
    }

    /// Whether the next ACK carries SACK blocks, so that it must not be combined with data.
    #[inline]
    pub(crate) fn has_blocks(&self) -> bool {
        self.gap || self.dsack.is_some()
    }

    /// When a delayed ACK is due.
    #[inline]
    pub(crate) fn ack_deadline(&self) -> Instant {
        self.ack_at
    }

    /// Makes an ACK due if the delayed-ACK timer has expired; `rto` is this end's retransmission timeout.
    pub(crate) fn on_timeout(&mut self, rto: Duration, now: Instant) {
        if now < self.ack_at {
            return;
        }
        self.ack_now = true;
        if let Some(quick) = self.linux.as_mut().and_then(|linux| linux.quick.as_mut()) {
            quick.on_timeout(rto);
            self.ack_at = Instant::NEVER;
        }
    }

    /// The window field of a segment that leaves now; `scaled` is false for SYN. The segment carries the ACK too.
    #[inline]
    pub(crate) fn on_ack_sent(&mut self, scaled: bool) -> u16 {
        self.acked = self.nxt;
        self.ack_now = false;
        self.ack_at = Instant::NEVER;
        if self.follows_linux() {
            self.on_ack_sent_as_linux();
        }
        if let (true, Some(field)) = (scaled, self.field) {
            return field;
        }
        let whole = scaled && self.cap.is_none() && self.auto_read && self.linux.is_none() && self.unusual.is_none();
        if whole && let Some(field) = self.offer_whole(self.step()) { field } else { self.advertise(scaled) }
    }

    /// [`on_ack_sent`](Self::on_ack_sent) where the receiver [is calm](Self::is_calm).
    #[inline]
    pub(crate) fn on_plain_ack_sent(&mut self) -> u16 {
        self.acked = self.nxt;
        self.ack_now = false;
        self.ack_at = Instant::NEVER;
        debug_assert!(self.linux.is_none());
        if let Some(field) = self.field {
            field
        } else if let Some(field) = self.offer_whole(self.plain_step()) {
            field
        } else {
            self.advertise(true)
        }
    }

    /// The SACK blocks of the next ACK, at most `max` of them; a duplicate is reported once.
    pub(crate) fn take_blocks(&mut self, max: usize) -> SackBlocks {
        let mut blocks = SackBlocks::EMPTY;
        let first = self.first;
        let seq = |offset: u64| first + Bytes::new(offset);
        if let Some(held) = self.dsack.take() {
            blocks.push(seq(held.0), seq(held.1));
        }
        if let Some(waiting) = &self.waiting {
            waiting
                .report(|left, right| blocks.len() < max && blocks.push(seq(left), seq(right)) && blocks.len() < max);
        }
        blocks
    }
}
