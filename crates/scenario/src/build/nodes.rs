//! Nodes: unique names, addresses of the right version, and addresses for nodes that give none.

use super::Build;
use super::links::Links;
use crate::check::Path;
use crate::problem::{Place, Report};
use crate::suggest::hint;
use crate::types::{IpOptions, IpVersion, Node, NodeKind};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Nodes while they are being collected.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    pub(crate) list: Vec<Node>,
    by_name: BTreeMap<String, usize>,
    /// The addresses that were given.
    given: BTreeSet<IpAddr>,
    /// Indices of the nodes that wait for an address.
    waiting: Vec<usize>,
}

impl Nodes {
    /// Returns the index of the node of this name.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Returns the index of the node of this name; reports an unknown name.
    pub(crate) fn expect(&self, name: &str, at: (Place, &Path<'_>), report: &mut Report) -> Option<usize> {
        let found = self.find(name);
        // Without nodes the topology is wrong, which is reported already.
        if found.is_none() && (report.is_empty() || !self.list.is_empty()) {
            // With very many nodes, comparing the name with all of them is not worth the suggestion.
            let near = hint(name, self.by_name.keys().take(10_000).map(String::as_str));
            let reason = format!("is not a node{near}");
            report.add(at.0, at.1, format!("{name:?}"), reason, format!("a node's name: {}", self.some_names()));
        }
        found
    }

    fn some_names(&self) -> String {
        let names: Vec<&str> = self.list.iter().take(8).map(|node| node.name.as_str()).collect();
        if self.list.is_empty() {
            "there are no nodes".to_owned()
        } else {
            names.join(", ") + if self.list.len() > names.len() { " .." } else { "" }
        }
    }

    /// Adds a node; reports a name that is taken.
    pub(crate) fn add(
        &mut self,
        name: String,
        kind: NodeKind,
        address: Option<IpAddr>,
        at: (Place, &Path<'_>),
        report: &mut Report,
    ) -> Option<usize> {
        if self.by_name.contains_key(&name) {
            report.add(at.0, at.1, format!("{name:?}"), "is the name of two nodes", "unique names");
            return None;
        }
        let index = self.list.len();
        match address {
            Some(address) => {
                self.given.insert(address);
            }
            None => self.waiting.push(index),
        }
        self.by_name.insert(name.clone(), index);
        let address = address.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        self.list.push(Node { name, kind, ip_options: IpOptions::Keep, address });
        Some(index)
    }

    /// Assigns addresses, in order, to the nodes without one.
    fn assign(&mut self, ip: IpVersion) {
        let mut number = 0_u32;
        for index in std::mem::take(&mut self.waiting) {
            let mut next = || {
                number += 1;
                match ip {
                    IpVersion::V4 => IpAddr::V4(Ipv4Addr::from_bits((10 << 24) + number)),
                    IpVersion::V6 => IpAddr::V6(Ipv6Addr::from_bits((0xfd00_u128 << 112) + u128::from(number))),
                }
            };
            let mut address = next();
            while self.given.contains(&address) {
                address = next();
            }
            if let Some(node) = self.list.get_mut(index) {
                node.address = address;
            }
        }
    }
}

impl Build<'_> {
    /// Builds nodes and links, those of the file and of its shorthand.
    pub(crate) fn topology(&mut self) -> (Nodes, Links) {
        let mut nodes = Nodes::default();
        let mut links = Links::default();
        self.file_nodes(&mut nodes);
        let made = self.shorthand_nodes(&mut nodes);
        self.file_links(&nodes, &mut links);
        if let Some(made) = made {
            self.shorthand_links(&made, &nodes, &mut links);
        }
        nodes.assign(self.ip);
        if nodes.list.is_empty() && self.report.is_empty() {
            let allowed = "a [topology] table, or [[nodes]] and [[links]]";
            self.report.add(Place::Nowhere, "nodes", "", "is missing: there is no topology", allowed);
        }
        (nodes, links)
    }

    fn file_nodes(&mut self, nodes: &mut Nodes) {
        let root = self.root;
        let list = root.tables("nodes");
        let top = Path::Key(&Path::Root, "nodes");
        let place = root.given("nodes").map_or(Place::Nowhere, |item| item.place);
        if !self.fits("nodes", 0, list.len() as u64, (place, &top), "") {
            return;
        }
        for (index, record) in list.iter().enumerate() {
            let path = Path::Index(&top, index);
            let Some(name) = record.get::<String>("name") else { continue };
            let kind = record.get("kind").unwrap_or(NodeKind::Host);
            let address = self.address(record, nodes, &path);
            let place = record.given("name").map_or(record.place, |item| item.place);
            let added = nodes.add(name, kind, address, (place, &Path::Key(&path, "name")), self.report);
            let rule: IpOptions = record.get("ip_options").unwrap_or_default();
            if rule != IpOptions::Keep
                && kind == NodeKind::Host
                && let Some(item) = record.given("ip_options")
            {
                let reason = "has no meaning for a host, which does not forward";
                self.report.add(
                    item.place,
                    Path::Key(&path, "ip_options"),
                    &item.shown,
                    reason,
                    "keep, or kind = \"router\"",
                );
            }
            if let Some(node) = added.and_then(|index| nodes.list.get_mut(index)) {
                node.ip_options = rule;
            }
        }
    }

    /// Returns the address that a node gives, if it is valid.
    fn address(&mut self, record: &crate::record::Record, nodes: &Nodes, path: &Path<'_>) -> Option<IpAddr> {
        let item = record.given("address")?;
        let address = record.get::<IpAddr>("address")?;
        let at = Path::Key(path, "address");
        let version = match self.ip {
            IpVersion::V4 => 4,
            IpVersion::V6 => 6,
        };
        if address.is_ipv6() != (version == 6) {
            let allowed = format!("an IPv{version} address, since ip = {version}");
            self.report.add(item.place, at, &item.shown, "is of the other IP version", allowed);
            return None;
        }
        let broadcast = matches!(address, IpAddr::V4(four) if four.is_broadcast());
        if address.is_multicast() || address.is_unspecified() || broadcast {
            self.report.add(item.place, at, &item.shown, "is not the address of a single node", "a unicast address");
            return None;
        }
        if nodes.given.contains(&address) {
            self.report.add(item.place, at, &item.shown, "is the address of two nodes", "unique addresses");
            return None;
        }
        Some(address)
    }
}
