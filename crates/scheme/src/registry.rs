//! The registry: one row per scheme, for CLI lists, documentation and scenario validation.

use crate::acns::codec;
use narrows_cc::{Param, ParamKind};
use narrows_tcp::HeaderBits;

/// A scheme as users see it.
#[derive(Clone, Copy, Debug)]
pub struct SchemeRow {
    /// Name in scenario files.
    pub name: &'static str,
    /// Human-readable title.
    pub title: &'static str,
    /// Papers it follows.
    pub sources: &'static [&'static str],
    /// Parameters, by their names in scenario files.
    pub params: &'static [Param],
    /// The bits of segments that both ends write, among those that ECN could use.
    pub bits: HeaderBits,
}

impl SchemeRow {
    /// Whether ECN is off on a connection on which the scheme is in force.
    #[must_use]
    pub const fn excludes_ecn(&self) -> bool {
        self.bits.excludes(HeaderBits::CLASSIC_ECN)
    }
}

const fn number(name: &'static str, doc: &'static str, unit: &'static str, default: f64, min: f64, max: f64) -> Param {
    Param { name, doc, kind: ParamKind::Number { unit, default, min, max } }
}

const ACNS: SchemeRow = SchemeRow {
    bits: codec::BITS,
    name: "acns",
    title: "Advanced Congestion Notification System",
    sources: &[
        "M. Hruby, M. Olsovsky, M. Kotocova: A Novel Technique for TCP Based Congestion Control, DCNET 2013",
        "M. Olsovsky: Advanced notification system for TCP performance increase, Bulletin of the ACM Slovakia 5(2), 2013",
    ],
    params: &[
        Param {
            name: "formula",
            doc: "Weight formula: DCNET 2013, equation 4, or the thesis's equations 3 and 4 as printed, its inverse.",
            kind: ParamKind::Choice { default: "dcnet2013", allowed: &["dcnet2013", "thesis2013"] },
        },
        number(
            "priority_weight",
            "v_p, share of the priority part; v_p + v_a = 1 (thesis, table 1).",
            "",
            0.8,
            0.0,
            1.0,
        ),
        number("age_weight", "v_a, share of the age part (thesis, table 1).", "", 0.2, 0.0, 1.0),
        number("freeze_threshold", "th_A1: from this weight on freeze (thesis, table 1).", "", 0.95, 0.0, 1e6),
        number("fallback_threshold", "th_A2: from this weight on fallback (thesis, table 1).", "", 1.0, 0.0, 1e6),
        number(
            "loss_fallback_threshold",
            "th_L1: from this trend on a loss means fallback, below it freeze (thesis, table 1; DCNET 2013 rounds to 1.84).",
            "",
            1.8413,
            0.0,
            4.0,
        ),
        number(
            "loss_decrease_threshold",
            "th_L2: from this trend on a loss means what it means to the base algorithm (thesis, table 1; DCNET 2013: 2.15).",
            "",
            2.1587,
            0.0,
            4.0,
        ),
        number(
            "trend_count",
            "How many of the latest commands make the loss trend (thesis, table 1).",
            "commands",
            10.0,
            1.0,
            1_000.0,
        ),
        number(
            "trend_sigma",
            "sigma of the trend's weights exp(-i/sigma) (thesis, table 1).",
            "commands",
            3.0,
            0.001,
            1e6,
        ),
        Param {
            name: "p_max",
            doc: "p_max of the priority part: 63, the largest DSCP, or the largest priority in the table.",
            kind: ParamKind::Choice { default: "63", allowed: &["63", "observed"] },
        },
        number("idle_timeout", "A flow without a segment for this long leaves the table.", "s", 60.0, 1e-9, 1e9),
        number(
            "max_flows",
            "Bound of the flow table; at the bound the longest idle flow leaves.",
            "flows",
            65_536.0,
            1.0,
            4_294_967_296.0,
        ),
        Param {
            name: "command_scope",
            doc: "Whether a command rules until the next answer to an asking segment, or only until the next ACK.",
            kind: ParamKind::Choice { default: "window", allowed: &["window", "ack"] },
        },
        Param {
            name: "ipv6",
            doc: "How CMI travels in IPv6 (thesis, 4.1.2): a hop-by-hop options header, or a 17-bit flow label's spare bit.",
            kind: ParamKind::Choice { default: "extension", allowed: &["extension", "flow_label"] },
        },
        Param {
            name: "obey",
            doc: "Whether senders obey commands; if not, they only count them (thesis, 3.4: no feedback).",
            kind: ParamKind::Switch { default: true },
        },
    ],
};

const NGWA: SchemeRow = SchemeRow {
    bits: HeaderBits::NONE,
    name: "ngwa",
    title: "New General Window Advertising",
    sources: &[
        "M. Talau and E. C. G. Wille: Available Network Bandwidth Schema to Improve Performance in TCP Protocols, International Journal of Computer Networks & Communications 5(5), 2013",
    ],
    params: &[
        number(
            "mode",
            "Mode (table 1): with congestion window 1, 2, 5, 6; with smoothing 2, 4, 6, 8; with flow division 5 to 8.",
            "",
            6.0,
            1.0,
            8.0,
        ),
        // The range of alpha excludes both ends, and that of flow_factor excludes zero.
        number(
            "alpha",
            "alpha, above 0 and below 1: weight of the newest value in the receiver's smoothing (equation 4).",
            "",
            0.3,
            1e-9,
            1.0 - 1e-9,
        ),
        number(
            "flow_factor",
            "Above 0: share of the queue's limit that its flows divide; the rest is for ACKs (equation 3).",
            "",
            0.98,
            1e-9,
            1.0,
        ),
        number("idle_timeout", "A flow without a segment for this long leaves the table.", "s", 60.0, 1e-9, 1e9),
        number(
            "max_flows",
            "Bound of the flow table; at the bound the longest idle flow leaves.",
            "flows",
            65_536.0,
            1.0,
            4_294_967_296.0,
        ),
        Param {
            name: "shrink",
            doc: "Whether the right edge of an advertised window may move left, as the paper reads; RFC 9293 advises against it.",
            kind: ParamKind::Switch { default: false },
        },
        Param {
            name: "fast_retransmit",
            doc: "Whether flows of modes 3, 4, 7 and 8 recover losses as `recovery` says, instead of by the timer alone.",
            kind: ParamKind::Switch { default: false },
        },
        Param {
            name: "stamp",
            doc: "When routers count a packet's flow and write their value: as it leaves the queue, or before it enters.",
            kind: ParamKind::Choice { default: "departure", allowed: &["departure", "arrival"] },
        },
        Param {
            name: "max_window",
            doc: "W_max, the largest window that a receiver advertises (equation 2): none, or an amount of data such as \"64 KiB\".",
            kind: ParamKind::Choice { default: "none", allowed: &["none", "an amount of data"] },
        },
    ],
};

/// Returns all schemes, in the order in which they are shown.
#[must_use]
pub fn registry() -> &'static [SchemeRow] {
    &[ACNS, NGWA]
}

/// Returns the row of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static SchemeRow> {
    registry().iter().find(|row| row.name == name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::acns::AcnsConfig;
    use crate::ngwa::{NgwaConfig, NgwaMode, Stamp};

    #[test]
    fn names_are_found_and_unique() {
        for row in registry() {
            assert_eq!(find(row.name).unwrap().title, row.title);
            let mut names: Vec<_> = row.params.iter().map(|p| p.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), row.params.len(), "{}", row.name);
        }
        assert!(find("acn").is_none() && find("").is_none());
    }

    #[test]
    fn acns_defaults_are_those_of_its_configuration() {
        let d = AcnsConfig::default();
        for (name, value) in [
            ("priority_weight", d.priority_weight),
            ("age_weight", d.age_weight),
            ("freeze_threshold", d.freeze_threshold),
            ("fallback_threshold", d.fallback_threshold),
            ("loss_fallback_threshold", d.loss_fallback_threshold),
            ("loss_decrease_threshold", d.loss_decrease_threshold),
            ("trend_count", f64::from(d.trend_count)),
            ("trend_sigma", d.trend_sigma),
            ("idle_timeout", d.idle_timeout.as_secs_f64()),
            ("max_flows", d.max_flows as f64),
        ] {
            let param = ACNS.params.iter().find(|p| p.name == name).unwrap();
            let ParamKind::Number { default, min, max, .. } = param.kind else { unreachable!() };
            assert!((default - value).abs() < 1e-12, "{name}");
            assert!(min <= default && default <= max, "{name}");
        }
    }

    #[test]
    fn every_bound_of_acns_is_accepted_by_its_check() {
        let bound = |name: &str, upper: bool| {
            let param = ACNS.params.iter().find(|p| p.name == name).unwrap();
            let ParamKind::Number { min, max, .. } = param.kind else { unreachable!() };
            if upper { max } else { min }
        };
        for upper in [false, true] {
            let config = AcnsConfig {
                freeze_threshold: bound("freeze_threshold", upper),
                fallback_threshold: bound("fallback_threshold", upper),
                loss_fallback_threshold: bound("loss_fallback_threshold", upper),
                loss_decrease_threshold: bound("loss_decrease_threshold", upper),
                trend_count: bound("trend_count", upper) as u32,
                trend_sigma: bound("trend_sigma", upper),
                idle_timeout: narrows_units::Duration::from_secs_f64(bound("idle_timeout", upper)),
                max_flows: bound("max_flows", upper) as u64,
                priority_weight: bound("priority_weight", upper),
                age_weight: 1.0 - bound("priority_weight", upper),
                ..AcnsConfig::default()
            };
            assert_eq!(config.check(), Ok(()));
        }
    }

    fn range_of_ngwa(name: &str) -> (f64, f64, f64) {
        let param = NGWA.params.iter().find(|p| p.name == name).unwrap();
        let ParamKind::Number { default, min, max, .. } = param.kind else { unreachable!() };
        (default, min, max)
    }

    #[test]
    fn ngwa_defaults_are_those_of_its_configuration() {
        let d = NgwaConfig::default();
        for (name, value) in [
            ("mode", f64::from(d.mode.number())),
            ("alpha", d.alpha),
            ("flow_factor", d.flow_factor),
            ("idle_timeout", d.idle_timeout.as_secs_f64()),
            ("max_flows", d.max_flows as f64),
        ] {
            let (default, min, max) = range_of_ngwa(name);
            assert!((default - value).abs() < 1e-12 && min <= default && default <= max, "{name}");
        }
        let switch = |name| NGWA.params.iter().find(|p| p.name == name).map(|p| p.kind);
        assert!(matches!(switch("shrink"), Some(ParamKind::Switch { default }) if default == d.shrink));
        let departure = d.stamp == Stamp::Departure;
        assert!(matches!(switch("stamp"), Some(ParamKind::Choice { default: "departure", .. }) if departure));
    }

    #[test]
    fn every_bound_of_ngwa_is_accepted_by_its_check() {
        for upper in [false, true] {
            let bound = |name: &str| {
                let (_, min, max) = range_of_ngwa(name);
                if upper { max } else { min }
            };
            let config = NgwaConfig {
                mode: NgwaMode::new(bound("mode") as u8).unwrap(),
                alpha: bound("alpha"),
                flow_factor: bound("flow_factor"),
                idle_timeout: narrows_units::Duration::from_secs_f64(bound("idle_timeout")),
                max_flows: bound("max_flows") as u64,
                ..NgwaConfig::default()
            };
            assert_eq!(config.check(), Ok(()));
        }
    }
}
