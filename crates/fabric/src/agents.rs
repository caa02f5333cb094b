//! Builds the parts of a scenario's scheme.

use narrows_scenario::Scenario;
use narrows_scheme::{Parts, RouterAgent, SchemeRow};

/// A scenario's scheme: its row, and the parameters from which its parts are made.
#[derive(Debug)]
pub struct Scheme {
    /// The row in the registry.
    pub row: &'static SchemeRow,
    /// Makes the parts.
    pub parts: Box<dyn Parts>,
}

/// Returns the scheme that runs in a scenario, if any.
///
/// # Errors
/// A sentence that says which setting is refused, and what is allowed.
pub fn scheme(scenario: &Scenario) -> Result<Option<Scheme>, String> {
    let Some(settings) = &scenario.scheme else { return Ok(None) };
    let name = settings.row.name;
    let row = narrows_scheme::find(name).ok_or_else(|| format!("scheme {name:?} is unknown"))?;
    Ok(Some(Scheme { row, parts: (row.build)(&settings.values)? }))
}

/// Per node: the router part of the scenario's scheme, if the node runs one.
#[must_use]
pub fn agents(scenario: &Scenario, scheme: Option<&Scheme>) -> Vec<Option<Box<dyn RouterAgent>>> {
    let mut agents: Vec<Option<Box<dyn RouterAgent>>> = scenario.nodes.iter().map(|_| None).collect();
    if let (Some(settings), Some(scheme)) = (&scenario.scheme, scheme) {
        for &router in &settings.routers {
            agents[router] = Some(scheme.parts.router());
        }
    }
    agents
}
