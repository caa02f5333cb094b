//! The shell of a script: command lines run in the script's namespaces, one after the other.
//!
//! One `sh` reads command lines from a pipe and runs each in a shell of its own: `bash` where there is one, since
//! suites use its `&>`, else `sh`. It is the first process of a process namespace, so its end ends whatever the
//! commands left running, and the kernel kills it when the thread that started it ends. Commands see its identifier, 1,
//! as `$PPID`, and as `PACKETDRILL_PID`: helper scripts keep files under it (`/tmp/sysctl_restore_${PPID}.sh`).

use super::clock::SLICE;
use crate::LiveError;
use narrows_fabric::Progress;
use narrows_packetdrill::host::{HostError, ShellResult};
use nix::poll::{PollFd, PollFlags, PollTimeout};
use nix::sched::{CloneFlags, unshare};
use std::io::{PipeReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Longest time that a command may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Largest output that is kept, in bytes.
const OUTPUT_MAX: usize = 1 << 20;

/// Begins the line that ends a command's output. A command that writes it confuses only its own result.
const MARK: &str = "\u{1}narrows-status ";

/// A shell in the namespaces of the thread that started it. Dropping it ends everything it started.
#[derive(Debug)]
pub(super) struct Shell {
    input: Option<ChildStdin>,
    output: PipeReader,
    end: Option<mpsc::Sender<()>>,
    keeper: Option<JoinHandle<()>>,
}

impl Shell {
    /// Starts the shell.
    pub(super) fn start() -> Result<Self, LiveError> {
        let failed = |error| LiveError::failed("start a shell", error);
        let (output, output_end) = std::io::pipe().map_err(failed)?;
        let (end, ended) = mpsc::channel();
        let (started, starting) = mpsc::channel();
        // The kernel kills the shell at the end of the thread that started it, so this thread stays until then. New
        // process namespaces are for children only; a thread that has asked for one can start no threads.
        let keeper = std::thread::Builder::new()
            .name("packetdrill shell".to_owned())
            .spawn(move || {
                let mut shell = match spawn(output_end) {
                    Ok(mut shell) => {
                        let _ = started.send(Ok(shell.stdin.take()));
                        shell
                    }
                    Err(error) => {
                        let _ = started.send(Err(error));
                        return;
                    }
                };
                // Either message, or the other end is gone.
                let _ = ended.recv();
                let _ = shell.kill();
                let _ = shell.wait();
            })
            .map_err(failed)?;
        let gone = || LiveError::failed("start a shell", "its thread ended");
        let input = starting.recv().map_err(|_| gone())??;
        Ok(Self { input, output, end: Some(end), keeper: Some(keeper) })
    }

    /// Runs a command line and waits for its end, or until the run is stopped.
    pub(super) fn run(&mut self, command: &str, progress: &Progress) -> Result<ShellResult, HostError> {
        let gone = |what: &str| HostError::Failed(format!("the shell of the script has ended {what} `{command}`"));
        let quoted = command.replace('\'', r"'\''");
        let shell = if Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" };
        let line = format!("{shell} -c '{quoted}' </dev/null; printf '\\n{MARK}%d\\n' $?\n");
        let input = self.input.as_mut().ok_or_else(|| gone("before"))?;
        input.write_all(line.as_bytes()).map_err(|_| gone("before"))?;
        let (status, output) = self.result(command, progress)?.ok_or_else(|| gone("at"))?;
        if let Some(error) = missing(command, &output).or_else(|| refused(command, &output)) {
            return Err(error);
        }
        Ok(ShellResult { status, output })
    }

    /// Reads output until the line with the command's status; `None` if the shell ends before.
    fn result(&mut self, command: &str, progress: &Progress) -> Result<Option<(i32, String)>, HostError> {
        let until = Instant::now() + PATIENCE;
        let mut output = Vec::new();
        let mut buffer = [0; 4096];
        while !progress.stopped() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(HostError::Failed(format!(
                    "the command `{command}` has not ended within {} s",
                    PATIENCE.as_secs()
                )));
            }
            let mut files = [PollFd::new(self.output.as_fd(), PollFlags::POLLIN)];
            let timeout = PollTimeout::try_from(left.min(SLICE).as_millis() as i32 + 1).unwrap_or(PollTimeout::MAX);
            if nix::poll::poll(&mut files, timeout).unwrap_or(0) == 0 {
                continue;
            }
            match self.output.read(&mut buffer) {
                Ok(0) | Err(_) => return Ok(None),
                Ok(read) if output.len() < OUTPUT_MAX => output.extend_from_slice(&buffer[..read]),
                // The last bytes are kept, since the status is among them.
                Ok(read) => {
                    output.drain(..read);
                    output.extend_from_slice(&buffer[..read]);
                }
            }
            if let Some(found) = status(&output) {
                return Ok(Some(found));
            }
        }
        Err(HostError::Stopped)
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        drop((self.input.take(), self.end.take()));
        if let Some(keeper) = self.keeper.take() {
            // The keeper does not panic; if it did, the shell died with it.
            let _ = keeper.join();
        }
    }
}

fn spawn(output: std::io::PipeWriter) -> Result<Child, LiveError> {
    let failed = |error| LiveError::failed("start a shell", error);
    unshare(CloneFlags::CLONE_NEWPID).map_err(crate::netns::unavailable)?;
    let mut command = Command::new("/bin/sh");
    let errors = output.try_clone().map_err(failed)?;
    command.env("PACKETDRILL_PID", "1").stdin(Stdio::piped()).stdout(output).stderr(errors).process_group(0);
    // SAFETY: the closure makes one system call, and allocates nothing.
    unsafe {
        command.pre_exec(|| {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) < 0 {
                return Err(std::io::Error::last_os_error());
            }
            Ok(())
        });
    }
    command.spawn().map_err(failed)
}

/// Returns the status of a command and its output, if the line with its status is there.
fn status(output: &[u8]) -> Option<(i32, String)> {
    let text = String::from_utf8_lossy(output);
    let (before, after) = text.rsplit_once(MARK)?;
    let status = after.strip_suffix('\n')?.parse().ok()?;
    Some((status, before.trim_end_matches('\n').to_owned()))
}

/// Programs that scripts use, and the packages that have them.
const PROGRAMS: &[(&str, &str)] = &[
    ("sysctl", "procps"),
    ("ip", "iproute2"),
    ("tc", "iproute2"),
    ("nstat", "iproute2"),
    ("ethtool", "ethtool"),
    ("ifconfig", "net-tools"),
    ("bash", "bash"),
    ("python3", "python3"),
];

/// Returns the error of a command that found a program missing, from the shell's message about it.
fn missing(command: &str, output: &str) -> Option<HostError> {
    let absent = |program: &str| {
        output.lines().any(|line| {
            let message = line.strip_suffix(": not found").or_else(|| line.strip_suffix(": command not found"));
            message.is_some_and(|message| message.ends_with(&format!(" {program}")) || message == program)
                || line.ends_with(&format!("env: '{program}': No such file or directory"))
                || line.ends_with(&format!("env: ‘{program}’: No such file or directory"))
        })
    };
    let (program, package) = PROGRAMS.iter().find(|(program, _)| absent(program))?;
    Some(HostError::unsupported(
        format!("`{command}`"),
        format!("the program `{program}` is missing on this machine; install the package {package}"),
    ))
}

/// Settings of the newer kernels that suites are written for: the name, and what it needs.
const NEWER: &[(&str, &str)] = &[
    ("net.ipv4.tcp_ecn", "3 to 5 turn AccECN on, from Linux 7.0"),
    ("net.ipv4.tcp_ecn_option", "AccECN, from Linux 6.18"),
    ("net.ipv4.tcp_rto_max_ms", "from Linux 6.15"),
];

/// Returns the error of a setting that the kernel refuses to a command, from the messages of `sysctl`, `tc` and shells:
/// what follows would test something else.
fn refused(command: &str, output: &str) -> Option<HostError> {
    let shown = command.split_whitespace().collect::<Vec<_>>().join(" ");
    if output.contains("Specified qdisc kind is unknown") {
        let reason = "this kernel lacks the queue discipline (CONFIG_NET_SCH_..)";
        return Some(HostError::unsupported(format!("`{shown}`"), reason));
    }
    let quoted = |line: &str| line.split('"').nth(1).map(|name| name.replace('/', "."));
    let path = |line: &str| {
        let (_, rest) = line.split_once("/proc/sys/")?;
        Some(rest.split([':', ' ']).next()?.replace('/', "."))
    };
    let (name, why) = output.lines().find_map(|line| {
        let why = line.rsplit_once(": ")?.1;
        let of_sysctl = line.contains("setting key \"").then(|| quoted(line)).flatten();
        let absent = || (line.contains("cannot stat /proc/sys/")).then(|| path(line)).flatten();
        of_sysctl.or_else(absent).map(|name| (name, why.to_owned()))
    })?;
    let newer = NEWER.iter().find(|(newer, _)| *newer == name).map(|(_, needs)| format!(" ({needs})"));
    let reason = format!("this kernel refuses {name}: {why}{}", newer.unwrap_or_default());
    Some(HostError::unsupported(format!("`{shown}`"), reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_ends_the_output() {
        assert_eq!(status(b"a\nb\n\n\x01narrows-status 0\n"), Some((0, "a\nb".to_owned())));
        assert_eq!(status(b"\n\x01narrows-status 127\n"), Some((127, String::new())));
        assert_eq!(status(b"a\n\x01narrows-status 1"), None, "its end has not been read");
        assert_eq!(status(b"a\n"), None);
    }

    #[test]
    fn a_missing_program_is_named_with_its_package() {
        let named = |output| missing("./defaults.sh", output).map(|error| error.to_string());
        let tc = "`./defaults.sh`: the program `tc` is missing on this machine; install the package iproute2";
        assert_eq!(named("./defaults.sh: line 70: tc: command not found").as_deref(), Some(tc));
        assert_eq!(named("sh: 1: tc: not found").as_deref(), Some(tc));
        assert!(named("/usr/bin/env: ‘python3’: No such file or directory").unwrap().contains("package python3"));
        assert_eq!(named("RTNETLINK answers: File exists"), None);
    }

    #[test]
    fn a_refused_setting_is_named() {
        let told = |output| refused("./defaults.sh\nsysctl -q x=3", output).map(|error| error.to_string());
        assert_eq!(
            told("sysctl: setting key \"net.ipv4.tcp_ecn\": Invalid argument").as_deref(),
            Some(
                "`./defaults.sh sysctl -q x=3`: this kernel refuses net.ipv4.tcp_ecn: Invalid argument (3 to 5 turn \
                 AccECN on, from Linux 7.0)"
            )
        );
        let absent = told("sysctl: cannot stat /proc/sys/net/ipv4/tcp_new: No such file or directory").unwrap();
        assert!(absent.ends_with("refuses net.ipv4.tcp_new: No such file or directory"), "{absent}");
        assert!(told("Error: Specified qdisc kind is unknown.").unwrap().contains("queue discipline"));
        assert_eq!(told("net.ipv4.tcp_sack = 1"), None);
    }
}
