//! The agenda: which source of events comes next.
//!
//! Every source (a link direction, a connection's timer, an application) owns one slot and so has at most one pending
//! event. Re-arming moves it, and nothing is ever cancelled. The order is `(Instant, insertion number)`: of two events at
//! the same nanosecond the one that was armed first comes first, so the order is total and the same in every run.
//!
//! The structure is a winner tree (Knuth, The Art of Computer Programming, volume 3, section 5.4.1): leaves are slots,
//! an inner node holds the earlier of its two children, the root is next. Moving one slot replays one path to the
//! root and stops where nothing changes; for the dozen slots of a small scenario that is a few comparisons in one or
//! two cache lines, which no heap of packets can match. It works because a FIFO link has only its head pending.

use narrows_units::Instant;

/// A source of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slot(u32);

impl Slot {
    /// The slot with this index.
    pub(crate) const fn new(index: usize) -> Self {
        // Scenarios are bounded far below 2^24 slots; `Agenda::new` checks.
        Self(index as u32)
    }

    /// Its index.
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Bits of an entry's lower word that name the slot; the rest is the insertion number.
const SLOT_BITS: u32 = 24;

/// Most slots that an agenda can have.
pub(crate) const MAX_SLOTS: usize = 1 << SLOT_BITS;

/// An event: the time, then insertion number and slot in one word. Insertion numbers differ, so the slot never decides.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Entry {
    time: Instant,
    order: u64,
}

const IDLE: Entry = Entry { time: Instant::NEVER, order: u64::MAX };

/// The pending events of all slots.
#[derive(Debug)]
pub(crate) struct Agenda {
    /// Node `i` has children `2i` and `2i + 1`; the root is 1; leaves start at `leaves`.
    tree: Vec<Entry>,
    leaves: usize,
    inserted: u64,
}

impl Agenda {
    /// An agenda of `slots` idle slots; `None` where there are more than [`MAX_SLOTS`].
    pub(crate) fn new(slots: usize) -> Option<Self> {
        if slots > MAX_SLOTS {
            return None;
        }
        let leaves = slots.next_power_of_two().max(2);
        Some(Self { tree: vec![IDLE; 2 * leaves], leaves, inserted: 0 })
    }

    /// Arms `slot` for `time`, in place of what it was armed for; `Instant::NEVER` makes it idle.
    #[inline]
    pub(crate) fn arm(&mut self, slot: Slot, time: Instant) {
        let entry = if time == Instant::NEVER {
            IDLE
        } else {
            self.inserted += 1;
            Entry { time, order: (self.inserted << SLOT_BITS) | u64::from(slot.0) }
        };
        let mut node = self.leaves + slot.index();
        self.tree[node] = entry;
        while node > 1 {
            let parent = node / 2;
            let winner = self.tree[2 * parent].min(self.tree[2 * parent + 1]);
            if self.tree[parent] == winner {
                return;
            }
            self.tree[parent] = winner;
            node = parent;
        }
    }

    /// Arms `slot` for `time` unless it is already armed for then or earlier: the lazy re-arming of timers, which are
    /// looked at when they fire and mostly found to have moved on.
    #[inline]
    pub(crate) fn arm_no_later(&mut self, slot: Slot, time: Instant) {
        if time < self.armed(slot) {
            self.arm(slot, time);
        }
    }

    /// What `slot` is armed for.
    #[inline]
    pub(crate) fn armed(&self, slot: Slot) -> Instant {
        self.tree[self.leaves + slot.index()].time
    }

    /// The next event; `None` when every slot is idle.
    #[inline]
    pub(crate) fn next(&self) -> Option<(Instant, Slot)> {
        let first = self.tree[1];
        if first.time == Instant::NEVER {
            return None;
        }
        Some((first.time, Slot((first.order & ((1 << SLOT_BITS) - 1)) as u32)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn at(n: u64) -> Instant {
        Instant::from_nanos(n)
    }

    #[test]
    fn ties_are_first_in_first_out() {
        let mut agenda = Agenda::new(5).unwrap();
        for slot in [3, 0, 4, 1] {
            agenda.arm(Slot::new(slot), at(7));
        }
        let mut order = Vec::new();
        while let Some((_, slot)) = agenda.next() {
            order.push(slot.index());
            agenda.arm(slot, Instant::NEVER);
        }
        assert_eq!(order, [3, 0, 4, 1]);
    }

    #[test]
    fn lazy_arming_never_moves_a_timer_later() {
        let mut agenda = Agenda::new(1).unwrap();
        let slot = Slot::new(0);
        agenda.arm_no_later(slot, at(10));
        agenda.arm_no_later(slot, at(20));
        assert_eq!(agenda.armed(slot), at(10));
        agenda.arm_no_later(slot, at(5));
        assert_eq!(agenda.next(), Some((at(5), slot)));
    }

    #[test]
    fn too_many_slots_are_refused() {
        assert!(Agenda::new(MAX_SLOTS + 1).is_none());
    }

    proptest! {
        #[test]
        fn the_agenda_is_a_total_order(arms in prop::collection::vec((0usize..17, 0u64..50, any::<bool>()), 0..200)) {
            let mut agenda = Agenda::new(17).unwrap();
            let mut model: Vec<Option<(u64, usize)>> = vec![None; 17];
            for (number, &(slot, time, idle)) in arms.iter().enumerate() {
                agenda.arm(Slot::new(slot), if idle { Instant::NEVER } else { at(time) });
                model[slot] = (!idle).then_some((time, number));
                let expected = model.iter().enumerate().filter_map(|(s, e)| e.map(|e| (e, s))).min();
                prop_assert_eq!(agenda.next(), expected.map(|((time, _), s)| (at(time), Slot::new(s))));
            }
        }
    }
}
