//! The sender's congestion control: a decorator that obeys commands on top of any base algorithm.

use super::history::History;
use super::{AcnsConfig, Trend, TrendVerdict};
use core::fmt;
use narrows_cc::{Ack, Advice, Congestion, CongestionControl, Path, Phase, Sent, Window};
use narrows_units::Bytes;

/// ACNS over a base algorithm.
///
/// # Idea
/// The base grows and reduces the window as ever; a command from the network comes before its growth, and the trend of
/// recent commands before its reduction.
///
/// # Sources
/// DCNET 2013, sections 2.2, 2.3 and 3.1 (equations 9 to 12); thesis, sections 3.2, 3.3 and 4.2.1.
///
/// # On a command
/// | ruling command | cwnd |
/// |---|---|
/// | none yet, or lifted by a timeout | as the base does |
/// | normal | as the base does |
/// | freeze | stays |
/// | fallback | set once to the latest smaller window of the history, not below 2 SMSS (none: stays); then stays |
///
/// A command rules until the next. After a fallback `ssthresh = min(ssthresh, cwnd)`, so that the flow does not go
/// into slow start again. The history takes the window once per round trip.
///
/// # On a loss
/// By the [trend](Trend): freeze leaves cwnd and ssthresh alone (the lost segment is retransmitted), fallback sets the
/// window as above, decrease is the base's own reaction. The base hears of the loss only if it is its to react to;
/// without any command so far, and at a timeout, it always is. The verdict counts among the commands as 2, 3 and 3.
///
/// # Choices
/// - While the window is held, the base still sees each ACK, so that its clocks and filters go on, but with
///   `cwnd_limited` false, as if the application were the limit (RFC 9438, section 5.8; RFC 7661). CUBIC so leaves the
///   held time out of its curve. What it does to cwnd all the same is undone, and it is told by
///   [`on_window_set`](CongestionControl::on_window_set), as it is after a fallback: its curve then starts from the
///   new window and does not jump back. Its ssthresh and pacing rate stay its own.
/// - During fast recovery cwnd belongs to the recovery: a fallback that arrives then is remembered and rules, but does
///   not reduce a second time in the same window. A base that [rules
///   recovery](CongestionControl::rules_recovery) itself has no such phase.
/// - A timeout lifts the ruling command until the next one. Otherwise a flow frozen at one SMSS, which retransmits and
///   so cannot ask, would stay there for as many round trips as it lost segments.
/// - ECN events pass to the base; where both ends agreed on ACNS there are none.
pub struct Acns {
    base: Box<dyn CongestionControl>,
    obey: bool,
    trend: Trend,
    history: History,
    ruling: Option<Advice>,
    /// Stream offset whose acknowledgment ends the present round trip.
    round_end: Option<u64>,
    /// Whether the base was told of the last congestion event, so that it hears how it ended.
    base_told: bool,
    /// Commands received: normal, freeze, fallback.
    commands: [u64; 3],
    /// Losses taken for a channel error, for coming congestion, and left to the base.
    losses: [u64; 3],
    fallbacks: u64,
}

impl Acns {
    /// ACNS over `base`. `config` has been [checked](AcnsConfig::check).
    #[must_use]
    pub fn new(base: Box<dyn CongestionControl>, config: &AcnsConfig) -> Self {
        Self {
            base,
            obey: config.obey,
            trend: Trend::new(config),
            history: History::new(),
            ruling: None,
            round_end: None,
            base_told: true,
            commands: [0; 3],
            losses: [0; 3],
            fallbacks: 0,
        }
    }

    /// The command that rules now; `None` before the first and after a timeout.
    #[must_use]
    pub const fn ruling(&self) -> Option<Advice> {
        self.ruling
    }

    /// Commands received so far: normal, freeze, fallback.
    #[must_use]
    pub const fn commands(&self) -> [u64; 3] {
        self.commands
    }

    fn holds(&self) -> bool {
        self.obey && matches!(self.ruling, Some(Advice::Freeze | Advice::Fallback))
    }

    /// Sets cwnd to the latest smaller window, if there is one.
    fn fall_back(&mut self, path: &Path, win: &mut Window) {
        let floor = path.smss * 2;
        let Some(cwnd) = self.history.latest_below(win.cwnd).map(|w| w.max(floor)).filter(|&w| w < win.cwnd) else {
            return;
        };
        win.cwnd = cwnd;
        win.ssthresh = Some(win.ssthresh.map_or(cwnd, |s| s.min(cwnd)));
        self.fallbacks += 1;
        self.base.on_window_set(path, win);
    }

    fn on_loss(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        let verdict = self.trend.verdict().filter(|_| self.obey).unwrap_or(TrendVerdict::Decrease);
        // Without a command the base reacts, and there is nothing that the verdict could be added to.
        if self.trend.weight().is_some() {
            self.trend.push(if verdict == TrendVerdict::Freeze { Advice::Freeze } else { Advice::Fallback });
        }
        self.losses[verdict as usize] += 1;
        self.base_told = verdict == TrendVerdict::Decrease;
        match verdict {
            TrendVerdict::Freeze => {}
            TrendVerdict::Fallback => self.fall_back(path, win),
            TrendVerdict::Decrease => self.base.on_congestion(event, path, win),
        }
    }

    /// Notes the window once per round trip: at the first ACK, and whenever all that was sent at the last note is
    /// acknowledged.
    fn note_round(&mut self, path: &Path, cwnd: Bytes) {
        if self.round_end.is_none_or(|end| path.snd_una >= end) {
            self.history.push(cwnd);
            self.round_end = Some(path.snd_nxt.max(path.snd_una.saturating_add(1)));
        }
    }
}

impl CongestionControl for Acns {
    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        if self.round_end.is_none() {
            // The initial window is the first round trip's, and known only here, before anything has grown.
            self.note_round(path, win.cwnd);
        }
        if self.holds() {
            let held = win.cwnd;
            self.base.on_ack(ack, &Path { cwnd_limited: false, ..*path }, win);
            if win.cwnd != held {
                win.cwnd = held;
                self.base.on_window_set(path, win);
            }
        } else {
            self.base.on_ack(ack, path, win);
        }
        if !matches!(path.phase, Phase::Cwr | Phase::Recovery) {
            self.note_round(path, win.cwnd);
        }
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        match event {
            Congestion::Loss { .. } => self.on_loss(event, path, win),
            Congestion::Ecn { .. } => {
                self.base_told = true;
                self.base.on_congestion(event, path, win);
            }
            Congestion::Timeout { .. } => {
                self.base_told = true;
                self.ruling = None;
                self.base.on_congestion(event, path, win);
            }
        }
    }

    fn on_sent(&mut self, sent: &Sent, path: &Path, win: &mut Window) {
        self.base.on_sent(sent, path, win);
    }

    fn on_undo(&mut self, path: &Path, win: &mut Window) {
        if self.base_told {
            self.base.on_undo(path, win);
        } else {
            self.base.on_window_set(path, win);
        }
    }

    fn on_advice(&mut self, advice: Advice, path: &Path, win: &mut Window) {
        self.commands[advice as usize - 1] += 1;
        self.trend.push(advice);
        self.ruling = Some(advice);
        let in_recovery = matches!(path.phase, Phase::Cwr | Phase::Recovery) && !self.base.rules_recovery();
        if self.obey && advice == Advice::Fallback && !in_recovery {
            self.fall_back(path, win);
        }
        self.base.on_advice(advice, path, win);
    }

    fn on_window_set(&mut self, path: &Path, win: &Window) {
        self.base.on_window_set(path, win);
    }

    fn on_recovered(&mut self, path: &Path, win: &mut Window) {
        if self.base_told {
            self.base.on_recovered(path, win);
        }
    }

    fn rules_recovery(&self) -> bool {
        self.base.rules_recovery()
    }

    /// `acns_command`: the ruling command (1 to 3; 0 is none); `acns_trend`: W_trend (0 is none); `acns_history`: windows
    /// kept; `acns_fallbacks`: times the window fell back; `acns_losses_*`: losses by verdict; then the base's own.
    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("acns_command", self.ruling.map_or(0.0, |c| f64::from(c as u8)));
        visit("acns_trend", self.trend.weight().unwrap_or(0.0));
        visit("acns_history", self.history.len() as f64);
        visit("acns_fallbacks", self.fallbacks as f64);
        visit("acns_losses_frozen", self.losses[TrendVerdict::Freeze as usize] as f64);
        visit("acns_losses_fallen_back", self.losses[TrendVerdict::Fallback as usize] as f64);
        visit("acns_losses_decreased", self.losses[TrendVerdict::Decrease as usize] as f64);
        self.base.state(visit);
    }
}

impl fmt::Debug for Acns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acns")
            .field("base", &self.base)
            .field("ruling", &self.ruling)
            .field("trend", &self.trend.weight())
            .field("history", &self.history.len())
            .finish_non_exhaustive()
    }
}
