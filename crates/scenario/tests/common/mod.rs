//! What the tests share.

#![allow(clippy::unwrap_used, clippy::panic, dead_code, missing_docs)]

use narrows_scenario::{Catalogue, CatalogueKind, CatalogueParam, CatalogueRow, Ns2Agent, Scenario, parse};

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
            CatalogueRow { needs_ecn: true, ..row("dctcp", vec![]) },
            row("bbr", vec![]),
            CatalogueRow { ns2: Some(Ns2Agent::TcpLinux), ..row("htcp", vec![profile(&["paper", "linux"])]) },
            CatalogueRow {
                ns2: Some(Ns2Agent::TcpLinux),
                ..row("westwood", vec![profile(&["linux", "ns2", "paper"])])
            },
            CatalogueRow { ns2: Some(Ns2Agent::Own), ..row("vegas", vec![profile(&["paper", "linux"])]) },
        ],
        queues: vec![row("droptail", vec![]), row("red", vec![])],
        schemes: vec![row("acns", vec![])],
        phys: Vec::new(),
    }
}

/// Reads a text that must be right.
pub fn good(text: &str) -> Scenario {
    good_with(text, &[])
}

/// Reads a text that must be right with these overrides.
pub fn good_with(text: &str, overrides: &[(&str, &str)]) -> Scenario {
    match parse(text, "test.toml", &pairs(overrides), &catalogue()) {
        Ok(scenario) => scenario,
        Err(problems) => panic!("{problems}"),
    }
}

/// The problems of a text that must be wrong, one per line.
pub fn bad(text: &str) -> String {
    bad_with(text, &[])
}

/// The problems of a text and overrides that must be wrong, one per line.
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
