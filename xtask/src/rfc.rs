//! `docs/rfc.md`: the files and tests that it names exist.

use std::path::{Path, PathBuf};

/// The page of RFC sections with their code and tests.
const PAGE: &str = "docs/rfc.md";

/// Where paths without `crates/` are.
const HOME: &str = "crates/tcp/src";

/// Reports files and tests that the page names and that do not exist.
pub fn problems(root: &Path) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(root.join(PAGE)).map_err(|e| format!("{PAGE}: {e}"))?;
    let read = |path: &str| std::fs::read_to_string(place(root, path)).ok();
    Ok(broken(&text, read))
}

fn place(root: &Path, path: &str) -> PathBuf {
    if path.starts_with("crates/") { root.join(path) } else { root.join(HOME).join(path) }
}

/// The rows of `text` whose code or test `read` does not find; it returns a file's text.
fn broken(text: &str, read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut problems = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let at = format!("{PAGE}:{}", index + 1);
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let &[section, _, code, test] = &cells[..] else { continue };
        if !line.starts_with('|') || section == "section" || section.starts_with("---") {
            continue;
        }
        let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
        let (files, tests) = (names(code), names(test));
        if files.is_empty() || tests.is_empty() {
            problems.push(format!("{at}: names no code or no test; write both in backquotes"));
        }
        for file in files.iter().filter(|file| read(file).is_none()) {
            problems.push(format!("{at}: {file} does not exist"));
        }
        for named in &tests {
            let found = named.split_once(": ").and_then(|(file, test)| Some((read(file)?, test)));
            match found {
                Some((source, test)) if source.contains(&format!("fn {test}(")) => {}
                Some((_, test)) => problems.push(format!("{at}: the file has no test {test}")),
                None => problems.push(format!("{at}: {named:?} is not `file: test` of a file that exists")),
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_name_files_and_tests_that_exist() {
        let read = |path: &str| (path == "a.rs").then(|| "#[test]\nfn works() {}\n".to_owned());
        let page = |code: &str, test: &str| {
            format!("| section | content | code | test |\n|---|---|---|---|\n| 1 | text | {code} | {test} |\n")
        };
        assert!(broken(&page("`a.rs`", "`a.rs: works`"), read).is_empty());
        for (code, test) in [("`b.rs`", "`a.rs: works`"), ("`a.rs`", "`a.rs: fails`"), ("`a.rs`", "`b.rs: works`")] {
            let found = broken(&page(code, test), read);
            assert_eq!(found.len(), 1, "{code} {test}: {found:?}");
            assert!(found[0].starts_with("docs/rfc.md:3: "), "{found:?}");
        }
        assert_eq!(broken(&page("none", "none"), read).len(), 1);
    }
}
