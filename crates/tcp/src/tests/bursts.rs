//! Segments that leave together, as Linux's do with GSO. Times and sizes follow from `tcp_write_xmit`,
//! `tcp_tso_should_defer` and `tcp_sendmsg_locked` of Linux 7.2, computed by hand.

use super::harness::*;
use crate::{Burst, Config, DelayedAck, InitialWindow, Pacing, Reduction, WriteFlags};
use narrows_units::{Bytes, Duration, Instant, Rate, SeqNum};
use narrows_wire::{Packet, SackBlocks, TcpFlags};

const SMSS: u64 = 1000;

fn config() -> Config {
    Config {
        mss: 1000,
        timestamps: false,
        gso: true,
        burst: Burst { min_segments: 10, ..Burst::default() },
        delayed_ack: DelayedAck::Off,
        initial_window: InitialWindow::Segments(10),
        reduction: Reduction::PrrLinux,
        ..Config::default()
    }
}

/// Two ends with a round-trip time of 100 ms, both established.
fn established(config: Config) -> Net {
    let mut net = Net::new([config; 2], [reno(), reno()], [0, 5_000]);
    net.establish();
    net.now = at(1000);
    net
}

/// What `end` sends now, as offset, end and whether it has PSH.
fn bursts(net: &mut Net, end: usize) -> Vec<(u32, u32, bool)> {
    let mut sent = Vec::new();
    while let Some(packet) = net.ends[end].poll_burst(net.now) {
        net.ends[end].check();
        let tcp = packet.tcp().unwrap();
        let from = tcp.seq.as_u32() - 1;
        sent.push((from, from + packet.payload_len, tcp.flags.has(TcpFlags::PSH)));
    }
    sent
}

fn ack(net: &mut Net, upto: u32, blocks: &[(u32, u32)]) {
    net.ends[C].handle_segment(&acked(upto, blocks), net.now);
}

fn acked(upto: u32, blocks: &[(u32, u32)]) -> Packet {
    let mut packet = forge(S, 5001, Some(upto + 1), TcpFlags::NONE, 0);
    let mut sack = SackBlocks::EMPTY;
    for &(left, right) in blocks {
        sack.push(SeqNum::new(left + 1), SeqNum::new(right + 1));
    }
    packet.tcp_mut().unwrap().options.sack = sack;
    packet
}

#[test]
fn half_of_the_window_leaves_as_one_packet() {
    // Packets of several segments have PSH in any case (__tcp_transmit_skb).
    let mut net = established(config());
    net.ends[C].write(Bytes::new(20_000));
    assert_eq!(bursts(&mut net, C), [(0, 5000, true), (5000, 10_000, true)]);
    assert_eq!(bursts(&mut net, C), []);
}

#[test]
fn on_a_long_path_two_segments_leave_together() {
    // 200 % of ten segments per 100 ms is 200,000 octets/s, of which 1/1024 s is 195 octets (tcp_tso_autosize).
    let mut net = established(Config { burst: Burst::default(), ..config() });
    net.ends[C].write(Bytes::new(7_000));
    let pairs = [(0, 2000, true), (2000, 4000, true), (4000, 6000, true), (6000, 7000, true)];
    assert_eq!(bursts(&mut net, C), pairs);
}

#[test]
fn the_end_of_a_write_has_psh_and_may_be_part_of_a_segment() {
    let mut net = established(config());
    net.ends[C].write(Bytes::new(3500));
    assert_eq!(bursts(&mut net, C), [(0, 3500, true)]);
    net.ends[C].write(Bytes::new(500));
    assert_eq!(bursts(&mut net, C), [(3500, 4000, true)], "without Nagle's algorithm");
}

#[test]
fn nagle_in_minshall_s_variant_holds_a_second_small_segment() {
    let mut net = established(Config { nagle: true, ..config() });
    net.ends[C].write(Bytes::new(2500));
    assert_eq!(bursts(&mut net, C), [(0, 2500, true)], "no small segment is outstanding");
    net.ends[C].write(Bytes::new(700));
    assert_eq!(bursts(&mut net, C), []);
    net.ends[C].write(Bytes::new(1000));
    assert_eq!(bursts(&mut net, C), [(2500, 3500, false)], "the full segment of 1,700 octets");
    net.now += ms(100);
    ack(&mut net, 3500, &[]);
    assert_eq!(bursts(&mut net, C), [(3500, 4200, true)]);
}

#[test]
fn the_fin_ends_the_last_packet() {
    let mut net = established(config());
    net.ends[C].write(Bytes::new(2500));
    net.ends[C].close();
    let packet = net.ends[C].poll_burst(net.now).unwrap();
    assert_eq!(packet.payload_len, 2500);
    assert!(packet.tcp().unwrap().flags.has(TcpFlags::FIN.with(TcpFlags::PSH)));
    assert!(net.ends[C].poll_burst(net.now).is_none());
}

#[test]
fn a_record_ends_its_packet() {
    let mut net = established(config());
    net.ends[C].write_with(Bytes::new(400), WriteFlags { record: true, more: false });
    net.ends[C].write(Bytes::new(400));
    assert_eq!(bursts(&mut net, C), [(0, 400, true), (400, 800, true)]);
}

#[test]
fn segments_are_those_of_the_packets() {
    let of = |together: bool| {
        let mut net = established(config());
        net.ends[C].write(Bytes::new(9_300));
        let mut sent = Vec::new();
        while let Some(packet) =
            if together { net.ends[C].poll_burst(net.now) } else { net.ends[C].poll_transmit(net.now) }
        {
            let seq = packet.tcp().unwrap().seq.as_u32() - 1;
            sent.push((seq, packet.payload_len, packet.tcp().unwrap().flags.has(TcpFlags::PSH)));
        }
        sent
    };
    assert_eq!(of(true), [(0, 5000, true), (5000, 4300, true)]);
    let single = of(false);
    assert_eq!(single.len(), 10);
    assert!(single[..9].iter().enumerate().all(|(n, s)| *s == (1000 * n as u32, 1000, n == 4)), "{single:?}");
    assert_eq!(single[9], (9000, 300, true));
}

/// A sender in congestion avoidance with a window of ten, all of it in flight since `at(1000)`.
fn full() -> Net {
    let mut net = established(Config { initial_ssthresh: Some(Bytes::new(5 * SMSS)), ..config() });
    net.ends[C].write(Bytes::MAX);
    assert_eq!(bursts(&mut net, C).len(), 2);
    net
}

#[test]
fn an_ack_in_time_defers_what_a_third_of_the_window_would_send() {
    let mut net = full();
    net.now = at(1100);
    // Two of ten are acknowledged, but the last burst left 100 ms ago: they leave at once.
    ack(&mut net, 2000, &[]);
    assert_eq!(bursts(&mut net, C), [(10_000, 12_000, true)]);
    // The next ACK comes right after: the head left 100 ms ago, its ACK is due, and two are less than a third of ten.
    ack(&mut net, 4000, &[]);
    assert_eq!(bursts(&mut net, C), []);
    ack(&mut net, 6000, &[]);
    assert_eq!(bursts(&mut net, C), [(12_000, 16_000, true)], "four of ten are more than a third");
    ack(&mut net, 8000, &[]);
    assert_eq!(bursts(&mut net, C), []);
    assert!(net.ends[C].info().cwnd >= Bytes::new(10 * SMSS));
    // The head of what is left was sent a moment ago, so its ACK is not due soon.
    ack(&mut net, 10_000, &[]);
    assert_eq!(bursts(&mut net, C).first().map(|burst| burst.0), Some(16_000));
    ack(&mut net, 12_000, &[]);
    assert_eq!(bursts(&mut net, C).len(), 1, "whatever their number");
}

#[test]
fn a_sender_that_waits_is_limited_by_the_window() {
    let mut net = full();
    net.now = at(1100);
    ack(&mut net, 2000, &[]);
    bursts(&mut net, C);
    ack(&mut net, 4000, &[]);
    assert_eq!(bursts(&mut net, C), []);
    assert_eq!(net.ends[C].poll_timeout(), net.now + net.ends[C].info().rto, "no timer but the retransmission's");
}

#[test]
fn retransmissions_of_a_packet_leave_together_up_to_what_is_sacked() {
    let mut net = full();
    net.now = at(1100);
    // The first packet is lost but for its fourth segment; the second packet arrives.
    ack(&mut net, 0, &[(3000, 4000)]);
    assert_eq!(bursts(&mut net, C), [(10_000, 11_000, false)], "limited transmit");
    ack(&mut net, 0, &[(5000, 10_000), (3000, 4000)]);
    let first = bursts(&mut net, C);
    let again: Vec<_> = first.iter().filter(|burst| burst.0 < 5000).collect();
    assert_eq!(again, [&(0, 3000, true), &(4000, 5000, false)], "{first:?}");
}

#[test]
fn after_a_timeout_one_segment_leaves() {
    let mut net = full();
    net.now = net.ends[C].poll_timeout();
    net.ends[C].handle_timeout(net.now);
    assert_eq!(bursts(&mut net, C), [(0, 1000, false)]);
    net.now += ms(100);
    ack(&mut net, 1000, &[]);
    assert_eq!(bursts(&mut net, C), [(1000, 3000, true)], "two of the four that are left of the packet");
    net.now += ms(100);
    ack(&mut net, 3000, &[]);
    assert_eq!(bursts(&mut net, C), [(3000, 5000, true), (5000, 6000, false)], "no farther than it reached");
}

#[test]
fn psh_is_repeated() {
    let mut net = established(config());
    net.ends[C].write(Bytes::new(2500));
    assert_eq!(bursts(&mut net, C), [(0, 2500, true)]);
    for expected in [(0, 1000, false), (1000, 2500, true)] {
        net.now = net.ends[C].poll_timeout();
        if expected.0 == 0 {
            net.ends[C].handle_timeout(net.now);
        } else {
            ack(&mut net, 1000, &[]);
        }
        assert_eq!(bursts(&mut net, C), [expected]);
    }
}

#[test]
fn a_paced_packet_waits_for_all_of_the_last() {
    let pacing = Pacing::Ratio { slow_start: 200, avoidance: 120 };
    let burst = Burst::default();
    let mut net = established(Config { pacing, burst, initial_window: InitialWindow::Segments(40), ..config() });
    net.ends[C].write(Bytes::MAX);
    // 200 % of 40,000 octets per 100 ms: 800,000 octets/s, of which 1/1024 s is less than two segments.
    let first = bursts(&mut net, C);
    assert_eq!(first.len(), 5, "ten segments are not paced: {first:?}");
    assert!(first.iter().all(|burst| burst.1 - burst.0 == 2000));
    assert_eq!(net.ends[C].info().pacing_rate, Some(Rate::of(Bytes::new(80_000), ms(100))));
    // 2000 octets take 2.5 ms, half of which the sender has in credit, because it was idle.
    assert_eq!(net.ends[C].poll_timeout(), net.now + Duration::from_micros(1250));
    net.now = net.ends[C].poll_timeout();
    net.ends[C].handle_timeout(net.now);
    assert_eq!(bursts(&mut net, C), [(10_000, 12_000, true)]);
}

#[test]
fn everything_arrives_by_packets_too() {
    let mut net = established(config());
    net.ends[C].write(Bytes::new(500_000));
    net.ends[C].close();
    let end = Instant::ZERO + ms(100_000);
    while net.now < end && !net.ends[S].is_finished() {
        while let Some(packet) = net.ends[C].poll_burst(net.now) {
            net.ends[S].handle_segment(&packet, net.now + ms(50));
        }
        net.now += ms(50);
        while let Some(packet) = net.ends[S].poll_burst(net.now) {
            net.ends[C].handle_segment(&packet, net.now + ms(50));
        }
        net.now += ms(50);
    }
    assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(500_000));
    assert_eq!(net.ends[C].stats().retransmitted_packets.as_u64(), 0);
}

#[test]
fn a_full_buffer_of_a_program_that_still_writes_does_not_wait() {
    // tcp_push_one, Linux 7.2: no tcp_tso_should_defer.
    let mut net = full();
    net.now = at(1100);
    ack(&mut net, 2000, &[]);
    bursts(&mut net, C);
    ack(&mut net, 4000, &[]);
    assert_eq!(bursts(&mut net, C), []);
    net.ends[C].set_eager(true);
    assert!(net.ends[C].poll_transmit(net.now).is_some() && net.ends[C].is_within_burst());
    assert!(net.ends[C].poll_transmit(net.now).is_some() && !net.ends[C].is_within_burst());
}
