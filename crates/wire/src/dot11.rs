//! 802.11 frames (IEEE 802.11-2016, clause 9) as values, and their bytes with the FCS: RTS, CTS, ACK, compressed block
//! ACK, and data frames that carry an IP packet.

use crate::crc32::crc32;
use crate::field::{array_at, range, u8_at};
use crate::llc::{self, EtherType};
use crate::{Ip, MacAddr, Packet, ParseError, Protocol};

const FCS_LEN: usize = 4;
const RTS_LEN: usize = 20;
const CTS_LEN: usize = 14;
const BLOCK_ACK_LEN: usize = 32;
/// Data frame without its body: three addresses and sequence control.
const DATA_HEADER_LEN: usize = 24;
const QOS_CONTROL_LEN: usize = 2;

/// First octet of the frame control field: protocol version 0, type and subtype (section 9.2.4.1.3, table 9-1).
const RTS: u8 = 0xb4;
const CTS: u8 = 0xc4;
const ACK: u8 = 0xd4;
const BLOCK_ACK: u8 = 0x94;
const DATA: u8 = 0x08;
const QOS_DATA: u8 = 0x88;

/// Second octet of the frame control field (section 9.2.4.1.1).
const TO_DS: u8 = 0x01;
const FROM_DS: u8 = 0x02;
const MORE_FRAGMENTS: u8 = 0x04;
const RETRY: u8 = 0x08;
const PROTECTED: u8 = 0x40;
const ORDER: u8 = 0x80;

/// Lower half of BA Control: BA Ack Policy 0, BA Type 2 (compressed; section 9.3.1.9.1, table 9-24).
const COMPRESSED: u16 = 2 << 1;
/// BA Type in BA Control.
const BLOCK_ACK_TYPE: u16 = 0b1111 << 1;
/// A-MSDU Present in QoS Control.
const AMSDU_PRESENT: u8 = 0x80;

/// A frame (MPDU). Durations are in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dot11Repr {
    /// Request to send (section 9.3.1.2).
    Rts {
        /// Duration field: how long the medium is reserved after the frame's end.
        duration: u16,
        /// Receiver address.
        receiver: MacAddr,
        /// Transmitter address.
        transmitter: MacAddr,
    },
    /// Clear to send (section 9.3.1.3).
    Cts {
        /// Duration field.
        duration: u16,
        /// Receiver address: the RTS's transmitter.
        receiver: MacAddr,
    },
    /// Acknowledgment (section 9.3.1.4).
    Ack {
        /// Duration field.
        duration: u16,
        /// Receiver address: the acknowledged frame's transmitter.
        receiver: MacAddr,
    },
    /// Compressed block ACK (section 9.3.1.9.3).
    BlockAck(BlockAckRepr),
    /// Data (section 9.3.2.1).
    Data(DataRepr),
}

/// A compressed block ACK: which of 64 MPDUs arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockAckRepr {
    /// Duration field, microseconds.
    pub duration: u16,
    /// Receiver address: the data's transmitter.
    pub receiver: MacAddr,
    /// Transmitter address.
    pub transmitter: MacAddr,
    /// Traffic identifier, 0 to 15.
    pub tid: u8,
    /// Sequence number, 0 to 4095, that bit 0 of the bitmap stands for.
    pub start: u16,
    /// Bit `i` is set if MPDU `start + i` arrived.
    pub bitmap: u64,
}

/// Direction of a data frame between a station and the distribution system behind its base station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From a station to the base station: To DS is set.
    ToDs,
    /// From the base station to a station: From DS is set.
    FromDs,
}

/// A data frame with one whole IP packet, after LLC and SNAP headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataRepr {
    /// Duration field, microseconds.
    pub duration: u16,
    /// Direction of the frame.
    pub direction: Direction,
    /// Whether the frame was sent before.
    pub retry: bool,
    /// Address 1: the station or base station that receives the frame.
    pub receiver: MacAddr,
    /// Address 2: the station or base station that transmits the frame.
    pub transmitter: MacAddr,
    /// Address 3: the far end beyond the base station, the destination (To DS) or the source (From DS).
    pub beyond: MacAddr,
    /// Sequence number, 0 to 4095.
    pub seq: u16,
    /// Traffic identifier, 0 to 15, of a QoS data frame (ACK policy: normal ACK, or implicit block ACK in an A-MPDU);
    /// `None` is a data frame without QoS control.
    pub tid: Option<u8>,
    /// The IP packet that it carries.
    pub packet: Packet,
}

impl Dot11Repr {
    /// Reads a frame whose last four bytes are its FCS.
    ///
    /// Ignores power management, more data, the ACK policy and bytes past the IP packet's own length.
    ///
    /// # Errors
    /// [`ParseError`] for the first error found, FCS and the packet's checksums included. Refuses frames of other
    /// types, frames to or from both sides of the distribution system or neither, encrypted frames, fragments and
    /// A-MSDUs.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let frame = Self::read(bytes, Packet::parse)?;
        let (covered, fcs) = bytes.split_at(bytes.len().saturating_sub(FCS_LEN));
        let (found, expected) = (u32::from_le_bytes(array_at(fcs, 0)), crc32(covered));
        if found != expected {
            return Err(ParseError::BadFcs { found, expected });
        }
        Ok(frame)
    }

    /// Reads a frame without checking the FCS or the packet's checksums.
    ///
    /// # Errors
    /// [`ParseError`] for the first error found, FCS and checksums excluded.
    pub fn parse_unchecked(bytes: &[u8]) -> Result<Self, ParseError> {
        Self::read(bytes, Packet::parse_unchecked)
    }

    fn read(bytes: &[u8], packet: fn(&[u8]) -> Result<Packet, ParseError>) -> Result<Self, ParseError> {
        // CTS and ACK are the shortest frames.
        if bytes.len() < CTS_LEN {
            return Err(ParseError::Truncated { protocol: Protocol::Dot11, needed: CTS_LEN, have: bytes.len() });
        }
        let duration = u16_le(bytes, 2);
        let receiver = address(bytes, 4);
        match u8_at(bytes, 0) {
            RTS => {
                exactly(bytes, RTS_LEN)?;
                Ok(Self::Rts { duration, receiver, transmitter: address(bytes, 10) })
            }
            CTS => {
                exactly(bytes, CTS_LEN)?;
                Ok(Self::Cts { duration, receiver })
            }
            ACK => {
                exactly(bytes, CTS_LEN)?;
                Ok(Self::Ack { duration, receiver })
            }
            BLOCK_ACK => BlockAckRepr::read(bytes).map(Self::BlockAck),
            DATA | QOS_DATA => DataRepr::read(bytes, packet).map(Self::Data),
            other => Err(unsupported(
                "frame control",
                u32::from(other),
                "version 0: RTS, CTS, ACK, block ACK, data, QoS data",
            )),
        }
    }

    /// Whether the frame's bytes are read back as the same frame: sequence numbers and traffic identifiers within their
    /// bits, and a packet that [fits](Packet::fits).
    #[must_use]
    pub fn fits(&self) -> bool {
        match self {
            Self::Rts { .. } | Self::Cts { .. } | Self::Ack { .. } => true,
            Self::BlockAck(b) => b.tid < 16 && b.start < 4096,
            Self::Data(d) => d.tid.is_none_or(|tid| tid < 16) && d.seq < 4096 && d.packet.fits(),
        }
    }

    /// Returns the frame as bytes, with the correct FCS. Values that do not [fit](Self::fits) are masked to their
    /// fields.
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.emit_into(&mut out);
        out
    }

    /// Appends the bytes of [`emit`](Self::emit).
    pub fn emit_into(&self, out: &mut Vec<u8>) {
        let start = out.len();
        match self {
            Self::Rts { duration, receiver, transmitter } => {
                header(out, RTS, 0, *duration, *receiver);
                out.extend_from_slice(&transmitter.octets());
            }
            Self::Cts { duration, receiver } => header(out, CTS, 0, *duration, *receiver),
            Self::Ack { duration, receiver } => header(out, ACK, 0, *duration, *receiver),
            Self::BlockAck(block_ack) => block_ack.emit_into(out),
            Self::Data(data) => data.emit_into(out),
        }
        let fcs = crc32(out.get(start..).unwrap_or_default());
        out.extend_from_slice(&fcs.to_le_bytes());
    }
}

impl BlockAckRepr {
    fn read(bytes: &[u8]) -> Result<Self, ParseError> {
        let control = bytes.get(16..).map_or(COMPRESSED, |_| u16_le(bytes, 16));
        if control & BLOCK_ACK_TYPE != COMPRESSED {
            let kind = u32::from((control & BLOCK_ACK_TYPE) >> 1);
            return Err(unsupported("block ACK type", kind, "2 (compressed)"));
        }
        exactly(bytes, BLOCK_ACK_LEN)?;
        Ok(Self {
            duration: u16_le(bytes, 2),
            receiver: address(bytes, 4),
            transmitter: address(bytes, 10),
            tid: (control >> 12) as u8,
            start: sequence_number(bytes, 18)?,
            bitmap: u64::from_le_bytes(array_at(bytes, 20)),
        })
    }

    fn emit_into(&self, out: &mut Vec<u8>) {
        header(out, BLOCK_ACK, 0, self.duration, self.receiver);
        out.extend_from_slice(&self.transmitter.octets());
        out.extend_from_slice(&(COMPRESSED | u16::from(self.tid) << 12).to_le_bytes());
        out.extend_from_slice(&(self.start << 4).to_le_bytes());
        out.extend_from_slice(&self.bitmap.to_le_bytes());
    }
}

impl DataRepr {
    /// The base station's address (BSSID).
    #[must_use]
    pub const fn bssid(&self) -> MacAddr {
        match self.direction {
            Direction::ToDs => self.receiver,
            Direction::FromDs => self.transmitter,
        }
    }

    /// The station or wired node that the packet comes from (SA; section 9.3.2.1, table 9-26).
    #[must_use]
    pub const fn source(&self) -> MacAddr {
        match self.direction {
            Direction::ToDs => self.transmitter,
            Direction::FromDs => self.beyond,
        }
    }

    /// The station or wired node that the packet is for (DA).
    #[must_use]
    pub const fn destination(&self) -> MacAddr {
        match self.direction {
            Direction::ToDs => self.beyond,
            Direction::FromDs => self.receiver,
        }
    }

    fn read(bytes: &[u8], packet: fn(&[u8]) -> Result<Packet, ParseError>) -> Result<Self, ParseError> {
        let qos = u8_at(bytes, 0) == QOS_DATA;
        let header = DATA_HEADER_LEN + if qos { QOS_CONTROL_LEN } else { 0 };
        let needed = header + FCS_LEN;
        if bytes.len() < needed {
            return Err(ParseError::Truncated { protocol: Protocol::Dot11, needed, have: bytes.len() });
        }
        let flags = u8_at(bytes, 1);
        let direction = match flags & (TO_DS | FROM_DS) {
            TO_DS => Direction::ToDs,
            FROM_DS => Direction::FromDs,
            other => return Err(unsupported("To DS and From DS", u32::from(other), "1 (To DS) and 2 (From DS)")),
        };
        let refused = flags & (MORE_FRAGMENTS | PROTECTED | ORDER);
        if refused != 0 {
            let field = "flags of fragments (0x04), protection (0x40) and order (0x80)";
            return Err(unsupported(field, u32::from(refused), "none"));
        }
        let control = u8_at(bytes, DATA_HEADER_LEN);
        if qos && control & AMSDU_PRESENT != 0 {
            return Err(unsupported("A-MSDU Present", 1, "0"));
        }
        let body = range(bytes, header, bytes.len() - FCS_LEN);
        let ether_type = EtherType::parse(body)?;
        let packet = packet(range(body, llc::LEN, body.len()))?;
        if ether_type != EtherType::of(&packet.ip) {
            let version = if matches!(packet.ip, Ip::V4(_)) { 4 } else { 6 };
            return Err(ParseError::BadVersion { version });
        }
        Ok(Self {
            duration: u16_le(bytes, 2),
            direction,
            retry: flags & RETRY != 0,
            receiver: address(bytes, 4),
            transmitter: address(bytes, 10),
            beyond: address(bytes, 16),
            seq: sequence_number(bytes, 22)?,
            tid: qos.then_some(control & 0x0f),
            packet,
        })
    }

    fn emit_into(&self, out: &mut Vec<u8>) {
        let direction = match self.direction {
            Direction::ToDs => TO_DS,
            Direction::FromDs => FROM_DS,
        };
        let flags = direction | if self.retry { RETRY } else { 0 };
        header(out, if self.tid.is_some() { QOS_DATA } else { DATA }, flags, self.duration, self.receiver);
        out.extend_from_slice(&self.transmitter.octets());
        out.extend_from_slice(&self.beyond.octets());
        out.extend_from_slice(&(self.seq << 4).to_le_bytes());
        if let Some(tid) = self.tid {
            out.extend_from_slice(&[tid & 0x0f, 0]);
        }
        EtherType::of(&self.packet.ip).emit_into(out);
        self.packet.emit_into(out);
    }
}

/// Appends the fields at the start of every frame.
fn header(out: &mut Vec<u8>, kind: u8, flags: u8, duration: u16, receiver: MacAddr) {
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&duration.to_le_bytes());
    out.extend_from_slice(&receiver.octets());
}

/// 802.11 sends the lowest octet of a number first, unlike IP.
fn u16_le(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(array_at(bytes, at))
}

fn address(bytes: &[u8], at: usize) -> MacAddr {
    MacAddr::new(array_at(bytes, at))
}

/// The sequence number in a sequence control field, whose lower four bits are the fragment's number.
fn sequence_number(bytes: &[u8], at: usize) -> Result<u16, ParseError> {
    let control = u16_le(bytes, at);
    match control & 0x0f {
        0 => Ok(control >> 4),
        fragment => Err(unsupported("fragment number", u32::from(fragment), "0")),
    }
}

/// Checks the length of a control frame; each type has one length.
fn exactly(bytes: &[u8], len: usize) -> Result<(), ParseError> {
    if bytes.len() == len {
        return Ok(());
    }
    Err(ParseError::BadLength { protocol: Protocol::Dot11, len: bytes.len(), min: len, max: len })
}

fn unsupported(field: &'static str, value: u32, allowed: &'static str) -> ParseError {
    ParseError::Unsupported { protocol: Protocol::Dot11, field, value, allowed }
}
