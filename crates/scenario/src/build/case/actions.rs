//! What steps do: keys of a step's table as actions.

use super::super::Build;
use super::{At, Frame, shares, tested};
use crate::check::Path;
use crate::record::{Record, Value};
use crate::suggest::hint;
use crate::types::Traffic;
use narrows_timeline::{Action, Aggregation, Edge, Filter, FlowRef, Pick, Policer, Selection, Side};
use narrows_units::Probability;
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
        self.path_is_known(at, frame);
        let mut found = Vec::new();
        let flows = if given(ON_PACKETS) || on_application { self.flows_of(at, frame) } else { None };
        if on_link {
            let side = match at.record.get::<&str>("direction") {
                Some("reverse") => Side::Reverse,
                _ => Side::Forward,
            };
            if let Some(edge) = self.edge(at, side, frame) {
                self.on_link(at, &edge, flows.as_ref(), (frame, &mut found));
            }
        }
        if let (true, Some(flows)) = (on_application, &flows) {
            self.on_application(at, flows, frame, &mut found);
        }
        found
    }

    /// Reports multiples of the path's round-trip time, rate or both, if the path has none: over an 802.11 channel.
    fn path_is_known(&mut self, at: At<'_>, frame: &Frame<'_>) {
        if !frame.clean || frame.net.has_path(frame.words.under_test) {
            return;
        }
        let tables = ON_LINK.iter().filter_map(|key| Some((*key, at.record.table(key)?)));
        let own = std::iter::once((at.path, at.record));
        let inner: Vec<(Path<'_>, &Record)> =
            own.chain(tables.map(|(key, table)| (Path::Key(&at.path, key), table))).collect();
        for (path, record) in inner {
            for (key, _, item) in
                record.entries.iter().filter(|(key, _, item)| matches!(item.value, Value::Scaled(_)) && *key != "rate")
            {
                let reason = "scales with a path that has a channel";
                self.report.add(item.place, Path::Key(&path, key), &item.shown, reason, "a quantity with its own unit");
            }
        }
    }

    /// Reports keys that no action of the step uses.
    fn needs(&mut self, at: At<'_>, keys: &[&str], used: bool, actions: &[&str]) {
        for key in keys.iter().filter(|key| !used && at.record.given(key).is_some()) {
            let allowed = format!("only with {}", actions.join(", "));
            self.report.add(at.place(key), Path::Key(&at.path, key), at.shown(key), "has no meaning here", allowed);
        }
    }

    fn on_link(
        &mut self,
        at: At<'_>,
        edge: &Edge,
        flows: Option<&Flows>,
        (frame, found): (&Frame<'_>, &mut Vec<Action>),
    ) {
        if let Some(set) = at.record.table("set") {
            found.extend(self.set(at, set, edge, frame));
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
        if let Some(record) = at.record.table("reorder") {
            let by = shares::time(At { record, ..at }, "by", frame);
            if let (Some(packets), Some(by), Some(filter)) = (record.get("packets"), by, self.filter(at, flows)) {
                found.push(Action::Reorder { edge: edge.clone(), filter, packets, by });
            }
        }
        found.extend(aggregate(at, edge, frame));
        found.extend(police(at, edge, frame));
    }

    fn set(&mut self, at: At<'_>, set: &Record, edge: &Edge, frame: &Frame<'_>) -> Option<Action> {
        let inside = At { record: set, path: Path::Key(&at.path, "set") };
        let rate = shares::rate(inside, "rate", frame.net.rate(edge));
        let delay = shares::time(inside, "delay", frame);
        if rate.is_some() && frame.net.follows_trace(edge) {
            let path = Path::Key(&inside.path, "rate");
            let reason = "cannot be set: the direction follows a trace";
            let allowed = "a link with a rate of its own";
            self.report.add(inside.place("rate"), path, inside.shown("rate"), reason, allowed);
        }
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
        if at.record.given("app_rate").is_some() && self.writes_freely(at, &list, frame) {
            let whole = list.first().and_then(|flow| frame.net.path_rate(flow.index));
            let rate = shares::rate(at, "app_rate", whole);
            let unlimited = matches!(at.record.given("app_rate").map(|item| &item.value), Some(Value::Word(_)));
            if rate.is_some() || unlimited {
                found.push(Action::AppRate(list, rate));
            }
        }
    }

    /// Whether the applications write as fast as TCP allows, so that a rate can bound them; reports one that does not.
    fn writes_freely(&mut self, at: At<'_>, list: &[FlowRef], frame: &Frame<'_>) -> bool {
        let bulk = |flow: &&FlowRef| {
            let flow = frame.net.flows.get(flow.index);
            flow.is_some_and(|flow| matches!(flow.traffic, Traffic::Bulk { .. }))
        };
        let Some(other) = list.iter().find(|flow| !bulk(flow)) else { return true };
        let path = Path::Key(&at.path, "app_rate");
        let reason = format!("bounds no flow such as `{}`", other.name);
        self.report.add(at.place("app_rate"), path, at.shown("app_rate"), reason, "flows with kind = \"bulk\"");
        false
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

fn aggregate(at: At<'_>, edge: &Edge, frame: &Frame<'_>) -> Option<Action> {
    let rule = match &at.record.given("aggregate")?.value {
        Value::Off => None,
        Value::Table(record) => {
            let time = shares::time(At { record, ..at }, "time", frame)?;
            let of: &str = record.get("of")?;
            Some(Aggregation { packets: record.get("packets")?, time, acks: of == "acks" })
        }
        _ => return None,
    };
    Some(Action::Aggregate { edge: edge.clone(), rule })
}

fn police(at: At<'_>, edge: &Edge, frame: &Frame<'_>) -> Option<Action> {
    let rule = match &at.record.given("police")?.value {
        Value::Off => None,
        Value::Table(record) => {
            let inside = At { record, ..at };
            let rate = shares::rate(inside, "rate", frame.net.rate(edge))?;
            Some(Policer { rate, burst: shares::data(inside, "burst", frame)? })
        }
        _ => return None,
    };
    Some(Action::Police { edge: edge.clone(), rule })
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
