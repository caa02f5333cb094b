//! TCP Small Queues: how much of a sender may wait in its own host's device (`tcp_small_queue_check`).
//!
//! Sources: Linux 7.2, `net/ipv4/tcp_output.c` (`tcp_small_queue_check`, `tcp_wfree`, `tcp_tsq_write`).
//!
//! | Linux | here |
//! |---|---|
//! | `sk_wmem_alloc` | [`SmallQueue::octets`]: IP packets with payload; Linux counts the memory of their buffers |
//! | `tcp_wfree` | the end of a packet's transmission, which the caller knows when the device takes it |
//! | `sk_pacing_rate >> sk_pacing_shift` | 1/1024 s at the rate in force |
//! | `tcp_limit_output_bytes`, `SK_PACING_NONE` | [`MOST`], where nothing paces |
//! | `tcp_rtx_queue_empty_or_single_skb` | a sender with at most one super-packet outstanding is never held |
//! | `TSQ_THROTTLED` | [`SmallQueue::wake`] |
//!
//! Linux also leaves a retransmission undone while the original is in the host (`skb_still_in_host_queue`). Here it
//! leaves, as it does there from a device that releases memory early.

use narrows_units::{Instant, Rate};
use std::collections::VecDeque;

/// Default of `tcp_limit_output_bytes` (4 MiB since Linux 6.16).
const MOST: u64 = 4 << 20;

/// A packet in the device.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// When the device has sent it.
    left: Instant,
    octets: u64,
}

/// A connection's packets in its host's device.
#[derive(Debug)]
pub(crate) struct SmallQueue {
    /// In the order in which they leave.
    waiting: VecDeque<Waiting>,
    octets: u64,
    wake: Instant,
}

impl Default for SmallQueue {
    fn default() -> Self {
        Self { waiting: VecDeque::new(), octets: 0, wake: Instant::NEVER }
    }
}

/// Octets that may wait before a super-packet of `octets` leaves, at the rate in force, which paces the sender if
/// `paced`. Without a rate there is no bound by time. A retransmission may find twice as much.
pub(crate) fn limit(octets: u64, rate: Option<Rate>, paced: bool, retransmission: bool) -> u64 {
    let by_rate = rate.map_or(u64::MAX, |rate| rate.as_bps() / 8 / 1024);
    let limit = by_rate.max(2 * octets);
    let limit = if paced { limit } else { limit.min(MOST) };
    if retransmission { limit.saturating_mul(2) } else { limit }
}

impl SmallQueue {
    /// The device has taken a packet of `octets` that it will have sent at `left`.
    pub(crate) fn on_queued(&mut self, octets: u64, left: Instant) {
        self.waiting.push_back(Waiting { left, octets });
        self.octets += octets;
    }

    /// Octets that the device has not sent.
    pub(crate) fn octets(&mut self, now: Instant) -> u64 {
        while let Some(first) = self.waiting.front()
            && first.left <= now
        {
            self.octets -= first.octets;
            self.waiting.pop_front();
        }
        self.octets
    }

    /// Whether more than `limit` octets wait; [`wake`](Self::wake) is then when so few are left that the sender may go
    /// on.
    pub(crate) fn holds(&mut self, limit: u64, now: Instant) -> bool {
        let mut octets = self.octets(now);
        if octets <= limit {
            return false;
        }
        for packet in &self.waiting {
            octets -= packet.octets;
            if octets <= limit {
                self.wake = packet.left;
                break;
            }
        }
        true
    }

    /// When a sender that is held may go on; [`Instant::NEVER`] if none is.
    pub(crate) fn wake(&self) -> Instant {
        self.wake
    }

    /// Lets the sender go on if its time has come.
    pub(crate) fn on_timeout(&mut self, now: Instant) {
        if now >= self.wake {
            self.wake = Instant::NEVER;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_units::Duration;

    fn us(n: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(n)
    }

    #[test]
    fn the_limit_is_that_of_the_kernel_s_formula() {
        // max(2 * skb, sk_pacing_rate >> 10), at most tcp_limit_output_bytes without pacing; twice for retransmissions.
        let of = |octets, rate, paced, again| limit(octets, rate, paced, again);
        let mbps = |n| Some(Rate::mbps(n));
        assert_eq!(of(3000, mbps(8), false, false), 6000, "976 octets of a millisecond, two super-packets of 3,000");
        assert_eq!(of(3000, mbps(100), false, false), 12_207, "12,500,000 >> 10");
        assert_eq!(of(3000, mbps(100), false, true), 24_414);
        assert_eq!(of(65_000, mbps(1000), false, false), 130_000, "two super-packets are more than 122,070");
        assert_eq!(of(65_000, mbps(100_000), false, false), 4 << 20, "not 12,207,031");
        assert_eq!(of(65_000, mbps(100_000), true, false), 12_207_031, "pacing bounds it itself");
        assert_eq!(of(65_000, None, false, false), 4 << 20, "before the first round-trip time");
    }

    #[test]
    fn a_sender_is_held_until_the_device_has_sent_enough() {
        let mut queue = SmallQueue::default();
        for n in 1..=5 {
            queue.on_queued(1000, us(100 * n));
        }
        assert!(!queue.holds(5000, us(0)), "more than the limit must wait, not as much");
        assert_eq!(queue.wake(), Instant::NEVER);
        assert!(queue.holds(2500, us(100)));
        assert_eq!((queue.octets(us(100)), queue.wake()), (4000, us(300)));
        queue.on_timeout(us(299));
        assert_eq!(queue.wake(), us(300));
        queue.on_timeout(us(300));
        assert!(!queue.holds(2500, us(300)));
        assert_eq!(queue.wake(), Instant::NEVER);
        assert_eq!(queue.octets(us(500)), 0);
    }
}
