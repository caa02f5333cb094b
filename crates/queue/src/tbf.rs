//! TBF: a token bucket that shapes.
//!
//! # Idea
//! Tokens for bytes arrive at `rate` and collect in a bucket of `burst` bytes. A packet leaves the queue as soon as the
//! bucket holds its size, and takes that many tokens with it. Until then it waits: the queue delays the packets that a
//! policer would drop. In any time t, the packets that leave have at most `burst + rate * t` bytes. With `peakrate` a
//! second bucket of `mtu` bytes limits how fast a full first bucket empties.
//!
//! # Sources
//! - Linux 6.1, `net/sched/sch_tbf.c`: `tbf_enqueue`, `tbf_dequeue`; tc-tbf(8) for the names of the parameters.
//! - RFC 2697, sections 2 and 3 (CIR, CBS, Tc); RFC 2698, sections 2 and 3 (PIR, PBS, Tp: the second bucket).
//!
//! # State
//! | RFC 2697, RFC 2698 | Linux | here | unit |
//! |---|---|---|---|
//! | CIR, CBS | `rate`, `buffer` | `rate`, `burst` | b/s, bytes |
//! | PIR, PBS | `peak`, `mtu` | `peakrate`, `mtu` | b/s, bytes |
//! | Tc | `tokens` | `tokens` | bytes, kept in billionths of a bit |
//! | Tp | `ptokens` | `ptokens` | the same |
//! | - | `watchdog` | `next` | when the first packet may leave |
//!
//! ```text
//!          the tokens do not cover the first packet: set the timer
//!   open ----------------------------------------------------------> throttled: no packet leaves
//!        <----------------------------------------------------------
//!                    the timer fires, or tokens cover it
//! ```
//!
//! # Differences
//! | question | RFC 2697, RFC 2698 | Linux | here |
//! |---|---|---|---|
//! | packet without tokens | is coloured | waits | waits |
//! | cost of a packet | its bytes | time at the rate, rounded down to 1 ns | its bytes, exactly |
//! | packet that no bucket ever covers | is red | is dropped | is dropped as forced |
//! | `burst` below `mtu` | is advised against | is accepted, with a warning | is refused |
//! | `peakrate` of at most `rate` | an equal one is allowed | is refused | is refused |
//! | bytes of a packet | IP | with its link-layer header, `overhead`, `mpu` | IP |
//!
//! - ns-3's `TbfQueueDisc` rounds tokens to bytes at each departure, accepts a `peakrate` of at most `rate` with a
//!   warning, and lets a packet that no bucket ever covers block the queue for ever. Its defaults are 1 Mb/s and 1 s.
//! - tc has no defaults: `rate` and `burst` must be given there. Here they are 10 Mb/s and what the rate brings in
//!   10 ms, which is what a bucket needs at least if timers come every 10 ms (Linux with HZ = 100).
//! - tc's `latency` has no counterpart. It is a limit of `rate * latency + burst` bytes. A limit in time counts at the
//!   link's rate, not at `rate`.
//! - Linux can replace the first-in, first-out queue behind the bucket by another discipline.
//!
//! # Limits
//! Tokens beyond a full bucket are lost. If `burst` holds one packet only, and the link is busy when the next one might
//! leave, the throughput stays below `rate`. The same applies to `mtu` and `peakrate`.
//!
//! # Vectors
//! `a_full_bucket_leaves_at_once_and_then_packets_leave_at_the_rate`, `two_buckets_delay_a_packet_until_both_cover_it`,
//! `departures_do_not_drift`.

use crate::droptail::DropTail;
use crate::registry::{Broken, Discipline, Kind, Param, Params, Row, Setup, Value};
use crate::token_bucket::{DEEPEST, TokenBucket};
use crate::{Dequeued, DropReason, Dropped, Enqueued, Fifo, Limit, Queue, QueueView};
use narrows_units::{Bytes, Duration, Instant, Rate, Variable};
use narrows_wire::Packet;

/// The row of TBF.
pub(crate) const ROW: Row = Row {
    about: Discipline {
        name: "tbf",
        title: "Token Bucket Filter",
        doc: "a shaper: packets wait for tokens (Linux's sch_tbf)",
        sources: &["Linux 6.1, net/sched/sch_tbf.c", "RFC 2697, sections 2 and 3", "RFC 2698, sections 2 and 3"],
        params: PARAMS,
        variables: VARIABLES,
        tail_only: false,
        fit,
        source: include_str!("tbf.rs"),
    },
    build,
};

const VARIABLES: &[Variable] = &[
    Variable::state("throttled", "Whether the first packet waits for tokens.", &["open", "throttled"]),
    Variable::new("tokens", "bytes", "Tokens (Tc) when the first packet was last looked at."),
    Variable::new("ptokens", "bytes", "Tokens of the bucket of `peakrate` (Tp) at that time; 0 without one."),
];

const PARAMS: &[Param] = &[
    RATE,
    Param {
        name: "burst",
        doc: "Depth of the bucket (CBS). \"0 B\" is what `rate` brings in 10 ms, and at least two packets of `mtu`.",
        kind: Kind::Size { default: Bytes::ZERO, min: Bytes::ZERO, max: DEEPEST },
    },
    Param {
        name: "peakrate",
        doc: "Rate at which a full bucket empties at most (PIR), above `rate`. \"0 b/s\" is no such limit.",
        kind: Kind::Rate { default: Rate::ZERO, min: Rate::ZERO, max: FASTEST },
    },
    Param {
        name: "mtu",
        doc: "Packet that `burst` must hold, and depth of the bucket of `peakrate` (PBS), which drops larger packets.",
        kind: Kind::Size { default: Bytes::new(1500), min: Bytes::new(1), max: Bytes::new(65_535) },
    },
];

/// Largest rate of a bucket.
const FASTEST: Rate = Rate::gbps(10_000);

pub(crate) const RATE: Param = Param {
    name: "rate",
    doc: "Rate at which tokens arrive (CIR), counted over IP packets.",
    kind: Kind::Rate { default: Rate::mbps(10), min: Rate::bps(1), max: FASTEST },
};

/// Time in which the rate fills a bucket whose depth is not given.
const FILLED_IN: Duration = Duration::from_millis(10);

fn fit(params: &mut Params, _limit: Limit) -> Result<(), Broken> {
    let [rate, peakrate] = ["rate", "peakrate"].map(|name| params.rate(name));
    let mtu = params.size("mtu");
    if !peakrate.is_zero() && peakrate <= rate {
        let allowed = format!("more than {rate}, or \"0 b/s\" for none");
        return Err(Broken { param: "peakrate", reason: "is not above rate".to_owned(), allowed });
    }
    fit_burst(params, FILLED_IN, (mtu, mtu * 2))
}

/// Sets a burst of zero to what the rate brings in `time`, at least `least`, and checks that it holds `packet`.
pub(crate) fn fit_burst(params: &mut Params, time: Duration, (packet, least): (Bytes, Bytes)) -> Result<(), Broken> {
    let burst = params.size("burst");
    if burst.is_zero() {
        let filled = params.rate("rate").bytes_in(time);
        params.set("burst", Value::Size(filled.max(least).min(DEEPEST)));
    } else if burst < packet {
        let reason = format!("does not hold a packet of {packet}");
        return Err(Broken { param: "burst", reason, allowed: format!("at least {packet}") });
    }
    Ok(())
}

fn build(Setup { limit, params, .. }: Setup<'_>) -> Box<dyn Queue> {
    let peakrate = params.rate("peakrate");
    let config = TbfConfig {
        rate: params.rate("rate"),
        burst: params.size("burst"),
        peakrate: (!peakrate.is_zero()).then_some(peakrate),
        mtu: params.size("mtu"),
    };
    Box::new(Tbf::new(limit, config))
}

/// Parameters of TBF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TbfConfig {
    /// Rate at which tokens arrive, counted over IP packets.
    pub rate: Rate,
    /// Depth of the bucket, up to 10^9 bytes.
    pub burst: Bytes,
    /// Rate at which a full bucket empties at most; `None` is no such limit.
    pub peakrate: Option<Rate>,
    /// Depth of the bucket of the peak rate.
    pub mtu: Bytes,
}

/// A TBF queue; see the head of this file.
#[derive(Debug)]
pub struct Tbf {
    fifo: Fifo<DropTail>,
    bucket: TokenBucket,
    peak: Option<TokenBucket>,
    /// The largest packet that the buckets ever cover.
    largest: Bytes,
    /// When tokens cover the first packet; never if it has not been asked for, or nothing waits.
    next: Instant,
}

impl Tbf {
    /// An empty queue with full buckets.
    #[must_use]
    pub fn new(limit: Limit, config: TbfConfig) -> Self {
        let TbfConfig { rate, burst, peakrate, mtu } = config;
        Self {
            fifo: Fifo::new(limit, DropTail),
            bucket: TokenBucket::new(rate, burst),
            peak: peakrate.map(|peakrate| TokenBucket::new(peakrate, mtu)),
            largest: if peakrate.is_some() { burst.min(mtu) } else { burst },
            next: Instant::NEVER,
        }
    }
}

impl Queue for Tbf {
    #[inline]
    fn enqueue(&mut self, packet: Packet, now: Instant, dropped: &mut Vec<Dropped>) -> Enqueued {
        // No wait would be long enough for it (`max_size` in Linux).
        if packet.len() > self.largest {
            dropped.push(Dropped { packet, reason: DropReason::Forced, subqueue: 0 });
            return Enqueued::default();
        }
        self.fifo.enqueue(packet, now, dropped)
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Dropped>) -> Option<Dequeued> {
        let size = self.fifo.head()?.len();
        self.bucket.fill(now);
        let mut wait = self.bucket.wait(size);
        if let Some(peak) = &mut self.peak {
            peak.fill(now);
            wait = wait.max(peak.wait(size));
        }
        if !wait.is_zero() {
            self.next = now + wait;
            return None;
        }
        self.next = Instant::NEVER;
        self.bucket.take(size);
        if let Some(peak) = &mut self.peak {
            peak.take(size);
        }
        self.fifo.dequeue(now, dropped)
    }

    fn view(&self) -> QueueView {
        self.fifo.view()
    }

    fn set_rate(&mut self, rate: Rate) {
        self.fifo.set_rate(rate);
    }

    fn next_timer(&self) -> Option<Instant> {
        Some(self.next)
    }

    fn on_timer(&mut self, _now: Instant, _dropped: &mut Vec<Dropped>) {
        // The owner asks for the packet now, or when the link is free.
        self.next = Instant::NEVER;
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("throttled", f64::from(u8::from(self.next < Instant::NEVER)));
        visit("tokens", self.bucket.bytes());
        visit("ptokens", self.peak.as_ref().map_or(0.0, TokenBucket::bytes));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use narrows_units::Packets;
    use narrows_wire::{Ip, Transport, UdpRepr};

    const LIMIT: Limit = Limit::Packets(Packets::new(1_000));

    fn packet(size: u32) -> Packet {
        Packet {
            ip: Ip::between([10, 0, 0, 1].into(), [10, 0, 0, 2].into()),
            transport: Transport::Udp(UdpRepr { src_port: 1, dst_port: 2, rtp: None }),
            payload_len: size - 28,
        }
    }

    /// 8 Mb/s: a byte per microsecond.
    fn config(burst: u64) -> TbfConfig {
        TbfConfig { rate: Rate::mbps(8), burst: Bytes::new(burst), peakrate: None, mtu: Bytes::new(1500) }
    }

    fn fill(tbf: &mut Tbf, sizes: &[u32]) -> Vec<Dropped> {
        let mut dropped = Vec::new();
        sizes.iter().for_each(|&size| _ = tbf.enqueue(packet(size), Instant::ZERO, &mut dropped));
        dropped
    }

    /// Departures, in ns, on an infinitely fast link, as its owner sees them: it asks again when the timer fires.
    fn departures(tbf: &mut Tbf, mut now: Instant) -> Vec<u64> {
        let mut times = Vec::new();
        loop {
            while let Some(next) = tbf.dequeue(now, &mut Vec::new()) {
                assert!(next.enqueued <= now);
                times.push(now.as_nanos());
            }
            let next = tbf.next_timer().unwrap();
            if next == Instant::NEVER {
                assert!(tbf.view().packets.is_zero());
                return times;
            }
            assert!(next > now);
            now = next;
            tbf.on_timer(now, &mut Vec::new());
        }
    }

    fn state(tbf: &Tbf) -> Vec<f64> {
        let mut values = Vec::new();
        tbf.state(&mut |_, value| values.push(value));
        values
    }

    fn us(times: &[u64]) -> Vec<u64> {
        times.iter().map(|us| us * 1000).collect()
    }

    #[test]
    fn a_full_bucket_leaves_at_once_and_then_packets_leave_at_the_rate() {
        // N(0) = 3000 bytes. Two packets of 1500 leave at 0; each further one when its bytes have arrived, at 1 byte a
        // microsecond.
        let mut tbf = Tbf::new(LIMIT, config(3000));
        fill(&mut tbf, &[1500, 1500, 1500, 500, 1500]);
        assert_eq!(departures(&mut tbf, Instant::ZERO), us(&[0, 0, 1500, 2000, 3500]));
        // 4 ms later the bucket is full, not fuller.
        fill(&mut tbf, &[1500, 1500, 1500]);
        assert_eq!(departures(&mut tbf, Instant::from_nanos(7_500_000)), us(&[7500, 7500, 9000]));
    }

    #[test]
    fn two_buckets_delay_a_packet_until_both_cover_it() {
        // 8 Mb/s and 3000 bytes, 16 Mb/s and 1500 bytes.
        //  t (us)  Tc before  Tp before   of 1500-byte packets
        //       0       3000       1500   first leaves
        //     750       2250       1500   second waited for Tp: 1500 bytes at 2 bytes/us
        //    1500       1500       1500   third: both cover it at once
        //    3000       1500       1500   fourth waited for Tc; Tp has been full since 2250 us
        let mut tbf = Tbf::new(LIMIT, TbfConfig { peakrate: Some(Rate::mbps(16)), ..config(3000) });
        fill(&mut tbf, &[1500; 4]);
        assert_eq!(departures(&mut tbf, Instant::ZERO), us(&[0, 750, 1500, 3000]));
        assert_eq!(state(&tbf), [0.0, 0.0, 0.0]);
    }

    #[test]
    fn departures_do_not_drift() {
        // 7 bits per microsecond and sizes that take no whole number of nanoseconds: packet n leaves at the first
        // nanosecond at which all bits up to its own, less the bucket's, have arrived.
        let (rate, burst) = (7_000_003, 3_001);
        let mut tbf = Tbf::new(LIMIT, TbfConfig { rate: Rate::bps(rate), ..config(burst) });
        let (mut now, mut bits, mut size) = (Instant::ZERO, 0_u128, 40);
        for number in 0..300_000 {
            size = 40 + (size * 31 + number) % 1461;
            tbf.enqueue(packet(size), now, &mut Vec::new());
            bits += u128::from(size) * 8;
            let left = departures(&mut tbf, now);
            let due = bits.saturating_sub(u128::from(burst) * 8) * 1_000_000_000;
            let due = u64::try_from(due.div_ceil(u128::from(rate))).unwrap();
            assert_eq!(left, [due], "packet {number} of {size} bytes");
            now = Instant::from_nanos(due);
        }
        assert!(now.as_nanos() > 200_000_000_000, "minutes of departures: {now}");
    }

    #[test]
    fn questions_in_between_change_nothing() {
        let mut tbf = Tbf::new(LIMIT, TbfConfig { rate: Rate::bps(7_000_003), ..config(1500) });
        fill(&mut tbf, &[1500, 1500]);
        assert!(tbf.dequeue(Instant::ZERO, &mut Vec::new()).is_some());
        assert!(tbf.dequeue(Instant::ZERO, &mut Vec::new()).is_none());
        let next = tbf.next_timer().unwrap();
        assert_eq!(next.as_nanos(), 12_000_u64 * 1_000_000_000 / 7_000_003 + 1);
        for ns in [1, 2, 999_999, next.as_nanos() - 1] {
            assert!(tbf.dequeue(Instant::from_nanos(ns), &mut Vec::new()).is_none());
            assert_eq!(tbf.next_timer(), Some(next));
        }
        assert!(tbf.dequeue(next, &mut Vec::new()).is_some());
        assert_eq!(tbf.next_timer(), Some(Instant::NEVER));
    }

    #[test]
    fn the_first_packet_keeps_its_place_if_a_smaller_one_could_leave() {
        let mut tbf = Tbf::new(LIMIT, config(1500));
        fill(&mut tbf, &[1000, 1500, 40]);
        // 500 tokens are left, of which the 40 bytes behind the 1500 get none.
        assert_eq!(departures(&mut tbf, Instant::ZERO), us(&[0, 1000, 1040]));
    }

    #[test]
    fn packets_that_no_bucket_ever_covers_are_dropped_by_rule() {
        let reasons = |config, size| -> Vec<DropReason> {
            let limit = Limit::Packets(Packets::new(1));
            fill(&mut Tbf::new(limit, config), &[100, size]).iter().map(|drop| drop.reason).collect()
        };
        assert_eq!(reasons(config(3000), 3001), [DropReason::Forced], "even if there is no room either");
        assert_eq!(reasons(config(3000), 3000), [DropReason::Overflow]);
        let peak = TbfConfig { peakrate: Some(Rate::mbps(16)), ..config(3000) };
        assert_eq!(reasons(peak, 1501), [DropReason::Forced]);
        assert_eq!(reasons(peak, 1500), [DropReason::Overflow]);
    }

    #[test]
    fn state_is_that_of_the_last_look() {
        let mut tbf = Tbf::new(LIMIT, TbfConfig { peakrate: Some(Rate::mbps(16)), ..config(3000) });
        assert_eq!(state(&tbf), [0.0, 3000.0, 1500.0]);
        fill(&mut tbf, &[1000, 1000]);
        assert!(tbf.dequeue(Instant::ZERO, &mut Vec::new()).is_some());
        assert_eq!(state(&tbf), [0.0, 2000.0, 500.0]);
        assert!(tbf.dequeue(Instant::from_nanos(125_000), &mut Vec::new()).is_none());
        assert_eq!(state(&tbf), [1.0, 2125.0, 750.0]);
    }

    #[test]
    fn rules_of_burst_and_peakrate() {
        let fitted = |given: &[(&'static str, Value)]| {
            let mut params = Params::defaults(PARAMS);
            given.iter().for_each(|(name, value)| params.set(name, *value));
            fit(&mut params, LIMIT).map(|()| params.size("burst").as_u64()).map_err(|broken| broken.to_string())
        };
        let rate = |bps| ("rate", Value::Rate(Rate::bps(bps)));
        let size = |name, bytes| (name, Value::Size(Bytes::new(bytes)));
        assert_eq!(fitted(&[]), Ok(12_500), "10 ms at 10 Mb/s");
        assert_eq!(fitted(&[rate(1_000_000)]), Ok(3_000), "two packets");
        assert_eq!(fitted(&[rate(1_000_000), size("mtu", 9_000)]), Ok(18_000));
        assert_eq!(fitted(&[rate(10_000_000_000_000)]), Ok(1_000_000_000));
        assert_eq!(fitted(&[size("burst", 1_500)]), Ok(1_500));
        let short = "burst does not hold a packet of 1500 B; allowed: at least 1500 B";
        assert_eq!(fitted(&[size("burst", 1_499)]), Err(short.to_owned()));
        assert!(fitted(&[size("burst", 3_000), size("mtu", 9_000)]).is_err());
        let peak = |bps| ("peakrate", Value::Rate(Rate::bps(bps)));
        let above = "peakrate is not above rate; allowed: more than 10 Mb/s, or \"0 b/s\" for none";
        assert_eq!(fitted(&[peak(10_000_000)]), Err(above.to_owned()));
        assert_eq!(fitted(&[peak(10_000_001)]), Ok(12_500));
    }
}
