//! A sender bounded by what waits in its host's device ([`Config::tsq`](crate::Config::tsq)).

use super::Connection;
use crate::linux::small_queue::{SmallQueue, limit};
use crate::segment::flag;
use narrows_cc::Window;
use narrows_units::{Bytes, Instant};

/// Bytes of the IPv4 and TCP headers of a segment, without options; IPv6 has 20 more.
const HEADERS: u64 = 40;

impl Connection {
    /// Notes that the host's device has taken the last packet, of `octets` with its headers, and will have sent it at
    /// `left`. Call it for packets with payload, in the order in which they leave. Without
    /// [`Config::tsq`](crate::Config::tsq) it has no effect.
    pub fn on_queued(&mut self, octets: Bytes, left: Instant) {
        if let Some(queue) = self.small_queue_mut() {
            queue.on_queued(octets.as_u64(), left);
        }
    }

    /// Octets that wait in the host's device; zero without [`Config::tsq`](crate::Config::tsq).
    pub fn queued(&mut self, now: Instant) -> Bytes {
        Bytes::new(self.small_queue_mut().map_or(0, |queue| queue.octets(now)))
    }

    #[inline]
    fn small_queue_mut(&mut self) -> Option<&mut SmallQueue> {
        self.device.as_mut()?.small_queue.as_mut()
    }

    /// Lets a sender that the device holds go on if its time has come.
    pub(super) fn on_device_timeout(&mut self, now: Instant) {
        if let Some(queue) = self.small_queue_mut() {
            queue.on_timeout(now);
        }
    }

    /// Whether new data of so many bytes waits because too much waits in the host's device; the timer then runs.
    #[inline]
    pub(super) fn device_holds_new(&mut self, payload: u64, now: Instant) -> bool {
        self.has_small_queue() && self.is_held(payload, false, now)
    }

    /// Whether the segment with this index, which would leave again with those that it left together with, waits.
    #[inline]
    pub(super) fn device_holds_again(&mut self, index: u64, now: Instant) -> bool {
        self.has_small_queue() && {
            let joined = (index + 1..).map_while(|next| self.tx.board.get(next).filter(|next| next.has(flag::JOINED)));
            let first = self.tx.board.get(index).into_iter();
            let payload = first.chain(joined).map(|segment| u64::from(segment.payload())).sum();
            self.is_held(payload, true, now)
        }
    }

    #[inline]
    fn has_small_queue(&self) -> bool {
        self.device.as_ref().is_some_and(|device| device.small_queue.is_some())
    }

    #[inline(never)]
    fn is_held(&mut self, payload: u64, retransmission: bool, now: Instant) -> bool {
        let win = Window { cwnd: self.cwnd(), ..self.congestion.win };
        let (rate, paced) = (self.rate_of(&win), self.pacer.rate(&win).is_some());
        let most = limit(self.octets_of(payload), rate, paced, retransmission);
        let single = self.is_one_burst_outstanding();
        let held = !single && self.small_queue_mut().is_some_and(|queue| queue.holds(most, now));
        if held {
            self.arm_rare();
            self.note_usage(false, now);
        }
        held
    }

    /// Bytes of the packets that carry `payload` bytes, with their headers.
    fn octets_of(&self, payload: u64) -> u64 {
        let options = u64::from(self.config.mss).saturating_sub(self.smss);
        let header = HEADERS + options + if self.is_ipv6() { 20 } else { 0 };
        payload + payload.div_ceil(self.smss.max(1)) * header
    }

    /// Whether at most one super-packet is outstanding (`tcp_rtx_queue_empty_or_single_skb`).
    fn is_one_burst_outstanding(&self) -> bool {
        self.tx.board.segments().skip(1).all(|segment| segment.has(flag::JOINED))
    }
}
