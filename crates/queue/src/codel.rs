//! CoDel: Controlled Delay.
//!
//! # Idea
//! A good queue absorbs a burst and drains within a round-trip time; a bad one stands. CoDel tells them apart by the
//! smallest sojourn time (the time that a packet waits) of an interval: if it stays above `target` for a whole
//! `interval`, CoDel drops, or marks, one packet as it leaves the queue. It drops the next one sooner and sooner, by
//! the inverse square root of their number, until a packet has waited less than `target`. That makes the throughput
//! of Reno fall linearly. No parameter depends on the rate of the link.
//!
//! # Sources
//! - RFC 8289, section 5 (pseudo-code), sections 4.2 and 4.3 (`interval` and `target`).
//! - Nichols and Jacobson, "Controlling Queue Delay", ACM Queue 10(5), 2012.
//! - Linux 6.1, `include/net/codel_impl.h` and `net/sched/sch_codel.c` (`profile = "linux"`).
//!
//! # State
//! | RFC 8289 | Linux | field | unit |
//! |---|---|---|---|
//! | first_above_time_ | `first_above_time` | `first_above` | ticks; `None` is the RFC's 0 |
//! | drop_next_ | `drop_next` | `drop_next` | ticks |
//! | count_, lastcount_ | `count`, `lastcount` | `count`, `last_count` | packets |
//! | dropping_ | `dropping` | `dropping` | - |
//! | - | `rec_inv_sqrt` | `inverse_sqrt` | 1/65536 |
//!
//! A tick is a nanosecond, and 1024 ns with `profile = "linux"`.
//!
//! ```text
//!             above target for an interval: drop one
//!   normal ------------------------------------------> dropping: drop one at each `drop_next`,
//!          <------------------------------------------           which moves by interval / sqrt(count)
//!             a packet below target, or at most one MTU left
//! ```
//!
//! # Differences
//! | question | RFC 8289 | Linux | parameter |
//! |---|---|---|---|
//! | first drop | `now >= first_above_time_` | `now > first_above_time` | `profile` |
//! | interval / sqrt(count) | exact | one Newton step per count: 50 ms, not 71 ms, at count 2 | `profile` |
//! | resolution of time | that of the clock | 1024 ns | `profile` |
//! | marks | are out of its scope | `ecn`, off by default in `codel` | `ecn` |
//! | queue that is never controlled | up to one MTU | up to one MTU and its link-layer header | `mtu` |
//!
//! A count is reused as RFC 8289 prints it, which is Linux's way: by `count - lastcount`, within 16 intervals. ns-3 has
//! the comparisons of Linux. Linux's `ce_threshold` has no counterpart here.
//!
//! # Limits
//! Times are taken as a packet leaves the queue for the transmitter: the time on the wire is not part of the sojourn.
//!
//! # Vectors
//! `drops_come_at_the_times_of_the_control_law`, `linux_approximates_the_square_root_by_one_newton_step`,
//! `a_count_is_reused_within_sixteen_intervals`, `an_empty_queue_forgets_the_end_of_the_interval`.

use crate::registry::{Broken, Discipline, Kind, Param, Params, Row, Setup, Word};
use crate::{Aqm, DropReason, Fifo, Limit, Queue, QueueView, Verdict};
use narrows_units::{Bytes, Duration, Instant, Variable};
use narrows_wire::Packet;

/// The row of CoDel.
pub(crate) const ROW: Row = Row {
    about: Discipline {
        name: "codel",
        title: "Controlled Delay",
        doc: "CoDel (RFC 8289)",
        sources: &[
            "RFC 8289, section 5",
            "Nichols and Jacobson, Controlling Queue Delay, ACM Queue 10(5), 2012",
            "Linux 6.1, include/net/codel_impl.h",
        ],
        params: PARAMS,
        variables: VARIABLES,
        tail_only: false,
        fit,
        source: include_str!("codel.rs"),
    },
    build,
};

/// What CoDel reports of one queue.
const VARIABLES: &[Variable] = &[
    Variable::state("dropping", "Whether packets are dropped or marked.", &["normal", "dropping"]),
    Variable::new("sojourn", "s", "Time that the last packet waited; 0 before a packet."),
    Variable::new("count", "packets", "Packets dropped or marked since dropping began."),
    Variable::new("drop_next", "s", "When the next packet is dropped or marked; 0 before the first."),
];

const PARAMS: &[Param] = &[
    TARGET,
    INTERVAL,
    MTU,
    Param {
        name: "ecn",
        doc: "Mark ECN-capable packets (RFC 3168) instead of dropping them.",
        kind: Kind::Switch { default: false },
    },
    PROFILE,
];

pub(crate) const TARGET: Param = Param {
    name: "target",
    doc: "Acceptable sojourn time of a standing queue.",
    kind: Kind::Time {
        default: Duration::from_millis(5),
        min: Duration::from_micros(1),
        max: Duration::from_secs(3600),
    },
};

pub(crate) const INTERVAL: Param = Param {
    name: "interval",
    doc: "How long the sojourn time may stay above `target`: about the largest round-trip time.",
    kind: Kind::Time {
        default: Duration::from_millis(100),
        min: Duration::from_micros(1),
        max: Duration::from_secs(3600),
    },
};

pub(crate) const MTU: Param = Param {
    name: "mtu",
    doc: "Bytes of waiting IP packets up to which CoDel drops nothing.",
    kind: Kind::Size { default: Bytes::new(1500), min: Bytes::ZERO, max: Bytes::new(1_000_000_000) },
};

pub(crate) const PROFILE: Param = Param {
    name: "profile",
    doc: "Whose arithmetic CoDel follows.",
    kind: Kind::Choice {
        default: "rfc8289",
        words: &[
            Word("rfc8289", "the RFC's pseudo-code, with exact square roots"),
            Word("linux", "Linux's, with ticks of 1024 ns and square roots by one Newton step"),
        ],
    },
};

fn fit(params: &mut Params, _limit: Limit) -> Result<(), Broken> {
    below_interval(params)
}

/// Checks that the target is below the interval.
pub(crate) fn below_interval(params: &Params) -> Result<(), Broken> {
    let (target, interval) = (params.time("target"), params.time("interval"));
    if target < interval {
        return Ok(());
    }
    let allowed = format!("less than {interval}");
    Err(Broken { param: "target", reason: "is not below interval".to_owned(), allowed })
}

fn build(Setup { limit, params, .. }: Setup<'_>) -> Box<dyn Queue> {
    Box::new(Fifo::new(limit, Codel::new(CodelConfig::of(params))))
}

/// Whose arithmetic CoDel follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodelProfile {
    /// RFC 8289.
    Rfc8289,
    /// Linux 6.1.
    Linux,
}

impl CodelProfile {
    /// A time in ticks.
    const fn ticks(self, nanos: u64) -> u64 {
        match self {
            Self::Rfc8289 => nanos,
            Self::Linux => nanos >> 10,
        }
    }

    /// A number of ticks as a time.
    const fn nanos(self, ticks: u64) -> u64 {
        match self {
            Self::Rfc8289 => ticks,
            Self::Linux => ticks << 10,
        }
    }
}

/// Parameters of CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodelConfig {
    /// Acceptable sojourn time of a standing queue.
    pub target: Duration,
    /// How long the sojourn time may stay above the target.
    pub interval: Duration,
    /// Queue up to which nothing is dropped.
    pub mtu: Bytes,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Whose arithmetic is followed.
    pub profile: CodelProfile,
}

impl Default for CodelConfig {
    /// RFC 8289: 5 ms, 100 ms, and an MTU of 1500 bytes.
    fn default() -> Self {
        Self {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            mtu: Bytes::new(1500),
            ecn: false,
            profile: CodelProfile::Rfc8289,
        }
    }
}

impl CodelConfig {
    /// The values of the row's parameters.
    pub(crate) fn of(params: &Params) -> Self {
        Self {
            target: params.time("target"),
            interval: params.time("interval"),
            mtu: params.size("mtu"),
            ecn: params.switch("ecn"),
            profile: if params.choice("profile") == "linux" { CodelProfile::Linux } else { CodelProfile::Rfc8289 },
        }
    }
}

/// What the previous packet of the same dequeue left to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Pending {
    /// Nothing.
    #[default]
    Nothing,
    /// The drop that began the dropping state: the next packet is sent in any case.
    Began,
    /// A drop in the dropping state: the next one is scheduled unless the next packet ends the state.
    Dropped,
}

/// The CoDel discipline for one queue; see the head of this file.
#[derive(Clone, Debug)]
pub struct Codel {
    config: CodelConfig,
    /// When the sojourn time will have been above the target for an interval, in ticks.
    first_above: Option<u64>,
    /// When the next packet is dropped, in ticks.
    drop_next: u64,
    count: u32,
    last_count: u32,
    dropping: bool,
    /// 1 / sqrt(count) in 1/65536, as Linux approximates it.
    inverse_sqrt: u16,
    pending: Pending,
    /// Sojourn time of the last packet, in ticks.
    sojourn: u64,
}

impl Codel {
    /// CoDel of an empty queue.
    #[must_use]
    pub const fn new(config: CodelConfig) -> Self {
        Self {
            config,
            first_above: None,
            drop_next: 0,
            count: 0,
            last_count: 0,
            dropping: false,
            inverse_sqrt: 0,
            pending: Pending::Nothing,
            sojourn: 0,
        }
    }

    /// Decides about the packet at the head, which entered the queue at `enqueued` and leaves `backlog` behind
    /// (`dequeue` of RFC 8289, section 5.5, packet by packet). `capable` says whether it may be marked.
    pub fn decide(&mut self, capable: bool, enqueued: Instant, backlog: Bytes, now: Instant) -> Verdict {
        let now = self.config.profile.ticks(now.as_nanos());
        let above = self.has_stayed_above(enqueued, backlog, now);
        match core::mem::take(&mut self.pending) {
            Pending::Began => return Verdict::Pass,
            Pending::Dropped if above => self.drop_next = self.after(self.drop_next),
            Pending::Dropped | Pending::Nothing => {}
        }
        if !self.dropping {
            return if above { self.begin(capable, now) } else { Verdict::Pass };
        }
        if !above {
            self.dropping = false;
            return Verdict::Pass;
        }
        if now < self.drop_next {
            return Verdict::Pass;
        }
        self.set_count(self.count.saturating_add(1));
        if capable {
            self.drop_next = self.after(self.drop_next);
            return Verdict::Mark;
        }
        self.pending = Pending::Dropped;
        Verdict::Drop(DropReason::Early)
    }

    /// Notes that no packet is left for the present dequeue (RFC 8289, section 5.6: an empty queue is not above the
    /// target). The drop that began the dropping state is the only one that leaves the state on.
    pub fn ran_empty(&mut self) {
        match core::mem::take(&mut self.pending) {
            Pending::Began => self.first_above = None,
            Pending::Dropped | Pending::Nothing => (self.first_above, self.dropping) = (None, false),
        }
    }

    /// Counts packets that were dropped for want of room.
    pub(crate) fn add_drops(&mut self, count: u64) {
        self.count = self.count.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
    }

    /// Whether packets are being dropped or marked.
    #[must_use]
    pub const fn is_dropping(&self) -> bool {
        self.dropping
    }

    /// Whether the sojourn time has been above the target for an interval (`dodequeue`, `codel_should_drop`).
    fn has_stayed_above(&mut self, enqueued: Instant, backlog: Bytes, now: u64) -> bool {
        let CodelConfig { target, interval, mtu, profile, .. } = self.config;
        self.sojourn = now.saturating_sub(profile.ticks(enqueued.as_nanos()));
        if self.sojourn < profile.ticks(target.as_nanos()) || backlog <= mtu {
            self.first_above = None;
            return false;
        }
        match (self.first_above, profile) {
            (Some(end), CodelProfile::Rfc8289) => now >= end,
            (Some(end), CodelProfile::Linux) => now > end,
            (None, _) => {
                self.first_above = Some(now + profile.ticks(interval.as_nanos()));
                false
            }
        }
    }

    /// Begins the dropping state with the packet at the head.
    fn begin(&mut self, capable: bool, now: u64) -> Verdict {
        let interval = self.config.profile.ticks(self.config.interval.as_nanos());
        // A queue that was controlled a short time ago needs about the rate of drops that it had then.
        let of_last_time = self.count.saturating_sub(self.last_count);
        let recent = now.saturating_sub(self.drop_next) < 16 * interval;
        if of_last_time > 1 && recent {
            self.set_count(of_last_time);
        } else {
            self.count = 1;
            self.inverse_sqrt = u16::MAX;
        }
        self.dropping = true;
        self.last_count = self.count;
        self.drop_next = self.after(now);
        if capable {
            return Verdict::Mark;
        }
        self.pending = Pending::Began;
        Verdict::Drop(DropReason::Early)
    }

    /// Sets the count, and moves Linux's approximation by one Newton step (`codel_Newton_step`).
    fn set_count(&mut self, count: u32) {
        self.count = count;
        let inverse = u64::from(self.inverse_sqrt) << 16;
        let square = (inverse * inverse) >> 32;
        let step = ((3_u64 << 32).wrapping_sub(u64::from(count) * square)) >> 2;
        self.inverse_sqrt = (step.wrapping_mul(inverse) >> 31 >> 16) as u16;
    }

    /// The control law: `interval / sqrt(count)` after `t`, in ticks.
    fn after(&self, t: u64) -> u64 {
        let interval = self.config.profile.ticks(self.config.interval.as_nanos());
        t + match self.config.profile {
            CodelProfile::Rfc8289 => (interval as f64 / f64::from(self.count.max(1)).sqrt()) as u64,
            CodelProfile::Linux => (interval * u64::from(self.inverse_sqrt)) >> 16,
        }
    }

    fn seconds(&self, ticks: u64) -> f64 {
        self.config.profile.nanos(ticks) as f64 / 1e9
    }
}

impl Aqm for Codel {
    fn on_enqueue(&mut self, _packet: &Packet, _view: &QueueView, _now: Instant) -> Verdict {
        Verdict::Pass
    }

    /// A packet that does not wait ends the state above the target. After one that did not wait either, there is none.
    #[inline]
    fn ignores_passing(&self) -> bool {
        !self.dropping && self.first_above.is_none() && self.sojourn == 0 && self.pending == Pending::Nothing
    }

    #[inline]
    fn on_dequeue(&mut self, packet: &Packet, enqueued: Instant, view: &QueueView, now: Instant) -> Verdict {
        self.decide(self.config.ecn && packet.ip.ecn().is_capable(), enqueued, view.bytes, now)
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("dropping", f64::from(u8::from(self.dropping)));
        visit("sojourn", self.seconds(self.sojourn));
        visit("count", f64::from(self.count));
        visit("drop_next", self.seconds(self.drop_next));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_units::Packets;

    const LARGE: Bytes = Bytes::new(100_000);

    fn at(us: u64) -> Instant {
        Instant::from_nanos(1000 * us)
    }

    /// Runs CoDel on a queue from which a packet leaves each millisecond, from `from` to `to`, in ms. Each has waited
    /// `sojourn_ms`. Returns the times at which packets were dropped or marked.
    fn hits(codel: &mut Codel, capable: bool, sojourn_ms: u64, from: u64, to: u64) -> Vec<u64> {
        let mut hits = Vec::new();
        for ms in from..to {
            let (now, enqueued) = (at(1000 * ms), at(1000 * (ms - sojourn_ms)));
            loop {
                match codel.decide(capable, enqueued, LARGE, now) {
                    Verdict::Pass => break,
                    Verdict::Mark => {
                        hits.push(ms);
                        break;
                    }
                    Verdict::Drop(_) => hits.push(ms),
                }
            }
        }
        hits
    }

    fn codel(profile: CodelProfile) -> Codel {
        Codel::new(CodelConfig { profile, ..CodelConfig::default() })
    }

    #[test]
    fn defaults_of_the_row_are_those_of_the_type() {
        assert_eq!(CodelConfig::of(&Params::defaults(PARAMS)), CodelConfig::default());
    }

    #[test]
    fn a_target_above_the_interval_is_refused() {
        let mut params = Params::defaults(PARAMS);
        let limit = Limit::Packets(Packets::new(1000));
        assert_eq!(fit(&mut params, limit), Ok(()));
        params.set("target", crate::registry::Value::Time(Duration::from_millis(100)));
        let broken = fit(&mut params, limit).unwrap_err();
        assert_eq!((broken.param, broken.allowed.as_str()), ("target", "less than 100 ms"));
    }

    #[test]
    fn drops_come_at_the_times_of_the_control_law() {
        // Above the target from 1000 ms on: the first drop comes an interval later, then 100 / sqrt(n) ms pass. The
        // times of the law are 1100, 1200, 1270.7, 1328.4, 1378.4, 1423.2, 1464.0 and 1501.8 ms.
        let law = [1100, 1200, 1271, 1329, 1379, 1424, 1464, 1502];
        assert_eq!(hits(&mut codel(CodelProfile::Rfc8289), false, 20, 1000, 1510), law);
        assert_eq!(hits(&mut codel(CodelProfile::Rfc8289), true, 20, 1000, 1510), law, "marks come at the same times");
    }

    #[test]
    fn a_backlog_of_drops_is_made_up_in_one_dequeue() {
        let mut codel = codel(CodelProfile::Rfc8289);
        assert_eq!(hits(&mut codel, false, 20, 1000, 1101), [1100]);
        // Nothing leaves until 1300 ms: the drops of 1200 and 1270.7 ms are due.
        assert_eq!(hits(&mut codel, false, 20, 1300, 1301), [1300, 1300]);
        assert_eq!(codel.count, 3);
    }

    #[test]
    fn a_short_sojourn_or_a_short_queue_ends_it() {
        for (sojourn_ms, backlog) in [(4, LARGE), (20, Bytes::new(1500))] {
            let mut codel = codel(CodelProfile::Rfc8289);
            hits(&mut codel, false, 20, 1000, 1150);
            assert!(codel.dropping);
            let verdict = codel.decide(false, at(1_150_000 - 1000 * sojourn_ms), backlog, at(1_150_000));
            assert_eq!((verdict, codel.dropping, codel.first_above), (Verdict::Pass, false, None));
        }
        assert_eq!(hits(&mut codel(CodelProfile::Rfc8289), false, 4, 1000, 3000), [], "below the target");
    }

    #[test]
    fn an_empty_queue_forgets_the_end_of_the_interval() {
        // RFC 8289, section 5.6: a dequeue that finds no packet sets first_above_time_ to 0. Sub-queues of FQ-CoDel can
        // run empty while the bytes of the others keep the backlog above an MTU.
        for profile in [CodelProfile::Rfc8289, CodelProfile::Linux] {
            let mut codel = codel(profile);
            assert_eq!(hits(&mut codel, false, 20, 1000, 1090), []);
            assert!(codel.first_above.is_some());
            codel.ran_empty();
            assert_eq!((codel.first_above, codel.dropping), (None, false));
            assert_eq!(hits(&mut codel, false, 20, 1091, 1190), [], "the interval begins again at 1091 ms");
        }
    }

    #[test]
    fn a_count_is_reused_within_sixteen_intervals() {
        let next = |pause_ms: u64| {
            let mut codel = codel(CodelProfile::Rfc8289);
            // Six drops until 1424 ms; the next is due at 1464 ms.
            assert_eq!(hits(&mut codel, false, 20, 1000, 1430).len(), 6);
            hits(&mut codel, false, 1, 1430, 1431);
            let again = 1431 + pause_ms;
            let hits = hits(&mut codel, false, 20, again, again + 210);
            (hits[0] - again, hits[1] - hits[0])
        };
        assert_eq!(next(0), (100, 45), "100 / sqrt(6 - 1)");
        let sixteen = 1464 + 1600 - 1431;
        assert_eq!(next(sixteen - 101), (100, 45));
        assert_eq!(next(sixteen - 99), (100, 100), "from one again");
    }

    #[test]
    fn linux_approximates_the_square_root_by_one_newton_step() {
        let mut codel = codel(CodelProfile::Linux);
        (codel.count, codel.inverse_sqrt) = (1, u16::MAX);
        // x (3 - n x^2) / 2 from 1 on.
        for (count, inverse) in [(2, 0.5), (3, 0.5625), (4, 0.487_793), (5, 0.441_612)] {
            codel.set_count(count);
            let got = f64::from(codel.inverse_sqrt) / 65536.0;
            assert!((got - inverse).abs() < 1e-4, "{count}: {got}");
        }
        for count in 6..2000 {
            codel.set_count(count);
        }
        let exact = 1.0 / f64::from(codel.count).sqrt();
        assert!((f64::from(codel.inverse_sqrt) / 65536.0 / exact - 1.0).abs() < 2e-3);
    }

    #[test]
    fn linux_waits_for_the_next_packet_and_counts_in_ticks() {
        // 100 ms are 97656 ticks of 1024 ns. The packet at the end of the first interval passes.
        let got = hits(&mut codel(CodelProfile::Linux), false, 20, 1024, 1400);
        assert_eq!(got, [1125, 1225, 1275, 1332, 1381]);
    }

    #[test]
    fn only_capable_packets_are_marked() {
        let mut codel = Codel::new(CodelConfig { ecn: true, ..CodelConfig::default() });
        hits(&mut codel, false, 20, 1000, 1100);
        assert_eq!(codel.decide(true, at(1_080_000), LARGE, at(1_100_000)), Verdict::Mark);
        assert_eq!(codel.decide(true, at(1_180_000), LARGE, at(1_200_000)), Verdict::Mark);
        let dropped = codel.decide(false, at(1_280_000), LARGE, at(1_300_000));
        assert_eq!(dropped, Verdict::Drop(DropReason::Early));
    }

    #[test]
    fn a_packet_that_passes_an_idle_queue_leaves_no_trace() {
        for profile in [CodelProfile::Rfc8289, CodelProfile::Linux] {
            let mut codel = codel(profile);
            assert!(codel.ignores_passing());
            for (sojourn_ms, to) in [(1, 1010), (20, 1020), (20, 1300)] {
                hits(&mut codel, false, sojourn_ms, 1000, to);
                assert!(!codel.ignores_passing(), "{codel:?}");
            }
            hits(&mut codel, false, 0, 1300, 1301);
            assert!(codel.ignores_passing());
            let before = format!("{codel:?}");
            hits(&mut codel, false, 0, 1301, 1303);
            assert_eq!(format!("{codel:?}"), before);
        }
    }

    #[test]
    fn state_is_in_seconds_whatever_a_tick_is() {
        for profile in [CodelProfile::Rfc8289, CodelProfile::Linux] {
            let mut codel = codel(profile);
            hits(&mut codel, false, 20, 1000, 1130);
            let mut state = std::collections::BTreeMap::new();
            codel.state(&mut |name, value| {
                state.insert(name, value);
            });
            assert!((state["sojourn"] - 0.02).abs() < 2e-6, "{state:?}");
            assert!((state["drop_next"] - 1.2).abs() < 2e-3, "{state:?}");
            assert!((state["dropping"] - 1.0).abs() < 1e-9 && (state["count"] - 1.0).abs() < 1e-9, "{state:?}");
        }
    }
}
