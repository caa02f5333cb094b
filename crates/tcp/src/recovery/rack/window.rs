//! The reordering window: how long a segment may be late (RFC 8985, section 6.2, steps 3 and 4).

use super::super::{AckEvent, Clock, Settings};
use crate::offset::MaybeOffset;
use crate::scoreboard::Scoreboard;
use narrows_settings::RecoveryStyle;
use narrows_units::Duration;

/// Recoveries without a D-SACK after which the window is the default again.
const PERSISTENCE: u8 = 16;

/// The largest degree of reordering (`tcp_max_reordering`).
const MAX_DEGREE: u64 = 300;

/// The window and what adapts it.
#[derive(Debug)]
pub(super) struct ReorderingWindow {
    style: RecoveryStyle,
    smss: u64,
    /// DupThresh.
    dupthresh: u32,
    /// How often reordering was seen; more than 0 is RACK.reordering_seen.
    seen: u32,
    /// The largest distance of reordering, in segments; DupThresh at least.
    degree: u32,
    /// Offset after the highest octet delivered (RACK.fack). ACKs that are plain do not update it: SND.UNA is as high.
    fack: u64,
    /// RACK.reo_wnd_mult.
    mult: u8,
    /// RACK.reo_wnd_persist.
    persist: u8,
    /// SND.NXT when the window was last widened, until it is acknowledged (RACK.dsack_round).
    round: MaybeOffset,
}

impl ReorderingWindow {
    /// The window of a new connection.
    pub(super) fn new(settings: &Settings) -> Self {
        let Settings { style, smss, dupthresh, .. } = *settings;
        Self {
            style,
            smss: smss.into(),
            dupthresh,
            seen: 0,
            degree: dupthresh,
            fack: 0,
            mult: 1,
            persist: PERSISTENCE,
            round: MaybeOffset::NONE,
        }
    }

    /// Whether reordering went beyond DupThresh.
    pub(super) fn is_degree_raised(&self) -> bool {
        self.degree > self.dupthresh
    }

    /// The degree of reordering in segments, and how often reordering was seen.
    pub(super) fn reordering(&self) -> (u32, u32) {
        (self.degree, self.seen)
    }

    /// Notes that what begins at `low` was delivered after what ends at `high` (`tcp_check_sack_reordering`).
    fn on_reordering(&mut self, low: u64, high: u64) {
        self.seen = self.seen.saturating_add(1);
        let distance = high.saturating_sub(low).div_ceil(self.smss.max(1)).min(MAX_DEGREE);
        self.degree = self.degree.max(u32::try_from(distance).unwrap_or(u32::MAX));
    }

    /// Detects reordering, and widens the window after a D-SACK. `probe` is TLP.end_seq.
    pub(super) fn on_ack(&mut self, ack: &AckEvent, probe: Option<u64>, board: &Scoreboard) {
        let fack = self.fack.max(ack.una - ack.acked);
        if let Some(low) = ack.deliveries.original.filter(|low| *low < fack) {
            self.on_reordering(low, if board.any_sacked() { board.high_sacked() } else { ack.una });
        }
        self.fack = fack.max(ack.una).max(board.high_sacked());
        if self.round.get().is_some_and(|end| ack.una >= end) {
            self.round = MaybeOffset::NONE;
        }
        let Some((_, right)) = ack.dsack else { return };
        // Linux: a D-SACK without reordering, or for a probe, says nothing of the window (`tcp_dsack_seen`).
        let counts = self.style == RecoveryStyle::Rfc || (self.seen > 0 && probe != Some(right));
        if counts && self.round.get().is_none() {
            self.round = MaybeOffset::at(ack.nxt);
            self.mult = self.mult.saturating_add(1);
            self.persist = PERSISTENCE;
        }
    }

    /// Notes that a recovery has ended.
    pub(super) fn on_recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.mult = 1;
        }
    }

    /// Notes that a recovery ends because it was spurious; `fast` is whether it was fast recovery, where a late
    /// original is reordering in Linux (`tcp_try_undo_partial`).
    pub(super) fn on_undone(&mut self, fast: bool) {
        match self.style {
            RecoveryStyle::Rfc => self.on_recovered(),
            RecoveryStyle::Linux => self.seen = self.seen.saturating_add(u32::from(fast)),
        }
    }

    /// RACK.reo_wnd; `episode` is whether a recovery is under way.
    pub(super) fn length(&self, clock: &Clock, episode: bool, dupthresh: u32, board: &Scoreboard) -> Duration {
        if self.seen == 0 && (episode || board.has_sacked(dupthresh)) {
            return Duration::ZERO;
        }
        let quarters = clock.min_rtt.unwrap_or(Duration::ZERO) / 4 * u64::from(self.mult);
        quarters.min(clock.srtt.unwrap_or(quarters))
    }
}
