//! The reference's vectors: each test is named by the rule it proves.
#![allow(clippy::unwrap_used, clippy::float_cmp)]

#[path = "../common/mod.rs"]
mod common;

mod cubic;
mod growth;
mod hystart;
mod params;
mod reno;

/// Every test that a module's page names under "Vectors" exists, and every algorithm's page has all its headings.
#[test]
fn pages_name_tests_that_exist() {
    const PAGES: [&str; 5] = [
        include_str!("../../src/none.rs"),
        include_str!("../../src/reno.rs"),
        include_str!("../../src/cubic.rs"),
        include_str!("../../src/cubic/linux.rs"),
        include_str!("../../src/hystart.rs"),
    ];
    let tests = [
        include_str!("cubic.rs"),
        include_str!("growth.rs"),
        include_str!("hystart.rs"),
        include_str!("reno.rs"),
        include_str!("../../src/cubic/linux.rs"),
    ]
    .concat();
    for page in PAGES {
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
