//! Makes the connections of flows: their congestion control, their settings and their part of a scheme.

use crate::foreign::Algorithms;
use crate::run::RunError;
use narrows_cc::{CongestionControl, Params};
use narrows_fabric::{Seeds, acns_config, ngwa_config, ports};
use narrows_scenario as scenario;
use narrows_scenario::{Flow, Scenario, Tcp};
use narrows_scheme::acns::{Acns, AcnsAssist, AcnsConfig};
use narrows_scheme::ngwa::{NgwaAssist, NgwaConfig};
use narrows_tcp::{Assist, Config, Connection, RecoveryKind};
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
    configs: Vec<Option<Arc<Config>>>,
    pub(crate) acns: Option<AcnsConfig>,
    pub(crate) ngwa: Option<NgwaConfig>,
    /// Whether flows whose scheme removes the congestion window keep their own loss recovery.
    fast_retransmit: bool,
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
        let acns = scenario.acns.as_ref().map(acns_config).transpose().map_err(RunError::Scheme)?;
        let ngwa = scenario.ngwa.as_ref().map(ngwa_config).transpose().map_err(RunError::Scheme)?;
        let mut factory = Self {
            names: scenario.nodes.iter().map(|n| n.name.clone()).collect(),
            addresses: scenario.nodes.iter().map(|n| n.address).collect(),
            algorithms,
            configs: Vec::with_capacity(scenario.flows.len()),
            acns,
            ngwa,
            fast_retransmit: scenario.ngwa.as_ref().is_some_and(|ngwa| ngwa.fast_retransmit),
            seeds,
        };
        for flow in &scenario.flows {
            let config = flow.tcp().map(|tcp| {
                let config = factory.config(flow, tcp);
                let shared = factory.configs.iter().rev().take(8).flatten().find(|near| ***near == config);
                shared.map_or_else(|| Arc::new(config), Arc::clone)
            });
            factory.configs.push(config);
        }
        Ok(factory)
    }

    fn config(&self, flow: &Flow, tcp: &Tcp) -> Config {
        let mut config = tcp.config;
        if self.takes_window(flow) && !self.fast_retransmit {
            config.recovery = RecoveryKind::RtoOnly;
        }
        config
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

    /// The client and the server of flow number `index`; `None` if its transport has no connections.
    pub(crate) fn connections(&self, flow: &Flow, index: usize) -> Option<[Connection; 2]> {
        let tcp = flow.tcp()?;
        let (config, algorithm) = (self.configs[index].as_ref()?, self.algorithms[index].as_ref()?);
        let (client_port, server_port) = ports(index);
        let client = SocketAddr::new(self.addresses[flow.from], client_port);
        let server = SocketAddr::new(self.addresses[flow.to], server_port);
        let mut iss = self.seeds.stream(&format!("flow/{}", flow.name), "iss");
        let mut iss = || SeqNum::new((iss.next_u64() >> 32) as u32);
        let config = || Arc::clone(config);
        let (cc, assist) = self.control(flow, (tcp, algorithm), "cc client");
        let mut opener = Connection::connect(config(), cc, assist, client, server, iss());
        let (cc, assist) = self.control(flow, (tcp, algorithm), "cc server");
        let mut listener = Connection::listen(config(), cc, assist, server, client, iss());
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
    /// `purpose` names the end, for its random numbers.
    fn control(
        &self,
        flow: &Flow,
        (tcp, algorithm): (&Tcp, &Algorithm),
        purpose: &str,
    ) -> (Box<dyn CongestionControl>, Option<Box<dyn Assist>>) {
        let seed = self.seeds.stream(&format!("flow/{}", flow.name), purpose).next_u64();
        let params = Params::new(tcp.cc_params.iter().map(|(n, v)| (n.clone(), param(v))).collect()).seeded(seed);
        let base = algorithm.build(&params);
        match (&self.acns, flow.assist()) {
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

    /// The parameters of NGWA, if the end points of this flow use it.
    fn ngwa_of(&self, flow: &Flow) -> Option<&NgwaConfig> {
        self.ngwa.as_ref().filter(|_| flow.assist() == Some("ngwa"))
    }

    /// Whether this flow's scheme removes the congestion window, which leaves TCP as in RFC 793.
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
