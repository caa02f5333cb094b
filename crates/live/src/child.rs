//! Programs that are not ours, run on a host of the emulated network.
//!
//! A program gets namespaces of its own: processes, mounts, host name, and the host's network. Its first process (`init.rs`)
//! is a copy of this one that never executes anything else: it reaps, and its end ends every process in its namespace. The
//! kernel kills it when this process dies (`keeper.rs`), so that nothing survives, however the end came.
//!
//! ```text
//! this process, keeper thread --clone3--> init (pid 1 there) --fork--> sh -c 'iperf3 -c h2'
//!                             <--status--      |  dies: all die
//! ```

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
    /// By itself, with this exit code.
    Code(i32),
    /// By a signal, with this number.
    Signal(i32),
}

impl Exit {
    /// Whether the program says that all went well.
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

/// What a program wrote, where it was [`Output::Captured`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
    /// Bytes that were not kept, because there were more than 16 MiB of a stream.
    pub dropped_bytes: u64,
}

/// What came of a program that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// How it ended; none if it had to be ended, or never began.
    pub exit: Option<Exit>,
    /// What it wrote.
    pub captured: Captured,
}

/// A program on a host of the emulated network. Dropping it kills the program and all that it started.
#[derive(Debug)]
pub struct Child {
    shared: Arc<Shared>,
    keeper: Option<JoinHandle<()>>,
}

impl Child {
    /// Starts `program` in the network namespace `netns`; it begins at its time, this returns when all is prepared.
    ///
    /// # Errors
    /// [`LiveError::Unsupported`] for a program that does not exist, [`LiveError::Unavailable`] without the right to make
    /// namespaces, [`LiveError::Failed`] for any other step.
    pub fn spawn(netns: BorrowedFd<'_>, program: &Program) -> Result<Self, LiveError> {
        let plan = plan::Plan::new(netns, program)?;
        let (shared, keeper) = keeper::start(plan)?;
        let child = Self { shared, keeper: Some(keeper) };
        child.shared.prepared()?;
        Ok(child)
    }

    /// Waits until the program ends, at most for `limit`; none if it still runs. What it left running goes on until
    /// [`Child::stop`].
    ///
    /// # Errors
    /// [`LiveError::Failed`] if the program could not be executed.
    pub fn wait(&self, limit: Option<Duration>) -> Result<Option<Exit>, LiveError> {
        self.shared.exit(limit)
    }

    /// Ends the program and all that it started: SIGTERM, and SIGKILL for what still runs after `grace`.
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

    /// Asks the program and all that it started to end (SIGTERM), and does not wait: several end sooner if all are asked before
    /// the first is [stopped](Self::stop).
    pub fn ask(&self) {
        self.shared.signal(libc::SIGTERM);
    }

    /// The process identifier of the program's first process, as this process sees it.
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
