#![allow(clippy::unwrap_used)]
use super::*;
use pcap_file::Endianness;
use pcap_file::TsResolution;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use proptest::prelude::*;
use std::borrow::Cow;
use std::time::Duration;

/// A file that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, content: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("narrows-deliveries-{name}-{}", std::process::id()));
        std::fs::write(&path, content).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// An IPv4 header from 10.0.0.`src` to 10.0.0.`dst`.
fn v4(src: u8, dst: u8, total: u16) -> Vec<u8> {
    let mut bytes = vec![0; 20];
    bytes[0] = 0x45;
    bytes[2..4].copy_from_slice(&total.to_be_bytes());
    bytes[12..16].copy_from_slice(&[10, 0, 0, src]);
    bytes[16..20].copy_from_slice(&[10, 0, 0, dst]);
    bytes
}

fn ethernet(kinds: &[u16], ip: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; 12];
    for (place, kind) in kinds.iter().enumerate() {
        frame.extend(kind.to_be_bytes());
        // A tag is followed by its own two bytes.
        if place + 1 < kinds.len() {
            frame.extend([0, 7]);
        }
    }
    frame.extend(ip);
    frame
}

fn pcap(datalink: DataLink, resolution: TsResolution, packets: &[(u64, Vec<u8>, u32)]) -> Vec<u8> {
    let header =
        PcapHeader { datalink, ts_resolution: resolution, endianness: Endianness::Little, ..PcapHeader::default() };
    let mut writer = PcapWriter::with_header(Vec::new(), header).unwrap();
    for (us, data, length) in packets {
        writer.write_packet(&PcapPacket::new(Duration::from_micros(*us), *length, data)).unwrap();
    }
    writer.into_writer()
}

fn pcapng(resolutions: &[Option<u8>], packets: &[(u32, u64, Vec<u8>)]) -> Vec<u8> {
    let mut writer = PcapNgWriter::new(Vec::new()).unwrap();
    for resolution in resolutions {
        let options = resolution.map(InterfaceDescriptionOption::IfTsResol).into_iter().collect();
        let block = InterfaceDescriptionBlock { linktype: DataLink::RAW, snaplen: 100, options };
        writer.write_pcapng_block(block).unwrap();
    }
    for (interface_id, ticks, data) in packets {
        let block = EnhancedPacketBlock {
            interface_id: *interface_id,
            timestamp: Duration::from_nanos(*ticks),
            original_len: 1_500,
            data: Cow::Borrowed(data),
            options: Vec::new(),
        };
        writer.write_pcapng_block(block).unwrap();
    }
    writer.into_inner()
}

fn all(name: &str, content: &[u8]) -> Result<Deliveries, UnreadableCapture> {
    Deliveries::of_capture(&Scratch::new(name, content).0, Wanted::default())
}

#[test]
fn lengths_are_those_of_ip_whatever_the_link_adds() {
    let mut v6 = vec![0; 40];
    v6[0] = 0x60;
    v6[4..6].copy_from_slice(&960_u16.to_be_bytes());
    let file = pcap(
        DataLink::ETHERNET,
        TsResolution::MicroSecond,
        &[
            (1_000_000, ethernet(&[0x0800], &v4(1, 2, 40)), 60),
            (1_000_100, ethernet(&[0x8100, 0x0800], &v4(1, 2, 1_500)), 1_518),
            (1_000_150, ethernet(&[0x0806], &[0; 28]), 42),
            (1_000_200, ethernet(&[0x86dd], &v6), 1_014),
            (1_000_300, ethernet(&[0x0800], &v4(1, 2, 0)), 65_014),
        ],
    );
    let found = all("ethernet", &file).unwrap();
    assert_eq!(found.times_ns, [0, 100_000, 200_000, 300_000], "an ARP packet does not count");
    assert_eq!(found.bytes, [40, 1_500, 1_000, 65_000], "padding does not count, and a length of 0 is the link's");
}

#[test]
fn addresses_choose_a_direction_and_times_are_sorted() {
    let packets = [(500, v4(1, 2, 1_500), 1_500), (300, v4(2, 1, 40), 40), (400, v4(1, 3, 700), 700)];
    let file = Scratch::new("direction", &pcap(DataLink::RAW, TsResolution::NanoSecond, &packets));
    let [one, two] = [1, 2].map(|host| Some(IpAddr::from([10, 0, 0, host])));
    for (wanted, times, bytes) in [
        (Wanted::default(), vec![0, 100_000, 200_000], vec![40, 700, 1_500]),
        (Wanted { src: one, dst: None }, vec![0, 100_000], vec![700, 1_500]),
        (Wanted { src: one, dst: two }, vec![0], vec![1_500]),
        (Wanted { src: None, dst: one }, vec![0], vec![40]),
        (Wanted { src: two, dst: two }, vec![], vec![]),
    ] {
        let found = Deliveries::of_capture(&file.0, wanted).unwrap();
        assert_eq!((found.times_ns, found.bytes), (times, bytes), "{wanted:?}");
    }
}

#[test]
fn each_interface_counts_time_its_own_way() {
    // 5 ms, 6 ms, 1 s and 7 ms, in microseconds, nanoseconds, 1/1024 s and milliseconds.
    let packet = || v4(1, 2, 1_500);
    let packets = [(0, 5_000, packet()), (1, 6_000_000, packet()), (2, 1_024, packet()), (3, 7, packet())];
    let found = all("clocks", &pcapng(&[None, Some(9), Some(0x80 | 10), Some(3)], &packets)).unwrap();
    assert_eq!(found.times_ns, [0, 1_000_000, 2_000_000, 995_000_000]);
}

#[test]
fn what_is_no_capture_says_so() {
    let whole = pcap(DataLink::RAW, TsResolution::MicroSecond, &[(1, v4(1, 2, 40), 40), (2, v4(1, 2, 40), 40)]);
    let radio = pcap(DataLink::IEEE802_11_RADIOTAP, TsResolution::MicroSecond, &[(1, vec![0; 60], 60)]);
    for (content, reason) in [
        (&b"1\n2\n3\n4\n"[..], "is not a capture"),
        (b"", "is not a capture"),
        (&whole[..whole.len() - 3], "after packet 1: ends in the middle of a packet"),
        (&radio, "link type 127 cannot be read; allowed: raw IP (101)"),
    ] {
        let error = all("broken", content).unwrap_err();
        assert!(error.reason.contains(reason), "{error}");
    }
    let missing = Deliveries::of_capture(Path::new("/nowhere/at.all"), Wanted::default()).unwrap_err();
    assert!(missing.to_string().starts_with("/nowhere/at.all: "), "{missing}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn broken_captures_are_refused_or_read(
        is_new in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let packets = [v4(1, 2, 40), v4(2, 1, 1_500)];
        let mut content = if is_new {
            pcapng(&[Some(9), None], &[(0, 1, packets[0].clone()), (1, 2, packets[1].clone())])
        } else {
            pcap(DataLink::RAW, TsResolution::MicroSecond, &[(1, packets[0].clone(), 40), (2, packets[1].clone(), 40)])
        };
        for (place, byte) in changes {
            let place = place.index(content.len());
            content[place] = byte;
        }
        content.truncate(cut.index(content.len() * 2).min(content.len()));
        if let Ok(found) = all("random", &content) {
            prop_assert!(found.times_ns.is_sorted());
        }
    }
}
