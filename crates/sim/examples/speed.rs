//! Runs a scenario and prints what it cost: `cargo run --release -p narrows-sim --example speed -- FILE [SEED]`.
//!
//! Prints one JSON object: `delivered_packets` (data packets that reached their receivers), `cpu_s` (user and system
//! time of this process), `packets_per_cpu_s`, `events`, `peak_rss_bytes`, `digest` and `version`. Linux only: the
//! figures come from `/proc/self`.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

fn main() -> ExitCode {
    match measure() {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("speed: {message}");
            ExitCode::FAILURE
        }
    }
}

fn measure() -> Result<String, String> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: speed FILE [SEED]")?;
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
    let scenario = narrows_scenario::parse(&text, &path, &[], &narrows_sim::catalogue()).map_err(|e| e.to_string())?;
    let seed = match arguments.next() {
        Some(seed) => seed.parse().map_err(|_| format!("{seed:?} is not a seed: allowed are whole numbers"))?,
        None => scenario.seed,
    };
    let options = narrows_sim::Options { seed, ..narrows_sim::Options::default() };
    let before = cpu_seconds()?;
    let outcome = narrows_sim::run(&scenario, &options).map_err(|e| e.to_string())?;
    let cpu = cpu_seconds()? - before;
    let delivered: u64 = outcome.samples.flow_totals.arrived_packets.iter().sum();
    Ok(format!(
        "{{\"delivered_packets\": {delivered}, \"cpu_s\": {cpu:.3}, \"packets_per_cpu_s\": {:.0}, \"events\": {}, \
         \"peak_rss_bytes\": {}, \"digest\": \"{}\", \"version\": \"{}\"}}",
        delivered as f64 / cpu.max(1e-9),
        outcome.events,
        peak_rss_bytes()?,
        outcome.digest,
        env!("CARGO_PKG_VERSION"),
    ))
}

/// User and system time of this process in seconds: fields 14 and 15 of `/proc/self/stat`, in hundredths.
fn cpu_seconds() -> Result<f64, String> {
    let stat = std::fs::read_to_string("/proc/self/stat").map_err(|e| e.to_string())?;
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = after_name.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum();
    Ok(ticks as f64 / 100.0)
}

fn peak_rss_bytes() -> Result<u64, String> {
    let status = std::fs::read_to_string("/proc/self/status").map_err(|e| e.to_string())?;
    let line = status.lines().find(|l| l.starts_with("VmHWM")).ok_or("no VmHWM")?;
    let kib: u64 = line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).ok_or("no VmHWM")?;
    Ok(kib * 1024)
}
