//! PIE's controller for one queue or sub-queue, with either profile's arithmetic.

use super::{PieConfig, PieProfile, linux, rfc};
use crate::{DropReason, Verdict};
use narrows_rng::Stream;
use narrows_units::{Bytes, Instant};
use narrows_wire::Packet;

/// A packet that leaves a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    /// Its size.
    pub(crate) size: Bytes,
    /// When it was enqueued.
    pub(crate) enqueued: Instant,
    /// Bytes that it leaves behind.
    pub(crate) backlog: Bytes,
}

/// What a controller reports, in SI units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Report {
    /// Probability of a drop or mark, at most 1.
    pub(crate) probability: f64,
    /// Queueing delay, s.
    pub(crate) delay: f64,
    /// Burst allowance, s.
    pub(crate) burst: f64,
    /// Sum of probabilities.
    pub(crate) accumulated: f64,
    /// Estimated rate of departures, bit/s.
    pub(crate) rate: f64,
}

/// The controller of one queue.
#[derive(Clone, Debug)]
pub(crate) enum Controller {
    /// RFC 8033.
    Rfc(rfc::State),
    /// Linux 6.1.
    Linux(linux::State),
}

impl Controller {
    /// The controller of an empty queue.
    pub(crate) fn new(config: &PieConfig) -> Self {
        match config.profile {
            PieProfile::Rfc8033 => Self::Rfc(rfc::State::new(config)),
            PieProfile::Linux => Self::Linux(linux::State::new(config)),
        }
    }

    /// The controller of a queue that becomes active at `now` (RFC 8033, appendix B).
    pub(crate) fn measuring_since(config: &PieConfig, now: Instant) -> Self {
        match Self::new(config) {
            Self::Rfc(state) => Self::Rfc(state.measuring_since(now)),
            linux @ Self::Linux(_) => linux,
        }
    }

    /// Decides about a packet that arrives at `backlog` bytes of its queue.
    #[inline]
    pub(crate) fn on_arrival(
        &mut self,
        config: &PieConfig,
        packet: &Packet,
        backlog: Bytes,
        chance: &mut Stream,
    ) -> Verdict {
        let hit = match self {
            Self::Rfc(state) => state.hits(config, packet.len(), backlog, chance),
            Self::Linux(state) => state.hits(config, packet.len(), backlog, chance),
        };
        if !hit {
            return Verdict::Pass;
        }
        let low = match self {
            Self::Rfc(state) => state.may_mark(config),
            Self::Linux(state) => state.may_mark(config),
        };
        if config.ecn && low && packet.ip.ecn().is_capable() {
            return Verdict::Mark;
        }
        self.on_drop();
        Verdict::Drop(DropReason::Early)
    }

    /// Notes that an arriving packet was dropped, by PIE or for want of room.
    pub(crate) fn on_drop(&mut self) {
        match self {
            Self::Rfc(state) => state.on_drop(),
            Self::Linux(state) => state.on_drop(),
        }
    }

    /// Measures delay or rate as a packet leaves at `now`.
    #[inline]
    pub(crate) fn on_departure(&mut self, config: &PieConfig, departure: Departure, now: Instant) {
        match self {
            Self::Rfc(state) => state.on_departure(config, departure, now),
            Self::Linux(state) => state.on_departure(config, departure, now),
        }
    }

    /// Updates the probability; whether further updates change nothing until a packet arrives.
    pub(crate) fn update(&mut self, config: &PieConfig, backlog: Bytes) -> bool {
        match self {
            Self::Rfc(state) => state.update(config, backlog),
            Self::Linux(state) => state.update(config, backlog),
        }
    }

    /// Whether a packet that does not wait leaves no trace. Linux notes the time of each departure.
    #[inline]
    pub(crate) fn ignores_passing(&self, config: &PieConfig) -> bool {
        match self {
            Self::Rfc(state) => state.rests(config),
            Self::Linux(_) => false,
        }
    }

    /// The variables.
    pub(crate) fn report(&self, config: &PieConfig) -> Report {
        match self {
            Self::Rfc(state) => state.report(),
            Self::Linux(state) => state.report(config),
        }
    }
}
