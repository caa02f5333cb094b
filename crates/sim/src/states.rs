//! Samples of what algorithms keep in a simulation: congestion controls, connections and queue disciplines.

use crate::edge::Link;
use crate::world::World;
use narrows_cc::Phase;
use narrows_fabric::{
    CONNECTION, CONNECTION_VARIABLES, DisciplineVariables, Reporter, States, discipline_variables, sender_variables,
};
use narrows_queue::Disciplines;
use narrows_samples::{Owner, Probe, Series};
use narrows_scenario::Scenario;

use narrows_tcp::{Connection, Info, RLEDBAT_VARIABLES, ReceiverCc};
use narrows_units::Variable;
use std::sync::Arc;

/// Samples the state of a simulation's algorithms.
#[derive(Debug)]
pub(crate) struct StateSampler {
    states: States,
    /// The discipline of each queue, in the order of `queue_totals`, and what it reports.
    disciplines: Vec<DisciplineVariables>,
    /// Per flow: what its congestion control and its scheme declare. Flows with the same two share it.
    senders: Vec<Arc<[Variable]>>,
}

impl StateSampler {
    /// Returns the sampler that a scenario asks for.
    pub(crate) fn new(scenario: &Scenario, known: Disciplines) -> Option<Box<Self>> {
        scenario.sample_state.then(|| {
            Box::new(Self {
                states: States::default(),
                disciplines: discipline_variables(scenario, known),
                senders: sender_variables(scenario),
            })
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
        for flow in 0..self.listed {
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
        let connection =
            Reporter { owner: Owner::Flow, index: flow, algorithm: CONNECTION, variables: &CONNECTION_VARIABLES };
        sampler.states.take(connection, self.now, |visit| connection_state(sender, visit), probe);
        self.sample_receiver_state(flow, probe);
    }

    /// Samples the state of a receiver's congestion control, if the flow has one.
    fn sample_receiver_state<P: Probe>(&mut self, flow: usize, probe: &mut P) {
        let tcp = self.scenario.flows[flow].tcp();
        let controlled = tcp.is_some_and(|tcp| tcp.config.receiver_cc == ReceiverCc::Rledbat);
        let (Some(sampler), true) = (&mut self.states, controlled) else { return };
        let Some(receiver) = self.connections.get(flow, self.flows[flow].sender().other()) else { return };
        let reporter =
            Reporter { owner: Owner::Flow, index: flow, algorithm: "rledbat", variables: &RLEDBAT_VARIABLES };
        sampler.states.take(reporter, self.now, |visit| receiver.receiver_state(visit), probe);
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
    for (variable, value) in CONNECTION_VARIABLES.iter().zip([phase, rttvar, min_rtt, pacing_rate]) {
        visit(variable.name, value);
    }
}
