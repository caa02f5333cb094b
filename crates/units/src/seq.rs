//! TCP sequence numbers (RFC 9293, section 3.4).

use crate::Bytes;
use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// A 32-bit sequence number of TCP's circular space.
///
/// There is deliberately no `Ord`: of two numbers, either may come first, depending on which half of the circle
/// the other lies in. Use [`before`](Self::before), [`after`](Self::after) and [`distance`](Self::distance).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SeqNum(u32);

impl SeqNum {
    /// The number with this 32-bit value.
    #[must_use]
    pub const fn new(n: u32) -> Self {
        Self(n)
    }

    /// The 32-bit value.
    #[must_use]
    pub const fn as_u32(self) -> u32 {
        self.0
    }

    /// Whether this number comes strictly before `other`, that is, lies in the half circle that ends at it.
    #[must_use]
    pub const fn before(self, other: Self) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
    }

    /// Whether this number comes strictly after `other`.
    #[must_use]
    pub const fn after(self, other: Self) -> bool {
        other.before(self)
    }

    /// Whether this number is `other` or comes before it.
    #[must_use]
    pub const fn at_or_before(self, other: Self) -> bool {
        !other.before(self)
    }

    /// Bytes from this number forward to `later`, modulo 2^32.
    #[must_use]
    pub const fn distance(self, later: Self) -> Bytes {
        Bytes::new(later.0.wrapping_sub(self.0) as u64)
    }

    /// The later of two numbers in the sense of [`after`](Self::after).
    #[must_use]
    pub const fn later(self, other: Self) -> Self {
        if self.before(other) { other } else { self }
    }
}

impl Add<Bytes> for SeqNum {
    type Output = Self;
    fn add(self, n: Bytes) -> Self {
        // Truncation is the modulo of the circular space.
        Self(self.0.wrapping_add(n.as_u64() as u32))
    }
}

impl AddAssign<Bytes> for SeqNum {
    fn add_assign(&mut self, n: Bytes) {
        *self = *self + n;
    }
}

impl Sub<Bytes> for SeqNum {
    type Output = Self;
    fn sub(self, n: Bytes) -> Self {
        Self(self.0.wrapping_sub(n.as_u64() as u32))
    }
}

impl fmt::Debug for SeqNum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Display for SeqNum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn order_wraps_around_zero() {
        let near_end = SeqNum::new(u32::MAX - 9);
        let wrapped = near_end + Bytes::new(20);
        assert_eq!(wrapped, SeqNum::new(10));
        assert!(near_end.before(wrapped) && wrapped.after(near_end));
        assert_eq!(near_end.distance(wrapped), Bytes::new(20));
    }

    proptest! {
        #[test]
        fn order_is_the_same_wherever_the_circle_is_cut(start: u32, step in 1u64..0x7fff_ffff) {
            let a = SeqNum::new(start);
            let b = a + Bytes::new(step);
            prop_assert!(a.before(b) && !b.before(a) && b.after(a) && a.at_or_before(b));
            prop_assert_eq!(a.distance(b), Bytes::new(step));
            prop_assert_eq!(b - Bytes::new(step), a);
        }
    }
}
