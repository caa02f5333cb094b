//! The names that scenarios may use, for Python: those that ship, and congestion controls of the user.

use narrows_scenario::{Catalogue, CatalogueKind, CatalogueParam, CatalogueRow};
use pyo3::prelude::*;
use std::sync::{Arc, LazyLock};

/// A congestion control written in Python: name, title, and parameters as (name, meaning, default).
pub(crate) type ForeignRow = (String, String, Vec<(String, String, ForeignDefault)>);

/// The default of a parameter, which determines its kind.
#[derive(FromPyObject)]
pub(crate) enum ForeignDefault {
    Switch(bool),
    Number(f64),
}

fn foreign_row((name, title, params): ForeignRow) -> CatalogueRow {
    let param = |(name, doc, default)| {
        let kind = match default {
            ForeignDefault::Switch(default) => CatalogueKind::Switch { default },
            ForeignDefault::Number(default) => {
                CatalogueKind::Number { unit: String::new(), default, min: f64::MIN, max: f64::MAX }
            }
        };
        CatalogueParam { name, doc, kind }
    };
    let params = params.into_iter().map(param).collect();
    let own_start = Some("is an algorithm of your own, which has its slow start itself".to_owned());
    CatalogueRow { name, title, params, own_start, ..CatalogueRow::default() }
}

/// The names that scenarios may use without congestion controls of the user. Making it takes longer than to parse a
/// small scenario.
static CATALOGUE: LazyLock<Arc<Catalogue>> = LazyLock::new(|| Arc::new(narrows_sim::catalogue()));

/// The catalogue with the user's congestion controls.
pub(crate) fn catalogue_with(own: Vec<ForeignRow>) -> Arc<Catalogue> {
    let mut catalogue = Arc::clone(&CATALOGUE);
    if !own.is_empty() {
        Arc::make_mut(&mut catalogue).cc.extend(own.into_iter().map(foreign_row));
    }
    catalogue
}

/// Return the JSON Schema of scenario files, with the names that they may use; `own` adds congestion controls.
#[pyfunction]
#[pyo3(signature = (own = Vec::new()))]
pub(crate) fn schema(own: Vec<ForeignRow>) -> String {
    narrows_scenario::schema(&catalogue_with(own)).to_string()
}

/// Return congestion controls, queues and schemes with their parameters, as JSON.
#[pyfunction]
pub(crate) fn catalogue() -> String {
    CATALOGUE.to_json().to_string()
}
