//! The registry: one row per algorithm feeds CLI lists, documentation, scenario validation and conformance tests.

use crate::CongestionControl;

/// What a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParamKind {
    /// A number in `unit`, from `min` to `max`.
    Number {
        /// Unit, as shown to users; empty where it has none.
        unit: &'static str,
        /// Value used when none is given.
        default: f64,
        /// Smallest allowed value.
        min: f64,
        /// Largest allowed value.
        max: f64,
    },
    /// One of a few words.
    Choice {
        /// Word used when none is given.
        default: &'static str,
        /// Allowed words.
        allowed: &'static [&'static str],
    },
    /// On or off.
    Switch {
        /// Setting used when none is given.
        default: bool,
    },
}

/// A parameter of an algorithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Param {
    /// Name in scenario files.
    pub name: &'static str,
    /// What it does, in one sentence, with its source.
    pub doc: &'static str,
    /// What it takes.
    pub kind: ParamKind,
}

/// A value given for a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamValue {
    /// For [`ParamKind::Number`].
    Number(f64),
    /// For [`ParamKind::Choice`].
    Choice(String),
    /// For [`ParamKind::Switch`].
    Switch(bool),
}

/// The values given for an algorithm's parameters; what is not given takes its default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Params(Vec<(String, ParamValue)>);

impl Params {
    /// Parameters from name and value pairs; a later pair of the same name wins.
    #[must_use]
    pub fn new(values: Vec<(String, ParamValue)>) -> Self {
        Self(values)
    }

    fn given(&self, name: &str) -> Option<&ParamValue> {
        self.0.iter().rev().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    fn kind(row: &Row, name: &str) -> Option<ParamKind> {
        row.params.iter().find(|p| p.name == name).map(|p| p.kind)
    }

    /// The number for `name`, or the row's default.
    #[must_use]
    pub fn number(&self, row: &Row, name: &str) -> f64 {
        match (self.given(name), Self::kind(row, name)) {
            (Some(ParamValue::Number(v)), Some(ParamKind::Number { min, max, .. })) => v.clamp(min, max),
            (_, Some(ParamKind::Number { default, .. })) => default,
            _ => 0.0,
        }
    }

    /// The word for `name`, or the row's default.
    #[must_use]
    pub fn choice(&self, row: &Row, name: &str) -> &'static str {
        match (self.given(name), Self::kind(row, name)) {
            (Some(ParamValue::Choice(v)), Some(ParamKind::Choice { default, allowed })) => {
                allowed.iter().find(|a| *a == v).copied().unwrap_or(default)
            }
            (_, Some(ParamKind::Choice { default, .. })) => default,
            _ => "",
        }
    }

    /// The setting for `name`, or the row's default.
    #[must_use]
    pub fn switch(&self, row: &Row, name: &str) -> bool {
        match (self.given(name), Self::kind(row, name)) {
            (Some(ParamValue::Switch(v)), _) => *v,
            (_, Some(ParamKind::Switch { default })) => default,
            _ => false,
        }
    }
}

/// An algorithm: what users see of it and how it is built.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Linux's name where there is one; the word in scenario files.
    pub name: &'static str,
    /// Title for people.
    pub title: &'static str,
    /// RFC sections and papers it follows.
    pub sources: &'static [&'static str],
    /// Parameters.
    pub params: &'static [Param],
    /// Builds one from validated parameters.
    pub build: fn(&Params) -> Box<dyn CongestionControl>,
}

/// All algorithms, in the order they are shown.
#[must_use]
pub fn registry() -> &'static [Row] {
    &[]
}

/// The row of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Row> {
    registry().iter().find(|row| row.name == name)
}

/// Builds the algorithm of this name, or `None` where there is none.
#[must_use]
pub fn build(name: &str, params: &Params) -> Option<Box<dyn CongestionControl>> {
    find(name).map(|row| (row.build)(params))
}
