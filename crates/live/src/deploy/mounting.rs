//! The BPF file system: mounted when we need it, and unmounted when we no longer do.
//!
//! A mount that we make carries a mark. The mark is created before the mount is attached, while only a file descriptor
//! holds it. So a command that is killed leaves either no mount or one that the next command recognises as ours.

use crate::LiveError;
use nix::errno::Errno;
use nix::mount::{MntFlags, umount2};
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};
use nix::unistd::symlinkat;
use std::ffi::{CStr, OsStr};
use std::fs;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

/// Where we mount the BPF file system; systemd does so too, for root alone.
pub(super) const BPF_FS: &str = "/sys/fs/bpf";

/// The same path for system calls.
const PLACE: &CStr = c"/sys/fs/bpf";

/// Name of a symbolic link at the top of a file system that we mounted.
const MARK: &str = "narrows-mounted";

/// Whether the BPF file system is mounted.
pub(super) fn is_mounted() -> bool {
    statfs(BPF_FS).is_ok_and(|found| found.filesystem_type() == BPF_FS_MAGIC)
}

/// Mounts the BPF file system, with our mark.
///
/// # Errors
/// [`LiveError::Unavailable`] with the kernel's reason; then nothing is mounted.
pub(super) fn mount() -> Result<(), LiveError> {
    detached().and_then(|mount| attach(&mount)).map_err(|error| LiveError::Unavailable {
        what: "the BPF file system".into(),
        why: format!("it is not mounted at {BPF_FS}, and mounting it fails: {error}"),
        remedy: format!("mount it: mount -t bpf bpf {BPF_FS}"),
    })
}

/// Unmounts the file system if we mounted it and it is still empty. If it is in use, it stays.
pub(super) fn unmount_if_unused() {
    if fs::read_link(Path::new(BPF_FS).join(MARK)).is_ok() && is_unused() {
        let _in_use = umount2(BPF_FS, MntFlags::UMOUNT_NOFOLLOW);
    }
}

/// Returns whether the file system holds only the mark. Names with a dot are the kernel's own (`maps.debug`): it
/// accepts none from users (`bpf_lookup` in `kernel/bpf/inode.c`).
fn is_unused() -> bool {
    let from_others = |name: &OsStr| name != MARK && !name.to_string_lossy().contains('.');
    fs::read_dir(BPF_FS).is_ok_and(|items| !items.flatten().any(|item| from_others(&item.file_name())))
}

/// Makes a BPF file system for root alone with our mark in it; it ends with the file descriptor.
fn detached() -> nix::Result<OwnedFd> {
    const FSOPEN_CLOEXEC: libc::c_uint = 1;
    const FSMOUNT_CLOEXEC: libc::c_uint = 1;
    const MOUNT_ATTR_NOSUID_NODEV_NOEXEC: libc::c_uint = 2 | 4 | 8;
    // SAFETY: the string outlives the call; the result is a new file descriptor or -1.
    let context = owned(unsafe { libc::syscall(libc::SYS_fsopen, c"bpf".as_ptr(), FSOPEN_CLOEXEC) })?;
    configure(&context, Some((c"source", c"bpf")))?;
    configure(&context, Some((c"mode", c"0700")))?;
    configure(&context, None)?;
    // SAFETY: integers alone; the result is a new file descriptor or -1.
    let mount = owned(unsafe {
        libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID_NODEV_NOEXEC)
    })?;
    symlinkat("here", &mount, MARK)?;
    Ok(mount)
}

/// Sets an option of a file system to be created; without an option, creates it.
fn configure(context: &OwnedFd, option: Option<(&CStr, &CStr)>) -> nix::Result<()> {
    const FSCONFIG_SET_STRING: libc::c_uint = 1;
    const FSCONFIG_CMD_CREATE: libc::c_uint = 6;
    let command = if option.is_some() { FSCONFIG_SET_STRING } else { FSCONFIG_CMD_CREATE };
    let (key, value) =
        option.map_or((std::ptr::null(), std::ptr::null()), |(key, value)| (key.as_ptr(), value.as_ptr()));
    // SAFETY: the strings outlive the call; a command without an option takes null for both.
    let done = unsafe { libc::syscall(libc::SYS_fsconfig, context.as_raw_fd(), command, key, value, 0) };
    Errno::result(done).map(drop)
}

/// Attaches a mount at [`PLACE`].
fn attach(mount: &OwnedFd) -> nix::Result<()> {
    const MOVE_MOUNT_F_EMPTY_PATH: libc::c_uint = 4;
    // SAFETY: the strings outlive the call.
    let done = unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_FDCWD,
            PLACE.as_ptr(),
            MOVE_MOUNT_F_EMPTY_PATH,
        )
    };
    Errno::result(done).map(drop)
}

/// Takes ownership of the file descriptor that a system call created.
fn owned(result: libc::c_long) -> nix::Result<OwnedFd> {
    let fd = Errno::result(result)?;
    // SAFETY: the call has just made this descriptor, and no other code owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) })
}
