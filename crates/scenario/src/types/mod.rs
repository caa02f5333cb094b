//! The validated scenario, from which simulated and live runs are built: plain values that need no further check.

mod impair;
mod scheme;
mod tcp;
mod wifi;
mod workload;

pub use impair::*;
pub use narrows_settings::IpOptions;
pub use narrows_settings::queue::Limit;
pub use scheme::*;
pub use tcp::*;
pub use wifi::*;
pub use workload::*;

use crate::trace::Trace;
use narrows_settings::queue::Params;
use narrows_timeline::Case;
use narrows_units::{Bytes, Duration, Instant, Probability, Rate};
use std::net::IpAddr;
use std::sync::Arc;

/// A validated scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Short name: letters, digits, `-` and `_`.
    pub name: String,
    /// Human-readable title.
    pub title: String,
    /// Longer text for the report.
    pub description: String,
    /// Simulated time.
    pub duration: Duration,
    /// Seed used if the command line gives none.
    pub seed: u64,
    /// Each flow with `jitter` starts later by a random time, uniform from zero to this value, drawn per run.
    pub start_jitter: Duration,
    /// What is sampled.
    pub sampling: Sampling,
    /// Whether samples include the internal state of congestion controls, loss recovery and queues.
    pub sample_state: bool,
    /// Nodes, in file order, then those that a shorthand made. Names are unique.
    pub nodes: Vec<Node>,
    /// Links between nodes.
    pub links: Vec<Link>,
    /// 802.11 channels. No node is a station of two of them, or base station of two.
    pub wifi: Vec<Wifi>,
    /// Flows. Names are unique. In one run of a scenario with workloads, those of its transfers follow the listed ones.
    pub flows: Vec<Flow>,
    /// Workloads, whose transfers each run draws anew. Names are unique, also among flows.
    pub workloads: Vec<Workload>,
    /// The scheme that runs, if any.
    pub scheme: Option<Scheme>,
    /// Names of all schemes of the catalogue: keys of [`to_json`](Self::to_json).
    pub known_schemes: Vec<&'static str>,
    /// IP version of all packets.
    pub ip: IpVersion,
    /// Steps that change the run, and expectations about it; `None` without `[case]`, `[[steps]]` and `[[expect]]`.
    pub case: Option<Arc<Case>>,
}

impl Scenario {
    /// Returns the flows of the file: in a run, those without the transfers of workloads.
    pub fn listed(&self) -> impl Iterator<Item = &Flow> {
        self.flows.iter().take_while(|flow| flow.part.is_none())
    }
}

/// IP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpVersion {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// What is sampled over time. Totals are always kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// Nothing: memory does not grow with simulated time.
    Off,
    /// Every flow, queue and router at this interval.
    Interval(Duration),
    /// Every flow on each ACK it handles, every queue on each change.
    Events,
}

/// Role of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Ends flows and does not forward.
    Host,
    /// Forwards.
    Router,
}

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Name.
    pub name: String,
    /// Role.
    pub kind: NodeKind,
    /// What it does to IPv4 options; only routers that run no scheme do anything.
    pub ip_options: IpOptions,
    /// Address: given, or assigned in order (10.0.0.1, 10.0.0.2 ..; fd00::1 ..).
    pub address: IpAddr,
}

/// A link: two independent directions between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Index of the node where the forward direction starts.
    pub a: usize,
    /// Index of the node where the forward direction ends.
    pub b: usize,
    /// From `a` to `b`.
    pub forward: Direction,
    /// From `b` to `a`.
    pub reverse: Direction,
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Direction {
    /// Rate at the start; the mean rate of the trace if there is one.
    pub rate: Rate,
    /// The trace that the direction follows instead of a constant rate. Directions with the same trace share it.
    pub trace: Option<Arc<Trace>>,
    /// Propagation delay at the start.
    pub delay: Duration,
    /// Queue in front of it.
    pub queue: Queue,
    /// Random losses on it.
    pub loss: Loss,
    /// Changes of rate or delay, in order of time.
    pub changes: Vec<Change>,
    /// Impairments other than losses; `None` if it has none. Directions that have the same share them.
    pub impairments: Option<Arc<Impairments>>,
}

impl Direction {
    /// Returns the largest rate over a run: of the rate, its changes and its trace.
    #[must_use]
    pub fn largest_rate(&self) -> Rate {
        let start = self.trace.as_ref().map_or(self.rate, |trace| trace.largest_rate());
        self.changes.iter().filter_map(|change| change.rate).fold(start, Rate::max)
    }
}

/// A change of a direction at a given time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// When.
    pub at: Instant,
    /// New rate, for packets whose transmission starts from then on.
    pub rate: Option<Rate>,
    /// New propagation delay, likewise; the direction stays first in, first out.
    pub delay: Option<Duration>,
}

/// Losses on a link, apart from its queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// None.
    None,
    /// Each packet is lost with this probability (PER).
    Uniform(Probability),
    /// Gilbert-Elliott: two states with their own PER; transitions are drawn once per packet.
    GilbertElliott {
        /// From good to bad, per packet.
        to_bad: Probability,
        /// From bad to good, per packet.
        to_good: Probability,
        /// PER in the good state.
        per_good: Probability,
        /// PER in the bad state.
        per_bad: Probability,
    },
}

/// A queue: a discipline of the catalogue with its limit and parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    /// Name of the discipline.
    pub kind: &'static str,
    /// Largest backlog; the packet in transmission is not counted.
    pub limit: Limit,
    /// All parameters of the discipline besides the limit, in its units. Queues that have the same share them.
    pub params: Arc<Params>,
}

impl Queue {
    /// A queue whose discipline has no parameters, or whose parameters have their defaults.
    #[must_use]
    pub fn new(kind: &'static str, limit: Limit) -> Self {
        Self { kind, limit, params: Arc::default() }
    }
}

/// A flow's application and traffic pattern.
#[derive(Clone, Debug, PartialEq)]
pub enum Traffic {
    /// TCP that always has data, or has `size` bytes of it and then closes.
    Bulk {
        /// Total bytes; `None` is unlimited.
        size: Option<Bytes>,
    },
    /// TCP whose application writes at a constant rate, in writes of `write` bytes.
    RateLimited {
        /// Application rate.
        rate: Rate,
        /// Bytes per write.
        write: Bytes,
    },
    /// TCP or UDP with alternating on and off periods.
    OnOff {
        /// Rate while on; `None` is as fast as TCP allows.
        rate: Option<Rate>,
        /// Mean length of an on period.
        on: Duration,
        /// Mean length of an off period.
        off: Duration,
        /// How the lengths are drawn.
        distribution: Distribution,
    },
    /// TCP: the client sends a request, the server answers, and after a think time the client asks again.
    RequestResponse {
        /// Bytes of a request.
        request: Bytes,
        /// Bytes of a response.
        response: Sizes,
        /// Time between a response's end and the next request.
        think: Duration,
        /// Number of requests; `None` is until the flow stops.
        count: Option<u64>,
    },
    /// TCP: a video in segments, requested one after another.
    Video(Arc<Video>),
    /// TCP: one of the connections over which a page is loaded.
    Page(Arc<Page>),
    /// Datagrams at a constant rate, each of the transport's payload.
    Datagrams {
        /// Rate, counted over IP packets (headers included).
        rate: Rate,
        /// Mean on-times and off-times, if it pauses.
        pauses: Option<Pauses>,
    },
    /// Frames at equal distances, each cut into datagrams that are sent at once, of at most the transport's payload.
    Frames {
        /// Mean rate of the media.
        rate: Rate,
        /// Frames per second.
        frame_rate: u32,
    },
}

/// A video whose client chooses each segment's rate by its buffer (BBA-0; Huang et al. 2014).
#[derive(Clone, Debug, PartialEq)]
pub struct Video {
    /// Bytes of a request.
    pub request: Bytes,
    /// Rates of the encodings, rising.
    pub ladder: Vec<Rate>,
    /// Media time of a segment.
    pub segment: Duration,
    /// Largest media time in the buffer; the client waits before it would hold more.
    pub buffer: Duration,
    /// Media time in the buffer up to which the lowest rate is chosen.
    pub reservoir: Duration,
    /// Media time above the reservoir over which the rate rises to the highest one.
    pub cushion: Duration,
    /// Media time that must be in the buffer before playback starts or goes on.
    pub startup: Duration,
    /// Media time of the video; `None` until the flow stops.
    pub length: Option<Duration>,
}

/// A page and one of the connections that load it.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// Bytes of a request.
    pub request: Bytes,
    /// Sizes of its objects; the first is loaded before all others.
    pub objects: Vec<Bytes>,
}

/// On-times and off-times of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pauses {
    /// Mean on-time.
    pub on: Duration,
    /// Mean off-time.
    pub off: Duration,
    /// Distribution of both.
    pub distribution: Distribution,
}

/// Distribution of random times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// Always the mean.
    Constant,
    /// Exponential.
    Exponential,
    /// Pareto with shape 1.5.
    Pareto,
}

/// A flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Name.
    pub name: String,
    /// Index of the node that sends data (for request and response: the client).
    pub from: usize,
    /// Index of the node that receives data.
    pub to: usize,
    /// When the application starts (and the connection opens).
    pub start: Instant,
    /// When the application stops; the end of the run by default.
    pub stop: Instant,
    /// Differentiated services codepoint, 0 to 63.
    pub dscp: u8,
    /// Whether `start_jitter` applies.
    pub jitter: bool,
    /// The application.
    pub traffic: Traffic,
    /// Transport protocol and its settings.
    pub transport: Transport,
    /// The transfer of a workload that it carries; `None` for a flow of the file.
    pub part: Option<OfWorkload>,
}

/// Which transfer of which workload a flow carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfWorkload {
    /// Index of the workload.
    pub workload: u32,
    /// Number of the transfer in its workload, from 0.
    pub number: u32,
    /// Index of the pair of end points.
    pub pair: u32,
    /// Number of the connection in a page, from 0.
    pub connection: u32,
}

/// A flow's transport protocol with its settings.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    /// TCP; flows with the same settings share them.
    Tcp(Arc<Tcp>),
    /// UDP.
    Udp(Udp),
}

/// UDP settings of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Udp {
    /// Payload bytes per datagram.
    pub payload: Bytes,
}

impl Traffic {
    /// Whether the server's side carries the data (responses), rather than the client's.
    #[must_use]
    pub const fn server_sends(&self) -> bool {
        matches!(self, Self::RequestResponse { .. } | Self::Video(_) | Self::Page(_))
    }
}

impl Flow {
    /// Returns the TCP settings; `None` for a flow of another transport.
    #[must_use]
    pub const fn tcp(&self) -> Option<&Arc<Tcp>> {
        match &self.transport {
            Transport::Tcp(tcp) => Some(tcp),
            Transport::Udp(_) => None,
        }
    }

    /// Returns the TCP settings to be changed for this flow alone; `None` for a flow of another transport.
    pub fn tcp_mut(&mut self) -> Option<&mut Tcp> {
        match &mut self.transport {
            Transport::Tcp(tcp) => Some(Arc::make_mut(tcp)),
            Transport::Udp(_) => None,
        }
    }

    /// Returns the UDP settings; `None` for a flow of another transport.
    #[must_use]
    pub const fn udp(&self) -> Option<&Udp> {
        match &self.transport {
            Transport::Udp(udp) => Some(udp),
            Transport::Tcp(_) => None,
        }
    }

    /// Returns the scheme at the end that a flow comes from, which only TCP flows have.
    #[must_use]
    pub fn assist(&self) -> Option<&str> {
        self.tcp()?.assist.as_deref()
    }

    /// Whether an end of the flow has this scheme.
    #[must_use]
    pub fn has_assist(&self, scheme: &str) -> bool {
        self.tcp().is_some_and(|tcp| tcp.assist.as_deref() == Some(scheme) || tcp.peer_assist() == Some(scheme))
    }
}
