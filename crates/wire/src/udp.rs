//! UDP (RFC 768): a header as values, and a view over the bytes of a datagram.

use crate::checksum::Sum;
use crate::field::{put, range, range_mut, u16_at};
use crate::rtp::{RTP_LEN, RtpRepr};
use crate::{ParseError, Protocol};
use core::net::IpAddr;

/// Length of the header in bytes.
pub(crate) const LEN: usize = 8;

/// A UDP header: the ports; length and checksum follow from the packet. With the RTP header that an application wrote
/// at the start of the payload, if it did: parsing leaves that to [`RtpRepr::parse`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct UdpRepr {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// RTP header at the start of the payload, which it counts into; not emitted if the payload is shorter.
    pub rtp: Option<RtpRepr>,
}

impl UdpRepr {
    /// The header's values.
    #[must_use]
    pub fn from_view<B: AsRef<[u8]>>(view: &UdpView<B>) -> Self {
        Self { src_port: view.src_port(), dst_port: view.dst_port(), rtp: None }
    }

    /// The bytes of the RTP header in a payload of `payload_len` bytes.
    pub(crate) fn rtp_in(&self, payload_len: usize) -> Option<[u8; RTP_LEN]> {
        self.rtp.filter(|_| payload_len >= RTP_LEN).map(|rtp| rtp.bytes())
    }

    /// Appends the header, with a correct checksum, of a datagram between these addresses with `payload_len` bytes: the
    /// RTP header, if there is one, and zeros.
    ///
    /// A datagram of more than 65,535 bytes gets the length 65,535.
    pub fn emit_into(&self, src: IpAddr, dst: IpAddr, payload_len: usize, out: &mut Vec<u8>) {
        let len = u16::try_from(payload_len.saturating_add(LEN)).unwrap_or(u16::MAX);
        let mut header = [0; LEN];
        put(&mut header, 0, self.src_port.to_be_bytes());
        put(&mut header, 2, self.dst_port.to_be_bytes());
        put(&mut header, 4, len.to_be_bytes());
        let sum = Sum::default().pseudo_header(src, dst, 17, usize::from(len)).bytes(&header);
        let sum = self.rtp_in(payload_len).map_or(sum, |rtp| sum.bytes(&rtp));
        put(&mut header, 6, never_zero(sum.checksum()).to_be_bytes());
        out.extend_from_slice(&header);
    }
}

/// A computed checksum as it is sent: zero means "none", so zero is sent as its other form in ones' complement.
fn never_zero(checksum: u16) -> u16 {
    if checksum == 0 { 0xffff } else { checksum }
}

/// The bytes of a UDP datagram.
#[derive(Clone, Copy, Debug)]
pub struct UdpView<B> {
    bytes: B,
}

impl<B: AsRef<[u8]>> UdpView<B> {
    /// A view over a datagram (all bytes above IP), after a check of its length; ignores bytes past the datagram's own
    /// length.
    ///
    /// # Errors
    /// [`ParseError`] if the length is wrong. The checksum is not checked: see
    /// [`check_checksum`](Self::check_checksum).
    pub fn new_checked(bytes: B) -> Result<Self, ParseError> {
        let (protocol, b) = (Protocol::Udp, bytes.as_ref());
        if b.len() < LEN {
            return Err(ParseError::Truncated { protocol, needed: LEN, have: b.len() });
        }
        let len = usize::from(u16_at(b, 4));
        if len < LEN || len > b.len() {
            return Err(ParseError::BadLength { protocol, len, min: LEN, max: b.len() });
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

    /// Length of header and payload in bytes.
    #[inline]
    #[must_use]
    pub fn total_len(&self) -> usize {
        usize::from(u16_at(self.b(), 4))
    }

    /// The checksum in the datagram; zero means none.
    #[must_use]
    pub fn checksum(&self) -> u16 {
        u16_at(self.b(), 6)
    }

    /// The bytes above the header.
    #[inline]
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        range(self.b(), LEN, self.total_len())
    }

    fn sum(&self, src: IpAddr, dst: IpAddr) -> Sum {
        let len = self.total_len();
        Sum::default().pseudo_header(src, dst, 17, len).bytes(range(self.b(), 0, len))
    }

    /// Checks the checksum of a datagram between these addresses. No checksum (zero) is valid over IPv4 (RFC 768) and
    /// wrong over IPv6 (RFC 8200, section 8.1).
    ///
    /// # Errors
    /// [`ParseError::BadChecksum`] with the correct checksum.
    pub fn check_checksum(&self, src: IpAddr, dst: IpAddr) -> Result<(), ParseError> {
        let found = self.checksum();
        let sum = self.sum(src, dst);
        let right = if found == 0 { src.is_ipv4() } else { sum.checksum() == 0 };
        if right {
            return Ok(());
        }
        let expected = never_zero(sum.word(!found).checksum());
        Err(ParseError::BadChecksum { protocol: Protocol::Udp, found, expected })
    }
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> UdpView<B> {
    /// Recomputes the checksum of a datagram between these addresses, as after a change of the payload.
    pub fn fill_checksum(&mut self, src: IpAddr, dst: IpAddr) {
        put(self.bytes.as_mut(), 6, [0, 0]);
        let checksum = never_zero(self.sum(src, dst).checksum());
        put(self.bytes.as_mut(), 6, checksum.to_be_bytes());
    }

    /// The bytes above the header, for writing; call [`fill_checksum`](Self::fill_checksum) afterwards.
    pub fn payload_mut(&mut self) -> &mut [u8] {
        let to = self.total_len();
        range_mut(self.bytes.as_mut(), LEN, to)
    }
}
