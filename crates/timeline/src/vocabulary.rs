//! The variables that expressions may name: of connections, congestion controls, links and the path.

use crate::dimension::Type;
use std::sync::Arc;

/// Index of a [`Variable`] in [`Case::variables`](crate::Case::variables).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VariableId(pub usize);

/// A direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// From the link's first node to its second.
    Forward,
    /// From the second node to the first.
    Reverse,
}

/// What a variable measures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Time since the start of the run.
    Time,
    /// A number of a TCP connection, by index of its flow.
    Flow {
        /// Index of the flow in the file.
        flow: usize,
        /// Which number of its sender.
        field: FlowField,
    },
    /// A variable that a flow's congestion control, slow start or scheme reports.
    Control {
        /// Index of the flow in the file.
        flow: usize,
        /// Name under which the algorithm reports it.
        name: Arc<str>,
    },
    /// A variable that the congestion control of a flow's receiver reports.
    Receiver {
        /// Index of the flow in the file.
        flow: usize,
        /// Name under which it is reported.
        name: Arc<str>,
    },
    /// A number of one direction of a link.
    Link {
        /// Index of the link in the scenario.
        link: usize,
        /// Direction.
        side: Side,
        /// Which number.
        field: LinkField,
    },
    /// A number of the path of the flow under test.
    Path(PathField),
}

/// A variable that expressions of a case use.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Name as expressions write it: `flow.cwnd`.
    pub name: String,
    /// What it measures.
    pub source: Source,
    /// Unit of the raw value that [`Values`](crate::Values) gives, as rows spell it: `bytes`, `s`, `bit/s`, `segments`.
    pub unit: String,
    /// Type in expressions.
    pub kind: Type,
    /// Factor from the raw value to base units (bytes, seconds, bytes per second).
    pub(crate) factor: f64,
    /// The segment size that the raw value is multiplied with, if its unit is one of segments.
    pub(crate) segment: Option<VariableId>,
}

/// A row of a table of variables: name, unit of the raw value, and meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Name in expressions.
    pub name: &'static str,
    /// Unit of the raw value; empty for a plain number.
    pub unit: &'static str,
    /// Meaning.
    pub doc: &'static str,
    /// Words for the values 0, 1, 2 ..; empty for numbers.
    pub words: &'static [&'static str],
}

/// Unit of rows whose values are 0 (false) and 1 (true).
pub const TRUTH: &str = "true or false";

macro_rules! fields {
    ($(#[$doc:meta])* $name:ident { $($field:ident = $key:literal, $unit:expr, $meaning:literal $(, $words:expr)?;)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $(#[doc = $meaning] $field,)+
        }

        impl $name {
            /// All of them, in the order of the reference.
            pub const ALL: &'static [Self] = &[$(Self::$field),+];

            /// Returns the row that describes it.
            #[must_use]
            pub const fn row(self) -> Row {
                match self {
                    $(Self::$field => {
                        let words: &'static [&'static str] = { let w: &'static [&'static str] = &[]; $(let _ = w; let w = $words;)? w };
                        Row { name: $key, unit: $unit, doc: $meaning, words }
                    })+
                }
            }
        }
    };
}

/// Phases of loss recovery, in Linux's terms.
pub const PHASES: &[&str] = &["open", "disorder", "cwr", "recovery", "loss"];

fields! {
    /// A number of a TCP connection. All are NaN before the connection's first transmission, unless said otherwise.
    FlowField {
        Cwnd = "cwnd", "bytes", "Congestion window.";
        Ssthresh = "ssthresh", "bytes", "Slow start threshold; no value while it is unset.";
        Inflight = "inflight", "bytes", "Data in flight: `pipe` of RFC 6675.";
        Flightsize = "flightsize", "bytes", "Data sent and not cumulatively acknowledged (RFC 5681).";
        Srtt = "srtt", "s", "Smoothed round-trip time (RFC 6298); no value before the first sample.";
        Rttvar = "rttvar", "s", "Variation of the round-trip time (RFC 6298); no value before the first sample.";
        MinRtt = "min_rtt", "s", "Smallest round-trip time sample; no value before the first sample.";
        Rtt = "rtt", "s", "The last round-trip time sample; no value before the first.";
        Rto = "rto", "s", "Retransmission timeout.";
        PacingRate = "pacing_rate", "bit/s", "Pacing rate in force; no value if nothing is paced.";
        Delivered = "delivered", "bytes", "Data delivered since the start: acknowledged or SACKed.";
        Lost = "lost", "bytes", "Data declared lost since the start.";
        Retransmitted = "retransmitted", "bytes", "Data retransmitted since the start.";
        Sent = "sent", "bytes", "Data sent since the start, with retransmissions.";
        Marked = "marked", "bytes", "Data whose CE mark was echoed since the start.";
        Rounds = "rounds", "", "Packet-timed round trips since the start: one ends when data sent after the last one's end is delivered.";
        Smss = "smss", "bytes", "Sender's maximum segment size.";
        Rwnd = "rwnd", "bytes", "The peer's receive window.";
        DeliveryRate = "delivery_rate", "bit/s", "The last sample of the delivery rate; no value before the first.";
        AppLimited = "app_limited", TRUTH, "Whether the last rate sample was application-limited.";
        CwndLimited = "cwnd_limited", TRUTH, "Whether the window limited the sender.";
        Phase = "phase", "", "Phase of loss recovery, in Linux's terms.", PHASES;
        SlowStart = "slow_start", TRUTH, "Whether the window is below the slow start threshold.";
        Losses = "losses", "", "Congestion events by loss since the start: entries into fast recovery.";
        Timeouts = "timeouts", "", "Retransmission timeouts since the start.";
        Undos = "undos", "", "Reductions undone since the start.";
        Goodput = "goodput", "bytes", "Data that the receiving application has read since the start.";
        Idle = "idle", TRUTH, "Whether nothing is outstanding and nothing waits to be sent.";
    }
}

fields! {
    /// A number of one direction of a link.
    LinkField {
        Rate = "rate", "bit/s", "Rate now.";
        Delay = "delay", "s", "Propagation delay now.";
        Queue = "queue", "bytes", "Data in its queue, without the packet in transmission.";
        QueuePackets = "queue_packets", "", "Packets in its queue, without the one in transmission.";
        QueueDelay = "queue_delay", "s", "The queue's data divided by the rate.";
        Dropped = "dropped", "", "Packets dropped since the start: by the queue, by random loss, by a policer, and by steps.";
        Marked = "marked", "", "Packets marked CE since the start, by the queue and by steps.";
        Sent = "sent", "bytes", "Bytes of IP packets sent since the start.";
    }
}

fields! {
    /// A number of the path of the flow under test, from its sender to its receiver and back.
    PathField {
        Rtt = "rtt", "s", "Propagation delay there and back, as the links are now.";
        Rate = "rate", "bit/s", "Smallest rate of a link from the sender to the receiver now.";
        Bdp = "bdp", "bytes", "`path.rate` times `path.rtt`.";
    }
}

/// A variable that an algorithm declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// Name under which it is reported.
    pub name: String,
    /// Unit as its row spells it.
    pub unit: String,
    /// Words for the values 0, 1, 2 ..; empty for a quantity.
    pub words: Vec<String>,
}

/// A flow of a scenario, for expressions.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowWords {
    /// Name.
    pub name: Arc<str>,
    /// Congestion control and the variables that can be read with it; `None` for a flow that is not TCP.
    pub control: Option<(Arc<str>, Arc<[Declared]>)>,
    /// Congestion control of the receiver and its variables, if the flow has one.
    pub receiver: Option<(Arc<str>, Arc<[Declared]>)>,
}

/// A link of a scenario, for expressions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkWords {
    /// Name: `a-b`, by the nodes at its ends.
    pub name: Arc<str>,
}

/// The flows and links that expressions of a scenario may name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vocabulary {
    /// Flows, in the scenario's order.
    pub flows: Vec<FlowWords>,
    /// Links, in the scenario's order.
    pub links: Vec<LinkWords>,
    /// Index of the bottleneck of a dumbbell, if the scenario has one.
    pub bottleneck: Option<usize>,
    /// Index of the flow under test.
    pub under_test: usize,
}
