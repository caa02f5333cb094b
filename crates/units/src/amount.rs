//! Amounts of data: [`Bytes`] and [`Packets`].

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

macro_rules! amount {
    ($(#[$doc:meta])* $name:ident, $unit:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(u64);

        impl $name {
            /// Zero.
            pub const ZERO: Self = Self(0);
            /// The largest amount, used as "unlimited".
            pub const MAX: Self = Self(u64::MAX);

            #[doc = concat!("`n` ", $unit, ".")]
            #[must_use]
            pub const fn new(n: u64) -> Self {
                Self(n)
            }

            /// The number as an integer.
            #[must_use]
            pub const fn as_u64(self) -> u64 {
                self.0
            }

            /// The number as a float.
            #[must_use]
            pub const fn as_f64(self) -> f64 {
                crate::exact::to_f64(self.0)
            }

            /// Counts one more, without the bound of addition: no run counts to 2^64.
            #[inline]
            pub const fn increment(&mut self) {
                self.0 = self.0.wrapping_add(1);
            }

            /// Whether the amount is zero.
            #[must_use]
            pub const fn is_zero(self) -> bool {
                self.0 == 0
            }

            /// The difference, or zero where `other` is larger.
            #[must_use]
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                debug_assert!(self.0 >= other.0, "{} - {} underflows", self.0, other.0);
                Self(self.0.saturating_sub(other.0))
            }
        }

        impl SubAssign for $name {
            fn sub_assign(&mut self, other: Self) {
                *self = *self - other;
            }
        }

        impl Mul<u64> for $name {
            type Output = Self;
            fn mul(self, n: u64) -> Self {
                Self(self.0.saturating_mul(n))
            }
        }

        impl Div<u64> for $name {
            type Output = Self;
            fn div(self, n: u64) -> Self {
                Self(self.0.checked_div(n).unwrap_or(u64::MAX))
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
                iter.fold(Self::ZERO, Add::add)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!("{} ", $unit), self.0)
            }
        }
    };
}

amount! {
    /// A number of bytes (octets). Addition saturates; subtraction below zero is a bug, caught in debug builds.
    Bytes, "B"
}

amount! {
    /// A number of packets or segments. Addition saturates; subtraction below zero is a bug, caught in debug builds.
    Packets, "packets"
}

impl Bytes {
    /// A non-negative float rounded to the nearest byte; NaN and negative give zero.
    #[must_use]
    pub fn from_f64(n: f64) -> Self {
        Self((n + 0.5) as u64)
    }

    /// This amount times a non-negative float, rounded to the nearest byte.
    #[must_use]
    pub fn mul_f64(self, factor: f64) -> Self {
        Self::from_f64(self.0 as f64 * factor)
    }

    /// How many segments of `smss` this is, as a float. Zero `smss` counts as one byte.
    #[must_use]
    pub fn segments(self, smss: Self) -> f64 {
        self.0 as f64 / smss.0.max(1) as f64
    }
}
