//! Signal strengths, hidden stations and frame error rates of a channel.

use super::Row;
use super::phy::{Setup, rates};
use crate::build::Build;
use crate::build::nodes::Nodes;
use crate::check::Path;
use crate::record::{Item, Record, Value};
use crate::types::WifiErrors;
use narrows_units::Rate;
use std::collections::{BTreeMap, BTreeSet};

/// The nodes of a channel: its base station, and its stations in order.
type Members<'a> = (usize, &'a [usize]);

impl Build<'_> {
    /// Returns signal strengths by node; the base station may be among them.
    pub(super) fn signals(
        &mut self,
        row: &Row<'_>,
        nodes: &Nodes,
        base: usize,
        stations: &[usize],
    ) -> Option<BTreeMap<usize, f64>> {
        let at = row.at("signals");
        let list = self.list(row, "signals")?;
        let mut signals = BTreeMap::new();
        let mut whole = true;
        for (index, record) in list.iter().enumerate() {
            let path = Path::Index(&at, index);
            let (node, signal) = (self.member(record, nodes, (base, stations), &path), record.get::<f64>("signal"));
            let (Some((node, item)), Some(signal)) = (node, signal) else {
                whole = false;
                continue;
            };
            if signals.insert(node, signal).is_some() {
                self.report.add(item.place, Path::Key(&path, "station"), &item.shown, "is listed twice", "each once");
                whole = false;
            }
        }
        whole.then_some(signals)
    }

    /// Returns pairs of indices of stations, sorted; the first of a pair does not reach the second.
    pub(super) fn hidden(
        &mut self,
        row: &Row<'_>,
        nodes: &Nodes,
        (base, stations): Members<'_>,
    ) -> Option<Vec<(usize, usize)>> {
        let top = row.at("hidden");
        let list = self.list(row, "hidden")?;
        let mut pairs = BTreeSet::new();
        let mut whole = true;
        for (index, record) in list.iter().enumerate() {
            let entry = Path::Index(&top, index);
            let at = Path::Key(&entry, "between");
            let (Some(between), Some(one_way)) = (record.given("between"), record.get::<bool>("one_way")) else {
                whole = false;
                continue;
            };
            let Value::Names(names) = &between.value else {
                whole = false;
                continue;
            };
            let found: Vec<Option<usize>> = names
                .iter()
                .enumerate()
                .map(|(index, item)| self.station(item, nodes, (base, stations), &Path::Index(&at, index)))
                .collect();
            let (Some(from), Some(to)) = (found.first().copied().flatten(), found.get(1).copied().flatten()) else {
                whole = false;
                continue;
            };
            if from == to {
                let reason = "hides a station from itself";
                self.report.add(between.place, at, &between.shown, reason, "two different stations");
                whole = false;
                continue;
            }
            pairs.insert((from, to));
            if !one_way {
                pairs.insert((to, from));
            }
        }
        whole.then(|| pairs.into_iter().collect())
    }

    /// Returns the frame error rates, in file order.
    pub(super) fn frame_errors(
        &mut self,
        row: &Row<'_>,
        nodes: &Nodes,
        members: Members<'_>,
        setup: Option<&Setup<'_>>,
    ) -> Option<Vec<WifiErrors>> {
        let top = row.at("errors");
        let list = self.list(row, "errors")?;
        let mut errors = Vec::with_capacity(list.len());
        let mut whole = true;
        for (index, record) in list.iter().enumerate() {
            let path = Path::Index(&top, index);
            let at = Path::Key(&path, "station");
            let station = record.given("station").and_then(|item| self.station(item, nodes, members, &at));
            let rate = record.get::<Rate>("rate");
            if let (Some(rate), Some(item), Some(setup)) = (rate, record.given("rate"), setup) {
                self.is_sent(rate, item, setup, &Path::Key(&path, "rate"));
            }
            match (station, record.get("fer")) {
                (Some(station), Some(fer)) if rate.is_some() || record.given("rate").is_none() => {
                    errors.push(WifiErrors { station, rate, fer });
                }
                _ => whole = false,
            }
        }
        whole.then_some(errors)
    }

    /// Reports a rate at which the channel sends no frame.
    fn is_sent(&mut self, rate: Rate, item: &Item, setup: &Setup<'_>, at: &Path<'_>) {
        // If the catalogue does not have the rate of data frames, any rate is allowed.
        let Some(data) = setup.rate else { return };
        if rate != data && rate != setup.basic_rate {
            let mut sent = vec![setup.basic_rate, data];
            sent.dedup();
            self.report.add(item.place, at, &item.shown, "is not the rate of any frame of this channel", rates(&sent));
        }
    }

    /// Returns the tables of a list; `None` if the value is wrong.
    fn list<'r>(&self, row: &Row<'r>, key: &str) -> Option<&'r [Record]> {
        match row.record.given(key).map(|item| &item.value) {
            Some(Value::Bad) => None,
            _ => Some(row.record.tables(key)),
        }
    }

    /// Returns the node named by `station`, which may be the base station, and the item as written.
    fn member<'r>(
        &mut self,
        record: &'r Record,
        nodes: &Nodes,
        (base, stations): Members<'_>,
        path: &Path<'_>,
    ) -> Option<(usize, &'r Item)> {
        let item = record.given("station")?;
        let Value::Text(name) = &item.value else { return None };
        let at = Path::Key(path, "station");
        let node = nodes.expect(name, (item.place, &at), self.report)?;
        if node != base && !stations.contains(&node) {
            let allowed = format!("its base station, or {}", some_names(nodes, stations));
            self.report.add(item.place, at, &item.shown, "is not a station of this channel", allowed);
            return None;
        }
        Some((node, item))
    }

    /// Returns the index of a station by its name; reports the base station and other nodes.
    fn station(&mut self, item: &Item, nodes: &Nodes, (base, stations): Members<'_>, at: &Path<'_>) -> Option<usize> {
        let Value::Text(name) = &item.value else { return None };
        let node = nodes.expect(name, (item.place, at), self.report)?;
        let index = stations.iter().position(|station| *station == node);
        if index.is_none() {
            let reason = if node == base { "is the base station" } else { "is not a station of this channel" };
            self.report.add(item.place, at, &item.shown, reason, some_names(nodes, stations));
        }
        index
    }
}

fn some_names(nodes: &Nodes, stations: &[usize]) -> String {
    let names = stations.iter().take(8).filter_map(|node| nodes.list.get(*node));
    let names: Vec<&str> = names.map(|node| node.name.as_str()).collect();
    format!("a station: {}{}", names.join(", "), if stations.len() > names.len() { " .." } else { "" })
}
