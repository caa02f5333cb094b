//! How much traffic to expect of each flow: what decides whether more threads pay, and how the network is divided.
//!
//! Estimates use integers only, and no state of the run. Results do not depend on them.

use crate::world::World;
use narrows_scenario::{Flow, Traffic};

/// Bits of a TCP packet of common size.
const PACKET_BITS: u64 = 8 * 1500;

/// Expected data packets of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Expected {
    /// Per second, while it sends.
    pub(super) per_second: u64,
    /// Over the whole run.
    pub(super) in_all: u64,
}

/// The packets to expect of each flow. A bulk flow gets an equal share of the most crowded link on its way; a flow of
/// constant rate has that rate; other applications count for nothing, because they may be idle most of the time.
pub(super) fn expected(world: &World<'_>) -> Vec<Expected> {
    let flows = &world.scenario.flows;
    let mut crowd = vec![0_u64; world.links.len()];
    for (flow, settings) in flows.iter().enumerate() {
        if matches!(settings.traffic, Traffic::Bulk { .. }) {
            way(world, flow, true).for_each(|edge| crowd[edge] += 1);
        }
    }
    let share = |edge: usize| {
        let link = &world.scenario.links[edge / 2];
        let direction = if edge.is_multiple_of(2) { &link.forward } else { &link.reverse };
        direction.rate.as_bps() / crowd[edge].max(1)
    };
    let of = |(flow, settings): (usize, &Flow)| {
        let (bits, size) = match settings.traffic {
            Traffic::Bulk { size } => (way(world, flow, true).map(share).min().unwrap_or(0), size),
            Traffic::RateLimited { rate, .. }
            | Traffic::Datagrams { rate, pauses: None }
            | Traffic::Frames { rate, .. } => (rate.as_bps(), None),
            _ => (0, None),
        };
        let per_second = bits / settings.udp().map_or(PACKET_BITS, |udp| 8 * (udp.payload.as_u64() + 28));
        let active = settings.stop.min(world.end).since(settings.start.min(world.end));
        let in_time = u128::from(per_second) * u128::from(active.as_nanos()) / 1_000_000_000;
        let in_size = size.map_or(u64::MAX, |size| 8 * size.as_u64() / PACKET_BITS);
        Expected { per_second, in_all: u64::try_from(in_time).unwrap_or(u64::MAX).min(in_size) }
    };
    flows.iter().enumerate().map(of).collect()
}

/// The directions of links that a flow's packets take: from its `from` to its `to`, or back.
pub(super) fn way<'a>(world: &'a World<'_>, flow: usize, along: bool) -> impl Iterator<Item = usize> + 'a {
    let mut way = world.routes.start(flow, along);
    std::iter::from_fn(move || {
        let edge = world.routes.hop(way).edge()?;
        way = way.next();
        Some(edge)
    })
}
