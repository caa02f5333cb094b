//! What to run on a host, as the user gives it, and the check that the program exists.

use crate::LiveError;
use std::fmt;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A program to run on a host of the emulated network.
#[derive(Debug)]
pub struct Program {
    /// The host's name in the scenario; the program sees it as the machine's name and as `NARROWS_HOST`.
    pub host: String,
    /// What to run.
    pub command: Command,
    /// Nodes and their addresses: the program can use the names (`ping h2`), and finds `NARROWS_ADDRESS_h2` in its
    /// environment (characters that a variable's name cannot contain become `_`).
    pub addresses: Vec<(String, IpAddr)>,
    /// When it begins, in nanoseconds of `CLOCK_MONOTONIC`; `None` means at once.
    pub start_ns: Option<u64>,
    /// Where its output goes.
    pub output: Output,
}

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// A command line for `/bin/sh -c`, in a session of its own and with empty standard input.
    Line(String),
    /// The user's shell (`$SHELL`, else `/bin/sh`) on this process' terminal.
    Shell,
}

/// Where the output of a program goes.
#[derive(Debug)]
pub enum Output {
    /// To this process' output.
    Inherit,
    /// Into memory, see [`super::Captured`].
    Captured,
    /// Both streams to a file.
    File(OwnedFd),
}

impl Program {
    /// Makes a program from a command line; it begins at once, and writes to this process' output.
    #[must_use]
    pub fn line(host: &str, line: &str, addresses: &[(String, IpAddr)]) -> Self {
        Self::new(host, Command::Line(line.to_owned()), addresses)
    }

    /// The user's shell on this process' terminal.
    #[must_use]
    pub fn shell(host: &str, addresses: &[(String, IpAddr)]) -> Self {
        Self::new(host, Command::Shell, addresses)
    }

    fn new(host: &str, command: Command, addresses: &[(String, IpAddr)]) -> Self {
        Self { host: host.to_owned(), command, addresses: addresses.to_vec(), start_ns: None, output: Output::Inherit }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => f.write_str(line),
            Self::Shell => f.write_str("shell"),
        }
    }
}

/// Words at the start of a command line that are not files: reserved words and built-ins of POSIX.1-2024 (Shell &
/// Utilities 2.4, 2.15, and the regular built-ins of 1.6).
const SHELL_WORDS: &[&str] = &[
    "!", "{", "case", "do", "for", "if", "until", "while", ".", ":", "break", "continue", "eval", "exec", "exit",
    "export", "readonly", "return", "set", "shift", "times", "trap", "unset", "alias", "bg", "cd", "command", "fc",
    "fg", "getopts", "hash", "jobs", "kill", "read", "type", "ulimit", "umask", "unalias", "wait", "test", "[", "echo",
    "printf", "true", "false", "pwd",
];

/// Rejects a command line that is empty, or that clearly begins with a program missing from `path` (as in `$PATH`).
///
/// A line whose beginning only a shell can interpret is left to the shell, which exits with 127 if there is no program.
pub(super) fn check_line(host: &str, line: &str, path: &str) -> Result<(), LiveError> {
    let refuse = |reason: String, allowed: &str| {
        Err(LiveError::Unsupported {
            field: format!("--exec {host}"),
            value: format!("`{line}`"),
            reason,
            allowed: allowed.to_owned(),
        })
    };
    let Some(word) = line.split_ascii_whitespace().find(|word| !is_assignment(word)) else {
        return refuse("it names no program".to_owned(), "a command line, such as 'iperf3 -c h2'");
    };
    let word = word.trim_end_matches([';', '&']);
    let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "_-./+:@%,".contains(c));
    if word.is_empty() || !plain || SHELL_WORDS.contains(&word) || find(word, path) {
        return Ok(());
    }
    let (reason, allowed) = if word.contains('/') {
        (format!("there is no program `{word}` that can be executed"), "the path of a program")
    } else {
        (format!("there is no program `{word}` in PATH"), "a program in PATH, the path of one, or a built-in of sh")
    };
    refuse(reason, allowed)
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !name.as_bytes()[0].is_ascii_digit()
    })
}

/// Whether `word` names a program: as a path, or in one of the directories of `path`.
fn find(word: &str, path: &str) -> bool {
    if word.contains('/') {
        return is_program(Path::new(word));
    }
    path.split(':')
        .any(|directory| is_program(&Path::new(if directory.is_empty() { "." } else { directory }).join(word)))
}

/// Whether `path` is a file that may be executed.
pub(super) fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
