//! The border: packets to bytes and back.

use core::fmt;

/// Why bytes are not a packet that Narrows can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// The buffer ends before the header or the length it announces.
    Truncated,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("the packet is truncated"),
        }
    }
}

impl core::error::Error for ParseError {}
