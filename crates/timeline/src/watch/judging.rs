//! What expectations come to.

use super::{Mark, Values, Watch, lapse_words};
use crate::case::{Case, Expectation, Lapse, Quantifier, Until};
use crate::outcome::{ExpectationOutcome, Shown, Verdict};
use narrows_units::Instant;

/// How far the judging of an expectation is.
#[derive(Clone, Debug)]
pub(super) enum Judgement {
    /// It has not begun.
    Waiting,
    /// It goes on.
    Open(Window),
    /// The verdict is clear.
    Settled(ExpectationOutcome),
}

/// A judging that goes on.
#[derive(Clone, Debug)]
pub(super) struct Window {
    from: Mark,
    /// The last look at which it was judged.
    last: Option<Instant>,
    /// Looks with a value.
    looks: u64,
}

impl Judgement {
    pub(super) const fn settled(&self) -> bool {
        matches!(self, Self::Settled(_))
    }

    /// The next time at which this expectation needs a look.
    pub(super) fn deadline(&self, expectation: &Expectation) -> Option<Instant> {
        match (self, expectation.until) {
            (Self::Open(window), Until::Lapse(lapse)) => window.from.deadline(lapse),
            _ => None,
        }
    }

    pub(super) fn outcome(self) -> ExpectationOutcome {
        match self {
            Self::Settled(outcome) => outcome,
            Self::Waiting | Self::Open(_) => unjudged(String::new()),
        }
    }
}

fn unjudged(reason: String) -> ExpectationOutcome {
    ExpectationOutcome {
        verdict: Verdict::NotJudged,
        from: None,
        to: None,
        decided: None,
        looks: 0,
        values: Vec::new(),
        reason,
    }
}

/// What is known at the end of a judging.
struct Ending {
    verdict: Verdict,
    reason: String,
    values: Vec<Shown>,
}

impl Watch {
    /// Judges the expectations that are to be judged at this look.
    pub(super) fn judge(&mut self, case: &Case, now: Mark, values: &dyn Values) {
        for (index, expectation) in case.expectations.iter().enumerate() {
            self.begin(case, index, expectation, (now, values));
            let Some(Judgement::Open(window)) = self.judgements.get(index) else { continue };
            let window = window.clone();
            if let Until::Lapse(lapse) = expectation.until
                && window.from.beyond(lapse, now)
            {
                self.close(case, index, window, (now, values));
                continue;
            }
            self.judge_one(case, index, window, (now, values));
        }
    }

    /// Begins the judging, if its time has come.
    fn begin(&mut self, case: &Case, index: usize, expectation: &Expectation, (now, values): (Mark, &dyn Values)) {
        if !matches!(self.judgements.get(index), Some(Judgement::Waiting)) {
            return;
        }
        let started = match expectation.after.map(|after| (after, self.steps.get(after))) {
            None => self.begun.is_some(),
            Some((after, Some(progress))) if progress.missed() => {
                let name = case.steps.get(after).map_or("", |step| step.name.as_str());
                self.judgements[index] = Judgement::Settled(unjudged(format!("step `{name}` did not happen")));
                return;
            }
            Some((_, progress)) => progress.is_some_and(|progress| progress.happened().is_some()),
        };
        if !started {
            return;
        }
        let scene = self.scene(case, now, values);
        let excused = expectation.unless.as_ref().filter(|unless| unless.value(&scene) > 0.5);
        self.judgements[index] = match excused {
            Some(unless) => Judgement::Settled(ExpectationOutcome {
                verdict: Verdict::DoesNotApply,
                from: Some(now.at),
                to: Some(now.at),
                decided: Some(now.at),
                looks: 0,
                values: unless.shown(&scene),
                reason: format!("does not apply: {}", unless.explain(&scene)),
            }),
            None => Judgement::Open(Window { from: now, last: None, looks: 0 }),
        };
    }

    fn judge_one(&mut self, case: &Case, index: usize, mut window: Window, (now, values): (Mark, &dyn Values)) {
        let Some(expectation) = case.expectations.get(index) else { return };
        let scene = self.scene(case, now, values);
        let value = expectation.expression.value(&scene);
        window.last = Some(now.at);
        window.looks += u64::from(!value.is_nan());
        let (holds, fails) = (value > 0.5, value < 0.5);
        let verdict = match expectation.quantifier {
            Quantifier::Always if fails => Some(Verdict::NotMet),
            Quantifier::Never if holds => Some(Verdict::NotMet),
            Quantifier::Eventually | Quantifier::Then if holds => Some(Verdict::Met),
            Quantifier::Then if fails => Some(Verdict::NotMet),
            Quantifier::Then => Some(Verdict::NothingSampled),
            _ => None,
        };
        if let Some(verdict) = verdict {
            let reason = match verdict {
                Verdict::Met => String::new(),
                Verdict::NothingSampled => format!("nothing sampled: {}", expectation.expression.explain(&scene)),
                _ => expectation.expression.explain(&scene),
            };
            let ending = Ending { verdict, reason, values: expectation.expression.shown(&scene) };
            self.settle(index, &window, now.at, ending);
            return;
        }
        let over = match expectation.until {
            Until::End => false,
            Until::Step(step) => self.steps.get(step).is_some_and(|progress| progress.happened().is_some()),
            Until::Lapse(lapse @ Lapse::Time(_)) => window.from.passed(lapse, now),
            Until::Lapse(Lapse::Rounds(_)) => false,
        };
        if over {
            self.close(case, index, window, (now, values));
            return;
        }
        if let Until::Step(step) = expectation.until
            && self.steps.get(step).is_some_and(Progress::missed)
        {
            self.without_end(case, index, step, &window, now.at);
            return;
        }
        self.judgements[index] = Judgement::Open(window);
    }

    /// Ends a judging that met nothing decisive.
    fn close(&mut self, case: &Case, index: usize, window: Window, (now, values): (Mark, &dyn Values)) {
        let Some(expectation) = case.expectations.get(index) else { return };
        let scene = self.scene(case, now, values);
        let expression = &expectation.expression;
        let how_long = match expectation.until {
            Until::Lapse(lapse) => format!("within {}", lapse_words(lapse)),
            Until::Step(step) => {
                format!("up to step `{}`", case.steps.get(step).map_or("", |step| step.name.as_str()))
            }
            Until::End => "up to the end of the run".to_owned(),
        };
        let (verdict, reason) = match (window.looks, expectation.quantifier) {
            (0, _) => (Verdict::NothingSampled, format!("nothing sampled: {} {how_long}", expression.explain(&scene))),
            (_, Quantifier::Always | Quantifier::Never) => (Verdict::Met, String::new()),
            _ => (Verdict::NotMet, format!("was not true {how_long}: at the end {}", expression.explain(&scene))),
        };
        let ending = Ending { verdict, reason, values: expression.shown(&scene) };
        self.settle(index, &window, now.at, ending);
    }

    fn settle(&mut self, index: usize, window: &Window, now: Instant, ending: Ending) {
        self.judgements[index] = Judgement::Settled(ExpectationOutcome {
            verdict: ending.verdict,
            from: Some(window.from.at),
            to: window.last.or(Some(now)),
            decided: Some(now),
            looks: window.looks,
            values: ending.values,
            reason: ending.reason,
        });
    }

    /// Settles an expectation whose last moment never comes.
    fn without_end(&mut self, case: &Case, index: usize, step: usize, window: &Window, now: Instant) {
        let name = case.steps.get(step).map_or("", |step| step.name.as_str());
        let reason = format!("step `{name}`, up to which it is judged, did not happen");
        self.settle(index, window, now, Ending { verdict: Verdict::NotJudged, reason, values: Vec::new() });
    }

    /// Settles all expectations at the end of the run.
    pub(super) fn end_judging(&mut self, case: &Case, now: Mark, values: &dyn Values) {
        for (index, expectation) in case.expectations.iter().enumerate() {
            self.begin(case, index, expectation, (now, values));
            match self.judgements.get(index) {
                Some(Judgement::Waiting) => {
                    let reason = "the flow under test did not start up to the end of the run".to_owned();
                    self.judgements[index] = Judgement::Settled(unjudged(reason));
                }
                Some(Judgement::Open(window)) => {
                    let window = window.clone();
                    match expectation.until {
                        Until::Step(step) => self.without_end(case, index, step, &window, now.at),
                        _ => self.close(case, index, window, (now, values)),
                    }
                }
                _ => {}
            }
        }
    }
}

use super::stepping::Progress;
