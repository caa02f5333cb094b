//! RACK-TLP: losses by time, and probes of the tail (RFC 8985).
//!
//! A segment is lost if something sent later has been delivered, and a round-trip time and a reordering window have
//! passed since it was sent. That holds for originals and retransmissions alike. A segment that may still be late is
//! awaited by the reordering timer. If nothing comes back at all, a probe is sent (`tail.rs`), so that losses at the
//! end of a flight show.
//!
//! Sources: RFC 8985, sections 6 and 7; Linux 7.2's `tcp_recovery.c`, `tcp_process_tlp_ack`, `tcp_enter_loss` and
//! `tcp_fastretrans_alert`. State: `newest` (RACK.xmit_ts, RACK.end_seq), `rtt` (RACK.rtt), `window.rs` (RACK.fack,
//! RACK.reordering_seen, RACK.reo_wnd_mult, RACK.reo_wnd_persist, RACK.dsack_round), `probe` (TLP.end_seq,
//! TLP.is_retrans). The scoreboard has Segment.lost, Segment.retransmitted and Segment.xmit_ts in the order of sending.
//!
//! Where Linux differs, [`RecoveryStyle`] chooses:
//!
//! | | RFC 8985 | Linux |
//! |---|---|---|
//! | reordering timer | the largest remaining time | and 2 ms (`TCP_TIMEOUT_MIN`) |
//! | SACKed part of a segment | is SACKed | is ignored |
//! | ACK that later ones have overtaken | is ignored | its SACK blocks count |
//! | ACK that only SACKs lets the window grow | yes | if reordering went beyond DupThresh |
//! | losses are sought | on each ACK | on ACKs that deliver something |
//! | RTO restarts | on ACKs that advance SND.UNA | and on SACKs of what left before the head was last sent |
//! | a SACKed retransmission was delivered | by timestamp and smallest RTT | by the smallest RTT |
//! | a late original that was sent again | is no reordering | is reordering, if it ends fast recovery |
//! | D-SACK widens the window | once per round trip | if reordering was seen, and not for a probe |
//! | window after a recovery that was undone | counts as one of the 16 | does not count |
//! | timeout marks what is older than | RACK.rtt and the reordering window | RACK.rtt |
//! | window after a timeout | one segment | one segment beyond what is not marked |
//! | retransmission lost after a timeout | sent again | sent again, and fast recovery begins |
//! | probe timeout | 2 SRTT, and 200 ms for one segment | 2 SRTT and 2 ms, or the RTO's floor for one segment |
//!
//! Differences from both: while a probe is in the network the pipe does not count it. What to send is chosen as after a
//! timeout: lost segments from the lowest on, then new data, as the pipe allows.
//!
//! Tests: `tests/rack.rs`, `tests/tlp.rs`.

mod tail;
mod window;

use super::{AckEvent, Clock, Loss, LossRecovery, Next, Room, RtoTimer, Settings, Tail, Touch, Verdict, next_new};
use crate::offset::MaybeOffset;
use crate::scoreboard::Scoreboard;
use crate::segment::{Sending, flag};
use narrows_cc::Phase;
use narrows_settings::RecoveryStyle;
use narrows_units::{Duration, Instant};
pub(super) use tail::least_probe_timeout;
use tail::{Fate, Probe, probe_timeout};
use window::ReorderingWindow;

/// What Linux adds to timers of more than one segment (`TCP_TIMEOUT_MIN_US`).
const SLACK: Duration = Duration::from_millis(2);

/// RACK-TLP.
#[derive(Debug)]
pub(crate) struct Rack {
    settings: Settings,
    newest: Sending,
    rtt: Duration,
    window: ReorderingWindow,
    probe: Option<Probe>,
    probe_due: bool,
    reorder_at: Instant,
    /// SND.NXT when fast recovery began.
    recovery: MaybeOffset,
    loss: Loss,
    /// Whether the first segment of an episode may leave whatever the window allows.
    first: bool,
    /// Octets that the last timeout left unmarked, by which the window is larger until the Loss phase ends.
    spared: u64,
    disorder: bool,
    /// Whether an undo cleared the marks, so that the board has to be judged again.
    undone: bool,
}

impl Rack {
    /// A connection without losses yet.
    pub(crate) fn new(settings: Settings, board: &mut Scoreboard) -> Self {
        board.keep_send_order(settings.style == RecoveryStyle::Linux);
        Self {
            settings,
            newest: Sending::NONE,
            rtt: Duration::ZERO,
            window: ReorderingWindow::new(&settings),
            probe: None,
            probe_due: false,
            reorder_at: Instant::NEVER,
            recovery: MaybeOffset::NONE,
            loss: Loss::with_frto(&settings),
            first: false,
            spared: 0,
            disorder: false,
            undone: false,
        }
    }

    fn linux(&self) -> bool {
        self.settings.style == RecoveryStyle::Linux
    }

    fn in_recovery(&self) -> bool {
        self.recovery.get().is_some()
    }

    /// Advances RACK.segment and RACK.rtt (section 6.2, step 2). Returns whether the ACK delivered anything.
    fn advance(&mut self, ack: &AckEvent) -> bool {
        let Some(sent_at) = ack.deliveries.latest() else { return false };
        self.rtt = ack.clock.now.since(sent_at);
        if let Some(newest) = ack.deliveries.newest {
            self.newest = self.newest.max(newest);
        }
        true
    }

    /// Ends the episodes that an ACK completes; returns whether one ended.
    fn exit(&mut self, una: u64) -> bool {
        let recovered = self.recovery.get().is_some_and(|point| una >= point);
        if recovered {
            self.recovery = MaybeOffset::NONE;
        }
        let exit = self.loss.ends(una) | recovered;
        if exit {
            self.spared = 0;
            self.window.on_recovered();
        }
        exit
    }

    /// Finds what is lost and arms the reordering timer (section 6.2, step 5).
    fn detect(&mut self, clock: &Clock, board: &mut Scoreboard, verdict: &mut Verdict) {
        let episode = self.in_recovery() || self.loss.active;
        let wait = self.rtt + self.window.length(clock, episode, self.settings.dupthresh, board);
        let pending = loop {
            let Some((index, segment)) = board.in_send_order().next() else { break false };
            if segment.sending() >= self.newest {
                break false;
            }
            if segment.sent_at + wait > clock.now {
                break true;
            }
            if segment.has(flag::RETRANS) {
                verdict.lost_retransmission = Some(segment.sent_at);
            }
            verdict.newly_lost += board.mark_lost_at(index);
        };
        // Within the order of sending the last has the longest to wait.
        let last = if pending { board.last_sent_before(self.newest) } else { None };
        let slack = if self.linux() { SLACK } else { Duration::ZERO };
        self.reorder_at = last.map_or(Instant::NEVER, |sent_at| sent_at + wait + slack);
    }

    /// Begins fast recovery if anything is lost and no recovery is under way.
    fn enter_if_lost(&mut self, nxt: u64, board: &Scoreboard, verdict: &mut Verdict) {
        if self.linux() && self.loss.active && verdict.lost_retransmission.is_some() {
            self.loss.cancel();
            self.spared = 0;
        }
        if board.lost() > 0 && !self.in_recovery() && !self.loss.active {
            (self.recovery, self.first) = (MaybeOffset::at(nxt), true);
            (self.probe, self.probe_due) = (None, false);
            verdict.enter = true;
        }
    }

    /// The degree of reordering in segments, and how often reordering was seen.
    pub(super) fn reordering(&self) -> (u32, u32) {
        self.window.reordering()
    }

    /// When a timer expires: the reordering timer or the probe timeout.
    #[inline]
    pub(super) fn timer(&self, tail: &Tail, touch: &Touch) -> Instant {
        self.reorder_at.min(self.probe_at(tail, touch))
    }

    /// When the reordering timer expires.
    #[inline]
    pub(super) fn reorder_at(&self) -> Instant {
        self.reorder_at
    }

    /// When the tail of what is outstanding is probed (section 7.2). An earlier retransmission timeout is the probe
    /// timeout.
    #[inline]
    fn probe_at(&self, tail: &Tail, touch: &Touch) -> Instant {
        let quiet = self.settings.tail_probes
            && !(self.awaits_ack() || self.disorder || self.in_recovery() || self.loss.active);
        let Some(head_sent_at) = tail.head_sent_at.filter(|_| quiet) else { return Instant::NEVER };
        // Linux counts the retransmission timeout from the head's transmission, unless an ACK is about to restart it.
        let from_head = head_sent_at + tail.rto;
        let rto_at =
            if self.linux() && touch.sent && from_head > touch.at { tail.rto_at.min(from_head) } else { tail.rto_at };
        (touch.at + probe_timeout(self.settings.style, tail)).min(rto_at)
    }

    /// Processes an expiry of a timer.
    pub(super) fn on_timer(
        &mut self,
        (tail, touch): (&Tail, &Touch),
        nxt: u64,
        clock: &Clock,
        board: &mut Scoreboard,
    ) -> Verdict {
        let probe = clock.now >= self.probe_at(tail, touch);
        let mut verdict = Verdict::default();
        if clock.now >= self.reorder_at {
            self.detect(clock, board, &mut verdict);
            self.enter_if_lost(nxt, board, &mut verdict);
        }
        if probe && !verdict.enter {
            self.probe_due = true;
            verdict.rto_timer = RtoTimer::Restart;
        }
        verdict
    }

    fn note_disorder(&mut self, board: &Scoreboard) {
        self.disorder = board.any_sacked();
    }
}

impl LossRecovery for Rack {
    fn on_ack(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Verdict {
        let mut verdict = Verdict::default();
        let advanced = self.advance(ack);
        let end_of_probe = self.probe.map(|probe| probe.end);
        self.window.on_ack(ack, end_of_probe, board);
        match self.probe.map(|probe| probe.fate(ack)) {
            Some(Fate::Unknown) | None => {}
            Some(Fate::Needless) => self.probe = None,
            Some(Fate::Repaired) => (self.probe, verdict.repaired) = (None, true),
        }
        self.probe_due = false;
        if self.loss.is_spurious(ack, board) {
            return Verdict { spurious: true, ..verdict };
        }
        verdict.exit = self.exit(ack.una);
        if advanced || core::mem::take(&mut self.undone) || !self.linux() {
            self.detect(&ack.clock, board, &mut verdict);
        }
        self.enter_if_lost(ack.nxt, board, &mut verdict);
        self.note_disorder(board);
        verdict
    }

    fn on_timeout(&mut self, nxt: u64, clock: &Clock, board: &mut Scoreboard) -> u64 {
        self.loss.expire(nxt, self.in_recovery(), board);
        self.recovery = MaybeOffset::NONE;
        (self.probe, self.probe_due, self.reorder_at) = (None, false, Instant::NEVER);
        (self.first, self.disorder) = (true, false);
        // While all was well RACK took no note of deliveries: the latest sample is RACK.rtt.
        let rtt = clock.latest_rtt.unwrap_or(self.rtt);
        let window =
            if self.linux() { Duration::ZERO } else { self.window.length(clock, true, self.settings.dupthresh, board) };
        let lost = board.mark_late_lost(clock.now - (rtt + window));
        self.spared = if self.linux() { board.pipe() } else { 0 };
        lost
    }

    fn on_undo(&mut self, board: &mut Scoreboard) {
        self.window.on_undone(self.in_recovery());
        self.recovery = MaybeOffset::NONE;
        self.loss.cancel();
        (self.first, self.spared, self.undone) = (false, 0, true);
        board.clear_lost();
        self.note_disorder(board);
    }

    fn next(&mut self, board: &mut Scoreboard, room: &Room) -> Next {
        if self.probe_due && !board.is_empty() {
            return Next::Probe(if room.new > 0 { None } else { board.last_hole() });
        }
        let window = room.cwnd + self.spared;
        let room = Room { cwnd: window, new: room.new };
        if let Some(next) = self.loss.next_new(board, &room) {
            return next;
        }
        if board.lost() > 0
            && let Some(index) = board.next_lost()
            && let Some(segment) = board.get(index)
        {
            let pipe = board.pipe();
            let fits = self.first || pipe == 0 || pipe + u64::from(segment.len) <= window;
            return if fits { Next::Retransmit(index) } else { Next::Hold };
        }
        next_new(board.pipe(), &room, window)
    }

    fn on_sent(&mut self, sent: Next, board: &Scoreboard) {
        match sent {
            Next::Probe(again) => {
                self.probe_due = false;
                self.probe = Some(Probe { end: board.end(), again: again.is_some() });
            }
            Next::Retransmit(_) => self.first = false,
            _ => {}
        }
    }

    fn is_governed_by_pipe(&self) -> bool {
        true
    }

    fn is_timed(&self) -> bool {
        true
    }

    fn wants_deliveries(&self) -> bool {
        true
    }

    fn recovery_point(&self) -> Option<u64> {
        self.recovery.get()
    }

    fn grows_by_sack(&self) -> bool {
        !self.linux() || self.window.is_degree_raised()
    }

    fn awaits_ack(&self) -> bool {
        self.probe.is_some() || self.probe_due
    }

    fn phase(&self) -> Phase {
        match (self.loss.active, self.in_recovery(), self.disorder) {
            (true, ..) => Phase::Loss,
            (_, true, _) => Phase::Recovery,
            (_, _, true) => Phase::Disorder,
            _ => Phase::Open,
        }
    }
}
