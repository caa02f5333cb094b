//! Draws the sizes of transfers and responses.

use narrows_rng::Stream;
use narrows_scenario::{SizeDistribution, SizeTable, Sizes};
use narrows_units::Bytes;

/// A size from the distribution: a whole number of bytes, at least one.
#[must_use]
pub fn draw(sizes: &Sizes, stream: &mut Stream) -> Bytes {
    let bytes = match &sizes.distribution {
        SizeDistribution::Constant(size) => return sizes.max.map_or(*size, |max| max.min(*size)),
        SizeDistribution::Exponential(mean) => stream.exponential(mean.as_u64() as f64),
        SizeDistribution::Pareto { mean, shape } => stream.pareto(*shape, mean.as_u64() as f64),
        SizeDistribution::WebSearch => SizeTable::web_search().quantile(stream.uniform()),
        SizeDistribution::DataMining => SizeTable::data_mining().quantile(stream.uniform()),
        SizeDistribution::Empirical(table) => table.quantile(stream.uniform()),
    };
    let most = sizes.max.map_or(LARGEST, |max| max.as_u64().min(LARGEST));
    // Rounded up, so that the share of sizes up to a point of a table is the point's probability.
    Bytes::new((libm::ceil(bytes) as u64).clamp(1, most))
}

/// A Pareto draw has no bound; a transfer of more bytes would never end, and sums of sizes must not overflow.
const LARGEST: u64 = 1_000_000_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> Stream {
        Stream::new(1, 0, "test", "sizes")
    }

    #[test]
    fn shares_are_those_of_the_table() {
        let sizes = Sizes { distribution: SizeDistribution::WebSearch, max: None };
        let mut stream = stream();
        let drawn: Vec<u64> = (0..100_000).map(|_| draw(&sizes, &mut stream).as_u64()).collect();
        for (size, share) in [(10_000, 0.15), (80_000, 0.53), (1_000_000, 0.70), (10_000_000, 0.97), (30_000_000, 1.0)]
        {
            let found = drawn.iter().filter(|of| **of <= size).count() as f64 / 100_000.0;
            assert!((found - share).abs() < 0.005, "{size}: {found}, wanted {share}");
        }
        let mean = drawn.iter().sum::<u64>() as f64 / 100_000.0;
        assert!((mean / sizes.mean() - 1.0).abs() < 0.02, "{mean}");
    }

    #[test]
    fn means_of_draws_are_those_of_the_distributions() {
        let mean = Bytes::new(30_000);
        for (distribution, max) in [
            (SizeDistribution::Exponential(mean), None),
            (SizeDistribution::Exponential(mean), Some(Bytes::new(20_000))),
            (SizeDistribution::Pareto { mean, shape: 3.0 }, None),
            (SizeDistribution::Pareto { mean, shape: 1.2 }, Some(Bytes::new(100_000))),
        ] {
            let sizes = Sizes { distribution, max };
            let mut stream = stream();
            let sum: u64 = (0..200_000).map(|_| draw(&sizes, &mut stream).as_u64()).sum();
            let found = sum as f64 / 200_000.0;
            assert!((found / sizes.mean() - 1.0).abs() < 0.02, "{sizes:?}: {found}, wanted {}", sizes.mean());
        }
    }
}
