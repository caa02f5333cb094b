//! The state of the simulation as rows of samples and totals.

use crate::connections::delivered;
use crate::edge::Link;
use crate::flow::End;
use crate::run::{Options, RunError};
use crate::world::World;
use narrows_fabric::{End as TransferEnd, LinkMeter, Subqueues, Transfers, counters, framed, playback_row};
use narrows_fabric::{impairment_total, queue_row, queue_total, router_row, router_total};
use narrows_queue::QueueView;
use narrows_samples::{FlowRow, FlowTotal, NONE, QueueRow, QueueTotal, RouterRow, Samples};
use narrows_scheme::{End as Counting, Port};
use narrows_tcp::Connection;
use narrows_units::{Bytes, Duration, Instant};
use std::borrow::Cow;

/// Rows of totals between two checks of the progress handle.
const LOOK_EVERY: usize = 1 << 12;

fn bytes(value: Option<Bytes>) -> u64 {
    value.map_or(NONE, Bytes::as_u64)
}

fn nanos(value: Option<Duration>) -> u64 {
    value.map_or(NONE, Duration::as_nanos)
}

impl World<'_> {
    /// A flow as it is now.
    pub(crate) fn flow_row(&self, flow: usize) -> FlowRow {
        let state = &self.flows[flow];
        let meter = &state.meter;
        let mut row = FlowRow {
            time_ns: self.now.as_nanos(),
            flow: flow as u64,
            cwnd_bytes: NONE,
            ssthresh_bytes: NONE,
            srtt_ns: NONE,
            rtt_ns: nanos(meter.latest_rtt()),
            rto_ns: NONE,
            rwnd_bytes: NONE,
            flightsize_bytes: NONE,
            inflight_bytes: NONE,
            sent_bytes: meter.udp().sent_bytes,
            sent_packets: meter.udp().sent_packets,
            delivered_bytes: delivered(&self.connections, flow, state).as_u64(),
            lost_packets: meter.lost_packets,
            arrived_bytes: meter.arrived_bytes,
            ..FlowRow::default()
        };
        if let Some(sender) = self.connections.get(flow, state.sender()) {
            let info = sender.info();
            let stats = sender.stats();
            row.cwnd_bytes = info.cwnd.as_u64();
            row.ssthresh_bytes = bytes(info.ssthresh);
            row.srtt_ns = nanos(info.srtt);
            row.rto_ns = info.rto.as_nanos();
            row.rwnd_bytes = info.rwnd.as_u64();
            row.flightsize_bytes = info.flightsize.as_u64();
            row.inflight_bytes = info.inflight.as_u64();
            row.sent_bytes = stats.sent_bytes.as_u64();
            row.sent_packets = stats.sent_packets.as_u64();
            row.retransmitted_packets = stats.retransmitted_packets.as_u64();
            row.timeouts = stats.timeouts;
            if let Some(assist) = sender.assist()
                && self.counts_at(Counting::Sender)
            {
                row.counters = assist.counters();
            }
        }
        row
    }

    /// Whether this end of a flow has the counters of the run's scheme.
    fn counts_at(&self, end: Counting) -> bool {
        self.factory.scheme.as_ref().is_some_and(|scheme| scheme.row.flow_counters.end == end)
    }

    /// A queue as it is now. Queues of link directions are numbered first, then interface queues.
    pub(crate) fn queue_row(&self, queue: usize) -> QueueRow {
        let (view, meter) = self.queue(queue);
        queue_row(self.now, queue, &view, &meter)
    }

    /// The counters of a queue's sub-queues, if it has any; numbered as in [`queue_row`](Self::queue_row).
    pub(crate) fn subqueues(&self, queue: usize) -> Option<&Subqueues> {
        match self.links.get(queue) {
            Some(link) => link.subqueues(),
            None => Some(&self.radio.queue(queue - self.links.len()).meter().subqueues),
        }
    }

    fn queue(&self, queue: usize) -> (QueueView, Cow<'_, LinkMeter>) {
        match self.links.get(queue) {
            Some(link) => (link.view(), link.meter()),
            None => {
                let queue = self.radio.queue(queue - self.links.len());
                (queue.view(), Cow::Borrowed(queue.meter()))
            }
        }
    }

    /// A router's agent as it is now, given the queue on which its commands would be based.
    pub(crate) fn router_row(&self, node: usize, port: Port, queue: &QueueView) -> RouterRow {
        let flow_counts =
            self.nodes[node].agent.as_ref().map(|a| a.flow_counts(port, queue, self.now)).unwrap_or_default();
        let router = (0..node).filter(|&node| self.nodes.reports(node)).count();
        router_row(self.now, router, &flow_counts)
    }

    /// Adds the totals and the names to the samples of a finished run.
    ///
    /// # Errors
    /// [`RunError::Stopped`] if the run's progress handle asks for it.
    pub(crate) fn totals(&mut self, samples: &mut Samples, options: &Options<'_>) -> Result<(), RunError> {
        let go_on = |row: usize| {
            let stopped = row.is_multiple_of(LOOK_EVERY) && options.stopped();
            if stopped { Err(RunError::Stopped) } else { Ok(()) }
        };
        samples.flow_totals.reserve(self.listed);
        for flow in 0..self.listed {
            go_on(flow)?;
            samples.flow_totals.push(&self.flow_total(flow));
        }
        self.transfers(samples, go_on)?;
        let queues = self.links.len() + self.radio.queue_count();
        samples.queue_totals.reserve(queues);
        for queue in 0..queues {
            go_on(queue)?;
            samples.queue_totals.push(&self.queue_total(queue));
            if let Some(meter) = self.links.get(queue).and_then(Link::impaired) {
                samples.impairment_totals.push(&impairment_total(queue, meter));
            }
            for (label, total) in self.subqueues(queue).into_iter().flat_map(|parts| parts.totals(queue)) {
                samples.subqueue_totals.push(&total);
                samples.subqueue_names.push(label.to_owned());
            }
        }
        for agent in self.nodes.iter().filter_map(|node| node.agent.as_ref()).filter(|agent| agent.reports()) {
            samples.router_totals.push(&router_total(&agent.counters()));
        }
        samples.counters = counters(self.factory.scheme.as_ref().map(|scheme| scheme.row.about.name));
        samples.flow_names = self.scenario.listed().map(|f| f.name.clone()).collect();
        let name = |node: usize| self.factory.node_name(node);
        let wired = self.topology.edges.iter().take(self.links.len());
        let wired = wired.map(|e| format!("{}->{}", name(e.from), name(e.to)));
        samples.queue_names = wired.chain(self.radio.queue_names().cloned()).collect();
        samples.router_names =
            (0..self.nodes.count()).filter(|&n| self.nodes.reports(n)).map(|n| name(n).to_owned()).collect();
        self.radio.totals(self.end, |node| name(node).to_owned(), samples);
        Ok(())
    }

    /// Adds the transfers of workloads, the requests of flows, and what video players did.
    fn transfers(
        &mut self,
        samples: &mut Samples,
        go_on: impl Fn(usize) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let mut transfers = Transfers::new(self.scenario);
        for flow in (self.listed..self.flows.len()).chain(0..self.listed) {
            go_on(flow)?;
            let end = self.end_of(flow);
            let state = &mut self.flows[flow];
            transfers.rows((flow, state.start), &state.app, end, |row| samples.transfers.push(row));
            if let Some(told) = state.app.playback(self.end) {
                samples.playback_totals.push(&playback_row(flow, &told));
            }
        }
        for flow in 0..self.listed {
            if let Some(meter) = &self.flows[flow].datagrams {
                samples.datagram_totals.push(&meter.total(flow, framed(&self.scenario.flows[flow])));
            }
        }
        samples.workload_names = self.scenario.workloads.iter().map(|of| of.flow.name.clone()).collect();
        Ok(())
    }

    /// How a flow ended.
    fn end_of(&self, flow: usize) -> TransferEnd {
        let state = &self.flows[flow];
        let stats = self.connections.get(flow, state.sender()).map(Connection::stats).unwrap_or_default();
        TransferEnd {
            finished: state.meter.finished(),
            delivered: delivered(&self.connections, flow, state),
            retransmitted_packets: Some(stats.retransmitted_packets.as_u64()),
            timeouts: Some(stats.timeouts),
        }
    }

    fn flow_total(&self, flow: usize) -> FlowTotal {
        let state = &self.flows[flow];
        let row = self.flow_row(flow);
        let meter = &state.meter;
        let rtt = meter.round_trips();
        let stats = self.connections.get(flow, state.sender()).map(Connection::stats).unwrap_or_default();
        let receiver = self.connections.get(flow, state.sender().other());
        let assist = receiver.and_then(|c| c.assist()).filter(|_| self.counts_at(Counting::Receiver));
        let aborts = [End::Client, End::Server].map(|end| self.connections.get(flow, end)?.aborted_at());
        let aborted = aborts.into_iter().flatten().min();
        FlowTotal {
            start_ns: state.start.min(state.stop).min(self.end).as_nanos(),
            stop_ns: meter
                .finished()
                .unwrap_or(state.stop.min(aborted.unwrap_or(Instant::NEVER)))
                .min(self.end)
                .as_nanos(),
            sent_bytes: row.sent_bytes,
            sent_packets: row.sent_packets,
            arrived_bytes: meter.arrived_bytes,
            arrived_packets: meter.arrived_packets,
            delivered_bytes: row.delivered_bytes,
            lost_packets: meter.lost_packets,
            retransmitted_packets: stats.retransmitted_packets.as_u64(),
            retransmitted_bytes: stats.retransmitted_bytes.as_u64(),
            timeouts: stats.timeouts,
            fast_retransmits: stats.fast_retransmits,
            triple_duplicate_acks: stats.triple_duplicate_acks,
            later_duplicate_acks: stats.later_duplicate_acks,
            ecn_reductions: stats.ecn_reductions,
            spurious: stats.spurious,
            rtt_samples: rtt.count(),
            rtt_sum_ns: rtt.sum(),
            rtt_min_ns: rtt.min(),
            rtt_max_ns: rtt.max(),
            rtt_p50_ns: rtt.percentile(0.50),
            rtt_p95_ns: rtt.percentile(0.95),
            rtt_p99_ns: rtt.percentile(0.99),
            max_bin_bytes: meter.max_bin_bytes(),
            counters: assist.map_or(row.counters, |assist| assist.counters()),
            transactions: state.app.transactions(),
            finished_ns: meter.finished().map_or(NONE, |t| t.as_nanos()),
            aborted_ns: aborted.map_or(NONE, |t| t.as_nanos()),
        }
    }

    fn queue_total(&self, index: usize) -> QueueTotal {
        let (view, meter) = self.queue(index);
        let ((unsent_time, unsent_bytes), capacity_bits) = match self.links.get(index) {
            Some(link) => (link.unsent(self.end), link.capacity_bits(self.end)),
            None => {
                let index = index - self.links.len();
                (self.radio.queue(index).unsent(self.end), self.radio.capacity_bits(index, self.end))
            }
        };
        queue_total(&view, &meter, (unsent_time, unsent_bytes), capacity_bits)
    }
}
