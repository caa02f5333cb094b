//! Checks the tree against the schema: kinds, ranges, unknown and missing keys. `build` checks the rules among fields.

use crate::catalogue::Catalogue;
use crate::dscp;
use crate::problem::{Place, Report};
use crate::quantity::{self, Amount, Flaw};
use crate::record::{Item, Record, Value};
use crate::schema::{self, Field, Kind, Need, Table, Word};
use crate::suggest::{hint, tables as table_hint, units as unit_hint};
use crate::tree::{Branch, Entry, Tree, read_value};
use crate::types::Limit;
use narrows_settings::queue;
use narrows_timeline::Lapse;
use narrows_units::Probability;
use std::fmt;

/// A path in the file, formatted as text only if a problem needs it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Path<'a> {
    Root,
    Key(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Key(Self::Root, key) => f.write_str(key),
            Self::Key(parent, key) => write!(f, "{parent}.{key}"),
            Self::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

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

/// Returns the discipline that a queue's table names.
fn kind_word(entries: &[Entry]) -> Option<&str> {
    entries.iter().find(|entry| entry.key == "kind").and_then(|entry| match &entry.tree.value {
        Branch::Text(word) => Some(word.as_str()),
        _ => None,
    })
}

/// Checks the value of a queue's parameter, given its name and the discipline that the table names: some discipline
/// must accept it. Another table may name the queue's discipline, so that discipline's rules are checked when the queue
/// is built. A problem is reported by the range of the named discipline, or else of the first one.
fn queue_param(
    (name, named): (&str, Option<&str>),
    tree: &Tree,
    path: &Path<'_>,
    catalogue: &Catalogue,
    report: &mut Report,
) -> Value {
    let params = || catalogue.queues.iter().filter_map(|row| Some((row.name, kind_of(&row.param(name)?.kind))));
    if params().any(|(_, kind)| value(&kind, tree).is_some()) {
        return Value::Raw(tree.clone());
    }
    if let Some((_, kind)) = &params().find(|(row, _)| Some(*row) == named).or_else(|| params().next()) {
        check(kind, tree, path, catalogue, report);
    }
    Value::Bad
}

/// Returns the format's kind for a queue's parameter.
pub(crate) fn kind_of(kind: &queue::Kind) -> Kind {
    match *kind {
        queue::Kind::Switch { .. } => Kind::Switch,
        queue::Kind::Integer { min, max, .. } => Kind::Integer(min, max),
        queue::Kind::Number { min, max, .. } => Kind::Number(min, max),
        queue::Kind::Probability { .. } => Kind::Probability,
        queue::Kind::Time { min, max, .. } => Kind::Time(min.as_nanos(), max.as_nanos().min(schema::LONG)),
        queue::Kind::Rate { min, max, .. } => Kind::Rate(min.as_bps(), max.as_bps().min(schema::FAST)),
        queue::Kind::Size { min, max, .. } => Kind::Size(min.as_u64(), max.as_u64().min(schema::LARGE)),
        queue::Kind::Amount { .. } => Kind::Amount,
        queue::Kind::Choice { words, .. } => Kind::Choice(words),
    }
}

/// Checks the value of a queue's parameter against its own discipline, and returns it.
pub(crate) fn own_param(kind: &queue::Kind, tree: &Tree, path: &Path<'_>, report: &mut Report) -> Option<queue::Value> {
    let value = check(&kind_of(kind), tree, path, &Catalogue::default(), report);
    Some(match (kind, value) {
        (queue::Kind::Switch { .. }, Value::Switch(on)) => queue::Value::Switch(on),
        (queue::Kind::Integer { .. }, Value::Integer(n)) => queue::Value::Integer(n),
        (queue::Kind::Number { .. }, Value::Number(n)) => queue::Value::Number(n),
        (queue::Kind::Probability { .. }, Value::Probability(p)) => queue::Value::Probability(p),
        (queue::Kind::Time { .. }, Value::Time(time)) => queue::Value::Time(time),
        (queue::Kind::Rate { .. }, Value::Rate(rate)) => queue::Value::Rate(rate),
        (queue::Kind::Size { .. }, Value::Size(size)) => queue::Value::Size(size),
        (queue::Kind::Amount { .. }, Value::Amount(amount)) => queue::Value::Amount(amount),
        (queue::Kind::Choice { .. }, Value::Word(word)) => queue::Value::Choice(word),
        _ => return None,
    })
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

fn names(
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

fn rates(
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
fn several(
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

/// Checks a scalar value; the error describes the fault.
fn scalar(kind: &Kind, tree: &Tree) -> Result<Value, String> {
    let wrong = || Err(format!("is not {}", kind.noun()));
    let flawed = |flaw: Flaw| match (flaw, &tree.value) {
        (Flaw::WrongUnit, Branch::Text(text)) => flaw.reason(&kind.noun()) + &unit_hint::hint(kind, text),
        _ => flaw.reason(&kind.noun()),
    };
    match (kind, &tree.value) {
        // Unknown PHYs are refused later, where the catalogue with the known ones is available.
        (Kind::Text | Kind::Phy | Kind::Condition, Branch::Text(text)) => Ok(Value::Text(text.clone())),
        // In an override, quotes may be left out; "802.11" is then a number.
        (Kind::Phy, Branch::Float(number)) if matches!(tree.place, Place::Set(_)) => {
            Ok(Value::Text(number.to_string()))
        }
        (Kind::Name | Kind::Node | Kind::Cc | Kind::Scheme, Branch::Text(text)) => {
            name(text, false).ok_or_else(|| flawed(Flaw::NoNumber))
        }
        (Kind::NodePattern, Branch::Text(text)) => name(text, true).ok_or_else(|| flawed(Flaw::NoNumber)),
        (Kind::Switch, Branch::Switch(on)) => Ok(Value::Switch(*on)),
        (Kind::Integer(min, max), Branch::Integer(n)) => match u64::try_from(*n) {
            Ok(n) if (*min..=*max).contains(&n) => Ok(Value::Integer(n)),
            _ => Err("is out of range".into()),
        },
        (Kind::OneOf(list), Branch::Integer(n)) => match u64::try_from(*n) {
            Ok(n) if list.contains(&n) => Ok(Value::Integer(n)),
            _ => Err("is not one of the allowed numbers".into()),
        },
        (Kind::Number(min, max), Branch::Integer(_) | Branch::Float(_)) => {
            let n = if let Branch::Float(n) = tree.value { n } else { integer(tree) as f64 };
            if n >= *min && n <= *max { Ok(Value::Number(n)) } else { Err("is out of range".into()) }
        }
        (Kind::Share { one }, Branch::Integer(_) | Branch::Float(_)) => {
            let n = if let Branch::Float(n) = tree.value { n } else { integer(tree) as f64 };
            let fits = n > 0.0 && (n < 1.0 || (*one && n <= 1.0));
            if fits { Ok(Value::Number(n)) } else { Err("is out of range".into()) }
        }
        (Kind::Probability, Branch::Integer(_) | Branch::Float(_)) => {
            let n = if let Branch::Float(n) = tree.value { n } else { integer(tree) as f64 };
            probability(n)
        }
        (Kind::Probability, Branch::Text(text)) => probability(quantity::percent(text).map_err(flawed)?),
        (Kind::Rate(min, max), Branch::Text(text)) => {
            let rate = quantity::rate(text).map_err(flawed)?;
            in_range(rate.as_bps(), *min, *max).map(|()| Value::Rate(rate))
        }
        (Kind::Time(min, max), Branch::Text(text)) => {
            let time = quantity::time(text).map_err(flawed)?;
            in_range(time.as_nanos(), *min, *max).map(|()| Value::Time(time))
        }
        (Kind::Scaled(inner, units), Branch::Text(text)) => match quantity::scaled(text, units) {
            Some(found) => found.map(Value::Scaled).map_err(flawed),
            None => scalar(inner, tree),
        },
        (Kind::Scaled(inner, _), _) => scalar(inner, tree),
        (Kind::Lapse, Branch::Text(text)) => match quantity::lapse(text).map_err(flawed)? {
            Lapse::Rounds(n) => in_range(n, 1, schema::case::MANY).map(|()| Value::Lapse(Lapse::Rounds(n))),
            Lapse::Time(time) => in_range(time.as_nanos(), 0, schema::LONG).map(|()| Value::Lapse(Lapse::Time(time))),
        },
        (Kind::Size(min, max), Branch::Text(text)) => {
            let size = quantity::size(text).map_err(flawed)?;
            in_range(size.as_u64(), *min, *max).map(|()| Value::Size(size))
        }
        (Kind::Limit, Branch::Text(text)) => {
            let limit = match quantity::limit(text) {
                Err(Flaw::WrongUnit) => {
                    let time = quantity::time(text).map_err(flawed)?;
                    return in_range(time.as_nanos(), 1, schema::LONG).map(|()| Value::Time(time));
                }
                limit => limit.map_err(flawed)?,
            };
            let n = match limit {
                Limit::Packets(n) => n.as_u64(),
                Limit::Bytes(n) => n.as_u64(),
            };
            in_range(n, 1, schema::LARGE).map(|()| Value::Limit(limit))
        }
        (Kind::Amount, Branch::Text(text)) => quantity::amount(text).map(Value::Amount).map_err(flawed),
        (Kind::Amount, Branch::Integer(_) | Branch::Float(_)) => {
            let n = if let Branch::Float(n) = tree.value { n } else { integer(tree) as f64 };
            if (0.0..=1e9).contains(&n) { Ok(Value::Amount(Amount::Bare(n))) } else { Err("is out of range".into()) }
        }
        (
            Kind::Rate(..) | Kind::Time(..) | Kind::Size(..) | Kind::Limit | Kind::Lapse,
            Branch::Integer(_) | Branch::Float(_),
        ) => Err("has no unit".into()),
        (Kind::Choice(words), Branch::Text(text)) => match find(words, text) {
            Some(word) => Ok(Value::Word(word)),
            None => Err(format!("is not one of the allowed words{}", hint(text, words.iter().map(|word| word.0)))),
        },
        (Kind::Dscp, Branch::Integer(n)) if (0..=63).contains(n) => Ok(Value::Integer(n.unsigned_abs() as u64)),
        (Kind::Dscp, Branch::Integer(_)) => Err("is out of range".into()),
        (Kind::Dscp, Branch::Text(text)) => match dscp::by_name(text) {
            Some(code) => Ok(Value::Integer(u64::from(code))),
            None => Err(format!("is not a DSCP{}", hint(text, dscp::NAMES.iter().map(|row| row.0)))),
        },
        (Kind::Address, Branch::Text(text)) => text.parse().map(Value::Address).or_else(|_| wrong()),
        _ => wrong(),
    }
}

fn integer(tree: &Tree) -> i128 {
    if let Branch::Integer(n) = tree.value { n } else { 0 }
}

fn name(text: &str, star: bool) -> Option<Value> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_' || (star && c == '*');
    (!text.is_empty() && text.len() <= schema::NAME_LENGTH && text.chars().all(fits))
        .then(|| Value::Text(text.to_owned()))
}

fn probability(n: f64) -> Result<Value, String> {
    Probability::new(n).map(Value::Probability).map_err(|_| "is not a probability".into())
}

fn in_range(n: u64, min: u64, max: u64) -> Result<(), String> {
    match n {
        0 if min > 0 => Err("is zero".into()),
        n if n < min => Err("is too small".into()),
        n if n > max => Err("is too large".into()),
        _ => Ok(()),
    }
}
