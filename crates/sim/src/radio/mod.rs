//! The simulation's 802.11 channels as seen from outside: edges that packets are sent over, and queues that are
//! sampled.
//!
//! Two edges join each station and its base station, base station to station first. They are numbered after the edges
//! of links. An edge leads to an interface queue, and edges of a shared queue lead to the same one. A channel has one
//! slot on the agenda. Packets that stations receive are handed to their nodes after the medium has done everything
//! that was due, so that the medium is at rest when a node answers at once.

mod build;
mod channel;
mod interface;

pub(crate) use build::{modulations, radio};
use channel::{Air, Channel};
pub(crate) use interface::InterfaceQueue;

use crate::flow::FlowState;
use crate::world::World;
use narrows_queue::{DropReason, QueueView};
use narrows_samples::{Probe, Samples};
use narrows_scenario::Sampling;
use narrows_units::Instant;
use narrows_wire::Packet;

/// The meaning of an edge of a channel.
#[derive(Clone, Copy, Debug)]
struct Hop {
    channel: usize,
    from: usize,
    /// Index of the interface queue in its channel.
    queue: usize,
}

/// The 802.11 channels of a simulation.
#[derive(Debug)]
pub(crate) struct Radio {
    channels: Vec<Channel>,
    /// Per edge, counted from the first edge after those of links.
    hops: Vec<Hop>,
    /// All interface queues in the order of samples: channel, and index in it.
    queues: Vec<(usize, usize)>,
}

impl Radio {
    /// Channels as edges and queues. Each station has two edges; their numbers continue from channel to channel.
    fn new(channels: Vec<Channel>) -> Self {
        let (mut hops, mut queues) = (Vec::new(), Vec::new());
        for (number, channel) in channels.iter().enumerate() {
            for station in 1..channel.nodes().count() {
                for (from, to) in [(0, station), (station, 0)] {
                    hops.push(Hop { channel: number, from, queue: channel.queue_between(from, to) });
                }
            }
            queues.extend((0..channel.queue_count()).map(|queue| (number, queue)));
        }
        Self { channels, hops, queues }
    }

    /// How many interface queues there are.
    pub(crate) fn queue_count(&self) -> usize {
        self.queues.len()
    }

    /// An interface queue, by its index among all of them.
    pub(crate) fn queue(&self, index: usize) -> &InterfaceQueue {
        let (channel, queue) = self.queues[index];
        self.channels[channel].queue(queue)
    }

    /// The same, mutable.
    pub(crate) fn queue_mut(&mut self, index: usize) -> &mut InterfaceQueue {
        let (channel, queue) = self.queues[index];
        self.channels[channel].queue_mut(queue)
    }

    /// Lets the timers of all queues fire for every time up to `now`.
    pub(crate) fn catch_up(&mut self, now: Instant, flows: &mut [FlowState]) {
        for channel in &mut self.channels {
            for queue in 0..channel.queue_count() {
                channel.queue_mut(queue).catch_up(now, flows);
            }
        }
    }

    /// Bits that a queue's channel would carry at its data rate over the run to `end`. No channel reaches this, because
    /// preambles, backoff and acknowledgments take time too.
    pub(crate) fn capacity_bits(&self, index: usize, end: Instant) -> u64 {
        let (channel, _) = self.queues[index];
        let bits = u128::from(self.channels[channel].rate.as_bps()) * u128::from(end.as_nanos()) / 1_000_000_000;
        u64::try_from(bits).unwrap_or(u64::MAX)
    }

    /// The queue that an edge leads to; edges are counted without those of links.
    pub(crate) fn view(&self, edge: usize) -> QueueView {
        let Hop { channel, queue, .. } = self.hops[edge];
        self.channels[channel].queue(queue).view()
    }

    /// Channel, and index in it, of the queue that an edge leads to; edges are counted without those of links.
    pub(crate) fn queue_of(&self, edge: usize) -> (usize, usize) {
        let Hop { channel, queue, .. } = self.hops[edge];
        (channel, queue)
    }

    /// Shows packets that leave the queue of an edge to a router agent, from now on. `edge` is counted without the
    /// edges of links, `number` with them.
    pub(crate) fn tell_departures(&mut self, edge: usize, number: usize) {
        let Hop { channel, queue, .. } = self.hops[edge];
        self.channels[channel].queue_mut(queue).tell_departures(number);
    }

    /// Names of all interface queues, in the order of samples.
    pub(crate) fn queue_names(&self) -> impl Iterator<Item = &String> {
        self.channels.iter().flat_map(|channel| &channel.queue_names)
    }

    /// Adds the totals of the stations, and the names of stations and channels.
    pub(crate) fn totals(&self, end: Instant, name: impl Fn(usize) -> String, samples: &mut Samples) {
        for (number, channel) in self.channels.iter().enumerate() {
            samples.channel_names.push(channel.name.clone());
            for (station, node) in channel.nodes().enumerate() {
                samples.station_names.push(name(node));
                samples.station_totals.push(&channel.station_total(number, station, end));
            }
        }
    }
}

/// A medium and its host, borrowed separately from the rest of the `World`.
macro_rules! on_air {
    ($world:ident, $channel:expr, $medium:ident, $air:ident => $body:expr) => {{
        let channel = $channel;
        let Channel { medium: $medium, interfaces, .. } = &mut $world.radio.channels[channel];
        let mut $air = Air {
            interfaces,
            flows: &mut $world.flows,
            nodes: &mut $world.nodes,
            ends: &$world.ends,
            capture: $world.capture.as_mut(),
            channel,
        };
        $body
    }};
}

impl World<'_> {
    /// The queue that an edge of a channel leads to.
    pub(crate) fn radio_view(&self, edge: usize) -> QueueView {
        self.radio.view(edge - self.links.len())
    }

    /// Hands a packet to the interface queue of a station.
    #[cold]
    #[inline(never)]
    pub(crate) fn send_by_radio<P: Probe>(&mut self, edge: usize, packet: &Packet, probe: &mut P) {
        let now = self.now;
        let Hop { channel, from, queue } = self.radio.hops[edge - self.links.len()];
        self.radio.channels[channel].queue_mut(queue).offer(packet, now, &mut self.flows);
        on_air!(self, channel, medium, air => medium.wake(from, now, &mut air));
        self.radio.channels[channel].queue_mut(queue).note_level();
        self.after_air(channel, probe);
    }

    /// Counts a packet that a router agent drops in front of an interface queue.
    pub(crate) fn refuse_by_radio(&mut self, edge: usize, packet: Packet, reason: DropReason) {
        let Hop { channel, queue, .. } = self.radio.hops[edge - self.links.len()];
        self.radio.channels[channel].queue_mut(queue).refuse(packet, reason, &mut self.flows);
    }

    /// Handles what is due on a channel.
    pub(crate) fn air<P: Probe>(&mut self, channel: usize, probe: &mut P) {
        let now = self.now;
        while let Some(station) = self.radio.channels[channel].station_to_wake(now) {
            on_air!(self, channel, medium, air => medium.wake(station, now, &mut air));
        }
        on_air!(self, channel, medium, air => medium.handle(now, &mut air));
        self.after_air(channel, probe);
        while let Some(arrival) = self.radio.channels[channel].next_arrival() {
            self.packets += 1;
            if let Some(parcel) = self.keep_at(arrival.node, &arrival.packet) {
                self.receive(parcel, probe);
            }
        }
        self.arm_air(channel);
    }

    fn after_air<P: Probe>(&mut self, channel: usize, probe: &mut P) {
        self.arm_air(channel);
        if P::ENABLED && self.sampling == Sampling::Events {
            for index in 0..self.radio.queues.len() {
                let (of, queue) = self.radio.queues[index];
                if of == channel && self.radio.channels[of].queue_mut(queue).take_change() {
                    probe.queue(&self.queue_row(self.links.len() + index));
                    self.sample_queue_state(self.links.len() + index, probe);
                    self.observe_subqueues(self.links.len() + index, probe);
                }
            }
        }
    }

    fn arm_air(&mut self, channel: usize) {
        let next = self.radio.channels[channel].next_event(self.now);
        let slot = self.slots.channel(channel);
        if self.agenda.armed(slot) != next {
            self.agenda.arm(slot, next);
        }
    }
}
