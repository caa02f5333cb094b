//! Compound as the out-of-tree module for Linux 2.6 computes it, which is also what ns-2.35 meant to ship.
//!
//! # Idea
//! As [`super`], in whole segments. The module is made of Linux's Vegas, with its rounds and its smallest round-trip
//! times.
//!
//! # Sources
//! `tcp_compound.c` by A. P. Castellani and S. Hemminger, for Linux 2.6.
//!
//! # State
//! | module | field | unit |
//! |---|---|---|
//! | `cwnd`, `dwnd` | the same | segments |
//! | `snd_cwnd_cnt` | `counted` | ACKs |
//! | `beg_snd_una`, `beg_snd_nxt` | `left`, in `rounds` | stream offset |
//! | `baseRTT`, `minRTT`, `cntRTT` | in `rounds` | microseconds |
//!
//! # Differences
//! | question | [`super`] | here |
//! |---|---|---|
//! | win^(3/4) | of the present window | of what the last round sent, to a whole number |
//! | diff | real | in halves of a segment |
//! | growth of dwnd | from a window of 38 | from 41, where win^(3/4) / 8 first reaches 2 |
//! | cwnd | +1/win per segment | +1 for win ACKs; slow start as long as cwnd alone is not above ssthresh |
//! | a loss | halves both | halves the total; dwnd stays if it fits, else it is 0 |
//! | idle | keeps baseRTT | forgets it and dwnd |
//!
//! # Limits
//! * After a recovery the module measures its first round from a left edge of before; here from the present one.
//! * What a round adds to dwnd comes with the next ACKs, a segment each; in slow start it waits for its end.
//! * Where the connection restores a window, cwnd takes the difference; the module would fall back to its own sum.
//!
//! # Vectors
//! `compound_linux_delay_window_increment`, `compound_linux_splits_the_window`, `compound_linux_forgets_when_idle`,
//! `compound_linux_gives_way_to_queues`, `quartic_root_is_exact`.

use crate::growth;
use crate::rounds::{self, Rounds};
use crate::{Ack, Congestion, CongestionControl, Needs, Path, Sent, Window};
use narrows_units::{Bytes, Duration};

/// Compound by the Linux module; see the module's page.
#[derive(Clone, Debug)]
pub struct CompoundLinux {
    gamma: u64,
    cwnd: u64,
    dwnd: u64,
    /// The part of the last round's increase of dwnd that ACKs have not yet added.
    owed: u64,
    counted: u64,
    left: u64,
    rounds: Rounds,
}

/// The largest integer whose fourth power is not above `a` cubed.
fn three_quarters(a: u64) -> u64 {
    let cube = u128::from(a).saturating_mul(u128::from(a)).saturating_mul(u128::from(a));
    let fourth = |r: u64| {
        u128::from(r).saturating_mul(u128::from(r)).saturating_mul(u128::from(r)).saturating_mul(u128::from(r))
    };
    let mut r = libm::sqrt(libm::sqrt(cube as f64)) as u64;
    while r > 0 && fourth(r) > cube {
        r -= 1;
    }
    while fourth(r + 1) < u128::MAX && fourth(r + 1) <= cube {
        r += 1;
    }
    r
}

impl CompoundLinux {
    /// Compound with this gamma, in segments.
    #[must_use]
    pub fn new(gamma: u64) -> Self {
        Self { gamma, cwnd: 0, dwnd: 0, owed: 0, counted: 0, left: 0, rounds: Rounds::default() }
    }

    /// Splits a window of `total` segments that something else set.
    fn split(&mut self, total: u64) {
        if self.cwnd.saturating_add(self.dwnd) > total && (self.cwnd > total || self.dwnd > total) {
            self.dwnd = 0;
        }
        self.dwnd = self.dwnd.min(total);
        self.cwnd = total - self.dwnd;
    }

    /// Begins a round at the present left edge.
    fn begin(&mut self, path: &Path) {
        self.left = path.snd_una;
        self.rounds.begin(path);
    }

    /// Adjusts dwnd once per round by the queueing that the round shows.
    fn measure(&mut self, path: &Path, sent: u64) {
        let (Some(base), Some(rtt), 3..) = (self.rounds.base(), self.rounds.min(), self.rounds.samples()) else {
            return;
        };
        let doubled = sent.saturating_mul(2);
        let diff = doubled.saturating_sub(rounds::without_queue(doubled, base, rtt));
        if diff < self.gamma.saturating_mul(2) {
            if growth::may_grow(path) {
                self.owed = (three_quarters(sent) >> 3).saturating_sub(1);
            }
        } else {
            self.owed = 0;
            self.dwnd = self.dwnd.saturating_mul(2).saturating_sub(diff) / 2;
        }
    }
}

impl CongestionControl for CompoundLinux {
    fn needs(&self) -> Needs {
        Needs { acks: true, ..Needs::default() }
    }

    fn on_start(&mut self, path: &Path, win: &mut Window) {
        self.cwnd = growth::whole_segments(win.cwnd, path);
        self.begin(path);
    }

    fn observe(&mut self, ack: &Ack, _path: &Path) {
        if let Some(rtt) = ack.rtt {
            self.rounds.sample(rounds::linux_sample(rtt));
        }
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        if ack.acked.is_zero() {
            return;
        }
        let before = growth::whole_segments(win.cwnd, path);
        self.split(before);
        if growth::may_grow(path) {
            let cwnd = path.smss * self.cwnd;
            let slow = win.ssthresh.is_none_or(|s| cwnd <= s);
            self.counted = self.counted.saturating_add(u64::from(!slow && self.counted < before));
            let full = self.counted >= before;
            self.counted = if full { 0 } else { self.counted };
            self.cwnd = self.cwnd.saturating_add(u64::from(slow || full));
            let paid = if slow { 0 } else { self.owed.min(1) };
            self.owed -= paid;
            self.dwnd = self.dwnd.saturating_add(paid);
        }
        if self.rounds.ended(path) {
            let sent = growth::whole_segments(Bytes::new(path.snd_una.saturating_sub(self.left)), path);
            self.measure(path, sent);
            self.begin(path);
        }
        let after = self.cwnd.saturating_add(self.dwnd);
        // The part of a segment stays as it is.
        let rest = win.cwnd.saturating_sub(path.smss * before);
        win.cwnd = path.smss * after + rest;
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        self.counted = 0;
        self.owed = 0;
        if *event != (Congestion::Timeout { repeated: true }) {
            let half = growth::reduced_segments(win.cwnd, 512, 2, path);
            win.ssthresh = Some(half);
            win.cwnd = win.cwnd.min(half);
        }
        if matches!(event, Congestion::Timeout { .. }) {
            win.cwnd = path.smss;
        }
        self.split(growth::whole_segments(win.cwnd, path));
    }

    fn on_recovered(&mut self, path: &Path, _win: &mut Window) {
        self.begin(path);
    }

    fn on_sent(&mut self, sent: &Sent, path: &Path, win: &mut Window) {
        if !sent.idle.is_zero() {
            self.rounds.forget(path);
            self.left = path.snd_una;
            self.dwnd = 0;
            self.owed = 0;
            self.cwnd = growth::whole_segments(win.cwnd, path);
        }
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("cwnd_reno", self.cwnd as f64);
        visit("dwnd_segments", self.dwnd as f64);
        visit("snd_cwnd_cnt", self.counted as f64);
        visit("base_rtt", self.rounds.base().unwrap_or(Duration::ZERO).as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::three_quarters;

    #[test]
    fn quartic_root_is_exact() {
        assert_eq!([0, 1, 16, 40, 41, 81, 100, 500, 1000].map(three_quarters), [0, 1, 8, 15, 16, 27, 31, 105, 177]);
        assert!(three_quarters(u64::MAX) > 1 << 31, "no overflow");
    }
}
