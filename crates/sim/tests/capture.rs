//! Captures: one pcapng file per link, in order of time, whose every packet parses with right checksums.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod common;

use common::{PLAIN, path, scenario};
use narrows_sim::{Options, RunError, run};
use narrows_wire::{Ecn, Ip, Packet, TcpFlags};
use pcap_file::pcapng::{Block, PcapNgReader};
use std::fs::File;
use std::path::{Path, PathBuf};

/// A directory of this test's own, removed at the end.
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

/// Every packet of a file as (interface, nanoseconds, packet).
fn read(path: &Path) -> Vec<(u32, u128, Packet)> {
    let mut reader = PcapNgReader::new(File::open(path).unwrap()).unwrap();
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(block) = block.unwrap() {
            let packet = Packet::parse(&block.data).unwrap();
            packets.push((block.interface_id, block.timestamp.as_nanos(), packet));
        }
    }
    packets
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
    assert_eq!(captured.digest, plain.digest, "watching changes nothing");

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
fn a_directory_that_cannot_be_written_is_an_error_with_its_path() {
    let scenario = scenario(&path(PLAIN, FLOWS));
    let missing = Path::new("/nonexistent/narrows");
    let error = run(&scenario, &Options { pcap_dir: Some(missing), ..Options::default() }).unwrap_err();
    assert!(matches!(&error, RunError::Capture { path, .. } if path.starts_with(missing)), "{error}");
}
