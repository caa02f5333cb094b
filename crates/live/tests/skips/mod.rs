//! Tests that cannot run on this machine: they return early, which test runners count as passed.
//!
//! The environment variable `NARROWS_SKIPS` names a file that collects them, whatever the runner: a line per test, with
//! the test binary, the test and the reason between tabs. `.ci/test` sets it, and lists and counts its lines.

#![allow(clippy::print_stderr, missing_docs, unreachable_pub, dead_code)]

use std::fmt::Display;
use std::io::Write;

/// Prints that the running test is skipped, and why, and notes it for the test command.
pub fn skip(reason: impl Display) {
    let reason = reason.to_string().replace(['\t', '\n', '\r'], " ");
    eprintln!("skipped: {reason}");
    if let Some(file) = std::env::var_os("NARROWS_SKIPS") {
        let line = format!("{}\t{}\t{reason}\n", binary(), test());
        // One write of a short line to a file in append mode: processes that do so at once do not mix their lines.
        let noted = std::fs::OpenOptions::new().create(true).append(true).open(&file);
        if let Err(error) = noted.and_then(|mut file| file.write_all(line.as_bytes())) {
            eprintln!("{}: {error}", file.display());
        }
    }
}

/// The name of the test binary, without the hash that cargo adds.
fn binary() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    name.rsplit_once('-').map_or(name.clone(), |(name, _)| name.to_owned())
}

/// The name of the running test: that of its thread. A thread of the test's own, and a test alone in its process, have
/// none of it; then it is the first argument that is no option, as `cargo nextest` gives it, if there is one.
fn test() -> String {
    match std::thread::current().name() {
        Some(name) if name != "main" => name.to_owned(),
        _ => std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_else(|| "?".to_owned()),
    }
}

#[test]
fn the_thread_of_a_test_has_its_name() {
    // With one thread for all tests there is nothing to tell them apart.
    assert!(test().ends_with("the_thread_of_a_test_has_its_name") || test() == "?", "{}", test());
    assert!(!binary().is_empty());
}
