#![allow(clippy::unwrap_used)]

use super::*;
use crate::Limit;
use crate::registry::{Amount, Params, Value};
use core::net::{IpAddr, Ipv4Addr};
use narrows_units::{Duration, Packets};
use narrows_wire::{Ecn, Ip, Transport, UdpRepr};

#[test]
fn defaults_of_the_row_are_those_of_the_type() {
    let default = RedConfig::default();
    assert_eq!(RedConfig::of(default.limit, &Params::defaults(PARAMS)), default);
}

#[test]
fn thresholds_convert_by_the_mean_packet() {
    let limits = [Limit::Packets(Packets::new(40)), Limit::Bytes(Bytes::new(20_000))];
    let thresholds = |bytes_mode, [min, max]: [Amount; 2], limit| {
        let mut params = Params::defaults(PARAMS);
        params.set("bytes_mode", Value::Switch(bytes_mode));
        params.set("min_threshold", Value::Amount(min));
        params.set("max_threshold", Value::Amount(max));
        let fitted = fit(&mut params, limit);
        let once = params.clone();
        assert!(
            fitted.is_err() || (fit(&mut params, limit).is_ok() && params == once),
            "a second time changes nothing"
        );
        fitted.map(|()| ["min_threshold", "max_threshold"].map(|name| params.amount(name)))
    };
    for limit in limits {
        let mixed = [Amount::Packets(4.0), Amount::Bytes(6_000.0)];
        assert_eq!(thresholds(false, mixed, limit), Ok([4.0, 12.0].map(Amount::Packets)));
        assert_eq!(thresholds(true, mixed, limit), Ok([2_000.0, 6_000.0].map(Amount::Bytes)));
        let bare = [Amount::Bare(7.0), Amount::Bare(9.0)];
        assert_eq!(thresholds(false, bare, limit), Ok([7.0, 9.0].map(Amount::Packets)));
        assert_eq!(thresholds(true, bare, limit), Ok([7.0, 9.0].map(Amount::Bytes)));
        let high = thresholds(true, [Amount::Packets(4.0), Amount::Packets(41.0)], limit);
        assert_eq!(high.map_err(|broken| broken.allowed), Err("at most 20000 B".to_owned()));
    }
}

/// The parameters of the reference vectors: 5, 15, 0.02.
fn classic() -> RedConfig {
    RedConfig { max_p: Probability::clamped(0.02), ..RedConfig::default() }
}

fn stream() -> Stream {
    Stream::new(1, 0, "test", "red")
}

fn packet(size: u32, ecn: Ecn) -> Packet {
    let host = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let mut ip = Ip::between(host, host);
    ip.set_ecn(ecn);
    Packet { ip, transport: Transport::Udp(UdpRepr::default()), payload_len: size - 28 }
}

fn view(packets: u64, bytes: u64) -> QueueView {
    let (bytes, packets) = (Bytes::new(bytes), Packets::new(packets));
    QueueView { bytes, packets, limit: Limit::Packets(Packets::new(1000)), rate: Rate::mbps(10) }
}

/// RED whose average stays at `avg`.
fn held_at(avg: f64, config: RedConfig) -> Red {
    Red { avg, ..Red::new(RedConfig { weight: 0.0, ..config }, stream()) }
}

fn near(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance, "{a} is not {b} within {tolerance}");
}

#[test]
fn drop_probability_follows_the_two_slopes() {
    let gentle = classic();
    let sudden = RedConfig { gentle: false, ..classic() };
    for (avg, p) in [(4.9, 0.0), (5.0, 0.0), (10.0, 0.01), (15.0, 0.02), (20.0, 0.34667), (25.0, 0.67333)] {
        near(gentle.base_probability(avg).unwrap(), p, 5e-6);
    }
    assert_eq!(gentle.base_probability(30.0), None);
    near(sudden.base_probability(14.999).unwrap(), 0.02, 1e-5);
    assert_eq!(sudden.base_probability(15.0), None);
}

#[test]
fn spacing_without_wait_is_floyd_and_jacobson() {
    let config = RedConfig { wait: false, ..classic() };
    for (count, p) in [(0.0, 0.01), (50.0, 0.02), (90.0, 0.1), (99.0, 1.0), (150.0, 1.0)] {
        near(config.spaced_probability(0.01, count), p, 1e-9);
    }
}

#[test]
fn spacing_with_wait_starts_after_one_over_p() {
    let config = classic();
    for (count, p) in [(50.0, 0.0), (99.0, 0.0), (100.0, 0.01), (150.0, 0.02), (199.0, 1.0), (200.0, 1.0)] {
        near(config.spaced_probability(0.01, count), p, 1e-9);
    }
}

#[test]
fn average_is_an_exponential_moving_one() {
    let mut red = Red::new(classic(), stream());
    let expected = [(1, 0.02), (100, 1.8143), (500, 6.3249), (1000, 8.6494)];
    let mut arrivals = 0;
    for (n, avg) in expected {
        while arrivals < n {
            red.update_average(&view(10, 5_000), Instant::ZERO);
            arrivals += 1;
        }
        near(red.average(), avg, 5e-5);
    }
}

#[test]
fn average_decays_as_if_small_packets_had_left_while_idle() {
    let mut red = held_at(10.0, classic());
    red.config.weight = 0.002;
    let empty = view(0, 0);
    // The last packet, 1250 bytes, leaves at 1 s and is on the wire for 1 ms.
    red.on_dequeue(&packet(1250, Ecn::NotEct), Instant::ZERO, &empty, Instant::from_nanos(1_000_000_000));
    let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
    let mut busy = red.clone();
    busy.update_average(&empty, at(1_001));
    near(busy.average(), 10.0 * 0.998, 1e-12);
    red.update_average(&empty, at(1_011));
    near(red.average(), 10.0 * 0.95118 * 0.998, 1e-4);
    // Whether or not that packet was dropped, the next one counts only the idle time since then.
    red.update_average(&empty, at(1_021));
    near(red.average(), 10.0 * 0.95118 * 0.998 * 0.95118 * 0.998, 1e-4);
}

/// Packets from one drop to the next, with the average held where p_b is 0.01.
fn gaps(config: RedConfig, n: usize) -> Vec<u64> {
    let mut red = held_at(10.0, config);
    let (mut gaps, mut gap) = (Vec::new(), 0);
    while gaps.len() <= n {
        gap += 1;
        if red.on_enqueue(&packet(500, Ecn::NotEct), &view(10, 5_000), Instant::ZERO) != Verdict::Pass {
            gaps.push(gap);
            gap = 0;
        }
    }
    // The first gap starts with the count of -1, not with a drop.
    gaps.split_off(1)
}

#[test]
fn gaps_between_drops_are_uniform() {
    let mean = |gaps: &[u64]| gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
    let classic_gaps = gaps(RedConfig { wait: false, ..classic() }, 4_000);
    assert!(classic_gaps.iter().all(|&g| (1..=100).contains(&g)));
    // Uniform on 1..=100: mean 50, and a quarter of all below 26.
    near(mean(&classic_gaps), 50.0, 2.0);
    near(classic_gaps.iter().filter(|&&g| g <= 25).count() as f64 / 4_000.0, 0.25, 0.03);
    let waiting = gaps(classic(), 4_000);
    assert!(waiting.iter().all(|&g| (100..=200).contains(&g)));
    near(mean(&waiting), 150.0, 2.0);
}

#[test]
fn byte_mode_drops_in_proportion_to_size() {
    let config =
        RedConfig { bytes_mode: true, min_threshold: 2_500.0, max_threshold: 7_500.0, wait: false, ..classic() };
    let mut red = held_at(5_000.0, config);
    let mut drops = [0u32; 2];
    for i in 0..200_000 {
        let large = i % 2 == 0;
        let size = if large { 900 } else { 100 };
        if red.on_enqueue(&packet(size, Ecn::NotEct), &view(10, 5_000), Instant::ZERO) != Verdict::Pass {
            drops[usize::from(large)] += 1;
        }
    }
    let ratio = f64::from(drops[1]) / f64::from(drops[0]);
    assert!((6.5..12.5).contains(&ratio), "{ratio} with {drops:?}");
}

#[test]
fn capable_packets_are_marked_early_and_dropped_by_force() {
    let config = RedConfig { ecn: true, ..classic() };
    // At p_b = 0.67 the second packet after a drop is certain to be picked.
    let verdicts = |avg, ecn| {
        let mut red = held_at(avg, config);
        (0..40).map(|_| red.on_enqueue(&packet(500, ecn), &view(10, 5_000), Instant::ZERO)).collect::<Vec<_>>()
    };
    let early = verdicts(25.0, Ecn::Ect0);
    assert!(early.contains(&Verdict::Mark) && early.iter().all(|v| matches!(v, Verdict::Pass | Verdict::Mark)));
    assert!(verdicts(25.0, Ecn::NotEct).contains(&Verdict::Drop(DropReason::Early)));
    assert!(verdicts(30.0, Ecn::Ect0).iter().all(|&v| v == Verdict::Drop(DropReason::Forced)));
}

#[test]
fn only_the_switch_lets_max_p_move_with_the_average() {
    let late = Instant::ZERO + Duration::from_millis(500);
    for (adaptive, avg, max_p, p_b) in [
        // At 12 of 5 to 15, p_b is 0.7 of max_p: 0.02 + 0.02 / 4, or 0.02.
        (true, 12.0, 0.025, 0.0175),
        (false, 12.0, 0.02, 0.014),
        (true, 8.0, 0.018, 0.0054),
    ] {
        let mut red = held_at(avg, RedConfig { adaptive, ..classic() });
        red.on_enqueue(&packet(500, Ecn::NotEct), &view(10, 5_000), late);
        near(red.max_p().as_f64(), max_p, 1e-12);
        near(red.config.base_probability(red.average()).unwrap(), p_b, 1e-12);
    }
}

#[test]
fn automatic_settings_follow_the_rate() {
    // 10 Mb/s are C = 2500 packets of 500 bytes a second: w_q = 1 - exp(-1/2500), and 5 ms are 12.5 packets.
    let target_delay = Some(Duration::from_millis(5));
    let settings = |config, rates: &[Rate]| {
        let mut red = Red::new(RedConfig { weight: 0.0, ..config }, stream());
        for &rate in rates {
            red.on_enqueue(&packet(500, Ecn::NotEct), &QueueView { rate, ..view(10, 5_000) }, Instant::ZERO);
        }
        (red.average(), [red.config.weight, red.config.min_threshold, red.config.max_threshold])
    };
    let both = RedConfig { automatic_weight: true, target_delay, ..classic() };
    let (fast, weight) = (Rate::mbps(10), 0.000_399_920_010_66);
    for (config, rates, expected) in [
        (both, &[fast][..], [weight, 6.25, 18.75]),
        (both, &[fast, Rate::ZERO], [weight, 6.25, 18.75]),
        (both, &[fast, Rate::mbps(1)], [0.003_992_010_656_01, 5.0, 15.0]),
        (RedConfig { bytes_mode: true, ..both }, &[fast], [weight, 3_125.0, 9_375.0]),
        (RedConfig { automatic_weight: false, ..both }, &[fast], [0.0, 6.25, 18.75]),
        (RedConfig { target_delay: None, ..both }, &[fast], [weight, 5.0, 15.0]),
    ] {
        let (_, seen) = settings(config, rates);
        seen.iter().zip(expected).for_each(|(&seen, expected)| near(seen, expected, 1e-12));
    }
    near(settings(both, &[fast]).0, 10.0 * weight, 1e-12);
}

#[test]
fn a_target_delay_and_a_weight_of_zero_ask_for_automatic_settings() {
    let config = |limit, given: &[(&'static str, Value)]| {
        let mut params = Params::defaults(PARAMS);
        given.iter().for_each(|(name, value)| params.set(name, *value));
        let limit = Limit::Packets(Packets::new(limit));
        fit(&mut params, limit).map(|()| RedConfig::of(limit, &params))
    };
    let delay = Duration::from_millis(5);
    let asked = config(10, &[("target_delay", Value::Time(delay)), ("weight", Value::Number(0.0))]).unwrap();
    assert!((asked.automatic_weight, asked.target_delay) == (true, Some(delay)), "thresholds do not count");
    let not = config(100, &[("weight", Value::Number(1e-9))]).unwrap();
    assert_eq!((not.automatic_weight, not.target_delay), (false, None));
    assert_eq!(config(10, &[]).unwrap_err().param, "max_threshold");
}

#[test]
fn overflow_moves_the_average_and_restarts_the_count() {
    let mut red = Red { avg: 10.0, count: Some(70.0), ..Red::new(classic(), stream()) };
    red.on_overflow(&packet(500, Ecn::NotEct), &view(100, 50_000), Instant::ZERO);
    near(red.average(), 10.0 + 0.002 * 90.0, 1e-12);
    assert_eq!(red.count, Some(0.0));
}

#[test]
fn below_the_lower_threshold_all_pass_and_the_count_starts_afresh() {
    let mut red = Red { count: Some(150.0), ..held_at(4.9, classic()) };
    assert_eq!(red.on_enqueue(&packet(500, Ecn::NotEct), &view(10, 5_000), Instant::ZERO), Verdict::Pass);
    assert_eq!(red.count, None);
    red.avg = 5.1;
    red.on_enqueue(&packet(500, Ecn::NotEct), &view(10, 5_000), Instant::ZERO);
    assert_eq!(red.count, Some(0.0), "the first packet above it counts as none");
}

#[test]
fn state_shows_the_average_the_count_and_the_probability() {
    let mut seen = Vec::new();
    red(classic(), stream()).state(&mut |name, value| seen.push((name, value)));
    assert_eq!(seen, [("avg", 0.0), ("count", -1.0), ("p_b", 0.0)]);
}
