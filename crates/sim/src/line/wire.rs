//! The packets on the wire of a line whose arrival at the far end is an event.

use super::{FIT_EVERY, Line, OnWire};
use crate::event::Hint;
use crate::parcels::Parcel;
use narrows_units::Instant;
use prefetch_index::prefetch_index;

/// Capacity from which the ring of an empty wire is freed: 1.5 kB.
const LONG: usize = 64;

impl Line {
    /// Frees capacity that the ring has not needed lately: a ring cycles through all of its memory, however few packets
    /// it holds.
    #[cold]
    #[inline(never)]
    fn fit(&mut self) {
        if 2 * self.most_on_wire <= self.wire.capacity() {
            self.wire.shrink_to(self.most_on_wire);
        }
        self.most_on_wire = self.wire.len();
        self.fit_in = FIT_EVERY;
    }

    /// Frees the ring of an empty wire, if it was once long: a host that goes ahead may not need it again.
    #[inline]
    pub(crate) fn rest(&mut self) {
        if self.wire.is_empty() && self.wire.capacity() >= LONG {
            self.wire.shrink_to(0);
        }
    }

    /// Stores a packet whose arrival at the far end is an event; returns whether it arrives next.
    #[inline(always)]
    pub(crate) fn put_on_wire(&mut self, parcel: Parcel, arrival: Instant) -> bool {
        let last = OnWire { arrival, parcel };
        if !self.occupied {
            self.occupied = true;
            self.head = last;
            return true;
        }
        self.wire.push(last);
        if self.wire.len() > self.most_on_wire {
            self.most_on_wire = self.wire.len();
        }
        self.fit_in -= 1;
        if self.fit_in == 0 {
            self.fit();
        }
        false
    }

    /// What is known of the packet that arrives next.
    #[inline]
    pub(crate) fn hint(&self) -> Hint {
        self.head.parcel.hint()
    }

    /// Whether a packet is on the wire.
    #[inline]
    pub(crate) fn is_occupied(&self) -> bool {
        self.occupied
    }

    /// The packet that arrives at the far end next.
    #[inline]
    pub(crate) fn coming(&self) -> Option<Parcel> {
        self.occupied.then_some(self.head.parcel)
    }

    /// The packet that arrives at the far end next, and when.
    #[inline]
    pub(crate) fn first_on_wire(&self) -> Option<(Parcel, Instant)> {
        self.occupied.then_some((self.head.parcel, self.head.arrival))
    }

    /// Number of packets on the wire.
    pub(crate) fn on_wire(&self) -> usize {
        self.wire.len() + usize::from(self.occupied)
    }

    /// The packet that arrives at the far end second.
    #[inline]
    pub(crate) fn second_on_wire(&self) -> Option<Parcel> {
        self.wire.front().map(|second| second.parcel)
    }

    /// Prefetches the packet that arrives second: it was put on the wire long ago.
    #[inline]
    pub(crate) fn prefetch_second(&self) {
        if let Some(second) = self.wire.front() {
            prefetch_index(core::slice::from_ref(second), 0);
        }
    }

    /// Removes the packet that arrives at the far end now; also returns when the next one arrives. The line has a
    /// packet: otherwise its slot is idle.
    #[inline]
    pub(crate) fn take_off_wire(&mut self) -> (Parcel, Instant) {
        debug_assert!(self.occupied && self.head.arrival < Instant::NEVER);
        let parcel = self.head.parcel;
        match self.wire.pop() {
            Some(next) => {
                self.head = next;
                (parcel, next.arrival)
            }
            None => {
                self.occupied = false;
                self.head = OnWire::NONE;
                (parcel, Instant::NEVER)
            }
        }
    }
}
