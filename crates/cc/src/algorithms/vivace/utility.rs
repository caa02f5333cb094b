//! Vivace's utility, and the filters that keep noise in round-trip times out of it.

use super::interval::Interval;

/// A slope of round-trip times that counts as level (paper, section 5).
const PAPER_LEVEL: f64 = 0.01;
/// In Starting, a rise of less than this in an interval counts as level, in seconds (`CalculateUtilityProportional`).
const STARTING_LEVEL: f64 = 0.001;
/// Intervals whose mean round-trip times make a trend (`kRttHistoryLen`).
const TREND: usize = 6;
/// Weight of a new trend in its moving averages (`kAlpha`).
const ALPHA: f64 = 0.1;
/// A trend this much smaller than the smallest begins the averages again (`kBeta`).
const BETA: f64 = 100.0;
/// Deviations from the mean trend that are tolerated (`kInflationToleranceGain`).
const TOLERATED: f64 = 2.0;

/// u(x) = x^t - b x d(RTT)/dT - c x L, with x in Mb/s (paper, section 3, equation 1).
#[derive(Clone, Copy, Debug)]
pub(super) struct Utility {
    /// t.
    pub exponent: f64,
    /// b.
    pub latency: f64,
    /// c.
    pub loss: f64,
    /// Filters of PCC-Uspace in place of the paper's.
    pub uspace: bool,
}

impl Utility {
    /// The utility of the rate `x` in Mb/s.
    pub fn of(&self, x: f64, gradient: f64, loss_rate: f64) -> f64 {
        libm::pow(x, self.exponent) - self.latency * x * gradient - self.loss * x * loss_rate
    }

    /// The slope of the interval's round-trip times after the filters. `rising`: the trend of intervals is a rise
    /// beyond the usual.
    pub fn gradient(&self, interval: &Interval, rising: bool, starting: bool) -> f64 {
        let slope = interval.rtts().slope();
        if !self.uspace {
            return if slope.abs() < PAPER_LEVEL { 0.0 } else { slope };
        }
        let noise = interval.rtts().error() >= slope.abs() && !rising;
        let small = starting && slope * interval.length().as_secs_f64() < STARTING_LEVEL;
        if noise || small { 0.0 } else { slope.max(0.0) }
    }
}

/// The trend of mean round-trip times over six intervals, against its own history (`DetermineToleranceInflation`).
#[derive(Clone, Debug, Default)]
pub(super) struct Trend {
    means: Vec<f64>,
    average: f64,
    deviation: f64,
    smallest: f64,
    last: f64,
}

impl Trend {
    /// Adds an interval; returns whether round-trip times rise more than they usually do.
    pub fn rises(&mut self, interval: &Interval) -> bool {
        if interval.samples() < 2 {
            return false;
        }
        self.add(interval.rtts().mean() * 1e6)
    }

    /// Adds a mean round-trip time in microseconds.
    fn add(&mut self, mean: f64) -> bool {
        if self.means.len() == TREND {
            self.means.remove(0);
        }
        self.means.push(mean);
        if self.means.len() < TREND {
            return false;
        }
        let trend = slope(&self.means);
        if self.smallest < 1e-6 || trend.abs() < self.smallest / BETA {
            (self.average, self.smallest, self.deviation, self.last) = (0.0, trend.abs(), trend.abs(), trend);
            return false;
        }
        let usual = (trend - self.average).abs() <= TOLERATED * self.deviation;
        if usual {
            self.deviation = self.deviation * (1.0 - ALPHA) + (trend - self.last).abs() * ALPHA;
            self.average = self.average * (1.0 - ALPHA) + trend * ALPHA;
            self.last = trend;
        }
        self.smallest = self.smallest.min(trend.abs());
        !usual && trend > 0.0
    }
}

/// Slope of the line through `values` at 0, 1, 2 ..
fn slope(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let middle = (n - 1.0) / 2.0;
    let mean = values.iter().sum::<f64>() / n;
    let (mut xx, mut xy) = (0.0, 0.0);
    for (i, value) in values.iter().enumerate() {
        let x = i as f64 - middle;
        xx += x * x;
        xy += x * (value - mean);
    }
    if xx > 0.0 { xy / xx } else { 0.0 }
}

#[cfg(test)]
#[allow(clippy::float_cmp)]
mod tests {
    use super::*;
    use crate::algorithms::vivace::interval::Mark;
    use narrows_units::{Duration, Instant, Rate};

    const LATENCY: Utility = Utility { exponent: 0.9, latency: 900.0, loss: 11.35, uspace: true };

    /// An interval of 100 ms whose round-trip times rise from 40 ms by `slope`, with alternating noise in seconds.
    fn interval(slope: f64, noise: f64) -> Interval {
        let mut interval = Interval::new(Rate::mbps(10), Mark::default());
        for i in 0..10_u64 {
            let at = 0.01 * i as f64;
            let rtt = 0.04 + slope * at + if i % 2 == 0 { noise } else { -noise };
            interval.sample(Instant::from_nanos(i * 10_000_000), Duration::from_secs_f64(rtt), false);
        }
        interval.close(Mark { at: Instant::from_nanos(100_000_000), ..Mark::default() });
        interval
    }

    #[test]
    fn vivace_utility_of_the_paper() {
        // 10^0.9 = 7.943; 900 x 10 x 0.001 = 9; 11.35 x 10 x 0.02 = 2.27.
        assert!((LATENCY.of(10.0, 0.0, 0.0) - 7.943_282).abs() < 1e-6);
        assert!((LATENCY.of(10.0, 0.001, 0.02) - (7.943_282 - 9.0 - 2.27)).abs() < 1e-6);
        // Vivace-Loss does not see the slope, and loss of 5 % is where the utility of 100 Mb/s is still positive.
        let loss = Utility { latency: 0.0, ..LATENCY };
        assert_eq!(loss.of(10.0, 0.5, 0.0), loss.of(10.0, 0.0, 0.0));
        assert!(loss.of(100.0, 0.0, 0.05) > 0.0 && loss.of(100.0, 0.0, 0.06) < 0.0);
    }

    #[test]
    fn vivace_latency_filters() {
        let paper = Utility { uspace: false, ..LATENCY };
        // The paper ignores slopes below 0.01 and rewards a queue that drains.
        assert_eq!(paper.gradient(&interval(0.009, 0.0), false, false), 0.0);
        assert!((paper.gradient(&interval(-0.02, 0.0), false, false) + 0.02).abs() < 1e-6);
        // The code takes a slope of any size above the error, and no falling one.
        assert!((LATENCY.gradient(&interval(0.009, 0.0), false, false) - 0.009).abs() < 1e-6);
        assert_eq!(LATENCY.gradient(&interval(-0.02, 0.0), false, false), 0.0);
        // Noise of 1 ms around 40 ms is 2.5 %: more than a slope of 0.009.
        assert_eq!(LATENCY.gradient(&interval(0.009, 0.001), false, false), 0.0);
        assert!(LATENCY.gradient(&interval(0.009, 0.001), true, false) > 0.0);
        // In Starting, 0.009 over 100 ms is 0.9 ms: below a millisecond.
        assert_eq!(LATENCY.gradient(&interval(0.009, 0.0), false, true), 0.0);
        assert!(LATENCY.gradient(&interval(0.011, 0.0), false, true) > 0.0);
    }

    #[test]
    fn vivace_rising_means_override_the_filter() {
        let mut trend = Trend::default();
        // Five means are no trend; the sixth begins the averages at 1 us per interval.
        for i in 0..6 {
            assert!(!trend.add(40_000.0 + f64::from(i)));
        }
        assert_eq!((trend.average, trend.deviation, trend.last), (0.0, 1.0, 1.0));
        // Means 1, 2, 3, 4, 5, x above 40 000: the slope is (2.5 (x - 1) + 1.5 (5 - 2) + 0.5 (4 - 3)) / 17.5, 2 us at
        // x = 13, which is two deviations, and more beyond.
        let (mut at, mut beyond) = (trend.clone(), trend);
        assert!(!at.add(40_013.0));
        assert!(beyond.add(40_014.0));
        assert!((at.average - 0.2).abs() < 0.01 && (at.deviation - 1.0).abs() < 0.01);
    }
}
