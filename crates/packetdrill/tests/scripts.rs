//! Runs our own scripts, `tests/packetdrill` of the repository, on the simulated host.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use narrows_packetdrill::options::Options;
use narrows_packetdrill::run::{Plan, Verdict, run};
use narrows_packetdrill::simulated::Simulated;
use narrows_packetdrill::syntax::parse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The scripts below `folder`, in order.
fn scripts(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            scripts(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "pkt") {
            found.push(path);
        }
    }
}

/// Runs a script; `None` if it matched, else why it did not.
fn failure(file: &Path) -> Option<String> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).unwrap();
    let outcome = || -> Result<Verdict, String> {
        let script = parse(&name, &text, &BTreeMap::new()).map_err(|error| error.to_string())?;
        let options = Options::resolve(&name, &script.options, &[]).map_err(|error| error.to_string())?;
        let plan = Plan::new(&name, &script, &options).map_err(|error| error.to_string())?;
        Ok(run(&plan, &mut Simulated::new(&options, Box::new(|_| None))).verdict)
    };
    match outcome() {
        Ok(Verdict::Matched) => None,
        Ok(verdict) => Some(format!("{name}: {verdict:?}")),
        Err(error) => Some(format!("{name}: {error}")),
    }
}

#[test]
fn every_script_of_the_repository_matches_in_virtual_time() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/packetdrill");
    let mut files = Vec::new();
    scripts(&folder, &mut files);
    assert!(!files.is_empty(), "no script below {}", folder.display());
    let failures: Vec<String> = files.iter().filter_map(|file| failure(file)).collect();
    assert!(failures.is_empty(), "{} of {} scripts:\n{}", failures.len(), files.len(), failures.join("\n"));
}

#[test]
fn every_script_cites_the_section_that_it_tests() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/packetdrill");
    let mut files = Vec::new();
    scripts(&folder, &mut files);
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let first = text.lines().next().unwrap_or_default();
        let rfc = file.parent().unwrap().file_name().unwrap().to_str().unwrap().replace("rfc", "RFC ");
        assert!(first.starts_with(&format!("// {rfc}, ")) && first.contains("section"), "{}: {first}", file.display());
    }
}
