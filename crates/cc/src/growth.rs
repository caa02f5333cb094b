//! Growth and reduction steps that several algorithms share.
//!
//! All counts are in bytes. Where Linux counts segments, a step of whole segments gives the same windows, and an
//! acknowledgment of half a segment is carried over instead of being rounded.

use crate::{Congestion, Path, Window};
use narrows_units::Bytes;

/// The common check: whether the window may grow on this ACK.
///
/// A window that did not limit the sender says nothing about the path, so it stays (RFC 9438, section 5.8; RFC 7661;
/// Linux's `tcp_is_cwnd_limited`). Every algorithm calls this before it grows.
#[inline]
#[must_use]
pub fn may_grow(path: &Path) -> bool {
    path.cwnd_limited
}

/// `amount` in whole segments of SMSS, rounded down, as Linux counts windows. A zero SMSS counts as one byte.
#[inline]
#[must_use]
pub fn whole_segments(amount: Bytes, path: &Path) -> u64 {
    amount.as_u64() / path.smss.as_u64().max(1)
}

/// Slow start with appropriate byte counting (RFC 5681, section 3.1; RFC 3465).
///
/// Adds `acked` to cwnd up to ssthresh and returns the rest of `acked` for congestion avoidance, as Linux's
/// `tcp_slow_start` does. `limit` bounds the growth per ACK (RFC 3465's L times SMSS; `Bytes::MAX` for Linux's
/// unbounded counting); the excess is neither used nor returned.
#[inline]
pub fn slow_start(win: &mut Window, acked: Bytes, limit: Bytes, path: &Path) -> Bytes {
    let step = acked.min(limit);
    let room = win.slow_start_room(path);
    let used = step.min(room);
    win.cwnd += used;
    step.saturating_sub(used)
}

/// Limited slow start (RFC 3742, section 2): above `max_ssthresh` the step of one ACK is divided by
/// K = int(cwnd / (0.5 max_ssthresh)), which bounds the growth to about `max_ssthresh / 2` per round-trip time.
///
/// A zero `max_ssthresh` means no such limit. Returns the rest of `acked`, as [`slow_start`] does.
pub fn limited_slow_start(win: &mut Window, acked: Bytes, limit: Bytes, max_ssthresh: Bytes, path: &Path) -> Bytes {
    if max_ssthresh.is_zero() || win.cwnd <= max_ssthresh {
        return slow_start(win, acked, limit, path);
    }
    let k = (win.cwnd / (max_ssthresh.as_u64() / 2).max(1)).as_u64().max(1);
    let step = acked.min(limit);
    let room = win.slow_start_room(path);
    let used = (step / k).max(step.min(Bytes::new(1))).min(room);
    win.cwnd += used;
    if win.in_slow_start(path) { Bytes::ZERO } else { step.saturating_sub(used * k) }
}

/// One ACK's increase in congestion avoidance without counting: `SMSS * SMSS / cwnd`, at least one byte (RFC 5681,
/// section 3.1, equation 3).
///
/// With delayed ACKs this is half a segment per round-trip time; RFC 5681 recommends [`ByteCounter`] instead.
pub fn per_ack(win: &mut Window, path: &Path) {
    per_ack_of(win, path.smss);
}

/// [`per_ack`] with this SMSS.
#[inline]
pub fn per_ack_of(win: &mut Window, smss: Bytes) {
    let (smss, cwnd) = (smss.as_u64(), win.cwnd.as_u64().max(1));
    let step = match smss.checked_mul(smss) {
        Some(square) => square / cwnd,
        None => u64::try_from(u128::from(smss) * u128::from(smss) / u128::from(cwnd)).unwrap_or(u64::MAX),
    };
    win.cwnd += Bytes::new(step.clamp(1, smss.max(1)));
}

/// Additive increase by counting: one SMSS for every `per` bytes acknowledged.
///
/// With `per` = cwnd this is the increase that RFC 5681, section 3.1, recommends (after RFC 3465, section 2.1), and
/// Linux's `tcp_cong_avoid_ai` with `snd_cwnd_cnt` in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteCounter {
    counted: Bytes,
}

impl ByteCounter {
    /// Counts `acked` and adds one SMSS to cwnd for each `per` bytes reached.
    ///
    /// Credit gathered while `per` was larger is worth one SMSS at most, so that a sudden fall of `per` does not cause
    /// a burst.
    #[inline]
    pub fn add(&mut self, acked: Bytes, per: Bytes, path: &Path, win: &mut Window) {
        self.add_of(acked, per, path.smss, win);
    }

    /// [`add`](Self::add) with this SMSS.
    #[inline]
    pub fn add_of(&mut self, acked: Bytes, per: Bytes, smss: Bytes, win: &mut Window) {
        let per = per.max(smss).max(Bytes::new(1));
        if self.counted >= per {
            self.counted = Bytes::ZERO;
            win.cwnd += smss;
        }
        self.counted += acked;
        if self.counted >= per {
            let steps = self.counted.as_u64() / per.as_u64();
            self.counted = Bytes::new(self.counted.as_u64() % per.as_u64());
            win.cwnd += smss * steps;
        }
    }

    /// Counts `acked` without growing cwnd.
    #[inline]
    pub fn note(&mut self, acked: Bytes) {
        self.counted += acked;
    }

    /// Clears the count, as at a congestion event.
    pub fn reset(&mut self) {
        self.counted = Bytes::ZERO;
    }

    /// Bytes counted towards the next step.
    #[must_use]
    pub fn counted(&self) -> Bytes {
        self.counted
    }
}

/// Reno's step as Linux's modules call it (`tcp_reno_cong_avoid`): slow start without a limit per ACK, then the rest of
/// `acked` goes to the counter, with the window in whole segments. The caller has checked [`may_grow`].
#[inline]
pub fn linux_reno(counter: &mut ByteCounter, acked: Bytes, path: &Path, win: &mut Window) {
    let mut left = acked;
    if win.in_slow_start(path) {
        left = slow_start(win, acked, Bytes::MAX, path);
        if left.is_zero() {
            return;
        }
    }
    counter.add(left, path.smss * whole_segments(win.cwnd, path), path, win);
}

/// Additive increase by counting ACKs instead of octets, as Linux's modules of 2006 do. An ACK that arrives when the
/// count is reached adds a segment and clears the count, so a step takes one ACK more than the count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckCounter {
    counted: u64,
}

impl AckCounter {
    /// Counts one ACK, or adds one SMSS to cwnd where `acks` have been counted.
    #[inline]
    pub fn add(&mut self, acks: u64, path: &Path, win: &mut Window) {
        self.add_of(acks, path.smss, win);
    }

    /// [`add`](Self::add) with this SMSS.
    #[inline]
    pub fn add_of(&mut self, acks: u64, smss: Bytes, win: &mut Window) {
        if self.counted >= acks {
            self.counted = 0;
            win.cwnd += smss;
        } else {
            self.counted += 1;
        }
    }

    /// ACKs counted towards the next step.
    #[must_use]
    pub fn counted(&self) -> u64 {
        self.counted
    }
}

/// Growth by real-valued amounts: keeps the fraction of a byte that cwnd cannot hold.
///
/// Without it, steps below one byte (0.1 segment spread over a window of a thousand) would be lost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fraction {
    carry: f64,
}

impl Fraction {
    /// Adds `step` bytes to cwnd; negative values and NaN count as zero.
    #[inline]
    pub fn add(&mut self, step: f64, win: &mut Window) {
        if step > 0.0 {
            let sum = self.carry + step;
            // No window has 2^31 bytes and grows by as many; a small number takes fewer instructions.
            let small = sum as i32;
            let whole = if small < i32::MAX { u64::from(small.unsigned_abs()) } else { sum as u64 };
            self.carry = if whole == u64::MAX { 0.0 } else { sum - Bytes::new(whole).as_f64() };
            win.cwnd += Bytes::new(whole);
        }
    }

    /// Adds `step` bytes to cwnd, or takes them away if it is negative; NaN counts as zero.
    #[inline]
    pub fn shift(&mut self, step: f64, win: &mut Window) {
        if step >= 0.0 {
            self.add(step, win);
        } else if step < 0.0 {
            let exact = (self.exact(win) + step).max(0.0);
            win.cwnd = Bytes::from_f64(exact.floor());
            self.carry = exact - exact.floor();
        }
    }

    /// Forgets the fraction, as where something else has set cwnd.
    pub fn reset(&mut self) {
        self.carry = 0.0;
    }

    /// cwnd with its fraction, in bytes.
    #[inline]
    #[must_use]
    pub fn exact(&self, win: &Window) -> f64 {
        win.cwnd.as_f64() + self.carry
    }
}

/// `base` times `factor`, but no less than `floor` segments: the shape of every multiplicative decrease (RFC 5681,
/// equation 4, with 1/2 and 2 segments).
#[must_use]
pub fn reduced(base: Bytes, factor: f64, floor: u64, path: &Path) -> Bytes {
    Bytes::from_f64((base.as_f64() * factor).floor()).max(path.smss * floor)
}

/// As [`reduced`], in whole segments of `base * numerator / 1024`, the arithmetic of Linux's modules.
#[must_use]
pub fn reduced_segments(base: Bytes, numerator: u64, floor: u64, path: &Path) -> Bytes {
    path.smss * (whole_segments(base, path).saturating_mul(numerator) / 1024).max(floor)
}

/// Answers a congestion event as most algorithms do: `ssthresh` (computed from the window before) becomes the threshold
/// and bounds cwnd. A timeout leaves one SMSS, and a repeated one keeps the threshold (RFC 5681, section 3.1).
pub fn answer(event: &Congestion, path: &Path, win: &mut Window, ssthresh: impl FnOnce(&Window) -> Bytes) {
    if !matches!(event, Congestion::Timeout { repeated: true }) {
        let threshold = ssthresh(win);
        win.ssthresh = Some(threshold);
        win.cwnd = win.cwnd.min(threshold);
    }
    if matches!(event, Congestion::Timeout { .. }) {
        win.cwnd = path.smss;
    }
}
