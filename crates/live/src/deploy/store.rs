//! The pins and their metadata: a folder in the BPF file system.
//!
//! ```text
//! /sys/fs/bpf/narrows-mounted    only if we mounted the file system (`mounting`): the last detach takes it away again
//! /sys/fs/bpf/narrows/           locked while a command changes something
//!     cc/agile_sd/link           the kernel's link, pinned; without it the rest is a leftover
//!     cc/agile_sd/params         -> profile=paper lambda_max=3 ..
//!     cc/agile_sd/replaced       -> bbr; the default before
//! ```
//! Text is stored as the targets of symbolic links: this file system has no ordinary files, a link is created
//! atomically, and it ends with the pin when the machine shuts down.

use super::mounting::{BPF_FS, is_mounted, mount, unmount_if_unused};
use crate::LiveError;
use crate::bpf::open_pinned;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

/// The folder, locked. On drop it removes leftovers. If it is then empty, it also removes the folder, and the file
/// system if we mounted it.
#[derive(Debug)]
pub(super) struct Store {
    root: PathBuf,
    lock: Option<Flock<File>>,
    mounted_now: bool,
}

impl Store {
    /// Opens the folder, created if there is none; mounts the BPF file system if it is not mounted.
    pub(super) fn make() -> Result<Self, LiveError> {
        let mounted_now = !is_mounted();
        if mounted_now {
            mount()?;
        }
        let store = Self::make_folder(mounted_now);
        if store.is_err() && mounted_now {
            unmount_if_unused();
        }
        store
    }

    fn make_folder(mounted_now: bool) -> Result<Self, LiveError> {
        let root = Path::new(BPF_FS).join("narrows");
        let lock = loop {
            fs::create_dir_all(&root).map_err(|error| failed("make", &root, error))?;
            if let Some(lock) = locked(&root)? {
                break lock;
            }
        };
        let store = Self { root, lock: Some(lock), mounted_now };
        let cc = store.root.join("cc");
        fs::create_dir_all(&cc).map_err(|error| failed("make", &cc, error))?;
        Ok(store)
    }

    /// Opens the folder, if there is one. Undoes a mount without a folder, which a killed command left.
    pub(super) fn find() -> Result<Option<Self>, LiveError> {
        let root = Path::new(BPF_FS).join("narrows");
        if !is_mounted() {
            return Ok(None);
        }
        loop {
            match fs::metadata(&root) {
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    unmount_if_unused();
                    return Ok(None);
                }
                Err(error) => return Err(failed("look into", &root, error)),
            }
            if let Some(lock) = locked(&root)? {
                return Ok(Some(Self { root, lock: Some(lock), mounted_now: false }));
            }
        }
    }

    /// Returns whether opening the folder mounted the BPF file system.
    pub(super) fn is_mounted_now(&self) -> bool {
        self.mounted_now
    }

    /// Returns the entry of the congestion control `name`, whether it exists or not.
    pub(super) fn entry(&self, name: &str) -> Entry {
        Entry { folder: self.root.join("cc").join(name), name: name.to_owned() }
    }

    /// Returns all existing entries, by name.
    pub(super) fn entries(&self) -> Vec<Entry> {
        let found = fs::read_dir(self.root.join("cc")).into_iter().flatten().flatten();
        let mut names: Vec<String> = found.filter_map(|item| item.file_name().into_string().ok()).collect();
        names.sort();
        names.iter().map(|name| self.entry(name)).collect()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // Left by a killed command: a pin is only created or removed under the lock.
        let without_pin = |entry: &Entry| matches!(entry.link().try_exists(), Ok(false));
        self.entries().into_iter().filter(without_pin).for_each(|entry| entry.remove());
        if fs::remove_dir(self.root.join("cc")).is_err() && self.root.join("cc").exists() {
            return; // something is attached
        }
        let empty = fs::remove_dir(&self.root).is_ok();
        self.lock = None; // an open file keeps its file system mounted
        if empty {
            unmount_if_unused();
        }
    }
}

/// A congestion control's entry: its pin and its metadata.
#[derive(Debug)]
pub(super) struct Entry {
    folder: PathBuf,
    name: String,
}

impl Entry {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Where its link is pinned.
    pub(super) fn link(&self) -> PathBuf {
        self.folder.join("link")
    }

    /// Its parameters as text; empty if none are stored.
    pub(super) fn params(&self) -> String {
        read(&self.folder.join("params")).unwrap_or_default()
    }

    /// The default that it replaced.
    pub(super) fn replaced(&self) -> Option<String> {
        read(&self.folder.join("replaced"))
    }

    /// Stores the default that it replaced.
    pub(super) fn set_replaced(&self, name: &str) -> Result<(), LiveError> {
        write(&self.folder.join("replaced"), name)
    }

    /// Creates the folder and stores the parameters. An entry without a pin counts as a leftover.
    pub(super) fn create(&self, params: &str) -> Result<(), LiveError> {
        fs::create_dir(&self.folder).map_err(|error| failed("make", &self.folder, error))?;
        write(&self.folder.join("params"), params)
    }

    /// Removes the pin, and with it the last reference to the link.
    pub(super) fn unpin(&self) -> Result<(), LiveError> {
        let path = self.link();
        // Kept open during the removal: closing a file descriptor unregisters at once, losing a pin only some time
        // later.
        let link = open_pinned(&path)?;
        fs::remove_file(&path).map_err(|error| failed("remove", &path, error))?;
        drop(link);
        Ok(())
    }

    /// Removes all files of the entry. What cannot be removed becomes a leftover without a pin, which the next command
    /// removes.
    pub(super) fn remove(&self) {
        for name in ["link", "replaced", "params"] {
            let _absent = fs::remove_file(self.folder.join(name));
        }
        let _absent = fs::remove_dir(&self.folder);
    }
}

fn failed(verb: &str, path: &Path, error: std::io::Error) -> LiveError {
    if error.kind() == std::io::ErrorKind::PermissionDenied {
        return LiveError::Unavailable {
            what: path.display().to_string(),
            why: "this user may not read it".into(),
            remedy: "run it as root".into(),
        };
    }
    LiveError::failed(format!("{verb} {}", path.display()), error)
}

/// Locks the folder; returns `None` if the folder was removed while we waited for the lock.
fn locked(root: &Path) -> Result<Option<Flock<File>>, LiveError> {
    let folder = match File::open(root) {
        Ok(folder) => folder,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("open", root, error)),
    };
    let mut waiting = folder;
    let lock = loop {
        match Flock::lock(waiting, FlockArg::LockExclusive) {
            Ok(lock) => break lock,
            Err((folder, Errno::EINTR)) => waiting = folder,
            Err((_, error)) => return Err(failed("lock", root, error.into())),
        }
    };
    let owner = lock.metadata().map_or(u32::MAX, |data| data.uid());
    if owner != nix::unistd::geteuid().as_raw() {
        // If any user may create folders here, one that another user created cannot be trusted.
        return Err(LiveError::Unavailable {
            what: root.display().to_string(),
            why: format!("it belongs to user {owner}"),
            remedy: "run it as that user; or remove it, if nothing of Narrows is attached".into(),
        });
    }
    let own = lock.metadata().map(|data| (data.dev(), data.ino()));
    let there = fs::metadata(root).map(|data| (data.dev(), data.ino()));
    Ok(matches!((own, there), (Ok(own), Ok(there)) if own == there).then_some(lock))
}

/// Reads the text stored at `path`.
fn read(path: &Path) -> Option<String> {
    fs::read_link(path).ok()?.into_os_string().into_string().ok()
}

/// Stores text at `path`, replacing any earlier text.
fn write(path: &Path, words: &str) -> Result<(), LiveError> {
    let _absent = fs::remove_file(path);
    symlink(words, path).map_err(|error| failed("make", path, error))
}
