//! The internal state of algorithms in a live run, as samples: queue disciplines of the network, and what the kernel
//! reports of senders.

use narrows_fabric::{
    CONNECTION, CONNECTION_VARIABLES, DisciplineVariables, LinkDirection, Reporter, States, discipline_variables,
    sender_variables,
};
use narrows_queue::Disciplines;
use narrows_samples::{FlowRow, Owner, Probe, QueueRow, RouterRow, Samples, StateRow, SubqueueRow};
use narrows_scenario::Scenario;
use narrows_units::Instant;

/// A variable of a sender at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderState {
    /// When the kernel was asked.
    pub at: Instant,
    /// Who reports it.
    pub of: SenderPart,
    /// Name of the variable.
    pub variable: &'static str,
    /// Its value; not a number where it has none.
    pub value: f64,
}

/// A part of a sender that reports state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderPart {
    /// The congestion control.
    Cc,
    /// The connection: loss recovery, timers and pacing.
    Connection,
}

/// Samples the state of a network's queues.
#[derive(Debug)]
pub(crate) struct StateSampler {
    states: States,
    rows: Rows,
    /// The discipline of each direction of a link.
    disciplines: Vec<DisciplineVariables>,
}

impl StateSampler {
    /// Returns the sampler that a scenario asks for.
    pub(crate) fn new(scenario: &Scenario, known: Disciplines) -> Option<Self> {
        scenario.sample_state.then(|| Self {
            states: States::default(),
            rows: Rows::default(),
            disciplines: discipline_variables(scenario, known),
        })
    }

    /// Samples the state of a link's queue.
    pub(crate) fn sample(&mut self, edge: usize, link: &LinkDirection, at: Instant) {
        let Some(&(algorithm, variables)) = self.disciplines.get(edge) else { return };
        let queue = Reporter { owner: Owner::Queue, index: edge, algorithm, variables };
        self.states.take(queue, at, |visit| link.state(visit), &mut self.rows);
    }

    /// Adds the state of senders, by flow, and writes everything to `samples` in order of time: at one time queues
    /// first, then flows, as in a simulation.
    pub(crate) fn finish(mut self, scenario: &Scenario, senders: &[Vec<SenderState>], samples: &mut Samples) {
        let declared = sender_variables(scenario);
        for (index, (flow, reported)) in scenario.flows.iter().zip(senders).enumerate() {
            let algorithm = flow.tcp().map_or("", |tcp| &*tcp.cc);
            let cc = Reporter { owner: Owner::Flow, index, algorithm, variables: &declared[index] };
            let connection = Reporter { algorithm: CONNECTION, variables: &CONNECTION_VARIABLES, ..cc };
            for &SenderState { at, of, variable, value } in reported {
                let part = match of {
                    SenderPart::Cc => cc,
                    SenderPart::Connection => connection,
                };
                self.states.take(part, at, |visit| visit(variable, value), &mut self.rows);
            }
        }
        let mut rows = self.rows.0;
        rows.sort_by_key(|row| row.time_ns);
        rows.iter().for_each(|row| samples.state.push(row));
        samples.series = self.states.into_series();
    }
}

/// Keeps rows of state until they are put in order.
#[derive(Debug, Default)]
struct Rows(Vec<StateRow>);

impl Probe for Rows {
    const ENABLED: bool = true;
    fn flow(&mut self, _row: &FlowRow) {}
    fn queue(&mut self, _row: &QueueRow) {}
    fn router(&mut self, _row: &RouterRow) {}
    fn state(&mut self, row: &StateRow) {
        self.0.push(*row);
    }
    fn subqueue(&mut self, _row: &SubqueueRow) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_fabric::catalogue;
    use narrows_samples::Table;

    #[test]
    fn rows_of_senders_and_queues_are_in_order_of_time() {
        let text = r#"
            format = 1
            name = "t"
            duration = "1 s"
            sampling = { interval = "100 ms", state = true }
            nodes = [{ name = "a" }, { name = "b" }]
            [[links]]
            between = ["a", "b"]
            rate = "8 Mb/s"
            delay = "1 ms"
            queue = { kind = "red", limit = "90 packets" }
            [[flows]]
            name = "one"
            from = "a"
            to = "b"
            tcp = { cc = "bbr" }
            [[flows]]
            name = "two"
            from = "a"
            to = "b"
        "#;
        let scenario = narrows_scenario::parse(text, "t.toml", &[], &catalogue()).unwrap();
        let disciplines = Disciplines::default();
        let silent = Scenario { sample_state: false, ..scenario.clone() };
        assert!(StateSampler::new(&silent, disciplines).is_none(), "a scenario that does not ask");
        let mut sampler = StateSampler::new(&scenario, disciplines).unwrap();
        let seeds = narrows_fabric::Seeds::new(1, 0);
        let link =
            narrows_fabric::link_direction(&scenario.links[0].forward, "link/a->b", true, seeds, disciplines).unwrap();
        let at = |ms: u64| Instant::ZERO + narrows_units::Duration::from_millis(ms);
        sampler.sample(0, &link, at(100));
        sampler.sample(0, &link, at(200));
        let state = |ms, of, variable, value| SenderState { at: at(ms), of, variable, value };
        let one = vec![
            state(100, SenderPart::Cc, "bw_bps", 8e6),
            state(100, SenderPart::Connection, "pacing_rate", f64::NAN),
            state(200, SenderPart::Cc, "bw_bps", 7e6),
        ];
        let mut samples = Samples::default();
        sampler.finish(&scenario, &[one, vec![state(150, SenderPart::Connection, "phase", 3.0)]], &mut samples);
        let rows = samples.state.unpack().unwrap();
        assert!(rows.time_ns.is_sorted());
        let told = |row: usize| {
            let series = &samples.series[rows.series[row] as usize];
            (series.owner, series.index, series.algorithm.as_str(), series.variable)
        };
        let red =
            narrows_queue::registry::registry().iter().find(|row| row.about.name == "red").unwrap().about.variables;
        assert_eq!(told(0), (Owner::Queue, 0, "red", red[0]), "queues come first, with what the row declares");
        let of_flows: Vec<usize> = (0..rows.len()).filter(|&row| told(row).0 == Owner::Flow).collect();
        let named: Vec<_> = of_flows.iter().map(|&row| (told(row).1, told(row).2, told(row).3.name)).collect();
        let expected =
            [(0, "bbr", "bw_bps"), (0, CONNECTION, "pacing_rate"), (1, CONNECTION, "phase"), (0, "bbr", "bw_bps")];
        assert_eq!(named, expected);
        assert_eq!(told(of_flows[0]).3.unit, "bit/s");
        assert_eq!(told(of_flows[2]).3.words[3], "recovery");
        let value = |row: usize| f64::from_bits(rows.value_bits[of_flows[row]]);
        assert_eq!((value(0), value(2), value(3)), (8e6, 3.0, 7e6));
        assert_eq!(rows.value_bits[of_flows[1]], narrows_samples::NONE, "no value");
    }
}
