//! Congestion control: the interface between a connection and an algorithm, and the registry of algorithms.
//!
//! An algorithm sees events and a read-only [`Path`], and writes the three fields of a [`Window`]. It knows no packet,
//! no clock and no queue. Loss *detection* and retransmission belong to the connection, which reports each verdict to
//! the algorithm as a [`Congestion`]. A new algorithm is one file in [`algorithms`] and one row in [`registry`].
//!
//! [`interface`] has the types that both sides share, [`row`] those that describe an algorithm. The other modules are
//! steps that several algorithms share.

pub mod ack_ratio;
pub mod algorithms;
pub mod delays;
pub mod growth;
pub mod hystart;
pub mod interface;
mod params;
mod registry;
pub mod resume;
pub mod rounds;
pub mod row;
pub mod search;
pub mod start;
pub mod windowed;

pub use algorithms::none;
pub use interface::{
    Ack, Advice, Clocks, Congestion, CongestionControl, EcnFeedback, LostSegment, Needs, Path, Phase, PlainAck,
    RateSample, Sent, Silent, Window,
};
pub use registry::{build, find, registry};
pub use row::{Ns2Agent, Param, ParamError, ParamKind, ParamValue, Params, Response, Row, Traits};
