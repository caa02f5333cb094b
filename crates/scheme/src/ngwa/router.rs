//! The router part: counts flows, and writes the node's value into passing data segments.

use super::codec::{self, Written};
use super::{NgwaConfig, Stamp};
use crate::flow_table::FlowTable;
use crate::{Census, Port, RouterAgent, Tally};
use narrows_queue::{Limit, QueueView, Verdict};
use narrows_units::{Bytes, Instant};
use narrows_wire::{Ip, Packet};

/// Longest IPv4 packet in bytes (RFC 791, section 3.1).
const LONGEST: u64 = 65_535;

/// An NGWA router (paper, sections 2 and 4.1).
///
/// The node's value is the free bytes of the queue that the packet goes through, or with flow division `0.98 B_r / n_f` of
/// it (equation 3). It is written into data segments over IPv4 alone: pure ACKs, SYN, FIN and RST without data, UDP and
/// IPv6 pass untouched. Nothing is ever dropped here.
///
/// # Choices
/// - Each output queue has its own count of flows, as the paper's module, a queueing discipline, is one per interface. A
///   flow is one direction of a connection; that of pure ACKs counts where they pass, since its SYN-ACK is a SYN.
/// - A flow also enters with its first segment of another kind, so that a route that changes, or an idle time that runs out,
///   does not leave it uncounted for ever (the paper's section 5, (a), asks for that). After FIN or RST its late segments
///   do not bring it back.
/// - Where the queue is not limited in bytes there is no value: the segment passes and counts as `unsupported`, like a data
///   segment over IPv6, and one that the option would make longer than IPv4 allows.
#[derive(Debug)]
pub struct NgwaRouter {
    config: NgwaConfig,
    /// By port.
    tables: Vec<FlowTable>,
    tally: Tally,
}

impl NgwaRouter {
    /// A router that has seen nothing. `config` has been [checked](NgwaConfig::check).
    #[must_use]
    pub const fn new(config: &NgwaConfig) -> Self {
        Self { config: *config, tables: Vec::new(), tally: Tally::ZERO }
    }

    fn table(&mut self, port: Port) -> &mut FlowTable {
        let (index, config) = (port.index(), self.config);
        while self.tables.len() <= index {
            self.tables.push(FlowTable::new(config.idle_timeout, config.max_flows));
        }
        &mut self.tables[index]
    }

    /// The node's value for a queue that is limited in bytes and has this many of them free.
    fn value(&self, limit: Bytes, free: Bytes, flows: usize) -> u32 {
        let bytes = if self.config.mode.flow_division {
            // The smallest part of a byte keeps 0.98 * 97,000 from being 95,059.
            (self.config.flow_factor * limit.as_f64() / flows.max(1) as f64 + 1e-6) as u64
        } else {
            free.as_u64()
        };
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }

    /// Writes the value for a queue in which `waiting` bytes wait into a data segment.
    fn stamp(&mut self, packet: &mut Packet, port: Port, queue: &QueueView, waiting: Bytes) {
        if packet.payload_len == 0 || packet.tcp().is_none() {
            return;
        }
        let (len, flows) = (packet.len().as_u64(), self.table(port).len());
        let (Limit::Bytes(limit), Ip::V4(ip)) = (queue.limit, &mut packet.ip) else {
            self.tally.unsupported += 1;
            return;
        };
        let value = self.value(limit, limit.saturating_sub(waiting), flows);
        let mut options = ip.options;
        let written = codec::write(&mut options, value);
        // A value that is there already can be lowered in the longest packet.
        if len - ip.options.len() as u64 + options.len() as u64 > LONGEST {
            self.tally.unsupported += 1;
            return;
        }
        ip.options = options;
        match written {
            Written::Inserted => self.tally.inserted += 1,
            Written::Lowered => self.tally.lowered += 1,
            Written::Kept => self.tally.kept += 1,
            Written::Full => self.tally.full += 1,
            Written::Malformed => self.tally.malformed += 1,
        }
    }
}

impl RouterAgent for NgwaRouter {
    fn on_packet(&mut self, packet: &mut Packet, port: Port, queue: &QueueView, now: Instant) -> Verdict {
        self.table(port).observe(packet, false, now);
        if self.config.stamp == Stamp::Arrival {
            let waiting = queue.bytes + packet.len();
            self.stamp(packet, port, queue, waiting);
        }
        Verdict::Pass
    }

    fn sees_departures(&self) -> bool {
        self.config.stamp == Stamp::Departure
    }

    fn on_departure(&mut self, packet: &mut Packet, port: Port, queue: &QueueView, _now: Instant) {
        self.stamp(packet, port, queue, queue.bytes);
    }

    fn census(&self, port: Port, queue: &QueueView, now: Instant) -> Census {
        let flows = self.tables.get(port.index()).map_or(0, |table| table.flows(now).count());
        let window = match queue.limit {
            Limit::Bytes(limit) => {
                let value = self.value(limit, limit.saturating_sub(queue.bytes), flows);
                Some(Bytes::new(u64::from(value)))
            }
            Limit::Packets(_) => None,
        };
        Census { flows: flows as u64, window, ..Census::default() }
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}
