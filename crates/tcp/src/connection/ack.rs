//! An ACK at the sender: what it delivers, and what loss recovery and congestion control do.
//!
//! The order is: window, scoreboard, round-trip time, spurious retransmission, recovery's verdict. Then the congestion
//! control measures, and is notified of advice, of congestion and of the ACK itself, in this order. It measures in the
//! phase before the ACK, because Linux calls `pkts_acked` and `in_ack_event` before `tcp_fastretrans_alert`.

use super::Connection;
use crate::ecn::Echo;
use crate::prr::{Prr, Step};
use crate::recovery::{AckEvent, Verdict};
use crate::rto::SampleContext;
use crate::rtt::AckTiming;
use narrows_cc::{Ack, Advice, Congestion, LostSegment, Phase, Window};
use narrows_settings::{Reduction, RtoStyle};
use narrows_units::{Bytes, Duration, Instant};
use narrows_wire::{SackBlocks, TcpFlags, TcpRepr};

/// What an ACK reports besides recovery's verdict, in octets.
#[derive(Clone, Copy, Debug)]
struct News {
    /// FlightSize as the base of a reduction.
    flight: u64,
    /// Newly delivered.
    delivered: u64,
    /// Of these, reported as marked.
    marked: u64,
    /// Whether the ACK echoes congestion.
    echoed: bool,
}

/// SACK blocks of an ACK as offsets.
#[derive(Clone, Copy, Debug, Default)]
struct Blocks {
    list: [(u64, u64); 4],
    len: usize,
    /// Left edge of the D-SACK block, if there is one.
    dsack: Option<u64>,
}

impl Connection {
    /// Handles the ACK field of an acceptable segment; returns `false` if the rest of the segment is dropped.
    #[inline]
    pub(super) fn on_ack(
        &mut self,
        tcp: &TcpRepr,
        payload: u32,
        offset: i64,
        advice: Option<Advice>,
        now: Instant,
    ) -> bool {
        let ack = self.tx.offset(tcp.ack);
        if ack > self.tx.nxt as i64 && !self.on_probe_ack(ack) {
            // The ACK covers something that was never sent (RFC 9293, section 3.10.7.4).
            self.rx.request_ack();
            return false;
        }
        if ack < self.tx.una as i64 {
            return true;
        }
        let ack = ack as u64;
        let window_moved = self.tx.on_window(offset, ack, u64::from(tcp.window) << self.send_shift);
        let acked = ack - self.tx.una;
        if window_moved && self.tx.edge > self.tx.nxt {
            self.stop_persist();
        }
        if acked == 0 && self.tx.board.is_empty() {
            if let Some(advice) = advice {
                let path = self.path(self.tx.board.flight(), now);
                self.congestion.on_advice(advice, &path);
            }
            return true;
        }
        let control = tcp.flags.has(TcpFlags::FIN);
        let repeated = acked == 0 && payload == 0 && !control;
        if repeated {
            self.tx.repeated_acks = self.tx.repeated_acks.saturating_add(1);
            if self.tx.repeated_acks >= 3 {
                let stats = self.stats.rare();
                stats.triple_duplicate_acks += u64::from(self.tx.repeated_acks == 3);
                stats.later_duplicate_acks += 1;
            }
        } else {
            self.tx.repeated_acks = 0;
        }
        self.digest(tcp, ack, acked, repeated && !window_moved, advice, now);
        true
    }

    /// Accepts an ACK beyond SND.NXT if it acknowledges the octet of a window probe.
    #[cold]
    fn on_probe_ack(&mut self, ack: i64) -> bool {
        if !self.tx.probed || ack != self.tx.nxt as i64 + 1 {
            return false;
        }
        self.tx.on_probe_acked();
        true
    }

    /// Whether an ACK that advances SND.UNA to `ack` does nothing else: it reports no loss, no mark that calls for a
    /// reduction and no spurious reduction, and recovery need not take note of it.
    #[inline]
    pub(super) fn is_plain(&self, tcp: &TcpRepr, ack: i64) -> bool {
        self.tx.board.is_clean()
            && self.recovery.phase() == Phase::Open
            && tcp.options.sack.is_empty()
            && self.ecn.expects(ack as u64, tcp)
            && self.prr.is_none()
            && !self.undo.awaits_advance()
    }

    /// The part of [`digest`](Self::digest) that a [plain](Self::is_plain) ACK needs; almost all ACKs are plain.
    #[inline]
    pub(super) fn digest_plain(&mut self, tcp: &TcpRepr, ack: u64, acked: u64, now: Instant) {
        let mut timing = AckTiming::new();
        let rate = &mut self.rate;
        self.tx.una = ack;
        self.tx.limited = 0;
        self.tx.board.ack_clean(ack, |segment, stamp| {
            timing.on_delivered(segment, true);
            rate.on_delivered(segment, stamp, now);
        });
        self.timers.retries = 0;
        let ts = tcp.options.timestamps.filter(|_| self.ts.on);
        let rtt = self.take_sample(&timing, acked, ts.map(|t| t.ecr), now);
        let echo = if self.ecn.is_on() { self.ecn.on_ack(tcp, acked) } else { Echo::default() };
        if echo.marks {
            self.undo.disarm();
        }
        self.timers.rto = if self.tx.board.is_empty() { Instant::NEVER } else { now + self.rto.current() };
        let ack = Ack {
            acked: Bytes::new(acked),
            delivered: Bytes::new(acked),
            rtt,
            rate: self.rate.sample(self.rtt.min(), now),
            duplicate: false,
            one_way_delay: ts.map(|ts| self.ts.difference(ts)),
            clocks: ts.filter(|_| self.congestion.needs.acks).map(|ts| self.ts.clocks(ts, now)),
            marked: Bytes::new(echo.bytes),
            newly_lost: Bytes::ZERO,
        };
        let phase = self.ecn.phase();
        let path = self.path_in(phase, self.tx.board.flight(), now);
        if self.congestion.needs.acks {
            self.congestion.observe(&ack, &path);
        }
        if phase == Phase::Open || self.congestion.needs.window_in_recovery {
            self.congestion.on_ack(&ack, &path);
            if self.congestion.holds_back() {
                self.rate.on_app_limited(self.tx.board.pipe());
            }
        }
        self.pacer.on_ack(self.config.pacing, &self.congestion.win, self.tx.board.flight(), self.smss, self.rto.srtt());
    }

    fn digest(&mut self, tcp: &TcpRepr, ack: u64, acked: u64, duplicate: bool, advice: Option<Advice>, now: Instant) {
        let mut timing = AckTiming::new();
        // The measurements of this ACK belong to the phase before it.
        let found_in = self.phase();
        if self.tx.board.awaits_retransmissions() {
            self.tx.board.believe(now - self.rtt.min().unwrap_or(Duration::ZERO));
        }
        let before = self.rate.delivered();
        if acked > 0 {
            let rate = &mut self.rate;
            self.tx.una = ack;
            self.tx.limited = 0;
            self.tx.board.ack(ack, |segment, stamp| {
                if !segment.has(crate::segment::flag::SACKED) {
                    timing.on_delivered(segment, true);
                    rate.on_delivered(segment, stamp, now);
                }
            });
            self.timers.retries = 0;
        }
        let mut blocks = Blocks::default();
        let mut sacked = 0;
        if self.sack && !tcp.options.sack.is_empty() {
            blocks = self.parse_blocks(&tcp.options.sack, ack);
            let rate = &mut self.rate;
            sacked = self.tx.board.sack(&blocks.list[..blocks.len], |segment, stamp| {
                timing.on_delivered(segment, false);
                rate.on_delivered(segment, stamp, now);
            });
        }
        let ts = tcp.options.timestamps.filter(|_| self.ts.on);
        let echo = ts.map(|t| t.ecr);
        let rtt = self.take_sample(&timing, acked, echo, now);
        let delivered = self.rate.delivered() - before;
        let marks = self.ecn.on_ack(tcp, delivered);
        if marks.marks {
            // The reduction of this episode also answers the echo: even if the loss was spurious, the mark was not.
            self.undo.disarm();
        }
        if self.undo.is_armed() {
            self.detect_spurious(acked, echo, blocks.dsack, now);
        }
        let flight = self.flight_of_a_window();
        let phase_before = self.recovery.phase();
        let event = AckEvent { acked, sacked, duplicate, una: self.tx.una, nxt: self.tx.nxt };
        let verdict = self.recovery.on_ack(&event, &mut self.tx.board);
        if duplicate {
            self.stats.rare().duplicate_acks += narrows_units::Packets::new(1);
        }
        if verdict.newly_lost > 0 {
            self.rate.on_lost(verdict.newly_lost);
            self.stats.rare().lost_bytes += Bytes::new(verdict.newly_lost);
        }
        if acked > 0 {
            if self.tx.board.is_empty() {
                self.timers.rto = Instant::NEVER;
            } else if !verdict.keep_timer {
                self.timers.rto = now + self.rto.current();
            }
        }
        let ack = Ack {
            acked: Bytes::new(acked),
            delivered: Bytes::new(delivered),
            rtt,
            rate: self.rate.sample(self.rtt.min(), now),
            duplicate,
            one_way_delay: ts.map(|ts| self.ts.difference(ts)),
            clocks: ts.filter(|_| self.congestion.needs.acks).map(|ts| self.ts.clocks(ts, now)),
            marked: Bytes::new(marks.bytes),
            newly_lost: Bytes::new(verdict.newly_lost),
        };
        if self.congestion.needs.acks {
            let path = self.path_in(found_in, self.tx.board.flight(), now);
            self.congestion.observe(&ack, &path);
        }
        if verdict.newly_lost > 0 && self.congestion.needs.losses {
            self.report_losses(now);
        }
        if let Some(advice) = advice {
            let path = self.path(self.tx.board.flight(), now);
            self.congestion.on_advice(advice, &path);
        }
        let news = News { flight, delivered, marked: marks.bytes, echoed: marks.marks };
        let reduced = self.react(&verdict, &news, now);
        if self.prr.is_some() {
            self.step_reduction(delivered, acked > 0 && verdict.newly_lost == 0);
        }
        let left_recovery = verdict.exit && phase_before == Phase::Recovery;
        self.grow(&ack, reduced | left_recovery, now);
        let win = Window { cwnd: self.cwnd(), ..self.congestion.win };
        self.pacer.on_ack(self.config.pacing, &win, self.tx.board.flight(), self.smss, self.rto.srtt());
    }

    /// Reports each segment that this ACK, or the retransmission timer, showed to be lost to congestion control.
    #[cold]
    pub(super) fn report_losses(&mut self, now: Instant) {
        let found = self.tx.board.take_found_lost();
        let later = found.iter().map(|(s, _)| u64::from(s.len)).sum::<u64>();
        // Bytes lost when the first of these segments was found, itself not yet counted.
        let mut lost = self.rate.lost().saturating_sub(later);
        for (segment, stamp) in found {
            lost += u64::from(segment.len);
            let told = LostSegment {
                start: segment.start,
                bytes: Bytes::new(u64::from(segment.len)),
                tx_inflight: Bytes::new(u64::from(stamp.tx_inflight)),
                lost: Bytes::new(lost.saturating_sub(stamp.lost)),
                app_limited: segment.has(crate::segment::flag::APP_LIMITED),
            };
            let path = self.path(self.tx.board.flight(), now);
            self.congestion.on_lost(&told, &path);
        }
    }

    /// Reports the end and the beginning of congestion to congestion control; returns whether the window was reduced.
    #[inline]
    fn react(&mut self, verdict: &Verdict, news: &News, now: Instant) -> bool {
        let was_cwr = self.ecn.in_cwr;
        let holds = self.ecn.holds(self.tx.una);
        let open = matches!(self.recovery.phase(), Phase::Open | Phase::Disorder);
        // If a hole keeps SND.UNA back, SACK shows that a window has passed since the last reduction.
        let passed = !open && self.ecn.reduced_until.get().is_some_and(|end| self.tx.board.high_sacked() > end);
        if verdict.exit || (was_cwr && !self.ecn.in_cwr && open) {
            let path = self.path(self.tx.board.flight(), now);
            self.congestion.on_recovered(verdict.cwnd_cap, &path);
            self.tx.usage.restart(now);
        }
        if verdict.enter {
            self.stats.rare().fast_retransmits += 1;
            if self.ecn.covers(self.tx.una) && !self.congestion.needs.loss_after_echo {
                // The same window was already reduced after an echo: once is enough (RFC 3168, section 6.1.2).
                self.undo.disarm();
            } else {
                if news.echoed {
                    self.undo.disarm();
                } else {
                    self.arm_undo();
                }
                self.ecn.on_loss(self.tx.nxt);
                self.congest(&Congestion::Loss { lost: Bytes::new(self.tx.board.lost()) }, news, now);
            }
            if verdict.restart {
                let path = self.path(self.tx.board.flight(), now);
                self.congestion.restart_from_one(&path);
            }
            return true;
        }
        let again = verdict.lost_retransmission.is_some_and(|sent_at| sent_at >= self.reduced_at);
        if !open && again && !self.reduces_once() {
            self.ecn.on_loss(self.tx.nxt);
            self.congest(&Congestion::Loss { lost: Bytes::new(self.tx.board.lost()) }, news, now);
            return true;
        }
        if news.echoed && (passed || (open && !holds)) {
            let at_minimum = self.congestion.win.cwnd.as_u64() <= self.smss;
            self.ecn.on_reduction(self.tx.nxt);
            self.stats.rare().ecn_reductions += 1;
            self.congest(&Congestion::Ecn { marked: Bytes::new(news.marked) }, news, now);
            if at_minimum {
                // The window cannot shrink further: the next segment waits for a timer (RFC 3168, section 6.1.2).
                self.pacer.hold(now + self.rto.current());
            }
            return true;
        }
        false
    }

    /// FlightSize as the base of a reduction: without what limited transmit added (RFC 5681, section 3.2), and with
    /// SACK at most cwnd. While a hole keeps SND.UNA back, FlightSize also counts what was SACKed in many round trips.
    /// That is not in the network, and would cancel the reduction.
    pub(super) fn flight_of_a_window(&self) -> u64 {
        let flight = self.tx.board.flight().saturating_sub(self.tx.limited);
        if self.tx.board.any_sacked() { flight.min(self.congestion.win.cwnd.as_u64()) } else { flight }
    }

    fn congest(&mut self, event: &Congestion, news: &News, now: Instant) {
        let prior = self.cwnd().as_u64();
        self.reduced_at = now;
        self.tx.usage.restart(now);
        let path = self.path(news.flight, now);
        self.congestion.on_congestion(event, &path);
        if self.congestion.leaves_reduction() {
            let board = &self.tx.board;
            let recover_fs = match self.config.reduction {
                Reduction::Immediate => return,
                Reduction::Prr => board.flight() - board.sacked() + news.delivered,
                Reduction::PrrLinux => prior,
            };
            self.prr = Some(Box::new(Prr::new(recover_fs, self.smss)));
        }
    }

    /// Takes the reduction step of this ACK, while the episode lasts.
    fn step_reduction(&mut self, delivered: u64, safe: bool) {
        let rules = match self.phase() {
            Phase::Cwr => true,
            Phase::Recovery => self.recovery.is_governed_by_pipe(),
            Phase::Open | Phase::Disorder | Phase::Loss => false,
        };
        let Some(prr) = self.prr.as_mut().filter(|_| rules) else {
            self.prr = None;
            return;
        };
        let target = self.congestion.win.cwnd.as_u64();
        let inflight = self.tx.board.pipe();
        prr.on_ack(&Step { target, delivered, inflight, safe, smss: self.smss });
    }

    /// Whether one reduction answers all losses of an episode. Algorithms that rule recovery are notified of each loss.
    pub(super) fn reduces_once(&self) -> bool {
        self.config.reduce_once && !self.congestion.needs.window_in_recovery
    }

    fn arm_undo(&mut self) {
        if self.config.undo {
            self.undo.arm(self.congestion.win, self.tx.una);
        }
    }

    /// Lets congestion control grow the window, unless recovery controls the window.
    #[inline]
    fn grow(&mut self, ack: &Ack, reduced: bool, now: Instant) {
        if ack.delivered.is_zero() {
            return;
        }
        let phase = self.phase();
        let grows = !reduced && matches!(phase, Phase::Open | Phase::Disorder | Phase::Loss);
        if grows || self.congestion.needs.window_in_recovery {
            let path = self.path(self.tx.board.flight(), now);
            self.congestion.on_ack(ack, &path);
            if self.congestion.holds_back() {
                self.rate.on_app_limited(self.tx.board.pipe());
            }
        }
    }

    /// Takes the round-trip time sample of this ACK, if it has one.
    #[inline]
    fn take_sample(&mut self, timing: &AckTiming, acked: u64, echo: Option<u32>, now: Instant) -> Option<Duration> {
        let sample = timing.sample(echo.filter(|_| acked > 0), &self.ts, now)?;
        self.rtt.on_sample(sample.path);
        if self.config.rto.style == RtoStyle::Ns2 && !self.ts.on {
            // One segment is timed at a time.
            if self.tx.una <= self.tx.timed_until {
                return Some(sample.path);
            }
            self.tx.timed_until = self.tx.nxt;
        }
        self.sample_rto(sample.timer);
        Some(sample.path)
    }

    /// Feeds the retransmission timer's estimator.
    #[inline(always)]
    pub(super) fn sample_rto(&mut self, rtt: Duration) {
        let context = SampleContext {
            flight_segments: self.tx.board.flight() / self.smss.max(1),
            snd_una: self.tx.una,
            snd_nxt: self.tx.nxt,
        };
        self.rto.on_sample(rtt, &context);
    }

    /// Translates SACK blocks to offsets, drops invalid ones and finds the D-SACK block (RFC 2883, section 4).
    fn parse_blocks(&self, sack: &SackBlocks, ack: u64) -> Blocks {
        let mut blocks = Blocks::default();
        let offsets = |(left, right)| (self.tx.offset(left), self.tx.offset(right));
        let nxt = self.tx.nxt as i64;
        for (i, block) in sack.iter().enumerate() {
            let (left, right) = offsets(block);
            if left >= right || right > nxt {
                continue;
            }
            if i == 0 {
                let inside = sack.iter().nth(1).map(offsets).is_some_and(|(l, r)| l <= left && right <= r);
                if right <= ack as i64 || inside {
                    blocks.dsack = Some(left.max(0) as u64);
                    continue;
                }
            }
            if right > ack as i64 {
                blocks.list[blocks.len] = (left.max(ack as i64) as u64, right as u64);
                blocks.len += 1;
            }
        }
        blocks
    }

    fn detect_spurious(&mut self, acked: u64, echo: Option<u32>, dsack: Option<u64>, now: Instant) {
        let mut before: Option<Window> = None;
        if let Some(left) = dsack {
            before = self.undo.on_dsack(left);
        }
        if acked > 0 && before.is_none() {
            before = self.undo.on_advance(echo);
        }
        let Some(before) = before else { return };
        self.undo.disarm();
        self.stats.rare().spurious += 1;
        self.recovery.on_undo(&mut self.tx.board);
        let path = self.path(self.tx.board.flight(), now);
        self.congestion.on_undo(&before, &path);
        self.tx.usage.restart(now);
    }
}
