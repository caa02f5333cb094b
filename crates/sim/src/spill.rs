//! Samples in a temporary file: packed parts that exceed the memory budget.

use narrows_samples::{Fault, Store};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Numbers the files of this process.
static FILES: AtomicU64 = AtomicU64::new(0);

/// How many bytes of samples all runs that share it may keep in memory.
#[derive(Debug)]
pub struct Budget {
    most: usize,
    kept: AtomicUsize,
}

impl Budget {
    /// A budget of `most` bytes.
    #[must_use]
    pub const fn new(most: usize) -> Self {
        Self { most, kept: AtomicUsize::new(0) }
    }

    /// Bytes that are in memory now.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.kept.load(Ordering::Relaxed)
    }
}

/// The samples of one run: in memory while its budget lasts, then in a file.
///
/// The file is created when the first part is written to it. Its name is removed at once, so that nothing is left when
/// the process ends, however it ends. (Where the system cannot do that, the file is removed when the samples are
/// dropped.)
#[derive(Debug)]
pub struct Spill {
    directory: PathBuf,
    budget: Arc<Budget>,
    file: Mutex<Option<Open>>,
}

#[derive(Debug)]
struct Open {
    file: File,
    end: u64,
    /// Path of the file if it still has a name.
    path: Option<PathBuf>,
}

impl Spill {
    /// A place in `directory` for the samples of one run.
    #[must_use]
    pub fn new(directory: &Path, budget: Arc<Budget>) -> Self {
        Self { directory: directory.to_owned(), budget, file: Mutex::new(None) }
    }

    fn with_file<T>(&self, act: impl FnOnce(&mut Open) -> std::io::Result<T>) -> Result<T, Fault> {
        let mut guard = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = match &mut *guard {
            Some(open) => Ok(open),
            empty => create(&self.directory).map(|open| empty.insert(open)),
        };
        opened.and_then(act).map_err(|error| Fault::Disk(format!("{}: {error}", self.directory.display())))
    }
}

fn create(directory: &Path) -> std::io::Result<Open> {
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let path = directory.join(format!(".narrows-samples.{}.{number}.partial", std::process::id()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
    let path = std::fs::remove_file(&path).is_err().then_some(path);
    Ok(Open { file, end: 0, path })
}

impl Store for Spill {
    fn keep(&self, bytes: usize) -> bool {
        let more = |kept: usize| kept.checked_add(bytes).filter(|sum| *sum <= self.budget.most);
        self.budget.kept.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    fn release(&self, bytes: usize) {
        self.budget.kept.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn put(&self, bytes: &[u8]) -> Result<u64, Fault> {
        self.with_file(|open| {
            let at = open.end;
            open.file.seek(SeekFrom::Start(at))?;
            open.file.write_all(bytes)?;
            open.end += bytes.len() as u64;
            Ok(at)
        })
    }

    fn get(&self, at: u64, into: &mut [u8]) -> Result<(), Fault> {
        self.with_file(|open| {
            open.file.seek(SeekFrom::Start(at))?;
            open.file.read_exact(into)
        })
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // The file is temporary: if it cannot be removed, the system has to clean it up.
            let _ = std::fs::remove_file(path);
        }
    }
}
