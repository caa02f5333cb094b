//! What BBR version 3 does with ECN marks, where its switch `ecn` is on (google/bbr, branch v3).

use super::Bbr3;
use super::settings as set;
use crate::{Ack, EcnFeedback, Path, Window};
use narrows_units::{Bytes, Duration};

/// The marks of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    on: bool,
    /// Longest min_rtt with which marks are used (`bbr_ecn_max_rtt_us`); zero is no limit.
    max_rtt: Duration,
    /// ecn_alpha, the moving average of the share of marked bytes per round.
    alpha: f64,
    /// Whether marks are used (`ecn_eligible`). Once they are, they stay so.
    eligible: bool,
    /// Whether there was a mark in this loss round (`ecn_in_round`).
    in_round: bool,
    /// Bytes delivered and marked in this round.
    delivered: Bytes,
    marked: Bytes,
    /// Rounds in a row of Startup with a share of marks above the threshold (`startup_ecn_rounds`).
    startup_rounds: u32,
}

impl Marks {
    pub(super) fn new(on: bool, max_rtt: Duration) -> Self {
        Self {
            on,
            max_rtt,
            alpha: 1.0,
            eligible: false,
            in_round: false,
            delivered: Bytes::ZERO,
            marked: Bytes::ZERO,
            startup_rounds: 0,
        }
    }

    /// ecn_alpha.
    pub(super) fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Whether marks have the response of this file, and not that of a loss.
    pub(super) fn are_used(&self) -> bool {
        self.eligible
    }

    /// Counts an ACK.
    pub(super) fn count(&mut self, ack: &Ack) {
        if self.on {
            self.delivered += ack.delivered;
            self.marked += ack.marked.min(ack.delivered);
            self.in_round |= self.eligible && !ack.marked.is_zero();
        }
    }

    /// Share of marked bytes in this round, so far.
    fn share(&self) -> f64 {
        if self.delivered.is_zero() { 0.0 } else { self.marked.as_f64() / self.delivered.as_f64() }
    }

    /// Whether more than half of this round's bytes are marked (`bbr_is_inflight_too_high`).
    pub(super) fn too_high(&self) -> bool {
        self.eligible && self.share() > set::ECN_THRESH
    }

    /// Ends a round: updates alpha (`bbr_update_ecn_alpha`) and returns the round's share, or nothing while marks are
    /// not used. They are used from the first round on in which feedback and min_rtt allow it.
    fn end_round(&mut self, min_rtt: Option<Duration>, path: &Path) -> Option<f64> {
        if !self.on || self.delivered.is_zero() {
            return None;
        }
        let exact = matches!(path.ecn, EcnFeedback::EachMark | EcnFeedback::Accurate);
        let near = self.max_rtt.is_zero() || min_rtt.is_some_and(|rtt| rtt <= self.max_rtt);
        self.eligible |= exact && near;
        let share = self.share();
        (self.delivered, self.marked) = (Bytes::ZERO, Bytes::ZERO);
        if !self.eligible {
            return None;
        }
        self.alpha = (self.alpha + set::ECN_ALPHA_GAIN * (share - self.alpha)).clamp(0.0, 1.0);
        Some(share)
    }

    /// Whether two rounds of Startup in a row had marks above the threshold (`bbr_check_ecn_too_high_in_startup`).
    fn fills_startup(&mut self, share: f64) -> bool {
        self.startup_rounds = if share >= set::ECN_THRESH { self.startup_rounds + 1 } else { 0 };
        self.startup_rounds >= set::STARTUP_ECN_ROUNDS
    }

    /// Ends a loss round; the factor of inflight_shortterm if there was a mark (`bbr_ecn_lower_bounds`).
    pub(super) fn take_cut(&mut self) -> Option<f64> {
        core::mem::take(&mut self.in_round).then_some(1.0 - self.alpha * set::ECN_FACTOR)
    }
}

impl Bbr3 {
    /// Ends a round of marks; many of them end Startup, as many losses do.
    pub(super) fn end_round_of_marks(&mut self, path: &Path) {
        let Some(share) = self.marks.end_round(self.min_rtt, path) else { return };
        if !self.full_bw_reached && self.marks.fills_startup(share) {
            self.startup_is_too_high(path);
        }
    }

    /// Bounds the data in flight after a loss round with marks; the bandwidth stays.
    pub(super) fn cut_for_marks(&mut self, factor: Option<f64>, inflight: Bytes) {
        if let Some(factor) = factor {
            let cut = inflight.mul_f64(factor);
            self.bounds.inflight_short = Some(self.bounds.inflight_short.map_or(cut, |short| short.min(cut)));
        }
    }

    /// What is in flight where no bound was set.
    pub(super) fn short_term_base(&self, win: &Window) -> Bytes {
        self.bounds.inflight_short.unwrap_or(win.cwnd)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::float_cmp)]
    use super::*;
    use crate::Phase;
    use narrows_units::Instant;

    fn path(ecn: EcnFeedback) -> Path {
        Path {
            now: Instant::ZERO,
            smss: Bytes::new(1000),
            initial_window: Bytes::new(10_000),
            srtt: None,
            min_rtt: None,
            rto: Duration::from_secs(1),
            flightsize: Bytes::ZERO,
            inflight: Bytes::ZERO,
            snd_una: 0,
            snd_nxt: 0,
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
            cwnd_limited: true,
            pacing_rate: None,
            departure: Instant::ZERO,
            phase: Phase::Open,
            ecn,
            slow_start_at_equality: false,
        }
    }

    /// A round of 100 bytes with `marked` of them marked, on a path of `rtt_ms`.
    fn round(marks: &mut Marks, marked: u64, rtt_ms: u64, ecn: EcnFeedback) -> Option<f64> {
        marks.count(&Ack { delivered: Bytes::new(100), marked: Bytes::new(marked), ..Ack::default() });
        marks.end_round(Some(Duration::from_millis(rtt_ms)), &path(ecn))
    }

    fn marks() -> Marks {
        Marks::new(true, Duration::from_millis(5))
    }

    #[test]
    fn bbr3_ecn_alpha_is_a_moving_average_of_rounds() {
        let mut m = marks();
        // alpha = 1, then 15/16, then 15/16 * 15/16 + 1/2 * 1/16.
        assert_eq!(round(&mut m, 0, 4, EcnFeedback::Accurate), Some(0.0));
        assert_eq!(m.alpha(), 0.9375);
        assert_eq!(round(&mut m, 50, 4, EcnFeedback::Accurate), Some(0.5));
        assert_eq!(m.alpha(), 0.910_156_25);
    }

    #[test]
    fn bbr3_ecn_is_used_on_short_paths_with_exact_feedback() {
        let used = |max_ms, rtt_ms, ecn| {
            let mut m = Marks::new(true, Duration::from_millis(max_ms));
            round(&mut m, 50, rtt_ms, ecn).is_some()
        };
        assert!(used(5, 5, EcnFeedback::Accurate) && used(5, 5, EcnFeedback::EachMark));
        assert!(!used(5, 6, EcnFeedback::Accurate) && used(0, 600, EcnFeedback::Accurate));
        assert!(!used(5, 5, EcnFeedback::Classic) && !used(5, 5, EcnFeedback::Nothing));
        let mut off = Marks::new(false, Duration::ZERO);
        assert!(round(&mut off, 50, 4, EcnFeedback::Accurate).is_none() && off.take_cut().is_none());
    }

    #[test]
    fn bbr3_ecn_cuts_by_a_third_of_alpha_once_per_marked_round() {
        let mut m = marks();
        round(&mut m, 0, 4, EcnFeedback::Accurate);
        assert_eq!(m.take_cut(), None, "no mark");
        m.count(&Ack { delivered: Bytes::new(100), marked: Bytes::new(1), ..Ack::default() });
        assert_eq!(m.take_cut(), Some(1.0 - 0.9375 / 3.0));
        assert_eq!(m.take_cut(), None);
    }

    #[test]
    fn bbr3_ecn_is_too_high_above_one_half() {
        let mut m = marks();
        round(&mut m, 0, 4, EcnFeedback::Accurate);
        m.count(&Ack { delivered: Bytes::new(100), marked: Bytes::new(50), ..Ack::default() });
        assert!(!m.too_high());
        m.count(&Ack { delivered: Bytes::new(2), marked: Bytes::new(2), ..Ack::default() });
        assert!(m.too_high());
        // Two rounds in a row end Startup; a round between them begins again.
        let mut m = marks();
        assert!(!m.fills_startup(0.5) && !m.fills_startup(0.4) && !m.fills_startup(0.5) && m.fills_startup(0.9));
    }
}
