//! Runs packetdrill scripts on the simulated host:
//!
//! ```text
//! cargo run -p narrows-packetdrill --example drill -- [--verbose] [--code] [--NAME=VALUE ..] [-D WORD=TEXT ..]
//!     FILE|DIR..
//! ```
//!
//! Prints a line for each script, `matched` or why it did not, then the counts. `--verbose` adds the mismatch and the
//! steps. `--code` adds the code of `%{ }%` with the values that it sees, a line each, separated by tabs: it is not
//! evaluated here, so a script counts as matched although its code may fail.

#![allow(clippy::print_stdout)]

use narrows_packetdrill::options::Options;
use narrows_packetdrill::run::{Outcome, Plan, Verdict, run};
use narrows_packetdrill::simulated::Simulated;
use narrows_packetdrill::syntax::{ScriptError, ScriptOption, parse};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Default)]
struct Arguments {
    files: Vec<PathBuf>,
    overrides: Vec<ScriptOption>,
    definitions: BTreeMap<String, String>,
    verbose: bool,
    code: bool,
}

fn main() {
    let mut given = Arguments::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--verbose" => given.verbose = true,
            "--code" => given.code = true,
            "-D" => {
                if let Some((word, text)) = arguments.next().as_deref().and_then(|text| text.split_once('=')) {
                    given.definitions.insert(word.to_owned(), text.to_owned());
                }
            }
            _ => match argument.strip_prefix("--") {
                Some(option) => {
                    let (name, value) =
                        option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
                    let (name, value) = (name.to_owned(), value.map(str::to_owned));
                    given.overrides.push(ScriptOption { name, value, line: 0 });
                }
                None => collect(Path::new(&argument), &mut given.files),
            },
        }
    }
    let mut matched = 0;
    for file in &given.files {
        let name = file.display();
        match drill(file, &given) {
            Ok(outcome) => {
                matched += usize::from(outcome.verdict == Verdict::Matched);
                show(&name.to_string(), &outcome, &given);
            }
            Err(error) => println!("{name}: unreadable: {error}"),
        }
    }
    println!("{matched} of {} scripts matched", given.files.len());
}

fn drill(file: &Path, given: &Arguments) -> Result<Outcome, ScriptError> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let script = parse(&name, &text, &given.definitions)?;
    let options = Options::resolve(&name, &script.options, &given.overrides)?;
    let plan = Plan::new(&name, &script, &options)?;
    let directory = file.parent().unwrap_or(Path::new("."));
    let mut host = Simulated::new(&options, Box::new(|helper| std::fs::read_to_string(directory.join(helper)).ok()));
    Ok(run(&plan, &mut host))
}

fn show(name: &str, outcome: &Outcome, given: &Arguments) {
    match &outcome.verdict {
        Verdict::Matched => println!("{name}: matched"),
        Verdict::Differed(mismatch) => {
            let fields: Vec<String> = mismatch
                .differences
                .iter()
                .map(|d| format!("{}: expected {}, found {}", d.field, d.expected, d.actual))
                .collect();
            println!("{name}:{}: {}: {}", mismatch.line, mismatch.what, fields.join("; "));
        }
        Verdict::Unsupported { line, reason } => println!("{name}:{line}: unsupported: {reason}"),
        Verdict::Stopped { line } => println!("{name}:{line}: stopped"),
        Verdict::Failed { line, reason } => println!("{name}:{line}: failed: {reason}"),
    }
    if given.verbose {
        for step in &outcome.steps {
            println!("    {:.6} line {}: {}", step.at.as_secs_f64(), step.line, step.text);
        }
        if let Verdict::Differed(mismatch) = &outcome.verdict {
            println!("{mismatch}");
        }
    }
    if given.code {
        for code in &outcome.code {
            let values: Vec<String> =
                code.info.iter().flat_map(|info| &info.0).map(|(name, value)| format!("{name}={value}")).collect();
            let text = code.text.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', " ");
            println!("CODE\t{name}\t{}\t{}\t{text}", code.line, values.join(" "));
        }
    }
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
