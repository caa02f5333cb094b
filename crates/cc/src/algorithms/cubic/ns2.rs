//! CUBIC as ns-2.35's TCP/Linux agent has it: Linux's module of 2006.
//!
//! # Idea
//! As [`super`]. The oldest CUBIC backs off less than today's (to 0.8), counts ACKs and not segments, makes up for
//! delayed ACKs by the filter that it has from BIC, and bounds its growth past the plateau as BIC does.
//!
//! # Sources
//! Linux 2.6.22, `net/ipv4/tcp_cubic.c`, version 2.0, as shipped with ns-2.35 (`tcp/linux`), with HZ = 1000.
//!
//! # State
//! | kernel | field | unit |
//! |---|---|---|
//! | `last_max_cwnd`, `bic_origin_point` | `last_max`, `origin` | segments |
//! | `loss_cwnd` | `lost`, whether it is set | - |
//! | `bic_K` | `k` | 1/1024 s |
//! | `epoch_start`, `last_time` | `epoch`, `last_time` | ms |
//! | `last_cwnd`, `tcp_cwnd` | the same | segments |
//! | `cnt`, `ack_cnt` | the same | ACKs |
//! | `delayed_ack` | `ratio` | segments per ACK, in sixteenths |
//! | `delay_min` | `delay_min` | 1/8 ms |
//!
//! # Differences
//! | question | today's ([`super::linux`]) | here |
//! |---|---|---|
//! | left after a loss | 717/1024 | 819/1024 |
//! | counted | segments; cnt of them make a step | ACKs; cnt and one more make a step |
//! | delayed ACKs | need no care | cnt divided by the filtered segments per ACK, in effect always about 2 |
//! | before the first loss, or after a timeout | cnt at most 20 | cnt 50 |
//! | bound of the growth | cnt at least 2 | past K, 16 segments per 100 ms, before the division |
//! | smallest delay | any sample | samples by timestamps only |
//! | slow start | HyStart | one segment per ACK; nothing is passed on |
//! | idle time | moves the epoch | runs on |
//! | undo | window before | max(cwnd, `last_max`) |
//!
//! # Limits
//! * The agent treats `cwnd == ssthresh` as slow start; that is a setting of the connection.
//! * The module's undo gives back the window before unless fast convergence had lowered `last_max` or a timeout had
//!   cleared it; here the connection gives back all of it.
//! * The module takes no delay samples in the first second of the simulator's clock; here that rule holds only within
//!   an epoch, where it is meant to.
//! * The module is not gated where the agent keeps no account of what limits it; the cwnd-limited check applies here as
//!   elsewhere.
//!
//! # Vectors
//! `cubic_ns2_backs_off_to_four_fifths`, `cubic_ns2_loss_at_100`, `cubic_ns2_loss_at_1000`,
//! `cubic_ns2_grows_by_two_percent_before_the_first_loss`, `cubic_ns2_bounds_the_growth_past_the_plateau`,
//! `cubic_ns2_takes_delays_from_timestamps_only`, `cubic_ns2_timeout_forgets_everything`, `cubic_ns2_slow_start`,
//! `cubic_ns2_undo`, `the_scale_of_reno_follows_beta`.

use super::Settings;
use super::curve::{self, Curve, in_1024ths, millis};
use crate::ack_ratio::AckRatio;
use crate::growth::{self, AckCounter};
use crate::hystart::{Feed, SlowStart};
use crate::{Ack, Congestion, CongestionControl, Needs, Path, PlainAck, Window};
use narrows_units::{Bytes, Instant};

/// Largest growth past the plateau per 100 ms, in segments (`max_increment`).
const MAX_INCREMENT: u64 = 16;

/// State that a timeout clears.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    cnt: u64,
    last_max: u64,
    lost: bool,
    last_cwnd: u64,
    last_time: u64,
    origin: u64,
    k: u64,
    /// 0 if no delay is known.
    delay_min: u64,
    epoch: Option<u64>,
    ack_cnt: u64,
    tcp_cwnd: u64,
    ratio: AckRatio,
}

/// CUBIC by ns-2.35's TCP/Linux; see the module's page.
#[derive(Clone, Debug)]
pub struct CubicNs2 {
    /// beta in 1/1024.
    beta: u64,
    /// RFC 8511's factor in 1/1024, if ABE is on.
    beta_ecn: Option<u64>,
    curve: Curve,
    /// See [`curve::friendly_scale`]; `None` without friendliness.
    friendly: Option<u64>,
    fast_convergence: bool,
    start: SlowStart,
    counter: AckCounter,
    s: State,
}

impl CubicNs2 {
    /// CUBIC with these settings, rounded to the kernel's fixed point, and this slow start.
    #[must_use]
    pub fn new(settings: &Settings, start: SlowStart) -> Self {
        let beta = in_1024ths(settings.beta).min(1023);
        Self {
            beta,
            beta_ecn: settings.beta_ecn.map(in_1024ths),
            curve: Curve::new(settings.c),
            friendly: settings.tcp_friendliness.then(|| curve::friendly_scale(beta)),
            fast_convergence: settings.fast_convergence,
            start,
            counter: AckCounter::default(),
            s: State::default(),
        }
    }

    /// Adds a round-trip time measured by timestamps, in whole milliseconds.
    fn measure_delay(&mut self, ack: &Ack, path: &Path) {
        let Some(rtt) = ack.one_way_delay.and(ack.rtt) else { return };
        if self.s.epoch.is_some_and(|e| millis(path.now).saturating_sub(e) < 1000) {
            return;
        }
        let delay = rtt.as_millis().saturating_mul(8).max(1);
        if self.s.delay_min == 0 || delay < self.s.delay_min {
            self.s.delay_min = delay;
        }
    }

    /// Starts an epoch at a window of `cwnd` segments.
    fn begin(&mut self, now: u64, cwnd: u64) {
        let s = &mut self.s;
        s.epoch = Some(now);
        s.ack_cnt = 1;
        s.tcp_cwnd = cwnd;
        (s.k, s.origin) = if s.last_max <= cwnd { (0, cwnd) } else { (self.curve.k(s.last_max - cwnd), s.last_max) };
    }

    /// Recomputes `cnt` for a window of `cwnd` segments (`bictcp_update`).
    fn update(&mut self, cwnd: u64, now: u64) {
        self.s.ack_cnt = self.s.ack_cnt.saturating_add(1);
        if self.s.last_cwnd == cwnd && now.saturating_sub(self.s.last_time) <= 1000 / 32 {
            return;
        }
        self.s.last_cwnd = cwnd;
        self.s.last_time = now;
        let epoch = self.s.epoch.unwrap_or(now);
        if self.s.epoch.is_none() {
            self.begin(now, cwnd);
        }
        let s = &mut self.s;
        let t = now.saturating_sub(epoch).saturating_add(s.delay_min >> 3).saturating_mul(1024) / 1000;
        s.cnt = Curve::count(cwnd, self.curve.target(t, s.k, s.origin));
        if s.delay_min > 0 && t >= s.k {
            let least = u128::from(cwnd) * 8000 / (u128::from(s.delay_min) * u128::from(10 * MAX_INCREMENT));
            s.cnt = s.cnt.max(u64::try_from(least).unwrap_or(u64::MAX));
        }
        if !s.lost {
            s.cnt = 50;
        }
        if let Some(friendly) = self.friendly {
            curve::grow_estimate(&mut s.ack_cnt, cwnd.saturating_mul(friendly) >> 3, &mut s.tcp_cwnd);
            if s.tcp_cwnd > cwnd {
                s.cnt = s.cnt.min(cwnd / (s.tcp_cwnd - cwnd));
            }
        }
        s.cnt = s.ratio.correct(s.cnt);
    }

    /// Counts an ACK in congestion avoidance.
    #[inline]
    fn avoid(&mut self, smss: Bytes, now: Instant, win: &mut Window) {
        let cwnd = win.cwnd.as_u64() / smss.as_u64().max(1);
        self.update(cwnd.max(1), millis(now));
        self.counter.add_of(self.s.cnt, smss, win);
    }

    /// Returns ssthresh after a congestion event and records W_max.
    fn reduce(&mut self, beta: u64, path: &Path, win: &Window) -> Bytes {
        let cwnd = growth::whole_segments(win.cwnd, path);
        self.s.last_max = curve::next_max(cwnd, self.s.last_max, self.beta, self.fast_convergence);
        self.s.lost = true;
        self.s.epoch = None;
        growth::reduced_segments(win.cwnd, beta, 2, path)
    }
}

impl CongestionControl for CubicNs2 {
    fn needs(&self) -> Needs {
        Needs { acks: true, observes_plainly: true, ..Needs::default() }
    }

    fn observe(&mut self, ack: &Ack, path: &Path) {
        self.s.ratio.observe(ack, path, false);
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        if ack.acked.is_zero() {
            return;
        }
        self.measure_delay(ack, path);
        if win.in_slow_start(path) {
            self.start.on_ack(&Feed { acked: ack.acked, rtt: ack.rtt, min_rtt: path.min_rtt }, path, win);
        } else if growth::may_grow(path) {
            self.avoid(path.smss, path.now, win);
        }
    }

    fn on_plain_ack(&mut self, ack: &PlainAck, win: &mut Window) -> bool {
        if win.is_below_ssthresh(ack.slow_start_at_equality) {
            return false;
        }
        if !ack.acked.is_zero() {
            self.s.ratio.add(ack.acked, ack.smss);
            if ack.cwnd_limited {
                self.avoid(ack.smss, ack.now, win);
            }
        }
        true
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        self.counter = AckCounter::default();
        match event {
            Congestion::Timeout { repeated } => {
                if !*repeated {
                    win.ssthresh = Some(self.reduce(self.beta, path, win));
                }
                self.s = State::default();
                self.start.on_timeout(path);
                win.cwnd = path.smss;
            }
            Congestion::Ecn { .. } | Congestion::Loss { .. } => {
                let beta = match (event, self.beta_ecn) {
                    (Congestion::Ecn { .. }, Some(beta)) if !win.in_slow_start(path) => beta,
                    _ => self.beta,
                };
                let ssthresh = self.reduce(beta, path, win);
                win.ssthresh = Some(ssthresh);
                win.cwnd = win.cwnd.min(ssthresh);
            }
        }
    }

    fn on_window_set(&mut self, _path: &Path, _win: &Window) {
        // As after a loss, but without a new last_max: the next epoch starts at the new window.
        self.s.epoch = None;
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("last_max", self.s.last_max as f64);
        visit("origin", self.s.origin as f64);
        visit("k", self.s.k as f64 / 1024.0);
        visit("cnt", self.s.cnt as f64);
        visit("tcp_cwnd", self.s.tcp_cwnd as f64);
        visit("delayed_ack", self.s.ratio.sixteenths() as f64);
        visit("delay_min", self.s.delay_min as f64 / 8000.0);
        visit("ack_cnt", self.counter.counted() as f64);
    }
}
