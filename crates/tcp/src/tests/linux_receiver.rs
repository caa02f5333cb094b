//! A receiver that follows Linux: quick ACKs (`Config::quick_ack`) and a window that grows (`Config::autotuning`).

use super::harness::*;
use crate::{Config, DelayedAck, LinuxVersion};
use narrows_cc::none::Unlimited;
use narrows_units::{Bytes, Duration, Instant};
use narrows_wire::{Ecn, Packet, TcpFlags};
use proptest::prelude::*;

fn acks() -> Config {
    let delayed_ack = DelayedAck::On { every: 2, timeout: ms(40) };
    Config { mss: 1000, timestamps: false, delayed_ack, quick_ack: true, ..Config::default() }
}

fn window() -> Config {
    Config { autotuning: true, kernel: LinuxVersion::V6_1, recv_buffer: Bytes::new(3 << 20), ..Config::default() }
}

/// Established; the receiver is the server, fed by hand from sequence number 1001.
fn receiver(config: Config) -> Net {
    let mut net = Net::simple(config);
    net.establish();
    net
}

/// How many ACKs answer a segment.
fn feed(net: &mut Net, segment: u32, len: u32) -> usize {
    feed_with(net, segment, len, TcpFlags::NONE).len()
}

fn feed_with(net: &mut Net, segment: u32, len: u32, flags: TcpFlags) -> Vec<Packet> {
    let packet = forge(C, 1_001 + segment * 1_000, Some(5_001), flags, len);
    net.ends[S].handle_segment(&packet, net.now);
    core::iter::from_fn(|| net.ends[S].poll_transmit(net.now)).collect()
}

fn wait(net: &mut Net, millis: u64) {
    net.now += ms(millis);
}

/// After how many milliseconds the ACK of a segment leaves.
fn delay(net: &mut Net, segment: u32) -> u64 {
    assert_eq!(feed(net, segment, 1_000), 0);
    let due = net.ends[S].poll_timeout();
    let delay = due.since(net.now).as_millis();
    net.now = due;
    net.ends[S].handle_timeout(due);
    assert!(net.ends[S].poll_transmit(due).is_some());
    delay
}

#[test]
fn sixteen_segments_are_acknowledged_at_once_and_then_every_second() {
    let mut net = receiver(acks());
    for segment in 0..16 {
        assert_eq!(feed(&mut net, segment, 1_000), 1, "{segment}");
    }
    for segment in 16..30 {
        assert_eq!(feed(&mut net, segment, 1_000), (segment % 2) as usize, "{segment}");
    }
}

#[test]
fn without_the_switch_and_without_delayed_acks_all_is_as_before() {
    let mut net = receiver(Config { quick_ack: false, ..acks() });
    assert_eq!([0, 1, 2].map(|segment| feed(&mut net, segment, 1_000)), [0, 1, 0]);
    let mut net = receiver(Config { delayed_ack: DelayedAck::Off, ..acks() });
    assert!((0..40).all(|segment| feed(&mut net, segment, 1_000) == 1));
}

#[test]
fn the_delay_of_a_lone_segment_doubles_up_to_the_round_trip_time() {
    // The handshake took 100 ms.
    let mut net = receiver(acks());
    (0..16).for_each(|segment| assert_eq!(feed(&mut net, segment, 1_000), 1));
    assert_eq!([16, 17, 18, 19].map(|segment| delay(&mut net, segment)), [40, 80, 100, 100]);
    // Segments that come close together bring the delay back to 40 ms.
    wait(&mut net, 150);
    for segment in 20..30 {
        wait(&mut net, 1);
        feed(&mut net, segment, 1_000);
    }
    assert_eq!(delay(&mut net, 30), 40);
}

#[test]
fn a_pause_of_more_than_an_rto_begins_quick_acks_again() {
    let mut net = receiver(acks());
    (0..16).for_each(|segment| assert_eq!(feed(&mut net, segment, 1_000), 1));
    assert_eq!(feed(&mut net, 16, 1_000) + feed(&mut net, 17, 1_000), 1);
    wait(&mut net, 1_001);
    assert!((18..34).all(|segment| feed(&mut net, segment, 1_000) == 1));
    assert_eq!(feed(&mut net, 34, 1_000), 0);
}

#[test]
fn old_data_begins_quick_acks_again() {
    let mut net = receiver(acks());
    (0..18).for_each(|segment| {
        feed(&mut net, segment, 1_000);
    });
    assert_eq!(feed(&mut net, 0, 1_000), 1);
    assert!((18..33).all(|segment| feed(&mut net, segment, 1_000) == 1), "fifteen are left");
    assert_eq!(feed(&mut net, 33, 1_000), 0);
}

#[test]
fn the_end_of_a_write_is_acknowledged_when_it_is_read() {
    let mut net = receiver(acks());
    (0..16).for_each(|segment| assert_eq!(feed(&mut net, segment, 1_000), 1));
    assert_eq!(feed(&mut net, 16, 1_000), 0);
    assert_eq!(feed(&mut net, 17, 1_000), 1);
    assert_eq!(feed_with(&mut net, 18, 1_000, TcpFlags::PSH).len(), 1);
    assert_eq!(feed(&mut net, 19, 300), 1, "and so is a small segment");
    // Data that is not read is not acknowledged.
    let mut net = receiver(acks());
    (0..16).for_each(|segment| assert_eq!(feed(&mut net, segment, 1_000), 1));
    net.ends[S].set_auto_read(false);
    assert_eq!(feed_with(&mut net, 16, 1_000, TcpFlags::PSH).len(), 0);
    net.ends[S].read(Bytes::MAX);
    assert!(net.ends[S].poll_transmit(net.now).is_some());
}

#[test]
fn a_first_mark_brings_two_quick_acks() {
    let mut net = receiver(Config { ecn: true, ..acks() });
    (0..18).for_each(|segment| {
        feed(&mut net, segment, 1_000);
    });
    let mut marked = |segment: u32, ecn: Ecn, flags: TcpFlags| {
        let mut packet = forge(C, 1_001 + segment * 1_000, Some(5_001), flags, 1_000);
        packet.ip.set_ecn(ecn);
        net.ends[S].handle_segment(&packet, net.now);
        core::iter::from_fn(|| net.ends[S].poll_transmit(net.now)).count()
    };
    assert_eq!(marked(18, Ecn::Ect0, TcpFlags::NONE), 0);
    assert_eq!(marked(19, Ecn::Ce, TcpFlags::NONE), 1);
    assert_eq!(marked(20, Ecn::Ce, TcpFlags::NONE), 1);
    assert_eq!(marked(21, Ecn::Ce, TcpFlags::NONE), 0, "the echo goes on, and more marks say nothing new");
    assert_eq!(marked(22, Ecn::Ect0, TcpFlags::NONE), 1);
    assert_eq!(marked(23, Ecn::Ect0, TcpFlags::CWR), 1, "the sender's window may be very low");
    assert_eq!(marked(24, Ecn::NotEct, TcpFlags::NONE), 1, "probably a retransmission");
    assert_eq!(marked(25, Ecn::Ect0, TcpFlags::NONE), 1);
    assert_eq!(marked(26, Ecn::Ect0, TcpFlags::NONE), 0);
}

#[test]
fn who_answers_soon_lets_its_acks_ride() {
    let mut net = receiver(acks());
    assert_eq!(feed(&mut net, 0, 1_000), 1);
    net.ends[S].write(Bytes::new(100));
    assert!(net.ends[S].poll_transmit(net.now).is_some_and(|answer| answer.payload_len == 100));
    assert_eq!(feed(&mut net, 1, 1_000), 0, "an interactive session has no quick ACKs");
}

/// Two ends without a congestion window, so that the advertised one alone bounds the flight.
fn unbounded(config: Config) -> Net {
    let [a, b] = addresses();
    let wide = || Box::new(Unlimited);
    Net::with([
        crate::Connection::connect(config, wide(), None, a, b, narrows_units::SeqNum::new(1_000)),
        crate::Connection::listen(config, wide(), None, b, a, narrows_units::SeqNum::new(5_000)),
    ])
}

/// Segments sent in each round-trip time of 100 ms.
fn rounds(net: &Net, from: Instant, count: u64) -> Vec<usize> {
    let sent = net.data(C);
    let first = from.since(Instant::ZERO).as_millis();
    let of = |round: u64| sent.iter().filter(|data| (data.0 - first) / 100 == round).count();
    (0..count).map(of).collect()
}

#[test]
fn the_window_begins_at_45_segments_and_grows_with_what_is_read() {
    let mut net = unbounded(window());
    net.establish();
    net.ends[C].write(Bytes::MAX);
    let from = net.now;
    net.run(net.now + ms(900));
    // 65160 bytes, then all but one segment of 64 KiB. What is read in a round-trip time is known only at its end, and
    // then lets the window grow by two segments for each that arrives.
    assert_eq!(rounds(&net, from, 5), [45, 43, 128, 387, 1164]);
}

#[test]
fn an_untuned_window_is_whole_at_once() {
    let mut net = unbounded(Config { autotuning: false, ..window() });
    net.establish();
    net.ends[C].write(Bytes::MAX);
    let from = net.now;
    net.run(net.now + ms(200));
    // The window of a SYN-ACK is not scaled.
    assert_eq!(rounds(&net, from, 2), [45, (3 << 20) / 1448 - 1]);
}

#[test]
fn the_window_stays_within_the_receive_buffer() {
    for (buffer, timestamps, window_scaling) in
        [(20_000, true, true), (100_000, false, true), (1 << 20, true, true), (3 << 20, true, false)]
    {
        let config = Config { recv_buffer: Bytes::new(buffer), timestamps, window_scaling, ..window() };
        let mut net = unbounded(config);
        net.establish();
        net.ends[C].write(Bytes::MAX);
        net.run(net.now + ms(3_000));
        let most = if window_scaling { buffer } else { buffer.min(65_535) };
        let rwnd = net.ends[C].info().rwnd.as_u64();
        assert!(rwnd <= most + 128 && rwnd * 10 > most * 8, "{rwnd} of {most}");
    }
}

#[test]
fn while_the_window_grows_every_segment_is_acknowledged() {
    let both = Config { quick_ack: true, ..window() };
    let count = |config: Config| {
        let mut net = unbounded(config);
        net.establish();
        net.ends[C].write(Bytes::new(300 * 1448));
        net.run(net.now + ms(2_000));
        assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(300 * 1448));
        net.ends[S].stats().acks_sent.as_u64()
    };
    let (with, without) = (count(both), count(Config { autotuning: false, ..both }));
    assert!(without < 170, "16 quick ones, then every second: {without}");
    assert!(with > without + 30, "{with} and {without}");
}

#[test]
fn a_slow_reader_closes_a_tuned_window_and_opens_it_again() {
    let mut net = unbounded(Config { quick_ack: true, ..window() });
    net.establish();
    net.ends[S].set_auto_read(false);
    net.ends[C].write(Bytes::new(400_000));
    net.run(net.now + ms(3_000));
    assert_eq!(net.ends[C].info().rwnd, Bytes::ZERO);
    let held = net.ends[S].readable().as_u64();
    assert!((60_000..80_000).contains(&held), "{held}");
    let limit = net.now + Duration::from_secs(100);
    while net.ends[S].delivered_to_app() < Bytes::new(400_000) && net.now < limit {
        net.ends[S].read(Bytes::new(4_000));
        net.run(net.now + ms(20));
    }
    assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(400_000));
}

proptest! {
    /// Whatever is lost, late or duplicated, and however the application reads: all data arrives, edges never move back
    /// (`Net` checks), and header prediction changes nothing.
    #[test]
    fn everything_arrives_and_prediction_changes_nothing(
        tuned in any::<bool>(),
        kernel in prop::sample::select(vec![LinuxVersion::V6_1, LinuxVersion::V6_12, LinuxVersion::V7_2]),
        quick in any::<bool>(),
        timestamps in any::<bool>(),
        scaling in any::<bool>(),
        slow in any::<bool>(),
        buffer in 3_000u64..200_000,
        sizes in [0u64..150_000, 0u64..20_000],
        fates in prop::collection::vec(0u8..25, 1..200),
    ) {
        let run = |predicts: bool| {
            let delayed_ack = DelayedAck::On { every: 2, timeout: ms(40) };
            let config = Config {
                quick_ack: quick, autotuning: tuned, kernel, timestamps, window_scaling: scaling, delayed_ack,
                recv_buffer: Bytes::new(buffer), max_retries: Some(10_000), ..Config::default()
            };
            let mut net = Net::simple(config);
            net.ends.iter_mut().for_each(|end| end.predicts = predicts);
            let (mut n, fates) = (0usize, fates.clone());
            net.rule = Box::new(move |_, _, _| {
                n += 1;
                match fates[n % fates.len()] {
                    0 | 1 if n <= 300 => Fate::Drop,
                    2 if n <= 300 => Fate::Late(ms(3)),
                    3 if n <= 300 => Fate::Late(ms(300)),
                    4 if n <= 300 => Fate::Twice,
                    _ => Fate::Pass,
                }
            });
            for (end, size) in sizes.into_iter().enumerate() {
                net.ends[end].write(Bytes::new(size));
            }
            net.ends[S].set_auto_read(!slow);
            let limit = Instant::ZERO + Duration::from_secs(1_000_000);
            for step in 0u64.. {
                assert!(step < 1_000_000, "never ends");
                if slow && step.is_multiple_of(7) {
                    net.ends[S].read(Bytes::new(1 + step % 5_000));
                }
                if !net.step(limit) {
                    if net.ends[S].readable().is_zero() {
                        break;
                    }
                    net.ends[S].read(Bytes::MAX);
                }
            }
            net
        };
        let [plain, predicted] = [false, true].map(run);
        prop_assert_eq!(plain.ends[S].delivered_to_app(), Bytes::new(sizes[0]));
        prop_assert_eq!(plain.ends[C].delivered_to_app(), Bytes::new(sizes[1]));
        prop_assert_eq!(plain.log, predicted.log);
    }
}
