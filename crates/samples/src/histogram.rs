//! A histogram of fixed size that gives percentiles without storing samples.

use crate::NONE;

/// Bits of precision inside one power of two: 64 buckets, so a bucket is at most 1/64 of its values wide, and its
/// middle is within 0.8 % of every value in it.
const BITS: u32 = 6;
const SUB: usize = 1 << BITS;
/// Values up to 2^46 ns (19.5 hours) keep their precision; larger ones share the last bucket.
const ROWS: usize = 41;

/// A log-linear histogram of nanosecond values: constant memory, percentiles within 0.8 %.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// Buckets by power of two. A row is allocated when its first value comes, so an idle queue costs nothing.
    rows: [Option<Box<[u32; SUB]>>; ROWS],
    count: u64,
    sum: u64,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { rows: [const { None }; ROWS], count: 0, sum: 0, min: NONE, max: 0 }
    }
}

fn bucket_of(value: u64) -> usize {
    if value < SUB as u64 {
        return value as usize;
    }
    let shift = value.ilog2() - BITS;
    let index = (shift as usize + 1) * SUB + ((value >> shift) as usize - SUB);
    index.min(ROWS * SUB - 1)
}

fn middle_of(bucket: usize) -> u64 {
    if bucket < SUB {
        return bucket as u64;
    }
    let shift = (bucket / SUB - 1) as u32;
    let low = ((bucket % SUB + SUB) as u64) << shift;
    low + ((1u64 << shift) >> 1)
}

impl Histogram {
    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.add(value, 1);
    }

    /// Counts a value that occurred `times` times.
    pub fn record_many(&mut self, value: u64, times: u64) {
        if times > 0 {
            self.add(value, times);
        }
    }

    #[inline]
    fn add(&mut self, value: u64, times: u64) {
        let bucket = bucket_of(value);
        if let Some(row) = self.rows.get_mut(bucket / SUB) {
            let cell = &mut row.get_or_insert_with(|| Box::new([0; SUB]))[bucket % SUB];
            *cell = cell.saturating_add(u32::try_from(times).unwrap_or(u32::MAX));
        }
        self.count += times;
        self.sum = self.sum.saturating_add(value.saturating_mul(times));
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// How many values were counted.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Their sum, exact.
    #[must_use]
    pub const fn sum(&self) -> u64 {
        self.sum
    }

    /// The smallest, exact; [`NONE`] without values.
    #[must_use]
    pub const fn min(&self) -> u64 {
        self.min
    }

    /// The largest, exact; [`NONE`] without values.
    #[must_use]
    pub const fn max(&self) -> u64 {
        if self.count == 0 { NONE } else { self.max }
    }

    /// The value at or below which a share `q` (in [0, 1]) of the values lies, by nearest rank; [`NONE`] without
    /// values.
    #[must_use]
    pub fn percentile(&self, q: f64) -> u64 {
        if self.count == 0 {
            return NONE;
        }
        let rank = ((q * self.count as f64).max(1.0) + 0.999_999) as u64;
        let mut seen = 0;
        for (r, row) in self.rows.iter().enumerate() {
            for (i, &n) in row.iter().flat_map(|row| row.iter()).enumerate() {
                seen += u64::from(n);
                if seen >= rank {
                    return middle_of(r * SUB + i).clamp(self.min, self.max);
                }
            }
        }
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_values_are_exact() {
        let mut h = Histogram::default();
        (1..=60).for_each(|v| h.record(v));
        assert_eq!((h.percentile(0.5), h.min(), h.max(), h.count(), h.sum()), (30, 1, 60, 60, 1830));
        assert_eq!(Histogram::default().percentile(0.5), NONE);
    }

    #[test]
    fn a_value_that_came_often_counts_as_often() {
        let (mut one, mut many) = (Histogram::default(), Histogram::default());
        (0..5).for_each(|_| one.record(700));
        many.record_many(700, 5);
        many.record_many(3, 0);
        assert_eq!((one.count(), one.sum(), one.min()), (many.count(), many.sum(), many.min()));
        assert_eq!(one.percentile(0.5), many.percentile(0.5));
    }

    proptest! {
        #[test]
        fn percentiles_are_within_the_stated_error(mut values in prop::collection::vec(1u64..1 << 45, 1..300), q in 0.0f64..=1.0) {
            let mut h = Histogram::default();
            values.iter().for_each(|&v| h.record(v));
            values.sort_unstable();
            let rank = ((q * values.len() as f64).max(1.0) + 0.999_999) as usize;
            let exact = values[rank.min(values.len()) - 1] as f64;
            let got = h.percentile(q) as f64;
            prop_assert!((got - exact).abs() <= exact * 0.008 + 1.0, "{got} for {exact}");
        }
    }
}
