//! Agile-SD: Reno with a small decrease, and an increase that is faster the further the window is below its last loss.
//!
//! # Idea
//! On short, fast paths with shallow buffers, a flow loses time while it regains the window it had before a loss.
//! Agile-SD gives up little at a loss (5 or 10 %) and regains it quickly at first. The agility factor lambda starts at
//! `lambda_max` segments per round-trip time after the loss. It falls linearly with the remaining distance, to 1 at the
//! window of the loss. Beyond that window Agile-SD grows as Reno does.
//!
//! # Sources
//! M. A. Alrshah, M. Othman, B. Ali, Z. M. Hanapi, "Agile-SD: A Linux-based TCP congestion control algorithm for
//! supporting high-speed and short-distance networks", JNCA 55, 2015 (equations 1 to 6, algorithm 1, figure 3); the
//! authors' Linux module `agilesd`, version 1.0.
//!
//! # State
//! | symbol | field | unit |
//! |---|---|---|
//! | cwnd_loss, cwnd just before the last reduction | `loss` | bytes |
//! | cwnd_degraded, cwnd just after it | `degraded` | bytes |
//! | lambda, equation 1 | computed; shown as `lambda` | segments per round-trip time |
//! | lambda_max, lambda_min = 1 | `lambda_max`, 1 | the same |
//! | beta1 (slow start), beta2 (congestion avoidance) | `beta1`, `beta2` | - |
//! | `frac_tracer` of the module | `parts` | 1/1 000 000 segment |
//!
//! # Differences
//! | question | paper | module | parameter |
//! |---|---|---|---|
//! | left after a loss in slow start | 0.90 | 0.90 | `beta1` |
//! | left after a loss in congestion avoidance | 0.95 | 0.90 | `beta2` |
//! | numbers | real | thousandths, whole segments | `profile` |
//! | counted | segments acknowledged | ACKs, so delayed ACKs halve the growth | `profile` |
//! | ssthresh after a loss | below cwnd | cwnd | `profile` |
//! | after a timeout | the initial window | one segment, by the kernel | `profile` |
//! | slow start | RFC 5681's | all that was delivered | `profile` |
//!
//! The default follows the paper, which argues for two different decreases; the module uses the same factor in both
//! branches. With a lambda_max of 1, equation 1 gives NewReno with a smaller decrease.
//!
//! # Limits
//! * The paper's initial window of 2 segments is the connection's setting (`initial_window`); for use the paper
//!   recommends 10.
//! * A timeout restarts from that initial window, or from cwnd if cwnd is smaller, as in figure 3. RFC 5681, section
//!   3.1, allows one segment at most. The paper gives no ssthresh for a timeout; we use the module's, which is the one
//!   for a loss.
//! * The paper does not cover ECN. An echo counts as a loss.
//! * ns-2.35 has no such module. The authors loaded theirs into the TCP/Linux agent, so that agent is the one meant
//!   here. The module grows there even if cwnd does not limit the sender; here growth always requires that it does.
//!
//! # Vectors
//! `agile_sd_epoch_times`, `agile_sd_lambda`, `agile_sd_paper_growth`, `agile_sd_module_growth`,
//! `agile_sd_decreases_by_stage`, `agile_sd_timeout_restarts_from_the_initial_window`,
//! `agile_sd_module_timeout_restarts_from_one_segment`, `agile_sd_lambda_max_of_one_is_newreno`,
//! `agile_sd_grows_as_reno_beyond_the_loss`, `agile_sd_module_counts_acks`, `agile_sd_avoids_after_a_loss`.

use crate::growth::{self, Fraction};
use crate::row::{Ns2Agent, Param, ParamKind, Params, Response, Row, Traits};
use crate::{Ack, Congestion, CongestionControl, Path, PlainAck, Window};
use narrows_units::{Bytes, Variable};

/// The registry's row.
pub(crate) const ROW: Row = Row {
    name: "agile_sd",
    title: "Agile-SD",
    sources: &["Alrshah, Othman, Ali, Hanapi 2015", "Linux module agilesd 1.0 (profile module)"],
    params: &[
        Param {
            name: "profile",
            doc: "Rules: paper in real numbers, or module with the integers of the authors' Linux module.",
            kind: ParamKind::Choice { default: "paper", allowed: &["paper", "module"] },
        },
        Param {
            name: "lambda_max",
            doc: "Agility factor right after a loss (equation 1); 1 grows as NewReno does.",
            kind: ParamKind::Number { unit: "segments per RTT", default: 3.0, min: 1.0, max: 100.0 },
        },
        Param {
            name: "beta1",
            doc: "Share of the window that is left after a loss in slow start (section 3.2).",
            kind: ParamKind::Number { unit: "", default: 0.9, min: 0.1, max: 0.99 },
        },
        Param {
            name: "beta2",
            doc: "Share that is left after a loss in congestion avoidance (section 3.2); 0 is the profile's: 0.95 in the paper, 0.90 in the module.",
            kind: ParamKind::Number { unit: "", default: 0.0, min: 0.0, max: 0.99 },
        },
    ],
    variables: &[
        Variable::new(
            "lambda",
            "segments per RTT",
            "The agility factor lambda of the last ACK in congestion avoidance (equation 1).",
        ),
        Variable::new("cwnd_loss", "bytes", "cwnd just before the last reduction; 0 before the first."),
        Variable::new("cwnd_degraded", "bytes", "cwnd just after the last reduction; 0 before the first."),
        Variable::new("frac_tracer", "segments", "Part of a segment that is earned but not yet in cwnd (`module`)."),
    ],
    traits: Traits {
        response: Response::ReducesToInitialWindow,
        needs_ecn: false,
        scales: true,
        l4s: false,
        own_start: None,
    },
    ns2: Some(Ns2Agent::TcpLinux),
    recovery: None,
    source: include_str!("agile_sd.rs"),
    build,
};

/// The module's fixed point.
const SCALE: u64 = 1000;

fn build(params: &Params) -> Box<dyn CongestionControl> {
    let module = params.choice(&ROW, "profile") == "module";
    let beta2 = match params.number(&ROW, "beta2") {
        beta if beta > 0.0 => beta,
        _ if module => 0.9,
        _ => 0.95,
    };
    Box::new(AgileSd {
        module,
        lambda_max: params.number(&ROW, "lambda_max"),
        beta1: params.number(&ROW, "beta1"),
        beta2,
        loss: Bytes::ZERO,
        degraded: Bytes::ZERO,
        lambda: 1.0,
        fraction: Fraction::default(),
        parts: 0,
    })
}

/// Agile-SD; see the module's page.
#[derive(Clone, Debug)]
pub struct AgileSd {
    module: bool,
    lambda_max: f64,
    beta1: f64,
    beta2: f64,
    loss: Bytes,
    degraded: Bytes,
    /// The agility factor of the last ACK in congestion avoidance.
    lambda: f64,
    fraction: Fraction,
    parts: u64,
}

/// A number in the module's unit, thousandths.
fn in_1000ths(x: f64) -> u64 {
    (x * SCALE as f64 + 0.5) as u64
}

impl AgileSd {
    /// lambda by equations 1 to 3, never above lambda_max; `cwnd` in bytes.
    fn agility(&self, cwnd: f64, smss: f64) -> f64 {
        let total = (self.loss.as_f64() - self.degraded.as_f64()).max(smss);
        let current = (self.loss.as_f64() - cwnd).max(0.0);
        (self.lambda_max * current / total).clamp(1.0, self.lambda_max)
    }

    /// `cwnd += lambda / cwnd` for each segment acknowledged.
    fn avoid(&mut self, acked: Bytes, smss: Bytes, win: &mut Window) {
        let (cwnd, smss) = (self.fraction.exact(win).max(1.0), smss.as_f64().max(1.0));
        self.lambda = self.agility(cwnd, smss);
        let share = (acked.as_f64() / cwnd).min(1.0);
        // Never faster than slow start, whatever lambda_max is.
        self.fraction.add((self.lambda * smss * share).min(acked.as_f64()), win);
    }

    /// As [`avoid`](Self::avoid), but for each ACK, in thousandths of whole segments.
    fn avoid_as_module(&mut self, path: &Path, win: &mut Window) {
        let cwnd = growth::whole_segments(win.cwnd, path).max(1);
        let loss = growth::whole_segments(self.loss, path);
        let total = loss.saturating_sub(growth::whole_segments(self.degraded, path)).max(1);
        let most = in_1000ths(self.lambda_max).max(SCALE);
        let lambda = (most.saturating_mul(loss.saturating_sub(cwnd)) / total).clamp(SCALE, most);
        self.lambda = lambda as f64 / SCALE as f64;
        self.parts = self.parts.saturating_add(lambda * SCALE / cwnd);
        if self.parts >= SCALE * SCALE {
            self.parts -= SCALE * SCALE;
            win.cwnd += path.smss;
        }
    }

    /// Records cwnd before and after a loss.
    fn reduce(&mut self, path: &Path, win: &Window) {
        let beta = if win.in_slow_start(path) { self.beta1 } else { self.beta2 };
        self.loss = win.cwnd;
        self.degraded = if self.module {
            let left = growth::whole_segments(win.cwnd, path).saturating_mul(in_1000ths(beta)) / SCALE;
            path.smss * left.max(2)
        } else {
            growth::reduced(win.cwnd, beta, 2, path)
        };
        self.parts = 0;
    }
}

impl CongestionControl for AgileSd {
    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        if ack.acked.is_zero() || !growth::may_grow(path) {
            return;
        }
        if self.module {
            if win.in_slow_start(path) {
                // The rest of the ACK is not passed on to congestion avoidance.
                growth::slow_start(win, ack.delivered, Bytes::MAX, path);
            } else {
                self.avoid_as_module(path, win);
            }
            return;
        }
        let mut acked = ack.acked;
        if win.in_slow_start(path) {
            acked = growth::slow_start(win, acked, path.smss, path);
        }
        if !acked.is_zero() {
            self.avoid(acked, path.smss, win);
        }
    }

    fn on_plain_ack(&mut self, ack: &PlainAck, win: &mut Window) -> bool {
        if self.module || win.is_below_ssthresh(ack.slow_start_at_equality) {
            return false;
        }
        if !ack.acked.is_zero() && ack.cwnd_limited {
            self.avoid(ack.acked, ack.smss, win);
        }
        true
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        let timeout = matches!(event, Congestion::Timeout { .. });
        if *event != (Congestion::Timeout { repeated: true }) {
            self.reduce(path, win);
            // Below cwnd, so that congestion avoidance follows even where equality is slow start. After a timeout, slow
            // start runs up to it.
            let one = if self.module || timeout { Bytes::ZERO } else { path.smss };
            win.ssthresh = Some(self.degraded.saturating_sub(one).max(path.smss * 2));
        }
        win.cwnd = match (timeout, self.module) {
            (true, true) => path.smss,
            (true, false) => win.cwnd.min(path.initial_window),
            _ => win.cwnd.min(self.degraded),
        };
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("lambda", self.lambda);
        visit("cwnd_loss", self.loss.as_f64());
        visit("cwnd_degraded", self.degraded.as_f64());
        visit("frac_tracer", self.parts as f64 / (SCALE * SCALE) as f64);
    }
}
