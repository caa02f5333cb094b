//! Runs a scenario and prints its cost: `cargo run --release -p narrows-sim --example speed -- FILE [SEED] [--digest]
//! [--threads=N|auto]`.
//!
//! Prints one JSON object: `delivered_packets` (data packets' worth of payload that reached the application, in order
//! and once), `arrived_packets` (what reached the receivers, duplicates included), `sent_packets` (retransmissions
//! included), `cpu_s` (user and system time of the run), `packets_per_cpu_s` (delivered ones), `events`,
//! `peak_rss_bytes`, `version`, and on request `digest`, whose computation is not in `cpu_s`. Linux only: the figures
//! come from `/proc/self`.

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
    let (switches, arguments): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|a| a.starts_with("--"));
    let mut arguments = arguments.into_iter();
    let path = arguments.next().ok_or("usage: speed FILE [SEED] [--digest] [--threads=N|auto]")?;
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
    let scenario = narrows_scenario::parse(&text, &path, &[], &narrows_sim::catalogue()).map_err(|e| e.to_string())?;
    let seed = match arguments.next() {
        Some(seed) => seed.parse().map_err(|_| format!("{seed:?} is not a seed: allowed are whole numbers"))?,
        None => scenario.seed,
    };
    let threads = match switches.iter().find_map(|s| s.strip_prefix("--threads=")) {
        None => narrows_sim::Threads::One,
        Some("auto") => narrows_sim::Threads::WherePays,
        Some(n) => narrows_sim::Threads::Exactly(n.parse().map_err(|_| format!("{n:?} is not a number of threads"))?),
    };
    let options = narrows_sim::Options { seed, threads, ..narrows_sim::Options::default() };
    let before = cpu_seconds()?;
    let outcome = narrows_sim::run(&scenario, &options).map_err(|e| e.to_string())?;
    let cpu = cpu_seconds()? - before;
    let flows = &outcome.samples.flow_totals;
    let sent: u64 = flows.sent_packets.iter().sum();
    let arrived: u64 = flows.arrived_packets.iter().sum();
    let delivered: u64 = (0..flows.sent_packets.len())
        .map(|f| in_packets(flows.delivered_bytes[f], flows.sent_bytes[f], flows.sent_packets[f]))
        .sum();
    let digest = match switches.iter().any(|s| s == "--digest") {
        false => String::new(),
        true => format!(" \"digest\": \"{}\",", outcome.digest().map_err(|e| e.to_string())?),
    };
    Ok(format!(
        "{{\"delivered_packets\": {delivered}, \"arrived_packets\": {arrived}, \"sent_packets\": {sent}, \"cpu_s\": {cpu:.3}, \"packets_per_cpu_s\": {:.0}, \"events\": {}, \
         \"peak_rss_bytes\": {},{digest} \"version\": \"{}\"}}",
        delivered as f64 / cpu.max(1e-9),
        outcome.events,
        peak_rss_bytes()?,
        env!("CARGO_PKG_VERSION"),
    ))
}

/// Payload in packets of a flow's mean size. All packets of a flow have this size, except perhaps the last.
fn in_packets(payload: u64, sent_bytes: u64, sent_packets: u64) -> u64 {
    let packets = u128::from(payload) * u128::from(sent_packets) / u128::from(sent_bytes.max(1));
    u64::try_from(packets).unwrap_or(u64::MAX)
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
