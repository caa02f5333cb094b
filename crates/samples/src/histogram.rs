//! A histogram that gives percentiles without storing samples.

use crate::NONE;

/// Bits of precision inside one power of two: 64 buckets, so a bucket is at most 1/64 of its values wide, and its
/// middle is within 0.8 % of every value in it.
const BITS: u32 = 6;
const SUB: usize = 1 << BITS;
/// Values up to 2^46 ns (19.5 hours) keep their precision; larger ones share the last bucket.
const BUCKETS: usize = 41 * SUB;
/// Buckets that are stored together: one cache line.
const CHUNK: usize = 16;
/// Words of a bit for each chunk.
const WORDS: usize = (BUCKETS / CHUNK).div_ceil(64);

/// Neighbouring buckets.
type Chunk = [u32; CHUNK];

/// A log-linear histogram of nanosecond values: percentiles within 0.8 %. It takes 96 bytes, and 64 for each range of
/// 16 buckets that has a value; zeros take nothing. The delays of a queue or a path lie in few ranges, and there may be
/// tens of thousands of both.
#[derive(Clone, Debug)]
pub struct Histogram {
    count: u64,
    sum: u64,
    min: u64,
    max: u64,
    /// How often 0 came, as it does for every packet that did not wait.
    zeros: u64,
    /// Number and place of the chunk that was used last; the next value most often lies in the same one.
    latest: (u8, u8),
    /// Which chunks are stored, a bit for each.
    stored: [u64; WORDS],
    /// The chunks that are stored, in order.
    chunks: Vec<Chunk>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            count: 0,
            sum: 0,
            min: NONE,
            max: 0,
            zeros: 0,
            latest: (u8::MAX, 0),
            stored: [0; WORDS],
            chunks: Vec::new(),
        }
    }
}

fn bucket_of(value: u64) -> usize {
    if value < SUB as u64 {
        return value as usize;
    }
    let shift = value.ilog2() - BITS;
    let index = (shift as usize + 1) * SUB + ((value >> shift) as usize - SUB);
    index.min(BUCKETS - 1)
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

    /// Counts several values at once, in fewer steps than one after the other.
    pub fn record_all(&mut self, values: &[u32]) {
        let (mut sum, mut min, mut max, mut zeros) = (0, u32::MAX, 0, 0);
        // Consecutive values most often lie in one bucket, and are counted in it together: `bucket`, the first of its
        // values, the width less one, and how many came.
        let (mut bucket, mut first, mut rest, mut times) = (0, 0, 0, 0);
        for &value in values {
            (sum, min, max) = (sum + u64::from(value), min.min(value), max.max(value));
            if times > 0 && value.wrapping_sub(first) <= rest {
                times += 1;
                continue;
            }
            if times > 0 {
                self.count_in(bucket, times);
            }
            times = u32::from(value > 0);
            zeros += u64::from(value == 0);
            bucket = bucket_of(value.into());
            let shift = value.checked_ilog2().unwrap_or(0).saturating_sub(BITS);
            (first, rest) = (value >> shift << shift, (1 << shift) - 1);
        }
        if times > 0 {
            self.count_in(bucket, times);
        }
        if !values.is_empty() {
            self.count += values.len() as u64;
            self.sum = self.sum.saturating_add(sum);
            self.min = self.min.min(min.into());
            self.max = self.max.max(max.into());
            self.zeros += zeros;
        }
    }

    /// Counts a value that occurred `times` times.
    pub fn record_many(&mut self, value: u64, times: u64) {
        if times > 0 {
            self.add(value, times);
        }
    }

    #[inline]
    fn add(&mut self, value: u64, times: u64) {
        self.count += times;
        self.sum = self.sum.saturating_add(value.saturating_mul(times));
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        if value == 0 {
            self.zeros += times;
            return;
        }
        self.count_in(bucket_of(value), u32::try_from(times).unwrap_or(u32::MAX));
    }

    /// Adds `times` to a bucket.
    #[inline]
    fn count_in(&mut self, bucket: usize, times: u32) {
        // There are fewer than 256 chunks.
        let chunk = (bucket / CHUNK) as u8;
        if self.latest.0 != chunk {
            self.find(chunk);
        }
        if let Some(counts) = self.chunks.get_mut(self.latest.1 as usize) {
            let cell = &mut counts[bucket % CHUNK];
            *cell = cell.saturating_add(times);
        }
    }

    /// Makes the chunk with this number the latest, and stores it if it is not.
    #[inline(never)]
    fn find(&mut self, chunk: u8) {
        let (word, bit) = (chunk as usize / 64, 1 << (chunk % 64));
        let before: u32 = self.stored[..word].iter().map(|w| w.count_ones()).sum();
        let place = before + (self.stored[word] & (bit - 1)).count_ones();
        if self.stored[word] & bit == 0 {
            self.stored[word] |= bit;
            self.chunks.reserve_exact(1);
            self.chunks.insert(place as usize, [0; CHUNK]);
        }
        self.latest = (chunk, place as u8);
    }

    /// The numbers of the chunks that are stored, in order.
    fn numbers(&self) -> impl Iterator<Item = usize> {
        (0..BUCKETS / CHUNK).filter(|chunk| self.stored[chunk / 64] >> (chunk % 64) & 1 == 1)
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
        let mut seen = self.zeros;
        if seen >= rank {
            return 0;
        }
        for (chunk, counts) in self.numbers().zip(&self.chunks) {
            for (i, &n) in counts.iter().enumerate() {
                seen += u64::from(n);
                if seen >= rank {
                    return middle_of(chunk * CHUNK + i).clamp(self.min, self.max);
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

    #[test]
    fn values_count_the_same_at_once_and_one_by_one() {
        let values = [0, 70, 70, 71, 12_000_000, 12_000_400, 0, u32::MAX, 5, 63, 64, 65];
        let (mut one, mut all) = (Histogram::default(), Histogram::default());
        values.iter().for_each(|&value| one.record(value.into()));
        all.record_all(&[]);
        assert_eq!((all.count(), all.min(), all.max()), (0, NONE, NONE));
        values.chunks(5).for_each(|some| all.record_all(some));
        assert_eq!(format!("{all:?}"), format!("{one:?}"));
    }

    #[test]
    fn chunks_stay_in_order_and_few() {
        let mut h = Histogram::default();
        let values = [1 << 30, 5, 0, 1 << 44, 70, 6, u64::MAX, 0, 1 << 30];
        values.iter().for_each(|&v| h.record(v));
        assert_eq!(h.numbers().collect::<Vec<_>>(), [0, 4, 100, 156, 163]);
        assert_eq!((h.chunks.len(), h.chunks.capacity(), h.zeros), (5, 5, 2));
        let all: Vec<_> = (1..=9).map(|rank| h.percentile(f64::from(rank) / 9.0 - 0.01)).collect();
        assert_eq!(all[..5], [0, 0, 5, 6, 70]);
        assert_eq!((all[8], h.percentile(0.1)), (middle_of(BUCKETS - 1), 0));
    }

    #[test]
    fn an_empty_histogram_is_small() {
        assert!(size_of::<Histogram>() <= 96, "{}", size_of::<Histogram>());
        let mut h = Histogram::default();
        h.record_many(0, u64::from(u32::MAX) + 2);
        assert_eq!((h.chunks.capacity(), h.percentile(1.0)), (0, 0));
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
