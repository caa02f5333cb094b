//! Decides which directions of links are lines (computed by arithmetic), and which lines are folded into the one
//! before.
//!
//! A line is fed by one other line alone if every packet that any flow sends over it, in either direction, comes from
//! that line. Its packets then reach it in the order in which they leave the other line, and their fate is known as
//! soon as they have left. So they are carried over both at once, and the router between the two has no event for them.
//! At a router with an agent each packet is an event, because the agent may look at the router's queues at that time.

use crate::edge::Link;
use crate::line::Line;
use crate::routes::Routes;
use narrows_fabric::{Nodes, Seeds, Topology, Touched, link_direction, link_losses};
use narrows_queue::{BuildError, Disciplines, Limit};
use narrows_scenario::{Direction, Flow, Sampling, Scenario};
use narrows_units::{Bytes, Instant};

/// All directions of links: those with no rule but their queue's limit as lines, unless the plain loop is requested.
///
/// # Errors
/// [`BuildError`]: a queue is not one of `disciplines`, or breaks their rules.
pub(crate) fn links(
    scenario: &Scenario,
    seeds: Seeds,
    nodes: &Nodes,
    plain_loop: bool,
    disciplines: Disciplines,
) -> Result<Vec<Link>, BuildError> {
    let mut links = Vec::with_capacity(2 * scenario.links.len());
    let touched = Touched::by(scenario);
    // A run with a case may end at any time, and a line computes ahead of its time.
    let by_packet = plain_loop || scenario.case.is_some();
    for link in &scenario.links {
        let (a, b) = (&scenario.nodes[link.a].name, &scenario.nodes[link.b].name);
        for (direction, from, to) in [(&link.forward, a, b), (&link.reverse, b, a)] {
            let watched = nodes.sees_departures(links.len());
            let path = format!("link/{from}->{to}");
            let by_arithmetic = is_simple(direction, disciplines)? && !watched && !by_packet;
            links.push(if by_arithmetic {
                line(direction, direction.queue.limit, &path, scenario, seeds)
            } else {
                let mut link = link_direction(direction, &path, watched, seeds, disciplines)?;
                if touched.edges.contains(&links.len()) {
                    link.allow_interventions(&path, seeds);
                }
                Link::Queue(Box::new(link))
            });
        }
    }
    Ok(links)
}

/// Whether the departure of a packet follows from those before it, as it comes.
fn is_simple(direction: &Direction, disciplines: Disciplines) -> Result<bool, BuildError> {
    let constant = direction.changes.is_empty() && direction.trace.is_none() && direction.impairments.is_none();
    Ok(constant && direction.rate.as_bps() > 0 && disciplines.find(direction.queue.kind)?.about.tail_only)
}

/// Which directions bound the senders of the host that they leave (TCP Small Queues); empty if no flow asks for it.
///
/// # Errors
/// [`BuildError::Unknown`]: a queue is not one of `disciplines`.
pub(crate) fn small_queues(scenario: &Scenario, disciplines: Disciplines) -> Result<Vec<bool>, BuildError> {
    let bounds = |flow: &&Flow| flow.tcp().is_some_and(|tcp| tcp.tsq);
    let mut hosts = vec![false; scenario.nodes.len()];
    for flow in scenario.flows.iter().filter(bounds) {
        (hosts[flow.from], hosts[flow.to]) = (true, true);
    }
    if !hosts.contains(&true) {
        return Ok(Vec::new());
    }
    let touched = Touched::by(scenario);
    let mut directions = Vec::with_capacity(2 * scenario.links.len());
    for link in &scenario.links {
        for (from, direction) in [(link.a, &link.forward), (link.b, &link.reverse)] {
            let constant = !touched.edges.contains(&directions.len());
            directions.push(hosts[from] && constant && is_simple(direction, disciplines)?);
        }
    }
    Ok(directions)
}

fn line(direction: &Direction, limit: Limit, path: &str, scenario: &Scenario, seeds: Seeds) -> Link {
    let (loss, lossy) = link_losses(direction, path, seeds);
    let end = Instant::ZERO + scenario.duration;
    let mut line = Line::new(direction.rate, direction.delay, limit, loss, lossy, end);
    if let Sampling::Interval(every) = scenario.sampling {
        line.look_from(Instant::ZERO, every);
    }
    Link::Line(line)
}

/// Folds each line that is fed by one other line alone into that line. A queue whose packets all go on over lines that
/// it feeds alone sends them ahead.
pub(crate) fn fold(scenario: &Scenario, topology: &Topology, nodes: &Nodes, links: &mut [Link], routes: &mut Routes) {
    // What feeds each edge: `None` for nothing yet, `Some(Some(edge))` for one edge, `Some(None)` for a host or
    // several.
    let mut feeders: Vec<Option<Option<usize>>> = vec![None; topology.edges.len()];
    for (before, edge) in routes.pairs() {
        let feeder = feeders[edge].get_or_insert(before);
        if *feeder != before {
            *feeder = None;
        }
    }
    let is_line = |edge: usize| matches!(links.get(edge), Some(Link::Line(_)));
    let is_behind = |before: usize, edge: usize| {
        feeders[edge] == Some(Some(before))
            && is_line(edge)
            && takes_time(scenario, edge)
            && !nodes.has_agent(topology.edges[edge].from)
    };
    let folded = |before: usize, edge: usize| is_line(before) && is_behind(before, edge);
    routes.fold(folded);
    let nexts = next_of_all(routes, topology.edges.len(), folded);
    let entered = |edge: usize| !matches!(feeders[edge], Some(Some(before)) if folded(before, edge));
    let entries: Vec<usize> = (0..nexts.len()).filter(|&edge| is_line(edge) && entered(edge)).collect();
    let mut goes_on = vec![true; topology.edges.len()];
    for (edge, next) in routes.steps() {
        goes_on[edge] &= next.is_some_and(|next| is_behind(edge, next));
    }
    allow_trains(links, &entries, &nexts);
    for (link, goes_on) in links.iter_mut().zip(goes_on) {
        if let Link::Queue(link) = link
            && goes_on
        {
            link.send_ahead();
        }
    }
}

/// Where the packets of a line go on without an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// No packet takes the line.
    Unknown,
    /// They arrive at the far end of the line, which is an event.
    Event,
    /// All go on over this line.
    Line(usize),
    /// Some go on over one line and some over another, or some arrive.
    Various,
}

/// Where the packets of each line go on; `folded` tells whether a line is folded into another.
fn next_of_all(routes: &Routes, edges: usize, folded: impl Fn(usize, usize) -> bool) -> Vec<Next> {
    let mut nexts = vec![Next::Unknown; edges];
    for (edge, next) in routes.steps() {
        let next = next.filter(|&next| folded(edge, next)).map_or(Next::Event, Next::Line);
        nexts[edge] = match nexts[edge] {
            Next::Unknown => next,
            same if same == next => next,
            _ => Next::Various,
        };
    }
    nexts
}

/// Allows trains from each of the lines `entries`, those that are not folded into another, if all its packets go on
/// over the same lines.
fn allow_trains(links: &mut [Link], entries: &[usize], nexts: &[Next]) {
    for &first in entries {
        let (mut last, mut hops) = (first, 1);
        while let Next::Line(next) = nexts[last] {
            if let Link::Line(line) = &mut links[last] {
                line.set_next(next);
            }
            (last, hops) = (next, hops + 1);
        }
        if nexts[last] == Next::Event
            && let Link::Line(line) = &mut links[first]
        {
            line.allow_trains(hops, last);
        }
    }
}

/// The smallest packet: an IPv4 header.
const SMALLEST: Bytes = Bytes::new(20);

/// Whether every packet takes at least a nanosecond over a direction of a link. A packet that takes none arrives at the
/// instant at which it was sent, and its order among simultaneous arrivals would depend on when the loop learns of it.
pub(crate) fn takes_time(scenario: &Scenario, edge: usize) -> bool {
    scenario.links.get(edge / 2).is_some_and(|link| {
        let direction = if edge.is_multiple_of(2) { &link.forward } else { &link.reverse };
        !direction.delay.is_zero() || !direction.rate.time_for(SMALLEST).is_zero()
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::build::build;
    use crate::run::Options;

    /// For each hop of the first flow, whether the next hop is folded into it, or whether its queue sends ahead, in a
    /// dumbbell of two pairs with a flow each.
    fn folded(bottleneck: &str, access: &str, more: &str) -> Vec<bool> {
        let text = format!(
            "format = 1\nname = \"t\"\nduration = \"1 s\"\n[topology]\nkind = \"dumbbell\"\npairs = 2\nbottleneck = {{ {bottleneck} }}\n\
             access = {{ {access} }}\n{more}\n[[flows]]\nname = \"f\"\nfrom = \"s*\"\nto = \"d*\"\ncopies = 2\n"
        );
        let scenario = narrows_scenario::parse(&text, "t.toml", &[], &crate::catalogue()).unwrap();
        let world = build(&scenario, &Options::default()).unwrap();
        let mut way = world.routes.start(0, true);
        let mut folded = Vec::new();
        while let Some(edge) = world.routes.hop(way).edge() {
            folded.push(match &world.links[edge] {
                Link::Line(_) => world.routes.hop(way).goes_on(),
                Link::Queue(link) => link.sends_ahead(),
            });
            way = way.next();
        }
        folded
    }

    #[test]
    fn a_line_that_one_other_alone_feeds_is_folded() {
        let (slow, fast) = ("rate = \"1 Mb/s\", delay = \"5 ms\"", "rate = \"100 Gb/s\", delay = \"0 s\"");
        let no_time = "rate = \"10 Tb/s\", delay = \"0 s\"";
        // Both pairs feed the bottleneck; the bottleneck alone feeds the links behind it.
        assert_eq!(folded(slow, slow, ""), [false, true, false]);
        assert_eq!(folded(fast, fast, ""), [false, true, false], "a nanosecond is enough");
        assert_eq!(
            folded(no_time, slow, ""),
            [false, true, false],
            "when it comes does not matter, but when it arrives"
        );
        assert_eq!(folded(slow, no_time, ""), [false; 3]);
        assert_eq!(folded(slow, slow, "[acns]\nrouters = [\"r2\"]"), [false; 3], "an agent looks at its queues");
    }
    #[test]
    fn a_queue_sends_ahead_if_all_its_packets_go_on_over_lines_that_it_alone_feeds() {
        let (slow, no_time) = ("rate = \"1 Mb/s\", delay = \"5 ms\"", "rate = \"10 Tb/s\", delay = \"0 s\"");
        let queue = format!("{slow}, queue = {{ kind = \"codel\" }}");
        assert_eq!(folded(&queue, slow, ""), [false, true, false]);
        assert_eq!(folded(&queue, &queue, ""), [false; 3], "no lines");
        assert_eq!(folded(slow, &queue, ""), [false; 3], "access links lead to the bottleneck together, or to hosts");
        assert_eq!(folded(&queue, no_time, ""), [false; 3]);
        assert_eq!(folded(&format!("{queue}, jitter = \"1 ms\""), slow, ""), [false; 3]);
        let changes = ", changes = [{ at = \"500 ms\", rate = \"2 Mb/s\" }]";
        assert_eq!(folded(&format!("{queue}{changes}"), slow, ""), [false; 3]);
        assert_eq!(folded(&queue, slow, "[acns]\nrouters = [\"r2\"]"), [false; 3], "an agent looks at its queues");
    }
}
