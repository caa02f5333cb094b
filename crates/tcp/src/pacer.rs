//! Spreading transmissions in time.

use narrows_units::{Bytes, Instant, Rate, Serialiser};

/// Releases segments no faster than a rate. Without a rate it holds back nothing.
#[derive(Debug, Default)]
pub(crate) struct Pacer {
    next: Instant,
    clock: Serialiser,
    /// Whether a segment that could leave otherwise waits for the pacer.
    waiting: bool,
}

impl Pacer {
    /// Whether a segment may leave now; if not, [`deadline`](Self::deadline) says when.
    #[inline]
    pub(crate) fn admits(&mut self, now: Instant) -> bool {
        self.waiting = now < self.next;
        !self.waiting
    }

    /// A segment of `bytes` left.
    #[inline]
    pub(crate) fn on_sent(&mut self, bytes: u64, rate: Option<Rate>, now: Instant) {
        let Some(rate) = rate else { return };
        if now > self.next {
            self.clock.restart();
            self.next = now;
        }
        self.next += self.clock.time_for(Bytes::new(bytes), rate);
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

    /// When to look again.
    #[inline]
    pub(crate) fn deadline(&self) -> Instant {
        if self.waiting { self.next } else { Instant::NEVER }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_leave_at_the_rate() {
        let mut pacer = Pacer::default();
        let rate = Some(Rate::mbps(8));
        let mut now = Instant::ZERO;
        for _ in 0..10 {
            assert!(pacer.admits(now));
            pacer.on_sent(1000, rate, now);
            assert!(!pacer.admits(now), "one millisecond each");
            now = pacer.deadline();
        }
        assert_eq!(now, Instant::from_nanos(10_000_000));
    }

    #[test]
    fn without_a_rate_nothing_waits() {
        let mut pacer = Pacer::default();
        pacer.on_sent(1000, None, Instant::ZERO);
        assert!(pacer.admits(Instant::ZERO));
        assert_eq!(pacer.deadline(), Instant::NEVER);
    }
}
