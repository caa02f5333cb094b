use super::*;
use crate::pie::{Controller, PieProfile};
use crate::{DropReason, Verdict};
use core::net::{IpAddr, Ipv4Addr};
use narrows_wire::{Ecn, Ip, Packet, Transport, UdpRepr};

/// The defaults of Linux.
fn plain() -> PieConfig {
    PieConfig::new(PieProfile::Linux)
}

/// Linux's defaults with the estimator.
fn estimating() -> PieConfig {
    PieConfig { dq_rate_estimator: true, ..plain() }
}

/// A controller with this probability, and delays in microseconds, without a burst allowance.
fn state(probability: u64, delay: u64, delay_old: u64) -> State {
    let [delay, delay_old] = [delay, delay_old].map(|us| ticks(1000 * us));
    State { probability, delay, delay_old, burst: 0, ..State::new(&plain()) }
}

/// The probabilities after updates with these delays in microseconds; the queue is never empty.
fn updates(state: &mut State, delays: &[u64]) -> Vec<u64> {
    let mut after = |&us: &u64| {
        state.delay = ticks(1000 * us);
        assert!(!state.update(&plain(), Bytes::new(10_000)));
        state.probability
    };
    delays.iter().map(&mut after).collect()
}

#[test]
fn constants_are_those_of_the_headers() {
    assert_eq!((CERTAIN, TICKS_PER_SECOND, HIGH_DELAY), (72_057_594_037_927_935, 15_625_000, 3_906_250));
    // MAX_PROB / ticks per second = 4611686018; times 2 or 20, shifted by 4.
    assert_eq!(state(CERTAIN, 0, 0).gains(&plain()), (576_460_752, 5_764_607_522));
}

#[test]
fn linux_scales_by_shifts() {
    // A delay of 15.1 ms is 1562 ticks above 15 ms = 234375 ticks. The steps of delays of 15.1, 15.1 and 15 ms after
    // 15 ms are (alpha + beta) * 1562, alpha * 1562 and -beta * 1562.
    for (part, shift, steps) in [
        (2_000_000, 11, [4_836_300_326_i64, 439_662_388, -4_396_637_938]),
        (200_000, 9, [19_345_210_676, 1_758_654_238, -17_586_556_438]),
        (20_000, 7, [77_380_847_390, 7_034_621_638, -70_346_225_752]),
        (2_000, 5, [309_523_394_246, 28_138_489_676, -281_384_904_570]),
        (200, 3, [1_238_093_580_108, 112_553_961_828, -1_125_539_618_280]),
        (20, 1, [4_952_374_321_994, 450_215_847_312, -4_502_158_474_682]),
        (2, 0, [9_904_748_643_988, 900_431_694_624, -9_004_316_949_364]),
    ] {
        let from = CERTAIN / part;
        assert_eq!(state(from, 0, 0).gains(&plain()), (576_460_752 >> shift, 5_764_607_522 >> shift));
        let mut expected = from;
        let expected = steps.map(|step| {
            expected = expected.wrapping_add_signed(step);
            expected
        });
        assert_eq!(updates(&mut state(from, 0, 15_000), &[15_100, 15_100, 15_000]), expected, "{part}");
    }
}

#[test]
fn the_first_step_of_linux() {
    // From 0 with 30 ms after 0: 281474 * 234375 + 2814749 * 468750.
    assert_eq!(updates(&mut state(0, 0, 0), &[30_000]), [1_385_384_062_500]);
}

#[test]
fn ranges_of_linux_are_half_open() {
    let shift = |probability| {
        let (_, beta) = state(probability, 0, 0).gains(&plain());
        (0..12).find(|shift| 5_764_607_522 >> shift == beta)
    };
    let ends = [1_000_000, 100_000, 10_000, 1_000, 100, 10].map(|part| CERTAIN / part);
    assert_eq!(ends.map(shift), [9, 7, 5, 3, 1, 0].map(Some));
    assert_eq!(ends.map(|end| shift(end - 1)), [11, 9, 7, 5, 3, 1].map(Some));
}

#[test]
fn steps_are_capped_and_high_delays_add_two_per_cent() {
    let from = CERTAIN / 10;
    // From 15 to 115 ms: more than 2 %.
    assert_eq!(updates(&mut state(from, 0, 15_000), &[115_000]), [from + CERTAIN / 100 * 2]);
    let below = updates(&mut state(from - 1, 0, 15_000), &[115_000]);
    assert!(below[0] > from + CERTAIN / 20, "half of 13.75 %");
    // 250 ms exactly is not high: only alpha moves, 235 ms = 3671875 ticks.
    let half = CERTAIN / 2;
    let one = 576_460_752 * 3_671_875;
    assert!(one > CERTAIN / 50, "which the cap holds to 2 %");
    assert_eq!(updates(&mut state(half, 0, 250_000), &[250_000]), [half + CERTAIN / 100 * 2]);
    let higher = updates(&mut state(half, 0, 250_064), &[250_064]);
    assert_eq!(higher, [half + CERTAIN / 100 * 2 + CERTAIN / 50]);
}

#[test]
fn the_probability_of_linux_may_rise_above_one() {
    let mut state = state(CERTAIN, 0, 300_000);
    let got = updates(&mut state, &[300_000]);
    assert_eq!(got, [CERTAIN + CERTAIN / 100 * 2 + CERTAIN / 50]);
    assert!((state.report(&plain()).probability - 1.0).abs() < 1e-12, "reported as 1");
    // Only what 64 bits cannot hold is set to 1.
    state.probability = u64::MAX - 5;
    assert_eq!(updates(&mut state, &[300_000]), [CERTAIN]);
}

#[test]
fn an_idle_queue_of_linux_decays_by_a_64th() {
    // From 1/2: the step of alpha, 576460752 * 234375, and then a 64th less.
    let mut state = state(CERTAIN / 2, 0, 0);
    let got: Vec<u64> = (0..3)
        .map(|_| {
            assert!(!state.update(&plain(), Bytes::ZERO));
            state.probability
        })
        .collect();
    assert_eq!(got, [35_332_850_139_116_874, 34_647_777_429_267_392, 33_973_408_980_509_308]);
    // It takes 166 updates to 0, and one that changes nothing.
    let settled = (4..).find(|_| state.update(&plain(), Bytes::ZERO));
    assert_eq!((settled, state), (Some(167), State::new(&plain())));
}

#[test]
fn a_short_queue_without_a_delay_does_not_decay() {
    let mut with = state(CERTAIN / 2, 0, 0);
    with.update(&plain(), Bytes::new(40));
    assert_eq!(with.probability, CERTAIN / 2 - 576_460_752 * 234_375);
}

#[test]
fn without_an_integral_gain_linux_settles_above_zero() {
    let config = PieConfig { alpha: 0.0, ..plain() };
    let mut state = state(CERTAIN, 0, 0);
    assert!((0..3_000).any(|_| state.update(&config, Bytes::ZERO)));
    assert_eq!(state.probability, 63, "63 / 64 is 0");
}

#[test]
fn an_update_without_congestion_starts_over() {
    let mut state = State { accumulated: 9, left_at: Some(7), ..state(0, 7_000, 7_000) };
    state.update(&plain(), Bytes::new(3_000));
    assert_eq!((state.burst, state.accumulated, state.left_at), (ticks(150_000_000), 0, None));
    for (probability, delay, delay_old) in [(CERTAIN / 2, 0, 0), (0, 8_000, 0), (0, 0, 8_000)] {
        let mut state = self::state(probability, delay, delay_old);
        state.update(&plain(), Bytes::new(3_000));
        assert_eq!(state.burst, 0);
    }
    // With the estimator, only a known rate is forgotten.
    for (rate, burst) in [(0, 0), (17, ticks(150_000_000))] {
        let mut state = State { rate, ..self::state(0, 0, 0) };
        state.update(&estimating(), Bytes::ZERO);
        assert_eq!((state.rate, state.burst), (0, burst));
    }
}

/// A packet of 1000 bytes departs at `ms`; it came at 0 and leaves `backlog` behind.
fn depart(state: &mut State, config: &PieConfig, ms: u64, backlog: u64) {
    let departure = Departure { size: Bytes::new(1000), enqueued: Instant::ZERO, backlog: Bytes::new(backlog) };
    state.on_departure(config, departure, Instant::from_nanos(ms * 1_000_000));
}

#[test]
fn time_between_departures_uses_up_the_burst_allowance() {
    let mut state = State::new(&plain());
    (10..25).for_each(|n| depart(&mut state, &plain(), 10 * n, 40_000));
    // The first departure of 15 only starts the clock.
    assert_eq!((state.burst, state.delay), (ticks(10_000_000), ticks(240_000_000)));
    let mut chance = Stream::new(1, 0, "test", "pie");
    state.probability = 9 * CERTAIN;
    assert!(!state.hits(&plain(), Bytes::new(1500), Bytes::new(30_000), &mut chance));
    depart(&mut state, &plain(), 250, 40_000);
    assert!(state.burst == 0 && state.hits(&plain(), Bytes::new(1500), Bytes::new(30_000), &mut chance));
    depart(&mut state, &plain(), 251, 0);
    assert_eq!(state.delay, 0, "nothing waits");
}

#[test]
fn the_estimator_of_linux_counts_the_first_packet() {
    let (config, mut state) = (estimating(), State::new(&estimating()));
    depart(&mut state, &config, 0, 16_383);
    assert_eq!(state.departed, None);
    // The departure at 1 ms begins the measurement, and is counted: 17 packets are gone at 17 ms, 16 ms later.
    (1..17).for_each(|ms| depart(&mut state, &config, ms, 40_000));
    assert_eq!((state.rate, state.departed), (0, Some(16_000)));
    depart(&mut state, &config, 17, 40_000);
    // 17000 * 256 / 250000 ticks = 17.408.
    assert_eq!((state.rate, state.departed), (17, Some(0)));
    assert_eq!(state.burst, ticks(150_000_000) - 250_000, "less by the time of the measurement");
    // Now 17 packets take 34 ms = 531250 ticks: 8.19; 17 - 17/8 + 8/8 = 16.
    (1..17).for_each(|n| depart(&mut state, &config, 17 + 2 * n, 40_000));
    depart(&mut state, &config, 51, 16_383);
    assert_eq!((state.rate, state.departed), (16, None));
    state.update(&config, Bytes::new(32_768));
    assert_eq!(state.delay, 32_768 * 256 / 16);
    // 16 / 256 bytes in 64 ns.
    assert!((state.report(&config).rate - 16.0 / 256.0 * 15_625_000.0 * 8.0).abs() < 1e-6);
}

#[test]
fn a_measurement_without_time_goes_on() {
    let (config, mut state) = (estimating(), State::new(&estimating()));
    (0..18).for_each(|_| depart(&mut state, &config, 5, 40_000));
    assert_eq!((state.rate, state.departed), (0, Some(18_000)));
    depart(&mut state, &config, 6, 40_000);
    assert_eq!((state.rate, state.departed), (19_000 * 256 / 15_625, Some(0)));
}

#[test]
fn linux_spares_low_delays_and_short_queues() {
    let hits = |probability, delay, backlog| {
        let config = PieConfig { derandomize: false, ..plain() };
        let mut chance = Stream::new(1, 0, "test", "pie");
        let mut state = state(probability, delay, 0);
        (0..1000).filter(|_| state.hits(&config, Bytes::new(1500), Bytes::new(backlog), &mut chance)).count()
    };
    let fifth = CERTAIN / 5;
    assert_eq!((hits(fifth - 1, 7_499, 30_000), hits(CERTAIN + 1, 30_000, 2_999)), (0, 0));
    assert_eq!(hits(CERTAIN + 1, 30_000, 3_000), 1000);
    assert!(hits(fifth, 0, 30_000).abs_diff(200) < 40 && hits(fifth - 1, 7_500, 30_000).abs_diff(200) < 40);
}

#[test]
fn linux_spaces_drops_by_sums() {
    let (mut state, mut chance) = (state(CERTAIN / 16, 30_000, 30_000), Stream::new(1, 0, "test", "pie"));
    let (mut gap, mut gaps) = (0, Vec::new());
    for _ in 0..60_000 {
        gap += 1;
        if state.hits(&plain(), Bytes::new(1500), Bytes::new(30_000), &mut chance) {
            state.on_drop();
            gaps.push(core::mem::take(&mut gap));
        }
    }
    // CERTAIN / 16 is rounded down, and 136 of them are a little less than 8.5.
    assert_eq!(gaps.iter().min(), Some(&14));
    assert!(gaps.iter().all(|gap| *gap <= 137));
    let mean = gaps.iter().sum::<u32>() as f64 / gaps.len() as f64;
    assert!((mean - 29.0).abs() < 1.0, "{mean}");
}

#[test]
fn a_sum_above_the_limit_hits_without_being_forgotten() {
    let most = CERTAIN / 2 * 17;
    let mut chance = Stream::new(1, 0, "test", "pie");
    let mut state = State { accumulated: most - 1, ..state(1, 30_000, 30_000) };
    assert!(state.hits(&plain(), Bytes::new(1500), Bytes::new(30_000), &mut chance));
    assert_eq!(state.accumulated, most, "a drop forgets it, a mark does not");
    state.accumulated = most - 2;
    assert!(!state.hits(&plain(), Bytes::new(1500), Bytes::new(30_000), &mut chance));
    state.probability = 0;
    state.delay = HIGH_DELAY;
    assert!(!state.hits(&plain(), Bytes::new(1500), Bytes::new(30_000), &mut chance));
    assert_eq!(state.accumulated, 0);
}

#[test]
fn bytemode_of_linux_multiplies_after_the_division() {
    let config = PieConfig { bytemode: true, ..plain() };
    let sum = |size| {
        let mut state = state(CERTAIN / 100, 30_000, 30_000);
        state.hits(&config, Bytes::new(size), Bytes::new(30_000), &mut Stream::new(1, 0, "test", "pie"));
        state.accumulated
    };
    let hundredth = 720_575_940_379_279_u64;
    assert_eq!((sum(150), sum(1500)), (hundredth / 1500 * 150, hundredth / 1500 * 1500));
    assert_eq!(sum(1501), hundredth);
}

#[test]
fn marks_of_linux_include_the_threshold() {
    let tenth = (CERTAIN as f64 * 0.1) as u64;
    assert!(state(tenth, 0, 0).may_mark(&plain()) && !state(tenth + 1, 0, 0).may_mark(&plain()));
}

#[test]
fn a_drop_forgets_the_sum_and_a_mark_keeps_it() {
    let host = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let mut packet =
        Packet { ip: Ip::between(host, host), transport: Transport::Udp(UdpRepr::default()), payload_len: 1000 };
    packet.ip.set_ecn(Ecn::Ect0);
    let most = CERTAIN / 2 * 17;
    for (ecn, verdict, left) in [(true, Verdict::Mark, most), (false, Verdict::Drop(DropReason::Early), 0)] {
        let mut controller = Controller::Linux(State { accumulated: most - 1, ..state(1, 30_000, 30_000) });
        let (config, mut chance) = (PieConfig { ecn, ..plain() }, Stream::new(1, 0, "test", "pie"));
        assert_eq!(controller.on_arrival(&config, &packet, Bytes::new(30_000), &mut chance), verdict);
        let Controller::Linux(state) = controller else { panic!("another profile") };
        assert_eq!(state.accumulated, left);
    }
}
