//! Which algorithms of a run report their internal state, and what their variables mean.

use narrows_cc::{resume, start};
use narrows_queue::Disciplines;
use narrows_scenario::{Scenario, SlowStart, WifiQueues};
use narrows_units::Variable;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The name under which a connection itself reports: loss recovery, timers and pacing.
pub const CONNECTION: &str = "tcp";

/// The variables of a connection.
pub const CONNECTION_VARIABLES: [Variable; 4] = [
    Variable::state(
        "phase",
        "Phase of loss recovery, in Linux's terms (icsk_ca_state).",
        &["open", "disorder", "cwr", "recovery", "loss"],
    ),
    Variable::new("rttvar", "s", "Variation of the round-trip time (RFC 6298)."),
    Variable::new("min_rtt", "s", "Smallest round-trip time sample."),
    Variable::new("pacing_rate", "bit/s", "Pacing rate in force; none if nothing is paced."),
];

/// A discipline's name and the variables that it reports.
pub type DisciplineVariables = (&'static str, &'static [Variable]);

/// Returns the discipline of each queue, in the order of `queue_totals`: links first, forward before reverse, then the
/// interface queues of 802.11 channels.
#[must_use]
pub fn discipline_variables(scenario: &Scenario, known: Disciplines) -> Vec<DisciplineVariables> {
    let wired = scenario.links.iter().flat_map(|link| [&link.forward.queue, &link.reverse.queue]);
    let wireless = scenario.wifi.iter().flat_map(|wifi| {
        let copies = match wifi.queues {
            WifiQueues::Shared => 1,
            WifiQueues::PerStation => wifi.stations.len(),
        };
        std::iter::repeat_n(&wifi.base.queue, copies).chain(wifi.stations.iter().map(|station| &station.queue))
    });
    let variables = |kind| known.find(kind).map_or(&[][..], |row| row.about.variables);
    wired.chain(wireless).map(|queue| (queue.kind, variables(queue.kind))).collect()
}

/// Returns per flow the variables that its congestion control, its slow start and its scheme declare. Flows with the
/// same three share the list. A congestion control that is not in the registry declares none.
#[must_use]
pub fn sender_variables(scenario: &Scenario) -> Vec<Arc<[Variable]>> {
    let scheme = scenario.scheme.as_ref().map_or(&[][..], |scheme| scheme.row.variables);
    let mut known: BTreeMap<(&str, bool, bool), Arc<[Variable]>> = BTreeMap::new();
    let of = |(cc, starts, resumes): (&str, bool, bool)| {
        let own = narrows_cc::registry().iter().find(|row| row.name == cc).map_or(&[][..], |row| row.variables);
        let start = if starts { start::VARIABLES } else { &[] };
        let resume = if resumes { resume::VARIABLES } else { &[] };
        own.iter().chain(start).chain(resume).chain(scheme).copied().collect()
    };
    let flows = scenario.flows.iter().map(|flow| {
        flow.tcp().map_or(("", false, false), |tcp| {
            let starts = !matches!(tcp.slow_start, SlowStart::Own | SlowStart::Standard);
            (&*tcp.cc, starts, tcp.careful_resume.is_some())
        })
    });
    flows.map(|flow| Arc::clone(known.entry(flow).or_insert_with(|| of(flow)))).collect()
}
