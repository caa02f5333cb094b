//! SACK-based recovery (RFC 6675).
//!
//! Sources: RFC 6675, sections 4 and 5. State: `recovery_point` (RecoveryPoint), `rescue` (RescueRxt); the scoreboard
//! has HighRxt, IsLost and Pipe. Differences: an ACK that advances SND.UNA also begins recovery if IsLost holds for the
//! new head, as in Linux (the RFC waits for the next duplicate); SACK information survives a timeout (the RFC's choice
//! in section 5.1).
//!
//! A lost retransmission (`Config::lost_retransmission`) leaves the pipe and is sent again before any other hole. It is
//! a second indication of congestion (RFC 5681, section 4.3; RFC 3168, section 6.1.2): if it was sent since the last
//! reduction, and so at most once per round trip, the window is reduced again. Linux does not reduce again, but its
//! proportional rate reduction sends no more than is delivered; with RFC 6675's pipe a window that stays too large
//! loses packets for as long as the episode lasts.
//!
//! With the same switch, delivered retransmissions show the loss of what was sent before them, as in RACK (RFC 8985).
//! `IsLost` waits for SACK blocks above a hole, which never come for the end of a burst. That end would stay in the
//! pipe until all holes below it are repaired with the rest of the window. After Hybla's bursts that took minutes.
//!
//! Vectors: `sack_recovers_two_losses_of_twenty`, `sack_sends_one_rescue_retransmission`,
//! `a_lost_retransmission_is_sent_again_without_a_timeout`, `retransmissions_tell_the_loss_of_what_they_overtook`.

use super::{AckEvent, Clock, Loss, LossRecovery, Next, Room, Settings, Verdict, next_new, phase};
use crate::scoreboard::Scoreboard;
use crate::segment::flag;
use narrows_cc::Phase;

/// SACK-based recovery.
#[derive(Debug)]
pub(crate) struct Sack {
    settings: Settings,
    dupacks: u32,
    /// SND.NXT when the last episode began; 0 before any.
    recovery_point: u64,
    in_recovery: bool,
    /// Whether to retransmit the first segment of an episode, whatever the window allows (step 4.3).
    retransmit: bool,
    /// Whether this episode's rescue retransmission is still available (NextSeg, rule 4).
    rescue: bool,
    /// Whether only SACK blocks show losses, as in FACK: there is no rescue retransmission, and no retransmission shows
    /// what it overtook.
    by_blocks_alone: bool,
    loss: Loss,
}

/// What an ACK with SACKed data on the board shows, by the rules of a recovery.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Judgement {
    /// Octets newly marked lost.
    pub(super) newly_lost: u64,
    /// Whether an episode is due, if none is under way.
    pub(super) due: bool,
}

/// The ACK to judge, and what is known besides the board.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case<'a> {
    pub(super) settings: &'a Settings,
    pub(super) ack: &'a AckEvent,
    /// Whether duplicate ACKs alone make an episode due.
    pub(super) enough_dupacks: bool,
    /// Whether an episode may begin; if not, one is under way.
    pub(super) may_enter: bool,
}

/// RFC 6675's `IsLost`; an episode is due once it holds for the head (section 5, steps 1 and 2).
fn judge(case: &Case<'_>, board: &mut Scoreboard) -> Judgement {
    let Settings { smss, dupthresh, .. } = *case.settings;
    let newly_lost = board.mark_lost(dupthresh, u64::from(dupthresh - 1) * u64::from(smss));
    let head_lost = board.head().is_some_and(|s| s.has(flag::LOST));
    Judgement { newly_lost, due: head_lost || case.enough_dupacks }
}

impl Sack {
    /// A connection without losses yet.
    pub(crate) fn new(settings: Settings, board: &mut Scoreboard) -> Self {
        if settings.lost_retransmission {
            board.track_retransmissions();
        }
        Self {
            settings,
            dupacks: 0,
            recovery_point: 0,
            in_recovery: false,
            retransmit: false,
            rescue: false,
            by_blocks_alone: false,
            loss: Loss::with_frto(&settings),
        }
    }

    /// The same, with losses shown by SACK blocks alone.
    pub(super) fn by_blocks_alone(self) -> Self {
        Self { by_blocks_alone: true, ..self }
    }

    /// Processes an ACK as [`LossRecovery::on_ack`] does; `judge` decides what it shows to be lost.
    pub(super) fn digest(
        &mut self,
        ack: &AckEvent,
        board: &mut Scoreboard,
        judge: impl FnOnce(&Case<'_>, &mut Scoreboard) -> Judgement,
    ) -> Verdict {
        let mut verdict = Verdict::default();
        if ack.acked > 0 {
            self.dupacks = 0;
            self.retransmit = false;
            if self.in_recovery && ack.una >= self.recovery_point {
                self.in_recovery = false;
                verdict.exit = true;
            }
            verdict.exit |= self.loss.ends(ack.una);
        } else if ack.sacked > 0 {
            self.dupacks += 1;
        }
        let Settings { smss, dupthresh, .. } = self.settings;
        if board.awaits_retransmissions() {
            let octets = u64::from(dupthresh - 1) * u64::from(smss);
            (verdict.newly_lost, verdict.lost_retransmission) = board.mark_lost_retransmissions(dupthresh, octets);
        }
        let overtakes = self.settings.lost_retransmission && !self.by_blocks_alone;
        let overtaken = if overtakes { board.mark_overtaken(dupthresh) } else { 0 };
        verdict.newly_lost += overtaken;
        if !board.any_sacked() && overtaken == 0 {
            return verdict;
        }
        let may_enter = !(self.in_recovery || self.loss.active || ack.una < self.recovery_point);
        let enough_dupacks = self.dupacks >= dupthresh && ack.acked == 0;
        let judgement = judge(&Case { settings: &self.settings, ack, enough_dupacks, may_enter }, board);
        verdict.newly_lost += judgement.newly_lost;
        if may_enter && judgement.due {
            self.begin(ack.nxt, board);
            verdict.enter = true;
        }
        verdict
    }

    /// Whether an ACK shows that the latest timeout was spurious.
    pub(super) fn is_spurious(&mut self, ack: &AckEvent, board: &Scoreboard) -> bool {
        self.loss.is_spurious(ack, board)
    }

    /// Whether the pipe alone governs what is sent outside of fast recovery and Loss.
    #[inline]
    pub(super) fn goes_by_pipe(&self) -> bool {
        self.settings.limited_transmit
    }

    /// What to send next outside of fast recovery and Loss.
    #[inline]
    pub(super) fn next_when_open(&self, board: &Scoreboard, room: &Room) -> Next {
        // Limited transmit with SACK is governed by pipe (RFC 6675, section 5, step 3).
        let used = if self.settings.limited_transmit { board.pipe() } else { board.flight() };
        next_new(used, room, room.cwnd)
    }

    fn begin(&mut self, nxt: u64, board: &mut Scoreboard) {
        self.in_recovery = true;
        self.recovery_point = nxt;
        self.rescue = !self.by_blocks_alone;
        board.restart_retransmission();
        self.retransmit = board.next_hole() == Some(board.head_index());
    }

    fn next_in_recovery(&mut self, board: &mut Scoreboard, room: &Room) -> Next {
        if self.retransmit && !board.is_empty() {
            return Next::Retransmit(board.head_index());
        }
        let pipe = board.pipe();
        let hole = board.next_hole().and_then(|index| board.get(index).map(|s| (index, *s)));
        let fits = |len: u64| pipe + len <= room.cwnd;
        // Rule 1. If a hole is not lost, no hole above it is.
        if let Some((index, segment)) = hole
            && segment.has(flag::LOST)
        {
            return if fits(u64::from(segment.len)) { Next::Retransmit(index) } else { Next::Hold };
        }
        // Rule 2.
        if room.new > 0 {
            return next_new(pipe, room, room.cwnd);
        }
        // Rule 3.
        if let Some((index, segment)) = hole
            && segment.start < board.high_sacked()
        {
            return if fits(u64::from(segment.len)) { Next::Retransmit(index) } else { Next::Hold };
        }
        // Rule 4.
        if self.rescue
            && let Some(index) = board.last_hole()
            && let Some(segment) = board.get(index)
        {
            return if fits(u64::from(segment.len)) { Next::Rescue(index) } else { Next::Hold };
        }
        Next::Idle
    }
}

impl LossRecovery for Sack {
    fn on_ack(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Verdict {
        if self.is_spurious(ack, board) {
            return Verdict { spurious: true, ..Verdict::default() };
        }
        self.digest(ack, board, judge)
    }

    fn on_timeout(&mut self, nxt: u64, _clock: &Clock, board: &mut Scoreboard) -> u64 {
        self.loss.expire(nxt, self.in_recovery, board);
        (self.dupacks, self.in_recovery, self.retransmit, self.rescue) = (0, false, false, false);
        self.recovery_point = nxt;
        board.mark_all_lost()
    }

    fn on_undo(&mut self, board: &mut Scoreboard) {
        (self.dupacks, self.in_recovery, self.retransmit, self.rescue) = (0, false, false, false);
        self.loss.cancel();
        // The verdict was wrong: what is SACKed now may be judged again.
        self.recovery_point = 0;
        board.clear_lost();
    }

    fn next(&mut self, board: &mut Scoreboard, room: &Room) -> Next {
        if self.in_recovery {
            return self.next_in_recovery(board, room);
        }
        if self.loss.active {
            return self.loss.next(board, room);
        }
        self.next_when_open(board, room)
    }

    fn on_sent(&mut self, sent: Next, _board: &Scoreboard) {
        match sent {
            Next::Retransmit(_) => self.retransmit = false,
            Next::Rescue(_) => self.rescue = false,
            _ => {}
        }
    }

    fn is_governed_by_pipe(&self) -> bool {
        true
    }

    fn wants_deliveries(&self) -> bool {
        self.settings.frto
    }

    fn phase(&self) -> Phase {
        phase(self.loss.active, self.in_recovery, self.dupacks)
    }
}
