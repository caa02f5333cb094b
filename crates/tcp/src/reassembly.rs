//! Data received beyond a gap, and the SACK blocks that report it (RFC 2018, RFC 2883).

use std::collections::VecDeque;

/// How many recent arrivals are remembered for the order of SACK blocks; more than an option holds, since some merge.
const RECENT: usize = 6;

/// Capacity kept while nothing waits, in ranges.
const KEPT: usize = 8;

/// The result of an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inserted {
    /// Octets that were new.
    pub(crate) new: u64,
    /// The first part of the insertion that was there before.
    pub(crate) duplicate: Option<(u64, u64)>,
}

/// Ranges of received octets above the next expected one: sorted, disjoint and not touching.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    ranges: VecDeque<(u64, u64)>,
    /// An offset inside each of the ranges that changed last, newest first.
    recent: [u64; RECENT],
    recent_len: usize,
}

impl Reassembly {
    /// Whether nothing waits.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Octets that wait.
    pub(crate) fn octets(&self) -> u64 {
        self.ranges.iter().map(|(left, right)| right - left).sum()
    }

    /// Where the first range begins; `None` if nothing waits.
    pub(crate) fn start(&self) -> Option<u64> {
        self.ranges.front().map(|first| first.0)
    }

    /// Counts offsets from an origin that lies `by` octets farther on; all ranges begin after that.
    pub(crate) fn shift(&mut self, by: u64) {
        for (left, right) in &mut self.ranges {
            (*left, *right) = (*left - by, *right - by);
        }
        for offset in &mut self.recent[..self.recent_len] {
            *offset = offset.saturating_sub(by);
        }
    }

    /// Where the last range ends; `None` if nothing waits.
    pub(crate) fn end(&self) -> Option<u64> {
        self.ranges.back().map(|last| last.1)
    }

    /// Adds `[start, end)`.
    pub(crate) fn insert(&mut self, start: u64, end: u64) -> Inserted {
        debug_assert!(start < end, "an empty range");
        if let Some(last) = self.ranges.back_mut()
            && last.1 == start
        {
            last.1 = end;
            self.note(start);
            return Inserted { new: end - start, duplicate: None };
        }
        let first = self.ranges.partition_point(|r| r.1 < start);
        let after = self.ranges.partition_point(|r| r.0 <= end);
        if first == after {
            self.ranges.insert(first, (start, end));
            self.note(start);
            return Inserted { new: end - start, duplicate: None };
        }
        let mut held = 0;
        let mut duplicate = None;
        for &(left, right) in self.ranges.range(first..after) {
            let overlap = (left.max(start), right.min(end));
            if overlap.0 < overlap.1 {
                held += overlap.1 - overlap.0;
                duplicate = duplicate.or(Some(overlap));
            }
        }
        let right = self.ranges[after - 1].1.max(end);
        self.ranges.drain(first + 1..after);
        let merged = &mut self.ranges[first];
        *merged = (merged.0.min(start), right);
        self.note(start);
        Inserted { new: end - start - held, duplicate }
    }

    /// Makes the range that contains `offset` the first to report.
    fn note(&mut self, offset: u64) {
        if self.recent_len > 0 && self.same_range(self.recent[0], offset) {
            return;
        }
        let keep = self.recent_len.min(RECENT - 1);
        self.recent.copy_within(0..keep, 1);
        self.recent[0] = offset;
        self.recent_len = keep + 1;
    }

    fn same_range(&self, a: u64, b: u64) -> bool {
        self.containing(a).is_some_and(|r| (r.0..r.1).contains(&b))
    }

    /// The range that contains `offset`.
    pub(crate) fn containing(&self, offset: u64) -> Option<(u64, u64)> {
        let at = self.ranges.partition_point(|r| r.1 <= offset);
        self.ranges.get(at).copied().filter(|r| r.0 <= offset)
    }

    /// The first part of `[from, to)` that is held.
    pub(crate) fn overlap(&self, from: u64, to: u64) -> Option<(u64, u64)> {
        let at = self.ranges.partition_point(|r| r.1 <= from);
        self.ranges.get(at).filter(|r| r.0 < to).map(|r| (r.0.max(from), r.1.min(to)))
    }

    /// Removes the ranges contiguous with data in order up to `next`; returns the new end of data in order.
    pub(crate) fn advance(&mut self, mut next: u64) -> u64 {
        while let Some(&(left, right)) = self.ranges.front()
            && left <= next
        {
            next = next.max(right);
            self.ranges.pop_front();
        }
        if self.ranges.is_empty() {
            self.recent_len = 0;
            if self.ranges.capacity() > KEPT {
                self.ranges.shrink_to(KEPT);
            }
        }
        next
    }

    /// Visits the ranges to report, most recent first, each once (RFC 2018, section 4).
    pub(crate) fn report(&self, mut visit: impl FnMut(u64, u64) -> bool) {
        let mut shown = [(0, 0); RECENT];
        let mut count = 0;
        for &offset in &self.recent[..self.recent_len] {
            let Some(range) = self.containing(offset) else { continue };
            if shown[..count].contains(&range) {
                continue;
            }
            shown[count] = range;
            count += 1;
            if !visit(range.0, range.1) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn blocks(r: &Reassembly) -> Vec<(u64, u64)> {
        let mut out = Vec::new();
        r.report(|left, right| {
            out.push((left, right));
            true
        });
        out
    }

    #[test]
    fn the_first_block_is_the_one_that_triggered_then_the_most_recent() {
        // RFC 2018, section 5, case 3: every other segment is lost.
        let mut r = Reassembly::default();
        for start in [5500, 6500, 7500, 8500] {
            r.insert(start, start + 500);
        }
        assert_eq!(blocks(&r), [(8500, 9000), (7500, 8000), (6500, 7000), (5500, 6000)]);
        r.insert(7000, 7500);
        assert_eq!(blocks(&r), [(6500, 8000), (8500, 9000), (5500, 6000)]);
    }

    #[test]
    fn duplicates_are_reported_once() {
        let mut r = Reassembly::default();
        r.insert(10, 20);
        assert_eq!(r.insert(10, 20), Inserted { new: 0, duplicate: Some((10, 20)) });
        assert_eq!(r.insert(15, 30), Inserted { new: 10, duplicate: Some((15, 20)) });
    }

    proptest! {
        #[test]
        fn ranges_are_the_union_of_what_came(parts in prop::collection::vec((0u64..120, 1u64..20), 1..60)) {
            let mut r = Reassembly::default();
            let mut model = [false; 160];
            for &(start, len) in &parts {
                let slots = &mut model[start as usize..(start + len) as usize];
                let new = slots.iter().filter(|b| !**b).count() as u64;
                slots.fill(true);
                prop_assert_eq!(r.insert(start, start + len).new, new);
                prop_assert_eq!(blocks(&r)[0], r.containing(start).unwrap_or_default());
            }
            for (i, &held) in model.iter().enumerate() {
                prop_assert_eq!(r.containing(i as u64).is_some(), held);
            }
            let gaps: Vec<_> = r.ranges.iter().zip(r.ranges.iter().skip(1)).map(|(a, b)| a.1 < b.0).collect();
            prop_assert!(gaps.iter().all(|g| *g));
        }
    }
}
