//! Everything that a program needs, prepared before the process is copied.
//!
//! Between the copy and the execution, code may not allocate or take a lock: another of our threads may hold one at the
//! copy.

use super::program::{self, Command, Output, Program};
use crate::LiveError;
use std::collections::BTreeMap;
use std::ffi::{CString, OsString};
use std::fmt::Write as _;
use std::fs::File;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

/// Names for error messages: the program and the host.
#[derive(Clone, Debug)]
pub(super) struct Names {
    pub(super) host: String,
    pub(super) command: String,
}

/// Everything that the child needs.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) names: Names,
    pub(super) netns: OwnedFd,
    pub(super) streams: [OwnedFd; 3],
    /// Our ends of the pipes that the program writes into: standard output, standard error.
    pub(super) captures: Option<[OwnedFd; 2]>,
    pub(super) file: CString,
    pub(super) hostname: CString,
    pub(super) hosts_file: Vec<u8>,
    pub(super) start_ns: Option<u64>,
    /// Whether the program gets this process' terminal.
    pub(super) terminal: bool,
    /// Whether the end of the program ends everything it started.
    pub(super) end_together: bool,
    pub(super) arguments: Strings,
    pub(super) environment: Strings,
}

/// Strings as execve takes them.
#[derive(Debug)]
pub(super) struct Strings {
    pointers: Vec<*const libc::c_char>,
    /// The targets of the pointers. They never move, since each string has its own allocation.
    _strings: Vec<CString>,
}

// SAFETY: the pointers go to allocations that the value itself owns and that are never written.
unsafe impl Send for Strings {}

impl Strings {
    fn new(strings: Vec<CString>) -> Self {
        let mut pointers: Vec<_> = strings.iter().map(|string| string.as_ptr()).collect();
        pointers.push(std::ptr::null());
        Self { pointers, _strings: strings }
    }

    /// Pointers to the strings, and a null pointer at the end.
    pub(super) fn as_ptr(&self) -> *const *const libc::c_char {
        self.pointers.as_ptr()
    }
}

impl Plan {
    /// Prepares `program` for the network namespace `netns`, see [`super::Child::spawn`].
    pub(super) fn new(netns: BorrowedFd<'_>, program: &Program) -> Result<Self, LiveError> {
        let (file, arguments) = command(program)?;
        let (streams, captures) = streams(program)?;
        Ok(Self {
            names: Names { host: program.host.clone(), command: program.command.to_string() },
            netns: above_standard(netns)?,
            streams,
            captures,
            hostname: CString::new(program.host.as_bytes()).map_err(|e| LiveError::failed("name the host", e))?,
            hosts_file: hosts_file(&program.addresses).into_bytes(),
            start_ns: program.start_ns,
            terminal: program.command == Command::Shell && std::io::IsTerminal::is_terminal(&std::io::stdin()),
            end_together: program.command == Command::Shell,
            arguments: Strings::new(arguments),
            environment: Strings::new(environment(program)),
            file,
        })
    }
}

/// Returns the file to execute, and its arguments.
fn command(program: &Program) -> Result<(CString, Vec<CString>), LiveError> {
    let c_string = |text: &str| CString::new(text).map_err(|e| LiveError::failed(format!("run `{text}`"), e));
    match &program.command {
        Command::Line(line) => {
            program::check_line(&program.host, line, &std::env::var("PATH").unwrap_or_default())?;
            Ok((c"/bin/sh".to_owned(), vec![c"sh".to_owned(), c"-c".to_owned(), c_string(line)?]))
        }
        Command::Shell => {
            let shell = std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".to_owned());
            if !program::is_program(Path::new(&shell)) {
                return Err(LiveError::Unsupported {
                    field: "SHELL".to_owned(),
                    value: shell,
                    reason: "there is no such program".to_owned(),
                    allowed: "the path of a shell, or no variable SHELL (then it is /bin/sh)".to_owned(),
                });
            }
            let shell = c_string(&shell)?;
            Ok((shell.clone(), vec![shell]))
        }
    }
}

/// Returns standard input, output and error of the program, and our ends of the captured streams.
fn streams(program: &Program) -> Result<([OwnedFd; 3], Option<[OwnedFd; 2]>), LiveError> {
    let input = match program.command {
        Command::Line(_) => {
            above_standard(File::open("/dev/null").map_err(|e| LiveError::failed("open /dev/null", e))?.as_fd())?
        }
        Command::Shell => above_standard(std::io::stdin().as_fd())?,
    };
    match &program.output {
        Output::Inherit => {
            let streams =
                [input, above_standard(std::io::stdout().as_fd())?, above_standard(std::io::stderr().as_fd())?];
            Ok((streams, None))
        }
        Output::File(file) => Ok(([input, above_standard(file.as_fd())?, above_standard(file.as_fd())?], None)),
        Output::Captured => {
            let (out, out_end) = pipe()?;
            let (err, err_end) = pipe()?;
            Ok(([input, out_end, err_end], Some([out, err])))
        }
    }
}

/// Copies a descriptor to a number above the three standard streams, which are overwritten. The copy closes on
/// execution.
fn above_standard(fd: BorrowedFd<'_>) -> Result<OwnedFd, LiveError> {
    // SAFETY: the descriptor is open for as long as it is borrowed, and the result is ours alone.
    let copy = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 3) };
    if copy < 0 {
        return Err(LiveError::failed("copy a file descriptor", std::io::Error::last_os_error()));
    }
    // SAFETY: fcntl has just made this descriptor.
    Ok(unsafe { std::os::fd::FromRawFd::from_raw_fd(copy) })
}

/// Makes a pipe whose ends close on execution and lie above the standard streams. Returns the read end, then the write
/// end.
pub(super) fn pipe() -> Result<(OwnedFd, OwnedFd), LiveError> {
    let (reader, writer) =
        nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC).map_err(|e| LiveError::failed("make a pipe", e))?;
    Ok((above_standard(reader.as_fd())?, above_standard(writer.as_fd())?))
}

/// Returns the content of the program's `/etc/hosts`.
fn hosts_file(addresses: &[(String, IpAddr)]) -> String {
    let mut text = "127.0.0.1 localhost\n::1 localhost\n".to_owned();
    for (name, address) in addresses {
        // Writing to a String does not fail.
        let _ = writeln!(text, "{address} {name}");
    }
    text
}

/// Returns this process' environment with the variables that describe the emulated network.
fn environment(program: &Program) -> Vec<CString> {
    let mut all: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    all.insert("NARROWS_HOST".into(), program.host.clone().into());
    for (name, address) in &program.addresses {
        let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        all.entry(format!("NARROWS_ADDRESS_{name}").into()).or_insert_with(|| address.to_string().into());
    }
    if program.command == Command::Shell {
        all.insert("PS1".into(), format!("{} (narrows) $PWD # ", program.host).into());
    }
    let line = |(name, value): (OsString, OsString)| [name.into_vec(), value.into_vec()].join(&b'=');
    // The environment consists of C strings, and a node's name has no zero byte.
    all.into_iter().filter_map(|variable| CString::new(line(variable)).ok()).collect()
}
