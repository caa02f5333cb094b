//! Every reason why a scenario cannot run live, found before anything is made.

use crate::LiveError;
use crate::case::{UntoldStep, untold_steps};
use crate::fit::{self, Control, control};
use crate::refusals::Refusals;
use crate::schemes;
use crate::settings::Settings;
use narrows_scenario::{Flow, NodeKind, Scenario};

/// Rejects a scenario that cannot run live here, with every reason that can be found without creating anything.
///
/// # Errors
/// [`LiveError::Unsupported`] and [`LiveError::Unavailable`]; several as [`LiveError::Refused`].
pub(crate) fn judge(scenario: &Scenario) -> Result<(), LiveError> {
    // All transfers of a workload are like its flow.
    let flows = scenario.listed().chain(scenario.workloads.iter().map(|workload| &workload.flow)).cloned().collect();
    let brief = Scenario { flows, ..scenario.clone() };
    let scenario = &brief;
    let mut refusals = Refusals::default();
    refusals.take(fit::check(scenario));
    schemes::judge(scenario, &mut refusals);
    let tcp = scenario.flows.iter().filter(|flow| flow.tcp().is_some());
    for flow in tcp.filter(|flow| !schemes::brings_control(scenario, flow)) {
        refusals.take(control(flow));
    }
    for (node, _) in scenario.nodes.iter().enumerate().filter(|(_, node)| node.kind == NodeKind::Host) {
        refusals.take(Settings::of_host(scenario, node));
    }
    steps(scenario, &mut refusals);
    refusals.end()
}

/// Refuses steps of a test case that wait for what the kernel does not tell: they would never happen.
fn steps(scenario: &Scenario, refusals: &mut Refusals) {
    let Some(case) = &scenario.case else { return };
    let names: Vec<String> = scenario.flows.iter().map(kernel_name).collect();
    for UntoldStep { index, line, condition, reason } in
        untold_steps(case, |flow| names.get(flow).map_or("", String::as_str))
    {
        let line = line.map_or_else(String::new, |line| format!(" (line {line})"));
        refusals.add(LiveError::Unsupported {
            field: format!("steps[{index}].when{line}"),
            value: condition,
            reason,
            allowed: "variables that Linux tells (docs/check.md), or a simulated run".to_owned(),
        });
    }
}

/// Returns the kernel's name of a flow's congestion control, or Narrows' own of one in eBPF; empty if there is neither.
fn kernel_name(flow: &Flow) -> String {
    match control(flow) {
        Ok(Control::Kernel(name)) => name,
        Ok(Control::Ours(name)) => format!("{name} in eBPF"),
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{scenario, scenario_under};

    fn fields(error: &LiveError) -> Vec<String> {
        let LiveError::Refused { refusals } = error else { panic!("one alone: {error}") };
        let field = |error: &LiveError| match error {
            LiveError::Unsupported { field, .. } => field.clone(),
            other => other.to_string(),
        };
        refusals.iter().map(field).collect()
    }

    #[test]
    fn all_refusals_come_at_once() {
        let flows = "[tcp]\nstack = \"rfc\"\ncc = \"reno\"\nrecovery = \"reno\"\nsack = false\ninitial_ssthresh = \"20 kB\"\n\
                     max_cwnd = \"85 kB\"\nmss = \"40 kB\"\n[[flows]]\nname = \"a\"\nfrom = \"s1\"\nto = \"d1\"\n\
                     [[flows]]\nname = \"b\"\nfrom = \"s1\"\nto = \"d1\"\ncc = \"tahoe\"\ntcp = { timestamps = false }";
        let error = judge(&scenario(flows)).unwrap_err();
        let expected = [
            "flows.a.tcp.recovery",
            "flows.a.tcp.mss",
            "flows.a.tcp.initial_ssthresh",
            "flows.a.tcp.max_cwnd",
            "flows.b.tcp.recovery",
            "flows.b.tcp.mss",
            "flows.b.tcp.initial_ssthresh",
            "flows.b.tcp.max_cwnd",
            "flows.b.tcp.cc",
            "flows.b.tcp.timestamps",
        ];
        assert_eq!(fields(&error), expected);
        let said = error.to_string();
        assert!(
            said.starts_with("the scenario cannot run live: 10 refusals\n  flows.a.tcp.recovery: reno: "),
            "{said}"
        );
        assert_eq!(said.lines().count(), 11, "{said}");
    }

    #[test]
    fn a_scheme_s_refusals_are_among_them() {
        let first = "queue = { limit = \"60 kB\" }";
        let flows = "[tcp]\nstack = \"linux\"\ncc = \"reno\"\n[ngwa]\nmode = 1\n\
                     [[flows]]\nname = \"a\"\nfrom = \"s1\"\nto = \"d1\"\n[[flows]]\nname = \"b\"\nfrom = \"s1\"\nto = \"d1\"\n\
                     tcp = { assist = \"none\", dupthresh = 5 }";
        let mut fields = fields(&judge(&scenario_under(first, flows)).unwrap_err());
        fields.sort();
        assert_eq!(fields, ["flows.b.tcp.assist", "flows.b.tcp.dupthresh"]);
    }

    #[test]
    fn a_scenario_with_a_live_form_is_not_refused() {
        assert_eq!(
            judge(&scenario("[tcp]\nstack = \"linux\"\ncc = \"reno\"\n[[flows]]\nfrom = \"s1\"\nto = \"d1\"")),
            Ok(())
        );
    }

    #[test]
    fn steps_may_act_but_not_wait_for_what_linux_does_not_tell() {
        let flow = "[tcp]\nstack = \"linux\"\ncc = \"reno\"\n[[flows]]\nname = \"f\"\nfrom = \"s1\"\nto = \"d1\"\n";
        let acts = "[[steps]]\nwhen = \"flow.cwnd > 12 packets\"\ndrop = { packets = 1 }\npause = true";
        assert_eq!(judge(&scenario(&format!("{flow}{acts}"))), Ok(()));
        let waits = "[[steps]]\nwhen = \"flow.lost > 0 B\"\ndrop = { packets = 1 }";
        let said = judge(&scenario(&format!("{flow}{waits}"))).unwrap_err().to_string();
        assert!(said.starts_with("steps[0].when (line 1"), "{said}");
        assert!(said.contains("flow.lost > 0 B: Linux does not tell flow.lost: TCP_INFO has"), "{said}");
    }
}
