//! The network in real time, between two hosts of this kernel.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, missing_docs)]

use narrows_fabric::{Seeds, catalogue};
use narrows_live::{Clock, Conditions, Hosts, Network, carry};
use narrows_samples::Samples;
use narrows_units::{Duration, Instant, Rate};
use std::net::UdpSocket;
use std::sync::atomic::AtomicBool;
use std::thread;
use trusted::trusted;

mod trusted;

const SCENARIO: &str = r#"
format = 1
name = "t"
duration = "900 ms"
nodes = [{ name = "a" }, { name = "r", kind = "router" }, { name = "b" }]
links = [
  { between = ["a", "r"], rate = "1 Gb/s", delay = "0 s" },
  { between = ["r", "b"], rate = "10 Mb/s", delay = "6 ms" },
]
flows = [{ name = "f", from = "a", to = "b" }]
"#;

/// Echoes a datagram every 20 ms and returns the round-trip times in microseconds, in order of size.
fn round_trips(hosts: &Hosts, clock: Clock) -> Vec<u128> {
    let socket = |node: usize, at: &str| {
        let host = hosts.of_node(node).unwrap();
        host.netns.run(|| UdpSocket::bind(at).unwrap()).unwrap()
    };
    let (client, server) = (socket(0, "10.0.0.1:20000"), socket(2, "10.0.0.3:20000"));
    let wait = Some(std::time::Duration::from_millis(500));
    client.set_read_timeout(wait).unwrap();
    server.set_read_timeout(wait).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut buffer = [0; 100];
            while let Ok((len, from)) = server.recv_from(&mut buffer) {
                server.send_to(&buffer[..len], from).unwrap();
            }
        });
        let mut times = Vec::new();
        for round in 0..20 {
            clock.sleep_until(Instant::ZERO + Duration::from_millis(20 * round));
            let begin = std::time::Instant::now();
            client.send_to(&[7; 60], "10.0.0.3:20000").unwrap();
            client.recv(&mut [0; 100]).unwrap();
            times.push(begin.elapsed().as_micros());
        }
        times.sort_unstable();
        times
    })
}

#[test]
fn a_round_trip_takes_as_long_as_the_links_say() {
    let scenario = narrows_scenario::parse(SCENARIO, "t.toml", &[], &catalogue()).unwrap();
    let hosts = match Hosts::new(&scenario) {
        Ok(hosts) => hosts,
        Err(error) => return trusted::skips::skip(error),
    };
    let Some((times, network, lateness)) = trusted(|| {
        let network = Network::new(&scenario, Seeds::new(1, 0)).unwrap();
        let ports: Vec<_> = hosts.iter().map(|host| (host.node, &host.tun)).collect();
        let clock = Clock::starting_in(Duration::from_millis(20));
        let (end, stop) = (Instant::ZERO + scenario.duration, AtomicBool::new(false));
        let (times, (network, lateness)) = thread::scope(|scope| {
            let carried = scope.spawn(|| carry(network, (&ports, &[]), clock, end, Rate::mbps(10), &stop));
            (round_trips(&hosts, clock), carried.join().unwrap())
        });
        let mut conditions = Conditions::of_machine();
        conditions.note_lateness(&lateness, scenario.duration);
        ((times, network, lateness), conditions.doubts)
    }) else {
        return;
    };
    let late = &lateness.handed_over;
    let median = times[times.len() / 2];
    eprintln!("round trips: median {median} us, {times:?}; handed over late by {} ns (median)", late.percentile(0.5));
    // 88 bytes: 12,000 us and 2 * 71 us. A busy machine may take longer, never less.
    assert!(times[0] >= 12_142, "{times:?}");
    assert!(median < 20_000, "{times:?}");
    let mut samples = Samples::default();
    let counters = network.finish(&scenario, &mut samples).unwrap();
    assert_eq!((counters.delivered, counters.astray, lateness.refused), (40, 0, 0));
    assert_eq!(late.count(), 40);
    assert_eq!(samples.queue_totals.forwarded_bytes[2], 20 * 88);
}
