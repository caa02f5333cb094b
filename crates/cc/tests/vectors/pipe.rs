//! A flow as a rate-modelling algorithm sees it: rounds of ACKs with delivery-rate samples that the test sets.
#![allow(dead_code, clippy::panic, clippy::unwrap_used)]

use crate::common::params;
use narrows_cc::{Ack, Congestion, CongestionControl, LostSegment, Path, Phase, RateSample, Sent, Window, find};
use narrows_units::{Bytes, Duration, Instant, Rate};

pub const SMSS: u64 = 1448;

/// Whole segments.
pub const fn segments(n: u64) -> Bytes {
    Bytes::new(n * SMSS)
}

/// A connection with every property under the test's control.
#[derive(Debug)]
pub struct Pipe {
    pub cc: Box<dyn CongestionControl>,
    pub win: Window,
    pub path: Path,
    /// Round-trip time of the next ACKs.
    pub rtt: Duration,
    /// Whether the samples are limited by the application.
    pub app_limited: bool,
    /// Whether ACKs report all that they deliver as marked.
    pub marking: bool,
    /// Bytes lost in the next ACK, and since the sampled segment was sent.
    pub lost: Bytes,
    /// Bytes in flight when the sampled segment was sent; `None` is the rate times the round-trip time.
    pub tx_inflight: Option<Bytes>,
    /// In flight after each ACK; `None` is cwnd.
    pub inflight: Option<Bytes>,
}

impl Pipe {
    /// A flow of the algorithm `name` with an initial window of ten segments; the handshake took `rtt_ms`, 0 if that is
    /// not known.
    pub fn new(name: &str, given: &[(&str, &str)], rtt_ms: u64) -> Self {
        Self::seeded(name, given, rtt_ms, 0)
    }

    pub fn seeded(name: &str, given: &[(&str, &str)], rtt_ms: u64, seed: u64) -> Self {
        let row = find(name).unwrap();
        let rtt = Duration::from_millis(rtt_ms);
        let known = (rtt_ms > 0).then_some(rtt);
        let iw = segments(10);
        let win = Window { cwnd: iw, ssthresh: None, pacing_rate: None };
        let path = Path {
            now: Instant::from_nanos(1_000_000_000),
            smss: Bytes::new(SMSS),
            initial_window: iw,
            srtt: known,
            min_rtt: known,
            rto: Duration::from_secs(1),
            flightsize: iw,
            inflight: iw,
            snd_una: 0,
            snd_nxt: iw.as_u64(),
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
            cwnd_limited: true,
            pacing_rate: None,
            departure: Instant::ZERO,
            phase: Phase::Open,
            ecn: narrows_cc::EcnFeedback::Nothing,
            slow_start_at_equality: false,
        };
        let cc = (row.build)(&params(row, given).seeded(seed));
        let mut pipe = Self {
            cc,
            win,
            path,
            rtt,
            app_limited: false,
            marking: false,
            lost: Bytes::ZERO,
            tx_inflight: None,
            inflight: None,
        };
        pipe.cc.on_start(&pipe.path, &mut pipe.win);
        pipe
    }

    /// Internal state by name.
    #[track_caller]
    pub fn state(&self, name: &str) -> f64 {
        let mut found = f64::NAN;
        self.cc.state(&mut |n, v| found = if n == name { v } else { found });
        assert!(!found.is_nan(), "no state {name}");
        found
    }

    pub fn cwnd(&self) -> f64 {
        self.win.cwnd.segments(self.path.smss)
    }

    pub fn pacing_mbps(&self) -> f64 {
        self.win.pacing_rate.unwrap().as_bps() as f64 / 1e6
    }

    /// Delivers an ACK for `bytes` at the present time, with a sample of `bw` from a segment sent when `prior` had been
    /// delivered.
    pub fn ack(&mut self, bytes: Bytes, bw: Rate, prior: Bytes) {
        let interval = self.rtt.max(Duration::from_millis(1));
        self.path.delivered += bytes;
        self.path.lost += self.lost;
        self.path.snd_una += bytes.as_u64();
        self.path.inflight = self.inflight.unwrap_or(self.win.cwnd);
        self.path.flightsize = self.path.inflight;
        self.path.snd_nxt = self.path.snd_una + self.path.flightsize.as_u64();
        self.path.srtt = Some(self.rtt);
        self.path.min_rtt = Some(self.path.min_rtt.map_or(self.rtt, |m| m.min(self.rtt)));
        let rate = RateSample {
            delivered: bw.bytes_in(interval),
            interval,
            prior_delivered: prior,
            tx_inflight: self.tx_inflight.unwrap_or(bw.bytes_in(interval)),
            lost: self.lost,
            app_limited: self.app_limited,
        };
        let ack = Ack {
            acked: bytes,
            delivered: bytes,
            rtt: Some(self.rtt),
            rate: Some(rate),
            newly_lost: self.lost,
            marked: if self.marking { bytes } else { Bytes::ZERO },
            ..Ack::default()
        };
        if self.cc.needs().acks {
            self.cc.observe(&ack, &self.path);
        }
        self.cc.on_ack(&ack, &self.path, &mut self.win);
        self.win.cwnd = self.win.cwnd.max(self.path.smss);
    }

    /// Runs a round: `acks` ACKs over one round-trip time that deliver at `bw`.
    pub fn round_of(&mut self, bw: Rate, acks: u64) {
        let (begin, prior) = (self.path.now, self.path.delivered);
        for i in 1..=acks {
            self.path.now = begin + self.rtt * i / acks;
            self.ack(bw.bytes_in(self.rtt) / acks, bw, prior);
        }
    }

    pub fn round(&mut self, bw: Rate) {
        self.round_of(bw, 4);
    }

    /// Runs rounds at `bw` until `done`; returns their number.
    #[track_caller]
    pub fn until(&mut self, bw: Rate, done: impl Fn(&Self) -> bool) -> u64 {
        for n in 0..2000 {
            if done(self) {
                return n;
            }
            self.round(bw);
        }
        panic!("never: {self:?}");
    }

    /// Reports a loss of `bytes`, from a segment that was sent when `tx_inflight` was in flight.
    pub fn lose(&mut self, bytes: Bytes, tx_inflight: Bytes, lost: Bytes) {
        self.path.lost += bytes;
        let segment =
            LostSegment { start: self.path.lost.as_u64() * 2, bytes, tx_inflight, lost, app_limited: self.app_limited };
        self.cc.on_lost(&segment, &self.path, &mut self.win);
    }

    /// Reports congestion and enters its phase: as the connection does, a loss and an echo in that phase, and a timeout
    /// before it.
    pub fn event(&mut self, event: Congestion) {
        let phase = match event {
            Congestion::Loss { .. } => Phase::Recovery,
            Congestion::Ecn { .. } => Phase::Cwr,
            Congestion::Timeout { .. } => Phase::Loss,
        };
        if phase != Phase::Loss {
            self.path.phase = phase;
        }
        self.cc.on_congestion(&event, &self.path, &mut self.win);
        self.path.phase = phase;
    }

    /// Recovery ends.
    pub fn recovered(&mut self) {
        self.path.phase = Phase::Open;
        self.cc.on_recovered(&self.path, &mut self.win);
    }

    /// The application was silent for `time` with nothing in flight, and sends again.
    pub fn restart(&mut self, time: Duration) {
        self.path.now += time;
        let sent = Sent { bytes: self.path.smss, retransmission: false, idle: time, app_limited: true };
        self.cc.on_sent(&sent, &self.path, &mut self.win);
    }
}
