//! Rates in bits per second, and serialisation that does not drift.

use crate::{Bytes, Duration};
use core::fmt;

/// Bits of a byte times nanoseconds of a second.
const SCALE: u64 = 8_000_000_000;

/// `n`, or the largest number that there is.
#[cold]
fn saturated(n: u128) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// A data rate in whole bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u64);

impl Rate {
    /// Zero bits per second.
    pub const ZERO: Self = Self(0);
    /// The largest rate, used as "unlimited".
    pub const MAX: Self = Self(u64::MAX);

    /// `n` bits per second.
    #[must_use]
    pub const fn bps(n: u64) -> Self {
        Self(n)
    }

    /// `n` kilobits (1000 bits) per second.
    #[must_use]
    pub const fn kbps(n: u64) -> Self {
        Self(n.saturating_mul(1_000))
    }

    /// `n` megabits (10^6 bits) per second.
    #[must_use]
    pub const fn mbps(n: u64) -> Self {
        Self(n.saturating_mul(1_000_000))
    }

    /// `n` gigabits (10^9 bits) per second.
    #[must_use]
    pub const fn gbps(n: u64) -> Self {
        Self(n.saturating_mul(1_000_000_000))
    }

    /// The rate that moves `amount` in `time`; unlimited where `time` is zero.
    #[inline]
    #[must_use]
    pub fn of(amount: Bytes, time: Duration) -> Self {
        if time.is_zero() {
            return Self::MAX;
        }
        match amount.as_u64().checked_mul(SCALE) {
            // Below two gigabytes, and much faster.
            Some(bits) => Self(bits / time.as_nanos()),
            None => Self(saturated(u128::from(amount.as_u64()) * u128::from(SCALE) / u128::from(time.as_nanos()))),
        }
    }

    /// Whole bits per second.
    #[must_use]
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Whether the rate is zero.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// This rate times a non-negative float, rounded to the nearest bit per second.
    #[inline]
    #[must_use]
    pub fn mul_f64(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor + 0.5) as u64)
    }

    /// Time to send `amount` at this rate, rounded down to a nanosecond; [`Duration::MAX`] for a zero rate.
    #[must_use]
    pub fn time_for(self, amount: Bytes) -> Duration {
        let mut exact = Serialiser::default();
        exact.time_for(amount, self)
    }

    /// Bytes that fit in `time` at this rate, rounded down (a bandwidth-delay product).
    #[inline]
    #[must_use]
    pub fn bytes_in(self, time: Duration) -> Bytes {
        let n = match self.0.checked_mul(time.as_nanos()) {
            // Below two gigabytes, and much faster.
            Some(bits) => bits / SCALE,
            None => saturated(u128::from(self.0) * u128::from(time.as_nanos()) / u128::from(SCALE)),
        };
        Bytes::new(n)
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            n if n >= 1_000_000_000 => (n as f64 / 1e9, "Gb/s"),
            n if n >= 1_000_000 => (n as f64 / 1e6, "Mb/s"),
            n if n >= 1_000 => (n as f64 / 1e3, "kb/s"),
            n => (n as f64, "b/s"),
        };
        write!(f, "{value} {unit}")
    }
}

/// Computes serialisation times and carries the remainder, so that back-to-back packets keep the exact rate.
///
/// The time for one packet is `bits * 10^9 / rate` ns, which is rarely whole; the remainder (in units of
/// 1/rate ns) is carried to the next packet, so the error never exceeds 1 ns however long the busy period.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Serialiser {
    remainder: u64,
    rate: Rate,
    /// The results for the last two sizes. Packets come in few sizes, and the division costs more than everything else.
    last: Division,
    other: Division,
}

/// `amount * 8 * 10^9` divided by the rate.
#[derive(Clone, Copy, Debug)]
struct Division {
    amount: Bytes,
    quotient: u64,
    remainder: u64,
    /// The rate minus the remainder: what is missing to the next whole nanosecond.
    left: u64,
}

impl Division {
    /// The result for a transmission that never ends.
    const fn endless(amount: Bytes) -> Self {
        // With these values nothing is ever carried into the infinite time.
        Self { amount, quotient: u64::MAX, remainder: 0, left: u64::MAX }
    }
}

impl Default for Division {
    fn default() -> Self {
        Self::endless(Bytes::MAX)
    }
}

impl Serialiser {
    /// Time to serialise `amount` at `rate`, including the remainder carried over from earlier packets.
    ///
    /// A zero rate gives [`Duration::MAX`]. A change of rate discards the remainder.
    #[inline]
    pub fn time_for(&mut self, amount: Bytes, rate: Rate) -> Duration {
        if amount != self.last.amount || rate != self.rate {
            self.divide(amount, rate);
        }
        // Both remainders are below the rate, so their sum carries at most one nanosecond.
        let carry = self.remainder >= self.last.left;
        self.remainder = if carry { self.remainder - self.last.left } else { self.remainder + self.last.remainder };
        Duration::from_nanos(self.last.quotient.wrapping_add(u64::from(carry)))
    }

    /// Makes the division for `amount` at `rate` the most recent one.
    #[cold]
    fn divide(&mut self, amount: Bytes, rate: Rate) {
        if rate != self.rate || rate.0 == 0 {
            *self = Self { rate, ..Self::default() };
        }
        let part = if self.other.amount == amount { self.other } else { rate.divide(amount) };
        self.other = self.last;
        self.last = part;
    }

    /// Time to serialise `amount` at the rate of the last call after [`restart`](Self::restart), and whether that is a
    /// whole number of nanoseconds; `None` unless the last call was for the same amount and left what such a call
    /// leaves.
    ///
    /// Each further call for the amount then returns this time and leaves the same, if it comes after a restart, and
    /// without one too if the time is whole.
    #[inline]
    #[must_use]
    pub fn steady(&self, amount: Bytes) -> Option<(Duration, bool)> {
        let steady = self.last.amount == amount && self.remainder == self.last.remainder;
        (steady && self.last.quotient < u64::MAX)
            .then(|| (Duration::from_nanos(self.last.quotient), self.remainder == 0))
    }

    /// Discards the remainder, as after an idle time.
    #[inline]
    pub fn restart(&mut self) {
        self.remainder = 0;
    }
}

impl Rate {
    /// Divides `amount * 8 * 10^9` by this rate; endless for a zero rate.
    fn divide(self, amount: Bytes) -> Division {
        if self.0 == 0 {
            return Division::endless(amount);
        }
        let (bits, rate) = (u128::from(amount.as_u64()) * u128::from(SCALE), u128::from(self.0));
        // A remainder is below the rate, which is a u64.
        let remainder = (bits % rate) as u64;
        match u64::try_from(bits / rate) {
            Ok(quotient) if quotient < u64::MAX => Division { amount, quotient, remainder, left: self.0 - remainder },
            _ => Division::endless(amount),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn serialisation_carries_its_remainder() {
        let mut s = Serialiser::default();
        let total: u64 = (0..3_000).map(|_| s.time_for(Bytes::new(1), Rate::mbps(3)).as_nanos()).sum();
        assert_eq!(total, 8_000_000, "3000 bytes at 3 Mb/s are 8 ms exactly");
    }

    #[test]
    fn a_whole_time_repeats_itself() {
        let mut s = Serialiser::default();
        assert_eq!(s.steady(Bytes::new(0)), None, "nothing was serialised yet");
        assert_eq!(s.time_for(Bytes::new(1500), Rate::gbps(1)), Duration::from_micros(12));
        assert_eq!(s.steady(Bytes::new(1500)), Some((Duration::from_micros(12), true)));
        assert_eq!(s.steady(Bytes::new(40)), None, "another amount");
        let third = Duration::from_nanos(2666);
        assert_eq!(s.time_for(Bytes::new(1), Rate::mbps(3)), third);
        assert_eq!(s.steady(Bytes::new(1)), Some((third, false)), "two thirds are left");
        assert_eq!(s.time_for(Bytes::new(1), Rate::mbps(3)), Duration::from_nanos(2667), "what was left is carried");
        assert_eq!(s.steady(Bytes::new(1)), None, "a third is left");
        s.restart();
        assert_eq!((s.time_for(Bytes::new(1), Rate::mbps(3)), s.steady(Bytes::new(1))), (third, Some((third, false))));
    }

    #[test]
    fn without_a_rate_nothing_gets_through() {
        for amount in [0, 1, 1500, u64::MAX] {
            assert_eq!(Rate::ZERO.time_for(Bytes::new(amount)), Duration::MAX);
        }
        let mut s = Serialiser::default();
        assert_eq!(s.time_for(Bytes::new(0), Rate::mbps(1)), Duration::ZERO);
        assert_eq!(s.time_for(Bytes::new(10), Rate::ZERO), Duration::MAX);
        assert_eq!(s.time_for(Bytes::new(10), Rate::mbps(8)), Duration::from_micros(10));
        assert_eq!(Rate::bps(1).time_for(Bytes::MAX), Duration::MAX);
    }

    proptest! {
        #[test]
        fn rates_and_amounts_are_exact_however_large(
            rate in (0..u64::MAX, 0_u32..64).prop_map(|(n, shift)| n >> shift),
            amount in (0..u64::MAX, 0_u32..64).prop_map(|(n, shift)| n >> shift),
            nanos in (1..u64::MAX, 0_u32..63).prop_map(|(n, shift)| (n >> shift).max(1)),
        ) {
            let time = Duration::from_nanos(nanos);
            let whole = |n: u128| u64::try_from(n).unwrap_or(u64::MAX);
            let bytes = whole(u128::from(rate) * u128::from(nanos) / 8_000_000_000);
            prop_assert_eq!(Rate::bps(rate).bytes_in(time), Bytes::new(bytes));
            let bps = whole(u128::from(amount) * 8_000_000_000 / u128::from(nanos));
            prop_assert_eq!(Rate::of(Bytes::new(amount), time), Rate::bps(bps));
        }

        #[test]
        fn serialisation_never_drifts(sizes in prop::collection::vec(1u64..9000, 1..200), rate in 1_000u64..100_000_000_000) {
            let mut s = Serialiser::default();
            let rate = Rate::bps(rate);
            let sum: u128 = sizes.iter().map(|&n| u128::from(s.time_for(Bytes::new(n), rate).as_nanos())).sum();
            let bits: u128 = sizes.iter().map(|&n| u128::from(n) * 8).sum();
            prop_assert_eq!(sum, bits * 1_000_000_000 / u128::from(rate.as_bps()));
        }
    }
}
