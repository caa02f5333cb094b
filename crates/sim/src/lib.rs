//! The simulator: one event loop over links, connections and applications; a scenario in, samples out.
//!
//! [`run`] is the whole interface. A newcomer reads `event.rs` (the agenda), `line.rs` (a drop-tail link), `lines.rs` and `routes.rs`
//! (what is folded), `world.rs` (the loop), then `link.rs` and `by_packet.rs` (all other links) and `radio` (802.11 channels).

mod app;
mod books;
mod build;
mod by_packet;
mod capture;
mod catalogue;
mod connections;
mod digest;
mod edge;
mod event;
mod factory;
mod flow;
mod flow_id;
mod foreign;
mod hosts;
mod line;
mod lines;
mod link;
mod loss;
mod losses;
mod meter;
mod node;
mod observe;
mod parcels;
mod radio;
mod routes;
mod run;
mod sampling;
mod slots;
mod tcp_config;
mod topology;
mod world;

pub use catalogue::catalogue;
pub use foreign::Algorithms;
pub use run::{Options, Outcome, Progress, RunError, run};
