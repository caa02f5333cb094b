//! Files of the script: its own numbers, and those of the host.

use crate::host::Fd;

/// Open files: the script's numbers with the host's, the newest last.
///
/// A script may give the number of an open file to one that it accepts. The number then means the newer file until that
/// is closed.
#[derive(Clone, Debug, Default)]
pub(super) struct Files(Vec<(i32, Fd)>);

impl Files {
    /// Notes a file that a call made. Fails if the script has that number already.
    pub(super) fn open(&mut self, script: i32, host: Fd) -> Result<(), String> {
        if self.host(script).is_ok() {
            return Err(format!("the script opens file {script}, which is open already"));
        }
        self.0.push((script, host));
        Ok(())
    }

    /// Notes an accepted connection.
    pub(super) fn accept(&mut self, script: i32, host: Fd) {
        self.0.push((script, host));
    }

    /// Returns the host's number.
    pub(super) fn host(&self, script: i32) -> Result<Fd, String> {
        let newest = self.0.iter().rev().find(|(number, _)| *number == script);
        newest.map(|(_, host)| *host).ok_or_else(|| format!("file {script} is not open in the script"))
    }

    /// Returns the script's number of a file of the host.
    pub(super) fn script_number(&self, host: i32) -> Option<i32> {
        self.0.iter().find(|(_, fd)| fd.0 == host).map(|(script, _)| *script)
    }

    /// Forgets a closed file.
    pub(super) fn close(&mut self, script: i32) {
        if let Some(newest) = self.0.iter().rposition(|(number, _)| *number == script) {
            self.0.remove(newest);
        }
    }

    /// Returns the open files by the host's numbers, the oldest first.
    pub(super) fn all(&self) -> Vec<Fd> {
        self.0.iter().map(|(_, host)| *host).collect()
    }
}
