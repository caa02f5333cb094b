//! Random numbers of impairments: correlated events, gaps, and jitter.

use narrows_rng::Stream;
use narrows_scenario::{Jitter, JitterDistribution, Reorder};
use narrows_units::Probability;

/// Correlated numbers in [0, 1), as Linux 6.1 `sch_netem.c: get_crandom` has them: x = (1 - rho) u + rho x', with u
/// uniform and x' the number before; the first x' is uniform too (`init_crandom`).
///
/// With rho above 0 the numbers are not uniform: their variance is (1 - rho) / (1 + rho) of the uniform one. So an
/// event with a small probability strikes less often than it says, as in netem.
#[derive(Debug)]
pub(super) struct Correlated {
    rho: f64,
    last: f64,
    stream: Stream,
}

impl Correlated {
    /// Numbers with this correlation.
    pub(super) fn new(rho: Probability, mut stream: Stream) -> Self {
        let rho = rho.as_f64();
        let last = if rho > 0.0 { stream.uniform() } else { 0.0 };
        Self { rho, last, stream }
    }

    /// The next number.
    fn next(&mut self) -> f64 {
        let fresh = self.stream.uniform();
        if self.rho > 0.0 {
            self.last = (1.0 - self.rho) * fresh + self.rho * self.last;
            self.last
        } else {
            fresh
        }
    }

    /// Whether an event of this probability happens.
    pub(super) fn strikes(&mut self, probability: Probability) -> bool {
        self.next() < probability.as_f64()
    }
}

/// Selection by gap and probability, as in Linux 6.1 `sch_netem.c: netem_enqueue`: after a selected packet, `gap` - 1
/// packets pass without a draw, and then each is selected with the probability.
#[derive(Debug)]
pub(super) struct Gap {
    gap: u64,
    probability: Probability,
    draws: Correlated,
    /// Packets since the last selected one (`counter`).
    passed: u64,
}

impl Gap {
    /// The selection of a reordering.
    pub(super) fn new(reorder: &Reorder, stream: Stream) -> Self {
        let draws = Correlated::new(reorder.correlation, stream);
        Self { gap: reorder.gap, probability: reorder.probability, draws, passed: 0 }
    }

    /// Whether the next packet is selected.
    pub(super) fn selects(&mut self) -> bool {
        let selected = self.passed + 1 >= self.gap && self.draws.strikes(self.probability);
        self.passed = if selected { 0 } else { self.passed + 1 };
        selected
    }
}

/// Largest value of iproute2's `pareto` table: entries are 16-bit numbers in units of 1/8192.
const PARETO_MOST: f64 = 4.0;

/// Jitter.
///
/// A packet's deviation from the mean delay is `time` * t, as in `tabledist`. The distributions of t are those of
/// iproute2's tables (`netem/pareto.c`, `netem/paretonormal.c`) in closed form, without the tables' 16-bit rounding:
///
/// - uniform: on [-1, 1);
/// - normal: with mean 0 and standard deviation 1;
/// - pareto: (p^(-1/3) - 1.5) 4/3 for p uniform in (0, 1], at most 4;
/// - paretonormal: (normal + 3 pareto) / 4, both at the same quantile.
///
/// All are functions of one normal number z, and correlation is that of an autoregressive process of z, which leaves
/// the distribution as it is. netem takes the low bits of its correlated number instead, so that its `delay`
/// correlation has almost no effect.
#[derive(Debug)]
pub(super) struct Delays {
    /// In nanoseconds.
    time: f64,
    distribution: JitterDistribution,
    rho: f64,
    z: f64,
    stream: Stream,
}

impl Delays {
    /// The delays of a jitter.
    pub(super) fn new(jitter: &Jitter, mut stream: Stream) -> Self {
        let rho = jitter.correlation.as_f64();
        let z = if rho > 0.0 { stream.normal(0.0, 1.0) } else { 0.0 };
        Self { time: jitter.time.as_nanos() as f64, distribution: jitter.distribution, rho, z, stream }
    }

    /// The next packet's deviation from the mean delay, in nanoseconds.
    pub(super) fn next(&mut self) -> i64 {
        if self.distribution == JitterDistribution::Uniform && self.rho <= 0.0 {
            return nanos(self.time * (2.0 * self.stream.uniform() - 1.0));
        }
        let fresh = self.stream.normal(0.0, 1.0);
        self.z = if self.rho > 0.0 { self.rho * self.z + (1.0 - self.rho * self.rho).sqrt() * fresh } else { fresh };
        nanos(self.time * value(self.distribution, self.z))
    }
}

/// Rounds to the nearest nanosecond.
fn nanos(x: f64) -> i64 {
    libm::round(x) as i64
}

/// The value of a distribution at the quantile of the normal number `z`.
fn value(distribution: JitterDistribution, z: f64) -> f64 {
    // The probability of more than z.
    let above = 0.5 * libm::erfc(z * core::f64::consts::FRAC_1_SQRT_2);
    match distribution {
        JitterDistribution::Uniform => 1.0 - 2.0 * above,
        JitterDistribution::Normal => z,
        JitterDistribution::Pareto => pareto(above),
        JitterDistribution::ParetoNormal => 0.25 * z + 0.75 * pareto(above),
    }
}

/// The value of iproute2's `pareto` table that a share `p` of the values exceeds.
fn pareto(p: f64) -> f64 {
    ((1.0 / libm::cbrt(p) - 1.5) * (4.0 / 3.0)).min(PARETO_MOST)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use narrows_scenario::{JitterOrder, Selected};
    use narrows_units::Duration;

    fn p(x: f64) -> Probability {
        Probability::new(x).unwrap()
    }

    fn stream() -> Stream {
        Stream::new(1, 0, "link/a->b", "test")
    }

    fn selected(gap: u64, probability: f64, correlation: f64, n: usize) -> Vec<bool> {
        let reorder = Reorder {
            delay: Duration::from_millis(1),
            probability: p(probability),
            correlation: p(correlation),
            gap,
            selected: Selected::Ahead,
        };
        let mut gap = Gap::new(&reorder, stream());
        (0..n).map(|_| gap.selects()).collect()
    }

    #[test]
    fn with_a_gap_alone_every_nth_packet_is_selected() {
        // netem_enqueue with gap 5 and reorder 100 %: packets 5, 10 and 15 (counter 4 is not below gap - 1).
        let places: Vec<usize> = selected(5, 1.0, 0.0, 16).iter().enumerate().filter(|x| *x.1).map(|x| x.0).collect();
        assert_eq!(places, [4, 9, 14]);
    }

    #[test]
    fn with_a_gap_and_a_probability_the_mean_distance_is_the_gap_and_the_wait_for_a_hit() {
        // After gap - 1 packets without a draw, a hit takes 1 / p draws: 4 + 1 / 0.25 = 8 packets.
        let n = 80_000;
        let list = selected(5, 0.25, 0.0, n);
        let hits = list.iter().filter(|x| **x).count();
        assert!((n as f64 / hits as f64 - 8.0).abs() < 0.1, "{hits}");
        let places: Vec<usize> = list.iter().enumerate().filter(|x| *x.1).map(|x| x.0).collect();
        assert!(places.windows(2).all(|w| w[1] - w[0] >= 5));
    }

    #[test]
    fn a_probability_has_its_share_and_its_ends_are_never_and_always() {
        let share = |x: f64| selected(1, x, 0.0, 100_000).iter().filter(|x| **x).count();
        assert!((share(0.3) as f64 / 1e5 - 0.3).abs() < 0.005);
        assert_eq!((share(0.0), share(1.0)), (0, 100_000));
    }

    #[test]
    fn correlated_numbers_are_those_of_get_crandom() {
        // Step by step with rho = 0.25: x = 0.75 u + 0.25 x'; the first x' is the stream's first number.
        let mut draws = Correlated::new(p(0.25), stream());
        let mut plain = stream();
        let mut last = plain.uniform();
        for _ in 0..100 {
            last = 0.75 * plain.uniform() + 0.25 * last;
            assert!((draws.next() - last).abs() < 1e-15);
        }
        // The variance is (1 - rho) / (1 + rho) / 12 = 0.05, so events of 10 % strike in less than 10 % of all cases.
        let n = 200_000;
        let list: Vec<f64> = (0..n).map(|_| draws.next()).collect();
        let mean = list.iter().sum::<f64>() / f64::from(n);
        let variance = list.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / f64::from(n);
        let joint = list.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum::<f64>() / f64::from(n);
        assert!((mean - 0.5).abs() < 0.003 && (variance - 0.05).abs() < 0.001, "{mean} {variance}");
        assert!((joint / variance - 0.25).abs() < 0.01, "{}", joint / variance);
        let struck = list.iter().filter(|x| **x < 0.1).count() as f64 / f64::from(n);
        assert!(struck < 0.06, "{struck}");
    }

    fn deviations(distribution: JitterDistribution, correlation: f64, n: usize) -> Vec<f64> {
        let (time, order) = (Duration::from_millis(1), JitterOrder::Free);
        let jitter = Jitter { time, distribution, correlation: p(correlation), order };
        let mut delays = Delays::new(&jitter, stream());
        (0..n).map(|_| delays.next() as f64 / 1e6).collect()
    }

    /// Mean and standard deviation.
    fn moments(list: &[f64]) -> (f64, f64) {
        let n = list.len() as f64;
        let mean = list.iter().sum::<f64>() / n;
        (mean, (list.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n).sqrt())
    }

    /// The least value that a share `q` of the values does not exceed.
    fn quantile(list: &[f64], q: f64) -> f64 {
        let mut list = list.to_vec();
        list.sort_by(f64::total_cmp);
        list[(list.len() as f64 * q) as usize]
    }

    const ALL: [JitterDistribution; 4] = [
        JitterDistribution::Uniform,
        JitterDistribution::Normal,
        JitterDistribution::Pareto,
        JitterDistribution::ParetoNormal,
    ];

    #[test]
    fn distributions_have_the_moments_and_quantiles_of_their_formulas() {
        // Quantiles at 10, 50 and 90 %. Pareto at share q of smaller values: ((1 - q)^(-1/3) - 1.5) 4/3.
        // Pareto's mean: 0 but for the cut at 4, which is reached at p = 4.5^-3 = 0.01097: it takes away
        // 4/3 (1.5 p^(2/3) - 4.5 p) = 4/3 (0.07407 - 0.04938) = 0.0329.
        let expected = [
            (0.0, 0.57735, [-0.8, 0.0, 0.8]),
            (0.0, 1.0, [-1.28155, 0.0, 1.28155]),
            (-0.0329, f64::NAN, [-0.61900, -0.32011, 0.87259]),
            (-0.0247, f64::NAN, [-0.78464, -0.24008, 0.97483]),
        ];
        for (distribution, (mean, deviation, quantiles)) in ALL.into_iter().zip(expected) {
            for correlation in [0.0, 0.5] {
                let list = deviations(distribution, correlation, 400_000);
                let (m, d) = moments(&list);
                assert!((m - mean).abs() < 0.01, "{distribution:?} {correlation}: mean {m}");
                assert!(deviation.is_nan() || (d - deviation).abs() < 0.01, "{distribution:?}: deviation {d}");
                for (q, value) in [0.1, 0.5, 0.9].into_iter().zip(quantiles) {
                    let found = quantile(&list, q);
                    assert!((found - value).abs() < 0.02, "{distribution:?} at {q}: {found}, not {value}");
                }
            }
        }
    }

    #[test]
    fn bounds_of_distributions_are_those_of_the_tables() {
        let ends = |distribution| {
            let list = deviations(distribution, 0.0, 200_000);
            (quantile(&list, 0.0), list.iter().copied().fold(f64::MIN, f64::max))
        };
        let (low, high) = ends(JitterDistribution::Uniform);
        assert!((-1.0..-0.999).contains(&low) && (0.999..=1.0).contains(&high));
        let (low, high) = ends(JitterDistribution::Pareto);
        assert!((-2.0 / 3.0 - 1e-6..-0.66).contains(&low) && (high - 4.0).abs() < 1e-9, "{low} {high}");
    }

    #[test]
    fn correlation_of_a_jitter_joins_consecutive_packets() {
        for correlation in [0.0, 0.25, 0.9] {
            let list = deviations(JitterDistribution::Normal, correlation, 200_000);
            let (mean, deviation) = moments(&list);
            let joint = list.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum::<f64>() / list.len() as f64;
            assert!((joint / (deviation * deviation) - correlation).abs() < 0.02, "{correlation}");
        }
        let list = deviations(JitterDistribution::Uniform, 1.0, 10);
        assert!(list.iter().all(|x| (x - list[0]).abs() < 1e-12), "full correlation never changes");
    }
}
