//! NewReno: Reno's window, and a fast recovery that lasts until the whole window is repaired.
//!
//! # Idea
//! Reno's fast recovery ends with the first new ACK. So a window with several losses is halved for each of them, or
//! waits for the timer. An ACK that repairs only a part of the outstanding data (a partial ACK) shows which segment is
//! missing next. NewReno sends it at once. It stays in recovery until everything that was outstanding at its beginning
//! is acknowledged. It needs no option of the peer, and repairs one segment per round-trip time.
//!
//! # Sources
//! RFC 6582, section 3.2; RFC 5681, section 3.2; ns-2's Agent/TCP/Newreno. The window rules are those of
//! [`reno`] with all its parameters.
//!
//! # State
//! | symbol | where | unit |
//! |---|---|---|
//! | cwnd, ssthresh | [`Window`](crate::Window) | bytes |
//! | recover | the connection's recovery | offset in the stream |
//! | inflation of cwnd by duplicate ACKs | the connection's recovery, apart from cwnd | bytes |
//!
//! # Differences
//! | question | RFC 6582 | ns-2 Newreno | ours | setting |
//! |---|---|---|---|---|
//! | window on the full ACK | at most FlightSize + SMSS, or ssthresh | ssthresh | RFC's first | `full_ack_cap` |
//! | timer restart on partial ACKs | first only ("impatient"), or each | first (`newreno_changes1_`) | first only | |
//! | new segments per ACK in recovery | as the window allows | at most 2 | as the window allows | |
//! | limited transmit | RFC 3042 | on (`singledup_`) | on | `limited_transmit` |
//!
//! Linux without SACK is close to the RFC. It reduces by PRR, and counts a segment as delivered for each duplicate ACK.
//!
//! # Limits
//! The heuristics of RFC 6582, section 4, are not implemented. Duplicate ACKs below `recover` start no fast retransmit,
//! so a loss there waits for the timer. The setting `recovery` in a scenario overrides the recovery that the name
//! implies.
//!
//! # Vectors
//! `newreno_is_reno_with_its_recovery`; of the recovery, in crates/tcp: `newreno_repairs_two_holes_in_one_episode`,
//! `newreno_does_not_fast_retransmit_below_recover_after_a_timeout`.

use crate::algorithms::reno;
use crate::row::{Ns2Agent, Response, Row, Traits};

/// The registry's row: [`reno`]'s window rules with the recovery `newreno`.
pub(crate) const ROW: Row = Row {
    name: "newreno",
    title: "NewReno",
    sources: &["RFC 6582", "RFC 5681, section 3.2"],
    params: reno::PARAMS,
    variables: reno::VARIABLES,
    traits: Traits { response: Response::Reduces, needs_ecn: false, scales: true, l4s: false, own_start: None },
    ns2: Some(Ns2Agent::Own),
    recovery: Some("newreno"),
    source: include_str!("newreno.rs"),
    build: reno::build,
};
