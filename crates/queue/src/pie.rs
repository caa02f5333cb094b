//! PIE: Proportional Integral controller Enhanced.
//!
//! # Idea
//! PIE drops arriving packets with a probability that a controller sets every `tupdate` from the queueing delay: it
//! rises with the distance of the delay from `target` (the integral part) and with the growth of the delay (the
//! proportional part). The lower the probability is, the smaller are the steps. A burst of up to `max_burst` passes
//! untouched. A packet on its way out is never touched.
//!
//! # Sources
//! - RFC 8033: sections 4.1 (random dropping), 4.2 (probability), 4.3 (latency), 4.4 (bursts), 5.1 (ECN), 5.2 (dequeue
//!   rate), 5.3 (active and inactive), 5.4 (derandomization), 5.5 (cap of steps); appendices A and B (pseudo-code).
//! - Linux 6.1, `net/sched/sch_pie.c` and `include/net/pie.h` (`profile = "linux"`).
//! - Pan et al., "PIE: A Lightweight Control Scheme to Address the Bufferbloat Problem", HPSR 2013.
//!
//! # State
//! | RFC 8033 | Linux | field | unit: RFC, Linux |
//! |---|---|---|---|
//! | drop_prob_ | `prob` | `probability` | 1, 2^-56 |
//! | accu_prob_ | `accu_prob` | `accumulated` | 1, 2^-56 |
//! | current_qdelay_, qdelay_old_ | `qdelay`, `qdelay_old` | `delay`, `delay_old` | ns, 64 ns |
//! | burst_allowance_ | `burst_time` | `burst` | ns, 64 ns |
//! | in_measurement_, measurement_start_ | `dq_tstamp` | `since`, `left_at` | ns, 64 ns |
//! | dq_count_ | `dq_count` | `departed` | bytes |
//! | avg_dq_time_ | `avg_dq_rate` | `drain_time`, `rate` | ns per 16 KiB, bytes/256 per 64 ns |
//! | active_ | - | `active` | - |
//!
//! ```text
//!            active_threshold of the limit is occupied          burst allowance used up
//!   inactive ---------------------------------------> protected ----------------------> controlled
//!      ^                                                  ^                                 |
//!      | p = 0, no delay, empty (only if                  +---------------------------------+
//!      | active_threshold is above 0)                       p = 0, both delays below target / 2
//! ```
//!
//! # Differences
//! | question | RFC 8033 | Linux | parameter |
//! |---|---|---|---|
//! | delay | backlog by estimated rate (5.2), or timestamps (4.3) | timestamps, or estimate | `dq_rate_estimator` |
//! | smoothed in the estimator | time for 16 KiB, weight 1/4 | rate, weight 1/8, whole bytes/256 in 64 ns | `profile` |
//! | first packet of a measurement | is not counted | is counted, though its time is not | `profile` |
//! | delay that spares low probabilities | that of the latest update | that of the latest departure | `profile` |
//! | short queue that is spared | up to 2 `mtu` | less than 2 `mtu` | `profile` |
//! | burst allowance | falls by `tupdate` at each update | by the time between departures (or measured) | `profile` |
//! | its renewal | on arrival | at an update, which also forgets the rate | `profile` |
//! | idle decay | factor 0.98 | factor 63/64 | `profile` |
//! | delay above 250 ms | no rule | 2 % more at each update | `profile` |
//! | bounds of the probability | 0 and 1 | 0 and 256: it may rise above 1, and then takes long to fall | `profile` |
//! | marks | below `mark_ecnth` | up to it; a sum above 8.5 is kept by a mark | `profile` |
//! | active and inactive (5.3) | optional | - | `active_threshold` |
//!
//! - Updates come at multiples of `tupdate` since the start. The timer stops when the queue is empty and an update
//!   changes nothing, and an arrival starts it for the next multiple. So the stop cannot be observed, and an idle queue
//!   decays at the exact times. In an idle queue, a probability below 2^-56 counts as 0
//!   (`rfc8033`; only a very small `alpha` lets it fall so slowly).
//! - Linux first updates half a second after the start and rounds `tupdate` to jiffies: Debian's kernel has 16 ms.
//! - A queue that a departure leaves empty has no delay, with either profile. Appendix A keeps the delay of that
//!   packet, so that the probability of an idle queue would grow.
//! - While the burst allowance lasts, nothing is accumulated (section 4.4, appendix A, Linux).
//! - Sizes are those of IP packets; Linux counts the link-layer header too. Its sums of 32 bits have 64 here.
//! - ns-3 holds the probability at 0 while the burst allowance lasts, and smooths rates with a weight of 1/2.
//! - DOCSIS PIE (RFC 8034) has other constants and is not covered.
//!
//! # Limits
//! The estimator has no rate, and so no delay, before 16 KiB wait: at 1 Mb/s that is 131 ms of queue. Timestamps
//! (`dq_rate_estimator = "off"`) have no such limit. With `active_threshold` above 0, PIE does nothing
//! below that share of the limit.
//!
//! # Vectors
//! `each_range_of_the_probability_has_its_step`, `the_burst_allowance_lasts_ten_updates`,
//! `an_idle_queue_decays_by_two_per_cent`, `sums_of_probabilities_space_drops`,
//! `the_estimator_averages_the_time_for_16_kib`, `linux_scales_by_shifts`.

mod control;
mod linux;
mod rfc;

use crate::registry::{Broken, Discipline, Kind, Param, Params, Row, Setup, Word};
use crate::{Aqm, Fifo, Limit, Queue, QueueView, Verdict};
use narrows_rng::Stream;
use narrows_units::{Bytes, Duration, Instant, Packets, Probability, Variable};
use narrows_wire::Packet;

pub(crate) use control::{Controller, Departure};

/// The row of PIE.
pub(crate) const ROW: Row = Row {
    about: Discipline {
        name: "pie",
        title: "Proportional Integral controller Enhanced",
        doc: "PIE (RFC 8033)",
        sources: &[
            "RFC 8033, sections 4 and 5",
            "Linux 6.1, net/sched/sch_pie.c and include/net/pie.h",
            "Pan et al., PIE: A Lightweight Control Scheme to Address the Bufferbloat Problem, HPSR 2013",
        ],
        params: PARAMS,
        variables: VARIABLES,
        tail_only: false,
        fit,
        source: include_str!("pie.rs"),
    },
    build,
};

/// What PIE reports of one queue.
const VARIABLES: &[Variable] = &[
    Variable::new("p", "", "Probability of a drop or mark, at most 1."),
    Variable::new("qdelay", "s", "Queueing delay that the controller knows."),
    Variable::new("burst_allowance", "s", "Time for which packets still pass untouched."),
    Variable::new("accu_prob", "", "Sum of probabilities since the last drop."),
    Variable::new("dq_rate", "bit/s", "Estimated rate of departures; 0 before the first estimate."),
];

const PARAMS: &[Param] = &[
    TARGET,
    TUPDATE,
    ALPHA,
    BETA,
    MAX_BURST,
    Param {
        name: "mark_ecnth",
        doc: "Probability up to which ECN-capable packets are marked; above, they are dropped.",
        kind: Kind::Probability { default: 0.1 },
    },
    ECN,
    BYTEMODE,
    DQ_RATE_ESTIMATOR,
    DERANDOMIZE,
    Param {
        name: "active_threshold",
        doc: "Share of the limit that must be occupied before PIE works; 0 for always, about 1/3 in RFC 8033.",
        kind: Kind::Probability { default: 0.0 },
    },
    MTU,
    profile("rfc8033"),
];

pub(crate) const TARGET: Param = Param {
    name: "target",
    doc: "Queueing delay at which the controller aims.",
    kind: Kind::Time {
        default: Duration::from_millis(15),
        min: Duration::from_micros(1),
        max: Duration::from_secs(3600),
    },
};

pub(crate) const TUPDATE: Param = Param {
    name: "tupdate",
    doc: "Time between two updates of the probability.",
    kind: Kind::Time {
        default: Duration::from_millis(15),
        min: Duration::from_micros(100),
        max: Duration::from_secs(3600),
    },
};

pub(crate) const ALPHA: Param = Param {
    name: "alpha",
    doc: "Integral gain of the controller; `tc` counts in sixteenths, so that 0.125 is its 2.",
    kind: Kind::Number { unit: "Hz", default: 0.125, min: 0.0, max: 1000.0 },
};

pub(crate) const BETA: Param = Param {
    name: "beta",
    doc: "Proportional gain of the controller; `tc` counts in sixteenths, so that 1.25 is its 20.",
    kind: Kind::Number { unit: "Hz", default: 1.25, min: 0.0, max: 1000.0 },
};

pub(crate) const MAX_BURST: Param = Param {
    name: "max_burst",
    doc: "Time for which packets pass untouched after a queue without congestion.",
    kind: Kind::Time { default: Duration::from_millis(150), min: Duration::ZERO, max: Duration::from_secs(3600) },
};

pub(crate) const ECN: Param = Param {
    name: "ecn",
    doc: "Mark ECN-capable packets (RFC 3168) instead of dropping them while the probability is low.",
    kind: Kind::Switch { default: false },
};

pub(crate) const BYTEMODE: Param = Param {
    name: "bytemode",
    doc: "Scale the probability of packets up to `mtu` by their size.",
    kind: Kind::Switch { default: false },
};

pub(crate) const DQ_RATE_ESTIMATOR: Param = Param {
    name: "dq_rate_estimator",
    doc: "Compute the delay from the backlog and an estimated rate of departures, not from timestamps.",
    kind: Kind::Choice {
        default: "profile",
        words: &[
            Word("profile", "as the source does: on with `rfc8033`, off with `linux`"),
            Word("on", "backlog by estimated rate"),
            Word("off", "time that the latest packet waited"),
        ],
    },
};

pub(crate) const DERANDOMIZE: Param = Param {
    name: "derandomize",
    doc: "Space drops: none before the probabilities of arrivals sum to 0.85, one at a sum of 8.5.",
    kind: Kind::Switch { default: true },
};

pub(crate) const MTU: Param = Param {
    name: "mtu",
    doc: "Largest IP packet: unit of the short queue that is spared, and of `bytemode`.",
    kind: Kind::Size { default: Bytes::new(1500), min: Bytes::new(40), max: Bytes::new(65_535) },
};

/// The parameter `profile` with this default.
pub(crate) const fn profile(default: &'static str) -> Param {
    Param {
        name: "profile",
        doc: "Whose arithmetic PIE follows.",
        kind: Kind::Choice {
            default,
            words: &[
                Word("rfc8033", "the RFC's pseudo-code, with the dequeue rate estimator"),
                Word("linux", "Linux's, with integers, ticks of 64 ns and timestamps"),
            ],
        },
    }
}

fn fit(params: &mut Params, limit: Limit) -> Result<(), Broken> {
    if params.choice("profile") == "linux" && !params.probability("active_threshold").is_never() {
        let reason = "has no counterpart in profile linux".to_owned();
        return Err(Broken { param: "active_threshold", reason, allowed: "0".to_owned() });
    }
    fits(params, limit)
}

/// Checks the rules that PIE and FQ-PIE share.
pub(crate) fn fits(params: &Params, limit: Limit) -> Result<(), Broken> {
    let mtu = params.size("mtu");
    if let Limit::Bytes(bytes) = limit
        && bytes < mtu
    {
        let reason = format!("is above the limit of {bytes}");
        return Err(Broken { param: "mtu", reason, allowed: format!("at most {bytes}") });
    }
    if params.choice("profile") != "linux" {
        return Ok(());
    }
    for param in ["alpha", "beta"] {
        let sixteenths = params.number(param) * 16.0;
        if sixteenths > 32.0 || sixteenths.fract() > 0.0 {
            let reason = "is no gain that profile linux can have".to_owned();
            return Err(Broken { param, reason, allowed: "multiples of 1/16 Hz up to 2 Hz".to_owned() });
        }
    }
    Ok(())
}

fn build(Setup { limit, params, chance }: Setup<'_>) -> Box<dyn Queue> {
    Box::new(Fifo::new(limit, Pie::new(PieConfig::of(params), chance)))
}

/// Whose arithmetic PIE follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieProfile {
    /// RFC 8033.
    Rfc8033,
    /// Linux 6.1.
    Linux,
}

/// Parameters of PIE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PieConfig {
    /// Queueing delay at which the controller aims.
    pub target: Duration,
    /// Time between two updates.
    pub tupdate: Duration,
    /// Integral gain, Hz; [`PieProfile::Linux`] rounds to sixteenths.
    pub alpha: f64,
    /// Proportional gain, Hz; [`PieProfile::Linux`] rounds to sixteenths.
    pub beta: f64,
    /// Time for which packets pass untouched after a queue without congestion.
    pub max_burst: Duration,
    /// Probability up to which ECN-capable packets are marked.
    pub mark_ecnth: Probability,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Scale the probability by the size of the packet.
    pub bytemode: bool,
    /// Compute the delay from the backlog and an estimated rate.
    pub dq_rate_estimator: bool,
    /// Space drops by sums of probabilities.
    pub derandomize: bool,
    /// Share of the limit that must be occupied before PIE works; 0 for always. [`crate::FqPie`] ignores it.
    pub active_threshold: Probability,
    /// Largest IP packet.
    pub mtu: Bytes,
    /// Whose arithmetic is followed.
    pub profile: PieProfile,
}

impl PieConfig {
    /// The defaults of a profile.
    #[must_use]
    pub fn new(profile: PieProfile) -> Self {
        Self {
            target: Duration::from_millis(15),
            tupdate: Duration::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            max_burst: Duration::from_millis(150),
            mark_ecnth: Probability::clamped(0.1),
            ecn: false,
            bytemode: false,
            dq_rate_estimator: profile == PieProfile::Rfc8033,
            derandomize: true,
            active_threshold: Probability::default(),
            mtu: Bytes::new(1500),
            profile,
        }
    }

    /// The values of the row's parameters.
    fn of(params: &Params) -> Self {
        Self {
            mark_ecnth: params.probability("mark_ecnth"),
            active_threshold: params.probability("active_threshold"),
            ..Self::shared(params)
        }
    }

    /// The values of the parameters that the rows of PIE and FQ-PIE share.
    pub(crate) fn shared(params: &Params) -> Self {
        let linux = params.choice("profile") == "linux";
        let own = Self::new(if linux { PieProfile::Linux } else { PieProfile::Rfc8033 });
        Self {
            target: params.time("target"),
            tupdate: params.time("tupdate"),
            alpha: params.number("alpha"),
            beta: params.number("beta"),
            max_burst: params.time("max_burst"),
            ecn: params.switch("ecn"),
            bytemode: params.switch("bytemode"),
            dq_rate_estimator: match params.choice("dq_rate_estimator") {
                "on" => true,
                "off" => false,
                _ => own.dq_rate_estimator,
            },
            derandomize: params.switch("derandomize"),
            mtu: params.size("mtu"),
            ..own
        }
    }

    /// The first update after `now`: updates come at multiples of `tupdate`.
    pub(crate) fn first_update_after(&self, now: Instant) -> Instant {
        let tupdate = self.tupdate.as_nanos().max(1);
        Instant::from_nanos((now.as_nanos() / tupdate + 1).saturating_mul(tupdate))
    }
}

/// The PIE discipline for one queue; see the head of this file.
#[derive(Clone, Debug)]
pub struct Pie {
    config: PieConfig,
    controller: Controller,
    chance: Stream,
    /// When the next update is due; never while it would change nothing.
    next_update: Instant,
    /// Whether PIE works (RFC 8033, section 5.3).
    active: bool,
}

impl Pie {
    /// PIE of an empty queue; `chance` gives the random numbers of its decisions.
    #[must_use]
    pub fn new(config: PieConfig, chance: Stream) -> Self {
        Self {
            config,
            controller: Controller::new(&config),
            chance,
            next_update: Instant::NEVER,
            active: config.active_threshold.is_never(),
        }
    }

    /// Begins to work if a packet more occupies the threshold (RFC 8033, section 5.3 and appendix B).
    fn activate(&mut self, size: Bytes, view: &QueueView, now: Instant) {
        let with_it = QueueView { bytes: view.bytes + size, packets: view.packets + Packets::new(1), ..*view };
        if with_it.occupancy() >= self.config.active_threshold.as_f64() {
            self.active = true;
            self.controller = Controller::measuring_since(&self.config, now);
            self.next_update = self.config.first_update_after(now);
        }
    }
}

impl Aqm for Pie {
    #[inline]
    fn on_enqueue(&mut self, packet: &Packet, view: &QueueView, now: Instant) -> Verdict {
        if !self.active {
            self.activate(packet.len(), view, now);
            return Verdict::Pass;
        }
        if self.next_update == Instant::NEVER {
            self.next_update = self.config.first_update_after(now);
        }
        self.controller.on_arrival(&self.config, packet, view.bytes, &mut self.chance)
    }

    #[inline]
    fn ignores_passing(&self) -> bool {
        self.active && self.controller.ignores_passing(&self.config)
    }

    fn on_overflow(&mut self, _packet: &Packet, _view: &QueueView, _now: Instant) {
        self.controller.on_drop();
    }

    #[inline]
    fn on_dequeue(&mut self, packet: &Packet, enqueued: Instant, view: &QueueView, now: Instant) -> Verdict {
        if self.active {
            let departure = Departure { size: packet.len(), enqueued, backlog: view.bytes };
            self.controller.on_departure(&self.config, departure, now);
        }
        Verdict::Pass
    }

    fn next_timer(&self) -> Option<Instant> {
        Some(self.next_update)
    }

    fn on_timer(&mut self, view: &QueueView, now: Instant) {
        if self.controller.update(&self.config, view.bytes) {
            self.next_update = Instant::NEVER;
            self.active = self.config.active_threshold.is_never();
        } else {
            self.next_update = now + self.config.tupdate;
        }
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let state = self.controller.report(&self.config);
        visit("p", state.probability);
        visit("qdelay", state.delay);
        visit("burst_allowance", state.burst);
        visit("accu_prob", state.accumulated);
        visit("dq_rate", state.rate);
    }
}

#[cfg(test)]
mod tests;
