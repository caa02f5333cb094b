//! The connection's side of congestion control: calls the algorithm and keeps its window within bounds.

use crate::config::{Config, InitialWindow};
use narrows_cc::{Ack, Advice, Congestion, CongestionControl, LostSegment, Path, Sent, Window};
use narrows_units::Bytes;

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

/// A congestion control and its window.
#[derive(Debug)]
pub(crate) struct Controller {
    cc: Box<dyn CongestionControl>,
    pub(crate) win: Window,
    min: Bytes,
    max: Bytes,
    /// Whether the last congestion event reduced cwnd.
    reduced: bool,
    /// See [`CongestionControl::watches_acks`].
    pub(crate) watches_acks: bool,
    rules_recovery: bool,
}

impl Controller {
    /// An algorithm with the configured thresholds; the window is set by [`start`](Self::start).
    pub(crate) fn new(config: &Config, cc: Box<dyn CongestionControl>) -> Self {
        let smss = u64::from(config.mss);
        let cwnd = Bytes::new(initial_window(config.initial_window, smss));
        let max = config.max_cwnd.unwrap_or(Bytes::MAX);
        let (watches_acks, rules_recovery) = (cc.watches_acks(), cc.rules_recovery());
        Self {
            cc,
            win: Window {
                cwnd,
                ssthresh: config.initial_ssthresh,
                pacing_rate: None,
                slow_start_at_equality: config.slow_start_at_equality,
            },
            min: Bytes::new(smss),
            max,
            reduced: false,
            watches_acks,
            rules_recovery,
        }
    }

    /// The handshake is complete: the first window, and SMSS as its lower bound.
    pub(crate) fn start(&mut self, cwnd: u64, smss: u64) {
        self.min = Bytes::new(smss);
        self.max = self.max.max(self.min);
        self.win.cwnd = Bytes::new(cwnd);
        self.clamp();
    }

    /// Lets the algorithm begin with its window, once the handshake's round-trip time is known.
    pub(crate) fn on_start(&mut self, path: &Path) {
        self.cc.on_start(path, &mut self.win);
        self.clamp();
    }

    #[inline]
    fn clamp(&mut self) {
        self.win.cwnd = self.win.cwnd.max(self.min).min(self.max);
    }

    /// The algorithm, to look at.
    pub(crate) fn algorithm(&self) -> &dyn CongestionControl {
        &*self.cc
    }

    /// See [`CongestionControl::rules_recovery`].
    #[inline]
    pub(crate) fn rules_recovery(&self) -> bool {
        self.rules_recovery
    }

    /// See [`CongestionControl::holds_back`].
    #[inline]
    pub(crate) fn holds_back(&self) -> bool {
        self.rules_recovery && self.cc.holds_back()
    }

    /// Whether the last congestion event left a reduction to be made: the window was reduced, and by an algorithm that
    /// leaves recovery to the connection.
    pub(crate) fn leaves_reduction(&self) -> bool {
        self.reduced && !self.rules_recovery
    }

    /// See [`CongestionControl::watches_losses`].
    pub(crate) fn watches_losses(&self) -> bool {
        self.cc.watches_losses()
    }

    #[inline]
    pub(crate) fn observe(&mut self, ack: &Ack, path: &Path) {
        self.cc.observe(ack, path);
    }

    pub(crate) fn on_lost(&mut self, lost: &LostSegment, path: &Path) {
        self.cc.on_lost(lost, path, &mut self.win);
        self.clamp();
    }

    #[inline]
    pub(crate) fn on_ack(&mut self, ack: &Ack, path: &Path) {
        self.cc.on_ack(ack, path, &mut self.win);
        self.clamp();
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
        // A scheme may have judged that the loss was no congestion and left the window alone; then it stays alone.
        if let Some(cap) = cap.filter(|_| self.reduced && !self.rules_recovery) {
            self.win.cwnd = self.win.cwnd.min(Bytes::new(cap));
            self.clamp();
        }
        self.cc.on_recovered(path, &mut self.win);
        self.clamp();
    }

    /// Restores the larger of now and before unless the algorithm rules recovery, then tells it.
    pub(crate) fn on_undo(&mut self, before: &Window, path: &Path) {
        if !self.rules_recovery {
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

    /// Slow start from one segment after a congestion event that reduced the window (Jacobson 1988).
    pub(crate) fn restart_from_one(&mut self, path: &Path) {
        // A scheme may have judged that the loss was no congestion; and some algorithms let nobody in.
        if self.leaves_reduction() {
            self.win.cwnd = self.min;
            self.cc.on_window_set(path, &self.win);
        }
    }

    /// The restart window after an idle time (RFC 5681, section 4.1). An algorithm that rules recovery has a rate to restart
    /// at, and Linux exempts it.
    pub(crate) fn restart(&mut self, initial_window: u64) {
        if self.rules_recovery {
            return;
        }
        self.win.cwnd = self.win.cwnd.min(Bytes::new(initial_window));
        self.clamp();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initial_windows_of_rfc_6928_and_5681() {
        let iw = |mss| initial_window(InitialWindow::Rfc6928, mss);
        assert_eq!([536, 1460, 4380, 8960].map(iw), [5360, 14_600, 14_600, 17_920]);
        let old = |mss| initial_window(InitialWindow::Rfc5681, mss) / mss;
        assert_eq!([1095, 1096, 2190, 2191].map(old), [4, 3, 3, 2]);
        assert_eq!(initial_window(InitialWindow::Segments(0), 1000), 1000, "at least one segment");
    }
}
