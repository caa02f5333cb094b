//! NGWA routers, one after the other: the smallest value arrives, and only the option changes.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "../../wire/tests/strategies/mod.rs"]
mod strategies;

use narrows_queue::{Limit, QueueView, Verdict};
use narrows_scheme::ngwa::codec::{Message, OVERHEAD, read};
use narrows_scheme::ngwa::{Marks, NgwaConfig, NgwaMode, NgwaRouter, Stamp};
use narrows_scheme::{Port, RouterAgent};
use narrows_units::{Bytes, Duration, Instant, Packets, Rate};
use narrows_wire::{Ip, Packet, TcpFlags};
use proptest::prelude::*;
use strategies::{ipv4, packet, transport};

/// A router on the path, and its queue for the packet.
#[derive(Clone, Debug)]
struct Node {
    mode: u8,
    arrival: bool,
    limit: u64,
    waiting: u64,
    /// Number of flows that have passed before.
    others: u8,
    in_packets: bool,
    marks: Marks,
}

fn node() -> impl Strategy<Value = Node> {
    (1u8..=8, any::<bool>(), 0u64..200_000, 0u64..200_000, 0u8..6, any::<bool>(), any::<bool>()).prop_map(
        |(mode, arrival, limit, waiting, others, in_packets, data)| Node {
            mode,
            arrival,
            limit,
            waiting,
            others,
            in_packets,
            marks: if data { Marks::Data } else { Marks::All },
        },
    )
}

impl Node {
    fn queue(&self) -> QueueView {
        let limit =
            if self.in_packets { Limit::Packets(Packets::new(100)) } else { Limit::Bytes(Bytes::new(self.limit)) };
        QueueView {
            bytes: Bytes::new(self.waiting),
            packets: Packets::new(self.waiting / 1500),
            limit,
            rate: Rate::mbps(2),
        }
    }

    /// Returns the packet as it leaves the router, and the window that the flow_counts reports for it.
    fn carry(&self, mut packet: Packet) -> (Packet, Option<Bytes>) {
        let stamp = if self.arrival { Stamp::Arrival } else { Stamp::Departure };
        let mode = NgwaMode::new(self.mode).unwrap();
        let mut router = NgwaRouter::new(&NgwaConfig { mode, stamp, marks: self.marks, ..NgwaConfig::default() });
        let (port, queue) = (Port::new(2), self.queue());
        for n in 0..self.others {
            let mut other = packet;
            if let Some(tcp) = other.tcp_mut() {
                (tcp.src_port, tcp.flags) = (tcp.src_port ^ (u16::from(n) + 1), TcpFlags::ACK);
            }
            router.on_packet(&mut other, port, &queue, Instant::ZERO);
            if router.sees_departures() {
                router.on_departure(&mut other, port, &queue, Instant::ZERO);
            }
        }
        let now = Instant::ZERO + Duration::from_secs(1);
        let length = packet.len();
        assert_eq!(router.on_packet(&mut packet, port, &queue, now), Verdict::Pass);
        if router.sees_departures() {
            router.on_departure(&mut packet, port, &queue, now);
        }
        // At arrival the queue counts with the packet.
        let (bytes, packets) = if self.arrival { (length, Packets::new(1)) } else { (Bytes::ZERO, Packets::ZERO) };
        let with = QueueView { bytes: queue.bytes + bytes, packets: queue.packets + packets, ..queue };
        let told = router.flow_counts(port, &with, now).values[0].map(Bytes::new);
        (packet, told)
    }
}

fn value(packet: &Packet) -> Option<u32> {
    match &packet.ip {
        Ip::V4(ip) => match read(&ip.options) {
            Message::Window(value) => Some(value),
            Message::Absent | Message::Malformed => None,
        },
        Ip::V6(_) => None,
    }
}

fn without_options(mut packet: Packet) -> Packet {
    if let Ip::V4(ip) = &mut packet.ip {
        ip.options = Default::default();
    }
    packet
}

/// TCP data over IPv4 with room for the option; its flow does not end with it.
fn data() -> impl Strategy<Value = Packet> {
    (ipv4(), transport(), 1u32..2_000).prop_filter_map("TCP that fits", |(ip, transport, payload_len)| {
        let mut packet = without_options(Packet { ip, transport, payload_len });
        let tcp = packet.tcp_mut()?;
        tcp.flags = tcp.flags.without(TcpFlags::FIN).without(TcpFlags::RST);
        packet.fits().then_some(packet)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_value_never_rises_and_nothing_but_the_option_changes(
        p in packet(0u32..2_000).prop_filter("fits", Packet::fits), path in prop::collection::vec(node(), 1..5),
    ) {
        let mut packet = p;
        for node in path {
            let (left, _) = node.carry(packet);
            prop_assert_eq!(without_options(left), without_options(packet));
            let grown = left.len() - packet.len();
            prop_assert!(grown <= Bytes::new(u64::from(OVERHEAD)), "{grown}");
            if let Some(before) = value(&packet) {
                prop_assert!(value(&left).is_some_and(|after| after <= before));
                prop_assert_eq!(grown, Bytes::ZERO);
            }
            let unmarked = node.marks == Marks::Data && packet.payload_len == 0;
            if unmarked || packet.tcp().is_none() || matches!(packet.ip, Ip::V6(_)) {
                prop_assert_eq!(left, packet);
            }
            packet = left;
        }
        prop_assert!(packet.fits());
        prop_assert_eq!(Packet::parse(&packet.emit()), Ok(packet));
    }

    #[test]
    fn the_least_value_of_the_path_arrives(
        p in data(), path in prop::collection::vec(node(), 1..5),
    ) {
        let (mut packet, mut least) = (p, None);
        for node in path {
            let (left, told) = node.carry(packet);
            least = least.into_iter().chain(told).min();
            packet = left;
        }
        prop_assert_eq!(value(&packet).map(|value| Bytes::new(u64::from(value))), least);
    }
}
