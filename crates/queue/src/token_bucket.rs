//! A token bucket in exact integer arithmetic.
//!
//! RFC 2697, section 3, adds a token for a byte `rate` times a second, up to the depth. Here tokens arrive
//! continuously: in a nanosecond, a rate of R bits per second brings R billionths of a bit. That is the unit in which
//! tokens are kept, so nothing is ever rounded, and a packet waits for exactly the first nanosecond that covers it.

use narrows_units::{Bytes, Duration, Instant, Rate};

/// Billionths of a bit in a byte.
const BYTE: u64 = 8_000_000_000;

/// Largest depth: its tokens fit in a `u64`.
pub(crate) const DEEPEST: Bytes = Bytes::new(1_000_000_000);

/// A token bucket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenBucket {
    rate: u64,
    depth: u64,
    tokens: u64,
    /// Time of the latest fill.
    at: Instant,
}

impl TokenBucket {
    /// A bucket that is full at the start (RFC 2697, section 3; Linux's `tbf_change`).
    pub(crate) const fn new(rate: Rate, depth: Bytes) -> Self {
        let depth = cost(depth);
        Self { rate: rate.as_bps(), depth, tokens: depth, at: Instant::ZERO }
    }

    /// Adds the tokens that arrived up to `now`.
    #[inline]
    pub(crate) fn fill(&mut self, now: Instant) {
        // A product that saturates is above any depth.
        let arrived = now.since(self.at).as_nanos().saturating_mul(self.rate);
        self.tokens = self.tokens.saturating_add(arrived).min(self.depth);
        self.at = now;
    }

    /// Time from the latest fill until the tokens cover `size`; zero if they do. Only meaningful for sizes up to the
    /// depth.
    #[inline]
    pub(crate) fn wait(&self, size: Bytes) -> Duration {
        match cost(size).saturating_sub(self.tokens) {
            0 => Duration::ZERO,
            // Without a rate no token ever arrives.
            missing if self.rate > 0 => Duration::from_nanos(missing.div_ceil(self.rate)),
            _ => Duration::MAX,
        }
    }

    /// Takes the tokens of a packet that they cover.
    #[inline]
    pub(crate) fn take(&mut self, size: Bytes) {
        self.tokens = self.tokens.saturating_sub(cost(size));
    }

    /// The tokens after the latest call, in bytes.
    pub(crate) fn bytes(&self) -> f64 {
        self.tokens as f64 / BYTE as f64
    }
}

/// The tokens that `size` bytes cost.
const fn cost(size: Bytes) -> u64 {
    size.as_u64().saturating_mul(BYTE)
}

#[cfg(test)]
#[allow(clippy::float_cmp)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    #[test]
    fn a_bucket_is_full_at_first_and_never_fuller() {
        let mut bucket = TokenBucket::new(Rate::mbps(8), Bytes::new(1000));
        assert_eq!(bucket.wait(Bytes::new(1000)), Duration::ZERO);
        bucket.fill(at(u64::MAX));
        assert_eq!(bucket.bytes(), 1000.0);
        bucket.take(Bytes::new(1000));
        assert_eq!(bucket.bytes(), 0.0);
    }

    #[test]
    fn tokens_cover_a_packet_at_the_first_nanosecond_that_they_can() {
        // 3 b/s: a byte takes 8/3 s, so it is covered from nanosecond 2666666667 on. The third of a nanosecond that the
        // first byte left over counts for the second: both take 16/3 s = 5333333333.3 ns.
        let mut bucket = TokenBucket::new(Rate::bps(3), Bytes::new(1));
        bucket.take(Bytes::new(1));
        assert_eq!(bucket.wait(Bytes::new(1)).as_nanos(), 2_666_666_667);
        bucket.fill(at(2_666_666_666));
        assert_eq!(bucket.wait(Bytes::new(1)).as_nanos(), 1);
        // A look in between changes nothing. The depth of one byte would cut the rest off, hence a deeper bucket.
        let mut bucket = TokenBucket::new(Rate::bps(3), Bytes::new(2));
        bucket.take(Bytes::new(2));
        bucket.fill(at(2_666_666_667));
        bucket.take(Bytes::new(1));
        assert_eq!(bucket.wait(Bytes::new(1)).as_nanos(), 5_333_333_334 - 2_666_666_667);
    }

    #[test]
    fn the_largest_depth_and_the_largest_rate_do_not_overflow() {
        let mut bucket = TokenBucket::new(Rate::gbps(10_000), DEEPEST);
        bucket.take(DEEPEST);
        assert_eq!(bucket.wait(DEEPEST), Duration::from_micros(800), "8 Gbit at 10 Tb/s");
        bucket.fill(Instant::NEVER);
        assert_eq!(bucket.wait(DEEPEST), Duration::ZERO);
        let mut slow = TokenBucket::new(Rate::bps(1), DEEPEST);
        slow.take(DEEPEST);
        assert_eq!(slow.wait(DEEPEST), Duration::from_secs(8_000_000_000));
        let mut dry = TokenBucket::new(Rate::ZERO, Bytes::new(9));
        dry.take(Bytes::new(9));
        assert_eq!(dry.wait(Bytes::new(1)), Duration::MAX);
    }
}
