//! Vivace's decisions: direction and size of a step, from the utilities of a test.

/// Numbers in which the paper and the authors' code differ.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// Pairs of intervals in a test.
    pub pairs: usize,
    /// Pairs that must favour the higher rate for a rise; a fall takes all.
    rise: usize,
    /// Whether the step's own interval gives the next gradient.
    moves: bool,
    /// delta, what k adds to the change boundary.
    delta: f64,
    /// Least step, in Mb/s (`kMinRateChange`).
    min_step: f64,
    /// m(tau).
    amplifier: fn(u32) -> f64,
}

/// The paper's rules (sections 4.2 and 5).
pub(super) const PAPER: Rules =
    Rules { pairs: 2, rise: 2, moves: false, delta: 0.1, min_step: 0.0, amplifier: paper_amplifier };
/// The rules of PCC-Uspace.
pub(super) const USPACE: Rules =
    Rules { pairs: 3, rise: 2, moves: true, delta: 0.05, min_step: 0.5, amplifier: uspace_amplifier };

/// omega0, the change boundary of a first step.
const OMEGA: f64 = 0.05;

/// m(tau) of the paper, section 4.2.
fn paper_amplifier(tau: u32) -> f64 {
    if tau <= 3 { f64::from(tau) } else { 2.0 * f64::from(tau) - 3.0 }
}

/// `pow((rounds + 1) / 2, 1.2)` in whole numbers, as `ComputeRateChange` has it.
fn uspace_amplifier(tau: u32) -> f64 {
    libm::pow(f64::from(tau.saturating_add(1) / 2), 1.2)
}

/// State of the sender; the numbers are those reported as `phase`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Starting = 0,
    Probing = 1,
    Moving = 2,
}

/// A rate and the utility that it had.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Step {
    /// The rate, in Mb/s.
    pub mbps: f64,
    /// Its utility.
    pub utility: f64,
}

/// du/dx between two steps; `None` for the same rate.
fn gradient(a: Step, b: Step) -> Option<f64> {
    let apart = a.mbps - b.mbps;
    (apart.abs() > 0.0).then(|| (a.utility - b.utility) / apart)
}

/// The state of decisions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Control {
    pub rules: Rules,
    theta: f64,
    pub mode: Mode,
    /// Whether the last decision raised the rate; `None` before one.
    rising: Option<bool>,
    /// tau; in Probing of `USPACE`, tests without a decision.
    pub rounds: u32,
    /// k.
    pub k: u32,
    /// The step that the next one is compared with.
    latest: Step,
}

impl Control {
    pub fn new(rules: Rules, theta: f64) -> Self {
        Self { rules, theta, mode: Mode::Starting, rising: None, rounds: 1, k: 0, latest: Step::default() }
    }

    /// omega, as a share of the rate.
    pub fn boundary(&self) -> f64 {
        OMEGA + self.rules.delta * f64::from(self.k)
    }

    /// Goes to Probing without a decision.
    pub fn restart_test(&mut self) {
        (self.mode, self.rounds, self.k, self.rising) = (Mode::Probing, 1, 0, None);
    }

    /// The next rate in Mb/s, after a test around `rate`, where `least` is the smallest rate.
    pub fn decide(&mut self, outcomes: &[Step], rate: f64, least: f64) -> f64 {
        let next = match (self.mode, outcomes) {
            (Mode::Starting, [outcome, ..]) => self.start(*outcome, rate),
            (Mode::Probing, pairs) => self.probe(pairs, rate),
            (Mode::Moving, [outcome, ..]) => self.step_on(*outcome, rate),
            _ => rate,
        };
        if next >= least {
            return next;
        }
        if self.mode != Mode::Starting {
            // `kMinSendingRate`: at the smallest rate a test begins; one without a result starts the flow again.
            let stuck = self.rules.moves && self.mode == Mode::Probing && self.rounds > 1;
            self.restart_test();
            self.mode = if stuck { Mode::Starting } else { Mode::Probing };
        }
        least
    }

    /// Starting: twice the rate while the utility rises, then half of it.
    fn start(&mut self, outcome: Step, rate: f64) -> f64 {
        if outcome.utility > self.latest.utility {
            self.latest = outcome;
            self.rounds = self.rounds.saturating_add(1);
            return rate * 2.0;
        }
        self.restart_test();
        rate / 2.0
    }

    /// Probing: a decision if enough pairs agree.
    fn probe(&mut self, outcomes: &[Step], rate: f64) -> f64 {
        let pairs: Vec<(Step, Step, f64)> = outcomes
            .chunks_exact(2)
            .filter_map(|pair| {
                let (a, b) = (*pair.first()?, *pair.last()?);
                Some((a, b, gradient(a, b)?))
            })
            .collect();
        let up = pairs.iter().filter(|(_, _, slope)| *slope > 0.0).count();
        let down = pairs.len() - up;
        let complete = pairs.len() == self.rules.pairs;
        let rising = match (complete, up >= self.rules.rise, down == self.rules.pairs) {
            (true, true, _) => true,
            (true, false, true) => false,
            _ => {
                self.undecided();
                return rate;
            }
        };
        // The mean over all pairs of the slopes that agree with the decision, as `ComputeRateChange` divides.
        let mut agree = pairs.iter().filter(|(_, _, slope)| (*slope > 0.0) == rising);
        let slope = agree.clone().map(|(_, _, slope)| slope.abs()).sum::<f64>() / self.rules.pairs as f64;
        if let Some((a, b, _)) = agree.next_back() {
            self.latest = if a.utility > b.utility { *a } else { *b };
        }
        if self.rules.moves {
            (self.mode, self.rounds, self.k) = (Mode::Moving, 1, 0);
            self.rising = Some(rising);
            // The first step starts from the better rate of the pair.
            return self.changed(self.latest.mbps, slope, rising);
        }
        if self.rising == Some(rising) {
            self.rounds = self.rounds.saturating_add(1);
        } else {
            (self.rising, self.rounds, self.k) = (Some(rising), 1, 0);
        }
        self.changed(rate, slope, rising)
    }

    /// A test without a decision.
    fn undecided(&mut self) {
        if self.rules.moves {
            self.rounds = self.rounds.saturating_add(1);
        }
    }

    /// Moving: on in the same direction while the gradient says so, else back by it.
    fn step_on(&mut self, outcome: Step, rate: f64) -> f64 {
        let rising = self.rising.unwrap_or(true);
        let slope = gradient(outcome, self.latest).unwrap_or(0.0);
        let on = if rising { slope > 0.0 } else { slope < 0.0 };
        if on {
            self.rounds = self.rounds.saturating_add(1);
            self.latest = outcome;
            return self.changed(rate, slope.abs(), rising);
        }
        self.rounds = 1;
        let back = self.changed(rate, slope.abs(), !rising);
        self.mode = Mode::Probing;
        back
    }

    /// `rate` after a step for a gradient of size `slope`, amplified and bounded.
    fn changed(&mut self, rate: f64, slope: f64, rising: bool) -> f64 {
        let wanted = (self.rules.amplifier)(self.rounds) * self.theta * slope;
        let mut change = wanted.min(self.boundary() * rate);
        if wanted > change {
            self.k = self.k.saturating_add(1);
        } else if self.rules.moves {
            self.k = self.k.saturating_sub(1);
        } else {
            // The smallest k whose boundary holds the step.
            let needed = ((wanted / rate.max(f64::MIN_POSITIVE) - OMEGA) / self.rules.delta).max(0.0);
            self.k = self.k.min(libm::ceil(needed) as u32);
        }
        change = change.max(self.rules.min_step);
        if rising { rate + change } else { (rate - change).max(0.0) }
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)]
mod tests {
    use super::*;

    fn probing(rules: Rules) -> Control {
        let mut control = Control::new(rules, 1.0);
        control.restart_test();
        control
    }

    /// A pair around 20 Mb/s whose utilities differ by `slope` per Mb/s; the higher rate first if `first`.
    fn pair(slope: f64, first: bool) -> [Step; 2] {
        let (high, low) = (Step { mbps: 21.0, utility: 5.0 + 2.0 * slope }, Step { mbps: 19.0, utility: 5.0 });
        if first { [high, low] } else { [low, high] }
    }

    #[test]
    fn vivace_confidence_amplifier() {
        assert_eq!([1, 2, 3, 4, 5, 6].map(paper_amplifier), [1.0, 2.0, 3.0, 5.0, 7.0, 9.0]);
        // floor((tau + 1) / 2) is 1, 1, 2, 2, 3; 2^1.2 = 2.2974, 3^1.2 = 3.7372.
        let got = [1, 2, 3, 4, 5].map(uspace_amplifier);
        for (got, want) in got.iter().zip([1.0, 1.0, 2.297_397, 2.297_397, 3.737_193]) {
            assert!((got - want).abs() < 1e-6, "{got} {want}");
        }
    }

    #[test]
    fn vivace_change_boundary_widens_and_shrinks() {
        let mut control = probing(PAPER);
        // A gradient of 10 asks for 10 Mb/s of 20; allowed are 5 %, then 15 %, then 25 %.
        assert_eq!(control.changed(20.0, 10.0, true), 21.0);
        assert_eq!(control.changed(20.0, 10.0, true), 23.0);
        assert_eq!((control.changed(20.0, 10.0, true), control.k), (25.0, 3));
        // 2.4 Mb/s of 20 are 12 %, which k = 1 (15 %) holds.
        assert_eq!((control.changed(20.0, 2.4, true), control.k), (22.4, 1));
        // The code widens by 5 % and shrinks by one step; a step is 500 kb/s at least.
        let mut control = probing(USPACE);
        assert_eq!(control.changed(20.0, 10.0, false), 19.0);
        assert_eq!((control.changed(20.0, 10.0, false), control.k), (18.0, 2));
        assert_eq!((control.changed(20.0, 0.1, false), control.k), (19.5, 1));
    }

    #[test]
    fn vivace_first_step_by_the_mean_gradient() {
        // Paper: slopes 0.4 and 0.6 agree; the mean moves 20 Mb/s by 0.5, and the next agreement by twice that.
        let mut control = probing(PAPER);
        let test = [pair(0.4, true), pair(0.6, false)].concat();
        assert!((control.decide(&test, 20.0, 0.1) - 20.5).abs() < 1e-9);
        assert!((control.decide(&test, 20.0, 0.1) - 21.0).abs() < 1e-9);
        assert_eq!((control.mode, control.rounds), (Mode::Probing, 2));
        // A contradiction keeps the rate.
        assert_eq!(control.decide(&[pair(0.4, true), pair(-0.4, true)].concat(), 20.0, 0.1), 20.0);
        // Code: slopes 0.6, 0.9 and 0.9: from the better rate, 21 Mb/s, by 0.8.
        let mut control = probing(USPACE);
        let test = [pair(0.6, true), pair(0.9, false), pair(0.9, true)].concat();
        assert!((control.decide(&test, 20.0, 0.5) - 21.8).abs() < 1e-9);
        assert_eq!(control.mode, Mode::Moving);
    }

    #[test]
    fn vivace_two_of_three_pairs_raise_and_all_lower() {
        let up = [pair(0.6, true), pair(-0.6, true), pair(0.9, false)].concat();
        let mut control = probing(USPACE);
        // (0.6 + 0.9) / 3 = 0.5.
        assert!((control.decide(&up, 20.0, 0.5) - 21.5).abs() < 1e-9);
        let mostly_down = [pair(-0.6, true), pair(-0.6, true), pair(0.9, false)].concat();
        let mut control = probing(USPACE);
        assert_eq!(control.decide(&mostly_down, 20.0, 0.5), 20.0);
        assert_eq!((control.mode, control.rounds), (Mode::Probing, 2));
        let down = [pair(-0.6, true), pair(-0.6, false), pair(-0.9, false)].concat();
        assert!((control.decide(&down, 20.0, 0.5) - 18.3).abs() < 1e-9);
    }

    #[test]
    fn vivace_moving_reverses_by_the_gradient() {
        let mut control = probing(USPACE);
        let test = [pair(0.9, true), pair(0.9, false), pair(0.9, true)].concat();
        let rate = control.decide(&test, 20.0, 0.5);
        assert!((rate - 21.9).abs() < 1e-9);
        // 21.9 Mb/s had 0.72 more than 21 Mb/s: slope 0.8, on by 0.8.
        let better = control.latest.utility + 0.72;
        let next = control.decide(&[Step { mbps: rate, utility: better }], rate, 0.5);
        assert!((next - 22.7).abs() < 1e-9, "{next}");
        // 22.7 Mb/s had 0.48 less: slope -0.6, back by 0.6 and a new test.
        let back = control.decide(&[Step { mbps: next, utility: better - 0.48 }], next, 0.5);
        assert!((back - 22.1).abs() < 1e-9, "{back}");
        assert_eq!((control.mode, control.rounds), (Mode::Probing, 1));
        // Below the smallest rate a test begins there.
        control.mode = Mode::Moving;
        assert_eq!(control.decide(&[Step { mbps: 0.6, utility: 1000.0 }], 0.6, 0.5), 0.5);
        assert_eq!(control.mode, Mode::Probing);
    }
}
