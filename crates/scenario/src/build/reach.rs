//! Which hosts can reach which: hosts do not forward, so paths lead only through routers.

use crate::types::{Link, Node, NodeKind, Wifi};
use std::collections::VecDeque;

/// Answers whether two nodes have a path.
#[derive(Debug)]
pub(crate) struct Reach<'a> {
    nodes: &'a [Node],
    /// Pairs of nodes with a link, and of stations with their base stations, in both orders, sorted.
    links: Vec<(usize, usize)>,
    /// For each node, the representative of its island of connected routers.
    island: Vec<usize>,
}

impl<'a> Reach<'a> {
    pub(crate) fn new(nodes: &'a [Node], links: &[Link], wifi: &[Wifi]) -> Self {
        let mut island: Vec<usize> = (0..nodes.len()).collect();
        let router = |i: usize| nodes.get(i).is_some_and(|node| node.kind == NodeKind::Router);
        for link in links.iter().filter(|link| router(link.a) && router(link.b)) {
            let (a, b) = (root(&mut island, link.a), root(&mut island, link.b));
            island[a.max(b)] = a.min(b);
        }
        for i in 0..island.len() {
            island[i] = root(&mut island, i);
        }
        // Base stations are routers and stations are hosts, so channels connect no islands.
        let air =
            wifi.iter().flat_map(|channel| channel.stations.iter().map(|station| (channel.base.node, station.node)));
        let ends = links.iter().map(|link| (link.a, link.b)).chain(air);
        let mut pairs: Vec<(usize, usize)> = ends.flat_map(|(a, b)| [(a, b), (b, a)]).collect();
        pairs.sort_unstable();
        Self { nodes, links: pairs, island }
    }

    fn neighbours(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let start = self.links.partition_point(|(from, _)| *from < node);
        self.links[start..].iter().take_while(move |(from, _)| *from == node).map(|(_, to)| *to)
    }

    fn is_router(&self, node: usize) -> bool {
        self.nodes.get(node).is_some_and(|node| node.kind == NodeKind::Router)
    }

    /// Whether packets from one node reach the other. Links go both ways, so the answer is the same for both orders.
    pub(crate) fn joined(&self, from: usize, to: usize) -> bool {
        if self.links.binary_search(&(from, to)).is_ok() {
            return true;
        }
        let islands = |node| self.neighbours(node).filter(|n| self.is_router(*n)).map(|n| self.island[n]);
        let mut at_from: Vec<usize> = islands(from).collect();
        at_from.sort_unstable();
        islands(to).any(|island| at_from.binary_search(&island).is_ok())
    }

    /// Returns a host that would have to forward to connect the two nodes.
    pub(crate) fn host_between(&self, from: usize, to: usize) -> Option<&'a str> {
        let mut before: Vec<Option<usize>> = vec![None; self.nodes.len()];
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            for next in self.neighbours(node) {
                if next != from && before[next].is_none() {
                    before[next] = Some(node);
                    queue.push_back(next);
                }
            }
        }
        let mut at = before[to]?;
        while at != from {
            if !self.is_router(at) {
                return self.nodes.get(at).map(|node| node.name.as_str());
            }
            at = before[at]?;
        }
        None
    }
}

/// Returns the representative of `node`, and shortens the path to it.
fn root(island: &mut [usize], mut node: usize) -> usize {
    while island[node] != node {
        island[node] = island[island[node]];
        node = island[node];
    }
    node
}
