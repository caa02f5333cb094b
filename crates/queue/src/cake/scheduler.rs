//! The scheduler: deficit round robin over sub-queues, with a first turn for sparse ones, shared among hosts.

use super::hashing::{FlowMode, QUEUES, Table};
use super::lists::{List, Lists};
use narrows_rng::Stream;
use narrows_units::Bytes;

/// What the scheduler takes a sub-queue for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Set {
    /// Empty and at rest, in no list.
    Idle,
    /// It was empty before its latest packets, and has not used up its first turn.
    Sparse,
    /// It used up its first turn and was empty then: it waits a round as others do, and counts as sparse.
    SparseWait,
    /// It takes turns.
    Bulk,
    /// Empty, while its controller comes to rest.
    Decaying,
}

/// A sub-queue, as the scheduler sees it.
#[derive(Clone, Copy, Debug)]
struct Entry {
    set: Set,
    /// Bytes that it may still send in this round.
    deficit: i64,
    /// Places of its hosts.
    source: u32,
    destination: u32,
}

/// Hosts, by source or by destination.
#[derive(Clone, Debug)]
struct Hosts {
    table: Table,
    /// Bulk sub-queues of each place.
    bulk: Vec<u32>,
}

impl Hosts {
    fn new() -> Self {
        Self { table: Table::new(), bulk: vec![0; QUEUES] }
    }

    /// The place of a host; one without bulk sub-queues is free.
    fn take(&mut self, hash: u64) -> u32 {
        self.table.take(hash, |place| self.bulk[place] > 0).0 as u32
    }

    fn count(&mut self, place: u32, is_more: bool) {
        let bulk = &mut self.bulk[place as usize];
        *bulk = if is_more { *bulk + 1 } else { bulk.saturating_sub(1) };
    }
}

/// The scheduler.
#[derive(Clone, Debug)]
pub(super) struct Scheduler {
    mode: FlowMode,
    /// Bytes that a sub-queue may send in a round if its hosts have no other bulk sub-queue.
    quantum: u64,
    entries: Vec<Entry>,
    lists: Lists,
    sources: Hosts,
    destinations: Hosts,
    /// Sub-queues that are sparse, including those that wait a round.
    pub(super) sparse: u32,
    /// Sub-queues that take turns.
    pub(super) bulk: u32,
    /// Empty sub-queues that come to rest.
    pub(super) decaying: u32,
}

impl Scheduler {
    pub(super) fn new(mode: FlowMode, quantum: Bytes) -> Self {
        let entry = Entry { set: Set::Idle, deficit: 0, source: 0, destination: 0 };
        Self {
            mode,
            quantum: quantum.as_u64(),
            entries: vec![entry; QUEUES],
            lists: Lists::new(QUEUES),
            sources: Hosts::new(),
            destinations: Hosts::new(),
            sparse: 0,
            bulk: 0,
            decaying: 0,
        }
    }

    /// Whether a sub-queue is in a list: no other flow may take it.
    pub(super) fn is_used(&self, number: u32) -> bool {
        self.entries[number as usize].set != Set::Idle
    }

    /// Sets the hosts of a sub-queue, from the hashes of source and destination.
    pub(super) fn settle(&mut self, number: u32, [source, destination]: [u64; 2]) {
        let is_bulk = self.entries[number as usize].set == Set::Bulk;
        if is_bulk {
            self.count_at_hosts(number, false);
        }
        if self.mode.by_source() {
            self.entries[number as usize].source = self.sources.take(source);
        }
        if self.mode.by_destination() {
            self.entries[number as usize].destination = self.destinations.take(destination);
        }
        if is_bulk {
            self.count_at_hosts(number, true);
        }
    }

    /// Notes that a packet arrived at a sub-queue. `chance` rounds the bytes of its first turn.
    pub(super) fn arrived(&mut self, number: u32, chance: &mut Stream) {
        match self.entries[number as usize].set {
            Set::Idle | Set::Decaying => {
                self.change(number, Set::Sparse);
                self.lists.move_to(List::New, number);
                self.entries[number as usize].deficit = self.turn(number, chance);
            }
            Set::SparseWait => self.change(number, Set::Bulk),
            Set::Sparse | Set::Bulk => {}
        }
    }

    /// The sub-queue whose turn it is. Of those that decay, one is looked at for each packet that is sent, `first`.
    pub(super) fn next(&self, first: bool) -> Option<u32> {
        let decaying = || self.lists.first(List::Decaying);
        let decaying_first = if first { decaying() } else { None };
        let waiting = || self.lists.first(List::New).or_else(|| self.lists.first(List::Old));
        decaying_first.or_else(waiting).or_else(decaying)
    }

    /// Ends the turn of a sub-queue that has used up its bytes, and gives it those of the next one. Returns whether it
    /// did. `chance` spreads the rounding over packets.
    pub(super) fn ends_turn(&mut self, number: u32, is_empty: bool, chance: &mut Stream) -> bool {
        let Entry { set, deficit, .. } = self.entries[number as usize];
        if deficit > 0 {
            return false;
        }
        if set == Set::Sparse {
            self.change(number, if is_empty { Set::SparseWait } else { Set::Bulk });
        }
        self.entries[number as usize].deficit += self.turn(number, chance);
        self.lists.move_to(List::Old, number);
        true
    }

    /// Notes that a sub-queue sent a packet of this cost.
    pub(super) fn sent(&mut self, number: u32, cost: Bytes) {
        self.entries[number as usize].deficit -= cost.as_u64() as i64;
    }

    /// Notes that a sub-queue was empty when its turn came. Its controller may have to come to rest.
    pub(super) fn was_empty(&mut self, number: u32, decays: bool) {
        if decays {
            self.change(number, Set::Decaying);
            self.lists.move_to(List::Decaying, number);
        } else {
            self.change(number, Set::Idle);
            self.lists.remove(number);
        }
    }

    /// Bytes of a turn, rounded at random so that the mean is exact (`cake_get_flow_quantum`).
    fn turn(&self, number: u32, chance: &mut Stream) -> i64 {
        ((self.share(number) + (chance.next_u64() >> 48)) >> 16) as i64
    }

    /// Bytes of a round in 1/65536, shared with the other bulk sub-queues of its busier host (`quantum_div`).
    fn share(&self, number: u32) -> u64 {
        let Entry { source, destination, .. } = self.entries[number as usize];
        let of_source = if self.mode.by_source() { self.sources.bulk[source as usize] } else { 1 };
        let of_destination = if self.mode.by_destination() { self.destinations.bulk[destination as usize] } else { 1 };
        let load = of_source.max(of_destination).max(1);
        self.quantum * u64::from(65_535 / load)
    }

    /// Changes what a sub-queue is taken for, and all counts with it.
    fn change(&mut self, number: u32, to: Set) {
        let from = core::mem::replace(&mut self.entries[number as usize].set, to);
        if let Some(count) = self.count_of(from) {
            *count -= 1;
        }
        if let Some(count) = self.count_of(to) {
            *count += 1;
        }
        if (from == Set::Bulk) != (to == Set::Bulk) {
            self.count_at_hosts(number, to == Set::Bulk);
        }
    }

    fn count_of(&mut self, set: Set) -> Option<&mut u32> {
        match set {
            Set::Idle => None,
            Set::Sparse | Set::SparseWait => Some(&mut self.sparse),
            Set::Bulk => Some(&mut self.bulk),
            Set::Decaying => Some(&mut self.decaying),
        }
    }

    /// Counts a bulk sub-queue at its hosts, or no longer.
    fn count_at_hosts(&mut self, number: u32, is_more: bool) {
        let Entry { source, destination, .. } = self.entries[number as usize];
        if self.mode.by_source() {
            self.sources.count(source, is_more);
        }
        if self.mode.by_destination() {
            self.destinations.count(destination, is_more);
        }
    }
}

#[cfg(test)]
#[path = "scheduler_tests.rs"]
mod tests;
