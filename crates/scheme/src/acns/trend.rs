//! The loss trend: what recent commands say about a loss.

use super::AcnsConfig;
use narrows_cc::Advice;
use std::collections::VecDeque;

/// What a loss means, by the commands before it (DCNET 2013, section 2.2, equations 6 to 8; thesis, equation 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrendVerdict {
    /// `C_trend` = 1: no congestion, an error of the channel. The window stays.
    Freeze,
    /// `C_trend` = 2: congestion is coming. The window falls back.
    Fallback,
    /// `C_trend` = 3: congestion. The base algorithm decides.
    Decrease,
}

/// `P`, the latest received commands, and their weighted mean.
///
/// The i-th newest has the metric `x_i = exp(-i / sigma)`, and `W_trend = sum x_i P[i] / X` with `X` the sum of the
/// metrics of the commands that exist. Only the ratios of the metrics matter, so they are kept relative to the newest,
/// `exp(-(i - 1) / sigma)`: the divisor is then above zero however small sigma is.
#[derive(Clone, Debug)]
pub struct Trend {
    /// Newest first; at most as many as `metrics`.
    commands: VecDeque<Advice>,
    metrics: Box<[f64]>,
    /// th_L1.
    fallback_threshold: f64,
    /// th_L2.
    decrease_threshold: f64,
}

impl Trend {
    /// Creates a trend without commands.
    #[must_use]
    pub fn new(config: &AcnsConfig) -> Self {
        let metrics = (0..config.trend_count).map(|i| libm::exp(-f64::from(i) / config.trend_sigma)).collect();
        Self {
            commands: VecDeque::with_capacity(config.trend_count as usize),
            metrics,
            fallback_threshold: config.loss_fallback_threshold,
            decrease_threshold: config.loss_decrease_threshold,
        }
    }

    /// Adds a command that was received, or that a loss verdict stands for.
    pub fn push(&mut self, command: Advice) {
        self.commands.truncate(self.metrics.len().saturating_sub(1));
        self.commands.push_front(command);
    }

    /// Returns `W_trend`, in [1, 3]; `None` before the first command.
    #[must_use]
    pub fn weight(&self) -> Option<f64> {
        if self.commands.is_empty() {
            return None;
        }
        let (sum, x) = self
            .commands
            .iter()
            .zip(&self.metrics)
            .fold((0.0, 0.0), |(sum, x), (&command, metric)| (sum + metric * f64::from(command as u8), x + metric));
        Some(sum / x)
    }

    /// Returns what a loss means now; `None` before the first command.
    #[must_use]
    pub fn verdict(&self) -> Option<TrendVerdict> {
        self.weight().map(|w| {
            if w < self.fallback_threshold {
                TrendVerdict::Freeze
            } else if w < self.decrease_threshold {
                TrendVerdict::Fallback
            } else {
                TrendVerdict::Decrease
            }
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use Advice::{Fallback, Freeze, Normal};
    use proptest::prelude::*;

    /// Returns the trend of ten commands: the newest as given, the others normal.
    fn trend(config: &AcnsConfig, newest_first: &[Advice]) -> Trend {
        let mut t = Trend::new(config);
        for _ in newest_first.len()..10 {
            t.push(Normal);
        }
        newest_first.iter().rev().for_each(|&c| t.push(c));
        t
    }

    #[test]
    fn x_and_the_weights_for_count_10_and_sigma_3() {
        let metrics = Trend::new(&AcnsConfig::default()).metrics;
        let x: f64 = metrics.iter().sum();
        // The vector's metrics start at exp(-1/3), ours at 1.
        assert!((x * libm::exp(-1.0 / 3.0) - 2.437_552).abs() < 5e-7, "{x}");
        let weights = [0.29396, 0.21063, 0.15092, 0.10814, 0.07749, 0.05552, 0.03978, 0.02851, 0.02043, 0.01464];
        assert_eq!(metrics.len(), weights.len());
        for (metric, weight) in metrics.iter().zip(weights) {
            assert!((metric / x - weight).abs() < 5e-6, "{} {weight}", metric / x);
        }
    }

    #[test]
    fn w_trend_vectors() {
        let config = AcnsConfig::default();
        for (newest, w, verdict) in [
            (&[][..], 1.0, TrendVerdict::Freeze),
            (&[Fallback], 1.5879, TrendVerdict::Freeze),
            (&[Fallback, Fallback], 2.0092, TrendVerdict::Fallback),
            (&[Fallback, Fallback, Fallback], 2.3110, TrendVerdict::Decrease),
            (&[Freeze, Freeze, Freeze], 1.6555, TrendVerdict::Freeze),
            (&[Freeze, Freeze, Freeze, Freeze, Freeze], 1.8411, TrendVerdict::Freeze),
        ] {
            let t = trend(&config, newest);
            assert!((t.weight().unwrap() - w).abs() < 5e-5, "{newest:?}: {:?}", t.weight());
            assert_eq!(t.verdict(), Some(verdict), "{newest:?}");
        }
    }

    #[test]
    fn five_freezes_mean_fallback_with_the_rounded_threshold_of_dcnet2013() {
        let config = AcnsConfig { loss_fallback_threshold: 1.84, ..AcnsConfig::default() };
        assert_eq!(trend(&config, &[Freeze; 5]).verdict(), Some(TrendVerdict::Fallback));
    }

    #[test]
    fn without_a_command_there_is_no_verdict() {
        let t = Trend::new(&AcnsConfig::default());
        assert_eq!((t.weight(), t.verdict()), (None, None));
    }

    #[test]
    fn fewer_commands_than_count_are_normalised_by_those_there_are() {
        let mut t = Trend::new(&AcnsConfig::default());
        t.push(Fallback);
        assert!((t.weight().unwrap() - 3.0).abs() < 1e-12);
        t.push(Normal);
        let (x1, x2) = (libm::exp(-1.0 / 3.0), libm::exp(-2.0 / 3.0));
        assert!((t.weight().unwrap() - (x1 + 3.0 * x2) / (x1 + x2)).abs() < 1e-12);
    }

    #[test]
    fn commands_beyond_count_are_forgotten() {
        let mut t = trend(&AcnsConfig::default(), &[Fallback; 10]);
        for _ in 0..10 {
            t.push(Normal);
        }
        assert!((t.weight().unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(t.commands.len(), 10);
    }

    proptest! {
        #[test]
        fn the_trend_lies_between_the_mildest_and_the_harshest(
            commands in proptest::collection::vec(1u8..=3, 1..40), count in 1u32..30, sigma in 0.001f64..100.0,
        ) {
            let mut t = Trend::new(&AcnsConfig { trend_count: count, trend_sigma: sigma, ..AcnsConfig::default() });
            for c in &commands {
                t.push([Normal, Freeze, Fallback][usize::from(c - 1)]);
            }
            let seen = &commands[commands.len().saturating_sub(count as usize)..];
            let (low, high) = (*seen.iter().min().unwrap(), *seen.iter().max().unwrap());
            let w = t.weight().unwrap();
            prop_assert!(w >= f64::from(low) - 1e-12 && w <= f64::from(high) + 1e-12, "{w}");
        }
    }
}
