//! Timestamps: TS.Recent, protection against wrapped sequence numbers (RFC 7323, sections 4 and 5), and the timestamp
//! clock.
//!
//! There are two clocks ([`Config::timestamp_offsets`](crate::Config::timestamp_offsets)): microseconds shared by all
//! ends, or, as in Linux, milliseconds with an offset of each end (`tcp_time_stamp_raw`, `secure_tcp_ts_off`).

use narrows_cc::Clocks;
use narrows_units::{Duration, Instant};
use narrows_wire::Timestamps;

/// Length of a tick of the shared clock: 1 us.
const TICK_NANOS: u64 = 1_000;
/// Length of a tick of Linux's clock (`TCP_TS_HZ`): 1 ms.
const COARSE_NANOS: u64 = 1_000_000;

/// Idle time after which TS.Recent is no longer valid (RFC 7323, section 5.5): 30 minutes, in [`age_of`]'s unit. The
/// RFC's 24 days belong to its slowest tick. Half the circle of a 1 us clock is 35.8 minutes, and the rule must apply
/// before that.
const RECENT_EXPIRES: u32 = 1676;
/// The same on a clock of milliseconds: 24 days (`TCP_PAWS_WRAP`).
const RECENT_EXPIRES_COARSE: u32 = 1_931_190;

/// Time in units of 2^30 ns (1.07 s), which keeps the state small.
#[inline]
const fn age_of(now: Instant) -> u32 {
    (now.as_nanos() >> 30) as u32
}

/// The shared timestamp clock; it wraps after 71.6 minutes, within the order that PAWS relies on.
#[inline]
pub(crate) const fn tick(now: Instant) -> u32 {
    // Truncation is the wrap of the clock.
    (now.as_nanos() / TICK_NANOS) as u32
}

/// Whether clock value `a` is before `b` in the circular order.
#[inline]
pub(crate) const fn tick_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// Timestamp state of a connection.
#[derive(Debug, Default)]
pub(crate) struct TimestampState {
    /// Whether both ends sent the option.
    pub(crate) on: bool,
    /// Whether the clock is Linux's.
    coarse: bool,
    /// Value of this end's clock at time zero, in ticks.
    offset: u32,
    recent: u32,
    /// See [`age_of`].
    recent_at: u32,
}

impl TimestampState {
    /// Timestamps that are not negotiated yet, with the shared clock or (`coarse`) Linux's.
    pub(crate) fn new(coarse: bool) -> Self {
        Self { coarse, ..Self::default() }
    }

    /// Sets the value of this end's clock at time zero.
    pub(crate) fn set_offset(&mut self, offset: u32) {
        self.offset = offset;
    }

    /// Resets the state of the connection and keeps the clock.
    pub(crate) fn restart(&mut self) {
        *self = Self { coarse: self.coarse, offset: self.offset, ..Self::default() };
    }

    /// The current value of this end's clock.
    #[inline]
    pub(crate) fn tick(&self, now: Instant) -> u32 {
        if self.coarse {
            // Truncation is the wrap of the clock.
            ((now.as_nanos() / COARSE_NANOS) as u32).wrapping_add(self.offset)
        } else {
            tick(now).wrapping_add(self.offset)
        }
    }

    /// Time since this end's clock showed `echo`, to within a tick.
    #[inline]
    pub(crate) fn since(&self, echo: u32, now: Instant) -> Duration {
        Duration::from_nanos(u64::from(self.tick(now).wrapping_sub(echo)) * self.tick_nanos())
    }

    /// When the tick `echo` of this end's clock ended: what carried that TSval left before.
    pub(crate) fn end_of(&self, echo: u32, now: Instant) -> Instant {
        let into = Duration::from_nanos(now.as_nanos() % self.tick_nanos());
        (now - into - self.since(echo, now)) + Duration::from_nanos(self.tick_nanos())
    }

    #[inline]
    fn tick_nanos(&self) -> u64 {
        if self.coarse { COARSE_NANOS } else { TICK_NANOS }
    }

    /// The peer's clock minus this end's, from the timestamps of an ACK, on a circle of 2^32 us.
    #[inline]
    pub(crate) fn difference(&self, ts: Timestamps) -> Duration {
        let ticks = ts.val.wrapping_sub(ts.ecr.wrapping_sub(self.offset));
        // A whole circle of milliseconds is a number of whole circles of microseconds, so truncation loses nothing.
        let micros = u64::from(ticks) * (self.tick_nanos() / TICK_NANOS);
        Duration::from_micros(u64::from(micros as u32))
    }

    /// Both clocks in milliseconds, from the timestamps of an ACK that arrives now.
    pub(crate) fn clocks(&self, ts: Timestamps, now: Instant) -> Clocks {
        if self.coarse {
            return Clocks { remote: ts.val, local: ts.ecr.wrapping_sub(self.offset) };
        }
        // The current time shows how often the shared clock has wrapped.
        let millis = |stamp: u32| {
            let age = u64::from(self.tick(now).wrapping_sub(stamp)) * TICK_NANOS;
            (now.as_nanos().saturating_sub(age) / COARSE_NANOS) as u32
        };
        Clocks { remote: millis(ts.val), local: millis(ts.ecr) }
    }

    /// Starts timestamps with the TSval of the peer's SYN.
    pub(crate) fn start(&mut self, val: u32, now: Instant) {
        (self.on, self.recent, self.recent_at) = (true, val, age_of(now));
    }

    /// The option for a segment that leaves now.
    #[inline]
    pub(crate) fn option(&self, now: Instant) -> Option<Timestamps> {
        self.on.then(|| self.stamps(now))
    }

    /// What the option of a segment that leaves now says, with timestamps in use.
    #[inline]
    pub(crate) fn stamps(&self, now: Instant) -> Timestamps {
        Timestamps { val: self.tick(now), ecr: self.recent }
    }

    #[inline]
    fn is_expired(&self, now: Instant) -> bool {
        age_of(now).wrapping_sub(self.recent_at) >= RECENT_EXPIRES
    }

    /// Whether this TSval is older than a valid TS.Recent, so that the segment is rejected (rule R1 of section 5.3).
    #[inline]
    pub(crate) fn is_old(&self, val: u32, now: Instant) -> bool {
        tick_before(val, self.recent) && !self.is_expired(now)
    }

    /// How far a TSval lies before TS.Recent, in ticks; negative after it.
    pub(crate) fn behind(&self, val: u32) -> i32 {
        self.recent.wrapping_sub(val) as i32
    }

    /// Whether a TSval lies more than `window` ticks before a TS.Recent that is valid. Zero is none: some systems send
    /// it in SYNs (`tcp_paws_check`).
    pub(crate) fn is_before(&self, val: u32, window: u32, now: Instant) -> bool {
        let expires = if self.coarse { RECENT_EXPIRES_COARSE } else { RECENT_EXPIRES };
        let expired = age_of(now).wrapping_sub(self.recent_at) >= expires;
        self.behind(val) > window as i32 && !expired && self.recent != 0
    }

    /// Makes a TSval TS.Recent.
    pub(crate) fn take(&mut self, val: u32, now: Instant) {
        (self.recent, self.recent_at) = (val, age_of(now));
    }

    /// Ticks of the clock in a millisecond.
    pub(crate) fn ticks_per_ms(&self) -> u64 {
        COARSE_NANOS / self.tick_nanos()
    }

    /// Whether this end's clock showed `echo` between two times.
    pub(crate) fn is_between(&self, echo: u32, from: Instant, to: Instant) -> bool {
        let from = self.tick(from);
        echo.wrapping_sub(from) <= self.tick(to).wrapping_sub(from)
    }

    /// Whether this TSval is not older than TS.Recent.
    #[inline]
    pub(crate) fn is_newer(&self, val: u32) -> bool {
        !tick_before(val, self.recent)
    }

    /// Updates TS.Recent from an acceptable segment that begins at or before the last ACK sent (section 4.3).
    #[inline]
    pub(crate) fn on_segment(&mut self, val: u32, now: Instant) {
        if !tick_before(val, self.recent) || self.is_expired(now) {
            (self.recent, self.recent_at) = (val, age_of(now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paws_rejects_old_values_until_they_expire() {
        let mut ts = TimestampState::default();
        ts.start(5, Instant::ZERO);
        assert!(ts.is_old(4, Instant::ZERO) && !ts.is_old(5, Instant::ZERO));
        let later = Instant::ZERO + Duration::from_secs(25 * 86_400);
        assert!(!ts.is_old(4, later), "TS.Recent is invalid after 24 days");
        ts.on_segment(4, later);
        assert_eq!(ts.option(later).map(|t| t.ecr), Some(4));
    }

    #[test]
    fn the_order_of_timestamps_wraps() {
        assert!(tick_before(u32::MAX, 0) && !tick_before(0, u32::MAX));
        assert_eq!(tick(Instant::from_nanos((1 << 32) * TICK_NANOS + 3_000)), 3);
    }

    #[test]
    fn what_carried_a_timestamp_left_before_the_end_of_its_tick() {
        let (sent, now) = (Instant::from_nanos(3_400_300), Instant::from_nanos(10_700_900));
        for (coarse, end) in [(false, 3_401_000), (true, 4_000_000)] {
            let mut ts = TimestampState::new(coarse);
            ts.set_offset(u32::MAX - 1);
            assert_eq!(ts.end_of(ts.tick(sent), now), Instant::from_nanos(end));
            assert!(ts.end_of(ts.tick(now), now) > now);
        }
    }

    #[test]
    fn linux_counts_milliseconds_from_an_offset_of_each_end() {
        let mut ts = TimestampState::new(true);
        ts.set_offset(u32::MAX - 9);
        let now = Instant::from_nanos(25_999_999);
        assert_eq!(ts.tick(now), 15, "25 ms after u32::MAX - 9");
        assert_eq!(ts.since(5, now), Duration::from_millis(10));
        // The peer shows 1000 where we show 3 ms, with our offset on the wire.
        let echo = Timestamps { val: 1_000, ecr: 3u32.wrapping_add(u32::MAX - 9) };
        assert_eq!(ts.clocks(echo, now), Clocks { remote: 1_000, local: 3 });
        assert_eq!(ts.difference(echo), Duration::from_millis(997));
        let behind = Timestamps { val: 0, ecr: echo.ecr };
        let circle = 1u64 << 32;
        assert_eq!(ts.difference(behind), Duration::from_micros(circle - 3_000), "three milliseconds behind");
        ts.start(7, now);
        ts.restart();
        assert_eq!((ts.on, ts.tick(now)), (false, 15), "a listener keeps its clock");
    }

    #[test]
    fn the_shared_clock_in_milliseconds_does_not_wrap_with_its_microseconds() {
        let ts = TimestampState::new(false);
        let now = Instant::from_nanos((1 << 32) * TICK_NANOS + 2_000_000);
        let stamps = Timestamps { val: tick(now), ecr: tick(Instant::from_nanos(now.as_nanos() - 10_000_000)) };
        let now_ms = (now.as_nanos() / COARSE_NANOS) as u32;
        assert_eq!(ts.clocks(stamps, now), Clocks { remote: now_ms, local: now_ms - 10 });
    }

    #[test]
    fn an_older_value_never_replaces_ts_recent() {
        let mut ts = TimestampState::default();
        ts.start(10, Instant::ZERO);
        ts.on_segment(9, Instant::ZERO);
        assert_eq!(ts.option(Instant::ZERO).map(|t| t.ecr), Some(10));
    }
}
