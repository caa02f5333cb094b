//! Impairments of one direction of a link, apart from its losses.

use narrows_units::{Duration, Instant, Probability};

/// What a direction of a link does to packets besides queueing, sending and losing them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Impairments {
    /// Varies the propagation delay.
    pub jitter: Option<Jitter>,
    /// Lets packets overtake others.
    pub reorder: Option<Reorder>,
    /// Delivers packets twice.
    pub duplicate: Option<Duplicate>,
    /// Times without transmissions, in order; they do not overlap.
    pub outages: Vec<Outage>,
    /// Delivers packets in bursts.
    pub aggregation: Option<LinkAggregation>,
    /// Drops some ACKs in front of the queue.
    pub ack_decimation: Option<AckDecimation>,
    /// Probability with which a pure ACK is lost on the link.
    pub ack_loss: Probability,
}

impl Impairments {
    /// Whether the direction has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A random part of the propagation delay, as netem's `delay TIME JITTER CORRELATION distribution NAME`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jitter {
    /// Scale: half the width of the uniform distribution, the standard deviation of the normal one.
    pub time: Duration,
    /// How the values are distributed.
    pub distribution: JitterDistribution,
    /// Correlation of consecutive packets.
    pub correlation: Probability,
    /// Whether packets may overtake each other.
    pub order: JitterOrder,
}

/// Distribution of a jitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JitterDistribution {
    /// Uniform around the delay.
    Uniform,
    /// Normal.
    Normal,
    /// Pareto with shape 3, scaled and cut off as iproute2's table.
    Pareto,
    /// A quarter of the normal and three quarters of the Pareto distribution.
    ParetoNormal,
}

/// What a jitter does to the order of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JitterOrder {
    /// A packet with a smaller delay overtakes others, as in netem.
    Free,
    /// A packet does not arrive before those ahead of it.
    Kept,
}

/// Reordering of selected packets, as netem's `reorder PROBABILITY CORRELATION gap N`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reorder {
    /// Extra delay of the packets that are overtaken.
    pub delay: Duration,
    /// Probability with which a packet is selected.
    pub probability: Probability,
    /// Correlation of the numbers that select consecutive packets.
    pub correlation: Probability,
    /// At least this number of packets from one selected packet to the next.
    pub gap: u64,
    /// What happens to selected packets.
    pub selected: Selected,
}

/// What happens to the packets that a [`Reorder`] selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selected {
    /// They overtake: all others have the extra delay, as in netem.
    Ahead,
    /// They are overtaken: they alone have the extra delay.
    Behind,
}

/// Random duplication, as netem's `duplicate PROBABILITY CORRELATION`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Duplicate {
    /// Probability with which a packet is delivered twice.
    pub probability: Probability,
    /// Correlation of the numbers that select consecutive packets.
    pub correlation: Probability,
}

/// A time in which the link sends nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// When it begins.
    pub start: Instant,
    /// Its length; it ends with the run at the latest.
    pub duration: Duration,
    /// What happens to packets meanwhile.
    pub queue: OutageQueue,
}

/// What happens to the queue in an outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutageQueue {
    /// Packets wait until the outage ends.
    Keep,
    /// Waiting packets and those that come are dropped.
    Drop,
}

/// Delivery in bursts: packets are held at the far end and released together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkAggregation {
    /// Number of packets at which they are released.
    pub packets: u64,
    /// Longest time that the first of them is held.
    pub time: Duration,
    /// Which packets are held.
    pub of: Held,
}

/// Which packets a [`LinkAggregation`] holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// All.
    All,
    /// Pure ACKs; other packets pass them.
    Acks,
}

/// Thinning of pure ACKs in front of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckDecimation {
    /// Of this number of ACKs of a flow, the last one passes.
    pub every: u64,
    /// Which ACKs count and may be dropped.
    pub of: Decimated,
}

/// Which ACKs an [`AckDecimation`] may drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decimated {
    /// Those that only acknowledge new data: no SACK blocks, no flag besides ACK and PSH, and a new number.
    Cumulative,
    /// All pure ACKs, duplicate ones and those with SACK blocks or ECN feedback included.
    All,
}
