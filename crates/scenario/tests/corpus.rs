//! The fuzz target's corpus, replayed through the target's own function.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;

#[path = "../../../fuzz/src/scenario.rs"]
mod fuzz;

/// A file's name starts with the parser's expected answer, `ok-` or `bad-`. Files that a fuzzer found (`found-`) must
/// only keep the rules.
#[test]
fn scenario_corpus_keeps_the_rules() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/scenario");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut seen = [0, 0];
    for path in paths {
        let bytes = std::fs::read(&path).unwrap();
        fuzz::scenario(&bytes);
        let name = path.file_name().unwrap().to_str().unwrap();
        let problems = fuzz::problems(&bytes);
        let accepted = problems.is_empty();
        match name.split('-').next() {
            Some("ok") => assert!(accepted, "{name} is refused: {problems:#?}"),
            Some("bad") => assert!(!accepted, "{name} is accepted"),
            Some("found") => {}
            _ => panic!("{name} starts with neither ok-, bad- nor found-"),
        }
        seen[usize::from(accepted)] += 1;
    }
    assert!(seen.iter().all(|&n| n >= 5), "{seen:?} refused and accepted files");
}
