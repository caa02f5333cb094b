//! The way of each flow's packets in both directions, hop by hop: static routes looked up once.
//!
//! Flows between the same nodes share a way. A hop also says whether the next hop is a line that is folded into it
//! ([`lines`](crate::lines)). Packets are then carried over both at once, without an event between the two.

use narrows_fabric::{Edge, Topology};
use narrows_scenario::Scenario;
use std::sync::Arc;

/// A hop of a way: an edge, or the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hop(u32);

impl Hop {
    /// The packet is at its destination.
    const END: Self = Self(u32::MAX);

    /// The edge; `None` at the end.
    #[inline]
    pub(crate) fn edge(self) -> Option<usize> {
        if self == Self::END { None } else { Some((self.0 >> 1) as usize) }
    }

    /// Whether the next hop is a line folded into this one; meaningless at the end.
    #[inline]
    pub(crate) fn goes_on(self) -> bool {
        self.0 & 1 == 1
    }
}

/// A packet's position on its way: its next hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way(u32);

impl Way {
    /// The way with this number.
    #[inline]
    pub(crate) const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Its number.
    #[inline]
    pub(crate) const fn number(self) -> u32 {
        self.0
    }

    /// The way after the next hop.
    #[inline]
    #[must_use]
    pub(crate) const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// All ways. Copies share them.
#[derive(Clone, Debug)]
pub(crate) struct Routes {
    /// The hops of all ways, each followed by its end.
    hops: Arc<[Hop]>,
    /// Per flow: its two ways, indexed by whether a packet travels along the flow (1) or back (0).
    starts: Arc<[[Way; 2]]>,
}

impl Routes {
    /// The ways of a scenario's flows, with nothing folded yet; `None` if `stopped` returns `true`.
    pub(crate) fn new(scenario: &Scenario, topology: &Topology, stopped: impl Fn() -> bool) -> Option<Self> {
        let mut hops = Vec::new();
        let mut pairs: Vec<_> = scenario.flows.iter().flat_map(|f| [(f.from, f.to), (f.to, f.from)]).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let mut known: Vec<(usize, usize, Way)> = Vec::with_capacity(pairs.len());
        topology.paths(&mut pairs, stopped, |from, to, path| {
            known.push((from, to, Way(hops.len() as u32)));
            hops.extend(path.iter().map(|&edge| Hop(edge << 1)));
            hops.push(Hop::END);
        })?;
        drop(pairs);
        known.sort_unstable_by_key(|&(from, to, _)| (from, to));
        let way = |from, to| {
            let place = known.partition_point(|&(a, b, _)| (a, b) < (from, to));
            known.get(place).map_or(Way(0), |&(.., way)| way)
        };
        let starts = scenario.flows.iter().map(|f| [way(f.to, f.from), way(f.from, f.to)]).collect();
        Some(Self { hops: hops.into(), starts })
    }

    /// The nodes that the packets of a flow pass, both ends included.
    pub(crate) fn nodes(&self, flow: usize, topology: &Topology) -> Vec<usize> {
        let mut way = self.start(flow, true);
        let mut nodes = Vec::new();
        while let Some(edge) = self.hop(way).edge() {
            let Edge { from, to } = topology.edges[edge];
            if nodes.is_empty() {
                nodes.push(from);
            }
            nodes.push(to);
            way = way.next();
        }
        nodes
    }

    /// The way of a flow's packets from the host that sends them.
    #[inline]
    pub(crate) fn start(&self, flow: usize, along: bool) -> Way {
        self.starts[flow][usize::from(along)]
    }

    /// The way of a flow's packets from a node on it; `None` if there is no such flow.
    pub(crate) fn way_from(&self, flow: usize, along: bool, node: usize, topology: &Topology) -> Option<Way> {
        let mut way = self.starts.get(flow)?[usize::from(along)];
        while let Some(edge) = self.hop(way).edge()
            && topology.edges[edge].from != node
        {
            way = way.next();
        }
        Some(way)
    }

    /// The hops of a way, and all that follow them in the table.
    #[inline]
    pub(crate) fn hops_from(&self, way: Way) -> &[Hop] {
        self.hops.get(way.0 as usize..).unwrap_or_default()
    }

    /// The next hop of a way.
    #[inline]
    pub(crate) fn hop(&self, way: Way) -> Hop {
        self.hops[way.0 as usize]
    }

    /// All pairs of consecutive edges on ways; the first edge of a way has no predecessor.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (Option<usize>, usize)> + '_ {
        let before = std::iter::once(Hop::END).chain(self.hops.iter().copied());
        before.zip(self.hops.iter()).filter_map(|(before, hop)| Some((before.edge(), hop.edge()?)))
    }

    /// All edges on ways, each with the next edge; the last edge of a way has none.
    pub(crate) fn steps(&self) -> impl Iterator<Item = (usize, Option<usize>)> + '_ {
        self.hops.iter().zip(self.hops.iter().skip(1)).filter_map(|(hop, next)| Some((hop.edge()?, next.edge())))
    }

    /// Marks hops whose next hop is folded into them; `folded` decides it for two consecutive edges. Shared ways stay
    /// as they are: they were marked before they were shared.
    pub(crate) fn fold(&mut self, folded: impl Fn(usize, usize) -> bool) {
        let Some(hops) = Arc::get_mut(&mut self.hops) else { return };
        for index in 1..hops.len() {
            if let (Some(before), Some(edge)) = (hops[index - 1].edge(), hops[index].edge())
                && folded(before, edge)
            {
                hops[index - 1].0 |= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const TEXT: &str = r#"
format = 1
name = "t"
duration = "1 s"

[topology]
kind = "chain"
routers = 2
link = { rate = "1 Mb/s", delay = "1 ms", queue = { limit = "10 packets" } }

[[flows]]
name = "one"
from = "h1"
to = "h2"

[[flows]]
name = "two"
from = "h1"
to = "h2"
"#;

    #[test]
    fn a_way_leads_from_hop_to_hop() {
        let scenario = narrows_scenario::parse(TEXT, "t.toml", &[], &crate::catalogue()).unwrap();
        let topology = Topology::new(&scenario);
        let ends = [scenario.flows[0].from, scenario.flows[0].to];
        let mut routes = Routes::new(&scenario, &topology, || false).unwrap();
        assert_eq!(routes.start(0, true), routes.start(1, true), "flows between the same nodes share a way");
        routes.fold(|before, edge| topology.edges[before].to == topology.edges[edge].from);
        for along in [true, false] {
            let (from, to) = if along { (ends[0], ends[1]) } else { (ends[1], ends[0]) };
            let (mut way, mut node, mut hops) = (routes.start(0, along), from, 0);
            assert_eq!(routes.way_from(0, along, from, &topology), Some(way));
            while let Some(edge) = routes.hop(way).edge() {
                assert_eq!(topology.edges[edge].from, node);
                assert_eq!(routes.way_from(0, along, node, &topology), Some(way));
                node = topology.edges[edge].to;
                hops += 1;
                assert_eq!(routes.hop(way).goes_on(), hops < 3, "there is nothing after the last");
                way = way.next();
            }
            assert_eq!((node, hops), (to, 3));
        }
        let names: Vec<_> = routes.nodes(0, &topology).into_iter().map(|n| scenario.nodes[n].name.as_str()).collect();
        assert_eq!(names, ["h1", "r1", "r2", "h2"]);
        assert!(Routes::new(&scenario, &topology, || true).is_none(), "stopped");
        assert_eq!(routes.way_from(2, true, ends[0], &topology), None);
    }
}
