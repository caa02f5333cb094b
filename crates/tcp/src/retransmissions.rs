//! Retransmissions in the network, in order of sending, and the evidence that they were lost.
//!
//! A segment that was sent after a retransmission and delivered before it shows that the retransmission is late or
//! lost, as a SACK block above a hole does for an original. So each delivery counts for all retransmissions that were
//! sent before it. These are a prefix of the ring, so a delivery is recorded once, at the last of them. The evidence of
//! the first is then the sum of all records, and the lost retransmissions are a prefix too. The cost of an ACK depends
//! on what it newly reports.
//!
//! First transmissions are in order of offsets, so one was sent after a retransmission if it begins at or beyond the
//! SND.NXT of that time. Another retransmission was sent after it if it is behind it in the ring.

use narrows_units::Instant;
use std::collections::VecDeque;

/// A retransmission.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retransmission {
    /// When it was sent.
    pub(crate) sent_at: Instant,
    /// Offset of the first octet.
    pub(crate) start: u64,
    /// Offset after the last octet.
    pub(crate) end: u64,
    /// SND.NXT when it was sent.
    nxt: u64,
    /// Deliveries of what was sent between this retransmission and the next.
    delivered: Delivered,
}

/// Octets and segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Delivered {
    octets: u64,
    segments: u32,
}

/// The retransmissions in the network, in order of sending.
#[derive(Debug, Default)]
pub(crate) struct Retransmissions {
    ring: VecDeque<Retransmission>,
    /// Deliveries of what was sent after the first retransmission.
    total: Delivered,
}

impl Retransmissions {
    /// Whether no retransmission is in the network.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Forgets all retransmissions.
    pub(crate) fn clear(&mut self) {
        self.ring.clear();
        self.total = Delivered::default();
    }

    /// The octets from `start` to `end` were sent again, with SND.NXT at `nxt`.
    pub(crate) fn push(&mut self, sent_at: Instant, start: u64, end: u64, nxt: u64) {
        self.ring.push_back(Retransmission { sent_at, start, end, nxt, delivered: Delivered::default() });
    }

    /// Notes the delivery of a first transmission: `octets` from `start` on.
    pub(crate) fn on_first_delivered(&mut self, start: u64, octets: u64) {
        let older = |r: &Retransmission| r.nxt <= start;
        // Most often the delivered segment is newer than all retransmissions.
        let all = self.ring.back().is_some_and(older);
        let older = if all { self.ring.len() } else { self.ring.partition_point(older) };
        self.note(older, octets);
    }

    /// Notes the delivery of a retransmission: `octets` from `start` on, sent at `sent_at`. Returns SND.NXT when it was
    /// sent.
    pub(crate) fn on_delivered(&mut self, sent_at: Instant, start: u64, octets: u64) -> Option<u64> {
        let older = self.ring.partition_point(|r| r.sent_at < sent_at);
        let burst = self.ring.iter().skip(older).take_while(|r| r.sent_at == sent_at);
        let before = burst.into_iter().position(|r| (r.start..r.end).contains(&start));
        self.note(older + before.unwrap_or(0), octets);
        before.and_then(|before| self.ring.get(older + before)).map(|r| r.nxt)
    }

    /// Records a delivery for the first `older` retransmissions.
    fn note(&mut self, older: usize, octets: u64) {
        let Some(last) = older.checked_sub(1).and_then(|at| self.ring.get_mut(at)) else { return };
        for sum in [&mut last.delivered, &mut self.total] {
            sum.octets += octets;
            sum.segments += 1;
        }
    }

    /// Removes and returns the first retransmission if at least `segments` or more than `octets` sent after it were
    /// delivered.
    pub(crate) fn pop_overdue(&mut self, segments: u32, octets: u64) -> Option<Retransmission> {
        if self.total.segments < segments && self.total.octets <= octets {
            return None;
        }
        let first = self.ring.pop_front()?;
        self.total.octets -= first.delivered.octets;
        self.total.segments -= first.delivered.segments;
        Some(first)
    }

    /// All, in order of sending; for tests.
    #[cfg(test)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Retransmission> {
        self.ring.iter()
    }

    /// Recomputes what is kept incrementally and compares; for tests.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        let sum = self.ring.iter().fold(Delivered::default(), |sum, r| Delivered {
            octets: sum.octets + r.delivered.octets,
            segments: sum.segments + r.delivered.segments,
        });
        assert_eq!(self.total, sum, "delivered after the first retransmission");
        let sorted = self.ring.iter().zip(self.ring.iter().skip(1));
        for (a, b) in sorted {
            assert!(a.sent_at <= b.sent_at && a.nxt <= b.nxt, "retransmissions are in order of sending");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LEN: u64 = 10;

    fn at(n: u64) -> Instant {
        Instant::from_nanos(n)
    }

    #[test]
    fn what_was_sent_before_is_no_evidence() {
        let mut r = Retransmissions::default();
        r.push(at(5), 30, 40, 100);
        r.push(at(5), 0, LEN, 100);
        r.on_first_delivered(90, LEN);
        r.on_delivered(at(4), 50, LEN);
        r.on_delivered(at(5), 35, 5);
        assert!(r.pop_overdue(1, 0).is_none(), "sent before, and a part of itself");
        r.on_delivered(at(5), 5, 5);
        assert_eq!(r.pop_overdue(1, LEN).map(|r| r.start), Some(30), "behind it in the same burst");
        assert!(r.pop_overdue(1, 0).is_none(), "itself");
        r.on_first_delivered(100, LEN);
        assert!(r.pop_overdue(2, LEN).is_none());
        assert!(r.pop_overdue(1, LEN).is_some() && r.is_empty());
        r.check();
    }

    #[derive(Clone, Copy, Debug)]
    struct Sent {
        sent_at: u64,
        start: u64,
        first: bool,
        delivered: bool,
    }

    proptest! {
        /// Compares with the definition: what was sent later and is delivered, counted again for each retransmission.
        #[test]
        fn evidence_is_that_of_the_definition(
            steps in prop::collection::vec((0u8..5, any::<prop::sample::Index>(), any::<bool>()), 1..150),
        ) {
            let mut ring = Retransmissions::default();
            // In order of sending; `waiting` are the retransmissions that are not deemed lost yet.
            let mut sent: Vec<Sent> = vec![];
            let mut waiting: Vec<usize> = vec![];
            let (mut now, mut nxt) = (0, 0);
            for (what, which, later) in steps {
                now += u64::from(later);
                match what {
                    0 => {
                        let start = which.index(20) as u64 * LEN;
                        // The same octets are not sent twice at the same instant.
                        if start < nxt && !sent.iter().any(|s| s.sent_at == now && s.start == start) {
                            ring.push(at(now), start, start + LEN, nxt);
                            waiting.push(sent.len());
                            sent.push(Sent { sent_at: now, start, first: false, delivered: false });
                        }
                    }
                    1 | 2 => {
                        sent.push(Sent { sent_at: now, start: nxt, first: true, delivered: false });
                        nxt += LEN;
                    }
                    _ => {
                        let undelivered: Vec<usize> = (0..sent.len()).filter(|&i| !sent[i].delivered).collect();
                        if undelivered.is_empty() {
                            continue;
                        }
                        let i = undelivered[which.index(undelivered.len())];
                        sent[i].delivered = true;
                        let s = sent[i];
                        if s.first {
                            ring.on_first_delivered(s.start, LEN);
                        } else {
                            ring.on_delivered(at(s.sent_at), s.start, LEN);
                        }
                    }
                }
                ring.check();
                let mut lost = vec![];
                while let Some(r) = ring.pop_overdue(3, u64::MAX) {
                    lost.push((r.sent_at.as_nanos(), r.start));
                }
                let evidence = |&i: &usize| sent[i + 1..].iter().filter(|s| s.delivered).count();
                let expected: Vec<_> =
                    waiting.iter().filter(|i| evidence(i) >= 3).map(|&i| (sent[i].sent_at, sent[i].start)).collect();
                prop_assert_eq!(lost, expected);
                waiting.retain(|i| evidence(i) < 3);
            }
        }
    }
}
