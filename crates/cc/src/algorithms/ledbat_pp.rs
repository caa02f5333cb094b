//! LEDBAT++: LEDBAT by round-trip times, which grows slower than Reno and lets the queue drain at intervals.
//!
//! # Idea
//! LEDBAT moves its window by the delay that queues add. Where its first delays contain somebody else's queue, it takes
//! that queue for the empty path, and several LEDBAT flows push each other away. LEDBAT++ reduces its window to two
//! segments for two round-trip times at intervals, so that all flows see the empty path. Slowdowns take at most a tenth
//! of the time. It grows by a sixteenth to one segment per round-trip time, less on short paths. Above its target of 60
//! ms it reduces the window in proportion to the window, so that flows converge to equal shares.
//!
//! # Sources
//! draft-irtf-iccrg-ledbat-plus-plus-06 (Balasubramanian, Ertugay, Havey, Bagnulo; IRTF, experimental), the sections
//! on slow start, on growth, on multiplicative decrease, and on the initial and periodic slowdown; RFC 6817 for what it
//! does not change. Windows ships it.
//!
//! # State
//! | symbol | field | unit |
//! |---|---|---|
//! | base, current delay | `delays` ([`window`]) | time |
//! | TARGET | `target` | time |
//! | GAIN | from base and TARGET | segments per RTT |
//! | Constant | `constant` | - |
//! | W | cwnd, with its fraction in `carry` | bytes |
//!
//! ```text
//! GAIN = 1 / min(16, ceil(2 TARGET / base))
//!
//!          delay > 3/4 TARGET, loss          2 RTT later, then 9 times the last slowdown
//!   Start ---------------------> Avoidance -----------------------------------> Frozen, W = 2 segments
//!                                    ^                                             | 2 RTT
//!                                    +-- W = ssthresh -- Regrowth <----------------+
//!
//!   Start, Regrowth:  W += GAIN per segment acknowledged
//!   Avoidance:        W += GAIN per RTT                                       if delay <= TARGET
//!                     W += max(GAIN - Constant W (delay/TARGET - 1), -W/2)    otherwise, once per RTT
//! ```
//!
//! # Differences
//! | question | draft | here | Apple's (receiver) | parameter |
//! |---|---|---|---|---|
//! | next slowdown | 9 times the last one's duration | as the draft | 60 s | - |
//! | decrease | per RTT | at once, then at most once per smoothed RTT | per window of data | - |
//! | slow start after a slowdown | up to ssthresh, whatever the delay | as the draft | until twice TARGET | - |
//! | ceil(2 TARGET / base) of a whole number | "smallest integer larger than" | that number | that number | - |
//! | loss in the frozen time | not said | half of the window before the slowdown | ignored | - |
//! | current delay | least of the 4 most recent | as the draft | least | `filter` |
//!
//! # Limits
//! * A round-trip time contains queues of ACKs and the receiver's delay of ACKs. The smallest of four samples removes
//!   most of the latter.
//! * After an RTO, slow start with GAIN leads to half of the window, and no slowdown begins before that.
//! * In recovery the connection's recovery sets the window.
//! * TARGET is the draft's 60 ms on all paths. A queue that holds less overflows first, and then losses alone rule:
//!   LEDBAT++ is then Reno with GAIN.
//!
//! # Vectors
//! `ledbat_pp_gain_by_base`, `ledbat_pp_grows_by_gain_per_round`, `ledbat_pp_decreases_by_half_at_most`,
//! `ledbat_pp_decrease_is_once_per_round`, `ledbat_pp_slow_start_has_gain`,
//! `ledbat_pp_initial_slow_start_ends_at_three_quarters`, `ledbat_pp_first_slowdown_is_two_rounds_later`,
//! `ledbat_pp_is_frozen_at_two_segments_for_two_rounds`, `ledbat_pp_regrows_to_ssthresh_whatever_the_delay`,
//! `ledbat_pp_next_slowdown_after_nine_durations`, `ledbat_pp_loss_halves`,
//! `ledbat_pp_loss_while_frozen_halves_what_is_kept`, `ledbat_pp_loss_ends_the_initial_slow_start`,
//! `ledbat_pp_starts_with_two_segments`.

pub mod window;

use crate::growth;
use crate::row::{Param, ParamKind, Params, Response, Row, Traits};
use crate::{Ack, Congestion, CongestionControl, Needs, Path, Window};
use narrows_units::{Duration, Variable};
use window::{Delivery, LedbatPp, MIN_WINDOW, Settings, Stage};

/// A number of the row.
const fn number(name: &'static str, unit: &'static str, doc: &'static str, values: [f64; 3]) -> Param {
    let [default, min, max] = values;
    Param { name, doc, kind: ParamKind::Number { unit, default, min, max } }
}

/// The registry's row.
pub(crate) const ROW: Row = Row {
    name: "ledbat_pp",
    title: "LEDBAT++",
    sources: &["draft-irtf-iccrg-ledbat-plus-plus-06", "RFC 6817"],
    params: &[
        number(
            "target",
            "s",
            "TARGET, the queuing delay that the flow aims at (60 ms in the draft).",
            [0.06, 0.001, 0.1],
        ),
        number(
            "constant",
            "",
            "Constant, the strength of the multiplicative decrease (1 in the draft).",
            [1.0, 0.1, 10.0],
        ),
        number("base_history", "minutes", "Minutes that the base round-trip time comes from.", [10.0, 1.0, 60.0]),
        number("filter", "samples", "Round-trip times whose smallest is the current one.", [4.0, 1.0, 100.0]),
        Param {
            name: "slowdowns",
            doc: "Whether there are the initial and the periodic slowdowns.",
            kind: ParamKind::Switch { default: true },
        },
    ],
    variables: &[
        Variable::state("stage", "What the flow does, in the words of the draft's phases.", Stage::WORDS),
        Variable::new("base_rtt", "s", "base, the smallest round-trip time of the last minutes; 0 before a sample."),
        Variable::new("queuing_delay", "s", "The current round-trip time minus the base; 0 before a sample."),
        Variable::new("gain", "segments per RTT", "GAIN, growth per round-trip time below the target."),
        Variable::new("slowdowns", "", "Slowdowns that have begun so far."),
        Variable::new("slowdown_time", "s", "Duration of the last slowdown that has ended; 0 before one."),
    ],
    traits: Traits {
        response: Response::Reduces,
        needs_ecn: false,
        scales: true,
        l4s: false,
        own_start: Some("has a slow start of its own, which grows with GAIN and ends by delay"),
    },
    ns2: None,
    recovery: None,
    source: include_str!("ledbat_pp.rs"),
    build,
};

fn build(params: &Params) -> Box<dyn CongestionControl> {
    Box::new(Sender {
        rules: LedbatPp::new(Settings {
            target: Duration::from_secs_f64(params.number(&ROW, "target")),
            constant: params.number(&ROW, "constant"),
            base_history: params.number(&ROW, "base_history") as usize,
            filter: params.number(&ROW, "filter") as usize,
            slowdowns: params.switch(&ROW, "slowdowns"),
        }),
    })
}

/// LEDBAT++ at a sender; see the module's page.
#[derive(Clone, Debug)]
pub struct Sender {
    rules: LedbatPp,
}

impl CongestionControl for Sender {
    fn needs(&self) -> Needs {
        Needs { acks: true, ..Needs::default() }
    }

    fn on_start(&mut self, path: &Path, win: &mut Window) {
        win.cwnd = win.cwnd.min(path.smss * MIN_WINDOW);
        if let Some(rtt) = path.min_rtt {
            self.rules.sample(rtt, path.now);
        }
    }

    fn observe(&mut self, ack: &Ack, path: &Path) {
        if let Some(rtt) = ack.rtt {
            self.rules.sample(rtt, path.now);
        }
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        let data = Delivery {
            now: path.now,
            bytes: ack.delivered,
            smss: path.smss,
            srtt: path.srtt,
            may_grow: growth::may_grow(path),
        };
        self.rules.on_delivery(&data, win);
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        growth::answer(event, path, win, |win| self.rules.reduced(path.smss, win));
        self.rules.on_reduced(path.now, path.srtt);
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let rules = &self.rules;
        visit("stage", f64::from(rules.stage() as u8));
        visit("base_rtt", rules.base().unwrap_or(Duration::ZERO).as_secs_f64());
        visit("queuing_delay", rules.queuing().unwrap_or(Duration::ZERO).as_secs_f64());
        visit("gain", rules.gain());
        visit("slowdowns", rules.slowdowns() as f64);
        visit("slowdown_time", rules.lasted().as_secs_f64());
    }
}
