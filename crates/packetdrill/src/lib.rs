//! The packetdrill language, and an executor that runs a script against a host and compares what the host sends.
//!
//! - [`syntax`] reads a script: text to [`syntax::Script`], or an error with file, line and column.
//! - [`run`] runs a script: [`run::Plan`] makes it ready, [`run::run`] carries out its events, and [`run::Outcome`] has
//!   what came of it.
//! - [`options`] has the script's `--name=value` options with their defaults: addresses, ports, MTU, tolerances.
//! - [`host`] is the seam: the trait [`host::Host`], its packets as bytes, and system calls as values ([`call`]).
//!
//! Two hosts implement the seam: the simulated one of this crate and, in `narrows-live`, the kernel behind a TUN
//! device.

pub mod call;
pub mod host;
pub mod notation;
pub mod options;
pub mod run;
pub mod simulated;
pub mod symbols;
pub mod syntax;
