//! Rounds of one round-trip time each, and the RTTs measured in them; shared by delay-based algorithms.
//!
//! A round ends when an ACK passes the byte that was next to send when the round began (`beg_snd_nxt` in Linux's Vegas
//! and Veno, `end_seq` in Illinois, `v_begseq_` in ns-2's Vegas).

use crate::Path;
use narrows_units::Duration;

/// The round-trip times of the present round, and the smallest and largest since the path was last forgotten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rounds {
    end: u64,
    base: Option<Duration>,
    longest: Option<Duration>,
    min: Option<Duration>,
    sum: Duration,
    samples: u32,
}

impl Rounds {
    /// Adds a round-trip time sample. Linux's modules that divide by the RTT pass the result of [`linux_sample`].
    #[inline]
    pub fn sample(&mut self, rtt: Duration) {
        self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
        self.longest = Some(self.longest.map_or(rtt, |longest| longest.max(rtt)));
        self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
        self.sum += rtt;
        self.samples = self.samples.saturating_add(1);
    }

    /// Whether the present ACK is past the end of the round.
    #[inline]
    #[must_use]
    pub fn ended(&self, path: &Path) -> bool {
        path.snd_una > self.end
    }

    /// Begins a round that ends when what has been sent so far is acknowledged.
    #[inline]
    pub fn begin(&mut self, path: &Path) {
        self.end = path.snd_nxt;
        self.clear();
    }

    /// Forgets the samples of this round without moving its end.
    #[inline]
    pub fn clear(&mut self) {
        self.min = None;
        self.sum = Duration::ZERO;
        self.samples = 0;
    }

    /// Forgets the path: the smallest and the largest round-trip time, and begins a round.
    pub fn forget(&mut self, path: &Path) {
        self.base = None;
        self.longest = None;
        self.begin(path);
    }

    /// Smallest round-trip time since the path was forgotten (baseRTT).
    #[inline]
    #[must_use]
    pub fn base(&self) -> Option<Duration> {
        self.base
    }

    /// Largest round-trip time since the path was forgotten.
    #[must_use]
    pub fn longest(&self) -> Option<Duration> {
        self.longest
    }

    /// Smallest round-trip time of this round (minRTT).
    #[inline]
    #[must_use]
    pub fn min(&self) -> Option<Duration> {
        self.min
    }

    /// Mean round-trip time of this round; `None` without a sample.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        (self.samples > 0).then(|| self.sum / u64::from(self.samples))
    }

    /// Number of samples in this round (cntRTT).
    #[inline]
    #[must_use]
    pub fn samples(&self) -> u32 {
        self.samples
    }
}

/// A sample as Linux's delay-based modules take it: in whole microseconds plus one, so that it is never zero.
#[inline]
#[must_use]
pub fn linux_sample(rtt: Duration) -> Duration {
    Duration::from_micros(rtt.as_micros().saturating_add(1))
}

/// `cwnd * part / whole` rounded down, in the unit of `cwnd`; a zero `whole` counts as a nanosecond.
#[inline]
#[must_use]
pub fn share(cwnd: u64, part: Duration, whole: Duration) -> u64 {
    let share = u128::from(cwnd) * u128::from(part.as_nanos()) / u128::from(whole.as_nanos().max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// `cwnd * base / rtt`: the part of this window that the path holds without a queue (Vegas' target).
#[inline]
#[must_use]
pub fn without_queue(cwnd: u64, base: Duration, rtt: Duration) -> u64 {
    share(cwnd, base, rtt)
}
