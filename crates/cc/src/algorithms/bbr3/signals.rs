//! What BBR version 3 measures: rounds, bandwidth, aggregation, a full pipe, and the congestion of a round.

use super::settings as set;
use super::{Bbr3, State};
use crate::{Ack, LostSegment, Path, Phase, RateSample, Window};
use narrows_units::{Bytes, Rate};

/// Delivery rate of a sample.
fn rate(sample: &RateSample) -> Rate {
    Rate::of(sample.delivered, sample.interval)
}

/// Loss of more than 2 % of what was in flight.
fn too_high(lost: Bytes, tx_inflight: Bytes) -> bool {
    lost.as_f64() > tx_inflight.as_f64() * set::LOSS_THRESH
}

/// Bytes in flight when the losses reached 2 %, which lies within the lost segment that exceeded it
/// (BBRInflightAtLoss).
pub(super) fn inflight_at_loss(lost: &LostSegment) -> Bytes {
    let size = lost.bytes.as_f64();
    let (inflight, before) = (lost.tx_inflight.as_f64() - size, lost.lost.as_f64() - size);
    let prefix = (set::LOSS_THRESH * inflight - before) / (1.0 - set::LOSS_THRESH);
    Bytes::from_f64(inflight + prefix)
}

impl Bbr3 {
    /// Begins a round with the data sent from now on (BBRStartRound).
    pub(super) fn start_round(&mut self, path: &Path) {
        self.round_end = path.delivered;
    }

    /// Steps 1 and 2: the latest signals, the round, the maximum bandwidth and the short-term bounds.
    pub(super) fn update_signals(&mut self, sample: Option<&RateSample>, path: &Path, win: &Window) {
        (self.round_start, self.loss_round_start) = (false, false);
        let Some(sample) = sample else { return };
        let rate = rate(sample);
        self.bw_latest = self.bw_latest.max(rate);
        self.inflight_latest = self.inflight_latest.max(sample.delivered);
        if sample.prior_delivered >= self.loss_round_end {
            (self.loss_round_end, self.loss_round_start) = (path.delivered, true);
        }
        if sample.prior_delivered >= self.round_end {
            self.start_round(path);
            self.round_start = true;
            self.rounds += 1;
            self.rounds_since_probe += 1;
            self.end_round_of_marks(path);
        }
        if !sample.app_limited || rate >= self.max_bw.max() {
            self.max_bw.update(self.cycles, rate, set::MAX_BW_CYCLES);
        }
        if self.loss_round_start {
            self.adapt_short_term(win);
            self.loss_in_round = false;
        }
    }

    /// Backs off once per lossy round, unless the flow is probing and expects losses
    /// (BBRAdaptLowerBoundsFromCongestion).
    fn adapt_short_term(&mut self, win: &Window) {
        let probing = matches!(self.state, State::Startup | State::Refill | State::Up);
        let for_marks = self.marks.take_cut().filter(|_| !probing);
        let inflight = self.short_term_base(win);
        if probing || !self.loss_in_round {
            self.cut_for_marks(for_marks, inflight);
            return;
        }
        let bw = self.bounds.bw_short.unwrap_or_else(|| self.max_bw.max());
        self.bounds.bw_short = Some(self.bw_latest.max(bw.mul_f64(set::BETA)));
        self.bounds.inflight_short = Some(self.inflight_latest.max(inflight.mul_f64(set::BETA)));
        self.cut_for_marks(for_marks, inflight);
    }

    /// Step 10: a new round begins with the present ACK's values.
    pub(super) fn advance_latest(&mut self, sample: Option<&RateSample>) {
        if let (true, Some(sample)) = (self.loss_round_start, sample) {
            (self.bw_latest, self.inflight_latest) = (rate(sample), sample.delivered);
        }
    }

    /// Step 3.
    pub(super) fn update_aggregation(&mut self, ack: &Ack, path: &Path, win: &Window) {
        if self.settings.linux {
            if ack.rate.is_some() {
                self.linux_aggregation.on_ack(ack.delivered, self.bw, win.cwnd, self.round_start, path);
            }
            return;
        }
        let mut expected = self.bw.bytes_in(path.now.since(self.extra_since));
        if self.extra_delivered <= expected {
            (self.extra_since, self.extra_delivered, expected) = (path.now, Bytes::ZERO, Bytes::ZERO);
        }
        self.extra_delivered += ack.delivered;
        let extra = self.extra_delivered.saturating_sub(expected).min(win.cwnd);
        let rounds = if self.full_bw_reached { set::EXTRA_ACKED_ROUNDS } else { 0 };
        self.extra_acked.update(self.rounds, extra, rounds);
    }

    /// What the window adds for aggregated ACKs.
    pub(super) fn allowance(&self) -> Bytes {
        if self.settings.linux {
            self.linux_aggregation.allowance(crate::algorithms::bbr::UNIT, self.bw)
        } else {
            self.extra_acked.max()
        }
    }

    /// Restarts the search for a full pipe, with `bw` as the level to exceed.
    pub(super) fn reset_full_bw(&mut self, bw: Rate) {
        (self.full_bw, self.full_bw_count, self.full_bw_now) = (bw, 0, false);
    }

    /// Step 4: a full pipe is three rounds without 25 % more bandwidth (CheckFullBWReached). In google/bbr any ACK may
    /// raise the level, not only the first of a round.
    pub(super) fn check_full_bw(&mut self, sample: Option<&RateSample>) {
        let Some(sample) = sample.filter(|s| !s.app_limited) else { return };
        if self.full_bw_now || !(self.round_start || self.settings.linux) {
            return;
        }
        let rate = rate(sample);
        if rate.as_bps() as f64 >= self.full_bw.as_bps() as f64 * set::FULL_BW_GROWTH {
            self.reset_full_bw(rate);
            return;
        }
        if self.round_start {
            self.full_bw_count += 1;
            self.full_bw_now = self.full_bw_count >= set::FULL_BW_ROUNDS;
            self.full_bw_reached |= self.full_bw_now;
        }
    }

    /// Whether a round of recovery in Startup had enough losses, in enough ranges, to show that the pipe is overfull
    /// (CheckStartupHighLoss). google/bbr counts ACKs that show losses, and any round of fast recovery will do.
    pub(super) fn check_startup_loss(&mut self, ack: &Ack, path: &Path) {
        if self.settings.linux && !ack.newly_lost.is_zero() {
            self.lost_acks = self.lost_acks.saturating_add(1);
        }
        if !self.loss_round_start {
            return;
        }
        let (ranges, acks) = (core::mem::take(&mut self.lost_ranges), core::mem::take(&mut self.lost_acks));
        let Some(sample) = ack.rate.as_ref() else { return };
        let in_recovery = if self.settings.linux {
            path.phase == Phase::Recovery && acks >= set::STARTUP_LOSSES
        } else {
            let a_round = self.recovery_since.is_some_and(|since| sample.prior_delivered >= since);
            a_round && ranges >= set::STARTUP_LOSSES
        };
        if !self.full_bw_reached && in_recovery && too_high(sample.lost, sample.tx_inflight) {
            self.undo.state = Some(State::Startup);
            // The section on Startup does not name full_bw_now; the test cases do. Nothing depends on it before the
            // next probe resets it.
            self.full_bw_now |= !self.settings.linux;
            self.startup_is_too_high(path);
        }
    }

    /// Ends Startup because of losses or marks (google/bbr's bbr_handle_queue_too_high_in_startup).
    pub(super) fn startup_is_too_high(&mut self, path: &Path) {
        self.full_bw_reached = true;
        let bdp = self.bdp(self.max_bw.max(), 1.0, path);
        self.bounds.inflight_long = Some(bdp.max(self.inflight_latest));
    }

    /// Records the first loss of a round (NoteLoss), or a mark that counts as one.
    pub(super) fn note_loss(&mut self, path: &Path) {
        if !self.loss_in_round {
            self.loss_round_end = path.delivered;
            self.loss_in_round = true;
        }
    }

    /// Handles a lost segment (HandleLostPacket).
    pub(super) fn handle_lost(&mut self, lost: &LostSegment, path: &Path, win: &Window) {
        self.save_state(Self::episode_of(path), win);
        self.note_loss(path);
        if lost.start != self.lost_until {
            self.lost_ranges = self.lost_ranges.saturating_add(1);
        }
        self.lost_until = lost.start.saturating_add(lost.bytes.as_u64());
        if self.probe_samples && too_high(lost.lost, lost.tx_inflight) {
            self.probe_too_high(inflight_at_loss(lost), lost.app_limited, path, win);
        }
    }

    /// Handles a probe that lost more than 2 %, or had too many marks: what was in flight becomes the long-term bound
    /// (BBRHandleInflightTooHigh).
    pub(super) fn probe_too_high(&mut self, inflight: Bytes, app_limited: bool, path: &Path, win: &Window) {
        (self.prev_too_high, self.probe_samples) = (true, false);
        if !app_limited {
            self.bounds.inflight_long = Some(inflight.max(self.target_inflight(path, win).mul_f64(set::BETA)));
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.enter_down(path);
        }
    }

    /// Whether the sample shows that too much was in flight.
    pub(super) fn sample_too_high(sample: &RateSample) -> bool {
        too_high(sample.lost, sample.tx_inflight)
    }

    /// The rate of the sample; zero if there is none.
    pub(super) fn rate_of(sample: Option<&RateSample>) -> Rate {
        sample.map_or(Rate::ZERO, rate)
    }
}
