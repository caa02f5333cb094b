use super::*;

fn cost(overhead: i64, mpu: u64, atm: Atm, size: u64) -> u64 {
    Framing { overhead, mpu: Bytes::new(mpu), atm }.cost(Bytes::new(size)).as_u64()
}

#[test]
fn cells_of_53_carry_48_bytes() {
    // 1500 bytes are 31.25 cells, and with 40 bytes more 32.08.
    for (overhead, size, bytes) in [(0, 1, 53), (0, 48, 53), (0, 49, 106), (0, 1_500, 32 * 53), (40, 1_500, 33 * 53)] {
        assert_eq!(cost(overhead, 0, Atm::Atm, size), bytes, "{size} + {overhead}");
    }
}

#[test]
fn ptm_adds_a_byte_for_each_64_or_part_of_them() {
    for (size, bytes) in [(64, 65), (65, 67), (1_500, 1_524)] {
        assert_eq!(cost(0, 0, Atm::Ptm, size), bytes);
    }
}

#[test]
fn small_packets_cost_the_least_size() {
    assert_eq!(cost(14, 84, Atm::Noatm, 40), 84);
    assert_eq!(cost(14, 84, Atm::Noatm, 71), 85);
    assert_eq!(cost(44, 84, Atm::Atm, 40), 2 * 53, "84 bytes take two cells");
    assert_eq!(cost(-20, 0, Atm::Noatm, 60), 40);
    assert_eq!(cost(-64, 0, Atm::Noatm, 40), 1, "no packet is free");
}

#[test]
fn a_round_is_1_4096_of_a_second() {
    for (bps, bytes) in [(0, 1_514), (1_000_000, 300), (10_000_000, 305), (40_000_000, 1_220), (50_000_000, 1_514)] {
        assert_eq!(quantum(Rate::bps(bps)), Bytes::new(bytes), "{bps}");
    }
}

#[test]
fn a_slow_link_has_a_longer_target_and_interval() {
    let us = Duration::from_micros;
    let rtt = Duration::from_millis(100);
    assert_eq!(times(Rate::ZERO, rtt), (us(5_000), us(100_000), us(0)));
    // 1514 bytes take 121.12 us at 100 Mb/s, 12.112 ms at 1 Mb/s and 121.12 ms at 100 kb/s.
    assert_eq!(times(Rate::mbps(100), rtt), (us(5_000), us(100_000), Duration::from_nanos(121_120)));
    assert_eq!(times(Rate::mbps(1), rtt), (us(18_168), us(113_168), us(12_112)));
    assert_eq!(times(Rate::kbps(100), rtt), (us(181_680), us(363_360), us(121_120)));
}

#[test]
fn the_shaper_has_no_burst_and_forgets_time_without_packets() {
    let us = |us: u64| Instant::from_nanos(1_000 * us);
    // A byte per microsecond.
    let mut shaper = Shaper::new(Rate::mbps(8));
    shaper.wake(us(10_000));
    shaper.charge(Bytes::new(1_500));
    assert_eq!(shaper.next(), us(11_500));
    shaper.wake(us(11_000));
    shaper.charge(Bytes::new(500));
    assert_eq!(shaper.next(), us(12_000), "what was sent is paid for");
    shaper.wake(us(20_000));
    assert_eq!(shaper.next(), us(20_000), "eight idle milliseconds allow no burst");
    let mut none = Shaper::new(Rate::ZERO);
    none.charge(Bytes::new(1_500));
    assert!(!none.is_limited() && none.next() == Instant::ZERO);
}
