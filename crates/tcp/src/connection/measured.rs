//! What a connection measures for those who watch it, beside what its congestion control needs.

use super::Connection;
use crate::rate::RateSampler;
use narrows_cc::RateSample;
use narrows_units::{Bytes, Instant};

/// Measurements of a watched sender; see [`Connection::begin_measuring`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The last sample of the delivery rate; `None` before the first.
    pub rate: Option<RateSample>,
    /// Packet-timed round trips: one ends when data sent after the last one's end is delivered
    /// (draft-ietf-ccwg-bbr, section 5.5.1).
    pub rounds: u64,
    /// Bytes that ACKs reported as marked CE.
    pub marked: Bytes,
    /// Whether cwnd stopped the sender last time; see [`narrows_cc::Path::cwnd_limited`].
    pub cwnd_limited: bool,
    /// Whether cwnd is below ssthresh.
    pub slow_start: bool,
}

impl Connection {
    /// Lets the connection take delivery-rate samples, and count round trips and marks, whatever its congestion control
    /// needs. Called before the first segment. It changes nothing of what the connection sends.
    pub fn begin_measuring(&mut self) {
        self.tx.calm = false;
        if !self.rate.is_sampling() {
            self.tx.board.keep_stamps();
            self.rate = RateSampler::sampling();
        }
        self.rate.watch();
    }

    /// What a watched sender has measured; no rate, rounds and marks without
    /// [`begin_measuring`](Self::begin_measuring).
    #[must_use]
    pub fn measured(&self) -> Measured {
        let path = self.path(self.tx.board.flight(), Instant::ZERO);
        let (rate, rounds, marked) = self.rate.measured();
        Measured {
            rate,
            rounds,
            marked: Bytes::new(marked),
            cwnd_limited: path.cwnd_limited,
            slow_start: self.congestion.win.in_slow_start(&path),
        }
    }
}
