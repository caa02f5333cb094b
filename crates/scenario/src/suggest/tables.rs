//! Shows how a table is written where a file has a plain value: `queue = "50 packets"` is `queue = { limit = .. }`.

use crate::catalogue::Catalogue;
use crate::check::{Path, value};
use crate::schema::{Field, Kind, Need, Table};
use crate::tree::{Branch, Tree};

/// Returns `, did you mean ..?` for a value that is not the table or the list of tables that is wanted, or nothing.
pub(crate) fn hint(kind: &Kind, tree: &Tree, path: &Path<'_>, catalogue: &Catalogue) -> String {
    let Path::Key(_, key) = path else { return String::new() };
    let meant = match (kind, &tree.value) {
        (Kind::Tables(_), Branch::Table(_)) => Some(format!("[[{path}]]")),
        (Kind::OrFalse(table), Branch::Switch(true)) => needs(table).next().is_none().then(|| format!("{key} = {{}}")),
        (Kind::Table(table) | Kind::OrFalse(table) | Kind::OneOrMany(table), _) => table
            .fields()
            .filter(|field| needs(table).all(|needed| needed.key == field.key))
            .find_map(|field| Some(format!("{key} = {{ {} = {} }}", field.key, fits(field, tree, catalogue)?))),
        _ => None,
    };
    meant.map_or_else(String::new, |meant| format!(", did you mean {meant}?"))
}

/// Returns the fields without which a table is refused.
fn needs(table: &Table) -> impl Iterator<Item = &'static Field> {
    table.fields().filter(|field| field.need == Need::Required && field.only.is_empty())
}

/// Returns the value as the field would have it, if that is plain: any text is a title or a name, and any number fits
/// many fields.
fn fits(field: &Field, tree: &Tree, catalogue: &Catalogue) -> Option<String> {
    let known = match (&field.kind, &tree.value) {
        (Kind::Limit, Branch::Integer(1..)) => return Some(format!("\"{} packets\"", tree.show())),
        (Kind::Cc, Branch::Text(text)) => catalogue.find_cc(text).is_some(),
        (Kind::Queue, Branch::Text(text)) => catalogue.find_queue(text).is_some(),
        (Kind::Scheme, Branch::Text(text)) => catalogue.schemes.iter().any(|row| row.name == text),
        (Kind::Phy, Branch::Text(text)) => catalogue.find_phy(text).is_some(),
        (Kind::Text | Kind::Condition | Kind::Name | Kind::Node | Kind::NodePattern, _) => false,
        (_, Branch::Text(_)) => value(&field.kind, tree).is_some(),
        _ => false,
    };
    known.then(|| tree.show())
}
