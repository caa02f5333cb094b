//! When the simulation is sampled: at regular times, or whenever something changes.

use crate::edge::Link;
use crate::slots::Slots;
use crate::world::{World, on_link};
use narrows_queue::QueueView;
use narrows_samples::{Probe, QueueRow};
use narrows_scenario::Sampling;
use narrows_scheme::Port;

impl World<'_> {
    /// Samples everything and arms the next sample.
    pub(crate) fn sample<P: Probe>(&mut self, probe: &mut P) {
        let now = self.now;
        self.look_at = 0;
        if P::ENABLED {
            self.radio.catch_up(now, &mut self.flows);
            self.end_trains();
            for edge in 0..self.links.len() {
                if let Link::Line(line) = &mut self.links[edge] {
                    let row = line.look(now);
                    probe.queue(&QueueRow { time_ns: now.as_nanos(), queue: edge as u64, ..row });
                    continue;
                }
                let next = on_link!(self, edge,
                _line => continue,
                (link, recorder) => {
                    link.drain(now, &mut recorder);
                    link.next_event()
                });
                self.agenda.arm_no_later(Slots::link(edge), next);
                probe.queue(&self.queue_row(edge));
                self.sample_subqueues(edge, probe);
            }
            self.losses.count(now, &mut self.flows);
            for queue in self.links.len()..self.links.len() + self.radio.queue_count() {
                probe.queue(&self.queue_row(queue));
                self.sample_subqueues(queue, probe);
            }
            for flow in 0..self.listed {
                if self.flows[flow].start <= now {
                    probe.flow(&self.flow_row(flow));
                }
            }
            self.sample_routers(probe);
            self.sample_states(probe);
        }
        if let Sampling::Interval(every) = self.sampling {
            self.agenda.arm(self.slots.sampler(), now + every);
            self.ahead.sampled(now + every);
        }
    }

    fn sample_subqueues<P: Probe>(&self, queue: usize, probe: &mut P) {
        let parts = self.subqueues(queue).into_iter();
        parts.flat_map(|parts| parts.rows(self.now, queue)).for_each(|row| probe.subqueue(&row));
    }

    /// Samples the sub-queues of a queue that have changed.
    pub(crate) fn observe_subqueues<P: Probe>(&mut self, queue: usize, probe: &mut P) {
        let (now, links) = (self.now, self.links.len());
        let meter = match self.links.get_mut(queue) {
            Some(link) => link.meter_mut(),
            None => Some(self.radio.queue_mut(queue - links).meter_mut()),
        };
        if let Some(meter) = meter.filter(|meter| !meter.subqueues.is_empty()) {
            meter.subqueues.changed_rows(now, queue).for_each(|row| probe.subqueue(&row));
        }
    }

    fn sample_routers<P: Probe>(&mut self, probe: &mut P) {
        for node in 0..self.nodes.count() {
            if let (true, Some((port, view))) = (self.nodes.reports(node), self.fullest_queue(node)) {
                probe.router(&self.router_row(node, port, &view));
            }
        }
    }

    /// The fullest output queue of a router, on which its commands would be based.
    fn fullest_queue(&self, node: usize) -> Option<(Port, QueueView)> {
        let mut fullest: Option<(Port, QueueView)> = None;
        for edge in self.topology.leaving(node) {
            let view = self.links.get(edge).map_or_else(|| self.radio_view(edge), Link::view);
            if fullest.as_ref().is_none_or(|(_, f)| view.occupancy() > f.occupancy()) {
                fullest = Some((self.nodes.port(edge), view));
            }
        }
        fullest
    }

    /// Samples a flow if every event is sampled.
    #[inline]
    pub(crate) fn observe_flow<P: Probe>(&mut self, flow: usize, probe: &mut P) {
        if P::ENABLED && self.sampling == Sampling::Events && flow < self.listed {
            probe.flow(&self.flow_row(flow));
            self.sample_flow_state(flow, probe);
        }
    }

    #[inline]
    pub(crate) fn observe_queue<P: Probe>(&mut self, edge: usize, probe: &mut P) {
        if P::ENABLED && self.sampling == Sampling::Events {
            probe.queue(&self.queue_row(edge));
            self.sample_queue_state(edge, probe);
            self.observe_subqueues(edge, probe);
        }
    }
}
