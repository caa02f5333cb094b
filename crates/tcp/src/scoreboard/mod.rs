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
//! has which segments are deemed lost and what is sent again.

mod lost;
mod sack;

use crate::rate::Stamp;
use crate::retransmissions::Retransmissions;
use crate::segment::{Segment, flag};
use narrows_units::Instant;
use std::collections::VecDeque;

/// The largest number of SACK blocks in an option (RFC 2018).
const MAX_BLOCKS: usize = 4;

/// Capacity that an idle connection keeps, in segments.
const KEPT: usize = 4;

/// The scoreboard of a connection.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Scoreboard {
    outstanding: u64,
    segments: VecDeque<Segment>,
    /// Index of `segments[0]`; indices of segments never change meaning except by a split.
    base: u64,
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
    /// Whether to look for lost retransmissions.
    tracking: bool,
    /// Whether any retransmission is watched, so that an ACK without losses need not look at `losses`.
    awaits: bool,
    /// Whether segments found lost by an ACK are kept for [`take_found_lost`](Scoreboard::take_found_lost).
    reporting: bool,
    /// The stamps of `segments`, where delivery-rate samples are taken.
    stamps: Option<Box<Stamps>>,
    /// None as long as nothing was lost or reordered.
    losses: Option<Box<Losses>>,
}

/// One stamp for each segment.
#[derive(Debug, Default)]
struct Stamps {
    ring: VecDeque<Stamp>,
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

    /// Keeps a stamp for each segment from now on.
    pub(crate) fn keep_stamps(&mut self) {
        self.stamps.get_or_insert_default();
    }

    /// Adds a segment sent for the first time, which follows everything sent before; `stamp` is kept if stamps are.
    #[inline]
    pub(crate) fn push(&mut self, segment: Segment, stamp: Option<Stamp>) {
        self.outstanding += u64::from(segment.len);
        self.segments.push_back(segment);
        if let Some(stamps) = &mut self.stamps {
            stamps.ring.push_back(stamp.unwrap_or_default());
        }
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
        if self.reporting
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
                gone.flags &= !flag::FIN;
                first.start = upto;
                first.len -= gone.len;
            }
            let len = u64::from(gone.len);
            self.outstanding -= len;
            if self.awaits && !gone.has(flag::SACKED) {
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
        let none = Losses::default();
        let Losses { in_network, again, .. } = self.losses.as_deref().unwrap_or(&none);
        in_network.check();
        assert_eq!(self.awaits, !in_network.is_empty());
        assert!(self.tracking || (in_network.is_empty() && again.is_empty()), "nobody watches");
        assert!(self.stamps.as_ref().is_none_or(|stamps| stamps.ring.len() == self.segments.len()), "one stamp each");
        for (i, s) in self.segments.iter().enumerate() {
            let covers = |start: u64, end: u64| start <= s.start && s.end() <= end;
            if s.has(flag::RETRANS) && self.tracking {
                let watched = in_network.iter().filter(|r| r.sent_at == s.sent_at && covers(r.start, r.end));
                assert!(watched.count() > 0, "a retransmission in the network is watched");
            } else if !s.has(flag::SACKED | flag::RETRANS) && self.base + (i as u64) < self.next_rxt {
                assert!(again.iter().any(|&(start, end)| covers(start, end)), "a hole below HighRxt is not forgotten");
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
            board.push(Segment { start, len, flags: 0, sent_at: Instant::ZERO }, None);
        }
        board
    }

    #[test]
    fn parts_of_segments_are_acknowledged_and_sacked() {
        let mut board = filled(4);
        assert_eq!(board.sack(&[(12, 17)], |_, _| {}), 5);
        board.check();
        board.ack(5, |s, _| assert_eq!(s.len, 5));
        board.check();
        assert_eq!((board.flight(), board.pipe()), (35, 30));
        board.ack(15, |_, _| {});
        board.check();
        assert_eq!((board.flight(), board.pipe()), (25, 23));
    }

    #[test]
    fn a_reneging_peer_is_not_believed() {
        let mut board = filled(4);
        board.sack(&[(0, 20)], |_, _| {});
        assert_eq!(board.mark_all_lost(), 40);
        board.check();
        assert_eq!(board.pipe(), 0);
        assert_eq!(board.sack(&[(0, 20)], |_, _| {}), 20, "and may report again");
    }

    proptest! {
        /// Compares with RFC 6675's definitions, evaluated from scratch after every step.
        #[test]
        fn pipe_and_is_lost_are_those_of_the_definition(steps in prop::collection::vec((0u8..10, 0u64..60, 1u64..6), 1..80)) {
            let mut board = filled(60);
            let mut una = 0;
            for (what, at, len) in steps {
                match what {
                    0 => {
                        una = (una + len * 7).min(60 * LEN);
                        board.ack(una, |_, _| {});
                    }
                    1 => {
                        if let Some(hole) = board.next_hole() {
                            board.on_retransmit(hole, Instant::ZERO, None, false, false);
                        }
                    }
                    _ => {
                        let (left, right) = ((at * LEN).max(una), ((at + len) * LEN).min(60 * LEN));
                        if left < right {
                            board.sack(&[(left, right)], |_, _| {});
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

        /// Compares with the rule, evaluated from scratch. A retransmission is lost once three transmissions sent after
        /// it, or more than the octets of two, are known to be delivered; only the last transmission of a segment is
        /// known to be.
        #[test]
        fn retransmissions_are_lost_by_the_definition(
            steps in prop::collection::vec((0u8..12, 0u64..60, 1u64..4, any::<bool>()), 1..150),
        ) {
            #[derive(Clone, Copy, PartialEq)]
            enum Fate { Sent, Replaced, Delivered, Lost }
            let mut board = filled(30);
            board.track_retransmissions();
            // In order of sending: the segment's offset, and the fate of the transmission.
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
                        board.ack(to, |_, _| {});
                        una = to;
                    }
                    1..=4 => {
                        let hole = board.next_hole().and_then(|index| board.get(index).copied().map(|s| (index, s.start)));
                        // The same octets are not sent twice at the same instant.
                        if let Some((index, start)) = hole && board.get(index).is_some_and(|s| s.sent_at < now) {
                            for s in sent.iter_mut().filter(|s| s.0 == start && s.1 == Fate::Sent) {
                                s.1 = Fate::Replaced;
                            }
                            board.on_retransmit(index, now, None, false, false);
                            sent.push((start, Fate::Sent));
                        }
                    }
                    5 | 6 => {
                        board.push(Segment { start: nxt, len: LEN as u32, flags: 0, sent_at: now }, None);
                        sent.push((nxt, Fate::Sent));
                        nxt += LEN;
                    }
                    _ => {
                        let (left, right) = ((at * LEN).max(una), ((at + len) * LEN).min(nxt));
                        if left < right {
                            deliver(left, right);
                            board.sack(&[(left, right)], |_, _| {});
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
