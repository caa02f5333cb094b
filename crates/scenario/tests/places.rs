//! In which files the name of a TCP setting stands.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Settings that are plain switches of a connection: no other setting depends on them, and no part of a live run does.
const SWITCHES: &[&str] =
    &["limited_transmit", "lost_retransmission", "reduce_once", "full_ack_cap", "impatient", "cwnd_validation"];

/// Returns the sources of a directory, without modules of tests.
fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    let mut paths: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let texts: Vec<String> = paths.iter().filter_map(|path| fs::read_to_string(path).ok()).collect();
    for path in paths {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let test = format!("#[cfg(test)]\nmod {stem};");
        if stem == "tests" || texts.iter().any(|text| text.contains(&test)) {
            continue;
        }
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Returns the files of the modules that this file declares for tests alone.
fn test_modules(path: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(path).unwrap();
    let stem = path.file_stem().unwrap();
    let inside = if stem == "lib" || stem == "mod" { path.with_file_name("") } else { path.with_extension("") };
    let declared = text.split("#[cfg(test)]\nmod ").skip(1).filter_map(|rest| rest.split_once(';'));
    declared.map(|(name, _)| inside.join(name).with_extension("rs")).collect()
}

/// Returns the text of a file without its comments and its tests.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let text = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.fold(String::new(), |text, line| text + line + "\n")
}

fn has_word(code: &str, word: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    code.match_indices(word).any(|(at, _)| !code[..at].ends_with(part) && !code[at + word.len()..].starts_with(part))
}

/// A setting stands in its field, in its row, and in the code of the connection that obeys it. A further place would be
/// one more that each new setting has to be written into. The socket host, which may not know the rows, names those in
/// which Linux differs from the default; `sim/tests/socket_settings.rs` compares them.
#[test]
fn a_switch_stands_in_its_field_its_row_and_the_code_that_obeys_it() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for entry in fs::read_dir(crates).unwrap() {
        let path = entry.unwrap().path().join("src");
        if path.is_dir() {
            sources(&path, &mut files);
        }
    }
    let tests: Vec<PathBuf> = files.iter().flat_map(|path| test_modules(path)).collect();
    files.retain(|path| !tests.contains(path));
    let codes: BTreeMap<String, String> = files
        .iter()
        .map(|path| (path.strip_prefix(crates).unwrap().to_str().unwrap().replace('\\', "/"), code(path)))
        .collect();
    assert!(codes.len() > 100, "the sources were not found");
    for switch in SWITCHES {
        let places = codes.iter().filter(|(_, code)| has_word(code, switch)).map(|(path, _)| path.as_str());
        let places: Vec<&str> = places.filter(|path| *path != "socket/src/linux.rs").collect();
        let (obeys, declared): (Vec<&str>, Vec<&str>) = places.iter().partition(|path| path.starts_with("tcp/src/"));
        let [row, field] = declared[..] else { panic!("{switch} is declared in {declared:?}") };
        assert!(
            row.starts_with("scenario/src/schema/tcp/") && field == "settings/src/config.rs",
            "{switch}: {declared:?}"
        );
        assert!(!obeys.is_empty(), "{switch} is obeyed nowhere");
    }
}
