//! `cargo xtask`: checks the rules of ARCHITECTURE.md that types and clippy cannot, and writes generated files.

mod acks;
mod bpf;
mod circles;
mod columns;
mod docs;
mod edges;
mod manifest;
mod names;
mod rfc;
mod source;
mod web;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask check | docs | bpf | acks | web\n\
    \n\
    check  holds the crates to their edges (ARCHITECTURE.md, \"Workspace\"), keeps unsafe code, clocks, files, the\n\
    \x20      environment, threads and serde where they are allowed, the modules of cc and live free of circles, comments\n\
    \x20      within 120 columns, docs/algorithms.md true to the registries, and docs/rfc.md to files and tests\n\
    docs   writes docs/algorithms.md from the registries\n\
    bpf    builds crates/live/bpf/objects from the eBPF programs beside it, with clang\n\
    acks   writes what congestion controls are told in simulated connections, for tests of eBPF: crates/live/tests/acks\n\
    web    builds web/engine, the engine as WebAssembly, with wasm-bindgen and wasm-opt";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["check"] => check(&root()),
        ["docs"] => match docs::write(&root(), &narrows_sim::catalogue()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        },
        ["bpf"] => report("built", bpf::write(&root())),
        ["web"] => report("built", web::write(&root())),
        ["acks"] => report("recorded", acks::write(&root())),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Prints what was written, or why nothing was.
fn report(verb: &str, written: Result<Vec<String>, String>) -> ExitCode {
    match written {
        Ok(names) => {
            println!("{verb} {}", names.join(" "));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The repository's root: this crate's parent directory.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

fn check(root: &Path) -> ExitCode {
    match problems(root) {
        Ok(found) if found.is_empty() => {
            println!("house rules: crate edges, sources and documentation agree with ARCHITECTURE.md");
            ExitCode::SUCCESS
        }
        Ok(found) => {
            for problem in &found {
                eprintln!("{problem}");
            }
            eprintln!("house rules: {} broken", found.len());
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// Returns every broken rule, as a sentence that begins with the place; an error if something could not be read.
fn problems(root: &Path) -> Result<Vec<String>, String> {
    let crates = manifest::read_all(root)?;
    let mut found = edges::problems(&crates);
    found.extend(source::problems(root, &crates)?);
    found.extend(circles::problems(&crates)?);
    found.extend(columns::problems(root)?);
    let catalogue = narrows_sim::catalogue();
    let schemes: Vec<&str> = catalogue.schemes.iter().map(|scheme| scheme.name).collect();
    found.extend(names::problems(&crates, &schemes)?);
    found.extend(docs::problems(root, &catalogue)?);
    found.extend(rfc::problems(root)?);
    Ok(found)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_house_keeps_its_own_rules() {
        assert_eq!(super::problems(&super::root()), Ok(Vec::new()));
    }
}
