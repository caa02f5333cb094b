//! TCP headers as values (RFC 9293).

use crate::checksum::Sum;
use crate::field::put;
use crate::{ParseError, TcpOptions, TcpView};
use core::net::IpAddr;
use narrows_units::SeqNum;

/// Length of the header without options, in bytes.
pub(crate) const FIXED_LEN: usize = 20;

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
    /// The bit of RFC 3540's nonce sum, now AccECN's AE (RFC 9768).
    pub const AE: Self = Self(0x100);
    /// The lowest reserved bit that neither RFC 3540 nor RFC 9768 uses: 0x200 of the offset and flags word.
    pub const RESERVED_0X200: Self = Self(0x200);
    /// The three bits that AccECN reads as the ACE field (RFC 9768, section 3.2.2): AE, CWR and ECE.
    pub const ACE: Self = Self::AE.with(Self::CWR).with(Self::ECE);
    /// No flag.
    pub const NONE: Self = Self(0);

    /// The flags in the lower 12 bits of `bits`.
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits & 0x0fff)
    }

    /// The lower 12 bits of the offset and flags word.
    #[inline]
    #[must_use]
    pub const fn as_bits(self) -> u16 {
        self.0
    }

    /// The ACE field as a number from 0 to 7; AE is its highest bit.
    #[inline]
    #[must_use]
    pub const fn ace(self) -> u8 {
        ((self.0 & Self::ACE.0) >> Self::ECE.0.trailing_zeros()) as u8
    }

    /// These flags with the lower three bits of `value` as the ACE field.
    #[inline]
    #[must_use]
    pub const fn with_ace(self, value: u8) -> Self {
        Self(self.0 & !Self::ACE.0 | (value as u16 & 0b111) << Self::ECE.0.trailing_zeros())
    }

    /// Whether a flag of `other` is set.
    #[inline]
    #[must_use]
    pub const fn any(self, other: Self) -> bool {
        self.0 & other.0 != 0
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
    /// The window field in the header, unscaled.
    pub window: u16,
    /// Options.
    pub options: TcpOptions,
}

impl TcpRepr {
    /// Length of the emitted header in bytes without options.
    pub const LEN: usize = FIXED_LEN;

    /// Length of the emitted header in bytes if timestamps are its only option.
    pub const LEN_WITH_TIMESTAMPS: usize = FIXED_LEN + 12;

    /// Length of the emitted header in bytes, 20 to 60.
    #[inline]
    #[must_use]
    pub fn header_len(&self) -> usize {
        FIXED_LEN + self.options.len()
    }

    /// Reads the header's values, without the urgent pointer and the options that Narrows does not know.
    ///
    /// # Errors
    /// [`ParseError`] if an option is malformed.
    pub fn from_view<B: AsRef<[u8]>>(view: &TcpView<B>) -> Result<Self, ParseError> {
        Ok(Self {
            src_port: view.src_port(),
            dst_port: view.dst_port(),
            seq: view.seq(),
            ack: view.ack(),
            flags: view.flags(),
            window: view.window(),
            options: TcpOptions::parse(view.options())?,
        })
    }

    /// Appends the header, with a correct checksum, of a segment between these addresses with `payload_len` bytes of
    /// zeros.
    pub fn emit_into(&self, src: IpAddr, dst: IpAddr, payload_len: usize, out: &mut Vec<u8>) {
        let start = out.len();
        let header_len = self.header_len();
        // The header is 20 to 60 bytes in steps of four, so its length in words fits the four bits.
        let offset_and_flags = (header_len as u16 / 4) << 12 | self.flags.as_bits();
        let mut fixed = [0; FIXED_LEN];
        put(&mut fixed, 0, self.src_port.to_be_bytes());
        put(&mut fixed, 2, self.dst_port.to_be_bytes());
        put(&mut fixed, 4, self.seq.as_u32().to_be_bytes());
        put(&mut fixed, 8, self.ack.as_u32().to_be_bytes());
        put(&mut fixed, 12, offset_and_flags.to_be_bytes());
        put(&mut fixed, 14, self.window.to_be_bytes());
        out.extend_from_slice(&fixed);
        self.options.emit_into(out);
        let header = out.get_mut(start..).unwrap_or_default();
        let sum = Sum::default().pseudo_header(src, dst, 6, header_len + payload_len).bytes(header);
        put(header, 16, sum.checksum().to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ace_field_is_ae_cwr_ece_and_changes_nothing_else() {
        assert_eq!(TcpFlags::AE.with(TcpFlags::ECE).ace(), 0b101, "the first value of a connection's counter");
        assert_eq!(TcpFlags::CWR.ace(), 0b010);
        for bits in 0..0x1000u16 {
            let before = TcpFlags::from_bits(bits);
            for value in 0..=255u8 {
                let after = before.with_ace(value);
                assert_eq!(after.ace(), value % 8);
                assert_eq!(after.without(TcpFlags::ACE), before.without(TcpFlags::ACE));
            }
        }
    }
}
