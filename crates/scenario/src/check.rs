//! Checks the tree against the schema: kinds, ranges, unknown and missing keys. `build` checks the rules among fields.

mod lists;
mod path;
mod queue_params;
mod scalar;

pub(crate) use path::Path;
pub(crate) use queue_params::{kind_of, own_param};

use crate::catalogue::Catalogue;
use crate::problem::{Place, Report};
use crate::record::{Item, Record, Value};
use crate::schema::{self, Field, Kind, Need, Table, Word};
use crate::suggest::{hint, tables as table_hint};
use crate::tree::{Branch, Entry, Tree, read_value};
use lists::{names, rates, several};
use queue_params::{kind_word, queue_param};
use scalar::scalar;

/// Checks a table's entries.
pub(crate) fn table(
    table: &'static Table,
    (tree, place): (&Tree, Place),
    path: &Path<'_>,
    catalogue: &Catalogue,
    report: &mut Report,
) -> Record {
    let mut record = Record::empty(table, place);
    let Branch::Table(entries) = &tree.value else { return record };
    for entry in entries {
        let at = Path::Key(path, &entry.key);
        match table.field(&entry.key) {
            None if table.takes_queue_params() && catalogue.queue_param(&entry.key).is_some() => {
                let Some(param) = catalogue.queue_param(&entry.key) else { continue };
                let value = queue_param((param.name, kind_word(entries)), &entry.tree, &at, catalogue, report);
                let item = Item { value, place: entry.tree.place, shown: entry.tree.show() };
                record.entries.push((param.name, entry.place, item));
            }
            None => unknown_key(table, entry, &at, catalogue, report),
            Some(field) if record.given(field.key).is_some() => {
                let also = format!("gives `{}` a second time", field.key);
                report.add(entry.place, at, entry.tree.show(), also, "one of the two");
            }
            Some(field) => {
                let value = check(&field.kind, &entry.tree, &at, catalogue, report);
                let item = Item { value, place: entry.tree.place, shown: entry.tree.show() };
                record.entries.push((field.key, entry.place, item));
            }
        }
    }
    for field in table.fields().filter(|field| field.only.is_empty() && field.need == Need::Required) {
        if record.given(field.key).is_none() {
            missing(field, place, path, report);
        }
    }
    record
}

fn unknown_key(table: &Table, entry: &Entry, at: &Path<'_>, catalogue: &Catalogue, report: &mut Report) {
    let params = if table.takes_queue_params() { catalogue.queue_param_names() } else { Vec::new() };
    let keys = table.fields().flat_map(|field| std::iter::once(field.key).chain(field.aliases.iter().copied()));
    let near = hint(&entry.key, keys.chain(params.iter().copied()));
    let allowed = table.fields().map(|field| field.key).chain(params.iter().copied()).collect::<Vec<_>>().join(", ");
    report.add(entry.place, at, "", format!("is not a known key{near}"), allowed);
}

/// Returns the values that a kind allows. For a table of queues, the parameters of the disciplines are included.
fn allowed(kind: &Kind, catalogue: &Catalogue) -> String {
    let params = match kind.table() {
        Some(table) if table.takes_queue_params() => catalogue.queue_param_names(),
        _ => Vec::new(),
    };
    params.iter().fold(kind.allowed(), |text, name| text + ", " + name)
}

pub(crate) fn missing(field: &Field, place: Place, path: &Path<'_>, report: &mut Report) {
    report.add(place, Path::Key(path, field.key), "", "is missing", field.kind.allowed());
}

/// Reports fields that have no meaning for this kind of table, and missing fields that this kind needs.
pub(crate) fn fits_kind(record: &Record, kind: &str, path: &Path<'_>, report: &mut Report) {
    for (key, place, item) in &record.entries {
        let Some(field) = record.table.field(key) else { continue };
        if !field.only.is_empty() && !field.only.contains(&kind) {
            let only: Vec<String> = field.only.iter().map(|kind| format!("\"{kind}\"")).collect();
            let reason = format!("has no meaning for kind = \"{kind}\"");
            let allowed = format!("only with kind = {}", only.join(" or "));
            report.add(*place, Path::Key(path, key), &item.shown, reason, allowed);
        }
    }
    for field in record.table.fields() {
        let needed = match field.need {
            Need::Required => field.only.contains(&kind),
            Need::RequiredIn(kinds, _) => kinds.contains(&kind),
            _ => false,
        };
        if needed && record.given(field.key).is_none() {
            missing(field, record.place, path, report);
        }
    }
}

/// Returns the value of a default or of a bare text, without a place; `None` if it does not fit the kind.
pub(crate) fn plain(kind: &Kind, text: &str) -> Option<Value> {
    value(kind, &read_value(text, Place::Nowhere))
}

/// Returns a value if it fits the kind.
pub(crate) fn value(kind: &Kind, tree: &Tree) -> Option<Value> {
    let mut report = Report::new("");
    let value = check(kind, tree, &Path::Root, &Catalogue::default(), &mut report);
    report.is_empty().then_some(value)
}

/// Checks one value.
fn check(kind: &Kind, tree: &Tree, path: &Path<'_>, catalogue: &Catalogue, report: &mut Report) -> Value {
    match (kind, &tree.value) {
        (Kind::Queue, Branch::Text(text)) => match catalogue.find_queue(text) {
            Some(row) => Value::Word(row.name),
            None => {
                let near = hint(text, catalogue.queues.iter().map(|row| row.name));
                let reason = format!("is not one of the allowed words{near}");
                report.add(tree.place, path, tree.show(), reason, schema::words(&catalogue.queue_words()));
                Value::Bad
            }
        },
        (Kind::Or(_, words), Branch::Text(text)) if find(words, text).is_some() => {
            find(words, text).map_or(Value::Bad, Value::Word)
        }
        (Kind::Or(inner, words), _) => match scalar(inner, tree) {
            Ok(value) => value,
            Err(reason) => {
                let mut near = String::new();
                if let Branch::Text(text) = &tree.value {
                    near = hint(text, words.iter().map(|word| word.0));
                }
                report.add(tree.place, path, tree.show(), reason + &near, kind.allowed());
                Value::Bad
            }
        },
        (Kind::OrFalse(_), Branch::Switch(false)) => Value::Off,
        (
            Kind::OrFalse(inner) | Kind::OrTable(_, inner) | Kind::Table(inner) | Kind::OneOrMany(inner),
            Branch::Table(_),
        ) => Value::Table(table(inner, (tree, tree.place), path, catalogue, report)),
        (Kind::OrTable(inner, _), _) => check(inner, tree, path, catalogue, report),
        (Kind::Tables(inner) | Kind::OneOrMany(inner), Branch::List(items)) => {
            tables(inner, items, path, catalogue, report)
        }
        (Kind::Nodes(least, most), Branch::List(items)) => names(kind, (*least, *most), tree, items, path, report),
        (Kind::Rates(least, most), Branch::List(items)) => rates(kind, (*least, *most), tree, items, path, report),
        (Kind::Several(inner, most), Branch::List(items)) => several(kind, (inner, *most), tree, items, path, report),
        (Kind::Several(inner, _), _) => match scalar(inner, tree) {
            Ok(value) => Value::Names(vec![Item { value, place: tree.place, shown: tree.show() }]),
            Err(reason) => {
                report.add(tree.place, path, tree.show(), reason, kind.allowed());
                Value::Bad
            }
        },
        (Kind::CcParams, Branch::Table(entries)) => Value::Params(entries.iter().map(param).collect()),
        _ => scalar(kind, tree).unwrap_or_else(|reason| {
            let reason = reason + &table_hint::hint(kind, tree, path, catalogue);
            report.add(tree.place, path, tree.show(), reason, allowed(kind, catalogue));
            Value::Bad
        }),
    }
}

fn tables(inner: &'static Table, items: &[Tree], path: &Path<'_>, catalogue: &Catalogue, report: &mut Report) -> Value {
    let mut records = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let at = Path::Index(path, index);
        if matches!(item.value, Branch::Table(_)) {
            records.push(table(inner, (item, item.place), &at, catalogue, report));
        } else {
            report.add(item.place, at, item.show(), "is not a table", Kind::Table(inner).allowed());
        }
    }
    Value::Tables(records)
}

/// Reads a parameter without checking its kind, which only the catalogue knows.
fn param(entry: &Entry) -> (String, Item) {
    let value = match &entry.tree.value {
        Branch::Switch(on) => Value::Switch(*on),
        Branch::Integer(n) => Value::Number(*n as f64),
        Branch::Float(n) => Value::Number(*n),
        Branch::Text(text) => Value::Text(text.clone()),
        _ => Value::Bad,
    };
    (entry.key.clone(), Item { value, place: entry.tree.place, shown: entry.tree.show() })
}

fn find(words: &[Word], text: &str) -> Option<&'static str> {
    words.iter().find(|word| word.0 == text).map(|word| word.0)
}
