//! Parameters of ACNS, with the values of the papers' tables as defaults.

use narrows_settings::scheme::{Value, Values};
use narrows_units::Duration;
use thiserror::Error;

/// The largest differentiated services codepoint, which is the largest priority that a packet can carry.
pub const LARGEST_DSCP: u8 = 63;

/// Largest number of flows that a table may be configured for; it holds at most two fewer.
const MOST_FLOWS: u64 = 1 << 32;
/// Largest number of commands in the loss trend.
const MOST_TREND_COUNT: u32 = 10_000;
/// Largest threshold that may be set; larger weights come only from a division by zero.
const LARGEST_THRESHOLD: f64 = 1e9;
/// Range of sigma; at its lower end only the newest command counts, at its upper end all count alike.
const TREND_SIGMA: (f64, f64) = (0.001, 1e6);

/// Which paper's weight formula a router computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Formula {
    /// `F = v_p p / p_max`, `T = v_a / a` (DCNET 2013, equation 4): old flows of low priority are heaviest, which both
    /// papers name as the purpose of ACNS.
    #[default]
    Dcnet2013,
    /// `F = v_p p_max / p`, `T = v_a a` (thesis, equations 3 and 4, as printed): the inverse. Kept so that the
    /// difference can be shown.
    Thesis2013,
}

/// The meaning of `p_max` in the priority part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum PriorityMaximum {
    /// The largest DSCP, [`LARGEST_DSCP`].
    #[default]
    Dscp,
    /// The largest priority among the flows in the table.
    Observed,
}

/// How long a command is in force at the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CommandScope {
    /// The answer to the segment that asked is in force until the next answer.
    #[default]
    Window,
    /// The command of each ACK is in force until the next ACK.
    Ack,
}

/// The window that a fallback sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FallbackWindow {
    /// `cwnd_last,x`, the latest smaller window (DCNET 2013, section 2.3 and equation 12).
    #[default]
    Smaller,
    /// `cwnd - cwnd_last,x`, as equation 9 of DCNET 2013 prints it. The text beside it and equation 12 contradict it.
    Difference,
}

/// How often the window enters the history that a fallback returns to; the papers do not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum HistoryStep {
    /// Once per round trip.
    #[default]
    RoundTrip,
    /// At each ACK.
    Ack,
}

/// What a loss means to a sender that has received no command other than normal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum NormalOnlyLosses {
    /// What the trend says: an error of the channel, as in the papers.
    #[default]
    Trend,
    /// Congestion: the base algorithm reacts. This rule is ours. No router may be able to send commands: those on the
    /// path may not run ACNS.
    Base,
}

/// How the CMI bit travels in IPv6, which has no Flags field (thesis, section 4.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Ipv6Encoding {
    /// In an 8-byte hop-by-hop options header.
    #[default]
    Extension,
    /// In the top one of the three bits that a 17-bit flow label leaves free.
    FlowLabel,
}

/// All parameters of ACNS. Routers, senders and receivers of one network share one value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AcnsConfig {
    /// Which weight formula.
    pub formula: Formula,
    /// `v_p`, the share of the priority part, 0 to 1. `v_p + v_a = 1`.
    pub priority_weight: f64,
    /// `v_a`, the share of the age part, 0 to 1.
    pub age_weight: f64,
    /// `th_A1`: freeze from this weight on.
    pub freeze_threshold: f64,
    /// `th_A2`: fallback from this weight on.
    pub fallback_threshold: f64,
    /// `th_L1`: from this trend on, a loss means fallback; below it, freeze.
    pub loss_fallback_threshold: f64,
    /// `th_L2`: from this trend on, the base algorithm reacts to a loss.
    pub loss_decrease_threshold: f64,
    /// `count` (thesis: w_count): how many of the latest commands make the loss trend.
    pub trend_count: u32,
    /// `sigma`: how slowly older commands lose weight in the loss trend, in commands.
    pub trend_sigma: f64,
    /// The meaning of `p_max`.
    pub p_max: PriorityMaximum,
    /// A flow without a segment for this long leaves the table.
    pub idle_timeout: Duration,
    /// Largest number of flows in the table; a new flow beyond it replaces the longest idle one.
    pub max_flows: u64,
    /// How long a command is in force.
    pub command_scope: CommandScope,
    /// The window that a fallback sets.
    pub fallback_window: FallbackWindow,
    /// How often the window enters the history.
    pub history_step: HistoryStep,
    /// What a loss means before the first command other than normal.
    pub normal_only_losses: NormalOnlyLosses,
    /// How CMI travels in IPv6.
    pub ipv6: Ipv6Encoding,
    /// Whether senders obey. If not, they ask for commands and count them, and the base algorithm alone decides (the
    /// setting "no feedback" of the thesis's model verification, section 3.4).
    pub obey: bool,
}

impl Default for AcnsConfig {
    /// Table 1 of the thesis; for what the papers leave open, the choices named at each field's type.
    fn default() -> Self {
        Self {
            formula: Formula::Dcnet2013,
            priority_weight: 0.8,
            age_weight: 0.2,
            freeze_threshold: 0.95,
            fallback_threshold: 1.0,
            loss_fallback_threshold: 1.8413,
            loss_decrease_threshold: 2.1587,
            trend_count: 10,
            trend_sigma: 3.0,
            p_max: PriorityMaximum::Dscp,
            idle_timeout: Duration::from_secs(60),
            max_flows: 65_536,
            command_scope: CommandScope::Window,
            fallback_window: FallbackWindow::Smaller,
            history_step: HistoryStep::RoundTrip,
            normal_only_losses: NormalOnlyLosses::Trend,
            ipv6: Ipv6Encoding::Extension,
            obey: true,
        }
    }
}

/// Why parameters make no sense together.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum AcnsConfigError {
    /// A share is outside 0 to 1.
    #[error("ACNS weight {name} is {value}; it must lie between 0 and 1")]
    Share {
        /// `v_p` or `v_a`.
        name: &'static str,
        /// The given value.
        value: f64,
    },
    /// The shares do not add up.
    #[error("ACNS weights v_p = {v_p} and v_a = {v_a} add up to {}; they must add up to 1", v_p + v_a)]
    Sum {
        /// Share of the priority part.
        v_p: f64,
        /// Share of the age part.
        v_a: f64,
    },
    /// The command thresholds are out of range or out of order.
    #[error("ACNS thresholds th_A1 = {th_a1} and th_A2 = {th_a2}: they must be 0 to 10^9, with th_A1 <= th_A2")]
    CommandThresholds {
        /// Freeze from this weight on.
        th_a1: f64,
        /// Fallback from this weight on.
        th_a2: f64,
    },
    /// The loss thresholds are out of range or out of order.
    #[error("ACNS thresholds th_L1 = {th_l1} and th_L2 = {th_l2}: they must be 0 to 10^9, with th_L1 <= th_L2")]
    LossThresholds {
        /// Fallback from this trend on.
        th_l1: f64,
        /// Decrease from this trend on.
        th_l2: f64,
    },
    /// The trend has no commands, or too many.
    #[error("ACNS trend count is {0}; it must be 1 to {MOST_TREND_COUNT}")]
    TrendCount(u32),
    /// Sigma is outside its range.
    #[error("ACNS trend sigma is {sigma}; it must be {low} to {high}", low = TREND_SIGMA.0, high = TREND_SIGMA.1)]
    TrendSigma {
        /// The given value.
        sigma: f64,
    },
    /// Flows would leave the table at once.
    #[error("ACNS idle timeout is {0}; it must be longer than zero")]
    IdleTimeout(Duration),
    /// The table holds nothing, or too much.
    #[error("ACNS table bound is {0} flows; it must be 1 to {MOST_FLOWS}")]
    MaxFlows(u64),
}

impl AcnsConfig {
    /// Converts the values of a scenario's table.
    ///
    /// # Errors
    /// A sentence that says which value is refused, and what is allowed.
    pub fn from_values(values: &Values) -> Result<Self, String> {
        let config = Self {
            formula: match values.word("formula")? {
                "thesis2013" => Formula::Thesis2013,
                _ => Formula::Dcnet2013,
            },
            priority_weight: values.number("priority_weight")?,
            age_weight: values.number("age_weight")?,
            freeze_threshold: values.number("freeze_threshold")?,
            fallback_threshold: values.number("fallback_threshold")?,
            loss_fallback_threshold: values.number("loss_fallback_threshold")?,
            loss_decrease_threshold: values.number("loss_decrease_threshold")?,
            trend_count: u32::try_from(values.integer("trend_count")?).unwrap_or(u32::MAX),
            trend_sigma: values.number("trend_sigma")?,
            p_max: match values.get("p_max") {
                Some(Value::Word(_)) => PriorityMaximum::Observed,
                _ => PriorityMaximum::Dscp,
            },
            idle_timeout: values.time("idle_timeout")?,
            max_flows: values.integer("max_flows")?,
            command_scope: match values.word("command_scope")? {
                "ack" => CommandScope::Ack,
                _ => CommandScope::Window,
            },
            fallback_window: match values.word("fallback_window")? {
                "difference" => FallbackWindow::Difference,
                _ => FallbackWindow::Smaller,
            },
            history_step: match values.word("history_step")? {
                "ack" => HistoryStep::Ack,
                _ => HistoryStep::RoundTrip,
            },
            normal_only_losses: match values.word("normal_only_losses")? {
                "base" => NormalOnlyLosses::Base,
                _ => NormalOnlyLosses::Trend,
            },
            ipv6: match values.word("ipv6")? {
                "flow_label" => Ipv6Encoding::FlowLabel,
                _ => Ipv6Encoding::Extension,
            },
            obey: values.switch("obey")?,
        };
        config.check().map_err(|error| error.to_string())?;
        Ok(config)
    }

    /// Checks that the parameters make sense together.
    ///
    /// # Errors
    /// The first broken rule: shares in [0, 1] that add up to 1 (within 1e-9), thresholds of 0 to 10^9 in order, a
    /// trend of 1 to 10,000 commands with sigma 0.001 to 10^6, an idle timeout above zero, and a table of 1 to 2^32
    /// flows.
    pub fn check(&self) -> Result<(), AcnsConfigError> {
        let (v_p, v_a) = (self.priority_weight, self.age_weight);
        for (name, value) in [("v_p", v_p), ("v_a", v_a)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(AcnsConfigError::Share { name, value });
            }
        }
        if (v_p + v_a - 1.0).abs() > 1e-9 {
            return Err(AcnsConfigError::Sum { v_p, v_a });
        }
        let ordered = |low: f64, high: f64| low >= 0.0 && low <= high && high <= LARGEST_THRESHOLD;
        let (th_a1, th_a2) = (self.freeze_threshold, self.fallback_threshold);
        if !ordered(th_a1, th_a2) {
            return Err(AcnsConfigError::CommandThresholds { th_a1, th_a2 });
        }
        let (th_l1, th_l2) = (self.loss_fallback_threshold, self.loss_decrease_threshold);
        if !ordered(th_l1, th_l2) {
            return Err(AcnsConfigError::LossThresholds { th_l1, th_l2 });
        }
        if !(1..=MOST_TREND_COUNT).contains(&self.trend_count) {
            return Err(AcnsConfigError::TrendCount(self.trend_count));
        }
        if !(TREND_SIGMA.0..=TREND_SIGMA.1).contains(&self.trend_sigma) {
            return Err(AcnsConfigError::TrendSigma { sigma: self.trend_sigma });
        }
        if self.idle_timeout.is_zero() {
            return Err(AcnsConfigError::IdleTimeout(self.idle_timeout));
        }
        if !(1..=MOST_FLOWS).contains(&self.max_flows) {
            return Err(AcnsConfigError::MaxFlows(self.max_flows));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_papers_values_are_accepted() {
        assert_eq!(AcnsConfig::default().check(), Ok(()));
        // DCNET 2013 rounds the thesis's loss thresholds.
        let rounded =
            AcnsConfig { loss_fallback_threshold: 1.84, loss_decrease_threshold: 2.15, ..AcnsConfig::default() };
        assert_eq!(rounded.check(), Ok(()));
    }

    #[test]
    fn shares_must_add_up_to_one_within_a_billionth() {
        let with = |v_p, v_a| AcnsConfig { priority_weight: v_p, age_weight: v_a, ..AcnsConfig::default() }.check();
        assert_eq!(with(0.1 + 0.2, 0.7), Ok(()));
        assert_eq!(with(1.0, 0.0), Ok(()));
        assert_eq!(with(0.8, 0.3), Err(AcnsConfigError::Sum { v_p: 0.8, v_a: 0.3 }));
        assert!(with(0.8, 0.2 + 2e-9).is_err());
        assert_eq!(with(1.5, -0.5), Err(AcnsConfigError::Share { name: "v_p", value: 1.5 }));
        assert!(with(f64::NAN, 0.2).is_err());
    }

    #[test]
    fn a_refusal_names_the_values_and_what_is_allowed() {
        let text = AcnsConfig { priority_weight: 0.5, ..AcnsConfig::default() }.check().unwrap_err().to_string();
        assert_eq!(text, "ACNS weights v_p = 0.5 and v_a = 0.2 add up to 0.7; they must add up to 1");
    }

    #[test]
    fn every_other_rule_is_checked() {
        let d = AcnsConfig::default();
        let broken = [
            AcnsConfig { freeze_threshold: 1.1, ..d },
            AcnsConfig { freeze_threshold: -0.1, ..d },
            AcnsConfig { fallback_threshold: f64::INFINITY, ..d },
            AcnsConfig { loss_fallback_threshold: 2.5, ..d },
            AcnsConfig { loss_decrease_threshold: f64::NAN, ..d },
            AcnsConfig { trend_count: 0, ..d },
            AcnsConfig { trend_sigma: 0.0, ..d },
            AcnsConfig { idle_timeout: Duration::ZERO, ..d },
            AcnsConfig { max_flows: 0, ..d },
            AcnsConfig { max_flows: MOST_FLOWS + 1, ..d },
        ];
        for config in broken {
            assert!(config.check().is_err(), "{config:?}");
        }
    }
}
