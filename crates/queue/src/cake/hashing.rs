//! Set-associative hashing: each flow has eight places to go to, and each host has eight too.

use super::scheduler::Scheduler;
use crate::flow_hash::{FlowHash, scaled};
use narrows_wire::Packet;

/// Number of sub-queues, and of places for sources and for destinations (`CAKE_QUEUES`).
pub(super) const QUEUES: usize = 1024;

/// Places in a set (`CAKE_SET_WAYS`).
pub(super) const WAYS: usize = 8;

/// What packets are told apart by, and among whom the link is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowMode {
    /// One sub-queue for all.
    Flowblind,
    /// A sub-queue for each source.
    Srchost,
    /// A sub-queue for each destination.
    Dsthost,
    /// A sub-queue for each pair of hosts.
    Hosts,
    /// A sub-queue for each flow.
    Flows,
    /// Sources share the link, and then the flows of a source.
    DualSrchost,
    /// Destinations share the link, and then the flows of a destination.
    DualDsthost,
    /// Sources and destinations share the link, and then flows.
    TripleIsolate,
}

impl FlowMode {
    /// Whether sources share the link (`cake_dsrc`).
    pub(super) const fn by_source(self) -> bool {
        matches!(self, Self::DualSrchost | Self::TripleIsolate)
    }

    /// Whether destinations share the link (`cake_ddst`).
    pub(super) const fn by_destination(self) -> bool {
        matches!(self, Self::DualDsthost | Self::TripleIsolate)
    }
}

/// How a place was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The place of the hash, which it had before.
    Direct,
    /// Another place of the set, which it had before.
    Hit,
    /// A place of the set that nobody uses.
    Miss,
    /// The place of the hash, which another one uses: all places of the set are in use.
    Collision,
}

/// A table of places by hash.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// The latest hash that had each place.
    tags: Vec<u64>,
}

impl Table {
    pub(super) fn new() -> Self {
        Self { tags: vec![0; QUEUES] }
    }

    /// Finds a place for a hash and gives it to it.
    pub(super) fn take(&mut self, hash: u64, is_used: impl Fn(usize) -> bool) -> (usize, Found) {
        let own = scaled(hash, QUEUES) as usize;
        let set = own - own % WAYS;
        let mut ways = (own..own + WAYS).map(|way| set + way % WAYS);
        let (place, found) = if let Some(known) = ways.clone().find(|&place| self.tags[place] == hash) {
            (known, if known == own { Found::Direct } else { Found::Hit })
        } else if let Some(free) = ways.find(|&place| !is_used(place)) {
            (free, Found::Miss)
        } else {
            (own, Found::Collision)
        };
        self.tags[place] = hash;
        (place, found)
    }
}

/// Finds the sub-queues of packets (`cake_hash`).
#[derive(Clone, Debug)]
pub(super) struct Classifier {
    mode: FlowMode,
    hash: FlowHash,
    table: Table,
    /// Packets found in another place of their set.
    pub(super) hits: u64,
    /// Packets that began to use a place.
    pub(super) misses: u64,
    /// Packets that joined the sub-queue of others.
    pub(super) collisions: u64,
}

impl Classifier {
    pub(super) fn new(mode: FlowMode, hash: FlowHash) -> Self {
        Self { mode, hash, table: Table::new(), hits: 0, misses: 0, collisions: 0 }
    }

    /// Finds the sub-queue of a packet. If it is new to the sub-queue, the scheduler learns its hosts.
    pub(super) fn find(&mut self, packet: &Packet, scheduler: &mut Scheduler) -> u32 {
        let (source, destination) = (packet.ip.src(), packet.ip.dst());
        let hash = match self.mode {
            FlowMode::Flowblind => return 0,
            FlowMode::Srchost => self.hash.of_host(source),
            FlowMode::Dsthost => self.hash.of_host(destination),
            FlowMode::Hosts => self.hash.of_hosts(source, destination),
            FlowMode::Flows | FlowMode::DualSrchost | FlowMode::DualDsthost | FlowMode::TripleIsolate => {
                self.hash.of_flow(packet)
            }
        };
        let (place, found) = self.table.take(hash, |place| scheduler.is_used(place as u32));
        match found {
            Found::Direct => {}
            Found::Hit => self.hits += 1,
            Found::Miss => self.misses += 1,
            Found::Collision => self.collisions += 1,
        }
        let number = place as u32;
        if found == Found::Collision || !scheduler.is_used(number) {
            let hosts = [source, destination].map(|address| self.hash.of_host(address));
            scheduler.settle(number, hosts);
        }
        number
    }
}

#[cfg(test)]
#[path = "hashing_tests.rs"]
mod tests;
