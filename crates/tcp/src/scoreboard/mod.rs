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
//! This file has the state, its sums and cumulative acknowledgments. `sack.rs` has what SACK blocks change; `lost.rs`
//! has which segments are deemed lost and what is sent again; `order.rs` has the order of sending; `room.rs` has the
//! capacity of the rings.

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
use room::{fit, make_room};
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

    /// Like [`ack`](Self::ack), on a board that is [clean](Self::is_clean), so that no sums by state change.
    #[inline]
    pub(crate) fn ack_clean(&mut self, upto: u64, mut visit: impl FnMut(&Segment, Option<&Stamp>)) {
        while let Some(&first) = self.segments.front() {
            if first.end() > upto {
                if first.start < upto {
                    return self.ack(upto, visit);
                }
                break;
            }
            self.segments.pop_front();
            self.base += 1;
            self.outstanding -= u64::from(first.len);
            match &mut self.stamps {
                None => visit(&first, None),
                Some(stamps) => visit(&first, stamps.ring.pop_front().as_ref()),
            }
        }
        self.end_ack();
    }

    /// When the earliest segment left, and its octets, if `upto` acknowledges it alone and it was sent once.
    #[inline]
    pub(crate) fn sole_head(&self, upto: u64) -> Option<(Instant, u64)> {
        let first = self.segments.front()?;
        (first.end() == upto && !first.has(flag::EVER)).then_some((first.sent_at, u64::from(first.len)))
    }

    /// Removes the earliest segment, which has `octets`, from a board that is [clean](Self::is_clean) and keeps no
    /// stamps.
    #[inline]
    pub(crate) fn ack_sole_head(&mut self, octets: u64) {
        debug_assert!(self.is_clean() && self.stamps.is_none());
        self.segments.pop_front();
        self.base += 1;
        self.outstanding -= octets;
        self.end_ack();
    }

    /// Removes the earliest segment from a board that is [clean](Self::is_clean); returns it and its stamp.
    #[inline]
    pub(crate) fn take_sole_head(&mut self) -> Option<(Segment, Option<Stamp>)> {
        debug_assert!(self.is_clean());
        let first = self.segments.pop_front()?;
        self.base += 1;
        self.outstanding -= u64::from(first.len);
        let stamp = self.stamps.as_mut().and_then(|stamps| stamps.ring.pop_front());
        self.end_ack();
        Some((first, stamp))
    }

    /// Removes what `upto` acknowledges cumulatively, and passes each segment, as it was, and its stamp to `visit`.
    #[inline(never)]
    pub(crate) fn ack(&mut self, upto: u64, mut visit: impl FnMut(&Segment, Option<&Stamp>)) {
        while let Some(first) = self.segments.front_mut() {
            if first.start >= upto {
                break;
            }
            let whole = first.end() <= upto;
            let mut gone = *first;
            if !whole {
                // Only part of it is acknowledged: the rest stays as a shorter segment with the same history.
                gone.len = u32::try_from(upto - first.start).unwrap_or(first.len);
                gone.flags &= !(flag::FIN | flag::PUSH);
                first.start = upto;
                first.len -= gone.len;
            }
            let len = u64::from(gone.len);
            self.outstanding -= len;
            if self.awaits && self.keeps(keep::EVIDENCE) && !gone.has(flag::SACKED) {
                self.note_evidence(&gone);
            }
            if gone.has(flag::SACKED | flag::LOST | flag::RETRANS) {
                self.forget(&gone);
            }
            let stamp = if self.stamps.is_some() { self.stamp(0) } else { None };
            if whole {
                self.pop_head(&gone);
            } else if gone.has(flag::SACKED) && self.base >= self.frontier {
                self.above_bytes -= len;
            }
            visit(&gone, stamp.as_ref());
            if !whole {
                break;
            }
        }
        self.end_ack();
        // Windows shrink by losses, so it is enough to look here.
        fit(&mut self.segments);
        if let Some(stamps) = &mut self.stamps {
            fit(&mut stamps.ring);
        }
    }

    #[inline]
    fn end_ack(&mut self) {
        self.frontier = self.frontier.max(self.base);
        self.next_rxt = self.next_rxt.max(self.base);
        if self.outstanding == 0 {
            self.rest();
        }
    }

    /// Frees the memory that a large window and losses took, because all is acknowledged and more data may not follow
    /// soon. The state of losses is only about octets that are acknowledged.
    #[inline(never)]
    fn rest(&mut self) {
        if self.segments.capacity() > KEPT {
            self.segments.shrink_to(KEPT);
            if let Some(stamps) = &mut self.stamps {
                stamps.ring.shrink_to(KEPT);
            }
        }
        self.losses = None;
        self.awaits = false;
    }

    /// Frees the segments at the end of a run; the sums stay.
    pub(crate) fn put_away(&mut self) {
        (self.segments, self.stamps, self.losses) = (VecDeque::new(), None, None);
    }

    /// Subtracts a segment from the running sums by state.
    fn forget(&mut self, segment: &Segment) {
        let len = u64::from(segment.len);
        if segment.has(flag::SACKED) {
            self.sacked -= len;
        }
        if segment.has(flag::LOST) {
            self.lost -= len;
        }
        if segment.has(flag::RETRANS) {
            self.retransmitted -= len;
        }
    }

    /// Removes the first segment, `gone`, and moves the frontier past it.
    #[inline]
    fn pop_head(&mut self, gone: &Segment) {
        if self.above_bytes > 0 && self.base >= self.frontier && gone.has(flag::SACKED) {
            self.above_bytes -= u64::from(gone.len);
            if !self.segments.get(1).is_some_and(|s| s.has(flag::SACKED)) {
                self.above_ranges -= 1;
            }
        }
        self.segments.pop_front();
        if let Some(stamps) = &mut self.stamps {
            stamps.ring.pop_front();
        }
        self.base += 1;
    }
}
