//! Tahoe: Reno's growth, and slow start from one segment after every loss.
//!
//! # Idea
//! The third duplicate ACK is as good a sign of a loss as the timer, and comes earlier. Tahoe retransmits, stores half
//! of the window as the threshold, and restarts from one segment. There is no fast recovery, so the pipe runs empty
//! after each loss.
//!
//! # Sources
//! V. Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988; K. Fall and S. Floyd, "Simulation-based Comparisons
//! of Tahoe, Reno, and SACK TCP", CCR 26(3), 1996; ns-2's Agent/TCP. The rules of growth are those of
//! [`reno`] with all its parameters.
//!
//! # State
//! | symbol | where | unit |
//! |---|---|---|
//! | cwnd, ssthresh | [`Window`](crate::Window) | bytes |
//! | highest octet sent at the last reduction (ns-2's `recover_`) | the recovery | offset in the stream |
//!
//! # Differences
//! | question | 4.3BSD-Tahoe | ns-2 Agent/TCP | ours | setting |
//! |---|---|---|---|---|
//! | first window | 1 segment | 1 | the connection's | `initial_window` |
//! | base of the threshold | min(cwnd, window) | min(cwnd, window) | FlightSize | `profile` |
//! | reductions per window | several | one (`bugFix_`) | one | |
//! | timer at a fast retransmit | restarted | restarted | continues (RFC 6298) | |
//! | ECN echo | none | half | half | |
//!
//! # Limits
//! The connection carries out the restart from one segment, so it works with any algorithm. It does not work with an
//! algorithm that kept its window at the loss, or that sets the window in recovery itself. ns-2 has no timestamps or
//! SACK here; ours uses what is negotiated. The setting `recovery` in a scenario overrides the recovery that the name
//! implies.
//!
//! # Vectors
//! `tahoe_is_reno_with_its_recovery`; of the recovery, in crates/tcp: `tahoe_starts_anew_from_one_segment`,
//! `tahoe_goes_back_and_sends_again_what_follows_the_hole`, `tahoe_reduces_once_per_window`.

use crate::algorithms::reno;
use crate::row::{Ns2Agent, Response, Row, Traits};

/// The registry's row: [`reno`]'s window rules with the recovery `tahoe`.
pub(crate) const ROW: Row = Row {
    name: "tahoe",
    title: "Tahoe",
    sources: &["V. Jacobson, \"Congestion Avoidance and Control\", SIGCOMM 1988", "K. Fall and S. Floyd, CCR 1996"],
    params: reno::PARAMS,
    variables: reno::VARIABLES,
    traits: Traits { response: Response::Reduces, needs_ecn: false, scales: true, l4s: false, own_start: None },
    ns2: Some(Ns2Agent::Own),
    recovery: Some("tahoe"),
    source: include_str!("tahoe.rs"),
    build: reno::build,
};
