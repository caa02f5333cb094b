//! One exchange of every preset on an idle medium: the times when its frames start and end, to the microsecond.
//!
//! The packet has 1500 bytes; with 8 of LLC and SNAP, 24 of MAC header and 4 of FCS the frame has 1536. Times count
//! from the start of the idle time, so the first is DIFS.

#![allow(clippy::unwrap_used)]

mod common;

use common::*;
use narrows_units::{Bytes, Duration, Rate};
use narrows_wifi::{Aggregation, Config, Mcs, Mode, Outgoing, StationConfig};

/// Starts of the frames, and the end of the last frame, in microseconds.
fn times(config: Config, packets: usize) -> Vec<u64> {
    let settings = [StationConfig { signal_db: 0.0, overhead: Bytes::new(8) }; 3];
    let propagation = config.propagation;
    let (mut medium, mut log) = (medium(config, &settings, &[], &[]), Log::new(3));
    for mark in 0..packets {
        log.queues[1].push_back(Outgoing { to: 0, packet: packet(1_500, mark as u16) });
    }
    medium.wake(1, us(0), &mut log);
    run(&mut medium, &mut log, us(1_000_000));
    assert_eq!(log.received.len(), packets);
    let last = *log.frames.last().unwrap();
    let end = last.start + last.airtime;
    if propagation.is_zero() {
        for frame in &log.frames {
            assert_eq!(frame.start + frame.airtime + frame.duration, end, "the NAV ends with the exchange");
        }
    }
    let ends = log.frames.iter().map(|frame| frame.start).chain([end]);
    ends.map(|at| at.as_nanos()).inspect(|nanos| assert_eq!(nanos % 1_000, 0)).map(|nanos| nanos / 1_000).collect()
}

/// Basic access: data, ACK, end. RTS/CTS: RTS, CTS, data, ACK, end.
fn check(what: &str, config: &Config, packets: usize, basic: [u64; 3], protected: [u64; 5]) {
    assert_eq!(times(config.clone(), packets), basic, "{what}, basic access");
    let rts = Config { rts_threshold: Some(Bytes::ZERO), ..config.clone() };
    assert_eq!(times(rts.clone(), packets), protected, "{what}, RTS/CTS");
    // Each frame starts later by the propagation delays of those before it.
    let late: Vec<_> = (0..).zip(protected).map(|(i, t)| if i == 4 { t + 3 } else { t + i }).collect();
    assert_eq!(times(Config { propagation: Duration::from_micros(1), ..rts }, packets), late, "{what}, propagation");
}

fn by_rate(name: &str, rate: Rate, basic_rate: Rate, short_preamble: bool) -> Config {
    preset(name, Mode::Rate(rate), basic_rate, short_preamble)
}

#[test]
fn dsss() {
    // DIFS 50, RTS 192 + 160, CTS and ACK 192 + 112, SIFS 10; data 192 + 12288 / 2.
    let at = by_rate("802.11", Rate::mbps(2), Rate::mbps(1), false);
    check("802.11 at 2 Mb/s", &at, 1, [50, 6396, 6700], [50, 412, 726, 7072, 7376]);
    // Data 192 + 12288.
    let at = by_rate("802.11", Rate::mbps(1), Rate::mbps(1), false);
    check("802.11 at 1 Mb/s", &at, 1, [50, 12_540, 12_844], [50, 412, 726, 13_216, 13_520]);
}

#[test]
fn high_rate_dsss() {
    // Data 192 + 12288 / 11, rounded up: 1310.
    let at = by_rate("802.11b", Rate::mbps(11), Rate::mbps(1), false);
    check("802.11b at 11 Mb/s", &at, 1, [50, 1370, 1674], [50, 412, 726, 2046, 2350]);
    // Data 192 + 2235.
    let at = by_rate("802.11b", Rate::kbps(5_500), Rate::mbps(1), false);
    check("802.11b at 5.5 Mb/s", &at, 1, [50, 2487, 2791], [50, 412, 726, 3163, 3467]);
    // Short preamble, control frames at 2 Mb/s: RTS 96 + 80, CTS and ACK 96 + 56, data 96 + 1118.
    let at = by_rate("802.11b", Rate::mbps(11), Rate::mbps(2), true);
    check("802.11b, short preamble", &at, 1, [50, 1274, 1426], [50, 236, 398, 1622, 1774]);
}

#[test]
fn ofdm() {
    // DIFS 34, SIFS 16; at 6 Mb/s RTS 20 + 4 x 8, CTS and ACK 20 + 4 x 6; data 20 + 4 x 57.
    let at = by_rate("802.11a", Rate::mbps(54), Rate::mbps(6), false);
    check("802.11a at 54 Mb/s", &at, 1, [34, 298, 342], [34, 102, 162, 426, 470]);
    // At 24 Mb/s RTS, CTS and ACK 20 + 4 x 2; data 20 + 4 x 129.
    let at = by_rate("802.11a", Rate::mbps(24), Rate::mbps(24), false);
    check("802.11a at 24 Mb/s", &at, 1, [34, 586, 614], [34, 78, 122, 674, 702]);
}

#[test]
fn erp_ofdm() {
    // DIFS 28, SIFS 10, and 6 of signal extension in every frame.
    let at = by_rate("802.11g", Rate::mbps(54), Rate::mbps(6), false);
    check("802.11g at 54 Mb/s", &at, 1, [28, 292, 342], [28, 96, 156, 420, 470]);
    // Data 20 + 4 x 513 + 6.
    let at = by_rate("802.11g", Rate::mbps(6), Rate::mbps(6), false);
    check("802.11g at 6 Mb/s", &at, 1, [28, 2116, 2166], [28, 96, 156, 2244, 2294]);
}

const TWO: Option<Aggregation> =
    Some(Aggregation { max_mpdus: 2, max_bytes: Bytes::new(65_535), max_time: Duration::from_micros(5_484) });

#[test]
fn high_throughput() {
    let mode = Mode::Mcs(Mcs { mcs: 7, width_mhz: 20, streams: 1, short_guard: false });
    let plain = preset("802.11n", mode, Rate::mbps(24), false);
    // DIFS 34, SIFS 16; at 24 Mb/s RTS, CTS and ACK 20 + 4 x 2; data 36 + 4 x 48.
    check("802.11n", &plain, 1, [34, 278, 306], [34, 78, 122, 366, 394]);
    // Two MPDUs of 1538 bytes (QoS control) with delimiters of 4, the first padded to 1544: 3086 bytes, 36 + 4 x 96;
    // a block ACK of 32 bytes, 20 + 4 x 3.
    let aggregating = Config { aggregation: TWO, ..plain };
    check("802.11n with A-MPDU", &aggregating, 2, [34, 470, 502], [34, 78, 122, 558, 590]);
}

#[test]
fn very_high_throughput() {
    // 3120 bits in a symbol of 3.6 us and two encoders: 3086 bytes in 8 symbols, 28.8 us, up to the grid of 4 us;
    // preamble 44.
    let mode = Mode::Mcs(Mcs { mcs: 9, width_mhz: 80, streams: 2, short_guard: true });
    let aggregating = Config { aggregation: TWO, ..preset("802.11ac", mode, Rate::mbps(24), false) };
    check("802.11ac with A-MPDU", &aggregating, 2, [34, 126, 158], [34, 78, 122, 214, 246]);
}
