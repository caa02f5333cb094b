//! CDG's Hybrid Slow Start: slow start ends when ACKs span half of the smallest delay, or when the delay rises.
//!
//! It differs from CUBIC's ([`hystart`](crate::hystart)): it works at any cwnd, uses CDG's samples, which the
//! delayed-ACK filter has passed, and restarts its ACK train when the application limits the flow.

use crate::{Path, Window};
use narrows_units::{Duration, Instant};

/// ACKs closer together than this belong to one train.
const SPACING: Duration = Duration::from_millis(3);
/// Samples of a round before the delay is judged.
const SAMPLES: u32 = 8;
/// Least thresholds, in microseconds.
const LEAST_US: i64 = 125;

/// The state of `tcp_cdg_hystart_update`.
#[derive(Clone, Copy, Debug)]
pub(super) struct HybridStart {
    train: bool,
    delay: bool,
    delay_min: i64,
    last_ack: Option<Instant>,
    round_start: Instant,
    samples: u32,
}

impl HybridStart {
    /// A detector of ACK trains, of delay, of both or of nothing.
    pub(super) fn new(train: bool, delay: bool) -> Self {
        Self { train, delay, delay_min: 0, last_ack: None, round_start: Instant::ZERO, samples: 0 }
    }

    /// A round has ended.
    pub(super) fn begin_round(&mut self) {
        (self.last_ack, self.samples) = (None, 0);
    }

    /// Forgets the path.
    pub(super) fn clear(&mut self) {
        *self = Self::new(self.train, self.delay);
    }

    /// Looks at an ACK in slow start, with the smallest round-trip time of the round in microseconds (0 without one).
    /// Sets ssthresh to cwnd where slow start ends.
    pub(super) fn observe(&mut self, rtt_min: i64, path: &Path, win: &mut Window) {
        if !self.train && !self.delay {
            return;
        }
        if rtt_min > 0 {
            self.delay_min = if self.delay_min > 0 { self.delay_min.min(rtt_min) } else { rtt_min };
        }
        if self.delay_min == 0 {
            return;
        }
        if (self.train && self.is_train(path)) || (self.delay && self.is_late(rtt_min)) {
            win.ssthresh = Some(win.cwnd.max(path.smss * 2));
        }
    }

    /// Whether closely spaced ACKs span half of the smallest delay.
    fn is_train(&mut self, path: &Path) -> bool {
        match self.last_ack {
            Some(last) if path.cwnd_limited => {
                if path.now < last + SPACING {
                    self.last_ack = Some(path.now);
                    let half = Duration::from_micros((self.delay_min / 2).max(LEAST_US).unsigned_abs());
                    return path.now > self.round_start + half;
                }
                false
            }
            _ => {
                (self.last_ack, self.round_start) = (Some(path.now), path.now);
                false
            }
        }
    }

    /// Whether the round's smallest delay is an eighth above the smallest ever.
    fn is_late(&mut self, rtt_min: i64) -> bool {
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        rtt_min > (self.delay_min + self.delay_min / 8).max(LEAST_US)
    }
}
