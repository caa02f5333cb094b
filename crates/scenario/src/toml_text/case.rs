//! Test cases as TOML.

use super::syntax::{element, inline, list, number, quoted, table};
use super::{Pairs, instant, rate, size, time};
use crate::quantity::show_lapse;
use narrows_timeline::{
    Action, Case, Edge, Expectation, Filter, FlowRef, Grid, Lapse, Pick, Quantifier, Selection, Side, Step, Until, When,
};
use narrows_units::Duration;

/// Appends the tables of a case. Without `named`, those of its settings are left out that affect no run.
pub(super) fn write(out: &mut String, case: &Case, named: bool) {
    let mut pairs: Pairs = vec![("flow", quoted(&case.flow_name))];
    if let Some(name) = &case.bottleneck {
        pairs.push(("bottleneck", quoted(name)));
    }
    if named {
        pairs.extend(about(case));
    }
    table(out, "case", &pairs);
    let name = |step: usize| quoted(case.steps.get(step).map_or("", |step| &step.name));
    for step in &case.steps {
        element(out, "steps", &step_pairs(step, &name));
    }
    for expectation in &case.expectations {
        element(out, "expect", &expect_pairs(expectation, &name, named));
    }
}

fn about(case: &Case) -> Pairs {
    let mut pairs = vec![("source", quoted(&case.source)), ("open", quoted(&case.open))];
    if !case.controls.is_empty() {
        pairs.push(("cc", list(case.controls.iter().map(|name| quoted(name)))));
    }
    let Grid { rates, rtts, buffers } = &case.grid;
    let axes: Pairs = [
        ("rate", rates.iter().map(|of| rate(*of)).collect::<Vec<_>>()),
        ("rtt", rtts.iter().map(|of| time(*of)).collect()),
        ("buffer", buffers.iter().map(|of| number(*of)).collect()),
    ]
    .into_iter()
    .filter(|(_, values)| !values.is_empty())
    .map(|(key, values)| (key, list(values)))
    .collect();
    if !axes.is_empty() {
        pairs.push(("grid", inline(&axes)));
    }
    pairs
}

fn lapse(lapse: Lapse) -> String {
    quoted(&show_lapse(lapse))
}

fn step_pairs(step: &Step, name: &dyn Fn(usize) -> String) -> Pairs {
    let mut pairs = Pairs::new();
    if step.named {
        pairs.push(("name", quoted(&step.name)));
    }
    if let Some(after) = step.after {
        pairs.push(("after", name(after)));
    }
    match &step.when {
        When::At(at) => pairs.push(("at", instant(*at))),
        When::Condition(expression) => pairs.push(("when", quoted(&expression.text))),
        When::Later(Lapse::Time(Duration::ZERO)) => {}
        When::Later(value) => pairs.push(("delay", lapse(*value))),
    }
    if let Some(within) = step.within {
        pairs.push(("within", lapse(within)));
    }
    pairs.extend(place(&step.actions));
    pairs.extend(step.actions.iter().map(action));
    pairs
}

/// Returns the keys that the actions of a step share: link, direction and flows.
fn place(actions: &[Action]) -> Pairs {
    let mut pairs = Pairs::new();
    let edge = actions.iter().find_map(edge_of);
    // A delay of both directions is one of a step without a direction.
    let both = actions.iter().any(|action| matches!(action, Action::Set { edges, .. } if edges.len() > 1));
    if let Some(edge) = edge {
        pairs.push(("link", quoted(&edge.name)));
        if !both {
            pairs.push(("direction", quoted(if edge.side == Side::Forward { "forward" } else { "reverse" })));
        }
    }
    let filters = || actions.iter().filter_map(filter_of);
    let applications = actions.iter().find_map(flows_of);
    if filters().any(|filter| *filter == Filter::All) {
        pairs.push(("flows", quoted("all")));
    } else if let Some(flows) = applications {
        pairs.push(("flows", list(flows.iter().map(|flow| quoted(&flow.name)))));
    } else if let Some(Filter::Flow(flow)) = filters().next() {
        pairs.push(("flows", quoted(&flow.name)));
    }
    pairs
}

fn edge_of(action: &Action) -> Option<&Edge> {
    match action {
        Action::Set { edges, .. } => edges.first(),
        Action::Drop { edge, .. }
        | Action::Mark { edge, .. }
        | Action::Reorder { edge, .. }
        | Action::Aggregate { edge, .. }
        | Action::Police { edge, .. } => Some(edge),
        Action::Pause(_) | Action::Resume(_) | Action::AppRate(..) => None,
    }
}

const fn filter_of(action: &Action) -> Option<&Filter> {
    match action {
        Action::Drop { filter, .. } | Action::Mark { filter, .. } | Action::Reorder { filter, .. } => Some(filter),
        _ => None,
    }
}

const fn flows_of(action: &Action) -> Option<&Vec<FlowRef>> {
    match action {
        Action::Pause(flows) | Action::Resume(flows) | Action::AppRate(flows, _) => Some(flows),
        _ => None,
    }
}

fn action(action: &Action) -> (&'static str, String) {
    match action {
        Action::Set { rate: to, delay, per, .. } => {
            let pairs = [
                to.map(|to| ("rate", rate(to))),
                delay.map(|delay| ("delay", time(delay))),
                per.map(|per| ("per", number(per.as_f64()))),
            ];
            ("set", inline(&pairs.into_iter().flatten().collect::<Vec<_>>()))
        }
        Action::Drop { selection, .. } => ("drop", inline(&selected(selection))),
        Action::Mark { selection, .. } => ("mark", inline(&selected(selection))),
        Action::Reorder { packets, by, .. } => {
            ("reorder", inline(&[("packets", packets.to_string()), ("by", time(*by))]))
        }
        Action::Aggregate { rule: Some(rule), .. } => {
            let of = quoted(if rule.acks { "acks" } else { "all" });
            ("aggregate", inline(&[("packets", rule.packets.to_string()), ("time", time(rule.time)), ("of", of)]))
        }
        Action::Police { rule: Some(rule), .. } => {
            ("police", inline(&[("rate", rate(rule.rate)), ("burst", size(rule.burst))]))
        }
        Action::Aggregate { rule: None, .. } => ("aggregate", "false".to_owned()),
        Action::Police { rule: None, .. } => ("police", "false".to_owned()),
        Action::Pause(_) => ("pause", "true".to_owned()),
        Action::Resume(_) => ("resume", "true".to_owned()),
        Action::AppRate(_, to) => ("app_rate", super::or_unlimited(to.map(rate))),
    }
}

fn selected(selection: &Selection) -> Pairs {
    let mut pairs = Pairs::new();
    if let Some(packets) = selection.packets {
        pairs.push(("packets", packets.to_string()));
    }
    match selection.pick {
        Pick::Each => {}
        Pick::Share(share) => pairs.push(("share", number(share.as_f64()))),
        Pick::Every(every) => pairs.push(("every", every.to_string())),
    }
    if let Some(time) = selection.time {
        pairs.push(("for", lapse(time)));
    }
    pairs
}

fn expect_pairs(expectation: &Expectation, name: &dyn Fn(usize) -> String, named: bool) -> Pairs {
    let mut pairs = Pairs::new();
    if expectation.named && named {
        pairs.push(("name", quoted(&expectation.name)));
    }
    if let Some(after) = expectation.after {
        pairs.push(("after", name(after)));
    }
    match expectation.until {
        Until::End => {}
        Until::Step(step) => pairs.push(("until", name(step))),
        Until::Lapse(value) if expectation.quantifier == Quantifier::Eventually => {
            pairs.push(("within", lapse(value)));
        }
        Until::Lapse(value) => pairs.push(("for", lapse(value))),
    }
    pairs.push((expectation.quantifier.word(), quoted(&expectation.expression.text)));
    if let Some(unless) = &expectation.unless {
        pairs.push(("unless", quoted(&unless.text)));
    }
    pairs
}
