//! From text to [`Ast`].

use crate::ast::{Ast, Column, Comparison, Operation, Path, Shape};
use crate::error::{Cause, ExpressionError};
use crate::unit::{UNITS, Unit};
use pest::Parser;
use pest::iterators::Pair;

#[derive(pest_derive::Parser)]
#[grammar = "grammar.pest"]
struct Grammar;

/// Longest text of an expression, in bytes.
pub const LONGEST: usize = 2000;

/// Deepest nesting of parentheses.
pub const DEEPEST: usize = 40;

/// Most operators and functions of an expression. They bound how deep it is.
pub const MOST_OPERATORS: usize = 100;

/// Reads an expression.
///
/// # Errors
/// The first fault of syntax: its column, and what is allowed there.
pub fn parse(text: &str) -> Result<Ast, ExpressionError> {
    if text.trim().is_empty() {
        return Err(ExpressionError::new(1, Cause::Syntax, "", "is empty", "a condition such as `flow.cwnd > 30 kB`"));
    }
    if text.len() > LONGEST {
        let reason = format!("has {} bytes", text.len());
        return Err(ExpressionError::new(1, Cause::Syntax, "", reason, format!("at most {LONGEST} bytes")));
    }
    if let Some(at) = too_deep(text) {
        let allowed = format!("at most {DEEPEST} parentheses inside each other");
        return Err(ExpressionError::new(column(text, at), Cause::Syntax, "", "is nested too deeply", allowed));
    }
    let mut pairs = Grammar::parse(Rule::expression, text).map_err(|error| syntax(text, &error))?;
    let operators = pairs.clone().flatten().filter(|pair| is_operator(pair.as_rule())).count();
    if operators > MOST_OPERATORS {
        let (reason, allowed) = (format!("has {operators} operators"), format!("at most {MOST_OPERATORS}"));
        return Err(ExpressionError::new(1, Cause::Syntax, "", reason, allowed));
    }
    let whole = pairs.next().and_then(|pair| pair.into_inner().next());
    whole.map_or_else(|| Err(missing(1)), |pair| any(text, pair))
}

const fn is_operator(rule: Rule) -> bool {
    matches!(
        rule,
        Rule::or
            | Rule::and
            | Rule::not
            | Rule::minus
            | Rule::comparator
            | Rule::additive
            | Rule::multiplicative
            | Rule::call
    )
}

/// Byte offset of the first parenthesis that is too deep.
fn too_deep(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    text.bytes().enumerate().find_map(|(at, c)| {
        match c {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        (depth > DEEPEST).then_some(at)
    })
}

fn column(text: &str, offset: usize) -> usize {
    text.get(..offset).map_or(0, |before| before.chars().count()) + 1
}

/// A fault that the grammar makes impossible.
fn missing(column: usize) -> ExpressionError {
    ExpressionError::new(column, Cause::Syntax, "", "is incomplete", "a condition such as `flow.cwnd > 30 kB`")
}

fn syntax(text: &str, error: &pest::error::Error<Rule>) -> ExpressionError {
    let at = match error.location {
        pest::error::InputLocation::Pos(at) | pest::error::InputLocation::Span((at, _)) => at,
    };
    let rest = text.get(at..).unwrap_or_default();
    let found: String = if rest.trim().is_empty() {
        String::new()
    } else {
        rest.split_whitespace().next().unwrap_or_default().chars().take(20).collect()
    };
    let reason = match () {
        () if found.is_empty() => "ends too early".to_owned(),
        () if rest.trim_start().starts_with("= ") || found == "=" => {
            "`=` is no comparison, did you mean `==`?".to_owned()
        }
        () if found.starts_with("&&") => "`&&` is no operator, did you mean `and`?".to_owned(),
        () if found.starts_with("||") => "`||` is no operator, did you mean `or`?".to_owned(),
        () if found.starts_with('!') => "`!` is no operator, did you mean `not`?".to_owned(),
        () if found.starts_with('"') => "words stand in single quotes".to_owned(),
        () => format!("`{found}` is not expected here"),
    };
    ExpressionError::new(column(text, at), Cause::Syntax, "", reason, expected(error))
}

/// What the grammar would take, in words of the language.
fn expected(error: &pest::error::Error<Rule>) -> String {
    let pest::error::ErrorVariant::ParsingError { positives, .. } = &error.variant else { return String::new() };
    let mut words: Vec<&str> = Vec::new();
    for rule in positives {
        let word = match rule {
            Rule::or | Rule::and => "`and`, `or`",
            Rule::comparator => "a comparison",
            Rule::additive | Rule::multiplicative => "+ - * /",
            Rule::EOI => "the end",
            Rule::text | Rule::word => "a word in single quotes",
            Rule::unit => "a unit",
            Rule::name => "a name",
            Rule::quantity | Rule::number | Rule::primary | Rule::truth | Rule::call | Rule::path | Rule::minus => {
                "a value"
            }
            Rule::not => "`not`",
            _ => "an expression",
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words.join(", ")
}

fn any(text: &str, pair: Pair<'_, Rule>) -> Result<Ast, ExpressionError> {
    several(text, pair, Rule::or, all, Shape::Any)
}

fn all(text: &str, pair: Pair<'_, Rule>) -> Result<Ast, ExpressionError> {
    several(text, pair, Rule::and, negated, Shape::All)
}

type Part = fn(&str, Pair<'_, Rule>) -> Result<Ast, ExpressionError>;

/// Parts joined by one operator; a single one stands for itself.
fn several(
    text: &str,
    pair: Pair<'_, Rule>,
    operator: Rule,
    part: Part,
    shape: fn(Vec<Ast>) -> Shape,
) -> Result<Ast, ExpressionError> {
    let at = column(text, pair.as_span().start());
    let parts = pair.into_inner().filter(|inner| inner.as_rule() != operator);
    let mut parts = parts.map(|inner| part(text, inner)).collect::<Result<Vec<_>, _>>()?;
    match parts.len() {
        1 => parts.pop().ok_or_else(|| missing(at)),
        _ => Ok(Ast { column: Column(at), shape: shape(parts) }),
    }
}

fn negated(text: &str, pair: Pair<'_, Rule>) -> Result<Ast, ExpressionError> {
    prefixed(text, pair, Rule::not, comparison, Shape::Not)
}

fn signed(text: &str, pair: Pair<'_, Rule>) -> Result<Ast, ExpressionError> {
    prefixed(text, pair, Rule::minus, primary, Shape::Minus)
}

/// A part behind any number of one prefix.
fn prefixed(
    text: &str,
    pair: Pair<'_, Rule>,
    prefix: Rule,
    part: Part,
    shape: fn(Box<Ast>) -> Shape,
) -> Result<Ast, ExpressionError> {
    let at = column(text, pair.as_span().start());
    let mut columns = Vec::new();
    for inner in pair.into_inner() {
        if inner.as_rule() == prefix {
            columns.push(column(text, inner.as_span().start()));
            continue;
        }
        let found = part(text, inner)?;
        return Ok(columns
            .iter()
            .rev()
            .fold(found, |ast, at| Ast { column: Column(*at), shape: shape(Box::new(ast)) }));
    }
    Err(missing(at))
}

fn comparison(text: &str, pair: Pair<'_, Rule>) -> Result<Ast, ExpressionError> {
    let at = column(text, pair.as_span().start());
    let mut inner = pair.into_inner();
    let left = sum(text, inner.next().ok_or_else(|| missing(at))?)?;
    let Some(sign) = inner.next() else { return Ok(left) };
    let right = sum(text, inner.next().ok_or_else(|| missing(at))?)?;
    if let Some(second) = inner.next() {
        let at = column(text, second.as_span().start());
        let allowed = "one comparison at a time, such as `x > 1 and x < 2` or `between(x, 1, 2)`";
        return Err(ExpressionError::new(at, Cause::Syntax, second.as_str(), "is a second comparison", allowed));
    }
    let found = Comparison::ALL.iter().find(|row| row.1 == sign.as_str()).ok_or_else(|| missing(at))?;
    Ok(Ast { column: Column(at), shape: Shape::Compare(found.0, Box::new(left), Box::new(right)) })
}

fn sum(text: &str, pair: Pair<'_, Rule>) -> Result<Ast, ExpressionError> {
    chain(text, pair, product)
}

fn product(text: &str, pair: Pair<'_, Rule>) -> Result<Ast, ExpressionError> {
    chain(text, pair, signed)
}

/// Operands of arithmetic, from left to right.
fn chain(text: &str, pair: Pair<'_, Rule>, part: Part) -> Result<Ast, ExpressionError> {
    let at = column(text, pair.as_span().start());
    let mut inner = pair.into_inner();
    let mut left = part(text, inner.next().ok_or_else(|| missing(at))?)?;
    while let (Some(sign), Some(right)) = (inner.next(), inner.next()) {
        let found = Operation::ALL.iter().find(|row| row.1 == sign.as_str()).ok_or_else(|| missing(at))?;
        let right = part(text, right)?;
        left = Ast { column: Column(at), shape: Shape::Arithmetic(found.0, Box::new(left), Box::new(right)) };
    }
    Ok(left)
}

fn primary(text: &str, pair: Pair<'_, Rule>) -> Result<Ast, ExpressionError> {
    let at = column(text, pair.as_span().start());
    let inner = pair.into_inner().next().ok_or_else(|| missing(at))?;
    let shape = match inner.as_rule() {
        Rule::any => return any(text, inner),
        Rule::quantity => quantity(text, inner)?,
        Rule::word => Shape::Word(quoted(inner)),
        Rule::truth => Shape::Truth(inner.as_str() == "true"),
        Rule::call => call(text, inner)?,
        _ => Shape::Path(path(inner)),
    };
    Ok(Ast { column: Column(at), shape })
}

fn quoted(pair: Pair<'_, Rule>) -> String {
    pair.into_inner().next().map_or_else(String::new, |inner| inner.as_str().to_owned())
}

fn quantity(text: &str, pair: Pair<'_, Rule>) -> Result<Shape, ExpressionError> {
    let mut inner = pair.into_inner();
    let number = inner.next().map_or_else(String::new, |pair| pair.as_str().to_owned());
    let Some(unit) = inner.next() else { return Ok(Shape::Quantity(number, None)) };
    let known = || UNITS.iter().map(Unit::name);
    match Unit::find(unit.as_str()) {
        Some(unit) => Ok(Shape::Quantity(number, Some(unit))),
        None => {
            let at = column(text, unit.as_span().start());
            let allowed = known().collect::<Vec<_>>().join(", ");
            Err(ExpressionError::new(at, Cause::Syntax, unit.as_str(), "is not a unit", allowed).known(known()))
        }
    }
}

fn call(text: &str, pair: Pair<'_, Rule>) -> Result<Shape, ExpressionError> {
    let mut inner = pair.into_inner();
    let name = inner.next().map_or_else(String::new, |pair| pair.as_str().to_owned());
    Ok(Shape::Call(name, inner.map(|pair| any(text, pair)).collect::<Result<_, _>>()?))
}

fn path(pair: Pair<'_, Rule>) -> Path {
    let mut found = Path { head: String::new(), index: None, rest: Vec::new() };
    for (position, inner) in pair.into_inner().enumerate() {
        match inner.as_rule() {
            Rule::word => found.index = Some(quoted(inner)),
            _ if position == 0 => inner.as_str().clone_into(&mut found.head),
            _ => found.rest.push(inner.as_str().to_owned()),
        }
    }
    found
}
