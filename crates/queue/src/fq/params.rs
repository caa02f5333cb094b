//! Parameters of the fair queue: their rows, the rules among them, and what they are to the queue.

use crate::Limit;
use crate::registry::{Broken, Kind, Param, Params};
use narrows_units::{Bytes, Duration, Rate};

const HOUR: Duration = Duration::from_secs(3600);

/// The rows.
pub(super) const PARAMS: &[Param] = &[
    Param {
        name: "flows",
        doc: "Number of sub-queues (Linux: `orphan_mask` + 1).",
        kind: Kind::Integer { unit: "sub-queues", default: 1024, min: 1, max: 65_536 },
    },
    Param {
        name: "quantum",
        doc: "Bytes that a sub-queue may send in a round.",
        kind: Kind::Size { default: Bytes::new(3028), min: Bytes::new(256), max: Bytes::new(1_000_000) },
    },
    Param {
        name: "initial_quantum",
        doc: "Bytes that a new sub-queue may send before the others go on.",
        kind: Kind::Size { default: Bytes::new(15_140), min: Bytes::ZERO, max: Bytes::new(1_000_000_000) },
    },
    Param {
        name: "flow_limit",
        doc: "Packets that a sub-queue holds at most.",
        kind: Kind::Integer { unit: "packets", default: 100, min: 1, max: 1_000_000 },
    },
    Param {
        name: "refill_delay",
        doc: "Idle time after which a sub-queue has a credit of `quantum` again.",
        kind: Kind::Time { default: Duration::from_millis(40), min: Duration::ZERO, max: HOUR },
    },
    Param {
        name: "maxrate",
        doc: "Rate of each sub-queue, counted over IP packets. \"0 b/s\" is no such limit.",
        kind: Kind::Rate { default: Rate::ZERO, min: Rate::ZERO, max: Rate::gbps(10_000) },
    },
    Param {
        name: "low_rate_threshold",
        doc: "`maxrate` up to which packets leave one by one, not a `quantum` at a time.",
        kind: Kind::Rate { default: Rate::kbps(550), min: Rate::ZERO, max: Rate::gbps(10_000) },
    },
    Param {
        name: "ce_threshold",
        doc: "Sojourn time above which each ECN-capable packet is marked; the default is never reached.",
        kind: Kind::Time { default: HOUR, min: Duration::from_micros(1), max: HOUR },
    },
];

/// The longest pause of a flow (`NSEC_PER_SEC` in `fq_dequeue`).
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A packet that a pause must be long enough for.
const MTU: Bytes = Bytes::new(1500);

/// Checks that no pause is cut.
pub(super) fn fit(params: &mut Params, _limit: Limit) -> Result<(), Broken> {
    let [maxrate, threshold] = ["maxrate", "low_rate_threshold"].map(|name| params.rate(name));
    let (unit, what) = match params.size("quantum") {
        quantum if maxrate > threshold && quantum > MTU => (quantum, "quantum"),
        _ => (MTU, "a packet"),
    };
    let least = Rate::of(unit, LONGEST_PAUSE);
    if maxrate.is_zero() || maxrate >= least {
        return Ok(());
    }
    let reason = format!("needs more than {LONGEST_PAUSE} for {what} of {unit}");
    Err(Broken { param: "maxrate", reason, allowed: format!("at least {least}, or \"0 b/s\" for none") })
}

/// Parameters of Linux's fair queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FqConfig {
    /// Number of sub-queues, at least one.
    pub flows: u32,
    /// Bytes that a sub-queue may send in a round; zero counts as one byte.
    pub quantum: Bytes,
    /// Bytes that a new sub-queue may send before the others go on.
    pub initial_quantum: Bytes,
    /// Packets that a sub-queue holds at most.
    pub flow_limit: usize,
    /// Idle time after which a sub-queue has a credit of `quantum` again.
    pub refill_delay: Duration,
    /// Rate of each sub-queue, counted over IP packets; `None` is no such limit.
    pub maxrate: Option<Rate>,
    /// `maxrate` up to which packets leave one by one.
    pub low_rate_threshold: Rate,
    /// Sojourn time above which each ECN-capable packet is marked.
    pub ce_threshold: Duration,
}

impl Default for FqConfig {
    /// `fq_init`, for packets of 1514 bytes.
    fn default() -> Self {
        Self {
            flows: 1024,
            quantum: Bytes::new(3028),
            initial_quantum: Bytes::new(15_140),
            flow_limit: 100,
            refill_delay: Duration::from_millis(40),
            maxrate: None,
            low_rate_threshold: Rate::kbps(550),
            ce_threshold: HOUR,
        }
    }
}

impl FqConfig {
    /// The values of the row's parameters.
    pub(super) fn of(params: &Params) -> Self {
        let maxrate = params.rate("maxrate");
        Self {
            flows: u32::try_from(params.integer("flows")).unwrap_or(u32::MAX),
            quantum: params.size("quantum"),
            initial_quantum: params.size("initial_quantum"),
            flow_limit: params.integer("flow_limit") as usize,
            refill_delay: params.time("refill_delay"),
            maxrate: (!maxrate.is_zero()).then_some(maxrate),
            low_rate_threshold: params.rate("low_rate_threshold"),
            ce_threshold: params.time("ce_threshold"),
        }
    }
}
