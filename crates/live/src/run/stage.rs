//! What a live run needs, set up before it starts: hosts, schemes, and registered congestion controls.

use super::{Options, Outcome, Told, addresses};
use crate::LiveError;
use crate::bpf::{Registered, register, unique_name};
use crate::case::{CaseRun, Parts};
use crate::child::{Child, Output, Program};
use crate::clock::Clock;
use crate::collect::{self, Known};
use crate::conditions::Conditions;
use crate::fit::{Control, KernelsOwn, control, params};
use crate::hosts::Hosts;
use crate::judge::judge;
use crate::netstat;
use crate::network::Network;
use crate::qdisc::Queues;
use crate::schemes::Schemes;
use crate::trace::{Trace, Traced};
use crate::traffic::{Traffic, look};
use crate::tun::Tun;
use narrows_fabric::Seeds;
use narrows_samples::{FLOW_COUNTERS, Samples};
use narrows_scenario::{NodeKind, Scenario};
use narrows_timeline::Case;
use narrows_units::{Duration, Instant};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// What a run needs, set up but not started.
pub(super) struct Stage<'a> {
    pub(super) scenario: &'a Scenario,
    hosts: Hosts,
    seeds: Seeds,
    /// The parts of network-assisted schemes that run at the hosts.
    pub(super) schemes: Schemes,
    /// Per flow: the kernel's name of its congestion control.
    names: Vec<String>,
    /// Congestion controls that are registered as long as this lives.
    _registered: Vec<Registered>,
    pub(super) conditions: Conditions,
}

impl<'a> Stage<'a> {
    pub(super) fn new(scenario: &'a Scenario, seeds: Seeds) -> Result<Self, LiveError> {
        judge(scenario)?;
        let hosts = Hosts::new(scenario)?;
        let mut conditions = Conditions::of_machine();
        conditions.left_to_kernel = hosts.kernels_own().iter().map(in_words).collect();
        for (name, value) in hosts.iter().flat_map(|host| &host.settings.sysctls) {
            note(&mut conditions.sysctls, format!("net.{}", name.replace('/', ".")), value);
        }
        let schemes = Schemes::attach(scenario, &hosts)?;
        conditions.left_to_kernel.extend(schemes.kernels_own().iter().map(in_words));
        let (names, registered) = controls(scenario, &schemes, &mut conditions)?;
        Ok(Self { scenario, hosts, seeds, schemes, names, _registered: registered, conditions })
    }

    pub(super) fn network(&self, queues: Queues) -> Result<Network, LiveError> {
        let made = Network::with_queues(self.scenario, self.seeds, queues);
        made.map_err(|reason| LiveError::failed("make the network", reason))
    }

    pub(super) fn traffic(&self) -> Result<Traffic, LiveError> {
        Traffic::prepare(self.scenario, &self.hosts, self.seeds, &self.names)
    }

    /// Makes what follows the scenario's test case.
    pub(super) fn case_run(
        &self,
        case: &Arc<Case>,
        traffic: &Traffic,
        options: &Options<'_>,
    ) -> Result<CaseRun, LiveError> {
        CaseRun::new(&Parts {
            scenario: self.scenario,
            case,
            seeds: self.seeds,
            controls: &self.names,
            handles: traffic.handles(),
            looks: options.looks,
            until_decided: options.until_decided,
        })
    }

    /// Hosts' devices, by node.
    pub(super) fn ports(&self) -> Vec<(usize, &Tun)> {
        self.hosts.iter().map(|host| (host.node, &host.tun)).collect()
    }

    /// Returns the network namespace of the host of this name.
    pub(super) fn netns(&self, host: &str) -> Result<BorrowedFd<'_>, LiveError> {
        let nodes = || self.scenario.nodes.iter().enumerate();
        let found = nodes().find(|(_, node)| node.name == host).and_then(|(index, _)| self.hosts.of_node(index));
        found.map(|host| host.netns.as_fd()).ok_or_else(|| LiveError::Unsupported {
            field: "host".to_owned(),
            value: host.to_owned(),
            reason: "the scenario has no host of this name".to_owned(),
            allowed: nodes()
                .filter(|(_, node)| node.kind == NodeKind::Host)
                .map(|(_, node)| node.name.as_str())
                .collect::<Vec<_>>()
                .join(", "),
        })
    }

    /// Starts programs on their hosts, each given as host and command line; they begin at time zero. All of their
    /// output goes to our standard error: standard output is for the result.
    pub(super) fn programs(
        &self,
        programs: &[(String, String)],
        clock: Clock,
    ) -> Result<Vec<(String, Child)>, LiveError> {
        let addresses = addresses(self.scenario);
        let start = |(host, line): &(String, String)| {
            let mut program = Program::line(host, line, &addresses);
            program.start_ns = Some(clock.monotonic_of(Instant::ZERO));
            let error = io::stderr().as_fd().try_clone_to_owned();
            program.output = Output::File(error.map_err(|error| LiveError::failed("copy standard error", error))?);
            Ok((format!("{host}: {line}"), Child::spawn(self.netns(host)?, &program)?))
        };
        programs.iter().map(start).collect()
    }

    /// Starts tracing the flows, if this kernel allows it; a run does not need it.
    pub(super) fn trace(&mut self) -> Result<Option<Trace>, LiveError> {
        let namespaces: Vec<u64> = self.hosts.iter().map(|host| host.netns.inode()).collect();
        match Trace::start(&namespaces, self.scenario) {
            Ok(trace) => {
                "the kernel's samples, one per ACK".clone_into(&mut self.conditions.rtt_source);
                Ok(Some(trace))
            }
            Err(LiveError::Unavailable { why, .. }) => {
                self.conditions.rtt_source = format!("the kernel's smoothed round-trip time each millisecond: {why}");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the scheme's counters over the whole run, by flow; `None` where samples over time have them, which end
    /// with the run.
    fn scheme_totals(&self) -> Result<Vec<Option<[u64; FLOW_COUNTERS]>>, LiveError> {
        let flows = 0..self.scenario.flows.len();
        if self.schemes.counts_over_time() {
            return Ok(vec![None; flows.len()]);
        }
        flows.map(|flow| self.schemes.counters(self.scenario, flow)).collect()
    }

    /// Combines what network, kernel and applications know.
    pub(super) fn finish(
        mut self,
        network: Network,
        told: Told,
        traced: Option<Traced>,
        (clock, lasted): (Clock, Duration),
    ) -> Result<Outcome, LiveError> {
        let mut samples = Samples::default();
        let counters = network.finish(self.scenario, &mut samples);
        let counters = counters.map_err(|failure| LiveError::failed("capture packets", failure))?;
        let Told { records, scheme_counters, programs } = told;
        self.conditions.programs = programs;
        for (flow, record) in self.scenario.flows.iter().zip(&records) {
            self.conditions.note_traffic(&flow.name, &record.lateness, lasted);
        }
        self.conditions.look = look(self.scenario);
        if let Some(traced) = &traced {
            self.conditions.note_trace(traced, lasted);
        }
        let scheme_totals = self.scheme_totals()?;
        let netstat = netstat::by_flow(self.scenario, &self.hosts);
        self.conditions.astray += counters.astray;
        let (scenario, packets) = (self.scenario, counters.delivered);
        let known = Known { scenario, records, traced, netstat, scheme_counters, scheme_totals, clock, counters };
        collect::flows(known, &mut samples);
        Ok(Outcome { samples, packets, conditions: self.conditions, case: None })
    }
}

fn in_words(own: &KernelsOwn) -> String {
    format!("{}: {} there, {} here", own.setting, own.scenario, own.kernel)
}

/// Records a value under its name; different values of one name are joined.
fn note(known: &mut Vec<(String, String)>, name: String, value: &str) {
    match known.iter_mut().find(|(other, _)| *other == name) {
        Some((_, values)) if !values.split("; ").any(|one| one == value) => *values += &format!("; {value}"),
        Some(_) => {}
        None => known.push((name, value.to_owned())),
    }
}

/// Returns the kernel's name of each flow's congestion control. Registers our own ones, under names unique to this
/// process.
fn controls(
    scenario: &Scenario,
    schemes: &Schemes,
    conditions: &mut Conditions,
) -> Result<(Vec<String>, Vec<Registered>), LiveError> {
    let (mut names, mut registered) = (Vec::new(), Vec::new());
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        let Some(tcp) = flow.tcp() else {
            names.push(String::new());
            continue;
        };
        if let Some(name) = schemes.control(index) {
            names.push(name.to_owned());
            note(&mut conditions.controls, tcp.cc.clone(), &format!("eBPF, as {name}"));
            continue;
        }
        let key = format!("{} {:?}", tcp.cc, tcp.cc_params);
        if let Some(name) = known.get(&key) {
            names.push(name.clone());
            continue;
        }
        let (name, source) = match control(flow)? {
            Control::Kernel(name) => (name, "kernel"),
            Control::Ours(program) => {
                let made = register(program, &unique_name(program), &params(tcp))?;
                let name = made.name().to_owned();
                registered.push(made);
                (name, "eBPF")
            }
        };
        note(&mut conditions.controls, tcp.cc.clone(), &format!("{source}, as {name}"));
        known.insert(key, name.clone());
        names.push(name);
    }
    Ok((names, registered))
}
