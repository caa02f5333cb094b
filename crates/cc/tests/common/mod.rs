//! The round model: a connection reduced to what a congestion control sees of it.
//!
//! The sender keeps exactly cwnd in flight. In each round of one round-trip time, every segment that was in flight at
//! its beginning is acknowledged by an ACK of its own, and the ACKs are evenly spaced. The reference states its vectors
//! in this model, so a test builds a model, applies an event and counts rounds.
#![allow(dead_code, clippy::unwrap_used)]

use narrows_cc::{
    Ack, Clocks, Congestion, CongestionControl, ParamValue, Params, Path, Phase, RateSample, Row, Sent, Window, find,
};
use narrows_units::{Bytes, Duration, Instant};

/// Parameters as `("name", "value")`: a number, `true` or `false`, or a word. Each is checked by the row.
pub fn params(row: &Row, given: &[(&str, &str)]) -> Params {
    let value = |text: &str| match (text.parse::<f64>(), text.parse::<bool>()) {
        (Ok(number), _) => ParamValue::Number(number),
        (_, Ok(switch)) => ParamValue::Switch(switch),
        _ => ParamValue::Choice(text.to_owned()),
    };
    let values: Vec<_> = given.iter().map(|&(name, text)| (name.to_owned(), value(text))).collect();
    for (name, value) in &values {
        row.check(name, value).unwrap();
    }
    Params::new(values)
}

/// A flow in the round model.
#[derive(Debug)]
pub struct Model {
    pub cc: Box<dyn CongestionControl>,
    pub win: Window,
    pub path: Path,
    /// Round-trip time that the next ACKs sample.
    pub rtt: Duration,
    /// A bottleneck: the round-trip time without a queue, and the bandwidth-delay product in segments. A round then
    /// takes `base * max(1, cwnd / bdp)`, with the window at its beginning.
    pub bottleneck: Option<(Duration, u64)>,
    /// How far the receiver's clock is ahead of the sender's.
    pub clock_offset: Duration,
    /// Whether ACKs carry a round-trip time sample.
    pub sampling: bool,
    /// Whether ACKs carry timestamps.
    pub timestamps: bool,
    /// Whether ACKs echo CE marks, for all data that they deliver.
    pub marking: bool,
    /// Whether segments released by an ACK count as sent when the algorithm handles the ACK, as in no connection.
    pub sends_before_ack: bool,
    /// Whether an ACK is a plain one where the algorithm takes such.
    pub plain: bool,
    /// ACKs that the algorithm took as plain ones.
    pub taken: u64,
    /// Window before the last congestion event, which an undo restores.
    before: Window,
}

impl Model {
    /// A flow of the algorithm `name` with an initial window of 10 segments of 1448 bytes.
    pub fn new(name: &str, given: &[(&str, &str)], rtt_ms: u64) -> Self {
        let row = find(name).unwrap();
        Self::of((row.build)(&params(row, given)), 1448, Duration::from_millis(rtt_ms))
    }

    pub fn of(cc: Box<dyn CongestionControl>, smss: u64, rtt: Duration) -> Self {
        Self::with_window(cc, smss, rtt, 10)
    }

    /// A flow with an initial window of `segments`, all in flight when the first round begins.
    pub fn with_window(cc: Box<dyn CongestionControl>, smss: u64, rtt: Duration, segments: u64) -> Self {
        let iw = Bytes::new(segments * smss);
        let win = Window { cwnd: iw, ssthresh: None, pacing_rate: None };
        let path = Path {
            now: Instant::from_nanos(1_000_000_000),
            smss: Bytes::new(smss),
            initial_window: iw,
            srtt: Some(rtt),
            min_rtt: Some(rtt),
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
            ecn: narrows_cc::EcnFeedback::Accurate,
            slow_start_at_equality: false,
        };
        let mut model = Self {
            cc,
            win,
            path,
            rtt,
            bottleneck: None,
            clock_offset: Duration::from_secs(1),
            sampling: true,
            timestamps: true,
            marking: false,
            sends_before_ack: false,
            plain: false,
            taken: 0,
            before: win,
        };
        model.cc.on_start(&model.path, &mut model.win);
        model.clamp();
        model
    }

    /// The window in segments.
    pub fn cwnd(&self) -> f64 {
        self.win.cwnd.segments(self.path.smss)
    }

    /// ssthresh in segments.
    pub fn ssthresh(&self) -> f64 {
        self.win.ssthresh.unwrap().segments(self.path.smss)
    }

    /// Puts the flow at a window and a threshold, in segments, with the window in flight.
    pub fn at(mut self, cwnd: u64, ssthresh: Option<u64>) -> Self {
        self.win.cwnd = self.path.smss * cwnd;
        self.win.ssthresh = ssthresh.map(|s| self.path.smss * s);
        self.path.snd_nxt = self.path.snd_una;
        self.send();
        self
    }

    /// Puts a bottleneck of `bdp` segments into the path; the present round-trip time is the one without a queue.
    pub fn through(mut self, bdp: u64) -> Self {
        self.bottleneck = Some((self.rtt, bdp));
        self
    }

    /// Internal state of the algorithm by name.
    pub fn state(&self, name: &str) -> f64 {
        let mut found = f64::NAN;
        self.cc.state(&mut |n, v| found = if n == name { v } else { found });
        found
    }

    /// Clamps cwnd, as the connection does after each hook.
    fn clamp(&mut self) {
        self.win.cwnd = self.win.cwnd.max(self.path.smss);
    }

    /// Sends as much as cwnd allows.
    fn send(&mut self) {
        self.path.snd_nxt = self.path.snd_nxt.max(self.path.snd_una.saturating_add(self.win.cwnd.as_u64()));
        self.flight();
    }

    fn flight(&mut self) {
        self.path.flightsize = Bytes::new(self.path.snd_nxt - self.path.snd_una);
        self.path.inflight = self.path.flightsize;
    }

    /// Delivers an ACK for `bytes` at the present time, then sends what the window allows.
    pub fn ack(&mut self, bytes: u64) {
        let acked = Bytes::new(bytes);
        self.path.snd_nxt = self.path.snd_nxt.max(self.path.snd_una + bytes);
        self.path.snd_una += bytes;
        if self.sends_before_ack {
            self.send();
        }
        self.flight();
        self.path.delivered += acked;
        self.path.srtt = Some(self.rtt);
        self.path.min_rtt = Some(self.path.min_rtt.map_or(self.rtt, |m| m.min(self.rtt)));
        let rate = RateSample {
            delivered: acked,
            interval: self.rtt,
            prior_delivered: self.path.delivered.saturating_sub(acked),
            tx_inflight: self.path.inflight + acked,
            lost: Bytes::ZERO,
            app_limited: !self.path.cwnd_limited,
        };
        let ack = Ack {
            acked,
            delivered: acked,
            rtt: self.sampling.then_some(self.rtt),
            rate: Some(rate),
            // The forward path takes half of the round-trip time.
            one_way_delay: (self.sampling && self.timestamps).then_some(self.rtt / 2 + self.clock_offset),
            clocks: (self.sampling && self.timestamps).then(|| self.clocks()),
            marked: if self.marking { acked } else { Bytes::ZERO },
            ..Ack::default()
        };
        let needs = self.cc.needs();
        let observes_later = self.plain && needs.observes_plainly && !self.timestamps;
        if needs.acks && !observes_later {
            self.cc.observe(&ack, &self.path);
        }
        if self.plain && self.cc.on_plain_ack(&self.path.plain(acked), &mut self.win) {
            self.taken += 1;
        } else {
            if needs.acks && observes_later {
                self.cc.observe(&ack, &self.path);
            }
            self.cc.on_ack(&ack, &self.path, &mut self.win);
        }
        self.clamp();
        self.send();
    }

    /// The clocks that an ACK at the present time shows, whose segment was sent a round-trip time ago.
    fn clocks(&self) -> Clocks {
        let millis = |ago: Duration| (self.path.now.since(Instant::ZERO) - ago).as_millis() as u32;
        let remote = millis(self.rtt / 2).wrapping_add(self.clock_offset.as_millis() as u32);
        Clocks { remote, local: millis(self.rtt) }
    }

    /// Runs one round in which each ACK covers `per` segments; returns the window at its end, in segments.
    pub fn round_of(&mut self, per: u64) -> f64 {
        let (smss, start) = (self.path.smss.as_u64(), self.path.now);
        if let Some((base, bdp)) = self.bottleneck {
            let (cwnd, bdp) = (u128::from(self.win.cwnd.as_u64()), u128::from(bdp * smss));
            let rtt = u128::from(base.as_nanos()) * cwnd.max(bdp) / bdp;
            self.rtt = Duration::from_nanos(u64::try_from(rtt).unwrap());
        }
        let segments = (self.win.cwnd.as_u64() / smss).max(1);
        let acks = segments.div_ceil(per);
        for i in 0..acks {
            let at = u128::from(self.rtt.as_nanos()) * u128::from(i + 1) / u128::from(acks);
            self.path.now = start + Duration::from_nanos(u64::try_from(at).unwrap());
            self.ack(smss * per.min(segments - i * per));
        }
        self.cwnd()
    }

    /// Runs one round with an ACK for each segment.
    pub fn round(&mut self) -> f64 {
        self.round_of(1)
    }

    /// Runs `n` rounds; returns the window after each, in segments.
    pub fn rounds(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.round()).collect()
    }

    /// A congestion event with the whole window in flight, and the end of the recovery that it starts.
    pub fn event(&mut self, event: Congestion) {
        self.before = self.win;
        self.path.phase = match event {
            Congestion::Loss { .. } => Phase::Recovery,
            Congestion::Ecn { .. } => Phase::Cwr,
            Congestion::Timeout { .. } => Phase::Loss,
        };
        self.cc.on_congestion(&event, &self.path, &mut self.win);
        self.clamp();
        if self.path.phase == Phase::Loss {
            self.path.snd_nxt = self.path.snd_una;
        } else {
            self.path.phase = Phase::Open;
            self.cc.on_recovered(&self.path, &mut self.win);
            self.clamp();
            // What was outstanding has left the network when recovery ends.
            self.path.snd_una = self.path.snd_nxt;
        }
        self.send();
        self.path.phase = Phase::Open;
    }

    /// A loss found by fast retransmit.
    pub fn loss(&mut self) {
        self.event(Congestion::Loss { lost: self.path.smss });
    }

    /// An ECN echo.
    pub fn ecn(&mut self) {
        self.event(Congestion::Ecn { marked: self.path.smss });
    }

    /// An expiry of the retransmission timer.
    pub fn timeout(&mut self, repeated: bool) {
        self.event(Congestion::Timeout { repeated });
    }

    /// The last event was spurious: the connection restores the larger of the windows now and before, then informs the
    /// algorithm.
    pub fn undo(&mut self) {
        self.win.cwnd = self.win.cwnd.max(self.before.cwnd);
        self.win.ssthresh = match (self.win.ssthresh, self.before.ssthresh) {
            (Some(now), Some(before)) => Some(now.max(before)),
            _ => None,
        };
        self.cc.on_undo(&self.path, &mut self.win);
        self.clamp();
        self.send();
    }

    /// The window before the last congestion event.
    pub fn before(&self) -> Window {
        self.before
    }

    /// Nothing is sent for `time`, with nothing in flight; then a segment.
    pub fn idle(&mut self, time: Duration) {
        self.path.now += time;
        self.path.snd_una = self.path.snd_nxt;
        self.flight();
        let sent = Sent { bytes: self.path.smss, retransmission: false, idle: time, app_limited: true };
        self.cc.on_sent(&sent, &self.path, &mut self.win);
        self.clamp();
        self.send();
    }
}

/// Asserts that each of `got` is within `relative` of `want`.
#[track_caller]
pub fn close(got: &[f64], want: &[f64], relative: f64) {
    assert_eq!(got.len(), want.len());
    for (g, w) in got.iter().zip(want) {
        assert!((g - w).abs() <= relative * w.abs(), "got {got:?}, want {want:?} within {relative}");
    }
}
