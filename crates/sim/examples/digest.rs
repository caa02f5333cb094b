//! Runs scenarios and prints a line for each: `cargo run --release -p narrows-sim --example digest -- FILE..`.
//!
//! A line holds the file, the digest, and the payload bytes that each flow delivered. The program needs only files, so
//! it also runs on 32-bit targets: `tests/python/test_targets.py` builds it for `wasm32-wasip1` and compares its lines
//! with the native ones.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

fn main() -> ExitCode {
    for path in std::env::args().skip(1) {
        match line(&path) {
            Ok(line) => println!("{line}"),
            Err(message) => {
                eprintln!("digest: {message}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

fn line(path: &str) -> Result<String, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
    let scenario = narrows_scenario::parse(&text, path, &[], &narrows_sim::catalogue()).map_err(|e| e.to_string())?;
    let options = narrows_sim::Options { seed: scenario.seed, ..narrows_sim::Options::default() };
    let outcome = narrows_sim::run(&scenario, &options).map_err(|e| format!("{path}: {e}"))?;
    let delivered: Vec<String> = outcome.samples.flow_totals.delivered_bytes.iter().map(u64::to_string).collect();
    Ok(format!("{path} {} {}", outcome.digest().map_err(|e| e.to_string())?, delivered.join(",")))
}
