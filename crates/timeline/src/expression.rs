//! Expressions with checked names and types, and their values at a look.

use crate::ast::{Comparison, Operation};
use crate::dimension::Type;
use crate::outcome::Shown;
use crate::unit::show;
use crate::vocabulary::VariableId;

/// Index of a [`Memory`] in [`Case::memories`](crate::Case::memories).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemoryId(pub usize);

/// A condition whose names and types are checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// The text as written.
    pub text: String,
    /// The whole condition.
    pub(crate) root: Node,
    /// Its conjuncts; one if it is no conjunction.
    pub(crate) clauses: Vec<Clause>,
    /// Its variables and functions of the past, each once, in order of appearance.
    pub(crate) terms: Vec<Term>,
}

/// A conjunct of a condition.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Clause {
    /// Canonical text.
    pub(crate) text: String,
    /// Its value.
    pub(crate) node: Node,
    /// The parts whose values explain it: sides of a comparison, or the terms in it.
    pub(crate) parts: Vec<Term>,
}

/// A part of an expression that can be shown with its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Term {
    /// Canonical text.
    pub(crate) text: String,
    /// Its value.
    pub(crate) node: Node,
    /// Its type.
    pub(crate) kind: Type,
}

/// What a function of the past remembers.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// Which function.
    pub(crate) kind: MemoryKind,
    /// The step since which it remembers; `None` for `was`.
    pub(crate) step: Option<usize>,
    /// Of what.
    pub(crate) node: Node,
}

/// Functions of the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryKind {
    /// The value at the previous look.
    Was,
    /// The value when the step happened.
    At,
    /// The largest value since the step.
    Highest,
    /// The smallest value since the step.
    Lowest,
    /// The mean over time since the step.
    Mean,
}

/// A part of an expression, in base units. Conditions are 1 (true), 0 (false) and NaN (neither).
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Constant(f64),
    Variable(VariableId),
    Memory(MemoryId),
    Time,
    Since(usize),
    RoundsSince(usize),
    Happened(usize),
    Not(Box<Self>),
    Minus(Box<Self>),
    Abs(Box<Self>),
    All(Vec<Self>),
    Any(Vec<Self>),
    Least(Vec<Self>),
    Largest(Vec<Self>),
    Compare(Comparison, Box<Self>, Box<Self>),
    Arithmetic(Operation, Box<Self>, Box<Self>),
    /// `between(x, low, high)`.
    Between(Box<[Self; 3]>),
    /// `near(x, y, tolerance)`.
    Near(Box<[Self; 3]>),
}

/// The values of everything that a condition can name, at one look.
pub(crate) trait Scene {
    /// Value of a variable in base units; NaN for none.
    fn variable(&self, id: VariableId) -> f64;
    /// What a function of the past remembers.
    fn memory(&self, id: MemoryId) -> f64;
    /// Seconds since the start of the run.
    fn time(&self) -> f64;
    /// Seconds since a step; NaN if it has not happened.
    fn since(&self, step: usize) -> f64;
    /// Round trips since a step; NaN if it has not happened.
    fn rounds_since(&self, step: usize) -> f64;
}

const fn truth(on: bool) -> f64 {
    if on { 1.0 } else { 0.0 }
}

impl Node {
    /// Returns the value in base units; NaN if a part that it needs has none.
    pub(crate) fn value(&self, scene: &dyn Scene) -> f64 {
        match self {
            Self::Constant(value) => *value,
            Self::Variable(id) => scene.variable(*id),
            Self::Memory(id) => scene.memory(*id),
            Self::Time => scene.time(),
            Self::Since(step) => scene.since(*step),
            Self::RoundsSince(step) => scene.rounds_since(*step),
            Self::Happened(step) => truth(!scene.since(*step).is_nan()),
            Self::Not(part) => 1.0 - part.value(scene),
            Self::Minus(part) => -part.value(scene),
            Self::Abs(part) => part.value(scene).abs(),
            Self::All(parts) => joined(parts, scene, 0.0),
            Self::Any(parts) => joined(parts, scene, 1.0),
            Self::Least(parts) => extreme(parts, scene, |new, old| new < old),
            Self::Largest(parts) => extreme(parts, scene, |new, old| new > old),
            Self::Compare(sign, left, right) => compare(*sign, left.value(scene), right.value(scene)),
            Self::Arithmetic(sign, left, right) => calculate(*sign, left.value(scene), right.value(scene)),
            Self::Between(parts) => {
                let [x, low, high] = parts.each_ref().map(|part| part.value(scene));
                known(&[x, low, high], || x >= low && x <= high)
            }
            Self::Near(parts) => {
                let [x, y, share] = parts.each_ref().map(|part| part.value(scene));
                known(&[x, y, share], || (x - y).abs() <= share * y.abs())
            }
        }
    }
}

/// A condition over values, or neither true nor false where one is missing.
fn known(values: &[f64], condition: impl FnOnce() -> bool) -> f64 {
    if values.iter().any(|value| value.is_nan()) { f64::NAN } else { truth(condition()) }
}

/// `and` (deciding value 0) or `or` (1): a part with that value decides, whatever the others are.
fn joined(parts: &[Node], scene: &dyn Scene, deciding: f64) -> f64 {
    let mut open = false;
    for part in parts {
        let value = part.value(scene);
        if value.is_nan() {
            open = true;
        } else if (value > 0.5) == (deciding > 0.5) {
            return deciding;
        }
    }
    if open { f64::NAN } else { 1.0 - deciding }
}

fn extreme(parts: &[Node], scene: &dyn Scene, better: fn(f64, f64) -> bool) -> f64 {
    let mut values = parts.iter().map(|part| part.value(scene));
    let first = values.next().unwrap_or(f64::NAN);
    values.fold(first, |best, value| if value.is_nan() || better(value, best) { value } else { best })
}

/// Exact, as the language says.
#[allow(clippy::float_cmp)]
fn compare(sign: Comparison, left: f64, right: f64) -> f64 {
    known(&[left, right], || match sign {
        Comparison::Equal => left == right,
        Comparison::Unequal => left != right,
        Comparison::Less => left < right,
        Comparison::AtMost => left <= right,
        Comparison::Greater => left > right,
        Comparison::AtLeast => left >= right,
    })
}

fn calculate(sign: Operation, left: f64, right: f64) -> f64 {
    let value = match sign {
        Operation::Plus => left + right,
        Operation::Minus => left - right,
        Operation::Times => left * right,
        Operation::Over => left / right,
    };
    // A quotient by zero has no value.
    if value.is_finite() { value } else { f64::NAN }
}

impl Term {
    pub(crate) fn show(&self, scene: &dyn Scene) -> Shown {
        let (value, unit, shown) = show(self.node.value(scene), &self.kind);
        Shown { text: self.text.clone(), value, unit, shown }
    }
}

impl Expression {
    /// Returns 1 (true), 0 (false), or NaN where its variables have no value.
    pub(crate) fn value(&self, scene: &dyn Scene) -> f64 {
        self.root.value(scene)
    }

    /// Returns its variables and functions of the past with their values.
    pub(crate) fn shown(&self, scene: &dyn Scene) -> Vec<Shown> {
        self.terms.iter().map(|term| term.show(scene)).collect()
    }

    /// Explains its value in a sentence that names the conjunct that decides, and the values in it.
    pub(crate) fn explain(&self, scene: &dyn Scene) -> String {
        let value = self.value(scene);
        let fits = |clause: &&Clause| {
            let part = clause.node.value(scene);
            if value.is_nan() { part.is_nan() } else { part < 0.5 }
        };
        let whole: Vec<&Clause> = self.clauses.iter().collect();
        let chosen: Vec<&Clause> =
            if value > 0.5 { whole } else { self.clauses.iter().find(fits).into_iter().collect() };
        let word = match value {
            _ if value.is_nan() => "has no value",
            _ if value > 0.5 => "is true",
            _ => "is false",
        };
        let text = if chosen.len() == 1 { &chosen[0].text } else { &self.text };
        let mut parts: Vec<String> = Vec::new();
        for part in chosen.iter().flat_map(|clause| &clause.parts) {
            let shown = part.show(scene);
            let sentence = format!("{} is {}", shown.text, shown.shown);
            if !parts.contains(&sentence) {
                parts.push(sentence);
            }
        }
        let colon = if parts.is_empty() { "" } else { ": " };
        format!("`{text}` {word}{colon}{}", parts.join(", "))
    }
}
