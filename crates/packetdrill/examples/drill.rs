//! Reads packetdrill scripts and makes them ready to run:
//! `cargo run -p narrows-packetdrill --example drill -- [--NAME=VALUE ..] [-D WORD=TEXT ..] FILE|DIR..`
//!
//! Prints an error for each script that cannot be read, and the number of those that can.

#![allow(clippy::print_stdout)]

use narrows_packetdrill::options::Options;
use narrows_packetdrill::run::Plan;
use narrows_packetdrill::syntax::{ScriptError, ScriptOption, parse};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn main() {
    let mut files = Vec::new();
    let mut overrides: Vec<ScriptOption> = Vec::new();
    let mut definitions = BTreeMap::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "-D" {
            if let Some((word, text)) = arguments.next().as_deref().and_then(|text| text.split_once('=')) {
                definitions.insert(word.to_owned(), text.to_owned());
            }
        } else if let Some(option) = argument.strip_prefix("--") {
            let (name, value) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
            overrides.push(ScriptOption { name: name.to_owned(), value: value.map(str::to_owned), line: 0 });
        } else {
            collect(Path::new(&argument), &mut files);
        }
    }
    let mut good = 0;
    for file in &files {
        match ready(file, &overrides, &definitions) {
            Ok(_) => good += 1,
            Err(error) => println!("{error}"),
        }
    }
    println!("{good} of {} scripts", files.len());
}

fn ready(file: &Path, overrides: &[ScriptOption], definitions: &BTreeMap<String, String>) -> Result<Plan, ScriptError> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let script = parse(&name, &text, definitions)?;
    let options = Options::resolve(&name, &script.options, overrides)?;
    Plan::new(&name, &script, &options)
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
