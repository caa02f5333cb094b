//! Comments wrap at 120 columns, as code does. Markdown tables count too: a long row is split or shortened.

use crate::source::walk;
use std::path::Path;

/// Columns of a line.
const COLUMNS: usize = 120;

/// Returns every line of a comment in `crates` and `xtask` that is longer.
pub fn problems(root: &Path) -> Result<Vec<String>, String> {
    let mut files = Vec::new();
    for directory in ["crates", "xtask"] {
        walk(&root.join(directory), &mut files)?;
    }
    files.sort();
    let mut found = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let shown = file.strip_prefix(root).unwrap_or(&file).display();
        found.extend(
            long(&text).map(|(line, columns)| {
                format!("{shown}:{line}: a comment of {columns} columns; it wraps at {COLUMNS}")
            }),
        );
    }
    Ok(found)
}

/// The numbers and lengths of long comment lines.
fn long(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let comments = (1..).zip(text.lines()).filter(|(_, line)| line.trim_start().starts_with("//"));
    comments.map(|(number, line)| (number, line.chars().count())).filter(|(_, columns)| *columns > COLUMNS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_comments_are_found_and_long_strings_are_not() {
        let text = format!("//! {}\n    // {}\nlet s = \"{}\";\n", "x".repeat(117), "é".repeat(113), "x".repeat(200));
        assert_eq!(long(&text).collect::<Vec<_>>(), [(1, 121)]);
    }
}
