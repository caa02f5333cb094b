//! Whether the hosts of a flow with TCP Small Queues have links whose departures are known: when packets leave such a
//! link must follow from what came to it.

use super::Build;
use super::nodes::Nodes;
use crate::check::Path;
use crate::record::Record;
use crate::types::{Direction, Link, Tcp, Wifi};

/// The hosts of a flow that send data.
pub(super) struct Senders<'a> {
    pub(super) tcp: &'a Tcp,
    pub(super) nodes: &'a Nodes,
    /// From and to, of each copy or pair.
    pub(super) ends: &'a [(usize, usize)],
    /// Whether the host that the flow goes to sends data too.
    pub(super) answers: bool,
}

impl Build<'_> {
    /// Refuses TCP Small Queues of a flow or workload, of which `record` is the table, if a host that sends its data
    /// has a link without known departures.
    pub(super) fn small_queue(
        &mut self,
        senders: &Senders<'_>,
        (record, path): (&Record, &Path<'_>),
        (links, wifi): (&[Link], &[Wifi]),
    ) {
        if !senders.tcp.tsq {
            return;
        }
        let hosts = senders.ends.iter().flat_map(|&(from, to)| [Some(from), senders.answers.then_some(to)]);
        let Some(reason) = hosts.flatten().find_map(|host| self.unknown_departures(host, senders.nodes, (links, wifi)))
        else {
            return;
        };
        let table = Path::Key(path, "tcp");
        let own = record.table("tcp").and_then(|tcp| tcp.given("tsq"));
        let top = Path::Key(&Path::Root, "tcp");
        let shared = self.root.table("tcp").and_then(|tcp| tcp.given("tsq"));
        let (item, table) = match (own, shared) {
            (Some(item), _) => (item, &table),
            (None, Some(item)) if !core::mem::replace(&mut self.small_queue_refused, true) => (item, &top),
            _ => return,
        };
        let allowed = "false, or links of constant rate with kind = \"droptail\" at the hosts that send data";
        self.report.add(item.place, Path::Key(table, "tsq"), &item.shown, reason, allowed);
    }

    /// Returns what hides when packets leave a host.
    fn unknown_departures(&self, host: usize, nodes: &Nodes, (links, wifi): (&[Link], &[Wifi])) -> Option<String> {
        if let Some(channel) = wifi.iter().find(|channel| channel.stations.iter().any(|one| one.node == host)) {
            return Some(format!("needs a wired link, and a sender is a station of the channel {:?}", channel.name));
        }
        links.iter().find_map(|link| {
            let [forward, reverse] = [(link.a, link.b, &link.forward), (link.b, link.a, &link.reverse)];
            let (_, to, direction) = [forward, reverse].into_iter().find(|(from, ..)| *from == host)?;
            let why = self.hides_departures(direction)?;
            let name = nodes.list.get(to).map_or("", |node| node.name.as_str());
            Some(format!("needs to know when packets leave a sender, and its link to {name:?} {why}"))
        })
    }

    fn hides_departures(&self, direction: &Direction) -> Option<String> {
        let queue = direction.queue.kind;
        if !self.catalogue.queues.iter().any(|row| row.name == queue && row.tail_only) {
            return Some(format!("has a queue of kind = {queue:?}"));
        }
        match direction {
            Direction { impairments: Some(_), .. } => Some("has impairments".to_owned()),
            Direction { trace: Some(_), .. } => Some("follows a trace".to_owned()),
            Direction { changes, .. } if !changes.is_empty() => Some("changes its rate or delay".to_owned()),
            Direction { rate, .. } if rate.as_bps() == 0 => Some("has no rate".to_owned()),
            _ => None,
        }
    }
}
