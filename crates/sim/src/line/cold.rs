//! The part of a line that packets seldom need. There may be tens of thousands of lines.

use narrows_fabric::{LinkMeter, LossModel};
use narrows_queue::{DropReason, Limit};
use narrows_samples::{Histogram, QueueRow};
use narrows_units::Duration;
use std::collections::VecDeque;

/// See the module.
#[derive(Debug)]
pub(super) struct Cold {
    pub(super) loss: Losses,
    pub(super) meter: Counts,
    pub(super) limit: Limit,
    /// Packets that were refused.
    pub(super) refused: u64,
    /// Most packets that waited.
    pub(super) most_packets: u64,
    /// How often the line is sampled.
    pub(super) look_every: Duration,
    /// Samples that were taken ahead of the clock.
    pub(super) looks: VecDeque<QueueRow>,
}

impl Cold {
    /// The cold part of a line with a queue of `limit`, that loses packets as `loss` says if it is `lossy`.
    pub(super) fn new(loss: LossModel, lossy: bool, limit: Limit) -> Self {
        Self {
            loss: Losses(lossy.then(|| Box::new(loss))),
            meter: Counts::default(),
            limit,
            refused: 0,
            most_packets: 0,
            look_every: Duration::ZERO,
            looks: VecDeque::new(),
        }
    }
}

/// The random losses of a line; most have none.
#[derive(Debug)]
pub(super) struct Losses(Option<Box<LossModel>>);

impl Losses {
    /// Whether the next packet is lost.
    #[inline]
    pub(super) fn strikes(&mut self) -> bool {
        self.0.as_mut().is_some_and(|model| model.strikes())
    }
}

/// The counters that a line does not have elsewhere. A [`LinkMeter`] has more, for queue disciplines and impairments.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) dropped_overflow: u64,
    pub(super) dropped_early: u64,
    pub(super) dropped_forced: u64,
    pub(super) corrupted: u64,
    /// Queueing delays, in nanoseconds.
    pub(super) delay: Histogram,
}

impl Counts {
    /// Counts a drop for this reason.
    pub(super) fn count_drop(&mut self, reason: DropReason) {
        let counter = match reason {
            DropReason::Overflow => &mut self.dropped_overflow,
            DropReason::Early => &mut self.dropped_early,
            DropReason::Forced => &mut self.dropped_forced,
        };
        *counter += 1;
    }

    /// A meter with these counters.
    pub(super) fn as_link_meter(&self) -> LinkMeter {
        let mut meter = LinkMeter::default();
        meter.dropped_overflow = self.dropped_overflow;
        meter.dropped_early = self.dropped_early;
        meter.dropped_forced = self.dropped_forced;
        meter.corrupted = self.corrupted;
        meter.delay = self.delay.clone();
        meter
    }
}
