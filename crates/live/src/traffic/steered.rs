//! How steps of a test case steer a flow's application.

use super::end::ENDLESS;
use super::flow::Flow;
use super::handle::Order;
use narrows_units::{Bytes, Instant};

/// Bytes per write of a limited application whose connection has no segment size yet.
const WRITE: u32 = 1000;

impl Flow {
    /// Does what steps have asked for since the last call.
    ///
    /// What the application has written and the kernel has not taken is withdrawn; the kernel has at most 10 ms of
    /// unsent data of a flow that steps may touch, and sends it.
    pub(super) fn obey(&mut self, now: Instant) {
        let Some(handle) = &self.handle else { return };
        for order in handle.take_orders() {
            match order {
                Order::Pause => {
                    if self.source.pause() {
                        self.withdraw();
                    }
                }
                Order::Resume => {
                    let wanted = self.source.resume(now);
                    self.wake_by(wanted);
                }
                Order::Limit(rate) => {
                    let smss = self.info().map(|info| info.smss()).filter(|&smss| smss > 0);
                    let write = Bytes::new(smss.unwrap_or(WRITE).into());
                    let wanted = self.source.limit(rate, write, now);
                    if wanted < Instant::NEVER {
                        self.withdraw();
                        self.wake_by(wanted);
                    }
                }
            }
        }
    }

    fn withdraw(&mut self) {
        let pending = std::mem::take(&mut self.client.pending);
        self.source.take_back(if pending == ENDLESS { Bytes::MAX } else { Bytes::new(pending) });
    }

    /// Wakes the application at this time, if it has begun and not stopped.
    fn wake_by(&mut self, wanted: Instant) {
        if self.opened && !self.stopped && wanted < Instant::NEVER {
            self.wake_at = self.wake_at.min(wanted).min(self.plan.stop);
        }
    }

    /// Closes a bounded transfer that steps may pause, once the kernel has all of it.
    pub(super) fn close_when_written(&mut self) {
        if self.handle.is_some() && self.client.pending == 0 && self.source.has_written_all() {
            self.client.closing = true;
        }
    }
}
