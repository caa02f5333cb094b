//! The kernel's integer arithmetic of CUBIC, shared by Linux's module of 2006 and the current one.

use narrows_units::Instant;

/// A share in Linux's fixed point of ten bits.
pub(super) fn in_1024ths(x: f64) -> u64 {
    (x * 1024.0 + 0.5) as u64
}

/// The kernel's clock with HZ = 1000.
pub(super) fn millis(at: Instant) -> u64 {
    at.as_nanos() / 1_000_000
}

/// W_max after a loss at `cwnd` segments, with fast convergence if the window is below the last maximum; beta in
/// 1/1024.
pub(super) fn next_max(cwnd: u64, last_max: u64, beta: u64, fast_convergence: bool) -> u64 {
    if fast_convergence && cwnd < last_max { cwnd.saturating_mul(1024 + beta) / 2048 } else { cwnd }
}

/// Segments to be acknowledged, per segment of window, before the estimate of Reno grows by one; times eight.
pub(super) fn friendly_scale(beta: u64) -> u64 {
    8 * (1024 + beta) / 3 / (1024 - beta)
}

/// Grows the estimate of Reno by a segment for each `per` counted, as long as more than `per` is left.
pub(super) fn grow_estimate(counted: &mut u64, per: u64, estimate: &mut u64) {
    let per = per.max(1);
    if *counted > per {
        let steps = (*counted - 1) / per;
        *counted -= steps * per;
        *estimate = estimate.saturating_add(steps);
    }
}

/// The cubic function in segments and 1/1024 s.
#[derive(Clone, Copy, Debug)]
pub(super) struct Curve {
    /// C in 1/1024 segments/s³ (`bic_scale * 10`).
    scale: u64,
}

impl Curve {
    /// The curve of this C, in segments/s³.
    pub(super) fn new(c: f64) -> Self {
        Self { scale: in_1024ths(c).max(1) }
    }

    /// K: the time to grow by `drop` segments, from the present window to that of the loss.
    pub(super) fn k(self, drop: u64) -> u64 {
        cube_root(((1 << 40) / self.scale).saturating_mul(drop))
    }

    /// The window at time `t` of an epoch whose plateau `origin` is reached at `k`.
    pub(super) fn target(self, t: u64, k: u64, origin: u64) -> u64 {
        let offset = u128::from(t.abs_diff(k));
        let cube = offset.saturating_mul(offset).saturating_mul(offset).saturating_mul(u128::from(self.scale));
        let delta = u64::try_from(cube >> 40).unwrap_or(u64::MAX);
        if t < k { origin.saturating_sub(delta) } else { origin.saturating_add(delta) }
    }

    /// Segments to be acknowledged per segment of growth from `cwnd` towards `target`; 0 if the distance exceeds cwnd.
    pub(super) fn count(cwnd: u64, target: u64) -> u64 {
        if target > cwnd { cwnd / (target - cwnd) } else { cwnd.saturating_mul(100) }
    }
}

/// The largest integer whose cube is not above `a`.
fn cube_root(a: u64) -> u64 {
    let mut r = libm::cbrt(a as f64) as u64;
    let cube = |r: u64| u128::from(r) * u128::from(r) * u128::from(r);
    while cube(r) > u128::from(a) {
        r -= 1;
    }
    while cube(r + 1) <= u128::from(a) {
        r += 1;
    }
    r
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cube_root_is_exact() {
        assert_eq!(cube_root((1 << 40) / 410 * 30), 4316, "the reference's K for a drop of 30 segments");
        for a in [0, 1, 7, 8, 26, 27, u64::MAX] {
            let r = u128::from(cube_root(a));
            assert!(r * r * r <= u128::from(a) && (r + 1) * (r + 1) * (r + 1) > u128::from(a), "{a}");
        }
    }

    #[test]
    fn the_scale_of_reno_follows_beta() {
        assert_eq!([717, 819].map(friendly_scale), [15, 23]);
    }
}
