//! A view over the bytes of a TCP segment (RFC 9293, section 3.1).

use crate::checksum::{Sum, updated};
use crate::field::{put, range, range_mut, u16_at, u32_at};
use crate::tcp::FIXED_LEN;
use crate::{ParseError, Protocol, TcpFlags};
use core::net::IpAddr;
use narrows_units::SeqNum;

/// The bytes of a TCP segment. Setters update the checksum (RFC 1624), so a wrong one stays wrong.
#[derive(Clone, Copy, Debug)]
pub struct TcpView<B> {
    bytes: B,
}

impl<B: AsRef<[u8]>> TcpView<B> {
    /// A view over a segment (all bytes above IP), after a check of its header length.
    ///
    /// # Errors
    /// [`ParseError`] if the header length is wrong. Checksum and options are not checked: see
    /// [`check_checksum`](Self::check_checksum) and [`TcpOptions::parse`](crate::TcpOptions::parse).
    pub fn new_checked(bytes: B) -> Result<Self, ParseError> {
        let (protocol, b) = (Protocol::Tcp, bytes.as_ref());
        if b.len() < FIXED_LEN {
            return Err(ParseError::Truncated { protocol, needed: FIXED_LEN, have: b.len() });
        }
        let len = usize::from(u16_at(b, 12) >> 12) * 4;
        if len < FIXED_LEN || len > b.len() {
            return Err(ParseError::BadHeaderLen { protocol, len, min: FIXED_LEN, max: b.len().min(60) });
        }
        Ok(Self { bytes })
    }

    #[inline]
    fn b(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// Source port.
    #[inline]
    #[must_use]
    pub fn src_port(&self) -> u16 {
        u16_at(self.b(), 0)
    }

    /// Destination port.
    #[inline]
    #[must_use]
    pub fn dst_port(&self) -> u16 {
        u16_at(self.b(), 2)
    }

    /// Sequence number.
    #[inline]
    #[must_use]
    pub fn seq(&self) -> SeqNum {
        SeqNum::new(u32_at(self.b(), 4))
    }

    /// Acknowledgment number.
    #[inline]
    #[must_use]
    pub fn ack(&self) -> SeqNum {
        SeqNum::new(u32_at(self.b(), 8))
    }

    /// Length of the header with its options, in bytes.
    #[inline]
    #[must_use]
    pub fn header_len(&self) -> usize {
        usize::from(u16_at(self.b(), 12) >> 12) * 4
    }

    /// The 12 flags.
    #[inline]
    #[must_use]
    pub fn flags(&self) -> TcpFlags {
        TcpFlags::from_bits(u16_at(self.b(), 12))
    }

    /// The window field, unscaled.
    #[inline]
    #[must_use]
    pub fn window(&self) -> u16 {
        u16_at(self.b(), 14)
    }

    /// The checksum in the segment.
    #[must_use]
    pub fn checksum(&self) -> u16 {
        u16_at(self.b(), 16)
    }

    /// The bytes of the options.
    #[inline]
    #[must_use]
    pub fn options(&self) -> &[u8] {
        range(self.b(), FIXED_LEN, self.header_len())
    }

    /// The bytes above the header.
    #[inline]
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        self.b().get(self.header_len()..).unwrap_or_default()
    }

    /// Checks the checksum of a segment between these addresses.
    ///
    /// # Errors
    /// [`ParseError::BadChecksum`] with the correct checksum.
    pub fn check_checksum(&self, src: IpAddr, dst: IpAddr) -> Result<(), ParseError> {
        let found = self.checksum();
        let sum = Sum::default().pseudo_header(src, dst, 6, self.b().len()).bytes(self.b());
        // With its checksum in place a correct segment sums to zero; both zeros of ones' complement are the same.
        if sum.checksum() == 0 {
            return Ok(());
        }
        let expected = sum.word(!found).checksum();
        Err(ParseError::BadChecksum { protocol: Protocol::Tcp, found, expected })
    }
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> TcpView<B> {
    /// Replaces the aligned 16-bit word at `at` and updates the checksum.
    fn set_word(&mut self, at: usize, new: u16) {
        let checksum = updated(self.checksum(), u16_at(self.b(), at), new);
        put(self.bytes.as_mut(), at, new.to_be_bytes());
        put(self.bytes.as_mut(), 16, checksum.to_be_bytes());
    }

    /// Sets the flags; the header length in the same word stays.
    pub fn set_flags(&mut self, flags: TcpFlags) {
        let word = u16_at(self.b(), 12) & 0xf000 | flags.as_bits();
        self.set_word(12, word);
    }

    /// Sets the window field, unscaled.
    pub fn set_window(&mut self, window: u16) {
        self.set_word(14, window);
    }

    /// Recomputes the checksum of a segment between these addresses, as after a change of the payload.
    pub fn fill_checksum(&mut self, src: IpAddr, dst: IpAddr) {
        put(self.bytes.as_mut(), 16, [0, 0]);
        let sum = Sum::default().pseudo_header(src, dst, 6, self.b().len()).bytes(self.b());
        put(self.bytes.as_mut(), 16, sum.checksum().to_be_bytes());
    }

    /// The bytes above the header, for writing; call [`fill_checksum`](Self::fill_checksum) afterwards.
    pub fn payload_mut(&mut self) -> &mut [u8] {
        let from = self.header_len();
        let to = self.b().len();
        range_mut(self.bytes.as_mut(), from, to)
    }
}
