//! The format's reference as Markdown, generated from the schema: the second part of `docs/scenario.md`.

use crate::catalogue::{Catalogue, show_param};
use crate::check::kind_of;
use crate::reference_conditions;
use crate::schema::{COLUMNS, Field, Kind, Need, RTO, TCP, Table, Word, root, tables};

/// All tables and fields of the format as Markdown, in the order in which a reader meets them. Queue disciplines, their
/// parameters and the tables of schemes are those of the catalogue.
#[must_use]
pub fn reference(catalogue: &Catalogue) -> String {
    let sections: Vec<String> = tables(root(&catalogue.schemes))
        .into_iter()
        .map(|table| section(table, catalogue))
        .chain([reference_conditions::section(), stacks()])
        .collect();
    sections.join("\n")
}

/// Shows the defaults that depend on the stack, side by side.
fn stacks() -> String {
    let mut text = format!(
        "### What stacks set\n\nWhat the words of `stack` set in `[tcp]`, where neither the flow nor `[tcp]` says otherwise.\n\n\
         | key | {} |\n|---|{}\n",
        COLUMNS.join(" | "),
        "---|".repeat(COLUMNS.len())
    );
    let timer = RTO.fields().map(|field| (format!("rto.{}", field.key), field));
    let fields = TCP.fields().map(|field| (field.key.to_owned(), field)).chain(timer);
    for (name, field) in fields {
        let cells: Option<Vec<String>> =
            (0..COLUMNS.len()).map(|index| field.need.by_stack(index).map(|text| format!("`{text}`"))).collect();
        if let Some(cells) = cells {
            text.push_str(&format!("| `{name}` | {} |\n", cells.join(" | ")));
        }
    }
    text
}

fn section(table: &'static Table, catalogue: &Catalogue) -> String {
    let mut text =
        format!("### {}\n\n{}\n\n| key | takes | default | meaning |\n|---|---|---|---|\n", table.name, table.doc);
    for field in table.fields() {
        let keys: Vec<String> =
            std::iter::once(field.key).chain(field.aliases.iter().copied()).map(|key| format!("`{key}`")).collect();
        let only = if field.only.is_empty() { String::new() } else { format!(" Only for {}.", code(field.only)) };
        let (takes, default) = match field.kind {
            Kind::Queue => queues(catalogue),
            _ => (takes(&field.kind), default(field)),
        };
        text.push_str(&format!("| {} | {takes} | {default} | {}{only} |\n", keys.join(", "), field.doc));
    }
    let params = if table.takes_queue_params() { catalogue.queue_params() } else { Vec::new() };
    for (param, kinds) in &params {
        let (takes, default) = (takes(&kind_of(&param.kind)), show_param(param.kind.default()));
        let (name, doc, only) = (param.name, param.doc, code(kinds));
        text.push_str(&format!("| `{name}` | {takes} | `{default}` | {doc} Only for {only}. |\n"));
    }
    let listed = table.fields().map(|field| (field.key, words(&field.kind, catalogue)));
    let of_params = params.iter().map(|(param, _)| (param.name, words(&kind_of(&param.kind), catalogue)));
    for (key, words) in listed.chain(of_params).filter(|(_, words)| !words.is_empty()) {
        text.push_str(&format!("\nWords of `{key}`:\n\n"));
        words.iter().for_each(|word| text.push_str(&format!("- `{}`: {}\n", word.0, word.1)));
    }
    text
}

fn words(kind: &Kind, catalogue: &Catalogue) -> Vec<Word> {
    match kind {
        Kind::Choice(words) | Kind::Or(_, words) | Kind::OrTable(Kind::Or(_, words), _) => words.to_vec(),
        Kind::Queue => catalogue.queue_words(),
        _ => Vec::new(),
    }
}

/// Returns the names of the queue disciplines, and the default.
fn queues(catalogue: &Catalogue) -> (String, String) {
    let names: Vec<&str> = catalogue.queues.iter().map(|row| row.name).collect();
    (code(&names), code(&names[..names.len().min(1)]))
}

fn code(list: &[&str]) -> String {
    list.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn default(field: &Field) -> String {
    match field.need {
        Need::Required => "needed".to_owned(),
        Need::Described(text) | Need::DescribedByStack(text, _) => text.to_owned(),
        Need::Default("") => "empty".to_owned(),
        Need::Default(text) | Need::ByStack([text, ..]) => format!("`{text}`"),
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
        Kind::OrTable(inner, table) => format!("{}, or table [{}](#{})", takes(inner), table.name, anchor(table)),
        Kind::OrFalse(table) => format!("table [{}](#{}), or `false`", table.name, anchor(table)),
        Kind::Scaled(inner, units) => format!("{}, or `{}`", takes(inner), crate::quantity::unit_names(units)),
        Kind::Several(inner, _) => format!("{}, or a list", takes(inner)),
        Kind::Condition => "[condition](#conditions)".to_owned(),
        Kind::Lapse => "time or `rounds`".to_owned(),
        Kind::Rate(..) => "rate".to_owned(),
        Kind::Limit => "packets, bytes or time".to_owned(),
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
