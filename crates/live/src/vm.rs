//! Live runs inside a virtual machine: the program that the guest runs, and what passes between guest and host.
//!
//! The host starts a virtual machine whose first process is the program `narrows-guest` ([`agent`]). A [`Request`] lies
//! in the guest's file system. The result comes back through memory that guest and host share ([`Header`]), as the
//! bytes of [`encode`]. Nothing else passes between them, so the host cannot disturb the guest's clock.

#[cfg(target_os = "linux")]
pub mod agent;
mod bytes;
#[cfg(target_os = "linux")]
mod modules;
#[cfg(target_os = "linux")]
mod outcome;
#[cfg(target_os = "linux")]
mod region;
mod request;
#[cfg(target_os = "linux")]
mod tables;

pub use bytes::Broken;
#[cfg(target_os = "linux")]
pub use outcome::{decode, encode};
#[cfg(target_os = "linux")]
pub use region::{Header, State};
pub use request::Request;
