#![allow(clippy::float_cmp)]
use super::*;
use crate::pie::PieProfile;

const MS: u64 = 1_000_000;

/// The defaults with timestamps and without derandomization, so that each part is tested by itself.
fn plain() -> PieConfig {
    PieConfig { dq_rate_estimator: false, derandomize: false, ..PieConfig::new(PieProfile::Rfc8033) }
}

fn us(n: u64) -> Duration {
    Duration::from_micros(n)
}

fn chance() -> Stream {
    Stream::new(1, 0, "test", "pie")
}

/// A controller with this probability, these delays in microseconds, and no burst allowance.
fn state(probability: f64, delay: u64, delay_old: u64) -> State {
    let (delay, delay_old) = (us(delay), us(delay_old));
    State { probability, delay, delay_old, burst: Duration::ZERO, ..State::new(&plain()) }
}

/// The probabilities after updates with these delays in microseconds; the queue is never empty.
fn updates(state: &mut State, delays: &[u64]) -> Vec<f64> {
    let mut after = |&delay| {
        state.delay = us(delay);
        assert!(!state.update(&plain(), Bytes::new(10_000)));
        state.probability
    };
    delays.iter().map(&mut after).collect()
}

fn close(got: &[f64], expected: &[f64]) {
    assert_eq!(got.len(), expected.len());
    for (got, expected) in got.iter().zip(expected) {
        assert!((got / expected - 1.0).abs() < 1e-9, "{got} for {expected}");
    }
}

#[test]
fn each_range_of_the_probability_has_its_step() {
    // Section 4.2. Delays of 15 ms before, then 15.1, 15.1 and 15 ms. The steps before scaling are
    // 0.125 * 0.1 ms + 1.25 * 0.1 ms = 1.375e-4, 0.125 * 0.1 ms = 1.25e-5, and -1.25 * 0.1 ms = -1.25e-4.
    for (from, expected) in [
        // 2048: 6.713867e-8, 6.103516e-9, -6.103516e-8.
        (5e-7, [5.671_386_718_75e-7, 5.732_421_875e-7, 5.122_070_312_5e-7]),
        // 512: 2.685547e-7, 2.441406e-8, -2.441406e-7.
        (5e-6, [5.268_554_687_5e-6, 5.292_968_75e-6, 5.048_828_125e-6]),
        // 128: 1.074219e-6, 9.765625e-8, -9.765625e-7.
        (5e-5, [5.107_421_875e-5, 5.117_187_5e-5, 5.019_531_25e-5]),
        // 32: 4.296875e-6, 3.90625e-7, -3.90625e-6.
        (5e-4, [5.042_968_75e-4, 5.046_875e-4, 5.007_812_5e-4]),
        // 8: 1.71875e-5, 1.5625e-6, -1.5625e-5.
        (5e-3, [5.017_187_5e-3, 5.018_75e-3, 5.003_125e-3]),
        // 2: 6.875e-5, 6.25e-6, -6.25e-5.
        (5e-2, [5.006_875e-2, 5.007_5e-2, 5.001_25e-2]),
        (0.5, [0.500_137_5, 0.500_15, 0.500_025]),
    ] {
        close(&updates(&mut state(from, 0, 15_000), &[15_100, 15_100, 15_000]), &expected);
    }
}

#[test]
fn the_ranges_are_half_open() {
    let ends = [0.000_001, 0.000_01, 0.000_1, 0.001, 0.01, 0.1];
    assert_eq!(ends.map(tuning), [512.0, 128.0, 32.0, 8.0, 2.0, 1.0]);
    assert_eq!(ends.map(|end| tuning(end * 0.999)), [2048.0, 512.0, 128.0, 32.0, 8.0, 2.0]);
}

#[test]
fn a_growing_queue_raises_the_probability_from_zero() {
    // Section 4.2, with delays of 30, 45 and 60 ms: (0.125 * 15 ms + 1.25 * 30 ms) / 2048 = 1.922607e-5, then
    // (0.125 * 30 ms + 1.25 * 15 ms) / 128 = 1.757813e-4, then (0.125 * 45 ms + 1.25 * 15 ms) / 32 = 7.617188e-4.
    let got = updates(&mut State::new(&plain()), &[30_000, 45_000, 60_000]);
    close(&got, &[1.922_607_421_875e-5, 1.950_073_242_187_5e-4, 9.567_260_742_187_5e-4]);
}

#[test]
fn a_step_up_is_at_most_two_per_cent_from_a_probability_of_one_tenth_on() {
    // Section 5.5. The full step from 15 to 115 ms is 0.125 * 0.1 + 1.25 * 0.1 = 0.1375, half of it below 0.1.
    close(&updates(&mut state(0.1, 0, 15_000), &[115_000]), &[0.12]);
    close(&updates(&mut state(0.099, 0, 15_000), &[115_000]), &[0.099 + 0.068_75]);
    // Steps down are not capped: -1.25 * 0.3 s.
    close(&updates(&mut state(0.5, 0, 315_000), &[15_000]), &[0.125]);
    // No rule about delays above 250 ms: 0.125 * 0.025 / 2 below 0.1.
    close(&updates(&mut state(0.05, 0, 300_000), &[300_000]), &[0.05 + 0.285 * 0.125 / 2.0]);
}

#[test]
fn the_probability_stays_between_zero_and_one() {
    assert_eq!(updates(&mut state(0.99, 0, 15_000), &[500_000, 500_000]), [1.0, 1.0]);
    assert_eq!(updates(&mut state(0.000_001, 0, 30_000), &[15_000]), [0.0]);
}

#[test]
fn an_idle_queue_decays_by_two_per_cent() {
    // Section 4.2. The last delay was 10 ms: (-0.125 * 15 ms - 1.25 * 10 ms) without a decay. Then
    // (p - 0.001875) * 0.98 three times.
    let mut state = state(0.514_375, 0, 10_000);
    let got: Vec<f64> = (0..4)
        .map(|_| {
            assert!(!state.update(&plain(), Bytes::ZERO));
            state.probability
        })
        .collect();
    close(&got, &[0.5, 0.488_162_5, 0.476_561_75, 0.465_193_015]);
    // It takes 147 updates from 0.5 to 0.
    let more = (4..).find(|_| state.update(&plain(), Bytes::ZERO));
    assert_eq!((more, state.probability, state.burst), (Some(147), 0.0, us(150_000)));
    let before = state.clone();
    assert!(state.update(&plain(), Bytes::ZERO));
    assert_eq!(state, before, "a fixed point");
}

#[test]
fn without_an_integral_gain_an_idle_queue_settles_too() {
    let config = PieConfig { alpha: 0.0, ..plain() };
    let mut state = state(1.0, 0, 0);
    // 0.98^n is below 2^-56 from n = 1922 on: 56 ln 2 / -ln 0.98 = 1921.3.
    assert_eq!((1..10_000).find(|_| state.update(&config, Bytes::ZERO)), Some(1922));
}

#[test]
fn a_very_small_step_up_is_not_lost() {
    // 10^-5 * 1 ns / 2048 = 4.9e-18, below the 1.4e-17 at which an idle queue settles.
    let config = PieConfig { alpha: 1e-5, beta: 0.0, ..plain() };
    let mut state = State { delay: us(15_000) + Duration::from_nanos(1), ..state(0.0, 0, 15_000) };
    state.update(&config, Bytes::new(10_000));
    assert!(state.probability > 0.0 && state.probability < NEGLIGIBLE, "{state:?}");
}

#[test]
fn an_empty_queue_has_not_settled_while_it_has_a_delay_or_packets() {
    let mut state = state(0.0, 1_000, 1_000);
    assert!(!state.update(&plain(), Bytes::ZERO));
    state.delay = Duration::ZERO;
    assert!(!state.clone().update(&plain(), Bytes::new(100)));
    assert!(state.update(&plain(), Bytes::ZERO));
}

#[test]
fn the_burst_allowance_lasts_ten_updates() {
    // Section 4.4: 150 ms of allowance, 15 ms less at each update.
    let (config, mut chance) = (plain(), chance());
    let mut state = State { burst: us(150_000), ..state(1.0, 30_000, 30_000) };
    for left in (0..10).rev() {
        assert!(!state.hits(&config, Bytes::new(1500), Bytes::new(30_000), &mut chance));
        state.update(&config, Bytes::new(30_000));
        assert_eq!(state.burst, us(left * 15_000));
    }
    assert!(state.hits(&config, Bytes::new(1500), Bytes::new(30_000), &mut chance));
    state.update(&config, Bytes::new(30_000));
    assert_eq!(state.burst, Duration::ZERO);
}

#[test]
fn an_arrival_renews_the_burst_allowance_after_congestion() {
    let burst = |probability, delay, delay_old| {
        let mut state = state(probability, delay, delay_old);
        state.hits(&plain(), Bytes::new(1500), Bytes::new(30_000), &mut chance());
        state.burst
    };
    assert_eq!(burst(0.0, 7_499, 7_499), us(150_000));
    for (probability, delay, delay_old) in [(0.01, 0, 0), (0.0, 7_500, 0), (0.0, 0, 7_500)] {
        assert_eq!(burst(probability, delay, delay_old), Duration::ZERO);
    }
}

#[test]
fn low_delays_and_short_queues_are_spared() {
    // Section 4.1: the delay of the latest update below half of the target and p below 0.2, or up to two packets.
    let hits = |probability, delay_old, backlog| {
        let mut chance = chance();
        let mut state = state(probability, 30_000, delay_old);
        (0..1000).filter(|_| state.hits(&plain(), Bytes::new(1500), Bytes::new(backlog), &mut chance)).count()
    };
    assert_eq!((hits(0.19, 7_499, 30_000), hits(1.0, 30_000, 3_000)), (0, 0));
    assert_eq!(hits(1.0, 30_000, 3_001), 1000);
    assert!(hits(0.19, 7_500, 30_000).abs_diff(190) < 40 && hits(0.2, 7_499, 30_000).abs_diff(200) < 40);
}

#[test]
fn sums_of_probabilities_space_drops() {
    // Section 5.4 with p = 1/16: 14 arrivals sum to 0.875, the first sum of 0.85 or more, and 136 to 8.5.
    let config = PieConfig { derandomize: true, ..plain() };
    let (mut state, mut chance) = (state(0.0625, 30_000, 30_000), chance());
    let (mut gap, mut gaps) = (0, Vec::new());
    for _ in 0..60_000 {
        gap += 1;
        if state.hits(&config, Bytes::new(1500), Bytes::new(30_000), &mut chance) {
            assert_eq!(state.accumulated, 0.0);
            gaps.push(core::mem::take(&mut gap));
        }
    }
    assert_eq!(gaps.iter().min(), Some(&14));
    assert!(gaps.iter().all(|gap| *gap <= 136));
    // From the 14th arrival on the gap is geometric: 13 + 16 in the mean, with a deviation of 15.5.
    let mean = gaps.iter().sum::<u32>() as f64 / gaps.len() as f64;
    assert!((mean - 29.0).abs() < 1.0, "{mean}");
}

#[test]
fn a_sum_of_eight_and_a_half_drops_for_certain() {
    let config = PieConfig { derandomize: true, ..plain() };
    let hit = |arrivals: f64, seed| {
        let mut state = State { accumulated: arrivals / 1024.0, ..state(1.0 / 1024.0, 30_000, 30_000) };
        let mut chance = Stream::new(seed, 0, "test", "pie");
        let hit = state.hits(&config, Bytes::new(1500), Bytes::new(30_000), &mut chance);
        (hit, state.accumulated)
    };
    // 8.5 * 1024 = 8704 arrivals.
    assert!((0..64).all(|seed| hit(8703.0, seed) == (true, 0.0)));
    assert!((0..64).any(|seed| hit(8702.0, seed) == (false, 8703.0 / 1024.0)));
    let mut zero = State { accumulated: 3.0, ..state(0.0, 30_000, 30_000) };
    assert!(!zero.hits(&config, Bytes::new(1500), Bytes::new(30_000), &mut chance()));
    assert_eq!(zero.accumulated, 0.0, "a probability of 0 forgets the sum");
}

#[test]
fn a_drop_for_want_of_room_forgets_the_sum() {
    let mut state = State { accumulated: 0.8, ..State::new(&plain()) };
    state.on_drop();
    assert_eq!(state.accumulated, 0.0);
}

#[test]
fn the_size_scales_the_probability_in_bytemode() {
    let config = PieConfig { bytemode: true, ..plain() };
    let hits = |size, seed| {
        let mut chance = Stream::new(seed, 0, "test", "pie");
        let mut state = state(0.6, 30_000, 30_000);
        (0..10_000).filter(|_| state.hits(&config, Bytes::new(size), Bytes::new(30_000), &mut chance)).count()
    };
    assert!(hits(1500, 1).abs_diff(6_000) < 200 && hits(150, 2).abs_diff(600) < 100);
    assert!(hits(3000, 3).abs_diff(6_000) < 200, "no more than the probability");
}

#[test]
fn marks_end_at_the_threshold() {
    assert!(state(0.099, 0, 0).may_mark(&plain()) && !state(0.1, 0, 0).may_mark(&plain()));
}

/// A packet of 1000 bytes departs at `now` in ms, and leaves `backlog` behind.
fn depart(state: &mut State, config: &PieConfig, ms: u64, backlog: u64) {
    let departure = Departure { size: Bytes::new(1000), enqueued: Instant::ZERO, backlog: Bytes::new(backlog) };
    state.on_departure(config, departure, Instant::from_nanos(ms * MS));
}

#[test]
fn the_estimator_averages_the_time_for_16_kib() {
    let config = PieConfig::new(PieProfile::Rfc8033);
    let mut state = State::new(&config);
    // Section 5.2 and appendix B. A measurement begins with 16 KiB behind a departure, and ends when as much departed:
    // 17 packets of 1000 bytes.
    depart(&mut state, &config, 0, 16_383);
    assert_eq!(state.since, None);
    (1..18).for_each(|ms| depart(&mut state, &config, ms, 40_000));
    assert_eq!((state.drain_time, state.departed), (Duration::ZERO, Bytes::new(16_000)));
    depart(&mut state, &config, 18, 40_000);
    assert_eq!(state.drain_time, us(17_000));
    // Half the rate: 34 ms for 17 packets, with a weight of 1/4.
    (1..18).for_each(|n| depart(&mut state, &config, 18 + 2 * n, 40_000));
    assert_eq!(state.drain_time, us(21_250));
    (1..17).for_each(|n| depart(&mut state, &config, 52 + 2 * n, 40_000));
    depart(&mut state, &config, 86, 16_383);
    assert_eq!((state.drain_time, state.since), (us(24_437) + Duration::from_nanos(500), None));
    // 32 KiB take two such times.
    state.update(&config, Bytes::new(32_768));
    assert_eq!(state.delay, us(48_875));
    assert_eq!(state.report().rate, (16_384.0_f64 * 8.0 / 0.024_437_5).floor());
}

#[test]
fn timestamps_give_the_delay_of_the_latest_packet_that_left_others_behind() {
    let mut state = State::new(&plain());
    depart(&mut state, &plain(), 30, 40_000);
    assert_eq!((state.delay, state.since), (us(30_000), None));
    depart(&mut state, &plain(), 31, 0);
    assert_eq!(state.delay, Duration::ZERO);
}

#[test]
fn only_a_controller_at_rest_ignores_a_packet_that_passes() {
    let config = plain();
    let rest = State::new(&config);
    assert!(rest.rests(&config));
    for busy in [
        State { probability: 0.001, ..rest.clone() },
        State { delay: us(1), ..rest.clone() },
        State { delay_old: us(1), ..rest.clone() },
        State { burst: us(1), ..rest.clone() },
        rest.measuring_since(Instant::ZERO),
    ] {
        assert!(!busy.rests(&config), "{busy:?}");
    }
}
