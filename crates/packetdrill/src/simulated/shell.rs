//! What each command of a script's command lines does to the simulated host.

use super::Simulated;
use super::lines::{After, parse};
use crate::host::{HostError, ShellResult};
use narrows_socket::Route;
use std::net::IpAddr;

/// Most helper scripts that call each other.
const MAX_DEPTH: u32 = 8;

/// Why a command cannot be obeyed.
fn refused(words: &[String], reason: impl Into<String>) -> HostError {
    HostError::unsupported(format!("`{}`", words.join(" ")), reason)
}

/// What a command left: its status and output.
fn status(status: i32) -> ShellResult {
    ShellResult { status, output: String::new() }
}

fn output(text: String) -> ShellResult {
    ShellResult { status: 0, output: text }
}

impl Simulated<'_> {
    /// Runs command lines; the status is that of the last command that ran.
    pub(super) fn run(&mut self, text: &str) -> Result<ShellResult, HostError> {
        self.run_at(text, 0)
    }

    fn run_at(&mut self, text: &str, depth: u32) -> Result<ShellResult, HostError> {
        let pipelines = parse(text).map_err(|reason| HostError::unsupported("a command line", reason))?;
        let mut last = status(0);
        for (at, pipeline) in pipelines.iter().enumerate() {
            let may_fail = pipelines.get(at + 1).is_some_and(|next| next.after == After::Failure);
            let wanted = match pipeline.after {
                After::Any => true,
                After::Success => last.status == 0,
                After::Failure => last.status != 0,
            };
            if !wanted {
                continue;
            }
            let mut input = String::new();
            for words in &pipeline.commands {
                last = match self.command(words, &input, depth) {
                    // What follows `||` is for hosts without it.
                    Err(_) if may_fail => status(1),
                    done => done?,
                };
                input.clone_from(&last.output);
            }
        }
        Ok(last)
    }

    fn command(&mut self, words: &[String], input: &str, depth: u32) -> Result<ShellResult, HostError> {
        let Some((name, arguments)) = words.split_first() else { return Ok(status(0)) };
        let base = name.rsplit('/').next().unwrap_or(name);
        match base {
            "sysctl" => self.sysctl(words, arguments),
            "set_sysctls.py" => self.set_sysctls(words, arguments),
            "ip" => self.ip(words, arguments),
            "tc" => self.queue(words, arguments),
            "ethtool" => self.device(words, arguments),
            "nstat" => Ok(output(self.nstat(arguments))),
            "grep" => self.grep(words, arguments, input),
            "echo" => Self::echo(words, arguments),
            "rm" => {
                for path in arguments {
                    self.files.remove(path);
                }
                Ok(status(0))
            }
            "dd" => self.make_file(words, arguments),
            "true" | ":" | "sync" => Ok(status(0)),
            "false" => Ok(status(1)),
            _ if base.starts_with("sysctl_restore_") => {
                self.restore();
                Ok(status(0))
            }
            _ if base.ends_with(".sh") => self.helper(words, name, depth),
            _ => Err(refused(words, "the simulated host has no such command")),
        }
    }

    /// Runs a helper script, whose text the caller has.
    fn helper(&mut self, words: &[String], name: &str, depth: u32) -> Result<ShellResult, HostError> {
        if depth >= MAX_DEPTH {
            return Err(refused(words, format!("more than {MAX_DEPTH} helper scripts call each other")));
        }
        let text = (self.helpers)(name).ok_or_else(|| refused(words, "there is no such helper script"))?;
        self.run_at(&text, depth + 1)
    }

    /// `sysctl [-qwe] name=value ..`.
    fn sysctl(&mut self, words: &[String], arguments: &[String]) -> Result<ShellResult, HostError> {
        let lenient = arguments.iter().any(|word| word.starts_with('-') && word.contains('e'));
        for word in arguments.iter().filter(|word| !word.starts_with('-')) {
            let Some((name, value)) = word.split_once('=') else {
                return Err(refused(words, "only `name=value` is supported"));
            };
            if name.ends_with("tcp_fastopen_cookies") {
                // Kernels that have it forget their cookies.
                self.host.forget_cookies();
            }
            if let Err(error) = self.host.sysctls_mut().set(name, value)
                && !lenient
            {
                return Err(refused(words, error.to_string()));
            }
        }
        self.host.obey_sysctls();
        Ok(status(0))
    }

    /// `set_sysctls.py file=value ..`, which also makes the script that restores them.
    fn set_sysctls(&mut self, words: &[String], arguments: &[String]) -> Result<ShellResult, HostError> {
        for word in arguments {
            let Some((name, value)) = word.split_once('=') else {
                return Err(refused(words, "arguments are FILE=VALUE"));
            };
            let before = self.host.sysctls().get(name).map(str::to_owned);
            self.host.sysctls_mut().set(name, value).map_err(|error| refused(words, error.to_string()))?;
            self.saved.extend(before.map(|before| (name.to_owned(), before)));
        }
        self.host.obey_sysctls();
        Ok(status(0))
    }

    fn restore(&mut self) {
        while let Some((name, value)) = self.saved.pop() {
            // It was valid before.
            let _ = self.host.sysctls_mut().set(&name, &value);
        }
    }

    /// `ip tcp_metrics flush`, `ip route change ADDRESS .. METRIC VALUE ..`, `ip link set DEVICE mtu N`.
    fn ip(&mut self, words: &[String], arguments: &[String]) -> Result<ShellResult, HostError> {
        let arguments: Vec<&str> =
            arguments.iter().map(String::as_str).filter(|word| !matches!(*word, "-4" | "-6")).collect();
        match arguments.as_slice() {
            ["tcp_metrics" | "tcpmetrics", "flush", ..] => self.host.forget_cookies(),
            ["route" | "ro" | "r", "change" | "replace" | "add", to, metrics @ ..] => {
                let address = to.split('/').next().unwrap_or(to);
                let address: IpAddr = address.parse().map_err(|_| refused(words, "the route needs an address"))?;
                let route = route(metrics).map_err(|reason| refused(words, reason))?;
                self.host.set_route(address, route);
            }
            ["link", "set", rest @ ..] => {
                let mtu = rest.windows(2).find(|pair| pair[0] == "mtu").and_then(|pair| pair[1].parse().ok());
                self.host.set_mtu(mtu.ok_or_else(|| refused(words, "only `mtu N` is supported"))?);
            }
            _ => return Err(refused(words, "supported are tcp_metrics flush, route and link set .. mtu")),
        }
        Ok(status(0))
    }

    /// `tc qdisc ..`: a FIFO passes packets at once, as this host's device does; `fq` paces each flow.
    fn queue(&mut self, words: &[String], arguments: &[String]) -> Result<ShellResult, HostError> {
        let words_of: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let kind = words_of.iter().skip(1).find(|word| {
            !matches!(**word, "add" | "replace" | "change" | "delete" | "del" | "dev" | "tun0" | "root" | "handle")
        });
        match (words_of.as_slice(), kind) {
            (["qdisc", "delete" | "del", ..], _) => {
                self.host.set_paced(false);
                self.host.set_device_full(false);
            }
            (["qdisc", ..], Some(&("pfifo" | "bfifo" | "pfifo_fast" | "noqueue"))) => {
                self.host.set_device_full(words_of.windows(2).any(|pair| pair == ["limit", "0"]));
                self.host.set_paced(false);
            }
            (["qdisc", ..], Some(&"fq")) => self.host.set_paced(true),
            _ => return Err(refused(words, "supported are the queue disciplines pfifo and fq at the root")),
        }
        Ok(status(0))
    }

    /// `ethtool -K DEVICE gso on|off tso on|off ..`.
    fn device(&mut self, words: &[String], arguments: &[String]) -> Result<ShellResult, HostError> {
        let settings = match arguments {
            [flag, _device, settings @ ..] if matches!(flag.as_str(), "-K" | "--offload" | "--features") => settings,
            _ => return Err(refused(words, "only -K is supported")),
        };
        for pair in settings.chunks(2) {
            let [feature, value] = pair else { return Err(refused(words, "a feature needs `on` or `off`")) };
            let on = match value.as_str() {
                "on" => true,
                "off" => false,
                _ => return Err(refused(words, "a feature is `on` or `off`")),
            };
            match feature.as_str() {
                "gso" | "tso" => self.host.set_gso(on),
                // Arriving packets are the script's; none is merged.
                "gro" | "lro" | "tx" | "rx" | "sg" => {}
                _ => return Err(refused(words, format!("`{feature}` is not supported"))),
            }
        }
        Ok(status(0))
    }

    /// `nstat`: counters that changed since the last time, or with `-s`, without taking note. `-a` shows absolute
    /// values.
    fn nstat(&mut self, arguments: &[String]) -> String {
        let has = |flag: char| arguments.iter().any(|word| word.starts_with('-') && word.contains(flag));
        let now = self.host.counters();
        let mut text = String::from("#kernel\n");
        for (name, value) in &now {
            let before = if has('a') { 0 } else { self.counted.get(name).copied().unwrap_or(0) };
            if *value > before && !has('n') {
                text.push_str(&format!("{name:<31} {:<18} 0.0\n", value - before));
            }
        }
        if !has('s') {
            self.counted = now.into_iter().collect();
        }
        text
    }

    /// `grep [-q] PATTERN [FILE ..]` with fixed patterns, over its input or over `/proc/net/tcp`.
    fn grep(&self, words: &[String], arguments: &[String], input: &str) -> Result<ShellResult, HostError> {
        let quiet = arguments.iter().any(|word| word == "-q");
        let mut rest = arguments.iter().filter(|word| !word.starts_with('-'));
        let pattern = rest.next().ok_or_else(|| refused(words, "a pattern is missing"))?;
        if pattern.chars().any(|c| matches!(c, '*' | '[' | '\\' | '^' | '$' | '.')) {
            return Err(refused(words, "only fixed patterns are supported"));
        }
        let mut text = String::new();
        let mut from_files = false;
        for file in rest {
            from_files = true;
            match file.as_str() {
                "/proc/net/tcp" => text.push_str(&self.host.listeners()),
                "/proc/net/tcp6" => {}
                _ => return Err(refused(words, format!("`{file}` cannot be read"))),
            }
        }
        let text = if from_files { text.as_str() } else { input };
        let found: Vec<&str> = text.lines().filter(|line| line.contains(pattern.as_str())).collect();
        let shown = if quiet { String::new() } else { found.join("\n") };
        Ok(ShellResult { status: i32::from(found.is_empty()), output: shown })
    }

    /// `echo VALUE > FILE` of a module's parameter. The redirection is not seen here, so only the value is checked.
    fn echo(words: &[String], arguments: &[String]) -> Result<ShellResult, HostError> {
        match arguments {
            // Both detectors of CUBIC's HyStart, as by default.
            [value] if value == "3" => Ok(status(0)),
            _ => Err(refused(words, "only HyStart's default detectors (3) can be set")),
        }
    }

    /// `dd bs=N count=N of=FILE ..`: a file of that size.
    fn make_file(&mut self, words: &[String], arguments: &[String]) -> Result<ShellResult, HostError> {
        let value = |key: &str| {
            arguments.iter().find_map(|word| word.strip_prefix(key).and_then(|rest| rest.strip_prefix('=')))
        };
        let number = |key: &str| value(key).and_then(|text| text.parse::<u64>().ok());
        match (value("of"), number("bs"), number("count")) {
            (Some(path), Some(size), Some(count)) => {
                self.files.insert(path.to_owned(), size.saturating_mul(count));
                Ok(status(0))
            }
            _ => Err(refused(words, "bs, count and of are needed")),
        }
    }
}

/// The metrics of a route. Words that say where packets go have no meaning here: there is one device.
fn route(words: &[&str]) -> Result<Route, String> {
    let mut route = Route::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().copied().filter(|word| *word != "lock").or_else(|| words.next().copied());
        let number = |value: Option<&str>| {
            value.and_then(|value| value.parse().ok()).map(Some).ok_or_else(|| format!("`{word}` needs a number"))
        };
        match *word {
            "via" | "dev" | "src" | "proto" | "scope" | "metric" | "table" => {
                value();
            }
            "mtu" => route.mtu = number(value())?,
            "advmss" => route.advmss = number(value())?,
            "initcwnd" => route.initial_window = number(value())?,
            "initrwnd" => route.initial_receive_window = number(value())?,
            "rto_min" => {
                let text = value().unwrap_or_default();
                let millis = text.trim_end_matches("ms").parse().map_err(|_| "`rto_min` needs milliseconds")?;
                route.rto_min = Some(narrows_units::Duration::from_millis(millis));
            }
            _ => return Err(format!("the metric `{word}` is not supported")),
        }
    }
    Ok(route)
}
