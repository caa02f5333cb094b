//! The file of a scenario, section by section. Of a scenario that resembles the one before it only the difference is
//! written: comparing takes less time than writing.

use super::syntax::{element, lines, quoted, table};
use super::{case, tcp, time};
use crate::types::{Flow, IpOptions, Node, Sampling, Scenario, Tcp};
use crate::words::{Word, ip_number};
use std::ops::Range;
use std::sync::Arc;

/// The text of a scenario, and where in it are the parts that other scenarios may have too.
#[derive(Debug, Default)]
struct Text {
    all: String,
    tcp: Range<usize>,
    nodes: Range<usize>,
    links: Vec<Range<usize>>,
    flows: Vec<Range<usize>>,
}

/// Texts of scenarios that mostly resemble each other, such as the points of a sweep.
#[derive(Debug, Default)]
pub struct Texts {
    /// The latest scenario and its text.
    last: Option<(Arc<Scenario>, Text)>,
}

impl Texts {
    /// Returns [`Scenario::to_nameless_toml`] of the next scenario.
    #[must_use]
    pub fn nameless_toml(&mut self, scenario: &Arc<Scenario>) -> String {
        let text = scenario.file(false, self.last.as_ref().map(|(of, text)| (&**of, text)));
        let all = text.all.clone();
        self.last = Some((Arc::clone(scenario), text));
        all
    }
}

impl Scenario {
    /// Returns the scenario as a file: shorthands expanded, every default shown, quantities in readable units. Reading
    /// it gives an equal scenario.
    #[must_use]
    pub fn to_toml(&self) -> String {
        self.file(true, None).all
    }

    /// Returns [`to_toml`](Self::to_toml) without the settings that affect no run: name, title and description, and the
    /// seed, which each run replaces. Scenarios with the same text have the same runs.
    #[must_use]
    pub fn to_nameless_toml(&self) -> String {
        self.file(false, None).all
    }

    /// Writes the file. `before` is another scenario with its text, from which equal parts are copied.
    fn file(&self, named: bool, before: Option<(&Self, &Text)>) -> Text {
        let mut text = Text::default();
        let out = &mut text.all;
        out.reserve(before.map_or(0, |(_, text)| text.all.len() + 64));
        self.top(named, out);
        // Links and flows name nodes by their index, and flows list only what differs from the base.
        let before = before.filter(|(of, _)| of.nodes == self.nodes);
        let base = self.base();
        let alike = before.filter(|(of, _)| of.duration == self.duration && of.base() == base);
        if let Some(base) = base {
            let known = alike.and_then(|(_, text)| text.all.get(text.tcp.clone()));
            text.tcp = append(out, known, |out| table(out, "tcp", &tcp(base, None)));
        }
        if let Some(scheme) = &self.scheme {
            table(out, scheme.row.name, &self.scheme_pairs(scheme));
        }
        let known = before.and_then(|(_, text)| text.all.get(text.nodes.clone()));
        text.nodes = append(out, known, |out| self.nodes.iter().for_each(|node| write_node(out, node)));
        let mut directions = super::Directions::default();
        for (index, link) in self.links.iter().enumerate() {
            let known = before.filter(|(of, _)| of.links.get(index) == Some(link));
            let known = known.and_then(|(_, text)| text.all.get(text.links.get(index)?.clone()));
            let write = |out: &mut String| element(out, "links", &self.link_pairs(link, &mut directions));
            text.links.push(append(out, known, write));
        }
        for channel in &self.wifi {
            // A single channel is a table, not a list, so that `--set wifi.rate=..` finds it.
            let write = if self.wifi.len() == 1 { table } else { element };
            write(out, "wifi", &self.wifi_pairs(channel));
        }
        let mut earlier = alike.into_iter().flat_map(|(of, _)| of.listed());
        for (index, flow) in self.listed().enumerate() {
            let known = if earlier.next() == Some(flow) { alike } else { None };
            let known = known.and_then(|(_, text)| text.all.get(text.flows.get(index)?.clone()));
            text.flows.push(append(out, known, |out| element(out, "flows", &self.flow_pairs(flow, base))));
        }
        for workload in &self.workloads {
            element(out, "workloads", &self.workload_pairs(workload, base));
        }
        if let Some(case) = &self.case {
            case::write(out, case, named);
        }
        text
    }

    /// Returns the settings of `[tcp]`: those of the first TCP flow. The other flows list only what differs.
    fn base(&self) -> Option<&Tcp> {
        let templates = self.workloads.iter().map(|workload| &workload.flow);
        self.flows.iter().chain(templates).find_map(Flow::tcp).map(|settings| &**settings)
    }

    /// Writes the keys of the top level.
    fn top(&self, named: bool, out: &mut String) {
        let sampling = match self.sampling {
            Sampling::Off => quoted("off"),
            Sampling::Events => quoted("events"),
            Sampling::Interval(interval) => time(interval),
        };
        let sampling = if self.sample_state { format!("{{ interval = {sampling}, state = true }}") } else { sampling };
        let mut top = vec![("format", "1".to_owned())];
        if named {
            top.extend([
                ("name", quoted(&self.name)),
                ("title", quoted(&self.title)),
                ("description", quoted(&self.description)),
            ]);
        }
        top.push(("duration", time(self.duration)));
        if named {
            top.push(("seed", self.seed.to_string()));
        }
        top.extend([
            ("start_jitter", time(self.start_jitter)),
            ("ip", ip_number(self.ip).to_string()),
            ("sampling", sampling),
        ]);
        lines(out, &top);
    }
}

/// Appends a part, or the same text where it is known; returns where it is.
fn append(out: &mut String, known: Option<&str>, write: impl FnOnce(&mut String)) -> Range<usize> {
    let begin = out.len();
    match known {
        Some(text) => out.push_str(text),
        None => write(out),
    }
    begin..out.len()
}

fn write_node(out: &mut String, node: &Node) {
    let address = quoted(&node.address.to_string());
    let mut pairs = vec![("name", quoted(&node.name)), ("kind", quoted(node.kind.word())), ("address", address)];
    if node.ip_options != IpOptions::Keep {
        pairs.push(("ip_options", quoted(node.ip_options.word())));
    }
    element(out, "nodes", &pairs);
}
