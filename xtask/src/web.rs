//! The engine of the web page, built from its sources. A test says whether the built files are of the present sources.
//!
//! The files are checked in, so that building the page needs no compiler for WebAssembly. Compilers of two versions
//! give different bytes, so the test compares a hash of the sources, not the bytes.

use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Directory of the built files.
const BUILT: &str = "web/engine";

/// Holds the hash of the sources that the files were built from.
const STAMP: &str = "SOURCES";

/// The target that `rustup target add` installs.
const TARGET: &str = "wasm32-unknown-unknown";

/// What the module may use: features that browsers have had since 2022. rustc uses them by default.
const FEATURES: &[&str] = &[
    "--enable-bulk-memory",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
];

/// Crates that the engine of the page is made of.
const CRATES: &[&str] = &[
    "cc", "fabric", "queue", "rng", "samples", "scenario", "scheme", "settings", "sim", "tcp", "timeline", "units",
    "web", "wifi", "wire",
];

/// Builds the engine again; returns the name of the module, and its size.
pub fn write(root: &Path) -> Result<Vec<String>, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let target = root.join("target/web");
    let mut build = Command::new(cargo);
    build.current_dir(root).env("CARGO_TARGET_DIR", &target).args([
        "build",
        "--quiet",
        "--locked",
        "--profile",
        "web",
        "--target",
        TARGET,
        "--package",
        "narrows-web",
    ]);
    // Paths of this machine would be in messages of panics.
    build.env("RUSTFLAGS", remapped(root));
    run(build, &format!("the target is installed by: rustup target add {TARGET}"))?;
    let module = target.join(TARGET).join("web/narrows_web.wasm");
    let built = root.join(BUILT);
    let mut bind = Command::new("wasm-bindgen");
    bind.args(["--target", "web", "--remove-name-section", "--remove-producers-section", "--out-dir"]);
    bind.arg(&built).arg(&module);
    run(bind, "it is installed by: cargo install wasm-bindgen-cli")?;
    let module = built.join("narrows_web_bg.wasm");
    let mut optimise = Command::new(root.join("web/node_modules/.bin/wasm-opt"));
    optimise.arg("-O3").args(FEATURES).arg(&module).arg("-o").arg(&module);
    run(optimise, "it is installed by: npm ci --prefix web")?;
    let _ = std::fs::remove_file(built.join("narrows_web_bg.wasm.d.ts"));
    let stamp = built.join(STAMP);
    std::fs::write(&stamp, format!("{}\n", sources(root)?)).map_err(|e| format!("{}: {e}", stamp.display()))?;
    let size = std::fs::metadata(&module).map_err(|e| format!("{}: {e}", module.display()))?.len();
    Ok(vec![format!("{BUILT}/narrows_web_bg.wasm: {} kB", size / 1000)])
}

/// Flags that replace the paths of this machine by words.
fn remapped(root: &Path) -> String {
    let home =
        std::env::var("CARGO_HOME").unwrap_or_else(|_| format!("{}/.cargo", std::env::var("HOME").unwrap_or_default()));
    format!("--remap-path-prefix={}=narrows --remap-path-prefix={home}=cargo", root.display())
}

/// Runs a command; on failure the error has what it printed, or `remedy` if there is no such command.
fn run(mut command: Command, remedy: &str) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command.output().map_err(|e| format!("{name}: {e}; {remedy}"))?;
    if done.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}; {remedy}\n{}", done.status, String::from_utf8_lossy(&done.stderr)))
}

/// SHA-256 over the names and contents of all sources of the engine, without those of tests.
fn sources(root: &Path) -> Result<String, String> {
    let mut files = vec![root.join("Cargo.toml"), root.join("Cargo.lock")];
    for name in CRATES {
        let directory = root.join("crates").join(name);
        files.push(directory.join("Cargo.toml"));
        files.extend(crate::source::files(&directory.join("src"))?);
    }
    let mut hash = Sha256::new();
    for file in files {
        let name: PathBuf = file.strip_prefix(root).map_err(|e| e.to_string())?.into();
        let text = std::fs::read(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        hash.update(format!("{} {}\n", name.display(), text.len()));
        hash.update(&text);
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_of_the_page_is_of_the_present_sources() {
        let root = crate::root();
        let stamp = std::fs::read_to_string(root.join(BUILT).join(STAMP)).unwrap();
        assert_eq!(stamp.trim(), sources(&root).unwrap(), "`cargo xtask web` builds {BUILT} again");
    }

    #[test]
    fn the_crates_are_those_that_the_page_depends_on() {
        let crates = crate::manifest::read_all(&crate::root()).unwrap();
        let mut needed = vec!["web".to_owned()];
        let mut at = 0;
        while let Some(name) = needed.get(at).cloned() {
            at += 1;
            let found = crates.iter().find(|one| one.name == name).unwrap();
            for one in found.dependencies.iter().filter(|one| one.ours && !one.dev) {
                if !needed.contains(&one.name) {
                    needed.push(one.name.clone());
                }
            }
        }
        needed.sort();
        assert_eq!(needed, CRATES);
    }

    #[test]
    fn the_engine_of_the_page_names_no_place_of_the_machine_that_built_it() {
        let bytes = std::fs::read(crate::root().join(BUILT).join("narrows_web_bg.wasm")).unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let here = crate::root().display().to_string();
        for place in ["/home/", "/root/", ".cargo/", here.as_str()] {
            assert!(!text.contains(place), "the module contains {place}");
        }
    }
}
