//! Reno's window as ns-2's own agents keep it: packets in real numbers, a step for each ACK.
//!
//! # Idea
//! As [`super`], but each ACK counts once, whatever it acknowledges: a packet more in slow start, 1/cwnd of a packet in
//! congestion avoidance. With delayed ACKs both grow half as fast.
//!
//! # Sources
//! ns-2.35, `tcp.cc` (`opencwnd`, `slowdown`) and `tcp-reno.cc`, with their defaults.
//!
//! # State
//! | ns-2 | field | unit |
//! |---|---|---|
//! | `cwnd_`, `ssthresh_` | [`Window`], and `fraction` for the part of a byte | bytes |
//!
//! # Differences
//! | question | [`super`] | here |
//! |---|---|---|
//! | counted | bytes, or ACKs with `increase = "per_ack"` | ACKs |
//! | 1/cwnd | whole bytes | real numbers |
//! | the end of slow start | at ssthresh | the first window not below it |
//! | after a loss | ssthresh and cwnd half of FlightSize | ssthresh half of cwnd in whole packets, cwnd exactly half |
//!
//! # Limits
//! * ns-2 halves min(cwnd, `window_`); the receiver's window is not visible here, the connection's bound of cwnd is.
//! * A further timeout for the same data halves the threshold again in ns-2; here it stays (RFC 5681, section 3.1).
//! * ns-2 shows no inflation in `cwnd_` either (it is in `dupwnd_`); here it is the connection's.
//!
//! # Vectors
//! `reno_ns2_growth_in_real_numbers`, `reno_ns2_halves_cwnd_exactly`, `reno_ns2_counts_acks`,
//! `reno_ns2_slow_start_may_pass_the_threshold`, `reno_ns2_limited_slow_start`, `abe_reno_ns2`.

use crate::growth::{self, Fraction};
use crate::{Ack, Congestion, CongestionControl, Path, Window};
use narrows_units::Bytes;

/// Reno by ns-2's agents; see the module's page.
#[derive(Clone, Debug)]
pub struct RenoNs2 {
    /// RFC 3742's max_ssthresh, in segments; 0 for no limit.
    max_ssthresh: u64,
    /// RFC 8511's factor, if ABE is on.
    beta_ecn: Option<f64>,
    fraction: Fraction,
}

impl RenoNs2 {
    /// Reno with this max_ssthresh in segments (0 for none) and this factor for ECN echoes.
    #[must_use]
    pub fn new(max_ssthresh: u64, beta_ecn: Option<f64>) -> Self {
        Self { max_ssthresh, beta_ecn, fraction: Fraction::default() }
    }

    /// ssthresh in whole segments, at least two, and cwnd, at least one.
    fn reduce(&self, event: &Congestion, path: &Path, win: &mut Window) {
        let factor = match (event, self.beta_ecn) {
            (Congestion::Ecn { .. }, Some(beta)) if !win.in_slow_start(path) => beta,
            _ => 0.5,
        };
        let left = growth::reduced(win.cwnd, factor, 1, path);
        win.ssthresh = Some(path.smss * growth::whole_segments(left, path).max(2));
        win.cwnd = win.cwnd.min(left);
    }
}

impl CongestionControl for RenoNs2 {
    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        if ack.acked.is_zero() || !growth::may_grow(path) {
            return;
        }
        let limit = path.smss * self.max_ssthresh;
        if !win.in_slow_start(path) {
            let smss = path.smss.as_f64();
            self.fraction.add((smss * smss / self.fraction.exact(win).max(1.0)).min(smss), win);
        } else if limit.is_zero() || win.cwnd <= limit {
            win.cwnd += path.smss;
        } else {
            growth::limited_slow_start(win, path.smss, Bytes::MAX, limit, path);
        }
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        self.fraction = Fraction::default();
        if *event != (Congestion::Timeout { repeated: true }) {
            self.reduce(event, path, win);
        }
        if matches!(event, Congestion::Timeout { .. }) {
            win.cwnd = path.smss;
        }
    }
}
