//! What moves from hop to hop in place of a packet.

use crate::event::Hint;
use crate::routes::Way;
use narrows_units::Bytes;
use narrows_wire::Packet;

/// Bit in the flow's half: the packet travels from the flow's `from` to its `to`.
pub(super) const ALONG: u64 = 1 << 31;
/// Bit in the size's half: the packet carries payload.
pub(super) const LOADED: u64 = 1 << 31;
/// Bit in the size's half: the packet is not stored as a segment.
pub(super) const WHOLE: u64 = 1 << 30;
/// Bit in the size's half: the packet is not stored at all ([`bare`](super::bare)).
pub(super) const BARE: u64 = 1 << 29;
/// Bits of the size.
pub(super) const SIZE: u64 = 0xffff;

/// A packet in flight: its place, and what hops need to know of it.
///
/// It is two words, so that it is passed in two registers; four half-words would go through memory at every call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parcel {
    /// Size in the lower half, place in the upper.
    pub(super) what: u64,
    /// Flow in the lower half, remaining way in the upper.
    pub(super) whose: u64,
}

impl Parcel {
    /// No packet.
    pub(crate) const NONE: Self = Self { what: 0, whose: 0 };

    /// The parcel of a packet of a flow; `whole`: zero, or [`WHOLE`].
    #[inline]
    pub(super) fn new(packet: &Packet, place: u32, whole: u64, flow: usize, along: bool, way: Way) -> Self {
        Self {
            what: u64::from(place) << 32 | Self::measure(packet) | whole,
            whose: u64::from(way.number()) << 32 | flow as u64 | if along { ALONG } else { 0 },
        }
    }

    #[inline]
    pub(super) fn place(self) -> usize {
        (self.what >> 32) as usize
    }

    /// Length of the IP packet.
    #[inline]
    pub(crate) fn size(self) -> Bytes {
        Bytes::new(self.what & SIZE)
    }

    /// Index of the flow that it belongs to.
    #[inline]
    pub(crate) fn flow(self) -> usize {
        (self.whose & (ALONG - 1)) as usize
    }

    /// Its flow and direction, which say where it goes before it arrives.
    #[inline]
    pub(crate) fn hint(self) -> Hint {
        self.whose as Hint
    }

    /// The flow that a hint names, and whether the packet travels along it.
    #[inline]
    pub(crate) fn hinted(hint: Hint) -> (usize, bool) {
        let hint = u64::from(hint);
        ((hint & (ALONG - 1)) as usize, hint & ALONG != 0)
    }

    /// Whether it travels from the flow's `from` to its `to`.
    #[inline]
    pub(crate) fn along(self) -> bool {
        self.whose & ALONG != 0
    }

    /// Whether it carries payload.
    #[inline]
    pub(crate) fn loaded(self) -> bool {
        self.what & LOADED != 0
    }

    /// Whether the packet is stored whole, because it is no ordinary TCP segment.
    #[inline]
    pub(crate) fn is_whole(self) -> bool {
        self.what & WHOLE != 0
    }

    /// The way that remains.
    #[inline]
    pub(crate) fn way(self) -> Way {
        Way::new((self.whose >> 32) as u32)
    }

    /// The parcel one hop further.
    #[inline]
    #[must_use]
    pub(crate) fn advanced(self) -> Self {
        Self { whose: self.whose + (1 << 32), ..self }
    }

    /// The parcel some hops further.
    #[inline]
    #[must_use]
    pub(crate) fn advanced_by(self, hops: u32) -> Self {
        Self { whose: self.whose + (u64::from(hops) << 32), ..self }
    }

    /// The lower half of `what` for a packet. The size fits: an IP packet has at most 65,535 bytes.
    #[inline]
    pub(super) fn measure(packet: &Packet) -> u64 {
        packet.len().as_u64() & SIZE | if packet.payload_len > 0 { LOADED } else { 0 }
    }
}
