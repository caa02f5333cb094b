//! The router part: weighs the flow of each passing segment that asks, and writes the command into it.

use super::codec::IpMessage;
use super::{AcnsConfig, LARGEST_DSCP, PriorityMaximum, command, weight};
use crate::flow_table::{Flow, FlowTable};
use crate::{AgentCounters, FlowCounts, Port, RouterAgent};
use narrows_cc::Advice;
use narrows_queue::{QueueView, Verdict};
use narrows_units::{Duration, Instant};
use narrows_wire::Packet;

/// An ACNS router (thesis, sections 3.1 and 4.1; DCNET 2013, sections 2.1 and 3.2).
///
/// Every TCP segment refreshes its flow in the [`FlowTable`]. Only segments that ask for a command, or that carry an
/// earlier router's command, may be rewritten, and only to a harsher command. The router never drops a packet, and
/// packets other than TCP pass unchanged. One router has one table for all its output queues.
///
/// In [`flow_counts`](RouterAgent::flow_counts), `flows` is every open flow in the table, including pure-ACK directions
/// and flows without ACNS, since all of these count for the age of the oldest. The three commands are counted over the
/// flows that have asked at least once.
///
/// Limit: with [`Ipv6Encoding::FlowLabel`](super::Ipv6Encoding::FlowLabel) a host without ACNS that draws 20-bit flow
/// labels seems to the router to ask, if it uses ECN. This is inherent in the encoding.
#[derive(Debug)]
pub struct AcnsRouter {
    config: AcnsConfig,
    table: FlowTable,
    asked: u64,
    written: [u64; 2],
}

impl AcnsRouter {
    /// Creates a router with an empty table. `config` has been [checked](AcnsConfig::check).
    #[must_use]
    pub fn new(config: &AcnsConfig) -> Self {
        let table = FlowTable::new(config.idle_timeout, config.max_flows);
        Self { config: *config, table, asked: 0, written: [0; 2] }
    }

    /// Returns the flow table.
    #[must_use]
    pub const fn table(&self) -> &FlowTable {
        &self.table
    }

    fn command(&self, flow: &Flow, occupancy: f64, p_max: u8, oldest: Duration, now: Instant) -> Advice {
        let age = now.since(flow.added).as_nanos() as f64;
        // For the first segment of a lone flow no flow has an age yet, which the formulas take as a = 0.
        let age = if oldest.is_zero() { 0.0 } else { age / oldest.as_nanos() as f64 };
        command(&self.config, weight(&self.config, occupancy, flow.priority, p_max, age))
    }
}

impl RouterAgent for AcnsRouter {
    fn on_packet(&mut self, packet: &mut Packet, _port: Port, queue: &QueueView, now: Instant) -> Verdict {
        let message = IpMessage::decode(&packet.ip, self.config.ipv6);
        let asks = matches!(message, IpMessage::Ask { .. } | IpMessage::Freeze);
        let Some(flow) = self.table.observe(packet, asks, now) else { return Verdict::Pass };
        if asks {
            self.asked += 1;
            let p_max = match self.config.p_max {
                PriorityMaximum::Dscp => LARGEST_DSCP,
                PriorityMaximum::Observed => self.table.largest_priority(),
            };
            let command = self.command(&flow, queue.occupancy(), p_max, self.table.oldest_age(now), now);
            let answer = message.overwritten(command);
            if answer != message {
                answer.encode(&mut packet.ip, self.config.ipv6);
                self.written[usize::from(command == Advice::Fallback)] += 1;
            }
        }
        Verdict::Pass
    }

    fn flow_counts(&self, _port: Port, queue: &QueueView, now: Instant) -> FlowCounts {
        let occupancy = queue.occupancy();
        let p_max = match self.config.p_max {
            PriorityMaximum::Dscp => LARGEST_DSCP,
            PriorityMaximum::Observed => self.table.flows(now).map(|f| f.priority).max().unwrap_or(0),
        };
        let oldest = self.table.flows(now).next().map_or(Duration::ZERO, |f| now.since(f.added));
        let (mut flows, mut by_command) = (0, [0; 3]);
        for flow in self.table.flows(now) {
            flows += 1;
            if flow.assisted {
                let command = self.command(&flow, occupancy, p_max, oldest, now);
                by_command[command as usize - 1] += 1;
            }
        }
        FlowCounts { flows, values: by_command.map(Some) }
    }

    fn counters(&self) -> AgentCounters {
        let [wrote_freeze, wrote_fallback] = self.written;
        [self.asked, wrote_freeze, wrote_fallback, 0, 0, 0]
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::acns::{Formula, Ipv6Encoding};
    use core::net::IpAddr;
    use narrows_queue::Limit;
    use narrows_units::{Bytes, Packets, Rate};
    use narrows_wire::{Ip, TcpFlags, TcpRepr, Transport, UdpRepr};
    use proptest::prelude::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn queue(packets: u64) -> QueueView {
        QueueView {
            bytes: Bytes::new(packets * 1000),
            packets: Packets::new(packets),
            limit: Limit::Packets(Packets::new(100)),
            rate: Rate::mbps(3),
        }
    }

    fn segment(host: u8, dscp: u8, message: IpMessage) -> Packet {
        let mut ip = Ip::between(IpAddr::from([10, 0, 0, host]), IpAddr::from([10, 0, 1, 1]));
        ip.set_dscp(dscp);
        message.encode(&mut ip, Ipv6Encoding::Extension);
        let tcp = TcpRepr { src_port: 1, dst_port: 2, flags: TcpFlags::ACK, ..TcpRepr::default() };
        Packet { ip, transport: Transport::Tcp(tcp), payload_len: 1000 }
    }

    const ASK: IpMessage = IpMessage::Ask { ns: false };

    /// Returns what a segment of `host` carries when it leaves `router`.
    fn pass(router: &mut AcnsRouter, host: u8, dscp: u8, message: IpMessage, queued: u64, ms: u64) -> IpMessage {
        let mut packet = segment(host, dscp, message);
        assert_eq!(router.on_packet(&mut packet, Port::default(), &queue(queued), at(ms)), Verdict::Pass);
        IpMessage::decode(&packet.ip, Ipv6Encoding::Extension)
    }

    #[test]
    fn oldest_flow_without_priority_freezes_from_19_and_falls_back_from_20_percent() {
        let mut r = AcnsRouter::new(&AcnsConfig::default());
        pass(&mut r, 1, 0, IpMessage::NotSupported, 0, 0);
        assert_eq!(pass(&mut r, 1, 0, ASK, 18, 1000), ASK);
        assert_eq!(pass(&mut r, 1, 0, ASK, 19, 1000), IpMessage::Freeze);
        assert_eq!(pass(&mut r, 1, 0, ASK, 20, 1000), IpMessage::Fallback);
    }

    #[test]
    fn a_young_flow_is_spared_and_an_important_old_one_too() {
        let mut r = AcnsRouter::new(&AcnsConfig::default());
        pass(&mut r, 1, 63, IpMessage::NotSupported, 0, 0);
        pass(&mut r, 2, 0, IpMessage::NotSupported, 0, 900);
        // Age 0.1: T = 2, so W = A / 2.
        assert_eq!(pass(&mut r, 2, 0, ASK, 100, 1000), ASK);
        assert_eq!(pass(&mut r, 1, 63, ASK, 94, 1000), ASK);
        assert_eq!(pass(&mut r, 1, 63, ASK, 95, 1000), IpMessage::Freeze);
        assert_eq!(pass(&mut r, 1, 63, ASK, 100, 1000), IpMessage::Fallback);
    }

    #[test]
    fn thesis2013_spares_the_old_flow_without_priority() {
        let config = AcnsConfig { formula: Formula::Thesis2013, ..AcnsConfig::default() };
        let mut r = AcnsRouter::new(&config);
        pass(&mut r, 1, 0, IpMessage::NotSupported, 0, 0);
        pass(&mut r, 2, 63, IpMessage::NotSupported, 0, 900);
        assert_eq!(pass(&mut r, 1, 0, ASK, 100, 1000), ASK);
        // F = 0.8, T = 0.02: W = A / 0.82.
        assert_eq!(pass(&mut r, 2, 63, ASK, 81, 1000), IpMessage::Freeze);
        assert_eq!(pass(&mut r, 2, 63, ASK, 83, 1000), IpMessage::Fallback);
    }

    #[test]
    fn only_asking_segments_are_touched() {
        let mut r = AcnsRouter::new(&AcnsConfig::default());
        pass(&mut r, 1, 0, IpMessage::NotSupported, 0, 0);
        for message in [
            IpMessage::NotSupported,
            IpMessage::EcnMode { ns: false },
            IpMessage::EcnMode { ns: true },
            IpMessage::Fallback,
        ] {
            assert_eq!(pass(&mut r, 1, 0, message, 100, 1000), message);
        }
        assert_eq!(
            r.flow_counts(Port::default(), &queue(100), at(1000)),
            FlowCounts { flows: 1, values: [Some(0); 3] },
            "it never asked"
        );
    }

    #[test]
    fn udp_passes_untouched_and_unnoticed() {
        let mut r = AcnsRouter::new(&AcnsConfig::default());
        let mut p = segment(1, 0, ASK);
        p.transport = Transport::Udp(UdpRepr { src_port: 1, dst_port: 2, rtp: None });
        let before = p;
        r.on_packet(&mut p, Port::default(), &queue(100), at(5));
        assert_eq!(p, before);
        assert!(r.table().is_empty());
    }

    #[test]
    fn a_second_router_only_makes_it_harsher() {
        let fresh = || {
            let mut r = AcnsRouter::new(&AcnsConfig::default());
            pass(&mut r, 1, 0, IpMessage::NotSupported, 0, 0);
            r
        };
        for (first, second, expected) in [
            (0, 0, ASK),
            (19, 0, IpMessage::Freeze),
            (0, 19, IpMessage::Freeze),
            (19, 50, IpMessage::Fallback),
            (50, 19, IpMessage::Fallback),
            (50, 0, IpMessage::Fallback),
        ] {
            let left = pass(&mut fresh(), 1, 0, ASK, first, 1000);
            assert_eq!(pass(&mut fresh(), 1, 0, left, second, 1000), expected, "{first} then {second}");
        }
    }

    #[test]
    fn p_max_observed_is_the_largest_priority_in_the_table() {
        let config = AcnsConfig { p_max: PriorityMaximum::Observed, ..AcnsConfig::default() };
        let mut r = AcnsRouter::new(&config);
        pass(&mut r, 1, 10, IpMessage::NotSupported, 0, 0);
        // p = p_max = 10: W = A. With p_max = 63 it would be A / 0.327.
        assert_eq!(pass(&mut r, 1, 10, ASK, 94, 1000), ASK);
        pass(&mut r, 2, 40, IpMessage::NotSupported, 0, 1000);
        // F = 0.8 * 10 / 40 = 0.2, T = 0.2: W = 2.5 A.
        assert_eq!(pass(&mut r, 1, 10, ASK, 38, 1000), IpMessage::Freeze);
        assert_eq!(r.flow_counts(Port::default(), &queue(38), at(1000)).values[1], Some(1));
    }

    #[test]
    fn the_first_segment_of_a_lone_flow_is_never_told_anything() {
        let mut r = AcnsRouter::new(&AcnsConfig::default());
        assert_eq!(pass(&mut r, 1, 0, ASK, 100, 7), ASK);
    }

    #[test]
    fn census_counts_what_each_asking_flow_would_be_told() {
        let mut r = AcnsRouter::new(&AcnsConfig::default());
        pass(&mut r, 1, 0, ASK, 0, 0);
        pass(&mut r, 2, 63, ASK, 0, 0);
        pass(&mut r, 3, 0, ASK, 0, 995);
        pass(&mut r, 4, 0, IpMessage::NotSupported, 0, 0);
        let told = |n| {
            let c = r.flow_counts(Port::default(), &queue(n), at(1000));
            let [normal, freeze, fallback] = c.values.map(Option::unwrap);
            (c.flows, normal, freeze, fallback)
        };
        assert_eq!(told(0), (4, 3, 0, 0));
        assert_eq!(told(19), (4, 2, 1, 0));
        assert_eq!(told(50), (4, 2, 0, 1));
        assert_eq!(told(95), (4, 1, 1, 1));
        assert_eq!(r.flow_counts(Port::default(), &queue(50), at(60_000)).flows, 1, "idle flows are not counted");
    }

    #[test]
    fn occupancy_is_in_the_unit_of_the_queues_own_limit() {
        let mut r = AcnsRouter::new(&AcnsConfig::default());
        pass(&mut r, 1, 0, IpMessage::NotSupported, 0, 0);
        let mut p = segment(1, 0, ASK);
        let bytes = QueueView { limit: Limit::Bytes(Bytes::new(10_000)), ..queue(2) };
        r.on_packet(&mut p, Port::default(), &bytes, at(1000));
        assert_eq!(IpMessage::decode(&p.ip, Ipv6Encoding::Extension), IpMessage::Fallback);
    }

    #[test]
    fn both_ipv6_encodings_carry_commands() {
        for ipv6 in [Ipv6Encoding::Extension, Ipv6Encoding::FlowLabel] {
            let mut r = AcnsRouter::new(&AcnsConfig { ipv6, ..AcnsConfig::default() });
            for (ms, packets, expected) in [(0, 0, ASK), (9, 19, IpMessage::Freeze), (9, 30, IpMessage::Fallback)] {
                let mut p = segment(1, 0, IpMessage::NotSupported);
                p.ip = Ip::between(
                    IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, 1]),
                    IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, 2]),
                );
                ASK.encode(&mut p.ip, ipv6);
                let length = p.len();
                r.on_packet(&mut p, Port::default(), &queue(packets), at(ms));
                assert_eq!(IpMessage::decode(&p.ip, ipv6), expected);
                assert_eq!(p.len(), length, "a router changes no length");
            }
        }
    }

    proptest! {
        #[test]
        fn a_router_never_softens_a_command(
            queued in proptest::collection::vec(0u64..=100, 1..6), dscp in 0u8..64, ms in 1u64..100_000,
        ) {
            let mut message = ASK;
            for n in queued {
                let mut r = AcnsRouter::new(&AcnsConfig::default());
                pass(&mut r, 1, dscp, IpMessage::NotSupported, 0, 0);
                let after = pass(&mut r, 1, dscp, message, n, ms.min(59_999));
                prop_assert!(after.command() >= message.command());
                message = after;
            }
        }
    }
}
