//! The format's reference as Markdown, generated from the schema: the second part of `docs/scenario.md`.

use crate::catalogue::Catalogue;
use crate::schema::{Field, HABITS, Habits, Kind, Need, RTO, TCP, Table, Word, root};

/// All tables and fields of the format, with those of the catalogue's schemes, as Markdown, in the order in which a
/// reader meets them.
#[must_use]
pub fn reference(catalogue: &Catalogue) -> String {
    let mut tables: Vec<&'static Table> = Vec::new();
    collect(root(&catalogue.schemes), &mut tables);
    let sections: Vec<String> = tables.iter().map(|table| section(table)).chain([stacks()]).collect();
    sections.join("\n")
}

/// Shows what each stack sets, side by side. Where a stack sets nothing, the table shows the format's default.
fn stacks() -> String {
    let titles: Vec<&str> = HABITS.iter().map(|habits| habits.title).collect();
    let mut text = format!(
        "### What stacks set\n\nWhat the words of `stack` set in `[tcp]`, where neither the flow nor `[tcp]` says otherwise.\n\n\
         | key | {} |\n|---|{}\n",
        titles.join(" | "),
        "---|".repeat(titles.len())
    );
    let timer = RTO.fields().map(|field| (format!("rto.{}", field.key), &RTO, field));
    let fields = TCP.fields().map(|field| (field.key.to_owned(), &TCP, field)).chain(timer);
    for (name, table, field) in fields {
        let cell = |habits: &&Habits| {
            let set = habits.shown(table, field.key);
            set.map_or_else(|| default(field), |text| format!("`{text}`"))
        };
        if HABITS.iter().any(|habits| habits.shown(table, field.key).is_some()) && field.key != "rto" {
            let cells: Vec<String> = HABITS.iter().map(cell).collect();
            text.push_str(&format!("| `{name}` | {} |\n", cells.join(" | ")));
        }
    }
    text
}

fn collect(table: &'static Table, tables: &mut Vec<&'static Table>) {
    if tables.iter().any(|known| std::ptr::eq(*known, table)) {
        return;
    }
    tables.push(table);
    for inner in table.fields().filter_map(|field| field.kind.table()) {
        collect(inner, tables);
    }
}

fn section(table: &'static Table) -> String {
    let mut text =
        format!("### {}\n\n{}\n\n| key | takes | default | meaning |\n|---|---|---|---|\n", table.name, table.doc);
    for field in table.fields() {
        let keys: Vec<String> =
            std::iter::once(field.key).chain(field.aliases.iter().copied()).map(|key| format!("`{key}`")).collect();
        let only = if field.only.is_empty() { String::new() } else { format!(" Only for {}.", code(field.only)) };
        text.push_str(&format!(
            "| {} | {} | {} | {}{only} |\n",
            keys.join(", "),
            takes(&field.kind),
            default(field),
            field.doc
        ));
    }
    for field in table.fields() {
        let words = words(&field.kind);
        if !words.is_empty() {
            text.push_str(&format!("\nWords of `{}`:\n\n", field.key));
            words.iter().for_each(|word| text.push_str(&format!("- `{}`: {}\n", word.0, word.1)));
        }
    }
    text
}

fn words(kind: &Kind) -> &'static [Word] {
    match kind {
        Kind::Choice(words) | Kind::Or(_, words) => words,
        _ => &[],
    }
}

fn code(list: &[&str]) -> String {
    list.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn default(field: &Field) -> String {
    match field.need {
        Need::Required => "needed".to_owned(),
        Need::Described(text) => text.to_owned(),
        Need::Default("") => "empty".to_owned(),
        Need::Default(text) => format!("`{text}`"),
        Need::RequiredIn(kinds, text) => format!("needed for {}; else `{text}`", code(kinds)),
    }
}

fn takes(kind: &Kind) -> String {
    match kind {
        Kind::Choice(list) => code(&list.iter().map(|word| word.0).collect::<Vec<_>>()),
        Kind::Or(inner, list) => {
            format!("{}, or {}", takes(inner), code(&list.iter().map(|word| word.0).collect::<Vec<_>>()))
        }
        Kind::Table(table) => format!("table [{}](#{})", table.name, anchor(table)),
        Kind::Tables(table) => format!("list of tables [{}](#{})", table.name, anchor(table)),
        Kind::OneOrMany(table) => format!("table [{}](#{}), or a list of them", table.name, anchor(table)),
        Kind::OrFalse(table) => format!("table [{}](#{}), or `false`", table.name, anchor(table)),
        Kind::Rate(..) => "rate".to_owned(),
        Kind::Limit => "packets or bytes".to_owned(),
        Kind::Amount => "number, packets or bytes".to_owned(),
        Kind::Time(0, crate::schema::LONG) => "time".to_owned(),
        Kind::Time(1, crate::schema::LONG) => "time, not zero".to_owned(),
        Kind::Size(_, crate::schema::LARGE) => "bytes".to_owned(),
        Kind::Time(..) | Kind::Size(..) => {
            let allowed = kind.allowed();
            let range = allowed.split_once(", more").map(|(_, range)| format!("more{range}"));
            let range = range.or_else(|| allowed.split_once(", from").map(|(_, range)| format!("from{range}")));
            let range = range.or_else(|| allowed.split_once(", at most").map(|(_, range)| format!("at most{range}")));
            let noun = if matches!(kind, Kind::Time(..)) { "time" } else { "bytes" };
            range.map_or_else(|| noun.to_owned(), |range| format!("{noun}, {range}"))
        }
        Kind::Switch => "`true` or `false`".to_owned(),
        _ => kind.allowed(),
    }
}

/// Returns the anchor of the table's heading in Markdown.
fn anchor(table: &Table) -> String {
    table.name.replace('.', "")
}
