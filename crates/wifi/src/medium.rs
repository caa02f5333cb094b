//! The shared medium: who hears whom, and what collides.
//!
//! At one instant, frames end before stations act, and stations act before new frames are heard: two stations whose
//! backoffs end in the same slot both send, and collide.

mod exchange;

use crate::config::{Config, Errors, StationConfig};
use crate::frame::{Frame, FrameKind, Mpdu};
use crate::meter::StationMeter;
use crate::reorder::{Reorder, distance};
use crate::station::{Outcome, Station};
use narrows_rng::Stream;
use narrows_units::Instant;
use narrows_wire::Packet;

/// A packet that a station is to send.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// Station that it is for.
    pub to: usize,
    /// The packet.
    pub packet: Packet,
}

/// What stations need from their caller: interface queues, and a receiver of arriving packets.
pub trait Host {
    /// Takes the next packet from `station`'s interface queue; `None` if nothing waits. Called only without
    /// aggregation.
    fn next(&mut self, station: usize, now: Instant) -> Option<Outgoing>;

    /// Takes the next packet of `station`'s interface queue if it is for `to`. Called only with aggregation, where the
    /// peers are served in turn.
    fn next_for(&mut self, station: usize, to: usize, now: Instant) -> Option<Packet>;

    /// A packet arrived at `station`, once and in order.
    fn received(&mut self, station: usize, packet: &Packet, now: Instant);

    /// `station` gave up a packet at a retry limit. `arrived` says that its receiver has it nevertheless: only the
    /// acknowledgments were lost, which `station` cannot know.
    fn given_up(&mut self, station: usize, packet: &Packet, arrived: bool, now: Instant);

    /// A frame starts on the air; `mpdus` are those that it carries (none for control frames). For captures.
    fn sent(&mut self, frame: &Frame, mpdus: &[Mpdu]);
}

/// A frame on the air.
#[derive(Debug)]
struct OnAir {
    id: u64,
    frame: Frame,
    /// Sequence number of the frame's first MPDU, if it carries any.
    first: Option<u16>,
    heard: bool,
    sent: bool,
}

/// A channel and its stations. Station 0 is the base station.
#[derive(Debug)]
pub struct Medium {
    config: Config,
    stations: Vec<Station>,
    /// Whether `from` reaches `to`, at `from * n + to`.
    reach: Vec<bool>,
    /// Per station: frame error rates of data and of control frames, and the stream that they are drawn from.
    errors: Vec<(f64, f64, Stream)>,
    /// Per receiver and sender, at `receiver * n + sender`: the sequence number of the MPDU being sent, once it has
    /// been received; used to detect duplicates.
    last_seq: Vec<Option<u16>>,
    /// Reorder buffers of block ACK agreements, at the same indices. Empty without aggregation.
    reorder: Vec<Reorder>,
    air: Vec<OnAir>,
    ids: u64,
    next: Instant,
}

impl Medium {
    /// An idle medium.
    ///
    /// `hidden` lists pairs where the first station does not reach the second. `stream` makes the random stream of a
    /// station for a purpose (`"backoff"`, `"errors"`).
    pub fn new(
        config: Config,
        stations: &[StationConfig],
        hidden: &[(usize, usize)],
        errors: &[Errors],
        mut stream: impl FnMut(usize, &str) -> Stream,
    ) -> Self {
        let n = stations.len();
        let mut reach = vec![true; n * n];
        for &(from, to) in hidden {
            if let Some(cell) = reach.get_mut(from * n + to) {
                *cell = false;
            }
        }
        let rate = |station: usize, at: narrows_units::Rate| {
            let fits = |e: &&Errors| e.station == station && e.rate.is_none_or(|rate| rate == at);
            errors.iter().rev().find(fits).map_or(0.0, |e| e.fer.as_f64())
        };
        let errors = (0..n)
            .map(|s| (rate(s, config.data.rate()), rate(s, config.control.rate()), stream(s, "errors")))
            .collect();
        let stations = stations
            .iter()
            .enumerate()
            .map(|(s, settings)| Station::new(s, &config, *settings, n, stream(s, "backoff")))
            .collect();
        let reorder =
            if config.aggregation.is_some() { (0..n * n).map(|_| Reorder::default()).collect() } else { Vec::new() };
        Self {
            config,
            stations,
            reach,
            errors,
            last_seq: vec![None; n * n],
            reorder,
            air: Vec::with_capacity(n),
            ids: 0,
            next: Instant::NEVER,
        }
    }

    /// When the medium must be handled next ([`handle`](Self::handle)); `Instant::NEVER` if nothing is pending.
    #[must_use]
    pub fn next_event(&self) -> Instant {
        self.next
    }

    /// Informs `station` of a packet in its interface queue. Afterwards [`next_event`](Self::next_event) may be
    /// earlier.
    pub fn wake(&mut self, station: usize, now: Instant, host: &mut impl Host) {
        self.take(station, now, host);
        self.handle(now, host);
    }

    /// A station's counters.
    ///
    /// # Panics
    /// If there is no such station.
    #[must_use]
    pub fn meter(&self, station: usize) -> &StationMeter {
        &self.stations[station].meter
    }

    /// Packets that a station holds: those taken from its interface queue and neither acknowledged nor given up (they
    /// may have arrived), and those received but waiting for others before them.
    #[must_use]
    pub fn holds(&self, station: usize) -> usize {
        let n = self.stations.len();
        let waiting: usize = self.reorder.iter().skip(station * n).take(n).map(Reorder::len).sum();
        self.stations.get(station).map_or(0, |s| s.outbox.len()) + waiting
    }

    /// Does what is due at `now`.
    pub fn handle(&mut self, now: Instant, host: &mut impl Host) {
        while self.ends(now, host) | self.acts(now, host) | self.begins(now) {}
        self.next = self.soonest();
    }

    fn soonest(&self) -> Instant {
        let propagation = self.config.propagation;
        let mut soonest = self.stations.iter().map(Station::poll_timeout).min().unwrap_or(Instant::NEVER);
        for on in &self.air {
            let end = on.frame.start + on.frame.airtime;
            let due = match (on.heard, on.sent) {
                (false, _) => on.frame.start + propagation,
                (true, false) => end,
                (true, true) => end + propagation,
            };
            soonest = soonest.min(due);
        }
        soonest
    }

    /// Ends frames that are over by `now`, first at their senders, then at the stations that hear them.
    fn ends(&mut self, now: Instant, host: &mut impl Host) -> bool {
        let mut any = false;
        let mut index = 0;
        while let Some(on) = self.air.get_mut(index) {
            let end = on.frame.start + on.frame.airtime;
            if !on.sent && end <= now {
                on.sent = true;
                any = true;
                let from = on.frame.from;
                self.stations[from].on_sent(now, &self.config);
            }
            if end + self.config.propagation > now {
                index += 1;
                continue;
            }
            any = true;
            let on = self.air.remove(index);
            self.end_heard(&on, now, host);
        }
        any
    }

    fn end_heard(&mut self, on: &OnAir, now: Instant, host: &mut impl Host) {
        let n = self.stations.len();
        for station in 0..n {
            if station == on.frame.from || !self.reach[on.frame.from * n + station] {
                continue;
            }
            let outcome = match self.stations[station].radio.end(on.id, self.config.capture_db) {
                None => Outcome::None,
                Some(false) => {
                    self.stations[station].meter.collisions += 1;
                    self.stations[station].on_unreadable()
                }
                Some(true) if station == on.frame.to && self.is_kept(on) => self.addressed(&on.frame, now, host),
                Some(true) if station == on.frame.to => self.stations[station].on_unreadable(),
                Some(true) => self.stations[station].on_frame(&on.frame, None, now, &self.config),
            };
            self.stations[station].sense(now);
            self.conclude(station, outcome, now, host);
        }
    }

    /// Whether the sender still keeps the contents of a frame. If a frame propagates for longer than another lasts, the
    /// sender may have given it up by now, and it counts as lost.
    fn is_kept(&self, on: &OnAir) -> bool {
        let Some(first) = on.first else { return true };
        let sender = &self.stations[on.frame.from];
        sender.outbox.to() == on.frame.to && sender.mpdus().first().is_some_and(|mpdu| mpdu.seq == first)
    }

    /// Handles a readable frame at the station that it is for, unless the frame error rate corrupts it.
    fn addressed(&mut self, frame: &Frame, now: Instant, host: &mut impl Host) -> Outcome {
        let (to, from) = (frame.to, frame.from);
        let mut answer = None;
        match frame.kind {
            FrameKind::Aggregate { mpdus } => {
                let bitmap = self.deliver_aggregate(frame, mpdus, now, host);
                let start = self.stations[from].mpdus().first().map_or(0, |m| m.seq);
                answer = (bitmap != 0).then_some(FrameKind::BlockAck { start, bitmap });
                if answer.is_none() {
                    return self.stations[to].on_unreadable();
                }
            }
            _ if self.strikes(frame) => {
                self.stations[to].meter.corrupted += 1;
                return self.stations[to].on_unreadable();
            }
            FrameKind::Data => self.deliver(frame, now, host),
            _ => {}
        }
        self.stations[to].on_frame(frame, answer, now, &self.config)
    }

    /// Whether the frame error rate corrupts a frame. Every frame goes from or to the base station; the rate is that of
    /// the other station.
    fn strikes(&mut self, frame: &Frame) -> bool {
        let station = frame.from.max(frame.to);
        let (data, control, stream) = &mut self.errors[station];
        let fer = if matches!(frame.kind, FrameKind::Data | FrameKind::Aggregate { .. }) { *data } else { *control };
        fer > 0.0 && stream.chance(fer)
    }

    fn deliver(&mut self, frame: &Frame, now: Instant, host: &mut impl Host) {
        let Some(mpdu) = self.stations[frame.from].mpdus().first().copied() else { return };
        let last = &mut self.last_seq[frame.to * self.stations.len() + frame.from];
        let meter = &mut self.stations[frame.to].meter;
        // A repetition of the last MPDU received is acknowledged again but not delivered (section 10.3.2.11).
        if mpdu.retry && *last == Some(mpdu.seq) {
            meter.duplicates += 1;
            return;
        }
        *last = Some(mpdu.seq);
        meter.received += 1;
        host.received(frame.to, &mpdu.packet, now);
    }

    /// Delivers the MPDUs of an aggregate that arrived; returns the block ACK's bitmap, from the first MPDU on.
    fn deliver_aggregate(&mut self, frame: &Frame, mpdus: u32, now: Instant, host: &mut impl Host) -> u64 {
        let (to, from) = (frame.to, frame.from);
        let mut bitmap = 0_u64;
        let mut start = 0;
        for index in 0..mpdus as usize {
            let struck = self.strikes(frame);
            let Some(mpdu) = self.stations[from].mpdus().get(index).copied() else { break };
            if index == 0 {
                start = mpdu.seq;
            }
            let meter = &mut self.stations[to].meter;
            if struck {
                meter.corrupted += 1;
                continue;
            }
            bitmap |= 1 << (distance(start, mpdu.seq) % 64);
            let reorder = &mut self.reorder[to * self.errors.len() + from];
            let mut delivered = 0;
            let new = reorder.receive(mpdu.seq, &mpdu.packet, |packet| {
                delivered += 1;
                host.received(to, packet, now);
            });
            meter.received += delivered;
            meter.duplicates += u64::from(!new);
        }
        if bitmap != 0 {
            // The scoreboard also has MPDUs that came with an earlier A-MPDU whose block ACK was lost (section
            // 10.24.7.3).
            let reorder = &self.reorder[to * self.errors.len() + from];
            for mpdu in self.stations[from].mpdus().iter().filter(|m| reorder.has(m.seq)) {
                bitmap |= 1 << (distance(start, mpdu.seq) % 64);
            }
        }
        bitmap
    }

    /// Lets the stations act that are due at `now`.
    fn acts(&mut self, now: Instant, host: &mut impl Host) -> bool {
        let mut any = false;
        for station in 0..self.stations.len() {
            if self.stations[station].poll_timeout() > now {
                continue;
            }
            any = true;
            let (frame, outcome) = self.stations[station].handle_timeout(now, &self.config);
            if let Some(frame) = frame {
                self.send(frame, host);
            }
            self.conclude(station, outcome, now, host);
        }
        any
    }

    fn send(&mut self, frame: Frame, host: &mut impl Host) {
        let sender = &mut self.stations[frame.from];
        sender.on_sending(&frame);
        let carries = matches!(frame.kind, FrameKind::Data | FrameKind::Aggregate { .. });
        let mpdus = if carries { sender.mpdus() } else { &[] };
        host.sent(&frame, mpdus);
        self.ids += 1;
        let first = mpdus.first().map(|mpdu| mpdu.seq);
        self.air.push(OnAir { id: self.ids, frame, first, heard: false, sent: false });
    }

    /// Begins frames at the stations that they have reached by `now`.
    fn begins(&mut self, now: Instant) -> bool {
        let n = self.stations.len();
        let mut any = false;
        for on in &mut self.air {
            if on.heard || on.frame.start + self.config.propagation > now {
                continue;
            }
            on.heard = true;
            any = true;
            let from = on.frame.from;
            let signal = self.stations[from].settings.signal_db;
            for station in 0..n {
                if station != from && self.reach[from * n + station] {
                    let this = &mut self.stations[station];
                    this.radio.begin(on.id, signal, now);
                    this.on_energy(now);
                }
            }
        }
        any
    }
}
