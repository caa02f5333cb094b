//! Forward acknowledgment: everything below the highest SACKed octet has left the network (Mathis and Mahdavi 1996).
//!
//! Sources: M. Mathis and J. Mahdavi, "Forward Acknowledgement: Refining TCP Congestion Control", SIGCOMM 1996, section
//! 3; ns-2's Agent/TCP/Fack. State: snd.fack is the scoreboard's highest SACKed octet plus one, retran_data its octets
//! retransmitted and not delivered; the rest is [`Sack`]'s. An episode begins when snd.fack is more than `dupthresh`
//! SMSS beyond SND.UNA, or with the third duplicate ACK. From then on every hole below snd.fack counts as lost, so that
//! the scoreboard's pipe is the paper's awnd = SND.NXT - snd.fack + retran_data. The rules of [`Sack`] for the window,
//! the order (holes, then new data) and lost retransmissions apply here too.
//!
//! Differences: there is no rescue retransmission, which is RFC 6675's. With `Config::limited_transmit` awnd also
//! governs before an episode, as in the paper; otherwise FlightSize does. The paper's "overdamping" (halve the window
//! of a round trip before where slow start overshot) would be part of congestion control and is not implemented. Its
//! "rampdown", which spreads the reduction over a round trip, is replaced by the better rule of `Reduction::Prr`.
//! Linux, until 4.14, deemed lost only what was more than its reordering metric below snd.fack.
//! Vectors: `fack_enters_on_the_first_sack_beyond_three_segments`, `fack_repairs_four_losses_of_ten`.

use super::sack::{Case, Judgement, Sack};
use super::{AckEvent, Clock, LossRecovery, Next, Room, Settings, Verdict, next_new};
use crate::scoreboard::Scoreboard;
use narrows_cc::Phase;

/// FACK recovery.
#[derive(Debug)]
pub(crate) struct Fack {
    sack: Sack,
    limited_transmit: bool,
}

impl Fack {
    /// A connection without losses yet.
    pub(crate) fn new(settings: Settings, board: &mut Scoreboard) -> Self {
        Self { sack: Sack::new(settings, board).by_blocks_alone(), limited_transmit: settings.limited_transmit }
    }
}

/// Whether snd.fack is far enough ahead; if so, or in an episode, all holes below it are lost.
fn judge(case: &Case<'_>, board: &mut Scoreboard) -> Judgement {
    let bound = u64::from(case.settings.dupthresh) * u64::from(case.settings.smss);
    let ahead = board.high_sacked().saturating_sub(case.ack.una) > bound;
    let due = ahead || case.enough_dupacks;
    let newly_lost = if due || !case.may_enter { board.mark_lost(1, 0) } else { 0 };
    Judgement { newly_lost, due }
}

impl LossRecovery for Fack {
    fn on_ack(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Verdict {
        if self.sack.is_spurious(ack, board) {
            return Verdict { spurious: true, ..Verdict::default() };
        }
        self.sack.digest(ack, board, judge)
    }

    fn on_timeout(&mut self, nxt: u64, clock: &Clock, board: &mut Scoreboard) -> u64 {
        self.sack.on_timeout(nxt, clock, board)
    }

    fn on_undo(&mut self, board: &mut Scoreboard) {
        self.sack.on_undo(board);
    }

    fn next(&mut self, board: &mut Scoreboard, room: &Room) -> Next {
        if self.limited_transmit && matches!(self.phase(), Phase::Open | Phase::Disorder) {
            return next_new(board.awnd(), room, room.cwnd);
        }
        self.sack.next(board, room)
    }

    fn on_sent(&mut self, sent: Next, board: &Scoreboard) {
        self.sack.on_sent(sent, board);
    }

    fn is_governed_by_pipe(&self) -> bool {
        true
    }

    fn wants_deliveries(&self) -> bool {
        self.sack.wants_deliveries()
    }

    fn phase(&self) -> Phase {
        self.sack.phase()
    }
}
