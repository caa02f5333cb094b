//! How long a transfer would take at least on an empty path: the reference of its slow-down.
//!
//! The bound counts the handshake, propagation, and the time that each link needs for the packets, headers included, at
//! the rate and delay at the start of the run (a trace: its mean rate). It has no slow start, no delayed ACK, no loss
//! and no other traffic, as the "ideal" completion time of Alizadeh et al. 2013 (pFabric). 802.11 channels have no such
//! bound here.

use crate::topology::Topology;
use narrows_scenario::{Direction, Flow, IpVersion, Page, Scenario, Tcp};
use narrows_units::{Bytes, Duration, Rate};
use std::collections::BTreeMap;

/// Bytes of TCP's timestamps option with its padding.
const TIMESTAMPS: u64 = 12;

/// Bytes of each other option of a SYN with its padding: MSS, window scale, SACK permitted. Beside timestamps, SACK
/// permitted fits into their padding.
const SYN_OPTION: u64 = 4;

/// Paths between hosts, looked up once.
#[derive(Debug)]
pub struct Paths {
    topology: Topology,
    /// Link directions from one node to another; `None` across an 802.11 channel.
    known: BTreeMap<(usize, usize), Option<Vec<usize>>>,
}

/// The path of a flow with its packets' sizes.
struct Way<'a> {
    scenario: &'a Scenario,
    along: Vec<usize>,
    back: Vec<usize>,
    /// Bytes of a SYN, and of the headers of a data packet.
    syn: u64,
    header: u64,
    /// Most payload of a packet.
    segment: u64,
}

impl Paths {
    /// Paths over this arena.
    pub fn new(topology: Topology) -> Self {
        Self { topology, known: BTreeMap::new() }
    }

    fn edges(&mut self, scenario: &Scenario, from: usize, to: usize) -> Option<&[usize]> {
        let Self { topology, known } = self;
        let found = known.entry((from, to)).or_insert_with(|| {
            topology.prepare(to);
            let mut edges = Vec::new();
            let mut at = from;
            while at != to {
                let edge = topology.next(at, to).filter(|edge| edge / 2 < scenario.links.len())?;
                edges.push(edge);
                at = topology.edges.get(edge)?.to;
                if edges.len() > scenario.nodes.len() {
                    return None;
                }
            }
            Some(edges)
        });
        found.as_deref()
    }

    /// The rate of the narrowest link between two hosts; `None` across an 802.11 channel.
    pub fn narrowest(&mut self, scenario: &Scenario, from: usize, to: usize) -> Option<Rate> {
        let edges = self.edges(scenario, from, to)?;
        edges.iter().map(|edge| direction(scenario, *edge).rate).min()
    }

    fn way<'a>(&mut self, scenario: &'a Scenario, flow: &Flow) -> Option<Way<'a>> {
        let tcp: &Tcp = flow.tcp()?;
        let headers = match scenario.ip {
            IpVersion::V4 => 40,
            IpVersion::V6 => 60,
        };
        let options = if tcp.timestamps { TIMESTAMPS } else { 0 };
        let along = self.edges(scenario, flow.from, flow.to)?.to_vec();
        let back = self.edges(scenario, flow.to, flow.from)?.to_vec();
        let segment = u64::from(tcp.mss).saturating_sub(options).max(1);
        let others = 1 + u64::from(tcp.window_scaling) + u64::from(tcp.sack && !tcp.timestamps);
        let syn = headers + options + others * SYN_OPTION;
        Some(Way { scenario, along, back, syn, header: headers + options, segment })
    }

    /// The least time of a transfer from the sender's SYN to the arrival of its last byte; `None` across a channel.
    pub fn transfer(&mut self, scenario: &Scenario, flow: &Flow, size: Bytes) -> Option<Duration> {
        let way = self.way(scenario, flow)?;
        Some(way.handshake() + way.data(true, size))
    }

    /// The least time from a request to the arrival of the response's last byte, with a handshake before it if it is
    /// the first of its connection; `None` across a channel.
    pub fn exchange(
        &mut self,
        scenario: &Scenario,
        flow: &Flow,
        (request, response): (Bytes, Bytes),
        first: bool,
    ) -> Option<Duration> {
        let way = self.way(scenario, flow)?;
        let handshake = if first { way.handshake() } else { Duration::ZERO };
        Some(handshake + way.data(true, request) + way.data(false, response))
    }

    /// The least time from a page's first SYN to the arrival of its last byte: the first object, then all others at
    /// once; `None` across a channel.
    pub fn page(&mut self, scenario: &Scenario, flow: &Flow, page: &Page) -> Option<Duration> {
        let way = self.way(scenario, flow)?;
        let (first, others) = page.objects.split_first()?;
        let one = way.handshake() + way.data(true, page.request) + way.data(false, *first);
        let rest = others.iter().fold(Bytes::ZERO, |sum, size| sum + *size);
        let more =
            if others.is_empty() { Duration::ZERO } else { way.data(true, page.request) + way.data(false, rest) };
        Some(one + more)
    }
}

impl Way<'_> {
    /// A SYN one way and its answer back.
    fn handshake(&self) -> Duration {
        let size = Bytes::new(self.syn);
        let over = |edges: &[usize]| {
            edges.iter().fold(Duration::ZERO, |sum, edge| {
                let link = direction(self.scenario, *edge);
                sum + link.delay + link.rate.time_for(size)
            })
        };
        over(&self.along) + over(&self.back)
    }

    /// The time from the first packet's leaving to the last one's arrival: links before the narrowest one carry the
    /// first packet, that one all of them, and those behind it the last.
    fn data(&self, along: bool, size: Bytes) -> Duration {
        let edges = if along { &self.along } else { &self.back };
        let size = size.as_u64().max(1);
        let packets = size.div_ceil(self.segment);
        let all = Bytes::new(size + packets * self.header);
        let first = Bytes::new(size.min(self.segment) + self.header);
        let last = Bytes::new(size - (packets - 1) * self.segment + self.header);
        let rate = |edge: &usize| direction(self.scenario, *edge).rate;
        let narrowest = edges.iter().enumerate().min_by_key(|(_, edge)| rate(edge)).map_or(0, |(at, _)| at);
        let one = |(at, edge): (usize, &usize)| {
            let bytes = match at.cmp(&narrowest) {
                core::cmp::Ordering::Less => first,
                core::cmp::Ordering::Equal => all,
                core::cmp::Ordering::Greater => last,
            };
            direction(self.scenario, *edge).delay + rate(edge).time_for(bytes)
        };
        edges.iter().enumerate().map(one).fold(Duration::ZERO, |sum, time| sum + time)
    }
}

fn direction(scenario: &Scenario, edge: usize) -> &Direction {
    let link = &scenario.links[edge / 2];
    if edge.is_multiple_of(2) { &link.forward } else { &link.reverse }
}
