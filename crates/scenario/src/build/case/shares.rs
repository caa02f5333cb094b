//! Quantities of steps that scale with the network: shares of a rate, multiples of a round-trip time.

use super::{At, Frame};
use crate::quantity::Scaled;
use crate::record::Value;
use crate::types::{Flow, Link, Node, NodeKind};
use narrows_timeline::{Edge, Side};
use narrows_units::{Bytes, Duration, Rate};
use std::collections::VecDeque;

/// The network as the file configures it.
#[derive(Clone, Copy)]
pub(super) struct Net<'a> {
    pub(super) nodes: &'a [Node],
    pub(super) links: &'a [Link],
    pub(super) flows: &'a [Flow],
}

/// A flow's path at the start of a run.
#[derive(Clone, Copy)]
struct Configured {
    /// Smallest rate from the sender to the receiver.
    rate: Rate,
    /// Propagation delay there and back.
    rtt: Duration,
}

impl Net<'_> {
    /// Returns the rate of a link direction at the start of a run.
    pub(super) fn rate(self, edge: &Edge) -> Option<Rate> {
        let link = self.links.get(edge.link)?;
        Some(if edge.side == Side::Forward { link.forward.rate } else { link.reverse.rate })
    }

    /// Whether a link direction follows a trace.
    pub(super) fn follows_trace(self, edge: &Edge) -> bool {
        let side = |link: &Link| match edge.side {
            Side::Forward => link.forward.trace.is_some(),
            Side::Reverse => link.reverse.trace.is_some(),
        };
        self.links.get(edge.link).is_some_and(side)
    }

    /// Returns the smallest rate on a flow's path.
    pub(super) fn path_rate(self, flow: usize) -> Option<Rate> {
        Some(self.path(flow)?.rate)
    }

    /// Whether a flow's path leads over links alone, so that the file says its rate and its round-trip time.
    pub(super) fn has_path(self, flow: usize) -> bool {
        self.path(flow).is_some()
    }

    fn path(self, flow: usize) -> Option<Configured> {
        let flow = self.flows.get(flow)?;
        let (there, back) = (self.hops(flow.from, flow.to)?, self.hops(flow.to, flow.from)?);
        let delay = |hops: &[(usize, bool)]| {
            hops.iter().fold(Duration::ZERO, |sum, (link, forward)| sum + self.direction(*link, *forward).1)
        };
        let rate = there.iter().map(|(link, forward)| self.direction(*link, *forward).0).min()?;
        Some(Configured { rate, rtt: delay(&there) + delay(&back) })
    }

    fn direction(self, link: usize, forward: bool) -> (Rate, Duration) {
        self.links.get(link).map_or((Rate::ZERO, Duration::ZERO), |link| {
            let side = if forward { &link.forward } else { &link.reverse };
            (side.rate, side.delay)
        })
    }

    /// Returns the links from one node to another and whether each is passed forward: the fewest, and of equal routes
    /// that over the node that comes first, as runs route. `None` without a path of links.
    fn hops(self, from: usize, to: usize) -> Option<Vec<(usize, bool)>> {
        let mut neighbours: Vec<Vec<(usize, usize, bool)>> = vec![Vec::new(); self.nodes.len()];
        for (index, link) in self.links.iter().enumerate() {
            neighbours.get_mut(link.a)?.push((link.b, index, true));
            neighbours.get_mut(link.b)?.push((link.a, index, false));
        }
        neighbours.iter_mut().for_each(|list| list.sort_unstable());
        let mut distance = vec![usize::MAX; self.nodes.len()];
        *distance.get_mut(to)? = 0;
        let mut queue = VecDeque::from([to]);
        while let Some(node) = queue.pop_front() {
            // Hosts do not forward.
            if node != to && self.nodes.get(node)?.kind == NodeKind::Host {
                continue;
            }
            for (next, ..) in &neighbours[node] {
                if distance[*next] == usize::MAX {
                    distance[*next] = distance[node] + 1;
                    queue.push_back(*next);
                }
            }
        }
        let (mut at, mut hops) = (from, Vec::new());
        while at != to {
            let near = |(next, ..): &&(usize, usize, bool)| {
                let forwards = *next == to || self.nodes.get(*next).is_some_and(|node| node.kind == NodeKind::Router);
                forwards && distance[*next] != usize::MAX && distance[*next] + 1 == distance[at]
            };
            let (next, link, forward) = *neighbours.get(at)?.iter().find(near)?;
            hops.push((link, forward));
            at = next;
        }
        Some(hops)
    }
}

/// Returns a rate, or a share of `whole` of at least 1 bit/s.
pub(super) fn rate(at: At<'_>, key: &str, whole: Option<Rate>) -> Option<Rate> {
    match at.record.given(key)?.value {
        Value::Rate(rate) => Some(rate),
        Value::Scaled(Scaled(percent)) => Some(whole?.mul_f64(percent / 100.0).max(Rate::bps(1))),
        _ => None,
    }
}

/// Returns a time, or a multiple of the round-trip time of the flow under test.
pub(super) fn time(at: At<'_>, key: &str, frame: &Frame<'_>) -> Option<Duration> {
    match at.record.given(key)?.value {
        Value::Time(time) => Some(time),
        Value::Scaled(Scaled(times)) => Some(frame.net.path(frame.words.under_test)?.rtt.mul_f64(times)),
        _ => None,
    }
}

/// Returns an amount of data, or a multiple of the bandwidth-delay product of the flow under test of at least 1 byte.
pub(super) fn data(at: At<'_>, key: &str, frame: &Frame<'_>) -> Option<Bytes> {
    match at.record.given(key)?.value {
        Value::Size(size) => Some(size),
        Value::Scaled(Scaled(times)) => {
            let path = frame.net.path(frame.words.under_test)?;
            Some(path.rate.bytes_in(path.rtt).mul_f64(times).max(Bytes::new(1)))
        }
        _ => None,
    }
}
