//! Follows a run: at each look, which steps happen; at the end, what came of the case.

mod judging;
mod memory;
mod series;
mod stepping;

use crate::case::{Case, Lapse};
use crate::expression::{MemoryId, Scene};
use crate::outcome::Outcome;
use crate::vocabulary::VariableId;
use judging::Judgement;
use memory::Remembered;
use narrows_units::{Duration, Instant};
use series::Recorder;
use std::sync::Arc;
use stepping::Progress;

/// The values of a run's variables at one moment.
pub trait Values {
    /// Returns the raw value of a variable of the case, in the variable's own [unit](crate::Variable::unit): 0 or 1
    /// for truth values, the number of a word. NaN is no value.
    fn value(&self, id: VariableId) -> f64;

    /// Whether the flow under test has begun: its application has started. Steps without `after` are armed, and
    /// expectations without `after` judged, from the first look at which this is true.
    fn begun(&self) -> bool;
}

/// The values of a look, in the order of the case's variables.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The raw values; a variable that has none here is NaN.
    pub values: &'a [f64],
    /// See [`Values::begun`].
    pub begun: bool,
}

impl Values for Seen<'_> {
    fn value(&self, id: VariableId) -> f64 {
        self.values.get(id.0).copied().unwrap_or(f64::NAN)
    }

    fn begun(&self) -> bool {
        self.begun
    }
}

/// A moment and a count of round trips, from which lapses are measured.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Mark {
    at: Instant,
    /// `rounds` of the flow under test; NaN without a value.
    rounds: f64,
}

impl Mark {
    /// Returns when a lapse of time from here ends; `None` if it is one of round trips.
    fn deadline(self, lapse: Lapse) -> Option<Instant> {
        match lapse {
            Lapse::Time(time) => Some(self.at + time),
            Lapse::Rounds(_) => None,
        }
    }

    /// Returns the round trips counted from here to `now`. A count that began later began at zero.
    fn rounds_until(self, now: f64) -> f64 {
        now - if self.rounds.is_nan() { 0.0 } else { self.rounds }
    }

    /// Whether the whole lapse has passed.
    fn passed(self, lapse: Lapse, now: Self) -> bool {
        match lapse {
            Lapse::Time(time) => now.at >= self.at + time,
            Lapse::Rounds(count) => self.rounds_until(now.rounds) >= count as f64,
        }
    }

    /// Whether `now` is after the end of a window of this length, whose end belongs to it. The round trip that is
    /// under way when the count is reached belongs to it too.
    fn beyond(self, lapse: Lapse, now: Self) -> bool {
        match lapse {
            Lapse::Time(time) => now.at > self.at + time,
            Lapse::Rounds(count) => self.rounds_until(now.rounds) > count as f64,
        }
    }
}

/// Follows a run of a case.
#[derive(Clone, Debug)]
pub struct Watch {
    case: Arc<Case>,
    /// The first look at which the flow under test had begun.
    begun: Option<Mark>,
    steps: Vec<Progress>,
    memories: Vec<Remembered>,
    judgements: Vec<Judgement>,
    /// Steps and expectations that are not settled.
    open: usize,
    /// Keeps the variables, if that was asked for.
    recorder: Option<Recorder>,
}

/// The scene of one look.
struct Look<'a> {
    case: &'a Case,
    values: &'a dyn Values,
    now: Mark,
    steps: &'a [Progress],
    memories: &'a [Remembered],
}

impl Scene for Look<'_> {
    fn variable(&self, id: VariableId) -> f64 {
        let Some(variable) = self.case.variables.get(id.0) else { return f64::NAN };
        let value = self.values.value(id) * variable.factor;
        let value = variable.segment.map_or(value, |segment| value * self.variable(segment));
        if value.is_finite() { value } else { f64::NAN }
    }

    fn memory(&self, id: MemoryId) -> f64 {
        self.memories.get(id.0).map_or(f64::NAN, Remembered::value)
    }

    fn time(&self) -> f64 {
        self.now.at.as_secs_f64()
    }

    fn since(&self, step: usize) -> f64 {
        let happened = self.steps.get(step).and_then(Progress::happened);
        happened.map_or(f64::NAN, |then| self.now.at.since(then.at).as_secs_f64())
    }

    fn rounds_since(&self, step: usize) -> f64 {
        let happened = self.steps.get(step).and_then(Progress::happened);
        happened.map_or(f64::NAN, |then| then.rounds_until(self.now.rounds))
    }
}

impl Watch {
    /// Begins to follow a run. Nothing has happened, and time is zero.
    #[must_use]
    pub fn new(case: Arc<Case>) -> Self {
        Self {
            begun: None,
            steps: vec![Progress::Waiting; case.steps.len()],
            memories: vec![Remembered::default(); case.memories.len()],
            judgements: vec![Judgement::Waiting; case.expectations.len()],
            open: case.steps.len() + case.expectations.len(),
            recorder: None,
            case,
        }
    }

    /// Keeps the case's variables at the looks from `begin` to `end`, both included, for [`Outcome::series`].
    pub fn record(&mut self, begin: Instant, end: Instant) {
        self.recorder = Some(Recorder::new(&self.case, begin, end));
    }

    /// Looks at the run: judges what is to be judged at `now`, and returns the steps that happen now, in order. The
    /// caller carries out their actions. `now` must not go back.
    pub fn look(&mut self, now: Instant, values: &dyn Values) -> Vec<usize> {
        if self.open == 0 {
            return Vec::new();
        }
        let case = Arc::clone(&self.case);
        let rounds = case.rounds.map_or(f64::NAN, |id| values.value(id));
        let now = Mark { at: now, rounds };
        if self.begun.is_none() && values.begun() {
            self.begun = Some(now);
        }
        self.remember(&case, now, values);
        let happened = self.step(&case, now, values);
        self.judge(&case, now, values);
        let open = self.open;
        self.count();
        if let Some(mut recorder) = self.recorder.take() {
            recorder.take(now.at, &self.scene(&case, now, values), !happened.is_empty() || self.open != open);
            self.recorder = Some(recorder);
        }
        happened
    }

    /// Returns the next time at which a look is needed, whatever happens before: a step at a time, or the end of a
    /// lapse.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        if self.open == 0 {
            return None;
        }
        let steps = self.case.steps.iter().zip(&self.steps).filter_map(|(step, progress)| progress.deadline(step));
        let expectations = self.case.expectations.iter().zip(&self.judgements);
        steps.chain(expectations.filter_map(|(wanted, found)| found.deadline(wanted))).min()
    }

    /// Whether every step has happened or never can, and every verdict is clear: the run may end.
    #[must_use]
    pub const fn decided(&self) -> bool {
        self.open == 0
    }

    /// Looks a last time, at the end of the run, and returns what came of the case.
    #[must_use]
    pub fn finish(mut self, now: Instant, values: &dyn Values) -> Outcome {
        self.look(now, values);
        let case = Arc::clone(&self.case);
        let rounds = case.rounds.map_or(f64::NAN, |id| values.value(id));
        let mark = Mark { at: now, rounds };
        self.end_steps(&case, mark, values);
        self.end_judging(&case, mark, values);
        let steps = case.steps.iter().zip(self.steps).map(|(step, progress)| progress.outcome(step)).collect();
        let expectations = self.judgements.into_iter().map(Judgement::outcome).collect();
        let series = self.recorder.map(Recorder::series);
        Outcome { ended: now, steps, expectations, series }
    }

    /// Counts what is not settled.
    fn count(&mut self) {
        let steps = self.steps.iter().filter(|progress| !progress.settled()).count();
        self.open = steps + self.judgements.iter().filter(|found| !found.settled()).count();
    }

    fn scene<'a>(&'a self, case: &'a Case, now: Mark, values: &'a dyn Values) -> Look<'a> {
        Look { case, values, now, steps: &self.steps, memories: &self.memories }
    }
}

/// A lapse in words.
fn lapse_words(lapse: Lapse) -> String {
    match lapse {
        Lapse::Time(time) => time_words(time),
        Lapse::Rounds(1) => "1 round trip".to_owned(),
        Lapse::Rounds(count) => format!("{count} round trips"),
    }
}

fn time_words(time: Duration) -> String {
    crate::words::seconds(time.as_secs_f64())
}
