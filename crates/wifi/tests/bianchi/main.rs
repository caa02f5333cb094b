//! Saturated stations compared with Bianchi's model: total throughput, and how often an attempt collides.
//!
//! `cargo test -p narrows-wifi --test bianchi -- --nocapture` prints the tables.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../common/mod.rs"]
mod common;
mod model;

use common::*;
use narrows_units::{Bytes, Duration, Instant, Rate};
use narrows_wifi::{Config, Mode, Modulation, StationConfig};

const STATIONS: [i32; 7] = [1, 2, 5, 10, 20, 30, 50];

/// Number of packets that arrive before counting starts, and number of packets counted.
const PACKETS: (u64, u64) = (1_000, 10_000);

/// Largest relative difference of the throughput from the model's. The model is an approximation (in the model, a slot
/// in which others send counts down; in DCF it does not), and 10 000 packets leave some noise.
const THROUGHPUT: f64 = 0.025;

/// The same for a single station: it has no collisions, so the model is exact.
const THROUGHPUT_ALONE: f64 = 0.003;

/// A channel, a packet's length and the bytes that each station puts before it.
struct Case {
    name: &'static str,
    config: Config,
    packet: u64,
    overhead: u64,
}

/// The parameters of Bianchi's table II: FHSS at 1 Mb/s with a PHY header of 128 bits, a MAC header of 272 bits,
/// packets of 8184 bits, and no retry limit. Colliding stations wait for 300 us and DIFS; the model assumes that all
/// others do the same.
fn bianchi(doublings: u32, name: &'static str) -> Case {
    let us = Duration::from_micros;
    let fhss = Modulation::serial(Rate::mbps(1), us(128));
    let config = Config {
        data: fhss,
        control: fhss,
        slot: us(50),
        sifs: us(28),
        eifs: us(300 + 128),
        answer_timeout: us(300 + 128),
        cw_min: 31,
        cw_max: 32 * (1 << doublings) - 1,
        short_retry: 100_000,
        long_retry: 100_000,
        propagation: us(1),
        ..config()
    };
    // The medium itself adds 24 bytes of header and 4 of FCS: six more make 272 bits.
    Case { name, config, packet: 1_023, overhead: 6 }
}

/// A preset with the standard's retry limits and timing.
fn standard(name: &'static str, mbps: u64) -> Case {
    let basic = if name == "802.11b" { Rate::mbps(1) } else { Rate::mbps(6) };
    let config = preset(name, Mode::Rate(Rate::mbps(mbps)), basic, false);
    Case { name, config: Config { propagation: Duration::from_micros(1), ..config }, packet: 1_500, overhead: 8 }
}

/// Bits per microsecond and collisions per attempt.
fn measured(case: &Case, stations: i32) -> (f64, f64) {
    let n = stations as usize + 1;
    let settings = vec![StationConfig { signal_db: 0.0, overhead: Bytes::new(case.overhead) }; n];
    let (mut medium, mut log) = (medium(case.config.clone(), &settings, &[], &[]), Log::new(n));
    log.quiet = true;
    log.saturated = Some(case.packet);
    for station in 1..n {
        medium.wake(station, Instant::ZERO, &mut log);
    }
    let mut until = |packets| {
        let mut now = Instant::ZERO;
        while log.received_packets < packets {
            now = medium.next_event();
            medium.handle(now, &mut log);
        }
        let protected = case.config.rts_threshold.is_some();
        let (mut failures, mut attempts) = (0, 0);
        for station in 1..n {
            let meter = medium.meter(station);
            failures += if protected { meter.rts_failures } else { meter.data_failures };
            attempts += if protected { meter.rts_frames } else { meter.data_frames };
        }
        (now, failures as f64, attempts as f64)
    };
    let (start, failures, attempts) = until(PACKETS.0);
    let (end, all_failures, all_attempts) = until(PACKETS.0 + PACKETS.1);
    let micros = end.since(start).as_nanos() as f64 / 1e3;
    let bits = (8 * case.packet * PACKETS.1) as f64;
    (bits / micros, (all_failures - failures) / (all_attempts - attempts))
}

/// Compares a case with the model; `within` is the largest allowed difference of the collision probability.
fn compare(case: &Case, within: f64) {
    for rts_threshold in [None, Some(Bytes::ZERO)] {
        let config = Config { rts_threshold, ..case.config.clone() };
        let case = Case { config, ..*case };
        let access = if rts_threshold.is_some() { "RTS/CTS" } else { "basic" };
        for n in STATIONS {
            let frame = Bytes::new(case.packet + case.overhead + 28);
            let model = model::saturation(&case.config, n, frame);
            let wanted = model.packets_per_us * (8 * case.packet) as f64;
            let (throughput, collision) = measured(&case, n);
            let off = throughput / wanted - 1.0;
            let line = format!(
                "{} {access}, {n} stations: {throughput:.4} Mb/s, model {wanted:.4} ({:+.2} %); p {collision:.4}, model {:.4}",
                case.name,
                100.0 * off,
                model.collision
            );
            println!("{line}");
            let bound = if n == 1 { THROUGHPUT_ALONE } else { THROUGHPUT };
            assert!(off.abs() <= bound, "throughput: {line}");
            assert!((collision - model.collision).abs() <= within, "collisions: {line}");
        }
    }
}

#[test]
fn bianchis_own_parameters_with_three_doublings() {
    compare(&bianchi(3, "FHSS m=3"), 0.02);
}

#[test]
fn bianchis_own_parameters_with_five_doublings() {
    compare(&bianchi(5, "FHSS m=5"), 0.02);
}

#[test]
fn the_preset_of_802_11b() {
    compare(&standard("802.11b", 11), 0.02);
}

#[test]
fn the_preset_of_802_11g() {
    compare(&standard("802.11g", 54), 0.035);
}

/// The timeout ends with the others' EIFS: no station has a lead, and the model is just Bianchi's with a retry limit.
#[test]
fn presets_where_all_resume_together() {
    for (case, within) in [(standard("802.11b", 11), 0.02), (standard("802.11g", 54), 0.035)] {
        let config = Config { answer_timeout: case.config.eifs, ..case.config.clone() };
        compare(&Case { config, ..case }, within);
    }
}

/// Bianchi's equations (7) and (9) in closed form, where `model` has sums.
#[test]
#[allow(clippy::many_single_char_names)]
fn without_a_retry_limit_and_a_lead_the_model_is_bianchis() {
    for (m, n) in [(3, 5), (3, 50), (5, 10), (5, 30)] {
        let p = model::saturation(&bianchi(m, "").config, n, Bytes::new(1_057)).collision;
        let (w, two) = (32.0, 1.0 - 2.0 * p);
        let tau = 2.0 * two / (two * (w + 1.0) + p * w * (1.0 - model::power(2.0 * p, m as i32)));
        let again = 1.0 - model::power(1.0 - tau, n - 1);
        assert!((again - p).abs() < 1e-6, "m = {m}, n = {n}: {p}, {again}");
    }
}
