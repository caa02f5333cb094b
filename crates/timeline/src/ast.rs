//! Expressions as written, before their names and types are checked, and their text.

use crate::unit::Unit;
use std::fmt;

/// A column of the expression's text, from 1. Columns are for messages: any two are equal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Column(pub usize);

impl PartialEq for Column {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// An expression, and where it begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Ast {
    /// Column of its first character.
    pub column: Column,
    /// What it is.
    pub shape: Shape,
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A number as written, and its unit.
    Quantity(String, Option<&'static Unit>),
    /// `true` or `false`.
    Truth(bool),
    /// A word or a name in quotes.
    Word(String),
    /// A variable.
    Path(Path),
    /// `not x`.
    Not(Box<Ast>),
    /// `-x`.
    Minus(Box<Ast>),
    /// `x and y and ..`: two or more.
    All(Vec<Ast>),
    /// `x or y or ..`: two or more.
    Any(Vec<Ast>),
    /// A comparison.
    Compare(Comparison, Box<Ast>, Box<Ast>),
    /// Arithmetic.
    Arithmetic(Operation, Box<Ast>, Box<Ast>),
    /// A function and its arguments.
    Call(String, Vec<Ast>),
}

/// The name of a variable: `link['a-b'].reverse.rate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The first name.
    pub head: String,
    /// The name in brackets.
    pub index: Option<String>,
    /// Names after points.
    pub rest: Vec<String>,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `==`: exactly equal.
    Equal,
    /// `!=`
    Unequal,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}

impl Comparison {
    /// All, with their signs.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Equal, "=="),
        (Self::Unequal, "!="),
        (Self::Less, "<"),
        (Self::AtMost, "<="),
        (Self::Greater, ">"),
        (Self::AtLeast, ">="),
    ];

    /// The sign.
    #[must_use]
    pub fn sign(self) -> &'static str {
        Self::ALL.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }
}

/// An arithmetic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Times,
    /// `/`
    Over,
}

impl Operation {
    /// All, with their signs.
    pub const ALL: [(Self, &'static str); 4] =
        [(Self::Plus, "+"), (Self::Minus, "-"), (Self::Times, "*"), (Self::Over, "/")];

    /// The sign.
    #[must_use]
    pub fn sign(self) -> &'static str {
        Self::ALL.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.head)?;
        if let Some(index) = &self.index {
            write!(f, "['{index}']")?;
        }
        self.rest.iter().try_for_each(|name| write!(f, ".{name}"))
    }
}

impl Ast {
    /// How tightly its outermost operator binds; a part needs parentheses where it binds less than its place asks for.
    const fn tightness(&self) -> u8 {
        match &self.shape {
            Shape::Any(_) => 0,
            Shape::All(_) => 1,
            Shape::Not(_) => 2,
            Shape::Compare(..) => 3,
            Shape::Arithmetic(Operation::Plus | Operation::Minus, ..) => 4,
            Shape::Arithmetic(..) => 5,
            Shape::Minus(_) => 6,
            _ => 7,
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, least: u8) -> fmt::Result {
        if self.tightness() < least { write!(f, "({self})") } else { write!(f, "{self}") }
    }
}

fn join(f: &mut fmt::Formatter<'_>, parts: &[Ast], between: &str, least: u8) -> fmt::Result {
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            f.write_str(between)?;
        }
        part.write(f, least)?;
    }
    Ok(())
}

/// The expression with as few parentheses as it needs; it reads back as the same.
impl fmt::Display for Ast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.shape {
            Shape::Quantity(text, None) => f.write_str(text),
            Shape::Quantity(text, Some(unit)) => write!(f, "{text} {}", unit.name()),
            Shape::Truth(on) => write!(f, "{on}"),
            Shape::Word(text) => write!(f, "'{text}'"),
            Shape::Path(path) => path.fmt(f),
            Shape::Not(part) => {
                f.write_str("not ")?;
                part.write(f, 2)
            }
            Shape::Minus(part) => {
                f.write_str("-")?;
                part.write(f, 6)
            }
            Shape::All(parts) => join(f, parts, " and ", 2),
            Shape::Any(parts) => join(f, parts, " or ", 1),
            Shape::Compare(sign, left, right) => {
                left.write(f, 4)?;
                write!(f, " {} ", sign.sign())?;
                right.write(f, 4)
            }
            Shape::Arithmetic(sign, left, right) => {
                left.write(f, self.tightness())?;
                write!(f, " {} ", sign.sign())?;
                right.write(f, self.tightness() + 1)
            }
            Shape::Call(name, arguments) => {
                write!(f, "{name}(")?;
                join(f, arguments, ", ", 0)?;
                f.write_str(")")
            }
        }
    }
}
