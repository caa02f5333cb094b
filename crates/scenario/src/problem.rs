//! Problems of a scenario file: each names file, line, field, value and what is allowed.

use std::fmt;

/// The place of a value: in the file, or on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// Line and column, both from 1.
    File(usize, usize),
    /// Index of the override.
    Set(usize),
    /// Without a place in the text.
    Nowhere,
}

/// The `path` of problems that come from an override.
pub const SET_PATH: &str = "--set";

/// What a problem is about, for callers that treat one kind in a way of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProblemKind {
    /// A value, a key or a rule among them.
    #[default]
    Value,
    /// A condition of a test case names a variable that the flow's congestion control does not have: the case does not
    /// apply to it.
    NotOfControl,
}

impl ProblemKind {
    /// The word of results: `value` or `not_of_control`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::NotOfControl => "not_of_control",
        }
    }
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What it is about.
    pub kind: ProblemKind,
    /// The file as the caller named it, or `--set`.
    pub path: String,
    /// Line from 1, if the problem has one.
    pub line: Option<usize>,
    /// Column from 1, in characters.
    pub column: Option<usize>,
    /// Path of the field in the scenario, such as `links[0].rate`; empty for the file as a whole.
    pub field: String,
    /// The value as written; empty if there is none.
    pub value: String,
    /// The fault as a predicate, such as `is not a rate`.
    pub reason: String,
    /// Allowed values; empty if the reason is enough.
    pub allowed: String,
}

impl Problem {
    /// Returns the message without the place: field, value, what is wrong, what is allowed.
    #[must_use]
    pub fn message(&self) -> String {
        let mut text = String::new();
        if !self.field.is_empty() {
            text.push_str(&self.field);
            text.push_str(": ");
        }
        if !self.value.is_empty() {
            text.push_str(&self.value);
            text.push(' ');
        }
        text.push_str(&self.reason);
        if !self.allowed.is_empty() {
            text.push_str("; allowed: ");
            text.push_str(&self.allowed);
        }
        text
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.message())
    }
}

/// All problems of a scenario: in line order, then those of overrides, then those without a place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", lines(.0))]
pub struct Problems(pub Vec<Problem>);

fn lines(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}

impl Problems {
    /// Returns the problems, in the same order.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.0.iter()
    }
}

impl<'a> IntoIterator for &'a Problems {
    type Item = &'a Problem;
    type IntoIter = std::slice::Iter<'a, Problem>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// Problems while they are being collected.
#[derive(Debug)]
pub(crate) struct Report {
    path: String,
    found: Vec<(Place, Problem)>,
    warned: Vec<(Place, Problem)>,
}

impl Report {
    pub(crate) fn new(path: &str) -> Self {
        Self { path: path.to_owned(), found: Vec::new(), warned: Vec::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Returns the number of problems.
    pub(crate) fn count(&self) -> usize {
        self.found.len()
    }

    /// Adds a problem.
    pub(crate) fn add(
        &mut self,
        place: Place,
        field: impl fmt::Display,
        value: impl Into<String>,
        reason: impl Into<String>,
        allowed: impl Into<String>,
    ) {
        let problem = self.problem(place, field.to_string(), value.into(), reason.into(), allowed.into());
        self.found.push((place, problem));
    }

    /// Adds a problem of this kind: its value, reason and what is allowed.
    pub(crate) fn add_kind(
        &mut self,
        kind: ProblemKind,
        place: Place,
        field: impl fmt::Display,
        (value, reason, allowed): (String, String, String),
    ) {
        let problem = self.problem(place, field.to_string(), value, reason, allowed);
        self.found.push((place, Problem { kind, ..problem }));
    }

    /// Adds a warning: what is legal, and probably not meant.
    pub(crate) fn warn(
        &mut self,
        place: Place,
        field: impl fmt::Display,
        value: impl Into<String>,
        reason: impl Into<String>,
    ) {
        let warning = self.problem(place, field.to_string(), value.into(), reason.into(), String::new());
        self.warned.push((place, warning));
    }

    fn problem(&self, place: Place, field: String, value: String, reason: String, allowed: String) -> Problem {
        let (path, line, column) = match place {
            Place::File(line, column) => (self.path.clone(), Some(line), Some(column)),
            Place::Set(_) => (SET_PATH.to_owned(), None, None),
            Place::Nowhere => (self.path.clone(), None, None),
        };
        Problem { kind: ProblemKind::Value, path, line, column, field, value, reason, allowed }
    }

    /// Takes the warnings, sorted by place.
    pub(crate) fn take_warnings(&mut self) -> Vec<Problem> {
        self.warned.sort_by_key(|(place, _)| *place);
        self.warned.drain(..).map(|(_, warning)| warning).collect()
    }

    /// Adds a problem of another file that the scenario names at `place`.
    pub(crate) fn add_of_file(&mut self, place: Place, problem: Problem) {
        self.found.push((place, problem));
    }

    /// Returns all problems, sorted by place; problems of one place keep the order in which they were found.
    pub(crate) fn into_problems(mut self) -> Problems {
        self.found.sort_by_key(|(place, _)| *place);
        Problems(self.found.into_iter().map(|(_, problem)| problem).collect())
    }
}
