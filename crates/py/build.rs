//! Writes the commit that the package is built from into `OUT_DIR/commit`, a field of fixed width.
//!
//! The commit is the first that is known of: `NARROWS_COMMIT` in the environment (`9094a25`, or `9094a25.dirty`); the
//! one that git reports for this checkout; the one that `git archive` wrote into `commit.txt`; `unknown`. A tree is
//! dirty if a tracked file that goes into the package differs from the commit.

#![allow(clippy::print_stdout, reason = "Cargo reads instructions from standard output")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Tracked paths that go into the package, and so decide whether the tree is dirty.
const PACKAGED: [&str; 9] = [
    "crates",
    "python",
    "scenarios",
    "experiments",
    "validation",
    "packaging",
    "Cargo.toml",
    "Cargo.lock",
    "pyproject.toml",
];

/// Marks the field in the built library: `narrows.base.engine` leaves it out when it identifies a build.
const BEGIN: &str = "NARROWS-COMMIT<";

/// Width of the field between its marks, bytes.
const WIDTH: usize = 48;

const UNKNOWN: &str = "unknown";

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-env-changed=NARROWS_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=commit.txt");
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("../..");
    let commit = given().or_else(|| of_checkout(&root)).or_else(of_archive).unwrap_or_else(|| UNKNOWN.to_owned());
    let field = format!("{BEGIN}{commit:<WIDTH$}>");
    if variable("CARGO_CFG_TARGET_OS") == "linux" {
        // A build id is a hash of everything, the commit included; without it, the same code gives the same build.
        println!("cargo::rustc-cdylib-link-arg=-Wl,--build-id=none");
    }
    std::fs::write(PathBuf::from(variable("OUT_DIR")).join("commit"), field)
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

/// Returns the commit in `NARROWS_COMMIT`, if it is one.
fn given() -> Option<String> {
    let commit = variable("NARROWS_COMMIT");
    if !commit.is_empty() && !is_commit(&commit) {
        println!("cargo::warning=NARROWS_COMMIT is {commit:?}; allowed: a commit such as 9094a25, or 9094a25.dirty");
    }
    is_commit(&commit).then_some(commit)
}

fn is_commit(text: &str) -> bool {
    let hash = text.strip_suffix(".dirty").unwrap_or(text);
    (7..=40).contains(&hash.len()) && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the commit of a git checkout whose top is `root`. Others do not count: a source archive may lie within
/// another project's checkout.
fn of_checkout(root: &Path) -> Option<String> {
    let top = PathBuf::from(git(root, &["rev-parse", "--show-toplevel"])?).canonicalize().ok()?;
    if top != root.canonicalize().ok()? {
        return None;
    }
    let commit = git(root, &["rev-parse", "--short=7", "HEAD"])?;
    watch(root);
    let mut status = vec!["--no-optional-locks", "status", "--porcelain", "--untracked-files=no", "--"];
    status.extend(PACKAGED);
    let clean = git(root, &status)?.is_empty();
    Some(if clean { commit } else { format!("{commit}.dirty") })
}

/// Makes Cargo run this again when HEAD moves or a packaged file changes.
fn watch(root: &Path) {
    let mut places = vec!["HEAD".to_owned(), "packed-refs".to_owned(), "index".to_owned()];
    places.extend(git(root, &["symbolic-ref", "--quiet", "HEAD"]));
    for place in places {
        if let Some(path) = git(root, &["rev-parse", "--git-path", &place]) {
            let path = root.join(path);
            if path.exists() {
                println!("cargo::rerun-if-changed={}", path.display());
            }
        }
    }
    let mut tracked = vec!["ls-files", "--"];
    tracked.extend(PACKAGED);
    for file in git(root, &tracked).unwrap_or_default().lines() {
        println!("cargo::rerun-if-changed={}", root.join(file).display());
    }
}

/// Returns the commit that `git archive` wrote in place of the format in `commit.txt`.
fn of_archive() -> Option<String> {
    let text = std::fs::read_to_string("commit.txt").ok()?;
    let commit = text.trim();
    is_commit(commit).then(|| commit.to_owned())
}

fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}
