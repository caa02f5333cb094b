//! The connection's side of congestion control: calls the algorithm and keeps its window within bounds.

use crate::limits::Limits;
use crate::prefetch::prefetch_lines;
use narrows_cc::start::Start;
use narrows_cc::{
    Ack, Advice, Congestion, CongestionControl, LostSegment, Needs, Path, Phase, PlainAck, Sent, Silent, Window,
    growth, resume, start,
};
use narrows_settings::{Config, InitialWindow, SlowStart};
use narrows_units::{Bytes, Duration};

/// The first congestion window in bytes for segments of `smss` bytes.
pub(crate) fn initial_window(kind: InitialWindow, smss: u64) -> u64 {
    match kind {
        InitialWindow::Rfc6928 => (10 * smss).min((2 * smss).max(14_600)),
        InitialWindow::Rfc5681 if smss <= 1095 => 4 * smss,
        InitialWindow::Rfc5681 if smss <= 2190 => 3 * smss,
        InitialWindow::Rfc5681 => 2 * smss,
        InitialWindow::Segments(n) => u64::from(n.max(1)) * smss,
    }
}

/// The congestion control with the slow start and the earlier connection that the settings give it.
fn dressed(config: &Config, cc: Box<dyn CongestionControl>) -> Box<dyn CongestionControl> {
    let start = match config.slow_start {
        // An algorithm whose own slow start has another end is built with the standard one.
        SlowStart::Own | SlowStart::Standard => None,
        SlowStart::HyStart => Some(Start::HyStart),
        SlowStart::HyStartPlusPlus => Some(Start::HyStartPlusPlus),
        SlowStart::Search => Some(Start::Search),
        SlowStart::Limited => Some(Start::Limited { max_ssthresh: config.max_ssthresh.into() }),
    };
    let cc = match start {
        Some(start) => start::with(cc, start),
        None => cc,
    };
    match config.careful_resume {
        Some(saved) => resume::with(cc, resume::Saved { cwnd: saved.saved_cwnd, rtt: saved.saved_rtt }),
        None => cc,
    }
}

/// A congestion control and its window.
#[derive(Debug)]
pub(crate) struct Controller {
    cc: Box<dyn CongestionControl>,
    pub(crate) win: Window,
    min: Bytes,
    max: Bytes,
    /// Whether the last congestion event reduced cwnd.
    reduced: bool,
    pub(crate) needs: Needs,
    /// The rule for a sender that cwnd does not limit, unless it is Linux's.
    pub(crate) limits: Option<Box<Limits>>,
}

impl Controller {
    /// Prefetches the algorithm's state, of about three cache lines.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch_lines(&*self.cc, 0..3);
    }

    /// An algorithm with the configured thresholds; the window is set by [`start`](Self::start).
    pub(crate) fn new(config: &Config, cc: Box<dyn CongestionControl>) -> Self {
        let smss = u64::from(config.mss);
        let cwnd = Bytes::new(initial_window(config.initial_window, smss));
        let max = config.max_cwnd.unwrap_or(Bytes::MAX);
        let cc = dressed(config, cc);
        Self {
            needs: cc.needs(),
            cc,
            win: Window { cwnd, ssthresh: config.initial_ssthresh, pacing_rate: None },
            min: Bytes::new(smss),
            max,
            reduced: false,
            limits: Limits::new(config, cwnd.as_u64()),
        }
    }

    /// Sets the first window once the handshake is complete, and SMSS as its lower bound.
    pub(crate) fn start(&mut self, cwnd: u64, smss: u64) {
        self.min = Bytes::new(smss);
        self.max = self.max.max(self.min);
        self.win.cwnd = Bytes::new(cwnd);
        self.clamp();
    }

    /// SMSS changed while the connection lasts: the window keeps its number of segments, as Linux counts it.
    pub(crate) fn on_smss(&mut self, before: u64, after: u64) {
        self.min = Bytes::new(after);
        self.max = self.max.max(self.min);
        let scale = |bytes: Bytes| {
            let scaled = u128::from(bytes.as_u64()) * u128::from(after) / u128::from(before.max(1));
            Bytes::new(u64::try_from(scaled).unwrap_or(u64::MAX))
        };
        (self.win.cwnd, self.win.ssthresh) = (scale(self.win.cwnd), self.win.ssthresh.map(scale));
        self.clamp();
    }

    /// Starts the algorithm once the handshake's round-trip time is known.
    pub(crate) fn on_start(&mut self, path: &Path) {
        self.cc.on_start(path, &mut self.win);
        self.clamp();
    }

    /// Whether no rule but Linux's says what a sender does that cwnd does not limit.
    pub(crate) fn is_plain(&self) -> bool {
        self.limits.is_none()
    }

    #[inline]
    fn clamp(&mut self) {
        self.win.cwnd = self.win.cwnd.max(self.min).min(self.max);
    }

    /// Frees the algorithm at the end of a run; the window stays.
    pub(crate) fn put_away(&mut self) {
        self.cc = Box::new(Silent);
    }

    /// The algorithm, for inspection.
    pub(crate) fn algorithm(&self) -> &dyn CongestionControl {
        &*self.cc
    }

    /// See [`CongestionControl::holds_back`].
    #[inline]
    pub(crate) fn holds_back(&self) -> bool {
        self.needs.window_in_recovery && self.cc.holds_back()
    }

    /// See [`CongestionControl::reduces_at_once`].
    pub(crate) fn reduces_at_once(&self) -> bool {
        self.cc.reduces_at_once()
    }

    /// Whether the connection has to carry out the reduction of the last congestion event: the algorithm reduced the
    /// window and leaves recovery to the connection.
    pub(crate) fn leaves_reduction(&self) -> bool {
        self.reduced && !self.needs.window_in_recovery
    }

    #[inline]
    pub(crate) fn observe(&mut self, ack: &Ack, path: &Path) {
        self.cc.observe(ack, path);
    }

    pub(crate) fn on_lost(&mut self, lost: &LostSegment, path: &Path) {
        self.cc.on_lost(lost, path, &mut self.win);
        self.clamp();
    }

    /// See [`CongestionControl::on_plain_ack`].
    #[inline]
    pub(crate) fn on_plain_ack(&mut self, ack: &PlainAck) -> bool {
        let done = self.cc.on_plain_ack(ack, &mut self.win);
        if done {
            self.clamp();
        }
        done
    }

    #[inline]
    pub(crate) fn on_ack(&mut self, ack: &Ack, path: &Path) {
        if self.limits.is_some() {
            return self.on_ack_limited(ack, path);
        }
        self.cc.on_ack(ack, path, &mut self.win);
        self.clamp();
    }

    /// Like [`on_ack`](Self::on_ack), with growth up to what the largest flight allows
    /// (draft-ietf-ccwg-ratelimited-increase-11, section 3).
    #[cold]
    fn on_ack_limited(&mut self, ack: &Ack, path: &Path) {
        let before = self.win;
        self.cc.on_ack(ack, path, &mut self.win);
        self.clamp();
        if self.win.cwnd > before.cwnd
            && let Some(Limits::MaxFlight(rule)) = self.limits.as_deref()
            && !self.needs.window_in_recovery
        {
            let limit = self.cc.growth_limit(Bytes::new(rule.largest), path, &before);
            self.win.cwnd = self.win.cwnd.min(limit.max(before.cwnd));
        }
    }

    /// Reduces cwnd below what the algorithm answered to a congestion event: only `used` bytes of it were in use (RFC
    /// 7661, section 4.4.1).
    pub(crate) fn reduce_to_use(&mut self, used: u64, path: &Path) {
        if !self.needs.window_in_recovery && self.win.cwnd > Bytes::new(used / 2) {
            self.set_cwnd(Bytes::new(used / 2), path);
            self.reduced = true;
        }
    }

    /// Goes on after a recovery with `cwnd`, which is the new threshold too (RFC 7661, section 4.4.1).
    pub(crate) fn resume_at(&mut self, cwnd: u64, path: &Path) {
        if !self.needs.window_in_recovery {
            self.set_cwnd(Bytes::new(cwnd).max(path.smss), path);
            self.win.ssthresh = Some(self.win.cwnd);
        }
    }

    /// Halves a window that was not validated for a long time, and remembers three quarters of it (RFC 7661, section
    /// 4.4.3).
    #[cold]
    pub(crate) fn halve_unvalidated(&mut self, path: &Path) {
        if !self.needs.window_in_recovery {
            self.remember_window(path);
            let floor = self.win.cwnd.min(path.initial_window);
            self.set_cwnd((self.win.cwnd / 2).max(floor), path);
        }
    }

    pub(crate) fn on_congestion(&mut self, event: &Congestion, path: &Path) {
        let before = self.win.cwnd;
        self.cc.on_congestion(event, path, &mut self.win);
        self.clamp();
        self.reduced = self.win.cwnd < before;
    }

    #[inline]
    pub(crate) fn on_sent(&mut self, sent: &Sent, path: &Path) {
        self.cc.on_sent(sent, path, &mut self.win);
        self.clamp();
    }

    pub(crate) fn on_advice(&mut self, advice: Advice, path: &Path) {
        self.cc.on_advice(advice, path, &mut self.win);
        self.clamp();
    }

    pub(crate) fn on_recovered(&mut self, cap: Option<u64>, path: &Path) {
        // A scheme may have judged that the loss was not congestion and kept the window; then no cap applies.
        if let Some(cap) = cap.filter(|_| self.reduced && !self.needs.window_in_recovery) {
            self.win.cwnd = self.win.cwnd.min(Bytes::new(cap));
            self.clamp();
        }
        self.cc.on_recovered(path, &mut self.win);
        self.clamp();
    }

    /// Restores the larger of the current and the previous window unless the algorithm sets it in recovery, then
    /// notifies the algorithm.
    pub(crate) fn on_undo(&mut self, before: &Window, path: &Path) {
        if !self.needs.window_in_recovery {
            self.win.cwnd = self.win.cwnd.max(before.cwnd);
            self.win.ssthresh = match (self.win.ssthresh, before.ssthresh) {
                (Some(now), Some(before)) => Some(now.max(before)),
                _ => None,
            };
            self.clamp();
        }
        self.cc.on_undo(path, &mut self.win);
        self.clamp();
    }

    /// Restarts slow start from one segment after a congestion event that reduced the window (Jacobson 1988).
    pub(crate) fn restart_from_one(&mut self, path: &Path) {
        // A scheme may have judged that the loss was not congestion, and some algorithms let nothing else set their
        // window.
        if self.leaves_reduction() {
            self.win.cwnd = self.min;
            self.cc.on_window_set(path, &self.win);
        }
    }

    /// Sets cwnd to the restart window after an idle time (RFC 5681, section 4.1).
    pub(crate) fn restart(&mut self, path: &Path) {
        self.set_cwnd(self.win.cwnd.min(path.initial_window), path);
    }

    /// Linux's `tcp_cwnd_restart`: halves cwnd, in whole segments, for each timeout that fits into `idle`, down to the
    /// restart window.
    pub(crate) fn decay_idle(&mut self, idle: Duration, path: &Path) {
        self.remember_window(path);
        let floor = self.win.cwnd.min(path.initial_window);
        let mut segments = growth::whole_segments(self.win.cwnd, path);
        let mut left = idle - path.rto;
        while !left.is_zero() && path.smss * segments > floor {
            segments /= 2;
            left = left - path.rto;
        }
        self.set_cwnd((path.smss * segments).max(floor), path);
    }

    /// Linux's `tcp_cwnd_application_limited`: moves cwnd halfway to the `used` bytes, in whole segments. At least an
    /// initial window counts as used.
    pub(crate) fn decay_unused(&mut self, used: u64, path: &Path) {
        let used = growth::whole_segments(Bytes::new(used).max(path.initial_window), path);
        let cwnd = growth::whole_segments(self.win.cwnd, path);
        if used < cwnd {
            self.remember_window(path);
            self.set_cwnd(path.smss * (used.midpoint(cwnd)), path);
        }
    }

    /// Raises ssthresh to at least three quarters of cwnd before cwnd decreases without a loss (Linux's
    /// `tcp_current_ssthresh`). During a reduction ssthresh stays as it is.
    fn remember_window(&mut self, path: &Path) {
        if !matches!(path.phase, Phase::Cwr | Phase::Recovery) {
            let cwnd = growth::whole_segments(self.win.cwnd, path);
            let kept = path.smss * (cwnd / 2 + cwnd / 4);
            self.win.ssthresh = self.win.ssthresh.map(|s| s.max(kept));
        }
    }

    /// Sets cwnd in place of the algorithm, and notifies the algorithm of a change.
    fn set_cwnd(&mut self, cwnd: Bytes, path: &Path) {
        let before = core::mem::replace(&mut self.win.cwnd, cwnd);
        self.clamp();
        if self.win.cwnd != before {
            self.cc.on_window_set(path, &self.win);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use narrows_units::Instant;

    /// A Reno controller with these windows in segments of 1448 bytes, and its path with an RTO of 300 ms.
    fn controller(cwnd: u64, ssthresh: Option<u64>, phase: Phase) -> (Controller, Path) {
        let segments = |n| Bytes::new(1448 * n);
        let reno = narrows_cc::build("reno", &narrows_cc::Params::default()).unwrap();
        let mut controller = Controller::new(&Config { mss: 1448, ..Config::default() }, reno);
        (controller.win.cwnd, controller.win.ssthresh) = (segments(cwnd), ssthresh.map(segments));
        let path = Path {
            now: Instant::ZERO,
            smss: segments(1),
            initial_window: segments(10),
            srtt: None,
            min_rtt: None,
            rto: Duration::from_millis(300),
            flightsize: Bytes::ZERO,
            inflight: Bytes::ZERO,
            snd_una: 0,
            snd_nxt: 0,
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
            cwnd_limited: false,
            pacing_rate: None,
            departure: Instant::ZERO,
            phase,
            ecn: narrows_cc::EcnFeedback::Nothing,
            slow_start_at_equality: false,
        };
        (controller, path)
    }

    fn windows(c: &Controller) -> (u64, Option<u64>) {
        (c.win.cwnd.as_u64() / 1448, c.win.ssthresh.map(|s| s.as_u64() / 1448))
    }

    #[test]
    fn d8_idle_restart_halves_per_timeout() {
        let after = |cwnd, ssthresh, idle_ms, phase| {
            let (mut c, path) = controller(cwnd, ssthresh, phase);
            c.decay_idle(Duration::from_millis(idle_ms), &path);
            windows(&c)
        };
        assert_eq!(after(100, Some(20), 1_000, Phase::Open), (12, Some(75)), "the reference's vector: 100 >> 3");
        assert_eq!(after(100, Some(20), 301, Phase::Open), (50, Some(75)));
        assert_eq!(
            after(100, Some(20), 600, Phase::Open),
            (50, Some(75)),
            "exactly two timeouts: one is left over, of length 0"
        );
        assert_eq!(after(100, Some(90), 601, Phase::Open), (25, Some(90)), "a higher threshold stays");
        assert_eq!(after(100, None, 1_000, Phase::Open), (12, None), "unlimited stays unlimited");
        assert_eq!(after(103, Some(20), 301, Phase::Open), (51, Some(76)), "whole segments: 51 + 25");
        assert_eq!(after(100, Some(20), 864_000_000, Phase::Open), (10, Some(75)), "ten days: the restart window");
        assert_eq!(after(6, Some(3), 1_000, Phase::Open), (6, Some(4)), "below the restart window it stays");
        assert_eq!(after(100, Some(50), 1_000, Phase::Cwr), (12, Some(50)), "a reduction has the last word");
    }

    #[test]
    fn d8_application_limited_decay_goes_half_of_the_way() {
        let after = |cwnd, used: u64| {
            let (mut c, path) = controller(cwnd, Some(20), Phase::Open);
            c.decay_unused(used * 1448, &path);
            windows(&c)
        };
        assert_eq!(after(100, 40), (70, Some(75)));
        assert_eq!(after(100, 4), (55, Some(75)), "an initial window counts as used");
        assert_eq!(after(101, 40), (70, Some(75)), "rounded down");
        assert_eq!(after(100, 100), (100, Some(20)));
        assert_eq!(after(8, 1), (8, Some(20)));
    }

    #[test]
    fn initial_windows_of_rfc_6928_and_5681() {
        let iw = |mss| initial_window(InitialWindow::Rfc6928, mss);
        assert_eq!([536, 1460, 4380, 8960].map(iw), [5360, 14_600, 14_600, 17_920]);
        let old = |mss| initial_window(InitialWindow::Rfc5681, mss) / mss;
        assert_eq!([1095, 1096, 2190, 2191].map(old), [4, 3, 3, 2]);
        assert_eq!(initial_window(InitialWindow::Segments(0), 1000), 1000, "at least one segment");
    }
}
