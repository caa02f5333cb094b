//! Vegas: a window that leaves a few segments in the queue, and no more.
//!
//! # Idea
//! The smallest round-trip time ever seen (BaseRTT) belongs to the empty path. So `cwnd / BaseRTT` is the rate that the
//! window should give. The difference to the actual rate is data that waits in a queue. Vegas compares once per
//! round-trip time. With fewer than alpha segments in the queue it adds one segment to the window; with more than beta
//! it removes one. It needs no loss to find its window, and it loses to algorithms that do.
//!
//! # Sources
//! L. Brakmo, L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", JSAC 13(8), 1995; Linux
//! 6.1, `net/ipv4/tcp_vegas.c` (here); ns-2.35's `Agent/TCP/Vegas` ([`ns2`]).
//!
//! # State
//! | symbol | kernel | field | unit |
//! |---|---|---|---|
//! | BaseRTT, RTT of the round, samples | `baseRTT`, `minRTT`, `cntRTT` | `rounds` | time, time, count |
//! | end of the round | `beg_snd_nxt` | `rounds` | stream offset, bytes |
//! | - | `doing_vegas_now` | `doing` | - |
//! | Diff | `diff` | `diff` | segments |
//! | alpha, beta, gamma | module parameters | `limits` | segments |
//!
//! ```text
//!              Open again (a new round begins)
//!   Reno <--------------------------------------> Vegas, deciding at each end of a round
//!              Disorder, Cwr, Recovery, Loss
//! ```
//!
//! # Differences
//! | question | paper | Linux 6.1 | ns-3 | ns-2 Agent/TCP/Vegas | parameter |
//! |---|---|---|---|---|---|
//! | Diff | cwnd (1 - base/rtt) | cwnd (rtt/base - 1) | as paper | by the mean RTT of the round | `profile` |
//! | alpha, beta, gamma | 2, 4, 1 (or 1, 3, 1) | 2, 4, 1 | 2, 4, 1 | 1, 3, 1 | `alpha`, `beta`, `gamma` |
//! | RTT of a round | mean | smallest, and 1 us | smallest | mean | `profile` |
//! | slow start doubles | every other round | every round | every round | every other round | `profile` |
//! | end of slow start | at Actual | cwnd = target + 1 | cwnd = target + 1 | cwnd less an eighth | `profile` |
//! | one segment more | at once | at once | at once | 1/cwnd per ACK | `profile` |
//! | the decision starts from the window | present | present | present | present | `last_round` |
//! | left after a loss | 3/4 | 1/2 | 1/2 | 3/4 | `profile` |
//! | after a timeout | 1/2, slow start | 1/2, slow start | 1/2, slow start | 1/2, slow start from 2 | - |
//! | an idle time | - | forgets BaseRTT | forgets BaseRTT | - | `profile` |
//!
//! The default follows Linux. It is what hosts run, and its Vegas works with any loss recovery; the paper's needs
//! timers of its own. `profile = "ns2"` is ns-2's own agent, which is close to the paper. ns-2's `Agent/TCP/Linux` also
//! has a `vegas`, from Linux 2.6.22. It decides by the data that the previous round sent, and steps from the window of
//! that round. `last_round = true` does the same in `profile = "linux"`. It isolates the effect (docs/validation.md);
//! no stack turns it on.
//!
//! Linux's Diff is larger than the paper's by the factor rtt/base, so Linux leaves a long queue sooner. Near the
//! equilibrium the two differ by less than half a segment.
//!
//! # Limits
//! * The kernel grows in slow start, and in its decision, even if cwnd did not limit the sender. Here no window does.
//! * The microsecond that the kernel adds to each sample moves Diff below a whole number: 40 segments with 100 and 105
//!   ms give 1, not 2. We keep this.
//! * The handshake's round-trip time is no sample, as in the kernel.
//! * The paper's finer retransmission timer is loss recovery and not implemented here. Without it the paper's rules are
//!   those of ns-2.
//!
//! # Vectors
//! `vegas_linux_decides_by_the_queue`, `vegas_linux_adds_a_microsecond`, `vegas_linux_from_40_settles_at_53`,
//! `vegas_linux_slow_start_ends_at_the_target`, `vegas_linux_idleness_forgets_the_base`,
//! `vegas_linux_is_reno_outside_open`, `vegas_linux_needs_three_samples`, `vegas_linux_halves`,
//! `vegas_ns2_doubles_every_other_round`, `vegas_ns2_leaves_an_eighth_at_the_end_of_slow_start`,
//! `vegas_ns2_spreads_its_increase`, `vegas_ns2_settles_between_one_and_three`, `vegas_ns2_gives_a_quarter_back`,
//! `vegas_last_round_steps_from_the_window_of_the_round_before`.

pub mod ns2;

use crate::growth::{self, ByteCounter};
use crate::rounds::{self, Rounds, linux_sample};
use crate::row::{Ns2Agent, Param, ParamKind, Params, Response, Row, Traits};
use crate::{Ack, Congestion, CongestionControl, Needs, Path, Phase, Sent, Window};
use narrows_units::{Bytes, Duration, Variable};

/// A number of segments in the queue; 0 stands for the profile's.
const fn limit(name: &'static str, doc: &'static str) -> Param {
    Param { name, doc, kind: ParamKind::Number { unit: "segments", default: 0.0, min: 0.0, max: 1000.0 } }
}

/// The registry's row.
pub(crate) const ROW: Row = Row {
    name: "vegas",
    title: "Vegas",
    sources: &["Brakmo, Peterson 1995", "Linux 6.1", "ns-2.35 (profile ns2)"],
    params: &[
        Param {
            name: "profile",
            doc: "Rules: linux is Linux 6.1, ns2 is ns-2's Agent/TCP/Vegas, close to the paper.",
            kind: ParamKind::Choice { default: "linux", allowed: &["linux", "ns2"] },
        },
        limit("alpha", "Fewer segments in the queue add one to the window; 0 is the profile's: 2 in Linux, 1 in ns-2."),
        limit("beta", "More segments in the queue take one away; 0 is the profile's: 4 in Linux, 3 in ns-2."),
        Param {
            name: "gamma",
            doc: "More segments in the queue end slow start (1 in the paper, Linux and ns-2).",
            kind: ParamKind::Number { unit: "segments", default: 1.0, min: 0.0, max: 1000.0 },
        },
        Param {
            name: "last_round",
            doc: "In linux, decide by the round before, and step from its window, as Linux 2.6.22 and ns-2's TCP/Linux do.",
            kind: ParamKind::Switch { default: false },
        },
    ],
    variables: &[
        Variable::new("base_rtt", "s", "BaseRTT, the smallest round-trip time; 0 before a sample."),
        Variable::new("min_rtt", "s", "Smallest round-trip time of the round; 0 before a sample (`linux`)."),
        Variable::new("samples", "samples", "Round-trip times sampled in the round (`linux`)."),
        Variable::new("diff", "segments", "Diff, the flow's segments in the queue (`linux`)."),
        Variable::new("doing_vegas", "", "1 while Vegas moves the window, 0 while Reno does (`linux`)."),
        Variable::new("snd_cwnd_cnt", "bytes", "Bytes acknowledged since the window last grew (`linux`)."),
        Variable::new("mean_rtt", "s", "Mean round-trip time of the round; 0 before a sample (`ns2`)."),
        Variable::new("delta", "segments", "The flow's segments in the queue at the last decision (`ns2`)."),
        Variable::new("increase", "segments", "Segments that each ACK of the round adds (`ns2`)."),
    ],
    traits: Traits {
        response: Response::Reduces,
        needs_ecn: false,
        scales: true,
        l4s: false,
        own_start: Some(
            "has a slow start of its own, which doubles the window every other round-trip time and ends by delay",
        ),
    },
    ns2: Some(Ns2Agent::Own),
    recovery: None,
    source: include_str!("vegas.rs"),
    build,
};

fn build(params: &Params) -> Box<dyn CongestionControl> {
    let or = |name, default| match params.number(&ROW, name) {
        0.0 => default,
        given => given,
    };
    let gamma = params.number(&ROW, "gamma");
    if params.choice(&ROW, "profile") == "ns2" {
        Box::new(ns2::VegasNs2::new(Limits { alpha: or("alpha", 1.0), beta: or("beta", 3.0), gamma }))
    } else {
        let limits = Limits { alpha: or("alpha", 2.0), beta: or("beta", 4.0), gamma };
        let last = params.switch(&ROW, "last_round").then(LastRound::default);
        Box::new(Vegas { last, ..Vegas::new(limits) })
    }
}

/// How many segments may wait in the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// With fewer, the window grows.
    pub alpha: f64,
    /// With more, the window shrinks.
    pub beta: f64,
    /// With more, slow start ends.
    pub gamma: f64,
}

/// Vegas by Linux 6.1; see the module's page.
#[derive(Clone, Debug)]
pub struct Vegas {
    limits: Limits,
    rounds: Rounds,
    counter: ByteCounter,
    /// Whether the connection is Open and Vegas, not Reno, moves the window.
    doing: bool,
    diff: u64,
    /// The previous round, if decisions use it (`last_round`).
    last: Option<LastRound>,
}

/// Edges and window of the last round (`beg_snd_una`, `beg_snd_nxt`, `beg_snd_cwnd` of Linux 2.6.22).
#[derive(Clone, Copy, Debug, Default)]
struct LastRound {
    una: u64,
    nxt: u64,
    /// The window in whole segments, of the SMSS of that time.
    cwnd: Bytes,
    /// That SMSS.
    smss: Bytes,
}

impl LastRound {
    /// A round that begins now, at `una`.
    fn begin(una: u64, path: &Path, win: &Window) -> Self {
        Self { una, nxt: path.snd_nxt, cwnd: whole(path, win), smss: path.smss }
    }

    /// Ends the round: returns it and begins the next one.
    fn turn(&mut self, path: &Path, win: &Window) -> Self {
        std::mem::replace(self, Self::begin(self.nxt, path, win))
    }

    /// Segments sent in the round.
    fn sent(self) -> u64 {
        self.nxt.saturating_sub(self.una) / self.smss.as_u64().max(1)
    }
}

impl Vegas {
    /// Vegas with these limits.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, rounds: Rounds::default(), counter: ByteCounter::default(), doing: true, diff: 0, last: None }
    }

    /// Restarts measuring when the connection is Open again, and stops when it is not.
    fn follow(&mut self, path: &Path) {
        let open = path.phase == Phase::Open;
        if open && !self.doing {
            self.rounds.begin(path);
            if let Some(last) = &mut self.last {
                last.nxt = path.snd_nxt;
            }
        }
        self.doing = open;
    }

    /// Decides at the end of a round.
    fn decide(&mut self, acked: Bytes, base: Duration, rtt: Duration, path: &Path, win: &mut Window) {
        let cwnd = growth::whole_segments(win.cwnd, path);
        self.diff = rounds::share(cwnd, rtt - base, base);
        let diff = self.diff as f64;
        if win.in_slow_start(path) {
            if diff > self.limits.gamma {
                let target = rounds::without_queue(cwnd, base, rtt).saturating_add(1);
                win.cwnd = win.cwnd.min(path.smss * target);
                lower_threshold(win);
            } else if growth::may_grow(path) {
                growth::slow_start(win, acked, Bytes::MAX, path);
            }
        } else if diff > self.limits.beta {
            win.cwnd = win.cwnd.saturating_sub(path.smss);
            lower_threshold(win);
        } else if diff < self.limits.alpha && growth::may_grow(path) {
            win.cwnd += path.smss;
        }
        win.cwnd = win.cwnd.max(path.smss * 2);
        // The kernel's tcp_current_ssthresh: a threshold far below the window would make a timeout expensive.
        win.ssthresh = win.ssthresh.map(|s| s.max(win.cwnd / 2 + win.cwnd / 4));
    }
}

/// The decision of Linux 2.6.22, apart from slow start's steps, from the segments sent in the last round and its
/// window.
fn decide_by_last_round(limits: Limits, last: LastRound, queued: f64, path: &Path, win: &mut Window) {
    if win.in_slow_start(path) {
        if queued > limits.gamma {
            let target = (last.sent() as f64 - queued) as u64 + 1;
            win.cwnd = win.cwnd.min(path.smss * target);
            win.ssthresh = Some(path.smss * 2);
        }
        return;
    }
    let next = match queued {
        above if above > limits.beta => last.cwnd.saturating_sub(last.smss),
        below if below < limits.alpha => last.cwnd + last.smss,
        _ => last.cwnd,
    };
    match whole(path, win) {
        now if next > now && growth::may_grow(path) => win.cwnd += path.smss,
        now if next < now => win.cwnd = win.cwnd.saturating_sub(path.smss),
        _ => {}
    }
}

/// The whole segments of a window.
fn whole(path: &Path, win: &Window) -> Bytes {
    path.smss * growth::whole_segments(win.cwnd, path)
}

/// Lowers the threshold to the window if it is larger, so that slow start ends.
fn lower_threshold(win: &mut Window) {
    win.ssthresh = Some(win.ssthresh.map_or(win.cwnd, |s| s.min(win.cwnd)));
}

impl CongestionControl for Vegas {
    fn needs(&self) -> Needs {
        Needs { acks: true, ..Needs::default() }
    }

    fn on_start(&mut self, path: &Path, win: &mut Window) {
        self.rounds.forget(path);
        if let Some(last) = &mut self.last {
            *last = LastRound::begin(path.snd_una, path, win);
        }
    }

    fn observe(&mut self, ack: &Ack, _path: &Path) {
        if let Some(rtt) = ack.rtt {
            self.rounds.sample(linux_sample(rtt));
        }
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        self.follow(path);
        if ack.acked.is_zero() {
            return;
        }
        let may_grow = growth::may_grow(path);
        if !self.doing {
            if may_grow {
                growth::linux_reno(&mut self.counter, ack.delivered, path, win);
            }
        } else if self.rounds.ended(path) {
            let last = self.last.as_mut().map(|last| last.turn(path, win));
            match (self.rounds.base(), self.rounds.min()) {
                // With two samples or fewer, both may come from delayed ACKs.
                (Some(base), Some(rtt)) if self.rounds.samples() > 2 && last.is_some() => {
                    let last = last.unwrap_or_default();
                    let halves =
                        2 * last.sent() - rounds::without_queue(2 * last.sent(), base, rtt).min(2 * last.sent());
                    decide_by_last_round(self.limits, last, halves as f64 / 2.0, path, win);
                    if win.in_slow_start(path) && may_grow {
                        growth::slow_start(win, ack.delivered, Bytes::MAX, path);
                    }
                    win.cwnd = win.cwnd.max(path.smss * 2);
                }
                (Some(base), Some(rtt)) if self.rounds.samples() > 2 => {
                    self.decide(ack.delivered, base, rtt, path, win);
                }
                _ if may_grow => growth::linux_reno(&mut self.counter, ack.delivered, path, win),
                _ => {}
            }
            self.rounds.begin(path);
        } else if win.in_slow_start(path) && may_grow {
            growth::slow_start(win, ack.delivered, Bytes::MAX, path);
        }
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        self.counter.reset();
        self.doing = false;
        growth::answer(event, path, win, |win| growth::reduced_segments(win.cwnd, 512, 2, path));
    }

    fn on_recovered(&mut self, path: &Path, _win: &mut Window) {
        self.follow(path);
    }

    fn on_sent(&mut self, sent: &Sent, path: &Path, _win: &mut Window) {
        if !sent.idle.is_zero() {
            // Samples from before an idle time are stale.
            self.rounds.forget(path);
        }
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("base_rtt", self.rounds.base().unwrap_or(Duration::ZERO).as_secs_f64());
        visit("min_rtt", self.rounds.min().unwrap_or(Duration::ZERO).as_secs_f64());
        visit("samples", f64::from(self.rounds.samples()));
        visit("diff", self.diff as f64);
        visit("doing_vegas", f64::from(u8::from(self.doing)));
        visit("snd_cwnd_cnt", self.counter.counted().as_f64());
    }
}
