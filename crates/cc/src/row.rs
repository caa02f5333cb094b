//! What the registry says of one algorithm: its row, and the parameters that the row declares.

use crate::CongestionControl;
use core::fmt;
use narrows_units::Variable;

/// Kind of value that a parameter takes.
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
    /// Kind of value that it takes.
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

/// The values given for an algorithm's parameters; the others take their defaults.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Params {
    given: Vec<(String, ParamValue)>,
    seed: u64,
}

impl Params {
    /// Parameters from name and value pairs; a later pair of the same name wins.
    #[must_use]
    pub fn new(values: Vec<(String, ParamValue)>) -> Self {
        Self { given: values, seed: 0 }
    }

    /// The same parameters with the seed of the algorithm's own random numbers, which is specific to one end of one
    /// flow of one run.
    #[must_use]
    pub fn seeded(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Seed of the algorithm's random numbers; algorithms that draw none ignore it.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The given values in order, for algorithms whose parameters no row describes.
    pub fn given(&self) -> impl Iterator<Item = (&str, &ParamValue)> {
        self.given.iter().map(|(name, value)| (name.as_str(), value))
    }

    fn find(&self, name: &str) -> Option<&ParamValue> {
        self.given.iter().rev().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    fn kind(row: &Row, name: &str) -> Option<ParamKind> {
        row.params.iter().find(|p| p.name == name).map(|p| p.kind)
    }

    /// The number for `name`, or the row's default.
    #[must_use]
    pub fn number(&self, row: &Row, name: &str) -> f64 {
        match (self.find(name), Self::kind(row, name)) {
            (Some(ParamValue::Number(v)), Some(ParamKind::Number { min, max, .. })) if !v.is_nan() => v.clamp(min, max),
            (_, Some(ParamKind::Number { default, .. })) => default,
            _ => 0.0,
        }
    }

    /// The word for `name`, or the row's default.
    #[must_use]
    pub fn choice(&self, row: &Row, name: &str) -> &'static str {
        match (self.find(name), Self::kind(row, name)) {
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
        match (self.find(name), Self::kind(row, name)) {
            (Some(ParamValue::Switch(v)), Some(ParamKind::Switch { .. })) => *v,
            (_, Some(ParamKind::Switch { default })) => default,
            _ => false,
        }
    }
}

/// An agent of ns-2.35.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ns2Agent {
    /// One of its own one-way agents (`Agent/TCP`, `Agent/TCP/Reno`, `Agent/TCP/Vegas` ..).
    Own,
    /// `Agent/TCP/Linux` with Linux's module of 2006 to 2008.
    TcpLinux,
}

/// How an algorithm responds to congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// Not at all: such a flow is unfit for a shared network, and tools should warn.
    Nothing,
    /// Losses, timeouts and ECN echoes reduce the window.
    Reduces,
    /// As [`Reduces`](Self::Reduces), but a timeout restarts from up to the initial window, where RFC 5681, section
    /// 3.1, allows one segment.
    ReducesToInitialWindow,
    /// As [`Reduces`](Self::Reduces), but to an estimate of what the path holds, which may be larger than the window at
    /// the loss (Westwood).
    ReducesToEstimate,
    /// As [`Reduces`](Self::Reduces), but an ACK may add many segments per segment acknowledged, so that slow start
    /// more than doubles the window in a round (Hybla).
    ReducesAndLeaps,
    /// The window follows a model of the path; losses are only one of its inputs (BBR).
    Models,
}

impl Response {
    /// Whether losses, timeouts and ECN echoes reduce the window.
    #[must_use]
    pub fn reduces(self) -> bool {
        matches!(self, Self::Reduces | Self::ReducesToInitialWindow | Self::ReducesToEstimate | Self::ReducesAndLeaps)
    }
}

/// Properties of an algorithm beyond the interface; the conformance suite tests each row for its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    /// What congestion does to the window.
    pub response: Response,
    /// Whether it needs ECN (RFC 3168) with an echo of every mark, as in RFC 8257. A scenario without ECN is refused.
    pub needs_ecn: bool,
    /// Whether it is one for L4S (RFC 9331, section 4): it needs AccECN (RFC 9768) and sends ECT(1). A scenario that
    /// withholds one of the two is refused.
    pub l4s: bool,
    /// Whether windows scale with the SMSS: doubling every byte count in the same events doubles the windows.
    pub scales: bool,
    /// Why its slow start cannot be replaced ([`start`](crate::start)), as the end of a sentence that begins with its
    /// name; `None` if it is the standard one. A scenario that sets another for it is refused.
    pub own_start: Option<&'static str>,
}

/// Why a parameter was refused; `Display` is a sentence with the value given and what is allowed.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamError {
    /// The algorithm has no such parameter.
    Unknown {
        /// The algorithm.
        algorithm: &'static str,
        /// The name given.
        name: String,
        /// Its parameters.
        allowed: &'static [Param],
    },
    /// The value is of another kind than the parameter takes.
    Kind {
        /// The parameter.
        param: &'static Param,
        /// The value given.
        value: ParamValue,
    },
    /// A number outside its range, or NaN; or a word that is none of those allowed.
    Value {
        /// The parameter.
        param: &'static Param,
        /// The value given.
        value: ParamValue,
    },
}

impl fmt::Display for ParamKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number { unit, min, max, .. } => {
                write!(f, "a number from {min} to {max}{}{unit}", if unit.is_empty() { "" } else { " " })
            }
            Self::Choice { allowed, .. } => write!(f, "one of: {}", allowed.join(", ")),
            Self::Switch { .. } => f.write_str("true or false"),
        }
    }
}

impl fmt::Display for ParamValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(v) => write!(f, "{v}"),
            Self::Choice(v) => write!(f, "\"{v}\""),
            Self::Switch(v) => write!(f, "{v}"),
        }
    }
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { algorithm, name, allowed: [] } => {
                write!(f, "{algorithm} has no parameter \"{name}\": it takes none")
            }
            Self::Unknown { algorithm, name, allowed } => {
                write!(f, "{algorithm} has no parameter \"{name}\": allowed are ")?;
                for (i, param) in allowed.iter().enumerate() {
                    write!(f, "{}{}", if i == 0 { "" } else { ", " }, param.name)?;
                }
                Ok(())
            }
            Self::Kind { param, value } | Self::Value { param, value } => {
                write!(f, "{} cannot be {value}: allowed is {}", param.name, param.kind)
            }
        }
    }
}

impl core::error::Error for ParamError {}

impl Row {
    /// Whether `value` may be given for the parameter `name`.
    ///
    /// # Errors
    /// [`ParamError`], naming the value and what is allowed.
    pub fn check(&self, name: &str, value: &ParamValue) -> Result<(), ParamError> {
        let Some(param) = self.params.iter().find(|p| p.name == name) else {
            return Err(ParamError::Unknown { algorithm: self.name, name: name.to_owned(), allowed: self.params });
        };
        let allowed = match (param.kind, value) {
            (ParamKind::Number { min, max, .. }, ParamValue::Number(v)) => (min..=max).contains(v),
            (ParamKind::Choice { allowed, .. }, ParamValue::Choice(v)) => allowed.contains(&v.as_str()),
            (ParamKind::Switch { .. }, ParamValue::Switch(_)) => true,
            _ => return Err(ParamError::Kind { param, value: value.clone() }),
        };
        if allowed { Ok(()) } else { Err(ParamError::Value { param, value: value.clone() }) }
    }
}

/// An algorithm: what users see of it and how it is built.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Linux's name where there is one; the word in scenario files.
    pub name: &'static str,
    /// Title for readers.
    pub title: &'static str,
    /// RFC sections and papers it follows.
    pub sources: &'static [&'static str],
    /// Parameters.
    pub params: &'static [Param],
    /// Variables that it reports, of all its profiles; a profile reports some or all of them.
    pub variables: &'static [Variable],
    /// Its properties beyond the interface.
    pub traits: Traits,
    /// The ns-2.35 agent that implements it; a scenario with `stack = "ns2"` takes that agent's defaults.
    pub ns2: Option<Ns2Agent>,
    /// Loss recovery that its name implies where a scenario gives none (`"sack"`, `"tahoe"` ..); `None` for nearly all.
    pub recovery: Option<&'static str>,
    /// The text of its source file; its header is the algorithm's page.
    pub source: &'static str,
    /// Builds one from validated parameters.
    pub build: fn(&Params) -> Box<dyn CongestionControl>,
}

impl Row {
    /// The algorithm's page in Markdown: the header of its source file. The first line is its title sentence.
    #[must_use]
    pub fn page(&self) -> String {
        narrows_units::header(self.source)
    }

    /// The algorithm's `profile` with the name of the stack, if it has one.
    #[must_use]
    pub fn profile(&self, stack: &str) -> Option<&'static str> {
        let profile = self.params.iter().find(|p| p.name == "profile")?;
        let ParamKind::Choice { allowed, .. } = profile.kind else { return None };
        allowed.iter().find(|word| **word == stack).copied()
    }
}
