//! TCP headers as values (RFC 9293; options of RFC 2018 and RFC 7323).

use narrows_units::SeqNum;

/// The 12 flag bits of the TCP header: the four reserved ones and CWR to FIN (RFC 9293, section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct TcpFlags(u16);

impl TcpFlags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x001);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x002);
    /// Reset the connection.
    pub const RST: Self = Self(0x004);
    /// Push.
    pub const PSH: Self = Self(0x008);
    /// The acknowledgment field is significant.
    pub const ACK: Self = Self(0x010);
    /// Urgent.
    pub const URG: Self = Self(0x020);
    /// ECN echo (RFC 3168).
    pub const ECE: Self = Self(0x040);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Self = Self(0x080);
    /// The bit of RFC 3540's nonce sum, today AccECN's AE (RFC 9768).
    pub const AE: Self = Self(0x100);
    /// The lowest reserved bit that neither RFC 3540 nor RFC 9768 uses: 0x200 of the offset and flags word.
    pub const RESERVED_0X200: Self = Self(0x200);
    /// No flag.
    pub const NONE: Self = Self(0);

    /// The flags in the lower 12 bits of `bits`.
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits & 0x0fff)
    }

    /// The lower 12 bits of the offset and flags word.
    #[must_use]
    pub const fn as_bits(self) -> u16 {
        self.0
    }

    /// Whether all flags of `other` are set.
    #[inline]
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These flags and those of `other`.
    #[inline]
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These flags without those of `other`.
    #[inline]
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// The timestamps option (RFC 7323, section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// TSval: the sender's clock. Narrows ticks it once a microsecond (RFC 7323 allows 1 ms to 1 s; Linux 6.7
    /// and later can use 1 us) unless the stack says otherwise.
    pub val: u32,
    /// TSecr: the clock value echoed; valid only with ACK.
    pub ecr: u32,
}

/// Up to four SACK blocks (RFC 2018), each `(left edge, right edge)`: the first byte held and the one after the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SackBlocks {
    len: u8,
    blocks: [(SeqNum, SeqNum); 4],
}

impl SackBlocks {
    /// No block.
    pub const EMPTY: Self = Self { len: 0, blocks: [(SeqNum::new(0), SeqNum::new(0)); 4] };

    /// Adds a block at the end; returns whether there was room.
    pub fn push(&mut self, left: SeqNum, right: SeqNum) -> bool {
        let Some(slot) = self.blocks.get_mut(usize::from(self.len)) else { return false };
        *slot = (left, right);
        self.len += 1;
        true
    }

    /// The blocks in the order of the option.
    #[inline]
    #[must_use]
    pub fn as_slice(&self) -> &[(SeqNum, SeqNum)] {
        &self.blocks[..usize::from(self.len)]
    }

    /// Whether there is no block.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The TCP options that Narrows sends and reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TcpOptions {
    /// Maximum segment size in bytes (RFC 9293), on SYN only.
    pub mss: Option<u16>,
    /// Window scale shift (RFC 7323), on SYN only.
    pub window_scale: Option<u8>,
    /// SACK permitted (RFC 2018), on SYN only.
    pub sack_permitted: bool,
    /// Timestamps (RFC 7323).
    pub timestamps: Option<Timestamps>,
    /// SACK blocks (RFC 2018); at most three beside timestamps.
    pub sack: SackBlocks,
}

impl TcpOptions {
    /// Length of the emitted options in bytes, padded to a multiple of four with NOPs as Linux lays them out:
    /// 12 for timestamps, 4 + 8n for n SACK blocks, 4 for MSS, 4 for window scale, and SACK permitted in the two NOPs
    /// before timestamps where there are any, else 4.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        let mut n = 0;
        if self.mss.is_some() {
            n += 4;
        }
        if self.timestamps.is_some() {
            n += 12;
        } else if self.sack_permitted {
            n += 4;
        }
        if self.window_scale.is_some() {
            n += 4;
        }
        if !self.sack.is_empty() {
            n += 4 + 8 * self.sack.as_slice().len();
        }
        n
    }

    /// Whether there is no option at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A TCP header as values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TcpRepr {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number of the first payload byte, or of the SYN.
    pub seq: SeqNum,
    /// Next sequence number expected; meaningful only with [`TcpFlags::ACK`].
    pub ack: SeqNum,
    /// Flags.
    pub flags: TcpFlags,
    /// The window field as it stands in the header, unscaled.
    pub window: u16,
    /// Options.
    pub options: TcpOptions,
}

impl TcpRepr {
    /// Length of the emitted header in bytes, 20 to 60.
    #[inline]
    #[must_use]
    pub fn header_len(&self) -> usize {
        20 + self.options.len()
    }
}
