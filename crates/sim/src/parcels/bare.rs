//! Parcels of ACKs that are not stored: the ACK is in the parcel.
//!
//! Such an ACK is on the last wire of its way, so its parcel needs neither place nor way nor size. Their bits have its
//! timestamps, its window and the octets that it acknowledges.

use super::parcel::{ALONG, BARE, Parcel, SIZE};
use narrows_tcp::BareAck;
use narrows_wire::Timestamps;

/// Shift of the octets, above the window, which has the bits of the size.
const OCTETS: u32 = 16;

impl Parcel {
    /// A parcel that says no more than the flow that its packet goes along.
    #[inline]
    pub(crate) fn along_flow(flow: usize) -> Self {
        Self { what: 0, whose: flow as u64 | ALONG }
    }

    /// The parcel of an ACK that goes against a flow's direction.
    #[inline]
    pub(crate) fn bare(flow: usize, ack: BareAck) -> Self {
        debug_assert!(ack.octets <= BareAck::MOST);
        let rest = u64::from(ack.octets) << OCTETS | u64::from(ack.window);
        Self {
            what: u64::from(ack.stamps.val) << 32 | BARE | rest,
            whose: u64::from(ack.stamps.ecr) << 32 | flow as u64,
        }
    }

    /// Whether it is an ACK that is not stored; then only [`flow`](Self::flow), [`along`](Self::along) and
    /// [`ack`](Self::ack) have a meaning.
    #[inline]
    pub(crate) fn is_bare(self) -> bool {
        self.what & BARE != 0
    }

    /// The ACK.
    #[inline]
    pub(crate) fn ack(self) -> BareAck {
        debug_assert!(self.is_bare());
        BareAck {
            stamps: Timestamps { val: (self.what >> 32) as u32, ecr: (self.whose >> 32) as u32 },
            octets: (self.what >> OCTETS) as u32 & BareAck::MOST,
            window: (self.what & SIZE) as u16,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parcel_holds_its_ack() {
        for (val, octets, window) in [(u32::MAX, BareAck::MOST, u16::MAX), (0, 1, 0), (1 << 31, 0, 1)] {
            let ack = BareAck { stamps: Timestamps { val, ecr: !val }, octets, window };
            let parcel = Parcel::bare(7, ack);
            assert_eq!((parcel.is_bare(), parcel.flow(), parcel.along(), parcel.ack()), (true, 7, false, ack));
            assert!(!parcel.is_whole() && !parcel.loaded());
        }
    }
}
