//! The executor: carries out a script's events against a host and compares what the host does.
//!
//! [`Plan::new`] makes a script ready, and [`run()`] runs it. A run ends with the first difference, as the original
//! tool does: what follows it would mostly be a consequence.

mod arguments;
mod calls;
mod compare;
mod connection;
mod emit;
mod end;
mod executor;
mod expected;
mod files;
mod icmp;
mod observe;
mod outcome;
mod packets;
mod pieces;
mod plan;
mod prepare;
mod results;
#[cfg(test)]
mod tests;

pub use executor::run;
pub use outcome::{Captured, Code, Difference, Mismatch, Outcome, Step, Verdict};
pub use plan::Plan;
