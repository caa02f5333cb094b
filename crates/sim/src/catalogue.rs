//! What this engine offers, from its registries, in the form that scenarios are validated against.

use narrows_scenario::{Catalogue, CatalogueKind, CatalogueMcs, CatalogueParam, CataloguePhy, CatalogueRow, Ns2Agent};

/// Every congestion control, queue, scheme and 802.11 PHY with its parameters.
#[must_use]
pub fn catalogue() -> Catalogue {
    Catalogue {
        cc: narrows_cc::registry().iter().map(cc_row).collect(),
        queues: narrows_queue::registry::registry().iter().map(queue_row).collect(),
        schemes: narrows_scheme::registry().iter().map(scheme_row).collect(),
        phys: narrows_wifi::registry().iter().map(phy_row).collect(),
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

/// Congestion controls and schemes describe their parameters alike.
fn kind(kind: narrows_cc::ParamKind) -> CatalogueKind {
    use narrows_cc::ParamKind as Kind;
    match kind {
        Kind::Number { unit, default, min, max } => number(unit, default, min, max),
        Kind::Choice { default, allowed } => choice(default, allowed),
        Kind::Switch { default } => CatalogueKind::Switch { default },
    }
}

fn queue_kind(kind: narrows_queue::registry::ParamKind) -> CatalogueKind {
    use narrows_queue::registry::ParamKind as Kind;
    match kind {
        Kind::Limit => CatalogueKind::Limit,
        Kind::Number { unit, default, min, max } => number(unit, default, min, max),
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
        recovery: r.recovery.map(str::to_owned),
        response: match r.traits.response {
            narrows_cc::Response::Nothing => "nothing",
            narrows_cc::Response::Models => "models",
            _ => "reduces",
        },
        needs_ecn: r.traits.needs_ecn,
        ns2: r.ns2.map(|agent| match agent {
            narrows_cc::Ns2Agent::Own => Ns2Agent::Own,
            narrows_cc::Ns2Agent::TcpLinux => Ns2Agent::TcpLinux,
        }),
        page: r.page(),
        ..row(r.name, r.title, r.sources, params)
    }
}

fn queue_row(r: &narrows_queue::registry::Row) -> CatalogueRow {
    row(r.name, r.title, r.sources, r.params.iter().map(|p| param(p.name, p.doc, queue_kind(p.kind))).collect())
}

fn scheme_row(r: &narrows_scheme::SchemeRow) -> CatalogueRow {
    row(r.name, r.title, r.sources, r.params.iter().map(|p| param(p.name, p.doc, kind(p.kind))).collect())
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
        assert!(c.queues.iter().any(|q| q.name == "red") && c.schemes.iter().any(|s| s.name == "acns"));
        let names: Vec<_> = c.phys.iter().map(|phy| phy.name.as_str()).collect();
        assert_eq!(names, ["802.11", "802.11b", "802.11a", "802.11g", "802.11n", "802.11ac"]);
        assert_eq!(c.phys[4].mcs_rate(7, 40, 4, true), Some(Rate::mbps(600)));
        assert_eq!(c.phys[5].left_out()[0], (9, 20, 1));
        assert_eq!(c.to_json()["phys"][1]["rates_bps"][2], 5_500_000);
    }
}
