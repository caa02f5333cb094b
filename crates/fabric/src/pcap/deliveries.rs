//! What a capture says of a path: when how many bytes of IP packets were seen.
//!
//! Captures are pcap or pcapng files, read through the `pcap-file` library packet by packet. Packets may be cut off
//! behind their IP headers, as by `tcpdump -s 96`.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::{Block, PcapNgReader};
use pcap_file::{DataLink, PcapError};
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Why a capture cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct UnreadableCapture {
    /// The file.
    pub path: PathBuf,
    /// What is wrong, and what is allowed.
    pub reason: String,
}

/// Which IP packets of a capture count; `None` for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Source address.
    pub src: Option<IpAddr>,
    /// Destination address.
    pub dst: Option<IpAddr>,
}

/// Deliveries in the order of their times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deliveries {
    /// Times, in nanoseconds since the first packet.
    pub times_ns: Vec<u64>,
    /// Length of each IP packet, headers included, in bytes.
    pub bytes: Vec<u32>,
}

impl Deliveries {
    /// Reads the IP packets of a capture that are wanted.
    ///
    /// The link type must be raw IP, Ethernet (with VLAN tags or without), Linux's cooked capture or loopback. What is
    /// no IP packet does not count.
    ///
    /// # Errors
    /// [`UnreadableCapture`] if the file is no capture, ends in the middle of a packet or has another link type.
    pub fn of_capture(path: &Path, wanted: Wanted) -> Result<Self, UnreadableCapture> {
        let fail = |reason: String| UnreadableCapture { path: path.to_owned(), reason };
        let mut seen = Vec::new();
        let mut number = 0_u64;
        read(path, &mut number, &mut |Captured { link, at_ns, data, length }| {
            let found = header(link, data)?.and_then(|offset| Seen::of(data.get(offset..)?, length, offset));
            if let Some(found) = found
                && wanted.src.is_none_or(|src| src == found.src)
                && wanted.dst.is_none_or(|dst| dst == found.dst)
            {
                seen.push((at_ns, found.bytes));
            }
            Ok(())
        })
        .map_err(|reason| fail(if number == 0 { reason } else { format!("after packet {number}: {reason}") }))?;
        seen.sort_by_key(|&(at_ns, _)| at_ns);
        let first = seen.first().map_or(0, |&(at_ns, _)| at_ns);
        let (times_ns, bytes) = seen.into_iter().map(|(at_ns, bytes)| ((at_ns - first) as u64, bytes)).unzip();
        Ok(Self { times_ns, bytes })
    }
}

/// An IP packet, as its header describes it.
struct Seen {
    src: IpAddr,
    dst: IpAddr,
    bytes: u32,
}

impl Seen {
    /// Reads a header; `length` is that of the packet on the link, whose own header has `offset` bytes. `None` if it is
    /// no IP header.
    fn of(ip: &[u8], length: u32, offset: usize) -> Option<Self> {
        let on_link = length.saturating_sub(offset as u32);
        let word = |at: usize| Some(u32::from(u16::from_be_bytes([*ip.get(at)?, *ip.get(at + 1)?])));
        match ip.first()? >> 4 {
            4 => {
                let address = |at: usize| Some(Ipv4Addr::from(<[u8; 4]>::try_from(ip.get(at..at + 4)?).ok()?));
                // The length of a packet that the network card is to segment may be 0.
                let bytes = word(2).map(|total| if total == 0 { on_link } else { total })?;
                Some(Self { src: address(12)?.into(), dst: address(16)?.into(), bytes })
            }
            6 => {
                let address = |at: usize| Some(Ipv6Addr::from(<[u8; 16]>::try_from(ip.get(at..at + 16)?).ok()?));
                let bytes = word(4).map(|payload| if payload == 0 { on_link } else { payload + 40 })?;
                Some(Self { src: address(8)?.into(), dst: address(24)?.into(), bytes })
            }
            _ => None,
        }
    }
}

/// Length of the link's header in front of an IP packet; `None` if none follows.
fn header(link: DataLink, data: &[u8]) -> Result<Option<usize>, String> {
    const TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
    let word = |at: usize| Some(u16::from_be_bytes([*data.get(at)?, *data.get(at + 1)?]));
    let is_ip = |kind: u16| kind == 0x0800 || kind == 0x86dd;
    Ok(match link {
        DataLink::RAW | DataLink::IPV4 | DataLink::IPV6 => Some(0),
        DataLink::NULL => Some(4),
        DataLink::LINUX_SLL => word(14).filter(|&kind| is_ip(kind)).map(|_| 16),
        DataLink::LINUX_SLL2 => word(0).filter(|&kind| is_ip(kind)).map(|_| 20),
        DataLink::ETHERNET => {
            let mut at = 12;
            while word(at).is_some_and(|kind| TAGS.contains(&kind)) {
                at += 4;
            }
            word(at).filter(|&kind| is_ip(kind)).map(|_| at + 2)
        }
        other => {
            let allowed = "raw IP (101), Ethernet (1), Linux cooked (113 and 276) and loopback (0)";
            return Err(format!("link type {} cannot be read; allowed: {allowed}", u32::from(other)));
        }
    })
}

/// A packet of a capture.
struct Captured<'a> {
    link: DataLink,
    at_ns: u128,
    /// What was captured of it.
    data: &'a [u8],
    /// Its length on the link.
    length: u32,
}

/// Takes packets one after the other, or refuses one.
type Each<'a> = dyn FnMut(Captured<'_>) -> Result<(), String> + 'a;

/// Calls `each` for the packets of a file, and counts them in `number`.
fn read(path: &Path, number: &mut u64, each: &mut Each<'_>) -> Result<(), String> {
    let mut file = File::open(path).map_err(|error| error.to_string())?;
    let mut magic = [0; 4];
    file.read_exact(&mut magic).map_err(|_| NO_CAPTURE.to_owned())?;
    file.seek(SeekFrom::Start(0)).map_err(|error| error.to_string())?;
    let file = BufReader::with_capacity(1 << 20, file);
    match u32::from_be_bytes(magic) {
        0x0a0d_0d0a => read_pcapng(PcapNgReader::new(file).map_err(|error| told(&error))?, number, each),
        0xa1b2_c3d4 | 0xd4c3_b2a1 | 0xa1b2_3c4d | 0x4d3c_b2a1 => {
            let mut reader = PcapReader::new(file).map_err(|error| told(&error))?;
            let link = reader.header().datalink;
            while let Some(packet) = reader.next_packet() {
                let packet = packet.map_err(|error| told(&error))?;
                let (at_ns, length) = (packet.timestamp.as_nanos(), packet.orig_len);
                each(Captured { link, at_ns, data: &packet.data, length })?;
                *number += 1;
            }
            Ok(())
        }
        _ => Err(NO_CAPTURE.to_owned()),
    }
}

const NO_CAPTURE: &str = "is not a capture; allowed: a pcap or pcapng file";

fn read_pcapng(mut reader: PcapNgReader<BufReader<File>>, number: &mut u64, each: &mut Each<'_>) -> Result<(), String> {
    let mut interfaces: Vec<(DataLink, Clock)> = Vec::new();
    while let Some(block) = reader.next_block() {
        match block.map_err(|error| told(&error))? {
            Block::SectionHeader(_) => interfaces.clear(),
            Block::InterfaceDescription(interface) => interfaces.push((interface.linktype, Clock::of(&interface))),
            Block::EnhancedPacket(packet) => {
                let known = interfaces.get(packet.interface_id as usize);
                let Some(&(link, clock)) = known else {
                    return Err(format!("a packet is of interface {}, which is not described", packet.interface_id));
                };
                let (at_ns, length) = (clock.nanoseconds(packet.timestamp.as_nanos()), packet.original_len);
                each(Captured { link, at_ns, data: &packet.data, length })?;
                *number += 1;
            }
            _ => {}
        }
    }
    Ok(())
}

/// How the times of an interface are counted.
#[derive(Clone, Copy, Debug)]
struct Clock {
    per_second: u128,
    offset_ns: u128,
}

impl Clock {
    /// The clock of an interface: microseconds, unless `if_tsresol` says otherwise.
    fn of(interface: &InterfaceDescriptionBlock<'_>) -> Self {
        let mut clock = Self { per_second: 1_000_000, offset_ns: 0 };
        for option in &interface.options {
            match option {
                InterfaceDescriptionOption::IfTsResol(code) if code & 0x80 == 0 => {
                    clock.per_second = 10_u128.pow(u32::from(*code).min(30));
                }
                InterfaceDescriptionOption::IfTsResol(code) => {
                    clock.per_second = 1_u128 << u32::from(code & 0x7f).min(96);
                }
                InterfaceDescriptionOption::IfTsOffset(seconds) => {
                    clock.offset_ns = u128::from(*seconds) * 1_000_000_000;
                }
                _ => {}
            }
        }
        clock
    }

    /// The library takes all times for nanoseconds; `ticks` is what the file has.
    const fn nanoseconds(self, ticks: u128) -> u128 {
        ticks * 1_000_000_000 / self.per_second + self.offset_ns
    }
}

/// The library's error in words that help.
fn told(error: &PcapError) -> String {
    match error {
        PcapError::IoError(system) if system.kind() == ErrorKind::UnexpectedEof => told(&PcapError::IncompleteBuffer),
        PcapError::IoError(system) => system.to_string(),
        PcapError::IncompleteBuffer => "ends in the middle of a packet".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
#[path = "deliveries/tests.rs"]
mod tests;
