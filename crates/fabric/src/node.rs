//! Nodes at run time: the agents of routers, and the output queue of each edge.

use narrows_queue::{QueueView, Verdict};
use narrows_scheme::{Port, RouterAgent};
use narrows_units::Instant;
use narrows_wire::Packet;
use std::ops::Index;

/// A node at run time.
#[derive(Debug)]
pub struct Node {
    /// The scheme's router part, or a middlebox, if this router runs one.
    pub agent: Option<Box<dyn RouterAgent>>,
}

/// Where an edge starts, as a router's agent sees it.
#[derive(Clone, Copy, Debug)]
pub struct Exit {
    /// The node.
    pub node: usize,
    /// The output queue of the node: edges that share a queue have the same port.
    pub port: Port,
}

/// All nodes, and the exits of all edges.
#[derive(Debug)]
pub struct Nodes {
    nodes: Vec<Node>,
    /// By edge.
    exits: Vec<Exit>,
    /// Whether any node has an agent: most networks have none, and each packet asks at each router.
    agents: bool,
}

impl Nodes {
    /// Nodes whose edges have these exits.
    pub fn new(nodes: Vec<Node>, exits: Vec<Exit>) -> Self {
        let agents = nodes.iter().any(|node| node.agent.is_some());
        Self { nodes, exits, agents }
    }

    /// How many nodes there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// Whether this node has an agent.
    #[inline]
    pub fn has_agent(&self, node: usize) -> bool {
        self.nodes[node].agent.is_some()
    }

    /// Whether the agent of this node, if there is one, belongs into results.
    pub fn reports(&self, node: usize) -> bool {
        self.nodes[node].agent.as_ref().is_some_and(|agent| agent.reports())
    }

    /// Whether the node at the start of an edge has an agent.
    #[inline]
    pub fn has_agent_at(&self, edge: usize) -> bool {
        self.agents && self.has_agent(self.exits[edge].node)
    }

    /// Whether the agent at the start of an edge sees packets leave the queue there.
    pub fn sees_departures(&self, edge: usize) -> bool {
        self.nodes[self.exits[edge].node].agent.as_ref().is_some_and(|agent| agent.sees_departures())
    }

    /// The output queue that an edge leads to.
    pub fn port(&self, edge: usize) -> Port {
        self.exits[edge].port
    }

    /// All nodes.
    pub fn iter(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter()
    }

    /// The agent at the start of an edge, if there is one, and the edge's port.
    pub fn agent_at(&mut self, edge: usize) -> Option<(&mut dyn RouterAgent, Port)> {
        let Exit { node, port } = self.exits[edge];
        match &mut self.nodes[node].agent {
            Some(agent) => Some((agent.as_mut(), port)),
            None => None,
        }
    }

    /// Shows a packet that is about to enter the queue of an edge to the agent of its node.
    pub fn on_packet(&mut self, edge: usize, packet: &mut Packet, view: &QueueView, now: Instant) -> Verdict {
        let Exit { node, port } = self.exits[edge];
        match &mut self.nodes[node].agent {
            Some(agent) => agent.on_packet(packet, port, view, now),
            None => Verdict::Pass,
        }
    }

    /// Shows a packet that leaves the queue of an edge to the agent of its node.
    pub fn on_departure(&mut self, edge: usize, packet: &mut Packet, view: &QueueView, at: Instant) {
        let Exit { node, port } = self.exits[edge];
        if let Some(agent) = &mut self.nodes[node].agent {
            agent.on_departure(packet, port, view, at);
        }
    }
}

impl Index<usize> for Nodes {
    type Output = Node;

    fn index(&self, node: usize) -> &Node {
        &self.nodes[node]
    }
}
