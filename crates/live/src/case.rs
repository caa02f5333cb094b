//! A test case during a live run: looks at the kernel's senders and the network's links, steps, and the outcome.
//!
//! The network's thread looks whenever it has handed a packet to a watched sender's host, since the kernel processes an
//! ACK while it is handed over; whenever a watched host has sent something, which a retransmission timer may have done;
//! and otherwise every [`EVERY`]. Times are those of the network ([`crate::Network`]), which are real time less the
//! network's lateness.

mod reading;
mod rounds;
mod sender;
mod untold;

pub(crate) use untold::{UntoldStep, untold_steps};

use crate::LiveError;
use crate::network::{Change, Follow};
use crate::traffic::{Handle, Order};
use narrows_fabric::{Effect, LinkDirection, Seeds, Topology, effects, flow_start, watched_flows};
use narrows_scenario::Scenario;
use narrows_timeline::{Case, Outcome, Seen, Watch};
use narrows_units::{Duration, Instant};
use reading::Readings;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Longest time between two looks.
pub const EVERY: Duration = Duration::from_micros(500);

const NANOSECOND: Duration = Duration::from_nanos(1);

/// Most actions of a step, for numbers of interventions.
const ACTIONS: usize = 1 << 8;

/// What a follower of a run is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) case: &'a Arc<Case>,
    pub(crate) seeds: Seeds,
    /// The kernel's name of each flow's congestion control.
    pub(crate) controls: &'a [String],
    /// The flows that the case names.
    pub(crate) handles: &'a BTreeMap<usize, Arc<Handle>>,
    /// Begin and end of the time in which the variables are recorded; `None` records none.
    pub(crate) looks: Option<(Instant, Instant)>,
    /// Whether the run may end as soon as everything is decided.
    pub(crate) until_decided: bool,
}

/// A case that is followed.
#[derive(Debug)]
pub(crate) struct CaseRun {
    case: Arc<Case>,
    watch: Watch,
    readings: Readings,
    /// What each action of each step does.
    effects: Vec<Vec<Effect>>,
    handles: BTreeMap<usize, Arc<Handle>>,
    /// Directions whose values the case reads.
    edges: Vec<usize>,
    /// Nodes at which watched senders are.
    nodes: BTreeSet<usize>,
    /// The values at the latest look, in the order of the case's variables.
    values: Vec<f64>,
    /// When the application of the flow under test starts.
    start: Instant,
    /// Interventions that end by a count of round trips: their number, the direction, and the count.
    timed: Vec<(usize, usize, f64)>,
    until_decided: bool,
    next: Instant,
}

impl CaseRun {
    /// Begins to follow a case.
    ///
    /// # Errors
    /// [`LiveError::Failed`] if the flow under test is not among the scenario's, which its parser excludes.
    pub(crate) fn new(parts: &Parts<'_>) -> Result<Self, LiveError> {
        let Parts { scenario, case, .. } = *parts;
        let under_test = scenario.flows.get(case.flow);
        let under_test = under_test.ok_or_else(|| LiveError::failed("follow the case", "its flow does not exist"))?;
        let mut watch = Watch::new(Arc::clone(case));
        if let Some((begin, end)) = parts.looks {
            watch.record(begin, end);
        }
        let mut topology = Topology::new(scenario);
        let watched = watched_flows(case);
        watched.iter().filter_map(|&flow| scenario.flows.get(flow)).for_each(|flow| {
            topology.prepare(flow.to);
            topology.prepare(flow.from);
        });
        let readings = Readings::new(parts, &topology);
        let senders = watched.iter().filter_map(|&flow| scenario.flows.get(flow));
        let nodes = senders.map(|flow| if flow.traffic.server_sends() { flow.to } else { flow.from });
        let actions = case.steps.iter().map(|step| &step.actions);
        let actions = actions.map(|actions| actions.iter().flat_map(|action| effects(action, scenario)).collect());
        Ok(Self {
            watch,
            edges: readings.edges(),
            readings,
            effects: actions.collect(),
            handles: parts.handles.clone(),
            nodes: nodes.collect(),
            values: vec![f64::NAN; case.variables.len()],
            start: flow_start(scenario, under_test, parts.seeds),
            timed: Vec::new(),
            case: Arc::clone(case),
            until_decided: parts.until_decided,
            next: Instant::ZERO,
        })
    }

    fn rounds(&self) -> f64 {
        self.case.rounds.and_then(|id| self.values.get(id.0)).copied().unwrap_or(f64::NAN)
    }

    /// Ends interventions whose round trips have passed.
    fn end_timed(&mut self, changes: &mut Vec<Change>) {
        let rounds = self.rounds();
        let over = self.timed.extract_if(.., |(_, _, until)| rounds >= *until);
        changes.extend(over.map(|(number, edge, _)| Change { edge, number, what: None }));
    }

    /// Adds what a step asks of links and of flows' applications.
    fn carry_out(&mut self, step: usize, changes: &mut Vec<Change>, orders: &mut BTreeMap<usize, Vec<Order>>) {
        let begun = self.rounds();
        let begun = if begun.is_nan() { 0.0 } else { begun };
        let Some(effects) = self.effects.get(step) else { return };
        for (index, effect) in effects.iter().enumerate() {
            let number = step * ACTIONS + index;
            let (flow, order) = match *effect {
                Effect::Link { edge, what, rounds } => {
                    changes.push(Change { edge, number, what: Some(what) });
                    self.timed.extend(rounds.map(|rounds| (number, edge, begun + rounds as f64)));
                    continue;
                }
                Effect::Pause(flow) => (flow, Order::Pause),
                Effect::Resume(flow) => (flow, Order::Resume),
                Effect::Limit(flow, rate) => (flow, Order::Limit(rate)),
            };
            orders.entry(flow).or_default().push(order);
        }
    }

    /// When the case needs a look after the one at `now`. The end of a window belongs to it, so that a deadline is
    /// looked at once more a nanosecond later.
    fn look_after(&self, now: Instant) -> Instant {
        let deadline = self.watch.next_deadline().unwrap_or(Instant::NEVER);
        let soon = if now.since(deadline) > NANOSECOND { EVERY } else { NANOSECOND };
        deadline.max(now + soon).min(now + EVERY)
    }
}

impl Follow for CaseRun {
    fn edges(&self) -> &[usize] {
        &self.edges
    }

    fn watches(&self, node: usize) -> bool {
        self.nodes.contains(&node)
    }

    fn look(&mut self, at: Instant, links: &[LinkDirection]) -> Vec<Change> {
        self.readings.read(at, links, &mut self.values);
        let mut changes = Vec::new();
        self.end_timed(&mut changes);
        let happened = self.watch.look(at, &Seen { values: &self.values, begun: self.start <= at });
        let mut orders = BTreeMap::new();
        happened.into_iter().for_each(|step| self.carry_out(step, &mut changes, &mut orders));
        for (flow, orders) in orders {
            if let Some(handle) = self.handles.get(&flow) {
                handle.ask(orders);
            }
        }
        self.next = self.look_after(at);
        changes
    }

    fn next_look(&self) -> Instant {
        self.next
    }

    fn is_over(&self) -> bool {
        self.until_decided && self.watch.decided()
    }

    fn end(mut self: Box<Self>, at: Instant, links: &[LinkDirection]) -> Outcome {
        self.readings.read(at, links, &mut self.values);
        let seen = Seen { values: &self.values, begun: self.start <= at };
        let outcome = self.watch.clone().finish(at, &seen);
        untold::excuse(&self.case, self.readings.untold(), outcome)
    }
}
