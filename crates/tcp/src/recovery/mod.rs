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
//! [`Rack`](rack::Rack) goes by time ([`LossRecovery::is_timed`]). It has timers of its own, and what each ACK delivers
//! is collected for it in [`Deliveries`]. While all is well it costs a store for each ACK and each new segment:
//! [`Recovery::touch`] notes the time, and the probe timeout is computed from it when the timer is read, if
//! [`Recovery::may_expire_before`] does not rule it out. Where the board is clean, nothing outstanding left before what
//! was delivered last, so RACK has nothing to note.
//!
//! After a timeout [`Frto`](frto::Frto), part of [`Loss`], may show that it was spurious. Eifel (RFC 3522) and D-SACK
//! (RFC 3708) serve every recovery, so the connection looks for them: they are part of
//! [`Episode`](crate::episode::Episode).

mod event;
mod fack;
mod frto;
mod loss;
mod newreno;
pub(crate) mod prr;
mod rack;
mod reno;
mod rto_only;
mod sack;
mod tahoe;

use crate::scoreboard::Scoreboard;
use core::fmt;
use event::next_new;
pub(crate) use event::{AckEvent, Clock, Credible, Deliveries, Next, Room, RtoTimer, Tail, Touch, Verdict};
use loss::{Loss, covers_more, next_by_pipe};
use narrows_cc::Phase;
use narrows_settings::{Config, RecoveryKind, RecoveryStyle};
use narrows_units::{Duration, Instant};

/// A way to find and repair losses.
pub(crate) trait LossRecovery: fmt::Debug + Send {
    /// Processes an ACK of data that was sent.
    fn on_ack(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Verdict;

    /// Marks what is outstanding as lost, because the retransmission timer expired. Returns the octets newly marked.
    fn on_timeout(&mut self, nxt: u64, clock: &Clock, board: &mut Scoreboard) -> u64;

    /// Goes back to Open, because the current episode was spurious.
    fn on_undo(&mut self, board: &mut Scoreboard);

    /// What to send next.
    fn next(&mut self, board: &mut Scoreboard, room: &Room) -> Next;

    /// Notes that what [`next`](Self::next) named was sent. New data is not noted.
    fn on_sent(&mut self, sent: Next, board: &Scoreboard);

    /// Whether fast recovery counts what is in the network, by SACK, instead of inflating the window by duplicate ACKs.
    fn is_governed_by_pipe(&self) -> bool {
        false
    }

    /// Whether it goes by time: it has timers of its own. The others are told less.
    fn is_timed(&self) -> bool {
        false
    }

    /// Whether it is told what each ACK delivers.
    fn wants_deliveries(&self) -> bool {
        false
    }

    /// Where the current episode of fast recovery ends; `None` outside of one. Only asked if it goes by time.
    fn recovery_point(&self) -> Option<u64> {
        None
    }

    /// Whether the window may grow by an ACK that only SACKs (Linux's `tcp_may_raise_cwnd`).
    fn grows_by_sack(&self) -> bool {
        true
    }

    /// Whether it awaits something of the next ACK, as the fate of a probe, so that this is not plain.
    fn awaits_ack(&self) -> bool {
        false
    }

    /// Where recovery stands; never [`Phase::Cwr`], which is the connection's.
    fn phase(&self) -> Phase;
}

/// Parameters that every recovery shares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// SMSS in bytes.
    pub(crate) smss: u32,
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
    /// Whether RACK probes the tail.
    pub(crate) tail_probes: bool,
    /// Whether F-RTO is in use.
    pub(crate) frto: bool,
    /// Whether SACK is in use.
    pub(crate) sack: bool,
    /// Rules where RFCs and Linux differ.
    pub(crate) style: RecoveryStyle,
}

/// All recoveries. The set is closed, so the calls of every ACK and segment need no dynamic dispatch. Those that are
/// larger than [`sack::Sack`] are boxed.
#[derive(Debug)]
enum Kind {
    RtoOnly(rto_only::RtoOnly),
    Tahoe(Box<tahoe::Tahoe>),
    Reno(Box<reno::Reno>),
    NewReno(Box<newreno::NewReno>),
    Sack(sack::Sack),
    Fack(Box<fack::Fack>),
    Rack(Box<rack::Rack>),
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
            Kind::Rack($recovery) => $call,
        }
    };
}

/// What allows new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// Room in cwnd beside the pipe; see [`Recovery::is_open`].
    Pipe,
    /// Room in cwnd beside FlightSize, or beside the pipe where it is the same; see [`Recovery::is_calm`].
    Flight,
    /// What the recovery decides.
    Own,
}

/// The recovery of a connection, with copies of what is asked most.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Recovery {
    // The two words that plain segments need come first: `Connection` has the counters before them.
    phase: Phase,
    timed: bool,
    wants_deliveries: bool,
    awaits_ack: bool,
    rule: Rule,
    /// Whether the retransmission timeout counts from the head's transmission.
    from_head: bool,
    touched_by_sending: bool,
    /// Whether the reordering timer runs.
    reorders: bool,
    /// What started the probe timeout. Noted for every recovery, because that is faster than to ask which it is.
    touched: Instant,
    kind: Kind,
}

#[cfg(test)]
impl Recovery {
    /// Octets that plain segments need.
    pub(crate) const NEEDED: core::ops::Range<usize> = 0..core::mem::offset_of!(Self, kind);
}

impl Recovery {
    fn new(kind: Kind, style: RecoveryStyle) -> Self {
        let (phase, timed, wants_deliveries) = each!(&kind, r => (r.phase(), r.is_timed(), r.wants_deliveries()));
        let mut new = Self {
            phase,
            timed,
            wants_deliveries,
            awaits_ack: false,
            rule: Rule::Own,
            from_head: style == RecoveryStyle::Linux,
            touched: Instant::NEVER,
            touched_by_sending: false,
            reorders: false,
            kind,
        };
        new.copy();
        new
    }

    #[inline]
    fn copy(&mut self) {
        if let Kind::Rack(rack) = &self.kind {
            self.reorders = rack.reorder_at() != Instant::NEVER;
        }
        (self.phase, self.awaits_ack) = each!(&self.kind, r => (r.phase(), r.awaits_ack()));
        let by_pipe = match &self.kind {
            Kind::Sack(sack) => sack.goes_by_pipe(),
            Kind::Rack(_) => true,
            _ => false,
        };
        self.rule = match (self.phase, by_pipe) {
            (Phase::Open, _) if self.awaits_ack => Rule::Own,
            (Phase::Open, true) => Rule::Pipe,
            (Phase::Open, false) => Rule::Flight,
            _ => Rule::Own,
        };
    }

    /// See [`LossRecovery::on_ack`]. In the phase Open the call may be skipped for an ACK that advances SND.UNA while
    /// nothing is SACKed and no retransmission is watched: no recovery reports or notes anything then, except by
    /// [`touch`](Self::touch).
    pub(crate) fn on_ack(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Verdict {
        if ack.acked > 0 {
            self.touch(ack.clock.now, false);
        }
        let verdict = each!(&mut self.kind, r => r.on_ack(ack, board));
        self.copy();
        verdict
    }

    /// See [`LossRecovery::awaits_ack`].
    #[inline]
    pub(crate) fn awaits_ack(&self) -> bool {
        self.awaits_ack
    }

    /// Notes that SND.UNA advances, or that new data was `sent`, so that the probe timeout starts again (RFC 8985,
    /// section 7.2).
    #[inline]
    pub(crate) fn touch(&mut self, now: Instant, sent: bool) {
        (self.touched, self.touched_by_sending) = (now, sent);
    }

    /// See [`LossRecovery::on_timeout`].
    pub(crate) fn on_timeout(&mut self, nxt: u64, clock: &Clock, board: &mut Scoreboard) -> u64 {
        let lost = each!(&mut self.kind, r => r.on_timeout(nxt, clock, board));
        self.copy();
        lost
    }

    /// See [`LossRecovery::on_undo`].
    pub(crate) fn on_undo(&mut self, board: &mut Scoreboard, now: Instant) {
        each!(&mut self.kind, r => r.on_undo(board));
        self.touch(now, false);
        self.copy();
    }

    /// See [`LossRecovery::next`].
    #[inline]
    pub(crate) fn next(&mut self, board: &mut Scoreboard, room: &Room) -> Next {
        match &self.kind {
            Kind::Sack(sack) if self.phase == Phase::Open => sack.next_when_open(board, room),
            Kind::Rack(_) if self.phase == Phase::Open && !self.awaits_ack => next_new(board.pipe(), room, room.cwnd),
            _ => self.next_of_any(board, room),
        }
    }

    /// Whether it allows new data as far as the congestion window has room beside the pipe, and nothing else.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.rule == Rule::Pipe
    }

    /// Whether it allows new data as far as the congestion window has room beside FlightSize, and nothing else, while
    /// the scoreboard is [clean](Scoreboard::is_clean). This is so in the phase Open of every recovery: no duplicate
    /// ACK inflates the window there, and without losses pipe, FACK's awnd and FlightSize are equal.
    #[inline]
    pub(crate) fn is_calm(&self) -> bool {
        self.rule != Rule::Own
    }

    #[inline(never)]
    fn next_of_any(&mut self, board: &mut Scoreboard, room: &Room) -> Next {
        each!(&mut self.kind, r => r.next(board, room))
    }

    /// See [`LossRecovery::on_sent`].
    pub(crate) fn on_sent(&mut self, sent: Next, board: &Scoreboard) {
        each!(&mut self.kind, r => r.on_sent(sent, board));
        self.copy();
    }

    /// Processes the expiry of its own timer at `clock.now`.
    #[cold]
    pub(crate) fn on_timer(&mut self, tail: &Tail, nxt: u64, clock: &Clock, board: &mut Scoreboard) -> Verdict {
        let touch = self.last_touch();
        let Kind::Rack(rack) = &mut self.kind else { return Verdict::default() };
        let verdict = rack.on_timer((tail, &touch), nxt, clock, board);
        self.copy();
        verdict
    }

    /// When its own timer expires, the reordering timer or the probe timeout; [`Instant::NEVER`] if none runs.
    #[inline]
    pub(crate) fn timer(&self, tail: impl FnOnce() -> Tail) -> Instant {
        match &self.kind {
            Kind::Rack(rack) if self.timed => rack.timer(&tail(), &self.last_touch()),
            _ => Instant::NEVER,
        }
    }

    /// Whether [`timer`](Self::timer), or the retransmission timeout, may be before `limit`: a bound that is faster to
    /// compute. `from_head` is the retransmission timeout counted from the head's transmission.
    #[inline]
    pub(crate) fn may_expire_before(
        &self,
        limit: Instant,
        srtt: impl FnOnce() -> Option<Duration>,
        from_head: impl FnOnce() -> Instant,
    ) -> bool {
        let from_head_too = self.from_head && self.touched_by_sending;
        let probes =
            || self.touched + rack::least_probe_timeout(srtt()) < limit || (from_head_too && from_head() < limit);
        self.timed && (self.reorders || (self.touched < limit && probes()))
    }

    /// What last started the probe timeout.
    #[inline]
    fn last_touch(&self) -> Touch {
        Touch { at: self.touched, sent: self.touched_by_sending }
    }

    /// Stops its timer for good, because the connection has ended.
    pub(crate) fn end(&mut self) {
        (self.timed, self.awaits_ack) = (false, false);
    }

    /// See [`LossRecovery::is_timed`].
    #[inline]
    pub(crate) fn is_timed(&self) -> bool {
        self.timed
    }

    /// See [`LossRecovery::wants_deliveries`].
    #[inline]
    pub(crate) fn wants_deliveries(&self) -> bool {
        self.wants_deliveries
    }

    /// See [`LossRecovery::grows_by_sack`].
    pub(crate) fn grows_by_sack(&self) -> bool {
        each!(&self.kind, r => r.grows_by_sack())
    }

    /// The degree of reordering in segments (Linux's `tcp_reordering`), and how often reordering was seen; `None`
    /// unless recovery goes by time.
    pub(crate) fn reordering(&self) -> Option<(u32, u32)> {
        if let Kind::Rack(rack) = &self.kind { Some(rack.reordering()) } else { None }
    }

    /// See [`LossRecovery::recovery_point`].
    pub(crate) fn recovery_point(&self) -> Option<u64> {
        each!(&self.kind, r => r.recovery_point())
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
        smss: u32::try_from(smss).unwrap_or(u32::MAX),
        dupthresh: config.dupthresh.max(1),
        limited_transmit: config.limited_transmit,
        full_ack_cap: config.full_ack_cap,
        impatient: config.impatient,
        lost_retransmission: config.lost_retransmission,
        tail_probes: config.tail_probes,
        frto: config.frto,
        sack,
        style: config.recovery_style,
    };
    let kind = match config.recovery {
        RecoveryKind::RtoOnly => Kind::RtoOnly(rto_only::RtoOnly::default()),
        RecoveryKind::Tahoe => Kind::Tahoe(Box::new(tahoe::Tahoe::new(settings))),
        RecoveryKind::Reno => Kind::Reno(Box::new(reno::Reno::new(settings))),
        RecoveryKind::Sack if sack => Kind::Sack(sack::Sack::new(settings, board)),
        RecoveryKind::Fack if sack => Kind::Fack(Box::new(fack::Fack::new(settings, board))),
        RecoveryKind::Rack if sack => Kind::Rack(Box::new(rack::Rack::new(settings, board))),
        RecoveryKind::NewReno | RecoveryKind::Sack | RecoveryKind::Fack | RecoveryKind::Rack => {
            Kind::NewReno(Box::new(newreno::NewReno::new(settings)))
        }
    };
    Recovery::new(kind, settings.style)
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
