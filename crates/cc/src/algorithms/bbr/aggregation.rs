//! The degree of ACK aggregation: how much more arrives at once than the bandwidth explains.

use super::UNIT;
use crate::Path;
use narrows_units::{Bytes, Duration, Instant, Rate};

/// Rounds in each of the two windows of the maximum (`bbr_extra_acked_win_rtts`).
const WINDOW_ROUNDS: u32 = 5;
/// Aggregation adds at most the bandwidth's bytes in this time to the window (`bbr_extra_acked_max_us`).
const MAX_TIME: Duration = Duration::from_millis(100);
/// Segments after which a new epoch begins (`bbr_ack_epoch_acked_reset_thresh`).
const EPOCH_LIMIT: u64 = 1 << 20;

/// Linux's estimator: the excess over `bw * elapsed` since the start of an epoch, and its maximum over two alternating
/// windows of rounds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Aggregation {
    epoch_start: Instant,
    epoch_acked: Bytes,
    extra: [Bytes; 2],
    rounds: u32,
    at: usize,
}

impl Aggregation {
    /// Begins a new epoch, as at the start of a connection and after idle time.
    pub(crate) fn restart(&mut self, now: Instant) {
        (self.epoch_start, self.epoch_acked) = (now, Bytes::ZERO);
    }

    /// Handles an ACK that delivered `acked` while `bw` was the estimate and `cwnd` the window.
    pub(crate) fn on_ack(&mut self, acked: Bytes, bw: Rate, cwnd: Bytes, round_start: bool, path: &Path) {
        if round_start {
            self.rounds += 1;
            if self.rounds >= WINDOW_ROUNDS {
                (self.rounds, self.at) = (0, 1 - self.at);
                self.extra[self.at] = Bytes::ZERO;
            }
        }
        let mut expected = bw.bytes_in(path.now.since(self.epoch_start));
        if self.epoch_acked <= expected || self.epoch_acked + acked >= path.smss * EPOCH_LIMIT {
            self.restart(path.now);
            expected = Bytes::ZERO;
        }
        self.epoch_acked += acked;
        let extra = self.epoch_acked.saturating_sub(expected).min(cwnd);
        self.extra[self.at] = self.extra[self.at].max(extra);
    }

    /// The maximum excess of the last five to ten rounds.
    pub(crate) fn max(&self) -> Bytes {
        self.extra[0].max(self.extra[1])
    }

    /// What the window adds for aggregation, with `gain` in 1/256.
    pub(crate) fn allowance(&self, gain: u64, bw: Rate) -> Bytes {
        (self.max() * gain / UNIT).min(bw.bytes_in(MAX_TIME))
    }
}
