//! LEDBAT: a flow for background transfers, which keeps the delay that it adds below 100 ms.
//!
//! # Idea
//! The smallest one-way delay of the last ten minutes belongs to the empty path. What the present delay exceeds it by
//! is the time that a segment waits in queues. LEDBAT moves its window in proportion to how far this queuing delay is
//! from a target of 100 ms. It grows no faster than Reno, by one segment per round-trip time where the queue is empty,
//! and it shrinks where the queue is longer than the target. A flow that fills the queue until it overflows therefore
//! takes the path from LEDBAT before anything is lost.
//!
//! # Sources
//! RFC 6817 (experimental), whose pseudocode is in section 2.4.2 and whose values are in section 2.5; ns-3's
//! `TcpLedbat` for the optional slow start.
//!
//! # State
//! | symbol | field | unit |
//! |---|---|---|
//! | base_delays, current_delays | `delays` | time |
//! | TARGET | `target` | time |
//! | GAIN | `gain` | segments per RTT |
//! | ALLOWED_INCREASE | `allowed_increase` | segments |
//! | cwnd with its fraction | `carry` | bytes |
//!
//! ```text
//! queuing_delay = min(last 4 delays) - min(last 10 minutes)
//! off_target    = (TARGET - queuing_delay) / TARGET
//! cwnd         += GAIN * off_target * bytes_newly_acked * MSS / cwnd
//! cwnd          = max(min(cwnd, flightsize + ALLOWED_INCREASE * MSS), MIN_CWND * MSS)
//! ```
//!
//! # Differences
//! | question | RFC 6817 | ns-3 | parameter |
//! |---|---|---|---|
//! | slow start | optional (section 2.2); here none | until the first loss, and after timeouts | `slow_start` |
//! | current delay | any filter of the last RTT's samples, 4 or more; here the least of 4 | least of 3 | `filter` |
//! | initial window | 2 segments | the connection's | - |
//! | a loss | half, once per RTT | half | - |
//! | without timestamps | not TCP's | Reno | - |
//!
//! The RFC defines LEDBAT for any transport. Over TCP the one-way delay comes from timestamps (RFC 7323), as in ns-3.
//! Without them the round-trip time takes its place: queues of ACKs then count, too.
//!
//! # Limits
//! * The last 4 samples may be older than one RTT, which section 2.5 does not allow, while the window gives fewer
//!   than 4 samples per RTT.
//! * A minute without samples has no entry in the base history, as in the pseudocode. By the text of section 2.4.2 it
//!   has one of infinity, so that a flow forgets its base delay after ten idle minutes.
//! * The offset between the clocks cancels. A difference in their rates (skew) does not: a receiver's clock that gains
//!   100 ppm adds 6 ms of apparent queuing delay per minute, and at most 60 ms over ten minutes, since the base delay
//!   is then taken from younger minutes (appendix A.2). Clocks in the simulator do not drift.
//! * One-way delays have the granularity of timestamps: 1 ms with `stack = "linux"`.
//! * A late flow that starts while another fills the queue to its target takes that queue for the empty path, and
//!   pushes the first one away (latecomer's advantage, section 4.4). LEDBAT++ (`ledbat_pp`) mends this.
//! * A congestion timeout (CTO) is the connection's retransmission timeout. Afterwards the window is one segment, as in
//!   the RFC, until the next ACK.
//! * In recovery the connection's recovery sets the window; delays are measured there too.
//!
//! # Vectors
//! `ledbat_moves_by_the_distance_to_the_target`, `ledbat_one_ack_adds_a_tenth_of_a_segment`,
//! `ledbat_grows_no_faster_than_reno`, `ledbat_window_is_bounded_by_flight_and_allowed_increase`,
//! `ledbat_keeps_two_segments`, `ledbat_starts_with_two_segments`, `ledbat_loss_halves`,
//! `ledbat_timeout_leaves_one_segment`, `ledbat_offset_of_the_clocks_cancels`,
//! `ledbat_without_timestamps_uses_the_rtt`, `ledbat_slow_start_is_optional`.

use crate::delays::{ClockDifference, Delays};
use crate::growth::{self, Fraction};
use crate::row::{Param, ParamKind, Params, Response, Row, Traits};
use crate::{Ack, Congestion, CongestionControl, Needs, Path, Window};
use narrows_units::{Bytes, Duration, Variable};

/// INIT_CWND and MIN_CWND, in segments (RFC 6817, section 2.5).
const MIN_CWND: u64 = 2;

/// A number of the row.
const fn number(name: &'static str, unit: &'static str, doc: &'static str, values: [f64; 3]) -> Param {
    let [default, min, max] = values;
    Param { name, doc, kind: ParamKind::Number { unit, default, min, max } }
}

/// The registry's row.
pub(crate) const ROW: Row = Row {
    name: "ledbat",
    title: "LEDBAT",
    sources: &["RFC 6817"],
    params: &[
        number(
            "target",
            "s",
            "TARGET, the queuing delay that the flow aims at (RFC 6817, section 2.5: at most 100 ms).",
            [0.1, 0.001, 0.1],
        ),
        number(
            "gain",
            "segments",
            "GAIN, growth per round-trip time without a queue (RFC 6817, section 2.5: at most 1).",
            [1.0, 0.1, 1.0],
        ),
        number(
            "allowed_increase",
            "segments",
            "ALLOWED_INCREASE, how far the window may exceed the flight (RFC 6817, section 2.5: 1).",
            [1.0, 1.0, 100.0],
        ),
        number(
            "base_history",
            "minutes",
            "BASE_HISTORY, the minutes that the base delay comes from.",
            [10.0, 1.0, 60.0],
        ),
        number("filter", "samples", "CURRENT_FILTER, the delays whose smallest is the current one.", [4.0, 1.0, 100.0]),
        Param {
            name: "slow_start",
            doc: "Whether the flow begins with slow start, as in ns-3, instead of growing by GAIN from two segments.",
            kind: ParamKind::Switch { default: false },
        },
    ],
    variables: &[
        Variable::new(
            "queuing_delay",
            "s",
            "queuing_delay, the current delay minus the base delay; 0 before a sample.",
        ),
        Variable::new("off_target", "", "off_target, the distance to TARGET divided by TARGET; 1 before a sample."),
        Variable::new("base_delay", "s", "The base delay with the offset of the clocks; 0 before a sample."),
        Variable::new("one_way", "", "1 if the last delay was a one-way delay, 0 if it was a round-trip time."),
    ],
    traits: Traits {
        response: Response::Reduces,
        needs_ecn: false,
        scales: true,
        l4s: false,
        own_start: Some(
            "grows from two segments by its delay, and has a slow start only as a parameter (`slow_start`)",
        ),
    },
    ns2: None,
    recovery: None,
    source: include_str!("ledbat.rs"),
    build,
};

fn build(params: &Params) -> Box<dyn CongestionControl> {
    Box::new(Ledbat {
        target: params.number(&ROW, "target"),
        gain: params.number(&ROW, "gain"),
        allowed_increase: params.number(&ROW, "allowed_increase"),
        slow_start: params.switch(&ROW, "slow_start"),
        delays: Delays::new(params.number(&ROW, "base_history") as usize, params.number(&ROW, "filter") as usize),
        clocks: ClockDifference::default(),
        one_way: false,
        carry: Fraction::default(),
    })
}

/// LEDBAT by RFC 6817; see the module's page.
#[derive(Clone, Debug)]
pub struct Ledbat {
    /// TARGET, seconds.
    target: f64,
    gain: f64,
    /// ALLOWED_INCREASE, segments.
    allowed_increase: f64,
    slow_start: bool,
    delays: Delays,
    clocks: ClockDifference,
    /// Whether `delays` holds one-way delays, not round-trip times.
    one_way: bool,
    carry: Fraction,
}

impl Ledbat {
    /// `(TARGET - queuing_delay) / TARGET`; an unknown queue counts as empty.
    fn off_target(&self) -> f64 {
        let queuing = self.delays.queuing().unwrap_or(Duration::ZERO).as_secs_f64();
        (self.target - queuing) / self.target
    }

    /// Takes an ACK's delay. A connection whose ACKs begin or cease to have timestamps starts a new history: one-way
    /// delays and round-trip times cannot be compared.
    fn sample(&mut self, ack: &Ack, path: &Path) {
        let delay = match (ack.one_way_delay, ack.rtt) {
            (Some(difference), _) => self.clocks.micros(difference).saturating_mul(1000),
            (None, Some(_)) if self.one_way => return,
            (None, Some(rtt)) => i64::try_from(rtt.as_nanos()).unwrap_or(i64::MAX),
            (None, None) => return,
        };
        if ack.one_way_delay.is_some() && !self.one_way {
            self.one_way = true;
            self.delays.forget();
        }
        self.delays.sample(delay, path.now);
    }

    /// Moves the window by the distance to the target (RFC 6817, section 2.4.2).
    fn follow(&mut self, acked: Bytes, path: &Path, win: &mut Window) {
        let step = self.gain * self.off_target() * acked.as_f64() * path.smss.as_f64() / win.cwnd.as_f64().max(1.0);
        if step < 0.0 || growth::may_grow(path) {
            self.carry.shift(step, win);
        }
        // The flight before this ACK.
        let flight = (path.flightsize + acked).as_f64();
        let most = Bytes::from_f64(flight + self.allowed_increase * path.smss.as_f64());
        if win.cwnd > most {
            win.cwnd = most;
            self.carry.reset();
        }
        win.cwnd = win.cwnd.max(path.smss * MIN_CWND);
    }
}

impl CongestionControl for Ledbat {
    fn needs(&self) -> Needs {
        Needs { acks: true, ..Needs::default() }
    }

    fn on_start(&mut self, path: &Path, win: &mut Window) {
        if !self.slow_start {
            win.cwnd = win.cwnd.min(path.smss * MIN_CWND);
            win.ssthresh = Some(win.cwnd);
        }
    }

    fn observe(&mut self, ack: &Ack, path: &Path) {
        self.sample(ack, path);
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        let mut left = ack.delivered;
        if self.slow_start && win.in_slow_start(path) {
            if growth::may_grow(path) {
                left = growth::slow_start(win, left, Bytes::MAX, path);
            }
            if left.is_zero() || win.in_slow_start(path) {
                return;
            }
        }
        if !left.is_zero() {
            self.follow(left, path, win);
        }
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        self.carry.reset();
        growth::answer(event, path, win, |win| growth::reduced(win.cwnd, 0.5, MIN_CWND, path));
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("queuing_delay", self.delays.queuing().unwrap_or(Duration::ZERO).as_secs_f64());
        visit("off_target", self.off_target());
        visit("base_delay", self.delays.base().unwrap_or(0) as f64 / 1e9);
        visit("one_way", f64::from(u8::from(self.one_way)));
    }
}
