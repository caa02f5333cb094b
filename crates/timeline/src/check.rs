//! From [`Ast`] to [`Expression`]: names are looked up, and types are checked.

mod calls;

use crate::ast::{Ast, Comparison, Operation, Path, Shape};
use crate::dimension::{Dimension, Type};
use crate::error::{Cause, ExpressionError};
use crate::expression::{Clause, Expression, Memory, MemoryId, Node, Term};
use crate::functions::FUNCTIONS;
use crate::parse::parse;
use crate::resolve::resolve;
use crate::unit::Unit;
use crate::vocabulary::{FlowField, Source, Variable, VariableId, Vocabulary};

/// What the expressions of one case share: names that they may use, and what they have used so far.
#[derive(Clone, Debug)]
pub struct Scope<'a> {
    words: &'a Vocabulary,
    steps: Vec<&'a str>,
    variables: Vec<Variable>,
    memories: Vec<Memory>,
    errors: Vec<ExpressionError>,
    counts_rounds: bool,
}

/// A part with its type.
type Typed = (Node, Type);

impl<'a> Scope<'a> {
    /// Creates a scope with these variables and names of steps, in the order of the case.
    #[must_use]
    pub const fn new(words: &'a Vocabulary, steps: Vec<&'a str>) -> Self {
        Self { words, steps, variables: Vec::new(), memories: Vec::new(), errors: Vec::new(), counts_rounds: false }
    }

    /// Reads a condition.
    ///
    /// # Errors
    /// Every fault of its names and types, or the first fault of its syntax.
    pub fn condition(&mut self, text: &str) -> Result<Expression, Vec<ExpressionError>> {
        let ast = parse(text).map_err(|error| vec![error])?;
        let found = self.truth(&ast);
        let errors = std::mem::take(&mut self.errors);
        match found {
            Some(root) if errors.is_empty() => Ok(self.expression(text, &ast, root)),
            _ => Err(errors),
        }
    }

    /// Returns the variable that counts round trips of the flow under test.
    pub fn rounds(&mut self) -> VariableId {
        self.of_flow(self.words.under_test, FlowField::Rounds)
    }

    /// Whether a condition so far counts round trips since a step.
    #[must_use]
    pub const fn counts_rounds(&self) -> bool {
        self.counts_rounds
    }

    /// Returns the variables used so far, and what functions of the past remember.
    #[must_use]
    pub fn into_parts(self) -> (Vec<Variable>, Vec<Memory>) {
        (self.variables, self.memories)
    }

    fn add(&mut self, ast: &Ast, reason: impl Into<String>, allowed: impl Into<String>) {
        self.errors.push(ExpressionError::new(ast.column.0, Cause::Type, shortened(ast), reason, allowed));
    }

    /// A number of a flow that no expression names, such as its segment size.
    fn of_flow(&mut self, flow: usize, field: FlowField) -> VariableId {
        let path = if flow == self.words.under_test {
            Path { head: "flow".to_owned(), index: None, rest: vec![field.row().name.to_owned()] }
        } else {
            let name = self.words.flows.get(flow).map_or_else(String::new, |flow| flow.name.to_string());
            Path { head: "flows".to_owned(), index: Some(name), rest: vec![field.row().name.to_owned()] }
        };
        let source = Source::Flow { flow, field };
        let variable = |factor| Variable {
            name: path.to_string(),
            source,
            unit: field.row().unit.to_owned(),
            kind: Type::Number(crate::unit::of_variable(field.row().unit).0),
            factor,
            segment: None,
        };
        self.intern(variable(1.0))
    }

    fn intern(&mut self, variable: Variable) -> VariableId {
        let same = |known: &Variable| known.source == variable.source;
        let at = self.variables.iter().position(same).unwrap_or_else(|| {
            self.variables.push(variable.clone());
            self.variables.len() - 1
        });
        VariableId(at)
    }

    fn remember(&mut self, memory: Memory) -> Node {
        let at = self.memories.iter().position(|known| *known == memory).unwrap_or_else(|| {
            self.memories.push(memory);
            self.memories.len() - 1
        });
        Node::Memory(MemoryId(at))
    }

    fn expression(&mut self, text: &str, ast: &Ast, root: Node) -> Expression {
        let conjuncts = if let Shape::All(parts) = &ast.shape { parts.as_slice() } else { std::slice::from_ref(ast) };
        let clauses = conjuncts.iter().filter_map(|part| self.clause(part)).collect();
        let mut terms = Vec::new();
        self.terms(ast, &mut terms);
        Expression { text: text.trim().to_owned(), root, clauses, terms }
    }

    fn clause(&mut self, ast: &Ast) -> Option<Clause> {
        let node = self.truth(ast)?;
        let mut parts = Vec::new();
        match &ast.shape {
            Shape::Compare(_, left, right) => [left, right].map(|side| self.part(side, &mut parts)),
            Shape::Call(name, arguments) if name == "near" || name == "between" => {
                arguments.iter().for_each(|argument| self.part(argument, &mut parts));
                [(), ()]
            }
            _ => {
                self.terms(ast, &mut parts);
                [(), ()]
            }
        };
        Some(Clause { text: ast.to_string(), node, parts })
    }

    /// A side of a comparison, unless it says its own value.
    fn part(&mut self, ast: &Ast, parts: &mut Vec<Term>) {
        let literal = match &ast.shape {
            Shape::Quantity(_, unit) => !unit.is_some_and(|unit| unit.segments),
            Shape::Truth(_) | Shape::Word(_) => true,
            _ => false,
        };
        if !literal && let Some((node, kind)) = self.any(ast) {
            parts.push(Term { text: ast.to_string(), node, kind });
        }
    }

    /// Variables and functions of the past, outermost first.
    fn terms(&mut self, ast: &Ast, found: &mut Vec<Term>) {
        let past = |name: &str| FUNCTIONS.iter().any(|row| row.name == name && row.past);
        match &ast.shape {
            Shape::Path(_) => self.term(ast, found),
            Shape::Call(name, _) if past(name) => self.term(ast, found),
            Shape::Call(_, parts) | Shape::All(parts) | Shape::Any(parts) => {
                parts.iter().for_each(|part| self.terms(part, found));
            }
            Shape::Not(part) | Shape::Minus(part) => self.terms(part, found),
            Shape::Compare(_, left, right) | Shape::Arithmetic(_, left, right) => {
                self.terms(left, found);
                self.terms(right, found);
            }
            Shape::Quantity(..) | Shape::Truth(_) | Shape::Word(_) => {}
        }
    }

    fn term(&mut self, ast: &Ast, found: &mut Vec<Term>) {
        let text = ast.to_string();
        if !found.iter().any(|term| term.text == text)
            && let Some((node, kind)) = self.any(ast)
        {
            found.push(Term { text, node, kind });
        }
    }

    fn truth(&mut self, ast: &Ast) -> Option<Node> {
        let (node, kind) = self.any(ast)?;
        if kind == Type::Truth {
            return Some(node);
        }
        self.add(ast, format!("is {kind}, not a condition"), "a comparison such as `flow.cwnd > 30 kB`");
        None
    }

    fn number(&mut self, ast: &Ast) -> Option<(Node, Dimension)> {
        match self.any(ast)? {
            (node, Type::Number(dimension)) => Some((node, dimension)),
            (_, kind) => {
                self.add(ast, format!("is {kind}, not a number"), "a number, a time, an amount of data or a rate");
                None
            }
        }
    }

    /// A number of this dimension. Zero without a unit has every dimension.
    fn of(&mut self, ast: &Ast, wanted: Dimension) -> Option<Node> {
        let (node, found) = self.number(ast)?;
        if found == wanted || is_zero(&node, found) {
            return Some(node);
        }
        self.add(ast, format!("is {found}, not {wanted}"), String::new());
        None
    }

    fn any(&mut self, ast: &Ast) -> Option<Typed> {
        match &ast.shape {
            Shape::Quantity(digits, unit) => self.quantity(ast, digits, *unit),
            Shape::Truth(on) => Some((Node::Constant(if *on { 1.0 } else { 0.0 }), Type::Truth)),
            Shape::Word(_) => {
                self.add(ast, "is a word without a variable", "a comparison such as `flow.phase == 'recovery'`");
                None
            }
            Shape::Path(path) => self.path(ast, path),
            Shape::Not(part) => Some((Node::Not(Box::new(self.truth(part)?)), Type::Truth)),
            Shape::Minus(part) => {
                let (node, dimension) = self.number(part)?;
                Some((Node::Minus(Box::new(node)), Type::Number(dimension)))
            }
            Shape::All(parts) => Some((Node::All(self.truths(parts)?), Type::Truth)),
            Shape::Any(parts) => Some((Node::Any(self.truths(parts)?), Type::Truth)),
            Shape::Compare(sign, left, right) => self.compare(ast, *sign, left, right),
            Shape::Arithmetic(sign, left, right) => self.arithmetic(ast, *sign, left, right),
            Shape::Call(name, arguments) => self.call(ast, name, arguments),
        }
    }

    /// All of them are checked, even if one is wrong.
    fn truths(&mut self, parts: &[Ast]) -> Option<Vec<Node>> {
        let found: Vec<Option<Node>> = parts.iter().map(|part| self.truth(part)).collect();
        found.into_iter().collect()
    }

    fn quantity(&mut self, ast: &Ast, digits: &str, unit: Option<&'static Unit>) -> Option<Typed> {
        let Some(value) = Unit::convert(unit, digits).filter(|value| value.is_finite()) else {
            self.add(ast, "is too large", "a number below 1e300");
            return None;
        };
        let dimension = unit.map_or(Dimension::NUMBER, |unit| unit.dimension);
        let node = Node::Constant(value);
        if !unit.is_some_and(|unit| unit.segments) {
            return Some((node, Type::Number(dimension)));
        }
        let smss = Node::Variable(self.of_flow(self.words.under_test, FlowField::Smss));
        Some((Node::Arithmetic(Operation::Times, Box::new(node), Box::new(smss)), Type::Number(dimension)))
    }

    fn path(&mut self, ast: &Ast, path: &Path) -> Option<Typed> {
        match resolve(path, ast.column.0, self.words) {
            Ok(found) => {
                let mut variable = found.variable;
                if let (true, Some(flow)) = (found.in_segments, found.flow) {
                    variable.segment = Some(self.of_flow(flow, FlowField::Smss));
                }
                let kind = variable.kind.clone();
                if variable.source == Source::Time {
                    return Some((Node::Time, kind));
                }
                Some((Node::Variable(self.intern(variable)), kind))
            }
            Err(error) => {
                self.errors.push(error);
                None
            }
        }
    }

    fn compare(&mut self, ast: &Ast, sign: Comparison, left: &Ast, right: &Ast) -> Option<Typed> {
        if let Some(found) = self.words_of(left, right).or_else(|| self.words_of(right, left)) {
            let equality = matches!(sign, Comparison::Equal | Comparison::Unequal);
            if !equality {
                self.add(ast, "puts words in an order", "`==` and `!=`");
                return None;
            }
            let (a, b) = found?;
            return Some((Node::Compare(sign, Box::new(a), Box::new(b)), Type::Truth));
        }
        let (a, b) = (self.any(left), self.any(right));
        let ((a, of_a), (b, of_b)) = (a?, b?);
        let fits = match (&of_a, &of_b) {
            (Type::Number(x), Type::Number(y)) => x == y || is_zero(&a, *x) || is_zero(&b, *y),
            (Type::Truth, Type::Truth) => matches!(sign, Comparison::Equal | Comparison::Unequal),
            (Type::Word(x), Type::Word(y)) => x == y && matches!(sign, Comparison::Equal | Comparison::Unequal),
            _ => false,
        };
        if !fits {
            self.add(ast, format!("compares {of_a} with {of_b}"), "two values of one type");
            return None;
        }
        Some((Node::Compare(sign, Box::new(a), Box::new(b)), Type::Truth))
    }

    /// A comparison with a word in quotes: `None` if `word` is none, `Some(None)` if it is wrong.
    fn words_of(&mut self, other: &Ast, word: &Ast) -> Option<Option<(Node, Node)>> {
        let Shape::Word(text) = &word.shape else { return None };
        if matches!(other.shape, Shape::Word(_)) {
            return None;
        }
        let Some((node, kind)) = self.any(other) else { return Some(None) };
        let Type::Word(words) = kind else {
            self.add(other, format!("is {kind}, and cannot be compared with a word"), String::new());
            return Some(None);
        };
        let exact = words.iter().position(|known| known == text);
        let Some(at) = exact.or_else(|| words.iter().position(|known| known.eq_ignore_ascii_case(text))) else {
            let allowed = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(", ");
            let reason = format!("is no value of `{other}`");
            let error = ExpressionError::new(word.column.0, Cause::Unknown, text, reason, allowed);
            self.errors.push(error.known(words.iter()));
            return Some(None);
        };
        Some(Some((node, Node::Constant(at as f64))))
    }

    fn arithmetic(&mut self, ast: &Ast, sign: Operation, left: &Ast, right: &Ast) -> Option<Typed> {
        let (a, b) = (self.number(left), self.number(right));
        let ((a, of_a), (b, of_b)) = (a?, b?);
        let dimension = match sign {
            Operation::Plus | Operation::Minus if of_a == of_b || is_zero(&b, of_b) => Some(of_a),
            Operation::Plus | Operation::Minus if is_zero(&a, of_a) => Some(of_b),
            Operation::Plus | Operation::Minus => {
                let verb = if sign == Operation::Plus { "adds" } else { "subtracts" };
                let text = if sign == Operation::Plus {
                    format!("{verb} {of_b} to {of_a}")
                } else {
                    format!("{verb} {of_b} from {of_a}")
                };
                self.add(ast, text, "two values of one type");
                return None;
            }
            Operation::Times => of_a.times(of_b),
            Operation::Over => of_a.over(of_b),
        };
        let Some(dimension) = dimension else {
            self.add(ast, "has too high a power of data or time", "powers up to 127");
            return None;
        };
        Some((Node::Arithmetic(sign, Box::new(a), Box::new(b)), Type::Number(dimension)))
    }
}

/// Whether a number is zero without a unit, which has every dimension.
fn is_zero(node: &Node, dimension: Dimension) -> bool {
    dimension == Dimension::NUMBER && matches!(node, Node::Constant(value) if *value == 0.0)
}

/// The text of a part for a message.
fn shortened(ast: &Ast) -> String {
    let text = ast.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text,
    }
}
