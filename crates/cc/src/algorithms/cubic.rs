//! CUBIC: a window that is a cubic function of the time since the last reduction.
//!
//! # Idea
//! After a loss at W_max, the window returns quickly towards W_max and stays near it for a while, since the capacity is
//! probably there. Then it probes beyond W_max at an increasing rate. The curve depends on time and not on round-trip
//! times, so flows with different round-trip times grow at the same rate. Where Reno would be faster, CUBIC follows an
//! estimate of Reno.
//!
//! # Sources
//! RFC 9438 (sections 4.1 to 4.10 and 5.8; figures 1 to 5); S. Ha, I. Rhee, L. Xu, "CUBIC: A New TCP-Friendly
//! High-Speed TCP Variant", SIGOPS OSR 42(5), 2008; RFC 8511 (ABE); RFC 9406 (HyStart++). [`linux`] has Linux's integer
//! rules, [`ns2`] those of Linux's first version, which ns-2 uses.
//!
//! # State
//! | symbol | field | unit |
//! |---|---|---|
//! | W_max | `epoch.w_max` | bytes |
//! | W_est | `epoch.w_est` | bytes |
//! | cwnd_prior | `epoch.cwnd_prior` | bytes |
//! | K | `epoch.k` | seconds |
//! | t_epoch, moved on by application-limited time | `epoch.start` | time |
//! | cwnd_epoch | cwnd at `epoch.start`; needed only to compute K | bytes |
//! | C, beta_cubic, alpha_cubic | `settings.c`, `settings.beta`, `alpha` | segments/s³, -, - |
//! | undo_W_max and the other undo_ variables | `saved` | - |
//!
//! ```text
//!   SlowStart -- loss, ECN echo, HyStart, cwnd = ssthresh --> Avoidance (epoch set) -- loss, ECN echo --> Avoidance
//!       ^                                                        |                       (new epoch)
//!       +----------------------- timeout ------------------------+
//! ```
//!
//! # Differences
//! | question | RFC 9438 | RFC 8312 | Linux 6.1 | ns-3 | ns-2 TCP-Linux | parameter |
//! |---|---|---|---|---|---|---|
//! | reduced on loss | FlightSize | cwnd | cwnd | cwnd | cwnd | `profile` |
//! | beta | 0.7 | 0.7 | 717/1024 | 0.7 | 819/1024 | `beta` |
//! | numbers | real | real | integer segments, 1/1024 s | real time, integer target | integer | `profile` |
//! | Reno estimate | alpha 0.53, then 1 | from t | 0.53 only | 0.53 only | 0.53 only | `alpha_switch` |
//! | growth per round | at most 1.5 times | - | at most 1.5 times | cnt >= 2 | 16 segments per 100 ms | - |
//! | before the first loss | K = 0 | K = 0 | also >= 5 % per round | as Linux | 2 % (4 % by its filter) | `profile` |
//! | timeout | W_max = cwnd at the next epoch | W_max kept | all forgotten | partly | all forgotten | `profile` |
//! | undo | W_max, K, epoch, W_est too | - | window only | window only | max(cwnd, W_max) | `profile` |
//! | start | HyStart++ (SHOULD) | standard | HyStart | HyStart, weak | standard | `slow_start` |
//!
//! The default follows RFC 9438. It is the standard, and the only description that gives a reason for every rule.
//! `profile = "linux"` is what most servers run. `profile = "ns2"` is for comparison with ns-2.
//!
//! # Limits
//! * RFC 9438 adds `(target - cwnd) / cwnd` for each ACK, which assumes one ACK per segment. We multiply it by the
//!   segments acknowledged, as Linux does, so that delayed ACKs do not slow the curve.
//! * The step to W_est is bounded like the cubic step, to half of what the ACK acknowledges. In the RFC's model W_est
//!   is never further ahead. It can be after something else (a scheme) has reduced the window.
//! * With `slow_start = "hystart"` in the RFC profile, the smallest RTT is the connection's.
//!
//! # Vectors
//! `cubic_k`, `cubic_function`, `cubic_ssthresh`, `cubic_rfc_loss_at_100`, `cubic_rfc_loss_at_1000`,
//! `cubic_rfc_friendly_region`, `cubic_fast_convergence`, `cubic_timeout`,
//! `cubic_stage_without_loss_starts_at_the_window`, `cubic_app_limited_time_is_excluded`,
//! `cubic_idle_time_is_excluded`, `cubic_undo_restores_the_epoch`, `cubic_does_not_leap_back_after_a_foreign_cut`,
//! `cubic_grows_by_half_a_round_at_most_after_years`, `abe_cubic`.

mod curve;
pub mod linux;
pub mod ns2;

use crate::growth::{self, Fraction};
use crate::hystart::{Feed, HyStart, HyStartPlusPlus, SlowStart};
use crate::row::{Ns2Agent, Param, ParamKind, Params, Response, Row, Traits};
use crate::{Ack, Congestion, CongestionControl, Path, PlainAck, Sent, Window};
use narrows_units::{Bytes, Duration, Instant, Variable};

/// The registry's row.
pub(crate) const ROW: Row = Row {
    name: "cubic",
    title: "CUBIC",
    sources: &[
        "RFC 9438",
        "RFC 9406",
        "RFC 8511",
        "Ha, Rhee, Xu 2008",
        "Linux 6.1 (profile linux)",
        "ns-2.35's TCP/Linux (profile ns2)",
    ],
    params: &[
        Param {
            name: "profile",
            doc: "Rules: rfc9438 in real numbers, linux with the integer arithmetic of Linux 6.1, ns2 with that of ns-2.35's TCP/Linux.",
            kind: ParamKind::Choice { default: "rfc9438", allowed: &["rfc9438", "linux", "ns2"] },
        },
        Param {
            name: "c",
            doc: "C, the steepness of the cubic function (RFC 9438, section 4.1).",
            kind: ParamKind::Number { unit: "segments/s^3", default: 0.4, min: 0.001, max: 100.0 },
        },
        Param {
            name: "beta",
            doc: "Share of the window that is left after a loss (RFC 9438, section 4.6; Linux rounds it to 1/1024); 0 is the profile's: 0.7, with ns2 819/1024.",
            kind: ParamKind::Number { unit: "", default: 0.0, min: 0.0, max: 0.95 },
        },
        Param {
            name: "fast_convergence",
            doc: "Lower W_max further when losses come at falling windows (RFC 9438, section 4.7).",
            kind: ParamKind::Switch { default: true },
        },
        Param {
            name: "tcp_friendliness",
            doc: "Be at least as fast as an estimate of Reno (RFC 9438, section 4.3).",
            kind: ParamKind::Switch { default: true },
        },
        Param {
            name: "alpha_switch",
            doc: "Let the estimate of Reno grow by a full segment per round once it has reached cwnd_prior (RFC 9438, section 4.3; rfc9438 only).",
            kind: ParamKind::Switch { default: true },
        },
        Param {
            name: "slow_start",
            doc: "How it starts; profile means hystart++ with rfc9438 (RFC 9438, section 4.10), hystart with linux and standard with ns2.",
            kind: ParamKind::Choice { default: "profile", allowed: &["profile", "standard", "hystart", "hystart++"] },
        },
        crate::params::ABC_LIMIT,
        crate::params::MAX_SSTHRESH,
        crate::params::ABE,
        crate::params::beta_ecn(0.85),
    ],
    variables: &[
        Variable::new("w_max", "bytes", "W_max, the window that the cubic curve returns to (RFC 9438; `rfc9438`)."),
        Variable::new("w_est", "bytes", "W_est, the estimate of the window that Reno would have (`rfc9438`)."),
        Variable::new("cwnd_prior", "bytes", "cwnd before the last congestion event; 0 before the first (`rfc9438`)."),
        Variable::new("k", "s", "K, the time that the curve takes to reach W_max or its origin."),
        Variable::new("epoch", "s", "Start of the congestion avoidance stage; 0 outside a stage (`rfc9438`)."),
        Variable::new("last_max", "segments", "W_max in the kernel's integers; 0 before a loss (`linux`, `ns2`)."),
        Variable::new("origin", "segments", "Window at which the curve is flat (`linux`, `ns2`)."),
        Variable::new(
            "cnt",
            "segments",
            "Segments to acknowledge for one segment of growth (`linux`); ACKs with `ns2`.",
        ),
        Variable::new("tcp_cwnd", "segments", "Estimate of the window that Reno would have (`linux`, `ns2`)."),
        Variable::new(
            "delay_min",
            "s",
            "Smallest round-trip time that the module knows; 0 before a sample (`linux`, `ns2`).",
        ),
        Variable::new("delayed_ack", "1/16 segment per ACK", "Segments that an ACK covers, filtered (`ns2`)."),
        Variable::new("snd_cwnd_cnt", "bytes", "Bytes acknowledged since the window last grew (`linux`)."),
        Variable::new("ack_cnt", "ACKs", "ACKs since the window last grew (`ns2`)."),
    ],
    traits: Traits { response: Response::Reduces, needs_ecn: false, scales: true, l4s: false, own_start: None },
    ns2: Some(Ns2Agent::TcpLinux),
    recovery: None,
    source: include_str!("cubic.rs"),
    build,
};

fn build(params: &Params) -> Box<dyn CongestionControl> {
    let profile = params.choice(&ROW, "profile");
    let (linux, ns2) = (profile == "linux", profile == "ns2");
    let start = match params.choice(&ROW, "slow_start") {
        "hystart" => SlowStart::HyStart(HyStart::default()),
        "profile" if linux => SlowStart::HyStart(HyStart::default()),
        "hystart++" => SlowStart::PlusPlus(HyStartPlusPlus::default()),
        "profile" if !ns2 => SlowStart::PlusPlus(HyStartPlusPlus::default()),
        _ => SlowStart::Standard {
            limit: crate::params::abc_limit(params, &ROW, if linux { u64::MAX } else { 1 }),
            max_ssthresh: params.number(&ROW, "max_ssthresh") as u64,
        },
    };
    let beta = match params.number(&ROW, "beta") {
        beta if beta > 0.0 => beta,
        _ if ns2 => 819.0 / 1024.0,
        _ => 0.7,
    };
    let settings = Settings {
        c: params.number(&ROW, "c"),
        beta,
        beta_ecn: crate::params::abe(params, &ROW),
        fast_convergence: params.switch(&ROW, "fast_convergence"),
        tcp_friendliness: params.switch(&ROW, "tcp_friendliness"),
        alpha_switch: params.switch(&ROW, "alpha_switch"),
    };
    match profile {
        "linux" => Box::new(linux::CubicLinux::new(&settings, start)),
        "ns2" => Box::new(ns2::CubicNs2::new(&settings, start)),
        _ => Box::new(Cubic::new(settings, start)),
    }
}

/// The parameters that both profiles read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// C, in segments/s³.
    pub c: f64,
    /// beta_cubic.
    pub beta: f64,
    /// RFC 8511's factor, if ABE is on.
    pub beta_ecn: Option<f64>,
    /// RFC 9438, section 4.7.
    pub fast_convergence: bool,
    /// RFC 9438, section 4.3.
    pub tcp_friendliness: bool,
    /// Whether alpha_cubic becomes 1 at cwnd_prior.
    pub alpha_switch: bool,
}

/// State that is restored after a spurious congestion event (RFC 9438, section 4.9).
#[derive(Clone, Copy, Debug, Default)]
struct Epoch {
    w_max: f64,
    w_est: f64,
    cwnd_prior: f64,
    k: f64,
    /// t_epoch: start of the congestion avoidance stage; `None` outside a stage.
    start: Option<Instant>,
    /// Whether the last congestion event was a loss or an ECN echo, so that W_max is the target of the next stage.
    by_loss: bool,
}

/// CUBIC by RFC 9438; see the module's page.
#[derive(Clone, Debug)]
pub struct Cubic {
    settings: Settings,
    /// alpha_cubic = 3 (1 - beta) / (1 + beta) (RFC 9438, section 4.3).
    alpha: f64,
    start: SlowStart,
    epoch: Epoch,
    /// State before the last congestion event.
    saved: Option<Box<Epoch>>,
    /// Time of the last ACK or the end of the last idle time.
    seen: Instant,
    fraction: Fraction,
}

impl Cubic {
    /// CUBIC with these settings and this slow start.
    #[must_use]
    pub fn new(settings: Settings, start: SlowStart) -> Self {
        Self {
            settings,
            alpha: 3.0 * (1.0 - settings.beta) / (1.0 + settings.beta),
            start,
            epoch: Epoch::default(),
            saved: None,
            seen: Instant::ZERO,
            fraction: Fraction::default(),
        }
    }

    /// W_cubic(t) in bytes (RFC 9438, figure 1); `t` in seconds.
    #[inline]
    fn w_cubic(&self, t: f64, smss: f64) -> f64 {
        let d = t - self.epoch.k;
        self.settings.c * smss * (d * d * d) + self.epoch.w_max
    }

    /// Starts a congestion avoidance stage at the present window (RFC 9438, sections 4.2 and 4.8).
    #[cold]
    fn begin(&mut self, now: Instant, smss: f64, cwnd: f64) -> Instant {
        let epoch = &mut self.epoch;
        if epoch.by_loss && epoch.w_max > cwnd {
            // RFC 9438, figure 2.
            epoch.k = libm::cbrt((epoch.w_max - cwnd) / smss / self.settings.c);
        } else {
            epoch.k = 0.0;
            epoch.w_max = cwnd;
        }
        epoch.w_est = cwnd;
        if epoch.cwnd_prior <= 0.0 {
            epoch.cwnd_prior = cwnd;
        }
        epoch.start = Some(now);
        now
    }

    /// One ACK's step in congestion avoidance.
    #[inline]
    fn avoid(&mut self, acked: Bytes, path: &PlainAck, win: &mut Window) {
        let smss = path.smss.as_f64().max(1.0);
        let cwnd = self.fraction.exact(win).max(1.0);
        let start = match self.epoch.start {
            Some(start) => start,
            None => self.begin(path.now, smss, cwnd),
        };
        // The share of the window that this ACK covers, at most 1: one ACK counts for one round at most.
        let share = (acked.as_f64() / cwnd).min(1.0);
        let t = path.now.since(start).as_secs_f64();
        if self.settings.tcp_friendliness {
            let at_prior = self.settings.alpha_switch && self.epoch.w_est >= self.epoch.cwnd_prior;
            let alpha = if at_prior { 1.0 } else { self.alpha };
            // RFC 9438, figure 4.
            self.epoch.w_est += alpha * smss * share;
            if self.w_cubic(t, smss) < self.epoch.w_est {
                let step = (self.epoch.w_est - cwnd).min(0.5 * cwnd * share);
                self.fraction.add(step, win);
                return;
            }
        }
        let rtt = path.srtt.or(path.min_rtt).unwrap_or(Duration::ZERO).as_secs_f64();
        let target = self.w_cubic(t + rtt, smss).clamp(cwnd, 1.5 * cwnd);
        self.fraction.add((target - cwnd) * share, win);
    }

    /// Excludes from t the time in which cwnd could not grow (RFC 9438, sections 4.2 and 5.8).
    fn exclude(&mut self, time: Duration) {
        if let Some(start) = &mut self.epoch.start {
            *start += time;
        }
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        let since = path.now.since(core::mem::replace(&mut self.seen, path.now));
        let slow = win.in_slow_start(path);
        if slow || !growth::may_grow(path) {
            self.exclude(since);
        }
        let mut acked = ack.acked;
        if slow {
            acked = self.start.on_ack(&Feed { acked, rtt: ack.rtt, min_rtt: path.min_rtt }, path, win);
        }
        if !acked.is_zero() && growth::may_grow(path) {
            self.avoid(acked, &path.plain(acked), win);
        }
    }

    fn on_plain_ack(&mut self, ack: &PlainAck, win: &mut Window) -> bool {
        if win.is_below_ssthresh(ack.slow_start_at_equality) {
            return false;
        }
        let since = ack.now.since(core::mem::replace(&mut self.seen, ack.now));
        if !ack.cwnd_limited {
            self.exclude(since);
        } else if !ack.acked.is_zero() {
            self.avoid(ack.acked, ack, win);
        }
        true
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        if let Congestion::Timeout { repeated } = event {
            self.start.on_timeout(path);
            if *repeated {
                self.epoch.start = None;
                win.cwnd = path.smss;
                return;
            }
        }
        **self.saved.get_or_insert_default() = self.epoch;
        let cwnd = win.cwnd.as_f64();
        let timeout = matches!(event, Congestion::Timeout { .. });
        if !timeout {
            let falling = self.settings.fast_convergence && cwnd < self.epoch.w_max;
            // RFC 9438, section 4.7.
            self.epoch.w_max = if falling { cwnd * (1.0 + self.settings.beta) / 2.0 } else { cwnd };
        }
        self.epoch.by_loss = !timeout;
        self.epoch.start = None;
        self.epoch.cwnd_prior = cwnd;
        let (beta, floor) = match (event, self.settings.beta_ecn) {
            (Congestion::Ecn { .. }, Some(beta)) if !win.in_slow_start(path) => (beta, 1),
            (Congestion::Ecn { .. }, _) => (self.settings.beta, 1),
            _ => (self.settings.beta, 2),
        };
        // RFC 9438, section 4.6: ssthresh is at least two segments, and cwnd after an ECN echo at least one.
        win.ssthresh = Some(growth::reduced(path.flightsize, beta, 2, path));
        win.cwnd = if timeout { path.smss } else { growth::reduced(path.flightsize, beta, floor, path).min(win.cwnd) };
    }

    fn on_sent(&mut self, sent: &Sent, path: &Path, _win: &mut Window) {
        if !sent.idle.is_zero() {
            let since = path.now.since(core::mem::replace(&mut self.seen, path.now));
            self.exclude(since);
        }
    }

    fn on_undo(&mut self, _path: &Path, _win: &mut Window) {
        if let Some(saved) = self.saved.take() {
            self.epoch = *saved;
        }
    }

    fn on_window_set(&mut self, _path: &Path, _win: &Window) {
        // The next stage starts at the new window; W_max stays as the last loss set it.
        self.epoch.start = None;
    }

    fn growth_limit(&self, flight: Bytes, path: &Path, win: &Window) -> Bytes {
        // The window grows by half in a round-trip time at most (RFC 9438, section 4.2).
        if win.in_slow_start(path) { flight + flight } else { flight + flight / 2 }
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("w_max", self.epoch.w_max);
        visit("w_est", self.epoch.w_est);
        visit("cwnd_prior", self.epoch.cwnd_prior);
        visit("k", self.epoch.k);
        visit("epoch", self.epoch.start.map_or(0.0, Instant::as_secs_f64));
    }
}
