//! Properties of every queue: conservation, limits, order, counters, marks.
#![allow(clippy::unwrap_used)]

use core::net::{IpAddr, Ipv4Addr};
use narrows_queue::registry::{Params, Value, registry};
use narrows_queue::{
    Aqm, Codel, CodelConfig, CodelProfile, Dequeued, DropReason, Dropped, Enqueued, Exceed, Fifo, Fq, FqCodel,
    FqCodelConfig, FqConfig, FqPie, FqPieConfig, Limit, Pie, PieConfig, PieProfile, Policer, PolicerConfig, Queue,
    QueueView, RedConfig, Tbf, TbfConfig, Verdict, droptail, red,
};
use narrows_rng::Stream;
use narrows_units::{Bytes, Duration, Instant, Packets, Probability, Rate};
use narrows_wire::{Ecn, Ip, Packet, Transport, UdpRepr};
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};

/// A packet of `size` bytes in total, identified by its ports.
fn packet(number: u32, size: u32, ecn: Ecn) -> Packet {
    let host = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let mut ip = Ip::between(host, host);
    ip.set_ecn(ecn);
    let ports = UdpRepr { src_port: (number >> 16) as u16, dst_port: number as u16, rtp: None };
    Packet { ip, transport: Transport::Udp(ports), payload_len: size - 28 }
}

/// The packet without its ECN bits, which a queue may change.
fn identity(p: &Packet) -> Packet {
    let mut p = *p;
    p.ip.set_ecn(Ecn::NotEct);
    p
}

/// Drops or marks by a fixed pattern on enqueue and dequeue, so that every path of the storage is tested.
#[derive(Debug)]
struct Pattern(u32);

impl Pattern {
    fn next(&mut self) -> Verdict {
        self.0 += 1;
        match self.0 % 7 {
            2 => Verdict::Mark,
            5 => Verdict::Drop(DropReason::Forced),
            _ => Verdict::Pass,
        }
    }
}

impl Aqm for Pattern {
    fn on_enqueue(&mut self, _: &Packet, _: &QueueView, _: Instant) -> Verdict {
        self.next()
    }
    fn on_dequeue(&mut self, _: &Packet, _: Instant, _: &QueueView, _: Instant) -> Verdict {
        self.next()
    }
}

#[derive(Clone, Debug)]
enum Op {
    Enqueue { size: u32, ecn: u8 },
    Dequeue,
}

fn ops() -> impl Strategy<Value = Vec<(u64, Op)>> {
    let enqueue = (40u32..1500, 0u8..4).prop_map(|(size, ecn)| Op::Enqueue { size, ecn });
    let op = prop_oneof![3 => enqueue, 2 => Just(Op::Dequeue)];
    prop::collection::vec((0u64..2_000_000, op), 1..400)
}

fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![
        (0u64..40).prop_map(|n| Limit::Packets(Packets::new(n))),
        (0u64..40_000).prop_map(|n| Limit::Bytes(Bytes::new(n))),
    ]
}

fn red_config(limit: Limit) -> impl Strategy<Value = RedConfig> {
    (any::<[bool; 4]>(), 0.0f64..20.0, 0.0f64..30.0, 0.0f64..=1.0, 0.0f64..=1.0).prop_map(
        move |([gentle, ecn, bytes_mode, wait], min, max, weight, max_p)| {
            let unit = if bytes_mode { 500.0 } else { 1.0 };
            RedConfig {
                limit,
                min_threshold: min * unit,
                max_threshold: max * unit,
                weight,
                automatic_weight: wait,
                target_delay: bytes_mode.then_some(Duration::from_millis(2)),
                max_p: Probability::clamped(max_p),
                gentle,
                ecn,
                bytes_mode,
                wait,
                mean_packet: Bytes::new(500),
                adaptive: gentle,
            }
        },
    )
}

fn queues() -> impl Strategy<Value = (u8, Limit, RedConfig)> {
    limit().prop_flat_map(|limit| (0u8..9, Just(limit), red_config(limit)))
}

fn build(kind: u8, limit: Limit, config: RedConfig) -> Box<dyn Queue> {
    match kind {
        0 => droptail(limit),
        1 => red(config, Stream::new(7, 0, "queue", "red")),
        2 => Box::new(Fifo::new(limit, Codel::new(hasty(CodelProfile::Rfc8289)))),
        3 => Box::new(Fifo::new(limit, Codel::new(hasty(CodelProfile::Linux)))),
        4 => Box::new(Fifo::new(limit, Pattern(0))),
        5 => Box::new(Fifo::new(limit, Pie::new(steep(PieProfile::Rfc8033), Stream::new(7, 0, "queue", "pie")))),
        6 => Box::new(Fifo::new(limit, Pie::new(steep(PieProfile::Linux), Stream::new(7, 0, "queue", "pie")))),
        POLICER => Box::new(Policer::new(limit, strict(Exceed::Drop))),
        _ => Box::new(Policer::new(limit, strict(Exceed::Mark))),
    }
}

/// The first kind of [`build`] that decides about packets before it looks for room.
const POLICER: u8 = 7;

/// A policer with less than half the rate of the packets of a test.
fn strict(exceed: Exceed) -> PolicerConfig {
    PolicerConfig { rate: Rate::mbps(1), burst: Bytes::new(3_000), exceed }
}

/// CoDel that drops and marks within the few milliseconds of a test.
fn hasty(profile: CodelProfile) -> CodelConfig {
    let (target, interval) = (Duration::from_micros(300), Duration::from_millis(2));
    CodelConfig { target, interval, mtu: Bytes::new(100), ecn: true, profile }
}

/// PIE that drops and marks within the few milliseconds of a test: high gains, and no burst that passes untouched.
fn steep(profile: PieProfile) -> PieConfig {
    let (target, tupdate) = (Duration::from_micros(500), Duration::from_millis(1));
    let (alpha, beta, mark_ecnth) = (0.5, 2.0, Probability::clamped(1.0));
    let own = PieConfig {
        max_burst: Duration::ZERO,
        mtu: Bytes::new(100),
        dq_rate_estimator: false,
        ..PieConfig::new(profile)
    };
    PieConfig { target, tupdate, alpha, beta, mark_ecnth, ecn: true, ..own }
}

/// Fires the timer of a queue up to `now`.
fn make_up(queue: &mut dyn Queue, now: Instant, dropped: &mut Vec<Dropped>) {
    let mut last = Instant::ZERO;
    while let Some(next) = queue.next_timer().filter(|&next| next <= now) {
        assert!(next > last, "timers advance");
        last = next;
        queue.on_timer(next, dropped);
    }
}

fn counters_are_exact(view: &QueueView, model: &VecDeque<(Packet, Instant)>) {
    assert_eq!(view.packets.as_u64(), model.len() as u64);
    assert_eq!(view.bytes, model.iter().map(|(p, _)| p.len()).sum::<Bytes>());
    match view.limit {
        Limit::Packets(n) => assert!(view.packets <= n),
        Limit::Bytes(n) => assert!(view.bytes <= n),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn packets_are_conserved_in_order_and_within_the_limit((kind, limit, config) in queues(), ops in ops()) {
        let mut queue = build(kind, limit, config);
        queue.set_rate(Rate::mbps(10));
        let mut model: VecDeque<(Packet, Instant)> = VecDeque::new();
        let (mut now, mut number) = (Instant::ZERO, 0);
        let (mut came, mut left, mut lost) = (0u64, 0u64, 0u64);
        let mut dropped = Vec::new();
        for (gap, op) in ops {
            now += Duration::from_nanos(gap);
            make_up(&mut *queue, now, &mut dropped);
            prop_assert!(dropped.is_empty());
            match op {
                Op::Enqueue { size, ecn } => {
                    number += 1;
                    came += 1;
                    let ecn = Ecn::from_bits(ecn);
                    let p = packet(number, size, ecn);
                    let marked = queue.enqueue(p, now, &mut dropped).marked;
                    if let Some(d) = dropped.pop() {
                        prop_assert_eq!((d.packet, marked), (p, false));
                        let full = match limit {
                            Limit::Packets(n) => model.len() as u64 >= n.as_u64(),
                            Limit::Bytes(n) => queue.view().bytes + p.len() > n,
                        };
                        let policed = kind >= POLICER && d.reason == DropReason::Forced;
                        prop_assert!(policed || (d.reason == DropReason::Overflow) == full);
                        lost += 1;
                    } else {
                        model.push_back((p, now));
                    }
                    prop_assert!(!marked || matches!(ecn, Ecn::Ect0 | Ecn::Ect1));
                }
                Op::Dequeue => {
                    let out = queue.dequeue(now, &mut dropped);
                    for d in &dropped {
                        let (p, _) = model.pop_front().unwrap();
                        prop_assert_eq!(identity(&d.packet), identity(&p), "drops at the head come in order");
                        lost += 1;
                    }
                    match out {
                        Some(Dequeued { packet, enqueued, .. }) => {
                            let (p, at) = model.pop_front().unwrap();
                            prop_assert_eq!((identity(&packet), enqueued), (identity(&p), at));
                            let kept = packet.ip.ecn() == p.ip.ecn();
                            prop_assert!(kept || (p.ip.ecn().is_capable() && packet.ip.ecn() == Ecn::Ce));
                            left += 1;
                        }
                        None => prop_assert!(model.is_empty()),
                    }
                }
            }
            dropped.clear();
            counters_are_exact(&queue.view(), &model);
            prop_assert_eq!(came, left + lost + model.len() as u64);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn fq_codel_conserves_packets_and_the_order_of_each_flow(
        limit in limit(),
        flows in 1u32..9,
        drop_batch in 1u64..9,
        ops in ops(),
        linux in any::<bool>(),
    ) {
        let profile = if linux { CodelProfile::Linux } else { CodelProfile::Rfc8289 };
        let (codel, memory_limit) = (hasty(profile), Bytes::new(30_000));
        let ce_threshold = Duration::from_millis(5);
        let config = FqCodelConfig { codel, flows, drop_batch, memory_limit, ce_threshold, ..FqCodelConfig::default() };
        let mut queue = FqCodel::new(limit, config, Stream::new(1, 0, "queue", "fq_codel"));
        let mut waiting: Vec<VecDeque<(Packet, Instant)>> = vec![VecDeque::new(); flows as usize];
        let (mut now, mut number) = (Instant::ZERO, 0);
        let mut dropped = Vec::new();
        for (gap, op) in ops {
            now += Duration::from_nanos(gap);
            let mut sent = None;
            match op {
                Op::Enqueue { size, ecn } => {
                    number += 1;
                    let p = packet(number, size, Ecn::from_bits(ecn));
                    let enqueued = queue.enqueue(p, now, &mut dropped);
                    prop_assert!(!enqueued.marked);
                    waiting[enqueued.subqueue as usize].push_back((p, now));
                    prop_assert!(dropped.iter().all(|d| d.reason == DropReason::Overflow));
                }
                Op::Dequeue => {
                    sent = queue.dequeue(now, &mut dropped);
                    let early = |d: &Dropped| d.reason == DropReason::Early && !d.packet.ip.ecn().is_capable();
                    prop_assert!(dropped.iter().all(early), "a capable packet is marked");
                }
            }
            for d in dropped.drain(..) {
                let (p, _) = waiting[d.subqueue as usize].pop_front().unwrap();
                prop_assert_eq!(identity(&d.packet), identity(&p), "drops come from the head");
            }
            match sent {
                Some(Dequeued { packet, enqueued, subqueue, marked }) => {
                    let (p, at) = waiting[subqueue as usize].pop_front().unwrap();
                    prop_assert_eq!((identity(&packet), enqueued), (identity(&p), at));
                    let changed = packet.ip.ecn() != p.ip.ecn();
                    prop_assert_eq!(changed, marked);
                    prop_assert!(!changed || (p.ip.ecn().is_capable() && packet.ip.ecn() == Ecn::Ce));
                }
                None if matches!(op, Op::Dequeue) => prop_assert!(waiting.iter().all(VecDeque::is_empty)),
                None => {}
            }
            let all: VecDeque<_> = waiting.iter().flatten().copied().collect();
            counters_are_exact(&queue.view(), &all);
            prop_assert!(queue.view().bytes <= memory_limit);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn fq_pie_conserves_packets_and_the_order_of_each_flow(
        limit in limit(),
        flows in 1u32..9,
        ops in ops(),
        linux in any::<bool>(),
    ) {
        let profile = if linux { PieProfile::Linux } else { PieProfile::Rfc8033 };
        let (pie, memory_limit) = (steep(profile), Bytes::new(30_000));
        let config = FqPieConfig { pie, flows, memory_limit, ..FqPieConfig::default() };
        let mut queue = FqPie::new(limit, config, Stream::new(1, 0, "queue", "fq_pie"));
        let mut waiting: Vec<VecDeque<(Packet, Instant)>> = vec![VecDeque::new(); flows as usize];
        let (mut now, mut number) = (Instant::ZERO, 0);
        let mut dropped = Vec::new();
        for (gap, op) in ops {
            now += Duration::from_nanos(gap);
            make_up(&mut queue, now, &mut dropped);
            match op {
                Op::Enqueue { size, ecn } => {
                    number += 1;
                    let p = packet(number, size, Ecn::from_bits(ecn));
                    let full = match limit {
                        Limit::Packets(n) => queue.view().packets >= n,
                        Limit::Bytes(n) => queue.view().bytes + p.len() > n,
                    } || queue.view().bytes + p.len() > memory_limit;
                    let Enqueued { marked, subqueue } = queue.enqueue(p, now, &mut dropped);
                    prop_assert!(!marked || matches!(p.ip.ecn(), Ecn::Ect0 | Ecn::Ect1));
                    match dropped.pop() {
                        Some(d) => {
                            prop_assert_eq!((d.packet, d.subqueue, marked), (p, subqueue, false), "only the arrival");
                            prop_assert_eq!(d.reason == DropReason::Overflow, full);
                        }
                        None => {
                            prop_assert!(!full);
                            waiting[subqueue as usize].push_back((p, now));
                        }
                    }
                }
                Op::Dequeue => match queue.dequeue(now, &mut dropped) {
                    Some(Dequeued { packet, enqueued, subqueue, marked }) => {
                        let (p, at) = waiting[subqueue as usize].pop_front().unwrap();
                        prop_assert_eq!((identity(&packet), enqueued, marked), (identity(&p), at, false));
                        let kept = packet.ip.ecn() == p.ip.ecn();
                        prop_assert!(kept || (p.ip.ecn().is_capable() && packet.ip.ecn() == Ecn::Ce));
                    }
                    None => prop_assert!(waiting.iter().all(VecDeque::is_empty)),
                },
            }
            prop_assert!(dropped.is_empty(), "drops at arrivals only");
            let all: VecDeque<_> = waiting.iter().flatten().copied().collect();
            counters_are_exact(&queue.view(), &all);
        }
        // An empty queue stops its timer, after 57 ln 2 / ln (64 / 63) = 2509 updates at most from a probability of 2.
        while queue.dequeue(now, &mut dropped).is_some() {}
        make_up(&mut queue, now + Duration::from_secs(3), &mut dropped);
        prop_assert_eq!(queue.next_timer(), Some(Instant::NEVER));
    }
}

#[test]
fn the_configurations_of_pie_drop_and_mark_within_a_test() {
    for kind in [5, 6] {
        let limit = Limit::Packets(Packets::new(40));
        let mut queue = build(kind, limit, RedConfig::default());
        let (mut dropped, mut marks) = (Vec::new(), 0);
        for number in 0..200 {
            let now = Instant::from_nanos(u64::from(number) * 1_000_000);
            make_up(&mut *queue, now, &mut dropped);
            if number % 8 != 7 {
                queue.dequeue(now, &mut dropped);
            }
            marks += u32::from(
                queue.enqueue(packet(number, 1000, Ecn::from_bits((number % 4) as u8)), now, &mut dropped).marked,
            );
        }
        let early = dropped.iter().filter(|d| d.reason == DropReason::Early).count();
        assert!(marks > 5 && early > 5, "{kind}: {marks} marks, {early} drops");
    }
}

/// Parameters with which a discipline drops and marks within the few milliseconds of a test.
fn impatient(name: &str, variant: bool) -> Params {
    let mut params = Params::default();
    let mut set = |name: &'static str, value| params.set(name, value);
    let us = |n| Value::Time(Duration::from_micros(n));
    match name {
        "codel" | "fq_codel" => {
            set("target", us(300));
            set("interval", us(2_000));
            set("ecn", Value::Switch(true));
            set("profile", Value::Choice(if variant { "linux" } else { "rfc8289" }));
        }
        "dualpi2" => {
            if variant {
                set("profile", Value::Choice("linux"));
                set("l4s_aqm", Value::Choice("ramp"));
                set("scheduler", Value::Choice("tsfifo"));
                set("overload", Value::Choice("overflow"));
                set("drop_early", Value::Switch(true));
            }
            set("target", us(100));
            set("tupdate", us(200));
            set("alpha", Value::Number(1000.0));
            set("beta", Value::Number(1000.0));
        }
        "pie" | "fq_pie" => {
            set("target", us(500));
            set("tupdate", us(1_000));
            set("alpha", Value::Number(0.5));
            set("beta", Value::Number(2.0));
            set("max_burst", us(0));
            set("ecn", Value::Switch(true));
            set("dq_rate_estimator", Value::Choice("off"));
            set("profile", Value::Choice(if variant { "linux" } else { "rfc8033" }));
        }
        "cobalt" => {
            set("target", us(300));
            set("interval", us(2_000));
            set("increment", Value::Number(0.1));
            set("decrement", Value::Number(0.05));
            set("profile", Value::Choice(if variant { "linux" } else { "exact" }));
        }
        "cake" => {
            set("rtt", us(2_000));
            set("bandwidth", Value::Rate(if variant { Rate::mbps(20) } else { Rate::ZERO }));
            set("flowmode", Value::Choice(if variant { "triple-isolate" } else { "dual-srchost" }));
            set("memlimit", Value::Size(Bytes::new(20_000)));
        }
        "tbf" | "policer" => set("rate", Value::Rate(Rate::mbps(1))),
        "prio" if variant => set("share", Value::Choice("shared")),
        "sfq" => {
            for (name, value) in [("divisor", 5), ("flows", 4), ("depth", 9)] {
                set(name, Value::Integer(value));
            }
            set("quantum", Value::Size(Bytes::new(300)));
            set("headdrop", Value::Switch(variant));
        }
        "fq" => {
            set("flows", Value::Integer(4));
            set("quantum", Value::Size(Bytes::new(300)));
            set("initial_quantum", Value::Size(Bytes::new(900)));
            set("flow_limit", Value::Integer(9));
            set("refill_delay", us(500));
            set("ce_threshold", us(300));
            set("maxrate", Value::Rate(if variant { Rate::mbps(3) } else { Rate::ZERO }));
        }
        "drr" => {
            set("flows", Value::Integer(4));
            set("quantum", Value::Size(Bytes::new(300)));
            set("overflow", Value::Choice(if variant { "longest" } else { "arrival" }));
        }
        _ => {}
    }
    params
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// Within a sub-queue packets stay in order. Drops take the arriving packet, or the first or the last one.
    #[test]
    fn every_discipline_conserves_packets_and_counts_them(
        row in prop::sample::select(registry().to_vec()),
        limit in prop_oneof![
            (1u64..40).prop_map(|n| Limit::Packets(Packets::new(n))),
            (3_000u64..40_000).prop_map(|n| Limit::Bytes(Bytes::new(n))),
        ],
        flows in 1u32..6,
        variant in any::<bool>(),
        ops in ops(),
    ) {
        let Ok(mut queue) = row.queue(limit, &impatient(row.about.name, variant), Stream::new(1, 0, "queue", "any")) else {
            return Ok(());
        };
        queue.set_rate(Rate::mbps(10));
        let mut waiting: BTreeMap<u32, VecDeque<(Packet, Instant)>> = BTreeMap::new();
        let (mut now, mut number) = (Instant::ZERO, 0);
        let mut dropped = Vec::new();
        for (gap, op) in ops {
            now += Duration::from_nanos(gap);
            while let Some(at) = queue.next_timer()
                && at <= now
            {
                queue.on_timer(at, &mut dropped);
            }
            let mut sent = None;
            match op {
                Op::Enqueue { size, ecn } => {
                    number += 1;
                    // The upper half is the source port: a few flows.
                    let p = packet((number % flows) << 16 | number, size, Ecn::from_bits(ecn));
                    let enqueued = queue.enqueue(p, now, &mut dropped);
                    prop_assert!(!enqueued.marked || p.ip.ecn().is_capable());
                    waiting.entry(enqueued.subqueue).or_default().push_back((p, now));
                }
                Op::Dequeue => sent = queue.dequeue(now, &mut dropped),
            }
            for d in dropped.drain(..) {
                let of = waiting.get_mut(&d.subqueue).unwrap();
                let is = |one: Option<&(Packet, Instant)>| one.is_some_and(|(p, _)| identity(p) == identity(&d.packet));
                let taken = if is(of.front()) { of.pop_front() } else { of.pop_back().filter(|last| is(Some(last))) };
                prop_assert!(taken.is_some(), "{}: {d:?}", row.about.name);
            }
            match sent {
                Some(Dequeued { packet, enqueued, subqueue, marked }) => {
                    let (p, at) = waiting.get_mut(&subqueue).and_then(VecDeque::pop_front).unwrap();
                    prop_assert_eq!((identity(&packet), enqueued), (identity(&p), at));
                    prop_assert!(!marked || (p.ip.ecn().is_capable() && packet.ip.ecn() == Ecn::Ce));
                }
                None if matches!(op, Op::Dequeue) => {
                    let holds = ["tbf", "fq", "cake"].contains(&row.about.name);
                    let held = holds && queue.next_timer().is_some_and(|at| at < Instant::NEVER);
                    prop_assert!(held || waiting.values().all(VecDeque::is_empty), "{}", row.about.name);
                }
                None => {}
            }
            let all: VecDeque<_> = waiting.values().flatten().copied().collect();
            counters_are_exact(&queue.view(), &all);
        }
    }
}

/// A token bucket as its definition has it (the comment at the head of Linux's `sch_tbf.c`): packets of sizes `s` sent
/// at times `t` obey a rate `R` and a depth `B` if, for any `i <= k`, `s_i + .. + s_k <= B + R * (t_k - t_i)`.
#[derive(Debug, Default)]
struct Sent(Vec<(Instant, u64)>);

impl Sent {
    /// Whether a packet may follow at `now`.
    fn allows(&self, size: u64, now: Instant, rate: Rate, depth: u64) -> bool {
        let mut sum = u128::from(size);
        sum <= u128::from(depth)
            && self.0.iter().rev().all(|&(at, sent)| {
                sum += u128::from(sent);
                let arrived = u128::from(rate.as_bps()) * u128::from(now.since(at).as_nanos());
                sum * 8_000_000_000 <= u128::from(depth) * 8_000_000_000 + arrived
            })
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn tbf_sends_each_packet_at_the_first_nanosecond_that_the_definition_allows(
        limit in limit(),
        bps in 900_000u64..20_000_000,
        burst in 700u64..5_000,
        peak in prop::option::of((1u64..3_000_000, 700u64..3_000)),
        ops in ops(),
    ) {
        let (rate, burst) = (Rate::bps(bps), Bytes::new(burst));
        let peakrate = peak.map(|(more, _)| Rate::bps(bps + more));
        let mtu = Bytes::new(peak.map_or(0, |(_, mtu)| mtu));
        let mut queue = Tbf::new(limit, TbfConfig { rate, burst, peakrate, mtu });
        let largest = if peakrate.is_some() { burst.min(mtu) } else { burst };
        let mut model: VecDeque<(Packet, Instant)> = VecDeque::new();
        let mut sent = Sent::default();
        let may_leave = |sent: &Sent, size: Bytes, now| {
            let obeys = |rate, depth: Bytes| sent.allows(size.as_u64(), now, rate, depth.as_u64());
            obeys(rate, burst) && peakrate.is_none_or(|peakrate| obeys(peakrate, mtu))
        };
        let (mut now, mut number) = (Instant::ZERO, 0);
        let mut dropped = Vec::new();
        // In the end a link that asks often enough empties the queue: 400 packets at most.
        let rest = std::iter::repeat_n((1_000_000_000, Op::Dequeue), 401);
        for (gap, op) in ops.into_iter().chain(rest) {
            let end = now + Duration::from_nanos(gap);
            while let Some(next) = queue.next_timer().filter(|&next| next <= end) {
                prop_assert!(next > now);
                let size = model[0].0.len();
                prop_assert!(!may_leave(&sent, size, next - Duration::from_nanos(1)) && may_leave(&sent, size, next));
                now = next;
                queue.on_timer(now, &mut dropped);
                prop_assert_eq!(queue.next_timer(), Some(Instant::NEVER), "a timer without work stops");
                // The link asks again, since it was told to wait.
                let out = queue.dequeue(now, &mut dropped).unwrap();
                let (p, at) = model.pop_front().unwrap();
                prop_assert_eq!((out.packet, out.enqueued), (p, at));
                sent.0.push((now, p.len().as_u64()));
            }
            now = end;
            match op {
                Op::Enqueue { size, ecn } => {
                    number += 1;
                    let p = packet(number, size, Ecn::from_bits(ecn));
                    prop_assert!(!queue.enqueue(p, now, &mut dropped).marked);
                    match dropped.pop() {
                        Some(d) if p.len() > largest => prop_assert_eq!((d.packet, d.reason), (p, DropReason::Forced)),
                        Some(d) => {
                            let full = match limit {
                                Limit::Packets(n) => model.len() as u64 >= n.as_u64(),
                                Limit::Bytes(n) => queue.view().bytes + p.len() > n,
                            };
                            prop_assert!(full && d.reason == DropReason::Overflow && d.packet == p);
                        }
                        None => model.push_back((p, now)),
                    }
                }
                Op::Dequeue => match queue.dequeue(now, &mut dropped) {
                    Some(out) => {
                        let (p, at) = model.pop_front().unwrap();
                        prop_assert_eq!((out.packet, out.enqueued), (p, at));
                        prop_assert!(may_leave(&sent, p.len(), now));
                        sent.0.push((now, p.len().as_u64()));
                    }
                    None => prop_assert!(model.front().is_none_or(|(p, _)| !may_leave(&sent, p.len(), now))),
                },
            }
            prop_assert!(dropped.is_empty());
            counters_are_exact(&queue.view(), &model);
        }
        prop_assert!(model.is_empty() && queue.next_timer() == Some(Instant::NEVER), "nothing left, no timer");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// What a backlogged flow has sent at any time on a link that is always free: at least its rate less a quantum, and
    /// at most the initial quantum, its rate, a quantum and a packet.
    #[test]
    fn fq_holds_each_backlogged_flow_to_its_rate(
        maxrate in 600_000u64..50_000_000,
        quantum in 1_500u64..6_000,
        initial in 0u64..20_000,
        sizes in prop::collection::vec((40u32..1_500, 0u32..3), 1..300),
    ) {
        let config = FqConfig {
            quantum: Bytes::new(quantum),
            initial_quantum: Bytes::new(initial),
            maxrate: Some(Rate::bps(maxrate)),
            flow_limit: 300,
            ..FqConfig::default()
        };
        let mut queue = Fq::new(Limit::Packets(Packets::new(300)), config, Stream::new(1, 0, "queue", "fq"));
        let mut dropped = Vec::new();
        let (mut waiting, mut sent) = (BTreeMap::new(), BTreeMap::new());
        for &(size, flow) in &sizes {
            let number = queue.enqueue(packet(flow << 16, size, Ecn::NotEct), Instant::ZERO, &mut dropped).subqueue;
            *waiting.entry(number).or_insert(0) += 1;
            sent.insert(number, 0);
        }
        prop_assert!(dropped.is_empty());
        let mut now = Instant::ZERO;
        let mut turns = 0;
        loop {
            while let Some(out) = queue.dequeue(now, &mut dropped) {
                *sent.entry(out.subqueue).or_default() += out.packet.len().as_u64();
                *waiting.entry(out.subqueue).or_default() -= 1;
            }
            let due = Rate::bps(maxrate).bytes_in(now.since(Instant::ZERO)).as_u64();
            for (number, &bytes) in &sent {
                prop_assert!(bytes <= initial + due + quantum + 1_500, "{bytes} bytes at {now:?}");
                prop_assert!(waiting[number] == 0 || bytes + quantum >= due, "{bytes} bytes at {now:?}");
            }
            let next = queue.next_timer().unwrap();
            if next == Instant::NEVER {
                break;
            }
            prop_assert!(next > now && turns < 1_000);
            queue.on_timer(next, &mut dropped);
            (now, turns) = (next, turns + 1);
        }
        prop_assert!(queue.view().packets.is_zero());
    }

    /// Two backlogged flows differ by a quantum and a packet of each (Shreedhar and Varghese, section 3), once each has
    /// used its initial quantum.
    #[test]
    fn fq_shares_a_link_by_bytes(quantum in 1_500u64..6_000, sizes in prop::collection::vec((40u32..1_500, 0u32..2), 200)) {
        let initial_quantum = Bytes::new(quantum);
        let config = FqConfig { quantum: initial_quantum, initial_quantum, flow_limit: 200, ..FqConfig::default() };
        let mut queue = Fq::new(Limit::Packets(Packets::new(200)), config, Stream::new(1, 0, "queue", "fq"));
        let mut dropped = Vec::new();
        let (mut waiting, mut sent) = (BTreeMap::new(), BTreeMap::new());
        for &(size, flow) in &sizes {
            let number = queue.enqueue(packet(flow << 16, size, Ecn::NotEct), Instant::ZERO, &mut dropped).subqueue;
            *waiting.entry(number).or_insert(0) += 1;
            sent.insert(number, 0);
        }
        prop_assume!(waiting.len() == 2);
        while waiting.values().all(|&count| count > 0) {
            let out = queue.dequeue(Instant::ZERO, &mut dropped).unwrap();
            *waiting.entry(out.subqueue).or_default() -= 1;
            *sent.entry(out.subqueue).or_insert(0) += out.packet.len().as_u64();
            let bytes: Vec<_> = sent.values().collect();
            prop_assert!(bytes[0].abs_diff(*bytes[1]) <= quantum + 3_000, "{sent:?}");
        }
    }
}

#[test]
fn a_burst_of_60_into_ns2_limit_50_loses_10() {
    // ns-2's `limit_ 50` is 49 waiting packets; the first packet of the burst is in transmission at once.
    let mut queue = droptail(Limit::Packets(Packets::new(49)));
    let mut dropped = Vec::new();
    queue.enqueue(packet(0, 1000, Ecn::NotEct), Instant::ZERO, &mut dropped);
    assert!(queue.dequeue(Instant::ZERO, &mut dropped).is_some());
    for number in 1..60 {
        queue.enqueue(packet(number, 1000, Ecn::NotEct), Instant::ZERO, &mut dropped);
    }
    assert_eq!((dropped.len(), queue.view().packets), (10, Packets::new(49)));
    assert!(dropped.iter().all(|d| d.reason == DropReason::Overflow));
}

#[test]
fn a_byte_limit_takes_small_packets_where_large_ones_do_not_fit() {
    let mut queue = droptail(Limit::Bytes(Bytes::new(1_500)));
    let mut dropped: Vec<Dropped> = Vec::new();
    for (number, size) in [(1, 1_000), (2, 600), (3, 500), (4, 40)] {
        queue.enqueue(packet(number, size, Ecn::NotEct), Instant::ZERO, &mut dropped);
    }
    let lost: Vec<u64> = dropped.iter().map(|d| d.packet.len().as_u64()).collect();
    assert_eq!((lost, queue.view().bytes), (vec![600, 40], Bytes::new(1_500)));
}

/// Marks everything.
#[derive(Debug)]
struct MarkAll;

impl Aqm for MarkAll {
    fn on_enqueue(&mut self, _: &Packet, _: &QueueView, _: Instant) -> Verdict {
        Verdict::Mark
    }
}

#[test]
fn marks_go_to_capable_packets_and_ce_stays_ce() {
    let mut queue = Fifo::new(Limit::Packets(Packets::new(9)), MarkAll);
    let mut dropped = Vec::new();
    let mut enqueue = |ecn| queue.enqueue(packet(1, 100, ecn), Instant::ZERO, &mut dropped).marked;
    assert_eq!(
        [enqueue(Ecn::Ect0), enqueue(Ecn::Ect1), enqueue(Ecn::Ce), enqueue(Ecn::NotEct)],
        [true, true, false, false]
    );
    assert_eq!(dropped.len(), 1, "what cannot be marked is dropped");
    assert_eq!(dropped[0].reason, DropReason::Early);
    dropped.clear();
    for _ in 0..3 {
        assert_eq!(queue.dequeue(Instant::ZERO, &mut dropped).unwrap().packet.ip.ecn(), Ecn::Ce);
    }
}

/// Marks every packet on dequeue.
#[derive(Debug)]
struct MarkLate;

impl Aqm for MarkLate {
    fn on_enqueue(&mut self, _: &Packet, _: &QueueView, _: Instant) -> Verdict {
        Verdict::Pass
    }
    fn on_dequeue(&mut self, _: &Packet, _: Instant, _: &QueueView, _: Instant) -> Verdict {
        Verdict::Mark
    }
}

#[test]
fn a_mark_on_the_way_out_is_told_with_the_packet() {
    let mut queue = Fifo::new(Limit::Packets(Packets::new(9)), MarkLate);
    let mut dropped = Vec::new();
    for ecn in [Ecn::Ect0, Ecn::Ce] {
        assert!(!queue.enqueue(packet(1, 100, ecn), Instant::ZERO, &mut dropped).marked);
    }
    let mut marked = || queue.dequeue(Instant::ZERO, &mut dropped).map(|d| (d.marked, d.packet.ip.ecn()));
    assert_eq!([marked(), marked(), marked()], [Some((true, Ecn::Ce)), Some((false, Ecn::Ce)), None]);
}

/// Runs RED under an unresponsive load of 110 % for 20 s; returns the packets dropped and the last average.
fn overload(seed: u64) -> (Vec<Packet>, f64) {
    let config = RedConfig { weight: 0.002, max_p: Probability::clamped(0.1), ..RedConfig::default() };
    let mut queue = red(config, Stream::new(seed, 0, "queue", "red"));
    queue.set_rate(Rate::mbps(10));
    let service = Duration::from_micros(800);
    let (mut dropped, mut departure) = (Vec::new(), Instant::ZERO);
    for number in 0..27_500u32 {
        let now = Instant::from_nanos(u64::from(number) * 8_000_000 / 11);
        while departure <= now && queue.dequeue(departure, &mut dropped).is_some() {
            departure += service;
        }
        departure = departure.max(now);
        queue.enqueue(packet(number, 1000, Ecn::NotEct), now, &mut dropped);
    }
    assert!(dropped.iter().all(|d| d.reason == DropReason::Early));
    let mut avg = 0.0;
    queue.state(&mut |name, value| {
        if name == "avg" {
            avg = value;
        }
    });
    (dropped.iter().map(|d| d.packet).collect(), avg)
}

#[test]
fn red_settles_where_it_drops_what_is_too_much() {
    // The load exceeds the rate by one packet in eleven. With wait the mean gap is 1.5 / p_b, so p_b = 0.136, which
    // gentle RED has at an average of 15.6.
    let (lost, avg) = overload(3);
    let share = lost.len() as f64 / 27_500.0;
    assert!((0.08..0.10).contains(&share), "{share} lost, 1/11 expected");
    assert!((14.0..17.0).contains(&avg), "average {avg}");
}

#[test]
fn red_repeats_itself_with_a_seed_and_not_with_another() {
    assert_eq!(overload(3), overload(3));
    assert_ne!(overload(3).0, overload(4).0);
}

#[test]
fn occupancy_is_in_the_unit_of_the_limit() {
    let view = |limit| QueueView { bytes: Bytes::new(3_000), packets: Packets::new(5), limit, rate: Rate::mbps(1) };
    let occupancy =
        [Limit::Packets(Packets::new(20)), Limit::Bytes(Bytes::new(4_000)), Limit::Bytes(Bytes::new(1_000))]
            .map(|limit| view(limit).occupancy());
    assert!((occupancy[0] - 0.25).abs() < 1e-12 && (occupancy[1] - 0.75).abs() < 1e-12, "{occupancy:?}");
    assert!((occupancy[2] - 1.0).abs() < 1e-12, "never above one: {occupancy:?}");
}
