//! Which crate may use which: the table of ARCHITECTURE.md, as rows.

use crate::manifest::Crate;

/// A crate, its rank, the workspace crates that it may use, and the external crates that it may use besides
/// [`EVERYWHERE`]. Ranks only go down, so there are no cycles.
const TABLE: &[Row] = &[
    Row { name: "units", rank: 0, ours: &[], outside: &[] },
    Row { name: "rng", rank: 0, ours: &[], outside: &[] },
    Row { name: "settings", rank: 1, ours: &["units"], outside: &[] },
    Row { name: "wire", rank: 1, ours: &["units"], outside: &[] },
    Row { name: "cc", rank: 1, ours: &["units", "rng"], outside: &[] },
    Row { name: "samples", rank: 1, ours: &["units"], outside: &[] },
    Row { name: "timeline", rank: 1, ours: &["units"], outside: &["pest", "pest_derive"] },
    Row {
        name: "scenario",
        rank: 4,
        ours: &["settings", "timeline", "units"],
        outside: &["serde", "serde_json", "toml", "toml_writer"],
    },
    Row { name: "tcp", rank: 2, ours: &["cc", "settings", "wire", "units"], outside: &["prefetch-index", "siphasher"] },
    Row { name: "queue", rank: 2, ours: &["settings", "wire", "units", "rng"], outside: &[] },
    Row { name: "wifi", rank: 2, ours: &["wire", "units", "rng"], outside: &[] },
    Row { name: "scheme", rank: 3, ours: &["tcp", "queue", "cc", "settings", "wire", "units", "rng"], outside: &[] },
    Row { name: "socket", rank: 3, ours: &["tcp", "cc", "settings", "wire", "units"], outside: &[] },
    Row { name: "packetdrill", rank: 4, ours: &["socket", "wire", "units"], outside: &["pest", "pest_derive"] },
    Row {
        name: "fabric",
        rank: 5,
        ours: &["units", "rng", "wire", "cc", "samples", "timeline", "scenario", "queue", "wifi", "scheme"],
        outside: &["pcap-file"],
    },
    Row {
        name: "sim",
        rank: 6,
        ours: &[
            "units", "rng", "settings", "wire", "cc", "samples", "timeline", "scenario", "tcp", "queue", "wifi",
            "scheme", "fabric",
        ],
        outside: &["pcap-file", "prefetch-index", "sha2"],
    },
    Row {
        name: "live",
        rank: 6,
        ours: &[
            "units",
            "rng",
            "settings",
            "wire",
            "cc",
            "samples",
            "timeline",
            "scenario",
            "queue",
            "scheme",
            "packetdrill",
            "fabric",
        ],
        outside: &[
            "libbpf-rs",
            "libbpf-sys",
            "libc",
            "netlink-packet-core",
            "netlink-packet-route",
            "netlink-sys",
            "nix",
        ],
    },
    Row {
        name: "py",
        rank: 7,
        ours: &["sim", "live", "fabric", "packetdrill", "cc", "samples", "scenario", "units"],
        outside: &["libc", "pyo3"],
    },
    Row {
        name: "web",
        rank: 7,
        ours: &["sim", "fabric", "cc", "queue", "wifi", "wire", "samples", "scenario", "units"],
        outside: &["js-sys", "toml_edit", "wasm-bindgen"],
    },
];

/// External crates that every crate may use: portable mathematics and error types.
const EVERYWHERE: &[&str] = &["libm", "thiserror"];

/// External crates that every crate's tests may use: property tests and counting of allocations.
const TESTS: &[&str] = &["proptest", "dhat"];

#[derive(Clone, Copy, Debug)]
struct Row {
    name: &'static str,
    rank: u8,
    ours: &'static [&'static str],
    outside: &'static [&'static str],
}

fn row(name: &str) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.name == name)
}

/// Returns every edge that the table does not allow.
///
/// A test may use any crate of a lower rank: tests create no cycles that users of a crate would see.
pub fn problems(crates: &[Crate]) -> Vec<String> {
    let mut found = Vec::new();
    for item in crates {
        let Some(from) = row(&item.name) else {
            found.push(format!("crates/{}: has no row in xtask/src/edges.rs and ARCHITECTURE.md", item.name));
            continue;
        };
        for dependency in &item.dependencies {
            let name = dependency.name.as_str();
            let lower = row(name).is_some_and(|to| to.rank < from.rank);
            let allowed = match (dependency.ours, dependency.dev) {
                (true, false) => from.ours.contains(&name),
                (true, true) => from.ours.contains(&name) || lower,
                (false, false) => from.outside.contains(&name) || EVERYWHERE.contains(&name),
                (false, true) => from.outside.contains(&name) || EVERYWHERE.contains(&name) || TESTS.contains(&name),
            };
            if !allowed {
                let kind = if dependency.dev { "its tests may use" } else { "it may use" };
                let list = if dependency.ours { from.ours.join(" ") } else { outside(from, dependency.dev) };
                found.push(format!(
                    "crates/{}/Cargo.toml: `{}` (rank {}) must not use `{name}`; {kind}: {}",
                    item.name,
                    item.name,
                    from.rank,
                    if list.is_empty() { "nothing" } else { &list },
                ));
            }
        }
    }
    found
}

fn outside(row: &Row, dev: bool) -> String {
    let tests = if dev { TESTS } else { &[] };
    [row.outside, EVERYWHERE, tests].concat().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::parse;
    use std::path::Path;

    fn check(manifest: &str) -> Vec<String> {
        problems(&[parse(manifest, Path::new("x")).unwrap()])
    }

    #[test]
    fn the_table_goes_down_only() {
        for from in TABLE {
            for name in from.ours {
                let to = row(name).unwrap();
                assert!(to.rank < from.rank, "{} -> {name}", from.name);
            }
        }
    }

    #[test]
    fn a_forbidden_edge_is_caught() {
        let found = check("[package]\nname = \"narrows-tcp\"\n[dependencies]\nnarrows-scheme.workspace = true");
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("`tcp` (rank 2) must not use `scheme`"), "{}", found[0]);
        assert!(found[0].contains("it may use: cc settings wire units"), "{}", found[0]);
    }

    #[test]
    fn an_edge_within_a_rank_is_caught() {
        let found = check("[package]\nname = \"narrows-wire\"\n[dependencies]\nnarrows-cc.workspace = true");
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn serde_outside_scenario_is_caught() {
        let serde = "[dependencies]\nserde = { version = \"1\", features = [\"derive\"] }";
        assert_eq!(check(&format!("[package]\nname = \"narrows-samples\"\n{serde}")).len(), 1);
        assert_eq!(check(&format!("[package]\nname = \"narrows-scenario\"\n{serde}")), Vec::<String>::new());
    }

    #[test]
    fn tests_may_look_down_but_not_up() {
        let dev = |name: &str| check(&format!("[package]\nname = \"narrows-tcp\"\n[dev-dependencies]\n{name} = \"1\""));
        assert_eq!(dev("narrows-rng"), Vec::<String>::new());
        assert_eq!(dev("proptest"), Vec::<String>::new());
        assert_eq!(dev("narrows-sim").len(), 1);
    }

    #[test]
    fn a_crate_without_a_row_is_caught() {
        assert_eq!(check("[package]\nname = \"narrows-utils\"").len(), 1);
    }
}
