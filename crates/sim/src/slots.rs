//! Which slot of the agenda belongs to which source of events.

use crate::event::Slot;
use crate::flow::End;

/// The slots of each kind of event source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots {
    edges: usize,
    flows: usize,
    channels: usize,
    plain: bool,
}

impl Slots {
    /// Slots for this many link directions, flows and 802.11 channels. The plain loop has additional slots for ends of
    /// transmissions on links.
    pub(crate) const fn new(edges: usize, flows: usize, channels: usize, plain: bool) -> Self {
        Self { edges, flows, channels, plain }
    }

    /// How many slots there are.
    pub(crate) const fn count(self) -> usize {
        self.sampler().index() + 1
    }

    /// Number of leading slots that the near tree holds: changes of links, then links, which move with every packet.
    pub(crate) const fn near(self) -> usize {
        Self::FIXED + self.edges
    }

    /// Number of leading slots that come before all other events of the same instant: changes of links.
    pub(crate) const FIXED: usize = 1;
    pub(crate) const CHANGES: Slot = Slot::new(0);

    pub(crate) const fn link(edge: usize) -> Slot {
        Slot::new(1 + edge)
    }

    pub(crate) const fn timer(self, flow: usize, end: End) -> Slot {
        Slot::new(self.near() + 4 * flow + end.index())
    }

    pub(crate) const fn app(self, flow: usize) -> Slot {
        Slot::new(self.near() + 4 * flow + 2)
    }

    pub(crate) const fn reader(self, flow: usize) -> Slot {
        Slot::new(self.near() + 4 * flow + 3)
    }

    pub(crate) const fn channel(self, channel: usize) -> Slot {
        Slot::new(self.near() + 4 * self.flows + channel)
    }

    pub(crate) const fn departure(self, edge: usize) -> Slot {
        Slot::new(self.near() + 4 * self.flows + self.channels + edge)
    }

    /// The slot of looks at a case, which come after all other events of the same instant but samples.
    pub(crate) const fn case(self) -> Slot {
        self.departure(if self.plain { self.edges } else { 0 })
    }

    /// The slot of samples, which come after all other events of the same instant.
    pub(crate) const fn sampler(self) -> Slot {
        Slot::new(self.case().index() + 1)
    }

    /// The link direction that owns a slot; `None` for any other source.
    #[inline]
    pub(crate) fn edge(self, slot: Slot) -> Option<usize> {
        // Slot 0 wraps to a number that no edge has.
        let edge = slot.index().wrapping_sub(Self::FIXED);
        (edge < self.edges).then_some(edge)
    }

    /// The source that owns a slot.
    #[inline]
    pub(crate) fn source(self, slot: Slot) -> Source {
        let index = slot.index();
        if let Some(edge) = index.checked_sub(Self::FIXED).filter(|&edge| edge < self.edges) {
            return Source::Link(edge);
        }
        let Some(index) = index.checked_sub(self.near()) else { return Source::Changes };
        let flow = index / 4;
        if flow < self.flows {
            return match index % 4 {
                0 => Source::Timer(flow, End::Client),
                1 => Source::Timer(flow, End::Server),
                2 => Source::App(flow),
                _ => Source::Reader(flow),
            };
        }
        match index - 4 * self.flows {
            channel if channel < self.channels => Source::Channel(channel),
            rest => match rest - self.channels {
                edge if self.plain && edge < self.edges => Source::Departure(edge),
                rest if rest == if self.plain { self.edges } else { 0 } => Source::Case,
                _ => Source::Sampler,
            },
        }
    }
}

/// A source of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Changes of links' rates and delays.
    Changes,
    /// The far end of a direction of a link.
    Link(usize),
    /// The timer of an end of a flow.
    Timer(usize, End),
    /// A flow's application.
    App(usize),
    /// A flow's slow reader.
    Reader(usize),
    /// An 802.11 channel.
    Channel(usize),
    /// The near end of a direction of a link (in the plain loop only).
    Departure(usize),
    /// Looks at a case.
    Case,
    /// Samples.
    Sampler,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_source_has_a_slot_of_its_own() {
        for plain in [false, true] {
            let slots = Slots::new(3, 2, 2, plain);
            let mut all = vec![(Slots::CHANGES, Source::Changes), (slots.sampler(), Source::Sampler)];
            all.push((slots.case(), Source::Case));
            all.extend((0..3).map(|edge| (Slots::link(edge), Source::Link(edge))));
            for flow in 0..2 {
                all.extend([End::Client, End::Server].map(|end| (slots.timer(flow, end), Source::Timer(flow, end))));
                all.push((slots.app(flow), Source::App(flow)));
                all.push((slots.reader(flow), Source::Reader(flow)));
            }
            all.extend((0..2).map(|channel| (slots.channel(channel), Source::Channel(channel))));
            if plain {
                all.extend((0..3).map(|edge| (slots.departure(edge), Source::Departure(edge))));
            }
            assert!(all.iter().all(|&(slot, source)| slots.source(slot) == source));
            let mut taken: Vec<_> = all.iter().map(|(slot, _)| slot.index()).collect();
            taken.sort_unstable();
            assert_eq!(taken, (0..slots.count()).collect::<Vec<_>>());
        }
    }
}
