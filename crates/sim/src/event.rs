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
//! The structure is a winner tree (Knuth, The Art of Computer Programming, volume 3, section 5.4.1): leaves are pending
//! events, an inner node holds the earlier of its two children, the root is the next event. Moving one event replays
//! one path to the root and stops where nothing changes. For the few events of a small scenario that is a comparison or
//! two in one cache line, which no heap of packets can match. It works because a FIFO link has only its head pending.
//!
//! Only armed slots have a leaf. A link without packets and a timer that is not running need none: of 10,000 flows with
//! hosts of their own, a quarter of the link directions have a packet on the wire, and the tree of the others would not
//! fit the caches. A slot gets the leaf that was freed last, whose path is still in the caches.
//!
//! There are two trees. The near one has the slots of links, which move with every packet. The far one has all others,
//! mainly timers and applications, four slots per flow. These seldom move, and in their own tree they do not lengthen
//! the paths of links.

#[cfg(test)]
mod tests;

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

/// An event: its time, its slot, and what is known of it before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    /// In nanoseconds, or [`IDLE`].
    time: u64,
    /// The slot in the lower half, [`NO_SLOT`] in a leaf that no slot has; the [`Hint`] in the upper. They are one
    /// word, so that a select moves both.
    what: u64,
}

/// Says of an event, before it comes, where to prefetch what it needs; means nothing to the agenda.
pub(crate) type Hint = u32;

/// The time of a slot that is not armed: later than every other.
const IDLE: u64 = u64::MAX - 1;

/// The slot of a leaf that no slot has.
const NO_SLOT: u32 = u32::MAX;

/// The leaf of a slot that is not armed.
const NO_LEAF: u32 = u32::MAX;

impl Entry {
    /// The entry of a leaf that no slot has.
    const NONE: Self = Self { time: IDLE, what: NO_SLOT as u64 };

    #[inline]
    fn new(time: u64, slot: u32, hint: Hint) -> Self {
        Self { time, what: u64::from(hint) << 32 | u64::from(slot) }
    }

    #[inline]
    fn slot(self) -> u32 {
        self.what as u32
    }

    #[inline]
    fn hint(self) -> Hint {
        (self.what >> 32) as Hint
    }

    fn instant(self) -> Instant {
        if self.time == IDLE { Instant::NEVER } else { Instant::from_nanos(self.time) }
    }
}

/// Which events come first at one instant.
#[derive(Clone, Copy, Debug)]
struct Ties {
    /// Slots below this one come first, in their own order; the others are arrivals.
    fixed: u32,
}

impl Ties {
    #[cold]
    #[inline(never)]
    fn first(self, one: Entry, other: Entry) -> Entry {
        let drawn = |entry: Entry| if entry.slot() < self.fixed { 0 } else { draw(entry.time, entry.slot()) };
        let place = |entry: Entry| (drawn(entry), entry.slot());
        if one.time == IDLE || place(one) < place(other) { one } else { other }
    }

    #[inline]
    fn earlier(self, one: Entry, other: Entry) -> Entry {
        // Ties are rare and have their own branch, so that each level waits for one comparison and a select only.
        if other.time == one.time {
            return self.first(one, other);
        }
        let wins = other.time < one.time;
        Entry {
            time: select_unpredictable(wins, other.time, one.time),
            what: select_unpredictable(wins, other.what, one.what),
        }
    }
}

/// The place of an arrival among those of one instant. Every slot has the same chance to be first, and arrivals come
/// after events with place zero. The constants are odd and without pattern; they only decide the order of simultaneous
/// arrivals.
#[inline]
fn draw(time: u64, slot: u32) -> u32 {
    let mixed = time.wrapping_add(u64::from(slot) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed >> 32) as u32 | 1
}

/// A winner tree over the armed ones of the slots `first..first + n`.
#[derive(Debug)]
struct Tree {
    /// Nodes `2p` and `2p + 1` play against each other; the winner is node `p`. The root is node 1, and leaves start at
    /// node `leaves`, a power of two. It doubles when all leaves are taken and never shrinks: a level more costs less
    /// than moving leaves.
    nodes: Vec<Entry>,
    leaves: u32,
    /// The root.
    winner: Entry,
    /// Per slot: its leaf, or [`NO_LEAF`].
    leaf: Vec<u32>,
    /// Leaves that no slot has; the last is the next to be given out.
    free: Vec<u32>,
    first: u32,
    ties: Ties,
}

impl Tree {
    /// A tree of idle slots; those below `fixed` have a fixed order at one instant.
    fn new(first: usize, slots: usize, fixed: usize) -> Self {
        Self {
            nodes: vec![Entry::NONE; 4],
            leaves: 2,
            winner: Entry::NONE,
            leaf: vec![NO_LEAF; slots],
            free: vec![1, 0],
            first: first as u32,
            ties: Ties { fixed: fixed as u32 },
        }
    }

    #[inline(never)]
    fn arm(&mut self, slot: Slot, time: u64, hint: Hint) {
        let place = &mut self.leaf[(slot.0 - self.first) as usize];
        let mut leaf = *place;
        let mut winner = Entry::new(time, slot.0, hint);
        if time == IDLE {
            if leaf == NO_LEAF {
                return;
            }
            *place = NO_LEAF;
            self.free.push(leaf);
            winner = Entry::NONE;
        } else if leaf == NO_LEAF {
            leaf = self.take_leaf(slot);
        }
        // Every node on the path of the earliest slot names that slot, so all of them change. Any other path ends at
        // the first node that does not change.
        if self.winner.slot() == slot.0 { self.replay(leaf, winner) } else { self.replay_changes(leaf, winner) }
    }

    /// Arms the slot of the next event for `time`, instead of now.
    #[inline(always)]
    fn arm_winner(&mut self, time: u64, hint: Hint) {
        let slot = self.winner.slot();
        let leaf = self.leaf[(slot - self.first) as usize];
        self.replay(leaf, Entry::new(time, slot, hint));
    }

    /// Gives `leaf`, whose path is that of the winner, another entry, and finds the new winner.
    #[inline(always)]
    fn replay(&mut self, leaf: u32, mut winner: Entry) {
        let mut node = (self.leaves + leaf) as usize;
        loop {
            self.nodes[node] = winner;
            // The winner stays in registers, so that no level waits for a write of the level below.
            winner = self.ties.earlier(winner, self.nodes[node ^ 1]);
            node /= 2;
            // There are two leaves at least.
            if node <= 1 {
                break;
            }
        }
        self.winner = winner;
    }

    /// The same for any leaf, up to the first node that does not change.
    fn replay_changes(&mut self, leaf: u32, mut winner: Entry) {
        let mut node = (self.leaves + leaf) as usize;
        while node > 1 {
            if self.nodes[node] == winner {
                return;
            }
            self.nodes[node] = winner;
            winner = self.ties.earlier(winner, self.nodes[node ^ 1]);
            node /= 2;
        }
        self.winner = winner;
    }

    #[inline]
    fn take_leaf(&mut self, slot: Slot) -> u32 {
        let leaf = self.free.pop().unwrap_or_else(|| self.grow());
        self.leaf[(slot.0 - self.first) as usize] = leaf;
        leaf
    }

    /// Doubles the leaves, and returns one that is free. Leaves keep their numbers.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> u32 {
        let before = self.leaves as usize;
        let leaves = 2 * before;
        let mut nodes = vec![Entry::NONE; 2 * leaves];
        nodes[leaves..][..before].copy_from_slice(&self.nodes[before..]);
        for node in (1..leaves).rev() {
            nodes[node] = self.ties.earlier(nodes[2 * node], nodes[2 * node + 1]);
        }
        self.nodes = nodes;
        self.leaves = leaves as u32;
        self.free.extend((before as u32 + 1..leaves as u32).rev());
        before as u32
    }

    #[inline]
    fn armed(&self, slot: Slot) -> Instant {
        let leaf = self.leaf[(slot.0 - self.first) as usize];
        if leaf == NO_LEAF {
            return Instant::NEVER;
        }
        self.nodes[(self.leaves + leaf) as usize].instant()
    }
}

/// The pending events of all slots.
#[derive(Debug)]
pub(crate) struct Agenda {
    near: Tree,
    far: Tree,
}

impl Agenda {
    /// An agenda of `slots` idle slots: the first `fixed`, which come before arrivals of the same instant, then
    /// arrivals up to slot `near`, which move with every packet, then all others. `None` if there are more than
    /// [`MAX_SLOTS`].
    pub(crate) fn new(fixed: usize, near: usize, slots: usize) -> Option<Self> {
        if slots > MAX_SLOTS {
            return None;
        }
        Some(Self { near: Tree::new(0, near, fixed), far: Tree::new(near, slots.saturating_sub(near), MAX_SLOTS) })
    }

    /// An agenda that never has an event.
    pub(crate) fn idle() -> Self {
        Self { near: Tree::new(0, 0, 0), far: Tree::new(0, 0, 0) }
    }

    /// Arms `slot` for `time`, instead of the time that it was armed for; `Instant::NEVER` makes it idle.
    #[inline]
    pub(crate) fn arm(&mut self, slot: Slot, time: Instant) {
        self.arm_with(slot, time, 0);
    }

    /// The same, with a hint for [`coming`](Self::coming).
    #[inline]
    pub(crate) fn arm_with(&mut self, slot: Slot, time: Instant, hint: Hint) {
        let nanos = time.as_nanos().min(IDLE);
        if slot.0 >= self.far.first {
            self.far.arm(slot, nanos, hint);
        } else {
            self.near.arm(slot, nanos, hint);
        }
    }

    /// Arms the next event, which must be an arrival, for `time`, later than now; `Instant::NEVER` makes its slot idle.
    #[inline(always)]
    pub(crate) fn arm_next(&mut self, slot: Slot, time: Instant, hint: Hint) {
        debug_assert!(slot.0 < self.far.first && self.next().is_some_and(|(_, next)| next == slot));
        if time.as_nanos() >= IDLE {
            return self.near.arm(slot, IDLE, hint);
        }
        self.near.arm_winner(time.as_nanos(), hint);
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
        if slot.0 < self.far.first { self.near.armed(slot) } else { self.far.armed(slot) }
    }

    /// The next event; `None` when every slot is idle.
    #[inline]
    pub(crate) fn next(&self) -> Option<(Instant, Slot)> {
        let first = self.first();
        if first.time == IDLE {
            return None;
        }
        Some((Instant::from_nanos(first.time), Slot(first.slot())))
    }

    /// The next event and its hint; `None` when every slot is idle.
    #[inline]
    pub(crate) fn coming(&self) -> Option<(Slot, Hint)> {
        let first = self.first();
        (first.time < IDLE).then_some((Slot(first.slot()), first.hint()))
    }

    #[inline]
    fn first(&self) -> Entry {
        let (near, far) = (self.near.winner, self.far.winner);
        if far.time < near.time { far } else { near }
    }
}
