//! Runs packetdrill scripts on this machine's kernel, with the options that a suite's own runner passes.
//!
//! ```text
//! cargo run -p narrows-live --example packetdrill -- [--suite kernel|google] [--ip-version V] [--tries N] [--all]
//!     [--option NAME=VALUE].. FILE.pkt|DIRECTORY..
//! ```
//!
//! Prints a line per script: `pass`, `late` (this machine did not keep the script's times), `fail`, `unsupported` or
//! `error`, the tries it took, and the reason. Code in `%{ }%` is given to `python3`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command")]

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("needs Linux");
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    match linux::run(std::env::args().skip(1)) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            std::process::ExitCode::from(2)
        }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use narrows_live::packetdrill::on_kernel;
    use narrows_packetdrill::options::Options;
    use narrows_packetdrill::run::{Code, Outcome, Plan, Verdict, run as execute};
    use narrows_packetdrill::syntax::{ScriptOption, parse};
    use std::fmt::Write as _;
    use std::io::Write as _;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};

    /// What the command line asks for.
    struct Request {
        suite: String,
        ip_version: String,
        tries: u32,
        /// Show the steps of runs that do not pass.
        all: bool,
        options: Vec<(String, String)>,
        scripts: Vec<PathBuf>,
    }

    /// The result of a script.
    struct Report {
        word: &'static str,
        reason: String,
        steps: String,
    }

    pub(super) fn run(arguments: impl Iterator<Item = String>) -> Result<(), String> {
        let request = read(arguments)?;
        let mut counts = std::collections::BTreeMap::<&str, u32>::new();
        for script in &request.scripts {
            let (report, tries) = repeat(&request, script);
            *counts.entry(report.word).or_default() += 1;
            let name = script.file_name().unwrap_or_default().to_string_lossy();
            println!("{:<11} {tries} {name}: {}", report.word, report.reason.replace('\n', " | "));
            if request.all && report.word != "pass" {
                println!("{}", report.steps);
            }
        }
        println!("{}: {} scripts, {counts:?}", request.ip_version, request.scripts.len());
        Ok(())
    }

    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Request, String> {
        let mut request = Request {
            suite: "kernel".to_owned(),
            ip_version: "ipv4".to_owned(),
            tries: 3,
            all: false,
            options: Vec::new(),
            scripts: Vec::new(),
        };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--suite" => request.suite = value()?,
                "--ip-version" => request.ip_version = value()?,
                "--tries" => request.tries = value()?.parse().map_err(|_| "--tries: a number")?,
                "--all" => request.all = true,
                "--option" => {
                    let option = value()?;
                    let (name, value) = option.split_once('=').unwrap_or((&option, ""));
                    request.options.push((name.to_owned(), value.to_owned()));
                }
                path => find(Path::new(path), &mut request.scripts)?,
            }
        }
        let version = request.ip_version.clone();
        // As both suites' runners do: names that end so are for one version alone.
        let other = if version == "ipv6" { "v4.pkt" } else { "v6.pkt" };
        request.scripts.retain(|script| !script.to_string_lossy().ends_with(other) && fits(script, &version));
        request.scripts.sort();
        Ok(request)
    }

    /// Returns whether a script leaves the IP version to the command line, or has this one itself.
    fn fits(script: &Path, version: &str) -> bool {
        let text = std::fs::read_to_string(script).unwrap_or_default();
        let own = text.lines().find_map(|line| line.strip_prefix("--ip_version="));
        own.is_none_or(|own| own.trim() == version)
    }

    fn find(path: &Path, scripts: &mut Vec<PathBuf>) -> Result<(), String> {
        if !path.is_dir() {
            scripts.push(path.to_owned());
            return Ok(());
        }
        let entries = std::fs::read_dir(path).map_err(|error| format!("{}: {error}", path.display()))?;
        for entry in entries.filter_map(Result::ok) {
            let path = entry.path();
            if path.is_dir() || path.extension().is_some_and(|extension| extension == "pkt") {
                find(&path, scripts)?;
            }
        }
        Ok(())
    }

    /// The options that the suite's runner passes: `ksft_runner.sh` of the kernel's, `run_all.py` of google's.
    fn options_of(request: &Request) -> Vec<(String, String)> {
        let is_v6 = request.ip_version == "ipv6";
        let is_kernel = request.suite == "kernel";
        let mut options: Vec<(&str, &str)> = vec![("ip_version", &request.ip_version)];
        if is_v6 {
            options.extend([
                ("mtu", "1520"),
                ("local_ip", "fd3d:0a0b:17d6::1"),
                ("gateway_ip", "fd3d:0a0b:17d6:8888::1"),
                ("remote_ip", "fd3d:fa7b:d17d::1"),
                ("define", "TFO_COOKIE=c1d1e9742a47a9bc"),
            ]);
        } else {
            options.extend([
                ("local_ip", "192.168.0.1"),
                ("gateway_ip", "192.168.0.1"),
                ("netmask_ip", "255.255.0.0"),
                ("remote_ip", "192.0.2.1"),
                ("define", "TFO_COOKIE=3021b9d889017eeb"),
            ]);
        }
        let in_ipv4 = request.ip_version == "ipv4";
        options.push(("define", if in_ipv4 { "CMSG_LEVEL_IP=SOL_IP" } else { "CMSG_LEVEL_IP=SOL_IPV6" }));
        options
            .push(("define", if in_ipv4 { "CMSG_TYPE_RECVERR=IP_RECVERR" } else { "CMSG_TYPE_RECVERR=IPV6_RECVERR" }));
        if is_kernel {
            let zero = if is_v6 { "TFO_COOKIE_ZERO=82af1a8f9a205c34" } else { "TFO_COOKIE_ZERO=b7c12350a90dc8f5" };
            options.push(("define", zero));
        } else {
            options.push(("send_omit_free", ""));
            if !is_v6 {
                options.push(("define", "CODE=host_unreachable"));
            }
        }
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        options.iter().map(owned).chain(request.options.iter().cloned()).collect()
    }

    /// Runs a script until it passes, at most as often as asked. Scripts that cannot pass are run once.
    fn repeat(request: &Request, script: &Path) -> (Report, u32) {
        let mut tries = 1;
        loop {
            let report = once(request, script);
            if tries >= request.tries || !matches!(report.word, "late" | "fail") {
                return (report, tries);
            }
            tries += 1;
        }
    }

    fn once(request: &Request, path: &Path) -> Report {
        let error = |reason: String| Report { word: "error", reason, steps: String::new() };
        let file = path.to_string_lossy();
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(problem) => return error(problem.to_string()),
        };
        let given = options_of(request);
        let overrides: Vec<ScriptOption> = given
            .iter()
            .map(|(name, value)| ScriptOption {
                name: name.clone(),
                value: (!value.is_empty()).then(|| value.clone()),
                line: 0,
            })
            .collect();
        let definitions = given
            .iter()
            .filter(|(name, _)| name == "define")
            .filter_map(|(_, value)| value.split_once('='))
            .map(|(word, replacement)| (word.to_owned(), replacement.to_owned()))
            .collect();
        let plan = parse(&file, &text, &definitions).and_then(|script| {
            let options = Options::resolve(&file, &script.options, &overrides)?;
            Ok((Plan::new(&file, &script, &options)?, options))
        });
        let (plan, options) = match plan {
            Ok(plan) => plan,
            Err(problem) => return error(problem.to_string()),
        };
        let directory = path.parent().unwrap_or(Path::new("."));
        let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        match on_kernel(&options, directory, &std::sync::Arc::default(), |host| execute(&plan, host)) {
            Ok(outcome) => report(&file, &outcome),
            Err(problem) => error(problem.to_string()),
        }
    }

    fn report(file: &str, outcome: &Outcome) -> Report {
        let mut steps = String::new();
        for step in &outcome.steps {
            let _ = writeln!(steps, "    {:9.6} {:4} {}", step.at.as_secs_f64(), step.line, step.text);
        }
        let (word, reason) = match &outcome.verdict {
            Verdict::Matched => match check(file, &outcome.code) {
                Ok(()) => ("pass", String::new()),
                Err(reason) => ("fail", reason),
            },
            Verdict::Differed(mismatch) if mismatch.what.starts_with("time of ") => ("late", mismatch.to_string()),
            Verdict::Differed(mismatch) => ("fail", mismatch.to_string()),
            Verdict::Unsupported { line, reason } => ("unsupported", format!("line {line}: {reason}")),
            Verdict::Stopped { line } => ("error", format!("line {line}: stopped")),
            Verdict::Failed { line, reason } => ("error", format!("line {line}: {reason}")),
        };
        Report { word, reason, steps }
    }

    /// Values of symbols that code uses, by their names in Linux.
    const SYMBOLS: &str = "TCP_ESTABLISHED, TCP_SYN_SENT, TCP_SYN_RECV, TCP_FIN_WAIT1, TCP_FIN_WAIT2, TCP_TIME_WAIT, \
         TCP_CLOSE, TCP_CLOSE_WAIT, TCP_LAST_ACK, TCP_LISTEN, TCP_CLOSING = range(1, 12)\n\
         TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss = range(5)\n\
         TCPI_OPT_TIMESTAMPS, TCPI_OPT_SACK, TCPI_OPT_WSCALE, TCPI_OPT_ECN, TCPI_OPT_ECN_SEEN, TCPI_OPT_SYN_DATA, \
         TCPI_OPT_USEC_TS, TCPI_OPT_TFO_CHILD = (1 << bit for bit in range(8))\n";

    /// Runs the code of a script.
    fn check(file: &str, code: &[Code]) -> Result<(), String> {
        if code.is_empty() {
            return Ok(());
        }
        let mut program = SYMBOLS.to_owned();
        for piece in code {
            for (name, value) in piece.info.iter().flat_map(|info| &info.0) {
                let _ = writeln!(program, "{name} = {value}");
            }
            let _ = writeln!(program, "_line = {}\n{}", piece.line, piece.text);
        }
        let failed = |error: std::io::Error| format!("python3: {error}");
        let wrapped = format!(
            "import sys\ntry:\n    exec(compile(sys.stdin.read(), {file:?}, 'exec'), globals())\n\
             except BaseException as error:\n    sys.exit(f'line {{globals().get(\"_line\")}}: {{error!r}}')"
        );
        let mut python = Command::new("python3")
            .args(["-c", &wrapped])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        if let Some(mut input) = python.stdin.take() {
            input.write_all(program.as_bytes()).map_err(failed)?;
        }
        let ended = python.wait_with_output().map_err(failed)?;
        if ended.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&ended.stderr).trim().to_owned()) }
    }
}
