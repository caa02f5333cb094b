//! The peer's window: zero windows, silly windows, Nagle, scaling and pacing.

use super::harness::*;
use crate::{Config, InitialWindow};
use narrows_units::{Bytes, Duration, Instant, Packets, Rate};
use narrows_wire::TcpFlags;

fn small_buffer(buffer: u64) -> Net {
    let config = Config { mss: 1000, timestamps: false, recv_buffer: Bytes::new(buffer), ..Config::default() };
    let mut net = Net::simple(config);
    net.establish();
    net
}

#[test]
fn a_zero_window_is_probed_with_backoff_and_opens_again() {
    let mut net = small_buffer(5_000);
    net.ends[S].set_auto_read(false);
    net.ends[C].write(Bytes::new(20_000));
    net.run(at(20_000));
    assert_eq!(net.ends[S].readable(), Bytes::new(5_000));
    assert_eq!(net.ends[C].info().rwnd, Bytes::ZERO);
    let probes: Vec<u64> = net.data(C).iter().filter(|d| d.1.payload_len == 1).map(|d| d.0 / 1000).collect();
    assert_eq!(probes, [1, 3, 7, 15], "RTO, then twice as long each time");
    assert_eq!(net.ends[C].stats().probes_sent.as_u64(), 4);
    assert_eq!(net.ends[C].stats().timeouts, 0, "a probe is no loss");
    // The application reads: the window update alone restarts the transfer.
    assert_eq!(net.ends[S].read(Bytes::MAX), Bytes::new(5_000));
    net.ends[S].set_auto_read(true);
    net.run(at(22_000));
    assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(20_000));
    let stats = net.ends[C].stats();
    assert_eq!(stats.retransmitted_packets.as_u64(), 0);
    assert_eq!(stats.sent_bytes, Bytes::new(20_004), "the octet of each probe that was not taken, and all data");
    assert_eq!(stats.sent_packets.as_u64(), net.data(C).len() as u64);
}

#[test]
fn an_octet_that_a_probe_brings_counts_as_sent() {
    let mut net = small_buffer(5_000);
    net.ends[S].set_auto_read(false);
    net.ends[C].write(Bytes::new(5_001));
    net.run(at(500));
    // The window update is lost: the probe finds room, and its octet is the last of the stream.
    net.rule = Box::new(|from, _, _| if from == S { Fate::Drop } else { Fate::Pass });
    net.ends[S].read(Bytes::MAX);
    net.poll();
    net.rule = Box::new(|_, _, _| Fate::Pass);
    net.run(at(10_000));
    assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(5_001));
    let stats = net.ends[C].stats();
    assert_eq!((stats.probes_sent.as_u64(), stats.sent_bytes, stats.sent_packets.as_u64()), (1, Bytes::new(5_001), 6));
}

#[test]
fn a_lost_window_update_is_made_up_for_by_a_probe() {
    let mut net = small_buffer(5_000);
    net.ends[S].set_auto_read(false);
    net.ends[C].write(Bytes::new(20_000));
    net.run(at(2_000));
    net.rule = Box::new(|from, _, _| if from == S { Fate::Drop } else { Fate::Pass });
    net.ends[S].set_auto_read(true);
    net.ends[S].read(Bytes::MAX);
    net.run(at(2_100));
    net.rule = Box::new(|_, _, _| Fate::Pass);
    net.run(at(10_000));
    assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(20_000));
}

#[test]
fn ends_that_filled_each_others_window_around_a_gap_go_on() {
    let mut net = small_buffer(5_000);
    net.ends.iter_mut().for_each(|end| end.set_auto_read(false));
    // Each end fills the other's window, and the second of its segments is lost. All ACKs have the sequence number of
    // the window's right edge, which does not move.
    let mut sent = [0; 2];
    net.rule = Box::new(move |from, packet, _| {
        sent[from] += u32::from(packet.payload_len > 0);
        if packet.payload_len > 0 && sent[from] == 2 { Fate::Drop } else { Fate::Pass }
    });
    net.ends.iter_mut().for_each(|end| end.write(Bytes::new(5_000)));
    net.run(at(10_000));
    for end in [C, S] {
        assert_eq!(net.ends[end].readable(), Bytes::new(5_000));
        assert_eq!(net.ends[end].acked(), Bytes::new(5_000));
        assert_eq!(net.ends[end].stats().timeouts, 0, "duplicate ACKs report the loss");
    }
    assert!(net.log.len() < 40, "{} segments", net.log.len());
}

#[test]
fn ends_whose_crossing_probes_were_taken_go_on_when_the_acks_are_lost() {
    let mut net = small_buffer(5_000);
    net.ends.iter_mut().for_each(|end| end.set_auto_read(false));
    net.ends.iter_mut().for_each(|end| end.write(Bytes::new(6_001)));
    let mut time = 0;
    while net.ends.iter().any(|end| end.stats().probes_sent == Packets::new(0)) {
        time += 1;
        net.run(at(time));
    }
    // Both probes are on the wire, with closed windows. Each finds room; no ACK and no window update arrives.
    let until = at(time + 200);
    net.rule =
        Box::new(move |_, packet, now| if packet.payload_len == 0 && now < until { Fate::Drop } else { Fate::Pass });
    net.ends.iter_mut().for_each(|end| assert_eq!(end.read(Bytes::MAX), Bytes::new(5_000)));
    net.run(until);
    for end in [C, S] {
        assert_eq!(net.ends[end].readable(), Bytes::new(1), "the octet of the probe");
        assert_eq!(net.ends[end].acked(), Bytes::new(5_000));
    }
    net.log.clear();
    net.run(at(time + 5_000));
    for end in [C, S] {
        assert_eq!(net.ends[end].readable(), Bytes::new(1_001));
        assert_eq!(net.ends[end].acked(), Bytes::new(6_001));
    }
    assert!(net.log.len() < 20, "{} segments", net.log.len());
}

#[test]
fn a_fin_waits_for_a_closed_window_too() {
    let mut net = small_buffer(5_000);
    net.ends[S].set_auto_read(false);
    net.ends[C].write(Bytes::new(5_000));
    net.ends[C].close();
    net.run(at(5_000));
    assert!(!net.ends[S].is_finished());
    net.ends[S].read(Bytes::MAX);
    net.run(at(20_000));
    assert!(net.ends[S].is_finished());
    assert_eq!(net.ends[C].state(), crate::State::FinWait2);
}

#[test]
fn the_receiver_does_not_advertise_silly_windows() {
    let mut net = small_buffer(5_000);
    net.ends[S].set_auto_read(false);
    net.ends[C].write(Bytes::MAX);
    net.run(at(1_000));
    net.log.clear();
    for i in 0..9 {
        assert_eq!(net.ends[S].read(Bytes::new(100)), Bytes::new(100));
        net.poll();
        assert!(net.log.iter().all(|e| e.1 != S), "window update after {i} small readings");
    }
    net.ends[S].read(Bytes::new(100));
    net.poll();
    let update = net.log.iter().find(|e| e.1 == S).expect("a whole segment is free");
    assert_eq!(update.2.tcp().unwrap().window, 1_000);
}

#[test]
fn the_sender_does_not_fill_silly_windows() {
    let mut net = small_buffer(60_000);
    net.ends[C].write(Bytes::MAX);
    net.poll();
    // 10 segments are out. A peer that offers 300 bytes beyond them gets nothing until the override timer.
    let mut update = forge(S, 5_001, Some(11_001), TcpFlags::NONE, 0);
    update.tcp_mut().unwrap().window = 300;
    net.ends[C].handle_segment(&update, net.now);
    assert_eq!(net.ends[C].poll_transmit(net.now), None);
    let due = net.ends[C].poll_timeout();
    assert_eq!(due, net.now + Duration::from_secs(1));
    net.ends[C].handle_timeout(due);
    assert_eq!(net.ends[C].poll_transmit(due).map(|p| p.payload_len), Some(300));
}

#[test]
fn nagle_holds_back_small_segments_while_data_is_in_flight() {
    for (nagle, expected) in [(true, vec![100]), (false, vec![100, 100, 100])] {
        let mut net = Net::simple(Config { nagle, mss: 1000, ..Config::default() });
        net.establish();
        for _ in 0..3 {
            net.ends[C].write(Bytes::new(100));
            net.poll();
        }
        let sizes: Vec<u32> = net.data(C).iter().map(|d| d.1.payload_len).collect();
        assert_eq!(sizes, expected, "nagle {nagle}");
        net.run(at(1_000));
        assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(300));
    }
}

#[test]
fn large_windows_are_scaled_and_the_flight_fills_them() {
    let config = Config {
        recv_buffer: Bytes::new(1_000_000),
        initial_window: InitialWindow::Segments(10_000),
        delayed_ack: crate::DelayedAck::Off,
        ..Config::default()
    };
    let mut net = Net::simple(config);
    net.establish();
    net.ends[C].write(Bytes::MAX);
    net.run(at(1_000));
    let flight = net.ends[C].info().flightsize.as_u64();
    assert!((999_000..=1_000_016).contains(&flight), "{flight}");
}

#[test]
fn sequence_numbers_wrap() {
    let mut net = Net::new([Config::default(); 2], [reno(), reno()], [u32::MAX - 50_000, u32::MAX]);
    net.ends[C].write(Bytes::new(3_000_000));
    net.ends[S].write(Bytes::new(300_000));
    net.run(at(5_000));
    assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(3_000_000));
    assert_eq!(net.ends[C].delivered_to_app(), Bytes::new(300_000));
}

#[test]
fn offsets_pass_four_gigabytes() {
    // Offsets pass 2^32 although sequence numbers wrap; payload is counted, not carried.
    let config = Config { initial_window: InitialWindow::Segments(20_000), mss: 60_000, ..Config::default() };
    let mut net = Net::new([config; 2], [reno(), reno()], [1, 1]);
    net.delay = Duration::from_micros(100);
    let total = Bytes::new((1 << 32) + 123_456);
    net.ends[C].write(total);
    net.log.reserve(0);
    let mut events = 0u64;
    while net.ends[S].delivered_to_app() < total {
        assert!(net.step(at(1_000_000)), "stuck");
        net.log.clear();
        events += 1;
    }
    assert!(events > 70_000);
}

#[test]
fn a_pacing_rate_is_honoured() {
    let cc = Box::new(Double { pacing: Some(Rate::mbps(8)), ..Double::default() });
    let config = Config { mss: 1000, timestamps: false, ..Config::default() };
    let mut net = Net::new([config; 2], [cc, reno()], [1, 1]);
    net.establish();
    net.ends[C].write(Bytes::MAX);
    net.run(at(208));
    let times: Vec<u64> = net.data(C).iter().map(|d| d.0).collect();
    assert_eq!(times, (200..=208).collect::<Vec<_>>(), "1000 bytes each millisecond");
}

#[test]
fn a_window_without_end_does_not_overflow() {
    let mut net = Net::simple(Config::default());
    net.ends[C].write(Bytes::MAX);
    net.ends[C].write(Bytes::MAX);
    net.run(at(1_000));
    net.ends[C].close();
    net.run(at(5_000));
    assert!(net.ends[S].is_finished(), "closing ends it where it has been sent");
    assert_eq!(net.ends[S].delivered_to_app(), net.ends[C].acked());
    assert_eq!(net.ends[C].poll_timeout(), Instant::NEVER);
}
