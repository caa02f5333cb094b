//! Compound TCP: Reno's window plus a second window, which grows fast as long as no queue builds up.
//!
//! # Idea
//! The sender may have `cwnd + dwnd` in flight. cwnd follows Reno. dwnd is the delay window. While fewer than gamma
//! packets seem to wait in queues, dwnd grows by a power of the whole window per round-trip time. Once more packets
//! wait, it shrinks by their number. So a long fat path fills quickly, and on a full path Reno's part remains.
//!
//! # Sources
//! K. Tan, J. Song, Q. Zhang, M. Sridharan, "A Compound TCP Approach for High-speed and Long Distance Networks", 2005
//! and INFOCOM 2006; draft-sridharan-tcpm-ctcp-02. The module for Linux 2.6 is in [`linux`].
//!
//! # State
//! | symbol | field | unit |
//! |---|---|---|
//! | win = cwnd + dwnd | [`Window`]'s cwnd | bytes |
//! | dwnd | `dwnd` | bytes |
//! | baseRTT, minRTT, cntRTT | `rounds` | time, time, count |
//! | gamma, diff_reno | `gamma`, `diff_reno` | packets |
//! | alpha, beta, k, zeta | `settings`; beta is 1/2 | -, -, -, - |
//!
//! # Differences
//! | question | paper | draft | Linux module | ns-2 TCP-Linux | parameter |
//! |---|---|---|---|---|---|
//! | numbers | real | real | integers | integers | `profile` |
//! | gamma | 30 | 30, tuned to 5 .. 30 at losses | 30 | 30 | `gamma`, `gamma_tuning` |
//! | least window for dwnd | 38 | 38 | 41, by its integers | 41 | `low_window` |
//! | slow start ends | win at ssthresh | the same | cwnd alone at ssthresh | the same | `profile` |
//! | idle | - | baseRTT kept | all forgotten | all forgotten | `profile` |
//! | after a loss | win halved, dwnd by what cwnd leaves | the same | dwnd kept if it fits | the same | `profile` |
//!
//! The default (`profile = "draft"`) follows the paper with the draft's tuning. `gamma_tuning = false` is the paper.
//! `profile = "linux"` is the module.
//!
//! # Limits
//! * ns-2.35's `compound` has no profile of its own. With a queue of 10 packets on 100 Mb/s and 100 ms it delivers 109
//!   MB in 60 s, and ns-2's `reno` 189 MB (`validation/pair.tcl`); where the queue holds half a BDP, 708 and 664 MB.
//! * Windows uses another tuning, which is not public.
//! * In both profiles, ACKs of the next round add a round's increase of dwnd, each as much as it acknowledges. The
//!   window is the same some ACKs later, without a burst.
//! * diff uses the smallest round-trip time of a round, and needs three samples, as in the module.
//! * diff_reno, which the draft records before a loss, is that of the last round measured.
//!
//! # Vectors
//! `compound_delay_window_increment`, `compound_total_from_100`, `compound_gives_way_to_queues`,
//! `compound_loss_halves_the_total`, `compound_timeout_forgets_the_delay_window`, `compound_is_reno_below_38`,
//! `compound_gamma_is_tuned_at_losses`, `compound_linux_delay_window_increment`, `compound_linux_splits_the_window`,
//! `compound_linux_forgets_when_idle`, `compound_linux_gives_way_to_queues`, `quartic_root_is_exact`.

pub mod linux;

use crate::growth::{self, Fraction};
use crate::rounds::Rounds;
use crate::row::{Param, ParamKind, Params, Response, Row, Traits};
use crate::{Ack, Congestion, CongestionControl, Needs, Path, Window};
use narrows_units::{Bytes, Duration, Variable};

/// The registry's row.
pub(crate) const ROW: Row = Row {
    name: "compound",
    title: "Compound TCP",
    sources: &["Tan, Song, Zhang, Sridharan 2006", "draft-sridharan-tcpm-ctcp-02", "Linux module (profile linux)"],
    params: &[
        Param {
            name: "profile",
            doc: "Rules: draft (and paper) in real numbers, or linux with the integers of the out-of-tree module.",
            kind: ParamKind::Choice { default: "draft", allowed: &["draft", "linux"] },
        },
        Param {
            name: "gamma",
            doc: "Packets in queues from which on the delay window shrinks; where it is tuned, its first value.",
            kind: ParamKind::Number { unit: "segments", default: 30.0, min: 1.0, max: 1000.0 },
        },
        Param {
            name: "gamma_tuning",
            doc: "Tune gamma at losses between 5 and 30 by Reno's part of the queue (the draft; draft only).",
            kind: ParamKind::Switch { default: true },
        },
        Param {
            name: "low_window",
            doc: "Window below which Compound is Reno (draft only).",
            kind: ParamKind::Number { unit: "segments", default: 38.0, min: 2.0, max: 1e6 },
        },
    ],
    variables: &[
        Variable::new("dwnd", "bytes", "dwnd, the delay-based part of the window (`draft`)."),
        Variable::new("gamma", "segments", "gamma, the backlog at which dwnd shrinks (`draft`)."),
        Variable::new("base_rtt", "s", "baseRTT, the smallest round-trip time; 0 before a sample."),
        Variable::new("dwnd_segments", "segments", "dwnd, the delay-based part of the window (`linux`)."),
        Variable::new("cwnd_reno", "segments", "The loss-based part of the window (`linux`)."),
        Variable::new("snd_cwnd_cnt", "ACKs", "ACKs since the loss-based part last grew (`linux`)."),
    ],
    traits: Traits {
        response: Response::Reduces,
        needs_ecn: false,
        scales: true,
        l4s: false,
        own_start: Some("has a window in two parts, of which slow start is one"),
    },
    ns2: None,
    recovery: None,
    source: include_str!("compound.rs"),
    build,
};

fn build(params: &Params) -> Box<dyn CongestionControl> {
    let gamma = params.number(&ROW, "gamma");
    if params.choice(&ROW, "profile") == "linux" {
        return Box::new(linux::CompoundLinux::new(gamma as u64));
    }
    Box::new(Compound {
        tuning: params.switch(&ROW, "gamma_tuning"),
        low_window: params.number(&ROW, "low_window"),
        gamma,
        diff_reno: None,
        dwnd: 0.0,
        owed: 0.0,
        saved: 0.0,
        rounds: Rounds::default(),
        fraction: Fraction::default(),
    })
}

/// alpha, and least and largest gamma of the tuning; k is 3/4 and zeta 1.
const ALPHA: f64 = 0.125;
const GAMMA: (f64, f64) = (5.0, 30.0);

/// Compound by paper and draft; see the module's page.
#[derive(Clone, Debug)]
pub struct Compound {
    tuning: bool,
    low_window: f64,
    gamma: f64,
    diff_reno: Option<f64>,
    dwnd: f64,
    /// The part of the last round's increase of dwnd that ACKs have not yet added.
    owed: f64,
    /// dwnd before the last congestion event.
    saved: f64,
    rounds: Rounds,
    fraction: Fraction,
}

impl Compound {
    /// Adjusts dwnd once per round by the queueing that the round shows.
    fn measure(&mut self, path: &Path, win: &mut Window) {
        let (Some(base), Some(rtt), 3..) = (self.rounds.base(), self.rounds.min(), self.rounds.samples()) else {
            return;
        };
        let smss = path.smss.as_f64().max(1.0);
        let total = self.fraction.exact(win) / smss;
        let queued = 1.0 - base.as_secs_f64() / rtt.as_secs_f64().max(1e-9);
        let diff = total * queued;
        self.diff_reno = Some((total - self.dwnd / smss) * queued);
        if diff >= self.gamma {
            self.owed = 0.0;
            let less = (diff * smss).min(self.dwnd);
            self.dwnd -= less;
            win.cwnd = Bytes::from_f64(win.cwnd.as_f64() - less).max(path.smss);
        } else if total >= self.low_window && growth::may_grow(path) {
            // total^(3/4).
            let power = libm::sqrt(total) * libm::sqrt(libm::sqrt(total));
            self.owed = (ALPHA * power - 1.0).max(0.0) * smss;
        }
    }

    /// Moves gamma half-way to 3/4 of Reno's part of the queue.
    fn tune(&mut self) {
        if let Some(diff) = self.diff_reno.filter(|_| self.tuning) {
            self.gamma = f64::midpoint(self.gamma, 0.75 * diff).clamp(GAMMA.0, GAMMA.1);
        }
    }
}

impl CongestionControl for Compound {
    fn needs(&self) -> Needs {
        Needs { acks: true, ..Needs::default() }
    }

    fn on_start(&mut self, path: &Path, _win: &mut Window) {
        self.rounds.forget(path);
    }

    fn observe(&mut self, ack: &Ack, _path: &Path) {
        if let Some(rtt) = ack.rtt {
            self.rounds.sample(rtt);
        }
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        if ack.acked.is_zero() {
            return;
        }
        // Something else may have reduced the window; at least one segment of it is Reno's.
        self.dwnd = self.dwnd.min(win.cwnd.saturating_sub(path.smss).as_f64());
        let mut acked = ack.acked;
        if win.in_slow_start(path) {
            if !growth::may_grow(path) {
                return;
            }
            self.dwnd = 0.0;
            self.owed = 0.0;
            acked = growth::slow_start(win, acked, path.smss, path);
        }
        if growth::may_grow(path) {
            let share = (acked.as_f64() / self.fraction.exact(win).max(1.0)).min(1.0);
            self.fraction.add(path.smss.as_f64() * share, win);
        }
        if self.rounds.ended(path) {
            if !win.in_slow_start(path) {
                self.measure(path, win);
            }
            self.rounds.begin(path);
        }
        if growth::may_grow(path) {
            let paid = self.owed.min(acked.as_f64());
            self.owed -= paid;
            self.dwnd += paid;
            self.fraction.add(paid, win);
        }
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        if *event != (Congestion::Timeout { repeated: true }) {
            self.saved = self.dwnd;
            self.tune();
            let half = growth::reduced(win.cwnd, 0.5, 2, path);
            self.owed = 0.0;
            // win / 2 minus half of cwnd is half of dwnd.
            self.dwnd /= 2.0;
            win.ssthresh = Some(half);
            win.cwnd = win.cwnd.min(half);
        }
        if matches!(event, Congestion::Timeout { .. }) {
            self.dwnd = 0.0;
            win.cwnd = path.smss;
        }
    }

    fn on_undo(&mut self, _path: &Path, _win: &mut Window) {
        self.dwnd = self.saved;
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("dwnd", self.dwnd);
        visit("gamma", self.gamma);
        visit("base_rtt", self.rounds.base().unwrap_or(Duration::ZERO).as_secs_f64());
    }
}
