//! The AccECN option (RFC 9768, section 3.2.3): byte counters of a data receiver, by the codepoint of what arrived.

use crate::field::u8_at;

/// Option kind of order 0 (IANA, TCP Option Kind Numbers).
pub(crate) const ACCECN_0: u8 = 172;
/// Option kind of order 1.
pub(crate) const ACCECN_1: u8 = 174;

/// Most counters that an option carries.
const MOST: usize = 3;
/// Bytes of a counter.
const WIDTH: usize = 3;

/// In which order an AccECN option lists its counters. Counters at the end may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccEcnOrder {
    /// Kind 172: bytes that arrived as ECT(0), CE, ECT(1).
    Ect0First,
    /// Kind 174: bytes that arrived as ECT(1), CE, ECT(0).
    Ect1First,
}

/// An AccECN option: up to three counters of payload bytes, each modulo 2^24.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AccEcn {
    order: AccEcnOrder,
    len: u8,
    /// Big-endian, as on the wire; zeros from `len` counters on, so that derived equality compares the counters.
    fields: [u8; MOST * WIDTH],
}

impl AccEcn {
    /// An option with the lower 24 bits of the first three of `counters`, listed in this order.
    #[must_use]
    pub fn new(order: AccEcnOrder, counters: &[u32]) -> Self {
        let mut option = Self { order, len: counters.len().min(MOST) as u8, fields: [0; MOST * WIDTH] };
        for (field, counter) in option.fields.as_chunks_mut::<WIDTH>().0.iter_mut().zip(counters) {
            let [_, high, middle, low] = counter.to_be_bytes();
            *field = [high, middle, low];
        }
        option
    }

    /// In which order the counters are listed.
    #[must_use]
    pub const fn order(&self) -> AccEcnOrder {
        self.order
    }

    /// How many counters there are, 0 to 3.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there is no counter. Such an option only tests whether options pass.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Payload bytes that arrived as ECT(0), modulo 2^24, if the option says (EE0B).
    #[must_use]
    pub fn ect0(&self) -> Option<u32> {
        self.counter(if self.order == AccEcnOrder::Ect0First { 0 } else { 2 })
    }

    /// Payload bytes that arrived as CE, modulo 2^24, if the option says (ECEB).
    #[must_use]
    pub fn ce(&self) -> Option<u32> {
        self.counter(1)
    }

    /// Payload bytes that arrived as ECT(1), modulo 2^24, if the option says (EE1B).
    #[must_use]
    pub fn ect1(&self) -> Option<u32> {
        self.counter(if self.order == AccEcnOrder::Ect1First { 0 } else { 2 })
    }

    fn counter(&self, place: usize) -> Option<u32> {
        let fields = self.fields.as_chunks::<WIDTH>().0.get(..self.len())?;
        fields.get(place).map(|&[high, middle, low]| u32::from_be_bytes([0, high, middle, low]))
    }

    /// Reads the bytes of an option of this kind, of which the counters begin at the third. Of an unusual length the
    /// whole counters that fit are used (RFC 9768, section 3.2.3).
    pub(crate) fn parse(kind: u8, option: &[u8]) -> Self {
        let order = if kind == ACCECN_1 { AccEcnOrder::Ect1First } else { AccEcnOrder::Ect0First };
        let len = (option.len().saturating_sub(2) / WIDTH).min(MOST);
        let mut fields = [0; MOST * WIDTH];
        for (at, byte) in fields.iter_mut().take(len * WIDTH).enumerate() {
            *byte = u8_at(option, 2 + at);
        }
        Self { order, len: len as u8, fields }
    }

    /// Appends the option and NOPs up to a multiple of four bytes.
    pub(crate) fn emit_into(&self, out: &mut Vec<u8>) {
        let kind = if self.order == AccEcnOrder::Ect1First { ACCECN_1 } else { ACCECN_0 };
        let fields = self.fields.get(..self.len() * WIDTH).unwrap_or_default();
        let len = 2 + fields.len();
        out.extend_from_slice(&[kind, len as u8]);
        out.extend_from_slice(fields);
        out.resize(out.len() + padded_len(self.len()) - len, super::tcp_options::NOP);
    }

    /// The order as a bit, and the fields, for storage elsewhere.
    pub(crate) const fn into_parts(self) -> (bool, [u8; MOST * WIDTH]) {
        (matches!(self.order, AccEcnOrder::Ect1First), self.fields)
    }

    /// The inverse of [`into_parts`](Self::into_parts); `len` is at most 3.
    pub(crate) const fn from_parts(ect1_first: bool, len: u8, fields: [u8; MOST * WIDTH]) -> Self {
        let order = if ect1_first { AccEcnOrder::Ect1First } else { AccEcnOrder::Ect0First };
        Self { order, len, fields }
    }
}

/// Length of an emitted option with this many counters, with its NOPs, in bytes: 4, 8, 8 or 12.
#[inline]
pub(crate) const fn padded_len(counters: usize) -> usize {
    (2 + WIDTH * counters).next_multiple_of(4)
}

impl core::fmt::Debug for AccEcn {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let counters: Vec<u32> = (0..self.len()).filter_map(|place| self.counter(place)).collect();
        f.debug_struct("AccEcn").field("order", &self.order).field("counters", &counters).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_orders_name_their_counters_from_opposite_ends() {
        let option = AccEcn::new(AccEcnOrder::Ect0First, &[1, 2, 3]);
        assert_eq!((option.ect0(), option.ce(), option.ect1()), (Some(1), Some(2), Some(3)));
        let option = AccEcn::new(AccEcnOrder::Ect1First, &[1, 2, 3]);
        assert_eq!((option.ect0(), option.ce(), option.ect1()), (Some(3), Some(2), Some(1)));
    }

    #[test]
    fn counters_are_left_out_from_the_end() {
        let option = |n: usize| AccEcn::new(AccEcnOrder::Ect1First, &[7, 8, 9][..n]);
        assert_eq!((option(2).ect1(), option(2).ce(), option(2).ect0()), (Some(7), Some(8), None));
        assert_eq!((option(1).ect1(), option(1).ce()), (Some(7), None));
        assert!(option(0).is_empty() && option(0).ect1().is_none());
        assert_eq!(AccEcn::new(AccEcnOrder::Ect1First, &[7, 8, 9, 10]), option(3), "a fourth is not sent");
    }

    #[test]
    fn counters_wrap_at_24_bits_and_stand_in_network_order() {
        let option = AccEcn::new(AccEcnOrder::Ect0First, &[0x0102_0304, 0xffff_ffff]);
        assert_eq!((option.ect0(), option.ce()), (Some(0x02_0304), Some(0xff_ffff)));
        let mut bytes = Vec::new();
        option.emit_into(&mut bytes);
        assert_eq!(bytes, [172, 8, 2, 3, 4, 0xff, 0xff, 0xff]);
    }
}
