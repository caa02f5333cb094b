//! How long a data segment takes in the two end points: `cargo run --release -p narrows-tcp --example segments`.
//!
//! Two connections, a pipe of packets each way and nothing else. Prints nanoseconds of CPU per data segment, sender and
//! receiver together, and for the pipe alone, without and with loss.
#![allow(clippy::print_stdout)]

use narrows_cc::{Ack, Congestion, CongestionControl, Path, Window};
use narrows_tcp::{Config, Connection};
use narrows_units::{Bytes, Duration, Instant, SeqNum};
use narrows_wire::Packet;
use std::collections::VecDeque;
use std::error::Error;

/// A window that never changes.
#[derive(Debug)]
struct Fixed(u64);

impl CongestionControl for Fixed {
    fn on_ack(&mut self, _ack: &Ack, path: &Path, win: &mut Window) {
        win.cwnd = path.smss * self.0;
    }

    fn on_congestion(&mut self, _event: &Congestion, _path: &Path, _win: &mut Window) {}
}

/// One direction: packets and when they arrive.
#[derive(Default)]
struct Pipe(VecDeque<(Instant, Packet)>);

impl Pipe {
    fn due(&mut self, now: Instant) -> Option<Packet> {
        if self.0.front().is_some_and(|p| p.0 <= now) { self.0.pop_front().map(|p| p.1) } else { None }
    }
}

/// Delivers `segments` data segments, dropping one of `loss`; returns nanoseconds per segment.
fn transfer(segments: u64, window: u64, loss: Option<u64>) -> Result<f64, Box<dyn Error>> {
    let (a, b) = ("10.0.0.1:1".parse()?, "10.0.0.2:2".parse()?);
    let config = Config { recv_buffer: Bytes::new(64 << 20), ..Config::default() };
    let mut client = Connection::connect(config, Box::new(Fixed(window)), None, a, b, SeqNum::new(1));
    let mut server = Connection::listen(config, Box::new(Fixed(window)), None, b, a, SeqNum::new(1));
    client.write(Bytes::MAX);
    let (mut there, mut back) = (Pipe::default(), Pipe::default());
    let tick = Duration::from_micros(12);
    let delay = tick * (window / 2);
    let mut now = Instant::ZERO;
    let mut sent = 0u64;
    let start = std::time::Instant::now();
    while server.stats().data_segments_received.as_u64() < segments {
        now += tick;
        while let Some(packet) = there.due(now) {
            server.handle_segment(&packet, now);
            while let Some(packet) = server.poll_transmit(now) {
                back.0.push_back((now + delay, packet));
            }
        }
        while let Some(packet) = back.due(now) {
            client.handle_segment(&packet, now);
        }
        for end in [&mut client, &mut server] {
            if end.poll_timeout() <= now {
                end.handle_timeout(now);
            }
        }
        while let Some(packet) = client.poll_transmit(now) {
            sent += 1;
            if loss.is_none_or(|l| sent % l != l - 1) {
                there.0.push_back((now + delay, packet));
            }
        }
    }
    let elapsed = start.elapsed();
    Ok(elapsed.as_nanos() as f64 / segments as f64)
}

/// The pipes alone, one packet there for each data segment and half a one back.
fn pipe_alone(segments: u64, window: u64) -> Result<f64, Box<dyn Error>> {
    let (a, b) = ("10.0.0.1:1".parse()?, "10.0.0.2:2".parse()?);
    let mut client = Connection::connect(Config::default(), Box::new(Fixed(1)), None, a, b, SeqNum::new(1));
    let packet = client.poll_transmit(Instant::ZERO).ok_or("no SYN")?;
    let (mut there, mut back) = (Pipe::default(), Pipe::default());
    for _ in 0..window {
        there.0.push_back((Instant::ZERO, packet));
    }
    let start = std::time::Instant::now();
    let mut bytes = 0;
    for n in 0..segments {
        if let Some(packet) = there.due(Instant::ZERO) {
            bytes += packet.len().as_u64();
            if n % 2 == 0 {
                back.0.push_back((Instant::ZERO, std::hint::black_box(packet)));
            }
        }
        if n % 2 == 0 {
            bytes += back.due(Instant::ZERO).map_or(0, |p| p.len().as_u64());
        }
        there.0.push_back((Instant::ZERO, std::hint::black_box(packet)));
    }
    std::hint::black_box(bytes);
    Ok(start.elapsed().as_nanos() as f64 / segments as f64)
}

fn main() -> Result<(), Box<dyn Error>> {
    let segments = 2_000_000;
    for window in [50, 1000] {
        println!("window of {window} segments:");
        println!("  pipe alone       {:6.1} ns", pipe_alone(segments, window)?);
        println!("  no loss          {:6.1} ns", transfer(segments, window, None)?);
        println!("  loss of 1 in 100 {:6.1} ns", transfer(segments, window, Some(100))?);
    }
    Ok(())
}
