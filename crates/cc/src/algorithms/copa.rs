//! Copa: moves cwnd towards the rate 1/(delta dq), which leaves about 1/delta packets in the queue.
//!
//! # Idea
//! The target rate is inversely proportional to the measured queueing delay dq. Flows that follow it share a queue with
//! equal rates, and each keeps about 1/delta packets there. cwnd moves up or down by `v/delta` packets per round-trip
//! time, and the velocity v doubles while the direction stays the same. The queue therefore swings, and is empty every
//! five round-trip times if all flows are Copa's. If it is never empty, something else fills it. Copa then becomes
//! competitive: it lets 1/delta grow and fall with losses, as Reno's window does.
//!
//! # Sources
//! V. Arun, H. Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI 2018, sections 2
//! and 3; the authors' genericCC and Meta's mvfst for what the paper leaves open.
//!
//! # State
//! | symbol | field | unit |
//! |---|---|---|
//! | cwnd | `window`: with its fraction | bytes |
//! | RTTmin: smallest of 10 s | `min_rtt` | time |
//! | RTTstanding: smallest of srtt/2 | `standing` | time |
//! | RTTmax: largest of 4 round-trip times | `max_rtt` | time |
//! | dq = RTTstanding - RTTmin | `delay` | time |
//! | 1/delta | `inverse` | packets |
//! | v, direction | `velocity` | - |
//! | mode | `competes` | - |
//!
//! ```text
//!                  rate above the target               queue not nearly empty for 5 round-trip times
//!   slow start ------------------------> default mode <---------------------------> competitive mode
//!       ^                               delta = 0.5     nearly empty once        1/delta: +1 a round, 1/2 a loss
//!       +---- timeout
//! ```
//!
//! # Differences
//! | question | paper | genericCC | mvfst | here, parameter |
//! |---|---|---|---|---|
//! | delta of the default mode | 0.5 | given | 0.05 | `delta` |
//! | queueing delay | RTTstanding - RTTmin | as the paper | latest RTT - RTTmin, or as the paper | `queue_delay` |
//! | competitive mode | yes | optional | no | `competitive` |
//! | nearly empty | dq < 0.1 (RTTmax - RTTmin) in 5 RTT | in 4 RTT | - | paper; dq = 0 is empty too |
//! | 1/delta after a loss | AIMD | half, once a round | - | half, once a recovery |
//! | direction, once a round | cwnd now and a round ago | ACKs up and down | as the paper | paper |
//! | v doubles after a direction of | 3 round-trip times | 2 | 3, in the 4th round | 3, in the 4th round |
//! | a step against the direction while v > 1 | - | - | v = 1 | v = 1 |
//! | most that an ACK adds | v/(delta cwnd) | 1 packet | v/(delta cwnd) | what it acknowledges |
//! | loss in the default mode | ignored | 0.7 cwnd above 30 % loss | ignored | ignored |
//! | timeout | - | - | smallest cwnd, if persistent | 2 packets, slow start |
//! | window of RTTmin | 10 s | 10 s, or 20 RTT | 10 s | 10 s |
//!
//! `{ delta = 0.05, competitive = false, queue_delay = "latest" }` is mvfst's Copa. There is no Copa in Linux, ns-2 or
//! ns-3.
//!
//! # Limits
//! * A packet is a full segment (SMSS), and cwnd is at least two.
//! * cwnd grows only while it limits the sender. The paper does not say; otherwise an application that pauses would
//!   find any window it likes.
//! * An ECN echo counts as a loss, so only the competitive mode responds to it.
//! * Smallest and largest values come from the best three samples of their windows, as in mvfst and Linux. A second
//!   best that came within a quarter of the window of the best is not kept.
//! * Segments are paced at 2 cwnd/RTTstanding. Losses are repaired without a change of cwnd.
//! * The default mode takes 2.5 round-trip times of each direction in equilibrium, which touch three rounds. v
//!   therefore doubles in the fourth.
//! * A drain after slow start takes longer than five round-trip times, so several Copa flows take each other for
//!   competitors and can stay in the competitive mode: two on 12 Mb/s and 40 ms keep 39 packets in the queue where the
//!   default mode alone keeps 5. `competitive = false` prevents it.
//! * A path that has become longer is a queue for 10 s, in which the flow is slow in the default mode.
//!
//! # Vectors
//! `copa_target_rates`, `copa_moves_one_packet_of_delta_per_round`, `copa_velocity_doubles_after_three_rounds`,
//! `copa_turns_reset_the_velocity`, `copa_slow_start_ends_above_the_target`, `copa_paces_at_twice_its_rate`,
//! `copa_standing_rtt_ignores_jitter`, `copa_min_rtt_is_forgotten_after_ten_seconds`,
//! `copa_competes_if_the_queue_is_never_empty`, `copa_competitive_delta_is_aimd`, `copa_default_mode_ignores_losses`,
//! `copa_a_timeout_starts_again`, `copa_grows_only_if_limited`, `copa_an_ack_adds_at_most_what_it_acknowledges`,
//! `copa_extremes_slide`.

pub mod extreme;
mod velocity;

use crate::growth;
use crate::row::{Param, ParamKind, Params, Response, Row, Traits};
use crate::{Ack, Congestion, CongestionControl, Needs, Path, Window};
use core::cmp::Reverse;
use extreme::Smallest;
use narrows_units::{Bytes, Duration, Instant, Rate, Variable};
use velocity::{Direction, Velocity};

/// Smallest window, in packets.
const LEAST: u64 = 2;
/// Window of RTTmin.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
/// RTTmax is the largest of this many round-trip times.
const MAX_RTT_ROUNDS: u64 = 4;
/// Round-trip times without a nearly empty queue after which the flow competes.
const EMPTY_ROUNDS: u64 = 5;
/// A queue is nearly empty below one part in this many of the swing of the round-trip time.
const EMPTY_SHARE: u64 = 10;

/// The registry's row.
pub(crate) const ROW: Row = Row {
    name: "copa",
    title: "Copa",
    sources: &["Arun, Balakrishnan 2018", "genericCC", "mvfst"],
    params: &[
        Param {
            name: "delta",
            doc: "delta of the default mode: the flow keeps about 1/delta packets in the queue (the paper 0.5, mvfst 0.05).",
            kind: ParamKind::Number { unit: "", default: 0.5, min: 0.001, max: 10.0 },
        },
        Param {
            name: "competitive",
            doc: "Whether it switches to the competitive mode beside flows that fill the queue (mvfst has none).",
            kind: ParamKind::Switch { default: true },
        },
        Param {
            name: "queue_delay",
            doc: "RTT whose excess over RTTmin is the queueing delay: standing (RTTstanding, the paper) or latest (mvfst).",
            kind: ParamKind::Choice { default: "standing", allowed: &["standing", "latest"] },
        },
    ],
    variables: &[
        Variable::state("mode", "Mode: 0 default, 1 competitive.", &["default", "competitive"]),
        Variable::new("delta", "", "delta, the inverse of the packets that the flow wants in the queue."),
        Variable::new("velocity", "", "v, the factor of the steps of cwnd."),
        Variable::state(
            "direction",
            "Where cwnd went in the last round: 0 no round yet, 1 up, 2 down.",
            &["none", "up", "down"],
        ),
        Variable::new("queue_delay", "s", "dq, the queueing delay; 0 before a sample."),
        Variable::new("min_rtt", "s", "RTTmin, the smallest round-trip time of 10 s; 0 before a sample."),
        Variable::new("standing_rtt", "s", "RTTstanding, the smallest round-trip time of srtt/2; 0 before a sample."),
        Variable::new("slow_start", "", "1 until the rate first exceeds the target, and after a timeout; else 0."),
    ],
    traits: Traits {
        response: Response::Models,
        needs_ecn: false,
        scales: false,
        l4s: false,
        own_start: Some("has a slow start of its own, which ends when its rate exceeds the target"),
    },
    ns2: None,
    recovery: None,
    source: include_str!("copa.rs"),
    build,
};

fn build(params: &Params) -> Box<dyn CongestionControl> {
    let inverse = 1.0 / params.number(&ROW, "delta");
    Box::new(Copa {
        default_inverse: inverse,
        competitive: params.switch(&ROW, "competitive"),
        latest: params.choice(&ROW, "queue_delay") == "latest",
        inverse,
        competes: false,
        window: 0.0,
        written: Bytes::ZERO,
        slow_start: true,
        min_rtt: Smallest::default(),
        standing: Smallest::default(),
        max_rtt: Smallest::default(),
        delay: Duration::ZERO,
        velocity: Velocity::default(),
        round_end: 0,
        lost: false,
        emptied: Instant::ZERO,
    })
}

/// Copa; see the module's page.
#[derive(Clone, Debug)]
pub struct Copa {
    /// 1/delta of the default mode.
    default_inverse: f64,
    /// Whether the competitive mode is allowed.
    competitive: bool,
    /// Whether dq is that of the latest sample.
    latest: bool,
    inverse: f64,
    competes: bool,
    /// cwnd with its fraction, in bytes.
    window: f64,
    /// cwnd as written last; another value was set by something else.
    written: Bytes,
    slow_start: bool,
    min_rtt: Smallest<Duration>,
    standing: Smallest<Duration>,
    max_rtt: Smallest<Reverse<Duration>>,
    delay: Duration,
    velocity: Velocity,
    round_end: u64,
    /// Whether something was lost in the present round.
    lost: bool,
    /// When the queue was nearly empty last.
    emptied: Instant,
}

impl Copa {
    /// Takes a sample into the three windows and into dq.
    fn sample(&mut self, rtt: Duration, path: &Path) {
        let srtt = path.srtt.unwrap_or(rtt);
        let min = self.min_rtt.update(path.now, rtt, MIN_RTT_WINDOW);
        let standing = self.standing.update(path.now, rtt, srtt / 2);
        let Reverse(max) = self.max_rtt.update(path.now, Reverse(rtt), srtt * MAX_RTT_ROUNDS);
        let from = if self.latest { rtt } else { standing };
        self.delay = Duration::from_nanos(from.as_nanos().saturating_sub(min.as_nanos()));
        let swing = max.as_nanos().saturating_sub(min.as_nanos());
        if self.delay.is_zero() || self.delay.as_nanos() < swing / EMPTY_SHARE {
            self.emptied = path.now;
        }
        let competes = self.competitive && path.now.since(self.emptied) > srtt * EMPTY_ROUNDS;
        if self.competes && !competes {
            self.inverse = self.default_inverse;
        }
        self.competes = competes;
    }

    /// Whether the present rate, cwnd/RTTstanding, is at most the target rate, 1/(delta dq) packets per second.
    fn is_below_target(&self, path: &Path) -> bool {
        let standing = self.standing.get().unwrap_or(Duration::ZERO).as_nanos() as f64;
        self.window * self.delay.as_nanos() as f64 <= self.inverse * standing * path.smss.as_f64()
    }

    /// Moves cwnd on an ACK for `acked`.
    fn step(&mut self, acked: Bytes, path: &Path) {
        let up = self.is_below_target(path);
        let may_grow = growth::may_grow(path);
        if self.slow_start && up {
            if may_grow {
                self.window += acked.as_f64();
            }
            return;
        }
        self.slow_start = false;
        let direction = if up { Direction::Up } else { Direction::Down };
        self.velocity.toward(direction, self.window);
        let step = acked.as_f64() * path.smss.as_f64() * self.velocity.get() * self.inverse / self.window.max(1.0);
        let step = step.min(acked.as_f64());
        match direction {
            Direction::Up if may_grow => self.window += step,
            Direction::Down => self.window -= step,
            _ => {}
        }
    }

    /// Ends a round: the velocity follows the direction, and 1/delta grows in the competitive mode.
    fn end_round(&mut self, path: &Path) {
        self.round_end = path.snd_nxt;
        if !self.slow_start {
            self.velocity.end_round(self.window);
        }
        if self.competes && !self.lost {
            self.inverse += 1.0;
        }
        self.lost = false;
    }

    /// Takes over a cwnd that something else has set.
    fn adopt(&mut self, win: &Window) {
        if win.cwnd != self.written {
            (self.window, self.written) = (win.cwnd.as_f64(), win.cwnd);
        }
    }

    fn write(&mut self, path: &Path, win: &mut Window) {
        let least = path.smss * LEAST;
        self.window = self.window.max(least.as_f64());
        win.cwnd = Bytes::from_f64(self.window.floor()).max(least);
        self.written = win.cwnd;
        // The connection's own idea of slow start; Copa does not use it.
        win.ssthresh = if self.slow_start { None } else { Some(least) };
        if let Some(rtt) = self.standing.get().or(path.srtt).filter(|rtt| !rtt.is_zero()) {
            win.pacing_rate = Some(Rate::of(win.cwnd * 2, rtt).max(Rate::bps(1)));
        }
    }
}

impl CongestionControl for Copa {
    fn needs(&self) -> Needs {
        Needs { window_in_recovery: true, ..Needs::default() }
    }

    fn on_start(&mut self, path: &Path, win: &mut Window) {
        self.adopt(win);
        self.round_end = path.snd_nxt;
        self.emptied = path.now;
        self.write(path, win);
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        self.adopt(win);
        if let Some(rtt) = ack.rtt.filter(|rtt| !rtt.is_zero()) {
            self.sample(rtt, path);
        }
        if self.standing.get().is_some() && !ack.delivered.is_zero() {
            self.step(ack.delivered, path);
            if path.snd_una > self.round_end {
                self.end_round(path);
            }
        }
        self.write(path, win);
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        self.adopt(win);
        self.lost = true;
        if self.competes && !matches!(event, Congestion::Timeout { repeated: true }) {
            self.inverse = (self.inverse / 2.0).max(self.default_inverse);
        }
        if matches!(event, Congestion::Timeout { .. }) {
            self.window = (path.smss * LEAST).as_f64();
            (self.slow_start, self.velocity) = (true, Velocity::default());
            self.round_end = path.snd_nxt;
        }
        self.write(path, win);
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let seconds = |rtt: Option<Duration>| rtt.unwrap_or(Duration::ZERO).as_secs_f64();
        visit("mode", f64::from(u8::from(self.competes)));
        visit("delta", 1.0 / self.inverse);
        visit("velocity", self.velocity.get());
        visit("direction", self.velocity.direction().map_or(0.0, |direction| direction as u8 as f64));
        visit("queue_delay", self.delay.as_secs_f64());
        visit("min_rtt", seconds(self.min_rtt.get()));
        visit("standing_rtt", seconds(self.standing.get()));
        visit("slow_start", f64::from(u8::from(self.slow_start)));
    }
}
