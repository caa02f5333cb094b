//! Types of expressions: numbers with a dimension, truth values, and words.

use std::fmt;
use std::sync::Arc;

/// Powers of data and time in a number's unit: a rate has data 1 and time -1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Dimension {
    /// Power of data. The base unit is the byte.
    pub data: i8,
    /// Power of time. The base unit is the second.
    pub time: i8,
}

impl Dimension {
    /// A number without a unit.
    pub const NUMBER: Self = Self { data: 0, time: 0 };
    /// An amount of data.
    pub const DATA: Self = Self { data: 1, time: 0 };
    /// A time.
    pub const TIME: Self = Self { data: 0, time: 1 };
    /// A rate: data per time.
    pub const RATE: Self = Self { data: 1, time: -1 };
    /// A frequency.
    pub const FREQUENCY: Self = Self { data: 0, time: -1 };

    /// Returns the dimension of a product; `None` if a power exceeds 127.
    #[must_use]
    pub fn times(self, other: Self) -> Option<Self> {
        Some(Self { data: self.data.checked_add(other.data)?, time: self.time.checked_add(other.time)? })
    }

    /// Returns the dimension of a quotient; `None` if a power exceeds 127.
    #[must_use]
    pub fn over(self, other: Self) -> Option<Self> {
        Some(Self { data: self.data.checked_sub(other.data)?, time: self.time.checked_sub(other.time)? })
    }
}

/// With its article: `a rate`, `a number`.
impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NUMBER => f.write_str("a number"),
            Self::DATA => f.write_str("an amount of data"),
            Self::TIME => f.write_str("a time"),
            Self::RATE => f.write_str("a rate"),
            Self::FREQUENCY => f.write_str("a frequency"),
            Self { data, time } => write!(f, "data^{data} time^{time}"),
        }
    }
}

/// The type of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// A number with its dimension.
    Number(Dimension),
    /// True or false.
    Truth,
    /// One of these words, whose values are 0, 1, 2 ..
    Word(Arc<[String]>),
}

/// With its article, for messages.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(dimension) => dimension.fmt(f),
            Self::Truth => f.write_str("a condition"),
            Self::Word(_) => f.write_str("a word"),
        }
    }
}
