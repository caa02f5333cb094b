//! A crate's name and dependencies, read from its `Cargo.toml`.

use std::path::{Path, PathBuf};

/// A crate of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crate {
    /// Name without the `narrows-` prefix, as in ARCHITECTURE.md.
    pub name: String,
    /// Its directory.
    pub directory: PathBuf,
    /// Names of everything it depends on, of all kinds and targets.
    pub dependencies: Vec<Dependency>,
}

/// One dependency of a crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// Package name; crates of this workspace without the `narrows-` prefix.
    pub name: String,
    /// Whether it is a crate of this workspace.
    pub ours: bool,
    /// Whether only tests, examples and benches use it.
    pub dev: bool,
}

/// Reads the manifests of `crates/*`, in order of name.
pub fn read_all(root: &Path) -> Result<Vec<Crate>, String> {
    let directory = root.join("crates");
    let entries = std::fs::read_dir(&directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    let mut paths: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.join("Cargo.toml").is_file()).collect();
    paths.sort();
    paths.into_iter().map(|path| read(&path)).collect()
}

fn read(directory: &Path) -> Result<Crate, String> {
    let path = directory.join("Cargo.toml");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    parse(&text, directory).map_err(|e| format!("{}: {e}", path.display()))
}

/// Reads one manifest.
pub fn parse(text: &str, directory: &Path) -> Result<Crate, String> {
    let manifest: toml::Table = text.parse().map_err(|e: toml::de::Error| e.to_string())?;
    let name = manifest
        .get("package")
        .and_then(|package| package.get("name"))
        .and_then(toml::Value::as_str)
        .ok_or("[package] has no name")?;
    let mut dependencies = Vec::new();
    collect(&manifest, &mut dependencies);
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    for target in targets.into_iter().flat_map(toml::Table::values).filter_map(toml::Value::as_table) {
        collect(target, &mut dependencies);
    }
    Ok(Crate { name: short(name).0, directory: directory.to_path_buf(), dependencies })
}

/// Adds the dependencies of a manifest's top level or of one `[target.'...']`.
fn collect(table: &toml::Table, into: &mut Vec<Dependency>) {
    for (section, dev) in [("dependencies", false), ("build-dependencies", false), ("dev-dependencies", true)] {
        let Some(rows) = table.get(section).and_then(toml::Value::as_table) else { continue };
        for (key, value) in rows {
            // `alias = { package = "real-name" }` renames a dependency; the edge is to the real one.
            let package = value.get("package").and_then(toml::Value::as_str).unwrap_or(key);
            let (name, ours) = short(package);
            into.push(Dependency { name, ours, dev });
        }
    }
}

fn short(package: &str) -> (String, bool) {
    match package.strip_prefix("narrows-") {
        Some(rest) => (rest.to_owned(), true),
        None => (package.to_owned(), false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_of_every_kind_and_target_are_found() {
        let text = r#"
            [package]
            name = "narrows-queue"
            [dependencies]
            narrows-wire = { workspace = true }
            alias = { package = "narrows-sim", path = "../sim" }
            libm = "0.2"
            [dev-dependencies]
            proptest = "1"
            [build-dependencies]
            cc = "1"
            [target.'cfg(unix)'.dependencies]
            narrows-rng.workspace = true
        "#;
        let parsed = parse(text, Path::new("queue")).unwrap();
        let names: Vec<_> = parsed.dependencies.iter().map(|d| (d.name.as_str(), d.ours, d.dev)).collect();
        assert_eq!(parsed.name, "queue");
        assert_eq!(
            names,
            [
                ("wire", true, false),
                ("sim", true, false),
                ("libm", false, false),
                ("cc", false, false),
                ("proptest", false, true),
                ("rng", true, false),
            ]
        );
    }

    #[test]
    fn a_manifest_without_a_name_is_refused() {
        assert!(parse("[dependencies]", Path::new("x")).is_err());
    }
}
