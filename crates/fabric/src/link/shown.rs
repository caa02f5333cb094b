//! What a direction shows of itself: its rate, its queue, its counters, and what it could have sent.

use super::{LinkDirection, LinkMeter};
use crate::impair::ImpairMeter;
use narrows_queue::QueueView;
use narrows_units::{Bytes, Duration, Instant, Rate};

impl LinkDirection {
    /// The rate and the propagation delay in force.
    pub const fn rate_and_delay(&self) -> (Rate, Duration) {
        (self.rate, self.delay)
    }

    /// The state of the queue.
    pub fn view(&self) -> QueueView {
        self.queue.view()
    }

    /// Reports the discipline's internal state by name.
    pub fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        self.queue.state(visit);
    }

    /// The counters.
    pub fn meter(&self) -> &LinkMeter {
        &self.meter
    }

    /// The same, mutable: to take what has changed.
    pub fn meter_mut(&mut self) -> &mut LinkMeter {
        &mut self.meter
    }

    /// What its impairments did; `None` without any.
    pub fn impaired(&self) -> Option<&ImpairMeter> {
        self.impair.as_ref().map(|_| &self.meter.impaired)
    }

    /// Time and bytes of the current transmission that fall after `end`.
    pub fn unsent(&self, end: Instant) -> (Duration, Bytes) {
        let time = self.sent_at.since(end);
        match &self.delivery {
            Some(delivery) if !time.is_zero() => (time, delivery.unsent(end)),
            _ => (time, self.rate.bytes_in(time)),
        }
    }

    /// Bits that could have been sent from the start of the run to `end`.
    pub fn capacity_bits(&self, end: Instant) -> u64 {
        if let Some(delivery) = &self.delivery {
            return delivery.capacity_bits(end);
        }
        self.meter.capacity_bits(self.rate, end)
    }

    /// When everything that waits will have been sent, for a first-in-first-out queue at a constant rate, just after a
    /// call at that time.
    pub fn clear_at(&self) -> Instant {
        let mut serialiser = self.serialiser;
        self.free_at + serialiser.time_for(self.queue.view().bytes, self.rate)
    }
}
