//! Changes of a scenario's text that keep its comments and order: one value set or removed, or a table appended.
//!
//! A path is that of `--set`: `duration`, `topology.bottleneck.rate`, `flows[0].cc`. The result is not validated;
//! [`parse`](crate::parse) does that.

use toml_edit::{ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, Value};
use wasm_bindgen::prelude::*;

/// Most steps of a path; the format needs five.
const DEEP: usize = 16;

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

fn steps(path: &str) -> Result<Vec<Step>, String> {
    let fault = || format!("{path:?} is not a path; allowed: paths such as duration, tcp.cc or links[0].rate");
    let mut steps = Vec::new();
    for part in path.split('.') {
        let (key, mut rest) = part.split_at(part.find('[').unwrap_or(part.len()));
        if key.is_empty() {
            return Err(fault());
        }
        steps.push(Step::Key(key.to_owned()));
        while let Some(inner) = rest.strip_prefix('[') {
            let (index, after) = inner.split_once(']').ok_or_else(fault)?;
            steps.push(Step::Index(index.parse().map_err(|_| fault())?));
            rest = after;
        }
        if !rest.is_empty() || steps.len() > DEEP {
            return Err(fault());
        }
    }
    Ok(steps)
}

fn document(toml: &str) -> Result<DocumentMut, String> {
    toml.parse().map_err(|error: toml_edit::TomlError| error.to_string())
}

/// What is done at the end of a path.
enum Change<'a> {
    Set(&'a str),
    Remove,
}

impl Change<'_> {
    /// Reads the new value: TOML, or a bare word as a string.
    fn value(text: &str) -> Value {
        text.parse().unwrap_or_else(|_| Value::from(text))
    }

    fn key(&self, table: &mut dyn TableLike, key: &str, form: Form) {
        match (self, table.get_mut(key)) {
            (Change::Remove, _) => drop(table.remove(key)),
            (Change::Set(text), Some(Item::Value(old))) => return replace(old, Self::value(text)),
            (Change::Set(text), _) => drop(table.insert(key, Item::Value(Self::value(text)))),
        }
        if form == Form::Inline {
            // Sets blanks and commas right; an inline table has no comments.
            table.fmt();
        }
    }
}

/// How a table is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// The document.
    Top,
    /// Under a header.
    Header,
    /// In braces.
    Inline,
}

/// Replaces a value and keeps the blanks and comments around it.
fn replace(old: &mut Value, mut new: Value) {
    *new.decor_mut() = old.decor().clone();
    *old = new;
}

/// Applies a change below `table`. Tables that are missing are made: with a header at the top, inline below.
fn apply(table: &mut dyn TableLike, steps: &[Step], change: &Change<'_>, form: Form) -> Result<(), String> {
    let missing = |step: &Step| match step {
        Step::Key(key) => format!("the text has no {key}"),
        Step::Index(index) => format!("the text has no [{index}] there"),
    };
    match steps {
        [Step::Key(key)] => {
            change.key(table, key, form);
            Ok(())
        }
        [Step::Key(key), index @ Step::Index(at), rest @ ..] => match table.get_mut(key) {
            Some(Item::ArrayOfTables(list)) => match (list.get_mut(*at), rest, change) {
                (Some(_), [], Change::Remove) => {
                    list.remove(*at);
                    Ok(())
                }
                (Some(found), [_, ..], _) => apply(found, rest, change, Form::Header),
                _ => Err(missing(index)),
            },
            Some(Item::Value(Value::Array(list))) => match (list.get_mut(*at), rest, change) {
                (Some(_), [], Change::Remove) => {
                    list.remove(*at);
                    Ok(())
                }
                (Some(found), [], Change::Set(text)) => {
                    replace(found, Change::value(text));
                    Ok(())
                }
                (Some(Value::InlineTable(found)), [_, ..], _) => apply(found, rest, change, Form::Inline),
                _ => Err(missing(index)),
            },
            _ => Err(missing(&steps[0])),
        },
        [Step::Key(key), rest @ ..] => {
            if table.get(key).is_none_or(|found| !found.is_table_like()) {
                if matches!(change, Change::Remove) {
                    return Ok(());
                }
                // A table replaces a word or a switch: `delayed_ack.every` replaces `delayed_ack = false`.
                table.remove(key);
                let inline = || Item::Value(InlineTable::new().into());
                table.insert(key, if form == Form::Top { Item::Table(Table::new()) } else { inline() });
                if form == Form::Inline {
                    table.fmt();
                }
            }
            let found = table.get_mut(key).ok_or_else(|| missing(&steps[0]))?;
            let form = if found.is_inline_table() { Form::Inline } else { Form::Header };
            apply(found.as_table_like_mut().ok_or_else(|| missing(&steps[0]))?, rest, change, form)
        }
        _ => Err("a path begins with a key".to_owned()),
    }
}

fn changed(toml: &str, path: &str, change: &Change<'_>) -> Result<String, String> {
    let mut document = document(toml)?;
    apply(document.as_table_mut(), &steps(path)?, change, Form::Top).map_err(|why| format!("{path}: {why}"))?;
    Ok(document.to_string())
}

fn appended(toml: &str, key: &str, table: &str) -> Result<String, String> {
    let mut document = document(toml)?;
    let mut new = self::document(table)?.into_table();
    new.set_position(None);
    new.decor_mut().set_prefix("\n");
    let list = document.entry(key).or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    let kind = list.type_name();
    list.as_array_of_tables_mut().ok_or_else(|| format!("{key} is {kind}; allowed: [[{key}]]"))?.push(new);
    Ok(document.to_string())
}

fn thrown(why: &str) -> JsError {
    JsError::new(why)
}

/// Sets the value at a path: TOML, or a bare word. Missing tables on the way are made.
///
/// # Errors
/// The text is not TOML, or the path leads nowhere.
#[wasm_bindgen]
pub fn set(toml: &str, path: &str, value: &str) -> Result<String, JsError> {
    changed(toml, path, &Change::Set(value)).map_err(|why| thrown(&why))
}

/// Removes the value or table at a path, if it is there.
///
/// # Errors
/// The text is not TOML, or an index on the path is too large.
#[wasm_bindgen]
pub fn remove(toml: &str, path: &str) -> Result<String, JsError> {
    changed(toml, path, &Change::Remove).map_err(|why| thrown(&why))
}

/// Appends a table to an array of tables: `append(text, "flows", "name = 'third'")` adds `[[flows]]`.
///
/// # Errors
/// Either text is not TOML, or the key holds something else.
#[wasm_bindgen]
pub fn append(toml: &str, key: &str, table: &str) -> Result<String, JsError> {
    appended(toml, key, table).map_err(|why| thrown(&why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "# head\nduration = \"60 s\"  # long\n\n[topology]\nkind = \"dumbbell\"\n\
        bottleneck = { rate = \"10 Mb/s\", queue = { limit = \"50 packets\" } }\n\n\
        [[flows]]\nname = \"first\"\n\n# the other\n[[flows]]\nname = \"second\"\n";

    fn set(path: &str, value: &str) -> String {
        changed(TEXT, path, &Change::Set(value)).unwrap()
    }

    #[test]
    fn a_value_is_replaced_and_all_else_stays() {
        assert_eq!(set("duration", "30 s"), TEXT.replace("60 s", "30 s"));
        assert_eq!(set("topology.bottleneck.rate", "\"5 Mb/s\""), TEXT.replace("10 Mb/s", "5 Mb/s"));
        assert_eq!(set("topology.bottleneck.queue.limit", "9 packets"), TEXT.replace("50 packets", "9 packets"));
        assert_eq!(set("flows[1].name", "b"), TEXT.replace("second", "b"));
    }

    #[test]
    fn missing_tables_and_keys_are_made() {
        assert!(set("tcp.cc", "bbr3").contains("[tcp]\ncc = \"bbr3\""));
        assert!(set("topology.bottleneck.queue.ecn", "true").contains("limit = \"50 packets\", ecn = true"));
        assert!(set("flows[0].start", "10 s").contains("name = \"first\"\nstart = \"10 s\""));
        assert!(set("topology.access.rate", "1 Gb/s").contains("access = { rate = \"1 Gb/s\" }"));
    }

    #[test]
    fn tables_are_removed_and_appended() {
        let without = changed(TEXT, "flows[0]", &Change::Remove).unwrap();
        assert!(!without.contains("first") && without.contains("# the other\n[[flows]]\nname = \"second\""));
        assert_eq!(changed(TEXT, "tcp.cc", &Change::Remove).unwrap(), TEXT);
        let more = appended(TEXT, "flows", "name = \"third\"\nstart = \"5 s\"").unwrap();
        assert_eq!(more, format!("{TEXT}\n[[flows]]\nname = \"third\"\nstart = \"5 s\"\n"));
        assert!(appended(TEXT, "duration", "a = 1").is_err());
    }

    #[test]
    fn paths_that_lead_nowhere_are_refused() {
        for path in ["", ".", "flows[7].name", "flows[x]", "duration[0]", "a..b", "flows[0"] {
            assert!(changed(TEXT, path, &Change::Set("1")).is_err(), "{path}");
        }
        assert!(changed("a = [", "a", &Change::Set("1")).is_err());
    }

    proptest! {
        #[test]
        fn no_text_or_path_panics(toml in "\\PC{0,80}", path in "[a-z.\\[\\]0-9]{0,20}", value in "\\PC{0,20}") {
            let _ = changed(&toml, &path, &Change::Set(&value));
            let _ = changed(TEXT, &path, &Change::Set(&value));
            let _ = changed(TEXT, &path, &Change::Remove);
            let _ = appended(&toml, &path, &value);
        }
    }
}
