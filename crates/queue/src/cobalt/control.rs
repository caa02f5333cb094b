//! The controller of COBALT: CoDel's part, BLUE's part, and what happens when a queue is full or runs empty.

use crate::{DropReason, Verdict};
use narrows_rng::Stream;
use narrows_units::{Duration, Instant, Probability};

/// How the controller computes 1 / sqrt(count).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CobaltProfile {
    /// Linux 6.1: a table below 16, and one Newton step per count from there on.
    Linux,
    /// Exact square roots.
    Exact,
}

/// Parameters of COBALT.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CobaltConfig {
    /// Acceptable sojourn time of a standing queue, and the shortest time between two changes of BLUE's probability.
    pub target: Duration,
    /// Time from the first packet above the target to the first drop or mark.
    pub interval: Duration,
    /// Time that a packet of the largest size takes on the link. A packet that waited for at most four of them is
    /// never above the target.
    pub mtu_time: Duration,
    /// Step by which BLUE's probability rises when the queue is full.
    pub increment: Probability,
    /// Step by which BLUE's probability falls when the queue runs empty.
    pub decrement: Probability,
    /// Sojourn time above which BLUE's probability rises as if the queue were full.
    pub blue_threshold: Duration,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// How square roots are computed.
    pub profile: CobaltProfile,
}

impl Default for CobaltConfig {
    /// Linux 6.1 without a shaper: 5 ms, 100 ms, 1/256 and 1/4096.
    fn default() -> Self {
        Self {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            mtu_time: Duration::ZERO,
            increment: Probability::clamped(1.0 / 256.0),
            decrement: Probability::clamped(1.0 / 4096.0),
            blue_threshold: Duration::from_secs(3600),
            ecn: true,
            profile: CobaltProfile::Linux,
        }
    }
}

/// Number of entries of Linux's table (`REC_INV_SQRT_CACHE`).
const TABLE: usize = 16;

/// Linux's 1 / sqrt(count) below [`TABLE`], in 2^-32: four Newton steps for each count, from the value of the one
/// before (`cobalt_cache_init`).
const INVERSE_SQUARE_ROOTS: [u32; TABLE] = {
    let mut table = [u32::MAX; TABLE];
    let mut count = 1;
    while count < TABLE {
        let mut inverse = table[count - 1];
        let mut step = 0;
        while step < 4 {
            inverse = newton_step(inverse, count as u32);
            step += 1;
        }
        table[count] = inverse;
        count += 1;
    }
    table
};

/// One Newton step towards 1 / sqrt(count): `x (3 - count x^2) / 2`, in 2^-32.
const fn newton_step(inverse: u32, count: u32) -> u32 {
    let inverse = inverse as u64;
    let square = (inverse * inverse) >> 32;
    // A quarter of the difference leaves room for the product.
    let quarter = (3_u64 << 32).wrapping_sub(count as u64 * square) >> 2;
    (quarter.wrapping_mul(inverse) >> 31) as u32
}

/// A probability in 2^-32, at most 1 - 2^-32.
fn fixed(p: Probability) -> u32 {
    (p.as_f64() * 4_294_967_296.0) as u32
}

/// The packet about to leave, as the controller sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    /// When it was enqueued.
    pub(crate) enqueued: Instant,
    /// Whether it may be marked.
    pub(crate) capable: bool,
    /// Whether no packet waits behind it.
    pub(crate) last: bool,
}

/// The variables of COBALT for one queue; see the head of `cobalt.rs`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Controller {
    /// Drops and marks of CoDel that have not decayed yet.
    count: u32,
    /// Linux's 1 / sqrt(count), in 2^-32. Like Linux's, it is 0 until the count changes for the first time.
    inverse_sqrt: u32,
    /// When the next packet is dropped or the count next decays. Without a count, when the queue counts as inactive.
    drop_next: Instant,
    /// When BLUE's probability last changed.
    blue_changed: Option<Instant>,
    /// BLUE's probability, in 2^-32.
    p_drop: u32,
    dropping: bool,
    /// Sojourn time of the latest packet.
    sojourn: Duration,
}

impl Controller {
    /// Decides about the packet at the head (`cobalt_should_drop`). `chance` is asked only while BLUE is active.
    pub(crate) fn decide(&mut self, config: &CobaltConfig, head: Head, now: Instant, chance: &mut Stream) -> Verdict {
        self.sojourn = now.since(head.enqueued);
        let is_due = self.count > 0 && now >= self.drop_next;
        let mut is_late = now > self.drop_next;
        self.compare_with_target(config, now);
        let (mut mark, mut drop) = (false, false);
        if is_due && self.dropping {
            mark = config.ecn && head.capable;
            drop = !mark;
            self.set_count(self.count.saturating_add(1));
            self.drop_next = self.after(self.drop_next, config);
            is_late = now > self.drop_next;
        } else if is_due {
            while self.count > 0 && now >= self.drop_next {
                self.decay(config);
            }
            is_late = now > self.drop_next;
        }
        if self.sojourn > config.blue_threshold {
            self.raise(config, now);
        }
        // BLUE drops what it could mark: it acts on queues that do not respond to marks.
        drop |= self.p_drop > 0 && ((chance.next_u64() >> 32) as u32) < self.p_drop;
        if self.count == 0 {
            self.drop_next = now + config.interval;
        } else if is_late && !drop {
            // Marks and decays that are overdue are not made up for.
            self.drop_next = now;
        }
        match (drop && !head.last, mark) {
            (true, _) => Verdict::Drop(DropReason::Early),
            (false, true) => Verdict::Mark,
            (false, false) => Verdict::Pass,
        }
    }

    /// Notes that a packet was dropped for want of room (`cobalt_queue_full`). Returns whether BLUE became active.
    pub(crate) fn was_full(&mut self, config: &CobaltConfig, now: Instant) -> bool {
        let was_quiet = self.p_drop == 0;
        self.raise(config, now);
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
        was_quiet && self.p_drop > 0
    }

    /// Notes that the queue had its turn and was empty (`cobalt_queue_empty`). Returns whether BLUE became quiet.
    pub(crate) fn was_empty(&mut self, config: &CobaltConfig, now: Instant) -> bool {
        let mut became_quiet = false;
        if self.p_drop > 0 && self.may_change_blue(config, now) {
            self.p_drop = self.p_drop.saturating_sub(fixed(config.decrement));
            self.blue_changed = Some(now);
            became_quiet = self.p_drop == 0;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.decay(config);
        }
        became_quiet
    }

    /// Whether an empty queue still has state that matters: its controller has not come to rest.
    pub(crate) fn is_active(&self, now: Instant) -> bool {
        self.p_drop > 0 || self.count > 0 || now < self.drop_next
    }

    /// Reports the variables of [`VARIABLES`](super::VARIABLES), in their order.
    pub(crate) fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("dropping", f64::from(u8::from(self.dropping)));
        visit("sojourn", self.sojourn.as_secs_f64());
        visit("count", f64::from(self.count));
        visit("drop_next", self.drop_next.as_secs_f64());
        visit("p_drop", f64::from(self.p_drop) / 4_294_967_296.0);
    }

    /// Enters or leaves the dropping state by the sojourn time.
    fn compare_with_target(&mut self, config: &CobaltConfig, now: Instant) {
        let is_above = self.sojourn > config.target && self.sojourn > config.mtu_time * 4;
        if is_above {
            if !self.dropping {
                self.drop_next = self.after(now, config);
            }
            self.count = self.count.max(1);
        }
        self.dropping = is_above;
    }

    /// Raises BLUE's probability, at most once in a target.
    fn raise(&mut self, config: &CobaltConfig, now: Instant) {
        if self.may_change_blue(config, now) {
            self.p_drop = self.p_drop.saturating_add(fixed(config.increment));
            self.blue_changed = Some(now);
        }
    }

    fn may_change_blue(&self, config: &CobaltConfig, now: Instant) -> bool {
        self.blue_changed.is_none_or(|last| now.since(last) > config.target)
    }

    /// Lowers the count by one, and schedules the next decay.
    fn decay(&mut self, config: &CobaltConfig) {
        self.set_count(self.count - 1);
        self.drop_next = self.after(self.drop_next, config);
    }

    /// Sets the count, and Linux's 1 / sqrt(count) with it (`cobalt_invsqrt`).
    fn set_count(&mut self, count: u32) {
        self.count = count;
        self.inverse_sqrt = match INVERSE_SQUARE_ROOTS.get(count as usize) {
            Some(&inverse) => inverse,
            None => newton_step(self.inverse_sqrt, count),
        };
    }

    /// The control law: `interval / sqrt(count)` after `t` (`cobalt_control`). A count of 0 counts as 1.
    fn after(&self, t: Instant, config: &CobaltConfig) -> Instant {
        let interval = config.interval.as_nanos();
        t + Duration::from_nanos(match config.profile {
            CobaltProfile::Linux => ((u128::from(interval) * u128::from(self.inverse_sqrt)) >> 32) as u64,
            CobaltProfile::Exact => (interval as f64 / f64::from(self.count.max(1)).sqrt()) as u64,
        })
    }
}

#[cfg(test)]
#[path = "control_tests.rs"]
mod tests;
