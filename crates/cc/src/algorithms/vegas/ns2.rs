//! Vegas as ns-2.35's own agent, `Agent/TCP/Vegas`, computes it: close to the paper.
//!
//! # Idea
//! As [`super`], with two differences. The rate of a round is the data sent in it divided by the mean of its round-trip
//! times. A decision to grow is carried out over the next round, a part with each ACK.
//!
//! # Sources
//! ns-2.35, `tcp/tcp-vegas.cc`; L. Brakmo, L. Peterson, JSAC 13(8), 1995.
//!
//! # State
//! | ns-2 | field | unit |
//! |---|---|---|
//! | `v_baseRTT_`, `v_sumRTT_`, `v_cntRTT_` | `rounds`, `base` | time, time, count |
//! | `v_begseq_`, `v_begtime_` | `begin`, `began` | stream offset, time |
//! | `v_incr_` | `increase` | segments per ACK |
//! | `v_inc_flag_` | `grows` | - |
//!
//! # Differences
//! * The agent uses the time of its first ACK since the start of the simulation as its first BaseRTT. Here it is the
//!   first sample.
//! * The agent restarts from two segments after a timeout (`v_slowstart_`). Here it is one, as RFC 5681 requires.
//! * The agent takes one half after an ECN echo and a quarter after a loss. Here an echo counts as a loss.
//!
//! # Limits
//! The finer timer on duplicate ACKs, and the halving if a segment had been sent more than once, belong to loss
//! recovery and are not implemented here. Three duplicate ACKs take the quarter.
//!
//! # Vectors
//! `vegas_ns2_doubles_every_other_round`, `vegas_ns2_leaves_an_eighth_at_the_end_of_slow_start`,
//! `vegas_ns2_spreads_its_increase`, `vegas_ns2_settles_between_one_and_three`, `vegas_ns2_gives_a_quarter_back`.

use super::Limits;
use crate::growth::{self, Fraction};
use crate::rounds::Rounds;
use crate::{Ack, Congestion, CongestionControl, Path, Window};
use narrows_units::{Bytes, Duration, Instant};

/// Vegas by ns-2.35; see the module's page.
#[derive(Clone, Debug)]
pub struct VegasNs2 {
    limits: Limits,
    rounds: Rounds,
    base: Option<Duration>,
    /// Next byte to be sent when the round began.
    begin: u64,
    began: Instant,
    /// Segments added by each ACK of this round.
    increase: f64,
    /// Whether slow start grows in this round.
    grows: bool,
    /// Segments in the queue at the last decision.
    delta: f64,
    fraction: Fraction,
}

impl VegasNs2 {
    /// Vegas with these limits.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            rounds: Rounds::default(),
            base: None,
            begin: 0,
            began: Instant::ZERO,
            increase: 0.0,
            grows: true,
            delta: 0.0,
            fraction: Fraction::default(),
        }
    }

    /// Bytes sent from this offset on, in whole segments.
    fn sent_since(offset: u64, path: &Path) -> f64 {
        growth::whole_segments(Bytes::new(path.snd_nxt.saturating_sub(offset)), path) as f64
    }

    /// Segments outstanding before this ACK: the agent also counts the segment just acknowledged.
    fn outstanding(path: &Path) -> f64 {
        Self::sent_since(path.snd_una, path) + 1.0
    }

    /// Decides at the end of a round.
    fn decide(&mut self, sample: Option<Duration>, path: &Path, win: &mut Window) {
        // The first ACK ends a round without samples.
        let rtt = self.rounds.mean().or(sample).unwrap_or_else(|| path.now.since(self.began));
        if rtt.is_zero() {
            return;
        }
        let sent = Self::sent_since(self.begin, path);
        let base = match self.base {
            // A single segment in flight meets no queue of its own flow, so its round-trip time is that of the present
            // path.
            Some(base) if rtt >= base && sent > 1.0 => base,
            _ => rtt,
        };
        self.base = Some(base);
        let actual = sent * (base.as_secs_f64() / rtt.as_secs_f64());
        self.delta = libm::trunc(Self::outstanding(path) - actual + 0.5);
        let least = path.smss * 2;
        self.increase = 0.0;
        if win.in_slow_start(path) {
            self.grows = !self.grows;
            if self.grows && self.delta > self.limits.gamma {
                win.ssthresh = Some(least);
                win.cwnd = (win.cwnd - win.cwnd / 8).max(least);
            } else if self.grows {
                self.increase = 1.0;
            }
        } else if self.delta > self.limits.beta {
            win.cwnd = win.cwnd.saturating_sub(path.smss).max(least);
        } else if self.delta < self.limits.alpha {
            self.increase = path.smss.as_f64() / win.cwnd.as_f64().max(1.0);
        }
    }
}

impl CongestionControl for VegasNs2 {
    fn on_start(&mut self, path: &Path, _win: &mut Window) {
        self.begin = path.snd_una;
        self.began = path.now;
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        if ack.acked.is_zero() {
            return;
        }
        if path.snd_una > self.begin {
            self.decide(ack.rtt, path, win);
            self.rounds.begin(path);
            self.begin = path.snd_nxt;
            self.began = path.now;
        }
        let slow = win.in_slow_start(path);
        if self.increase >= 1.0 && !slow {
            self.increase = 0.0;
        }
        // The window does not grow if the sender has not filled it.
        let behind = win.cwnd.segments(path.smss) - Self::outstanding(path);
        if self.increase > 0.0 && behind <= 2.0 && growth::may_grow(path) {
            self.fraction.add(self.increase * path.smss.as_f64(), win);
        }
        if let Some(rtt) = ack.rtt {
            self.rounds.sample(rtt);
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
        }
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        if let Congestion::Timeout { .. } = event {
            growth::answer(event, path, win, |win| growth::reduced_segments(win.cwnd, 512, 2, path));
            return;
        }
        let cwnd = growth::whole_segments(win.cwnd, path);
        let left = if cwnd <= 3 { 2 } else { cwnd - cwnd / 4 };
        win.cwnd = win.cwnd.min(path.smss * left);
        // The threshold only ends slow start.
        win.ssthresh = Some(path.smss * 2);
    }

    fn on_window_set(&mut self, _path: &Path, _win: &Window) {
        self.increase = 0.0;
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("base_rtt", self.base.unwrap_or(Duration::ZERO).as_secs_f64());
        visit("mean_rtt", self.rounds.mean().unwrap_or(Duration::ZERO).as_secs_f64());
        visit("delta", self.delta);
        visit("increase", self.increase);
    }
}
