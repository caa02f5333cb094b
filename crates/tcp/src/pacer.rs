//! Spreading transmissions in time: the rate in force, and when the next segment may leave.
//!
//! The rate is the congestion control's own where it set one. Else it is Linux's (`tcp_update_pacing_rate`), where
//! [`Pacing::Ratio`] asks for it: `ratio * SMSS * max(cwnd, packets out) / SRTT`, computed once per ACK.
//!
//! Every segment waits for its own turn. Linux sends up to a millisecond's worth at once (its TSO quantum), and shortens
//! the gap after a segment that left late by up to half; neither is modelled, so bursts here are never larger than
//! Linux's.

use crate::config::Pacing;
use narrows_cc::Window;
use narrows_units::{Bytes, Duration, Instant, Packets, Rate, Serialiser};

/// Data segments of a connection that leave before its own pacing begins.
const UNPACED: Packets = Packets::new(10);

/// Releases segments no faster than a rate. Without a rate it holds back nothing.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Pacer {
    /// Whether a segment that could leave otherwise waits for the pacer.
    waiting: bool,
    next: Instant,
    /// What the connection's own setting gives since the last ACK; zero before there is a round-trip time, and without one.
    own: Rate,
    /// None before anything was paced.
    clock: Option<Box<Serialiser>>,
}

impl Pacer {
    /// The rate in force: the congestion control's own, or what the connection's setting gives.
    #[inline]
    pub(crate) fn rate(&self, win: &Window) -> Option<Rate> {
        win.pacing_rate.or((self.own > Rate::ZERO).then_some(self.own))
    }

    /// An ACK was handled: computes the connection's own rate anew, where its setting gives one.
    #[inline]
    pub(crate) fn on_ack(&mut self, setting: Pacing, win: &Window, flight: u64, smss: u64, srtt: Option<Duration>) {
        if let Pacing::Ratio { slow_start, avoidance } = setting {
            // Linux compares whole segments: cwnd < ssthresh / 2.
            let far = win.ssthresh.is_none_or(|s| win.cwnd.as_u64() < s.as_u64() / smss.max(1) / 2 * smss);
            let percent = if far { slow_start } else { avoidance };
            let rate = srtt.and_then(|srtt| by_ratio(percent, win.cwnd.as_u64().max(flight), srtt));
            self.own = rate.unwrap_or(Rate::ZERO);
        }
    }

    /// Whether a segment may leave now; if not, [`deadline`](Self::deadline) says when.
    #[inline]
    pub(crate) fn admits(&mut self, now: Instant) -> bool {
        self.waiting = now < self.next;
        !self.waiting
    }

    /// A data segment of `bytes` left, the `sent`-th of the connection.
    #[inline]
    pub(crate) fn on_sent(&mut self, bytes: u64, sent: Packets, win: &Window, now: Instant) {
        let Some(rate) = self.rate(win).filter(|_| win.pacing_rate.is_some() || sent >= UNPACED) else { return };
        let clock = self.clock.get_or_insert_default();
        if now > self.next {
            clock.restart();
            self.next = now;
        }
        self.next += clock.time_for(Bytes::new(bytes), rate);
    }

    /// Lets nothing leave before `until`.
    pub(crate) fn hold(&mut self, until: Instant) {
        self.next = self.next.max(until);
    }

    /// Lets the next segment leave at once.
    pub(crate) fn release(&mut self) {
        (self.next, self.waiting) = (Instant::ZERO, false);
    }

    /// Nothing waits any longer.
    #[inline]
    pub(crate) fn idle(&mut self) {
        self.waiting = false;
    }

    /// The time to look again may have come. Whoever still waits says so at the next poll; a connection that no longer
    /// sends (all is acknowledged, the FIN too) does not, and its timer must not stay in the past.
    pub(crate) fn on_timeout(&mut self, now: Instant) {
        self.waiting &= now < self.next;
    }

    /// When to look again.
    #[inline]
    pub(crate) fn deadline(&self) -> Instant {
        if self.waiting { self.next } else { Instant::NEVER }
    }
}

/// `percent` of `window` bytes per `srtt`; none where that is nothing, or more than any rate.
fn by_ratio(percent: u32, window: u64, srtt: Duration) -> Option<Rate> {
    let bits = u128::from(window) * 8 * u128::from(percent) * 10_000_000;
    let bps = bits.checked_div(u128::from(srtt.as_nanos()))?;
    u64::try_from(bps).ok().filter(|bps| *bps > 0).map(Rate::bps)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINUX: Pacing = Pacing::Ratio { slow_start: 200, avoidance: 120 };

    fn window(cwnd: u64, ssthresh: Option<u64>, pacing_rate: Option<Rate>) -> Window {
        let ssthresh = ssthresh.map(Bytes::new);
        Window { cwnd: Bytes::new(cwnd), ssthresh, pacing_rate, slow_start_at_equality: false }
    }

    #[test]
    fn segments_leave_at_the_rate() {
        let mut pacer = Pacer::default();
        let win = window(10_000, None, Some(Rate::mbps(8)));
        let mut now = Instant::ZERO;
        for _ in 0..10 {
            assert!(pacer.admits(now));
            pacer.on_sent(1000, Packets::new(1), &win, now);
            assert!(!pacer.admits(now), "one millisecond each, from the first where the algorithm set the rate");
            now = pacer.deadline();
        }
        assert_eq!(now, Instant::from_nanos(10_000_000));
    }

    #[test]
    fn a_timer_that_went_off_does_not_stay_in_the_past() {
        let mut pacer = Pacer::default();
        pacer.hold(Instant::from_nanos(100));
        assert!(!pacer.admits(Instant::ZERO));
        pacer.on_timeout(Instant::from_nanos(99));
        assert_eq!(pacer.deadline(), Instant::from_nanos(100));
        pacer.on_timeout(Instant::from_nanos(100));
        assert_eq!(pacer.deadline(), Instant::NEVER, "until somebody waits again");
    }

    #[test]
    fn without_a_rate_nothing_waits() {
        let mut pacer = Pacer::default();
        pacer.on_ack(LINUX, &window(10_000, None, None), 0, 1000, None);
        pacer.on_sent(1000, Packets::new(100), &window(10_000, None, None), Instant::ZERO);
        assert!(pacer.admits(Instant::ZERO), "no round-trip time yet");
        assert_eq!(pacer.deadline(), Instant::NEVER);
    }

    #[test]
    fn d9_rate_by_ratio() {
        let cwnd = 100 * 1448;
        let rate = |ssthresh: Option<u64>, flight| {
            let mut pacer = Pacer::default();
            let win = window(cwnd, ssthresh.map(|s| s * 1448), None);
            pacer.on_ack(LINUX, &win, flight, 1448, Some(Duration::from_millis(50)));
            pacer.rate(&win).map(|r| r.as_bps() / 8)
        };
        assert_eq!(rate(None, cwnd), Some(5_792_000));
        assert_eq!(rate(Some(202), cwnd), Some(5_792_000));
        assert_eq!(rate(Some(201), cwnd), Some(3_475_200), "cwnd < ssthresh / 2 in whole segments");
        assert_eq!(rate(Some(50), cwnd), Some(3_475_200));
        assert_eq!(rate(Some(50), 2 * cwnd), Some(6_950_400), "what is in flight, where that is more");
    }

    #[test]
    fn the_algorithm_s_rate_wins_over_the_setting() {
        let mut pacer = Pacer::default();
        let win = window(144_800, None, Some(Rate::mbps(1)));
        pacer.on_ack(LINUX, &win, 0, 1448, Some(Duration::from_millis(50)));
        assert_eq!(pacer.rate(&win), Some(Rate::mbps(1)));
    }

    #[test]
    fn extreme_rates_are_no_pacing() {
        assert_eq!(by_ratio(0, u64::MAX, Duration::from_millis(1)), None);
        assert_eq!(by_ratio(200, 1460, Duration::ZERO), None);
        assert_eq!(by_ratio(u32::MAX, u64::MAX, Duration::from_nanos(1)), None);
        assert_eq!(by_ratio(200, 1, Duration::MAX), None);
    }
}
