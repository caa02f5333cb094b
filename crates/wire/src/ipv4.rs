//! IPv4 (RFC 791): a header as values, and a view over its bytes.

use crate::checksum::{Sum, updated};
use crate::field::{array_at, put, range, range_mut, u8_at, u16_at};
use crate::{Ecn, Ipv4Options, ParseError, Protocol};
use core::net::Ipv4Addr;

const FIXED_LEN: usize = 20;
const RESERVED: u16 = 0x8000;
const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const OFFSET: u16 = 0x1fff;

/// The fields of an IPv4 header (RFC 791) that vary from packet to packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4Repr {
    /// Source address.
    pub src: Ipv4Addr,
    /// Destination address.
    pub dst: Ipv4Addr,
    /// Differentiated services codepoint (RFC 2474), 0 to 63.
    pub dscp: u8,
    /// ECN field.
    pub ecn: Ecn,
    /// The reserved top bit of the Flags field. Must be zero by RFC 791; a network-assisted scheme may use it.
    pub reserved_flag: bool,
    /// Don't Fragment.
    pub dont_fragment: bool,
    /// Identification.
    pub ident: u16,
    /// Time to live, in hops.
    pub ttl: u8,
    /// The option area.
    pub options: Ipv4Options,
}

impl Ipv4Repr {
    /// Reads the header's values and keeps its options as they are.
    ///
    /// # Errors
    /// [`ParseError::Fragment`] if the packet is a fragment.
    pub fn from_view<B: AsRef<[u8]>>(view: &Ipv4View<B>) -> Result<Self, ParseError> {
        if view.more_fragments() || view.fragment_offset() != 0 {
            return Err(ParseError::Fragment { offset: view.fragment_offset(), more: view.more_fragments() });
        }
        Ok(Self {
            src: view.src(),
            dst: view.dst(),
            dscp: view.dscp(),
            ecn: view.ecn(),
            reserved_flag: view.reserved_flag(),
            dont_fragment: view.dont_fragment(),
            ident: view.ident(),
            ttl: view.ttl(),
            options: view.options(),
        })
    }

    /// Appends the header, with a correct checksum, of a packet with `payload_len` bytes of `protocol` above it.
    ///
    /// Only the lower six bits of `dscp` are used; a packet of more than 65,535 bytes gets the length 65,535.
    pub fn emit_into(&self, protocol: u8, payload_len: usize, out: &mut Vec<u8>) {
        let options = self.options.as_bytes();
        let len = FIXED_LEN + options.len();
        let total = u16::try_from(payload_len.saturating_add(len)).unwrap_or(u16::MAX);
        let flags = if self.reserved_flag { RESERVED } else { 0 } | if self.dont_fragment { DONT_FRAGMENT } else { 0 };
        let mut header = [0; FIXED_LEN];
        put(&mut header, 0, [0x40 | (len / 4) as u8, self.dscp << 2 | self.ecn as u8]);
        put(&mut header, 2, total.to_be_bytes());
        put(&mut header, 4, self.ident.to_be_bytes());
        put(&mut header, 6, flags.to_be_bytes());
        put(&mut header, 8, [self.ttl, protocol]);
        put(&mut header, 12, self.src.octets());
        put(&mut header, 16, self.dst.octets());
        let checksum = Sum::default().bytes(&header).bytes(options).checksum();
        put(&mut header, 10, checksum.to_be_bytes());
        out.extend_from_slice(&header);
        out.extend_from_slice(options);
    }
}

/// The bytes of an IPv4 packet. Setters update the header checksum (RFC 1624), so a wrong one stays wrong.
#[derive(Clone, Copy, Debug)]
pub struct Ipv4View<B> {
    bytes: B,
}

impl<B: AsRef<[u8]>> Ipv4View<B> {
    /// A view over a packet, after a check of its lengths; bytes past the packet's own length (link padding) are
    /// ignored.
    ///
    /// # Errors
    /// [`ParseError`] if the version, the header length or the total length is wrong. The checksum is not checked: see
    /// [`check_checksum`](Self::check_checksum).
    pub fn new_checked(bytes: B) -> Result<Self, ParseError> {
        let (protocol, b) = (Protocol::Ipv4, bytes.as_ref());
        if b.len() < FIXED_LEN {
            return Err(ParseError::Truncated { protocol, needed: FIXED_LEN, have: b.len() });
        }
        let version = u8_at(b, 0) >> 4;
        if version != 4 {
            return Err(ParseError::BadVersion { version });
        }
        let header = usize::from(u8_at(b, 0) & 0x0f) * 4;
        if header < FIXED_LEN || header > b.len() {
            return Err(ParseError::BadHeaderLen { protocol, len: header, min: FIXED_LEN, max: b.len().min(60) });
        }
        let total = usize::from(u16_at(b, 2));
        if total < header || total > b.len() {
            return Err(ParseError::BadLength { protocol, len: total, min: header, max: b.len() });
        }
        Ok(Self { bytes })
    }

    #[inline]
    fn b(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// Length of the header with its options, in bytes.
    #[inline]
    #[must_use]
    pub fn header_len(&self) -> usize {
        usize::from(u8_at(self.b(), 0) & 0x0f) * 4
    }

    /// Length of header and payload in bytes.
    #[inline]
    #[must_use]
    pub fn total_len(&self) -> usize {
        usize::from(u16_at(self.b(), 2))
    }

    /// Differentiated services codepoint.
    #[inline]
    #[must_use]
    pub fn dscp(&self) -> u8 {
        u8_at(self.b(), 1) >> 2
    }

    /// ECN field.
    #[inline]
    #[must_use]
    pub fn ecn(&self) -> Ecn {
        Ecn::from_bits(u8_at(self.b(), 1))
    }

    /// Identification.
    #[must_use]
    pub fn ident(&self) -> u16 {
        u16_at(self.b(), 4)
    }

    #[inline]
    fn flags_and_offset(&self) -> u16 {
        u16_at(self.b(), 6)
    }

    /// The reserved top bit of the Flags field.
    #[inline]
    #[must_use]
    pub fn reserved_flag(&self) -> bool {
        self.flags_and_offset() & RESERVED != 0
    }

    /// Don't Fragment.
    #[must_use]
    pub fn dont_fragment(&self) -> bool {
        self.flags_and_offset() & DONT_FRAGMENT != 0
    }

    /// More Fragments.
    #[must_use]
    pub fn more_fragments(&self) -> bool {
        self.flags_and_offset() & MORE_FRAGMENTS != 0
    }

    /// Fragment offset in bytes.
    #[must_use]
    pub fn fragment_offset(&self) -> u16 {
        (self.flags_and_offset() & OFFSET) << 3
    }

    /// Time to live.
    #[must_use]
    pub fn ttl(&self) -> u8 {
        u8_at(self.b(), 8)
    }

    /// Number of the protocol above IP.
    #[inline]
    #[must_use]
    pub fn protocol(&self) -> u8 {
        u8_at(self.b(), 9)
    }

    /// The header checksum in the packet.
    #[must_use]
    pub fn checksum(&self) -> u16 {
        u16_at(self.b(), 10)
    }

    /// Source address.
    #[must_use]
    pub fn src(&self) -> Ipv4Addr {
        array_at::<4>(self.b(), 12).into()
    }

    /// Destination address.
    #[must_use]
    pub fn dst(&self) -> Ipv4Addr {
        array_at::<4>(self.b(), 16).into()
    }

    /// The option area.
    #[must_use]
    pub fn options(&self) -> Ipv4Options {
        // The header length is a whole number of words and at most 60 bytes, so the area is valid.
        Ipv4Options::new(range(self.b(), FIXED_LEN, self.header_len())).unwrap_or_default()
    }

    /// The bytes above the header.
    #[inline]
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        range(self.b(), self.header_len(), self.total_len())
    }

    fn expected_checksum(&self) -> u16 {
        Sum::default().bytes(range(self.b(), 0, self.header_len())).word(!self.checksum()).checksum()
    }

    /// Checks the header checksum.
    ///
    /// # Errors
    /// [`ParseError::BadChecksum`] with the correct checksum.
    pub fn check_checksum(&self) -> Result<(), ParseError> {
        // With its checksum in place a correct header sums to zero; both zeros of ones' complement are the same.
        if Sum::default().bytes(range(self.b(), 0, self.header_len())).checksum() == 0 {
            return Ok(());
        }
        let (found, expected) = (self.checksum(), self.expected_checksum());
        Err(ParseError::BadChecksum { protocol: Protocol::Ipv4, found, expected })
    }
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Ipv4View<B> {
    /// Replaces the aligned 16-bit word at `at` and updates the checksum.
    fn set_word(&mut self, at: usize, new: u16) {
        let checksum = updated(self.checksum(), u16_at(self.b(), at), new);
        put(self.bytes.as_mut(), at, new.to_be_bytes());
        put(self.bytes.as_mut(), 10, checksum.to_be_bytes());
    }

    /// Sets the differentiated services codepoint from the lower six bits.
    pub fn set_dscp(&mut self, dscp: u8) {
        let word = u16_at(self.b(), 0) & 0xff03 | u16::from(dscp & 0x3f) << 2;
        self.set_word(0, word);
    }

    /// Sets the ECN field.
    pub fn set_ecn(&mut self, ecn: Ecn) {
        let word = u16_at(self.b(), 0) & 0xfffc | ecn as u16;
        self.set_word(0, word);
    }

    /// Sets the reserved top bit of the Flags field.
    pub fn set_reserved_flag(&mut self, on: bool) {
        let word = self.flags_and_offset() & !RESERVED | if on { RESERVED } else { 0 };
        self.set_word(6, word);
    }

    /// Sets the time to live.
    pub fn set_ttl(&mut self, ttl: u8) {
        let word = u16_at(self.b(), 8) & 0x00ff | u16::from(ttl) << 8;
        self.set_word(8, word);
    }

    /// The bytes above the header, for writing.
    pub fn payload_mut(&mut self) -> &mut [u8] {
        let (from, to) = (self.header_len(), self.total_len());
        range_mut(self.bytes.as_mut(), from, to)
    }
}

impl Ipv4View<&mut Vec<u8>> {
    /// Replaces the option area, updates header length and total length, and moves the bytes after it. Returns `false`,
    /// and changes nothing, if the packet would be longer than 65,535 bytes.
    pub fn set_options(&mut self, options: &Ipv4Options) -> bool {
        let header = self.header_len();
        let total = self.total_len() - header + FIXED_LEN + options.len();
        let Ok(total) = u16::try_from(total) else { return false };
        let old_area = range(self.b(), FIXED_LEN, header);
        let first = u16_at(self.b(), 0);
        let new_first = first & 0xf0ff | ((FIXED_LEN + options.len()) as u16 / 4) << 8;
        // RFC 1624, equation 3, over all removed and added words.
        let mut sum = Sum::default().word(!self.checksum()).bytes(options.as_bytes()).word(new_first).word(total);
        for word in [first, u16_at(self.b(), 2)]
            .into_iter()
            .chain((0..old_area.len()).step_by(2).map(|at| u16_at(old_area, at)))
        {
            sum = sum.word(!word);
        }
        put(self.bytes, 0, new_first.to_be_bytes());
        put(self.bytes, 2, total.to_be_bytes());
        put(self.bytes, 10, sum.checksum().to_be_bytes());
        self.bytes.splice(FIXED_LEN..header, options.as_bytes().iter().copied());
        true
    }
}
