//! Parameters of DualPI2: their rows, and what they are to the queue.

use crate::Limit;
use crate::registry::{Broken, Kind, Param, Params, Word};
use narrows_units::{Bytes, Duration};

/// Greatest time parameter.
const HOUR: Duration = Duration::from_secs(3600);

const fn time(name: &'static str, doc: &'static str, default: Duration) -> Param {
    Param { name, doc, kind: Kind::Time { default, min: Duration::from_micros(1), max: HOUR } }
}

const fn number(name: &'static str, unit: &'static str, doc: &'static str, default: f64, max: f64) -> Param {
    Param { name, doc, kind: Kind::Number { unit, default, min: 0.0, max } }
}

pub(super) const PARAMS: &[Param] = &[
    time("target", "Queueing delay at which the controller aims.", Duration::from_millis(15)),
    time("tupdate", "Time between two updates of the base probability.", Duration::from_millis(16)),
    number("alpha", "Hz", "Integral gain of the controller.", 0.16, 1000.0),
    number("beta", "Hz", "Proportional gain of the controller.", 3.2, 1000.0),
    number("coupling", "", "Coupling factor k: L4S packets are marked with k times the base probability.", 2.0, 255.0),
    Param {
        name: "l4s_aqm",
        doc: "Native AQM of the L4S queue.",
        kind: Kind::Choice {
            default: "step",
            words: &[
                Word("step", "marks each packet that has waited longer than `step_thresh`"),
                Word("ramp", "marks with a probability that rises from 0 at `min_th` to 1 at `min_th` + `range`"),
            ],
        },
    },
    time("step_thresh", "Sojourn time above which the step marks.", Duration::from_millis(1)),
    time("min_th", "Sojourn time at which the ramp begins.", Duration::from_micros(800)),
    time("range", "Width of the ramp.", Duration::from_micros(400)),
    Param {
        name: "th_len",
        doc: "With `rfc9332`: L4S packets, the departing one included, up to which the native AQM marks none.",
        kind: Kind::Integer { unit: "packets", default: 1, min: 0, max: 1_000_000 },
    },
    Param {
        name: "min_qlen_step",
        doc: "Packets that must wait in the L4S queue as a packet arrives, for the native AQM to mark it.",
        kind: Kind::Integer { unit: "packets", default: 0, min: 0, max: 1_000_000 },
    },
    Param {
        name: "scheduler",
        doc: "Which queue is served first.",
        kind: Kind::Choice {
            default: "wrr",
            words: &[
                Word(
                    "wrr",
                    "weighted round robin: Classic gets `classic_protection` of the link if both queues are full",
                ),
                Word("tsfifo", "the queue with the oldest packet, L4S packets made older by `tshift`"),
            ],
        },
    },
    Param {
        name: "classic_protection",
        doc: "Share of the link that weighted round robin leaves to Classic traffic, in whole per cent.",
        kind: Kind::Probability { default: 0.1 },
    },
    time("tshift", "Advantage of L4S packets in the time-shifted FIFO.", Duration::from_millis(50)),
    Param {
        name: "overload",
        doc: "What happens when the coupled probability reaches 1.",
        kind: Kind::Choice {
            default: "drop",
            words: &[
                Word("drop", "both queues drop with p' squared, ECN-capable packets too"),
                Word("overflow", "p' rises no further, every L4S packet is marked, and the limit drops"),
            ],
        },
    },
    Param {
        name: "drop_early",
        doc: "Decide by the controller's probability as a packet arrives, not as it leaves.",
        kind: Kind::Switch { default: false },
    },
    Param {
        name: "ce_is_l4s",
        doc: "Whether packets that arrive with CE enter the L4S queue (RFC 9331, section 5.1).",
        kind: Kind::Switch { default: true },
    },
    Param {
        name: "mtu",
        doc: "Largest IP packet: unit of the scheduler's first credit, and of the backlog that `linux` spares.",
        kind: Kind::Size { default: Bytes::new(1500), min: Bytes::new(40), max: Bytes::new(65_535) },
    },
    Param {
        name: "profile",
        doc: "How a probability becomes a decision.",
        kind: Kind::Choice {
            default: "rfc9332",
            words: &[
                Word("rfc9332", "by sums of probabilities, as the RFC's `recur`"),
                Word("linux", "by random numbers, and never if less than 2 MTU wait behind the packet"),
            ],
        },
    },
];

/// Rejects values that do not go together.
pub(super) fn fit(params: &mut Params, limit: Limit) -> Result<(), Broken> {
    let mtu = params.size("mtu");
    if let Limit::Bytes(bytes) = limit
        && bytes < mtu
    {
        let reason = format!("is above the limit of {bytes}");
        return Err(Broken { param: "mtu", reason, allowed: format!("at most {bytes}") });
    }
    let protection = 100.0 * params.probability("classic_protection").as_f64();
    if (protection - protection.round()).abs() > 1e-6 {
        let reason = "is not a whole percentage".to_owned();
        return Err(Broken { param: "classic_protection", reason, allowed: "whole per cent, such as 0.1".to_owned() });
    }
    if params.number("coupling") <= 0.0 {
        let allowed = "more than 0".to_owned();
        return Err(Broken { param: "coupling", reason: "does not couple the queues".to_owned(), allowed });
    }
    Ok(())
}

/// The native AQM of the L4S queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Native {
    /// Marks each packet that has waited longer.
    Step(Duration),
    /// Marks with a probability that rises from 0 at the first time to 1 at the sum of both.
    Ramp(Duration, Duration),
}

/// Which queue is served first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// Weighted round robin, with this share of Classic traffic in per cent.
    Weighted(u32),
    /// The queue with the oldest packet, L4S packets made older by this time.
    TimeShifted(Duration),
}

/// Parameters of DualPI2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DualPi2Config {
    /// Queueing delay at which the controller aims.
    pub target: Duration,
    /// Time between two updates.
    pub tupdate: Duration,
    /// Integral gain, Hz.
    pub alpha: f64,
    /// Proportional gain, Hz.
    pub beta: f64,
    /// Coupling factor k.
    pub coupling: f64,
    /// The native AQM of the L4S queue.
    pub native: Native,
    /// L4S packets, the departing one included, up to which the native AQM marks none (Th_len); not with `random`.
    pub th_len: u64,
    /// Packets that must wait before a packet for the native AQM to mark it.
    pub min_qlen_step: u64,
    /// Which queue is served first.
    pub scheduler: Scheduler,
    /// Drop packets of both queues, ECN-capable or not, when the coupled probability reaches 1.
    pub drop_on_overload: bool,
    /// Decide as a packet arrives.
    pub drop_early: bool,
    /// Packets with CE enter the L4S queue.
    pub ce_is_l4s: bool,
    /// Largest IP packet.
    pub mtu: Bytes,
    /// Decide by random numbers as Linux does, instead of the RFC's sums.
    pub random: bool,
}

impl DualPi2Config {
    /// The values of the row's parameters.
    pub(super) fn of(params: &Params) -> Self {
        Self {
            target: params.time("target"),
            tupdate: params.time("tupdate"),
            alpha: params.number("alpha"),
            beta: params.number("beta"),
            coupling: params.number("coupling"),
            native: match params.choice("l4s_aqm") {
                "ramp" => Native::Ramp(params.time("min_th"), params.time("range")),
                _ => Native::Step(params.time("step_thresh")),
            },
            th_len: params.integer("th_len"),
            min_qlen_step: params.integer("min_qlen_step"),
            scheduler: match params.choice("scheduler") {
                "tsfifo" => Scheduler::TimeShifted(params.time("tshift")),
                _ => Scheduler::Weighted((100.0 * params.probability("classic_protection").as_f64()).round() as u32),
            },
            drop_on_overload: params.choice("overload") == "drop",
            drop_early: params.switch("drop_early"),
            ce_is_l4s: params.switch("ce_is_l4s"),
            mtu: params.size("mtu"),
            random: params.choice("profile") == "linux",
        }
    }
}
