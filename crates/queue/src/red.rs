//! Random Early Detection.
//!
//! # Idea
//! Drop (or mark) at random before the queue is full, with a probability that grows with a moving average of the
//! queue, so that senders slow down one by one and bursts still fit.
//!
//! # Sources
//! - Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM ToN 1(4), 1993:
//!   section 4, figures 1 and 2 (algorithm), section 7 (the uniform spacing of drops).
//! - Floyd, "Recommendation on using the gentle variant of RED", 2000: the slope above the upper threshold.
//! - RFC 3168, section 7: marks instead of drops, and drops again above the upper threshold.
//!
//! # State
//! | paper | field | unit |
//! |---|---|---|
//! | avg | `avg` | packets, or bytes in byte mode |
//! | count | `count` | mean packets since the last drop or mark; `None` is the paper's -1 |
//! | q_time | `idle_since` | when the link ran out of work |
//! | min_th, max_th, w_q, max_p | [`RedConfig`] | |
//!
//! # Differences
//! - Average over an idle time: decayed by (1 - w_q)^m as in the paper, m being the mean packets that could have been
//!   sent (not rounded down, unlike ns-2), and then updated with the empty queue, as ns-2 does (m + 1 steps). Idle time
//!   starts when the last transmission ends, as in the paper and ns-2; Linux starts it when the backlog is empty, and
//!   decays by a table.
//! - `wait`: on as in ns-2 and ns-3; off is the paper and Linux. It moves the spacing of drops from uniform on
//!   1..1/p_b to uniform on 1/p_b..2/p_b.
//! - `gentle`: on as in ns-2 and ns-3; the paper and Linux drop all from the upper threshold on.
//! - `bytes_mode`: as ns-2: thresholds and average in bytes, count in bytes over the mean packet size, and the final
//!   probability times size over mean size. The paper scales p_b before the count enters, which makes the first large
//!   packet after many small ones a sure drop. Linux averages bytes and does not weight by size.
//! - `ecn`: forced drops and overflow stay drops (RFC 3168; Linux's `harddrop`, which is not its default). ns-2's
//!   `mark_p_` (drop capable packets too while p_b > 0.1) and its `use_mark_p_` have no counterpart.
//! - ns-2 never drops early while at most one packet waits, and lets the first packet above the lower threshold pass; the
//!   paper, and so this file, does neither.
//! - Packets that overflow move the average and restart the count, as in ns-2; Linux only updates the average.
//!
//! # Limits
//! The average moves only when packets arrive. Parameters are fixed: Adaptive RED is not here.
//!
//! # Vectors
//! `drop_probability_follows_the_two_slopes`, `spacing_without_wait_is_floyd_and_jacobson`,
//! `spacing_with_wait_starts_after_one_over_p`, `average_is_an_exponential_moving_one`,
//! `average_decays_as_if_small_packets_had_left_while_idle`.

use crate::{Aqm, DropReason, Fifo, Limit, Queue, QueueView, Verdict};
use narrows_rng::Stream;
use narrows_units::{Bytes, Instant, Packets, Probability};
use narrows_wire::Packet;

/// Parameters of RED. Thresholds are in packets, or in bytes with `bytes_mode`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedConfig {
    /// Hard limit of the storage.
    pub limit: Limit,
    /// Lower threshold of the average, min_th: below it nothing is dropped early.
    pub min_threshold: f64,
    /// Upper threshold of the average, max_th; counts as `min_threshold` where it is smaller.
    pub max_threshold: f64,
    /// Weight w_q of the newest sample in the average, 0 to 1; values outside are brought to the nearest.
    pub weight: f64,
    /// Drop probability max_p as the average reaches the upper threshold.
    pub max_p: Probability,
    /// Let the probability rise from `max_p` to 1 at twice the upper threshold, instead of dropping all from there.
    pub gentle: bool,
    /// Mark ECN-capable packets instead of dropping them early.
    pub ecn: bool,
    /// Average in bytes, and larger packets more likely to be dropped.
    pub bytes_mode: bool,
    /// Let at least 1/p_b packets pass between drops.
    pub wait: bool,
    /// Mean packet size, for idle time and byte mode; zero counts as one byte.
    pub mean_packet: Bytes,
}

impl Default for RedConfig {
    /// ns-3's thresholds and weight, Floyd's later advice of 0.1 for max_p, gentle, and a limit of 100 packets.
    fn default() -> Self {
        Self {
            limit: Limit::Packets(Packets::new(100)),
            min_threshold: 5.0,
            max_threshold: 15.0,
            weight: 0.002,
            max_p: Probability::clamped(0.1),
            gentle: true,
            ecn: false,
            bytes_mode: false,
            wait: true,
            mean_packet: Bytes::new(500),
        }
    }
}

impl RedConfig {
    /// p_b: the drop probability for this average, before spacing; `None` where every packet is dropped.
    #[must_use]
    pub fn base_probability(&self, avg: f64) -> Option<f64> {
        let (min, max, max_p) = (self.min_threshold, self.max_threshold.max(self.min_threshold), self.max_p.as_f64());
        if avg < min {
            Some(0.0)
        } else if avg < max {
            Some(max_p * (avg - min) / (max - min))
        } else if self.gentle && avg < 2.0 * max {
            Some(max_p + (1.0 - max_p) * (avg - max) / max)
        } else {
            None
        }
    }

    /// p_a: the probability after spacing, `count` packets after the last drop (section 7 of the paper).
    #[must_use]
    pub fn spaced_probability(&self, base: f64, count: f64) -> f64 {
        let steps = count * base;
        match self.wait {
            true if steps < 1.0 => 0.0,
            true if steps < 2.0 => (base / (2.0 - steps)).min(1.0),
            false if steps < 1.0 => (base / (1.0 - steps)).min(1.0),
            _ => 1.0,
        }
    }
}

/// The RED discipline; see the head of this file.
#[derive(Clone, Debug)]
pub struct Red {
    config: RedConfig,
    chance: Stream,
    avg: f64,
    count: Option<f64>,
    idle_since: Instant,
}

impl Red {
    /// RED at rest, with an average of zero; `chance` decides about early drops.
    #[must_use]
    pub fn new(config: RedConfig, chance: Stream) -> Self {
        let weight = if config.weight > 0.0 { config.weight.min(1.0) } else { 0.0 };
        let mean_packet = config.mean_packet.max(Bytes::new(1));
        let config = RedConfig { weight, mean_packet, ..config };
        Self { config, chance, avg: 0.0, count: None, idle_since: Instant::ZERO }
    }

    /// The moving average of the queue, in packets or (byte mode) bytes.
    #[must_use]
    pub const fn average(&self) -> f64 {
        self.avg
    }

    #[inline]
    fn update_average(&mut self, view: &QueueView, now: Instant) {
        let weight = self.config.weight;
        if view.packets.is_zero() && now > self.idle_since {
            let idle = now.since(self.idle_since).as_secs_f64();
            let sendable = idle * view.rate.as_bps() as f64 / (8.0 * self.config.mean_packet.as_f64());
            self.avg *= libm::pow(1.0 - weight, sendable);
            // If this packet is dropped the link stays idle, and this stretch must not count twice.
            self.idle_since = now;
        }
        let queue = if self.config.bytes_mode { view.bytes.as_f64() } else { view.packets.as_f64() };
        self.avg += weight * (queue - self.avg);
    }

    /// Decides by chance, with the average in the range where p_b is `base`.
    fn decide(&mut self, base: f64, packet: &Packet) -> Verdict {
        let size = packet.len().as_f64() / self.config.mean_packet.as_f64();
        let step = if self.config.bytes_mode { size } else { 1.0 };
        let count = self.count.map_or(0.0, |count| count + step);
        self.count = Some(count);
        let mut p = self.config.spaced_probability(base, count);
        if self.config.bytes_mode && p < 1.0 {
            p *= size;
        }
        let picked = p >= 1.0 || (p > 0.0 && self.chance.chance(p));
        if !picked {
            return Verdict::Pass;
        }
        self.count = Some(0.0);
        if self.config.ecn && packet.ip.ecn().is_capable() { Verdict::Mark } else { Verdict::Drop(DropReason::Early) }
    }
}

impl Aqm for Red {
    #[inline]
    fn on_enqueue(&mut self, packet: &Packet, view: &QueueView, now: Instant) -> Verdict {
        self.update_average(view, now);
        if self.avg < self.config.min_threshold {
            self.count = None;
            return Verdict::Pass;
        }
        match self.config.base_probability(self.avg) {
            Some(base) => self.decide(base, packet),
            None => {
                self.count = Some(0.0);
                Verdict::Drop(DropReason::Forced)
            }
        }
    }

    fn on_overflow(&mut self, _packet: &Packet, view: &QueueView, now: Instant) {
        self.update_average(view, now);
        if self.count.is_some() {
            self.count = Some(0.0);
        }
    }

    #[inline]
    fn on_dequeue(&mut self, packet: &Packet, _enqueued: Instant, view: &QueueView, now: Instant) -> Verdict {
        if view.packets.is_zero() {
            self.idle_since = now + view.rate.time_for(packet.len());
        }
        Verdict::Pass
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("avg", self.avg);
        visit("count", self.count.unwrap_or(-1.0));
        visit("p_b", self.config.base_probability(self.avg).unwrap_or(1.0));
    }
}

/// A queue under RED. `chance` must belong to this queue alone, or another queue's arrivals shift its drops.
#[must_use]
pub fn red(config: RedConfig, chance: Stream) -> Box<dyn Queue> {
    Box::new(Fifo::new(config.limit, Red::new(config, chance)))
}
