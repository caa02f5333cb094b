//! A resolved scenario as JSON text in which values shared by many flows and links are listed once.
//!
//! A flow has about thirty TCP settings, and most flows of a large scenario have the same ones.
//! [`to_json`](Scenario::to_json) builds a tree of values for each flow. Its text takes ten kilobytes and a tenth of a
//! millisecond per flow.

use crate::json::{direction, tcp, traffic};
use crate::types::{Flow, Scenario};
use crate::words::Word;
use serde_json::{Value, json};
use std::fmt::{Display, Write};

/// Number of the latest distinct values that a new value is compared with.
const RECENT: usize = 16;

/// Values that are listed once and identified by their index in the list.
struct Shared<'a, T> {
    recent: Vec<(&'a T, usize)>,
    list: Vec<Value>,
}

impl<'a, T> Shared<'a, T> {
    const fn new() -> Self {
        Self { recent: Vec::new(), list: Vec::new() }
    }

    /// Returns the index of a value in the list. Appends the value unless it is the `same` as one of the latest.
    fn number(&mut self, value: &'a T, same: impl Fn(&T, &T) -> bool, shown: impl FnOnce(&T) -> Value) -> usize {
        if let Some((_, number)) = self.recent.iter().rev().find(|(known, _)| same(known, value)) {
            return *number;
        }
        let number = self.list.len();
        self.list.push(shown(value));
        if self.recent.len() == RECENT {
            self.recent.remove(0);
        }
        self.recent.push((value, number));
        number
    }
}

impl Scenario {
    /// Returns [`to_json`](Self::to_json) as text, with these differences. A link's `a` and `b` and a flow's `from` and
    /// `to` are indices into `nodes`. A link's `forward` and `reverse` are indices into the list `directions`. A flow's
    /// `stop_ns`, `traffic` and `tcp` are indices into the lists `stops`, `traffics` and `tcps`; `tcp` is `null` for
    /// UDP, as in `to_json`.
    #[must_use]
    pub fn to_shared_json(&self) -> String {
        let nodes = listed(self.nodes.iter().map(|node| {
            let (name, kind, address) = (json!(node.name), json!(node.kind.word()), node.address);
            let options = json!(node.ip_options.word());
            format!("{{\"name\":{name},\"kind\":{kind},\"ip_options\":{options},\"address\":\"{address}\"}}")
        }));
        let mut directions = Shared::new();
        let links = listed(self.links.iter().map(|link| {
            let mut number = |side| directions.number(side, PartialEq::eq, direction);
            let (forward, reverse) = (number(&link.forward), number(&link.reverse));
            format!("{{\"a\":{},\"b\":{},\"forward\":{forward},\"reverse\":{reverse}}}", link.a, link.b)
        }));
        let (mut tcps, mut traffics, mut stops) = (Shared::new(), Shared::new(), Shared::new());
        let flows = listed(self.listed().map(|flow| {
            let settings = flow.tcp().map(|settings| tcps.number(&**settings, PartialEq::eq, tcp));
            let same = |one: &Flow, other: &Flow| one.traffic == other.traffic && one.udp() == other.udp();
            let traffic = traffics.number(flow, same, traffic);
            let stop = stops.number(&flow.stop, PartialEq::eq, |stop| json!(stop.as_nanos()));
            format!(
                "{{\"name\":{},\"from\":{},\"to\":{},\"start_ns\":{},\"stop_ns\":{stop},\"dscp\":{},\"jitter\":{},\
                 \"traffic\":{traffic},\"tcp\":{}}}",
                json!(flow.name),
                flow.from,
                flow.to,
                flow.start.as_nanos(),
                flow.dscp,
                flow.jitter,
                json!(settings),
            )
        }));
        let mut text = String::with_capacity(links.len() + flows.len() + (1 << 12));
        text.push('{');
        if let Value::Object(rest) = self.json_around() {
            for (key, value) in &rest {
                member(&mut text, key, value);
            }
        }
        member(&mut text, "nodes", nodes);
        member(&mut text, "links", links);
        member(&mut text, "flows", flows);
        member(&mut text, "directions", Value::Array(directions.list));
        member(&mut text, "stops", Value::Array(stops.list));
        member(&mut text, "traffics", Value::Array(traffics.list));
        member(&mut text, "tcps", Value::Array(tcps.list));
        text.push('}');
        text
    }
}

/// Appends a member to the JSON object in `text`.
fn member(text: &mut String, key: &str, value: impl Display) {
    let comma = if text.len() > 1 { "," } else { "" };
    // Writing to a string cannot fail.
    let _ = write!(text, "{comma}\"{key}\":{value}");
}

/// Joins items that are JSON already into a list.
fn listed(items: impl Iterator<Item = String>) -> String {
    let mut text = String::from("[");
    for item in items {
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(&item);
    }
    text.push(']');
    text
}
