//! Test cases: `[case]`, `[[steps]]` and `[[expect]]`.

mod actions;
mod conditions;
mod expect;
mod shares;
mod steps;
mod vocabulary;

use super::Build;
use crate::check::Path;
use crate::problem::Place;
use crate::record::Record;
use crate::suggest::hint;
use crate::types::{Flow, Link, Node};
use narrows_timeline::{Case, Edge, FlowRef, Grid, Scope, Side, Vocabulary};
use std::sync::Arc;

const TOP: Path<'static> = Path::Key(&Path::Root, "case");

/// What the parts of a case share.
struct Frame<'a> {
    words: &'a Vocabulary,
    /// Names of the steps, in order; see [`steps::names`].
    steps: &'a [String],
    /// Whether the rest of the file has no problems. Otherwise a missing flow or link is a consequence of one.
    clean: bool,
    /// The network at the start of a run.
    net: shares::Net<'a>,
}

/// A table and its path.
#[derive(Clone, Copy)]
struct At<'a> {
    record: &'a Record,
    path: Path<'a>,
}

impl<'a> At<'a> {
    fn place(&self, key: &str) -> Place {
        self.record.given(key).map_or(self.record.place, |item| item.place)
    }

    fn shown(&self, key: &str) -> &'a str {
        self.record.given(key).map_or("", |item| &item.shown)
    }
}

impl Build<'_> {
    /// Builds the case, if the file has one.
    pub(crate) fn case(&mut self, (nodes, links, flows): (&[Node], &[Link], &[Flow])) -> Option<Arc<Case>> {
        let (steps, expectations) = (self.root.tables("steps"), self.root.tables("expect"));
        let empty = Record::empty(&crate::schema::case::CASE, Place::Nowhere);
        let table = self.root.table("case");
        if table.is_none() && steps.is_empty() && expectations.is_empty() {
            return None;
        }
        let at = At { record: table.unwrap_or(&empty), path: TOP };
        let clean = self.report.is_empty();
        let mut words = self.vocabulary(nodes, links, flows);
        words.under_test = self.under_test(at, flows, clean)?;
        words.bottleneck = self.bottleneck(at, &words, clean);
        let names = steps::names(steps);
        let net = shares::Net { nodes, links, flows };
        let frame = Frame { words: &words, steps: &names, clean, net };
        let mut scope = Scope::new(&words, names.iter().map(String::as_str).collect());
        let steps = self.steps(&frame, &mut scope);
        let expectations = self.expectations(&frame, &mut scope);
        let counts = steps.iter().any(conditions::step_counts) || expectations.iter().any(conditions::counts);
        let known = scope.counts_rounds();
        let rounds = (counts || known).then(|| scope.rounds());
        let (variables, memories) = scope.into_parts();
        Some(Arc::new(Case {
            flow: words.under_test,
            flow_name: words.flows.get(words.under_test).map_or_else(|| "".into(), |flow| Arc::clone(&flow.name)),
            source: at.record.get("source").unwrap_or_default(),
            open: at.record.get("open").unwrap_or_default(),
            controls: self.controls(at),
            grid: grid(at.record),
            bottleneck: words.bottleneck.and_then(|link| words.links.get(link)).map(|link| Arc::clone(&link.name)),
            variables,
            memories,
            rounds,
            steps,
            expectations,
        }))
    }

    /// Returns the index of the flow under test.
    fn under_test(&mut self, at: At<'_>, flows: &[Flow], clean: bool) -> Option<usize> {
        let Some(name) = at.record.get::<String>("flow") else {
            let found = flows.iter().position(|flow| flow.tcp().is_some());
            if found.is_none() && clean {
                let reason = "has no TCP flow to test";
                self.report.add(at.record.place, at.path, "", reason, "at least one TCP flow in [[flows]]");
            }
            return found;
        };
        let found = flows.iter().position(|flow| flow.name == name);
        let path = Path::Key(&at.path, "flow");
        match found.and_then(|index| flows.get(index)) {
            Some(flow) if flow.tcp().is_none() => {
                self.report.add(at.place("flow"), path, at.shown("flow"), "is not a TCP flow", tcp_names(flows));
                None
            }
            None => {
                if clean {
                    let near = hint(&name, flows.iter().take(1000).map(|flow| flow.name.as_str()));
                    let reason = format!("is not a flow{near}");
                    self.report.add(at.place("flow"), path, at.shown("flow"), reason, tcp_names(flows));
                }
                None
            }
            Some(_) => found,
        }
    }

    /// Returns the index of the link that `bottleneck` means.
    fn bottleneck(&mut self, at: At<'_>, words: &Vocabulary, clean: bool) -> Option<usize> {
        let find = |name: &str| words.links.iter().position(|link| *link.name == *name);
        if let Some(name) = at.record.get::<String>("bottleneck") {
            let found = find(&name);
            if found.is_none() && clean {
                let path = Path::Key(&at.path, "bottleneck");
                self.no_link((at.place("bottleneck"), &path), &name, words);
            }
            return found;
        }
        let kind: Option<&str> = self.root.table("topology").and_then(|table| table.get("kind"));
        if kind == Some("dumbbell") { find("r1-r2") } else { None }
    }

    fn no_link(&mut self, (place, path): (Place, &Path<'_>), name: &str, words: &Vocabulary) {
        let known = || words.links.iter().take(1000).map(|link| &*link.name);
        let reason = format!("is not a link{}", hint(name, known()));
        let list: Vec<&str> = known().take(8).collect();
        let more = if words.links.len() > list.len() { " .." } else { "" };
        self.report.add(place, path, format!("{name:?}"), reason, format!("a link's name: {}{more}", list.join(", ")));
    }

    /// Returns the congestion controls that the case is meant for.
    fn controls(&mut self, at: At<'_>) -> Vec<String> {
        let Some(names) = at.record.get::<Vec<String>>("cc") else { return Vec::new() };
        // A control of the user's own need not be loaded for the file to be read.
        for name in names.iter().filter(|name| self.catalogue.find_cc(name).is_none()) {
            let near = hint(name, self.catalogue.cc.iter().map(|row| row.name.as_str()));
            let reason = format!("is not a congestion control that is loaded{near}");
            self.report.warn(at.place("cc"), Path::Key(&at.path, "cc"), format!("{name:?}"), reason);
        }
        names
    }

    /// Returns a direction of a link that a step names.
    fn edge(&mut self, at: At<'_>, side: Side, frame: &Frame<'_>) -> Option<Edge> {
        let name = at.record.get::<String>("link").unwrap_or_else(|| "bottleneck".to_owned());
        let words = frame.words;
        let found = match name.as_str() {
            "bottleneck" => words.bottleneck,
            name => words.links.iter().position(|link| *link.name == *name),
        };
        match found {
            Some(link) => Some(Edge { link, side, name: name.into() }),
            None => {
                let path = Path::Key(&at.path, "link");
                if frame.clean && name == "bottleneck" {
                    let shown = at.shown("link");
                    let reason = if shown.is_empty() { "is missing" } else { "stands for no link" };
                    let allowed = "a link's name as `A-B`; `bottleneck` with a dumbbell or `bottleneck` of [case]";
                    self.report.add(at.place("link"), path, shown, reason, allowed);
                } else if frame.clean {
                    self.no_link((at.place("link"), &path), &name, words);
                }
                None
            }
        }
    }
}

fn tcp_names(flows: &[Flow]) -> String {
    let names: Vec<&str> =
        flows.iter().filter(|flow| flow.tcp().is_some()).take(9).map(|flow| flow.name.as_str()).collect();
    match names.len() {
        0 => "there is no TCP flow".to_owned(),
        9 => format!("a TCP flow: {} ..", names[..8].join(", ")),
        _ => format!("a TCP flow: {}", names.join(", ")),
    }
}

fn grid(case: &Record) -> Grid {
    let Some(table) = case.table("grid") else { return Grid::default() };
    Grid {
        rates: table.get("rate").unwrap_or_default(),
        rtts: table.get("rtt").unwrap_or_default(),
        buffers: table.get("buffer").unwrap_or_default(),
    }
}

/// The flow under test, as steps name it.
fn tested(frame: &Frame<'_>) -> FlowRef {
    let index = frame.words.under_test;
    let name = frame.words.flows.get(index).map_or_else(|| "".into(), |flow| Arc::clone(&flow.name));
    FlowRef { index, name }
}
