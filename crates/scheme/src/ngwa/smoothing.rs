//! The smoothing of values at the receiver (paper, equation 4).

/// `S = (1 - alpha) S + alpha W`: an exponentially weighted mean of the values of one connection, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Smoothing {
    alpha: f64,
    mean: Option<f64>,
}

impl Smoothing {
    /// Creates a mean without a value. `alpha` lies between 0 and 1.
    #[must_use]
    pub const fn new(alpha: f64) -> Self {
        Self { alpha, mean: None }
    }

    /// Adds a value and returns `S` with it, in bytes; the first value is `S` itself.
    pub fn update(&mut self, value: u32) -> f64 {
        let value = f64::from(value);
        let mean = self.mean.map_or(value, |mean| (1.0 - self.alpha) * mean + self.alpha * value);
        self.mean = Some(mean);
        mean
    }

    /// Returns `S`, in bytes; `None` before the first value.
    #[must_use]
    pub const fn mean(&self) -> Option<f64> {
        self.mean
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn from_60000_to_20000_as_in_the_vector() {
        let mut s = Smoothing::new(0.3);
        assert_eq!(s.mean(), None);
        for (value, expected) in
            [(60_000, 60_000.0), (20_000, 48_000.0), (20_000, 39_600.0), (20_000, 33_720.0), (20_000, 29_604.0)]
        {
            assert!((s.update(value) - expected).abs() < 1e-9, "{expected}");
        }
        assert!((s.mean().unwrap() - 29_604.0).abs() < 1e-9);
    }
}
