//! A sans-IO TCP endpoint (RFC 9293): packets and time in, packets and events out.
//!
//! [`Connection`] is glue only: the sender, receiver, scoreboard, recovery, round-trip estimator, timers and
//! handshake are modules of their own. Time is always an argument; nothing here reads a clock or draws a random number.

mod assist;
mod config;

pub use assist::{Agreement, Assist, Outgoing, SegmentKind};
pub use config::{Config, DelayedAck, InitialWindow, RecoveryKind, RtoConfig, RtoStyle};
