//! NewReno: partial ACKs keep fast recovery going (RFC 6582).
//!
//! Sources: RFC 6582, section 3.2. State: `recover`; `inflation`, the artificial part of cwnd, which partial ACKs
//! deflate and which may become negative. Differences: the "Impatient" variant of section 3.2 (the timer is restarted
//! at the first partial ACK only), or, if `Config::impatient` is off, section 4's "Slow-but-Steady", as in Linux; none
//! of the heuristics of section 4.2 that allow a fast retransmit below `recover`; the full ACK's window is the RFC's
//! first choice unless `Config::full_ack_cap` is off.
//! Vectors: `newreno_repairs_two_holes_in_one_episode`, `duplicates_of_exactly_recover_start_no_fast_retransmit`.

use super::{
    AckEvent, Clock, Loss, LossRecovery, Next, Room, RtoTimer, Settings, Verdict, covers_more, inflated, next_new,
    phase,
};
use crate::scoreboard::Scoreboard;
use narrows_cc::Phase;

/// NewReno recovery.
#[derive(Debug)]
pub(crate) struct NewReno {
    settings: Settings,
    dupacks: u32,
    /// Octets by which the usable window exceeds cwnd.
    inflation: i64,
    /// SND.NXT when the last episode began (RFC 6582's `recover` plus one); 0, the initial sequence number, before any.
    recover: u64,
    in_recovery: bool,
    partial_acks: u32,
    /// Whether to retransmit the head, whatever the window allows.
    retransmit: bool,
    loss: Loss,
}

impl NewReno {
    /// A connection without losses yet.
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            settings,
            dupacks: 0,
            inflation: 0,
            recover: 0,
            in_recovery: false,
            partial_acks: 0,
            retransmit: false,
            loss: Loss::with_frto(&settings),
        }
    }

    fn on_new_data(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Verdict {
        self.dupacks = 0;
        if self.in_recovery && ack.una < self.recover {
            self.partial_acks += 1;
            self.retransmit = board.is_head_missing();
            let smss = u64::from(self.settings.smss);
            self.inflation -= i64::try_from(ack.acked).unwrap_or(i64::MAX);
            if ack.acked >= smss {
                self.inflation += smss as i64;
            }
            let newly_lost = board.mark_head_lost();
            return Verdict {
                newly_lost,
                rto_timer: if self.settings.impatient && self.partial_acks > 1 {
                    RtoTimer::Keep
                } else {
                    RtoTimer::Usual
                },
                ..Verdict::default()
            };
        }
        let left_recovery = self.in_recovery;
        let left_loss = self.loss.ends(ack.una);
        self.reset();
        let smss = u64::from(self.settings.smss);
        let cap = board.flight().max(smss) + smss;
        Verdict {
            exit: left_recovery | left_loss,
            cwnd_cap: (left_recovery && self.settings.full_ack_cap).then_some(cap),
            ..Verdict::default()
        }
    }

    fn on_duplicate(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Verdict {
        self.dupacks += 1;
        let smss = i64::from(self.settings.smss);
        if self.in_recovery {
            self.inflation += smss;
        } else if self.dupacks == self.settings.dupthresh && covers_more(ack.una, self.recover) {
            self.in_recovery = true;
            self.recover = ack.nxt;
            self.partial_acks = 0;
            self.inflation = i64::from(self.settings.dupthresh) * smss;
            self.retransmit = board.is_head_missing();
            return Verdict { enter: true, newly_lost: board.mark_head_lost(), ..Verdict::default() };
        } else if self.settings.limited_transmit && self.dupacks < self.settings.dupthresh {
            self.inflation = i64::from(self.dupacks.min(2)) * smss;
        }
        Verdict::default()
    }

    fn reset(&mut self) {
        (self.dupacks, self.inflation, self.in_recovery, self.retransmit) = (0, 0, false, false);
    }
}

impl LossRecovery for NewReno {
    fn on_ack(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Verdict {
        if self.loss.is_spurious(ack, board) {
            return Verdict { spurious: true, ..Verdict::default() };
        }
        if ack.acked > 0 {
            self.on_new_data(ack, board)
        } else if ack.duplicate && !self.loss.active {
            self.on_duplicate(ack, board)
        } else {
            Verdict::default()
        }
    }

    fn on_timeout(&mut self, nxt: u64, _clock: &Clock, board: &mut Scoreboard) -> u64 {
        self.loss.expire(nxt, self.in_recovery, board);
        self.reset();
        self.recover = nxt;
        board.mark_all_lost()
    }

    fn on_undo(&mut self, board: &mut Scoreboard) {
        self.reset();
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
