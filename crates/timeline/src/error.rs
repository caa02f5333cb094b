//! What is wrong with an expression.

use thiserror::Error;

/// A fault of an expression.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", self.message())]
pub struct ExpressionError {
    /// Column of the fault in the expression, from 1, in characters.
    pub column: usize,
    /// Which kind of fault it is.
    pub cause: Cause,
    /// The faulty part as written; empty where the reason is enough.
    pub value: String,
    /// The fault as a predicate, such as `is not a unit`.
    pub reason: String,
    /// What is allowed; empty if the reason is enough.
    pub allowed: String,
    /// Names that exist where this one does not, so that a caller can suggest the nearest.
    pub known: Vec<String>,
}

/// Kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The text is no expression.
    Syntax,
    /// A name stands for nothing.
    Unknown,
    /// The scenario has no such flow or link.
    Absent,
    /// The congestion control of a flow has no such variable: another control may have it.
    NotOfControl,
    /// The types of its parts do not fit.
    Type,
}

impl ExpressionError {
    pub(crate) fn new(
        column: usize,
        cause: Cause,
        value: impl Into<String>,
        reason: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Self {
        Self { column, cause, value: value.into(), reason: reason.into(), allowed: allowed.into(), known: Vec::new() }
    }

    pub(crate) fn known(self, known: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { known: known.into_iter().map(Into::into).collect(), ..self }
    }

    fn message(&self) -> String {
        let value = if self.value.is_empty() { String::new() } else { format!("`{}` ", self.value) };
        let allowed = if self.allowed.is_empty() { String::new() } else { format!("; allowed: {}", self.allowed) };
        format!("column {}: {value}{}{allowed}", self.column, self.reason)
    }
}
