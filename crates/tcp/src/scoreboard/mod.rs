//! The scoreboard: the segments sent and not cumulatively acknowledged, and what is known of each.
//!
//! RFC 6675's `SetPipe`, `IsLost` and `NextSeg` are answered from counters and two pointers that only move forward. The
//! cost of an ACK then depends on what it newly reports, not on the size of the window:
//!
//! - `pipe = outstanding - sacked - lost + retransmitted`, each a running sum.
//! - `IsLost(S)` holds for every segment below a *frontier*. At or above it the board counts the SACKed bytes and the
//!   discontiguous SACKed ranges; the frontier moves up while these counts show a loss.
//! - `NextSeg` starts at `next_rxt`, the first segment above HighRxt; segments whose retransmission was lost come
//!   before it.
//!
//! Offsets are 64-bit positions in this end's stream and never wrap; the FIN takes the octet after the last byte.
//!
//! This file has the state and its sums. `acked.rs` has cumulative acknowledgments; `sack.rs` has what SACK blocks
//! change; `lost.rs` has which segments are deemed lost and what is sent again; `order.rs` has the order of sending;
//! `room.rs` has the capacity of the rings.

mod acked;
mod lost;
mod order;
mod room;
mod sack;
#[cfg(test)]
mod tests;

use crate::prefetch::prefetch_lines;
use crate::rate::{InFlight, Stamp};
use crate::segment::{Segment, flag};
use narrows_units::Instant;
pub(crate) use order::Resend;
use order::Retransmissions;
use room::make_room;
use std::collections::VecDeque;

/// The largest number of SACK blocks in an option (RFC 2018).
const MAX_BLOCKS: usize = 4;

/// Capacity that an idle connection keeps, in segments.
const KEPT: usize = 4;

/// What a board keeps beside the segments and their sums.
mod keep {
    /// The order of retransmissions.
    pub(super) const ORDER: u8 = 1;
    /// The evidence against each retransmission.
    pub(super) const EVIDENCE: u8 = 2;
    /// Segments found lost by an ACK, for [`take_found_lost`](super::Scoreboard::take_found_lost).
    pub(super) const FOUND: u8 = 4;
    /// Segments whole: SACK blocks split none.
    pub(super) const WHOLE: u8 = 8;
}

/// The scoreboard of a connection.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Scoreboard {
    // First what plain segments need: it lies on cache lines with what the sender needs for them.
    outstanding: u64,
    segments: VecDeque<Segment>,
    /// Index of `segments[0]`; indices of segments never change meaning except by a split.
    base: u64,
    /// Index below which everything not SACKed is deemed lost.
    frontier: u64,
    /// Discontiguous SACKed ranges at or above the frontier.
    above_ranges: u32,
    /// Number of the last transmission.
    turn: u16,
    /// What is kept for recovery and congestion control; see [`keep`].
    keeps: u8,
    /// Whether any retransmission is watched, so that an ACK without losses need not look at `losses`.
    awaits: bool,
    /// Index of the first segment above HighRxt.
    next_rxt: u64,
    /// The stamps of `segments`, where delivery-rate samples are taken.
    stamps: Option<Box<Stamps>>,
    sacked: u64,
    lost: u64,
    retransmitted: u64,
    /// None as long as nothing was lost or reordered.
    losses: Option<Box<Losses>>,
    /// SACKed bytes at or above the frontier.
    above_bytes: u64,
    /// Offset after the highest SACKed octet.
    high_sacked: u64,
}

/// One stamp for each segment.
#[derive(Debug, Default)]
struct Stamps {
    ring: VecDeque<Stamp>,
}

impl Stamps {
    /// Keeps the stamp of a segment that was added.
    #[inline(never)]
    fn push(&mut self, stamp: Option<Stamp>) {
        make_room(&mut self.ring);
        self.ring.push_back(stamp.unwrap_or_default());
    }
}

/// State that only losses need.
#[derive(Debug, Default)]
struct Losses {
    /// The SACK blocks of the last ACK, all within the board.
    seen: [(u64, u64); MAX_BLOCKS],
    seen_len: usize,
    in_network: Retransmissions,
    /// A retransmission sent after this time may not be what was delivered.
    credible: Instant,
    /// Octets below HighRxt whose retransmission was lost too.
    again: VecDeque<(u64, u64)>,
    found: Vec<(Segment, Stamp)>,
    /// SND.NXT when each of the latest delivered retransmissions was sent, the largest first.
    overtook: Vec<u64>,
}

#[cfg(test)]
impl Scoreboard {
    /// Octets that plain ACKs need.
    pub(crate) const NEEDED: core::ops::Range<usize> = 0..core::mem::offset_of!(Self, sacked);
}

impl Scoreboard {
    /// A field on the second cache line of a connection's scoreboard, for [`prefetch`](crate::Connection::prefetch).
    #[inline]
    pub(crate) fn rare_line(&self) -> &u64 {
        &self.lost
    }

    /// Prefetches the first segment and what losses need.
    #[inline]
    pub(crate) fn prefetch_behind(&self) {
        if let Some(first) = self.segments.front() {
            prefetch_lines(first, 0..1);
        }
        if let Some(losses) = &self.losses {
            prefetch_lines(&**losses, 0..3);
        }
    }

    /// Sent and not cumulatively acknowledged (RFC 5681's FlightSize), in octets.
    #[inline]
    pub(crate) fn flight(&self) -> u64 {
        self.outstanding
    }

    /// What the sampler of delivery rates is told of a transmission.
    #[inline]
    pub(crate) fn in_flight(&self) -> InFlight {
        InFlight { outstanding: self.outstanding, pipe: self.pipe() }
    }

    /// RFC 6675's pipe, in octets.
    #[inline]
    pub(crate) fn pipe(&self) -> u64 {
        self.outstanding - self.sacked - self.lost + self.retransmitted
    }

    /// Octets SACKed and not cumulatively acknowledged.
    #[inline]
    pub(crate) fn sacked(&self) -> u64 {
        self.sacked
    }

    /// Octets of retransmissions in the network.
    #[inline]
    pub(crate) fn retransmitted(&self) -> u64 {
        self.retransmitted
    }

    /// FACK's `awnd`, in octets: sent beyond the highest SACKed octet, and retransmitted.
    #[inline]
    pub(crate) fn awnd(&self) -> u64 {
        let end = self.end();
        let start = self.segments.front().map_or(end, |s| s.start);
        end - self.high_sacked.clamp(start, end) + self.retransmitted
    }

    /// Offset after the last octet sent, SND.NXT; 0 if nothing is outstanding.
    #[inline]
    pub(crate) fn end(&self) -> u64 {
        self.segments.back().map_or(0, Segment::end)
    }

    /// Whether nothing on the board is SACKed, lost or retransmitted, and no retransmission is watched.
    #[inline]
    pub(crate) fn is_clean(&self) -> bool {
        self.sacked | self.lost | self.retransmitted == 0 && !self.awaits
    }

    /// Whether any octet is SACKed.
    #[inline]
    pub(crate) fn any_sacked(&self) -> bool {
        self.sacked > 0
    }

    /// Octets deemed lost, retransmitted or not.
    #[inline]
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// Offset after the highest SACKed octet.
    #[inline]
    pub(crate) fn high_sacked(&self) -> u64 {
        self.high_sacked
    }

    /// Whether nothing is outstanding.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // No segment is empty.
        self.outstanding == 0
    }

    /// All outstanding segments in order.
    pub(crate) fn segments(&self) -> impl Iterator<Item = &Segment> {
        self.segments.iter()
    }

    /// Whether exactly one segment is outstanding.
    #[inline]
    pub(crate) fn is_single(&self) -> bool {
        self.segments.len() == 1
    }

    /// Whether at least `count` segments are SACKed.
    pub(crate) fn has_sacked(&self, count: u32) -> bool {
        let (mut left, mut octets) = (count, self.sacked);
        for segment in &self.segments {
            if left == 0 || octets == 0 {
                break;
            }
            if segment.has(flag::SACKED) {
                (left, octets) = (left - 1, octets.saturating_sub(u64::from(segment.len)));
            }
        }
        left == 0
    }

    /// The earliest outstanding segment.
    #[inline]
    pub(crate) fn head(&self) -> Option<&Segment> {
        self.segments.front()
    }

    /// Whether the earliest outstanding segment may be sent again. A peer that has SACKed it has it: an honest one
    /// acknowledges it at once, and what another does is left to the retransmission timer (RFC 2018, section 8).
    #[inline]
    pub(crate) fn is_head_missing(&self) -> bool {
        self.head().is_some_and(|head| !head.has(flag::SACKED))
    }

    /// Index of the earliest outstanding segment.
    #[inline]
    pub(crate) fn head_index(&self) -> u64 {
        self.base
    }

    /// The segment with this index.
    #[inline]
    pub(crate) fn get(&self, index: u64) -> Option<&Segment> {
        self.segments.get(usize::try_from(index.checked_sub(self.base)?).ok()?)
    }

    /// Keeps a stamp for each segment from now on.
    pub(crate) fn keep_stamps(&mut self) {
        self.stamps.get_or_insert_default();
    }

    /// Adds a segment sent for the first time, which follows everything sent before; `stamp` is kept if stamps are.
    #[inline]
    pub(crate) fn push(&mut self, mut segment: Segment, stamp: Option<Stamp>) {
        segment.turn = self.next_turn();
        self.outstanding += u64::from(segment.len);
        make_room(&mut self.segments);
        self.segments.push_back(segment);
        if let Some(stamps) = &mut self.stamps {
            stamps.push(stamp);
        }
    }

    fn get_mut(&mut self, index: u64) -> Option<&mut Segment> {
        let at = index.checked_sub(self.base).and_then(|at| usize::try_from(at).ok())?;
        self.segments.get_mut(at)
    }

    /// Notes that the segment with this index leaves as the first of a super-packet.
    pub(crate) fn part(&mut self, index: u64) {
        if let Some(segment) = self.get_mut(index) {
            segment.flags &= !flag::JOINED;
        }
    }

    /// The number of the next transmission.
    #[inline]
    fn next_turn(&mut self) -> u16 {
        self.turn = self.turn.wrapping_add(1);
        self.turn
    }

    /// Whether it keeps what `what` names.
    #[inline]
    fn keeps(&self, what: u8) -> bool {
        self.keeps & what != 0
    }

    fn stamp(&self, at: usize) -> Option<Stamp> {
        self.stamps.as_ref().and_then(|stamps| stamps.ring.get(at).copied())
    }

    fn losses(&mut self) -> &mut Losses {
        self.losses.get_or_insert_default()
    }

    /// Keeps the lost segment at position `at` if losses are reported.
    #[inline]
    fn note_lost(&mut self, at: usize) {
        if self.keeps(keep::FOUND)
            && let Some(&segment) = self.segments.get(at)
        {
            let stamp = self.stamp(at).unwrap_or_default();
            self.losses().found.push((segment, stamp));
        }
    }
}
