//! Queue settings: how a discipline describes its parameters, and their values.
//!
//! A discipline's row in `crates/queue` holds a [`Discipline`]. Scenario files are parsed, checked, written and
//! documented from it, and the row builds a queue from the same [`Params`]. Neither side lists parameters again.

use core::fmt;
use narrows_units::{Bytes, Duration, Packets, Probability, Rate, Variable};

/// How much a queue holds, in the unit of its own limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Waiting packets. The packet in transmission has left the queue (unlike ns-2's `limit_`, which counts it: ns-2's
    /// 50 is our 49).
    Packets(Packets),
    /// Waiting bytes, IP headers included.
    Bytes(Bytes),
}

/// A number of packets or bytes that need not be whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// A number without a unit; the discipline defines the unit.
    Bare(f64),
    /// Packets.
    Packets(f64),
    /// Bytes.
    Bytes(f64),
}

impl Amount {
    /// The number, without its unit.
    #[must_use]
    pub const fn number(self) -> f64 {
        match self {
            Self::Bare(n) | Self::Packets(n) | Self::Bytes(n) => n,
        }
    }
}

/// A word of scenario files, and what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word(pub &'static str, pub &'static str);

/// A size, time or rate above any that a scenario may give: the upper end of an open range.
pub const ANY: u64 = 1_000_000_000_000_000_000;

/// The values that a parameter takes, and the default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// On or off.
    Switch {
        /// Setting used when none is given.
        default: bool,
    },
    /// A whole number in `unit`, from `min` to `max`.
    Integer {
        /// Unit, as shown to users; empty if it has none.
        unit: &'static str,
        /// Value used when none is given.
        default: u64,
        /// Smallest allowed value.
        min: u64,
        /// Largest allowed value.
        max: u64,
    },
    /// A number in `unit`, from `min` to `max`.
    Number {
        /// Unit, as shown to users; empty if it has none.
        unit: &'static str,
        /// Value used when none is given.
        default: f64,
        /// Smallest allowed value.
        min: f64,
        /// Largest allowed value.
        max: f64,
    },
    /// A number from 0 to 1, or in percent.
    Probability {
        /// Value used when none is given.
        default: f64,
    },
    /// A time from `min` to `max`.
    Time {
        /// Value used when none is given.
        default: Duration,
        /// Smallest allowed value.
        min: Duration,
        /// Largest allowed value.
        max: Duration,
    },
    /// A rate from `min` to `max`.
    Rate {
        /// Value used when none is given.
        default: Rate,
        /// Smallest allowed value.
        min: Rate,
        /// Largest allowed value.
        max: Rate,
    },
    /// An amount of data from `min` to `max`.
    Size {
        /// Value used when none is given.
        default: Bytes,
        /// Smallest allowed value.
        min: Bytes,
        /// Largest allowed value.
        max: Bytes,
    },
    /// Packets or bytes, up to 10^9.
    Amount {
        /// Unit of a bare number, as shown to users.
        unit: &'static str,
        /// Value used when none is given.
        default: Amount,
    },
    /// One of a few words.
    Choice {
        /// Word used when none is given.
        default: &'static str,
        /// The words.
        words: &'static [Word],
    },
}

impl Kind {
    /// The value used when none is given.
    #[must_use]
    pub fn default(&self) -> Value {
        match *self {
            Self::Switch { default } => Value::Switch(default),
            Self::Integer { default, .. } => Value::Integer(default),
            Self::Number { default, .. } => Value::Number(default),
            Self::Probability { default } => Value::Probability(Probability::clamped(default)),
            Self::Time { default, .. } => Value::Time(default),
            Self::Rate { default, .. } => Value::Rate(default),
            Self::Size { default, .. } => Value::Size(default),
            Self::Amount { default, .. } => Value::Amount(default),
            Self::Choice { default, .. } => Value::Choice(default),
        }
    }
}

/// A parameter of a discipline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Param {
    /// Name in scenario files.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub doc: &'static str,
    /// The values that it takes.
    pub kind: Kind,
}

/// The value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// On or off.
    Switch(bool),
    /// A whole number.
    Integer(u64),
    /// A number.
    Number(f64),
    /// A number from 0 to 1.
    Probability(Probability),
    /// A time.
    Time(Duration),
    /// A rate.
    Rate(Rate),
    /// An amount of data.
    Size(Bytes),
    /// Packets or bytes.
    Amount(Amount),
    /// One of the words of the parameter.
    Choice(&'static str),
}

/// Values by name, in the order of the discipline's parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Params(Vec<(&'static str, Value)>);

/// Returns the value of a parameter, if it is of the kind `pattern`.
///
/// A discipline that asks for a parameter which its row lacks, or for another kind, has a bug that debug builds show.
macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $pattern:pat => $value:expr, else $other:expr;)+) => {
        $(
            $(#[$doc])*
            #[must_use]
            pub fn $name(&self, name: &str) -> $type {
                match self.get(name) {
                    Some($pattern) => $value,
                    other => {
                        debug_assert!(false, "{name} is {other:?}");
                        $other
                    }
                }
            }
        )+
    };
}

impl Params {
    /// The defaults of these parameters.
    #[must_use]
    pub fn defaults(params: &[Param]) -> Self {
        Self(params.iter().map(|param| (param.name, param.kind.default())).collect())
    }

    /// Sets a value; a new name goes to the end.
    pub fn set(&mut self, name: &'static str, value: Value) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name, value)),
        }
    }

    /// The value of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Value> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    /// Names and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Value)> + '_ {
        self.0.iter().copied()
    }

    getters! {
        /// The value of a [`Kind::Switch`]; `false` if there is none of this name.
        switch: bool = Value::Switch(on) => on, else false;
        /// The value of a [`Kind::Integer`]; 0 if there is none of this name.
        integer: u64 = Value::Integer(n) => n, else 0;
        /// The value of a [`Kind::Number`]; 0 if there is none of this name.
        number: f64 = Value::Number(n) => n, else 0.0;
        /// The value of a [`Kind::Probability`]; 0 if there is none of this name.
        probability: Probability = Value::Probability(p) => p, else Probability::default();
        /// The value of a [`Kind::Time`]; 0 if there is none of this name.
        time: Duration = Value::Time(time) => time, else Duration::ZERO;
        /// The value of a [`Kind::Rate`]; 0 if there is none of this name.
        rate: Rate = Value::Rate(rate) => rate, else Rate::ZERO;
        /// The value of a [`Kind::Size`]; 0 if there is none of this name.
        size: Bytes = Value::Size(size) => size, else Bytes::ZERO;
        /// The value of a [`Kind::Amount`]; 0 if there is none of this name.
        amount: Amount = Value::Amount(amount) => amount, else Amount::Bare(0.0);
        /// The value of a [`Kind::Choice`]; empty if there is none of this name.
        choice: &'static str = Value::Choice(word) => word, else "";
    }
}

/// A rule among parameters that a value breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The parameter that is reported.
    pub param: &'static str,
    /// What is wrong with it: the verb and what follows, such as `is not below max_threshold`.
    pub reason: String,
    /// What is allowed.
    pub allowed: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}; allowed: {}", self.param, self.reason, self.allowed)
    }
}

impl core::error::Error for Broken {}

/// A queue discipline, as scenario files and users see it.
#[derive(Clone, Copy, Debug)]
pub struct Discipline {
    /// Name in scenario files.
    pub name: &'static str,
    /// Title shown to users.
    pub title: &'static str,
    /// What it does, in a few words: the meaning of its name in `kind`.
    pub doc: &'static str,
    /// RFC sections and papers it follows.
    pub sources: &'static [&'static str],
    /// Parameters besides the limit, which every queue has.
    pub params: &'static [Param],
    /// Variables that `Queue::state` reports, in its order.
    pub variables: &'static [Variable],
    /// Whether a queue is first in, first out, with no rule but its limit: when a packet leaves is then known as it
    /// comes, and the simulator computes links by arithmetic instead of storing packets.
    pub tail_only: bool,
    /// Checks the rules among the parameters and the limit, and converts the values to the units that the discipline
    /// computes in. All parameters are there, each of its kind. Values that were converted stay as they are.
    pub fit: fn(&mut Params, Limit) -> Result<(), Broken>,
    /// The text of its source file; its header is the discipline's page.
    pub source: &'static str,
}

impl Discipline {
    /// The parameter of this name.
    #[must_use]
    pub fn param(&self, name: &str) -> Option<&'static Param> {
        self.params.iter().find(|param| param.name == name)
    }
}

/// The [`Discipline::fit`] of disciplines whose parameters have no rules among them.
///
/// # Errors
/// None.
pub const fn free(_params: &mut Params, _limit: Limit) -> Result<(), Broken> {
    Ok(())
}
