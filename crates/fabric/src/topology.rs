//! The arena: link directions and 802.11 edges between nodes, and static shortest-path routes.
//!
//! Routes minimise hops. Among equal routes, the next hop is the node that comes first in the scenario, so routes are
//! the same in every run (ns-2's static routing and ns-3's global routing count hops too). Nodes with one link need no
//! table: their only link leads everywhere, and a route to them is the route to their neighbour. Hosts never forward.

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
    /// Link directions: link `i` of the scenario has its forward direction at `2i` and its reverse at `2i + 1`. Then,
    /// for each station of each 802.11 channel, base station to station and station to base station.
    pub edges: Vec<Edge>,
    /// Per node: the directions that leave it, in link order.
    outgoing: Vec<Vec<u32>>,
    forwards: Vec<bool>,
    /// Per node: its only direction, if it has exactly one.
    only: Vec<u32>,
    /// Per node: the node itself, or its neighbour if it has only one link.
    anchors: Vec<u32>,
    /// Per prepared target node with several links: the direction to take at each node.
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

    /// Prepares routes to `node`. [`next`](Self::next) finds no route to nodes that were not prepared. A table has a
    /// word per node of the network; [`paths`](Self::paths) needs no tables and suits many targets.
    pub fn prepare(&mut self, node: usize) {
        let target = self.anchors[node] as usize;
        if self.tables[target].is_none() {
            let mut search = Search::new(self.outgoing.len());
            search.run(self, target, &[]);
            self.tables[target] = Some(search.ways.into_boxed_slice());
        }
    }

    /// The link direction that leads from `at` towards `node`; `None` if there is no route.
    #[inline]
    pub fn next(&self, at: usize, node: usize) -> Option<usize> {
        self.step(at, node, |at| self.tables[self.anchors[node] as usize].as_ref()?.get(at).copied())
    }

    /// The next hop from `at` to `node`. `way` gives the direction towards the anchor of `node` at a node that has
    /// several.
    #[inline]
    fn step(&self, at: usize, node: usize, way: impl FnOnce(usize) -> Option<u32>) -> Option<usize> {
        let only = self.only[at];
        if only != NOWHERE {
            return Some(only as usize);
        }
        if at == self.anchors[node] as usize {
            // `node`'s only link leads to this node. The number of that link's other direction differs in the lowest
            // bit.
            return Some((self.only[node] ^ 1) as usize);
        }
        way(at).filter(|&way| way != NOWHERE).map(|way| way as usize)
    }

    /// Calls `found` with each of `pairs` (from, to), in the order of targets, and the link directions from one to the
    /// other.
    ///
    /// A pair without a route gets the hops up to where the route ends. Time grows with the part of the network that
    /// lies between the nodes; memory does not grow with the number of targets. `None` if `stopped` returns `true`.
    pub fn paths(
        &self,
        pairs: &mut [(usize, usize)],
        stopped: impl Fn() -> bool,
        mut found: impl FnMut(usize, usize, &[u32]),
    ) -> Option<()> {
        pairs.sort_unstable_by_key(|&(from, to)| (self.anchors[to], to, from));
        let mut search = Search::new(self.outgoing.len());
        let mut path = Vec::new();
        let mut sources = Vec::new();
        for group in pairs.chunk_by(|&(_, one), &(_, other)| self.anchors[one] == self.anchors[other]) {
            if stopped() {
                return None;
            }
            sources.clear();
            sources.extend(group.iter().map(|&(from, _)| self.anchors[from] as usize));
            let target = group.first().map_or(0, |&(_, to)| self.anchors[to] as usize);
            search.run(self, target, &sources);
            for &(from, to) in group {
                path.clear();
                let mut at = from;
                while at != to
                    && path.len() <= self.outgoing.len()
                    && let Some(edge) = self.step(at, to, |at| search.way(at))
                {
                    path.push(edge as u32);
                    at = self.edges[edge].to;
                }
                found(from, to, &path);
            }
        }
        Some(())
    }

    /// The link directions that leave a node, in link order.
    pub fn leaving(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        self.outgoing[node].iter().map(|&edge| edge as usize)
    }
}

/// Breadth-first searches backwards from targets, one after the other.
#[derive(Debug)]
struct Search {
    /// Per node: the direction to take towards the target, if the last search reached the node.
    ways: Vec<u32>,
    /// Per node: the number of the last search that reached it, and of the last search that had it as a source.
    seen: Vec<u32>,
    wanted: Vec<u32>,
    number: u32,
    frontier: Vec<usize>,
    further: Vec<usize>,
}

impl Search {
    fn new(nodes: usize) -> Self {
        Self {
            ways: vec![NOWHERE; nodes],
            seen: vec![0; nodes],
            wanted: vec![0; nodes],
            number: 0,
            frontier: Vec::new(),
            further: Vec::new(),
        }
    }

    /// The direction to take at a node, if the last search reached it.
    fn way(&self, node: usize) -> Option<u32> {
        (self.seen[node] == self.number).then(|| self.ways[node])
    }

    /// Searches from `target` until all `sources` are found; without sources, until all reachable nodes are.
    fn run(&mut self, topology: &Topology, target: usize, sources: &[usize]) {
        self.number += 1;
        let number = self.number;
        let mut missing = usize::MAX;
        if !sources.is_empty() {
            missing = 0;
            for &source in sources {
                missing += usize::from(source != target && self.wanted[source] != number);
                self.wanted[source] = number;
            }
        }
        self.frontier.clear();
        self.frontier.push(target);
        (self.seen[target], self.ways[target]) = (number, NOWHERE);
        while !self.frontier.is_empty() && missing > 0 {
            self.further.clear();
            for &node in &self.frontier {
                if node != target && !topology.forwards[node] {
                    continue;
                }
                for &edge in &topology.outgoing[node] {
                    let neighbour = topology.edges[edge as usize].to;
                    if self.seen[neighbour] != number {
                        (self.seen[neighbour], self.ways[neighbour]) = (number, edge ^ 1);
                        missing -= usize::from(self.wanted[neighbour] == number);
                        self.further.push(neighbour);
                    }
                }
            }
            // In node order, so that the route found first does not depend on the history of the search.
            self.further.sort_unstable();
            std::mem::swap(&mut self.frontier, &mut self.further);
        }
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
                ip_options: sc::IpOptions::Keep,
                kind: if kind == 'R' { NodeKind::Router } else { NodeKind::Host },
                address: [10, 0, 0, i as u8 + 1].into(),
            })
            .collect();
        let direction = sc::Direction {
            rate: Rate::mbps(1),
            trace: None,
            delay: Duration::ZERO,
            queue: sc::Queue::new("droptail", sc::Limit::Packets(Packets::new(10))),
            loss: sc::Loss::None,
            changes: Vec::new(),
            impairments: None,
        };
        s.links = links
            .iter()
            .map(|&(a, b)| sc::Link { a, b, forward: direction.clone(), reverse: direction.clone() })
            .collect();
        s
    }

    /// The nodes from one to another, after a check that tables and [`Topology::paths`] agree.
    fn path(kinds: &str, links: &[(usize, usize)], from: usize, to: usize) -> Option<Vec<usize>> {
        let mut t = Topology::new(&scenario(kinds, links));
        t.prepare(to);
        let mut path = vec![from];
        while let Some(&at) = path.last().filter(|&&at| at != to) {
            path.push(t.edges[t.next(at, to)?].to);
        }
        let mut searched = vec![from];
        t.paths(
            &mut [(from, to)],
            || false,
            |_, _, hops| {
                searched.extend(hops.iter().map(|&edge| t.edges[edge as usize].to));
            },
        );
        assert_eq!(path, searched);
        Some(path)
    }

    #[test]
    fn routes_have_the_fewest_hops() {
        // 0 - 1 - 2 - 3 - 4 and a shortcut 1 - 3.
        let links = [(0, 1), (1, 2), (2, 3), (3, 4), (1, 3)];
        assert_eq!(path("HRRRH", &links, 0, 4), Some(vec![0, 1, 3, 4]));
        assert_eq!(path("HRRRH", &links, 4, 0), Some(vec![4, 3, 1, 0]));
        assert_eq!(path("HRRRH", &links, 2, 0), Some(vec![2, 1, 0]));
    }

    #[test]
    fn hosts_do_not_forward() {
        // The path over host 2 is shorter than the one over routers 3 and 4.
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

    #[test]
    fn paths_to_many_targets_are_those_of_the_tables() {
        // A ring of eight routers with a chord, and a host at each: several paths of equal length.
        let ring = (0..8).map(|i| (i, (i + 1) % 8));
        let links: Vec<_> = ring.chain([(1, 5)]).chain((0..8).map(|i| (i, 8 + i))).collect();
        let mut t = Topology::new(&scenario(&format!("{}{}", "R".repeat(8), "H".repeat(8)), &links));
        (8..16).for_each(|host| t.prepare(host));
        let mut pairs: Vec<_> = (8..16).flat_map(|from| (8..16).map(move |to| (from, to))).collect();
        let mut count = 0;
        t.paths(
            &mut pairs,
            || false,
            |from, to, hops| {
                let (mut at, mut expected) = (from, Vec::new());
                while at != to {
                    let edge = t.next(at, to).unwrap();
                    expected.push(edge as u32);
                    at = t.edges[edge].to;
                }
                assert_eq!(hops, expected, "{from} to {to}");
                count += 1;
            },
        )
        .unwrap();
        assert_eq!(count, 64);
        assert_eq!(t.paths(&mut pairs, || true, |_, _, _| unreachable!("stopped")), None);
    }
}
