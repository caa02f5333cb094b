//! RED as Linux computes it: `profile = "linux"`.
//!
//! # Sources
//! Linux 6.1, `include/net/red.h` and `net/sched/sch_red.c` with `harddrop`; iproute2 6.1, `tc/tc_red.c`, for the
//! weight and for the table of idle times, which `tc` computes and the kernel looks up.
//!
//! # What differs from the default profile
//! - The average is an integer with 2^-`wlog` as its unit, and counts bytes; `weight` becomes the nearest power of two.
//! - One random number is drawn for each drop: the next drop is at the first packet for which the average above the
//!   lower threshold, times the packets since the last drop, is no less than it.
//! - Idle time begins when the link finds the queue empty. A table gives the halvings of the average by its length.
//!   Its unit is a tick of 64 ns to `tc` and a microsecond to the kernel, so the average decays 15.625 times slower
//!   than the weight says.
//! - All packets are dropped from the upper threshold on. What overflows moves the average and the count alike.

use super::RedConfig;
use crate::{Aqm, DropReason, QueueView, Verdict};
use narrows_rng::Stream;
use narrows_units::{Bytes, Instant, Rate};
use narrows_wire::Packet;

/// Cells of the table of idle times (`RED_STAB_SIZE`).
const CELLS: usize = 256;

/// Ticks of `tc` in a microsecond (`/proc/net/psched`): a tick is 64 ns.
const TICKS_IN_MICROSECOND: f64 = 1000.0 / 64.0;

/// Largest exponent of the weight that Linux takes.
const MOST_LOG: u32 = 31;

/// What an arrival means (`red_action`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Pass,
    Pick,
    Force,
}

/// Halvings of the average by idle time, in cells of 2^`log` microseconds.
#[derive(Clone, Debug)]
struct Damping {
    log: u32,
    halvings: [u8; CELLS],
    /// The rate that it was computed for.
    rate: Rate,
}

impl Damping {
    /// The table that `tc` computes for a weight of 2^-`wlog` and packets of this size (`tc_red_eval_idle_damping`).
    fn new(wlog: u32, packet: Bytes, rate: Rate) -> Self {
        let micros = packet.as_f64() * 8.0 * 1e6 / (rate.as_bps().max(1) as f64);
        let ticks = libm::ceil(micros * TICKS_IN_MICROSECOND).max(1.0);
        let per_tick = -libm::log(1.0 - 1.0 / f64::from(1_u32 << wlog)) / ticks;
        let longest = 31.0 / per_tick;
        let log = (0..MOST_LOG).find(|log| longest / f64::from(1_u32 << log) < 512.0).unwrap_or(MOST_LOG);
        let mut halvings = [0; CELLS];
        for (cell, halving) in halvings.iter_mut().enumerate().skip(1) {
            *halving = (cell as f64 * f64::from(1_u32 << log) * per_tick).min(31.0) as u8;
        }
        halvings[CELLS - 1] = 31;
        Self { log, halvings, rate }
    }

    /// The average after an idle time (`red_calc_qavg_from_idle_time`).
    fn after(&self, average: u64, idle: u64) -> u64 {
        let idle = idle.min(((CELLS - 1) as u64) << self.log);
        let shift = self.halvings[(idle >> self.log) as usize % CELLS];
        if shift > 0 {
            return average >> shift;
        }
        // The beginning of the exponential as a line.
        let less = u64::try_from((u128::from(average) * u128::from(idle)) >> self.log).unwrap_or(u64::MAX);
        average - less.min(average - (average >> 1))
    }
}

/// RED with Linux's integers; see the head of this file.
#[derive(Clone, Debug)]
pub(crate) struct RedLinux {
    config: RedConfig,
    chance: Stream,
    wlog: u32,
    /// Thresholds in bytes, shifted by `wlog`.
    min: u64,
    max: u64,
    /// 2^32 max_p over the distance of the thresholds (`max_P / delta`).
    per_byte: u64,
    /// The average in bytes, shifted by `wlog` (`qavg`).
    average: u64,
    /// Packets since the last random number (`qcount`); `None` is -1.
    count: Option<u64>,
    /// `qR`.
    drawn: u64,
    idle_since: Option<Instant>,
    damping: Damping,
}

/// The exponent of the power of two that is nearest to a weight.
pub(crate) fn log_of(weight: f64) -> u32 {
    let log = libm::round(-libm::log2(weight.clamp(f64::MIN_POSITIVE, 1.0)));
    (log as u32).clamp(1, MOST_LOG)
}

impl RedLinux {
    /// RED with an average of zero, idle since the start.
    pub(crate) fn new(config: RedConfig, chance: Stream) -> Self {
        let wlog = log_of(config.weight);
        let [min, max] = [config.min_threshold, config.max_threshold].map(|threshold| threshold as u64);
        let delta = max.saturating_sub(min).max(1);
        let max_p = (config.max_p.as_f64() * 4_294_967_296.0).min(4_294_967_295.0) as u64;
        Self {
            wlog,
            min: min << wlog,
            max: max << wlog,
            per_byte: (max_p / delta).max(1),
            average: 0,
            count: None,
            drawn: 0,
            idle_since: Some(Instant::ZERO),
            damping: Damping::new(wlog, config.mean_packet, Rate::ZERO),
            config,
            chance,
        }
    }

    fn update_average(&mut self, view: &QueueView, now: Instant) {
        if self.damping.rate != view.rate {
            self.damping = Damping::new(self.wlog, self.config.mean_packet, view.rate);
        }
        self.average = match self.idle_since.take() {
            Some(since) => self.damping.after(self.average, now.since(since).as_nanos() / 1000),
            None => self.average - (self.average >> self.wlog) + view.bytes.as_u64(),
        };
    }

    /// A random number from 0 to (max_th - min_th) / max_p (`red_random`).
    fn draw(&mut self) -> u64 {
        (self.chance.next_u64() >> 32) / self.per_byte
    }

    /// Decides about an arrival (`red_action`).
    fn action(&mut self, view: &QueueView, now: Instant) -> Action {
        self.update_average(view, now);
        if self.average < self.min || self.average >= self.max {
            self.count = None;
            return if self.average < self.min { Action::Pass } else { Action::Force };
        }
        let Some(count) = self.count else {
            (self.count, self.drawn) = (Some(0), self.draw());
            return Action::Pass;
        };
        let above = (self.average - self.min) >> self.wlog;
        if above.saturating_mul(count + 1) < self.drawn {
            self.count = Some(count + 1);
            return Action::Pass;
        }
        (self.count, self.drawn) = (Some(0), self.draw());
        Action::Pick
    }

    /// The probability of an early drop before drops are spaced, by this average; 1 from the upper threshold on.
    fn probability(&self) -> f64 {
        let above = self.average.saturating_sub(self.min) >> self.wlog;
        if self.average >= self.max { 1.0 } else { above as f64 * self.per_byte as f64 / 4_294_967_296.0 }
    }
}

impl Aqm for RedLinux {
    fn on_enqueue(&mut self, packet: &Packet, view: &QueueView, now: Instant) -> Verdict {
        match self.action(view, now) {
            Action::Pass => Verdict::Pass,
            Action::Pick if self.config.ecn && packet.ip.ecn().is_capable() => Verdict::Mark,
            Action::Pick => Verdict::Drop(DropReason::Early),
            Action::Force => Verdict::Drop(DropReason::Forced),
        }
    }

    fn on_overflow(&mut self, _packet: &Packet, view: &QueueView, now: Instant) {
        self.action(view, now);
    }

    fn on_empty(&mut self, now: Instant) {
        self.idle_since.get_or_insert(now);
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("avg", self.average as f64 / f64::from(1_u32 << self.wlog));
        visit("count", self.count.map_or(-1.0, |count| count as f64));
        visit("p_b", self.probability());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use core::net::{IpAddr, Ipv4Addr};
    use narrows_units::{Duration, Packets, Probability};
    use narrows_wire::{Ip, Transport, UdpRepr};

    /// `tc red limit 150000 min 15000 max 45000 avpkt 1500 burst 17 probability 0.1`.
    fn config() -> RedConfig {
        RedConfig {
            limit: crate::Limit::Bytes(Bytes::new(150_000)),
            min_threshold: 15_000.0,
            max_threshold: 45_000.0,
            weight: 1.0 / 16.0,
            max_p: Probability::clamped(0.1),
            mean_packet: Bytes::new(1500),
            bytes_mode: true,
            ..RedConfig::default()
        }
    }

    fn red() -> RedLinux {
        RedLinux::new(config(), Stream::new(1, 0, "test", "red"))
    }

    fn view(bytes: u64) -> QueueView {
        let limit = crate::Limit::Bytes(Bytes::new(150_000));
        QueueView { bytes: Bytes::new(bytes), packets: Packets::new(bytes.div_ceil(1500)), limit, rate: Rate::mbps(12) }
    }

    fn packet() -> Packet {
        let host = IpAddr::V4(Ipv4Addr::LOCALHOST);
        Packet { ip: Ip::between(host, host), transport: Transport::Udp(UdpRepr::default()), payload_len: 1472 }
    }

    #[test]
    fn weights_become_the_nearest_power_of_two() {
        assert_eq!([0.5, 0.25, 0.0625, 0.002, 1.0, 1e-30].map(log_of), [1, 2, 4, 9, 1, 31]);
    }

    #[test]
    fn the_average_moves_by_a_part_of_the_distance() {
        let mut red = red();
        red.idle_since = None;
        // 16ths of a byte: 0 + 30000, then + 30000 - 30000 / 16.
        for (average, ms) in [(30_000, 1), (58_125, 2), (84_493, 3)] {
            red.update_average(&view(30_000), Instant::ZERO + Duration::from_millis(ms));
            assert_eq!(red.average, average);
        }
    }

    #[test]
    fn the_table_halves_by_ticks() {
        // 1500 B at 12 Mb/s are 1000 us and 15625 ticks; -ln(15/16) = 0.064539 a packet, 4.1305e-6 a tick.
        let damping = Damping::new(4, Bytes::new(1500), Rate::mbps(12));
        // 31 / 4.1305e-6 = 7.505e6, below 512 * 2^14.
        assert_eq!(damping.log, 14);
        // 2^14 ticks give 0.0677: the first halving is at cell 15, the second at cell 30.
        assert_eq!([1, 14, 15, 29, 30, 254, 255].map(|cell| damping.halvings[cell]), [0, 0, 1, 1, 2, 17, 31]);
        assert_eq!(damping.after(16_000, 0), 16_000);
        // A cell's length would take all of it on the line, which ends at one half.
        assert_eq!(damping.after(16_000, 4_096), 12_000);
        assert_eq!(damping.after(16_000, 16_384), 8_000);
        assert_eq!(damping.after(16_000, 15 << 14), 8_000);
        assert_eq!(damping.after(16_000, 1 << 40), 0);
    }

    #[test]
    fn the_next_drop_is_drawn_once() {
        let mut red = red();
        // 2^32 / 10 over 30000.
        assert_eq!(red.per_byte, 14_316);
        (red.average, red.idle_since) = (30_000 << 4, None);
        let pass = |red: &mut RedLinux| {
            (red.average, red.idle_since) = (30_000 << 4, None);
            red.on_enqueue(&packet(), &view(30_000), Instant::ZERO)
        };
        assert_eq!(pass(&mut red), Verdict::Pass, "the first one draws");
        red.drawn = 45_001;
        // 15000 bytes above the threshold: 15000, 30000, 45000, 60000.
        let verdicts: Vec<Verdict> = (0..4).map(|_| pass(&mut red)).collect();
        assert_eq!(verdicts[..3], [Verdict::Pass; 3]);
        assert_eq!(verdicts[3], Verdict::Drop(DropReason::Early));
        assert!(red.drawn < (1 << 32) / 14_316 + 1 && red.count == Some(0));
        (red.average, red.idle_since) = (45_000 << 4, None);
        assert_eq!(red.on_enqueue(&packet(), &view(45_000), Instant::ZERO), Verdict::Drop(DropReason::Forced));
        assert_eq!(red.count, None);
    }

    #[test]
    fn idle_time_begins_when_the_queue_is_found_empty() {
        let mut red = red();
        red.idle_since = None;
        red.on_empty(Instant::ZERO + Duration::from_millis(1));
        red.on_empty(Instant::ZERO + Duration::from_millis(2));
        assert_eq!(red.idle_since, Some(Instant::ZERO + Duration::from_millis(1)));
    }
}
