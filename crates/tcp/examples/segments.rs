//! Measures how long a data segment and its ACK take in the two end points:
//! `cargo run --release -p narrows-tcp --example segments`.
//!
//! The connections use CUBIC, SACK, timestamps and an ACK per segment, over pipes of packets each way and nothing else.
//! Prints nanoseconds per data segment, sender and receiver together: for the pipes alone, without loss and with loss,
//! in one flow and in many, whose states do not fit into the caches together. `segments FLOWS WINDOW SEGMENTS` runs one
//! of these without loss, for an instruction counter.
#![allow(clippy::print_stdout)]

use narrows_cc::Params;
use narrows_tcp::{Config, Connection, DelayedAck};
use narrows_units::{Bytes, Duration, Instant, SeqNum};
use narrows_wire::Packet;
use std::collections::VecDeque;
use std::error::Error;

/// One direction: packets and their arrival times.
#[derive(Default)]
struct Pipe(VecDeque<(Instant, Packet)>);

impl Pipe {
    fn due(&mut self, now: Instant) -> Option<Packet> {
        if self.0.front().is_some_and(|p| p.0 <= now) { self.0.pop_front().map(|p| p.1) } else { None }
    }
}

/// Two ends and the pipes between them.
struct Flow {
    client: Connection,
    server: Connection,
    there: Pipe,
    back: Pipe,
    sent: u64,
}

impl Flow {
    fn new(window: u64) -> Result<Self, Box<dyn Error>> {
        let (a, b) = ("10.0.0.1:1".parse()?, "10.0.0.2:2".parse()?);
        let config = Config {
            recv_buffer: Bytes::new(64 << 20),
            delayed_ack: DelayedAck::Off,
            max_cwnd: Some(Bytes::new(window * 1448)),
            ..Config::default()
        };
        let cc = || narrows_cc::build("cubic", &Params::default()).ok_or("no such algorithm");
        let mut client = Connection::connect(config, cc()?, None, a, b, SeqNum::new(1));
        let server = Connection::listen(config, cc()?, None, b, a, SeqNum::new(1));
        client.write(Bytes::MAX);
        Ok(Self { client, server, there: Pipe::default(), back: Pipe::default(), sent: 0 })
    }

    /// Runs one step at `now`, with `delay` each way and one of `loss` segments dropped.
    fn step(&mut self, now: Instant, delay: Duration, loss: Option<u64>, packet: &mut Packet) {
        while let Some(data) = self.there.due(now) {
            self.server.handle_segment(&data, now);
            while self.server.poll_transmit_into(now, packet) {
                self.back.0.push_back((now + delay, *packet));
            }
        }
        while let Some(ack) = self.back.due(now) {
            self.client.handle_segment(&ack, now);
        }
        for end in [&mut self.client, &mut self.server] {
            if end.poll_timeout() <= now {
                end.handle_timeout(now);
            }
        }
        while self.client.poll_transmit_into(now, packet) {
            self.sent += 1;
            if loss.is_none_or(|l| self.sent % l != l - 1) {
                self.there.0.push_back((now + delay, *packet));
            }
        }
    }
}

/// Delivers `segments` data segments, dropping one of `loss`; returns nanoseconds per segment.
fn transfer(segments: u64, flows: u64, window: u64, loss: Option<u64>) -> Result<f64, Box<dyn Error>> {
    let mut all = (0..flows).map(|_| Flow::new(window)).collect::<Result<Vec<_>, _>>()?;
    let tick = Duration::from_micros(12);
    let delay = tick * (window / 2);
    let mut packet = all[0].client.poll_transmit(Instant::ZERO).ok_or("no SYN")?;
    all[0].there.0.push_back((Instant::ZERO, packet));
    let mut now = Instant::ZERO;
    let start = std::time::Instant::now();
    while all[0].server.stats().data_segments_received.as_u64() * flows < segments {
        now += tick;
        for flow in &mut all {
            flow.step(now, delay, loss, &mut packet);
        }
    }
    let elapsed = start.elapsed();
    let delivered: u64 = all.iter().map(|f| f.server.stats().data_segments_received.as_u64()).sum();
    Ok(elapsed.as_nanos() as f64 / delivered as f64)
}

/// Measures the pipes alone, with one packet each way per data segment.
fn pipe_alone(segments: u64, window: u64) -> Result<f64, Box<dyn Error>> {
    let mut flow = Flow::new(window)?;
    let packet = flow.client.poll_transmit(Instant::ZERO).ok_or("no SYN")?;
    for _ in 0..window {
        flow.there.0.push_back((Instant::ZERO, packet));
    }
    let start = std::time::Instant::now();
    let mut bytes = 0;
    for _ in 0..segments {
        for pipe in [&mut flow.there, &mut flow.back] {
            bytes += pipe.due(Instant::ZERO).map_or(0, |p| p.len().as_u64());
            pipe.0.push_back((Instant::ZERO, std::hint::black_box(packet)));
        }
    }
    std::hint::black_box(bytes);
    Ok(start.elapsed().as_nanos() as f64 / segments as f64)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = std::env::args().skip(1).map(|a| a.parse()).collect::<Result<Vec<u64>, _>>()?;
    if let [flows, window, segments] = arguments[..] {
        println!("{:6.1} ns", transfer(segments, flows, window, None)?);
        return Ok(());
    }
    let segments = 2_000_000;
    for (flows, window) in [(1, 50), (1, 1000), (100, 100), (10_000, 10)] {
        println!("{flows} flows with a window of {window} segments:");
        println!("  pipe alone       {:6.1} ns", pipe_alone(segments, window)?);
        println!("  no loss          {:6.1} ns", transfer(segments, flows, window, None)?);
        println!("  loss of 1 in 100 {:6.1} ns", transfer(segments, flows, window, Some(100))?);
    }
    Ok(())
}
