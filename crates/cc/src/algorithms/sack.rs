//! SACK: Reno's window, and a recovery that knows every hole.
//!
//! # Idea
//! A receiver that reports which blocks have arrived (selective acknowledgments) lets the sender estimate the data in
//! the network, the pipe. The sender can then repair any number of losses in one round-trip time. Whenever the pipe has
//! room, it sends the lowest hole that counts as lost, or else new data.
//!
//! # Sources
//! RFC 6675; RFC 2018 and RFC 2883 for the option; ns-2's Agent/TCP/Sack1. The window rules are those of
//! [`reno`] with all its parameters.
//!
//! # State
//! | symbol | where | unit |
//! |---|---|---|
//! | cwnd, ssthresh | [`Window`](crate::Window) | bytes |
//! | HighACK, HighData, HighRxt, RescueRxt, RecoveryPoint | recovery and scoreboard | offsets in the stream |
//! | Pipe | the scoreboard | bytes |
//!
//! # Differences
//! | question | RFC 6675 | Linux | ns-2 Sack1 | ours | setting |
//! |---|---|---|---|---|---|
//! | pipe | by scoreboard | by scoreboard | counted, 2 off for a partial ACK | by scoreboard | |
//! | lost | 3 ranges, or more than 2 SMSS, above | RACK (RFC 8985) | 3 duplicates | RFC 6675 | `dupthresh` |
//! | lost retransmission | waits for timer | resent | waits for timer | resent, reduces again | `lost_retransmission` |
//! | how the window goes down | at once | PRR | at once | at once | `reduction` |
//! | rescue retransmission | one per recovery | tail loss probe | none | one | |
//!
//! # Limits
//! If the peer does not permit SACK, the recovery is NewReno's. The setting `recovery` in a scenario overrides the
//! recovery that the name implies. A connection's default is this recovery, so `sack` and `reno` differ only if a
//! scenario changes it.
//!
//! # Vectors
//! `sack_is_reno_with_its_recovery`; of the recovery, in crates/tcp: `sack_recovers_two_losses_of_twenty`,
//! `sack_sends_one_rescue_retransmission`, `prr_spreads_the_reduction_over_the_acks`.

use crate::algorithms::reno;
use crate::row::{Ns2Agent, Response, Row, Traits};

/// The registry's row: [`reno`]'s window rules with the recovery `sack`.
pub(crate) const ROW: Row = Row {
    name: "sack",
    title: "SACK (RFC 6675)",
    sources: &["RFC 6675", "RFC 2018", "RFC 2883", "RFC 5681, section 3.2"],
    params: reno::PARAMS,
    variables: reno::VARIABLES,
    traits: Traits { response: Response::Reduces, needs_ecn: false, scales: true, l4s: false, own_start: None },
    ns2: Some(Ns2Agent::Own),
    recovery: Some("sack"),
    source: include_str!("sack.rs"),
    build: reno::build,
};
