//! What BBR version 3 saves when losses begin, and restores if they were spurious.
//!
//! The draft's text saves when a recovery episode starts (section Saving State Upon Loss Recovery). Its pseudocode
//! calls SaveStateUponLoss on the first loss of every round too. The two differ where a probe ends:
//! HandleInflightTooHigh notes the state to return to and resets is_loss_in_round, so the next lost segment of the same
//! episode would save again, and erase both that state and the bounds from before the probe ended. Here the text holds:
//! an episode saves once. A timeout begins an episode of its own.

use super::{Bbr3, Bounds, State};
use crate::algorithms::bbr::recovering;
use crate::{Path, Phase, Window};
use narrows_units::Rate;

/// Which losses an episode is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Episode {
    /// None is under way.
    #[default]
    Quiet,
    /// Losses that ACKs or the reordering timer showed.
    Losses,
    /// A retransmission timeout.
    Timeout,
}

/// The state from before the latest losses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// The episode whose beginning is saved.
    episode: Episode,
    /// undo_state: Startup or ProbeBW_UP, if these losses ended it.
    pub(super) state: Option<State>,
    /// undo_bw_shortterm, undo_inflight_shortterm and undo_inflight_longterm.
    pub(super) bounds: Bounds,
}

/// The wider of two bounds, where `None` means no bound.
fn wider<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    a.zip(b).map(|(a, b)| a.max(b))
}

impl Bbr3 {
    /// Saves what is restored if the losses that begin now prove spurious (SaveStateUponLoss).
    pub(super) fn save_state(&mut self, episode: Episode, win: &Window) {
        if self.undo.episode >= episode {
            return;
        }
        self.save_cwnd(win);
        self.undo = Undo { episode, state: None, bounds: self.bounds };
    }

    /// The episode that a lost segment belongs to.
    pub(super) fn episode_of(path: &Path) -> Episode {
        if path.phase == Phase::Loss { Episode::Timeout } else { Episode::Losses }
    }

    /// Ends the episode. What it saved stays, because a D-SACK may still prove it spurious.
    pub(super) fn end_episode(&mut self) {
        (self.in_recovery, self.recovery_since, self.undo.episode) = (false, None, Episode::Quiet);
    }

    /// Ends an episode of which the connection reported no end.
    pub(super) fn end_episode_if_over(&mut self, path: &Path) {
        if self.undo.episode != Episode::Quiet && !recovering(path.phase) {
            self.end_episode();
        }
    }

    /// Restores what was saved (HandleSpuriousLossDetection). google/bbr restores the bounds and stays where it is.
    pub(super) fn restore_state(&mut self, path: &Path, win: &mut Window) {
        win.cwnd = win.cwnd.max(self.prior_cwnd);
        self.loss_in_round = false;
        self.end_episode();
        self.reset_full_bw(Rate::ZERO);
        let (now, before) = (self.bounds, self.undo.bounds);
        self.bounds = Bounds {
            bw_short: wider(now.bw_short, before.bw_short),
            inflight_short: wider(now.inflight_short, before.inflight_short),
            inflight_long: wider(now.inflight_long, before.inflight_long),
        };
        let left = self.undo.state.take().filter(|&state| state != self.state && !self.settings.linux);
        let in_probe_rtt = self.state == State::ProbeRtt;
        match left {
            Some(State::Startup) => {
                self.full_bw_reached = false;
                if !in_probe_rtt {
                    (self.state, win.ssthresh) = (State::Startup, None);
                }
            }
            Some(State::Up) if !in_probe_rtt => self.enter_refill(path),
            _ => {}
        }
    }
}
