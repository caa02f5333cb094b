//! PCC Vivace: the sender tries rates, measures a utility for each, and climbs its gradient.
//!
//! # Idea
//! The sender cuts time into monitor intervals of about one round-trip time, each with one sending rate. ACKs tell what
//! an interval achieved: its rate, its loss rate and the slope of its round-trip times. A utility function makes one
//! number of the three. Tests at rates a little above and below the present rate give the gradient of the utility, and
//! the rate moves by it: further when decisions agree, within a bound that widens with each step that reaches it. No
//! single loss and no single delay is a sign of congestion; only the utility counts.
//!
//! # Sources
//! M. Dong, T. Meng, D. Zarchy, E. Arslan, Y. Gilad, P. B. Godfrey, M. Schapira, "PCC Vivace: Online-Learning
//! Congestion Control", NSDI 2018; for `profile = "uspace"` the authors' github.com/PCCproject/PCC-Uspace (master,
//! `pcc_vivace_sender.cpp`, `pcc_utility_manager.cpp`); for the window github.com/PCCproject/PCC-Kernel (branch
//! vivace).
//!
//! # State
//! | symbol | field | unit |
//! |---|---|---|
//! | r, the rate that tests are made around | `rate` | rate |
//! | monitor intervals of the present test | `trial` | - |
//! | u(x) = x^t - b x d(RTT)/dT - c x L | `utility` | -, with x in Mb/s |
//! | t, b, c | `settings.utility` | - |
//! | epsilon, the test's step | `settings.epsilon` | share of r |
//! | theta0, step for a gradient of 1 | `settings.theta` | Mb/s |
//! | tau, decisions in the same direction | `control.rounds` | decisions |
//! | k, steps in a row that reached the bound | `control.k` | - |
//! | omega = omega0 + k delta, the change boundary | `control.boundary()` | share of r |
//!
//! ```text
//!   Starting -- utility fell: r / 2 --> Probing -- pairs agree: first step --> Moving -- gradient reversed --> Probing
//!      |  ^                              |  ^                                |  ^
//!      +--+ utility rose: 2 r            +--+ pairs disagree: r stays        +--+ a step by its interval's gradient
//! ```
//!
//! # Differences
//! | question | paper | PCC-Uspace (default) | parameter |
//! |---|---|---|---|
//! | pairs of intervals in a test | 2, which must agree | 3: 2 for up, all for down | `profile` |
//! | after a decision | the next test | the step's own interval gives the next gradient (Moving) | `profile` |
//! | confidence amplifier | tau up to 3, then 2 tau - 3 | floor((tau + 1) / 2)^1.2 | `profile` |
//! | delta, growth of the change boundary | 0.1 | 0.05 | `profile` |
//! | least step | - | 500 kb/s | `profile` |
//! | least rate | two segments per round-trip time | 500 kb/s | `min_rate` |
//! | falling round-trip times | add to the utility | count as level | `profile` |
//! | slopes that count as level | below 0.01 | below the regression's error, unless means rise | `profile` |
//! | latency term | Vivace-Latency: b = 900; Vivace-Loss: b = 0 | b = 900 | `variant` |
//!
//! The authors' code counts 2^20 bits as a megabit where it turns a gradient into a step, which makes steps 10 %
//! longer; here a megabit has 10^6 bits everywhere. It computes the regression's error with the slope in another
//! unit than the samples, so that the error is nearly their standard deviation; here it is the residual's. It also
//! leaves out samples of bunched ACKs, which QUIC's acknowledgment of each packet lets it see; TCP's delayed ACKs do
//! not. The paper's second measurement of results that contradict each other is the agreement of pairs here, as in
//! the authors' code. PCC Allegro's utility is not offered: Allegro has its own rate control (steps of 1 % to 5 %
//! without a gradient), and its utility on Vivace's steps is neither of the two.
//!
//! # Limits
//! * ECN marks do not enter the utility. The paper knows none; a flow that negotiated ECN does not respond to marks.
//! * An interval begins and ends at an ACK, at the moment at which pacing lets the next segment leave. It ends after
//!   the smallest round-trip time and four samples, so a test takes longer when ACKs are few.
//! * A lost retransmission counts in the interval that is being acknowledged, since only offsets tell segments apart.
//! * An interval in which the application limited the sender is dropped with its test, and the rate stays.
//! * The window is a cap: twice the rate times srtt, at least four segments (PCC-Kernel). It grows by what is
//!   delivered.
//! * A timeout halves the rate and begins a test; an undo restores the rate. The paper leaves this open; the authors'
//!   code of 2018 halves when an interval's ACKs do not come.
//! * With `profile = "uspace"`, slower paths than 500 kb/s are overloaded for good. `min_rate` lowers that.
//! * A fall of the capacity is answered when the ACKs of an interval have arrived, which the queue delays: on the
//!   scenario `cellular`, whose rate follows a trace, the flow loses a third of its packets.
//!
//! # Vectors
//! `vivace_utility_of_the_paper`, `vivace_latency_filters`, `vivace_rising_means_override_the_filter`,
//! `vivace_slope_of_samples`, `vivace_confidence_amplifier`, `vivace_change_boundary_widens_and_shrinks`,
//! `vivace_first_step_by_the_mean_gradient`, `vivace_two_of_three_pairs_raise_and_all_lower`,
//! `vivace_moving_reverses_by_the_gradient`, `vivace_starting_doubles_until_utility_falls`,
//! `vivace_window_is_twice_the_product`, `vivace_app_limited_intervals_are_dropped`, `vivace_timeout_halves_and_undo`,
//! `vivace_fills_a_bottleneck_without_a_standing_queue`, `vivace_ignores_random_loss_below_five_percent`.

mod control;
mod interval;
mod utility;

use crate::row::{Param, ParamKind, Params, Response, Row, Traits};
use crate::{Ack, Congestion, CongestionControl, LostSegment, Needs, Path, Phase, Sent, Window};
use control::{Control, Mode, Step};
use interval::{Interval, Mark};
use narrows_rng::Stream;
use narrows_units::{Bytes, Duration, Instant, Rate, Variable};
use utility::{Trend, Utility};

/// The registry's row.
pub(crate) const ROW: Row = Row {
    name: "vivace",
    title: "PCC Vivace",
    sources: &["Dong et al., NSDI 2018", "github.com/PCCproject/PCC-Uspace (profile uspace)"],
    params: &[
        Param {
            name: "profile",
            doc: "Rules of tests, steps and noise filters: uspace as the authors' code, paper as published.",
            kind: ParamKind::Choice { default: "uspace", allowed: &["uspace", "paper"] },
        },
        Param {
            name: "variant",
            doc: "Whether the slope of round-trip times is in the utility: latency (Vivace-Latency) or loss (Vivace-Loss, b = 0).",
            kind: ParamKind::Choice { default: "latency", allowed: &["latency", "loss"] },
        },
        Param {
            name: "exponent",
            doc: "t, the exponent of the rate in the utility (paper, section 3).",
            kind: ParamKind::Number { unit: "", default: 0.9, min: 0.1, max: 1.0 },
        },
        Param {
            name: "latency",
            doc: "b, the weight of the slope of round-trip times (variant latency only).",
            kind: ParamKind::Number { unit: "", default: 900.0, min: 0.0, max: 1e6 },
        },
        Param {
            name: "loss",
            doc: "c, the weight of the loss rate; 11.35 tolerates random loss of up to 5 %.",
            kind: ParamKind::Number { unit: "", default: 11.35, min: 0.0, max: 1e6 },
        },
        Param {
            name: "epsilon",
            doc: "epsilon, how far a test's rates are from the present rate, as a share of it.",
            kind: ParamKind::Number { unit: "", default: 0.05, min: 0.001, max: 0.5 },
        },
        Param {
            name: "theta",
            doc: "theta0, the step for a gradient of 1.",
            kind: ParamKind::Number { unit: "Mb/s", default: 1.0, min: 0.001, max: 1000.0 },
        },
        Param {
            name: "min_rate",
            doc: "Smallest rate; 0 is the profile's: 500 kb/s with uspace, two segments per round-trip time with paper.",
            kind: ParamKind::Number { unit: "kb/s", default: 0.0, min: 0.0, max: 1e6 },
        },
    ],
    variables: &[
        Variable::state("phase", "State: 0 Starting, 1 Probing, 2 Moving.", &["Starting", "Probing", "Moving"]),
        Variable::new("rate_bps", "bit/s", "r, the rate that tests are made around."),
        Variable::new("utility", "", "Utility of the last interval that was judged; 0 before the first."),
        Variable::new("rtt_gradient", "", "Slope of the round-trip times in that interval, after the filters."),
        Variable::new("loss_rate", "", "Share of that interval's bytes that were lost."),
        Variable::new("tau", "rounds", "tau, decisions in the same direction; rounds of tests without one in Probing."),
        Variable::new("boundary", "", "omega, the largest step as a share of the rate."),
    ],
    traits: Traits {
        response: Response::Models,
        needs_ecn: false,
        scales: false,
        l4s: false,
        own_start: Some("doubles its rate by utility in place of slow start"),
    },
    ns2: None,
    recovery: None,
    source: include_str!("vivace.rs"),
    build,
};

/// Segments in the smallest window (`pcc_set_cwnd` of PCC-Kernel).
const MIN_WINDOW: u64 = 4;
/// Round-trip time samples that an interval needs (`kMinReliableRtt`).
const MIN_SAMPLES: u32 = 4;
/// Round-trip time assumed until one is known (`kInitialRtt`).
const INITIAL_RTT: Duration = Duration::from_millis(100);
/// The smallest rate of `profile = "uspace"` (`kMinSendingRate`).
const USPACE_MIN_RATE: Rate = Rate::kbps(500);

fn build(params: &Params) -> Box<dyn CongestionControl> {
    let number = |name| params.number(&ROW, name);
    let uspace = params.choice(&ROW, "profile") == "uspace";
    let latency = if params.choice(&ROW, "variant") == "loss" { 0.0 } else { number("latency") };
    let utility = Utility { exponent: number("exponent"), latency, loss: number("loss"), uspace };
    let min_rate = match Rate::bps((number("min_rate") * 1000.0) as u64) {
        rate if !rate.is_zero() => Some(rate),
        _ => uspace.then_some(USPACE_MIN_RATE),
    };
    let settings = Settings { utility, epsilon: number("epsilon"), min_rate };
    Box::new(Vivace {
        settings,
        random: Stream::new(params.seed(), 0, "cc/vivace", "order"),
        control: Control::new(if uspace { control::USPACE } else { control::PAPER }, number("theta")),
        trend: Trend::default(),
        rate: Rate::ZERO,
        before_timeout: None,
        seen_rtt: false,
        trial: Vec::new(),
        rising_first: false,
        judged: Judged::default(),
    })
}

#[derive(Clone, Copy, Debug)]
struct Settings {
    utility: Utility,
    epsilon: f64,
    /// `None` is two segments per round-trip time.
    min_rate: Option<Rate>,
}

/// What the last judged interval showed.
#[derive(Clone, Copy, Debug, Default)]
struct Judged {
    utility: f64,
    gradient: f64,
    loss_rate: f64,
}

/// PCC Vivace; see the module's page.
#[derive(Clone, Debug)]
pub struct Vivace {
    settings: Settings,
    random: Stream,
    control: Control,
    trend: Trend,
    /// r.
    rate: Rate,
    /// r before the last timeout.
    before_timeout: Option<Rate>,
    seen_rtt: bool,
    /// The intervals of the present test; the last may still be open.
    trial: Vec<Interval>,
    /// Whether the present pair began with the higher rate.
    rising_first: bool,
    judged: Judged,
}

impl Vivace {
    /// The smallest rate.
    fn least(&self, path: &Path) -> Rate {
        let rtt = path.srtt.unwrap_or(INITIAL_RTT).max(Duration::from_micros(1));
        self.settings.min_rate.unwrap_or_else(|| Rate::of(path.smss * 2, rtt)).max(Rate::bps(1))
    }

    /// The initial window in a round-trip time.
    fn init_rate(&mut self, path: &Path) {
        self.seen_rtt = path.srtt.is_some();
        let rtt = path.srtt.unwrap_or(INITIAL_RTT).max(Duration::from_micros(1));
        self.rate = Rate::of(path.initial_window, rtt).max(self.least(path));
    }

    /// Intervals that a test takes.
    fn wanted(&self) -> usize {
        if self.control.mode == Mode::Probing { 2 * self.control.rules.pairs } else { 1 }
    }

    /// The rate that the sender has now: that of the open interval, or r while results are awaited.
    fn sending_rate(&self) -> Rate {
        match self.trial.last() {
            Some(interval) if interval.is_open() => interval.rate,
            _ => self.rate,
        }
    }

    /// Opens the next interval of the test.
    fn open(&mut self, mark: Mark) {
        let rate = if self.control.mode == Mode::Probing {
            let second = self.trial.len() % 2 == 1;
            if !second {
                self.rising_first = self.random.chance(0.5);
            }
            let up = self.rising_first != second;
            self.rate.mul_f64(if up { 1.0 + self.settings.epsilon } else { 1.0 - self.settings.epsilon })
        } else {
            self.rate
        };
        self.trial.push(Interval::new(rate, mark));
    }

    /// Puts the ACK's sample where it belongs, closes the open interval when it is long enough, and opens the next.
    fn advance(&mut self, ack: &Ack, path: &Path) {
        let mark = Mark::of(path);
        if let Some(rtt) = ack.rtt {
            let sent = Instant::from_nanos(path.now.as_nanos().saturating_sub(rtt.as_nanos()));
            let limited = ack.rate.is_some_and(|sample| sample.app_limited);
            for interval in &mut self.trial {
                interval.sample(sent, rtt, limited);
            }
        }
        if let Some(open) = self.trial.last_mut().filter(|interval| interval.is_open()) {
            let long = mark.at.since(open.begin.at) >= path.min_rtt.unwrap_or(INITIAL_RTT);
            if long && open.samples() >= MIN_SAMPLES {
                open.close(mark);
            }
        }
    }

    /// Whether all results of the test are there: every interval is closed, what followed the last is acknowledged,
    /// and no hole in the sequence space is still undecided.
    fn results_are_in(&self, ack: &Ack, path: &Path) -> bool {
        self.trial.len() == self.wanted()
            && self.trial.last().and_then(|last| last.end).is_some_and(|end| {
                let sent = ack.rtt.map(|rtt| path.now.as_nanos().saturating_sub(rtt.as_nanos()));
                let later = sent.is_some_and(|sent| sent >= end.at.as_nanos()) && path.phase != Phase::Disorder;
                later || path.snd_una >= end.snd_nxt
            })
    }

    /// Judges the test and moves the rate.
    fn decide(&mut self, path: &Path) {
        let trial = core::mem::take(&mut self.trial);
        if trial.iter().any(|interval| interval.limited || interval.sent().is_zero()) {
            return;
        }
        let starting = self.control.mode == Mode::Starting;
        let mut outcomes = Vec::with_capacity(trial.len());
        for interval in &trial {
            let rising = self.trend.rises(interval);
            let gradient = self.settings.utility.gradient(interval, rising, starting);
            let loss_rate = interval.loss_rate();
            let utility = self.settings.utility.of(interval.actual_mbps(), gradient, loss_rate);
            self.judged = Judged { utility, gradient, loss_rate };
            outcomes.push(Step { mbps: mbps(interval.rate), utility });
        }
        let least = self.least(path);
        self.rate = rate(self.control.decide(&outcomes, mbps(self.rate), mbps(least))).max(least);
    }

    /// Forgets the present test.
    fn drop_test(&mut self) {
        self.trial.clear();
    }

    fn set_window(&self, ack: &Ack, path: &Path, win: &mut Window) {
        let rate = self.sending_rate();
        win.pacing_rate = Some(rate);
        let cap = rate.bytes_in(path.srtt.unwrap_or(INITIAL_RTT)) * 2;
        win.cwnd = (win.cwnd + ack.delivered).min(cap).max(path.smss * MIN_WINDOW);
    }
}

/// `rate` in Mb/s, the unit of the paper's x.
fn mbps(rate: Rate) -> f64 {
    rate.as_bps() as f64 / 1e6
}

/// A rate of `mbps` Mb/s.
fn rate(mbps: f64) -> Rate {
    Rate::bps((mbps * 1e6) as u64)
}

impl CongestionControl for Vivace {
    fn needs(&self) -> Needs {
        Needs { rates: true, losses: true, window_in_recovery: true, ..Needs::default() }
    }

    fn on_start(&mut self, path: &Path, win: &mut Window) {
        self.init_rate(path);
        win.pacing_rate = Some(self.rate);
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        if !self.seen_rtt && path.srtt.is_some() {
            self.init_rate(path);
        }
        self.advance(ack, path);
        if self.results_are_in(ack, path) {
            self.decide(path);
        }
        let closed = self.trial.last().is_none_or(|interval| !interval.is_open());
        if closed && self.trial.len() < self.wanted() {
            self.open(Mark::of(path));
        }
        self.set_window(ack, path, win);
    }

    fn on_lost(&mut self, lost: &LostSegment, _path: &Path, _win: &mut Window) {
        let own = self.trial.iter().position(|interval| interval.contains(lost.start));
        // An older offset can be a retransmission: it counts where ACKs arrive now.
        let now = || self.trial.iter().position(|i| i.samples() >= MIN_SAMPLES && lost.start < i.begin.snd_nxt);
        if let Some(interval) = own.or_else(now).and_then(|at| self.trial.get_mut(at)) {
            interval.lost += lost.bytes;
        }
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        if matches!(event, Congestion::Timeout { .. }) {
            self.before_timeout.get_or_insert(self.rate);
            self.drop_test();
            self.control.restart_test();
            self.rate = self.rate.mul_f64(0.5).max(self.least(path));
            win.pacing_rate = Some(self.rate);
            win.cwnd = path.smss;
        }
    }

    fn on_undo(&mut self, _path: &Path, win: &mut Window) {
        if let Some(before) = self.before_timeout.take() {
            self.rate = self.rate.max(before);
            win.pacing_rate = Some(self.sending_rate());
        }
    }

    fn on_recovered(&mut self, _path: &Path, _win: &mut Window) {
        self.before_timeout = None;
    }

    fn on_sent(&mut self, sent: &Sent, _path: &Path, _win: &mut Window) {
        if !sent.idle.is_zero() {
            self.drop_test();
        }
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("phase", f64::from(self.control.mode as u8));
        visit("rate_bps", self.rate.as_bps() as f64);
        visit("utility", self.judged.utility);
        visit("rtt_gradient", self.judged.gradient);
        visit("loss_rate", self.judged.loss_rate);
        visit("tau", f64::from(self.control.rounds));
        visit("boundary", self.control.boundary());
    }
}

/// Bytes sent so far, retransmissions included: each is delivered, lost or in the network.
fn transmitted(path: &Path) -> Bytes {
    path.delivered + path.lost + path.inflight
}
