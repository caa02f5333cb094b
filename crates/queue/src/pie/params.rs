//! Parameters of PIE: their rows, some of which FQ-PIE shares, the rules among them, and what they are to the queue.

use crate::Limit;
use crate::registry::{Broken, Kind, Param, Params, Word};
use narrows_units::{Bytes, Duration, Instant, Probability};

/// The rows.
pub(super) const PARAMS: &[Param] = &[
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

/// Checks the rules of PIE.
pub(super) fn fit(params: &mut Params, limit: Limit) -> Result<(), Broken> {
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
    pub(super) fn of(params: &Params) -> Self {
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
