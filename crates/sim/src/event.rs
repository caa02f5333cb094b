//! The agenda: which source of events comes next.
//!
//! Every source (a link direction, a connection's timer, an application) owns one slot and so has at most one pending
//! event. Re-arming moves it, and nothing is ever cancelled. The order is total. It depends only on what happens when,
//! not on when the engine learns of it: a loop that folds hops together learns of arrivals sooner and keeps the same
//! order.
//!
//! At the same nanosecond, changes of links come first, then arrivals, then all other events in the order of slots.
//! Simultaneous arrivals are ordered by a hash of time and slot. A fixed rank would also give a total order. But where
//! links are equal, packets of several senders meet at the same nanosecond again and again, and the same sender would
//! get the last place in the queue each time: in a fair network one flow would win everything.
//!
//! The structure is a winner tree (Knuth, The Art of Computer Programming, volume 3, section 5.4.1): leaves are slots,
//! an inner node holds the earlier of its two children, the root is the next event. Moving one slot replays one path to
//! the root and stops where nothing changes. For the dozen slots of a small scenario that is a few comparisons in one
//! or two cache lines, which no heap of packets can match. It works because a FIFO link has only its head pending.
//!
//! There are two trees. The near one has the slots of links, which move with every packet. The far one has all others,
//! mainly timers and applications, four slots per flow. These seldom move, and in their own tree they do not lengthen
//! the paths of links.

use core::hint::select_unpredictable;
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

/// Most slots that an agenda can have.
pub(crate) const MAX_SLOTS: usize = 1 << 24;

/// An event: its time and its slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    /// In nanoseconds, or [`IDLE`].
    time: u64,
    /// The place among events of one instant in the upper half, and the slot in the lower.
    order: u64,
}

/// The time of a slot that is not armed: later than every other.
const IDLE: u64 = u64::MAX - 1;

impl Entry {
    fn instant(self) -> Instant {
        if self.time == IDLE { Instant::NEVER } else { Instant::from_nanos(self.time) }
    }

    fn slot(self) -> Slot {
        Slot(self.order as u32)
    }

    #[cold]
    #[inline(never)]
    fn first_of_tie(self, other: Self) -> Self {
        if other.order < self.order { other } else { self }
    }

    #[inline]
    fn earlier(self, other: Self) -> Self {
        // Ties are rare and have their own branch, so that each level waits for one comparison and a select only.
        if other.time == self.time {
            return self.first_of_tie(other);
        }
        let wins = other.time < self.time;
        Self {
            time: select_unpredictable(wins, other.time, self.time),
            order: select_unpredictable(wins, other.order, self.order),
        }
    }
}

/// The place of an arrival among those of one instant, in the upper half of a word. Every slot has the same chance to
/// be first, and arrivals come after events with place zero. The constants are odd and without pattern; they only
/// decide the order of simultaneous arrivals.
#[inline]
fn draw(time: u64, slot: Slot) -> u64 {
    let mixed = time.wrapping_add(u64::from(slot.0) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed | 1 << 32) & !0xffff_ffff
}

/// A winner tree over slots `first..first + n`.
#[derive(Debug)]
struct Tree {
    /// Pairs of nodes, `2p` and `2p + 1`, which play against each other; the winner is node `p`. The root is node 1,
    /// and leaves start at node `leaves`. The number of leaves is arbitrary: if it is not a power of two, some leaves
    /// are a level nearer to the root.
    pairs: Vec<[Entry; 2]>,
    leaves: usize,
    first: usize,
}

impl Tree {
    fn new(first: usize, slots: usize) -> Self {
        let leaves = slots.max(2);
        let idle = |slot: usize| Entry { time: IDLE, order: slot as u64 };
        let mut pairs = vec![[idle(first); 2]; leaves];
        for leaf in 0..leaves {
            let node = leaves + leaf;
            pairs[node / 2][node & 1] = idle(first + leaf);
        }
        for node in (1..leaves).rev() {
            let [left, right] = pairs[node];
            pairs[node / 2][node & 1] = left.earlier(right);
        }
        Self { pairs, leaves, first }
    }

    #[inline]
    fn arm(&mut self, slot: Slot, time: u64, place: u64) {
        let mut winner = Entry { time, order: place | u64::from(slot.0) };
        let mut node = self.leaves + slot.index() - self.first;
        // Every node on the path of the earliest slot names that slot, so all of them change. Any other path ends at
        // the first node that does not change.
        let whole = self.first().slot() == slot;
        while node > 1 {
            let pair = &mut self.pairs[node / 2];
            let own = &mut pair[node & 1];
            if !whole && *own == winner {
                return;
            }
            *own = winner;
            // The winner stays in registers, so that no level waits for a write of the level below.
            winner = winner.earlier(pair[node & 1 ^ 1]);
            node /= 2;
        }
        self.pairs[0][1] = winner;
    }

    #[inline]
    fn armed(&self, slot: Slot) -> Instant {
        let node = self.leaves + slot.index() - self.first;
        self.pairs[node / 2][node & 1].instant()
    }

    #[inline]
    fn first(&self) -> Entry {
        self.pairs[0][1]
    }
}

/// The pending events of all slots.
#[derive(Debug)]
pub(crate) struct Agenda {
    /// Number of leading slots that come before arrivals of the same instant.
    fixed: usize,
    near: Tree,
    far: Tree,
}

impl Agenda {
    /// An agenda of `slots` idle slots: the first `fixed`, then arrivals up to slot `near`, which move with every
    /// packet, then all others. `None` if there are more than [`MAX_SLOTS`].
    pub(crate) fn new(fixed: usize, near: usize, slots: usize) -> Option<Self> {
        if slots > MAX_SLOTS {
            return None;
        }
        Some(Self { fixed, near: Tree::new(0, near), far: Tree::new(near, slots.saturating_sub(near)) })
    }

    /// An agenda that never has an event.
    pub(crate) fn idle() -> Self {
        Self { fixed: 0, near: Tree::new(0, 0), far: Tree::new(0, 0) }
    }

    /// Arms `slot` for `time`, instead of the time that it was armed for; `Instant::NEVER` makes it idle.
    #[inline]
    pub(crate) fn arm(&mut self, slot: Slot, time: Instant) {
        let nanos = time.as_nanos().min(IDLE);
        if slot.index() >= self.far.first {
            self.far.arm(slot, nanos, 0);
        } else {
            let place = if slot.index() < self.fixed || nanos == IDLE { 0 } else { draw(nanos, slot) };
            self.near.arm(slot, nanos, place);
        }
    }

    /// Arms `slot` for `time` unless it is already armed for then or earlier. This re-arms timers lazily: they are
    /// checked when they fire, and most have moved to a later time by then.
    #[inline]
    pub(crate) fn arm_no_later(&mut self, slot: Slot, time: Instant) {
        if time < self.armed(slot) {
            self.arm(slot, time);
        }
    }

    /// The time that `slot` is armed for.
    #[inline]
    pub(crate) fn armed(&self, slot: Slot) -> Instant {
        if slot.index() < self.far.first { self.near.armed(slot) } else { self.far.armed(slot) }
    }

    /// The next event; `None` when every slot is idle.
    #[inline]
    pub(crate) fn next(&self) -> Option<(Instant, Slot)> {
        let (near, far) = (self.near.first(), self.far.first());
        let first = if far.time < near.time { far } else { near };
        if first.time == IDLE {
            return None;
        }
        Some((Instant::from_nanos(first.time), first.slot()))
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
    fn of_a_tie_the_lowest_slot_is_first_unless_both_are_arrivals() {
        let mut agenda = Agenda::new(1, 1, 5).unwrap();
        for slot in [3, 0, 4, 1] {
            agenda.arm(Slot::new(slot), at(7));
        }
        let mut order = Vec::new();
        while let Some((_, slot)) = agenda.next() {
            order.push(slot.index());
            agenda.arm(slot, Instant::NEVER);
        }
        assert_eq!(order, [0, 1, 3, 4]);
    }

    #[test]
    fn lazy_arming_never_moves_a_timer_later() {
        let mut agenda = Agenda::new(0, 1, 1).unwrap();
        let slot = Slot::new(0);
        agenda.arm_no_later(slot, at(10));
        agenda.arm_no_later(slot, at(20));
        assert_eq!(agenda.armed(slot), at(10));
        agenda.arm_no_later(slot, at(5));
        assert_eq!(agenda.next(), Some((at(5), slot)));
    }

    #[test]
    fn too_many_slots_are_refused() {
        assert!(Agenda::new(0, 0, MAX_SLOTS + 1).is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_agenda_is_a_total_order(
            fixed in 0usize..4,
            arrivals in 0usize..18,
            arms in prop::collection::vec((0usize..17, 0u64..50, any::<bool>()), 0..200),
        ) {
            let near = (fixed + arrivals).min(17);
            let mut agenda = Agenda::new(fixed, near, 17).unwrap();
            let mut model: Vec<Option<u64>> = vec![None; 17];
            let place = |time: u64, slot: usize| match slot {
                s if s < fixed => (0, 0),
                s if s < near => (1, draw(time, Slot::new(s))),
                _ => (2, 0),
            };
            for &(slot, time, idle) in &arms {
                agenda.arm(Slot::new(slot), if idle { Instant::NEVER } else { at(time) });
                model[slot] = (!idle).then_some(time);
                let pending = model.iter().enumerate().filter_map(|(s, t)| t.map(|t| (t, place(t, s), s)));
                prop_assert_eq!(agenda.next(), pending.min().map(|(t, _, s)| (at(t), Slot::new(s))));
            }
        }
    }

    #[test]
    fn of_arrivals_at_one_instant_each_is_first_as_often() {
        let mut firsts = [0; 4];
        // Packets of 1000 bytes at 1 Gb/s arrive 8 us apart.
        for n in 0..40_000 {
            let mut agenda = Agenda::new(1, 5, 5).unwrap();
            (1..5).for_each(|slot| agenda.arm(Slot::new(slot), at(12_345 + n * 8_000)));
            firsts[agenda.next().unwrap().1.index() - 1] += 1;
        }
        assert!(firsts.iter().all(|n| (9_700..10_300).contains(n)), "{firsts:?}");
    }
}
