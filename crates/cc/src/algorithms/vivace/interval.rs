//! A monitor interval: what was sent in it, and what ACKs told of it.

use super::transmitted;
use crate::Path;
use narrows_units::{Bytes, Duration, Instant, Rate};

/// A moment at which an interval begins or ends.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    /// When the next segment leaves: segments sent from then on are behind the mark.
    pub at: Instant,
    /// Stream offset of the next new byte.
    pub snd_nxt: u64,
    /// Bytes sent before it.
    pub sent: Bytes,
}

impl Mark {
    /// The mark before the next segment.
    pub fn of(path: &Path) -> Self {
        Self { at: path.now.max(path.departure), snd_nxt: path.snd_nxt, sent: transmitted(path) }
    }
}

/// Round-trip times over the times at which their segments were sent, for a line of least squares.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Samples {
    n: f64,
    /// The first sample, which the others are counted from so that sums stay small.
    origin: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Samples {
    /// Adds the round-trip time `rtt` of a segment sent at `at`; both in seconds.
    pub fn add(&mut self, at: f64, rtt: f64) {
        if self.n <= 0.0 {
            self.origin = rtt;
        }
        let y = rtt - self.origin;
        self.n += 1.0;
        self.x += at;
        self.y += y;
        self.xx += at * at;
        self.xy += at * y;
        self.yy += y * y;
    }

    /// The mean round-trip time, in seconds.
    pub fn mean(&self) -> f64 {
        self.origin + self.y / self.n.max(1.0)
    }

    /// d(RTT)/dT by least squares; 0 where the samples do not determine it.
    pub fn slope(&self) -> f64 {
        let spread = self.xx - self.x * self.x / self.n.max(1.0);
        if self.n < 2.0 || spread <= 0.0 {
            return 0.0;
        }
        (self.xy - self.x * self.y / self.n) / spread
    }

    /// Root of the mean squared distance from the line, as a share of the mean round-trip time.
    pub fn error(&self) -> f64 {
        if self.n < 2.0 || self.mean() <= 0.0 {
            return 0.0;
        }
        let (of_y, of_xy) = (self.yy - self.y * self.y / self.n, self.xy - self.x * self.y / self.n);
        let residual = (of_y - self.slope() * of_xy).max(0.0) / self.n;
        residual.sqrt() / self.mean()
    }
}

/// A monitor interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    /// The rate that it tests.
    pub rate: Rate,
    /// Where it begins.
    pub begin: Mark,
    /// Where it ended; `None` while it is open.
    pub end: Option<Mark>,
    /// Bytes of it that were lost.
    pub lost: Bytes,
    /// Whether the application limited the sender in it.
    pub limited: bool,
    samples: Samples,
    count: u32,
}

impl Interval {
    /// An open interval.
    pub fn new(rate: Rate, begin: Mark) -> Self {
        Self { rate, begin, end: None, lost: Bytes::ZERO, limited: false, samples: Samples::default(), count: 0 }
    }

    /// Whether segments are still sent in it.
    pub fn is_open(&self) -> bool {
        self.end.is_none()
    }

    /// Ends it.
    pub fn close(&mut self, end: Mark) {
        self.end = Some(end);
    }

    /// Whether a segment sent at `at` belongs to it.
    fn covers(&self, at: Instant) -> bool {
        at >= self.begin.at && self.end.is_none_or(|end| at < end.at)
    }

    /// Whether the byte at this stream offset was first sent in it.
    pub fn contains(&self, offset: u64) -> bool {
        offset >= self.begin.snd_nxt && self.end.is_none_or(|end| offset < end.snd_nxt)
    }

    /// Takes the sample of a segment sent at `at`, if it belongs to the interval.
    pub fn sample(&mut self, at: Instant, rtt: Duration, limited: bool) {
        if self.covers(at) {
            self.samples.add(at.since(self.begin.at).as_secs_f64(), rtt.as_secs_f64());
            self.count = self.count.saturating_add(1);
            self.limited |= limited;
        }
    }

    /// Round-trip time samples so far.
    pub fn samples(&self) -> u32 {
        self.count
    }

    /// The round-trip times.
    pub fn rtts(&self) -> &Samples {
        &self.samples
    }

    /// Its length; zero while it is open.
    pub fn length(&self) -> Duration {
        self.end.map_or(Duration::ZERO, |end| end.at.since(self.begin.at))
    }

    /// Bytes sent in it; zero while it is open.
    pub fn sent(&self) -> Bytes {
        self.end.map_or(Bytes::ZERO, |end| end.sent.saturating_sub(self.begin.sent))
    }

    /// L, the share of its bytes that were lost.
    pub fn loss_rate(&self) -> f64 {
        (self.lost.as_f64() / self.sent().as_f64().max(1.0)).min(1.0)
    }

    /// x, the rate at which it sent, in Mb/s.
    pub fn actual_mbps(&self) -> f64 {
        let seconds = self.length().as_secs_f64();
        if seconds > 0.0 { self.sent().as_f64() * 8.0 / seconds / 1e6 } else { 0.0 }
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)]
mod tests {
    use super::*;

    #[test]
    fn vivace_slope_of_samples() {
        // Round-trip times of 40, 41, 42 and 43 ms, sent 10 ms apart: 0.1 s per second, no error, mean 41.5 ms.
        let mut samples = Samples::default();
        for i in 0..4 {
            samples.add(0.01 * f64::from(i), 0.04 + 0.001 * f64::from(i));
        }
        assert!((samples.slope() - 0.1).abs() < 1e-9, "{}", samples.slope());
        assert!((samples.mean() - 0.0415).abs() < 1e-12 && samples.error() < 1e-6);
        // 40, 42, 40, 42 ms: slope 0.4 ms in 10 ms; residuals -0.4, 1.2, -1.2, 0.4 ms; root of 0.8 ms² over 41 ms.
        let mut samples = Samples::default();
        for i in 0..4_u32 {
            samples.add(0.01 * f64::from(i), if i % 2 == 0 { 0.04 } else { 0.042 });
        }
        assert!((samples.slope() - 0.04).abs() < 1e-9, "{}", samples.slope());
        assert!((samples.error() - 0.8_f64.sqrt() / 41.0).abs() < 1e-9, "{}", samples.error());
    }
}
