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
//! Extensions that are not implemented fit in as follows. RACK (RFC 8985) is one more recovery beside [`sack`]:
//! `Sack::digest` with a judgement by the times of sending, which the scoreboard's segments carry (`sent_at`), and a
//! reordering timer beside those of the connection. Its tail loss probe is a timer too, whose expiry makes `next`
//! answer as for a rescue. F-RTO (RFC 5682) is a state of [`Loss`]: the first ACK after a timeout lets `next` answer
//! `New` instead of the hole; the second shows whether the timeout was spurious, by a field of [`Verdict`] that leads
//! to the connection's undo.

mod fack;
mod newreno;
mod reno;
mod rto_only;
mod sack;
mod tahoe;

use crate::scoreboard::Scoreboard;
use core::fmt;
use narrows_cc::Phase;
use narrows_settings::{Config, RecoveryKind};
use narrows_units::Instant;

/// An ACK as recovery sees it. The board already reflects it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckEvent {
    /// Octets newly acknowledged cumulatively.
    pub(crate) acked: u64,
    /// Octets newly SACKed.
    pub(crate) sacked: u64,
    /// Whether it is a duplicate by RFC 5681, section 2.
    pub(crate) duplicate: bool,
    /// SND.UNA with this ACK.
    pub(crate) una: u64,
    /// SND.NXT.
    pub(crate) nxt: u64,
}

/// What an ACK means for the congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Verdict {
    /// Whether a congestion episode begins: loss was found by duplicate ACKs or SACK.
    pub(crate) enter: bool,
    /// Whether the episode begins with one segment and slow start, whatever cwnd the congestion control set (Tahoe).
    pub(crate) restart: bool,
    /// Whether the episode before has ended (also: the Loss phase).
    pub(crate) exit: bool,
    /// On leaving fast recovery, an upper bound of cwnd against bursts (RFC 6582, section 3.2, step 3).
    pub(crate) cwnd_cap: Option<u64>,
    /// Octets newly marked lost.
    pub(crate) newly_lost: u64,
    /// When the last of the retransmissions that this ACK shows to be lost was sent.
    pub(crate) lost_retransmission: Option<Instant>,
    /// Whether to leave the retransmission timer running as it is (RFC 6582's "impatient" variant).
    pub(crate) keep_timer: bool,
}

/// What to send next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The segment with this index, again.
    Retransmit(u64),
    /// The same, as RFC 6675's rescue retransmission.
    Rescue(u64),
    /// New data.
    New,
    /// Something waits, but the window does not allow it.
    Hold,
    /// Nothing waits.
    Idle,
}

/// The windows when the next segment is chosen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Congestion window.
    pub(crate) cwnd: u64,
    /// Length of the new segment that the peer's window and the application allow; 0 for none.
    pub(crate) new: u64,
}

/// A way to find and repair losses.
trait LossRecovery: fmt::Debug + Send {
    /// Processes an ACK of data that was sent.
    fn on_ack(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Verdict;

    /// Marks everything outstanding as lost, because the retransmission timer expired. Returns the octets newly marked.
    fn on_timeout(&mut self, nxt: u64, board: &mut Scoreboard) -> u64;

    /// Goes back to Open, because the current episode was spurious.
    fn on_undo(&mut self, board: &mut Scoreboard);

    /// What to send next.
    fn next(&mut self, board: &mut Scoreboard, room: &Room) -> Next;

    /// Notes that what [`next`](Self::next) named was sent.
    fn on_sent(&mut self, sent: Next);

    /// Whether fast recovery counts what is in the network, by SACK, instead of inflating the window by duplicate ACKs.
    fn is_governed_by_pipe(&self) -> bool {
        false
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
        }
    };
}

/// The recovery of a connection, with a copy of its phase.
#[derive(Debug)]
pub(crate) struct Recovery {
    phase: Phase,
    kind: Kind,
}

impl Recovery {
    fn new(kind: Kind) -> Self {
        Self { phase: each!(&kind, r => r.phase()), kind }
    }

    /// See [`LossRecovery::on_ack`]. In the phase Open the call may be skipped for an ACK that advances SND.UNA while
    /// nothing is SACKed and no retransmission is watched: no recovery reports or notes anything then.
    pub(crate) fn on_ack(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Verdict {
        let verdict = each!(&mut self.kind, r => r.on_ack(ack, board));
        self.phase = each!(&self.kind, r => r.phase());
        verdict
    }

    /// See [`LossRecovery::on_timeout`].
    pub(crate) fn on_timeout(&mut self, nxt: u64, board: &mut Scoreboard) -> u64 {
        let lost = each!(&mut self.kind, r => r.on_timeout(nxt, board));
        self.phase = each!(&self.kind, r => r.phase());
        lost
    }

    /// See [`LossRecovery::on_undo`].
    pub(crate) fn on_undo(&mut self, board: &mut Scoreboard) {
        each!(&mut self.kind, r => r.on_undo(board));
        self.phase = each!(&self.kind, r => r.phase());
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
    pub(crate) fn on_sent(&mut self, sent: Next) {
        each!(&mut self.kind, r => r.on_sent(sent));
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
