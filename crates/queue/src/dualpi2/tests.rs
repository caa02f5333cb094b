#![allow(clippy::float_cmp)]
use super::*;
use crate::registry::Params;
use core::net::{IpAddr, Ipv4Addr};
use narrows_wire::{Ip, Transport, UdpRepr};

const LIMIT: Limit = Limit::Packets(Packets::new(10_000));

fn config() -> DualPi2Config {
    DualPi2Config::of(&Params::defaults(PARAMS))
}

fn queue(config: DualPi2Config) -> DualPi2 {
    DualPi2::new(LIMIT, config, Stream::new(1, 0, "test", "dualpi2"))
}

fn packet(ecn: Ecn, size: u32) -> Packet {
    let host = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let mut ip = Ip::between(host, host);
    ip.set_ecn(ecn);
    Packet { ip, transport: Transport::Udp(UdpRepr { src_port: 1, dst_port: 9, rtp: None }), payload_len: size - 28 }
}

fn at(us: u64) -> Instant {
    Instant::from_nanos(1000 * us)
}

fn put(queue: &mut DualPi2, ecn: Ecn, count: usize, now: Instant) {
    let mut dropped = Vec::new();
    (0..count).for_each(|_| _ = queue.enqueue(packet(ecn, 1500), now, &mut dropped));
    assert!(dropped.is_empty());
}

/// Fires the timer `count` times; nothing leaves meanwhile.
fn update(queue: &mut DualPi2, count: usize) -> Vec<f64> {
    (0..count)
        .map(|_| {
            queue.on_timer(queue.next_timer().unwrap(), &mut Vec::new());
            queue.base
        })
        .collect()
}

#[test]
fn defaults_are_those_of_linux_and_the_rfc() {
    let config = config();
    assert_eq!((config.target, config.tupdate), (Duration::from_millis(15), Duration::from_millis(16)));
    assert_eq!((config.alpha, config.beta, config.coupling), (0.16, 3.2, 2.0));
    assert_eq!((config.native, config.scheduler), (Native::Step(Duration::from_millis(1)), Scheduler::Weighted(10)));
    assert!(config.drop_on_overload && !config.drop_early && config.ce_is_l4s && !config.random);
}

#[test]
fn the_codepoint_chooses_the_queue() {
    for (ce_is_l4s, ecn, class) in [
        (true, Ecn::NotEct, CLASSIC),
        (true, Ecn::Ect0, CLASSIC),
        (true, Ecn::Ect1, L4S),
        (true, Ecn::Ce, L4S),
        (false, Ecn::Ce, CLASSIC),
        (false, Ecn::Ect1, L4S),
    ] {
        let mut queue = queue(DualPi2Config { ce_is_l4s, ..config() });
        let enqueued = queue.enqueue(packet(ecn, 1500), at(0), &mut Vec::new());
        assert_eq!(enqueued.subqueue as usize, class, "{ecn:?}");
    }
    assert_eq!(queue(config()).subqueues(), ["l4s", "classic"]);
}

#[test]
fn the_controller_follows_its_equation() {
    // A packet that came at 0 waits 16, 32, 48 and 64 ms at the updates. With alpha = 0.16 and beta = 3.2 Hz:
    //   16 ms: 0.16 * 0.001 + 3.2 * 0.016 = 0.00016 + 0.0512 = 0.05136
    //   32 ms: + 0.16 * 0.017 + 0.0512 = 0.05392 -> 0.10528
    //   48 ms: + 0.16 * 0.033 + 0.0512 = 0.05648 -> 0.16176
    //   64 ms: + 0.16 * 0.049 + 0.0512 = 0.05904 -> 0.2208
    let mut queue = queue(config());
    put(&mut queue, Ecn::NotEct, 1, at(0));
    for (got, expected) in update(&mut queue, 4).into_iter().zip([0.05136, 0.10528, 0.16176, 0.2208]) {
        assert!((got - expected).abs() < 1e-12, "{got}");
    }
    // Once empty, the delay falls from 64 ms to 0: 0.2208 - 0.16 * 0.015 - 3.2 * 0.064 = 0.0136, then by 0.0024 each.
    while queue.dequeue(at(65_000), &mut Vec::new()).is_some() {}
    for (got, expected) in update(&mut queue, 7).into_iter().zip([0.0136, 0.0112, 0.0088, 0.0064, 0.004, 0.0016, 0.0]) {
        assert!((got - expected).abs() < 1e-12, "{got}");
    }
    assert_eq!(queue.next_timer(), Some(Instant::NEVER), "nothing is left to do");
    put(&mut queue, Ecn::NotEct, 1, at(500_000));
    assert_eq!(queue.next_timer(), Some(at(516_000)));
}

#[test]
fn the_larger_delay_counts_and_the_probability_is_bounded() {
    let mut queue = queue(config());
    put(&mut queue, Ecn::Ect1, 1, at(0));
    put(&mut queue, Ecn::NotEct, 1, at(8_000));
    assert!((update(&mut queue, 1)[0] - 0.05136).abs() < 1e-12, "that of L4S");
    assert_eq!(update(&mut queue, 1000)[999], 1.0);
    let mut capped = DualPi2::new(
        LIMIT,
        DualPi2Config { drop_on_overload: false, ..config() },
        Stream::new(1, 0, "test", "dualpi2"),
    );
    put(&mut capped, Ecn::NotEct, 1, at(0));
    assert_eq!(update(&mut capped, 1000)[999], 0.5, "1 / k");
}

/// Marks and drops over the packets of 10,000 departures from a queue with base probability `base` and no delay. Sixty
/// packets wait, so that Linux does not spare the first one.
fn shares(config: DualPi2Config, ecn: Ecn, base: f64) -> (f64, f64) {
    let mut queue = queue(config);
    queue.base = base;
    queue.prob = (queue.base * f64::from(u32::MAX)) as u32;
    let (mut marked, mut lost) = (0, Vec::new());
    for _ in 0..10_000 {
        while queue.waiting() < 60 {
            queue.enqueue(packet(ecn, 1500), at(0), &mut lost);
        }
        marked += usize::from(queue.dequeue(at(0), &mut lost).is_some_and(|next| next.marked));
    }
    let packets = 1e4 + lost.len() as f64;
    (marked as f64 / packets, lost.len() as f64 / packets)
}

#[test]
fn classic_gets_the_square_and_l4s_the_multiple() {
    for random in [false, true] {
        let config = DualPi2Config { random, ..config() };
        let near = |(marks, drops): (f64, f64), expected: (f64, f64)| {
            assert!((marks - expected.0).abs() < 0.015 && (drops - expected.1).abs() < 0.015, "{marks} {drops}");
        };
        near(shares(config, Ecn::NotEct, 0.3), (0.0, 0.09));
        near(shares(config, Ecn::Ect0, 0.3), (0.09, 0.0));
        near(shares(config, Ecn::Ect1, 0.3), (0.6, 0.0));
        near(shares(DualPi2Config { coupling: 1.5, ..config }, Ecn::Ect1, 0.3), (0.45, 0.0));
    }
}

#[test]
fn overload_drops_in_both_queues_or_marks_alone() {
    for random in [false, true] {
        let config = DualPi2Config { random, ..config() };
        // p' = 0.6: k p' is above 1, so 36 % are dropped, and of L4S all others marked.
        let (marks, drops) = shares(config, Ecn::Ect1, 0.6);
        assert!((drops - 0.36).abs() < 0.015 && (marks - 0.64).abs() < 0.015, "{marks} {drops}");
        let (marks, drops) = shares(config, Ecn::Ect0, 0.6);
        assert!(marks == 0.0 && (drops - 0.36).abs() < 0.015, "ECN is off: {marks} {drops}");
        let overflow = DualPi2Config { drop_on_overload: false, ..config };
        let (marks, drops) = shares(overflow, Ecn::Ect1, 0.5);
        assert!(marks > 0.99 && drops == 0.0, "{marks} {drops}");
    }
}

#[test]
fn sums_spread_decisions_evenly() {
    let mut queue = queue(config());
    put(&mut queue, Ecn::Ect1, 20, at(0));
    queue.base = 0.125;
    let marks: Vec<_> = (0..20).map(|_| queue.dequeue(at(0), &mut Vec::new()).unwrap().marked).collect();
    // Sums of 0.25 exceed 1 at the fifth packet, then at every fourth.
    let expected: Vec<_> = (1..=20).map(|n| n >= 5 && n % 4 == 1).collect();
    assert_eq!(marks, expected);
}

#[test]
fn the_step_is_strict_and_the_ramp_linear() {
    let step = queue(config());
    let native = |queue: &DualPi2, us| queue.native(Duration::from_micros(us));
    assert_eq!([999, 1000, 1001].map(|us| native(&step, us)), [0.0, 0.0, 1.0]);
    let ramp = Native::Ramp(Duration::from_micros(800), Duration::from_micros(400));
    let ramp = queue(DualPi2Config { native: ramp, ..config() });
    for (us, expected) in [(700, 0.0), (800, 0.0), (900, 0.25), (1100, 0.75), (1200, 1.0), (5000, 1.0)] {
        assert!((native(&ramp, us) - expected).abs() < 1e-9, "{us}");
    }
}

#[test]
fn the_native_aqm_marks_l4s_alone_and_needs_packets_before() {
    for (ecn, min_qlen_step, th_len, random, expected) in [
        (Ecn::Ect1, 0, 0, false, [true, true, true]),
        (Ecn::Ect1, 0, 1, false, [true, true, false]),
        (Ecn::Ect1, 0, 2, false, [true, false, false]),
        (Ecn::Ect1, 0, 1, true, [true, true, true]),
        (Ecn::Ect1, 2, 0, false, [false, false, true]),
        (Ecn::Ect1, 2, 0, true, [false, false, true]),
        (Ecn::Ect0, 0, 0, false, [false, false, false]),
        (Ecn::Ect0, 0, 0, true, [false, false, false]),
    ] {
        let mut queue = queue(DualPi2Config { min_qlen_step, th_len, random, ..config() });
        put(&mut queue, ecn, 3, at(0));
        let marks = [0; 3].map(|_| queue.dequeue(at(1100), &mut Vec::new()).unwrap().marked);
        assert_eq!(marks, expected, "{ecn:?} {min_qlen_step} {th_len} {random}");
    }
}

/// Bytes that L4S and Classic get of the next `count` packets if both queues are full.
fn served(queue: &mut DualPi2, count: usize, now: Instant) -> [u64; 2] {
    let mut bytes = [0; 2];
    for _ in 0..count {
        let next = queue.dequeue(now, &mut Vec::new()).unwrap();
        bytes[next.subqueue as usize] += next.packet.len().as_u64();
    }
    bytes
}

#[test]
fn each_queue_gets_its_share_if_both_are_full() {
    for classic in [5, 10, 50] {
        let mut queue = queue(DualPi2Config { scheduler: Scheduler::Weighted(classic), ..config() });
        put(&mut queue, Ecn::Ect1, 2000, at(0));
        put(&mut queue, Ecn::NotEct, 2000, at(0));
        let [l4s, other] = served(&mut queue, 1000, at(0));
        let share = 100 * other / (l4s + other);
        assert!(share.abs_diff(u64::from(classic)) <= 1, "{classic}: {share}");
    }
}

#[test]
fn l4s_goes_first_after_idle_time_and_classic_gets_what_l4s_leaves() {
    let mut queue = queue(config());
    put(&mut queue, Ecn::NotEct, 100, at(0));
    put(&mut queue, Ecn::Ect1, 2, at(0));
    let order: Vec<_> = (0..4).map(|_| queue.dequeue(at(0), &mut Vec::new()).unwrap().subqueue).collect();
    // The first credit is 1500 * (10 - 90). Each L4S packet adds 1500 * 10 while a Classic one waits.
    assert_eq!(order, [0, 0, 1, 1]);
    assert_eq!(queue.credit, -1500 * 80 + 2 * 1500 * 10, "kept while one queue is empty");
    while queue.dequeue(at(0), &mut Vec::new()).is_some() {}
    assert_eq!(queue.credit, -1500 * 80);
}

#[test]
fn the_time_shifted_fifo_serves_the_oldest() {
    let mut queue = queue(DualPi2Config { scheduler: Scheduler::TimeShifted(Duration::from_millis(50)), ..config() });
    put(&mut queue, Ecn::NotEct, 2, at(0));
    put(&mut queue, Ecn::Ect1, 1, at(50_000));
    assert_eq!(queue.next_class(at(60_000)), Some(L4S), "50 ms later counts as equal");
    queue.dequeue(at(60_000), &mut Vec::new());
    put(&mut queue, Ecn::Ect1, 1, at(50_001));
    assert_eq!(queue.next_class(at(60_000)), Some(CLASSIC));
}

#[test]
fn linux_spares_packets_with_less_than_two_behind() {
    let mut queue = queue(DualPi2Config { random: true, ..config() });
    put(&mut queue, Ecn::Ect1, 3, at(0));
    queue.base = 1.0;
    queue.prob = (queue.base * f64::from(u32::MAX)) as u32;
    let mut dropped = Vec::new();
    let left: Vec<_> = core::iter::from_fn(|| queue.dequeue(at(0), &mut dropped)).collect();
    // p' = 1: the first is dropped by the square of 1, the other two have less than 3000 bytes behind them.
    assert_eq!((left.len(), dropped.len()), (2, 1));
    assert!(left.iter().all(|next| !next.marked));
}

#[test]
fn early_decisions_are_made_on_arrival() {
    let mut queue = queue(DualPi2Config { drop_early: true, ..config() });
    queue.base = 0.8;
    queue.prob = (queue.base * f64::from(u32::MAX)) as u32;
    let mut dropped = Vec::new();
    let enqueued: Vec<_> = (0..10).map(|_| queue.enqueue(packet(Ecn::NotEct, 1500), at(0), &mut dropped)).collect();
    // Sums of 0.64: 1.28 at the second packet, then 0.28 + 0.64 = 0.92, 1.56 at the fourth, and so on: six of ten.
    assert_eq!(dropped.len(), 6);
    assert!(dropped.iter().all(|drop| drop.reason == DropReason::Early && drop.subqueue == 1));
    assert!(enqueued.iter().all(|one| !one.marked));
    assert_eq!(queue.waiting(), 4);
    let left = core::iter::from_fn(|| queue.dequeue(at(0), &mut dropped)).count();
    assert_eq!((left, dropped.len()), (4, 6), "and not again");
}

#[test]
fn both_queues_share_the_limit() {
    let config = config();
    let mut queue = DualPi2::new(Limit::Bytes(Bytes::new(4000)), config, Stream::new(1, 0, "test", "dualpi2"));
    let mut dropped = Vec::new();
    for ecn in [Ecn::Ect1, Ecn::NotEct, Ecn::Ect0, Ecn::Ect1] {
        queue.enqueue(packet(ecn, 1500), at(0), &mut dropped);
    }
    let reasons: Vec<_> = dropped.iter().map(|drop| (drop.reason, drop.subqueue)).collect();
    assert_eq!(reasons, [(DropReason::Overflow, 1), (DropReason::Overflow, 0)]);
    assert_eq!((queue.view().bytes, queue.view().packets), (Bytes::new(3000), Packets::new(2)));
}

#[test]
fn a_flood_of_either_kind_leaves_the_other_its_share() {
    // 20 Mb/s that ignore marks beside 5 Mb/s of the other kind, on 10 Mb/s: both lose the same share of their packets.
    for (flood, other, least) in [(Ecn::Ect1, Ecn::NotEct, 0.18), (Ecn::NotEct, Ecn::Ect1, 0.18)] {
        let mut queue = DualPi2::new(Limit::Packets(Packets::new(300)), config(), Stream::new(1, 0, "test", "dualpi2"));
        let (mut dropped, mut served) = (Vec::new(), [0_u64; 2]);
        for us in (0..20_000_000_u64).step_by(600) {
            while queue.next_timer().unwrap() <= at(us) {
                queue.on_timer(queue.next_timer().unwrap(), &mut dropped);
            }
            queue.enqueue(packet(flood, 1500), at(us), &mut dropped);
            if us % 2400 == 0 {
                queue.enqueue(packet(other, 1500), at(us), &mut dropped);
            }
            if us % 1200 == 0
                && let Some(next) = queue.dequeue(at(us), &mut dropped)
            {
                served[next.subqueue as usize] += 1;
            }
            dropped.clear();
        }
        let class = queue.class(&packet(other, 1500));
        let share = served[class] as f64 / (served[0] + served[1]) as f64;
        assert!(share > least, "{other:?}: {share}");
    }
}

#[test]
fn contradictions_are_refused() {
    let broken = |limit, name: &'static str, value| {
        let mut params = Params::defaults(PARAMS);
        params.set(name, value);
        fit(&mut params, limit).unwrap_err().param
    };
    use crate::registry::Value;
    assert_eq!(broken(Limit::Bytes(Bytes::new(1000)), "coupling", Value::Number(2.0)), "mtu");
    assert_eq!(broken(LIMIT, "coupling", Value::Number(0.0)), "coupling");
    let share = Value::Probability(narrows_units::Probability::clamped(0.004));
    assert_eq!(broken(LIMIT, "classic_protection", share), "classic_protection");
    assert_eq!(fit(&mut Params::defaults(PARAMS), LIMIT), Ok(()));
}

#[test]
fn state_shows_the_three_probabilities() {
    let mut queue = queue(config());
    put(&mut queue, Ecn::NotEct, 1, at(0));
    update(&mut queue, 4);
    let mut state = std::collections::BTreeMap::new();
    queue.state(&mut |name, value| _ = state.insert(name, value));
    for (name, expected) in
        [("p_base", 0.2208), ("p_classic", 0.2208 * 0.2208), ("p_l4s", 0.4416), ("delay", 0.064), ("credit", -1200.0)]
    {
        assert!((state[name] - expected).abs() < 1e-12, "{name}: {state:?}");
    }
    assert_eq!(state.len(), VARIABLES.len());
}
