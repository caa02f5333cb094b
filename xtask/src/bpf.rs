//! The eBPF objects, built from their sources. A test compares them with a fresh build.
//!
//! Objects are checked in, so that building Narrows needs no clang. They contain no path of the machine that built
//! them: the compiler runs in the sources' directory, its include directory is written as `include`, and debug sections
//! are removed except for the kernel's own type information.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Directories of the sources and of their objects.
const SOURCES: &str = "crates/live/bpf";
const OBJECTS: &str = "crates/live/bpf/objects";

/// Names the compiler of the objects: other versions of clang produce other bytes.
const BUILT_WITH: &str = "BUILT-WITH";

/// Builds every object again; returns the names of the objects.
pub fn write(root: &Path) -> Result<Vec<String>, String> {
    let objects = root.join(OBJECTS);
    let built = build(root, &objects)?;
    for old in list(&objects, ".bpf.o")?.into_iter().filter(|old| !built.contains(old)) {
        std::fs::remove_file(objects.join(&old)).map_err(|e| format!("{OBJECTS}/{old}: {e}"))?;
    }
    let stamp = objects.join(BUILT_WITH);
    std::fs::write(&stamp, format!("{}\n", clang()?)).map_err(|e| format!("{}: {e}", stamp.display()))?;
    Ok(built)
}

/// Compiles each program's source to `into`; returns the objects' names.
fn build(root: &Path, into: &Path) -> Result<Vec<String>, String> {
    let sources = root.join(SOURCES);
    let include = headers(root)?;
    std::fs::create_dir_all(into).map_err(|e| format!("{}: {e}", into.display()))?;
    let into = into.canonicalize().map_err(|e| format!("{}: {e}", into.display()))?;
    let mut built = Vec::new();
    for source in list(&sources, ".bpf.c")? {
        let object = source.replace(".bpf.c", ".bpf.o");
        let path = into.join(&object);
        let at = |flag: &str, directory: &Path, name: &str| format!("{flag}{}={name}", directory.display());
        let mut compile = Command::new("clang");
        compile
            .current_dir(&sources)
            .args([
                "-target",
                "bpf",
                "-mcpu=v3",
                "-O2",
                "-g",
                "-Wall",
                "-Werror",
                "-nostdinc",
                "-fdebug-compilation-dir=.",
            ])
            .arg(at("-fdebug-prefix-map=", include.path(), "include"))
            .arg(at("-fdebug-prefix-map=", &sources, "."))
            .arg("-I")
            .arg(include.path())
            .args(["-I", ".", "-c", &source, "-o"])
            .arg(&path);
        run(compile)?;
        let mut strip = Command::new(strip()?);
        strip.arg("-g").arg(&path);
        run(strip)?;
        built.push(object);
    }
    Ok(built)
}

/// Runs a command and returns its output; on failure the error has what it printed.
fn run(mut command: Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done =
        command.output().map_err(|e| format!("{name}: {e}; eBPF objects are built with clang and llvm-strip"))?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    Err(format!("{command:?}: {}\n{}", done.status, String::from_utf8_lossy(&done.stderr)))
}

/// Returns the version line of the clang on this machine.
fn clang() -> Result<String, String> {
    let mut command = Command::new("clang");
    command.arg("--version");
    Ok(run(command)?.lines().next().unwrap_or_default().to_owned())
}

/// Returns the name of `llvm-strip`, which may end with a version.
fn strip() -> Result<String, String> {
    let version = clang()?;
    let major = version.split_whitespace().find_map(|word| word.split_once('.')).map_or("", |(major, _)| major);
    ["llvm-strip".to_owned(), format!("llvm-strip-{major}")]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok_and(|done| done.status.success()))
        .ok_or_else(|| "llvm-strip: not found; it comes with LLVM (Debian: llvm)".to_owned())
}

/// Returns the names in a directory with this ending, sorted; none if there is no such directory.
fn list(directory: &Path, ending: &str) -> Result<Vec<String>, String> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Ok(Vec::new()) };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(|e| format!("{}: {e}", directory.display()))?.file_name();
        names.extend(name.to_str().filter(|name| name.ends_with(ending)).map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

/// A directory that is removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Result<Self, String> {
        let path = std::env::temp_dir().join(format!("narrows-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        path.canonicalize().map(Self).map_err(|e| format!("{}: {e}", path.display()))
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A directory left in /tmp does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns an include directory with libbpf's headers as `bpf/`, from the crate that Cargo.lock names.
fn headers(root: &Path) -> Result<Scratch, String> {
    let mut metadata = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // Only for Linux: packages that only other platforms need may be missing on this machine.
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    metadata.current_dir(root).args(["metadata", "--format-version", "1", "--locked", "--filter-platform", &platform]);
    let metadata: serde_json::Value =
        serde_json::from_str(&run(metadata)?).map_err(|e| format!("cargo metadata: {e}"))?;
    let manifest = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|package| package["name"] == "libbpf-sys")
        .and_then(|package| package["manifest_path"].as_str())
        .ok_or("cargo metadata: no package libbpf-sys")?;
    let library = Path::new(manifest).with_file_name("libbpf").join("src");
    let scratch = Scratch::new("include")?;
    let headers = scratch.path().join("bpf");
    std::fs::create_dir_all(&headers).map_err(|e| format!("{}: {e}", headers.display()))?;
    for name in list(&library, ".h")?.iter().filter(|name| name.starts_with("bpf_")) {
        std::fs::copy(library.join(name), headers.join(name)).map_err(|e| format!("{name}: {e}"))?;
    }
    Ok(scratch)
}

#[cfg(test)]
#[path = "../../crates/live/tests/skips/mod.rs"]
mod skips;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_what_their_sources_give() {
        let root = crate::root();
        let stamp = std::fs::read_to_string(root.join(OBJECTS).join(BUILT_WITH)).unwrap();
        match clang() {
            Err(error) => return skips::skip(error),
            Ok(here) if here != stamp.trim() => {
                return skips::skip(format_args!("objects were built with {}, here is {here}", stamp.trim()));
            }
            Ok(_) => {}
        }
        let fresh = Scratch::new("objects").unwrap();
        let built = build(&root, fresh.path()).unwrap();
        assert_eq!(list(&root.join(OBJECTS), ".bpf.o").unwrap(), built, "`cargo xtask bpf` writes them anew");
        for name in built {
            let (old, new) = (root.join(OBJECTS).join(&name), fresh.path().join(&name));
            let same = std::fs::read(old).unwrap() == std::fs::read(new).unwrap();
            assert!(same, "{OBJECTS}/{name} is not what its source gives; `cargo xtask bpf` writes it again");
        }
    }

    #[test]
    fn objects_name_no_place_of_the_machine_that_built_them() {
        let objects = crate::root().join(OBJECTS);
        let names = list(&objects, ".bpf.o").unwrap();
        assert!(!names.is_empty());
        for name in names {
            let bytes = std::fs::read(objects.join(&name)).unwrap();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let here = crate::root().display().to_string();
            for place in ["/home/", "/tmp/", "/root/", "/usr/", ".cargo", here.as_str()] {
                assert!(!text.contains(place), "{name} contains {place}");
            }
        }
    }
}
