//! Tables of the catalogue's schemes, built from their rows.

use super::root::{AFTER_SCHEMES, BEFORE_SCHEMES};
use super::{Field, Kind, LARGE, MOST, Need, ROOT, SOME_TIME, Table};
use narrows_settings::scheme::{self, Param, Scheme, Usual};
use std::sync::Mutex;

/// Tables built so far, with the schemes that they come from. Tables live as long as the process, because problems and
/// defaults refer to them. A process has few lists of schemes, usually one.
static MADE: Mutex<Vec<(Vec<&'static Scheme>, &'static Table)>> = Mutex::new(Vec::new());

/// Returns the top level of a file, with a table for each of these schemes.
pub(crate) fn root(schemes: &[&'static Scheme]) -> &'static Table {
    if schemes.is_empty() {
        return &ROOT;
    }
    // The list stays whole if a thread that holds it panics.
    let mut made = MADE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some((_, table)) = made.iter().find(|(known, _)| known == schemes) {
        return table;
    }
    let tables: Vec<Field> = schemes.iter().enumerate().map(|(at, scheme)| top(scheme, &schemes[..at])).collect();
    let groups: [&'static [Field]; 3] = [&BEFORE_SCHEMES, leak(tables), &AFTER_SCHEMES];
    let table: &'static Table = Box::leak(Box::new(Table { groups: leak(groups.to_vec()), ..ROOT }));
    made.push((schemes.to_vec(), table));
    table
}

fn leak<T>(list: Vec<T>) -> &'static [T] {
    Box::leak(list.into_boxed_slice())
}

fn leak_text(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

/// The key of a scheme's table at the top level; `before` are the schemes whose keys come before it.
fn top(scheme: &'static Scheme, before: &[&'static Scheme]) -> Field {
    let name = scheme.acronym;
    let others: Vec<&str> = before.iter().map(|other| other.acronym).collect();
    let alone = if others.is_empty() { String::new() } else { format!("; not beside {}", others.join(" or ")) };
    Field::new(
        scheme.name,
        Kind::Table(Box::leak(Box::new(table(scheme)))),
        Need::Described(leak_text(format!("no {name}"))),
        leak_text(format!("Settings of {name} in routers and at end points{alone}.")),
    )
}

/// The table of a scheme: its switch, its routers and its parameters.
fn table(scheme: &'static Scheme) -> Table {
    let switch = format!(
        "`false` removes {} from routers and end points; `--set {}.enabled=false` runs the same scenario without it.",
        scheme.acronym, scheme.name
    );
    let common = [
        Field::new("enabled", Kind::Switch, Need::Default("true"), leak_text(switch)),
        Field::new(
            "routers",
            Kind::Nodes(0, MOST as usize),
            Need::Described("all routers with `ip_options = \"keep\"`"),
            "Routers that run the scheme.",
        ),
    ];
    let fields = common.into_iter().chain(scheme.params.iter().map(field)).collect();
    Table { name: scheme.name, doc: scheme.doc, groups: leak(vec![leak(fields)]) }
}

fn field(param: &'static Param) -> Field {
    let need = match param.usual {
        Usual::Value(text) => Need::Default(text),
        Usual::Follows(how, _) => Need::Described(how),
    };
    Field::new(param.name, kind(&param.kind), need, param.doc).alias(param.aliases)
}

/// Returns the format's kind for the kind of a parameter. What is inside [`Kind::Or`] lives as long as the process, so
/// this is called once per row for such a parameter.
pub(crate) fn kind(of: &scheme::Kind) -> Kind {
    match *of {
        scheme::Kind::Switch => Kind::Switch,
        scheme::Kind::Integer(min, max) => Kind::Integer(min, max),
        scheme::Kind::OneOf(list) => Kind::OneOf(list),
        scheme::Kind::Number(min, max) => Kind::Number(min, max),
        scheme::Kind::Share { one } => Kind::Share { one },
        scheme::Kind::Time => SOME_TIME,
        scheme::Kind::Size => Kind::Size(1, LARGE),
        scheme::Kind::Choice(words) => Kind::Choice(words),
        scheme::Kind::Or(inner, words) => Kind::Or(Box::leak(Box::new(kind(inner))), words),
    }
}
