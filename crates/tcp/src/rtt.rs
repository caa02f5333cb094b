//! Round-trip time: which ACKs give a sample, and the samples so far.
//!
//! A segment that was never retransmitted is timed by the scoreboard's clock, to the nanosecond (Karn's rule excludes
//! retransmitted ones). If an ACK covers retransmitted data, only timestamps show which transmission it answers (RFC
//! 7323, section 4.1).
//!
//! An ACK for several segments gives two numbers. One is measured from the *earliest* of them, includes the receiver's
//! delay and feeds the retransmission timer, as RFC 7323's echo rule intends. The other is measured from the *latest*
//! and is what congestion control and reports use.

use crate::options::TimestampState;
use crate::segment::{Segment, flag};
use narrows_units::{Duration, Instant};

/// Transmission times of what one ACK delivered.
#[derive(Debug)]
pub(crate) struct AckTiming {
    /// Transmission times of the earliest and the latest segment sent just once.
    earliest: Instant,
    latest: Instant,
    /// Latest transmission of a segment that was retransmitted and is now acknowledged cumulatively.
    retransmitted: Option<Instant>,
    segments: u64,
}

/// A round-trip time sample of one ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    /// For the retransmission timer.
    pub(crate) timer: Duration,
    /// For congestion control and reports.
    pub(crate) path: Duration,
}

impl AckTiming {
    /// Nothing delivered yet.
    pub(crate) const fn new() -> Self {
        Self { earliest: Instant::NEVER, latest: Instant::ZERO, retransmitted: None, segments: 0 }
    }

    /// A segment was delivered.
    #[inline]
    pub(crate) fn on_delivered(&mut self, segment: &Segment, cumulative: bool) {
        self.segments += 1;
        if !segment.has(flag::EVER) {
            self.earliest = self.earliest.min(segment.sent_at);
            self.latest = self.latest.max(segment.sent_at);
        } else if cumulative {
            self.retransmitted = Some(self.retransmitted.map_or(segment.sent_at, |t| t.max(segment.sent_at)));
        }
    }

    /// When the earliest segment sent just once left; [`Instant::NEVER`] if there was none.
    pub(crate) fn earliest(&self) -> Instant {
        self.earliest
    }

    /// How many segments were delivered.
    pub(crate) fn segments(&self) -> u64 {
        self.segments
    }

    /// The sample; `echo` is the ACK's TSecr if timestamps are in use, by the clock of `ts`.
    #[inline]
    pub(crate) fn sample(&self, echo: Option<u32>, ts: &TimestampState, now: Instant) -> Option<Sample> {
        if let Some(sent_at) = self.retransmitted {
            // Segments above the hole waited for the repair, so their age does not measure the path.
            let echo = echo?;
            let rtt = if echo == ts.tick(sent_at) { now.since(sent_at) } else { ts.since(echo, now) };
            return Some(Sample { timer: rtt, path: rtt });
        }
        if self.earliest == Instant::NEVER {
            return None;
        }
        Some(Sample { timer: now.since(self.earliest), path: now.since(self.latest) })
    }
}

/// The samples so far.
#[derive(Debug)]
pub(crate) struct Rtt {
    /// [`Duration::MAX`] before any.
    latest: Duration,
    min: Duration,
    fresh: bool,
}

impl Default for Rtt {
    fn default() -> Self {
        Self { latest: Duration::MAX, min: Duration::MAX, fresh: false }
    }
}

/// A sample, if there was one.
#[inline]
fn known(sample: Duration) -> Option<Duration> {
    (sample != Duration::MAX).then_some(sample)
}

impl Rtt {
    /// Notes a sample.
    #[inline]
    pub(crate) fn on_sample(&mut self, rtt: Duration) {
        self.latest = rtt;
        self.min = self.min.min(rtt);
        self.fresh = true;
    }

    /// Notes a sample that the caller has taken.
    #[inline]
    pub(crate) fn on_taken(&mut self, rtt: Duration) {
        self.on_sample(rtt);
        self.fresh = false;
    }

    /// The latest sample.
    pub(crate) fn latest(&self) -> Option<Duration> {
        known(self.latest)
    }

    /// The smallest sample.
    #[inline]
    pub(crate) fn min(&self) -> Option<Duration> {
        known(self.min)
    }

    /// The latest sample, unless an earlier call returned it.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Duration> {
        if core::mem::take(&mut self.fresh) { known(self.latest) } else { None }
    }
}
