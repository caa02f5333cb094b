//! The window of a receiver with rLEDBAT (RFC 9840).
#![allow(clippy::float_cmp, reason = "the values are counts, and times and sizes written as they are computed")]

use super::capped::plain;
use super::harness::*;
use crate::handshake::window_shift;
use crate::receiver::rledbat::{DataSegment, Rledbat};
use crate::{Config, Connection, DelayedAck, ReceiverCc};
use narrows_units::{Bytes, Duration};

/// Segments of 1000 bytes beside the timestamps.
fn config() -> Config {
    let fixed = Config { mss: 1012, delayed_ack: DelayedAck::Off, ..Config::default() };
    Config { recv_buffer: Bytes::new(200_000), receiver_cc: ReceiverCc::Rledbat, ..fixed }
}

fn state(end: &Connection, name: &str) -> f64 {
    let mut found = f64::NAN;
    end.receiver_state(&mut |n, v| found = if n == name { v } else { found });
    found
}

/// The right edges that the server offered, as sequence numbers.
fn edges(net: &Net, shift: u8) -> Vec<u64> {
    let ack = |tcp: &narrows_wire::TcpRepr| u64::from(tcp.ack.as_u32()) + (u64::from(tcp.window) << shift);
    net.log.iter().filter(|e| e.1 == S).map(|e| ack(e.2.tcp().unwrap())).collect()
}

#[test]
fn rledbat_begins_with_two_segments_and_grows_with_gain() {
    let mut net = plain(config());
    net.establish();
    assert_eq!(net.ends[C].info().rwnd, Bytes::new(2 * 1012), "the SYN-ACK's window");
    net.log.clear();
    net.ends[C].write(Bytes::new(400_000));
    net.run(net.now + Duration::from_secs(1));
    let (base, gain) = (state(&net.ends[S], "base_rtt"), state(&net.ends[S], "gain"));
    let divisor = (0.12 / base - 1e-9).ceil().clamp(1.0, 16.0);
    assert!((gain - 1.0 / divisor).abs() < 1e-9, "{base} {gain}");
    assert!(state(&net.ends[S], "window") > 2_500.0);
}

#[test]
fn rledbat_never_moves_its_edge_left() {
    let mut net = plain(config());
    net.establish();
    net.log.clear();
    // A segment is lost now and then, so that RLWND is halved; and there are slowdowns.
    let mut sent = 0;
    net.rule = Box::new(move |from, packet, _| {
        sent += u32::from(from == C && packet.payload_len > 0);
        if from == C && packet.payload_len > 0 && sent % 97 == 0 { Fate::Drop } else { Fate::Pass }
    });
    net.ends[C].write(Bytes::new(2_000_000));
    net.run(net.now + Duration::from_secs(60));
    assert!(state(&net.ends[S], "slowdowns") >= 1.0);
    let edges = edges(&net, 2);
    assert!(edges.len() > 500);
    assert!(edges.windows(2).all(|pair| pair[1] >= pair[0]), "{edges:?}");
}

#[test]
fn rledbat_needs_timestamps() {
    let mut net = plain(Config { timestamps: false, ..config() });
    net.establish();
    net.ends[C].write(Bytes::new(20_000));
    net.run(net.now + Duration::from_secs(1));
    assert!(state(&net.ends[S], "window").is_nan());
    assert!(net.ends[C].info().rwnd > Bytes::new(150_000), "the window of the buffer");
}

#[test]
fn rledbat_bounds_the_window_scale_by_eleven() {
    let huge = Config { recv_buffer: Bytes::new(65_535 << 14), ..config() };
    assert_eq!(window_shift(&huge), 11);
    assert_eq!(window_shift(&Config { receiver_cc: ReceiverCc::None, ..huge }), 14);
    assert_eq!(window_shift(&config()), 2, "what the buffer needs");
}

/// A segment of 1000 bytes from `start`, sent at `val` and echoing `echo`, `rtt_ms` after that.
fn segment(start: i64, val: u32, echo: u32, rtt_ms: u64) -> DataSegment {
    DataSegment { start, end: start + 1000, new: true, val, echo, rtt: Duration::from_millis(rtt_ms) }
}

/// The value of a variable.
fn value(rledbat: &Rledbat, name: &str) -> f64 {
    let mut found = f64::NAN;
    rledbat.state(0, &mut |n, v| found = if n == name { v } else { found });
    found
}

#[test]
fn rledbat_measures_by_the_first_segment_with_an_echo() {
    let mut rledbat = Rledbat::new(1000);
    rledbat.on_data(&segment(0, 10, 5, 100), at(0));
    rledbat.on_data(&segment(1000, 11, 5, 130), at(30));
    assert_eq!(value(&rledbat, "rtt"), 0.1, "the second may have waited at the sender");
    rledbat.on_data(&segment(2000, 12, 6, 140), at(40));
    assert_eq!((value(&rledbat, "rtt"), value(&rledbat, "base_rtt")), (0.14, 0.1));
    rledbat.on_data(&segment(3000, 13, 4, 200), at(41));
    assert_eq!(value(&rledbat, "rtt"), 0.14, "an older echo");
}

/// RLWND of 2000 bytes after slow start to 34,000: 32 segments, whose echo differs each time.
fn grown() -> Rledbat {
    let mut rledbat = Rledbat::new(1000);
    for i in 0..32 {
        // 120 ms: GAIN is one.
        rledbat.on_data(&segment(1000 * i64::from(i), 10 + i, 5 + i, 120), at(u64::from(i)));
    }
    assert_eq!(value(&rledbat, "window"), 34_000.0);
    rledbat
}

#[test]
fn rledbat_halves_for_a_retransmission_once_per_round_trip() {
    let mut rledbat = grown();
    // Octets from 32,000 are missing; the segment after them brought RCV.HGH with the TSval 60.
    rledbat.on_data(&segment(33_000, 60, 50, 120), at(50));
    let before = value(&rledbat, "window");
    rledbat.on_data(&segment(32_000, 200, 51, 120), at(170));
    assert_eq!((value(&rledbat, "window"), value(&rledbat, "losses")), (before / 2.0, 1.0));
    rledbat.on_data(&segment(31_500, 201, 52, 120), at(200));
    assert_eq!(value(&rledbat, "losses"), 1.0, "of the same round trip");
    rledbat.on_data(&segment(31_500, 400, 53, 120), at(400));
    assert_eq!(value(&rledbat, "losses"), 2.0);
}

#[test]
fn rledbat_takes_reordering_for_no_loss() {
    let mut rledbat = grown();
    rledbat.on_data(&segment(33_000, 60, 50, 120), at(50));
    // Sent before the segment that overtook it, or in the same tick of the sender's clock.
    rledbat.on_data(&segment(32_000, 59, 51, 120), at(51));
    rledbat.on_data(&segment(32_000, 60, 52, 120), at(52));
    assert_eq!(value(&rledbat, "losses"), 0.0);
}

#[test]
fn rledbat_ignores_retransmissions_of_what_is_here() {
    let mut rledbat = grown();
    let old = DataSegment { new: false, ..segment(2000, 500, 80, 120) };
    rledbat.on_data(&old, at(300));
    assert_eq!((value(&rledbat, "losses"), value(&rledbat, "window")), (0.0, 34_000.0));
}

#[test]
fn rledbat_does_not_grow_while_half_of_it_is_unused() {
    let mut rledbat = grown();
    // One segment per round trip, from a sender that its application limits.
    for i in 1..20u32 {
        rledbat.on_data(&segment(32_000 + 1000 * i64::from(i), 500 * i, 500 * i, 120), at(500 * u64::from(i)));
    }
    assert_eq!(value(&rledbat, "window"), 34_000.0);
}

#[test]
fn rledbat_window_is_rounded_up_to_the_scale() {
    let rledbat = Rledbat::new(1448);
    assert_eq!((rledbat.cap(0), rledbat.cap(8), rledbat.cap(11)), (2896, 3072, 4096));
}
