//! Defaults of the schema as checked values. Each is a text in TOML, and a scenario asks for hundreds of them. So all
//! are read once, when the first is asked for.

use super::{DIRECTION, Field, ROOT, Table};
use crate::check::plain;
use crate::record::Value;
use std::borrow::Cow;
use std::sync::LazyLock;

/// The defaults of all tables that the format has without schemes, in the order of the addresses of their fields.
static VALUES: LazyLock<Vec<(usize, Value)>> = LazyLock::new(|| {
    let mut found = tables(&ROOT);
    // A link's table has the rows of a direction too, but is layered as a direction.
    found.push(&DIRECTION);
    let fields = found.into_iter().flat_map(Table::fields);
    let mut values: Vec<_> = fields.filter_map(|field| Some((address(field), read(field)?))).collect();
    values.sort_unstable_by_key(|(address, _)| *address);
    values
});

/// Returns the default of a field as a checked value; `None` if it has none.
pub(crate) fn default(field: &'static Field) -> Option<Cow<'static, Value>> {
    match VALUES.binary_search_by_key(&address(field), |(address, _)| *address) {
        Ok(index) => VALUES.get(index).map(|(_, value)| Cow::Borrowed(value)),
        // The table of a scheme belongs to the catalogue.
        Err(_) => read(field).map(Cow::Owned),
    }
}

/// Returns a table and all tables inside it, each once, in the order in which a reader meets them.
pub(crate) fn tables(root: &'static Table) -> Vec<&'static Table> {
    let mut found = Vec::new();
    collect(root, &mut found);
    found
}

fn collect(table: &'static Table, found: &mut Vec<&'static Table>) {
    if found.iter().any(|known| std::ptr::eq(*known, table)) {
        return;
    }
    found.push(table);
    for inner in table.fields().filter_map(|field| field.kind.table()) {
        collect(inner, found);
    }
}

/// A field's identity: rows live as long as the process.
fn address(field: &'static Field) -> usize {
    std::ptr::from_ref(field).addr()
}

fn read(field: &'static Field) -> Option<Value> {
    plain(&field.kind, field.need.default()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{AGGREGATION, CAREFUL_RESUME, DELAYED_ACK, MISBEHAVIOR, PACING, QUEUE, RTO, TCP, root};
    use crate::write::words;

    /// A field that is not found here is read each time, which gives the same value and takes longer.
    #[test]
    fn the_default_of_every_field_is_read_once() {
        let layered =
            [&DIRECTION, &TCP, &RTO, &QUEUE, &DELAYED_ACK, &PACING, &CAREFUL_RESUME, &MISBEHAVIOR, &AGGREGATION];
        for field in tables(root(&[])).into_iter().chain(layered).flat_map(Table::fields) {
            let found = default(field);
            assert!(!matches!(found, Some(Cow::Owned(_))), "{}", field.key);
            let text = |value: Option<&Value>| value.map(words);
            assert_eq!(text(found.as_deref()), text(read(field).as_ref()), "{}", field.key);
            assert_eq!(found.is_some(), field.need.default().is_some(), "{}: the default fits its kind", field.key);
        }
    }
}
