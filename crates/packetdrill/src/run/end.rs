//! The end of a run: its verdict, and what is left to clean up.

use super::executor::{Executor, Stop};
use super::outcome::Verdict;
use crate::call::SystemCall;
use crate::host::HostError;
use crate::syntax::Direction;

impl Executor<'_> {
    /// Returns what an early end means.
    pub(super) fn verdict(&mut self, stop: Stop) -> Verdict {
        match stop {
            Stop::Differed(mismatch) => Verdict::Differed(mismatch),
            Stop::Host(error @ HostError::Unsupported { .. }) => {
                Verdict::Unsupported { line: self.line, reason: error.to_string() }
            }
            Stop::Host(HostError::Stopped) => Verdict::Stopped { line: self.line },
            Stop::Host(HostError::Failed(reason)) | Stop::Script(reason) => Verdict::Failed { line: self.line, reason },
        }
    }

    /// Runs the cleanup command, closes files and resets connections, so that nothing of the run stays in the host. A
    /// run that was stopped leaves this to the host, which ends at once.
    pub(super) fn clean_up(&mut self, verdict: Verdict) -> Verdict {
        if matches!(verdict, Verdict::Stopped { .. }) {
            return verdict;
        }
        let mut verdict = verdict;
        if let Some(command) = self.plan.cleanup.as_ref().filter(|_| self.initialised)
            && let Err(stop) = self.command(command)
            && verdict == Verdict::Matched
        {
            verdict = self.verdict(stop);
        }
        if self.pending.is_none() {
            for fd in self.files.all() {
                // What cannot be closed is the host's to drop.
                let _ = self.host.call(&SystemCall::Close { fd });
            }
        }
        for index in 0..self.connections.len() {
            if let Some(bytes) = self.reset(index) {
                let now = self.host.now();
                if self.host.inject(&bytes).is_ok() {
                    self.capture(now, Direction::Inbound, bytes);
                }
            }
        }
        verdict
    }
}
