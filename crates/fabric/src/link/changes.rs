//! Changes of a direction at times that the scenario gives: of its rate and delay, and outages.

use super::{LinkDirection, LinkWatch};
use narrows_scenario::OutageQueue;
use narrows_units::{Duration, Instant, Rate};

impl LinkDirection {
    /// When rate or delay change next, or an outage begins.
    pub fn next_change(&self) -> Instant {
        let change = self.changes.front().map_or(Instant::NEVER, |c| c.at);
        self.impair.as_ref().map_or(change, |impair| change.min(impair.next_outage()))
    }

    /// Applies the changes that are due; the packet in transmission keeps its old rate and delay.
    pub fn change(&mut self, now: Instant, watch: &mut impl LinkWatch) {
        while let Some(&change) = self.changes.front()
            && change.at <= now
        {
            self.changes.pop_front();
            // A packet whose transmission starts at the instant of the change has the new rate and delay, and a timer
            // that fires then sees the new rate.
            if change.at > Instant::ZERO {
                self.drain(change.at - Duration::from_nanos(1), watch);
            }
            if let Some(rate) = change.rate {
                self.set_rate(rate, now);
            }
            self.delay = change.delay.unwrap_or(self.delay);
        }
        self.begin_outages(now, watch);
        self.drain(now, watch);
    }

    /// Sends at this rate from now on; the packet in transmission keeps its old rate.
    pub(super) fn set_rate(&mut self, rate: Rate, now: Instant) {
        self.meter.close_capacity(self.rate, now);
        self.rate = rate;
        self.queue.set_rate(rate);
        self.timer.read_after_change(&*self.queue, now);
    }

    /// Begins the outages that are due; the packet in transmission is still sent.
    fn begin_outages(&mut self, now: Instant, watch: &mut impl LinkWatch) {
        while let Some(outage) = self.impair.as_mut().and_then(|impair| impair.take_outage(now)) {
            if outage.start > Instant::ZERO {
                self.drain(outage.start - Duration::from_nanos(1), watch);
            }
            let end = outage.start + outage.duration;
            // The link cannot send meanwhile, so its capacity does not grow.
            self.meter.close_capacity(self.rate, outage.start);
            self.meter.pause_capacity(end);
            match (outage.queue, &mut self.impair) {
                (OutageQueue::Drop, Some(impair)) => impair.drop_until(end),
                (OutageQueue::Keep, _) if self.free_at < end => {
                    self.serialiser.restart();
                    self.free_at = end;
                }
                _ => {}
            }
        }
    }
}
