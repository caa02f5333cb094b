//! Swift: keeps the delay of a data centre's path at a target, which grows as the window shrinks.
//!
//! # Idea
//! In a data centre the path without a queue is known, so a delay can be a target. Below the target, cwnd grows by one
//! segment per round-trip time. Above it, cwnd shrinks once per round-trip time in proportion to the excess, by half at
//! most. Many flows through one port have small windows and a queue that grows with the square root of their number.
//! The target therefore grows with 1/sqrt(cwnd). cwnd may fall below one segment. Then a segment is sent every
//! rtt/cwnd, so that thousands of flows can share a port.
//!
//! # Sources
//! G. Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter", SIGCOMM 2020,
//! algorithm 1 and section 3.5; constants that the paper does not give from htsim's `swift.cpp`.
//!
//! # State
//! | symbol | field | unit |
//! |---|---|---|
//! | fcwnd | `window` | segments, real |
//! | delay | `delay`: the last round-trip time | time |
//! | target_delay | `target` | time |
//! | t_last_decrease | `decreased` | time |
//! | retransmit_cnt | `timeouts` | count |
//! | alpha, beta of the target | `settings.scale`, `settings.offset` | us |
//!
//! # Differences
//! | question | paper | htsim | parameter |
//! |---|---|---|---|
//! | ai, beta, max_mdf | given by symbol | 1, 0.8, 0.5 | `ai`, `beta`, `max_mdf` |
//! | base target | given by symbol | 20 us | `base_target` |
//! | delay per hop | given by symbol | base target / 6.55 | `hop_delay`, `hops` |
//! | fs_range | given by symbol | 5 times the base target | `fs_range` |
//! | fs_min_cwnd, fs_max_cwnd | given by symbol | 0.1, 100 | `fs_min_cwnd`, `fs_max_cwnd` |
//! | timeouts until the smallest window | RETX_RESET_THRESHOLD | 5 | - |
//! | smallest window | by symbol | 10 bytes | `min_cwnd`, 0.01 segments |
//! | number of hops | from the TTL | from the route | `hops` |
//! | window of the host | a second one, by the delay at the hosts | no | no |
//! | slow start | none | none | none |
//!
//! TIMELY (SIGCOMM 2015) is Swift's predecessor and not here. It follows the gradient of the delay, not the delay, so
//! its queue has no unique fixed point (Zhu et al., "ECN or Delay", CoNEXT 2016), and it sets the rate of RDMA
//! messages, not a window. Swift replaced it at Google.
//!
//! # Limits
//! * The delay is the round-trip time of the connection's samples. Swift subtracts the time at the receiver's host,
//!   from timestamps of the network cards. Hosts take no time here, but a delayed ACK does: use `delayed_ack = false`.
//! * The delay of the hosts is zero here, so there is no second window for it.
//! * A loss is answered at most once per round-trip time, as a delay is.
//! * ECN echoes are ignored. There is no packet for a window below a segment but a full one, paced.
//! * The defaults suit data centres. On a path whose round-trip time without a queue exceeds the target, the window
//!   falls to its minimum: set `base_target`.
//!
//! # Vectors
//! `swift_target_of_a_window`, `swift_adds_ai_per_round`, `swift_shrinks_by_the_excess`,
//! `swift_shrinks_once_per_round`, `swift_shrinks_by_half_at_most`, `swift_below_a_segment_it_paces`,
//! `swift_grows_from_below_a_segment`, `swift_a_loss_takes_max_mdf`, `swift_five_timeouts_leave_the_smallest_window`,
//! `swift_grows_only_if_limited`.

use crate::growth;
use crate::row::{Param, ParamKind, Params, Response, Row, Traits};
use crate::{Ack, Congestion, CongestionControl, Needs, Path, Window};
use narrows_units::{Bytes, Duration, Instant, Rate, Variable};

/// `RETX_RESET_THRESHOLD`: expiries in a row after which the window is the smallest.
const RESET_TIMEOUTS: u32 = 5;

const fn number(name: &'static str, doc: &'static str, unit: &'static str, default: f64, range: (f64, f64)) -> Param {
    Param { name, doc, kind: ParamKind::Number { unit, default, min: range.0, max: range.1 } }
}

/// The registry's row.
pub(crate) const ROW: Row = Row {
    name: "swift",
    title: "Swift",
    sources: &["Kumar et al. 2020", "htsim (constants)"],
    params: &[
        number("base_target", "Target delay of one hop and a large window (htsim 20).", "us", 20.0, (1.0, 1e7)),
        number(
            "hops",
            "Hops of the path that add to the target; the paper counts them by the TTL.",
            "",
            0.0,
            (0.0, 255.0),
        ),
        number("hop_delay", "What each hop adds to the target (htsim 20/6.55).", "us", 3.05, (0.0, 1e6)),
        number("fs_range", "Most that a small window adds to the target (htsim 100).", "us", 100.0, (0.0, 1e7)),
        number(
            "fs_min_cwnd",
            "Window up to which all of fs_range is added (htsim 0.1).",
            "segments",
            0.1,
            (0.001, 1.0),
        ),
        number("fs_max_cwnd", "Window from which nothing is added (htsim 100).", "segments", 100.0, (2.0, 1e6)),
        number("ai", "Additive increase per round-trip time (htsim 1).", "segments", 1.0, (0.001, 1.0)),
        number(
            "beta",
            "Share of the relative excess of the delay that is taken away (htsim 0.8).",
            "",
            0.8,
            (0.0, 1.0),
        ),
        number("max_mdf", "Most that is taken away at once, and what a loss takes (htsim 0.5).", "", 0.5, (0.0, 0.99)),
        number(
            "min_cwnd",
            "Smallest window; below one segment, segments are paced (htsim 10 bytes).",
            "segments",
            0.01,
            (0.001, 1.0),
        ),
    ],
    variables: &[
        Variable::new("fcwnd", "segments", "The window with its fraction, which may be below one segment."),
        Variable::new("delay", "s", "The last round-trip time; 0 before a sample."),
        Variable::new("target", "s", "Target delay of the present window."),
        Variable::new("timeouts", "", "Expiries of the retransmission timer since the last ACK."),
    ],
    traits: Traits {
        response: Response::Models,
        needs_ecn: false,
        scales: true,
        l4s: false,
        own_start: Some("has no slow start: its window grows by `ai` from the initial window on"),
    },
    ns2: None,
    recovery: None,
    source: include_str!("swift.rs"),
    build,
};

fn build(params: &Params) -> Box<dyn CongestionControl> {
    let number = |name| params.number(&ROW, name);
    let root = |name| 1.0 / number(name).sqrt();
    let scale = number("fs_range") / (root("fs_min_cwnd") - root("fs_max_cwnd"));
    let settings = Settings {
        base: number("base_target") + number("hops") * number("hop_delay"),
        range: number("fs_range"),
        scale,
        offset: -scale * root("fs_max_cwnd"),
        ai: number("ai"),
        beta: number("beta"),
        max_mdf: number("max_mdf"),
        min_cwnd: number("min_cwnd"),
    };
    Box::new(Swift { settings, window: 0.0, written: Bytes::ZERO, delay: Duration::ZERO, decreased: None, timeouts: 0 })
}

#[derive(Clone, Copy, Debug)]
struct Settings {
    /// Target without the part of small windows, in microseconds; so are the next three.
    base: f64,
    range: f64,
    scale: f64,
    offset: f64,
    ai: f64,
    beta: f64,
    max_mdf: f64,
    min_cwnd: f64,
}

/// Swift; see the module's page.
#[derive(Clone, Debug)]
pub struct Swift {
    settings: Settings,
    /// The window in segments.
    window: f64,
    /// cwnd as written last; another value was set by something else.
    written: Bytes,
    delay: Duration,
    decreased: Option<Instant>,
    timeouts: u32,
}

impl Swift {
    /// The target delay of the present window (section 3.5).
    fn target(&self) -> Duration {
        let Settings { base, range, scale, offset, .. } = self.settings;
        let small = (scale / self.window.max(f64::MIN_POSITIVE).sqrt() + offset).min(range).max(0.0);
        Duration::from_secs_f64((base + small) / 1e6)
    }

    /// Whether a round-trip time has passed since the last decrease.
    fn may_decrease(&self, path: &Path) -> bool {
        let rtt = if self.delay.is_zero() { path.srtt.unwrap_or(Duration::ZERO) } else { self.delay };
        self.decreased.is_none_or(|at| path.now.since(at) >= rtt)
    }

    fn decrease(&mut self, factor: f64, path: &Path) {
        self.window *= factor;
        self.decreased = Some(path.now);
    }

    /// Takes over a cwnd that something else has set.
    fn adopt(&mut self, path: &Path, win: &Window) {
        if win.cwnd != self.written {
            (self.window, self.written) = (win.cwnd.segments(path.smss), win.cwnd);
        }
    }

    fn write(&mut self, path: &Path, win: &mut Window) {
        self.window = self.window.max(self.settings.min_cwnd);
        win.cwnd = Bytes::from_f64((self.window * path.smss.as_f64()).floor()).max(path.smss);
        self.written = win.cwnd;
        win.ssthresh = Some(path.smss * 2);
        // Below one segment: one every rtt/cwnd.
        win.pacing_rate = (self.window < 1.0 && !self.delay.is_zero())
            .then(|| Rate::of(path.smss, self.delay).mul_f64(self.window).max(Rate::bps(1)));
    }
}

impl CongestionControl for Swift {
    fn needs(&self) -> Needs {
        Needs { window_in_recovery: true, ..Needs::default() }
    }

    fn on_start(&mut self, path: &Path, win: &mut Window) {
        self.adopt(path, win);
        self.write(path, win);
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        self.adopt(path, win);
        self.timeouts = 0;
        if let Some(rtt) = ack.rtt.filter(|rtt| !rtt.is_zero()) {
            self.delay = rtt;
            let target = self.target();
            if rtt < target {
                if growth::may_grow(path) {
                    let acked = ack.delivered.segments(path.smss);
                    self.window += self.settings.ai * acked / self.window.max(1.0);
                }
            } else if self.may_decrease(path) {
                let excess = (rtt.as_secs_f64() - target.as_secs_f64()) / rtt.as_secs_f64();
                let factor = (1.0 - self.settings.beta * excess).max(1.0 - self.settings.max_mdf);
                self.decrease(factor, path);
            }
        }
        self.write(path, win);
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        self.adopt(path, win);
        match event {
            Congestion::Timeout { .. } => {
                self.timeouts = self.timeouts.saturating_add(1);
                if self.timeouts >= RESET_TIMEOUTS {
                    self.decrease(0.0, path);
                } else if self.may_decrease(path) {
                    self.decrease(1.0 - self.settings.max_mdf, path);
                }
            }
            Congestion::Loss { .. } => {
                self.timeouts = 0;
                if self.may_decrease(path) {
                    self.decrease(1.0 - self.settings.max_mdf, path);
                }
            }
            Congestion::Ecn { .. } => {}
        }
        self.write(path, win);
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("fcwnd", self.window);
        visit("delay", self.delay.as_secs_f64());
        visit("target", self.target().as_secs_f64());
        visit("timeouts", f64::from(self.timeouts));
    }
}
