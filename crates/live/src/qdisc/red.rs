//! RED's settings as Linux takes them: what `tc` computes from its words, and the kernel looks up (iproute2 6.1,
//! `tc/tc_red.c`).

use super::message::Attributes;
use narrows_units::{Bytes, Rate};

/// Cells of the table of idle times (`RED_STAB_SIZE`).
const CELLS: usize = 256;

/// Ticks of `tc` in a microsecond: a tick is 64 ns.
const TICKS_IN_MICROSECOND: f64 = 1000.0 / 64.0;

/// Largest exponent that Linux takes.
const MOST_LOG: u32 = 31;

/// Flags: mark; drop at the upper threshold even what could be marked.
const ECN: u8 = 1;
const HARD_DROP: u8 = 2;

/// RED's settings, sizes in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Config {
    pub(super) limit: u32,
    pub(super) min: u32,
    pub(super) max: u32,
    pub(super) weight: f64,
    pub(super) max_p: f64,
    pub(super) packet: Bytes,
    pub(super) rate: Rate,
    pub(super) ecn: bool,
}

impl Config {
    /// The settings in the words of `tc`, but for `burst`, from which `tc` computes the weight.
    pub(super) fn words(&self) -> String {
        let Self { limit, min, max, max_p, packet, rate, ecn, .. } = self;
        format!(
            "limit {limit} min {min} max {max} avpkt {} bandwidth {}bit probability {max_p} weight 1/{}{}",
            packet.as_u64(),
            rate.as_bps(),
            1_u64 << self.log_of_weight(),
            if *ecn { " ecn harddrop" } else { "" },
        )
    }

    /// Writes the attributes.
    pub(super) fn write(&self, options: &mut Attributes) {
        const PARMS: u16 = 1;
        const STAB: u16 = 2;
        const MAX_P: u16 = 3;
        let (idle_log, table) = self.idle_table();
        let flags = if self.ecn { ECN | HARD_DROP } else { 0 };
        let mut parms = [self.limit, self.min, self.max].map(u32::to_ne_bytes).concat();
        parms.extend_from_slice(&[self.log_of_weight() as u8, self.log_of_probability(), idle_log as u8, flags]);
        options.put(PARMS, &parms);
        options.put(STAB, &table);
        options.put_u32(MAX_P, (self.max_p * 4_294_967_296.0).min(4_294_967_295.0) as u32);
    }

    /// The exponent of the power of two that is nearest to the weight, as our RED takes it.
    fn log_of_weight(&self) -> u32 {
        let log = libm::round(-libm::log2(self.weight.clamp(f64::MIN_POSITIVE, 1.0)));
        (log as u32).clamp(1, MOST_LOG)
    }

    /// The probability per byte as a power of two, which the kernel uses where it is given no exact one
    /// (`tc_red_eval_P`).
    fn log_of_probability(&self) -> u8 {
        let mut probability = self.max_p / f64::from(self.max.saturating_sub(self.min).max(1));
        let mut log = 0;
        while probability <= 1.0 && log < 32 {
            (probability, log) = (2.0 * probability, log + 1);
        }
        log
    }

    /// Halvings of the average by idle time, in cells of 2^log microseconds (`tc_red_eval_idle_damping`).
    fn idle_table(&self) -> (u32, [u8; CELLS]) {
        let micros = self.packet.as_f64() * 8.0 * 1e6 / (self.rate.as_bps().max(1) as f64);
        let ticks = libm::ceil(micros * TICKS_IN_MICROSECOND).max(1.0);
        let per_tick = -libm::log(1.0 - 1.0 / f64::from(1_u32 << self.log_of_weight())) / ticks;
        let longest = 31.0 / per_tick;
        let log = (0..MOST_LOG).find(|log| longest / f64::from(1_u32 << log) < 512.0).unwrap_or(MOST_LOG);
        let mut table = [0; CELLS];
        for (cell, halvings) in table.iter_mut().enumerate().skip(1) {
            *halvings = (cell as f64 * f64::from(1_u32 << log) * per_tick).min(31.0) as u8;
        }
        table[CELLS - 1] = 31;
        (log, table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As iproute2 6.1 sends it for `red limit 150000 min 15000 max 45000 avpkt 1500 burst 17 bandwidth 10mbit
    /// probability 0.1 ecn harddrop`, whose weight is 1/16.
    #[test]
    fn settings_are_those_of_tc() {
        let config = Config {
            limit: 150_000,
            min: 15_000,
            max: 45_000,
            weight: 0.0625,
            max_p: 0.1,
            packet: Bytes::new(1500),
            rate: Rate::mbps(10),
            ecn: true,
        };
        let mut options = Attributes::default();
        config.write(&mut options);
        let parms = &options.as_bytes()[4..20];
        assert_eq!(parms[..12], [150_000, 15_000, 45_000_u32].map(u32::to_ne_bytes).concat());
        assert_eq!(parms[12..], [4, 19, 15, ECN | HARD_DROP]);
        let table = &options.as_bytes()[24..280];
        assert_eq!((table[0], table[1], table[2], table[255]), (0, 0, 0, 31));
        assert!(table.windows(2).all(|pair| pair[0] <= pair[1]));
    }
}
