//! The reordering window: how long a segment may be late (RFC 8985, section 6.2, steps 3 and 4).

use super::super::{AckEvent, Clock};
use crate::offset::MaybeOffset;
use crate::scoreboard::Scoreboard;
use narrows_settings::RecoveryStyle;
use narrows_units::Duration;

/// Recoveries without a D-SACK after which the window is the default again.
const PERSISTENCE: u8 = 16;

/// The window and what adapts it.
#[derive(Debug)]
pub(super) struct ReorderingWindow {
    style: RecoveryStyle,
    /// RACK.reordering_seen.
    seen: bool,
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
    pub(super) fn new(style: RecoveryStyle) -> Self {
        Self { style, seen: false, fack: 0, mult: 1, persist: PERSISTENCE, round: MaybeOffset::NONE }
    }

    /// Detects reordering, and widens the window after a D-SACK. `probe` is TLP.end_seq.
    pub(super) fn on_ack(&mut self, ack: &AckEvent, probe: Option<u64>, high_sacked: u64) {
        let fack = self.fack.max(ack.una - ack.acked);
        self.seen |= ack.deliveries.original.is_some_and(|start| start < fack);
        self.fack = fack.max(ack.una).max(high_sacked);
        if self.round.get().is_some_and(|end| ack.una >= end) {
            self.round = MaybeOffset::NONE;
        }
        let Some((_, right)) = ack.dsack else { return };
        // Linux: a D-SACK without reordering, or for a probe, says nothing of the window (`tcp_dsack_seen`).
        let counts = self.style == RecoveryStyle::Rfc || (self.seen && probe != Some(right));
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

    /// Notes that a recovery ends because it was spurious; `reordered` is whether a late original ended it.
    pub(super) fn on_undone(&mut self, reordered: bool) {
        self.seen |= reordered;
        if self.style == RecoveryStyle::Rfc {
            self.on_recovered();
        }
    }

    /// RACK.reo_wnd; `episode` is whether a recovery is under way.
    pub(super) fn length(&self, clock: &Clock, episode: bool, dupthresh: u32, board: &Scoreboard) -> Duration {
        if !self.seen && (episode || board.has_sacked(dupthresh)) {
            return Duration::ZERO;
        }
        let quarters = clock.min_rtt.unwrap_or(Duration::ZERO) / 4 * u64::from(self.mult);
        quarters.min(clock.srtt.unwrap_or(quarters))
    }
}
