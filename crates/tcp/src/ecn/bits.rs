//! Which header bits belong to whom.
//!
//! | who | TCP flags | ECN field | beside them |
//! |---|---|---|---|
//! | classic ECN (RFC 3168), and with DCTCP's echo (RFC 8257) | ECE, CWR | yes | |
//! | AccECN (RFC 9768) | AE, CWR, ECE: the ACE field | yes | TCP options 172 and 174 |
//! | a scheme | those of its [`Assist::bits`](crate::Assist::bits) | as that says | as its codec says |
//!
//! A connection has one owner of these bits, the [`Agreement`](crate::Agreement) of its handshake. Two that exclude
//! each other are never in force together: a scheme that excludes ECN is negotiated, and ECN is then off.

use narrows_wire::{Ecn, TcpFlags};

/// The header bits that ECN or a scheme writes on segments of an established connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderBits {
    /// Flags of the TCP header.
    pub flags: TcpFlags,
    /// Whether the ECN field of the IP header is written.
    pub ecn_field: bool,
}

impl HeaderBits {
    /// None of the bits that ECN could use.
    pub const NONE: Self = Self { flags: TcpFlags::NONE, ecn_field: false };
    /// Classic ECN, whichever way marks are echoed.
    pub const CLASSIC_ECN: Self = Self { flags: TcpFlags::ECE.with(TcpFlags::CWR), ecn_field: true };
    /// AccECN.
    pub const ACCURATE_ECN: Self = Self { flags: TcpFlags::ACE, ecn_field: true };

    /// Whether these bits and those of `other` cannot be in force on one connection.
    #[must_use]
    pub const fn excludes(self, other: Self) -> bool {
        self.flags.any(other.flags) || (self.ecn_field && other.ecn_field)
    }
}

/// The handshake encoding of an IP-ECN field (RFC 9768, section 3.2.2.1, table 3), also that of the SYN on a
/// SYN-ACK (table 2).
pub(crate) const fn encoded(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_that_write_one_bit_exclude_each_other() {
        let spare = HeaderBits { flags: TcpFlags::RESERVED_0X200, ecn_field: false };
        assert!(HeaderBits::CLASSIC_ECN.excludes(HeaderBits::ACCURATE_ECN));
        for ecn in [HeaderBits::CLASSIC_ECN, HeaderBits::ACCURATE_ECN] {
            assert!(!ecn.excludes(HeaderBits::NONE) && !spare.excludes(ecn));
            assert!(ecn.excludes(HeaderBits { ecn_field: true, ..HeaderBits::NONE }));
        }
    }
}
