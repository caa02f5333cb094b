//! How a network is cut into parts.

use super::Share;
use super::place::place;
use super::rows::Rows;
use super::traffic::{Expected, expected};
use crate::edge::Link;
use crate::run::Options;
use crate::world::World;
use narrows_scenario::Sampling;
use narrows_units::{Duration, Instant};
use std::sync::Arc;

/// Rows of samples that the parts together make in a window, if a sampling interval allows it.
const ROWS_IN_WINDOW: usize = 10_000;

/// The longest window without samples.
const LONGEST_WINDOW: Duration = Duration::from_millis(1_000);

/// Fewest expected data packets in a window, and in the run, for which [`Cut::pays`].
const PACKETS_IN_WINDOW: u128 = 100;
const PACKETS_IN_ALL: u64 = 50_000;

/// Least expected work of all parts over that of the busiest for which [`Cut::pays`].
const LEAST_GAIN: f64 = 1.5;

/// How a scenario is cut.
#[derive(Debug)]
pub(crate) struct Cut {
    pub(super) parts: usize,
    /// Per flow, per direction of a link: the part that has it, and of a direction the part of its arrivals.
    flows: Vec<u8>,
    queues: Vec<u8>,
    arrivals: Vec<u8>,
    /// How long all parts go on without each other: at most the shortest delay of what crosses from one to another.
    pub(super) window: Duration,
    /// The expected work of all parts over that of the busiest.
    gain: f64,
}

impl Cut {
    /// Cuts a network into `parts`; `None` if something acts on both sides at once, or if no delay is left.
    pub(super) fn new(world: &World<'_>, options: &Options<'_>, parts: usize) -> Option<Self> {
        let simple = world.links.iter().all(|link| matches!(link, Link::Line(_)))
            && world.topology.edges.len() == world.links.len()
            && world.nodes.iter().all(|node| node.agent.is_none())
            && world.sampling != Sampling::Events
            && world.case.is_none()
            && world.states.is_none()
            && options.algorithms.is_none()
            && !options.captures();
        if !simple || !(2..=usize::from(u8::MAX)).contains(&parts) {
            return None;
        }
        let (nodes, gain) = place(world, parts);
        if gain <= 1.0 {
            return None;
        }
        let flows = world.scenario.flows.iter().map(|flow| nodes[flow.from]).collect();
        let edges = &world.topology.edges;
        let mut queues: Vec<u8> = edges.iter().map(|edge| nodes[edge.from]).collect();
        let arrivals: Vec<u8> = edges.iter().map(|edge| nodes[edge.to]).collect();
        let mut window = longest_window(world);
        for flow in 0..world.flows.len() {
            for along in [false, true] {
                let mut way = world.routes.start(flow, along);
                let mut folded_into = None;
                while let Some(edge) = world.routes.hop(way).edge() {
                    if let Some(before) = folded_into {
                        queues[edge] = before;
                    }
                    folded_into = world.routes.hop(way).goes_on().then_some(queues[edge]);
                    if folded_into.is_none() && queues[edge] != arrivals[edge] {
                        let link = &world.scenario.links[edge / 2];
                        let direction = if edge.is_multiple_of(2) { &link.forward } else { &link.reverse };
                        window = window.min(direction.delay);
                    }
                    way = way.next();
                }
            }
        }
        (!window.is_zero()).then_some(Self { parts, flows, queues, arrivals, window, gain })
    }

    /// The part of each flow.
    pub(super) fn flows(&self) -> &[u8] {
        &self.flows
    }

    /// The part of the queue of each direction of a link.
    pub(super) fn queues(&self) -> &[u8] {
        &self.queues
    }

    /// The part of the arrivals of each direction of a link.
    #[inline]
    pub(super) fn arrivals(&self) -> &[u8] {
        &self.arrivals
    }

    /// Whether the run takes less time on the parts than on one thread.
    ///
    /// A window costs about 3 us, a packet that crosses 20 ns, and the busier part decides. So 100 data packets in a
    /// window, about 35 us of work on one thread, take two threads about 28 us. 50,000 packets in all are 20 ms of work
    /// (building the simulation once more takes less). docs/performance.md has the measurements.
    pub(super) fn pays(&self, world: &World<'_>) -> bool {
        let (mut per_second, mut in_all) = (0_u64, 0_u64);
        for Expected { per_second: rate, in_all: packets } in expected(world) {
            per_second = per_second.saturating_add(rate);
            in_all = in_all.saturating_add(packets);
        }
        let in_window = u128::from(per_second) * u128::from(self.window.as_nanos()) / 1_000_000_000;
        in_window >= PACKETS_IN_WINDOW && in_all >= PACKETS_IN_ALL && self.gain >= LEAST_GAIN
    }

    /// Leaves a world with the share of one part.
    pub(super) fn share(self: &Arc<Self>, world: &mut World<'_>, own: usize) {
        for flow in (0..world.flows.len()).filter(|&flow| usize::from(self.flows[flow]) != own) {
            world.arm_app(flow, Instant::NEVER);
        }
        if world.sampling != Sampling::Off {
            world.losses.tell();
        }
        let out = (0..self.parts).map(|_| Vec::new()).collect();
        let share =
            Share { cut: Arc::clone(self), own: own as u8, out, earliest: Instant::NEVER, rows: Rows::default() };
        world.share = Some(Box::new(share));
    }

    /// Moves what another part has to the world of the first part.
    pub(super) fn merge(&self, world: &mut World<'_>, mut other: World<'_>, part: usize) {
        for (edge, _) in self.queues.iter().enumerate().filter(|&(_, &owner)| usize::from(owner) == part) {
            core::mem::swap(&mut world.links[edge], &mut other.links[edge]);
        }
        for (flow, &owner) in self.flows.iter().enumerate() {
            let lost = world.flows[flow].meter.lost_packets + other.flows[flow].meter.lost_packets;
            if usize::from(owner) == part {
                core::mem::swap(&mut world.flows[flow], &mut other.flows[flow]);
            }
            world.flows[flow].meter.lost_packets = lost;
        }
        world.connections.adopt(other.connections);
        world.events += other.events;
        world.packets += other.packets;
    }
}

/// Bounds the rows that wait to be written.
fn longest_window(world: &World<'_>) -> Duration {
    match world.sampling {
        Sampling::Interval(every) => every * (ROWS_IN_WINDOW / (world.links.len() + world.listed).max(1)).max(1) as u64,
        Sampling::Off | Sampling::Events => LONGEST_WINDOW,
    }
}
