//! Finds queue limits in packets where a scheme needs bytes: its routers write the free bytes of their queues.

use super::Build;
use super::links::{Links, QueueLayer};
use super::nodes::Nodes;
use super::wifi;
use crate::check::Path;
use crate::problem::Place;
use crate::quantity::{show_limit, show_size};
use crate::schema::LARGE;
use crate::types::{Flow, Limit, Link, Queue, Wifi};
use narrows_units::{Bytes, Packets};
use std::collections::{BTreeMap, BTreeSet};

/// A limit in packets, and its place.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    packets: Packets,
    place: Place,
    field: String,
    /// The limit as written; `None` for a default.
    shown: Option<String>,
}

/// A queue whose router needs its limit in bytes: the queue's description for a message, and its limit.
type Found = (String, Counted);

impl Build<'_> {
    /// Returns the place of the limit of `queue` if it counts packets and a scheme needs bytes. `stack` holds the
    /// tables that define the queue; `around` is the table that would hold one if `stack` is empty.
    pub(super) fn counted(
        &self,
        queue: &Queue,
        stack: &[QueueLayer<'_>],
        around: (Place, &Path<'_>),
    ) -> Option<Counted> {
        let Limit::Packets(packets) = queue.limit else { return None };
        if !self.schemes.enabled().is_some_and(|row| row.byte_limits) {
            return None;
        }
        let holder = stack.iter().find(|(record, _)| record.given("limit").is_some()).or(stack.first());
        let key = Path::Key(around.1, "queue");
        let (place, path) = holder.map_or((around.0, key), |(record, path)| (record.place, *path));
        let item = holder.and_then(|(record, _)| record.given("limit"));
        Some(Counted {
            packets,
            place: item.map_or(place, |item| item.place),
            field: Path::Key(&path, "limit").to_string(),
            shown: item.map(|item| item.shown.clone()),
        })
    }

    /// Refuses queues in packets at routers of a scheme that needs bytes: those of their links and those of base
    /// stations. `table` is the scheme's table.
    pub(crate) fn limits_in_bytes(
        &mut self,
        table: &str,
        routers: &[usize],
        nodes: &Nodes,
        (links, wifi): (&Links, &[Wifi]),
        flows: &[Flow],
    ) {
        let routers: BTreeSet<usize> = routers.iter().copied().collect();
        if routers.is_empty() {
            return;
        }
        let mut found = wired(&routers, nodes, links);
        found.extend(self.wireless(&routers, nodes, wifi));
        // Many queues may share one limit. It is reported once, with the first of them.
        let mut limits: BTreeMap<(Place, String), (Found, u64)> = BTreeMap::new();
        for (whose, limit) in found {
            let key = (limit.place, limit.field.clone());
            limits.entry(key).or_insert_with(|| ((whose, limit), 0)).1 += 1;
        }
        let packet = flows.iter().map(|flow| self.packet(flow)).max();
        for ((place, field), ((whose, limit), queues)) in limits {
            let more = match queues {
                1 => String::new(),
                2 => " and one more queue".to_owned(),
                n => format!(" and {} more queues", n - 1),
            };
            let default = || format!("the default {:?}", show_limit(Limit::Packets(limit.packets)));
            let shown = limit.shown.clone().unwrap_or_else(default);
            let reason = format!("is in packets, but [{table}] needs bytes; it limits {whose}{more}");
            let mut allowed = in_bytes(limit.packets.as_u64(), packet);
            if limit.shown.is_none() && field != "queue.limit" {
                allowed.push_str("; or for all queues as queue.limit");
            }
            self.report.add(place, field, shown, reason, allowed);
        }
    }

    /// Returns the queues of base stations at these routers. Stations are hosts, so their queues belong to no router.
    fn wireless(&self, routers: &BTreeSet<usize>, nodes: &Nodes, wifi: &[Wifi]) -> Vec<Found> {
        let rows = wifi::rows(self.root);
        // A channel that could not be built has been reported. Rows and channels then no longer correspond.
        if rows.len() != wifi.len() {
            return Vec::new();
        }
        let channels = rows.iter().zip(wifi).filter(|(_, channel)| routers.contains(&channel.base.node));
        channels
            .filter_map(|(row, channel)| {
                let base = nodes.list.get(channel.base.node)?;
                let stack = row.base_queue(self.root);
                let limit = self.counted(&channel.base.queue, &stack, (row.record.place, &row.path))?;
                Some((format!("router {:?}'s queue to channel {:?}", base.name, channel.name), limit))
            })
            .collect()
    }
}

/// Returns the queues in packets in front of these routers' links.
fn wired(routers: &BTreeSet<usize>, nodes: &Nodes, links: &Links) -> Vec<Found> {
    let name = |index: usize| nodes.list.get(index).map_or("", |node| node.name.as_str());
    let mut found = Vec::new();
    for (Link { a, b, .. }, limits) in links.list.iter().zip(&links.counted) {
        for (limit, from, to, side) in [(limits[0], a, b, "forward"), (limits[1], b, a, "reverse")] {
            let limit = limit.and_then(|number| links.limits.get(number));
            if let (Some(limit), true) = (limit, routers.contains(from)) {
                let (link, from, to) = (format!("{}-{}", name(*a), name(*b)), name(*from), name(*to));
                found.push((format!("router {from:?}'s queue to {to:?} (link {link}, {side})"), limit.clone()));
            }
        }
    }
    found
}

/// Suggests a limit in bytes that holds as many of the largest packets.
fn in_bytes(packets: u64, packet: Option<u64>) -> String {
    let example = packet.map(|size| (size, packets.saturating_mul(size))).filter(|(_, bytes)| *bytes <= LARGE);
    match example {
        Some((size, bytes)) => {
            let bytes = show_size(Bytes::new(bytes));
            format!("a limit in bytes, packets times bytes per packet: \"{bytes}\" for {packets} of {size} B")
        }
        None => "a limit in bytes such as \"97 kB\": packets times bytes per packet".to_owned(),
    }
}
