//! Overrides: `--set path=value` changes the tree before it is checked.

use crate::problem::{Place, Report};
use crate::schema::{Kind, Table};
use crate::suggest::hint;
use crate::tree::{Branch, Entry, Tree, read_value};

/// A step of a path.
#[derive(Debug, PartialEq, Eq)]
enum Step<'a> {
    Key(&'a str),
    Index(usize),
    All,
}

/// Most steps of a path; the format needs five.
const DEEP: usize = 16;

/// Applies the overrides in order. Wrong paths are reported here; wrong values are reported with the rest of the file.
pub(crate) fn apply(tree: &mut Tree, root: &'static Table, overrides: &[(String, String)], report: &mut Report) {
    for (number, (path, text)) in overrides.iter().enumerate() {
        let place = Place::Set(number);
        let Some(steps) = steps(path) else {
            report.add(
                place,
                "",
                format!("{path:?}"),
                "is not a path",
                "paths such as duration, tcp.cc, links[0].rate or flows[*].dscp",
            );
            continue;
        };
        let value = read_value(text, place);
        if let Err(flaw) = set(tree, Some(root), &steps, &value) {
            report.add(place, "", format!("{path:?}"), flaw.0, flaw.1);
        }
    }
}

fn steps(path: &str) -> Option<Vec<Step<'_>>> {
    let mut steps = Vec::new();
    for part in path.trim().split('.') {
        let (key, mut rest) = part.split_at(part.find('[').unwrap_or(part.len()));
        if key.is_empty() || key.contains(|c: char| c.is_whitespace() || matches!(c, ']' | '"' | '=')) {
            return None;
        }
        steps.push(Step::Key(key));
        while let Some(inner) = rest.strip_prefix('[') {
            let (index, after) = inner.split_once(']')?;
            steps.push(if index == "*" { Step::All } else { Step::Index(index.parse().ok()?) });
            rest = after;
        }
        if !rest.is_empty() || steps.len() > DEEP {
            return None;
        }
    }
    Some(steps)
}

/// The fault of a path, and the allowed paths.
struct Flaw(String, String);

fn set(tree: &mut Tree, table: Option<&'static Table>, steps: &[Step<'_>], value: &Tree) -> Result<(), Flaw> {
    let Some((step, rest)) = steps.split_first() else {
        *tree = value.clone();
        return Ok(());
    };
    match (step, &mut tree.value) {
        (Step::Key(key), Branch::List(items)) => {
            let names: Vec<String> = items.iter().filter_map(|item| item.text("name").map(str::to_owned)).collect();
            match items.iter_mut().find(|item| item.text("name") == Some(key)) {
                Some(item) => set(item, table, rest, value),
                None => {
                    let near = hint(key, names.iter().map(String::as_str));
                    Err(Flaw(format!("matches nothing called {key:?} in the file{near}"), index_range(items.len())))
                }
            }
        }
        (Step::Key(key), Branch::Table(entries)) => set_key(entries, table, key, rest, value),
        (Step::Key(_), _) => {
            // A table replaces a word or a switch: `delayed_ack.every` replaces `delayed_ack = false`.
            *tree = Tree { place: value.place, value: Branch::Table(Vec::new()) };
            set(tree, table, steps, value)
        }
        (Step::Index(index), Branch::List(items)) => {
            let count = items.len();
            match items.get_mut(*index) {
                Some(item) => set(item, table, rest, value),
                None => Err(Flaw(format!("matches no [{index}] in the file"), index_range(count))),
            }
        }
        (Step::All, Branch::List(items)) => {
            let mut any = false;
            for item in items.iter_mut().filter(|item| applies(item, table, rest)) {
                any = true;
                set(item, table, rest, value)?;
            }
            if any { Ok(()) } else { Err(Flaw("matches nothing in the file".into(), index_range(0))) }
        }
        (Step::Index(_) | Step::All, _) => {
            Err(Flaw("has an index where there is no list".into(), "indices after a list".into()))
        }
    }
}

fn index_range(count: usize) -> String {
    match count {
        0 => "an entry that the file lists; nodes and links of a shorthand are set in its table".into(),
        1 => "[0], [*] or a name".into(),
        n => format!("[0] to [{}], [*] or a name", n - 1),
    }
}

fn set_key(
    entries: &mut Vec<Entry>,
    table: Option<&'static Table>,
    key: &str,
    rest: &[Step<'_>],
    value: &Tree,
) -> Result<(), Flaw> {
    let field = table.and_then(|table| table.field(key));
    let same = |entry: &Entry| {
        entry.key == key || field.is_some_and(|f| f.key == entry.key || f.aliases.contains(&&*entry.key))
    };
    let inner = field.and_then(|field| field.kind.table());
    if let Some(entry) = entries.iter_mut().find(|entry| same(entry)) {
        // Only the changed value gets the override's place; its siblings keep their own lines.
        if rest.is_empty() {
            entry.place = value.place;
        }
        // A value that stands for its table's first field keeps its meaning beside the new field.
        if let (Some(Kind::OrTable(_, inner)), Some(Step::Key(_))) = (field.map(|field| &field.kind), rest.first())
            && !matches!(entry.tree.value, Branch::Table(_))
            && let Some(first) = inner.fields().next()
        {
            let place = entry.tree.place;
            let tree = std::mem::replace(&mut entry.tree, Tree { place, value: Branch::Table(Vec::new()) });
            entry.tree.value = Branch::Table(vec![Entry { key: first.key.to_owned(), place, tree }]);
        }
        // Where a list may stand, a single table is its first entry.
        let one = matches!(field.map(|field| &field.kind), Some(Kind::OneOrMany(_)))
            && matches!(entry.tree.value, Branch::Table(_));
        let rest = match rest.split_first() {
            Some((Step::Index(0) | Step::All, after)) if one => after,
            _ => rest,
        };
        return set(&mut entry.tree, inner, rest, value);
    }
    if matches!(rest.first(), Some(Step::Index(_) | Step::All)) {
        return Err(Flaw(format!("matches no {key:?} in the file"), index_range(0)));
    }
    let mut tree = Tree { place: value.place, value: Branch::Table(Vec::new()) };
    set(&mut tree, inner, rest, value)?;
    entries.push(Entry { key: key.to_owned(), place: value.place, tree });
    Ok(())
}

/// Whether the next key has a meaning for an element, so that `flows[*].cc` skips UDP flows.
fn applies(item: &Tree, table: Option<&'static Table>, rest: &[Step<'_>]) -> bool {
    let (Some(table), Some(Step::Key(key))) = (table, rest.first()) else { return true };
    let Some(field) = table.field(key) else { return true };
    item.text("kind").is_none_or(|kind| field.only.is_empty() || field.only.contains(&kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_keys_and_indices() {
        assert_eq!(steps("a"), Some(vec![Step::Key("a")]));
        assert_eq!(
            steps("a[0].b-c[*].d"),
            Some(vec![Step::Key("a"), Step::Index(0), Step::Key("b-c"), Step::All, Step::Key("d")])
        );
        for bad in ["", ".", "a..b", "a[", "a[x]", "a[0]b", "[0]", "a b", "a[-1]", "a[99999999999999999999999]"] {
            assert_eq!(steps(bad), None, "{bad}");
        }
    }
}
