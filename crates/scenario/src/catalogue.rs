//! What the engine offers, as its registries say; the caller hands it in, since scenarios know no engine.

use serde_json::json;

/// Names that a scenario may use, with their parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalogue {
    /// Congestion controls.
    pub cc: Vec<CatalogueRow>,
    /// Queues. Where it is empty, all kinds of the format are taken to be there.
    pub queues: Vec<CatalogueRow>,
    /// Network-assisted schemes.
    pub schemes: Vec<CatalogueRow>,
}

/// One entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CatalogueRow {
    /// The word in scenario files.
    pub name: String,
    /// Title for people.
    pub title: String,
    /// RFC sections and papers it follows.
    pub sources: Vec<String>,
    /// Parameters.
    pub params: Vec<CatalogueParam>,
}

/// A parameter of an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct CatalogueParam {
    /// Name in scenario files.
    pub name: String,
    /// What it does.
    pub doc: String,
    /// What it takes.
    pub kind: CatalogueKind,
}

/// What a parameter takes.
#[derive(Clone, Debug, PartialEq)]
pub enum CatalogueKind {
    /// A number in `unit`, from `min` to `max`.
    Number {
        /// Unit; empty where it has none.
        unit: String,
        /// Used when none is given.
        default: f64,
        /// Smallest allowed value.
        min: f64,
        /// Largest allowed value.
        max: f64,
    },
    /// One of a few words.
    Choice {
        /// Used when none is given.
        default: String,
        /// Allowed words.
        allowed: Vec<String>,
    },
    /// On or off.
    Switch {
        /// Used when none is given.
        default: bool,
    },
    /// An amount of packets or of bytes, with its unit, that must be given.
    Limit,
}

impl Catalogue {
    /// The catalogue as JSON: `cc`, `queues` and `schemes`, each a list of entries with `name`, `title`, `sources` and
    /// `parameters` (`name`, `doc`, `kind`, and by kind `unit`, `default`, `min`, `max`, `allowed`).
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        let rows = |rows: &[CatalogueRow]| rows.iter().map(CatalogueRow::to_json).collect::<Vec<_>>();
        json!({ "cc": rows(&self.cc), "queues": rows(&self.queues), "schemes": rows(&self.schemes) })
    }

    /// The congestion control of this name.
    #[must_use]
    pub fn find_cc(&self, name: &str) -> Option<&CatalogueRow> {
        self.cc.iter().find(|row| row.name == name)
    }
}

impl CatalogueRow {
    fn to_json(&self) -> serde_json::Value {
        let parameters: Vec<_> = self.params.iter().map(CatalogueParam::to_json).collect();
        json!({ "name": self.name, "title": self.title, "sources": self.sources, "parameters": parameters })
    }
}

impl CatalogueParam {
    fn to_json(&self) -> serde_json::Value {
        let (name, doc) = (&self.name, &self.doc);
        match &self.kind {
            CatalogueKind::Number { unit, default, min, max } => json!({
                "name": name, "doc": doc, "kind": "number",
                "unit": unit, "default": default, "min": min, "max": max,
            }),
            CatalogueKind::Choice { default, allowed } => {
                json!({ "name": name, "doc": doc, "kind": "choice", "default": default, "allowed": allowed })
            }
            CatalogueKind::Switch { default } => {
                json!({ "name": name, "doc": doc, "kind": "switch", "default": default })
            }
            CatalogueKind::Limit => {
                json!({ "name": name, "doc": doc, "kind": "limit", "unit": "packets or bytes", "default": null })
            }
        }
    }
}
