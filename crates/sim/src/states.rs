//! Samples of what algorithms keep: which of them report, under which names, and what their variables mean.

use crate::edge::Link;
use crate::world::World;
use narrows_cc::Phase;
use narrows_fabric::{Reporter, States};
use narrows_queue::Disciplines;
use narrows_samples::{Owner, Probe, Series};
use narrows_scenario::{Scenario, WifiQueues};
use narrows_tcp::{Connection, Info};
use narrows_units::Variable;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The name under which the connection itself reports: loss recovery, timers and pacing.
const TCP: &str = "tcp";

/// The variables of a connection, in the order of [`connection_state`].
const CONNECTION: [Variable; 4] = [
    Variable::state(
        "phase",
        "Phase of loss recovery, in Linux's terms (icsk_ca_state).",
        &["open", "disorder", "cwr", "recovery", "loss"],
    ),
    Variable::new("rttvar", "s", "Variation of the round-trip time (RFC 6298)."),
    Variable::new("min_rtt", "s", "Smallest round-trip time sample."),
    Variable::new("pacing_rate", "bit/s", "Pacing rate in force; none if nothing is paced."),
];

/// Samples the state of a simulation's algorithms.
#[derive(Debug)]
pub(crate) struct StateSampler {
    states: States,
    /// The discipline of each queue, in the order of `queue_totals`, and what it reports.
    disciplines: Vec<(&'static str, &'static [Variable])>,
    /// Per flow: what its congestion control and its scheme declare. Flows with the same two share it.
    senders: Vec<Arc<[Variable]>>,
}

impl StateSampler {
    /// Returns the sampler that a scenario asks for.
    pub(crate) fn new(scenario: &Scenario, known: Disciplines) -> Option<Box<Self>> {
        let wired = scenario.links.iter().flat_map(|link| [&link.forward.queue, &link.reverse.queue]);
        let wireless = scenario.wifi.iter().flat_map(|wifi| {
            let copies = match wifi.queues {
                WifiQueues::Shared => 1,
                WifiQueues::PerStation => wifi.stations.len(),
            };
            std::iter::repeat_n(&wifi.base.queue, copies).chain(wifi.stations.iter().map(|station| &station.queue))
        });
        let variables = |kind| known.find(kind).map_or(&[][..], |row| row.about.variables);
        let disciplines = || wired.chain(wireless).map(|queue| (queue.kind, variables(queue.kind))).collect();
        scenario.sample_state.then(|| {
            Box::new(Self { states: States::default(), disciplines: disciplines(), senders: senders(scenario) })
        })
    }

    /// Returns the variables that were reported.
    pub(crate) fn into_series(self) -> Vec<Series> {
        self.states.into_series()
    }
}

impl World<'_> {
    /// Samples the state of all algorithms, if the scenario asks for it.
    pub(crate) fn sample_states<P: Probe>(&mut self, probe: &mut P) {
        if self.states.is_none() {
            return;
        }
        for queue in 0..self.links.len() + self.radio.queue_count() {
            self.sample_queue_state(queue, probe);
        }
        for flow in 0..self.flows.len() {
            self.sample_flow_state(flow, probe);
        }
    }

    /// Samples the state of a sender's congestion control and connection, if the scenario asks for it.
    pub(crate) fn sample_flow_state<P: Probe>(&mut self, flow: usize, probe: &mut P) {
        let Some(sampler) = &mut self.states else { return };
        let Some(sender) = self.connections.get(flow, self.flows[flow].sender()) else { return };
        let algorithm = self.scenario.flows[flow].tcp().map_or("", |tcp| &*tcp.cc);
        let cc = Reporter { owner: Owner::Flow, index: flow, algorithm, variables: &sampler.senders[flow] };
        sampler.states.take(cc, self.now, |visit| sender.cc().state(visit), probe);
        let connection = Reporter { owner: Owner::Flow, index: flow, algorithm: TCP, variables: &CONNECTION };
        sampler.states.take(connection, self.now, |visit| connection_state(sender, visit), probe);
    }

    /// Samples the state of a queue's discipline, if the scenario asks for it.
    pub(crate) fn sample_queue_state<P: Probe>(&mut self, index: usize, probe: &mut P) {
        let Some(sampler) = &mut self.states else { return };
        let Some(&(algorithm, variables)) = sampler.disciplines.get(index) else { return };
        let queue = Reporter { owner: Owner::Queue, index, algorithm, variables };
        match self.links.get(index) {
            // A line is drop-tail, which keeps nothing but the queue itself.
            Some(Link::Line(_)) => {}
            Some(Link::Queue(link)) => sampler.states.take(queue, self.now, |visit| link.state(visit), probe),
            None => {
                let interface = self.radio.queue(index - self.links.len());
                sampler.states.take(queue, self.now, |visit| interface.state(visit), probe);
            }
        }
    }
}

/// Reports what a connection keeps beside its congestion control.
fn connection_state(sender: &Connection, visit: &mut dyn FnMut(&'static str, f64)) {
    let Info { phase, rttvar, min_rtt, pacing_rate, .. } = sender.info();
    let phase = match phase {
        Phase::Open => 0.0,
        Phase::Disorder => 1.0,
        Phase::Cwr => 2.0,
        Phase::Recovery => 3.0,
        Phase::Loss => 4.0,
    };
    let rttvar = rttvar.map_or(f64::NAN, |time| time.as_secs_f64());
    let min_rtt = min_rtt.map_or(f64::NAN, |time| time.as_secs_f64());
    let pacing_rate = pacing_rate.map_or(f64::NAN, |rate| rate.as_bps() as f64);
    for (variable, value) in CONNECTION.iter().zip([phase, rttvar, min_rtt, pacing_rate]) {
        visit(variable.name, value);
    }
}

/// Returns per flow the variables that its congestion control and its scheme declare. A congestion control that is not
/// in the registry declares none.
fn senders(scenario: &Scenario) -> Vec<Arc<[Variable]>> {
    let scheme = scenario.scheme.as_ref().map_or(&[][..], |scheme| scheme.row.variables);
    let mut known: BTreeMap<&str, Arc<[Variable]>> = BTreeMap::new();
    let of = |cc| {
        let own = narrows_cc::registry().iter().find(|row| row.name == cc).map_or(&[][..], |row| row.variables);
        own.iter().chain(scheme).copied().collect()
    };
    let names = scenario.flows.iter().map(|flow| flow.tcp().map_or("", |tcp| &*tcp.cc));
    names.map(|cc| Arc::clone(known.entry(cc).or_insert_with(|| of(cc)))).collect()
}
