//! The simulator: one event loop over links, connections and applications; a scenario in, samples out.
//!
//! [`run`] is the whole interface. A newcomer reads `event.rs` (the agenda), `link.rs`, `world.rs` (the loop), then `radio`
//! (802.11 channels).

mod app;
mod books;
mod build;
mod capture;
mod catalogue;
mod digest;
mod event;
mod flow;
mod flow_id;
mod foreign;
mod hosts;
mod link;
mod loss;
mod meter;
mod node;
mod observe;
mod radio;
mod run;
mod tcp_config;
mod topology;
mod world;

pub use catalogue::catalogue;
pub use foreign::Algorithms;
pub use run::{Options, Outcome, Progress, RunError, run};
