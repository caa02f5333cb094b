//! Radiotap (radiotap.org): a monitor's description of a frame, in front of the frame in a capture.
//!
//! A header is a version, its length, a bitmap of the fields present, and those fields in the order of their bits, each
//! aligned from the header's start. Numbers are little-endian.

use crate::field::{array_at, u8_at};
use crate::{ParseError, Protocol};

/// Length of version, padding, length and the first word of the bitmap.
const FIXED_LEN: usize = 8;
/// Bit of the bitmap that announces another word of it.
const MORE_WORDS: u32 = 1 << 31;

/// Alignment and size of each field of the default namespace, by its bit.
const FIELDS: [(usize, usize); 28] = [
    (8, 8),  // TSFT
    (1, 1),  // flags
    (1, 1),  // rate
    (2, 4),  // channel
    (2, 2),  // FHSS
    (1, 1),  // antenna signal, dBm
    (1, 1),  // antenna noise, dBm
    (2, 2),  // lock quality
    (2, 2),  // TX attenuation
    (2, 2),  // TX attenuation, dB
    (1, 1),  // TX power, dBm
    (1, 1),  // antenna
    (1, 1),  // antenna signal, dB
    (1, 1),  // antenna noise, dB
    (2, 2),  // RX flags
    (2, 2),  // TX flags
    (1, 1),  // RTS retries
    (1, 1),  // data retries
    (4, 8),  // XChannel
    (1, 3),  // MCS
    (4, 8),  // A-MPDU status
    (2, 12), // VHT
    (8, 12), // timestamp
    (2, 12), // HE
    (2, 12), // HE-MU
    (2, 6),  // HE-MU other user
    (1, 1),  // 0-length PSDU
    (2, 4),  // L-SIG
];

const TSFT: usize = 0;
const FLAGS: usize = 1;
const RATE: usize = 2;
const CHANNEL: usize = 3;
const SIGNAL: usize = 5;
const MCS: usize = 19;
const AMPDU: usize = 20;
const VHT: usize = 21;

/// A radiotap header: the fields that Narrows knows, if present.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RadiotapRepr {
    /// Time of the frame's first bit by the timing synchronization function, microseconds.
    pub tsft: Option<u64>,
    /// Properties of the frame and of its capture.
    pub flags: Option<RadiotapFlags>,
    /// Rate in units of 500 kb/s.
    pub rate: Option<u8>,
    /// Channel.
    pub channel: Option<RadiotapChannel>,
    /// Power at the antenna, dBm.
    pub signal_dbm: Option<i8>,
    /// Modulation of an 802.11n (HT) frame.
    pub mcs: Option<RadiotapMcs>,
    /// The A-MPDU that the frame was part of.
    pub ampdu: Option<RadiotapAmpdu>,
    /// Modulation of an 802.11ac (VHT) frame.
    pub vht: Option<RadiotapVht>,
}

/// The flags field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct RadiotapFlags(pub u8);

impl RadiotapFlags {
    /// The frame had a short preamble.
    pub const SHORT_PREAMBLE: Self = Self(0x02);
    /// The frame's bytes include its FCS.
    pub const FCS_AT_END: Self = Self(0x10);
    /// Both sets of flags.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` are set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The channel field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RadiotapChannel {
    /// Frequency in MHz.
    pub frequency: u16,
    /// Kind of channel, and the modulation of the frame on it.
    pub flags: u16,
}

impl RadiotapChannel {
    /// Complementary code keying; also DSSS.
    pub const CCK: u16 = 0x0020;
    /// OFDM.
    pub const OFDM: u16 = 0x0040;
    /// 2.4 GHz.
    pub const GHZ2: u16 = 0x0080;
    /// 5 GHz.
    pub const GHZ5: u16 = 0x0100;
    /// CCK or OFDM, which may change from frame to frame.
    pub const DYNAMIC: u16 = 0x0400;
}

/// The MCS field: the modulation of an HT frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RadiotapMcs {
    /// Which of the other values are known.
    pub known: u8,
    /// Channel width (0x03), short guard interval (0x04), greenfield (0x08), LDPC (0x10), STBC (0x60).
    pub flags: u8,
    /// Index of modulation and coding, 0 to 76; eight for each number of streams.
    pub index: u8,
}

impl RadiotapMcs {
    /// Mixed format, convolutional code, no space-time block code, no extension streams. `index` includes the number of
    /// streams: 8 to 15 have two.
    #[must_use]
    pub const fn new(index: u8, width_mhz: u32, short_guard: bool) -> Self {
        // Known: width, index, guard interval, format, code, space-time block code, and that there are no extension
        // streams.
        let width = if width_mhz >= 40 { 1 } else { 0 };
        Self { known: 0x7f, flags: width | if short_guard { 0x04 } else { 0 }, index }
    }
}

/// The A-MPDU status field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RadiotapAmpdu {
    /// Number shared by all frames of an A-MPDU and by no others.
    pub reference: u32,
    /// What is known of the subframe.
    pub flags: u16,
    /// CRC of its delimiter, if the flags say that it is known.
    pub delimiter_crc: u8,
}

impl RadiotapAmpdu {
    /// The last subframe is known.
    pub const LAST_KNOWN: u16 = 0x0004;
    /// This is the last subframe.
    pub const LAST: u16 = 0x0008;

    /// A subframe of the A-MPDU with this reference number.
    #[must_use]
    pub const fn new(reference: u32, last: bool) -> Self {
        Self { reference, flags: Self::LAST_KNOWN | if last { Self::LAST } else { 0 }, delimiter_crc: 0 }
    }
}

/// The VHT field: the modulation of a VHT frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RadiotapVht {
    /// Which of the other values are known.
    pub known: u16,
    /// STBC (0x01), TXOP_PS not allowed (0x02), short guard interval (0x04), and further ones.
    pub flags: u8,
    /// Code of the channel width: 0, 1, 4, 11 for 20, 40, 80, 160 MHz, others for parts of these.
    pub bandwidth: u8,
    /// For each user: index of modulation and coding (upper four bits), number of streams (lower four).
    pub mcs_nss: [u8; 4],
    /// For each user one bit: LDPC instead of the convolutional code.
    pub coding: u8,
    /// Group ID.
    pub group_id: u8,
    /// Partial AID.
    pub partial_aid: u16,
}

impl RadiotapVht {
    /// One user, convolutional code, no space-time block code.
    #[must_use]
    pub const fn new(mcs: u8, streams: u8, width_mhz: u32, short_guard: bool) -> Self {
        let bandwidth = match width_mhz {
            0..40 => 0,
            40..80 => 1,
            80..160 => 4,
            _ => 11,
        };
        Self {
            // Known: space-time block code (0x01), guard interval (0x04), width (0x40).
            known: 0x0045,
            flags: if short_guard { 0x04 } else { 0 },
            bandwidth,
            mcs_nss: [mcs << 4 | streams & 0x0f, 0, 0, 0],
            coding: 0,
            group_id: 0,
            partial_aid: 0,
        }
    }
}

impl RadiotapRepr {
    /// Reads the header at the start of a captured frame and returns its length; the frame starts there.
    ///
    /// Skips fields that Narrows does not know, fields after the first of unknown size, fields of vendors, and fields
    /// of a second word of the bitmap.
    ///
    /// # Errors
    /// [`ParseError`] if the version is not 0, or the header's length is too short for the fields that its bitmap
    /// announces.
    pub fn parse(bytes: &[u8]) -> Result<(Self, usize), ParseError> {
        let protocol = Protocol::Radiotap;
        if bytes.len() < FIXED_LEN {
            return Err(ParseError::Truncated { protocol, needed: FIXED_LEN, have: bytes.len() });
        }
        let version = u8_at(bytes, 0);
        if version != 0 {
            return Err(ParseError::Unsupported {
                protocol,
                field: "version",
                value: u32::from(version),
                allowed: "0",
            });
        }
        let len = usize::from(u16::from_le_bytes(array_at(bytes, 2)));
        let bad = |min: usize| ParseError::BadHeaderLen { protocol, len, min, max: bytes.len() };
        let header = bytes.get(..len).filter(|h| h.len() >= FIXED_LEN).ok_or_else(|| bad(FIXED_LEN))?;
        let present = u32::from_le_bytes(array_at(header, 4));
        let (mut at, mut word) = (FIXED_LEN, present);
        while word & MORE_WORDS != 0 {
            let next = header.get(at..at + 4).ok_or_else(|| bad(at + 4))?;
            word = u32::from_le_bytes(array_at(next, 0));
            at += 4;
        }
        let mut repr = Self::default();
        for (bit, (align, size)) in FIELDS.into_iter().enumerate() {
            if present & 1 << bit != 0 {
                at = at.next_multiple_of(align);
                let field = header.get(at..at + size).ok_or_else(|| bad(at + size))?;
                repr.read(bit, field);
                at += size;
            }
        }
        Ok((repr, len))
    }

    fn read(&mut self, bit: usize, field: &[u8]) {
        let u16_at = |at| u16::from_le_bytes(array_at(field, at));
        match bit {
            TSFT => self.tsft = Some(u64::from_le_bytes(array_at(field, 0))),
            FLAGS => self.flags = Some(RadiotapFlags(u8_at(field, 0))),
            RATE => self.rate = Some(u8_at(field, 0)),
            CHANNEL => self.channel = Some(RadiotapChannel { frequency: u16_at(0), flags: u16_at(2) }),
            SIGNAL => self.signal_dbm = Some(i8::from_le_bytes(array_at(field, 0))),
            MCS => {
                let [known, flags, index] = array_at(field, 0);
                self.mcs = Some(RadiotapMcs { known, flags, index });
            }
            AMPDU => {
                let reference = u32::from_le_bytes(array_at(field, 0));
                self.ampdu = Some(RadiotapAmpdu { reference, flags: u16_at(4), delimiter_crc: u8_at(field, 6) });
            }
            VHT => {
                self.vht = Some(RadiotapVht {
                    known: u16_at(0),
                    flags: u8_at(field, 2),
                    bandwidth: u8_at(field, 3),
                    mcs_nss: array_at(field, 4),
                    coding: u8_at(field, 8),
                    group_id: u8_at(field, 9),
                    partial_aid: u16_at(10),
                });
            }
            _ => {}
        }
    }

    /// Returns the header as bytes; nothing may precede them.
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.emit_into(&mut out);
        out
    }

    /// Appends the bytes of [`emit`](Self::emit).
    pub fn emit_into(&self, out: &mut Vec<u8>) {
        let mut writer = Writer { start: out.len(), present: 0, out };
        writer.out.extend_from_slice(&[0; FIXED_LEN]);
        if let Some(tsft) = self.tsft {
            writer.field(TSFT, &tsft.to_le_bytes());
        }
        if let Some(flags) = self.flags {
            writer.field(FLAGS, &[flags.0]);
        }
        if let Some(rate) = self.rate {
            writer.field(RATE, &[rate]);
        }
        if let Some(channel) = self.channel {
            let ([a, b], [c, d]) = (channel.frequency.to_le_bytes(), channel.flags.to_le_bytes());
            writer.field(CHANNEL, &[a, b, c, d]);
        }
        if let Some(signal) = self.signal_dbm {
            writer.field(SIGNAL, &signal.to_le_bytes());
        }
        if let Some(mcs) = self.mcs {
            writer.field(MCS, &[mcs.known, mcs.flags, mcs.index]);
        }
        if let Some(ampdu) = self.ampdu {
            let ([a, b, c, d], [e, f]) = (ampdu.reference.to_le_bytes(), ampdu.flags.to_le_bytes());
            writer.field(AMPDU, &[a, b, c, d, e, f, ampdu.delimiter_crc, 0]);
        }
        if let Some(vht) = self.vht {
            let ([a, b], [k, l]) = (vht.known.to_le_bytes(), vht.partial_aid.to_le_bytes());
            let [e, f, g, h] = vht.mcs_nss;
            writer.field(VHT, &[a, b, vht.flags, vht.bandwidth, e, f, g, h, vht.coding, vht.group_id, k, l]);
        }
        writer.finish();
    }
}

/// A header under construction.
struct Writer<'a> {
    start: usize,
    present: u32,
    out: &'a mut Vec<u8>,
}

impl Writer<'_> {
    /// Appends a field, aligned from the header's start.
    fn field(&mut self, bit: usize, bytes: &[u8]) {
        let align = FIELDS.get(bit).map_or(1, |field| field.0);
        let at = (self.out.len() - self.start).next_multiple_of(align);
        self.out.resize(self.start + at, 0);
        self.out.extend_from_slice(bytes);
        self.present |= 1 << bit;
    }

    /// Writes length and bitmap.
    fn finish(self) {
        // All fields together are 44 bytes, and less than 64 with their alignment.
        let len = (self.out.len() - self.start) as u16;
        let header = self.out.get_mut(self.start..).unwrap_or_default();
        crate::field::put(header, 2, len.to_le_bytes());
        crate::field::put(header, 4, self.present.to_le_bytes());
    }
}
