//! ACNS, the Advanced Congestion Notification System.
//!
//! # Idea
//! Routers weigh each TCP flow by its age, its priority (DSCP) and the occupancy of the queue. Through the receiver
//! they tell the sender to continue, to freeze its window, or to fall back to its latest smaller one. Old flows of low
//! priority receive such commands first, so that young and important ones find room before anything is lost. On a loss,
//! the sender judges by recent commands whether the loss meant congestion at all.
//!
//! # Sources
//! - M. Hruby, M. Olsovsky, M. Kotocova: "A Novel Technique for TCP based Congestion Control", DCNET 2013 (here
//!   "DCNET 2013"; its equations by their numbers).
//! - M. Olsovsky: "Advanced notification system for TCP performance increase", extended abstract of a thesis,
//!   Information Sciences and Technologies Bulletin of the ACM Slovakia 5(2), 2013 (here "thesis").
//!
//! # Parts
//! | file | its job | runs in |
//! |---|---|---|
//! | [`config`](AcnsConfig) | every parameter, with the papers' values | all |
//! | [`codec`] | messages I1 to I7 and T1 to T6, and the handshake, as header bits | all |
//! | [`flow_table`](crate::flow_table) | which flows there are, since when, and how important they are | router |
//! | [`weight`](weight()) | the weight of a flow and the command that it means | router |
//! | `row` | the table of scenario files, the columns of results, and how the parts are built | all |
//! | [`AcnsRouter`] | writes commands into passing segments that ask for one | router |
//! | [`AcnsAssist`] | marks segments, echoes commands, reads echoes | both ends |
//! | [`Acns`] | changes cwnd on top of a base algorithm | sender |
//!
//! # Differences
//! The papers print two inverse formula sets ([`Formula`]) and leave much open. Each choice made here is a parameter of
//! [`AcnsConfig`] or is documented where it is made.

mod ask;
mod assist;
pub mod codec;
mod config;
mod history;
mod receiver;
mod router;
mod row;
mod sender;
mod trend;
mod weight;

#[cfg(test)]
mod pairing_tests;

pub use assist::AcnsAssist;
pub use config::{
    AcnsConfig, AcnsConfigError, CommandScope, FallbackWindow, Formula, HistoryStep, Ipv6Encoding, LARGEST_DSCP,
    NormalOnlyLosses, PriorityMaximum,
};
pub use router::AcnsRouter;
pub(crate) use row::ROW;
pub use sender::Acns;
pub use trend::{Trend, TrendVerdict};
pub use weight::{command, weight};
