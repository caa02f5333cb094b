//! Tahoe: fast retransmit, then slow start from one segment (Jacobson 1988).
//!
//! Sources: V. Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988, as in 4.3BSD-Tahoe; K. Fall and S. Floyd,
//! "Simulation-based Comparisons of Tahoe, Reno, and SACK TCP", CCR 1996, section 2; ns-2's Agent/TCP. State:
//! `dupacks`; `inflation`, what limited transmit may use beyond cwnd. The third duplicate ACK is a congestion event,
//! and `Verdict::restart` then sets cwnd to one segment. Everything outstanding counts as lost (go-back-N), so that the
//! Loss phase follows, as after a timeout. Segments that the receiver already has are skipped, because its ACKs cover
//! them. Differences: one reduction per window as with ns-2's `bugFix_`: until something sent after the reduction is
//! acknowledged, duplicate ACKs are ignored, because they answer needless retransmissions; the timer is not restarted
//! at a fast retransmit, unlike in ns-2. What SACK reported is not sent again. After an ECN echo in the same window
//! cwnd still goes to one segment and ssthresh stays (as in ns-2).
//! Vectors: `tahoe_starts_anew_from_one_segment`, `tahoe_reduces_once_per_window`.

use super::{
    AckEvent, Clock, Loss, LossRecovery, Next, Room, Settings, Verdict, inflated, next_by_pipe, next_new, phase,
};
use crate::scoreboard::Scoreboard;
use narrows_cc::Phase;

/// Tahoe recovery.
#[derive(Debug)]
pub(crate) struct Tahoe {
    settings: Settings,
    dupacks: u32,
    /// Octets by which the usable window exceeds cwnd.
    inflation: i64,
    loss: Loss,
}

impl Tahoe {
    /// A connection without losses yet.
    pub(crate) fn new(settings: Settings) -> Self {
        Self { settings, dupacks: 0, inflation: 0, loss: Loss::default() }
    }

    fn reset(&mut self) {
        (self.dupacks, self.inflation) = (0, 0);
    }

    /// Marks everything outstanding as lost.
    fn restart(&mut self, nxt: u64, board: &mut Scoreboard) -> u64 {
        self.reset();
        self.loss.start(nxt);
        board.mark_all_lost()
    }

    fn on_duplicate(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Verdict {
        self.dupacks = self.dupacks.saturating_add(1);
        if self.dupacks == self.settings.dupthresh && self.loss.is_behind(ack.una) {
            let newly_lost = self.restart(ack.nxt, board);
            return Verdict { enter: true, restart: true, newly_lost, ..Verdict::default() };
        }
        if self.settings.limited_transmit && self.dupacks < self.settings.dupthresh {
            self.inflation = i64::from(self.dupacks.min(2)) * i64::from(self.settings.smss);
        }
        Verdict::default()
    }
}

impl LossRecovery for Tahoe {
    fn on_ack(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Verdict {
        if ack.acked > 0 {
            self.reset();
            return Verdict { exit: self.loss.ends(ack.una), ..Verdict::default() };
        }
        if ack.duplicate && !self.loss.active {
            return self.on_duplicate(ack, board);
        }
        Verdict::default()
    }

    fn on_timeout(&mut self, nxt: u64, _clock: &Clock, board: &mut Scoreboard) -> u64 {
        self.restart(nxt, board)
    }

    fn on_undo(&mut self, board: &mut Scoreboard) {
        self.reset();
        self.loss.active = false;
        board.clear_lost();
    }

    fn next(&mut self, board: &mut Scoreboard, room: &Room) -> Next {
        if self.loss.active {
            return next_by_pipe(board, room);
        }
        next_new(board.flight(), room, inflated(room.cwnd, self.inflation))
    }

    fn on_sent(&mut self, _sent: Next, _board: &Scoreboard) {}

    fn phase(&self) -> Phase {
        phase(self.loss.active, false, self.dupacks)
    }
}
