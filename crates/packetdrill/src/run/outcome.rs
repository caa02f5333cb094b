//! What a run gives: its verdict, every step and packet, and the code to check afterwards.

use crate::host::TcpInfo;
use crate::notation;
use crate::syntax::Direction;
use narrows_units::Duration;
use std::fmt;

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Whether the host did what the script expects.
    pub verdict: Verdict,
    /// Differences that the script declares not fatal (`--non_fatal`).
    pub warnings: Vec<Mismatch>,
    /// Every event that was carried out, in order.
    pub steps: Vec<Step>,
    /// Every packet in both directions, those that the script does not mention included.
    pub packets: Vec<Captured>,
    /// Code in `%{ }%` with the values that it sees. It is checked after the run.
    pub code: Vec<Code>,
}

/// Whether the host did what the script expects.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It did. Code is not checked yet.
    Matched,
    /// It did something else.
    Differed(Box<Mismatch>),
    /// The host has no such feature, so there is no verdict.
    Unsupported {
        /// The line that needs it.
        line: u32,
        /// The feature and the reason.
        reason: String,
    },
    /// The run was asked to stop, so there is no verdict.
    Stopped {
        /// The line reached.
        line: u32,
    },
    /// The run could not go on: the host failed, or the script is contradictory at run time.
    Failed {
        /// The line reached.
        line: u32,
        /// Why.
        reason: String,
    },
}

/// A difference between script and host.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// The line of the event.
    pub line: u32,
    /// What the event is: `outbound packet`, `result of write()`, `time of inbound packet` ..
    pub what: String,
    /// The time that the script expects, from its start; `None` where it does not matter.
    pub expected_time: Option<Duration>,
    /// When it happened, from the start of the script; `None` if it did not happen.
    pub actual_time: Option<Duration>,
    /// What the script expects, in its own notation.
    pub expected: String,
    /// What the host did, in the same notation.
    pub actual: String,
    /// The fields that differ.
    pub differences: Vec<Difference>,
    /// The connection's state at that time, where the host could tell.
    pub tcp_info: Option<TcpInfo>,
}

/// A field that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The field: `win`, `flags`, `TCP options`, `time` ..
    pub field: String,
    /// The value that the script expects.
    pub expected: String,
    /// The host's value.
    pub actual: String,
}

impl Difference {
    pub(super) fn new(field: impl Into<String>, expected: impl ToString, actual: impl ToString) -> Self {
        Self { field: field.into(), expected: expected.to_string(), actual: actual.to_string() }
    }
}

/// An event that was carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// When, from the start of the script.
    pub at: Duration,
    /// The line.
    pub line: u32,
    /// What happened, in the notation of scripts.
    pub text: String,
}

/// A packet of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// When, from the start of the script.
    pub at: Duration,
    /// To the host or from it.
    pub direction: Direction,
    /// The packet from its IP header on.
    pub bytes: Vec<u8>,
}

/// Code of the script with the values that it sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The line.
    pub line: u32,
    /// When the values were taken, from the start of the script.
    pub at: Duration,
    /// The code.
    pub text: String,
    /// The connection's state; `None` if there was no socket to ask.
    pub info: Option<TcpInfo>,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields: Vec<&str> = self.differences.iter().map(|difference| difference.field.as_str()).collect();
        writeln!(f, "line {}: {} differs: {}", self.line, self.what, fields.join(", "))?;
        let time = |time: Option<Duration>| time.map_or_else(|| "*".to_owned(), notation::time);
        writeln!(f, "  script {:>11}  {}", time(self.expected_time), self.expected)?;
        write!(f, "  actual {:>11}  {}", time(self.actual_time), self.actual)?;
        for difference in &self.differences {
            write!(f, "\n  {}: expected {}, found {}", difference.field, difference.expected, difference.actual)?;
        }
        Ok(())
    }
}
