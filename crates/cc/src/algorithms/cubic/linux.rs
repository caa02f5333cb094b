//! CUBIC as Linux 6.1 computes it: integer segments, time in 1/1024 s, one look at the curve per millisecond.
//!
//! # Idea
//! As [`super`]. The kernel turns the distance to the target into `cnt`, the number of segments to be acknowledged for
//! one segment more, and counts as Reno does.
//!
//! # Sources
//! Linux 6.1, `net/ipv4/tcp_cubic.c`, with HZ = 1000.
//!
//! # State
//! | kernel | field | unit |
//! |---|---|---|
//! | `last_max_cwnd`, `bic_origin_point` | `last_max`, `origin` | segments |
//! | `bic_K` | `k` | 1/1024 s |
//! | `epoch_start`, `last_time` | `epoch`, `last_time` | ms |
//! | `last_cwnd`, `tcp_cwnd`, `cnt` | the same | segments |
//! | `ack_cnt` | `ack_cnt` | bytes, where the kernel counts segments |
//! | `delay_min` | `delay_min` | time |
//!
//! # Differences
//! * The cube root is exact; the kernel's is one Newton step from a table, up to 0.2 % off (K 9294 instead of 9300 for
//!   a drop of 300 segments).
//! * The kernel's `410 * |t - K|^3` wraps around after some hours without a new epoch; here it saturates.
//! * A window that is not a whole number of segments is rounded down where it is read and keeps its rest.
//!
//! # Limits
//! `delay_min` stands in for the round-trip time, as in the kernel; there is no alpha switch and no 1.5 target cap
//! other than `cnt >= 2`.
//!
//! # Vectors
//! `cubic_linux_loss_at_100`, `cubic_linux_loss_at_1000`, `cubic_linux_friendly_region`, `hystart_ack_train_vector`,
//! `cubic_linux_fast_convergence`, `cubic_linux_timeout_forgets_everything`, `cubic_linux_idle_shifts_the_epoch`,
//! `cubic_linux_takes_no_delay_sample_in_the_first_second_of_an_epoch`, `cube_root_is_exact`.

use super::Settings;
use super::curve::{self, Curve, in_1024ths, millis};
use crate::growth::{self, ByteCounter};
use crate::hystart::{Feed, SlowStart};
use crate::{Ack, Congestion, CongestionControl, Needs, Path, Sent, Window};
use narrows_units::{Bytes, Duration};

/// State that a timeout clears.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    cnt: u64,
    last_max: u64,
    last_cwnd: u64,
    last_time: u64,
    origin: u64,
    k: u64,
    delay_min: Option<Duration>,
    epoch: Option<u64>,
    ack_cnt: u64,
    tcp_cwnd: u64,
}

/// CUBIC by Linux 6.1; see the module's page.
#[derive(Clone, Debug)]
pub struct CubicLinux {
    /// beta in 1/1024.
    beta: u64,
    /// RFC 8511's factor in 1/1024, if ABE is on.
    beta_ecn: Option<u64>,
    curve: Curve,
    /// See [`curve::friendly_scale`]; `None` without friendliness.
    friendly: Option<u64>,
    fast_convergence: bool,
    start: SlowStart,
    counter: ByteCounter,
    /// The present ACK's sample, if slow start may use it.
    fresh: Option<Duration>,
    s: State,
}

impl CubicLinux {
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
            counter: ByteCounter::default(),
            fresh: None,
            s: State::default(),
        }
    }

    /// Adds a round-trip time sample and returns it if slow start may use it too.
    fn sample(&mut self, rtt: Option<Duration>, path: &Path) -> Option<Duration> {
        // In the first second of an epoch, samples still include the queue of the recovery.
        if self.s.epoch.is_some_and(|e| millis(path.now).saturating_sub(e) < 1000) {
            return None;
        }
        let rtt = rtt?.max(Duration::from_micros(1));
        self.s.delay_min = Some(self.s.delay_min.map_or(rtt, |d| d.min(rtt)));
        Some(rtt)
    }

    /// Starts an epoch at a window of `cwnd` segments.
    fn begin(&mut self, now: u64, cwnd: u64, acked: Bytes) {
        let s = &mut self.s;
        s.epoch = Some(now);
        s.ack_cnt = acked.as_u64();
        s.tcp_cwnd = cwnd;
        if s.last_max <= cwnd {
            s.k = 0;
            s.origin = cwnd;
        } else {
            s.k = self.curve.k(s.last_max - cwnd);
            s.origin = s.last_max;
        }
    }

    /// The curve's window in segments, `ms` milliseconds into the epoch.
    fn target(&self, ms: u64) -> u64 {
        let s = &self.s;
        let delay = s.delay_min.unwrap_or(Duration::ZERO).as_nanos().div_ceil(1_000_000);
        let t = ms.saturating_add(delay).saturating_mul(1024) / 1000;
        self.curve.target(t, s.k, s.origin)
    }

    /// Recomputes `cnt` for a window of `cwnd` segments.
    fn update(&mut self, cwnd: u64, acked: Bytes, path: &Path) {
        let now = millis(path.now);
        self.s.ack_cnt = self.s.ack_cnt.saturating_add(acked.as_u64());
        let age = now.saturating_sub(self.s.last_time);
        if self.s.last_cwnd == cwnd && age <= 1000 / 32 {
            return;
        }
        if self.s.epoch.is_none() || age > 0 {
            self.s.last_cwnd = cwnd;
            self.s.last_time = now;
            if self.s.epoch.is_none() {
                self.begin(now, cwnd, acked);
            }
            let target = self.target(now.saturating_sub(self.s.epoch.unwrap_or(now)));
            self.s.cnt = Curve::count(cwnd, target);
            if self.s.last_max == 0 {
                // Before the first loss W_max is unknown, so the window grows by at least 5 % per round.
                self.s.cnt = self.s.cnt.min(20);
            }
        }
        if let Some(friendly) = self.friendly {
            self.follow_reno(friendly, cwnd, path);
        }
        self.s.cnt = self.s.cnt.max(2);
    }

    /// Speeds growth up to that of an estimate of Reno's window (`tcp_friendliness`).
    fn follow_reno(&mut self, friendly: u64, cwnd: u64, path: &Path) {
        let s = &mut self.s;
        let per = (cwnd.saturating_mul(friendly) >> 3).max(1).saturating_mul(path.smss.as_u64().max(1));
        curve::grow_estimate(&mut s.ack_cnt, per, &mut s.tcp_cwnd);
        if s.tcp_cwnd > cwnd {
            s.cnt = s.cnt.min(cwnd / (s.tcp_cwnd - cwnd));
        }
    }

    /// Returns ssthresh after a congestion event and records W_max.
    fn reduce(&mut self, beta: u64, path: &Path, win: &mut Window) -> Bytes {
        let cwnd = growth::whole_segments(win.cwnd, path);
        self.s.last_max = curve::next_max(cwnd, self.s.last_max, self.beta, self.fast_convergence);
        self.s.epoch = None;
        let ssthresh = growth::reduced_segments(win.cwnd, beta, 2, path);
        win.ssthresh = Some(ssthresh);
        ssthresh
    }
}

impl CongestionControl for CubicLinux {
    fn needs(&self) -> Needs {
        Needs { acks: true, ..Needs::default() }
    }

    fn observe(&mut self, ack: &Ack, path: &Path) {
        // Linux's `pkts_acked` is called in recovery too, where no epoch runs and every sample counts.
        self.fresh = self.sample(ack.rtt, path);
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        let rtt = self.fresh.take();
        if ack.acked.is_zero() {
            return;
        }
        let mut acked = ack.delivered;
        if win.in_slow_start(path) {
            acked = self.start.on_ack(&Feed { acked, rtt, min_rtt: self.s.delay_min }, path, win);
        }
        if acked.is_zero() || !growth::may_grow(path) {
            return;
        }
        let cwnd = growth::whole_segments(win.cwnd, path).max(1);
        self.update(cwnd, acked, path);
        self.counter.add(acked, path.smss * self.s.cnt, path, win);
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        self.counter.reset();
        match event {
            Congestion::Timeout { repeated } => {
                if !*repeated {
                    self.reduce(self.beta, path, win);
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
                win.cwnd = win.cwnd.min(ssthresh);
            }
        }
    }

    fn on_sent(&mut self, sent: &Sent, path: &Path, _win: &mut Window) {
        if let Some(epoch) = &mut self.s.epoch {
            // The kernel moves the epoch by the idle time, so that the curve continues where it stopped.
            *epoch = epoch.saturating_add(sent.idle.as_millis()).min(millis(path.now));
        }
    }

    fn on_window_set(&mut self, _path: &Path, _win: &Window) {
        // As after a loss, but without a new last_max: the next epoch starts at the new window.
        self.s.epoch = None;
    }

    fn growth_limit(&self, flight: Bytes, path: &Path, win: &Window) -> Bytes {
        // The window grows by half in a round-trip time at most (RFC 9438, section 4.2; here `cnt >= 2`).
        if win.in_slow_start(path) { flight + flight } else { flight + flight / 2 }
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("last_max", self.s.last_max as f64);
        visit("origin", self.s.origin as f64);
        visit("k", self.s.k as f64 / 1024.0);
        visit("cnt", self.s.cnt as f64);
        visit("tcp_cwnd", self.s.tcp_cwnd as f64);
        visit("delay_min", self.s.delay_min.unwrap_or(Duration::ZERO).as_secs_f64());
        visit("snd_cwnd_cnt", self.counter.counted().as_f64());
    }
}
