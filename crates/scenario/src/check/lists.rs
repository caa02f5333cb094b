//! Lists of values: their length and each of their items.

use super::Path;
use super::scalar::scalar;
use crate::problem::Report;
use crate::record::{Item, Value};
use crate::schema::{self, Kind};
use crate::tree::{Branch, Tree};

/// A list of names of nodes.
pub(super) fn names(
    kind: &Kind,
    (least, most): (usize, usize),
    tree: &Tree,
    items: &[Tree],
    path: &Path<'_>,
    report: &mut Report,
) -> Value {
    if items.len() < least || items.len() > most {
        report.add(tree.place, path, tree.show(), format!("has {} names", items.len()), kind.allowed());
        return Value::Bad;
    }
    let mut list = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        match &item.value {
            Branch::Text(text) => {
                list.push(Item { value: Value::Text(text.clone()), place: item.place, shown: item.show() });
            }
            _ => report.add(
                item.place,
                Path::Index(path, index),
                item.show(),
                "is not the name of a node",
                "text in quotes",
            ),
        }
    }
    if list.len() == items.len() { Value::Names(list) } else { Value::Bad }
}

/// A list of rates.
pub(super) fn rates(
    kind: &Kind,
    (least, most): (usize, usize),
    tree: &Tree,
    items: &[Tree],
    path: &Path<'_>,
    report: &mut Report,
) -> Value {
    if items.len() < least || items.len() > most {
        report.add(tree.place, path, tree.show(), format!("has {} rates", items.len()), kind.allowed());
        return Value::Bad;
    }
    let mut list = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        match scalar(&schema::ANY_RATE, item) {
            Ok(value) => list.push(Item { value, place: item.place, shown: item.show() }),
            Err(reason) => {
                report.add(item.place, Path::Index(path, index), item.show(), reason, schema::ANY_RATE.allowed());
            }
        }
    }
    if list.len() == items.len() { Value::Names(list) } else { Value::Bad }
}

/// A list of values of one kind.
pub(super) fn several(
    kind: &Kind,
    (inner, most): (&Kind, usize),
    tree: &Tree,
    items: &[Tree],
    path: &Path<'_>,
    report: &mut Report,
) -> Value {
    if items.is_empty() || items.len() > most {
        report.add(tree.place, path, tree.show(), format!("has {} values", items.len()), kind.allowed());
        return Value::Bad;
    }
    let mut list = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        match scalar(inner, item) {
            Ok(value) => list.push(Item { value, place: item.place, shown: item.show() }),
            Err(reason) => report.add(item.place, Path::Index(path, index), item.show(), reason, inner.allowed()),
        }
    }
    if list.len() == items.len() { Value::Names(list) } else { Value::Bad }
}
