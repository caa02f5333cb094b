//! Where the name of a scheme may stand: its folder, the registry, and its adapter in `live`.

use crate::manifest::Crate;
use crate::source;
use std::path::Path;

/// Files that list schemes, by path below `crates`.
const LISTS: &[&str] = &["scheme/src/lib.rs", "scheme/src/registry.rs", "live/src/schemes.rs"];

/// Files that name a scheme beside those, each with its reason.
const KNOWN: &[(&str, &str)] = &[
    // Linux's own CUBIC is needed by the eBPF program of one scheme alone.
    ("live/src/doctor/kernel.rs", "acns"),
];

/// Returns every source file outside its places that names a scheme, in code or in words. Test code is exempt.
pub fn problems(crates: &[Crate], schemes: &[&str]) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for item in crates {
        for file in source::files(&item.directory.join("src"))? {
            let inside = file.strip_prefix(&item.directory).unwrap_or(&file);
            let shown = Path::new(&item.name).join(inside).display().to_string();
            let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
            for name in schemes.iter().filter(|name| !may_name(&shown, name)) {
                found.extend(lines(&text, name).map(|line| {
                    format!("crates/{shown}:{line}: names the scheme {name}; only its folder and the registry may")
                }));
            }
        }
    }
    Ok(found)
}

/// Whether the file `shown`, by its path below `crates`, may name the scheme.
fn may_name(shown: &str, name: &str) -> bool {
    LISTS.contains(&shown)
        || KNOWN.contains(&(shown, name))
        || shown.starts_with(&format!("scheme/src/{name}/"))
        || shown == format!("live/src/schemes/{name}.rs")
}

/// Returns the lines that name the scheme, before the test module at the end of the file.
fn lines<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = usize> + 'a {
    let tests = text.find("#[cfg(test)]\nmod ").unwrap_or(text.len());
    let named = text[..tests].lines().enumerate().filter(move |(_, line)| line.to_lowercase().contains(name));
    named.map(|(index, _)| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_code_and_in_words_is_found_but_not_in_tests() {
        let text = "//! As Toy says.\nuse a::toy;\nuse b;\n#[cfg(test)]\nmod tests {\n    // toy\n}\n";
        assert_eq!(lines(text, "toy").collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn a_scheme_has_its_folder_and_its_adapter() {
        for (file, allowed) in [
            ("scheme/src/toy/router.rs", true),
            ("scheme/src/toy.rs", false),
            ("scheme/src/registry.rs", true),
            ("live/src/schemes/toy.rs", true),
            ("live/src/run.rs", false),
            ("scenario/src/build/schemes.rs", false),
        ] {
            assert_eq!(may_name(file, "toy"), allowed, "{file}");
        }
        assert!(may_name("live/src/doctor/kernel.rs", "acns"));
        assert!(!may_name("live/src/doctor/kernel.rs", "toy"));
    }
}
