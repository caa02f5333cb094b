//! The shaper in deficit mode, and the bytes that a packet costs on the link that it shapes for.

use narrows_units::{Bytes, Duration, Instant, Rate, Serialiser};

/// Cells in which the link carries packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atm {
    /// None.
    Noatm,
    /// ATM: 48 bytes of payload in 53, the last cell padded.
    Atm,
    /// PTM: a byte for each 64, or part of them.
    Ptm,
}

/// What the link adds to a packet (`cake_calc_overhead`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Framing {
    /// Bytes added to each IP packet; may be negative.
    pub(super) overhead: i64,
    /// Smallest size, with the overhead and without cells.
    pub(super) mpu: Bytes,
    pub(super) atm: Atm,
}

impl Framing {
    /// What an IP packet of `size` costs, at least a byte.
    pub(super) fn cost(&self, size: Bytes) -> Bytes {
        let framed = size.as_u64().saturating_add_signed(self.overhead).max(self.mpu.as_u64()).max(1);
        Bytes::new(match self.atm {
            Atm::Noatm => framed,
            Atm::Atm => framed.div_ceil(48) * 53,
            Atm::Ptm => framed + framed.div_ceil(64),
        })
    }
}

/// A shaper that lets a packet leave when the packets before it are paid for. It has no burst.
#[derive(Clone, Debug)]
pub(super) struct Shaper {
    /// Zero if there is no shaper.
    rate: Rate,
    /// When the next packet may leave (`time_next_packet`), rounded down to a nanosecond.
    next: Instant,
    /// Carries what the rounding left.
    serialiser: Serialiser,
}

impl Shaper {
    /// A shaper that may send at once.
    pub(super) fn new(rate: Rate) -> Self {
        Self { rate, next: Instant::ZERO, serialiser: Serialiser::default() }
    }

    pub(super) const fn is_limited(&self) -> bool {
        !self.rate.is_zero()
    }

    /// When the next packet may leave.
    pub(super) const fn next(&self) -> Instant {
        self.next
    }

    /// Notes an arrival at the empty queue: time that was not used is lost.
    pub(super) fn wake(&mut self, now: Instant) {
        if self.next < now {
            self.next = now;
            self.serialiser.restart();
        }
    }

    /// Pays for a packet that leaves (`cake_advance_shaper`).
    pub(super) fn charge(&mut self, cost: Bytes) {
        if self.is_limited() {
            self.next += self.serialiser.time_for(cost, self.rate);
        }
    }
}

/// Bytes of a full-sized packet, with an Ethernet header: Linux's `psched_mtu` of an Ethernet device.
pub(super) const FULL: Bytes = Bytes::new(1514);

/// Bytes that a sub-queue may send in a round: those of 1/4096 s, between 300 and 1514 (`cake_set_rate`).
pub(super) fn quantum(rate: Rate) -> Bytes {
    if rate.is_zero() { FULL } else { Bytes::new(((rate.as_bps() / 8) >> 12).clamp(300, FULL.as_u64())) }
}

/// Times of COBALT at this rate (`cake_set_rate`): target, interval, and the time of a full-sized packet.
pub(super) fn times(rate: Rate, rtt: Duration) -> (Duration, Duration, Duration) {
    let mtu_time = if rate.is_zero() { Duration::ZERO } else { rate.time_for(FULL) };
    let least = rtt / 20;
    let target = (mtu_time * 3 / 2).max(least);
    let interval = (rtt + target - least).max(target * 2);
    (target, interval, mtu_time)
}

#[cfg(test)]
#[path = "shaper_tests.rs"]
mod tests;
