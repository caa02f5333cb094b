//! A router's table of TCP flows, with the age and the priority of each.
//!
//! # Idea
//! A flow is one direction of a connection (source and destination address and port). It enters with its first segment
//! and leaves with FIN, RST, or after an idle time; when the table is full, the longest idle flow leaves. The record is
//! that of M. Hruby et al. (DCNET 2013, table 3): hash, addresses, ports, time of add, time of last update, age,
//! priority, compatibility with the scheme; age is computed on request. A router part has one table, or one per output
//! queue.
//!
//! # Cost
//! Each packet costs one hash lookup and a few list links, whatever the number of flows. Open flows are in two
//! intrusive lists, one in order of entry (its head is the oldest flow) and one in order of the last segment (its head
//! expires first), and the flows per priority are counted. Memory is allocated only when the table grows beyond its
//! largest size so far, never per packet. All order comes from packets, none from hashes, so runs repeat.
//!
//! # Choices
//! - The direction of pure ACKs is a flow too, by the papers' key. It counts for the age of the oldest flow, where it
//!   makes almost no difference: it is as old as its connection's data direction except for the time between SYN and
//!   SYN-ACK (a lone server that sends data has `a = age / (age + that time)`, which tends to 1). It never asks for
//!   commands, so it is never [assisted](Flow::assisted) and does not count in a flow_counts of commands.
//! - A flow that left by FIN or RST is remembered as closed until its idle timeout, so that late retransmissions and
//!   the last ACKs do not bring it back as a young flow; a SYN does. Closed flows count for nothing and are the first
//!   to leave a full table. RST closes both directions, because it ends both.
//! - A flow's priority is the DSCP of its latest segment.

use core::net::IpAddr;
use narrows_units::{Duration, Instant};
use narrows_wire::{FlowKey, Packet, TcpFlags};

/// Stands for "no record" in links and buckets.
const NIL: u32 = u32::MAX;
/// Buckets of an empty table; a power of two.
const FIRST_BUCKETS: usize = 64;

/// The public part of a flow's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// When it entered.
    pub added: Instant,
    /// When its latest segment came.
    pub updated: Instant,
    /// DSCP of its latest segment.
    pub priority: u8,
    /// Whether it has ever asked for a command (the papers call it compatibility).
    pub assisted: bool,
}

#[derive(Clone, Copy, Debug)]
struct Links {
    prev: u32,
    next: u32,
}

const UNLINKED: Links = Links { prev: NIL, next: NIL };

#[derive(Clone, Copy, Debug)]
struct Record {
    key: FlowKey,
    hash: u32,
    /// Next record of the same bucket; in a free record, the next free one.
    chain: u32,
    flow: Flow,
    open: bool,
    /// Position in the order of entry; open flows only.
    entry: Links,
    /// Position in the order of the last segment, among the open or among the closed flows.
    idle: Links,
}

/// A doubly linked list through the records.
#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
}

impl List {
    const EMPTY: Self = Self { head: NIL, tail: NIL };

    fn push_back(&mut self, records: &mut [Record], i: u32, links: fn(&mut Record) -> &mut Links) {
        *links(&mut records[i as usize]) = Links { prev: self.tail, next: NIL };
        if self.tail == NIL {
            self.head = i;
        } else {
            links(&mut records[self.tail as usize]).next = i;
        }
        self.tail = i;
    }

    fn remove(&mut self, records: &mut [Record], i: u32, links: fn(&mut Record) -> &mut Links) {
        let Links { prev, next } = core::mem::replace(links(&mut records[i as usize]), UNLINKED);
        if prev == NIL {
            self.head = next;
        } else {
            links(&mut records[prev as usize]).next = next;
        }
        if next == NIL {
            self.tail = prev;
        } else {
            links(&mut records[next as usize]).prev = prev;
        }
    }
}

fn entry(r: &mut Record) -> &mut Links {
    &mut r.entry
}

fn idle(r: &mut Record) -> &mut Links {
    &mut r.idle
}

/// A table of TCP flows.
#[derive(Debug)]
pub struct FlowTable {
    idle_timeout: Duration,
    max_flows: u32,
    records: Vec<Record>,
    free: u32,
    /// Heads of the chains; their number is a power of two.
    buckets: Vec<u32>,
    /// Records in use, open and closed.
    used: u32,
    open: u32,
    by_entry: List,
    open_by_idle: List,
    closed_by_idle: List,
    /// Open flows of each priority, and a bit for each priority that has any.
    per_priority: [u32; 64],
    priorities: u64,
}

impl FlowTable {
    /// Creates an empty table. Flows leave after `idle_timeout` without a segment, and the table holds at most
    /// `max_flows` (at least 1).
    #[must_use]
    pub fn new(idle_timeout: Duration, max_flows: u64) -> Self {
        Self {
            idle_timeout,
            max_flows: u32::try_from(max_flows).unwrap_or(NIL - 1).clamp(1, NIL - 1),
            records: Vec::new(),
            free: NIL,
            buckets: vec![NIL; FIRST_BUCKETS],
            used: 0,
            open: 0,
            by_entry: List::EMPTY,
            open_by_idle: List::EMPTY,
            closed_by_idle: List::EMPTY,
            per_priority: [0; 64],
            priorities: 0,
        }
    }

    /// Records a packet. Returns the present state of its flow; `None` if the packet is not TCP, or if its flow has
    /// left (also by this segment's FIN or RST). `asks` says whether the packet asks for a command.
    pub fn observe(&mut self, packet: &Packet, asks: bool, now: Instant) -> Option<Flow> {
        let flags = packet.tcp()?.flags;
        self.expire(now);
        let key = packet.flow();
        let hash = hash(&key);
        let i = match self.find(&key, hash) {
            Some(i) => i,
            None => self.insert(key, hash, packet.ip.dscp(), now),
        };
        let ends = flags.has(TcpFlags::FIN) || flags.has(TcpFlags::RST);
        if !self.records[i as usize].open {
            if ends || !flags.has(TcpFlags::SYN) {
                self.touch(i, now);
                return None;
            }
            self.remove(i);
            return self.observe(packet, asks, now);
        }
        self.touch(i, now);
        self.set_priority(i, packet.ip.dscp());
        self.records[i as usize].flow.assisted |= asks;
        if ends {
            self.close(i);
            if flags.has(TcpFlags::RST) {
                let back =
                    FlowKey { src: key.dst, dst: key.src, src_port: key.dst_port, dst_port: key.src_port, ..key };
                if let Some(j) = self.find(&back, self::hash(&back)).filter(|&j| self.records[j as usize].open) {
                    // Closed flows are in order of their last segment, and for this one that is the RST.
                    self.touch(j, now);
                    self.close(j);
                }
            }
            return None;
        }
        Some(self.records[i as usize].flow)
    }

    /// Returns the number of open flows. Flows whose idle time has expired count until the next packet comes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.open as usize
    }

    /// Whether no flow is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.open == 0
    }

    /// Returns the age of the oldest open flow, `max_j age_j`; zero if there is none.
    #[inline]
    #[must_use]
    pub fn oldest_age(&self, now: Instant) -> Duration {
        self.records.get(self.by_entry.head as usize).map_or(Duration::ZERO, |r| now.since(r.flow.added))
    }

    /// Returns the largest priority among the open flows; 0 if there is none.
    #[inline]
    #[must_use]
    pub fn largest_priority(&self) -> u8 {
        63u32.saturating_sub(self.priorities.leading_zeros()) as u8
    }

    /// Returns the open flows whose idle time has not expired at `now`, oldest first.
    pub fn flows(&self, now: Instant) -> impl Iterator<Item = Flow> + '_ {
        let mut next = self.by_entry.head;
        core::iter::from_fn(move || {
            let record = self.records.get(next as usize)?;
            next = record.entry.next;
            Some(record.flow)
        })
        .filter(move |flow| !self.is_stale(flow, now))
    }

    fn is_stale(&self, flow: &Flow, now: Instant) -> bool {
        now.since(flow.updated) >= self.idle_timeout
    }

    fn expire(&mut self, now: Instant) {
        for list in [self.open_by_idle, self.closed_by_idle] {
            let mut next = list.head;
            while let Some(record) = self.records.get(next as usize).filter(|r| self.is_stale(&r.flow, now)) {
                let stale = next;
                next = record.idle.next;
                self.remove(stale);
            }
        }
    }

    fn bucket(&self, hash: u32) -> usize {
        hash as usize & (self.buckets.len() - 1)
    }

    fn find(&self, key: &FlowKey, hash: u32) -> Option<u32> {
        let mut i = self.buckets[self.bucket(hash)];
        while let Some(record) = self.records.get(i as usize) {
            if record.hash == hash && record.key == *key {
                return Some(i);
            }
            i = record.chain;
        }
        None
    }

    fn insert(&mut self, key: FlowKey, hash: u32, priority: u8, now: Instant) -> u32 {
        if self.used == self.max_flows {
            let longest_idle =
                if self.closed_by_idle.head == NIL { self.open_by_idle.head } else { self.closed_by_idle.head };
            self.remove(longest_idle);
        }
        if self.used as usize == self.buckets.len() {
            self.grow();
        }
        let b = self.bucket(hash);
        let record = Record {
            key,
            hash,
            chain: self.buckets[b],
            flow: Flow { added: now, updated: now, priority, assisted: false },
            open: true,
            entry: UNLINKED,
            idle: UNLINKED,
        };
        let i = self.free;
        let i = if let Some(slot) = self.records.get_mut(i as usize) {
            self.free = slot.chain;
            *slot = record;
            i
        } else {
            self.records.push(record);
            (self.records.len() - 1) as u32
        };
        self.buckets[b] = i;
        self.used += 1;
        self.open += 1;
        self.by_entry.push_back(&mut self.records, i, entry);
        self.open_by_idle.push_back(&mut self.records, i, idle);
        self.count(priority);
        i
    }

    /// Doubles the buckets, so that chains stay short.
    fn grow(&mut self) {
        self.buckets = vec![NIL; self.buckets.len() * 2];
        for list in [self.open_by_idle, self.closed_by_idle] {
            let mut i = list.head;
            while i != NIL {
                let b = self.bucket(self.records[i as usize].hash);
                let record = &mut self.records[i as usize];
                record.chain = core::mem::replace(&mut self.buckets[b], i);
                i = record.idle.next;
            }
        }
    }

    fn touch(&mut self, i: u32, now: Instant) {
        let record = &mut self.records[i as usize];
        record.flow.updated = now;
        let list = if record.open { &mut self.open_by_idle } else { &mut self.closed_by_idle };
        if list.tail != i {
            list.remove(&mut self.records, i, idle);
            list.push_back(&mut self.records, i, idle);
        }
    }

    fn close(&mut self, i: u32) {
        let record = &mut self.records[i as usize];
        record.open = false;
        let priority = record.flow.priority;
        self.open -= 1;
        self.uncount(priority);
        self.by_entry.remove(&mut self.records, i, entry);
        self.open_by_idle.remove(&mut self.records, i, idle);
        self.closed_by_idle.push_back(&mut self.records, i, idle);
    }

    fn remove(&mut self, i: u32) {
        if self.records[i as usize].open {
            self.close(i);
        }
        self.closed_by_idle.remove(&mut self.records, i, idle);
        let Record { hash, chain, .. } = self.records[i as usize];
        let b = self.bucket(hash);
        if self.buckets[b] == i {
            self.buckets[b] = chain;
        } else {
            let mut before = self.buckets[b];
            while let Some(record) = self.records.get_mut(before as usize) {
                if record.chain == i {
                    record.chain = chain;
                    break;
                }
                before = record.chain;
            }
        }
        self.records[i as usize].chain = core::mem::replace(&mut self.free, i);
        self.used -= 1;
    }

    fn set_priority(&mut self, i: u32, priority: u8) {
        let old = core::mem::replace(&mut self.records[i as usize].flow.priority, priority);
        if old != priority {
            self.uncount(old);
            self.count(priority);
        }
    }

    fn count(&mut self, priority: u8) {
        let p = usize::from(priority & 63);
        self.per_priority[p] += 1;
        self.priorities |= 1 << p;
    }

    fn uncount(&mut self, priority: u8) {
        let p = usize::from(priority & 63);
        self.per_priority[p] -= 1;
        if self.per_priority[p] == 0 {
            self.priorities &= !(1 << p);
        }
    }
}

/// Hashes the papers' key: addresses and ports. It multiplies by the odd constant of the golden ratio and shifts at the
/// end, so that the hash is the same on every machine.
fn hash(key: &FlowKey) -> u32 {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let fold = |address: &IpAddr| match address {
        IpAddr::V4(a) => u64::from(a.to_bits()),
        IpAddr::V6(a) => {
            let bits = a.to_bits();
            (bits >> 64) as u64 ^ (bits as u64).rotate_left(29)
        }
    };
    let ports = u64::from(key.src_port) << 16 | u64::from(key.dst_port);
    let mut h = 0u64;
    for word in [fold(&key.src), fold(&key.dst), ports] {
        h = (h ^ word).wrapping_mul(GOLDEN);
        h ^= h >> 32;
    }
    h as u32
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use narrows_wire::{Ip, TcpRepr, Transport, UdpRepr};
    use proptest::prelude::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn segment(host: u8, port: u16, flags: TcpFlags, dscp: u8) -> Packet {
        let mut ip = Ip::between(IpAddr::from([10, 0, 0, host]), IpAddr::from([10, 0, 1, 1]));
        ip.set_dscp(dscp);
        let tcp = TcpRepr { src_port: port, dst_port: 80, flags, ..TcpRepr::default() };
        Packet { ip, transport: Transport::Tcp(tcp), payload_len: 1000 }
    }

    fn data(host: u8) -> Packet {
        segment(host, 1000, TcpFlags::ACK, 0)
    }

    fn reversed(mut p: Packet) -> Packet {
        p.ip = Ip::between(p.ip.dst(), p.ip.src());
        if let Transport::Tcp(h) = &mut p.transport {
            core::mem::swap(&mut h.src_port, &mut h.dst_port);
        }
        p
    }

    fn table() -> FlowTable {
        FlowTable::new(Duration::from_secs(60), 1000)
    }

    #[test]
    fn a_flow_enters_with_its_first_segment_and_ages() {
        let mut t = table();
        assert_eq!(t.observe(&segment(1, 1, TcpFlags::SYN, 26), false, at(100)).unwrap().added, at(100));
        let flow = t.observe(&segment(1, 1, TcpFlags::ACK, 26), true, at(350)).unwrap();
        assert_eq!((flow.added, flow.updated, flow.priority, flow.assisted), (at(100), at(350), 26, true));
        assert_eq!(t.oldest_age(at(350)), Duration::from_millis(250));
        t.observe(&data(2), false, at(400));
        assert_eq!((t.len(), t.oldest_age(at(400))), (2, Duration::from_millis(300)));
    }

    #[test]
    fn each_direction_and_each_port_is_a_flow() {
        let mut t = table();
        t.observe(&data(1), false, at(0));
        t.observe(&reversed(data(1)), false, at(1));
        t.observe(&segment(1, 1001, TcpFlags::ACK, 0), false, at(2));
        assert_eq!(t.len(), 3);
    }

    #[test]
    fn udp_is_no_flow() {
        let mut t = table();
        let mut p = data(1);
        p.transport = Transport::Udp(UdpRepr { src_port: 1, dst_port: 2, rtp: None });
        assert_eq!(t.observe(&p, false, at(0)), None);
        assert!(t.is_empty());
    }

    #[test]
    fn fin_takes_its_direction_out_for_good_and_a_syn_brings_it_back() {
        let mut t = table();
        t.observe(&data(1), true, at(0));
        t.observe(&reversed(data(1)), false, at(1));
        assert_eq!(t.observe(&segment(1, 1000, TcpFlags::FIN.with(TcpFlags::ACK), 0), false, at(10)), None);
        assert_eq!((t.len(), t.oldest_age(at(10))), (1, Duration::from_millis(9)));
        assert_eq!(t.observe(&data(1), false, at(20)), None, "a late retransmission");
        assert_eq!(t.len(), 1);
        let again = t.observe(&segment(1, 1000, TcpFlags::SYN, 0), false, at(30)).unwrap();
        assert_eq!((again.added, again.assisted, t.len()), (at(30), false, 2));
    }

    #[test]
    fn rst_takes_both_directions_out() {
        let mut t = table();
        t.observe(&data(1), true, at(0));
        t.observe(&reversed(data(1)), false, at(1));
        t.observe(&reversed(segment(1, 1000, TcpFlags::RST, 0)), false, at(2));
        assert!(t.is_empty());
        assert_eq!(t.oldest_age(at(5)), Duration::ZERO);
    }

    #[test]
    fn an_idle_flow_leaves_after_the_timeout_and_re_enters_young() {
        let mut t = table();
        t.observe(&data(1), true, at(0));
        t.observe(&data(2), true, at(59_999));
        assert_eq!(t.len(), 2);
        t.observe(&data(2), true, at(60_000));
        assert_eq!((t.len(), t.oldest_age(at(60_000))), (1, Duration::from_millis(1)));
        assert_eq!(t.observe(&data(1), false, at(60_001)).unwrap().added, at(60_001));
        // A view between packets leaves out expired flows without waiting for the next packet.
        assert_eq!(t.flows(at(120_000)).count(), 1);
        assert_eq!(t.flows(at(120_001)).count(), 0);
    }

    #[test]
    fn at_the_bound_the_longest_idle_flow_leaves_but_closed_ones_first() {
        let mut t = FlowTable::new(Duration::from_secs(60), 3);
        for (ms, host) in [(0, 1), (1, 2), (2, 3), (3, 1)] {
            t.observe(&data(host), false, at(ms));
        }
        t.observe(&data(4), false, at(4));
        let added: Vec<Instant> = t.flows(at(4)).map(|f| f.added).collect();
        assert_eq!(added, [at(0), at(2), at(4)], "2 was idle longest");
        t.observe(&segment(4, 1000, TcpFlags::FIN, 0), false, at(5));
        t.observe(&data(5), false, at(6));
        let added: Vec<Instant> = t.flows(at(6)).map(|f| f.added).collect();
        assert_eq!(added, [at(0), at(2), at(6)], "the closed one made room");
    }

    #[test]
    fn largest_priority_follows_entries_changes_and_exits() {
        let mut t = table();
        assert_eq!(t.largest_priority(), 0);
        t.observe(&segment(1, 1, TcpFlags::ACK, 46), false, at(0));
        t.observe(&segment(2, 1, TcpFlags::ACK, 63), false, at(1));
        assert_eq!(t.largest_priority(), 63);
        t.observe(&segment(2, 1, TcpFlags::ACK, 10), false, at(2));
        assert_eq!(t.largest_priority(), 46);
        t.observe(&segment(1, 1, TcpFlags::FIN, 46), false, at(3));
        assert_eq!(t.largest_priority(), 10);
    }

    #[test]
    fn memory_is_that_of_the_most_flows_at_once() {
        let mut t = FlowTable::new(Duration::from_millis(10), 1 << 20);
        for n in 0..50_000u64 {
            t.observe(&segment((n % 200) as u8, (n / 200) as u16, TcpFlags::ACK, 0), false, at(n));
        }
        assert!(t.records.len() <= 11, "{}", t.records.len());
        assert_eq!(t.buckets.len(), FIRST_BUCKETS);
    }

    #[derive(Clone, Debug)]
    struct Step {
        host: u8,
        back: bool,
        flags: TcpFlags,
        dscp: u8,
        wait_ms: u64,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let flags = prop_oneof![
            6 => Just(TcpFlags::ACK),
            2 => Just(TcpFlags::SYN),
            1 => Just(TcpFlags::FIN),
            1 => Just(TcpFlags::RST),
        ];
        let step = (0u8..40, any::<bool>(), flags, 0u8..64, 0u64..60)
            .prop_map(|(host, back, flags, dscp, wait_ms)| Step { host, back, flags, dscp, wait_ms });
        proptest::collection::vec(step, 1..300)
    }

    /// A flow in the model; `touched` counts up over all flows, so that "longest idle" is never ambiguous.
    struct Plain {
        key: FlowKey,
        added: Instant,
        updated: Instant,
        touched: usize,
        priority: u8,
        open: bool,
    }

    /// The table by its rules, slow and simple.
    #[derive(Default)]
    struct Model {
        flows: Vec<Plain>,
        touches: usize,
    }

    impl Model {
        fn touch(&mut self, key: FlowKey, now: Instant) -> Option<&mut Plain> {
            self.touches += 1;
            let touched = self.touches;
            let flow = self.flows.iter_mut().find(|f| f.key == key)?;
            (flow.updated, flow.touched) = (now, touched);
            Some(flow)
        }

        fn observe(&mut self, p: &Packet, now: Instant, timeout: Duration, max: usize) {
            self.flows.retain(|f| now.since(f.updated) < timeout);
            let (key, flags) = (p.flow(), p.tcp().unwrap().flags);
            if flags.has(TcpFlags::SYN) {
                self.flows.retain(|f| f.key != key || f.open);
            }
            if self.touch(key, now).is_none() {
                if self.flows.len() == max {
                    let any_closed = self.flows.iter().any(|f| !f.open);
                    let leaves = |i: &usize| !any_closed || !self.flows[*i].open;
                    let i = (0..max).filter(leaves).min_by_key(|&i| self.flows[i].touched).unwrap();
                    self.flows.remove(i);
                }
                let touched = self.touches;
                self.flows.push(Plain { key, added: now, updated: now, touched, priority: p.ip.dscp(), open: true });
            }
            let flow = self.flows.iter_mut().find(|f| f.key == key).unwrap();
            let was_open = flow.open;
            if was_open {
                flow.priority = p.ip.dscp();
            }
            flow.open &= !flags.has(TcpFlags::FIN) && !flags.has(TcpFlags::RST);
            let back = reversed(*p).flow();
            let open_back = self.flows.iter().any(|f| f.key == back && f.open);
            if flags.has(TcpFlags::RST) && was_open && open_back {
                self.touch(back, now).unwrap().open = false;
            }
        }
    }

    proptest! {
        #[test]
        fn the_table_is_bounded_and_agrees_with_the_rules(steps in steps(), max in 1usize..30) {
            let timeout = Duration::from_millis(400);
            let mut t = FlowTable::new(timeout, max as u64);
            let mut model = Model::default();
            let mut now = at(0);
            for s in steps {
                now += Duration::from_millis(s.wait_ms);
                let p = segment(s.host, 1000, s.flags, s.dscp);
                let p = if s.back { reversed(p) } else { p };
                t.observe(&p, false, now);
                model.observe(&p, now, timeout, max);
                prop_assert!(t.used as usize <= max && t.records.len() <= max);
                let open = model.flows.iter().filter(|f| f.open).map(|f| (f.added, f.updated, f.priority));
                let open: Vec<_> = open.collect();
                let got: Vec<_> = t.flows(now).map(|f| (f.added, f.updated, f.priority)).collect();
                prop_assert_eq!(&got, &open, "in order of entry");
                prop_assert_eq!(t.len(), open.len());
                prop_assert_eq!(t.largest_priority(), open.iter().map(|r| r.2).max().unwrap_or(0));
                prop_assert_eq!(t.oldest_age(now), open.first().map_or(Duration::ZERO, |r| now.since(r.0)));
            }
        }

        #[test]
        fn growing_loses_no_flow(n in 1u16..2000) {
            let mut t = FlowTable::new(Duration::from_secs(60), 65_536);
            for port in 0..n {
                t.observe(&segment(1, port, TcpFlags::ACK, 0), false, at(u64::from(port)));
            }
            for port in 0..n {
                let flow = t.observe(&segment(1, port, TcpFlags::ACK, 0), false, at(3000)).unwrap();
                prop_assert_eq!(flow.added, at(u64::from(port)));
            }
            prop_assert_eq!(t.len(), usize::from(n));
        }
    }
}
