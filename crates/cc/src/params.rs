//! Parameters that several rows share, and how they are read.

use crate::row::{Param, ParamKind, Params, Row};

/// RFC 3465's L.
pub(crate) const ABC_LIMIT: Param = Param {
    name: "abc_limit",
    doc: "Most that one ACK adds in standard slow start (RFC 3465's L); 0 is the profile's: 1 by RFC 5681, no limit in Linux.",
    kind: ParamKind::Number { unit: "SMSS", default: 0.0, min: 0.0, max: 1000.0 },
};

/// RFC 3742's max_ssthresh.
pub(crate) const MAX_SSTHRESH: Param = Param {
    name: "max_ssthresh",
    doc: "Window above which standard slow start is limited (RFC 3742, where 100 is proposed); 0 is no limit.",
    kind: ParamKind::Number { unit: "SMSS", default: 0.0, min: 0.0, max: 1e6 },
};

/// RFC 8511's switch.
pub(crate) const ABE: Param = Param {
    name: "abe",
    doc: "Alternative backoff with ECN (RFC 8511): an ECN echo in congestion avoidance multiplies by beta_ecn.",
    kind: ParamKind::Switch { default: false },
};

/// RFC 8511's factor, with the RFC's default for the algorithm.
pub(crate) const fn beta_ecn(default: f64) -> Param {
    Param {
        name: "beta_ecn",
        doc: "Share of the window that is left after an ECN echo where abe is on (RFC 8511, section 3).",
        kind: ParamKind::Number { unit: "", default, min: 0.5, max: 1.0 },
    }
}

/// The limit of slow start per ACK, in segments; 0 stands for `by_profile`.
pub(crate) fn abc_limit(params: &Params, row: &Row, by_profile: u64) -> u64 {
    match params.number(row, "abc_limit") as u64 {
        0 => by_profile,
        n => n,
    }
}

/// The ECN factor if ABE is on.
pub(crate) fn abe(params: &Params, row: &Row) -> Option<f64> {
    params.switch(row, "abe").then(|| params.number(row, "beta_ecn"))
}
