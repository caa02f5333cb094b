//! Why bytes are not a packet that Narrows can read.

use core::fmt;

/// A protocol whose header is parsed here; shows where an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// IP of either version, before the version is known.
    Ip,
    /// IPv4 (RFC 791).
    Ipv4,
    /// IPv6 (RFC 8200).
    Ipv6,
    /// The hop-by-hop options header of IPv6 (RFC 8200, section 4.3).
    HopByHop,
    /// The fragment header of IPv6 (RFC 8200, section 4.5).
    Fragment,
    /// TCP (RFC 9293).
    Tcp,
    /// UDP (RFC 768).
    Udp,
    /// LLC and SNAP (IEEE 802.2, RFC 1042).
    Llc,
    /// 802.11 (IEEE 802.11-2016).
    Dot11,
    /// Radiotap (radiotap.org).
    Radiotap,
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ip => "IP",
            Self::Ipv4 => "IPv4",
            Self::Ipv6 => "IPv6",
            Self::HopByHop => "IPv6 hop-by-hop options",
            Self::Fragment => "IPv6 fragment",
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Llc => "LLC/SNAP",
            Self::Dot11 => "802.11",
            Self::Radiotap => "radiotap",
        })
    }
}

/// Why bytes are not a packet that Narrows can read. Lengths are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// The bytes end before the fixed part of a header does.
    Truncated {
        /// Protocol of the header.
        protocol: Protocol,
        /// Bytes needed.
        needed: usize,
        /// Bytes available.
        have: usize,
    },
    /// The version field is not the one expected.
    BadVersion {
        /// Its value.
        version: u8,
    },
    /// The header's own length field is below the fixed part or beyond the available bytes.
    BadHeaderLen {
        /// Protocol of the header.
        protocol: Protocol,
        /// Its value, in bytes.
        len: usize,
        /// Smallest allowed.
        min: usize,
        /// Largest allowed.
        max: usize,
    },
    /// The field that gives the length of header and payload (IPv4, UDP) or of the payload (IPv6) does not fit.
    BadLength {
        /// Protocol of the field.
        protocol: Protocol,
        /// Its value.
        len: usize,
        /// Smallest allowed.
        min: usize,
        /// Largest allowed.
        max: usize,
    },
    /// The checksum is wrong.
    BadChecksum {
        /// Protocol of the checksum.
        protocol: Protocol,
        /// The value in the header.
        found: u16,
        /// The correct value.
        expected: u16,
    },
    /// The packet is a fragment; reassembly is not done here.
    Fragment {
        /// Offset of the fragment in bytes.
        offset: u16,
        /// Whether more fragments follow.
        more: bool,
    },
    /// The protocol above IP is neither TCP nor UDP.
    UnsupportedProtocol {
        /// Its number.
        number: u8,
    },
    /// An option has a length that its kind does not allow.
    BadOption {
        /// Protocol of the option.
        protocol: Protocol,
        /// Kind.
        kind: u8,
        /// Length of the whole option.
        len: u8,
        /// What is allowed.
        allowed: &'static str,
    },
    /// An option runs past the end of the options.
    OptionOverrun {
        /// Protocol of the option.
        protocol: Protocol,
        /// Kind.
        kind: u8,
        /// Bytes available from its kind on.
        have: usize,
    },
    /// A frame check sequence (IEEE 802.11-2016, section 9.2.4.8) is wrong.
    BadFcs {
        /// The value after the frame.
        found: u32,
        /// The correct value.
        expected: u32,
    },
    /// A field has an unsupported value.
    Unsupported {
        /// Protocol of the field.
        protocol: Protocol,
        /// Its name.
        field: &'static str,
        /// Its value.
        value: u32,
        /// What is allowed.
        allowed: &'static str,
    },
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Truncated { protocol, needed, have } => {
                write!(f, "the {protocol} header is truncated: it needs {needed} bytes and there are {have}")
            }
            Self::BadVersion { version } => write!(f, "the IP version is {version}: allowed are 4 and 6"),
            Self::BadHeaderLen { protocol, len, min, max } => {
                write!(f, "the {protocol} header length is {len} bytes: allowed are {min} to {max}")
            }
            Self::BadLength { protocol, len, min, max } if min > max => {
                write!(f, "the {protocol} length is {len} bytes: at least {min} are needed and there are {max}")
            }
            Self::BadLength { protocol, len, min, max } => {
                write!(f, "the {protocol} length is {len} bytes: allowed are {min} to {max}")
            }
            Self::BadChecksum { protocol, found, expected } => {
                write!(f, "the {protocol} checksum is {found:#06x}: it should be {expected:#06x}")
            }
            Self::Fragment { offset, more } => {
                let more = if more { "more follow" } else { "the last" };
                write!(f, "the packet is a fragment at byte {offset} ({more}): allowed are whole packets")
            }
            Self::UnsupportedProtocol { number } => {
                write!(f, "the protocol above IP is number {number}: allowed are 6 (TCP) and 17 (UDP)")
            }
            Self::BadOption { protocol, kind, len, allowed } => {
                write!(f, "the {protocol} option of kind {kind} is {len} bytes long: allowed is {allowed}")
            }
            Self::OptionOverrun { protocol, kind, have } => {
                write!(f, "the {protocol} option of kind {kind} runs past the end: {have} bytes are left for it")
            }
            Self::BadFcs { found, expected } => {
                write!(f, "the 802.11 FCS is {found:#010x}: it should be {expected:#010x}")
            }
            Self::Unsupported { protocol, field, value, allowed } => {
                write!(f, "the {protocol} {field} is {value:#x}: allowed is {allowed}")
            }
        }
    }
}

impl core::error::Error for ParseError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_sentences_with_the_bad_value_and_what_is_allowed() {
        let version = ParseError::BadVersion { version: 7 };
        assert_eq!(version.to_string(), "the IP version is 7: allowed are 4 and 6");
        let len = ParseError::BadHeaderLen { protocol: Protocol::Tcp, len: 16, min: 20, max: 40 };
        assert_eq!(len.to_string(), "the TCP header length is 16 bytes: allowed are 20 to 40");
        let sum = ParseError::BadChecksum { protocol: Protocol::Ipv4, found: 0x12, expected: 0xb861 };
        assert_eq!(sum.to_string(), "the IPv4 checksum is 0x0012: it should be 0xb861");
        let fcs = ParseError::BadFcs { found: 1, expected: 0xcbf4_3926 };
        assert_eq!(fcs.to_string(), "the 802.11 FCS is 0x00000001: it should be 0xcbf43926");
        let field = ParseError::Unsupported { protocol: Protocol::Radiotap, field: "version", value: 3, allowed: "0" };
        assert_eq!(field.to_string(), "the radiotap version is 0x3: allowed is 0");
    }
}
