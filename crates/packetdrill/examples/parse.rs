//! Parses packetdrill scripts and reports errors: `cargo run -p narrows-packetdrill --example parse -- FILE|DIR..`

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use narrows_packetdrill::options::Options;
use narrows_packetdrill::syntax::parse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn main() {
    let mut files = Vec::new();
    for argument in std::env::args().skip(1) {
        collect(Path::new(&argument), &mut files);
    }
    let definitions = BTreeMap::new();
    let (mut good, mut events) = (0, 0);
    for file in &files {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file).unwrap_or_default();
        match parse(&name, &text, &definitions)
            .and_then(|script| Options::resolve(&name, &script.options, &[]).map(|_| script))
        {
            Ok(script) => {
                good += 1;
                events += script.events.len();
            }
            Err(error) => println!("{error}"),
        }
    }
    println!("{good} of {} scripts, {events} events", files.len());
}

/// Adds a file, or the `.pkt` files below a directory in order.
fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if !path.is_dir() {
        files.push(path.to_owned());
        return;
    }
    let Ok(entries) = std::fs::read_dir(path) else {
        return;
    };
    let mut inside: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    inside.sort();
    for entry in inside {
        if entry.is_dir() || entry.extension().is_some_and(|extension| extension == "pkt") {
            collect(&entry, files);
        }
    }
}
