//! The plain path: a bulk transfer while all is well, in as few steps as it needs.
//!
//! Nearly all segments of a bulk transfer are of two kinds: the next data in order at a receiver that sends none, and
//! an ACK that advances SND.UNA at a sender that has lost nothing. What such a segment does, and what is sent in
//! answer, is here in one piece. The rules themselves are in the generic path, which is the specification:
//! `predicted.rs`, `output.rs` (`choose`, `send_new`) and `header.rs` (`pure_ack`). Tests compare both step by step
//! (`predicted_segments_are_like_all_others`).
//!
//! | generic path | here |
//! |---|---|
//! | `handle_segment` with data | [`take_plain_data`](Connection::take_plain_data) |
//! | `poll_transmit` of the receiver | [`write_plain_ack`](Connection::write_plain_ack) |
//! | `handle_segment` with an ACK, `take_rtt_sample` | [`take_plain_ack`](Connection::take_plain_ack) |
//! | `poll_transmit` of the sender | [`write_plain_data`](Connection::write_plain_data) |
//! | the last `poll_transmit`, which sends nothing | [`rests_plainly`](Connection::rests_plainly) |
//!
//! The preconditions have two halves. Those of the connection ([`is_calm`](Connection::is_calm)) change seldom. They
//! are kept in one flag, which every other way into the connection clears and the next plain segment finds again. Debug
//! builds compare the flag with the state at each use. Those of the segment are checked each time. A function that
//! finds any of them false returns `false` or `None` and has changed nothing; the caller then takes the generic path.
//!
//! A sender that needs more than a window is rich, and has a file of its own, `plain/rich.rs`. ACKs that are not stored
//! are in `plain/bare.rs`.

mod bare;
mod rich;

use super::Connection;
use crate::rtt::AckTiming;
use crate::segment::{Segment, flag};
use crate::sender::Frame;
use crate::stats::State;
pub use bare::BareAck;
use narrows_cc::{Ack, Phase, PlainAck};
use narrows_settings::Pacing;
use narrows_units::{Bytes, Duration, Instant};
use narrows_wire::{Compact, Ecn, TcpFlags, Timestamps};

impl Connection {
    /// Takes a segment with data if it is the next in order, and all is well. The caller then asks for the ACK by
    /// [`write_plain_ack`](Self::write_plain_ack).
    #[inline(always)]
    pub fn take_plain_data(&mut self, segment: &Compact, now: Instant) -> bool {
        let Some(ts) = self.plain_header(segment) else { return false };
        let len = u64::from(segment.payload_len);
        let plain = len > 0
            && self.tx.is_una(segment.ack)
            && self.tx.board.is_empty()
            && !self.tx.has_unsent()
            && self.rx.expects(len)
            && segment.ecn() != Ecn::Ce;
        if !plain {
            return false;
        }
        self.note_plain(segment.window, ts, self.tx.una, now);
        self.stats.data_segments_received.increment();
        self.rx.on_expected(len, now);
        self.note_no_data();
        true
    }

    /// Writes the ACK that [`take_plain_data`](Self::take_plain_data) made due into `out`, and returns the length of
    /// its IP packet; `None` if none is due yet.
    #[inline(always)]
    pub fn write_plain_ack(&mut self, now: Instant, out: &mut Compact) -> Option<Bytes> {
        debug_assert!(self.is_calm(), "only after plain data");
        if !self.rx.ack_due() {
            return None;
        }
        self.stats.acks_sent.increment();
        Some(self.write_plain(self.tx.nxt, TcpFlags::ACK, 0, now, out))
    }

    /// Takes an ACK without data if it advances SND.UNA, all is well, and the sender is not rich; returns its
    /// round-trip time. The caller then asks for data by [`write_plain_data`](Self::write_plain_data).
    #[inline(always)]
    pub fn take_plain_ack(&mut self, segment: &Compact, now: Instant) -> Option<Duration> {
        let (ts, ack, sent_at, octets) = self.plain_ack(segment)?;
        if self.tx.rich {
            return None;
        }
        Some(self.on_plain_ack(segment.window, ts, (ack, sent_at, octets), now))
    }

    /// What a plain ACK with this window and these timestamps does, up to `ack`, of a segment of `octets` that left at
    /// `sent_at`; returns its round-trip time.
    #[inline(always)]
    pub(super) fn on_plain_ack(
        &mut self,
        window: u16,
        ts: Timestamps,
        (ack, sent_at, octets): (u64, Instant, u64),
        now: Instant,
    ) -> Duration {
        self.note_plain(window, ts, ack, now);
        self.tx.repeated_acks = 0;
        self.tx.una = ack;
        self.episode.on_advance();
        self.tx.board.ack_sole_head(octets);
        self.rate.on_acked(octets);
        self.timers.retries = 0;
        let rtt = now.since(sent_at);
        debug_assert_eq!(Some(rtt), timed_once(sent_at, octets, now), "the sample of a segment that was sent once");
        self.rtt.on_taken(rtt);
        self.time_rto(rtt);
        self.timers.rto = if self.tx.board.is_empty() { Instant::NEVER } else { now + self.rto.current() };
        self.recovery.touch(now, false);
        self.grow_plainly(octets, rtt, ts, now);
        rtt
    }

    /// What an ACK says, if it is plain: its timestamps, and the one whole segment that it covers and that was sent
    /// once, by its end, when it left and its octets.
    #[inline(always)]
    pub(super) fn plain_ack(&mut self, segment: &Compact) -> Option<(Timestamps, u64, Instant, u64)> {
        let ts = self.plain_header(segment)?;
        let ack = self.tx.offset(segment.ack);
        let plain = segment.payload_len == 0
            && ack > self.tx.una as i64
            && ack <= self.tx.nxt as i64
            && segment.sack().is_unused()
            && !self.rx.ack_due();
        if !plain {
            return None;
        }
        let ack = ack as u64;
        let (sent_at, octets) = self.tx.board.sole_head(ack)?;
        Some((ts, ack, sent_at, octets))
    }

    /// Lets congestion control grow the window on an ACK of `octets`.
    #[inline(always)]
    fn grow_plainly(&mut self, octets: u64, rtt: Duration, ts: Timestamps, now: Instant) {
        let ack = PlainAck {
            acked: Bytes::new(octets),
            now,
            smss: Bytes::new(self.smss),
            srtt: self.rto.srtt(),
            min_rtt: self.rtt.min(),
            cwnd_limited: self.is_cwnd_limited(),
            slow_start_at_equality: self.config.slow_start_at_equality,
        };
        if !self.congestion.on_plain_ack(&ack) {
            self.grow_by(octets, rtt, ts, now);
        }
    }

    /// Lets any congestion control grow the window on an ACK of `octets`.
    #[inline(never)]
    fn grow_by(&mut self, octets: u64, rtt: Duration, ts: Timestamps, now: Instant) {
        let ack = Ack {
            acked: Bytes::new(octets),
            delivered: Bytes::new(octets),
            rtt: Some(rtt),
            rate: None,
            duplicate: false,
            one_way_delay: self.ts.on.then(|| self.ts.difference(ts)),
            clocks: None,
            marked: Bytes::ZERO,
            newly_lost: Bytes::ZERO,
        };
        let path = self.path_in(Phase::Open, self.tx.board.flight(), now);
        if self.congestion.needs.acks {
            debug_assert!(!self.ts.on, "there are no clocks to be read");
            self.congestion.observe(&ack, &path);
        }
        self.congestion.on_ack(&ack, &path);
    }

    /// Writes the next full segment of new data into `out`, and returns the length of its IP packet; `None` if the
    /// windows or the application have no room for one, or not all is well.
    #[inline(always)]
    pub fn write_plain_data(&mut self, now: Instant, out: &mut Compact) -> Option<Bytes> {
        if self.congestion.win.pacing_rate.is_some() {
            self.tx.calm = false;
        }
        if !self.sends_plainly() || self.has_full_cwnd() {
            return None;
        }
        let segment = self.plain_segment(now);
        self.tx.board.push(segment, None);
        self.note_plain_sent(now);
        self.recovery.touch(now, true);
        Some(self.write_plain_segment(&segment, now, out))
    }

    /// The next full segment of new data.
    #[inline(always)]
    pub(super) fn plain_segment(&self, now: Instant) -> Segment {
        let flags = if self.rate.is_app_limited() { flag::APP_LIMITED } else { 0 };
        Segment { start: self.tx.nxt, len: self.smss as u32, flags, turn: 0, sent_at: now }
    }

    /// Notes that a full segment of new data leaves.
    #[inline(always)]
    pub(super) fn note_plain_sent(&mut self, now: Instant) {
        self.tx.nxt += self.smss;
        self.stats.sent_bytes += Bytes::new(self.smss);
        self.stats.sent_packets.increment();
        self.tx.last_sent = now;
        self.tx.usage.on_sent();
        self.timers.persist = Instant::NEVER;
    }

    /// Writes a full segment of new data, which was noted as sent, and returns the length of its IP packet.
    #[inline(always)]
    pub(super) fn write_plain_segment(&mut self, segment: &Segment, now: Instant, out: &mut Compact) -> Bytes {
        let push = if self.tx.unsent() == 0 { TcpFlags::PSH } else { TcpFlags::NONE };
        self.write_plain(segment.start, TcpFlags::ACK.with(push), segment.len, now, out)
    }

    /// Whether cwnd has no room for another full segment, where nothing is SACKed or lost.
    #[inline]
    pub(super) fn has_full_cwnd(&self) -> bool {
        self.tx.board.flight() + self.smss > self.congestion.win.cwnd.as_u64()
    }

    /// Notes that the sender stops because cwnd is full; returns whether that is why. Follows
    /// [`write_plain_data`](Self::write_plain_data), which has found out whether the sender paces.
    #[inline]
    pub fn rests_plainly(&mut self, now: Instant) -> bool {
        let full = self.has_full_cwnd() && self.sends_plainly();
        if full {
            self.note_usage(true, now);
        }
        full
    }

    /// [`poll_timeout_before`](Self::poll_timeout_before) after a plain segment, while all is well.
    #[inline]
    #[must_use]
    pub fn plain_timeout_before(&self, limit: Instant) -> Instant {
        if self.tx.rich || (self.recovery.is_timed() && !self.tx.board.is_empty()) {
            return self.rich_timeout_before(limit);
        }
        let due = self.timers.rto.min(self.timers.persist).min(self.rx.ack_deadline());
        debug_assert_eq!(due.min(limit), self.poll_timeout_before(limit).min(limit), "no other timer runs");
        due
    }

    /// Whether only cwnd, and a rich sender's pacer, decide if a full segment leaves next. Data is in flight, so that
    /// the window is not one after an idle time, and the timer runs.
    #[inline]
    pub(super) fn sends_plainly(&self) -> bool {
        debug_assert!(!self.tx.calm || self.is_calm());
        self.tx.calm && !self.tx.board.is_empty() && self.tx.has_full(self.smss)
    }

    /// The timestamps of a segment whose flags, sequence number and options are as expected, if all is well; zeros
    /// without timestamps.
    #[inline(always)]
    fn plain_header(&mut self, segment: &Compact) -> Option<Timestamps> {
        if !self.finds_calm() {
            return None;
        }
        let ts = segment.sole_timestamps(self.ts.on)?;
        let expected = segment.flags.without(TcpFlags::PSH) == TcpFlags::ACK && segment.seq == self.rx.ack();
        // Without timestamps all are zero.
        (expected && self.ts.is_newer(ts.val)).then_some(ts)
    }

    /// Whether all is well, by the flag, or by the state where the flag was cleared.
    #[inline(always)]
    pub(super) fn finds_calm(&mut self) -> bool {
        if !self.tx.calm {
            // Losses, and data behind a gap, are what most often lasts.
            if !self.tx.board.is_clean() || self.rx.has_gap() || !self.is_calm() {
                return false;
            }
            (self.tx.calm, self.tx.rich) = (true, self.needs_more());
            self.tx.frame = Frame::of(&self.ip, self.ts.on);
        }
        debug_assert!(self.is_calm() && self.tx.rich >= self.needs_more());
        true
    }

    /// Counts a segment, and takes its timestamp and its window.
    #[inline(always)]
    pub(super) fn note_plain(&mut self, window: u16, ts: Timestamps, ack: u64, now: Instant) {
        #[cfg(test)]
        {
            self.predicted += 1;
        }
        self.stats.segments_received.increment();
        if self.ts.on && self.rx.nxt() <= self.rx.last_ack() {
            self.ts.take(ts.val, now);
        }
        let window = u64::from(window) << self.tx.send_shift;
        if self.timers.persist == Instant::NEVER && self.timers.probes == 0 {
            // There is nothing for `stop_persist` to stop: no probe is due while all is well.
            self.tx.move_window(self.rx.nxt() as i64, ack, window);
        } else if self.tx.on_window(self.rx.nxt() as i64, ack, window) && self.tx.edge > self.tx.nxt {
            self.stop_persist();
        }
    }

    /// Writes a segment, and returns the length of its IP packet.
    #[inline(always)]
    fn write_plain(&mut self, offset: u64, flags: TcpFlags, payload: u32, now: Instant, out: &mut Compact) -> Bytes {
        let seq = self.tx.seq(offset);
        let ack = self.rx.ack();
        let window = self.rx.on_plain_ack_sent();
        debug_assert_eq!(self.tx.frame, Frame::of(&self.ip, self.ts.on));
        let Frame { traffic_class, len } = self.tx.frame;
        *out = Compact::bare(traffic_class);
        if self.ts.on {
            out.stamp(self.ts.stamps(now));
        }
        (out.seq, out.ack, out.flags, out.window, out.payload_len) = (seq, ack, flags, window, payload);
        let len = Bytes::new(u64::from(len) + u64::from(payload));
        debug_assert_eq!(len, out.len(self.ip.header_len()));
        len
    }

    /// Whether all is well: established, nothing lost, reordered, marked or closed, no timer but the retransmission and
    /// the delayed-ACK timer, and no setting that does more with a plain segment than this file.
    #[inline(never)]
    pub(super) fn is_calm(&self) -> bool {
        #[cfg(test)]
        if !self.predicts {
            return false;
        }
        let now_well = self.state == State::Established
            && self.tx.board.is_clean()
            && self.recovery.is_calm()
            && self.rx.is_calm()
            && self.tx.is_calm()
            && self.episode.is_quiet()
            && self.urgent.is_none()
            && self.timers.rare == Instant::NEVER;
        let simple = self.assist.is_none()
            && self.gso.is_none()
            && self.device.is_none()
            && self.socket.is_none()
            && !self.ecn.is_on()
            && self.congestion.is_plain()
            && self.config.pacing == Pacing::Off;
        now_well && simple
    }
}

/// The round-trip time of an ACK of one segment by the generic path's rule.
fn timed_once(sent_at: Instant, octets: u64, now: Instant) -> Option<Duration> {
    let mut timing = AckTiming::new();
    let len = u32::try_from(octets).unwrap_or(u32::MAX);
    timing.on_delivered(&Segment { start: 0, len, flags: 0, turn: 0, sent_at }, true);
    timing.sample(None, &crate::options::TimestampState::default(), now).map(|sample| sample.path)
}
