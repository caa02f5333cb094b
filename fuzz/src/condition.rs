//! Invariants for any text given to the reader of conditions. Panics if one is violated.

use narrows_timeline::{
    Case, Declared, Expectation, Expression, ExpressionError, FlowWords, Line, LinkWords, Quantifier, Scope, Step,
    Type, Until, Values, VariableId, Verdict, Vocabulary, Watch, When, parse,
};
use narrows_units::{Duration, Instant};
use std::sync::Arc;

/// Two flows and two links, one of which is the bottleneck.
fn vocabulary() -> Vocabulary {
    let declared = |name: &str, unit: &str, words: &[&str]| Declared {
        name: name.to_owned(),
        unit: unit.to_owned(),
        words: words.iter().map(|&word| word.to_owned()).collect(),
    };
    let variables: Arc<[Declared]> = [
        declared("phase", "", &["Startup", "Drain", "ProbeBW_UP"]),
        declared("max_bw", "bit/s", &[]),
        declared("w_max", "segments", &[]),
    ]
    .into();
    let flow = |name: &str, control: Option<&str>| FlowWords {
        receiver: None,
        name: name.into(),
        control: control.map(|control| (control.into(), Arc::clone(&variables))),
    };
    Vocabulary {
        flows: vec![flow("s1", Some("bbr3")), flow("s2", Some("cubic")), flow("call", None)],
        links: vec![LinkWords { name: "s1-r1".into() }, LinkWords { name: "r1-r2".into() }],
        bottleneck: Some(1),
        under_test: 0,
    }
}

/// Values that differ by variable and by look, with none, zero and infinity among them.
struct Odd<'a>(&'a Case, usize);

impl Values for Odd<'_> {
    fn value(&self, id: VariableId) -> f64 {
        let variable = &self.0.variables[id.0];
        let raw = [f64::NAN, 0.0, 1.0, -3.5, 1e9, f64::INFINITY, 1500.0, 0.02][(id.0 * 3 + self.1) % 8];
        match &variable.kind {
            Type::Truth => [f64::NAN, 0.0, 1.0][(id.0 + self.1) % 3],
            Type::Word(words) => ((id.0 + self.1) % words.len()) as f64,
            Type::Number(_) => raw,
        }
    }

    fn begun(&self) -> bool {
        true
    }
}

/// Reads a condition over the vocabulary and a step `a`, as a case that expects it always and never.
fn case(text: &str) -> Result<Case, Vec<ExpressionError>> {
    let words = vocabulary();
    let mut scope = Scope::new(&words, vec!["a"]);
    let expression = scope.condition(text)?;
    let rounds = Some(scope.rounds());
    let (variables, memories) = scope.into_parts();
    let expectation = |quantifier, expression: Expression| Expectation {
        name: String::new(),
        named: false,
        line: Line(None),
        quantifier,
        expression,
        after: None,
        until: Until::End,
        unless: None,
    };
    let step = Step {
        name: "a".to_owned(),
        named: true,
        line: Line(None),
        after: None,
        when: When::At(Instant::ZERO + Duration::from_millis(2)),
        within: None,
        actions: Vec::new(),
    };
    Ok(Case {
        variables,
        memories,
        rounds,
        steps: vec![step],
        expectations: vec![
            expectation(Quantifier::Always, expression.clone()),
            expectation(Quantifier::Never, expression),
        ],
        ..Case::default()
    })
}

/// The messages about the text; empty if it is a condition.
pub fn problems(bytes: &[u8]) -> Vec<String> {
    let Ok(text) = core::str::from_utf8(bytes) else { return vec!["not UTF-8".to_owned()] };
    case(text).err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

/// What is read is written and read again as the same; an error has a message, and no column outside the text; a
/// condition is true, false or without a value at a look, whatever its variables are.
pub fn condition(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    if let Ok(ast) = parse(text) {
        let written = ast.to_string();
        // Writing puts blanks around operators, and may make a text too long.
        if written.len() <= narrows_timeline::LONGEST {
            assert_eq!(parse(&written).as_ref(), Ok(&ast), "{written}");
        }
    }
    match case(text) {
        Ok(case) => watch(text, &Arc::new(case)),
        Err(errors) => {
            assert!(!errors.is_empty(), "{text}");
            for error in &errors {
                assert!(!error.reason.is_empty() && error.column <= text.chars().count() + 1, "{text}: {error:?}");
            }
        }
    }
}

/// Looks once, and then five times.
fn watch(text: &str, case: &Arc<Case>) {
    for look in 0..5 {
        let mut watch = Watch::new(Arc::clone(case));
        watch.look(Instant::ZERO, &Odd(case, look));
        let outcome = watch.finish(Instant::ZERO, &Odd(case, look));
        let found: Vec<Verdict> = outcome.expectations.iter().map(|found| found.verdict).collect();
        let sound = matches!(
            found[..],
            [Verdict::Met, Verdict::NotMet]
                | [Verdict::NotMet, Verdict::Met]
                | [Verdict::NothingSampled, Verdict::NothingSampled]
        );
        // A second look at one moment may see other values of functions of the past.
        assert!(sound || found == [Verdict::NotMet, Verdict::NotMet], "{text}: {found:?}");
        assert!(outcome.expectations.iter().all(|found| found.looks > 0 || !found.reason.is_empty()), "{text}");
    }
    let mut watch = Watch::new(Arc::clone(case));
    for look in 0..5_usize {
        watch.look(Instant::ZERO + Duration::from_millis(look as u64), &Odd(case, look));
    }
    let outcome = watch.finish(Instant::ZERO + Duration::from_millis(9), &Odd(case, 5));
    assert!(outcome.steps[0].happened.is_some());
}
