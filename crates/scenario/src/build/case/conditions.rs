//! Conditions in tables: read, and their faults reported at their place in the file.

use super::super::Build;
use super::{At, Frame};
use crate::check::Path;
use crate::problem::{Place, ProblemKind};
use crate::record::Value;
use crate::suggest::hint;
use narrows_timeline::{
    Action, Cause, Expectation, Expression, ExpressionError, Lapse, Scope, Selection, Step, Until, When,
};

impl Build<'_> {
    /// Reads the condition under `key`; `None` if there is none or it is wrong.
    pub(super) fn condition(
        &mut self,
        at: At<'_>,
        key: &str,
        frame: &Frame<'_>,
        scope: &mut Scope<'_>,
    ) -> Option<Expression> {
        let item = at.record.given(key)?;
        let Value::Text(text) = &item.value else { return None };
        match scope.condition(text) {
            Ok(expression) => Some(expression),
            Err(errors) => {
                for error in errors.iter().filter(|error| frame.clean || error.cause != Cause::Absent) {
                    self.refuse_condition((item.place, &Path::Key(&at.path, key)), text, error);
                }
                None
            }
        }
    }

    fn refuse_condition(&mut self, (place, path): (Place, &Path<'_>), text: &str, error: &ExpressionError) {
        let column = error.column;
        let value = match error.value.as_str() {
            "" => format!("the condition at column {column}"),
            value => format!("`{value}` at column {column}"),
        };
        let near = if error.reason.contains("did you mean") {
            String::new()
        } else {
            hint(&error.value, error.known.iter().map(String::as_str))
        };
        let place = match place {
            // The text begins behind its quote.
            Place::File(line, start) if !text.contains('\n') => Place::File(line, start + column),
            place => place,
        };
        let kind = if error.cause == Cause::NotOfControl { ProblemKind::NotOfControl } else { ProblemKind::Value };
        self.report.add_kind(kind, place, path, (value, format!("{}{near}", error.reason), error.allowed.clone()));
    }
}

const fn is_rounds(lapse: Option<Lapse>) -> bool {
    matches!(lapse, Some(Lapse::Rounds(_)))
}

/// Whether a step counts round trips.
pub(super) fn step_counts(step: &Step) -> bool {
    let of_action = |action: &Action| match action {
        Action::Drop { selection: Selection { time, .. }, .. }
        | Action::Mark { selection: Selection { time, .. }, .. } => is_rounds(*time),
        _ => false,
    };
    let later = if let When::Later(lapse) = step.when { Some(lapse) } else { None };
    is_rounds(later) || is_rounds(step.within) || step.actions.iter().any(of_action)
}

/// Whether an expectation counts round trips.
pub(super) const fn counts(expectation: &Expectation) -> bool {
    matches!(expectation.until, Until::Lapse(Lapse::Rounds(_)))
}
