//! The registry: one row per scheme. Scenario files, results, documentation and both worlds read the rows; no other
//! place lists schemes.

use crate::{Parts, acns, ngwa};
use narrows_settings::scheme::{Scheme, Values};

/// A column of results that a scheme fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Name of the column.
    pub name: &'static str,
    /// Unit: `packets`, `flows`, `bytes` or empty.
    pub unit: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// Whether runs with another scheme, or none, have "no value" here instead of zero.
    pub blank: bool,
}

/// The end of a flow whose part of a scheme counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The end that sends the data.
    Sender,
    /// The end that receives the data.
    Receiver,
}

/// The counters of a flow that takes part in a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowCounters {
    /// The end that has them.
    pub end: End,
    /// Whether samples over time have them too, or totals alone.
    pub over_time: bool,
    /// What is counted, in the order of `tcp::Assist::counters`.
    pub list: &'static [Counter],
}

/// A scheme.
#[derive(Clone, Copy, Debug)]
pub struct SchemeRow {
    /// What scenario files and users see of it.
    pub about: &'static Scheme,
    /// Builds its parts from the values of all parameters. The error says which value is refused, and what is allowed.
    pub build: fn(&Values) -> Result<Box<dyn Parts>, String>,
    /// What an end point of a flow counts.
    pub flow_counters: FlowCounters,
    /// What a router shows over time beside its number of flows, in the order of [`FlowCounts`](crate::FlowCounts).
    pub router_values: &'static [Counter],
    /// What a router counts, in the order of [`AgentCounters`](crate::AgentCounters).
    pub router_counters: &'static [Counter],
}

impl Counter {
    pub(crate) const fn new(name: &'static str, unit: &'static str, doc: &'static str) -> Self {
        Self { name, unit, doc, blank: false }
    }

    /// The counter with "no value" in runs without its scheme.
    pub(crate) const fn blank(self) -> Self {
        Self { blank: true, ..self }
    }
}

/// Returns all schemes, in the order in which they are shown.
#[must_use]
pub fn registry() -> &'static [SchemeRow] {
    &[acns::ROW, ngwa::ROW]
}

/// Returns the row of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static SchemeRow> {
    registry().iter().find(|row| row.about.name == name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use narrows_settings::scheme::{Kind, Rule};
    use narrows_tcp::HeaderBits;

    #[test]
    fn names_are_found_and_unique() {
        for row in registry() {
            let about = row.about;
            assert_eq!(find(about.name).unwrap().about.title, about.title);
            let keys = about.params.iter().flat_map(|p| [p.name].into_iter().chain(p.aliases.iter().copied()));
            let mut names: Vec<_> = keys.chain(["enabled", "routers"]).collect();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all, "{}", about.name);
        }
        assert!(find("acn").is_none() && find("").is_none());
    }

    #[test]
    fn rows_exclude_ecn_where_the_bits_of_end_points_do() {
        let parts: [&dyn Parts; 2] = [&acns::AcnsConfig::default(), &ngwa::NgwaConfig::default()];
        assert_eq!(registry().len(), parts.len());
        for (row, parts) in registry().iter().zip(parts) {
            let (_, assist) = parts.end(Box::new(narrows_cc::none::Unlimited));
            let excludes = assist.bits().excludes(HeaderBits::CLASSIC_ECN);
            assert_eq!(row.about.excludes_ecn, excludes, "{}", row.about.name);
        }
    }

    #[test]
    fn rules_name_parameters_of_their_kinds() {
        for about in registry().iter().map(|row| row.about) {
            for rule in about.rules {
                let kind = |name: &str| about.param(name).unwrap().kind;
                let fits = match *rule {
                    Rule::SumToOne(a, b) | Rule::Ordered(a, b) => {
                        matches!((kind(a), kind(b)), (Kind::Number(..), Kind::Number(..)))
                    }
                    Rule::OnlyWith { switch, number, .. } => {
                        matches!((kind(switch), kind(number)), (Kind::Switch, Kind::Integer(..)))
                    }
                    Rule::HoldsSegment(name) => matches!(kind(name), Kind::Or(Kind::Size, _)),
                };
                assert!(fits, "{}: {rule:?}", about.name);
            }
        }
    }
}
