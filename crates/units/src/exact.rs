//! Conversions between integers and floats in fewer instructions than Rust's own, with the same results.
//!
//! Processors convert signed integers. An unsigned one takes several steps more, which numbers below 2^63 do not need.

/// `n as f64`.
#[inline]
#[must_use]
pub const fn to_f64(n: u64) -> f64 {
    let signed = n as i64;
    if signed >= 0 { signed as f64 } else { large(n) }
}

/// `n as f64` for the upper half.
#[cold]
#[inline(never)]
const fn large(n: u64) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_are_those_of_the_language() {
        let edges = [0, 1, (1 << 53) - 1, (1 << 53) + 1, u64::MAX / 2, u64::MAX / 2 + 1, u64::MAX - 1, u64::MAX];
        let spread = (0..64).flat_map(|shift| [0x9E37_79B9_7F4A_7C15_u64 >> shift, (1 << shift) + 3]);
        for n in edges.into_iter().chain(spread) {
            assert_eq!(to_f64(n).to_bits(), (n as f64).to_bits(), "{n}");
        }
    }
}
