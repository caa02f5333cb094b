//! What steps do: keys of a step's table as actions.

use super::super::Build;
use super::{At, Frame, tested};
use crate::check::Path;
use crate::record::{OrWord, Record, Value};
use crate::suggest::hint;
use narrows_timeline::{Action, Aggregation, Edge, Filter, FlowRef, Pick, Policer, Selection, Side};
use narrows_units::{Duration, Probability, Rate};
use std::sync::Arc;

/// Keys of actions on a link.
const ON_LINK: &[&str] = &["set", "drop", "mark", "reorder", "aggregate", "police"];

/// Keys of actions on applications.
const ON_APPLICATION: &[&str] = &["pause", "resume", "app_rate"];

/// Keys of actions on packets of some flows.
const ON_PACKETS: &[&str] = &["drop", "mark", "reorder"];

/// Whether a step has an action, right or wrong.
pub(super) fn acts(step: &Record) -> bool {
    ON_LINK.iter().chain(ON_APPLICATION).any(|key| step.given(key).is_some())
}

impl Build<'_> {
    /// Returns the actions of a step, in the order of the reference.
    pub(super) fn actions(&mut self, at: At<'_>, frame: &Frame<'_>) -> Vec<Action> {
        let given = |keys: &[&str]| keys.iter().any(|key| at.record.given(key).is_some());
        let (on_link, on_application) = (given(ON_LINK), given(ON_APPLICATION));
        self.needs(at, &["link", "direction"], on_link, ON_LINK);
        self.needs(at, &["flows"], given(ON_PACKETS) || on_application, &[ON_PACKETS, ON_APPLICATION].concat());
        let mut found = Vec::new();
        let flows = if given(ON_PACKETS) || on_application { self.flows_of(at, frame) } else { None };
        if on_link {
            let side = match at.record.get::<&str>("direction") {
                Some("reverse") => Side::Reverse,
                _ => Side::Forward,
            };
            if let Some(edge) = self.edge(at, side, frame) {
                self.on_link(at, &edge, flows.as_ref(), &mut found);
            }
        }
        if let (true, Some(flows)) = (on_application, &flows) {
            self.on_application(at, flows, frame, &mut found);
        }
        found
    }

    /// Reports keys that no action of the step uses.
    fn needs(&mut self, at: At<'_>, keys: &[&str], used: bool, actions: &[&str]) {
        for key in keys.iter().filter(|key| !used && at.record.given(key).is_some()) {
            let allowed = format!("only with {}", actions.join(", "));
            self.report.add(at.place(key), Path::Key(&at.path, key), at.shown(key), "has no meaning here", allowed);
        }
    }

    fn on_link(&mut self, at: At<'_>, edge: &Edge, flows: Option<&Flows>, found: &mut Vec<Action>) {
        if let Some(set) = at.record.table("set") {
            found.extend(self.set(at, set, edge));
        }
        for key in ["drop", "mark"] {
            let Some(table) = at.record.table(key) else { continue };
            let inner = At { record: table, path: Path::Key(&at.path, key) };
            let (Some(selection), Some(filter)) = (self.selection(inner), self.filter(at, flows)) else { continue };
            let edge = edge.clone();
            found.push(match key {
                "drop" => Action::Drop { edge, filter, selection },
                _ => Action::Mark { edge, filter, selection },
            });
        }
        if let Some(table) = at.record.table("reorder")
            && let (Some(packets), Some(by)) = (table.get("packets"), table.get("by"))
            && let Some(filter) = self.filter(at, flows)
        {
            found.push(Action::Reorder { edge: edge.clone(), filter, packets, by });
        }
        match at.record.given("aggregate").map(|item| &item.value) {
            Some(Value::Off) => found.push(Action::Aggregate { edge: edge.clone(), rule: None }),
            Some(Value::Table(table)) => {
                if let (Some(packets), Some(time), Some(of)) =
                    (table.get("packets"), table.get("time"), table.get("of"))
                {
                    let of: &str = of;
                    let rule = Some(Aggregation { packets, time, acks: of == "acks" });
                    found.push(Action::Aggregate { edge: edge.clone(), rule });
                }
            }
            _ => {}
        }
        match at.record.given("police").map(|item| &item.value) {
            Some(Value::Off) => found.push(Action::Police { edge: edge.clone(), rule: None }),
            Some(Value::Table(table)) => {
                if let (Some(rate), Some(burst)) = (table.get("rate"), table.get("burst")) {
                    found.push(Action::Police { edge: edge.clone(), rule: Some(Policer { rate, burst }) });
                }
            }
            _ => {}
        }
    }

    fn set(&mut self, at: At<'_>, set: &Record, edge: &Edge) -> Option<Action> {
        let rate = set.given("rate").and_then(|_| set.get::<Rate>("rate"));
        let delay = set.given("delay").and_then(|_| set.get::<Duration>("delay"));
        let per = set.given("per").and_then(|_| set.get::<Probability>("per"));
        if set.entries.is_empty() {
            let path = Path::Key(&at.path, "set");
            self.report.add(at.place("set"), path, at.shown("set"), "changes nothing", "rate, delay, per");
            return None;
        }
        let mut edges = vec![edge.clone()];
        if delay.is_some() && at.record.given("direction").is_none() {
            edges.push(Edge { side: Side::Reverse, ..edge.clone() });
        }
        Some(Action::Set { edges, rate, delay, per })
    }

    /// Returns which packets `drop` or `mark` takes.
    fn selection(&mut self, at: At<'_>) -> Option<Selection> {
        let record = at.record;
        let share = record.given("share").and_then(|_| record.get::<Probability>("share"));
        let every = record.given("every").and_then(|_| record.get::<u64>("every"));
        if share.is_some() && every.is_some() {
            let path = Path::Key(&at.path, "every");
            self.report.add(at.place("every"), path, at.shown("every"), "stands beside `share`", "one of the two");
            return None;
        }
        let time = self.lapse(at, ("for", "rounds"));
        let packets = record.given("packets").and_then(|_| record.get("packets"));
        if record.entries.is_empty() {
            let allowed = "packets, share, every, for, rounds";
            self.report.add(record.place, at.path, "", "takes every packet to the end of the run", allowed);
            return None;
        }
        let pick = match (share, every) {
            (Some(share), _) => Pick::Share(share),
            (_, Some(every)) => Pick::Every(every),
            _ => Pick::Each,
        };
        Some(Selection { pick, packets, time })
    }

    /// Returns the filter of actions on packets: one flow, or all.
    fn filter(&mut self, at: At<'_>, flows: Option<&Flows>) -> Option<Filter> {
        match flows? {
            Flows::All => Some(Filter::All),
            Flows::Some(list) => {
                if list.len() > 1 {
                    let path = Path::Key(&at.path, "flows");
                    let allowed = "the name of one flow, or \"all\"";
                    self.report.add(at.place("flows"), path, at.shown("flows"), "names several flows", allowed);
                }
                list.first().cloned().map(Filter::Flow)
            }
        }
    }

    fn on_application(&mut self, at: At<'_>, flows: &Flows, frame: &Frame<'_>, found: &mut Vec<Action>) {
        let list = match flows {
            Flows::Some(list) => list.clone(),
            Flows::All => all_tcp(frame),
        };
        for key in ["pause", "resume"] {
            match at.record.given(key).map(|item| &item.value) {
                Some(Value::Switch(true)) if key == "pause" => found.push(Action::Pause(list.clone())),
                Some(Value::Switch(true)) => found.push(Action::Resume(list.clone())),
                Some(Value::Switch(false)) => {
                    let other = if key == "pause" { "`resume = true`" } else { "`pause = true`" };
                    let allowed = format!("true; {other} is the opposite");
                    let path = Path::Key(&at.path, key);
                    self.report.add(at.place(key), path, at.shown(key), "does nothing", allowed);
                }
                _ => {}
            }
        }
        let both = at.record.get("pause") == Some(true) && at.record.get("resume") == Some(true);
        if both {
            let path = Path::Key(&at.path, "resume");
            self.report.add(at.place("resume"), path, at.shown("resume"), "stands beside `pause`", "one of the two");
        }
        if at.record.given("app_rate").is_some()
            && let Some(rate) = at.record.get::<OrWord<Rate>>("app_rate")
        {
            found.push(Action::AppRate(list, rate.value()));
        }
    }

    /// Returns the flows that a step acts on.
    fn flows_of(&mut self, at: At<'_>, frame: &Frame<'_>) -> Option<Flows> {
        let Some(item) = at.record.given("flows") else { return Some(Flows::Some(vec![tested(frame)])) };
        let names: Vec<String> = at.record.get("flows")?;
        if names.len() == 1 && names[0] == "all" {
            return Some(Flows::All);
        }
        let mut list = Vec::new();
        for name in &names {
            let known = || frame.words.flows.iter().filter(|flow| flow.control.is_some());
            match frame.words.flows.iter().position(|flow| *flow.name == **name && flow.control.is_some()) {
                Some(index) => list.push(FlowRef { index, name: name.as_str().into() }),
                None if frame.clean => {
                    let near = hint(name, known().take(1000).map(|flow| &*flow.name));
                    let some: Vec<&str> = known().take(8).map(|flow| &*flow.name).collect();
                    let path = Path::Key(&at.path, "flows");
                    let allowed = format!("\"all\", or a TCP flow: {}", some.join(", "));
                    self.report.add(item.place, path, format!("{name:?}"), format!("is not a TCP flow{near}"), allowed);
                }
                None => {}
            }
        }
        (list.len() == names.len()).then_some(Flows::Some(list))
    }
}

/// The flows that a step acts on.
enum Flows {
    All,
    Some(Vec<FlowRef>),
}

fn all_tcp(frame: &Frame<'_>) -> Vec<FlowRef> {
    let flows = frame.words.flows.iter().enumerate().filter(|(_, flow)| flow.control.is_some());
    flows.map(|(index, flow)| FlowRef { index, name: Arc::clone(&flow.name) }).collect()
}
