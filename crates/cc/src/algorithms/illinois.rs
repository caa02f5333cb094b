//! TCP Illinois: losses decide when to reduce; delays decide how fast to grow and by how much to reduce.
//!
//! # Idea
//! Illinois is Reno with a variable step and a variable decrease. While the queueing delay is small, the step is 10
//! segments per round-trip time, and a loss takes one eighth, because it is then no sign of a full queue. As the delay
//! approaches the largest delay seen, the step falls to 0.3 segments and a loss takes one half. So the window's curve
//! is concave, and losses come late.
//!
//! # Sources
//! S. Liu, T. Basar, R. Srikant, "TCP-Illinois: A loss- and delay-based congestion control algorithm for high-speed
//! networks", VALUETOOLS 2006 and Performance Evaluation 65, 2008; Linux 6.1, `net/ipv4/tcp_illinois.c`.
//!
//! # State
//! | symbol | field | unit |
//! |---|---|---|
//! | alpha | `alpha` | segments per round-trip time; 1/128 in Linux |
//! | beta | `beta` | share of the window; 1/64 in Linux |
//! | d_a, mean queueing delay of a round; d_m, the largest | from `rounds` | time |
//! | theta and its counters `rtt_low`, `rtt_above` | `settings.theta`, `low`, `above` | rounds |
//! | W_thresh | `settings.win_thresh` | segments |
//!
//! # Differences
//! | question | paper | Linux 6.1 | ns-2 TCP-Linux | ns-3 | parameter |
//! |---|---|---|---|---|---|
//! | numbers | real | integers, microseconds | as Linux | real | `profile` |
//! | left after a loss | 1 - beta | 1 - beta | beta | 1 - beta | `leaves_beta` |
//! | Reno below | 10 segments | 15 segments | 15 segments | 15 bytes, so never | `profile`, `win_thresh` |
//! | round-trip times above 3.36 s | counted | capped | capped | counted | `profile` |
//! | slow start | RFC 5681's | all that was delivered | all that was delivered | 1 segment per ACK | `profile` |
//!
//! `profile = "linux"`, the default, is the arithmetic that hosts run. `profile = "paper"` is the same without
//! rounding. `leaves_beta = true` is the fault of ns-2.35's module, which comes from Linux 2.6.22: a loss leaves beta
//! of the window, which is one eighth at a small delay. The switch isolates the effect of the fault
//! (docs/validation.md); no stack turns it on.
//!
//! # Limits
//! The largest delay is the largest over the connection's life, as in the paper and in Linux. A path that has become
//! shorter is not noticed. The constants 10 and 0.3, and the decreases 1/8 and 1/2, are the paper's and fixed.
//!
//! # Vectors
//! `illinois_alpha_and_beta_linux`, `illinois_alpha_and_beta_paper`, `illinois_linux_trajectory`,
//! `illinois_theta_low_rounds_before_alpha_is_full_again`, `illinois_small_windows_are_reno`, `illinois_ssthresh`,
//! `illinois_timeout_is_reno`, `illinois_starts_at_ten`, `illinois_paper_grows_by_alpha_per_round`,
//! `illinois_leaves_beta_of_the_window_if_asked`.

use crate::growth::{self, Fraction};
use crate::rounds::Rounds;
use crate::row::{Ns2Agent, Param, ParamKind, Params, Response, Row, Traits};
use crate::{Ack, Congestion, CongestionControl, Needs, Path, Window};
use narrows_units::{Bytes, Duration, Variable};

/// The registry's row.
pub(crate) const ROW: Row = Row {
    name: "illinois",
    title: "TCP Illinois",
    sources: &["Liu, Basar, Srikant 2008", "Linux 6.1 (profile linux)"],
    params: &[
        Param {
            name: "profile",
            doc: "Arithmetic: linux in integers, or paper in real numbers.",
            kind: ParamKind::Choice { default: "linux", allowed: &["linux", "paper"] },
        },
        Param {
            name: "leaves_beta",
            doc: "A loss leaves beta of the window instead of 1 - beta: the fault of ns-2.35's module.",
            kind: ParamKind::Switch { default: false },
        },
        Param {
            name: "win_thresh",
            doc: "Window below which Illinois behaves as Reno; 0 is the profile's: 15 in Linux, 10 in the paper.",
            kind: ParamKind::Number { unit: "segments", default: 0.0, min: 0.0, max: 1e6 },
        },
        Param {
            name: "theta",
            doc: "Rounds of low delay before alpha is full again after a high one (Linux and the paper 5).",
            kind: ParamKind::Number { unit: "rounds", default: 5.0, min: 1.0, max: 1000.0 },
        },
    ],
    variables: &[
        Variable::new("alpha", "segments per RTT", "alpha, the increase per round-trip time."),
        Variable::new("beta", "", "beta, the share of the window that a loss takes away."),
        Variable::new("base_rtt", "s", "Smallest round-trip time; 0 before a sample."),
        Variable::new("max_rtt", "s", "Largest round-trip time; 0 before a sample."),
        Variable::new("rtt_low", "rounds", "Low rounds (delay at or below d1) since the last high one, up to theta."),
        Variable::new("rtt_above", "", "1 after a high round, until theta low rounds have followed; else 0."),
        Variable::new("snd_cwnd_cnt", "bytes", "Bytes acknowledged since the window last grew."),
    ],
    traits: Traits { response: Response::Reduces, needs_ecn: false, scales: true, l4s: false, own_start: None },
    ns2: Some(Ns2Agent::TcpLinux),
    recovery: None,
    source: include_str!("illinois.rs"),
    build,
};

fn build(params: &Params) -> Box<dyn CongestionControl> {
    let linux = params.choice(&ROW, "profile") == "linux";
    let leaves_beta = params.switch(&ROW, "leaves_beta");
    let win_thresh = match params.number(&ROW, "win_thresh") as u64 {
        0 if linux => 15,
        0 => 10,
        n => n,
    };
    let settings = Settings { linux, leaves_beta, win_thresh, theta: params.number(&ROW, "theta") as u32 };
    Box::new(Illinois {
        settings,
        rounds: Rounds::default(),
        alpha: ALPHA_MAX,
        beta: 0.5,
        low: 0,
        above: false,
        counted: Bytes::ZERO,
        fraction: Fraction::default(),
    })
}

/// alpha at a small delay and at the largest delay, in segments per round-trip time.
const ALPHA_MAX: f64 = 10.0;
const ALPHA_MIN: f64 = 0.3;
/// Linux's fixed point, in 1/128 and 1/64.
const ALPHA_MAX_128: u64 = 1280;
const ALPHA_MIN_128: u64 = 38;
const BETA_MIN_64: u64 = 8;
const BETA_MAX_64: u64 = 32;
/// Linux caps the RTT here to avoid overflow.
const LINUX_RTT_MAX: Duration = Duration::from_micros(u32::MAX as u64 / ALPHA_MAX_128);

#[derive(Clone, Copy, Debug)]
struct Settings {
    linux: bool,
    /// Whether a loss leaves beta of the window instead of 1 - beta (`tcp_illinois_ssthresh` of Linux 2.6.22).
    leaves_beta: bool,
    win_thresh: u64,
    theta: u32,
}

/// TCP Illinois; see the module's page.
#[derive(Clone, Debug)]
pub struct Illinois {
    settings: Settings,
    rounds: Rounds,
    alpha: f64,
    beta: f64,
    low: u32,
    above: bool,
    counted: Bytes,
    fraction: Fraction,
}

/// alpha at a delay above d1, in 1/128 (the kernel's `alpha`); `da` and `dm` in microseconds.
fn alpha_linux(da: u64, dm: u64) -> u64 {
    let (da, dm) = (da.saturating_sub(dm / 100), dm - dm / 100);
    dm.saturating_mul(ALPHA_MAX_128) / (dm + da.saturating_mul(ALPHA_MAX_128 - ALPHA_MIN_128) / ALPHA_MIN_128).max(1)
}

/// beta in 1/64 (the kernel's `beta`).
fn beta_linux(da: u64, dm: u64) -> u64 {
    let (d2, d3) = (dm / 10, dm.saturating_mul(8) / 10);
    if da <= d2 {
        BETA_MIN_64
    } else if da >= d3 || d3 <= d2 {
        BETA_MAX_64
    } else {
        (BETA_MIN_64 * d3 + (BETA_MAX_64 - BETA_MIN_64) * da).saturating_sub(BETA_MAX_64 * d2) / (d3 - d2)
    }
}

/// alpha at a delay above d1 (the paper's k1 / (k2 + d_a), which is 10 at d1 and 0.3 at d_m).
fn alpha_paper(da: f64, dm: f64) -> f64 {
    let d1 = 0.01 * dm;
    let k1 = (dm - d1) * ALPHA_MIN * ALPHA_MAX / (ALPHA_MAX - ALPHA_MIN);
    let k2 = (dm - d1) * ALPHA_MIN / (ALPHA_MAX - ALPHA_MIN) - d1;
    (k1 / (k2 + da)).clamp(ALPHA_MIN, ALPHA_MAX)
}

/// beta: 1/8 up to d2, 1/2 from d3, linear between.
fn beta_paper(da: f64, dm: f64) -> f64 {
    let (d2, d3) = (0.1 * dm, 0.8 * dm);
    if da <= d2 { 0.125 } else { (0.125 + 0.375 * (da - d2) / (d3 - d2)).min(0.5) }
}

impl Illinois {
    /// alpha = 1 and beta = 1/2.
    fn as_reno(&mut self) {
        self.alpha = 1.0;
        self.beta = 0.5;
    }

    /// Recomputes alpha and beta from the round that ended.
    fn update(&mut self, path: &Path, win: &Window) {
        if growth::whole_segments(win.cwnd, path) < self.settings.win_thresh {
            self.as_reno();
        } else if let (Some(base), Some(longest), Some(mean)) =
            (self.rounds.base(), self.rounds.longest(), self.rounds.mean())
        {
            let micros = |rtt: Duration| rtt.as_micros().saturating_sub(base.as_micros());
            let seconds = |rtt: Duration| rtt.as_secs_f64() - base.as_secs_f64();
            let linux = self.settings.linux;
            let low =
                if linux { micros(mean) <= micros(longest) / 100 } else { seconds(mean) <= 0.01 * seconds(longest) };
            self.alpha = match self.settle(low) {
                Some(alpha) => alpha,
                None if linux => alpha_linux(micros(mean), micros(longest)) as f64 / 128.0,
                None => alpha_paper(seconds(mean), seconds(longest)),
            };
            self.beta = if linux {
                beta_linux(micros(mean), micros(longest)) as f64 / 64.0
            } else {
                beta_paper(seconds(mean), seconds(longest))
            };
        }
        self.rounds.begin(path);
    }

    /// alpha after a round of low delay: full, unless the last high delay was fewer than theta low rounds ago.
    fn settle(&mut self, low: bool) -> Option<f64> {
        if !low {
            self.above = true;
            return None;
        }
        if self.above {
            self.low += 1;
            if self.low < self.settings.theta {
                return Some(self.alpha);
            }
            self.low = 0;
            self.above = false;
        }
        Some(ALPHA_MAX)
    }

    /// Adds alpha segments per round-trip time by the kernel's count: all at once when the count reaches a segment.
    fn avoid_as_linux(&mut self, acked: Bytes, path: &Path, win: &mut Window) {
        self.counted += acked;
        let cwnd = path.smss * growth::whole_segments(win.cwnd, path).max(1);
        let delta = Bytes::new(self.counted.as_u64().saturating_mul((self.alpha * 128.0) as u64) >> 7);
        if delta >= cwnd {
            // An ACK adds no more than it acknowledges, however much was counted before the window fell.
            let steps = (delta.as_u64() / cwnd.as_u64().max(1)).min(acked.as_u64().div_ceil(path.smss.as_u64().max(1)));
            win.cwnd += path.smss * steps;
            self.counted = Bytes::ZERO;
        }
    }
}

impl CongestionControl for Illinois {
    fn needs(&self) -> Needs {
        Needs { acks: true, ..Needs::default() }
    }

    fn on_start(&mut self, path: &Path, _win: &mut Window) {
        self.rounds.forget(path);
    }

    fn observe(&mut self, ack: &Ack, _path: &Path) {
        if let Some(rtt) = ack.rtt {
            self.rounds.sample(if self.settings.linux { rtt.min(LINUX_RTT_MAX) } else { rtt });
        }
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        if ack.acked.is_zero() {
            return;
        }
        if self.rounds.ended(path) {
            self.update(path, win);
        }
        if !growth::may_grow(path) {
            return;
        }
        if self.settings.linux {
            if win.in_slow_start(path) {
                // The rest of the ACK is not passed on to congestion avoidance.
                growth::slow_start(win, ack.delivered, Bytes::MAX, path);
            } else {
                self.avoid_as_linux(ack.acked, path, win);
            }
            return;
        }
        let mut acked = ack.acked;
        if win.in_slow_start(path) {
            acked = growth::slow_start(win, acked, path.smss, path);
        }
        let share = (acked.as_f64() / self.fraction.exact(win).max(1.0)).min(1.0);
        self.fraction.add((self.alpha * path.smss.as_f64() * share).min(acked.as_f64()), win);
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        self.counted = Bytes::ZERO;
        if *event != (Congestion::Timeout { repeated: true }) {
            let ssthresh = if self.settings.linux {
                let cwnd = growth::whole_segments(win.cwnd, path);
                let share = cwnd.saturating_mul((self.beta * 64.0) as u64) >> 6;
                let left = if self.settings.leaves_beta { share } else { cwnd - share };
                path.smss * left.max(2)
            } else {
                let left = if self.settings.leaves_beta { self.beta } else { 1.0 - self.beta };
                growth::reduced(win.cwnd, left, 2, path)
            };
            win.ssthresh = Some(ssthresh);
            win.cwnd = win.cwnd.min(ssthresh);
        }
        if matches!(event, Congestion::Timeout { .. }) {
            self.as_reno();
            self.low = 0;
            self.above = false;
            self.rounds.begin(path);
            win.cwnd = path.smss;
        }
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("alpha", self.alpha);
        visit("beta", self.beta);
        visit("base_rtt", self.rounds.base().unwrap_or(Duration::ZERO).as_secs_f64());
        visit("max_rtt", self.rounds.longest().unwrap_or(Duration::ZERO).as_secs_f64());
        visit("rtt_low", f64::from(self.low));
        visit("rtt_above", f64::from(u8::from(self.above)));
        visit("snd_cwnd_cnt", self.counted.as_f64());
    }
}
