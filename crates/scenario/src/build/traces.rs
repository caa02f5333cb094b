//! The rate of a link direction: a rate, or a trace that is read once for all directions that name it.

use super::Build;
use crate::check::Path;
use crate::problem::{Place, Problem, ProblemKind};
use crate::record::{Item, Layers, Record, Value};
use crate::trace::{Deliveries, Refusal, Trace, parse_content, read};
use crate::types::Change;
use narrows_units::Rate;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Traces by file, `repeat` and `content` as written; `None` for those that are wrong.
pub(super) type Traces = BTreeMap<(String, Option<bool>, Option<String>), Option<Arc<Trace>>>;

/// A table and its path.
type At<'a> = (&'a Record, &'a Path<'a>);

impl Build<'_> {
    /// Returns the rate of a direction, and the trace that it follows. `own` has the settings of the direction alone.
    pub(super) fn rate(
        &mut self,
        layers: &Layers<'_>,
        own: Option<At<'_>>,
        link: At<'_>,
        changes: Option<&[Change]>,
    ) -> Option<(Rate, Option<Arc<Trace>>)> {
        let (_, path) = own.filter(|(own, _)| own.given("rate").is_some()).unwrap_or(link);
        let item = layers.given("rate")?;
        let Value::Table(table) = &item.value else { return Some((layers.get("rate")?, None)) };
        let at = Path::Key(path, "rate");
        let trace = self.trace(table, &at)?;
        if changes.is_some_and(|changes| changes.iter().any(|change| change.rate.is_some())) {
            let reason = "is given beside changes of the rate";
            self.report.add(item.place, at, &item.shown, reason, "a trace, or a rate with changes");
            return None;
        }
        Some((trace.mean_rate(), Some(trace)))
    }

    /// Returns the trace of a table; reports its problems the first time.
    fn trace(&mut self, table: &Record, path: &Path<'_>) -> Option<Arc<Trace>> {
        let file = table.given("trace")?;
        let key = (table.get("trace")?, table.get("repeat"), table.get("content"));
        if let Some(known) = self.traces.get(&key) {
            return known.clone();
        }
        let (name, repeat, content) = &key;
        let deliveries = match (content, table.given("content")) {
            (Some(content), Some(item)) => {
                let field = Path::Key(path, "content").to_string();
                parse_content(content).map_err(|refusal| self.refuse(item, field, None, refusal)).ok()
            }
            _ => self.open(name, file, &Path::Key(path, "trace"), read),
        };
        let trace = deliveries.map(|deliveries| {
            let repeat = repeat.unwrap_or(matches!(deliveries, Deliveries::Opportunities(_)));
            Arc::new(Trace { name: name.clone(), repeat, deliveries })
        });
        let trace = trace.filter(|trace| self.can_repeat(trace, table, path));
        self.traces.insert(key, trace.clone());
        trace
    }

    /// Reports why rows are refused, with the line of their file if they are in one.
    pub(super) fn refuse(&mut self, item: &Item, field: String, file: Option<String>, refusal: Refusal) {
        let Refusal { line, value, reason, allowed } = refusal;
        match file {
            Some(path) => {
                let problem =
                    Problem { kind: ProblemKind::Value, path, line, column: None, field, value, reason, allowed };
                self.report.add_of_file(item.place, problem);
            }
            None => self.report.add(item.place, field, value, reason, allowed),
        }
    }

    /// Whether a trace that is to repeat has a period in which something is sent.
    fn can_repeat(&mut self, trace: &Trace, table: &Record, path: &Path<'_>) -> bool {
        let Deliveries::Rates(steps) = &trace.deliveries else { return true };
        let before_last = steps.split_last().map_or(&steps[..], |(_, before)| before);
        if !trace.repeat || before_last.iter().any(|step| !step.rate.is_zero()) {
            return true;
        }
        let (place, shown) = table.given("repeat").map_or((Place::Nowhere, "true"), |item| (item.place, &item.shown));
        let reason = "repeats a time in which nothing is sent: the last row is the end of a period";
        let allowed = "false, or a row with a rate above zero before the last one";
        self.report.add(place, Path::Key(path, "repeat"), shown, reason, allowed);
        false
    }
}
