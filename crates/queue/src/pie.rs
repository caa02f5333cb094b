//! PIE: Proportional Integral controller Enhanced.
//!
//! # Idea
//! PIE drops arriving packets with a probability that a controller sets every `tupdate` from the queueing delay: it
//! rises with the distance of the delay from `target` (the integral part) and with the growth of the delay (the
//! proportional part). The lower the probability is, the smaller are the steps. A burst of up to `max_burst` passes
//! untouched. A packet on its way out is never touched.
//!
//! # Sources
//! - RFC 8033: sections 4.1 (random dropping), 4.2 (probability), 4.3 (latency), 4.4 (bursts), 5.1 (ECN), 5.2 (dequeue
//!   rate), 5.3 (active and inactive), 5.4 (derandomization), 5.5 (cap of steps); appendices A and B (pseudo-code).
//! - Linux 6.1, `net/sched/sch_pie.c` and `include/net/pie.h` (`profile = "linux"`).
//! - Pan et al., "PIE: A Lightweight Control Scheme to Address the Bufferbloat Problem", HPSR 2013.
//!
//! # State
//! | RFC 8033 | Linux | field | unit: RFC, Linux |
//! |---|---|---|---|
//! | drop_prob_ | `prob` | `probability` | 1, 2^-56 |
//! | accu_prob_ | `accu_prob` | `accumulated` | 1, 2^-56 |
//! | current_qdelay_, qdelay_old_ | `qdelay`, `qdelay_old` | `delay`, `delay_old` | ns, 64 ns |
//! | burst_allowance_ | `burst_time` | `burst` | ns, 64 ns |
//! | in_measurement_, measurement_start_ | `dq_tstamp` | `since`, `left_at` | ns, 64 ns |
//! | dq_count_ | `dq_count` | `departed` | bytes |
//! | avg_dq_time_ | `avg_dq_rate` | `drain_time`, `rate` | ns per 16 KiB, bytes/256 per 64 ns |
//! | active_ | - | `active` | - |
//!
//! ```text
//!            active_threshold of the limit is occupied          burst allowance used up
//!   inactive ---------------------------------------> protected ----------------------> controlled
//!      ^                                                  ^                                 |
//!      | p = 0, no delay, empty (only if                  +---------------------------------+
//!      | active_threshold is above 0)                       p = 0, both delays below target / 2
//! ```
//!
//! # Differences
//! | question | RFC 8033 | Linux | parameter |
//! |---|---|---|---|
//! | delay | backlog by estimated rate (5.2), or timestamps (4.3) | timestamps, or estimate | `dq_rate_estimator` |
//! | smoothed in the estimator | time for 16 KiB, weight 1/4 | rate, weight 1/8, whole bytes/256 in 64 ns | `profile` |
//! | first packet of a measurement | is not counted | is counted, though its time is not | `profile` |
//! | delay that spares low probabilities | that of the latest update | that of the latest departure | `profile` |
//! | short queue that is spared | up to 2 `mtu` | less than 2 `mtu` | `profile` |
//! | burst allowance | falls by `tupdate` at each update | by the time between departures (or measured) | `profile` |
//! | its renewal | on arrival | at an update, which also forgets the rate | `profile` |
//! | idle decay | factor 0.98 | factor 63/64 | `profile` |
//! | delay above 250 ms | no rule | 2 % more at each update | `profile` |
//! | bounds of the probability | 0 and 1 | 0 and 256: it may rise above 1, and then takes long to fall | `profile` |
//! | marks | below `mark_ecnth` | up to it; a sum above 8.5 is kept by a mark | `profile` |
//! | active and inactive (5.3) | optional | - | `active_threshold` |
//!
//! - Updates come at multiples of `tupdate` since the start. The timer stops when the queue is empty and an update
//!   changes nothing, and an arrival starts it for the next multiple. So the stop cannot be observed, and an idle queue
//!   decays at the exact times. In an idle queue, a probability below 2^-56 counts as 0
//!   (`rfc8033`; only a very small `alpha` lets it fall so slowly).
//! - Linux first updates half a second after the start and rounds `tupdate` to jiffies: Debian's kernel has 16 ms.
//! - A queue that a departure leaves empty has no delay, with either profile. Appendix A keeps the delay of that
//!   packet, so that the probability of an idle queue would grow.
//! - While the burst allowance lasts, nothing is accumulated (section 4.4, appendix A, Linux).
//! - Sizes are those of IP packets; Linux counts the link-layer header too. Its sums of 32 bits have 64 here.
//! - ns-3 holds the probability at 0 while the burst allowance lasts, and smooths rates with a weight of 1/2.
//! - DOCSIS PIE (RFC 8034) has other constants and is not covered.
//!
//! # Limits
//! The estimator has no rate, and so no delay, before 16 KiB wait: at 1 Mb/s that is 131 ms of queue. Timestamps
//! (`dq_rate_estimator = "off"`) have no such limit. With `active_threshold` above 0, PIE does nothing
//! below that share of the limit.
//!
//! # Vectors
//! `each_range_of_the_probability_has_its_step`, `the_burst_allowance_lasts_ten_updates`,
//! `an_idle_queue_decays_by_two_per_cent`, `sums_of_probabilities_space_drops`,
//! `the_estimator_averages_the_time_for_16_kib`, `linux_scales_by_shifts`.

mod control;
mod linux;
pub(crate) mod params;
mod rfc;

pub(crate) use control::{Controller, Departure};
pub use params::{PieConfig, PieProfile};

use crate::registry::{Discipline, Row, Setup};
use crate::{Aqm, Fifo, Queue, QueueView, Verdict};
use narrows_rng::Stream;
use narrows_units::{Bytes, Instant, Packets, Variable};
use narrows_wire::Packet;
use params::{PARAMS, fit};

/// The row of PIE.
pub(crate) const ROW: Row = Row {
    about: Discipline {
        name: "pie",
        title: "Proportional Integral controller Enhanced",
        doc: "PIE (RFC 8033)",
        sources: &[
            "RFC 8033, sections 4 and 5",
            "Linux 6.1, net/sched/sch_pie.c and include/net/pie.h",
            "Pan et al., PIE: A Lightweight Control Scheme to Address the Bufferbloat Problem, HPSR 2013",
        ],
        params: PARAMS,
        variables: VARIABLES,
        tail_only: false,
        fit,
        source: include_str!("pie.rs"),
    },
    build,
};

/// What PIE reports of one queue.
const VARIABLES: &[Variable] = &[
    Variable::new("p", "", "Probability of a drop or mark, at most 1."),
    Variable::new("qdelay", "s", "Queueing delay that the controller knows."),
    Variable::new("burst_allowance", "s", "Time for which packets still pass untouched."),
    Variable::new("accu_prob", "", "Sum of probabilities since the last drop."),
    Variable::new("dq_rate", "bit/s", "Estimated rate of departures; 0 before the first estimate."),
];

fn build(Setup { limit, params, chance }: Setup<'_>) -> Box<dyn Queue> {
    Box::new(Fifo::new(limit, Pie::new(PieConfig::of(params), chance)))
}

/// The PIE discipline for one queue; see the head of this file.
#[derive(Clone, Debug)]
pub struct Pie {
    config: PieConfig,
    controller: Controller,
    chance: Stream,
    /// When the next update is due; never while it would change nothing.
    next_update: Instant,
    /// Whether PIE works (RFC 8033, section 5.3).
    active: bool,
}

impl Pie {
    /// PIE of an empty queue; `chance` gives the random numbers of its decisions.
    #[must_use]
    pub fn new(config: PieConfig, chance: Stream) -> Self {
        Self {
            config,
            controller: Controller::new(&config),
            chance,
            next_update: Instant::NEVER,
            active: config.active_threshold.is_never(),
        }
    }

    /// Begins to work if a packet more occupies the threshold (RFC 8033, section 5.3 and appendix B).
    fn activate(&mut self, size: Bytes, view: &QueueView, now: Instant) {
        let with_it = QueueView { bytes: view.bytes + size, packets: view.packets + Packets::new(1), ..*view };
        if with_it.occupancy() >= self.config.active_threshold.as_f64() {
            self.active = true;
            self.controller = Controller::measuring_since(&self.config, now);
            self.next_update = self.config.first_update_after(now);
        }
    }
}

impl Aqm for Pie {
    #[inline]
    fn on_enqueue(&mut self, packet: &Packet, view: &QueueView, now: Instant) -> Verdict {
        if !self.active {
            self.activate(packet.len(), view, now);
            return Verdict::Pass;
        }
        if self.next_update == Instant::NEVER {
            self.next_update = self.config.first_update_after(now);
        }
        self.controller.on_arrival(&self.config, packet, view.bytes, &mut self.chance)
    }

    #[inline]
    fn ignores_passing(&self) -> bool {
        self.active && self.controller.ignores_passing(&self.config)
    }

    fn on_overflow(&mut self, _packet: &Packet, _view: &QueueView, _now: Instant) {
        self.controller.on_drop();
    }

    #[inline]
    fn on_dequeue(&mut self, packet: &Packet, enqueued: Instant, view: &QueueView, now: Instant) -> Verdict {
        if self.active {
            let departure = Departure { size: packet.len(), enqueued, backlog: view.bytes };
            self.controller.on_departure(&self.config, departure, now);
        }
        Verdict::Pass
    }

    fn next_timer(&self) -> Option<Instant> {
        Some(self.next_update)
    }

    fn on_timer(&mut self, view: &QueueView, now: Instant) {
        if self.controller.update(&self.config, view.bytes) {
            self.next_update = Instant::NEVER;
            self.active = self.config.active_threshold.is_never();
        } else {
            self.next_update = now + self.config.tupdate;
        }
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let state = self.controller.report(&self.config);
        visit("p", state.probability);
        visit("qdelay", state.delay);
        visit("burst_allowance", state.burst);
        visit("accu_prob", state.accumulated);
        visit("dq_rate", state.rate);
    }
}

#[cfg(test)]
mod tests;
