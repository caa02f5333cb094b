//! A sender that stops, and one that was idle: how much of cwnd is used, and which window is too old.

use super::Connection;
use crate::sender::Fresh;
use crate::usage::Stop;
use narrows_cc::Phase;
use narrows_settings::{IdleRestart, RateLimited};
use narrows_units::Instant;

impl Connection {
    /// Notes that nothing is in flight and nothing waits to be sent.
    #[inline]
    pub(super) fn note_no_data(&mut self) {
        self.rate.on_app_limited(0);
        self.pacer.idle();
    }

    /// Restarts an old window before something leaves with nothing in flight, because that window may no longer fit the
    /// path. Algorithms that set their window in every phase have their own rule.
    #[inline(never)]
    pub(super) fn restart_if_idle(&mut self, now: Instant) {
        let rto = self.rto.current();
        // Before the first transmission this is zero.
        let idle = now.since(self.tx.last_sent);
        if idle <= rto {
            return;
        }
        if self.config.rate_limited == RateLimited::Rfc7661 {
            // The window is kept for the non-validated period, and then halved (RFC 7661, section 4.4).
            self.halve_if_overdue(now);
            return;
        }
        let kind = self.config.idle_restart;
        if kind == IdleRestart::Off || self.congestion.needs.window_in_recovery {
            return;
        }
        let path = self.path(0, now);
        match kind {
            IdleRestart::Linux => self.congestion.decay_idle(idle, &path),
            IdleRestart::Rfc5681 | IdleRestart::Off => self.congestion.restart(&path),
        }
        self.tx.usage.restart(now);
    }

    /// Halves a window that has not been validated for too long (RFC 7661, section 4.4.3).
    #[cold]
    fn halve_if_overdue(&mut self, now: Instant) {
        let cwnd = self.congestion.win.cwnd.as_u64();
        let Some(validation) = self.congestion.limits.as_mut().and_then(|limits| limits.validation()) else { return };
        if validation.is_overdue(cwnd, now) {
            let path = self.path(self.tx.board.flight(), now);
            self.congestion.halve_unvalidated(&path);
            self.tx.usage.restart(now);
        }
    }

    /// Takes note of what an ACK delivered, where RFC 7661 validates the window. A recovery is not measured (section
    /// 4.2).
    #[cold]
    pub(super) fn validate_by_ack(&mut self, now: Instant) {
        let (una, srtt, cwnd) = (self.tx.una, self.rto.srtt(), self.congestion.win.cwnd.as_u64());
        let measures = matches!(self.phase(), Phase::Open | Phase::Disorder);
        let Some(validation) = self.congestion.limits.as_mut().and_then(|limits| limits.validation()) else { return };
        if measures && validation.on_ack(una, cwnd, srtt, now) {
            let path = self.path(self.tx.board.flight(), now);
            self.congestion.halve_unvalidated(&path);
        }
    }

    /// Notes that nothing may be sent although cwnd has room: the application, the peer's window or Nagle's algorithm
    /// stops the sender.
    #[inline(never)]
    pub(super) fn on_nothing_to_send(&mut self, fresh: Fresh, cwnd: u64, now: Instant) {
        let pipe = self.tx.board.pipe();
        let sent = self.tx.usage.has_sent();
        self.note_usage(pipe + self.smss > cwnd, now);
        if sent && fresh == Fresh::Nothing {
            self.validate_window(now);
        }
        if fresh == Fresh::Blocked && self.tx.board.is_empty() {
            self.arm_persist(now);
        }
        // What waits in the host's device keeps the sender busy (`tcp_rate_check_app_limited`).
        if fresh == Fresh::Nothing && pipe < cwnd && self.queued(now).is_zero() {
            self.rate.on_app_limited(pipe);
        }
    }

    /// Notes, when the sender stops, whether cwnd stopped it.
    #[inline]
    pub(super) fn note_usage(&mut self, limited: bool, now: Instant) {
        let tx = &mut self.tx;
        let stop = Stop { limited, flight: tx.board.flight(), una: tx.una, nxt: tx.nxt, now };
        tx.usage.note(&stop, &self.congestion.win, self.config.slow_start_at_equality);
        if let Some(limits) = &mut self.congestion.limits {
            limits.on_stop(stop.flight, self.congestion.win.cwnd.as_u64());
        }
    }

    /// Decays a window that the application has not used for an RTO (RFC 2861; Linux's `tcp_cwnd_application_limited`).
    /// An application with data that waits for the peer's window or the pacer has used cwnd as far as it could.
    fn validate_window(&mut self, now: Instant) {
        let applies = self.config.cwnd_validation
            && self.config.rate_limited != RateLimited::Rfc7661
            && self.phase() == Phase::Open
            && !self.congestion.needs.window_in_recovery;
        if applies && let Some(used) = self.tx.usage.unused_for(self.rto.current(), now) {
            let path = self.path(self.tx.board.flight(), now);
            self.congestion.decay_unused(used, &path);
        }
    }
}
