//! The internal state of algorithms over time: one row per variable and time.

use crate::table::table;
use narrows_units::Variable;

table! {
    /// One variable at one time.
    StateRow,
    /// Variables of congestion controls, loss recovery and queue disciplines over time. Only runs that ask for them
    /// have rows.
    StateSamples = "state" {
        time_ns: "ns", "Time of the sample.";
        series: "index", "Index of the variable in the list of series.";
        value_bits: "", "The value: the bits of an IEEE 754 double; none where the variable has no value.";
    }
}

/// What kind of object a series describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// The sender of a flow; the index is that of `flow_totals`.
    Flow,
    /// A queue; the index is that of `queue_totals`.
    Queue,
}

impl Owner {
    /// The word for it in tables: `flow` or `queue`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Flow => "flow",
            Self::Queue => "queue",
        }
    }
}

/// A variable of one object, as [`StateRow::series`] indexes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// Kind of the object.
    pub owner: Owner,
    /// Index of the object among those of its kind.
    pub index: u64,
    /// Name of the algorithm that reports it, such as `cubic`, `recovery` or `red`.
    pub algorithm: String,
    /// What it reports; its name is unique within the algorithm.
    pub variable: Variable,
}
