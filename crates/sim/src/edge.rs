//! A direction of a link as the loop sees it: computed by arithmetic where possible, packet by packet elsewhere.

use crate::line::Line;
use narrows_fabric::{ImpairMeter, LinkDirection, LinkMeter, Subqueues};
use narrows_queue::QueueView;
use narrows_units::{Bytes, Duration, Instant};
use std::borrow::Cow;

/// One direction of a link.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "lines are what most links are, and every packet asks for them")]
pub(crate) enum Link {
    /// Drop-tail, without anything that needs packets one by one.
    Line(Line),
    /// Any discipline, links that change, agents at departures, captures, and everything in the plain loop.
    Queue(Box<LinkDirection>),
}

impl Link {
    /// The state of the queue, valid once everything up to now is carried out.
    pub(crate) fn view(&self) -> QueueView {
        match self {
            Self::Line(line) => line.view(),
            Self::Queue(link) => link.view(),
        }
    }

    /// The counters, valid once everything up to now is counted.
    pub(crate) fn meter(&self) -> Cow<'_, LinkMeter> {
        match self {
            Self::Line(line) => Cow::Owned(line.meter()),
            Self::Queue(link) => Cow::Borrowed(link.meter()),
        }
    }

    /// The counters of the sub-queues; `None` where there are none.
    pub(crate) fn subqueues(&self) -> Option<&Subqueues> {
        match self {
            Self::Line(_) => None,
            Self::Queue(link) => Some(&link.meter().subqueues),
        }
    }

    /// The counters, mutable.
    pub(crate) fn meter_mut(&mut self) -> Option<&mut LinkMeter> {
        match self {
            Self::Line(_) => None,
            Self::Queue(link) => Some(link.meter_mut()),
        }
    }

    /// When rate or delay change next.
    pub(crate) fn next_change(&self) -> Instant {
        match self {
            Self::Line(_) => Instant::NEVER,
            Self::Queue(link) => link.next_change(),
        }
    }

    /// What its impairments did; `None` without any.
    pub(crate) fn impaired(&self) -> Option<&ImpairMeter> {
        match self {
            Self::Line(_) => None,
            Self::Queue(link) => link.impaired(),
        }
    }

    /// When everything in the queue will have been sent, and how many packets had no room, for a direction that is
    /// first in, first out at a constant rate, just after a packet was offered.
    pub(crate) fn backlog(&self) -> (Instant, u64) {
        match self {
            Self::Line(line) => line.backlog(),
            Self::Queue(link) => (link.clear_at(), link.meter().dropped_overflow),
        }
    }

    /// Time and bytes of the current transmission that fall after `end`.
    pub(crate) fn unsent(&self, end: Instant) -> (Duration, Bytes) {
        match self {
            Self::Line(line) => line.unsent(end),
            Self::Queue(link) => link.unsent(end),
        }
    }

    /// Bits that could have been sent from the start of the run to `end`.
    pub(crate) fn capacity_bits(&self, end: Instant) -> u64 {
        match self {
            Self::Line(line) => line.capacity_bits(end),
            Self::Queue(link) => link.capacity_bits(end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_kind_a_link_is_takes_no_room() {
        assert_eq!(size_of::<Link>(), size_of::<Line>());
    }
}
