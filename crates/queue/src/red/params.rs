//! Parameters of RED: their rows, the rules among them, and what they are to the discipline.

use super::linux::log_of;
use crate::Limit;
use crate::registry::{Amount, Broken, Kind, Param, Params, Value};
use narrows_settings::queue::{ANY, Word};
use narrows_units::{Bytes, Duration, Packets, Probability};

/// Unit of the average.
pub(super) const UNIT: &str = "packets, or bytes with bytes_mode";

/// The rows.
pub(super) const PARAMS: &[Param] = &[
    Param {
        name: "min_threshold",
        doc: "Lower threshold of the average queue (min_th), from which packets are dropped or marked early; a bare number is in the unit of `bytes_mode`, the other unit converts by `mean_packet`.",
        kind: Kind::Amount { unit: UNIT, default: Amount::Packets(5.0) },
    },
    Param {
        name: "max_threshold",
        doc: "Upper threshold of the average queue (max_th), at which the probability is `max_p`.",
        kind: Kind::Amount { unit: UNIT, default: Amount::Packets(15.0) },
    },
    Param {
        name: "weight",
        doc: "Weight of the newest sample in the moving average (w_q); 0 sets it by the link's rate (Adaptive RED).",
        kind: Kind::Number { unit: "", default: 0.002, min: 0.0, max: 1.0 },
    },
    Param {
        name: "max_p",
        doc: "Probability as the average reaches the upper threshold.",
        kind: Kind::Probability { default: 0.1 },
    },
    Param {
        name: "gentle",
        doc: "Raise the probability from `max_p` to 1 at twice `max_threshold`, instead of dropping all from there on.",
        kind: Kind::Switch { default: true },
    },
    Param {
        name: "ecn",
        doc: "Mark ECN-capable packets (RFC 3168) instead of dropping them early.",
        kind: Kind::Switch { default: false },
    },
    Param {
        name: "bytes_mode",
        doc: "Average bytes instead of packets, and drop larger packets more often.",
        kind: Kind::Switch { default: false },
    },
    Param {
        name: "wait",
        doc: "Let at least 1/p_b packets pass between early drops, as ns-2 does.",
        kind: Kind::Switch { default: true },
    },
    Param {
        name: "mean_packet",
        doc: "Mean packet size, for the decay over idle times and for `bytes_mode`.",
        kind: Kind::Size { default: Bytes::new(500), min: Bytes::new(1), max: Bytes::new(ANY) },
    },
    Param {
        name: "adaptive",
        doc: "Move `max_p` between 0.01 and 0.5 so that the average stays half-way between the thresholds (Adaptive RED).",
        kind: Kind::Switch { default: false },
    },
    Param {
        name: "target_delay",
        doc: "Queueing delay half-way between the thresholds, which then follow from the link's rate instead of `min_threshold` and `max_threshold` (Adaptive RED); 0 for none.",
        kind: Kind::Time { default: Duration::ZERO, min: Duration::ZERO, max: Duration::from_secs(3600) },
    },
    Param {
        name: "profile",
        doc: "The rules of the papers, as ns-2 has them, or the decisions of Linux 6.1, which counts bytes and has neither `gentle` nor `wait`.",
        kind: Kind::Choice {
            default: "floyd",
            words: &[
                Word("floyd", "the papers, with ns-2's choices as defaults"),
                Word("linux", "Linux 6.1 with `harddrop`: integers, and a random distance to the next drop"),
            ],
        },
    },
];

/// Converts the thresholds to the unit of `bytes_mode`, and checks that they rise up to the limit.
pub(super) fn fit(params: &mut Params, limit: Limit) -> Result<(), Broken> {
    let linux = params.choice("profile") == "linux";
    if linux {
        params.set("bytes_mode", Value::Switch(true));
    }
    let (bytes_mode, mean) = (params.switch("bytes_mode"), params.size("mean_packet").as_f64());
    let convert = |amount: Amount| match (amount, bytes_mode) {
        (Amount::Bare(n), _) | (Amount::Packets(n), false) | (Amount::Bytes(n), true) => n,
        (Amount::Packets(n), true) => n * mean,
        (Amount::Bytes(n), false) => n / mean,
    };
    let [min, max] = ["min_threshold", "max_threshold"].map(|name| convert(params.amount(name)));
    let room = convert(match limit {
        Limit::Packets(n) => Amount::Packets(n.as_f64()),
        Limit::Bytes(n) => Amount::Bytes(n.as_f64()),
    });
    let unit = if bytes_mode { "B" } else { "packets" };
    let broken = |param, reason: &str, allowed| Err(Broken { param, reason: reason.to_owned(), allowed });
    let counts = params.time("target_delay").is_zero();
    if counts && min >= max {
        return broken("min_threshold", "is not below max_threshold", format!("less than {max} {unit}"));
    }
    if counts && max > room {
        return broken("max_threshold", "is above the queue's limit", format!("at most {room} {unit}"));
    }
    if linux {
        return fit_linux(params, [min, max]);
    }
    for (name, n) in [("min_threshold", min), ("max_threshold", max)] {
        params.set(name, Value::Amount(if bytes_mode { Amount::Bytes(n) } else { Amount::Packets(n) }));
    }
    Ok(())
}

/// Checks what Linux has no counterpart of, and thresholds in bytes by its `red_check_params`.
fn fit_linux(params: &mut Params, thresholds: [f64; 2]) -> Result<(), Broken> {
    let given = [
        ("adaptive", params.switch("adaptive"), "false: Linux adapts by a timer"),
        ("target_delay", !params.time("target_delay").is_zero(), "0 s"),
        ("weight", params.number("weight") <= 0.0, "a number above 0"),
    ];
    for (param, is_given, allowed) in given {
        if is_given {
            let reason = "has no counterpart in profile linux".to_owned();
            return Err(Broken { param, reason, allowed: allowed.to_owned() });
        }
    }
    // Thresholds shifted by the weight's exponent have 31 bits.
    let most = f64::from(1_u32 << (31 - log_of(params.number("weight"))));
    let [min, max] = thresholds;
    if max >= most {
        let reason = "is too large for Linux's integers at this weight".to_owned();
        return Err(Broken { param: "max_threshold", reason, allowed: format!("less than {most} B") });
    }
    for (name, n) in [("min_threshold", min), ("max_threshold", max)] {
        params.set(name, Value::Amount(Amount::Bytes(n)));
    }
    Ok(())
}

/// Parameters of RED. Thresholds are in packets, or in bytes with `bytes_mode`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedConfig {
    /// Hard limit of the storage.
    pub limit: Limit,
    /// Lower threshold of the average, min_th: below it nothing is dropped early.
    pub min_threshold: f64,
    /// Upper threshold of the average, max_th; treated as `min_threshold` if it is smaller.
    pub max_threshold: f64,
    /// Weight w_q of the newest sample in the average, 0 to 1; other values are clamped.
    pub weight: f64,
    /// Set the weight by the link's rate instead.
    pub automatic_weight: bool,
    /// Set the thresholds by the link's rate instead, so that the queue half-way between them has this delay.
    pub target_delay: Option<Duration>,
    /// Drop probability max_p as the average reaches the upper threshold.
    pub max_p: Probability,
    /// Raise the probability from `max_p` to 1 at twice the upper threshold, instead of dropping all from there.
    pub gentle: bool,
    /// Mark ECN-capable packets instead of dropping them early.
    pub ecn: bool,
    /// Average in bytes, and drop larger packets with a higher probability.
    pub bytes_mode: bool,
    /// Let at least 1/p_b packets pass between drops.
    pub wait: bool,
    /// Mean packet size, for idle time and byte mode; zero counts as one byte.
    pub mean_packet: Bytes,
    /// Move `max_p` so that the average stays half-way between the thresholds (Adaptive RED).
    pub adaptive: bool,
}

impl Default for RedConfig {
    /// ns-3's thresholds and weight, Floyd's later advice of 0.1 for max_p, gentle, and a limit of 100 packets.
    fn default() -> Self {
        Self {
            limit: Limit::Packets(Packets::new(100)),
            min_threshold: 5.0,
            max_threshold: 15.0,
            weight: 0.002,
            automatic_weight: false,
            target_delay: None,
            max_p: Probability::clamped(0.1),
            gentle: true,
            ecn: false,
            bytes_mode: false,
            wait: true,
            mean_packet: Bytes::new(500),
            adaptive: false,
        }
    }
}

impl RedConfig {
    /// The values of the row's parameters, thresholds in the unit of `bytes_mode`.
    pub(super) fn of(limit: Limit, params: &Params) -> Self {
        let (weight, target_delay) = (params.number("weight"), params.time("target_delay"));
        Self {
            limit,
            min_threshold: params.amount("min_threshold").number(),
            max_threshold: params.amount("max_threshold").number(),
            weight,
            automatic_weight: weight <= 0.0,
            target_delay: (!target_delay.is_zero()).then_some(target_delay),
            max_p: params.probability("max_p"),
            gentle: params.switch("gentle"),
            ecn: params.switch("ecn"),
            bytes_mode: params.switch("bytes_mode"),
            wait: params.switch("wait"),
            mean_packet: params.size("mean_packet"),
            adaptive: params.switch("adaptive"),
        }
    }

    /// p_b: the drop probability for this average, before spacing; `None` if every packet is dropped.
    #[must_use]
    pub fn base_probability(&self, avg: f64) -> Option<f64> {
        let (min, max, max_p) = (self.min_threshold, self.max_threshold.max(self.min_threshold), self.max_p.as_f64());
        if avg < min {
            Some(0.0)
        } else if avg < max {
            Some(max_p * (avg - min) / (max - min))
        } else if self.gentle && avg < 2.0 * max {
            Some(max_p + (1.0 - max_p) * (avg - max) / max)
        } else {
            None
        }
    }

    /// p_a: the probability after spacing, `count` packets after the last drop (section 7 of the paper).
    #[must_use]
    pub fn spaced_probability(&self, base: f64, count: f64) -> f64 {
        let steps = count * base;
        match self.wait {
            true if steps < 1.0 => 0.0,
            true if steps < 2.0 => (base / (2.0 - steps)).min(1.0),
            false if steps < 1.0 => (base / (1.0 - steps)).min(1.0),
            _ => 1.0,
        }
    }
}
