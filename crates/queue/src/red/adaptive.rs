//! Adaptive RED: moves max_p so that the average stays about half-way between the thresholds, and derives the weight
//! and the thresholds from the rate of the link.
//!
//! Source: Floyd, Gummadi and Shenker, "Adaptive RED: An Algorithm for Increasing the Robustness of RED's Active Queue
//! Management", 2001: the algorithm, its constants and their ranges.
//!
//! Steps are taken as packets arrive, as in ns-2 (`REDQueue::updateMaxP`): the average moves only then, and a timer
//! would have to run through idle times. Two steps are at least an interval apart; without arrivals none is made up.

use narrows_units::{Bytes, Duration, Instant, Rate};

/// Least time between two steps.
const INTERVAL: Duration = Duration::from_millis(500);

/// Range of max_p.
const BOTTOM: f64 = 0.01;
const TOP: f64 = 0.5;

/// Largest increment, and the largest as a part of max_p: alpha = min(0.01, max_p / 4).
const INCREMENT: f64 = 0.01;
const LARGEST_PART: f64 = 0.25;

/// Decrease factor beta.
const DECREASE: f64 = 0.9;

/// The target range leaves this part of the distance of the thresholds free at each end.
const MARGIN: f64 = 0.4;

/// max_p and the time of its latest step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Adaptation {
    max_p: f64,
    last: Instant,
}

impl Adaptation {
    /// A controller that begins with `max_p`, brought into its range, and takes its first step after an interval.
    pub(crate) fn new(max_p: f64) -> Self {
        Self { max_p: max_p.clamp(BOTTOM, TOP), last: Instant::ZERO }
    }

    /// The present max_p.
    pub(crate) const fn max_p(&self) -> f64 {
        self.max_p
    }

    /// Takes a step if it is due and the average is outside the target range; `thresholds` are min_th and max_th.
    #[inline]
    pub(crate) fn step(&mut self, avg: f64, thresholds: [f64; 2], now: Instant) {
        if now < self.last + INTERVAL {
            return;
        }
        let [min, max] = thresholds;
        let margin = MARGIN * (max - min);
        let moved = if avg > max - margin {
            self.max_p + INCREMENT.min(LARGEST_PART * self.max_p)
        } else if avg < min + margin {
            self.max_p * DECREASE
        } else {
            return;
        };
        let moved = moved.clamp(BOTTOM, TOP);
        // At an end of the range nothing moves, and the next arrival may take a step the other way (as ns-2).
        if moved.to_bits() != self.max_p.to_bits() {
            (self.max_p, self.last) = (moved, now);
        }
    }
}

/// The smallest lower threshold, in packets.
const LEAST: f64 = 5.0;

/// What the link's rate decides, in packets of the mean size (the paper's automatic setting; `initialize_params` in
/// ns-2's `red.cc`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Capacity {
    /// C: packets per second.
    packets: f64,
}

impl Capacity {
    /// The capacity of a link with this rate; `None` for a rate of zero.
    pub(crate) fn of(rate: Rate, mean_packet: Bytes) -> Option<Self> {
        let packets = rate.as_bps() as f64 / (8.0 * mean_packet.as_f64());
        (packets > 0.0).then_some(Self { packets })
    }

    /// w_q = 1 - exp(-1 / C): the time constant of the average is a second.
    pub(crate) fn weight(self) -> f64 {
        -libm::expm1(-1.0 / self.packets)
    }

    /// min_th and max_th in packets, whose middle is a queue of `delay` or, if that is more, of ten packets.
    pub(crate) fn thresholds(self, delay: Duration) -> [f64; 2] {
        let min = (delay.as_secs_f64() * self.packets / 2.0).max(LEAST);
        [min, 3.0 * min]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thresholds of 5 and 15: the target range is 9 to 11.
    const THRESHOLDS: [f64; 2] = [5.0, 15.0];

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// max_p after each of these averages, half a second apart.
    fn steps(max_p: f64, averages: &[f64]) -> Vec<f64> {
        let mut adaptation = Adaptation::new(max_p);
        let step = |(n, &avg): (usize, &f64)| {
            adaptation.step(avg, THRESHOLDS, at(500 * (n as u64 + 1)));
            adaptation.max_p()
        };
        averages.iter().enumerate().map(step).collect()
    }

    fn near(seen: &[f64], expected: &[f64]) {
        assert_eq!(seen.len(), expected.len());
        assert!(seen.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{seen:?} is not {expected:?}");
    }

    #[test]
    fn max_p_rises_by_alpha_and_falls_by_beta() {
        near(&steps(0.1, &[11.1, 12.0, 8.9, 4.0]), &[0.11, 0.12, 0.108, 0.0972]);
        // Below 0.04 the increment is a quarter of max_p: 0.02 + 0.005, 0.025 + 0.00625.
        near(&steps(0.02, &[12.0, 12.0]), &[0.025, 0.03125]);
    }

    #[test]
    fn the_target_range_leaves_max_p_alone() {
        near(&steps(0.1, &[9.0, 10.0, 11.0]), &[0.1; 3]);
    }

    #[test]
    fn max_p_stays_in_its_range() {
        near(&steps(0.495, &[20.0, 20.0]), &[0.5; 2]);
        near(&steps(0.0105, &[1.0, 1.0]), &[0.01; 2]);
        near(&[Adaptation::new(0.9).max_p(), Adaptation::new(0.001).max_p()], &[0.5, 0.01]);
    }

    #[test]
    fn steps_are_an_interval_apart_and_none_is_made_up() {
        let mut adaptation = Adaptation::new(0.1);
        let mut after = |ms| {
            adaptation.step(12.0, THRESHOLDS, at(ms));
            adaptation.max_p()
        };
        near(&[499, 500, 999, 1_000, 5_000, 5_001, 5_500].map(&mut after), &[0.1, 0.11, 0.11, 0.12, 0.13, 0.13, 0.14]);
    }

    #[test]
    fn weight_and_thresholds_follow_from_the_rate() {
        let of = |rate| Capacity::of(rate, Bytes::new(500));
        // 10 Mb/s are 2500 packets a second, and 5 ms of them 12.5 packets; 1 Mb/s are a tenth.
        let [fast, slow] = [Rate::mbps(10), Rate::mbps(1)].map(|rate| of(rate).into_iter().collect::<Vec<_>>());
        near(&[fast[0].weight(), slow[0].weight()], &[0.000_399_920_010_66, 0.003_992_010_656_01]);
        let delay = Duration::from_millis(5);
        near(&fast[0].thresholds(delay), &[6.25, 18.75]);
        near(&slow[0].thresholds(delay), &[5.0, 15.0]);
        assert!(of(Rate::ZERO).is_none());
    }
}
