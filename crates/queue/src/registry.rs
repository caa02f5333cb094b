//! The registry: one row per queue discipline, for CLI lists, documentation and scenario validation.
//!
//! The types match those of the congestion-control registry, so that one reader serves both. Queues are built from
//! typed parameters ([`droptail`](crate::droptail()), [`red`](crate::red())), not from rows.

/// The values that a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParamKind {
    /// An amount of packets or of bytes, with its unit.
    Limit,
    /// A number in `unit`, from `min` to `max`.
    Number {
        /// Unit, as shown to users; empty if it has none.
        unit: &'static str,
        /// Value used when none is given.
        default: f64,
        /// Smallest allowed value.
        min: f64,
        /// Largest allowed value.
        max: f64,
    },
    /// On or off.
    Switch {
        /// Setting used when none is given.
        default: bool,
    },
}

/// A parameter of a queue discipline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Param {
    /// Name in scenario files.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub doc: &'static str,
    /// The values that it takes.
    pub kind: ParamKind,
}

/// A queue discipline, as users see it.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Name in scenario files.
    pub name: &'static str,
    /// Title shown to users.
    pub title: &'static str,
    /// RFC sections and papers it follows.
    pub sources: &'static [&'static str],
    /// Parameters.
    pub params: &'static [Param],
}

const LIMIT: Param = Param {
    name: "limit",
    doc: "Most that may wait, in packets or in bytes (IP headers included), 100 packets unless given; the packet in transmission does not count.",
    kind: ParamKind::Limit,
};

/// Larger than any queue that fits in memory, so that it catches wrong units and rejects no real value.
const HUGE: f64 = 1e9;

const DROPTAIL: Row = Row { name: "droptail", title: "Drop-tail", sources: &["RFC 7567, section 2"], params: &[LIMIT] };

const RED: Row = Row {
    name: "red",
    title: "Random Early Detection",
    sources: &[
        "Floyd and Jacobson, Random Early Detection Gateways for Congestion Avoidance, IEEE/ACM ToN 1(4), 1993",
        "Floyd, Recommendation on using the gentle variant of RED, 2000",
        "RFC 3168, section 7",
    ],
    params: &[
        LIMIT,
        Param {
            name: "min_threshold",
            doc: "Lower threshold of the average queue (min_th): below it nothing is dropped early.",
            kind: ParamKind::Number { unit: "packets, or bytes with bytes_mode", default: 5.0, min: 0.0, max: HUGE },
        },
        Param {
            name: "max_threshold",
            doc: "Upper threshold of the average queue (max_th): at it the drop probability is max_p.",
            kind: ParamKind::Number { unit: "packets, or bytes with bytes_mode", default: 15.0, min: 0.0, max: HUGE },
        },
        Param {
            name: "weight",
            doc: "Weight of the newest sample in the moving average (w_q).",
            kind: ParamKind::Number { unit: "", default: 0.002, min: 1e-9, max: 1.0 },
        },
        Param {
            name: "max_p",
            doc: "Drop probability as the average reaches the upper threshold.",
            kind: ParamKind::Number { unit: "", default: 0.1, min: 0.0, max: 1.0 },
        },
        Param {
            name: "gentle",
            doc: "Raise the probability from max_p to 1 at twice max_threshold, instead of dropping all from there on.",
            kind: ParamKind::Switch { default: true },
        },
        Param {
            name: "ecn",
            doc: "Mark ECN-capable packets (RFC 3168) instead of dropping them early.",
            kind: ParamKind::Switch { default: false },
        },
        Param {
            name: "bytes_mode",
            doc: "Average bytes instead of packets, and drop larger packets more often.",
            kind: ParamKind::Switch { default: false },
        },
        Param {
            name: "wait",
            doc: "Let at least 1/p_b packets pass between early drops, as ns-2 does.",
            kind: ParamKind::Switch { default: true },
        },
        Param {
            name: "mean_packet",
            doc: "Mean packet size, for the decay over idle time and for bytes_mode.",
            kind: ParamKind::Number { unit: "bytes", default: 500.0, min: 1.0, max: HUGE },
        },
    ],
};

/// All queue disciplines, in the order they are shown.
#[must_use]
pub fn registry() -> &'static [Row] {
    const ROWS: &[Row] = &[DROPTAIL, RED];
    ROWS
}

/// The row of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Row> {
    registry().iter().find(|row| row.name == name)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::float_cmp)]
mod tests {
    use super::*;
    use crate::RedConfig;

    #[test]
    fn shown_defaults_of_red_are_the_defaults() {
        let number = |name: &str| match find("red").unwrap().params.iter().find(|p| p.name == name).unwrap().kind {
            ParamKind::Number { default, min, max, .. } => {
                assert!((min..=max).contains(&default), "{name} out of its own range");
                default
            }
            other => panic!("{name} is {other:?}"),
        };
        let switch = |name: &str| match find("red").unwrap().params.iter().find(|p| p.name == name).unwrap().kind {
            ParamKind::Switch { default } => default,
            other => panic!("{name} is {other:?}"),
        };
        let d = RedConfig::default();
        assert_eq!(number("min_threshold"), d.min_threshold);
        assert_eq!(number("max_threshold"), d.max_threshold);
        assert_eq!(number("weight"), d.weight);
        assert_eq!(number("max_p"), d.max_p.as_f64());
        assert_eq!(number("mean_packet"), d.mean_packet.as_f64());
        assert_eq!(switch("gentle"), d.gentle);
        assert_eq!(switch("ecn"), d.ecn);
        assert_eq!(switch("bytes_mode"), d.bytes_mode);
        assert_eq!(switch("wait"), d.wait);
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = registry().iter().map(|row| row.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), registry().len());
        for row in registry() {
            let mut params: Vec<_> = row.params.iter().map(|p| p.name).collect();
            params.sort_unstable();
            params.dedup();
            assert_eq!(params.len(), row.params.len(), "{}", row.name);
        }
    }
}
