//! The reference's vectors: each test is named after the rule that it proves.
#![allow(clippy::unwrap_used, clippy::float_cmp)]

#[path = "../common/mod.rs"]
mod common;

mod agile_sd;
mod bbr;
mod bbr3;
mod bbr3_losses;
mod bic;
mod c2tcp;
mod cdg;
mod compound;
mod copa;
mod cubic;
mod cubic_ns2;
mod dctcp;
mod growth;
mod highspeed;
mod htcp;
mod hybla;
mod hystart;
mod illinois;
mod ledbat;
mod lp;
mod needs;
mod nv;
mod params;
mod pipe;
mod prague;
mod recoveries;
mod reno;
mod reno_ns2;
mod resume;
mod rounds;
mod scalable;
mod start;
mod swift;
mod vegas;
mod veno;
mod vivace;
mod westwood;
mod windowed;
mod yeah;

use std::fs;
use std::path::Path;

/// The text of every Rust file below a directory of this crate.
fn sources(dir: &str) -> String {
    let mut text = String::new();
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(dir)];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            text.push_str(&fs::read_to_string(path).unwrap());
        }
    }
    text
}

/// Every test that a module's page names under "Vectors" exists, and every algorithm's page has all its headings.
#[test]
fn pages_name_tests_that_exist() {
    const PARTS: [&str; 9] = [
        include_str!("../../src/algorithms/compound/linux.rs"),
        include_str!("../../src/algorithms/cubic/linux.rs"),
        include_str!("../../src/algorithms/cubic/ns2.rs"),
        include_str!("../../src/hystart.rs"),
        include_str!("../../src/algorithms/reno/ns2.rs"),
        include_str!("../../src/resume.rs"),
        include_str!("../../src/search.rs"),
        include_str!("../../src/start.rs"),
        include_str!("../../src/algorithms/vegas/ns2.rs"),
    ];
    // A recovery of the same name belongs to the connection, and so do its tests.
    let tests = sources("tests/vectors") + &sources("src") + &sources("../tcp/src");
    let rows = narrows_cc::registry().iter().map(|row| row.source);
    for page in rows.chain(PARTS) {
        let page: String =
            page.lines().take_while(|line| line.starts_with("//!")).map(|line| format!("{line}\n")).collect();
        for heading in ["Idea", "Sources", "State", "Differences", "Limits", "Vectors"] {
            assert!(page.contains(&format!("//! # {heading}\n")), "no {heading} in: {page}");
        }
        let vectors = page.split("//! # Vectors\n").nth(1).unwrap();
        let names: Vec<&str> = vectors.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "{page}");
        for name in names {
            assert!(tests.contains(&format!("fn {name}()")), "{name} is no test");
        }
    }
}
