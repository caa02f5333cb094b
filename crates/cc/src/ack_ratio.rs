//! Segments per ACK, as Linux's BIC and its CUBIC of 2006 estimate them to compensate for delayed ACKs.
//!
//! Both modules count ACKs towards the next segment, and divide the count by the segments that an ACK covers. The
//! filter is an integer filter of 1/16, `r += n - (r >> 4)`, so with one segment per ACK it can settle anywhere from 16
//! to 31. It starts at 32 and stops at 31, which the modules read as nearly two segments per ACK.

use crate::{Ack, Path, Phase};
use narrows_units::Bytes;

/// Fraction bits (`ACK_RATIO_SHIFT`).
const SHIFT: u32 = 4;

/// The filter (`delayed_ack`), in sixteenths of a segment per ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckRatio(u64);

impl Default for AckRatio {
    fn default() -> Self {
        Self(2 << SHIFT)
    }
}

impl AckRatio {
    /// A filter that stays at one segment per ACK: the rule without the correction.
    pub const ONE: Self = Self(1 << SHIFT);

    /// Updates the filter with an ACK. As in the kernel, only in Open, and a part of a segment counts as one. The
    /// module of 2006 skips an ACK that acknowledges nothing; Linux 6.1 (`duplicates`) counts it as zero segments.
    pub fn observe(&mut self, ack: &Ack, path: &Path, duplicates: bool) {
        if path.phase == Phase::Open && (duplicates || !ack.acked.is_zero()) {
            self.add(ack.acked, path.smss);
        }
    }

    /// Updates the filter with an ACK of `acked` in Open.
    #[inline]
    pub fn add(&mut self, acked: Bytes, smss: Bytes) {
        // A division less for the usual ACK.
        let segments = if acked == smss { 1 } else { acked.as_u64().div_ceil(smss.as_u64().max(1)) };
        self.0 = (self.0 - (self.0 >> SHIFT)).saturating_add(segments);
    }

    /// Number of ACKs to count in place of `segments`, at least one.
    #[must_use]
    pub fn correct(self, segments: u64) -> u64 {
        (segments.saturating_mul(1 << SHIFT) / self.0.max(1)).max(1)
    }

    /// The estimate in sixteenths.
    #[must_use]
    pub fn sixteenths(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::AckRatio;

    #[test]
    fn the_correction_divides_by_the_ratio() {
        assert_eq!(AckRatio::default().sixteenths(), 32);
        assert_eq!([1, 2, 3, 100].map(|n| AckRatio::default().correct(n)), [1, 1, 1, 50]);
        assert_eq!(AckRatio::ONE.correct(100), 100);
        assert_eq!(AckRatio(31).correct(31), 16);
        assert!(AckRatio::default().correct(u64::MAX) > 1 << 50, "saturates");
    }
}
