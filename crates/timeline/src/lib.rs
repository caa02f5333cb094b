//! Test cases of a scenario: steps that change a run, expectations about it, and the conditions that both are made of.
//!
//! [`Scope`] reads conditions over a [`Vocabulary`] into [`Expression`]s with checked types. A [`Case`] holds the
//! steps and expectations. A [`Watch`] follows a run: at each look it says which steps happen, and at the end what came
//! of the case ([`Outcome`]). It does no input or output, and knows neither simulator nor kernel: time and the values
//! of variables are its arguments.
//!
//! ```text
//! text -> parse (Ast) -> check (names, types) -> Expression -> Watch (looks) -> Outcome
//! ```

mod ast;
mod case;
mod check;
mod dimension;
mod error;
mod expression;
mod functions;
mod outcome;
mod parse;
mod resolve;
mod unit;
mod uses;
mod vocabulary;
mod watch;
mod words;

pub use ast::{Ast, Column, Comparison, Operation, Path, Shape};
pub use case::{
    Action, Aggregation, Case, Edge, Expectation, Filter, FlowRef, Grid, Lapse, Line, Pick, Policer, Quantifier,
    Selection, Step, Until, When,
};
pub use check::Scope;
pub use dimension::{Dimension, Type};
pub use error::{Cause, ExpressionError};
pub use expression::{Expression, Memory, MemoryId};
pub use functions::{FUNCTIONS, Function};
pub use outcome::{ExpectationOutcome, Outcome, Series, Shown, StepOutcome, Verdict};
pub use parse::{DEEPEST, LONGEST, MOST_OPERATORS, parse};
pub use unit::{UNITS, Unit};
pub use vocabulary::{
    Declared, FlowField, FlowWords, LinkField, LinkWords, PHASES, PathField, Row, Side, Source, TRUTH, Variable,
    VariableId, Vocabulary,
};
pub use watch::{Seen, Values, Watch};
