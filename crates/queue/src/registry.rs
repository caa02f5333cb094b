//! The registry: one row per queue discipline.
//!
//! A row describes the discipline (parameters, observable variables, documentation) and builds its queues. Scenario
//! files, the JSON Schema, the documents and both worlds read the row; no other place knows a discipline's name.

use crate::{Limit, Queue};
use core::fmt;
use narrows_rng::Stream;

pub use narrows_settings::queue::{Amount, Broken, Discipline, Kind, Param, Params, Value, Word, free};

/// A queue discipline.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// What scenario files and users see of it.
    pub about: Discipline,
    /// Builds a queue from complete parameters that [`Discipline::fit`] has accepted.
    pub build: fn(Setup<'_>) -> Box<dyn Queue>,
}

/// What a queue is built from.
#[derive(Debug)]
pub struct Setup<'a> {
    /// The limit.
    pub limit: Limit,
    /// All parameters of the row, in its units.
    pub params: &'a Params,
    /// Random numbers of this queue alone; otherwise another queue's arrivals would shift its drops.
    pub chance: Stream,
}

/// Why a queue cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildError {
    /// No row has this name.
    Unknown {
        /// The name.
        name: String,
        /// Names that exist.
        allowed: String,
    },
    /// A parameter is unknown or has a value of another kind.
    Param {
        /// The discipline.
        queue: &'static str,
        /// The parameter.
        name: String,
        /// Parameters that exist.
        allowed: String,
    },
    /// The parameters break a rule of the discipline.
    Broken {
        /// The discipline.
        queue: &'static str,
        /// The rule.
        rule: Broken,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name, allowed } => write!(f, "queue {name:?} is unknown; allowed: {allowed}"),
            Self::Param { queue, name, allowed } => {
                write!(f, "queue {queue}: {name} is no parameter of this kind; allowed: {allowed}")
            }
            Self::Broken { queue, rule } => write!(f, "queue {queue}: {rule}"),
        }
    }
}

impl core::error::Error for BuildError {}

impl Row {
    /// Builds an empty queue. Parameters that are not given have their defaults.
    ///
    /// # Errors
    /// [`BuildError`]: a parameter is unknown or of another kind, or a rule of the discipline is broken.
    pub fn queue(&self, limit: Limit, given: &Params, chance: Stream) -> Result<Box<dyn Queue>, BuildError> {
        let queue = self.about.name;
        let mut params = Params::defaults(self.about.params);
        for (name, value) in given.iter() {
            let kind = self.about.param(name).map(|param| param.kind.default());
            if kind.is_none_or(|default| core::mem::discriminant::<Value>(&default) != core::mem::discriminant(&value))
            {
                let names: Vec<_> = self.about.params.iter().map(|param| param.name).collect();
                return Err(BuildError::Param { queue, name: name.to_owned(), allowed: names.join(", ") });
            }
            params.set(name, value);
        }
        (self.about.fit)(&mut params, limit).map_err(|rule| BuildError::Broken { queue, rule })?;
        Ok((self.build)(Setup { limit, params: &params, chance }))
    }
}

/// All queue disciplines, in the order they are shown. The first is the default of scenario files.
#[must_use]
pub fn registry() -> &'static [&'static Row] {
    const ROWS: &[&Row] = &[
        &crate::droptail::ROW,
        &crate::red::ROW,
        &crate::codel::ROW,
        &crate::fq_codel::ROW,
        &crate::pie::ROW,
        &crate::fq_pie::ROW,
        &crate::cobalt::ROW,
        &crate::cake::ROW,
        &crate::dualpi2::ROW,
        &crate::prio::ROW,
        &crate::drr::ROW,
        &crate::sfq::ROW,
        &crate::fq::ROW,
        &crate::tbf::ROW,
        &crate::policer::ROW,
    ];
    ROWS
}

/// The registry's rows, and further rows of the caller.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disciplines {
    own: &'static [&'static Row],
}

impl Disciplines {
    /// The registry and `own`. If names are equal, the registry's row takes precedence.
    #[must_use]
    pub const fn with(own: &'static [&'static Row]) -> Self {
        Self { own }
    }

    /// All rows, the registry's first.
    pub fn rows(self) -> impl Iterator<Item = &'static Row> {
        registry().iter().chain(self.own).copied()
    }

    /// The row of this name.
    ///
    /// # Errors
    /// [`BuildError::Unknown`]: there is none.
    pub fn find(self, name: &str) -> Result<&'static Row, BuildError> {
        self.rows().find(|row| row.about.name == name).ok_or_else(|| BuildError::Unknown {
            name: name.to_owned(),
            allowed: self.rows().map(|row| row.about.name).collect::<Vec<_>>().join(", "),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::float_cmp)]
mod tests {
    use super::*;
    use narrows_units::{Packets, Probability};

    const LIMIT: Limit = Limit::Packets(Packets::new(100));

    fn chance() -> Stream {
        Stream::new(1, 0, "test", "queue")
    }

    #[test]
    fn every_row_builds_with_its_defaults() {
        for row in registry() {
            let queue = row.queue(LIMIT, &Params::default(), chance()).unwrap();
            assert_eq!(queue.view().limit, LIMIT, "{}", row.about.name);
        }
    }

    #[test]
    fn every_row_reports_the_variables_that_it_declares() {
        for row in registry() {
            let mut seen = Vec::new();
            let queue = row.queue(LIMIT, &Params::default(), chance()).unwrap();
            queue.state(&mut |name, _| seen.push(name));
            let declared: Vec<_> = row.about.variables.iter().map(|variable| variable.name).collect();
            assert_eq!(seen, declared, "{}", row.about.name);
            assert!(row.about.variables.iter().all(|variable| variable.doc.ends_with('.')), "{}", row.about.name);
        }
    }

    #[test]
    fn defaults_lie_in_their_ranges() {
        for param in registry().iter().flat_map(|row| row.about.params) {
            let inside = match param.kind {
                Kind::Switch { .. } => true,
                Kind::Integer { default, min, max, .. } => (min..=max).contains(&default),
                Kind::Number { default, min, max, .. } => (min..=max).contains(&default),
                Kind::Probability { default } => Probability::new(default).is_ok(),
                Kind::Time { default, min, max } => (min..=max).contains(&default),
                Kind::Rate { default, min, max } => (min..=max).contains(&default),
                Kind::Size { default, min, max } => (min..=max).contains(&default),
                Kind::Amount { default, .. } => (0.0..=1e9).contains(&default.number()),
                Kind::Choice { default, words } => words.iter().any(|word| word.0 == default),
            };
            assert!(inside, "{}", param.name);
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = registry().iter().map(|row| row.about.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), registry().len());
        for row in registry() {
            let mut params: Vec<_> = row.about.params.iter().map(|p| p.name).collect();
            params.sort_unstable();
            params.dedup();
            assert_eq!(params.len(), row.about.params.len(), "{}", row.about.name);
            assert!(!params.contains(&"kind") && !params.contains(&"limit"), "{}", row.about.name);
        }
    }

    #[test]
    fn what_cannot_be_built_says_why() {
        let error = Disciplines::default().find("foo").unwrap_err().to_string();
        assert!(error.starts_with("queue \"foo\" is unknown; allowed: droptail, "), "{error}");
        let red = Disciplines::default().find("red").unwrap();
        let refused = |name, value| {
            let mut params = Params::default();
            params.set(name, value);
            red.queue(LIMIT, &params, chance()).unwrap_err().to_string()
        };
        assert!(refused("taste", Value::Number(1.0)).starts_with("queue red: taste is no parameter of this kind"));
        assert!(refused("weight", Value::Switch(true)).starts_with("queue red: weight is no parameter of this kind"));
        let above = refused("min_threshold", Value::Amount(Amount::Packets(20.0)));
        assert_eq!(above, "queue red: min_threshold is not below max_threshold; allowed: less than 15 packets");
    }
}
