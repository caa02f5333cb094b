//! C2TCP: CUBIC for cellular paths, with a bound on the delay that works like `CoDel` at the sender.
//!
//! # Idea
//! A cellular link has a deep queue of its own for each user, so CUBIC fills it and sees no loss. C2TCP watches the
//! round-trip times. At or below a setpoint the path is good, and the window grows faster than CUBIC's. Above it, C2TCP
//! waits for an interval: an overshoot that ends by itself is a change of the radio channel. If the delay stays, the
//! path is bad: the window restarts from one segment with CUBIC's new threshold, and again after shorter and shorter
//! times while it stays bad. The setpoint follows a target for the mean delay that the application asks for.
//!
//! # Sources
//! S. Abbasloo, Y. Xu, H. J. Chao, "C2TCP: A Flexible Cellular TCP to Meet Stringent Delay Requirements", IEEE JSAC
//! 37(4), 2019; the authors' github.com/Soheil-ab/c2tcp: the patch of `tcp_cubic.c` for Linux 4.13 (`c2tcp_pkts_acked`)
//! and `server-standalone.cc` (the target).
//!
//! # State
//! | symbol | field | unit |
//! |---|---|---|
//! | condition: good, detecting, bad | `condition` | - |
//! | Setpoint = Interval = alpha minRTT | `setpoint()` | time |
//! | alpha (`c2tcp_alpha`) | `alpha` | - |
//! | minRTT (`c2tcp_min_urtt`) | `min_rtt` | time |
//! | `next_time` | `next` | time |
//! | N (`cnt_rtt`) | `n` | cuts, counted from 1 |
//! | mean of a second (`c2tcp_avg_urtt`) | `sum`, `samples` | time |
//! | the share of `snd_cwnd_cnt` that is C2TCP's | `counted` | segments |
//!
//! ```text
//!   Good -- RTT above setpoint: wait an interval --> Detecting -- still above: cut --> Bad -- still above: cut --> Bad
//!     ^                                                 |                               |      (interval / sqrt(N))
//!     +------------- RTT at or below setpoint ----------+-------------------------------+
//! ```
//!
//! # Differences
//! | question | paper | authors' patch | here |
//! |---|---|---|---|
//! | base | any loss-based TCP | Linux 4.13's CUBIC | Linux's CUBIC (`profile = "linux"` of `cubic`) |
//! | times | - | whole milliseconds | nanoseconds |
//! | 1 / sqrt(N) | exact | one Newton step in 16 bits | exact |
//! | growth when good | Setpoint / RTT a round | floor(Setpoint / RTT), CUBIC's counter | own counter |
//! | growth when not limited by cwnd | - | yes | none |
//! | alpha | follows the target | set each second by a process | `target`; fixed with `adapt = false` |
//!
//! Paths below a millisecond have a setpoint of 0 in the patch, which is always exceeded; real times avoid that. In the
//! patch both counts share a field, so that a count for one rule can be spent by the other.
//!
//! # Limits
//! * minRTT is the smallest ever, as in the patch: a path that has become longer looks bad for good.
//! * While recovery sets the window (Recovery, CWR), samples move the condition but do not cut. In the patch such a cut
//!   only lowers ssthresh, because Linux's recovery overwrites cwnd.
//! * An ACK may add more than it acknowledges: floor(Setpoint / RTT) in a small window, as in the patch.
//! * A loss, a timeout and an ECN echo are CUBIC's.
//!
//! # Vectors
//! `c2tcp_good_adds_to_cubic`, `c2tcp_detects_for_an_interval`, `c2tcp_cuts_come_sooner`,
//! `c2tcp_good_ends_the_cuts`, `c2tcp_alpha_follows_the_target`, `c2tcp_recovery_is_not_cut`.

use super::cubic;
use crate::growth;
use crate::row::{Param, ParamKind, ParamValue, Params, Response, Row, Traits};
use crate::{Ack, Advice, Congestion, CongestionControl, LostSegment, Needs, Path, Phase, Sent, Window};
use narrows_units::{Bytes, Duration, Instant, Variable};

/// The registry's row.
pub(crate) const ROW: Row = Row {
    name: "c2tcp",
    title: "C2TCP",
    sources: &["Abbasloo, Xu, Chao 2019", "github.com/Soheil-ab/c2tcp (Linux 4.13)", "Linux 6.1 (its CUBIC)"],
    params: &[
        Param {
            name: "alpha",
            doc: "alpha, the setpoint as a multiple of the smallest round-trip time; with adapt, its first value.",
            kind: ParamKind::Number { unit: "", default: 2.0, min: 1.0, max: 10.0 },
        },
        Param {
            name: "adapt",
            doc: "Whether alpha follows the target each second, from 1 to 10.",
            kind: ParamKind::Switch { default: true },
        },
        Param {
            name: "target",
            doc: "Target of the mean round-trip time; 0 is twice the smallest one (with adapt).",
            kind: ParamKind::Number { unit: "ms", default: 0.0, min: 0.0, max: 60_000.0 },
        },
    ],
    variables: &[
        Variable::state(
            "condition",
            "Condition of the path: 0 good, 1 detecting, 2 bad.",
            &["good", "detecting", "bad"],
        ),
        Variable::new("setpoint", "s", "Setpoint and interval, alpha minRTT; 0 before a sample."),
        Variable::new("alpha", "", "alpha, the setpoint as a multiple of the smallest round-trip time."),
        Variable::new("n", "", "N, one more than the cuts since the path was good."),
        Variable::new("last_max", "segments", "CUBIC's W_max in the kernel's integers; 0 before a loss or a cut."),
        Variable::new("origin", "segments", "Window at which CUBIC's curve is flat."),
        Variable::new("k", "s", "K, the time that CUBIC's curve takes to reach its origin."),
        Variable::new("cnt", "segments", "Segments to acknowledge for one segment of CUBIC's growth."),
        Variable::new("tcp_cwnd", "segments", "CUBIC's estimate of the window that Reno would have."),
        Variable::new("delay_min", "s", "Smallest round-trip time that CUBIC knows; 0 before a sample."),
        Variable::new("snd_cwnd_cnt", "bytes", "Bytes acknowledged since CUBIC's growth last added a segment."),
    ],
    traits: Traits { response: Response::ReducesAndLeaps, needs_ecn: false, scales: true, l4s: false, own_start: None },
    ns2: None,
    recovery: None,
    source: include_str!("c2tcp.rs"),
    build,
};

/// Least and largest alpha (`TARGET_RATIO_MIN`, `TARGET_RATIO_MAX`).
const ALPHA_MIN: f64 = 1.0;
const ALPHA_MAX: f64 = 10.0;
/// How often the target is looked at (the report period of `server-standalone.cc`).
const PERIOD: Duration = Duration::from_secs(1);

fn build(params: &Params) -> Box<dyn CongestionControl> {
    let linux = Params::new(vec![("profile".to_owned(), ParamValue::Choice("linux".to_owned()))]);
    let target = Duration::from_nanos((params.number(&ROW, "target") * 1e6) as u64);
    let target = params.switch(&ROW, "adapt").then_some(Target { delay: target, since: None });
    Box::new(C2Tcp {
        base: (cubic::ROW.build)(&linux),
        alpha: params.number(&ROW, "alpha"),
        target,
        condition: Condition::Good,
        min_rtt: None,
        next: Instant::ZERO,
        n: 1,
        sum: Duration::ZERO,
        samples: 0,
        counted: 0,
        answer: Answer::Nothing,
    })
}

/// The application's wish.
#[derive(Clone, Copy, Debug)]
struct Target {
    /// Mean round-trip time; zero is twice the smallest.
    delay: Duration,
    /// Begin of the present period.
    since: Option<Instant>,
}

/// Condition of the path; the numbers are those reported as `condition`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    Good = 0,
    Detecting = 1,
    Bad = 2,
}

/// What the present ACK's sample asks of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Nothing,
    /// Count this many segments towards growth.
    Grow(u64),
    Cut,
}

/// C2TCP; see the module's page.
#[derive(Debug)]
pub struct C2Tcp {
    base: Box<dyn CongestionControl>,
    alpha: f64,
    target: Option<Target>,
    condition: Condition,
    min_rtt: Option<Duration>,
    next: Instant,
    n: u32,
    sum: Duration,
    samples: u32,
    counted: u64,
    answer: Answer,
}

impl C2Tcp {
    /// Setpoint and Interval.
    fn setpoint(&self) -> Duration {
        self.min_rtt.unwrap_or(Duration::ZERO).mul_f64(self.alpha)
    }

    /// Whether recovery, not the algorithm, sets the window.
    fn is_held(phase: Phase) -> bool {
        matches!(phase, Phase::Cwr | Phase::Recovery)
    }

    /// `c2tcp_pkts_acked`: moves the condition by one sample.
    fn judge(&mut self, rtt: Duration, path: &Path) -> Answer {
        let setpoint = self.setpoint();
        if rtt <= setpoint {
            (self.condition, self.n) = (Condition::Good, 1);
            return Answer::Grow(setpoint.as_nanos() / rtt.as_nanos().max(1));
        }
        if self.condition == Condition::Good {
            (self.condition, self.n) = (Condition::Detecting, 1);
            self.next = path.now + setpoint;
        } else if path.now > self.next && !Self::is_held(path.phase) {
            self.next = path.now + setpoint.mul_f64(1.0 / f64::from(self.n).sqrt());
            self.n = self.n.saturating_add(1);
            self.condition = Condition::Bad;
            return Answer::Cut;
        }
        Answer::Nothing
    }

    /// Moves alpha by the mean of a period that has ended.
    fn adapt(&mut self, now: Instant) {
        let (Some(target), Some(min_rtt)) = (&mut self.target, self.min_rtt) else { return };
        let since = *target.since.get_or_insert(now);
        if now.since(since) < PERIOD || self.samples == 0 {
            return;
        }
        target.since = Some(now);
        let wanted = if target.delay.is_zero() { min_rtt + min_rtt } else { target.delay }.as_secs_f64();
        let mean = (self.sum / u64::from(self.samples)).as_secs_f64().max(f64::MIN_POSITIVE);
        (self.sum, self.samples) = (Duration::ZERO, 0);
        let share = if mean > wanted { -2.0 * (mean - wanted) / mean } else { (wanted - mean) / (2.0 * mean) };
        self.alpha = (self.alpha * (1.0 + share)).clamp(ALPHA_MIN, ALPHA_MAX);
    }

    /// Growth beside CUBIC's: `segments` per ACK count towards a segment per window.
    fn grow(&mut self, segments: u64, path: &Path, win: &mut Window) {
        let cwnd = growth::whole_segments(win.cwnd, path).max(1);
        self.counted = self.counted.saturating_add(segments);
        win.cwnd += path.smss * (self.counted / cwnd);
        self.counted %= cwnd;
    }
}

impl CongestionControl for C2Tcp {
    fn needs(&self) -> Needs {
        Needs { acks: true, ..self.base.needs() }
    }

    fn on_start(&mut self, path: &Path, win: &mut Window) {
        self.base.on_start(path, win);
    }

    fn observe(&mut self, ack: &Ack, path: &Path) {
        self.base.observe(ack, path);
        self.answer = Answer::Nothing;
        if let Some(rtt) = ack.rtt {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
            (self.sum, self.samples) = (self.sum + rtt, self.samples.saturating_add(1));
            self.adapt(path.now);
            self.answer = self.judge(rtt, path);
        }
    }

    fn on_lost(&mut self, lost: &LostSegment, path: &Path, win: &mut Window) {
        self.base.on_lost(lost, path, win);
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        match core::mem::replace(&mut self.answer, Answer::Nothing) {
            Answer::Grow(segments) if growth::may_grow(path) => self.grow(segments, path, win),
            Answer::Cut => {
                // CUBIC computes its threshold and its W_max as after a loss.
                self.base.on_congestion(&Congestion::Loss { lost: Bytes::ZERO }, path, win);
                win.cwnd = path.smss;
                self.counted = 0;
            }
            Answer::Grow(_) | Answer::Nothing => {}
        }
        self.base.on_ack(ack, path, win);
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        self.counted = 0;
        self.base.on_congestion(event, path, win);
    }

    fn on_sent(&mut self, sent: &Sent, path: &Path, win: &mut Window) {
        self.base.on_sent(sent, path, win);
    }

    fn on_undo(&mut self, path: &Path, win: &mut Window) {
        self.base.on_undo(path, win);
    }

    fn on_advice(&mut self, advice: Advice, path: &Path, win: &mut Window) {
        self.base.on_advice(advice, path, win);
    }

    fn on_window_set(&mut self, path: &Path, win: &Window) {
        self.base.on_window_set(path, win);
    }

    fn on_recovered(&mut self, path: &Path, win: &mut Window) {
        self.base.on_recovered(path, win);
    }

    fn growth_limit(&self, flight: Bytes, path: &Path, win: &Window) -> Bytes {
        // Beside CUBIC's growth, floor(Setpoint / RTT), at most alpha, segments a round.
        self.base.growth_limit(flight, path, win) + path.smss * (self.alpha as u64)
    }

    fn reduces_at_once(&self) -> bool {
        self.base.reduces_at_once()
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("condition", f64::from(self.condition as u8));
        visit("setpoint", self.setpoint().as_secs_f64());
        visit("alpha", self.alpha);
        visit("n", f64::from(self.n));
        self.base.state(visit);
    }
}
