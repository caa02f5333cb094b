//! Workloads: applications that make a flow for each transfer, and how large transfers are.

use super::Flow;
use narrows_units::{Bytes, Duration, Instant};
use std::sync::Arc;

/// A stream of transfers, each over connections of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// A flow as its transfers make them: name, end points of the first pair, times, codepoint, TCP settings.
    pub flow: Flow,
    /// The end points as the file gives them; `*` stands for the number of a pair.
    pub patterns: [String; 2],
    /// The end points of each pair, `from` first. A transfer draws one of the pairs.
    pub pairs: Vec<(usize, usize)>,
    /// When transfers begin.
    pub arrivals: Arrivals,
    /// What a transfer is.
    pub kind: WorkloadKind,
    /// How large transfers are; for pages, their objects. Arrivals from a file have sizes of their own.
    pub size: Sizes,
    /// Largest number of transfers; `None` until the workload stops.
    pub count: Option<u64>,
}

/// What a transfer of a workload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkloadKind {
    /// `from` opens a connection, sends the size and closes.
    Transfers,
    /// `from` opens a connection, sends a request of this size, receives the size as response, and closes.
    Requests {
        /// Bytes of the request.
        request: Bytes,
    },
    /// `from` loads a page: one object over a first connection, then the others over several.
    Pages {
        /// Bytes of a request.
        request: Bytes,
        /// Objects of a page, the first included.
        objects: u32,
        /// Largest number of connections of a page.
        connections: u32,
    },
}

/// When the transfers of a workload begin.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// A Poisson process.
    Poisson(Pace),
    /// At equal distances, the first after one of them.
    Constant(Pace),
    /// As in a file.
    Trace(Arc<ArrivalTrace>),
}

/// How often the transfers of a workload begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Mean time between two of them.
    Every(Duration),
    /// Their mean payload as a share of the rate of the narrowest link on the path of the first pair. It may exceed 1.
    Load(f64),
}

/// Transfers that a file lists.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrivalTrace {
    /// The file as the scenario names it.
    pub name: String,
    /// Time from the workload's start, which does not fall from row to row, and size.
    pub rows: Vec<(Instant, Bytes)>,
}

/// How large transfers are.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    /// Their distribution.
    pub distribution: SizeDistribution,
    /// Larger draws count as this.
    pub max: Option<Bytes>,
}

/// Distribution of the sizes of transfers. No draw is below one byte.
#[derive(Clone, Debug, PartialEq)]
pub enum SizeDistribution {
    /// Always the same.
    Constant(Bytes),
    /// Exponential with this mean.
    Exponential(Bytes),
    /// Pareto.
    Pareto {
        /// Mean.
        mean: Bytes,
        /// Shape, above 1.
        shape: f64,
    },
    /// Flows of a cluster for web search: [`SizeTable::web_search`].
    WebSearch,
    /// Flows of a cluster for data mining: [`SizeTable::data_mining`].
    DataMining,
    /// A distribution function that a file lists.
    Empirical(Arc<SizeTable>),
}

/// A distribution function of sizes, linear between its points.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeTable {
    /// The file as the scenario names it; the distribution's word if it is built in.
    pub name: String,
    /// Size in bytes and probability of a size up to that. Both rise, and the last probability is 1.
    pub points: Vec<(u64, f64)>,
}

impl Workload {
    /// Returns its flow between each of its pairs.
    pub(crate) fn examples(&self) -> impl Iterator<Item = Flow> + '_ {
        self.pairs.iter().map(|&(from, to)| Flow { from, to, ..self.flow.clone() })
    }
}

impl Sizes {
    /// Returns sizes that are always the same.
    #[must_use]
    pub const fn constant(size: Bytes) -> Self {
        Self { distribution: SizeDistribution::Constant(size), max: None }
    }

    /// Returns the mean size in bytes, with draws above `max` counted as `max`.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let max = self.max.map_or(f64::INFINITY, |max| max.as_u64() as f64);
        match &self.distribution {
            SizeDistribution::Constant(size) => (size.as_u64() as f64).min(max),
            SizeDistribution::Exponential(mean) => {
                let mean = mean.as_u64() as f64;
                if max.is_finite() { mean * (1.0 - libm::exp(-max / mean)) } else { mean }
            }
            // The mean of min(X, max): m s / (s - 1) - (m^s) max^(1 - s) / (s - 1), with m = mean (s - 1) / s.
            SizeDistribution::Pareto { mean, shape } => {
                let (mean, least) = (mean.as_u64() as f64, mean.as_u64() as f64 * (shape - 1.0) / shape);
                if max <= least {
                    return max;
                }
                if max.is_infinite() {
                    return mean;
                }
                mean - libm::pow(least, *shape) * libm::pow(max, 1.0 - shape) / (shape - 1.0)
            }
            SizeDistribution::WebSearch => SizeTable::web_search().mean(max),
            SizeDistribution::DataMining => SizeTable::data_mining().mean(max),
            SizeDistribution::Empirical(table) => table.mean(max),
        }
    }
}

impl SizeTable {
    /// Returns the flows of a cluster for web search: Alizadeh et al. 2010 (DCTCP), as the later evaluations of pFabric
    /// (2013) and HPCC (2019) tabulate it. Mean 1.7 MB.
    #[must_use]
    pub fn web_search() -> Self {
        Self::built_in("web_search", &WEB_SEARCH)
    }

    /// Returns the flows of a cluster for data mining: Greenberg et al. 2009 (VL2), as pFabric (2013) tabulates it in
    /// segments of 1,460 bytes. Mean 7.5 MB.
    #[must_use]
    pub fn data_mining() -> Self {
        Self::built_in("data_mining", &DATA_MINING)
    }

    fn built_in(name: &str, points: &[(u64, f64)]) -> Self {
        Self { name: name.to_owned(), points: points.to_vec() }
    }

    /// Returns the size whose probability is `at`, which is at least 0 and below 1.
    #[must_use]
    pub fn quantile(&self, at: f64) -> f64 {
        let mut below = (0.0, 0.0);
        for &(size, probability) in &self.points {
            let size = size as f64;
            if at < probability {
                return below.0 + (size - below.0) * (at - below.1) / (probability - below.1);
            }
            below = (size, probability);
        }
        below.0
    }

    /// Returns the mean of the sizes, with those above `max` counted as `max`.
    fn mean(&self, max: f64) -> f64 {
        let (mut sum, mut below) = (0.0, (0.0, 0.0));
        for &(size, probability) in &self.points {
            let (size, share) = (size as f64, probability - below.1);
            let middle = if max >= size {
                f64::midpoint(below.0, size)
            } else if max <= below.0 {
                max
            } else {
                let part = (max - below.0) / (size - below.0);
                part * f64::midpoint(below.0, max) + (1.0 - part) * max
            };
            sum += share * middle;
            below = (size, probability);
        }
        sum
    }
}

const WEB_SEARCH: [(u64, f64); 11] = [
    (10_000, 0.15),
    (20_000, 0.20),
    (30_000, 0.30),
    (50_000, 0.40),
    (80_000, 0.53),
    (200_000, 0.60),
    (1_000_000, 0.70),
    (2_000_000, 0.80),
    (5_000_000, 0.90),
    (10_000_000, 0.97),
    (30_000_000, 1.0),
];

const SEGMENT: u64 = 1460;

const DATA_MINING: [(u64, f64); 8] = [
    (SEGMENT, 0.5),
    (2 * SEGMENT, 0.6),
    (3 * SEGMENT, 0.7),
    (7 * SEGMENT, 0.8),
    (267 * SEGMENT, 0.9),
    (2_107 * SEGMENT, 0.95),
    (66_667 * SEGMENT, 0.99),
    (666_667 * SEGMENT, 1.0),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(distribution: SizeDistribution, max: Option<u64>) -> f64 {
        Sizes { distribution, max: max.map(Bytes::new) }.mean()
    }

    #[test]
    fn means_are_those_of_the_distributions() {
        assert!((mean(SizeDistribution::WebSearch, None) / 1_711_250.0 - 1.0).abs() < 1e-9);
        // Half of the flows have up to one segment: with that as largest size their mean is half of it.
        let part = 0.5 * 730.0 + 0.5 * 1460.0;
        assert!((mean(SizeDistribution::DataMining, Some(1460)) / part - 1.0).abs() < 1e-9);
        assert!((mean(SizeDistribution::DataMining, None) / 7_470_000.0 - 1.0).abs() < 0.01);
        let pareto = SizeDistribution::Pareto { mean: Bytes::new(30_000), shape: 1.5 };
        assert!((mean(pareto.clone(), None) / 30_000.0 - 1.0).abs() < 1e-12);
        // m = 10 kB; E[min(X, 40 kB)] = 30 - 2 * 10^1.5 / 40^0.5 = 20 kB.
        assert!((mean(pareto.clone(), Some(40_000)) / 20_000.0 - 1.0).abs() < 1e-12);
        assert!((mean(pareto, Some(5_000)) / 5_000.0 - 1.0).abs() < 1e-12);
        let exponential = SizeDistribution::Exponential(Bytes::new(1000));
        assert!((mean(exponential, Some(1000)) / (1000.0 * (1.0 - 1.0 / std::f64::consts::E)) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn quantiles_are_linear_between_points() {
        let table = SizeTable::web_search();
        assert!(table.quantile(0.0).abs() < 1e-9);
        assert!((table.quantile(0.075) - 5_000.0).abs() < 1e-9);
        assert!((table.quantile(0.35) - 40_000.0).abs() < 1e-6);
        assert!((table.quantile(0.985) - 20_000_000.0).abs() < 1.0);
    }
}
