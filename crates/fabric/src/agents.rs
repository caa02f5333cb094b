//! Builds router agents and their settings from a scenario.

use narrows_scenario as scenario;
use narrows_scenario::Scenario;
use narrows_scheme::RouterAgent;
use narrows_scheme::acns::{AcnsConfig, AcnsRouter, CommandScope, Formula, Ipv6Encoding, PriorityMaximum};
use narrows_scheme::ngwa::{NgwaConfig, NgwaMode, NgwaRouter, Stamp};

/// Per node: the router part of the scenario's scheme, if the node runs one.
#[must_use]
pub fn agents(
    scenario: &Scenario,
    acns: Option<&AcnsConfig>,
    ngwa: Option<&NgwaConfig>,
) -> Vec<Option<Box<dyn RouterAgent>>> {
    let mut agents: Vec<Option<Box<dyn RouterAgent>>> = scenario.nodes.iter().map(|_| None).collect();
    if let (Some(settings), Some(config)) = (&scenario.acns, acns) {
        for &router in &settings.routers {
            agents[router] = Some(Box::new(AcnsRouter::new(config)));
        }
    }
    if let (Some(settings), Some(config)) = (&scenario.ngwa, ngwa) {
        for &router in &settings.routers {
            agents[router] = Some(Box::new(NgwaRouter::new(config)));
        }
    }
    agents
}

/// Converts the ACNS settings of a scenario.
///
/// # Errors
/// A sentence that says which setting is refused, and what is allowed.
pub fn acns_config(a: &scenario::Acns) -> Result<AcnsConfig, String> {
    let config = AcnsConfig {
        formula: match a.formula {
            scenario::AcnsFormula::Dcnet2013 => Formula::Dcnet2013,
            scenario::AcnsFormula::Thesis2013 => Formula::Thesis2013,
        },
        priority_weight: a.priority_weight,
        age_weight: a.age_weight,
        freeze_threshold: a.freeze_threshold,
        fallback_threshold: a.fallback_threshold,
        loss_fallback_threshold: a.loss_fallback_threshold,
        loss_decrease_threshold: a.loss_decrease_threshold,
        trend_count: a.trend_count,
        trend_sigma: a.trend_sigma,
        p_max: if a.p_max_observed { PriorityMaximum::Observed } else { PriorityMaximum::Dscp },
        idle_timeout: a.idle_timeout,
        max_flows: a.max_flows,
        command_scope: match a.command_scope {
            scenario::AcnsScope::Window => CommandScope::Window,
            scenario::AcnsScope::Ack => CommandScope::Ack,
        },
        ipv6: match a.ipv6 {
            scenario::AcnsIpv6::Extension => Ipv6Encoding::Extension,
            scenario::AcnsIpv6::FlowLabel => Ipv6Encoding::FlowLabel,
        },
        obey: a.obey,
    };
    config.check().map_err(|e| e.to_string())?;
    Ok(config)
}

/// Converts the NGWA settings of a scenario.
///
/// # Errors
/// A sentence that says which setting is refused, and what is allowed.
pub fn ngwa_config(n: &scenario::Ngwa) -> Result<NgwaConfig, String> {
    let mode = NgwaMode::new(n.mode).ok_or_else(|| format!("NGWA mode is {}; it must be 1 to 8", n.mode))?;
    let config = NgwaConfig {
        mode,
        alpha: n.alpha,
        flow_factor: n.flow_factor,
        idle_timeout: n.idle_timeout,
        max_flows: n.max_flows,
        shrink: n.shrink,
        stamp: match n.stamp {
            scenario::NgwaStamp::Departure => Stamp::Departure,
            scenario::NgwaStamp::Arrival => Stamp::Arrival,
        },
        max_window: n.max_window,
    };
    config.check().map_err(|e| e.to_string())?;
    Ok(config)
}
