//! What a send buffer holds, as Linux accounts for it (`sk_wmem_queued`), and when it has room.
//!
//! A stream is a queue of buffers (`sk_buff`), each up to the size that one burst carries. A buffer takes its payload
//! and an overhead. `tcp_sendmsg` asks for memory only when it needs a new buffer, so what a write takes depends on how
//! full the last one is; sending a part of a buffer splits it.

use std::collections::VecDeque;

/// Memory of a buffer beside its payload: `sk_buff` (256), `skb_shared_info` (320) and a small head (384), bytes.
const OVERHEAD: u64 = 960;
/// `MAX_TCP_HEADER`, and `skb_shared_info`, aligned, bytes.
const HEADERS: u64 = 320 + 320;
/// `sk_buff`, aligned, bytes.
const SK_BUFF: u64 = 256;
/// Smallest `sk_sndbuf` that `SO_SNDBUF` sets (`SOCK_MIN_SNDBUF`), bytes.
const LEAST: u64 = 4_608;
/// Payload that a burst carries at most: 64 KiB less the largest header (`sk_trim_gso_size`), bytes.
const BURST: u64 = 65_535 - 320;

/// A buffer of the stream.
#[derive(Clone, Copy, Debug)]
struct Buffer {
    len: u64,
    /// Whether no more may be appended (`MSG_EOR`).
    closed: bool,
    /// Whether it is pinned user memory (`MSG_ZEROCOPY`), which no other data is appended to.
    pinned: bool,
}

/// The memory of a send queue.
#[derive(Debug)]
pub(crate) struct Memory {
    buffers: VecDeque<Buffer>,
    /// Index of the first buffer of which nothing was sent.
    unsent: usize,
    /// Offsets in the stream: acknowledged, sent, written.
    una: u64,
    sent: u64,
    written: u64,
    /// End of what was written when half a window was complete last (`pushed_seq`).
    pushed: u64,
    /// `sk_sndbuf`.
    limit: u64,
    /// Whether `SO_SNDBUF` fixed the limit.
    fixed: bool,
    /// `tcp_wmem[2]`.
    most: u64,
}

/// The payload of a full buffer (`tcp_xmit_size_goal`): whole segments, at most a burst and half the peer's largest
/// window.
pub(crate) fn size_goal(mss: u64, max_window: u64) -> u64 {
    let mss = mss.max(1);
    let half = if max_window > 536 { max_window / 2 } else { max_window };
    let bound = if half > 0 { BURST.min(half.max(68 - 40)) } else { BURST };
    (bound / mss).max(1) * mss
}

impl Memory {
    /// An empty queue; `wmem` is `tcp_wmem`.
    pub(crate) fn new(wmem: [u64; 3]) -> Self {
        let [_, limit, most] = wmem;
        Self { buffers: VecDeque::new(), unsent: 0, una: 0, sent: 0, written: 0, pushed: 0, limit, fixed: false, most }
    }

    /// `sk_sndbuf`.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Sets the limit as `SO_SNDBUF` does: doubled, and no longer tuned.
    pub(crate) fn fix(&mut self, value: u64) {
        (self.limit, self.fixed) = ((2 * value).max(LEAST), true);
    }

    /// Takes another queue's limit, as an accepted socket takes its listener's.
    pub(crate) fn inherit(&mut self, from: &Self) {
        (self.limit, self.fixed, self.most) = (from.limit, from.fixed, from.most);
    }

    /// `sk_wmem_queued`.
    pub(crate) fn queued(&self) -> u64 {
        self.written - self.una + OVERHEAD * self.buffers.len() as u64
    }

    /// Bytes written so far.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Bytes sent, and bytes acknowledged so far.
    pub(crate) fn progress(&self) -> (u64, u64) {
        (self.sent, self.una)
    }

    /// Bytes not acknowledged (`SIOCOUTQ`).
    pub(crate) fn unacked(&self) -> u64 {
        self.written - self.una
    }

    /// Bytes not sent.
    pub(crate) fn not_sent(&self) -> u64 {
        self.written - self.sent
    }

    /// Whether a new buffer may be allocated (`sk_stream_memory_free`); `lowat` is `TCP_NOTSENT_LOWAT`.
    pub(crate) fn is_free(&self, lowat: u64) -> bool {
        self.queued() < self.limit && self.not_sent() < lowat
    }

    /// Whether a writer is woken (`sk_stream_is_writeable`): a third is free, and half of `lowat`.
    pub(crate) fn is_writable(&self, lowat: u64) -> bool {
        let queued = self.queued();
        self.limit.saturating_sub(queued) >= queued / 2 && self.limit >= queued && 2 * self.not_sent() < lowat
    }

    /// Appends up to `len` bytes to the last buffer or, if that is full and memory is free, to a new one. Returns how
    /// many bytes fit, and whether the buffer is full; `None` if a writer has to wait.
    pub(crate) fn append(&mut self, len: u64, goal: u64, lowat: u64, pinned: bool) -> Option<(u64, bool)> {
        let open = self
            .buffers
            .back()
            .filter(|last| self.not_sent() > 0 && !last.closed && last.len < goal && last.pinned == pinned);
        if open.is_none() {
            if !self.is_free(lowat) {
                return None;
            }
            self.buffers.push_back(Buffer { len: 0, closed: false, pinned });
        }
        let last = self.buffers.back_mut()?;
        let fits = (goal - last.len).min(len);
        last.len += fits;
        self.written += fits;
        Some((fits, last.len >= goal))
    }

    /// Ends the last buffer (`MSG_EOR`).
    pub(crate) fn close_last(&mut self) {
        if let Some(last) = self.buffers.back_mut() {
            last.closed = true;
        }
    }

    /// Whether the last buffer is the first of which nothing was sent (`skb == tcp_send_head`).
    pub(crate) fn last_is_first(&self) -> bool {
        self.unsent + 1 == self.buffers.len()
    }

    /// Whether more than half of the peer's largest window was written since this was true last (`forced_push`).
    pub(crate) fn is_half_a_window_unpushed(&mut self, max_window: u64) -> bool {
        let is = self.written > self.pushed + max_window / 2;
        if is {
            self.pushed = self.written;
        }
        is
    }

    /// Follows the connection: all before `sent` was sent, all before `una` is acknowledged.
    pub(crate) fn follow(&mut self, sent: u64, una: u64) {
        let sent = sent.min(self.written);
        let mut left = sent.saturating_sub(self.sent);
        self.sent = self.sent.max(sent);
        while left > 0 {
            let Some(first) = self.buffers.get_mut(self.unsent) else { break };
            if first.len <= left {
                left -= first.len;
                self.unsent += 1;
            } else {
                let rest = Buffer { len: first.len - left, ..*first };
                first.len = left;
                self.unsent += 1;
                self.buffers.insert(self.unsent, rest);
                left = 0;
            }
        }
        let mut acked = una.min(self.sent).saturating_sub(self.una);
        self.una += acked;
        while acked > 0 {
            let Some(first) = self.buffers.front_mut() else { break };
            if first.len <= acked {
                acked -= first.len;
                self.buffers.pop_front();
                self.unsent = self.unsent.saturating_sub(1);
            } else {
                first.len -= acked;
                acked = 0;
            }
        }
    }

    /// Grows the limit with the window (`tcp_sndbuf_expand`): memory for two windows of `segments`.
    pub(crate) fn expand(&mut self, mss: u64, segments: u64) {
        if self.fixed {
            return;
        }
        let per_segment = (mss + HEADERS).next_power_of_two() + SK_BUFF;
        let wanted = segments.max(10).saturating_mul(2 * per_segment);
        if wanted > self.limit {
            self.limit = wanted.min(self.most.max(self.limit));
        }
    }

    /// Drops all that waits, as when the connection has ended.
    pub(crate) fn clear(&mut self) {
        self.buffers.clear();
        (self.unsent, self.una, self.sent) = (0, self.written, self.written);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: u64 = u64::MAX;

    fn fill(memory: &mut Memory, mut len: u64, goal: u64, lowat: u64) -> u64 {
        let wanted = len;
        while len > 0 {
            let Some((took, _)) = memory.append(len, goal, lowat, false) else { break };
            len -= took;
        }
        wanted - len
    }

    #[test]
    fn a_full_buffer_may_go_beyond_the_limit_once() {
        let mut memory = Memory::new([4_096, 16_384, 4_194_304]);
        memory.fix(500);
        assert_eq!(memory.limit(), 4_608, "the least");
        assert_eq!(fill(&mut memory, 10_000, 988, ANY), 3 * 988, "2 * (988 + 960) is below the limit, 3 * is not");
        memory.follow(988, 988);
        assert!(!memory.is_writable(ANY), "3896 of 4608");
        memory.follow(2 * 988, 2 * 988);
        assert!(memory.is_writable(ANY));
    }

    #[test]
    fn data_that_is_not_sent_counts_against_its_own_limit() {
        let mut memory = Memory::new([4_096, 1 << 20, 1 << 22]);
        assert_eq!(fill(&mut memory, 59_000, 16_000, 32_000), 32_000);
        assert!(!memory.is_writable(32_000));
        memory.follow(17_000, 0);
        assert!(memory.is_writable(32_000), "15 kB is less than half");
    }

    #[test]
    fn sending_splits_a_buffer_and_the_rest_takes_more() {
        let mut memory = Memory::new([4_096, 50_000, 1 << 22]);
        assert_eq!(memory.append(59_000, 16_000, ANY, false), Some((16_000, true)));
        assert!(memory.last_is_first());
        memory.follow(10_000, 0);
        assert_eq!(memory.append(43_000, 16_000, ANY, false), Some((10_000, true)), "to the rest of 6000");
        assert_eq!(fill(&mut memory, 33_000, 16_000, ANY), 32_000, "58000 in all, as Linux takes");
        memory.follow(58_000, 58_000);
        assert_eq!((memory.queued(), memory.unacked()), (0, 0));
    }

    #[test]
    fn the_limit_follows_the_window_unless_it_is_fixed() {
        let mut memory = Memory::new([4_096, 16_384, 4_194_304]);
        memory.expand(1_000, 36);
        assert_eq!(memory.limit(), 2 * 36 * 2_304);
        memory.expand(1_000, 10);
        assert_eq!(memory.limit(), 2 * 36 * 2_304, "it does not shrink");
        memory.fix(10_000);
        memory.expand(1_000, 100);
        assert_eq!(memory.limit(), 20_000);
    }

    #[test]
    fn a_buffer_is_whole_segments_within_half_the_window() {
        assert_eq!(size_goal(1_000, 257 * 128), 16_000);
        assert_eq!(size_goal(1_460, 10_000_000), 44 * 1_460);
        assert_eq!(size_goal(988, 2_000), 988);
        assert_eq!(size_goal(1_460, 0), 44 * 1_460, "before a window is known");
    }
}
