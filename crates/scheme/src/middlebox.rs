//! A router that runs no scheme and drops, strips or copies IPv4 options.

use crate::{AgentCounters, FlowCounts, Port, RouterAgent};
use narrows_queue::{DropReason, QueueView, Verdict};
use narrows_settings::IpOptions;
use narrows_units::Instant;
use narrows_wire::{FlowKey, Ip, Ipv4Options, Packet};
use std::collections::BTreeMap;

/// A router that treats IPv4 options by a fixed rule ([`IpOptions`]). IPv6 passes unchanged.
///
/// It works on packets before they enter a queue. Packets that it drops count as dropped by rule. It keeps the options
/// of each flow that it has seen, one direction of a connection or of datagrams, for the whole run.
#[derive(Debug)]
pub struct Middlebox {
    rule: IpOptions,
    /// With [`IpOptions::Copy`]: the options of each flow's first packet that had some.
    first: BTreeMap<FlowKey, Ipv4Options>,
}

impl Middlebox {
    /// A router with this rule that has seen nothing.
    #[must_use]
    pub const fn new(rule: IpOptions) -> Self {
        Self { rule, first: BTreeMap::new() }
    }
}

impl RouterAgent for Middlebox {
    fn on_packet(&mut self, packet: &mut Packet, _port: Port, _queue: &QueueView, _now: Instant) -> Verdict {
        let flow = packet.flow();
        let before = *packet;
        let Ip::V4(ip) = &mut packet.ip else { return Verdict::Pass };
        match self.rule {
            IpOptions::Keep => {}
            IpOptions::Drop => {
                if !ip.options.is_empty() {
                    return Verdict::Drop(DropReason::Forced);
                }
            }
            IpOptions::Strip => ip.options = Ipv4Options::EMPTY,
            IpOptions::Copy => {
                if !ip.options.is_empty() {
                    self.first.entry(flow).or_insert(ip.options);
                }
                if let Some(first) = self.first.get(&flow) {
                    ip.options = *first;
                    // A packet that has no room for them stays as it was.
                    if !packet.fits() {
                        *packet = before;
                    }
                }
            }
        }
        Verdict::Pass
    }

    fn flow_counts(&self, _port: Port, _queue: &QueueView, _now: Instant) -> FlowCounts {
        FlowCounts::default()
    }

    fn counters(&self) -> AgentCounters {
        AgentCounters::default()
    }

    fn reports(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use core::net::IpAddr;
    use narrows_queue::Limit;
    use narrows_units::{Bytes, Packets, Rate};
    use narrows_wire::{TcpRepr, Transport};

    const FIRST: [u8; 8] = [33, 6, 0, 0, 1, 0, 0, 0];
    const SECOND: [u8; 8] = [33, 6, 0, 0, 2, 0, 0, 0];

    fn packet(port: u16, area: &[u8], payload_len: u32) -> Packet {
        let mut ip = Ip::between(IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        if let Ip::V4(ip) = &mut ip {
            ip.options = Ipv4Options::new(area).unwrap();
        }
        Packet { ip, transport: Transport::Tcp(TcpRepr { src_port: port, ..TcpRepr::default() }), payload_len }
    }

    /// Carries a packet; `None` if it is dropped.
    fn carry(agent: &mut Middlebox, mut packet: Packet) -> Option<Packet> {
        let queue = QueueView {
            bytes: Bytes::ZERO,
            packets: Packets::ZERO,
            limit: Limit::Packets(Packets::new(9)),
            rate: Rate::mbps(1),
        };
        (agent.on_packet(&mut packet, Port::new(0), &queue, Instant::ZERO) == Verdict::Pass).then_some(packet)
    }

    #[test]
    fn packets_without_options_pass_unchanged_before_any_has_some() {
        for rule in [IpOptions::Keep, IpOptions::Drop, IpOptions::Strip, IpOptions::Copy] {
            let plain = packet(1, &[], 100);
            assert_eq!(carry(&mut Middlebox::new(rule), plain), Some(plain), "{rule:?}");
        }
    }

    #[test]
    fn options_are_kept_dropped_or_stripped() {
        let marked = packet(1, &FIRST, 100);
        assert_eq!(carry(&mut Middlebox::new(IpOptions::Keep), marked), Some(marked));
        assert_eq!(carry(&mut Middlebox::new(IpOptions::Drop), marked), None);
        assert_eq!(carry(&mut Middlebox::new(IpOptions::Strip), marked), Some(packet(1, &[], 100)));
    }

    #[test]
    fn the_first_options_of_a_flow_are_copied_into_all_its_later_packets() {
        let mut agent = Middlebox::new(IpOptions::Copy);
        assert_eq!(carry(&mut agent, packet(1, &FIRST, 0)), Some(packet(1, &FIRST, 0)));
        for area in [&SECOND[..], &[]] {
            assert_eq!(carry(&mut agent, packet(1, area, 100)), Some(packet(1, &FIRST, 100)));
        }
        assert_eq!(carry(&mut agent, packet(2, &[], 100)), Some(packet(2, &[], 100)), "another flow");
        let longest = packet(1, &[], 65_535 - 40);
        assert_eq!(carry(&mut agent, longest), Some(longest), "no room");
    }

    #[test]
    fn ipv6_passes() {
        let ip = Ip::between(IpAddr::from([0; 16]), IpAddr::from([1; 16]));
        let six = Packet { ip, ..packet(1, &[], 1) };
        assert_eq!(carry(&mut Middlebox::new(IpOptions::Drop), six), Some(six));
    }
}
