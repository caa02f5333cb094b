//! The one schema of what a run yields: columns, units and meaning. No files, no formulas.
//!
//! A run yields *samples* (rows over time, only if asked for) and *totals* (one row per flow, queue and router, always).
//! Both are tables of columns declared once here; everything downstream reads [`Table::columns`] and never lists
//! columns of its own.

mod histogram;
mod probe;
mod table;
mod tables;

pub use histogram::Histogram;
pub use probe::{NoProbe, Probe};
pub use table::{Column, Data, NONE, Table};
pub use tables::{
    FlowRow, FlowSamples, FlowTotal, FlowTotals, QueueRow, QueueSamples, QueueTotal, QueueTotals, RouterRow,
    RouterSamples,
};

/// What a run yields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// Per flow over time; the `flow` column indexes `flow_totals`.
    pub flows: FlowSamples,
    /// Per queue over time; the `queue` column indexes `queue_totals`.
    pub queues: QueueSamples,
    /// Per router agent over time.
    pub routers: RouterSamples,
    /// One row per flow, in scenario order.
    pub flow_totals: FlowTotals,
    /// One row per queue, in link order, forward direction first.
    pub queue_totals: QueueTotals,
    /// Names of flows, in the order of `flow_totals`.
    pub flow_names: Vec<String>,
    /// Names of queues, in the order of `queue_totals`: `"A->B"`.
    pub queue_names: Vec<String>,
    /// Names of routers with an agent, in the order of the `router` column.
    pub router_names: Vec<String>,
}
