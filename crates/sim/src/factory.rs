//! Makes the connections of flows: their congestion control, their settings and their part of a scheme.

use crate::foreign::Algorithms;
use crate::run::RunError;
use narrows_cc::{CongestionControl, Params, Silent};
use narrows_fabric::{Scheme, Seeds, ports, scheme};
use narrows_scenario as scenario;
use narrows_scenario::{Flow, Scenario, Tcp};
use narrows_tcp::{Assist, Config, Connection};
use narrows_units::SeqNum;
use narrows_wire::Ip;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

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
    /// Per flow; `None` where a flow has no connection.
    algorithms: Vec<Option<Algorithm>>,
    /// Per flow; neighbouring flows with the same settings share one value.
    configs: Vec<Option<[Arc<Config>; 2]>>,
    /// The scenario's scheme, if it has one.
    pub(crate) scheme: Option<Scheme>,
    seeds: Seeds,
}

impl Factory {
    /// Checks that every flow's algorithm and scheme exist, so that [`connections`](Self::connections) cannot fail.
    pub(crate) fn new(
        scenario: &Scenario,
        seeds: Seeds,
        foreign: Option<&Arc<dyn Algorithms>>,
    ) -> Result<Self, RunError> {
        let mut algorithms = Vec::with_capacity(scenario.flows.len());
        for flow in &scenario.flows {
            algorithms.push(flow.tcp().map(|tcp| Algorithm::find(&tcp.cc, foreign)).transpose()?);
        }
        let mut factory = Self {
            names: scenario.nodes.iter().map(|n| n.name.clone()).collect(),
            addresses: scenario.nodes.iter().map(|n| n.address).collect(),
            algorithms,
            configs: Vec::with_capacity(scenario.flows.len()),
            scheme: scheme(scenario).map_err(RunError::Scheme)?,
            seeds,
        };
        for flow in &scenario.flows {
            let configs = flow.tcp().map(|tcp| {
                let client = factory.shared(factory.config(tcp.config, tcp.assist.as_deref()));
                let server = factory.config(tcp.peer_config(), tcp.peer_assist());
                let server = if server == *client { Arc::clone(&client) } else { factory.shared(server) };
                [client, server]
            });
            factory.configs.push(configs);
        }
        Ok(factory)
    }

    /// The settings of an end with this scheme.
    fn config(&self, mut config: Config, assist: Option<&str>) -> Config {
        if let Some(scheme) = self.scheme_named(assist) {
            scheme.parts.configure(&mut config);
        }
        config
    }

    /// The same settings as those of a flow shortly before, if there is one, so that many flows share them.
    fn shared(&self, config: Config) -> Arc<Config> {
        let near = self.configs.iter().rev().take(8).flatten().flatten().find(|near| ***near == config);
        near.map_or_else(|| Arc::new(config), Arc::clone)
    }

    /// A node's name.
    pub(crate) fn node_name(&self, node: usize) -> &str {
        &self.names[node]
    }

    /// The network header of a flow's datagrams.
    pub(crate) fn datagram(&self, flow: &Flow) -> Ip {
        let mut header = Ip::between(self.addresses[flow.from], self.addresses[flow.to]);
        header.set_dscp(flow.dscp);
        header
    }

    /// The client and the server of flow number `index`; `None` if its transport has no connections. `both_send`:
    /// whether the server sends data too.
    pub(crate) fn connections(&self, flow: &Flow, index: usize, both_send: bool) -> Option<[Connection; 2]> {
        let tcp = flow.tcp()?;
        let ([config, peer], algorithm) = (self.configs[index].as_ref()?, self.algorithms[index].as_ref()?);
        let (client_port, server_port) = ports(index);
        let client = SocketAddr::new(self.addresses[flow.from], client_port);
        let server = SocketAddr::new(self.addresses[flow.to], server_port);
        let mut iss = self.seeds.stream(&format!("flow/{}", flow.name), "iss");
        let mut iss = || SeqNum::new((iss.next_u64() >> 32) as u32);
        let (cc, assist) = self.control(flow, (tcp, algorithm), ("cc client", tcp.assist.as_deref()));
        let mut opener = Connection::connect(Arc::clone(config), cc, assist, client, server, iss());
        let (mut cc, assist) = self.control(flow, (tcp, algorithm), ("cc server", tcp.peer_assist()));
        if !both_send && assist.is_none() {
            // It would act on nothing, and what it asks of the connection would cost each segment.
            cc = Box::new(Silent);
        }
        let mut listener = Connection::listen(Arc::clone(peer), cc, assist, server, client, iss());
        if tcp.timestamp_offsets {
            opener.set_timestamp_offset(self.timestamp_offset(flow.from, flow.to));
            listener.set_timestamp_offset(self.timestamp_offset(flow.to, flow.from));
        }
        opener.set_dscp(flow.dscp);
        listener.set_dscp(flow.dscp);
        Some([opener, listener])
    }

    /// The initial value of timestamps from `node` to `peer`. As in Linux (`secure_tcp_ts_off`), all connections
    /// between two hosts share it, and each direction has its own.
    fn timestamp_offset(&self, node: usize, peer: usize) -> u32 {
        let pair = format!("node/{}/{}", self.names[node], self.names[peer]);
        (self.seeds.stream(&pair, "timestamp offset").next_u64() >> 32) as u32
    }

    /// The congestion control and the scheme's part at one end of a flow.
    ///
    /// `purpose` names the end, for its random numbers; `assist` is its scheme.
    fn control(
        &self,
        flow: &Flow,
        (tcp, algorithm): (&Tcp, &Algorithm),
        (purpose, assist): (&str, Option<&str>),
    ) -> (Box<dyn CongestionControl>, Option<Box<dyn Assist>>) {
        let seed = self.seeds.stream(&format!("flow/{}", flow.name), purpose).next_u64();
        let params = Params::new(tcp.cc_params.iter().map(|(n, v)| (n.clone(), param(v))).collect()).seeded(seed);
        let base = algorithm.build(&params);
        match self.scheme_named(assist) {
            Some(scheme) => {
                let (control, assist) = scheme.parts.end(base);
                (control, Some(assist))
            }
            None => (base, None),
        }
    }

    /// The scheme, if it has this name.
    fn scheme_named(&self, name: Option<&str>) -> Option<&Scheme> {
        self.scheme.as_ref().filter(|scheme| name == Some(scheme.row.about.name))
    }
}

fn param(value: &scenario::ParamValue) -> narrows_cc::ParamValue {
    match value {
        scenario::ParamValue::Number(n) => narrows_cc::ParamValue::Number(*n),
        scenario::ParamValue::Choice(w) => narrows_cc::ParamValue::Choice(w.clone()),
        scenario::ParamValue::Switch(b) => narrows_cc::ParamValue::Switch(*b),
    }
}
