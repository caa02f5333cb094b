//! Cumulative acknowledgments: which segments leave the board, and what stays of its sums and of its memory.

use super::room::fit;
use super::{KEPT, Scoreboard, keep};
use crate::rate::Stamp;
use crate::segment::{Segment, flag};
use narrows_units::Instant;
use std::collections::VecDeque;

impl Scoreboard {
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
    pub(super) fn forget(&mut self, segment: &Segment) {
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
