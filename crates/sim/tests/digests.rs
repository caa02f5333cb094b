//! The digests of every scenario of the repository, in two lists.
//!
//! `digests.txt` has each scenario with its samples and without, by both loops, cut off after `LONGEST`.
//! `scenarios/digests/VERSION.txt` has the bundled scenarios over their whole time, as `narrows run` prints them; it is
//! part of the package, and `narrows verify` compares a machine with it.
//!
//! A change that keeps the engine's behaviour keeps both. One that changes it writes both again by one command and is
//! named in CHANGELOG; the difference of the files shows which scenarios it affects:
//! `NARROWS_WRITE_DIGESTS=1 cargo test -p narrows-sim --test digests`.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use narrows_scenario::{Files, Sampling, Scenario};
use narrows_sim::{Options, catalogue, run};
use narrows_units::Duration;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Longer runs are cut off here: all flows of ACNS have begun by then, and the whole takes a minute of one processor.
const LONGEST: Duration = Duration::from_secs(35);

/// Folders of the repository that have scenarios.
const FOLDERS: [&str; 3] = ["scenarios", "experiments", "validation"];

/// Test cases, which `narrows check` judges: whoever changes an algorithm changes them, and no digest says more.
const CASES: &str = "scenarios/cases";

/// Files of other kinds have none of these tables.
const TABLES: [&str; 3] = ["[topology]", "[[flows]]", "[[links]]"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All files below `folder` that end in `.toml`, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries.retain(|path| !path.ends_with(CASES));
    let below = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    entries.into_iter().flat_map(below).filter(|path| path.extension().is_some_and(|end| end == "toml")).collect()
}

/// The traces of a scenario, relative to its directory.
struct Folder<'a>(&'a Path);

impl Files for Folder<'_> {
    fn open(&self, name: &str) -> Result<(String, Box<dyn std::io::Read>), String> {
        let file = fs::File::open(self.0.join(name)).map_err(|error| error.to_string())?;
        Ok((name.to_owned(), Box::new(file)))
    }
}

/// The digest of a scenario, which both loops have.
fn digest(name: &str, scenario: &Scenario) -> String {
    let [lazy, plain] = [false, true].map(|plain_loop| {
        let options = Options { seed: scenario.seed, plain_loop, ..Options::default() };
        run(scenario, &options).unwrap().digest().unwrap().to_string()
    });
    assert_eq!(lazy, plain, "{name}: the two loops differ");
    lazy
}

/// The scenario in a file; nothing for files of other kinds.
fn scenario(path: &Path) -> Option<(String, Scenario)> {
    let name = path.strip_prefix(root()).unwrap().display().to_string();
    let text = fs::read_to_string(path).unwrap();
    if !TABLES.iter().any(|table| text.lines().any(|line| line.starts_with(table))) {
        return None;
    }
    let files = Folder(path.parent().unwrap());
    let parsed =
        narrows_scenario::parse_with(&text, &name, &[], &catalogue(), &files).unwrap_or_else(|e| panic!("{e}"));
    Some((name, parsed))
}

/// A line for a file: its name, and the digests with samples and without.
fn line(path: &Path) -> Option<String> {
    let (name, mut scenario) = scenario(path)?;
    scenario.duration = scenario.duration.min(LONGEST);
    let with = digest(&name, &scenario);
    scenario.sampling = Sampling::Off;
    Some(format!("{name} {with} {}", digest(&name, &scenario)))
}

/// A line for a bundled scenario: its name, and the digest of the run that `narrows run` makes.
fn whole_line(path: &Path) -> Option<String> {
    let (_, scenario) = scenario(path)?;
    let options = Options { seed: scenario.seed, ..Options::default() };
    let digest = run(&scenario, &options).unwrap().digest().unwrap();
    Some(format!("{} {digest}", path.file_stem().unwrap().display()))
}

/// The lines of all files, in their order, made on all processors.
fn lines(paths: &[PathBuf], of: fn(&Path) -> Option<String>) -> String {
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let mut lines: Vec<(usize, String)> = std::thread::scope(|scope| {
        let work = || {
            std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)))
                .take_while(|index| *index < paths.len())
                .filter_map(|index| Some((index, of(&paths[index])?)))
                .collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    lines.sort();
    lines.iter().map(|(_, line)| format!("{line}\n")).collect()
}

/// Holds a list to its file, or writes the file where that was asked for.
fn hold(file: &Path, made: &str) {
    if std::env::var_os("NARROWS_WRITE_DIGESTS").is_some() {
        fs::write(file, made).unwrap();
        return;
    }
    let known = fs::read_to_string(file).unwrap_or_else(|error| {
        panic!("{}: {error}; NARROWS_WRITE_DIGESTS=1 writes it", file.display());
    });
    let others: Vec<&str> = made.lines().filter(|line| !known.lines().any(|known| known == *line)).collect();
    assert!(others.is_empty(), "other digests than in {}:\n{}", file.display(), others.join("\n"));
    assert_eq!(known, made, "{}: scenarios are gone, or are not in order", file.display());
}

#[test]
fn each_scenario_has_the_digests_that_are_written_down() {
    let paths: Vec<PathBuf> = FOLDERS.iter().flat_map(|folder| files(&root().join(folder))).collect();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/digests.txt");
    hold(&file, &lines(&paths, line));
}

#[test]
fn each_bundled_scenario_has_the_digest_of_this_version() {
    let folder = root().join("scenarios");
    let bundled: Vec<PathBuf> = files(&folder).into_iter().filter(|path| path.parent() == Some(&*folder)).collect();
    let file = folder.join("digests").join(concat!(env!("CARGO_PKG_VERSION"), ".txt"));
    hold(&file, &lines(&bundled, whole_line));
}
