//! Which segments are deemed lost, and which is sent again next.

use super::order::Resend;
use super::{Scoreboard, keep};
use crate::rate::Stamp;
use crate::segment::{Segment, flag};
use narrows_units::Instant;

impl Scoreboard {
    /// Marks the segments that RFC 6675's `IsLost` finds lost, with `dupthresh` ranges or more than `bytes` SACKed
    /// octets above; returns the octets newly marked.
    #[inline]
    pub(crate) fn mark_lost(&mut self, dupthresh: u32, bytes: u64) -> u64 {
        if self.above_bytes == 0 { 0 } else { self.advance_frontier(dupthresh, bytes, 0) }
    }

    /// Marks the segments that were first sent before each of `dupthresh` delivered retransmissions, which therefore
    /// overtook them (RFC 8985, section 6.2, step 4); returns the octets newly marked. SACK blocks cannot show a loss
    /// at the end of what was sent, because nothing lies above it.
    pub(crate) fn mark_overtaken(&mut self, dupthresh: u32) -> u64 {
        let Some(losses) = self.losses.as_deref_mut().filter(|losses| !losses.overtook.is_empty()) else { return 0 };
        let wanted = dupthresh as usize;
        losses.overtook.sort_unstable_by(|a, b| b.cmp(a));
        losses.overtook.truncate(wanted);
        match losses.overtook.get(wanted - 1) {
            Some(&before) => self.advance_frontier(u32::MAX, u64::MAX, before),
            None => 0,
        }
    }

    /// Moves the frontier over segments that are SACKed, have that much SACKed above them, or end at or below the
    /// offset `before`; returns the octets newly marked lost.
    fn advance_frontier(&mut self, dupthresh: u32, bytes: u64, before: u64) -> u64 {
        let mut newly = 0;
        loop {
            let at = (self.frontier - self.base) as usize;
            let sacked_next = self.segments.get(at + 1).is_some_and(|s| s.has(flag::SACKED));
            let Some(segment) = self.segments.get_mut(at) else { break };
            let overtaken = segment.end() <= before;
            if self.above_bytes == 0 && !overtaken {
                break;
            }
            if segment.has(flag::SACKED) {
                self.above_bytes -= u64::from(segment.len);
                if !sacked_next {
                    self.above_ranges -= 1;
                }
            } else if overtaken || self.above_ranges >= dupthresh || self.above_bytes > bytes {
                if !segment.has(flag::LOST) {
                    segment.flags |= flag::LOST;
                    newly += u64::from(segment.len);
                    self.note_lost(at);
                }
            } else {
                break;
            }
            self.frontier += 1;
        }
        self.lost += newly;
        newly
    }

    /// Keeps segments that an ACK shows to be lost, from now on, for [`take_found_lost`](Self::take_found_lost).
    pub(crate) fn report_losses(&mut self) {
        self.keeps |= keep::FOUND;
    }

    /// Takes the segments found lost since the last call, in order, with their stamps; none unless losses are reported.
    pub(crate) fn take_found_lost(&mut self) -> Vec<(Segment, Stamp)> {
        self.losses.as_deref_mut().map(|losses| core::mem::take(&mut losses.found)).unwrap_or_default()
    }

    /// Moves the frontier over segments that are SACKed or deemed lost.
    pub(super) fn pass_lost(&mut self) {
        loop {
            let at = (self.frontier - self.base) as usize;
            let Some(segment) = self.segments.get(at).filter(|s| s.has(flag::SACKED | flag::LOST)) else { break };
            if segment.has(flag::SACKED) {
                self.above_bytes -= u64::from(segment.len);
                if !self.segments.get(at + 1).is_some_and(|s| s.has(flag::SACKED)) {
                    self.above_ranges -= 1;
                }
            }
            self.frontier += 1;
        }
    }

    /// Marks the earliest segment lost; returns the octets newly marked.
    pub(crate) fn mark_head_lost(&mut self) -> u64 {
        let Some(head) = self.segments.front_mut() else { return 0 };
        if head.has(flag::LOST | flag::SACKED) {
            return 0;
        }
        head.flags |= flag::LOST;
        let len = u64::from(head.len);
        self.note_lost(0);
        self.lost += len;
        len
    }

    /// Splits segments of more than `smss` octets, the FIN apart, and marks those that are not SACKed as lost; returns
    /// the octets newly marked.
    pub(crate) fn shorten(&mut self, smss: u64) -> u64 {
        let mut newly = 0;
        let mut at = 0;
        while let Some(&segment) = self.segments.get(at) {
            if u64::from(segment.payload()) > smss && smss > 0 {
                if !segment.has(flag::SACKED | flag::LOST) {
                    let len = u64::from(segment.len);
                    self.segments[at].flags |= flag::LOST;
                    self.note_lost(at);
                    self.lost += len;
                    newly += len;
                }
                if segment.has(flag::RETRANS) {
                    self.segments[at].flags &= !flag::RETRANS;
                    self.retransmitted -= u64::from(segment.len);
                }
                self.split(at, segment.start + smss);
            }
            at += 1;
        }
        newly
    }

    /// Marks everything that is not SACKed as lost, retransmissions included, and restarts `NextSeg`; returns the
    /// octets newly marked. SACK information is kept (RFC 6675, section 5.1) unless the head is SACKed: then the peer
    /// reneged (RFC 2018, section 8), and its reports are discarded.
    pub(crate) fn mark_all_lost(&mut self) -> u64 {
        let reneged = self.head().is_some_and(|s| s.has(flag::SACKED));
        let before = self.lost;
        for at in 0..self.segments.len() {
            let segment = &mut self.segments[at];
            segment.flags &= !(flag::RETRANS | if reneged { flag::SACKED } else { 0 });
            if !segment.has(flag::SACKED | flag::LOST) {
                self.note_lost(at);
                self.segments[at].flags |= flag::LOST;
            }
        }
        if reneged {
            self.sacked = 0;
            self.losses().seen_len = 0;
            self.high_sacked = 0;
        }
        self.retransmitted = 0;
        self.lost = self.outstanding - self.sacked;
        self.frontier = self.base + self.segments.len() as u64;
        self.above_bytes = 0;
        self.above_ranges = 0;
        self.next_rxt = self.base;
        self.awaits = false;
        if let Some(losses) = &mut self.losses {
            losses.in_network.clear();
            losses.again.clear();
            losses.overtook.clear();
        }
        self.lost - before
    }

    /// Marks as lost, because the retransmission timer expired, the head and what was last sent at `late` or before,
    /// and restarts `NextSeg`; returns the octets newly marked (RFC 8985, section 6.3). If the peer reneged, everything
    /// is lost, as in [`mark_all_lost`](Self::mark_all_lost).
    pub(crate) fn mark_late_lost(&mut self, late: Instant) -> u64 {
        let recent = |s: &Segment| !s.has(flag::SACKED) && s.sent_at > late;
        if self.head().is_some_and(|s| s.has(flag::SACKED)) || !self.segments.iter().skip(1).any(recent) {
            return self.mark_all_lost();
        }
        self.next_rxt = self.base;
        if let Some(losses) = &mut self.losses {
            losses.again.clear();
        }
        let mut newly = 0;
        for at in 0..self.segments.len() {
            let segment = self.segments[at];
            if !segment.has(flag::SACKED) && (at == 0 || segment.sent_at <= late) {
                newly += self.lose(at);
            }
        }
        self.pass_lost();
        newly
    }

    /// Clears all marks of loss, because the retransmission was spurious. The frontier restarts at the head, so that
    /// real losses are found again.
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
        if let Some(losses) = &mut self.losses {
            losses.overtook.clear();
        }
    }

    /// Starts `NextSeg` at the head: HighRxt = HighACK.
    pub(crate) fn restart_retransmission(&mut self) {
        self.next_rxt = self.base;
        if let Some(losses) = &mut self.losses {
            losses.again.clear();
        }
    }

    /// The next segment to retransmit: those whose retransmission was lost, then the first segment above HighRxt that
    /// is not SACKED and has no retransmission in the network.
    #[inline]
    pub(crate) fn next_hole(&mut self) -> Option<u64> {
        if self.losses.as_ref().is_some_and(|losses| !losses.again.is_empty())
            && let Some(index) = self.next_again(0)
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

    /// The next lost segment to retransmit: the earliest of those below HighRxt, then the first above it. Unlike
    /// [`next_hole`](Self::next_hole) it passes over segments that are not deemed lost.
    pub(crate) fn next_lost(&mut self) -> Option<u64> {
        if self.losses.as_ref().is_some_and(|losses| !losses.again.is_empty())
            && let Some(index) = self.next_again(flag::LOST)
        {
            return Some(index);
        }
        while let Some(segment) = self.get(self.next_rxt) {
            if segment.has(flag::LOST) && !segment.has(flag::RETRANS) {
                return Some(self.next_rxt);
            }
            self.next_rxt += 1;
        }
        None
    }

    /// The first hole of those whose retransmission was lost that has all flags of `mask`.
    #[cold]
    fn next_again(&mut self, mask: u16) -> Option<u64> {
        while let Some(&(start, end)) = self.losses().again.front() {
            let first = self.position(start);
            let parts = self.segments.iter().enumerate().skip(first).take_while(|(_, s)| s.start < end);
            let hole = |s: &Segment| !s.has(flag::SACKED | flag::RETRANS) && s.flags & mask == mask;
            if let Some((at, _)) = parts.into_iter().find(|(_, s)| hole(s)) {
                return Some(self.base + at as u64);
            }
            self.losses().again.pop_front();
        }
        None
    }

    /// The highest segment that is not SACKed, for the rescue retransmission.
    pub(crate) fn last_hole(&self) -> Option<u64> {
        let at = self.segments.iter().rposition(|s| !s.has(flag::SACKED))?;
        Some(self.base + at as u64)
    }

    /// Notes the retransmission of a segment. Returns whether it replaces a retransmission that was lost.
    pub(crate) fn on_retransmit(
        &mut self,
        index: u64,
        now: Instant,
        stamp: Option<Stamp>,
        app_limited: bool,
        why: Resend,
    ) -> bool {
        let Some(at) = index.checked_sub(self.base).and_then(|at| usize::try_from(at).ok()) else { return false };
        let turn = self.next_turn();
        let Some(segment) = self.segments.get_mut(at) else { return false };
        (segment.sent_at, segment.turn) = (now, turn);
        segment.flags =
            (segment.flags & !flag::APP_LIMITED) | flag::EVER | if app_limited { flag::APP_LIMITED } else { 0 };
        if why == Resend::Repair {
            if !segment.has(flag::RETRANS) {
                segment.flags |= flag::RETRANS;
                self.retransmitted += u64::from(segment.len);
            }
            self.next_rxt = self.next_rxt.max(index + 1);
        }
        let watched = segment.has(flag::RETRANS) || why == Resend::Probe;
        let (start, end) = (segment.start, segment.end());
        if let (Some(stamp), Some(old)) = (stamp, self.stamps.as_mut().and_then(|stamps| stamps.ring.get_mut(at))) {
            *old = stamp;
        }
        if self.keeps(keep::ORDER) && watched {
            let nxt = self.end();
            self.losses().in_network.push(now, start, end, nxt);
            self.awaits = true;
        }
        let again = self.losses.as_ref().and_then(|losses| losses.again.front());
        again.is_some_and(|&(from, to)| (from..to).contains(&start))
    }
}
