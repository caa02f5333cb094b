//! A script's options with their defaults: addresses, ports, MTU and tolerances.

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
