//! Timestamps: TS.Recent and protection against wrapped sequence numbers (RFC 7323, sections 4 and 5).

use narrows_units::{Duration, Instant};
use narrows_wire::Timestamps;

/// Length of a tick of the timestamp clock: 1 us.
pub(crate) const TICK_NANOS: u64 = 1_000;

/// After so long an idle time TS.Recent says nothing (RFC 7323, section 5.5). The RFC's 24 days go with its slowest tick;
/// half the circle of a 1 us clock is 35.8 minutes, and the rule must apply before that.
const RECENT_EXPIRES: Duration = Duration::from_secs(30 * 60);

/// The timestamp clock; it wraps after 71.6 minutes, within the order that PAWS relies on.
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
    recent: u32,
    recent_at: Instant,
}

impl TimestampState {
    /// Takes TSval of the peer's SYN.
    pub(crate) fn start(&mut self, val: u32, now: Instant) {
        (self.on, self.recent, self.recent_at) = (true, val, now);
    }

    /// The option for a segment that leaves now.
    #[inline]
    pub(crate) fn option(&self, now: Instant) -> Option<Timestamps> {
        self.on.then(|| Timestamps { val: tick(now), ecr: self.recent })
    }

    /// Whether a segment with this TSval is from before the last wrap (rule R1 of section 5.3).
    #[inline]
    pub(crate) fn is_old(&self, val: u32, now: Instant) -> bool {
        tick_before(val, self.recent) && now.since(self.recent_at) < RECENT_EXPIRES
    }

    /// Whether a segment with this TSval is not from before TS.Recent.
    #[inline]
    pub(crate) fn is_newer(&self, val: u32) -> bool {
        !tick_before(val, self.recent)
    }

    /// Takes TSval of an acceptable segment that begins at or before the last ACK sent (section 4.3).
    #[inline]
    pub(crate) fn on_segment(&mut self, val: u32, now: Instant) {
        if !tick_before(val, self.recent) || now.since(self.recent_at) >= RECENT_EXPIRES {
            (self.recent, self.recent_at) = (val, now);
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
    fn an_older_value_never_replaces_ts_recent() {
        let mut ts = TimestampState::default();
        ts.start(10, Instant::ZERO);
        ts.on_segment(9, Instant::ZERO);
        assert_eq!(ts.option(Instant::ZERO).map(|t| t.ecr), Some(10));
    }
}
