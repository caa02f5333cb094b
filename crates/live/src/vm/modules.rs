//! Kernel modules, loaded in the order in which the host has laid them down.

use crate::LiveError;
use std::fs::{self, File};
use std::os::fd::AsRawFd as _;

/// Where modules lie; their names begin with their place in the order.
const DIRECTORY: &str = "/narrows/modules";

/// Loads all modules.
///
/// # Errors
/// [`LiveError::Failed`] with the module that the kernel refused.
pub(super) fn load() -> Result<(), LiveError> {
    let Ok(entries) = fs::read_dir(DIRECTORY) else { return Ok(()) };
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        let failed = |error: std::io::Error| {
            LiveError::failed(format!("load {}", path.file_name().unwrap_or_default().display()), error)
        };
        let file = File::open(&path).map_err(failed)?;
        // SAFETY: a file descriptor that is open, an empty text of parameters, no flags.
        let done = unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), c"".as_ptr(), 0) };
        let error = std::io::Error::last_os_error();
        if done != 0 && error.raw_os_error() != Some(libc::EEXIST) {
            return Err(failed(error));
        }
    }
    Ok(())
}
