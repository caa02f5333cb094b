//! What came of a case: a verdict per expectation, and when each step happened.

use narrows_units::Instant;

/// The variables of a case over time, in base units: bytes, seconds, bytes per second; the number of a word; 0 and 1
/// for false and true; NaN for no value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Times of the looks.
    pub times: Vec<Instant>,
    /// A column per variable of the case, in its order, with a value per look.
    pub columns: Vec<Vec<f64>>,
}

/// What came of a case in one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// When watching ended.
    pub ended: Instant,
    /// Per step, in the order of the case.
    pub steps: Vec<StepOutcome>,
    /// Per expectation, in the order of the case.
    pub expectations: Vec<ExpectationOutcome>,
    /// The variables over time, if [`Watch::record`](crate::Watch::record) asked for them.
    pub series: Option<Series>,
}

impl Outcome {
    /// Whether every step happened and every expectation is met or does not apply.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.steps.iter().all(|step| step.happened.is_some())
            && self.expectations.iter().all(|found| matches!(found.verdict, Verdict::Met | Verdict::DoesNotApply))
    }
}

/// When a step happened.
#[derive(Clone, Debug, PartialEq)]
pub struct StepOutcome {
    /// When it was armed; `None` if the step before it never happened.
    pub armed: Option<Instant>,
    /// When it happened; `None` if it never did.
    pub happened: Option<Instant>,
    /// Why it did not happen; empty if it did.
    pub reason: String,
    /// The variables of its condition with their values when it happened, or at the last look.
    pub values: Vec<Shown>,
}

/// The verdict on an expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It held as it must.
    Met,
    /// It did not.
    NotMet,
    /// A step that begins or ends its judging never happened.
    NotJudged,
    /// Its variables had no value whenever it was looked at, or it was never looked at.
    NothingSampled,
    /// Its `unless` was true.
    DoesNotApply,
}

impl Verdict {
    /// The words of results.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::NotMet => "not met",
            Self::NotJudged => "not judged",
            Self::NothingSampled => "nothing sampled",
            Self::DoesNotApply => "does not apply",
        }
    }
}

/// What came of an expectation.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectationOutcome {
    /// The verdict.
    pub verdict: Verdict,
    /// When judging began; `None` if it never did.
    pub from: Option<Instant>,
    /// When judging ended; `None` if it never began.
    pub to: Option<Instant>,
    /// When the verdict was clear; `None` if it never was judged.
    pub decided: Option<Instant>,
    /// Looks at which the expression had a value.
    pub looks: u64,
    /// The variables and functions in it with their values at the deciding look, or at the last one.
    pub values: Vec<Shown>,
    /// A sentence with values and what was expected; empty if it was met.
    pub reason: String,
}

/// A value for people and for results.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The variable or function, as expressions write it.
    pub text: String,
    /// Value in `unit`; NaN for none. For words and conditions their number.
    pub value: f64,
    /// Unit; empty for a plain number, a word or a condition.
    pub unit: String,
    /// The value with its unit, in words: `9.31 Mb/s`, `recovery`, `no value`.
    pub shown: String,
}
