//! Fast retransmit and fast recovery that ends with the first ACK of new data (RFC 2581; RFC 5681, section 3.2).
//!
//! Sources: RFC 2581, section 3.2. State: `dupacks`, `inflation` (the segments that, by duplicate ACKs, have left the
//! network; RFC 5681 adds them to cwnd, here they are separate so that cwnd shows the algorithm's window, as in ns-2's
//! `dupwnd_`). Differences: as in ns-2 with `bugFix_`, duplicate ACKs up to the highest sequence number sent at the
//! last timeout do not start fast retransmit, because they answer the timeout's own retransmissions (RFC 6582, section
//! 1).
//! Vectors: `reno_recovers_one_loss_of_twenty`, `reno_reduces_once_per_hole`.

use super::{AckEvent, Clock, Loss, LossRecovery, Next, Room, Settings, Verdict, inflated, next_new, phase};
use crate::scoreboard::Scoreboard;
use narrows_cc::Phase;

/// Reno recovery.
#[derive(Debug)]
pub(crate) struct Reno {
    settings: Settings,
    dupacks: u32,
    /// Octets by which the usable window exceeds cwnd.
    inflation: i64,
    in_recovery: bool,
    /// Whether to retransmit the head, whatever the window allows.
    retransmit: bool,
    loss: Loss,
}

impl Reno {
    /// A connection without losses yet.
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            settings,
            dupacks: 0,
            inflation: 0,
            in_recovery: false,
            retransmit: false,
            loss: Loss::with_frto(&settings),
        }
    }

    fn on_duplicate(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Verdict {
        self.dupacks += 1;
        let smss = i64::from(self.settings.smss);
        if self.in_recovery {
            self.inflation += smss;
        } else if self.dupacks == self.settings.dupthresh && self.loss.is_behind(ack.una) {
            self.in_recovery = true;
            self.inflation = i64::from(self.settings.dupthresh) * smss;
            self.retransmit = board.is_head_missing();
            return Verdict { enter: true, newly_lost: board.mark_head_lost(), ..Verdict::default() };
        } else if self.settings.limited_transmit && self.dupacks < self.settings.dupthresh {
            self.inflation = i64::from(self.dupacks.min(2)) * smss;
        }
        Verdict::default()
    }
}

impl LossRecovery for Reno {
    fn on_ack(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Verdict {
        if self.loss.is_spurious(ack, board) {
            return Verdict { spurious: true, ..Verdict::default() };
        }
        if ack.acked > 0 {
            let exit = self.in_recovery | self.loss.ends(ack.una);
            (self.dupacks, self.inflation, self.in_recovery, self.retransmit) = (0, 0, false, false);
            return Verdict { exit, ..Verdict::default() };
        }
        if ack.duplicate && !self.loss.active {
            return self.on_duplicate(ack, board);
        }
        Verdict::default()
    }

    fn on_timeout(&mut self, nxt: u64, _clock: &Clock, board: &mut Scoreboard) -> u64 {
        self.loss.expire(nxt, self.in_recovery, board);
        (self.dupacks, self.inflation, self.in_recovery, self.retransmit) = (0, 0, false, false);
        board.mark_all_lost()
    }

    fn on_undo(&mut self, board: &mut Scoreboard) {
        (self.dupacks, self.inflation, self.in_recovery, self.retransmit) = (0, 0, false, false);
        self.loss.cancel();
        board.clear_lost();
    }

    fn next(&mut self, board: &mut Scoreboard, room: &Room) -> Next {
        if self.retransmit && !board.is_empty() {
            return Next::Retransmit(board.head_index());
        }
        if self.loss.active {
            return self.loss.next(board, room);
        }
        next_new(board.flight(), room, inflated(room.cwnd, self.inflation))
    }

    fn on_sent(&mut self, sent: Next, _board: &Scoreboard) {
        if matches!(sent, Next::Retransmit(_)) {
            self.retransmit = false;
        }
    }

    fn wants_deliveries(&self) -> bool {
        self.settings.frto
    }

    fn phase(&self) -> Phase {
        phase(self.loss.active, self.in_recovery, self.dupacks)
    }
}
