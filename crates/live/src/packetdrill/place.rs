//! The namespaces of a script: a network of its own, and a `/tmp` of its own.
//!
//! Both belong to the current thread, to the threads that it starts, and to their child processes. They end with the
//! last of these.

use crate::LiveError;
use nix::fcntl::{OFlag, open};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::stat::Mode;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// The directory of scratch files: scripts write there under fixed names, such as `/tmp/sysctl_restore_1.sh`.
const SCRATCH: &str = "/tmp";

/// Moves the current thread into a new network namespace, and into a mount namespace where `/tmp` is empty except for
/// what leads to `directory`; makes `directory` the thread's working directory.
///
/// # Errors
/// [`LiveError::Unavailable`] without the right to make namespaces; [`LiveError::Failed`] if a later step fails.
pub(super) fn enter(directory: &Path) -> Result<(), LiveError> {
    let directory = directory
        .canonicalize()
        .map_err(|error| LiveError::failed(format!("find the directory {}", directory.display()), error))?;
    unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS).map_err(crate::netns::unavailable)?;
    // Mounts below must not propagate to the machine.
    mount_at(None, Path::new("/"), None, MsFlags::MS_REC | MsFlags::MS_PRIVATE)?;
    own_scratch(&directory)?;
    // The new mount namespace gave the thread a working directory that it does not share with other threads.
    nix::unistd::chdir(&directory)
        .map_err(|error| LiveError::failed(format!("enter the directory {}", directory.display()), error))
}

/// Mounts an empty file system over `/tmp`. If `directory` is below `/tmp`, the entry of `/tmp` that it is in stays
/// visible.
fn own_scratch(directory: &Path) -> Result<(), LiveError> {
    let kept = kept_entry(directory).map(|entry| hold(&entry).map(|file| (entry, file))).transpose()?;
    mount_at(Some(Path::new("tmpfs")), Path::new(SCRATCH), Some("tmpfs"), MsFlags::MS_NOSUID | MsFlags::MS_NODEV)?;
    let Some((entry, file)) = kept else { return Ok(()) };
    std::fs::create_dir(&entry)
        .map_err(|error| LiveError::failed(format!("make the directory {}", entry.display()), error))?;
    let source = PathBuf::from(format!("/proc/thread-self/fd/{}", file.as_raw_fd()));
    mount_at(Some(&source), &entry, None, MsFlags::MS_BIND | MsFlags::MS_REC)
}

/// Returns the entry of `/tmp` that leads to `directory`.
fn kept_entry(directory: &Path) -> Option<PathBuf> {
    let below = directory.strip_prefix(SCRATCH).ok()?;
    below.components().next().map(|first| Path::new(SCRATCH).join(first))
}

fn hold(path: &Path) -> Result<OwnedFd, LiveError> {
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    open(path, flags, Mode::empty()).map_err(|error| LiveError::failed(format!("open {}", path.display()), error))
}

/// Mounts something in the mount namespace of the current thread.
pub(super) fn mount_at(
    source: Option<&Path>,
    target: &Path,
    kind: Option<&str>,
    flags: MsFlags,
) -> Result<(), LiveError> {
    mount(source, target, kind, flags, None::<&str>)
        .map_err(|error| LiveError::failed(format!("mount {}", target.display()), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_that_leads_to_a_script_stays_visible() {
        assert_eq!(kept_entry(Path::new("/tmp/a/b/c")), Some(PathBuf::from("/tmp/a")));
        assert_eq!(kept_entry(Path::new("/tmp")), None);
        assert_eq!(kept_entry(Path::new("/home/tmp/a")), None);
    }
}
