//! FACK: Reno's window, and a recovery that takes what lies below the highest SACKed octet for gone.
//!
//! # Idea
//! The most forward octet that the receiver reports (snd.fack) tells how much is still in the network, if the network keeps
//! the order: what was sent beyond it, and what was sent again. This estimate starts recovery with the first report that
//! is more than three segments ahead, and keeps as much in flight as the window says even if most of it was lost.
//!
//! # Sources
//! M. Mathis and J. Mahdavi, "Forward Acknowledgement: Refining TCP Congestion Control", SIGCOMM 1996; ns-2's
//! Agent/TCP/Fack. The window rules are those of [`reno`](crate::algorithms::reno) with all its parameters.
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
//! | entry | snd.fack - SND.UNA > 3 SMSS, or 3 duplicates | segments below fack beyond its reordering metric | as the paper | as the paper | `dupthresh` |
//! | overdamping | quarter where slow start overshot | no | off (`ss-div4_`) | no | |
//! | rampdown | window taken back over a round trip | rate halving, then PRR | off (`rampdown_`) | by PRR | `reduction` |
//! | a lost retransmission | waits for the timer | sent again | waits for the timer | sent again | `lost_retransmission` |
//!
//! # Limits
//! Reordering by more than three segments is taken for loss; the undo of spurious recoveries helps. Overdamping is not built:
//! it needs the window of a round trip before in every window rule. The paper's rampdown is not built either: PRR is its
//! better successor. Where the peer does not permit SACK the recovery is NewReno's; a setting `recovery` in a
//! scenario overrides the one that the name implies.
//!
//! # Vectors
//! `fack_is_reno_with_its_recovery`; of the recovery, in crates/tcp: `fack_enters_on_the_first_sack_beyond_three_segments`,
//! `fack_repairs_four_losses_of_ten`.

use crate::algorithms::reno;
use crate::row::{Ns2Agent, Response, Row, Traits};

/// The registry's row: [`reno`]'s window rules with the recovery `fack`.
pub(crate) const ROW: Row = Row {
    name: "fack",
    title: "FACK",
    sources: &["M. Mathis and J. Mahdavi, \"Forward Acknowledgement: Refining TCP Congestion Control\", SIGCOMM 1996"],
    params: reno::PARAMS,
    traits: Traits { response: Response::Reduces, needs_ecn: false, scales: true },
    ns2: Some(Ns2Agent::Own),
    recovery: Some("fack"),
    source: include_str!("fack.rs"),
    build: reno::build,
};
