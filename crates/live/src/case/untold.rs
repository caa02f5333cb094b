//! Variables that the kernel does not tell, and what follows for steps and expectations that read them.

use crate::cc_info::CcInfo;
use crate::tcp_info;
use narrows_timeline::{Case, Expression, Outcome, Source, Variable, Verdict, When};
use std::collections::BTreeMap;

/// A variable that the kernel does not tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Untold {
    /// As expressions write it.
    name: String,
    why: String,
}

impl Untold {
    fn sentence(&self) -> String {
        format!("Linux does not tell {}: {}", self.name, self.why)
    }
}

/// A step whose condition reads a variable that the kernel does not tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UntoldStep {
    /// Its place among the steps.
    pub(crate) index: usize,
    /// Its line in the file.
    pub(crate) line: Option<usize>,
    /// Its condition.
    pub(crate) condition: String,
    /// What is not told, and why.
    pub(crate) reason: String,
}

/// Returns the variables of a case that the kernel does not tell, by their place. `control` gives the kernel's name of
/// a flow's congestion control.
pub(super) fn untold<'a>(case: &Case, control: impl Fn(usize) -> &'a str) -> BTreeMap<usize, Untold> {
    let of = |(place, variable): (usize, &Variable)| {
        let why = why(variable, &control)?;
        Some((place, Untold { name: variable.name.clone(), why }))
    };
    case.variables.iter().enumerate().filter_map(of).collect()
}

fn why<'a>(variable: &Variable, control: impl Fn(usize) -> &'a str) -> Option<String> {
    match &variable.source {
        Source::Flow { field, .. } => tcp_info::untold(*field).map(str::to_owned),
        Source::Control { flow, name } => {
            let control = control(*flow);
            let known = CcInfo::names(control);
            // A control that this kernel lacks is refused by itself.
            (!control.is_empty() && !known.contains(&&**name)).then(|| match known {
                [] => format!("TCP_CC_INFO has nothing of {control}"),
                known => format!("TCP_CC_INFO has {} of {control}", known.join(", ")),
            })
        }
        Source::Receiver { .. } => Some("a socket option tells nothing of a receiver's control".to_owned()),
        Source::Time | Source::Link { .. } | Source::Path(_) => None,
    }
}

/// Returns the steps of a case whose conditions read variables that the kernel does not tell: they would never happen.
pub(crate) fn untold_steps<'a>(case: &Case, control: impl Fn(usize) -> &'a str) -> Vec<UntoldStep> {
    let untold = untold(case, control);
    let steps = case.steps.iter().enumerate().filter_map(|(index, step)| {
        let When::Condition(condition) = &step.when else { return None };
        let reason = reasons(case, &untold, [condition])?;
        Some(UntoldStep { index, line: step.line.0, condition: condition.text.clone(), reason })
    });
    steps.collect()
}

/// Returns what the kernel does not tell of these conditions, a sentence each; `None` if it tells all.
fn reasons<'a>(
    case: &Case,
    untold: &BTreeMap<usize, Untold>,
    conditions: impl IntoIterator<Item = &'a Expression>,
) -> Option<String> {
    let read = conditions.into_iter().flat_map(|condition| case.reads(condition));
    let mut missing: Vec<String> = read.filter_map(|id| untold.get(&id.0)).map(Untold::sentence).collect();
    missing.sort();
    missing.dedup();
    (!missing.is_empty()).then(|| missing.join("; "))
}

/// Turns the verdicts on expectations that the kernel does not let be judged into "does not apply".
pub(super) fn excuse(case: &Case, untold: &BTreeMap<usize, Untold>, mut outcome: Outcome) -> Outcome {
    for (wanted, found) in case.expectations.iter().zip(&mut outcome.expectations) {
        let conditions = [&wanted.expression].into_iter().chain(&wanted.unless);
        if let Some(reason) = reasons(case, untold, conditions) {
            found.verdict = Verdict::DoesNotApply;
            found.reason = format!("does not apply: {reason}");
        }
    }
    outcome
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testing::scenario;
    use narrows_timeline::ExpectationOutcome;

    const FLOW: &str =
        "[tcp]\nstack = \"linux\"\ncc = \"cubic\"\n[[flows]]\nname = \"f\"\nfrom = \"s1\"\nto = \"d1\"\n";

    fn case(rest: &str) -> std::sync::Arc<Case> {
        scenario(&format!("{FLOW}{rest}")).case.unwrap()
    }

    #[test]
    fn steps_that_wait_for_what_is_not_told_are_found() {
        let case = case(
            "[[steps]]\nname = \"a\"\nwhen = \"flow.cwnd > 20 packets\"\n[[steps]]\nname = \"b\"\nafter = \"a\"\nwhen = \"flow.cc.w_max > 10 packets and \
             flow.lost > 0 B\"",
        );
        let found = untold_steps(&case, |_| "cubic");
        let [step] = &found[..] else { panic!("{found:?}") };
        assert_eq!((step.index, step.line.is_some()), (1, true));
        assert!(step.reason.contains("Linux does not tell flow.lost: TCP_INFO has"), "{}", step.reason);
        assert!(step.reason.contains("flow.cc.w_max: TCP_CC_INFO has nothing of cubic"), "{}", step.reason);
    }

    #[test]
    fn expectations_on_what_is_not_told_do_not_apply_even_behind_functions() {
        let case = case(
            "[[steps]]\nname = \"begun\"\nwhen = \"flow.cwnd > 20 packets\"\n[[expect]]\nalways = \"total('begun', flow.lost) \
             == 0 B\"\n[[expect]]\nalways = \"flow.cwnd > 1 packets\"",
        );
        let bare = ExpectationOutcome {
            verdict: Verdict::NothingSampled,
            from: None,
            to: None,
            decided: None,
            looks: 0,
            values: Vec::new(),
            reason: String::new(),
        };
        let expectations = vec![bare.clone(), ExpectationOutcome { verdict: Verdict::Met, ..bare }];
        let ended = narrows_units::Instant::ZERO;
        let outcome = Outcome { ended, steps: Vec::new(), expectations, series: None };
        let made = excuse(&case, &untold(&case, |_| "cubic"), outcome);
        let [first, second] = &made.expectations[..] else { panic!("{made:?}") };
        assert_eq!((first.verdict, second.verdict), (Verdict::DoesNotApply, Verdict::Met));
        assert!(first.reason.starts_with("does not apply: Linux does not tell flow.lost"), "{}", first.reason);
    }

    #[test]
    fn bbr_s_state_is_told_in_part() {
        let case = scenario(&format!(
            "{}[[expect]]\nalways = \"flow.cc.pacing_gain > 0 and flow.cc.phase != 'DRAIN'\"\n[[expect]]\nalways = \
             \"flow.rounds >= 0\"",
            FLOW.replace("cubic", "bbr")
        ));
        let case = case.case.unwrap();
        assert!(untold(&case, |_| "bbr").is_empty(), "{:?}", untold(&case, |_| "bbr"));
    }
}
