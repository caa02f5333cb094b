//! A TOML document as a plain tree in which every key and value knows its line and column.

use crate::problem::{Place, Report};
use std::cell::Cell;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(crate) place: Place,
    pub(crate) value: Branch,
}

/// A value.
#[derive(Clone, Debug)]
pub(crate) enum Branch {
    Text(String),
    Integer(i128),
    Float(f64),
    Switch(bool),
    /// A value that no field accepts: a date, or an integer beyond `i128`.
    Other(String),
    List(Vec<Tree>),
    Table(Vec<Entry>),
}

/// A key and its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) place: Place,
    pub(crate) tree: Tree,
}

/// Longest value shown in a message.
const SHOWN: usize = 60;

impl Tree {
    /// Shows the value as it would be written, shortened if it is long.
    pub(crate) fn show(&self) -> String {
        match &self.value {
            Branch::Text(text) => format!("{:?}", cut(text)),
            Branch::Integer(n) => n.to_string(),
            Branch::Float(n) => format!("{n:?}"),
            Branch::Switch(on) => on.to_string(),
            Branch::Other(text) => cut(text),
            Branch::List(items) if items.is_empty() => "[]".to_owned(),
            Branch::List(items) => match items.first().map(|item| &item.value) {
                Some(Branch::Table(_) | Branch::List(_)) => "[ .. ]".to_owned(),
                _ => cut(&format!("[{}]", items.iter().take(SHOWN).map(Self::show).collect::<Vec<_>>().join(", "))),
            },
            Branch::Table(entries) if entries.is_empty() => "{}".to_owned(),
            Branch::Table(_) => "{ .. }".to_owned(),
        }
    }

    /// Returns the text under `key`, if this is a table that has one.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        match &self.value {
            Branch::Table(entries) => {
                entries.iter().find(|entry| entry.key == key).and_then(|entry| entry.tree.as_text())
            }
            _ => None,
        }
    }

    /// Reports a file without any setting: an empty one, or one of comments.
    pub(crate) fn needs_settings(&self, report: &mut Report) {
        if matches!(&self.value, Branch::Table(entries) if entries.is_empty()) {
            report.add(Place::Nowhere, "", "", "this file has no settings", ALLOWED);
        }
    }

    fn as_text(&self) -> Option<&str> {
        match &self.value {
            Branch::Text(text) => Some(text),
            _ => None,
        }
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text.to_owned(),
    }
}

/// Converts byte offsets to lines and columns.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
    /// The last offset looked up, and its column. Lookups come in order, and a line may be very long.
    last: Cell<(usize, usize)>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, starts, last: Cell::new((0, 1)) }
    }

    fn place(&self, offset: usize) -> Place {
        let line = self.starts.partition_point(|start| *start <= offset).max(1);
        let start = self.starts.get(line - 1).copied().unwrap_or(0);
        let (last, known) = self.last.get();
        let (from, column) = if (start..=offset).contains(&last) { (last, known) } else { (start, 1) };
        let column = column + self.text.get(from..offset).map_or(0, |before| before.chars().count());
        self.last.set((offset, column));
        Place::File(line, column)
    }
}

/// Source of the places of a tree.
enum Source<'a> {
    File(Lines<'a>),
    Fixed(Place),
}

impl Source<'_> {
    fn place(&self, offset: usize) -> Place {
        match self {
            Self::File(lines) => lines.place(offset),
            Self::Fixed(place) => *place,
        }
    }
}

/// What a file may hold, for one that holds nothing of it.
const ALLOWED: &str = "a scenario in TOML; `narrows init` writes a first one";

/// Reads a file. Syntax errors go to `report`; the tree then holds the readable part.
pub(crate) fn read(text: &str, report: &mut Report) -> Tree {
    let source = Source::File(Lines::new(text));
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut last = None;
    for error in errors {
        let offset = error.span().map_or(text.len(), |span| span.start);
        let place = source.place(offset);
        // One broken line causes several errors; only the first one helps.
        let line = if let Place::File(line, _) = place { Some(line) } else { None };
        if line != last {
            let allowed = if report.is_empty() { ALLOWED } else { "" };
            report.add(place, "", "", format!("this is not TOML: {}", error.message()), allowed);
        }
        last = line;
    }
    Tree { place: Place::Nowhere, value: Branch::Table(entries(table.into_inner(), &source)) }
}

/// Reads the value of an override: TOML or a bare word.
pub(crate) fn read_value(text: &str, place: Place) -> Tree {
    match DeValue::parse(text) {
        Ok(value) => convert(value, &Source::Fixed(place)),
        Err(_) => Tree { place, value: Branch::Text(text.to_owned()) },
    }
}

fn entries(table: DeTable<'_>, source: &Source<'_>) -> Vec<Entry> {
    let pairs = table.into_iter();
    pairs
        .map(|(key, value)| {
            let place = source.place(key.span().start);
            Entry { key: key.into_inner().into_owned(), place, tree: convert(value, source) }
        })
        .collect()
}

fn convert(value: Spanned<DeValue<'_>>, source: &Source<'_>) -> Tree {
    let place = source.place(value.span().start);
    let value = match value.into_inner() {
        DeValue::String(text) => Branch::Text(text.into_owned()),
        DeValue::Integer(number) => match i128::from_str_radix(number.as_str(), number.radix()) {
            Ok(n) => Branch::Integer(n),
            Err(_) => Branch::Other(number.as_str().to_owned()),
        },
        DeValue::Float(number) => match number.as_str().parse() {
            Ok(n) => Branch::Float(n),
            Err(_) => Branch::Other(number.as_str().to_owned()),
        },
        DeValue::Boolean(on) => Branch::Switch(on),
        DeValue::Datetime(date) => Branch::Other(date.to_string()),
        DeValue::Array(mut items) => {
            let empty = || Spanned::new(0..0, DeValue::Boolean(false));
            Branch::List(items.iter_mut().map(|item| convert(std::mem::replace(item, empty()), source)).collect())
        }
        DeValue::Table(table) => Branch::Table(entries(table, source)),
    };
    Tree { place, value }
}

/// A step of the path to a value in a TOML document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A key of a table.
    Key(String),
    /// An index of an array, from 0.
    Index(usize),
}

/// Returns path and line (from 1) of each key and array element in a TOML document. For a broken document, it returns
/// those of the readable part.
#[must_use]
pub fn places(text: &str) -> Vec<(Vec<Part>, usize)> {
    let tree = read(text, &mut Report::new(""));
    let mut found = Vec::new();
    collect(&tree, &mut Vec::new(), &mut found);
    found
}

fn collect(tree: &Tree, path: &mut Vec<Part>, found: &mut Vec<(Vec<Part>, usize)>) {
    let mut step = |part, place, inner: &Tree| {
        path.push(part);
        if let Place::File(line, _) = place {
            found.push((path.clone(), line));
        }
        collect(inner, path, found);
        path.pop();
    };
    match &tree.value {
        Branch::Table(entries) => {
            entries.iter().for_each(|entry| step(Part::Key(entry.key.clone()), entry.place, &entry.tree));
        }
        Branch::List(items) => {
            items.iter().enumerate().for_each(|(index, item)| step(Part::Index(index), item.place, item));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_knows_its_line_and_column() {
        let mut report = Report::new("x");
        let tree = read("a = 1\n\n[b]\nµ = \"x\"\n  c = 'é', \n", &mut report);
        assert!(!report.is_empty(), "a bare µ is no key");
        drop(tree);
        let tree = read("a = 1\n[b]\n\"é\" = { c = 2 }\n", &mut Report::new("x"));
        let Branch::Table(top) = &tree.value else { panic!("a table") };
        assert_eq!(top[0].place, Place::File(1, 1));
        assert_eq!(top[0].tree.place, Place::File(1, 5));
        let Branch::Table(b) = &top[1].tree.value else { panic!("a table") };
        let Branch::Table(inner) = &b[0].tree.value else { panic!("a table") };
        assert_eq!(inner[0].place, Place::File(3, 9), "columns count characters, not bytes");
    }

    #[test]
    fn a_long_line_takes_no_longer_than_its_length() {
        let text = format!("x = [{}]\ny = 1\n", "1,".repeat(300_000));
        let tree = read(&text, &mut Report::new("x"));
        let Branch::Table(top) = &tree.value else { panic!("a table") };
        let Branch::List(items) = &top[0].tree.value else { panic!("a list") };
        assert_eq!((items[0].place, items[299_999].place), (Place::File(1, 6), Place::File(1, 600_004)));
        assert_eq!(top[1].place, Place::File(2, 1));
    }

    #[test]
    fn overrides_are_toml_or_bare_words() {
        let place = Place::Set(0);
        assert!(matches!(read_value("10", place).value, Branch::Integer(10)));
        assert!(matches!(read_value("true", place).value, Branch::Switch(true)));
        assert!(matches!(&read_value("10 Mb/s", place).value, Branch::Text(t) if t == "10 Mb/s"));
        assert!(matches!(&read_value("\"10 Mb/s\"", place).value, Branch::Text(t) if t == "10 Mb/s"));
        assert!(matches!(&read_value("cubic", place).value, Branch::Text(t) if t == "cubic"));
        assert!(matches!(&read_value("", place).value, Branch::Text(t) if t.is_empty()));
        assert!(matches!(&read_value("[1, 2]", place).value, Branch::List(items) if items.len() == 2));
    }

    #[test]
    fn places_have_lines() {
        let key = |text: &str| Part::Key(text.to_owned());
        let text =
            "[set]\n\"a.b\" = 1\nc.d = 2\n[[axes]]\npath = \"x\"\n[[axes]]\n  [axes.zip]\n  \"x.y\" = [\n1,\n2]\n";
        let line = |path: &[Part]| places(text).into_iter().find(|(known, _)| known == path).map(|(_, line)| line);
        assert_eq!(line(&[key("set")]), Some(1));
        assert_eq!(line(&[key("set"), key("a.b")]), Some(2));
        assert_eq!(line(&[key("set"), key("c"), key("d")]), Some(3));
        assert_eq!(line(&[key("axes"), Part::Index(0)]), Some(4));
        assert_eq!(line(&[key("axes"), Part::Index(0), key("path")]), Some(5));
        assert_eq!(line(&[key("axes"), Part::Index(1)]), Some(6));
        assert_eq!(line(&[key("axes"), Part::Index(1), key("zip"), key("x.y"), Part::Index(1)]), Some(10));
        assert_eq!(line(&[key("axes"), Part::Index(2)]), None);
    }
}
