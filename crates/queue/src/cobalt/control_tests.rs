use super::*;

fn config(profile: CobaltProfile) -> CobaltConfig {
    CobaltConfig { profile, ..CobaltConfig::default() }
}

fn exact() -> CobaltConfig {
    config(CobaltProfile::Exact)
}

fn at(ms: u64) -> Instant {
    Instant::from_nanos(1_000_000 * ms)
}

fn chance() -> Stream {
    Stream::new(1, 0, "test", "cobalt")
}

/// Decides about a packet that has waited for `sojourn_ms`, with others behind it.
fn decide(controller: &mut Controller, config: &CobaltConfig, ms: u64, sojourn_ms: u64, capable: bool) -> Verdict {
    let head = Head { enqueued: at(ms - sojourn_ms), capable, last: false };
    controller.decide(config, head, at(ms), &mut chance())
}

/// Times, in ms, at which packets are dropped if one that has waited for 20 ms leaves each millisecond.
fn drops(controller: &mut Controller, config: &CobaltConfig, from: u64, to: u64) -> Vec<u64> {
    (from..to).filter(|&ms| decide(controller, config, ms, 20, false) != Verdict::Pass).collect()
}

/// In the middle of control: four drops, and the next one due at 1000 ms.
fn busy() -> Controller {
    Controller { count: 4, drop_next: at(1000), dropping: true, ..Controller::default() }
}

#[test]
fn the_law_counts_up_from_the_first_signal() {
    // A packet below the target at 999 ms shows that the queue is in use. From 1000 ms on it is above: the first drop
    // comes at 1100, and the n-th sets the next one 100 / sqrt(n + 1) ms later: 1170.7, 1228.4, 1278.4, 1323.2, 1364.0
    // and 1401.8.
    let mut controller = Controller::default();
    assert_eq!(decide(&mut controller, &exact(), 999, 0, false), Verdict::Pass);
    assert_eq!(controller.drop_next, at(1099), "when the queue counts as inactive");
    assert_eq!(drops(&mut controller, &exact(), 1000, 1402), [1100, 1171, 1229, 1279, 1324, 1364]);
    assert_eq!(controller.count, 7);
}

#[test]
fn a_queue_that_was_inactive_for_an_interval_waits_for_none() {
    // The first packet above the target finds `drop_next` in the past, and sets it to its own time: the second is
    // dropped. The law goes on from 1000 ms: 1070.7, 1128.4, 1178.4 and 1223.2.
    for profile in [CobaltProfile::Exact, CobaltProfile::Linux] {
        let mut controller = Controller::default();
        decide(&mut controller, &config(profile), 850, 0, false);
        assert_eq!(drops(&mut controller, &config(profile), 1000, 1230), [1001, 1071, 1129, 1179, 1224], "{profile:?}");
    }
    let mut controller = Controller::default();
    decide(&mut controller, &exact(), 900, 0, false);
    assert_eq!(drops(&mut controller, &exact(), 1000, 1110), [1100], "100 ms are not above an interval");
}

#[test]
fn linux_begins_without_a_wait_once() {
    let linux = config(CobaltProfile::Linux);
    let mut controller = Controller::default();
    decide(&mut controller, &linux, 999, 0, false);
    // 1 / sqrt(count) is 0, so that the drop is scheduled at 1000 ms.
    assert_eq!(drops(&mut controller, &linux, 1000, 1100), [1001, 1071]);
    // It decays from 3 to 0. Then 1 / sqrt(0) is 1 by the table.
    (1100..1500).for_each(|ms| _ = decide(&mut controller, &linux, ms, 0, false));
    assert_eq!((controller.count, controller.inverse_sqrt), (0, u32::MAX));
    // 1 - 2^-32 of 100 ms end 1 ns before 1600 ms.
    assert_eq!(drops(&mut controller, &linux, 1500, 1700), [1600, 1671]);
}

#[test]
fn the_count_decays_at_the_pace_of_the_law() {
    let mut controller = busy();
    let step = |controller: &mut Controller, ms| {
        assert_eq!(decide(controller, &exact(), ms, 5, false), Verdict::Pass, "5 ms are not above the target");
        (controller.count, controller.drop_next.as_nanos())
    };
    assert_eq!(step(&mut controller, 999), (4, 1_000_000_000));
    assert!(!controller.dropping);
    // 100 / sqrt(3) = 57.735026 ms.
    assert_eq!(step(&mut controller, 1000), (3, 1_057_735_026));
    // 100 / sqrt(2) = 70.710678 ms and 100 ms: two decays are due, the third is not.
    assert_eq!(step(&mut controller, 1200), (1, 1_228_445_704));
    assert_eq!(step(&mut controller, 1228), (1, 1_228_445_704));
    // With a count of 0, the time is that of inactivity.
    assert_eq!(step(&mut controller, 1229), (0, 1_329_000_000));
    assert_eq!(step(&mut controller, 1500), (0, 1_600_000_000));
}

#[test]
fn a_decayed_count_gives_the_rate_of_the_next_drops() {
    let mut controller = busy();
    decide(&mut controller, &exact(), 1000, 0, false);
    assert_eq!(controller.count, 3);
    // Above the target again at 1010 ms: the next drop 100 / sqrt(3) ms later, the one after it 100 / sqrt(4).
    assert_eq!(drops(&mut controller, &exact(), 1010, 1130), [1068, 1118]);
}

#[test]
fn an_empty_queue_decays_by_one_at_a_time() {
    let mut controller = busy();
    assert!(!controller.was_empty(&exact(), at(999)));
    assert_eq!((controller.count, controller.dropping), (4, false));
    for (count, drop_next) in [(3, 1_057_735_026), (2, 1_128_445_704), (1, 1_228_445_704)] {
        controller.was_empty(&exact(), at(1200));
        assert_eq!((controller.count, controller.drop_next.as_nanos()), (count, drop_next));
    }
    controller.was_empty(&exact(), at(1200));
    assert_eq!(controller.count, 1, "not due");
    controller.was_empty(&exact(), at(1300));
    assert_eq!((controller.count, controller.drop_next.as_nanos()), (0, 1_328_445_704));
    assert!(controller.is_active(at(1328)) && !controller.is_active(at(1329)));
    controller.was_empty(&exact(), at(2000));
    assert_eq!((controller.count, controller.drop_next.as_nanos()), (0, 1_328_445_704));
}

#[test]
fn overdue_drops_are_made_up_for_and_overdue_marks_are_not() {
    let times = |capable, verdict| {
        let mut controller = busy();
        [0; 3].map(|_| {
            assert_eq!(decide(&mut controller, &exact(), 1500, 20, capable), verdict);
            controller.drop_next.as_nanos()
        })
    };
    // 100 / sqrt(5) = 44.721359, 100 / sqrt(6) = 40.824829 and 100 / sqrt(7) = 37.796447 ms.
    let dropped = times(false, Verdict::Drop(DropReason::Early));
    assert_eq!(dropped, [1_044_721_359, 1_085_546_188, 1_123_342_635]);
    let mut controller = busy();
    assert_eq!(decide(&mut controller, &exact(), 1500, 20, true), Verdict::Mark);
    assert_eq!((controller.count, controller.drop_next), (5, at(1500)));
    assert_eq!(decide(&mut controller, &exact(), 1500, 20, true), Verdict::Mark, "due at once");
    assert_eq!((controller.count, controller.drop_next.as_nanos()), (6, 1_540_824_829));
    assert_eq!(decide(&mut controller, &exact(), 1540, 20, true), Verdict::Pass);
}

#[test]
fn only_capable_packets_are_marked_where_ecn_is_on() {
    for (ecn, capable, verdict) in [
        (true, true, Verdict::Mark),
        (true, false, Verdict::Drop(DropReason::Early)),
        (false, true, Verdict::Drop(DropReason::Early)),
    ] {
        let config = CobaltConfig { ecn, ..exact() };
        assert_eq!(decide(&mut busy(), &config, 1000, 20, capable), verdict);
        assert_eq!(decide(&mut busy(), &config, 999, 20, capable), Verdict::Pass);
    }
}

#[test]
fn the_last_packet_is_marked_but_not_dropped() {
    for (capable, verdict) in [(true, Verdict::Mark), (false, Verdict::Pass)] {
        let mut controller = busy();
        let head = Head { enqueued: at(980), capable, last: true };
        assert_eq!(controller.decide(&exact(), head, at(1000), &mut chance()), verdict);
        assert_eq!((controller.count, controller.drop_next.as_nanos()), (5, 1_044_721_359), "it counts all the same");
    }
}

#[test]
fn four_full_sized_packets_are_never_above_the_target() {
    let slow = CobaltConfig { mtu_time: Duration::from_millis(5), ..exact() };
    let mut controller = Controller::default();
    decide(&mut controller, &slow, 100, 20, false);
    assert!(!controller.dropping);
    decide(&mut controller, &slow, 101, 21, false);
    assert!(controller.dropping);
}

#[test]
fn linux_takes_roots_from_a_table_and_then_steps() {
    let real = |inverse: u32| f64::from(inverse) / 4_294_967_296.0;
    assert_eq!(INVERSE_SQUARE_ROOTS[..2], [u32::MAX; 2]);
    // x (3 - 2 x^2) / 2 from 1 on: 0.5, 0.625, 0.693359 and 0.706709.
    assert!((real(INVERSE_SQUARE_ROOTS[2]) - 0.706_709).abs() < 1e-6);
    for (count, &inverse) in INVERSE_SQUARE_ROOTS.iter().enumerate().skip(2) {
        assert!((real(inverse) * (count as f64).sqrt() - 1.0).abs() < 1e-3, "{count}");
    }
    // A step from 1 / sqrt(15) = 0.258199: 0.258199 (3 - 16/15) / 2 = 0.249592; from there 0.242225.
    let mut controller = Controller::default();
    let mut root = |count| {
        controller.set_count(count);
        real(controller.inverse_sqrt)
    };
    root(15);
    let steps = [root(16), root(17)];
    assert!((steps[0] - 0.249_592).abs() < 1e-6 && (steps[1] - 0.242_225).abs() < 1e-6, "{steps:?}");
    let last = (18..5000).chain((1000..5000).rev()).map(|count| (root(count), count)).last();
    let (inverse, count) = last.unwrap_or_default();
    assert!((inverse * f64::from(count).sqrt() - 1.0).abs() < 1e-3, "{inverse}");
    assert_eq!(root(3).to_bits(), real(INVERSE_SQUARE_ROOTS[3]).to_bits(), "the table again");
}

#[test]
fn blue_rises_by_1_in_256_and_falls_by_1_in_4096() {
    const UP: u32 = 1 << 24;
    const DOWN: u32 = 1 << 20;
    let mut controller = Controller::default();
    let us = |us: u64| Instant::from_nanos(1000 * us);
    // At most once in a target of 5 ms, strictly.
    for (when, became_active, p_drop) in
        [(10_000, true, UP), (14_000, false, UP), (15_000, false, UP), (15_001, false, 2 * UP)]
    {
        assert_eq!(controller.was_full(&exact(), us(when)), became_active);
        assert_eq!((controller.p_drop, controller.drop_next), (p_drop, us(when)));
        assert_eq!((controller.count, controller.dropping), (1, true));
    }
    for (when, p_drop) in [(20_001, 2 * UP), (20_002, 2 * UP - DOWN), (25_002, 2 * UP - DOWN)] {
        assert!(!controller.was_empty(&exact(), us(when)));
        assert_eq!(controller.p_drop, p_drop);
    }
    // 31 more steps end it, since 2 / 256 are 32 / 4096.
    let quiet: Vec<bool> = (1..=32).map(|n| controller.was_empty(&exact(), us(25_002 + n * 5_001))).collect();
    assert_eq!((quiet.iter().position(|&quiet| quiet), controller.p_drop), (Some(30), 0));
    assert!(quiet[31..].iter().all(|&quiet| !quiet), "once");
}

#[test]
fn the_probability_of_blue_stays_in_its_range() {
    let mut controller = Controller { p_drop: u32::MAX - 5, ..Controller::default() };
    assert!(!controller.was_full(&exact(), at(10)));
    assert_eq!(controller.p_drop, u32::MAX);
    controller.p_drop = 1 << 19;
    assert!(controller.was_empty(&exact(), at(20)));
    assert_eq!(controller.p_drop, 0);
    let whole = CobaltConfig { increment: Probability::clamped(1.0), ..exact() };
    controller.was_full(&whole, at(30));
    assert_eq!(controller.p_drop, u32::MAX);
}

#[test]
fn blue_drops_with_its_probability_what_it_could_mark() {
    let mut controller = Controller { p_drop: 1 << 30, ..Controller::default() };
    let mut chance = chance();
    let head = Head { enqueued: at(10), capable: true, last: false };
    let drops = (0..10_000).filter(|_| controller.decide(&exact(), head, at(10), &mut chance) != Verdict::Pass).count();
    // A quarter of 10000, with a deviation of 43.
    assert!(drops.abs_diff(2500) < 200, "{drops}");
    let sure = Controller { p_drop: u32::MAX, ..busy() };
    assert_eq!(decide(&mut sure.clone(), &exact(), 1000, 20, true), Verdict::Drop(DropReason::Early));
    let last = Head { last: true, ..head };
    assert_eq!(sure.clone().decide(&exact(), last, at(10), &mut chance), Verdict::Pass, "but not the last packet");
}

#[test]
fn no_random_number_is_drawn_while_blue_is_quiet() {
    let (mut one, mut other) = (chance(), chance());
    busy().decide(&exact(), Head { enqueued: at(980), capable: false, last: false }, at(1000), &mut one);
    assert_eq!(one.next_u64(), other.next_u64());
}

#[test]
fn a_long_sojourn_raises_blue_where_a_threshold_is_set() {
    let ns3 = CobaltConfig { blue_threshold: Duration::from_millis(400), ..exact() };
    let mut controller = Controller::default();
    for (ms, sojourn_ms, steps) in [(1000, 400, 0), (1001, 401, 1), (1006, 401, 1), (1007, 401, 2)] {
        decide(&mut controller, &ns3, ms, sojourn_ms, true);
        assert_eq!(controller.p_drop, steps << 24, "{ms}");
    }
    let mut linux = Controller::default();
    decide(&mut linux, &exact(), 10_000, 9_000, true);
    assert_eq!(linux.p_drop, 0);
}
