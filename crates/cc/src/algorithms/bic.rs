//! BIC: binary search for the window between the one that lost and the one after it.
//!
//! # Idea
//! A loss at W_max shows that the right window lies between the reduced window and W_max. BIC covers a share of the
//! distance in each round. Far from W_max the steps are large but bounded (additive increase). Near W_max they become
//! smaller (binary search). Beyond W_max the steps mirror those below it (max probing). Small windows behave as in
//! Reno.
//!
//! # Sources
//! L. Xu, K. Harfoush, I. Rhee, "Binary Increase Congestion Control (BIC) for Fast Long-Distance Networks", INFOCOM
//! 2004; Linux 6.1, `net/ipv4/tcp_bic.c`, and its ancestor of 2006 in ns-2.35's `Agent/TCP/Linux`.
//!
//! # State
//! | symbol | kernel | field | unit |
//! |---|---|---|---|
//! | W_max | `last_max_cwnd` | `last_max` | segments |
//! | cwnd over the increment | `cnt` | `cnt` | segments (or ACKs) to be acknowledged for one more |
//! | - | `last_cwnd`, `last_time` | the same | segments, time |
//! | - | `delayed_ack` | `ratio` | segments per ACK, in sixteenths |
//! | S_max, low window, smoothing, beta | module parameters | `settings` | segments, segments, -, 1/1024 |
//!
//! # Differences
//! | question | paper | Linux 6.1 | ns-2 TCP-Linux | ns-3 | parameter |
//! |---|---|---|---|---|---|
//! | step towards W_max | half of the way | a quarter | a quarter | a quarter | - |
//! | S_max | 32 | 16 | 16 | 16 | `max_increment` |
//! | near W_max | S_min 0.01 | 4/20 of a segment | 4/20 | 4/5 | `smooth_part` |
//! | left after a loss | 0.875 | 819/1024 | 819/1024 | 0.8 | `beta` |
//! | Reno up to | 14 | 14 | 14 | below 14 | `low_window` |
//! | delayed ACKs | - | cnt divided by a ratio, always about 2 | the same | not made up for | `profile` |
//! | counted | - | segments acknowledged | ACKs, and one more | segments, and one more | `profile` |
//! | slow start per ACK | - | all that was delivered | 1 | 1 | `profile` |
//! | undo | - | window before | max(cwnd, W_max) | window before | - |
//!
//! `profile = "linux"`, the default, is what hosts run. Its filter for delayed ACKs was meant to be 1 with one segment
//! per ACK, but it starts at 2 and its integers never fall below 31/16. With two segments per ACK, the counter sees
//! both segments anyway. So Linux's BIC grows about twice as fast as its own rule. `profile = "nominal"` is the rule
//! without the filter. `profile = "ns2"` counts ACKs, as the module of 2006 did.
//!
//! # Limits
//! * There is no profile for the paper. Its constants are parameters. Its binary search takes half of the distance;
//!   every implementation takes a quarter (the kernel's constant B = 4).
//! * ns-2's undo restores less than the previous window if fast convergence had lowered W_max, and after a timeout.
//!   Here the connection restores all of it in every profile.
//! * The kernel computes `cnt` again when cwnd has changed or 1/32 s has passed. So do we, with time in nanoseconds.
//!
//! # Vectors
//! `bic_linux_loss_at_100`, `bic_linux_loss_at_1000`, `bic_nominal_loss_at_100`, `bic_nominal_loss_at_1000`,
//! `bic_ssthresh`, `bic_fast_convergence`, `bic_low_window_is_reno`, `bic_timeout_forgets`,
//! `bic_filter_never_leaves_31_with_one_segment_per_ack`, `bic_linux_takes_a_duplicate_in_open_for_no_segment`,
//! `bic_filter_looks_in_open_only`, `bic_linux_is_about_twice_the_nominal_rule`,
//! `bic_before_the_first_loss_grows_by_five_percent`, `bic_ns2_counts_acks`.

use crate::ack_ratio::AckRatio;
use crate::growth::{self, AckCounter, ByteCounter};
use crate::row::{Ns2Agent, Param, ParamKind, Params, Response, Row, Traits};
use crate::{Ack, Congestion, CongestionControl, Needs, Path, Window};
use narrows_units::{Bytes, Duration, Instant, Variable};

/// The registry's row.
pub(crate) const ROW: Row = Row {
    name: "bic",
    title: "BIC",
    sources: &["Xu, Harfoush, Rhee 2004", "Linux 6.1"],
    params: &[
        Param {
            name: "profile",
            doc: "Arithmetic: linux is Linux 6.1 as it runs, nominal its rule without the delayed-ACK filter, ns2 the module of 2006.",
            kind: ParamKind::Choice { default: "linux", allowed: &["linux", "nominal", "ns2"] },
        },
        Param {
            name: "beta",
            doc: "Share of a window above low_window that is left after a loss (Linux 819/1024, the paper 0.875; rounded to 1/1024).",
            kind: ParamKind::Number { unit: "", default: 819.0 / 1024.0, min: 0.1, max: 0.95 },
        },
        Param {
            name: "max_increment",
            doc: "S_max, most that a round adds (Linux 16, the paper 32).",
            kind: ParamKind::Number { unit: "segments", default: 16.0, min: 1.0, max: 1000.0 },
        },
        Param {
            name: "low_window",
            doc: "Window up to which BIC behaves as Reno (Linux and the paper 14).",
            kind: ParamKind::Number { unit: "segments", default: 14.0, min: 0.0, max: 1e6 },
        },
        Param {
            name: "smooth_part",
            doc: "Near W_max a segment is added for every cwnd * smooth_part / 4 acknowledged (Linux 20, ns-3 5).",
            kind: ParamKind::Number { unit: "", default: 20.0, min: 4.0, max: 100.0 },
        },
        Param {
            name: "fast_convergence",
            doc: "Lower W_max further when losses come at falling windows.",
            kind: ParamKind::Switch { default: true },
        },
    ],
    variables: &[
        Variable::new("last_max", "segments", "W_max, the window of the last reduction; 0 before the first."),
        Variable::new("cnt", "segments", "Segments (or ACKs) to acknowledge for one segment of growth."),
        Variable::new("delayed_ack", "1/16 segment per ACK", "Segments that an ACK covers, filtered."),
        Variable::new("snd_cwnd_cnt", "bytes", "Bytes acknowledged since the window last grew."),
        Variable::new("ack_cnt", "ACKs", "ACKs since the window last grew."),
    ],
    traits: Traits { response: Response::Reduces, needs_ecn: false, scales: true, l4s: false, own_start: None },
    ns2: Some(Ns2Agent::TcpLinux),
    recovery: None,
    source: include_str!("bic.rs"),
    build,
};

/// A round covers 1/`B` of the distance to W_max: a quarter (`BICTCP_B`).
const B: u64 = 4;

fn build(params: &Params) -> Box<dyn CongestionControl> {
    let profile = match params.choice(&ROW, "profile") {
        "nominal" => Profile::Nominal,
        "ns2" => Profile::Ns2,
        _ => Profile::Linux,
    };
    Box::new(Bic {
        settings: Settings {
            profile,
            beta: (params.number(&ROW, "beta") * 1024.0 + 0.5) as u64,
            max_increment: params.number(&ROW, "max_increment") as u64,
            low_window: params.number(&ROW, "low_window") as u64,
            smooth_part: params.number(&ROW, "smooth_part") as u64,
            fast_convergence: params.switch(&ROW, "fast_convergence"),
        },
        s: State::default(),
        bytes: ByteCounter::default(),
        acks: AckCounter::default(),
    })
}

/// Which implementation's arithmetic is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Profile {
    Linux,
    Nominal,
    Ns2,
}

/// The module's parameters.
#[derive(Clone, Copy, Debug)]
struct Settings {
    profile: Profile,
    /// In 1/1024.
    beta: u64,
    max_increment: u64,
    low_window: u64,
    smooth_part: u64,
    fast_convergence: bool,
}

impl Settings {
    /// Segments to be acknowledged per segment of growth, at a window of `cwnd` after a loss at `last_max` (0: no loss
    /// yet), before the correction for delayed ACKs.
    fn count(&self, cwnd: u64, last_max: u64) -> u64 {
        let smooth = cwnd.saturating_mul(self.smooth_part) / B;
        let steepest = cwnd / self.max_increment.max(1);
        let cnt = if cwnd < last_max {
            match (last_max - cwnd) / B {
                0 | 1 => smooth,
                dist if dist > self.max_increment => steepest,
                dist => cwnd / dist,
            }
        } else {
            match cwnd - last_max {
                over if over < B => smooth,
                over if over < self.max_increment * (B - 1) => cwnd.saturating_mul(B - 1) / over,
                _ => steepest,
            }
        };
        // Before the first loss W_max is unknown, so the window grows by at least 5 % per round.
        if last_max == 0 { cnt.min(20) } else { cnt }
    }
}

/// State that a timeout clears.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    cnt: u64,
    last_max: u64,
    last_cwnd: u64,
    last_time: Instant,
    ratio: AckRatio,
}

/// BIC; see the module's page.
#[derive(Clone, Debug)]
pub struct Bic {
    settings: Settings,
    s: State,
    bytes: ByteCounter,
    acks: AckCounter,
}

impl Bic {
    /// Recomputes `cnt` for a window of `cwnd` segments (`bictcp_update`).
    fn update(&mut self, cwnd: u64, now: Instant) {
        if self.s.last_cwnd == cwnd && now.since(self.s.last_time) <= Duration::from_micros(31_250) {
            return;
        }
        self.s.last_cwnd = cwnd;
        self.s.last_time = now;
        self.s.cnt = if cwnd <= self.settings.low_window {
            cwnd
        } else {
            let ratio = if self.settings.profile == Profile::Nominal { AckRatio::ONE } else { self.s.ratio };
            ratio.correct(self.settings.count(cwnd, self.s.last_max))
        };
    }

    /// Returns ssthresh after a congestion event and records W_max.
    fn reduce(&mut self, path: &Path, win: &Window) -> Bytes {
        let cwnd = growth::whole_segments(win.cwnd, path);
        let falling = self.settings.fast_convergence && cwnd < self.s.last_max;
        self.s.last_max = if falling { cwnd.saturating_mul(1024 + self.settings.beta) / 2048 } else { cwnd };
        let beta = if cwnd <= self.settings.low_window { 512 } else { self.settings.beta };
        growth::reduced_segments(win.cwnd, beta, 2, path)
    }
}

impl CongestionControl for Bic {
    fn needs(&self) -> Needs {
        Needs { acks: true, ..Needs::default() }
    }

    fn observe(&mut self, ack: &Ack, path: &Path) {
        self.s.ratio.observe(ack, path, self.settings.profile != Profile::Ns2);
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        if ack.acked.is_zero() || !growth::may_grow(path) {
            return;
        }
        let by_acks = self.settings.profile == Profile::Ns2;
        let mut acked = ack.delivered;
        if win.in_slow_start(path) {
            acked = growth::slow_start(win, acked, if by_acks { path.smss } else { Bytes::MAX }, path);
            if acked.is_zero() || by_acks {
                return;
            }
        }
        self.update(growth::whole_segments(win.cwnd, path).max(1), path.now);
        if by_acks {
            self.acks.add(self.s.cnt, path, win);
        } else {
            self.bytes.add(acked, path.smss * self.s.cnt, path, win);
        }
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        self.bytes.reset();
        self.acks = AckCounter::default();
        match event {
            Congestion::Timeout { repeated } => {
                if !*repeated {
                    win.ssthresh = Some(self.reduce(path, win));
                }
                self.s = State::default();
                win.cwnd = path.smss;
            }
            Congestion::Ecn { .. } | Congestion::Loss { .. } => {
                let ssthresh = self.reduce(path, win);
                win.ssthresh = Some(ssthresh);
                win.cwnd = win.cwnd.min(ssthresh);
            }
        }
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("last_max", self.s.last_max as f64);
        visit("cnt", self.s.cnt as f64);
        visit("delayed_ack", self.s.ratio.sixteenths() as f64);
        visit("snd_cwnd_cnt", self.bytes.counted().as_f64());
        visit("ack_cnt", self.acks.counted() as f64);
    }
}
