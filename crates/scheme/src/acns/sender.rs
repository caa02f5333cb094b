//! The sender's congestion control: a decorator that obeys commands on top of any base algorithm.

use super::history::History;
use super::{AcnsConfig, FallbackWindow, HistoryStep, NormalOnlyLosses, Trend, TrendVerdict};
use core::fmt;
use narrows_cc::{Ack, Advice, Congestion, CongestionControl, LostSegment, Needs, Path, Phase, Sent, Window};
use narrows_units::Bytes;

/// ACNS over a base algorithm.
///
/// # Idea
/// The base grows and reduces the window as usual. A command from the network takes precedence over its growth, and the
/// trend of recent commands over its reduction.
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
/// A command is in force until the next. After a fallback `ssthresh = min(ssthresh, cwnd)`, so that the flow does not
/// enter slow start again. The history takes the window once per round trip.
///
/// # On a loss
/// The [trend](Trend) decides: freeze leaves cwnd and ssthresh alone (the lost segment is retransmitted), fallback sets
/// the window as above, decrease is the base's own reaction. The base is informed of the loss only if it is the one to
/// react. It always is if no command has arrived so far, and at a timeout. The verdict counts among the commands as 2,
/// 3 and 3.
///
/// # Switches
/// [`FallbackWindow::Difference`] makes a fallback set `cwnd` less the smaller window, as equation 9 is printed.
/// [`HistoryStep::Ack`] records the window at each ACK. [`NormalOnlyLosses::Base`] leaves losses to the base until a
/// command other than normal has arrived: such a sender may be behind routers that have no ACNS.
///
/// # Choices
/// - While the window is held, the base still sees each ACK, so that its clocks and filters continue, but with
///   `cwnd_limited` false, as if the application were the limit (RFC 9438, section 5.8; RFC 7661). CUBIC then leaves
///   the held time out of its curve. If the base changes cwnd all the same, the change is undone, and
///   [`on_window_set`](CongestionControl::on_window_set) informs the base, as it does after a fallback. The curve then
///   starts from the new window and does not jump back. The base's ssthresh and pacing rate stay its own. (CUBIC's
///   profile `linux` lets its curve run on while an application limits it, as Linux does, and so also while the window
///   is held.)
/// - During fast recovery cwnd belongs to the recovery. A fallback that arrives then is remembered and in force, but
///   does not reduce a second time in the same window. A base that [rules
///   recovery](narrows_cc::Needs::window_in_recovery) itself has no such phase.
/// - A timeout lifts the command in force until the next one. Otherwise a flow frozen at one SMSS, which retransmits
///   and therefore cannot ask, would stay there for as many round trips as it lost segments.
/// - ECN events pass to the base; if both ends agreed on ACNS there are none.
pub struct Acns {
    base: Box<dyn CongestionControl>,
    obey: bool,
    fallback_window: FallbackWindow,
    history_step: HistoryStep,
    normal_only_losses: NormalOnlyLosses,
    trend: Trend,
    history: History,
    ruling: Option<Advice>,
    /// Stream offset whose acknowledgment ends the present round trip.
    round_end: Option<u64>,
    /// Whether the base was informed of the last congestion event, and so must be informed of its end.
    base_told: bool,
    /// Commands received: normal, freeze, fallback.
    commands: [u64; 3],
    /// Losses attributed to a channel error, attributed to coming congestion, and left to the base.
    losses: [u64; 3],
    fallbacks: u64,
}

impl Acns {
    /// Creates ACNS over `base`. `config` has been [checked](AcnsConfig::check).
    #[must_use]
    pub fn new(base: Box<dyn CongestionControl>, config: &AcnsConfig) -> Self {
        Self {
            base,
            obey: config.obey,
            fallback_window: config.fallback_window,
            history_step: config.history_step,
            normal_only_losses: config.normal_only_losses,
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

    /// Returns the command in force; `None` before the first and after a timeout.
    #[must_use]
    pub const fn ruling(&self) -> Option<Advice> {
        self.ruling
    }

    /// Returns the commands received so far: normal, freeze, fallback.
    #[must_use]
    pub const fn commands(&self) -> [u64; 3] {
        self.commands
    }

    fn holds(&self) -> bool {
        self.obey && matches!(self.ruling, Some(Advice::Freeze | Advice::Fallback))
    }

    /// Sets cwnd to the latest smaller window, or to the difference from it, if there is one.
    fn fall_back(&mut self, path: &Path, win: &mut Window) {
        let floor = path.smss * 2;
        let smaller = self.history.latest_below(win.cwnd).map(|smaller| match self.fallback_window {
            FallbackWindow::Smaller => smaller,
            FallbackWindow::Difference => win.cwnd - smaller,
        });
        let Some(cwnd) = smaller.map(|w| w.max(floor)).filter(|&w| w < win.cwnd) else { return };
        win.cwnd = cwnd;
        win.ssthresh = Some(win.ssthresh.map_or(cwnd, |s| s.min(cwnd)));
        self.fallbacks += 1;
        self.base.on_window_set(path, win);
    }

    /// Whether a command other than normal has arrived.
    const fn warned(&self) -> bool {
        self.commands[1] > 0 || self.commands[2] > 0
    }

    fn on_loss(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        let left_to_base = !self.obey || (self.normal_only_losses == NormalOnlyLosses::Base && !self.warned());
        let verdict = self.trend.verdict().filter(|_| !left_to_base).unwrap_or(TrendVerdict::Decrease);
        // Without a command the base reacts, and there is no trend to which the verdict could be added.
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

    /// Records the window: at each ACK, or once per round trip, which is at the first ACK and whenever everything sent
    /// at the last record is acknowledged.
    fn note(&mut self, path: &Path, cwnd: Bytes) {
        if self.history_step == HistoryStep::Ack || self.round_end.is_none_or(|end| path.snd_una >= end) {
            self.history.push(cwnd);
            self.round_end = Some(path.snd_nxt.max(path.snd_una.saturating_add(1)));
        }
    }
}

impl CongestionControl for Acns {
    fn needs(&self) -> Needs {
        self.base.needs()
    }

    fn on_start(&mut self, path: &Path, win: &mut Window) {
        self.base.on_start(path, win);
    }

    fn observe(&mut self, ack: &Ack, path: &Path) {
        self.base.observe(ack, path);
    }

    fn on_lost(&mut self, lost: &LostSegment, path: &Path, win: &mut Window) {
        self.base.on_lost(lost, path, win);
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        if self.round_end.is_none() {
            // The initial window belongs to the first round trip. It is known only here, before anything has grown.
            self.note(path, win.cwnd);
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
            self.note(path, win.cwnd);
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
        let in_recovery = matches!(path.phase, Phase::Cwr | Phase::Recovery) && !self.base.needs().window_in_recovery;
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

    fn holds_back(&self) -> bool {
        self.base.holds_back()
    }

    /// Reports the variables of ACNS's row, then those of the base.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use Advice::{Fallback, Freeze, Normal};
    use narrows_cc::Params;
    use narrows_units::{Duration, Instant};
    use proptest::prelude::*;

    const SMSS: u64 = 1000;
    const LOSS: Congestion = Congestion::Loss { lost: Bytes::new(SMSS) };
    const TIMEOUT: Congestion = Congestion::Timeout { repeated: false };

    /// Adds an SMSS per ACK, halves on congestion, and counts its calls.
    #[derive(Debug, Default)]
    struct Simple {
        acks: u32,
        congestions: u32,
        undone: u32,
        recovered: u32,
        set: u32,
        /// Grows even if it should not.
        stubborn: bool,
    }

    impl CongestionControl for Simple {
        fn on_ack(&mut self, _: &Ack, path: &Path, win: &mut Window) {
            self.acks += 1;
            if path.cwnd_limited || self.stubborn {
                win.cwnd += path.smss;
            }
        }

        fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
            self.congestions += 1;
            win.ssthresh = Some((win.cwnd / 2).max(path.smss * 2));
            win.cwnd = if matches!(event, Congestion::Timeout { .. }) { path.smss } else { win.cwnd / 2 };
        }

        fn on_undo(&mut self, _: &Path, _: &mut Window) {
            self.undone += 1;
        }

        fn on_recovered(&mut self, _: &Path, _: &mut Window) {
            self.recovered += 1;
        }

        fn on_window_set(&mut self, _: &Path, _: &Window) {
            self.set += 1;
        }

        fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
            for (name, n) in [
                ("acks", self.acks),
                ("congestions", self.congestions),
                ("undone", self.undone),
                ("recovered", self.recovered),
                ("set", self.set),
            ] {
                visit(name, f64::from(n));
            }
        }
    }

    /// A connection of one ACK per round trip.
    struct Bench {
        acns: Acns,
        path: Path,
        win: Window,
    }

    impl Bench {
        fn over(base: Box<dyn CongestionControl>, config: &AcnsConfig) -> Self {
            let path = Path {
                now: Instant::ZERO,
                smss: Bytes::new(SMSS),
                initial_window: Bytes::new(10 * SMSS),
                srtt: Some(Duration::from_millis(100)),
                min_rtt: Some(Duration::from_millis(100)),
                rto: Duration::from_secs(1),
                flightsize: Bytes::new(10 * SMSS),
                inflight: Bytes::new(10 * SMSS),
                snd_una: 0,
                snd_nxt: 10 * SMSS,
                delivered: Bytes::ZERO,
                lost: Bytes::ZERO,
                cwnd_limited: true,
                pacing_rate: None,
                departure: Instant::ZERO,
                phase: Phase::Open,
                ecn: narrows_cc::EcnFeedback::Nothing,
                slow_start_at_equality: false,
            };
            let win = Window { cwnd: Bytes::new(10 * SMSS), ssthresh: None, pacing_rate: None };
            Self { acns: Acns::new(base, config), path, win }
        }

        fn new() -> Self {
            Self::over(Box::new(Simple::default()), &AcnsConfig::default())
        }

        /// Simulates a round trip: time passes, and one ACK covers all that was sent. Returns cwnd in segments.
        fn round(&mut self) -> f64 {
            self.path.now += Duration::from_millis(100);
            let acked = Bytes::new(self.path.snd_nxt - self.path.snd_una);
            self.path.snd_una = self.path.snd_nxt;
            self.path.snd_nxt += self.win.cwnd.as_u64();
            self.path.flightsize = self.win.cwnd;
            let ack = Ack { acked, delivered: acked, ..Ack::default() };
            self.acns.on_ack(&ack, &self.path, &mut self.win);
            self.cwnd()
        }

        fn rounds(&mut self, n: u32) -> f64 {
            for _ in 0..n {
                self.round();
            }
            self.cwnd()
        }

        fn advise(&mut self, advice: Advice) -> f64 {
            self.acns.on_advice(advice, &self.path, &mut self.win);
            self.cwnd()
        }

        fn congestion(&mut self, event: Congestion) -> f64 {
            self.path.flightsize = self.win.cwnd;
            self.acns.on_congestion(&event, &self.path, &mut self.win);
            self.cwnd()
        }

        fn cwnd(&self) -> f64 {
            self.win.cwnd.segments(self.path.smss)
        }

        fn state(&self, name: &str) -> f64 {
            let mut found = None;
            self.acns.state(&mut |n, v| {
                if n == name {
                    found = Some(v);
                }
            });
            found.unwrap()
        }
    }

    fn eq(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} is not {b}");
    }

    #[test]
    fn normal_and_no_command_leave_the_window_to_the_base() {
        let mut b = Bench::new();
        eq(b.rounds(5), 15.0);
        eq(b.advise(Normal), 15.0);
        eq(b.rounds(5), 20.0);
    }

    #[test]
    fn freeze_keeps_the_window_until_the_next_command_and_the_base_sees_each_ack() {
        let mut b = Bench::new();
        b.rounds(5);
        b.advise(Freeze);
        eq(b.rounds(200), 15.0);
        eq(b.state("acks"), 205.0);
        b.advise(Normal);
        eq(b.round(), 16.0);
        assert_eq!(b.acns.commands(), [1, 1, 0]);
    }

    #[test]
    fn equation_9_as_printed_subtracts_the_smaller_window() {
        let config = AcnsConfig { fallback_window: FallbackWindow::Difference, ..AcnsConfig::default() };
        let mut b = Bench::over(Box::new(Simple::default()), &config);
        b.rounds(5);
        eq(b.advise(Fallback), 2.0); // 15 - 14 = 1, below the floor of two segments
        let mut b = Bench::over(Box::new(Simple::default()), &config);
        eq(b.advise(Fallback), 10.0); // no history
        // The window has doubled within the round trip, so the smaller one of the history is half of it.
        b.rounds(1);
        b.win.cwnd = Bytes::new(21 * SMSS);
        eq(b.advise(Fallback), 11.0); // 21 - 10
        let mut usual = Bench::new();
        usual.rounds(5);
        eq(usual.advise(Fallback), 14.0);
    }

    #[test]
    fn a_history_of_each_ack_falls_back_by_one_ack() {
        for (step, expected) in [(HistoryStep::Ack, 12.0), (HistoryStep::RoundTrip, 10.0)] {
            let config = AcnsConfig { history_step: step, ..AcnsConfig::default() };
            let mut b = Bench::over(Box::new(Simple::default()), &config);
            b.round();
            // Two ACKs of the next round trip, each of which adds a segment.
            for _ in 0..2 {
                b.path.snd_una += SMSS;
                let ack = Ack { acked: Bytes::new(SMSS), delivered: Bytes::new(SMSS), ..Ack::default() };
                b.acns.on_ack(&ack, &b.path, &mut b.win);
            }
            eq(b.cwnd(), 13.0);
            eq(b.advise(Fallback), expected);
        }
    }

    #[test]
    fn losses_behind_routers_without_acns_can_be_left_to_the_base() {
        for (rule, told) in [(NormalOnlyLosses::Trend, 0.0), (NormalOnlyLosses::Base, 1.0)] {
            let config = AcnsConfig { normal_only_losses: rule, ..AcnsConfig::default() };
            let mut b = Bench::over(Box::new(Simple::default()), &config);
            b.advise(Normal);
            b.congestion(LOSS);
            eq(b.state("congestions"), told);
            // A router has sent a command, so routers on the path run ACNS, and the trend decides from then on.
            b.advise(Freeze);
            for _ in 0..10 {
                b.advise(Normal);
            }
            b.congestion(LOSS);
            eq(b.state("congestions"), told);
        }
    }

    #[test]
    fn freeze_undoes_what_a_base_does_all_the_same_and_says_so() {
        let mut b = Bench::over(Box::new(Simple { stubborn: true, ..Simple::default() }), &AcnsConfig::default());
        b.advise(Freeze);
        eq(b.rounds(3), 10.0);
        eq(b.state("set"), 3.0);
    }

    #[test]
    fn fallback_takes_the_latest_smaller_window_once_and_then_holds() {
        let mut b = Bench::new();
        b.rounds(5);
        // 15 is the window of the round trip that has just begun.
        eq(b.advise(Fallback), 14.0);
        assert_eq!(b.win.ssthresh, Some(Bytes::new(14 * SMSS)));
        eq(b.rounds(3), 14.0);
        eq(b.advise(Fallback), 13.0);
        eq(b.advise(Fallback), 12.0);
        b.advise(Normal);
        eq(b.round(), 13.0);
        eq(b.state("set"), 3.0);
        eq(b.state("congestions"), 0.0);
    }

    #[test]
    fn fallback_without_a_smaller_window_changes_nothing() {
        let mut b = Bench::new();
        eq(b.advise(Fallback), 10.0);
        b.round();
        eq(b.advise(Fallback), 10.0);
        assert_eq!(b.win.ssthresh, None);
        eq(b.state("set"), 0.0);
    }

    #[test]
    fn fallback_in_slow_start_goes_back_by_a_round_trip_and_ends_slow_start() {
        let mut b = Bench::over(narrows_cc::build("reno", &Params::default()).unwrap(), &AcnsConfig::default());
        let before = b.rounds(2);
        let after = b.rounds(1);
        eq(b.advise(Fallback), before);
        assert!(after > before && !b.win.in_slow_start(&b.path));
    }

    #[test]
    fn ssthresh_already_lower_stays_after_a_fallback() {
        let mut b = Bench::new();
        b.rounds(5);
        b.win.ssthresh = Some(Bytes::new(3 * SMSS));
        b.advise(Fallback);
        assert_eq!(b.win.ssthresh, Some(Bytes::new(3 * SMSS)));
    }

    #[test]
    fn fallback_during_fast_recovery_rules_later_but_reduces_nothing_now() {
        let mut b = Bench::new();
        b.rounds(5);
        b.path.phase = Phase::Recovery;
        eq(b.advise(Fallback), 15.0);
        b.path.phase = Phase::Open;
        eq(b.round(), 15.0);
        assert_eq!(b.acns.ruling(), Some(Fallback));
    }

    #[test]
    fn state_reports_the_variables_of_the_row_then_the_bases() {
        let mut reported = Vec::new();
        Bench::new().acns.state(&mut |name, _| reported.push(name));
        let declared: Vec<_> = crate::acns::ROW.about.variables.iter().map(|variable| variable.name).collect();
        assert_eq!(&reported[..declared.len()], declared);
        assert!(reported[declared.len()..].iter().all(|name| !name.starts_with("acns_")), "{reported:?}");
    }

    #[test]
    fn a_loss_without_any_command_is_the_bases() {
        let mut b = Bench::new();
        eq(b.congestion(LOSS), 5.0);
        eq(b.state("congestions"), 1.0);
        eq(b.state("acns_trend"), 0.0);
    }

    #[test]
    fn a_loss_after_normal_commands_leaves_the_window_and_counts_as_freeze() {
        let mut b = Bench::new();
        for _ in 0..10 {
            b.advise(Normal);
        }
        eq(b.congestion(LOSS), 10.0);
        assert_eq!(b.win.ssthresh, None);
        assert!((b.state("acns_trend") - 1.29396).abs() < 1e-5, "newest is 2, nine are 1");
        eq(b.state("congestions"), 0.0);
        // Five more losses: the sixth finds five freezes (1.8411, still freeze), the seventh finds six.
        for _ in 0..5 {
            b.congestion(LOSS);
        }
        eq(b.state("acns_losses_frozen"), 6.0);
        b.congestion(LOSS);
        eq(b.state("acns_losses_fallen_back"), 1.0);
    }

    #[test]
    fn a_loss_in_coming_congestion_falls_back_and_counts_as_fallback() {
        let mut b = Bench::new();
        b.rounds(5);
        for _ in 0..8 {
            b.advise(Normal);
        }
        b.path.phase = Phase::Recovery;
        b.advise(Fallback);
        b.advise(Fallback);
        b.path.phase = Phase::Open;
        eq(b.congestion(LOSS), 14.0);
        assert_eq!(b.win.ssthresh, Some(Bytes::new(14 * SMSS)));
        eq(b.state("congestions"), 0.0);
        assert!((b.state("acns_trend") - 2.3110).abs() < 5e-5, "now three newest are 3");
    }

    #[test]
    fn a_loss_in_congestion_is_the_bases() {
        let mut b = Bench::new();
        b.rounds(10);
        b.path.phase = Phase::Recovery;
        b.advise(Fallback);
        b.path.phase = Phase::Open;
        eq(b.congestion(LOSS), 10.0);
        eq(b.state("congestions"), 1.0);
        eq(b.state("acns_losses_decreased"), 1.0);
    }

    #[test]
    fn the_base_hears_the_end_only_of_what_it_heard_the_beginning_of() {
        let mut b = Bench::new();
        b.advise(Normal);
        b.congestion(LOSS);
        b.acns.on_recovered(&b.path, &mut b.win);
        b.acns.on_undo(&b.path, &mut b.win);
        eq(b.state("recovered") + b.state("undone"), 0.0);
        b.congestion(TIMEOUT);
        b.acns.on_recovered(&b.path, &mut b.win);
        b.acns.on_undo(&b.path, &mut b.win);
        eq(b.state("recovered") + b.state("undone"), 2.0);
    }

    #[test]
    fn a_timeout_is_the_bases_and_lifts_a_freeze() {
        let mut b = Bench::new();
        b.rounds(5);
        b.advise(Freeze);
        eq(b.congestion(TIMEOUT), 1.0);
        assert_eq!(b.acns.ruling(), None);
        b.path.phase = Phase::Loss;
        eq(b.rounds(3), 4.0);
    }

    #[test]
    fn after_a_timeout_fallback_stops_at_two_segments() {
        let mut b = Bench::new();
        b.congestion(TIMEOUT);
        b.rounds(3);
        eq(b.advise(Fallback), 3.0);
        eq(b.advise(Fallback), 2.0);
        eq(b.advise(Fallback), 2.0);
    }

    #[test]
    fn a_sender_that_does_not_obey_counts_and_does_nothing() {
        let config = AcnsConfig { obey: false, ..AcnsConfig::default() };
        let mut b = Bench::over(Box::new(Simple::default()), &config);
        b.rounds(5);
        b.advise(Freeze);
        eq(b.round(), 16.0);
        eq(b.advise(Fallback), 16.0);
        for _ in 0..10 {
            b.advise(Normal);
        }
        eq(b.congestion(LOSS), 8.0);
        assert_eq!(b.acns.commands(), [10, 1, 1]);
    }

    #[test]
    fn ecn_events_pass_to_the_base() {
        let mut b = Bench::new();
        for _ in 0..10 {
            b.advise(Normal);
        }
        eq(b.congestion(Congestion::Ecn { marked: Bytes::new(1) }), 5.0);
    }

    fn cubic() -> Bench {
        let mut b = Bench::over(narrows_cc::build("cubic", &Params::default()).unwrap(), &AcnsConfig::default());
        b.win = Window { cwnd: Bytes::new(100 * SMSS), ssthresh: Some(Bytes::new(100 * SMSS)), pacing_rate: None };
        b.congestion(LOSS);
        b
    }

    #[test]
    fn cubic_goes_on_after_a_freeze_where_it_stood() {
        let mut free = cubic();
        let mut frozen = cubic();
        for b in [&mut free, &mut frozen] {
            b.advise(Normal);
            b.rounds(5);
        }
        frozen.advise(Freeze);
        frozen.rounds(100);
        frozen.advise(Normal);
        for _ in 0..20 {
            let (a, b) = (free.round(), frozen.round());
            assert!((a - b).abs() < 0.1, "{a} without and {b} after ten seconds of freeze");
        }
    }

    #[test]
    fn cubic_does_not_jump_back_after_a_fallback() {
        for profile in ["rfc9438", "linux"] {
            let params = Params::new(vec![("profile".into(), narrows_cc::ParamValue::Choice(profile.into()))]);
            let mut b = cubic();
            b.acns = Acns::new(narrows_cc::build("cubic", &params).unwrap(), &AcnsConfig::default());
            b.win.cwnd = Bytes::new(100 * SMSS);
            b.congestion(LOSS);
            b.advise(Normal);
            // In the steep part of the curve beyond W_max.
            let high = b.rounds(75);
            let low = (0..12).map(|_| b.advise(Fallback)).last().unwrap();
            assert!(low < high - 10.0, "{profile}: {high} to {low}");
            b.advise(Normal);
            let next = b.round();
            assert!(next < low + 4.0, "{profile}: {low} to {next}");
            assert!(b.rounds(30) > low + 4.0, "{profile}: it grows on");
        }
    }

    #[derive(Clone, Copy, Debug)]
    enum Event {
        Round,
        Advice(Advice),
        Loss,
        Timeout,
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            6 => Just(Event::Round),
            1 => Just(Event::Advice(Normal)),
            1 => Just(Event::Advice(Freeze)),
            2 => Just(Event::Advice(Fallback)),
            1 => Just(Event::Loss),
            1 => Just(Event::Timeout),
        ]
    }

    proptest! {
        #[test]
        fn fallback_never_goes_below_two_segments_nor_up(events in proptest::collection::vec(event(), 1..300)) {
            for base in ["reno", "cubic"] {
                let mut b = Bench::over(narrows_cc::build(base, &Params::default()).unwrap(), &AcnsConfig::default());
                for &event in &events {
                    let before = b.cwnd();
                    match event {
                        Event::Round => {
                            let held = b.acns.holds();
                            let after = b.round();
                            prop_assert!(!held || (after - before).abs() < 1e-9, "{before} {after}");
                        }
                        Event::Advice(advice) => {
                            let after = b.advise(advice);
                            prop_assert!(after <= before);
                            prop_assert!(after >= before.min(2.0));
                            prop_assert!(advice == Fallback || (after - before).abs() < 1e-9);
                        }
                        Event::Loss => prop_assert!(b.congestion(LOSS) <= before.max(2.0)),
                        Event::Timeout => {
                            b.congestion(TIMEOUT);
                        }
                    }
                    prop_assert!(b.win.ssthresh.is_none_or(|s| s >= Bytes::new(2 * SMSS)));
                }
            }
        }
    }
}
