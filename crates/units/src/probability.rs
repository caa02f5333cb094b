//! A probability, always in [0, 1].

use core::fmt;

/// A number in [0, 1]: a chance, a share or a packet error rate.
#[derive(Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Probability(f64);

/// The error for a value that is not a probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbabilityError(f64);

impl fmt::Display for ProbabilityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not a probability: allowed are numbers from 0 to 1", self.0)
    }
}

impl core::error::Error for ProbabilityError {}

impl Probability {
    /// Never.
    pub const ZERO: Self = Self(0.0);
    /// Always.
    pub const ONE: Self = Self(1.0);

    /// The probability `p`; rejects NaN and values outside [0, 1].
    ///
    /// # Errors
    /// [`ProbabilityError`] with the value given.
    pub fn new(p: f64) -> Result<Self, ProbabilityError> {
        if (0.0..=1.0).contains(&p) { Ok(Self(p)) } else { Err(ProbabilityError(p)) }
    }

    /// The nearest probability to `p`; NaN gives zero.
    #[must_use]
    pub fn clamped(p: f64) -> Self {
        Self(if p > 0.0 { p.min(1.0) } else { 0.0 })
    }

    /// The number in [0, 1].
    #[must_use]
    pub const fn as_f64(self) -> f64 {
        self.0
    }

    /// Whether the probability is exactly one.
    #[must_use]
    pub fn is_certain(self) -> bool {
        self.0 >= 1.0
    }

    /// Whether the probability is exactly zero, so that no random number is needed.
    #[must_use]
    pub fn is_never(self) -> bool {
        self.0 <= 0.0
    }
}

impl fmt::Debug for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_from_zero_to_one_are_probabilities() {
        assert!(Probability::new(0.0).is_ok() && Probability::new(1.0).is_ok());
        assert!(Probability::new(-0.1).is_err() && Probability::new(1.1).is_err());
        assert!(Probability::new(f64::NAN).is_err());
        assert!(Probability::clamped(f64::NAN).is_never());
    }
}
