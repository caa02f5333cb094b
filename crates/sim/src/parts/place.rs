//! Which part each node of a network is in: about equal work for each, and little traffic between them.
//!
//! Both ends of a flow are in one part. So hosts between which there are flows form a group. Groups behind the same two
//! routers form a bundle. A small bundle stays together, and bundles that follow each other in the scenario are often
//! neighbours, so each part gets a contiguous range of them; the routers that only this part uses go with it. The
//! groups of a large bundle, such as all pairs of a dumbbell, go to the parts in turn, because delays, for example, may
//! grow from each pair to the next. Routers that several parts use go to the part with the least work.

use super::traffic::{expected, way};
use crate::world::World;
use std::collections::BTreeMap;

/// Work of an event, relative to an arrival at a router: the share of cycles in docs/performance.md.
const AT_ROUTER: u64 = 1;
const AT_RECEIVER: u64 = 3;
const AT_SENDER: u64 = 5;

/// A bundle of more than this part of all work is divided.
const LARGE: u64 = 8;

/// A part that has this part more than its share of the work takes no more routers.
const TOO_MUCH: u64 = 10;

/// Times that ranges are moved to make up for the routers that all parts use.
const ROUNDS: usize = 3;

/// The part of each node, and the work of all parts over that of the busiest: what they gain at most.
pub(super) fn place(world: &World<'_>, parts: usize) -> (Vec<u8>, f64) {
    let network = Network::new(world);
    let mut room = vec![0; parts];
    let mut best: Option<(u64, Vec<u8>)> = None;
    for _ in 0..ROUNDS {
        let (nodes, loads, shared) = network.divide(world, parts, &room);
        let most = loads.iter().copied().max().unwrap_or(0);
        if best.as_ref().is_none_or(|(least, _)| most < *least) {
            best = Some((most, nodes));
        }
        room = shared;
    }
    best.map_or((Vec::new(), 1.0), |(most, nodes)| (nodes, network.all as f64 / most.max(1) as f64))
}

/// The work at the nodes of a network.
struct Network {
    /// Per node: the first node of its group.
    group: Vec<usize>,
    /// Per node: work at the node.
    work: Vec<u64>,
    /// Per flow: packets per second.
    rates: Vec<u64>,
    /// Bundles: their groups, each with the work of its flows at all nodes.
    bundles: Vec<Vec<(usize, u64)>>,
    all: u64,
}

impl Network {
    fn new(world: &World<'_>) -> Self {
        let mut rates: Vec<u64> = expected(world).iter().map(|flow| flow.per_second).collect();
        // Of an application of unknown rate nothing is known but that there is one.
        let least = rates.iter().copied().filter(|&rate| rate > 0).min().unwrap_or(1);
        rates.iter_mut().for_each(|rate| *rate = (*rate).max(least));
        let group = groups(world);
        let mut work = vec![0; group.len()];
        let mut of_group = vec![0; group.len()];
        for (flow, settings) in world.scenario.flows.iter().enumerate() {
            for (node, cost) in events(world, flow) {
                work[node] += cost * rates[flow];
                of_group[group[settings.from]] += cost * rates[flow];
            }
        }
        let mut bundles: Vec<Vec<(usize, u64)>> = Vec::new();
        let mut numbers = BTreeMap::new();
        let mut known = vec![false; group.len()];
        for (flow, settings) in world.scenario.flows.iter().enumerate() {
            let first = group[settings.from];
            if core::mem::replace(&mut known[first], true) {
                continue;
            }
            let edges = &world.topology.edges;
            let routers = (
                way(world, flow, true).next().map_or(first, |edge| edges[edge].to),
                way(world, flow, true).last().map_or(first, |edge| edges[edge].from),
            );
            let number = *numbers.entry(routers).or_insert(bundles.len());
            if number == bundles.len() {
                bundles.push(Vec::new());
            }
            bundles[number].push((first, of_group[first]));
        }
        let all = of_group.iter().sum();
        Self { group, work, rates, bundles, all }
    }

    /// Divides the nodes: the part of each, the work of each part, and of that the work of routers that several parts
    /// use. `room` is the latter of the division before, which ranges of bundles leave room for.
    fn divide(&self, world: &World<'_>, parts: usize, room: &[u64]) -> (Vec<u8>, Vec<u64>, Vec<u64>) {
        let size = |bundle: &[(usize, u64)]| bundle.iter().map(|&(_, work)| work).sum::<u64>();
        let (large, small): (Vec<_>, Vec<_>) = self.bundles.iter().partition(|bundle| size(bundle) > self.all / LARGE);
        let mut of_group = vec![0_u8; self.group.len()];
        let mut loads = vec![0; parts];
        let each = (self.all / parts as u64).max(1);
        let mut part = 0;
        for bundle in small {
            let work = size(bundle);
            while part + 1 < parts && loads[part] + work / 2 + room[part] > each {
                part += 1;
            }
            loads[part] += work;
            bundle.iter().for_each(|&(group, _)| of_group[group] = part as u8);
        }
        for &(group, work) in large.into_iter().flatten() {
            let part = least(&loads);
            loads[part] += work;
            of_group[group] = part as u8;
        }
        let mut nodes: Vec<u8> = self.group.iter().map(|&first| of_group[first]).collect();
        let (loads, shared) = self.place_routers(world, parts, &mut nodes);
        (nodes, loads, shared)
    }

    /// Places routers, given the parts of hosts; returns the work of each part, and that of routers that several use.
    fn place_routers(&self, world: &World<'_>, parts: usize, nodes: &mut [u8]) -> (Vec<u64>, Vec<u64>) {
        let mut by_part = vec![0_u64; nodes.len() * parts];
        let mut is_router = vec![true; nodes.len()];
        for (flow, settings) in world.scenario.flows.iter().enumerate() {
            (is_router[settings.from], is_router[settings.to]) = (false, false);
            for (node, cost) in events(world, flow) {
                by_part[node * parts + usize::from(nodes[settings.from])] += cost * self.rates[flow];
            }
        }
        let (mut loads, mut shared) = (vec![0; parts], vec![0; parts]);
        let (mut routers, hosts): (Vec<_>, Vec<_>) = (0..nodes.len()).partition(|&node| is_router[node]);
        hosts.into_iter().for_each(|host| loads[usize::from(nodes[host])] += self.work[host]);
        routers.sort_by_key(|&node| core::cmp::Reverse(self.work[node]));
        let most = self.all / parts as u64;
        let most = most + most / TOO_MUCH;
        let mut open = Vec::new();
        for node in routers {
            let only = (0..parts).find(|&part| by_part[node * parts + part] == self.work[node]);
            match only.filter(|&part| loads[part] + self.work[node] <= most) {
                Some(part) => {
                    nodes[node] = part as u8;
                    loads[part] += self.work[node];
                }
                None => open.push(node),
            }
        }
        for node in open {
            let part = least(&loads);
            nodes[node] = part as u8;
            loads[part] += self.work[node];
            shared[part] += self.work[node];
        }
        (loads, shared)
    }
}

/// The part with the least work; the first of several.
fn least(loads: &[u64]) -> usize {
    (0..loads.len()).min_by_key(|&part| loads[part]).unwrap_or(0)
}

/// The events of a data packet of a flow and its ACK: the node of each, and its work.
fn events<'a>(world: &'a World<'_>, flow: usize) -> impl Iterator<Item = (usize, u64)> + 'a {
    let settings = &world.scenario.flows[flow];
    [(true, settings.to, AT_RECEIVER), (false, settings.from, AT_SENDER)].into_iter().flat_map(
        move |(along, last, work)| {
            let mut hop = world.routes.start(flow, along);
            way(world, flow, along).filter_map(move |edge| {
                let goes_on = world.routes.hop(hop).goes_on();
                hop = hop.next();
                let node = world.topology.edges[edge].to;
                (!goes_on).then_some((node, if node == last { work } else { AT_ROUTER }))
            })
        },
    )
}

/// Per node: the first node of its group, the hosts between which there are flows.
fn groups(world: &World<'_>) -> Vec<usize> {
    let mut group: Vec<usize> = (0..world.scenario.nodes.len()).collect();
    let find = |group: &mut Vec<usize>, mut node: usize| {
        while group[node] != node {
            group[node] = group[group[node]];
            node = group[node];
        }
        node
    };
    for flow in &world.scenario.flows {
        let (a, b) = (find(&mut group, flow.from), find(&mut group, flow.to));
        group[a.max(b)] = a.min(b);
    }
    (0..group.len()).map(|node| find(&mut group, node)).collect()
}
