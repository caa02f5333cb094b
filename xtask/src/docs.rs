//! The registry against the documentation.

use std::path::Path;

/// Where people read of every algorithm.
const PAGE: &str = "docs/algorithms.md";

/// A problem for each name of the registry that the page does not show as `` `name` ``.
pub fn problems<'a>(root: &Path, names: impl Iterator<Item = &'a str>) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(root.join(PAGE)).map_err(|e| format!("{PAGE}: {e}"))?;
    Ok(missing(&text, names))
}

fn missing<'a>(text: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    names
        .filter(|name| !text.contains(&format!("`{name}`")))
        .map(|name| format!("{PAGE}: does not tell of the algorithm `{name}`, which is in the registry"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::missing;

    #[test]
    fn an_algorithm_that_the_page_does_not_name_is_caught() {
        let found = missing("| `cubic` | RFC 9438 |", ["cubic", "reno"].into_iter());
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("`reno`"), "{}", found[0]);
    }
}
