//! What simulated and live networks share: links, queues, losses, router agents, applications and routes, built from a
//! scenario, and their counters.
//!
//! Nothing here depends on what drives it. Time is an argument: a simulator passes in the time of its next event, a
//! live bottleneck the time of the machine's clock.

mod act;
mod agents;
mod app;
mod catalogue;
mod datagrams;
mod delivery;
mod exchange;
mod flow;
mod flow_id;
mod ideal;
mod impair;
mod link;
mod loss;
mod meter;
mod node;
mod page;
mod parts;
mod pcap;
mod progress;
mod reporters;
mod rows;
mod seeds;
mod sizes;
mod states;
mod steps;
mod subqueues;
mod timer;
mod topology;
mod transfers;
mod video;
mod workloads;

pub use act::Act;
pub use agents::{Scheme, agents, scheme};
pub use app::Source;
pub use catalogue::{catalogue, catalogue_with};
pub use datagrams::{DatagramMeter, datagram_header, framed};
pub use exchange::{Exchange, Exchanged};
pub use flow::{SlowReader, flow_sources, flow_start};
pub use flow_id::{MAX_FLOWS, flow_of, ports};
pub use ideal::Paths;
pub use impair::{Impair, ImpairMeter};
pub use link::{Chosen, Counted, Intervention, LinkDirection, LinkMeter, LinkWatch, Selection};
pub use loss::LossModel;
pub use meter::{FlowMeter, UdpCounts};
pub use node::{Exit, Node, Nodes};
pub use page::PageLoad;
pub use parts::{link_direction, link_direction_of, link_losses, queue};
pub use pcap::{Deliveries, DropFile, Marks, PcapFailure, PcapFile, PcapNames, SNAPLEN, UnreadableCapture, Wanted};
pub use progress::Progress;
pub use reporters::{CONNECTION, CONNECTION_VARIABLES, DisciplineVariables, discipline_variables, sender_variables};
pub use rows::{counters, impairment_total, queue_row, queue_total, router_row, router_total};
pub use seeds::Seeds;
pub use states::{Reporter, States};
pub use steps::{Effect, Touched, edge_of, effects, link_value, watched_flows};
pub use subqueues::Subqueues;
pub use timer::QueueTimer;
pub use topology::{Edge, Topology};
pub use transfers::{End, Transfers, playback_row};
pub use video::Playback;
pub use workloads::{MOST_FLOWS, TooMany, with_transfers};
