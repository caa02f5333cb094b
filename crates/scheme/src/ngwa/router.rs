//! The router part: counts flows, and writes the node's value into passing segments.

use super::codec::{self, Written};
use super::{Marks, NgwaConfig, Stamp};
use crate::flow_table::FlowTable;
use crate::{AgentCounters, FlowCounts, Port, RouterAgent};
use narrows_queue::{Limit, QueueView, Verdict};
use narrows_units::{Bytes, Instant, Packets};
use narrows_wire::{Ip, Packet};

/// Longest IPv4 packet in bytes (RFC 791, section 3.1).
const LONGEST: u64 = 65_535;

/// An NGWA router (paper, sections 2 and 4.1).
///
/// The node's value is the free bytes of the packet's queue, or with flow division `0.98 B_r / n_f` of the queue
/// (equation 3). It is written into TCP segments over IPv4: all of them ([`Marks::All`], the paper's section 4.1), or
/// those with payload. UDP and IPv6 pass unchanged. The router never drops a packet.
///
/// # Choices
/// - Everything is done where the paper's module does it, when the packet leaves the queue ([`Stamp::Departure`]).
///   Flows are counted there too. A flow that ends counts until its FIN has left, behind all its data, so that the
///   other flows' windows grow only into room that exists.
/// - Each output queue counts its own flows, because the paper's module is a queueing discipline, one per interface. A
///   flow is one direction of a connection. The direction of pure ACKs counts where they pass, since its SYN-ACK is a
///   SYN.
/// - A flow also enters with its first segment of another kind, as section 5, (a), of the paper asks. Otherwise a
///   change of route or an expired idle time would leave it uncounted for ever. Late segments after FIN or RST do not
///   bring it back.
/// - A queue whose limit is in packets counts [`packet_size`](NgwaConfig::packet_size) for each place: its total is
///   that times the limit, and its free bytes that times the places that are free, however long the waiting packets
///   are. The paper has queues of 100 and 1000 packets (section 4.3) and does not say how they become bytes.
/// - A segment over IPv6, or one that the option would make longer than IPv4 allows, passes and counts as
///   `unsupported`.
#[derive(Debug)]
pub struct NgwaRouter {
    config: NgwaConfig,
    /// Flow tables by port.
    tables: Vec<FlowTable>,
    counts: Counts,
}

/// Segments by what was done to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
struct Counts {
    /// Got an option.
    inserted: u64,
    /// Had an option with a larger value, and got a smaller one.
    lowered: u64,
    /// Had an option with a value as small or smaller.
    kept: u64,
    /// Left alone because their option area had no room.
    full: u64,
    /// Left alone because their options were malformed.
    malformed: u64,
    /// Left alone because they cannot carry the value.
    unsupported: u64,
}

impl NgwaRouter {
    /// Creates a router that has seen nothing. `config` has been [checked](NgwaConfig::check).
    #[must_use]
    pub fn new(config: &NgwaConfig) -> Self {
        Self { config: *config, tables: Vec::new(), counts: Counts::default() }
    }

    fn table(&mut self, port: Port) -> &mut FlowTable {
        let (index, config) = (port.index(), self.config);
        while self.tables.len() <= index {
            self.tables.push(FlowTable::new(config.idle_timeout, config.max_flows));
        }
        &mut self.tables[index]
    }

    /// Returns the node's value for a queue in which `more` packets wait besides those that `queue` counts.
    fn value(&self, queue: &QueueView, more: &[Bytes], flows: usize) -> u32 {
        let (limit, waiting) = match queue.limit {
            Limit::Bytes(limit) => (limit, more.iter().fold(queue.bytes, |sum, &len| sum + len)),
            Limit::Packets(limit) => {
                let of =
                    |packets: Packets| Bytes::new(self.config.packet_size.as_u64().saturating_mul(packets.as_u64()));
                (of(limit), of(queue.packets + Packets::new(more.len() as u64)))
            }
        };
        let free = limit.saturating_sub(waiting);
        let bytes = if self.config.mode.flow_division {
            // The small addend keeps 0.57 * 97,000, which is 55,290, from being 55,289.
            (self.config.flow_factor * limit.as_f64() / flows.max(1) as f64 + 1e-6) as u64
        } else {
            free.as_u64()
        };
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }

    /// Writes the value of a queue in which `more` packets wait too into a segment.
    fn stamp(&mut self, packet: &mut Packet, port: Port, queue: &QueueView, more: &[Bytes]) {
        if packet.tcp().is_none() || (self.config.marks == Marks::Data && packet.payload_len == 0) {
            return;
        }
        let (len, flows) = (packet.len().as_u64(), self.table(port).len());
        let value = self.value(queue, more, flows);
        let Ip::V4(ip) = &mut packet.ip else {
            self.counts.unsupported += 1;
            return;
        };
        let mut options = ip.options;
        let written = codec::write(&mut options, value);
        // Lowering an existing value needs no room, so it works in the longest packet too.
        if len - ip.options.len() as u64 + options.len() as u64 > LONGEST {
            self.counts.unsupported += 1;
            return;
        }
        ip.options = options;
        match written {
            Written::Inserted => self.counts.inserted += 1,
            Written::Lowered => self.counts.lowered += 1,
            Written::Kept => self.counts.kept += 1,
            Written::Full => self.counts.full += 1,
            Written::Malformed => self.counts.malformed += 1,
        }
    }
}

impl RouterAgent for NgwaRouter {
    fn on_packet(&mut self, packet: &mut Packet, port: Port, queue: &QueueView, now: Instant) -> Verdict {
        if self.config.stamp == Stamp::Arrival {
            self.table(port).observe(packet, false, now);
            let len = packet.len();
            self.stamp(packet, port, queue, &[len]);
        }
        Verdict::Pass
    }

    fn sees_departures(&self) -> bool {
        self.config.stamp == Stamp::Departure
    }

    fn on_departure(&mut self, packet: &mut Packet, port: Port, queue: &QueueView, now: Instant) {
        self.table(port).observe(packet, false, now);
        self.stamp(packet, port, queue, &[]);
    }

    fn flow_counts(&self, port: Port, queue: &QueueView, now: Instant) -> FlowCounts {
        let flows = self.tables.get(port.index()).map_or(0, |table| table.flows(now).count());
        let window = u64::from(self.value(queue, &[], flows));
        FlowCounts { flows: flows as u64, values: [Some(window), None, None] }
    }

    fn counters(&self) -> AgentCounters {
        let Counts { inserted, lowered, kept, full, malformed, unsupported } = self.counts;
        [inserted, lowered, kept, full, malformed, unsupported]
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::ngwa::NgwaMode;
    use crate::ngwa::codec::Message;
    use core::net::IpAddr;
    use narrows_units::{Duration, Packets, Rate};
    use narrows_wire::{Ipv4Options, TcpFlags, TcpRepr, Transport, UdpRepr};

    const PORT: Port = Port::new(0);
    /// The queue of the paper's simulation.
    const LIMIT: u64 = 97_000;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn router(mode: u8) -> NgwaRouter {
        with(|c| c.mode = NgwaMode::new(mode).unwrap())
    }

    fn with(change: impl FnOnce(&mut NgwaConfig)) -> NgwaRouter {
        let mut config = NgwaConfig::default();
        change(&mut config);
        config.check().unwrap();
        NgwaRouter::new(&config)
    }

    fn queue(waiting: u64) -> QueueView {
        let packets = Packets::new(waiting.div_ceil(1500));
        QueueView { bytes: Bytes::new(waiting), packets, limit: Limit::Bytes(Bytes::new(LIMIT)), rate: Rate::mbps(2) }
    }

    fn segment(host: u8, flags: TcpFlags, payload_len: u32) -> Packet {
        let ip = Ip::between(IpAddr::from([10, 0, 0, host]), IpAddr::from([10, 0, 1, 1]));
        let tcp = TcpRepr { src_port: 1000, dst_port: 80, flags, ..TcpRepr::default() };
        Packet { ip, transport: Transport::Tcp(tcp), payload_len }
    }

    fn data(host: u8) -> Packet {
        segment(host, TcpFlags::ACK, 1000)
    }

    fn with_options(mut packet: Packet, area: &[u8]) -> Packet {
        if let Ip::V4(ip) = &mut packet.ip {
            ip.options = Ipv4Options::new(area).unwrap();
        }
        packet
    }

    fn message(packet: &Packet) -> Message {
        match &packet.ip {
            Ip::V4(ip) => codec::read(&ip.options),
            Ip::V6(_) => Message::Absent,
        }
    }

    /// Passes a packet through the queue at `port`, which holds `waiting` bytes.
    fn pass_at(router: &mut NgwaRouter, port: u32, mut packet: Packet, waiting: u64, ms: u64) -> Packet {
        let port = Port::new(port);
        assert_eq!(router.on_packet(&mut packet, port, &queue(waiting), at(ms)), Verdict::Pass);
        if router.sees_departures() {
            router.on_departure(&mut packet, port, &queue(waiting), at(ms));
        }
        packet
    }

    fn pass(router: &mut NgwaRouter, packet: Packet, waiting: u64, ms: u64) -> Message {
        message(&pass_at(router, 0, packet, waiting, ms))
    }

    #[test]
    fn without_flow_division_the_value_is_what_is_free() {
        for mode in 1..=4 {
            let mut r = router(mode);
            for waiting in [0, 1, 49_470, 96_999, LIMIT, LIMIT + 1500] {
                let free = LIMIT.saturating_sub(waiting) as u32;
                assert_eq!(pass(&mut r, data(1), waiting, 0), Message::Window(free), "mode {mode}");
                assert_eq!(pass(&mut r, data(2), waiting, 0), Message::Window(free), "however many flows there are");
            }
        }
    }

    #[test]
    fn with_flow_division_the_value_is_the_share_of_a_flow() {
        for mode in 5..=8 {
            let mut r = router(mode);
            // 0.98 * 97,000 divided by the number of flows; the first two of the test vectors are 47,530 and 23,765.
            for (host, share) in [(1, 95_060), (2, 47_530), (3, 31_686), (4, 23_765)] {
                assert_eq!(pass(&mut r, data(host), 60_000, 0), Message::Window(share), "mode {mode}, whatever waits");
            }
        }
    }

    #[test]
    fn a_share_that_is_whole_bytes_loses_none_to_binary_fractions() {
        let mut r = with(|c| c.flow_factor = 0.57);
        for (host, share) in [(1, 55_290), (2, 27_645), (3, 18_430)] {
            assert_eq!(pass(&mut r, data(host), 0, 0), Message::Window(share));
        }
    }

    #[test]
    fn a_value_beyond_32_bits_is_the_largest_of_them() {
        let endless = QueueView { limit: Limit::Bytes(Bytes::new(u64::MAX)), ..queue(0) };
        for mode in [1, 5] {
            let (mut r, mut packet) = (router(mode), data(1));
            r.on_departure(&mut packet, PORT, &endless, at(0));
            assert_eq!(message(&packet), Message::Window(u32::MAX));
        }
    }

    #[test]
    fn flows_enter_by_syn_or_data_and_leave_by_fin_rst_or_idleness() {
        let mut r = router(6);
        let flows = |r: &NgwaRouter, ms| r.flow_counts(PORT, &queue(0), at(ms)).flows;
        pass(&mut r, segment(1, TcpFlags::SYN, 0), 0, 0);
        assert_eq!(flows(&r, 0), 1, "a SYN inserts");
        pass(&mut r, data(2), 0, 10);
        assert_eq!(flows(&r, 10), 2, "so does data of a flow that is not known");
        pass(&mut r, segment(1, TcpFlags::FIN.with(TcpFlags::ACK), 0), 0, 20);
        assert_eq!(flows(&r, 20), 1);
        pass(&mut r, data(1), 0, 30);
        assert_eq!(flows(&r, 30), 1, "a late segment does not bring it back");
        pass(&mut r, segment(1, TcpFlags::SYN, 0), 0, 40);
        assert_eq!(flows(&r, 40), 2, "a SYN does");
        pass(&mut r, segment(2, TcpFlags::RST, 0), 0, 50);
        assert_eq!(flows(&r, 50), 1);
        assert_eq!((flows(&r, 60_039), flows(&r, 60_040)), (1, 0), "60 s after its latest segment");
        assert_eq!(pass(&mut r, data(3), 0, 60_041), Message::Window(95_060), "alone");
    }

    #[test]
    fn the_table_is_bounded() {
        let mut r = with(|c| c.max_flows = 3);
        for host in 0..200 {
            pass(&mut r, data(host), 0, u64::from(host));
        }
        assert_eq!(r.flow_counts(PORT, &queue(0), at(200)).flows, 3);
        assert_eq!(pass(&mut r, data(199), 0, 201), Message::Window(31_686));
    }

    #[test]
    fn each_port_counts_its_own_flows() {
        let mut r = router(5);
        for host in 1..=3 {
            pass_at(&mut r, 2, data(host), 0, 0);
        }
        assert_eq!(message(&pass_at(&mut r, 0, data(9), 0, 1)), Message::Window(95_060));
        assert_eq!(message(&pass_at(&mut r, 2, data(4), 0, 2)), Message::Window(23_765));
        let flows = |port| r.flow_counts(Port::new(port), &queue(0), at(2)).flows;
        assert_eq!([flows(0), flows(1), flows(2), flows(3)], [1, 0, 4, 0]);
    }

    #[test]
    fn the_least_value_of_the_path_arrives_in_either_order() {
        for order in [[60_000, 30_000, 45_000], [30_000, 60_000, 45_000], [45_000, 60_000, 30_000]] {
            let mut packet = data(1);
            for waiting in order {
                packet = pass_at(&mut router(1), 0, packet, waiting, 0);
            }
            assert_eq!(message(&packet), Message::Window(37_000), "{order:?}");
            assert_eq!(packet.len(), data(1).len() + Bytes::new(8), "the option is there once");
        }
    }

    #[test]
    fn what_was_done_is_counted() {
        let mut r = router(1);
        let mut packet = pass_at(&mut r, 0, data(1), 10_000, 0);
        packet = pass_at(&mut r, 0, packet, 9_000, 0);
        packet = pass_at(&mut r, 0, packet, 10_000, 0);
        pass_at(&mut r, 0, packet, 11_000, 0);
        assert_eq!(r.counts, Counts { inserted: 1, kept: 2, lowered: 1, ..Counts::default() });
    }

    #[test]
    fn segments_without_data_have_a_value_unless_marks_are_for_data() {
        let control = [TcpFlags::SYN, TcpFlags::ACK, TcpFlags::FIN.with(TcpFlags::ACK), TcpFlags::RST];
        let (mut all, mut few) = (router(1), with(|c| (c.mode, c.marks) = (NgwaMode::new(1).unwrap(), Marks::Data)));
        for flags in control {
            let packet = segment(1, flags, 0);
            assert_eq!(pass(&mut all, packet, 50_000, 0), Message::Window(47_000), "{flags:?}");
            assert_eq!(pass_at(&mut few, 0, packet, 50_000, 0), packet, "{flags:?}");
            assert_eq!(pass(&mut few, segment(1, flags, 1), 50_000, 0), Message::Window(47_000), "{flags:?}");
        }
        assert_eq!((all.counts.inserted, few.counts.inserted), (4, 4));
    }

    #[test]
    fn what_is_no_tcp_over_ipv4_passes_untouched() {
        let mut r = router(6);
        let packet = Packet { transport: Transport::Udp(UdpRepr { src_port: 1, dst_port: 2, rtp: None }), ..data(1) };
        assert_eq!(pass_at(&mut r, 0, packet, 50_000, 0), packet);
        assert_eq!(r.counts, Counts::default());
        let six = |n| IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, n]);
        let packet = Packet { ip: Ip::between(six(1), six(2)), ..data(1) };
        assert_eq!(pass_at(&mut r, 0, packet, 50_000, 0), packet);
        assert_eq!(r.counts, Counts { unsupported: 1, ..Counts::default() }, "a segment without a place for a value");
        assert_eq!(r.flow_counts(PORT, &queue(0), at(0)).flows, 1, "a flow over IPv6 takes its share of the queue too");
    }

    #[test]
    fn data_on_a_fin_and_a_window_probe_are_data() {
        for (flags, len) in [(TcpFlags::FIN.with(TcpFlags::ACK), 1000), (TcpFlags::ACK, 1)] {
            let mut r = router(5);
            pass(&mut r, data(1), 0, 0);
            assert_eq!(pass(&mut r, segment(1, flags, len), 0, 1), Message::Window(95_060), "{flags:?}");
        }
    }

    #[test]
    fn each_place_of_a_queue_in_packets_counts_a_packet_size() {
        // 100 places, of which 3 are taken by 120 bytes.
        let three = QueueView {
            limit: Limit::Packets(Packets::new(100)),
            packets: Packets::new(3),
            bytes: Bytes::new(120),
            ..queue(0)
        };
        for (size, share, free) in [(1500, 147_000, 145_500), (1700, 166_600, 164_900)] {
            let value = |mode, stamp| {
                let mut r = with(|c| {
                    (c.mode, c.stamp, c.packet_size) = (NgwaMode::new(mode).unwrap(), stamp, Bytes::new(size));
                });
                let mut packet = data(1);
                r.on_packet(&mut packet, PORT, &three, at(0));
                r.on_departure(&mut packet, PORT, &three, at(0));
                assert_eq!(r.counts.unsupported, 0);
                match stamp {
                    Stamp::Departure => assert_eq!(
                        r.flow_counts(PORT, &three, at(0)).values[0],
                        Some(if mode == 6 { share } else { free })
                    ),
                    Stamp::Arrival => {}
                }
                message(&packet)
            };
            assert_eq!(value(6, Stamp::Departure), Message::Window(share as u32));
            assert_eq!(value(1, Stamp::Departure), Message::Window(free as u32));
            assert_eq!(value(1, Stamp::Arrival), Message::Window((free - size) as u32), "with itself");
        }
    }

    #[test]
    fn full_and_malformed_areas_are_left_and_counted() {
        let mut r = router(6);
        for area in [&[1; 40][..], &[codec::KIND, 5, 0, 0, 0, 0, 0, 0], &[7, 0, 0, 0]] {
            let packet = with_options(data(1), area);
            assert_eq!(pass_at(&mut r, 0, packet, 0, 0), packet);
        }
        assert_eq!(r.counts, Counts { full: 1, malformed: 2, ..Counts::default() });
    }

    #[test]
    fn only_room_that_is_needed_is_asked_for() {
        let mut r = router(1);
        let longest = segment(1, TcpFlags::ACK, 65_535 - 40);
        assert_eq!(pass_at(&mut r, 0, longest, 0, 0), longest);
        assert_eq!(r.counts, Counts { unsupported: 1, ..Counts::default() });
        let eight_less = segment(1, TcpFlags::ACK, 65_535 - 48);
        let packet = pass_at(&mut r, 0, eight_less, 0, 0);
        assert_eq!((packet.len(), message(&packet)), (Bytes::new(65_535), Message::Window(97_000)));
        let packet = pass_at(&mut r, 0, packet, 1_000, 0);
        assert_eq!(message(&packet), Message::Window(96_000), "the option is there: it needs no more room");
        // The longest packet again, with padding in its option area that the option fits into.
        let padded = with_options(segment(1, TcpFlags::ACK, 65_535 - 48), &[0; 8]);
        assert_eq!(message(&pass_at(&mut r, 0, padded, 0, 0)), Message::Window(97_000));
        assert_eq!(r.counts, Counts { inserted: 2, lowered: 1, unsupported: 1, ..Counts::default() });
    }

    #[test]
    fn at_departure_the_value_is_that_of_the_queue_left_behind_and_at_arrival_that_with_the_packet() {
        let (mut arrival, mut departure) =
            (with(|c| (c.mode, c.stamp) = (NgwaMode::new(1).unwrap(), Stamp::Arrival)), router(1));
        assert_eq!((arrival.sees_departures(), departure.sees_departures()), (false, true));
        let mut packet = data(1);
        arrival.on_packet(&mut packet, PORT, &queue(20_000), at(0));
        assert_eq!(message(&packet), Message::Window(97_000 - 20_000 - 1040));
        let mut packet = data(1);
        departure.on_packet(&mut packet, PORT, &queue(20_000), at(0));
        assert_eq!(message(&packet), Message::Absent, "in the queue it is as its sender made it");
        departure.on_departure(&mut packet, PORT, &queue(5_000), at(80));
        assert_eq!(message(&packet), Message::Window(92_000));
    }

    #[test]
    fn at_departure_a_flow_counts_until_its_fin_has_left() {
        let mut r = router(5);
        pass(&mut r, data(1), 0, 0);
        pass(&mut r, data(2), 0, 0);
        let mut fin = segment(2, TcpFlags::FIN.with(TcpFlags::ACK), 0);
        r.on_packet(&mut fin, PORT, &queue(2_000), at(1));
        assert_eq!(pass(&mut r, data(1), 2, 2_000), Message::Window(47_530), "it waits behind its data");
        r.on_departure(&mut fin, PORT, &queue(0), at(9));
        assert_eq!(pass(&mut r, data(1), 10, 0), Message::Window(95_060));
    }

    #[test]
    fn the_census_says_what_the_next_segment_would_be_told() {
        let mut r = router(6);
        let empty = FlowCounts { values: [Some(95_060), None, None], ..FlowCounts::default() };
        assert_eq!(r.flow_counts(PORT, &queue(0), at(0)), empty, "of a port that has seen nothing too");
        pass(&mut r, data(1), 0, 0);
        pass(&mut r, data(2), 0, 30_000);
        let told = |r: &NgwaRouter, ms| {
            (r.flow_counts(PORT, &queue(9_000), at(ms)).flows, r.flow_counts(PORT, &queue(9_000), at(ms)).values[0])
        };
        assert_eq!(told(&r, 30_000), (2, Some(47_530)));
        assert_eq!(told(&r, 60_000), (1, Some(95_060)), "without those that have gone idle");
        let mut r = router(2);
        pass(&mut r, data(1), 0, 0);
        assert_eq!(told(&r, 0), (1, Some(88_000)));
    }
}
