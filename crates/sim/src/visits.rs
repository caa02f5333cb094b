//! With many flows: what a packet or the next event needs is fetched from memory before it comes.
//!
//! A host that goes ahead of the clock ([`ahead`](crate::ahead)) handles a packet when its arrival is computed. With
//! thousands of flows, nothing of the host is in the caches then, and the processor would wait for each of its cache
//! lines. So the packet joins a short queue, the caches are asked for what the host will need, and the packets of
//! other flows are handled meanwhile. The host is visited when the queue is full, or when the clock reaches the
//! earliest arrival in it.
//!
//! This changes no result. A visit comes at the latest at its arrival's time, and in the order of the queue, so packets
//! of a line stay in order. Whether the host may go ahead is decided at the visit, by what is known then; if it may
//! not, the packet goes on the wire, where it would have been.
//!
//! What comes as an event is fetched by the events before it: the next two packets of a line at its last one, and the
//! next event's line or timer at the event before.

use crate::edge::Link;
use crate::event::Slot;
use crate::flow::End;
use crate::parcels::Parcel;
use crate::slots::Source;
use crate::world::World;
use narrows_tcp::prefetch_lines;
use narrows_units::Instant;
use std::collections::VecDeque;

/// Number of flows from which this pays: the state of so many does not stay in the caches.
pub(crate) const MANY_FLOWS: usize = 256;

/// Packets that wait at most between two events: while so many are handled, what the next one needs arrives, and does
/// not leave the nearest cache again.
const MOST: usize = 6;

/// Packets after which the connection of an earlier one is in the caches, and what it points to can be fetched.
const FETCHED: usize = 2;

/// A packet that arrives at the far end of `edge`, where its host may go ahead.
#[derive(Clone, Copy, Debug)]
struct Visit {
    edge: usize,
    parcel: Parcel,
    at: Instant,
    /// Whether it goes on the wire in any case: another host that was ahead has sent it
    /// ([`Ahead`](crate::ahead::Ahead)), or it is an ACK that is not stored.
    waits: bool,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Visits {
    queue: VecDeque<Visit>,
    /// The earliest arrival in the queue.
    due: Instant,
}

impl Visits {
    /// None, at the beginning.
    pub(crate) fn none() -> Self {
        Self { queue: VecDeque::new(), due: Instant::NEVER }
    }

    /// Whether hosts must be visited before the clock reaches `time`.
    #[inline]
    pub(crate) fn come_before(&self, time: Instant) -> bool {
        self.due <= time && !self.queue.is_empty()
    }
}

impl World<'_> {
    /// Notes which edges lead to the hosts of flows, if there are many.
    pub(crate) fn note_last_edges(&mut self) {
        if !self.has_many_flows() {
            return;
        }
        let last = |flow, along| {
            let hops = self.routes.hops_from(self.routes.start(flow, along));
            hops.iter().map_while(|hop| hop.edge()).last().map_or(u32::MAX, |edge| edge as u32)
        };
        self.lasts = (0..self.flows.len()).flat_map(|flow| [last(flow, false), last(flow, true)]).collect();
    }

    /// Whether there are so many flows that hosts are visited later.
    #[inline]
    pub(crate) fn has_many_flows(&self) -> bool {
        self.many_flows
    }

    /// Lets a packet that arrives at a host wait until what the host needs is in the caches.
    pub(crate) fn visit_later(&mut self, edge: usize, parcel: Parcel, at: Instant, waits: bool) {
        self.visits.queue.push_back(Visit { edge, parcel, at, waits });
        self.visits.due = self.visits.due.min(at);
        self.prefetch_host(parcel);
        if let Some(before) = self.visits.queue.len().checked_sub(1 + FETCHED).and_then(|n| self.visits.queue.get(n)) {
            let (flow, along) = (before.parcel.flow(), before.parcel.along());
            self.connections.prefetch_behind(flow, receiving_end(along), before.parcel.loaded());
        }
    }

    /// Visits all hosts that packets wait for.
    pub(crate) fn visit_all(&mut self) {
        self.visit(0);
    }

    /// Visits hosts until few packets wait. It is called between events: in the middle of one, its host could be
    /// visited again before it has finished.
    #[inline]
    pub(crate) fn visit_first(&mut self) {
        if self.visits.queue.len() > MOST {
            self.visit(MOST);
        }
    }

    /// Visits hosts until `rest` packets wait.
    #[inline(never)]
    fn visit(&mut self, rest: usize) {
        while self.visits.queue.len() > rest
            && let Some(Visit { edge, parcel, at, waits }) = self.visits.queue.pop_front()
        {
            self.arrive(edge, parcel, at, waits);
        }
        if self.visits.queue.is_empty() {
            self.visits.due = Instant::NEVER;
        }
    }

    /// Prefetches what the packets need that arrive next at a line's host: of the second the connection, which takes
    /// many cache lines, and of the first what its connection points to. With thousands of flows, none of it is in the
    /// caches.
    #[inline(never)]
    pub(crate) fn prefetch(&self, edge: usize) {
        let Link::Line(line) = &self.links[edge] else { return };
        let Some(first) = line.coming() else { return };
        if !line.leads_to_host() && self.routes.hop(first.way()).edge().is_some() {
            return;
        }
        match line.second_on_wire() {
            Some(second) => {
                self.connections.prefetch_behind(first.flow(), receiving_end(first.along()), first.loaded());
                self.prefetch_host(second);
            }
            None => self.prefetch_host(first),
        }
    }

    /// Prefetches what the next event needs first, as far as it is known: its line, or the connection of its timer.
    #[inline]
    pub(crate) fn prefetch_next(&self) {
        let Some((slot, hint)) = self.agenda.coming() else { return };
        match self.slots.edge(slot) {
            Some(edge) => {
                prefetch_line(&self.links, edge);
                if let Link::Line(line) = &self.links[edge] {
                    line.prefetch_second();
                }
                // What the router sends it over, in a dumbbell: its last line.
                let (flow, along) = Parcel::hinted(hint);
                if let Some(&last) = self.lasts.get(2 * flow + usize::from(along)) {
                    prefetch_line(&self.links, last as usize);
                }
            }
            None => self.prefetch_timer(slot),
        }
    }

    #[inline(never)]
    fn prefetch_timer(&self, slot: Slot) {
        if let Source::Timer(flow, end) = self.slots.source(slot) {
            self.connections.prefetch(flow, end, false);
        }
    }

    /// Prefetches what a packet needs at its host.
    pub(crate) fn prefetch_host(&self, parcel: Parcel) {
        let (flow, along) = (parcel.flow(), parcel.along());
        self.flows[flow].prefetch();
        if !parcel.is_bare() {
            self.parcels.prefetch(parcel);
        }
        self.connections.prefetch(flow, receiving_end(along), parcel.loaded());
        if let Some(edge) = self.routes.hop(self.routes.start(flow, !along)).edge() {
            prefetch_line(&self.links, edge);
        }
    }
}

/// The end that gets a packet which travels along its flow, or back.
fn receiving_end(along: bool) -> End {
    if along { End::Server } else { End::Client }
}

/// Prefetches what a packet needs that comes to the line, and goes on its wire.
#[inline]
pub(crate) fn prefetch_line(links: &[Link], edge: usize) {
    // Reading whether it is a line would wait for it.
    if let Some(link) = links.get(edge) {
        prefetch_lines(link, 0..3);
    }
}
