//! The steps and variables of a test case on a network: which directions of links and which applications they touch,
//! what each action does to them, and the values of links.

use crate::link::{Chosen, Counted, Intervention, LinkDirection, Selection};
use narrows_scenario::{Held, LinkAggregation, Scenario};
use narrows_timeline as timeline;
use narrows_timeline::{Action, Case, Edge, Filter, Lapse, LinkField, Pick, Side, Source};
use narrows_units::{Duration, Rate};
use std::collections::BTreeSet;

/// One thing that an action of a step does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    /// A direction of a link changes.
    Link {
        /// Its index; link `i` of the scenario has its forward direction at `2i` and its reverse at `2i + 1`.
        edge: usize,
        /// What it does from now on.
        what: Intervention,
        /// Round trips of the flow under test after which it ends; `None` if it ends by itself or not at all.
        rounds: Option<u64>,
    },
    /// The application of this flow writes nothing from now on.
    Pause(usize),
    /// The application of this flow writes again.
    Resume(usize),
    /// The application of this flow writes at this rate, or without limit.
    Limit(usize, Option<Rate>),
}

/// Index of a direction of a link in a [`Topology`](crate::Topology).
#[must_use]
pub const fn edge_of(link: usize, side: Side) -> usize {
    2 * link + matches!(side, Side::Reverse) as usize
}

/// Returns the effects of an action, in order.
#[must_use]
pub fn effects(action: &Action, scenario: &Scenario) -> Vec<Effect> {
    let at = |edge: &Edge, what: Intervention, rounds: Option<u64>| Effect::Link {
        edge: edge_of(edge.link, edge.side),
        what,
        rounds,
    };
    let chosen = |edge, filter, selection: &timeline::Selection, what: fn(Selection) -> Intervention| {
        vec![at(edge, what(select(filter, selection, scenario)), rounds(selection))]
    };
    match action {
        Action::Set { edges, rate, delay, per } => {
            let first = edges.first();
            let rate = first.and_then(|edge| Some(at(edge, Intervention::Rate((*rate)?), None)));
            let per = first.and_then(|edge| Some(at(edge, Intervention::Loss((*per)?), None)));
            let delays = edges.iter().filter_map(|edge| Some(at(edge, Intervention::Delay((*delay)?), None)));
            rate.into_iter().chain(per).chain(delays).collect()
        }
        Action::Drop { edge, filter, selection } => chosen(edge, filter, selection, Intervention::Drop),
        Action::Mark { edge, filter, selection } => chosen(edge, filter, selection, Intervention::Mark),
        Action::Reorder { edge, filter, packets, by } => {
            let counted = counted(filter, scenario);
            let next = Selection { counted, chosen: Chosen::All, packets: *packets, time: Duration::MAX };
            vec![at(edge, Intervention::Late(next, *by), None)]
        }
        Action::Aggregate { edge, rule } => {
            let of = |acks| if acks { Held::Acks } else { Held::All };
            let burst = |rule: timeline::Aggregation| LinkAggregation {
                packets: rule.packets,
                time: rule.time,
                of: of(rule.acks),
            };
            let rule = rule.map(burst);
            vec![at(edge, Intervention::Aggregate(rule), None)]
        }
        Action::Police { edge, rule } => {
            vec![at(edge, Intervention::Police(rule.map(|rule| (rule.rate, rule.burst))), None)]
        }
        Action::Pause(flows) => flows.iter().map(|flow| Effect::Pause(flow.index)).collect(),
        Action::Resume(flows) => flows.iter().map(|flow| Effect::Resume(flow.index)).collect(),
        Action::AppRate(flows, rate) => flows.iter().map(|flow| Effect::Limit(flow.index, *rate)).collect(),
    }
}

fn counted(filter: &Filter, scenario: &Scenario) -> Counted {
    match filter {
        Filter::All => Counted::All,
        Filter::Flow(flow) => {
            let server_sends = scenario.flows.get(flow.index).is_some_and(|flow| flow.traffic.server_sends());
            Counted::Flow { index: flow.index, along: !server_sends }
        }
    }
}

fn select(filter: &Filter, selection: &timeline::Selection, scenario: &Scenario) -> Selection {
    Selection {
        counted: counted(filter, scenario),
        chosen: match selection.pick {
            Pick::Each => Chosen::All,
            Pick::Share(share) => Chosen::Share(share),
            Pick::Every(every) => Chosen::Every(every),
        },
        packets: selection.packets.unwrap_or(u64::MAX),
        time: match selection.time {
            Some(Lapse::Time(time)) => time,
            _ => Duration::MAX,
        },
    }
}

const fn rounds(selection: &timeline::Selection) -> Option<u64> {
    match selection.time {
        Some(Lapse::Rounds(rounds)) => Some(rounds),
        _ => None,
    }
}

/// The directions of links and the applications that the steps of a case touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Indices of directions.
    pub edges: BTreeSet<usize>,
    /// Indices of flows.
    pub flows: BTreeSet<usize>,
}

impl Touched {
    /// What the steps of a scenario touch; nothing without a case.
    #[must_use]
    pub fn by(scenario: &Scenario) -> Self {
        let mut touched = Self::default();
        let actions = scenario.case.iter().flat_map(|case| &case.steps).flat_map(|step| &step.actions);
        for effect in actions.flat_map(|action| effects(action, scenario)) {
            match effect {
                Effect::Link { edge, .. } => touched.edges.insert(edge),
                Effect::Pause(flow) | Effect::Resume(flow) | Effect::Limit(flow, _) => touched.flows.insert(flow),
            };
        }
        touched
    }
}

/// The flows that a case looks at: the one under test, and those that its variables name.
#[must_use]
pub fn watched_flows(case: &Case) -> BTreeSet<usize> {
    let named = case.variables.iter().filter_map(|variable| match variable.source {
        Source::Flow { flow, .. } | Source::Control { flow, .. } | Source::Receiver { flow, .. } => Some(flow),
        _ => None,
    });
    named.chain([case.flow]).collect()
}

/// The value of a direction of a link that is brought up to now, in the unit of the field's row.
#[must_use]
pub fn link_value(link: &LinkDirection, field: LinkField) -> f64 {
    let ((rate, delay), view, meter) = (link.rate_and_delay(), link.view(), link.meter());
    match field {
        LinkField::Rate => rate.as_bps() as f64,
        LinkField::Delay => delay.as_secs_f64(),
        LinkField::Queue => view.bytes.as_u64() as f64,
        LinkField::QueuePackets => view.packets.as_u64() as f64,
        LinkField::QueueDelay if rate.is_zero() => f64::NAN,
        LinkField::QueueDelay => view.bytes.as_u64() as f64 * 8.0 / rate.as_bps() as f64,
        LinkField::Dropped => {
            (meter.dropped_overflow + meter.dropped_early + meter.dropped_forced + meter.corrupted) as f64
        }
        LinkField::Marked => meter.marked as f64,
        LinkField::Sent => meter.forwarded_bytes as f64,
    }
}
