//! Replays the corpus of the fuzz target `packetdrill` (`/fuzz`).

#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../../../fuzz/src/packetdrill.rs"]
mod packetdrill;

use std::path::Path;

#[test]
fn each_input_is_accepted_or_refused_as_its_name_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/packetdrill");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        packetdrill::script(&bytes);
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let problem = packetdrill::problem(&bytes);
        match name.split('-').next() {
            Some("ok") => assert_eq!(problem, None, "{name}"),
            Some("bad") => assert!(problem.is_some(), "{name}"),
            _ => {}
        }
        count += 1;
    }
    assert!(count >= 11, "{count} inputs");
}
