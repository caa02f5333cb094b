//! DualPI2: two coupled queues for L4S and Classic traffic.
//!
//! # Idea
//! Scalable senders (Prague, DCTCP) keep a queue of less than a millisecond if they are marked early and often. Classic
//! ones (Reno, CUBIC) need a queue. DualPI2 gives each kind its own queue, by the ECN codepoint. A PI controller sets a
//! base probability p' from the queueing delay. Classic packets are dropped or marked with p' squared, because Reno's
//! rate goes with one over the square root of the probability. L4S packets are marked with k p', because a scalable
//! sender's rate goes with one over the probability. So flows of both kinds have about the same window. L4S packets are
//! also marked above a threshold of their own queue, which is short because it is nearly always served first.
//!
//! # Sources
//! - RFC 9332, appendix A: A.1 (the core, figures 2 to 6), A.2 (figures 7 and 8: overload; schedulers).
//! - Linux 6.17, `net/sched/sch_dualpi2.c` (`profile = "linux"`).
//! - De Schepper, Bondarenko, Tsang, Briscoe, "PI2: A Linearized AQM for both Classic and Scalable TCP", CoNEXT 2016.
//!
//! # State
//! | RFC 9332 | Linux | field | unit |
//! |---|---|---|---|
//! | lq, cq | `l_queue`, `sch->q` | `queues` | - |
//! | p' | `pi2_prob` | `base` | - |
//! | p_C, p_CL | - (computed) | p' squared, k p' | - |
//! | prevq | `last_qdelay` | `last_delay` | ns |
//! | q.count | - (two random numbers) | `counts` | - |
//! | - | `c_protection_credit` | `credit` | per cent of bytes; L4S goes first while it is 0 or less |
//!
//! ```text
//!              ECT(1), CE                  native AQM: step, or ramp
//!   arrival ---------------> L4S queue --------------------------------> mark with max(native, k p')
//!      |                                                                      ^                        |
//!      |                        PI controller: p' from the larger delay ------+--> weighted round robin --> link
//!      |                                                                      v                        |
//!      +-----------------> Classic queue ------------------------------> drop or mark with p' squared
//!          Not-ECT, ECT(0)
//! ```
//!
//! # Differences
//! | question | RFC 9332 | Linux | parameter |
//! |---|---|---|---|
//! | alpha, beta, tupdate | 0.15 Hz, 3 Hz, 15 ms (for 100 ms) | 0.16 Hz, 3.2 Hz, 16 ms | the same; Linux's values |
//! | decision of a probability | by sums (`recur`) | by random numbers | `profile` |
//! | L4S AQM | a ramp from 0.8 to 1.2 ms | a step at 1 ms | `l4s_aqm`; the step by default |
//! | short queues | L4S AQM spares up to `th_len` packets | PI2 spares packets with under 2 MTU behind | `profile` |
//! | scheduler | weighted round robin, or time-shifted FIFO | weighted round robin by credit | `scheduler` |
//! | native mark and coupled one | one decision with the larger probability | two decisions | `profile` |
//! | saturated L4S probability | Classic drops in both queues | the same, or marks alone | `overload` |
//!
//! - The timer runs while a packet waits or p' is above zero. In Linux it always runs; with `profile = "linux"` updates
//!   come at multiples of `tupdate` in simulated time, as if it had run from the start.
//! - Linux's `step_in_packets`, `memory_limit`, filters and splitting of GSO packets have no counterpart.
//! - p' is a floating-point number, in Linux a 32-bit fraction, with gains in 256ths of a hertz: 41/256 and 819/256 Hz
//!   for 0.16 and 3.2 Hz. `profile = "linux"` counts so too.
//! - A limit in bytes holds the packets that fit; the RFC leaves room for one MTU.
//!
//! # Limits
//! The classifier trusts the ECN field: a sender that sets ECT(1) and does not respond to marks takes what the
//! scheduler leaves to L4S, up to overload (RFC 9332, section 4.2).
//!
//! # Vectors
//! `the_controller_follows_its_equation`, `classic_gets_the_square_and_l4s_the_multiple`,
//! `each_queue_gets_its_share_if_both_are_full`, `the_step_is_strict_and_the_ramp_linear`.

use crate::fifo::{Waiting, carry_out};
use crate::registry::{Discipline, Row, Setup};
use crate::{Dequeued, DropReason, Dropped, Enqueued, Limit, Queue, QueueView, Verdict};
use narrows_rng::Stream;
use narrows_units::{Bytes, Duration, Instant, Packets, Rate, Variable};
use narrows_wire::{Ecn, Packet};
use params::{PARAMS, fit};
use std::collections::VecDeque;

mod params;

pub use params::{DualPi2Config, Native, Scheduler};

/// The row of DualPI2.
pub(crate) const ROW: Row = Row {
    about: Discipline {
        name: "dualpi2",
        title: "Dual-Queue Coupled AQM, PI2",
        doc: "DualPI2 (RFC 9332)",
        sources: &[
            "RFC 9332, appendix A",
            "Linux 6.17, net/sched/sch_dualpi2.c",
            "De Schepper et al., PI2, CoNEXT 2016",
        ],
        params: PARAMS,
        variables: VARIABLES,
        tail_only: false,
        fit,
        source: include_str!("dualpi2.rs"),
    },
    build,
};

/// What DualPI2 reports of one queue.
const VARIABLES: &[Variable] = &[
    Variable::new("p_base", "", "Base probability p' of the controller."),
    Variable::new("p_classic", "", "Probability p_C of a drop or mark of a Classic packet: p' squared."),
    Variable::new("p_l4s", "", "Coupled probability p_CL of a mark of an L4S packet: k p', at most 1."),
    Variable::new("delay", "s", "The larger queueing delay at the latest update."),
    Variable::new("credit", "bytes", "Credit of the scheduler; L4S is served first while it is 0 or less."),
];

fn build(Setup { limit, params, chance }: Setup<'_>) -> Box<dyn Queue> {
    Box::new(DualPi2::new(limit, DualPi2Config::of(params), chance))
}

/// Number of the L4S queue.
const L4S: usize = 0;
/// Number of the Classic queue.
const CLASSIC: usize = 1;

/// A waiting packet, and whether the native AQM may mark it.
#[derive(Clone, Copy, Debug)]
struct Held {
    waiting: Waiting,
    native: bool,
}

/// A DualPI2 queue; see the head of this file.
#[derive(Clone, Debug)]
pub struct DualPi2 {
    config: DualPi2Config,
    limit: Limit,
    rate: Rate,
    queues: [VecDeque<Held>; 2],
    bytes: Bytes,
    /// The base probability p'.
    base: f64,
    /// The same as Linux keeps it, in 2^-32 (`pi2_prob`).
    prob: u32,
    last_delay: Duration,
    /// Sums of probabilities by queue.
    counts: [f64; 2],
    credit: i64,
    /// When the next update is due; never while nothing waits and p' is 0.
    next_update: Instant,
    chance: Stream,
}

impl DualPi2 {
    /// An empty queue; `chance` gives the random numbers of Linux's decisions.
    #[must_use]
    pub fn new(limit: Limit, config: DualPi2Config, chance: Stream) -> Self {
        let mut queue = Self {
            config,
            limit,
            rate: Rate::ZERO,
            queues: [VecDeque::new(), VecDeque::new()],
            bytes: Bytes::ZERO,
            base: 0.0,
            prob: 0,
            last_delay: Duration::ZERO,
            counts: [0.0; 2],
            credit: 0,
            next_update: Instant::NEVER,
            chance,
        };
        queue.credit = queue.first_credit();
        queue
    }

    /// The credit of an idle queue, with which L4S goes first unless its weight is the smaller one
    /// (`dualpi2_calculate_c_protection`).
    fn first_credit(&self) -> i64 {
        let Scheduler::Weighted(classic) = self.config.scheduler else { return 0 };
        self.config.mtu.as_u64() as i64 * (2 * i64::from(classic) - 100)
    }

    /// Which queue an arriving packet enters (figure 3).
    fn class(&self, packet: &Packet) -> usize {
        match packet.ip.ecn() {
            Ecn::Ect1 => L4S,
            Ecn::Ce if self.config.ce_is_l4s => L4S,
            _ => CLASSIC,
        }
    }

    fn has_room_for(&self, size: Bytes) -> bool {
        match self.limit {
            Limit::Packets(limit) => self.waiting() < limit.as_u64(),
            Limit::Bytes(limit) => self.bytes + size <= limit,
        }
    }

    fn waiting(&self) -> u64 {
        (self.queues[L4S].len() + self.queues[CLASSIC].len()) as u64
    }

    /// Time that the first packet of a queue has waited.
    fn delay(&self, class: usize, now: Instant) -> Duration {
        self.queues[class].front().map_or(Duration::ZERO, |held| now.since(held.waiting.enqueued))
    }

    /// Whether an event of this probability happens in a queue (`recur`). A certain one does; the RFC's sum would let
    /// the first one pass.
    fn happens(&mut self, class: usize, probability: f64) -> bool {
        if probability >= 1.0 {
            return true;
        }
        self.counts[class] += probability;
        let happens = self.counts[class] > 1.0;
        self.counts[class] -= f64::from(u8::from(happens));
        happens
    }

    /// Whether a random number is below a probability in 2^-32 (`dualpi2_roll`).
    fn roll(&mut self, probability: u32) -> bool {
        (self.chance.next_u64() >> 32) as u32 <= probability
    }

    /// Whether an event of probability p' squared happens: Linux asks two random numbers about p'.
    fn happens_squared(&mut self, class: usize) -> bool {
        if self.config.random {
            return self.roll(self.prob) && self.roll(self.prob);
        }
        self.happens(class, self.base * self.base)
    }

    /// Linux's decision about a packet (`must_drop`).
    fn decide_by_chance(&mut self, class: usize, behind: Bytes) -> Verdict {
        if behind < self.config.mtu * 2 {
            return Verdict::Pass;
        }
        let coupled = self.config.coupling * f64::from(self.prob);
        let overload = coupled > f64::from(u32::MAX);
        if class == CLASSIC {
            return match self.happens_squared(CLASSIC) {
                true if overload => Verdict::Drop(DropReason::Early),
                true => Verdict::Mark,
                false => Verdict::Pass,
            };
        }
        if overload {
            let drops = self.config.drop_on_overload && self.happens_squared(L4S);
            return if drops { Verdict::Drop(DropReason::Early) } else { Verdict::Mark };
        }
        if self.roll(coupled as u32) { Verdict::Mark } else { Verdict::Pass }
    }

    /// The controller's decision about a packet that leaves `behind` bytes in the queues, or arrives at them; `native`
    /// is the probability of a mark by the native AQM (figures 4 and 7).
    fn decide(&mut self, class: usize, native: f64, behind: Bytes) -> Verdict {
        if self.config.random {
            return self.decide_by_chance(class, behind);
        }
        let coupled = self.config.coupling * self.base;
        let overload = coupled >= 1.0;
        if class == CLASSIC {
            return match self.happens_squared(CLASSIC) {
                true if overload && self.config.drop_on_overload => Verdict::Drop(DropReason::Early),
                true => Verdict::Mark,
                false => Verdict::Pass,
            };
        }
        if overload && self.config.drop_on_overload && self.happens_squared(L4S) {
            return Verdict::Drop(DropReason::Early);
        }
        if self.happens(L4S, coupled.max(native)) { Verdict::Mark } else { Verdict::Pass }
    }

    /// Whether a native probability above 0 marks a packet about which the controller has decided. Linux has the step,
    /// which needs no random number.
    fn marks_by_itself(&mut self, class: usize, native: f64) -> bool {
        if self.config.random {
            return native >= 1.0 || self.roll((native * f64::from(u32::MAX)) as u32);
        }
        self.happens(class, native)
    }

    /// Updates the probability in Linux's integers (`calculate_probability`): gains in 256ths of a hertz, then in
    /// 2^-32 per 64 ns.
    fn update_by_integers(&mut self, delay: Duration) {
        let DualPi2Config { target, alpha, beta, coupling, drop_on_overload, .. } = self.config;
        let gain = |hertz: f64| ((libm::round(hertz * 256.0) as i64 * i64::from(u32::MAX)) >> 2) / 1_000_000_000;
        let signed = |time: Duration| time.as_nanos() as i64;
        let moved = (signed(delay) - signed(target)).wrapping_mul(gain(alpha));
        let delta = moved.wrapping_add((signed(delay) - signed(self.last_delay)).wrapping_mul(gain(beta)));
        let step = (delta.unsigned_abs() / 64) as u32;
        let most = if drop_on_overload { u32::MAX } else { (f64::from(u32::MAX) / coupling) as u32 };
        let prob = if delta > 0 { self.prob.saturating_add(step) } else { self.prob.saturating_sub(step) };
        self.prob = prob.min(most);
        self.base = f64::from(self.prob) / f64::from(u32::MAX);
    }

    /// When the next update is due after a packet has come to an idle queue. Linux's timer never stops, so that updates
    /// come at multiples of its interval.
    fn first_update(&self, now: Instant) -> Instant {
        let every = self.config.tupdate;
        if !self.config.random {
            return now + every;
        }
        let past = now.as_nanos() % every.as_nanos().max(1);
        now + (every - Duration::from_nanos(past))
    }

    /// The probability of a mark by the native AQM of a packet that has waited so long (`laqm`, `do_step_aqm`).
    fn native(&self, sojourn: Duration) -> f64 {
        match self.config.native {
            Native::Step(threshold) => f64::from(u8::from(sojourn > threshold)),
            Native::Ramp(min, range) => {
                ((sojourn.as_secs_f64() - min.as_secs_f64()) / range.as_secs_f64()).clamp(0.0, 1.0)
            }
        }
    }

    /// The queue to serve, if a packet waits (`scheduler`, `dequeue_packet`).
    fn next_class(&self, now: Instant) -> Option<usize> {
        match (self.queues[L4S].is_empty(), self.queues[CLASSIC].is_empty()) {
            (true, true) => None,
            (false, true) => Some(L4S),
            (true, false) => Some(CLASSIC),
            (false, false) => Some(match self.config.scheduler {
                Scheduler::Weighted(_) if self.credit <= 0 => L4S,
                Scheduler::TimeShifted(shift) if self.delay(L4S, now) + shift >= self.delay(CLASSIC, now) => L4S,
                _ => CLASSIC,
            }),
        }
    }

    /// The change of the credit by a packet of this size, if a packet of the other queue waits.
    fn charge(&self, class: usize, size: Bytes) -> i64 {
        let Scheduler::Weighted(classic) = self.config.scheduler else { return 0 };
        let weight = if class == L4S { i64::from(classic) } else { i64::from(classic) - 100 };
        if self.queues[1 - class].is_empty() { 0 } else { weight * size.as_u64() as i64 }
    }

    /// Applies both AQMs to a packet that leaves; `Ok(marked)`, or `Err(reason)` if it must be dropped.
    fn judge(&mut self, class: usize, held: &mut Held, now: Instant) -> Result<bool, DropReason> {
        let long = self.config.random || self.queues[class].len() as u64 >= self.config.th_len;
        let native = if held.native && long { self.native(now.since(held.waiting.enqueued)) } else { 0.0 };
        let packet = &mut held.waiting.packet;
        let mut marked = false;
        if !self.config.drop_early {
            let verdict = self.decide(class, native, self.bytes);
            marked = carry_out(verdict, packet)?;
        }
        // The RFC's decision was about the larger probability already; Linux's step comes after it.
        let separate = self.config.random || self.config.drop_early;
        if separate && native > 0.0 && self.marks_by_itself(class, native) {
            marked |= carry_out(Verdict::Mark, packet)?;
        }
        Ok(marked)
    }
}

impl Queue for DualPi2 {
    fn enqueue(&mut self, mut packet: Packet, now: Instant, dropped: &mut Vec<Dropped>) -> Enqueued {
        let class = self.class(&packet);
        let (size, subqueue) = (packet.len(), class as u32);
        if !self.has_room_for(size) {
            dropped.push(Dropped { packet, reason: DropReason::Overflow, subqueue });
            return Enqueued { marked: false, subqueue };
        }
        let mut marked = false;
        if self.config.drop_early {
            let verdict = self.decide(class, 0.0, self.bytes);
            match carry_out(verdict, &mut packet) {
                Ok(done) => marked = done,
                Err(reason) => {
                    dropped.push(Dropped { packet, reason, subqueue });
                    return Enqueued { marked: false, subqueue };
                }
            }
        }
        let native = class == L4S && self.queues[L4S].len() as u64 >= self.config.min_qlen_step;
        self.queues[class].push_back(Held { waiting: Waiting { packet, enqueued: now }, native });
        self.bytes += size;
        if self.next_update == Instant::NEVER {
            self.next_update = self.first_update(now);
        }
        Enqueued { marked, subqueue }
    }

    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Dropped>) -> Option<Dequeued> {
        while let Some(class) = self.next_class(now) {
            let mut held = self.queues[class].pop_front()?;
            let size = held.waiting.packet.len();
            self.bytes -= size;
            let charge = self.charge(class, size);
            let judged = self.judge(class, &mut held, now);
            let (Waiting { packet, enqueued }, subqueue) = (held.waiting, class as u32);
            match judged {
                Ok(marked) => {
                    self.credit += charge;
                    return Some(Dequeued { packet, enqueued, marked, subqueue });
                }
                Err(reason) => dropped.push(Dropped { packet, reason, subqueue }),
            }
        }
        self.credit = self.first_credit();
        None
    }

    fn view(&self) -> QueueView {
        QueueView { bytes: self.bytes, packets: Packets::new(self.waiting()), limit: self.limit, rate: self.rate }
    }

    fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
    }

    fn next_timer(&self) -> Option<Instant> {
        Some(self.next_update)
    }

    /// Updates the base probability (figures 6 and 8; `calculate_probability`).
    fn on_timer(&mut self, now: Instant, _dropped: &mut Vec<Dropped>) {
        let DualPi2Config { target, tupdate, alpha, beta, coupling, drop_on_overload, .. } = self.config;
        let delay = self.delay(L4S, now).max(self.delay(CLASSIC, now));
        if self.config.random {
            self.update_by_integers(delay);
        } else {
            let (present, last) = (delay.as_secs_f64(), self.last_delay.as_secs_f64());
            let moved = self.base + alpha * (present - target.as_secs_f64()) + beta * (present - last);
            let most = if drop_on_overload { 1.0 } else { 1.0_f64.min(1.0 / coupling) };
            self.base = moved.clamp(0.0, most);
        }
        self.last_delay = delay;
        let idle = self.waiting() == 0 && self.base <= 0.0 && delay.is_zero();
        self.next_update = if idle { Instant::NEVER } else { now + tupdate };
    }

    fn subqueues(&self) -> Vec<String> {
        ["l4s", "classic"].map(str::to_owned).into()
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("p_base", self.base);
        visit("p_classic", self.base * self.base);
        visit("p_l4s", (self.config.coupling * self.base).min(1.0));
        visit("delay", self.last_delay.as_secs_f64());
        visit("credit", self.credit as f64 / 100.0);
    }
}

#[cfg(test)]
#[path = "dualpi2/tests.rs"]
mod tests;
