//! Links simulated packet by packet: any queue discipline, changes of rate and delay, and the plain loop.

use crate::edge::Link;
use crate::parcels::Parcel;
use crate::slots::Slots;
use crate::world::{World, on_link};
use narrows_samples::Probe;
use narrows_units::Instant;

impl World<'_> {
    /// Brings such a link up to now; returns the packet that arrives at its far end, if one does.
    pub(crate) fn arrival_packet_by_packet<P: Probe>(&mut self, edge: usize, probe: &mut P) -> Option<Parcel> {
        let now = self.now;
        let (packet, next) = on_link!(self, edge,
        _line => return None,
        (link, recorder) => if link.sends_ahead() {
            link.drain(now, &mut recorder);
            (None, self.send_on(edge))
        } else {
            (link.arrive(now, &mut recorder), link.next_event())
        });
        self.agenda.arm(Slots::link(edge), next);
        self.watch_departure(edge);
        self.observe_queue(edge, probe);
        self.keep_at(self.topology.edges[edge].to, &packet?)
    }

    /// Brings a link up to now when a transmission ends (plain loop only).
    pub(crate) fn departure<P: Probe>(&mut self, edge: usize, probe: &mut P) {
        let now = self.now;
        let (next, departure) = on_link!(self, edge,
        _line => return,
        (link, recorder) => {
            link.drain(now, &mut recorder);
            (link.next_event(), link.next_departure())
        });
        self.agenda.arm_no_later(Slots::link(edge), next);
        self.agenda.arm(self.slots.departure(edge), departure);
        self.observe_queue(edge, probe);
    }

    /// Arms the first events of queues' timers (plain loop only).
    pub(crate) fn watch_departures(&mut self) {
        (0..self.links.len()).for_each(|edge| self.watch_departure(edge));
    }

    #[inline]
    pub(crate) fn watch_departure(&mut self, edge: usize) {
        if self.plain_loop
            && let Link::Queue(link) = &self.links[edge]
        {
            self.agenda.arm(self.slots.departure(edge), link.next_departure());
        }
    }

    /// Hands a packet to such a link.
    pub(crate) fn send_packet_by_packet<P: Probe>(&mut self, edge: usize, parcel: Parcel, probe: &mut P) {
        let now = self.now;
        let packet = self.parcels.take(parcel);
        let next = on_link!(self, edge,
        _line => return,
        (link, recorder) => {
            link.offer(&packet, now, &mut recorder);
            if link.sends_ahead() { self.send_on(edge) } else { link.next_event() }
        });
        self.agenda.arm_no_later(Slots::link(edge), next);
        self.watch_departure(edge);
        self.observe_queue(edge, probe);
    }

    /// Carries packets that have left a queue over the lines behind it, before they arrive there; returns when the link
    /// must be handled next.
    fn send_on(&mut self, edge: usize) -> Instant {
        let node = self.topology.edges[edge].to;
        loop {
            let Link::Queue(link) = &mut self.links[edge] else { return Instant::NEVER };
            let Some((packet, arrival)) = link.take_early(self.end) else { return link.next_event() };
            self.packets += 1;
            if let Some(parcel) = self.keep_at(node, &packet) {
                self.send_by_lines(parcel, arrival);
            }
        }
    }

    /// Applies changes of rate and delay that are due.
    pub(crate) fn change_links(&mut self) {
        let now = self.now;
        for edge in 0..self.links.len() {
            if self.links[edge].next_change() <= now {
                let next = on_link!(self, edge,
                _line => continue,
                (link, recorder) => {
                    link.change(now, &mut recorder);
                    link.next_event()
                });
                self.agenda.arm_no_later(Slots::link(edge), next);
                self.watch_departure(edge);
            }
        }
        self.arm_changes();
    }

    pub(crate) fn arm_changes(&mut self) {
        let next = self.links.iter().map(Link::next_change).min().unwrap_or(Instant::NEVER);
        self.agenda.arm(Slots::CHANGES, next);
    }
}
