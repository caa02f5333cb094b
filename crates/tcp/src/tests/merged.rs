//! Segments that the receiver's device merges (`Config::gro`): when TCP gets them, and how many ACKs answer.

use super::harness::*;
use crate::{Config, DelayedAck, EcnEcho, InitialWindow, State};
use narrows_units::{Bytes, Duration, Instant};
use narrows_wire::{Ecn, Packet, TcpFlags};
use proptest::prelude::*;

const SIZE: u32 = 1000;

fn us(n: u64) -> Duration {
    Duration::from_micros(n)
}

fn plain() -> Config {
    Config { mss: 1000, timestamps: false, gro: us(50), ..Config::default() }
}

fn linux() -> Config {
    let delayed_ack = DelayedAck::On { every: 2, timeout: ms(40) };
    Config { quick_ack: true, delayed_ack, ..plain() }
}

/// A receiver, the server of an established connection, fed by hand from sequence number 1001.
struct Receiver {
    net: Net,
    start: Instant,
}

impl Receiver {
    fn new(config: Config) -> Self {
        let mut net = Net::simple(config);
        net.establish();
        Self { start: net.now, net }
    }

    /// Lets time pass to so many microseconds after the start; returns the ACKs that leave by then.
    fn until(&mut self, micros: u64) -> Vec<Packet> {
        let end = self.start + us(micros);
        let mut acks = Vec::new();
        loop {
            let due = self.net.ends[S].poll_timeout();
            if due > end {
                break;
            }
            self.net.now = due;
            self.net.ends[S].handle_timeout(due);
            self.net.ends[S].check();
            acks.extend(self.drain());
        }
        self.net.now = end;
        acks
    }

    fn drain(&mut self) -> Vec<Packet> {
        core::iter::from_fn(|| self.net.ends[S].poll_transmit(self.net.now)).collect()
    }

    /// A segment of [`SIZE`] bytes arrives; returns the ACKs that leave at once.
    fn arrive(&mut self, segment: u32) -> Vec<Packet> {
        self.arrive_with(segment, SIZE, TcpFlags::NONE, Ecn::NotEct)
    }

    fn arrive_with(&mut self, segment: u32, len: u32, flags: TcpFlags, ecn: Ecn) -> Vec<Packet> {
        let mut packet = forge(C, 1_001 + segment * SIZE, Some(5_001), flags, len);
        packet.ip.set_ecn(ecn);
        self.net.ends[S].handle_segment(&packet, self.net.now);
        self.net.ends[S].check();
        self.drain()
    }

    fn delivered(&self) -> u64 {
        self.net.ends[S].delivered_to_app().as_u64()
    }
}

/// What ACKs acknowledge, in segments.
fn acked(acks: &[Packet]) -> Vec<u32> {
    acks.iter().map(|ack| (ack.tcp().unwrap().ack.as_u32() - 1_001) / SIZE).collect()
}

#[test]
fn a_burst_is_one_packet_and_has_one_ack_however_long_it_is() {
    for config in [plain(), linux()] {
        for burst in [2, 3, 10, 45] {
            let mut it = Receiver::new(config);
            for n in 0..burst {
                assert_eq!(it.arrive(n), [], "it waits");
            }
            assert_eq!(it.delivered(), 0);
            assert_eq!(it.net.ends[S].poll_timeout(), it.start + us(50));
            assert_eq!(acked(&it.until(50)), [burst]);
            assert_eq!(it.delivered(), u64::from(burst * SIZE));
            let stats = it.net.ends[S].stats();
            assert_eq!(stats.data_segments_received.as_u64(), burst.into(), "as many segments as before");
        }
    }
}

#[test]
fn without_merging_every_second_segment_has_an_ack() {
    let mut it = Receiver::new(Config { gro: Duration::ZERO, ..plain() });
    let acks: Vec<u32> = (0..10).flat_map(|n| acked(&it.arrive(n))).collect();
    assert_eq!(acks, [2, 4, 6, 8, 10]);
}

#[test]
fn the_number_of_acks_follows_from_the_window_and_the_distance_of_segments() {
    // Segments 10 us apart: those that come within the window of the first go together.
    for (window, together) in [(5, 1), (10, 1), (11, 2), (35, 4), (1000, 40)] {
        let mut it = Receiver::new(Config { gro: us(window), ..plain() });
        let mut acks = Vec::new();
        for n in 0..40 {
            acks.extend(it.until(u64::from(10 * n)));
            acks.extend(it.arrive(n));
        }
        acks.extend(it.until(2000));
        // Of single segments every second is acknowledged, of others every packet.
        let each = together.max(2);
        assert_eq!(acked(&acks), (1..=40 / each).map(|n| n * each).collect::<Vec<u32>>(), "{window} us");
    }
}

#[test]
fn quick_acks_count_packets_not_segments() {
    // Sixteen packets of one segment each have sixteen ACKs, and sixteen of four segments too.
    for each in [1, 4] {
        let mut it = Receiver::new(linux());
        let mut acks = Vec::new();
        for packet in 0..20 {
            for n in 0..each {
                it.arrive(packet * each + n);
            }
            acks.push(it.until(u64::from(packet + 1) * 100).len());
        }
        let later = if each == 1 { [0, 1, 0, 1] } else { [1; 4] };
        assert_eq!(acks[..16], [1; 16], "{each}");
        assert_eq!(acks[16..], later, "{each}: after them more than one segment has an ACK");
    }
}

#[test]
fn the_estimate_of_the_peer_s_mss_takes_segments_not_packets() {
    let mut it = Receiver::new(linux());
    for n in 0..10 {
        let mut packet = forge(C, 1_001 + n * 600, Some(5_001), TcpFlags::NONE, 600);
        packet.ip.set_ecn(Ecn::NotEct);
        it.net.ends[S].handle_segment(&packet, it.net.now);
    }
    assert_eq!(it.until(50).len(), 1);
    assert_eq!(it.net.ends[S].linux_info().receive_mss, Bytes::new(600));
}

#[test]
fn psh_hands_a_burst_on_at_once() {
    let mut it = Receiver::new(linux());
    (0..4).for_each(|n| assert_eq!(it.arrive(n), []));
    assert_eq!(acked(&it.arrive_with(4, SIZE, TcpFlags::PSH, Ecn::NotEct)), [5]);
    assert_eq!(it.delivered(), 5000);
}

#[test]
fn a_segment_out_of_order_ends_the_packet_and_has_an_ack_of_its_own() {
    let mut it = Receiver::new(linux());
    (0..3).for_each(|n| assert_eq!(it.arrive(n), []));
    assert_eq!(acked(&it.arrive(5)), [3], "what came before the gap, at once");
    let acks = it.until(50);
    assert_eq!(acked(&acks), [3], "a duplicate ACK when the window of the segment is over");
    assert_eq!(acks[0].tcp().unwrap().options.sack.len(), 1);
    assert_eq!(it.net.ends[S].stats().out_of_order_segments.as_u64(), 1);
    // One that cannot wait leaves the ACK of the packet before it alone.
    let mut it = Receiver::new(linux());
    it.arrive(0);
    it.arrive(1);
    assert_eq!(acked(&it.arrive_with(7, SIZE, TcpFlags::PSH, Ecn::NotEct)), [2]);
    assert_eq!(it.net.ends[S].poll_timeout(), it.net.now, "it is due at once");
    let acks = it.until(0);
    assert_eq!((acked(&acks), acks[0].tcp().unwrap().options.sack.len()), (vec![2], 1));
}

#[test]
fn marks_inside_a_burst_are_kept_apart_and_all_counted() {
    let marks = |it: &mut Receiver| {
        let mut acks = Vec::new();
        for n in 0..9 {
            let ecn = if (3..6).contains(&n) { Ecn::Ce } else { Ecn::Ect0 };
            acks.extend(it.arrive_with(n, SIZE, TcpFlags::NONE, ecn));
        }
        acks.extend(it.until(60));
        acks
    };
    // DCTCP's receiver: three packets, of which the one in the middle is echoed.
    let dctcp = Config { ecn: true, ecn_echo: EcnEcho::EachMark, ..linux() };
    let mut it = Receiver::new(dctcp);
    let acks = marks(&mut it);
    let echoes: Vec<(u32, bool)> =
        acked(&acks).into_iter().zip(acks.iter().map(|ack| ack.tcp().unwrap().flags.has(TcpFlags::ECE))).collect();
    assert_eq!(echoes, [(3, false), (6, true), (9, false)]);
    assert_eq!(it.net.ends[S].stats().ce_received.as_u64(), 3);
    // AccECN: the counter moves by segments.
    let mut it = Receiver::new(Config { ecn: true, accurate_ecn: true, ..linux() });
    let ace: Vec<u8> = marks(&mut it).iter().map(|ack| ack.tcp().unwrap().flags.ace()).collect();
    let last = ace[ace.len() - 1];
    assert_eq!(last, (5 + 3) % 8, "{ace:?}");
    assert_eq!(it.net.ends[S].accurate_ecn().unwrap().ce_received.as_u64(), 3);
}

#[test]
fn the_last_segments_of_a_connection_are_delivered_and_acknowledged() {
    let mut net = Net::simple(Config { gro: ms(3), ..plain() });
    net.delay = ms(5);
    net.establish();
    net.ends[C].write(Bytes::new(25_500));
    net.ends[C].close();
    net.run(at(1_000));
    net.ends[S].close();
    net.run(at(400_000));
    assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(25_500));
    assert_eq!(net.ends[C].acked(), Bytes::new(25_500));
    assert!([C, S].iter().all(|&end| net.ends[end].state() == State::Closed));
    assert!(net.ends.iter().all(|end| end.aborted_at().is_none()));
}

/// One ACK for many segments (a stretch ACK) grows the window by what it acknowledges (RFC 3465 without a limit, as in
/// Linux), not by one segment.
#[test]
fn a_sender_sees_fewer_acks_that_acknowledge_more() {
    let of = |gro: Duration| {
        let cc = reno();
        let diary = cc.diary.clone();
        let config = Config { gro, initial_window: InitialWindow::Segments(20), ..plain() };
        let mut net = Net::new([config; 2], [cc, reno()], [1_000, 5_000]);
        net.establish();
        net.ends[C].write(Bytes::new(20_000));
        net.run(at(900));
        let acked = |told: &Told| if let Told::Ack { acked, .. } = told { Some(*acked) } else { None };
        let acks: Vec<u64> = diary.lock().unwrap().iter().filter_map(acked).collect();
        acks
    };
    assert_eq!(of(us(50)), [20_000], "a window leaves at one instant here");
    assert_eq!(of(Duration::ZERO), [2_000; 10]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever arrives in whatever order: TCP gets every octet, not later than the window allows, and in the end
    /// acknowledges as much as without merging.
    #[test]
    fn every_octet_reaches_tcp_in_time(
        window in 1_u64..200,
        arrivals in prop::collection::vec((0_u64..60, 0_u32..30, prop_oneof![4 => Just(SIZE), 1 => 1_u32..SIZE], 0_u8..16), 1..120),
    ) {
        let mut with = Receiver::new(Config { gro: us(window), ..linux() });
        let mut without = Receiver::new(Config { gro: Duration::ZERO, ..linux() });
        let mut time = 0;
        let mut late: Vec<(u64, u64)> = Vec::new();
        for &(gap, segment, len, odd) in &arrivals {
            time += gap;
            let flags = if odd == 0 { TcpFlags::PSH } else { TcpFlags::NONE };
            let ecn = if odd == 1 { Ecn::Ce } else { Ecn::NotEct };
            for it in [&mut with, &mut without] {
                it.until(time);
                it.arrive_with(segment, len, flags, ecn);
            }
            late.push((time + window, without.delivered()));
            for &(by, delivered) in late.iter().filter(|(by, _)| *by < time) {
                prop_assert!(with.delivered() >= delivered, "{delivered} octets were due at {by} us, and it is {time}");
            }
        }
        for it in [&mut with, &mut without] {
            it.until(time + 1_000_000);
        }
        prop_assert_eq!(with.delivered(), without.delivered());
        let counted = |it: &Receiver| it.net.ends[S].stats().segments_received;
        prop_assert_eq!(counted(&with), counted(&without));
        prop_assert_eq!(with.net.ends[S].stats().ce_received, without.net.ends[S].stats().ce_received);
    }
}

/// The window grows as without merging, to what the memory allows (`tcp_grow_window` takes the memory of all segments).
#[test]
fn a_tuned_window_grows_with_merged_segments_too() {
    let config = Config { autotuning: true, recv_buffer: Bytes::new(3 << 20), ..linux() };
    let edge = |gro: Duration| {
        let mut it = Receiver::new(Config { gro, ..config });
        let mut last = None;
        for n in 0..40 {
            last = it.arrive(n).pop().or(last);
        }
        let last = it.until(60).pop().or(last).unwrap();
        let tcp = last.tcp().unwrap();
        (tcp.ack, u64::from(tcp.ack.as_u32()) + (u64::from(tcp.window) << 7))
    };
    let (merged, single) = (edge(us(50)), edge(Duration::ZERO));
    assert_eq!(merged.0, single.0);
    assert!(merged.1.abs_diff(single.1) < 30_000, "{merged:?} {single:?}");
}
