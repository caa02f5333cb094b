//! The packet programs of NGWA against the Rust end point: values from options, smoothing, and the window of outgoing
//! segments.

#![cfg(target_os = "linux")]
#![allow(unsafe_code, clippy::unwrap_used, clippy::print_stderr, missing_docs, reason = "tests")]

mod compiled;

use compiled::{Dice, Native};
use narrows_cc::Params;
use narrows_scheme::ngwa::{NgwaAssist, NgwaConfig, NgwaMode, codec};
use narrows_tcp::{Assist, Config, Connection, DelayedAck};
use narrows_units::{Bytes, Duration, Instant, SeqNum};
use narrows_wire::{Ip, Ipv4Options, Packet, TcpFlags, TcpOptions, TcpRepr, Transport};
use std::net::{IpAddr, SocketAddr};

const HERE: ([u8; 4], u16) = ([10, 0, 0, 1], 80);
const THERE: ([u8; 4], u16) = ([10, 0, 1, 1], 1000);
const SHIFT: u8 = 7;

/// Counters: see `narrows_counters` in bpf/native/ngwa.c.
type Counters = [u64; 9];
const TAKEN: usize = 0;
const IGNORED: usize = 1;
const WINDOW: usize = 2;
const TOLD: usize = 3;
const PROBES: usize = 4;
const CAPPED: usize = 5;

fn segment(arrives: bool, tcp: TcpRepr, len: u32) -> Packet {
    let (from, to) = if arrives { (THERE, HERE) } else { (HERE, THERE) };
    let ip = Ip::between(IpAddr::from(from.0), IpAddr::from(to.0));
    Packet { ip, transport: Transport::Tcp(TcpRepr { src_port: from.1, dst_port: to.1, ..tcp }), payload_len: len }
}

fn header(seq: u32, ack: u32, flags: TcpFlags, window: u16) -> TcpRepr {
    TcpRepr { seq: SeqNum::new(seq), ack: SeqNum::new(ack), flags, window, ..TcpRepr::default() }
}

fn syn(flags: TcpFlags, shift: Option<u8>) -> TcpRepr {
    let options = TcpOptions { mss: Some(1460), window_scale: shift, ..TcpOptions::default() };
    TcpRepr { options, ..header(0, 1, flags, 60_000) }
}

/// Data with this option area.
fn data(seq: u32, len: u32, area: &[u8]) -> Packet {
    let mut packet = segment(true, header(seq, 1, TcpFlags::ACK, 500), len);
    if let Ip::V4(ip) = &mut packet.ip {
        ip.options = Ipv4Options::new(area).unwrap();
    }
    packet
}

fn told(value: u32) -> Vec<u8> {
    let mut options = Ipv4Options::EMPTY;
    codec::write(&mut options, value);
    options.as_bytes().to_vec()
}

fn config(mode: u8) -> NgwaConfig {
    NgwaConfig { mode: NgwaMode::new(mode).unwrap(), ..NgwaConfig::default() }
}

/// The C end with the parameters of `config`; the handshake is over, and both sides use window scaling.
fn native(test: &str, config: &NgwaConfig) -> Option<Native> {
    let c = Native::build("ngwa", test)?;
    c.set("alpha", (config.alpha * 4_294_967_296.0).round() as u64);
    c.set("smoothing", u64::from(config.mode.smoothing));
    c.set("shrink", u64::from(config.shrink));
    c.set("max_window", config.max_window.map_or(0, Bytes::as_u64));
    c.arrive(&segment(true, syn(TcpFlags::SYN, Some(3)), 0).emit());
    c.leave(&segment(false, syn(TcpFlags::SYN.with(TcpFlags::ACK), Some(SHIFT)), 0).emit());
    Some(c)
}

fn counters(c: &Native) -> Counters {
    c.counters((HERE.0.into(), HERE.1), (THERE.0.into(), THERE.1)).unwrap()
}

/// Returns the window in bytes that an ACK of `ack` offers, if the kernel's own window is `field` units.
fn offered(c: &Native, ack: u32, field: u16) -> u64 {
    let packet = segment(false, header(1, ack, TcpFlags::ACK, field), 0);
    let left = Packet::parse(&c.leave(&packet.emit())).unwrap();
    let mut expected = packet;
    expected.tcp_mut().unwrap().window = left.tcp().unwrap().window;
    assert_eq!(left, expected, "nothing but the window changes");
    u64::from(left.tcp().unwrap().window) << SHIFT
}

#[test]
fn values_and_hostile_options_are_read_as_in_rust() {
    let config = config(1);
    let Some(c) = native("ngwa-options", &config) else { return };
    let mut rust = NgwaAssist::new(&config);
    let mut dice = Dice(1);
    let mut lengths = [0; 41];
    for _ in 0..100_000 {
        let len = 4 * dice.below(11) as usize;
        lengths[len] += 1;
        // Relevant kinds and lengths, among random bytes.
        let area: Vec<u8> = (0..len)
            .map(|_| match dice.below(6) {
                0 => 0x21,
                1 => 6,
                2 => dice.below(8) as u8,
                3 => 1,
                4 => dice.next() as u8,
                _ => [0, 2, 3, 4, 7, 40][dice.below(6) as usize],
            })
            .collect();
        let packet = data(1, u32::from(!dice.once_in(10)) * 100, &area);
        rust.on_receive(&packet, Instant::ZERO);
        let bytes = packet.emit();
        assert_eq!(c.arrive(&bytes), bytes, "nothing changes on the way in");
        let now = counters(&c);
        assert_eq!((now[TAKEN], now[IGNORED]), (rust.counters()[0], rust.counters()[1]), "{area:?}");
        assert_eq!((now[TOLD] != 0).then_some(Bytes::new(now[WINDOW])), rust.window(), "{area:?}");
    }
    let [taken, ignored, _] = rust.counters();
    assert!(taken > 1000 && ignored > 1000 && lengths[40] > 1000, "{taken} {ignored}");
}

/// For 32-bit values, the mean is too small by less than 2^-23 bytes per step, over 1 / alpha steps, and the rounding
/// of alpha adds 2^-33 of the way. That is two bytes for values of 2^32, and less than a byte for those of networks.
#[test]
fn the_mean_is_that_of_rust() {
    for (alpha, scale) in [(0.3, 100_000u64), (0.3, 1 << 32), (0.05, 1 << 32), (0.9, 1 << 20), (1e-6, 1 << 20)] {
        let config = NgwaConfig { alpha, ..config(6) };
        let Some(c) = native("ngwa-mean", &config) else { return };
        let mut rust = narrows_scheme::ngwa::Smoothing::new(alpha);
        let mut dice = Dice(scale);
        for _ in 0..5000 {
            let value = dice.below(scale).min(u64::from(u32::MAX)) as u32;
            let mean = rust.update(value);
            c.arrive(&data(1, 100, &told(value)).emit());
            let now = counters(&c);
            let bound = 1e-4 + scale as f64 * 4e-10 / alpha.min(0.5);
            let found = now[8] as f64 / f64::from(1 << 24);
            assert!((found - mean).abs() < bound, "alpha {alpha}: {found} for {mean}");
            assert_eq!(now[WINDOW], found as u64);
        }
    }
}

#[test]
fn from_60000_to_20000_as_in_the_vector() {
    let Some(c) = native("ngwa-vector", &config(6)) else { return };
    for (value, mean) in [(60_000, 60_000), (20_000, 48_000), (20_000, 39_600), (20_000, 33_720), (20_000, 29_604)] {
        c.arrive(&data(1, 100, &told(value)).emit());
        // 39,600 may be computed as 39,599.99999, which is cut off to whole bytes.
        assert!(counters(&c)[WINDOW].abs_diff(mean) <= 1, "{mean}");
    }
}

/// The peer's SYN, with these IP options.
fn first(area: &[u8]) -> Packet {
    let mut packet = segment(true, TcpRepr { ack: SeqNum::new(0), ..syn(TcpFlags::SYN, Some(3)) }, 0);
    if let Ip::V4(ip) = &mut packet.ip {
        ip.options = Ipv4Options::new(area).unwrap();
    }
    packet
}

/// Makes a Rust receiver with or without NGWA, which has received the peer's SYN.
fn receiver(ngwa: Option<&NgwaConfig>, buffer: u64, syn: &Packet) -> Connection {
    let config = Config {
        recv_buffer: Bytes::new(buffer),
        delayed_ack: DelayedAck::Off,
        timestamps: false,
        sack: false,
        ..Config::default()
    };
    let cc = narrows_cc::build("reno", &Params::default()).unwrap();
    let assist = ngwa.map(|ngwa| Box::new(NgwaAssist::new(ngwa)) as Box<dyn Assist>);
    let [local, remote] = [HERE, THERE].map(|(host, port)| SocketAddr::new(IpAddr::from(host), port));
    let mut connection = Connection::listen(config, cc, assist, local, remote, SeqNum::new(0));
    connection.handle_segment(syn, Instant::ZERO);
    connection
}

/// Compares the window that the Rust connection offers with NGWA, and the one that C makes of the same connection's
/// window without it. The peer's SYN has a value, or not.
fn follow(test: &str, config: &NgwaConfig, buffer: u64, seed: u64, on_syn: Option<u32>) {
    let Some(c) = native(test, config) else { return };
    c.reset();
    let syn = first(&on_syn.map_or(Vec::new(), told));
    let (mut capped, mut plain) = (receiver(Some(config), buffer, &syn), receiver(None, buffer, &syn));
    let mut now = Instant::ZERO;
    c.arrive(&syn.emit());
    let [expected, answer] = [&mut capped, &mut plain].map(|end| end.poll_transmit(now).unwrap());
    let left = Packet::parse(&c.leave(&answer.emit())).unwrap();
    assert_eq!(left.tcp().unwrap().window, expected.tcp().unwrap().window, "{on_syn:?}");
    let shift = left.tcp().unwrap().options.window_scale.unwrap();
    let last = segment(true, header(1, 1, TcpFlags::ACK, 500), 0);
    c.arrive(&last.emit());
    capped.handle_segment(&last, now);
    plain.handle_segment(&last, now);
    let mut dice = Dice(seed);
    let mut edge = 1 + u32::from(expected.tcp().unwrap().window);
    let (mut seq, mut value, mut different, mut closed) = (1u32, 60_000u64, 0, 0);
    for step in 0..4000u32 {
        now += Duration::from_millis(1);
        // The value drifts, sometimes jumps, and for a while is less than a segment.
        value = match dice.below(20) {
            _ if step % 1000 > 500 => dice.below(1_200),
            0 => dice.below(2_000),
            1 => dice.below(300_000),
            _ => value + dice.below(4000) - value.min(2000),
        };
        let area = if dice.once_in(10) { Vec::new() } else { told(value as u32) };
        let len = if dice.once_in(10) { 1 + dice.below(999) as u32 } else { 1000 };
        // If the window is closed, only data that was sent before arrives; its option counts too.
        let packet = if edge - seq < len { data(seq - 1, 1, &area) } else { data(seq, len, &area) };
        closed += u32::from(edge - seq < len);
        seq += if edge - seq < len { 0 } else { len };
        c.arrive(&packet.emit());
        capped.handle_segment(&packet, now);
        plain.handle_segment(&packet, now);
        let expected = capped.poll_transmit(now).unwrap();
        let answer = plain.poll_transmit(now).unwrap();
        let left = Packet::parse(&c.leave(&answer.emit())).unwrap();
        assert_eq!(left.tcp().unwrap().ack, expected.tcp().unwrap().ack);
        assert_eq!(
            left.tcp().unwrap().window,
            expected.tcp().unwrap().window,
            "{on_syn:?}, step {step}, value {value}, area {area:?}"
        );
        edge = seq + (u32::from(left.tcp().unwrap().window) << shift);
        different += u32::from(left != answer);
        assert_eq!((capped.poll_transmit(now), plain.poll_transmit(now)), (None, None));
    }
    assert!(different > 1000 && closed > 10, "{different} {closed}");
}

#[test]
fn windows_are_those_of_the_rust_connection() {
    // Buffers of whole units: the C program sees the field, not the bytes behind it. They are larger than the values,
    // since a kernel's own window also moves by segments, independently of ours.
    for (seed, buffer) in [(1, 1 << 20), (2, 3 << 20), (3, 16 << 20)] {
        for mode in [1, 2] {
            // A window; one that just holds a segment with room for the option; one that does not; none.
            for on_syn in [None, Some(30_000), Some(1452), Some(1451), Some(0), Some(90_000)] {
                follow("ngwa-windows", &config(mode), buffer, seed, on_syn);
            }
        }
    }
}

#[test]
fn windows_that_may_shrink_are_those_of_the_rust_connection() {
    follow("ngwa-shrink", &NgwaConfig { shrink: true, ..config(5) }, 1 << 20, 4, None);
    follow("ngwa-shrink", &NgwaConfig { shrink: true, ..config(6) }, 1 << 20, 5, None);
}

#[test]
fn the_largest_window_of_the_scenario_is_that_of_the_rust_connection() {
    let bounded = NgwaConfig { max_window: Some(Bytes::new(20_000)), ..config(2) };
    follow("ngwa-largest", &bounded, 1 << 20, 6, None);
}

#[test]
fn the_right_edge_never_moves_left() {
    let Some(c) = native("ngwa-edge", &config(1)) else { return };
    let mut dice = Dice(9);
    let (mut ack, mut edge) = (1u32, 0u64);
    for _ in 0..20_000 {
        c.arrive(&data(ack, 1000, &told(dice.below(200_000) as u32)).emit());
        ack += dice.below(3000) as u32;
        // Not beyond what was offered: a receiver never acknowledges more.
        ack = ack.min(u32::try_from(edge).unwrap_or(u32::MAX).max(60_001));
        let now = u64::from(ack) + offered(&c, ack, 4000);
        // The part of an offer that is due to rounding may be taken back: less than a unit.
        assert!(now + (1 << SHIFT) > edge, "{now} after {edge}");
        edge = edge.max(now);
    }
    assert!(counters(&c)[CAPPED] > 5000);
}

#[test]
fn a_probe_of_a_window_that_the_network_closed_offers_one_segment() {
    let Some(c) = native("ngwa-probe", &config(1)) else { return };
    let probe = |seq| segment(true, header(seq, 1, TcpFlags::ACK, 500), 0).emit();
    c.arrive(&data(1, 1000, &told(500)).emit());
    // The window of the SYN must be used up before it can close.
    assert_eq!(offered(&c, 60_001, 4000), 0);
    c.arrive(&probe(60_001));
    assert_eq!((counters(&c)[PROBES], offered(&c, 60_001, 4000)), (0, 0), "a segment in its place is no probe");
    c.arrive(&probe(60_000));
    assert_eq!(counters(&c)[PROBES], 1);
    assert_eq!(offered(&c, 60_001, 4000), 1024, "a segment of 1000 bytes, in whole units");
    c.arrive(&data(60_001, 1000, &told(50_000)).emit());
    assert_eq!(offered(&c, 61_001, 4000), 50_000 >> SHIFT << SHIFT);
    // A window that the application closed does not count as closed by the network.
    assert_eq!(offered(&c, 120_001, 0), 0);
    c.arrive(&probe(120_000));
    assert_eq!(counters(&c)[PROBES], 1);
}

#[test]
fn a_syn_announces_an_mss_that_leaves_room() {
    let Some(c) = native("ngwa-mss", &config(1)) else { return };
    for flags in [TcpFlags::SYN, TcpFlags::SYN.with(TcpFlags::ACK)] {
        let packet = segment(false, syn(flags, Some(SHIFT)), 0);
        let mut expected = packet;
        expected.tcp_mut().unwrap().options.mss = Some(1452);
        assert_eq!(Packet::parse(&c.leave(&packet.emit())), Ok(expected));
        // An MSS that is already small stays: every host accepts 536 bytes.
        let mut small = packet;
        small.tcp_mut().unwrap().options.mss = Some(540);
        assert_eq!(c.leave(&small.emit()), small.emit());
    }
}

#[test]
fn an_mss_at_an_odd_place_keeps_the_checksum_right() {
    let Some(c) = native("ngwa-odd", &config(1)) else { return };
    let mut bytes = segment(false, syn(TcpFlags::SYN, Some(SHIFT)), 0).emit();
    // MSS and scale take eight bytes with their padding; put a no-operation before, and fill in the checksum again.
    bytes[40..48].copy_from_slice(&[1, 2, 4, 0x05, 0xb4, 3, 3, SHIFT]);
    let (ip, tcp) = bytes.split_at_mut(20);
    assert_eq!(ip[9], 6);
    narrows_wire::TcpView::new_checked(tcp).unwrap().fill_checksum(HERE.0.into(), THERE.0.into());
    let left = c.leave(&bytes);
    assert_eq!(left[43..45], 1452u16.to_be_bytes());
    assert_eq!(Packet::parse(&left).unwrap().tcp().unwrap().options.mss, Some(1452));
}

#[test]
fn a_connection_whose_start_was_not_seen_is_left_alone() {
    let Some(c) = native("ngwa-late", &config(1)) else { return };
    c.reset();
    c.arrive(&data(1, 1000, &told(500)).emit());
    let ack = segment(false, header(1, 1001, TcpFlags::ACK, 4000), 0).emit();
    assert_eq!(c.leave(&ack), ack);
}

#[test]
fn without_scale_on_both_sides_the_window_counts_bytes() {
    let Some(c) = native("ngwa-unscaled", &config(1)) else { return };
    for (ours, theirs) in [(None, Some(3)), (Some(SHIFT), None)] {
        c.reset();
        c.arrive(&segment(true, syn(TcpFlags::SYN, theirs), 0).emit());
        c.leave(&segment(false, syn(TcpFlags::SYN.with(TcpFlags::ACK), ours), 0).emit());
        c.arrive(&data(1, 1000, &told(20_000)).emit());
        let ack = segment(false, header(1, 60_001, TcpFlags::ACK, 50_000), 0);
        let left = Packet::parse(&c.leave(&ack.emit())).unwrap();
        assert_eq!(left.tcp().unwrap().window, 20_000);
    }
}

/// Bytes that are no complete TCP segment over IPv4 pass unchanged; a wrong checksum stays wrong.
#[test]
fn mangled_packets_pass_and_nothing_but_window_and_mss_changes() {
    let Some(c) = native("ngwa-mangled", &config(6)) else { return };
    let mut dice = Dice(7);
    let mut changed = 0;
    for _ in 0..100_000 {
        let flags = if dice.once_in(4) { TcpFlags::SYN } else { TcpFlags::ACK };
        let tcp = if flags == TcpFlags::SYN { syn(flags, Some(SHIFT)) } else { header(1, 60_001, flags, 4000) };
        let mut bytes = if dice.once_in(2) {
            c.arrive(&data(1, 1000, &told(dice.below(100_000) as u32)).emit());
            segment(false, tcp, 40).emit()
        } else {
            let area: Vec<u8> = (0..4 * dice.below(11)).map(|_| dice.next() as u8).collect();
            data(1, 100, &area).emit()
        };
        for _ in 0..dice.below(4) {
            let at = dice.below(bytes.len().min(64) as u64) as usize;
            bytes[at] = dice.next() as u8;
        }
        bytes.truncate(bytes.len() - if dice.once_in(4) { dice.below(bytes.len() as u64) as usize } else { 0 });
        let after = if dice.once_in(2) { c.arrive(&bytes) } else { c.leave(&bytes) };
        if after == bytes {
            continue;
        }
        changed += 1;
        assert_eq!(Packet::parse(&bytes).is_ok(), Packet::parse(&after).is_ok());
        assert_eq!(bytes[..20], after[..20], "the IP header is never touched");
    }
    assert!(changed > 2_000, "{changed}");
}

#[test]
fn the_sender_without_a_window_is_held_open() {
    let Some(c) = Native::build("ngwa", "ngwa-none") else { return };
    let open: extern "C" fn(*mut u64) = c.function("control_open");
    let mut window = [0; 2];
    open(window.as_mut_ptr());
    assert_eq!(window, [1 << 17, 0x7fff_ffff]);
}
