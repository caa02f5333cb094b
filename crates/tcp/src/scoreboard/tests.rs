//! Invariants of the scoreboard, and comparisons with the definitions.

#![allow(clippy::unwrap_used)]

use super::*;
use proptest::prelude::*;

impl Scoreboard {
    /// Recomputes every counter from the flags and compares; for tests.
    pub(crate) fn check(&self) {
        let sum = |mask: u16| -> u64 { self.segments.iter().filter(|s| s.has(mask)).map(|s| u64::from(s.len)).sum() };
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

    fn check_retransmissions(&self) {
        let none = Losses::default();
        let Losses { in_network, again, .. } = self.losses.as_deref().unwrap_or(&none);
        in_network.check();
        assert_eq!(self.awaits, !in_network.is_empty());
        assert!(self.keeps(keep::ORDER) || (in_network.is_empty() && again.is_empty()), "nobody watches");
        assert!(self.stamps.as_ref().is_none_or(|stamps| stamps.ring.len() == self.segments.len()), "one stamp each");
        for (i, s) in self.segments.iter().enumerate() {
            let covers = |start: u64, end: u64| start <= s.start && s.end() <= end;
            if s.has(flag::RETRANS) && self.keeps(keep::ORDER) {
                let watched = in_network.iter().filter(|r| r.sent_at == s.sent_at && covers(r.start, r.end()));
                assert!(watched.count() > 0, "a retransmission in the network is watched");
            } else if !s.has(flag::SACKED | flag::RETRANS)
                && (s.has(flag::LOST) || self.keeps(keep::EVIDENCE))
                && self.base + (i as u64) < self.next_rxt
            {
                assert!(again.iter().any(|&(start, end)| covers(start, end)), "a hole below HighRxt is not forgotten");
            }
        }
    }
}

const LEN: u64 = 10;

fn filled(n: u64) -> Scoreboard {
    let mut board = Scoreboard::default();
    for i in 0..n {
        let (start, len) = (i * LEN, LEN as u32);
        board.push(Segment { start, len, flags: 0, turn: 0, sent_at: Instant::ZERO }, None);
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

#[test]
fn only_the_second_half_of_a_split_segment_keeps_the_fin() {
    let mut board = filled(1);
    board.segments[0].flags |= flag::FIN;
    board.split(0, LEN / 2);
    let halves: Vec<_> = board.segments.iter().map(|s| (s.start, s.has(flag::FIN))).collect();
    assert_eq!(halves, [(0, false), (LEN / 2, true)]);
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
                        board.on_retransmit(hole, Instant::ZERO, None, false, Resend::Repair);
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
                        board.on_retransmit(index, now, None, false, Resend::Repair);
                        sent.push((start, Fate::Sent));
                    }
                }
                5 | 6 => {
                    board.push(Segment { start: nxt, len: LEN as u32, flags: 0, turn: 0, sent_at: now }, None);
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

proptest! {
    /// Compares with a list of transmissions: each segment is in it by its last, while that is in the network.
    #[test]
    fn the_order_of_sending_is_that_of_the_transmissions(
        steps in prop::collection::vec((0u8..12, 0u64..40, 1u64..4, any::<bool>()), 1..150),
    ) {
        let mut board = filled(20);
        board.track_retransmissions();
        let mut order: Vec<u64> = (0..20).map(|i| i * LEN).collect();
        let (mut una, mut nxt, mut clock) = (0, 20 * LEN, 0);
        for (what, at, len, later) in steps {
            clock += u64::from(later);
            let now = Instant::from_nanos(clock);
            match what {
                0 => {
                    una = (una + len * LEN).min(nxt);
                    order.retain(|start| *start >= una);
                    board.ack(una, |_, _| {});
                }
                1..=3 => {
                    board.push(Segment { start: nxt, len: LEN as u32, flags: 0, turn: 0, sent_at: now }, None);
                    order.push(nxt);
                    nxt += LEN;
                }
                4..=6 => {
                    // A lost segment again, or a probe of the last one.
                    let hole = board.next_hole().filter(|&i| board.get(i).is_some_and(|s| s.has(flag::LOST)));
                    let (index, why) = match (hole, board.last_hole()) {
                        (Some(hole), _) => (hole, Resend::Repair),
                        (None, Some(last)) => (last, Resend::Probe),
                        _ => continue,
                    };
                    let segment = board.get(index).copied().unwrap();
                    // The same octets are not sent twice at the same instant, and lost ones are not probed.
                    if segment.sent_at < now && (why == Resend::Repair || !segment.has(flag::LOST | flag::RETRANS)) {
                        board.on_retransmit(index, now, None, false, why);
                        order.retain(|start| *start != segment.start);
                        order.push(segment.start);
                    }
                }
                7 | 8 => {
                    for _ in 0..len {
                        let Some((index, segment)) = board.in_send_order().next() else { break };
                        prop_assert_eq!(board.mark_lost_at(index), LEN);
                        prop_assert_eq!(order.remove(0), segment.start);
                    }
                }
                9 if at == 0 => {
                    board.mark_all_lost();
                    order.clear();
                }
                _ => {
                    let (left, right) = ((at * LEN).max(una), ((at + len) * LEN).min(nxt));
                    if left < right {
                        order.retain(|start| !(left..right).contains(start));
                        board.sack(&[(left, right)], |_, _| {});
                    }
                }
            }
            let starts: Vec<u64> = board.in_send_order().map(|(_, segment)| segment.start).collect();
            prop_assert_eq!(&starts, &order);
            let indices: Vec<u64> = board.in_send_order().map(|(index, _)| index).collect();
            for (index, start) in indices.into_iter().zip(starts) {
                prop_assert_eq!(board.get(index).map(|s| s.start), Some(start));
            }
            board.check();
        }
    }
}
