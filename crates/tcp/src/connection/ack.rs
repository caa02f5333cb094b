//! An ACK at the sender: what it delivers, and what loss recovery and congestion control do.
//!
//! The order is: window, scoreboard, round-trip time, spurious retransmission, recovery's verdict. Then the congestion
//! control measures, and is notified of advice, of congestion (`react.rs`) and of the ACK itself, in this order. It
//! measures in the phase before the ACK, because Linux calls `pkts_acked` and `in_ack_event` before
//! `tcp_fastretrans_alert`.

use super::Connection;
use super::react::News;
use crate::ecn::{Echo, Mode};
use crate::episode::{Proof, Stage};
use crate::recovery::{AckEvent, Credible, Deliveries, RtoTimer, Verdict};
use crate::rto::SampleContext;
use crate::rtt::AckTiming;
use crate::segment::flag;
use narrows_cc::{Ack, Advice, Phase, Window};
use narrows_settings::{RecoveryKind, RecoveryStyle, RtoStyle};
use narrows_units::{Bytes, Duration, Instant, Packets};
use narrows_wire::{TcpFlags, TcpRepr};

/// What an ACK delivers.
#[derive(Clone, Copy, Debug)]
struct Delivery {
    /// Octets newly acknowledged cumulatively.
    acked: u64,
    /// Octets newly SACKed.
    sacked: u64,
    /// Octets newly delivered: acknowledged or SACKed, and neither before.
    octets: u64,
    /// How many segments these were.
    segments: u64,
    /// The round-trip time sample.
    rtt: Option<Duration>,
    /// The timestamp that the ACK echoes.
    echo: Option<u32>,
    /// The D-SACK block, as offsets.
    dsack: Option<(u64, u64)>,
    /// When the earliest of the segments left that were sent just once; [`Instant::NEVER`] if there are none.
    earliest: Instant,
    /// See [`Deliveries`].
    order: Deliveries,
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
            if ack >= 0 && self.reads_overtaken(tcp, ack as u64) {
                self.digest(tcp, ack as u64, 0, false, advice, now);
            }
            return true;
        }
        let ack = ack as u64;
        let window_moved = self.tx.on_window(offset, ack, u64::from(tcp.window) << self.tx.send_shift);
        let acked = ack - self.tx.una;
        if window_moved && self.tx.edge > self.tx.nxt {
            self.stop_persist();
        }
        if acked == 0 && self.tx.board.is_empty() && !self.is_news_of_the_past(tcp) {
            if let Some(advice) = advice {
                let path = self.path(self.tx.board.flight(), now);
                self.congestion.on_advice(advice, &path);
            }
            return true;
        }
        let control = tcp.flags.has(TcpFlags::FIN);
        let repeated = acked == 0 && payload == 0 && !control;
        self.count_repeated(repeated);
        self.digest(tcp, ack, acked, repeated && !window_moved, advice, now);
        true
    }

    /// Whether the SACK blocks of an ACK that later ones have overtaken are read, as in Linux (`tcp_ack`).
    #[cold]
    fn reads_overtaken(&self, tcp: &TcpRepr, ack: u64) -> bool {
        let reads = self.socket.is_some() || self.undoes_as_linux();
        reads && self.sack && !tcp.options.sack.is_empty() && self.tx.una - ack <= self.tx.max_window()
    }

    /// Whether an ACK while nothing is outstanding may show what became of a probe or of retransmissions.
    #[inline]
    fn is_news_of_the_past(&self, tcp: &TcpRepr) -> bool {
        self.recovery.awaits_ack() || (self.recovery.is_timed() && !tcp.options.sack.is_empty())
    }

    /// Counts ACKs that acknowledge nothing new.
    #[inline]
    fn count_repeated(&mut self, repeated: bool) {
        if !repeated {
            self.tx.repeated_acks = 0;
            return;
        }
        self.tx.repeated_acks = self.tx.repeated_acks.saturating_add(1);
        if self.tx.repeated_acks >= 3 {
            let stats = self.stats.rare();
            stats.triple_duplicate_acks += u64::from(self.tx.repeated_acks == 3);
            stats.later_duplicate_acks += 1;
        }
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

    /// Handles an ACK that is not plain.
    fn digest(&mut self, tcp: &TcpRepr, ack: u64, acked: u64, duplicate: bool, advice: Option<Advice>, now: Instant) {
        // The measurements of this ACK belong to the phase before it.
        let found_in = self.phase();
        let ts = tcp.options.timestamps.filter(|_| self.ts.on);
        let mut delivery = self.deliver(tcp, ack, acked, now);
        if self.counts_duplicates() {
            delivery.octets -= self.counted_before(acked, duplicate);
        }
        // Without progress an ACK may be one that others have overtaken (RFC 9768, section 3.2.2.5.2).
        let progress = delivery.octets > 0 || !self.sack || self.ecn.mode() != Mode::Accurate;
        let forward = acked > 0 || delivery.sacked > 0;
        let echo = match self.report_delivery(tcp, delivery.segments, delivery.octets, forward) {
            Some(echo) => echo,
            None if progress => self.ecn.on_ack(tcp, delivery.octets),
            None => Echo::default(),
        };
        if echo.marks {
            // The reduction of this episode also answers the echo: even if the loss was spurious, the mark was not.
            self.episode.on_mark();
        }
        self.rate.on_marked(echo.bytes);
        if self.episode.may_be_spurious() {
            self.look_for_spurious(&delivery, now);
        }
        let flight = self.flight_of_a_window();
        let in_recovery = self.recovery.phase() == Phase::Recovery;
        let verdict = self.ask_recovery(&delivery, duplicate, now);
        let ack = Ack {
            acked: Bytes::new(acked),
            delivered: Bytes::new(delivery.octets),
            rtt: delivery.rtt,
            rate: self.rate.sample(self.rtt.min(), now),
            duplicate,
            one_way_delay: ts.map(|ts| self.ts.difference(ts)),
            clocks: ts.filter(|_| self.congestion.needs.acks).map(|ts| self.ts.clocks(ts, now)),
            marked: Bytes::new(echo.bytes),
            newly_lost: Bytes::new(verdict.newly_lost),
        };
        if self.congestion.limits.is_some() {
            self.validate_by_ack(now);
        }
        self.measure(&ack, found_in, advice, now);
        let Echo { marks: echoed, bytes: marked } = echo;
        let news = News { flight, delivered: delivery.octets, marked, echoed, advanced: acked > 0 };
        let reduced = self.react(&verdict, &news, now);
        self.grow(&ack, reduced | (verdict.exit && in_recovery && !self.grows_at_exit()), now);
        let win = Window { cwnd: self.cwnd(), ..self.congestion.win };
        self.pacer.on_ack(self.config.pacing, &win, self.tx.board.flight(), self.smss, self.rto.srtt());
    }

    /// Undoes the latest reduction if an ACK shows that it was spurious.
    fn look_for_spurious(&mut self, delivery: &Delivery, now: Instant) {
        let Delivery { acked, echo, dsack, .. } = *delivery;
        let stage = || Stage {
            phase: self.recovery.phase(),
            full: self.recovery.recovery_point().is_some_and(|point| self.tx.una >= point),
            retransmitted: self.tx.board.retransmitted() > 0,
            smss: self.smss,
        };
        let linux = self.undoes_as_linux().then(stage);
        if let Some(spurious) = self.episode.find_spurious(&Proof { acked, echo, dsack, linux }) {
            self.undo(&spurious, now);
        }
    }

    /// Whether duplicate ACKs count as deliveries, as in Linux without SACK (`tcp_add_reno_sack`).
    #[inline]
    fn counts_duplicates(&self) -> bool {
        !self.sack && self.recovers_as_linux()
    }

    /// Returns how much of `acked` duplicate ACKs have shown before (`tcp_remove_reno_sacks`), and counts this one.
    fn counted_before(&mut self, acked: u64, duplicate: bool) -> u64 {
        if acked == 0 {
            self.tx.by_duplicates += u32::from(duplicate);
            return 0;
        }
        let octets = u64::from(core::mem::take(&mut self.tx.by_duplicates)) * self.smss;
        octets.min(acked.saturating_sub(self.smss))
    }

    /// Whether SACK blocks alone restart the retransmission timer, as in Linux (`tcp_clean_rtx_queue`): they cover data
    /// that left before the head was last sent, so the head's retransmission waits behind it in the network.
    #[inline]
    fn restarts_by_sack(&self, delivery: &Delivery) -> bool {
        delivery.sacked > 0
            && self.recovers_as_linux()
            && self.tx.board.head().is_some_and(|head| delivery.earliest < head.sent_at)
    }

    /// Asks recovery what an ACK means, and sets the retransmission timer: it restarts if anything is acknowledged, and
    /// stops once nothing is outstanding (RFC 6298, rules 5.2 and 5.3).
    #[inline]
    fn ask_recovery(&mut self, delivery: &Delivery, duplicate: bool, now: Instant) -> Verdict {
        let rto_at = match (delivery.acked, self.tx.board.is_empty()) {
            (0, _) if !self.restarts_by_sack(delivery) => self.timers.rto,
            (_, true) => Instant::NEVER,
            (_, false) => now + self.rto.current(),
        };
        let event = AckEvent {
            acked: delivery.acked,
            sacked: delivery.sacked,
            duplicate,
            una: self.tx.una,
            nxt: self.tx.nxt,
            clock: self.clock(now),
            dsack: delivery.dsack,
            deliveries: delivery.order,
        };
        let verdict = self.recovery.on_ack(&event, &mut self.tx.board);
        if duplicate {
            self.stats.rare().duplicate_acks += Packets::new(1);
        }
        self.count_lost(verdict.newly_lost);
        if verdict.rto_timer == RtoTimer::Usual {
            self.timers.rto = rto_at;
        }
        verdict
    }

    /// Reports what an ACK measured, what it showed to be lost, and a scheme's advice to congestion control.
    #[inline]
    fn measure(&mut self, ack: &Ack, found_in: Phase, advice: Option<Advice>, now: Instant) {
        if self.congestion.needs.acks {
            let path = self.path_in(found_in, self.tx.board.flight(), now);
            self.congestion.observe(ack, &path);
        }
        if !ack.newly_lost.is_zero() && self.congestion.needs.losses {
            self.report_losses(now);
        }
        if let Some(advice) = advice {
            let path = self.path(self.tx.board.flight(), now);
            self.congestion.on_advice(advice, &path);
        }
    }

    /// Takes what an ACK of `ack` delivers from the board (`acked` octets cumulatively, and SACK blocks), and its
    /// round-trip time sample.
    #[inline]
    fn deliver(&mut self, tcp: &TcpRepr, ack: u64, acked: u64, now: Instant) -> Delivery {
        let mut timing = AckTiming::new();
        let mut order = Deliveries::default();
        let echo = tcp.options.timestamps.filter(|_| self.ts.on).map(|ts| ts.ecr);
        let before = self.rate.delivered();
        let told = self.recovery.wants_deliveries();
        let by_rtt = now - self.rtt.min().unwrap_or(Duration::ZERO);
        if self.tx.board.awaits_retransmissions() {
            self.tx.board.believe(by_rtt);
        }
        let credible = if told { self.credible(by_rtt, echo, now) } else { Credible::at(by_rtt) };
        let rate = &mut self.rate;
        if acked > 0 {
            self.tx.una = ack;
            self.episode.on_advance();
            self.tx.board.ack(ack, |segment, stamp| {
                if !segment.has(flag::SACKED) {
                    timing.on_delivered(segment, true);
                    rate.on_delivered(segment, stamp, now);
                    if told {
                        order.on_delivered(segment, &credible, true);
                    }
                }
            });
            self.timers.retries = 0;
        }
        let (mut sacked, mut dsack) = (0, None);
        if self.sack && !tcp.options.sack.is_empty() {
            let blocks = self.tx.parse_blocks(&tcp.options.sack, ack);
            dsack = blocks.dsack;
            if let Some((left, right)) = dsack {
                self.stats.rare().duplicates_reported += Packets::new((right - left).div_ceil(self.smss.max(1)));
            }
            sacked = self.tx.board.sack(blocks.above(), |segment, stamp| {
                timing.on_delivered(segment, false);
                rate.on_delivered(segment, stamp, now);
                if told {
                    order.on_delivered(segment, &credible, false);
                }
            });
        }
        let rtt = self.take_sample(&timing, acked, echo, now);
        let octets = self.rate.delivered() - before;
        let (segments, earliest) = (timing.segments(), timing.earliest());
        Delivery { acked, sacked, octets, segments, rtt, echo, dsack, earliest, order }
    }

    /// Which retransmissions an ACK with this echo can deliver: those sent a smallest round-trip time ago, `by_rtt`, or
    /// before, and not after the echoed timestamp (RFC 8985, section 6.2, step 2). Linux uses the echo for the
    /// cumulative part alone: an ACK with SACK blocks echoes an older segment (RFC 7323, section 4.3).
    #[inline]
    fn credible(&self, by_rtt: Instant, echo: Option<u32>, now: Instant) -> Credible {
        let by_echo = echo.map_or(by_rtt, |echo| by_rtt.min(self.ts.end_of(echo, now)));
        let linux = self.config.recovery_style == RecoveryStyle::Linux;
        Credible { cumulative: by_echo, selective: if linux { by_rtt } else { by_echo } }
    }

    /// Whether the ACK that ends a recovery also grows the window, as in Linux, where the state is Open by then
    /// (`tcp_cong_control`). RFC 5681 and RFC 9937 end with cwnd at ssthresh.
    #[inline]
    fn grows_at_exit(&self) -> bool {
        self.recovers_as_linux()
    }

    /// Whether recovery is Linux's, RACK-TLP with its shortcuts.
    #[inline]
    fn recovers_as_linux(&self) -> bool {
        self.config.recovery == RecoveryKind::Rack && self.config.recovery_style == RecoveryStyle::Linux
    }

    /// Lets congestion control grow the window, unless recovery controls the window.
    #[inline]
    fn grow(&mut self, ack: &Ack, reduced: bool, now: Instant) {
        if ack.delivered.is_zero() {
            return;
        }
        let phase = self.phase();
        let grows = !reduced
            && matches!(phase, Phase::Open | Phase::Disorder | Phase::Loss)
            && (!ack.acked.is_zero() || self.recovery.grows_by_sack());
        if grows || self.congestion.needs.window_in_recovery {
            let path = self.path(self.tx.board.flight(), now);
            let by_sack = grows && ack.acked.is_zero() && self.recovers_as_linux();
            if by_sack && !self.congestion.needs.window_in_recovery {
                // To Linux's algorithms all that was delivered is acknowledged (`tcp_cong_avoid`).
                self.congestion.on_ack(&Ack { acked: ack.delivered, ..*ack }, &path);
            } else {
                self.congestion.on_ack(ack, &path);
            }
            if self.congestion.holds_back() {
                self.rate.on_app_limited(self.tx.board.pipe());
            }
        }
    }

    /// Takes the round-trip time sample of this ACK, if it has one.
    #[inline]
    pub(super) fn take_sample(
        &mut self,
        timing: &AckTiming,
        acked: u64,
        echo: Option<u32>,
        now: Instant,
    ) -> Option<Duration> {
        let sample = timing.sample(echo.filter(|_| acked > 0), &self.ts, now)?;
        self.rtt.on_sample(sample.path);
        self.time_rto(sample.timer);
        Some(sample.path)
    }

    /// Feeds the retransmission timer's estimator, unless it times another segment: ns-2 without timestamps times one
    /// at a time.
    #[inline(always)]
    pub(super) fn time_rto(&mut self, rtt: Duration) {
        if !self.ts.on && self.config.rto.style == RtoStyle::Ns2 {
            if self.tx.una <= self.tx.timed_until {
                return;
            }
            self.tx.timed_until = self.tx.nxt;
        }
        self.sample_rto(rtt);
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
}
