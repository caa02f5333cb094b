//! Segments that the host's device merges before TCP handles them ([`Config::gro`](crate::Config::gro)).

use super::Connection;
use crate::linux::gro::{Gro, Merged, Parts};
use narrows_units::{Instant, Packets};
use narrows_wire::Packet;

impl Connection {
    /// Whether segments that arrive may wait to be merged. A timeout may then deliver data, and give a sample of the
    /// round-trip time.
    #[inline]
    #[must_use]
    pub fn merges_arrivals(&self) -> bool {
        self.device.as_ref().is_some_and(|device| device.gro.is_some())
    }

    /// Handles a segment that arrives at the device.
    #[inline(never)]
    pub(super) fn on_arrival(&mut self, segment: &Packet, now: Instant) {
        let Some(gro) = self.gro_mut() else { return self.handle(segment, now) };
        let before = gro.expire(now);
        if let Some(before) = before {
            self.handle_merged(&before, now);
        }
        let merged = self.gro_mut().and_then(|gro| gro.offer(segment, now));
        if let Some(merged) = merged {
            self.handle_merged(&merged, now);
        }
        self.arm_rare();
    }

    /// Handles what is due in the device.
    pub(super) fn flush_arrivals(&mut self, now: Instant) {
        if let Some(merged) = self.gro_mut().and_then(|gro| gro.expire(now)) {
            self.handle_merged(&merged, now);
        }
    }

    fn gro_mut(&mut self) -> Option<&mut Gro> {
        self.device.as_mut()?.gro.as_mut()
    }

    fn handle_merged(&mut self, merged: &Merged, now: Instant) {
        let Merged { packet, parts } = merged;
        let Some(tcp) = packet.tcp().filter(|_| parts.count > 1) else { return self.handle(packet, now) };
        self.stats.segments_received += Packets::new(parts.count.into());
        self.set_handled(Some(*parts));
        self.handle_unpredicted(packet, tcp, now);
        self.set_handled(None);
    }

    fn set_handled(&mut self, parts: Option<Parts>) {
        if let Some(gro) = self.gro_mut() {
            gro.handled = parts;
        }
    }

    /// Of which segments the packet that is being handled is made.
    #[inline]
    pub(super) fn parts(&self, segment: &Packet) -> Parts {
        let gro = self.device.as_ref().and_then(|device| device.gro.as_ref());
        gro.and_then(|gro| gro.handled).unwrap_or_else(|| Parts::single(segment))
    }
}
