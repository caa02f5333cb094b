//! How SACK blocks change the segments on the board.

use super::{MAX_BLOCKS, Scoreboard, keep};
use crate::rate::Stamp;
use crate::segment::{Segment, flag};

impl Scoreboard {
    /// Notes the SACK blocks of an ACK, as offsets, all within what is outstanding; passes each newly SACKed segment,
    /// as it was before, and its stamp to `visit`. Returns the octets newly SACKed.
    pub(crate) fn sack(&mut self, blocks: &[(u64, u64)], mut visit: impl FnMut(&Segment, Option<&Stamp>)) -> u64 {
        if blocks.is_empty() && self.losses.is_none() {
            // A D-SACK block alone is about acknowledged data: an idle connection need not remember it.
            return 0;
        }
        let before = self.sacked;
        let losses = self.losses();
        let (seen, seen_len) = (losses.seen, losses.seen_len);
        for &(left, right) in blocks {
            // Ranges that an earlier ACK reported are skipped; new octets lie at either end of them.
            let known = seen[..seen_len].iter().find(|k| k.0 < right && left < k.1).copied();
            match known {
                Some(known) => {
                    self.sack_range(left, right.min(known.0), &mut visit);
                    self.sack_range(left.max(known.1), right, &mut visit);
                }
                None => self.sack_range(left, right, &mut visit),
            }
        }
        let (losses, len) = (self.losses(), blocks.len().min(MAX_BLOCKS));
        losses.seen_len = len;
        losses.seen[..len].copy_from_slice(&blocks[..len]);
        self.sacked - before
    }

    fn sack_range(&mut self, left: u64, right: u64, visit: &mut impl FnMut(&Segment, Option<&Stamp>)) {
        if left >= right {
            return;
        }
        let mut at = self.position(left);
        while let Some(segment) = self.segments.get(at).copied() {
            if segment.start >= right {
                break;
            }
            if segment.has(flag::SACKED) {
                at += 1;
                continue;
            }
            if (segment.start < left || segment.end() > right) && self.keeps(keep::WHOLE) {
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
            visit(&segment, self.stamp(at).as_ref());
            if self.awaits && self.keeps(keep::EVIDENCE) {
                self.note_evidence(&segment);
            }
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
    pub(super) fn split(&mut self, at: usize, offset: u64) {
        let index = self.base + at as u64;
        let Some(segment) = self.segments.get_mut(at) else { return };
        let mut rest = *segment;
        let Ok(front) = u32::try_from(offset - segment.start) else { return };
        segment.len = front;
        segment.flags &= !(flag::FIN | flag::PUSH);
        rest.start = offset;
        rest.len -= front;
        self.segments.insert(at + 1, rest);
        if let Some(stamps) = &mut self.stamps
            && let Some(&stamp) = stamps.ring.get(at)
        {
            stamps.ring.insert(at + 1, stamp);
        }
        if self.frontier > index {
            self.frontier += 1;
        }
        if self.next_rxt > index {
            self.next_rxt += 1;
        }
    }
}
