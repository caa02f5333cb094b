//! The application's data before it is sent, in buffers as Linux cuts them (`tcp_sendmsg_locked`, Linux 7.2).
//!
//! A write fills the last buffer of the queue up to a goal, then begins others. The last buffer of a write has PSH, and
//! one where more than half of the peer's largest window was written since the last PSH (`forced_push`). Buffers matter
//! where a super-packet ends: it has PSH if its buffer has, it does not reach over the end of a record, and a buffer
//! that another follows gets no more data.
//!
//! Data is counted, not carried, so a buffer is its end. Only the next few are kept; the rest of a large write is cut
//! later, by the goal of that time.

use std::collections::VecDeque;

/// `GSO_LEGACY_MAX_SIZE` minus `MAX_TCP_HEADER` and one: the most bytes that Linux hands down the stack together.
pub(crate) const MAX_SIZE: u64 = 65_215;

/// Largest window of a peer that is not halved to bound a buffer (`TCP_MSS_DEFAULT`).
const SMALL_WINDOW: u64 = 536;

/// Buffers that are cut ahead.
const AHEAD: usize = 32;

/// Writes that are remembered before they are cut.
const WRITES: usize = 32;

/// A buffer, which begins where the one before it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Buffer {
    /// Offset after the last octet.
    end: u64,
    /// Whether its last segment has PSH.
    push: bool,
    /// Whether it ends a record (`MSG_EOR`): nothing is added to it.
    record: bool,
}

/// A write that is not cut yet, or not all of it.
#[derive(Clone, Copy, Debug)]
struct Write {
    end: u64,
    record: bool,
    /// More data follows at once (`MSG_MORE`), so that its end has no PSH.
    more: bool,
}

/// How a write ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteFlags {
    /// It ends a record, so that later data goes into other segments (`MSG_EOR`).
    pub record: bool,
    /// More follows at once, so that its end is not pushed (`MSG_MORE`).
    pub more: bool,
}

/// By what the next writes are cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    /// SMSS in octets.
    pub(crate) smss: u64,
    /// The largest window that the peer ever offered.
    pub(crate) max_window: u64,
}

impl Cut {
    /// Most octets of a buffer: whole segments, in half of the window (`tcp_xmit_size_goal`, `tcp_bound_to_half_wnd`).
    fn goal(self) -> u64 {
        let cutoff = if self.max_window > SMALL_WINDOW { self.max_window / 2 } else { self.max_window };
        let bound = if cutoff > 0 { MAX_SIZE.min(cutoff) } else { MAX_SIZE };
        let smss = self.smss.max(1);
        (bound / smss * smss).max(smss)
    }
}

/// The buffer at the head of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// Its octets.
    pub(crate) octets: u64,
    /// Whether no other follows.
    pub(crate) last: bool,
    /// Whether it ends with PSH.
    pub(crate) push: bool,
    /// Whether it ends a record.
    pub(crate) record: bool,
}

/// The buffers that wait.
#[derive(Debug, Default)]
pub(crate) struct WriteQueue {
    buffers: VecDeque<Buffer>,
    writes: VecDeque<Write>,
    /// Offset after the last buffer that was cut.
    cut: u64,
    /// Whether the first of `writes` is cut in part.
    begun: bool,
    /// Offset after the last octet with PSH.
    pushed: u64,
}

impl WriteQueue {
    /// Notes a write, after which the stream ends at offset `end`.
    pub(crate) fn write(&mut self, end: u64, flags: WriteFlags) {
        let last = self.writes.back().map_or(self.cut, |write| write.end);
        if end == last {
            return;
        }
        let write = Write { end, record: flags.record, more: flags.more };
        let many = self.writes.len() >= WRITES;
        match self.writes.back_mut().filter(|last| !last.record) {
            Some(last) if many => *last = write,
            _ => self.writes.push_back(write),
        }
    }

    /// Ends what is written so far with PSH (`tcp_mark_push`).
    pub(crate) fn push(&mut self) {
        if let Some(last) = self.writes.back_mut() {
            last.more = false;
        } else if let Some(last) = self.buffers.back_mut() {
            last.push = true;
            self.pushed = last.end;
        }
    }

    /// Forgets all that is not sent, because the application withdrew it; the stream now ends at `end`, which is beyond
    /// `nxt` only by the octet of a window probe.
    pub(crate) fn withdraw(&mut self, nxt: u64, end: u64) {
        self.buffers.clear();
        self.writes.clear();
        (self.cut, self.begun) = (nxt, false);
        self.write(end, WriteFlags::default());
    }

    /// The buffer at the head, with everything before the offset `nxt` sent.
    #[inline]
    pub(crate) fn head(&mut self, nxt: u64, cut: &Cut) -> Option<Head> {
        while self.buffers.front().is_some_and(|buffer| buffer.end <= nxt) {
            self.buffers.pop_front();
        }
        if !self.writes.is_empty() && self.buffers.len() < AHEAD / 2 {
            self.cut_ahead(nxt, cut);
        }
        let &Buffer { end, push, record } = self.buffers.front()?;
        let last = self.buffers.len() == 1 && self.writes.is_empty();
        Some(Head { octets: end - nxt, last, push, record })
    }

    /// Octets of the buffer that [`head`](Self::head) would return without changing anything.
    #[inline]
    pub(crate) fn settled(&self, nxt: u64) -> Option<u64> {
        let settled = self.writes.is_empty() || self.buffers.len() >= AHEAD / 2;
        self.buffers.front().filter(|buffer| settled && buffer.end > nxt).map(|buffer| buffer.end - nxt)
    }

    /// Cuts writes into buffers.
    #[inline(never)]
    fn cut_ahead(&mut self, nxt: u64, cut: &Cut) {
        self.cut = self.cut.max(nxt);
        let goal = cut.goal();
        while self.buffers.len() < AHEAD
            && let Some(&write) = self.writes.front()
        {
            if write.end <= self.cut {
                // A window probe had all of it.
                self.writes.pop_front();
                self.begun = false;
                continue;
            }
            let start = self.buffers.iter().rev().nth(1).map_or(nxt, |buffer| buffer.end.max(nxt));
            let begun = self.begun;
            let room = |buffer: &Buffer| goal.saturating_sub(buffer.end - start);
            let full = match self.buffers.back_mut().filter(|buffer| !buffer.record && room(buffer) > 0) {
                Some(buffer) => {
                    buffer.end = write.end.min(buffer.end + room(buffer));
                    buffer.push &= begun;
                    buffer
                }
                None => {
                    let end = write.end.min(self.cut.saturating_add(goal));
                    self.buffers.push_back(Buffer { end, push: false, record: false });
                    let Some(buffer) = self.buffers.back_mut() else { return };
                    buffer
                }
            };
            self.cut = full.end;
            let done = full.end >= write.end;
            let forced = full.end > self.pushed.saturating_add(cut.max_window / 2);
            if forced || (done && !write.more) {
                full.push = true;
                self.pushed = full.end;
            }
            full.record |= done && write.record;
            self.begun = !done;
            if done {
                self.writes.pop_front();
            }
        }
    }

    /// Adds octets of the second buffer to the head, until that has `octets` (`tcp_grow_skb`).
    #[inline]
    pub(crate) fn grow(&mut self, nxt: u64, octets: u64) {
        let Some(&[head, next]) = self.buffers.as_slices().0.first_chunk::<2>() else {
            return self.grow_wrapped(nxt, octets);
        };
        if !head.record && head.end - nxt < octets {
            self.grow_by(head, next, octets - (head.end - nxt));
        }
    }

    fn grow_wrapped(&mut self, nxt: u64, octets: u64) {
        let (Some(&head), Some(&next)) = (self.buffers.front(), self.buffers.get(1)) else { return };
        if !head.record && head.end - nxt < octets {
            self.grow_by(head, next, octets - (head.end - nxt));
        }
    }

    fn grow_by(&mut self, head: Buffer, next: Buffer, missing: u64) {
        let end = next.end.min(head.end + missing);
        let eaten = end == next.end;
        if eaten {
            self.buffers.pop_front();
        }
        if let Some(front) = self.buffers.front_mut() {
            *front = Buffer { end, push: head.push || (eaten && next.push), record: eaten && next.record };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Buffers of 4,000 octets.
    const CUT: Cut = Cut { smss: 4000, max_window: 15_000 };

    fn queue(writes: &[u64]) -> WriteQueue {
        let mut queue = WriteQueue::default();
        for &end in writes {
            queue.write(end, WriteFlags::default());
        }
        queue
    }

    /// Ends of the buffers, negative without PSH.
    fn ends(queue: &WriteQueue) -> Vec<i64> {
        queue.buffers.iter().map(|b| if b.push { b.end as i64 } else { -(b.end as i64) }).collect()
    }

    #[test]
    fn buffers_are_whole_segments_within_half_of_the_largest_window() {
        // tcp_xmit_size_goal, Linux 7.2.
        let of = |max_window, smss| Cut { smss, max_window }.goal();
        assert_eq!(of(65_535 << 7, 1000), 65_000);
        assert_eq!(of(32_792, 1000), 16_000);
        assert_eq!(of(1000, 1460), 1460, "never less than a segment");
        assert_eq!(of(536, 100), 500, "a tiny window is not halved");
        assert_eq!(of(0, 1000), 65_000);
    }

    #[test]
    fn a_write_fills_the_last_buffer_and_begins_others() {
        let mut queue = queue(&[1500]);
        assert_eq!(queue.head(0, &CUT), Some(Head { octets: 1500, last: true, push: true, record: false }));
        queue.write(7000, WriteFlags::default());
        assert_eq!(queue.head(0, &CUT), Some(Head { octets: 4000, last: false, push: false, record: false }));
        assert_eq!(ends(&queue), [-4000, 7000], "the PSH of the first write went with the second");
    }

    #[test]
    fn a_settled_queue_has_its_head_at_hand() {
        let mut queue = queue(&[9000]);
        assert_eq!(queue.settled(0), None, "nothing is cut yet");
        assert_eq!(queue.head(0, &CUT).map(|head| head.octets), Some(4000));
        assert_eq!([0, 1500, 4000].map(|nxt| queue.settled(nxt)), [Some(4000), Some(2500), None]);
        queue.write(9500, WriteFlags::default());
        assert_eq!(queue.settled(0), None, "the write may fill a buffer");
    }

    #[test]
    fn a_buffer_sent_in_part_is_filled_again() {
        let mut queue = queue(&[3500]);
        queue.head(0, &CUT);
        queue.write(9000, WriteFlags::default());
        assert_eq!(queue.head(3000, &CUT).map(|head| head.octets), Some(4000));
        assert_eq!(ends(&queue), [-7000, 9000]);
    }

    #[test]
    fn half_a_window_without_psh_gets_one() {
        // forced_push, Linux 7.2: more than half of 15,000 octets.
        let mut queue = queue(&[30_000]);
        queue.head(0, &CUT);
        assert_eq!(ends(&queue), [-4000, 8000, -12_000, 16_000, -20_000, 24_000, -28_000, 30_000]);
    }

    #[test]
    fn a_buffer_grows_by_the_next() {
        let mut queue = queue(&[1500]);
        queue.head(0, &Cut { smss: 1000, max_window: 2000 });
        assert_eq!(ends(&queue), [-1000, 1500]);
        queue.grow(0, 1200);
        assert_eq!(ends(&queue), [-1200, 1500]);
        queue.grow(0, 5000);
        assert_eq!(ends(&queue), [1500], "with all of it comes its PSH");
        assert_eq!(queue.head(0, &CUT).map(|head| head.last), Some(true));
    }

    #[test]
    fn a_record_keeps_its_end() {
        let mut queue = queue(&[]);
        queue.write(1000, WriteFlags { record: true, more: false });
        queue.write(2000, WriteFlags::default());
        assert_eq!(queue.head(0, &CUT), Some(Head { octets: 1000, last: false, push: true, record: true }));
        queue.grow(0, 2000);
        assert_eq!(ends(&queue), [1000, 2000]);
    }

    #[test]
    fn more_data_at_once_leaves_out_psh() {
        let mut queue = queue(&[]);
        queue.write(1000, WriteFlags { record: false, more: true });
        assert_eq!(queue.head(0, &CUT).map(|head| head.push), Some(false));
        queue.write(1500, WriteFlags::default());
        assert_eq!(queue.head(0, &CUT).map(|head| (head.octets, head.push)), Some((1500, true)));
    }

    #[test]
    fn a_write_that_waits_for_room_is_pushed() {
        let mut queue = queue(&[]);
        queue.write(1000, WriteFlags { record: false, more: true });
        queue.push();
        assert_eq!(queue.head(0, &CUT).map(|head| head.push), Some(true));
        queue.write(1500, WriteFlags { record: false, more: true });
        assert_eq!(queue.head(0, &CUT).map(|head| head.push), Some(false), "more was added");
        queue.push();
        assert_eq!(queue.head(0, &CUT).map(|head| head.push), Some(true));
    }

    #[test]
    fn an_endless_stream_is_cut_as_it_is_sent() {
        let mut queue = queue(&[u64::MAX]);
        let mut nxt = 0;
        for _ in 0..1000 {
            let head = queue.head(nxt, &CUT).unwrap();
            assert_eq!((head.octets, head.last), (4000, false));
            nxt += 4000;
        }
        assert!(queue.buffers.len() <= AHEAD);
        queue.withdraw(nxt, nxt);
        assert_eq!(queue.head(nxt, &CUT), None);
        queue.write(nxt + 10, WriteFlags::default());
        assert_eq!(queue.head(nxt, &CUT).map(|head| (head.octets, head.push)), Some((10, true)));
    }

    #[test]
    fn many_small_writes_take_bounded_memory() {
        let mut queue = queue(&[]);
        for n in 1..100_000 {
            queue.write(n, WriteFlags::default());
        }
        assert!(queue.writes.len() <= WRITES);
        assert_eq!(queue.head(0, &CUT).map(|head| head.octets), Some(4000));
    }
}
