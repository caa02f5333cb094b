//! When steps are armed, happen, or fail to.

use super::{Mark, Values, Watch, lapse_words};
use crate::case::{Case, Lapse, Step, When};
use crate::expression::Expression;
use crate::outcome::{Shown, StepOutcome};
use narrows_units::Instant;

/// How far a step is.
#[derive(Clone, Debug)]
pub(super) enum Progress {
    /// For the step before it, or the start of the flow.
    Waiting,
    /// Since this mark.
    Armed(Mark),
    /// When it was armed, when it happened, and the values of its condition then.
    Happened(Mark, Mark, Vec<Shown>),
    /// It never will: when it was armed, why, and the values of its condition.
    Missed(Option<Mark>, String, Vec<Shown>),
}

impl Progress {
    pub(super) const fn settled(&self) -> bool {
        matches!(self, Self::Happened(..) | Self::Missed(..))
    }

    pub(super) const fn happened(&self) -> Option<Mark> {
        match self {
            Self::Happened(_, then, _) => Some(*then),
            _ => None,
        }
    }

    pub(super) const fn missed(&self) -> bool {
        matches!(self, Self::Missed(..))
    }

    /// The next time at which this step needs a look.
    pub(super) fn deadline(&self, step: &Step) -> Option<Instant> {
        let armed = match self {
            Self::Armed(armed) => *armed,
            // A step at a time since the start of the run is armed at the first look, which its time may have to cause.
            Self::Waiting if step.after.is_none() => return if let When::At(at) = step.when { Some(at) } else { None },
            _ => return None,
        };
        let due = match step.when {
            When::At(at) => Some(at),
            When::Later(lapse) => armed.deadline(lapse),
            When::Condition(_) => None,
        };
        let last = step.within.and_then(|within| armed.deadline(within));
        due.into_iter().chain(last).min()
    }

    pub(super) fn outcome(self, _: &Step) -> StepOutcome {
        let (armed, happened, reason, values) = match self {
            Self::Waiting => (None, None, "was never armed".to_owned(), Vec::new()),
            Self::Armed(armed) => (Some(armed), None, String::new(), Vec::new()),
            Self::Happened(armed, then, values) => (Some(armed), Some(then.at), String::new(), values),
            Self::Missed(armed, reason, values) => (armed, None, reason, values),
        };
        StepOutcome { armed: armed.map(|mark| mark.at), happened, reason, values }
    }
}

impl Step {
    const fn condition(&self) -> Option<&Expression> {
        match &self.when {
            When::Condition(expression) => Some(expression),
            _ => None,
        }
    }
}

impl Watch {
    /// Arms steps and lets those happen that are due, until none is. Returns those that happen.
    pub(super) fn step(&mut self, case: &Case, now: Mark, values: &dyn Values) -> Vec<usize> {
        let mut found = Vec::new();
        loop {
            let before = self.settled_steps();
            for (index, step) in case.steps.iter().enumerate() {
                self.arm(index, step, now);
                let Some(Progress::Armed(armed)) = self.steps.get(index) else { continue };
                let armed = *armed;
                if self.due(case, step, armed, (now, values)) {
                    let shown = self.condition_values(case, step, now, values);
                    self.steps[index] = Progress::Happened(armed, now, shown);
                    self.begin_memories(case, index, now, values);
                    found.push(index);
                } else if let Some(within) = step.within.filter(|within| over(armed, *within, now)) {
                    let reason = format!("did not happen within {}", lapse_words(within));
                    self.miss(case, index, reason, (now, values));
                }
            }
            // A step later in the file may have armed an earlier one, or left it nothing to wait for.
            if self.settled_steps() == before {
                return found;
            }
        }
    }

    fn settled_steps(&self) -> usize {
        self.steps.iter().filter(|progress| progress.settled()).count()
    }

    fn arm(&mut self, index: usize, step: &Step, now: Mark) {
        if !matches!(self.steps.get(index), Some(Progress::Waiting)) {
            return;
        }
        let next = match step.after.map(|after| (after, self.steps.get(after))) {
            None if matches!(step.when, When::At(_)) => Progress::Armed(now),
            None => match self.begun {
                Some(_) => Progress::Armed(now),
                None => return,
            },
            Some((_, Some(Progress::Happened(_, then, _)))) => Progress::Armed(*then),
            Some((after, Some(Progress::Missed(..)))) => {
                let name = self.case.steps.get(after).map_or("", |step| step.name.as_str());
                Progress::Missed(None, format!("comes after `{name}`, which did not happen"), Vec::new())
            }
            Some(_) => return,
        };
        self.steps[index] = next;
    }

    fn due(&self, case: &Case, step: &Step, armed: Mark, (now, values): (Mark, &dyn Values)) -> bool {
        match &step.when {
            When::At(at) => now.at >= *at,
            When::Later(lapse) => armed.passed(*lapse, now),
            When::Condition(expression) => expression.value(&self.scene(case, now, values)) > 0.5,
        }
    }

    fn condition_values(&self, case: &Case, step: &Step, now: Mark, values: &dyn Values) -> Vec<Shown> {
        let scene = self.scene(case, now, values);
        step.condition().map_or_else(Vec::new, |expression| expression.shown(&scene))
    }

    /// Settles a step that was armed and did not happen; `reason` is the predicate.
    fn miss(&mut self, case: &Case, index: usize, reason: String, (now, values): (Mark, &dyn Values)) {
        let Some(step) = case.steps.get(index) else { return };
        let scene = self.scene(case, now, values);
        let (reason, shown) = match step.condition() {
            Some(expression) => {
                (format!("{reason}: at the end {}", expression.explain(&scene)), expression.shown(&scene))
            }
            None => (reason, Vec::new()),
        };
        let armed = if let Some(Progress::Armed(armed)) = self.steps.get(index) { Some(*armed) } else { None };
        self.steps[index] = Progress::Missed(armed, reason, shown);
    }

    /// Settles the steps that did not happen up to the end of the run.
    pub(super) fn end_steps(&mut self, case: &Case, now: Mark, values: &dyn Values) {
        // Each pass settles at least one step of every chain.
        for _ in 0..=case.steps.len() {
            for (index, step) in case.steps.iter().enumerate() {
                self.arm(index, step, now);
                match self.steps.get(index) {
                    Some(Progress::Armed(_)) => {
                        self.miss(case, index, "did not happen up to the end of the run".to_owned(), (now, values));
                    }
                    Some(Progress::Waiting) if self.begun.is_none() && step.after.is_none() => {
                        let reason = "the flow under test did not start up to the end of the run".to_owned();
                        self.steps[index] = Progress::Missed(None, reason, Vec::new());
                    }
                    _ => {}
                }
            }
        }
    }
}

/// Whether the time in which a step must happen is over.
fn over(armed: Mark, within: Lapse, now: Mark) -> bool {
    match within {
        Lapse::Time(_) => armed.passed(within, now),
        Lapse::Rounds(_) => armed.beyond(within, now),
    }
}
