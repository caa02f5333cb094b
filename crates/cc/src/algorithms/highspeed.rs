//! HighSpeed TCP: Reno with steps that depend on the window, so that a loss rate of 1e-7 sustains 83,000 segments.
//!
//! # Idea
//! To sustain a large window, Reno needs a loss rate that no real link reaches. HighSpeed TCP keeps Reno's response up
//! to 38 segments (a loss rate of 1e-3, where fairness to Reno matters). Above that it follows a flatter line. A round
//! adds a(w) segments, which increases with the window. A loss takes the share b(w), which is one half at 38 segments
//! and one tenth at 83,000.
//!
//! # Sources
//! RFC 3649, sections 4 and 5 and appendix B; Linux 6.1, `net/ipv4/tcp_highspeed.c`, and its ancestor of 2007 in
//! ns-2.35's `Agent/TCP/Linux`; ns-2.35's own agent with `windowOption_ 8`; RFC 3742 (limited slow start).
//!
//! # State
//! | symbol | field | unit |
//! |---|---|---|
//! | w | cwnd | bytes |
//! | row of the table (`ai` in Linux, which adds `ai` + 1 per round) | `index` | - |
//! | `snd_cwnd_cnt` | `count` | ACKs times the step |
//! | - | `fraction` (part of a byte in cwnd) | bytes |
//! | - | `lost_before` (whether a loss came before, `ns2_agent`) | - |
//!
//! # Differences
//! | question | RFC 3649 | Linux 6.1 | ns-2 TCP-Linux | ns-2 `windowOption_ 8` | ns-3 | parameter |
//! |---|---|---|---|---|---|---|
//! | a(w), b(w) | from the window, real | table of 72 rows | same table | real | table, b in hundredths | `profile` |
//! | p(w) | 0.078/w^1.2 | 1/(12.8 w^1.2) | as Linux | log-linear, 1.04e-3 at 38 to 1e-7 at 83000 | as RFC | `profile` |
//! | counted | - | ACKs | ACKs | ACKs | segments | `profile` |
//! | row for a loss in the first slow start | b(w) | the first: one half | one half | one half | b(w) | `profile` |
//! | slow start per ACK | 1; limited is recommended | all that was delivered | 1 | 1 | 1 | `profile`, `max_ssthresh` |
//!
//! The default follows RFC 3649 in real numbers and weighs each ACK by the segments that it covers. `stack = "ns2"`
//! selects `profile = "ns2"`, the module in `Agent/TCP/Linux`, because that agent has an algorithm of this name. The
//! module differs from Linux 6.1 in slow start only. ns-2's own agent is `profile = "ns2_agent"`.
//!
//! Linux's row changes only on ACKs in congestion avoidance, and starts at the first row. So a loss that ends the first
//! slow start takes half of any window. A row from before a timeout applies to the next loss.
//!
//! # Limits
//! * Above 83,000 segments the RFC defines no b(w), and b stays 0.1. The table continues to 89,053 segments by its
//!   generator.
//! * Linux does not carry the rest of slow start into congestion avoidance in the same ACK, and bounds the window to
//!   2^25 segments. The profiles for Linux and ns-2 do the same.
//!
//! # Vectors
//! `highspeed_table`, `highspeed_a_and_b`, `highspeed_rfc3649_follows_a_and_b`, `highspeed_linux_growth`,
//! `highspeed_linux_reduces_by_the_row`, `highspeed_linux_halves_after_the_first_slow_start`,
//! `highspeed_low_windows_are_reno`, `highspeed_linux_counts_acks`, `highspeed_response_function`,
//! `highspeed_ns2_agent_halves_first`, `highspeed_ns2_agent_response_is_a_line_in_logarithms`.

use crate::growth::{self, Fraction};
use crate::row::{Ns2Agent, Param, ParamKind, Params, Response, Row, Traits};
use crate::{Ack, Congestion, CongestionControl, Path, Window};
use narrows_units::{Bytes, Variable};
use std::sync::OnceLock;

/// Low_Window, in segments; up to here the steps are Reno's (RFC 3649, section 5).
pub const LOW_WINDOW: f64 = 38.0;
/// High_Window, in segments.
pub const HIGH_WINDOW: f64 = 83_000.0;
/// High_P, the loss rate at High_Window.
const HIGH_P: f64 = 1e-7;
/// High_Decrease, the share of the window that a loss removes at High_Window.
const HIGH_DECREASE: f64 = 0.1;
/// Rows of Linux's table; the RFC's has one more.
const ROWS: usize = 72;
/// Linux's bound on the window in segments, below which its arithmetic is safe.
const CLAMP: u64 = u32::MAX as u64 / 128;

/// The registry's row.
pub(crate) const ROW: Row = Row {
    name: "highspeed",
    title: "HighSpeed TCP",
    sources: &["RFC 3649", "RFC 3742", "Linux 6.1 (profile linux)", "ns-2.35 (profiles ns2, ns2_agent)"],
    params: &[
        Param {
            name: "profile",
            doc: "Rules: rfc3649 in real numbers, linux with its table, ns2 as linux with slow start by ACKs, ns2_agent windowOption_ 8.",
            kind: ParamKind::Choice { default: "rfc3649", allowed: &["rfc3649", "linux", "ns2", "ns2_agent"] },
        },
        crate::params::MAX_SSTHRESH,
    ],
    variables: &[
        Variable::new("ai", "", "Row of the table of RFC 3649, from 0; the increase per round is `ai` + 1 segments."),
        Variable::new(
            "snd_cwnd_cnt",
            "ACKs",
            "ACKs since the window last grew, each counted `ai` + 1 times; it grows at cwnd.",
        ),
    ],
    traits: Traits { response: Response::Reduces, needs_ecn: false, scales: true, l4s: false, own_start: None },
    ns2: Some(Ns2Agent::TcpLinux),
    recovery: None,
    source: include_str!("highspeed.rs"),
    build,
};

fn build(params: &Params) -> Box<dyn CongestionControl> {
    let profile = match params.choice(&ROW, "profile") {
        "linux" => Profile::Linux,
        "ns2" => Profile::Ns2,
        "ns2_agent" => Profile::Ns2Agent,
        _ => Profile::Rfc3649,
    };
    Box::new(HighSpeed {
        profile,
        max_ssthresh: params.number(&ROW, "max_ssthresh") as u64,
        index: 0,
        count: 0,
        fraction: Fraction::default(),
        lost_before: false,
    })
}

/// Position of ln w between Low_Window (0) and High_Window (1).
fn way(w: f64) -> f64 {
    (libm::log(w) - libm::log(LOW_WINDOW)) / (libm::log(HIGH_WINDOW) - libm::log(LOW_WINDOW))
}

/// b(w), the share that a loss removes from `w` segments (RFC 3649, section 5): 0.5 up to Low_Window, 0.1 from
/// High_Window on.
#[must_use]
pub fn b(w: f64) -> f64 {
    ((HIGH_DECREASE - 0.5) * way(w.max(LOW_WINDOW)) + 0.5).max(HIGH_DECREASE)
}

/// a(w), the segments that a round adds to `w` segments (RFC 3649, section 5), at least one.
#[must_use]
pub fn a(w: f64) -> f64 {
    if w <= LOW_WINDOW { 1.0 } else { increase(w, 0.078 / libm::pow(w, 1.2), b(w)) }
}

/// a(w) of ns-2's own agent, whose loss rate is linear in logarithms.
#[must_use]
pub fn a_ns2_agent(w: f64) -> f64 {
    if w <= LOW_WINDOW {
        return 1.0;
    }
    let low = libm::log(1.5 / (LOW_WINDOW * LOW_WINDOW));
    increase(w, libm::exp(low + way(w) * (libm::log(HIGH_P) - low)), b(w))
}

/// The increase that sustains `w` at the loss rate `p` with the decrease `b` (RFC 3649, section 5).
fn increase(w: f64, p: f64, b: f64) -> f64 {
    (w * w * p * 2.0 * b / (2.0 - b)).max(1.0)
}

/// A row of the table: the largest window, in segments, for which a round adds the row's number of segments, and the
/// share in 1/256 that a loss removes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Window up to which the row holds, in segments.
    pub cwnd: u64,
    /// 256 b(w), rounded down.
    pub md: u64,
}

/// Linux's table, made by the rule of RFC 3649, appendix B: a new row wherever a(w) has grown by more than one since
/// the last.
#[must_use]
pub fn table() -> &'static [Step; ROWS] {
    static TABLE: OnceLock<[Step; ROWS]> = OnceLock::new();
    TABLE.get_or_init(|| {
        let b = |w: u64| (HIGH_DECREASE - 0.5) * way(w as f64) + 0.5;
        let a = |w: u64| (w * w) as f64 * 2.0 * b(w) / ((2.0 - b(w)) * libm::pow(w as f64, 1.2) * 12.8);
        let mut rows = [Step::default(); ROWS];
        let (mut w, mut last) = (LOW_WINDOW as u64, 1.0);
        for row in &mut rows {
            *row = Step { cwnd: w, md: (256.0 * b(w)) as u64 };
            // The first window whose a(w) exceeds the last row's by one; a(w) increases throughout.
            let (mut below, mut above) = (w, 2 * HIGH_WINDOW as u64);
            while above - below > 1 {
                let middle = u64::midpoint(below, above);
                if a(middle) > last + 1.0 { above = middle } else { below = middle }
            }
            (w, last) = (above, a(above));
        }
        rows
    })
}

/// Which implementation's rules are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Profile {
    Rfc3649,
    Linux,
    Ns2,
    Ns2Agent,
}

/// HighSpeed TCP; see the module's page.
#[derive(Clone, Debug)]
pub struct HighSpeed {
    profile: Profile,
    /// RFC 3742's max_ssthresh, in segments; 0 for no limit.
    max_ssthresh: u64,
    index: usize,
    count: u64,
    fraction: Fraction,
    lost_before: bool,
}

impl HighSpeed {
    fn by_table(&self) -> bool {
        matches!(self.profile, Profile::Linux | Profile::Ns2)
    }

    /// One ACK's step by the table.
    fn avoid_by_table(&mut self, path: &Path, win: &mut Window) {
        let rows = table();
        let cwnd = growth::whole_segments(win.cwnd, path).max(1);
        while self.index < ROWS - 1 && cwnd > rows[self.index].cwnd {
            self.index += 1;
        }
        while self.index > 0 && cwnd <= rows[self.index - 1].cwnd {
            self.index -= 1;
        }
        if cwnd < CLAMP {
            self.count += self.index as u64 + 1;
            if self.count >= cwnd {
                self.count -= cwnd;
                win.cwnd += path.smss;
            }
        }
    }

    /// One ACK's step in real numbers.
    fn avoid(&mut self, acked: Bytes, path: &Path, win: &mut Window) {
        let (smss, cwnd) = (path.smss.as_f64().max(1.0), self.fraction.exact(win).max(1.0));
        let a = if self.profile == Profile::Ns2Agent { a_ns2_agent(cwnd / smss) } else { a(cwnd / smss) };
        // An ACK counts for one window at most.
        self.fraction.add(a * smss * (acked.as_f64() / cwnd).min(1.0), win);
    }

    fn ssthresh(&self, path: &Path, win: &Window) -> Bytes {
        if self.by_table() {
            let cwnd = growth::whole_segments(win.cwnd, path);
            return path.smss * (cwnd - (cwnd.saturating_mul(table()[self.index].md) >> 8)).max(2);
        }
        let first = self.profile == Profile::Ns2Agent && !self.lost_before;
        let share = if first { 0.5 } else { b(win.cwnd.segments(path.smss)) };
        growth::reduced(win.cwnd, 1.0 - share, 2, path)
    }
}

impl CongestionControl for HighSpeed {
    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        if ack.acked.is_zero() || !growth::may_grow(path) {
            return;
        }
        let linux = self.profile == Profile::Linux;
        let mut acked = if linux { ack.delivered } else { ack.acked };
        if win.in_slow_start(path) {
            let limit = if linux { Bytes::MAX } else { path.smss };
            acked = growth::limited_slow_start(win, acked, limit, path.smss * self.max_ssthresh, path);
            if acked.is_zero() || self.by_table() {
                return;
            }
        }
        if self.by_table() {
            self.avoid_by_table(path, win);
        } else {
            let counted = if self.profile == Profile::Ns2Agent { acked.min(path.smss) } else { acked };
            self.avoid(counted, path, win);
        }
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        self.count = 0;
        growth::answer(event, path, win, |win| self.ssthresh(path, win));
        self.lost_before = true;
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("ai", self.index as f64);
        visit("snd_cwnd_cnt", self.count as f64);
    }
}
