//! Queue disciplines of the catalogue: the keys and words that they add to the format, and their entries in lists.

use super::{Catalogue, CatalogueKind, CatalogueParam, CatalogueRow};
use crate::quantity::{show_rate, show_size, show_time};
use crate::schema::Word;
use narrows_settings::queue::{Amount, Discipline, Kind, Param, Value};

/// Description of the limit, which every queue has.
const LIMIT: &str = "Most that may wait, in packets, in bytes (IP headers included) or in time at the link's rate, 100 \
                     packets unless given; the packet in transmission does not count.";

impl Catalogue {
    /// Returns the first parameter of this name, of any discipline.
    pub(crate) fn queue_param(&self, name: &str) -> Option<&'static Param> {
        self.queues.iter().find_map(|row| row.param(name))
    }

    /// Returns the names of the parameters of all disciplines, each once.
    pub(crate) fn queue_param_names(&self) -> Vec<&'static str> {
        let mut names: Vec<&str> = Vec::new();
        for param in self.queues.iter().flat_map(|row| row.params) {
            if !names.contains(&param.name) {
                names.push(param.name);
            }
        }
        names
    }

    /// Returns the names of all disciplines with their meaning.
    pub(crate) fn queue_words(&self) -> Vec<Word> {
        self.queues.iter().map(|row| Word(row.name, row.doc)).collect()
    }

    /// Returns the parameters of all disciplines, each with the disciplines that share it.
    pub(crate) fn queue_params(&self) -> Vec<(&'static Param, Vec<&'static str>)> {
        let mut found: Vec<(&Param, Vec<&str>)> = Vec::new();
        for row in &self.queues {
            for param in row.params {
                match found.iter_mut().find(|(known, _)| *known == param) {
                    Some((_, kinds)) => kinds.push(row.name),
                    None => found.push((param, vec![row.name])),
                }
            }
        }
        found
    }
}

/// Returns a value as documents show it: a quantity with its unit.
pub(crate) fn show_param(value: Value) -> String {
    match value {
        Value::Switch(on) => on.to_string(),
        Value::Integer(n) => n.to_string(),
        Value::Number(n) | Value::Amount(Amount::Bare(n)) => n.to_string(),
        Value::Probability(p) => p.as_f64().to_string(),
        Value::Time(time) => show_time(time),
        Value::Rate(rate) => show_rate(rate),
        Value::Size(size) => show_size(size),
        Value::Amount(Amount::Packets(n)) => format!("{n} packets"),
        Value::Amount(Amount::Bytes(n)) => format!("{n} B"),
        Value::Choice(word) => word.to_owned(),
    }
}

/// Returns a discipline as an entry of a list.
pub(super) fn entry(row: &Discipline) -> CatalogueRow {
    let param = |name: &str, doc: &str, kind| CatalogueParam { name: name.to_owned(), doc: doc.to_owned(), kind };
    let own = row.params.iter().map(|one| param(one.name, one.doc, kind(&one.kind)));
    CatalogueRow {
        name: row.name.to_owned(),
        title: row.title.to_owned(),
        sources: row.sources.iter().map(|&source| source.to_owned()).collect(),
        params: std::iter::once(param("limit", LIMIT, CatalogueKind::Limit)).chain(own).collect(),
        variables: row.variables.iter().map(Into::into).collect(),
        page: narrows_units::header(row.source),
        ..CatalogueRow::default()
    }
}

/// Returns the allowed values of a parameter for lists: quantities as numbers in their base unit.
fn kind(kind: &Kind) -> CatalogueKind {
    let number = |unit: &str, default, min, max| CatalogueKind::Number { unit: unit.to_owned(), default, min, max };
    match *kind {
        Kind::Switch { default } => CatalogueKind::Switch { default },
        Kind::Integer { unit, default, min, max } => number(unit, default as f64, min as f64, max as f64),
        Kind::Number { unit, default, min, max } => number(unit, default, min, max),
        Kind::Probability { default } => number("", default, 0.0, 1.0),
        Kind::Time { default, min, max } => number("s", default.as_secs_f64(), min.as_secs_f64(), max.as_secs_f64()),
        Kind::Rate { default, min, max } => {
            number("b/s", default.as_bps() as f64, min.as_bps() as f64, max.as_bps() as f64)
        }
        Kind::Size { default, min, max } => number("bytes", default.as_f64(), min.as_f64(), max.as_f64()),
        Kind::Amount { unit, default } => number(unit, default.number(), 0.0, 1e9),
        Kind::Choice { default, words } => CatalogueKind::Choice {
            default: default.to_owned(),
            allowed: words.iter().map(|word| word.0.to_owned()).collect(),
        },
    }
}
