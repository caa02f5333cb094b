//! A scenario with two flows and a dumbbell, and values that a test sets.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

use narrows_timeline::{
    Case, Declared, Expectation, Expression, ExpressionError, FlowWords, Line, LinkWords, Outcome, Quantifier, Scope,
    Step, Until, Values, Variable, VariableId, Vocabulary, Watch, When,
};
use narrows_units::{Duration, Instant};
use std::collections::BTreeMap;
use std::sync::Arc;

pub fn declared(name: &str, unit: &str, words: &[&str]) -> Declared {
    let words = words.iter().map(|&word| word.to_owned()).collect();
    Declared { name: name.to_owned(), unit: unit.to_owned(), words }
}

/// Flows `s1` (bbr3), `s2` (cubic) and `call` (UDP); links `s1-r1` and `r1-r2`, which is the bottleneck.
pub fn vocabulary() -> Vocabulary {
    let bbr3 = [
        declared("phase", "", &["Startup", "Drain", "ProbeBW_DOWN", "ProbeBW_UP"]),
        declared("max_bw", "bit/s", &[]),
        declared("rounds", "rounds", &[]),
        declared("inflight_hi", "bytes", &[]),
    ];
    let cubic = [declared("w_max", "segments", &[])];
    let flow = |name: &str, control: Option<(&str, &[Declared])>| FlowWords {
        receiver: None,
        name: name.into(),
        control: control.map(|(name, variables)| (name.into(), variables.into())),
    };
    Vocabulary {
        flows: vec![flow("s1", Some(("bbr3", &bbr3))), flow("s2", Some(("cubic", &cubic))), flow("call", None)],
        links: vec![LinkWords { name: "s1-r1".into() }, LinkWords { name: "r1-r2".into() }],
        bottleneck: Some(1),
        under_test: 0,
    }
}

/// Reads one condition; steps `a` and `b` exist.
pub fn read(text: &str) -> Result<Expression, Vec<ExpressionError>> {
    let words = vocabulary();
    Scope::new(&words, vec!["a", "b"]).condition(text)
}

/// The messages of a condition that is refused.
pub fn refused(text: &str) -> Vec<String> {
    read(text).err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

/// What a test says of a case: steps by name, `after`, `when`; expectations.
pub struct Written {
    pub steps: Vec<(&'static str, Option<&'static str>, Wait)>,
    pub expectations: Vec<Wanted>,
}

/// When a step of a test happens.
#[derive(Clone, Copy)]
pub enum Wait {
    At(u64),
    When(&'static str),
    Within(&'static str, narrows_timeline::Lapse),
    Later(narrows_timeline::Lapse),
}

/// An expectation of a test.
#[derive(Clone, Copy)]
pub struct Wanted {
    pub quantifier: Quantifier,
    pub text: &'static str,
    pub after: Option<&'static str>,
    pub until: Until,
    pub unless: Option<&'static str>,
}

pub const fn wanted(quantifier: Quantifier, text: &'static str) -> Wanted {
    Wanted { quantifier, text, after: None, until: Until::End, unless: None }
}

impl Written {
    pub fn case(&self) -> Case {
        let words = vocabulary();
        let names: Vec<&str> = self.steps.iter().map(|step| step.0).collect();
        let index = |name: Option<&str>| name.map(|name| names.iter().position(|known| *known == name).unwrap());
        let mut scope = Scope::new(&words, names.clone());
        let rounds = scope.rounds();
        let steps = self.steps.iter().map(|(name, after, wait)| {
            let (when, within) = match *wait {
                Wait::At(ms) => (When::At(Instant::ZERO + Duration::from_millis(ms)), None),
                Wait::When(text) => (When::Condition(scope.condition(text).unwrap()), None),
                Wait::Within(text, lapse) => (When::Condition(scope.condition(text).unwrap()), Some(lapse)),
                Wait::Later(lapse) => (When::Later(lapse), None),
            };
            Step {
                name: (*name).to_owned(),
                named: true,
                line: Line(None),
                after: index(*after),
                when,
                within,
                actions: Vec::new(),
            }
        });
        let steps = steps.collect();
        let expectations = self.expectations.iter().map(|wanted| Expectation {
            name: wanted.text.to_owned(),
            named: false,
            line: Line(None),
            quantifier: wanted.quantifier,
            expression: scope.condition(wanted.text).unwrap(),
            after: index(wanted.after),
            until: wanted.until,
            unless: wanted.unless.map(|text| scope.condition(text).unwrap()),
        });
        let expectations = expectations.collect();
        let (variables, memories) = scope.into_parts();
        let rounds = Some(rounds);
        Case { flow_name: "s1".into(), variables, memories, rounds, steps, expectations, ..Case::default() }
    }
}

/// Values by variable name; unknown ones have no value.
pub struct Run {
    pub watch: Watch,
    pub case: Arc<Case>,
    values: BTreeMap<String, f64>,
    begun: bool,
    pub happened: Vec<(u64, String)>,
    now: u64,
}

struct Now<'a>(&'a Run);

impl Values for Now<'_> {
    fn value(&self, id: VariableId) -> f64 {
        let name = &self.0.case.variables[id.0].name;
        self.0.values.get(name).copied().unwrap_or(f64::NAN)
    }

    fn begun(&self) -> bool {
        self.0.begun
    }
}

impl Run {
    pub fn new(written: &Written) -> Self {
        let case = Arc::new(written.case());
        let watch = Watch::new(Arc::clone(&case));
        Self { watch, case, values: BTreeMap::new(), begun: true, happened: Vec::new(), now: 0 }
    }

    pub fn not_begun(mut self) -> Self {
        self.begun = false;
        self
    }

    pub fn begin(&mut self) {
        self.begun = true;
    }

    /// Sets values, then looks at this time in milliseconds. Raw values, in the variables' units.
    pub fn look(&mut self, ms: u64, values: &[(&str, f64)]) -> &mut Self {
        for (name, value) in values {
            self.values.insert((*name).to_owned(), *value);
        }
        self.now = ms;
        let mut watch = self.watch.clone();
        let now = Instant::ZERO + Duration::from_millis(ms);
        for index in watch.look(now, &Now(self)) {
            let name = self.case.steps[index].name.clone();
            self.happened.push((ms, name));
        }
        self.watch = watch;
        // A look settles what was due, or a caller would look for ever.
        assert!(self.watch.next_deadline().is_none_or(|deadline| deadline > now), "a deadline remains at {ms} ms");
        self
    }

    pub fn finish(&self) -> Outcome {
        let now = Instant::ZERO + Duration::from_millis(self.now);
        self.watch.clone().finish(now, &Now(self))
    }

    pub fn deadline_ms(&self) -> Option<u64> {
        self.watch.next_deadline().map(|at| at.as_nanos() / 1_000_000)
    }

    pub fn variables(&self) -> &[Variable] {
        &self.case.variables
    }
}
