//! Invariants for any packets given to the network between live hosts. Panics if one is violated.

use narrows_fabric::{Seeds, catalogue};
use narrows_live::{Deliver, Network};
use narrows_samples::Samples;
use narrows_scenario::Scenario;
use narrows_units::{Duration, Instant};
use std::sync::LazyLock;

/// Two hosts and a router; the second link is slow and its queue short, so that packets wait, are marked and are
/// dropped.
const NETWORK: &str = r#"
format = 1
name = "fuzz"
duration = "10 s"
sampling = "off"
ip = IP
nodes = [
  { name = "a", address = "FIRST" }, { name = "r", kind = "router", address = "ROUTER" }, { name = "b", address = "SECOND" },
]
links = [
  { between = ["a", "r"], rate = "1 Gb/s", delay = "10 us", queue = QUEUE },
  { between = ["r", "b"], rate = "1 Mb/s", delay = "1 ms", queue = QUEUE },
]
flows = [{ name = "f", from = "a", to = "b" }]
"#;

const SHORT: &str = r#"{ kind = "droptail", limit = "4 kB" }"#;
const RED: &str = r#"{ kind = "red", limit = "9 kB", min_threshold = 1, max_threshold = 3, weight = 0.5, ecn = true }"#;

/// The networks under test: plain, with RED that marks packets, and with routers of each scheme.
static SCENARIOS: LazyLock<Vec<Scenario>> = LazyLock::new(|| {
    let v4 = ("4", ["10.0.0.1", "10.0.0.9", "10.0.0.2"]);
    let v6 = ("6", ["fd00::1", "fd00::9", "fd00::2"]);
    let kinds = [
        (v4, SHORT, ""),
        (v4, RED, ""),
        (v6, RED, ""),
        (v4, SHORT, "[ngwa]\nmode = 5"),
        (v4, SHORT, "[ngwa]\nmode = 1\nstamp = \"arrival\""),
        (v4, SHORT, "[acns]"),
        (v6, SHORT, "[acns]\nipv6 = \"extension\""),
        (v6, SHORT, "[acns]\nipv6 = \"flow_label\""),
    ];
    let scenario = |((ip, [first, router, second]), queue, scheme): ((&str, [&str; 3]), &str, &str)| {
        let text = NETWORK.replace("IP", ip).replace("FIRST", first).replace("ROUTER", router);
        let text = format!("{}\n{scheme}\n", text.replace("SECOND", second).replace("QUEUE", queue));
        narrows_scenario::parse(&text, "fuzz.toml", &[], &catalogue()).expect("a scenario")
    };
    kinds.into_iter().map(scenario).collect()
});

/// Counts arriving packets, and checks their node, time order, smallest length and IP version.
#[derive(Default)]
struct Arrivals {
    packets: u64,
    last: Instant,
}

impl Deliver for Arrivals {
    fn deliver(&mut self, node: usize, bytes: &[u8], at: Instant) {
        assert!(node == 0 || node == 1 || node == 2);
        assert!(at >= self.last, "packets arrive in order of time");
        assert!(bytes.len() >= 20 && matches!(bytes[0] >> 4, 4 | 6));
        (self.packets, self.last) = (self.packets + 1, at);
    }
}

/// Splits an input into packets: a byte selects the network. Then each packet has a byte with its sender (the top bit)
/// and the time since the previous one, two bytes with its length, and its bytes.
pub fn packets(mut rest: &[u8]) -> Vec<(usize, u64, &[u8])> {
    let mut packets = Vec::new();
    while let Some(([first, high, low], after)) = rest.split_first_chunk::<3>() {
        let len = usize::from(u16::from_be_bytes([*high, *low])).min(after.len());
        let (packet, behind) = after.split_at(len);
        packets.push((if first & 0x80 == 0 { 0 } else { 2 }, u64::from(first & 0x7f) * 100, packet));
        rest = behind;
    }
    packets
}

/// Sends packets through the network that the input selects; returns how many arrived. Each arrives, or is counted as
/// dropped or as going nowhere.
pub fn bottleneck(bytes: &[u8]) -> u64 {
    let Some((&which, rest)) = bytes.split_first() else { return 0 };
    let scenario = &SCENARIOS[usize::from(which) % SCENARIOS.len()];
    let mut network = Network::new(scenario, Seeds::new(1, 0)).expect("a network");
    let mut arrivals = Arrivals::default();
    let (mut now, mut sent) = (Instant::ZERO, 0);
    for (node, later, packet) in packets(rest) {
        now += Duration::from_micros(later);
        network.advance(now, &mut arrivals);
        network.receive(node, packet, now);
        sent += 1;
    }
    network.advance(Instant::ZERO + scenario.duration, &mut arrivals);
    let mut samples = Samples::default();
    let books = network.finish(scenario, &mut samples).expect("no capture");
    let totals = &samples.queue_totals;
    let dropped: u64 =
        [&totals.dropped_overflow, &totals.dropped_early, &totals.dropped_forced].into_iter().flatten().sum();
    let waiting: u64 = totals.waiting_packets.iter().sum();
    assert_eq!(sent, arrivals.packets + books.astray + dropped + waiting, "every packet is accounted for");
    arrivals.packets
}
