//! Network namespaces without a name.
//!
//! A namespace lives as long as something holds it: here the file descriptor of a [`Netns`], threads that entered it,
//! and sockets made in it. Nothing is mounted, so a killed process leaves none behind.

use crate::LiveError;
use nix::sched::{CloneFlags, setns, unshare};
use std::fs::{File, read_to_string, write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::panic::resume_unwind;
use std::thread::{Builder, scope};

/// The path of a thread's own namespace: threads of one process may be in different ones.
const OWN: &str = "/proc/thread-self/ns/net";

/// A network namespace of our own.
#[derive(Debug)]
pub struct Netns {
    fd: OwnedFd,
    inode: u64,
}

impl Netns {
    /// Makes a namespace with only a loopback device, which is down, and the kernel's defaults for all settings.
    ///
    /// # Errors
    /// [`LiveError::Unavailable`] without the right to make one (`CAP_SYS_ADMIN`) or in a kernel without namespaces.
    pub fn new() -> Result<Self, LiveError> {
        let file = on_a_thread("new namespace", || {
            unshare(CloneFlags::CLONE_NEWNET).map_err(unavailable)?;
            File::open(OWN).map_err(|error| LiveError::failed("open the new network namespace", error))
        })??;
        let inode =
            file.metadata().map_err(|error| LiveError::failed("look at the new network namespace", error))?.ino();
        Ok(Self { fd: file.into(), inode })
    }

    /// Moves the current thread into the namespace, for good; other threads stay where they are.
    ///
    /// # Errors
    /// [`LiveError::Failed`] with the error of `setns(2)`.
    pub fn enter(&self) -> Result<(), LiveError> {
        setns(&self.fd, CloneFlags::CLONE_NEWNET).map_err(|error| LiveError::failed("enter a network namespace", error))
    }

    /// Runs `work` in the namespace, on a thread of its own, and waits for it. The thread of the caller stays where it
    /// is.
    ///
    /// # Errors
    /// [`LiveError::Failed`] if no thread can be started, or it cannot enter.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, LiveError> {
        on_a_thread("namespace", || self.enter().map(|()| work()))?
    }

    /// Returns the number of the namespace, as `ls -l /proc/PID/ns` and eBPF programs (`net.ns.inum`) show it.
    #[must_use]
    pub const fn inode(&self) -> u64 {
        self.inode
    }
}

impl AsFd for Netns {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Sets a sysctl of the namespace that the current thread is in; `name` is its path below `/proc/sys/net`, such as
/// `ipv4/tcp_sack`.
///
/// # Errors
/// [`LiveError::Unavailable`] if the kernel does not have it, or not for each namespace; [`LiveError::Failed`] with the
/// error of writing it.
pub fn set_sysctl(name: &str, value: &str) -> Result<(), LiveError> {
    write(format!("/proc/sys/net/{name}"), value).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => LiveError::Unavailable {
            what: format!("net.{} = {value}", name.replace('/', ".")),
            why: "this kernel has no such setting in a network namespace".to_owned(),
            remedy: "use a newer kernel".to_owned(),
        },
        _ => LiveError::failed(format!("set net.{} = {value}", name.replace('/', ".")), error),
    })
}

/// Reads a sysctl of the namespace that the current thread is in, without trailing white space; `None` if the kernel
/// does not have it.
#[must_use]
pub fn sysctl(name: &str) -> Option<String> {
    read_to_string(format!("/proc/sys/net/{name}")).ok().map(|text| text.trim_end().to_owned())
}

/// Runs `work` on a thread of its own, so that changes to the thread end with it.
fn on_a_thread<T: Send>(name: &str, work: impl FnOnce() -> T + Send) -> Result<T, LiveError> {
    scope(|threads| {
        let thread = Builder::new().name(name.to_owned()).spawn_scoped(threads, work);
        let thread = thread.map_err(|error| LiveError::failed("start a thread", error))?;
        thread.join().map_err(|panic| resume_unwind(panic))
    })
}

/// Returns the error of a namespace that could not be made.
pub(crate) fn unavailable(error: nix::Error) -> LiveError {
    let (why, remedy) = match error {
        nix::Error::EPERM => {
            ("making network namespaces needs root (CAP_SYS_ADMIN)", "run as root, for example with sudo")
        }
        nix::Error::EINVAL | nix::Error::ENOSYS => {
            ("the kernel has no network namespaces (CONFIG_NET_NS)", "use a kernel that has them")
        }
        nix::Error::ENOSPC => ("too many namespaces exist", "raise user.max_net_namespaces"),
        _ => (error.desc(), "look the error up in unshare(2)"),
    };
    LiveError::Unavailable { what: "live runs".to_owned(), why: why.to_owned(), remedy: remedy.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::lacks_root;

    fn own_inode() -> u64 {
        File::open(OWN).unwrap().metadata().unwrap().ino()
    }

    #[test]
    fn work_runs_inside_and_the_caller_stays_outside() {
        if lacks_root() {
            return;
        }
        let before = own_inode();
        let ns = Netns::new().unwrap();
        assert_eq!(ns.run(own_inode).unwrap(), ns.inode());
        assert_ne!(ns.inode(), before);
        assert_eq!(own_inode(), before);
    }

    #[test]
    fn settings_belong_to_one_namespace() {
        if lacks_root() {
            return;
        }
        let [one, other] = [(); 2].map(|()| Netns::new().unwrap());
        let outside = sysctl("ipv4/tcp_sack");
        one.run(|| set_sysctl("ipv4/tcp_sack", "0")).unwrap().unwrap();
        assert_eq!(one.run(|| sysctl("ipv4/tcp_sack")).unwrap().as_deref(), Some("0"));
        assert_eq!(other.run(|| sysctl("ipv4/tcp_sack")).unwrap().as_deref(), Some("1"));
        assert_eq!(sysctl("ipv4/tcp_sack"), outside);
        let missing = one.run(|| set_sysctl("ipv4/tcp_no_such_thing", "1")).unwrap().unwrap_err();
        assert!(missing.to_string().contains("net.ipv4.tcp_no_such_thing = 1: not available here"), "{missing}");
    }

    #[test]
    fn without_root_the_reason_and_the_way_out_are_said() {
        let said = unavailable(nix::Error::EPERM).to_string();
        assert_eq!(
            said,
            "live runs: not available here: making network namespaces needs root (CAP_SYS_ADMIN); \
             run as root, for example with sudo"
        );
    }
}
