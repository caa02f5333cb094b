//! The arena: link directions and stations' ways between nodes, and static shortest-path routes.
//!
//! Routes minimise hops; among equals the next hop is the node that stands first in the scenario, so they are the same in
//! every run (ns-2's static routing and ns-3's global routing count hops too). Nodes with one link need no table:
//! their only link leads everywhere, and a way to them is the way to their neighbour. Hosts never forward.

use narrows_scenario::{NodeKind, Scenario};

/// No link direction.
const NOWHERE: u32 = u32::MAX;

/// One direction of a link, by its end points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Node where it starts.
    pub from: usize,
    /// Node where it ends.
    pub to: usize,
}

/// Nodes, link directions and routes.
#[derive(Debug)]
pub struct Topology {
    /// Link directions: link `i` of the scenario has its forward direction at `2i` and its reverse at `2i + 1`. Then, for
    /// each station of each 802.11 channel, base station to station and station to base station.
    pub edges: Vec<Edge>,
    /// Per node: the directions that leave it, in link order.
    outgoing: Vec<Vec<u32>>,
    forwards: Vec<bool>,
    /// Per node: its only direction, if it has but one.
    only: Vec<u32>,
    /// Per node: the node itself, or its neighbour if it has only one link.
    anchors: Vec<u32>,
    /// Per target node that has several links and was asked for: the direction to take at each node.
    tables: Vec<Option<Box<[u32]>>>,
}

impl Topology {
    /// The arena of a scenario, without routes.
    pub fn new(scenario: &Scenario) -> Self {
        let nodes = scenario.nodes.len();
        let mut edges = Vec::with_capacity(2 * scenario.links.len());
        let mut outgoing = vec![Vec::new(); nodes];
        let links = scenario.links.iter().map(|link| (link.a, link.b));
        let stations = scenario.wifi.iter().flat_map(|wifi| wifi.stations.iter().map(|s| (wifi.base.node, s.node)));
        for (a, b) in links.chain(stations) {
            for (from, to) in [(a, b), (b, a)] {
                outgoing[from].push(edges.len() as u32);
                edges.push(Edge { from, to });
            }
        }
        let only: Vec<u32> =
            outgoing.iter().map(|o: &Vec<u32>| if let [only] = o[..] { only } else { NOWHERE }).collect();
        let anchor = |(node, &edge): (usize, &u32)| edges.get(edge as usize).map_or(node, |e: &Edge| e.to) as u32;
        let anchors = only.iter().enumerate().map(anchor).collect();
        let forwards = scenario.nodes.iter().map(|n| n.kind == NodeKind::Router).collect();
        Self { edges, outgoing, only, anchors, forwards, tables: vec![None; nodes] }
    }

    /// Prepares routes to `node`. [`next`](Self::next) knows no way to nodes that were not prepared.
    pub fn prepare(&mut self, node: usize) {
        let target = self.anchors[node] as usize;
        if self.tables[target].is_none() {
            self.tables[target] = Some(self.ways_to(target));
        }
    }

    /// The link direction that leads from `at` towards `node`; `None` where there is no way.
    #[inline]
    pub fn next(&self, at: usize, node: usize) -> Option<usize> {
        let only = self.only[at];
        if only != NOWHERE {
            return Some(only as usize);
        }
        let target = self.anchors[node] as usize;
        if at == target {
            // `node` hangs on this node by its only link; the other direction of that link has the same number but one bit.
            return Some((self.only[node] ^ 1) as usize);
        }
        let way = *self.tables[target].as_ref()?.get(at)?;
        (way != NOWHERE).then_some(way as usize)
    }

    /// The link directions that leave a node, in link order.
    pub fn leaving(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        self.outgoing[node].iter().map(|&edge| edge as usize)
    }

    /// Breadth-first search backwards from `target`.
    fn ways_to(&self, target: usize) -> Box<[u32]> {
        let mut ways = vec![NOWHERE; self.outgoing.len()].into_boxed_slice();
        let mut frontier = vec![target];
        let mut seen = vec![false; self.outgoing.len()];
        seen[target] = true;
        while !frontier.is_empty() {
            let mut further = Vec::new();
            for &node in &frontier {
                if node != target && !self.forwards[node] {
                    continue;
                }
                for &edge in &self.outgoing[node] {
                    let neighbour = self.edges[edge as usize].to;
                    if !seen[neighbour] {
                        seen[neighbour] = true;
                        ways[neighbour] = edge ^ 1;
                        further.push(neighbour);
                    }
                }
            }
            // In node order, so that which way is found first does not depend on the search's own history.
            further.sort_unstable();
            frontier = further;
        }
        ways
    }

    /// The nodes on the way from one node to another, both included; `None` where there is no way.
    #[cfg(test)]
    pub fn path(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let mut path = vec![from];
        let mut at = from;
        while at != to {
            at = self.edges[self.next(at, to)?].to;
            path.push(at);
            if path.len() > self.outgoing.len() {
                return None;
            }
        }
        Some(path)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use narrows_scenario as sc;
    use narrows_units::{Duration, Packets, Rate};

    fn scenario(kinds: &str, links: &[(usize, usize)]) -> Scenario {
        let text = r#"
format = 1
name = "t"
duration = "1 s"
nodes = [{ name = "a" }, { name = "b" }]
links = [{ between = ["a", "b"], rate = "1 Mb/s", delay = "0 s", queue = { kind = "droptail", limit = "10 packets" } }]
flows = [{ name = "f", from = "a", to = "b", kind = "bulk" }]
"#;
        let mut s = sc::parse(text, "t.toml", &[], &crate::catalogue()).unwrap();
        s.nodes = kinds
            .chars()
            .enumerate()
            .map(|(i, kind)| sc::Node {
                name: format!("n{i}"),
                kind: if kind == 'R' { NodeKind::Router } else { NodeKind::Host },
                address: [10, 0, 0, i as u8 + 1].into(),
            })
            .collect();
        let direction = sc::Direction {
            rate: Rate::mbps(1),
            delay: Duration::ZERO,
            queue: sc::Queue::DropTail { limit: sc::Limit::Packets(Packets::new(10)) },
            loss: sc::Loss::None,
            changes: Vec::new(),
        };
        s.links = links
            .iter()
            .map(|&(a, b)| sc::Link { a, b, forward: direction.clone(), reverse: direction.clone() })
            .collect();
        s
    }

    fn path(kinds: &str, links: &[(usize, usize)], from: usize, to: usize) -> Option<Vec<usize>> {
        let mut t = Topology::new(&scenario(kinds, links));
        t.prepare(to);
        t.path(from, to)
    }

    #[test]
    fn routes_have_the_fewest_hops() {
        // 0 - 1 - 2 - 3 - 4 and a short cut 1 - 3.
        let links = [(0, 1), (1, 2), (2, 3), (3, 4), (1, 3)];
        assert_eq!(path("HRRRH", &links, 0, 4), Some(vec![0, 1, 3, 4]));
        assert_eq!(path("HRRRH", &links, 4, 0), Some(vec![4, 3, 1, 0]));
        assert_eq!(path("HRRRH", &links, 2, 0), Some(vec![2, 1, 0]));
    }

    #[test]
    fn hosts_do_not_forward() {
        // The way over host 2 is shorter than the one over routers 3 and 4.
        let links = [(0, 1), (1, 2), (2, 5), (1, 3), (3, 4), (4, 5), (5, 6)];
        assert_eq!(path("HRHRRRH", &links, 0, 6), Some(vec![0, 1, 3, 4, 5, 6]));
    }

    #[test]
    fn among_equals_the_first_node_wins() {
        let links = [(0, 1), (1, 3), (1, 2), (2, 4), (3, 4), (4, 5)];
        assert_eq!(path("HRRRRH", &links, 0, 5), Some(vec![0, 1, 2, 4, 5]));
    }

    #[test]
    fn two_hosts_can_share_one_link() {
        assert_eq!(path("HH", &[(0, 1)], 0, 1), Some(vec![0, 1]));
        assert_eq!(path("HH", &[(0, 1)], 1, 0), Some(vec![1, 0]));
    }
}
