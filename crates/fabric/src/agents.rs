//! Builds the parts of a scenario's scheme.

use narrows_scenario::{IpOptions, Scenario};
use narrows_scheme::{Middlebox, Parts, RouterAgent, SchemeRow};

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

/// Per node: the router part of the scenario's scheme, if the node runs one, or a middlebox.
#[must_use]
pub fn agents(scenario: &Scenario, scheme: Option<&Scheme>) -> Vec<Option<Box<dyn RouterAgent>>> {
    let middlebox = |rule| -> Box<dyn RouterAgent> { Box::new(Middlebox::new(rule)) };
    let mut agents: Vec<Option<Box<dyn RouterAgent>>> = scenario
        .nodes
        .iter()
        .map(|node| (node.ip_options != IpOptions::Keep).then(|| middlebox(node.ip_options)))
        .collect();
    if let (Some(settings), Some(scheme)) = (&scenario.scheme, scheme) {
        for &router in &settings.routers {
            agents[router] = Some(scheme.parts.router());
        }
    }
    agents
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::catalogue;
    use narrows_scenario::{CatalogueKind, Scenario};
    use narrows_scheme::acns::AcnsConfig;
    use narrows_scheme::ngwa::NgwaConfig;

    /// A scenario with these keys of a scheme.
    fn with(scheme: &str, keys: &[(String, String)]) -> Scenario {
        let text = format!(
            "[queue]\nlimit = \"97 kB\"\n[topology]\nkind = \"dumbbell\"\n\
             bottleneck = {{ rate = \"1 Mb/s\", delay = \"9 ms\" }}\naccess = {{ rate = \"9 Mb/s\", delay = \"1 ms\" }}\n\
             [{scheme}]\n[[flows]]\nfrom = \"s1\"\nto = \"d1\"\n"
        );
        narrows_scenario::parse(&text, "x", keys, &catalogue()).unwrap()
    }

    #[test]
    fn defaults_of_rows_are_those_of_configurations() {
        let acns = with("acns", &[]).scheme.unwrap();
        assert_eq!(AcnsConfig::from_values(&acns.values), Ok(AcnsConfig::default()));
        let ngwa = with("ngwa", &[]).scheme.unwrap();
        assert_eq!(NgwaConfig::from_values(&ngwa.values), Ok(NgwaConfig::default()));
    }

    #[test]
    fn every_bound_and_word_of_a_row_is_accepted_by_its_build() {
        for row in catalogue().scheme_rows() {
            let build = narrows_scheme::find(&row.name).unwrap().build;
            for upper in [false, true] {
                let text = |kind: &CatalogueKind| match kind {
                    CatalogueKind::Number { unit, min, max, .. } => {
                        let n = if upper { max } else { min };
                        Some(match unit.as_str() {
                            "s" => format!("{n} s"),
                            "bytes" => format!("{n} B"),
                            _ => n.to_string(),
                        })
                    }
                    CatalogueKind::Choice { allowed, .. } => {
                        let mut words = allowed.iter().filter(|word| !word.contains(' '));
                        if upper { words.next_back().cloned() } else { words.next().cloned() }
                    }
                    _ => None,
                };
                // One share of a sum follows from the other.
                let free = row.params.iter().filter(|param| param.name != "age_weight");
                let keys = free.filter_map(|p| Some((format!("{}.{}", row.name, p.name), text(&p.kind)?)));
                let scheme = with(&row.name, &keys.collect::<Vec<_>>()).scheme.unwrap();
                assert!(build(&scheme.values).is_ok(), "{}: {:?}", row.name, scheme.values);
            }
        }
    }
}
