//! A script's options with their defaults: addresses, ports, MTU and tolerances.

use crate::syntax::{ScriptError, ScriptOption};
use narrows_units::Duration;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Which IP version sockets and packets have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IpVersion {
    /// `AF_INET` sockets, IPv4 packets.
    #[default]
    V4,
    /// `AF_INET6` sockets, IPv6 packets.
    V6,
    /// `AF_INET6` sockets with IPv4-mapped addresses, IPv4 packets.
    Mapped,
}

/// The options of a run. The script's own come first, those of the command line replace them.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// `--ip_version`.
    pub ip_version: IpVersion,
    /// `--local_ip`: the address of the host under test.
    pub local: IpAddr,
    /// `--remote_ip`: the address of the other end, which the executor plays.
    pub remote: IpAddr,
    /// Prefix length of the network of `remote`, where routes are needed (`--remote_ip=ADDRESS/LENGTH`).
    pub remote_prefix: u8,
    /// `--gateway_ip`: the address of the device's other side.
    pub gateway: IpAddr,
    /// `--netmask_ip`: prefix length of the local network.
    pub prefix: u8,
    /// `--bind_port`: the local port of `bind(fd, ..., ...)`.
    pub bind_port: u16,
    /// `--connect_port`: the remote port of `connect(fd, ..., ...)`.
    pub connect_port: u16,
    /// `--mtu` of the device.
    pub mtu: u32,
    /// `--mss`: the MSS on which the tool's GSO checks build (`--strict_segments`).
    pub mss: Option<u16>,
    /// `--speed` of the device in Mb/s; `None` for the device's own.
    pub speed: Option<u32>,
    /// `--tolerance_usecs`: how far an event may be from its time.
    pub tolerance: Duration,
    /// `--tolerance_percent`: further tolerance, in percent of the time since the event before.
    pub tolerance_percent: f64,
    /// `--tcp_ts_tick_usecs`: the clock of outbound timestamps; zero does not check them.
    pub timestamp_tick: Duration,
    /// `--tcp_ts_ecr_scaled`: TSecr of inbound packets counts in the script's ticks.
    pub timestamp_echo_scaled: bool,
    /// `--strict_segments`: a GSO super-packet is compared with one expected packet exactly, not as several.
    pub strict_segments: bool,
    /// `--non_fatal=packet`: a packet that differs does not end the run.
    pub packets_not_fatal: bool,
    /// `--non_fatal=syscall`: a result that differs does not end the run.
    pub calls_not_fatal: bool,
    /// `--send_omit_free`: buffers of zero-copy sends are not reused.
    pub send_omit_free: bool,
    /// `--init_scripts`: commands run before the script's own.
    pub init_scripts: Vec<String>,
    /// `--define`/`-D`: words of the script and their replacements.
    pub definitions: BTreeMap<String, String>,
}

impl Options {
    /// Returns the defaults for an IP version.
    pub fn new(ip_version: IpVersion) -> Self {
        let v6 = |last: u16, subnet: u16| IpAddr::V6(Ipv6Addr::new(0xfd3d, 0x0a0b, 0x17d6, subnet, 0, 0, 0, last));
        let (local, remote, gateway, remote_prefix, prefix) = match ip_version {
            IpVersion::V4 | IpVersion::Mapped => (
                IpAddr::V4(Ipv4Addr::new(192, 168, 0, 2)),
                IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
                IpAddr::V4(Ipv4Addr::new(192, 168, 0, 1)),
                24,
                16,
            ),
            IpVersion::V6 => {
                let remote = IpAddr::V6(Ipv6Addr::new(0xfd3d, 0xfa7b, 0xd17d, 0, 0, 0, 0, 1));
                (v6(2, 0), remote, v6(1, 0x8888), 48, 48)
            }
        };
        Self {
            ip_version,
            local,
            remote,
            remote_prefix,
            gateway,
            prefix,
            bind_port: 8080,
            connect_port: 8080,
            mtu: 1500,
            mss: None,
            speed: None,
            tolerance: Duration::from_micros(4000),
            tolerance_percent: 12.5,
            timestamp_tick: Duration::ZERO,
            timestamp_echo_scaled: false,
            strict_segments: false,
            packets_not_fatal: false,
            calls_not_fatal: false,
            send_omit_free: false,
            init_scripts: Vec::new(),
            definitions: BTreeMap::new(),
        }
    }

    /// Returns an address as sockets of this IP version have it: IPv4-mapped where that is the version.
    pub fn as_socket_address(&self, address: IpAddr, port: u16) -> SocketAddr {
        match (self.ip_version, address) {
            (IpVersion::Mapped, IpAddr::V4(v4)) => SocketAddr::new(IpAddr::V6(v4.to_ipv6_mapped()), port),
            _ => SocketAddr::new(address, port),
        }
    }
}

/// Options that take no value.
const FLAGS: &[&str] =
    &["tcp_ts_ecr_scaled", "strict_segments", "dry_run", "is_anyip", "send_omit_free", "debug", "verbose"];

/// Options that take a value and are obeyed.
const VALUES: &[&str] = &[
    "ip_version",
    "bind_port",
    "connect_port",
    "remote_ip",
    "local_ip",
    "gateway_ip",
    "netmask_ip",
    "speed",
    "mss",
    "mtu",
    "init_scripts",
    "tolerance_usecs",
    "tolerance_percent",
    "tcp_ts_tick_usecs",
    "non_fatal",
    "define",
];

/// Options of the original tool that have no meaning here, with the reason.
const REFUSED: &[(&str, &str)] = &[
    ("code_command", "code is checked by Narrows itself"),
    ("code_format", "code is Python"),
    ("code_sockopt", "code sees TCP_INFO"),
    ("wire_client", "a script has one host"),
    ("wire_server", "a script has one host"),
    ("wire_server_ip", "a script has one host"),
    ("wire_server_at", "a script has one host"),
    ("wire_server_port", "a script has one host"),
    ("wire_client_dev", "a script has one host"),
    ("wire_server_dev", "a script has one host"),
    ("so_filename", "hosts are built in"),
    ("so_flags", "hosts are built in"),
    ("psp_udp_port", "PSP is not supported"),
];

impl Options {
    /// Returns the options of a script: the defaults, its own `--name=value` lines, and `overrides` (of a command line,
    /// with line 0) over them.
    pub fn resolve(file: &str, script: &[ScriptOption], overrides: &[ScriptOption]) -> Result<Self, ScriptError> {
        let all = || script.iter().chain(overrides);
        for option in all() {
            check_name(file, option)?;
        }
        let mut version = IpVersion::default();
        for option in all().filter(|option| option.name == "ip_version") {
            version = match option.value.as_deref() {
                Some("ipv4") => IpVersion::V4,
                Some("ipv6") => IpVersion::V6,
                Some("ipv4-mapped-ipv6") => IpVersion::Mapped,
                _ => return Err(problem(file, option, "ipv4, ipv6 or ipv4-mapped-ipv6")),
            };
        }
        let mut options = Self::new(version);
        for option in all() {
            options.set(file, option)?;
        }
        options.check_addresses(file)?;
        Ok(options)
    }

    fn set(&mut self, file: &str, option: &ScriptOption) -> Result<(), ScriptError> {
        let value = option.value.as_deref().unwrap_or_default();
        let port = || value.parse().ok().filter(|port| *port > 0).ok_or_else(|| problem(file, option, "1 to 65535"));
        let address = || value.parse::<IpAddr>().map_err(|_| problem(file, option, "an IP address"));
        match option.name.as_str() {
            "bind_port" => self.bind_port = port()?,
            "connect_port" => self.connect_port = port()?,
            "local_ip" => self.local = address()?,
            "gateway_ip" => self.gateway = address()?,
            "remote_ip" => {
                (self.remote, self.remote_prefix) =
                    prefixed(value).ok_or_else(|| problem(file, option, "an IP address, perhaps with /PREFIX"))?
            }
            "netmask_ip" => {
                self.prefix = value
                    .parse::<Ipv4Addr>()
                    .ok()
                    .map(u32::from)
                    .filter(|mask| mask.leading_ones() + mask.trailing_zeros() == 32)
                    .and_then(|mask| u8::try_from(mask.leading_ones()).ok())
                    .ok_or_else(|| problem(file, option, "an IPv4 netmask"))?;
            }
            "speed" => self.speed = Some(value.parse().map_err(|_| problem(file, option, "Mb/s as an integer"))?),
            "mss" => self.mss = Some(port()?),
            "mtu" => {
                self.mtu = in_range(value, 68, 65_535).ok_or_else(|| problem(file, option, "68 to 65535 bytes"))?;
            }
            "init_scripts" => self.init_scripts = value.split(',').map(str::to_owned).collect(),
            "tolerance_usecs" => {
                let micros = in_range(value, 1, 3_600_000_000)
                    .ok_or_else(|| problem(file, option, "1 to 3600000000 microseconds"))?;
                self.tolerance = Duration::from_micros(micros);
            }
            "tolerance_percent" => {
                self.tolerance_percent = value
                    .parse()
                    .ok()
                    .filter(|percent| (0.0..=100.0).contains(percent))
                    .ok_or_else(|| problem(file, option, "0 to 100"))?;
            }
            "tcp_ts_tick_usecs" => {
                let micros =
                    in_range(value, 0, 1_000_000).ok_or_else(|| problem(file, option, "0 to 1000000 microseconds"))?;
                self.timestamp_tick = Duration::from_micros(micros);
            }
            "non_fatal" => {
                for kind in value.split([',', ' ']).filter(|kind| !kind.is_empty()) {
                    match kind {
                        "packet" => self.packets_not_fatal = true,
                        "syscall" => self.calls_not_fatal = true,
                        _ => return Err(problem(file, option, "packet, syscall or both")),
                    }
                }
            }
            "define" => {
                let (word, replacement) = value
                    .split_once('=')
                    .filter(|(word, _)| !word.is_empty())
                    .ok_or_else(|| problem(file, option, "WORD=REPLACEMENT"))?;
                self.definitions.insert(word.to_owned(), replacement.to_owned());
            }
            "tcp_ts_ecr_scaled" => self.timestamp_echo_scaled = true,
            "strict_segments" => self.strict_segments = true,
            "send_omit_free" => self.send_omit_free = true,
            _ => {}
        }
        Ok(())
    }

    /// Checks that the addresses have the IP version of the packets.
    fn check_addresses(&self, file: &str) -> Result<(), ScriptError> {
        let is_v6 = self.ip_version == IpVersion::V6;
        for (name, address) in [("local_ip", self.local), ("remote_ip", self.remote), ("gateway_ip", self.gateway)] {
            if address.is_ipv6() != is_v6 {
                let packets = if is_v6 { "IPv6" } else { "IPv4" };
                let message = format!("--{name}: {address} is no address of {packets}, which the packets have");
                return Err(ScriptError { file: file.to_owned(), line: 0, column: None, message });
            }
        }
        Ok(())
    }
}

fn check_name(file: &str, option: &ScriptOption) -> Result<(), ScriptError> {
    let name = option.name.as_str();
    if FLAGS.contains(&name) && option.value.is_some() {
        return Err(error(file, option, format!("the option `--{name}` takes no value")));
    }
    if VALUES.contains(&name) && option.value.is_none() {
        return Err(error(file, option, format!("the option `--{name}` needs a value: `--{name}=VALUE`")));
    }
    if let Some((_, reason)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
        return Err(error(file, option, format!("the option `--{name}` is not supported: {reason}")));
    }
    if FLAGS.contains(&name) || VALUES.contains(&name) {
        return Ok(());
    }
    let known: Vec<&str> = VALUES.iter().chain(FLAGS).copied().collect();
    Err(error(file, option, format!("unknown option `--{name}`; known are {}", known.join(", "))))
}

fn in_range<T: std::str::FromStr + PartialOrd>(value: &str, least: T, most: T) -> Option<T> {
    value.parse().ok().filter(|value| (least..=most).contains(value))
}

/// Reads `ADDRESS` or `ADDRESS/PREFIX`. An address alone has its full length as prefix, as in the original tool:
/// scripts change the route to it.
fn prefixed(value: &str) -> Option<(IpAddr, u8)> {
    let (address, prefix) = value.split_once('/').unwrap_or((value, ""));
    let address: IpAddr = address.parse().ok()?;
    let longest = if address.is_ipv6() { 128 } else { 32 };
    let prefix = if prefix.is_empty() { longest } else { prefix.parse().ok().filter(|prefix| *prefix <= longest)? };
    Some((address, prefix))
}

fn problem(file: &str, option: &ScriptOption, allowed: &str) -> ScriptError {
    let value = option.value.as_deref().unwrap_or_default();
    error(file, option, format!("--{}: `{value}` is not allowed; expected {allowed}", option.name))
}

fn error(file: &str, option: &ScriptOption, message: String) -> ScriptError {
    ScriptError { file: file.to_owned(), line: option.line, column: None, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(lines: &[(&str, Option<&str>)]) -> Result<Options, String> {
        let option = |(name, value): &(&str, Option<&str>)| ScriptOption {
            name: (*name).to_owned(),
            value: value.map(str::to_owned),
            line: 3,
        };
        let options: Vec<ScriptOption> = lines.iter().map(option).collect();
        Options::resolve("a.pkt", &options, &[]).map_err(|error| error.to_string())
    }

    #[test]
    fn defaults_are_those_of_the_tool() {
        let options = resolve(&[]).unwrap();
        assert_eq!(options.tolerance, Duration::from_micros(4000));
        assert_eq!((options.bind_port, options.connect_port, options.mtu), (8080, 8080, 1500));
        assert!(!options.strict_segments);
    }

    #[test]
    fn the_ip_version_sets_the_addresses_wherever_it_stands() {
        let options = resolve(&[("mtu", Some("1520")), ("ip_version", Some("ipv6"))]).unwrap();
        assert!(options.local.is_ipv6() && options.remote.is_ipv6());
        let mapped = resolve(&[("ip_version", Some("ipv4-mapped-ipv6"))]).unwrap();
        assert_eq!(mapped.as_socket_address(mapped.remote, 80).to_string(), "[::ffff:192.0.2.1]:80");
    }

    #[test]
    fn bad_options_name_line_value_and_what_is_allowed() {
        let message = |lines: &[(&str, Option<&str>)]| resolve(lines).unwrap_err();
        assert!(
            message(&[("colour", Some("red"))]).starts_with("a.pkt:3: unknown option `--colour`; known are ip_ver")
        );
        assert!(message(&[("mtu", Some("20"))]).contains("--mtu: `20` is not allowed; expected 68 to 65535"));
        assert!(message(&[("mtu", None)]).contains("needs a value"));
        assert!(message(&[("strict_segments", Some("1"))]).contains("takes no value"));
        assert!(message(&[("wire_client", None)]).contains("not supported: a script has one host"));
        assert!(message(&[("netmask_ip", Some("255.0.255.0"))]).contains("netmask"));
        assert!(message(&[("remote_ip", Some("fd::1"))]).contains("no address of IPv4"));
        assert!(message(&[("define", Some("=5"))]).contains("WORD=REPLACEMENT"));
    }
}
