//! The long-term bandwidth: finds a token-bucket policer by two intervals of equal rate and high loss.
//!
//! T. Flach et al., "An Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016; Linux's `bbr_lt_bw_sampling`.

use super::UNIT;
use crate::Path;
use narrows_units::{Bytes, Duration, Instant, Rate};

/// Shortest interval in rounds; the longest is four times as long (`bbr_lt_intvl_min_rtts`).
const MIN_ROUNDS: u32 = 4;
/// Bytes lost per 256 delivered from which an interval counts: 20 % (`bbr_lt_loss_thresh`).
const LOSS_THRESH: u64 = 50;
/// Two intervals agree if their rates differ by at most 1/8 (`bbr_lt_bw_ratio`) ..
const RATIO: u64 = UNIT / 8;
/// .. or by at most 4 kb/s (`bbr_lt_bw_diff`).
const DIFFERENCE: u64 = 4000;
/// Rounds for which the long-term bandwidth is used (`bbr_lt_bw_max_rtts`).
const HOLD_ROUNDS: u32 = 48;

/// Input of the detector from one ACK.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) round_start: bool,
    pub(super) losses: bool,
    pub(super) app_limited: bool,
    pub(super) in_probe_bw: bool,
}

/// Detector of a policer.
#[derive(Clone, Debug, Default)]
pub(super) struct Policer {
    sampling: bool,
    using: bool,
    bw: Option<Rate>,
    rounds: u32,
    since: Instant,
    delivered: Bytes,
    lost: Bytes,
}

impl Policer {
    /// The policed rate, while it is used.
    pub(super) fn rate(&self) -> Option<Rate> {
        self.bw.filter(|_| self.using)
    }

    /// Clears everything and begins an interval.
    pub(super) fn reset(&mut self, path: &Path) {
        (self.bw, self.using, self.sampling) = (None, false, false);
        self.begin(path);
    }

    fn begin(&mut self, path: &Path) {
        // The kernel's interval is in whole milliseconds.
        self.since = path.now;
        (self.delivered, self.lost, self.rounds) = (path.delivered, path.lost, 0);
    }

    /// Handles an ACK; `true` if the long-term bandwidth has expired and gain cycling begins again.
    pub(super) fn look(&mut self, look: Look, path: &Path) -> bool {
        if self.using {
            self.rounds += u32::from(look.in_probe_bw && look.round_start);
            let over = self.rounds >= HOLD_ROUNDS;
            if over {
                self.reset(path);
            }
            return over;
        }
        if !self.sampling {
            if !look.losses {
                return false;
            }
            self.begin(path);
            self.sampling = true;
        }
        self.rounds += u32::from(look.round_start);
        if look.app_limited || self.rounds > 4 * MIN_ROUNDS {
            self.reset(path);
        } else if self.rounds >= MIN_ROUNDS && look.losses {
            self.end(path);
        }
        false
    }

    /// Ends an interval if its losses were high enough.
    fn end(&mut self, path: &Path) {
        let lost = path.lost.saturating_sub(self.lost);
        let delivered = path.delivered.saturating_sub(self.delivered);
        let time = Duration::from_millis(path.now.since(self.since).as_millis());
        if delivered.is_zero() || lost * UNIT < delivered * LOSS_THRESH || time.is_zero() {
            return;
        }
        let bw = Rate::of(delivered, time);
        if let Some(before) = self.bw {
            let difference = bw.as_bps().abs_diff(before.as_bps());
            let close = u128::from(difference) * u128::from(UNIT) <= u128::from(before.as_bps()) * u128::from(RATIO);
            if close || difference <= DIFFERENCE {
                self.bw = Some(Rate::bps(bw.as_bps() / 2 + before.as_bps() / 2));
                (self.using, self.rounds) = (true, 0);
                return;
            }
        }
        self.bw = Some(bw);
        self.begin(path);
    }
}
