//! Helpers that the tests share.

#![allow(clippy::unwrap_used, clippy::panic, dead_code, missing_docs)]

use narrows_scenario::{
    Catalogue, CatalogueKind, CatalogueMcs, CatalogueParam, CataloguePhy, CatalogueRow, CatalogueVariable, Files,
    Ns2Agent, Scenario, parse, parse_with,
};
use narrows_settings::queue::Discipline;
use narrows_units::{Bytes, Duration, Rate};

/// A catalogue with parameters of every kind.
pub fn catalogue() -> Catalogue {
    let row = |name: &str, params: Vec<CatalogueParam>| CatalogueRow {
        name: name.into(),
        title: name.to_uppercase(),
        params,
        ..CatalogueRow::default()
    };
    let param =
        |name: &str, kind: CatalogueKind| CatalogueParam { name: name.into(), doc: "A parameter.".into(), kind };
    let number = |default: f64, min: f64, max: f64| CatalogueKind::Number { unit: "s".into(), default, min, max };
    let profile = |words: &[&str]| {
        let allowed: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        param("profile", CatalogueKind::Choice { default: allowed[0].clone(), allowed })
    };
    Catalogue {
        cc: vec![
            row(
                "cubic",
                vec![
                    param("beta", number(0.7, 0.1, 0.9)),
                    param("fast_convergence", CatalogueKind::Switch { default: true }),
                    profile(&["rfc9438", "linux"]),
                ],
            ),
            CatalogueRow { ns2: Some(Ns2Agent::Own), ..row("reno", vec![]) },
            row("none", vec![]),
            CatalogueRow { recovery: Some("tahoe".into()), ns2: Some(Ns2Agent::Own), ..row("tahoe", vec![]) },
            CatalogueRow { recovery: Some("fack".into()), ns2: Some(Ns2Agent::Own), ..row("fack", vec![]) },
            CatalogueRow { needs_ecn: true, ..row("dctcp", vec![profile(&["rfc8257", "linux"])]) },
            CatalogueRow { l4s: true, ..row("prague", vec![]) },
            CatalogueRow {
                variables: vec![
                    variable("phase", "", &["Startup", "Drain", "ProbeBW"]),
                    variable("max_bw_bps", "bit/s", &[]),
                ],
                ..row("bbr", vec![])
            },
            CatalogueRow { ns2: Some(Ns2Agent::TcpLinux), ..row("htcp", vec![profile(&["paper", "linux"])]) },
            CatalogueRow {
                ns2: Some(Ns2Agent::TcpLinux),
                ..row("westwood", vec![profile(&["linux", "ns2", "paper"])])
            },
            CatalogueRow { ns2: Some(Ns2Agent::Own), ..row("vegas", vec![profile(&["paper", "linux"])]) },
        ],
        queues: queues(),
        schemes: narrows_scheme::registry().iter().map(|row| row.about).collect(),
        phys: phys(),
        start_variables: vec![variable("start_phase", "", &["standard", "conservative"])],
        resume_variables: Vec::new(),
    }
}

fn variable(name: &str, unit: &str, words: &[&str]) -> CatalogueVariable {
    let words = words.iter().map(|&word| word.to_owned()).collect();
    CatalogueVariable { name: name.into(), unit: unit.into(), doc: "A variable.".into(), words }
}

/// The disciplines of the engine.
pub fn queues() -> Vec<&'static Discipline> {
    narrows_queue::registry::registry().iter().map(|row| &row.about).collect()
}

/// PHYs of each sort: with rates, with a short preamble, and with indices of modulation and coding.
fn phys() -> Vec<CataloguePhy> {
    let kbps = |list: &[u64]| list.iter().map(|n| Rate::kbps(*n)).collect::<Vec<_>>();
    let phy = |name: &str, (slot, sifs): (u64, u64), (cw_min, rates): (u32, &[u64]), basic: &[u64]| CataloguePhy {
        name: name.into(),
        title: name.to_uppercase(),
        rates: kbps(rates),
        basic_rates: kbps(basic),
        basic_rate: kbps(basic)[basic.len() - 1],
        slot: Duration::from_micros(slot),
        sifs: Duration::from_micros(sifs),
        cw_min,
        cw_max: 1023,
        ..CataloguePhy::default()
    };
    let (old, ofdm) = ((20, 10), (9, 16));
    let twenty_four: &[u64] = &[6_000, 12_000, 24_000];
    vec![
        phy("802.11", old, (31, &[1_000, 2_000]), &[1_000, 2_000]),
        CataloguePhy {
            short_preamble: true,
            ..phy("802.11b", old, (31, &[1_000, 2_000, 5_500, 11_000]), &[1_000, 2_000])
        },
        phy("802.11g", (9, 10), (15, &[6_000, 9_000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000]), twenty_four),
        CataloguePhy {
            max_mcs: Some(7),
            mcs: mcs_rates(7, &[20, 40], 4),
            widths_mhz: vec![20, 40],
            max_streams: 4,
            max_ampdu: Some(Bytes::new(65_535)),
            ..phy("802.11n", ofdm, (15, &[]), twenty_four)
        },
        CataloguePhy {
            max_mcs: Some(9),
            mcs: mcs_rates(9, &[20, 40, 80, 160], 8),
            widths_mhz: vec![20, 40, 80, 160],
            max_streams: 8,
            max_ampdu: Some(Bytes::new(1_048_575)),
            ..phy("802.11ac", ofdm, (15, &[]), twenty_four)
        },
    ]
}

/// Rates from data subcarriers, bits and coding, with symbols of 4 us or 3.6 us. MCS 9 at 20 MHz exists only if the
/// bits per symbol are whole.
fn mcs_rates(max: u32, widths: &[u32], streams: u32) -> Vec<CatalogueMcs> {
    let coded =
        [(1, 1, 2), (2, 1, 2), (2, 3, 4), (4, 1, 2), (4, 3, 4), (6, 2, 3), (6, 3, 4), (6, 5, 6), (8, 3, 4), (8, 5, 6)];
    let mut rows = Vec::new();
    for (mcs, (bits, num, den)) in (0..=max).zip(coded) {
        for (width, carriers) in
            [(20, 52), (40, 108), (80, 234), (160, 468)].iter().filter(|row| widths.contains(&row.0))
        {
            for streams in (1..=streams).filter(|n| carriers * bits * n * num % den == 0) {
                for short_guard in [false, true] {
                    let per_symbol = carriers * bits * streams * num / den;
                    let symbol = if short_guard { 3600 } else { 4000 };
                    let rate = Rate::bps(u64::from(per_symbol) * 1_000_000_000 / symbol);
                    rows.push(CatalogueMcs { mcs, width_mhz: *width, streams, short_guard, rate });
                }
            }
        }
    }
    rows
}

/// The traces beside the ready-to-run files.
pub struct ReadyToRun;

impl Files for ReadyToRun {
    fn open(&self, name: &str) -> Result<(String, Box<dyn std::io::Read>), String> {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name);
        let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
        Ok((name.to_owned(), Box::new(file)))
    }
}

/// Parses a text that must be valid.
pub fn good(text: &str) -> Scenario {
    good_with(text, &[])
}

/// Parses a text that must be valid with these overrides.
pub fn good_with(text: &str, overrides: &[(&str, &str)]) -> Scenario {
    match parse_with(text, "test.toml", &pairs(overrides), &catalogue(), &ReadyToRun) {
        Ok(scenario) => scenario,
        Err(problems) => panic!("{problems}"),
    }
}

/// Returns the problems of a text that must be invalid, one per line.
pub fn bad(text: &str) -> String {
    bad_with(text, &[])
}

/// Returns the problems of a text and overrides that must be invalid, one per line.
pub fn bad_with(text: &str, overrides: &[(&str, &str)]) -> String {
    match parse(text, "test.toml", &pairs(overrides), &catalogue()) {
        Ok(scenario) => panic!("this was accepted:\n{text}\nas {scenario:?}"),
        Err(problems) => problems.to_string(),
    }
}

pub fn pairs(overrides: &[(&str, &str)]) -> Vec<(String, String)> {
    overrides.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect()
}

/// The files in `scenarios/`: name and text.
pub fn ready_to_run() -> Vec<(String, String)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files: Vec<(String, String)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(path).unwrap()))
        .collect();
    files.sort();
    files
}

/// A dumbbell and a flow, the smallest scenario.
pub const SMALL: &str = r#"[topology]
kind = "dumbbell"
bottleneck = { rate = "10 Mb/s", delay = "20 ms" }
access = { rate = "100 Mb/s", delay = "1 ms" }
[[flows]]
from = "s1"
to = "d1"
"#;
