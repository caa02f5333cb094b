//! Steps and expectations in words, for results.

use crate::case::{Action, Case, Edge, Expectation, Filter, FlowRef, Lapse, Pick, Selection, Step, Until, When};
use crate::dimension::{Dimension, Type};
use crate::unit::show;
use crate::vocabulary::Side;
use narrows_units::{Bytes, Duration, Rate};

/// A time in words.
pub(crate) fn seconds(value: f64) -> String {
    show(value, &Type::Number(Dimension::TIME)).2
}

fn time(value: Duration) -> String {
    seconds(value.as_secs_f64())
}

fn rate(value: Rate) -> String {
    show(value.as_bps() as f64 / 8.0, &Type::Number(Dimension::RATE)).2
}

fn data(value: Bytes) -> String {
    show(value.as_f64(), &Type::Number(Dimension::DATA)).2
}

fn lapse(value: Lapse) -> String {
    match value {
        Lapse::Time(value) => time(value),
        Lapse::Rounds(1) => "1 round".to_owned(),
        Lapse::Rounds(count) => format!("{count} rounds"),
    }
}

fn edge(edge: &Edge) -> String {
    match edge.side {
        Side::Forward => edge.name.to_string(),
        Side::Reverse => format!("{} reverse", edge.name),
    }
}

fn flows(list: &[FlowRef]) -> String {
    list.iter().map(|flow| &*flow.name).collect::<Vec<_>>().join(", ")
}

fn filter(filter: &Filter) -> String {
    match filter {
        Filter::Flow(flow) => format!("packets of {}", flow.name),
        Filter::All => "packets".to_owned(),
    }
}

fn selection(selection: &Selection, which: &Filter) -> String {
    let which = filter(which);
    let next = selection.packets.map_or_else(String::new, |count| format!("the next {count} "));
    let picked = match selection.pick {
        Pick::Each => format!("{next}{which}"),
        Pick::Share(share) => format!("{} of {next}{which}", percent(share.as_f64())),
        Pick::Every(count) => format!("every {count}th of {next}{which}"),
    };
    let during = selection.time.map_or_else(String::new, |time| format!(" for {}", lapse(time)));
    format!("{picked}{during}")
}

fn percent(share: f64) -> String {
    format!("{} %", show(share * 100.0, &Type::Number(Dimension::NUMBER)).2)
}

impl Action {
    /// What it does, as a clause without a subject: `drop the next 3 packets of s1 on bottleneck`.
    #[must_use]
    pub fn what(&self) -> String {
        match self {
            Self::Set { edges, rate: new_rate, delay, per } => {
                let changes = [
                    new_rate.map(|value| format!("rate = {}", rate(value))),
                    delay.map(|value| format!("delay = {}", time(value))),
                    per.map(|value| format!("per = {}", percent(value.as_f64()))),
                ];
                let changes: Vec<String> = changes.into_iter().flatten().collect();
                format!("set {} of {}", changes.join(", "), edges.first().map_or_else(String::new, edge))
            }
            Self::Drop { edge: at, filter, selection: which } => {
                format!("drop {} on {}", selection(which, filter), edge(at))
            }
            Self::Mark { edge: at, filter, selection: which } => {
                format!("mark {} on {}", selection(which, filter), edge(at))
            }
            Self::Reorder { edge: at, filter: which, packets, by } => {
                format!("delay the next {packets} {} on {} by {}", filter(which), edge(at), time(*by))
            }
            Self::Aggregate { edge: at, rule: Some(rule) } => {
                let what = if rule.acks { "ACKs" } else { "packets" };
                format!("aggregate up to {} {what} or {} on {}", rule.packets, time(rule.time), edge(at))
            }
            Self::Aggregate { edge: at, rule: None } => format!("end aggregation on {}", edge(at)),
            Self::Police { edge: at, rule: Some(rule) } => {
                format!("police {} to {} with a burst of {}", edge(at), rate(rule.rate), data(rule.burst))
            }
            Self::Police { edge: at, rule: None } => format!("end policing of {}", edge(at)),
            Self::Pause(list) => format!("pause the application of {}", flows(list)),
            Self::Resume(list) => format!("resume the application of {}", flows(list)),
            Self::AppRate(list, Some(value)) => format!("application of {} writes at {}", flows(list), rate(*value)),
            Self::AppRate(list, None) => format!("application of {} writes without limit", flows(list)),
        }
    }
}

impl Step {
    /// Its condition and its actions: `when flow.slow_start == false: pause the application of s1`.
    #[must_use]
    pub fn what(&self, case: &Case) -> String {
        let after = self.after.and_then(|after| case.steps.get(after)).map(|step| format!("after {}", step.name));
        let when = match &self.when {
            When::At(at) => Some(format!("at {}", seconds(at.as_secs_f64()))),
            When::Condition(expression) => Some(format!("when {}", expression.text)),
            When::Later(Lapse::Time(Duration::ZERO)) => None,
            When::Later(value) => Some(format!("{} later", lapse(*value))),
        };
        let within = self.within.map(|value| format!("within {}", lapse(value)));
        let head = [after, when, within].into_iter().flatten().collect::<Vec<_>>().join(", ");
        let actions = self.actions.iter().map(Action::what).collect::<Vec<_>>().join("; ");
        match (head.is_empty(), actions.is_empty()) {
            (false, true) => head,
            (true, _) => actions,
            (false, false) => format!("{head}: {actions}"),
        }
    }
}

impl Expectation {
    /// Its window and its condition: `after policed, for 2 s: always flow.cwnd <= 30 kB`.
    #[must_use]
    pub fn what(&self, case: &Case) -> String {
        let name = |step: usize| case.steps.get(step).map_or("", |step| step.name.as_str());
        let after = self.after.map(|step| format!("after {}", name(step)));
        let until = match self.until {
            Until::End => None,
            Until::Step(step) => Some(format!("until {}", name(step))),
            Until::Lapse(value) => Some(format!("for {}", lapse(value))),
        };
        let unless = self.unless.as_ref().map(|expression| format!("unless {}", expression.text));
        let head = [after, until, unless].into_iter().flatten().collect::<Vec<_>>().join(", ");
        let colon = if head.is_empty() { "" } else { ": " };
        format!("{head}{colon}{} {}", self.quantifier.word(), self.expression.text)
    }
}
