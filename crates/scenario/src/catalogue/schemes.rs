//! Schemes as entries of lists.

use super::{CatalogueKind, CatalogueParam, CatalogueRow};
use crate::check::plain;
use crate::record::Value;
use crate::schema::{LONG, scheme_kind};
use narrows_settings::scheme::{Kind, Param, Scheme, Word};

/// Smallest distance of a share from an excluded end of its range, as lists show it.
const APART: f64 = 1e-9;

/// Nanoseconds per second.
const NANOS: f64 = 1e9;

/// Returns a scheme as an entry of a list.
pub(super) fn entry(row: &Scheme) -> CatalogueRow {
    CatalogueRow {
        name: row.name.to_owned(),
        title: row.title.to_owned(),
        sources: row.sources.iter().map(|&source| source.to_owned()).collect(),
        params: row.params.iter().map(param).collect(),
        variables: row.variables.iter().map(Into::into).collect(),
        ..CatalogueRow::default()
    }
}

fn param(param: &Param) -> CatalogueParam {
    CatalogueParam { name: param.name.to_owned(), doc: param.doc.to_owned(), kind: kind(param) }
}

/// Returns the allowed values of a parameter for lists: times in seconds, and one of a few numbers as a word.
fn kind(param: &Param) -> CatalogueKind {
    let usual = || plain(&scheme_kind(&param.kind), param.usual_text());
    let number = |unit: &str, min: f64, max: f64| {
        let default = match usual() {
            Some(Value::Integer(n)) => n as f64,
            Some(Value::Number(n)) => n,
            Some(Value::Time(time)) => time.as_secs_f64(),
            Some(Value::Size(size)) => size.as_f64(),
            _ => f64::NAN,
        };
        CatalogueKind::Number { unit: unit.to_owned(), default, min, max }
    };
    let choice = |allowed: Vec<String>| CatalogueKind::Choice { default: param.usual_text().to_owned(), allowed };
    let texts = |words: &[Word]| words.iter().map(|word| word.0.to_owned()).collect::<Vec<_>>();
    match param.kind {
        Kind::Switch => CatalogueKind::Switch { default: matches!(usual(), Some(Value::Switch(true))) },
        Kind::Integer(min, max) => number(param.unit, min as f64, max as f64),
        Kind::OneOf(list) => choice(list.iter().map(u64::to_string).collect()),
        Kind::Number(min, max) => number(param.unit, min, max),
        Kind::Share { one } => number(param.unit, APART, if one { 1.0 } else { 1.0 - APART }),
        Kind::Time => number("s", 1.0 / NANOS, LONG as f64 / NANOS),
        Kind::Size => number("bytes", 1.0, crate::schema::LARGE as f64),
        Kind::Choice(words) => choice(texts(words)),
        Kind::Or(Kind::OneOf(list), words) => choice(list.iter().map(u64::to_string).chain(texts(words)).collect()),
        Kind::Or(inner, words) => {
            let mut allowed = texts(words);
            allowed.push(scheme_kind(inner).noun());
            choice(allowed)
        }
    }
}
