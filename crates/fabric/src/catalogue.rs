//! The catalogue of this engine's features, from its registries; scenarios are validated against it.

use narrows_queue::Disciplines;
use narrows_scenario::{Catalogue, CatalogueKind, CatalogueMcs, CatalogueParam, CataloguePhy, CatalogueRow, Ns2Agent};

/// Every congestion control, queue, scheme and 802.11 PHY with its parameters.
#[must_use]
pub fn catalogue() -> Catalogue {
    catalogue_with(Disciplines::default())
}

/// The same, with the caller's queue disciplines.
#[must_use]
pub fn catalogue_with(queues: Disciplines) -> Catalogue {
    Catalogue {
        cc: narrows_cc::registry().iter().map(cc_row).collect(),
        queues: queues.rows().map(|row| &row.about).collect(),
        schemes: narrows_scheme::registry().iter().map(|row| row.about).collect(),
        phys: narrows_wifi::registry().iter().map(phy_row).collect(),
        start_variables: narrows_cc::start::VARIABLES.iter().map(Into::into).collect(),
        resume_variables: narrows_cc::resume::VARIABLES.iter().map(Into::into).collect(),
    }
}

fn texts(sources: &[&str]) -> Vec<String> {
    sources.iter().map(|&s| s.to_owned()).collect()
}

fn number(unit: &str, default: f64, min: f64, max: f64) -> CatalogueKind {
    CatalogueKind::Number { unit: unit.to_owned(), default, min, max }
}

fn choice(default: &str, allowed: &[&str]) -> CatalogueKind {
    CatalogueKind::Choice { default: default.to_owned(), allowed: texts(allowed) }
}

fn param(name: &str, doc: &str, kind: CatalogueKind) -> CatalogueParam {
    CatalogueParam { name: name.to_owned(), doc: doc.to_owned(), kind }
}

/// Converts the kind of a congestion control's parameter.
fn kind(kind: narrows_cc::ParamKind) -> CatalogueKind {
    use narrows_cc::ParamKind as Kind;
    match kind {
        Kind::Number { unit, default, min, max } => number(unit, default, min, max),
        Kind::Choice { default, allowed } => choice(default, allowed),
        Kind::Switch { default } => CatalogueKind::Switch { default },
    }
}

fn row(name: &str, title: &str, sources: &[&str], params: Vec<CatalogueParam>) -> CatalogueRow {
    CatalogueRow {
        name: name.to_owned(),
        title: title.to_owned(),
        sources: texts(sources),
        params,
        ..CatalogueRow::default()
    }
}

fn cc_row(r: &narrows_cc::Row) -> CatalogueRow {
    let params = r.params.iter().map(|p| param(p.name, p.doc, kind(p.kind))).collect();
    CatalogueRow {
        variables: r.variables.iter().map(Into::into).collect(),
        recovery: r.recovery.map(str::to_owned),
        response: match r.traits.response {
            narrows_cc::Response::Nothing => "nothing",
            narrows_cc::Response::Models => "models",
            _ => "reduces",
        },
        needs_ecn: r.traits.needs_ecn,
        l4s: r.traits.l4s,
        own_start: r.traits.own_start.map(str::to_owned),
        ns2: r.ns2.map(|agent| match agent {
            narrows_cc::Ns2Agent::Own => Ns2Agent::Own,
            narrows_cc::Ns2Agent::TcpLinux => Ns2Agent::TcpLinux,
        }),
        page: r.page(),
        ..row(r.name, r.title, r.sources, params)
    }
}

fn phy_row(r: &narrows_wifi::PhyRow) -> CataloguePhy {
    CataloguePhy {
        name: r.name.to_owned(),
        title: r.title.to_owned(),
        sources: texts(r.sources),
        rates: r.rates.to_vec(),
        basic_rates: r.basic_rates.to_vec(),
        basic_rate: r.basic_rate,
        max_mcs: r.max_mcs,
        widths_mhz: r.widths_mhz.to_vec(),
        max_streams: r.max_streams,
        mcs: r.combinations().map(mcs_row).collect(),
        short_preamble: r.short_preamble,
        slot: r.slot,
        sifs: r.sifs,
        cw_min: r.cw_min,
        cw_max: r.cw_max,
        max_ampdu: r.max_ampdu,
    }
}

fn mcs_row((mode, modulation): (narrows_wifi::Mcs, narrows_wifi::Modulation)) -> CatalogueMcs {
    let narrows_wifi::Mcs { mcs, width_mhz, streams, short_guard } = mode;
    CatalogueMcs { mcs, width_mhz, streams, short_guard, rate: modulation.rate() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use narrows_units::Rate;

    #[test]
    fn the_catalogue_has_a_row_for_every_registry_row() {
        let c = catalogue();
        assert!(c.find_cc("cubic").is_some() && c.find_cc("reno").is_some() && c.find_cc("none").is_some());
        assert!(
            c.queues.iter().any(|q| q.name == "red")
                && ["acns", "ngwa"].iter().all(|&name| c.schemes.iter().any(|s| s.name == name))
        );
        assert_eq!(
            c.schemes.iter().map(|s| s.excludes_ecn).collect::<Vec<_>>(),
            [true, false],
            "ACNS writes ECN's bits"
        );
        let names: Vec<_> = c.phys.iter().map(|phy| phy.name.as_str()).collect();
        assert_eq!(names, ["802.11", "802.11b", "802.11a", "802.11g", "802.11n", "802.11ac"]);
        assert_eq!(c.phys[4].mcs_rate(7, 40, 4, true), Some(Rate::mbps(600)));
        assert_eq!(c.phys[5].left_out()[0], (9, 20, 1));
        assert_eq!(c.to_json()["phys"][1]["rates_bps"][2], 5_500_000);
        let cubic = &c.to_json()["cc"][6];
        assert_eq!((&cubic["name"], &cubic["variables"][0]["unit"]), (&"cubic".into(), &"bytes".into()));
    }

    /// A scenario with the table of a scheme, which has at most one key.
    fn with_scheme(scheme: &str, key: Option<(&str, String)>) -> Result<narrows_scenario::Scenario, String> {
        let text = format!(
            "[queue]\nlimit = \"97 kB\"\n[topology]\nkind = \"dumbbell\"\n\
             bottleneck = {{ rate = \"1 Mb/s\", delay = \"9 ms\" }}\naccess = {{ rate = \"9 Mb/s\", delay = \"1 ms\" }}\n\
             [{scheme}]\n[[flows]]\nfrom = \"s1\"\nto = \"d1\"\n"
        );
        let overrides: Vec<_> = key.map(|(key, value)| (format!("{scheme}.{key}"), value)).into_iter().collect();
        narrows_scenario::parse(&text, "x", &overrides, &catalogue()).map_err(|problems| problems.to_string())
    }

    #[test]
    fn defaults_of_schemes_are_those_of_scenario_files() {
        for row in &catalogue().scheme_rows() {
            let resolved = with_scheme(&row.name, None).unwrap().to_json();
            let table = &resolved[&row.name];
            for param in &row.params {
                let name = format!("{}.{}", row.name, param.name);
                let value = |unit: &str| &table[format!("{}{unit}", param.name)];
                match &param.kind {
                    CatalogueKind::Number { unit, default, .. } if unit == "s" => {
                        assert_eq!(value("_ns").as_f64(), Some(default * 1e9), "{name}");
                    }
                    CatalogueKind::Number { unit, default, .. } if unit == "bytes" => {
                        assert_eq!(value("_bytes").as_f64(), Some(*default), "{name}");
                    }
                    CatalogueKind::Number { default, .. } => assert_eq!(value("").as_f64(), Some(*default), "{name}"),
                    CatalogueKind::Switch { default } => assert_eq!(value("").as_bool(), Some(*default), "{name}"),
                    CatalogueKind::Choice { default, .. } if default == "none" => {
                        assert!(table.as_object().unwrap()[&format!("{}_bytes", param.name)].is_null(), "{name}");
                    }
                    CatalogueKind::Choice { default, .. } => {
                        let word = value("");
                        assert_eq!(word.as_str().map_or_else(|| word.to_string(), str::to_owned), *default, "{name}");
                    }
                    CatalogueKind::Limit => unreachable!("{name}"),
                }
            }
        }
    }

    #[test]
    fn ranges_of_ngwa_are_those_of_scenario_files() {
        let schemes = catalogue().scheme_rows();
        let row = schemes.iter().find(|row| row.name == "ngwa").unwrap();
        let mut bounds = 0;
        for param in &row.params {
            let CatalogueKind::Number { unit, min, max, .. } = &param.kind else { continue };
            let shown = |n: f64| match unit.as_str() {
                "s" => format!("{n} s"),
                "bytes" => format!("{n} B"),
                _ => n.to_string(),
            };
            for inside in [*min, *max] {
                with_scheme("ngwa", Some((&param.name, shown(inside)))).unwrap();
                bounds += 1;
            }
            // One step beyond the bounds: alpha and flow_factor exclude 0, and alpha excludes 1.
            let step = if min.fract() > 0.0 { *min } else { 1.0 };
            for (outside, no_bound) in [(min - step, false), (max + step.max(max * 1e-9), unit == "s")] {
                if !no_bound {
                    let refused = with_scheme("ngwa", Some((&param.name, shown(outside)))).unwrap_err();
                    assert!(refused.contains(&format!("ngwa.{}", param.name)), "{refused}");
                }
            }
        }
        assert_eq!(bounds, 12);
    }
}
