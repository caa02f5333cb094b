//! The transmitter of a link direction that follows a trace.
//!
//! Opportunities have the semantics of mahimahi's `link_queue.cc` (`LinkQueue::rationalize`). An opportunity delivers
//! up to [`OPPORTUNITY`] bytes at one instant. It first serves the packet in transmission, then takes packets from the
//! queue until its bytes are used. A packet may take several opportunities, and leaves with the last of them. What is
//! left when the queue is empty is lost. A packet that comes at the instant of an opportunity misses it. After the
//! last opportunity the trace starts again, and the time of that opportunity is the new time zero. mahimahi reads
//! packets from a TUN device with the four bytes of packet information in front (`netdevice.cc` sets `IFF_TUN` alone),
//! and counts them: so a packet of 1500 bytes fills an opportunity.
//!
//! A trace of rates is a step function, and a packet is sent when the integral of the rate reaches its bits. No
//! transmission starts while the rate is zero: packets wait in the queue.

use narrows_scenario::{Deliveries, OPPORTUNITY, Step, Trace};
use narrows_units::{Bytes, Duration, Instant};
use std::sync::Arc;

/// Bytes that mahimahi counts for each packet in addition to its IP bytes: `struct tun_pi`.
const PACKET_INFORMATION: u64 = 4;

const MILLISECOND: u64 = 1_000_000;

/// One second in nanoseconds: rates times nanoseconds are in bits divided by this.
const SECOND: u128 = 1_000_000_000;

/// The end of a transmission, and when the next one may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) end: Instant,
    pub(crate) free_at: Instant,
}

/// The period of a trace in nanoseconds, and whether it repeats.
#[derive(Clone, Copy, Debug)]
struct Period {
    nanos: u64,
    repeat: bool,
}

impl Period {
    /// Full periods before a time, and the time since the last of them.
    const fn split(self, at: u64) -> (u64, u64) {
        if self.repeat { (at / self.nanos, at % self.nanos) } else { (0, at) }
    }
}

/// Where a transmitter is in its trace.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// The next opportunity: full repetitions before it, and its index.
    cycle: u64,
    index: usize,
    /// Bytes left of the opportunity that was used last.
    left: u64,
    /// Bits * ns / s that packets sent back to back have yet to be sent: their ends are whole nanoseconds.
    remainder: u128,
}

/// The last transmission: the state before it, its start and the packet's size.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    before: State,
    start: Instant,
    size: Bytes,
}

/// A transmitter that follows a trace.
#[derive(Debug)]
pub(crate) struct Delivery {
    trace: Arc<Trace>,
    period: Period,
    state: State,
    last: Last,
    /// Bits * ns / s of a whole period of rates.
    per_period: u128,
}

impl Delivery {
    /// A transmitter at the start of its trace.
    pub(crate) fn new(trace: Arc<Trace>) -> Self {
        let per_period = match &trace.deliveries {
            Deliveries::Opportunities(_) => 0,
            Deliveries::Rates(steps) => integral(steps, u64::MAX),
        };
        // A scenario's trace that repeats has a period.
        let period = Period { nanos: trace.period().as_nanos().max(1), repeat: trace.repeat };
        Self { trace, period, state: State::default(), last: Last::default(), per_period }
    }

    /// When a transmission may start for a packet that comes at `now`, after a transmitter that was free from `free_at`
    /// on. An opportunity at `now` is over.
    pub(crate) fn wake(&mut self, free_at: Instant, now: Instant) -> Instant {
        match &self.trace.deliveries {
            Deliveries::Opportunities(times) => {
                let (cycle, offset) = self.period.split(now.as_nanos());
                let index = times.partition_point(|ms| nanos(*ms) <= offset);
                self.state = State { cycle, index, left: 0, remainder: 0 };
                self.state.wrap(times, self.period);
                self.state.opportunity(times, self.period)
            }
            Deliveries::Rates(steps) => {
                if free_at < now {
                    self.state.remainder = 0;
                }
                first_positive(steps, self.period, now)
            }
        }
    }

    /// When a transmission may start from `at` on, after the discipline held its packets back until then.
    pub(crate) fn release(&mut self, free_at: Instant, at: Instant) -> Instant {
        match self.trace.deliveries {
            // An opportunity at `at` is used, and opportunities are at whole milliseconds.
            Deliveries::Opportunities(_) if at > Instant::ZERO => self.wake(free_at, at - Duration::from_nanos(1)),
            _ => self.wake(free_at, at),
        }
    }

    /// Sends a packet from `start`, when a transmission may start.
    pub(crate) fn send(&mut self, size: Bytes, start: Instant) -> Sent {
        self.last = Last { before: self.state, start, size };
        match &self.trace.deliveries {
            Deliveries::Opportunities(times) => {
                self.state.use_opportunities(times, self.period, (size, start), Instant::NEVER).0
            }
            Deliveries::Rates(steps) => {
                let need = u128::from(size.as_u64()) * 8 * SECOND + self.state.remainder;
                let (end, remainder) = send_bits(steps, self.period, self.per_period, (need, start));
                self.state.remainder = remainder;
                Sent { end, free_at: first_positive(steps, self.period, end) }
            }
        }
    }

    /// Bytes of the last packet that are sent after `end`.
    pub(crate) fn unsent(&self, end: Instant) -> Bytes {
        let Last { mut before, start, size } = self.last;
        match &self.trace.deliveries {
            Deliveries::Opportunities(times) => {
                before.use_opportunities(times, self.period, (size, start), end).1.min(size)
            }
            Deliveries::Rates(_) => {
                let sent = self.bits_until(end).saturating_sub(self.bits_until(start)) / (8 * SECOND);
                Bytes::new(u128::from(size.as_u64()).saturating_sub(sent) as u64)
            }
        }
    }

    /// Bits that could have been sent up to `end`, this instant included.
    pub(crate) fn capacity_bits(&self, end: Instant) -> u64 {
        let bits = match &self.trace.deliveries {
            Deliveries::Opportunities(times) => {
                let (cycles, offset) = self.period.split(end.as_nanos());
                let rest = times.partition_point(|ms| nanos(*ms) <= offset);
                let opportunities = u128::from(cycles) * times.len() as u128 + rest as u128;
                opportunities * u128::from(OPPORTUNITY.as_u64()) * 8
            }
            Deliveries::Rates(_) => self.bits_until(end) / SECOND,
        };
        u64::try_from(bits).unwrap_or(u64::MAX)
    }

    /// Bits * ns / s of a trace of rates from its start to `end`.
    fn bits_until(&self, end: Instant) -> u128 {
        let Deliveries::Rates(steps) = &self.trace.deliveries else { return 0 };
        let (cycles, offset) = self.period.split(end.as_nanos());
        let last = steps
            .last()
            .map_or(0, |last| u128::from(last.rate.as_bps()) * u128::from(offset.saturating_sub(last.at.as_nanos())));
        u128::from(cycles) * self.per_period + integral(steps, offset) + last
    }
}

impl State {
    /// The time of the next opportunity.
    fn opportunity(&self, times: &[u32], period: Period) -> Instant {
        let Some(ms) = times.get(self.index) else { return Instant::NEVER };
        Instant::from_nanos(self.cycle.saturating_mul(period.nanos).saturating_add(nanos(*ms)))
    }

    /// Starts the trace again after its last opportunity, if it repeats.
    fn wrap(&mut self, times: &[u32], period: Period) {
        if period.repeat && self.index >= times.len() {
            (self.cycle, self.index) = (self.cycle + 1, 0);
        }
    }

    /// Uses opportunities for a packet up to the time `until`; also returns the bytes that need later ones.
    fn use_opportunities(
        &mut self,
        times: &[u32],
        period: Period,
        (size, start): (Bytes, Instant),
        until: Instant,
    ) -> (Sent, Bytes) {
        let mut need = size.as_u64() + PACKET_INFORMATION;
        let mut end = start;
        loop {
            let used = need.min(self.left);
            need -= used;
            self.left -= used;
            if need == 0 {
                break;
            }
            let next = self.opportunity(times, period);
            if next > until || next == Instant::NEVER {
                end = Instant::NEVER;
                break;
            }
            end = next;
            self.left = OPPORTUNITY.as_u64();
            self.index += 1;
            self.wrap(times, period);
        }
        let free_at = if self.left > 0 { end } else { self.opportunity(times, period) };
        (Sent { end, free_at }, Bytes::new(need))
    }
}

/// Returns when `need` bits * ns / s are sent from `start` on, and what these whole nanoseconds leave of it.
fn send_bits(steps: &[Step], period: Period, per_period: u128, (mut need, start): (u128, Instant)) -> (Instant, u128) {
    let mut at = start;
    if period.repeat && per_period > 0 && need > per_period {
        // A whole period sends the same from any time on.
        let periods = (need - 1) / per_period;
        need -= periods * per_period;
        let periods = u64::try_from(periods).unwrap_or(u64::MAX);
        at += Duration::from_nanos(periods.saturating_mul(period.nanos));
    }
    while at < Instant::NEVER {
        let (rate, end) = segment(steps, period, at);
        let available = rate * u128::from(end.since(at).as_nanos());
        if need <= available {
            return (at + Duration::from_nanos((need / rate) as u64), need % rate);
        }
        need -= available;
        at = end;
    }
    (at, 0)
}

/// The first time from `at` on at which the rate is above zero.
fn first_positive(steps: &[Step], period: Period, mut at: Instant) -> Instant {
    while at < Instant::NEVER {
        let (rate, end) = segment(steps, period, at);
        if rate > 0 {
            break;
        }
        at = end;
    }
    at
}

/// The rate at a time, in bits per second, and when it ends.
fn segment(steps: &[Step], period: Period, at: Instant) -> (u128, Instant) {
    let (_, offset) = period.split(at.as_nanos());
    // The first step is at zero. The last one of a trace that repeats is the end of the period.
    let next = steps.partition_point(|step| step.at.as_nanos() <= offset);
    let rate = steps.get(next.saturating_sub(1)).map_or(0, |step| step.rate.as_bps());
    let left = steps.get(next).map_or(Duration::MAX, |step| step.at.since(Instant::from_nanos(offset)));
    (u128::from(rate), at + left)
}

/// Bits * ns / s of the steps up to `end`, or up to the last step if that is earlier.
fn integral(steps: &[Step], end: u64) -> u128 {
    let until = |step: &Step| step.at.as_nanos().min(end);
    let part = |(step, next): (&Step, &Step)| u128::from(step.rate.as_bps()) * u128::from(until(next) - until(step));
    steps.iter().zip(steps.iter().skip(1)).map(part).sum()
}

const fn nanos(ms: u32) -> u64 {
    ms as u64 * MILLISECOND
}

#[cfg(test)]
mod tests;
