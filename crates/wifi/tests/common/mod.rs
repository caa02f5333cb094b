//! A host for tests: it offers packets and logs what happens.

#![allow(dead_code, clippy::unwrap_used)]

use narrows_rng::Stream;
use narrows_units::{Bytes, Duration, Instant, Probability, Rate};
use narrows_wifi::{
    Config, Errors, Frame, FrameKind, Host, Medium, Mode, Modulation, Mpdu, Outgoing, StationConfig, registry,
};
use narrows_wire::{Ip, Packet, Transport, UdpRepr};
use std::collections::VecDeque;

/// A packet of `len` bytes with a mark in its source port.
pub fn packet(len: u64, mark: u16) -> Packet {
    let ip = Ip::between([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
    let overhead = ip.header_len() as u64 + 8;
    Packet {
        ip,
        transport: Transport::Udp(UdpRepr { src_port: mark, dst_port: 1, rtp: None }),
        payload_len: (len - overhead) as u32,
    }
}

pub fn mark(packet: &Packet) -> u16 {
    packet.flow().src_port
}

#[derive(Default)]
pub struct Log {
    /// Per station: the packets in its interface queue.
    pub queues: Vec<VecDeque<Outgoing>>,
    /// If set, every station always has another packet of this size for the base station.
    pub saturated: Option<u64>,
    pub frames: Vec<Frame>,
    /// Per frame: sequence numbers of its MPDUs.
    pub seqs: Vec<Vec<u16>>,
    /// Station, mark.
    pub received: Vec<(usize, u16)>,
    pub given_up: Vec<(usize, u16)>,
    /// Marks of given-up packets that never arrived.
    pub lost: Vec<u16>,
    pub received_packets: u64,
    pub quiet: bool,
}

impl Host for Log {
    fn next(&mut self, station: usize, _now: Instant) -> Option<Outgoing> {
        if let Some(len) = self.saturated {
            return (station > 0).then(|| Outgoing { to: 0, packet: packet(len, 1) });
        }
        self.queues[station].pop_front()
    }

    fn next_for(&mut self, station: usize, to: usize, now: Instant) -> Option<Packet> {
        if self.saturated.is_some() {
            return self.next(station, now).filter(|o| o.to == to).map(|o| o.packet);
        }
        let queue = &mut self.queues[station];
        let index = queue.iter().position(|o| o.to == to)?;
        queue.remove(index).map(|o| o.packet)
    }

    fn received(&mut self, station: usize, packet: &Packet, _now: Instant) {
        self.received_packets += 1;
        if !self.quiet {
            self.received.push((station, mark(packet)));
        }
    }

    fn given_up(&mut self, station: usize, packet: &Packet, arrived: bool, _now: Instant) {
        if !self.quiet {
            self.given_up.push((station, mark(packet)));
            self.lost.extend((!arrived).then(|| mark(packet)));
        }
    }

    fn sent(&mut self, frame: &Frame, mpdus: &[Mpdu]) {
        if !self.quiet {
            self.frames.push(*frame);
            self.seqs.push(mpdus.iter().map(|m| m.seq).collect());
        }
    }
}

impl Log {
    pub fn new(stations: usize) -> Self {
        Self { queues: vec![VecDeque::new(); stations], ..Self::default() }
    }

    /// Names of the frames so far, in order, with sender and receiver.
    pub fn story(&self) -> Vec<String> {
        let name = |f: &Frame| match f.kind {
            FrameKind::Rts => "rts".to_owned(),
            FrameKind::Cts => "cts".to_owned(),
            FrameKind::Data => "data".to_owned(),
            FrameKind::Aggregate { mpdus } => format!("data x{mpdus}"),
            FrameKind::Ack => "ack".to_owned(),
            FrameKind::BlockAck { .. } => "block ack".to_owned(),
        };
        self.frames.iter().map(|f| format!("{} {}->{}", name(f), f.from, f.to)).collect()
    }
}

/// 802.11 DSSS at 1 Mb/s with the standard's timing.
pub fn config() -> Config {
    let control = Modulation::dsss(Rate::mbps(1), false);
    let (sifs, slot) = (Duration::from_micros(10), Duration::from_micros(20));
    Config {
        data: control,
        control,
        slot,
        sifs,
        eifs: Config::standard_eifs(sifs, slot, &control),
        answer_timeout: Config::standard_timeout(sifs, slot, &control),
        cw_min: 31,
        cw_max: 1023,
        short_retry: 7,
        long_retry: 4,
        rts_threshold: None,
        propagation: Duration::ZERO,
        capture_db: None,
        aggregation: None,
    }
}

/// A preset with the standard's timing, without RTS and without aggregation.
pub fn preset(name: &str, mode: Mode, basic_rate: Rate, short_preamble: bool) -> Config {
    let row = registry().iter().find(|row| row.name == name).unwrap();
    let (data, control) = row.modulations(mode, basic_rate, short_preamble).unwrap();
    Config {
        data,
        control,
        slot: row.slot,
        sifs: row.sifs,
        eifs: Config::standard_eifs(row.sifs, row.slot, &row.slowest().unwrap()),
        answer_timeout: Config::standard_timeout(row.sifs, row.slot, &control),
        cw_min: row.cw_min,
        cw_max: row.cw_max,
        ..config()
    }
}

pub fn plain(n: usize) -> Vec<StationConfig> {
    vec![StationConfig { signal_db: 0.0, overhead: Bytes::ZERO }; n]
}

pub fn fer(station: usize, p: f64) -> Errors {
    Errors { station, rate: None, fer: Probability::new(p).unwrap() }
}

pub fn medium(config: Config, stations: &[StationConfig], hidden: &[(usize, usize)], errors: &[Errors]) -> Medium {
    Medium::new(config, stations, hidden, errors, |s, purpose| Stream::new(1, 0, &format!("s{s}"), purpose))
}

/// Runs until nothing is due before `end`.
pub fn run(medium: &mut Medium, log: &mut Log, end: Instant) {
    while medium.next_event() <= end && medium.next_event() != Instant::NEVER {
        let now = medium.next_event();
        medium.handle(now, log);
    }
}

pub fn us(n: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(n)
}

pub fn offer(medium: &mut Medium, log: &mut Log, station: usize, to: usize, len: u64, mark: u16, now: Instant) {
    log.queues[station].push_back(Outgoing { to, packet: packet(len, mark) });
    medium.wake(station, now, log);
}
