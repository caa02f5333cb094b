//! Header prediction (V. Jacobson, 1990; RFC 9293, section 3.10.7.4 in the most common case).
//!
//! In a bulk transfer nearly every segment is either the next data in order, with nothing new in its ACK field, or an
//! ACK without data that advances SND.UNA while all is well. Both are recognised by a few comparisons, before anything
//! has been changed, and need little of what `input.rs` and `ack.rs` do; every other segment goes there. The steps here
//! are the same as there: `predicted_segments_are_like_all_others` compares them. Flags that carry ECN feedback are not
//! compared but handed to [`crate::ecn`], so that marks on every ACK cost no prediction.

use super::Connection;
use crate::ecn::Feedback;
use crate::receiver::Arrival;
use crate::stats::State;
use narrows_units::{Instant, Packets};
use narrows_wire::{Packet, TcpFlags, TcpRepr};

impl Connection {
    /// Handles a segment that is as expected; returns `false`, with nothing changed, for any other.
    #[inline]
    pub(super) fn on_predicted(&mut self, segment: &Packet, tcp: &TcpRepr, now: Instant) -> bool {
        #[cfg(test)]
        if !self.predicts {
            return false;
        }
        let usual = self.state == State::Established
            && tcp.flags.without(TcpFlags::PSH.with(self.ecn.bits())) == TcpFlags::ACK
            && tcp.seq == self.rx.ack()
            && self.assist.is_none()
            && !self.rx.is_unusual()
            && self.passes_paws(tcp);
        if !usual {
            return false;
        }
        let ack = self.tx.offset(tcp.ack);
        let fits = if segment.payload_len > 0 {
            ack == self.tx.una as i64
                && self.tx.board.is_empty()
                && !self.ecn.is_on()
                && self.rx.expects(u64::from(segment.payload_len))
        } else {
            ack > self.tx.una as i64 && ack <= self.tx.nxt as i64 && self.is_plain(tcp, ack as u64)
        };
        if !fits {
            return false;
        }
        let ack = ack as u64;
        if let (true, Some(ts)) = (self.ts.on, tcp.options.timestamps)
            && self.rx.nxt() <= self.rx.last_ack()
        {
            self.ts.on_segment(ts.val, now);
        }
        let window = u64::from(tcp.window) << self.tx.send_shift;
        if self.tx.on_window(self.rx.nxt() as i64, ack, window) && self.tx.edge > self.tx.nxt {
            self.stop_persist();
        }
        if segment.payload_len > 0 {
            self.stats.data_segments_received += Packets::new(1);
            Feedback::count(segment, 1, &mut self.stats);
            let offset = self.rx.nxt();
            self.rx.on_expected(u64::from(segment.payload_len), now);
            if self.rx.follows_linux() {
                self.data_as_linux((segment, segment.payload_len), offset as i64, Arrival::InOrder, now);
            }
        } else {
            self.tx.repeated_acks = 0;
            let acked = ack - self.tx.una;
            self.digest_plain(tcp, ack, acked, now);
        }
        #[cfg(test)]
        {
            self.predicted += 1;
        }
        true
    }

    /// Whether the segment has timestamps if it must, and they are not old.
    #[inline]
    fn passes_paws(&self, tcp: &TcpRepr) -> bool {
        !self.ts.on || tcp.options.timestamps.is_some_and(|ts| self.ts.is_newer(ts.val))
    }
}
