//! What a sign of congestion does: the window is reduced or restored, and the congestion control is told.
//!
//! Recovery's verdict and an ACK's echo are signs; [`Episode`](crate::episode::Episode) decides what they begin.

use super::Connection;
use crate::ecn::Mode;
use crate::episode::{Begins, Reduction, Signs, Spurious};
use crate::recovery::Verdict;
use crate::recovery::prr::Step;
use narrows_cc::{Congestion, LostSegment, Path, Phase};
use narrows_settings::{RecoveryStyle, Reduction as ReductionKind};
use narrows_units::{Bytes, Instant};

/// What an ACK reports besides recovery's verdict, in octets.
#[derive(Clone, Copy, Debug)]
pub(super) struct News {
    /// FlightSize as the base of a reduction.
    pub(super) flight: u64,
    /// Newly delivered.
    pub(super) delivered: u64,
    /// Of these, reported as marked.
    pub(super) marked: u64,
    /// Whether the ACK echoes congestion.
    pub(super) echoed: bool,
    /// Whether it advances SND.UNA.
    pub(super) advanced: bool,
}

impl Connection {
    /// Counts octets that are newly deemed lost.
    #[inline]
    pub(super) fn count_lost(&mut self, octets: u64) {
        if octets > 0 {
            self.rate.on_lost(octets);
            self.stats.rare().lost_bytes += Bytes::new(octets);
        }
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

    /// Carries out what recovery's verdict and the news of an ACK mean for the window; returns whether it was reduced.
    #[inline]
    pub(super) fn react(&mut self, verdict: &Verdict, news: &News, now: Instant) -> bool {
        if verdict.spurious {
            match self.episode.take_undo() {
                Some(spurious) => self.undo(&spurious, now),
                // Recovery ends, but the window stays reduced: undo is off, or the reduction also answers a mark.
                None => self.recovery.on_undo(&mut self.tx.board, now),
            }
        }
        let phase = self.recovery.phase();
        let left_cwr = self.episode.leaves_cwr(self.tx.una);
        if verdict.exit && self.reduces_once() {
            self.episode.end_window();
        }
        if verdict.exit {
            self.episode.on_recovered();
        }
        if verdict.exit || (left_cwr && matches!(phase, Phase::Open | Phase::Disorder)) {
            let path = self.path(self.tx.board.flight(), now);
            self.congestion.on_recovered(verdict.cwnd_cap, &path);
            if self.congestion.limits.is_some() {
                self.resume_validated(now);
            }
            self.tx.usage.restart(now);
        }
        let begins = self.episode.judge(&Signs {
            verdict,
            phase,
            echoed: news.echoed,
            una: self.tx.una,
            high_sacked: self.tx.board.high_sacked(),
            reduces_once: self.reduces_once(),
            loss_after_echo: self.congestion.needs.loss_after_echo,
        });
        let reduced = begins != Begins::Nothing;
        self.stats_of_probe(verdict.repaired);
        if reduced {
            self.begin(begins, verdict.restart, news, now);
        }
        if self.episode.is_stepping() {
            self.step_reduction(news.delivered, news.advanced && verdict.newly_lost == 0);
        }
        reduced
    }

    #[inline]
    fn stats_of_probe(&mut self, repaired: bool) {
        if repaired {
            self.stats.rare().tail_repairs += 1;
        }
    }

    /// Begins what the signs of congestion call for.
    #[inline(never)]
    fn begin(&mut self, begins: Begins, restart: bool, news: &News, now: Instant) {
        match begins {
            Begins::Nothing => {}
            Begins::Covered => self.episode.on_covered(),
            Begins::Recovery => {
                let before = self.config.undo.then_some(self.congestion.win).filter(|_| !news.echoed);
                let (una, carried) = (self.tx.una, self.carried_retransmissions());
                let begun = before.map(|before| Reduction { before, timeout: false, una, carried });
                self.episode.on_recovery(begun.as_ref());
                self.reduce_for_loss(news, now);
            }
            Begins::Further => self.reduce_for_loss(news, now),
            Begins::Cwr => self.reduce_for_echo(news, now),
        }
        if matches!(begins, Begins::Covered | Begins::Recovery) {
            self.stats.rare().fast_retransmits += 1;
            if restart {
                let path = self.path(self.tx.board.flight(), now);
                self.congestion.restart_from_one(&path);
            }
        }
    }

    fn reduce_for_loss(&mut self, news: &News, now: Instant) {
        self.episode.on_reduction(self.tx.nxt, self.ecn.mode() != Mode::Off, false, now);
        self.ecn.on_reduction();
        self.congest(&Congestion::Loss { lost: Bytes::new(self.tx.board.lost()) }, news, now);
    }

    fn reduce_for_echo(&mut self, news: &News, now: Instant) {
        let at_minimum = self.congestion.win.cwnd.as_u64() <= self.smss;
        self.episode.on_reduction(self.tx.nxt, self.ecn.mode() != Mode::Off, true, now);
        self.ecn.on_reduction();
        self.stats.rare().ecn_reductions += 1;
        self.congest(&Congestion::Ecn { marked: Bytes::new(news.marked) }, news, now);
        if at_minimum {
            // The window cannot shrink further: the next segment waits for a timer (RFC 3168, section 6.1.2).
            self.pacer.hold(now + self.rto.current());
        }
    }

    /// Reports congestion to congestion control, and begins the reduction step where it is the connection's.
    fn congest(&mut self, event: &Congestion, news: &News, now: Instant) {
        let prior = self.cwnd().as_u64();
        self.tx.usage.restart(now);
        let path = self.path(news.flight, now);
        self.congestion.on_congestion(event, &path);
        if self.congestion.limits.is_some() {
            self.reduce_to_use(prior, news.flight, &path);
        }
        if self.congestion.leaves_reduction() && !self.congestion.reduces_at_once() {
            let board = &self.tx.board;
            let recover_fs = match self.config.reduction {
                ReductionKind::Immediate => return,
                ReductionKind::Prr => board.flight() - board.sacked() + news.delivered,
                ReductionKind::PrrLinux => prior,
            };
            self.episode.begin_step(recover_fs, self.smss);
        }
    }

    /// Reduces further after a congestion event, where RFC 7661 had not validated the `prior` window.
    #[cold]
    fn reduce_to_use(&mut self, prior: u64, flight: u64, path: &Path) {
        let lost = self.rate.lost().saturating_sub(self.tx.board.lost());
        let validation = self.congestion.limits.as_mut().and_then(|limits| limits.validation());
        if let Some(used) = validation.and_then(|it| it.on_congestion(prior, flight, lost)) {
            self.congestion.reduce_to_use(used, path);
        }
    }

    /// Sets the window after a recovery that began without validation (RFC 7661, section 4.4.1).
    #[cold]
    fn resume_validated(&mut self, now: Instant) {
        let lost = self.rate.lost();
        let validation = self.congestion.limits.as_mut().and_then(|limits| limits.validation());
        if let Some(cwnd) = validation.and_then(|it| it.on_recovered(lost)) {
            let path = self.path(self.tx.board.flight(), now);
            self.congestion.resume_at(cwnd, &path);
        }
    }

    /// Takes the reduction step of this ACK, while the episode lasts.
    fn step_reduction(&mut self, delivered: u64, safe: bool) {
        let lasts = match self.phase() {
            Phase::Cwr => true,
            Phase::Recovery => self.recovery.is_governed_by_pipe(),
            Phase::Open | Phase::Disorder | Phase::Loss => false,
        };
        let target = self.congestion.win.cwnd.as_u64();
        let step = Step { target, delivered, inflight: self.tx.board.pipe(), safe, smss: self.smss };
        self.episode.step(Some(&step).filter(|_| lasts));
    }

    /// Restores the window before a reduction that was spurious.
    #[cold]
    pub(super) fn undo(&mut self, spurious: &Spurious, now: Instant) {
        let stats = self.stats.rare();
        stats.spurious += 1;
        stats.spurious_timeouts += u64::from(spurious.timeout);
        self.recovery.on_undo(&mut self.tx.board, now);
        let path = self.path(self.tx.board.flight(), now);
        self.congestion.on_undo(&spurious.before, &path);
        self.tx.usage.restart(now);
    }

    /// Retransmissions in the network, in segments, where Linux's rules of undo apply: a D-SACK has to prove each of
    /// them needless too (`tcp_init_undo`).
    pub(super) fn carried_retransmissions(&self) -> u32 {
        if !self.undoes_as_linux() {
            return 0;
        }
        let segments = self.tx.board.retransmitted().div_ceil(self.smss.max(1));
        u32::try_from(segments).unwrap_or(u32::MAX)
    }

    /// Whether spurious reductions are found by Linux's rules.
    pub(super) fn undoes_as_linux(&self) -> bool {
        self.recovery.is_timed() && self.config.recovery_style == RecoveryStyle::Linux
    }

    /// FlightSize as the base of a reduction.
    #[inline]
    pub(super) fn flight_of_a_window(&self) -> u64 {
        self.episode.base(&self.tx.board, self.congestion.win.cwnd)
    }

    /// Whether one reduction answers all losses of an episode. Algorithms that rule recovery are notified of each loss.
    pub(super) fn reduces_once(&self) -> bool {
        self.config.reduce_once && !self.congestion.needs.window_in_recovery
    }
}
