use super::*;
use crate::registry::{Params, Value};
use crate::{DropReason, Limit};
use core::net::{IpAddr, Ipv4Addr};
use narrows_units::{Duration, Probability, Rate};
use narrows_wire::{Ecn, Ip, Transport, UdpRepr};
use std::collections::BTreeMap;

const LIMIT: Limit = Limit::Packets(Packets::new(1000));
const PROFILES: [PieProfile; 2] = [PieProfile::Rfc8033, PieProfile::Linux];

fn chance() -> Stream {
    Stream::new(1, 0, "test", "pie")
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

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn variables(queue: &dyn Queue) -> BTreeMap<&'static str, f64> {
    let mut variables = BTreeMap::new();
    queue.state(&mut |name, value| {
        variables.insert(name, value);
    });
    variables
}

#[test]
fn defaults_of_the_row_are_those_of_the_profiles() {
    let mut params = Params::defaults(PARAMS);
    assert_eq!(PieConfig::of(&params), PieConfig::new(PieProfile::Rfc8033));
    params.set("profile", Value::Choice("linux"));
    assert_eq!(PieConfig::of(&params), PieConfig::new(PieProfile::Linux));
    for profile in PROFILES {
        let PieConfig { target, tupdate, alpha, beta, max_burst, .. } = PieConfig::new(profile);
        assert_eq!((target, tupdate, max_burst), (ms(15), ms(15), ms(150)));
        assert!((alpha - 0.125).abs() < 1e-12 && (beta - 1.25).abs() < 1e-12);
    }
    for (word, estimates) in [("on", true), ("off", false)] {
        params.set("dq_rate_estimator", Value::Choice(word));
        assert_eq!(PieConfig::of(&params).dq_rate_estimator, estimates);
    }
}

#[test]
fn what_cannot_work_is_refused() {
    let linux = ("profile", Value::Choice("linux"));
    let refused = |limit, values: &[(&'static str, Value)]| {
        let mut params = Params::defaults(PARAMS);
        values.iter().for_each(|&(name, value)| params.set(name, value));
        fit(&mut params, limit).map_err(|broken| (broken.param, broken.allowed))
    };
    assert_eq!((refused(LIMIT, &[]), refused(LIMIT, &[linux])), (Ok(()), Ok(())));
    let threshold = ("active_threshold", Value::Probability(Probability::clamped(0.3)));
    assert_eq!(refused(LIMIT, &[threshold]), Ok(()));
    assert_eq!(refused(LIMIT, &[linux, threshold]), Err(("active_threshold", "0".to_owned())));
    let gains = "multiples of 1/16 Hz up to 2 Hz".to_owned();
    for (param, gain) in [("alpha", 0.1), ("beta", 2.0625)] {
        let value = (param, Value::Number(gain));
        assert_eq!(refused(LIMIT, &[value]), Ok(()));
        assert_eq!(refused(LIMIT, &[linux, value]), Err((param, gains.clone())));
    }
    let bytes = |n| Limit::Bytes(Bytes::new(n));
    assert_eq!(refused(bytes(1499), &[]), Err(("mtu", format!("at most {}", Bytes::new(1499)))));
    assert_eq!(refused(bytes(1500), &[]), Ok(()));
}

const FULL: QueueView =
    QueueView { bytes: Bytes::new(9_000), packets: Packets::new(6), limit: LIMIT, rate: Rate::ZERO };

/// PIE whose probability has risen above 0.3 by a delay of ten seconds.
fn congested(config: PieConfig) -> Pie {
    let quick = PieConfig { max_burst: ms(0), dq_rate_estimator: false, ..config };
    let mut pie = Pie::new(quick, chance());
    pie.on_dequeue(&packet(Ecn::NotEct, 1500), Instant::ZERO, &FULL, at(10_000_000));
    while pie.controller.report(&config).probability < 0.3 {
        pie.on_timer(&FULL, at(10_000_000));
    }
    pie
}

#[test]
fn capable_packets_are_marked_below_the_threshold_only() {
    for profile in PROFILES {
        let verdicts = |ecn, threshold, packets| {
            let mark_ecnth = Probability::clamped(threshold);
            let config = PieConfig { ecn, mark_ecnth, derandomize: false, ..PieConfig::new(profile) };
            let mut pie = congested(config);
            let p = pie.controller.report(&config).probability;
            assert!((0.3..0.8).contains(&p), "{profile:?} {p}");
            let verdicts: Vec<_> =
                (0..2000).map(|_| pie.on_enqueue(&packet(packets, 1500), &FULL, at(10_000_001))).collect();
            let share = |wanted| verdicts.iter().filter(|verdict| **verdict == wanted).count() as f64 / 2000.0;
            let (marks, drops) = (share(Verdict::Mark), share(Verdict::Drop(DropReason::Early)));
            assert!((marks + drops - p).abs() < 0.04, "{profile:?} {marks} {drops} {p}");
            (marks > 0.0, drops > 0.0)
        };
        assert_eq!(verdicts(true, 0.9, Ecn::Ect0), (true, false));
        assert_eq!(verdicts(true, 0.9, Ecn::Ce), (true, false), "the storage leaves CE as it is");
        assert_eq!(verdicts(true, 0.9, Ecn::NotEct), (false, true));
        assert_eq!(verdicts(true, 0.1, Ecn::Ect0), (false, true));
        assert_eq!(verdicts(false, 0.9, Ecn::Ect0), (false, true));
    }
}

/// Loads a link of 10 Mb/s with 110 % for 60 s. Returns the shares of drops and marks and the mean delay of the
/// last 30 s.
fn overload(config: PieConfig, ecn: Ecn) -> (f64, f64, f64) {
    let mut queue = Fifo::new(LIMIT, Pie::new(config, chance()));
    let (mut dropped, mut departure, mut timer) = (Vec::new(), Instant::ZERO, Instant::NEVER);
    let (mut hits, mut marks, mut delay, mut left) = (0, 0, 0.0, 0);
    for number in 0..82_500_u64 {
        let now = Instant::from_nanos(number * 8_000_000 / 11);
        while timer.min(departure) <= now {
            if timer <= departure {
                queue.on_timer(timer, &mut dropped);
            } else {
                let Some(next) = queue.dequeue(departure, &mut dropped) else { break };
                if number > 41_250 {
                    delay += departure.since(next.enqueued).as_secs_f64();
                    left += 1;
                }
                departure += Duration::from_micros(800);
            }
            timer = queue.next_timer().unwrap();
        }
        departure = departure.max(now);
        let marked = queue.enqueue(packet(ecn, 1000), now, &mut dropped).marked;
        timer = queue.next_timer().unwrap();
        if number > 41_250 {
            marks += u64::from(marked);
            hits += dropped.len();
        }
        assert!(dropped.drain(..).all(|d| d.reason == DropReason::Early));
    }
    (hits as f64 / 41_249.0, marks as f64 / 41_249.0, delay / f64::from(left))
}

#[test]
fn an_unresponsive_load_settles_at_the_target() {
    // The load exceeds the rate by one packet in eleven: p is 1/11 if decisions are random. A sum of 0.85 before each
    // makes gaps longer, and p larger, for the same share of drops.
    for profile in PROFILES {
        for (dq_rate_estimator, derandomize) in [(false, false), (false, true), (true, false), (true, true)] {
            let config = PieConfig { dq_rate_estimator, derandomize, ..PieConfig::new(profile) };
            let (drops, marks, delay) = overload(config, Ecn::Ect0);
            assert!((drops - 1.0 / 11.0).abs() < 0.003 && marks < 1e-9, "{config:?}: {drops} {marks}");
            assert!((delay - 0.015).abs() < 0.0025, "{config:?}: {delay}");
        }
    }
}

#[test]
fn marks_stand_in_for_drops_until_the_threshold() {
    for profile in PROFILES {
        let config = PieConfig { ecn: true, derandomize: false, ..PieConfig::new(profile) };
        // Marks do not relieve the queue: the probability rises to 10 %, from where on drops do.
        let (drops, marks, _) = overload(config, Ecn::Ect0);
        assert!((drops - 1.0 / 11.0).abs() < 0.003 && (0.001..0.02).contains(&marks), "{drops} {marks}");
    }
}

#[test]
fn updates_come_at_multiples_and_stop_with_the_work() {
    for profile in PROFILES {
        let mut queue = Fifo::new(LIMIT, Pie::new(PieConfig::new(profile), chance()));
        let mut dropped = Vec::new();
        assert_eq!(queue.next_timer(), Some(Instant::NEVER));
        queue.enqueue(packet(Ecn::NotEct, 1000), at(30_000), &mut dropped);
        assert_eq!(queue.next_timer(), Some(at(45_000)), "strictly later");
        queue.on_timer(at(45_000), &mut dropped);
        assert_eq!(queue.next_timer(), Some(at(60_000)), "a packet waits");
        queue.dequeue(at(50_000), &mut dropped);
        let mut firings = 0;
        while let Some(next) = queue.next_timer().filter(|next| *next < Instant::NEVER) {
            queue.on_timer(next, &mut dropped);
            firings += 1;
        }
        assert!(firings <= 3, "{profile:?}: {firings}");
        queue.enqueue(packet(Ecn::NotEct, 1000), at(1_000_001), &mut dropped);
        assert_eq!(queue.next_timer(), Some(at(1_005_000)));
    }
}

/// Drives a queue with bursts and pauses, and lists its drops and variables. The timer fires at every multiple of
/// `tupdate`, or only when it is asked for.
fn history(config: PieConfig, seed: u64, always: bool) -> Vec<(u64, usize, Vec<f64>)> {
    let mut queue = Fifo::new(LIMIT, Pie::new(config, chance()));
    let mut load = Stream::new(seed, 0, "test", "load");
    let (mut history, mut dropped) = (Vec::new(), Vec::new());
    let (mut busy, mut until) = (false, 0);
    for us in (0..20_000_000_u64).step_by(500) {
        if us >= until {
            busy = !busy;
            until = us + 1000 * if busy { 100 + load.below(700) } else { load.below(2_500) };
        }
        if us % 15_000 == 0 && us > 0 && (always || queue.next_timer() == Some(at(us))) {
            queue.on_timer(at(us), &mut dropped);
        }
        if us % 1_000 == 0 {
            queue.dequeue(at(us), &mut dropped);
        }
        if busy && load.chance(0.7) {
            queue.enqueue(packet(Ecn::NotEct, 1000), at(us), &mut dropped);
            history.push((us, dropped.len(), variables(&queue).into_values().collect()));
        }
    }
    history
}

#[test]
fn a_stopped_timer_cannot_be_observed() {
    for profile in PROFILES {
        for dq_rate_estimator in [false, true] {
            for seed in 0..4 {
                let config = PieConfig { dq_rate_estimator, ..PieConfig::new(profile) };
                let history = [true, false].map(|always| history(config, seed, always));
                assert!(history[0].last().unwrap().1 > 10, "{profile:?} drops");
                assert_eq!(history[0], history[1], "{profile:?}");
            }
        }
    }
}

#[test]
fn a_packet_that_passes_an_idle_queue_leaves_no_trace() {
    let config = PieConfig::new(PieProfile::Rfc8033);
    let mut queue = Fifo::new(LIMIT, Pie::new(config, chance()));
    let mut dropped = Vec::new();
    assert!(queue.lets_pass(Bytes::new(1000)));
    let before = (variables(&queue), format!("{:?}", queue.aqm().controller));
    queue.enqueue(packet(Ecn::NotEct, 1000), at(1_000), &mut dropped);
    assert!(!queue.lets_pass(Bytes::new(1000)), "a packet waits");
    queue.dequeue(at(1_000), &mut dropped);
    assert_eq!((variables(&queue), format!("{:?}", queue.aqm().controller)), before);
    queue.on_timer(at(15_000), &mut dropped);
    assert_eq!((variables(&queue), format!("{:?}", queue.aqm().controller)), before);
    assert_eq!(queue.next_timer(), Some(Instant::NEVER));
    let linux = Fifo::new(LIMIT, Pie::new(PieConfig::new(PieProfile::Linux), chance()));
    assert!(!linux.lets_pass(Bytes::new(1000)));
}

#[test]
fn pie_sleeps_below_its_threshold() {
    // Section 5.3: a third of 30 packets.
    let third = Probability::clamped(1.0 / 3.0);
    let config = PieConfig { active_threshold: third, ..PieConfig::new(PieProfile::Rfc8033) };
    let mut queue = Fifo::new(Limit::Packets(Packets::new(30)), Pie::new(config, chance()));
    let mut dropped = Vec::new();
    assert!(!queue.lets_pass(Bytes::new(40)), "a packet may wake it");
    (0..9).for_each(|n| _ = queue.enqueue(packet(Ecn::NotEct, 1000), at(n), &mut dropped));
    assert!(!queue.aqm().active && queue.next_timer() == Some(Instant::NEVER) && !queue.lets_pass(Bytes::new(40)));
    queue.enqueue(packet(Ecn::NotEct, 1000), at(16_000), &mut dropped);
    assert!(queue.aqm().active, "the tenth packet is a third");
    assert_eq!(queue.next_timer(), Some(at(30_000)));
    (0..17).for_each(|n| _ = queue.enqueue(packet(Ecn::NotEct, 1000), at(16_000 + n), &mut dropped));
    // The measurement began with the activation: 17 packets in 34 ms.
    (1..18).for_each(|n| _ = queue.dequeue(at(16_000 + 2_000 * n), &mut dropped));
    let rate = variables(&queue)["dq_rate"];
    assert!((rate - 16_384.0 * 8.0 / 0.034).abs() < 1.0, "{rate}");
    (0..10).for_each(|_| _ = queue.dequeue(at(60_000), &mut dropped));
    while let Some(next) = queue.next_timer().filter(|next| *next < Instant::NEVER) {
        queue.on_timer(next, &mut dropped);
    }
    assert!(!queue.aqm().active && dropped.is_empty());
}

#[test]
fn an_overflow_forgets_the_sum_of_probabilities() {
    for profile in PROFILES {
        // Small packets in bytemode: each adds a twentieth of the probability.
        let config = PieConfig { bytemode: true, ..PieConfig::new(profile) };
        let mut pie = congested(config);
        assert_eq!(pie.on_enqueue(&packet(Ecn::NotEct, 75), &FULL, at(10_000_002)), Verdict::Pass);
        let accumulated = |pie: &Pie| pie.controller.report(&config).accumulated;
        assert!(accumulated(&pie) > 0.005);
        pie.on_overflow(&packet(Ecn::NotEct, 75), &FULL, at(10_000_003));
        assert!(accumulated(&pie) <= 0.0);
    }
}

#[test]
fn a_threshold_counts_in_the_unit_of_the_limit() {
    let half = Probability::clamped(0.5);
    let config = PieConfig { active_threshold: half, dq_rate_estimator: false, ..PieConfig::new(PieProfile::Rfc8033) };
    let mut queue = Fifo::new(Limit::Bytes(Bytes::new(6_000)), Pie::new(config, chance()));
    let mut dropped = Vec::new();
    queue.enqueue(packet(Ecn::NotEct, 1500), at(0), &mut dropped);
    queue.enqueue(packet(Ecn::NotEct, 1499), at(0), &mut dropped);
    assert!(!queue.aqm().active);
    queue.dequeue(at(9_000), &mut dropped);
    assert!(variables(&queue)["qdelay"] <= 0.0, "nothing is measured below the threshold");
    queue.enqueue(packet(Ecn::NotEct, 1501), at(9_000), &mut dropped);
    assert!(queue.aqm().active, "1499 and 1501 bytes");
}
