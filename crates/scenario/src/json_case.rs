//! Test cases and what came of them as JSON.

use narrows_timeline::{Case, Dimension, ExpectationOutcome, Outcome, Series, Shown, StepOutcome, Type};
use narrows_units::Instant;
use serde_json::{Value, json};

/// Returns a case as JSON: `flow`, `source`, `open`, `cc`, `bottleneck` (a link's name, or null), `grid` (`rate_bps`,
/// `rtt_ns` and `buffer_bdp`, lists, empty for the file's own), `steps` (`name`, `line`, `what`) and `expectations`
/// (`name`, `line`, `kind`, `text`, `what`).
#[must_use]
pub fn case_json(case: &Case) -> Value {
    let steps: Vec<Value> = case
        .steps
        .iter()
        .map(|step| json!({ "name": step.name, "line": step.line.0, "what": step.what(case) }))
        .collect();
    let expectations: Vec<Value> = case
        .expectations
        .iter()
        .map(|expectation| {
            json!({
                "name": expectation.name,
                "line": expectation.line.0,
                "kind": expectation.quantifier.word(),
                "text": expectation.expression.text,
                "what": expectation.what(case),
            })
        })
        .collect();
    json!({
        "flow": &*case.flow_name,
        "source": case.source,
        "open": case.open,
        "cc": case.controls,
        "bottleneck": case.bottleneck.as_deref(),
        "grid": {
            "rate_bps": case.grid.rates.iter().map(|rate| rate.as_bps()).collect::<Vec<_>>(),
            "rtt_ns": case.grid.rtts.iter().map(|time| time.as_nanos()).collect::<Vec<_>>(),
            "buffer_bdp": case.grid.buffers,
        },
        "steps": steps,
        "expectations": expectations,
    })
}

/// Returns what came of a case in one run as JSON: `flow`, `ended_s`, `passed`, `steps` (`name`, `line`, `what`,
/// `armed_s`, `happened_s`, `values`, `reason`) and `expectations` (`name`, `line`, `kind`, `text`, `what`, `verdict`,
/// `from_s`, `to_s`, `decided_s`, `looks`, `values`, `reason`). Times are seconds since the start of the run, null for
/// never. `values` are lists of `text`, `value` (null for none), `unit` and `shown`.
#[must_use]
pub fn outcome_json(case: &Case, outcome: &Outcome) -> Value {
    let about = case_json(case);
    let rows = |key: &str| about[key].as_array().cloned().unwrap_or_default();
    let steps: Vec<Value> =
        rows("steps").into_iter().zip(&outcome.steps).map(|(row, found)| joined(row, step(found))).collect();
    let expectations: Vec<Value> = rows("expectations")
        .into_iter()
        .zip(&outcome.expectations)
        .map(|(row, found)| joined(row, expectation(found)))
        .collect();
    json!({
        "flow": &*case.flow_name,
        "ended_s": outcome.ended.as_secs_f64(),
        "passed": outcome.passed(),
        "steps": steps,
        "expectations": expectations,
    })
}

/// Returns the recorded variables of a case as JSON: `time_s`, the times of the looks in seconds since the start of the
/// run, and `variables`: `text`, `unit` (empty for a plain number), `words` of the values 0, 1, 2 .. (or empty), and
/// `values` by look, null for none.
#[must_use]
pub fn series_json(case: &Case, series: &Series) -> Value {
    let variables: Vec<Value> = case
        .variables
        .iter()
        .zip(&series.columns)
        .map(|(variable, column)| {
            let (unit, factor) = match variable.kind {
                Type::Number(Dimension::DATA) => ("bytes", 1.0),
                Type::Number(Dimension::RATE) => ("bit/s", 8.0),
                Type::Number(Dimension::TIME) => ("s", 1.0),
                Type::Number(_) | Type::Truth | Type::Word(_) => ("", 1.0),
            };
            let words = match &variable.kind {
                Type::Word(words) => words.to_vec(),
                Type::Truth => vec!["false".to_owned(), "true".to_owned()],
                Type::Number(_) => Vec::new(),
            };
            let values: Vec<Option<f64>> =
                column.iter().map(|value| value.is_finite().then_some(value * factor)).collect();
            json!({ "text": variable.name, "unit": unit, "words": words, "values": values })
        })
        .collect();
    json!({ "time_s": series.times.iter().map(|at| at.as_secs_f64()).collect::<Vec<_>>(), "variables": variables })
}

fn joined(mut row: Value, found: Value) -> Value {
    if let (Value::Object(row), Value::Object(found)) = (&mut row, found) {
        row.extend(found);
    }
    row
}

fn seconds(at: Option<Instant>) -> Option<f64> {
    at.map(Instant::as_secs_f64)
}

fn step(found: &StepOutcome) -> Value {
    json!({
        "armed_s": seconds(found.armed),
        "happened_s": seconds(found.happened),
        "values": values(&found.values),
        "reason": found.reason,
    })
}

fn expectation(found: &ExpectationOutcome) -> Value {
    json!({
        "verdict": found.verdict.words(),
        "from_s": seconds(found.from),
        "to_s": seconds(found.to),
        "decided_s": seconds(found.decided),
        "looks": found.looks,
        "values": values(&found.values),
        "reason": found.reason,
    })
}

fn values(list: &[Shown]) -> Vec<Value> {
    let value = |of: &Shown| {
        let number = if of.value.is_finite() { json!(of.value) } else { Value::Null };
        json!({ "text": of.text, "value": number, "unit": of.unit, "shown": of.shown })
    };
    list.iter().map(value).collect()
}
