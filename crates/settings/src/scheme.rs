//! Network-assisted schemes as scenario files see them: a table of parameters, the rules among them, and what the
//! network must provide.
//!
//! A scheme's row in `crates/scheme` holds a [`Scheme`]. Scenario files are parsed, checked, written and documented
//! from it, and the row builds the scheme's parts from the same [`Values`]. No other place lists the parameters.

pub use crate::queue::Word;
use narrows_units::{Bytes, Duration, Variable};

/// The values that a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// On or off.
    Switch,
    /// A whole number from the first to the second.
    Integer(u64, u64),
    /// One of these whole numbers.
    OneOf(&'static [u64]),
    /// A number from the first to the second.
    Number(f64, f64),
    /// A number above 0 and below 1; with `one`, also 1 itself.
    Share {
        /// Whether 1 is allowed.
        one: bool,
    },
    /// A time that is not zero.
    Time,
    /// An amount of data of at least one byte.
    Size,
    /// One of a few words.
    Choice(&'static [Word]),
    /// Another kind, or one of a few words.
    Or(&'static Kind, &'static [Word]),
}

/// The value that a parameter has if none is given, written as on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usual {
    /// This value.
    Value(&'static str),
    /// This value, unless another parameter determines it; the first text says how.
    Follows(&'static str, &'static str),
}

/// A parameter of a scheme.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Param {
    /// Key in scenario files.
    pub name: &'static str,
    /// Alternative keys, such as a paper's symbol.
    pub aliases: &'static [&'static str],
    /// The values that it takes.
    pub kind: Kind,
    /// Its default.
    pub usual: Usual,
    /// Unit of a number, as lists show it; empty if it has none. Times and amounts of data need none.
    pub unit: &'static str,
    /// What it does.
    pub doc: &'static str,
}

impl Param {
    /// A parameter with a default.
    #[must_use]
    pub const fn new(name: &'static str, kind: Kind, usual: &'static str, doc: &'static str) -> Self {
        Self { name, aliases: &[], kind, usual: Usual::Value(usual), unit: "", doc }
    }

    /// The parameter with other names too.
    #[must_use]
    pub const fn alias(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    /// The parameter with a unit.
    #[must_use]
    pub const fn unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    /// The parameter with a default that another parameter may determine; `how` describes it.
    #[must_use]
    pub const fn follows(self, how: &'static str) -> Self {
        match self.usual {
            Usual::Value(alone) | Usual::Follows(_, alone) => Self { usual: Usual::Follows(how, alone), ..self },
        }
    }

    /// The text of its default where nothing determines it.
    #[must_use]
    pub const fn usual_text(&self) -> &'static str {
        match self.usual {
            Usual::Value(text) | Usual::Follows(_, text) => text,
        }
    }
}

/// A rule among the parameters of a scheme, or between a parameter and the flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Two numbers add up to 1; one that is not given follows from the other.
    SumToOne(&'static str, &'static str),
    /// The first number is at most the second.
    Ordered(&'static str, &'static str),
    /// A switch may be on only if a whole number is one of a few.
    OnlyWith {
        /// The switch.
        switch: &'static str,
        /// The whole number.
        number: &'static str,
        /// Its values for which the switch has a meaning.
        values: &'static [u64],
        /// What the other values mean, after "in mode 1, ": `whose flows ..`.
        why: &'static str,
    },
    /// An amount of data, if one is given, holds one segment of every flow that takes part.
    HoldsSegment(&'static str),
}

/// A network-assisted scheme, as scenario files and users see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scheme {
    /// Name in scenario files, and key of its table.
    pub name: &'static str,
    /// Short name for people.
    pub acronym: &'static str,
    /// Title for people.
    pub title: &'static str,
    /// Papers it follows.
    pub sources: &'static [&'static str],
    /// What its table holds, in one or two sentences.
    pub doc: &'static str,
    /// Parameters, in the order in which files list them.
    pub params: &'static [Param],
    /// Rules among them.
    pub rules: &'static [Rule],
    /// Why it runs over IPv4 alone: `whose ..`. `None` if it also runs over IPv6.
    pub ipv4_only: Option<&'static str>,
    /// Bytes that its routers add to packets of end points that leave no room for them.
    pub router_adds: u64,
    /// Whether its end points write the header bits of ECN, so that ECN is off on its connections.
    pub excludes_ecn: bool,
    /// Variables that its senders report beside those of their congestion control.
    pub variables: &'static [Variable],
}

impl Scheme {
    /// The parameter of this name.
    #[must_use]
    pub fn param(&self, name: &str) -> Option<&'static Param> {
        self.params.iter().find(|param| param.name == name)
    }
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
    /// A time.
    Time(Duration),
    /// An amount of data.
    Size(Bytes),
    /// One of the words of the parameter.
    Word(&'static str),
}

/// The values of all parameters of a scheme, in the order of its row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values(Vec<(&'static str, Value)>);

/// Returns the value of a parameter, if it is of the kind `pattern`.
macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $($pattern:pat => $value:expr),+;)+) => {
        $(
            $(#[$doc])*
            ///
            /// # Errors
            /// A sentence: there is no value of this name and kind.
            pub fn $name(&self, name: &str) -> Result<$type, String> {
                match self.get(name) {
                    $(Some($pattern) => Ok($value),)+
                    other => Err(format!("parameter {name} of a scheme is {other:?}")),
                }
            }
        )+
    };
}

impl Values {
    /// Collects values.
    #[must_use]
    pub fn new(values: impl IntoIterator<Item = (&'static str, Value)>) -> Self {
        Self(values.into_iter().collect())
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
        /// The value of a [`Kind::Switch`].
        switch: bool = Value::Switch(on) => on;
        /// The value of a [`Kind::Integer`].
        integer: u64 = Value::Integer(n) => n;
        /// The value of a [`Kind::Number`] or a [`Kind::Share`].
        number: f64 = Value::Number(n) => n;
        /// The value of a [`Kind::Time`].
        time: Duration = Value::Time(time) => time;
        /// The value of a [`Kind::Size`]; `None` if a word stands for it.
        size: Option<Bytes> = Value::Size(size) => Some(size), Value::Word(_) => None;
        /// The value of a [`Kind::Choice`].
        word: &'static str = Value::Word(word) => word;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn values_are_found_by_name_and_kind() {
        let values = Values::new([("most", Value::Word("none")), ("alpha", Value::Number(0.5))]);
        assert_eq!((values.number("alpha"), values.size("most")), (Ok(0.5), Ok(None)));
        assert_eq!(values.integer("alpha").unwrap_err(), "parameter alpha of a scheme is Some(Number(0.5))");
        assert!(values.switch("beta").is_err());
    }

    #[test]
    fn a_default_that_follows_keeps_its_own_value() {
        let param = Param::new("a", Kind::Number(0.0, 1.0), "0.8", "").follows("1 - `b`, or 0.8");
        assert_eq!((param.usual_text(), param.usual), ("0.8", Usual::Follows("1 - `b`, or 0.8", "0.8")));
    }
}
