//! TOML's syntax: headings, pairs, inline tables, arrays, numbers and text.

use std::fmt;
use toml_writer::{ToTomlValue, TomlStringBuilder, TomlWrite, WriteTomlKey};

/// Appends a table: an empty line, its heading and its pairs.
pub(super) fn table(out: &mut String, name: &str, pairs: &[(&str, String)]) {
    written(out.newline());
    written(out.open_table_header());
    written(out.key(name));
    written(out.close_table_header());
    written(out.newline());
    lines(out, pairs);
}

/// Appends an element of an array of tables.
pub(super) fn element(out: &mut String, name: &str, pairs: &[(&str, String)]) {
    written(out.newline());
    written(out.open_array_of_tables_header());
    written(out.key(name));
    written(out.close_array_of_tables_header());
    written(out.newline());
    lines(out, pairs);
}

pub(super) fn lines(out: &mut String, pairs: &[(&str, String)]) {
    for (key, value) in pairs {
        pair(out, *key, value);
        written(out.newline());
    }
}

/// Appends a key and its value, which is TOML already.
fn pair(out: &mut String, key: impl WriteTomlKey, value: &str) {
    written(out.key(key));
    written(out.space());
    written(out.keyval_sep());
    written(out.space());
    out.push_str(value);
}

/// Ignores the result of writing to a string, which cannot fail.
fn written(result: fmt::Result) {
    let _ = result;
}

pub(super) fn inline<K: AsRef<str>>(pairs: &[(K, String)]) -> String {
    let mut out = String::new();
    written(out.open_inline_table());
    for (index, (key, value)) in pairs.iter().enumerate() {
        if index > 0 {
            written(out.val_sep());
        }
        written(out.space());
        pair(&mut out, key.as_ref(), value);
    }
    if !pairs.is_empty() {
        written(out.space());
    }
    written(out.close_inline_table());
    out
}

/// Returns an array of values that are TOML already.
pub(super) fn list(items: impl IntoIterator<Item = String>) -> String {
    let mut out = String::new();
    written(out.open_array());
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            written(out.val_sep());
            written(out.space());
        }
        out.push_str(&item);
    }
    written(out.close_array());
    out
}

/// Returns the shortest decimal that reads back as the same float. Very small and very large numbers get an exponent;
/// `toml_writer` would write zeros instead.
pub(super) fn number(n: f64) -> String {
    format!("{n:?}")
}

/// Returns a basic string of TOML, on one line.
pub(super) fn quoted(text: &str) -> String {
    TomlStringBuilder::new(text).as_basic().to_toml_value()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_quoted_on_one_line() {
        assert_eq!(quoted("a \"b\"\n\tc\\ \u{1}\u{7f} é"), "\"a \\\"b\\\"\\n\\tc\\\\ \\u0001\\u007F é\"");
    }

    #[test]
    fn keys_are_quoted_where_toml_needs_it() {
        assert_eq!(inline(&[("a", "1".to_owned()), ("b c", "2".to_owned())]), "{ a = 1, \"b c\" = 2 }");
        assert_eq!(inline::<&str>(&[]), "{}");
    }

    #[test]
    fn small_numbers_keep_their_exponent() {
        assert_eq!([1e-7, 0.5, 3.0, 1e16].map(number), ["1e-7", "0.5", "3.0", "1e16"]);
    }
}
