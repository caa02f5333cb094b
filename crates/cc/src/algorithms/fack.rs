//! FACK: Reno's window, and a recovery that treats everything below the highest SACKed octet as lost.
//!
//! # Idea
//! The most forward octet that the receiver reports (snd.fack) shows how much data is still in the network, if the
//! network keeps the order: the data sent beyond it, and the data sent again. With this estimate, recovery starts at
//! the first report that is more than three segments ahead. It keeps as much data in flight as the window allows, even
//! if most of the window was lost.
//!
//! # Sources
//! M. Mathis and J. Mahdavi, "Forward Acknowledgement: Refining TCP Congestion Control", SIGCOMM 1996; ns-2's
//! Agent/TCP/Fack. The window rules are those of [`reno`] with all its parameters.
//!
//! # State
//! | symbol | where | unit |
//! |---|---|---|
//! | cwnd, ssthresh | [`Window`](crate::Window) | bytes |
//! | snd.fack | the scoreboard | offset in the stream |
//! | retran_data, awnd | the scoreboard | bytes |
//!
//! # Differences
//! | question | paper | Linux until 4.14 | ns-2 Fack | ours | setting |
//! |---|---|---|---|---|---|
//! | entry | fack over 3 SMSS ahead, or 3 duplicates | by its reordering metric | paper | paper | `dupthresh` |
//! | overdamping | quarter where slow start overshot | no | off (`ss-div4_`) | no | |
//! | rampdown | window reduced over a round trip | rate halving, then PRR | off (`rampdown_`) | by PRR | `reduction` |
//! | lost retransmission | waits for the timer | resent | waits for the timer | resent | `lost_retransmission` |
//!
//! # Limits
//! Reordering by more than three segments is taken for loss; the undo of spurious recoveries limits the damage.
//! Overdamping is not implemented: every window rule would need the window of one round trip ago. The paper's rampdown
//! is not implemented; PRR replaces it. If the peer does not permit SACK, the recovery is NewReno's. The setting
//! `recovery` in a scenario overrides the recovery that the name implies.
//!
//! # Vectors
//! `fack_is_reno_with_its_recovery`; of the recovery, in crates/tcp:
//! `fack_enters_on_the_first_sack_beyond_three_segments`, `fack_repairs_four_losses_of_ten`.

use crate::algorithms::reno;
use crate::row::{Ns2Agent, Response, Row, Traits};

/// The registry's row: [`reno`]'s window rules with the recovery `fack`.
pub(crate) const ROW: Row = Row {
    name: "fack",
    title: "FACK",
    sources: &["M. Mathis and J. Mahdavi, \"Forward Acknowledgement: Refining TCP Congestion Control\", SIGCOMM 1996"],
    params: reno::PARAMS,
    variables: reno::VARIABLES,
    traits: Traits { response: Response::Reduces, needs_ecn: false, scales: true, l4s: false, own_start: None },
    ns2: Some(Ns2Agent::Own),
    recovery: Some("fack"),
    source: include_str!("fack.rs"),
    build: reno::build,
};
