//! COBALT: CoDel and BLUE alternate.
//!
//! # Idea
//! CoDel controls flows that respond to drops and marks: it signals one packet of a standing queue after `interval`,
//! and then sooner and sooner. When the queue falls below `target`, this CoDel does not forget: its count falls again
//! at the pace at which it rose. BLUE controls flows that do not respond. Each overflow raises a probability with which
//! all packets are dropped, and each time the queue runs empty lowers it.
//!
//! # Sources
//! - Linux 6.1, `net/sched/sch_cake.c`: `cobalt_should_drop`, `cobalt_queue_full`, `cobalt_queue_empty`,
//!   `cobalt_newton_step`, `cobalt_cache_init`.
//! - Høiland-Jørgensen, Täht, Morton, "Piece of CAKE: A Comprehensive Queue Management Solution for Home Gateways",
//!   LANMAN 2018.
//! - Feng, Shin, Kandlur, Saha, "The BLUE Active Queue Management Algorithms", IEEE/ACM ToN 10(4), 2002.
//! - ns-3, `CobaltQueueDisc`: one queue with COBALT, which drops arrivals when it is full.
//!
//! # State
//! | Linux | field of `Controller` | unit |
//! |---|---|---|
//! | `count` | `count` | packets |
//! | `rec_inv_sqrt` | `inverse_sqrt` | 2^-32 |
//! | `drop_next` | `drop_next` | time |
//! | `dropping` | `dropping` | - |
//! | `p_drop` | `p_drop` | 2^-32 |
//! | `blue_timer` | `blue_changed` | time; `None` before the first change |
//!
//! ```text
//!                      above target                            at drop_next: drop or mark, count + 1
//!   normal ------------------------------------> dropping -----------------------------------------+
//!     |    <------------------------------------    ^                                              |
//!     |               target or below               +------- drop_next += interval / sqrt(count) --+
//!     |
//!     +-- at drop_next, below target: count - 1, drop_next += interval / sqrt(count)
//!
//!   BLUE: overflow: p_drop + increment; empty: p_drop - decrement; both at most once in `target`
//! ```
//!
//! # Differences
//! | question | Linux | ns-3 | parameter |
//! |---|---|---|---|
//! | 1 / sqrt(count) | a table below 16, one Newton step per count above | the same | `profile`: also exact |
//! | marks | always | off by default | `ecn` |
//! | BLUE rises at a sojourn time | no | above 400 ms | `blue_threshold`; the default is never reached |
//! | steps of BLUE | 1/256, 1/4096 | the same, as attributes | `increment`, `decrement` |
//! | last packet of a queue | is never dropped | may be dropped | Linux's way |
//! | overflow | drops the head of the longest sub-queue | drops the arrival | ns-3's way |
//! | `drop_next` of a new queue | Linux's 1 / sqrt(count) begins as 0 | as 1 | `profile` |
//!
//! - With `profile = "linux"`, the value 0 makes the first packet above the target schedule a drop at once: the second
//!   one is dropped. From the first change of the count on, an interval passes before the first drop. `exact` waits an
//!   interval the first time too, unless the queue was inactive.
//! - A queue is inactive if no packet has left it for an interval. The next packet above the target then schedules a
//!   drop at once, in Linux, in ns-3 and here.
//! - BLUE may change at once in a new queue. Linux compares with time 0, the start of the machine.
//! - Linux truncates an interval to 32 bits of nanoseconds, 4.29 s; here it is not truncated.
//! - CAKE also spares packets that waited for less than four full-sized packets of its shaper take. Here the link sets
//!   the rate, and there is no such rule.
//! - ns-3's `CeThreshold` and `UseL4s` are left out.
//! - CoDel's code is not shared. COBALT has no `first_above_time` and no restart of the count, and its square roots
//!   have 32 bits and a table where CoDel's have 16 bits and none. Only the parameters `target` and `interval` are the
//!   same.
//!
//! # Limits
//! A queue runs empty when its owner asks for a packet and there is none: a link asks once at the end of a busy period.
//! A queue that overflows and never runs empty keeps BLUE's probability.
//!
//! # Vectors
//! `the_law_counts_up_from_the_first_signal`, `the_count_decays_at_the_pace_of_the_law`,
//! `linux_takes_roots_from_a_table_and_then_steps`, `blue_rises_by_1_in_256_and_falls_by_1_in_4096`.

mod control;

use crate::codel::{INTERVAL, TARGET, below_interval};
use crate::registry::{Broken, Discipline, Kind, Param, Params, Row, Setup, Word};
use crate::{Aqm, Fifo, Limit, Queue, QueueView, Verdict};
use narrows_rng::Stream;
use narrows_units::{Duration, Instant, Variable};
use narrows_wire::Packet;

pub use control::{CobaltConfig, CobaltProfile};
pub(crate) use control::{Controller, Head};

/// The row of COBALT.
pub(crate) const ROW: Row = Row {
    about: Discipline {
        name: "cobalt",
        title: "CoDel-BLUE Alternate",
        doc: "COBALT: CoDel and BLUE in one (CAKE's AQM)",
        sources: &[
            "Linux 6.1, net/sched/sch_cake.c (cobalt_*)",
            "Høiland-Jørgensen, Täht, Morton, Piece of CAKE, LANMAN 2018",
            "Feng, Shin, Kandlur, Saha, The BLUE Active Queue Management Algorithms, IEEE/ACM ToN 10(4), 2002",
        ],
        params: PARAMS,
        variables: VARIABLES,
        tail_only: false,
        fit,
        source: include_str!("cobalt.rs"),
    },
    build,
};

/// What COBALT reports of one queue.
const VARIABLES: &[Variable] = &[
    Variable::state("dropping", "Whether CoDel's part drops or marks.", &["normal", "dropping"]),
    Variable::new("sojourn", "s", "Time that the last packet waited; 0 before a packet."),
    Variable::new("count", "packets", "Drops and marks of CoDel's part that have not decayed."),
    Variable::new("drop_next", "s", "When the next packet is dropped or marked, or the count decays."),
    Variable::new("p_drop", "", "BLUE's probability."),
];

const PARAMS: &[Param] = &[
    TARGET,
    INTERVAL,
    Param {
        name: "ecn",
        doc: "Mark ECN-capable packets (RFC 3168) where CoDel's part would drop them. BLUE drops them all the same.",
        kind: Kind::Switch { default: true },
    },
    Param {
        name: "increment",
        doc: "Step by which BLUE's probability rises at an overflow, at most once in `target`.",
        kind: Kind::Probability { default: 1.0 / 256.0 },
    },
    Param {
        name: "decrement",
        doc: "Step by which BLUE's probability falls when the queue runs empty, at most once in `target`.",
        kind: Kind::Probability { default: 1.0 / 4096.0 },
    },
    Param {
        name: "blue_threshold",
        doc: "Sojourn time above which BLUE's probability rises as at an overflow; the default is never reached.",
        kind: Kind::Time {
            default: Duration::from_secs(3600),
            min: Duration::from_micros(1),
            max: Duration::from_secs(3600),
        },
    },
    PROFILE,
];

pub(crate) const PROFILE: Param = Param {
    name: "profile",
    doc: "Whose square roots COBALT takes.",
    kind: Kind::Choice {
        default: "linux",
        words: &[
            Word("linux", "Linux's, from a table and by Newton steps; a new queue begins without a wait"),
            Word("exact", "exact ones"),
        ],
    },
};

fn fit(params: &mut Params, _limit: Limit) -> Result<(), Broken> {
    below_interval(params)
}

fn build(Setup { limit, params, chance }: Setup<'_>) -> Box<dyn Queue> {
    Box::new(Fifo::new(limit, Cobalt::new(CobaltConfig::of(params), chance)))
}

impl CobaltProfile {
    /// The value of the parameter `profile`.
    pub(crate) fn of(params: &Params) -> Self {
        if params.choice("profile") == "exact" { Self::Exact } else { Self::Linux }
    }
}

impl CobaltConfig {
    /// The values of the row's parameters.
    fn of(params: &Params) -> Self {
        Self {
            target: params.time("target"),
            interval: params.time("interval"),
            mtu_time: Duration::ZERO,
            increment: params.probability("increment"),
            decrement: params.probability("decrement"),
            blue_threshold: params.time("blue_threshold"),
            ecn: params.switch("ecn"),
            profile: CobaltProfile::of(params),
        }
    }
}

/// The COBALT discipline for one queue; see the head of this file.
#[derive(Clone, Debug)]
pub struct Cobalt {
    config: CobaltConfig,
    controller: Controller,
    chance: Stream,
}

impl Cobalt {
    /// COBALT of an empty queue; `chance` gives BLUE's random numbers.
    #[must_use]
    pub fn new(config: CobaltConfig, chance: Stream) -> Self {
        Self { config, controller: Controller::default(), chance }
    }
}

impl Aqm for Cobalt {
    fn on_enqueue(&mut self, _packet: &Packet, _view: &QueueView, _now: Instant) -> Verdict {
        Verdict::Pass
    }

    fn on_overflow(&mut self, _packet: &Packet, _view: &QueueView, now: Instant) {
        self.controller.was_full(&self.config, now);
    }

    fn on_dequeue(&mut self, packet: &Packet, enqueued: Instant, view: &QueueView, now: Instant) -> Verdict {
        let head = Head { enqueued, capable: packet.ip.ecn().is_capable(), last: view.packets.is_zero() };
        self.controller.decide(&self.config, head, now, &mut self.chance)
    }

    fn on_empty(&mut self, now: Instant) {
        self.controller.was_empty(&self.config, now);
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        self.controller.state(visit);
    }
}

#[cfg(test)]
#[path = "cobalt/tests.rs"]
mod tests;
