//! The arguments of the system call that copies a process.

/// Returns arguments for a copy of this process whose end sends SIGCHLD, with `flags` and the address for its
/// descriptor.
pub(super) const fn clone_arguments(flags: u64, pidfd: u64) -> libc::clone_args {
    libc::clone_args {
        flags,
        pidfd,
        child_tid: 0,
        parent_tid: 0,
        exit_signal: libc::SIGCHLD as u64,
        stack: 0,
        stack_size: 0,
        tls: 0,
        set_tid: 0,
        set_tid_size: 0,
        cgroup: 0,
    }
}
