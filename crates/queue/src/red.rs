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
//! - Floyd, Gummadi and Shenker, "Adaptive RED: An Algorithm for Increasing the Robustness of RED's Active Queue
//!   Management", 2001: section 4, figure 4 (`adaptive`).
//! - RFC 3168, section 7: marks instead of drops, and drops again above the upper threshold.
//!
//! # State
//! | paper | field | unit |
//! |---|---|---|
//! | avg | `avg` | packets, or bytes in byte mode |
//! | count | `count` | mean packets since the last drop or mark; `None` is the paper's -1 |
//! | q_time | `idle_since` | when the link ran out of work |
//! | min_th, max_th, w_q, max_p | [`RedConfig`] | |
//! | max_p of Adaptive RED | `adaptation` | |
//! | C of Adaptive RED | `capacity_of`: the rate that it was last computed for | b/s |
//!
//! # Differences
//! - Average over an idle time: decayed by (1 - w_q)^m as in the paper, where m is the number of packets of mean size
//!   that could have been sent (not rounded down, unlike ns-2), and then updated with the empty queue (m + 1 steps), as
//!   ns-2 does. Idle time starts when the last transmission ends, as in the paper and ns-2; Linux starts it when the
//!   backlog is empty, and decays by a table.
//! - `wait`: on as in ns-2 and ns-3; off is the paper and Linux. It moves the spacing of drops from uniform on
//!   1..1/p_b to uniform on 1/p_b..2/p_b.
//! - `gentle`: on as in ns-2 and ns-3; the paper and Linux drop all from the upper threshold on.
//! - `bytes_mode`: as in ns-2: thresholds and average in bytes, count in bytes over the mean packet size, and the final
//!   probability times size over mean size. The paper scales p_b before the count enters, which makes the first large
//!   packet after many small ones a certain drop. Linux averages bytes and does not weight by size.
//! - `ecn`: forced drops and overflow stay drops (RFC 3168; Linux's `harddrop`, which is not its default). ns-2's
//!   `mark_p_` (drop capable packets too while p_b > 0.1) and its `use_mark_p_` have no counterpart.
//! - ns-2 never drops early while at most one packet waits, and lets the first packet above the lower threshold pass;
//!   the paper, and so this file, does neither.
//! - `adaptive`: off as in the 1993 paper and ns-2. On, max_p rises by min(0.01, max_p / 4) while the average is above
//!   min_th + 0.6 (max_th - min_th), falls to 0.9 of it while the average is below min_th + 0.4 (max_th - min_th), and
//!   stays in [0.01, 0.5]; a given `max_p` outside is brought inside. Steps are at least 0.5 s apart and are taken as
//!   packets arrive, as in ns-2; Linux has a timer that runs always. ns-2 takes a step only after more than 0.5 s, and
//!   its last step may leave the range.
//! - `weight = 0` and `target_delay` are the paper's automatic settings: with C packets of mean size a second, w_q is
//!   1 - exp(-1 / C), min_th is max(5, C `target_delay` / 2) and max_th is 3 min_th. They apply with and without
//!   `adaptive`, as ns-2's `q_weight_ = 0` and `targetdelay_` do. Unlike there, they follow changes of the rate, and
//!   given thresholds do not count. ns-3 has them too.
//! - Packets that overflow move the average and restart the count, as in ns-2; Linux only updates the average.
//! - `profile = "linux"` takes the decisions of Linux 6.1 (`red/linux.rs` says what they are): bytes, integers, a
//!   weight that is a power of two, one random number for each drop, no `gentle` and no `wait`, and a slower decay over
//!   idle times. The default, `floyd`, is what the lines above describe.
//!
//! # Limits
//! The average moves only when packets arrive. With `adaptive`, max_p keeps its value over idle times. Thresholds from
//! `target_delay` may lie above the limit, which then drops first.
//!
//! # Vectors
//! `drop_probability_follows_the_two_slopes`, `spacing_without_wait_is_floyd_and_jacobson`,
//! `spacing_with_wait_starts_after_one_over_p`, `average_is_an_exponential_moving_one`,
//! `average_decays_as_if_small_packets_had_left_while_idle`, `max_p_rises_by_alpha_and_falls_by_beta`,
//! `automatic_settings_follow_the_rate`.

mod adaptive;
mod linux;
mod params;
#[cfg(test)]
mod tests;

pub use params::RedConfig;

use crate::registry::{Discipline, Row, Setup};
use crate::{Aqm, DropReason, Fifo, Queue, QueueView, Verdict};
use adaptive::{Adaptation, Capacity};
use linux::RedLinux;
use narrows_rng::Stream;
use narrows_units::{Bytes, Instant, Probability, Rate, Variable};
use narrows_wire::Packet;
use params::{PARAMS, UNIT, fit};

/// The row of RED.
pub(crate) const ROW: Row = Row {
    about: Discipline {
        name: "red",
        title: "Random Early Detection",
        doc: "Random Early Detection (Floyd and Jacobson 1993)",
        sources: &[
            "Floyd and Jacobson, Random Early Detection Gateways for Congestion Avoidance, IEEE/ACM ToN 1(4), 1993",
            "Floyd, Recommendation on using the gentle variant of RED, 2000",
            "Floyd, Gummadi and Shenker, Adaptive RED, 2001",
            "RFC 3168, section 7",
        ],
        params: PARAMS,
        variables: &[
            Variable::new("avg", UNIT, "Moving average of the queue."),
            Variable::new(
                "count",
                "packets",
                "Packets since the last early drop or mark, of mean size with bytes_mode; -1 below the lower threshold.",
            ),
            Variable::new("p_b", "", "Probability of an early drop or mark before drops are spaced."),
        ],
        tail_only: false,
        fit,
        source: include_str!("red.rs"),
    },
    build,
};

fn build(Setup { limit, params, chance }: Setup<'_>) -> Box<dyn Queue> {
    let config = RedConfig::of(limit, params);
    if params.choice("profile") == "linux" {
        return Box::new(Fifo::new(limit, RedLinux::new(config, chance)));
    }
    red(config, chance)
}

/// The RED discipline; see the head of this file.
#[derive(Clone, Debug)]
pub struct Red {
    config: RedConfig,
    chance: Stream,
    avg: f64,
    count: Option<f64>,
    idle_since: Instant,
    adaptation: Option<Adaptation>,
    /// The rate that the automatic settings were last computed for.
    capacity_of: Rate,
}

impl Red {
    /// RED with an average of zero; `chance` supplies the random numbers for early drops.
    #[must_use]
    pub fn new(config: RedConfig, chance: Stream) -> Self {
        let weight = if config.weight > 0.0 { config.weight.min(1.0) } else { 0.0 };
        let mean_packet = config.mean_packet.max(Bytes::new(1));
        let adaptation = config.adaptive.then(|| Adaptation::new(config.max_p.as_f64()));
        let max_p = adaptation.map_or(config.max_p, |adaptation| Probability::clamped(adaptation.max_p()));
        let config = RedConfig { weight, mean_packet, max_p, ..config };
        let (avg, count, idle_since, capacity_of) = (0.0, None, Instant::ZERO, Rate::ZERO);
        Self { config, chance, avg, count, idle_since, adaptation, capacity_of }
    }

    /// Probability at the upper threshold: the parameter, or what Adaptive RED has made of it.
    #[must_use]
    pub const fn max_p(&self) -> Probability {
        self.config.max_p
    }

    /// The moving average of the queue, in packets or (byte mode) bytes.
    #[must_use]
    pub const fn average(&self) -> f64 {
        self.avg
    }

    /// Computes the automatic settings for a new rate. A link without a rate keeps those that it has.
    fn set_automatic(&mut self, rate: Rate) {
        self.capacity_of = rate;
        let config = &mut self.config;
        let Some(capacity) = Capacity::of(rate, config.mean_packet) else { return };
        if config.automatic_weight {
            config.weight = capacity.weight();
        }
        if let Some(delay) = config.target_delay {
            let unit = if config.bytes_mode { config.mean_packet.as_f64() } else { 1.0 };
            [config.min_threshold, config.max_threshold] = capacity.thresholds(delay).map(|packets| packets * unit);
        }
    }

    #[inline]
    fn update_average(&mut self, view: &QueueView, now: Instant) {
        if self.capacity_of != view.rate {
            self.set_automatic(view.rate);
        }
        let weight = self.config.weight;
        if view.packets.is_zero() && now > self.idle_since {
            let idle = now.since(self.idle_since).as_secs_f64();
            let sendable = idle * view.rate.as_bps() as f64 / (8.0 * self.config.mean_packet.as_f64());
            self.avg *= libm::pow(1.0 - weight, sendable);
            // If this packet is dropped, the link stays idle, and this idle time must not count twice.
            self.idle_since = now;
        }
        let queue = if self.config.bytes_mode { view.bytes.as_f64() } else { view.packets.as_f64() };
        self.avg += weight * (queue - self.avg);
        if let Some(adaptation) = &mut self.adaptation {
            adaptation.step(self.avg, [self.config.min_threshold, self.config.max_threshold], now);
            self.config.max_p = Probability::clamped(adaptation.max_p());
        }
    }

    /// Decides at random, with an average at which p_b is `base`.
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

/// A RED queue. `chance` must belong to this queue alone; otherwise another queue's arrivals shift its drops.
#[must_use]
pub fn red(config: RedConfig, chance: Stream) -> Box<dyn Queue> {
    Box::new(Fifo::new(config.limit, Red::new(config, chance)))
}
