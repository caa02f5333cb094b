//! The plain path of a sender that needs more than a window: it paces, takes samples of the delivery rate, or its
//! congestion control asks for more than growth, as BBR does, and most controls of Linux.
//!
//! The path is that of `plain.rs`, and its preconditions are the same. What an ACK does once the segment is delivered
//! is the generic path's (`grow_after` in `predicted.rs`), without the packet that the generic path reads. A segment
//! that waited for the pacer leaves when the pacer's timer expires.
//!
//! | generic path | here |
//! |---|---|
//! | `handle_segment` with an ACK, `take_rtt_sample` | [`take_rich_ack`](Connection::take_rich_ack) |
//! | `poll_transmit` of the sender | [`write_rich_data`](Connection::write_rich_data) |
//! | the last `poll_transmit`, which sends nothing | [`rests_richly`](Connection::rests_richly) |
//! | `handle_timeout`, where the pacer's time has come | [`take_pacer_timeout`](Connection::take_pacer_timeout) |

use crate::connection::Connection;
use crate::ecn::Echo;
use narrows_cc::Needs;
use narrows_units::{Bytes, Duration, Instant};
use narrows_wire::Compact;

impl Connection {
    /// Whether the sender needs more than a window, and all was well when a plain segment was last handled.
    #[inline]
    #[must_use]
    pub fn is_rich(&self) -> bool {
        self.tx.calm && self.tx.rich
    }

    /// Takes an ACK without data if it advances SND.UNA, and all is well; returns its round-trip time. The caller then
    /// asks for data by [`write_rich_data`](Self::write_rich_data).
    #[inline]
    pub fn take_rich_ack(&mut self, segment: &Compact, now: Instant) -> Option<Duration> {
        let (ts, ack, sent_at, octets) = self.plain_ack(segment)?;
        self.note_plain(segment.window, ts, ack, now);
        self.tx.repeated_acks = 0;
        self.tx.una = ack;
        self.episode.on_advance();
        if let Some((head, stamp)) = self.tx.board.take_sole_head() {
            self.rate.on_delivered(&head, stamp.as_ref(), now);
        }
        self.timers.retries = 0;
        let rtt = now.since(sent_at);
        self.rtt.on_taken(rtt);
        self.time_rto(rtt);
        let ts = self.ts.on.then_some(ts);
        self.grow_after(octets, (Some(rtt), ts), Echo::default(), now);
        Some(rtt)
    }

    /// Writes the next full segment of new data into `out`, and returns the length of its IP packet; `None` if the
    /// windows, the application or the pacer have no room for one, or not all is well.
    #[inline]
    pub fn write_rich_data(&mut self, now: Instant, out: &mut Compact) -> Option<Bytes> {
        if !self.sends_plainly() || self.has_full_cwnd() || !self.pacer.admits(now) {
            return None;
        }
        let segment = self.plain_segment(now);
        let stamp = self.rate.on_sent(self.tx.board.in_flight(), segment.len, now);
        self.tx.board.push(segment, stamp);
        self.note_plain_sent(now);
        if self.congestion.needs.sending {
            self.tell_sent(self.smss, false, Duration::ZERO, now);
        }
        if let Some(rate) = self.pacer.rate(&self.congestion.win) {
            self.pace(self.smss, rate, now);
        }
        self.recovery.touch(now, true);
        Some(self.write_plain_segment(&segment, now, out))
    }

    /// Notes that the sender stops because cwnd is full, or because the pacer holds it; returns whether it does.
    #[inline]
    pub fn rests_richly(&mut self, now: Instant) -> bool {
        if !self.sends_plainly() {
            return false;
        }
        let full = self.has_full_cwnd();
        if full {
            self.pacer.idle();
        } else if self.pacer.admits(now) {
            return false;
        }
        self.note_usage(full, now);
        true
    }

    /// Notes that the pacer's time has come; returns `false`, with nothing changed, if any other timer's has, or not
    /// all is well. The caller then asks for data by [`write_rich_data`](Self::write_rich_data).
    #[inline]
    pub fn take_pacer_timeout(&mut self, now: Instant) -> bool {
        let others = self.recovery.is_timed() || self.timers.rto.min(self.timers.persist) <= now;
        let rich = self.tx.calm && self.tx.rich;
        if !rich || others || self.rx.ack_pending() || self.pacer.deadline() > now {
            return false;
        }
        debug_assert!(self.is_calm());
        self.pacer.on_timeout(now);
        true
    }

    /// [`plain_timeout_before`](Self::plain_timeout_before) where the pacer or recovery has a timer.
    #[inline(never)]
    pub(super) fn rich_timeout_before(&self, limit: Instant) -> Instant {
        if self.recovery.is_timed() && !self.tx.board.is_empty() {
            return self.poll_timeout_before(limit);
        }
        let due = self.timers.rto.min(self.timers.persist).min(self.rx.ack_deadline()).min(self.pacer.deadline());
        debug_assert_eq!(due.min(limit), self.poll_timeout_before(limit).min(limit), "no other timer runs");
        due
    }

    /// Whether the sender needs more than a window.
    #[inline(never)]
    pub(super) fn needs_more(&self) -> bool {
        let Needs { acks, observes_plainly, rates, losses, sending, window_in_recovery, loss_after_echo: _ } =
            self.congestion.needs;
        let observes = acks && (self.ts.on || !observes_plainly);
        let asks = observes || rates || losses || sending || window_in_recovery;
        asks || self.rate.is_sampling() || self.pacer.is_used() || self.congestion.win.pacing_rate.is_some()
    }
}
