//! The Fast Open option (RFC 7413, section 4.1.1): a cookie, or the request for one.

/// Option kind (IANA, TCP Option Kind Numbers).
pub(crate) const FAST_OPEN: u8 = 34;
/// Option kind of experiments (RFC 4727), which Fast Open used before RFC 7413.
pub(crate) const EXPERIMENT: u8 = 254;
/// The experiment's identifier (RFC 6994; RFC 7413, appendix A.3).
pub(crate) const MAGIC: u16 = 0xf989;

/// Longest cookie in bytes.
const MOST: usize = 16;
/// Shortest cookie in bytes.
const LEAST: usize = 4;

/// A Fast Open option: a cookie of 4 to 16 bytes, an even number of them, or none, which asks for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FastOpenCookie {
    /// Zeros from `len` on, so that derived equality compares cookies.
    bytes: [u8; MOST],
    len: u8,
    experimental: bool,
}

impl FastOpenCookie {
    /// The option that asks for a cookie.
    pub const REQUEST: Self = Self { bytes: [0; MOST], len: 0, experimental: false };

    /// An option with this cookie; empty asks for one. `None` if the length is not allowed. `experimental` selects the
    /// option of experiments instead of kind 34.
    #[must_use]
    pub fn new(cookie: &[u8], experimental: bool) -> Option<Self> {
        let len = cookie.len();
        if len != 0 && (!len.is_multiple_of(2) || !(LEAST..=MOST).contains(&len)) {
            return None;
        }
        let mut bytes = [0; MOST];
        bytes.get_mut(..len)?.copy_from_slice(cookie);
        Some(Self { bytes, len: len as u8, experimental })
    }

    /// The cookie; empty if the option asks for one.
    #[must_use]
    pub fn cookie(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// Whether it asks for a cookie.
    #[must_use]
    pub const fn is_request(&self) -> bool {
        self.len == 0
    }

    /// Whether it is the option of experiments.
    #[must_use]
    pub const fn is_experimental(&self) -> bool {
        self.experimental
    }

    /// The same cookie in the option of experiments, or in kind 34.
    #[must_use]
    pub const fn in_experimental(self, experimental: bool) -> Self {
        Self { experimental, ..self }
    }

    /// Length of the emitted option without NOPs, in bytes.
    const fn len(&self) -> usize {
        self.len as usize + if self.experimental { 4 } else { 2 }
    }

    /// Length of the emitted option with its NOPs, in bytes.
    pub(crate) const fn padded_len(&self) -> usize {
        self.len().next_multiple_of(4)
    }

    /// Appends the option and NOPs up to a multiple of four bytes.
    pub(crate) fn emit_into(&self, out: &mut Vec<u8>) {
        let end = out.len() + self.padded_len();
        out.extend_from_slice(&[if self.experimental { EXPERIMENT } else { FAST_OPEN }, self.len() as u8]);
        if self.experimental {
            out.extend_from_slice(&MAGIC.to_be_bytes());
        }
        out.extend_from_slice(self.cookie());
        out.resize(end, super::tcp_options::NOP);
    }

    /// The length in three bits (0 for none, then half of the length less one), and the cookie, for storage elsewhere.
    pub(crate) fn into_parts(self) -> (u8, [[u8; 8]; 2]) {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = self.bytes;
        ((self.len / 2).saturating_sub(1), [[a, b, c, d, e, f, g, h], [i, j, k, l, m, n, o, p]])
    }

    /// The inverse of [`into_parts`](Self::into_parts).
    pub(crate) fn from_parts(len: u8, [low, high]: [[u8; 8]; 2], experimental: bool) -> Self {
        let ([a, b, c, d, e, f, g, h], [i, j, k, l, m, n, o, p]) = (low, high);
        let bytes = [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p];
        Self { bytes, len: if len == 0 { 0 } else { 2 * len + 2 }, experimental }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{AccEcn, AccEcnOrder, TcpOptions};

    #[test]
    fn cookies_have_an_even_length_of_4_to_16_bytes() {
        let lengths: Vec<usize> = (0..=18).filter(|&n| FastOpenCookie::new(&vec![7; n], false).is_some()).collect();
        assert_eq!(lengths, [0, 4, 6, 8, 10, 12, 14, 16]);
    }

    #[test]
    fn options_pass_through_a_header_of_any_kind() {
        for len in [0, 4, 6, 8, 10, 12, 14, 16] {
            for experimental in [false, true] {
                let cookie: Vec<u8> = (1..=len).collect();
                let option = FastOpenCookie::new(&cookie, experimental).unwrap();
                let mut options = TcpOptions { mss: Some(1460), sack_permitted: true, ..TcpOptions::default() };
                options.set_fast_open(option);
                let mut bytes = Vec::new();
                options.emit_into(&mut bytes);
                assert_eq!(bytes.len(), options.len());
                assert_eq!(TcpOptions::parse(&bytes).unwrap(), options);
                assert_eq!(options.fast_open(), Some(option));
                options.set_accecn(AccEcn::new(AccEcnOrder::Ect1First, &[1, 2, 3]));
                assert_eq!(options.fast_open(), Some(option), "beside an AccECN option");
                assert_eq!(options.accecn().unwrap().ce(), Some(2));
                assert!(options.sack.is_empty());
            }
        }
    }

    #[test]
    fn both_kinds_are_laid_out_as_linux_does() {
        let emitted = |experimental| {
            let mut out = Vec::new();
            FastOpenCookie::new(&[1, 2, 3, 4], experimental).unwrap().emit_into(&mut out);
            out
        };
        assert_eq!(emitted(false), [34, 6, 1, 2, 3, 4, 1, 1]);
        assert_eq!(emitted(true), [254, 8, 0xf9, 0x89, 1, 2, 3, 4]);
        let odd = TcpOptions::parse(&[34, 5, 1, 2, 3]).unwrap();
        assert_eq!(odd.fast_open(), None, "a length that is not allowed");
    }
}
