//! Timers: retransmission, recovery's own, persist, delayed ACK, TIME-WAIT and pacing.

use super::Connection;
use super::react::News;
use crate::ecn::Mode;
use crate::episode::Expiry;
use crate::recovery::RtoTimer;
use crate::socket::Failure;
use crate::stats::State;
use narrows_cc::{Congestion, Phase};
use narrows_settings::Reduction;
use narrows_units::{Duration, Instant};

/// Longest interval between window probes.
const MAX_PERSIST: Duration = Duration::from_secs(60);

/// Deadlines; [`Instant::NEVER`] is off.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Timers {
    /// Retransmission (RFC 6298), of data or of the SYN.
    pub(super) rto: Instant,
    /// Window probe, and the override timer of silly-window avoidance.
    pub(super) persist: Instant,
    /// The earliest of those that seldom run: the end of TIME-WAIT, and when the host's device hands on what arrived or
    /// lets a sender go on.
    pub(super) rare: Instant,
    /// Window probes in a row.
    pub(super) probes: u32,
    /// Expiries of the retransmission timer in a row.
    pub(super) retries: u32,
}

impl Default for Timers {
    fn default() -> Self {
        Self { rto: Instant::NEVER, persist: Instant::NEVER, rare: Instant::NEVER, probes: 0, retries: 0 }
    }
}

impl Connection {
    /// The earliest timer; [`Instant::NEVER`] if none runs. Most ACKs move it later, so a caller may keep its own alarm
    /// and look again when that expires: [`handle_timeout`](Self::handle_timeout) does nothing before its time.
    #[inline]
    #[must_use]
    pub fn poll_timeout(&self) -> Instant {
        self.own_timeout().min(self.recovery.timer(|| self.tail()))
    }

    /// Like [`poll_timeout`](Self::poll_timeout) if that is before `limit`; otherwise a time that is not. For a caller
    /// with an alarm at `limit`: it takes less time to see that no timer is earlier than to compute them.
    #[inline]
    #[must_use]
    pub fn poll_timeout_before(&self, limit: Instant) -> Instant {
        let own = self.own_timeout();
        if !self.recovery.may_expire_before(limit, || self.rto.srtt(), || self.earliest_rto()) {
            debug_assert_eq!(own.min(limit), self.poll_timeout().min(limit), "the bound is one");
            return own;
        }
        own.min(self.recovery.timer(|| self.tail()))
    }

    /// The earliest timer but recovery's own.
    #[inline]
    fn own_timeout(&self) -> Instant {
        let t = &self.timers;
        let own = t.rto.min(t.persist).min(t.rare);
        let own = if self.socket.is_some() { own.min(self.vigil_deadline()) } else { own };
        own.min(self.rx.ack_deadline()).min(self.pacer.deadline())
    }

    /// The retransmission timeout if it counts from the transmission of the head.
    #[inline]
    fn earliest_rto(&self) -> Instant {
        self.tx.board.head().map_or(Instant::NEVER, |head| head.sent_at + self.rto.current())
    }

    /// Does what is due at `now`. Poll for segments afterwards.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.tx.calm = false;
        if now >= self.timers.rare {
            self.on_rare_timeout(now);
        }
        if matches!(self.state, State::Closed | State::Listen) {
            return;
        }
        self.rx.on_timeout(self.rto.current(), now);
        if self.rx.misbehaves() {
            self.misbehave_when_due(now);
        }
        self.pacer.on_timeout(now);
        if now >= self.timers.persist {
            if self.socket.is_some() {
                self.on_full_persist(now);
            } else {
                self.on_persist(now);
            }
        }
        if self.socket.is_some() {
            if now >= self.vigil_deadline() {
                self.on_keep_alive(now);
            }
            if self.state == State::Closed {
                return;
            }
        }
        if now >= self.recovery.timer(|| self.tail()) {
            self.on_recovery_timeout(now);
        }
        if now >= self.timers.rto {
            self.on_retransmission_timeout(now);
        }
    }

    #[cold]
    fn on_rare_timeout(&mut self, now: Instant) {
        self.flush_arrivals(now);
        self.on_device_timeout(now);
        if now >= self.device.as_ref().map_or(self.timers.rare, |device| device.time_wait) {
            self.enter_closed();
        }
        self.arm_rare();
    }

    /// Sets the end of TIME-WAIT.
    pub(super) fn set_time_wait(&mut self, end: Instant) {
        match &mut self.device {
            None => self.timers.rare = end,
            Some(device) => {
                device.time_wait = end;
                self.arm_rare();
            }
        }
    }

    /// Arms the timer of the seldom deadlines, where the host's device has one.
    pub(super) fn arm_rare(&mut self) {
        if let Some(device) = &self.device {
            self.timers.rare = device.due();
        }
    }

    /// Asks recovery what the expiry of its own timer means.
    #[cold]
    fn on_recovery_timeout(&mut self, now: Instant) {
        let flight = self.flight_of_a_window();
        let (clock, tail) = (self.clock(now), self.tail());
        let verdict = self.recovery.on_timer(&tail, self.tx.nxt, &clock, &mut self.tx.board);
        self.count_lost(verdict.newly_lost);
        if verdict.newly_lost > 0 && self.congestion.needs.losses {
            self.report_losses(now);
        }
        if verdict.rto_timer == RtoTimer::Restart {
            self.timers.rto = now + self.rto.current();
        }
        // Linux counts a segment as delivered when recovery begins so (`tcp_rack_reo_timeout`).
        let delivered = if verdict.enter && self.config.reduction == Reduction::PrrLinux { self.smss } else { 0 };
        let news = News { flight, delivered, marked: 0, echoed: false, advanced: false };
        self.react(&verdict, &news, now);
    }

    fn on_retransmission_timeout(&mut self, now: Instant) {
        self.timers.rto = Instant::NEVER;
        let opening = matches!(self.state, State::SynSent | State::SynReceived) || self.is_fast_open_pending();
        if !opening && self.tx.board.is_empty() {
            return;
        }
        self.timers.retries = self.timers.retries.saturating_add(1);
        if self.socket.is_some() {
            if self.is_given_up(now) {
                let soft = self.soft_failure();
                self.fail(soft.unwrap_or(Failure::TimedOut), now);
                return;
            }
        } else if self.config.max_retries.is_some_and(|most| self.timers.retries > most) {
            self.enter_aborted(now);
            return;
        }
        self.stats.rare().timeouts += 1;
        if opening {
            self.syn.get_or_insert_default().due = true;
        } else {
            self.on_data_timeout(now);
        }
        if !opening || self.backs_off() {
            self.rto.back_off();
        }
        if let Some(socket) = self.socket.as_mut().filter(|_| !opening) {
            socket.stuck_since.get_or_insert(now);
        }
        self.timers.rto = now + self.clamped_rto(now);
    }

    /// Marks everything outstanding as lost, and sets the loss window (RFC 5681, section 3.1).
    fn on_data_timeout(&mut self, now: Instant) {
        let phase = self.phase();
        let flight = match phase {
            Phase::Loss => self.tx.board.flight(),
            _ => self.flight_of_a_window(),
        };
        let path = self.path(flight, now);
        let repeated = self.episode.on_timeout(&Expiry {
            phase,
            before: self.config.undo.then_some(self.congestion.win),
            una: self.tx.una,
            carried: self.carried_retransmissions(),
            reduces_once: self.reduces_once(),
        });
        let clock = self.clock(now);
        let newly_lost = self.recovery.on_timeout(self.tx.nxt, &clock, &mut self.tx.board);
        self.count_lost(newly_lost);
        self.episode.on_reduction(self.tx.nxt, self.ecn.mode() != Mode::Off, false, now);
        self.ecn.on_reduction();
        self.pacer.release();
        self.tx.usage.restart(now);
        if self.congestion.needs.losses {
            self.report_losses(now);
        }
        self.congestion.on_congestion(&Congestion::Timeout { repeated }, &path);
        if let Some(validation) = self.congestion.limits.as_mut().and_then(|limits| limits.validation()) {
            validation.on_timeout();
        }
    }

    /// Arms the persist timer if it is not running (RFC 9293, section 3.8.6.1).
    pub(super) fn arm_persist(&mut self, now: Instant) {
        if self.timers.persist == Instant::NEVER {
            let factor = 1 << self.timers.probes.min(16);
            let most = if self.socket.is_some() { self.config.rto.max } else { MAX_PERSIST };
            let first = if self.socket.is_some() { self.first_probe() } else { self.rto.current() };
            self.timers.persist = now + (first * factor).min(most);
        }
    }

    /// Stops the persist timer: the peer's window is open, or nothing waits for it any longer.
    #[inline]
    pub(super) fn stop_persist(&mut self) {
        self.timers.persist = Instant::NEVER;
        self.timers.probes = 0;
        self.tx.probe_due = false;
    }

    fn on_persist(&mut self, now: Instant) {
        self.timers.persist = Instant::NEVER;
        if !self.tx.board.is_empty() || !self.tx.has_unsent() {
            return;
        }
        if self.tx.edge > self.tx.nxt {
            // The window is silly, not closed: as much as fits leaves now.
            self.tx.overridden = true;
        } else {
            self.tx.probe_due = true;
            self.timers.probes += 1;
            self.arm_persist(now);
        }
    }
}
