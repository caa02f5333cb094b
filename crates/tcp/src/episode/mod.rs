//! An episode of congestion: from the first sign of it until recovery has ended.
//!
//! [`Episode`] keeps what a reduction of the window leaves behind: what undoes it, the reduction step that limits the
//! window meanwhile (PRR), the window of data that it answers, and what was sent beyond cwnd. It decides which signs of
//! congestion reduce the window ([`Episode::judge`]). Recovery finds losses, and congestion control sets the window.
//!
//! ```text
//!        .------------- echo ------------> Cwr ------------- loss -----------.
//!        |                                  |                                v
//!      Quiet ------------------ loss -------|---------------------------> Recovery <--.
//!       ^ ^ ^                               |                              |  |  |    | retransmission lost,
//!       | | '------ window acknowledged ----'                              |  |  '----' echo of a later window
//!       | '-------- recovery point acknowledged, or spurious --------------'  |
//!       '---------- outstanding acknowledged, or spurious ----- Loss <--------'--- timeout, in any state
//! ```
//!
//! The states are [`Phase`]s: Quiet is Open or Disorder, and [`Episode::phase`] adds Cwr to the phases of recovery. An
//! echo in Recovery leads to Cwr once recovery ends. Tahoe's loss leads to Loss at once. Where an episode reduces once,
//! as in Linux, an echo in Recovery or Loss changes nothing, and the first ACK after them may begin Cwr.
//!
//! | arrow | window | undo | reduction step |
//! |---|---|---|---|
//! | echo | reduced | forgotten: the mark was real | begins |
//! | loss | reduced, unless it is in the window that Cwr reduced | armed, or forgotten if the ACK echoes too | begins |
//! | retransmission lost | reduced, unless an episode reduces once | kept | begins again |
//! | timeout | one segment | armed; kept if it repeats a reduction; forgotten in Cwr | ends |
//! | spurious | restored | used up | ends |
//! | acknowledged | kept | kept: the proof may come later | ends |
//!
//! A reduction step (PRR) begins only if the settings ask for it and the congestion control leaves the reduction to the
//! connection. A timeout repeats a reduction if it follows another timeout with the same hole, and in Recovery and Cwr
//! if an episode reduces once.

mod undo;

use crate::offset::MaybeOffset;
use crate::recovery::Verdict;
use crate::recovery::prr::{Prr, Step};
use crate::scoreboard::Scoreboard;
use narrows_cc::{Phase, Window};
use narrows_units::{Bytes, Instant};
use undo::Undo;
pub(crate) use undo::{Proof, Reduction, Spurious, Stage};

/// The state of an episode.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Episode {
    // First what plain segments need.
    /// Octets that limited transmit added beyond cwnd since the last new ACK; a window never exceeds 2^30 bytes.
    limited: u32,
    /// Whether the last reduction answered an echo and its window is not yet acknowledged.
    in_cwr: bool,
    /// SND.NXT at the last reduction, whatever its cause, until that window is acknowledged. Only kept with ECN, where
    /// echoes of that window mean nothing.
    reduced_until: MaybeOffset,
    /// The reduction step, if one limits the usable window.
    prr: Option<Box<Prr>>,
    undo: Undo,
    /// When congestion was last reported to congestion control.
    reduced_at: Instant,
    /// SND.UNA at the last timeout.
    timeout_una: MaybeOffset,
}

/// The signs of congestion of an ACK, or of an expiry of recovery's own timer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signs<'a> {
    /// Recovery's verdict.
    pub(crate) verdict: &'a Verdict,
    /// Recovery's phase after it.
    pub(crate) phase: Phase,
    /// Whether the ACK echoes congestion.
    pub(crate) echoed: bool,
    /// SND.UNA with the ACK.
    pub(crate) una: u64,
    /// Offset after the highest SACKed octet.
    pub(crate) high_sacked: u64,
    /// Whether one reduction answers all losses of an episode.
    pub(crate) reduces_once: bool,
    /// Whether a loss in a window that was reduced after an echo is reported too.
    pub(crate) loss_after_echo: bool,
}

/// What signs of congestion begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begins {
    /// Nothing.
    Nothing,
    /// Recovery in a window that was already reduced after an echo: once is enough (RFC 3168, section 6.1.2).
    Covered,
    /// Recovery, with a reduction.
    Recovery,
    /// A further reduction because of a loss; recovery stays where it is.
    Further,
    /// A reduction after an echo.
    Cwr,
}

/// An expiry of the retransmission timer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expiry {
    /// The episode's phase before it.
    pub(crate) phase: Phase,
    /// The window, if a reduction may be undone.
    pub(crate) before: Option<Window>,
    /// SND.UNA.
    pub(crate) una: u64,
    /// See [`Reduction::carried`].
    pub(crate) carried: u32,
    /// See [`Signs::reduces_once`].
    pub(crate) reduces_once: bool,
}

#[cfg(test)]
impl Episode {
    /// Octets that plain segments need.
    pub(crate) const NEEDED: core::ops::Range<usize> = 0..core::mem::offset_of!(Self, reduced_until);
}

impl Episode {
    /// The phase of the connection, where that of recovery is `recovery`.
    #[inline]
    pub(crate) fn phase(&self, recovery: Phase) -> Phase {
        match recovery {
            Phase::Open | Phase::Disorder if self.in_cwr => Phase::Cwr,
            phase => phase,
        }
    }

    /// The usable window: that of the reduction step, or the congestion control's.
    #[inline]
    pub(crate) fn cwnd(&self, win: &Window) -> Bytes {
        self.prr.as_ref().map_or(win.cwnd, |prr| Bytes::new(prr.cwnd()))
    }

    /// Whether an ACK that advances SND.UNA to `ack` changes nothing here but [`on_advance`](Self::on_advance): it
    /// neither ends a reduction nor reports a mark (`marks`) that calls for one.
    #[inline]
    pub(crate) fn expects(&self, ack: u64, marks: impl FnOnce() -> bool) -> bool {
        let reduction_stays = match self.reduced_until.get() {
            None => !marks(),
            Some(end) => ack <= end,
        };
        reduction_stays && self.prr.is_none() && !self.undo.awaits_advance()
    }

    /// Whether nothing here depends on an ACK that advances SND.UNA: see [`expects`](Self::expects), without marks.
    pub(crate) fn is_quiet(&self) -> bool {
        self.reduced_until.get().is_none() && !self.in_cwr && self.prr.is_none() && !self.undo.awaits_advance()
    }

    /// Notes an ACK that advances SND.UNA.
    #[inline]
    pub(crate) fn on_advance(&mut self) {
        self.limited = 0;
    }

    /// Notes `octets` of new data that were sent; `beyond` is whether they exceed cwnd.
    #[inline]
    pub(crate) fn on_sent(&mut self, octets: u64, beyond: bool) {
        if beyond {
            self.limited = self.limited.saturating_add(u32::try_from(octets).unwrap_or(u32::MAX));
        }
        if let Some(prr) = &mut self.prr {
            prr.on_sent(octets);
        }
    }

    /// Notes a retransmission of `octets` with this TSval; `decisive`: see [`Undo::on_retransmit`].
    pub(crate) fn on_retransmit(&mut self, octets: u64, tsval: u32, decisive: bool) {
        self.undo.on_retransmit(tsval, decisive);
        if let Some(prr) = &mut self.prr {
            prr.on_sent(octets);
        }
    }

    /// FlightSize as the base of a reduction: without what limited transmit added (RFC 5681, section 3.2), and with
    /// SACK at most cwnd. While a hole keeps SND.UNA back, FlightSize also counts what was SACKed in many round trips.
    /// That is not in the network, and would cancel the reduction.
    pub(crate) fn base(&self, board: &Scoreboard, cwnd: Bytes) -> u64 {
        let flight = board.flight().saturating_sub(u64::from(self.limited));
        if board.any_sacked() { flight.min(cwnd.as_u64()) } else { flight }
    }

    /// Whether there is a reduction that an ACK may show to be spurious.
    #[inline]
    pub(crate) fn may_be_spurious(&self) -> bool {
        self.undo.is_armed()
    }

    /// Returns the latest reduction if an ACK shows that it was spurious.
    pub(crate) fn find_spurious(&mut self, proof: &Proof) -> Option<Spurious> {
        self.undo.on_ack(proof)
    }

    /// Returns the latest reduction, because recovery found it to be spurious; `None` if it cannot be undone.
    #[cold]
    pub(crate) fn take_undo(&mut self) -> Option<Spurious> {
        self.undo.take()
    }

    /// Notes that recovery has ended: timestamps show no more, D-SACKs still may.
    pub(crate) fn on_recovered(&mut self) {
        self.undo.end_episode();
    }

    /// Forgets how to undo the reduction: it also answers a mark.
    pub(crate) fn on_mark(&mut self) {
        self.undo.disarm();
    }

    /// Ends the window of the last reduction if `una`, SND.UNA, is above it: only an ACK of something sent later shows
    /// that CWR has reached the receiver. Returns whether that ends CWR.
    #[inline]
    pub(crate) fn leaves_cwr(&mut self, una: u64) -> bool {
        if self.reduced_until.get().is_none_or(|end| una <= end) {
            return false;
        }
        self.reduced_until = MaybeOffset::NONE;
        core::mem::take(&mut self.in_cwr)
    }

    /// Ends the window of the last reduction when a recovery ends, so that the next echo reduces again, as in Linux.
    pub(crate) fn end_window(&mut self) {
        (self.reduced_until, self.in_cwr) = (MaybeOffset::NONE, false);
    }

    /// What these signs of congestion begin.
    #[inline]
    pub(crate) fn judge(&self, signs: &Signs<'_>) -> Begins {
        let open = matches!(signs.phase, Phase::Open | Phase::Disorder);
        let reduced_until = self.reduced_until.get();
        if signs.verdict.enter {
            // The first segment sent after a reduction is not in its window: it carries CWR, and if it is lost, the
            // window is reduced again (RFC 3168, section 6.1.2). Linux reduces again once that segment is acknowledged.
            let last = u64::from(signs.reduces_once);
            let covered = self.in_cwr && reduced_until.is_some_and(|end| signs.una < end + last);
            return if covered && !signs.loss_after_echo { Begins::Covered } else { Begins::Recovery };
        }
        let again = signs.verdict.lost_retransmission.is_some_and(|sent_at| sent_at >= self.reduced_at);
        if (!open && again && !signs.reduces_once) || signs.verdict.repaired {
            return Begins::Further;
        }
        // If a hole keeps SND.UNA back, SACK shows that a window has passed since the last reduction.
        let passed = if open {
            reduced_until.is_none()
        } else {
            !signs.reduces_once && reduced_until.is_some_and(|end| signs.high_sacked > end)
        };
        if signs.echoed && passed { Begins::Cwr } else { Begins::Nothing }
    }

    /// Notes that recovery begins in a window that was already reduced.
    #[cold]
    pub(crate) fn on_covered(&mut self) {
        self.undo.disarm();
    }

    /// Notes that recovery begins with a reduction; `None` if it cannot be undone.
    pub(crate) fn on_recovery(&mut self, begun: Option<&Reduction>) {
        match begun {
            Some(begun) => self.undo.arm(begun),
            None => self.undo.disarm(),
        }
    }

    /// Notes a reduction at `now`, with SND.NXT at `nxt`. `ecn` is whether ECN is in use, `cwr` whether the reduction
    /// answers an echo.
    pub(crate) fn on_reduction(&mut self, nxt: u64, ecn: bool, cwr: bool, now: Instant) {
        self.reduced_at = now;
        if ecn {
            (self.reduced_until, self.in_cwr) = (MaybeOffset::at(nxt), cwr);
        }
    }

    /// Begins the reduction step with `recover_fs` octets that are expected to be acknowledged.
    pub(crate) fn begin_step(&mut self, recover_fs: u64, smss: u64) {
        self.prr = Some(Box::new(Prr::new(recover_fs, smss)));
    }

    /// Notes that SMSS is now `smss`.
    #[cold]
    pub(crate) fn on_smss(&mut self, smss: u64) {
        if let Some(prr) = &mut self.prr {
            prr.on_smss(smss);
        }
    }

    /// Whether a reduction step limits the usable window.
    #[inline]
    pub(crate) fn is_stepping(&self) -> bool {
        self.prr.is_some()
    }

    /// Takes the reduction step of an ACK; `None` ends it, because the episode no longer needs it.
    pub(crate) fn step(&mut self, step: Option<&Step>) {
        match (step, &mut self.prr) {
            (Some(step), Some(prr)) => prr.on_ack(step),
            _ => self.prr = None,
        }
    }

    /// Notes an expiry of the retransmission timer. Returns whether it repeats a reduction.
    pub(crate) fn on_timeout(&mut self, expiry: &Expiry) -> bool {
        let una = MaybeOffset::at(expiry.una);
        let repeated = match expiry.phase {
            Phase::Loss => self.timeout_una == una,
            Phase::Recovery | Phase::Cwr => expiry.reduces_once,
            Phase::Open | Phase::Disorder => false,
        };
        if !repeated {
            let Expiry { before, una, carried, .. } = *expiry;
            let begun = before.map(|before| Reduction { before, timeout: true, una, carried });
            self.on_recovery(begun.as_ref().filter(|_| !self.in_cwr));
        }
        (self.timeout_una, self.limited, self.prr) = (una, 0, None);
        repeated
    }

    /// Forgets the last timeout, because the connection ended or listens again.
    pub(crate) fn end(&mut self) {
        self.timeout_una = MaybeOffset::NONE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signs(verdict: &Verdict, phase: Phase) -> Signs<'_> {
        Signs { verdict, phase, echoed: false, una: 0, high_sacked: 0, reduces_once: false, loss_after_echo: false }
    }

    fn window() -> Window {
        Window { cwnd: Bytes::new(10), ssthresh: None, pacing_rate: None }
    }

    #[test]
    fn a_reduction_rules_until_data_beyond_its_window_is_acknowledged() {
        let mut episode = Episode::default();
        episode.on_reduction(100, true, true, Instant::ZERO);
        assert!(!episode.leaves_cwr(99) && !episode.leaves_cwr(100));
        assert_eq!(episode.phase(Phase::Open), Phase::Cwr);
        assert!(episode.leaves_cwr(101));
        assert_eq!(episode.phase(Phase::Open), Phase::Open);
        assert!(!episode.leaves_cwr(102), "once");
    }

    #[test]
    fn an_echo_is_expected_only_while_the_window_is_reduced() {
        let mut episode = Episode::default();
        assert!(episode.expects(50, || false) && !episode.expects(50, || true));
        episode.on_reduction(100, true, true, Instant::ZERO);
        assert!(episode.expects(100, || true) && episode.expects(100, || false));
        assert!(!episode.expects(101, || false), "the end of the window");
    }

    #[test]
    fn a_loss_in_a_window_that_an_echo_reduced_is_covered() {
        let mut episode = Episode::default();
        let verdict = Verdict { enter: true, ..Verdict::default() };
        let at = |una| Signs { una, ..signs(&verdict, Phase::Recovery) };
        assert_eq!(episode.judge(&at(50)), Begins::Recovery);
        episode.on_reduction(100, true, true, Instant::ZERO);
        assert_eq!(episode.judge(&at(99)), Begins::Covered);
        assert_eq!(episode.judge(&at(100)), Begins::Recovery, "this segment carries CWR");
        assert_eq!(episode.judge(&Signs { loss_after_echo: true, ..at(99) }), Begins::Recovery);
        episode.on_reduction(100, true, false, Instant::ZERO);
        assert_eq!(episode.judge(&at(99)), Begins::Recovery, "a loss reduced it, and that recovery has ended");
    }

    #[test]
    fn a_lost_retransmission_reduces_once_per_reduction() {
        let mut episode = Episode::default();
        let at = Instant::from_nanos;
        let verdict = Verdict { lost_retransmission: Some(at(5)), ..Verdict::default() };
        episode.on_reduction(100, false, false, at(5));
        assert_eq!(episode.judge(&signs(&verdict, Phase::Recovery)), Begins::Further);
        assert_eq!(episode.judge(&signs(&verdict, Phase::Open)), Begins::Nothing);
        let once = Signs { reduces_once: true, ..signs(&verdict, Phase::Recovery) };
        assert_eq!(episode.judge(&once), Begins::Nothing);
        episode.on_reduction(100, false, false, at(6));
        assert_eq!(episode.judge(&signs(&verdict, Phase::Recovery)), Begins::Nothing, "sent before the reduction");
        let repaired = Verdict { repaired: true, ..Verdict::default() };
        assert_eq!(episode.judge(&signs(&repaired, Phase::Open)), Begins::Further, "by a probe");
    }

    #[test]
    fn an_echo_reduces_once_per_window() {
        let mut episode = Episode::default();
        let verdict = Verdict::default();
        let at = |phase, high_sacked| Signs { echoed: true, high_sacked, ..signs(&verdict, phase) };
        assert_eq!(episode.judge(&at(Phase::Disorder, 0)), Begins::Cwr);
        assert_eq!(episode.judge(&at(Phase::Recovery, 0)), Begins::Nothing, "nothing shows a later window");
        episode.on_reduction(100, true, true, Instant::ZERO);
        assert_eq!(episode.judge(&at(Phase::Disorder, 200)), Begins::Nothing);
        assert_eq!(episode.judge(&at(Phase::Loss, 100)), Begins::Nothing);
        assert_eq!(episode.judge(&at(Phase::Loss, 101)), Begins::Cwr);
        let once = |phase, high_sacked| Signs { reduces_once: true, ..at(phase, high_sacked) };
        assert_eq!(episode.judge(&once(Phase::Recovery, 101)), Begins::Nothing, "Linux: once in a recovery");
        assert_eq!(episode.judge(&once(Phase::Open, 0)), Begins::Nothing);
        episode.end_window();
        assert_eq!(episode.judge(&once(Phase::Open, 0)), Begins::Cwr, "the recovery has ended");
    }

    #[test]
    fn a_timeout_repeats_the_reduction_of_the_same_hole() {
        let mut episode = Episode::default();
        let at = |phase, una| Expiry { phase, before: Some(window()), una, carried: 0, reduces_once: false };
        assert!(!episode.on_timeout(&at(Phase::Recovery, 7)));
        assert!(episode.on_timeout(&at(Phase::Loss, 7)));
        assert!(!episode.on_timeout(&at(Phase::Loss, 8)));
        let once = |phase| Expiry { reduces_once: true, ..at(phase, 9) };
        assert!(episode.on_timeout(&once(Phase::Cwr)) && !episode.on_timeout(&once(Phase::Disorder)));
    }

    #[test]
    fn what_an_echo_reduced_is_not_undone() {
        let mut episode = Episode::default();
        let begun = Reduction { before: window(), timeout: false, una: 0, carried: 0 };
        episode.on_recovery(Some(&begun));
        assert_eq!(episode.take_undo(), Some(Spurious { before: window(), timeout: false }));
        episode.on_recovery(Some(&begun));
        episode.on_mark();
        assert_eq!(episode.take_undo(), None);
        episode.on_reduction(100, true, true, Instant::ZERO);
        episode.on_timeout(&Expiry {
            phase: Phase::Cwr,
            before: Some(window()),
            una: 0,
            carried: 0,
            reduces_once: false,
        });
        assert_eq!(episode.take_undo(), None, "nor is the timeout that follows");
    }
}
