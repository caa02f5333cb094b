//! Reno and NewReno: slow start, then one more segment per round-trip time, and half of the window after a loss.
//!
//! # Idea
//! Reno probes for capacity by adding one segment per round-trip time (additive increase). A loss shows that this was
//! too much, and takes half of the window (multiplicative decrease). NewReno adds loss *recovery*, which belongs to the
//! connection. The window rules below are the same for both.
//!
//! # Sources
//! RFC 5681, sections 3.1 (equations 2, 3 and 4) and 4.1; RFC 6582 for NewReno; RFC 3465 (appropriate byte counting);
//! RFC 3742 (limited slow start); RFC 8511 (ABE); V. Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988.
//!
//! # State
//! | symbol | field | unit |
//! |---|---|---|
//! | cwnd, ssthresh | [`Window`] | bytes |
//! | bytes_acked (RFC 3465), `snd_cwnd_cnt` (Linux) | `counter` | bytes |
//!
//! # Differences
//! | question | RFC 5681 | Linux | ns-3 NewReno | ns-2 Agent/TCP | parameter |
//! |---|---|---|---|---|---|
//! | halved on loss | FlightSize | cwnd, whole segments | FlightSize | min(cwnd, rwnd), exactly | `profile` |
//! | slow start per ACK | at most 1 SMSS | all delivered | 1 SMSS, rest to avoidance | 1 | `profile`, `abc_limit` |
//! | avoidance | counting, or SMSS²/cwnd | counting | SMSS²/cwnd per ACK | 1/cwnd per ACK | `increase`, `profile` |
//! | ECN echo | as a loss (0.8 with ABE) | as a loss | as a loss (0.7 with ABE) | as a loss | `abe`, `beta_ecn` |
//!
//! We follow RFC 5681 with the counting increase that it recommends. `profile = "linux"` selects Linux's rules,
//! `profile = "ns2"` those of ns-2's own agents (see [`ns2`]).
//!
//! # Limits
//! In RFC 5681 limited slow start and ABE are optional; both are off by default. The connection does the restart after
//! idle time (section 4.1).
//!
//! Like Linux's module of this name, `reno` does not define loss recovery. The connection's setting does: SACK if the
//! peer permits it. The Reno of 1990, whose fast recovery ends with the first new ACK, is `reno` with
//! `recovery = "reno"`. [`newreno`](super::newreno), [`sack`](super::sack), [`fack`](super::fack) and
//! [`tahoe`](super::tahoe) have the same rules with the recovery of their names.
//!
//! # Vectors
//! `reno_integer_growth`, `reno_per_ack_growth`, `reno_loss_halves_flightsize`, `reno_linux_halves_cwnd`,
//! `d5_timeout_restarts_from_one_segment`, `d5_repeated_timeout_keeps_ssthresh`,
//! `d7_undo_restores_window_and_threshold`, `slow_start_counts_bytes_up_to_the_limit`,
//! `limited_slow_start_adds_fifty_per_round`, `abe_reno`.

pub mod ns2;

use crate::growth::{self, ByteCounter};
use crate::row::{Ns2Agent, Param, ParamKind, Params, Response, Row, Traits};
use crate::{Ack, Congestion, CongestionControl, Path, PlainAck, Window};
use narrows_units::{Bytes, Variable};

/// The parameters of Reno's window rules, shared by the variants that differ in recovery.
pub(crate) const PARAMS: &[Param] = &[
    Param {
        name: "profile",
        doc: "Rules: rfc5681 halves FlightSize, linux halves cwnd in whole segments and counts without a limit, ns2 counts ACKs in real numbers.",
        kind: ParamKind::Choice { default: "rfc5681", allowed: &["rfc5681", "linux", "ns2"] },
    },
    Param {
        name: "increase",
        doc: "Congestion avoidance by counting bytes (RFC 3465) or by SMSS*SMSS/cwnd for each ACK (RFC 5681, equation 3; always so with ns2).",
        kind: ParamKind::Choice { default: "counting", allowed: &["counting", "per_ack"] },
    },
    crate::params::ABC_LIMIT,
    crate::params::MAX_SSTHRESH,
    crate::params::ABE,
    crate::params::beta_ecn(0.8),
];

/// Reno's variables, which the rows with Reno's window rules share.
pub(crate) const VARIABLES: &[Variable] = &[Variable::new(
    "bytes_acked",
    "bytes",
    "Bytes acknowledged since congestion avoidance last grew the window (`rfc5681`, `linux`).",
)];

/// The registry's row.
pub(crate) const ROW: Row = Row {
    name: "reno",
    title: "Reno / NewReno",
    sources: &["RFC 5681, section 3.1", "RFC 6582", "RFC 3465", "RFC 3742", "RFC 8511"],
    params: PARAMS,
    variables: VARIABLES,
    traits: Traits { response: Response::Reduces, needs_ecn: false, scales: true, l4s: false, own_start: None },
    ns2: Some(Ns2Agent::Own),
    recovery: None,
    source: include_str!("reno.rs"),
    build,
};

/// Reno's window rules by [`PARAMS`].
pub(crate) fn build(params: &Params) -> Box<dyn CongestionControl> {
    let profile = params.choice(&ROW, "profile");
    let max_ssthresh = params.number(&ROW, "max_ssthresh") as u64;
    let beta_ecn = crate::params::abe(params, &ROW);
    if profile == "ns2" {
        return Box::new(ns2::RenoNs2::new(max_ssthresh, beta_ecn));
    }
    let linux = profile == "linux";
    Box::new(Reno {
        linux,
        counting: params.choice(&ROW, "increase") == "counting",
        abc_limit: crate::params::abc_limit(params, &ROW, if linux { u64::MAX } else { 1 }),
        max_ssthresh,
        beta_ecn,
        counter: ByteCounter::default(),
    })
}

/// Reno's window rules; see the module's page.
#[derive(Clone, Debug)]
pub struct Reno {
    linux: bool,
    counting: bool,
    /// RFC 3465's L, in segments.
    abc_limit: u64,
    /// RFC 3742's max_ssthresh, in segments; 0 for no limit.
    max_ssthresh: u64,
    /// RFC 8511's factor, if ABE is on.
    beta_ecn: Option<f64>,
    counter: ByteCounter,
}

impl Reno {
    /// Reno by counting, with the arithmetic of Linux or of RFC 5681, this slow-start limit per ACK and this RFC 3742
    /// threshold (0 for none), both in segments. Other algorithms build on it.
    pub(crate) fn counting(linux: bool, abc_limit: u64, max_ssthresh: u64) -> Self {
        let counter = ByteCounter::default();
        Self { linux, counting: true, abc_limit, max_ssthresh, beta_ecn: None, counter }
    }

    /// ssthresh after a congestion event (RFC 5681, equation 4; RFC 8511, section 3, for an ECN echo with ABE).
    fn ssthresh(&self, event: &Congestion, path: &Path, win: &Window) -> Bytes {
        let base = if self.linux { win.cwnd } else { path.flightsize };
        match (event, self.beta_ecn) {
            (Congestion::Ecn { .. }, Some(beta)) if !win.in_slow_start(path) => growth::reduced(base, beta, 2, path),
            _ if self.linux => growth::reduced_segments(base, 512, 2, path),
            _ => growth::reduced(base, 0.5, 2, path),
        }
    }
}

impl CongestionControl for Reno {
    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        // A duplicate ACK acknowledges nothing new and grows nothing (RFC 5681, section 3.1).
        if ack.acked.is_zero() || !growth::may_grow(path) {
            return;
        }
        let mut acked = if self.linux { ack.delivered } else { ack.acked };
        if win.in_slow_start(path) {
            let limit = path.smss * self.abc_limit;
            acked = growth::limited_slow_start(win, acked, limit, path.smss * self.max_ssthresh, path);
            if acked.is_zero() {
                return;
            }
        }
        if self.counting {
            let per = if self.linux { path.smss * growth::whole_segments(win.cwnd, path) } else { win.cwnd };
            self.counter.add(acked, per, path, win);
        } else {
            growth::per_ack(win, path);
        }
    }

    fn on_plain_ack(&mut self, ack: &PlainAck, win: &mut Window) -> bool {
        if win.is_below_ssthresh(ack.slow_start_at_equality) {
            return false;
        }
        if ack.acked.is_zero() || !ack.cwnd_limited {
            return true;
        }
        if self.counting {
            let smss = ack.smss.as_u64().max(1);
            let per = if self.linux { ack.smss * (win.cwnd.as_u64() / smss) } else { win.cwnd };
            self.counter.add_of(ack.acked, per, ack.smss, win);
        } else {
            growth::per_ack_of(win, ack.smss);
        }
        true
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        self.counter.reset();
        match event {
            // The threshold must not shrink again while the same data is retransmitted (RFC 5681, section 3.1).
            Congestion::Timeout { repeated: true } => win.cwnd = path.smss,
            Congestion::Timeout { repeated: false } => {
                win.ssthresh = Some(self.ssthresh(event, path, win));
                win.cwnd = path.smss;
            }
            Congestion::Loss { .. } | Congestion::Ecn { .. } => {
                let ssthresh = self.ssthresh(event, path, win);
                win.ssthresh = Some(ssthresh);
                win.cwnd = win.cwnd.min(ssthresh);
            }
        }
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("bytes_acked", self.counter.counted().as_f64());
    }
}
