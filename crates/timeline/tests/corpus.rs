//! Replays the corpus of the fuzz target `condition` (`/fuzz`).
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../../../fuzz/src/condition.rs"]
mod condition;

use std::path::Path;

#[test]
fn each_input_is_accepted_or_refused_as_its_name_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/condition");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        condition::condition(&bytes);
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let problems = condition::problems(&bytes);
        match name.split('-').next() {
            Some("ok") => assert!(problems.is_empty(), "{name}: {problems:?}"),
            Some("bad") => assert!(!problems.is_empty(), "{name} is accepted"),
            _ => {}
        }
        count += 1;
    }
    assert!(count >= 20, "{count} inputs");
}
