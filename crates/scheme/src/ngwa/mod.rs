//! NGWA, New General Window Advertising.
//!
//! # Idea
//! Each router on the path writes into TCP segments how many bytes its queue can take, or one flow's share of
//! them, if that is less than what a router before it wrote. The receiver advertises no larger window. The sender,
//! whatever its congestion control, then never has more in flight than the tightest queue holds.
//!
//! # Sources
//! M. Talau and E. C. G. Wille: "Available Network Bandwidth Schema to Improve Performance in TCP Protocols",
//! International Journal of Computer Networks & Communications 5(5), 2013 (here "the paper"; its equations by their
//! numbers).
//!
//! # Parts
//! | file | its job | runs in |
//! |---|---|---|
//! | [`config`](NgwaConfig) | every parameter and the eight modes | all |
//! | [`codec`] | the IPv4 option of type 33 in an option area | all |
//! | `row` | the table of scenario files, the columns of results, and how the parts are built | all |
//! | [`NgwaRouter`] | counts flows, and writes the node's value into passing segments | router |
//! | [`smoothing`](Smoothing) | equation 4 | receiver |
//! | [`NgwaAssist`] | keeps the value and caps the window | both ends |
//!
//! # Differences
//! Section 2 of the paper prints the assignment of the minimum the wrong way round; its section 4.1 has it right. What
//! the paper leaves open is a parameter of [`NgwaConfig`] or is documented where it is decided.

mod assist;
pub mod codec;
mod config;
mod router;
mod row;
mod smoothing;

pub use assist::NgwaAssist;
pub use config::{Marks, NgwaConfig, NgwaConfigError, NgwaMode, Stamp};
pub use router::NgwaRouter;
pub(crate) use row::ROW;
pub use smoothing::Smoothing;
