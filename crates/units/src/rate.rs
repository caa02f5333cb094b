//! Rates in bits per second, and serialisation that does not drift.

use crate::{Bytes, Duration};
use core::fmt;

/// A data rate in whole bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u64);

impl Rate {
    /// No rate at all.
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
    #[must_use]
    pub fn of(amount: Bytes, time: Duration) -> Self {
        if time.is_zero() {
            return Self::MAX;
        }
        let bits = u128::from(amount.as_u64()) * 8 * 1_000_000_000;
        Self(u64::try_from(bits / u128::from(time.as_nanos())).unwrap_or(u64::MAX))
    }

    /// Whole bits per second.
    #[must_use]
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Megabits (10^6 bits) per second as a float.
    #[must_use]
    pub fn as_mbps_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Whether the rate is zero.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// This rate times a non-negative float, rounded to the nearest bit per second.
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
    #[must_use]
    pub fn bytes_in(self, time: Duration) -> Bytes {
        let n = u128::from(self.0) * u128::from(time.as_nanos()) / 8_000_000_000;
        Bytes::new(u64::try_from(n).unwrap_or(u64::MAX))
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

/// Serialisation times that carry their remainder, so that back-to-back packets keep the exact rate.
///
/// The time for one packet is `bits * 10^9 / rate` ns, which is rarely whole; the remainder (in units of
/// 1/rate ns) is carried to the next packet, so the error never exceeds 1 ns however long the busy period.
#[derive(Clone, Copy, Debug, Default)]
pub struct Serialiser {
    remainder: u64,
    rate: Rate,
    /// The last two sizes: packets come in few sizes, and a division costs more than all the rest.
    recent: [Division; 2],
}

/// `amount * 8 * 10^9` divided by the rate.
#[derive(Clone, Copy, Debug, Default)]
struct Division {
    amount: Bytes,
    quotient: u64,
    remainder: u64,
}

impl Serialiser {
    /// Time to serialise `amount` at `rate`, including what the packets before it left over.
    ///
    /// A zero rate gives [`Duration::MAX`]. A change of rate forgets the remainder.
    #[inline]
    pub fn time_for(&mut self, amount: Bytes, rate: Rate) -> Duration {
        if rate != self.rate {
            *self = Self { rate, ..Self::default() };
        }
        if rate.0 == 0 {
            return Duration::MAX;
        }
        let part = self.divide(amount);
        // Both remainders are below the rate, so at most one whole nanosecond comes of them.
        let (sum, overflowed) = self.remainder.overflowing_add(part.remainder);
        if overflowed || sum >= rate.0 {
            self.remainder = sum.wrapping_sub(rate.0);
            Duration::from_nanos(part.quotient.saturating_add(1))
        } else {
            self.remainder = sum;
            Duration::from_nanos(part.quotient)
        }
    }

    #[inline]
    fn divide(&mut self, amount: Bytes) -> Division {
        let [last, other] = self.recent;
        if last.amount == amount {
            return last;
        }
        let part = if other.amount == amount { other } else { self.rate.divide(amount) };
        self.recent = [part, last];
        part
    }

    /// Forgets the remainder, as after an idle time.
    #[inline]
    pub fn restart(&mut self) {
        self.remainder = 0;
    }
}

impl Rate {
    /// `amount * 8 * 10^9` over this rate, which is not zero.
    fn divide(self, amount: Bytes) -> Division {
        if let Some(bits) = amount.as_u64().checked_mul(8_000_000_000) {
            return Division { amount, quotient: bits / self.0, remainder: bits % self.0 };
        }
        let (bits, rate) = (u128::from(amount.as_u64()) * 8_000_000_000, u128::from(self.0));
        Division {
            amount,
            quotient: u64::try_from(bits / rate).unwrap_or(u64::MAX),
            // A remainder is below the rate, which is a u64.
            remainder: (bits % rate) as u64,
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

    proptest! {
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
