//! A sender bounded by what waits in its host's device (`Config::tsq`).

use super::harness::*;
use crate::{Burst, Config, DelayedAck, InitialWindow};
use narrows_units::{Bytes, Instant, Rate};
use narrows_wire::TcpFlags;
use proptest::prelude::*;
use std::collections::VecDeque;

const SMSS: u64 = 1000;
/// Bytes of a full packet without TCP options.
const PACKET: u64 = 1040;

fn config(window: u32) -> Config {
    Config {
        mss: 1000,
        timestamps: false,
        gso: true,
        tsq: true,
        burst: Burst { min_segments: 2, ..Burst::default() },
        delayed_ack: DelayedAck::Off,
        initial_window: InitialWindow::Segments(window),
        ..Config::default()
    }
}

/// A sender, the client, and its host's device, which sends at a rate. The round-trip time is 100 ms.
struct Sender {
    net: Net,
    rate: Rate,
    free_at: Instant,
    /// When the device has sent each packet.
    left: VecDeque<Instant>,
}

impl Sender {
    fn new(config: Config, rate: Rate) -> Self {
        let mut net = Net::simple(config);
        net.establish();
        net.now = at(1000);
        net.ends[C].write(Bytes::MAX);
        Self { net, rate, free_at: Instant::ZERO, left: VecDeque::new() }
    }

    /// Lets the sender send what it may; returns how many packets leave.
    fn send(&mut self) -> u64 {
        let mut sent = 0;
        while let Some(packet) = self.net.ends[C].poll_transmit(self.net.now) {
            self.net.ends[C].check();
            self.free_at = self.free_at.max(self.net.now) + self.rate.time_for(packet.len());
            self.net.ends[C].on_queued(packet.len(), self.free_at);
            self.left.push_back(self.free_at);
            sent += 1;
        }
        sent
    }

    fn queued(&mut self) -> u64 {
        self.net.ends[C].queued(self.net.now).as_u64()
    }

    /// Lets time pass to the sender's next timer.
    fn wake(&mut self) {
        self.net.now = self.net.ends[C].poll_timeout();
        self.net.ends[C].handle_timeout(self.net.now);
    }

    fn ack(&mut self, segments: u32) {
        let ack = forge(S, 5_001, Some(1_001 + segments * 1000), TcpFlags::NONE, 0);
        self.net.ends[C].handle_segment(&ack, self.net.now);
    }
}

#[test]
fn a_sender_stops_at_two_super_packets_and_goes_on_as_the_device_sends() {
    // 30 segments per 100 ms, twice that in slow start, is 586 octets of a millisecond: super-packets of 2 segments,
    // and 4 packets may wait before a super-packet leaves. 1.04 Mb/s is a packet in 8 ms.
    let mut it = Sender::new(config(30), Rate::bps(1_040_000));
    assert_eq!(it.send(), 6, "with 4 waiting another may leave, with 6 not");
    let start = it.net.now;
    for n in 1..=5 {
        it.wake();
        assert_eq!(it.net.now.since(start), ms(16 * n), "when two packets are sent");
        assert_eq!(it.queued(), 4 * PACKET);
        assert_eq!(it.send(), 2);
    }
    // Without the bound all of the window waits.
    let mut it = Sender::new(Config { tsq: false, ..config(30) }, Rate::bps(1_040_000));
    assert_eq!(it.send(), 30);
}

#[test]
fn the_rate_of_the_window_bounds_what_waits_on_fast_paths() {
    // 1,000 segments per 100 ms, doubled, is 19,531 octets of a millisecond: 19 segments in a super-packet, and twice
    // its 19,760 octets may wait.
    let mut it = Sender::new(config(1000), Rate::mbps(10));
    it.send();
    assert_eq!(it.queued(), 3 * 19 * PACKET);
}

#[test]
fn the_stop_is_not_one_by_cwnd() {
    let cc = reno();
    let diary = cc.diary.clone();
    let mut it = Sender::new(config(30), Rate::bps(1_040_000));
    it.net = Net::new([config(30); 2], [cc, reno()], [1_000, 5_000]);
    it.net.establish();
    it.net.ends[C].write(Bytes::MAX);
    it.send();
    it.net.now += ms(100);
    it.ack(6);
    let limited: Vec<bool> = diary
        .lock()
        .unwrap()
        .iter()
        .filter_map(|told| if let Told::Ack { limited, .. } = told { Some(*limited) } else { None })
        .collect();
    assert_eq!(limited, [false], "the window did not stop the sender, so it does not grow beyond twice the flight");
}

#[test]
fn a_sender_with_one_super_packet_outstanding_is_never_held() {
    // 104 kb/s is a packet in 80 ms.
    let mut it = Sender::new(config(30), Rate::bps(104_000));
    assert_eq!(it.send(), 6);
    // The ACK of all but the last super-packet overtakes what waits, as if that had left long ago.
    it.net.now += ms(100);
    it.ack(4);
    assert_eq!(it.queued(), 5 * PACKET, "more than the limit");
    assert_eq!(it.send(), 2);
    assert_eq!(it.send(), 0, "two are outstanding now");
}

#[test]
fn without_reports_nothing_is_held() {
    let mut net = Net::simple(config(30));
    net.establish();
    net.ends[C].write(Bytes::MAX);
    net.poll();
    assert_eq!(net.data(C).len(), 30);
}

/// What may wait at most at present: 200 % of the window per round-trip time, in 1/1024 s, or two super-packets, and
/// the super-packet that left below this limit. Super-packets are longer on short paths (`tcp_tso_rtt_log`).
fn most(it: &Sender) -> u64 {
    let info = it.net.ends[C].info();
    let window = info.cwnd.max(info.flightsize).as_u64();
    let by_rate = info.srtt.map_or(4 << 20, |srtt| 2 * window * 1_000_000_000 / srtt.as_nanos() / 1024);
    let halvings = info.min_rtt.map_or(31, |rtt| rtt.as_nanos() / 1000 / 512).min(31);
    let burst = ((by_rate + (65_536 >> halvings)) / SMSS + 1).clamp(2, 65) * PACKET;
    by_rate.max(2 * burst) + burst
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// At any rate: what waits never exceeds the kernel's limit and a super-packet, and the device never idles while
    /// the window has room for more than deferring waits for.
    #[test]
    fn the_local_queue_is_bounded_and_the_device_is_kept_busy(
        window in 4_u32..400,
        kbps in prop_oneof![100_u64..2_000, 2_000_u64..100_000],
        back in 1_u64..100,
    ) {
        let mut it = Sender::new(config(window), Rate::kbps(kbps));
        let (mut acked, mut bound) = (0, 0);
        for _ in 0..400 {
            it.send();
            bound = most(&it).max(bound);
            prop_assert!(it.queued() <= bound, "{} of {bound}", it.queued());
            let info = it.net.ends[C].info();
            let room = info.cwnd.as_u64().saturating_sub(info.inflight.as_u64());
            let defers = 3 * room <= info.cwnd.as_u64() + 3 * SMSS;
            prop_assert!(it.queued() > 0 || defers, "nothing waits, with room for {room} of {}", info.cwnd);
            // Every packet is acknowledged a while after the device has sent it.
            let ack = it.left.front().map_or(Instant::NEVER, |left| *left + ms(back));
            if it.net.ends[C].poll_timeout() < ack {
                it.wake();
            } else {
                it.net.now = ack;
                it.left.pop_front();
                acked += 1;
                it.ack(acked);
            }
        }
    }
}
