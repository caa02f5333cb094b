//! The user's programs, run on hosts of the emulated network.
//!
//! A program gets its own namespaces for processes, mounts and host name, and the host's network namespace. Its first
//! process (`init.rs`) is a copy of this process that never executes another program. It reaps children, and its end
//! ends every process in its namespace. The kernel kills it when this process dies (`keeper.rs`), so nothing survives,
//! however this process ends.
//!
//! ```text
//! this process, keeper thread --clone3--> init (pid 1 there) --fork--> sh -c 'iperf3 -c h2'
//!                             <--status--      |  dies: all die
//! ```

mod copy;
mod init;
mod keeper;
mod plan;
mod program;
#[cfg(test)]
mod tests;

pub use program::{Command, Output, Program};

use crate::LiveError;
use keeper::Shared;
use narrows_units::Duration;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::thread::JoinHandle;

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// A signal with this number ended it.
    Signal(i32),
}

impl Exit {
    /// Returns whether the program reports success.
    #[must_use]
    pub fn success(self) -> bool {
        self == Self::Code(0)
    }

    fn from_wait_status(status: i32) -> Self {
        if libc::WIFSIGNALED(status) {
            Self::Signal(libc::WTERMSIG(status))
        } else {
            Self::Code(libc::WEXITSTATUS(status))
        }
    }
}

/// The output of a program, if it was [`Output::Captured`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
    /// Bytes that were not kept, because a stream had more than 16 MiB.
    pub dropped_bytes: u64,
}

/// The result of a program that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// How it ended; `None` if it had to be ended, or never began.
    pub exit: Option<Exit>,
    /// Its captured output.
    pub captured: Captured,
}

/// A program on a host of the emulated network. Dropping it kills the program and everything it started.
#[derive(Debug)]
pub struct Child {
    shared: Arc<Shared>,
    keeper: Option<JoinHandle<()>>,
}

impl Child {
    /// Starts `program` in the network namespace `netns`. Returns when everything is prepared; the program begins at
    /// its start time.
    ///
    /// # Errors
    /// [`LiveError::Unsupported`] for a program that does not exist, [`LiveError::Unavailable`] without the right to
    /// make namespaces, [`LiveError::Failed`] if any other step fails.
    pub fn spawn(netns: BorrowedFd<'_>, program: &Program) -> Result<Self, LiveError> {
        let plan = plan::Plan::new(netns, program)?;
        let (shared, keeper) = keeper::start(plan)?;
        let child = Self { shared, keeper: Some(keeper) };
        child.shared.prepared()?;
        Ok(child)
    }

    /// Waits until the program ends, at most for `limit`; returns `None` if it still runs. Processes that it left
    /// running go on until [`Child::stop`].
    ///
    /// # Errors
    /// [`LiveError::Failed`] if the program could not be executed.
    pub fn wait(&self, limit: Option<Duration>) -> Result<Option<Exit>, LiveError> {
        self.shared.exit(limit)
    }

    /// Ends the program and everything it started: sends SIGTERM, then SIGKILL to what still runs after `grace`.
    ///
    /// # Errors
    /// [`LiveError::Failed`] if the program could not be executed.
    pub fn stop(mut self, grace: Duration) -> Result<Ended, LiveError> {
        self.ask();
        if !self.shared.all_over(grace) {
            self.shared.signal(libc::SIGKILL);
        }
        self.join();
        let exit = self.shared.exit(Some(Duration::ZERO))?;
        Ok(Ended { exit, captured: self.shared.take_captured() })
    }

    /// Asks the program and everything it started to end (SIGTERM), without waiting. Several programs end sooner if all
    /// are asked before the first is [stopped](Self::stop).
    pub fn ask(&self) {
        self.shared.signal(libc::SIGTERM);
    }

    /// Returns the process identifier of the program's first process, as this process sees it.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.shared.pid()
    }

    fn join(&mut self) {
        if let Some(keeper) = self.keeper.take() {
            // The keeper does not panic; if it did, its child died with it.
            let _ = keeper.join();
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.keeper.is_some() {
            self.shared.signal(libc::SIGKILL);
            self.join();
        }
    }
}
