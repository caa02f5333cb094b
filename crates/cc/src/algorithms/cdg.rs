//! CDG: backs off at random, the more likely the faster the round-trip time rises.
//!
//! # Idea
//! A queue that fills makes the round-trip time rise. CDG compares the smallest and the largest round-trip time of each
//! round with those of the round before. It needs no estimate of the empty path, and no threshold for a long queue. A
//! positive gradient makes it back off with the probability `1 - exp(-gradient / G)`, so flows that share a queue do
//! not all back off together. Beside flows that fill the queue, backing off does not help. CDG notices that and ignores
//! some gradients, and a shadow window remembers what a loss-based flow would have, so that a loss costs it less. It
//! can also infer from the gradients that the queue was not full, and then ignores a loss.
//!
//! # Sources
//! D. Hayes, G. Armitage, "Revisiting TCP Congestion Control Using Delay Gradients", IFIP Networking 2011; Linux 6.1,
//! `net/ipv4/tcp_cdg.c` (here).
//!
//! # State
//! | symbol | kernel | field | unit |
//! |---|---|---|---|
//! | `RTT_min`, `RTT_max` of the round, and of the round before | `rtt`, `rtt_prev` | `rtt`, `before` | us |
//! | `g_min`, `g_max`, smoothed | `gsum`, `gradients` | `gradients` | us, sum of the window |
//! | s, shadow window | `shadow_wnd` | `shadow` | segments |
//! | queue state | `state` | `state` | - |
//! | backoffs without effect | `backoff_cnt` | `ineffective` | count |
//! | - | `delack` | `delayed_acks` | count |
//! | - | `delay_min`, `last_ack`, `round_start`, `sample_cnt` | `start` | time, count |
//!
//! ```text
//!            gradient > 0, by chance: cwnd moves to 0.707 cwnd in a round
//!   growth as Reno ---------------------------------------> reduction
//!         ^------- what was outstanding is acknowledged --------+
//! ```
//!
//! # Differences
//! | question | paper, FreeBSD | Linux 6.1 | parameter |
//! |---|---|---|---|
//! | smoothing | mean of 8 gradients | sum of 8 gradients | `window` |
//! | probability | 1 - exp(-g / G), G = 3 | 1 - exp(-42e-6 g), which is G = 2976 us | `backoff_factor` |
//! | left after a backoff | 0.7 | 724/1024 | `backoff_beta` |
//! | backoffs without effect | 5, then 5 ignored | 5, then all, until the gradient falls | `use_ineff` |
//! | slow start | ends by the gradient too | and by a Hybrid Slow Start of its own | `hystart_detect` |
//! | shadow window | always | up to 2 cwnd; to cwnd if the application limits | `use_shadow` |
//! | loss while the queue is not full | ignored | halves, as other losses | `use_tolerance` |
//! | exponential | table of FreeBSD | `nexp_u32` | - |
//!
//! The default follows Linux, because its form is the newer one and anybody can load it. `use_tolerance = true` gives
//! the paper's tolerance. ns-2 and ns-3 have no CDG in their releases.
//!
//! # Limits
//! * The kernel reduces by PRR (RFC 6937), as for an ECN echo. Here cwnd falls in proportion to what is delivered,
//!   which is the same for a flow that keeps cwnd in flight. [`Path::phase`] stays Open meanwhile.
//! * `window` is a power of two in the kernel, which needs it for its index. Any length works here.
//! * An idle time longer than the retransmission timeout clears the state, as in the kernel with
//!   `tcp_slow_start_after_idle`.
//! * Random numbers are the flow's own, from the seed of the run.
//! * The delayed-ACK filter needs to know whether anything is selectively acknowledged. Here that is `inflight` below
//!   `flightsize`, which counts lost segments too.
//!
//! # Vectors
//! `cdg_nexp_is_the_kernel_s`, `cdg_backs_off_as_often_as_the_gradient_says`,
//! `cdg_gradient_window_sums_and_extrapolates`, `cdg_the_largest_counts_if_the_smallest_does_not_rise`,
//! `cdg_backoff_leaves_724_of_1024_in_a_round`, `cdg_ineffective_backoffs_end_after_five`,
//! `cdg_a_falling_delay_makes_backoffs_effective`, `cdg_shadow_window_softens_a_loss`,
//! `cdg_shadow_window_is_cwnd_if_the_application_limits`, `cdg_tolerates_a_loss_while_the_queue_is_not_full`,
//! `cdg_an_idle_time_clears_all`, `cdg_hystart_ends_slow_start_by_delay`,
//! `cdg_hystart_ends_slow_start_by_an_ack_train`, `cdg_delayed_acks_are_no_samples`,
//! `cdg_a_loss_in_a_backoff_reduces_once`.

pub mod gradient;
mod reduction;
mod start;

use crate::growth::{self, ByteCounter};
use crate::row::{Param, ParamKind, Params, Response, Row, Traits};
use crate::{Ack, Congestion, CongestionControl, Needs, Path, Sent, Window};
use gradient::{Gradients, MinMax, Trend, in_64ths, negative_exponential};
use narrows_rng::Stream;
use narrows_units::{Bytes, Variable};
use reduction::Reduction;
use start::HybridStart;

/// A gradient below this, in microseconds, shows that a backoff had an effect.
const EFFECTIVE: i64 = -32;
/// Most delayed ACKs that the filter expects to come.
const DELAYED_ACKS: u32 = 5;

const fn whole(name: &'static str, doc: &'static str, unit: &'static str, default: f64, range: (f64, f64)) -> Param {
    Param { name, doc, kind: ParamKind::Number { unit, default, min: range.0, max: range.1 } }
}

/// The registry's row.
pub(crate) const ROW: Row = Row {
    name: "cdg",
    title: "CDG",
    sources: &["Hayes, Armitage 2011", "Linux 6.1"],
    params: &[
        whole("window", "Rounds whose gradients are summed (the paper and Linux 8).", "rounds", 8.0, (1.0, 256.0)),
        whole(
            "backoff_beta",
            "Share of cwnd that is left after a backoff, in 1/1024 (Linux 724, sqrt(1/2); the paper 0.7).",
            "",
            724.0,
            (0.0, 1024.0),
        ),
        whole(
            "backoff_factor",
            "Factor of the gradient sum in the exponent, in millionths per us: 1000/(G window) (Linux 42; 0 is never).",
            "",
            42.0,
            (0.0, 100_000.0),
        ),
        whole(
            "use_ineff",
            "Backoffs without a falling delay after which backing off stops (Linux and the paper 5; 0 is no limit).",
            "",
            5.0,
            (0.0, 1000.0),
        ),
        Param {
            name: "hystart_detect",
            doc: "How its Hybrid Slow Start ends slow start; off leaves that to gradients and losses (Linux both).",
            kind: ParamKind::Choice { default: "both", allowed: &["both", "ack_train", "delay", "off"] },
        },
        Param {
            name: "use_shadow",
            doc: "A loss leaves up to half of the shadow window, which backoffs do not reduce (Linux on).",
            kind: ParamKind::Switch { default: true },
        },
        Param {
            name: "use_tolerance",
            doc: "A loss does not reduce if the gradients say that the queue was not full (Linux off, the paper on).",
            kind: ParamKind::Switch { default: false },
        },
    ],
    variables: &[
        Variable::state(
            "state",
            "What CDG knows of the queue: 0 unknown, 1 not full, 2 full, 3 backing off.",
            &["unknown", "nonfull", "full", "backoff"],
        ),
        Variable::new(
            "gradient",
            "s",
            "Gradient of the last round, summed over the window; positive while a queue fills.",
        ),
        Variable::new("shadow_wnd", "segments", "Shadow window: cwnd as if there had been no backoffs."),
        Variable::new("backoffs", "", "Backoffs by delay since the start."),
        Variable::new("backoff_cnt", "", "Backoffs since the delay last fell; above use_ineff none is made."),
        Variable::new("rtt_min", "s", "Smallest round-trip time of the round; 0 before a sample."),
        Variable::new("rtt_max", "s", "Largest round-trip time of the round; 0 before a sample."),
        Variable::new("snd_cwnd_cnt", "bytes", "Bytes acknowledged since the window last grew."),
    ],
    traits: Traits {
        response: Response::Reduces,
        needs_ecn: false,
        scales: true,
        l4s: false,
        own_start: Some("has a Hybrid Slow Start of its own, which `hystart_detect` sets"),
    },
    ns2: None,
    recovery: None,
    source: include_str!("cdg.rs"),
    build,
};

fn build(params: &Params) -> Box<dyn CongestionControl> {
    let whole = |name| params.number(&ROW, name) as u64;
    let hystart = params.choice(&ROW, "hystart_detect");
    let settings = Settings {
        beta: whole("backoff_beta"),
        factor: whole("backoff_factor"),
        ineffective: whole("use_ineff"),
        shadow: params.switch(&ROW, "use_shadow"),
        tolerance: params.switch(&ROW, "use_tolerance"),
    };
    let train = matches!(hystart, "both" | "ack_train");
    Box::new(Cdg {
        settings,
        random: Stream::new(params.seed(), 0, "cc/cdg", "backoff"),
        gradients: Gradients::new(whole("window") as usize),
        start: HybridStart::new(train, matches!(hystart, "both" | "delay")),
        counter: ByteCounter::default(),
        rtt: MinMax::default(),
        before: MinMax::default(),
        round_end: 0,
        state: State::Unknown,
        shadow: 0,
        ineffective: 0,
        delayed_acks: 0,
        reduction: None,
        timed_out: false,
        gradient: 0,
        backoffs: 0,
    })
}

#[derive(Clone, Copy, Debug)]
struct Settings {
    beta: u64,
    factor: u64,
    ineffective: u64,
    shadow: bool,
    tolerance: bool,
}

/// What CDG knows of the queue (`enum cdg_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Unknown = 0,
    NonFull = 1,
    Full = 2,
    Backoff = 3,
}

/// CDG by Linux 6.1; see the module's page.
#[derive(Clone, Debug)]
pub struct Cdg {
    settings: Settings,
    random: Stream,
    gradients: Gradients,
    start: HybridStart,
    counter: ByteCounter,
    rtt: MinMax,
    before: MinMax,
    round_end: u64,
    state: State,
    shadow: u64,
    ineffective: u64,
    delayed_acks: u32,
    reduction: Option<Reduction>,
    /// Whether the recovery under way began with a timeout, which ends without the kernel's COMPLETE_CWR.
    timed_out: bool,
    /// The last gradient, in microseconds.
    gradient: i64,
    backoffs: u64,
}

impl Cdg {
    /// Ends the round: the gradient, or zero without a round before (`tcp_cdg_grad`).
    fn end_round(&mut self, path: &Path) {
        self.gradient = 0;
        if !self.before.is_empty() {
            let Trend { gradient, sum } = self.gradients.add(self.before, self.rtt);
            self.gradient = gradient;
            if sum.min <= EFFECTIVE || sum.max <= EFFECTIVE {
                self.ineffective = 0;
            }
            if self.settings.tolerance {
                let (min, max) = (in_64ths(sum.min), in_64ths(sum.max));
                if min > 0 && max <= 0 {
                    self.state = State::Full;
                } else if (min > 0 && max > 0) || max < 0 {
                    self.state = State::NonFull;
                }
            }
        }
        self.begin_round(path);
        self.start.begin_round();
    }

    fn begin_round(&mut self, path: &Path) {
        self.round_end = path.snd_nxt;
        self.before = self.rtt;
        self.rtt = MinMax::default();
    }

    /// Whether a positive gradient makes the flow back off (`tcp_cdg_backoff`).
    fn backs_off(&mut self) -> bool {
        let Ok(gradient) = u64::try_from(self.gradient) else { return false };
        if gradient == 0 {
            return false;
        }
        let exponent = u32::try_from(gradient.saturating_mul(self.settings.factor)).unwrap_or(u32::MAX);
        if (self.random.next_u64() >> 32) as u32 <= negative_exponential(exponent) {
            return false;
        }
        if self.settings.ineffective > 0 {
            self.ineffective = self.ineffective.saturating_add(1);
            return self.ineffective <= self.settings.ineffective;
        }
        true
    }

    /// Begins a reduction to `backoff_beta` of the window.
    fn back_off(&mut self, path: &Path, win: &mut Window) {
        self.shadow = self.shadow.max(growth::whole_segments(win.cwnd, path));
        self.state = State::Backoff;
        self.backoffs += 1;
        self.counter.reset();
        let to = self.threshold(path, win).min(win.cwnd);
        win.ssthresh = Some(to.max(path.smss * 2));
        self.reduction = Some(Reduction { end: path.snd_nxt, delivered: path.delivered, from: win.cwnd, to });
    }

    /// The threshold after a backoff, a loss or an ECN echo (`tcp_cdg_ssthresh`).
    fn threshold(&mut self, path: &Path, win: &Window) -> Bytes {
        let cwnd = growth::whole_segments(win.cwnd, path);
        let segments = match self.state {
            State::Backoff => cwnd.saturating_mul(self.settings.beta) >> 10,
            State::NonFull if self.settings.tolerance => cwnd,
            _ => {
                self.shadow = (self.shadow / 2).min(cwnd);
                if self.settings.shadow { self.shadow.max(cwnd / 2) } else { cwnd / 2 }
            }
        };
        path.smss * segments.max(2)
    }

    /// The kernel's COMPLETE_CWR: the reduction has ended, and gradients across it are ignored.
    fn complete(&mut self, path: &Path) {
        self.state = State::Unknown;
        self.begin_round(path);
    }

    /// Moves cwnd during a reduction. Returns whether it goes on.
    fn reducing(&mut self, path: &Path, win: &mut Window) -> bool {
        let Some(reduction) = self.reduction else { return false };
        if path.snd_una <= reduction.end {
            win.cwnd = win.cwnd.min(reduction.cwnd(path));
            return true;
        }
        win.cwnd = win.cwnd.min(reduction.to);
        self.reduction = None;
        self.complete(path);
        false
    }
}

impl CongestionControl for Cdg {
    fn needs(&self) -> Needs {
        Needs { acks: true, ..Needs::default() }
    }

    fn on_start(&mut self, path: &Path, win: &mut Window) {
        self.round_end = path.snd_nxt;
        self.shadow = growth::whole_segments(win.cwnd, path);
    }

    /// The kernel's `pkts_acked`: takes samples, except those that a delayed ACK made longer (D. Hayes, CAIA TR
    /// 100219A, 2010).
    fn observe(&mut self, ack: &Ack, path: &Path) {
        let Some(rtt) = ack.rtt.filter(|rtt| rtt.as_micros() > 0) else { return };
        let rtt = i64::from(i32::try_from(rtt.as_micros()).unwrap_or(i32::MAX));
        if path.inflight >= path.flightsize {
            let segments = ack.acked.as_u64().div_ceil(path.smss.as_u64().max(1));
            if segments == 1 && self.delayed_acks > 0 {
                self.rtt.min = self.rtt.min.min(rtt);
                self.delayed_acks -= 1;
                return;
            }
            if segments > 1 && self.delayed_acks < DELAYED_ACKS {
                self.delayed_acks += 1;
            }
        }
        self.rtt.sample(rtt);
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        if self.reducing(path, win) || ack.acked.is_zero() {
            return;
        }
        if win.is_below_ssthresh(false) {
            self.start.observe(self.rtt.min, path, win);
        }
        if path.snd_una > self.round_end && !self.rtt.is_empty() {
            self.end_round(path);
            if self.backs_off() {
                self.back_off(path, win);
                return;
            }
        }
        let before = growth::whole_segments(win.cwnd, path);
        if growth::may_grow(path) {
            growth::linux_reno(&mut self.counter, ack.delivered, path, win);
            let added = growth::whole_segments(win.cwnd, path).saturating_sub(before);
            self.shadow = self.shadow.saturating_add(added);
        } else {
            self.shadow = self.shadow.min(before);
        }
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        self.timed_out = matches!(event, Congestion::Timeout { .. });
        self.counter.reset();
        // In the state CWR the kernel has reduced already; recovery or a timeout takes its threshold.
        if let Some(reduction) = self.reduction.take() {
            growth::answer(event, path, win, |_| reduction.to.max(path.smss * 2));
            return;
        }
        let threshold = match event {
            Congestion::Timeout { repeated: true } => Bytes::ZERO,
            _ => self.threshold(path, win),
        };
        growth::answer(event, path, win, |_| threshold);
    }

    fn on_recovered(&mut self, path: &Path, _win: &mut Window) {
        if !self.timed_out {
            self.complete(path);
        }
    }

    fn on_sent(&mut self, sent: &Sent, path: &Path, win: &mut Window) {
        if sent.idle > path.rto {
            // The kernel's CWND_RESTART.
            self.gradients.clear();
            self.start.clear();
            (self.rtt, self.before) = (MinMax::default(), MinMax::default());
            (self.state, self.ineffective, self.delayed_acks) = (State::Unknown, 0, 0);
            self.reduction = None;
            self.gradient = 0;
            self.round_end = path.snd_nxt;
            self.shadow = growth::whole_segments(win.cwnd, path);
        }
    }

    fn on_window_set(&mut self, path: &Path, win: &Window) {
        self.reduction = None;
        self.shadow = self.shadow.min(growth::whole_segments(win.cwnd, path));
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("state", f64::from(self.state as u8));
        visit("gradient", self.gradient as f64 / 1e6);
        visit("shadow_wnd", self.shadow as f64);
        visit("backoffs", self.backoffs as f64);
        visit("backoff_cnt", self.ineffective as f64);
        visit("rtt_min", self.rtt.min as f64 / 1e6);
        visit("rtt_max", self.rtt.max as f64 / 1e6);
        visit("snd_cwnd_cnt", self.counter.counted().as_f64());
    }
}
