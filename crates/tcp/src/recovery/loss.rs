//! The Loss phase, common to all recoveries: from a timeout until what was outstanding at that time is acknowledged
//! (RFC 6582, section 3.2; RFC 6675, section 5.1; F-RTO, RFC 5682).

use super::Settings;
use super::event::{AckEvent, Next, Room, next_new};
use super::frto::Frto;
use crate::scoreboard::Scoreboard;

/// The Loss phase, common to all: from a timeout until what was outstanding at that time is acknowledged.
#[derive(Debug, Default)]
pub(super) struct Loss {
    /// SND.NXT at the latest timeout; 0 before any.
    pub(super) recover: u64,
    pub(super) active: bool,
    /// F-RTO, if it is in use.
    pub(super) frto: Option<Box<Frto>>,
}

impl Loss {
    /// Before any timeout, with F-RTO if the settings ask for it.
    pub(super) fn with_frto(settings: &Settings) -> Self {
        Self { frto: settings.frto.then(|| Box::new(Frto::new(settings))), ..Self::default() }
    }

    pub(super) fn start(&mut self, nxt: u64) {
        (self.recover, self.active) = (nxt, true);
    }

    /// Starts the phase after a timeout; `in_recovery` is whether fast recovery was under way.
    pub(super) fn expire(&mut self, nxt: u64, in_recovery: bool, board: &Scoreboard) {
        if let Some(frto) = &mut self.frto {
            frto.on_timeout(board.head().map_or(nxt, |head| head.start), self.active, in_recovery);
        }
        self.start(nxt);
    }

    /// Whether an ACK shows that the latest timeout was spurious (F-RTO).
    #[inline]
    pub(super) fn is_spurious(&mut self, ack: &AckEvent, board: &Scoreboard) -> bool {
        match &mut self.frto {
            Some(frto) if self.active => frto.on_ack(ack, self.recover, board.high_sacked()),
            _ => false,
        }
    }

    /// Ends the phase, because the timeout was spurious.
    pub(super) fn cancel(&mut self) {
        self.active = false;
        if let Some(frto) = &mut self.frto {
            frto.stop();
        }
    }

    /// What F-RTO sends next; `None` if recovery is conventional.
    pub(super) fn next_new(&mut self, board: &Scoreboard, room: &Room) -> Option<Next> {
        let recover = self.recover;
        self.frto.as_mut().filter(|_| self.active).and_then(|frto| frto.next(board, room, recover))
    }

    /// What to send next in the phase: new data where F-RTO asks for it, else as [`next_by_pipe`].
    pub(super) fn next(&mut self, board: &mut Scoreboard, room: &Room) -> Next {
        let left = self.frto.as_ref().map_or(0, |frto| frto.left());
        let room = &Room { cwnd: room.cwnd + left, new: room.new };
        self.next_new(board, room).unwrap_or_else(|| next_by_pipe(board, room))
    }

    /// Whether something sent after the latest timeout is acknowledged with SND.UNA at `una`, so that duplicate ACKs do
    /// not answer needless retransmissions (RFC 6582, section 3.2, step 2: "covers more than recover").
    pub(super) fn is_behind(&self, una: u64) -> bool {
        covers_more(una, self.recover)
    }

    /// Returns whether the phase ends with SND.UNA at `una`.
    pub(super) fn ends(&mut self, una: u64) -> bool {
        let ends = self.active && una >= self.recover;
        if ends {
            self.cancel();
        }
        ends
    }
}

/// Whether SND.UNA at `una` covers more than what was sent up to `recover`, an earlier SND.NXT; true at the start (0).
/// An ACK of exactly that much may answer a needless retransmission (RFC 6582, section 3.2, step 2).
#[inline]
pub(super) fn covers_more(una: u64, recover: u64) -> bool {
    recover == 0 || una > recover
}

/// What to send in the Loss phase: lost segments, in order, then new data, as the pipe allows.
pub(super) fn next_by_pipe(board: &mut Scoreboard, room: &Room) -> Next {
    if board.lost() > 0
        && let Some(index) = board.next_hole()
        && let Some(segment) = board.get(index)
        && segment.has(crate::segment::flag::LOST)
    {
        // The head is always allowed: cwnd may be smaller than a segment that was sent when SMSS was not yet its bound.
        let fits = board.pipe() == 0 || board.pipe() + u64::from(segment.len) <= room.cwnd;
        return if fits { Next::Retransmit(index) } else { Next::Hold };
    }
    next_new(board.pipe(), room, room.cwnd)
}
