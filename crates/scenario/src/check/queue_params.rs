//! Parameters of queue disciplines, whose rows are in the catalogue.

use super::{Path, check, value};
use crate::catalogue::Catalogue;
use crate::problem::Report;
use crate::record::Value;
use crate::schema::{self, Kind};
use crate::tree::{Branch, Entry, Tree};
use narrows_settings::queue;

/// Returns the discipline that a queue's table names.
pub(super) fn kind_word(entries: &[Entry]) -> Option<&str> {
    entries.iter().find(|entry| entry.key == "kind").and_then(|entry| match &entry.tree.value {
        Branch::Text(word) => Some(word.as_str()),
        _ => None,
    })
}

/// Checks the value of a queue's parameter, given its name and the discipline that the table names: some discipline
/// must accept it. Another table may name the queue's discipline, so that discipline's rules are checked when the queue
/// is built. A problem is reported by the range of the named discipline, or else of the first one.
pub(super) fn queue_param(
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
