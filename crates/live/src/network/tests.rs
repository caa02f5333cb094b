//! The network without devices: times, queues, losses, agents and counters, on the bytes of packets.

use super::*;
use narrows_fabric::{catalogue, ports};
use narrows_units::{Duration, SeqNum};
use narrows_wire::{Ip, Ipv4View, Packet, TcpFlags, TcpRepr, Transport, UdpRepr};
use proptest::prelude::*;

/// Two hosts and a router; the link out of the router has 8 Mb/s, 1 ms and a queue of three packets.
const SCENARIO: &str = r#"
format = 1
name = "t"
duration = "1 s"
nodes = [{ name = "a" }, { name = "r", kind = "router" }, { name = "b" }]
links = [
  { between = ["a", "r"], rate = "1 Gb/s", delay = "0 s", queue = { kind = "droptail", limit = "100 packets" } },
  { between = ["r", "b"], rate = "8 Mb/s", delay = "1 ms", queue = QUEUE },
]
flows = [
  { name = "tcp", from = "a", to = "b" },
  { name = "udp", from = "a", to = "b", kind = "udp", rate = "1 Mb/s" },
]
"#;

const DROPTAIL: &str = r#"{ kind = "droptail", limit = "3 packets" }"#;

fn scenario(queue: &str, more: &str) -> Scenario {
    let text = format!("{}{more}", SCENARIO.replace("QUEUE", queue));
    narrows_scenario::parse(&text, "t.toml", &[], &catalogue()).unwrap()
}

fn network(scenario: &Scenario) -> Network {
    Network::new(scenario, Seeds::new(1, 0)).unwrap()
}

/// Delivered packets, and when, in microseconds.
#[derive(Default)]
struct Log(Vec<(usize, Vec<u8>, u64)>);

impl Deliver for Log {
    fn deliver(&mut self, node: usize, bytes: &[u8], at: Instant) {
        self.0.push((node, bytes.to_vec(), at.as_nanos() / 1000));
    }
}

fn us(n: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(n)
}

fn address(scenario: &Scenario, name: &str) -> IpAddr {
    scenario.nodes.iter().find(|node| node.name == name).unwrap().address
}

/// A segment of flow 0 with `payload` bytes; 960 bytes make 1000 on the wire.
fn segment(scenario: &Scenario, payload: u32) -> Vec<u8> {
    let (src_port, dst_port) = ports(0);
    let header = TcpRepr { src_port, dst_port, flags: TcpFlags::ACK, seq: SeqNum::new(7), ..TcpRepr::default() };
    let ip = Ip::between(address(scenario, "a"), address(scenario, "b"));
    Packet { ip, transport: Transport::Tcp(header), payload_len: payload }.emit()
}

#[test]
fn packets_arrive_when_links_say_however_late_they_are_looked_at() {
    let scenario = scenario(DROPTAIL, "");
    let (mut net, mut log) = (network(&scenario), Log::default());
    for at in [0, 100] {
        net.advance(us(at), &mut log);
        net.receive(0, &segment(&scenario, 960), us(at));
    }
    net.advance(us(900_000), &mut log);
    let times: Vec<_> = log.0.iter().map(|(node, _, at)| (*node, *at)).collect();
    // 8 us on the first link, 1000 us on the second and 1 ms of delay; the second packet waits for the first.
    assert_eq!(times, [(2, 2008), (2, 3008)]);
    assert_eq!(log.0[0].1, segment(&scenario, 960), "bytes stay");
    assert_eq!(net.store.len(), 0);
}

#[test]
fn a_link_follows_its_trace() {
    let trace = SCENARIO.replace("\"8 Mb/s\"", "{ trace = \"t\", content = \"opportunities 3 0 2\" }");
    let text = trace.replace("QUEUE", DROPTAIL);
    let scenario = narrows_scenario::parse(&text, "t.toml", &[], &catalogue()).unwrap();
    let (mut net, mut log) = (network(&scenario), Log::default());
    (0..4).for_each(|_| net.receive(0, &segment(&scenario, 1460), us(0)));
    // The queue has room for three. Opportunities are at 3, 3, 5 and 8 ms, and 1 ms of delay follows.
    net.advance(us(900_000), &mut log);
    assert_eq!(log.0.iter().map(|(node, _, at)| (*node, *at)).collect::<Vec<_>>(), [(2, 4000), (2, 4000), (2, 6000)]);
}

#[test]
fn a_full_queue_drops_and_the_flow_is_told() {
    let scenario = scenario(DROPTAIL, "");
    let (mut net, mut log) = (network(&scenario), Log::default());
    (0..10).for_each(|_| net.receive(0, &segment(&scenario, 960), us(0)));
    net.receive(0, &segment(&scenario, 0), us(0));
    net.advance(us(900_000), &mut log);
    let mut samples = Samples::default();
    let counters = net.finish(&scenario, &mut samples).unwrap();
    assert_eq!((log.0.len(), counters.delivered), (4, 4), "one in transmission, three wait");
    let meter = &counters.meters[0];
    assert_eq!((meter.arrived_packets, meter.arrived_bytes, meter.lost_packets), (4, 4000, 6), "data only");
    let row = samples.queue_totals.dropped_overflow[2];
    assert_eq!((samples.queue_names[2].as_str(), row), ("r->b", 7));
}

#[test]
fn answers_are_not_the_flow_s_data() {
    let scenario = scenario(DROPTAIL, "");
    let (mut net, mut log) = (network(&scenario), Log::default());
    let (dst_port, src_port) = ports(0);
    let header = TcpRepr { src_port, dst_port, flags: TcpFlags::ACK, ..TcpRepr::default() };
    let ip = Ip::between(address(&scenario, "b"), address(&scenario, "a"));
    net.receive(2, &Packet { ip, transport: Transport::Tcp(header), payload_len: 0 }.emit(), us(0));
    net.advance(us(10_000), &mut log);
    assert_eq!(log.0[0].0, 0);
    assert_eq!(net.counters.meters[0].arrived_bytes, 0);
}

#[test]
fn what_is_neither_tcp_nor_udp_is_carried_and_counts_its_length() {
    let scenario = scenario(DROPTAIL, "");
    let (mut net, mut log) = (network(&scenario), Log::default());
    let mut ping = segment(&scenario, 960);
    ping[9] = 1;
    net.receive(0, &ping, us(0));
    net.advance(us(10_000), &mut log);
    assert_eq!((log.0[0].2, &log.0[0].1), (2008, &ping));
}

#[test]
fn what_goes_nowhere_is_dropped_and_counted() {
    let scenario = scenario(DROPTAIL, "");
    let (mut net, mut log) = (network(&scenario), Log::default());
    let mut stray = segment(&scenario, 10);
    stray[16..20].copy_from_slice(&[192, 0, 2, 1]);
    for bytes in [&stray[..], &[], &[0x45], &[0; 40], &segment(&scenario, 0)[..16]] {
        net.receive(0, bytes, us(0));
    }
    // A router is not the destination of packets.
    let mut to_router = segment(&scenario, 10);
    let IpAddr::V4(router) = address(&scenario, "r") else { panic!("IPv4") };
    to_router[16..20].copy_from_slice(&router.octets());
    net.receive(0, &to_router, us(0));
    net.advance(us(10_000), &mut log);
    assert_eq!((log.0.len(), net.counters.astray, net.store.len()), (1, 5, 0));
    assert_eq!(log.0[0].0, 1, "the caller has no device for a router");
}

/// [`scenario`] with impairments of the link out of the router.
fn impaired(queue: &str, impairments: &str) -> Scenario {
    scenario(&format!("{queue}, forward = {{ {impairments} }}"), "")
}

#[test]
fn a_duplicate_has_the_bytes_of_its_original_and_a_place_of_its_own() {
    let scenario = impaired(DROPTAIL, "duplicate = 1, per = 0.5");
    let (mut net, mut log) = (network(&scenario), Log::default());
    for i in 0..100_u32 {
        let at = us(u64::from(i) * 2000);
        net.advance(at, &mut log);
        net.receive(0, &segment(&scenario, 500 + i), at);
    }
    net.advance(us(900_000), &mut log);
    assert!(log.0.chunks(2).all(|pair| pair[0] == pair[1]), "each arrives twice or not at all");
    assert!((50..150).contains(&log.0.len()), "{}", log.0.len());
    assert_eq!(net.store.len(), 0, "copies leave no packet behind");
    let queue = net.links[2].meter().clone();
    assert_eq!(queue.forwarded_packets + queue.impaired.duplicated, queue.corrupted + log.0.len() as u64);
}

#[test]
fn packets_that_overtake_arrive_at_their_time_however_late_the_network_is_looked_at() {
    let scenario = impaired(DROPTAIL, "reorder = { delay = \"5 ms\", gap = 3, selected = \"ahead\" }");
    let (mut net, mut log) = (network(&scenario), Log::default());
    (0..3).for_each(|i| net.receive(0, &segment(&scenario, 960 + i), us(0)));
    net.advance(us(900_000), &mut log);
    // As `packets_arrive_when_links_say`, but for 5 ms of the first two.
    let arrived: Vec<_> = log.0.iter().map(|(_, bytes, at)| (bytes.len(), at / 10 * 10)).collect();
    assert_eq!(arrived, [(1002, 4010), (1000, 7000), (1001, 8000)]);
}

#[test]
fn an_outage_that_drops_leaves_no_packet_behind() {
    let scenario = impaired(DROPTAIL, "outages = [{ start = \"1500 us\", duration = \"10 ms\", queue = \"drop\" }]");
    let (mut net, mut log) = (network(&scenario), Log::default());
    (0..4).for_each(|_| net.receive(0, &segment(&scenario, 960), us(0)));
    net.advance(us(20_000), &mut log);
    net.receive(0, &segment(&scenario, 960), us(20_000));
    net.advance(us(900_000), &mut log);
    let times: Vec<u64> = log.0.iter().map(|(.., at)| *at).collect();
    assert_eq!(times, [2008, 3008, 22_008], "the second was being sent; two waited");
    assert_eq!((net.links[2].meter().impaired.outage_drops, net.store.len()), (2, 0));
    assert_eq!(net.counters.meters[0].lost_packets, 2);
}

#[test]
fn marks_of_a_queue_reach_the_bytes() {
    let red = r#"{ kind = "red", limit = "100 packets", min_threshold = 1, max_threshold = 2, weight = 1, max_p = 1, ecn = true }"#;
    let scenario = scenario(red, "");
    let (mut net, mut log) = (network(&scenario), Log::default());
    let mut bytes = segment(&scenario, 960);
    Ipv4View::new_checked(&mut bytes[..]).unwrap().set_ecn(Ecn::Ect0);
    for n in 0..30 {
        net.advance(us(n * 500), &mut log);
        net.receive(0, &bytes, us(n * 500));
    }
    net.advance(us(900_000), &mut log);
    let marked = log.0.iter().filter(|(_, bytes, _)| Ipv4View::new_checked(&bytes[..]).unwrap().ecn() == Ecn::Ce);
    let marked = marked.inspect(|(_, b, _)| Ipv4View::new_checked(&b[..]).unwrap().check_checksum().unwrap()).count();
    let mut samples = Samples::default();
    net.finish(&scenario, &mut samples).unwrap();
    assert!(marked > 0);
    assert_eq!(samples.queue_totals.marked[2], marked as u64);
}

#[test]
fn agents_write_into_the_bytes_and_longer_packets_take_longer() {
    let more = "\n[ngwa]\nmode = 5\n";
    let bytes = r#"{ kind = "droptail", limit = "50 kB" }"#;
    let mut text = SCENARIO.replace("QUEUE", bytes).replace(r#""100 packets""#, r#""100 kB""#);
    text.push_str(more);
    let scenario = narrows_scenario::parse(&text, "t.toml", &[], &catalogue()).unwrap();
    let (mut net, mut log) = (network(&scenario), Log::default());
    net.receive(0, &segment(&scenario, 960), us(0));
    net.advance(us(10_000), &mut log);
    let view = Ipv4View::new_checked(&log.0[0].1[..]).unwrap();
    assert_eq!((view.header_len(), view.total_len()), (28, 1008));
    assert_eq!(view.options().as_bytes()[..2], [33, 6]);
    view.check_checksum().unwrap();
    assert_eq!(log.0[0].2, 2016, "8 us and 1008 us and 1 ms");
}

#[test]
fn samples_of_queues_come_at_their_times_and_tracks_say_what_arrived() {
    let scenario = scenario(DROPTAIL, "");
    let (mut net, mut log) = (network(&scenario), Log::default());
    for n in 0..3 {
        net.advance(us(10_000 * n), &mut log);
        net.receive(0, &segment(&scenario, 960), us(10_000 * n));
    }
    net.advance(us(1_000_000), &mut log);
    let mut samples = Samples::default();
    let counters = net.finish(&scenario, &mut samples).unwrap();
    let Sampling::Interval(every) = scenario.sampling else { panic!("an interval") };
    let queues = samples.queues.unpack().unwrap();
    assert_eq!(queues.time_ns.len() as u64, 4 * (scenario.duration.as_nanos() / every.as_nanos() + 1));
    let arrived: Vec<_> = counters.tracks[0].iter().map(|t| (t.at.as_nanos() / 1_000_000, t.arrived_bytes)).collect();
    assert_eq!(arrived, [(0, 0), (3, 1000), (13, 2000), (23, 3000)]);
}

#[test]
fn the_state_of_queues_is_sampled_where_it_is_asked_for() {
    let red = r#"{ kind = "red", limit = "100 packets", min_threshold = 5, max_threshold = 15, weight = 0.5 }"#;
    let text = SCENARIO.replace("QUEUE", red);
    let asks = [("sampling.state".to_owned(), "true".to_owned())];
    let scenario = narrows_scenario::parse(&text, "t.toml", &asks, &catalogue()).unwrap();
    let (mut net, mut log) = (network(&scenario), Log::default());
    net.advance(us(99_990), &mut log);
    for _ in 0..4 {
        net.receive(0, &segment(&scenario, 960), us(99_990));
    }
    net.advance(us(1_000_000), &mut log);
    let mut samples = Samples::default();
    let counters = net.finish(&scenario, &mut samples).unwrap();
    counters.states.unwrap().finish(&scenario, &[], &mut samples);
    let rows = samples.state.unpack().unwrap();
    let average = samples.series.iter().position(|series| series.variable.name == "avg").unwrap() as u64;
    assert_eq!((samples.series[average as usize].index, &*samples.series[average as usize].algorithm), (2, "red"));
    let of_average = rows.series.iter().zip(&rows.value_bits).filter(|(series, _)| **series == average);
    let values: Vec<f64> = of_average.map(|(_, bits)| f64::from_bits(*bits)).collect();
    assert_eq!(values.len(), 11, "at 0 s and then each 100 ms");
    assert!(values[0].abs() < 1e-12);
    // The third packet finds one waiting and the fourth two; the average stays until the next one comes.
    assert!((values[10] - 1.25).abs() < 1e-12, "{values:?}");
}

proptest! {
    #[test]
    fn no_bytes_do_harm_and_every_packet_is_accounted_for(
        packets in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..120), 0_u64..3000, 0..4_u8), 0..60)
    ) {
        let scenario = scenario(DROPTAIL, "\n[acns]\n");
        let (mut net, mut log) = (network(&scenario), Log::default());
        let (mut at, mut sent) = (0, 0);
        for (from_a, mut bytes, later, kind) in packets {
            at += later;
            // Most are a segment in which bytes were changed, so that they pass the first checks.
            if kind > 0 {
                let mut whole = segment(&scenario, 20);
                for (index, byte) in bytes.iter().enumerate().take(usize::from(kind) * 2) {
                    let place = (usize::from(*byte) * 7 + index * 13) % whole.len();
                    whole[place] ^= byte.rotate_left(index as u32);
                }
                bytes = whole;
            }
            net.advance(us(at), &mut log);
            net.receive(if from_a { 0 } else { 2 }, &bytes, us(at));
            sent += 1;
        }
        net.advance(us(999_999), &mut log);
        prop_assert_eq!(net.store.len(), 0);
        let dropped = net.links.iter().map(|link| link.meter().dropped_overflow).sum::<u64>();
        prop_assert_eq!(sent, log.0.len() as u64 + net.counters.astray + dropped);
    }

    #[test]
    fn what_a_queue_is_shown_is_as_long_as_the_bytes(payload in 0_u32..1400, slot in any::<u16>(), udp in any::<bool>()) {
        let scenario = scenario(DROPTAIL, "");
        let mut bytes = segment(&scenario, payload);
        if udp {
            let ip = Ip::between(address(&scenario, "a"), address(&scenario, "b"));
            let transport = Transport::Udp(UdpRepr { src_port: 1, dst_port: 2, rtp: None });
            bytes = Packet { ip, transport, payload_len: payload }.emit();
        }
        let shown = store::shown(&bytes, slot).unwrap();
        prop_assert_eq!(shown.len().as_u64(), bytes.len() as u64);
        prop_assert_eq!(store::slot_of(&shown), slot);
    }
}

/// A queue that holds its packets back until it is opened from outside.
#[derive(Debug, Default)]
struct Gate {
    packets: Vec<Packet>,
    open: std::sync::Arc<std::sync::atomic::AtomicBool>,
}

impl Queue for Gate {
    fn enqueue(
        &mut self,
        packet: Packet,
        _now: Instant,
        _dropped: &mut Vec<narrows_queue::Dropped>,
    ) -> narrows_queue::Enqueued {
        self.packets.push(packet);
        narrows_queue::Enqueued::default()
    }

    fn dequeue(&mut self, now: Instant, _dropped: &mut Vec<narrows_queue::Dropped>) -> Option<narrows_queue::Dequeued> {
        let open = self.open.load(std::sync::atomic::Ordering::Relaxed);
        let packet = if open { self.packets.pop()? } else { return None };
        Some(narrows_queue::Dequeued { packet, enqueued: now, marked: false, subqueue: 0 })
    }

    fn view(&self) -> QueueView {
        QueueView {
            bytes: narrows_units::Bytes::ZERO,
            packets: narrows_units::Packets::new(self.packets.len() as u64),
            limit: narrows_queue::Limit::Packets(narrows_units::Packets::new(9)),
            rate: narrows_units::Rate::ZERO,
        }
    }

    fn set_rate(&mut self, _rate: narrows_units::Rate) {}

    fn next_timer(&self) -> Option<Instant> {
        Some(Instant::NEVER)
    }
}

#[test]
fn a_queue_that_is_woken_from_outside_sends_at_once() {
    /// The direction from the router to the host: the links come in order, two directions each.
    const EDGE: usize = 2;
    let scenario = scenario(DROPTAIL, "");
    let gate = Gate::default();
    let open = std::sync::Arc::clone(&gate.open);
    let queues: BTreeMap<usize, Box<dyn Queue>> = BTreeMap::from([(EDGE, Box::new(gate) as Box<dyn Queue>)]);
    let mut network = Network::with_queues(&scenario, Seeds::new(1, 0), queues).unwrap();
    let mut log = Log::default();
    network.receive(0, &segment(&scenario, 960), us(0));
    network.advance(us(10_000), &mut log);
    assert!(log.0.is_empty(), "held back");
    open.store(true, std::sync::atomic::Ordering::Relaxed);
    network.wake(EDGE, us(10_000));
    network.advance(us(20_000), &mut log);
    // A millisecond for 1000 bytes at 8 Mb/s, and one for the delay.
    assert_eq!(log.0.iter().map(|(_, _, at)| *at).collect::<Vec<_>>(), [12_000]);
}
