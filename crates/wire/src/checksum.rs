//! The Internet checksum (RFC 1071), its pseudo-headers, and its incremental update (RFC 1624).

use core::net::IpAddr;

/// The ones' complement sum of 16-bit words, under construction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum(u64);

impl Sum {
    /// Adds a 16-bit word.
    #[inline]
    pub(crate) fn word(self, word: u16) -> Self {
        Self(self.0 + u64::from(word))
    }

    /// Adds bytes as 16-bit words; an odd last byte is padded with a zero, so only the last part may be odd.
    #[inline]
    pub(crate) fn bytes(self, bytes: &[u8]) -> Self {
        let (words, rest) = bytes.as_chunks::<2>();
        let sum = words.iter().map(|&w| u64::from(u16::from_be_bytes(w))).sum::<u64>();
        let last = rest.first().map_or(0, |&b| u64::from(b) << 8);
        Self(self.0 + sum + last)
    }

    /// Adds the pseudo-header of RFC 9293, section 3.1 (IPv4), or RFC 8200, section 8.1 (IPv6).
    pub(crate) fn pseudo_header(self, src: IpAddr, dst: IpAddr, protocol: u8, len: usize) -> Self {
        let add = |sum: Self, a: IpAddr| match a {
            IpAddr::V4(a) => sum.bytes(&a.octets()),
            IpAddr::V6(a) => sum.bytes(&a.octets()),
        };
        Self(add(add(self, src), dst).0 + u64::from(protocol) + (len as u64 >> 16) + (len as u64 & 0xffff))
    }

    /// The checksum: the complement of the sum.
    #[inline]
    pub(crate) fn checksum(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        // The loop leaves 16 bits.
        !(sum as u16)
    }
}

/// The Internet checksum of a message without a pseudo-header (RFC 1071), such as ICMP over IPv4. The checksum field
/// itself counts: zero while a checksum is computed; a message with a correct one gives 0.
#[must_use]
pub fn message_checksum(message: &[u8]) -> u16 {
    Sum::default().bytes(message).checksum()
}

/// The Internet checksum of a message with the pseudo-header of its addresses, such as ICMPv6 (RFC 4443, section 2.3).
#[must_use]
pub fn transport_checksum(src: IpAddr, dst: IpAddr, protocol: u8, message: &[u8]) -> u16 {
    Sum::default().pseudo_header(src, dst, protocol, message.len()).bytes(message).checksum()
}

/// The checksum after a change of one 16-bit word that it covers (RFC 1624, equation 3).
#[inline]
pub(crate) fn updated(checksum: u16, old: u16, new: u16) -> u16 {
    Sum::default().word(!checksum).word(!old).word(new).checksum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{Ipv4Addr, Ipv6Addr};
    use proptest::prelude::*;

    #[test]
    fn rfc_1071_section_3_example() {
        let sum = Sum::default().bytes(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!(sum.checksum(), !0xddf2);
    }

    #[test]
    fn rfc_1624_section_4_example() {
        assert_eq!(updated(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    #[test]
    fn an_odd_byte_is_the_high_half_of_a_word() {
        assert_eq!(Sum::default().bytes(&[0x01]).checksum(), !0x0100);
    }

    #[test]
    fn the_upper_half_of_a_long_length_counts() {
        let any4 = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let any6 = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
        assert_eq!(Sum::default().pseudo_header(any6, any6, 6, 0x0002_0003).checksum(), !(6 + 2 + 3));
        assert_eq!(Sum::default().pseudo_header(any4, any4, 17, 8).checksum(), !25);
    }

    proptest! {
        #[test]
        fn updating_a_word_is_summing_again(words in prop::collection::vec(1u16.., 2..40), at: usize, new in 1u16..) {
            let all = |words: &[u16]| words.iter().fold(Sum::default(), |s, &w| s.word(w)).checksum();
            let before = all(&words);
            let mut changed = words.clone();
            let at = at % words.len();
            changed[at] = new;
            prop_assert_eq!(updated(before, words[at], new), all(&changed));
        }
    }
}
