//! Header prediction (V. Jacobson, 1990; RFC 9293, section 3.10.7.4 in the most common case).
//!
//! In a bulk transfer nearly every segment is either the next data in order, with nothing new in its ACK field, or an
//! ACK without data that advances SND.UNA while all is well. Both are recognised by a few comparisons, before anything
//! has been changed, and need little of what `input.rs` and `ack.rs` do; every other segment goes there. The steps here
//! are the same as there: `predicted_segments_are_like_all_others` compares them. Flags that carry ECN feedback are not
//! compared but handed to [`crate::ecn`], so that marks on every ACK cost no prediction.

use super::Connection;
use crate::ecn::{Echo, Feedback};
use crate::receiver::Arrival;
use crate::rtt::AckTiming;
use crate::stats::State;
use narrows_cc::{Ack, Phase};
use narrows_units::{Bytes, Duration, Instant, Packets};
use narrows_wire::{Packet, TcpFlags, TcpRepr, Timestamps};

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

    /// Whether an ACK that advances SND.UNA to `ack` does nothing else: it reports no loss, no mark that calls for a
    /// reduction and no spurious reduction, and recovery need not take note of it.
    #[inline]
    fn is_plain(&self, tcp: &TcpRepr, ack: u64) -> bool {
        self.tx.board.is_clean()
            && self.recovery.phase() == Phase::Open
            && tcp.options.sack.is_empty()
            && self.episode.expects(ack, || self.ecn.reports(tcp))
            && !self.recovery.awaits_ack()
    }

    /// The part of `digest` in `ack.rs` that a [plain](Self::is_plain) ACK needs; almost all ACKs are plain.
    #[inline]
    fn digest_plain(&mut self, tcp: &TcpRepr, ack: u64, acked: u64, now: Instant) {
        let ts = tcp.options.timestamps.filter(|_| self.ts.on);
        let rtt = self.deliver_plain(ack, acked, ts, now);
        let echo = if self.ecn.is_on() { self.ecn.on_ack(tcp, acked) } else { Echo::default() };
        self.grow_after(acked, (rtt, ts), echo, now);
    }

    /// The part of a [plain](Self::is_plain) ACK before ECN: the scoreboard and the round-trip time sample.
    #[inline]
    fn deliver_plain(&mut self, ack: u64, acked: u64, ts: Option<Timestamps>, now: Instant) -> Option<Duration> {
        let mut timing = AckTiming::new();
        let rate = &mut self.rate;
        self.tx.una = ack;
        self.episode.on_advance();
        self.tx.board.ack_clean(ack, |segment, stamp| {
            timing.on_delivered(segment, true);
            rate.on_delivered(segment, stamp, now);
        });
        self.timers.retries = 0;
        self.take_sample(&timing, acked, ts.map(|t| t.ecr), now)
    }

    /// The part of a [plain](Self::is_plain) ACK after ECN: the timer, the delivery rate and congestion control.
    #[inline]
    pub(super) fn grow_after(
        &mut self,
        acked: u64,
        (rtt, ts): (Option<Duration>, Option<Timestamps>),
        echo: Echo,
        now: Instant,
    ) {
        if echo.marks {
            self.episode.on_mark();
        }
        self.rate.on_marked(echo.bytes);
        self.timers.rto = if self.tx.board.is_empty() { Instant::NEVER } else { now + self.rto.current() };
        self.recovery.touch(now, false);
        let ack = Ack {
            acked: Bytes::new(acked),
            delivered: Bytes::new(acked),
            rtt,
            rate: self.rate.sample(self.rtt.min(), now),
            duplicate: false,
            one_way_delay: ts.map(|ts| self.ts.difference(ts)),
            clocks: ts.filter(|_| self.congestion.needs.acks).map(|ts| self.ts.clocks(ts, now)),
            marked: Bytes::new(echo.bytes),
            newly_lost: Bytes::ZERO,
        };
        if self.congestion.limits.is_some() {
            self.validate_by_ack(now);
        }
        let phase = self.episode.phase(Phase::Open);
        let path = self.path_in(phase, self.tx.board.flight(), now);
        if self.congestion.needs.acks {
            self.congestion.observe(&ack, &path);
        }
        if phase == Phase::Open || self.congestion.needs.window_in_recovery {
            self.congestion.on_ack(&ack, &path);
            if self.congestion.holds_back() {
                self.rate.on_app_limited(self.tx.board.pipe());
            }
        }
        self.pacer.on_ack(self.config.pacing, &self.congestion.win, self.tx.board.flight(), self.smss, self.rto.srtt());
    }

    /// Whether the segment has timestamps if it must, and they are not old.
    #[inline]
    fn passes_paws(&self, tcp: &TcpRepr) -> bool {
        !self.ts.on || tcp.options.timestamps.is_some_and(|ts| self.ts.is_newer(ts.val))
    }
}
