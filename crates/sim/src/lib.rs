//! The simulator: one event loop over links, connections and applications; a scenario in, samples out.
//!
//! [`run`] is the main entry point. Newcomers read `event.rs` (the agenda), `line.rs` (a drop-tail link), `lines.rs`
//! and `routes.rs` (which lines are folded), `world.rs` (the loop), then `by_packet.rs` and fabric's `link.rs` (all
//! other links) and `radio` (802.11 channels).

mod ahead;
mod build;
mod by_packet;
mod capture;
mod case;
mod connections;
mod digest;
mod edge;
mod event;
mod factory;
mod flow;
mod foreign;
mod hosts;
mod line;
mod lines;
mod losses;
mod observe;
mod parcels;
mod parts;
mod plain;
mod radio;
mod recorder;
mod routes;
mod run;
mod sampling;
mod slots;
mod spill;
mod states;
#[cfg(test)]
mod tcp_config;
mod trains;
mod visits;
mod world;

pub use capture::Packets;
pub use foreign::Algorithms;
pub use narrows_fabric::{Deliveries, PcapFailure, Progress, Wanted, catalogue, catalogue_with};
pub use run::{Options, Outcome, RunError, Threads, paths, run};
pub use spill::{Budget, Spill};
