//! A test case beside the network: when it looks, and what its steps do to directions of links.

use super::Network;
use crate::counters::Watch;
use narrows_fabric::{Intervention, LinkDirection};
use narrows_timeline::Outcome;
use narrows_units::Instant;
use std::fmt::Debug;

/// A change of a direction of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Change {
    /// The direction.
    pub(crate) edge: usize,
    /// Number of the intervention.
    pub(crate) number: usize,
    /// What begins; `None` ends the intervention of this number.
    pub(crate) what: Option<Intervention>,
}

/// Follows a run in the network's thread.
pub(crate) trait Follow: Debug + Send {
    /// Directions that are brought up to the time of a look first.
    fn edges(&self) -> &[usize];

    /// Whether a look follows each packet that reaches this node, or comes from it.
    fn watches(&self, node: usize) -> bool;

    /// Looks at the run, and returns what is to change now.
    fn look(&mut self, at: Instant, links: &[LinkDirection]) -> Vec<Change>;

    /// When a look is needed after the last one, whatever happens before.
    fn next_look(&self) -> Instant;

    /// Whether the run may end.
    fn is_over(&self) -> bool;

    /// Looks a last time, at the end of the run.
    fn end(self: Box<Self>, at: Instant, links: &[LinkDirection]) -> Outcome;
}

impl Network {
    /// Lets a test case follow the run.
    pub(crate) fn follow(&mut self, follower: Box<dyn Follow>) {
        self.next_follow = Instant::ZERO;
        self.follower = Some(follower);
    }

    /// Whether nothing is left for the test case to see.
    pub(crate) fn is_over(&self) -> bool {
        self.follower.as_ref().is_some_and(|follower| follower.is_over())
    }

    /// Ends the test case; returns what came of it, if there is one.
    pub(crate) fn end_following(&mut self) -> Option<Outcome> {
        let follower = self.follower.take()?;
        self.bring_up(follower.edges());
        self.next_follow = Instant::NEVER;
        Some(follower.end(self.now, &self.links))
    }

    /// Asks for a look now, if a test case watches this node.
    pub(super) fn look_after(&mut self, node: usize) {
        if self.follower.as_ref().is_some_and(|follower| follower.watches(node)) {
            self.next_follow = self.next_follow.min(self.now);
        }
    }

    /// Lets the test case look, and carries out what it asks of links.
    pub(super) fn look(&mut self) {
        let Some(mut follower) = self.follower.take() else {
            self.next_follow = Instant::NEVER;
            return;
        };
        let now = self.now;
        self.bring_up(follower.edges());
        for change in follower.look(now, &self.links) {
            self.carry_out(&change);
        }
        self.next_follow = follower.next_look();
        self.follower = Some(follower);
    }

    /// Carries out what directions have sent up to now.
    fn bring_up(&mut self, edges: &[usize]) {
        let now = self.now;
        for &edge in edges {
            let Self { links, store, nodes, counters, .. } = self;
            let Some(link) = links.get_mut(edge) else { continue };
            link.drain(now, &mut Watch { edge, store, nodes, counters });
            self.plan(edge);
        }
    }

    fn carry_out(&mut self, change: &Change) {
        let (now, edge) = (self.now, change.edge);
        let Self { links, store, nodes, counters, .. } = self;
        let Some(link) = links.get_mut(edge) else { return };
        let mut watch = Watch { edge, store, nodes, counters };
        match &change.what {
            Some(what) => link.intervene(change.number, what, now, &mut watch),
            None => link.end_interventions(change.number, now, &mut watch),
        }
        self.observe(edge);
        self.plan(edge);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::network::Deliver;
    use crate::store;
    use crate::testing::scenario;
    use narrows_fabric::{Chosen, Counted, Seeds, Selection};
    use narrows_units::Duration;
    use narrows_wire::{Ip, Packet, TcpFlags, TcpRepr, Transport};

    /// Counts packets at hosts.
    #[derive(Default)]
    struct Arrived(u64);

    impl Deliver for Arrived {
        fn deliver(&mut self, _node: usize, _bytes: &[u8], _at: Instant) {
            self.0 += 1;
        }
    }

    /// Drops the next packet at the first look after a time, and ends at the look after it.
    #[derive(Debug)]
    struct DropOne {
        edge: usize,
        from: Instant,
        node: usize,
        looks: u32,
        asked: bool,
    }

    impl Follow for DropOne {
        fn edges(&self) -> &[usize] {
            std::slice::from_ref(&self.edge)
        }
        fn watches(&self, node: usize) -> bool {
            node == self.node
        }
        fn look(&mut self, at: Instant, links: &[LinkDirection]) -> Vec<Change> {
            self.looks += 1;
            assert!(links.len() > self.edge);
            if at < self.from || self.asked {
                return Vec::new();
            }
            self.asked = true;
            let next = Selection { counted: Counted::All, chosen: Chosen::All, packets: 1, time: Duration::MAX };
            vec![Change { edge: self.edge, number: 7, what: Some(Intervention::Drop(next)) }]
        }
        fn next_look(&self) -> Instant {
            Instant::NEVER
        }
        fn is_over(&self) -> bool {
            self.asked
        }
        fn end(self: Box<Self>, at: Instant, _links: &[LinkDirection]) -> Outcome {
            Outcome { ended: at, steps: Vec::new(), expectations: Vec::new(), series: None }
        }
    }

    #[test]
    fn looks_follow_packets_of_a_watched_node_and_steps_act_on_links() {
        let text =
            "[[flows]]\nname = \"f\"\nfrom = \"s1\"\nto = \"d1\"\n[[steps]]\nat = \"5 ms\"\ndrop = { packets = 1 }";
        let scenario = scenario(text);
        let mut network = Network::new(&scenario, Seeds::new(1, 0)).unwrap();
        let node = scenario.nodes.iter().position(|node| node.name == "s1").unwrap();
        let edge = network.topology.next(node, scenario.flows[0].to).unwrap();
        let bottleneck = network.topology.next(network.topology.edges[edge].to, scenario.flows[0].to).unwrap();
        let from = Instant::ZERO + Duration::from_millis(5);
        network.follow(Box::new(DropOne { edge: bottleneck, from, node, looks: 0, asked: false }));
        let (src_port, dst_port) = narrows_fabric::ports(0);
        let tcp = TcpRepr { src_port, dst_port, flags: TcpFlags::ACK, ..TcpRepr::default() };
        let ip = Ip::between(scenario.nodes[node].address, scenario.nodes[scenario.flows[0].to].address);
        let packet = Packet { ip, transport: Transport::Tcp(tcp), payload_len: 100 };
        let bytes = packet.emit();
        assert!(store::addresses(&bytes).is_some());
        let mut arrived = Arrived::default();
        for ms in [1_u64, 4, 6, 9] {
            let now = Instant::ZERO + Duration::from_millis(ms);
            network.advance(now, &mut arrived);
            network.receive(node, &bytes, now);
        }
        network.advance(Instant::ZERO + Duration::from_millis(100), &mut arrived);
        assert!(network.is_over());
        // The look that follows the packet at 6 ms asks for the drop; the packet is still on its way to the bottleneck.
        assert_eq!(arrived.0, 3);
        assert_eq!(network.end_following().unwrap().ended, Instant::ZERO + Duration::from_millis(100));
        assert!(!network.is_over() && network.end_following().is_none());
    }
}
