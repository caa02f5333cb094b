//! One station: what it sends, and how it reacts to what it hears (IEEE 802.11-2016, section 10.3).
//!
//! Sans-IO: the medium passes in energy, frames that the station could or could not read, and time; the station returns
//! frames. Its radio (which frames it locks onto) is in `radio.rs`, its access to the medium in `access.rs`.

use crate::access::Access;
use crate::config::{Config, StationConfig};
use crate::frame::{ACK_LEN, BLOCK_ACK_LEN, CTS_LEN, Frame, FrameKind, Mpdu, RTS_LEN};
use crate::meter::StationMeter;
use crate::outbox::Outbox;
use crate::radio::Radio;
use narrows_rng::Stream;
use narrows_units::{Bytes, Duration, Instant};

/// Where a station is in an exchange of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It contends, or has nothing to send.
    Rest,
    /// Its RTS is on the air.
    Rts,
    /// A CTS must begin by this time; `NEVER` while a frame is being received that may be the CTS.
    AwaitCts(Instant),
    /// The CTS came: the data frame starts at this time.
    DataAt(Instant),
    /// Its data frame is on the air.
    Data,
    /// An ACK must begin by this time; `NEVER` while a frame is being received that may be the ACK.
    AwaitAck(Instant),
}

/// The outcome of a station's own exchange, if it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// No exchange ended.
    None,
    /// The data were acknowledged: all of them, or those in a block ACK's bitmap.
    Acknowledged(Option<(u16, u64)>),
    /// No CTS came.
    NoCts,
    /// No ACK came.
    NoAck,
}

/// A station.
#[derive(Debug)]
pub(crate) struct Station {
    pub(crate) number: usize,
    pub(crate) settings: StationConfig,
    pub(crate) access: Access,
    pub(crate) radio: Radio,
    pub(crate) outbox: Outbox,
    pub(crate) phase: Phase,
    /// A CTS, ACK or block ACK, sent SIFS after the frame that it answers.
    reply: Option<Frame>,
    /// Failed attempts of the current frame, without and with the protection of RTS (SRC and LRC).
    short_retries: u32,
    long_retries: u32,
    pub(crate) meter: StationMeter,
    backoff: Stream,
}

impl Station {
    pub(crate) fn new(number: usize, config: &Config, settings: StationConfig, peers: usize, backoff: Stream) -> Self {
        Self {
            number,
            settings,
            access: Access::new(config.slot, config.difs(), config.eifs, config.cw_min, config.cw_max),
            radio: Radio::default(),
            outbox: Outbox::new(peers, config.aggregation.is_some()),
            phase: Phase::Rest,
            reply: None,
            short_retries: 0,
            long_retries: 0,
            meter: StationMeter::default(),
            backoff,
        }
    }

    /// When the station acts, if nothing happens before; this may be in the past.
    pub(crate) fn poll_timeout(&self) -> Instant {
        if self.radio.is_sending() {
            return Instant::NEVER;
        }
        let own = match self.phase {
            Phase::Rest if self.outbox.is_ready() && self.reply.is_none() => self.access.grant(),
            Phase::AwaitCts(t) | Phase::AwaitAck(t) | Phase::DataAt(t) => t,
            Phase::Rest | Phase::Rts | Phase::Data => Instant::NEVER,
        };
        self.reply.map_or(own, |reply| reply.start.min(own))
    }

    /// Does what is due at `now`: sends a frame, or gives up waiting for one.
    pub(crate) fn handle_timeout(&mut self, now: Instant, config: &Config) -> (Option<Frame>, Outcome) {
        if self.radio.is_sending() {
            return (None, Outcome::None);
        }
        if let Some(reply) = self.reply.filter(|reply| reply.start <= now) {
            self.reply = None;
            let frames =
                if reply.kind == FrameKind::Cts { &mut self.meter.cts_frames } else { &mut self.meter.ack_frames };
            *frames += 1;
            return (Some(reply), Outcome::None);
        }
        match self.phase {
            Phase::Rest if self.outbox.is_ready() && self.reply.is_none() && self.access.grant() <= now => {
                self.access.granted();
                (Some(self.attempt(now, config)), Outcome::None)
            }
            Phase::DataAt(t) if t <= now => {
                self.phase = Phase::Data;
                (Some(self.data(now, config)), Outcome::None)
            }
            Phase::AwaitCts(t) | Phase::AwaitAck(t) if t <= now => {
                if self.radio.is_receiving() {
                    // PHY-RXSTART came in time: the end of that frame shows whether it was the answer.
                    self.wait_for_end();
                    return (None, Outcome::None);
                }
                (None, self.unanswered())
            }
            _ => (None, Outcome::None),
        }
    }

    fn wait_for_end(&mut self) {
        match &mut self.phase {
            Phase::AwaitCts(t) | Phase::AwaitAck(t) => *t = Instant::NEVER,
            _ => {}
        }
    }

    fn unanswered(&mut self) -> Outcome {
        match self.phase {
            Phase::AwaitCts(_) => {
                self.phase = Phase::Rest;
                Outcome::NoCts
            }
            Phase::AwaitAck(_) => {
                self.phase = Phase::Rest;
                Outcome::NoAck
            }
            _ => Outcome::None,
        }
    }

    /// Starts an exchange, with an RTS if the data frame is longer than the threshold.
    fn attempt(&mut self, now: Instant, config: &Config) -> Frame {
        if !self.is_protected(config) {
            self.phase = Phase::Data;
            return self.data(now, config);
        }
        self.phase = Phase::Rts;
        self.meter.rts_frames += 1;
        let data = config.data.airtime(self.outbox.psdu());
        let answer = config.control.airtime(answer_len(config));
        let sifs = config.sifs;
        Frame {
            kind: FrameKind::Rts,
            from: self.number,
            to: self.outbox.to(),
            duration: sifs + config.control.airtime(CTS_LEN) + sifs + data + sifs + answer,
            start: now,
            airtime: config.control.airtime(RTS_LEN),
            len: RTS_LEN,
        }
    }

    fn is_protected(&self, config: &Config) -> bool {
        config.rts_threshold.is_some_and(|threshold| self.outbox.psdu() > threshold)
    }

    fn data(&mut self, now: Instant, config: &Config) -> Frame {
        let mpdus = self.outbox.batch();
        let (count, retried) = (mpdus.len() as u64, mpdus.iter().filter(|m| m.retry).count() as u64);
        self.meter.data_frames += 1;
        self.meter.mpdus += count;
        self.meter.retried_mpdus += retried;
        let len = self.outbox.psdu();
        Frame {
            kind: match config.aggregation {
                Some(_) => FrameKind::Aggregate { mpdus: count as u32 },
                None => FrameKind::Data,
            },
            from: self.number,
            to: self.outbox.to(),
            duration: config.sifs + config.control.airtime(answer_len(config)),
            start: now,
            airtime: config.data.airtime(len),
            len,
        }
    }

    /// A frame of its own has started.
    pub(crate) fn on_sending(&mut self, frame: &Frame) {
        self.access.on_busy(frame.start);
        self.access.understood();
        self.radio.send();
        self.meter.airtime += frame.airtime;
    }

    /// A frame of its own has ended.
    pub(crate) fn on_sent(&mut self, now: Instant, config: &Config) {
        self.radio.sent();
        let answer_by = now + config.answer_timeout;
        self.phase = match self.phase {
            Phase::Rts => Phase::AwaitCts(answer_by),
            Phase::Data => Phase::AwaitAck(answer_by),
            other => other,
        };
        self.sense(now);
    }

    /// Energy appears.
    pub(crate) fn on_energy(&mut self, now: Instant) {
        self.access.on_busy(now);
        // A station that wants to send and finds the medium busy has to back off (section 10.3.4.2).
        if self.phase == Phase::Rest && self.outbox.is_ready() {
            self.back_off_if_busy(now);
        }
    }

    /// Draws a backoff if the medium is busy and no backoff is in progress.
    pub(crate) fn back_off_if_busy(&mut self, now: Instant) {
        if !self.access.backs_off(now) && self.access.is_busy(now) {
            self.access.draw(now, &mut self.backoff);
        }
    }

    /// Checks whether the energy is gone.
    pub(crate) fn sense(&mut self, now: Instant) {
        if self.radio.is_quiet() {
            self.access.on_idle(now);
        }
    }

    /// A frame ended that the station could not read. If the station was waiting for an answer, its exchange has
    /// failed.
    pub(crate) fn on_unreadable(&mut self) -> Outcome {
        self.access.not_understood();
        self.unanswered()
    }

    /// A frame ended that the station could read; `reply` is the block ACK that answers an aggregate.
    pub(crate) fn on_frame(
        &mut self,
        frame: &Frame,
        reply: Option<FrameKind>,
        now: Instant,
        config: &Config,
    ) -> Outcome {
        self.access.understood();
        if frame.to != self.number {
            self.access.reserve(now + frame.duration);
            return self.unanswered();
        }
        match (frame.kind, self.phase) {
            (FrameKind::Cts, Phase::AwaitCts(_)) if frame.from == self.outbox.to() => {
                self.phase = Phase::DataAt(now + config.sifs);
                return Outcome::None;
            }
            (FrameKind::Ack, Phase::AwaitAck(_)) if frame.from == self.outbox.to() => {
                self.phase = Phase::Rest;
                return Outcome::Acknowledged(None);
            }
            (FrameKind::BlockAck { start, bitmap }, Phase::AwaitAck(_)) if frame.from == self.outbox.to() => {
                self.phase = Phase::Rest;
                return Outcome::Acknowledged(Some((start, bitmap)));
            }
            _ => {}
        }
        // Any other frame than the answer means that no answer comes (section 10.3.2.9).
        let outcome = self.unanswered();
        match frame.kind {
            FrameKind::Rts if self.phase == Phase::Rest && !self.access.is_reserved(now) => {
                self.answer(frame, FrameKind::Cts, CTS_LEN, now, config);
            }
            FrameKind::Data => self.answer(frame, FrameKind::Ack, ACK_LEN, now, config),
            FrameKind::Aggregate { .. } => {
                if let Some(kind) = reply {
                    self.answer(frame, kind, BLOCK_ACK_LEN, now, config);
                }
            }
            _ => {}
        }
        outcome
    }

    fn answer(&mut self, to: &Frame, kind: FrameKind, len: Bytes, now: Instant, config: &Config) {
        let airtime = config.control.airtime(len);
        let rest = Duration::from_nanos(to.duration.as_nanos().saturating_sub((config.sifs + airtime).as_nanos()));
        self.reply = Some(Frame {
            kind,
            from: self.number,
            to: to.from,
            duration: if kind == FrameKind::Cts { rest } else { Duration::ZERO },
            start: now + config.sifs,
            airtime,
            len,
        });
    }

    /// The current frame was acknowledged: the window is reset, and a backoff keeps this station from sending again at
    /// once.
    pub(crate) fn succeed(&mut self, now: Instant) {
        self.end_of_frame(now);
    }

    /// An attempt failed. Returns whether the frame's attempts are used up.
    pub(crate) fn fail(&mut self, outcome: Outcome, now: Instant, config: &Config) -> bool {
        let used_up = if outcome == Outcome::NoCts {
            self.meter.rts_failures += 1;
            self.short_retries += 1;
            self.short_retries >= config.short_retry
        } else {
            self.meter.data_failures += 1;
            if self.is_protected(config) {
                self.long_retries += 1;
                self.long_retries >= config.long_retry
            } else {
                self.short_retries += 1;
                self.short_retries >= config.short_retry
            }
        };
        if used_up {
            self.end_of_frame(now);
        } else {
            self.access.widen();
            self.access.draw(now, &mut self.backoff);
        }
        used_up
    }

    fn end_of_frame(&mut self, now: Instant) {
        self.short_retries = 0;
        self.long_retries = 0;
        self.access.reset();
        self.access.draw(now, &mut self.backoff);
    }

    /// The MPDUs that are being sent.
    pub(crate) fn mpdus(&self) -> &[Mpdu] {
        self.outbox.batch()
    }
}

/// Length of the frame that acknowledges a data frame.
fn answer_len(config: &Config) -> Bytes {
    if config.aggregation.is_some() { BLOCK_ACK_LEN } else { ACK_LEN }
}
