//! From a scenario to a world ready to run: links, queues, agents, flows, and the factory of connections.

use crate::app::Source;
use crate::event::{Agenda, MAX_SLOTS};
use crate::flow::{FlowState, SlowReader};
use crate::flow_id::{MAX_FLOWS, ports};
use crate::foreign::Algorithms;
use crate::link::LinkDirection;
use crate::loss::LossModel;
use crate::meter::FlowMeter;
use crate::node::{Exit, Node, Nodes};
use crate::radio::{Radio, radio};
use crate::run::{Options, RunError};
use crate::tcp_config::tcp_config;
use crate::topology::{Edge, Topology};
use crate::world::{Slots, World};
use narrows_cc::{CongestionControl, Params};
use narrows_queue::{Limit, Queue, RedConfig};
use narrows_rng::Stream;
use narrows_scenario as scenario;
use narrows_scenario::{Direction, Flow, Loss, Scenario};
use narrows_scheme::Port;
use narrows_scheme::acns::{
    Acns, AcnsAssist, AcnsConfig, AcnsRouter, CommandScope, Formula, Ipv6Encoding, PriorityMaximum,
};
use narrows_scheme::ngwa::{NgwaAssist, NgwaConfig, NgwaMode, NgwaRouter, Stamp};
use narrows_tcp::{Assist, Connection, RecoveryKind};
use narrows_units::{Bytes, Duration, Instant, SeqNum};
use narrows_wire::Ip;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// Builds the world of one run.
///
/// # Errors
/// [`RunError::TooLarge`], [`RunError::Unknown`], [`RunError::Scheme`] and [`RunError::Radio`].
pub(crate) fn build(scenario: &Scenario, options: &Options<'_>) -> Result<World, RunError> {
    let seeds = Seeds { seed: options.seed, run: options.run };
    let flows = scenario.flows.len();
    if flows > MAX_FLOWS {
        return Err(RunError::TooLarge { what: "flows", count: flows, allowed: MAX_FLOWS });
    }
    // A capture wants its packets in order of time, which only the plain loop gives.
    // So does a sample of every change of a queue.
    let plain_loop =
        options.plain_loop || options.pcap_dir.is_some() || scenario.sampling == scenario::Sampling::Events;
    let slots = Slots::new(2 * scenario.links.len(), flows, scenario.wifi.len(), plain_loop);
    let agenda = Agenda::new(slots.count()).ok_or(RunError::TooLarge {
        what: "event sources",
        count: slots.count(),
        allowed: MAX_SLOTS,
    })?;
    let mut topology = Topology::new(scenario);
    for flow in &scenario.flows {
        topology.prepare(flow.from);
        topology.prepare(flow.to);
    }
    let factory = Factory::new(scenario, seeds, options.algorithms)?;
    let (mut links, mut radio) = (links(scenario, seeds), radio(scenario, seeds)?);
    let nodes = Nodes::new(nodes(scenario, &factory), exits(&topology, links.len(), &radio));
    for edge in (0..topology.edges.len()).filter(|&edge| nodes.sees_departures(edge)) {
        match links.get_mut(edge) {
            Some(link) => link.tell_departures(),
            None => radio.tell_departures(edge - links.len(), edge),
        }
    }
    let mut world = World {
        now: Instant::ZERO,
        end: Instant::ZERO + scenario.duration,
        agenda,
        slots,
        topology,
        nodes,
        links,
        radio,
        flows: scenario.flows.iter().map(|f| flow_state(f, scenario, seeds)).collect(),
        ends: scenario.flows.iter().map(|f| [f.from as u32, f.to as u32]).collect(),
        factory,
        capture: None,
        sampling: scenario.sampling,
        plain_loop,
        events: 0,
        packets: 0,
    };
    world.prepare();
    Ok(world)
}

/// Where random streams come from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seeds {
    seed: u64,
    run: u64,
}

impl Seeds {
    /// The stream of a component for a purpose.
    pub(crate) fn stream(self, component: &str, purpose: &str) -> Stream {
        Stream::new(self.seed, self.run, component, purpose)
    }
}

fn nodes(scenario: &Scenario, factory: &Factory) -> Vec<Node> {
    let mut nodes: Vec<Node> = scenario.nodes.iter().map(|_| Node { agent: None }).collect();
    if let (Some(acns), Some(config)) = (&scenario.acns, &factory.acns) {
        for &router in &acns.routers {
            nodes[router].agent = Some(Box::new(AcnsRouter::new(config)));
        }
    }
    if let (Some(ngwa), Some(config)) = (&scenario.ngwa, &factory.ngwa) {
        for &router in &ngwa.routers {
            nodes[router].agent = Some(Box::new(NgwaRouter::new(config)));
        }
    }
    nodes
}

/// Where each edge starts. Ports of a node are numbered in the order of its edges; those of one 802.11 queue share one.
fn exits(topology: &Topology, links: usize, radio: &Radio) -> Vec<Exit> {
    let nodes = topology.edges.iter().map(|edge| edge.from + 1).max().unwrap_or(0);
    let mut ports = vec![0; nodes];
    let mut of_queue = BTreeMap::new();
    let mut exit = |(edge, ends): (usize, &Edge)| {
        let node = ends.from;
        let mut fresh = || {
            ports[node] += 1;
            Port::new(ports[node] - 1)
        };
        let port = match edge.checked_sub(links) {
            None => fresh(),
            Some(hop) => *of_queue.entry((node, radio.queue_of(hop))).or_insert_with(fresh),
        };
        Exit { node, port }
    };
    topology.edges.iter().enumerate().map(&mut exit).collect()
}

fn links(scenario: &Scenario, seeds: Seeds) -> Vec<LinkDirection> {
    let mut links = Vec::with_capacity(2 * scenario.links.len());
    for link in &scenario.links {
        let (a, b) = (&scenario.nodes[link.a].name, &scenario.nodes[link.b].name);
        for (direction, from, to) in [(&link.forward, a, b), (&link.reverse, b, a)] {
            links.push(link_direction(direction, &format!("link/{from}->{to}"), seeds));
        }
    }
    links
}

fn link_direction(direction: &Direction, path: &str, seeds: Seeds) -> LinkDirection {
    let loss = LossModel::new(direction.loss, seeds.stream(path, "loss"));
    let lossy = match direction.loss {
        Loss::None => false,
        Loss::Uniform(p) => !p.is_never(),
        Loss::GilbertElliott { .. } => true,
    };
    let queue = queue(&direction.queue, seeds.stream(path, "queue"));
    LinkDirection::new(queue, direction.rate, direction.delay, loss, lossy, direction.changes.clone())
}

fn limit(limit: scenario::Limit) -> Limit {
    match limit {
        scenario::Limit::Packets(n) => Limit::Packets(n),
        scenario::Limit::Bytes(n) => Limit::Bytes(n),
    }
}

/// A queue that draws from `stream`.
pub(crate) fn queue(queue: &scenario::Queue, stream: Stream) -> Box<dyn Queue> {
    match *queue {
        scenario::Queue::DropTail { limit: l } => narrows_queue::droptail(limit(l)),
        scenario::Queue::Red {
            limit: l,
            min_threshold,
            max_threshold,
            weight,
            max_p,
            gentle,
            ecn,
            bytes_mode,
            wait,
            mean_packet,
        } => {
            let config = RedConfig {
                limit: limit(l),
                min_threshold,
                max_threshold,
                weight,
                max_p,
                gentle,
                ecn,
                bytes_mode,
                wait,
                mean_packet,
            };
            narrows_queue::red(config, stream)
        }
    }
}

fn flow_state(flow: &Flow, scenario: &Scenario, seeds: Seeds) -> FlowState {
    let path = format!("flow/{}", flow.name);
    let jitter = if flow.jitter { scenario.start_jitter } else { Duration::ZERO };
    let start = flow.start + jitter.mul_f64(seeds.stream(&path, "start").uniform());
    let address = |node: usize| scenario.nodes[node].address;
    let mut datagram = Ip::between(address(flow.from), address(flow.to));
    datagram.set_dscp(flow.dscp);
    let overhead = Bytes::new(datagram.header_len() as u64 + 8);
    FlowState {
        start,
        ends: [None, None],
        datagram,
        app: Source::new(flow.traffic, seeds.stream(&path, "app"), overhead),
        reader: flow.tcp.read_rate.map(SlowReader::at),
        stopped: false,
        meter: FlowMeter::default(),
        spec: flow.clone(),
    }
}

/// Where a flow's congestion control comes from.
#[derive(Debug)]
enum Algorithm {
    Row(&'static narrows_cc::Row),
    Foreign(Arc<dyn Algorithms>, String),
}

impl Algorithm {
    fn find(name: &str, foreign: Option<&Arc<dyn Algorithms>>) -> Result<Self, RunError> {
        if let Some(row) = narrows_cc::find(name) {
            return Ok(Self::Row(row));
        }
        match foreign.filter(|f| f.has(name)) {
            Some(found) => Ok(Self::Foreign(Arc::clone(found), name.to_owned())),
            None => {
                let allowed: Vec<_> = narrows_cc::registry().iter().map(|r| r.name).collect();
                let allowed = allowed.join(", ");
                Err(RunError::Unknown { kind: "congestion control", name: name.to_owned(), allowed })
            }
        }
    }

    fn build(&self, params: &Params) -> Box<dyn CongestionControl> {
        match self {
            Self::Row(row) => (row.build)(params),
            Self::Foreign(algorithms, name) => algorithms.build(name, params),
        }
    }
}

/// Makes the connections of TCP flows when they start.
#[derive(Debug)]
pub(crate) struct Factory {
    names: Vec<String>,
    addresses: Vec<IpAddr>,
    /// Per flow.
    algorithms: Vec<Algorithm>,
    acns: Option<AcnsConfig>,
    ngwa: Option<NgwaConfig>,
    /// Whether flows whose scheme takes their congestion window away keep their own loss recovery.
    fast_retransmit: bool,
    seeds: Seeds,
}

impl Factory {
    /// Checks that every flow's algorithm and scheme exist, so that [`connections`](Self::connections) cannot fail.
    fn new(scenario: &Scenario, seeds: Seeds, foreign: Option<&Arc<dyn Algorithms>>) -> Result<Self, RunError> {
        let algorithms =
            scenario.flows.iter().map(|f| Algorithm::find(&f.tcp.cc, foreign)).collect::<Result<_, _>>()?;
        let acns = scenario.acns.as_ref().map(acns_config).transpose()?;
        let ngwa = scenario.ngwa.as_ref().map(ngwa_config).transpose()?;
        Ok(Self {
            names: scenario.nodes.iter().map(|n| n.name.clone()).collect(),
            addresses: scenario.nodes.iter().map(|n| n.address).collect(),
            algorithms,
            acns,
            ngwa,
            fast_retransmit: scenario.ngwa.as_ref().is_some_and(|ngwa| ngwa.fast_retransmit),
            seeds,
        })
    }

    /// A node's name.
    pub(crate) fn node_name(&self, node: usize) -> &str {
        &self.names[node]
    }

    /// The client and the server of flow number `index`.
    pub(crate) fn connections(&self, flow: &Flow, index: usize) -> [Connection; 2] {
        let (client_port, server_port) = ports(index);
        let client = SocketAddr::new(self.addresses[flow.from], client_port);
        let server = SocketAddr::new(self.addresses[flow.to], server_port);
        let mut iss = self.seeds.stream(&format!("flow/{}", flow.name), "iss");
        let mut iss = || SeqNum::new((iss.next_u64() >> 32) as u32);
        let mut config = tcp_config(&flow.tcp);
        if self.takes_window(flow) && !self.fast_retransmit {
            config.recovery = RecoveryKind::RtoOnly;
        }
        let (cc, assist) = self.control(flow, index, "cc client");
        let mut opener = Connection::connect(config, cc, assist, client, server, iss());
        let (cc, assist) = self.control(flow, index, "cc server");
        let mut listener = Connection::listen(config, cc, assist, server, client, iss());
        opener.set_dscp(flow.dscp);
        listener.set_dscp(flow.dscp);
        [opener, listener]
    }

    /// The congestion control and the scheme's part at one end of a flow.
    ///
    /// `purpose` names the end, for its random numbers.
    fn control(
        &self,
        flow: &Flow,
        index: usize,
        purpose: &str,
    ) -> (Box<dyn CongestionControl>, Option<Box<dyn Assist>>) {
        let seed = self.seeds.stream(&format!("flow/{}", flow.name), purpose).next_u64();
        let params = Params::new(flow.tcp.cc_params.iter().map(|(n, v)| (n.clone(), param(v))).collect()).seeded(seed);
        let base = self.algorithms[index].build(&params);
        match (&self.acns, flow.tcp.assist.as_deref()) {
            (Some(config), Some("acns")) => {
                (Box::new(Acns::new(base, config)), Some(Box::new(AcnsAssist::new(config))))
            }
            _ => match self.ngwa_of(flow) {
                Some(config) => {
                    let cc = if config.mode.congestion_window { base } else { Box::new(narrows_cc::none::Unlimited) };
                    (cc, Some(Box::new(NgwaAssist::new(config))))
                }
                None => (base, None),
            },
        }
    }

    /// The parameters of NGWA, if the ends of this flow know it.
    fn ngwa_of(&self, flow: &Flow) -> Option<&NgwaConfig> {
        self.ngwa.as_ref().filter(|_| flow.tcp.assist.as_deref() == Some("ngwa"))
    }

    /// Whether this flow's scheme is one without a congestion window, which leaves the TCP of RFC 793.
    fn takes_window(&self, flow: &Flow) -> bool {
        self.ngwa_of(flow).is_some_and(|config| !config.mode.congestion_window)
    }
}

fn param(value: &scenario::ParamValue) -> narrows_cc::ParamValue {
    match value {
        scenario::ParamValue::Number(n) => narrows_cc::ParamValue::Number(*n),
        scenario::ParamValue::Choice(w) => narrows_cc::ParamValue::Choice(w.clone()),
        scenario::ParamValue::Switch(b) => narrows_cc::ParamValue::Switch(*b),
    }
}

fn acns_config(a: &scenario::Acns) -> Result<AcnsConfig, RunError> {
    let config = AcnsConfig {
        formula: match a.formula {
            scenario::AcnsFormula::Dcnet2013 => Formula::Dcnet2013,
            scenario::AcnsFormula::Thesis2013 => Formula::Thesis2013,
        },
        priority_weight: a.priority_weight,
        age_weight: a.age_weight,
        freeze_threshold: a.freeze_threshold,
        fallback_threshold: a.fallback_threshold,
        loss_fallback_threshold: a.loss_fallback_threshold,
        loss_decrease_threshold: a.loss_decrease_threshold,
        trend_count: a.trend_count,
        trend_sigma: a.trend_sigma,
        p_max: if a.p_max_observed { PriorityMaximum::Observed } else { PriorityMaximum::Dscp },
        idle_timeout: a.idle_timeout,
        max_flows: a.max_flows,
        command_scope: match a.command_scope {
            scenario::AcnsScope::Window => CommandScope::Window,
            scenario::AcnsScope::Ack => CommandScope::Ack,
        },
        ipv6: match a.ipv6 {
            scenario::AcnsIpv6::Extension => Ipv6Encoding::Extension,
            scenario::AcnsIpv6::FlowLabel => Ipv6Encoding::FlowLabel,
        },
        obey: a.obey,
    };
    config.check().map_err(|e| RunError::Scheme(e.to_string()))?;
    Ok(config)
}

fn ngwa_config(n: &scenario::Ngwa) -> Result<NgwaConfig, RunError> {
    let mode =
        NgwaMode::new(n.mode).ok_or_else(|| RunError::Scheme(format!("NGWA mode is {}; it must be 1 to 8", n.mode)))?;
    let config = NgwaConfig {
        mode,
        alpha: n.alpha,
        flow_factor: n.flow_factor,
        idle_timeout: n.idle_timeout,
        max_flows: n.max_flows,
        shrink: n.shrink,
        stamp: match n.stamp {
            scenario::NgwaStamp::Departure => Stamp::Departure,
            scenario::NgwaStamp::Arrival => Stamp::Arrival,
        },
        max_window: n.max_window,
    };
    config.check().map_err(|e| RunError::Scheme(e.to_string()))?;
    Ok(config)
}
