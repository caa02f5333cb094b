//! Loss recovery: what is lost, when a congestion episode begins and ends, and what to send next.
//!
//! A recovery processes ACKs and timeouts, keeps its own state and marks the [`Scoreboard`]. It returns a [`Verdict`]
//! and calls no other module. The congestion control decides where the window ends up; a recovery decides only how much
//! of it may be used meanwhile ([`LossRecovery::next`]).
//!
//! ```text
//!            dup ACK, SACK           dupthresh, IsLost
//!     Open ----------------> Disorder ----------------> Recovery
//!      ^ ^-- new ACK -----------'  |                        | |
//!      | ^-------------------------|---- recovery point ----' | timeout
//!      |         recovery point    v timeout                  |
//!      '-------------------------- Loss <---------------------'
//! ```
//!
//! A recovery that goes by time ([`LossRecovery::is_timed`]) also takes part in plain ACKs and new data, and has a
//! timer of its own. The trait has what these extensions need; none is implemented yet, and `tests/timed.rs` shows a
//! small one:
//!
//! - RACK (RFC 8985, section 6) judges by times of sending: [`Scoreboard::in_send_order`] has the segments in order of
//!   their last transmissions, [`Deliveries::newest`] is RACK.segment, [`Clock`] has the round-trip times, and
//!   [`AckEvent::dsack`] widens the reordering window. What is in doubt waits for [`LossRecovery::on_timer`].
//! - Its tail loss probe (section 7) is an expiry of the same timer, after which [`LossRecovery::next`] answers
//!   [`Next::Probe`]. A loss that only the probe repaired is [`Verdict::repaired`].
//! - F-RTO (RFC 5682) is a state of [`Loss`]: the first ACK after a timeout lets `next` answer [`Next::New`] instead of
//!   the hole; the second shows, by [`Deliveries::original`], whether the timeout was [`Verdict::spurious`].
//! - Eifel (RFC 3522) and D-SACK (RFC 3708) serve every recovery, so the connection looks for them: they are part of
//!   [`Episode`](crate::episode::Episode). What timestamps tell of a delivery is in [`Deliveries`].

mod event;
mod fack;
mod newreno;
pub(crate) mod prr;
mod reno;
mod rto_only;
mod sack;
mod tahoe;

use crate::scoreboard::Scoreboard;
use core::fmt;
pub(crate) use event::{AckEvent, Clock, Deliveries, Next, Room, RtoTimer, Verdict};
use narrows_cc::Phase;
use narrows_settings::{Config, RecoveryKind};
use narrows_units::Instant;

/// A way to find and repair losses.
pub(crate) trait LossRecovery: fmt::Debug + Send {
    /// Processes an ACK of data that was sent.
    fn on_ack(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Verdict;

    /// Marks everything outstanding as lost, because the retransmission timer expired. Returns the octets newly marked.
    fn on_timeout(&mut self, nxt: u64, board: &mut Scoreboard) -> u64;

    /// Goes back to Open, because the current episode was spurious.
    fn on_undo(&mut self, board: &mut Scoreboard);

    /// What to send next.
    fn next(&mut self, board: &mut Scoreboard, room: &Room) -> Next;

    /// Notes that what [`next`](Self::next) named was sent. New data is only noted if recovery [goes by
    /// time](Self::is_timed).
    fn on_sent(&mut self, sent: Next, clock: &Clock, board: &Scoreboard);

    /// Whether fast recovery counts what is in the network, by SACK, instead of inflating the window by duplicate ACKs.
    fn is_governed_by_pipe(&self) -> bool {
        false
    }

    /// Whether it goes by time: it has timers of its own, and is told of every transmission, every ACK and what each
    /// ACK delivers. The others are told less, so that a flow without losses costs nothing.
    fn is_timed(&self) -> bool {
        false
    }

    /// Whether it awaits something of the next ACK, as the fate of a probe, so that this is not plain. Only asked if it
    /// goes by time.
    fn awaits_ack(&self) -> bool {
        false
    }

    /// Notes a plain ACK: it advances SND.UNA while nothing is SACKed, lost or retransmitted, and takes a short way.
    /// Only called if it goes by time.
    fn on_plain_ack(&mut self, _clock: &Clock, _board: &Scoreboard) {}

    /// When its own timer expires; [`Instant::NEVER`] if none runs or nothing is outstanding. If there are several (a
    /// reordering timer and a probe timeout), the earliest. Only asked if it goes by time.
    fn next_timer(&self) -> Instant {
        Instant::NEVER
    }

    /// Processes an expiry of its own timer. Afterwards the timer is off or in the future.
    fn on_timer(&mut self, _clock: &Clock, _board: &mut Scoreboard) -> Verdict {
        Verdict::default()
    }

    /// Where recovery stands; never [`Phase::Cwr`], which is the connection's.
    fn phase(&self) -> Phase;
}

/// Parameters that every recovery shares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// SMSS in bytes.
    pub(crate) smss: u64,
    /// Duplicate ACKs that mean loss.
    pub(crate) dupthresh: u32,
    /// Limited transmit (RFC 3042).
    pub(crate) limited_transmit: bool,
    /// RFC 6582, section 3.2, step 3: `min(ssthresh, max(FlightSize, SMSS) + SMSS)` on a full ACK, else ssthresh.
    pub(crate) full_ack_cap: bool,
    /// RFC 6582's "Impatient" variant, else "Slow-but-Steady".
    pub(crate) impatient: bool,
    /// Whether to look for lost retransmissions.
    pub(crate) lost_retransmission: bool,
}

/// All recoveries. The set is closed, so the calls of every ACK and segment need no dynamic dispatch.
#[derive(Debug)]
enum Kind {
    RtoOnly(rto_only::RtoOnly),
    Tahoe(tahoe::Tahoe),
    Reno(reno::Reno),
    NewReno(newreno::NewReno),
    Sack(sack::Sack),
    Fack(fack::Fack),
    /// A recovery of the tests.
    #[cfg(test)]
    Own(Box<dyn LossRecovery>),
}

/// Calls a method of the recovery in use.
macro_rules! each {
    ($kind:expr, $recovery:ident => $call:expr) => {
        match $kind {
            Kind::RtoOnly($recovery) => $call,
            Kind::Tahoe($recovery) => $call,
            Kind::Reno($recovery) => $call,
            Kind::NewReno($recovery) => $call,
            Kind::Sack($recovery) => $call,
            Kind::Fack($recovery) => $call,
            #[cfg(test)]
            Kind::Own($recovery) => $call,
        }
    };
}

/// The recovery of a connection, with a copy of its phase.
#[derive(Debug)]
pub(crate) struct Recovery {
    phase: Phase,
    timed: bool,
    kind: Kind,
}

impl Recovery {
    fn new(kind: Kind) -> Self {
        let (phase, timed) = each!(&kind, r => (r.phase(), r.is_timed()));
        Self { phase, timed, kind }
    }

    /// A recovery of the tests.
    #[cfg(test)]
    pub(crate) fn own(recovery: Box<dyn LossRecovery>) -> Self {
        Self::new(Kind::Own(recovery))
    }

    #[inline]
    fn copy_phase(&mut self) {
        self.phase = each!(&self.kind, r => r.phase());
    }

    /// See [`LossRecovery::on_ack`]. In the phase Open the call may be skipped for an ACK that advances SND.UNA while
    /// nothing is SACKed and no retransmission is watched: no recovery reports or notes anything then, except by
    /// [`on_plain_ack`](Self::on_plain_ack).
    pub(crate) fn on_ack(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Verdict {
        let verdict = each!(&mut self.kind, r => r.on_ack(ack, board));
        self.copy_phase();
        verdict
    }

    /// See [`LossRecovery::awaits_ack`].
    #[inline]
    pub(crate) fn awaits_ack(&self) -> bool {
        self.timed && self.awaits_ack_of_any()
    }

    #[cold]
    fn awaits_ack_of_any(&self) -> bool {
        each!(&self.kind, r => r.awaits_ack())
    }

    /// See [`LossRecovery::on_plain_ack`].
    #[cold]
    pub(crate) fn on_plain_ack(&mut self, clock: &Clock, board: &Scoreboard) {
        each!(&mut self.kind, r => r.on_plain_ack(clock, board));
        self.copy_phase();
    }

    /// See [`LossRecovery::on_timeout`].
    pub(crate) fn on_timeout(&mut self, nxt: u64, board: &mut Scoreboard) -> u64 {
        let lost = each!(&mut self.kind, r => r.on_timeout(nxt, board));
        self.copy_phase();
        lost
    }

    /// See [`LossRecovery::on_undo`].
    pub(crate) fn on_undo(&mut self, board: &mut Scoreboard) {
        each!(&mut self.kind, r => r.on_undo(board));
        self.copy_phase();
    }

    /// See [`LossRecovery::next`].
    #[inline]
    pub(crate) fn next(&mut self, board: &mut Scoreboard, room: &Room) -> Next {
        match &self.kind {
            Kind::Sack(sack) if self.phase == Phase::Open => sack.next_when_open(board, room),
            _ => self.next_of_any(board, room),
        }
    }

    #[inline(never)]
    fn next_of_any(&mut self, board: &mut Scoreboard, room: &Room) -> Next {
        each!(&mut self.kind, r => r.next(board, room))
    }

    /// See [`LossRecovery::on_sent`].
    pub(crate) fn on_sent(&mut self, sent: Next, clock: &Clock, board: &Scoreboard) {
        each!(&mut self.kind, r => r.on_sent(sent, clock, board));
    }

    /// See [`LossRecovery::on_timer`].
    #[cold]
    pub(crate) fn on_timer(&mut self, clock: &Clock, board: &mut Scoreboard) -> Verdict {
        let verdict = each!(&mut self.kind, r => r.on_timer(clock, board));
        self.copy_phase();
        verdict
    }

    /// See [`LossRecovery::next_timer`].
    #[inline]
    pub(crate) fn timer(&self) -> Instant {
        if self.timed { self.timer_of_any() } else { Instant::NEVER }
    }

    #[cold]
    fn timer_of_any(&self) -> Instant {
        each!(&self.kind, r => r.next_timer())
    }

    /// Stops its timer for good, because the connection has ended.
    pub(crate) fn end(&mut self) {
        self.timed = false;
    }

    /// See [`LossRecovery::is_timed`].
    #[inline]
    pub(crate) fn is_timed(&self) -> bool {
        self.timed
    }

    /// See [`LossRecovery::is_governed_by_pipe`].
    pub(crate) fn is_governed_by_pipe(&self) -> bool {
        each!(&self.kind, r => r.is_governed_by_pipe())
    }

    /// See [`LossRecovery::phase`].
    #[inline]
    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }
}

/// The recovery that the configuration asks for; SACK only if the handshake agreed on it.
pub(crate) fn build(config: &Config, smss: u64, sack: bool, board: &mut Scoreboard) -> Recovery {
    let settings = Settings {
        smss,
        dupthresh: config.dupthresh.max(1),
        limited_transmit: config.limited_transmit,
        full_ack_cap: config.full_ack_cap,
        impatient: config.impatient,
        lost_retransmission: config.lost_retransmission,
    };
    Recovery::new(match config.recovery {
        RecoveryKind::RtoOnly => Kind::RtoOnly(rto_only::RtoOnly::default()),
        RecoveryKind::Tahoe => Kind::Tahoe(tahoe::Tahoe::new(settings)),
        RecoveryKind::Reno => Kind::Reno(reno::Reno::new(settings)),
        RecoveryKind::Sack if sack => Kind::Sack(sack::Sack::new(settings, board)),
        RecoveryKind::Fack if sack => Kind::Fack(fack::Fack::new(settings, board)),
        RecoveryKind::NewReno | RecoveryKind::Sack | RecoveryKind::Fack => {
            Kind::NewReno(newreno::NewReno::new(settings))
        }
    })
}

/// The Loss phase, common to all: from a timeout until what was outstanding at that time is acknowledged.
#[derive(Clone, Copy, Debug, Default)]
struct Loss {
    /// SND.NXT at the latest timeout; 0 before any.
    recover: u64,
    active: bool,
}

impl Loss {
    fn start(&mut self, nxt: u64) {
        (self.recover, self.active) = (nxt, true);
    }

    /// Whether something sent after the latest timeout is acknowledged with SND.UNA at `una`, so that duplicate ACKs do
    /// not answer needless retransmissions (RFC 6582, section 3.2, step 2: "covers more than recover").
    fn is_behind(&self, una: u64) -> bool {
        covers_more(una, self.recover)
    }

    /// Returns whether the phase ends with SND.UNA at `una`.
    fn ends(&mut self, una: u64) -> bool {
        let ends = self.active && una >= self.recover;
        self.active &= !ends;
        ends
    }
}

/// Whether SND.UNA at `una` covers more than what was sent up to `recover`, an earlier SND.NXT; true at the start (0).
/// An ACK of exactly that much may answer a needless retransmission (RFC 6582, section 3.2, step 2).
#[inline]
fn covers_more(una: u64, recover: u64) -> bool {
    recover == 0 || una > recover
}

/// What to send in the Loss phase: lost segments, in order, then new data, as the pipe allows.
fn next_by_pipe(board: &mut Scoreboard, room: &Room) -> Next {
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

/// New data if `used` octets leave room for it in `window`.
#[inline]
fn next_new(used: u64, room: &Room, window: u64) -> Next {
    if room.new == 0 {
        Next::Idle
    } else if used + room.new <= window {
        Next::New
    } else {
        Next::Hold
    }
}

/// The phase in Linux's terms, from the state that each recovery keeps: a timeout takes precedence, then fast recovery,
/// then duplicate ACKs.
fn phase(after_timeout: bool, in_recovery: bool, dupacks: u32) -> Phase {
    match (after_timeout, in_recovery, dupacks) {
        (true, ..) => Phase::Loss,
        (_, true, _) => Phase::Recovery,
        (_, _, 0) => Phase::Open,
        _ => Phase::Disorder,
    }
}

/// A window of `cwnd` with an artificial inflation of either sign.
#[inline]
fn inflated(cwnd: u64, by: i64) -> u64 {
    cwnd.saturating_add_signed(by)
}
