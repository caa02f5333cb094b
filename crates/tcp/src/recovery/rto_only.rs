//! Only the retransmission timer (RFC 793): duplicate ACKs mean nothing.

use super::{AckEvent, Loss, LossRecovery, Next, Room, Verdict, next_by_pipe};
use crate::scoreboard::Scoreboard;
use narrows_cc::Phase;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct RtoOnly {
    loss: Loss,
}

impl LossRecovery for RtoOnly {
    fn on_ack(&mut self, ack: &AckEvent, _board: &mut Scoreboard) -> Verdict {
        Verdict { exit: self.loss.ends(ack.una), ..Verdict::default() }
    }

    fn on_timeout(&mut self, nxt: u64, board: &mut Scoreboard) -> u64 {
        self.loss.start(nxt);
        board.mark_all_lost()
    }

    fn on_undo(&mut self, board: &mut Scoreboard) {
        self.loss.active = false;
        board.clear_lost();
    }

    fn next(&mut self, board: &mut Scoreboard, room: &Room) -> Next {
        next_by_pipe(board, room)
    }

    fn on_sent(&mut self, _sent: Next) {}

    fn phase(&self) -> Phase {
        if self.loss.active { Phase::Loss } else { Phase::Open }
    }
}
