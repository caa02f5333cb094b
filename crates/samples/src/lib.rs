//! The schema of a run's results: columns, units and meaning. No files, no formulas.
//!
//! A run yields *samples* (rows over time, only on request) and *totals* (one row per flow, queue, router agent and
//! 802.11 station, always). Both are tables of columns, declared only here, but for the counters of schemes, which
//! their rows declare ([`Counters`]). Everything downstream reads [`named`] columns and never lists columns itself.

mod counters;
mod histogram;
mod packed;
mod part;
mod probe;
mod state;
mod store;
mod table;
mod tables;

pub use counters::{Counter, Counters, named, value};
pub use histogram::Histogram;
pub use packed::{Packed, PackedColumn};
pub use probe::{NoProbe, Probe};
pub use state::{Owner, Series, StateRow, StateSamples};
pub use store::{Fault, Store};
pub use table::{Column, Data, NONE, Plain, Table};
pub use tables::{
    DatagramTotal, DatagramTotals, FLOW_COUNTERS, FlowRow, FlowSamples, FlowTotal, FlowTotals, ImpairmentTotal,
    ImpairmentTotals, PlaybackTotal, PlaybackTotals, QueueRow, QueueSamples, QueueTotal, QueueTotals, ROUTER_COUNTERS,
    ROUTER_VALUES, RouterRow, RouterSamples, RouterTotal, RouterTotals, StationTotal, StationTotals, SubqueueRow,
    SubqueueSamples, SubqueueTotal, SubqueueTotals, TransferRow, Transfers,
};

/// What a run yields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// Per flow over time; the `flow` column indexes `flow_totals`.
    pub flows: Packed<FlowSamples>,
    /// Per queue over time; the `queue` column indexes `queue_totals`.
    pub queues: Packed<QueueSamples>,
    /// Per router agent over time.
    pub routers: Packed<RouterSamples>,
    /// Internal state of algorithms over time; the `series` column indexes `series`. Empty unless a run asks for it.
    pub state: Packed<StateSamples>,
    /// What the rows of `state` describe, in the order in which objects first reported.
    pub series: Vec<Series>,
    /// Per sub-queue over time; empty where no discipline has sub-queues. The `queue` column indexes `queue_totals`.
    pub subqueues: Packed<SubqueueSamples>,
    /// One row per flow, in scenario order.
    pub flow_totals: FlowTotals,
    /// One row per queue: links in order, forward direction first, then the interface queues of 802.11 channels.
    pub queue_totals: QueueTotals,
    /// One row per router agent, in the order of the `router` column.
    pub router_totals: RouterTotals,
    /// Names of the columns that schemes fill.
    pub counters: Counters,
    /// Names of flows, in the order of `flow_totals`.
    pub flow_names: Vec<String>,
    /// Names of queues, in the order of `queue_totals`: `"A->B"`; of 802.11 channels `"base->channel"` (with one
    /// queue per station `"base->station"`) and `"station->base"`.
    pub queue_names: Vec<String>,
    /// Names of routers with an agent, in the order of the `router` column.
    pub router_names: Vec<String>,
    /// One row per station of an 802.11 channel, channel by channel, the base station first; empty without channels.
    pub station_totals: StationTotals,
    /// Names of the stations' nodes, in the order of `station_totals`.
    pub station_names: Vec<String>,
    /// Names of 802.11 channels, in the order of the `channel` column.
    pub channel_names: Vec<String>,
    /// One row per sub-queue that a packet reached, queue by queue; empty where no discipline has sub-queues.
    pub subqueue_totals: SubqueueTotals,
    /// Labels of the sub-queues, in the order of `subqueue_totals`.
    pub subqueue_names: Vec<String>,
    /// One row per transfer of a workload, then one per request; empty where nothing asks for transfers.
    pub transfers: Transfers,
    /// Names of workloads, in the order of the `workload` column.
    pub workload_names: Vec<String>,
    /// One row per flow with a video.
    pub playback_totals: PlaybackTotals,
    /// One row per UDP flow whose datagrams have room for a number.
    pub datagram_totals: DatagramTotals,
    /// One row per direction of a link with impairments.
    pub impairment_totals: ImpairmentTotals,
}

impl Samples {
    /// Samples whose tables over time hand finished parts to `store`.
    #[must_use]
    pub fn kept_in(store: &std::sync::Arc<dyn Store>) -> Self {
        let mut samples = Self::default();
        samples.flows.keep_in(store.clone());
        samples.queues.keep_in(store.clone());
        samples.routers.keep_in(store.clone());
        samples.state.keep_in(store.clone());
        samples.subqueues.keep_in(store.clone());
        samples
    }
}
