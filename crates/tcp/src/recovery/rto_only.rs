//! Only the retransmission timer (RFC 793): duplicate ACKs mean nothing.
//!
//! An expiry sends "the segment at the front of the retransmission queue again" (RFC 793, section 3.9) and nothing
//! else, even if no congestion window holds the others back. Everything outstanding then counts as lost, and follows
//! once an ACK shows that the front has arrived (go-back-N, as in ns-3's `TcpRfc793` of 2011). Segments that the
//! receiver already has are skipped, because its ACKs cover them. RFC 793 alone would wait for another expiry for each
//! further lost segment.

use super::{AckEvent, Clock, Loss, LossRecovery, Next, Room, Verdict, next_by_pipe};
use crate::scoreboard::Scoreboard;
use narrows_cc::Phase;

/// Recovery by the retransmission timer alone.
#[derive(Debug, Default)]
pub(crate) struct RtoOnly {
    loss: Loss,
    /// Whether no ACK has advanced since the latest expiry, so that only the front leaves.
    front_only: bool,
}

impl LossRecovery for RtoOnly {
    fn on_ack(&mut self, ack: &AckEvent, _board: &mut Scoreboard) -> Verdict {
        self.front_only &= ack.acked == 0;
        Verdict { exit: self.loss.ends(ack.una), ..Verdict::default() }
    }

    fn on_timeout(&mut self, nxt: u64, _clock: &Clock, board: &mut Scoreboard) -> u64 {
        self.loss.start(nxt);
        self.front_only = true;
        board.mark_all_lost()
    }

    fn on_undo(&mut self, board: &mut Scoreboard) {
        (self.loss.active, self.front_only) = (false, false);
        board.clear_lost();
    }

    fn next(&mut self, board: &mut Scoreboard, room: &Room) -> Next {
        if self.front_only && board.pipe() > 0 {
            return Next::Hold;
        }
        next_by_pipe(board, room)
    }

    fn on_sent(&mut self, _sent: Next, _board: &Scoreboard) {}

    fn phase(&self) -> Phase {
        if self.loss.active { Phase::Loss } else { Phase::Open }
    }
}
