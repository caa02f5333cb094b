//! Captures of 802.11 channels from hand-made frames, read back by the parsers of `wire`, and by tshark in tests that
//! are ignored by default.

use super::channel::Modulation;
use super::{Capture, ChannelCapture};
use narrows_units::{Bytes, Duration, Instant, Rate, SeqNum};
use narrows_wifi::{Frame, FrameKind, Mpdu};
use narrows_wire::*;
use pcap_file::DataLink;
use pcap_file::pcapng::{Block, PcapNgReader};
use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory for one test, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("narrows-channel-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const BASE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const FIRST: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 3));
const SECOND: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 4));

/// IPv6 address of a node.
fn v6(node: usize) -> IpAddr {
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, node as u16 + 1))
}

/// A wired server (node 0), a base station (node 1) and two stations (nodes 2, 3); 802.11b with the long preamble.
fn channel(data: Modulation, basic_rate: Rate) -> ChannelCapture {
    let nodes = [SERVER, BASE, FIRST, SECOND];
    let mac = |node: usize| MacAddr::of_node(node as u32);
    ChannelCapture {
        name: "wlan".into(),
        stations: vec![mac(1), mac(2), mac(3)],
        signals: vec![-50, -60, -47],
        nodes: nodes.into_iter().enumerate().flat_map(|(node, ip)| [(ip, mac(node)), (v6(node), mac(node))]).collect(),
        data,
        basic_rate,
        short_preamble: false,
        preambles: [Duration::from_micros(192); 2],
        ghz5: false,
        qos: false,
        reference: 7,
    }
}

fn tcp(src: IpAddr, dst: IpAddr, seq: u32, payload_len: u32) -> Packet {
    let options = TcpOptions { timestamps: Some(Timestamps { val: 9, ecr: 8 }), ..TcpOptions::default() };
    let header =
        TcpRepr { src_port: 10_000, dst_port: 80, seq: SeqNum::new(seq), ack: SeqNum::new(1), ..<_>::default() };
    let transport = Transport::Tcp(TcpRepr { flags: TcpFlags::ACK, window: 1000, options, ..header });
    Packet { ip: Ip::between(src, dst), transport, payload_len }
}

fn mpdu(seq: u16, retry: bool, packet: Packet, header: u64) -> Mpdu {
    Mpdu { seq, retry, attempts: u32::from(retry), packet, len: Bytes::new(header + 8 + 4) + packet.len() }
}

fn frame(
    kind: FrameKind,
    [from, to]: [usize; 2],
    duration_us: u64,
    [start_us, airtime_us]: [u64; 2],
    len: u64,
) -> Frame {
    Frame {
        kind,
        from,
        to,
        duration: Duration::from_micros(duration_us),
        start: Instant::from_nanos(start_us * 1000),
        airtime: Duration::from_micros(airtime_us),
        len: Bytes::new(len),
    }
}

/// Writes the frames and returns the file's path.
fn written(dir: &Scratch, facts: ChannelCapture, frames: &[(Frame, Vec<Mpdu>)]) -> PathBuf {
    let mut capture = Capture::create(&dir.0, &[], vec![facts]).unwrap();
    for (frame, mpdus) in frames {
        capture.record_frame(0, frame, mpdus);
    }
    capture.finish().unwrap();
    dir.0.join("wlan.pcapng")
}

/// Every captured frame: nanoseconds, radiotap header, MAC frame.
fn read(path: &Path) -> Vec<(u128, RadiotapRepr, Dot11Repr)> {
    let mut reader = PcapNgReader::new(File::open(path).unwrap()).unwrap();
    let mut frames = Vec::new();
    while let Some(block) = reader.next_block() {
        match block.unwrap() {
            Block::InterfaceDescription(block) => assert_eq!(block.linktype, DataLink::IEEE802_11_RADIOTAP),
            Block::EnhancedPacket(block) => {
                assert_eq!(block.original_len as usize, block.data.len());
                let (header, len) = RadiotapRepr::parse(&block.data).unwrap();
                let frame = Dot11Repr::parse(&block.data[len..]).unwrap();
                frames.push((block.timestamp.as_nanos(), header, frame));
            }
            _ => {}
        }
    }
    frames
}

/// tshark's values of these fields in each frame.
fn tshark(path: &Path, fields: &[&str]) -> Vec<Vec<String>> {
    let checks = ["wlan.check_checksum", "ip.check_checksum", "tcp.check_checksum", "udp.check_checksum"];
    let mut command = Command::new("tshark");
    command.arg("-r").arg(path).args(["-T", "fields", "-o", "wlan_radio.tsf_at_end:FALSE"]);
    for check in checks {
        command.arg("-o").arg(format!("{check}:TRUE"));
    }
    // The first fields report problems of a frame: there must be none.
    for field in ["_ws.malformed", "_ws.expert.message", "ip.checksum.status", "tcp.checksum.status", "wlan.fcs.status"]
    {
        command.args(["-e", field]);
    }
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().expect("tshark (Debian package tshark) is not installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let rows = text.lines().map(|line| {
        let cells: Vec<_> = line.split('\t').map(str::to_owned).collect();
        let (problems, cells) = cells.split_at(5);
        assert_eq!(problems[0], "", "{line}");
        // Wireshark adds a note to repeated frames.
        assert!(["", "Retransmission (retry)"].contains(&problems[1].as_str()), "{line}");
        assert!(problems[2..4].iter().all(|status| status.is_empty() || status == "1"), "{line}");
        assert_eq!(problems[4], "1", "the FCS is good: {line}");
        cells.to_vec()
    });
    rows.collect()
}

/// The rows, each as one line of fields.
fn lines(rows: &[Vec<String>]) -> Vec<String> {
    rows.iter().map(|row| row.join(" ")).collect()
}

/// RTS, CTS, data, ACK from an 802.11b station, long preamble: SIFS 10 us, RTS 352 us, CTS and ACK 304 us, data of
/// 24 + 8 + 20 + 32 + 1448 + 4 = 1536 bytes at 11 Mb/s 192 + 1117.1 us.
fn exchange() -> Vec<(Frame, Vec<Mpdu>)> {
    let data = mpdu(4095, false, tcp(FIRST, SERVER, 1, 1448), 24);
    let again = mpdu(0, true, tcp(SERVER, FIRST, 5, 100), 24);
    assert_eq!(data.len, Bytes::new(1536));
    vec![
        (frame(FrameKind::Rts, [1, 0], 304 + 1310 + 304 + 30, [50, 352], 20), vec![]),
        (frame(FrameKind::Cts, [0, 1], 1310 + 304 + 20, [412, 304], 14), vec![]),
        (frame(FrameKind::Data, [1, 0], 314, [726, 1310], 1536), vec![data]),
        (frame(FrameKind::Ack, [0, 1], 0, [2046, 304], 14), vec![]),
        (frame(FrameKind::Data, [0, 1], 314, [3000, 329], 188), vec![again]),
    ]
}

#[test]
fn what_a_channel_carried_is_read_back() {
    let dir = Scratch::new("read");
    let facts = channel(Modulation::Rate(Rate::mbps(11)), Rate::mbps(1));
    let frames = read(&written(&dir, facts, &exchange()));
    let starts: Vec<_> = frames.iter().map(|f| f.0).collect();
    assert_eq!(starts, [50_000, 412_000, 726_000, 2_046_000, 3_000_000]);
    let [server, base, first] = [0, 1, 2].map(MacAddr::of_node);
    assert_eq!(frames[0].2, Dot11Repr::Rts { duration: 1948, receiver: base, transmitter: first });
    assert_eq!(frames[1].2, Dot11Repr::Cts { duration: 1634, receiver: first });
    assert_eq!(frames[3].2, Dot11Repr::Ack { duration: 0, receiver: first });
    let Dot11Repr::Data(up) = frames[2].2 else { panic!("{:?}", frames[2].2) };
    assert_eq!((up.source(), up.bssid(), up.destination()), (first, base, server));
    assert_eq!((up.seq, up.retry, up.tid, up.packet), (4095, false, None, tcp(FIRST, SERVER, 1, 1448)));
    let Dot11Repr::Data(down) = frames[4].2 else { panic!("{:?}", frames[4].2) };
    assert_eq!((down.source(), down.bssid(), down.destination()), (server, base, first));
    assert_eq!((down.seq, down.retry), (0, true));
    let rates: Vec<_> = frames.iter().map(|f| f.1.rate).collect();
    assert_eq!(rates, [2, 2, 22, 2, 22].map(Some));
    let signals: Vec<_> = frames.iter().map(|f| f.1.signal_dbm).collect();
    assert_eq!(signals, [-60, -50, -60, -50, -50].map(Some));
}

/// An A-MPDU of three MPDUs to the second station (the first is a repetition, the last is IPv6), and the block ACK.
fn aggregate() -> Vec<(Frame, Vec<Mpdu>)> {
    let mpdus = vec![
        mpdu(4095, true, tcp(SERVER, SECOND, 1, 1448), 26),
        mpdu(0, false, tcp(SERVER, SECOND, 1449, 1448), 26),
        mpdu(1, false, tcp(v6(0), v6(3), 7, 1000), 26),
    ];
    let block_ack = FrameKind::BlockAck { start: 4095, bitmap: 0b101 };
    vec![
        (frame(FrameKind::Aggregate { mpdus: 3 }, [0, 2], 84, [1000, 156], 4206), mpdus),
        (frame(block_ack, [2, 0], 0, [1172, 68], 32), vec![]),
    ]
}

/// A channel at 5 GHz with aggregation.
fn aggregating(data: Modulation) -> ChannelCapture {
    let preambles = [40, 20].map(Duration::from_micros);
    ChannelCapture { ghz5: true, qos: true, preambles, ..channel(data, Rate::mbps(6)) }
}

const MAC_FIELDS: [&str; 8] =
    ["wlan.fc.type_subtype", "wlan.ra", "wlan.ta", "wlan.sa", "wlan.da", "wlan.fc.retry", "wlan.seq", "wlan.duration"];

#[test]
#[ignore = "needs tshark (Debian package tshark); run with --ignored"]
fn wireshark_reads_the_mac_fields_and_the_packets() {
    let dir = Scratch::new("mac");
    let path = written(&dir, channel(Modulation::Rate(Rate::mbps(11)), Rate::mbps(1)), &exchange());
    let [server, base, first] = [0, 1, 2].map(|node| MacAddr::of_node(node).to_string());
    let wanted = [
        format!("0x001b {base} {first}   0  1948"),
        format!("0x001c {first}    0  1634"),
        format!("0x0020 {base} {first} {first} {server} 0 4095 314"),
        format!("0x001d {first}    0  0"),
        format!("0x0020 {first} {base} {server} {first} 1 0 314"),
    ];
    let rows = tshark(&path, &MAC_FIELDS);
    assert_eq!(lines(&rows), wanted);
    let rows = tshark(&path, &["frame.time_relative", "llc.type", "ip.src", "ip.dst", "tcp.seq_raw", "tcp.len"]);
    assert_eq!(
        lines(&rows),
        [
            "0.000000000     ",
            "0.000362000     ",
            "0.000676000 0x0800 10.0.0.3 10.0.0.1 1 1448",
            "0.001996000     ",
            "0.002950000 0x0800 10.0.0.1 10.0.0.3 5 100",
        ]
    );
}

/// Wireshark computes the airtime of a frame from radiotap's fields, and its start from TSFT.
#[test]
#[ignore = "needs tshark (Debian package tshark); run with --ignored"]
fn wireshark_finds_start_and_airtime_of_each_frame_by_itself() {
    let dir = Scratch::new("airtime");
    let path = written(&dir, channel(Modulation::Rate(Rate::mbps(11)), Rate::mbps(1)), &exchange());
    let fields = ["radiotap.datarate", "radiotap.channel.freq", "wlan_radio.phy", "radiotap.dbm_antsignal"];
    let times = ["wlan_radio.start_tsf", "wlan_radio.duration"];
    let rows = tshark(&path, &[&fields[..], &times[..]].concat());
    assert_eq!(
        lines(&rows),
        [
            "1 2412 4 -60 50 352",
            "1 2412 4 -50 412 304",
            "11 2412 4 -60 726 1310",
            "1 2412 4 -50 2046 304",
            "11 2412 4 -50 3000 329",
        ]
    );
    // 1536 bytes at 5.5 Mb/s after the short preamble: 96 + 2234.2 us. The ACK at 1 Mb/s after the long one: 192 + 112
    // us.
    let data = mpdu(1, false, tcp(FIRST, SERVER, 1, 1448), 24);
    let short = [
        (frame(FrameKind::Data, [1, 0], 314, [500, 2331], 1536), vec![data]),
        (frame(FrameKind::Ack, [0, 1], 0, [2841, 304], 14), vec![]),
    ];
    let preambles = [96, 192].map(Duration::from_micros);
    let facts = channel(Modulation::Rate(Rate::kbps(5500)), Rate::mbps(1));
    let path = written(&dir, ChannelCapture { short_preamble: true, preambles, ..facts }, &short);
    let rows = tshark(&path, &[&["radiotap.datarate"], &times[..]].concat());
    assert_eq!(lines(&rows), ["5.5 500 2331", "1 2841 304"]);
    // 802.11g: 1536 bytes at 54 Mb/s, (16 + 12288 + 6) / 216 = 57 symbols of 4 us after 20 us; the ACK at 24 Mb/s 2
    // symbols. Wireshark leaves out the signal extension of 6 us.
    let ofdm = [
        (frame(FrameKind::Data, [1, 0], 44, [500, 254], 1536), vec![data]),
        (frame(FrameKind::Ack, [0, 1], 0, [764, 34], 14), vec![]),
    ];
    let facts = channel(Modulation::Rate(Rate::mbps(54)), Rate::mbps(24));
    let path = written(&dir, ChannelCapture { preambles: [Duration::from_micros(20); 2], ..facts }, &ofdm);
    let rows = tshark(&path, &[&["radiotap.datarate", "wlan_radio.phy"], &times[..]].concat());
    assert_eq!(lines(&rows), ["54 6 500 248", "24 6 764 28"]);
}

#[test]
#[ignore = "needs tshark (Debian package tshark); run with --ignored"]
fn wireshark_reads_aggregates_of_802_11n_and_ac() {
    let dir = Scratch::new("aggregate");
    let [server, base, second] = [0, 1, 3].map(|node| MacAddr::of_node(node).to_string());
    let data = |fields: &str| format!("0x0028 {second} {base} {server} {second} {fields} 84");
    let mac = [data("1 4095"), data("0 0"), data("0 1"), format!("0x0019 {base} {second}   0  0")];
    let ht = Modulation::Ht(RadiotapMcs::new(15, 40, true));
    let vht = Modulation::Vht(RadiotapVht::new(9, 2, 80, true));
    for (modulation, phy, rate) in [(ht, 7, "300"), (vht, 8, "866.667")] {
        let path = written(&dir, aggregating(modulation), &aggregate());
        let rows = tshark(&path, &MAC_FIELDS);
        assert_eq!(lines(&rows), mac);
        let fields = [
            "wlan_radio.phy",
            "wlan_radio.data_rate",
            "radiotap.channel.freq",
            "wlan_radio.a_mpdu_aggregate_id",
            "radiotap.ampdu.reference",
            "radiotap.ampdu.flags.last",
            "wlan.qos.tid",
            "ip.src",
            "ipv6.src",
            "tcp.len",
        ];
        let common = format!("{phy} {rate} 5180 7 7");
        let wanted = [
            format!("{common} 0 0 10.0.0.1  1448"),
            format!("{common} 0 0 10.0.0.1  1448"),
            format!("{common} 1 0  fd00::1 1000"),
            "5 6 5180       ".into(),
        ];
        assert_eq!(lines(&tshark(&path, &fields)), wanted);
        let fields = ["wlan.ba.control.ba_type", "wlan.fixed.ssc.sequence", "wlan.ba.bm", "wlan_radio.start_tsf"];
        let rows = tshark(&path, &fields);
        assert_eq!(rows[3].join(" "), "0x0002 4095 0500000000000000 1172");
        assert_eq!(rows[0][3], "1000");
    }
}

#[test]
fn each_aggregate_has_a_reference_number_of_its_own() {
    let dir = Scratch::new("reference");
    let both = [aggregate(), aggregate()].concat();
    let frames = read(&written(&dir, aggregating(Modulation::Ht(RadiotapMcs::new(7, 20, false))), &both));
    let references: Vec<_> = frames.iter().map(|f| f.1.ampdu.map(|a| a.reference)).collect();
    assert_eq!(references, [Some(7), Some(7), Some(7), None, Some(8), Some(8), Some(8), None]);
    let Dot11Repr::BlockAck(block_ack) = frames[3].2 else { panic!("{:?}", frames[3].2) };
    assert_eq!((block_ack.start, block_ack.bitmap, block_ack.tid), (4095, 0b101, 0));
}

#[test]
#[ignore = "needs tshark (Debian package tshark); run with --ignored"]
fn wireshark_would_see_a_wrong_fcs() {
    let dir = Scratch::new("fcs");
    let path = written(&dir, channel(Modulation::Rate(Rate::mbps(11)), Rate::mbps(1)), &exchange()[2..3]);
    let mut bytes = std::fs::read(&path).unwrap();
    // In the payload, so that only the FCS and the TCP checksum show the error.
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let command = ["-o", "wlan.check_checksum:TRUE", "-T", "fields", "-e", "wlan.fcs.status"];
    let output = Command::new("tshark").arg("-r").arg(&path).args(command).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "0");
}

#[test]
fn durations_are_rounded_up_to_a_microsecond_and_end_at_15_bits() {
    let mut cts = frame(FrameKind::Cts, [0, 1], 0, [0, 304], 14);
    let dir = Scratch::new("duration");
    for (nanos, wanted) in [(0, 0), (1, 1), (1000, 1), (1001, 2), (40_000_000, 0x7fff)] {
        cts.duration = Duration::from_nanos(nanos);
        let facts = channel(Modulation::Rate(Rate::mbps(11)), Rate::mbps(1));
        let frames = read(&written(&dir, facts, &[(cts, vec![])]));
        assert_eq!(frames[0].2, Dot11Repr::Cts { duration: wanted, receiver: MacAddr::of_node(2) });
    }
}

#[test]
fn names_that_a_link_has_taken_are_numbered() {
    let dir = Scratch::new("names");
    let facts = ChannelCapture { name: "a-b".into(), ..channel(Modulation::Rate(Rate::mbps(1)), Rate::mbps(1)) };
    let links = [("a".to_owned(), "b".to_owned()), ("a".to_owned(), "b".to_owned())];
    Capture::create(&dir.0, &links, vec![facts.clone(), facts]).unwrap().finish().unwrap();
    let mut names: Vec<_> = std::fs::read_dir(&dir.0).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["a-b-1.pcapng", "a-b-2.pcapng", "a-b-3.pcapng", "a-b.pcapng"]);
}
