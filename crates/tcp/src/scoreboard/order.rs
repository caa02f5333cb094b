//! The order of sending: the segments on the board by their last transmissions, and the evidence that one is lost.
//!
//! The board keeps segments in the order of their offsets. First transmissions left in that order too. So the order of
//! sending is a merge of the segments that were sent once with a ring of retransmissions, each of which remembers
//! SND.NXT: a first transmission left after a retransmission if it begins at or beyond that. A flow without
//! retransmissions has no ring.
//!
//! A recovery that goes by time walks the order ([`Scoreboard::in_send_order`]). One that counts asks for the evidence
//! against retransmissions ([`Scoreboard::mark_lost_retransmissions`]): a segment that was sent after a retransmission
//! and delivered before it shows that the retransmission is late or lost, as a SACK block above a hole does for an
//! original. So each delivery counts for all retransmissions that were sent before it. These are a prefix of the ring,
//! so a delivery is recorded once, at the last of them. The evidence of the first is then the sum of all records, and
//! the lost retransmissions are a prefix too. The cost of an ACK depends on what it newly reports.

use super::room::{fit, make_room};
use super::{Scoreboard, keep};
use crate::segment::{Segment, Sending, flag};
use narrows_units::Instant;
use std::collections::VecDeque;

/// Why a segment is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resend {
    /// It is deemed lost.
    Repair,
    /// RFC 6675's NextSeg rule 4: HighRxt and the pipe stay as they are, and the order of sending too, because no rule
    /// of that RFC looks for a lost rescue.
    Rescue,
    /// A tail loss probe of a segment that is not deemed lost (RFC 8985, section 7.3): HighRxt and the pipe stay as
    /// they are.
    Probe,
}

/// A retransmission. Distances are within a window, which is below 2^31 octets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retransmission {
    /// When it was sent.
    pub(super) sent_at: Instant,
    /// Offset of the first octet.
    pub(super) start: u64,
    /// Octets from there to its end, and to SND.NXT when it was sent.
    len: u32,
    ahead: u32,
    /// Deliveries of what was sent between this retransmission and the next.
    delivered: Delivered,
}

impl Retransmission {
    /// Offset after the last octet.
    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }

    /// SND.NXT when it was sent.
    #[inline]
    fn nxt(&self) -> u64 {
        self.start + u64::from(self.ahead)
    }

    /// Whether `segment`, within its octets, is in the network by this transmission.
    fn carries(&self, segment: &Segment) -> bool {
        let last = segment.has(flag::EVER) && segment.sent_at == self.sent_at;
        last && !segment.has(flag::SACKED) && (segment.has(flag::RETRANS) || !segment.has(flag::LOST))
    }
}

/// Octets and segments, of what is within a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Delivered {
    octets: u32,
    segments: u32,
}

/// The retransmissions in the network, in order of sending.
#[derive(Debug, Default)]
pub(super) struct Retransmissions {
    ring: VecDeque<Retransmission>,
    /// Deliveries of what was sent after the first retransmission.
    total: Delivered,
}

impl Retransmissions {
    /// Whether no retransmission is in the network.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Forgets all retransmissions.
    pub(super) fn clear(&mut self) {
        self.ring.clear();
        self.total = Delivered::default();
    }

    /// The octets from `start` to `end` were sent again, with SND.NXT at `nxt`.
    pub(super) fn push(&mut self, sent_at: Instant, start: u64, end: u64, nxt: u64) {
        let distance = |to: u64| u32::try_from(to.saturating_sub(start)).unwrap_or(u32::MAX);
        make_room(&mut self.ring);
        self.ring.push_back(Retransmission {
            sent_at,
            start,
            len: distance(end),
            ahead: distance(nxt),
            delivered: Delivered::default(),
        });
    }

    /// Notes the delivery of a first transmission: `octets` from `start` on.
    pub(super) fn on_first_delivered(&mut self, start: u64, octets: u64) {
        let older = |r: &Retransmission| r.nxt() <= start;
        // Most often the delivered segment is newer than all retransmissions.
        let all = self.ring.back().is_some_and(older);
        let older = if all { self.ring.len() } else { self.ring.partition_point(older) };
        self.note(older, octets);
    }

    /// Notes the delivery of a retransmission: `octets` from `start` on, sent at `sent_at`. Returns SND.NXT when it was
    /// sent.
    pub(super) fn on_delivered(&mut self, sent_at: Instant, start: u64, octets: u64) -> Option<u64> {
        let older = self.ring.partition_point(|r| r.sent_at < sent_at);
        let burst = self.ring.iter().skip(older).take_while(|r| r.sent_at == sent_at);
        let before = burst.into_iter().position(|r| (r.start..r.end()).contains(&start));
        self.note(older + before.unwrap_or(0), octets);
        before.and_then(|before| self.ring.get(older + before)).map(Retransmission::nxt)
    }

    /// Records a delivery for the first `older` retransmissions.
    fn note(&mut self, older: usize, octets: u64) {
        let octets = u32::try_from(octets).unwrap_or(u32::MAX);
        let Some(last) = older.checked_sub(1).and_then(|at| self.ring.get_mut(at)) else { return };
        for sum in [&mut last.delivered, &mut self.total] {
            sum.octets = sum.octets.saturating_add(octets);
            sum.segments += 1;
        }
    }

    /// Removes and returns the first retransmission if at least `segments` or more than `octets` sent after it were
    /// delivered.
    pub(super) fn pop_overdue(&mut self, segments: u32, octets: u64) -> Option<Retransmission> {
        if self.total.segments < segments && u64::from(self.total.octets) <= octets {
            return None;
        }
        self.pop()
    }

    /// Removes the first retransmission, and with it the evidence against it alone.
    fn pop(&mut self) -> Option<Retransmission> {
        let first = self.ring.pop_front()?;
        self.total.octets = self.total.octets.saturating_sub(first.delivered.octets);
        self.total.segments -= first.delivered.segments;
        fit(&mut self.ring);
        Some(first)
    }

    /// All, in order of sending; for tests.
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = &Retransmission> {
        self.ring.iter()
    }

    /// Recomputes what is kept incrementally and compares; for tests.
    #[cfg(test)]
    pub(super) fn check(&self) {
        let sum = self.ring.iter().fold(Delivered::default(), |sum, r| Delivered {
            octets: sum.octets + r.delivered.octets,
            segments: sum.segments + r.delivered.segments,
        });
        assert_eq!(self.total, sum, "delivered after the first retransmission");
        let sorted = self.ring.iter().zip(self.ring.iter().skip(1));
        for (a, b) in sorted {
            assert!(a.sent_at <= b.sent_at && a.nxt() <= b.nxt(), "retransmissions are in order of sending");
        }
    }
}

/// The segments in the network in order of their last transmissions, with their indices.
#[derive(Clone, Debug)]
pub(crate) struct InSendOrder<'a> {
    board: &'a Scoreboard,
    /// Position of the next segment that may have been sent once.
    once: usize,
    /// Position in the ring.
    again: usize,
    /// Position of the next segment that the retransmission at `again` may carry; `None` before the first is found.
    part: Option<usize>,
}

impl Iterator for InSendOrder<'_> {
    type Item = (u64, Segment);

    fn next(&mut self) -> Option<Self::Item> {
        let board = self.board;
        loop {
            let resent = board.losses.as_deref().and_then(|losses| losses.in_network.ring.get(self.again));
            let before = resent.map_or(u64::MAX, Retransmission::nxt);
            while let Some(&segment) = board.segments.get(self.once).filter(|s| s.start < before) {
                self.once += 1;
                if !segment.has(flag::SACKED | flag::LOST | flag::EVER) {
                    return Some((board.base + self.once as u64 - 1, segment));
                }
            }
            let resent = resent?;
            let mut at = self.part.unwrap_or_else(|| board.position(resent.start));
            while let Some(&segment) = board.segments.get(at).filter(|s| s.start < resent.end()) {
                at += 1;
                if resent.carries(&segment) {
                    self.part = Some(at);
                    return Some((board.base + at as u64 - 1, segment));
                }
            }
            (self.again, self.part) = (self.again + 1, None);
        }
    }
}

impl Scoreboard {
    /// Keeps the order of retransmissions from now on, so that
    /// [`mark_lost_retransmissions`](Self::mark_lost_retransmissions) finds the lost ones and
    /// [`in_send_order`](Self::in_send_order) has them.
    pub(crate) fn track_retransmissions(&mut self) {
        self.keeps |= keep::ORDER | keep::EVIDENCE;
    }

    /// Keeps the order of retransmissions from now on for [`in_send_order`](Self::in_send_order) alone: nothing is
    /// counted against them. `whole` is whether only whole segments are SACKed, as in Linux (`tcp_match_skb_to_sack`).
    pub(crate) fn keep_send_order(&mut self, whole: bool) {
        self.keeps = (self.keeps | keep::ORDER) & !keep::EVIDENCE;
        if whole {
            self.keeps |= keep::WHOLE;
        }
    }

    /// The segments in the network that are not SACKed, in order of their last transmissions, with their indices. What
    /// is deemed lost is not in the network until it is sent again.
    ///
    /// The frontier moves over what is SACKed or deemed lost, so that later calls skip it, and retransmissions that are
    /// over are forgotten. SACKed segments above the frontier are passed over one by one. After an undo, segments whose
    /// retransmission was deemed lost are missing; they are left to the retransmission timer.
    pub(crate) fn in_send_order(&mut self) -> InSendOrder<'_> {
        while let Some(first) = self.losses.as_deref().and_then(|losses| losses.in_network.ring.front())
            && !self
                .segments
                .range(self.position(first.start)..)
                .take_while(|s| s.start < first.end())
                .any(|s| first.carries(s))
        {
            self.losses().in_network.pop();
        }
        self.awaits = self.losses.as_deref().is_some_and(|losses| !losses.in_network.is_empty());
        self.pass_lost();
        let once = usize::try_from(self.frontier - self.base).unwrap_or(usize::MAX);
        InSendOrder { board: self, once, again: 0, part: None }
    }

    /// When the last of the segments in the network was sent that left before `newest`; see
    /// [`in_send_order`](Self::in_send_order).
    pub(crate) fn last_sent_before(&self, newest: Sending) -> Option<Instant> {
        let before = |s: &Segment| s.sending() < newest;
        let first = usize::try_from(self.frontier.saturating_sub(self.base)).unwrap_or(usize::MAX);
        let once = |s: &&Segment| !s.has(flag::SACKED | flag::LOST | flag::EVER) && before(s);
        let once = self.segments.iter().skip(first).rev().find(once).map(|s| s.sent_at);
        let ring = self.losses.as_deref().map(|losses| &losses.in_network.ring);
        let again = ring.into_iter().flatten().rev().filter(|r| r.sent_at <= newest.at).find_map(|r| {
            let parts = self.segments.range(self.position(r.start)..).take_while(|s| s.start < r.end());
            parts.into_iter().any(|s| r.carries(s) && before(s)).then_some(r.sent_at)
        });
        once.max(again)
    }

    /// Whether the deliveries of an ACK may be evidence against a retransmission.
    #[inline]
    pub(crate) fn awaits_retransmissions(&self) -> bool {
        self.awaits && self.keeps(keep::EVIDENCE)
    }

    /// Counts the delivery of a retransmitted segment as that of its last transmission only if that was sent at
    /// `credible` or before: a round trip ago (RFC 8985, section 6.2, step 2).
    pub(crate) fn believe(&mut self, credible: Instant) {
        self.losses().credible = credible;
    }

    /// Notes the delivery of a segment as evidence against the retransmissions that were sent before it.
    #[cold]
    pub(super) fn note_evidence(&mut self, segment: &Segment) {
        let octets = u64::from(segment.len);
        let losses = self.losses();
        if !segment.has(flag::EVER) {
            losses.in_network.on_first_delivered(segment.start, octets);
        } else if segment.sent_at <= losses.credible {
            let nxt = losses.in_network.on_delivered(segment.sent_at, segment.start, octets);
            losses.overtook.extend(nxt);
        }
    }

    /// Marks retransmissions as lost once at least `dupthresh` segments or more than `bytes` octets sent after them are
    /// delivered. Returns the octets, and when the last of these retransmissions was sent. They leave the pipe, and
    /// `NextSeg` returns them first.
    #[inline]
    pub(crate) fn mark_lost_retransmissions(&mut self, dupthresh: u32, bytes: u64) -> (u64, Option<Instant>) {
        let (mut newly, mut sent_at) = (0, None);
        while let Some(old) = self.losses().in_network.pop_overdue(dupthresh, bytes) {
            let octets = self.lose_retransmission(&old);
            if octets > 0 {
                newly += octets;
                sent_at = Some(old.sent_at);
            }
        }
        self.awaits = !self.losses().in_network.is_empty();
        (newly, sent_at)
    }

    fn lose_retransmission(&mut self, old: &Retransmission) -> u64 {
        let mut newly = 0;
        let mut at = self.position(old.start);
        while let Some(segment) = self.segments.get(at).filter(|s| s.start < old.end()) {
            // The segment may have been delivered or sent again since.
            if segment.has(flag::RETRANS) && segment.sent_at == old.sent_at {
                newly += self.lose(at);
            }
            at += 1;
        }
        newly
    }

    /// Marks the segment with this index lost, whichever of its transmissions is in the network; returns the octets
    /// newly marked.
    pub(crate) fn mark_lost_at(&mut self, index: u64) -> u64 {
        let Some(at) = index.checked_sub(self.base).and_then(|at| usize::try_from(at).ok()) else { return 0 };
        if self.segments.get(at).is_none_or(|s| s.has(flag::SACKED)) {
            return 0;
        }
        let newly = self.lose(at);
        self.pass_lost();
        self.sort_again();
        newly
    }

    /// Moves the part that was lost last to its place among the others, so that the earliest is sent first.
    fn sort_again(&mut self) {
        let again = &mut self.losses().again;
        let mut at = again.len().saturating_sub(1);
        while at > 0 && again[at - 1].0 > again[at].0 {
            again.swap(at - 1, at);
            at -= 1;
        }
    }

    /// Marks the segment at position `at` lost, its retransmission too; returns the octets that leave the pipe.
    pub(super) fn lose(&mut self, at: usize) -> u64 {
        let Some(segment) = self.segments.get_mut(at) else { return 0 };
        let len = u64::from(segment.len);
        let in_network = segment.has(flag::RETRANS) || !segment.has(flag::LOST);
        if segment.has(flag::RETRANS) {
            segment.flags &= !flag::RETRANS;
            self.retransmitted -= len;
        }
        if !segment.has(flag::LOST) {
            // Of a retransmission: the original was sent even earlier, so it is lost too.
            segment.flags |= flag::LOST;
            self.lost += len;
        }
        let part = (segment.start, segment.end());
        if !in_network {
            return 0;
        }
        self.note_lost(at);
        if self.base + (at as u64) < self.next_rxt {
            self.losses().again.push_back(part);
        }
        len
    }

    /// Position of the first segment that ends after `offset`.
    #[inline]
    pub(super) fn position(&self, offset: u64) -> usize {
        self.segments.partition_point(|s| s.end() <= offset)
    }
}
