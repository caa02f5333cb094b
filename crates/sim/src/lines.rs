//! Which directions of links are done by arithmetic, and which of them are folded into the one before.
//!
//! A line is fed by one other alone if every packet that any flow sends over it, there or back, comes from that other. Its
//! packets then come to it in the order in which they leave the other, and what it does with them is known as soon as
//! they have left: so they are carried on at once, and the router between the two has no event for them. Where an agent
//! sits on the router, each packet is an event, since the agent may look at its queues at that time.

use crate::edge::Link;
use crate::line::Line;
use crate::routes::Routes;
use narrows_fabric::{Nodes, Seeds, Topology, limit, link_direction, link_losses};
use narrows_scenario as scenario;
use narrows_scenario::{Direction, Sampling, Scenario};
use narrows_units::{Bytes, Instant};

/// All directions of links: drop-tail as lines, unless the plain loop is asked for.
pub(crate) fn links(scenario: &Scenario, seeds: Seeds, nodes: &Nodes, plain_loop: bool) -> Vec<Link> {
    let mut links = Vec::with_capacity(2 * scenario.links.len());
    for link in &scenario.links {
        let (a, b) = (&scenario.nodes[link.a].name, &scenario.nodes[link.b].name);
        for (direction, from, to) in [(&link.forward, a, b), (&link.reverse, b, a)] {
            let watched = nodes.sees_departures(links.len());
            let path = format!("link/{from}->{to}");
            let simple = direction.changes.is_empty() && !watched && !plain_loop && direction.rate.as_bps() > 0;
            links.push(match direction.queue {
                scenario::Queue::DropTail { limit: l } if simple => line(direction, l, &path, scenario, seeds),
                _ => packet_by_packet(direction, &path, watched, seeds),
            });
        }
    }
    links
}

fn line(direction: &Direction, limited: scenario::Limit, path: &str, scenario: &Scenario, seeds: Seeds) -> Link {
    let (loss, lossy) = link_losses(direction, path, seeds);
    let end = Instant::ZERO + scenario.duration;
    let mut line = Line::new(direction.rate, direction.delay, limit(limited), loss, lossy, end);
    if let Sampling::Interval(every) = scenario.sampling {
        line.look_from(Instant::ZERO, every);
    }
    Link::Line(line)
}

fn packet_by_packet(direction: &Direction, path: &str, watched: bool, seeds: Seeds) -> Link {
    Link::Queue(Box::new(link_direction(direction, path, watched, seeds)))
}

/// Folds lines that one other alone feeds into that one.
pub(crate) fn fold(scenario: &Scenario, topology: &Topology, nodes: &Nodes, links: &[Link], routes: &mut Routes) {
    // What feeds each edge: nothing yet, one edge, or hosts and more than one.
    let mut feeders: Vec<Option<Option<usize>>> = vec![None; topology.edges.len()];
    for (before, edge) in routes.pairs() {
        let feeder = feeders[edge].get_or_insert(before);
        if *feeder != before {
            *feeder = None;
        }
    }
    let is_line = |edge: usize| matches!(links.get(edge), Some(Link::Line(_)));
    routes.fold(|before, edge| {
        feeders[edge] == Some(Some(before))
            && is_line(before)
            && is_line(edge)
            && takes_time(scenario, edge)
            && !nodes.has_agent(topology.edges[edge].from)
    });
}

/// The smallest packet: an IPv4 header.
const SMALLEST: Bytes = Bytes::new(20);

/// Whether every packet takes a nanosecond at least over a direction of a link. Where one takes none it arrives at the instant at which it
/// came, and whether it is the first there of all that arrive then would depend on when the loop learnt of it.
fn takes_time(scenario: &Scenario, edge: usize) -> bool {
    scenario.links.get(edge / 2).is_some_and(|link| {
        let direction = if edge.is_multiple_of(2) { &link.forward } else { &link.reverse };
        !direction.delay.is_zero() || !direction.rate.time_for(SMALLEST).is_zero()
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::build::build;
    use crate::run::Options;

    /// Whether each hop of the first flow's packets goes on into the next, in a dumbbell of two pairs with a flow each.
    fn folded(bottleneck: &str, access: &str, more: &str) -> Vec<bool> {
        let text = format!(
            "format = 1\nname = \"t\"\nduration = \"1 s\"\n[topology]\nkind = \"dumbbell\"\npairs = 2\nbottleneck = {{ {bottleneck} }}\n\
             access = {{ {access} }}\n{more}\n[[flows]]\nname = \"f\"\nfrom = \"s*\"\nto = \"d*\"\ncopies = 2\n"
        );
        let scenario = narrows_scenario::parse(&text, "t.toml", &[], &crate::catalogue()).unwrap();
        let world = build(&scenario, &Options::default()).unwrap();
        let mut way = world.routes.start(0, true);
        let mut folded = Vec::new();
        while world.routes.hop(way).edge().is_some() {
            folded.push(world.routes.hop(way).goes_on());
            way = way.next();
        }
        folded
    }

    #[test]
    fn a_line_that_one_other_alone_feeds_is_folded() {
        let (slow, fast) = ("rate = \"1 Mb/s\", delay = \"5 ms\"", "rate = \"100 Gb/s\", delay = \"0 s\"");
        let no_time = "rate = \"10 Tb/s\", delay = \"0 s\"";
        // Both pairs feed the bottleneck; it alone feeds the links behind it.
        assert_eq!(folded(slow, slow, ""), [false, true, false]);
        assert_eq!(folded(fast, fast, ""), [false, true, false], "a nanosecond is enough");
        assert_eq!(
            folded(no_time, slow, ""),
            [false, true, false],
            "when it comes does not matter, but when it arrives"
        );
        assert_eq!(folded(slow, no_time, ""), [false; 3]);
        let red = format!("{slow}, queue = {{ kind = \"red\" }}");
        assert_eq!(folded(&red, slow, ""), [false; 3], "no line");
        assert_eq!(folded(slow, slow, "[acns]\nrouters = [\"r2\"]"), [false; 3], "an agent looks at its queues");
    }
}
