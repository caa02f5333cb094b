//! Captures: one pcapng file per link and per 802.11 channel, in order of time; all packets parse with correct
//! checksums.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod common;

use common::{PLAIN, path, scenario};
use narrows_queue::Dropped;
use narrows_sim::{Options, Packets, RunError, run};
use narrows_units::Instant;
use narrows_wifi::{Frame, Mpdu};
use narrows_wire::{Dot11Repr, Ecn, Ip, MacAddr, Packet, RadiotapRepr, TcpFlags};
use pcap_file::pcapng::{Block, PcapNgReader};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// A directory for one test, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("narrows-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Every packet of a file as (interface, nanoseconds, result of `parse`).
fn read_as<T>(path: &Path, parse: impl Fn(&[u8]) -> T) -> Vec<(u32, u128, T)> {
    let mut reader = PcapNgReader::new(File::open(path).unwrap()).unwrap();
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(block) = block.unwrap() {
            packets.push((block.interface_id, block.timestamp.as_nanos(), parse(&block.data)));
        }
    }
    packets
}

/// Every packet of a link's file.
fn read(path: &Path) -> Vec<(u32, u128, Packet)> {
    read_as(path, |bytes| Packet::parse(bytes).unwrap())
}

const FLOWS: &str = r#"
[acns]

[[flows]]
name = "acns"
from = "A"
to = "B"
kind = "bulk"
size = "300 kB"
dscp = 26

[[flows]]
name = "udp"
from = "A"
to = "B"
kind = "udp"
rate = "1 Mb/s"
payload = "500 B"
"#;

#[test]
fn every_captured_packet_parses_and_stands_in_order() {
    let text = path(PLAIN, FLOWS).replace("20 s", "3 s");
    let scenario = scenario(&text);
    let dir = Scratch::new("capture");
    let captured = run(&scenario, &Options { seed: 1, pcap_dir: Some(&dir.0), ..Options::default() }).unwrap();
    let plain = run(&scenario, &Options { seed: 1, ..Options::default() }).unwrap();
    assert_eq!(captured.digest(), plain.digest(), "watching changes nothing");

    let packets = read(&dir.0.join("R1-R2.pcapng"));
    assert!(packets.windows(2).all(|w| w[0].1 <= w[1].1), "in order of time");
    let forwarded = &captured.samples.queue_totals.forwarded_packets;
    for interface in 0..2 {
        let seen = packets.iter().filter(|p| p.0 == interface).count() as u64;
        assert_eq!(seen, forwarded[2 + interface as usize]);
    }
    let syn = &packets.iter().find(|p| p.2.tcp().is_some()).unwrap().2;
    let flags = syn.tcp().unwrap().flags;
    assert!(flags.has(TcpFlags::SYN.with(TcpFlags::ECE).with(TcpFlags::CWR).with(TcpFlags::RESERVED_0X200)));
    let asked = packets.iter().any(|(_, _, p)| match &p.ip {
        Ip::V4(h) => h.reserved_flag && matches!(h.ecn, Ecn::Ect0 | Ecn::Ect1) && h.dscp == 26,
        Ip::V6(_) => false,
    });
    assert!(asked, "some segment asks routers for a command (I4 or I5)");
}

#[test]
fn accurate_ecn_stands_in_captures_and_both_loops_agree() {
    let queue = "rate = \"10 Mb/s\"\ndelay = \"5 ms\"\nqueue = { kind = \"dualpi2\", limit = \"100 packets\" }";
    let flow = "[[flows]]\nname = \"l4s\"\nfrom = \"A\"\nto = \"B\"\nkind = \"bulk\"\ncc = \"prague\"\n";
    let scenario = scenario(&path(queue, flow).replace("20 s", "3 s"));
    let dir = Scratch::new("accurate");
    let captured = run(&scenario, &Options { seed: 1, pcap_dir: Some(&dir.0), ..Options::default() }).unwrap();
    let plain = run(&scenario, &Options { seed: 1, ..Options::default() }).unwrap();
    assert_eq!(captured.digest(), plain.digest(), "a capture takes the plain loop");

    let packets = read(&dir.0.join("R1-R2.pcapng"));
    let tcp = |n: usize| packets[n].2.tcp().unwrap();
    assert_eq!((tcp(0).flags.ace(), tcp(0).options.accecn()), (0b111, None), "the SYN offers AccECN");
    assert_eq!((tcp(1).flags.ace(), tcp(1).options.accecn().unwrap().len()), (0b010, 3), "the SYN-ACK");
    let data: Vec<_> = packets.iter().filter(|p| p.2.payload_len > 0).map(|p| p.2.ip.ecn()).collect();
    assert!(data.iter().all(|ecn| matches!(ecn, Ecn::Ect1 | Ecn::Ce)));
    let marked = data.iter().filter(|ecn| **ecn == Ecn::Ce).count();
    let reported = packets.iter().filter_map(|p| p.2.tcp()?.options.accecn()?.ce()).max().unwrap();
    // Marks of the last round-trip time are on their way; a full segment has 1448 bytes.
    let lacking = marked - reported as usize / 1448;
    assert!(marked > 20 && reported % 1448 == 0 && lacking <= 20, "{marked} marked, {reported} bytes reported");
}

#[test]
fn dropped_packets_stand_in_a_file_of_their_own_with_reason_and_sub_queue() {
    use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption as PacketOption;
    let flow = "[[flows]]\nname = \"udp\"\nfrom = \"A\"\nto = \"B\"\nkind = \"udp\"\nrate = \"12 Mb/s\"\n";
    for (queue, comments) in [
        ("limit = \"20 packets\"", &["dropped: no room, sub-queue 0"][..]),
        (
            "limit = \"20 packets\", kind = \"fq_codel\", flows = 1, target = \"1 ms\", interval = \"10 ms\"",
            &["dropped early by the AQM, sub-queue 0"],
        ),
    ] {
        let link = format!("rate = \"10 Mb/s\"\ndelay = \"10 ms\"\nqueue = {{ {queue} }}");
        let scenario = scenario(&path(&link, flow).replace("20 s", "3 s"));
        let dir = Scratch::new("drops");
        let outcome = run(&scenario, &Options { seed: 1, pcap_dir: Some(&dir.0), ..Options::default() }).unwrap();
        let mut reader = PcapNgReader::new(File::open(dir.0.join("R1-R2.drops.pcapng")).unwrap()).unwrap();
        let mut told = std::collections::BTreeMap::<String, u64>::new();
        while let Some(block) = reader.next_block() {
            if let Block::EnhancedPacket(block) = block.unwrap() {
                assert!(Packet::parse(&block.data).is_ok());
                let [PacketOption::Comment(comment)] = &block.options[..] else { panic!("{:?}", block.options) };
                *told.entry(comment.to_string()).or_default() += 1;
            }
        }
        assert_eq!(told.keys().map(String::as_str).collect::<Vec<_>>(), comments);
        let total = outcome.samples.queue_totals.row(2).unwrap();
        assert_eq!(told.values().sum::<u64>(), total.dropped_overflow + total.dropped_early + total.dropped_forced);
        assert_eq!(std::fs::read_dir(&dir.0).unwrap().count(), 4, "no file for links that drop nothing");
    }
}

#[test]
fn marked_packets_have_a_comment_with_their_sub_queue_on_the_way_in_and_out() {
    use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption as PacketOption;
    let flow = "[[flows]]\nname = \"tcp\"\nfrom = \"A\"\nto = \"B\"\nkind = \"bulk\"\n\n[tcp]\necn = true\n";
    for (queue, comment) in [
        ("kind = \"red\", ecn = true, min_threshold = 2, max_threshold = 40, max_p = 0.2", "marked CE, sub-queue 0"),
        ("kind = \"fq_codel\", flows = 1, target = \"1 ms\", interval = \"10 ms\"", "marked CE, sub-queue 0"),
        ("kind = \"dualpi2\", target = \"5 ms\"", "marked CE, sub-queue 1"),
    ] {
        for agent in ["", "[acns]\n"] {
            let link = format!("rate = \"10 Mb/s\"\ndelay = \"10 ms\"\nqueue = {{ limit = \"200 packets\", {queue} }}");
            let scenario = scenario(&path(&link, &format!("{agent}{flow}")).replace("20 s", "5 s"));
            let dir = Scratch::new("marks");
            let outcome = run(&scenario, &Options { seed: 1, pcap_dir: Some(&dir.0), ..Options::default() }).unwrap();
            let mut reader = PcapNgReader::new(File::open(dir.0.join("R1-R2.pcapng")).unwrap()).unwrap();
            let mut told = 0;
            while let Some(block) = reader.next_block() {
                let Block::EnhancedPacket(block) = block.unwrap() else { continue };
                let packet = Packet::parse(&block.data).unwrap();
                if agent.is_empty() {
                    assert_eq!(block.options.is_empty(), packet.ip.ecn() != Ecn::Ce, "no other queue marks");
                }
                if let [PacketOption::Comment(found)] = &block.options[..] {
                    assert!(found == comment || !agent.is_empty(), "{found}");
                    told += 1;
                }
            }
            let marked = outcome.samples.queue_totals.row(2).unwrap().marked;
            assert!(marked > 0, "{queue}");
            // Those that wait as the run ends have not been sent.
            assert!(told <= marked && told + 200 > marked, "{told} of {marked}: {queue}");
        }
    }
}

/// Three stations that send at the same time to a server and to each other, so that frames collide.
const CELL: &str = r#"
format = 1
name = "cell"
duration = "2 s"

[[nodes]]
name = "s"

[[nodes]]
name = "ap"
kind = "router"

[[nodes]]
name = "w1"

[[nodes]]
name = "w2"

[[nodes]]
name = "w3"

[[links]]
between = ["s", "ap"]
rate = "100 Mb/s"
delay = "1 ms"

[wifi]
base = "ap"
stations = ["w1", "w2", "w3"]
phy = "802.11g"
rts_threshold = "1000 B"
errors = [{ station = "w3", fer = "5 %" }]
signals = [{ station = "w2", signal = -7.6 }]

[[flows]]
name = "up"
from = "w1"
to = "s"

[[flows]]
name = "down"
from = "s"
to = "w2"

[[flows]]
name = "across"
from = "w3"
to = "w1"
"#;

#[test]
fn a_channels_capture_has_every_frame_that_its_stations_counted() {
    let aggregated = CELL.replace("802.11g", "802.11n");
    for (text, aggregates) in [(CELL, false), (&aggregated, true)] {
        let scenario = scenario(text);
        let dir = Scratch::new("channel");
        let captured = run(&scenario, &Options { seed: 1, pcap_dir: Some(&dir.0), ..Options::default() }).unwrap();
        let plain = run(&scenario, &Options { seed: 1, ..Options::default() }).unwrap();
        assert_eq!(captured.digest(), plain.digest(), "watching changes nothing");

        let frames = read_as(&dir.0.join("wlan1.pcapng"), |bytes| {
            let (radiotap, len) = RadiotapRepr::parse(bytes).unwrap();
            (radiotap, Dot11Repr::parse(&bytes[len..]).unwrap())
        });
        assert!(frames.windows(2).all(|w| w[0].1 <= w[1].1), "in order of time");
        let totals = &captured.samples.station_totals;
        assert!(totals.collisions.iter().sum::<u64>() > 0, "frames collided, and are there all the same");
        let count = |wanted: &dyn Fn(&RadiotapRepr, &Dot11Repr) -> bool| {
            frames.iter().filter(|(_, _, (radiotap, frame))| wanted(radiotap, frame)).count() as u64
        };
        assert_eq!(count(&|_, f| matches!(f, Dot11Repr::Cts { .. })), totals.cts_frames.iter().sum::<u64>());
        let acks = count(&|_, f| matches!(f, Dot11Repr::Ack { .. } | Dot11Repr::BlockAck(_)));
        assert_eq!(acks, totals.ack_frames.iter().sum::<u64>());
        // Nodes 1 to 4 are the base station and the stations.
        for (station, node) in (1..5).enumerate() {
            let mac = MacAddr::of_node(node);
            let rts = count(&|_, f| matches!(f, Dot11Repr::Rts { transmitter, .. } if *transmitter == mac));
            assert_eq!(rts, totals.rts_frames[station]);
            let mpdus = count(&|_, f| matches!(f, Dot11Repr::Data(d) if d.transmitter == mac));
            assert_eq!(mpdus, totals.mpdus[station]);
            let data_frames = count(&|r, f| {
                matches!(f, Dot11Repr::Data(d) if d.transmitter == mac) && r.ampdu.is_none_or(|a| a.flags & 0x0008 != 0)
            });
            assert_eq!(data_frames, totals.data_frames[station]);
            let signal = if node == 3 { -58 } else { -50 };
            assert!(frames.iter().all(|(_, _, (radiotap, frame))| match frame {
                Dot11Repr::Data(d) if d.transmitter == mac =>
                    radiotap.signal_dbm == Some(signal) && d.tid.is_some() == aggregates,
                _ => true,
            }));
        }
        // Frames between two stations pass through the base station and carry the original source and destination.
        let [first, third] = [2, 4].map(MacAddr::of_node);
        let across = |up: bool| {
            let way = |f: &Dot11Repr| {
                matches!(f, Dot11Repr::Data(d)
                if (d.source(), d.destination()) == (third, first) && (d.transmitter == third) == up)
            };
            count(&|_, f| way(f))
        };
        assert!(across(true) > 10 && across(false) > 10, "{} up, {} down", across(true), across(false));
    }
}

#[test]
fn a_directory_that_cannot_be_written_is_an_error_with_its_path() {
    let scenario = scenario(&path(PLAIN, FLOWS));
    let missing = Path::new("/nonexistent/narrows");
    let error = run(&scenario, &Options { pcap_dir: Some(missing), ..Options::default() }).unwrap_err();
    assert!(matches!(&error, RunError::Capture(failure) if failure.path.starts_with(missing)), "{error}");
}

/// Packets of a run, as a watcher receives them.
#[derive(Debug, Default)]
struct Watcher(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    departed: Vec<(usize, u128, Vec<u8>)>,
    dropped: u64,
    corrupted: u64,
    frames: usize,
    times: Vec<Instant>,
}

impl Packets for Watcher {
    fn departed(&self, edge: usize, packet: &Packet, at: Instant) {
        let mut seen = self.0.lock().unwrap();
        let mut bytes = Vec::new();
        packet.emit_into(&mut bytes);
        seen.departed.push((edge, u128::from(at.as_nanos()), bytes));
        seen.times.push(at);
    }

    fn dropped(&self, _edge: usize, _dropped: &Dropped, at: Instant) {
        let mut seen = self.0.lock().unwrap();
        seen.dropped += 1;
        seen.times.push(at);
    }

    fn corrupted(&self, _edge: usize, _packet: &Packet, _at: Instant) {
        self.0.lock().unwrap().corrupted += 1;
    }

    fn frame(&self, _channel: usize, _frame: &Frame, _mpdus: &[Mpdu]) {
        self.0.lock().unwrap().frames += 1;
    }
}

#[test]
fn a_watcher_receives_the_packets_that_captures_have() {
    let lossy = format!("{PLAIN}\nper = 0.01");
    let text = path(&lossy, FLOWS).replace("20 s", "3 s");
    let scenario = scenario(&text);
    let dir = Scratch::new("watched");
    let options = Options { seed: 1, ..Options::default() };
    let captured = run(&scenario, &Options { pcap_dir: Some(&dir.0), ..options }).unwrap();
    let watcher = Arc::new(Watcher::default());
    let packets: Arc<dyn Packets> = watcher.clone();
    let watched = run(&scenario, &Options { packets: Some(&packets), ..options }).unwrap();
    assert_eq!(watched.digest(), captured.digest(), "watching changes nothing");
    let seen = watcher.0.lock().unwrap();
    for (link, file) in ["A-R1", "R1-R2", "R2-B"].iter().enumerate() {
        let of_link = seen.departed.iter().filter(|(edge, _, _)| edge / 2 == link);
        let found: Vec<_> = of_link.map(|(edge, at, bytes)| ((edge % 2) as u32, *at, bytes)).collect();
        let written = read_as(&dir.0.join(format!("{file}.pcapng")), <[u8]>::to_vec);
        assert_eq!(found.len(), written.len());
        // A capture has the headers alone.
        let same = |one: &(u32, u128, &Vec<u8>), two: &(u32, u128, Vec<u8>)| {
            (one.0, one.1) == (two.0, two.1) && one.2.starts_with(&two.2)
        };
        assert!(!found.is_empty() && found.iter().zip(&written).all(|(one, two)| same(one, two)), "{file}");
    }
    let totals = &watched.samples.queue_totals;
    let sum = |columns: [&Vec<u64>; 3]| columns.into_iter().flatten().sum::<u64>();
    assert_eq!(seen.dropped, sum([&totals.dropped_overflow, &totals.dropped_early, &totals.dropped_forced]));
    assert!(seen.corrupted > 0);
    assert_eq!(seen.corrupted, totals.corrupted.iter().sum::<u64>());
    assert!(seen.times.is_sorted());
    assert_eq!(seen.frames, 0);
}
