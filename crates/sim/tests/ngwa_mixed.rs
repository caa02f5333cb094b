//! NGWA beside other traffic, over lossy links, closed windows, 802.11 channels and several bottlenecks.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod common;

use common::{assert_conserved, delivered, path, run_seeded, run_text, scenario};
use narrows_scheme::ngwa::codec::{Message, read};
use narrows_sim::{Options, Outcome, run};
use narrows_wire::{Ip, Packet};
use pcap_file::pcapng::{Block, PcapNgReader};
use proptest::prelude::*;
use std::fs::File;

const TCP: &str = r#"
[tcp]
cc = "reno"
mss = "1008 B"
sack = false
timestamps = false
recv_buffer = "64 kB"
window_scaling = false
"#;

/// The path from `A` to `B` with queues in bytes, this bottleneck, these parameters of NGWA, and these flows.
fn through(bottleneck: &str, ngwa: &str, flows: &str) -> String {
    path(bottleneck, &format!("{TCP}\n[ngwa]\n{ngwa}\n{flows}"))
        .replace("1000 packets", "900 kB")
        .replace("duration", "sampling = \"100 ms\"\nduration")
}

fn bottleneck(limit: u64, more: &str) -> String {
    format!("rate = \"2 Mb/s\"\ndelay = \"10 ms\"\nqueue = {{ limit = \"{limit} kB\" }}\n{more}")
}

fn bulk(more: &str) -> String {
    format!("[[flows]]\nname = \"bulk\"\nfrom = \"A\"\nto = \"B\"\nkind = \"bulk\"\n{more}\n")
}

fn udp(rate: &str, more: &str) -> String {
    format!("[[flows]]\nname = \"udp\"\nfrom = \"A\"\nto = \"B\"\nkind = \"udp\"\nrate = \"{rate}\"\n{more}\n")
}

/// The windows of the first flow in the samples from one second to another.
fn windows(outcome: &Outcome, from: u64, to: u64) -> Vec<u64> {
    let s = outcome.samples.flows.unpack().unwrap();
    let between = |i: &usize| (from..to).contains(&(s.time_ns[*i] / 1_000_000_000)) && s.flow[*i] == 0;
    (0..s.time_ns.len()).filter(between).map(|i| s.rwnd_bytes[i]).collect()
}

fn mean(values: &[u64]) -> f64 {
    values.iter().sum::<u64>() as f64 / values.len() as f64
}

#[test]
fn udp_is_left_as_it_is_and_takes_free_bytes_away() {
    for mode in 1..=4 {
        let ngwa = format!("mode = {mode}");
        let alone = run_text(&through(&bottleneck(60, ""), &ngwa, &bulk("")));
        let beside = run_text(&through(&bottleneck(60, ""), &ngwa, &(bulk("") + &udp("1200 kb/s", ""))));
        let (alone, lower) = (mean(&windows(&alone, 5, 20)), mean(&windows(&beside, 5, 20)));
        assert!(lower < alone, "mode {mode}: {lower} beside UDP, {alone} alone");
        let totals = &beside.samples.flow_totals;
        assert_eq!((totals.counters[0][1], totals.counters[1][1]), (0, 0));
        assert_conserved(&beside);
    }
}

/// The packets in a capture of the bottleneck, after a check of their lengths on the wire.
fn captured(text: &str, name: &str) -> Vec<Packet> {
    let dir = std::env::temp_dir().join(format!("narrows-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    run(&scenario(text), &Options { seed: 1, pcap_dir: Some(&dir), ..Options::default() }).unwrap();
    let mut reader = PcapNgReader::new(File::open(dir.join("R1-R2.pcapng")).unwrap()).unwrap();
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(block) = block.unwrap() {
            let packet = Packet::parse(&block.data).unwrap();
            assert_eq!(u64::from(block.original_len), packet.len().as_u64());
            packets.push(packet);
        }
    }
    std::fs::remove_dir_all(&dir).unwrap();
    packets
}

#[test]
fn the_option_is_in_marked_segments_and_nowhere_else() {
    for (marks, name) in [("data", "ngwa-data"), ("all", "ngwa-all")] {
        let flows = bulk("size = \"200 kB\"") + &udp("500 kb/s", "payload = \"300 B\"");
        let text = through(&bottleneck(60, "per = 0.02"), &format!("mode = 6\nmarks = \"{marks}\""), &flows);
        let [mut data, mut bare, mut datagrams] = [0; 3];
        for packet in &captured(&text, name) {
            let Ip::V4(ip) = &packet.ip else { panic!("IPv6") };
            let Some(tcp) = packet.tcp() else {
                datagrams += 1;
                assert_eq!((ip.options.len(), packet.len().as_u64()), (0, 328), "a datagram does not grow");
                continue;
            };
            *(if packet.payload_len > 0 { &mut data } else { &mut bare }) += 1;
            if packet.payload_len > 0 || marks == "all" {
                // NGWA does not count UDP as a flow, so the whole window of a queue of 60 kB is granted. Behind its FIN
                // a flow no longer counts, and neither does the direction of its ACKs.
                assert_eq!(read(&ip.options), Message::Window(58_800), "{tcp:?}");
                assert_eq!(ip.options.len(), 8);
            } else {
                assert_eq!(ip.options.len(), 0, "{tcp:?}");
            }
        }
        assert!(data >= 200 && bare >= 100 && datagrams > 3_000, "{data} {bare} {datagrams}");
    }
}

#[test]
fn a_lost_carrier_changes_nothing_but_the_time() {
    for mode in 1..=8 {
        let flow = bulk("size = \"300 kB\"");
        let text = through(&bottleneck(60, "per = 0.05"), &format!("mode = {mode}"), &flow).replace("20 s", "200 s");
        let outcome = run_text(&text);
        assert_eq!(delivered(&outcome), [300_000], "mode {mode}");
        let totals = outcome.samples.flow_totals.row(0).unwrap();
        assert!(totals.lost_packets > 5 && totals.counters[0] > 280, "mode {mode}: {totals:?}");
        let seen = windows(&outcome, 5, 200);
        if mode > 4 {
            // Window that was offered for segments beyond a hole stays offered until the hole is filled.
            assert!(seen.iter().all(|w| w.abs_diff(58_800) <= 2_000), "mode {mode}: {seen:?}");
        }
        assert_conserved(&outcome);
    }
}

#[test]
fn a_queue_that_is_full_of_udp_closes_the_window_until_it_drains() {
    for more in ["", "shrink = true", "shrink = true\nfast_retransmit = true"] {
        let udp = udp("3 Mb/s", "payload = \"200 B\"\nstart = \"1 s\"\nstop = \"15 s\"");
        let ngwa = format!("mode = 3\nstamp = \"arrival\"\n{more}");
        let text = through(&bottleneck(20, ""), &ngwa, &(bulk("size = \"2 MB\"") + &udp)).replace("20 s", "200 s");
        let outcome = run_text(&text);
        let full = windows(&outcome, 4, 15);
        if more.is_empty() {
            // Segments are lost while the window is still open, and a hole keeps its right edge where it is.
            assert!(full.iter().all(|w| *w < 64_000), "{full:?}");
        } else {
            let shut = full.iter().filter(|w| **w == 0).count();
            assert!(2 * shut > full.len(), "{more}: no room most of the time: {full:?}");
        }
        assert_eq!(delivered(&outcome)[0], 2_000_000, "{more}: a probe or a retransmission finds the room");
        assert!(outcome.samples.flow_totals.finished_ns[0] > 15_000_000_000);
        assert_conserved(&outcome);
    }
}

/// Two downloads over an 802.11n base station that is the NGWA router, with an interface queue of 50 kB.
fn cell(queues: &str, aggregation: &str, mode: u8, size: &str) -> String {
    let mut text = format!(
        "format = 1\nname = \"cell\"\nduration = \"20 s\"\nsampling = \"100 ms\"\n{TCP}\n[ngwa]\nmode = {mode}\n\
         [[nodes]]\nname = \"server\"\n[[nodes]]\nname = \"ap\"\nkind = \"router\"\n\
         [[nodes]]\nname = \"w1\"\n[[nodes]]\nname = \"w2\"\n\
         [[links]]\nbetween = [\"server\", \"ap\"]\nrate = \"100 Mb/s\"\ndelay = \"5 ms\"\nqueue = {{ limit = \"900 kB\" }}\n\
         [wifi]\nname = \"wlan\"\nbase = \"ap\"\nstations = [\"w1\", \"w2\"]\nphy = \"802.11n\"\nmcs = 1\n\
         aggregation = {aggregation}\nqueues = \"{queues}\"\nqueue = {{ limit = \"50 kB\" }}\n\
         errors = [{{ station = \"w2\", fer = \"5 %\" }}]\n"
    );
    for w in ["w1", "w2"] {
        text += &format!("[[flows]]\nname = \"{w}\"\nfrom = \"server\"\nto = \"{w}\"\nkind = \"bulk\"\n{size}\n");
    }
    text
}

#[test]
fn the_base_station_of_an_802_11_channel_is_a_router_too() {
    for queues in ["shared", "per_station"] {
        for aggregation in ["false", "{ max_mpdus = 16 }"] {
            for mode in 5..=8 {
                let what = format!("{queues}, aggregation {aggregation}, mode {mode}");
                let outcome = run_text(&cell(queues, aggregation, mode, ""));
                // One queue of 50 kB for both stations, or one for each.
                let window = if queues == "shared" { 24_500 } else { 49_000 };
                let seen = windows(&outcome, 10, 20);
                assert!(seen.iter().all(|w| w.abs_diff(window) <= 1_000), "{what}: {seen:?}");
                assert_conserved(&outcome);
            }
            for mode in 1..=8 {
                let what = format!("{queues}, aggregation {aggregation}, mode {mode}");
                let outcome = run_text(&cell(queues, aggregation, mode, "size = \"400 kB\""));
                assert_eq!(delivered(&outcome), [400_000; 2], "{what}");
                let totals = &outcome.samples.flow_totals;
                assert!(totals.counters[0].iter().all(|n| *n >= 400), "{what}");
                let scenario = scenario(&cell(queues, aggregation, mode, ""));
                let with = |plain_loop| run(&scenario, &Options { plain_loop, ..Options::default() }).unwrap().digest();
                if mode == 1 {
                    assert_eq!(with(false), with(true), "{what}: the plain loop");
                }
            }
        }
    }
}

#[test]
fn every_bottleneck_of_a_parking_lot_is_divided() {
    let text = format!(
        r#"format = 1
name = "lot"
duration = "40 s"
sampling = "100 ms"
{TCP}
[ngwa]
mode = 6
[topology]
kind = "parking_lot"
hops = 3
bottleneck = {{ rate = "4 Mb/s", delay = "5 ms", queue = {{ limit = "60 kB" }} }}
access = {{ rate = "100 Mb/s", delay = "2 ms", queue = {{ limit = "900 kB" }} }}
[[flows]]
name = "long"
from = "s0"
to = "d0"
[[flows]]
name = "short"
from = "s*"
to = "d*"
copies = 3
"#
    );
    let outcome = run_text(&text);
    let s = outcome.samples.flows.unpack().unwrap();
    let late = (0..s.time_ns.len()).filter(|i| s.time_ns[*i] > 20_000_000_000);
    // There are two flows on each hop, and the queues of ACKs allow larger windows.
    late.for_each(|i| assert!(s.rwnd_bytes[i].abs_diff(29_400) <= 1_000, "flow {}: {}", s.flow[i], s.rwnd_bytes[i]));
    assert_eq!(outcome.samples.flow_totals.lost_packets, [0; 4]);
    assert!(delivered(&outcome).iter().all(|bytes| *bytes > 1_000_000), "{:?}", delivered(&outcome));
    assert_conserved(&outcome);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// For every queue, mode and loss rate: packets are conserved, nothing arrives that was not sent, and both loops
    /// agree.
    #[test]
    fn any_queue_and_mode_conserve_packets(
        mode in 1u8..=8,
        limit in 2u64..100,
        per in 0.0f64..0.2,
        alpha in 0.01f64..0.99,
        factor in 0.05f64..1.0,
        switches in any::<[bool; 4]>(),
        rate in 1u64..3_000,
        seed in any::<u64>(),
    ) {
        let [shrink, arrival, without, all] = switches;
        let marks = if all { "all" } else { "data" };
        let stamp = if arrival { "arrival" } else { "departure" };
        let ngwa = format!("mode = {mode}\nalpha = {alpha}\nflow_factor = {factor}\nshrink = {shrink}\nstamp = \"{stamp}\"\nmarks = \"{marks}\"");
        let other = if without { "tcp = { assist = \"none\" }" } else { "start = \"2 s\"" };
        let other = bulk(other).replace("\"bulk\"\nfrom", "\"other\"\nfrom");
        let text = through(&bottleneck(limit, &format!("per = {per}")), &ngwa, &(bulk("") + &other + &udp(&format!("{rate} kb/s"), "")));
        let outcome = run_seeded(&text, seed);
        assert_conserved(&outcome);
        for i in 0..2 {
            let flow = outcome.samples.flow_totals.row(i).unwrap();
            prop_assert!(flow.delivered_bytes <= flow.sent_bytes - flow.retransmitted_bytes);
            prop_assert!(flow.arrived_packets + flow.lost_packets <= flow.sent_packets);
            // Segments that arrive after the end of the connection are not counted by the scheme.
            prop_assert!(all || flow.counters[0] <= flow.arrived_packets);
            prop_assert_eq!(flow.counters[1], 0);
        }
        let plain = run(&scenario(&text), &Options { seed, plain_loop: true, ..Options::default() }).unwrap();
        prop_assert_eq!(plain.digest(), outcome.digest());
    }
}
