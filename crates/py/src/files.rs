//! The files that a scenario names, relative to its directory.

use narrows_scenario::Files;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Files relative to a directory.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Files for Folder {
    fn open(&self, name: &str) -> Result<(String, Box<dyn Read>), String> {
        let path = self.0.join(name);
        let shown = path.display().to_string();
        let why = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => format!("is no file: {shown} does not exist"),
            _ => format!("cannot be read: {shown}: {error}"),
        };
        let file = regular(&path).map_err(why)?;
        match file {
            Some(file) => Ok((shown, Box::new(file))),
            None => Err(format!("is no file: {shown} is something else")),
        }
    }
}

/// Opens a regular file; `None` for anything else, which is not opened, because that may wait or have effects.
fn regular(path: &Path) -> io::Result<Option<File>> {
    if !fs::metadata(path)?.is_file() {
        return Ok(None);
    }
    File::open(path).map(Some)
}
