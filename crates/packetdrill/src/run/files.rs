//! Files of the script: its own numbers, and those of the host.

use crate::host::Fd;
use std::collections::BTreeMap;

/// Open files: the script's numbers with the host's.
#[derive(Clone, Debug, Default)]
pub(super) struct Files(BTreeMap<i32, Fd>);

impl Files {
    /// Notes a new file. Fails if the script has that number already.
    pub(super) fn open(&mut self, script: i32, host: Fd) -> Result<(), String> {
        match self.0.insert(script, host) {
            None => Ok(()),
            Some(_) => Err(format!("the script opens file {script}, which is open already")),
        }
    }

    /// Returns the host's number.
    pub(super) fn host(&self, script: i32) -> Result<Fd, String> {
        self.0.get(&script).copied().ok_or_else(|| format!("file {script} is not open in the script"))
    }

    /// Returns the script's number of a file of the host.
    pub(super) fn script_number(&self, host: i32) -> Option<i32> {
        self.0.iter().find(|(_, fd)| fd.0 == host).map(|(script, _)| *script)
    }

    /// Forgets a closed file.
    pub(super) fn close(&mut self, script: i32) {
        self.0.remove(&script);
    }

    /// Returns the open files by the host's numbers, in the order of the script's.
    pub(super) fn all(&self) -> Vec<Fd> {
        self.0.values().copied().collect()
    }
}
