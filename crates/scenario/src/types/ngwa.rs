//! The settings of NGWA after defaults are merged.

use narrows_units::{Bytes, Duration};

/// NGWA in the routers, and its parameters at the end points (M. Talau and E. C. G. Wille, "Available Network Bandwidth
/// Schema to Improve Performance in TCP Protocols").
///
/// Every output queue of these routers has its limit in bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Ngwa {
    /// Indices of the routers that run it; default all.
    pub routers: Vec<usize>,
    /// Mode of the paper's table 1, 1 to 8: which of congestion window, smoothing and flow division are on.
    pub mode: u8,
    /// Weight of the newest value in the smoothing, above 0 and below 1.
    pub alpha: f64,
    /// Share of a queue's limit that is divided among the flows, above 0 and at most 1.
    pub flow_factor: f64,
    /// Idle time after which a flow leaves a router's table.
    pub idle_timeout: Duration,
    /// Largest number of flows in a router's table.
    pub max_flows: u64,
    /// Whether the right edge of an advertised window may move left.
    pub shrink: bool,
    /// Whether flows without a congestion window have their own loss recovery, instead of the timer alone.
    pub fast_retransmit: bool,
    /// When routers write their value.
    pub stamp: NgwaStamp,
    /// W_max, an upper bound of the advertised window besides the receive buffer; `None` is no such bound.
    pub max_window: Option<Bytes>,
}

/// When an NGWA router writes its value into a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NgwaStamp {
    /// When the packet leaves the queue.
    Departure,
    /// Before the packet enters the queue.
    Arrival,
}
