//! 802.11 channels: their members and queues. `phy` has rates and times, `air` has signal strengths
//! and frame errors, and `load` checks flows.

mod air;
mod load;
mod phy;

use super::Build;
use super::links::{Links, QueueLayer};
use super::nodes::Nodes;
use super::queues::Drain;
use crate::check::Path;
use crate::problem::Place;
use crate::record::{FromValue, OrWord, Record, Value};
use crate::types::{NodeKind, Queue, Wifi, WifiQueues, WifiStation};
use narrows_units::Bytes;
use std::collections::{BTreeMap, BTreeSet};

const TOP: Path<'static> = Path::Key(&Path::Root, "wifi");

/// A channel's table and its path.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    pub(super) record: &'a Record,
    pub(super) path: Path<'a>,
}

impl<'a> Row<'a> {
    fn place(&self, key: &str) -> Place {
        self.record.given(key).map_or(self.record.place, |item| item.place)
    }

    fn shown(&self, key: &str) -> String {
        self.record.given(key).map_or_else(String::new, |item| item.shown.clone())
    }

    fn at<'b>(&'b self, key: &'b str) -> Path<'b> {
        Path::Key(&self.path, key)
    }

    /// Returns the tables of the base station's queue.
    pub(super) fn base_queue<'b>(&'b self, root: &'b Record) -> Vec<QueueLayer<'b>> {
        let own = self.record.table("queue").map(|queue| (queue, self.at("queue")));
        let shared = root.table("queue").map(|queue| (queue, Path::Key(&Path::Root, "queue")));
        own.into_iter().chain(shared).collect()
    }

    /// Returns what was given for `key`, or else `default`; `None` if the given value is wrong.
    fn or<T: FromValue>(&self, key: &str, default: T) -> Option<T> {
        if self.record.given(key).is_some() { self.record.get(key) } else { Some(default) }
    }
}

/// Names, base stations and stations that earlier channels use. A base station maps to its channel's name, a station
/// to its base station's name.
#[derive(Default)]
struct Taken {
    names: BTreeSet<String>,
    bases: BTreeMap<usize, String>,
    stations: BTreeMap<usize, String>,
}

/// Returns the channel tables of a file.
pub(super) fn rows<'a>(root: &'a Record) -> Vec<Row<'a>> {
    match root.given("wifi").map(|item| &item.value) {
        Some(Value::Table(record)) => vec![Row { record, path: TOP }],
        Some(Value::Tables(list)) => {
            let row = |(index, record)| Row { record, path: Path::Index(&TOP, index) };
            list.iter().enumerate().map(row).collect()
        }
        _ => Vec::new(),
    }
}

impl Build<'_> {
    /// Builds all channels.
    pub(crate) fn wifi(&mut self, nodes: &Nodes, links: &mut Links) -> Vec<Wifi> {
        let rows = rows(self.root);
        let place = self.root.given("wifi").map_or(Place::Nowhere, |item| item.place);
        if !self.fits("channels", 0, rows.len() as u64, (place, &TOP), "") {
            return Vec::new();
        }
        let mut taken = Taken::default();
        let channels = rows.iter().enumerate().map(|(index, row)| self.channel(row, index, nodes, (links, &mut taken)));
        channels.collect::<Vec<_>>().into_iter().flatten().collect()
    }

    fn channel(
        &mut self,
        row: &Row<'_>,
        index: usize,
        nodes: &Nodes,
        (links, taken): (&mut Links, &mut Taken),
    ) -> Option<Wifi> {
        let record = row.record;
        let name = self.channel_name(row, index, nodes, taken);
        let base = self.base_station(row, nodes, name.as_deref(), taken);
        let stations = self.stations(row, nodes, base, (links, taken));
        let setup = self.setup(row);
        let queues = self.station_queues(row, links);
        let overhead: Option<Bytes> = record.get("overhead");
        let station_overhead = overhead.and_then(|overhead| row.or("station_overhead", overhead));
        // Names of stations can be resolved only if the stations are known.
        let (base, stations) = (base?, stations?);
        let signals = self.signals(row, nodes, base, &stations);
        let hidden = self.hidden(row, nodes, (base, &stations));
        let errors = self.frame_errors(row, nodes, (base, &stations), setup.as_ref());
        let (setup, (queue, station_queue), signals) = (setup?, queues?, signals?);
        let (overhead, station_overhead) = (overhead?, station_overhead?);
        let signal = |node: &usize| signals.get(node).copied().unwrap_or(0.0);
        let station = |node: &usize| WifiStation {
            node: *node,
            queue: station_queue.clone(),
            signal_db: signal(node),
            overhead: station_overhead,
        };
        let by_default = if setup.aggregation.is_some() { WifiQueues::PerStation } else { WifiQueues::Shared };
        Some(Wifi {
            name: name?,
            base: WifiStation { node: base, queue, signal_db: signal(&base), overhead },
            stations: stations.iter().map(station).collect(),
            phy: setup.phy.name.clone(),
            mode: setup.mode,
            basic_rate: setup.basic_rate,
            short_preamble: setup.short_preamble,
            slot: setup.slot,
            sifs: setup.sifs,
            cw_min: setup.cw.0,
            cw_max: setup.cw.1,
            short_retry: record.get("short_retry")?,
            long_retry: record.get("long_retry")?,
            rts_threshold: record.get::<OrWord<Bytes>>("rts_threshold")?.value(),
            propagation: setup.propagation,
            capture_db: record.get::<OrWord<f64>>("capture")?.value(),
            aggregation: setup.aggregation,
            queues: row.or("queues", by_default)?,
            hidden: hidden?,
            errors: errors?,
        })
    }

    fn channel_name(&mut self, row: &Row<'_>, index: usize, nodes: &Nodes, taken: &mut Taken) -> Option<String> {
        let name = row.or("name", format!("wlan{}", index + 1))?;
        let reason = if nodes.find(&name).is_some() {
            "is also the name of a node"
        } else if !taken.names.insert(name.clone()) {
            "is the name of two channels"
        } else {
            return Some(name);
        };
        self.report.add(row.place("name"), row.at("name"), format!("{name:?}"), reason, "unique names");
        None
    }

    fn base_station(
        &mut self,
        row: &Row<'_>,
        nodes: &Nodes,
        channel: Option<&str>,
        taken: &mut Taken,
    ) -> Option<usize> {
        let (name, place, at): (String, _, _) = (row.record.get("base")?, row.place("base"), row.at("base"));
        let node = nodes.expect(&name, (place, &at), self.report)?;
        if !nodes.is_router(node) {
            self.report.add(place, at, format!("{name:?}"), "is a host", "the name of a router");
            return None;
        }
        if let Some(other) = taken.bases.insert(node, channel.unwrap_or_default().to_owned()) {
            let reason = format!("is already the base station of channel {other:?}");
            self.report.add(place, at, format!("{name:?}"), reason, "a router of its own for each channel");
            taken.bases.insert(node, other);
            return None;
        }
        Some(node)
    }

    fn stations(
        &mut self,
        row: &Row<'_>,
        nodes: &Nodes,
        base: Option<usize>,
        (links, taken): (&Links, &mut Taken),
    ) -> Option<Vec<usize>> {
        let Value::Names(names) = &row.record.given("stations")?.value else { return None };
        let base_name = row.record.get::<String>("base").unwrap_or_default();
        let at = row.at("stations");
        let (mut stations, mut listed, mut whole) = (Vec::with_capacity(names.len()), BTreeSet::new(), true);
        for (index, item) in names.iter().enumerate() {
            let (Value::Text(name), path) = (&item.value, Path::Index(&at, index)) else { continue };
            let Some(node) = nodes.expect(name, (item.place, &path), self.report) else {
                whole = false;
                continue;
            };
            let (reason, allowed) = if base == Some(node) {
                ("is the base station itself".to_owned(), "names of hosts")
            } else if nodes.is_router(node) {
                ("is a router".to_owned(), "names of hosts")
            } else if !listed.insert(node) {
                ("is listed twice".to_owned(), "each station once")
            } else if let Some(other) = taken.stations.get(&node) {
                (format!("belongs to two base stations, {other:?} and {base_name:?}"), "one channel for a station")
            } else if base.is_some_and(|base| links.has(base, node)) {
                let reason = format!("also has a link to the base station {base_name:?}");
                (reason, "links to other nodes: packets to it would have two paths")
            } else {
                taken.stations.insert(node, base_name.clone());
                stations.push(node);
                continue;
            };
            whole = false;
            self.report.add(item.place, path, &item.shown, reason, allowed);
        }
        whole.then_some(stations)
    }

    /// Returns the queues of the base station and of the stations.
    fn station_queues(&mut self, row: &Row<'_>, links: &mut Links) -> Option<(Queue, Queue)> {
        let station_path = row.at("station_queue");
        let mut stack = row.base_queue(self.root);
        let base = self.queue(&stack, Drain::Channel, links);
        // The base station's tables also apply to the stations; their problems are reported once.
        let stations = match row.record.table("station_queue") {
            Some(queue) => {
                stack.insert(0, (queue, station_path));
                self.queue(&stack, Drain::Channel, links)
            }
            None => base.clone(),
        };
        let wrong = |key| matches!(row.record.given(key).map(|item| &item.value), Some(Value::Bad));
        if wrong("queue") || wrong("station_queue") { None } else { Some((base?, stations?)) }
    }
}

impl Nodes {
    fn is_router(&self, node: usize) -> bool {
        self.list.get(node).is_some_and(|node| node.kind == NodeKind::Router)
    }
}
