//! A test case during a run: looks at the flow under test, steps, and the outcome.
//!
//! A look follows each event at the sender of a flow that the case names: its application wakes, its timer fires, or it
//! has handled a segment and sent what it then could. Other looks come at times that the case asks for, after all other
//! events of their instant but samples. Directions that the case reads are brought up to the time of the look first, so
//! that both loops see the same.

mod carry_out;
mod reading;

use crate::flow::End;
use crate::run::Options;
use crate::world::World;
use narrows_fabric::watched_flows;
use narrows_samples::Probe;
use narrows_timeline::{Case, Outcome, Seen, Watch};
use narrows_units::{Duration, Instant};
use reading::Readings;
use std::collections::BTreeSet;
use std::sync::Arc;

const NANOSECOND: Duration = Duration::from_nanos(1);

/// Time between looks for a deadline that has passed and remains.
const LATER: Duration = Duration::from_millis(1);

/// A case that is followed.
#[derive(Debug)]
pub(crate) struct CaseRun {
    case: Arc<Case>,
    watch: Watch,
    readings: Readings,
    /// The values at the latest look, in the order of the case's variables.
    values: Vec<f64>,
    /// Flows whose senders' events are looks.
    flows: BTreeSet<usize>,
    /// Interventions that end by a count of round trips: their number, the direction, and the count.
    timed: Vec<(usize, usize, f64)>,
    /// Whether the run ends as soon as all is decided.
    ends_early: bool,
    outcome: Option<Outcome>,
}

impl CaseRun {
    /// Begins to follow a case.
    pub(crate) fn new(case: &Arc<Case>, options: &Options<'_>) -> Self {
        let mut watch = Watch::new(Arc::clone(case));
        if let Some((begin, end)) = options.looks {
            watch.record(begin, end);
        }
        Self {
            watch,
            readings: Readings::new(case),
            values: vec![f64::NAN; case.variables.len()],
            flows: watched_flows(case),
            timed: Vec::new(),
            case: Arc::clone(case),
            ends_early: options.until_decided,
            outcome: None,
        }
    }

    /// Whether the events at a flow's sender are looks.
    pub(crate) fn watches(&self, flow: usize) -> bool {
        self.flows.contains(&flow)
    }

    /// When the case needs a look after the one at `now`. The end of a window belongs to it, so that a deadline is
    /// looked at once more a nanosecond later. A deadline that remains is looked at again and again, but not at each
    /// nanosecond.
    fn next_look(&self, now: Instant) -> Instant {
        let deadline = self.watch.next_deadline().unwrap_or(Instant::NEVER);
        let soon = if now.since(deadline) > NANOSECOND { LATER } else { NANOSECOND };
        deadline.max(now + soon)
    }

    /// Ends the case; returns it with what came of it, once the run is over.
    pub(crate) fn into_outcome(self) -> Option<(Arc<Case>, Outcome)> {
        Some((self.case, self.outcome?))
    }
}

impl World<'_> {
    /// Looks at the case after an event at an end of a flow, if there is a case and the flow's sender is there.
    #[inline]
    pub(crate) fn look_after<P: Probe>(&mut self, flow: usize, end: End, probe: &mut P) {
        if self.case.is_some() {
            self.look_after_event(flow, end, probe);
        }
    }

    #[inline(never)]
    fn look_after_event<P: Probe>(&mut self, flow: usize, end: End, probe: &mut P) {
        self.close_when_written(flow, probe);
        let sender = self.flows.get(flow).map(crate::flow::FlowState::sender);
        if sender == Some(end) && self.case.as_ref().is_some_and(|run| run.watches(flow)) {
            self.look(probe);
        }
    }

    /// Looks at the case, and carries out the steps that happen.
    pub(crate) fn look<P: Probe>(&mut self, probe: &mut P) {
        let Some(mut run) = self.case.take() else { return };
        let now = self.now;
        self.read_variables(&mut run);
        self.end_timed(&mut run, probe);
        let seen = Seen { values: &run.values, begun: self.has_begun(&run) };
        let happened = run.watch.look(now, &seen);
        for step in happened {
            self.carry_out(step, &mut run, probe);
        }
        if run.ends_early && run.watch.decided() {
            self.end = now;
        }
        let deadline = run.next_look(now);
        self.agenda.arm(self.slots.case(), deadline);
        self.case = Some(run);
    }

    /// Looks a last time, when the run is over, and keeps what came of the case.
    pub(crate) fn finish_case(&mut self) {
        let Some(mut run) = self.case.take() else { return };
        self.read_variables(&mut run);
        let seen = Seen { values: &run.values, begun: self.has_begun(&run) };
        run.outcome = Some(run.watch.clone().finish(self.end, &seen));
        self.case = Some(run);
    }

    fn has_begun(&self, run: &CaseRun) -> bool {
        self.flows.get(run.case.flow).is_some_and(|flow| flow.start <= self.now)
    }
}
