//! The scoreboard: what was sent and is not cumulatively acknowledged, and what is known of each segment.
//!
//! RFC 6675's `SetPipe`, `IsLost` and `NextSeg` are answered from counters and two pointers that only move forward, so
//! that an ACK costs as much as it brings news, however large the window is:
//!
//! - `pipe = outstanding - sacked - lost + retransmitted`, each a running sum.
//! - `IsLost(S)` holds for every segment below a *frontier*. Of what lies at or above it the board counts the SACKed
//!   bytes and the discontiguous SACKed ranges; the frontier moves up while these counts say so.
//! - `NextSeg` starts at `next_rxt`, the first segment above HighRxt; what is to be sent a third time comes before it.
//!
//! Offsets are 64-bit positions in the own stream and never wrap; the FIN takes the octet after the last byte.

use crate::rate::Stamp;
use crate::retransmissions::Retransmissions;
use crate::segment::{Segment, flag};
use narrows_units::Instant;
use std::collections::VecDeque;

/// The largest number of SACK blocks in an option (RFC 2018).
const MAX_BLOCKS: usize = 4;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    segments: VecDeque<Segment>,
    /// Index of `segments[0]`; indices of segments never change meaning except by a split.
    base: u64,
    outstanding: u64,
    sacked: u64,
    lost: u64,
    retransmitted: u64,
    /// Index below which everything not SACKed is deemed lost.
    frontier: u64,
    /// SACKed bytes at or above the frontier.
    above_bytes: u64,
    /// Discontiguous SACKed ranges at or above the frontier.
    above_ranges: u32,
    /// Offset after the highest SACKed octet.
    high_sacked: u64,
    /// Index of the first segment above HighRxt.
    next_rxt: u64,
    /// The blocks of the last ACK, all of them on the board.
    seen: [(u64, u64); MAX_BLOCKS],
    seen_len: usize,
    /// Whether lost retransmissions are looked for.
    tracking: bool,
    in_network: Retransmissions,
    /// What was sent after this time and is not the first transmission may not be what was delivered.
    credible: Instant,
    /// Below HighRxt: octets whose retransmission was lost too.
    again: VecDeque<(u64, u64)>,
    /// Whether segments found lost by an ACK are kept for [`take_found_lost`](Scoreboard::take_found_lost).
    reporting: bool,
    found_lost: Vec<Segment>,
}

impl Scoreboard {
    /// Sent and not cumulatively acknowledged (RFC 5681's FlightSize), in octets.
    #[inline]
    pub(crate) fn flight(&self) -> u64 {
        self.outstanding
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

    /// FACK's `awnd`, in octets: sent beyond the highest SACKed octet, and retransmitted.
    #[inline]
    pub(crate) fn awnd(&self) -> u64 {
        let end = self.segments.back().map_or(0, Segment::end);
        let start = self.segments.front().map_or(end, |s| s.start);
        end - self.high_sacked.clamp(start, end) + self.retransmitted
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
        self.segments.is_empty()
    }

    /// The earliest outstanding segment.
    #[inline]
    pub(crate) fn head(&self) -> Option<&Segment> {
        self.segments.front()
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

    /// Adds a segment sent for the first time, which follows everything sent before.
    #[inline]
    pub(crate) fn push(&mut self, segment: Segment) {
        self.outstanding += u64::from(segment.len);
        self.segments.push_back(segment);
    }

    /// Takes off what `upto` acknowledges cumulatively, and shows each segment, as it was, to `visit`.
    pub(crate) fn ack(&mut self, upto: u64, mut visit: impl FnMut(&Segment)) {
        while let Some(first) = self.segments.front_mut() {
            if first.start >= upto {
                break;
            }
            let whole = first.end() <= upto;
            let mut gone = *first;
            if !whole {
                // Only part of it: the rest stays as a shorter segment with the same history.
                gone.len = u32::try_from(upto - first.start).unwrap_or(first.len);
                gone.flags &= !flag::FIN;
                first.start = upto;
                first.len -= gone.len;
            }
            let len = u64::from(gone.len);
            self.outstanding -= len;
            if !gone.has(flag::SACKED) {
                self.note_delivery(&gone);
            }
            if gone.flags & (flag::SACKED | flag::LOST | flag::RETRANS) != 0 {
                self.forget(&gone);
            }
            if whole {
                self.pop_head(&gone);
            } else if gone.has(flag::SACKED) && self.base >= self.frontier {
                self.above_bytes -= len;
            }
            visit(&gone);
            if !whole {
                break;
            }
        }
        self.frontier = self.frontier.max(self.base);
        self.next_rxt = self.next_rxt.max(self.base);
    }

    /// Takes a segment off the running sums by state.
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
        self.base += 1;
    }

    /// Notes the SACK blocks of an ACK, as offsets, all within what is outstanding; shows each newly SACKed segment,
    /// as it was before, to `visit`. Returns the octets newly SACKed.
    pub(crate) fn sack(&mut self, blocks: &[(u64, u64)], mut visit: impl FnMut(&Segment)) -> u64 {
        let before = self.sacked;
        for &(left, right) in blocks {
            // What an earlier ACK reported need not be looked at again; what is new lies at either end of it.
            let known = self.seen[..self.seen_len].iter().find(|k| k.0 < right && left < k.1).copied();
            match known {
                Some(known) => {
                    self.sack_range(left, right.min(known.0), &mut visit);
                    self.sack_range(left.max(known.1), right, &mut visit);
                }
                None => self.sack_range(left, right, &mut visit),
            }
        }
        self.seen_len = blocks.len().min(MAX_BLOCKS);
        self.seen[..self.seen_len].copy_from_slice(&blocks[..self.seen_len]);
        self.sacked - before
    }

    fn sack_range(&mut self, left: u64, right: u64, visit: &mut impl FnMut(&Segment)) {
        if left >= right {
            return;
        }
        let mut at = self.segments.partition_point(|s| s.end() <= left);
        while let Some(segment) = self.segments.get(at).copied() {
            if segment.start >= right {
                break;
            }
            if segment.has(flag::SACKED) {
                at += 1;
                continue;
            }
            if segment.start < left {
                self.split(at, left);
                at += 1;
                continue;
            }
            if segment.end() > right {
                self.split(at, right);
                continue;
            }
            visit(&segment);
            self.note_delivery(&segment);
            self.set_sacked(at);
            at += 1;
        }
    }

    fn set_sacked(&mut self, at: usize) {
        let segment = self.segments[at];
        let index = self.base + at as u64;
        self.forget(&segment);
        self.sacked += u64::from(segment.len);
        self.segments[at].flags = (segment.flags & !(flag::LOST | flag::RETRANS)) | flag::SACKED;
        self.high_sacked = self.high_sacked.max(segment.end());
        if index >= self.frontier {
            self.above_bytes += u64::from(segment.len);
            let before = index > self.frontier && at > 0 && self.segments[at - 1].has(flag::SACKED);
            let after = self.segments.get(at + 1).is_some_and(|s| s.has(flag::SACKED));
            match (before, after) {
                (true, true) => self.above_ranges -= 1,
                (false, false) => self.above_ranges += 1,
                _ => {}
            }
        }
    }

    /// Splits the segment at position `at` at an offset inside it; both halves keep its history.
    fn split(&mut self, at: usize, offset: u64) {
        let index = self.base + at as u64;
        let Some(segment) = self.segments.get_mut(at) else { return };
        let mut rest = *segment;
        let Ok(front) = u32::try_from(offset - segment.start) else { return };
        segment.len = front;
        segment.flags &= !flag::FIN;
        rest.start = offset;
        rest.len -= front;
        self.segments.insert(at + 1, rest);
        if self.frontier > index {
            self.frontier += 1;
        }
        if self.next_rxt > index {
            self.next_rxt += 1;
        }
    }

    /// Marks what RFC 6675's `IsLost` says, with `dupthresh` ranges or more than `bytes` SACKed octets above; returns the
    /// octets newly marked.
    #[inline]
    pub(crate) fn mark_lost(&mut self, dupthresh: u32, bytes: u64) -> u64 {
        if self.above_bytes == 0 { 0 } else { self.advance_frontier(dupthresh, bytes) }
    }

    fn advance_frontier(&mut self, dupthresh: u32, bytes: u64) -> u64 {
        let mut newly = 0;
        while self.above_bytes > 0 {
            let at = (self.frontier - self.base) as usize;
            let sacked_next = self.segments.get(at + 1).is_some_and(|s| s.has(flag::SACKED));
            let Some(segment) = self.segments.get_mut(at) else { break };
            if segment.has(flag::SACKED) {
                self.above_bytes -= u64::from(segment.len);
                if !sacked_next {
                    self.above_ranges -= 1;
                }
            } else if self.above_ranges >= dupthresh || self.above_bytes > bytes {
                if !segment.has(flag::LOST) {
                    segment.flags |= flag::LOST;
                    newly += u64::from(segment.len);
                    if self.reporting {
                        self.found_lost.push(*segment);
                    }
                }
            } else {
                break;
            }
            self.frontier += 1;
        }
        self.lost += newly;
        newly
    }

    /// From now on segments that an ACK shows to be lost are kept for [`take_found_lost`](Self::take_found_lost).
    pub(crate) fn report_losses(&mut self) {
        self.reporting = true;
    }

    /// The segments that were shown to be lost since the last call, in order; none unless they are reported.
    pub(crate) fn take_found_lost(&mut self) -> Vec<Segment> {
        core::mem::take(&mut self.found_lost)
    }

    /// From now on retransmissions are watched, so that [`mark_lost_retransmissions`](Self::mark_lost_retransmissions) finds
    /// those that are lost.
    pub(crate) fn track_retransmissions(&mut self) {
        self.tracking = true;
    }

    /// Whether the deliveries of an ACK may be evidence against a retransmission.
    #[inline]
    pub(crate) fn awaits_retransmissions(&self) -> bool {
        !self.in_network.is_empty()
    }

    /// Of what was sent more than once, deliveries count as those of the last transmission only if it was sent at `credible`
    /// or before: a round trip ago (RFC 8985, section 6.2, step 2).
    pub(crate) fn believe(&mut self, credible: Instant) {
        self.credible = credible;
    }

    #[inline]
    fn note_delivery(&mut self, segment: &Segment) {
        if !self.in_network.is_empty() {
            self.note_evidence(segment);
        }
    }

    fn note_evidence(&mut self, segment: &Segment) {
        let octets = u64::from(segment.len);
        if !segment.has(flag::EVER) {
            self.in_network.on_first_delivered(segment.start, octets);
        } else if segment.sent_at <= self.credible {
            self.in_network.on_delivered(segment.sent_at, segment.start, octets);
        }
    }

    /// Deems those retransmissions lost after which at least `dupthresh` segments or more than `bytes` octets were sent that
    /// are delivered; returns the octets, and when the last of them was sent. They are no longer in the pipe, and `NextSeg`
    /// has them first.
    #[inline]
    pub(crate) fn mark_lost_retransmissions(&mut self, dupthresh: u32, bytes: u64) -> (u64, Option<Instant>) {
        let (mut newly, mut sent_at) = (0, None);
        while let Some(old) = self.in_network.pop_overdue(dupthresh, bytes) {
            let octets = self.lose_retransmission(old.sent_at, old.start, old.end);
            if octets > 0 {
                newly += octets;
                sent_at = Some(old.sent_at);
            }
        }
        (newly, sent_at)
    }

    fn lose_retransmission(&mut self, sent_at: Instant, start: u64, end: u64) -> u64 {
        let mut newly = 0;
        let mut at = self.segments.partition_point(|s| s.end() <= start);
        while let Some(segment) = self.segments.get_mut(at).filter(|s| s.start < end) {
            // It may have been delivered, or sent again since.
            if segment.has(flag::RETRANS) && segment.sent_at == sent_at {
                let len = u64::from(segment.len);
                segment.flags &= !flag::RETRANS;
                self.retransmitted -= len;
                if !segment.has(flag::LOST) {
                    // The original was sent even earlier.
                    segment.flags |= flag::LOST;
                    self.lost += len;
                }
                newly += len;
                if self.reporting {
                    self.found_lost.push(*segment);
                }
                if self.base + (at as u64) < self.next_rxt {
                    self.again.push_back((segment.start, segment.end()));
                }
            }
            at += 1;
        }
        newly
    }

    /// Marks the earliest segment lost; returns the octets newly marked.
    pub(crate) fn mark_head_lost(&mut self) -> u64 {
        let Some(head) = self.segments.front_mut() else { return 0 };
        if head.has(flag::LOST | flag::SACKED) {
            return 0;
        }
        head.flags |= flag::LOST;
        if self.reporting {
            self.found_lost.push(*head);
        }
        self.lost += u64::from(head.len);
        u64::from(head.len)
    }

    /// Marks everything that is not SACKed lost, retransmissions included, and starts `NextSeg` anew; returns the octets
    /// newly marked. SACK information is kept (RFC 6675, section 5.1) unless the head is SACKed: then the peer reneged
    /// (RFC 2018, section 8) and nothing it reported counts.
    pub(crate) fn mark_all_lost(&mut self) -> u64 {
        let reneged = self.head().is_some_and(|s| s.has(flag::SACKED));
        let before = self.lost;
        for segment in &mut self.segments {
            if reneged {
                segment.flags &= !flag::SACKED;
            }
            segment.flags &= !flag::RETRANS;
            if !segment.has(flag::SACKED) {
                if self.reporting && !segment.has(flag::LOST) {
                    self.found_lost.push(*segment);
                }
                segment.flags |= flag::LOST;
            }
        }
        if reneged {
            self.sacked = 0;
            self.seen_len = 0;
            self.high_sacked = 0;
        }
        self.retransmitted = 0;
        self.lost = self.outstanding - self.sacked;
        self.frontier = self.base + self.segments.len() as u64;
        self.above_bytes = 0;
        self.above_ranges = 0;
        self.next_rxt = self.base;
        self.in_network.clear();
        self.again.clear();
        self.lost - before
    }

    /// Takes back every verdict of loss, because the retransmission was spurious; the frontier starts anew at the head, so
    /// that what really is lost is found again.
    pub(crate) fn clear_lost(&mut self) {
        let mut inside = false;
        self.above_ranges = 0;
        for segment in &mut self.segments {
            segment.flags &= !flag::LOST;
            let sacked = segment.has(flag::SACKED);
            self.above_ranges += u32::from(sacked && !inside);
            inside = sacked;
        }
        self.lost = 0;
        self.frontier = self.base;
        self.above_bytes = self.sacked;
    }

    /// Starts `NextSeg` at the head: HighRxt = HighACK.
    pub(crate) fn restart_retransmission(&mut self) {
        self.next_rxt = self.base;
        self.again.clear();
    }

    /// The first segment above HighRxt that is not SACKED and has no retransmission in the network; before it those whose
    /// retransmission was lost.
    #[inline]
    pub(crate) fn next_hole(&mut self) -> Option<u64> {
        if !self.again.is_empty()
            && let Some(index) = self.next_again()
        {
            return Some(index);
        }
        while let Some(segment) = self.get(self.next_rxt) {
            if !segment.has(flag::SACKED | flag::RETRANS) {
                return Some(self.next_rxt);
            }
            self.next_rxt += 1;
        }
        None
    }

    #[cold]
    fn next_again(&mut self) -> Option<u64> {
        while let Some(&(start, end)) = self.again.front() {
            let first = self.segments.partition_point(|s| s.end() <= start);
            let parts = self.segments.iter().enumerate().skip(first).take_while(|(_, s)| s.start < end);
            let hole = |s: &Segment| !s.has(flag::SACKED | flag::RETRANS);
            if let Some((at, _)) = parts.into_iter().find(|(_, s)| hole(s)) {
                return Some(self.base + at as u64);
            }
            self.again.pop_front();
        }
        None
    }

    /// The highest segment that is not SACKed, for the rescue retransmission.
    pub(crate) fn last_hole(&self) -> Option<u64> {
        let at = self.segments.iter().rposition(|s| !s.has(flag::SACKED))?;
        Some(self.base + at as u64)
    }

    /// Notes the retransmission of a segment; `rescue` leaves HighRxt and the pipe alone (RFC 6675, NextSeg rule 4). Returns
    /// whether it replaces a retransmission that was lost.
    pub(crate) fn on_retransmit(
        &mut self,
        index: u64,
        now: Instant,
        stamp: Stamp,
        app_limited: bool,
        rescue: bool,
    ) -> bool {
        let Some(at) = index.checked_sub(self.base).and_then(|at| usize::try_from(at).ok()) else { return false };
        let Some(segment) = self.segments.get_mut(at) else { return false };
        segment.sent_at = now;
        segment.stamp = stamp;
        segment.flags =
            (segment.flags & !flag::APP_LIMITED) | flag::EVER | if app_limited { flag::APP_LIMITED } else { 0 };
        if !rescue {
            if !segment.has(flag::RETRANS) {
                segment.flags |= flag::RETRANS;
                self.retransmitted += u64::from(segment.len);
            }
            self.next_rxt = self.next_rxt.max(index + 1);
        }
        let (start, end, watched) = (segment.start, segment.end(), segment.has(flag::RETRANS));
        if self.tracking && watched {
            let nxt = self.segments.back().map_or(end, Segment::end);
            self.in_network.push(now, start, end, nxt);
        }
        self.again.front().is_some_and(|&(from, to)| (from..to).contains(&start))
    }

    /// Recomputes every counter from the flags and compares; for tests.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        let sum = |mask: u8| -> u64 { self.segments.iter().filter(|s| s.has(mask)).map(|s| u64::from(s.len)).sum() };
        assert_eq!(self.sacked, sum(flag::SACKED), "sacked");
        assert_eq!(self.lost, sum(flag::LOST), "lost");
        assert_eq!(self.retransmitted, sum(flag::RETRANS), "retransmitted");
        assert_eq!(self.outstanding, self.segments.iter().map(|s| u64::from(s.len)).sum::<u64>(), "outstanding");
        let mut end = None;
        for s in &self.segments {
            assert!(end.is_none_or(|e| e == s.start), "segments are contiguous");
            assert!(s.len > 0, "no empty segment");
            assert!(
                !(s.has(flag::SACKED) && s.has(flag::LOST | flag::RETRANS)),
                "SACKed is neither lost nor retransmitted"
            );
            end = Some(s.end());
        }
        let skip = usize::try_from(self.frontier.saturating_sub(self.base)).unwrap_or(usize::MAX);
        let (mut bytes, mut ranges, mut inside) = (0, 0, false);
        for s in self.segments.iter().skip(skip) {
            let sacked = s.has(flag::SACKED);
            bytes += if sacked { u64::from(s.len) } else { 0 };
            ranges += u32::from(sacked && !inside);
            inside = sacked;
        }
        assert_eq!((self.above_bytes, self.above_ranges), (bytes, ranges), "SACKed above the frontier");
        assert!(self.frontier >= self.base && self.next_rxt >= self.base, "pointers are on the board");
        self.check_retransmissions();
    }

    #[cfg(test)]
    fn check_retransmissions(&self) {
        self.in_network.check();
        assert!(self.tracking || (self.in_network.is_empty() && self.again.is_empty()), "nobody watches");
        for (i, s) in self.segments.iter().enumerate() {
            let covers = |start: u64, end: u64| start <= s.start && s.end() <= end;
            if s.has(flag::RETRANS) && self.tracking {
                let watched = self.in_network.iter().filter(|r| r.sent_at == s.sent_at && covers(r.start, r.end));
                assert!(watched.count() > 0, "a retransmission in the network is watched");
            } else if !s.has(flag::SACKED | flag::RETRANS) && self.base + (i as u64) < self.next_rxt {
                assert!(
                    self.again.iter().any(|&(start, end)| covers(start, end)),
                    "a hole below HighRxt is not forgotten"
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    const LEN: u64 = 10;

    fn filled(n: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        for i in 0..n {
            let (start, len) = (i * LEN, LEN as u32);
            board.push(Segment { start, len, flags: 0, sent_at: Instant::ZERO, stamp: Stamp::default() });
        }
        board
    }

    #[test]
    fn parts_of_segments_are_acknowledged_and_sacked() {
        let mut board = filled(4);
        assert_eq!(board.sack(&[(12, 17)], |_| {}), 5);
        board.check();
        board.ack(5, |s| assert_eq!(s.len, 5));
        board.check();
        assert_eq!((board.flight(), board.pipe()), (35, 30));
        board.ack(15, |_| {});
        board.check();
        assert_eq!((board.flight(), board.pipe()), (25, 23));
    }

    #[test]
    fn a_reneging_peer_is_not_believed() {
        let mut board = filled(4);
        board.sack(&[(0, 20)], |_| {});
        assert_eq!(board.mark_all_lost(), 40);
        board.check();
        assert_eq!(board.pipe(), 0);
        assert_eq!(board.sack(&[(0, 20)], |_| {}), 20, "and may report again");
    }

    proptest! {
        /// Against RFC 6675's definitions, evaluated from scratch after every step.
        #[test]
        fn pipe_and_is_lost_are_those_of_the_definition(steps in prop::collection::vec((0u8..10, 0u64..60, 1u64..6), 1..80)) {
            let mut board = filled(60);
            let mut una = 0;
            for (what, at, len) in steps {
                match what {
                    0 => {
                        una = (una + len * 7).min(60 * LEN);
                        board.ack(una, |_| {});
                    }
                    1 => {
                        if let Some(hole) = board.next_hole() {
                            board.on_retransmit(hole, Instant::ZERO, Stamp::default(), false, false);
                        }
                    }
                    _ => {
                        let (left, right) = ((at * LEN).max(una), ((at + len) * LEN).min(60 * LEN));
                        if left < right {
                            board.sack(&[(left, right)], |_| {});
                        }
                    }
                }
                board.mark_lost(3, 2 * LEN);
                board.check();
                let mut pipe = 0;
                for (i, segment) in board.segments.iter().enumerate() {
                    let (mut bytes, mut ranges, mut inside) = (0, 0, false);
                    for above in board.segments.iter().skip(i + 1) {
                        let sacked = above.has(flag::SACKED);
                        bytes += if sacked { u64::from(above.len) } else { 0 };
                        ranges += u32::from(sacked && !inside);
                        inside = sacked;
                    }
                    let is_lost = ranges >= 3 || bytes > 2 * LEN;
                    if segment.has(flag::SACKED) {
                        continue;
                    }
                    prop_assert_eq!(segment.has(flag::LOST), is_lost, "segment at {}", segment.start);
                    pipe += if is_lost { 0 } else { u64::from(segment.len) };
                    pipe += if segment.has(flag::RETRANS) { u64::from(segment.len) } else { 0 };
                }
                prop_assert_eq!(board.pipe(), pipe);
            }
        }

        /// Against the rule, evaluated from scratch: of every transmission after a retransmission that of its segment's last
        /// is known to be delivered, and three of them, or more than the octets of two, mean that it is lost.
        #[test]
        fn retransmissions_are_lost_by_the_definition(
            steps in prop::collection::vec((0u8..12, 0u64..60, 1u64..4, any::<bool>()), 1..150),
        ) {
            #[derive(Clone, Copy, PartialEq)]
            enum Fate { Sent, Replaced, Delivered, Lost }
            let mut board = filled(30);
            board.track_retransmissions();
            // In order of sending: the segment's offset, and what became of it.
            let mut sent: Vec<(u64, Fate)> = (0..30).map(|i| (i * LEN, Fate::Sent)).collect();
            let (mut una, mut nxt, mut clock) = (0, 30 * LEN, 0);
            let mut ever_lost = std::collections::BTreeSet::new();
            for (what, at, len, later) in steps {
                clock += u64::from(later);
                let now = Instant::from_nanos(clock);
                board.believe(now);
                let mut deliver = |from: u64, to: u64| for s in &mut sent {
                    if (from..to).contains(&s.0) && s.1 == Fate::Sent {
                        s.1 = Fate::Delivered;
                    }
                };
                match what {
                    0 => {
                        let to = (una + len * LEN).min(nxt);
                        deliver(una, to);
                        board.ack(to, |_| {});
                        una = to;
                    }
                    1..=4 => {
                        let hole = board.next_hole().and_then(|index| board.get(index).copied().map(|s| (index, s.start)));
                        // The same octets are not sent twice at an instant.
                        if let Some((index, start)) = hole && board.get(index).is_some_and(|s| s.sent_at < now) {
                            for s in sent.iter_mut().filter(|s| s.0 == start && s.1 == Fate::Sent) {
                                s.1 = Fate::Replaced;
                            }
                            board.on_retransmit(index, now, Stamp::default(), false, false);
                            sent.push((start, Fate::Sent));
                        }
                    }
                    5 | 6 => {
                        let stamp = Stamp::default();
                        board.push(Segment { start: nxt, len: LEN as u32, flags: 0, sent_at: now, stamp });
                        sent.push((nxt, Fate::Sent));
                        nxt += LEN;
                    }
                    _ => {
                        let (left, right) = ((at * LEN).max(una), ((at + len) * LEN).min(nxt));
                        if left < right {
                            deliver(left, right);
                            board.sack(&[(left, right)], |_| {});
                        }
                    }
                }
                let mut newly = 0;
                for i in 0..sent.len() {
                    let again = sent[..i].iter().any(|s| s.0 == sent[i].0);
                    let evidence = sent[i + 1..].iter().filter(|s| s.1 == Fate::Delivered).count();
                    if again && sent[i].1 == Fate::Sent && evidence >= 3 {
                        sent[i].1 = Fate::Lost;
                        ever_lost.insert(sent[i].0);
                        newly += LEN;
                    }
                }
                prop_assert_eq!(board.mark_lost_retransmissions(3, 2 * LEN).0, newly);
                board.mark_lost(3, 2 * LEN);
                board.check();
                for (i, segment) in board.segments.iter().enumerate().filter(|(_, s)| !s.has(flag::SACKED)) {
                    let last = sent.iter().rposition(|s| s.0 == segment.start).unwrap();
                    let again = sent[..last].iter().any(|s| s.0 == segment.start);
                    prop_assert_eq!(segment.has(flag::RETRANS), again && sent[last].1 == Fate::Sent, "{}", segment.start);
                    let above: u64 =
                        board.segments.iter().skip(i + 1).filter(|s| s.has(flag::SACKED)).map(|s| u64::from(s.len)).sum();
                    let mut inside = false;
                    let ranges = board.segments.iter().skip(i + 1).filter(|s| {
                        let begins = s.has(flag::SACKED) && !inside;
                        inside = s.has(flag::SACKED);
                        begins
                    });
                    let is_lost = ranges.count() >= 3 || above > 2 * LEN || ever_lost.contains(&segment.start);
                    prop_assert_eq!(segment.has(flag::LOST), is_lost, "segment at {}", segment.start);
                }
            }
        }
    }
}
