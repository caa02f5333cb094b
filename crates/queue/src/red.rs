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
//! - `profile = "linux"` takes the decisions of Linux 6.1 (`red_linux.rs` says what they are): bytes, integers, a
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

use crate::red_adaptive::{Adaptation, Capacity};
use crate::red_linux::{RedLinux, log_of};
use crate::registry::{Amount, Broken, Discipline, Kind, Param, Params, Row, Setup, Value};
use crate::{Aqm, DropReason, Fifo, Limit, Queue, QueueView, Verdict};
use narrows_rng::Stream;
use narrows_settings::queue::{ANY, Word};
use narrows_units::{Bytes, Duration, Instant, Packets, Probability, Rate, Variable};
use narrows_wire::Packet;

/// Unit of the average.
const UNIT: &str = "packets, or bytes with bytes_mode";

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

const PARAMS: &[Param] = &[
    Param {
        name: "min_threshold",
        doc: "Lower threshold of the average queue (min_th), from which packets are dropped or marked early; a bare number is in the unit of `bytes_mode`, the other unit converts by `mean_packet`.",
        kind: Kind::Amount { unit: UNIT, default: Amount::Packets(5.0) },
    },
    Param {
        name: "max_threshold",
        doc: "Upper threshold of the average queue (max_th), at which the probability is `max_p`.",
        kind: Kind::Amount { unit: UNIT, default: Amount::Packets(15.0) },
    },
    Param {
        name: "weight",
        doc: "Weight of the newest sample in the moving average (w_q); 0 sets it by the link's rate (Adaptive RED).",
        kind: Kind::Number { unit: "", default: 0.002, min: 0.0, max: 1.0 },
    },
    Param {
        name: "max_p",
        doc: "Probability as the average reaches the upper threshold.",
        kind: Kind::Probability { default: 0.1 },
    },
    Param {
        name: "gentle",
        doc: "Raise the probability from `max_p` to 1 at twice `max_threshold`, instead of dropping all from there on.",
        kind: Kind::Switch { default: true },
    },
    Param {
        name: "ecn",
        doc: "Mark ECN-capable packets (RFC 3168) instead of dropping them early.",
        kind: Kind::Switch { default: false },
    },
    Param {
        name: "bytes_mode",
        doc: "Average bytes instead of packets, and drop larger packets more often.",
        kind: Kind::Switch { default: false },
    },
    Param {
        name: "wait",
        doc: "Let at least 1/p_b packets pass between early drops, as ns-2 does.",
        kind: Kind::Switch { default: true },
    },
    Param {
        name: "mean_packet",
        doc: "Mean packet size, for the decay over idle times and for `bytes_mode`.",
        kind: Kind::Size { default: Bytes::new(500), min: Bytes::new(1), max: Bytes::new(ANY) },
    },
    Param {
        name: "adaptive",
        doc: "Move `max_p` between 0.01 and 0.5 so that the average stays half-way between the thresholds (Adaptive RED).",
        kind: Kind::Switch { default: false },
    },
    Param {
        name: "target_delay",
        doc: "Queueing delay half-way between the thresholds, which then follow from the link's rate instead of `min_threshold` and `max_threshold` (Adaptive RED); 0 for none.",
        kind: Kind::Time { default: Duration::ZERO, min: Duration::ZERO, max: Duration::from_secs(3600) },
    },
    Param {
        name: "profile",
        doc: "The rules of the papers, as ns-2 has them, or the decisions of Linux 6.1, which counts bytes and has neither `gentle` nor `wait`.",
        kind: Kind::Choice {
            default: "floyd",
            words: &[
                Word("floyd", "the papers, with ns-2's choices as defaults"),
                Word("linux", "Linux 6.1 with `harddrop`: integers, and a random distance to the next drop"),
            ],
        },
    },
];

/// Converts the thresholds to the unit of `bytes_mode`, and checks that they rise up to the limit.
fn fit(params: &mut Params, limit: Limit) -> Result<(), Broken> {
    let linux = params.choice("profile") == "linux";
    if linux {
        params.set("bytes_mode", Value::Switch(true));
    }
    let (bytes_mode, mean) = (params.switch("bytes_mode"), params.size("mean_packet").as_f64());
    let convert = |amount: Amount| match (amount, bytes_mode) {
        (Amount::Bare(n), _) | (Amount::Packets(n), false) | (Amount::Bytes(n), true) => n,
        (Amount::Packets(n), true) => n * mean,
        (Amount::Bytes(n), false) => n / mean,
    };
    let [min, max] = ["min_threshold", "max_threshold"].map(|name| convert(params.amount(name)));
    let room = convert(match limit {
        Limit::Packets(n) => Amount::Packets(n.as_f64()),
        Limit::Bytes(n) => Amount::Bytes(n.as_f64()),
    });
    let unit = if bytes_mode { "B" } else { "packets" };
    let broken = |param, reason: &str, allowed| Err(Broken { param, reason: reason.to_owned(), allowed });
    let counts = params.time("target_delay").is_zero();
    if counts && min >= max {
        return broken("min_threshold", "is not below max_threshold", format!("less than {max} {unit}"));
    }
    if counts && max > room {
        return broken("max_threshold", "is above the queue's limit", format!("at most {room} {unit}"));
    }
    if linux {
        return fit_linux(params, [min, max]);
    }
    for (name, n) in [("min_threshold", min), ("max_threshold", max)] {
        params.set(name, Value::Amount(if bytes_mode { Amount::Bytes(n) } else { Amount::Packets(n) }));
    }
    Ok(())
}

/// Checks what Linux has no counterpart of, and thresholds in bytes by its `red_check_params`.
fn fit_linux(params: &mut Params, thresholds: [f64; 2]) -> Result<(), Broken> {
    let given = [
        ("adaptive", params.switch("adaptive"), "false: Linux adapts by a timer"),
        ("target_delay", !params.time("target_delay").is_zero(), "0 s"),
        ("weight", params.number("weight") <= 0.0, "a number above 0"),
    ];
    for (param, is_given, allowed) in given {
        if is_given {
            let reason = "has no counterpart in profile linux".to_owned();
            return Err(Broken { param, reason, allowed: allowed.to_owned() });
        }
    }
    // Thresholds shifted by the weight's exponent have 31 bits.
    let most = f64::from(1_u32 << (31 - log_of(params.number("weight"))));
    let [min, max] = thresholds;
    if max >= most {
        let reason = "is too large for Linux's integers at this weight".to_owned();
        return Err(Broken { param: "max_threshold", reason, allowed: format!("less than {most} B") });
    }
    for (name, n) in [("min_threshold", min), ("max_threshold", max)] {
        params.set(name, Value::Amount(Amount::Bytes(n)));
    }
    Ok(())
}

fn build(Setup { limit, params, chance }: Setup<'_>) -> Box<dyn Queue> {
    let config = RedConfig::of(limit, params);
    if params.choice("profile") == "linux" {
        return Box::new(Fifo::new(limit, RedLinux::new(config, chance)));
    }
    red(config, chance)
}

/// Parameters of RED. Thresholds are in packets, or in bytes with `bytes_mode`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedConfig {
    /// Hard limit of the storage.
    pub limit: Limit,
    /// Lower threshold of the average, min_th: below it nothing is dropped early.
    pub min_threshold: f64,
    /// Upper threshold of the average, max_th; treated as `min_threshold` if it is smaller.
    pub max_threshold: f64,
    /// Weight w_q of the newest sample in the average, 0 to 1; other values are clamped.
    pub weight: f64,
    /// Set the weight by the link's rate instead.
    pub automatic_weight: bool,
    /// Set the thresholds by the link's rate instead, so that the queue half-way between them has this delay.
    pub target_delay: Option<Duration>,
    /// Drop probability max_p as the average reaches the upper threshold.
    pub max_p: Probability,
    /// Raise the probability from `max_p` to 1 at twice the upper threshold, instead of dropping all from there.
    pub gentle: bool,
    /// Mark ECN-capable packets instead of dropping them early.
    pub ecn: bool,
    /// Average in bytes, and drop larger packets with a higher probability.
    pub bytes_mode: bool,
    /// Let at least 1/p_b packets pass between drops.
    pub wait: bool,
    /// Mean packet size, for idle time and byte mode; zero counts as one byte.
    pub mean_packet: Bytes,
    /// Move `max_p` so that the average stays half-way between the thresholds (Adaptive RED).
    pub adaptive: bool,
}

impl Default for RedConfig {
    /// ns-3's thresholds and weight, Floyd's later advice of 0.1 for max_p, gentle, and a limit of 100 packets.
    fn default() -> Self {
        Self {
            limit: Limit::Packets(Packets::new(100)),
            min_threshold: 5.0,
            max_threshold: 15.0,
            weight: 0.002,
            automatic_weight: false,
            target_delay: None,
            max_p: Probability::clamped(0.1),
            gentle: true,
            ecn: false,
            bytes_mode: false,
            wait: true,
            mean_packet: Bytes::new(500),
            adaptive: false,
        }
    }
}

impl RedConfig {
    /// The values of the row's parameters, thresholds in the unit of `bytes_mode`.
    fn of(limit: Limit, params: &Params) -> Self {
        let (weight, target_delay) = (params.number("weight"), params.time("target_delay"));
        Self {
            limit,
            min_threshold: params.amount("min_threshold").number(),
            max_threshold: params.amount("max_threshold").number(),
            weight,
            automatic_weight: weight <= 0.0,
            target_delay: (!target_delay.is_zero()).then_some(target_delay),
            max_p: params.probability("max_p"),
            gentle: params.switch("gentle"),
            ecn: params.switch("ecn"),
            bytes_mode: params.switch("bytes_mode"),
            wait: params.switch("wait"),
            mean_packet: params.size("mean_packet"),
            adaptive: params.switch("adaptive"),
        }
    }

    /// p_b: the drop probability for this average, before spacing; `None` if every packet is dropped.
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use core::net::{IpAddr, Ipv4Addr};
    use narrows_wire::{Ecn, Ip, Transport, UdpRepr};

    #[test]
    fn defaults_of_the_row_are_those_of_the_type() {
        let default = RedConfig::default();
        assert_eq!(RedConfig::of(default.limit, &Params::defaults(PARAMS)), default);
    }

    #[test]
    fn thresholds_convert_by_the_mean_packet() {
        let limits = [Limit::Packets(Packets::new(40)), Limit::Bytes(Bytes::new(20_000))];
        let thresholds = |bytes_mode, [min, max]: [Amount; 2], limit| {
            let mut params = Params::defaults(PARAMS);
            params.set("bytes_mode", Value::Switch(bytes_mode));
            params.set("min_threshold", Value::Amount(min));
            params.set("max_threshold", Value::Amount(max));
            let fitted = fit(&mut params, limit);
            let once = params.clone();
            assert!(
                fitted.is_err() || (fit(&mut params, limit).is_ok() && params == once),
                "a second time changes nothing"
            );
            fitted.map(|()| ["min_threshold", "max_threshold"].map(|name| params.amount(name)))
        };
        for limit in limits {
            let mixed = [Amount::Packets(4.0), Amount::Bytes(6_000.0)];
            assert_eq!(thresholds(false, mixed, limit), Ok([4.0, 12.0].map(Amount::Packets)));
            assert_eq!(thresholds(true, mixed, limit), Ok([2_000.0, 6_000.0].map(Amount::Bytes)));
            let bare = [Amount::Bare(7.0), Amount::Bare(9.0)];
            assert_eq!(thresholds(false, bare, limit), Ok([7.0, 9.0].map(Amount::Packets)));
            assert_eq!(thresholds(true, bare, limit), Ok([7.0, 9.0].map(Amount::Bytes)));
            let high = thresholds(true, [Amount::Packets(4.0), Amount::Packets(41.0)], limit);
            assert_eq!(high.map_err(|broken| broken.allowed), Err("at most 20000 B".to_owned()));
        }
    }

    /// The parameters of the reference vectors: 5, 15, 0.02.
    fn classic() -> RedConfig {
        RedConfig { max_p: Probability::clamped(0.02), ..RedConfig::default() }
    }

    fn stream() -> Stream {
        Stream::new(1, 0, "test", "red")
    }

    fn packet(size: u32, ecn: Ecn) -> Packet {
        let host = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let mut ip = Ip::between(host, host);
        ip.set_ecn(ecn);
        Packet { ip, transport: Transport::Udp(UdpRepr::default()), payload_len: size - 28 }
    }

    fn view(packets: u64, bytes: u64) -> QueueView {
        let (bytes, packets) = (Bytes::new(bytes), Packets::new(packets));
        QueueView { bytes, packets, limit: Limit::Packets(Packets::new(1000)), rate: Rate::mbps(10) }
    }

    /// RED whose average stays at `avg`.
    fn held_at(avg: f64, config: RedConfig) -> Red {
        Red { avg, ..Red::new(RedConfig { weight: 0.0, ..config }, stream()) }
    }

    fn near(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance, "{a} is not {b} within {tolerance}");
    }

    #[test]
    fn drop_probability_follows_the_two_slopes() {
        let gentle = classic();
        let sudden = RedConfig { gentle: false, ..classic() };
        for (avg, p) in [(4.9, 0.0), (5.0, 0.0), (10.0, 0.01), (15.0, 0.02), (20.0, 0.34667), (25.0, 0.67333)] {
            near(gentle.base_probability(avg).unwrap(), p, 5e-6);
        }
        assert_eq!(gentle.base_probability(30.0), None);
        near(sudden.base_probability(14.999).unwrap(), 0.02, 1e-5);
        assert_eq!(sudden.base_probability(15.0), None);
    }

    #[test]
    fn spacing_without_wait_is_floyd_and_jacobson() {
        let config = RedConfig { wait: false, ..classic() };
        for (count, p) in [(0.0, 0.01), (50.0, 0.02), (90.0, 0.1), (99.0, 1.0), (150.0, 1.0)] {
            near(config.spaced_probability(0.01, count), p, 1e-9);
        }
    }

    #[test]
    fn spacing_with_wait_starts_after_one_over_p() {
        let config = classic();
        for (count, p) in [(50.0, 0.0), (99.0, 0.0), (100.0, 0.01), (150.0, 0.02), (199.0, 1.0), (200.0, 1.0)] {
            near(config.spaced_probability(0.01, count), p, 1e-9);
        }
    }

    #[test]
    fn average_is_an_exponential_moving_one() {
        let mut red = Red::new(classic(), stream());
        let expected = [(1, 0.02), (100, 1.8143), (500, 6.3249), (1000, 8.6494)];
        let mut arrivals = 0;
        for (n, avg) in expected {
            while arrivals < n {
                red.update_average(&view(10, 5_000), Instant::ZERO);
                arrivals += 1;
            }
            near(red.average(), avg, 5e-5);
        }
    }

    #[test]
    fn average_decays_as_if_small_packets_had_left_while_idle() {
        let mut red = held_at(10.0, classic());
        red.config.weight = 0.002;
        let empty = view(0, 0);
        // The last packet, 1250 bytes, leaves at 1 s and is on the wire for 1 ms.
        red.on_dequeue(&packet(1250, Ecn::NotEct), Instant::ZERO, &empty, Instant::from_nanos(1_000_000_000));
        let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
        let mut busy = red.clone();
        busy.update_average(&empty, at(1_001));
        near(busy.average(), 10.0 * 0.998, 1e-12);
        red.update_average(&empty, at(1_011));
        near(red.average(), 10.0 * 0.95118 * 0.998, 1e-4);
        // Whether or not that packet was dropped, the next one counts only the idle time since then.
        red.update_average(&empty, at(1_021));
        near(red.average(), 10.0 * 0.95118 * 0.998 * 0.95118 * 0.998, 1e-4);
    }

    /// Packets from one drop to the next, with the average held where p_b is 0.01.
    fn gaps(config: RedConfig, n: usize) -> Vec<u64> {
        let mut red = held_at(10.0, config);
        let (mut gaps, mut gap) = (Vec::new(), 0);
        while gaps.len() <= n {
            gap += 1;
            if red.on_enqueue(&packet(500, Ecn::NotEct), &view(10, 5_000), Instant::ZERO) != Verdict::Pass {
                gaps.push(gap);
                gap = 0;
            }
        }
        // The first gap starts with the count of -1, not with a drop.
        gaps.split_off(1)
    }

    #[test]
    fn gaps_between_drops_are_uniform() {
        let mean = |gaps: &[u64]| gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
        let classic_gaps = gaps(RedConfig { wait: false, ..classic() }, 4_000);
        assert!(classic_gaps.iter().all(|&g| (1..=100).contains(&g)));
        // Uniform on 1..=100: mean 50, and a quarter of all below 26.
        near(mean(&classic_gaps), 50.0, 2.0);
        near(classic_gaps.iter().filter(|&&g| g <= 25).count() as f64 / 4_000.0, 0.25, 0.03);
        let waiting = gaps(classic(), 4_000);
        assert!(waiting.iter().all(|&g| (100..=200).contains(&g)));
        near(mean(&waiting), 150.0, 2.0);
    }

    #[test]
    fn byte_mode_drops_in_proportion_to_size() {
        let config =
            RedConfig { bytes_mode: true, min_threshold: 2_500.0, max_threshold: 7_500.0, wait: false, ..classic() };
        let mut red = held_at(5_000.0, config);
        let mut drops = [0u32; 2];
        for i in 0..200_000 {
            let large = i % 2 == 0;
            let size = if large { 900 } else { 100 };
            if red.on_enqueue(&packet(size, Ecn::NotEct), &view(10, 5_000), Instant::ZERO) != Verdict::Pass {
                drops[usize::from(large)] += 1;
            }
        }
        let ratio = f64::from(drops[1]) / f64::from(drops[0]);
        assert!((6.5..12.5).contains(&ratio), "{ratio} with {drops:?}");
    }

    #[test]
    fn capable_packets_are_marked_early_and_dropped_by_force() {
        let config = RedConfig { ecn: true, ..classic() };
        // At p_b = 0.67 the second packet after a drop is certain to be picked.
        let verdicts = |avg, ecn| {
            let mut red = held_at(avg, config);
            (0..40).map(|_| red.on_enqueue(&packet(500, ecn), &view(10, 5_000), Instant::ZERO)).collect::<Vec<_>>()
        };
        let early = verdicts(25.0, Ecn::Ect0);
        assert!(early.contains(&Verdict::Mark) && early.iter().all(|v| matches!(v, Verdict::Pass | Verdict::Mark)));
        assert!(verdicts(25.0, Ecn::NotEct).contains(&Verdict::Drop(DropReason::Early)));
        assert!(verdicts(30.0, Ecn::Ect0).iter().all(|&v| v == Verdict::Drop(DropReason::Forced)));
    }

    #[test]
    fn only_the_switch_lets_max_p_move_with_the_average() {
        let late = Instant::ZERO + Duration::from_millis(500);
        for (adaptive, avg, max_p, p_b) in [
            // At 12 of 5 to 15, p_b is 0.7 of max_p: 0.02 + 0.02 / 4, or 0.02.
            (true, 12.0, 0.025, 0.0175),
            (false, 12.0, 0.02, 0.014),
            (true, 8.0, 0.018, 0.0054),
        ] {
            let mut red = held_at(avg, RedConfig { adaptive, ..classic() });
            red.on_enqueue(&packet(500, Ecn::NotEct), &view(10, 5_000), late);
            near(red.max_p().as_f64(), max_p, 1e-12);
            near(red.config.base_probability(red.average()).unwrap(), p_b, 1e-12);
        }
    }

    #[test]
    fn automatic_settings_follow_the_rate() {
        // 10 Mb/s are C = 2500 packets of 500 bytes a second: w_q = 1 - exp(-1/2500), and 5 ms are 12.5 packets.
        let target_delay = Some(Duration::from_millis(5));
        let settings = |config, rates: &[Rate]| {
            let mut red = Red::new(RedConfig { weight: 0.0, ..config }, stream());
            for &rate in rates {
                red.on_enqueue(&packet(500, Ecn::NotEct), &QueueView { rate, ..view(10, 5_000) }, Instant::ZERO);
            }
            (red.average(), [red.config.weight, red.config.min_threshold, red.config.max_threshold])
        };
        let both = RedConfig { automatic_weight: true, target_delay, ..classic() };
        let (fast, weight) = (Rate::mbps(10), 0.000_399_920_010_66);
        for (config, rates, expected) in [
            (both, &[fast][..], [weight, 6.25, 18.75]),
            (both, &[fast, Rate::ZERO], [weight, 6.25, 18.75]),
            (both, &[fast, Rate::mbps(1)], [0.003_992_010_656_01, 5.0, 15.0]),
            (RedConfig { bytes_mode: true, ..both }, &[fast], [weight, 3_125.0, 9_375.0]),
            (RedConfig { automatic_weight: false, ..both }, &[fast], [0.0, 6.25, 18.75]),
            (RedConfig { target_delay: None, ..both }, &[fast], [weight, 5.0, 15.0]),
        ] {
            let (_, seen) = settings(config, rates);
            seen.iter().zip(expected).for_each(|(&seen, expected)| near(seen, expected, 1e-12));
        }
        near(settings(both, &[fast]).0, 10.0 * weight, 1e-12);
    }

    #[test]
    fn a_target_delay_and_a_weight_of_zero_ask_for_automatic_settings() {
        let config = |limit, given: &[(&'static str, Value)]| {
            let mut params = Params::defaults(PARAMS);
            given.iter().for_each(|(name, value)| params.set(name, *value));
            let limit = Limit::Packets(Packets::new(limit));
            fit(&mut params, limit).map(|()| RedConfig::of(limit, &params))
        };
        let delay = Duration::from_millis(5);
        let asked = config(10, &[("target_delay", Value::Time(delay)), ("weight", Value::Number(0.0))]).unwrap();
        assert!((asked.automatic_weight, asked.target_delay) == (true, Some(delay)), "thresholds do not count");
        let not = config(100, &[("weight", Value::Number(1e-9))]).unwrap();
        assert_eq!((not.automatic_weight, not.target_delay), (false, None));
        assert_eq!(config(10, &[]).unwrap_err().param, "max_threshold");
    }

    #[test]
    fn overflow_moves_the_average_and_restarts_the_count() {
        let mut red = Red { avg: 10.0, count: Some(70.0), ..Red::new(classic(), stream()) };
        red.on_overflow(&packet(500, Ecn::NotEct), &view(100, 50_000), Instant::ZERO);
        near(red.average(), 10.0 + 0.002 * 90.0, 1e-12);
        assert_eq!(red.count, Some(0.0));
    }

    #[test]
    fn below_the_lower_threshold_all_pass_and_the_count_starts_afresh() {
        let mut red = Red { count: Some(150.0), ..held_at(4.9, classic()) };
        assert_eq!(red.on_enqueue(&packet(500, Ecn::NotEct), &view(10, 5_000), Instant::ZERO), Verdict::Pass);
        assert_eq!(red.count, None);
        red.avg = 5.1;
        red.on_enqueue(&packet(500, Ecn::NotEct), &view(10, 5_000), Instant::ZERO);
        assert_eq!(red.count, Some(0.0), "the first packet above it counts as none");
    }

    #[test]
    fn state_shows_the_average_the_count_and_the_probability() {
        let mut seen = Vec::new();
        red(classic(), stream()).state(&mut |name, value| seen.push((name, value)));
        assert_eq!(seen, [("avg", 0.0), ("count", -1.0), ("p_b", 0.0)]);
    }
}
